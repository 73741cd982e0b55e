"""Folds of respondents in which copies of one model stay together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.responses import Responses

Ints = NDArray[np.int64]


def copies(responses: Responses) -> Ints:
    """The number of the group of each respondent, (n,): equal rows make a group."""
    cells = np.nan_to_num(responses.cells, nan=-np.inf)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    return np.asarray(group, dtype=np.int64).reshape(-1)


def grouped_folds(groups: Ints, folds: int, random_state: int) -> Ints:
    """The fold of each respondent, (n,), of about equal sizes; no group is divided."""
    sizes = np.bincount(groups)
    if sizes.size < folds:
        raise InputError(
            f"There are {sizes.size} respondents with different responses, too few for "
            f"folds={folds}. Give fewer folds or more respondents."
        )
    random = np.random.default_rng(random_state)
    order = random.permutation(sizes.size)
    order = order[np.argsort(-sizes[order], kind="stable")]  # the large ones first
    filled, fold_of = np.zeros(folds), np.zeros(sizes.size, dtype=np.int64)
    for group in order:
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    names = random.permutation(folds)  # so that the first is not always that of the largest
    found: Ints = names[fold_of][groups]
    return found
