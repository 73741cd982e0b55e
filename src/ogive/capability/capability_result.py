"""The capability of one classifier or several, and which limits the test cases support.

A test finds a limit whatever the data are, even if all cases are wrong or difficulty plays no part.
So a limit is only claimed as far as the test cases on either side of it support it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import one_of
from ogive.errors import InputError
from ogive.results.base import Draw, Result, picked, stacked
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson

if TYPE_CHECKING:
    from ogive.capability.case_difficulty import CaseDifficulty
    from ogive.irt.calibration import Calibration
    from ogive.results.plots.figure import Display


SEEN, EXTRAPOLATED = "seen", "extrapolated"
NONE_RIGHT, UNSUPPORTED = "none right", "not supported"
HALF = 0.5
ALPHA = 0.05
MOST_NAMED = 4  # classes that a sentence names
MOST_MODELS = 4  # models that a sentence names
BIN = 0.25  # width, in standard deviations, of the bins of `accuracy_by_difficulty`
LEAST_CASES = 10  # number of cases of such a bin; the accuracy of fewer says nothing
FIGURES = ("trace", "cases", "density", "accuracy")


def standing(row: Mapping[str, Any]) -> str:
    """Return what the limit of a class is, by its test cases up to the limit and beyond.

    It is supported if the 95 % interval of the accuracy up to it lies above one half.
    """
    if not _n_right(row, "below") + _n_right(row, "above"):
        return NONE_RIGHT
    if row["mlc"] < row["easiest"]:
        # Should most of the cases beyond the limit be right, it is no limit.
        return UNSUPPORTED if row["accuracy_above"] > HALF else EXTRAPOLATED
    if not row["accuracy_below_low"] > HALF:
        return UNSUPPORTED
    return EXTRAPOLATED if row["mlc"] > row["hardest"] else SEEN


def claimed(classes: pd.DataFrame) -> pd.Series[bool]:
    """Return which classes are shown to be right more often than wrong up to their limit."""
    known = classes["limit_is"].isin([SEEN, EXTRAPOLATED])
    return known & (classes["mlc"] >= classes["easiest"])


def claims(classes: pd.DataFrame) -> tuple[str, str]:
    """Say up to which difficulty each class can be trusted, and in which that is not shown.

    `classes` are those of one rule. The first text ends a sentence, the second is one or empty.
    """
    shown = claimed(classes)
    doubts = _named(classes[~shown], _doubt)
    if not shown.any():
        return f"the test cases show no limit of more right than wrong cases: {doubts}", ""
    limits = _named(classes[shown], lambda name, row: f"{name}: {limit_in_words(row)}")
    text = f"up to these difficulties it is right more often than wrong: {limits}"
    return text, f"The test cases show no such limit for {doubts}." if doubts else ""


def limit_notes(classes: pd.DataFrame) -> list[str]:
    """Return notes on limits that are extrapolated, or not supported by the test cases."""
    notes = []
    for rule, rows in classes.groupby("rule", sort=False):
        lost = rows["limit_is"].isin([NONE_RIGHT, UNSUPPORTED])
        beyond = (rows["mlc"] > rows["hardest"]) & ~lost
        before = (rows["mlc"] < rows["easiest"]) & (rows["limit_is"] == EXTRAPOLATED)
        for mask, finding, advice in (
            (
                beyond,
                "the limit lies beyond the hardest test case",
                "it is extrapolated from easier cases.",
            ),
            (
                before,
                "the limit lies below the easiest test case",
                "it is extrapolated from harder cases.",
            ),
            (
                lost,
                "the test cases do not support the limit",
                "leave such cases to people, or give more cases.",
            ),
        ):
            if mask.any():
                names = ", ".join(map(str, rows.index[mask]))
                notes.append(f"By the rule '{rule}', {finding} in {names}: {advice}")
    return notes


def not_shown_to_fall(cases: pd.DataFrame) -> list[Any]:
    """Return classes in which wrong test cases are not significantly harder than right ones.

    Classes that are always right, or always wrong, have nothing to compare.
    """
    from scipy.stats import mannwhitneyu

    names = []
    for name, rows in cases.groupby("class", sort=True):
        right = rows["right"].to_numpy(dtype=bool)
        if right.all() or not right.any():
            continue
        difficulty = rows["difficulty"].to_numpy(dtype=np.float64)
        p = mannwhitneyu(difficulty[~right], difficulty[right], alternative="greater").pvalue
        if not p < ALPHA:
            names.append(name)
    return names


def fall_notes(names: Collection[Any]) -> list[str]:
    """Say of which classes the test cases do not show that success falls with difficulty."""
    note = (
        "The test cases do not show that success falls with case difficulty in "
        f"{', '.join(map(str, names))} (Mann-Whitney test, one-sided p of {ALPHA:g} or more): "
        "where it does not fall, the limit means little."
    )
    return [note] if names else []


def limit_in_words(row: Mapping[str, Any]) -> str:
    """Return the limit of a class with its interval, and whether it is extrapolated."""
    limit, half_width = row["mlc"], 1.96 * row["mlc_se"]
    beyond = f"; extrapolated, the hardest case seen has {two_places(row['hardest'])}"
    ends = f"{two_places(limit - half_width)} to {two_places(limit + half_width)}"
    return f"{two_places(limit)} ({ends}{beyond if limit > row['hardest'] else ''})"


def two_places(value: float) -> str:
    """Return a number with two decimals, and no minus if these are zero."""
    return f"{round(value, 2) + 0.0:.2f}"


def _doubt(name: Any, row: Any) -> str:
    """Return why no limit is claimed of a class."""
    n_cases, limit = int(row["cases"]), two_places(row["mlc"])
    if row["limit_is"] == NONE_RIGHT:
        return f"{name} (none of {n_cases:,} cases right)"
    right = _n_right(row, "below")
    if row["mlc"] < row["easiest"]:
        easiest = two_places(row["easiest"])
        right += _n_right(row, "above")
        return (
            f"{name} ({right:,} of {n_cases:,} cases right; {limit} is extrapolated, the easiest "
            f"case seen has {easiest})"
        )
    return f"{name} ({right:,} of {int(row['cases_below']):,} cases up to {limit} right)"


def _n_right(row: Mapping[str, Any], side: str) -> int:
    n = row[f"cases_{side}"]
    return round(row[f"accuracy_{side}"] * n) if n else 0


def _named(rows: pd.DataFrame, say: Callable[[Any, Any], str]) -> str:
    text = ", ".join(say(name, row) for name, row in rows.head(MOST_NAMED).iterrows())
    more = len(rows) - MOST_NAMED
    return f"{text} and {more:,} more" if more > 0 else text


@dataclass(frozen=True, eq=False, repr=False)
class Capability(Result):
    """Up to what case difficulty a classifier can be trusted.

    The capability (MLC) of a class is the difficulty at which its cases are as often right as
    wrong. `mlc` is the mean over repeated tests; `between_tests` is their standard deviation, and
    `mlc_se` the larger of that and the mean standard error of single tests.

    `classes` has one row per class, its index, and `rule`: `mlc`, `mlc_se` and `between_tests` as
    above; `cases_used` by a test on average, out of the `cases` of that class among the test cases,
    and as a `share` of all cases given; `seconds` that the traced test took, including predictions;
    the difficulty of the `easiest` and of the `hardest` test case; and for test cases of the class
    up to the capability (`_below`) and beyond (`_above`): their number `cases_below`, the share
    that is right, `accuracy_below`, and its 95 % interval (Wilson), `accuracy_below_low` and
    `accuracy_below_high`. `limit_is` says what these cases show of the limit: "seen" or, if it
    lies outside the test cases, "extrapolated"; "none right" of the class; or "not supported", as
    no more than chance is right up to it. `metrics` are those of all test cases; "auc" is that of
    the classifier's scores, if it has any.
    """

    classes: pd.DataFrame
    metrics: pd.DataFrame  # value, se, cases, seconds; one row per metric
    trace: pd.DataFrame  # one test per class and rule: step, case, difficulty, right, estimate, se
    cases: pd.DataFrame  # one row per test case: class, cdi, difficulty, prediction, right
    n_resamples: int
    notes: tuple[str, ...] = ()
    classifier: str = ""  # the name of its Python class

    @property
    def meaning(self) -> str:
        """Accuracy, the limits of the classes, and how many cases a test took."""
        first = self.classes.iloc[0]
        rows = self.classes[self.classes["rule"] == first["rule"]]
        shown, doubted = claims(rows)
        who = f"The classifier ({self.classifier})" if self.classifier else "The classifier"
        share, ends = self.accuracy_in_words()
        return (
            f"{who} is right on {share} of {counted(len(self.cases), 'test case')} (95 % interval: "
            f"{ends}); {shown}. {f'{doubted} ' if doubted else ''}"
            f"A test took {rows['cases_used'].mean():.0f} cases per class on average."
        )

    def accuracy_in_words(self) -> tuple[str, str]:
        """Return the share of test cases that are right, and its interval."""
        n, right = len(self.cases), float(self.cases["right"].sum())
        low, high = wilson(np.array([right]), np.array([float(n)]), 0.95)
        return f"{right / n:.1%}", f"{low[0]:.1%} to {high[0]:.1%}"

    def without_limit(self) -> list[Any]:
        """Return the classes in which the first rule shows no limit."""
        rows = self.classes[self.classes["rule"] == self.classes["rule"].iloc[0]]
        return list(rows.index[~claimed(rows)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per class and rule."""
        return self.classes.copy()

    def accuracy_by_difficulty(self) -> pd.DataFrame:
        """Return accuracy by class along difficulty, with low, high and n; it should fall.

        Bins are 0.25 wide, and joined with the next until each holds at least 10 cases.
        """
        parts = []
        for name, cases in self.cases.groupby("class", sort=True):
            ordered = cases.sort_values("difficulty", kind="stable")
            bins = ordered.groupby(_joined_bins(ordered["difficulty"].to_numpy()))
            sums = bins.agg(difficulty=("difficulty", "mean"), right=("right", "sum"))
            parts.append(sums.assign(n=bins.size(), **{"class": name}))
        rows = pd.concat(parts, ignore_index=True)
        right, n = rows["right"].to_numpy(float), rows["n"].to_numpy(float)
        low, high = wilson(right, n, 0.95)
        frame = rows.assign(accuracy=right / n, low=low, high=high)
        return frame[["class", "difficulty", "accuracy", "low", "high", "n"]]

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return classes, metrics, accuracy along difficulty, the traced tests, and cases.

        Without `seconds`, so that files and pages of the same seed are the same.
        """
        return {
            "classes": self.classes.drop(columns="seconds"),
            "metrics": self.metrics.drop(columns="seconds"),
            "accuracy": self.accuracy_by_difficulty(),
            "trace": self.trace,
            "cases": self.cases,
        }

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return all but the traced tests."""
        return picked(self.tables(), "classes", "metrics", "accuracy", "cases")

    def figures(self) -> dict[str, Draw]:
        """Return the trace of a test and the density by rule, accuracy, and cases."""
        rules = [str(rule) for rule in self.classes["rule"].unique()]
        figures: dict[str, Draw] = {
            f"{kind}_{rule}" if len(rules) > 1 else kind: partial(self.plot, kind, rule=rule)
            for kind in ("trace", "density")
            for rule in rules
        }
        return figures | {kind: partial(self.plot, kind) for kind in ("accuracy", "cases")}

    def page_figures(self) -> dict[str, Draw]:
        """Return the trace of a test by rule, accuracy, and one density."""
        figures = self.figures()
        traces = [name for name in figures if name.startswith("trace")]
        density = next(name for name in figures if name.startswith("density"))
        return picked(figures, *traces, "accuracy", density)

    def plot(self, kind: str = "trace", rule: str | None = None, **kw: Any) -> Display:
        """Draw the "trace" of a test, "cases", "density" of difficulty, or "accuracy" along it."""
        from ogive.results.plots import DISPLAYS

        displays: Any = DISPLAYS
        one_of(kind, "kind", FIGURES)
        chosen = self.classes["rule"].iloc[0] if rule is None else rule
        if chosen not in set(self.classes["rule"]):
            raise InputError(
                f"rule is {rule!r}, but capability was measured by "
                f"{', '.join(self.classes['rule'].unique())}."
            )
        own = self.classes[self.classes["rule"] == chosen]
        limits = own[["mlc", "mlc_se"]]
        if kind == "trace":
            rows = self.trace[self.trace["rule"] == chosen].drop(columns="rule")
            display: Display = displays["capability_trace"](rows, limits=limits)
        elif kind == "cases":
            display = displays["case_difficulty"](self.cases[["class", "cdi"]])
        elif kind == "density":
            rows = self.cases[["class", "difficulty"]]
            borne_out = limits[claimed(own)]
            display = displays["difficulty_density"](
                rows, limits=borne_out if len(borne_out) else {}
            )
        else:
            rows = self.accuracy_by_difficulty().rename(columns={"accuracy": "share"})
            display = displays["case_accuracy"](rows)
        return display.plot(**kw)


