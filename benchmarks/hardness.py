"""Measures of instance hardness, by the definitions that PyHard collects (Paiva et al., 2022).

Written anew from their formulas, because PyHard needs older versions of NumPy and pandas. Each maps
features and labels to one number per row: larger is harder. Distances are Gower's, as there. The
pruned tree is chosen among 12 strengths of pruning rather than 100. CB orders rows as MV does.
CLD without calibration is not in PyHard; it finds more.

Compared once with PyHard 2.2.4 on five of the sets with uniform noise: CL, CLD, MV, N2, LSR and F1
to F4 give the same order. The others do not quite; their mean average precision there is within
0.02 of PyHard's, but 0.04 lower for usefulness and 0.09 lower for LSC.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

Measure = Callable[[np.ndarray, np.ndarray], np.ndarray]
NEIGHBOURS = 10
PRUNING = np.linspace(0.001, 0.1, 12)


def gower(X: np.ndarray) -> np.ndarray:
    """Mean absolute difference of the columns, each in units of its range; infinite to itself."""
    from scipy.spatial.distance import cdist

    scaled = X / np.maximum(np.ptp(X, axis=0), 1e-8)
    found = np.asarray(cdist(scaled, scaled, "cityblock")) / X.shape[1]
    np.fill_diagonal(found, np.inf)
    return found


def disagreeing(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return kDN: share of the nearest neighbours with another label."""
    nearest = np.argsort(gower(X), axis=1, kind="stable")[:, :NEIGHBOURS]
    return np.mean(labels[nearest] != labels[:, None], axis=1)


