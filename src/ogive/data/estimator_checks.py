"""Checks of saved estimators, before compiled code of scikit-learn uses their arrays.

The promise: no array in a file leads compiled code out of bounds. scikit-learn follows the indices
of trees, the counts of support vectors, and the codes of categories and words blindly, so they are
compared here. Each check gets one fitted estimator. Everything else that may be saved predicts
through NumPy, which refuses arrays that do not fit each other.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from ogive.errors import InputError

LEAF = -1
METRICS = ("minkowski", "euclidean", "l2", "manhattan", "cityblock", "l1", "chebyshev", "cosine")
FIELDS = ("left_child", "right_child", "feature")


class SavedTree:
    """A substitute for a `Tree` of scikit-learn in a file. Called, it checks and returns a `Tree`.

    A `Tree` copies what it is given into its own memory before anybody can look at it, so a file
    never holds one.
    """

    _arguments: tuple[Any, ...]

    def __new__(cls, n_features: int, n_classes: Any, nodes: Any, values: Any) -> Any:
        """Return the tree, or refuse nodes that lead out of an array or round in circles."""
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
        tree.__setstate__(
            {"max_depth": depth, "node_count": len(nodes), "nodes": nodes, "values": values}
        )
        return tree

    @classmethod
    def of(cls, tree: Any) -> SavedTree:
        """Return the substitute for this tree."""
        made: SavedTree = object.__new__(cls)
        (n_features, n_classes, _), state = tree.__reduce__()[1:]
        made._arguments = (n_features, n_classes, state["nodes"], state["values"])
        return made

    def __reduce__(self) -> Any:
        """Return the class and its arguments, which a file holds."""
        return SavedTree, self._arguments


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
    """Refuse a tree that is not sound."""
    if not sound:
        raise InputError("it holds a tree with invalid nodes")


def check_decision_tree(part: Any) -> None:
    """Check that trees expect as many features as are checked when they are used."""
    from sklearn.tree._tree import Tree

    if "tree_" in vars(part):
        require(isinstance(part.tree_, Tree) and part.tree_.n_features == part.n_features_in_)
    for child in vars(part).get("estimators_", ()):
        require(child.n_features_in_ == part.n_features_in_)


def check_boosting(part: Any) -> None:
    """Check that trees add to columns that exist; only a constant start certainly has them."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.tree import DecisionTreeRegressor

    if not isinstance(part.init, str | None) or not (
        isinstance(getattr(part, "init_", None), DummyClassifier | DummyRegressor | None)
        or part.init_ == "zero"
    ):
        raise InputError(
            f"it holds a {type(part).__name__} with an estimator of its own as init, which cannot "
            "be verified; use init=None, or a forest"
        )
    if "estimators_" not in vars(part):
        return
    trees, width = part.estimators_, part.n_features_in_
    _fits(part, isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.size > 0)
    for tree in trees.ravel():
        _fits(part, isinstance(tree, DecisionTreeRegressor) and tree.n_features_in_ == width)
        _fits(part, tree.tree_.n_outputs == tree.tree_.max_n_classes == 1)
    columns = part.n_trees_per_iteration_
    _fits(part, type(columns) is int and trees.shape[1] == columns)
    for rows in (1, 2):
        start = part._raw_predict_init(np.zeros((rows, width), dtype=np.float32))  # noqa: SLF001
        _fits(part, start.shape == (rows, columns) and start.dtype == np.float64)


def check_histogram_boosting(part: Any) -> None:
    """Check the nodes of each tree; categorical splits are refused."""
    fitted = vars(part)
    if fitted.get("_preprocessor") is not None or fitted.get("is_categorical_") is not None:
        raise InputError(
            "it holds gradient boosting with categorical splits, which cannot be checked; let the "
            "regressor code categories as columns instead"
        )
    _fits(part, "_in_fit" not in fitted or fitted["_in_fit"] is False)
    if "_predictors" not in fitted:
        return
    columns, width = part.n_trees_per_iteration_, part.n_features_in_
    _fits(part, not np.any(part._bin_mapper.is_categorical_))  # noqa: SLF001
    _fits(part, np.size(part._bin_mapper.is_categorical_) == width)  # noqa: SLF001
    for row in part._predictors:  # noqa: SLF001
        _fits(part, len(row) == columns)
        for one in row:
            _check_nodes(one.nodes, width)


def _check_nodes(nodes: Any, n_features: int) -> None:
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE

    require(isinstance(nodes, np.ndarray) and nodes.dtype == PREDICTOR_RECORD_DTYPE)
    require(nodes.ndim == 1 and not nodes["is_categorical"].any())
    leaf = nodes["is_leaf"] != 0
    left, right = (np.where(leaf, LEAF, nodes[side].astype(np.int64)) for side in ("left", "right"))
    checked_depth(left, right, nodes["feature_idx"].astype(np.int64), n_features)


