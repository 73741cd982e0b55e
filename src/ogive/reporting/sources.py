"""What lies at paths: logs, tables of responses, item banks and results folders."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ogive._files import (
    PathLike,
    file_name_of,
    is_folder,
    is_plain,
    is_there,
    most_bytes,
    read_json,
    readable_file,
)
from ogive._load import load_only
from ogive._progress import at_stage
from ogive.checks.check import diagnose
from ogive.data.logs.read_logs import KnownLogs, Stamp, find_logs, logs_at, stamp_of
from ogive.data.logs.runs import LogSettings
from ogive.data.response_files import holds_logs, read_responses
from ogive.data.responses import Responses
from ogive.errors import FileError, OgiveError
from ogive.evaluation.leaderboards import leaderboard
from ogive.irt.bank_writing import BANK_ENDINGS
from ogive.irt.banks import is_bank
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.part_scales import scales_of_parts
from ogive.irt.predicted_accuracy import LEAST
from ogive.irt.response_codes import NEVER_ASKED
from ogive.reporting.exports import BANKS, FIGURES, FORMAT, KIND, SUMMARY
from ogive.reporting.sections import Banks, Section, image_of
from ogive.results.base import gathered
from ogive.results.csv_text import restored
from ogive.results.numbers import listed
from ogive.stats.linked_parts import linked_parts

MOST_PARTS = 5  # unlinked parts of a table that are diagnosed
MOST_SCALES = 20  # of them whose items and respondents are shown; a page of more would not open
MOST_BYTES = 200 * 1024**2  # of a table
MAX_BYTES = 8 * 1024**3  # of a log or a file of responses, as `read_logs` has it
FIGURE_BYTES = 20 * 1024**2
WIDEST = 900  # pixels of a figure
COLOURS = 96
_GROWING = (".csv", ".tsv", ".jsonl", ".ndjson", ".jsonlines")  # text, written line by line


def read_source(path: PathLike, analyse: Callable[[Path], list[Any]]) -> list[Any]:
    """Return the results behind a path: of a folder, of an item bank, or of a new analysis."""
    path = Path(path)
    if is_folder(path):
        # A folder that a command wrote has a summary; another one may hold evaluation logs.
        logs = not is_plain(path / SUMMARY) and any(
            one.format is not None for one in find_logs([path], MAX_BYTES)
        )
        return analyse(path) if logs else read_folder(path)
    if path.suffix.lower() in BANK_ENDINGS and is_bank(path):
        return [load_only("calibration", path)]
    return analyse(path)


class Findings(NamedTuple):
    """Results by title, and why some are missing."""

    found: dict[str, Any]
    missing: dict[str, str]


def analysed(responses: Responses, model: str = "auto") -> list[Any]:
    """Rank the respondents, calibrate and diagnose responses.

    Parts that no item links are on boards of their own, and each has its scale and its diagnoses.
    """
    at_stage(f"calibrating {responses.n_respondents:,} × {responses.n_items:,} responses")
    calibration = calibrate(responses, model)
    board = partial(leaderboard, responses, calibration=calibration)
    ranked = Findings(*gathered({"leaderboard": board}))
    parts = scales_of_parts(calibration)
    if len(parts) == 1:
        return [ranked, calibration, diagnose(calibration)]
    return [ranked, *_in_parts(parts)]


def _in_parts(parts: list[Calibration]) -> list[Any]:
    """Return the scales of unlinked parts, diagnoses of the largest, and what is missing."""
    results: list[Any] = []
    missing: dict[str, str] = {}
    shown = [part for part in parts[:MOST_SCALES] if part.n_respondents > 1]
    for k, part in enumerate(parts, start=1):
        assert part.responses is not None  # noqa: S101 - it was made here, not loaded
        names = listed(part.responses.respondents, "respondent")
        if k > len(shown):
            missing[f"scale of part {k}"] = (
                f"{names} shares no item with others, and is on the leaderboard only: how hard its "
                "items are is not known."
                if part.n_respondents < 2
                else f"{names}: {MOST_SCALES} parts are shown. Give this one by itself."
            )
            continue
        results.append({f"Calibration, part {k}": part})
        if part.n_respondents < LEAST:
            needed = f"diagnoses need at least {LEAST} respondents that items link."
            missing[f"diagnoses of part {k}"] = f"{names}: {needed}"
        elif k > MOST_PARTS:
            needed = f"{MOST_PARTS} parts are diagnosed. Give this one by itself."
            missing[f"diagnoses of part {k}"] = f"{names}: {needed}"
        else:
            at_stage(f"checking part {k}")
            checks = diagnose(part)
            titles = {f"{name}, part {k}": each for name, each in checks.found.items()}
            reasons = {f"{name}, part {k}": each for name, each in checks.missing.items()}
            results.append(Findings(titles, reasons))
    return [*results, Findings({}, missing)]


def read_folder(folder: Path) -> list[Any]:
    """Read the tables, figures and item banks that a command wrote, with its sentences."""
    if not is_plain(folder / SUMMARY):
        raise FileError(
            f"'{folder}' holds no '{SUMMARY}' and no evaluation logs: no command of Ogive "
            "finished there. Give a folder that a command wrote or a folder of logs, an item bank, "
            "or a file of responses."
        )
    summary = read_json(folder / SUMMARY, KIND, FORMAT)
    named = summary.get("files", [])
    if not isinstance(named, list):
        raise FileError(f"'{folder / SUMMARY}' lists no files: it was edited. Run it again.")
    present = [folder / name for name in map(str, named) if _is_of_report(folder, name)]
    names: dict[str, str] = {}  # of data sets, by the file names of their banks
    if is_plain(path := folder / "datasets.csv"):
        names = {file_name_of(str(name)): str(name) for name in _table(path).iloc[:, 0]}
    banks: dict[str, Calibration] = {}
    for path in present:
        if path.parent.name == BANKS:
            with suppress(FileError):  # its tables are shown anyway
                banks[names.get(path.stem, path.stem)] = load_only("calibration", path)
    return [*_chapters(summary), *_of_files(present), Banks(banks)]


def _is_of_report(folder: Path, name: str) -> bool:
    """Return True if a name lies where reports put files: a summary may have been edited."""
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts or not 1 <= len(parts) <= 2:
        return False
    return is_plain(folder / name)


def _chapters(summary: dict[str, Any]) -> Iterable[Section]:
    """Yield one section for each chapter that has sentences."""
    given = summary.get("sentences", {})
    for name, sentences in (given if isinstance(given, dict) else {"findings": given}).items():
        texts = tuple(map(str, sentences)) if isinstance(sentences, list) else (str(sentences),)
        title = str(name).replace("_", " ")
        yield Section(title, sentences=texts[:1], notes=texts[1:], headline="".join(texts[:1]))
    for title in ("missing", "failures", "pool_failures"):
        reasons = summary.get(title)
        if isinstance(reasons, dict) and reasons:
            notes = tuple(f"{name}: {reason}" for name, reason in reasons.items())
            yield Section(title.replace("_", " "), notes=notes)


def _of_files(present: list[Path]) -> Iterable[Section]:
    figures = [path for path in present if path.parent.name == FIGURES and path.suffix == ".png"]
    tables = [path for path in present if path.suffix == ".csv"]
    if figures:
        pictures = tuple((_words(path.stem), _picture(path)) for path in figures)
        yield Section("figures", pictures=pictures)
    if tables:
        yield Section("tables", tables=tuple((_words(path.stem), _table(path)) for path in tables))


def _words(name: str) -> str:
    return name.replace("_", " ").replace("-", " ")


def _table(path: Path) -> pd.DataFrame:
    try:
        return restored(pd.read_csv(readable_file(path, most_bytes(None, MOST_BYTES))))
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except (ValueError, pd.errors.ParserError) as error:
        raise FileError(f"'{path}' cannot be read as a table: {error}.") from error


def _picture(path: Path) -> str:
    """Return a figure that is narrower and has few colours, to save space."""
    from PIL import Image

    content = readable_file(path, most_bytes(None, FIGURE_BYTES))
    try:
        with Image.open(content, formats=["PNG"]) as picture:
            whole = picture.convert("RGB")
    except (OSError, ValueError, Image.DecompressionBombError) as error:
        raise FileError(f"'{path}' is not a PNG figure: {error}.") from error
    if whole.width > WIDEST:
        height = round(whole.height * WIDEST / whole.width)
        whole = whole.resize((WIDEST, height), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    whole.quantize(COLOURS).save(buffer, format="PNG", optimize=True)
    return image_of(buffer.getvalue(), _words(path.stem))


def joined(tables: Mapping[str, Responses]) -> dict[str, Responses]:
    """Return the tables; those that share items and a kind of responses become one.

    A respondent of the same name is the same one, unless both tables hold a response to the same
    item; then the later one is named after its table, too.
    """
    whole: dict[str, Responses] = {}
    further: dict[str, int] = {}  # tables beside the first of each
    for name, table in tables.items():
        first = next((known for known, one in whole.items() if _belong(one, table)), None)
        if first is None:
            whole[name] = table
        else:
            whole[first] = _beside(whole[first], table, name)
            further[first] = further.get(first, 0) + 1
    return {
        f"{name} and {further[name]:,} more" if name in further else name: table
        for name, table in whole.items()
    }


@dataclass(frozen=True, eq=False)
class Divided:
    """Tables whose parts are linked by items, notes on those that were divided, and of which.

    `whole` has, by the name of each part, the table it is from and its number there.
    """

    tables: dict[str, Responses] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    whole: dict[str, tuple[Responses, int]] = field(default_factory=dict)


def linked(tables: Mapping[str, Responses]) -> Divided:
    """Return tables whose parts are linked by items."""
    divided = Divided()
    for name, table in tables.items():
        rows, columns = linked_parts(table.observed)
        parts = int(rows.max(initial=0)) + 1
        if parts == 1:
            divided.tables[name] = table
            continue
        divided.notes.append(
            f"{name}: no item links its {parts} parts, so each has a scale of its own."
        )
        for k in range(parts):
            part = table.select(rows == k, columns == k)
            more = f" and {part.n_respondents - 1:,} more" if part.n_respondents > 1 else ""
            own = f"{name}: {part.respondents[0]}{more}"
            divided.tables[own] = part
            divided.whole[own] = table, k
    return divided


def _belong(one: Responses, other: Responses) -> bool:
    return one.kind == other.kind and not set(one.items).isdisjoint(other.items)


def _beside(one: Responses, other: Responses, name: str) -> Responses:
    """Return both tables as one; `name` distinguishes respondents of the other one."""
    items = list(dict.fromkeys([*one.items, *other.items]))
    renamed = _renamed(one, other, name)
    respondents = list(dict.fromkeys([*one.respondents, *renamed]))
    row = {respondent: k for k, respondent in enumerate(respondents)}
    column = {item: k for k, item in enumerate(items)}
    parts = [
        (table, np.ix_([row[each] for each in names], [column[each] for each in table.items]))
        for table, names in ((one, one.respondents), (other, renamed))
    ]
    shape = len(respondents), len(items)
    if one.tries is None and other.tries is None and one.cells.dtype.kind == "i":
        codes = np.full(shape, NEVER_ASKED, np.result_type(one.cells, other.cells))
        for table, at in parts:
            codes[at] = np.where(table.observed, table.cells, codes[at])
        merged = Responses.from_codes(codes, respondents, items, one.kind)
    else:  # scores, or means of several tries
        values, tries = np.full(shape, np.nan), np.zeros(shape)
        for table, at in parts:
            counts = np.ones(table.shape) if table.tries is None else np.asarray(table.tries, float)
            values[at] = np.where(table.observed, table.values, values[at])
            tries[at] = np.where(table.observed, counts, tries[at])
        several = {"tries": tries} if (tries > 1).any() else {}
        merged = Responses(values, respondents, items, one.kind, **several)
    facts = other.respondent_facts.set_axis(list(renamed), axis=0)
    return merged.described(
        items=_merged_facts(one.item_facts, other.item_facts),
        respondents=_merged_facts(one.respondent_facts, facts),
        notes=dict.fromkeys([*one.notes, *other.notes]),
    )


def _renamed(one: Responses, other: Responses, name: str) -> list[str]:
    """Return the names of the respondents of `other`, new if both answered the same item."""
    row = {respondent: k for k, respondent in enumerate(one.respondents)}
    column = {item: k for k, item in enumerate(one.items)}
    shared = [k for k, item in enumerate(other.items) if item in column]
    observed = one.observed[:, [column[other.items[k]] for k in shared]]
    other_observed = other.observed[:, shared]
    renamed: list[str] = []
    for k, respondent in enumerate(other.respondents):
        at = row.get(respondent)
        twice = at is not None and bool((observed[at] & other_observed[k]).any())
        wanted, n = (f"{respondent} ({name})" if twice else respondent), 2
        while twice and (wanted in row or wanted in renamed):
            wanted, n = f"{respondent} ({name}, {n})", n + 1
        renamed.append(wanted)
    return renamed


def _merged_facts(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return one.combine_first(other) if other.shape[1] else one


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
class ReadCache:
    """What was read before, so that a change of one file reads only that one again."""

    logs: KnownLogs = field(default_factory=KnownLogs)
    _files: dict[Path, tuple[Stamp, Any]] = field(default_factory=dict)

    def read(self, path: Path, read: Callable[[Path], Any]) -> Any:
        """Return the content at a path, by `read` unless nothing has changed."""
        now = signature_of([path])
        before, content = self._files.get(path, ((), None))
        if before != now:
            content = read(path)
            self._files[path] = now, content
        return content


def read_paths(paths: Sequence[Path], cache: ReadCache | None = None) -> Opened:
    """Read everything: logs together, tables that share items as one, responses on their bank."""
    cache = cache or ReadCache()
    kinds = {path: _kind(path) for path in paths}
    sections: list[Section] = []
    banks: dict[str, Calibration] = {}
    tables: dict[str, Responses] = {}
    for path, kind in kinds.items():
        if kind == "results":
            for part in cache.read(path, read_folder):
                if isinstance(part, Section):
                    sections.append(part)
                elif isinstance(part, Banks):
                    banks |= part.calibrations
        elif kind == "bank":
            banks[path.stem] = cache.read(path, partial(load_only, "calibration"))
        elif kind == "responses":
            tables[path.name] = cache.read(path, _read_table)
    logs = [path for path, kind in kinds.items() if kind == "logs"]
    if logs:
        settings = LogSettings(keep_text=True, max_bytes=most_bytes(None, MAX_BYTES))
        name = ", ".join(path.name or str(path) for path in logs)
        tables[name] = logs_at(logs, settings, cache.logs).responses
    together = joined(tables)
    placed = {name: _placed(bank, together) for name, bank in banks.items()}
    notes = dict.fromkeys(note for table in together.values() for note in table.notes)
    divided = linked(together)
    return Opened(divided.tables, placed, tuple(sections), (*divided.notes, *notes), divided.whole)


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


def _read_table(path: Path) -> Responses:
    """Read a table; of one that is being written, the lines that are whole."""
    read = partial(read_responses, max_bytes=most_bytes(None, MAX_BYTES), progress=False)
    try:
        return read(path)
    except OgiveError:
        lines, newline, cut = b"", b"", b""
        if path.suffix.lower() in _GROWING:
            lines, newline, cut = path.read_bytes().rpartition(b"\n")
        if not cut or not lines:
            raise
        with tempfile.TemporaryDirectory(prefix="ogive-") as folder:
            copy = Path(folder) / path.name
            copy.write_bytes(lines + newline)
            with suppress(OgiveError):  # the first error is about the file itself
                return read(copy)
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
