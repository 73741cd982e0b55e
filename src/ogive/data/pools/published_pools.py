"""Published sets of classifiers, and a set of regressors.

decodIRT has three sets: perceptrons that calibrate, real classifiers, and artificial ones. The real
classifiers have scikit-learn's defaults where their name contains no number. The paper describes
its perceptrons as ever deeper, but its authors' program trains the default perceptron ever longer,
and the published responses show just that: after one pass they are near chance, and from then on
they rise. So `perceptrons` are trained longer, in the steps of that program, and `deep_perceptrons`
are what the text says: 1, 2, ... 120 hidden layers, which hardly learn.

The study of IRT confusion matrices has ten algorithms: random configurations, and tuned ones. It
prints neither ranges nor grids. The ranges here are wide enough for weak and strong classifiers,
and small enough to train in seconds; the grids are small ones around the defaults, for columns on a
common scale: these members are `prepared`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive.data.pools.members import FromEstimator, Member, Part, Predictor, member_of
from ogive.data.study_tables import OPTIMAL, PESSIMAL, is_artificial
from ogive.errors import InputError
from ogive.results.numbers import counted

if TYPE_CHECKING:
    from ogive.stats.array_backend import Floats


N_PERCEPTRONS = 120
STEP = 10  # perceptrons per length of training, and additional passes of the next ones
UNITS = 100  # per hidden layer, as in scikit-learn's default perceptron
N_RANDOM = 3

Codes = NDArray[np.int64]


def perceptrons(count: int = N_PERCEPTRONS) -> tuple[Member, ...]:
    """Return multilayer perceptrons, each trained from its own start: 1 pass, 11, ... 121."""
    makers = {place: Perceptron(1 + STEP * (place // STEP)) for place in range(1, count + 1)}
    return tuple(
        Member(
            f"MLP {place} ({counted(maker.passes, 'iteration')})", maker, repr(maker), prepared=True
        )
        for place, maker in makers.items()
    )


@dataclass(frozen=True)
class Perceptron:
    """Makes scikit-learn's default perceptron, trained for a number of passes."""

    passes: int

    def __call__(self, _split: Part, seed: int) -> Unfinished:
        """Return a perceptron that is not trained yet."""
        from sklearn.neural_network import MLPClassifier

        return Unfinished(MLPClassifier(max_iter=self.passes, random_state=seed))


@dataclass(frozen=True, eq=False)
class Unfinished:
    """A classifier whose training ends early on purpose, and which does not warn about it."""

    classifier: Any

    def fit(self, X: Any, y: Any) -> Unfinished:
        """Train it for its number of passes."""
        from sklearn.exceptions import ConvergenceWarning

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.classifier.fit(X, y)
        return self

    def predict(self, X: Any) -> Codes:
        """Predict with what it has learned so far."""
        codes: Codes = self.classifier.predict(X)
        return codes


def deep_perceptrons(deepest: int = N_PERCEPTRONS) -> tuple[Member, ...]:
    """Return multilayer perceptrons of 1, 2, ... `deepest` hidden layers of the default width."""
    from sklearn.neural_network import MLPClassifier

    return tuple(
        member_of(
            f"MLP ({counted(depth, 'layer')})", MLPClassifier((UNITS,) * depth), prepared=True
        )
        for depth in range(1, deepest + 1)
    )


