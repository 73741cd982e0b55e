"""Frames as columns that a page holds: compact, rounded, and safe inside a script."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

DIGITS, FEW_DIGITS = 6, 4  # significant; fewer where rows are many
MANY_ROWS = 5000
LONGEST_TEXT = 4000
# What would end a script, begin a comment or break a line inside one.
_UNSAFE = str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"})


def as_json(value: Any) -> str:
    """Return JSON that is safe inside a script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.translate(_UNSAFE)


def columns_of(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return one entry per column, the index first if it has a name: name, kind and values.

    Kinds are "number", "flag" and "text". Texts that repeat are kept once, in `levels`.
    """
    flat = _flat(frame)
    digits = FEW_DIGITS if len(flat) > MANY_ROWS else DIGITS
    return [_column(str(name), flat.iloc[:, k], digits) for k, name in enumerate(flat.columns)]


def rounded(values: Any, digits: int = FEW_DIGITS) -> list[Any]:
    """Return rounded numbers; None for NaN and a text for infinity, which JSON lacks."""
    return [_number(value, digits) for value in np.asarray(values, dtype=float).tolist()]


def _flat(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with its index as columns, and one level of names."""
    import pandas as pd

    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis([" ".join(map(str, name)) for name in frame.columns], axis=1)
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        return frame
    names = [_free(name, frame) for name in frame.index.names]
    return frame.rename_axis(names).reset_index()


def _free(name: Any, frame: pd.DataFrame) -> str:
    wanted = "name" if name is None else str(name)
    while wanted in frame.columns:
        wanted += "_"
    return wanted


def _column(name: str, values: pd.Series[Any], digits: int) -> dict[str, Any]:
    from pandas.api import types

    if types.is_bool_dtype(values.dtype):
        known = values.astype(object).where(values.notna(), None)
        flags = [None if value is None else bool(value) for value in known]
        return {"name": name, "kind": "flag", "values": flags}
    if types.is_integer_dtype(values.dtype) and not values.isna().any():
        return {"name": name, "kind": "number", "values": [int(value) for value in values]}
    if types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        return {"name": name, "kind": "number", "values": rounded(numbers, digits)}
    texts = [text_of(value) for value in values.tolist()]
    levels = list(dict.fromkeys(texts))
    if len(levels) > max(1, len(texts) // 3):
        return {"name": name, "kind": "text", "values": texts}
    place = {text: k for k, text in enumerate(levels)}
    codes = [place[text] for text in texts]
    return {"name": name, "kind": "text", "levels": levels, "values": codes}


def text_of(value: Any) -> str:
    """Return a value as text, truncated if it is very long."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]}…"


def _number(value: float, digits: int) -> Any:
    if math.isnan(value):
        return None
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
