"""A run of a log, one model on one task; the items that runs share; values as logs hold them."""

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

Epochs = Literal["mean", "grades", "first"]
OnBytes = Callable[[int], None]  # called with the number of bytes read so far

MAX_BYTES = 8 * 1024**3
LONGEST_TEXT = 2_000  # characters of a text that are kept
LONGEST_NAME = 500  # characters of the name of a model, a task or an id
LONGEST_LABEL = 80  # characters of an option that are kept
LONGEST_VALUE = 40  # characters of an argument that is shown as it is

# Reasons why rows are left out.
NOT_SCORED = "without a score"
NO_IDENTITY = "without an id"
FAILED = "that ended with an error"
BROKEN_LINES = "on broken lines"

LOWEST, HIGHEST = "lowest", "highest"  # facts of items: the bounds of their scores
SPENT = ("input_tokens", "output_tokens", "answer_cost")  # facts of respondents: means per answer
SUBJECTS = ("subject", "category", "topic", "domain", "type")
PASSAGES = ("passage", "context", "article", "story", "document")  # texts that items share
QUESTIONS = ("question", "query", "problem", "prompt", "sentence", "input", "text", "goal")

_DATE = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d)[:-](\d\d)(?:[:-](\d\d)(\.\d{1,9})?\d*)?)?"
    r"\s*(?:Z|([+-])(\d\d)[:-]?(\d\d))?",
    re.ASCII,
)
_SECRET = re.compile(r"key|token(?!s|iz)|secret|passw|credential|auth", re.I)
# Arguments that say how requests are sent and computed, but do not change what is asked.
_SENDING = {
    *("batch", "batch_size", "max_batch_size", "device", "device_map", "parallelize"),
    *("num_concurrent", "max_connections", "max_retries", "timeout", "attempt_timeout"),
    *("tensor_parallel_size", "data_parallel_size", "gpu_memory_utilization", "cache_prompt"),
    *("trust_remote_code", "log_level", "tokenized_requests"),
}


def timestamp(text: str) -> float:
    """Return the seconds since 1970 of an ISO 8601 date, UTC without a zone; -inf for other text.

    Logs also write dashes in the time.

    >>> timestamp("2024-01-01T10:00:00-05:00") - timestamp("2024-01-01T12-00-00")
    10800.0
    """
    match = _DATE.match(text)
    if match is None:
        return -math.inf
    day, hour, minute, second, fraction, sign, offset_hours, offset_minutes = match.groups()
    try:
        start = datetime.fromisoformat(day).replace(tzinfo=UTC)
        clock = timedelta(hours=int(hour or 0), minutes=int(minute or 0), seconds=int(second or 0))
        offset = timedelta(hours=int(offset_hours or 0), minutes=int(offset_minutes or 0))
    except ValueError:  # a 31st of February
        return -math.inf
    elapsed = clock - offset if sign == "+" else clock + offset
    return start.timestamp() + elapsed.total_seconds() + float(fraction or 0)


def as_score(value: object) -> float | None:
    """Convert a number or truth value to float; None for everything else."""
    try:
        return float(value) if isinstance(value, bool | int | float) else None
    except OverflowError:
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


def without_missing(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """Return the facts that are known."""
    return {name: value for name, value in facts.items() if value is not None}


def flat_arguments(given: object) -> dict[str, Fact]:
    """Return plain arguments and lists of them; nested ones by path, long ones by hash.

    Arguments whose names suggest a secret are left out: conditions become names and facts.
    """
    flat: dict[str, Fact] = {}
    for name, value in given.items() if isinstance(given, Mapping) else ():
        if _SECRET.search(str(name)):
            continue
        if isinstance(value, Mapping):
            flat |= {f"{name}.{key}": one for key, one in flat_arguments(value).items()}
        elif isinstance(value, list):
            if all(isinstance(one, str | int | float | bool) for one in value) and value:
                flat[str(name)] = _short_value(", ".join(map(str, value)))
        elif value is not None:
            flat[str(name)] = _short_value(value)
    return flat


def condition_arguments(arguments: object) -> dict[str, Fact]:
    """Return arguments of a model or of its generation that change what is asked or answered."""
    flat = flat_arguments(arguments)
    return {name: flat[name] for name in flat if name.rpartition(".")[2] not in _SENDING}


def _short_value(value: object) -> Fact:
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, bool | int):
        return value
    text = clean(str(value))
    return text if len(text) <= LONGEST_VALUE else f"#{short_hash(text)}"


