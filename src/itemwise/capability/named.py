"""Classifiers by name, for those who try one before they choose their own."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from itemwise.errors import InputError
from itemwise.learning.columns import column_transformer
from itemwise.pools.algorithm_pools import GRIDS, algorithm_classes

if TYPE_CHECKING:
    from itemwise.learning.columns import Plan

LOGISTIC = "logistic-regression"
ROUNDS = 1_000
_ALGORITHMS = {name.lower().replace(" ", "-"): name for name in GRIDS}
CLASSIFIERS = (LOGISTIC, *_ALGORITHMS)
UNSAVED = ("svm",)  # what a file of it holds cannot be checked
_MORE: dict[str, dict[str, Any]] = {
    "MLP": {"max_iter": ROUNDS},
    "linear SVM": {"max_iter": 10 * ROUNDS},
    "nearest neighbours": {"algorithm": "brute"},  # no tree that a file could bend
}


def named_classifier(name: str, plan: Plan, seed: int = 0) -> Any:
    """A classifier that is not fitted, with the coding of planned columns before it.

    Its settings are the first of the grid by which the pool "tuned" tunes it.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if name not in CLASSIFIERS:
        close = difflib.get_close_matches(name, CLASSIFIERS, 1)
        meant = f" Did you mean '{close[0]}'?" if close else ""
        raise InputError(
            f"There is no classifier '{name:.60}'; there are {', '.join(CLASSIFIERS)}.{meant}"
        )
    if name == LOGISTIC:
        made: Any = LogisticRegression(max_iter=ROUNDS)
    else:
        algorithm = _ALGORITHMS[name]
        settings = {key: options[0] for key, options in GRIDS[algorithm].items()}
        made = algorithm_classes()[algorithm](**settings, **_MORE.get(algorithm, {}))
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return make_pipeline(column_transformer(plan), made)
