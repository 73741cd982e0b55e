"""Abilities of responses that are read in blocks: to a Parquet file as they come, or as a frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from ogive._files import PathLike, check_writable, tidy_folder, write_atomically
from ogive.data.responses import Responses
from ogive.data.scan import ScannedResponses, WideRows
from ogive.data.scanned_files import ScannedFile
from ogive.errors import InputError
from ogive.irt.response_codes import Kind

CELLS_AT_A_TIME = 1 << 23
MOST_IN_A_FRAME = 1_000_000  # respondents; more are written to a file
SUFFIX = ".parquet"

Score = Callable[[Responses], "pd.DataFrame"]


def write_scores(path: PathLike, responses: Responses | ScannedResponses, score: Score) -> Path:
    """Write what `score` says of each respondent, as it comes; a whole file or none."""
    target = Path(path)
    if target.suffix != SUFFIX:
        raise InputError(
            f"Abilities are written to a Parquet file, but the path is '{target}'. Let it end in "
            f"{SUFFIX}."
        )
    check_writable(target)

    def write(file: BinaryIO) -> None:
        writer = None
        try:
            for names, frame in scored_blocks(responses, score):
                arrays = [names, *(pa.array(frame[column]) for column in frame.columns)]
                table = pa.table(arrays, names=["respondent", *frame.columns])
                writer = writer or pq.ParquetWriter(file, table.schema)
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()

    write_atomically(target, write)
    return target


def write_partitions(
    path: PathLike,
    responses: ScannedResponses,
    client: Any,
    bank: Any,
    method: str,
    *,
    items_known: bool,
) -> Path:
    """Write abilities of each file to a file of its own, by workers; all of them or none."""
    source = responses.source
    if not isinstance(source, WideRows):
        raise InputError(
            "Workers write abilities of files with one row per respondent. Let the path end in "
            f"{SUFFIX}, and this process writes them."
        )
    with tidy_folder(path) as folder:
        targets = [folder / f"part-{k:05d}{SUFFIX}" for k in range(len(source.files))]
        tasks = [
            client.submit(
                _write_one,
                bank,
                file,
                source.items,
                responses.kind,
                str(target),
                method,
                items_known,
            )
            for file, target in zip(source.files, targets, strict=True)
        ]
        try:
            client.gather(tasks)
        except BaseException:
            client.cancel(tasks)
            for target in targets:
                target.unlink(missing_ok=True)
            raise
    return folder


def _write_one(
    bank: Any,
    file: ScannedFile,
    items: tuple[str, ...],
    kind: Kind,
    path: str,
    method: str,
    items_known: bool,  # noqa: FBT001 - a task has no keywords
) -> None:
    """Write the abilities of one file, on a worker that reads it."""
    part = ScannedResponses(WideRows((file,), items), kind)
    bank.write_abilities(path, part, method, items_known=items_known)


def scored_frame(responses: ScannedResponses, score: Score) -> pd.DataFrame:
    """Return the scores of all respondents as a frame, if it is not too long."""
    if responses.n_respondents > MOST_IN_A_FRAME:
        raise InputError(
            f"A frame of {responses.n_respondents:,} respondents would not be read in blocks. "
            "Write them to a file: write_abilities('abilities.parquet')."
        )
    parts = []
    for names, frame in scored_blocks(responses, score):
        parts.append(frame.set_axis(pd.Index(names.to_pylist(), name="respondent"), axis=0))
    found = pd.concat(parts)
    found.attrs.update(parts[0].attrs)
    return found


def scored_blocks(
    responses: Responses | ScannedResponses, score: Score
) -> Iterator[tuple[Any, pd.DataFrame]]:
    """Yield names as an Arrow array, and what `score` says of them, block by block."""
    if isinstance(responses, Responses):
        yield pa.array(responses.respondents, pa.string()), score(responses)
        return
    most = max(1, CELLS_AT_A_TIME // responses.n_items)
    waiting: list[Any] = []
    first = 0
    for names in chain(responses.name_blocks(most), [None]):  # None: there are no more
        n_waiting = sum(map(len, waiting))
        if waiting and (names is None or n_waiting + len(names) > most):
            cells = np.asarray(responses.opened.rows[first : first + n_waiting])
            make = Responses.from_codes if cells.dtype.kind == "i" else Responses
            yield (
                pa.concat_arrays(waiting),
                score(make(cells, None, responses.items, responses.kind)),
            )
            first += n_waiting
            waiting = []
        waiting.append(names)
