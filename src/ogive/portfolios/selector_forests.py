"""Survival, cost, pairwise forests; choice among them.

Forests that choose among algorithms: by survival, by cost, and by pairs.

All learn from a table of costs, problems × algorithms, lower is better, without gaps. One forest is
grown for all algorithms at once, so that a hundred algorithms cost little more than one; its leaves
hold the costs of the training problems in them.

Which way to select pays: out-of-fold costs of several forests, and of running one algorithm.

What is compared is what a user would pay: the time of computing features, a first algorithm that
runs for a short while before, and the run of the selected algorithm, up to the cut-off.

Tables of performances as selectors learn from them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ogive.data.feature_columns import coder_of, is_frame
from ogive.data.foreign_frames import as_pandas
from ogive.data.names import aligned
from ogive.difficulty.regressor import FEWEST, DifficultyRegressor
from ogive.errors import InputError
from ogive.portfolios.performances import worst_where_missing
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd


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
    """Return logarithms of costs, less their mean on each problem: what depends on the choice."""
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
        """Return mean costs as scores."""
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
        """Return trees for one pair; a number where the samples leave nothing to learn."""
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
        """Return lost pairs as scores; the share of trees for the winner of each pair."""
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
    """Return 1 where a tree takes the first of its pair for cheaper."""
    found: Floats = tree.predict_proba(rows, check_input=False)[:, -1] > 0.5
    return found


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


PAIRWISE, SURVIVAL, COST, TOGETHER, SINGLE = "pairwise", "survival", "cost", "together", "single"
FORESTS = (SURVIVAL, COST, PAIRWISE)
EXPECTING = (SURVIVAL, COST)  # forests that expect costs, which can be averaged
INNER_FOLDS = 5
SURELY = 1.0  # standard errors by which a choice must pay
SHARES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1)  # of the cut-off, for the first algorithm


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

    def paid(
        self, chosen: NDArray[np.intp], first: First | None = None, *, features: bool = True
    ) -> Floats:
        """Return what each problem costs with the chosen algorithm, (n_problems,)."""
        every = np.arange(len(self.runs))
        run, late = self.runs[every, chosen], self.late[every, chosen]
        if self.cutoff is None or self.limit is None:
            return run
        before = self.features.copy() if features else np.zeros(len(run))
        done = np.zeros(len(run), dtype=bool)
        if first is not None:
            early = self.runs[:, first.algorithm]
            done = ~self.late[:, first.algorithm] & (early <= first.seconds)
            before += first.seconds
        if features and self.presolved is not None:
            run, late = np.where(self.presolved, 0.0, run), late & ~self.presolved
        whole = before + run
        paid = np.where(late | (whole > self.cutoff), self.limit, whole)
        return paid if first is None else np.where(done, early, paid)


class First(NamedTuple):
    """An algorithm that runs for a short while before features are computed."""

    algorithm: int
    seconds: float


class Chosen(NamedTuple):
    """How to select, as out-of-fold costs have it."""

    way: str
    first: First | None
    paid: dict[str, tuple[float, float]]  # of each way: mean cost saved and its standard error


def grown(ways: tuple[str, ...], rows: Floats, costs: Costs, seed: int) -> dict[str, Any]:
    """Return the forests that these ways need."""
    found: dict[str, Any] = {}
    runs = costs.runs
    if SURVIVAL in ways:
        target = log_rank_scores(runs, costs.late)
        found[SURVIVAL] = LeafForest(seed).fit(rows, target, runs)
    if COST in ways:
        found[COST] = LeafForest(seed + 1).fit(rows, relative_costs(runs), runs)
    if PAIRWISE in ways:
        found[PAIRWISE] = PairForest(seed + 2).fit(rows, runs)
    return found


def preferences(forests: dict[str, Any], way: str, rows: Floats) -> Preferences:
    """Return what one way says, or the mean of those that expect costs."""
    if way != TOGETHER:
        return forests[way].predict(rows)  # type: ignore[no-any-return]
    return together({name: forests[name].predict(rows) for name in EXPECTING})


def together(found: dict[str, Preferences]) -> Preferences:
    """Return means of the expected costs of several forests, and of their shares."""
    kept = [found[name] for name in EXPECTING]
    cost: Floats = np.mean([each.cost for each in kept], axis=0)
    return Preferences(cost, np.mean([each.first for each in kept], axis=0), cost)


def choose_way(rows: Floats, costs: Costs, seed: int, ways: tuple[str, ...] = FORESTS) -> Chosen:
    """Return the way whose out-of-fold choices cost least; the single best where none pays."""
    parts = np.random.default_rng(seed).permutation(len(rows)) % min(INNER_FOLDS, len(rows))
    names = [*ways, TOGETHER] if len(ways) > 1 else list(ways)
    picks = {name: np.zeros(len(rows), dtype=np.intp) for name in [*names, SINGLE]}
    for part in np.unique(parts):
        train, test = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        learnt = costs.of(train)
        forests = grown(ways, rows[train], learnt, seed)
        found = {name: forest.predict(rows[test]) for name, forest in forests.items()}
        if TOGETHER in names:
            found[TOGETHER] = together(found)
        for name, said in found.items():
            picks[name][test] = said.scores.argmin(axis=1)
        picks[SINGLE][test] = int(learnt.runs.mean(axis=0).argmin())
    return _best_of(costs, picks, names)


def _best_of(costs: Costs, picks: dict[str, NDArray[np.intp]], names: list[str]) -> Chosen:
    """Compare what the picks cost, each with the first algorithm that suits it best."""
    alone = costs.paid(picks[SINGLE], features=False)
    firsts = {name: best_first(costs, picks[name]) for name in names}
    saved = {name: alone - costs.paid(picks[name], firsts[name]) for name in names}
    told = {name: _mean_and_error(each) for name, each in saved.items()}
    way = names[-1]  # all together, unless another is surely better
    for name in names:
        gain, error = _mean_and_error(saved[name] - saved[way])
        if gain > SURELY * error and told[name][0] > told[way][0]:
            way = name
    gain, error = told[way]
    if not gain > SURELY * error:
        single = best_first(costs, picks[SINGLE], features=False)
        return Chosen(SINGLE, single, told)
    return Chosen(way, firsts[way], told)


def best_first(costs: Costs, picked: NDArray[np.intp], *, features: bool = True) -> First | None:
    """The algorithm and the time that save most if it runs first; None where that does not pay."""
    if costs.cutoff is None:
        return None
    plain = costs.paid(picked, features=features)
    best, found = 0.0, None
    for share in SHARES:
        for algorithm in range(costs.runs.shape[1]):
            first = First(algorithm, share * costs.cutoff)
            gain, error = _mean_and_error(plain - costs.paid(picked, first, features=features))
            if gain > max(best, SURELY * error):
                best, found = gain, first
    return found


def _mean_and_error(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


PENALTY = 10.0  # PAR10


def table_of(X: Any, y: Any) -> tuple[pd.DataFrame, Any]:
    """Return performances under numbered columns, in the order of the features; and the names."""
    import pandas as pd

    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a table of performances, one "
            "row per problem and one column per algorithm."
        )
    y = as_pandas(y)
    named: Any = np.arange(np.shape(y)[1] if np.ndim(y) == 2 else 1)
    if isinstance(y, pd.DataFrame):
        named = np.asarray([str(name) for name in y.columns], dtype=object)
        if len(set(named)) < len(named):
            raise InputError("y has the same algorithm twice. Give one column per algorithm.")
        if is_frame(X) and not y.index.equals(X.index):
            y = y.apply(lambda column: aligned(column, X.index, "y"))
    elif np.ndim(y) == 1:
        raise InputError(
            "y has one dimension, but it should be a table: one row per problem, one column per "
            "algorithm."
        )
    cells = check_array(y, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    return pd.DataFrame(cells), named


def with_runs(X: Any, table: pd.DataFrame) -> tuple[Any, pd.DataFrame, list[str]]:
    """Return the problems with at least one run."""
    ran = table.notna().any(axis=1).to_numpy()
    if ran.sum() < FEWEST:
        raise InputError(
            f"There are runs on {counted(int(ran.sum()), 'problem')} (n_samples = {len(ran)}), but "
            f"at least {FEWEST} are needed to learn which algorithm to choose."
        )
    if ran.all():
        return X, table, []
    lost = f"Left out (no runs): {counted(int((~ran).sum()), 'problem')}."
    return X[ran], table[ran].reset_index(drop=True), [lost]


def gains_of(table: pd.DataFrame, better: str, scale: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return performances as given and on the learning scale, both with higher better."""
    sign = 1.0 if better == "higher" else -1.0
    least = float(np.nanmin(table.to_numpy()))
    if scale == "raw" or (scale == "auto" and (better == "higher" or least < 0)):
        return sign * table, sign * table
    if least < 0:
        raise InputError(
            f"scale='log' is log(1 + t), but there are performances down to {least:g}. "
            "Use scale='raw'."
        )
    logs: pd.DataFrame = table.transform(np.log1p)
    return sign * table, sign * logs


