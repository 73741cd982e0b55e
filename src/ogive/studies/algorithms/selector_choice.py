"""Which way to select pays: out-of-fold costs of several forests, and of running one algorithm.

What is compared is what a user would pay: the time of computing features, a first algorithm that
runs for a short while before, and the run of the selected algorithm, up to the cut-off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.studies.algorithms.selector_forests import (
    LeafForest,
    PairForest,
    Preferences,
    log_rank_scores,
    relative_costs,
)

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
        """The costs on some problems."""
        solved = None if self.presolved is None else self.presolved[rows]
        cells = self.runs[rows], self.late[rows], self.features[rows]
        return Costs(*cells, self.cutoff, self.limit, solved)

    def paid(
        self, chosen: NDArray[np.intp], first: First | None = None, *, features: bool = True
    ) -> Floats:
        """What each problem costs with the chosen algorithm, (n_problems,)."""
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
    """The forests that these ways need."""
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
    """What one way says, or the mean of those that expect costs."""
    if way != TOGETHER:
        return forests[way].predict(rows)  # type: ignore[no-any-return]
    return together({name: forests[name].predict(rows) for name in EXPECTING})


def together(found: dict[str, Preferences]) -> Preferences:
    """Means of the expected costs of several forests, and of their shares."""
    kept = [found[name] for name in EXPECTING]
    cost: Floats = np.mean([each.cost for each in kept], axis=0)
    return Preferences(cost, np.mean([each.first for each in kept], axis=0), cost)


def choose_way(rows: Floats, costs: Costs, seed: int, ways: tuple[str, ...] = FORESTS) -> Chosen:
    """The way whose out-of-fold choices cost least; the single best where none pays."""
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
