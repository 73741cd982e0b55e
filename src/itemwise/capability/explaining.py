"""Why a case is hard: which features make it so, and which change would bring it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.capability.coding import FeatureItem, Grades, NormalRange
from itemwise.capability.scale import Scale
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses
from itemwise.results import Finding
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.capability.gate import CapabilityGate
    from itemwise.displays import Display

MOST_CASES = 1_000  # at once: each is asked about again for every change of a feature
COLUMNS = (
    "case",
    "feature",
    "value",
    "contribution",
    "change",
    "difficulty_after",
    "prediction_after",
    "decision_after",
)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Finding):
    """Which features make cases hard, and what would bring them within the limit.

    `frame` has one row a case and feature: its `contribution` to the difficulty (expected with the
    feature minus without it), and the least `change` of its grade that makes the case the model's;
    where none does, the change after which it is easiest. `cases` is what the gate decides of each.
    """

    frame: pd.DataFrame
    cases: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """The hardest case, what drives it, and what would bring it back."""
        if self.cases.empty:
            return "There are no cases to explain."
        hardest = int(np.argmax((self.cases["difficulty"] - self.cases["limit"]).to_numpy()))
        case, name = self.cases.iloc[hardest], self.cases.index[hardest]
        rows = self._rows(hardest)
        first = rows.iloc[0]
        said = f"Case {name}: {str(case['reason'])[0].lower()}{str(case['reason'])[1:-1]}; "
        said += f"{first['feature']} makes it hardest ({first['contribution']:+.2f})"
        back = rows[(rows["decision_after"] == "model") & (case["decision"] == "person")]
        if case["decision"] == "model":
            return f"{said}."
        if back.empty:
            return f"{said}, and no change of a single feature would bring it back."
        same = back[back["prediction_after"] == case["prediction"]]
        best = (same if len(same) else back).iloc[0]
        other = "" if len(same) else f", but for {best['prediction_after']!r}"
        return f"{said}; with {best['feature']} {best['change']} the model would decide{other}."

    def to_frame(self) -> pd.DataFrame:
        """One row a case and feature, the features that make a case hardest first."""
        return self.frame.copy()

    def plot(self, case: Any = None, **kw: Any) -> Display:
        """One case, the first unless named: its difficulty, the limit and what pushes it."""
        from itemwise.displays import DISPLAYS

        names = list(self.cases.index)
        if case is not None and case not in names:
            raise InputError(f"There is no case {case!r}; the first is {names[0]!r}.")
        place = 0 if case is None else names.index(case)
        one = self.cases.iloc[place]
        drawn = self._rows(place)[["feature", "value", "contribution"]].assign(
            **{
                key: one[key] for key in ("difficulty", "limit", "prediction", "decision", "reason")
            },
            difficulty_se=one["cdi_se"],
            limit_se=one["limit_se"],
        )
        return DISPLAYS["decision"](drawn).plot(**kw)

    def _rows(self, place: int) -> pd.DataFrame:
        width = len(self.frame) // max(len(self.cases), 1)
        return self.frame.iloc[place * width : (place + 1) * width]


def explain(gate: CapabilityGate, rows: Any, index: Any) -> Explanation:
    """Ask the gate again about each case without each feature, and after each change of one."""
    import pandas as pd

    frame = (
        rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=list(gate.kinds_))
    )
    if len(frame) > MOST_CASES:
        raise InputError(
            f"There are {counted(len(frame), 'case')}, but at most {MOST_CASES:,} are explained "
            "at once. Give those that go to a person, or fewer."
        )
    names = pd.RangeIndex(len(frame)) if index is None else index
    frame = frame.set_axis(pd.RangeIndex(len(frame)), axis=0)
    cases = gate.decide(frame).set_axis(names, axis=0)
    cases["limit_se"] = gate.capability_["limit_se"].reindex(cases["prediction"]).to_numpy()
    features = list(dict.fromkeys(item.feature for item in gate.case_difficulty_.coding_.items))
    found = [
        _of_feature(gate, frame, cases, feature).assign(case=list(names), place=range(len(frame)))
        for feature in features
    ]
    whole = pd.concat(found).sort_values(
        ["place", "contribution"], ascending=[True, False], kind="stable"
    )
    return Explanation(whole[list(COLUMNS)].reset_index(drop=True), cases)


def _of_feature(
    gate: CapabilityGate, frame: pd.DataFrame, cases: pd.DataFrame, feature: str
) -> pd.DataFrame:
    """Contribution and best change of one feature, a row a case."""
    import pandas as pd

    columns: dict[str, Any] = {
        "feature": feature,
        "value": frame[feature].astype(object).where(frame[feature].notna(), None).to_numpy(),
        "contribution": _contribution(gate, frame, cases, feature),
    }
    tried = [
        _after(gate, _changed(frame, feature, values), words)
        for words, values in _changes(gate, frame, feature)
    ]
    return pd.DataFrame(columns).join(_best(tried, cases["prediction"].tolist()))


def _contribution(
    gate: CapabilityGate, frame: pd.DataFrame, cases: pd.DataFrame, feature: str
) -> Floats:
    """Difficulty as predicted class with the feature minus without it, (n_cases,).

    By posterior means on both sides: the maximum of the likelihood is often gone with a feature.
    """
    scale = gate.case_difficulty_
    grades = scale.coding_.code(frame)
    codes = scale.codes(cases["prediction"], len(cases))
    hidden = grades.copy()
    hidden[:, [item.feature == feature for item in scale.coding_.items]] = np.nan
    both = len(scale.classes_) == 2
    found = np.empty(len(cases))
    for code in np.unique(codes):
        own, one = codes == code, scale.scales_[0 if both else code]
        sign = 1.0 if both and code == 0 else -1.0  # of two classes, the scale is the second's
        found[own] = sign * (_expected(one, grades[own]) - _expected(one, hidden[own]))
    return found


def _expected(scale: Scale, grades: Floats) -> Floats:
    """Posterior mean of the index of each case, in training deviations."""
    bank = scale.calibration
    table = Responses(scale.responses(grades), items=bank.item_names, kind=bank.model.kind)
    return np.asarray((bank.score(table)["ability"].to_numpy() - scale.mean) / scale.unit)


def _changes(
    gate: CapabilityGate, frame: pd.DataFrame, feature: str
) -> Iterator[tuple[list[str], list[Any]]]:
    """Every value worth a try, in words and as it is, one a case; None for no change."""
    items = [item for item in gate.case_difficulty_.coding_.items if item.feature == feature]
    values = frame[feature].tolist()
    for words, test, value in _goals(items):
        moved = [None if test(one) else value for one in values]
        yield [words if one is not None else "" for one in moved], moved


def _goals(items: list[FeatureItem]) -> Iterator[tuple[str, Any, Any]]:
    """Grades of a feature: in words, whether a value has it, and the nearest value that has."""
    for item in items:
        rule = item.rule
        if isinstance(rule, Grades):
            for edge in rule.edges:
                above = float(np.nextafter(edge, np.inf))
                yield f"at most {edge:.6g}", _at_most(edge), edge
                yield f"above {edge:.6g}", _above(edge), above
        elif isinstance(rule, NormalRange):
            ends = [end for end in (rule.low, rule.high) if np.isfinite(end)]
            words = " to ".join(f"{end:.6g}" for end in ends)
            yield f"in the normal range ({words})", _inside(rule), ends[0]
        else:
            for label, _ in rule.states:
                yield f"= {label}", _equals(label), label


def _at_most(edge: float) -> Any:
    return lambda value: bool(value <= edge)


def _above(edge: float) -> Any:
    return lambda value: bool(value > edge)


def _inside(rule: NormalRange) -> Any:
    return lambda value: bool(rule.low <= value <= rule.high)


def _equals(label: str) -> Any:
    return lambda value: str(value) == label


def _after(gate: CapabilityGate, changed: pd.DataFrame, words: list[str]) -> pd.DataFrame:
    """What the gate says of changed cases."""
    after = gate.decide(changed)
    return after[["difficulty", "limit", "prediction", "decision"]].assign(change=words)


def _best(tried: list[pd.DataFrame], before: list[Any]) -> pd.DataFrame:
    """Of each case the change that leaves it to the model, else the one after which it is easiest.

    Among those that leave it to the model, one that keeps the prediction, and the least.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for case in range(len(before)):
        options = [one.iloc[case] for one in tried if one["change"].iloc[case]]
        back = [one for one in options if one["decision"] == "model"]
        kept = [one for one in back if one["prediction"] == before[case]]
        best = (
            max(kept or back, key=lambda one: one["difficulty"] - one["limit"])
            if back
            else min(options, key=lambda one: one["difficulty"] - one["limit"], default=None)
        )
        rows.append(
            {
                "change": "" if best is None else best["change"],
                "difficulty_after": np.nan if best is None else float(best["difficulty"]),
                "prediction_after": None if best is None else best["prediction"],
                "decision_after": "" if best is None else best["decision"],
            }
        )
    return pd.DataFrame(rows)


def _changed(frame: pd.DataFrame, feature: str, values: list[Any]) -> pd.DataFrame:
    """The cases with one feature changed; None leaves it as it is."""
    import pandas as pd

    old = frame[feature].tolist()
    new = [one if value is None else value for one, value in zip(old, values, strict=True)]
    numeric = pd.api.types.is_numeric_dtype(frame[feature].dtype)
    return frame.assign(**{feature: pd.Series(new, dtype=float if numeric else object)})
