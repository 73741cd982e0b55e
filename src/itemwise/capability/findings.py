"""Capability: what was measured of a classifier, class by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import one_of
from itemwise.errors import InputError
from itemwise.numerics.intervals import wilson
from itemwise.results import Result
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

BIN = 0.25  # deviations, in which accuracy is shown along difficulty
FIGURES = ("trace", "cases", "density", "accuracy")


@dataclass(frozen=True, eq=False, repr=False)
class Capability(Result):
    """Up to what case difficulty a classifier can be trusted.

    The capability (MLC) of a class is the difficulty at which its cases are as often right as
    wrong. `mlc` is what a test finds on average over repeated tests; `between_tests` is how far a
    single one strays from that, and `mlc_se` the same, but not less than what tests say of
    themselves.

    `classes` has one row a class, which is its index, and `rule`: `mlc`, `mlc_se` and
    `between_tests` as above; `cases_used` by a test on average, of the `cases` of that class among
    the test cases, and as a `share` of all cases given; `seconds` that the traced test took, with
    its predictions; the difficulty of the `hardest` test case; and of the test cases of the class
    with difficulties up to the capability (`_below`) and beyond (`_above`) how many there are,
    `cases_below`, the share that is right, `accuracy_below`, and its 95 % interval (Wilson),
    `accuracy_below_low` and `accuracy_below_high`. `metrics` are those of all test cases; "auc" is
    that of the classifier's scores, where it has any.
    """

    classes: pd.DataFrame
    metrics: pd.DataFrame  # value, se, cases, seconds; one row a metric
    trace: pd.DataFrame  # of one test a class and rule: step, case, difficulty, right, estimate, se
    cases: pd.DataFrame  # one row a test case: class, cdi, difficulty, prediction, right
    n_resamples: int
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """What the first class' limit means, and how few cases it took."""
        first = self.classes.iloc[0]
        rows = self.classes[self.classes["rule"] == first["rule"]]
        limits = ", ".join(
            f"{label}: {row['mlc']:.2f} ± {1.96 * row['mlc_se']:.2f}"
            for label, row in rows.head(4).iterrows()
        )
        more = f" and {len(rows) - 4} more" if len(rows) > 4 else ""
        n, right = len(self.cases), float(self.cases["right"].sum())
        low, high = wilson(np.array([right]), np.array([float(n)]), 0.95)
        return (
            f"The classifier is right in {right / n:.1%} of {counted(n, 'case')} (95 % interval: "
            f"{low[0]:.1%} to {high[0]:.1%}); up to these difficulties it is right more often than "
            f"wrong: {limits}{more}. A test took {rows['cases_used'].mean():.0f} cases a class on "
            "average."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row a class and rule."""
        return self.classes.copy()

    def accuracy_by_difficulty(self) -> pd.DataFrame:
        """class, difficulty (middle of a bin of 0.25), accuracy, low, high, n: should fall."""
        middle = np.floor(self.cases["difficulty"] / BIN + 0.5) * BIN
        grouped = self.cases.assign(difficulty=middle).groupby(["class", "difficulty"], sort=True)
        found = grouped["right"].agg(["mean", "sum", "size"]).reset_index()
        low, high = wilson(found["sum"].to_numpy(float), found["size"].to_numpy(float), 0.95)
        found = found.assign(low=low, high=high).rename(columns={"mean": "accuracy", "size": "n"})
        return found[["class", "difficulty", "accuracy", "low", "high", "n"]]

    def plot(self, kind: str = "trace", rule: str | None = None, **kw: Any) -> Display:
        """`kind` is "trace" of a test, "cases", "density" of difficulty, or "accuracy" along it."""
        from itemwise.displays import DISPLAYS

        displays: Any = DISPLAYS
        one_of(kind, "kind", FIGURES)
        chosen = self.classes["rule"].iloc[0] if rule is None else rule
        if chosen not in set(self.classes["rule"]):
            raise InputError(
                f"rule is {rule!r}; measured were {', '.join(self.classes['rule'].unique())}."
            )
        limits = self.classes.loc[self.classes["rule"] == chosen, ["mlc", "mlc_se"]]
        if kind == "trace":
            rows = self.trace[self.trace["rule"] == chosen].drop(columns="rule")
            found: Display = displays["capability_trace"](rows, limits=limits)
        elif kind == "cases":
            found = displays["case_difficulty"](self.cases[["class", "cdi"]])
        elif kind == "density":
            rows = self.cases[["class", "difficulty"]]
            found = displays["difficulty_density"](rows, limits=limits)
        else:
            names = {"class": "respondent", "accuracy": "share"}
            rows = self.accuracy_by_difficulty().rename(columns=names)
            found = displays["characteristic"](rows, height="accuracy")
        return found.plot(**kw)
