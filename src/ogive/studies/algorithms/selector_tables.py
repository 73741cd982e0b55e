"""Tables of performances as selectors learn from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ogive.errors import InputError
from ogive.learning.feature_columns import coder_of, is_frame
from ogive.learning.regressor import FEWEST, DifficultyRegressor
from ogive.numerics.arrays import Floats
from ogive.numerics.performance_tables import worst_where_missing
from ogive.responses.names_and_facts import aligned
from ogive.studies.algorithms.selector_choice import Costs
from ogive.tables.foreign_frames import as_pandas
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

PENALTY = 10.0  # PAR10


def table_of(X: Any, y: Any) -> tuple[pd.DataFrame, Any]:
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


def with_runs(X: Any, table: pd.DataFrame) -> tuple[Any, pd.DataFrame, list[str]]:
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


def gains_of(table: pd.DataFrame, better: str, scale: str) -> tuple[pd.DataFrame, pd.DataFrame]:
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
    """Which of the columns have as many runs as it takes to learn from."""
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
        """Code new rows."""
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
        """Expected performance of each algorithm, (n_problems, n_algorithms)."""
        rows = self._new_rows(X)
        return np.column_stack([one.predict(rows) for one in self.regressors_])


def checked_costs(given: Any, n_problems: int) -> Floats:
    """Costs of computing features, 0 where they are not known."""
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
    """Dense numbers in the precision of trees."""
    dense = matrix.toarray() if hasattr(matrix, "toarray") else np.asarray(matrix)
    widest = float(np.finfo(np.float32).max)
    found: Floats = np.ascontiguousarray(np.clip(dense, -widest, widest), dtype=np.float32)
    return found
