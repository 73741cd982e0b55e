"""What lies at paths: tables of responses, item banks, and what results folders say."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from itemwise.calibration import BANK_ENDINGS, Calibration, is_bank
from itemwise.errors import FileError, ItemwiseError
from itemwise.report.folder import SUMMARY
from itemwise.report.reading import read_folder
from itemwise.report.sections import Banks, Section
from itemwise.responses import Responses, read_logs, read_responses
from itemwise.responses.response_reading import holds_logs
from itemwise.saved_files import load_only
from itemwise.viewing.table_joining import joined, linked

MAX_BYTES = 8 * 1024**3
_GROWING = (".csv", ".tsv", ".jsonl", ".ndjson", ".jsonlines")  # text, written line by line

Signature = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, eq=False)
class Opened:
    """What was read: tables without a scale, items with one, and sections of results folders."""

    tables: dict[str, Responses] = field(default_factory=dict)
    banks: dict[str, Calibration] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    notes: tuple[str, ...] = ()

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

    def _all_tables(self) -> Iterable[Responses]:
        yield from self.tables.values()
        yield from (bank.responses for bank in self.banks.values() if bank.responses is not None)


def read_paths(paths: Sequence[Path]) -> Opened:
    """Read everything: logs together, tables that share items as one, responses on their bank."""
    kinds = {path: _kind(path) for path in paths}
    sections: list[Section] = []
    banks: dict[str, Calibration] = {}
    tables: dict[str, Responses] = {}
    for path, kind in kinds.items():
        if kind == "results":
            found = read_folder(path)
            sections += [part for part in found if isinstance(part, Section)]
            for part in found:
                banks |= part.calibrations if isinstance(part, Banks) else {}
        elif kind == "bank":
            banks[path.stem] = load_only("calibration", path)
        elif kind == "responses":
            tables[path.name] = _read_table(path)
    logs = [path for path, kind in kinds.items() if kind == "logs"]
    if logs:
        read = read_logs(logs, keep_text=True, max_bytes=MAX_BYTES, progress=False)
        tables[_named(logs)] = read.responses
    together = joined(tables)
    placed = {name: _placed(bank, together) for name, bank in banks.items()}
    notes = dict.fromkeys(note for table in together.values() for note in table.notes)
    parts, divided = linked(together)
    return Opened(parts, placed, tuple(sections), (*divided, *notes))


def signature_of(paths: Iterable[Path]) -> Signature:
    """Return the size and time of every file at these paths, by which a change is seen."""
    found = []
    for path in paths:
        inside = sorted(path.rglob("*")) if path.is_dir() else [path]
        for each in inside:
            try:
                known = each.stat()
            except OSError:  # removed in the meantime
                continue
            if not each.is_dir():
                found.append((str(each), known.st_size, known.st_mtime_ns))
    return tuple(found)


def _kind(path: Path) -> str:
    if not path.exists():
        raise FileError(
            f"'{path}' does not exist. Give responses, logs, an item bank, or a folder of these."
        )
    if path.is_dir():
        return "results" if (path / SUMMARY).is_file() else "logs"
    if holds_logs(path, MAX_BYTES):
        return "logs"
    return "bank" if path.suffix.lower() in BANK_ENDINGS and is_bank(path) else "responses"


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(path.name or str(path) for path in paths)


def _read_table(path: Path) -> Responses:
    """Read a table; of one that is being written, the lines that are whole."""
    try:
        return read_responses(path, max_bytes=MAX_BYTES, progress=False)
    except ItemwiseError:
        if path.suffix.lower() not in _GROWING:
            raise
        whole = path.read_bytes()
        lines, last, cut = whole.rpartition(b"\n")
        if not cut or not lines:
            raise
        with tempfile.TemporaryDirectory(prefix="itemwise-") as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(lines + last)
            try:
                return read_responses(copy, max_bytes=MAX_BYTES, progress=False)
            except ItemwiseError:
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
