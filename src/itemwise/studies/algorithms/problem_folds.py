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
    table: Performances, folds: Any, *, fewest: int, repeats: int = 1, random_state: int = 0
) -> list[NDArray[np.intp]]:
    """The number of the fold of each problem, once for each of the `repeats`.

    `folds` is how many, or a Series with the fold of each problem, by its name; None takes those
    that the table brings, or ten. Outside each fold there must be `fewest` problems.
    """
    import pandas as pd

    problems = table.modelled.index
    if folds is None:
        folds = FOLDS if table.folds is None else table.folds
    whole_number(repeats, "repeats", 1)
    whole_number(random_state, "random_state", 0)
    if not isinstance(folds, pd.Series):
        passes = _at_random(len(problems), folds, repeats, random_state)
    elif repeats == 1:
        passes = [_of_series(problems, folds)]
    else:
        raise InputError(
            f"repeats is {repeats}, but the fold of each problem is given: there is nothing to "
            f"shuffle. Leave it out, or say how many folds: folds={FOLDS}."
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


def _of_series(problems: pd.Index, folds: pd.Series) -> NDArray[np.intp]:
    import pandas as pd

    named = folds.set_axis(folds.index.map(str)).dropna()
    twice = named.index[named.index.duplicated()].unique().tolist()
    if twice:
        raise InputError(f"folds has {listed(twice, 'problem')} more than once. Give one row each.")
    lacking = problems.difference(named.index, sort=False).tolist()
    if lacking:
        raise InputError(
            f"folds has no fold of {listed(lacking, 'problem')}. Its index should be the names of "
            "the problems."
        )
    return np.asarray(pd.factorize(named.reindex(problems), sort=True)[0])


def _at_random(n: int, folds: Any, repeats: int, random_state: int) -> list[NDArray[np.intp]]:
    if whole_number(folds, "folds", 2) > n:
        raise InputError(f"folds is {folds}, but there are {counted(n, 'problem')}.")
    random = np.random.default_rng(random_state)
    passes = []
    for _ in range(repeats):
        numbers = np.empty(n, dtype=np.intp)
        numbers[random.permutation(n)] = np.arange(n) * folds // n
        passes.append(numbers)
    return passes
