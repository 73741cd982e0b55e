"""Regressors by name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from ogive.errors import InputError

NEIGHBOURS = 5
FOLDS = 5  # in which the elastic net chooses its penalty
TREES = 200


def _stepwise(n_items: int, seed: int) -> Any:  # noqa: ARG001
    from ogive.learning.stepwise import StepwiseRegressor

    return StepwiseRegressor()


def _elastic_net(n_items: int, seed: int) -> Any:  # noqa: ARG001
    from sklearn.linear_model import ElasticNetCV

    return ElasticNetCV(l1_ratio=[0.1, 0.5, 1.0], cv=min(FOLDS, n_items), max_iter=10_000)


def _nearest(n_items: int, seed: int) -> Any:  # noqa: ARG001
    from sklearn.neighbors import KNeighborsRegressor

    # Brute force: no tree to check in a file, and as fast beyond twenty columns.
    return KNeighborsRegressor(n_neighbors=min(NEIGHBOURS, n_items), algorithm="brute")


def _boosting(n_items: int, seed: int) -> Any:  # noqa: ARG001
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=seed)


def _forest(n_items: int, seed: int) -> Any:  # noqa: ARG001
    from sklearn.ensemble import RandomForestRegressor

    # A third of the columns at each split, as in R's randomForest.
    return RandomForestRegressor(TREES, max_features=1 / 3, random_state=seed)


PRESETS: dict[str, Callable[[int, int], Any]] = {
    "stepwise": _stepwise,
    "elastic-net": _elastic_net,
    "knn": _nearest,
    "gbm": _boosting,
    "rf": _forest,
}


def regressor_of(given: Any, n_items: int, seed: int) -> Any:
    """Return a new regressor: a preset for `n_items` training items, or a copy of the given one."""
    from sklearn.base import clone, is_classifier

    if isinstance(given, str):
        return PRESETS[checked_name(given)](n_items, seed)
    if not (hasattr(given, "fit") and hasattr(given, "predict")) or isinstance(given, type):
        raise InputError(
            f"regressor is {given!r:.60}, but it should be an unfitted scikit-learn regressor, "
            f"or one of: {', '.join(PRESETS)}."
        )
    if is_classifier(given):
        raise InputError(
            f"regressor is the classifier {type(given).__name__}, but difficulty is a number. "
            "Give a regressor."
        )
    return clone(given)


def checked_name(name: str) -> str:
    """Return the name of a preset, or raise an error that lists them."""
    if name not in PRESETS:
        near = difflib.get_close_matches(name.lower(), PRESETS, n=1)
        hint = f"Did you mean '{near[0]}'? " if near else ""
        raise InputError(
            f"There is no regressor {name!r:.40}. {hint}It should be one of: {', '.join(PRESETS)}."
        )
    return name
