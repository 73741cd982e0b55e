"""AlgorithmSelector: choose the algorithm to run on a problem from the problem's features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from itemwise.errors import InputError
from itemwise.learning.feature_columns import is_frame, known_columns
from itemwise.learning.regressor import FEWEST, DifficultyRegressor
from itemwise.numerics.arrays import Floats
from itemwise.numerics.splines import fit_splines
from itemwise.responses.names_and_facts import aligned
from itemwise.studies.algorithms.portfolio_choice import checked_epsilon
from itemwise.studies.algorithms.portfolios import Portfolio, portfolio
from itemwise.tables.foreign_frames import as_pandas
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

DIFFICULTY, PERFORMANCE = "difficulty", "performance"
CHOICES: dict[str, tuple[str, ...]] = {
    "kind": (DIFFICULTY, PERFORMANCE),
    "better": ("higher", "lower"),
    "scale": ("auto", "raw", "log"),
}


class AlgorithmSelector(BaseEstimator):  # type: ignore[misc]
    """Pick an algorithm for each problem from the problem's features.

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

    Difficulty and curves follow Kandanaarachchi and Smith-Miles (2023).

    Parameters
    ----------
    kind : "difficulty" or "performance"
    better : "higher" or "lower"
        Which performances are good.
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
    curves_ : performance along difficulty, higher is better; None with "performance"
    regressor_ : with "difficulty", the `DifficultyRegressor`, which also gives intervals; with
        "performance", the regressors of all algorithms; None if there is nothing to choose
    notes_ : remarks on the data and the fit

    Examples
    --------
    >>> import itemwise as iw
    >>> import numpy as np
    >>> hard = np.linspace(-2, 2, 80)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (80, 3))
    >>> accuracy = 1 / (1 + np.exp(hard * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.0])) + noise
    >>> selector = iw.AlgorithmSelector(regressor="knn").fit(hard, accuracy.clip(0, 1))
    >>> selector.predict([[-1.5], [1.5]])
    array([0, 1])
    """

    def __init__(
        self,
        kind: str = DIFFICULTY,
        *,
        better: str = "higher",
        scale: str = "auto",
        portfolio_size: int | None = None,
        epsilon: float = 0.0,
        regressor: Any = "rf",
        random_state: Any = 0,
    ) -> None:
        self.kind = kind
        self.better = better
        self.scale = scale
        self.portfolio_size = portfolio_size
        self.epsilon = epsilon
        self.regressor = regressor
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from features, one row per problem, and the table of performances `y`."""
        self._check_settings()
        X = self._checked_features(X, reset=True)
        table, self._named = _table(X, y)
        check_consistent_length(X, table)
        X, table, self.notes_ = _with_runs(X, table)
        self.curves_: Any = None
        self.regressor_: Any = None
        self._keep(table.columns)
        if table.shape[1] == 1:
            self.notes_.append("There is only one algorithm, so there is nothing to choose.")
            return self
        gains, learnt = _gains(table, self.better, self.scale)
        if self.kind == PERFORMANCE and self.portfolio_size is None:
            self._learn_each(X, learnt)
            return self
        found = _portfolio(gains, learnt)
        self.notes_ += found.notes
        kept: Any = found.performances.algorithms[found.splines.known]
        if self.portfolio_size is not None:
            kept = found.select(self.epsilon, size=self.portfolio_size).algorithms
        self._keep(kept)
        if self.kind == PERFORMANCE:
            self._learn_each(X, learnt)
        else:
            self._learn_difficulty(X, found)
        return self

    def predict(self, X: Any) -> Any:
        """Return the algorithm to run on each problem, by name or by column number."""
        check_is_fitted(self)
        X = self._checked_features(X, reset=False)
        if len(self.algorithms_) == 1:
            return np.repeat(self.algorithms_, len(X))
        return self.algorithms_[self._promise(X).argmax(axis=1)]

    def _check_settings(self) -> None:
        for name, known in CHOICES.items():
            given = getattr(self, name)
            if given not in known:
                raise InputError(
                    f"{name} is {given!r}, but it should be one of {', '.join(known)}."
                )
        checked_epsilon(self.epsilon)

    def _promise(self, X: Any) -> Floats:
        """Expected performance of each algorithm, (n_problems, n_kept); higher is better."""
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
        runs = gains.notna().to_numpy()
        few = [place for place in self._columns if runs[:, place].sum() < FEWEST]
        if few:
            names = [str(self._named[place]) for place in few]
            self.notes_.append(f"Never chosen (too few runs): {listed(names, 'algorithm')}.")
            self._keep([place for place in self._columns if place not in few])
        if not len(self._columns):
            raise InputError(f"No algorithm has at least {FEWEST} runs. Give more runs.")
        self.regressor_ = _OfEach(self.regressor, random_state=self.random_state)
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


class _OfEach(DifficultyRegressor):
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
        """Expected performance of each algorithm, (n_problems, n_algorithms)."""
        rows = self._new_rows(X)
        return np.column_stack([one.predict(rows) for one in self.regressors_])


def _table(X: Any, y: Any) -> tuple[pd.DataFrame, Any]:
    """Performances under numbered columns, in the order of the features; and the names."""
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


def _with_runs(X: Any, table: pd.DataFrame) -> tuple[Any, pd.DataFrame, list[str]]:
    """The problems with at least one run."""
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


def _gains(table: pd.DataFrame, better: str, scale: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Performances as given and on the learning scale, both with higher better."""
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


def _portfolio(gains: pd.DataFrame, learnt: pd.DataFrame) -> Portfolio:
    """Difficulty on the learning scale, with curves of performance on the scale it is judged on.

    A curve of mean logarithms would hide the rare run that takes a hundred times as long.
    """
    found = portfolio(learnt)
    ran = gains[[int(name) for name in found.performances.algorithms]]
    return replace(found, splines=fit_splines(found.difficulty, ran.to_numpy()))
