"""The gate compared with the model's own confidence: a threshold, or conformal selection.

Conformal selection is that of Jin and Candès (2023): a p-value for each case that the model is
wrong, then as many cases as the error rate allows (Benjamini and Hochberg, 1995).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.capability.classifying import Classifier
from ogive.capability.risk import RiskCoverage, accepted, known_shares, risk_coverage
from ogive.capability.trust import Codes
from ogive.numerics.arrays import Bools, Floats
from ogive.results import Result
from ogive.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.decisions import Decisions
    from ogive.capability.gate import CapabilityGate
    from ogive.displays import Display

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
        """Conformal p-values that cases are wrong, by predicted class."""
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
        """Accuracy against coverage of each method, with their operating points."""
        return self.curves.plot(**kw)


def gate_curves(gate: CapabilityGate, rows: Any, found: Decisions, right: Bools) -> RiskCoverage:
    """Curves of the gate and of the model's confidence, with their operating points."""
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
    """Cases whose p-values pass at this error rate (Benjamini and Hochberg)."""
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
    """Confidence of the model in each case, or a note that it has none."""
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
    """As many cases as the gate accepts, those with the lowest key."""
    chosen = np.zeros(len(key), dtype=bool)
    chosen[np.argsort(key, kind="stable")[: int(gate.sum())]] = True
    return chosen


def _ranks(values: Floats) -> Floats:
    """Rank of each value, from 0 to below 1."""
    found = np.empty(len(values))
    found[np.argsort(values, kind="stable")] = np.arange(len(values)) / max(len(values), 1)
    return found


def _verdict(gate: Any, rival: Any) -> str:
    if not rival["p"] < ALPHA:
        return "the difference is not significant"
    better = gate["accuracy"] > rival["accuracy"]
    return f"{'the gate' if better else 'confidence'} chooses significantly better"
