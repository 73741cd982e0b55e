"""The result: data sets, items, scores.

What a decoded benchmark says: the hardest data set, doubtful instances, the best classifier.

One row per data set: how hard and how discriminating its instances are, with shares.

BenchmarkDecoding: how hard the data sets of a benchmark are, and who does well on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.benchmarking import CHANCE
from ogive.checks.mislabelled_items import LabelTrouble, label_trouble
from ogive.checks.residuals import alike, informative, p_of_negative, upright_items
from ogive.data.responses import Responses
from ogive.data.study_tables import are_marks
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.response_codes import as_floats
from ogive.results.base import Draw, Result, picked
from ogive.results.numbers import counted, joined, listed, said_of_level, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import benjamini_hochberg
from ogive.stats.pairwise_tests import (
    differences_of_answers,
    differences_of_estimates,
    differences_over_units,
    first_places,
)

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
    """Return in which data sets the suspects are, those with the most first."""
    counts = decoding.suspects["dataset"].value_counts()
    if len(decoding.calibrations) == 1 or counts.empty:
        return ""
    named = [f"{count:,} in {name}" for name, count in counts.items()]
    return f" ({', '.join(named[:SHOWN])}{', ...' if len(named) > SHOWN else ''})"


def said_of_turned(decoding: BenchmarkDecoding) -> str:
    """Return how many discriminations are below zero, and how many of them significantly."""
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
    """Return who has the highest mean true score, of which instances, and who may be as good."""
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
    """Return the accuracy of each that has the highest true score, and its place by accuracy."""
    place = accuracy.round(9).rank(ascending=False, method="min").astype(int)
    shown = [f"{accuracy[name]:.1%} (place {place[name]})" for name in first[:SHOWN]]
    return joined(shown)


def _most_accurate(accuracy: pd.Series[float], first: list[str]) -> str:
    """Return who has the highest accuracy, if it is somebody else."""
    top = [
        str(name) for name in accuracy.index[first_places(np.asarray(accuracy, dtype=np.float64))]
    ]
    if set(top) & set(first):
        return ""
    return f" {who_has(top)} the highest accuracy, {accuracy.max():.1%}."


def _left_out(decoding: BenchmarkDecoding) -> str:
    """Return which instances do not count in true scores."""
    out = int(sum((~upright_items(each)).sum() for each in decoding.calibrations.values()))
    if not out:
        return ""
    return f" without the {counted(out, 'instance')} of negative discrimination"


def level_with(decoding: BenchmarkDecoding, best: int, share: pd.DataFrame) -> NDArray[np.bool_]:
    """Return who is not significantly lower than `best`: over data sets, or over the items of one.

    All items count. Which ones discriminate negatively was found in the same responses: without
    them, the better of two equal classifiers would hardly be wrong where the other is right.
    """
    if share.shape[1] > 1:
        return differences_over_units(share.to_numpy(dtype=float)).level_with(best)
    calibration = decoding.calibrations[str(share.columns[0])]
    table = decoding.responses[str(share.columns[0])].select(respondents=list(share.index))
    return differences_of_answers(as_floats(calibration.placed(table))).level_with(best)


FARTHEST = 6.0  # population standard deviations; difficulties beyond belong to flat curves
PARAMETERS = ("difficulty", "discrimination", "guessing")


def described(calibration: Calibration, limits: Limits, items: pd.DataFrame) -> dict[str, Any]:
    """Return one row of `datasets`."""
    solved, unsolved = alike(calibration)
    told = informative(calibration)
    row: dict[str, Any] = {
        "items": len(items),
        "respondents": round(calibration.n_respondents),
        **_over_instances("chance", _chances(calibration)),
        **_over_instances("share_right", _shares_right(calibration)),
        "share_solved": float(solved.mean()),
        "share_unsolved": float(unsolved.mean()),
    }
    values = {name: items[name].to_numpy(dtype=float)[told] for name in PARAMETERS}
    values["difficulty"] = values["difficulty"].clip(-FARTHEST, FARTHEST)
    for name, value in values.items():
        row |= _summed_up(name, value)
    hard = (values["difficulty"] > limits.difficulty).sum() + unsolved.sum()
    row["share_hard"] = float(hard / len(items))
    for share, name in (("discriminating", "discrimination"), ("guessable", "guessing")):
        over = values[name] > getattr(limits, name)
        row[f"share_{share}"] = float(over.sum() / len(items))
    row["share_negative"] = float((values["discrimination"] < 0).sum() / len(items))
    row["log_likelihood"] = calibration.log_likelihood
    row["converged"] = calibration.converged
    return row


def _chances(calibration: Calibration) -> Floats:
    """Return how likely a respondent of average ability is right on each instance."""
    average = np.array([calibration.population.mean])
    expected = calibration.model.expected(calibration.coords, average)[:, 0]
    found: Floats = np.where(informative(calibration), expected, alike(calibration)[0])
    return found


def _shares_right(calibration: Calibration) -> Floats:
    """Which share of the pool got each instance right; NaN if its responses are not known."""
    table = calibration.responses
    if table is None:
        return np.full(len(calibration.item_names), np.nan)
    cells = as_floats(calibration.placed(table))
    weights = np.ones(len(cells)) if calibration.weights is None else calibration.weights
    asked = weights @ ~np.isnan(cells)
    right = weights @ np.nan_to_num(cells)
    found: Floats = np.divide(right, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    return found


def _over_instances(name: str, values: Floats) -> dict[str, float]:
    """A mean over instances, and its standard error: that over other instances of their kind."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {name: np.nan, f"{name}_se": np.nan}
    error = known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else np.nan
    return {name: float(known.mean()), f"{name}_se": float(error)}


