"""The classifier of a gate that was given none: quick, and content with any columns."""

from __future__ import annotations

from typing import Any

ROUNDS = 1_000
MOST_CATEGORIES = 20  # 0/1 columns per column of text; the rarest share one


def default_model(X: Any) -> Any:
    """Logistic regression on scaled numbers and categories as 0/1 columns, gaps filled."""
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
    # A gap is a category of its own.
    coder = OneHotEncoder(handle_unknown="ignore", max_categories=MOST_CATEGORIES)
    parts = [("texts", coder, texts), *([("numbers", numbers, rest)] if rest else [])]
    return make_pipeline(ColumnTransformer(parts), last)
