"""Which types may be in a saved model, and with which parameters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from ogive.errors import InputError
from ogive.learning import saved_arrays

# Beside what skops trusts by itself: scikit-learn's estimators, and arrays of NumPy.
OWN_TYPES = (
    "ogive.learning.regressor.DifficultyRegressor",
    "ogive.learning.saved_trees.SavedTree",
    "ogive.learning.stepwise.StepwiseRegressor",
    "ogive.numerics.splines.Splines",
    "ogive.studies.algorithms.algorithm_selector.AlgorithmSelector",
    "ogive.studies.algorithms.selector_forests.LeafForest",
    "ogive.studies.algorithms.selector_forests.PairForest",
    "ogive.studies.algorithms.selector_tables.OfEach",
    "ogive.studies.algorithms.selector_tables.FeatureCoder",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
CHECKED: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(
        ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"),
        saved_arrays.check_decision_tree,
    ),
    "GradientBoosting": saved_arrays.check_boosting,
    "HistGradientBoosting": saved_arrays.check_histogram_boosting,
    "KNeighbors": saved_arrays.check_neighbours,
    "OneHotEncoder": saved_arrays.check_one_hot,
    "CountVectorizer": saved_arrays.check_vocabulary,
    "DictVectorizer": saved_arrays.check_vocabulary,
    "TfidfVectorizer": saved_arrays.check_vocabulary,
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR"), saved_arrays.check_support_vectors),
}
# These predict through NumPy alone, which refuses what does not fit.
_PLAIN = """
    ARDRegression AdaBoost Bagging BayesianRidge BernoulliNB Binarizer
    CategoricalNB ClassifierChain ColumnTransformer ComplementNB Dummy ElasticNet ElasticNetCV
    FactorAnalysis FastICA FeatureHasher FeatureUnion FixedThresholdClassifier FrozenEstimator
    FunctionTransformer GammaRegressor GaussianNB GaussianRandomProjection HashingVectorizer
    HuberRegressor IncrementalPCA KBinsDiscretizer KNNImputer KernelRidge LabelBinarizer
    LabelEncoder Lars LarsCV Lasso LassoCV LassoLars LassoLarsCV LassoLarsIC
    LinearDiscriminantAnalysis LinearRegression LinearSVC LinearSVR LogisticRegression
    LogisticRegressionCV MLP MaxAbsScaler MinMaxScaler MissingIndicator MultiOutput
    MultiTaskElasticNet MultiTaskElasticNetCV MultiTaskLasso MultiTaskLassoCV MultinomialNB
    Normalizer OneVsOneClassifier OneVsRestClassifier OrdinalEncoder OrthogonalMatchingPursuit
    OrthogonalMatchingPursuitCV PCA PLSRegression PassiveAggressive Perceptron Pipeline
    PoissonRegressor PolynomialFeatures PowerTransformer QuadraticDiscriminantAnalysis
    QuantileRegressor QuantileTransformer RANSACRegressor RBFSampler RFE RFECV RegressorChain
    Ridge RidgeCV RidgeClassifier RidgeClassifierCV RobustScaler SGD SelectFromModel
    SequentialFeatureSelector SimpleImputer StandardScaler TargetEncoder TfidfTransformer
    TheilSenRegressor TransformedTargetRegressor TruncatedSVD VarianceThreshold _BinMapper
