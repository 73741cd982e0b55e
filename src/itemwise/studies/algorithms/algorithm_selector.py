"""AlgorithmSelector: which algorithm to run on a problem, from its features, before any has run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from itemwise.errors import InputError
from itemwise.learning.regressor import FEWEST, DifficultyRegressor
from itemwise.learning.rows import is_frame, known_columns
from itemwise.numerics.arrays import Floats
from itemwise.numerics.splines import fit_splines
from itemwise.responses.naming import aligned
from itemwise.studies.algorithms.portfolio_choice import checked_epsilon
from itemwise.studies.algorithms.portfolios import Portfolio, portfolio
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
    """Picks an algorithm for each problem by the problem's features.

    "difficulty" learns how hard a problem is by a `portfolio`, looks up the mean performance of
    each algorithm at that difficulty (a smooth curve), and picks the best. One number then stands
    for the whole problem: among equally hard problems the choice is always the same. "performance"
    is the plain alternative: a regressor for each algorithm predicts how it will do, and the best
    prediction is picked.

    Features may have gaps and columns of any kind, as those of a `DifficultyRegressor`. `fit` takes
    a table of performances, problems × algorithms, NaN where there was no run; a problem without
    any run is left out. Of a frame, `predict` gives names of columns; of an array, their numbers
    from 0. With a single algorithm it is always picked; "difficulty" needs three or more. For
    scikit-learn it is neither a classifier nor a regressor, and it has no `score`: what a choice is
    worth stands in the table, and `evaluate_selectors` judges by it.

    Difficulty and curves are those of Kandanaarachchi and Smith-Miles (2023).

    Parameters
    ----------
    kind : "difficulty" or "performance"
    better : "higher" or "lower"
        Which performances are good.
    scale : "auto", "raw" or "log"
        On which scale regressors and difficulty are learnt; "log" is log(1 + t). "auto" takes it
        where lower is better and nothing is negative, as of runtimes. Curves are of performance as
        it is given.
    portfolio_size : int or None
        How many algorithms to choose from: those that a `portfolio` would keep. None: from all.
    epsilon : float
        How near the best curve an algorithm must come to count as strong when some are kept, in the
        unit of the performances.
    regressor : str or scikit-learn regressor
        As of a `DifficultyRegressor`.
    random_state : int, RandomState or None
        Of a preset, and of the folds of a `DifficultyRegressor`.

    Attributes
    ----------
    algorithms_ : those that are chosen from
    curves_ : performance along difficulty, higher is better; None by performance
    regressor_ : by difficulty, the `DifficultyRegressor`, which also gives intervals; by
        performance, what predicts a column an algorithm; None where there is nothing to choose
    notes_ : what a reader should know

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
        """Learn from a row of features a problem, and the table of performances `y`."""
        self._check_settings()
        X = self._checked_features(X, reset=True)
        table, self._named = _table(X, y)
        check_consistent_length(X, table)
        X, table, self.notes_ = _with_runs(X, table)
        self.curves_: Any = None
        self.regressor_: Any = None
        self._keep(table.columns)
        if table.shape[1] == 1:
            self.notes_.append("A single algorithm: there is nothing to choose.")
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
        """The algorithm to run on each problem: names, or numbers of columns of an array."""
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
        """How well each algorithm is expected to do, (n_problems, n_kept); higher is better."""
        found: Floats = self.regressor_.predict(X)
        return found if self.kind == PERFORMANCE else self.curves_.at(found)[:, self._of_curves]

    def _keep(self, names: Any) -> None:
        """Choose from these columns from now on, in the order of the table."""
        self._columns = np.sort([int(name) for name in names])
        self.algorithms_ = self._named[self._columns]

    def _learn_difficulty(self, X: Any, found: Portfolio) -> None:
        """How hard each problem is; of the portfolio, no more is kept than a choice needs."""
        self.curves_ = found.splines
        # There is no curve of an algorithm that hardly ran.
        names: Any = self._columns.astype(str)
        self._of_curves = found.performances.algorithms.get_indexer(names)
        self.regressor_ = DifficultyRegressor(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, found.difficulty)
        self.notes_ += self.regressor_.notes_

    def _learn_each(self, X: Any, gains: pd.DataFrame) -> None:
        """A regressor an algorithm, of the problems on which it ran."""
        runs = gains.notna().to_numpy()
        few = [place for place in self._columns if runs[:, place].sum() < FEWEST]
        if few:
            names = [str(self._named[place]) for place in few]
            self.notes_.append(f"{listed(names, 'algorithm')} with too few runs: never chosen.")
            self._keep([place for place in self._columns if place not in few])
        if not len(self._columns):
            raise InputError(f"No algorithm has {FEWEST} runs or more. Give more runs.")
        self.regressor_ = _OfEach(self.regressor, random_state=self.random_state)
        self.regressor_.fit(X, gains.to_numpy()[:, self._columns])
        self.notes_ += self.regressor_.notes_

    def _checked_features(self, X: Any, *, reset: bool) -> Any:
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
    """A regressor for each of several targets, without intervals; features are coded once."""

    def fit(self, X: Any, y: Any) -> Self:
        """Learn each column of `y` (n_problems, n_algorithms) from the rows where it is known."""
        from sklearn.utils import _safe_indexing, check_random_state

        rows, _ = self._training_rows(X, np.arange(len(y)))  # how rows are coded hangs on X alone
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.regressors_ = []
        for target in y.T:
            known = np.flatnonzero(np.isfinite(target))
            made = self._made(target[known], seed)
            self.regressors_.append(made.fit(_safe_indexing(rows, known), target[known]))
        return self

    def predict(self, X: Any) -> Floats:
        """What is expected of each algorithm, (n_problems, n_algorithms)."""
        rows = self._new_rows(X)
        return np.column_stack([one.predict(rows) for one in self.regressors_])