def costs_of(
    table: Floats, better: str, cutoff: float | None, features: Floats | None = None
) -> Costs:
    """Costs of runs, lower is better; a missing run costs as much as the worst on its problem."""
    gains = table if better == "higher" else -table
    runs = -worst_where_missing(gains)
    late = np.zeros(runs.shape, dtype=bool)
    if better == "higher" or cutoff is None:
        return Costs(runs, late, np.zeros(len(runs)))
    late = runs >= cutoff
    limit = max(float(runs.max()), PENALTY * cutoff) if late.any() else PENALTY * cutoff
    before = np.zeros(len(runs)) if features is None else features
    return Costs(runs, late, before, float(cutoff), limit)


def enough_runs(table: pd.DataFrame, columns: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return which of the columns have as many runs as it takes to learn from."""
    runs = table.notna().to_numpy().sum(axis=0)
    found: NDArray[np.bool_] = runs[columns] >= FEWEST
    return found


class FeatureCoder(DifficultyRegressor):
    """Features as one matrix of numbers, coded as a `DifficultyRegressor` codes them."""

    def fit_rows(self, X: Any) -> Floats:
        """Learn the coding, and return the training rows."""
        rows, _ = self._training_rows(X, np.arange(len(X), dtype=float))
        plan = None if self.numbers_ is None else self._plan()
        self.coder_ = coder_of(plan)
        return _plain(self.coder_.fit_transform(rows))

    def rows(self, X: Any) -> Floats:
        """Return code new rows."""
        return _plain(self.coder_.transform(self._new_rows(X)))


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
            made = self._made(target[known], seed)
            self.regressors_.append(made.fit(_safe_indexing(rows, known), target[known]))
        return self

    def predict(self, X: Any) -> Floats:
        """Return expected performance of each algorithm, (n_problems, n_algorithms)."""
        rows = self._new_rows(X)
        return np.column_stack([one.predict(rows) for one in self.regressors_])


def checked_costs(given: Any, n_problems: int) -> Floats:
    """Return costs of computing features, 0 where they are not known."""
    if given is None:
        return np.zeros(n_problems)
    costs: Floats = np.asarray(given, dtype=float).reshape(-1)
    if len(costs) != n_problems or (costs < 0).any():
        raise InputError(
            f"feature_costs has {len(costs)} numbers, but there are {n_problems} problems. Give "
            "one number of 0 or more per problem."
        )
    return np.nan_to_num(costs)


def _plain(matrix: Any) -> Floats:
    """Return dense numbers in the precision of trees."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    widest = float(np.finfo(np.float32).max)
    found: Floats = np.ascontiguousarray(np.clip(dense, -widest, widest), dtype=np.float32)
    return found
