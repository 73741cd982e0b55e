"""Array backend: NumPy and torch, threads, recorded GPU work, exact half-precision products.

Work over blocks of rows runs in threads, with results that do not depend on their number. Work that
a GPU repeats is recorded once as a CUDA graph and then replayed: to launch each of its small steps
takes longer than the step itself.
"""

from __future__ import annotations

import gc
import os
import threading
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, lru_cache, partial, reduce
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError, MissingExtraError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = Any  # a NumPy array or a torch tensor; the Array API has no static type yet
Value = TypeVar("Value")
Run = Callable[..., Any]  # a `map` that may use threads
Steps: TypeAlias = Callable[..., tuple[Array, ...]]

ITEM_CELLS = 1 << 15
MOST_AT_ONCE = 1 << 26  # bytes; larger arrays go to a GPU in pieces
PIECE = 1 << 22
MOST_KEPT = 8  # recordings that are kept; each has memory of its own on the GPU
_pool_around = threading.local()  # the pool in whose thread this work runs


def array_namespace(array: Array) -> Any:
    """Return the Array API namespace of `array`: NumPy itself, or torch behind a wrapper."""
    return np if isinstance(array, np.ndarray) else _torch_namespace()


def as_array(values: Array, device: str | None) -> Array:
    """Put NumPy `values` where `device` says: None is NumPy, any other a torch device."""
    if device is None:
        return values
    xp, device = _torch_namespace(), checked_device(device)
    with warnings.catch_warnings():  # nothing is ever written into responses
        warnings.filterwarnings("ignore", "The given NumPy array is not writable")
        tensor = xp.asarray(values)
    if device.startswith("cuda") and values.nbytes > MOST_AT_ONCE and values.flags.c_contiguous:
        return _to_gpu_in_pieces(tensor, device)
    return tensor.to(device)


