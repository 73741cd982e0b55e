"""Tables of responses from files: CSV, TSV, Parquet, JSON Lines, logs of evaluations."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise.errors import FileError, InputError
from itemwise.files import readable_file
from itemwise.responses.delimited_responses import responses_from_delimited
from itemwise.responses.logs import is_log, read_logs
from itemwise.responses.parquet_responses import responses_from_parquet
from itemwise.responses.response_table import Responses
from itemwise.responses.stored_cells import checked_kind, refuse_text
from itemwise.responses.table_layouts import ITEM_ROWS, LAYOUTS
from itemwise.responses.triples import Collector
from itemwise.tables.text_tables import number, text_lines
from itemwise.words import shown

if TYPE_CHECKING:
    from itemwise.files import PathLike
    from itemwise.progress import Wanted

_DELIMITED = (".csv", ".tsv", ".csv.gz", ".tsv.gz")
_JSON_LINES = (".jsonl", ".ndjson", ".jsonlines", ".jsonl.gz")
_PARQUET = (".parquet", ".pq")


def read_responses(
    path: PathLike,
    *,
    kind: str | None = None,
    layout: str = "auto",
    max_bytes: int = 2 * 1024**3,
    progress: Wanted = True,
) -> Responses:
    """Read responses from the file at `path`; the end of its name says how.

    `.csv`, `.tsv` (also with `.gz`) and `.parquet` files hold a wide or a long table whose first
    line names the columns; fields are separated by commas, semicolons or tabs, whichever fits.
    `.jsonl` files hold one respondent per line, as py-irt writes them. Text is UTF-8. An empty
    cell, NA, NaN, null or None means never asked; True and False are 1 and 0. A folder, or a file
    that is an evaluation log, is read by `read_logs`.

    A *long* table has the columns respondent (or model, subject, ... also with _id), item (or
    question, instance, also with _id) and response (or score, correct, value, grade). Other
    columns become facts of items if all rows of an item agree, such as its task, or else of
    respondents; the rest is ignored.

    Every other table is *wide*: one row per respondent, one column per item. Its first column
    names the respondents if its heading is one of the above, name, id or empty, or if anything in
    it is not a number (in Parquet: if it is not of a numeric type, or is the index that pandas
    stored); otherwise they are named respondent_1, respondent_2, ...

    Set `layout` to "wide" or "long" if the column names are misleading. "items" is a transposed
    wide table: one row per item, one column per respondent. In it, further columns of text, or
    called item, before the respondents are facts of items; if the names of items repeat, all of
    these columns make the name, as in sums/12. `kind` is that of `Responses`.

    `max_bytes` limits the file, its unpacked size, and the cells of its table. `progress` is
    that of `read_logs`: True, False, or a callable.

    >>> import itemwise as iw
    >>> from pathlib import Path
    >>> _ = Path("scores.csv").write_text('''model,q1,q2,q3
    ... small,1,0,
    ... large,1,1,0
    ... ''')
    >>> iw.read_responses("scores.csv")
    Responses: 2 respondents × 3 items, binary, 1 cell never asked
    """
    checked_kind(kind)
    if layout not in LAYOUTS:
        known = ", ".join(map(shown, LAYOUTS))
        raise InputError(f"layout is {shown(layout)}, but it should be one of {known}.")
    if isinstance(path, str | os.PathLike) and _is_log(Path(path), max_bytes):
        found = read_logs(path, max_bytes=max_bytes, progress=progress).responses
        return found if kind is None else found.of_kind(kind)
    file = readable_file(path, max_bytes)
    try:
        return _from_table(file, kind, layout, max_bytes)
    except InputError as error:
        turned = layout != ITEM_ROWS and "respondent names must differ" in str(error)
        hint = " If rows are items, pass layout='items'." if turned else ""
        raise InputError(f"In '{path}': {error}{hint}") from error


def _from_table(file: Path, kind: str | None, layout: str, max_bytes: int) -> Responses:
    name = file.name.lower()
    if name.endswith(_DELIMITED):
        return responses_from_delimited(file, kind, layout, max_bytes)
    if name.endswith(_JSON_LINES):
        return read_json_lines(file, kind, max_bytes)
    if name.endswith(_PARQUET):
        return responses_from_parquet(file, kind, layout, max_bytes)
    raise _unknown_suffix(file)


def _is_log(path: Path, max_bytes: int) -> bool:
    """Whether it is a folder or a log; a file with the ending of a table is neither."""
    if os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises where access is denied
        return True
    table = path.name.lower().endswith((*_DELIMITED, *_PARQUET))
    return not table and is_log(path, max_bytes)


def _unknown_suffix(path: Path) -> FileError:
    known = ", ".join((*_DELIMITED, *_PARQUET, _JSON_LINES[0]))
    return FileError(
        f"'{path}' ends in {shown(path.suffix)}, but responses are read from {known}, and from "
        "evaluation logs and folders of them. "
        "Convert the file, or rename it if it is one of these."
    )


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
    """A JSON object without repeated keys, of which Python would keep the last."""
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise ValueError(f"the key {shown(key)} is repeated")
        record[key] = value
    return record