def real_classifiers() -> tuple[Member, ...]:
    """Return twelve classifiers of six families."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    classifiers: dict[str, Any] = {
        "Gaussian naive Bayes": GaussianNB(),
        "Bernoulli naive Bayes": BernoulliNB(),
        **{f"{k} nearest neighbours": KNeighborsClassifier(k) for k in (2, 3, 5, 8)},
        "decision tree": DecisionTreeClassifier(),
        **{f"random forest ({n} trees)": RandomForestClassifier(n) for n in (3, 5)},
        "random forest": RandomForestClassifier(),
        "SVM": SVC(),
        "MLP": MLPClassifier(),
    }
    return tuple(
        member_of(name, classifier, prepared=True) for name, classifier in classifiers.items()
    )


def artificial_classifiers() -> tuple[Member, ...]:
    """Return the two ends of the scale, and guessing; none of them learns."""
    rules: dict[str, str] = {  # stored answers are found again by the names of rules
        OPTIMAL: "_optimal",
        PESSIMAL: "_pessimal",
        "majority": "_majority",
        "minority": "_minority",
        **{f"random {n}": "_random" for n in range(1, N_RANDOM + 1)},
    }
    return tuple(Member(name, Artificial(rule), rule) for name, rule in rules.items())


@dataclass(frozen=True)
class Artificial:
    """Makes a predictor whose answers are fixed in advance."""

    rule: str

    def __call__(self, split: Part, seed: int) -> FixedAnswers:
        """Apply the rule to the test part of the split."""
        truth = np.array(split.y_test, dtype=np.int64)
        if self.rule == "_optimal":
            return FixedAnswers(truth)
        if self.rule == "_pessimal":
            if len(split.classes) < 2:
                raise InputError("There is only one class, so no answer can be wrong.")
            return FixedAnswers((truth + 1) % len(split.classes))
        if self.rule == "_random":
            random = np.random.default_rng(seed)
            return FixedAnswers(random.integers(len(split.classes), size=len(truth)))
        codes, counts = np.unique(split.y_train, return_counts=True)
        at = counts.argmax() if self.rule == "_majority" else counts.argmin()
        return FixedAnswers(np.full(len(truth), codes[at]))


@dataclass(frozen=True, eq=False)
class FixedAnswers:
    """A predictor whose answers are fixed in advance."""

    answers: Codes

    def fit(self, X: Any, y: Any) -> FixedAnswers:  # noqa: ARG002
        """Learn nothing."""
        return self

    def predict(self, X: Any) -> Codes:  # noqa: ARG002
        """Return the fixed answers."""
        return self.answers


def misplaced(names: Sequence[str], strength: Floats) -> tuple[str, ...] | None:
    """Return artificial respondents that are not where they should be; None without any.

    No respondent should rank above "optimal" or below "pessimal", and every real respondent should
    rank above those that guess: majority, minority and the random ones.
    """
    artificial = is_artificial(names)
    if not artificial.any():
        return None
    weakest = strength[~artificial].min(initial=np.inf)
    wrong = artificial & (strength >= weakest)
    for k, name in enumerate(names):
        if name == OPTIMAL:
            wrong[k] = strength[k] < strength.max()
        elif name == PESSIMAL:
            wrong[k] = strength[k] > strength.min()
    return tuple(name for name, is_wrong in zip(names, wrong, strict=True) if is_wrong)


N_CONFIGURATIONS = 20
SEED = 2024

Settings = dict[str, Any]
Draw = Callable[["Draws"], Settings]


class Draws:
    """Random settings from `Random.random` alone, whose sequence Python guarantees."""

    def __init__(self, seed: str) -> None:
        self._random = Random(seed).random  # noqa: S311 - configurations, no secrets

    def one_of(self, *options: Any) -> Any:
        """Return any of the options."""
        return options[int(self._random() * len(options))]

    def whole(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`."""
        return low + int(self._random() * (high - low + 1))

    def share(self, low: float, high: float) -> float:
        """Return a number from `low` to `high`, to two decimals."""
        return round(low + self._random() * (high - low), 2)

    def layers(self) -> tuple[int, ...]:
        """Return the units of one or two hidden layers."""
        return tuple(self.whole(1, 100) for _ in range(self.whole(1, 2)))

    def power(self, low: float, high: float) -> float:
        """Return ten to a power from `low` to `high`, to three digits."""
        return float(f"{10 ** (low + self._random() * (high - low)):.2e}")


