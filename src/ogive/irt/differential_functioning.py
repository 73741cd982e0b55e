"""Curves of items by group of respondents at the same ability, with purified anchors.

1. Match: respondents are matched by the posterior of their ability, given their responses to the
   other anchors and the mean and standard deviation of their own group. Groups that differ in
   ability, and short tests, then need no regression correction (Shealy and Stout, 1993).
2. Fit one curve of each item for all groups: a logistic regression on ability with a smoothing
   spline, so that it need not follow the model that gives the scale.
3. Fit curves of groups: each group besides the first may have another level and another slope. The
   mean of a response given the others is an average of the curve over the posterior, which makes
   the likelihood of right or wrong exact; grades, as shares of the highest one, have
   quasi-likelihoods with sandwich errors.
4. Contrast the curves. Items that differ distort the ability by which respondents are matched, so
   they leave the anchors, and everything is repeated until the same items are found again (Candell
   and Drasgow, 1988).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ogive.irt.calibration import Calibration
from ogive.irt.models.categorical import Categorical
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import CORRECTIONS, StandingOut, stand_out

REACH = 5.0  # half-width of the nodes, in standard deviations of the population
FEWEST_NODES, MOST_NODES = 81, 121
LEVEL, SLOPE = 0, 1  # columns of the basis that a group may change
PRIOR_SD = (5.0, 3.0)  # prior sd of level and slope, as in the default priors of the models
SPLINE_SD, CHANGE_SD = 3.0, 3.0  # prior sd of the spline, and of changes by a group
FEW, MANY = 150, 1500  # largest numbers of respondents for a curve with no spline, or one column
EDGE = 0.05  # share of respondents beyond the outermost knots
CONVERGED, MAX_STEPS, SHORTEST = 1e-6, 60, 1e-3  # limits of Fisher scoring
HIGHEST = 30.0  # largest log-likelihood ratio (nats) that one response removes from a posterior
POPULATION_STEPS, POPULATION_CONVERGED = 500, 1e-5
MAX_ROUNDS = 6
LEAST_ANCHORS = 2


@dataclass(frozen=True, eq=False)
class Matching:
    """Posteriors of ability from the anchors, on nodes, and the basis of the curves."""

    nodes: Floats  # (n_nodes,), abilities
    place: Floats  # (n_nodes,), nodes in standard deviations from the mean of all respondents
    weights: Floats  # (n_respondents, n_nodes), rows sum to one
    groups: np.ndarray  # (n_respondents,), from 0
    densities: Floats  # (n_groups, n_nodes), density of the abilities of each group
    populations: Floats  # (n_groups, 2): mean and sd
    basis: Floats  # (n_nodes, n_basis): 1, place, splines
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
        return np.asarray(both / both.sum())

    def own_columns(self, group: int) -> slice:
        """Return positions of the coefficients that only this group has."""
        width = self.basis.shape[1]
        return slice(width + 2 * (group - 1), width + 2 * group)


@dataclass(frozen=True, eq=False)
class GroupCurves:
    """Coefficients of the curve of each item: the basis, then level and slope by group."""

    matching: Matching
    coefs: Floats  # (n_items, n_basis + 2 (n_groups - 1)); NaN if an item could not be fitted
    covariances: Floats
    common: Floats  # (n_items, n_basis): the one curve of all groups
    common_covariances: Floats  # as `covariances`, if the common curve were the true one
    likelihood_ratio: Floats  # (n_items,): one curve for all groups against one for each

    def log_odds(self, group: int) -> Floats:
        """Return log-odds by item and node."""
        basis = self.matching.basis
        found: Floats = self.coefs[:, : basis.shape[1]] @ basis.T
        if group:
            found = found + self.coefs[:, self.matching.own_columns(group)] @ basis[:, :2].T
        return found

    def expected(self, group: int) -> Floats:
        """Return the chance of being right, or mean share of the top grade, by item and node."""
        return _sigmoid(self.log_odds(group))

    def log_odds_se(self, group: int) -> Floats:
        """Return standard errors of `log_odds`."""
        basis = self.matching.basis
        design = np.zeros((len(basis), self.coefs.shape[1]))
        design[:, : basis.shape[1]] = basis
        if group:
            design[:, self.matching.own_columns(group)] = basis[:, :2]
        variance = np.einsum("kp,npq,kq->nk", design, self.covariances, design)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """Differences of the curve of a group from the first, at abilities that both have.

    The two effects of each item are the mean difference of the expected response and its trend
    along the scale; `scale_effects` are the differences that a shift and a stretch of
    the group's scale would make.
    """

    effects: Floats  # (n_items, 2)
    covariances: Floats  # (n_items, 2, 2)
    scale_effects: Floats  # (n_items, 2, 2)


def match(
    values: Floats, groups: np.ndarray, calibration: Calibration, anchors: np.ndarray
) -> Matching:
    """Match respondents by the anchors of a calibration; `values` are its responses, or NaN."""
    model = calibration.model
    assert isinstance(model, Categorical)  # noqa: S101 - callers refuse other models
    low, high = calibration.population.reach(REACH)
    probe = np.linspace(low, high, FEWEST_NODES)
    information = model.information(calibration.coords, probe)
    most = float(np.asarray(information).sum(axis=0).max())
    n_nodes = (high - low) * np.sqrt(most + 1 / calibration.population.sd**2)  # a posterior apart
    nodes = np.linspace(low, high, int(np.clip(n_nodes, FEWEST_NODES, MOST_NODES)))
    log_prob = np.asarray(model.log_prob(calibration.coords, nodes))
    total = np.zeros((len(values), nodes.size))
    for k in range(log_prob.shape[0]):
        chosen = (values[:, anchors] == k + (model.lowest or 0)).astype(float)
        total += chosen @ log_prob[k, anchors]
    likelihood = np.exp(total - total.max(axis=1, keepdims=True))
    n_groups = int(groups.max()) + 1
    populations = np.array([_population(nodes, likelihood[groups == g]) for g in range(n_groups)])
    prior = np.exp(-0.5 * ((nodes - populations[:, :1]) / populations[:, 1:]) ** 2)
    weights = likelihood * prior[groups]
    weights /= weights.sum(axis=1, keepdims=True)
    densities = np.stack([weights[groups == g].mean(axis=0) for g in range(n_groups)])
    n_splines = 0 if len(groups) <= FEW else 1 if len(groups) <= MANY else 3
    place, basis = _basis(nodes, weights.mean(axis=0), n_splines)
    return Matching(
        *(nodes, place, weights, groups, densities, populations, basis, log_prob, anchors)
    )


def fit_curves(
    matching: Matching,
    values: Floats,
    highest: Floats,
    progress: Callable[[int], None] = lambda _: None,
) -> GroupCurves:
    """Fit the curves of all items; `highest` is the best response to each."""
    n_items, width = values.shape[1], matching.basis.shape[1]
    size = width + 2 * (matching.n_groups - 1)
    coefs = np.full((n_items, size), np.nan)
    covariances = np.full((n_items, size, size), np.nan)
    common, ratio = np.full((n_items, width), np.nan), np.full(n_items, np.nan)
    common_covariances = covariances.copy()
    for j in range(n_items):
        progress(j)
        item = _ItemResponses.of(matching, values[:, j], float(highest[j]), j)
        if item is None:
            continue
        start = np.zeros(width)  # slope one, at the level of the mean response
        mean = min(max(item.mean, 0.02), 0.98)
        start[LEVEL], start[SLOPE] = np.log(mean / (1 - mean)), 1.0
        common[j], common_value, _ = item.fisher_scoring(start)
        padded = np.concatenate([common[j], np.zeros(size - width)])
        coefs[j], value, covariances[j] = item.fisher_scoring(padded)
        # Covariance of the estimates, if these were the true coefficients.
        _, _, information, meat = item.score(padded, item.prior_precision(padded))
        common_covariances[j] = item.sandwich_covariance(information, meat)
        ratio[j] = 2 * (value - common_value)
    return GroupCurves(matching, coefs, covariances, common, common_covariances, ratio)


def group_effects(curves: GroupCurves, group: int) -> GroupEffects:
    """Compare the curves of a group and of the first one by two contrasts.

    Their covariances are those under one common curve: at the curves themselves, a small group
    that got everything right would seem to have no error.
    """
    matching = curves.matching
    contrasts = mean_and_trend(matching.place, matching.shared(group))
    gap = curves.expected(group) - curves.expected(0)
    middle = _sigmoid(curves.common @ matching.basis.T)
    own = matching.own_columns(group)
    influence = np.einsum("ck,nk,kp->ncp", contrasts, middle * (1 - middle), matching.basis[:, :2])
    covariances = np.einsum(
        "ncp,npq,ndq->ncd", influence, curves.common_covariances[:, own, own], influence
    )
    rise = np.gradient(middle, matching.place, axis=1)
    by_scale = np.stack([rise @ contrasts.T, (rise * matching.place) @ contrasts.T], axis=2)
    return GroupEffects(gap @ contrasts.T, covariances, by_scale)


def mean_and_trend(points: Floats, weights: Floats) -> Floats:
    """Return weights of the mean over points, and of the trend along them, (2, n_points)."""
    mean = float(weights @ points)
    sd = float(np.sqrt(weights @ (points - mean) ** 2))
    return np.stack([weights, weights * (points - mean) / sd])


def _population(nodes: Floats, likelihood: Floats) -> tuple[float, float]:
    """Return mean and sd of one group, by EM."""
    step = float(nodes[1] - nodes[0])
    mean, sd = float(nodes.mean()), float(np.ptp(nodes)) / (2 * REACH)
    for _ in range(POPULATION_STEPS):
        weights = likelihood * np.exp(-0.5 * ((nodes - mean) / sd) ** 2)
        share = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
        before, mean = (mean, sd), float(share @ nodes)
        sd = max(float(np.sqrt(share @ (nodes - mean) ** 2)), step)
        if abs(mean - before[0]) + abs(sd - before[1]) < POPULATION_CONVERGED:
            break
    return mean, sd


def _basis(nodes: Floats, density: Floats, n_splines: int) -> tuple[Floats, Floats]:
    """Return nodes as standard scores; and 1, the scores, and splines orthogonal to both."""
    mean = float(density @ nodes)
    place = (nodes - mean) / float(np.sqrt(density @ (nodes - mean) ** 2))
    line = np.stack([np.ones_like(place), place], axis=1)
    if not n_splines:
        return place, line
    knots = np.interp(np.linspace(EDGE, 1 - EDGE, n_splines + 2), density.cumsum(), place)

    def cubic(k: int) -> Floats:
        rise = np.maximum(place - knots[k], 0) ** 3 - np.maximum(place - knots[-1], 0) ** 3
        return np.asarray(rise / (knots[-1] - knots[k]))

    last = cubic(len(knots) - 2)  # natural cubic splines past the straight line
    splines = np.stack([cubic(k) - last for k in range(len(knots) - 2)], axis=1)
    root = np.sqrt(density)[:, None]
    splines = splines - line @ np.linalg.lstsq(line * root, splines * root, rcond=None)[0]
    _, sizes, directions = np.linalg.svd(splines * root, full_matrices=False)
    return place, np.concatenate([line, splines @ directions.T / sizes], axis=1)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(x, -40, 40))))


@dataclass(frozen=True, eq=False)
class _Cell:
    """Respondents of one group with one response, matched by the other anchors."""

    group: int
    share: float  # response as a share of the highest
    weights: Floats  # (n, n_nodes): posteriors with this item
    without: Floats  # (n_nodes,): factor that takes this item out of them
    totals: Floats  # (n, 1)


@dataclass(frozen=True, eq=False)
class _ItemResponses:
    """The responses to one item, and the fit of its curve."""

    cells: list[_Cell]
    basis: Floats
    graded: bool
    mean: float

    @classmethod
    def of(
        cls, matching: Matching, values: Floats, highest: float, j: int
    ) -> _ItemResponses | None:
        """Return the item; None unless all groups were asked it and respondents differ."""
        seen, cells = np.isfinite(values), []
        asked = np.bincount(matching.groups[seen], minlength=matching.n_groups)
        responses = np.unique(values[seen])
        if not asked.all() or responses.size < 2:
            return None
        lowest = float(responses[0]) if responses[0] < 0 else 0.0
        for value in responses:
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

    def prior_precision(self, coefs: Floats) -> Floats:
        """Return precision of the priors, which keep separated responses finite."""
        width = self.basis.shape[1]
        sd = np.full(coefs.size, CHANGE_SD)
        sd[:width] = [*PRIOR_SD, *[SPLINE_SD] * (width - 2)]
        return np.asarray(sd**-2.0)

    def fisher_scoring(self, coefs: Floats) -> tuple[Floats, float, Floats]:
        """Maximize by Fisher scoring with step halving; return coefficients, value, covariance."""
        precision = self.prior_precision(coefs)
        value, score, information, meat = self.score(coefs, precision)
        for _ in range(MAX_STEPS):
            step = np.linalg.solve(information, score)
            if step @ score < CONVERGED:
                break
            length = 1.0
            while length > SHORTEST:
                trial = self.score(coefs + length * step, precision)
                if trial[0] >= value - 1e-9:
                    break
                length /= 2
            else:
                break
            coefs = coefs + length * step
            value, score, information, meat = trial
        return coefs, value, self.sandwich_covariance(information, meat)

    def sandwich_covariance(self, information: Floats, meat: Floats) -> Floats:
        """Return the covariance of coefficients; the likelihood of grades is no true one."""
        inverse = np.linalg.inv(information)
        return np.asarray(inverse @ meat @ inverse if self.graded else inverse, dtype=float)

    def score(self, coefs: Floats, precision: Floats) -> tuple[float, Floats, Floats, Floats]:
        """Return penalised log-likelihood, gradient, information, and squares of the gradient."""
        width = self.basis.shape[1]
        value = -0.5 * float(precision @ coefs**2)
        score, information, meat = -precision * coefs, np.diag(precision), np.diag(precision)
        for cell in self.cells:
            own = np.arange(width)
            log_odds = self.basis @ coefs[:width]
            if cell.group and coefs.size > width:
                extra = width + 2 * (cell.group - 1) + np.arange(2)
                log_odds = log_odds + self.basis[:, :2] @ coefs[extra]
                own = np.concatenate([own, extra])
            share = _sigmoid(log_odds)
            ones = np.ones((len(share), 1))
            curves = np.concatenate([ones, (1 - share)[:, None] * self.basis], 1)
            means = cell.weights @ ((share * cell.without)[:, None] * curves) / cell.totals
            mean, jacobian = np.clip(means[:, 0], 1e-9, 1 - 1e-9), means[:, 1:]
            if own.size > width:
                jacobian = np.concatenate([jacobian, jacobian[:, :2]], axis=1)
            value += float((cell.share * np.log(mean) + (1 - cell.share) * np.log1p(-mean)).sum())
            weight = 1 / (mean * (1 - mean))
            residual = (cell.share - mean) * weight
            score[own] += jacobian.T @ residual
            information[np.ix_(own, own)] += (jacobian * weight[:, None]).T @ jacobian
            if self.graded:
                meat[np.ix_(own, own)] += (jacobian * (residual**2)[:, None]).T @ jacobian
        return value, score, information, meat


@dataclass(frozen=True, eq=False)
class GroupDifferences:
    """Curves by group, how far each item stands out in each group, and which items differ."""

    curves: GroupCurves
    found: tuple[StandingOut, ...]  # one for each group besides the first
    p_adjusted: Floats  # (n_groups - 1, n_items), for all tests together
    differs: np.ndarray  # (n_groups - 1, n_items)
    anchors: np.ndarray  # (n_items,): items by which respondents were matched
    rounds: int

    @property
    def scatter(self) -> float:
        """The largest scatter of mean differences beyond their errors, of any group."""
        return max(float(tests.scatter[0]) for tests in self.found)


def group_differences(
    values: Floats,
    groups: np.ndarray,
    calibration: Calibration,
    *,
    alpha: float,
    correction: str = "bh",
    anchors: np.ndarray | None = None,
    progress: Callable[[int, int], None] = lambda *_: None,
) -> GroupDifferences:
    """Compare every group, numbered from 0, with group 0 on every item.

    `values` are the responses of the calibration. If `anchors` are given, they are trusted: no item
    is taken out of them.
    """
    trusted = anchors is not None
    used = np.ones(values.shape[1], dtype=bool) if anchors is None else anchors
    highest = np.fmax(np.fmax.reduce(values, axis=0), 1.0)
    tried: set[bytes] = set()
    for k in range(MAX_ROUNDS):
        tried.add(used.tobytes())
        curves = fit_curves(
            match(values, groups, calibration, used),
            values,
            highest,
            lambda done, k=k: progress(k, done),  # type: ignore[misc]
        )
        effects = [group_effects(curves, g) for g in range(1, curves.matching.n_groups)]
        found = tuple(stand_out(e.effects, e.covariances, e.scale_effects) for e in effects)
        p = np.stack([tests.p for tests in found])
        p_adjusted = CORRECTIONS[correction](p.ravel()).reshape(p.shape)
        differs = np.nan_to_num(p_adjusted, nan=1.0) < alpha
        kept = np.asarray(~differs.any(axis=0))
        if trusted or kept.tobytes() in tried or kept.sum() < LEAST_ANCHORS:
            break
        used = kept
    return GroupDifferences(curves, found, p_adjusted, differs, used, k + 1)
