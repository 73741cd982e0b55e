"""Why a case is hard: what each feature adds, and which change would bring it within the limit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.capability.class_scale import Scale
from ogive.capability.coding import FeatureItem, Grades, NormalRange, States
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.capability.case_difficulty import CaseDifficulty
    from ogive.capability.gate import CapabilityGate
    from ogive.results.plots.figure import Display


MAX_EXACT = 8  # features; with more, orders are sampled
ORDERS = 32  # and as many reversed
MAX_CASES = 1_000  # at once: each is decided again for every change of a feature
NOT, ELSE = "none of", "other"  # in words, and as a category that no rule names
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
CHANGED = COLUMNS[4:]
AFTER = ("difficulty", "limit", "trust", "least_trust", "prediction", "decision")
Decide: TypeAlias = Callable[[Any], Any]  # cases -> the decisions of a gate
Move: TypeAlias = Callable[[Any], Any]  # the nearest value that is meant; None for no change


def contributions(scale: CaseDifficulty, frame: pd.DataFrame, labels: Any) -> dict[str, Floats]:
    """Return what each feature adds to the difficulty of cases as members of `labels`, (n_cases,).

    Posterior means are used: without a feature, the likelihood often has no maximum. Contributions
    add up to the expected difficulty of a case minus that of a case without known features.
    """
    items = scale.coding_.items
    features = list(dict.fromkeys(item.feature for item in items))
    owner = np.array([features.index(item.feature) for item in items])  # feature of each item
    shapley = _exact if len(features) <= MAX_EXACT else _sampled
    grades = scale.coding_.code(frame)
    codes = scale.codes(labels, len(frame))
    both = len(scale.classes_) == 2
    values = np.zeros((len(frame), len(features)))
    for code in np.unique(codes):
        mask, own_scale = codes == code, scale.scales_[0 if both else code]
        sign = 1.0 if both and code == 0 else -1.0  # two classes share the scale of the second
        values[mask] = sign * shapley(own_scale, grades[mask], owner)
    return dict(zip(features, values.T, strict=True))


def expected(scale: Scale, grades: Floats) -> Floats:
    """Return posterior means of the index, in training SD, for grades (..., n_items)."""
    bank = scale.calibration
    cells = scale.responses(grades.reshape(-1, grades.shape[-1]))
    table = Responses(cells, items=bank.item_names, kind=bank.model.kind)
    ability = bank.score(table, items_known=True)["ability"].to_numpy()
    return np.asarray((ability - scale.mean) / scale.unit).reshape(grades.shape[:-1])


def _exact(scale: Scale, grades: Floats, owner: NDArray[np.intp]) -> Floats:
    """Return Shapley values from the expectation under every set of known features."""
    n = int(owner.max()) + 1
    known = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1  # (n_sets, n_features)
    value = expected(scale, np.where(known[:, None, owner], grades, np.nan))
    size = known.sum(axis=1)
    shapley = np.empty((len(grades), n))
    for feature in range(n):
        without = np.flatnonzero(~known[:, feature])
        # The share of orders in which just these are known before the feature.
        weight = np.array([1 / (n * comb(n - 1, int(k))) for k in size[without]])
        shapley[:, feature] = weight @ (value[without + 2**feature] - value[without])
    return shapley


def _sampled(scale: Scale, grades: Floats, owner: NDArray[np.intp]) -> Floats:
    """Return Shapley values as means over random orders of features, and their reverses."""
    n = int(owner.max()) + 1
    random = np.random.default_rng(0)
    drawn = np.array([random.permutation(n) for _ in range(ORDERS)])
    orders = np.concatenate([drawn, drawn[:, ::-1]])
    shapley = np.zeros((len(grades), n))
    shown = np.full((len(orders), *grades.shape), np.nan)
    before = expected(scale, shown)
    for step in orders.T:  # the feature that becomes known next in each order
        for known, feature in zip(shown, step, strict=True):
            known[:, owner == feature] = grades[:, owner == feature]
        after = expected(scale, shown)
        np.add.at(shapley.T, step, (after - before) / len(orders))
        before = after
    return shapley


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Result):
    """Which features make cases hard, and what would bring them within the limit.

    `frame` has one row per case and feature: its `contribution` to the difficulty, and the smallest
    `change` of its grade after which the model decides; if there is none, the change after which
    the case is easiest. `cases` holds the decisions of the gate.

    Contributions are Shapley values: what a feature adds to the expected difficulty when it becomes
    known, averaged over the orders in which features do (over 64 orders if there are more than
    eight features). They add up to the expected difficulty of the case (posterior mean) minus that
    of a case without any known feature; not to the `difficulty` by which the gate decides, which is
    the maximum likelihood estimate.
    """

    frame: pd.DataFrame
    cases: pd.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def found_nothing(self) -> bool:
        """True if there is no case."""
        return self.cases.empty

    @property
    def meaning(self) -> str:
        """The hardest case, what drives it, and what would bring it within the limit."""
        if self.cases.empty:
            return "There are no cases to explain."
        hardest = int(np.argmax([_excess(case) for _, case in self.cases.iterrows()]))
        case, name = self.cases.iloc[hardest], self.cases.index[hardest]
        rows = self._rows(hardest)
        first = rows.iloc[0]
        reason = str(case["reason"])
        text = (
            f"Case {name}: {reason[0].lower()}{reason[1:-1]}; {first['feature']} makes it hardest "
            f"({first['contribution']:+.2f})"
        )
        back = rows[(rows["decision_after"] == "model") & (case["decision"] == "person")]
        if case["decision"] == "model":
            return f"{text}."
        if back.empty:
            return f"{text}, and no change of a single feature would bring it within the limit."
        same = back[back["prediction_after"] == case["prediction"]]
        best = (same if len(same) else back).iloc[0]
        other = "" if len(same) else f", but predict {_plain(best['prediction_after'])!r}"
        return f"{text}; with {best['feature']} {best['change']} the model would decide{other}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per case and feature, the features that make a case hardest first."""
        return self.frame.copy()

    def plot(self, case: Any = None, **kw: Any) -> Display:
        """Return one case, the first unless named: its difficulty, the limit and what pushes it."""
        from ogive.results.plots import DISPLAYS

        names = list(self.cases.index)
        if not names:
            raise InputError("There is no case to draw: no case was explained.")
        if case is not None and case not in names:
            raise InputError(f"There is no case {case!r}; the first is {names[0]!r}.")
        row = 0 if case is None else names.index(case)
        one = self.cases.iloc[row]
        drawn = self._rows(row)[["feature", "value", "contribution"]].assign(
            **{
                key: one[key] for key in ("difficulty", "limit", "prediction", "decision", "reason")
            },
            difficulty_se=one["cdi_se"],
            limit_se=one["limit_se"],
        )
        return DISPLAYS["decision"](drawn).plot(**kw)

    def _rows(self, case: int) -> pd.DataFrame:
        width = len(self.frame) // max(len(self.cases), 1)
        return self.frame.iloc[case * width : (case + 1) * width]


