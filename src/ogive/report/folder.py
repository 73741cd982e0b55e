"""A folder with the tables, item banks and figures of a result, and a summary of them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.errors import FileError, InputError
from ogive.files import (
    PathLike,
    file_name_of,
    make_folder,
    read_json,
    write_bytes,
    write_json,
)
from ogive.progress import at_stage
from ogive.results import Draw, Result
from ogive.tables.csv_text import csv_text

if TYPE_CHECKING:
    import pandas as pd

SUMMARY = "summary.json"
KIND, FORMAT = "report", 1
BANKS, FIGURES = "banks", "figures"
PLACES = ((), (BANKS,), (FIGURES,))  # where the files of a report are
FAILURES = ("failures", "pool_failures")  # attributes that say who failed, and why


@dataclass(frozen=True)
class Contents:
    """What a folder holds: that of one result, or of several that belong together.

    `sentences` are a list, or one list for each part by name.
    """

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Draw]
    banks: Mapping[str, Result]
    sentences: list[str] | dict[str, list[str]]
    meaning: str = ""
    notes: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Result, beside: Sequence[Result] = ()) -> Contents:
        """Return the contents that a result has by itself, and of others `beside` it."""
        tables, figures, banks = dict(result.tables()), dict(result.figures()), dict(result.banks())
        for each in beside:
            tables |= _prefixed(each, each.tables())
            figures |= _prefixed(each, each.figures())
            banks |= _prefixed(each, each.banks())
        return cls(
            tables=tables,
            figures=figures,
            banks=banks,
            sentences=[text for each in (result, *beside) for text in each.sentences()],
            meaning=result.meaning,
            notes=(*result.notes, *(note for each in beside for note in each.notes)),
            failures={name: dict(getattr(result, name, {})) for name in FAILURES},
        )


def _prefixed(result: Result, named: Mapping[str, Any]) -> dict[str, Any]:
    """What a result has, under names that tell whose it is."""
    own = result.name()
    return {name if name == own else f"{own}_{name}": each for name, each in named.items()}


def write_folder(found: Result | Contents, folder: PathLike) -> list[Path]:
    """Write tables as CSV, figures as PNG, item banks as JSON, and a summary; return the paths.

    Files of an earlier report in the folder that this one does not replace are removed at the end,
    unless they were changed since; all others are left alone.
    """
    contents = Contents.of(found) if isinstance(found, Result) else found
    home = make_folder(folder)
    earlier, files = _earlier(home), []
    for place in (BANKS, FIGURES):
        make_folder(home / place)
    for name, bank in contents.banks.items():
        at_stage(f"item bank {name}")
        files.append(bank.save(home / BANKS / f"{file_name_of(name)}.json"))
    names: set[str] = set()
    for name, frame in contents.tables.items():
        at_stage(f"table {name}")
        files.append(_write_table(home / f"{file_of(name, names)}.csv", frame))
    missing, names = dict(contents.missing), set()
    for name, draw in contents.figures.items():
        at_stage(f"figure {name}")
        try:
            display = draw()
            if display.instead:
                missing[name] = display.instead
                continue
            files.append(display.save(home / FIGURES / f"{file_of(name, names)}.png"))
        except InputError as reason:
            missing[name] = str(reason)
    sums = {path.relative_to(home).as_posix(): _digest(path) for path in files}
    summary: dict[str, Any] = {
        "meaning": contents.meaning,
        "notes": list(contents.notes),
        "sentences": contents.sentences,
        **contents.failures,
        "missing": missing,
        "files": list(sums),
        "sha256": sums,
    }
    if earlier.keys() - sums.keys():
        # As long as they are named, the next run removes what a kill leaves of them.
        write_json(home / SUMMARY, KIND, FORMAT, {**summary, "sha256": earlier | sums})
        _forget(home, earlier, set(files))
    write_json(home / SUMMARY, KIND, FORMAT, summary)
    return [*files, home / SUMMARY]


def file_of(name: str, taken: set[str]) -> str:
    """Return a name of a table or figure that every file system accepts, and add it to `taken`.

    Some file systems do not distinguish A from a, so a second such name gets a digest.
    """
    parts = name.split("_")
    found = "_".join(
        part if re.fullmatch(r"[A-Za-z0-9-]*", part) else file_name_of(part) for part in parts
    )
    if found.lower() in taken:
        found = file_name_of(name)
    taken.add(found.lower())
    return found


def _write_table(path: Path, frame: pd.DataFrame) -> Path:
    """Write a frame as CSV; an index without a name is left out."""
    named = any(name is not None for name in frame.index.names)
    write_bytes(path, csv_text(frame, index=named).encode())
    return path


def _earlier(home: Path) -> dict[str, str]:
    """The files that an earlier report wrote, as its summary says, and what they held."""
    try:
        sums = read_json(home / SUMMARY, KIND, FORMAT).get("sha256")
    except FileError:
        return {}
    if not isinstance(sums, dict):
        return {}
    return {name: told for name, told in sums.items() if isinstance(told, str)}


def _forget(home: Path, earlier: Mapping[str, str], kept: set[Path]) -> None:
    """Remove files of an earlier report: only in its own places, and only as it wrote them.

    A summary may come from anybody, and must not be able to name a file of yours.
    """
    for name, digest in earlier.items():
        *place, last = Path(name).parts or ("",)
        path = home / name
        if tuple(place) not in PLACES or last in ("", "..") or path in kept:
            continue
        with suppress(OSError):  # gone meanwhile, or may not be removed
            if path.is_file() and not path.is_symlink() and _digest(path) == digest:
                path.unlink()


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
