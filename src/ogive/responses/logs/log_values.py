"""Values as logs hold them: scores, names, facts, texts, and hashes of what was asked."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from ogive.responses.names_and_facts import Fact
from ogive.words import clean

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
    """A name from text or a number; None if it is empty or too long."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):  # 1 and 1.0 are one name
        if not math.isfinite(value):
            return None
        value = int(value) if value.is_integer() else value
    text = clean(str(value))
    return text if 0 < len(text) <= LONGEST_NAME and text.strip() else None


def as_fact(value: object) -> Fact:
    """A short fact; None if the value is nested or long."""
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
    """Arguments of a model or of its generation that change what is asked or answered."""
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
    """Arguments as in language=fr, cot=True; empty if there are none."""
    return ", ".join(f"{name}={value}" for name, value in plain_arguments(arguments).items())


def shortened(text: object) -> str | None:
    """Text cut to the longest that is kept; None if there is none."""
    return clean(text[:LONGEST_TEXT]) if isinstance(text, str) and text else None


def part(record: object, *path: str) -> Any:
    """The value at a path of keys; None if there is none."""
    for key in path:
        if not isinstance(record, dict):
            return None
        record = record.get(key)
    return record


SUBJECTS = ("subject", "category", "topic", "domain", "type")
PASSAGES = ("passage", "context", "article", "story", "document")  # what several items share
QUESTIONS = ("question", "query", "problem", "prompt", "sentence", "input", "text", "goal")


def field_of(record: object, names: tuple[str, ...]) -> str | None:
    """The name of the first of these fields that holds text."""
    if not isinstance(record, Mapping):
        return None
    return next((name for name in names if isinstance(record.get(name), str)), None)


def content_hash(*parts: object) -> str:
    """A hash of what an item asks: texts, in this order."""
    told = json.dumps(parts, ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(told.encode("utf-8")).hexdigest()


def fingerprint(passage: object) -> str | None:
    """A short hash of a text, the same for all items that share it."""
    if not isinstance(passage, str) or not passage.strip():
        return None
    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def subject_and_document(record: object) -> dict[str, Fact]:
    """Subject and document of one item, from its fields."""
    subject, passage = field_of(record, SUBJECTS), field_of(record, PASSAGES)
    found: Mapping[str, Any] = record if isinstance(record, Mapping) else {}
    return {
        "subject": None if subject is None else as_fact(found[subject]),
        "document": None if passage is None else fingerprint(found[passage]),
    }


def question(record: object) -> str | None:
    """The question, if a field of a known name holds it."""
    name = field_of(record, QUESTIONS)
    return None if name is None else shortened(record[name])  # type: ignore[index]
