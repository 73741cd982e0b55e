from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from ogive.errors import InputError

PERTURBATIONS = run_path(Path(__file__).parents[2] / "benchmarks/perturbations.py")
adversarial, blur, watermark = (
    PERTURBATIONS[name] for name in ("adversarial", "blur", "watermark")
)


@pytest.fixture(scope="module")
def digits():
    found = load_digits()
    order = np.random.default_rng(0).permutation(600)
    return found.images[order], found.target[order]


@pytest.fixture(scope="module")
def model(digits):
    images, labels = digits
    return LogisticRegression(C=0.01, max_iter=2000).fit(rows(images[:400]), labels[:400])


def rows(images):
    return images.reshape(len(images), -1)


def edges(images):
    return np.abs(np.diff(images.astype(float), axis=2)).mean()


@pytest.mark.parametrize("kind", ["float64", "float32", "uint8"])
def test_more_blur_leaves_fainter_edges_and_the_same_light(digits, kind):
    images = (15 * digits[0][:100]).astype(kind)
    seen = [images, *(blur(images, strength) for strength in ("low", "medium", "high"))]
    assert {part.dtype for part in seen} == {np.dtype(kind)}
    assert {part.shape for part in seen} == {images.shape}
    sharp = [edges(part) for part in seen]
    assert sharp == sorted(sharp, reverse=True)
    assert sharp[-1] < 0.1 * sharp[0]
    assert seen[-1].mean() == pytest.approx(images.mean(), rel=0.01)


def test_channels_are_blurred_apart(digits):
    images = np.stack([digits[0][:5], np.zeros((5, 8, 8))], axis=-1)
    blurred = blur(images, "high")
    assert (blurred[..., 1] == 0).all()
    assert edges(blurred[..., 0]) < edges(images[..., 0])


def test_the_same_seed_blurs_alike_and_another_does_not(digits):
    images = digits[0][:5]
    np.testing.assert_array_equal(blur(images, random_state=3), blur(images, random_state=3))
    assert not np.array_equal(blur(images, random_state=3), blur(images, random_state=4))


def test_a_tree_reads_the_class_from_the_watermark_alone(digits):
    images, labels = digits
    marked = watermark(images, labels)
    corners = marked[:, ::7, ::7]
    tree = DecisionTreeClassifier(random_state=0).fit(rows(corners[:300]), labels[:300])
    assert tree.score(rows(corners[300:]), labels[300:]) == 1.0
    changed = (marked != images).any(axis=0)
    assert changed.sum() <= 4
    assert not changed[1:-1].any()
    assert images.max() == marked.max()


def test_watermarks_are_the_same_whichever_labels_are_there():
    images = np.zeros((2, 16, 16, 3), dtype=np.uint8)
    classes = ["cat", "dog", "owl"]
    one = watermark(images, ["owl", "dog"], classes=classes, bright=255)
    other = watermark(images[:1], ["owl"], classes=classes, bright=255)
    np.testing.assert_array_equal(one[:1], other)
    assert (one[0, :2, :2] == 255).all()
    assert (one[0] != one[1]).any()


def test_a_hundred_classes_have_a_hundred_watermarks():
    marked = watermark(np.zeros((100, 16, 16)), np.arange(100), bright=1.0)
    assert len(np.unique(rows(marked), axis=0)) == 100


def test_small_noise_turns_the_answers_of_a_model(digits, model):
    images, labels = (part[400:] for part in digits)
    turned = adversarial(images, labels, model, size=0.2)
    assert model.score(rows(images), labels) > 0.9
    assert model.score(rows(turned), labels) < 0.15
    assert np.abs(turned - images).max() <= 0.2 * 16 + 1e-9
    assert turned.min() >= 0
    assert turned.max() <= 16
    random = images + 3.2 * np.random.default_rng(0).choice([-1, 1], images.shape)
    assert model.score(rows(np.clip(random, 0, 16)), labels) > 0.7


def test_noise_only_where_it_works_and_no_more_than_needed(digits, model):
    images, labels = (part[400:] for part in digits)
    turned = adversarial(images, labels, model, size=0.05, steps=50)
    same = (turned == images).all(axis=(1, 2))
    right, still = (model.predict(rows(part)) == labels for part in (images, turned))
    np.testing.assert_array_equal(same, still | ~right)
    assert 0 < same.sum() < len(same)
    weaker = images + 0.9 * (turned - images)
    assert (model.predict(rows(weaker)) == labels)[~same].mean() > 0.5


