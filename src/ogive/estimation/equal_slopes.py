"""The continuous model with one slope and one noise for all items, in closed form.

The log-odds of a score are ability plus easiness plus noise, z = τ θ + m + σ ε: a two-way analysis
of variance with random respondents. Abilities are then means of log-odds, pulled towards their
centre by as much as they are uncertain. With free slopes, the first factor of the errors of
regressors is how far predictions are drawn towards the middle, and not how good they are
(benchmarks/regression.py); with equal slopes, ability follows the errors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration, known_items
from ogive.calibration.uncertainty import KnownCovariances
from ogive.errors import InputError
from ogive.models import Continuous
from ogive.numerics.arrays import Floats
from ogive.responses import Responses
from ogive.words import counted

ROUNDS, CLOSE = 500, 1e-10  # of alternating means where cells are missing
LEAST = 1e-8  # variance between respondents; less is none
EDGE = 1e-6  # scores are read as at least so far from 0 and 1


def calibrate_equal_slopes(responses: Responses) -> Calibration:
    """Calibrate scores between 0 and 1 with the same slope and noise for every item.

    >>> import ogive as og
    >>> drawn = og.simulate("continuous", 60, 20, random_state=0).responses
    >>> found = calibrate_equal_slopes(drawn)
    >>> bool(found.items["scaling"].std() < 1e-12)
    True
    """
    scores = np.clip(responses.values, EDGE, 1 - EDGE)
    z = np.log(scores / (1 - scores))
    seen = ~np.isnan(z)
    _check(seen)
    rows, columns, residual = _effects(z, seen)
    n_rows, n_columns = z.shape
    freedom = max(int(seen.sum()) - n_rows - n_columns + 1, 1)
    noise = max(float((residual[seen] ** 2).sum() / freedom), LEAST)
    asked = 1 / np.mean(1 / seen.sum(axis=1))  # items per respondent, where some are missing
    observed = float(rows.var(ddof=1))
    between = max(observed - noise / asked, LEAST)
    tau, sigma = np.sqrt(between), np.sqrt(noise)
    slope = tau / sigma  # discrimination is the loading in units of the noise
    coords = np.stack(
        [np.full(n_columns, slope), columns, np.full(n_columns, np.log(sigma))], axis=1
    )
    # Items share errors of the loading, of the origin that these respondents set, and of the noise.
    loading = np.sqrt(2.0 / (n_rows - 1)) * observed / (2 * tau)
    louder = np.sqrt(0.5 / freedom)
    steps = np.diag([loading / sigma, np.sqrt(between / n_rows), louder])
    steps[2, 0] = -slope * louder
    own = np.zeros((n_columns, 3, 3))
    own[:, 1, 1] = noise / seen.sum(axis=0)
    shared = np.tile(steps[:, None, :], (1, n_columns, 1))
    notes = []
    if between <= LEAST:
        notes.append(
            f"{counted(n_rows, 'respondent')} do not differ by more than chance on these items."
        )
    return known_items(
        Continuous(bounds=(0.0, 1.0), inside=(EDGE, 1 - EDGE)),
        coords,
        responses.items,
        uncertainty=KnownCovariances(own + steps.T @ steps, shared),
        n_respondents=float(n_rows),
        engine="equal slopes",
        responses=responses,
        fit_notes=tuple(notes),
    )


def _effects(z: Floats, seen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Effects of rows, with mean zero, and of columns, by least squares; and what is left."""
    cells = np.where(seen, z, 0.0)
    per_row, per_column = seen.sum(axis=1), seen.sum(axis=0)
    rows, columns = np.zeros(len(z)), cells.sum(axis=0) / per_column
    for _ in range(ROUNDS):
        before = rows
        rows = (cells.sum(axis=1) - seen @ columns) / per_row
        rows = rows - rows.mean()
        columns = (cells.sum(axis=0) - seen.T @ rows) / per_column
        if np.abs(rows - before).max() < CLOSE:
            break
    residual = np.where(seen, z - rows[:, None] - columns, np.nan)
    return rows, columns, residual


def _check(seen: NDArray[np.bool_]) -> None:
    if min(seen.shape) < 2 or not seen.any(axis=1).all() or not seen.any(axis=0).all():
        raise InputError(
            f"The table has {counted(seen.shape[0], 'respondent')} and "
            f"{counted(seen.shape[1], 'item')}, some perhaps without a score, but at least two of "
            "each with scores are needed."
        )
