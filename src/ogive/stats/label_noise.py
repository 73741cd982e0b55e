"""The probability that a label is wrong, from the probabilities that classifiers give to classes.

With true class t and given label y of an item with features x,

    P(t | x)     = softmax(Σ_m weight_m log P_m(t | x) + shift_t)
    P(y | t)     = 1 - rate_t if y = t, else rate_t share_ty
    P(t, y | x)  = (1 - ODD) P(t | x) P(y | t), plus ODD / n_classes for t = y

If classes overlap, good classifiers contradict right labels, so that a contradiction alone is no
evidence. A wrong label shows in classifiers that are sure of another class, and that are wrong more
often than they should be if they are sure. So two things are estimated together: the weights, which
also say how sure one may be of the classifiers (stacking and scaling in one), and the noise rates,
the share of the labels of each class that were changed (Copas, 1988, for two classes; the joint of
true and given classes of Northcutt et al., 2021, for more). All are the maximum of the posterior;
the evidence is 1 - P(t = y | x, y).

Labels may be wrong in all classes alike or in one only, and change into any class or mostly into
one. Both are weighed by how well they explain the labels: similar rates against rates that differ
(`SPREADS`) by Laplace's approximation, equal shares against a Dirichlet prior by their exact ratio.
A few items defy every classifier although their label is right: `ODD` is their expected share. A
single classifier may err alike on many of them, so that its evidence counts less (`ALONE`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks

Codes = NDArray[np.int64]

FLOOR = 0.01  # share of each classifier's probability that is spread over all classes
ODD = 0.004  # share of items with a right label that no classifier can predict
PRIOR_WRONG, PRIOR_RIGHT = 1.0, 20.0  # prior of noise rates, in labels
SPREADS = (0.5, 2.0)  # standard deviations of the log-odds of noise rates: similar, or different
# Prior probability that labels of a class change mostly into few others, and the weight of the
# Dirichlet prior of their shares, in labels.
SELECTIVE, PRIOR_SHARES, SHARE_ITERATIONS = 0.2, 1.0, 3
ALONE = 0.6  # factor of the log-odds of a single classifier, if they are above 0
# Standard deviation of log weights around their prior mean, which is larger for better classifiers:
# by 1 for 1 / SHARPNESS less log-loss. All together may be far smaller, for classifiers are often
# too sure, but not much larger.
WEIGHT_SD, SHARPNESS = 0.32, 10.0
COOLER_SD, WARMER_SD = 1.5, 0.2
SHIFT_SD = 1.0
MOST_MEMBERS = 8  # classifiers that are used, the best by log-loss
MOST_LEARNED_FROM = 5000  # items
START = -3.0  # log-odds of noise rates at the start
MAX_ITER = 100


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """Probabilities of wrong labels, and the parameters behind them."""

    wrong: Floats  # (n_items,), the probability that the label is wrong
    chance: Floats  # (n_items, n_classes), P(t | x)
    likely: Codes  # (n_items,), the most likely class; another than the label if that is wrong
    rates: Floats  # (n_classes,), the share of labels of each class that were changed
    members: Codes  # classifiers that were used, the best first; -1 is the mean of all
    weights: Floats  # of these


def label_noise(probabilities: Floats, labels: Codes) -> LabelNoise:
    """Estimate the noise of `labels`, (n_items,), by `probabilities` (members, items, classes).

    Each item must have been predicted by members that did not learn from it. Rows sum to one. The
    mean of several members is one more: it is seldom sure without reason.
    """
    n_items, several = len(labels), len(probabilities) > 1
    if several:
        probabilities = np.concatenate([probabilities, probabilities.mean(axis=0)[None]])
    loss = np.array([_log_loss(each, labels) for each in probabilities])
    members = np.argsort(loss, kind="stable")[:MOST_MEMBERS]
    some = evenly_spaced(n_items, MOST_LEARNED_FROM)
    logs = _logs(probabilities[members][:, some])
    fits = [_fit(logs, labels[some], loss[members], spread) for spread in SPREADS]
    log_evidence = np.array([fit.log_evidence for fit in fits])
    credence = np.exp(log_evidence - log_evidence.max())
    credence /= credence.sum()
    chance, wrong = np.zeros(probabilities.shape[1:]), np.empty(n_items)
    likely = np.empty(n_items, dtype=np.int64)
    for rows in row_blocks(n_items, MOST_LEARNED_FROM):
        logs, given = _logs(probabilities[members][:, rows]), labels[rows]
        posterior = np.zeros_like(chance[rows])
        for share, fit in zip(credence, fits, strict=True):
            of_classes = _class_probabilities(logs, fit.weights, fit.shift)
            chance[rows] += share * of_classes
            posterior += share * _posterior(of_classes, given, fit.rates, fit.shares)
        own = np.arange(len(given)), given
        wrong[rows] = 1 - posterior[own]
        posterior[own] = np.where(wrong[rows] > 0.5, 0.0, posterior[own])
        likely[rows] = posterior.argmax(axis=1)
    if several:
        members = np.where(members == len(probabilities) - 1, -1, members)
    else:
        wrong = _discounted(wrong)
    rates, weights = (
        credence @ np.stack([getattr(fit, name) for fit in fits]) for name in ("rates", "weights")
    )
    return LabelNoise(wrong, chance, likely, rates, members, weights)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Estimates under one spread of the noise rates, and their marginal likelihood."""

    weights: Floats
    shift: Floats
    rates: Floats  # (n_classes,)
    shares: Floats  # (n_classes, n_classes), see `_LogPosterior`
    log_evidence: float


