"""Forests that choose among algorithms, by survival, cost and pairs; and the choice among them.

All learn from a table of costs, problems × algorithms, lower is better, without gaps. One forest is
grown for all algorithms at once, so that a hundred algorithms cost little more than one; its leaves
hold the costs of the training problems in them. Which forest pays is decided by out-of-fold costs:
the time of computing features, a presolver that runs for a short while before, and the run of the
selected algorithm, up to the cut-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ogive.data.feature_columns import coder_of
from ogive.difficulty.regressor import DifficultyRegressor
from ogive.errors import InputError
from ogive.portfolios.performances import worst_where_missing
from ogive.stats.array_backend import Floats

TREES = 50
LEAST_LEAF = 2  # problems
PART_OF_FEATURES = 1 / 3
PAIR_TREES = 12
MOST_PAIRED = 6  # algorithms that are compared in pairs: those that add most to the virtual best

PAIRWISE, SURVIVAL, COST, TOGETHER, SINGLE = "pairwise", "survival", "cost", "together", "single"
FORESTS = (SURVIVAL, COST, PAIRWISE)
EXPECTING = (SURVIVAL, COST)  # forests that expect costs, which can be averaged
INNER_FOLDS = 5
MIN_STANDARD_ERRORS = 1.0  # number of standard errors by which a choice must pay
BUDGETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # of a presolver, as shares of the cut-off
PENALTY = 10.0  # PAR10: a run that did not end counts as ten cut-offs


class Preferences(NamedTuple):
    """Predictions of a forest for problems, each (n_problems, n_algorithms)."""

    scores: Floats  # lower is better
    first: Floats  # share of the trees in which an algorithm is best
    cost: Floats  # expected


def log_rank_scores(costs: Floats, late: NDArray[np.bool_]) -> Floats:
    """Return cumulated hazard less the event, of each column: log-rank tests compare their means.

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
    """Return logarithms of costs, less their mean on each problem: what depends on the choice."""
    logs = np.log1p(costs - min(0.0, float(costs.min())))
    return np.asarray(logs - logs.mean(axis=1, keepdims=True))


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
        """Return mean costs as scores."""
        leaves = self.forest.apply(rows)
        shape = len(rows), self.leaves[0].shape[1]
        total, first = np.zeros(shape), np.zeros(shape)
        for tree, means in enumerate(self.leaves):
            costs = means[leaves[:, tree]]
            total += costs
            first[np.arange(len(rows)), costs.argmin(axis=1)] += 1
        total /= self.n_trees
        return Preferences(total, first / self.n_trees, total)


def _means_in(leaf: NDArray[np.intp], values: Floats) -> Floats:
    """Return means of the values of each leaf, (n_nodes, n_columns); of all for empty nodes."""
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
        self.pairs = [
            (one, other, self._trees(rows, costs[:, one], costs[:, other], random))
            for k, one in enumerate(self.kept)
            for other in self.kept[:k]
        ]
        return self

    def _trees(
        self, rows: Floats, one: Floats, other: Floats, random: np.random.Generator
    ) -> list[Any]:
        """Return trees for the costs of a pair; numbers if a sample leaves nothing to learn."""
        from sklearn.tree import DecisionTreeClassifier

        difference, cheaper, n_rows = np.abs(one - other), one < other, len(rows)
        trees: list[Any] = []
        for _ in range(self.n_trees):
            drawn = random.integers(0, n_rows, n_rows)
            weights = difference * np.bincount(drawn, minlength=n_rows)
            seed = int(random.integers(2**31 - 1))
            used = weights > 0
            if cheaper[used].all() or not cheaper[used].any():
                trees.append(float(cheaper[used].all()) if used.any() else 0.5)
                continue
            tree = DecisionTreeClassifier(max_features="sqrt", random_state=seed)
            trees.append(tree.fit(rows[used], cheaper[used], weights[used], check_input=False))
        return trees

    def predict(self, rows: Floats) -> Preferences:
        """Return lost pairs as scores; the share of trees for the winner of each pair."""
        won = np.zeros((len(rows), self.width))
        share = np.zeros((len(rows), self.width))
        for one, other, trees in self.pairs:
            votes = np.zeros(len(rows))
            for tree in trees:
                if isinstance(tree, float):
                    votes += tree
                else:
                    votes += tree.predict_proba(rows, check_input=False)[:, -1] > 0.5
            votes /= self.n_trees
            share[:, one] += votes
            share[:, other] += 1 - votes
            won[:, one] += votes > 0.5
            won[:, other] += votes <= 0.5
        most = max(len(self.kept) - 1, 1)
        never = np.full(self.width, np.inf)
        never[self.kept] = 0.0
        scores = (most - won) / most + 1e-3 * (most - share) / most + never
        return Preferences(scores, share / most, np.full(scores.shape, np.nan))


