"""Perturbed images for testing alarms: blurred, watermarked, or adversarial.

Images are (n, height, width) or (n, height, width, channels), as floats or uint8; the result has
the same shape and type. Kinds and strengths are those of Martínez-Plumed et al. (2022).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive._validation import is_number, whole_number
from ogive.difficulty.encoders import check_images
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

Images: TypeAlias = NDArray[Any]

# Width of the kernel in pixels, and the range from which its variance is drawn.
STRENGTHS = {"low": (5, 0.1, 2.0), "medium": (9, 2.0, 10.0), "high": (13, 10.0, 20.0)}
CORNERS = 4
HALVINGS = 6  # bisection steps when adversarial noise is weakened
TALLEST_MARK = 8  # a mark is 1/8 of the image in height and width, but at least one pixel


def blur(images: Images, strength: str = "medium", *, random_state: int = 0) -> Images:
    """Return blur each image with a Gaussian kernel with a random variance.

    `strength` is "low", "medium" or "high": kernels 5, 9 and 13 pixels wide, and variances from
    0.1 to 2, 2 to 10 and 10 to 20.
    """
    from scipy.ndimage import gaussian_filter

    given = _checked(images)
    if not isinstance(strength, str) or strength not in STRENGTHS:
        raise InputError(f"strength is {strength!r}, but it should be 'low', 'medium' or 'high'.")
    kernel, least, most = STRENGTHS[strength]
    widths = np.sqrt(_generator(random_state).uniform(least, most, len(given)))
    blurred = [
        gaussian_filter(image.astype(np.float64), width, radius=kernel // 2, axes=(0, 1))
        for image, width in zip(given, widths, strict=True)
    ]
    return _like(given, np.array(blurred).reshape(given.shape))


def watermark(
    images: Images,
    labels: ArrayLike,
    *,
    classes: Sequence[Any] | None = None,
    bright: float | None = None,
) -> Images:
    """Write the class of each image into its corners, as a binary number.

    Each bit is a small square, bright for one and dark for zero. Bits occupy the four corners, and
    continue along the upper and lower edge if there are more than four. `classes` gives the order
    in which classes are numbered from one; by default it is that of the sorted `labels`. `bright`
    is the value of a lit pixel, by default the largest of all images; it must differ from zero.
    """
    given, truth = _checked(images), _checked_labels(labels, len(images))
    light = _checked_light(given, bright)
    codes, n_classes = _numbered(truth, classes)
    bits = n_classes.bit_length()
    height, width = given.shape[1:3]
    side = max(1, min(height, width) // TALLEST_MARK)
    if 2 * side > height or 2 * side * -(-bits // CORNERS) > width:
        raise InputError(
            f"{n_classes:,} classes need {bits} bits, which "
            f"do not fit into images of {height} x {width} pixels. Give larger images."
        )
    marked = given.copy()
    for bit in range(bits):
        rows, columns = _corner(bit, side)
        lit = (codes >> bit & 1).reshape(-1, *[1] * (given.ndim - 1))
        marked[:, rows, columns] = (lit * light).astype(given.dtype)
    return marked


def adversarial(
    images: Images,
    labels: ArrayLike,
    model: Any,
    *,
    size: float = 0.1,
    steps: int = 300,
    random_state: int = 0,
) -> Images:
    """Add noise that makes `model` wrong but that a person hardly sees.

    No pixel changes by more than `size` times the range of all images. The search draws random
    squares, after the Square Attack of Andriushchenko et al. (2020). It only calls
    `predict_proba` of `model`, on the images as rows of pixels, and keeps changes that lower the
    probability of the label. Noise that works is then made as weak as possible. Images that the
    model already gets wrong, or still gets right, are returned unchanged.
    """
    given, truth = _checked(images), _checked_labels(labels, len(images))
    reach = _reach(given, size)
    whole_number(steps, "steps", 1)
    for needed in ("predict_proba", "classes_"):
        if not hasattr(model, needed):
            raise InputError(f"{type(model).__name__} has no {needed}. Give a fitted classifier.")
    random = _generator(random_state)
    clean = given.astype(np.float64)
    low, high = float(clean.min()), float(clean.max())
    columns = _columns(model, truth)
    found, margin = clean.copy(), _margins(model, clean, columns)
    for step in range(steps):
        active = np.flatnonzero(margin >= 0)  # on a tie, the label may still be predicted
        if not active.size:
            break
        noise = found[active] - clean[active]
        _draw_squares(noise, reach, _side(given.shape, step / steps), random)
        tried = np.clip(clean[active] + noise, low, high)
        reached = _margins(model, tried, columns[active])
        better = reached <= margin[active]
        found[active[better]] = tried[better]
        margin[active[better]] = reached[better]
    found[margin >= 0] = clean[margin >= 0]
    return _weakened(given, found, model, columns)


def _weakened(given: Images, found: Floats, model: Any, columns: NDArray[np.intp]) -> Images:
    """Weaken the noise by bisection between the strengths that do and do not fool the model."""
    clean = given.astype(np.float64)
    best = _like(given, found)
    works, fails = np.ones(len(given)), np.zeros(len(given))
    for _ in range(HALVINGS):
        middle = (works + fails) / 2
        scale = middle.reshape(-1, *[1] * (given.ndim - 1))
        tried = _like(given, clean + scale * (found - clean))
        fooled = _margins(model, tried.astype(np.float64), columns) < 0
        works, fails = np.where(fooled, middle, works), np.where(fooled, fails, middle)
        best[fooled] = tried[fooled]
    return best


def _checked(images: Images) -> Images:
    try:
        given = np.asarray(images)
    except ValueError as error:
        raise InputError(
            f"images are not an array: {error}. Resize all images to one size."
        ) from error
    check_images(given, "images")
    if given.dtype != np.uint8 and not np.issubdtype(given.dtype, np.floating):
        raise InputError(
            f"images are of type {given.dtype}, but should be floats or uint8. Convert them."
        )
    return given


def _generator(random_state: Any) -> np.random.Generator:
    whole_number(random_state, "random_state", 0)
    return np.random.default_rng(random_state)


def _checked_light(given: Images, bright: Any) -> float:
    """Return the value of a lit pixel, if the images can hold it and it differs from zero."""
    if bright is None and not given.max():
        raise InputError(
            "The largest value of all images is 0, so a mark of that value would be invisible. "
            "Set its value: bright=1.0, or 255 for uint8."
        )
    light = given.max() if bright is None else bright
    if given.dtype == np.uint8:
        fits, wanted = is_number(light) and 1 <= light <= 255, "from 1 to 255"
    else:
        held = np.finfo(given.dtype)
        fits = is_number(light) and float(held.tiny) <= abs(float(light)) <= float(held.max)
        wanted = f"a number other than 0 that {given.dtype} can hold"
    if not fits:
        raise InputError(f"bright is {light!r}, but a lit pixel must be {wanted}.")
    return float(light)


def _numbered(truth: NDArray[Any], classes: Any) -> tuple[NDArray[np.int64], int]:
    """Return the number of each label, starting at one, and the number of classes."""
    try:
        known = list(np.unique(truth) if classes is None else classes)
        number = {label: place + 1 for place, label in enumerate(known)}
        unknown = [label for label in truth.tolist() if label not in number]
    except TypeError as error:
        raise InputError(
            f"labels and classes should be lists of names or numbers, but: {error}."
        ) from error
    if unknown:
        raise InputError(f"labels hold {unknown[0]!r}, which is not among the classes. Add it.")
    return np.array([number[label] for label in truth.tolist()], dtype=np.int64), len(known)


def _reach(given: Images, size: Any) -> float:
    """Return the largest change of a pixel; raise an error if it would be nothing."""
    if not is_number(size) or not 0 < size <= 1:
        raise InputError(f"size is {size!r}, but it must be above 0 and at most 1.")
    low, high = float(given.min()), float(given.max())
    if low == high:
        raise InputError(f"All pixels of all images are {low:g}, so there is no room for noise.")
    whole = given.dtype == np.uint8
    least = 1.0 if whole else float(np.spacing(given.dtype.type(max(abs(low), abs(high)))))
    reach = float(size) * (high - low)
    if reach < least:
        raise InputError(
            f"size is {size:g}, which is {reach:.2g} on pixels from {low:g} to {high:g}: too "
            f"little to change one of {given.dtype}. Give at least {least / (high - low):.2g}."
        )
    return float(np.floor(reach)) if whole else reach


def _checked_labels(labels: ArrayLike, count: int) -> NDArray[Any]:
    found = np.asarray(labels)
    if found.shape != (count,):
        raise InputError(
            f"labels has shape {found.shape}, but there are {counted(count, 'image')}. "
            "Give one label per image."
        )
    return found


def _like(given: Images, values: Floats) -> Images:
    whole = np.clip(np.rint(values), 0, 255) if given.dtype == np.uint8 else values
    return whole.astype(given.dtype)


def _corner(bit: int, side: int) -> tuple[slice, slice]:
    """Return the position of a bit: from the upper left to the lower right corner, then inwards."""
    place, turn = bit % CORNERS, bit // CORNERS
    near, far = (
        slice(turn * side, (turn + 1) * side),
        slice(-(turn + 1) * side, -turn * side or None),
    )
    rows = slice(0, side) if place < 2 else slice(-side, None)
    return rows, near if place % 2 == 0 else far


def _columns(model: Any, truth: NDArray[Any]) -> NDArray[np.intp]:
    """Return the column of predict_proba for each label."""
    place = {label: column for column, label in enumerate(np.asarray(model.classes_).tolist())}
    unknown = [label for label in truth.tolist() if label not in place]
    if unknown:
        raise InputError(f"labels hold {unknown[0]!r}, which the model has never seen.")
    return np.array([place[label] for label in truth.tolist()], dtype=np.intp)


def _margins(model: Any, images: Floats, columns: NDArray[np.intp]) -> Floats:
    """Return the log-probability of the label minus that of the next class."""
    chance = np.log(np.maximum(model.predict_proba(images.reshape(len(images), -1)), 1e-300))
    rows = np.arange(len(images))
    label = chance[rows, columns]
    chance[rows, columns] = -np.inf
    return np.asarray(label - chance.max(axis=1))


def _side(shape: tuple[int, ...], spent: float) -> int:
    """Return the side of the squares, from half the image down to one pixel."""
    return max(1, round(0.5 * min(shape[1:3]) * (1 - spent) ** 2))


def _draw_squares(noise: Floats, reach: float, side: int, random: np.random.Generator) -> None:
    """Set one square of each image to plus or minus `reach`, in place."""
    count, height, width = noise.shape[:3]
    tops = random.integers(0, height - side + 1, count)
    lefts = random.integers(0, width - side + 1, count)
    signs = random.choice((-reach, reach), (count, 1, 1, *noise.shape[3:]))
    for k in range(count):
        noise[k, tops[k] : tops[k] + side, lefts[k] : lefts[k] + side] = signs[k]
