"""True, total and completed scores of many respondents, at a cost like that of their abilities.

A sum over all items is a function of ability alone, so it is a spline through a few thousand
places. What errors of the items do is averaged over the answers, as for abilities
(`averaged_errors`). Blocks of respondents are shared by threads, or lie on the engine's device.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ogive.models import Categorical
from ogive.numerics.arrays import (
    Floats,
    array_namespace,
    as_numpy,
    like,
    row_blocks,
    workers,
)
from ogive.responses.encoding import Encoded
from ogive.responses.stored_cells import as_floats
from ogive.scoring.abilities import Abilities, score_abilities
from ogive.scoring.averaged_errors import (
    curve_tables,
    item_tables,
    points_among,
    sums_at,
    whole_at,
)
from ogive.scoring.expected_scores import Completion, ScoreSums
from ogive.scoring.item_errors import ItemErrors
from ogive.scoring.posterior import FARTHEST, Nodes, Population, Posterior, plan_nodes

PLACES = 4_097  # between them, a cubic spline is exact to 1e-7 even where items are steps
WIDTH = 8  # tables of a block of responses that are there at once
CELLS = 1 << 18  # responses in one block

Which = Literal["all", "asked", "open"]


@dataclass(frozen=True, eq=False)
class Respondents:
    """Many respondents, the items that they answered, and where they were found to stand."""

    data: Encoded
    cells: np.ndarray  # the responses as stored
    model: Categorical
    coords: Floats
    population: Population
    method: str
    found: Abilities
    errors: ItemErrors | None  # None where items are known

    @cached_property
    def expected(self) -> Abilities:
        """Abilities where items are expected, which need not be their estimate."""
        if self.errors is None or np.array_equal(self.errors.coords, self.coords):
            return self.found
        return score_abilities(
            self.data, self.model, self.errors.coords, self.population, self.method
        )

    def true_scores(self, keep: np.ndarray) -> ScoreSums:
        """Expected sum of the responses to the items at `keep`."""
        weights = self._counted(keep)
        total, slope = self._sums(self.coords, self.found.ability, weights, "all")
        se = self._errors(total, slope, weights, "all")
        return ScoreSums(total, se, np.full(total.size, float(keep.size)))

    def total_scores(self, keep: np.ndarray) -> ScoreSums:
        """Σ P over right responses minus Σ (1 - P) over wrong ones, of the items at `keep`."""
        counted = self._counted(keep)
        low, high = (np.asarray(end, dtype=float) + 0 * counted for end in self.model.extent())
        weights = counted / (high - low)
        chance, slope = self._sums(self.coords, self.found.ability, weights, "asked")
        earned, asked, taken = self._answers(weights, counted, counted + 2 * low * weights)
        se = self._errors(chance, slope, weights, "asked")
        return ScoreSums(earned + chance - taken, se, asked)

    def completed(self) -> Completion:
        """Mean response over all items, given some of them."""
        one = np.ones(len(self.coords))
        answered, asked = self._answers(one, one)
        mean, error = answered.copy(), np.zeros(answered.size)
        if not self.data.complete:
            left, error = self._left(self.coords)
            mean = mean + left
            if self.errors is not None:
                again, spread = self._left(self.errors.coords)
                slope = self._sums(self.errors.coords, self.expected.ability, one, "open")[1]
                moved = self._through_items(slope, one, "open")
                error = np.sqrt(spread**2 + moved + (again - left) ** 2)
            error = np.where(asked == one.size, 0.0, error)  # not what rounding leaves of it
        return Completion(mean / one.size, error / one.size, asked)

    def _counted(self, keep: np.ndarray) -> Floats:
        counted = np.zeros(len(self.coords))
        counted[keep] = 1.0
        return counted

    def _answers(self, weights: Floats, *columns: Floats) -> list[Floats]:
        """Σ weights x response of each row, and Σ of each of `columns` over what it was asked."""

        def add(rows: slice) -> list[Floats]:
            part = as_floats(self.cells[rows])
            asked = ~np.isnan(part)
            counts = [asked @ column for column in columns]
            return [np.where(asked, part, 0.0) @ weights, *counts]

        blocks = row_blocks(len(self.cells), max(1, CELLS // self.cells.shape[1]))
        with workers() as run:
            parts = list(run(add, blocks))
        return [np.concatenate(column) for column in zip(*parts, strict=True)]

    def _sums(
        self, coords: Floats, ability: Floats, weights: Floats, which: Which
    ) -> tuple[Floats, Floats]:
        """Σ weights x expected response at each ability, and its derivative."""
        if which == "all" or (which == "asked" and self.data.complete):
            return self._over_all(coords, ability, weights)
        asked = self._over_asked(coords, ability, weights)
        if which == "asked":
            return asked
        whole = self._over_all(coords, ability, weights)
        return whole[0] - asked[0], whole[1] - asked[1]

    def _over_all(self, coords: Floats, ability: Floats, weights: Floats) -> tuple[Floats, Floats]:
        from scipy.interpolate import CubicSpline

        if len(ability) <= PLACES:
            return self._curve(coords, ability, weights)
        ends = points_among(ability)
        places = np.linspace(ends[0], ends[-1], PLACES)
        spline = CubicSpline(places, np.stack(self._curve(coords, places, weights), axis=1))
        found = spline(ability)
        return found[:, 0], found[:, 1]

    def _curve(self, coords: Floats, ability: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Σ weights x expected response to all items, and its derivative, place by place."""
        parts = row_blocks(ability.size, max(1, CELLS // len(coords)))
        both = [self.model.expected_along(coords, ability[part]) for part in parts]
        value, slope = (
            np.concatenate([weights @ one for one in part]) for part in zip(*both, strict=True)
        )
        return value, slope

    def _over_asked(
        self, coords: Floats, ability: Floats, weights: Floats
    ) -> tuple[Floats, Floats]:
        data, here = self.data, like(coords, self.data.cells)
        xp, counted = array_namespace(here), like(weights, here)

        def add(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            asked = data.values(rows)[1]
            both = self.model.expected_along(here, like(ability[rows], here))
            value, slope = (as_numpy(xp.sum(one.T * asked * counted, axis=1)) for one in both)
            return value, slope

        with workers() as run:
            parts = list(run(add, data.blocks(WIDTH * len(coords))))
        value, slope = (np.concatenate(column) for column in zip(*parts, strict=True))
        return value, slope

    def _errors(self, reported: Floats, slope: Floats, weights: Floats, which: Which) -> Floats:
        """Standard errors of expected sums; with those of the items, if there are any."""
        if self.errors is None:
            return np.abs(slope) * self.found.se
        value, along = reported, slope
        if self.expected is not self.found:
            value, along = self._sums(self.errors.coords, self.expected.ability, weights, which)
        moved = self._through_items(along, weights, which)
        found: Floats = np.sqrt((along * self.expected.se) ** 2 + moved + (value - reported) ** 2)
        return found

    def _through_items(self, along: Floats, weights: Floats, which: Which) -> Floats:
        """Variance of sums that move `along` with the ability, and with the items' own curves."""
        errors, data, ability = self.errors, self.data, self.expected.ability
        assert errors is not None  # noqa: S101 - as those who ask know
        points = points_among(ability)
        moves = item_tables(self.model, errors, points, data)
        curves = curve_tables(self.model, errors, points, data)
        xp, counted = array_namespace(curves), like(weights, curves)[:, None]
        curves = xp.concat([curves[:1] * counted**2, curves[1:] * counted])
        both = sums_at(data, ability, points, xp.concat([moves, curves]))
        asked, counts = both[:, : moves.shape[0]], both[:, moves.shape[0] :]
        own, product, shared = counts[:, 0], counts[:, 1], counts[:, 2:]
        if which != "asked" and not data.complete:
            whole = whole_at(ability, points, curves)
            own, shared = whole[:, 0], whole[:, 2:]
            if which == "open":
                own, product, shared = own - counts[:, 0], 0 * product, shared - counts[:, 2:]
        change = along * np.where(self.expected.at_bound, 0.0, self.expected.se**2)
        alone = change**2 * asked[:, 0] + 2 * change * product + own
        together = change[:, None] * asked[:, 1:] + shared
        found: Floats = np.maximum(alone, 0.0) + (together**2).sum(axis=1)
        return found

    def _left(self, coords: Floats) -> tuple[Floats, Floats]:
        """Expected sum of what was not asked, and its standard deviation if items are known."""
        data, here = self.data, like(coords, self.data.cells)
        xp, nodes = array_namespace(here), self._nodes(coords)
        fine = like(nodes.fine, here)
        posterior_of = Posterior(self.model.log_terms(here, like(nodes.coarse, here)), nodes)
        chance, noise = self.model.expected(here, fine), self.model.variance(here, fine)

        def complete(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            block = data.block(rows)
            (weights, _), left_open = posterior_of(block), 1 - block.asked
            left = left_open @ chance
            expected = xp.sum(weights * left, axis=1)
            apart = (left - expected[:, None]) ** 2 + left_open @ noise
            return as_numpy(expected), as_numpy(xp.sqrt(xp.sum(weights * apart, axis=1)))

        with workers() as run:
            parts = list(run(complete, data.blocks(3 * nodes.fine.size)))
        expected, spread = (np.concatenate(column) for column in zip(*parts, strict=True))
        return expected, spread

    def _nodes(self, coords: Floats) -> Nodes:
        """Nodes for posteriors; only items that somebody was asked can make one narrow."""
        seen = np.zeros(len(coords), dtype=bool)
        for rows in row_blocks(len(self.cells), max(1, CELLS // self.cells.shape[1])):
            seen |= ~np.isnan(as_floats(self.cells[rows])).all(axis=0)
        asked = np.flatnonzero(seen) if seen.any() else np.arange(len(coords))
        model, reach = self.model.of_items(asked), self.population.reach(FARTHEST)
        return plan_nodes(model, coords[asked], self.population, reach)