def _adding_most(costs: Floats) -> list[int]:
    """Return the algorithms that add most to the virtual best, one after the other."""
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


def fit_forests(names: tuple[str, ...], rows: Floats, costs: Costs, seed: int) -> dict[str, Any]:
    """Fit the forests of these names."""
    forests: dict[str, Any] = {}
    if SURVIVAL in names:
        target = log_rank_scores(costs.runs, costs.late)
        forests[SURVIVAL] = LeafForest(seed).fit(rows, target, costs.runs)
    if COST in names:
        forests[COST] = LeafForest(seed + 1).fit(rows, relative_costs(costs.runs), costs.runs)
    if PAIRWISE in names:
        forests[PAIRWISE] = PairForest(seed + 2).fit(rows, costs.runs)
    return forests


def preferences(forests: dict[str, Any], way: str, rows: Floats) -> Preferences:
    """Return the predictions of one forest, or the means of those that expect costs."""
    if way == TOGETHER:
        return together({name: forests[name].predict(rows) for name in EXPECTING})
    predictions: Preferences = forests[way].predict(rows)
    return predictions


def together(predictions: dict[str, Preferences]) -> Preferences:
    """Return means of the expected costs of several forests, and of their shares."""
    kept = [predictions[name] for name in EXPECTING]
    cost: Floats = np.mean([each.cost for each in kept], axis=0)
    return Preferences(cost, np.mean([each.first for each in kept], axis=0), cost)


# --- Which forest to select by: out-of-fold costs ---


class Presolver(NamedTuple):
    """An algorithm that runs for a short while before features are computed."""

    algorithm: int
    budget: float


@dataclass(frozen=True, eq=False)
class Costs:
    """What running each algorithm on each problem costs, and what comes before."""

    runs: Floats  # (n_problems, n_algorithms), lower is better, without gaps
    late: NDArray[np.bool_]  # which runs did not end
    features: Floats  # (n_problems,): time of computing features
    cutoff: float | None = None
    limit: float | None = None  # what a run that did not end costs
    presolved: NDArray[np.bool_] | None = None  # problems that computing features solves

    def of(self, rows: NDArray[np.intp]) -> Costs:
        """Return the costs on some problems."""
        solved = None if self.presolved is None else self.presolved[rows]
        cells = self.runs[rows], self.late[rows], self.features[rows]
        return Costs(*cells, self.cutoff, self.limit, solved)

    def selection_cost(
        self,
        chosen: NDArray[np.intp],
        presolver: Presolver | None = None,
        *,
        features: bool = True,
    ) -> Floats:
        """Return what each problem costs with the chosen algorithm, (n_problems,)."""
        each = np.arange(len(self.runs))
        run, late = self.runs[each, chosen], self.late[each, chosen]
        if self.cutoff is None or self.limit is None:
            return run
        before = self.features.copy() if features else np.zeros(len(run))
        if presolver is not None:
            before += presolver.budget
        if features and self.presolved is not None:
            run, late = np.where(self.presolved, 0.0, run), late & ~self.presolved
        whole = before + run
        cost = np.where(late | (whole > self.cutoff), self.limit, whole)
        if presolver is None:
            return cost
        first = self.runs[:, presolver.algorithm]
        done = ~self.late[:, presolver.algorithm] & (first <= presolver.budget)
        return np.where(done, first, cost)


def costs_of(
    table: Floats, better: str, cutoff: float | None, features: Floats | None = None
) -> Costs:
    """Return costs, lower is better; a missing run costs as much as the worst on its problem."""
    runs = -worst_where_missing(table if better == "higher" else -table)
    late = np.zeros(runs.shape, dtype=bool)
    if better == "higher" or cutoff is None:
        return Costs(runs, late, np.zeros(len(runs)))
    late = runs >= cutoff
    limit = PENALTY * cutoff
    if late.any():
        limit = max(float(runs.max()), limit)
    before = np.zeros(len(runs)) if features is None else features
    return Costs(runs, late, before, float(cutoff), limit)


def checked_costs(given: Any, n_problems: int) -> Floats:
    """Return costs of computing features, 0 if they are not known."""
    if given is None:
        return np.zeros(n_problems)
    costs: Floats = np.asarray(given, dtype=float).reshape(-1)
    if len(costs) != n_problems or (costs < 0).any():
        raise InputError(
            f"`feature_costs` must be one number of 0 or more per problem ({n_problems} problems), "
            f"got {len(costs)} numbers."
        )
    return np.nan_to_num(costs)