def explain(gate: CapabilityGate, rows: Any, index: Any, groups: Any = None) -> Explanation:
    """Explain cases by Shapley values, and by decisions after each change of one feature."""
    frame = (
        rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows, columns=list(gate.kinds_))
    )
    if len(frame) > MAX_CASES:
        raise InputError(
            f"There are {counted(len(frame), 'case')}, but at most {MAX_CASES:,} are explained "
            "at once. Give those that go to a person, or fewer."
        )
    names = pd.RangeIndex(len(frame)) if index is None else index
    frame = frame.set_axis(pd.RangeIndex(len(frame)), axis=0)
    decide: Decide = partial(gate.decide, groups=groups)
    items = gate.case_difficulty_.coding_.items
    cases = decide(frame).set_axis(names, axis=0)
    cases["limit_se"] = gate.capability_["limit_se"].reindex(cases["prediction"]).to_numpy()
    shares = contributions(gate.case_difficulty_, frame, cases["prediction"])
    parts = []
    for feature, share in shares.items():
        column = frame.iloc[:, _column(frame, feature)]
        known = column.astype(object).where(column.notna(), None).to_numpy()
        part = pd.DataFrame({"feature": feature, "value": known})
        own = [item for item in items if item.feature == feature]
        tried = list(_tried(decide, own, frame, feature))
        part = part.join(_best(tried, cases["prediction"].tolist()))
        parts.append(part.assign(contribution=share, case=list(names), row=range(len(frame))))
    whole = pd.concat(parts).sort_values(
        ["row", "contribution"], ascending=[True, False], kind="stable"
    )
    return Explanation(whole[list(COLUMNS)].reset_index(drop=True), cases)


def _column(frame: pd.DataFrame, feature: str) -> int:
    """Return position of a feature; column names need not be strings."""
    return [str(name) for name in frame.columns].index(feature)


def _tried(
    decide: Decide, items: list[FeatureItem], frame: pd.DataFrame, feature: str
) -> Iterator[pd.DataFrame]:
    """Yield decisions of the gate after each possible change."""
    column = frame.iloc[:, _column(frame, feature)]
    numeric = bool(pd.api.types.is_numeric_dtype(column.dtype))
    if items[0].rule.kind == "number":
        values = pd.to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan).tolist()
    else:
        values = column.astype(object).where(column.notna(), None).tolist()
    for words, move in _moves(items, numeric=numeric):
        moved = [move(value) for value in values]
        if all(value is None for value in moved):
            continue
        changes = ["" if value is None else words for value in moved]
        try:
            after = decide(_changed(frame, feature, moved))
            yield after[list(AFTER)].assign(change=changes)
        except InputError:  # a model may refuse categories that it has not seen
            if not words.startswith(NOT):
                raise


