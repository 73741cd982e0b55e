"""Responses for the explorer: packed, or item by item.

Responses as a page holds them: the strongest respondent first, item by item, packed.

Items of a table as counts say: mean responses, and correlations with the rest.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.data.study_tables import without_marks
from ogive.irt.predicted_accuracy import LEAST
from ogive.irt.response_codes import as_floats
from ogive.reporting.sections import DIGITS, rounded
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.intervals import normal_reach

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


def answers_of(calibration: Calibration, responses: Responses, most_bytes: int) -> dict[str, Any]:
    """Return the respondents, the strongest first, and their responses item by item."""
    given, (responses, _) = responses, without_marks(responses)
    abilities = calibration.score(responses)
    order = np.argsort(-abilities["ability"].to_numpy(), kind="stable")
    cells = calibration.placed(responses)
    single = responses.kind == "binary" and cells.dtype.kind == "i"  # not the share of many tries
    levels = None if single else np.unique(cells[_asked(cells)])
    most = max(2, most_bytes // max(1, cells.shape[1] * _code_of(levels).itemsize))
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    ranked = abilities.iloc[order]
    content: dict[str, Any] = {
        "respondents": [str(name) for name in ranked.index],
        "ability": rounded(ranked["ability"], DIGITS),  # rounded once more where it is shown
        "se": rounded(ranked["se"], DIGITS),
        "left_out": len(abilities) - len(order),
        "placed": calibration.responses is not given or len(abilities) >= LEAST,
    }
    by_item = cells[order].T  # one item is read at a time
    return content | (_bits(by_item) if levels is None else _values(by_item, levels))


def _asked(cells: np.ndarray) -> np.ndarray:
    return np.isfinite(cells) if cells.dtype.kind == "f" else cells >= 0


def _bits(cells: np.ndarray) -> dict[str, Any]:
    never = cells < 0
    return {
        "kind": "bits",
        "right": packed(np.packbits(cells == 1, axis=1)),
        "never": packed(np.packbits(never, axis=1)) if never.any() else None,
    }


def _code_of(levels: np.ndarray | None) -> np.dtype[Any]:
    """Return the smallest type that names every distinct response and "never asked", or floats."""
    n_codes = 2 if levels is None else len(levels) + 1
    small = next((kind for kind in ("<u1", "<u2") if n_codes - 1 <= np.iinfo(kind).max), "<f4")
    return np.dtype(small)


def _values(cells: np.ndarray, levels: np.ndarray) -> dict[str, Any]:
    """Return grades and scores as they were given: the place of each among the distinct ones.

    Where these are too many to number, responses are floats of single precision. The highest code,
    or NaN, is "never asked".
    """
    code, asked = _code_of(levels), _asked(cells)
    if code.kind == "f":
        return {"kind": "floats", "values": packed(np.where(asked, cells, np.nan).astype(code))}
    places = np.where(asked, np.searchsorted(levels, cells), np.iinfo(code).max)
    found = {"kind": "levels", "values": packed(places.astype(code)), "bytes": code.itemsize}
    return found | {"levels": levels.tolist()}


def packed(array: np.ndarray) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


CELLS = 1 << 22  # in one block


def counted_items(responses: Responses) -> pd.DataFrame:
    """Return one row per item: the mean response, and the correlation with all other items.

    The rest of a respondent is the mean response to the other items that it was asked.
    """
    n_rows, n_items = responses.shape
    sums = np.zeros((6, n_items))
    for rows in row_blocks(n_rows, max(16, CELLS // max(1, n_items))):
        x = as_floats(responses.cells[rows])
        there = np.isfinite(x)
        x = np.where(there, x, 0.0)
        seen, squared = there.astype(float), x * x
        share = 1 / np.maximum(there.sum(axis=1) - 1, 1)
        whole = x.sum(axis=1) * share
        # Sums over respondents of 1, x, x², rest, rest² and x·rest, with rest = whole - x·share.
        sums[0] += seen.sum(axis=0)
        sums[1] += x.sum(axis=0)
        sums[2] += squared.sum(axis=0)
        sums[3] += whole @ seen - share @ x
        sums[4] += whole**2 @ seen - 2 * (whole * share) @ x + share**2 @ squared
        sums[5] += whole @ x - share @ squared
    return _frame(sums, responses)


def _frame(sums: Floats, responses: Responses) -> pd.DataFrame:
    """Return means with standard errors, and correlations with intervals, from sums."""
    import pandas as pd

    n, first, second, rest, rest2, both = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = second / n - (first / n) ** 2
        around = rest2 / n - (rest / n) ** 2
        apart = np.sqrt(np.where((spread > 1e-12) & (around > 1e-12), spread * around, np.nan))
        correlation = np.clip((both / n - first * rest / n**2) / apart, -1, 1)
        low, high = _ends(correlation, n)
        columns = {
            "mean_response": first / n,
            "mean_response_se": error_of_share(n, first, second, binary=responses.kind == "binary"),
            "item_rest": correlation,
            "item_rest_low": low,
            "item_rest_high": high,
            "responses": n.astype(int),
        }
    return pd.DataFrame(columns, index=pd.Index(responses.items, name="item"))


def _ends(correlation: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return ends of 95 % intervals of correlations over n respondents, by Fisher's transformation.

    Three respondents or fewer say nothing. That n of them lie on a line is no certainty.
    """
    middle = np.arctanh(np.clip(correlation, 1 / n - 1, 1 - 1 / n))
    reach = np.where(n > 3, normal_reach(0.95) / np.sqrt(np.maximum(n - 3, 1)), np.inf)
    low, high = np.tanh(middle - reach), np.tanh(middle + reach)
    return np.minimum(low, correlation), np.maximum(high, correlation)


def error_of_share(n: Floats, first: Floats, second: Floats, *, binary: bool) -> Floats:
    """Return standard errors of means from n, Σx and Σx²; NaN where nothing is known.

    That of a share is the standard deviation of its posterior under a uniform prior: one right
    response does not make a share of 1 certain.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if binary:
            share = (first + 1) / (n + 2)
            found = np.sqrt(share * (1 - share) / (n + 3))
            return np.where(n > 0, found, np.nan)
        spread = np.maximum(second / n - (first / n) ** 2, 0)
        return np.where(n > 1, np.sqrt(spread / (n - 1)), np.nan)
