"""Trees in saved models: scikit-learn follows their indices blindly, so they are checked first."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from ogive.errors import InputError

LEAF = -1
FIELDS = ("left_child", "right_child", "feature")


class SavedTree:
    """What stands for a `Tree` of scikit-learn in a file. Called, it checks and returns a `Tree`.

    A `Tree` copies what it is given into its own memory before anybody can look at it, so a file
    never holds one.
    """

    _told: tuple[Any, ...]

    def __new__(cls, n_features: int, n_classes: Any, nodes: Any, values: Any) -> Any:
        """Return the tree, or refuse what would lead out of an array or round in circles."""
        from sklearn.tree._tree import Tree

        n_classes = np.asarray(n_classes)
        require(isinstance(n_features, int) and 0 < n_features < 2**31)
        require(n_classes.ndim == 1 and n_classes.dtype.kind == "i" and len(n_classes) > 0)
        require(bool((n_classes > 0).all()) and isinstance(nodes, np.ndarray) and nodes.ndim == 1)
        require(set(FIELDS) <= set(nodes.dtype.names or ()) and isinstance(values, np.ndarray))
        require(values.shape == (len(nodes), len(n_classes), int(n_classes.max())))
        left, right, feature = (nodes[name].astype(np.int64) for name in FIELDS)
        depth = checked_depth(left, right, feature, n_features)
        tree = Tree(n_features, n_classes.astype(np.intp), len(n_classes))
        told = {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values}
        tree.__setstate__(told)
        return tree

    @classmethod
    def of(cls, tree: Any) -> SavedTree:
        """Stand for this tree."""
        made: SavedTree = object.__new__(cls)
        (n_features, n_classes, _), state = tree.__reduce__()[1:]
        made._told = (n_features, n_classes, state["nodes"], state["values"])
        return made

    def __reduce__(self) -> Any:
        """Files hold what is called, and with what."""
        return SavedTree, self._told


def with_saved_trees(estimator: Any, parts: Iterable[Any]) -> Any:
    """Return a copy of an estimator for a file.

    Trees for neighbours are grown again when it is read; generators of random numbers are only for
    fitting.
    """
    from sklearn.neighbors import BallTree, KDTree
    from sklearn.tree._tree import Tree

    instead: dict[int, Any] = {}
    for part in parts:
        if isinstance(part, Tree):
            instead[id(part)] = SavedTree.of(part)
        elif isinstance(part, KDTree | BallTree | np.random.Generator):
            instead[id(part)] = None
    return copy.deepcopy(estimator, instead) if instead else estimator


def checked_depth(left: Any, right: Any, feature: Any, n_features: int) -> int:
    """Return the depth of a tree, if every node but the first has one parent, before it."""
    count = len(left)
    inner = np.flatnonzero(left != LEAF)
    require(count > 0 and np.array_equal(inner, np.flatnonzero(right != LEAF)))
    require(bool(((feature[inner] >= 0) & (feature[inner] < n_features)).all()))
    for child in (left[inner], right[inner]):
        require(bool(((child > inner) & (child < count)).all()))
    children = np.concatenate([left[inner], right[inner]])
    require(np.array_equal(np.sort(children), np.arange(1, count)))
    above = np.zeros(count, dtype=np.int64)
    above[children] = np.tile(inner, 2)
    depth = (np.arange(count) > 0).astype(np.int64)
    while above.any():  # twice as far up each time
        depth += depth[above]
        above = above[above]
    return int(depth.max())


def require(sound: bool) -> None:  # noqa: FBT001
    """Refuse a tree."""
    if not sound:
        raise InputError("it holds a tree with invalid nodes")
