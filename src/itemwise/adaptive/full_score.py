"""Asking for the score on the whole bank, not for the ability: what a benchmark is run for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from itemwise.adaptive.bank import Ints
from itemwise.adaptive.state import State
from itemwise.numerics.arrays import Bools, Floats

LEAST_VARIANCE = 1e-12  # an item whose response is certain tells nothing
SAME = 1e-9  # gains nearer than that are equal, and the first item is taken, however sums round


@dataclass(frozen=True)
class FullScore:
    """The item after which the sum over all items is known best.

    The gain of an item is by how much its response is expected to lower the variance of the sum
    of all responses, averaged over the posterior: Cov(response, sum)² / Var(response). The sum
    holds the item itself, so that one that nothing else foretells may be worth asking. For right
    and wrong responses the gain is exact, for others it is that of the best straight line.
    """

    def choose(self, state: State, free: Bools) -> Ints:
        """The free item of the largest gain, in each row."""
        return self.choose_several(state, free, 1)[:, 0]

    def choose_several(self, state: State, free: Bools, count: int) -> Ints:
        """So many free items for each row, (n, count): each the best beside those before it.

        What the items chosen so far will tell is taken off the others (a Cholesky step), so that
        a batch is spread, and does not ask the same thing twice. Every row has enough free items.
        """
        bank, rows = state.bank, np.arange(len(free))
        weights = _posterior(state)
        mean = weights @ bank.expected.T
        noise = weights @ bank.noise.T
        variance = weights @ (bank.expected**2).T - mean**2 + noise
        with_sum = _with_sum(state, weights) + noise
        open_ = free.copy()
        chosen: list[Ints] = []
        told: list[Floats] = []
        for _ in range(count):
            gain = with_sum**2 / np.maximum(variance, LEAST_VARIANCE)
            gain = np.where(open_, gain, -1.0)
            best: Ints = (gain >= (1 - SAME) * gain.max(axis=1, keepdims=True)).argmax(axis=1)
            chosen.append(best)
            if len(chosen) == count:
                break
            open_[rows, best] = False
            away = bank.expected[best] - mean[rows, best][:, None]
            shared = (weights * away) @ bank.expected.T
            shared[rows, best] += noise[rows, best]
            shared -= sum(one * one[rows, best][:, None] for one in told)
            deviation = np.sqrt(np.maximum(variance[rows, best], LEAST_VARIANCE))[:, None]
            step = shared / deviation
            told.append(step)
            with_sum = with_sum - step * with_sum[rows, best][:, None] / deviation
            variance = variance - step**2
        return np.stack(chosen, axis=1)


def _posterior(state: State) -> Floats:
    """Weights of the nodes that sum to one, (n, n_nodes)."""
    weights = np.exp(state.log_posterior - state.log_posterior.max(axis=1, keepdims=True))
    found: Floats = weights / weights.sum(axis=1, keepdims=True)
    return found


def _with_sum(state: State, weights: Floats) -> Floats:
    """Covariance of each item's expectation with that of the sum of what is not answered."""
    unanswered = np.ones(state.free.shape)
    np.put_along_axis(unanswered, state.items, 0.0, axis=1)
    left = unanswered @ state.bank.expected
    away = left - (weights * left).sum(axis=1, keepdims=True)
    found: Floats = (weights * away) @ state.bank.expected.T
    return found
