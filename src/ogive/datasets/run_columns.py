"""Which columns of a table of runs are measures, status or features of problems."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.errors import InputError
from ogive.files import PathLike
from ogive.words import listed, meant, shown

if TYPE_CHECKING:
    import pandas as pd

STATUS = ("status", "runstatus", "run_status")
BESIDE = ("repetition", "repeat", "seed", "fold", "run", "run_id", "id", "index", "unnamed: 0")
OK = ("ok", "success", "solved", "finished", "complete", "completed", "true", "1")
FEATURE_PREFIXES = ("feature_", "feature:", "feat_")
APART = 100.0  # times that a scale must differ from that of most columns to be another one
FEWEST = 4  # columns to say what most have


def measure_of(
    path: PathLike,
    frame: pd.DataFrame,
    names: Sequence[str],
    known: Sequence[str],
    metric: str | None,
) -> str | None:
    """The column of a long table that is measured; asks where there are several."""
    beside = {*names, *(c for c in frame.columns if _plain(c) in (*STATUS, *BESIDE))}
    further = [str(name) for name in frame.columns if name not in beside]
    if metric is not None:
        if metric in further:
            return metric
        raise InputError(
            f"'{path}' has no measure {shown(metric)}; it has "
            f"{listed([shown(name) for name in further], 'column', 6)}."
        )
    numbers = [name for name in further if frame[name].dtype.kind in "fiu"]
    if len(numbers) > 1:
        raise InputError(
            f"'{path}' holds {listed([shown(name) for name in numbers], 'measure', 6)}. Name one: "
            f"metric={shown(numbers[0])}."
        )
    by_name = next((name for word in known for name in further if _plain(name) == word), None)
    return by_name or (further[0] if len(further) == 1 else None) or next(iter(numbers), None)


def failed_runs(
    frame: pd.DataFrame, problem: str, algorithm: str, names_in: Callable[[Any], list[str]]
) -> dict[str, Any]:
    """Which runs of a long table did not end well, if it has a status."""
    status = next((c for c in frame.columns if _plain(c) in STATUS), None)
    if status is None:
        return {}
    told = frame[status].astype(str).str.strip().str.lower()
    failed = (~told.isin(OK)).to_numpy()
    problems, algorithms = names_in(frame[problem]), names_in(frame[algorithm])
    pairs = [(problems[k], algorithms[k]) for k in np.flatnonzero(failed)]
    return {"failed": pairs}


def algorithms_only(
    path: PathLike, table: pd.DataFrame, features: Sequence[str] | None
) -> pd.DataFrame:
    """A wide table without features of problems; asks about columns on another scale."""
    if features is not None:
        lacking = [name for name in features if name not in table.columns]
        if lacking:
            hint = meant(str(lacking[0]), table.columns)
            raise InputError(
                f"'{path}' has no {listed(list(map(shown, lacking)), 'column')}.{hint}"
            )
        return table.drop(columns=list(features))
    named = [c for c in table.columns if str(c).strip().lower().startswith(FEATURE_PREFIXES)]
    table = table.drop(columns=named)
    other = _on_another_scale(table)
    if other:
        raise InputError(
            f"'{path}': {listed(list(map(shown, other)), 'column')} on quite another scale than "
            "the rest. If these are features of problems, leave them out: features="
            f"{list(map(str, other))}; if all columns are algorithms, give features=[]."
        )
    return table


def _on_another_scale(table: pd.DataFrame) -> list[Any]:
    """Columns whose large values are far from those of most others."""
    numeric = table.columns[[kind.kind in "fiu" for kind in table.dtypes]]
    if len(numeric) < FEWEST:
        return []
    sizes = np.abs(table[numeric].to_numpy(float))  # one array: pandas would go column by column
    sizes = np.where(sizes < np.inf, sizes, np.nan)
    large = type(table)(sizes).quantile(0.9).to_numpy()
    middle = float(np.nanmedian(large)) if np.isfinite(large).any() else 0.0
    if not middle > 0:
        return []
    far = (large < middle / APART) | (large > middle * APART)
    return [] if 2 * int(far.sum()) >= len(numeric) else list(numeric[far])


def _plain(name: object) -> str:
    return str(name).strip().lower()
