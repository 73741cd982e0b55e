"""The probability that a label is wrong, from the probabilities that classifiers give to classes.

Where classes overlap, good classifiers contradict right labels, so that a contradiction alone is no
evidence. What marks a wrong label is that classifiers are sure of another class, and that the sure
ones are wrong more often than they should be. Two things are therefore estimated together from the
labels as given:

- the chance of each class, softmax(Σ weight × log probability + shift). The weights say how much
  each classifier tells, and, together, how sure one may be of it (stacking and scaling in one);
- the noise rate of each class: the share of its labels that were changed into another one. The
  chance that a label is as given never falls below it, however sure the classifiers are (Copas,
  1988, for two classes; the joint of true and given classes of Northcutt et al., 2021, for more).

Labels may be wrong everywhere alike, or in one class only, and may change into any class or mostly
into one. Both are weighed by how well they explain the labels: rates that are alike against rates
that are far apart (`SPREADS`), by Laplace's approximation, and for each class any other class alike
against shares with a Dirichlet prior, by their exact ratio.

A few items defy every classifier although their label is right, and no table can tell them from
wrong labels: `ODD` is how many are expected. A single classifier may err in the same way on many of
them, so that its evidence counts less (`ALONE`). Weights, shifts and rates are the maximum of the
posterior; evidence is the probability that the true class is another one than the label says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks

Codes = NDArray[np.int64]

FLOOR = 0.01  # of each member, spread over all classes: none is sure beyond doubt
ODD = 0.004  # share of items with a right label that nobody can predict
WRONG_BEFORE, RIGHT_BEFORE = 1.0, 20.0  # labels seen before, as it were
SPREADS = (0.5, 2.0)  # of the log-odds of noise rates between classes: alike, or far apart
# Whether labels of a class change mostly into few others, before any is seen; the Dirichlet prior
# of their shares is worth so many labels, and shares are found in so many turns.
SELECTIVE, SHARES_BEFORE, SHARE_TURNS = 0.2, 1.0, 3
ALONE = 0.6  # how much log-odds above even count if there is one classifier
# Weights are known before as sure as this, in logarithms; better classifiers are given more of it:
# e times as much for 1 / SHARPNESS less log-loss. All together, they may be far smaller, for models
# are often too sure, but not much larger.
WEIGHT_SD, SHARPNESS = 0.32, 10.0
COOLER_SD, WARMER_SD = 1.5, 0.2
SHIFT_SD = 1.0
MOST_MEMBERS = 8  # the best by log-loss; more would tell the same again
MOST_LEARNED_FROM = 5000  # items
START = -3.0  # log-odds of noise rates
MOST_TURNS = 100


@dataclass(frozen=True, eq=False)
class LabelNoise:
    """How likely each label is wrong, and what that follows from."""

    wrong: Floats  # (n_items,), the probability that the label is wrong
    chance: Floats  # (n_items, n_classes), of each class, whatever the label says
    likely: Codes  # (n_items,), the most likely class; another than the label if that is wrong
    rates: Floats  # (n_classes,), the share of labels of each class that were changed
    members: Codes  # which members were used, the best first; -1 is the mean of all
    weights: Floats  # of these


def label_noise(probabilities: Floats, labels: Codes) -> LabelNoise:
    """Noise of `labels`, (n_items,) codes, by `probabilities`, (n_members, n_items, n_classes).

    Each item must have been predicted by members that did not learn from it. Rows sum to one. The
    mean of several members is one more: it is seldom sure without reason.
    """
    n_items = len(labels)
    several = len(probabilities) > 1
    if several:
        probabilities = np.concatenate([probabilities, probabilities.mean(axis=0)[None]])
    loss = np.array([_log_loss(each, labels) for each in probabilities])
    members = np.argsort(loss, kind="stable")[:MOST_MEMBERS]
    some = evenly_spaced(n_items, MOST_LEARNED_FROM)
    logs = _logs(probabilities[members][:, some])
    fits = [_fitted(logs, labels[some], loss[members], spread) for spread in SPREADS]
    credence = _softmax(np.array([fit.log_evidence for fit in fits]))
    chance, wrong = np.zeros(probabilities.shape[1:]), np.empty(n_items)
    likely = np.empty(n_items, dtype=np.int64)
    for rows in row_blocks(n_items, MOST_LEARNED_FROM):
        logs, given = _logs(probabilities[members][:, rows]), labels[rows]
        truth = np.zeros_like(chance[rows])
        for share, fit in zip(credence, fits, strict=True):
            found = _chance(logs, fit.weights, fit.shift)
            chance[rows] += share * found
            truth += share * _truth(found, given, fit.rates, fit.shares)
        own = np.arange(len(given)), given
        wrong[rows] = 1 - truth[own]
        truth[own] = np.where(wrong[rows] > 0.5, 0.0, truth[own])
        likely[rows] = truth.argmax(axis=1)
    if several:
        members = np.where(members == len(probabilities) - 1, -1, members)
    else:
        wrong = _doubted(wrong)
    rates, weights = (
        credence @ np.stack([getattr(fit, name) for fit in fits]) for name in ("rates", "weights")
    )
    return LabelNoise(wrong, chance, likely, rates, members, weights)


@dataclass(frozen=True, eq=False)
class _Fit:
    """One explanation of the labels."""

    weights: Floats
    shift: Floats
    rates: Floats  # (n_classes,)
    shares: Floats  # (n_classes, n_classes), see `_Task`
    log_evidence: float


def _fitted(logs: Floats, labels: Codes, loss: Floats, spread: float) -> _Fit:
    """Return rates and shares in turn; with two classes there is one other class, so no shares."""
    n_classes = logs.shape[1]
    anyone = (1 - np.eye(n_classes)) / max(n_classes - 1, 1)
    task = _Task(logs, labels, loss, spread, anyone)
    point = task.solved()
    for _ in range(SHARE_TURNS if n_classes > 2 else 0):
        weights, shift, rates = task.parts(point)
        truth = _truth(_chance(logs, weights, shift), labels, rates, task.shares)
        task = replace(task, shares=_shares(_changed(truth, labels)))
        point = task.solved(point)
    weights, shift, rates = task.parts(point)
    wrong = _chance(logs, weights, shift).sum(axis=0) * rates
    occam = 0.5 * float(np.log1p(spread**2 * wrong).sum())  # prior to posterior, each class
    return _Fit(weights, shift, rates, task.shares, -task.lack(point)[0] - occam)


def _changed(truth: Floats, labels: Codes) -> Floats:
    """Return expected number of labels by true and given class; 0 where both are the same."""
    n_classes = truth.shape[1]
    found = np.zeros((n_classes, n_classes))
    np.add.at(found.T, labels, truth)
    np.fill_diagonal(found, 0.0)
    return found


def _shares(changed: Floats) -> Floats:
    """Return into which class the changed labels of each class go: any alike, or few, weighed."""
    from scipy.special import gammaln

    n_classes = len(changed)
    other = 1 - np.eye(n_classes)
    before = SHARES_BEFORE / (n_classes - 1)
    total = changed.sum(axis=1)
    few = changed + before * other
    few /= few.sum(axis=1, keepdims=True)
    gain = gammaln(SHARES_BEFORE) - gammaln(SHARES_BEFORE + total) + total * np.log(n_classes - 1)
    gain += ((gammaln(before + changed) - gammaln(before)) * other).sum(axis=1)
    odds = gain + np.log(SELECTIVE / (1 - SELECTIVE))
    selective = (1 / (1 + np.exp(-odds.clip(-700, 700))))[:, None]
    found: Floats = selective * few + (1 - selective) * other / (n_classes - 1)
    return found


def _doubted(wrong: Floats) -> Floats:
    """Return the evidence of one classifier, nearer to even where it is above."""
    sure = wrong.clip(0.5, 1 - 1e-12)
    odds = ALONE * (np.log(sure) - np.log1p(-sure))
    found: Floats = np.where(wrong > 0.5, 1 / (1 + np.exp(-odds)), wrong)
    return found


def _softmax(values: Floats) -> Floats:
    found: Floats = np.exp(values - values.max())
    found /= found.sum()
    return found


def _log_loss(probabilities: Floats, labels: Codes) -> float:
    own = probabilities[np.arange(len(labels)), labels]
    return -float(np.log((1 - FLOOR) * own + FLOOR / probabilities.shape[1]).mean())


def _logs(probabilities: Floats) -> Floats:
    """Return logarithms that stay finite, (n_items, n_classes, n_members)."""
    smooth = (1 - FLOOR) * probabilities + FLOOR / probabilities.shape[2]
    return np.ascontiguousarray(np.moveaxis(np.log(smooth), 0, 2))


def _chance(logs: Floats, weights: Floats, shift: Floats) -> Floats:
    exponent = logs @ weights + shift
    exponent -= exponent.max(axis=1, keepdims=True)
    found: Floats = np.exp(exponent)
    found /= found.sum(axis=1, keepdims=True)
    return found


def _joint(chance: Floats, labels: Codes, rates: Floats, shares: Floats) -> Floats:
    """Return probability of each true class together with the label given, (n_items, n_classes)."""
    n_items, n_classes = chance.shape
    joint: Floats = (1 - ODD) * chance * (rates * shares.T[labels])
    own = (np.arange(n_items), labels)
    joint[own] = (1 - ODD) * chance[own] * (1 - rates[labels]) + ODD / n_classes
    return joint


def _truth(chance: Floats, labels: Codes, rates: Floats, shares: Floats) -> Floats:
    """Return probability of each true class, given the label, (n_items, n_classes)."""
    joint = _joint(chance, labels, rates, shares)
    joint /= joint.sum(axis=1, keepdims=True)
    return joint


@dataclass(frozen=True, eq=False)
class _Task:
    """What is maximised, as a function of (log weights, shifts, log-odds of rates).

    `shares` says into which class a changed label goes: (true class, given class), 0 on the
    diagonal, rows sum to one.
    """

    logs: Floats  # (n_items, n_classes, n_members)
    labels: Codes
    loss: Floats  # (n_members,)
    spread: float
    shares: Floats  # (n_classes, n_classes)

    def solved(self, start: Floats | None = None) -> Floats:
        from scipy.optimize import minimize

        n_classes = self.logs.shape[1]
        if start is None:
            start = np.r_[self._weights_before, np.zeros(n_classes), np.full(n_classes, START)]
        options = {"maxiter": MOST_TURNS, "ftol": 1e-7}
        found = minimize(self.lack, start, jac=True, method="L-BFGS-B", options=options)
        point: Floats = found.x
        return point

    def parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Return weights, shifts and noise rates."""
        _, n_classes, n_members = self.logs.shape
        weights, shift, odds = np.split(point, [n_members, n_members + n_classes])
        return np.exp(weights), shift, 1 / (1 + np.exp(-odds))

    def lack(self, point: Floats) -> tuple[float, Floats]:
        """Return the negative log-posterior, and its derivatives."""
        weights, shift, rates = self.parts(point)
        n_items, n_classes, _ = self.logs.shape
        chance = _chance(self.logs, weights, shift)
        own = (np.arange(n_items), self.labels)
        joint = _joint(chance, self.labels, rates, self.shares)
        inverse = 1 / joint.sum(axis=1)
        toward = (1 - ODD) * self.shares.T[self.labels]  # 0 where true and given class are the same
        # Derivatives in the chances, then in the exponents of which they are the softmax.
        slope = -inverse[:, None] * toward * rates
        slope[own] = -inverse * (1 - ODD) * (1 - rates[self.labels])
        slope -= (slope * chance).sum(axis=1, keepdims=True)
        slope *= chance
        in_weights = np.tensordot(slope, self.logs, ([0, 1], [0, 1])) * weights
        in_rates = -inverse @ (chance * toward)
        in_rates += (1 - ODD) * np.bincount(self.labels, inverse * chance[own], n_classes)
        value, prior = self._prior(point)
        value += float(np.log(inverse).sum())
        gradient = np.r_[in_weights, slope.sum(axis=0), in_rates * rates * (1 - rates)]
        return value, gradient + prior

    def _prior(self, point: Floats) -> tuple[float, Floats]:
        _, n_classes, n_members = self.logs.shape
        weights, shift, odds = np.split(point, [n_members, n_members + n_classes])
        before = self._weights_before
        shares = np.exp(before)
        common = shares @ (weights - before)
        far = (weights - before - common) / WEIGHT_SD
        reach = COOLER_SD if common < 0 else WARMER_SD
        middle = odds.mean()
        apart = (odds - middle) / self.spread
        rate = 1 / (1 + np.exp(-middle))
        value = 0.5 * (far @ far + shift @ shift / SHIFT_SD**2 + apart @ apart)
        value += 0.5 * (common / reach) ** 2
        in_weights = (far - shares * far.sum()) / WEIGHT_SD + shares * common / reach**2
        value -= WRONG_BEFORE * np.log(rate) + RIGHT_BEFORE * np.log1p(-rate)
        in_middle = RIGHT_BEFORE * rate - WRONG_BEFORE * (1 - rate)
        in_odds = apart / self.spread + in_middle / n_classes
        return float(value), np.r_[in_weights, shift / SHIFT_SD**2, in_odds]

    @property
    def _weights_before(self) -> Floats:
        """Logarithms; the weights sum to one."""
        behind = SHARPNESS * (self.loss - self.loss.min())
        found: Floats = -behind - np.log(np.exp(-behind).sum())
        return found