def _to_gpu_in_pieces(tensor: Array, device: str) -> Array:
    """Copy a large tensor through pinned memory, from which a GPU reads at full speed."""
    import torch

    copy = torch.empty(tensor.shape, dtype=tensor.dtype, device=device)
    source, target = tensor.reshape(-1), copy.reshape(-1)

    def move(part: slice) -> None:
        piece = torch.empty(part.stop - part.start, dtype=tensor.dtype, pin_memory=True)
        piece.copy_(source[part])
        target[part].copy_(piece, non_blocking=True)

    in_threads(move, row_blocks(source.shape[0], PIECE // tensor.element_size()))
    torch.cuda.synchronize(device)
    return copy


def as_numpy(array: Array) -> NDArray[Any]:
    """Return a NumPy view or copy of `array`."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu())


def like(values: Any, other: Array) -> Array:
    """Return `values` as float64 in the namespace and on the device of `other`."""
    if isinstance(other, np.ndarray):
        return np.asarray(values.cpu() if hasattr(values, "cpu") else values, dtype=np.float64)
    xp = array_namespace(other)
    return xp.asarray(values, dtype=xp.float64, device=other.device)


def numbers(values: Sequence[float], other: Array) -> Array:
    """Return a few constants as `like` would place them; a device keeps them."""
    if isinstance(other, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    return _constants_on(other.device, tuple(values))


@cache
def _constants_on(device: Any, values: tuple[float, ...]) -> Array:
    xp = _torch_namespace()
    return xp.asarray(values, dtype=xp.float64, device=device)


def histogram(index: Array, weights: Array, size: int) -> Array:
    """Return sums of the `weights` with each `index`; the Array API has no bincount."""
    index, weights = index.reshape(-1), weights.reshape(-1)
    if isinstance(index, np.ndarray):
        return np.bincount(index, weights, minlength=size)
    return weights.new_zeros(size).index_add_(0, index, weights)  # bincount would wait for the GPU


def free_bytes(array: Array) -> int:
    """Return the free memory of the GPU that holds `array`; 0 if none does."""
    if isinstance(array, np.ndarray) or not array.is_cuda:
        return 0
    import torch

    return int(torch.cuda.mem_get_info(array.device)[0])


def checked_device(device: str) -> str:
    """Return `device`; raise InputError if torch cannot use it."""
    import torch

    try:
        torch.ones(1, dtype=torch.float64, device=device).cpu()
    except (RuntimeError, TypeError, NotImplementedError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"device is {device!r}, which cannot be used here ({reason}). "
            "Use 'cpu' or 'cuda', or leave device out to run on NumPy."
        ) from error
    return device


@lru_cache(maxsize=1)
def _torch_namespace() -> Any:
    try:
        import array_api_compat.torch as namespace
    except ImportError as error:
        raise MissingExtraError("torch", "torch") from error
    return namespace


def row_blocks(n_rows: int, rows: int) -> list[slice]:
    """Return slices of `rows` that cover `n_rows`; they never depend on the number of workers."""
    return [slice(first, min(first + rows, n_rows)) for first in range(0, n_rows, rows)]


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Run]:
    """Give a `map` that runs in threads and keeps the order of its results.

    BLAS is limited to one thread meanwhile: its own threads wait in a spin for each other and
    collapse when the machine has other work.
    """
    if n_jobs is None or n_jobs == -1:
        n_jobs = available_cores()
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise InputError(
            f"`n_jobs` must be 1 or more, or None or -1 for all cores, got {n_jobs!r}."
        )
    with _blas_controller().limit(limits=1, user_api="blas"):
        if n_jobs == 1:
            yield _one_after_another
            return
        stopped = threading.Event()
        with ThreadPoolExecutor(n_jobs) as pool:  # its threads start when there is work for two

            def run(work: Callable[[Any], Value], parts: list[Any]) -> Iterator[Value]:
                if len(parts) == 1:
                    return _one_after_another(work, parts)
                _raise_if_stopped()
                return pool.map(partial(_work_in_pool, stopped, work), parts)

            try:
                yield run
            except BaseException:
                stopped.set()  # or the pool would wait for whole fits that are no longer needed
                raise


def _one_after_another(work: Callable[[Any], Value], parts: list[Any]) -> Iterator[Value]:
    _raise_if_stopped()
    return map(work, parts)


def _work_in_pool(stopped: threading.Event, work: Callable[[Any], Value], part: Any) -> Value:
    """Do work in a thread of a pool, which may itself open pools."""
    _pool_around.stopped = stopped
    _raise_if_stopped()
    return work(part)


def _raise_if_stopped() -> None:
    """End the work of this thread if the owner of its pool was interrupted or failed."""
    stopped = getattr(_pool_around, "stopped", None)
    if stopped is not None and stopped.is_set():
        raise KeyboardInterrupt


def in_threads(work: Callable[[Any], Value], parts: Sequence[Any]) -> list[Value]:
    """Return the result of `work` for each part, in order; many parts are shared by all cores.

    For work inside NumPy that needs no BLAS.
    """
    cores = min(available_cores(), len(parts) // 2)
    if cores < 2:
        return list(map(work, parts))
    with ThreadPoolExecutor(cores) as pool:
        return list(pool.map(work, parts))


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _blas_controller() -> Any:
    import scipy.special  # noqa: F401 - loads SciPy's own BLAS, which has to be limited as well
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def by_items(run: Run, coords: Any, nodes: int, work: Callable[[slice], Any]) -> Any:
    """Do `work` on blocks of items whose tables over `nodes` fit in a core's cache, and join them.

    `work` returns a tuple of arrays with the items on their first axis. On a GPU, one block.
    """
    n_items = coords.shape[0]
    size = max(32, ITEM_CELLS // nodes) if isinstance(coords, np.ndarray) else n_items
    parts = list(run(work, row_blocks(n_items, size)))
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def add(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Return sums, pair by pair."""
    return [left + right for left, right in zip(old, new, strict=True)]


def fold(
    run: Run,
    blocks: list[slice],
    work: Callable[[slice], Sequence[Any]],
    lanes: int = 16,
    combine: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]] = add,
) -> Sequence[Any]:
    """Combine what `work` returns, a tuple of arrays, over `blocks`, in a fixed order.

    Blocks are dealt to `lanes`, each combined by one worker; the lanes are then combined in turn.
    """
    dealt = [blocks[first::lanes] for first in range(min(lanes, len(blocks)))]
    return reduce(combine, run(lambda lane: reduce(combine, map(work, lane)), dealt))


