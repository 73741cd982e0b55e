"""AlgorithmSelector: choose the algorithm to run on a problem from the problem's features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ogive._files import PathLike, readable_file, write_bytes
from ogive._processes import heeded
from ogive.data.feature_columns import is_frame, known_columns
from ogive.data.foreign_frames import as_pandas
from ogive.difficulty.regressor import FEWEST, DifficultyRegressor, check_predicts
from ogive.errors import InputError
from ogive.portfolios.airt import Portfolio, portfolio
from ogive.portfolios.selector_forests import (
    EXPECTING,
    PAIRWISE,
    SINGLE,
    SURVIVAL,
    TOGETHER,
    Chosen,
    FeatureCoder,
    OfEach,
    Preferences,
    checked_costs,
    choose_way,
    costs_of,
    enough_runs,
    gains_of,
    grown,
    preferences,
    table_of,
    with_runs,
)
from ogive.portfolios.strengths import checked_epsilon
from ogive.results.numbers import listed, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.splines import fit_splines

if TYPE_CHECKING:
    import pandas as pd


AUTO, DIFFICULTY, PERFORMANCE = "auto", "difficulty", "performance"
FOREST_KINDS = (AUTO, PAIRWISE, SURVIVAL)
CHOICES: dict[str, tuple[str, ...]] = {
    "kind": (*FOREST_KINDS, DIFFICULTY, PERFORMANCE),
    "better": ("higher", "lower"),
    "scale": ("auto", "raw", "log"),
}


class AlgorithmSelector(BaseEstimator):  # type: ignore[misc]
    """Pick an algorithm for each problem from the problem's features.

    "auto" lets inner folds choose by what the choice costs between a survival forest (all
    algorithms at once, split by log-rank scores; its leaves hold what runs cost), a forest of costs
    relative to those of the other algorithms, the mean of these two, and trees for each pair of
    algorithms, weighted by how much the choice between them matters. An algorithm runs first for a
    short while where that pays, and the single best algorithm is always picked where choosing does
    not pay; `notes_` say so. "survival" and "pairwise" are the forests alone.

    "difficulty" predicts how hard a problem is on the scale of a `portfolio`, looks up the mean
    performance of each algorithm at that difficulty (a smooth curve), and picks the best. The
    choice depends on that one number only, so it is the same for all equally hard problems.
    "performance" is the plain alternative: one regressor per algorithm predicts its performance,
    and the best prediction wins.

    Features may have missing values and columns of any kind, as for a `DifficultyRegressor`. `fit`
    takes a table of performances, problems × algorithms, with NaN where there was no run; problems
    without any run are left out. `predict` returns column names if the table was a frame, column
    numbers from 0 if it was an array. With a single algorithm it is always picked; "difficulty"
    needs three or more. For scikit-learn this is neither a classifier nor a regressor, and has no
    `score`: use `evaluate_selectors`.

    Pairs follow Xu et al. (2012), survival Tornede et al. (2020), difficulty and curves
    Kandanaarachchi and Smith-Miles (2023).

    Parameters
    ----------
    kind : "auto", "survival", "pairwise", "difficulty" or "performance"
    better : "higher" or "lower"
        Which performances are good.
    cutoff : float or None
        Time at which runs were stopped; a run of so long or longer did not end.
    scale : "auto", "raw" or "log"
        Scale on which regressors and difficulty are learnt; "log" is log(1 + t). "auto" uses it
        where lower is better and nothing is negative, as for runtimes. Curves use performance as
        given.
    portfolio_size : int or None
        Number of algorithms to choose from: those that a `portfolio` would keep. None for all.
    epsilon : float
        How close to the best curve an algorithm must come to count as strong when only some are
        kept, in the unit of the performances.
    regressor : str or scikit-learn regressor
        As for a `DifficultyRegressor`.
    random_state : int, RandomState or None
        Seed of a preset, and of the folds of a `DifficultyRegressor`.

    Attributes
    ----------
    algorithms_ : the algorithms to choose from
    way_ : what chooses: "together", "survival", "cost", "pairwise" or "single", or the kind
    first_ : the algorithm that runs first and for how long, or None
    curves_ : performance along difficulty, higher is better; None with "performance"
    regressor_ : with "difficulty", the `DifficultyRegressor`, which also gives intervals; with
        "performance", the regressors of all algorithms; None if there is nothing to choose
    notes_ : remarks on the data and the fit

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> hard = np.linspace(-2, 2, 80)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (80, 3))
    >>> accuracy = 1 / (1 + np.exp(hard * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.0])) + noise
    >>> selector = og.AlgorithmSelector().fit(hard, accuracy.clip(0, 1))
    >>> selector.predict([[-1.5], [1.5]])
    array([0, 1])
    """

    def __init__(
        self,
        kind: str = AUTO,
        *,
        better: str = "higher",
        cutoff: float | None = None,
        scale: str = "auto",
        portfolio_size: int | None = None,
        epsilon: float = 0.0,
        regressor: Any = "rf",
        random_state: Any = 0,
    ) -> None:
        self.kind = kind
        self.better = better
        self.cutoff = cutoff
        self.scale = scale
        self.portfolio_size = portfolio_size
        self.epsilon = epsilon
        self.regressor = regressor
        self.random_state = random_state

    @heeded()
    def fit(self, X: Any, y: Any, feature_costs: Any = None) -> Self:
        """Learn from features, one row per problem, and the table of performances `y`.

        `feature_costs` is what computing the features of each problem costs, in the unit of `y`.
        """
        self._check_settings()
        X = self._checked_features(X, reset=True)
        table, self._named = table_of(X, y)
        check_consistent_length(X, table)
        before = checked_costs(feature_costs, len(table))
        ran = table.notna().any(axis=1).to_numpy()
        X, table, self.notes_ = with_runs(X, table)
        self.curves_: Any = None
        self.regressor_: Any = None
        self.forests_: dict[str, Any] = {}
        self.way_: str = self.kind
        self.first_: tuple[Any, float] | None = None
        self._keep(table.columns)
        if table.shape[1] == 1:
            self.notes_.append("There is only one algorithm, so there is nothing to choose.")
            return self
        gains, learnt = gains_of(table, self.better, self.scale)
        if self.kind in FOREST_KINDS and self.portfolio_size is None:
            self._grow(X, table, before[ran])
            return self
        if self.kind == PERFORMANCE and self.portfolio_size is None:
            self._learn_each(X, learnt)
            return self
        found = _portfolio(gains, learnt)
        self.notes_ += found.notes
        kept: Any = found.performances.algorithms[found.splines.known]
        if self.portfolio_size is not None:
            kept = found.select(self.epsilon, size=self.portfolio_size).algorithms
        self._keep(kept)
        if self.kind in FOREST_KINDS:
            self._grow(X, table, before[ran])
        elif self.kind == PERFORMANCE:
            self._learn_each(X, learnt)
        else:
            self._learn_difficulty(X, found)
        return self

    def predict(self, X: Any) -> Any:
        """Return the algorithm to run on each problem, by name or by column number."""
        return self.rank(X)[:, 0]

    def rank(self, X: Any) -> Any:
        """Return all algorithms for each problem, the best first, (n_problems, n_algorithms)."""
        order = np.argsort(self._scores(X), axis=1, kind="stable")
        return self.algorithms_[order]

    def predict_performance(self, X: Any) -> pd.DataFrame:
        """Return the expected performance of each algorithm, one column each.

        In the unit of the table that was learnt; for "performance", on the learning scale. A run
        that does not end counts as it did in the table.
        """
        import pandas as pd

        check_is_fitted(self)
        index = X.index if is_frame(X := as_pandas(X)) else None
        if self.forests_:
            costs = self._preferences(X).cost
            found = costs if self.better == "lower" else -costs
        else:
            promise = -self._scores(X)
            found = promise if self.better == "higher" else -promise
        return pd.DataFrame(found, columns=list(self.algorithms_), index=index)

    def sureness(self, X: Any) -> Floats:
        """Return the share of trees that agree with each choice, (n_problems,).

        NaN where no forest chose: with "difficulty", "performance", and where always the single
        best algorithm is picked.
        """
        scores = self._scores(X)
        if not self.forests_ or self.way_ == SINGLE:
            return np.full(len(scores), np.nan)
        first = self._preferences(X).first
        sure: Floats = first[np.arange(len(first)), scores.argmin(axis=1)]
        return sure

    def save(self, path: PathLike) -> Path:
        """Write the fitted selector to one file, usually called .skops; `ogive.load` reads it.

        As with a `DifficultyRegressor`, parts that are neither scikit-learn's nor Ogive's are
        refused.
        """
        from ogive.data.saved_estimators import packed, skops_io

        skops_io()
        if not hasattr(self, "algorithms_"):
            raise InputError("The selector is not fitted yet. Call fit first.")
        write_bytes(path, packed(self, "selector"))
        return Path(path)

    def _scores(self, X: Any) -> Floats:
        """Return lower is better, (n_problems, n_kept)."""
        check_is_fitted(self)
        X = self._checked_features(X, reset=False)
        if len(self.algorithms_) == 1:
            return np.zeros((len(X), 1))
        if self.way_ == SINGLE:
            return np.tile(self._single, (len(X), 1))
        if self.forests_:
            return self._preferences(X).scores
        return -self._promise(X)

    def _preferences(self, X: Any) -> Preferences:
        rows = self._coder.rows(self._checked_features(X, reset=False))
        if self.way_ not in (SINGLE, PAIRWISE):
            return preferences(self.forests_, self.way_, rows)
        said: Preferences = self.forests_[SURVIVAL].predict(rows)
        if self.way_ == SINGLE:
            return said
        pairs: Preferences = self.forests_[PAIRWISE].predict(rows)
        return pairs._replace(cost=said.cost)

    def _grow(self, X: Any, table: pd.DataFrame, before: Floats) -> None:
        """Grow forests; with "auto", inner folds say which, and whether choosing pays."""
        few = self._columns[~enough_runs(table, self._columns)]
        self._leave_out(few)
        costs = costs_of(table.to_numpy()[:, self._columns], self.better, self.cutoff, before)
        seed = int(check_random_state(self.random_state).randint(2**31 - 10))
        self._coder = FeatureCoder()
        rows = self._coder.fit_rows(X)
        self.notes_ += self._coder.notes_
        self._single: Floats = costs.runs.mean(axis=0)
        ways: tuple[str, ...] = (SURVIVAL,)
        if self.kind == AUTO:
            chosen = choose_way(rows, costs, seed)
            self.way_ = chosen.way
            self._tell(chosen)
            if chosen.way == TOGETHER:
                ways = EXPECTING
            elif chosen.way != SINGLE:
                ways = tuple(dict.fromkeys((SURVIVAL, chosen.way)))
        elif self.kind == PAIRWISE:
            ways = (SURVIVAL, PAIRWISE)
        self.forests_ = grown(ways, rows, costs, seed)

    def _tell(self, chosen: Chosen) -> None:
        """Keep the algorithm that runs first, and say what inner folds found."""
        if chosen.first is not None:
            self.first_ = (self.algorithms_[chosen.first.algorithm], chosen.first.seconds)
        said = {
            name: with_interval(gain, 1.96 * error) for name, (gain, error) in chosen.paid.items()
        }
        if chosen.way == SINGLE:
            name = self.algorithms_[int(self._single.argmin())]
            best = max(chosen.paid, key=lambda way: chosen.paid[way][0])
            self.notes_.append(
                f"Choosing does not pay: in inner folds it saves {said[best]} per problem, so the "
                f"single best, {name}, is always picked."
            )
        else:
            self.notes_.append(
                f"Chosen by '{chosen.way}', which saves {said[chosen.way]} per problem in inner "
                "folds against the single best."
            )
        if self.first_ is not None:
            self.notes_.append(f"{self.first_[0]} runs first, for {self.first_[1]:,.4g}.")

    def _leave_out(self, few: Any) -> None:
        """Never choose algorithms with too few runs."""
        if len(few):
            names = [str(self._named[place]) for place in few]
            self.notes_.append(f"Never chosen (too few runs): {listed(names, 'algorithm')}.")
            self._keep([place for place in self._columns if place not in few])
        if not len(self._columns):
            raise InputError(f"No algorithm has at least {FEWEST} runs. Give more runs.")

    def _check_settings(self) -> None:
        for name, known in CHOICES.items():
            given = getattr(self, name)
            if given not in known:
                raise InputError(
                    f"{name} is {given!r}, but it should be one of {', '.join(known)}."
                )
        checked_epsilon(self.epsilon)

    def _promise(self, X: Any) -> Floats:
        """Return expected performance of each algorithm, (n_problems, n_kept); higher is better."""
        found: Floats = self.regressor_.predict(X)
        return found if self.kind == PERFORMANCE else self.curves_.at(found)[:, self._of_curves]

    def _keep(self, names: Any) -> None:
        """Choose from these columns only, in the order of the table."""
        self._columns = np.sort([int(name) for name in names])
        self.algorithms_ = self._named[self._columns]

    def _learn_difficulty(self, X: Any, found: Portfolio) -> None:
        """Learn how hard each problem is; keep only the curves of the portfolio."""
        self.curves_ = found.splines
        # Algorithms with very few runs have no curve.
        names: Any = self._columns.astype(str)
        self._of_curves = found.performances.algorithms.get_indexer(names)
        self.regressor_ = DifficultyRegressor(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, found.difficulty)
        self.notes_ += self.regressor_.notes_

    def _learn_each(self, X: Any, gains: pd.DataFrame) -> None:
        """Fit one regressor per algorithm, on the problems it ran on."""
        self._leave_out(self._columns[~enough_runs(gains, self._columns)])
        self.regressor_ = OfEach(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, gains.to_numpy()[:, self._columns])
        self.notes_ += self.regressor_.notes_

    def _checked_features(self, X: Any, *, reset: bool) -> Any:
        X = as_pandas(X)
        if not is_frame(X):
            return validate_data(
                self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=reset
            )
        if not reset and (names := getattr(self, "feature_names_in_", None)) is not None:
            X = known_columns(X, names)
        validate_data(self, X, skip_check_array=True, reset=reset)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.required = True
        tags.target_tags.multi_output, tags.target_tags.single_output = True, False
        return tags


def _portfolio(gains: pd.DataFrame, learnt: pd.DataFrame) -> Portfolio:
    """Difficulty on the learning scale, with curves of performance on the scale it is judged on.

    A curve of mean logarithms would hide the rare run that takes a hundred times as long.
    """
    found = portfolio(learnt)
    ran = gains[[int(name) for name in found.performances.algorithms]]
    return replace(found, splines=fit_splines(found.difficulty, ran.to_numpy()))


def load_selector(file: Path, max_bytes: int) -> AlgorithmSelector:
    """Restore the selector that `AlgorithmSelector.save` wrote."""
    from ogive.data.saved_estimators import unpacked

    content = readable_file(file, max_bytes).read_bytes()
    found: AlgorithmSelector = unpacked(
        file, content, _check_loaded, "selector", "AlgorithmSelector.save", max_bytes
    )
    return found


def _check_loaded(found: Any) -> None:
    """Refuse a selector whose parts are missing or do not belong together."""
    if not isinstance(found, AlgorithmSelector):
        raise InputError(f"it holds a {type(found).__name__}, not an AlgorithmSelector")
    sound = len(found.algorithms_) == len(found._columns) > 0  # noqa: SLF001
    sound = sound and found.kind in CHOICES["kind"] and hasattr(found, "way_")
    if not sound:
        raise InputError("its parts are damaged or do not belong together")
    check_predicts(found, getattr(found, "feature_names_in_", None))
