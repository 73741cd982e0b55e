"""What a table of responses shows before it is calibrated: means, and item-rest correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.numerics.arrays import Floats, row_blocks
from itemwise.report.explorer import Scale, short_facts
from itemwise.report.sections import rounded
from itemwise.responses.stored_cells import as_floats

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.responses import Responses

CELLS = 1 << 22  # in one block


def counted_scale(name: str, responses: Responses) -> tuple[Scale, np.ndarray]:
    """Return the items of a table that has no scale yet, and its respondents' order.

    On the map, the mean response takes the place of difficulty, and the item-rest correlation that
    of discrimination; there are no curves.
    """
    items = _items(responses)
    means = respondent_means(responses)
    order = np.argsort(-means["mean"].fillna(-np.inf).to_numpy(), kind="stable")
    high = float(np.max(responses.tally.highest, initial=1.0))
    low = float(np.min(responses.tally.lowest, initial=0.0))
    groups = short_facts(responses, items)
    binary = responses.kind == "binary"
    content: dict[str, Any] = {
        "name": name,
        "model": "",
        "axes": {
            "difficulty": "share wrong" if binary else "mean below the highest response",
            "discrimination": "correlation with the rest",
        },
        "curve": {"kind": "none", "from": low, "to": high, "low": low, "high": high},
        "groups": [str(c) for c in groups],
        "facts": [],
        "answers": {
            "kind": kind_of_answers(responses),
            "measure": "mean response",
            "respondents": [responses.respondents[k] for k in order],
            "ability": rounded(means["mean"].to_numpy()[order]),
            "se": rounded(means["mean_se"].to_numpy()[order]),
            "left_out": 0,
            **columns_in_order(means, order),
        },
    }
    return Scale(name, items.join(groups), content), order


def kind_of_answers(responses: Responses) -> str:
    """Return "bits" if every response is right or wrong, else "scores"."""
    plain = responses.kind == "binary" and responses.tries is None
    return "bits" if plain else "scores"


def respondent_means(responses: Responses) -> pd.DataFrame:
    """Return the mean response of every respondent, its standard error, and how many there are."""
    import pandas as pd

    n_rows, n_items = responses.shape
    sums = np.zeros((3, n_rows))
    for rows in row_blocks(n_rows, max(16, CELLS // max(1, n_items))):
        x = as_floats(responses.cells[rows])
        sums[0, rows] = np.isfinite(x).sum(axis=1)
        sums[1, rows] = np.nansum(x, axis=1)
        sums[2, rows] = np.nansum(x * x, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sums[1] / sums[0]
    se = _error_of_mean(*sums, binary=responses.kind == "binary")
    return pd.DataFrame({"mean": mean, "mean_se": se, "asked": sums[0].astype(int)})


def _error_of_mean(n: Floats, first: Floats, second: Floats, *, binary: bool) -> Floats:
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


def columns_in_order(means: pd.DataFrame, order: np.ndarray) -> dict[str, list[Any]]:
    """Return the columns as lists for a page, in the order of its respondents."""
    return {str(name): rounded(means[name].to_numpy()[order], digits=6) for name in means}


def _items(responses: Responses) -> pd.DataFrame:
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
    """Return means and correlations with their standard errors, from sums over respondents."""
    import pandas as pd

    n, first, second, rest, rest2, both = sums
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = second / n - (first / n) ** 2
        around = rest2 / n - (rest / n) ** 2
        apart = np.sqrt(np.where((spread > 1e-12) & (around > 1e-12), spread * around, np.nan))
        correlation = np.clip((both / n - first * rest / n**2) / apart, -1, 1)
        columns = {
            "mean_response": first / n,
            "mean_response_se": _error_of_mean(n, first, second, binary=responses.kind == "binary"),
            "item_rest": correlation,
            "item_rest_se": (1 - correlation**2) / np.sqrt(n),
            "responses": n.astype(int),
        }
    return pd.DataFrame(columns, index=pd.Index(responses.items, name="item"))
