"""How much is gained by choosing algorithms from the features of problems.

The measure is that of ASlib (Bischl et al., 2016): the share of the gap between the single best
algorithm and the virtual best that is closed, under the folds of the scenario.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import whole_number
from itemwise.datasets.aslib import AslibScenario
from itemwise.datasets.aslib_description import Better
from itemwise.errors import InputError
from itemwise.learning.feature_columns import is_frame
from itemwise.learning.regressor import FEWEST
from itemwise.numerics.arrays import Floats
from itemwise.numerics.differing import differences_by_errors
from itemwise.numerics.intervals import reach_of_parts
from itemwise.numerics.performance_tables import fair_means, worst_where_missing
from itemwise.results import Result
from itemwise.studies.algorithms.algorithm_selector import (
    DIFFICULTY,
    PERFORMANCE,
    AlgorithmSelector,
)
from itemwise.studies.algorithms.performances import Performances, as_performances
from itemwise.studies.algorithms.portfolio_gaps import SINGLE, folds_of_problems
from itemwise.studies.algorithms.timeouts import checked_penalty
from itemwise.tables.foreign_frames import as_pandas, with_row_names
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

__all__ = ["AlgorithmSelector", "SelectorEvaluation", "evaluate_selectors"]

VIRTUAL = "virtual best"
REFERENCES = (VIRTUAL, SINGLE)
PENALTY = 10.0  # PAR10
SMALL = 3  # algorithms in the small portfolio


@dataclass(frozen=True, eq=False, repr=False)
class SelectorEvaluation(Result):
    """How well selectors choose algorithms for problems they have not seen.

    The closed gap is (single best − selector) / (single best − virtual best), in mean performance
    over all problems: 0 is no better than always running the algorithm that is best on the training
    problems, 1 is a perfect choice for every problem, and below 0 choosing does harm. Standard
    errors are jackknifed over folds. The cost of computing features is ignored.
    """

    achieved: pd.DataFrame  # problems x selectors: performance of the chosen algorithm
    choices: pd.DataFrame  # problems x selectors: the chosen algorithm; no virtual best
    folds: pd.Series  # of each problem
    better: Better
    limit: float | None  # what an unsolved run counts as
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per selector: mean performance, closed gap, share solved, algorithms in use."""
        import pandas as pd

        names = list(self.achieved.columns)
        frame = pd.DataFrame(index=pd.Index(names, name="selector"))
        whole = np.ones(len(self.achieved))
        span = self._lost(SINGLE) - self._lost(VIRTUAL)
        means, gaps = [], []
        for name in names:
            means.append(self._ratio(self.achieved[name].to_numpy(), whole))
            gaps.append(self._ratio(self._lost(SINGLE) - self._lost(name), span))
        frame[["performance", "performance_se"]] = means
        frame[["closed_gap", "closed_gap_se"]] = gaps
        if self.limit is not None:
            frame["solved"] = (self.achieved < self.limit).mean()
        frame["algorithms"] = [
            self.choices[name].nunique() if name in self.choices else np.nan for name in names
        ]
        frame["algorithms"] = frame["algorithms"].astype("Int64")
        return frame

    def difference(self, one: str, other: str) -> tuple[float, float]:
        """Difference of the closed gaps of two selectors, and its standard error."""
        for name in (one, other):
            if name not in self.achieved:
                known = ", ".join(map(repr, self.achieved.columns))
                raise InputError(f"There is no selector {name!r}. There are {known}.")
        span = self._lost(SINGLE) - self._lost(VIRTUAL)
        return self._ratio(self._lost(other) - self._lost(one), span)

    def _lost(self, name: str) -> Floats:
        values: Floats = self.achieved[name].to_numpy(dtype=float)
        return values if self.better == "lower" else -values

    def _ratio(self, above: Floats, below: Floats) -> tuple[float, float]:
        """Ratio of two sums over problems, and its standard error by leaving out each fold.

        The error is NaN where one fold holds the whole denominator.
        """
        codes = np.unique(self.folds.to_numpy(), return_inverse=True)[1]
        tops, bottoms = np.bincount(codes, above), np.bincount(codes, below)
        rest_top, rest_bottom = tops.sum() - tops, bottoms.sum() - bottoms
        if not bottoms.sum():
            return np.nan, np.nan
        ratio = float(tops.sum() / bottoms.sum())
        if not rest_bottom.all():
            return ratio, np.nan
        without = rest_top / rest_bottom
        spread = np.sum((without - without.mean()) ** 2) * (len(tops) - 1) / len(tops)
        return ratio, float(np.sqrt(spread))

    @property
    def meaning(self) -> str:
        """Which selector closes most of the gap, with its uncertainty."""
        rows = self.to_frame().drop(index=list(REFERENCES))
        if rows["closed_gap"].isna().all():
            return (
                "The single best algorithm is best on every problem: a selector can gain nothing."
            )
        rows = rows.sort_values("closed_gap", ascending=False, kind="stable")
        best, gap, error = rows.index[0], *rows[["closed_gap", "closed_gap_se"]].iloc[0]
        reach = reach_of_parts(self.folds.nunique())
        sure = "" if np.isnan(error) else f" ± {reach * error:.0%}"
        text = (
            f"The selector '{best}' closes {gap:.0%}{sure} of the gap between the single best "
            "algorithm and a perfect choice for every problem"
        )
        if np.isnan(error):
            text += ", but all of the gap lies in one fold, so the uncertainty is unknown"
        level = self._level_with(str(best), [*rows.index, SINGLE])
        if not np.isnan(error) and level[-1]:
            text += ": not a significant gain over always running the single best"
        if len(rows) == 1:
            return f"{text}."
        apart = ", not significantly less" if level[1] else ""
        return f"{text}; next is '{rows.index[1]}' with {rows['closed_gap'].iloc[1]:.0%}{apart}."

    def _level_with(self, best: str, names: list[str]) -> NDArray[np.bool_]:
        """Which of `names`, of which `best` was chosen, close not significantly less of the gap."""
        pairs = [self.difference(one, other) for one, other in combinations(names, 2)]
        apart, error = np.array(pairs, dtype=float).T
        tested = differences_by_errors(len(names), apart, error, self.folds.nunique() - 1.0)
        return tested.level_with(names.index(best))

    def plot(self, **kw: Any) -> Display:
        """Closed gap of each selector, between the single best (0) and the virtual best (1)."""
        from itemwise.displays import RankingDisplay

        words = {"closed_gap": "closed gap", "closed_gap_se": "standard errors"}
        frame = self.to_frame().rename(columns=words)
        if frame["closed gap"].isna().all():
            raise InputError(f"There is nothing to draw. {self.meaning}")
        return RankingDisplay(frame, estimate="closed gap", se="standard errors").plot(**kw)


