"""The first cells of a table, as a notebook shows them."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ogive.responses.stored_cells import as_floats
from ogive.results import printable, table_html

PREVIEW_ROWS, PREVIEW_COLUMNS = 8, 10


def preview_html(
    title: str,
    notes: Sequence[str],
    shape: tuple[int, int],
    cells: NDArray[Any],
    rows: Sequence[str],
    columns: Sequence[str],
) -> str:
    """What the table is, what was noted, and the corner with these names."""
    import pandas as pd

    corner = as_floats(cells[: len(rows), : len(columns)])
    whole = corner.shape == shape
    note = "" if whole else f" (the first {corner.shape[0]} × {corner.shape[1]} are shown)"
    said = [f"{title}{note}", *(printable(text) for text in notes)]
    table = table_html(pd.DataFrame(corner, pd.Index(rows), pd.Index(columns)))
    return "".join([*(f"<p>{html.escape(text)}</p>" for text in said), table])
