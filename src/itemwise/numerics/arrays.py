"""The array backend: one engine for NumPy and torch, on the CPU and on CUDA."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError, MissingExtraError

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Array: TypeAlias = Any  # a NumPy array or a torch tensor; the Array API has no static type yet


def array_namespace(array: Array) -> Any:
    """The Array API namespace of `array`: NumPy itself, or torch in its standard dress."""
    if isinstance(array, np.ndarray):
        return np
    return _torch_namespace()


def as_array(values: Array, device: str | None) -> Array:
    """Put NumPy `values` where `device` says: None is NumPy, any other a torch device."""
    if device is None:
        return values
    xp = _torch_namespace()
    writable = values if values.flags.writeable else values.copy()  # torch cannot promise not to
    return xp.asarray(writable, device=checked_device(device))


def as_numpy(array: Array) -> NDArray[Any]:
    """A NumPy view or copy of `array`."""
    return array if isinstance(array, np.ndarray) else np.asarray(array.cpu())


def like(values: Any, other: Array) -> Array:
    """`values` as float64 in the namespace and on the device of `other`."""
    if isinstance(other, np.ndarray):
        return np.asarray(values, dtype=np.float64)
    xp = array_namespace(other)
    return xp.asarray(values, dtype=xp.float64, device=other.device)


def histogram(index: Array, weights: Array, size: int) -> Array:
    """Sum `weights` that share an `index`; the Array API has no bincount."""
    if isinstance(index, np.ndarray):
        return np.bincount(index, weights, minlength=size)
    return weights.new_zeros(size).index_add_(0, index, weights)  # bincount would wait for the GPU


def free_bytes(array: Array) -> int:
    """Memory that is free on the GPU on which `array` lies; 0 where it lies on none."""
    if isinstance(array, np.ndarray) or not array.is_cuda:
        return 0
    import torch

    return int(torch.cuda.mem_get_info(array.device)[0])


def checked_device(device: str) -> str:
    """Return `device` when torch can use it; explain what to do when it cannot."""
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
