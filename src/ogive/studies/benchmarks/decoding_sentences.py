"""What a decoded benchmark says: the hardest data set, doubtful instances, the best classifier."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.diagnostics.diagnosis import upright_items
from ogive.numerics.differing import (
    differences_of_answers,
    differences_of_estimates,
    differences_over_units,
)
from ogive.numerics.first_places import first_places
from ogive.responses.artificial_respondents import are_marks
from ogive.responses.stored_cells import as_floats
from ogive.words import counted, joined, listed, said_of_level, who_has

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ogive.studies.benchmarks.decoding import BenchmarkDecoding

SURE = 1.96  # standard errors
SCORE = "true_score_positive"  # by which classifiers are compared
SHOWN = 3  # data sets that are named


def said_of_hardest(decoding: BenchmarkDecoding) -> str:
    """Which data set is the hardest for a classifier of average ability, and which may be."""
    frame = decoding.to_frame()
    share, reach = float(frame["chance"].iloc[0]), SURE * float(frame["chance_se"].iloc[0])
    low, high = max(share - reach, 0.0), min(share + reach, 1.0)
    ends = f" ({low:.0%} to {high:.0%})" if np.isfinite(reach) else ""
    seen = float(frame["share_right"].iloc[0])
    who = counted(int(frame["respondents"].iloc[0]), "respondent")
    plain = f" (the mean share of its {who}: {seen:.0%})" if np.isfinite(seen) else ""
    average = (
        f"a classifier of average ability is expected to get {share:.0%}{ends} of its instances "
        f"right{plain}"
    )
    if len(frame) == 1:
        return f"On {frame.index[0]}, {average}."
    chance, error = (frame[name].to_numpy(dtype=float) for name in ("chance", "chance_se"))
    freedom = np.maximum(frame["items"].to_numpy(dtype=float) - 1, 1)
    level = differences_of_estimates(-chance, error**2, freedom).level_with(0)
    near = list(frame.index[level])
    corrected = "after correction for all pairs"
    also = f"; not significantly easier, {corrected}: {listed(near, 'other')}" if near else ""
    total = counted(len(frame), "data set")
    return f"Of {total}, {frame.index[0]} is the hardest: {average}{also}."


def said_of_doubtful(decoding: BenchmarkDecoding) -> str:
    """How many labels to check, and where; they are called wrong only if probabilities say so."""
    doubtful = len(decoding.suspects)
    one = doubtful == 1
    where = _spread(decoding)
    if all(trouble.calibrated for trouble in decoding.label_troubles.values()):
        found = f"{doubtful:,} probably {'has' if one else 'have'} a wrong label{where}"
        judged = found if doubtful else "none is suspected of a wrong label"
        return f"by the class probabilities of classifiers, {judged}"
    if not doubtful:
        return "none contradicts good classifiers so clearly that its label should be checked"
    return (
        f"{doubtful:,} {'contradicts' if one else 'contradict'} good classifiers so clearly "
        f"that {'its label' if one else 'their labels'} should be checked{where}"
    )


def _spread(decoding: BenchmarkDecoding) -> str:
    """In which data sets the suspects are, those with the most first."""
    counts = decoding.suspects["dataset"].value_counts()
    if len(decoding.calibrations) == 1 or counts.empty:
        return ""
    named = [f"{count:,} in {name}" for name, count in counts.items()]
    return f" ({', '.join(named[:SHOWN])}{', ...' if len(named) > SHOWN else ''})"


def said_of_turned(decoding: BenchmarkDecoding) -> str:
    """How many discriminations are below zero, and how many of them significantly."""
    found = decoding.items[decoding.told]
    below, sure = (
        int((found["discrimination"] < 0).sum()),
        int(found["significantly_negative"].sum()),
    )
    if not below:
        return "none has an estimated discrimination below zero."
    of_them = ("it is" if sure else "it is not") if below == 1 else f"{sure or 'none'} of them"
    text = (
        f"{below:,} {'has' if below == 1 else 'have'} an estimated discrimination below zero "
        f"({of_them} significantly, after correction for the number of instances of a data set)"
    )
    if not sure:
        return f"{text}."
    these = "it" if below == 1 else "this one" if sure == 1 else f"these {sure:,}"
    return f"{text}: the higher their ability, the more often classifiers get {these} wrong."


def said_of_instances(items: pd.DataFrame, told: NDArray[np.bool_], value: str) -> tuple[str, ...]:
    """Which instances a figure of a parameter shows: those that the table of data sets sums up."""
    said, out = [], int((~told).sum())
    below = int((items["discrimination"][told] < 0).sum())
    if out:
        said.append(f"left out: {counted(out, 'instance')} that all got right, or all wrong")
    if below and value == "difficulty":
        said.append(
            f"with {counted(below, 'instance')} of negative discrimination, where difficulty means "
            "the opposite"
        )
    return tuple(said)


def said_of_strongest(decoding: BenchmarkDecoding) -> str:
    """Who has the highest mean true score, of which instances, and who may be as good."""
    share = decoding.scores(f"{SCORE}_mean").dropna()
    share = share[~are_marks(list(share.index))]
    if share.empty:
        return ""
    places = first_places(share.mean(axis=1).to_numpy())
    first = [str(name) for name in share.index[places]]
    level = share.index[level_with(decoding, int(places[0]), share)]
    ordered = share.mean(axis=1).sort_values(ascending=False, kind="stable").index
    near = [str(name) for name in ordered.intersection(level, sort=False) if name not in first]
    accuracy = decoding.scores("accuracy").loc[share.index].mean(axis=1)
    many = share.shape[1] > 1
    over = f"paired t tests over {share.shape[1]} data sets" if many else "McNemar tests of answers"
    also = said_of_level(near, over)
    several = " on average" if many else ""
    return (
        f"{who_has(first)} the highest true score, {share.mean(axis=1).max():.1%}{several}"
        f"{_left_out(decoding)}, and an accuracy of {_accuracies(accuracy, first)}{also}."
        f"{_most_accurate(accuracy, first)}"
    )


def _accuracies(accuracy: pd.Series[float], first: list[str]) -> str:
    """The accuracy of each that has the highest true score, and its place by accuracy."""
    place = accuracy.round(9).rank(ascending=False, method="min").astype(int)
    shown = [f"{accuracy[name]:.1%} (place {place[name]})" for name in first[:SHOWN]]
    return joined(shown)


def _most_accurate(accuracy: pd.Series[float], first: list[str]) -> str:
    """Who has the highest accuracy, if it is somebody else."""
    top = [
        str(name) for name in accuracy.index[first_places(np.asarray(accuracy, dtype=np.float64))]
    ]
    if set(top) & set(first):
        return ""
    return f" {who_has(top)} the highest accuracy, {accuracy.max():.1%}."


def _left_out(decoding: BenchmarkDecoding) -> str:
    """Which instances do not count in true scores."""
    out = int(sum((~upright_items(each)).sum() for each in decoding.calibrations.values()))
    if not out:
        return ""
    return f" without the {counted(out, 'instance')} of negative discrimination"


def level_with(decoding: BenchmarkDecoding, best: int, share: pd.DataFrame) -> NDArray[np.bool_]:
    """Who is not significantly lower than `best`: over data sets, or over the items of one.

    All items count. Which ones discriminate negatively was found in the same responses: without
    them, the better of two equal classifiers would hardly be wrong where the other is right.
    """
    if share.shape[1] > 1:
        return differences_over_units(share.to_numpy(dtype=float)).level_with(best)
    calibration = decoding.calibrations[str(share.columns[0])]
    table = decoding.responses[str(share.columns[0])].select(respondents=list(share.index))
    return differences_of_answers(as_floats(calibration.placed(table))).level_with(best)
