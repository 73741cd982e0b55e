"""The limits of a gate, and the tables that describe them, as JSON; nothing in it is trusted."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.capability.acceptance_parts import ACCURACIES, COUNTS, SHARES
from ogive.capability.decisions import PromisedLimits
from ogive.capability.group_facts import GroupFact
from ogive.capability.limits import Limits
from ogive.capability.promises import ALL, BYS, GROUP, Promise
from ogive.capability.trust import CAPABILITY, KINDS, PROBABILITY, Trust
from ogive.numerics.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.gate import CapabilityGate

BY_TEST = ("limit", "limit_se", "slope", "middle")
BY_TRUST = ("slope", "middle", "offset")
WEIGHTS = ("intercept", "on_sure", "on_capability")
TEST, TARGET = "test", "target"


def written_limits(limits: Limits | PromisedLimits) -> dict[str, Any]:
    """Limits by an adaptive test, or trust and promise."""
    if isinstance(limits, Limits):
        return {"from": TEST, **{name: as_texts(getattr(limits, name)) for name in BY_TEST}}
    trust, promise = limits.trust, limits.promise
    return {
        "from": TARGET,
        "trust": {
            "kind": trust.kind,
            **{name: as_texts(getattr(trust, name)) for name in BY_TRUST},
            **{name: getattr(trust, name) for name in WEIGHTS},
        },
        "promise": {
            "by": promise.by,
            "names": list(promise.names),
            "edge": as_texts(promise.edge),
            "few": promise.few.tolist(),
        },
    }


def read_limits(
    written: Mapping[str, Any], gate: CapabilityGate, n_classes: int
) -> Limits | PromisedLimits:
    """Restore limits; they have to be of the kind that the gate was asked for."""
    if written["from"] != (TEST if gate.target_accuracy is None else TARGET):
        raise ValueError("its limits and the accuracy it was asked for do not fit each other")
    if written["from"] == TARGET:
        trust = _trust(written["trust"], n_classes)
        return PromisedLimits(trust, _promise(written["promise"], gate))
    limit, error, slope, middle = (as_floats(written[name], n_classes) for name in BY_TEST)
    if np.isnan(limit).any() or not np.isfinite([slope, middle]).all() or (slope <= 0).any():
        raise ValueError("a limit is not a number, or trust does not fall with difficulty")
    if (error < 0).any():
        raise ValueError("a standard error is below 0")
    return Limits(limit, error, slope, middle)


def _trust(written: Mapping[str, Any], n_classes: int) -> Trust:
    kind = written["kind"]
    if kind not in KINDS:
        raise ValueError(f"its trust is {kind!r:.20}")
    slope, middle, offset = (as_floats(written[name], n_classes) for name in BY_TRUST)
    intercept, on_sure, on_capability = as_floats([written[name] for name in WEIGHTS])
    numbers = np.concatenate([slope, middle, offset, [intercept, on_sure, on_capability]])
    if not np.isfinite(numbers).all() or (slope <= 0).any() or min(on_sure, on_capability) < 0:
        raise ValueError("its trust is not a number, or does not fall with difficulty")
    if (on_sure > 0) != (kind != CAPABILITY) or (on_capability > 0) != (kind != PROBABILITY):
        raise ValueError("its trust does not rest on what it says")
    return Trust(
        kind, slope, middle, offset, float(intercept), float(on_sure), float(on_capability)
    )


def _promise(written: Mapping[str, Any], gate: CapabilityGate) -> Promise:
    by, names = written["by"], tuple(str(name) for name in written["names"])
    if by not in BYS or by != gate.by_:
        raise ValueError("its promise is not for those it was asked for")
    if by == ALL:
        expected: tuple[str, ...] = ("all",)
    elif by == GROUP:
        expected = () if gate.group_fact_ is None else gate.group_fact_.labels
    else:
        expected = tuple(str(label) for label in gate.classes_.tolist())
    edge = as_floats(written["edge"], len(expected))
    few = written["few"]
    if names != expected or np.isnan(edge).any() or len(few) != len(edge):
        raise ValueError("its promise does not fit its classes or groups")
    if not all(isinstance(one, bool) for one in few):
        raise ValueError("its promise does not say which parts are too small")
    if (edge[np.array(few, dtype=bool)] < np.inf).any():
        raise ValueError("it accepts cases where it promises nothing")
    target, alpha = gate.target_accuracy, gate.alpha
    return Promise(by, float(target or 0), alpha, names, edge, np.array(few, dtype=bool))


def read_capability(
    written: Mapping[str, Any], classes: Any, limits: Limits | PromisedLimits
) -> pd.DataFrame:
    """Restore the table of predicted classes, which has to show the limits that decide."""
    import pandas as pd

    from ogive.capability.limits import REPORTED

    columns = {name: as_floats(written[name], len(classes)) for name in REPORTED}
    _check_counts(columns)
    if not all(
        np.allclose(columns[name], value, equal_nan=True)
        for name, value in zip(REPORTED, limits.by_class(), strict=False)
    ):
        raise ValueError("the limits it reports are not those it decides by")
    frame = pd.DataFrame(columns, index=pd.Index(classes, name="class"))
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def written_parts(frame: pd.DataFrame) -> dict[str, Any]:
    """The table of parts, by column."""
    texts = {name: frame[name].tolist() for name in ("by", "part", "promised")}
    numbers = {name: as_texts(frame[name]) for name in (*COUNTS, *SHARES, *ACCURACIES)}
    return {**texts, **numbers}


def read_parts(written: Mapping[str, Any]) -> pd.DataFrame:
    """Restore the table of parts."""
    import pandas as pd

    by, promised = list(written["by"]), list(written["promised"])
    if not set(by) <= set(BYS) or not all(isinstance(one, bool) for one in promised):
        raise ValueError("its parts are neither classes nor groups")
    names = [str(name) for name in written["part"]]
    numbers = {name: as_floats(written[name], len(by)) for name in (*COUNTS, *SHARES, *ACCURACIES)}
    _check_counts(numbers)
    frame = pd.DataFrame({"by": by, "part": names, **numbers, "promised": promised})
    return frame.astype(dict.fromkeys(COUNTS, np.int64))


def read_groups(written: Mapping[str, Any] | None) -> GroupFact | None:
    """Restore what is known of groups."""
    if written is None:
        return None
    labels, numeric = written["labels"], written["numeric"]
    if (
        not labels
        or not all(isinstance(one, str) for one in labels)
        or len(set(labels)) < len(labels)
    ):
        raise ValueError("its groups are not different texts")
    if not isinstance(written["name"], str) or not isinstance(numeric, bool):
        raise ValueError("its groups have no name")
    return GroupFact(written["name"], tuple(labels), numeric)


def read_shares(written: Mapping[str, Any]) -> dict[str, float]:
    """Restore the share that each kind of trust was expected to accept."""
    values = as_floats(list(written.values()))
    if not set(written) <= set(KINDS) or not ((values >= 0) & (values <= 1)).all():
        raise ValueError("what it was expected to accept are not shares")
    return dict(zip(written, values.tolist(), strict=True))


def as_texts(values: Any) -> list[Any]:
    """Numbers as JSON values: infinity and NaN as text."""
    numbers = [value.item() if hasattr(value, "item") else value for value in values]
    return [value if math.isfinite(value) else str(value) for value in numbers]


def as_floats(values: Any, n: int | None = None) -> Floats:
    """Numbers from JSON values, `n` of them."""
    known = {"inf": np.inf, "-inf": -np.inf, "nan": np.nan}
    if any(isinstance(value, bool) for value in values):
        raise ValueError("true and false are not numbers")
    found = np.array([known[v] if isinstance(v, str) else float(v) for v in values], dtype=float)
    if n is not None and found.shape != (n,):
        raise ValueError(f"there are {len(found)} values for {n} classes or groups")
    return found


def as_count(value: Any) -> int:
    """A number of cases."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.20} is not a number of cases")
    return value


def _check_counts(columns: Mapping[str, Floats]) -> None:
    held, taken = (columns[name] for name in COUNTS)
    if not ((taken >= 0) & (taken <= held) & (held % 1 == 0) & (taken % 1 == 0)).all():
        raise ValueError("accepted cases are not some of those held out")
    shares = np.array([columns[name] for name in ACCURACIES])[:, taken > 0]
    if not ((shares >= 0) & (shares <= 1)).all():
        raise ValueError("an accuracy is not a share of accepted cases")
