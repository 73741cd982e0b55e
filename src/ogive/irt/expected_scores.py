"""True, total and completed scores, which weigh responses by what the items say.

Of few respondents, errors of the items count exactly. Of many, a sum over all items is a function
of ability alone, so it is a spline through a few thousand abilities, and errors of the items are
averaged over the answers (`score_errors`). Blocks of respondents are shared by threads, or lie on
the engine's device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ogive.irt.abilities import Abilities, score_abilities
from ogive.irt.encoded_responses import Encoded
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import FARTHEST, Population, Posterior, plan_nodes
from ogive.irt.response_codes import as_floats
from ogive.irt.score_errors import (
    ItemErrors,
    PosteriorSlopes,
    ability_derivatives,
    curve_tables,
    item_tables,
    points_among,
    sums_at,
    whole_at,
)
from ogive.stats.array_backend import (
    Array,
    Floats,
    array_namespace,
    as_numpy,
    like,
    row_blocks,
    workers,
)

ROWS = 1024  # number of respondents at a time
NUDGE = 1e-5
PLACES = 4_097  # number of abilities between which a cubic spline is exact to 1e-7
WIDTH = 8  # number of tables of a block of responses in memory at once
CELLS = 1 << 18  # number of responses in one block

Which = Literal["all", "asked", "open"]


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """A score of each respondent, its standard error, and how many items it sums over."""

    total: Floats  # (n_respondents,)
    se: Floats
    n_items: Floats


def true_scores(
    model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Return the expected sum of the responses to all items; if binary, the number right."""
    parts = [_expected(model, coords, ability[rows]) for rows in row_blocks(ability.size, ROWS)]
    total = np.concatenate([value.sum(axis=0) for value, _ in parts])
    slope = np.concatenate([slope.sum(axis=0) for _, slope in parts])
    n_items = np.full(ability.size, float(coords.shape[0]))
    return ScoreSums(total, np.abs(slope) * ability_se, n_items)


def total_scores(
    cells: Array, model: MeasurementModel, coords: Floats, ability: Floats, ability_se: Floats
) -> ScoreSums:
    """Return Σ P over right responses minus Σ (1 - P) over wrong ones, of items that were asked.

    The better the chance a respondent had, the more a hit earns and the less a miss costs. Other
    than binary responses count with their place between the worst and the best of the item.
    """
    low, high = (np.asarray(bound, dtype=float) for bound in model.extent())
    span = (high - low)[..., None]
    total, slope, asked = [], [], []
    for rows in row_blocks(ability.size, ROWS):
        part = model.scored(as_floats(cells[rows])).T
        observed = ~np.isnan(part)
        share = (part - low[..., None]) / span
        chance, change = _expected(model, coords, ability[rows])
        chance = (chance - low[..., None]) / span
        total.append(np.where(observed, share + chance - 1, 0.0).sum(axis=0))
        slope.append((observed * change / span).sum(axis=0))
        asked.append(observed.sum(axis=0).astype(float))
    se = np.abs(np.concatenate(slope)) * ability_se
    return ScoreSums(np.concatenate(total), se, np.concatenate(asked))


def expected_sums(
    model: MeasurementModel, coords: Floats, found: Abilities, counted: Floats
) -> Floats:
    """Return Σ counted x expected response of each respondent, (n_rows,).

    `counted` is (n_items,), or (n_rows, n_items) where it differs.
    """
    shape = found.ability.size, len(coords)
    parts = [
        (np.broadcast_to(counted, shape)[rows] * model.expected(coords, found.ability[rows]).T)
        for rows in row_blocks(found.ability.size, ROWS)
    ]
    return np.concatenate([part.sum(axis=1) for part in parts])


def sum_errors(
    data: Encoded,
    model: MeasurementModel,
    population: Population,
    method: str,
    reported: Floats,
    errors: ItemErrors,
    counted: Floats,
) -> Floats:
    """Return root of the mean square error of the `reported` expected sums, (n_rows,).

    A sum moves with the ability, which moves with the items, and with the items' own curves. Where
    both move along the scale, they cancel.
    """
    coords = errors.coords
    found = score_abilities(data, model, coords, population, method)
    offset = expected_sums(model, coords, found, counted) - reported
    parts = []
    for rows, slopes in ability_derivatives(data, model, coords, population, method, found):
        weights, ability = np.broadcast_to(counted, data.shape)[rows], found.ability[rows]
        along = (weights * _expected(model, coords, ability)[1].T).sum(axis=1)
        direct = np.transpose(model.expected_slopes(coords, ability), (2, 1, 0))
        moved = errors.variance(along[:, None, None] * slopes + weights[..., None] * direct)
        parts.append((along * found.se[rows]) ** 2 + moved)
    return np.sqrt(np.concatenate(parts) + offset**2)


