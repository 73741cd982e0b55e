"""Ratings of responses by several judges: a generalised many-facet model by marginal likelihood.

A judge j who sees a response of quality v gives category x with a probability proportional to
exp(consistency_j (x (v - severity_j) - sum of the steps up to x)): Linacre (1989), with the
consistencies of Uto and Ueno (2020). The quality of respondent r's response to item i is its
ability minus the difficulty of the item, plus what is peculiar to this response (Patz and others,
2002): without the latter, two judges of one response would count as two responses. Difficulties
and peculiarities are normal and integrated out on grids.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats

Ints = NDArray[np.intp]

FARTHEST = 5.0  # range of the grids, in standard deviations of difficulties and peculiarities
NARROWEST = 0.15  # least standard deviation of peculiarities
MOST_NODES = 241
# Standard deviations of weak priors, which keep parameters finite that the ratings leave open.
PRIORS = {"ability": 5.0, "severity": 3.0, "consistency": 2.0, "step": 5.0, "log_sd": 2.0}


@dataclass(frozen=True, eq=False)
class Ratings:
    """Ratings, with the response that each is of; responses are sorted by respondent."""

    respondent: Ints  # (n_responses,), as the next
    item: Ints
    counts: Any  # sparse, (n_responses, n_judges * n_categories): how often each judge gave each
    n_respondents: int
    n_items: int
    n_judges: int
    n_categories: int
    starts: Ints  # (n_respondents + 1,): where the responses of each begin

    @classmethod
    def of(
        cls, respondent: Ints, item: Ints, judge: Ints, category: Ints, sizes: tuple[int, ...]
    ) -> Ratings:
        """Gather one entry per rating; `sizes`: respondents, items, judges, categories."""
        from scipy.sparse import coo_array

        n_respondents, n_items, n_judges, n_categories = sizes
        pairs, row = np.unique(respondent * n_items + item, return_inverse=True)
        respondents, items = np.divmod(pairs, n_items)
        cells = (row, judge * n_categories + category)
        shape = (pairs.size, n_judges * n_categories)
        counts = coo_array((np.ones(row.size), cells), shape=shape).tocsr()
        starts = np.searchsorted(respondents, np.arange(n_respondents + 1))
        return cls(
            respondents, items, counts, n_respondents, n_items, n_judges, n_categories, starts
        )

    @property
    def to_items(self) -> Any:
        """Sums over the responses to an item: sparse, (n_items, n_responses)."""
        from scipy.sparse import csr_array

        n = self.item.size
        return csr_array((np.ones(n), self.item, np.arange(n + 1)), shape=(n, self.n_items)).T


@dataclass(frozen=True, eq=False)
class FacetParameters:
    """Parameters of the many-facet model."""

    ability: Floats  # (n_respondents,)
    severity: Floats  # (n_judges,); mean 0
    consistency: Floats  # (n_judges,); mean 1
    step: Floats  # (n_categories - 1,); mean 0
    log_item_sd: float
    log_response_sd: float

    @property
    def item_sd(self) -> float:
        """Standard deviation of difficulties."""
        return float(np.exp(self.log_item_sd))

    @property
    def response_sd(self) -> float:
        """Standard deviation of what is peculiar to a response."""
        return float(np.exp(self.log_response_sd))

    def vector(self) -> Floats:
        """Return all parameters as one array."""
        sds = [self.log_item_sd, self.log_response_sd]
        return np.concatenate([self.ability, self.severity, self.consistency, self.step, sds])

    def moved(self, step: Floats) -> FacetParameters:
        """Return the parameters moved by `step`."""
        ends = np.cumsum(
            [x.size for x in (self.ability, self.severity, self.consistency, self.step)]
        )
        ability, severity, consistency, steps, sds = np.split(self.vector() + step, ends)
        return FacetParameters(ability, severity, consistency, steps, float(sds[0]), float(sds[1]))

    def log_chances(self, quality: Floats, severity: Any = None, slope: Any = None) -> Floats:
        """Return log-probability of each category, (n_judges, n_categories, n_qualities)."""
        severity = self.severity if severity is None else severity
        slope = self.consistency if slope is None else slope
        x = np.arange(self.step.size + 1.0)
        passed = np.r_[0.0, np.cumsum(self.step)]
        logits = x[:, None] * (quality - severity[:, None, None]) - passed[:, None]
        terms = slope[:, None, None] * logits
        terms = terms - terms.max(axis=1, keepdims=True)
        return np.asarray(terms - np.log(np.exp(terms).sum(axis=1, keepdims=True)))


def pulls(parameters: FacetParameters) -> tuple[Floats, Floats]:
    """Return precision and centre of the weak priors, in the order of `vector`."""
    p = parameters
    sizes = (p.ability.size, p.severity.size, p.consistency.size, p.step.size, 2)
    sds = np.repeat(list(PRIORS.values()), sizes)
    centre = np.repeat([0.0, 0.0, 1.0, 0.0, 0.0], sizes)
    return sds**-2.0, centre


@dataclass(frozen=True, eq=False)
class FacetLikelihood:
    """Marginal log-likelihood at some parameters, and its slopes by item."""

    ratings: Ratings
    parameters: FacetParameters
    by_item: Floats  # (n_items,)
    weight: Floats  # (n_items, n_nodes): posterior of the difficulties
    nodes: Floats  # (n_nodes,): difficulties in standard deviations
    grid: Floats  # (n_qualities,)
    likely: Floats  # (n_responses, n_qualities): of the ratings, up to a factor
    inner: Floats  # (n_responses, n_nodes): the same with peculiarities integrated out

    @classmethod
    def at(cls, ratings: Ratings, parameters: FacetParameters) -> FacetLikelihood:
        """Integrate over difficulties and peculiarities on grids."""
        # Difficulties in standard deviations, closer if many respondents answer an item.
        most = int(np.bincount(ratings.item).max())
        n_nodes = int(np.clip(35 * np.sqrt(most), 41, MOST_NODES))
        nodes, grid = np.linspace(-FARTHEST, FARTHEST, n_nodes), _grid(parameters)
        table = parameters.log_chances(grid).reshape(-1, grid.size)
        log_likely = ratings.counts @ table
        top = log_likely.max(axis=1, keepdims=True)
        likely = np.exp(log_likely - top)
        inner = np.empty((likely.shape[0], nodes.size))
        for r in range(ratings.n_respondents):
            own = slice(ratings.starts[r], ratings.starts[r + 1])
            inner[own] = likely[own] @ _kernel(parameters, r, nodes, grid)
        inner = np.maximum(inner, 1e-300)
        heights = -(nodes**2) / 2
        log_weights = heights - np.log(np.exp(heights).sum())  # standard normal
        whole = ratings.to_items @ (np.log(inner) + top) + log_weights
        peak = whole.max(axis=1, keepdims=True)
        total = np.exp(whole - peak).sum(axis=1, keepdims=True)
        by_item = (np.log(total) + peak)[:, 0]
        weight = np.exp(whole - peak) / total
        return cls(ratings, parameters, by_item, weight, nodes, grid, likely, inner)

    @property
    def value(self) -> float:
        """Log-likelihood with the weak priors."""
        precision, centre = pulls(self.parameters)
        difference = self.parameters.vector() - centre
        return float(self.by_item.sum() - (precision * difference**2).sum() / 2)

    def slopes(self) -> Floats:
        """Return slope of each item's log-likelihood, (n_items, n_parameters), without priors."""
        found, ratings = self.parameters, self.ratings
        share = self.weight[ratings.item] / self.inner
        to_items = ratings.to_items
        abilities = np.zeros((ratings.item.size, ratings.n_respondents))
        sds = np.zeros((ratings.item.size, 2))
        qualities = np.empty_like(self.likely)
        variance = found.response_sd**2
        for r in range(ratings.n_respondents):
            rows = slice(ratings.starts[r], ratings.starts[r + 1])
            kernel = _kernel(found, r, self.nodes, self.grid)
            middle = found.ability[r] - found.item_sd * self.nodes
            weights, part = share[rows], self.likely[rows]
            mean, square = ((part * self.grid**k) @ kernel for k in (1, 2))
            posterior = self.weight[ratings.item[rows]]
            residual = weights * mean - posterior * middle
            abilities[rows, r] = residual.sum(axis=1) / variance
            sds[rows, 0] = -(residual * found.item_sd * self.nodes).sum(axis=1) / variance
            squares = weights * square - 2 * middle * weights * mean + posterior * middle**2
            sds[rows, 1] = squares.sum(axis=1) / variance - 1
            qualities[rows] = part * (weights @ kernel.T)
        parts = [abilities, *self._by_judges(qualities), sds]
        return np.hstack([to_items @ each for each in parts])

    def _by_judges(self, qualities: Floats) -> list[Floats]:
        """Return slopes in severities, consistencies and steps, (n_responses, width) each."""
        found, ratings = self.parameters, self.ratings
        chance = np.exp(found.log_chances(self.grid))
        x = np.arange(ratings.n_categories, dtype=float)[:, None]
        passed = np.r_[0.0, np.cumsum(found.step)][:, None]
        slope = found.consistency[:, None, None]

        def centred(values: Floats) -> Floats:
            return np.asarray(values - (chance * values).sum(axis=1, keepdims=True))

        logits = x * (self.grid - found.severity[:, None, None]) - passed
        tables = [-slope * centred(np.broadcast_to(x, chance.shape)), centred(logits)]
        for k in range(1, ratings.n_categories):
            above = np.broadcast_to((x >= k).astype(float), chance.shape)
            tables.append(-slope * centred(above))
        shape = (ratings.item.size, ratings.n_judges, ratings.n_categories)
        given = ratings.counts.toarray()
        sums = [
            (given * (qualities @ table.reshape(-1, self.grid.size).T)).reshape(shape).sum(axis=2)
            for table in tables
        ]
        steps = [each.sum(axis=1) for each in sums[2:]]
        return [sums[0], sums[1], np.stack(steps, axis=1)]

    def gradient(self) -> Floats:
        """Return slope of the value."""
        precision, centre = pulls(self.parameters)
        found: Floats = self.slopes().sum(axis=0)
        return found - precision * (self.parameters.vector() - centre)


