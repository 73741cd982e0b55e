"""Which cases a model may decide at a target accuracy, and accuracy against coverage.

Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021): thresholds are tried from
strict to lax, each with an exact binomial test on held-out cases, until one fails. They are tried
where a test begins to forgive one more error: just before, it could only fail more easily.

What is decided on cases that a guarantee is not tested on costs it nothing: which score cases are
ranked by, and where tests begin. A test that begins too strict fails at a single error among the
most certain cases; one that begins too lax fails where some cases could have been accepted.

A gate is compared with a threshold on the model's own confidence, and with conformal selection (Jin
and Candès, 2023): a p-value for each case that the model is wrong, then as many cases as the error
rate allows (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
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
    from ogive.capability.decisions import Decisions
    from ogive.capability.gate import CapabilityGate
    from ogive.results.plots.figure import Display


MAX_STEPS = 100  # thresholds to try, at most
POINTS = 200  # points on a curve, at most
FIRST_SHARE = 0.1  # share of the cases that the first test uses at least
ROOM = 2 / 3  # share of the cases; a larger first test would leave little choice

SAMPLES = 200  # number of simulated samples of held-out cases, at most
MOST_DRAWS = 4_000_000  # number of simulated cases in all samples, at most
MIN_GAIN = 0.05  # share of cases that must be expected in addition for tests to begin elsewhere
MIN_LEARNING_CASES = 20  # with fewer cases to learn from, tests begin as usual
MIN_LEARNING_SHARE = 0.75  # of the number of held-out cases; with fewer, tests begin as usual

GATE, PROBABILITY, CONFORMAL = "gate", "probability", "conformal selection"
OWN, EQUAL = "its own limit", "the gate's coverage"
ALPHA = 0.05  # level of the test between the gate and the confidence
TIE_BREAK = 1e-9  # breaks ties of p-values in favour of higher confidence


@dataclass(frozen=True)
class Accepted:
    """Cases with a score above `threshold` are accepted; counts among the given cases."""

    threshold: float  # infinite if no threshold passed the test
    target: float
    alpha: float
    n_cases: int
    n_accepted: int
    n_right: int  # number of accepted cases that are right

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
        sentences = []
        for method, rows in self.frame.groupby("method", sort=False):
            half = rows.iloc[int((rows["coverage"] - 0.5).abs().to_numpy().argmin())]
            sentences.append(
                f"{method}: right on {half['accuracy']:.1%} of the most certain "
                f"{half['coverage']:.0%} and on {rows['accuracy'].iloc[-1]:.1%} of all"
            )
        return "; ".join(sentences) + "."

    def area(self) -> pd.Series[float]:
        """Return mean error rate along the curve of each method; smaller is better."""
        areas = {}
        for method, rows in self.frame.groupby("method", sort=False):
            width = np.diff(rows["coverage"].to_numpy(), prepend=0.0)
            areas[str(method)] = float(width @ (1 - rows["accuracy"].to_numpy()))
        return pd.Series(areas, name="area", dtype=float).rename_axis("method")

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
    >>> from ogive.capability.selective_risk import accepted
    >>> sure = np.linspace(1, 0, 1000)
    >>> found = accepted(sure, sure > 0.1, target=0.95)
    >>> round(found.coverage, 2), round(found.accuracy, 2)
    (0.93, 0.97)
    """
    target = checked_share(target, "target", 0.97)
    alpha = checked_share(alpha, "alpha", 0.05)
    score, correct = _checked(scores, right)
    n_above, n_right, below = _steps(score, correct)
    planned = sizes_to_test(len(correct), target, alpha) if sizes is None else np.asarray(sizes)
    tried = np.unique(np.searchsorted(n_above, np.minimum(planned, len(correct)) - 1e-9))
    proven = share_tail(n_above[tried], n_right[tried], target) <= alpha
    n_passed = len(tried) if proven.all() else int(np.argmin(proven))
    if n_passed == 0:
        return Accepted(np.inf, target, alpha, len(correct), 0, 0)
    last = tried[n_passed - 1]
    counts = len(correct), int(n_above[last]), int(n_right[last])
    return Accepted(float(below[last]), target, alpha, *counts)


