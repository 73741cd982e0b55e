"""What `itemwise report` can show: a folder that a command wrote, an item bank, or responses."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from itemwise.calibration import BANK_ENDINGS, Calibration, is_bank
from itemwise.diagnostics import diagnose
from itemwise.errors import FileError
from itemwise.estimation import calibrate
from itemwise.estimation.chosen_models import model_for
from itemwise.files import PathLike, file_name_of, is_folder, is_plain, read_json, readable_file
from itemwise.numerics.linked_parts import Parts, linked_parts
from itemwise.progress import at_stage
from itemwise.report.folder import BANKS, FIGURES, FORMAT, KIND, SUMMARY
from itemwise.report.pictures import image_of
from itemwise.report.sections import Banks, Section
from itemwise.responses import Responses
from itemwise.responses.logs.log_formats import find_logs
from itemwise.results import gathered
from itemwise.saved_files import load_only
from itemwise.studies import Leaderboard, leaderboard
from itemwise.tables.csv_text import restored

MOST_PARTS, FEWEST_IN_PART = 5, 3  # parts of a table that are calibrated, and respondents in each
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

    Parts that no item links are ranked on boards of their own and calibrated one by one: they are
    never on one scale.
    """
    parts = linked_parts(responses.observed)
    if parts[0].any():
        return _in_parts(responses, model, *parts)
    at_stage(f"calibrating {responses.n_respondents:,} × {responses.n_items:,} responses")
    found = calibrate(responses, model)
    ranked = Ranked(*gathered({"leaderboard": partial(leaderboard, responses, calibration=found)}))
    return [ranked, found, diagnose(found)]


def _in_parts(responses: Responses, model: str, rows: Parts, items: Parts) -> list[Any]:
    """Rank within the parts of a table, then calibrate and diagnose the largest ones."""
    found: list[Any] = [Ranked(*gathered({"leaderboard": partial(leaderboard, responses)}))]
    chosen, picked = model_for(model, responses)
    for k in range(min(MOST_PARTS, int(rows.max()) + 1)):
        if (rows == k).sum() < FEWEST_IN_PART:
            break
        at_stage(f"calibrating part {k + 1}")
        part = responses.select(respondents=rows == k, items=items == k)
        scale = calibrate(part, chosen)
        scale = replace(scale, fit_notes=(*picked, *scale.fit_notes))
        checks = diagnose(scale).found
        titles = {f"{name.replace('_', ' ')}, part {k + 1}": each for name, each in checks.items()}
        found.append({f"Calibration, part {k + 1}": scale} | titles)
    return found


class Ranked(NamedTuple):
    """The leaderboard by name, or why there is none."""

    found: dict[str, Leaderboard]
    missing: dict[str, str]


def read_folder(folder: Path) -> list[Any]:
    """Read the tables, figures and item banks that a command wrote, with its sentences."""
    if not is_plain(folder / SUMMARY):
        raise FileError(
            f"'{folder}' holds no '{SUMMARY}' and no evaluation logs: no command of Itemwise "
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
        return restored(pd.read_csv(readable_file(path, MOST_BYTES)))
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

    content = readable_file(path, FIGURE_BYTES)
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
