"""A folder with the tables, item banks and figures of a result, and a summary of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise.errors import FileError, InputError
from itemwise.files import (
    PathLike,
    file_name_of,
    make_folder,
    read_json,
    write_bytes,
    write_json,
)
from itemwise.progress import at_stage
from itemwise.results import Draw, Result

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
    def of(cls, result: Result) -> Contents:
        """Return the contents that a result has by itself."""
        return cls(
            tables=result.tables(),
            figures=result.figures(),
            banks=result.banks(),
            sentences=result.sentences(),
            meaning=result.meaning,
            notes=result.notes,
            failures={name: dict(getattr(result, name, {})) for name in FAILURES},
        )


def write_folder(found: Result | Contents, folder: PathLike) -> list[Path]:
    """Write tables as CSV, figures as PNG, item banks as JSON, and a summary; return the paths.

    Files that an earlier report left in the folder are removed; all others are left alone.
    """
    contents = Contents.of(found) if isinstance(found, Result) else found
    home = make_folder(folder)
    _forget(home)
    files = []
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
            files.append(draw().save(home / FIGURES / f"{file_of(name, names)}.png"))
        except InputError as reason:
            missing[name] = str(reason)
    summary: dict[str, Any] = {
        "meaning": contents.meaning,
        "notes": list(contents.notes),
        "sentences": contents.sentences,
        **contents.failures,
        "missing": missing,
        "files": [path.relative_to(home).as_posix() for path in files],
    }
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
    write_bytes(path, frame.to_csv(lineterminator="\n", index=named).encode())
    return path


def _forget(home: Path) -> None:
    """Remove the files that an earlier report lists as its own, and only in its own places."""
    try:
        named = read_json(home / SUMMARY, KIND, FORMAT)["files"]
    except (FileError, KeyError):
        return
    for name in named if isinstance(named, list) else []:
        *place, last = Path(str(name)).parts or ("",)
        if tuple(place) in PLACES and last not in ("", "..") and (home / str(name)).is_file():
            (home / str(name)).unlink()
