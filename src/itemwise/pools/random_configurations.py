"""Twenty random configurations of each of ten algorithms: respondents of every strength.

The algorithms and numbers are those of the IRT confusion matrix study. It prints no ranges; these
are wide enough for weak and strong classifiers, and small enough to train in seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from itemwise.pools.members import Member, member_of

N_CONFIGURATIONS = 20
SEED = 2024

Settings = dict[str, Any]
Draw = Callable[["Draws"], Settings]


class Draws:
    """Random settings from `Random.random` alone, whose sequence Python promises to keep."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random  # noqa: S311 - configurations, no secrets

    def one_of(self, *options: Any) -> Any:
        """Any of the options."""
        return options[int(self._random() * len(options))]

    def whole(self, low: int, high: int) -> int:
        """A whole number from `low` to `high`."""
        return low + int(self._random() * (high - low + 1))

    def share(self, low: float, high: float) -> float:
        """A number between, to two decimals."""
        return round(low + self._random() * (high - low), 2)

    def power(self, low: float, high: float) -> float:
        """Ten to an exponent between, to three digits: small numbers as often as large ones."""
        return float(f"{10 ** (low + self._random() * (high - low)):.2e}")


def configurations() -> list[tuple[str, Settings]]:
    """Algorithm and settings, twenty different ones for each algorithm; always the same."""
    return [
        (algorithm, settings)
        for algorithm, draw in ALGORITHMS.items()
        for settings in _different(draw, Draws(f"{SEED} {algorithm}"))
    ]


def random_classifiers() -> tuple[Member, ...]:
    """One member for each configuration, named after its algorithm and a number."""
    kinds = algorithm_classes()
    return tuple(
        member_of(
            f"{algorithm} {position % N_CONFIGURATIONS + 1:02d}", kinds[algorithm](**settings)
        )
        for position, (algorithm, settings) in enumerate(configurations())
    )


def _different(draw: Draw, draws: Draws) -> list[Settings]:
    found: list[Settings] = []
    while len(found) < N_CONFIGURATIONS:
        settings = draw(draws)
        if settings not in found:
            found.append(settings)
    return found


def _decision_tree(draws: Draws) -> Settings:
    return {
        "criterion": draws.one_of("gini", "entropy"),
        "splitter": draws.one_of("best", "random"),
        "max_depth": draws.one_of(None, draws.whole(1, 20)),
        "min_samples_leaf": draws.whole(1, 20),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    }


def _random_forest(draws: Draws) -> Settings:
    return {
        "n_estimators": draws.whole(1, 100),
        "criterion": draws.one_of("gini", "entropy"),
        "max_depth": draws.one_of(None, draws.whole(1, 20)),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    }


def _ada_boost(draws: Draws) -> Settings:
    return {"n_estimators": draws.whole(1, 100), "learning_rate": draws.power(-2, 0.3)}


def _gradient_boosting(draws: Draws) -> Settings:
    return {
        "n_estimators": draws.whole(1, 100),
        "learning_rate": draws.power(-2, 0),
        "max_depth": draws.whole(1, 6),
        "subsample": draws.share(0.5, 1.0),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    }


def _bagging(draws: Draws) -> Settings:
    return {
        "n_estimators": draws.whole(1, 50),
        "max_samples": draws.share(0.1, 1.0),
        "max_features": draws.share(0.3, 1.0),
    }


def _perceptron(draws: Draws) -> Settings:
    layers = draws.whole(1, 2)
    return {
        "hidden_layer_sizes": tuple(draws.whole(1, 100) for _ in range(layers)),
        "activation": draws.one_of("identity", "logistic", "tanh", "relu"),
        "solver": draws.one_of("lbfgs", "sgd", "adam"),
        "alpha": draws.power(-6, 0),
        "max_iter": draws.whole(10, 200),
    }


def _neighbours(draws: Draws) -> Settings:
    return {
        "n_neighbors": draws.whole(1, 40),
        "weights": draws.one_of("uniform", "distance"),
        "p": draws.whole(1, 2),
    }


def _support_vectors(draws: Draws) -> Settings:
    return {
        "C": draws.power(-3, 2),
        "kernel": draws.one_of("linear", "poly", "rbf", "sigmoid"),
        "gamma": draws.one_of("scale", "auto"),
    }


def _linear_support_vectors(draws: Draws) -> Settings:
    return {
        "C": draws.power(-3, 2),
        "loss": draws.one_of("hinge", "squared_hinge"),
        "max_iter": draws.whole(10, 1000),
    }


def _linear_discriminants(draws: Draws) -> Settings:
    # Shrunken, so that columns which repeat each other leave the covariance invertible.
    return {
        "solver": draws.one_of("lsqr", "eigen"),
        "shrinkage": draws.one_of("auto", *(draws.share(0.05, 1.0) for _ in range(9))),
    }


ALGORITHMS: dict[str, Draw] = {
    "decision tree": _decision_tree,
    "random forest": _random_forest,
    "AdaBoost": _ada_boost,
    "gradient boosting": _gradient_boosting,
    "bagging": _bagging,
    "MLP": _perceptron,
    "nearest neighbours": _neighbours,
    "SVM": _support_vectors,
    "linear SVM": _linear_support_vectors,
    "LDA": _linear_discriminants,
}


def algorithm_classes() -> dict[str, Any]:
    """The scikit-learn class of each algorithm."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import (
        AdaBoostClassifier,
        BaggingClassifier,
        GradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC, LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    return {
        "decision tree": DecisionTreeClassifier,
        "random forest": RandomForestClassifier,
        "AdaBoost": AdaBoostClassifier,
        "gradient boosting": GradientBoostingClassifier,
        "bagging": BaggingClassifier,
        "MLP": MLPClassifier,
        "nearest neighbours": KNeighborsClassifier,
        "SVM": SVC,
        "linear SVM": LinearSVC,
        "LDA": LinearDiscriminantAnalysis,
    }
