"""Products of zeros and ones with float64 vectors, on a GPU from two bytes a cell.

A GPU multiplies half-precision matrices many times faster than double ones, but each factor has
11 bits only and sums have 24. Whole numbers up to 128 fit into the former, and sums of 131,072 of
them into the latter, without any rounding. So a vector is written in digits of base 256, one column
each, the matrix is multiplied with all of them at once, and what the digits are worth is put
together in float64: the product is as exact as one in float64, from a quarter of the memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from itemwise.numerics.arrays import Array, row_blocks

BASE = 256.0
DIGITS = 7  # 56 bits: all that float64 has
COLUMNS = 8  # to which digits are filled up: what the hardware multiplies at a time
MOST_SUMMED = 1 << 17  # digits up to 128 whose sum is exact in float32


@dataclass(frozen=True, eq=False)
class ZerosAndOnes:
    """Rows of zeros and ones, ready for products: in float64, or in float16 on a GPU."""

    table: Array  # (n_rows, n_columns); in float16, filled up to a multiple of 8 columns
    n_columns: int

    @property
    def exact_by_digits(self) -> bool:
        """Whether vectors have to be written in digits."""
        return "float16" in str(self.table.dtype)

    def times(self, vector: Array) -> Array:
        """Σ over the columns, one number for each row."""
        if not self.exact_by_digits:
            return self.table @ vector
        digits, worth = in_digits(vector)
        filled = digits.new_zeros((self.table.shape[1], COLUMNS))
        filled[: self.n_columns, :DIGITS] = digits.T
        return _product(self.table, filled)[:, :DIGITS].double() @ worth

    def summed(self, vector: Array) -> Array:
        """Σ over the rows, one number for each column."""
        if not self.exact_by_digits:
            return vector @ self.table
        digits, worth = in_digits(vector)
        total = 0
        for rows in row_blocks(self.table.shape[0], MOST_SUMMED):
            filled = digits.new_zeros((COLUMNS, rows.stop - rows.start))
            filled[:DIGITS] = digits[:, rows]
            part = _product(filled, self.table[rows])
            total = total + worth @ part[:DIGITS, : self.n_columns].double()
        return total


def halved(cells: Array) -> ZerosAndOnes:
    """Zeros and ones of a torch table in float16; None of their digits overflow."""
    n_rows, n_columns = cells.shape
    wide = -(-n_columns // COLUMNS) * COLUMNS
    if wide == n_columns:
        return ZerosAndOnes(cells.half(), n_columns)
    table = cells.new_zeros((n_rows, wide), dtype=_torch().float16)
    table[:, :n_columns] = cells
    return ZerosAndOnes(table, n_columns)


def in_digits(vector: Array) -> tuple[Array, Array]:
    """Digits (DIGITS, n) of a float64 tensor, whole numbers up to 128, and what each is worth."""
    torch = _torch()
    unit = vector.abs().max().clamp(min=1e-300) * (2.02 / BASE)
    rest, digits = vector / unit, []
    for _ in range(DIGITS):
        digit = rest.round()
        digits.append(digit)
        rest = (rest - digit) * BASE
    powers = torch.asarray(BASE ** -np.arange(DIGITS, dtype=float), device=vector.device)
    return torch.stack(digits).half(), unit * powers


def _product(left: Array, right: Array) -> Array:
    """The product of two float16 matrices of whole numbers, in float32."""
    if not left.is_cuda:
        return left.float() @ right.float()
    torch = _torch()
    settings = torch.backends.cuda.matmul
    before = settings.allow_fp16_reduced_precision_reduction
    settings.allow_fp16_reduced_precision_reduction = False  # partial sums need their 24 bits
    try:
        return torch.mm(left, right, out_dtype=torch.float32)
    finally:
        settings.allow_fp16_reduced_precision_reduction = before


def _torch() -> Any:
    import torch

    return torch
