"""Forests that choose among algorithms: by survival, by cost, and by pairs.

All learn from a table of costs, problems × algorithms, lower is better, without gaps. One forest is
grown for all algorithms at once, so that a hundred algorithms cost little more than one; its leaves
hold the costs of the training problems in them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats

TREES = 50
LEAST_LEAF = 2
PART_OF_FEATURES = 1 / 3
PAIR_TREES = 12
MOST_PAIRED = 6  # algorithms that are compared in pairs: those that add most to the virtual best


class Preferences(NamedTuple):
    """What a forest says of algorithms on problems, each (n_problems, n_algorithms)."""

    scores: Floats  # lower is better
    first: Floats  # share of the trees in which an algorithm is best
    cost: Floats  # expected


def log_rank_scores(costs: Floats, late: NDArray[np.bool_]) -> Floats:
    """Cumulated hazard less the event, of each column: a log-rank test compares means of these.

    `late` runs did not end; they outlived all others.
    """
    scores = np.empty(costs.shape)
    n = len(costs)
    for column in range(costs.shape[1]):
        ended = ~late[:, column]
        times = np.where(ended, costs[:, column], np.inf)
        different, place = np.unique(times, return_inverse=True)
        events = np.bincount(place, ended, minlength=len(different))
        at_risk = n - np.searchsorted(np.sort(times), different)
        scores[:, column] = np.cumsum(events / at_risk)[place] - ended
    return scores


def relative_costs(costs: Floats) -> Floats:
    """Logarithms of costs, less their mean on each problem: what depends on the choice."""
    logs = np.log1p(costs - min(0.0, float(costs.min())))
    found: Floats = logs - logs.mean(axis=1, keepdims=True)
    return found


class LeafForest:
    """A forest on targets of all algorithms, whose leaves hold mean costs.

    On log-rank scores it is a survival forest: since all runs are stopped at the same time, the
    Kaplan-Meier curve of a leaf is the distribution of the costs in it, and its mean their mean.
    """

    def __init__(self, seed: int, n_trees: int = TREES) -> None:
        self.seed, self.n_trees = seed, n_trees

    def fit(self, rows: Floats, target: Floats, costs: Floats) -> LeafForest:
        """Grow the forest on `target`; keep mean costs in its leaves."""
        from sklearn.ensemble import RandomForestRegressor

        self.forest = RandomForestRegressor(
            self.n_trees,
            max_features=PART_OF_FEATURES,
            min_samples_leaf=LEAST_LEAF,
            random_state=self.seed,
        ).fit(rows, target)
        leaves = self.forest.apply(rows)
        self.leaves = [_means_in(leaves[:, tree], costs) for tree in range(self.n_trees)]
        return self

    def predict(self, rows: Floats) -> Preferences:
        """Mean costs as scores."""
        places = self.forest.apply(rows)
        width = self.leaves[0].shape[1]
        total, first = np.zeros((len(rows), width)), np.zeros((len(rows), width))
        for tree, means in enumerate(self.leaves):
            found = means[places[:, tree]]
            total += found
            first[np.arange(len(rows)), found.argmin(axis=1)] += 1
        total /= self.n_trees
        return Preferences(total, first / self.n_trees, total)


def _means_in(leaf: NDArray[np.intp], values: Floats) -> Floats:
    """Mean of the values of each leaf, (n_nodes, n_columns); those of all where nobody is."""
    order = np.argsort(leaf, kind="stable")
    different, start = np.unique(leaf[order], return_index=True)
    means = np.repeat(values.mean(axis=0)[None], int(leaf.max()) + 1, axis=0)
    counts = np.diff(np.append(start, len(leaf)))
    means[different] = np.add.reduceat(values[order], start, axis=0) / counts[:, None]
    return means


class PairForest:
    """Trees that say for each pair of algorithms which is cheaper, weighted by the difference.

    After Xu, Hutter, Hoos and Leyton-Brown (2012): the algorithm that wins most pairs is chosen.
    """

    def __init__(self, seed: int, n_trees: int = PAIR_TREES) -> None:
        self.seed, self.n_trees = seed, n_trees

    def fit(self, rows: Floats, costs: Floats) -> PairForest:
        """Grow trees for each pair of the algorithms that add most to the virtual best."""
        self.width = costs.shape[1]
        self.kept = _adding_most(costs)
        random = np.random.default_rng(self.seed)
        pairs = [(one, other) for k, one in enumerate(self.kept) for other in self.kept[:k]]
        self.pairs = [
            (one, other, self._grown(rows, costs, one, other, random)) for one, other in pairs
        ]
        return self

    def _grown(
        self, rows: Floats, costs: Floats, one: int, other: int, random: np.random.Generator
    ) -> list[Any]:
        """Trees for one pair; a number where the samples leave nothing to learn."""
        from sklearn.tree import DecisionTreeClassifier

        apart = np.abs(costs[:, one] - costs[:, other])
        cheaper = costs[:, one] < costs[:, other]
        grown: list[Any] = []
        for _ in range(self.n_trees):
            weights = apart * np.bincount(
                random.integers(0, len(rows), len(rows)), minlength=len(rows)
            )
            seed = int(random.integers(2**31 - 1))
            seen = weights > 0
            if cheaper[seen].all() or not cheaper[seen].any():
                grown.append(float(cheaper[seen].all()) if seen.any() else 0.5)
                continue
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
            grown.append(tree.fit(rows[seen], cheaper[seen], weights[seen], check_input=False))
        return grown

    def predict(self, rows: Floats) -> Preferences:
        """Lost pairs as scores; the share of trees for the winner of each pair."""
        won = np.zeros((len(rows), self.width))
        share = np.zeros((len(rows), self.width))
        for one, other, grown in self.pairs:
            votes = np.zeros(len(rows))
            for tree in grown:
                votes += tree if isinstance(tree, float) else _says(tree, rows)
            votes /= self.n_trees
            share[:, one] += votes
            share[:, other] += 1 - votes
            won[:, one] += votes > 0.5
            won[:, other] += votes <= 0.5
        most = max(len(self.kept) - 1, 1)
        out = np.full(self.width, np.inf)
        out[self.kept] = 0.0
        scores = (most - won) / most + 1e-3 * (most - share) / most + out
        return Preferences(scores, share / most, np.full(scores.shape, np.nan))


def _says(tree: Any, rows: Floats) -> Floats:
    """1 where a tree takes the first of its pair for cheaper."""
    found: Floats = tree.predict_proba(rows, check_input=False)[:, -1] > 0.5
    return found


def _adding_most(costs: Floats) -> list[int]:
    """The algorithms that add most to the virtual best, one after the other."""
    kept = [int(costs.mean(axis=0).argmin())]
    best = costs[:, kept[0]].copy()
    while len(kept) < min(costs.shape[1], MOST_PAIRED):
        gains = (best[:, None] - np.minimum(best[:, None], costs)).mean(axis=0)
        gains[kept] = -1.0
        following = int(gains.argmax())
        if gains[following] <= 0:
            break
        kept.append(following)
        best = np.minimum(best, costs[:, following])
    return kept
