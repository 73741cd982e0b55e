"""Classifiers by name, and the default classifier of a gate."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from ogive.errors import InputError
from ogive.learning.feature_columns import column_transformer
from ogive.pools.algorithm_pools import GRIDS, algorithm_classes

if TYPE_CHECKING:
    from ogive.learning.feature_columns import Plan

LOGISTIC = "logistic-regression"
ROUNDS = 1_000
_ALGORITHMS = {name.lower().replace(" ", "-"): name for name in GRIDS}
CLASSIFIERS = (LOGISTIC, *_ALGORITHMS)
UNSAVED = ("svm",)  # its file cannot be checked
_MORE: dict[str, dict[str, Any]] = {
    "MLP": {"max_iter": ROUNDS},
    "linear SVM": {"max_iter": 10 * ROUNDS},
    "nearest neighbours": {"algorithm": "brute"},  # no tree to check in a file
}
MAX_CATEGORIES = 20  # 0/1 columns per column of text; the rarest share one


def named_classifier(name: str, plan: Plan, seed: int = 0) -> Any:
    """Return an unfitted classifier, with the encoding of the planned columns before it.

    Its settings are the first of its grid in the pool "tuned".
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


def default_model(X: Any) -> Any:
    """Logistic regression on scaled numbers and encoded categories, missing values filled."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    last = LogisticRegression(max_iter=ROUNDS)
    texts = (
        [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
        if isinstance(X, pd.DataFrame)
        else []
    )
    if not texts:
        return make_pipeline(numbers, last)
    rest = [name for name in X.columns if name not in texts]
    # A missing value is a category of its own.
    coder = OneHotEncoder(handle_unknown="ignore", max_categories=MAX_CATEGORIES)
    parts = [("texts", coder, texts), *([("numbers", numbers, rest)] if rest else [])]
    return make_pipeline(ColumnTransformer(parts), last)
