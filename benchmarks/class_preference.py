"""Does ability go with being right where classes overlap? Plain, anchored and class-wise scales.

    python benchmarks/class_preference.py

A pool of 44 classifiers answers 160 items of each of 36 made data sets with two or three unequal
classes. Truth is the accuracy on some 1,700 other rows. Printed: the mean rank correlation of that
truth with ability, and in how many sets being right throughout stands above choosing one class
throughout. `anchored w` gives two artificial respondents, always right and always wrong, each the
weight of w of the pool; `class-wise` calibrates the items of each class apart and adds true scores,
which needs labels. Last: the same for balanced classes with a tenth of the labels wrong.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import spearmanr
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive.irt.constrained_scales import Anchored, calibrate_by_rightness

TRAIN, ITEMS, ROWS = 300, 160, 2200
SETS = 36
SHARES = (0.02, 0.05, 0.1, 0.25)


@dataclass
class Answered:
    """What a pool answered on the items, and how accurate it is elsewhere."""

    labels: np.ndarray  # (n_items,)
    right: np.ndarray  # (n_members, n_items)
    accuracy: np.ndarray  # (n_members,), on other rows


def pool() -> list:
    members: list = [KNeighborsClassifier(k) for k in (1, 2, 3, 5, 7, 9, 15, 25, 50, 80)]
    for depth in (1, 2, 3, 4, 5, 7, 10, None):
        for seed, share in ((0, None), (1, 0.5), (2, 0.5)):
            members.append(
                DecisionTreeClassifier(max_depth=depth, max_features=share, random_state=seed)
            )
    members += [LogisticRegression(C=c, max_iter=300) for c in (0.001, 0.01, 0.1, 1, 10)]
    members += [LogisticRegression(class_weight="balanced", max_iter=300), GaussianNB()]
    members += [BernoulliNB(), LinearDiscriminantAnalysis()]
    return [*members, QuadraticDiscriminantAnalysis(reg_param=0.1)]


def answered(x: np.ndarray, y: np.ndarray) -> Answered:
    train, items, rest = np.split(np.arange(len(y)), [TRAIN, TRAIN + ITEMS])
    fitted = [member.fit(x[train], y[train]) for member in pool()]
    right = np.array([member.predict(x[items]) == y[items] for member in fitted], dtype=np.int8)
    accuracy = np.array([(member.predict(x[rest]) == y[rest]).mean() for member in fitted])
    return Answered(y[items], right, accuracy)


def unequal(seed: int, rng: np.random.Generator) -> Answered:
    classes = 3 if seed % 4 == 0 else 2
    weights = [rng.uniform(0.4, 0.8), 0.15] if classes == 3 else [rng.uniform(0.55, 0.92)]
    return answered(
        *make_classification(
            ROWS,
            n_features=int(rng.integers(4, 12)),
            n_informative=3,
            n_redundant=1,
            n_classes=classes,
            n_clusters_per_class=1 if classes == 3 else int(rng.integers(1, 3)),
            weights=weights,
            class_sep=rng.uniform(0.3, 1.5),
            flip_y=rng.uniform(0, 0.1) if seed % 3 else 0.0,
            random_state=seed,
        )
    )


def balanced_with_wrong_labels(seed: int) -> Answered:
    return answered(
        *make_classification(
            ROWS, n_features=8, n_informative=5, class_sep=1.5, flip_y=0.2, random_state=seed
        )
    )


def standing(calibration: og.Calibration, cells: np.ndarray) -> np.ndarray:
    table = pd.DataFrame(cells, columns=list(calibration.item_names))
    return calibration.score(table, items_known=True)["ability"].to_numpy()


def by_class(data: Answered, cells: np.ndarray) -> np.ndarray:
    total = np.zeros(len(cells))
    for label in np.unique(data.labels):
        own = data.labels == label
        calibration = og.calibrate(pd.DataFrame(data.right[:, own]), "3pl", progress=False)
        ability = standing(calibration, cells[:, own])
        total += calibration.model.expected(calibration.coords, ability).sum(axis=0)
    return total


def judged(data: Answered) -> dict[str, tuple[float, bool]]:
    n = len(data.right)
    ends = [np.ones(ITEMS), *(data.labels == label for label in np.unique(data.labels))]
    cells = np.vstack([data.right, *ends]).astype(np.int8)
    table = pd.DataFrame(data.right)
    engines = {"plain": og.EM()} | {f"anchored {w:g}": Anchored(og.EM(), w) for w in SHARES}
    found = {
        name: standing(og.calibrate(table, "3pl", engine=engine, progress=False), cells)
        for name, engine in engines.items()
    }
    own = calibrate_by_rightness(table, "3pl", labels=data.labels)
    found |= {"as the package does": standing(own, cells), "class-wise": by_class(data, cells)}
    scores = {"accuracy on the items": cells.mean(axis=1)} | found
    return {
        name: (spearmanr(score[:n], data.accuracy)[0], bool(score[n] >= score[n + 1 :].max()))
        for name, score in scores.items()
    }


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(1)
    show("made data sets with unequal classes, 3PL", [unequal(k, rng) for k in range(SETS)])
    noisy = [balanced_with_wrong_labels(seed) for seed in range(12)]
    show("made data sets with balanced classes, a tenth of the labels wrong, 3PL", noisy)


def show(title: str, sets: list[Answered]) -> None:
    rows = [judged(data) for data in sets]
    print(f"{len(rows)} {title}")
    print(f"{'scale':24}{'rank correlation':>18}{'right above one class':>24}")
    for name in rows[0]:
        correlation, above = np.array([row[name] for row in rows]).T
        print(f"{name:24}{correlation.mean():18.3f}{f'{above.sum():.0f} of {len(rows)}':>24}")


if __name__ == "__main__":
    main()
