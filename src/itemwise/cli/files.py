"""Files that a command writes: checked before the work begins, not after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from itemwise.errors import FileError, InputError
from itemwise.files import check_writable, make_folder, write_bytes

if TYPE_CHECKING:
    import pandas as pd

_WRITERS: Mapping[str, Callable[[pd.DataFrame], bytes]] = {
    ".csv": lambda frame: frame.to_csv(lineterminator="\n").encode(),
    ".parquet": lambda frame: frame.reset_index().to_parquet(index=False),
}

REPORT = "report.html"  # what commands call their page
FIGURE = (".png", ".svg", ".pdf")
BANK = (".json", ".parquet")
TABLE = tuple(_WRITERS)
RESPONSES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")


def check_targets(
    targets: Mapping[str, tuple[Path | None, Sequence[str]]], sources: Sequence[Path] = ()
) -> None:
    """Refuse what could not be written, or would destroy what is read.

    `targets` maps an option to its path, if it was given, and the endings it may have.
    """
    taken = {source.resolve(): "the input" for source in sources}
    for option, (path, endings) in targets.items():
        if path is None:
            continue
        if not path.name.lower().endswith(tuple(endings)):
            raise InputError(
                f"{option} is '{path}', but it must end in {' or '.join(endings)}. "
                "Change its ending."
            )
        _check_place(option, path)
        if path.resolve() in taken:
            raise InputError(
                f"{option} is '{path}', which is also {taken[path.resolve()]}. Name another file."
            )
        taken[path.resolve()] = option


def report_folder(out: Path, source: Path) -> Path:
    """The folder of a report, refused where it could not be written, or where the input lies."""
    if out.resolve() in (source.resolve(), source.resolve().parent):
        raise InputError(
            f"--out is '{out}', the folder of the input, which a table might replace. Name another."
        )
    from itemwise.report.folder import SUMMARY

    folder = make_folder(out)
    check_writable(folder / SUMMARY)
    return folder


def write_table(frame: pd.DataFrame, path: Path) -> None:
    """Write a frame with its index, whole or not at all."""
    write_bytes(path, _WRITERS[path.suffix.lower()](frame))


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise FileError(f"{option} is '{path}', which is a directory. Add a file name.")
    if not path.parent.is_dir():
        raise FileError(
            f"{option} is '{path}', but there is no directory '{path.parent}'. "
            "Create it first, or correct the path."
        )
    try:
        check_writable(path)
    except FileError as error:
        raise FileError(f"{option}: {error}") from error
