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

A few items defy every classifier although their label is right, and no table can tell them from
wrong labels: `ODD` is how many are expected. Everything is the maximum of the posterior; evidence
is the probability that the true class is another one than the label says.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from itemwise.numerics.arrays import Floats, evenly_spaced, row_blocks

Codes = NDArray[np.int64]

FLOOR = 0.01  # of each member, spread over all classes: none is sure beyond doubt
ODD = 0.004  # share of items with a right label that nobody can predict
WRONG_BEFORE, RIGHT_BEFORE = 1.0, 20.0  # labels seen before, as it were
SPREAD = 0.5  # of the log-odds of noise rates between classes
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
    likely: Codes  # (n_items,), the most likely class, given the label
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
    task = _Task(_logs(probabilities[members][:, some]), labels[some], loss[members])
    point = task.solved()
    weights, shift, rates = task.parts(point)
    chance, wrong = np.empty(probabilities.shape[1:]), np.empty(n_items)
    likely = np.empty(n_items, dtype=np.int64)
    for rows in row_blocks(n_items, MOST_LEARNED_FROM):
        chance[rows] = _chance(_logs(probabilities[members][:, rows]), weights, shift)
        joint = _joint(chance[rows], labels[rows], rates)
        own = (np.arange(len(joint)), labels[rows])
        wrong[rows] = 1 - joint[own] / joint.sum(axis=1)
        likely[rows] = joint.argmax(axis=1)
    if several:
        members = np.where(members == len(probabilities) - 1, -1, members)
    return LabelNoise(wrong, chance, likely, rates, members, weights)


def _log_loss(probabilities: Floats, labels: Codes) -> float:
    own = probabilities[np.arange(len(labels)), labels]
    return -float(np.log((1 - FLOOR) * own + FLOOR / probabilities.shape[1]).mean())


def _logs(probabilities: Floats) -> Floats:
    """Logarithms that stay finite, (n_items, n_classes, n_members)."""
    smooth = (1 - FLOOR) * probabilities + FLOOR / probabilities.shape[2]
    return np.ascontiguousarray(np.moveaxis(np.log(smooth), 0, 2))


def _chance(logs: Floats, weights: Floats, shift: Floats) -> Floats:
    exponent = logs @ weights + shift
    exponent -= exponent.max(axis=1, keepdims=True)
    found: Floats = np.exp(exponent)
    found /= found.sum(axis=1, keepdims=True)
    return found


def _joint(chance: Floats, labels: Codes, rates: Floats) -> Floats:
    """Probability of each true class together with the label given, (n_items, n_classes)."""
    n_items, n_classes = chance.shape
    joint: Floats = (1 - ODD) * chance * rates / (n_classes - 1)
    own = (np.arange(n_items), labels)
    joint[own] = (1 - ODD) * chance[own] * (1 - rates[labels]) + ODD / n_classes
    return joint


@dataclass(frozen=True, eq=False)
class _Task:
    """What is maximised, as a function of (log weights, shifts, log-odds of rates)."""

    logs: Floats  # (n_items, n_classes, n_members)
    labels: Codes
    loss: Floats  # (n_members,)

    def solved(self) -> Floats:
        from scipy.optimize import minimize

        n_classes = self.logs.shape[1]
        start = np.r_[self._weights_before, np.zeros(n_classes), np.full(n_classes, START)]
        options = {"maxiter": MOST_TURNS, "ftol": 1e-7}
        found = minimize(self.lack, start, jac=True, method="L-BFGS-B", options=options)
        point: Floats = found.x
        return point

    def parts(self, point: Floats) -> tuple[Floats, Floats, Floats]:
        """Weights, shifts and noise rates."""
        _, n_classes, n_members = self.logs.shape
        weights, shift, odds = np.split(point, [n_members, n_members + n_classes])
        return np.exp(weights), shift, 1 / (1 + np.exp(-odds))

    def lack(self, point: Floats) -> tuple[float, Floats]:
        """The negative log-posterior, and its derivatives."""
        weights, shift, rates = self.parts(point)
        n_items, n_classes, _ = self.logs.shape
        chance = _chance(self.logs, weights, shift)
        own = (np.arange(n_items), self.labels)
        joint = _joint(chance, self.labels, rates)
        inverse = 1 / joint.sum(axis=1)
        share = (1 - ODD) / (n_classes - 1)
        kept = (1 - ODD) * (1 - rates)
        # Derivatives in the chances, then in the exponents of which they are the softmax.
        slope = np.outer(-inverse, share * rates)
        slope[own] = -inverse * kept[self.labels]
        slope -= (slope * chance).sum(axis=1, keepdims=True)
        slope *= chance
        in_weights = np.tensordot(slope, self.logs, ([0, 1], [0, 1])) * weights
        in_rates = -share * (inverse @ chance)
        lost = np.bincount(self.labels, inverse * chance[own], n_classes)
        in_rates += (share + 1 - ODD) * lost
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
        apart = (odds - middle) / SPREAD
        rate = 1 / (1 + np.exp(-middle))
        value = 0.5 * (far @ far + shift @ shift / SHIFT_SD**2 + apart @ apart)
        value += 0.5 * (common / reach) ** 2
        in_weights = (far - shares * far.sum()) / WEIGHT_SD + shares * common / reach**2
        value -= WRONG_BEFORE * np.log(rate) + RIGHT_BEFORE * np.log1p(-rate)
        in_middle = RIGHT_BEFORE * rate - WRONG_BEFORE * (1 - rate)
        in_odds = apart / SPREAD + in_middle / n_classes
        return float(value), np.r_[in_weights, shift / SHIFT_SD**2, in_odds]

    @property
    def _weights_before(self) -> Floats:
        """Logarithms; the weights sum to one."""
        behind = SHARPNESS * (self.loss - self.loss.min())
        found: Floats = -behind - np.log(np.exp(-behind).sum())
        return found