def evenly_spaced(count: int, most: int) -> NDArray[np.intp]:
    """Return at most `most` of `count` positions, evenly spaced from first to last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.intp)


class Recordings:
    """Work that a GPU repeats: recorded at its second call, replayed from then on.

    Between two calls of the same name, work may differ only in the arrays that it is given. It must
    not read numbers that only the GPU knows; work that does so is never replayed. Whatever else it
    reads must be part of the name, or live as long as this object.
    """

    def __init__(self) -> None:
        self._recordings: dict[Hashable, _Recording | None] = {}

    def __call__(self, name: Hashable, work: Steps, *arrays: Array) -> tuple[Array, ...]:
        """Return the results of `work`; the first array says on which device it runs."""
        if isinstance(arrays[0], np.ndarray) or not arrays[0].is_cuda:
            return work(*arrays)
        key = name, *(array.shape for array in arrays)
        if key not in self._recordings:  # perhaps the only call; and libraries set themselves up
            while len(self._recordings) >= MOST_KEPT:
                del self._recordings[next(iter(self._recordings))]
            self._recordings[key] = None
            return work(*arrays)
        recording = self._recordings[key]
        if recording is None:
            recording = self._recordings[key] = _Recording(work, arrays)
        return recording.replay(arrays) or work(*arrays)


class _Recording:
    """A CUDA graph of one piece of work, with the arrays that it reads and writes."""

    def __init__(self, work: Steps, arrays: Sequence[Array]) -> None:
        import torch

        self._inputs = [array.clone() for array in arrays]
        self._outputs: tuple[Array, ...] = ()
        self._graph: Any = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream(arrays[0].device)
        side.wait_stream(torch.cuda.current_stream(arrays[0].device))
        with torch.cuda.stream(side), _no_garbage_collection(), suppress(RuntimeError):
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                outputs = work(*self._inputs)
            finally:
                self._graph.capture_end()
            self._outputs = outputs
        torch.cuda.current_stream(arrays[0].device).wait_stream(side)

    def replay(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """Return the outputs for these inputs; empty if the work could not be recorded."""
        if not self._outputs:
            return ()
        for own, given in zip(self._inputs, arrays, strict=True):
            own.copy_(given)
        self._graph.replay()
        return tuple(array.clone() for array in self._outputs)


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Pause garbage collection: deleting an older recording would spoil the new one."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


# Exact products of zeros and ones with float64 vectors, from two bytes per cell. A GPU multiplies
# half-precision matrices many times faster than double ones, but each factor has 11 bits only, and
# sums have 24. Whole numbers below 256 fit into the former, and sums of 65,536 of them into the
# latter, without rounding. So a vector is written in digits of base 256, one column each, the
# matrix is multiplied with all of them at once, and the products are combined in float64.

DIGITS = 8  # digits of a whole number of 64 bits; the first has its sign
LARGEST = 2.0**61  # magnitude to which vectors are scaled
MOST_SUMMED = 1 << 16  # number of digits below 256 whose sum is exact in float32


@dataclass(frozen=True, eq=False)
class ZerosAndOnes:
    """Rows of zeros and ones, ready for products: in float64, or in float16 on a GPU."""

    table: Array  # (n_rows, n_columns); in float16, both are padded with zeros
    n_rows: int
    n_columns: int

    @property
    def exact_by_digits(self) -> bool:
        """True if vectors have to be written in digits."""
        return "float16" in str(self.table.dtype)

    def times(self, vector: Array) -> Array:
        """Return the product with a vector over the columns, (n_rows,)."""
        if not self.exact_by_digits:
            return self.table @ vector
        digits, unit = in_digits(_padded(vector, self.table.shape[1]))
        return (_half_product(self.table, digits).double() @ unit)[: self.n_rows]

    def summed(self, vector: Array) -> Array:
        """Return the product with a vector over the rows, (n_columns,)."""
        if not self.exact_by_digits:
            return vector @ self.table
        length, width = self.table.shape
        rows = min(length, MOST_SUMMED)
        digits, unit = in_digits(_padded(vector, length).reshape(-1, rows))
        parts = _half_product(digits.transpose(1, 2), self.table.reshape(-1, rows, width))
        return (unit @ parts.double().sum(0))[: self.n_columns]


def halved(cells: Array) -> ZerosAndOnes:
    """Return zeros and ones of a torch table in float16, padded to sizes that the GPU needs."""
    import torch

    n_rows, n_columns = cells.shape
    step = MOST_SUMMED if n_rows > MOST_SUMMED else DIGITS
    shape = -(-n_rows // step) * step, -(-n_columns // DIGITS) * DIGITS  # rounded up to multiples
    if shape == (n_rows, n_columns):
        return ZerosAndOnes(cells.half(), n_rows, n_columns)
    table = cells.new_zeros(shape, dtype=torch.float16)
    table[:n_rows, :n_columns] = cells
    return ZerosAndOnes(table, n_rows, n_columns)


def in_digits(vector: Array) -> tuple[Array, Array]:
    """Return digits (..., DIGITS) of a float64 tensor in base 256, and the unit of each digit."""
    import torch

    scale = LARGEST / vector.abs().max().clamp(min=1e-200)
    shifts = torch.arange(8 * DIGITS - 8, -1, -8, device=vector.device)
    digits = (vector * scale).round().long()[..., None] >> shifts
    digits[..., 1:] &= 255
    return digits.half(), torch.exp2(shifts.double()) / scale


def _padded(vector: Array, length: int) -> Array:
    import torch

    if vector.shape[0] == length:
        return vector
    return torch.nn.functional.pad(vector, (0, length - vector.shape[0]))


def _half_product(left: Array, right: Array) -> Array:
    """Return the product of float16 matrices of whole numbers, in float32."""
    import torch

    if not left.is_cuda:
        return left.float() @ right.float()
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False  # partial sums need their 24 bits
    product = torch.mm if left.dim() == 2 else torch.bmm
    try:
        return product(left, right, out_dtype=torch.float32)
    finally:
        settings.allow_fp16_reduced_precision_reduction = before