def risk_coverage(scores: Any, right: Any) -> RiskCoverage:
    """Return accuracy against coverage, with exact 95 % intervals.

    `right` (n,) says whether the model was right; `scores` (n,) are higher for cases on which it is
    trusted more, or several such by the name of the method: {"gate": ..., "probability": ...}.
    """
    named = scores if isinstance(scores, Mapping) else {"score": scores}
    parts = [_curve(*_checked(one, right)).assign(method=name) for name, one in named.items()]
    columns = ["method", "coverage", "accuracy", "low", "high"]
    return RiskCoverage(pd.concat(parts, ignore_index=True)[columns])


def _checked(scores: Any, right: Any) -> tuple[Floats, Bools]:
    score, correct = np.asarray(scores, dtype=np.float64), np.asarray(right)
    if score.ndim != 1 or score.shape != correct.shape or not score.size:
        raise InputError(
            "`scores` and `right` must hold one value per case, of at least one case, got shapes "
            f"{score.shape} and {correct.shape}."
        )
    if n_missing := int(np.isnan(score).sum()):
        raise InputError(
            f"`scores` must be numbers, got {n_missing:,} of {len(score):,} NaN. Leave those "
            "cases out."
        )
    if not np.isin(correct, (0, 1)).all():
        raise InputError("`right` must say for each case whether the model was right: 0 or 1.")
    return score, correct.astype(bool)


def _steps(score: Floats, correct: Bools) -> tuple[Floats, Floats, Floats]:
    """Return numbers of cases above thresholds, of right ones, and the thresholds, strict to lax.

    A threshold lies at the first score that is not accepted, so that the accepted cases are a
    plain sample of all cases above it.
    """
    order = np.argsort(-score, kind="stable")
    sorted_score, n_right = score[order], np.cumsum(correct[order])
    ends = np.flatnonzero(np.append(sorted_score[1:] < sorted_score[:-1], True))
    below = np.append(sorted_score[ends[:-1] + 1], -np.inf)
    return (ends + 1).astype(np.float64), n_right[ends].astype(np.float64), below


def _curve(score: Floats, correct: Bools) -> pd.DataFrame:
    sizes, n_right, _ = _steps(score, correct)
    shown = np.unique(np.linspace(0, len(sizes) - 1, POINTS).round().astype(np.intp))
    n, k = sizes[shown], n_right[shown]
    low, high = share_interval(k, n)
    return pd.DataFrame({"coverage": n / sizes[-1], "accuracy": k / n, "low": low, "high": high})


def known_shares(right: Floats, n: Floats) -> tuple[Floats, Floats, Floats]:
    """Return shares that are right and their exact 95 % intervals; NaN if there are no cases."""
    with np.errstate(invalid="ignore"):
        share = np.asarray(right / n)
    low, high = (np.where(n > 0, end, np.nan) for end in share_interval(right, n))
    return share, low, high


# --- Which numbers of accepted cases to test ---


def fewest_cases(target: float, alpha: float) -> int:
    """Return the smallest number of cases that, all right, show an accuracy of `target`."""
    return ceil(log(alpha) / log(target) - 1e-9)


def sizes_to_test(n: int, target: float, alpha: float, first: int | None = None) -> Floats:
    """Return numbers of accepted cases to test, ascending, of `n`; empty if nothing can be shown.

    The first forgives `first` errors, each further at least one more, and the last takes all cases.
    """
    most = int(forgiven_errors(np.array([float(n)]), target, alpha)[0])
    if most < 0:
        return np.empty(0)
    least = 0.0
    if first is None:
        first = int(most > 0 and _smallest_sizes(np.ones(1), target, alpha)[0] <= ROOM * n)
        least = FIRST_SHARE * n
    begin = min(first, most)
    errors = np.unique(np.linspace(begin, most, min(MAX_STEPS, most - begin + 1)).round())
    sizes = _smallest_sizes(errors, target, alpha)
    enough = sizes[(sizes >= least) & (sizes <= n)]
    return np.append(enough[enough < n], float(n))


