"""BenchmarkDecoding: how hard the data sets of a benchmark are, and who does well on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics import LabelTrouble, label_trouble
from itemwise.diagnostics.diagnosis import alike, informative, upright_items
from itemwise.errors import InputError
from itemwise.numerics.differing import (
    differences_of_answers,
    differences_of_estimates,
    differences_over_units,
)
from itemwise.numerics.first_places import first_places
from itemwise.responses.artificial_respondents import are_marks
from itemwise.responses.stored_cells import as_floats
from itemwise.results import Draw, Result, picked
from itemwise.words import counted, joined, listed, who_has

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from itemwise.displays import Display
    from itemwise.numerics.arrays import Floats
    from itemwise.responses import Responses

FARTHEST = 6.0  # population standard deviations; difficulties beyond belong to flat curves
PARAMETERS = ("difficulty", "discrimination", "guessing")
SURE = 1.96  # standard errors
SCORE = "true_score_positive"  # by which classifiers are compared


@dataclass(frozen=True)
class Limits:
    """Limits above which an instance is hard, discriminating or guessable.

    The defaults are those of decodIRT.

    >>> import itemwise as iw
    >>> table = iw.simulate("2pl", 100, 10, random_state=0).responses
    >>> found = iw.decode_responses({"toy": table}, model="2pl", limits=iw.Limits(difficulty=9))
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
        """One row per instance: its data set, parameters with standard errors, and flag."""
        import pandas as pd

        parts = [
            calibration.items.reset_index().assign(dataset=name)
            for name, calibration in self.calibrations.items()
        ]
        whole = pd.concat(parts, ignore_index=True)
        return whole[["dataset", *whole.columns.drop("dataset")]]

    @property
    def told(self) -> NDArray[np.bool_]:
        """Which rows of `items` are informative: neither all right nor all wrong."""
        return np.concatenate([informative(each) for each in self.calibrations.values()])

    @cached_property
    def datasets(self) -> pd.DataFrame:
        """One row per data set: mean, median and standard deviation of parameters, and shares.

        `chance` is the probability that the average classifier of the pool is right. Each data set
        has its own scale, so compare data sets by this, not by difficulty. Parameters are
        summarised over informative instances; the shares that all classifiers got right, or all
        got wrong, are columns of their own. Difficulties beyond ±6, which belong to nearly flat
        curves, count as ±6. The standard error of a mean treats instances as a random sample.
        """
        import pandas as pd

        rows = [
            _described(calibration, self.limits, self.items[self.items["dataset"] == name])
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
        import pandas as pd

        parts = []
        for name, trouble in self.label_troubles.items():
            found = trouble.to_frame()
            parts.append(found[found["suspect"]].reset_index().assign(dataset=name))
        whole = pd.concat(parts, ignore_index=True).drop(columns="suspect")
        ordered = whole.sort_values("evidence", ascending=False, kind="stable", ignore_index=True)
        return ordered[["dataset", *ordered.columns.drop("dataset")]]

    def scores(self, column: str = SCORE) -> pd.DataFrame:
        """Classifiers × data sets, for a tournament: true scores, or another column.

        With all items ("true_score"), an item of negative discrimination counts against the
        classifiers that get it right; the default leaves such items out.
        """
        names = [str(name) for name in self.classifiers.columns[2:]]
        _check_known(column, names, "column of classifiers")
        wide = self.classifiers.set_index(["respondent", "dataset"])[column].unstack()  # noqa: PD010
        return wide.loc[self.classifiers["respondent"].unique(), list(self.calibrations)]

    def ranking(self, column: str = "difficulty_mean", *, ascending: bool = False) -> pd.DataFrame:
        """Data sets sorted by one column of `datasets`, the largest first."""
        _check_known(column, list(map(str, self.datasets)), "column of datasets")
        return self.datasets.sort_values(column, ascending=ascending, kind="stable")

    def bins(self, bins: int = 6, column: str = "difficulty_mean") -> pd.DataFrame:
        """Means over equally large bins of data sets, the bin with the largest `column` first.

        Standard errors are over the data sets of a bin.
        """
        import pandas as pd

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
            for parameter in PARAMETERS:
                values = part[f"{parameter}_mean"]
                row[parameter] = values.mean()
                row[f"{parameter}_se"] = values.sem() if len(part) > 1 else np.nan
            rows.append(row | {"names": ", ".join(names)})
        return pd.DataFrame(rows, index=pd.RangeIndex(1, bins + 1, name="bin"))

    def to_frame(self) -> pd.DataFrame:
        """The data sets, the hardest first: by the chance of the average classifier."""
        return self.ranking("chance", ascending=True)

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
        import pandas as pd

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

        "histogram" shows the `value` of all instances or of those of one `dataset`; "scores" the
        true scores on a `dataset`; "suspects" the instances of a `dataset` with doubtful labels.
        """
        from itemwise.displays import DISPLAYS

        if kind == "datasets":
            return DISPLAYS["datasets"](self.datasets).plot(**kw)
        if kind == "histogram":
            items = self.items[self.told]
            if dataset is not None:
                items = items[items["dataset"] == self._known(dataset)]
            histogram: Any = DISPLAYS["histogram"]
            display: Display = histogram(items, value=value)
            return display.plot(**kw)
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

    @property
    def meaning(self) -> str:
        """Which data set is hardest, how many instances are doubtful, and who scores best."""
        return (
            f"{self._hardest()} Of {counted(len(self.items), 'instance')}, {self._doubtful()}, and "
            f"{self._turned()} {self._strongest()}"
        )

    def _turned(self) -> str:
        """How many discriminations are below zero, and how many of them surely."""
        found = self.items[self.told]
        slope = found["discrimination"].to_numpy(dtype=float)
        below = int((slope < 0).sum())
        if not below:
            return "none has an estimated discrimination below zero."
        sure = int((slope < -SURE * found["discrimination_se"].to_numpy(dtype=float)).sum())
        of_them = ("it is" if sure else "it is not") if below == 1 else f"{sure or 'none'} of them"
        text = (
            f"{below:,} {'has' if below == 1 else 'have'} an estimated discrimination below zero "
            f"({of_them} by more than {SURE} standard errors)"
        )
        if not sure:
            return f"{text}."
        these = "it" if below == 1 else "this one" if sure == 1 else f"these {sure:,}"
        return f"{text}: good classifiers get {these} wrong more often than bad ones."

    def _doubtful(self) -> str:
        """How many labels to check; they are called wrong only if probabilities say so."""
        doubtful = len(self.suspects)
        one = doubtful == 1
        if all(trouble.calibrated for trouble in self.label_troubles.values()):
            found = f"{doubtful:,} probably {'has' if one else 'have'} a wrong label"
            return found if doubtful else "none is suspected of a wrong label"
        if not doubtful:
            return "none contradicts good classifiers so clearly that its label should be checked"
        return (
            f"{doubtful:,} {'contradicts' if one else 'contradict'} good classifiers so clearly "
            f"that {'its label' if one else 'their labels'} should be checked"
        )

    def _hardest(self) -> str:
        frame = self.to_frame()
        share, reach = float(frame["chance"].iloc[0]), SURE * float(frame["chance_se"].iloc[0])
        low, high = max(share - reach, 0.0), min(share + reach, 1.0)
        ends = f" ({low:.0%} to {high:.0%})" if np.isfinite(reach) else ""
        average = (
            f"the average classifier of the pool gets {share:.0%}{ends} of its instances right"
        )
        if len(frame) == 1:
            return f"On {frame.index[0]}, {average}."
        chance, error = (frame[name].to_numpy(dtype=float) for name in ("chance", "chance_se"))
        level = differences_of_estimates(
            -chance, error**2, freedom=float(frame["items"].min()) - 1
        ).level_with(0)
        near = list(frame.index[level])
        also = f"; {listed(near, 'other')} may be as hard" if near else ""
        total = counted(len(frame), "data set")
        return f"Of {total}, {frame.index[0]} is the hardest: {average}{also}."

    def _strongest(self) -> str:
        """Who has the highest mean true score, of which instances, and who may be as good."""
        share = self.scores(f"{SCORE}_mean").dropna()
        share = share[~are_marks(list(share.index))]
        if share.empty:
            return ""
        places = first_places(share.mean(axis=1).to_numpy())
        first = [str(name) for name in share.index[places]]
        near = [
            name
            for name in share.index[self._level_with(int(places[0]), share)]
            if name not in first
        ]
        accuracy = self.scores("accuracy").loc[share.index].mean(axis=1)
        also = f"; not significantly lower: {listed(near, 'other')}" if near else ""
        several = " on average" if share.shape[1] > 1 else ""
        text = (
            f"{who_has(first)} the highest true score, {share.mean(axis=1).max():.1%}{several}"
            f"{self._left_out()}, and an accuracy of "
            f"{joined([f'{value:.1%}' for value in accuracy.loc[first[:3]]])}{also}."
        )
        top = [str(name) for name in accuracy.index[first_places(accuracy.to_numpy())]]
        if not set(top) & set(first):
            text += f" {who_has(top)} the highest accuracy, {accuracy.max():.1%}."
        return text

    def _left_out(self) -> str:
        """Which instances do not count in true scores."""
        out = int(sum((~upright_items(each)).sum() for each in self.calibrations.values()))
        if not out:
            return ""
        return f" without the {counted(out, 'instance')} of negative discrimination"

    def _level_with(self, best: int, share: pd.DataFrame) -> NDArray[np.bool_]:
        """Who is not significantly lower than `best`: over data sets, or over the items of one.

        All items count. Which ones discriminate negatively was found in the same responses: without
        them, the better of two equal classifiers would hardly be wrong where the other is right.
        """
        if share.shape[1] > 1:
            return differences_over_units(share.to_numpy(dtype=float)).level_with(best)
        calibration = self.calibrations[str(share.columns[0])]
        table = self.responses[str(share.columns[0])].select(respondents=list(share.index))
        return differences_of_answers(as_floats(calibration.placed(table))).level_with(best)

    def _known(self, dataset: str | None) -> str:
        if dataset is None and len(self.calibrations) == 1:
            return next(iter(self.calibrations))
        _check_known(dataset, list(self.calibrations), "data set")
        return str(dataset)


def _described(calibration: Calibration, limits: Limits, items: pd.DataFrame) -> dict[str, Any]:
    """One row of `datasets`."""
    solved, unsolved = alike(calibration)
    told = informative(calibration)
    average = calibration.model.expected(
        calibration.coords, np.array([calibration.population.mean])
    )
    chance = np.where(told, average[:, 0], solved)
    row: dict[str, Any] = {
        "items": len(items),
        "respondents": round(calibration.n_respondents),
        "chance": float(chance.mean()),
        "chance_se": float(chance.std(ddof=1) / np.sqrt(len(items))) if len(items) > 1 else np.nan,
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


def _summed_up(name: str, value: Floats) -> dict[str, float]:
    deviation = float(value.std(ddof=1)) if value.size > 1 else np.nan
    return {
        f"{name}_mean": float(value.mean()) if value.size else np.nan,
        f"{name}_mean_se": deviation / np.sqrt(max(value.size, 1)),
        f"{name}_median": float(np.median(value)) if value.size else np.nan,
        f"{name}_sd": deviation,
    }


def _check_known(name: Any, known: list[str], what: str) -> None:
    if name not in known:
        shown = ", ".join(known[:12]) + (", ..." if len(known) > 12 else "")
        raise InputError(f"There is no {what} {name!r}. Choose one of: {shown}.")