def check_neighbours(part: Any) -> None:
    """Fit the part again to its known cases and their answers, which checks them."""
    from sklearn.base import clone, is_classifier

    if not isinstance(part.metric, str) or part.metric not in METRICS or part.metric_params:
        raise InputError(
            f"it holds a {type(part).__name__} with metric={part.metric!r:.40}, which cannot be "
            f"verified; use one of {', '.join(METRICS)}"
        )
    if "_fit_X" not in vars(part):
        return
    known, answers = part._fit_X, part._y  # noqa: SLF001
    if not isinstance(known, np.ndarray):
        raise InputError(
            f"it holds a {type(part).__name__} of sparse rows, which cannot be verified; put a "
            "TruncatedSVD before it"
        )
    _fits(part, known.ndim == 2 and known.dtype in (np.float32, np.float64))
    _fits(part, known.shape[1] == part.n_features_in_ and part.n_neighbors <= len(known))
    try:
        labels = np.asarray(part.classes_)[answers] if is_classifier(part) else answers
        again = clone(part).fit(known, labels)
        fits = np.array_equal(again._y, answers)  # noqa: SLF001
    except (IndexError, TypeError, ValueError):
        fits = False
    _fits(part, fits)
    vars(part).update(vars(again))


def check_support_vectors(part: Any) -> None:
    """Compare the sizes of vectors and coefficients: libsvm looks at no length."""
    from sklearn.base import is_classifier

    if not isinstance(part.kernel, str) or part.kernel == "precomputed":
        raise InputError(
            f"it holds a {type(part).__name__} with kernel={part.kernel!r:.40}, which cannot be "
            "verified; use linear, poly, rbf or sigmoid"
        )
    arrays = vars(part)
    if "support_vectors_" not in arrays:
        return
    if arrays["_sparse"] is not False:
        raise InputError(
            f"it holds a {type(part).__name__} of sparse rows, which cannot be verified; put a "
            "TruncatedSVD before it, or use a linear model"
        )
    vectors, counts = arrays["support_vectors_"], arrays["_n_support"]
    _fits(part, _is_array(vectors, np.float64, 2) and _is_array(counts, np.int32, 1))
    n, n_classes = len(vectors), len(counts)
    _fits(part, vectors.shape[1] == part.n_features_in_ > 0 and counts.min(initial=0) >= 0)
    # Regressors have two counts, which are equal.
    _fits(part, counts.sum(dtype=np.int64) == (n if is_classifier(part) else 2 * n))
    _fits(part, n_classes == (len(part.classes_) if is_classifier(part) else 2) >= 2)
    n_pairs = n_classes * (n_classes - 1) // 2
    for name, kind, shapes in (
        ("support_", np.int32, [(n,)]),
        ("_dual_coef_", np.float64, [(n_classes - 1, n)]),
        ("_intercept_", np.float64, [(n_pairs,)]),
        ("_probA", np.float64, [(0,), (n_pairs,)]),
        ("_probB", np.float64, [np.shape(arrays["_probA"])]),
    ):
        values = arrays[name]
        _fits(part, _is_array(values, kind, len(shapes[0])) and values.shape in shapes)
    _fits(part, bool(np.isfinite(arrays["_gamma"])))


def _is_array(values: Any, kind: Any, n_axes: int) -> bool:
    """Return True if this is an array of finite numbers of one type."""
    sound = isinstance(values, np.ndarray) and values.dtype == kind and values.ndim == n_axes
    return sound and bool(np.isfinite(values).all())


def check_one_hot(part: Any) -> None:
    """Check that columns of codes lie within the matrix that is made for them."""
    fitted = vars(part)
    if "categories_" not in fitted:
        return
    widths = []
    for place, known in enumerate(part.categories_):
        _fits(part, isinstance(known, np.ndarray) and known.ndim == 1 and _rising(known))
        rare = fitted.get("_infrequent_indices", [None] * (place + 1))[place]
        width = len(known) if rare is None else len(known) - np.size(rare) + 1
        if fitted.get("_infrequent_enabled"):
            coded = fitted["_default_to_infrequent_mappings"][place]
            _fits(part, (coded is None) == (rare is None))
            if coded is not None:
                _fits(part, len(coded) == len(known) and coded.dtype.kind == "i")
                _fits(part, bool(((coded >= 0) & (coded < width)).all()))
        widths.append(width)
    dropped = fitted.get("_drop_idx_after_grouping")
    if dropped is not None:
        _fits(part, len(dropped) == len(widths))
        for place, one in enumerate(dropped):
            _fits(part, one is None or 0 <= int(one) < widths[place])
            widths[place] -= one is not None
    _fits(part, list(fitted.get("_n_features_outs", widths)) == widths)


def _rising(known: Any) -> bool:
    """Return True for texts, and for numbers that rise, as bisection needs to find them."""
    if known.dtype.kind in "US":
        return True
    values = [one for one in known.tolist() if one is not None and one == one]
    texts = all(isinstance(one, str) for one in values)
    return texts or all(one < other for one, other in pairwise(values))


def check_vocabulary(part: Any) -> None:
    """Check that each word has its own column."""
    known = vars(part).get("vocabulary_")
    if known is not None:
        _fits(part, isinstance(known, dict) and all(type(at) is not bool for at in known.values()))
        _fits(part, sorted(known.values()) == list(range(len(known))))


def _fits(part: Any, sound: Any) -> None:
    if not sound:
        raise InputError(f"the parts of its {type(part).__name__} do not fit each other")
