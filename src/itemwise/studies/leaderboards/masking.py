"""How far off completed accuracy really is: those who were asked more are masked like the rest.

One ability seldom explains all tasks: who is good at sums may be bad at law. The model does not
know by how much; respondents who answered all, seen only where another one was asked, do.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from itemwise.calibration import Calibration
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses
from itemwise.studies.leaderboards.scores import Expectation, expected_at

NEARLY_ALL = 0.9  # of the items, answered by those who are masked
LEAST_MASKED = 5  # respondents, fewer of whom tell no error
MOST_MASKED = 40  # respondents; more tell little more
MOST_PATTERNS = 100  # ways of being asked that are tried; others are as unsure as the worst of them

Estimate = Callable[[Floats, Expectation], Floats]  # mean of each from responses with gaps


def masked_error(
    scale: Calibration, table: Responses, truth: Floats, estimate: Estimate
) -> tuple[Floats, int]:
    """Root mean square error of completed means, (n_respondents,), and how many tell it.

    `truth` are the means of all respondents. NaN for who was asked all items, and for everybody
    where fewer than five respondents were asked nearly all.
    """
    found = np.full(table.n_respondents, np.nan)
    seen = table.observed
    share = seen.mean(axis=1)
    known = np.flatnonzero(share >= NEARLY_ALL)
    open_ = np.flatnonzero(share < NEARLY_ALL)
    if known.size < LEAST_MASKED or not open_.size:
        return found, 0
    known = _spread(known, truth[known])
    patterns, which = np.unique(seen[open_], axis=0, return_inverse=True)
    tried = patterns[np.argsort(patterns.sum(axis=1), kind="stable")[:MOST_PATTERNS]]
    errors = {mask.tobytes(): _error(scale, table, known, truth, mask, estimate) for mask in tried}
    worst = max(errors.values())
    each = np.array([errors.get(mask.tobytes(), worst) for mask in patterns])
    found[open_] = each[which.ravel()]
    return found, known.size


def _spread(rows: NDArray[np.intp], truth: Floats) -> NDArray[np.intp]:
    """At most forty respondents, from the worst to the best."""
    order = rows[np.argsort(truth, kind="stable")]
    places = np.linspace(0, rows.size - 1, min(rows.size, MOST_MASKED)).round().astype(int)
    return np.asarray(np.sort(order[places]))


def _error(
    scale: Calibration,
    table: Responses,
    rows: NDArray[np.intp],
    truth: Floats,
    mask: NDArray[np.bool_],
    estimate: Estimate,
) -> float:
    """Of respondents who are seen on the items of a mask alone."""
    items = np.flatnonzero(mask)
    asked = table.select(respondents=rows, items=items)
    scored = scale.of_items([table.items[k] for k in items]).score(asked)
    expectation = expected_at(scale, scored["ability"].to_numpy(), scored["se"].to_numpy())
    values = np.where(mask, table.values[rows], np.nan)
    off = estimate(values, expectation) - truth[rows]
    return float(np.sqrt(np.nanmean(off**2)))
