"""What `ogive report` can show: a folder that a command wrote, an item bank, or responses."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ogive.byte_limits import most_bytes
from ogive.calibration import BANK_ENDINGS, Calibration, is_bank
from ogive.diagnostics import diagnose
from ogive.diagnostics.reached_accuracy import LEAST
from ogive.errors import FileError
from ogive.estimation import calibrate
from ogive.estimation.part_scales import scales_of_parts
from ogive.files import PathLike, file_name_of, is_folder, is_plain, read_json, readable_file
from ogive.progress import at_stage
from ogive.report.folder import BANKS, FIGURES, FORMAT, KIND, SUMMARY
from ogive.report.pictures import image_of
from ogive.report.sections import Banks, Section
from ogive.responses import Responses
from ogive.responses.logs.log_formats import find_logs
from ogive.results import gathered
from ogive.saved_files import load_only
from ogive.studies import Leaderboard, leaderboard
from ogive.tables.csv_text import restored
from ogive.words import listed

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
    """Whether it is a folder of evaluation logs, not one that a command wrote."""
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