"""
PLAIN = frozenset(_PLAIN.split())
_KINDS = ("Classifier", "Regressor")
ELSE = "a linear model, a forest, gradient boosting, support vectors or nearest neighbours"
VALUES = (
    *(dict, list, tuple, set, slice, complex, bytearray),
    *(np.ndarray, np.generic, np.dtype, np.ufunc, np.random.RandomState),
)
# Parts of estimators: in a file only if skops trusts them or OWN_TYPES do. Trees are grown here.
PARTS = (
    "sklearn._loss.",
    "_loss.Cy",  # as older versions of scikit-learn name them
    "sklearn.ensemble._hist_gradient_boosting.",
    "sklearn.linear_model._sgd_fast.",
    "sklearn.neighbors._ball_tree.",
    "sklearn.neighbors._kd_tree.",
    "sklearn.neural_network.",
    "sklearn.tree._tree.",
)
PLAIN_PATTERN = re.compile(r"(\(\?u\))?[^()]*")  # without groups, none takes forever
MOST_DEGREE = 16


def check_parts(root: Any) -> None:
    """Refuse types and parameters that are not known to be harmless, and arrays that do not fit.

    `n_jobs` is set to None: how many processes a model may use is not for a file to say.
    """
    from sklearn.base import BaseEstimator

    for part in parts_of(root):
        if isinstance(part, BaseEstimator):
            _check_estimator(part)
        elif not isinstance(part, VALUES):
            named = f"{type(part).__module__}.{type(part).__qualname__}"
            if named not in OWN_TYPES and not named.startswith(PARTS):
                raise InputError(f"it holds {named}, which cannot be verified; use {ELSE}")
        elif isinstance(part, np.random.RandomState):
            at = part.get_state(legacy=False)["state"]["pos"]
            if not 0 <= at <= 624:  # words of a Mersenne twister
                raise InputError("its random generator is damaged")


def _check_estimator(part: Any) -> None:
    name = type(part).__name__
    short = next((name.removesuffix(end) for end in _KINDS if name.endswith(end)), name)
    own = type(part).__module__.startswith("ogive.")
    if not own and not {name, short} & (PLAIN | CHECKED.keys()):
        inner = "; save its best_estimator_" if hasattr(part, "best_estimator_") else ""
        raise InputError(
            f"it holds a {name}, which is not among the types that can be verified{inner}; use "
            f"{ELSE}"
        )
    check_parameters(part)
    for checked in {name, short} & CHECKED.keys():
        CHECKED[checked](part)


def check_parameters(part: Any) -> None:
    """Refuse parameters that scikit-learn would, or with which a type reaches outside."""
    kind: Any = type(part)
    told, known = vars(part), _known_names(kind)
    for name in told:
        if name not in known and (not _fitted(name) or hasattr(type(part), name)):
            raise InputError(f"it holds a {type(part).__name__} with a parameter {name!r:.40}")
    if told.get("input", "content") != "content" or told.get("memory") is not None:
        raise InputError(
            f"it holds a {type(part).__name__} that reads or writes files by itself; use "
            'input="content" and memory=None'
        )
    pattern = told.get("token_pattern")
    if pattern is not None and not PLAIN_PATTERN.fullmatch(pattern):
        raise InputError(
            f"it holds a {type(part).__name__} with token_pattern={pattern!r:.40}, which may take "
            "forever; use one without parentheses"
        )
    degree = told.get("degree")
    if degree is not None and np.max(degree) > MOST_DEGREE:
        raise InputError(
            f"it holds a {type(part).__name__} with degree={degree!r:.40}; use {MOST_DEGREE} at "
            "most"
        )
    if hasattr(type(part), "_parameter_constraints"):
        part._validate_params()  # noqa: SLF001
    if "n_jobs" in told:
        part.n_jobs = None


@cache
def _known_names(kind: type) -> frozenset[str]:
    """Its parameters, and those that scikit-learn passes on to what it is built on."""
    made = [vars(base)["__init__"] for base in kind.__mro__[:-1] if "__init__" in vars(base)]
    return frozenset(name for one in made for name in signature(one).parameters)


def _fitted(name: str) -> bool:
    return name.startswith("_") or name.endswith("_")


def parts_of(root: Any) -> Iterator[Any]:
    """Iterate over everything inside a model, each once."""
    seen: set[int] = set()
    ahead = [root]
    while ahead:
        part = ahead.pop()
        if id(part) in seen or isinstance(part, str | bytes | int | float | type | None):
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            ahead += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set):
            ahead += list(part)
        elif isinstance(part, np.ndarray):
            ahead += list(part.ravel()) if part.dtype == object else []
        elif not isinstance(part, np.ufunc | np.generic | np.dtype):  # NumPy keeps notes in these
            ahead += list(getattr(part, "__dict__", {}).values())
