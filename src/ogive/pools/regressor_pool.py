"""A pool of regressors: weak and strong configurations of eight algorithms, and two constants."""

from __future__ import annotations

from typing import Any

from ogive.pools.members import Member, member_of


def regressors() -> tuple[Member, ...]:
    """Seventy-three members that train in milliseconds on a few hundred rows."""
    return tuple(member_of(name, made, prepared=True) for name, made in _configurations().items())


def _configurations() -> dict[str, Any]:
    from sklearn.dummy import DummyRegressor
    from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
    from sklearn.linear_model import Lasso, Ridge
    from sklearn.neighbors import KNeighborsRegressor
    from sklearn.svm import SVR
    from sklearn.tree import DecisionTreeRegressor

    found: dict[str, Any] = {
        "mean": DummyRegressor(),
        "median": DummyRegressor(strategy="median"),
    }
    for depth in (1, 2, 3, 4, 6, 9, 14):
        for leaf in (1, 5, 15):
            tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf)
            found[f"tree (depth {depth}, leaf {leaf})"] = tree
    for k in (1, 2, 3, 5, 8, 13, 21, 34):
        for weights in ("uniform", "distance"):
            neighbours = KNeighborsRegressor(k, weights=weights)
            found[f"{k} neighbours ({weights})"] = neighbours
    for alpha in (0.01, 1.0, 10.0, 100.0, 1000.0):
        found[f"ridge ({alpha:g})"] = Ridge(alpha)
    for alpha in (0.01, 0.1, 1.0):
        found[f"lasso ({alpha:g})"] = Lasso(alpha, max_iter=5000)
    for trees in (1, 3, 10, 30):
        for features in (1.0, 0.3):
            forest = RandomForestRegressor(trees, max_features=features)
            found[f"forest ({trees} trees, {features:.0%} of columns)"] = forest
    for rate in (0.01, 0.03, 0.1, 0.3):
        for depth in (1, 3):
            boosted = GradientBoostingRegressor(
                n_estimators=40, learning_rate=rate, max_depth=depth
            )
            found[f"boosting (rate {rate:g}, depth {depth})"] = boosted
    for kernel in ("rbf", "linear"):
        for cost in (0.1, 1.0, 10.0, 100.0, 1000.0):
            found[f"SVR ({kernel}, C {cost:g})"] = SVR(kernel=kernel, C=cost)
    return found
