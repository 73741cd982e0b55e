"""One model on one task: settings, samples, values, dates.

Dates as logs write them.

Values as logs hold them: scores, names, facts, texts, and hashes of what was asked.

What a log contains: runs of one model on one task, and the items that runs share.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from array import array
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Protocol

from ogive.data.names import Fact
from ogive.errors import FileError
from ogive.results.numbers import clean, shown

_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)[:-](\d\d)(?:[:-](\d\d)(\.\d{1,9})?\d*)?)?"
    r"\s*(?:Z|([+-])(\d\d)[:-]?(\d\d))?",
    re.ASCII,
)


def moment(text: str) -> float:
    """Return seconds since 1970 of an ISO 8601 date, UTC without a time zone; -inf for other text.

    Logs also write dashes in the time.

    >>> moment("2024-01-01T10:00:00-05:00") - moment("2024-01-01T12-00-00")
    10800.0
    """
    match = _DATE.match(text)
    if match is None:
        return -math.inf
    day, hour, minute, second, fraction, sign, away_hours, away_minutes = match.groups()
    try:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        clock = timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0))
        away = timedelta(hours=int(away_hours or 0), minutes=int(away_minutes or 0))
    except ValueError:  # a 31st of February
        return -math.inf
    seconds = clock - away if sign == "+" else clock + away
    return start.timestamp() + seconds.total_seconds() + float(fraction or 0)


LOWEST, HIGHEST = "lowest", "highest"  # facts of items: the bounds of their scores
LONGEST_TEXT = 2_000
LONGEST_NAME = 500  # of a model, a task or an id


def as_score(value: object) -> float | None:
    """Convert a number or truth value to float; None for everything else."""
    if isinstance(value, bool | int | float):
        try:
            return float(value)
        except OverflowError:
            return None
    return None


def as_name(value: object) -> str | None:
    """Return a name from text or a number; None if it is empty or too long."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):  # 1 and 1.0 are one name
        if not math.isfinite(value):
            return None
        value = int(value) if value.is_integer() else value
    text = clean(str(value))
    return text if 0 < len(text) <= LONGEST_NAME and text.strip() else None


def as_fact(value: object) -> Fact:
    """Return a short fact; None if the value is nested or long."""
    if isinstance(value, bool | int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return int(value) if value.is_integer() else value
    return as_name(value)


_SECRET = re.compile(r"key|token(?!s|iz)|secret|passw|credential|auth", re.I)
LONGEST_VALUE = 40  # characters of an argument that is shown as it is


def plain_arguments(given: object) -> dict[str, Fact]:
    """Arguments that are plain values, or lists of such; nested ones by path, long ones by hash.

    What may be a secret, by its name, is left out: conditions become names and facts.
    """
    found: dict[str, Fact] = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if _SECRET.search(str(name)):
            continue
        if isinstance(value, Mapping):
            found |= {f"{name}.{key}": one for key, one in plain_arguments(value).items()}
        elif isinstance(value, list):
            if all(isinstance(one, str | int | float | bool) for one in value) and value:
                found[str(name)] = _brief(", ".join(map(str, value)))
        elif value is not None:
            found[str(name)] = _brief(value)
    return found


# Settings of how requests are sent and computed, which do not change what is asked.
_SENDING = {
    *("batch", "batch_size", "max_batch_size", "device", "device_map", "parallelize"),
    *("num_concurrent", "max_connections", "max_retries", "timeout", "attempt_timeout"),
    *("tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization", "cache_prompt"),
    *("trust_remote_code", "log_level", "tokenized_requests"),
}


def settings(arguments: object) -> dict[str, Fact]:
    """Return arguments of a model or of its generation that change what is asked or answered."""
    return {
        name: value
        for name, value in plain_arguments(arguments).items()
        if name.rpartition(".")[2] not in _SENDING
    }


def _brief(value: object) -> Fact:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, bool | int):
        return value
    text = clean(str(value))
    return text if len(text) <= LONGEST_VALUE else f"#{fingerprint(text)}"


def in_words(arguments: object) -> str:
    """Return arguments as in language=fr, cot=True; empty if there are none."""
    return ", ".join(f"{name}={value}" for name, value in plain_arguments(arguments).items())


def shortened(text: object) -> str | None:
    """Return text cut to the longest that is kept; None if there is none."""
    return clean(text[:LONGEST_TEXT]) if isinstance(text, str) and text else None


def part(record: object, *path: str) -> Any:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


SUBJECTS = ("subject", "category", "topic", "domain", "type")
PASSAGES = ("passage", "context", "article", "story", "document")  # what several items share
QUESTIONS = ("question", "query", "problem", "prompt", "sentence", "input", "text", "goal")


def field_of(record: object, names: tuple[str, ...]) -> str | None:
    """Return the name of the first of these fields that holds text."""
    if not isinstance(record, Mapping):
        return None
    return next((name for name in names if isinstance(record.get(name), str)), None)


def content_hash(*parts: object) -> str:
    """Return a hash of what an item asks: texts, in this order."""
    told = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8")).hexdigest()


def fingerprint(passage: object) -> str | None:
    """Return a short hash of a text, the same for all items that share it."""
    if not isinstance(passage, str) or not passage.strip():
        return None
    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def subject_and_document(record: object) -> dict[str, Fact]:
    """Return subject and document of one item, from its fields."""
    subject, passage = field_of(record, SUBJECTS), field_of(record, PASSAGES)
    found: Mapping[str, Any] = record if isinstance(record, Mapping) else {}
    return {
        "subject": None if subject is None else as_fact(found[subject]),
        "document": None if passage is None else fingerprint(found[passage]),
    }


def question(record: object) -> str | None:
    """Return the question, if a field of a known name holds it."""
    name = field_of(record, QUESTIONS)
    return None if name is None else shortened(record[name])  # type: ignore[index]


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
        """Return the number of an item with this id or hash; a new one if it is not known yet.

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
        """Return True if this file, whose first unpacked bytes are given, is such a log."""

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield the runs of a log; raises a `FileError` if it is not one."""


def no_metric(path: Path, wanted: Sequence[str], found: Iterable[str]) -> FileError:
    """Return the error for a log without the requested metrics, listing those it has."""
    asked = " or ".join(map(shown, wanted[:3])) or "that is known"
    there = ", ".join(f"{name:.60}" for name in islice(found, 20))
    if not there:
        return FileError(f"'{path}' has no metric {asked}, nor any other: nothing to read.")
    return FileError(
        f"'{path}' has no metric {asked}; it has: {there}. Name one of them as metric."
    )
