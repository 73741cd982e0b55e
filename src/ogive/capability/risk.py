"""Which cases a model may decide at a target accuracy; accuracy against coverage.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021): thresholds are tried from
strict to lax, each with an exact binomial test on held-out cases, until one fails. They are tried
where a test begins to forgive one more error: just before, it could only fail more easily.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share
from ogive.errors import InputError
from ogive.numerics.arrays import Bools, Floats
from ogive.numerics.intervals import share_interval, share_tail
from ogive.results import Result
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

STEPS = 100  # thresholds to try, at most
POINTS = 200  # on a curve, at most
FIRST_SHARE = 0.1  # of the cases; the first test uses at least these
ROOM = 2 / 3  # of the cases; a larger first test would leave little choice


@dataclass(frozen=True)
class Accepted:
    """Cases with a score above `threshold` are accepted; counts among the given cases."""

    threshold: float  # infinite if no threshold passed the test
    target: float
    alpha: float
    n_cases: int
    n_accepted: int
    n_right: int  # of those accepted

    @property
    def coverage(self) -> float:
        """Share of the cases that are accepted."""
        return self.n_accepted / self.n_cases

    @property
    def accuracy(self) -> float:
        """Share of the accepted cases that are right; NaN if none is accepted."""
        return self.n_right / self.n_accepted if self.n_accepted else np.nan

    def interval(self) -> tuple[float, float]:
        """The exact 95 % interval of the accuracy."""
        low, high = share_interval(np.array([self.n_right]), np.array([self.n_accepted]))
        return float(low[0]), float(high[0])


@dataclass(frozen=True, eq=False, repr=False)
class RiskCoverage(Result):
    """How often a model is right on the cases it is most certain of.

    `target` is the target accuracy, and `points` (method, coverage, accuracy, low, high) are the
    operating points of the methods, if known.
    """

    frame: pd.DataFrame  # method, coverage, accuracy, low, high
    target: float | None = None
    points: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Accuracy of each method on half of the cases and on all."""
        said = []
        for method, rows in self.frame.groupby("method", sort=False):
            half = rows.iloc[int((rows["coverage"] - 0.5).abs().to_numpy().argmin())]
            said.append(
                f"{method}: right on {half['accuracy']:.1%} of the most certain "
                f"{half['coverage']:.0%} and on {rows['accuracy'].iloc[-1]:.1%} of all"
            )
        return "; ".join(said) + "."

    def area(self) -> pd.Series[float]:
        """Mean error rate along the curve of each method; smaller is better."""
        import pandas as pd

        found = {}
        for method, rows in self.frame.groupby("method", sort=False):
            width = np.diff(rows["coverage"].to_numpy(), prepend=0.0)
            found[str(method)] = float(width @ (1 - rows["accuracy"].to_numpy()))
        return pd.Series(found, name="area", dtype=float).rename_axis("method")

    def to_frame(self) -> pd.DataFrame:
        """One row per threshold: method, coverage, accuracy and its exact 95 % interval."""
        return self.frame.copy()

    def plot(self, **kw: Any) -> Display:
        """Accuracy of accepted cases against coverage, one curve per method."""
        from ogive.displays import DISPLAYS

        display: Any = DISPLAYS["risk_coverage"]
        drawn: Display = display(self.frame, target=self.target, points=self.points)
        return drawn.plot(**kw)


def accepted(
    scores: Any, right: Any, *, target: float, alpha: float = 0.05, sizes: Any = None
) -> Accepted:
    """Find the laxest threshold at which the accuracy of accepted cases is at least `target`.

    `scores` (n,) are higher for cases on which the model is trusted more; `right` (n,) says whether
    it was right; the model must not have been trained on these cases. A new case is accepted if its
    score is above the threshold. With probability 1 - `alpha` over such samples, the accuracy on
    accepted new cases from the same source is at least `target`, for any model. This is exact for
    thresholds fixed beforehand; for thresholds at scores of the sample, as here, it needs accuracy
    not to recover at laxer thresholds once it is below the target. The threshold is infinite if
    nothing could be shown: too few cases, or too many errors among the most certain ones.

    `sizes` are the numbers of accepted cases to test, ascending, if other cases than these say
    which; None: from the size at which a test forgives one error, if there is room for it.

    >>> import numpy as np
    >>> from ogive.capability import accepted
    >>> sure = np.linspace(1, 0, 1000)
    >>> found = accepted(sure, sure > 0.1, target=0.95)
    >>> round(found.coverage, 2), round(found.accuracy, 2)
    (0.93, 0.97)
    """
    wanted = checked_share(target, "target", 0.97)
    risk = checked_share(alpha, "alpha", 0.05)
    score, good = _checked(scores, right)
    reach, correct, below = _steps(score, good)
    planned = sizes_to_test(len(good), wanted, risk) if sizes is None else np.asarray(sizes)
    tried = np.unique(np.searchsorted(reach, np.minimum(planned, len(good)) - 1e-9))
    proven = share_tail(reach[tried], correct[tried], wanted) <= risk
    passed = len(tried) if proven.all() else int(np.argmin(proven))
    if passed == 0:
        return Accepted(np.inf, wanted, risk, len(good), 0, 0)
    last = tried[passed - 1]
    return Accepted(
        float(below[last]), wanted, risk, len(good), int(reach[last]), int(correct[last])
    )