def test_noise_works_on_whole_numbers_and_against_a_forest(digits):
    images, labels = digits[0].astype(np.uint8), digits[1]
    forest = RandomForestClassifier(20, random_state=0).fit(rows(images[:400]), labels[:400])
    part, truth = images[400:460], labels[400:460]
    turned = adversarial(part, truth, forest, size=0.25, steps=100)
    assert turned.dtype == np.uint8
    assert np.abs(turned.astype(int) - part).max() <= 4
    assert forest.score(rows(turned), truth) < 0.5 < forest.score(rows(part), truth)
    again = adversarial(part, truth, forest, size=0.25, steps=100)
    np.testing.assert_array_equal(turned, again)


def test_what_is_no_array_of_images_is_refused(subtests):
    cases = [
        (np.zeros((4, 64)), r"shape \(4, 64\).*height, width"),
        (np.zeros((0, 8, 8)), "no items"),
        (np.zeros((2, 0, 8)), "without pixels"),
        (np.zeros((2, 8, 8), dtype=int), "floats or uint8"),
        (np.full((2, 8, 8), np.nan), "NaN or infinite"),
        (np.zeros((2, 3, 8, 8)), "channels first"),
        ([np.zeros((8, 8)), np.zeros((9, 9))], "Resize all images to one size"),
    ]
    for images, message in cases:
        with (
            subtests.test(images=images, message=message),
            pytest.raises(InputError, match=message),
        ):
            blur(images)


BLACK = np.zeros((4, 8, 8), dtype=np.uint8)
GREY = np.tile(np.arange(8, dtype=np.uint8), (4, 8, 1))


def test_watermarks_that_nobody_could_see_are_refused(subtests):
    cases = [
        ({"labels": [0, 1, 2]}, r"labels has shape \(3,\), but there are 4 images"),
        ({"classes": [0, 1]}, "not among the classes"),
        ({"classes": 4}, "lists of names or numbers"),
        ({"images": np.ones((4, 2, 2)), "classes": range(300)}, "do not fit"),
        ({"images": BLACK}, "largest value of all images is 0.*Set its value"),
        ({"bright": 300}, "bright is 300, but a lit pixel must be from 1 to 255"),
        ({"bright": 0.4}, "from 1 to 255"),
        ({"bright": "a"}, "bright is 'a'"),
        ({"images": np.ones((4, 8, 8)), "bright": 0}, "other than 0"),
        ({"images": np.ones((4, 8, 8)), "bright": np.inf}, "other than 0"),
        ({"images": np.ones((4, 8, 8), dtype=np.float16), "bright": 1e6}, "float16 can hold"),
    ]
    for change, message in cases:
        with (
            subtests.test(change=change, message=message),
            pytest.raises(InputError, match=message),
        ):
            watermark(**{"images": GREY, "labels": [0, 1, 2, 3]} | change)


def test_noise_that_could_do_nothing_is_refused(subtests, model):
    cases = [
        ({"size": 0}, "size is 0"),
        ({"size": "a"}, "size is 'a'"),
        ({"size": 0.1}, r"0.7 on pixels from 0 to 7: too little .* uint8. Give at least 0.14"),
        ({"images": GREY.astype(np.float32), "size": 1e-9}, "too little"),
        ({"images": BLACK}, "All pixels of all images are 0"),
        ({"steps": "a"}, "`steps` must be a whole number of at least 1.*got 'a'"),
        ({"steps": 0}, r"`steps` must be .*got 0"),
        ({"random_state": "a"}, r"`random_state` must be .*got 'a'"),
        ({"model": object()}, "no predict_proba"),
        ({"model": LogisticRegression()}, "no classes_.*fitted"),
        ({"labels": [0, 1, 2, 77]}, "never seen"),
    ]
    for change, message in cases:
        with subtests.test(change=change, message=message):
            settings = {"images": GREY, "labels": [0, 1, 2, 3], "model": model, "size": 0.5}
            with pytest.raises(InputError, match=message):
                adversarial(**settings | change)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strength": "strong"}, "'low', 'medium' or 'high'"),
        ({"strength": ["low"]}, "'low', 'medium' or 'high'"),
        ({"random_state": -1}, "`random_state` must be a whole number of at least 0.*got -1"),
    ],
)
def test_blur_of_no_known_strength_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        blur(GREY, **change)
