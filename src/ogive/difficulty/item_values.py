"""Values that belong to items (features, labels, difficulty), matched by name, and bins of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import float_array, one_of, whole_number
from ogive.data.feature_columns import Plan, Rows, is_frame, plain_rows, plan_of
from ogive.data.foreign_frames import as_pandas, with_row_names
from ogive.data.names import aligned, is_numbered
from ogive.data.responses import Responses, Table, as_responses
from ogive.difficulty.targets import DifficultyTargets, difficulty_of
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import edges_by_quantile, edges_by_width, places

# Values by name of item, a frame with a column `difficulty`, or one value per item.
Difficulty: TypeAlias = (
    "DifficultyTargets | pd.Series[float] | pd.DataFrame | Mapping[str, float] | Sequence[float] | "
    "Floats"
)
STRATEGIES = {"quantile": edges_by_quantile, "uniform": edges_by_width}


def feature_rows(X: Any) -> tuple[Rows, Plan | None, tuple[str, ...]]:
    """Return features as a plain frame with its plan, or as an array; and the column names."""
    X = as_pandas(X)
    if is_frame(X):
        rows = plain_rows(X)
        rows.frame.index = X.index
        return rows.frame, plan_of(rows), tuple(rows.frame.columns)
    cells: Floats = float_array(X, "X")
    if cells.ndim != 2 or not cells.size:
        raise InputError(
            f"X has shape {cells.shape}, but it should have one row per item and one column per "
            "feature."
        )
    if np.isinf(cells).any():
        raise InputError("X holds infinite values. Replace them, by NaN if unknown.")
    return cells, None, tuple(f"feature {k + 1}" for k in range(cells.shape[1]))


def values_of_items(values: Any, rows: Rows, what: str) -> Floats:
    """Return one number per item, NaN if unknown; matched by name if both have names."""
    numbers = float_array(labels_of_items(difficulty_of(values), rows, what), what)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def labels_of_items(values: Any, rows: Rows, what: str) -> Any:
    """Return one value of any kind per item, in the order of the features."""
    index = getattr(values, "index", None)
    if is_frame(rows) and index is not None and not callable(index):
        frame: Any = rows
        values = aligned(values, frame.index, what)
    labels = np.asarray(values)
    if labels.shape != (len(rows),):
        raise InputError(
            f"{what} has shape {labels.shape}, but there are {counted(len(rows), 'item')} in X. "
            "Give one value per item."
        )
    return labels


def columns_of_items(values: Any, rows: Rows, what: str) -> dict[str, Floats]:
    """Return one or more columns of numbers by name, from a frame, a mapping, or a single column.

    Each method of difficulty targets is a column.
    """
    if isinstance(values, DifficultyTargets):
        values = {name: values.difficulty(name, keep_dropped=True) for name in values.methods}
    values = with_row_names(values)
    for name, column in values.items() if is_frame(values) else ():
        # refuse columns of text, such as the flags in a frame of targets
        if (pd.to_numeric(column, errors="coerce").isna() & column.notna()).any():
            raise InputError(
                f"The column '{name}' of {what} holds no numbers, but each column should be a "
                f"difficulty. Choose columns, such as {what}[['difficulty_1pl']], or give the "
                "result of difficulty_targets itself, not its frame."
            )
    if isinstance(values, Mapping) or is_frame(values):
        columns = {str(name): values_of_items(values[name], rows, what) for name in values}
        if not columns:
            raise InputError(f"{what} has no column. Give at least one.")
        return columns
    name = getattr(values, "name", None)
    return {str(name or "difficulty"): values_of_items(values, rows, what)}


@dataclass(frozen=True, eq=False)
class Bins:
    """Non-empty bins of difficulty, from easy to hard."""

    edges: Floats  # (n_bins + 1,)
    place: NDArray[np.intp]  # (n_items,); the bin of each item, -1 for those left out
    difficulty: Floats  # (n_bins,); median of the items in a bin, since some lie far out
    items: NDArray[np.intp]  # (n_bins,); how many there are
    notes: tuple[str, ...]


def answers_and_difficulty(
    responses: Table, difficulty: Difficulty | None, calibration: Calibration | None, owner: str
) -> tuple[Responses, Floats, Floats]:
    """Return right or wrong responses, as numbers too (NaN if missing), and how hard items are.

    The difficulty is the given one, or that of the calibration.
    """
    table = as_responses(responses, "binary")
    if calibration is not None and not isinstance(calibration, Calibration):
        raise InputError(
            f"calibration should be a Calibration, but it is a {type(calibration).__name__}."
        )
    if difficulty is None and calibration is None:
        raise InputError(
            f"{owner} needs to know how hard the items are. Give difficulty, with one value per "
            "item, or calibration."
        )
    source = calibration.items if difficulty is None and calibration is not None else difficulty
    cells = np.where(table.cells < 0, np.nan, table.cells.astype(np.float64))
    return table, cells, _difficulty_values(source, table.items)


def _difficulty_values(source: Any, items: tuple[str, ...]) -> Floats:
    """Return the difficulty of each item; NaN if none is given."""
    source = difficulty_of(source)
    if hasattr(source, "columns"):
        if "difficulty" not in source.columns:
            raise InputError(
                "difficulty is a frame without the column 'difficulty'. Give a frame with it, or "
                "the column itself."
            )
        source = source["difficulty"]
    if hasattr(source, "index") and hasattr(source, "to_numpy"):
        # a numbered Series has one value per item, unless its numbers are the names of items
        numbered = is_numbered(source.index) and len(source) == len(items)
        if numbered and {str(row) for row in source.index} != set(items):
            source = source.to_numpy()
    if not (hasattr(source, "items") and callable(source.items)):
        values: Floats = float_array(source, "difficulty")
        if values.shape != (len(items),):
            raise InputError(
                f"difficulty has shape {values.shape}, but there are "
                f"{counted(len(items), 'item')}. Give one value per item."
            )
        return values
    given = dict(source.items())
    numbers = float_array(list(given.values()), "difficulty")
    known = {str(name): number for name, number in zip(given, numbers, strict=True)}
    if len(known) < len(source):
        raise InputError("difficulty gives an item more than one value. Give one value per item.")
    return np.array([known.get(name, np.nan) for name in items])


def bin_items(
    value: Floats, items: tuple[str, ...], bins: int | Sequence[float], strategy: str = "quantile"
) -> Bins:
    """Sort items into bins of difficulty; `bins` is a number, or the edges."""
    known = np.isfinite(value)
    edges = _bin_edges(value[known], bins, strategy)
    place = places(np.where(known, value, np.nan), edges)
    notes = []
    if not known.all():
        unknown = [items[k] for k in np.flatnonzero(~known)]
        notes.append(f"Left out (no finite difficulty): {listed(unknown, 'item')}.")
    if outside := int((known & (place < 0)).sum()):
        notes.append(f"Left out (beyond the edges): {counted(outside, 'item')}.")
    used = np.unique(place[place >= 0])  # drop empty bins
    place = np.where(place >= 0, np.searchsorted(used, place), -1)
    return Bins(
        edges=np.append(edges[used], edges[min(used[-1] + 1, edges.size - 1)]),
        place=place,
        difficulty=np.array([np.median(value[place == k]) for k in range(used.size)]),
        items=np.bincount(place[place >= 0], minlength=used.size),
        notes=tuple(notes),
    )


def _bin_edges(values: Floats, bins: int | Sequence[float], strategy: str) -> Floats:
    """Return edges of the bins for these finite values, checked."""
    if not values.size:
        raise InputError(
            "No item of the responses has a finite difficulty. Use the same item names in "
            "both; those of the responses are in responses.items."
        )
    one_of(strategy, "strategy", STRATEGIES)
    if isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        return STRATEGIES[strategy](values, whole_number(bins, "bins", 1))
    try:
        edges = np.asarray(bins, dtype=np.float64)
    except (TypeError, ValueError):
        edges = np.empty(0)
    if edges.ndim != 1 or edges.size < 2 or not (np.diff(edges) > 0).all():
        raise InputError(
            "`bins` must be a whole number of at least 1, or at least two ascending edges, got "
            f"{bins!r:.40}."
        )
    if not (places(values, edges) >= 0).any():
        raise InputError(
            f"No item has a difficulty between the edges {edges[0]:g} and {edges[-1]:g}: "
            f"difficulties run from {values.min():.3g} to {values.max():.3g}. Give other edges."
        )
    return edges


def curve_frame(names: Sequence[str], difficulty: Floats, **cells: NDArray[Any]) -> pd.DataFrame:
    """Return one row per name and bin; `cells` are columns, (n_names, n_bins) each."""
    columns: dict[str, Any] = {
        "respondent": np.repeat(np.array(names, dtype=object), difficulty.size),
        "bin": np.tile(np.arange(1, difficulty.size + 1), len(names)),
        "difficulty": np.tile(difficulty, len(names)),
    }
    return pd.DataFrame(columns | {name: values.reshape(-1) for name, values in cells.items()})


def shares(right: Floats, n: Floats) -> Floats:
    """Return the share of right responses; NaN if nothing was asked."""
    return np.asarray(np.divide(right, n, out=np.full(n.shape, np.nan), where=n > 0))