def risk_coverage(scores: Any, right: Any) -> RiskCoverage:
    """Accuracy against coverage, with exact 95 % intervals.

    `right` (n,) says whether the model was right; `scores` (n,) are higher for cases on which it is
    trusted more, or several such by the name of the method: {"gate": ..., "probability": ...}.
    """
    import pandas as pd

    named = scores if isinstance(scores, Mapping) else {"score": scores}
    parts = [_curve(*_checked(one, right)).assign(method=name) for name, one in named.items()]
    columns = ["method", "coverage", "accuracy", "low", "high"]
    return RiskCoverage(pd.concat(parts, ignore_index=True)[columns])


def fewest_cases(target: float, alpha: float) -> int:
    """The smallest number of cases that, all right, show an accuracy of `target`."""
    return ceil(log(alpha) / log(target) - 1e-9)


def sizes_to_test(n: int, target: float, alpha: float, first: int | None = None) -> Floats:
    """Numbers of accepted cases to test, ascending, of `n`; empty if nothing can be shown.

    The first forgives `first` errors, each further at least one more, and the last takes all cases.
    """
    most = _most_errors(n, target, alpha)
    if most < 0:
        return np.empty(0)
    if first is None:
        first = int(most > 0 and _smallest(np.ones(1), target, alpha)[0] <= ROOM * n)
        least = FIRST_SHARE * n
    else:
        least = 0.0
    begin = min(first, most)
    errors = np.unique(np.linspace(begin, most, min(STEPS, most - begin + 1)).round())
    sizes = _smallest(errors, target, alpha)
    enough = sizes[(sizes >= least) & (sizes <= n)]
    return np.append(enough[enough < n], float(n))


def forgiven(sizes: Floats, target: float, alpha: float) -> Floats:
    """Most errors among so many accepted cases at which a test still passes; -1 if none is."""
    top = np.full(len(sizes), -1.0)
    low, high = top.copy(), np.floor(sizes * (1 - target)) + 1
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        passes = share_tail(sizes, np.maximum(sizes - middle, 0), target) <= alpha
        low, high = np.where(passes, middle, low), np.where(passes, high, middle - 1)
    return low


def _most_errors(n: int, target: float, alpha: float) -> int:
    return int(forgiven(np.array([float(n)]), target, alpha)[0])


def _smallest(errors: Floats, target: float, alpha: float) -> Floats:
    """The fewest cases among which so many errors still show the target."""
    low, high = errors + 1, np.ceil((errors + 1) / (1 - target) * (3 - np.log(alpha))) + 1
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        passes = share_tail(middle, middle - errors, target) <= alpha
        low, high = np.where(passes, low, middle + 1), np.where(passes, middle, high)
    return low


def _checked(scores: Any, right: Any) -> tuple[Floats, Bools]:
    score, good = np.asarray(scores, dtype=np.float64), np.asarray(right)
    if score.ndim != 1 or score.shape != good.shape or not score.size:
        raise InputError(
            f"scores has shape {score.shape} and right {good.shape}, but both should hold one "
            "value per case, of at least one case."
        )
    if np.isnan(score).any():
        raise InputError(
            f"{counted(int(np.isnan(score).sum()), 'score')} of {len(score):,} "
            f"{'is' if np.isnan(score).sum() == 1 else 'are'} NaN. Leave those cases out."
        )
    if not np.isin(good, (0, 1)).all():
        raise InputError("right should say for each case whether the model was right: 0 or 1.")
    return score, good.astype(bool)


def known_shares(right: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Shares that are right and their exact 95 % intervals; NaN where there is nothing to count."""
    with np.errstate(invalid="ignore"):
        share = np.asarray(right / n)
    low, high = (np.where(n > 0, end, np.nan) for end in share_interval(right, n))
    return share, low, high


def _steps(score: Floats, right: Bools) -> tuple[Floats, Floats, Floats]:
    """From strict to lax: the number of cases above a threshold, how many are right, the threshold.

    It lies at the first score that is not accepted, so that the accepted cases are a plain
    sample of all cases above it.
    """
    order = np.argsort(-score, kind="stable")
    ladder, correct = score[order], np.cumsum(right[order])
    ends = np.flatnonzero(np.append(ladder[1:] < ladder[:-1], True))
    below = np.append(ladder[ends[:-1] + 1], -np.inf)
    return (ends + 1).astype(np.float64), correct[ends].astype(np.float64), below


def _curve(score: Floats, right: Bools) -> pd.DataFrame:
    import pandas as pd

    sizes, correct, _ = _steps(score, right)
    shown = np.unique(np.linspace(0, len(sizes) - 1, POINTS).round().astype(np.intp))
    n, k = sizes[shown], correct[shown]
    low, high = share_interval(k, n)
    return pd.DataFrame({"coverage": n / sizes[-1], "accuracy": k / n, "low": low, "high": high})