class Choice(NamedTuple):
    """How to select, by out-of-fold costs."""

    way: str
    presolver: Presolver | None
    saved: dict[str, tuple[float, float]]  # by each way: mean cost saved and its standard error


def choose_way(rows: Floats, costs: Costs, seed: int, ways: tuple[str, ...] = FORESTS) -> Choice:
    """Return the way whose out-of-fold choices cost least; the single best if none pays.

    Another way replaces all together, and any way the single best, only if it costs less by more
    than one standard error.
    """
    parts = np.random.default_rng(seed).permutation(len(rows)) % min(INNER_FOLDS, len(rows))
    names = [*ways, TOGETHER] if len(ways) > 1 else list(ways)
    picks = {name: np.zeros(len(rows), dtype=np.intp) for name in [*names, SINGLE]}
    for part in np.unique(parts):
        train, test = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        training_costs = costs.of(train)
        forests = fit_forests(ways, rows[train], training_costs, seed)
        predictions = {name: forest.predict(rows[test]) for name, forest in forests.items()}
        if TOGETHER in names:
            predictions[TOGETHER] = together(predictions)
        for name, predicted in predictions.items():
            picks[name][test] = predicted.scores.argmin(axis=1)
        picks[SINGLE][test] = int(training_costs.runs.mean(axis=0).argmin())
    return _cheapest(costs, picks, names)


def _cheapest(costs: Costs, picks: dict[str, NDArray[np.intp]], names: list[str]) -> Choice:
    """Compare what the picks cost, each with the presolver that suits it best."""
    single_best = costs.selection_cost(picks[SINGLE], features=False)
    presolvers = {name: best_presolver(costs, picks[name]) for name in names}
    savings = {
        name: single_best - costs.selection_cost(picks[name], presolvers[name]) for name in names
    }
    saved = {name: _mean_and_error(each) for name, each in savings.items()}
    way = names[-1]  # all together, unless another is surely better
    for name in names:
        gain, error = _mean_and_error(savings[name] - savings[way])
        if gain > MIN_STANDARD_ERRORS * error and saved[name][0] > saved[way][0]:
            way = name
    gain, error = saved[way]
    if not gain > MIN_STANDARD_ERRORS * error:
        return Choice(SINGLE, best_presolver(costs, picks[SINGLE], features=False), saved)
    return Choice(way, presolvers[way], saved)


def best_presolver(
    costs: Costs, picked: NDArray[np.intp], *, features: bool = True
) -> Presolver | None:
    """Return the algorithm and budget that save most if it runs first; None if none pays."""
    if costs.cutoff is None:
        return None
    without = costs.selection_cost(picked, features=features)
    most, best = 0.0, None
    for share in BUDGETS:
        for algorithm in range(costs.runs.shape[1]):
            presolver = Presolver(algorithm, share * costs.cutoff)
            cost = costs.selection_cost(picked, presolver, features=features)
            gain, error = _mean_and_error(without - cost)
            if gain > max(most, MIN_STANDARD_ERRORS * error):
                most, best = gain, presolver
    return best


def _mean_and_error(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


# --- Features and regressors ---


class FeatureCoder(DifficultyRegressor):
    """Features as one matrix of numbers, coded as a `DifficultyRegressor` codes them."""

    def fit_rows(self, X: Any) -> Floats:
        """Learn the coding, and return the training rows."""
        rows, _ = self._training_rows(X, np.arange(len(X), dtype=float))
        self.coder_ = coder_of(None if self.numbers_ is None else self._plan())
        return _single_precision(self.coder_.fit_transform(rows))

    def rows(self, X: Any) -> Floats:
        """Return new rows, coded."""
        return _single_precision(self.coder_.transform(self._new_rows(X)))


def _single_precision(matrix: Any) -> Floats:
    """Return dense numbers in the precision of trees."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    most = float(np.finfo(np.float32).max)
    clipped: Floats = np.ascontiguousarray(np.clip(dense, -most, most), dtype=np.float32)
    return clipped


class OfEach(DifficultyRegressor):
    """One regressor per target, without intervals; features are encoded once."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn each column of `y` (n_problems, n_algorithms) from the rows where it is known."""
        from sklearn.utils import _safe_indexing, check_random_state

        rows, _ = self._training_rows(X, np.arange(len(y)))  # encoding depends on X only
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.regressors_ = []
        for target in y.T:
            known = np.flatnonzero(np.isfinite(target))
            model = self._unfitted(target[known], seed)
            self.regressors_.append(model.fit(_safe_indexing(rows, known), target[known]))
        return self

    def predict(self, X: Any) -> Floats:
        """Return expected performance of each algorithm, (n_problems, n_algorithms)."""
        rows = self._new_rows(X)
        return np.column_stack([one.predict(rows) for one in self.regressors_])
