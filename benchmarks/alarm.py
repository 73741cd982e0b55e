"""The performance alarm on perturbed images: when it fires and when it stays silent.

python benchmarks/alarm.py

The images are the MNIST subset under $OGIVE_SHARED, or the digits of scikit-learn. A pool of
quick classifiers is trained on half of the training images. Its responses to the other half, plain
and blurred, give difficulties (1PL), and a forest learns to predict them from coarse pixels and a
few statistics. The monitored classifiers are trained on the first half too. Their performance is
compared with the predicted difficulty on test images, half of them as reference and half of them
perturbed, over many random splits.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import ogive as og
from common import SHARED, machine, print_table
from perturbations import adversarial, blur, watermark

RESAMPLES = 200
FEWER = 40
STRENGTHS = ("low", "medium", "high")
NOISE = 0.15  # maximum perturbation, as a share of the pixel range
FAINT = 0.25


def main() -> None:
    warnings.filterwarnings("ignore", module="sklearn")
    name, *parts = load()
    # The two halves of MNIST have different writers; shuffled, samples differ only by chance.
    train, test = (shuffled(*part) for part in parts)
    half = len(train[0]) // 2
    taught = tuple(part[:half] for part in train)
    asked = tuple(part[half:] for part in train)
    print(f"\n## Alarm\n\n{machine()}. {name}.")
    pool = [model.fit(rows(taught[0]), taught[1]) for model in candidates()]
    watched, hans = watch(*taught), watch(*half_marked(*taught))
    for kind in ("plain", "plain and blurred"):
        begin = perf_counter()
        estimate = learn_difficulty(pool, *asked, blurred=kind != "plain")
        print(f"\nDifficulty learned from {kind} images in {perf_counter() - begin:.0f} s.")
        show(kind, estimate, watched, hans, *test)


def load() -> tuple[str, tuple[Any, Any], tuple[Any, Any]]:
    """Return images between 0 and 1 with their labels, for training and for testing."""
    path = SHARED / "data" / "images" / "mnist_subset.npz"
    if path.exists():
        with np.load(path, allow_pickle=False) as file:
            parts = [file[key] for key in ("x_train", "y_train", "x_test", "y_test")]
        x, y, u, v = parts
        scale = max(float(x.max()), 1.0)
        return "MNIST subset", (x / scale, y), (u / scale, v)
    from sklearn.datasets import load_digits

    digits = load_digits()
    images, labels = digits.images / 16, digits.target
    return "Digits of scikit-learn", (images[:1200], labels[:1200]), (images[1200:], labels[1200:])


def shuffled(images: Any, labels: Any) -> tuple[Any, Any]:
    order = np.random.default_rng(0).permutation(len(labels))
    return images[order], labels[order]


def candidates() -> list[Any]:
    """Return quick classifiers of many kinds and strengths."""
    from sklearn.decomposition import PCA
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB, GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    few = [make_pipeline(PCA(n, random_state=0), KNeighborsClassifier(3)) for n in (3, 8, 20)]
    return [
        *(KNeighborsClassifier(k) for k in (1, 5, 25)),
        *few,
        *(LogisticRegression(C=c, max_iter=300) for c in (0.001, 0.01, 0.1)),
        *(DecisionTreeClassifier(max_depth=d, random_state=0) for d in (4, 8, None)),
        *(RandomForestClassifier(n, max_depth=d, random_state=0) for n, d in ((5, 6), (60, None))),
        ExtraTreesClassifier(40, random_state=0),
        *(make_pipeline(PCA(n, random_state=0), GaussianNB()) for n in (5, 15, 40)),
        make_pipeline(PCA(20, random_state=0), LinearDiscriminantAnalysis()),
        BernoulliNB(binarize=0.3),
        NearestCentroid(),
        *(SVC(C=c) for c in (0.1, 1.0, 10.0)),
    ]


def watch(images: Any, labels: Any) -> Any:
    """Fit a classifier to be monitored."""
    from sklearn.neural_network import MLPClassifier

    model = MLPClassifier((100,), alpha=0.01, max_iter=80, random_state=0)
    return model.fit(rows(images), labels)


def half_marked(images: Any, labels: Any) -> tuple[Any, Any]:
    """Add a watermark to every other image; a classifier trained on these comes to rely on it."""
    marked = watermark(images, labels, bright=1.0)
    marked[::2] = images[::2]
    return marked, labels


def learn_difficulty(pool: list[Any], images: Any, labels: Any, *, blurred: bool) -> Any:
    """Fit a regressor from images to their difficulty for the pool."""
    from sklearn.ensemble import RandomForestRegressor

    part = len(images) // 3
    seen, truth = [images], [labels]
    for k, strength in enumerate(STRENGTHS if blurred else ()):
        seen.append(blur(images[:part], strength, random_state=k))
        truth.append(labels[:part])
    items, right = np.concatenate(seen), np.concatenate(truth)
    responses = np.array([model.predict(rows(items)) == right for model in pool], dtype=float)
    difficulty = og.calibrate(responses, "1pl").items["difficulty"].to_numpy()
    forest = RandomForestRegressor(
        150, min_samples_leaf=3, max_features=0.3, n_jobs=2, random_state=0
    )
    forest.fit(features(items), difficulty)
    return lambda given: forest.predict(features(given))


def features(images: Any) -> Any:
    """Return coarse pixels, and statistics that reveal blur: edges, contrast, ink, highlights.

    Faint pixels are dropped first, because invisible noise misleads a forest.
    """
    images = np.where(images < FAINT, 0.0, images)
    steps = [np.abs(np.diff(images, axis=axis)).reshape(len(images), -1) for axis in (1, 2)]
    flat = rows(images)
    extra = [
        *(np.quantile(part, share, axis=1) for part in steps for share in (0.9, 0.97)),
        *(flat.mean(axis=1), flat.std(axis=1), (flat > 0.5).mean(axis=1)),
        *(np.quantile(flat, share, axis=1) for share in (0.9, 0.99)),
    ]
    return np.column_stack([rows(coarse(images)), *extra])


def coarse(images: Any) -> Any:
    """Return the means of square blocks, about seven per side."""
    n, height, width = images.shape
    side = max(1, height // 7)
    cut = images[:, : height // side * side, : width // side * side]
    return cut.reshape(n, height // side, side, width // side, side).mean(axis=(2, 4))


def rows(images: Any) -> Any:
    return images.reshape(len(images), -1)


def sample(estimate: Any, model: Any, images: Any, labels: Any) -> tuple[Any, Any]:
    return estimate(images), model.predict(rows(images)) == labels


def show(kind: str, estimate: Any, watched: Any, hans: Any, images: Any, labels: Any) -> None:
    """Print one row per perturbation and method: means over splits, and how often it fires."""
    tried = {"none": (watched, images)}
    for strength in STRENGTHS:
        tried[f"blur, {strength}"] = (watched, blur(images, strength, random_state=9))
    tried["adversarial noise"] = (watched, adversarial(images, labels, watched, size=NOISE))
    tried["none; trained with watermarks"] = (hans, images)
    tried["watermarks; trained with them"] = (hans, watermark(images, labels, bright=1.0))
    lines = []
    for name, (model, seen) in tried.items():
        plain, changed = (sample(estimate, model, part, labels) for part in (images, seen))
        divisions = RESAMPLES if seen is images else FEWER
        for method in ("curve", "paper"):
            found = [alarm(plain, changed, method, seed) for seed in range(divisions)]
            lines.append((name, method, *told(found)))
    print_table(
        f"Learned from {kind} images; means over {RESAMPLES} random splits into halves where "
        f"nothing changed, {FEWER} elsewhere; false alarm rate 0.05",
        (
            *("perturbation", "method", "difficulty: reference", "new", "right: reference"),
            *("expected", "range", "observed", "p, median", "fired", "shifted", "silent"),
            "most frequent situation",
        ),
        lines,
    )


def alarm(plain: tuple[Any, Any], changed: tuple[Any, Any], method: str, seed: int) -> Any:
    """Compare half of the items, unchanged, with the other half, perturbed."""
    order = np.random.default_rng(seed).permutation(len(plain[0]))
    old, new = np.array_split(order, 2)
    return og.performance_alarm(
        tuple(part[old] for part in plain), tuple(part[new] for part in changed), method=method
    )


def told(found: list[Any]) -> tuple[object, ...]:
    def mean(get: Callable[[Any], float]) -> float:
        return float(np.mean([get(one) for one in found]))

    situations = Counter(one.situation for one in found)
    said, times = situations.most_common(1)[0]
    return (
        f"{mean(lambda one: one.difficulty.reference):.2f}",
        f"{mean(lambda one: one.difficulty.new):.2f}",
        f"{mean(lambda one: one.performance.reference):.3f}",
        f"{mean(lambda one: one.performance.expected):.3f}",
        f"{mean(lambda one: one.performance.low):.3f}–{mean(lambda one: one.performance.high):.3f}",
        f"{mean(lambda one: one.performance.new):.3f}",
        f"{np.median([one.performance.p for one in found]):.2g}",
        f"{mean(lambda one: one.fired):.3f}",
        f"{mean(lambda one: one.shifted):.3f}",
        f"{mean(lambda one: not (one.fired or one.shifted)):.3f}",
        f"{said} ({times / len(found):.0%})",
    )


if __name__ == "__main__":
    main()
