"""Which cases may be left to a model, so that it is right as often as was asked for.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021): thresholds are tried from
strict to lax, each with an exact binomial test on cases the model never saw, until one fails.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import checked_share
from itemwise.errors import InputError
from itemwise.numerics.arrays import Bools, Floats
from itemwise.numerics.intervals import share_interval, share_tail
from itemwise.results import Result
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

STEPS = 100  # thresholds that are tried, at most
POINTS = 200  # of a curve, at most
FIRST_SHARE = 0.1  # of the cases; fewer are no base for a first test
ROOM = 2 / 3  # of the cases; a first test beyond it would leave little to choose from


@dataclass(frozen=True)
class Accepted:
    """Cases with a score above `threshold` are accepted; what is known of them."""

    threshold: float  # infinite where no threshold could be proven
    target: float
    alpha: float
    n_cases: int
    n_accepted: int
    n_right: int  # of those accepted

    @property
    def coverage(self) -> float:
        """Share of the cases that is accepted."""
        return self.n_accepted / self.n_cases

    @property
    def accuracy(self) -> float:
        """Share of the accepted cases that is right; NaN where none is accepted."""
        return self.n_right / self.n_accepted if self.n_accepted else np.nan

    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the accuracy."""
        low, high = share_interval(np.array([self.n_right]), np.array([self.n_accepted]))
        return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Result):
    """How often a model is right when only its surest cases are left to it.

    `target` is the accuracy that was asked for, and `points` (method, coverage, accuracy, low,
    high) where methods stand at work, where these are known.
    """

    frame: pd.DataFrame  # method, coverage, accuracy, low, high
    target: float | None = None
    points: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """How much is gained by each method at half of the cases."""
        said = []
        for method, rows in self.frame.groupby("method", sort=False):
            half = rows.iloc[int((rows["coverage"] - 0.5).abs().to_numpy().argmin())]
            said.append(
                f"{method}: right in {half['accuracy']:.1%} of the surest {half['coverage']:.0%} "
                f"and in {rows['accuracy'].iloc[-1]:.1%} of all"
            )
        return "; ".join(said) + "."

    def area(self) -> pd.Series[float]:
        """Mean share of errors along the curve of each method; the smaller, the better."""
        import pandas as pd

        found = {}
        for method, rows in self.frame.groupby("method", sort=False):
            width = np.diff(rows["coverage"].to_numpy(), prepend=0.0)
            found[str(method)] = float(width @ (1 - rows["accuracy"].to_numpy()))
        return pd.Series(found, name="area", dtype=float).rename_axis("method")

    def to_frame(self) -> pd.DataFrame:
        """One row a threshold: method, coverage, accuracy and its exact 95 % interval."""
        return self.frame.copy()

    def plot(self, **kw: Any) -> Display:
        """Accuracy of what is accepted against the share that is, a curve a method."""
        from itemwise.displays import DISPLAYS

        display: Any = DISPLAYS["risk_coverage"]
        drawn: Display = display(self.frame, target=self.target, points=self.points)
        return drawn.plot(**kw)


def accepted(scores: Any, right: Any, *, target: float, alpha: float = 0.05) -> Accepted:
    """The laxest threshold at which the accuracy of accepted cases is at least `target`.

    `scores` (n,) are higher for cases the model is trusted with more; `right` (n,) says whether it
    was right; the model must not have learnt from these cases. A new case is accepted where its
    score is above the threshold. With probability 1 - `alpha` over such samples, at least `target`
    of new cases from the same source that are accepted will be right, whatever the model: that
    is exact for thresholds laid without a look at the cases, and for these, laid at scores of the
    sample, where no threshold laxer than one that is too lax is strict enough again. Infinite
    where nothing could be proven: too few cases, or too many errors among the surest.

    >>> import numpy as np
    >>> from itemwise.capability import accepted
    >>> sure = np.linspace(1, 0, 1000)
    >>> found = accepted(sure, sure > 0.1, target=0.95)
    >>> round(found.coverage, 2), round(found.accuracy, 2)
    (0.93, 0.97)
    """
    wanted = checked_share(target, "target", 0.97)
    risk = checked_share(alpha, "alpha", 0.05)
    score, good = _checked(scores, right)
    sizes, correct, below = _steps(score, good)
    tried = _tried(sizes, _first(sizes, wanted, risk))
    proven = share_tail(sizes[tried], correct[tried], wanted) <= risk
    passed = len(tried) if proven.all() else int(np.argmin(proven))
    if passed == 0:
        return Accepted(np.inf, wanted, risk, len(good), 0, 0)
    last = tried[passed - 1]
    return Accepted(
        float(below[last]), wanted, risk, len(good), int(sizes[last]), int(correct[last])
    )


