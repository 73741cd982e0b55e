"""Learn then test; risk and coverage; rivals.

Which cases a model may decide at a target accuracy; accuracy against coverage.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021): thresholds are tried from
strict to lax, each with an exact binomial test on held-out cases, until one fails. They are tried
where a test begins to forgive one more error: just before, it could only fail more easily.

How many cases a promise is expected to accept, from cases that it will not be tested on.

What is decided on such cases costs the promise nothing: which score cases are ranked by, and where
tests begin. A test that begins too strict fails at a single error among the most certain cases; one
that begins too lax fails where some cases could have been accepted.

The gate compared with the model's own confidence: a threshold, or conformal selection.

Conformal selection is that of Jin and Candès (2023): a p-value for each case that the model is
wrong, then as many cases as the error rate allows (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive._validation import checked_share
from ogive.capability.classifier import Classifier
from ogive.capability.trust import Codes
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted, joined
from ogive.stats.array_backend import Bools, Floats
from ogive.stats.intervals import share_interval, share_tail

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.decisions import Decisions
    from ogive.capability.gate import CapabilityGate
    from ogive.results.plots.figure import Display


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
        """Return the exact 95 % interval of the accuracy."""
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
        """Return mean error rate along the curve of each method; smaller is better."""
        import pandas as pd

        found = {}
        for method, rows in self.frame.groupby("method", sort=False):
            width = np.diff(rows["coverage"].to_numpy(), prepend=0.0)
            found[str(method)] = float(width @ (1 - rows["accuracy"].to_numpy()))
        return pd.Series(found, name="area", dtype=float).rename_axis("method")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per threshold: method, coverage, accuracy and its exact 95 % interval."""
        return self.frame.copy()

    def plot(self, **kw: Any) -> Display:
        """Return accuracy of accepted cases against coverage, one curve per method."""
        from ogive.results.plots import DISPLAYS

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
    """Return accuracy against coverage, with exact 95 % intervals.

    `right` (n,) says whether the model was right; `scores` (n,) are higher for cases on which it is
    trusted more, or several such by the name of the method: {"gate": ..., "probability": ...}.
    """
    import pandas as pd

    named = scores if isinstance(scores, Mapping) else {"score": scores}
    parts = [_curve(*_checked(one, right)).assign(method=name) for name, one in named.items()]
    columns = ["method", "coverage", "accuracy", "low", "high"]
    return RiskCoverage(pd.concat(parts, ignore_index=True)[columns])


def fewest_cases(target: float, alpha: float) -> int:
    """Return the smallest number of cases that, all right, show an accuracy of `target`."""
    return ceil(log(alpha) / log(target) - 1e-9)


def sizes_to_test(n: int, target: float, alpha: float, first: int | None = None) -> Floats:
    """Return numbers of accepted cases to test, ascending, of `n`; empty if nothing can be shown.

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
    """Return the fewest cases among which so many errors still show the target."""
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


SAMPLES = 200  # of held-out cases, imagined
MOST_DRAWS = 4_000_000  # in all samples
BETTER = 0.05  # of the cases; so many more have to be expected for tests to begin elsewhere
FEWEST = 20  # cases to learn from; with fewer, tests begin as usual
ENOUGH = 0.75  # of the number of held-out cases; with fewer to learn from, tests begin as usual


class Expected(NamedTuple):
    """Numbers of accepted cases to test, and the share that is then expected to be accepted."""

    sizes: Floats
    share: float


def expected_share(
    score: Floats, right: Bools, n_cases: int, *, target: float, alpha: float
) -> Expected:
    """Return what tests on `n_cases` held-out cases are expected to accept.

    `score` and `right` (n,) are those of other cases from the same source, such as training cases
    out of fold. Held-out cases are imagined as draws from them, with a chance of being right that
    falls with the score.
    """
    sizes = sizes_to_test(n_cases, target, alpha, first=0)
    if not len(sizes) or len(score) < FEWEST:
        return Expected(sizes_to_test(n_cases, target, alpha), 0.0)
    chance = _chances(score, right)
    random = np.random.default_rng(0)
    samples = int(np.clip(MOST_DRAWS // n_cases, 10, SAMPLES))
    drawn = np.sort(random.integers(0, len(score), (samples, n_cases)), axis=1)
    wrong = np.cumsum(random.random(drawn.shape) > chance[drawn], axis=1)
    passed = wrong[:, sizes.astype(np.intp) - 1] <= forgiven(sizes, target, alpha)
    worth = np.array([reached(passed, sizes, k).mean() for k in range(len(sizes))])
    usual = int(np.searchsorted(sizes, sizes_to_test(n_cases, target, alpha)[0]))
    best = int(np.argmax(worth))
    clear = worth[best] > worth[usual] + BETTER * n_cases and len(score) >= ENOUGH * n_cases
    begin = best if clear else usual
    return Expected(sizes[begin:], float(worth[begin] / n_cases))


def reached(passed: NDArray[np.bool_], sizes: Floats, begin: int) -> Floats:
    """Return size of the last test passed in a row from `begin` on, 0 if none; rows are samples."""
    steps = np.cumprod(passed[:, begin:], axis=1).sum(axis=1)
    found: Floats = np.append(0.0, sizes[begin:])[steps]
    return found


def _chances(score: Floats, right: Bools) -> Floats:
    """Return chance of being right from the most to the least certain case, never rising.

    Half an error is added to each stretch of equal chances: none that were seen are not none.
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(-score, kind="stable")
    level = isotonic_regression(right[order].astype(np.float64), increasing=False)
    _, stretch, counts = np.unique(level, return_inverse=True, return_counts=True)
    n = counts[stretch]
    return np.asarray((level * n + 0.5) / (n + 1.0))


