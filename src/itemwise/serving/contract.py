"""What the service asks of a gate, and what it grants to a request."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from itemwise.arguments import as_number, whole_number
from itemwise.capability.features import NUMBER, TEXT
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


class Gate(Protocol):
    """What decides: a fitted CapabilityGate, or anything of its shape."""

    classes_: Any
    capability_: pd.DataFrame
    kinds_: Mapping[str, str]

    def decide(self, X: pd.DataFrame) -> pd.DataFrame:
        """One row a case: prediction, decision, cdi, difficulty, limit, reason."""
        ...


@dataclass(frozen=True)
class RequestLimits:
    """How much one request may ask for, and how much may wait."""

    rows: int = 1_000
    body_bytes: int = 1_048_576
    seconds: float = 10.0  # to send a whole request
    waiting_rows: int = 20_000  # or as many as one request may have, where these are more
    connections: int = 500

    def __post_init__(self) -> None:
        for name in ("rows", "body_bytes", "waiting_rows", "connections"):
            whole_number(getattr(self, name), name, least=1)
        if not 0 < as_number(self.seconds) < float("inf"):
            raise InputError(f"seconds is {self.seconds!r}, but it should be a number above 0.")


@dataclass(frozen=True)
class Fields:
    """The features of a gate as fields of a request."""

    kinds: Mapping[str, str]  # name -> "number" | "text", in the order of the gate
    missing: bool  # whether null is a value

    @classmethod
    def of(cls, gate: Gate) -> Fields:
        """Ask the gate for its features, and try whether it decides rows without values."""
        names = getattr(gate, "feature_names_in_", None)
        ordered = list(gate.kinds_) if names is None else [str(name) for name in names]
        kinds = {name: gate.kinds_[name] for name in ordered}
        return cls(kinds, _decides_missing(gate, kinds))


def _decides_missing(gate: Gate, kinds: Mapping[str, str]) -> bool:
    """Most classifiers refuse rows with gaps; whether this one does is seen by asking it."""
    import pandas as pd

    gaps = {NUMBER: pd.Series([float("nan")]), TEXT: pd.Series([None], dtype=object)}
    row = pd.DataFrame({name: gaps[kind] for name, kind in kinds.items()})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return len(gate.decide(row)) == 1
    except Exception:  # whatever a model raises, it does not take gaps
        return False