def risk_coverage(scores: Any, right: Any) -> RiskCoverage:
    """Accuracy of the surest cases against how many they are, with exact 95 % intervals.

    `right` (n,) says whether the model was right; `scores` (n,) are higher for cases it is trusted
    with more, or several such by the name of the method: {"gate": ..., "probability": ...}.
    """
    import pandas as pd

    named = scores if isinstance(scores, Mapping) else {"score": scores}
    parts = [_curve(*_checked(one, right)).assign(method=name) for name, one in named.items()]
    columns = ["method", "coverage", "accuracy", "low", "high"]
    return RiskCoverage(pd.concat(parts, ignore_index=True)[columns])


def fewest_cases(target: float, alpha: float) -> int:
    """How many cases without an error prove `target`; with fewer nothing can be proven."""
    return ceil(log(alpha) / log(target) - 1e-9)


def _checked(scores: Any, right: Any) -> tuple[Floats, Bools]:
    score, good = np.asarray(scores, dtype=np.float64), np.asarray(right)
    if score.ndim != 1 or score.shape != good.shape or not score.size:
        raise InputError(
            f"scores has shape {score.shape} and right {good.shape}, but both should hold one "
            "value a case, of at least one case."
        )
    if np.isnan(score).any():
        raise InputError(
            f"{counted(int(np.isnan(score).sum()), 'score')} of {len(score):,} is NaN, so that it "
            "is unknown how far such a case is trusted. Leave those cases out."
        )
    if not np.isin(good, (0, 1)).all():
        raise InputError("right should say of each case whether the model was right: 0 or 1.")
    return score, good.astype(bool)


def _steps(score: Floats, right: Bools) -> tuple[Floats, Floats, Floats]:
    """From strict to lax: cases above a threshold, how many are right, and the threshold.

    It lies at the first score that is not accepted: the cases above are then a plain sample of all
    that lie above.
    """
    order = np.argsort(-score, kind="stable")
    ladder, correct = score[order], np.cumsum(right[order])
    ends = np.flatnonzero(np.append(ladder[1:] < ladder[:-1], True))
    below = np.append(ladder[ends[:-1] + 1], -np.inf)
    return (ends + 1).astype(np.float64), correct[ends].astype(np.float64), below


def _first(sizes: Floats, target: float, alpha: float) -> float:
    """The least cases that are tested: so many that one error by chance does not end the search."""
    n = float(sizes[-1])
    least = fewest_cases(target, alpha)
    room = range(least, int(ROOM * n) + 1)

    def forgives(size: int) -> bool:
        return bool(share_tail(np.array([size]), np.array([size - 1]), target)[0] <= alpha)

    place = bisect_left(room, True, key=forgives)
    return max(room[place], FIRST_SHARE * n) if place < len(room) else least


def _tried(sizes: Floats, first: float) -> NDArray[np.intp]:
    """Which steps are tested, from `first` cases on to all."""
    n = float(sizes[-1])
    if n < first:
        return np.empty(0, dtype=np.intp)
    return np.unique(np.searchsorted(sizes, np.linspace(first, n, STEPS) - 1e-9))


def _curve(score: Floats, right: Bools) -> pd.DataFrame:
    import pandas as pd

    sizes, correct, _ = _steps(score, right)
    shown = np.unique(np.linspace(0, len(sizes) - 1, POINTS).round().astype(np.intp))
    n, k = sizes[shown], correct[shown]
    low, high = share_interval(k, n)
    return pd.DataFrame({"coverage": n / sizes[-1], "accuracy": k / n, "low": low, "high": high})
