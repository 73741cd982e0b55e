"""What lies at paths: logs, tables, banks, results folders.

What `ogive report` can show: a folder that a command wrote, an item bank, or responses.

Tables that share items become one, so that a further log stands beside what is open.

What lies at paths: tables of responses, item banks, and what results folders say.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

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
from ogive.evaluation.leaderboards import Leaderboard, leaderboard
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

if TYPE_CHECKING:
    import pandas as pd


MOST_PARTS = 5  # unlinked parts of a table that are diagnosed
MOST_SCALES = 20  # of them whose items and respondents are shown; a page of more would not open
MOST_BYTES = 200 * 1024**2  # of a table
MOST_LOG_BYTES = 8 * 1024**3  # of each log, as `read_logs` has it
FIGURE_BYTES = 20 * 1024**2
WIDEST = 900  # pixels of a figure
COLOURS = 96


def read_source(path: PathLike, analyse: Callable[[Path], list[Any]]) -> list[Any]:
    """Return the results behind a path: of a folder, of an item bank, or of a new analysis."""
    place = Path(path)
    if is_folder(place):
        return analyse(place) if _holds_logs(place) else read_folder(place)
    if place.suffix.lower() in BANK_ENDINGS and is_bank(place):
        return [load_only("calibration", place)]
    return analyse(place)


def _holds_logs(folder: Path) -> bool:
    """Return True if it is a folder of evaluation logs, not one that a command wrote."""
    if is_plain(folder / SUMMARY):
        return False
    return any(one.format is not None for one in find_logs([folder], MOST_LOG_BYTES))


def analysed(responses: Responses, model: str = "auto") -> list[Any]:
    """Rank the respondents, calibrate and diagnose responses.

    Parts that no item links are on boards of their own, and each has its scale and its diagnoses.
    """
    at_stage(f"calibrating {responses.n_respondents:,} × {responses.n_items:,} responses")
    found = calibrate(responses, model)
    ranked = Ranked(*gathered({"leaderboard": partial(leaderboard, responses, calibration=found)}))
    parts = scales_of_parts(found)
    if len(parts) == 1:
        return [ranked, found, diagnose(found)]
    return [ranked, *_in_parts(parts)]


def _in_parts(parts: list[Calibration]) -> list[Any]:
    """The scales of unlinked parts, and diagnoses of the largest; what is missing is named."""
    found: list[Any] = []
    missing: dict[str, str] = {}
    shown = [part for part in parts[:MOST_SCALES] if part.n_respondents > 1]
    for k, part in enumerate(shown, start=1):
        found.append({f"Calibration, part {k}": part})
        if k > MOST_PARTS or part.n_respondents < LEAST:
            missing[f"diagnoses of part {k}"] = _why_undiagnosed(part)
            continue
        at_stage(f"checking part {k}")
        checks = diagnose(part)
        titles = {f"{name}, part {k}": each for name, each in checks.found.items()}
        reasons = {f"{name}, part {k}": each for name, each in checks.missing.items()}
        found.append(Checked(titles, reasons))
    for k, part in enumerate(parts[len(shown) :], start=len(shown) + 1):
        missing[f"scale of part {k}"] = _why_not_shown(part)
    return [*found, Checked({}, missing)]


def _why_undiagnosed(part: Calibration) -> str:
    if part.n_respondents < LEAST:
        return f"{_who(part)}: diagnoses need at least {LEAST} respondents that items link."
    return f"{_who(part)}: {MOST_PARTS} parts are diagnosed. Give this one by itself."


def _why_not_shown(part: Calibration) -> str:
    if part.n_respondents < 2:
        return (
            f"{_who(part)} shares no item with others, and is on the leaderboard only: how hard "
            "its items are is not known."
        )
    return f"{_who(part)}: {MOST_SCALES} parts are shown. Give this one by itself."


def _who(part: Calibration) -> str:
    assert part.responses is not None  # noqa: S101 - it was made here, not loaded
    return listed(part.responses.respondents, "respondent")


class Checked(NamedTuple):
    """Diagnoses by title, and why some are missing."""

    found: dict[str, Any]
    missing: dict[str, str]


class Ranked(NamedTuple):
    """The leaderboard by name, or why there is none."""

    found: dict[str, Leaderboard]
    missing: dict[str, str]


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
    present = [folder / name for name in map(str, named) if _is_there(folder, name)]
    sections = [*_said(summary), *_of_files(present)]
    banks = {path.stem: _bank(path) for path in present if path.parent.name == BANKS}
    names = _names_of_datasets(folder / "datasets.csv")
    known = {names.get(stem, stem): bank for stem, bank in banks.items() if bank is not None}
    return [*sections, Banks(known)]


def _names_of_datasets(path: Path) -> dict[str, str]:
    """Return the names of the data sets by the file names of their banks."""
    if not is_plain(path):
        return {}
    return {file_name_of(str(name)): str(name) for name in _table(path).iloc[:, 0]}


def _is_there(folder: Path, name: str) -> bool:
    """Return whether a name lies where reports put files: a summary may have been edited."""
    parts = Path(name).parts
    if Path(name).is_absolute() or ".." in parts or not 1 <= len(parts) <= 2:
        return False
    return is_plain(folder / name)


def _said(summary: dict[str, Any]) -> Iterable[Section]:
    """Yield one section for each chapter that has sentences."""
    said = summary.get("sentences", {})
    chapters = said if isinstance(said, dict) else {"findings": said}
    for name, sentences in chapters.items():
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


def _table(path: Path) -> Any:
    import pandas as pd

    try:
        return restored(pd.read_csv(readable_file(path, most_bytes(None, MOST_BYTES))))
    except pd.errors.EmptyDataError:
        return pd.DataFrame()
    except (ValueError, pd.errors.ParserError) as error:
        raise FileError(f"'{path}' cannot be read as a table: {error}.") from error


def _bank(path: Path) -> Calibration | None:
    """Return the item bank, or None if it cannot be read; its tables are shown anyway."""
    try:
        found: Calibration = load_only("calibration", path)
    except FileError:
        return None
    return found


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
    found: dict[str, Responses] = {}
    further: dict[str, int] = {}  # tables beside the first of each
    for name, table in tables.items():
        fits = next((known for known, one in found.items() if _belong(one, table)), None)
        if fits is None:
            found[name] = table
        else:
            found[fits] = beside(found[fits], table, name)
            further[fits] = further.get(fits, 0) + 1
    return {
        f"{name} and {further[name]:,} more" if name in further else name: table
        for name, table in found.items()
    }


@dataclass(frozen=True, eq=False)
class Divided:
    """Tables whose parts are linked by items, notes on those that were divided, and of which.

    `whole` has, by the name of each part, the table it is from and its number there.
    """

    tables: dict[str, Responses]
    notes: list[str]
    whole: dict[str, tuple[Responses, int]]


def linked(tables: Mapping[str, Responses]) -> Divided:
    """Return tables whose parts are linked by items."""
    found: dict[str, Responses] = {}
    notes: list[str] = []
    whole: dict[str, tuple[Responses, int]] = {}
    for name, table in tables.items():
        rows, columns = linked_parts(table.observed)
        parts = int(rows.max(initial=0)) + 1
        if parts == 1:
            found[name] = table
            continue
        notes.append(f"{name}: no item links its {parts} parts, so each has a scale of its own.")
        for k in range(parts):
            part = table.select(rows == k, columns == k)
            first = part.respondents[0]
            more = f" and {part.n_respondents - 1:,} more" if part.n_respondents > 1 else ""
            found[f"{name}: {first}{more}"] = part
            whole[f"{name}: {first}{more}"] = table, k
    return Divided(found, notes, whole)


def _belong(one: Responses, other: Responses) -> bool:
    return one.kind == other.kind and not set(one.items).isdisjoint(other.items)


def beside(one: Responses, other: Responses, name: str) -> Responses:
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
        for table, place in parts:
            codes[place] = np.where(table.observed, table.cells, codes[place])
        made = Responses.from_codes(codes, respondents, items, one.kind)
    else:
        made = _of_values(parts, shape, respondents, items)
    return made.described(
        items=_facts(one.item_facts, other.item_facts),
        respondents=_facts(
            one.respondent_facts, other.respondent_facts.set_axis(list(renamed), axis=0)
        ),
        notes=dict.fromkeys([*one.notes, *other.notes]),
    )


def _of_values(
    parts: list[tuple[Responses, Any]],
    shape: tuple[int, int],
    respondents: list[str],
    items: list[str],
) -> Responses:
    """Return tables of scores, or of means of several tries, as one."""
    values, tries = np.full(shape, np.nan), np.zeros(shape)
    for table, place in parts:
        there, given = table.observed, table.tries
        counts = np.ones(table.shape) if given is None else np.asarray(given, dtype=float)
        values[place] = np.where(there, table.values, values[place])
        tries[place] = np.where(there, counts, tries[place])
    kind = parts[0][0].kind
    if (tries > 1).any():
        return Responses(values, respondents, items, kind, tries=tries)
    return Responses(values, respondents, items, kind)


def _renamed(one: Responses, other: Responses, name: str) -> list[str]:
    """Return the names of the respondents of `other`, new where both answered the same item."""
    taken = {respondent: k for k, respondent in enumerate(one.respondents)}
    known = {item: k for k, item in enumerate(one.items)}
    shared = [k for k, item in enumerate(other.items) if item in known]
    here = one.observed[:, [known[other.items[k]] for k in shared]]
    there = other.observed[:, shared]
    found: list[str] = []
    for k, respondent in enumerate(other.respondents):
        place = taken.get(respondent)
        twice = place is not None and bool((here[place] & there[k]).any())
        wanted, n = (f"{respondent} ({name})" if twice else respondent), 2
        while twice and (wanted in taken or wanted in found):
            wanted, n = f"{respondent} ({name}, {n})", n + 1
        found.append(wanted)
    return found


def _facts(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return one.combine_first(other) if other.shape[1] else one


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