def _expected(model: MeasurementModel, coords: Floats, ability: Floats) -> tuple[Floats, Floats]:
    """Return expected response and its derivative in ability, (n_items, n_abilities)."""
    up, down = (model.expected(coords, ability + step) for step in (NUDGE, -NUDGE))
    return model.expected(coords, ability), (up - down) / (2 * NUDGE)


@dataclass(frozen=True, eq=False)
class Completion:
    """The mean over all items of each respondent, as far as it is known."""

    mean: Floats  # (n_respondents,)
    se: Floats
    asked: Floats  # how many items were


def completed_means(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
) -> Completion:
    """Return mean response over all items, given some of them; `cells` are the responses as stored.

    Items that were never asked are expected from the posterior of ability. The standard error
    holds the uncertainty of the ability and of single responses; it is 0 for a complete row.
    """
    return _completed(data, cells, model, coords, population, None)


def completed_errors(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    population: Population,
    reported: Floats,
    errors: ItemErrors,
) -> Floats:
    """Return errors of `reported` completed means, with those of the items."""
    found = _completed(data, cells, model, errors.coords, population, errors)
    return np.hypot(found.se, found.mean - reported)


def _completed(
    data: Encoded,
    cells: Array,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    errors: ItemErrors | None,
) -> Completion:
    # Only items that somebody was asked can make a posterior narrow.
    asked_of = np.flatnonzero(~np.isnan(as_floats(cells)).all(axis=0))
    asked_of = asked_of if asked_of.size else np.arange(len(coords))
    nodes = plan_nodes(
        model.of_items(asked_of),
        coords[asked_of],
        population,
        population.reach(FARTHEST),
        often=None if data.often is None else data.often[asked_of],
    )
    posteriors = PosteriorSlopes(model, coords, nodes)
    chance, noise = model.expected(coords, nodes.fine), model.variance(coords, nodes.fine)
    change = None if errors is None else model.expected_slopes(coords, nodes.fine)
    parts = []
    for rows in data.blocks(nodes.fine.size):
        block = data.block(rows)
        weights, _ = posteriors.posterior(block)
        known = model.scored(as_floats(cells[rows]))
        open_ = np.isnan(known).astype(float)
        left = open_ @ chance  # expected sum of what was not asked, at each node
        expected = (weights * left).sum(axis=1)
        spread = (weights * (left - expected[:, None]) ** 2).sum(axis=1)
        spread += (weights * (open_ @ noise)).sum(axis=1)
        if errors is not None and change is not None:
            through = posteriors.covariances(block, weights * (left - expected[:, None]))
            direct = np.stack([weights @ slope.T for slope in change], axis=2)
            spread += errors.variance(through + open_[..., None] * direct)
        total = np.nansum(known, axis=1) + expected
        parts.append((total, np.sqrt(spread), known.shape[1] - open_.sum(axis=1)))
    total, error, asked = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Completion(total / len(coords), error / len(coords), asked)