def _summed_up(name: str, value: Floats) -> dict[str, float]:
    deviation = float(value.std(ddof=1)) if value.size > 1 else np.nan
    return {
        f"{name}_mean": float(value.mean()) if value.size else np.nan,
        f"{name}_mean_se": deviation / np.sqrt(max(value.size, 1)),
        f"{name}_median": float(np.median(value)) if value.size else np.nan,
        f"{name}_sd": deviation,
    }


ALPHA = 0.05  # share of false discoveries among the instances called negative


@dataclass(frozen=True)
class Limits:
    """Limits above which an instance is hard, discriminating or guessable.

    The defaults are those of decodIRT.

    >>> import ogive as og
    >>> table = og.simulate("2pl", 100, 10, random_state=0).responses
    >>> found = og.decode_responses({"toy": table}, model="2pl", limits=og.Limits(difficulty=9))
    >>> found.datasets["share_hard"].tolist()
    [0.0]
    """

    difficulty: float = 1.0
    discrimination: float = 0.75
    guessing: float = 0.2

    def __post_init__(self) -> None:
        for name in PARAMETERS:
            value = getattr(self, name)
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not np.isfinite(value):
                raise InputError(f"The limit of {name} is {value!r}, but it should be a number.")


BINS = 6  # of data sets by difficulty; fewer where there are few
MOST_FIGURES = 3  # of suspect labels on a page


