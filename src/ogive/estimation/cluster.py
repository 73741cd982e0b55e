"""Responses on a Dask cluster: from files, from a dask array, or from this machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import ClusterError, InputError
from ogive.estimation.worker_rows import WorkerRows
from ogive.numerics.arrays import row_blocks
from ogive.responses.encoding import MOST_ROWS
from ogive.responses.names_and_facts import named
from ogive.responses.scanned_files import NotGradesError, ScannedFile, codes_of, scores_of
from ogive.responses.scanned_responses import (
    OpenedRows,
    ScannedResponses,
    WideRows,
    graded_kind,
    refuse_grades,
)
from ogive.responses.seen_cells import SeenCells
from ogive.responses.stored_cells import HIGHEST_INFERRED_GRADE, Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

ASKED = 3  # times, if no worker answers
Held = tuple[NDArray[Any], SeenCells]


def check_client(client: Any) -> None:
    """Refuse what is no client, one that is closed, and workers that could not do the work."""
    if not all(hasattr(client, name) for name in ("submit", "scatter", "gather", "run")):
        raise InputError(
            f"client is {client!r:.60}; give a distributed.Client, as in "
            "EM(client=Client(LocalCluster()))."
        )
    if getattr(client, "status", "running") != "running":
        raise ClusterError(
            f"The client is {client.status}. Connect another to the cluster: Client(address)."
        )
    told = _versions(client)
    if not told:
        raise ClusterError("The cluster has no workers. Start some, and calibrate again.")
    without = [address for address, version in told.items() if version is None]
    if without:
        raise ClusterError(
            f"{len(without)} of {len(told)} workers cannot import ogive, for example "
            f"{without[0]}. Install it where they run: pip install 'ogive[cluster]'."
        )
    here = _version_there()()
    other = {address: v for address, v in told.items() if v != here}
    if other:
        address, version = next(iter(other.items()))
        raise ClusterError(
            f"{len(other)} of {len(told)} workers have another version of ogive: {address} has "
            f"{version}, this process {here}. Install the same everywhere."
        )


def _versions(client: Any) -> dict[str, str | None]:
    """The version that each worker has; one that dies or begins meanwhile is asked again."""
    for _ in range(ASKED):
        try:
            told: dict[str, str | None] = client.run(_version_there(), on_error="ignore")
        except OSError:  # the connection to a worker broke
            told = {}
        if told:
            return told
        time.sleep(1)
    return {}


def _version_there() -> Callable[[], str | None]:
    """A function that workers without the package can run, too: it travels as a whole."""

    def version() -> str | None:
        from importlib import import_module

        try:
            return str(import_module("ogive").__version__)
        except ImportError:
            return None

    version.__module__ = "__main__"
    return version


def n_threads(client: Any) -> int:
    """How many tasks the workers run at once."""
    return max(1, int(sum(client.nthreads().values())))


def sent_rows(client: Any, cells: Any) -> WorkerRows:
    """Rows of this machine, one part for each thread of the workers; sent once."""
    n_rows, n_items = cells.shape
    most = -(-n_rows // n_threads(client))
    parts = row_blocks(n_rows, -(-most // MOST_ROWS) * MOST_ROWS)

    def send(k: int) -> Any:
        return client.scatter(np.ascontiguousarray(cells[parts[k]]), hash=False)

    sizes = [part.stop - part.start for part in parts]
    return WorkerRows(client, sizes, n_items, send).holding(cells.dtype)


def sent(client: Any, cells: NDArray[Any]) -> OpenedRows:
    """A table of this machine on the workers."""
    scores = cells.dtype.kind == "f"
    n_missing = int(np.count_nonzero(np.isnan(cells) if scores else cells < 0))
    seen = SeenCells(len(cells), n_missing, 0)
    return OpenedRows(sent_rows(client, cells), seen, "continuous" if scores else "graded")


def on_cluster(client: Any, responses: ScannedResponses) -> ScannedResponses:
    """The same responses on the workers: they read the files, each its own parts."""
    source = responses.source
    found = ScannedResponses(source, responses.declared, responses.notes, responses.cache)
    if isinstance(source, WideRows):
        parts = [part for file in source.files for part in file.parts()]
        sizes = [part.n_rows for part in parts]

        def make(grades: bool) -> Callable[[int], Any]:  # noqa: FBT001
            return lambda k: client.submit(_read, parts[k], grades, pure=False)

        opened = _opened(client, sizes, len(source.items), make, responses.declared)
    elif isinstance(source, ArrayRows):
        opened = _open_array(client, source, responses.declared)
    else:  # rows by response are sorted here
        local = responses.opened
        opened = OpenedRows(sent_rows(client, local.rows), local.seen, local.kind)
    vars(found)["opened"] = opened
    return found


def _opened(
    client: Any,
    sizes: list[int],
    n_items: int,
    make: Callable[[bool], Callable[[int], Any]],
    kind: Kind | None,
) -> OpenedRows:
    """Rows that workers read as grades if they can be, otherwise as scores."""
    if kind != "continuous":
        rows = WorkerRows(client, sizes, n_items, make(True)).holding(np.int8)
        try:
            seen = rows.seen()
            if kind is not None or seen.highest <= HIGHEST_INFERRED_GRADE:
                return OpenedRows(rows, seen, graded_kind(seen, kind))
        except NotGradesError as error:
            refuse_grades(error, kind)
    rows = WorkerRows(client, sizes, n_items, make(False)).holding(np.float64)
    return OpenedRows(rows, rows.seen(), "continuous")


def _read(file: ScannedFile, grades: bool) -> Held:  # noqa: FBT001 - a task has no keywords
    """The rows of a part of a file, and what is seen in them."""
    blocks = list(file.blocks(grades=grades))
    seen = blocks[0][1]
    for _, more in blocks[1:]:
        seen = seen.joined(more)
    return np.concatenate([cells for cells, _ in blocks]), seen


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """A dask array, in chunks of rows."""

    array: Any
    items: tuple[str, ...]

    def blocks(self, *, grades: bool) -> Iterator[Held]:
        """Refused: chunks of a dask array stay with their workers."""
        del grades
        raise InputError(
            "A dask array is calibrated where its chunks are: calibrate(array, "
            "engine=EM(client=client))."
        )

    def respondents(self, n_rows: int) -> Iterator[int]:
        """Rows have no names."""
        total = int(self.array.shape[0])
        for first in range(0, total, n_rows):
            yield min(n_rows, total - first)


def scanned_array(array: Any) -> ScannedResponses:
    """A dask array of respondents × items as responses."""
    if len(array.shape) != 2:
        raise InputError(
            f"The dask array has {len(array.shape)} dimensions, but a table has two. Give one row "
            "per respondent and one column per item."
        )
    if np.isnan(sum(map(sum, array.chunks))):
        raise InputError(
            "The chunks of the dask array have unknown sizes. Call array.compute_chunk_sizes()."
        )
    return ScannedResponses(ArrayRows(array, named(None, int(array.shape[1]), "item")))


def _open_array(client: Any, source: ArrayRows, kind: Kind | None) -> OpenedRows:
    array = source.array.rechunk({1: -1})
    sizes = [int(size) for size in array.chunks[0] if size]
    chunks = [row[0] for row, size in zip(array.to_delayed(), array.chunks[0], strict=True) if size]

    def make(grades: bool) -> Callable[[int], Any]:  # noqa: FBT001
        return lambda k: client.submit(_chunk, client.compute(chunks[k]), grades, pure=False)

    return _opened(client, sizes, len(source.items), make, kind)


def _chunk(values: NDArray[Any], grades: bool) -> Held:  # noqa: FBT001 - a task has no keywords
    """A chunk of an array as cells, and what is seen in it."""
    import pyarrow as pa

    flat, where = pa.array(np.ascontiguousarray(values).reshape(-1)), "The dask array"
    if grades:
        cells = codes_of(flat, where).reshape(values.shape)
        return cells, SeenCells.of_codes(cells)
    scores = scores_of(flat, where).reshape(values.shape)
    return scores, SeenCells.of_scores(scores)