def arguments_text(arguments: object) -> str:
    """Return arguments as in language=fr, cot=True; empty if there are none."""
    return ", ".join(f"{name}={value}" for name, value in flat_arguments(arguments).items())


def shortened(text: object) -> str | None:
    """Return text cut to the longest that is kept; None if there is none."""
    return clean(text[:LONGEST_TEXT]) if isinstance(text, str) and text else None


def option_label(option: object) -> str | None:
    """Return an option as text, short and without control characters."""
    text = shortened(option if isinstance(option, str) else None)
    return clean(text[:LONGEST_LABEL]).strip() or None if text else None


def nested(record: object, *path: str) -> Any:
    """Return the value at a path of keys; None if there is none."""
    for key in path:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


def nested_dict(record: object, *path: str) -> dict[str, Any]:
    """Return the object at a path of keys; an empty one if there is none."""
    value = nested(record, *path)
    return value if isinstance(value, dict) else {}


def nested_list(record: object, *path: str) -> list[Any]:
    """Return the list at a path of keys; an empty one if there is none."""
    value = nested(record, *path)
    return value if isinstance(value, list) else []


def first_text_field(record: object, names: tuple[str, ...]) -> str | None:
    """Return the name of the first of these fields that holds text."""
    if not isinstance(record, Mapping):
        return None
    return next((name for name in names if isinstance(record.get(name), str)), None)


def content_hash(*parts: object) -> str:
    """Return a hash of the texts that an item asks, in this order."""
    text = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def short_hash(passage: object) -> str | None:
    """Return a short hash of a text, equal for all items that share it."""
    if not isinstance(passage, str) or not passage.strip():
        return None
    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def subject_and_document(record: object) -> dict[str, Fact]:
    """Return subject and document of one item, from its fields."""
    subject, passage = first_text_field(record, SUBJECTS), first_text_field(record, PASSAGES)
    return {
        "subject": None if subject is None else as_fact(nested(record, subject)),
        "document": None if passage is None else short_hash(nested(record, passage)),
    }


