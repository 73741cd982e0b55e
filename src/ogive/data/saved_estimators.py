"""Estimators in files of skops, without pickle.

The promise: nothing in a file is executed, and no array in it leads compiled code out of bounds.
Only data of known types is read; parameters are those that scikit-learn accepts, none reaches files
or other processes, and arrays are checked by `estimator_checks`.
"""

from __future__ import annotations

import copy
import io
import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from ogive._files import VARIABLE, PathLike, size_for_people
from ogive.data import estimator_checks as checks
from ogive.errors import FileError, InputError, MissingExtraError
from ogive.results.numbers import listed, repeated

# Beside what skops trusts by itself: scikit-learn's estimators, and arrays of NumPy.
OWN_TYPES = (
    "ogive.difficulty.regressor.DifficultyRegressor",
    "ogive.data.estimator_checks.SavedTree",
    "ogive.difficulty.regressor.StepwiseRegressor",
    "ogive.stats.splines.Splines",
    "ogive.portfolios.selector.AlgorithmSelector",
    "ogive.portfolios.selector_forests.LeafForest",
    "ogive.portfolios.selector_forests.PairForest",
    "ogive.portfolios.selector_forests.OfEach",
    "ogive.portfolios.selector_forests.FeatureCoder",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
)
CHECKED: dict[str, Callable[[Any], None]] = {
    **dict.fromkeys(
        ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees"),
        checks.check_decision_tree,
    ),
    "GradientBoosting": checks.check_boosting,
    "HistGradientBoosting": checks.check_histogram_boosting,
    "KNeighbors": checks.check_neighbours,
    "OneHotEncoder": checks.check_one_hot,
    "CountVectorizer": checks.check_vocabulary,
    "DictVectorizer": checks.check_vocabulary,
    "TfidfVectorizer": checks.check_vocabulary,
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR"), checks.check_support_vectors),
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
    values, known = vars(part), _known_names(kind)
    fault = advice = ""
    for name in values:
        fitted = name.startswith("_") or name.endswith("_")
        if name not in known and (not fitted or hasattr(kind, name)):
            raise InputError(f"it holds a {kind.__name__} with a parameter {name!r:.40}")
    pattern, degree = values.get("token_pattern"), values.get("degree")
    if values.get("input", "content") != "content" or values.get("memory") is not None:
        fault = "that reads or writes files by itself"
        advice = 'input="content" and memory=None'
    elif pattern is not None and not PLAIN_PATTERN.fullmatch(pattern):
        fault = f"with token_pattern={pattern!r:.40}, which may take forever"
        advice = "one without parentheses"
    elif degree is not None and np.max(degree) > MOST_DEGREE:
        fault, advice = f"with degree={degree!r:.40}", f"{MOST_DEGREE} at most"
    if fault:
        raise InputError(f"it holds a {kind.__name__} {fault}; use {advice}")
    if hasattr(kind, "_parameter_constraints"):
        part._validate_params()  # noqa: SLF001
    if "n_jobs" in values:
        part.n_jobs = None


@cache
def _known_names(kind: type) -> frozenset[str]:
    """Return its parameters, and those that scikit-learn passes on to what it is built on."""
    made = [vars(base)["__init__"] for base in kind.__mro__[:-1] if "__init__" in vars(base)]
    return frozenset(name for one in made for name in signature(one).parameters)


def parts_of(root: Any) -> Iterator[Any]:
    """Iterate over everything inside a model, each once."""
    visited: set[int] = set()
    waiting = [root]
    while waiting:
        part = waiting.pop()
        if id(part) in visited or isinstance(part, str | bytes | int | float | type | None):
            continue
        visited.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple | set):
            waiting += list(part)
        elif isinstance(part, np.ndarray):
            waiting += list(part.ravel()) if part.dtype == object else []
        elif not isinstance(part, np.ufunc | np.generic | np.dtype):  # NumPy keeps notes in these
            waiting += list(getattr(part, "__dict__", {}).values())


MAX_BYTES = 4 * 1024**3
SCHEMA = "schema.json"
MOST_SCHEMA = 1 << 26  # bytes of the description, each of which needs ten in memory
SMALL, HIGHEST_RATIO = 1 << 27, 100  # what trees and coefficients compress to stays far below
EPOCH = (1980, 1, 1, 0, 0, 0)
PLAIN_ENDINGS = (".json", ".npy", ".bin")
_NAMED = re.compile(rb'"file":\s*"([^"\\]*)"')
# Objects are named by their addresses in memory, and files after them.
_ADDRESS = re.compile(rb'"__id__": (\d+)|"file": "(\d+)(?=\.)')