GATE, PROBABILITY, CONFORMAL = "gate", "probability", "conformal selection"
OWN, EQUAL = "its own limit", "the gate's coverage"
ALPHA = 0.05
CLOSE = 1e-9  # breaks ties of p-values in favour of higher confidence


@dataclass(frozen=True, eq=False)
class Rivals:
    """Thresholds on the model's own confidence, learned from held-out cases."""

    threshold: float  # on the confidence, with the guarantee of the gate; NaN without a target
    wrong: tuple[Floats, ...]  # confidence in wrong cases predicted as each class, ascending
    held_out: tuple[int, ...]  # cases predicted as each class

    @classmethod
    def learn(
        cls,
        sure: Floats | None,
        predicted: Codes,
        right: Bools,
        n_classes: int,
        target: float | None,
        alpha: float,
    ) -> Rivals | None:
        """Learn from the confidence in held-out cases (n_cases,); None if the model has none."""
        if sure is None:
            return None
        edge = np.nan
        if target is not None:
            edge = accepted(sure, right, target=target, alpha=alpha).threshold
        members = [predicted == code for code in range(n_classes)]
        wrong = tuple(np.sort(sure[own & ~right]) for own in members)
        return cls(edge, wrong, tuple(int(own.sum()) for own in members))

    def p_values(self, sure: Floats, predicted: Codes) -> Floats:
        """Return conformal p-values that cases are wrong, by predicted class."""
        found = np.ones(len(sure))
        for code, wrong in enumerate(self.wrong):
            own = predicted == code
            surer = len(wrong) - np.searchsorted(wrong, sure[own], side="left")
            found[own] = (1.0 + surer) / (1.0 + self.held_out[code])
        return found


@dataclass(frozen=True, eq=False, repr=False)
class GateComparison(Result):
    """Whether the gate chooses better than the model's own confidence.

    Rows of `frame`: each method at its own limit, if there is a target accuracy, and at the gate's
    coverage; `p` is the p-value of the difference in errors from the gate.
    """

    frame: pd.DataFrame
    curves: RiskCoverage
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """Which method is right more often at equal coverage, and whether that is significant."""
        equal = self.frame[self.frame["at"] == EQUAL].set_index("method")
        gate: Any = equal.loc[GATE]
        if not gate["accepted"]:
            return self._nothing_accepted(int(gate["cases"]))
        said = (
            f"The gate leaves {gate['coverage']:.1%} of {counted(int(gate['cases']), 'case')} to "
            f"the model, which is right on {gate['accuracy']:.1%} of them"
        )
        if PROBABILITY not in equal.index:
            return f"{said}; the model has no confidence to compare it with."
        rival = equal.loc[PROBABILITY]
        return (
            f"{said}; on as many cases that it is most certain of, it is right on "
            f"{rival['accuracy']:.1%}: {_verdict(gate, rival)}."
        )

    def _nothing_accepted(self, n_cases: int) -> str:
        """What the other methods accept at their own limits, where the gate accepts nothing."""
        rows = self.frame[(self.frame["at"] == OWN) & (self.frame["method"] != GATE)]
        said = f"The gate accepts none of {counted(n_cases, 'case')}"
        if rows.empty:
            return f"{said}, so its accuracy is unknown."
        if not rows["accepted"].any():
            return f"{said}, and neither do {joined(list(rows['method']))}."
        others = [
            f"{row['method']} {row['accepted']:,} (right on {row['accuracy']:.1%})"
            if row["accepted"]
            else f"{row['method']} none"
            for _, row in rows.iterrows()
        ]
        return f"{said}; at its own limit, {joined(others)}."

    def to_frame(self) -> pd.DataFrame:
        """One row per method and limit: accepted cases, coverage, accuracy, 95 % interval."""
        return self.frame.copy()

    def plot(self, **kw: Any) -> Display:
        """Return accuracy against coverage of each method, with their operating points."""
        return self.curves.plot(**kw)


