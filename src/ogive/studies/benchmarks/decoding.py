"""BenchmarkDecoding: how hard the data sets of a benchmark are, and who does well on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics import LabelTrouble, label_trouble
from ogive.diagnostics.diagnosis import informative, p_of_negative
from ogive.errors import InputError
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.responses.artificial_respondents import are_marks
from ogive.results import Draw, Result, picked
from ogive.studies.benchmarks import CHANCE
from ogive.studies.benchmarks.dataset_summaries import PARAMETERS, described
from ogive.studies.benchmarks.decoding_sentences import (
    SCORE,
    said_of_doubtful,
    said_of_hardest,
    said_of_instances,
    said_of_strongest,
    said_of_turned,
)
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from ogive.displays import Display
    from ogive.responses import Responses

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
        import pandas as pd

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
        import pandas as pd

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

    def ranking(self, column: str = CHANCE, *, ascending: bool | None = None) -> pd.DataFrame:
        """Data sets sorted by one column of `datasets`: the hardest first, or the largest.

        `ascending` is the smallest first; if omitted, only a chance is sorted so.
        """
        _check_known(column, list(map(str, self.datasets)), "column of datasets")
        rising = column == CHANCE if ascending is None else ascending
        return self.datasets.sort_values(column, ascending=rising, kind="stable")

    def bins(self, bins: int = 6, column: str = CHANCE) -> pd.DataFrame:
        """Means over equally large bins of data sets, in the order of `ranking`.

        Standard errors are over the data sets of a bin. Difficulties of different data sets are on
        scales of their own, so their mean says less than that of `chance`.
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

        "histogram" shows the `value` of the instances of one `dataset`, or one shape for each, as
        their scales differ: of the instances over which `datasets` is summed up, and below the
        figure stands which these are. "scores" shows the true scores on a `dataset`; "suspects" the
        instances of a `dataset` with doubtful labels.
        """
        from ogive.displays import DISPLAYS

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
        """How the values of instances are spread: of one data set, or of each by itself."""
        from ogive.displays import DISPLAYS

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
