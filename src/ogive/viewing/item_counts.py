"""What a table of responses shows before it is calibrated: means, and item-rest correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.numerics.arrays import Floats, row_blocks
from ogive.report.counted_items import CELLS, counted_items, error_of_share
from ogive.report.explorer import Scale, short_facts
from ogive.report.sections import rounded
from ogive.responses.stored_cells import as_floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.responses import Responses

SMALLEST = 1e-12  # standard error; anything below is rounding


def counted_scale(name: str, responses: Responses) -> tuple[Scale, np.ndarray]:
    """Return the items of a table that has no scale yet, and its respondents' order.

    On the map, the mean response takes the place of difficulty, and the item-rest correlation that
    of discrimination; there are no curves. Who was asked easy items alone does not come first:
    where not all were asked everything, the order is that of the mean distance from item means.
    """
    items = counted_items(responses)
    means = respondent_means(responses)
    comparable = bool((means["asked"] == responses.n_items).all())
    standing = means["mean"] if comparable else _beyond_items(responses, items)
    order = np.argsort(-standing.fillna(-np.inf).to_numpy(), kind="stable")
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
            "comparable": comparable,
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
    se = _error_of_mean(sums, binary=responses.kind == "binary")
    return pd.DataFrame({"mean": mean, "mean_se": se, "asked": sums[0].astype(int)})


def _error_of_mean(sums: Floats, *, binary: bool) -> Floats:
    """Return standard errors over items, as on a leaderboard.

    Shares that are all the same show no spread, so that theirs is that of a posterior.
    """
    found = error_of_share(*sums, binary=False)
    if not binary:
        return found
    return np.where(found > SMALLEST, found, error_of_share(*sums, binary=True))


def _beyond_items(responses: Responses, items: pd.DataFrame) -> pd.Series[float]:
    """Return how far each respondent lies above the means of the items that it was asked."""
    import pandas as pd

    middle = items["mean_response"].to_numpy()
    found = np.empty(responses.n_respondents)
    for rows in row_blocks(len(found), max(16, CELLS // max(1, responses.n_items))):
        x = as_floats(responses.cells[rows])
        asked = np.isfinite(x)
        beyond = np.where(asked, x - middle, 0.0).sum(axis=1)
        found[rows] = np.where(asked.any(axis=1), beyond / np.maximum(asked.sum(axis=1), 1), np.nan)
    return pd.Series(found)


def columns_in_order(means: pd.DataFrame, order: np.ndarray) -> dict[str, list[Any]]:
    """Return the columns as lists for a page, in the order of its respondents."""
    return {str(name): rounded(means[name].to_numpy()[order], digits=6) for name in means}