def _by_blocks(work: Callable[[slice], Sequence[Floats]], blocks: list[slice]) -> list[Floats]:
    """Run `work` on blocks of respondents in threads, and join each of its results."""
    with workers() as run:
        parts = list(run(work, blocks))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class Respondents:
    """Many respondents, the items that they answered, and their abilities."""

    data: Encoded
    cells: np.ndarray  # the responses as stored
    model: Categorical
    coords: Floats
    population: Population
    method: str
    found: Abilities
    errors: ItemErrors | None  # None if items are known

    @cached_property
    def expected(self) -> Abilities:
        """Abilities at the expected items, which need not be the estimated ones."""
        if self.errors is None or np.array_equal(self.errors.coords, self.coords):
            return self.found
        return score_abilities(
            self.data, self.model, self.errors.coords, self.population, self.method
        )

    def true_scores(self, keep: np.ndarray) -> ScoreSums:
        """Return expected sum of the responses to the items at `keep`."""
        weights = self._counted(keep)
        total, slope = self._sums(self.coords, self.found.ability, weights, "all")
        se = self._errors(total, slope, weights, "all")
        return ScoreSums(total, se, np.full(total.size, float(keep.size)))

    def total_scores(self, keep: np.ndarray) -> ScoreSums:
        """Return Σ P over right responses minus Σ (1 - P) over wrong ones, of items at `keep`."""
        counted = self._counted(keep)
        low, high = (np.asarray(end, dtype=float) + 0 * counted for end in self.model.extent())
        weights = counted / (high - low)
        chance, slope = self._sums(self.coords, self.found.ability, weights, "asked")
        earned, asked, taken = self._answers(weights, counted, counted + 2 * low * weights)
        se = self._errors(chance, slope, weights, "asked")
        return ScoreSums(earned + chance - taken, se, asked)

    def completed(self) -> Completion:
        """Return mean response over all items, given some of them."""
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
            error = np.where(asked == one.size, 0.0, error)  # without rounding errors
        return Completion(mean / one.size, error / one.size, asked)

    def _counted(self, keep: np.ndarray) -> Floats:
        counted = np.zeros(len(self.coords))
        counted[keep] = 1.0
        return counted

    def _answers(self, weights: Floats, *columns: Floats) -> list[Floats]:
        """Return Σ weights x response of each row, and Σ of `columns` over items it was asked."""

        def add(rows: slice) -> list[Floats]:
            part = as_floats(self.cells[rows])
            asked = ~np.isnan(part)
            counts = [asked @ column for column in columns]
            return [np.where(asked, part, 0.0) @ weights, *counts]

        return _by_blocks(add, row_blocks(len(self.cells), max(1, CELLS // self.cells.shape[1])))

    def _sums(
        self, coords: Floats, ability: Floats, weights: Floats, which: Which
    ) -> tuple[Floats, Floats]:
        """Return Σ weights x expected response at each ability, and its derivative."""
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
        """Return Σ weights x expected response to all items, and its derivative, exactly."""
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

        value, slope = _by_blocks(add, data.blocks(WIDTH * len(coords)))
        return value, slope

    def _errors(self, reported: Floats, slope: Floats, weights: Floats, which: Which) -> Floats:
        """Return standard errors of expected sums; with those of the items, if there are any."""
        if self.errors is None:
            return np.abs(slope) * self.found.se
        value, along = reported, slope
        if self.expected is not self.found:
            value, along = self._sums(self.errors.coords, self.expected.ability, weights, which)
        moved = self._through_items(along, weights, which)
        return np.sqrt((along * self.expected.se) ** 2 + moved + (value - reported) ** 2)

    def _through_items(self, along: Floats, weights: Floats, which: Which) -> Floats:
        """Return variance of sums that move `along` with the ability, and with the curves."""
        errors, data, ability = self.errors, self.data, self.expected.ability
        assert errors is not None  # noqa: S101 - callers have checked it
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
        return np.asarray(np.maximum(alone, 0.0) + (together**2).sum(axis=1))

    def _left(self, coords: Floats) -> tuple[Floats, Floats]:
        """Return the expected sum of items not asked, and its sd if items are known."""
        data, here = self.data, like(coords, self.data.cells)
        # Only items that somebody was asked can make a posterior narrow.
        seen = np.zeros(len(coords), dtype=bool)
        for rows in row_blocks(len(self.cells), max(1, CELLS // self.cells.shape[1])):
            seen |= ~np.isnan(as_floats(self.cells[rows])).all(axis=0)
        asked = np.flatnonzero(seen) if seen.any() else np.arange(len(coords))
        model, reach = self.model.of_items(asked), self.population.reach(FARTHEST)
        nodes = plan_nodes(model, coords[asked], self.population, reach)
        xp = array_namespace(here)
        fine = like(nodes.fine, here)
        posterior_of = Posterior(self.model.log_terms(here, like(nodes.coarse, here)), nodes)
        chance, noise = self.model.expected(here, fine), self.model.variance(here, fine)

        def complete(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            block = data.block(rows)
            (weights, _), left_open = posterior_of(block), 1 - block.asked
            left = left_open @ chance
            expected = xp.sum(weights * left, axis=1)
            variance = (left - expected[:, None]) ** 2 + left_open @ noise
            return as_numpy(expected), as_numpy(xp.sqrt(xp.sum(weights * variance, axis=1)))

        expected, spread = _by_blocks(complete, data.blocks(3 * nodes.fine.size))
        return expected, spread