@dataclass(frozen=True, eq=False, repr=False)
class CapabilityComparison(Result):
    """The hardest cases that each model can be trusted with; all had the same cases.

    With the fitted `scale` of case difficulty, the items behind it are kept as well.
    """

    models: Mapping[str, Capability]
    scale: CaseDifficulty | None = None

    @property
    def first(self) -> Capability:
        """The first model."""
        return next(iter(self.models.values()))

    @property
    def rules(self) -> list[str]:
        """The rules by which capability was measured."""
        return [str(rule) for rule in self.first.classes["rule"].unique()]

    @property
    def meaning(self) -> str:
        """How often each model is right, and which limits its test cases do not show."""
        if len(self.models) == 1:
            return " ".join(f"{name}: {one.meaning}" for name, one in self.models.items())
        pairs = {name: one.accuracy_in_words() for name, one in self.models.items()}
        accuracies = [f"{name} {share} ({ends})" for name, (share, ends) in pairs.items()]
        n_more = len(accuracies) - MOST_MODELS
        more = f" and {n_more:,} more" if n_more > 0 else ""
        n_cases = counted(len(self.first.cases), "test case")
        named = ", ".join(accuracies[:MOST_MODELS])
        finding = f"Right on the same {n_cases}, with 95 % intervals: {named}{more}."
        doubts = [
            f"{name} in {', '.join(map(str, lost))}"
            for name, one in self.models.items()
            if len(lost := one.without_limit())
        ]
        if not doubts:
            return finding
        return f"{finding} The test cases support no limit of {'; '.join(doubts)}."

    def to_frame(self) -> pd.DataFrame:
        """Return the limits of the first rule, one row per model."""
        return self.limits(self.rules[0])

    def limits(self, rule: str) -> pd.DataFrame:
        """Return one row per model: the limit in each class, and its standard error, <class>_se."""
        rows = {}
        for model, one in self.models.items():
            part = one.classes[one.classes["rule"] == rule]
            rows[model] = {str(label): row["mlc"] for label, row in part.iterrows()} | {
                f"{label}_se": row["mlc_se"] for label, row in part.iterrows()
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")

    def plot(self, rule: str | None = None, **kw: Any) -> Display:
        """Draw the limits of all models in the two largest classes."""
        from ogive.results.plots import DISPLAYS

        displays: Any = DISPLAYS
        chosen = rule or self.rules[0]
        sizes = self.first.classes[self.first.classes["rule"] == chosen]["cases"]
        two = set(sizes.sort_values(ascending=False, kind="stable").index[:2])
        classes = [str(label) for label in sizes.index if label in two]
        shown: Display = displays["capability_plane"](self.limits(chosen), classes=classes)
        return shown.plot(**kw)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables of all models below each other, and the items of the scale."""
        every = {name: one.tables() for name, one in self.models.items()}
        combined = {
            name: stacked("model", {model: tables[name] for model, tables in every.items()})
            for name in self.first.tables()
        }
        return combined if self.scale is None else combined | {"items": self.scale.directions_}

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return the limits by rule."""
        return {f"limits_by_{rule}": self.limits(rule) for rule in self.rules}

    def figures(self) -> dict[str, Draw]:
        """Return the cases, the figures of each model, and the plane of two classes."""
        figures = {"cases": self.first.figures()["cases"]}
        for model, one in self.models.items():
            ending = f"_{model}" if len(self.models) > 1 else ""
            for name, draw in one.figures().items():
                if name != "cases":
                    kind, _, rule = name.partition("_")
                    figures[f"{kind}{ending}{_after(rule)}"] = draw
        return figures | (self._planes("plane") if len(self.models) > 1 else {})

    def page_figures(self) -> dict[str, Draw]:
        """Return the plane of two classes by rule."""
        return self._planes("limits")

    def _planes(self, name: str) -> dict[str, Draw]:
        several = len(self.rules) > 1
        return {
            f"{name}{_after(rule if several else '')}": partial(self.plot, rule)
            for rule in self.rules
        }

    def banks(self) -> dict[str, Calibration]:
        """Return the banks of the scale; of two classes, one serves both."""
        if self.scale is None:
            return {}
        names = [str(label) for label in self.scale.classes_.tolist()]
        chosen = names[1:] if len(names) == 2 else names
        return dict(zip(chosen, self.scale.calibrations_, strict=True))


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredModels(CapabilityComparison):
    """What was measured of each of several models, and the notes on them.

    A page has a section for each model beside the comparison; a folder has only this.
    """

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes of each model; one that only some models have names the model."""
        every = self.models.items()
        common = set.intersection(*(set(one.notes) for one in self.models.values()))
        return tuple(
            dict.fromkeys(
                note if note in common else f"{name}: {note}"
                for name, one in every
                for note in one.notes
            )
        )

    def sentences(self) -> list[str]:
        """Return what was found of each model, with its name, and the notes."""
        own = [f"{name}: {one.meaning}" for name, one in self.models.items()]
        return [*([self.meaning] if len(own) > 1 else []), *own, *self.notes]


def _after(rule: str) -> str:
    """Return the ending that distinguishes rules, if there are several."""
    return f"_{rule}" if rule else ""


def _joined_bins(difficulty: Floats) -> NDArray[np.intp]:
    """Return the bin of each case, of ascending difficulties: 0.25 wide, with 10 cases or more."""
    narrow = np.floor(difficulty / BIN + 0.5)
    bins, start = np.empty(len(narrow), dtype=np.intp), 0
    for end in range(1, len(narrow) + 1):
        complete = end == len(narrow) or narrow[end] != narrow[end - 1]
        if complete and end - start >= LEAST_CASES:
            bins[start:end] = start
            start = end
    bins[start:] = bins[start - 1] if start else 0  # what is left joins the last bin
    return bins
