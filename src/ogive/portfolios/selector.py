"""AlgorithmSelector: choose the algorithm to run on a problem from the problem's features."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from ogive._files import PathLike, readable_file, write_bytes
from ogive._processes import heeded
from ogive._validation import one_of
from ogive.data.feature_columns import is_frame, known_columns
from ogive.data.foreign_frames import as_pandas
from ogive.data.names import aligned
from ogive.difficulty.regressor import FEWEST, DifficultyRegressor, check_predicts
from ogive.errors import InputError
from ogive.portfolios.airt import Portfolio, portfolio
from ogive.portfolios.selector_forests import (
    EXPECTING,
    PAIRWISE,
    SINGLE,
    SURVIVAL,
    TOGETHER,
    Choice,
    FeatureCoder,
    OfEach,
    Preferences,
    checked_costs,
    choose_way,
    costs_of,
    fit_forests,
    preferences,
)
from ogive.portfolios.strengths import checked_epsilon
from ogive.results.numbers import counted, listed, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.splines import fit_splines

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
        for name, known in CHOICES.items():
            one_of(getattr(self, name), name, known)
        checked_epsilon(self.epsilon)
        X = self._checked_features(X, reset=True)
        table, self._named = _numbered(X, y)
        check_consistent_length(X, table)
        before = checked_costs(feature_costs, len(table))
        X, table, before, self.notes_ = _with_runs(X, table, before)
        self.curves_: Any = None
        self.regressor_: Any = None
        self.forests_: dict[str, Any] = {}
        self.way_: str = self.kind
        self.first_: tuple[Any, float] | None = None
        self._keep(table.columns)
        if table.shape[1] == 1:
            self.notes_.append("There is only one algorithm, so there is nothing to choose.")
            return self
        gains, target = _gains_and_target(table, self.better, self.scale)
        fitted = None
        if self.portfolio_size is not None or self.kind == DIFFICULTY:
            fitted = _portfolio(gains, target)
            self.notes_ += fitted.notes
            kept: Any = fitted.performances.algorithms[fitted.splines.known]
            if self.portfolio_size is not None:
                kept = fitted.select(self.epsilon, size=self.portfolio_size).algorithms
            self._keep(kept)
        if self.kind in FOREST_KINDS:
            self._fit_forests(X, table, before)
        elif fitted is None or self.kind == PERFORMANCE:
            self._fit_each(X, target)
        else:
            self._fit_difficulty(X, fitted)
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
        check_is_fitted(self)
        index = X.index if is_frame(X := as_pandas(X)) else None
        costs = self._preferences(X).cost if self.forests_ else self._scores(X)
        performance = costs if self.better == "lower" else -costs
        return pd.DataFrame(performance, columns=list(self.algorithms_), index=index)

    def sureness(self, X: Any) -> Floats:
        """Return the share of trees that agree with each choice, (n_problems,).

        NaN if no forest chose: with "difficulty", "performance", and if the single best algorithm
        is always picked.
        """
        scores = self._scores(X)
        if not self.forests_ or self.way_ == SINGLE:
            return np.full(len(scores), np.nan)
        first = self._preferences(X).first
        return np.asarray(first[np.arange(len(first)), scores.argmin(axis=1)])

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
        """Return scores of the algorithms, (n_problems, n_kept); lower is better."""
        check_is_fitted(self)
        X = self._checked_features(X, reset=False)
        if len(self.algorithms_) == 1:
            return np.zeros((len(X), 1))
        if self.way_ == SINGLE:
            return np.tile(self._single, (len(X), 1))
        if self.forests_:
            return self._preferences(X).scores
        predicted: Floats = self.regressor_.predict(X)
        if self.kind == PERFORMANCE:
            return -predicted
        return -np.asarray(self.curves_.at(predicted)[:, self._of_curves])

    def _preferences(self, X: Any) -> Preferences:
        rows = self._coder.rows(self._checked_features(X, reset=False))
        if self.way_ not in (SINGLE, PAIRWISE):
            return preferences(self.forests_, self.way_, rows)
        survival: Preferences = self.forests_[SURVIVAL].predict(rows)
        if self.way_ == SINGLE:
            return survival
        pairs: Preferences = self.forests_[PAIRWISE].predict(rows)
        return pairs._replace(cost=survival.cost)

    def _fit_forests(self, X: Any, table: pd.DataFrame, before: Floats) -> None:
        """Fit forests; with "auto", inner folds say which, and whether choosing pays."""
        self._leave_out_few_runs(table)
        costs = costs_of(table.to_numpy()[:, self._columns], self.better, self.cutoff, before)
        seed = int(check_random_state(self.random_state).randint(2**31 - 10))
        self._coder = FeatureCoder()
        rows = self._coder.fit_rows(X)
        self.notes_ += self._coder.notes_
        self._single: Floats = costs.runs.mean(axis=0)
        names: tuple[str, ...] = (SURVIVAL,)
        if self.kind == AUTO:
            choice = choose_way(rows, costs, seed)
            self.way_ = choice.way
            self._note_choice(choice)
            if choice.way == TOGETHER:
                names = EXPECTING
            elif choice.way != SINGLE:
                names = tuple(dict.fromkeys((SURVIVAL, choice.way)))
        elif self.kind == PAIRWISE:
            names = (SURVIVAL, PAIRWISE)
        self.forests_ = fit_forests(names, rows, costs, seed)

    def _note_choice(self, choice: Choice) -> None:
        """Keep the algorithm that runs first, and say what inner folds found."""
        if choice.presolver is not None:
            first = self.algorithms_[choice.presolver.algorithm]
            self.first_ = (first, choice.presolver.budget)
        saved = {
            name: with_interval(gain, 1.96 * error) for name, (gain, error) in choice.saved.items()
        }
        if choice.way == SINGLE:
            name = self.algorithms_[int(self._single.argmin())]
            best = max(choice.saved, key=lambda way: choice.saved[way][0])
            self.notes_.append(
                f"Choosing does not pay: in inner folds it saves {saved[best]} per problem, so the "
                f"single best, {name}, is always picked."
            )
        else:
            self.notes_.append(
                f"Chosen by '{choice.way}', which saves {saved[choice.way]} per problem in inner "
                "folds against the single best."
            )
        if self.first_ is not None:
            self.notes_.append(f"{self.first_[0]} runs first, for {self.first_[1]:,.4g}.")

    def _fit_difficulty(self, X: Any, fitted: Portfolio) -> None:
        """Learn how hard each problem is; keep only the curves of the portfolio."""
        self.curves_ = fitted.splines
        # Algorithms with very few runs have no curve.
        names: Any = self._columns.astype(str)
        self._of_curves = fitted.performances.algorithms.get_indexer(names)
        self.regressor_ = DifficultyRegressor(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, fitted.difficulty)
        self.notes_ += self.regressor_.notes_

    def _fit_each(self, X: Any, target: pd.DataFrame) -> None:
        """Fit one regressor per algorithm, on the problems it ran on."""
        self._leave_out_few_runs(target)
        self.regressor_ = OfEach(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, target.to_numpy()[:, self._columns])
        self.notes_ += self.regressor_.notes_

    def _leave_out_few_runs(self, table: pd.DataFrame) -> None:
        """Exclude algorithms with too few runs to learn from."""
        runs = table.notna().to_numpy().sum(axis=0)[self._columns]
        few = self._columns[runs < FEWEST]
        if len(few):
            names = [str(self._named[column]) for column in few]
            self.notes_.append(f"Never chosen (too few runs): {listed(names, 'algorithm')}.")
            self._keep([column for column in self._columns if column not in few])
        if not len(self._columns):
            raise InputError(f"No algorithm has at least {FEWEST} runs. Give more runs.")

    def _keep(self, columns: Any) -> None:
        """Choose from these columns only, in the order of the table."""
        self._columns = np.sort([int(column) for column in columns])
        self.algorithms_ = self._named[self._columns]

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


def _numbered(X: Any, y: Any) -> tuple[pd.DataFrame, Any]:
    """Return performances under numbered columns, in the order of the features; and the names."""
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


def _with_runs(
    X: Any, table: pd.DataFrame, before: Floats
) -> tuple[Any, pd.DataFrame, Floats, list[str]]:
    """Return the problems with at least one run, and a note on the others."""
    ran = table.notna().any(axis=1).to_numpy()
    if ran.sum() < FEWEST:
        raise InputError(
            f"There are runs on {counted(int(ran.sum()), 'problem')} (n_samples = {len(ran)}), but "
            f"at least {FEWEST} are needed to learn which algorithm to choose."
        )
    if ran.all():
        return X, table, before, []
    lost = f"Left out (no runs): {counted(int((~ran).sum()), 'problem')}."
    return X[ran], table[ran].reset_index(drop=True), before[ran], [lost]


def _gains_and_target(
    table: pd.DataFrame, better: str, scale: str
) -> tuple[pd.DataFrame, pd.DataFrame]:
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
    return sign * table, sign * table.transform(np.log1p)


def _portfolio(gains: pd.DataFrame, target: pd.DataFrame) -> Portfolio:
    """Return difficulty on the learning scale, with curves of performance as it is judged.

    A curve of mean logarithms would hide the rare run that takes a hundred times as long.
    """
    fitted = portfolio(target)
    ran = gains[[int(name) for name in fitted.performances.algorithms]]
    return replace(fitted, splines=fit_splines(fitted.difficulty, ran.to_numpy()))


def load_selector(file: Path, max_bytes: int) -> AlgorithmSelector:
    """Restore the selector that `AlgorithmSelector.save` wrote."""
    from ogive.data.saved_estimators import unpacked

    content = readable_file(file, max_bytes).read_bytes()
    selector: AlgorithmSelector = unpacked(
        file, content, _check_loaded, "selector", "AlgorithmSelector.save", max_bytes
    )
    return selector


def _check_loaded(loaded: Any) -> None:
    """Refuse a selector whose parts are missing or do not belong together."""
    if not isinstance(loaded, AlgorithmSelector):
        raise InputError(f"it holds a {type(loaded).__name__}, not an AlgorithmSelector")
    sound = len(loaded.algorithms_) == len(loaded._columns) > 0  # noqa: SLF001
    if not (sound and loaded.kind in CHOICES["kind"] and hasattr(loaded, "way_")):
        raise InputError("its parts are damaged or do not belong together")
    check_predicts(loaded, getattr(loaded, "feature_names_in_", None))
