"""What a request is told when it is not answered: a status and a plain sentence, nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

SENTENCES = {
    401: "The header X-API-Key is missing or wrong.",
    404: "There is nothing here. The paths are listed at /docs.",
    405: "This path has another method. The methods are listed at /docs.",
    431: "The headers of the request are too long.",
    500: "Something failed inside the service; its log says what.",
}


@dataclass(frozen=True)
class Problem:
    """One value that cannot be used: where it stands in the request, and why."""

    place: tuple[str | int, ...]  # such as ("rows", 2, "age")
    why: str

    def to_dict(self) -> dict[str, Any]:
        """In the form that clients of FastAPI know."""
        where = "".join(
            f"[{part}]" if isinstance(part, int) else f".{_short(part)}" for part in self.place
        ).lstrip(".")
        message = f"{where} {self.why}" if where else self.why
        return {"loc": ["body", *self.place], "msg": message, "type": "value_error"}


class RefusalError(Exception):
    """A request that is not answered; the sender is told `detail`."""

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
