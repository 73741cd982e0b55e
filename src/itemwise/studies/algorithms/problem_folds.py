"""Problems in folds: what is chosen on some is judged on the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import whole_number
from itemwise.errors import InputError
from itemwise.studies.algorithms.performances import Performances
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

SINGLE = "single best"  # the algorithm with the best mean on the other problems
FOLDS = 10


def folds_of_problems(
    table: Performances, cv: Any, *, fewest: int, n_resamples: int = 1, random_state: int = 0
) -> list[NDArray[np.intp]]:
    """The number of the fold of each problem, once for each of the `n_resamples` shuffles.

    `cv` is the number of folds, or a Series with the fold of each problem, by name; with None, the
    folds of the table are used, or ten. Outside each fold there must be `fewest` problems.
    """
    import pandas as pd

    problems = table.modelled.index
    if cv is None:
        cv = FOLDS if table.folds is None else table.folds
    whole_number(n_resamples, "n_resamples", 1)
    whole_number(random_state, "random_state", 0)
    if not isinstance(cv, pd.Series):
        passes = _at_random(len(problems), cv, n_resamples, random_state)
    elif n_resamples == 1:
        passes = [_of_series(problems, cv)]
    else:
        raise InputError(
            f"n_resamples is {n_resamples}, but the fold of each problem is given: nothing is left "
            f"to shuffle. Leave it out, or say how many folds: cv={FOLDS}."
        )
    for numbers in passes:
        sizes = np.bincount(numbers)
        if len(sizes) < 2 or len(numbers) - sizes.max() < fewest:
            raise InputError(
                f"There are {counted(len(problems), 'problem')} in {counted(len(sizes), 'fold')}: "
                "too few to choose by. There should be two folds or more, and "
                f"{fewest} problems or more outside each."
            )
    return passes


def _of_series(problems: pd.Index, cv: pd.Series) -> NDArray[np.intp]:
    import pandas as pd

    named = cv.set_axis(cv.index.map(str)).dropna()
    twice = named.index[named.index.duplicated()].unique().tolist()
    if twice:
        raise InputError(f"cv has {listed(twice, 'problem')} more than once. Give one row each.")
    lacking = problems.difference(named.index, sort=False).tolist()
    if lacking:
        raise InputError(
            f"cv has no fold of {listed(lacking, 'problem')}. Its index should be the names of "
            "the problems."
        )
    return np.asarray(pd.factorize(named.reindex(problems), sort=True)[0])


def _at_random(n: int, cv: Any, n_resamples: int, random_state: int) -> list[NDArray[np.intp]]:
    if whole_number(cv, "cv", 2) > n:
        raise InputError(f"cv is {cv}, but there are {counted(n, 'problem')}.")
    random = np.random.default_rng(random_state)
    passes = []
    for _ in range(n_resamples):
        numbers = np.empty(n, dtype=np.intp)
        numbers[random.permutation(n)] = np.arange(n) * cv // n
        passes.append(numbers)
    return passes
