"""One classifier of each of ten algorithms, tuned by grid search as in the confusion matrix study.

The study prints no grids; these are small ones around the defaults. They are for columns on a
common scale, as `split_dataset` makes them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itemwise.pools.members import FromEstimator, Member, Predictor, SplitLike
from itemwise.pools.random_configurations import algorithm_classes
from itemwise.words import counted

FOLDS = 5

Settings = dict[str, Any]
Grid = dict[str, tuple[Any, ...]]

# Of equally accurate settings the first win; they also serve where classes are too small to search.
GRIDS: dict[str, Grid] = {
    "decision tree": {
        "criterion": ("gini", "entropy"),
        "max_depth": (None, 3, 5, 10),
        "min_samples_leaf": (1, 5, 10),
    },
    "random forest": {"n_estimators": (50,), "max_depth": (None, 4), "max_features": ("sqrt", 0.5)},
    "AdaBoost": {"n_estimators": (50, 20), "learning_rate": (1.0, 0.3)},
    "gradient boosting": {"n_estimators": (50,), "learning_rate": (0.1, 0.3), "max_depth": (3, 1)},
    "bagging": {"n_estimators": (30,), "max_samples": (1.0, 0.5), "max_features": (1.0, 0.5)},
    "MLP": {
        "hidden_layer_sizes": ((20,),),
        "activation": ("relu", "identity"),
        "solver": ("lbfgs",),
        "alpha": (1e-4, 0.1, 1.0),
    },
    "nearest neighbours": {
        "n_neighbors": (5, 1, 3, 9, 15, 25),
        "weights": ("uniform", "distance"),
        "p": (2, 1),
    },
    "SVM": {"C": (1.0, 0.1, 10.0), "kernel": ("rbf", "linear", "poly")},
    "linear SVM": {"C": (1.0, 0.01, 0.1, 10.0), "loss": ("squared_hinge", "hinge")},
    "LDA": {"solver": ("lsqr",), "shrinkage": ("auto", 0.01, 0.1, 0.3, 0.6)},
}


def tuned_classifiers() -> tuple[Member, ...]:
    """One member for each algorithm, which chooses its settings from the training part."""
    makers = (GridSearch(algorithm, grid) for algorithm, grid in GRIDS.items())
    return tuple(Member(maker.algorithm, maker, repr(maker)) for maker in makers)


@dataclass(frozen=True, eq=False)
class GridSearch:
    """Makes classifiers that choose their settings from a grid."""

    algorithm: str
    grid: Grid
    folds: int = FOLDS

    def __call__(self, split: SplitLike, seed: int) -> Tuned:
        """A classifier that has not searched yet."""
        classifier = FromEstimator(algorithm_classes()[self.algorithm]())(split, seed)
        return Tuned(classifier, self.grid, self.folds, seed)


@dataclass(eq=False)
class Tuned:
    """A classifier that cross-validates its grid, then learns all with the best settings.

    A class with fewer members than `folds` makes the folds fewer; one with a single member has no
    part in the search.
    """

    classifier: Any
    grid: Grid
    folds: int
    seed: int
    remarks: tuple[str, ...] = ()  # which settings it chose

    def fit(self, X: Any, y: Any) -> Tuned:
        """Search, then learn."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            # Perceptrons and linear SVMs that stop early are candidates like any other.
            warnings.simplefilter("ignore", ConvergenceWarning)
            # Settings that a fold cannot score, such as more neighbours than rows, are not chosen.
            warnings.filterwarnings("ignore", "Scoring failed|One or more of the test scores")
            settings, remark = self._chosen(np.asarray(X), np.asarray(y))
            self.classifier.set_params(**settings).fit(X, y)
        self.remarks = (remark,)
        return self

    def predict(self, X: Any) -> ArrayLike:
        """What it learned with the best settings."""
        predictor: Predictor = self.classifier
        return predictor.predict(X)

    def _chosen(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Settings, str]:
        """The best settings of the grid, and in words how good they are."""
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        _, place, sizes = np.unique(y, return_inverse=True, return_counts=True)
        shared = sizes[sizes > 1]
        if shared.size < 2:
            first = {name: options[0] for name, options in self.grid.items()}
            return first, "not tuned: fewer than two classes have two members to learn from"
        n_folds = min(self.folds, int(shared.min()))
        rows = sizes[place] > 1
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        search = GridSearchCV(self.classifier, self.grid, cv=splitter, refit=False, n_jobs=1)
        search.fit(X[rows], y[rows])
        settings: Settings = search.best_params_
        words = ", ".join(f"{name}={value}" for name, value in settings.items())
        accuracy = search.cv_results_["mean_test_score"][search.best_index_]
        return settings, f"tuned ({accuracy:.3f} right in {counted(n_folds, 'fold')}: {words})"
