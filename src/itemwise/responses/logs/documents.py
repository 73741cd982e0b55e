"""What the items of a data set tell of themselves, whatever the harness: subject and document."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from itemwise.responses.facts import Fact
from itemwise.responses.logs.runs import as_fact, shortened

SUBJECTS = ("subject", "category", "topic", "domain", "type")
PASSAGES = ("passage", "context", "article", "story", "document")  # what several items share
QUESTIONS = ("question", "query", "problem", "prompt", "sentence", "input", "text", "goal")


def field_of(record: object, names: tuple[str, ...]) -> str | None:
    """The first of these fields that holds text, by name."""
    if not isinstance(record, Mapping):
        return None
    return next((name for name in names if isinstance(record.get(name), str)), None)


def fingerprint(passage: object) -> str | None:
    """A short name of a text: items that share it have the same."""
    if not isinstance(passage, str) or not passage.strip():
        return None
    return hashlib.blake2b(passage.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def subject_and_document(record: object) -> dict[str, Fact]:
    """The facts of one item, from its fields."""
    subject, passage = field_of(record, SUBJECTS), field_of(record, PASSAGES)
    found: Mapping[str, Any] = record if isinstance(record, Mapping) else {}
    return {
        "subject": None if subject is None else as_fact(found[subject]),
        "document": None if passage is None else fingerprint(found[passage]),
    }


def question(record: object) -> str | None:
    """The text that was asked, where a field of a known name holds it."""
    name = field_of(record, QUESTIONS)
    return None if name is None else shortened(record[name])  # type: ignore[index]