def _fit(logs: Floats, labels: Codes, loss: Floats, spread: float) -> _Fit:
    """Alternate parameters and shares; with two classes there is one other class, so no shares."""
    n_classes = logs.shape[1]
    uniform = (1 - np.eye(n_classes)) / max(n_classes - 1, 1)
    objective = _LogPosterior(logs, labels, loss, spread, uniform)
    point = objective.maximize()
    for _ in range(SHARE_ITERATIONS if n_classes > 2 else 0):
        weights, shift, rates = objective.parts(point)
        chance = _class_probabilities(logs, weights, shift)
        posterior = _posterior(chance, labels, rates, objective.shares)
        changed = np.zeros((n_classes, n_classes))  # expected labels by true and given class
        np.add.at(changed.T, labels, posterior)
        np.fill_diagonal(changed, 0.0)
        objective = replace(objective, shares=_shares(changed))
        point = objective.maximize(point)
    weights, shift, rates = objective.parts(point)
    n_wrong = _class_probabilities(logs, weights, shift).sum(axis=0) * rates
    occam = 0.5 * float(np.log1p(spread**2 * n_wrong).sum())  # prior to posterior, each class
    log_evidence = -objective.negative(point)[0] - occam
    return _Fit(weights, shift, rates, objective.shares, log_evidence)


def _shares(changed: Floats) -> Floats:
    """Return the shares of changed labels by new class: equal or selective, weighed by evidence."""
    n_classes = len(changed)
    other = 1 - np.eye(n_classes)
    prior = PRIOR_SHARES / (n_classes - 1)
    total = changed.sum(axis=1)
    selective = changed + prior * other
    selective /= selective.sum(axis=1, keepdims=True)
    gain = gammaln(PRIOR_SHARES) - gammaln(PRIOR_SHARES + total) + total * np.log(n_classes - 1)
    gain += ((gammaln(prior + changed) - gammaln(prior)) * other).sum(axis=1)
    odds = gain + np.log(SELECTIVE / (1 - SELECTIVE))
    p = (1 / (1 + np.exp(-odds.clip(-700, 700))))[:, None]
    return np.asarray(p * selective + (1 - p) * other / (n_classes - 1))


def _discounted(wrong: Floats) -> Floats:
    """Return the evidence of a single classifier, moved towards 0.5 if it is above."""
    sure = wrong.clip(0.5, 1 - 1e-12)
    odds = ALONE * (np.log(sure) - np.log1p(-sure))
    return np.where(wrong > 0.5, 1 / (1 + np.exp(-odds)), wrong)


def _log_loss(probabilities: Floats, labels: Codes) -> float:
    own = probabilities[np.arange(len(labels)), labels]
    return -float(np.log((1 - FLOOR) * own + FLOOR / probabilities.shape[1]).mean())


def _logs(probabilities: Floats) -> Floats:
    """Return finite log-probabilities, (n_items, n_classes, n_members)."""
    smooth = (1 - FLOOR) * probabilities + FLOOR / probabilities.shape[2]
    return np.ascontiguousarray(np.moveaxis(np.log(smooth), 0, 2))


def _class_probabilities(logs: Floats, weights: Floats, shift: Floats) -> Floats:
    """Return P(t | x), (n_items, n_classes)."""
    exponent = logs @ weights + shift
    exponent -= exponent.max(axis=1, keepdims=True)
    chance: Floats = np.exp(exponent)
    chance /= chance.sum(axis=1, keepdims=True)
    return chance


