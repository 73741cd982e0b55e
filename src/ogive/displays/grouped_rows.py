"""Rows of a frame by name: lines, the largest groups, and classes with their limits."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import is_number
from ogive.displays.display import tidy
from ogive.displays.style import Style, label
from ogive.errors import InputError
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive.numerics.arrays import Array, Floats

MOST_GROUPS = 5  # that are easy to distinguish by colour
MOST_CLASSES = 6  # with a colour each; all further classes are one group

Limits = dict[Any, tuple[float, float]]  # by class: the limit and its standard error


def lines_by_name(
    frame: pd.DataFrame, name: str, columns: Sequence[str]
) -> tuple[list[Hashable], list[Floats]]:
    """Return names in order of appearance, and the numbers of each (n_rows, n_columns).

    The rows of a line ascend by the first of the columns. Grouping with pandas would take seconds.
    """
    import pandas as pd

    codes, names = pd.factorize(frame[name].astype(object), use_na_sentinel=False)
    numbers = frame[list(columns)].to_numpy()
    order = np.lexsort((numbers[:, 0], codes))
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return list(names), np.split(numbers[order], ends[:-1])


def largest_groups(column: pd.Series, most: int = MOST_GROUPS) -> list[tuple[object, Array]]:
    """Return name and row positions of each group, largest first; beyond `most`, the rest as one.

    The name of the rest says how many groups it holds.
    """
    import pandas as pd

    codes, names = pd.factorize(column.astype(object), use_na_sentinel=False)
    sizes = np.bincount(codes, minlength=len(names))
    order = np.argsort(-sizes, kind="stable")
    found = [(names[k], np.flatnonzero(codes == k)) for k in order[:most]]
    if len(rest := order[most:]):
        found.append((counted(len(rest), "other"), np.flatnonzero(np.isin(codes, rest))))
    return found


def by_class(column: pd.Series, most: int = MOST_CLASSES) -> list[tuple[object, Array]]:
    """Return name and row positions of each class in order; of many the largest, then the rest."""
    found = largest_groups(column, most)
    return [*sorted(found[:most], key=lambda part: _place(part[0])), *found[most:]]


def group_colours(style: Style, most: int) -> tuple[str, ...]:
    """Return a colour for each of `most` groups, then the colour of the rest."""
    return (*style.palette[:most], style.neutral)


def class_name(name: object, width: int) -> str:
    """Return a class as one short line; a bare number would not say that it is a class."""
    return f"class {name:g}" if is_number(name) else label(name, width)


def counted_classes(count: int) -> str:
    """Return a number of classes in words."""
    return f"{count:,} class{'' if count == 1 else 'es'}"


def limits_by_class(owner: str, frame: pd.DataFrame, limits: Any) -> Limits:
    """Return the limit (MLC) of each class, as given or from the column `limit` of the frame.

    They are given as a mapping from class to number, or as a frame with one row per class, which is
    its index, and `mlc` and `mlc_se`. Limits that are not finite are left out.
    """
    import pandas as pd

    if limits is None:
        found = _in_columns(frame)
    elif isinstance(limits, pd.DataFrame):
        rows = tidy(limits, f"{owner}, for its limits,", ("mlc", "mlc_se"))
        pairs = zip(rows["mlc"], rows["mlc_se"], strict=True)
        found = dict(zip(rows.index, pairs, strict=True))
    elif isinstance(limits, Mapping | pd.Series):
        found = {name: (_number(owner, limit), np.nan) for name, limit in limits.items()}
    else:
        raise InputError(
            f"{owner} was given limits of type {type(limits).__name__}. Give a mapping from class "
            "to number, or a frame with one row per class and the columns 'mlc' and 'mlc_se'."
        )
    known = set(frame["class"].astype(object))
    if limits is not None and len(found) and not known & set(found):
        there = ", ".join(repr(label(name)) for name in list(known)[:12])
        raise InputError(f"{owner} was given limits for none of its classes: {there}.")
    return {name: pair for name, pair in found.items() if np.isfinite(pair[0])}


def _in_columns(frame: pd.DataFrame) -> Limits:
    """Return the first limit of each class, with its standard error if known."""
    if "limit" not in frame.columns:
        return {}
    rows = frame[np.isfinite(frame["limit"])]
    rows = rows[~rows["class"].astype(object).duplicated()]
    errors = rows["limit_se"] if "limit_se" in rows.columns else np.full(len(rows), np.nan)
    return dict(zip(rows["class"], zip(rows["limit"], errors, strict=True), strict=True))


def said_limit(limit: float, se: float) -> str:
    """Return a limit in figures, with the interval of 1.96 standard errors if known."""
    low, high = limit - 1.96 * se, limit + 1.96 * se
    ends = f" ({low:.2f} to {high:.2f})" if np.isfinite(se) else ""
    return f"{limit:.2f}{ends}".replace("-", "−")


def _number(owner: str, limit: Hashable) -> float:
    if not is_number(limit):
        raise InputError(f"{owner} was given the limit {limit!r}, but a limit is a number.")
    return float(limit)  # type: ignore[arg-type]


def _place(name: object) -> tuple[int, float, str]:
    """Sort numbers first, then names."""
    return (0, float(name), "") if is_number(name) else (1, 0.0, str(name))  # type: ignore[arg-type]
