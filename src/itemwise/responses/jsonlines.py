"""JSON Lines as py-irt keeps them: {"subject_id": "gpt", "responses": {"q1": 1, "q2": 0}}."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from itemwise.errors import FileError, InputError
from itemwise.responses.cells import refuse_text
from itemwise.responses.table import Responses
from itemwise.responses.triples import Collector
from itemwise.tables.delimited import number
from itemwise.tables.text_files import text_lines
from itemwise.words import shown

_EXPECTED = 'One line should read {"subject_id": "name", "responses": {"item": 1}}.'


def read_json_lines(path: Path, kind: str | None, max_bytes: int) -> Responses:
    """Read one respondent per line."""
    collector = Collector()
    with text_lines(path, max_bytes) as lines:
        for line, text in enumerate(lines, start=1):
            if not text.strip():
                continue
            respondent, responses = _parsed(path, line, text)
            if respondent in collector.respondents:
                raise InputError(
                    f"Line {line:,} gives respondent {shown(respondent)} a second time. "
                    "Put all responses of a respondent on one line."
                )
            collector.respondents[respondent] = len(collector.respondents)
            for item, response in responses.items():
                value = None if isinstance(response, str) else number(response)
                if value is None:
                    refuse_text(f"Line {line:,}, item {shown(item)}", response)
                collector.add(respondent, item, value)
    return Responses.from_triples(collector.triples(max_bytes), kind)


def _parsed(path: Path, line: int, text: str) -> tuple[str, dict[str, Any]]:
    try:
        record = json.loads(text, object_pairs_hook=_without_repeats)
    except (ValueError, RecursionError) as error:
        raise FileError(
            f"'{path}', line {line:,} is not valid JSON: {error}. {_EXPECTED}"
        ) from error
    if not isinstance(record, dict) or not {"subject_id", "responses"} <= record.keys():
        raise FileError(f"'{path}', line {line:,} lacks subject_id or responses. {_EXPECTED}")
    respondent, responses = record["subject_id"], record["responses"]
    if not isinstance(respondent, str | int | float) or not isinstance(responses, dict):
        raise FileError(
            f"'{path}', line {line:,} has a subject_id or responses of the wrong type. {_EXPECTED}"
        )
    return str(respondent), responses


def _without_repeats(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, unless it says the same key twice, of which Python would keep the last."""
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {shown(key)} stands there twice")
        record[key] = value
    return record