def configurations() -> list[tuple[str, Settings]]:
    """Return algorithm and settings: always the same twenty for each algorithm."""
    pairs: list[tuple[str, Settings]] = []
    for algorithm, draw in ALGORITHMS.items():
        draws = Draws(f"{SEED} {algorithm}")
        drawn: list[Settings] = []
        while len(drawn) < N_CONFIGURATIONS:
            settings = draw(draws)
            if settings not in drawn:
                drawn.append(settings)
        pairs += [(algorithm, settings) for settings in drawn]
    return pairs


def random_classifiers() -> tuple[Member, ...]:
    """Return one member per configuration, named after its algorithm and a number."""
    kinds = algorithm_classes()
    return tuple(
        member_of(
            f"{algorithm} {position % N_CONFIGURATIONS + 1:02d}",
            kinds[algorithm](**settings),
            prepared=True,
        )
        for position, (algorithm, settings) in enumerate(configurations())
    )


# How the settings of each algorithm are drawn. The order of the draws is part of the definition.
ALGORITHMS: dict[str, Draw] = {
    "decision tree": lambda draws: {
        "criterion": draws.one_of("gini", "entropy"),
        "splitter": draws.one_of("best", "random"),
        "max_depth": draws.one_of(None, draws.whole(1, 20)),
        "min_samples_leaf": draws.whole(1, 20),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    },
    "random forest": lambda draws: {
        "n_estimators": draws.whole(1, 100),
        "criterion": draws.one_of("gini", "entropy"),
        "max_depth": draws.one_of(None, draws.whole(1, 20)),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    },
    "AdaBoost": lambda draws: {
        "n_estimators": draws.whole(1, 100),
        "learning_rate": draws.power(-2, 0.3),
    },
    "gradient boosting": lambda draws: {
        "n_estimators": draws.whole(1, 100),
        "learning_rate": draws.power(-2, 0),
        "max_depth": draws.whole(1, 6),
        "subsample": draws.share(0.5, 1.0),
        "max_features": draws.one_of(None, "sqrt", "log2"),
    },
    "bagging": lambda draws: {
        "n_estimators": draws.whole(1, 50),
        "max_samples": draws.share(0.1, 1.0),
        "max_features": draws.share(0.3, 1.0),
    },
    "MLP": lambda draws: {
        "hidden_layer_sizes": draws.layers(),
        "activation": draws.one_of("identity", "logistic", "tanh", "relu"),
        "solver": draws.one_of("lbfgs", "sgd", "adam"),
        "alpha": draws.power(-6, 0),
        "max_iter": draws.whole(10, 200),
    },
    "nearest neighbours": lambda draws: {
        "n_neighbors": draws.whole(1, 40),
        "weights": draws.one_of("uniform", "distance"),
        "p": draws.whole(1, 2),
    },
    "SVM": lambda draws: {
        "C": draws.power(-3, 2),
        "kernel": draws.one_of("linear", "poly", "rbf", "sigmoid"),
        "gamma": draws.one_of("scale", "auto"),
    },
    "linear SVM": lambda draws: {
        "C": draws.power(-3, 2),
        "loss": draws.one_of("hinge", "squared_hinge"),
        "max_iter": draws.whole(10, 1000),
    },
    # Shrinkage keeps the covariance invertible if columns repeat each other.
    "LDA": lambda draws: {
        "solver": draws.one_of("lsqr", "eigen"),
        "shrinkage": draws.one_of("auto", *(draws.share(0.05, 1.0) for _ in range(9))),
    },
}


def algorithm_classes() -> dict[str, Any]:
    """Return the scikit-learn class of each algorithm."""
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


FOLDS = 5

Grid = dict[str, tuple[Any, ...]]

# Of equally accurate settings the first win; they are also used if classes are too small to search.
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
    """Return one member per algorithm, which chooses its settings on the training part."""
    makers = (GridSearch(algorithm, grid) for algorithm, grid in GRIDS.items())
    return tuple(Member(maker.algorithm, maker, repr(maker), prepared=True) for maker in makers)