def borderline(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return N1: share of the neighbours in a minimum spanning tree that have another label."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    far = np.where(np.isinf(gower(X)), 0.0, np.maximum(gower(X), 1e-12))
    linked = minimum_spanning_tree(far).toarray() > 0
    linked |= linked.T
    other = linked & (labels[:, None] != labels)
    return other.sum(axis=1) / linked.sum(axis=1)


def nearest(X: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return distances, with those of rows that have the same label, or another one."""
    far, same = gower(X), labels == labels[:, None]
    return far, np.where(same, far, np.inf), np.where(same, np.inf, far)


def intra_extra(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """N2: distance to the nearest row of the same class, relative to that of another class."""
    _, inside, outside = nearest(X, labels)
    ratio = inside.min(axis=1) / np.maximum(outside.min(axis=1), 1e-15)
    return 1 - 1 / (1 + ratio)


def local_set(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return LSC: how few rows are nearer than the nearest of another class."""
    far, _, outside = nearest(X, labels)
    nearer = (far < outside.min(axis=1)[:, None]).sum(axis=1)
    return 1 - nearer / np.bincount(labels)[labels]


def local_radius(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """LSR: how near the nearest of another class is, relative to the farthest of the same."""
    _, inside, outside = nearest(X, labels)
    widest = np.where(np.isinf(inside), 0.0, inside).max(axis=1)
    return 1 - np.minimum(1.0, outside.min(axis=1) / np.maximum(widest, 1e-15))


def harmfulness(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return h: share of the rows of other classes of which this one is the nearest enemy."""
    _, _, outside = nearest(X, labels)
    times = np.bincount(outside.argmin(axis=1), minlength=len(labels))
    return times / (len(labels) - np.bincount(labels)[labels])


def usefulness(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return u: how few rows have this one in their local set."""
    far, _, outside = nearest(X, labels)
    inside = far < outside.min(axis=1)[:, None]
    return 1 - inside.sum(axis=0) / np.bincount(labels)[labels]


def overlaps(X: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By row and column: how often it lies where two classes overlap, and how near the middle."""
    within, middle = np.zeros(X.shape), np.zeros(X.shape)
    pairs = list(itertools.combinations(np.unique(labels), 2))
    for one, other in pairs:
        rows = (labels == one) | (labels == other)
        parts = X[labels == one], X[labels == other]
        low = np.maximum(*(part.min(axis=0) for part in parts))
        high = np.minimum(*(part.max(axis=0) for part in parts))
        within[rows] += (X[rows] >= low) & (X[rows] <= high)
        width = np.where(high == low, 1e-12, high - low)
        middle[rows] += 1 / (1 + abs(0.5 - (high - X[rows]) / width))
    return within / (len(np.unique(labels)) - 1), middle / len(pairs)


def tree(X: np.ndarray, labels: np.ndarray, *, pruned: bool) -> Any:
    from sklearn.model_selection import GridSearchCV
    from sklearn.tree import DecisionTreeClassifier

    whole = DecisionTreeClassifier(random_state=0)
    if not pruned:
        return whole.fit(X, labels)
    return GridSearchCV(whole, {"ccp_alpha": PRUNING}).fit(X, labels).best_estimator_


def disjunct_size(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return DS: how few rows share the leaf of a tree."""
    leaf = tree(X, labels, pruned=False).apply(X)
    size = np.bincount(leaf)[leaf] - 1
    return 1 - size / max(size.max(), 1)


def disjunct_class(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return DCP: share of another class in the leaf of a pruned tree."""
    found = tree(X, labels, pruned=True).predict_proba(X)
    return 1 - found[np.arange(len(labels)), labels]


def depth(X: np.ndarray, labels: np.ndarray, *, pruned: bool) -> np.ndarray:
    """Return TD: depth of the leaf in a tree."""
    found = tree(X, labels, pruned=pruned)
    return np.asarray(found.decision_path(X).sum(axis=1)).ravel() - 1


def likelihood(X: np.ndarray, labels: np.ndarray, *, difference: bool) -> np.ndarray:
    """CL and CLD: chance of the class by naive Bayes, calibrated; less that of the next class."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.naive_bayes import GaussianNB

    n_classes = int(labels.max()) + 1
    bayes = GaussianNB(priors=np.full(n_classes, 1 / n_classes))
    found = CalibratedClassifierCV(bayes, cv=3, ensemble=False).fit(X, labels).predict_proba(X)
    own = (np.arange(len(labels)), labels)
    others = found.copy()
    others[own] = -np.inf
    return 1 - found[own] + (others.max(axis=1) if difference else 0.0)


def plain_likelihood(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return CLD as it is without calibration: log-likelihoods of classes, by naive Bayes."""
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB(var_smoothing=1e-3).fit(X, labels)
    found = model.predict_joint_log_proba(X) - np.log(model.class_prior_)
    own = (np.arange(len(labels)), labels)
    others = found.copy()
    others[own] = -np.inf
    return others.max(axis=1) - found[own]


def minority(_: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return MV: how small the class is."""
    sizes = np.bincount(labels)
    return 1 - sizes[labels] / sizes.max()


MEASURES: dict[str, Measure] = {
    "kDN": disagreeing,
    "DS": disjunct_size,
    "DCP": disjunct_class,
    "TD pruned": lambda X, labels: depth(X, labels, pruned=True),
    "TD unpruned": lambda X, labels: depth(X, labels, pruned=False),
    "CL": lambda X, labels: likelihood(X, labels, difference=False),
    "CLD": lambda X, labels: likelihood(X, labels, difference=True),
    "CLD, not calibrated": plain_likelihood,
    "MV": minority,
    "N1": borderline,
    "N2": intra_extra,
    "LSC": local_set,
    "LSR": local_radius,
    "harmfulness": harmfulness,
    "usefulness": usefulness,
    "F1": lambda X, labels: overlaps(X, labels)[0].mean(axis=1),
    "F2": lambda X, labels: overlaps(X, labels)[1].min(axis=1),
    "F3": lambda X, labels: overlaps(X, labels)[1].mean(axis=1),
    "F4": lambda X, labels: overlaps(X, labels)[1].max(axis=1),
}
