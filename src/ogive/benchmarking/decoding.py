"""The result of decoding a benchmark: its data sets, items and classifiers, and what they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import is_number, one_of, whole_number
from ogive.benchmarking import CHANCE
from ogive.checks.mislabelled_items import LabelTrouble, label_trouble
from ogive.checks.residuals import alike, informative, p_of_negative, upright_items
from ogive.data.responses import Responses
from ogive.data.study_tables import are_marks
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.response_codes import as_floats
from ogive.results.base import Draw, Result, picked, stacked
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

CRITICAL = 1.96  # standard errors each way of a 95 % interval
SCORE = "true_score_positive"  # column by which classifiers are compared
MOST_NAMED = 3  # data sets or accuracies named in a sentence
FARTHEST = 6.0  # population standard deviations; difficulties beyond belong to flat curves
PARAMETERS = ("difficulty", "discrimination", "guessing")
ALPHA = 0.05  # share of false discoveries among the instances called negative
BINS = 6  # bins of data sets by difficulty; fewer if there are few data sets
MOST_FIGURES = 3  # figures of suspect labels on a page


def said_of_hardest(decoding: BenchmarkDecoding) -> str:
    """Say which data set is the hardest for a classifier of average ability, and which may be."""
    frame = decoding.to_frame()
    chance, half_width = (
        float(frame["chance"].iloc[0]),
        CRITICAL * float(frame["chance_se"].iloc[0]),
    )
    low, high = max(chance - half_width, 0.0), min(chance + half_width, 1.0)
    interval = f" ({low:.0%} to {high:.0%})" if np.isfinite(half_width) else ""
    share = float(frame["share_right"].iloc[0])
    respondents = counted(int(frame["respondents"].iloc[0]), "respondent")
    mean = f" (the mean share of its {respondents}: {share:.0%})" if np.isfinite(share) else ""
    average = (
        f"a classifier of average ability is expected to get {chance:.0%}{interval} of its "
        f"instances right{mean}"
    )
    return hardest_sentence(frame, "chance", average)


def hardest_sentence(frame: pd.DataFrame, column: str, text: str) -> str:
    """Return `text` on the first data set, and which others are not significantly easier.

    `column` holds the chance or score by which the data sets are sorted, the hardest first.
    """
    if len(frame) == 1:
        return f"On {frame.index[0]}, {text}."
    value, se = (frame[name].to_numpy(dtype=float) for name in (column, f"{column}_se"))
    freedom = np.maximum(frame["items"].to_numpy(dtype=float) - 1, 1)
    level = differences_of_estimates(-value, se**2, freedom).level_with(0)
    near = list(frame.index[level])
    corrected = "after correction for all pairs"
    also = f"; not significantly easier, {corrected}: {listed(near, 'other')}" if near else ""
    total = counted(len(frame), "data set")
    return f"Of {total}, {frame.index[0]} is the hardest: {text}{also}."


def _label_sentence(decoding: BenchmarkDecoding) -> str:
    """Say how many labels to check; they are called wrong only if probabilities say so."""
    counts = decoding.suspects["dataset"].value_counts()
    n = len(decoding.suspects)
    one, where = n == 1, ""
    if len(decoding.calibrations) > 1 and n:  # data sets with the most suspects first
        named = [f"{count:,} in {name}" for name, count in counts.items()]
        where = f" ({', '.join(named[:MOST_NAMED])}{', ...' if len(named) > MOST_NAMED else ''})"
    if all(trouble.calibrated for trouble in decoding.label_troubles.values()):
        text = f"{n:,} probably {'has' if one else 'have'} a wrong label{where}"
        text = text if n else "none is suspected of a wrong label"
        return f"by the class probabilities of classifiers, {text}"
    if not n:
        return "none contradicts good classifiers so clearly that its label should be checked"
    return (
        f"{n:,} {'contradicts' if one else 'contradict'} good classifiers so clearly "
        f"that {'its label' if one else 'their labels'} should be checked{where}"
    )


def _negative_sentence(decoding: BenchmarkDecoding) -> str:
    """Say how many discriminations are below zero, and how many of them significantly."""
    items = decoding.items[decoding.told]
    below = int((items["discrimination"] < 0).sum())
    sure = int(items["significantly_negative"].sum())
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


def _strongest_sentence(decoding: BenchmarkDecoding) -> str:
    """Say who has the highest mean true score, of which instances, and who may be as good."""
    share = decoding.scores(f"{SCORE}_mean").dropna()
    share = share[~are_marks(list(share.index))]
    if share.empty:
        return ""
    mean = share.mean(axis=1)
    best = first_places(mean.to_numpy())
    first = [str(name) for name in share.index[best]]
    level = share.index[level_with(decoding, int(best[0]), share)]
    ordered = mean.sort_values(ascending=False, kind="stable").index
    near = [str(name) for name in ordered.intersection(level, sort=False) if name not in first]
    many = share.shape[1] > 1
    over = f"paired t tests over {share.shape[1]} data sets" if many else "McNemar tests of answers"
    n_left_out = int(sum((~upright_items(each)).sum() for each in decoding.calibrations.values()))
    left_out = ""
    if n_left_out:
        left_out = f" without the {counted(n_left_out, 'instance')} of negative discrimination"
    accuracy = decoding.scores("accuracy").loc[share.index].mean(axis=1)
    place = accuracy.round(9).rank(ascending=False, method="min").astype(int)
    shown = [f"{accuracy[name]:.1%} (place {place[name]})" for name in first[:MOST_NAMED]]
    text = (
        f"{who_has(first)} the highest true score, {mean.max():.1%}{' on average' if many else ''}"
        f"{left_out}, and an accuracy of {joined(shown)}{said_of_level(near, over)}."
    )
    places = first_places(np.asarray(accuracy, dtype=np.float64))
    most_accurate = [str(name) for name in accuracy.index[places]]
    if not set(most_accurate) & set(first):
        text += f" {who_has(most_accurate)} the highest accuracy, {accuracy.max():.1%}."
    return text


def level_with(decoding: BenchmarkDecoding, best: int, share: pd.DataFrame) -> NDArray[np.bool_]:
    """Flag classifiers not significantly below `best`: over data sets, or over the items of one.

    All items count. Which ones discriminate negatively was found in the same responses: without
    them, the better of two equal classifiers would hardly be wrong where the other is right.
    """
    if share.shape[1] > 1:
        return differences_over_units(share.to_numpy(dtype=float)).level_with(best)
    calibration = decoding.calibrations[str(share.columns[0])]
    table = decoding.responses[str(share.columns[0])].select(respondents=list(share.index))
    return differences_of_answers(as_floats(calibration.placed(table))).level_with(best)


def _dataset_row(calibration: Calibration, limits: Limits, items: pd.DataFrame) -> dict[str, Any]:
    """Return one row of `datasets`."""
    used = informative(calibration)
    solved, unsolved = alike(calibration)
    average = np.array([calibration.population.mean])
    expected = calibration.model.expected(calibration.coords, average)[:, 0]
    row: dict[str, Any] = {
        "items": len(items),
        "respondents": round(calibration.n_respondents),
        **_mean_over_instances("chance", np.where(used, expected, solved)),
        **_mean_over_instances("share_right", _shares_right(calibration)),
        "share_solved": float(solved.mean()),
        "share_unsolved": float(unsolved.mean()),
    }
    values = {name: items[name].to_numpy(dtype=float)[used] for name in PARAMETERS}
    values["difficulty"] = values["difficulty"].clip(-FARTHEST, FARTHEST)
    for name, value in values.items():
        sd = float(value.std(ddof=1)) if value.size > 1 else np.nan
        row |= {
            f"{name}_mean": float(value.mean()) if value.size else np.nan,
            f"{name}_mean_se": sd / np.sqrt(max(value.size, 1)),
            f"{name}_median": float(np.median(value)) if value.size else np.nan,
            f"{name}_sd": sd,
        }
    hard = (values["difficulty"] > limits.difficulty).sum() + unsolved.sum()
    row["share_hard"] = float(hard / len(items))
    for share, name in (("discriminating", "discrimination"), ("guessable", "guessing")):
        row[f"share_{share}"] = float((values[name] > getattr(limits, name)).sum() / len(items))
    row["share_negative"] = float((values["discrimination"] < 0).sum() / len(items))
    row["log_likelihood"] = calibration.log_likelihood
    row["converged"] = calibration.converged
    return row


def _shares_right(calibration: Calibration) -> Floats:
    """Return the share of the pool that got each instance right; NaN without responses."""
    table = calibration.responses
    if table is None:
        return np.full(len(calibration.item_names), np.nan)
    cells = as_floats(calibration.placed(table))
    weights = np.ones(len(cells)) if calibration.weights is None else calibration.weights
    asked = weights @ ~np.isnan(cells)
    right = weights @ np.nan_to_num(cells)
    return np.asarray(np.divide(right, asked, out=np.full(asked.shape, np.nan), where=asked > 0))


def _mean_over_instances(name: str, values: Floats) -> dict[str, float]:
    """Return a mean over instances, and its standard error over other instances of their kind."""
    known = values[np.isfinite(values)]
    if not known.size:
        return {name: np.nan, f"{name}_se": np.nan}
    error = known.std(ddof=1) / np.sqrt(known.size) if known.size > 1 else np.nan
    return {name: float(known.mean()), f"{name}_se": float(error)}


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
            if not is_number(value) or not np.isfinite(value):
                raise InputError(f"The limit of {name} is {value!r}, but it should be a number.")


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
        frames = {}
        for name, calibration in self.calibrations.items():
            p = benjamini_hochberg(p_of_negative(calibration))
            tests = {"significantly_negative": p < ALPHA, "negative_p_adjusted": p}
            frames[name] = calibration.items.assign(**tests)
        return stacked("dataset", frames)

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
            _dataset_row(calibration, self.limits, self.items[self.items["dataset"] == name])
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
        frames = {name: trouble.to_frame() for name, trouble in self.label_troubles.items()}
        table = stacked("dataset", {name: each[each["suspect"]] for name, each in frames.items()})
        return table.drop(columns="suspect").sort_values(
            "evidence", ascending=False, kind="stable", ignore_index=True
        )

    def scores(self, column: str = SCORE) -> pd.DataFrame:
        """Return classifiers × data sets, for a tournament: true scores, or another column.

        With all items ("true_score"), an item of negative discrimination counts against the
        classifiers that get it right; the default leaves such items out.
        """
        return score_table(self.classifiers, column, self.calibrations)

    def ranking(self, column: str = CHANCE, *, ascending: bool | None = None) -> pd.DataFrame:
        """Return data sets sorted by one column of `datasets`: the hardest first, or the largest.

        `ascending` is the smallest first; if omitted, only a chance is sorted so.
        """
        one_of(column, "column", map(str, self.datasets))
        rising = column == CHANCE if ascending is None else ascending
        return self.datasets.sort_values(column, ascending=rising, kind="stable")

    def bins(self, bins: int = 6, column: str = CHANCE) -> pd.DataFrame:
        """Return means over equally large bins of data sets, in the order of `ranking`.

        Standard errors are over the data sets of a bin. Difficulties of different data sets are on
        scales of their own, so their mean says less than that of `chance`.
        """
        ordered = self.ranking(column)
        bins = whole_number(bins, "bins", 1, len(ordered))
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
        """Return the data sets, the hardest first, by the chance of an average classifier."""
        return self.ranking()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return data sets, items, classifiers, scores, bins, suspect labels and their origin."""
        tables = {
            "datasets": self.to_frame(),
            "items": self.items,
            "classifiers": self.classifiers,
            "true_scores": self.scores(),
            "bins": self.bins(min(BINS, len(self.datasets))),
            "suspects": self.suspects,
        }
        failed = pd.DataFrame(
            {"dataset": dataset, "member": member, "reason": reason}
            for dataset, members in self.failed.items()
            for member, reason in members.items()
        )
        more = {"sources": self.sources, "metadata": self.metadata, "failed": failed}
        return tables | {name: frame for name, frame in more.items() if len(frame)}

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return data sets, suspect labels and classifiers."""
        return picked(self.tables(), "datasets", "suspects", "classifiers")

    def figures(self) -> dict[str, Draw]:
        """Return the data sets, histograms of parameters, and figures of each data set."""
        figures: dict[str, Draw] = {"datasets": self.plot}
        for value in ("difficulty", "discrimination"):
            figures[value] = partial(self.plot, "histogram", value=value)
        with_suspects = set(self.suspects["dataset"])
        for name in self.calibrations:
            figures[f"{name}_scores"] = partial(self.plot, "scores", name)
            if name in with_suspects:
                figures[f"{name}_suspects"] = partial(self.plot, "suspects", name)
        return figures

    def page_figures(self) -> dict[str, Draw]:
        """Return figures of all data sets, a few of suspect labels, and scores on the hardest."""
        with_suspects = list(dict.fromkeys(self.suspects["dataset"]))[:MOST_FIGURES]
        names = [f"{name}_suspects" for name in with_suspects]
        names += [f"{self.to_frame().index[0]}_scores"]
        return picked(self.figures(), "datasets", "difficulty", "discrimination", *names)

    def banks(self) -> dict[str, Calibration]:
        """Return one item bank per data set."""
        return dict(self.calibrations)

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
        one_of(kind, "kind", ("datasets", "histogram", "scores", "suspects"))
        if kind == "datasets":
            return DISPLAYS["datasets"](self.datasets).plot(**kw)
        if kind == "histogram":
            return self._histogram(dataset, value, **kw)
        name = self._dataset_name(dataset)
        if kind == "suspects":
            return self.label_troubles[name].plot(**kw)
        rows = self.classifiers[self.classifiers["dataset"] == name].set_index("respondent")
        rows = rows.assign(artificial=are_marks(list(map(str, rows.index))))
        return DISPLAYS["scores"](rows).plot(**kw)

    def _histogram(self, dataset: str | None, value: str, **kw: Any) -> Display:
        """Draw how the values of instances are spread: of one data set, or of each by itself."""
        from ogive.results.plots.distributions import DistributionsDisplay, HistogramDisplay

        items, used = self.items, self.told
        several = dataset is None and len(self.calibrations) > 1
        if not several:
            inside = (items["dataset"] == self._dataset_name(dataset)).to_numpy()
            items, used = items[inside], used[inside]
        notes = []
        if n_left_out := int((~used).sum()):
            left_out = counted(n_left_out, "instance")
            notes.append(f"left out: {left_out} that all got right, or all wrong")
        below = int((items["discrimination"][used] < 0).sum())
        if below and value == "difficulty":
            notes.append(
                f"with {counted(below, 'instance')} of negative discrimination, where difficulty "
                "means the opposite"
            )
        if not several:
            return HistogramDisplay(items[used], value=value, notes=tuple(notes)).plot(**kw)
        order = tuple(self.to_frame().index)
        return DistributionsDisplay(items[used], value=value, order=order, notes=tuple(notes)).plot(
            **kw
        )

    @property
    def meaning(self) -> str:
        """Which data set is hardest, how many instances are doubtful, and who scores best."""
        instances = counted(len(self.items), "instance")
        return (
            f"{said_of_hardest(self)} Of {instances}, {_label_sentence(self)}, and "
            f"{_negative_sentence(self)} {_strongest_sentence(self)}"
        )

    def _dataset_name(self, dataset: str | None) -> str:
        """Return the name of a data set; it may be omitted if there is only one."""
        if dataset is None and len(self.calibrations) == 1:
            return next(iter(self.calibrations))
        return one_of(dataset, "dataset", self.calibrations)


def score_table(rows: pd.DataFrame, column: str, datasets: Mapping[str, Any]) -> pd.DataFrame:
    """Return one column of a table of respondents as respondents × data sets."""
    one_of(column, "column", map(str, rows.columns[2:]))
    wide = rows.set_index(["respondent", "dataset"])[column].unstack()  # noqa: PD010
    return wide.loc[rows["respondent"].unique(), list(datasets)]