def free_directions(ratings: Ratings) -> Floats:
    """Return directions of parameters; severities, consistencies and steps keep their means."""
    from scipy.linalg import block_diag

    judges = _centred_basis(ratings.n_judges)
    steps = _centred_basis(ratings.n_categories - 1)
    return np.asarray(block_diag(np.eye(ratings.n_respondents), judges, judges, steps, np.eye(2)))


def _centred_basis(n: int) -> Floats:
    """Return an orthonormal basis of the vectors with mean 0, (n, n - 1)."""
    if n == 1:
        return np.zeros((1, 0))
    basis = np.linalg.qr(np.column_stack([np.ones(n), np.eye(n)[:, :-1]]))[0]
    return np.asarray(basis[:, 1:])


def _grid(parameters: FacetParameters) -> Floats:
    """Return qualities, closer than peculiarities and the curves of the judges vary."""
    reach = FARTHEST * (parameters.item_sd + parameters.response_sd)
    steepest = max(1.0, float(np.abs(parameters.consistency).max()))
    width = min(0.7 * parameters.response_sd, 0.4 / steepest)
    low, high = parameters.ability.min() - reach, parameters.ability.max() + reach
    return np.linspace(low, high, int(np.clip((high - low) / width, 40, 600)) + 1)


def _kernel(parameters: FacetParameters, r: int, nodes: Floats, grid: Floats) -> Floats:
    """Return weights of qualities at each difficulty, (n_qualities, n_nodes)."""
    middle = parameters.ability[r] - parameters.item_sd * nodes
    z = (grid[:, None] - middle) / parameters.response_sd
    width = (grid[1] - grid[0]) / (parameters.response_sd * np.sqrt(2 * np.pi))
    return np.asarray(np.exp(-(z**2) / 2) * width)