def forgiven_errors(sizes: Floats, target: float, alpha: float) -> Floats:
    """Return the most errors among accepted cases at which a test passes; -1 if none does."""
    low = np.full(len(sizes), -1.0)
    high = np.floor(sizes * (1 - target)) + 1
    while (low < high).any():
        middle = np.ceil((low + high) / 2)
        passes = share_tail(sizes, np.maximum(sizes - middle, 0), target) <= alpha
        low, high = np.where(passes, middle, low), np.where(passes, high, middle - 1)
    return low


def _smallest_sizes(errors: Floats, target: float, alpha: float) -> Floats:
    """Return the fewest cases among which these numbers of errors still show the target."""
    low, high = errors + 1, np.ceil((errors + 1) / (1 - target) * (3 - np.log(alpha))) + 1
    while (low < high).any():
        middle = np.floor((low + high) / 2)
        passes = share_tail(middle, middle - errors, target) <= alpha
        low, high = np.where(passes, low, middle + 1), np.where(passes, middle, high)
    return low


class Expected(NamedTuple):
    """Numbers of accepted cases to test, and the share that is then expected to be accepted."""

    sizes: Floats
    share: float


def expected_share(
    score: Floats, correct: Bools, n_cases: int, *, target: float, alpha: float
) -> Expected:
    """Return what tests on `n_cases` held-out cases are expected to accept.

    `score` and `correct` (n,) are those of other cases from the same source, such as training cases
    out of fold. Held-out cases are simulated as draws from them, with a chance of being right that
    falls with the score.
    """
    sizes = sizes_to_test(n_cases, target, alpha, first=0)
    usual_sizes = sizes_to_test(n_cases, target, alpha)
    if not len(sizes) or len(score) < MIN_LEARNING_CASES:
        return Expected(usual_sizes, 0.0)
    chance = _falling_chances(score, correct)
    random = np.random.default_rng(0)
    samples = int(np.clip(MOST_DRAWS // n_cases, 10, SAMPLES))
    drawn = np.sort(random.integers(0, len(score), (samples, n_cases)), axis=1)
    n_wrong = np.cumsum(random.random(drawn.shape) > chance[drawn], axis=1)
    passed = n_wrong[:, sizes.astype(np.intp) - 1] <= forgiven_errors(sizes, target, alpha)
    expected = np.array([last_passed(passed, sizes, k).mean() for k in range(len(sizes))])
    usual = int(np.searchsorted(sizes, usual_sizes[0]))
    best = int(np.argmax(expected))
    clearly_better = expected[best] > expected[usual] + MIN_GAIN * n_cases
    begin = best if clearly_better and len(score) >= MIN_LEARNING_SHARE * n_cases else usual
    return Expected(sizes[begin:], float(expected[begin] / n_cases))


def last_passed(passed: NDArray[np.bool_], sizes: Floats, begin: int) -> Floats:
    """Return size of the last test passed in a row from `begin` on, 0 if none; rows are samples."""
    steps = np.cumprod(passed[:, begin:], axis=1).sum(axis=1)
    return np.asarray(np.append(0.0, sizes[begin:])[steps])


def _falling_chances(score: Floats, correct: Bools) -> Floats:
    """Return chance of being right from the most to the least certain case, never rising.

    Half an error is added to each stretch of equal chances: no observed error does not mean none.
    """
    from sklearn.isotonic import isotonic_regression

    order = np.argsort(-score, kind="stable")
    level = isotonic_regression(correct[order].astype(np.float64), increasing=False)
    _, stretch, counts = np.unique(level, return_inverse=True, return_counts=True)
    n = counts[stretch]
    return np.asarray((level * n + 0.5) / (n + 1.0))


# --- The gate compared with the model's own confidence ---


@dataclass(frozen=True, eq=False)
class ConfidenceBaseline:
    """Thresholds on the model's own confidence, learned from held-out cases."""

    threshold: float  # on the confidence, with the guarantee of the gate; NaN without a target
    wrong: tuple[Floats, ...]  # confidence in wrong cases predicted as each class, ascending
    held_out: tuple[int, ...]  # number of cases predicted as each class

    @classmethod
    def learn(
        cls,
        confidence: Floats | None,
        predicted: Codes,
        correct: Bools,
        n_classes: int,
        target: float | None,
        alpha: float,
    ) -> ConfidenceBaseline | None:
        """Learn from the confidence in held-out cases (n_cases,); None if the model has none."""
        if confidence is None:
            return None
        threshold = np.nan
        if target is not None:
            threshold = accepted(confidence, correct, target=target, alpha=alpha).threshold
        masks = [predicted == code for code in range(n_classes)]
        wrong = tuple(np.sort(confidence[mask & ~correct]) for mask in masks)
        return cls(threshold, wrong, tuple(int(mask.sum()) for mask in masks))

    def p_values(self, confidence: Floats, predicted: Codes) -> Floats:
        """Return conformal p-values that cases are wrong, by predicted class."""
        p = np.ones(len(confidence))
        for code, wrong in enumerate(self.wrong):
            mask = predicted == code
            n_higher = len(wrong) - np.searchsorted(wrong, confidence[mask], side="left")
            p[mask] = (1.0 + n_higher) / (1.0 + self.held_out[code])
        return p


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
        left = (
            f"The gate leaves {gate['coverage']:.1%} of {counted(int(gate['cases']), 'case')} to "
            f"the model, which is right on {gate['accuracy']:.1%} of them"
        )
        if PROBABILITY not in equal.index:
            return f"{left}; the model has no confidence to compare it with."
        baseline = equal.loc[PROBABILITY]
        verdict = "the difference is not significant"
        if baseline["p"] < ALPHA:
            better = "the gate" if gate["accuracy"] > baseline["accuracy"] else "confidence"
            verdict = f"{better} chooses significantly better"
        return (
            f"{left}; on as many cases that it is most certain of, it is right on "
            f"{baseline['accuracy']:.1%}: {verdict}."
        )

    def _nothing_accepted(self, n_cases: int) -> str:
        """Return what the other methods accept at their own limits, if the gate accepts nothing."""
        rows = self.frame[(self.frame["at"] == OWN) & (self.frame["method"] != GATE)]
        none = f"The gate accepts none of {counted(n_cases, 'case')}"
        if rows.empty:
            return f"{none}, so its accuracy is unknown."
        if not rows["accepted"].any():
            return f"{none}, and neither do {joined(list(rows['method']))}."
        others = [
            f"{row['method']} {row['accepted']:,} (right on {row['accuracy']:.1%})"
            if row["accepted"]
            else f"{row['method']} none"
            for _, row in rows.iterrows()
        ]
        return f"{none}; at its own limit, {joined(others)}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per method and limit: cases accepted, coverage, accuracy, interval."""
        return self.frame.copy()

    def plot(self, **kw: Any) -> Display:
        """Return accuracy against coverage of each method, with their operating points."""
        return self.curves.plot(**kw)


def gate_curves(
    gate: CapabilityGate, rows: Any, decisions: Decisions, correct: Bools
) -> RiskCoverage:
    """Return curves of the gate and of the model's confidence, with their operating points."""
    scores = {GATE: decisions.verdicts.score}
    points = [_row(GATE, OWN, decisions.within, correct)]
    confidence, notes = _confidence(gate, rows)
    baseline = gate.baseline_
    if confidence is not None and baseline is not None:
        scores[PROBABILITY] = confidence
        if gate.target_accuracy is not None:
            chosen = confidence > baseline.threshold
            points.append(_row(PROBABILITY, OWN, chosen, correct))
    shown = pd.DataFrame(points)[["method", "coverage", "accuracy", "low", "high"]]
    return RiskCoverage(risk_coverage(scores, correct).frame, gate.target_accuracy, shown, notes)


def compare_gate(
    gate: CapabilityGate, rows: Any, decisions: Decisions, correct: Bools
) -> GateComparison:
    """Compare all methods at their own limits and at the gate's coverage."""
    target, within = gate.target_accuracy, decisions.within
    own = [_row(GATE, OWN, within, correct)]
    equal = [_row(GATE, EQUAL, within, correct)]
    confidence, notes = _confidence(gate, rows)
    baseline = gate.baseline_
    if confidence is not None and baseline is not None:
        p = baseline.p_values(confidence, decisions.codes)
        if target is not None:
            above = confidence > baseline.threshold
            own.append(_row(PROBABILITY, OWN, above, correct))
            own.append(_row(CONFORMAL, OWN, selected(p, 1 - target), correct))
        n_accepted = int(within.sum())
        ranks = np.empty(len(p))  # of confidence, from 0 to below 1
        ranks[np.argsort(confidence, kind="stable")] = np.arange(len(p)) / max(len(p), 1)
        for name, key in ((PROBABILITY, -confidence), (CONFORMAL, p - TIE_BREAK * ranks)):
            chosen = np.zeros(len(p), dtype=bool)
            chosen[np.argsort(key, kind="stable")[:n_accepted]] = True
            equal.append(_row(name, EQUAL, chosen, correct, within))
    curves = gate_curves(gate, rows, decisions, correct)
    return GateComparison(pd.DataFrame([*own, *equal]), curves, notes)


def selected(p: Floats, rate: float) -> Bools:
    """Return cases whose p-values pass at this error rate (Benjamini and Hochberg)."""
    order = np.argsort(p, kind="stable")
    passed = np.flatnonzero(p[order] <= rate * np.arange(1, len(p) + 1) / len(p))
    chosen = np.zeros(len(p), dtype=bool)
    if passed.size:
        chosen[order[: passed[-1] + 1]] = True
    return chosen


def _confidence(gate: CapabilityGate, rows: Any) -> tuple[Floats | None, tuple[str, ...]]:
    """Return confidence of the model in each case, or a note that it has none."""
    model = Classifier(gate.estimator_, gate.classes_)
    confidence = None if gate.baseline_ is None else model.confidence(rows)
    if confidence is None:
        return None, (f"{model.name} has no confidence to compare the gate with.",)
    return confidence, ()


def _row(
    method: str, at: str, chosen: Bools, correct: Bools, gate: Bools | None = None
) -> dict[str, Any]:
    n, n_right = int(chosen.sum()), int(correct[chosen].sum())
    accuracy, low, high = known_shares(np.array([float(n_right)]), np.array([float(n)]))
    return {
        "method": method,
        "at": at,
        "cases": len(correct),
        "accepted": n,
        "coverage": n / len(correct),
        "accuracy": float(accuracy[0]),
        "low": float(low[0]),
        "high": float(high[0]),
        "p": np.nan if gate is None else _p_of_difference(chosen, gate, correct),
    }


def _p_of_difference(one: Bools, other: Bools, correct: Bools) -> float:
    """Return the p-value of errors among cases that only one method accepts (exact test)."""
    from scipy.stats import binomtest

    errors = int((one & ~other & ~correct).sum()), int((other & ~one & ~correct).sum())
    return float(binomtest(errors[0], sum(errors)).pvalue) if sum(errors) else 1.0
