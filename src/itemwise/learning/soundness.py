"""Whether the trees of a loaded regressor lead somewhere.

Scikit-learn follows the indices in a tree without looking: a bent file could make it read beyond an
array, or walk in circles. So each index is looked at once, when the file is read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from itemwise.errors import InputError


def check_trees(regressor: Any) -> None:
    """Refuse trees with indices that lead out of their arrays, or back."""
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
        if isinstance(part, BaseLibSVM):
            raise InputError(
                f"it holds a {type(part).__name__}, whose arrays are read without a look at their "
                "length and cannot be checked; take another regressor"
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
    """Children lie inside the array and after their parent, so that every walk ends."""
    for child in (left, right):
        _require(bool(((child > own) & (child < count)).all()))


def _require(sound: bool) -> None:  # noqa: FBT001
    if not sound:
        raise InputError("it holds a tree whose nodes lead nowhere")


def _flattened(nested: Any) -> Iterator[Any]:
    for row in nested:
        yield from row


def _parts(root: Any) -> Iterator[Any]:
    """Everything that a regressor is made of, each once."""
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
