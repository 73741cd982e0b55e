"""What each feature adds to the difficulty of a case: Shapley values (1953) of its expectation."""

from __future__ import annotations

from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.scale import Scale
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.capability.case_difficulty import CaseDifficulty

MOST_EXACT = 8  # features; of more, orders in which they become known are sampled
ORDERS = 32  # and as many backwards


def contributions(scale: CaseDifficulty, frame: pd.DataFrame, labels: Any) -> dict[str, Floats]:
    """What each feature adds to the difficulty of cases as members of `labels`, (n_cases,) each.

    By posterior means: the maximum of the likelihood is often gone with a feature. Contributions
    add up to the expected difficulty of a case less that of one of which nothing is known.
    """
    items = scale.coding_.items
    features = list(dict.fromkeys(item.feature for item in items))
    owner = np.array([features.index(item.feature) for item in items])
    grades = scale.coding_.code(frame)
    codes = scale.codes(labels, len(frame))
    both = len(scale.classes_) == 2
    found = np.zeros((len(frame), len(features)))
    for code in np.unique(codes):
        own, one = codes == code, scale.scales_[0 if both else code]
        sign = 1.0 if both and code == 0 else -1.0  # of two classes, the scale is the second's
        found[own] = sign * _shapley(one, grades[own], owner)
    return dict(zip(features, found.T, strict=True))


def expected(scale: Scale, grades: Floats) -> Floats:
    """Posterior mean of the index of each case, in training deviations."""
    bank = scale.calibration
    table = Responses(scale.responses(grades), items=bank.item_names, kind=bank.model.kind)
    return np.asarray((bank.score(table)["ability"].to_numpy() - scale.mean) / scale.unit)


def _shapley(scale: Scale, grades: Floats, owner: NDArray[np.intp]) -> Floats:
    """What each feature adds to the index, (n_cases, n_features); `owner` is that of each item."""
    n_features = int(owner.max()) + 1
    return (_exact if n_features <= MOST_EXACT else _sampled)(scale, grades, owner)


def _exact(scale: Scale, grades: Floats, owner: NDArray[np.intp]) -> Floats:
    """From the expectation under every set of known features."""
    n = int(owner.max()) + 1
    known = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1  # (n_sets, n_features)
    value = _expected_of_all(scale, np.where(known[:, None, owner], grades, np.nan))
    size = known.sum(axis=1)
    found = np.empty((len(grades), n))
    for feature in range(n):
        without = np.flatnonzero(~known[:, feature])
        # The share of orders in which just these are known before the feature.
        weight = np.array([1 / (n * comb(n - 1, int(k))) for k in size[without]])
        found[:, feature] = weight @ (value[without + 2**feature] - value[without])
    return found


def _sampled(scale: Scale, grades: Floats, owner: NDArray[np.intp]) -> Floats:
    """The mean of some orders in which features become known, and of the same backwards."""
    n = int(owner.max()) + 1
    random = np.random.default_rng(0)
    lots = np.array([random.permutation(n) for _ in range(ORDERS)])
    orders = np.concatenate([lots, lots[:, ::-1]])
    found = np.zeros((len(grades), n))
    shown = np.full((len(orders), *grades.shape), np.nan)
    before = _expected_of_all(scale, shown)
    for step in orders.T:  # the feature that becomes known next in each order
        for known, feature in zip(shown, step, strict=True):
            known[:, owner == feature] = grades[:, owner == feature]
        after = _expected_of_all(scale, shown)
        np.add.at(found.T, step, (after - before) / len(orders))
        before = after
    return found


def _expected_of_all(scale: Scale, shown: Floats) -> Floats:
    """The expectation of every case as it is shown, (n_ways, n_cases)."""
    n_ways, n_cases, n_items = shown.shape
    return expected(scale, shown.reshape(-1, n_items)).reshape(n_ways, n_cases)