def _table(X: Any, y: Any) -> tuple[pd.DataFrame, Any]:
    """Performances under numbered columns, in the order of the features; and the names."""
    import pandas as pd

    if y is None:
        raise InputError(
            "requires y to be passed, but the target y is None: give a table of performances, one "
            "row a problem and one column an algorithm."
        )
    named: Any = np.arange(np.shape(y)[1] if np.ndim(y) == 2 else 1)
    if isinstance(y, pd.DataFrame):
        named = np.asarray([str(name) for name in y.columns], dtype=object)
        if len(set(named)) < len(named):
            raise InputError("y has the same algorithm twice. Give one column an algorithm.")
        if is_frame(X) and not y.index.equals(X.index):
            y = y.apply(lambda column: aligned(column, X.index, "y"))
    elif np.ndim(y) == 1:
        raise InputError(
            "y has one dimension, but it should be a table: one row a problem, one column an "
            "algorithm."
        )
    cells = check_array(y, dtype=np.float64, ensure_all_finite="allow-nan", input_name="y")
    return pd.DataFrame(cells), named


def _with_runs(X: Any, table: pd.DataFrame) -> tuple[Any, pd.DataFrame, list[str]]:
    """The problems on which something ran."""
    ran = table.notna().any(axis=1).to_numpy()
    if ran.sum() < FEWEST:
        raise InputError(
            f"There are runs on {counted(int(ran.sum()), 'problem')} (n_samples = {len(ran)}), but "
            f"at least {FEWEST} are needed to learn which algorithm to choose. Give more."
        )
    if ran.all():
        return X, table, []
    lost = f"{counted(int((~ran).sum()), 'problem')} without any run: left out."
    return X[ran], table[ran].reset_index(drop=True), [lost]


def _gains(table: pd.DataFrame, better: str, scale: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Performances as given and as they are learnt, both turned so that higher is better."""
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
    """Difficulty on the scale that is learnt, with curves of performance as it is judged.

    A curve of mean logarithms would hide the rare run that takes a hundred times as long.
    """
    found = portfolio(learnt)
    ran = gains[[int(name) for name in found.performances.algorithms]]
    return replace(found, splines=fit_splines(found.difficulty, ran.to_numpy()))
