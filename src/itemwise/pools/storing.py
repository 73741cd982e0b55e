"""Finished members on disk: one small JSON file each, so that a run that was killed resumes.

The name of a file is a digest of all that its content follows from: the split, the member and its
settings, the seed, the folds and the versions of the libraries. A file of another run therefore has
another name, and is left alone. A damaged file is made anew.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from itemwise.errors import FileError
from itemwise.files import make_folder, read_json, write_json
from itemwise.pools.members import Part
from itemwise.pools.outcomes import Outcome, Task

KIND, FORMAT = "pool-member", 1
VERSIONS_THAT_MATTER = ("numpy", "scipy", "scikit-learn")
BYTES_OF_A_CODE = 12
BYTES_OF_THE_REST = 1 << 20


@dataclass(frozen=True)
class Store:
    """A folder of finished members of one split."""

    folder: Path
    split: str  # digest of the split

    @classmethod
    def at(cls, folder: Any, part: Part) -> Store:
        """The folder, made where it is missing."""
        return cls(make_folder(folder), digest_of(part))

    def path(self, task: Task) -> Path:
        """Where the outcome of a task lies."""
        slug = re.sub(r"[^A-Za-z0-9]+", "-", task.member.name).strip("-")[:40] or "member"
        return self.folder / f"{slug}-{_digest(self._header(task))[:20]}.json"

    def read(self, task: Task) -> Outcome | None:
        """The outcome, if it is there; FileError where its file is damaged."""
        path = self.path(task)
        if not path.exists():
            return None
        most = BYTES_OF_A_CODE * len(task.part.test) + BYTES_OF_THE_REST
        document = read_json(path, KIND, FORMAT, max_bytes=most)
        if document.get("run") != self._header(task):
            raise FileError(f"'{path}' holds another run than its name says. Delete it.")
        return _outcome(path, document, task)

    def write(self, task: Task, outcome: Outcome) -> None:
        """Keep an outcome, atomically; one that another try may change is not kept."""
        if outcome.passing:
            return
        content = {
            "predictions": " ".join(map(str, outcome.predictions)),
            "cv_accuracy": outcome.cv_accuracy,
            "cv_accuracy_se": outcome.cv_accuracy_se,
            "failure": outcome.failure,
            "remarks": list(outcome.remarks),
            "time_limit": outcome.time_limit,
        }
        payload = {"run": self._header(task), "outcome": content, "sha256": _digest(content)}
        write_json(self.path(task), KIND, FORMAT, payload)

    def strangers(self, tasks: list[Task]) -> int:
        """How many stored members in the folder are none of these."""
        own = {self.path(task).name for task in tasks}
        files = (path.name for path in self.folder.glob("*.json"))
        return sum(
            bool(re.search(r"-[0-9a-f]{20}\.json$", name)) for name in files if name not in own
        )

    def _header(self, task: Task) -> dict[str, Any]:
        return {
            "data_set": task.part.name,
            "split": self.split,
            "member": task.member.name,
            "settings": task.member.settings,
            "folds": task.folds,
            "random_state": task.random_state,
            "versions": _versions(),
        }


@cache
def _versions() -> dict[str, str]:
    return {name: version(name) for name in VERSIONS_THAT_MATTER}


def digest_of(part: Part) -> str:
    """A fingerprint of everything that a member could see of a split."""
    found = hashlib.sha256(json.dumps([part.name, part.classes]).encode())
    for array in (part.test, part.X_train, part.X_test, part.y_train, part.y_test):
        found.update(f"{array.shape} {array.dtype.str}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _outcome(path: Path, document: dict[str, Any], task: Task) -> Outcome:
    """The stored outcome, once its digest and its values are believed."""
    content = document.get("outcome")
    if not isinstance(content, dict) or document.get("sha256") != _digest(content):
        raise FileError(f"'{path}' was changed after it was written. Delete it.")
    try:
        outcome = Outcome(
            predictions=tuple(map(int, content["predictions"].split())),
            cv_accuracy=_number(content["cv_accuracy"]),
            cv_accuracy_se=_number(content["cv_accuracy_se"]),
            failure=None if content["failure"] is None else str(content["failure"]),
            remarks=tuple(map(str, content["remarks"])),
            time_limit=_number(content["time_limit"]),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FileError(f"'{path}' is not a stored member: {error}. Delete it.") from error
    expected = 0 if outcome.failure is not None else len(task.part.test)
    codes = range(len(task.part.classes))
    if len(outcome.predictions) != expected or not set(outcome.predictions) <= set(codes):
        raise FileError(f"'{path}' holds other predictions than were asked for. Delete it.")
    return outcome


def _number(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r:.40} is no number")
    return float(value)
