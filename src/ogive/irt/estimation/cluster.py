"""Responses on the workers of a Dask cluster, from files, a dask array or this machine.

Each part of the rows stays with a worker, one byte per response. A pass sends items and nodes to
the parts and brings back sums, combined by a tree in the order of the parts, so that neither the
number of workers nor their speed changes the result. Parts that are lost with a worker are made
again: from files by the cluster itself, from an array by sending it once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ogive._installation import install_command
from ogive.data.names import named
from ogive.data.scan import OpenedRows, ScannedResponses, WideRows, graded_kind, refuse_grades
from ogive.data.scanned_files import NotGradesError, ScannedFile, codes_of, scores_of
from ogive.errors import ClusterError, InputError, OgiveError
from ogive.irt.encoded_responses import (
    MOST_DISTINCT,
    MOST_ROWS,
    Combine,
    Encoded,
    Over,
    Reader,
    collapse,
    merged_rows,
)
from ogive.irt.response_codes import HIGHEST_INFERRED_GRADE, Kind, SeenCells
from ogive.stats.array_backend import Array, Floats, as_array, as_numpy, fold, row_blocks, workers

if TYPE_CHECKING:
    from collections.abc import Iterator


FAN_IN = 8  # sums that one task of the tree combines
MAX_ATTEMPTS = 30  # attempts at one pass while workers die
LOST = ("lost", "cancelled", "error")  # states of a future whose result is gone
WAIT = 30  # seconds for a worker, or for the scheduler, to come back
VERSION_ATTEMPTS = 3  # requests for the workers' versions

T = TypeVar("T")
Part = tuple[NDArray[Any], SeenCells]  # cells of a part, and what was seen in them


class WorkerRows:
    """A table in parts on workers, in place of the cells of `Encoded`.

    `make` gives a future of part k: an array, or an array and what was seen in it. It is called
    again if that future is lost.
    """

    def __init__(
        self, client: Any, sizes: Sequence[int], n_items: int, make: Callable[[int], Any]
    ) -> None:
        self.client, self.dtype = client, np.dtype(np.int8)
        given = [int(end) for end in np.cumsum([0, *sizes])]
        self.shape = given[-1], n_items
        self._ends = np.array(even_ends(given))
        self._pieces = [pieces_of(given, *ends) for ends in pairwise(self._ends.tolist())]
        self._read: tuple[Any, ...] | None = None
        self._cells: list[Any] = []
        self._parts: list[Any] = []
        self._make = make
        self._given = [self.run(partial(make, k)) for k in range(len(sizes))]
        self._cells = [self._cut(k) for k in range(len(self._pieces))]

    def holding(self, dtype: Any) -> WorkerRows:
        """Return the rows with the type of their cells."""
        self.dtype = np.dtype(dtype)
        return self

    def seen(self) -> SeenCells:
        """Return what was seen of all parts as they were given."""
        parts = self.run(lambda: self.client.gather(self._submitted(_seen, self._given)))
        self._given = []  # released: the cluster makes them again if it needs them
        seen: SeenCells = reduce(SeenCells.joined, parts)
        return seen

    def _cut(self, k: int) -> Any:
        """Return part k, cut at the ends of blocks from parts as they were given."""
        pieces = self._pieces[k]
        if len(pieces) == 1 and pieces[0].whole:
            return self._given[pieces[0].part]
        parts = [
            self._given[piece.part]
            if piece.whole
            else self._submit(_piece, self._given[piece.part], piece.first, piece.last)
            for piece in pieces
        ]
        return self._submit(_joined, *parts)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return some rows, brought here."""
        return self.take(np.arange(self.shape[0])[rows])

    def take(self, positions: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows at these positions, which ascend."""
        cuts = np.searchsorted(positions, self._ends)
        wanted = [
            (k, positions[first:last] - self._ends[k])
            for k, (first, last) in enumerate(pairwise(cuts))
            if last > first
        ]

        def fetch() -> Any:
            return self.client.gather([self._submit(_taken, self._cells[k], p) for k, p in wanted])

        parts = self.run(fetch)
        return np.concatenate(parts) if parts else np.empty((0, self.shape[1]), self.dtype)

    def distinct(self, weights: Floats) -> tuple[Array, Floats] | None:
        """Return distinct rows of all parts, and the weight of each; None if they are too many."""

        def collapsed() -> Any:
            futures = [
                self._submit(_collapsed, cells, self._own(weights, k))
                for k, cells in enumerate(self._cells)
            ]
            return self.client.gather(futures)

        parts = self.run(collapsed)
        return None if any(part is None for part in parts) else merged_rows(parts)

    def read_by(
        self, model: Reader, weights: Floats, device: str | None, *, complete: bool
    ) -> Encoded:
        """Return all rows as engines read them; each part is encoded once, on its worker."""
        self._read = model, weights, device, complete
        self._parts = [self._part(k) for k in range(len(self._cells))]
        binary = model.kind == "binary"
        return Encoded(self, weights, complete, model.statistics, binary, model.read)

    def gather_sums(
        self,
        data: Encoded,
        over: Over,
        *,
        width: int,
        rows: int | None,
        lanes: int,
        combine: Combine,
    ) -> Sequence[Array]:
        """Compute `Encoded.gather` on the workers, and return the sums."""
        import cloudpickle

        work = cloudpickle.dumps((over, width, rows, lanes, combine, data.single))

        def once() -> Sequence[Array]:
            level = self._submitted(_sums, self._parts, work)
            while len(level) > 1:
                groups = [level[first : first + FAN_IN] for first in range(0, len(level), FAN_IN)]
                level = [self._submit(_combined, work, *group) for group in groups]
            sums: Sequence[Array] = level[0].result()
            return sums

        return self.run(once)

    def run(self, attempt: Callable[[], T]) -> T:
        """Return the result of `attempt`; it begins again if a worker died meanwhile."""
        import distributed

        lost = (CancelledError, distributed.KilledWorker, distributed.CancelledError, OSError)
        for _ in range(MAX_ATTEMPTS):
            try:
                return attempt()
            except OgiveError:
                raise
            except lost as error:  # a connection that breaks is an OSError
                self._check_scheduler(error)
                self._restore()
            except Exception as error:
                self._check_scheduler(error)
                raise
        raise ClusterError(
            f"Workers of the cluster at {_address(self.client)} died {MAX_ATTEMPTS} times in one "
            "pass over the responses, most likely for want of memory. Give it more workers."
        )

    def _restore(self) -> None:
        """Make parts again that were lost with a worker."""
        try:
            self.client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            raise ClusterError(
                f"The cluster at {_address(self.client)} has no workers left. Start some, and "
                "calibrate again."
            ) from error
        lost = [k for k, future in enumerate(self._cells) if future.status in LOST]
        if lost:
            wanted = {piece.part for k in lost for piece in self._pieces[k]}
            self._given = [self._make(k) if k in wanted else None for k in range(1 + max(wanted))]
        for k in lost:
            self._cells[k] = self._cut(k)
        for k, future in enumerate(self._parts):
            if k in lost or future.status in LOST:
                self._parts[k] = self._part(k)

    def _check_scheduler(self, error: BaseException) -> None:
        """Refuse to go on without a scheduler."""
        try:
            reached = self.client.status == "running" and bool(
                self.client.sync(self.client.scheduler.identity, callback_timeout=WAIT)
            )
        except Exception:
            reached = False
        if not reached:
            raise ClusterError(
                f"The scheduler of the cluster at {_address(self.client)} is lost. Start the "
                "cluster again, connect a client to it, and calibrate once more."
            ) from error

    def _part(self, k: int) -> Any:
        assert self._read is not None  # noqa: S101 - set before
        model, weights, device, complete = self._read
        own = self._own(weights, k)
        return self._submit(_encoded, self._cells[k], own, model, device, complete)

    def _own(self, weights: Floats, k: int) -> Floats | None:
        """Return the weights of part k; None if every row counts once."""
        return None if weights.strides == (0,) else weights[self._ends[k] : self._ends[k + 1]]

    def _submitted(self, work: Callable[..., Any], parts: Sequence[Any], *others: Any) -> list[Any]:
        return [self._submit(work, part, *others) for part in parts]

    def _submit(self, work: Callable[..., Any], *given: Any) -> Any:
        return self.client.submit(work, *given, pure=False)


@dataclass(frozen=True)
class Piece:
    """Some rows of a part as it was given."""

    part: int
    first: int
    last: int
    whole: bool


def even_ends(ends: Sequence[int]) -> list[int]:
    """Return ends of parts near the given ones, rounded to whole blocks."""
    return sorted({min(-(-end // MOST_ROWS) * MOST_ROWS, ends[-1]) for end in ends})


def pieces_of(ends: Sequence[int], first: int, last: int) -> list[Piece]:
    """Return the rows of parts that lie between two positions of the whole."""
    pieces = []
    for part, (low, high) in enumerate(pairwise(ends)):
        begin, end = max(low, first), min(high, last)
        if begin < end:
            pieces.append(Piece(part, begin - low, end - low, (begin, end) == (low, high)))
    return pieces


# Functions that run on the workers. A part is an array, or an array and what was seen in it.


def _cells_of(part: Any) -> NDArray[Any]:
    return np.asarray(part[0] if isinstance(part, tuple) else part)


def _piece(part: Any, first: int, last: int) -> NDArray[Any]:
    return _cells_of(part)[first:last].copy()


def _joined(*parts: Any) -> NDArray[Any]:
    return np.concatenate([_cells_of(part) for part in parts])


def _seen(part: Part) -> SeenCells:
    return part[1]


def _taken(part: Any, positions: NDArray[np.intp]) -> NDArray[Any]:
    return np.asarray(_cells_of(part)[positions])


def _collapsed(part: Any, weights: Floats | None) -> tuple[Array, Floats] | None:
    """Return distinct rows of a part; None if they are too many."""
    cells = _cells_of(part)
    distinct = collapse(cells, np.ones(len(cells)) if weights is None else weights)
    return distinct if len(distinct[0]) <= MOST_DISTINCT else None


def _encoded(
    part: Any,
    weights: Floats | None,
    model: Reader,
    device: str | None,
    complete: bool,  # noqa: FBT001
) -> Encoded:
    """Return a part as engines read it; scores stay as they are, for their densities."""
    cells = _cells_of(part)
    counted = np.ones(len(cells)) if weights is None else weights
    placed, read = as_array(cells, device), None if cells.dtype.kind in "iu" else model.read
    if read is None:
        placed = model.read(placed)
    binary = model.kind == "binary"
    return Encoded(placed, as_array(counted, device), complete, model.statistics, binary, read)


def _sums(part: Encoded, work: bytes) -> list[NDArray[Any]]:
    """Return the sums over one part."""
    import cloudpickle

    over, width, rows, lanes, combine, single = cloudpickle.loads(work)
    data = part.in_single() if single else part
    with workers(1) as run:
        sums = fold(run, data.cut(width, rows), over(data, run), lanes, combine)
    return [as_numpy(each) if hasattr(each, "cpu") else np.asarray(each) for each in sums]


def _combined(work: bytes, *parts: Sequence[Array]) -> Sequence[Array]:
    """Return the sums over several parts, in their order."""
    import cloudpickle

    sums: Sequence[Array] = reduce(cloudpickle.loads(work)[4], parts)
    return sums


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "an unknown address"))


def check_client(client: Any) -> None:
    """Refuse what is no client, one that is closed, and workers that could not do the work."""
    if not all(hasattr(client, name) for name in ("submit", "scatter", "gather", "run")):
        raise InputError(
            "`client` must be a distributed.Client, as in EM(client=Client(LocalCluster())), got "
            f"{client!r:.60}."
        )
    if getattr(client, "status", "running") != "running":
        raise ClusterError(
            f"The client is {client.status}. Connect another to the cluster: Client(address)."
        )
    versions = _versions(client)
    if not versions:
        raise ClusterError("The cluster has no workers. Start some, and calibrate again.")
    without = [address for address, version in versions.items() if version is None]
    if without:
        raise ClusterError(
            f"{len(without)} of {len(versions)} workers cannot import ogive, for example "
            f"{without[0]}. Install it where they run: {install_command('cluster')}"
        )
    here = _version_there()()
    other = {address: v for address, v in versions.items() if v != here}
    if other:
        address, version = next(iter(other.items()))
        raise ClusterError(
            f"{len(other)} of {len(versions)} workers have another version of ogive: {address} has "
            f"{version}, this process {here}. Install the same everywhere."
        )


def _versions(client: Any) -> dict[str, str | None]:
    """Return the version on each worker; repeat if one dies or starts meanwhile."""
    for _ in range(VERSION_ATTEMPTS):
        try:
            versions: dict[str, str | None] = client.run(_version_there(), on_error="ignore")
        except OSError:  # the connection to a worker broke
            versions = {}
        if versions:
            return versions
        time.sleep(1)
    return {}


def _version_there() -> Callable[[], str | None]:
    """Return a function that workers without the package can run, too: it is pickled whole."""

    def version() -> str | None:
        from importlib import import_module

        try:
            return str(import_module("ogive").__version__)
        except ImportError:
            return None

    version.__module__ = "__main__"
    return version


def n_threads(client: Any) -> int:
    """Return how many tasks the workers run at once."""
    return max(1, int(sum(client.nthreads().values())))


def sent_rows(client: Any, cells: Any) -> WorkerRows:
    """Return rows of this machine, one part for each thread of the workers; sent once."""
    n_rows, n_items = cells.shape
    most = -(-n_rows // n_threads(client))
    parts = row_blocks(n_rows, -(-most // MOST_ROWS) * MOST_ROWS)

    def send(k: int) -> Any:
        return client.scatter(np.ascontiguousarray(cells[parts[k]]), hash=False)

    sizes = [part.stop - part.start for part in parts]
    return WorkerRows(client, sizes, n_items, send).holding(cells.dtype)


def sent(client: Any, cells: NDArray[Any]) -> OpenedRows:
    """Return a table of this machine on the workers."""
    scores = cells.dtype.kind == "f"
    n_missing = int(np.count_nonzero(np.isnan(cells) if scores else cells < 0))
    seen = SeenCells(len(cells), n_missing, 0)
    return OpenedRows(sent_rows(client, cells), seen, "continuous" if scores else "graded")


def on_cluster(client: Any, responses: ScannedResponses) -> ScannedResponses:
    """Return the same responses on the workers: they read the files, each its own parts."""
    source = responses.source
    remote = ScannedResponses(source, responses.declared, responses.notes, responses.cache)
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
    vars(remote)["opened"] = opened
    return remote


def _opened(
    client: Any,
    sizes: list[int],
    n_items: int,
    make: Callable[[bool], Callable[[int], Any]],
    kind: Kind | None,
) -> OpenedRows:
    """Return rows that workers read as grades if they can be, otherwise as scores."""
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


def _read(file: ScannedFile, grades: bool) -> Part:  # noqa: FBT001 - a task has no keywords
    """Return the rows of a part of a file, and what is seen in them."""
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

    def blocks(self, *, grades: bool) -> Iterator[Part]:
        """Refuse: chunks of a dask array stay with their workers."""
        del grades
        raise InputError(
            "A dask array is calibrated where its chunks are: calibrate(array, "
            "engine=EM(client=client))."
        )

    def respondents(self, n_rows: int) -> Iterator[int]:
        """Yield the sizes of blocks: rows have no names."""
        total = int(self.array.shape[0])
        for first in range(0, total, n_rows):
            yield min(n_rows, total - first)


def scanned_array(array: Any) -> ScannedResponses:
    """Return a dask array of respondents × items as responses."""
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


def _chunk(values: NDArray[Any], grades: bool) -> Part:  # noqa: FBT001 - a task has no keywords
    """Return a chunk of an array as cells, and what is seen in it."""
    import pyarrow as pa

    flat, where = pa.array(np.ascontiguousarray(values).reshape(-1)), "The dask array"
    if grades:
        cells = codes_of(flat, where).reshape(values.shape)
        return cells, SeenCells.of_codes(cells)
    scores = scores_of(flat, where).reshape(values.shape)
    return scores, SeenCells.of_scores(scores)
