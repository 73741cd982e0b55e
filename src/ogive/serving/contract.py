"""What the service needs of a gate, what a request may contain, and how one is refused."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ogive.arguments import as_number, whole_number
from ogive.capability.case_features import NUMBER, TEXT
from ogive.capability.promises import GROUP
from ogive.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    from starlette.responses import Response

SENTENCES = {
    401: "The header X-API-Key is missing or wrong.",
    404: "There is nothing here. The paths are listed at /docs.",
    429: "Too many requests. Send fewer in a second.",
    405: "This path does not allow this method. The methods are listed at /docs.",
    431: "The headers of the request are too long.",
    500: "Something failed inside the service; its log says what.",
}


class Gate(Protocol):
    """A fitted CapabilityGate, or any object with these attributes and this method."""

    classes_: Any
    capability_: pd.DataFrame
    kinds_: Mapping[str, str]

    def decide(self, X: pd.DataFrame) -> pd.DataFrame:
        """One row per case: prediction, decision, cdi, difficulty, limit, reason.

        If the gate groups cases, `X` has the group as a column.
        """
        ...


@dataclass(frozen=True)
class RequestLimits:
    """Limits on the size and time of a request, and on what may wait."""

    rows: int = 1_000
    body_bytes: int = 1_048_576
    seconds: float = 10.0  # for sending a whole request
    answer_seconds: float = 10.0  # for its answer, after which the model is ended
    per_second: float | None = None  # requests of one key, or of one address where none is needed
    waiting_rows: int = 20_000  # at least `rows`
    connections: int = 500

    def __post_init__(self) -> None:
        for name in ("rows", "body_bytes", "waiting_rows", "connections"):
            whole_number(getattr(self, name), name, least=1)
        for name in ("seconds", "answer_seconds", "per_second"):
            value = getattr(self, name)
            given = value is not None or name != "per_second"
            if given and not 0 < as_number(value) < float("inf"):
                raise InputError(f"{name} is {value!r}, but it should be a number above 0.")


@dataclass(frozen=True)
class Fields:
    """The features of a gate, as fields of a request."""

    kinds: Mapping[str, str]  # name -> "number" | "text", in the order of the gate
    missing: bool  # whether null is allowed

    @classmethod
    def of(cls, gate: Gate) -> Fields:
        """Return the features of the gate, and whether it accepts missing values."""
        names = getattr(gate, "feature_names_in_", None)
        ordered = list(gate.kinds_) if names is None else [str(name) for name in names]
        kinds = {name: gate.kinds_[name] for name in ordered}
        kinds |= {name: kind for name, kind in _groups(gate).items() if name not in kinds}
        return cls(kinds, _decides_missing(gate, kinds))


def _groups(gate: Gate) -> dict[str, str]:
    """The fact that groups cases, if the promise of the gate holds in each group."""
    fact = getattr(gate, "group_fact_", None)
    if fact is None or getattr(gate, "by_", None) != GROUP:
        return {}
    return {fact.name: NUMBER if fact.numeric else TEXT}


def _decides_missing(gate: Gate, kinds: Mapping[str, str]) -> bool:
    """Check whether the gate decides a row of missing values; most classifiers refuse it."""
    import pandas as pd

    empty = {NUMBER: pd.Series([float("nan")]), TEXT: pd.Series([None], dtype=object)}
    row = pd.DataFrame({name: empty[kind] for name, kind in kinds.items()})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return len(gate.decide(row)) == 1
    except (Exception, SystemExit):  # whatever the model raises, it does not accept them
        return False


@dataclass(frozen=True)
class Problem:
    """A value that cannot be used: where it is in the request, and why."""

    place: tuple[str | int, ...]  # such as ("rows", 2, "age")
    why: str

    def to_dict(self) -> dict[str, Any]:
        """Return the problem in the form that FastAPI uses, which many clients know."""
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in self.place
        ).lstrip(".")
        message = f"{where} {self.why}" if where else self.why
        return {"loc": ["body", *self.place], "msg": message, "type": "value_error"}


class RefusalError(Exception):
    """A refused request: its status, and the `detail` that is sent back."""

    def __init__(
        self,
        status: int,
        detail: str | Sequence[Problem],
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status, detail)
        self.status, self.headers = status, headers
        self.detail = detail if isinstance(detail, str) else [one.to_dict() for one in detail]


def _short(name: str, most: int = 60) -> str:
    return name if len(name) <= most else f"{name[: most - 1]}…"


def answer(refusal: RefusalError) -> Response:
    """Return the response to a refused request."""
    return as_json({"detail": refusal.detail}, refusal.status, refusal.headers)


def as_json(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a JSON response; NaN and infinity are bugs here, not data."""
    from starlette.responses import Response

    body = json.dumps(content, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, headers, media_type="application/json")
