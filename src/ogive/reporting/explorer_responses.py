"""Responses for the explorer: packed item by item, and summed up by item and by respondent."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.data.study_tables import without_marks
from ogive.irt.predicted_accuracy import LEAST
from ogive.irt.response_codes import as_floats
from ogive.reporting.sections import DIGITS, rounded
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.intervals import normal_reach

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration


CELLS = 1 << 22  # in one block
SMALLEST = 1e-12  # standard error; anything below is rounding


def answers_of(calibration: Calibration, responses: Responses, most_bytes: int) -> dict[str, Any]:
    """Return the respondents, the strongest first, and their responses item by item."""
    given, (responses, _) = responses, without_marks(responses)
    abilities, order = by_ability(calibration, responses)
    cells = calibration.placed(responses)
    asked = np.isfinite(cells) if cells.dtype.kind == "f" else cells >= 0
    single = responses.kind == "binary" and cells.dtype.kind == "i"  # not the share of many tries
    levels = None if single else np.unique(cells[asked])
    # The smallest type that names every distinct response and "never asked", or floats.
    n_codes = 2 if levels is None else len(levels) + 1
    small = next((kind for kind in ("<u1", "<u2") if n_codes - 1 <= np.iinfo(kind).max), "<f4")
    code: np.dtype[Any] = np.dtype(small)
    most = max(2, most_bytes // max(1, cells.shape[1] * code.itemsize))
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).round().astype(int)]
    content: dict[str, Any] = {
        **respondents_in_order(abilities, order),
        "placed": calibration.responses is not given or len(abilities) >= LEAST,
    }
    by_item, asked = cells[order].T, asked[order].T  # one item is read at a time
    if levels is None:
        right, never = np.packbits(by_item == 1, axis=1), None
        if not asked.all():
            never = packed(np.packbits(~asked, axis=1))
        return content | {"kind": "bits", "right": packed(right), "never": never}
    # Grades and scores as they were given: the index of each among the distinct ones, or if these
    # are too many, floats. The highest code, or NaN, is "never asked".
    if code.kind == "f":
        values = packed(np.where(asked, by_item, np.nan).astype(code))
        return content | {"kind": "floats", "values": values}
    codes = np.where(asked, np.searchsorted(levels, by_item), np.iinfo(code).max)
    content |= {"kind": "levels", "values": packed(codes.astype(code)), "bytes": code.itemsize}
    return content | {"levels": levels.tolist()}


def by_ability(calibration: Calibration, responses: Responses) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the abilities of the respondents, and their order, the strongest first."""
    abilities = calibration.score(responses)
    return abilities, np.argsort(-abilities["ability"].to_numpy(), kind="stable")


def respondents_in_order(abilities: pd.DataFrame, order: np.ndarray) -> dict[str, Any]:
    """Return names and abilities of respondents as a page has them."""
    ranked = abilities.iloc[order]
    return {
        "respondents": [str(name) for name in ranked.index],
        "ability": rounded(ranked["ability"], DIGITS),  # rounded once more when it is shown
        "se": rounded(ranked["se"], DIGITS),
        "left_out": len(abilities) - len(order),
    }


def packed(array: np.ndarray) -> str:
    """Return the bytes of an array as text."""
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")


