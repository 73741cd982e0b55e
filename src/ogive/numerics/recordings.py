"""Work that a GPU does again and again: recorded once, then replayed as a whole.

To tell a GPU of a small step takes longer than the step. A recording holds all steps of some work
and tells the GPU of them at once (a CUDA graph). Elsewhere, nothing is recorded.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import numpy as np

from ogive.numerics.arrays import Array

Steps: TypeAlias = "Callable[..., tuple[Array, ...]]"


MOST_KEPT = 8  # recordings; each has memory of its own on the GPU


class Recordings:
    """What was asked of a GPU: the second time it is recorded, from then on it is replayed.

    Between two calls of the same name, work may differ in nothing but the arrays that it is
    given. It must not look at them on the way: what it does next cannot depend on a number that
    only the GPU knows. Work that does so nevertheless is never replayed. Whatever else it reads
    must be part of the name, or live as long as this.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, _Recording | None] = {}

    def __call__(self, name: Hashable, work: Steps, *arrays: Array) -> tuple[Array, ...]:
        """What `work` makes of the arrays; the first of them says where they lie."""
        if isinstance(arrays[0], np.ndarray) or not arrays[0].is_cuda:
            return work(*arrays)
        key = name, *(array.shape for array in arrays)
        if key not in self._known:  # once only, perhaps; and libraries set themselves up
            while len(self._known) >= MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[key] = None
            return work(*arrays)
        found = self._known[key]
        if found is None:
            found = self._known[key] = _Recording(work, arrays)
        return found.replayed(arrays) or work(*arrays)


class _Recording:
    """One piece of work: the arrays that it reads, and those that it writes."""

    def __init__(self, work: Steps, arrays: Sequence[Array]) -> None:
        import torch

        self._read = [array.clone() for array in arrays]
        self._written: tuple[Array, ...] = ()
        self._graph: Any = torch.cuda.CUDAGraph()
        aside = torch.cuda.Stream(arrays[0].device)
        aside.wait_stream(torch.cuda.current_stream(arrays[0].device))
        with torch.cuda.stream(aside), _no_garbage_collected(), suppress(RuntimeError):
            self._graph.capture_begin(capture_error_mode="thread_local")
            try:
                written = work(*self._read)
            finally:
                self._graph.capture_end()
            self._written = written
        torch.cuda.current_stream(arrays[0].device).wait_stream(aside)

    def replayed(self, arrays: Sequence[Array]) -> tuple[Array, ...]:
        """What the work writes, having read these arrays; nothing if it was not to be recorded."""
        if not self._written:
            return ()
        for mine, given in zip(self._read, arrays, strict=True):
            mine.copy_(given)
        self._graph.replay()
        return tuple(array.clone() for array in self._written)


@contextmanager
def _no_garbage_collected() -> Iterator[None]:
    """An older recording that is thrown away meanwhile would spoil the new one."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
