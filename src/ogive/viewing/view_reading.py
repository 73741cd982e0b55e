"""What lies at paths: tables of responses, item banks, and what results folders say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ogive.byte_limits import most_bytes
from ogive.calibration import BANK_ENDINGS, Calibration, is_bank
from ogive.errors import FileError, OgiveError
from ogive.files import is_folder, is_plain, is_there
from ogive.report.folder import SUMMARY
from ogive.report.reading import read_folder
from ogive.report.sections import Banks, Section
from ogive.responses import Responses, read_responses
from ogive.responses.logs.known_logs import KnownLogs, Stamp, stamp_of
from ogive.responses.logs.log_reading import logs_at
from ogive.responses.logs.log_runs import LogSettings
from ogive.responses.response_reading import holds_logs
from ogive.saved_files import load_only
from ogive.viewing.table_joining import joined, linked

MAX_BYTES = 8 * 1024**3
_GROWING = (".csv", ".tsv", ".jsonl", ".ndjson", ".jsonlines")  # text, written line by line


@dataclass(frozen=True, eq=False)
class Opened:
    """What was read: tables without a scale, items with one, and sections of results folders."""

    tables: dict[str, Responses] = field(default_factory=dict)
    banks: dict[str, Calibration] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()
    whole: dict[str, tuple[Responses, int]] = field(default_factory=dict)  # see `Divided`

    @property
    def n_responses(self) -> int:
        """The number of responses of all tables."""
        return sum(int(table.tally.asked.sum()) for table in self._all_tables())

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of respondents and of items."""
        tables = list(self._all_tables())
        items = sum(len(bank.item_names) for bank in self.banks.values())
        items += sum(table.n_items for table in self.tables.values())
        return sum(table.n_respondents for table in tables), items

    def item_names(self) -> set[str]:
        """Return the names of all items."""
        tables = chain.from_iterable(table.items for table in self.tables.values())
        return {*tables, *chain.from_iterable(bank.item_names for bank in self.banks.values())}

    def _all_tables(self) -> Iterable[Responses]:
        yield from self.tables.values()
        yield from (bank.responses for bank in self.banks.values() if bank.responses is not None)


@dataclass
class Kept:
    """What was read before, so that a change of one file reads only that one again."""

    logs: KnownLogs = field(default_factory=KnownLogs)
    _files: dict[Path, tuple[Stamp, Any]] = field(default_factory=dict)

    def read(self, path: Path, read: Callable[[Path], Any]) -> Any:
        """Return what is at a path, by `read` unless nothing there has changed."""
        now = signature_of([path])
        before, found = self._files.get(path, ((), None))
        if before != now:
            found = read(path)
            self._files[path] = now, found
        return found


def read_paths(paths: Sequence[Path], kept: Kept | None = None) -> Opened:
    """Read everything: logs together, tables that share items as one, responses on their bank."""
    kept = kept or Kept()
    kinds = {path: _kind(path) for path in paths}
    sections: list[Section] = []
    banks: dict[str, Calibration] = {}
    tables: dict[str, Responses] = {}
    for path, kind in kinds.items():
        if kind == "results":
            found = kept.read(path, read_folder)
            sections += [part for part in found if isinstance(part, Section)]
            for part in found:
                banks |= part.calibrations if isinstance(part, Banks) else {}
        elif kind == "bank":
            banks[path.stem] = kept.read(path, partial(load_only, "calibration"))
        elif kind == "responses":
            tables[path.name] = kept.read(path, _read_table)
    logs = [path for path, kind in kinds.items() if kind == "logs"]
    if logs:
        settings = LogSettings(keep_text=True, max_bytes=most_bytes(None, MAX_BYTES))
        tables[_named(logs)] = logs_at(logs, settings, kept.logs).responses
    together = joined(tables)
    placed = {name: _placed(bank, together) for name, bank in banks.items()}
    notes = dict.fromkeys(note for table in together.values() for note in table.notes)
    found = linked(together)
    said = (*found.notes, *notes)
    return Opened(found.tables, placed, tuple(sections), said, found.whole)


def signature_of(paths: Iterable[Path]) -> Stamp:
    """Return the size and time of every file at these paths, by which a change is seen."""
    inside = (sorted(path.rglob("*")) if is_folder(path) else [path] for path in paths)
    return stamp_of(each for each in chain(*inside) if not is_folder(each))


def _kind(path: Path) -> str:
    if not is_there(path):
        raise FileError(
            f"'{path}' does not exist. Give responses, logs, an item bank, or a folder of these."
        )
    if is_folder(path):
        return "results" if is_plain(path / SUMMARY) else "logs"
    if holds_logs(path, most_bytes(None, MAX_BYTES)):
        return "logs"
    return "bank" if path.suffix.lower() in BANK_ENDINGS and is_bank(path) else "responses"


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(path.name or str(path) for path in paths)


def _read_table(path: Path) -> Responses:
    """Read a table; of one that is being written, the lines that are whole."""
    try:
        return read_responses(path, max_bytes=most_bytes(None, MAX_BYTES), progress=False)
    except OgiveError:
        if path.suffix.lower() not in _GROWING:
            raise
        whole = path.read_bytes()
        lines, last, cut = whole.rpartition(b"\n")
        if not cut or not lines:
            raise
        with tempfile.TemporaryDirectory(prefix="ogive-") as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(lines + last)
            try:
                return read_responses(copy, max_bytes=most_bytes(None, MAX_BYTES), progress=False)
            except OgiveError:
                pass  # the first error is about the file itself
        raise


def _placed(bank: Calibration, tables: dict[str, Responses]) -> Calibration:
    """Return the bank with the responses to its items, which then need no scale of their own."""
    known = set(bank.item_names)
    fits = [
        name
        for name, table in tables.items()
        if table.kind == bank.model.kind and known.issuperset(table.items)
    ]
    if bank.responses is not None or not fits:
        return bank
    return replace(bank, responses=tables.pop(fits[0]))