def counted_items(responses: Responses) -> pd.DataFrame:
    """Return one row per item: the mean response, and the correlation with all other items.

    The rest of a respondent is the mean response to the other items that it was asked.
    """
    n_rows, n_items = responses.shape
    # Sums over respondents of 1, x, x², rest, rest² and x·rest, with rest = whole - x·share.
    sums = np.zeros((6, n_items))
    for rows in row_blocks(n_rows, max(16, CELLS // max(1, n_items))):
        x = as_floats(responses.cells[rows])
        observed = np.isfinite(x)
        x = np.where(observed, x, 0.0)
        asked, squared = observed.astype(float), x * x
        share = 1 / np.maximum(observed.sum(axis=1) - 1, 1)
        whole = x.sum(axis=1) * share
        sums[0] += asked.sum(axis=0)
        sums[1] += x.sum(axis=0)
        sums[2] += squared.sum(axis=0)
        sums[3] += whole @ asked - share @ x
        sums[4] += whole**2 @ asked - 2 * (whole * share) @ x + share**2 @ squared
        sums[5] += whole @ x - share @ squared
    n, first, second, rest, rest2, both = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = second / n - (first / n) ** 2
        rest_variance = rest2 / n - (rest / n) ** 2
        known = (variance > 1e-12) & (rest_variance > 1e-12)
        sds = np.sqrt(np.where(known, variance * rest_variance, np.nan))
        correlation = np.clip((both / n - first * rest / n**2) / sds, -1, 1)
        low, high = _fisher_interval(correlation, n)
        columns = {
            "mean_response": first / n,
            "mean_response_se": error_of_share(n, first, second, binary=responses.kind == "binary"),
            "item_rest": correlation,
            "item_rest_low": low,
            "item_rest_high": high,
            "responses": n.astype(int),
        }
    return pd.DataFrame(columns, index=pd.Index(responses.items, name="item"))


def _fisher_interval(correlation: Floats, n: Floats) -> tuple[Floats, Floats]:
    """Return ends of 95 % intervals of correlations over n respondents, by Fisher's transformation.

    Three respondents or fewer say nothing. That n of them lie on a line is no certainty.
    """
    middle = np.arctanh(np.clip(correlation, 1 / n - 1, 1 - 1 / n))
    reach = np.where(n > 3, normal_reach(0.95) / np.sqrt(np.maximum(n - 3, 1)), np.inf)
    low, high = np.tanh(middle - reach), np.tanh(middle + reach)
    return np.minimum(low, correlation), np.maximum(high, correlation)


def error_of_share(n: Floats, first: Floats, second: Floats, *, binary: bool) -> Floats:
    """Return standard errors of means from n, Σx and Σx²; NaN if nothing is known.

    That of a share is the standard deviation of its posterior under a uniform prior: one right
    response does not make a share of 1 certain.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        if binary:
            share = (first + 1) / (n + 2)
            return np.where(n > 0, np.sqrt(share * (1 - share) / (n + 3)), np.nan)
        variance = np.maximum(second / n - (first / n) ** 2, 0)
        return np.where(n > 1, np.sqrt(variance / (n - 1)), np.nan)


def respondent_means(responses: Responses) -> pd.DataFrame:
    """Return the mean response of every respondent, its standard error, and how many there are.

    Errors are over items, as on a leaderboard. Shares that are all the same show no spread, so that
    theirs is that of a posterior.
    """
    n_rows, n_items = responses.shape
    sums = np.zeros((3, n_rows))
    for rows in row_blocks(n_rows, max(16, CELLS // max(1, n_items))):
        x = as_floats(responses.cells[rows])
        sums[0, rows] = np.isfinite(x).sum(axis=1)
        sums[1, rows] = np.nansum(x, axis=1)
        sums[2, rows] = np.nansum(x * x, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[1] / sums[0]
    se = error_of_share(*sums, binary=False)
    if responses.kind == "binary":
        se = np.where(se > SMALLEST, se, error_of_share(*sums, binary=True))
    return pd.DataFrame({"mean": mean, "mean_se": se, "asked": sums[0].astype(int)})


def beyond_items(responses: Responses, items: pd.DataFrame) -> pd.Series[float]:
    """Return how far each respondent lies above the means of the items that it was asked."""
    means = items["mean_response"].to_numpy()
    distance = np.empty(responses.n_respondents)
    for rows in row_blocks(len(distance), max(16, CELLS // max(1, responses.n_items))):
        x = as_floats(responses.cells[rows])
        asked = np.isfinite(x)
        beyond = np.where(asked, x - means, 0.0).sum(axis=1)
        mean = beyond / np.maximum(asked.sum(axis=1), 1)
        distance[rows] = np.where(asked.any(axis=1), mean, np.nan)
    return pd.Series(distance)
