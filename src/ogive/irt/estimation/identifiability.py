"""Whether scores have anything in common that an ability could be.

Parallel analysis (Horn, 1965) by permutation: where items have nothing in common, each column may
be shuffled by itself. The largest eigenvalue of the correlations is held against that of shuffled
tables, so that the test keeps its level with any number of respondents and items, any
distribution of scores, and any pattern of cells that were never asked.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ogive.data.responses import Responses
from ogive.irt.item_curves import NOT_IDENTIFIED
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Floats

LEAST_RESPONDENTS = 10  # fewer cannot tell a common factor from chance
ALPHA = 0.05
N_SHUFFLES = 199
ENOUGH = 10  # shuffled tables with as much in common, after which the rest need not be looked at
LOOKED_AT = 2_000  # rows; what so many do not show is nothing to build on
MOST_ROWS, MOST_COLUMNS = 500, 300  # of a table in doubt
TURNS = 15
BEYOND_DOUBT = 2.0  # times what chance gives in large tables


@dataclass(frozen=True)
class CommonFactor:
    """Whether there is one, and the sentence that says so where there is none."""

    found: bool
    note: str = ""


def common_factor(
    table: Responses, model: MeasurementModel, weights: Floats | None = None
) -> CommonFactor:
    """Return whether ability is identified by the scores of a table, as `model` reads them."""
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < LEAST_RESPONDENTS:
        return CommonFactor(
            found=False,
            note=f"{NOT_IDENTIFIED}: fewer than {LEAST_RESPONDENTS} respondents cannot "
            "tell what scores have in common from chance. Rely on the scores themselves.",
        )
    cells = table.cells if weights is None else table.cells[weights > 0]
    cells = cells[:: -(-len(cells) // LOOKED_AT)]
    apart, asked = _standardised(np.asarray(model.read(cells), dtype=float))
    if apart.shape[1] < 2:
        return CommonFactor(found=True)  # said elsewhere
    share = chance_of_common(apart, asked)
    if share <= ALPHA:
        return CommonFactor(found=True)
    return CommonFactor(
        found=False,
        note=f"{NOT_IDENTIFIED}: the items have no more in common than chance would give "
        f"(p = {share:.2g}, by shuffling each item). Rely on the scores themselves.",
    )


def chance_of_common(apart: Floats, asked: np.ndarray) -> float:
    """How often shuffled columns have as much in common as these, standardised and 0 if missing."""
    n, m = apart.shape
    if _largest(apart) > BEYOND_DOUBT * (1 + np.sqrt(m / n)) ** 2:
        return 0.0
    apart = apart[:: -(-n // MOST_ROWS), :: -(-m // MOST_COLUMNS)]
    asked = asked[:: -(-n // MOST_ROWS), :: -(-m // MOST_COLUMNS)]
    seen, random = _largest(apart), np.random.default_rng(0)
    beyond = 0
    for count in range(1, N_SHUFFLES + 1):
        beyond += _largest(_shuffled(apart, asked, random)) >= seen
        if beyond >= ENOUGH:
            return (1 + beyond) / (1 + count)
    return (1 + beyond) / (1 + N_SHUFFLES)


def _standardised(z: Floats) -> tuple[Floats, np.ndarray]:
    """Return columns of mean 0 and sd 1 over what was asked; constant columns are left out."""
    asked = ~np.isnan(z)
    count = np.maximum(asked.sum(axis=0), 1)
    apart = np.where(asked, z - np.where(asked, z, 0.0).sum(axis=0) / count, 0.0)
    spread = np.sqrt((apart**2).sum(axis=0) / count)
    varied = spread > 1e-9 * (1 + np.abs(np.where(asked, z, 0.0)).max(axis=0, initial=0.0))
    return apart[:, varied] / spread[varied], asked[:, varied]


def _largest(table: Floats) -> float:
    """Return the largest eigenvalue of the correlations, by a fixed number of turns."""
    direction: Floats = np.random.default_rng(0).standard_normal((table.shape[1],))
    size = 0.0
    for _ in range(TURNS):
        component = table @ (direction / max(float(np.linalg.norm(direction)), 1e-300))
        size = float(component @ component)
        direction = component @ table
    return size / len(table)


def _shuffled(table: Floats, asked: np.ndarray, random: np.random.Generator) -> Floats:
    """Return each column in an order of its own; cells that were never asked stay so."""
    if asked.all():
        return random.permuted(table, axis=0)
    found = np.zeros_like(table)
    for k in range(table.shape[1]):
        here = asked[:, k]
        found[here, k] = random.permutation(table[here, k])
    return found