@dataclass(frozen=True, eq=False)
class GridSearch:
    """Makes classifiers that choose their settings from a grid."""

    algorithm: str
    grid: Grid
    cv: int = FOLDS

    def __call__(self, split: Part, seed: int) -> Tuned:
        """Return a classifier that has not searched yet."""
        classifier = FromEstimator(algorithm_classes()[self.algorithm]())(split, seed)
        return Tuned(classifier, self.grid, self.cv, seed)


@dataclass(eq=False)
class Tuned:
    """A classifier that cross-validates its grid, then is fitted with the best settings.

    A class with fewer than `cv` members reduces the number of folds; a class with one member takes
    no part in the search.
    """

    classifier: Any
    grid: Grid
    cv: int
    seed: int
    remarks: tuple[str, ...] = ()  # which settings it chose

    def fit(self, X: Any, y: Any) -> Tuned:
        """Search, then fit."""
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
        """Predict with the best settings."""
        predictor: Predictor = self.classifier
        return predictor.predict(X)

    def _chosen(self, X: NDArray[Any], y: NDArray[Any]) -> tuple[Settings, str]:
        """Return the best settings of the grid, and a remark on how accurate they are."""
        from sklearn.model_selection import GridSearchCV, StratifiedKFold

        _, place, sizes = np.unique(y, return_inverse=True, return_counts=True)
        shared = sizes[sizes > 1]
        if shared.size < 2:
            first = {name: options[0] for name, options in self.grid.items()}
            return first, "not tuned: fewer than two classes have two members to learn from"
        n_folds = min(self.cv, int(shared.min()))
        rows = sizes[place] > 1
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=self.seed)
        search = GridSearchCV(self.classifier, self.grid, cv=splitter, refit=False, n_jobs=1)
        search.fit(X[rows], y[rows])
        settings: Settings = search.best_params_
        words = ", ".join(f"{name}={value}" for name, value in settings.items())
        accuracy = search.cv_results_["mean_test_score"][search.best_index_]
        return settings, f"tuned ({accuracy:.3f} right in {counted(n_folds, 'fold')}: {words})"


def regressors() -> tuple[Member, ...]:
    """Return seventy-three members that train in milliseconds on a few hundred rows."""
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
    for depth, leaf in product((1, 2, 3, 4, 6, 9, 14), (1, 5, 15)):
        tree = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf)
        found[f"tree (depth {depth}, leaf {leaf})"] = tree
    for k, weights in product((1, 2, 3, 5, 8, 13, 21, 34), ("uniform", "distance")):
        found[f"{k} neighbours ({weights})"] = KNeighborsRegressor(k, weights=weights)
    for alpha in (0.01, 1.0, 10.0, 100.0, 1000.0):
        found[f"ridge ({alpha:g})"] = Ridge(alpha)
    for alpha in (0.01, 0.1, 1.0):
        found[f"lasso ({alpha:g})"] = Lasso(alpha, max_iter=5000)
    for trees, share in product((1, 3, 10, 30), (1.0, 0.3)):
        forest = RandomForestRegressor(trees, max_features=share)
        found[f"forest ({trees} trees, {share:.0%} of columns)"] = forest
    for rate, depth in product((0.01, 0.03, 0.1, 0.3), (1, 3)):
        boosted = GradientBoostingRegressor(n_estimators=40, learning_rate=rate, max_depth=depth)
        found[f"boosting (rate {rate:g}, depth {depth})"] = boosted
    for kernel, cost in product(("rbf", "linear"), (0.1, 1.0, 10.0, 100.0, 1000.0)):
        found[f"SVR ({kernel}, C {cost:g})"] = SVR(kernel=kernel, C=cost)
    return tuple(member_of(name, made, prepared=True) for name, made in found.items())