def question_of(record: object) -> str | None:
    """Return the question, if a field of a known name holds it."""
    name = first_text_field(record, QUESTIONS)
    return None if name is None else shortened(nested(record, name))


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

    If an id and a hash are given as one identity (`together`), both must agree: harnesses that
    number samples by position give one id to different questions, and log some questions, such as
    those with images, only in part.
    """

    def __init__(self) -> None:
        self._by_content: dict[str, dict[str, int]] = {}
        self._by_id: dict[str, dict[str, int]] = {}
        self.tasks: list[str] = []
        self.ids: list[str] = []
        self.hashes: list[str | None] = []
        self.arguments: dict[int, str] = {}  # arguments of the task, by item
        self.facts: dict[str, dict[int, Fact]] = {}
        self.keys: dict[int, str] = {}  # right options, if logs name them

    def __len__(self) -> int:
        return len(self.ids)

    def number_of(
        self,
        task: str,
        identity: str | None,
        content_hash: str | None = None,
        *,
        arguments: str = "",
        together: bool = False,
    ) -> int:
        """Return the number of the item with this id or hash; a new one if it is not known yet.

        Without a hash, a task with other arguments has other items.
        """
        by_task = self._by_id if content_hash is None else self._by_content
        known = by_task.get(task)
        if known is None:
            known = by_task[task] = {}
        key = content_hash or identity or ""
        if together or (arguments and content_hash is None):
            key = f"{key}\0{identity if content_hash else arguments}"
        item = known.get(key)
        if item is None:
            item = known[key] = len(self.ids)
            self.tasks.append(task)
            self.ids.append(identity or key[:12])
            self.hashes.append(content_hash)
            if arguments:
                self.arguments[item] = arguments
        return item

    def add_facts(self, item: int, facts: Mapping[str, Fact]) -> None:
        """Add facts about an item; earlier values are kept."""
        for name, value in facts.items():
            if value is not None:
                self.facts.setdefault(name, {}).setdefault(item, value)


@dataclass
class Run:
    """One model on one task in one log; rows are added as they are read."""

    file: Path
    format: str
    model: str
    task: str
    metric: str = ""
    date: str = ""
    model_facts: dict[str, Fact] = field(default_factory=dict)
    rows: int = 0
    items: array[int] = field(default_factory=lambda: array("q"))  # of the scored rows
    scores: array[float] = field(default_factory=lambda: array("d"))
    left_out: Counter[str] = field(default_factory=Counter)  # rows, by reason
    remarks: list[str] = field(default_factory=list)
    repeats: str = "epochs"  # the harness's word for asking an item again
    conditions: dict[str, Fact] = field(default_factory=dict)  # how the model was asked
    task_facts: dict[str, Fact] = field(default_factory=dict)  # facts of all items of the task
    unread: dict[str, list[str]] = field(default_factory=dict)  # metrics, filters, ... not read
    prompts: dict[str, str] = field(default_factory=dict)  # hashes of some prompts, by item
    has_model_name: bool = True  # False: named after its folder, for lack of another name
    run_id: str = ""  # the harness's name of the run: copies and retries of a log share it
    epoch_numbers: array[int] = field(default_factory=lambda: array("q"))  # if logged
    choices: dict[int, str] = field(default_factory=dict)  # option by item, if logged
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # tokens and cost
    n_spent: Counter[str] = field(default_factory=Counter)  # answers that tell them

    def __post_init__(self) -> None:
        self.model, self.task = clean(self.model), clean(self.task)

    @property
    def facts(self) -> dict[str, Fact]:
        """Facts about the model, and the conditions under which it was asked."""
        return self.model_facts | self.conditions

    def add(self, item: int, score: float | None) -> bool:
        """Add a row, and return True if its score is finite; it is left out otherwise."""
        self.rows += 1
        if score is None or not math.isfinite(score):
            self.left_out[NOT_SCORED] += 1
            return False
        self.items.append(item)
        self.scores.append(score)
        return True

    def add_all(self, scores: Mapping[int, float | None]) -> None:
        """Add the rows of many items; a million of them one by one would take a second."""
        finite = math.isfinite
        kept = {k: score for k, score in scores.items() if score is not None and finite(score)}
        self.rows += len(scores)
        if len(kept) < len(scores):
            self.left_out[NOT_SCORED] += len(scores) - len(kept)
        self.items.extend(kept)
        self.scores.extend(kept.values())

    def leave_out(self, why: str, rows: int = 1) -> None:
        """Count rows as left out."""
        self.rows += rows
        self.left_out[why] += rows

    def add_choice(self, items: Items, item: int, option: str | None, right: str | None) -> None:
        """Keep the option chosen (the first if there are several answers), and the right one."""
        if option is not None:
            self.choices.setdefault(item, option)
        if right is not None:
            items.keys.setdefault(item, right)

    def add_spending(self, amounts: Mapping[str, float]) -> None:
        """Count the tokens and the cost of one answer."""
        for name, amount in amounts.items():
            self.spent[name] += amount
            self.n_spent[name] += 1


def run_order(run: Run) -> tuple[float, str]:
    """Return a sort key: older runs first; without a date, by name."""
    return timestamp(run.date), str(run.file)


class LogFormat(Protocol):
    """A format of logs: recognises its files and reads them."""

    @property
    def name(self) -> str:
        """Its name in the table of files."""

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Return True if this file, whose first unpacked bytes are given, is such a log."""

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield the runs of a log; raises a `FileError` if it is not one."""


def missing_metric(path: Path, wanted: Sequence[str], known: Iterable[str]) -> FileError:
    """Return the error for a log without the requested metrics, listing those it has."""
    asked = " or ".join(map(shown, wanted[:3])) or "that is known"
    names = ", ".join(f"{name:.60}" for name in islice(known, 20))
    if not names:
        return FileError(f"'{path}' has no metric {asked}, nor any other: nothing to read.")
    return FileError(
        f"'{path}' has no metric {asked}; it has: {names}. Name one of them as metric."
    )
