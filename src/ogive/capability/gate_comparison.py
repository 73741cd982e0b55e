"""The gate compared with the model's own confidence: a threshold, or conformal selection.

Conformal selection is that of Jin and Candès (2023): a p-value for each case that the model is
wrong, then as many cases as the error rate allows (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.capability.classifier import Classifier
from ogive.capability.selective_risk import RiskCoverage, accepted, known_shares, risk_coverage
from ogive.capability.trust import Codes
from ogive.results.base import Result
from ogive.results.numbers import counted, joined
from ogive.stats.array_backend import Bools, Floats

if TYPE_CHECKING:
    from ogive.capability.decisions import Decisions
    from ogive.capability.gate import CapabilityGate
    from ogive.results.plots.figure import Display


GATE, PROBABILITY, CONFORMAL = "gate", "probability", "conformal selection"
OWN, EQUAL = "its own limit", "the gate's coverage"
ALPHA = 0.05
TIE_BREAK = 1e-9  # breaks ties of p-values in favour of higher confidence


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