def gate_curves(gate: CapabilityGate, rows: Any, found: Decisions, right: Bools) -> RiskCoverage:
    """Return curves of the gate and of the model's confidence, with their operating points."""
    import pandas as pd

    scores = {GATE: found.verdicts.score}
    points = [_row(GATE, OWN, found.within, right)]
    sure, notes = _confidence(gate, rows)
    if sure is not None:
        scores[PROBABILITY] = sure.value
        if gate.target_accuracy is not None:
            chosen = sure.value > sure.rivals.threshold
            points.append(_row(PROBABILITY, OWN, chosen, right))
    shown = pd.DataFrame(points)[["method", "coverage", "accuracy", "low", "high"]]
    return RiskCoverage(risk_coverage(scores, right).frame, gate.target_accuracy, shown, notes)


def compare_gate(gate: CapabilityGate, rows: Any, found: Decisions, right: Bools) -> GateComparison:
    """Compare all methods at their own limits and at the gate's coverage."""
    import pandas as pd

    wanted = gate.target_accuracy
    lines = [_row(GATE, OWN, found.within, right)]
    even = [_row(GATE, EQUAL, found.within, right)]
    sure, notes = _confidence(gate, rows)
    if sure is not None:
        p = sure.rivals.p_values(sure.value, found.codes)
        if wanted is not None:
            lines.append(_row(PROBABILITY, OWN, sure.value > sure.rivals.threshold, right))
            lines.append(_row(CONFORMAL, OWN, selected(p, 1 - wanted), right))
        for name, order in (
            (PROBABILITY, -sure.value),
            (CONFORMAL, p - CLOSE * _ranks(sure.value)),
        ):
            even.append(_row(name, EQUAL, _first(order, found.within), right, found.within))
    frame = pd.DataFrame([*lines, *even])
    return GateComparison(frame, gate_curves(gate, rows, found, right), notes)


def selected(p: Floats, rate: float) -> Bools:
    """Return cases whose p-values pass at this error rate (Benjamini and Hochberg)."""
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= rate * np.arange(1, len(p) + 1) / len(p))
    chosen = np.zeros(len(p), dtype=bool)
    if passed.size:
        chosen[order[: passed[-1] + 1]] = True
    return chosen


class _Confidence(NamedTuple):
    value: Floats  # (n_cases,)
    rivals: Rivals


def _confidence(gate: CapabilityGate, rows: Any) -> tuple[_Confidence | None, tuple[str, ...]]:
    """Return confidence of the model in each case, or a note that it has none."""
    model = Classifier(gate.estimator_, gate.classes_)
    sure = None if gate.rivals_ is None else model.confidence(rows)
    if sure is None or gate.rivals_ is None:
        return None, (f"{model.name} has no confidence to compare the gate with.",)
    return _Confidence(sure, gate.rivals_), ()


def _row(
    method: str, at: str, chosen: Bools, right: Bools, gate: Bools | None = None
) -> dict[str, Any]:
    n, good = int(chosen.sum()), int(right[chosen].sum())
    accuracy, low, high = known_shares(np.array([float(good)]), np.array([float(n)]))
    return {
        "method": method,
        "at": at,
        "cases": len(right),
        "accepted": n,
        "coverage": n / len(right),
        "accuracy": float(accuracy[0]),
        "low": float(low[0]),
        "high": float(high[0]),
        "p": np.nan if gate is None else _chance(chosen, gate, right),
    }


def _chance(one: Bools, other: Bools, right: Bools) -> float:
    """p-value of the errors among cases that only one of two methods accepts (exact test)."""
    from scipy.stats import binomtest

    errors = int((one & ~other & ~right).sum()), int((other & ~one & ~right).sum())
    return float(binomtest(errors[0], sum(errors)).pvalue) if sum(errors) else 1.0


def _first(key: Floats, gate: Bools) -> Bools:
    """Return as many cases as the gate accepts, those with the lowest key."""
    chosen = np.zeros(len(key), dtype=bool)
    chosen[np.argsort(key, kind="stable")[: int(gate.sum())]] = True
    return chosen


def _ranks(values: Floats) -> Floats:
    """Return rank of each value, from 0 to below 1."""
    found = np.empty(len(values))
    found[np.argsort(values, kind="stable")] = np.arange(len(values)) / max(len(values), 1)
    return found


def _verdict(gate: Any, rival: Any) -> str:
    if not rival["p"] < ALPHA:
        return "the difference is not significant"
    better = gate["accuracy"] > rival["accuracy"]
    return f"{'the gate' if better else 'confidence'} chooses significantly better"
