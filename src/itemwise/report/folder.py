"""A folder of tables, item banks and figures that belong together, and know each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
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

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.calibration import Calibration
    from itemwise.displays import Display

SUMMARY = "summary.json"
KIND, FORMAT = "report", 1
BANKS, FIGURES = "banks", "figures"
PLACES = ((), (BANKS,), (FIGURES,))  # where files of a report lie


@dataclass
class ReportFolder:
    """Files as they are written; opened anew, it forgets those of an earlier report."""

    home: Path
    files: list[Path] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)  # figures that show nothing, and why

    @classmethod
    def at(cls, folder: PathLike) -> ReportFolder:
        """The folder, made where it is missing; files that are no report's are left alone."""
        home = make_folder(folder)
        _forget(home)
        for place in (BANKS, FIGURES):
            make_folder(home / place)
        return cls(home)

    def table(self, name: str, frame: pd.DataFrame) -> None:
        """Write a frame as CSV; an index without a name is left out."""
        content = frame.to_csv(lineterminator="\n", index=frame.index.name is not None)
        write_bytes(self.home / f"{name}.csv", content.encode())
        self.files.append(self.home / f"{name}.csv")

    def bank(self, name: str, calibration: Calibration) -> None:
        """Write an item bank."""
        self.files.append(calibration.save(self.home / BANKS / f"{file_name_of(name)}.json"))

    def figure(self, name: str, draw: Callable[[], Display]) -> None:
        """Draw a figure and write it."""
        self.files.append(draw().save(self.home / FIGURES / f"{name}.png"))

    def figures(self, kinds: Iterable[str], plot: Callable[[str], Display]) -> None:
        """Draw a figure of each kind; one that has nothing to show is missing."""
        for kind in kinds:
            try:
                self.figure(kind, partial(plot, kind))
            except InputError as reason:
                self.missing[kind] = str(reason)

    def finish(self, summary: Mapping[str, Any]) -> list[Path]:
        """Write what it all means, what is missing, and the paths of all files; the paths."""
        missing = {**summary.get("missing", {}), **self.missing}
        names = [path.relative_to(self.home).as_posix() for path in self.files]
        document = {**summary, "missing": missing, "files": names}
        write_json(self.home / SUMMARY, KIND, FORMAT, document)
        return [*self.files, self.home / SUMMARY]


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