def canonical(content: bytes) -> bytes:
    """Return the archive with objects numbered in their order, and without times.

    Equal estimators then have equal files.
    """
    places: dict[bytes, int] = {}

    def numbered(match: re.Match[bytes]) -> bytes:
        address = match[1] or match[2]
        place = places.setdefault(address, len(places) + 1)
        return match[0][: -len(address)] + b"%d" % place

    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w") as new:
        files = {SCHEMA: _ADDRESS.sub(numbered, old.read(SCHEMA))}
        for name in old.namelist():
            address, dot, ending = name.partition(".")
            place = places.get(address.encode())
            if name != SCHEMA:
                files[name if place is None else f"{place}{dot}{ending}"] = old.read(name)
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            new.writestr(entry, files[name], compress_type=zipfile.ZIP_DEFLATED)
    return made.getvalue()


def check_members(path: PathLike, content: bytes, max_bytes: int, noun: str, writer: str) -> None:
    """Refuse an archive that is too large, damaged, or holds more than the model.

    Members that no part of the model names are refused, and so are archives inside, whose sizes
    are unknown.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            _check_size(path, entries, len(content), max_bytes)
            named = {SCHEMA.encode(), *_NAMED.findall(archive.read(SCHEMA))}
    except FileError:
        raise
    # zlib, zipfile and struct have errors of their own for every way of being damaged
    except Exception as error:
        raise FileError(
            f"'{path}' is not a file of a {noun}, or was cut short: {error}. "
            f"Give a file that {writer} wrote."
        ) from error
    names = [entry.filename for entry in entries]
    for wrong, what in (
        (repeated(names), "more than once"),
        (
            [name for name in names if name.encode(errors="replace") not in named],
            "that belong to no part of the model",
        ),
        ([name for name in names if not name.endswith(PLAIN_ENDINGS)], "that cannot be verified"),
    ):
        if wrong:
            raise FileError(
                f"'{path}' cannot be read as a {noun}: it holds {listed(wrong, 'file')} {what}. "
                f"Give a file that {writer} wrote."
            )


def _check_size(
    path: PathLike, entries: list[zipfile.ZipInfo], length: int, max_bytes: int
) -> None:
    """Refuse an archive that would unpack to more than `max_bytes`, or than a model can.

    The second only up to the usual limit: whoever passes a larger one trusts the file.
    """
    total, most = sum(entry.file_size for entry in entries), max_bytes
    schema = max((entry.file_size for entry in entries if entry.filename == SCHEMA), default=0)
    if max_bytes <= MAX_BYTES:
        most = min(max_bytes, max(SMALL, HIGHEST_RATIO * length))
        if schema > MOST_SCHEMA:
            total, most = schema, MOST_SCHEMA
    if total > most:
        larger = "a larger max_bytes" if most == max_bytes else f"max_bytes={MAX_BYTES + 1}"
        raise FileError(
            f"'{path}' unpacks to {size_for_people(total)}, and the limit is "
            f"{size_for_people(most)}. If you trust the file, pass {larger}, or set {VARIABLE}."
        )


def packed(estimator: Any, noun: str) -> bytes:
    """Return an estimator as the content of a file, if `unpacked` could read it back."""
    skops = skops_io()
    try:
        made = checks.with_saved_trees(estimator, parts_of(estimator))
        content = canonical(skops.dumps(made))
        foreign = skops.get_untrusted_types(data=content)
        if set(foreign) - set(OWN_TYPES):
            check_parts(copy.deepcopy(estimator))  # says what to use instead of an estimator
        _refuse_foreign(foreign)
        check_parts(skops.loads(content, trusted=list(OWN_TYPES)))
    except Exception as error:
        raise InputError(f"This {noun} cannot be saved: {str(error).rstrip('.')}.") from error
    return content


def unpacked(
    path: PathLike,
    content: bytes,
    check: Callable[[Any], None],
    noun: str,
    writer: str,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Return the estimator in the content of a file; refuse unknown types and damaged parts."""
    skops = skops_io()
    check_members(path, content, max_bytes, noun, writer)
    try:
        _refuse_foreign(skops.get_untrusted_types(data=content))
        found = skops.loads(content, trusted=list(OWN_TYPES))
        check_parts(found)
        check(found)
    # Whatever skops or scikit-learn raises, the file is to blame.
    except Exception as error:
        raise FileError(
            f"'{path}' cannot be read as a {noun}: {error}. Give a file that {writer} wrote."
        ) from error
    return found


def skops_io() -> Any:
    """Return skops.io, or say how to install it."""
    try:
        import skops.io
    except ModuleNotFoundError as error:
        raise MissingExtraError("skops", "learning") from error
    return skops.io


def _refuse_foreign(types: Sequence[str]) -> None:
    foreign = sorted(set(types) - set(OWN_TYPES))
    if foreign:
        raise InputError(
            f"it holds {listed(foreign, 'type')}, which cannot be verified; use {ELSE}"
        )