@dataclass(frozen=True, eq=False, repr=False)
class BenchmarkDecoding(Result):
    """How hard and how discriminating each data set is, and who is strong on it.

    `calibrations` holds the items of each data set, `responses` the responses of the evaluated
    classifiers, and `classifiers` one row per data set and evaluated classifier: ability, true
    score over all items and over those that do not discriminate negatively, and accuracy. `sources`
    says where each data set comes from and how it was prepared, `metadata` what is known about it
    beforehand, `failures` why a data set is missing, and `failed` which classifiers failed on one
    and why; all four are empty if responses were given. So is `probabilities`: the class
    probabilities of the pool, with the labels, from which `label_trouble` says which are wrong.
    """

    calibrations: Mapping[str, Calibration]
    responses: Mapping[str, Responses]
    classifiers: pd.DataFrame
    method: str  # of estimating abilities
    limits: Limits
    sources: pd.DataFrame
    metadata: pd.DataFrame
    failures: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    probabilities: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per instance: its data set, parameters with standard errors, and flag.

        `significantly_negative` says whether its discrimination is surely below 0:
        `negative_p_adjusted`, corrected for the number of instances of its data set, is below 0.05.
        """
        parts = []
        for name, calibration in self.calibrations.items():
            adjusted = benjamini_hochberg(p_of_negative(calibration))
            tested = {"significantly_negative": adjusted < ALPHA, "negative_p_adjusted": adjusted}
            parts.append(calibration.items.reset_index().assign(dataset=name, **tested))
        whole = pd.concat(parts, ignore_index=True)
        return whole[["dataset", *whole.columns.drop("dataset")]]

    @property
    def told(self) -> NDArray[np.bool_]:
        """Which rows of `items` are informative: neither all right nor all wrong."""
        return np.concatenate([informative(each) for each in self.calibrations.values()])

    @cached_property
    def datasets(self) -> pd.DataFrame:
        """One row per data set: mean, median and standard deviation of parameters, and shares.

        `chance` is how likely a classifier of average ability is right on an instance; it is not
        the mean accuracy of the pool, which is `share_right`. Each data set has its own scale, so
        compare data sets by these, not by difficulty. Parameters are summarised over informative
        instances; the shares that all classifiers got right, or all got wrong, are columns of their
        own. Difficulties beyond ±6, which belong to nearly flat curves, count as ±6. Standard
        errors are those over other instances of the data set, with the same pool.
        """
        rows = [
            described(calibration, self.limits, self.items[self.items["dataset"] == name])
            for name, calibration in self.calibrations.items()
        ]
        return pd.DataFrame(rows, index=pd.Index(self.calibrations, name="dataset"))

    @cached_property
    def label_troubles(self) -> dict[str, LabelTrouble]:
        """How likely each label is wrong or contradicts good classifiers, by data set."""
        return {
            name: label_trouble(each, **self.probabilities.get(name, {}))
            for name, each in self.calibrations.items()
        }

    @cached_property
    def suspects(self) -> pd.DataFrame:
        """Instances with a suspect label, the most suspect first."""
        parts = []
        for name, trouble in self.label_troubles.items():
            found = trouble.to_frame()
            parts.append(found[found["suspect"]].reset_index().assign(dataset=name))
        whole = pd.concat(parts, ignore_index=True).drop(columns="suspect")
        ordered = whole.sort_values("evidence", ascending=False, kind="stable", ignore_index=True)
        return ordered[["dataset", *ordered.columns.drop("dataset")]]

    def scores(self, column: str = SCORE) -> pd.DataFrame:
        """Return classifiers × data sets, for a tournament: true scores, or another column.

        With all items ("true_score"), an item of negative discrimination counts against the
        classifiers that get it right; the default leaves such items out.
        """
        names = [str(name) for name in self.classifiers.columns[2:]]
        _check_known(column, names, "column of classifiers")
        wide = self.classifiers.set_index(["respondent", "dataset"])[column].unstack()  # noqa: PD010
        return wide.loc[self.classifiers["respondent"].unique(), list(self.calibrations)]

    def ranking(self, column: str = CHANCE, *, ascending: bool | None = None) -> pd.DataFrame:
        """Return data sets sorted by one column of `datasets`: the hardest first, or the largest.

        `ascending` is the smallest first; if omitted, only a chance is sorted so.
        """
        _check_known(column, list(map(str, self.datasets)), "column of datasets")
        rising = column == CHANCE if ascending is None else ascending
        return self.datasets.sort_values(column, ascending=rising, kind="stable")

    def bins(self, bins: int = 6, column: str = CHANCE) -> pd.DataFrame:
        """Return means over equally large bins of data sets, in the order of `ranking`.

        Standard errors are over the data sets of a bin. Difficulties of different data sets are on
        scales of their own, so their mean says less than that of `chance`.
        """
        ordered = self.ranking(column)
        if not 1 <= bins <= len(ordered):
            raise InputError(
                f"bins is {bins}, but there are {counted(len(ordered), 'data set')}. Give a number "
                f"from 1 to {len(ordered)}."
            )
        rows = []
        for names in np.array_split(ordered.index.to_numpy(dtype=object), bins):
            part = ordered.loc[list(names)]
            row: dict[str, Any] = {"datasets": len(part)}
            for name in (CHANCE, *PARAMETERS):
                values = part[name if name == CHANCE else f"{name}_mean"]
                row[name] = values.mean()
                row[f"{name}_se"] = values.sem() if len(part) > 1 else np.nan
            rows.append(row | {"names": ", ".join(names)})
        return pd.DataFrame(rows, index=pd.RangeIndex(1, bins + 1, name="bin"))

    def to_frame(self) -> pd.DataFrame:
        """The data sets, the hardest first: by the chance of a classifier of average ability."""
        return self.ranking()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return data sets, items, classifiers, scores, bins, suspect labels and their origin."""
        found = {
            "datasets": self.to_frame(),
            "items": self.items,
            "classifiers": self.classifiers,
            "true_scores": self.scores(),
            "bins": self.bins(min(BINS, len(self.datasets))),
            "suspects": self.suspects,
        }
        more = {"sources": self.sources, "metadata": self.metadata, "failed": self._failed()}
        return found | {name: frame for name, frame in more.items() if len(frame)}

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return data sets, suspect labels and classifiers."""
        return picked(self.tables(), "datasets", "suspects", "classifiers")

    def figures(self) -> dict[str, Draw]:
        """Return the data sets, histograms of parameters, and figures of each data set."""
        found: dict[str, Draw] = {"datasets": self.plot}
        for value in ("difficulty", "discrimination"):
            found[value] = partial(self.plot, "histogram", value=value)
        doubtful = set(self.suspects["dataset"])
        for name in self.calibrations:
            found[f"{name}_scores"] = partial(self.plot, "scores", name)
            if name in doubtful:
                found[f"{name}_suspects"] = partial(self.plot, "suspects", name)
        return found

    def page_figures(self) -> dict[str, Draw]:
        """Return figures of all data sets, a few of suspect labels, and scores on the hardest."""
        doubtful = list(dict.fromkeys(self.suspects["dataset"]))[:MOST_FIGURES]
        names = [f"{name}_suspects" for name in doubtful]
        names += [f"{name}_scores" for name in list(self.to_frame().index)[:1]]
        return picked(self.figures(), "datasets", "difficulty", "discrimination", *names)

    def banks(self) -> dict[str, Calibration]:
        """Return one item bank per data set."""
        return dict(self.calibrations)

    def _failed(self) -> pd.DataFrame:
        """Return one row per classifier that failed on a data set, with the reason."""
        rows = [
            {"dataset": dataset, "member": member, "reason": reason}
            for dataset, members in self.failed.items()
            for member, reason in members.items()
        ]
        return pd.DataFrame(rows)

    def plot(
        self,
        kind: str = "datasets",
        dataset: str | None = None,
        *,
        value: str = "difficulty",
        **kw: Any,
    ) -> Display:
        """Draw difficulty and discrimination per data set, or another figure.

        "histogram" shows the `value` of the instances of one `dataset`, or one shape for each, as
        their scales differ: of the instances over which `datasets` is summed up, and below the
        figure stands which these are. "scores" shows the true scores on a `dataset`; "suspects" the
        instances of a `dataset` with doubtful labels.
        """
        if kind == "datasets":
            return DISPLAYS["datasets"](self.datasets).plot(**kw)
        if kind == "histogram":
            return self._histogram(dataset, value, **kw)
        if kind == "scores":
            chosen = self.classifiers["dataset"] == self._known(dataset)
            shown = self.classifiers[chosen].set_index("respondent")
            shown = shown.assign(artificial=are_marks(list(map(str, shown.index))))
            return DISPLAYS["scores"](shown).plot(**kw)
        if kind == "suspects":
            return self.label_troubles[self._known(dataset)].plot(**kw)
        raise InputError(
            f"kind is {kind!r}, but it should be 'datasets', 'histogram', 'scores' or 'suspects'."
        )

    def _histogram(self, dataset: str | None, value: str, **kw: Any) -> Display:
        """Return how the values of instances are spread: of one data set, or of each by itself."""
        items, told = self.items, self.told
        if dataset is None and len(self.calibrations) > 1:
            shapes: Any = DISPLAYS["distributions"]
            order, notes = tuple(self.to_frame().index), said_of_instances(items, told, value)
            several: Display = shapes(items[told], value=value, order=order, notes=notes)
            return several.plot(**kw)
        histogram: Any = DISPLAYS["histogram"]
        mine = (items["dataset"] == self._known(dataset)).to_numpy()
        notes = said_of_instances(items[mine], told[mine], value)
        display: Display = histogram(items[mine & told], value=value, notes=notes)
        return display.plot(**kw)

    @property
    def meaning(self) -> str:
        """Which data set is hardest, how many instances are doubtful, and who scores best."""
        instances = counted(len(self.items), "instance")
        return (
            f"{said_of_hardest(self)} Of {instances}, {said_of_doubtful(self)}, and "
            f"{said_of_turned(self)} {said_of_strongest(self)}"
        )

    def _known(self, dataset: str | None) -> str:
        if dataset is None and len(self.calibrations) == 1:
            return next(iter(self.calibrations))
        _check_known(dataset, list(self.calibrations), "data set")
        return str(dataset)


def _check_known(name: Any, known: list[str], what: str) -> None:
    if name not in known:
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        raise InputError(f"There is no {what} {name!r}. Choose one of: {shown}.")
