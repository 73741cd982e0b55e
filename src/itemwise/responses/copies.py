"""Folds of respondents in which copies of one model stay together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError
from itemwise.responses.table import Responses
from itemwise.words import counted

Ints = NDArray[np.int64]


def copies(responses: Responses) -> Ints:
    """The number of the group of each respondent, (n,): equal rows make a group."""
    cells = np.nan_to_num(responses.cells, nan=-np.inf)
    _, group = np.unique(cells, axis=0, return_inverse=True)
    return np.asarray(group, dtype=np.int64).reshape(-1)


def grouped_folds(groups: Ints, folds: int, random_state: int) -> Ints:
    """The fold of each respondent, (n,), of about equal sizes; no group is divided.

    There are as many folds as groups at most; `said_of_folds` tells of it.
    """
    sizes = np.bincount(groups)
    folds = min(folds, sizes.size)
    if folds < 2:
        raise InputError(
            f"{counted(groups.size, 'respondent')} with one and the same responses cannot be "
            "divided into folds. Give respondents that differ."
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


def said_of_folds(groups: Ints, folds: int) -> list[str]:
    """Notes on copies that stay together, and on folds that respondents are too few for."""
    notes, kinds = [], np.unique(groups).size
    if same := groups.size - kinds:
        notes.append(
            f"{counted(same, 'respondent')} of {groups.size:,} responded exactly as another did; "
            "such copies stay in one fold, and count as one for standard errors."
        )
    if kinds < folds:
        notes.append(f"{kinds} folds in place of {folds}: no more respondents differ.")
    return notes
