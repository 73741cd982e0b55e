"""Products of zeros and ones with float64 vectors, on a GPU from two bytes a cell.

A GPU multiplies half-precision matrices many times faster than double ones, but each factor has
11 bits only and sums have 24. Whole numbers below 256 fit into the former, and sums of 65,536 of
them into the latter, without any rounding. So a vector is written in digits of base 256, one column
each, the matrix is multiplied with all of them at once, and what the digits are worth is put
together in float64: the product is as exact as one in float64, from a quarter of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ogive.numerics.arrays import Array

DIGITS = 8  # of a whole number of 64 bits; the first has its sign
LARGEST = 2.0**61  # to which vectors are stretched
MOST_SUMMED = 1 << 16  # digits below 256 whose sum is exact in float32


@dataclass(frozen=True, eq=False)
class ZerosAndOnes:
    """Rows of zeros and ones, ready for products: in float64, or in float16 on a GPU."""

    table: Array  # (n_rows, n_columns); in float16, both are filled up with zeros
    n_rows: int
    n_columns: int

    @property
    def exact_by_digits(self) -> bool:
        """Whether vectors have to be written in digits."""
        return "float16" in str(self.table.dtype)

    def times(self, vector: Array) -> Array:
        """Σ over the columns, one number for each row."""
        if not self.exact_by_digits:
            return self.table @ vector
        digits, worth = in_digits(_filled_up(vector, self.table.shape[1]))
        return (_product(self.table, digits).double() @ worth)[: self.n_rows]

    def summed(self, vector: Array) -> Array:
        """Σ over the rows, one number for each column."""
        if not self.exact_by_digits:
            return vector @ self.table
        length, wide = self.table.shape
        rows = min(length, MOST_SUMMED)
        digits, worth = in_digits(_filled_up(vector, length).reshape(-1, rows))
        parts = _product(digits.transpose(1, 2), self.table.reshape(-1, rows, wide))
        return (worth @ parts.double().sum(0))[: self.n_columns]


def halved(cells: Array) -> ZerosAndOnes:
    """Zeros and ones of a torch table in float16, filled up to what the hardware takes."""
    n_rows, n_columns = cells.shape
    step = MOST_SUMMED if n_rows > MOST_SUMMED else DIGITS
    shape = _multiple(n_rows, step), _multiple(n_columns, DIGITS)
    if shape == (n_rows, n_columns):
        return ZerosAndOnes(cells.half(), n_rows, n_columns)
    table = cells.new_zeros(shape, dtype=_torch().float16)
    table[:n_rows, :n_columns] = cells
    return ZerosAndOnes(table, n_rows, n_columns)


def in_digits(vector: Array) -> tuple[Array, Array]:
    """Digits (..., DIGITS) of a float64 tensor, whole numbers below 256, and what each is worth."""
    torch = _torch()
    stretch = LARGEST / vector.abs().max().clamp(min=1e-200)
    shifts = torch.arange(8 * DIGITS - 8, -1, -8, device=vector.device)
    digits = (vector * stretch).round().long()[..., None] >> shifts
    digits[..., 1:] &= 255
    return digits.half(), torch.exp2(shifts.double()) / stretch


def _filled_up(vector: Array, length: int) -> Array:
    """A vector with zeros at its end."""
    if vector.shape[0] == length:
        return vector
    return _torch().nn.functional.pad(vector, (0, length - vector.shape[0]))


def _multiple(number: int, step: int) -> int:
    """The least multiple of `step` that is not below `number`."""
    return -(-number // step) * step


def _product(left: Array, right: Array) -> Array:
    """The product of float16 matrices of whole numbers, in float32."""
    if not left.is_cuda:
        return left.float() @ right.float()
    torch = _torch()
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False  # partial sums need their 24 bits
    product = torch.mm if left.dim() == 2 else torch.bmm
    try:
        return product(left, right, out_dtype=torch.float32)
    finally:
        settings.allow_fp16_reduced_precision_reduction = before


def _torch() -> Any:
    import torch

    return torch