def _joint(chance: Floats, labels: Codes, rates: Floats, shares: Floats) -> Floats:
    """Return P(t, y | x) for the given label y, (n_items, n_classes)."""
    n_items, n_classes = chance.shape
    joint: Floats = (1 - ODD) * chance * (rates * shares.T[labels])
    own = (np.arange(n_items), labels)
    joint[own] = (1 - ODD) * chance[own] * (1 - rates[labels]) + ODD / n_classes
    return joint


def _posterior(chance: Floats, labels: Codes, rates: Floats, shares: Floats) -> Floats:
    """Return P(t | x, y), (n_items, n_classes)."""
    joint = _joint(chance, labels, rates, shares)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


@dataclass(frozen=True, eq=False)
class _LogPosterior:
    """Log-posterior of (log weights, shifts, log-odds of rates), given the shares.

    `shares` says into which class a changed label goes: (true class, given class), 0 on the
    diagonal, rows sum to one.
    """

    logs: Floats  # (n_items, n_classes, n_members)
    labels: Codes
    loss: Floats  # (n_members,)
    spread: float
    shares: Floats  # (n_classes, n_classes)

    def maximize(self, start: Floats | None = None) -> Floats:
        """Return the point of the maximum, by L-BFGS-B."""
        from scipy.optimize import minimize

        n_classes = self.logs.shape[1]
        if start is None:
            start = np.r_[self._prior_weights, np.zeros(n_classes), np.full(n_classes, START)]
        options = {"maxiter": MAX_ITER, "ftol": 1e-7}
        fit = minimize(self.negative, start, jac=True, method="L-BFGS-B", options=options)
        return np.asarray(fit.x)

    def parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights, shifts and noise rates."""
        weights, shift, odds = self._split(point)
        return np.exp(weights), shift, 1 / (1 + np.exp(-odds))

    def _split(self, point: Floats) -> list[Floats]:
        _, n_classes, n_members = self.logs.shape
        return np.split(point, [n_members, n_members + n_classes])

    def negative(self, point: Floats) -> tuple[float, Floats]:
        """Return the negative log-posterior and its gradient."""
        weights, shift, rates = self.parts(point)
        n_items, n_classes, _ = self.logs.shape
        chance = _class_probabilities(self.logs, weights, shift)
        own = (np.arange(n_items), self.labels)
        joint = _joint(chance, self.labels, rates, self.shares)
        inverse = 1 / joint.sum(axis=1)
        into_label = (1 - ODD) * self.shares.T[self.labels]  # 0 if true and given class are equal
        # Derivatives in the probabilities, then in the exponents of which they are the softmax.
        grad = -inverse[:, None] * into_label * rates
        grad[own] = -inverse * (1 - ODD) * (1 - rates[self.labels])
        grad -= (grad * chance).sum(axis=1, keepdims=True)
        grad *= chance
        in_weights = np.tensordot(grad, self.logs, ([0, 1], [0, 1])) * weights
        in_rates = -inverse @ (chance * into_label)
        in_rates += (1 - ODD) * np.bincount(self.labels, inverse * chance[own], n_classes)
        value, prior_grad = self._negative_log_prior(point)
        value += float(np.log(inverse).sum())
        gradient = np.r_[in_weights, grad.sum(axis=0), in_rates * rates * (1 - rates)]
        return value, gradient + prior_grad

    def _negative_log_prior(self, point: Floats) -> tuple[float, Floats]:
        weights, shift, odds = self._split(point)
        prior = self._prior_weights
        prior_shares = np.exp(prior)
        common = prior_shares @ (weights - prior)
        deviation = (weights - prior - common) / WEIGHT_SD
        common_sd = COOLER_SD if common < 0 else WARMER_SD
        mean_odds = odds.mean()
        odds_deviation = (odds - mean_odds) / self.spread
        rate = 1 / (1 + np.exp(-mean_odds))
        squares = deviation @ deviation + shift @ shift / SHIFT_SD**2
        value = 0.5 * (squares + odds_deviation @ odds_deviation)
        value += 0.5 * (common / common_sd) ** 2
        in_weights = (deviation - prior_shares * deviation.sum()) / WEIGHT_SD
        in_weights = in_weights + prior_shares * common / common_sd**2
        value -= PRIOR_WRONG * np.log(rate) + PRIOR_RIGHT * np.log1p(-rate)
        in_mean = PRIOR_RIGHT * rate - PRIOR_WRONG * (1 - rate)
        in_odds = odds_deviation / self.spread + in_mean / len(odds)
        return float(value), np.r_[in_weights, shift / SHIFT_SD**2, in_odds]

    @property
    def _prior_weights(self) -> Floats:
        """Prior mean of the log weights; the weights sum to one."""
        exponent = SHARPNESS * (self.loss - self.loss.min())
        return np.asarray(-exponent - np.log(np.exp(-exponent).sum()))
