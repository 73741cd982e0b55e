"""What a log contains: runs of one model on one task, and the items that runs share."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

from ogive.errors import FileError
from ogive.responses.logs.log_dates import moment
from ogive.responses.names_and_facts import Fact
from ogive.words import clean, shown

Epochs = Literal["mean", "grades", "first"]
Passed = Callable[[int], None]  # called with the number of bytes read so far

NOT_SCORED = "without a score"
NO_IDENTITY = "without an id"
FAILED = "that ended with an error"
BROKEN_LINES = "on broken lines"
ANSWERS = " answers"  # whose tokens or cost are known
SPENT = ("input_tokens", "output_tokens", "answer_cost")  # facts of respondents: means per answer
MAX_BYTES = 8 * 1024**3


@dataclass(frozen=True)
class LogSettings:
    """The settings of `read_logs`."""

    metrics: tuple[str, ...] = ()  # the first that a log has is used; empty: the format's choice
    filter: str | None = None
    epochs: Epochs = "mean"
    keep_text: bool = False
    max_bytes: int = MAX_BYTES
    variants: str | Sequence[str] = "separate"
    rename: Mapping[str, str] = field(default_factory=dict)
    keep_choices: bool = False


class Items:
    """The items of all tasks; within a task, identified by content hash, or else by id.

    Where an id and a hash are given as one identity (`together`), both must agree: harnesses that
    number samples by position give the same id to different questions, and log some questions,
    such as those with images, only in part.
    """

    def __init__(self) -> None:
        self._by_content: dict[str, dict[str, int]] = {}
        self._by_id: dict[str, dict[str, int]] = {}
        self.tasks: list[str] = []
        self.ids: list[str] = []
        self.hashes: list[str | None] = []
        self.arguments: dict[int, str] = {}  # of the task, by item
        self.facts: dict[str, dict[int, Fact]] = {}
        self.keys: dict[int, str] = {}  # right options, where they are told

    def __len__(self) -> int:
        return len(self.ids)

    def place(
        self,
        task: str,
        identity: str | None,
        content_hash: str | None = None,
        *,
        arguments: str = "",
        together: bool = False,
    ) -> int:
        """The number of an item with this id or hash; a new one if it is not known yet.

        Without a hash, a task with other arguments has other items.
        """
        by = self._by_id if content_hash is None else self._by_content
        known = by.get(task)
        if known is None:
            known = by[task] = {}
        key = content_hash or identity or ""
        if together or (arguments and content_hash is None):
            key = f"{key}\0{identity if content_hash else arguments}"
        place = known.get(key)
        if place is None:
            place = known[key] = len(self.ids)
            self.tasks.append(task)
            self.ids.append(identity or key[:12])
            self.hashes.append(content_hash)
            if arguments:
                self.arguments[place] = arguments
        return place

    def tell(self, place: int, facts: Mapping[str, Fact]) -> None:
        """Add facts about an item; earlier values are kept."""
        for name, value in facts.items():
            if value is not None:
                self.facts.setdefault(name, {}).setdefault(place, value)


@dataclass
class Run:
    """One model on one task in one log; rows are added as they are read."""

    file: Path
    format: str
    model: str
    task: str
    metric: str = ""
    date: str = ""
    about: dict[str, Fact] = field(default_factory=dict)  # of the model
    rows: int = 0
    places: array[int] = field(default_factory=lambda: array("q"))
    scores: array[float] = field(default_factory=lambda: array("d"))
    left_out: Counter[str] = field(default_factory=Counter)  # rows, by reason
    remarks: list[str] = field(default_factory=list)
    repeats: str = "epochs"  # the harness's word for asking an item again
    conditions: dict[str, Fact] = field(default_factory=dict)  # how the model was asked
    of_task: dict[str, Fact] = field(default_factory=dict)  # facts of all items of the task
    unread: dict[str, list[str]] = field(default_factory=dict)  # other scores, by what they are
    prompts: dict[str, str] = field(default_factory=dict)  # hashes of some prompts, by item
    named: bool = True  # False: the name is that of the folder, for lack of another
    origin: str = ""  # what the harness calls the run: copies and retries of a log share it
    numbers: array[int] = field(default_factory=lambda: array("q"))  # epochs, where logged
    chosen: dict[int, str] = field(default_factory=dict)  # option by item, where logged
    # Tokens and cost, summed over answers, and how many answers tell them:
    used: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def __post_init__(self) -> None:
        self.model, self.task = clean(self.model), clean(self.task)

    def add(self, place: int, score: float | None) -> bool:
        """Add a row; returns whether it has a finite score, without which it is left out."""
        self.rows += 1
        if score is None or not math.isfinite(score):
            self.left_out[NOT_SCORED] += 1
            return False
        self.places.append(place)
        self.scores.append(score)
        return True

    def choose(self, items: Items, place: int, option: str | None, right: str | None) -> None:
        """Keep which option was chosen, of several answers the first; and which is right."""
        if option is not None:
            self.chosen.setdefault(place, option)
        if right is not None:
            items.keys.setdefault(place, right)

    def add_all(self, scores: Mapping[int, float | None]) -> None:
        """Add the rows of many items; a million of them one by one would take a second."""
        finite = math.isfinite
        kept = {k: score for k, score in scores.items() if score is not None and finite(score)}
        self.rows += len(scores)
        if len(kept) < len(scores):
            self.left_out[NOT_SCORED] += len(scores) - len(kept)
        self.places.extend(kept)
        self.scores.extend(kept.values())

    @property
    def told(self) -> dict[str, Fact]:
        """Facts about the model, and the conditions under which it was asked."""
        return self.about | self.conditions

    def spend(self, amounts: Mapping[str, float]) -> None:
        """Count what one answer took: tokens, and what they cost."""
        for name, amount in amounts.items():
            self.used[name] += amount
            self.used[f"{name}{ANSWERS}"] += 1

    def leave_out(self, why: str, rows: int = 1) -> None:
        """Count rows as left out."""
        self.rows += rows
        self.left_out[why] += rows


def age(run: Run) -> tuple[float, str]:
    """Sort key: older runs first; without a date, by name."""
    return moment(run.date), str(run.file)


class LogFormat(Protocol):
    """A format of logs: recognises its files and reads them."""

    @property
    def name(self) -> str:
        """Its name in the table of files."""

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Whether this file, whose first unpacked bytes are given, is such a log."""

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield the runs of a log; raises a `FileError` if it is not one."""


def no_metric(path: Path, wanted: Sequence[str], found: Iterable[str]) -> FileError:
    """The error for a log without the requested metrics, listing those it has."""
    asked = " or ".join(map(shown, wanted[:3])) or "that is known"
    there = ", ".join(f"{name:.60}" for name in islice(found, 20))
    if not there:
        return FileError(f"'{path}' has no metric {asked}, nor any other: nothing to read.")
    return FileError(
        f"'{path}' has no metric {asked}; it has: {there}. Name one of them as metric."
    )