def _moves(items: list[FeatureItem], *, numeric: bool) -> Iterator[tuple[str, Move]]:
    """Yield changes of a feature: in words, and as a function to the nearest such value."""
    for item in items:
        rule = item.rule
        if isinstance(rule, Grades):
            for edge in rule.edges:
                yield f"at most {edge:.6g}", _into(-np.inf, edge)
                yield f"above {edge:.6g}", _into(float(np.nextafter(edge, np.inf)), np.inf)
        elif isinstance(rule, NormalRange):
            ends = [end for end in (rule.low, rule.high) if np.isfinite(end)]
            words = " to ".join(f"{end:.6g}" for end in ends)
            yield f"in the normal range ({words})", _into(rule.low, rule.high)
            if np.isfinite(rule.low):
                below = float(np.nextafter(rule.low, -np.inf))
                yield f"below {rule.low:.6g}", _out_of(rule, below)
            if np.isfinite(rule.high):
                above = float(np.nextafter(rule.high, np.inf))
                yield f"above {rule.high:.6g}", _out_of(rule, above)
        else:
            yield from _state_moves(rule, numeric=numeric, alone=len(items) == 1)


def _into(low: float, high: float) -> Move:
    """Return the end of a range that is nearer to a value outside; any end for an unknown value."""
    first = low if np.isfinite(low) else high

    def move(value: float) -> float | None:
        if np.isnan(value):
            return first
        return None if low <= value <= high else float(np.clip(value, low, high))

    return move


def _out_of(rule: NormalRange, beyond: float) -> Move:
    """Return a value outside, for one that lies inside or is unknown."""
    return lambda value: None if value < rule.low or value > rule.high else beyond


def _state_moves(rule: States, *, numeric: bool, alone: bool) -> Iterator[tuple[str, Move]]:
    """Yield every named state, and none of them if other values have a state too."""
    for label, state in rule.states:
        value = _number_of(rule, label, state) if numeric else label
        if value is not None:
            yield f"= {label}", _to_state(rule, value, state)
    if rule.otherwise is not None and alone:
        names = [label for label, _ in rule.states]
        free: list[Any] = [float(k) for k in range(len(names) + 1)] if numeric else [ELSE, "else"]
        value = next(one for one in free if _text(one) not in names)
        yield f"{NOT} {' or '.join(names)}", _to_state(rule, value, rule.otherwise)


def _number_of(rule: States, label: str, state: int) -> float | None:
    """Return the number that stands for a state in a column of numbers; None if there is none."""
    for text in (label, str(state)):
        try:
            value = float(text)
        except ValueError:
            continue
        if _grade(rule, value) == state:
            return value
    return None


def _to_state(rule: States, value: Any, state: int) -> Move:
    return lambda old: None if _grade(rule, old) == state else value


def _grade(rule: States, value: Any) -> float:
    return float(rule.code(np.array([value], dtype=object))[0])


def _text(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _excess(case: Any) -> float:
    """Return how far a case is beyond the limit: in difficulty or, without a limit, in trust."""
    beyond = case["difficulty"] - case["limit"]
    return float(case["least_trust"] - case["trust"] if np.isnan(beyond) else beyond)


def _best(tried: list[pd.DataFrame], before: list[Any]) -> pd.DataFrame:
    """Return the change after which the model decides, else the one that makes a case easiest.

    Of changes that leave the case to the model, those that keep the prediction come first, then
    the smallest.
    """
    rows: list[dict[str, Any]] = []
    for case in range(len(before)):
        options = [one.iloc[case] for one in tried if one["change"].iloc[case]]
        back = [one for one in options if one["decision"] == "model"]
        kept = [one for one in back if one["prediction"] == before[case]]
        best = max(kept or back, key=_excess) if back else min(options, key=_excess, default=None)
        rows.append(
            {
                "change": "" if best is None else best["change"],
                "difficulty_after": np.nan if best is None else float(best["difficulty"]),
                "prediction_after": None if best is None else _plain(best["prediction"]),
                "decision_after": "" if best is None else best["decision"],
            }
        )
    return pd.DataFrame(rows, columns=list(CHANGED))


def _changed(frame: pd.DataFrame, feature: str, values: list[Any]) -> pd.DataFrame:
    """Return the cases with one feature changed; None leaves it as it is."""
    position = _column(frame, feature)
    column = frame.iloc[:, position]
    pairs = zip(column.tolist(), values, strict=True)
    new = [old if value is None else value for old, value in pairs]
    numeric = pd.api.types.is_numeric_dtype(column.dtype)
    changed = frame.copy(deep=False)
    changed.isetitem(position, np.array(new, dtype=float if numeric else object))
    return changed


def _plain(value: Any) -> Any:
    """Return a label as a plain Python value."""
    return value.item() if isinstance(value, np.generic) else value
