"""Rows on Dask workers (reading files there: data).

Rows that lie on the workers of a Dask cluster: work goes to them, and sums come back.

Each part of the rows stays with a worker, one byte a response. A pass sends items and nodes to the
parts and brings back sums, combined by a tree in the order of the parts, so that neither the
number of workers nor their pace changes the answer. Parts that die with a worker are made again:
from files by the cluster itself, from an array by sending it once more.

Responses on a Dask cluster: from files, from a dask array, or from this machine.
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
MOST_ATTEMPTS = 30  # passes that begin again because a worker died meanwhile
GONE = ("lost", "cancelled", "error")
WAIT = 30  # seconds for a worker, or for the scheduler, to come back

T = TypeVar("T")


class WorkerRows:
    """A table in parts on workers, as `Encoded` holds its cells.

    `make` gives a future of part k: an array, or an array and what was seen in it. It is asked
    again where that future was lost.
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
        """Return the same rows, whose cells are known to be of a type."""
        self.dtype = np.dtype(dtype)
        return self

    def seen(self) -> SeenCells:
        """Return what was seen of all parts as they were given, where they hold that."""
        parts = self.run(lambda: self.client.gather(self._submitted(_seen, self._given)))
        found: SeenCells = reduce(SeenCells.joined, parts)
        self._given = []  # let go: the cluster makes them again if it needs them
        return found

    def _cut(self, k: int) -> Any:
        """Return part k, which begins and ends where blocks do: of parts as they were given."""
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

    def take(self, places: NDArray[np.intp]) -> NDArray[Any]:
        """Return rows at these places, which ascend."""
        cuts = np.searchsorted(places, self._ends)
        wanted = [
            (k, places[first:last] - self._ends[k])
            for k, (first, last) in enumerate(pairwise(cuts))
            if last > first
        ]

        def fetch() -> list[NDArray[Any]]:
            futures = [self._submit(_taken, self._cells[k], own) for k, own in wanted]
            found: list[NDArray[Any]] = self.client.gather(futures)
            return found

        parts = self.run(fetch)
        return np.concatenate(parts) if parts else np.empty((0, self.shape[1]), self.dtype)

    def distinct(self, weights: Floats) -> tuple[Array, Floats] | None:
        """Distinct rows of all parts, and the weight of each; None where they are too many."""

        def collapsed() -> list[Any]:
            futures = [
                self._submit(_collapsed, self._cells[k], self._own(weights, k))
                for k in range(len(self._cells))
            ]
            found: list[Any] = self.client.gather(futures)
            return found

        parts = self.run(collapsed)
        return None if any(part is None for part in parts) else merged_rows(parts)

    def read_by(
        self, model: Reader, weights: Floats, device: str | None, *, complete: bool
    ) -> Encoded:
        """Return all rows as engines read them; each part is encoded on its worker, once."""
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
        """Return `Encoded.gather` where the rows are, and the sums here."""
        import cloudpickle

        work = cloudpickle.dumps((over, width, rows, lanes, combine, data.single))

        def once() -> Sequence[Array]:
            level = self._submitted(_sums, self._parts, work)
            while len(level) > 1:
                groups = [level[first : first + FAN_IN] for first in range(0, len(level), FAN_IN)]
                level = [self._submit(_combined, work, *group) for group in groups]
            found: Sequence[Array] = level[0].result()
            return found

        return self.run(once)

    def run(self, attempt: Callable[[], T]) -> T:
        """Return what `attempt` gives; it begins again if a worker died meanwhile."""
        import distributed

        lost = (CancelledError, distributed.KilledWorker, distributed.CancelledError, OSError)
        for _ in range(MOST_ATTEMPTS):
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
            f"Workers of the cluster at {_address(self.client)} died {MOST_ATTEMPTS} times in one "
            "pass over the responses, most likely for want of memory. Give it more workers."
        )

    def _restore(self) -> None:
        """Make parts again that died with a worker."""
        try:
            self.client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError as error:
            raise ClusterError(
                f"The cluster at {_address(self.client)} has no workers left. Start some, and "
                "calibrate again."
            ) from error
        gone = [k for k, future in enumerate(self._cells) if future.status in GONE]
        if gone:
            wanted = {piece.part for k in gone for piece in self._pieces[k]}
            self._given = [self._make(k) if k in wanted else None for k in range(1 + max(wanted))]
        for k in gone:
            self._cells[k] = self._cut(k)
        for k, future in enumerate(self._parts):
            if k in gone or future.status in GONE:
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
        """Return the weights of part k; None where every row counts once."""
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
    """Return where parts end that begin where blocks do, near where they ended."""
    return sorted({min(-(-end // MOST_ROWS) * MOST_ROWS, ends[-1]) for end in ends})


def pieces_of(ends: Sequence[int], first: int, last: int) -> list[Piece]:
    """Return which rows of which parts lie between two places of the whole."""
    found = []
    for part, (low, high) in enumerate(pairwise(ends)):
        begin, end = max(low, first), min(high, last)
        if begin < end:
            found.append(Piece(part, begin - low, end - low, (begin, end) == (low, high)))
    return found


def _piece(held: Any, first: int, last: int) -> NDArray[Any]:
    return _cells_of(held)[first:last].copy()


def _joined(*parts: Any) -> NDArray[Any]:
    return np.concatenate([_cells_of(part) for part in parts])


def _cells_of(held: Any) -> NDArray[Any]:
    """Return the cells of a part, which may come with what was seen in them."""
    found: NDArray[Any] = held[0] if isinstance(held, tuple) else held
    return found


def _seen(held: tuple[NDArray[Any], SeenCells]) -> SeenCells:
    return held[1]


def _taken(held: Any, places: NDArray[np.intp]) -> NDArray[Any]:
    found: NDArray[Any] = _cells_of(held)[places]
    return found


def _collapsed(held: Any, weights: Floats | None) -> tuple[Array, Floats] | None:
    """Return distinct rows of a part; None where they are too many."""
    cells = _cells_of(held)
    found = collapse(cells, np.ones(len(cells)) if weights is None else weights)
    return found if len(found[0]) <= MOST_DISTINCT else None


def _encoded(
    held: Any,
    weights: Floats | None,
    model: Reader,
    device: str | None,
    complete: bool,  # noqa: FBT001
) -> Encoded:
    """Return a part as engines read it; scores stay as they are, for their densities."""
    cells = _cells_of(held)
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
        found = fold(run, data.cut(width, rows), over(data, run), lanes, combine)
    return [as_numpy(each) if hasattr(each, "cpu") else np.asarray(each) for each in found]


def _combined(work: bytes, *parts: Sequence[Array]) -> Sequence[Array]:
    """Return the sums over several parts, in their order."""
    import cloudpickle

    combine = cloudpickle.loads(work)[4]
    found: Sequence[Array] = reduce(combine, parts)
    return found


def _address(client: Any) -> str:
    return str(getattr(getattr(client, "scheduler", None), "address", "an unknown address"))


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
            f"{without[0]}. Install it where they run: {install_command('cluster')}"
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
    """Return the version that each worker has; one that dies or begins meanwhile is asked again."""
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
    """Return a function that workers without the package can run, too: it travels as a whole."""

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


def _read(file: ScannedFile, grades: bool) -> Held:  # noqa: FBT001 - a task has no keywords
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

    def blocks(self, *, grades: bool) -> Iterator[Held]:
        """Return refused: chunks of a dask array stay with their workers."""
        del grades
        raise InputError(
            "A dask array is calibrated where its chunks are: calibrate(array, "
            "engine=EM(client=client))."
        )

    def respondents(self, n_rows: int) -> Iterator[int]:
        """Yield rows have no names."""
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


def _chunk(values: NDArray[Any], grades: bool) -> Held:  # noqa: FBT001 - a task has no keywords
    """Return a chunk of an array as cells, and what is seen in it."""
    import pyarrow as pa

    flat, where = pa.array(np.ascontiguousarray(values).reshape(-1)), "The dask array"
    if grades:
        cells = codes_of(flat, where).reshape(values.shape)
        return cells, SeenCells.of_codes(cells)
    scores = scores_of(flat, where).reshape(values.shape)
    return scores, SeenCells.of_scores(scores)