def start_of(ratings: Ratings, severity: Floats, signs: Floats, ability: Floats) -> FacetParameters:
    """Return starting values from rough abilities and severities, and signs of judges."""
    consistency = signs + (1 - signs.mean())
    steps = np.zeros(ratings.n_categories - 1)
    return FacetParameters(ability, severity - severity.mean(), consistency, steps, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class FacetFit:
    """Parameters of largest marginal likelihood, with their robust joint covariance."""

    parameters: FacetParameters
    covariance: Floats  # (n_parameters, n_parameters), over items as clusters
    log_likelihood: float
    converged: bool


def fit_facets(ratings: Ratings, begin: FacetParameters) -> FacetFit:
    """Maximize by L-BFGS, then by Newton's method; errors are over items, which are a sample."""
    from scipy.optimize import minimize

    basis = free_directions(ratings)
    width = basis.shape[1]

    def loss(z: Floats) -> tuple[float, Floats]:
        here = FacetLikelihood.at(ratings, begin.moved(basis @ z))
        return -here.value, -(basis.T @ here.gradient())

    lowest, highest = float(np.log(NARROWEST)), 3.0
    bounds = [(-np.inf, np.inf)] * (width - 2) + [(lowest, highest)] * 2
    settings = {"maxiter": 500, "ftol": 1e-12, "gtol": 1e-3}
    start = np.zeros(width)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=settings)
    z, free = found.x, np.ones(width, dtype=bool)
    free[-2:] = (z[-2:] > lowest + 1e-9) & (z[-2:] < highest - 1e-9)

    def slopes(z: Floats) -> Floats:
        by_item = FacetLikelihood.at(ratings, begin.moved(basis @ z)).slopes()
        return np.asarray(by_item @ basis[:, free])

    # Information that each item gives, (n_items, n_free, n_free), by differences of slopes.
    steps = 1e-4 * np.eye(width)[free]
    halves = np.stack([(slopes(z - step) - slopes(z + step)) / 2e-4 for step in steps], axis=1)
    by_item = np.asarray((halves + halves.transpose(0, 2, 1)) / 2)
    priors = basis.T @ (pulls(begin)[0][:, None] * basis)
    information = by_item.sum(axis=0) + priors[np.ix_(free, free)]
    z, left = _newton(loss, z, free, information)
    inverse = np.linalg.inv(information)
    scores = _jackknifed(slopes(z), by_item, inverse)
    inner = np.zeros((width, width))
    inner[np.ix_(free, free)] = inverse @ (scores.T @ scores) @ inverse
    parameters = begin.moved(basis @ z)
    here = FacetLikelihood.at(ratings, parameters)
    return FacetFit(parameters, basis @ inner @ basis.T, float(here.by_item.sum()), left < 1e-3)


def _jackknifed(slopes: Floats, by_item: Floats, inverse: Floats) -> Floats:
    """Return slopes of items at estimates without that item.

    Estimates without an item differ by its slope and by its share of the information: this is the
    jackknife over items, to first order (CR3 of Bell and McCaffrey, 2002).
    """
    n, width = slopes.shape
    own = np.eye(width) - by_item @ inverse
    found = np.linalg.solve(own, (slopes - slopes.mean(axis=0))[:, :, None])[:, :, 0]
    return np.asarray(found * np.sqrt((n - 1) / n))


def _newton(
    loss: Any, z: Floats, free: NDArray[np.bool_], information: Floats
) -> tuple[Floats, float]:
    """Take a few steps of Newton's method; return also the largest slope that is left."""
    value, slope = loss(z)
    for _ in range(6):
        step = np.zeros_like(z)
        step[free] = np.linalg.solve(information, slope[free])
        if np.abs(step).max() < 1e-8:
            break
        new, new_slope = loss(z - step)
        if np.abs(step).max() > 1.0 or new > value + 1e-9 * abs(value):
            break
        z, value, slope = z - step, new, new_slope
    return z, float(np.abs(slope[free]).max())