class _Job(NamedTuple):
    """One selector, trained on some problems and tested on others."""

    name: str
    selector: Any
    train: NDArray[np.intp]
    test: NDArray[np.intp]


def evaluate_selectors(
    performance: Any,
    X: Any = None,
    *,
    selectors: Mapping[str, Any] | None = None,
    cv: int | pd.Series | None = None,
    better: Better | None = None,
    cutoff: float | None = None,
    penalty: float = PENALTY,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> SelectorEvaluation:
    """Measure how much of the gap from the single best algorithm to a perfect choice is closed.

    `performance` is what `read_aslib` gives, with its own features, folds, direction and cut-off;
    or a table of problems × algorithms, with features `X`: frame or array, one row per problem.
    Runs at or beyond `cutoff`, and runs that failed, count as `penalty` times the cut-off (PAR10).
    `cv` is the number of folds, or a Series with the fold of each problem; without it, the folds of
    the scenario are used, or ten.

    `selectors` maps names to selectors. By default, three are compared: by difficulty from all
    algorithms, by difficulty from three that a `portfolio` keeps, and by predicted performance.
    Any object with `fit(X, table)` and a `predict(X)` that returns names of algorithms will do; an
    `AlgorithmSelector` is told which performances are good. A chosen algorithm that was not run
    counts as the worst run on that problem.

    `better`, "higher" or "lower", says which performances of a table are good. `random_state` is
    the seed of the folds, and `n_jobs` the number of fits that run at once. The frame has one row
    per selector: performance, closed_gap, each with its se, and algorithms. The measure is that of
    ASlib (Bischl et al., 2016).

    >>> import itemwise as iw
    >>> import numpy as np
    >>> hard = np.linspace(-2, 2, 80)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.01, (80, 3))
    >>> accuracy = 1 / (1 + np.exp(hard * [2.0, 0.5, 1.0] + [-1.0, 0.0, 1.0])) + noise
    >>> nearest = {"by difficulty": iw.AlgorithmSelector(regressor="knn")}
    >>> found = iw.evaluate_selectors(accuracy.clip(0, 1), hard, selectors=nearest, cv=5)
    >>> bool(found.to_frame().loc["by difficulty", "closed_gap"] > 0.9)
    True
    """
    performance = with_row_names(performance)
    whole_number(random_state, "random_state", 0)
    if n_jobs not in (None, -1):
        whole_number(n_jobs, "n_jobs", 1)
    table, limit = _scored(performance, better, cutoff, penalty)
    rows = _feature_rows(performance, X, table)
    (parts,) = folds_of_problems(table, cv, fewest=FEWEST, random_state=random_state)
    chosen = _selectors(selectors, table, random_state)
    jobs = [
        _Job(name, selector, np.flatnonzero(parts != fold), np.flatnonzero(parts == fold))
        for fold in np.unique(parts)
        for name, selector in chosen.items()
    ]
    choices = _choices(jobs, rows, table, n_jobs)
    return _evaluation(table, choices, parts, limit)


def _scored(
    performance: Any, better: Better | None, cutoff: float | None, penalty: float
) -> tuple[Performances, float | None]:
    """Performances with penalties, and what an unsolved run counts as."""
    checked_penalty(penalty)
    if isinstance(performance, AslibScenario) and cutoff is None:
        cutoff = performance.cutoff
    if cutoff is None:
        return as_performances(performance, better=better), None
    table = as_performances(performance, better=better, cutoff=cutoff, penalty=penalty)
    return table, cutoff * penalty


def _feature_rows(performance: Any, X: Any, table: Performances) -> Any:
    """Features in the order of the table; by name where both have names."""
    if X is None and isinstance(performance, AslibScenario):
        X = performance.features
    if X is None:
        raise InputError(
            "There are no features, but selectors choose by them. Give one row per problem as X: "
            "evaluate_selectors(performance, X)."
        )
    X = as_pandas(X)
    given = _names_of_problems(performance)
    wanted = list(table.modelled.index)
    if is_frame(X) and hasattr(getattr(performance, "performance", performance), "iloc"):
        named = X.set_axis([str(name) for name in X.index], axis=0)
        lacking = [name for name in wanted if name not in named.index]
        if lacking:
            raise InputError(
                f"X has no row for {listed(lacking, 'problem')}. The index of X should name the "
                "problems as the performances do."
            )
        if named.index.has_duplicates:
            raise InputError("X names a problem more than once. Give one row per problem.")
        return named.loc[wanted]
    rows: Any = X if is_frame(X) else np.asarray(X)
    if np.ndim(rows) != 2 or len(rows) != len(given):
        raise InputError(
            f"X has shape {np.shape(rows)}, but there are {counted(len(given), 'problem')}. "
            "Give one row per problem and one column per feature."
        )
    places = {name: place for place, name in enumerate(given)}
    kept = [places[name] for name in wanted]  # problems without any run are left out
    return rows.iloc[kept] if is_frame(rows) else rows[kept]


def _names_of_problems(performance: Any) -> list[str]:
    table = getattr(performance, "performance", performance)
    names = getattr(table, "respondents", None)
    if names is None:
        names = getattr(table, "index", None)
    if names is None or callable(names):
        return [f"problem_{k + 1}" for k in range(len(table))]
    return [str(name) for name in names]


def _selectors(given: Any, table: Performances, random_state: int) -> dict[str, Any]:
    """Selectors by name, each told which performances are good."""
    if given is None:
        kept = min(SMALL, len(table.algorithms))
        given = {
            "by difficulty": AlgorithmSelector(DIFFICULTY, random_state=random_state),
            f"by difficulty, {counted(kept, 'algorithm')}": AlgorithmSelector(
                DIFFICULTY, portfolio_size=kept, random_state=random_state
            ),
            "by performance": AlgorithmSelector(PERFORMANCE, random_state=random_state),
        }
    if not isinstance(given, Mapping) or not given:
        raise InputError(
            "selectors should map names to selectors, such as "
            "{'by performance': AlgorithmSelector('performance')}."
        )
    for name, selector in given.items():
        if name in REFERENCES:
            raise InputError(f"'{name}' is a reserved name. Give the selector another one.")
        for method in ("fit", "predict"):
            if isinstance(selector, type) or not hasattr(selector, method):
                raise InputError(
                    f"The selector '{name}' has no {method}. Give an AlgorithmSelector instance."
                )
    return {str(name): _told(str(name), each, table.better) for name, each in given.items()}


def _told(name: str, selector: Any, better: Better) -> Any:
    from sklearn.base import clone

    try:
        own: Any = clone(selector, safe=False)
    except (TypeError, RuntimeError) as reason:
        raise InputError(
            f"The selector '{name}' cannot be copied, but each fold needs a fresh one: {reason}"
        ) from reason
    return own.set_params(better=better) if isinstance(own, AlgorithmSelector) else own


def _choices(jobs: list[_Job], rows: Any, table: Performances, n_jobs: int | None) -> pd.DataFrame:
    """Positions of the algorithms that each selector, and the single best, pick."""
    import pandas as pd
    from joblib import Parallel, delayed

    found = pd.DataFrame(index=table.modelled.index)
    found[SINGLE] = 0
    picked = Parallel(n_jobs=n_jobs)(delayed(_picked)(job, rows, table) for job in jobs)
    for job, places in zip(jobs, picked, strict=True):
        single = int(fair_means(table.gains[job.train]).argmax())
        found.loc[found.index[job.test], SINGLE] = single
        if job.name not in found:
            found[job.name] = 0
        found.loc[found.index[job.test], job.name] = places
    return found


def _picked(job: _Job, rows: Any, table: Performances) -> NDArray[np.intp]:
    """Positions of the algorithms that one selector picks for its test problems."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    made: Any = clone(job.selector, safe=False)
    made.fit(_safe_indexing(rows, job.train), table.given.iloc[job.train])
    names: Any = list(made.predict(_safe_indexing(rows, job.test)))
    places = table.algorithms.get_indexer(names if np.ndim(names) == 1 else [])
    if len(places) != len(job.test) or (places < 0).any():
        raise InputError(
            f"The selector '{job.name}' should return the name of an algorithm for each problem, "
            f"but it returned {str(names[:3])[:80]} for {counted(len(job.test), 'problem')}."
        )
    return np.asarray(places)


def _evaluation(
    table: Performances, places: pd.DataFrame, parts: NDArray[np.intp], limit: float | None
) -> SelectorEvaluation:
    """What the choices achieved, beside the virtual best."""
    import pandas as pd

    filled = worst_where_missing(table.gains)
    sign = 1.0 if table.better == "higher" else -1.0
    achieved = pd.DataFrame({VIRTUAL: sign * filled.max(axis=1)}, index=places.index)
    for name in places:
        achieved[name] = sign * filled[np.arange(len(filled)), places[name].to_numpy()]
    choices = places.apply(lambda column: table.algorithms.to_numpy()[column.to_numpy()])
    return SelectorEvaluation(
        achieved=achieved,
        choices=choices.rename_axis(index="problem"),
        folds=pd.Series(parts, index=places.index, name="fold"),
        better=table.better,
        limit=limit,
        notes=_notes(table, achieved, limit),
    )


def _notes(table: Performances, achieved: pd.DataFrame, limit: float | None) -> tuple[str, ...]:
    notes = [*table.notes, "The cost of computing features is ignored."]
    if limit is None:
        return tuple(notes)
    lost = int((achieved[VIRTUAL] >= limit).sum())
    if lost:
        notes.append(
            f"No algorithm solves {counted(lost, 'problem')}; they count in every mean, although "
            "no selector can gain there."
        )
    return tuple(notes)
