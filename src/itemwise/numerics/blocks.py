"""Work over blocks of rows in threads, with results that do not depend on their number."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError

Value = TypeVar("Value")
Run = Callable[..., Any]  # a `map` that may use threads

ITEM_CELLS = 1 << 15


def row_blocks(n_rows: int, rows: int) -> list[slice]:
    """Cut `n_rows` into slices of `rows`; the cut never depends on the number of workers."""
    return [slice(first, min(first + rows, n_rows)) for first in range(0, n_rows, rows)]


@contextmanager
def workers(n_jobs: int | None = None) -> Iterator[Run]:
    """Give a `map` that runs in threads and keeps the order of its results.

    BLAS is held to one thread meanwhile: its own threads wait in a spin for each other and
    collapse when the machine has other work.
    """
    if n_jobs is None or n_jobs == -1:
        n_jobs = available_cores()
    if not isinstance(n_jobs, int) or n_jobs < 1:
        raise InputError(f"n_jobs is {n_jobs!r}; give 1 or more, or None or -1 for all cores.")
    with _blas_controller().limit(limits=1, user_api="blas"):
        if n_jobs == 1:
            yield map
            return
        with ThreadPoolExecutor(n_jobs) as pool:  # its threads start when there is work for two

            def run(work: Callable[[Any], Value], parts: list[Any]) -> Iterator[Value]:
                return map(work, parts) if len(parts) == 1 else pool.map(work, parts)

            yield run


def available_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def _blas_controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def by_items(run: Run, coords: Any, nodes: int, work: Callable[[slice], Any]) -> Any:
    """Do `work` on blocks of items whose tables over `nodes` lie in a core's cache, and join them.

    `work` returns a tuple of arrays with the items on their first axis. On a GPU, one block.
    """
    n_items = coords.shape[0]
    size = max(32, ITEM_CELLS // nodes) if isinstance(coords, np.ndarray) else n_items
    parts = list(run(work, row_blocks(n_items, size)))
    if len(parts) == 1:
        return parts[0]
    return tuple(np.concatenate(columns) for columns in zip(*parts, strict=True))


def add(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Sums, pair by pair."""
    return [left + right for left, right in zip(old, new, strict=True)]


def fold(
    run: Run,
    blocks: list[slice],
    work: Callable[[slice], Sequence[Any]],
    lanes: int = 16,
    combine: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]] = add,
) -> Sequence[Any]:
    """Combine what `work` returns, a tuple of arrays, over `blocks`, in an order that is fixed.

    Blocks are dealt to `lanes`, each combined by one worker; the lanes are then combined in turn.
    """
    dealt = [blocks[first::lanes] for first in range(min(lanes, len(blocks)))]
    return reduce(combine, run(lambda lane: reduce(combine, map(work, lane)), dealt))


def evenly_spaced(count: int, most: int) -> NDArray[np.intp]:
    """At most `most` of `count` positions, evenly spaced from first to last."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).round().astype(np.intp)
