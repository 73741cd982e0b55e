"""Estimators in files of skops, without pickle: only data of known types is read, and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from itemwise.errors import FileError, InputError, MissingExtraError
from itemwise.files import PathLike
from itemwise.learning.skops_archives import MAX_BYTES, canonical, check_size
from itemwise.words import listed

MOST_JOBS = 256
# Beside what skops trusts by itself: scikit-learn's estimators, and arrays of NumPy and SciPy.
# Trees are checked after reading, since scikit-learn follows their indices blindly.
OWN_TYPES = (
    "itemwise.learning.regressor.DifficultyRegressor",
    "itemwise.learning.stepwise.StepwiseRegressor",
    "itemwise.numerics.splines.Splines",
    "itemwise.studies.algorithms.algorithm_selector.AlgorithmSelector",
    "itemwise.studies.algorithms.selector_forests.LeafForest",
    "itemwise.studies.algorithms.selector_forests.PairForest",
    "itemwise.studies.algorithms.selector_tables.OfEach",
    "itemwise.studies.algorithms.selector_tables.FeatureCoder",
    "numpy.dtype",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    "sklearn.tree._tree.Tree",
)


def packed(estimator: Any, noun: str) -> bytes:
    """Return an estimator as the content of a file, if `unpacked` could read it back."""
    skops = skops_io()
    try:
        content = canonical(skops.dumps(estimator))
        _refuse_foreign(skops.get_untrusted_types(data=content))
        check_trees(estimator)
    except Exception as error:
        raise InputError(
            f"This {noun} cannot be saved: {error}. Save one made of scikit-learn's own parts."
        ) from error
    return content


def unpacked(
    path: PathLike,
    content: bytes,
    check: Callable[[Any], None],
    noun: str,
    writer: str,
    max_bytes: int = MAX_BYTES,
) -> Any:
    """Return the estimator in the content of a file; refuse unknown types and damaged trees."""
    skops = skops_io()
    check_size(path, content, max_bytes, noun, writer)
    try:
        _refuse_foreign(skops.get_untrusted_types(data=content))
        found = skops.loads(content, trusted=list(OWN_TYPES))
        check(found)
        check_trees(found)
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
            f"it holds {listed(foreign, 'type')} from neither scikit-learn nor Itemwise"
        )


def check_parameters(part: Any) -> None:
    """Refuse parameters with which a known type reads or writes files, or starts processes."""
    told = getattr(part, "__dict__", {})
    reads = "input" in told and told["input"] != "content" and hasattr(part, "analyzer")
    jobs = told.get("n_jobs")
    if reads or (told.get("memory") is not None and hasattr(part, "get_params")):
        raise InputError(
            f"it holds a {type(part).__name__} that reads or writes files by itself; use "
            'input="content" and memory=None'
        )
    if isinstance(jobs, int) and jobs > MOST_JOBS:
        raise InputError(f"it holds a {type(part).__name__} with n_jobs={jobs}; use None")


def check_trees(regressor: Any) -> None:
    """Refuse trees with invalid indices, and parameters that a file must not have.

    Scikit-learn follows the indices in a tree without checks: a damaged file could make it read
    beyond an array, or loop forever. So each index is checked when the file is read.
    """
    from sklearn.ensemble._forest import BaseForest
    from sklearn.ensemble._gb import BaseGradientBoosting
    from sklearn.ensemble._hist_gradient_boosting.gradient_boosting import (
        BaseHistGradientBoosting,
    )
    from sklearn.svm._base import BaseLibSVM
    from sklearn.tree import BaseDecisionTree
    from sklearn.tree._tree import Tree

    owned, seen = set(), []
    for part in _parts(regressor):
        check_parameters(part)
        if isinstance(part, BaseLibSVM):
            raise InputError(
                f"it holds a {type(part).__name__}, whose arrays are read without bounds checks "
                "and cannot be verified; use another regressor"
            )
        if isinstance(part, BaseDecisionTree) and hasattr(part, "tree_"):
            _check_tree(part.tree_, part.n_features_in_)
            owned.add(id(part.tree_))
        elif isinstance(part, BaseForest | BaseGradientBoosting) and hasattr(part, "estimators_"):
            for one in np.ravel(np.asarray(part.estimators_, dtype=object)):
                _require(one.n_features_in_ == part.n_features_in_)
        elif isinstance(part, BaseHistGradientBoosting) and hasattr(part, "_predictors"):
            for one in _flattened(part._predictors):  # noqa: SLF001
                _check_nodes(one.nodes, part.n_features_in_)
        elif isinstance(part, Tree):
            seen.append(id(part))
    _require(owned.issuperset(seen))


def _check_tree(tree: Any, n_features: int) -> None:
    _require(tree.n_features == n_features)
    left, right = tree.children_left, tree.children_right
    inner = left != -1
    _require(bool(((right != -1) == inner).all()))
    _check_indices(left[inner], right[inner], np.flatnonzero(inner), len(left))
    feature = tree.feature[inner]
    _require(len(left) > 0 and bool(((feature >= 0) & (feature < n_features)).all()))


def _check_nodes(nodes: Any, n_features: int) -> None:
    if nodes["is_categorical"].any():
        raise InputError(
            "it holds gradient boosting with categorical splits, which cannot be checked; let the "
            "regressor code categories as columns instead"
        )
    inner = nodes["is_leaf"] == 0
    part = nodes[inner]
    _check_indices(
        part["left"].astype(np.int64),
        part["right"].astype(np.int64),
        np.flatnonzero(inner),
        len(nodes),
    )
    feature = part["feature_idx"].astype(np.int64)
    _require(len(nodes) > 0 and bool(((feature >= 0) & (feature < n_features)).all()))


def _check_indices(left: Any, right: Any, own: Any, count: int) -> None:
    """Children lie inside the array and after their parent, so every walk ends."""
    for child in (left, right):
        _require(bool(((child > own) & (child < count)).all()))


def _require(sound: bool) -> None:  # noqa: FBT001
    if not sound:
        raise InputError("it holds a tree with invalid nodes")


def _flattened(nested: Any) -> Iterator[Any]:
    for row in nested:
        yield from row


def _parts(root: Any) -> Iterator[Any]:
    """Iterate over everything inside a regressor, each once."""
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
        else:
            ahead += list(getattr(part, "__dict__", {}).values())
