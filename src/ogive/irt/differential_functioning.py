"""Group curves with purified anchors.

Curves of items by group of respondents, at the same ability.

Respondents are matched by the posterior of their ability, given their responses to the other
anchors and the mean and standard deviation of their own group: groups that differ in ability, and
short tests, then need no further correction (compare the regression correction of Shealy and Stout,
1993). The curve of an item is a logistic regression on ability with a smoothing spline, so that it
need not follow the model that gives the scale; each group besides the first may have another level
and another slope. The mean of a response given the other responses is then an average of the curve
over the posterior, which makes the likelihood of right or wrong exact; grades, as shares of the
highest one, have quasi-likelihoods with sandwich errors.

Items that behave differently in groups of respondents, found with purified anchors.

Items that differ distort the ability by which respondents are matched. So they are taken out of the
anchors, and everything is repeated until the same items are found again (Candell and Drasgow,
1988).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ogive.irt.calibration import Calibration
from ogive.irt.models.categorical import Categorical
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import CORRECTIONS, StandingOut, stand_out

REACH = 5.0  # standard deviations of the population each way
FEWEST_NODES, MOST_NODES = 81, 121
LEVEL, SLOPE = 0, 1  # columns of the basis that a group may change
PRIOR_SD = (5.0, 3.0)  # of level and slope, as in the default priors of the models
BEND_SD, CHANGE_SD = 3.0, 3.0  # of the spline, and of what a group changes
FEW, MANY = 150, 1500  # respondents up to which a curve has no bend, or one
EDGE = 0.05  # share of respondents beyond the outermost knots
SETTLED, MOST_STEPS, SHORTEST = 1e-6, 60, 1e-3
HIGHEST = 30.0  # nats; a response less likely than that removes no more from a posterior
POPULATION_ROUNDS, POPULATION_SETTLED = 500, 1e-5


@dataclass(frozen=True, eq=False)
class Matching:
    """Posteriors of ability from the anchors, on nodes, and the basis of the curves."""

    nodes: Floats  # (n_nodes,), of ability
    place: Floats  # (n_nodes,): the nodes in standard deviations from the mean of everybody
    weights: Floats  # (n_respondents, n_nodes), rows sum to one
    groups: np.ndarray  # (n_respondents,), from 0
    densities: Floats  # (n_groups, n_nodes): where each group is
    populations: Floats  # (n_groups, 2): mean and sd
    basis: Floats  # (n_nodes, n_basis): 1, place, bends
    log_prob: Floats  # (n_categories, n_items, n_nodes), by the model
    anchors: np.ndarray  # (n_items,)

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.densities)

    def shared(self, group: int) -> Floats:
        """Return weights of the nodes at which both this group and the first have respondents."""
        first, other = self.densities[0], self.densities[group]
        both: Floats = first * other / np.maximum(first + other, 1e-300)
        return np.asarray(both / both.sum(), dtype=float)


@dataclass(frozen=True, eq=False)
class GroupCurves:
    """Coefficients of the curve of each item: the basis, then level and slope by group."""

    matching: Matching
    coefs: Floats  # (n_items, n_basis + 2 (n_groups - 1)); NaN where an item could not be fitted
    covariances: Floats
    common: Floats  # (n_items, n_basis): the one curve of all groups
    common_covariances: Floats  # as `covariances`, were it the true one
    likelihood_ratio: Floats  # (n_items,): one curve for all groups against one for each

    def log_odds(self, group: int) -> Floats:
        """Return log-odds by item and node."""
        basis, width = self.matching.basis, self.matching.basis.shape[1]
        found: Floats = self.coefs[:, :width] @ basis.T
        if group:
            own = slice(width + 2 * (group - 1), width + 2 * group)
            found = found + self.coefs[:, own] @ basis[:, :2].T
        return found

    def expected(self, group: int) -> Floats:
        """Chance of being right, or the mean share of the highest grade, by item and node."""
        return _sigmoid(self.log_odds(group))

    def log_odds_se(self, group: int) -> Floats:
        """Return standard errors of `log_odds`."""
        basis, width = self.matching.basis, self.matching.basis.shape[1]
        ways = np.zeros((len(basis), self.coefs.shape[1]))
        ways[:, :width] = basis
        if group:
            ways[:, width + 2 * (group - 1) : width + 2 * group] = basis[:, :2]
        variance = np.einsum("kp,npq,kq->nk", ways, self.covariances, ways)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)), dtype=float)


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """How the curve of a group differs from that of the first group, where both have respondents.

    The two effects of each item are the mean difference of the expected response and its trend
    along the scale; `ways` are the differences that a shift and a stretch of the group's scale
    would make.
    """

    effects: Floats  # (n_items, 2)
    covariances: Floats  # (n_items, 2, 2)
    ways: Floats  # (n_items, 2, 2)


def match(
    values: Floats, groups: np.ndarray, calibration: Calibration, anchors: np.ndarray
) -> Matching:
    """Match respondents by the anchors of a calibration; `values` are its responses, or NaN."""
    model = calibration.model
    assert isinstance(model, Categorical)  # noqa: S101 - callers refuse other models
    nodes = _nodes(calibration)
    log_prob = np.asarray(model.log_prob(calibration.coords, nodes))
    total = np.zeros((len(values), nodes.size))
    for k in range(log_prob.shape[0]):
        here = (values[:, anchors] == k + (model.lowest or 0)).astype(float)
        total += here @ log_prob[k, anchors]
    likelihood = np.exp(total - total.max(axis=1, keepdims=True))
    n_groups = int(groups.max()) + 1
    populations = np.array([_population(nodes, likelihood[groups == g]) for g in range(n_groups)])
    prior = np.exp(-0.5 * ((nodes - populations[:, :1]) / populations[:, 1:]) ** 2)
    weights = likelihood * prior[groups]
    weights /= weights.sum(axis=1, keepdims=True)
    densities = np.stack([weights[groups == g].mean(axis=0) for g in range(n_groups)])
    place, basis = _basis(nodes, weights.mean(axis=0), _bends(np.bincount(groups)))
    return Matching(
        *(nodes, place, weights, groups, densities, populations, basis, log_prob, anchors)
    )


def fit_curves(
    matching: Matching,
    values: Floats,
    highest: Floats,
    told: Callable[[int], None] = lambda _: None,
) -> GroupCurves:
    """Fit the curves of all items; `highest` is the best response to each."""
    n_items, width = values.shape[1], matching.basis.shape[1]
    size = width + 2 * (matching.n_groups - 1)
    coefs = np.full((n_items, size), np.nan)
    covariances = np.full((n_items, size, size), np.nan)
    common, ratio = np.full((n_items, width), np.nan), np.full(n_items, np.nan)
    common_covariances = covariances.copy()
    for j in range(n_items):
        told(j)
        item = _Item.of(matching, values[:, j], float(highest[j]), j)
        if item is None:
            continue
        bare = _ascend(item, item.start(width))
        start = np.concatenate([bare.coefs, np.zeros(size - width)])
        full = _ascend(item, start)
        coefs[j], covariances[j] = full.coefs, full.covariance
        common[j], common_covariances[j] = bare.coefs, _covariance(item, start)
        ratio[j] = 2 * (full.value - bare.value)
    return GroupCurves(matching, coefs, covariances, common, common_covariances, ratio)


def group_effects(curves: GroupCurves, group: int) -> GroupEffects:
    """Compare the curves of a group and of the first one by two contrasts.

    Their covariances are those under one common curve: at the curves themselves, a small group
    that got everything right would seem to have no error.
    """
    matching = curves.matching
    contrasts = contrasts_of(matching.place, matching.shared(group))
    gap = curves.expected(group) - curves.expected(0)
    middle = _sigmoid(curves.common @ matching.basis.T)
    width = matching.basis.shape[1]
    own = slice(width + 2 * (group - 1), width + 2 * group)
    influence = np.einsum("ck,nk,kp->ncp", contrasts, middle * (1 - middle), matching.basis[:, :2])
    spread = np.einsum(
        "ncp,npq,ndq->ncd", influence, curves.common_covariances[:, own, own], influence
    )
    rise = np.gradient(middle, matching.place, axis=1)
    ways = np.stack([rise @ contrasts.T, (rise * matching.place) @ contrasts.T], axis=2)
    return GroupEffects(gap @ contrasts.T, spread, ways)


def contrasts_of(points: Floats, weights: Floats) -> Floats:
    """Weights of the mean over respondents, and of the trend along the scale, (2, n_points)."""
    mean = float(weights @ points)
    spread = float(np.sqrt(weights @ (points - mean) ** 2))
    return np.stack([weights, weights * (points - mean) / spread])


def _nodes(calibration: Calibration) -> Floats:
    """Return equally spaced abilities, about as far apart as the narrowest posterior is wide."""
    low, high = calibration.population.reach(REACH)
    probe = np.linspace(low, high, FEWEST_NODES)
    information = calibration.model.information(calibration.coords, probe)
    most = float(np.asarray(information).sum(axis=0).max())
    n = (high - low) * np.sqrt(most + 1 / calibration.population.sd**2)
    return np.linspace(low, high, int(np.clip(n, FEWEST_NODES, MOST_NODES)))


def _population(nodes: Floats, likelihood: Floats) -> tuple[float, float]:
    """Return mean and sd of one group, by EM."""
    step = float(nodes[1] - nodes[0])
    mean, sd = float(nodes.mean()), float(np.ptp(nodes)) / (2 * REACH)
    for _ in range(POPULATION_ROUNDS):
        weights = likelihood * np.exp(-0.5 * ((nodes - mean) / sd) ** 2)
        share = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        was, mean = (mean, sd), float(share @ nodes)
        sd = max(float(np.sqrt(share @ (nodes - mean) ** 2)), step)
        if abs(mean - was[0]) + abs(sd - was[1]) < POPULATION_SETTLED:
            break
    return mean, sd


def _bends(sizes: np.ndarray) -> int:
    n = int(sizes.sum())
    return 0 if n <= FEW else 1 if n <= MANY else 3


def _basis(nodes: Floats, density: Floats, bends: int) -> tuple[Floats, Floats]:
    """Nodes as standard scores, and 1, the scores, and natural cubic splines without either."""
    mean = float(density @ nodes)
    place = (nodes - mean) / float(np.sqrt(density @ (nodes - mean) ** 2))
    line = np.stack([np.ones_like(place), place], axis=1)
    if not bends:
        return place, line
    knots = np.interp(np.linspace(EDGE, 1 - EDGE, bends + 2), density.cumsum(), place)
    root = np.sqrt(density)[:, None]
    bent = _natural(place, knots)
    bent = bent - line @ np.linalg.lstsq(line * root, bent * root, rcond=None)[0]
    _, sizes, ways = np.linalg.svd(bent * root, full_matrices=False)
    return place, np.concatenate([line, bent @ ways.T / sizes], axis=1)


def _natural(x: Floats, knots: Floats) -> Floats:
    """Return natural cubic splines past the straight line, (n, n_knots - 2)."""

    def cubic(k: int) -> Floats:
        rise = np.maximum(x - knots[k], 0) ** 3 - np.maximum(x - knots[-1], 0) ** 3
        found: Floats = rise / (knots[-1] - knots[k])
        return found

    last = cubic(len(knots) - 2)
    return np.stack([cubic(k) - last for k in range(len(knots) - 2)], axis=1)


def _sigmoid(x: Floats) -> Floats:
    found: Floats = 1 / (1 + np.exp(-np.clip(x, -40, 40)))
    return found


@dataclass(frozen=True, eq=False)
class _Cell:
    """Respondents of one group with one response, matched by the other anchors."""

    group: int
    share: float  # of the highest response
    weights: Floats  # (n, n_nodes): posteriors with this item
    without: Floats  # (n_nodes,): what takes this item out of them
    totals: Floats  # (n, 1)


@dataclass(frozen=True, eq=False)
class _Item:
    """The responses to one item."""

    cells: list[_Cell]
    basis: Floats
    graded: bool
    mean: float

    @classmethod
    def of(cls, matching: Matching, values: Floats, highest: float, j: int) -> _Item | None:
        """Return the item; None unless all groups were asked it and respondents differ."""
        seen, cells = np.isfinite(values), []
        asked = np.bincount(matching.groups[seen], minlength=matching.n_groups)
        found = np.unique(values[seen])
        if not asked.all() or found.size < 2:
            return None
        lowest = float(found[0]) if found[0] < 0 else 0.0
        for value in found:
            code = min(int(value - lowest), matching.log_prob.shape[0] - 1)
            log_prob = matching.log_prob[code, j] if matching.anchors[j] else np.zeros(1)
            without = np.exp(np.minimum(-log_prob, HIGHEST)) * np.ones(len(matching.nodes))
            for group in range(matching.n_groups):
                rows = np.flatnonzero((matching.groups == group) & (values == value))
                if rows.size:
                    weights = matching.weights[rows]
                    totals = (weights @ without)[:, None]
                    cells.append(_Cell(group, value / highest, weights, without, totals))
        mean = float(values[seen].mean()) / highest
        return cls(cells, matching.basis, graded=highest > 1, mean=mean)

    def start(self, width: int) -> Floats:
        """Return a curve of slope one, at the level of the mean response."""
        mean = min(max(self.mean, 0.02), 0.98)
        found = np.zeros(width)
        found[LEVEL], found[SLOPE] = np.log(mean / (1 - mean)), 1.0
        return found


@dataclass(frozen=True, eq=False)
class _Fit:
    coefs: Floats
    covariance: Floats
    value: float


def _ascend(item: _Item, coefs: Floats) -> _Fit:
    """Fisher scoring with step halving, under priors that keep separated responses finite."""
    precision = _precision(item, coefs)
    value, pull, inner, outer = _slopes(item, coefs, precision)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(inner, pull)
        if step @ pull < SETTLED:
            break
        length = 1.0
        while length > SHORTEST:
            ahead = _slopes(item, coefs + length * step, precision)
            if ahead[0] >= value - 1e-9:
                break
            length /= 2
        else:
            break
        coefs = coefs + length * step
        value, pull, inner, outer = ahead
    return _Fit(coefs, _sandwich(item, inner, outer), value)


def _covariance(item: _Item, coefs: Floats) -> Floats:
    """Return covariance of the estimates, were these the true coefficients."""
    _, _, inner, outer = _slopes(item, coefs, _precision(item, coefs))
    return _sandwich(item, inner, outer)


def _sandwich(item: _Item, inner: Floats, outer: Floats) -> Floats:
    inverse = np.linalg.inv(inner)
    found = inverse @ outer @ inverse if item.graded else inverse
    return np.asarray(found, dtype=float)


def _precision(item: _Item, coefs: Floats) -> Floats:
    """Return precision of the priors of the coefficients."""
    width = item.basis.shape[1]
    sd = np.full(coefs.size, CHANGE_SD)
    sd[:width] = [*PRIOR_SD, *[BEND_SD] * (width - 2)]
    found: Floats = sd**-2.0
    return found


def _slopes(item: _Item, coefs: Floats, precision: Floats) -> tuple[float, Floats, Floats, Floats]:
    """Penalised log-likelihood, its gradient, the information, and the spread of the gradient."""
    width = item.basis.shape[1]
    value = -0.5 * float(precision @ coefs**2)
    pull, inner, outer = -precision * coefs, np.diag(precision), np.diag(precision)
    for cell in item.cells:
        own = np.arange(width)
        log_odds = item.basis @ coefs[:width]
        if cell.group and coefs.size > width:
            extra = width + 2 * (cell.group - 1) + np.arange(2)
            log_odds = log_odds + item.basis[:, :2] @ coefs[extra]
            own = np.concatenate([own, extra])
        share = _sigmoid(log_odds)
        curves = np.concatenate([np.ones((len(share), 1)), (1 - share)[:, None] * item.basis], 1)
        means = cell.weights @ ((share * cell.without)[:, None] * curves) / cell.totals
        mean = np.clip(means[:, 0], 1e-9, 1 - 1e-9)
        ways = means[:, 1:]
        if own.size > width:
            ways = np.concatenate([ways, ways[:, :2]], axis=1)
        value += float((cell.share * np.log(mean) + (1 - cell.share) * np.log1p(-mean)).sum())
        weight = 1 / (mean * (1 - mean))
        apart = (cell.share - mean) * weight
        pull[own] += ways.T @ apart
        inner[np.ix_(own, own)] += (ways * weight[:, None]).T @ ways
        if item.graded:
            outer[np.ix_(own, own)] += (ways * (apart**2)[:, None]).T @ ways
    return value, pull, inner, outer


MOST_ROUNDS = 6
LEAST_ANCHORS = 2


@dataclass(frozen=True, eq=False)
class GroupDifferences:
    """Curves by group, how far each item stands out in each group, and which items differ."""

    curves: GroupCurves
    found: tuple[StandingOut, ...]  # one for each group besides the first
    p_adjusted: Floats  # (n_groups - 1, n_items), for all tests together
    differs: np.ndarray  # (n_groups - 1, n_items)
    anchors: np.ndarray  # (n_items,): what respondents were matched by
    rounds: int

    @property
    def scatter(self) -> float:
        """The largest scatter of mean differences beyond their errors, of any group."""
        return max(float(each.scatter[0]) for each in self.found)


def group_differences(
    values: Floats,
    groups: np.ndarray,
    calibration: Calibration,
    *,
    alpha: float,
    correction: str = "bh",
    anchors: np.ndarray | None = None,
    told: Callable[[int, int], None] = lambda *_: None,
) -> GroupDifferences:
    """Compare every group, numbered from 0, with group 0 on every item.

    `values` are the responses of the calibration. If `anchors` are given, they are trusted: no item
    is taken out of them.
    """
    trusted = anchors is not None
    used = np.ones(values.shape[1], dtype=bool) if anchors is None else anchors
    highest = np.fmax(np.fmax.reduce(values, axis=0), 1.0)
    seen: set[bytes] = set()
    for k in range(MOST_ROUNDS):
        seen.add(used.tobytes())
        curves = fit_curves(
            match(values, groups, calibration, used),
            values,
            highest,
            lambda done, k=k: told(k, done),  # type: ignore[misc]
        )
        effects = [group_effects(curves, g) for g in range(1, curves.matching.n_groups)]
        found = tuple(stand_out(e.effects, e.covariances, e.ways) for e in effects)
        p = np.stack([each.p for each in found])
        p_adjusted = CORRECTIONS[correction](p.ravel()).reshape(p.shape)
        differs = np.nan_to_num(p_adjusted, nan=1.0) < alpha
        ahead = np.asarray(~differs.any(axis=0))
        if trusted or ahead.tobytes() in seen or ahead.sum() < LEAST_ANCHORS:
            break
        used = ahead
    return GroupDifferences(curves, found, p_adjusted, differs, used, k + 1)
