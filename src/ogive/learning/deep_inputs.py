"""Images and texts as they are given: checked, and images made into one shape of numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.words import counted

Images = NDArray[Any] | list[NDArray[Any]]
Texts = list[str]

SCANNED = 256  # images looked at together, so that a large set is never copied whole

MOST_CHANNELS = 4


def checked_texts(X: Any) -> Texts:
    """`X` as a list of strings; empty ones are allowed, anything but text is not."""
    _refuse_frame(X)
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise InputError(
            f"X is a {type(X).__name__}, but a list of strings is needed, one per item. "
            "Write [text] for a single item."
        )
    texts = list(X)
    for place, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"Item {place + 1} of X is {text!r:.40}, a {type(text).__name__}, but every item "
                "must be a string. Leave out what is missing, or give an empty string."
            )
    _refuse_none(texts)
    return texts


def checked_images(X: Any) -> Images:
    """`X` as one array of images, or as a list of arrays where sizes may differ."""
    _refuse_frame(X)
    if isinstance(X, np.ndarray) and X.dtype != object:
        check_images(X, "X")
        return X
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise InputError(
            f"X is a {type(X).__name__}, but an array of images or a list of arrays is needed."
        )
    images = [np.asarray(image) for image in X]
    for place, image in enumerate(images):
        check_image(image, f"Item {place + 1} of X")
    _refuse_none(images)
    return images


def taken(items: Images | Texts, rows: NDArray[np.intp]) -> Any:
    """The items of these rows, in the form in which they came."""
    return items[rows] if isinstance(items, np.ndarray) else [items[row] for row in rows]


@dataclass(frozen=True)
class Pixels:
    """How images become numbers: one size, one number of channels, one scale.

    `low` and `high` are what 0 and 1 stand for before `mean` and `deviation` of each channel
    are applied; `bytes_` says whether the images came as uint8, whose scale is 0 to 255.
    """

    size: tuple[int, int]
    channels: int
    bytes_: bool
    low: float
    high: float
    mean: tuple[float, ...]
    deviation: tuple[float, ...]

    def tensor(self, images: Images, device: str) -> Any:
        """(n_images, channels, height, width), stretched where the size differs."""
        import torch

        whole = isinstance(images, np.ndarray)
        stacks = _parts(images) if whole else [image[None] for image in images]
        return torch.cat([self._of_stack(stack, device) for stack in stacks])

    def _of_stack(self, stack: NDArray[Any], device: str) -> Any:
        import torch
        from torch.nn.functional import interpolate

        self._refuse_other_scale(stack)
        channelled = stack[..., None] if stack.ndim == 3 else stack
        values = torch.from_numpy(np.array(np.moveaxis(channelled, -1, 1), dtype=np.float32))
        values = self._with_channels(values.to(device))
        if tuple(values.shape[2:]) != self.size:
            values = interpolate(values, self.size, mode="bilinear", antialias=True)
        scaled = (values - self.low) / (self.high - self.low)
        mean = torch.tensor(self.mean, device=device).reshape(1, -1, 1, 1)
        return (scaled - mean) / torch.tensor(self.deviation, device=device).reshape(1, -1, 1, 1)

    def _with_channels(self, values: Any) -> Any:
        found = values.shape[1]
        if found == self.channels:
            return values
        if found == 1:
            return values.expand(-1, self.channels, -1, -1)
        if self.channels == 1:
            return values.mean(dim=1, keepdim=True)
        raise InputError(
            f"An image has {found} channels, but the encoder takes {self.channels}. "
            f"Give grey images or images with {self.channels} channels, the channels last."
        )

    def _refuse_other_scale(self, stack: NDArray[Any]) -> None:
        if (stack.dtype == np.uint8) == self.bytes_:
            return
        wanted, found = ("uint8", "other") if self.bytes_ else ("other", "uint8")
        raise InputError(
            f"The images in fit held {wanted} numbers, these hold {found} ones ({stack.dtype}): "
            "the same picture would look different. Give images on one scale."
        )


def seen_pixels(images: Images, largest: int | None = None) -> Pixels:
    """The most common size, the most channels, and the scale of these images.

    `largest` bounds the longer side; the shape of the image is kept.
    """
    whole = isinstance(images, np.ndarray)
    shapes = [part.shape[1:] if whole else part.shape for part in _parts(images)]
    (size, _count), *_ = Counter(shape[:2] for shape in shapes).most_common(1)
    if largest is not None and max(size) > largest:
        size = tuple(max(1, round(side * largest / max(size))) for side in size)
    channels = max(shape[2] if len(shape) == 3 else 1 for shape in shapes)
    bytes_ = _parts(images)[0].dtype == np.uint8
    low, high = (0.0, 255.0) if bytes_ else _range(images)
    plain = Pixels((size[0], size[1]), channels, bool(bytes_), low, high, (0.0,), (1.0,))
    return replace(plain, mean=(0.0,) * channels, deviation=(1.0,) * channels)


def standardised(pixels: Pixels, images: Images) -> Pixels:
    """`pixels` with the mean and standard deviation of each channel over all these images."""
    count, total, squares = 0, np.zeros(pixels.channels), np.zeros(pixels.channels)
    plain = replace(pixels, mean=(0.0,) * pixels.channels, deviation=(1.0,) * pixels.channels)
    for chunk in _chunks(images):
        values = plain.tensor(chunk, "cpu").double()
        count += values.shape[0] * values.shape[2] * values.shape[3]
        total += values.sum(dim=(0, 2, 3)).numpy()
        squares += (values**2).sum(dim=(0, 2, 3)).numpy()
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    deviation = np.where(variance > 1e-10, np.sqrt(variance), 1.0)  # a blank channel stays blank
    return replace(pixels, mean=tuple(mean.tolist()), deviation=tuple(deviation.tolist()))


def _range(images: Images) -> tuple[float, float]:
    extremes = [(float(np.min(chunk)), float(np.max(chunk))) for chunk in _parts(images)]
    low, high = min(pair[0] for pair in extremes), max(pair[1] for pair in extremes)
    if low >= 0.0 and high <= 1.0:
        return 0.0, 1.0
    return (low, high) if high > low else (low, low + 1.0)


def _parts(images: Images) -> Sequence[NDArray[Any]]:
    return [images] if isinstance(images, np.ndarray) else images


def _chunks(images: Images) -> Iterator[Images]:
    for begin in range(0, len(images), SCANNED):
        yield images[begin : begin + SCANNED]


def _refuse_frame(X: Any) -> None:
    """Refuse a frame, which would be read as the list of its column names."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        name = columns[0] if len(columns) else "text"
        raise InputError(
            f"X is a {type(X).__name__} with {counted(len(columns), 'column')}, but the items are "
            f"one list. Pass one column: X[{name!r}]."
        )


def _refuse_none(items: Images | Texts) -> None:
    if len(items) == 0:
        raise InputError("X has no items. Give at least one.")


def check_images(images: NDArray[Any], name: str) -> None:
    """Refuse an array that is not (items, height, width) or (items, height, width, channels)."""
    if images.ndim not in (3, 4):
        raise InputError(
            f"{name} has shape {images.shape}, but images are (items, height, width) or (items, "
            "height, width, channels). Bring all to one size and reshape rows of pixels; a single "
            "image is image[None]."
        )
    if not len(images):
        raise InputError(f"{name} has no items. Give at least one.")
    _check(images, images.shape[1:], name)


def check_image(image: NDArray[Any], name: str) -> None:
    """Refuse an array that is not one image."""
    if image.ndim not in (2, 3):
        raise InputError(
            f"{name} has shape {image.shape}, but an image is (height, width) or (height, width, "
            "channels)."
        )
    _check(image, image.shape, name)


def _check(pixels: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """Refuse what has no pixels, no numbers, or its channels first; `shape` is that of an image."""
    if 0 in shape:
        raise InputError(f"{name} has shape {pixels.shape}: an image without pixels. Leave it out.")
    if pixels.dtype.kind not in "buif":
        raise InputError(f"{name} holds {pixels.dtype} values, but pixels are numbers.")
    if len(shape) == 3 and shape[2] > MOST_CHANNELS and shape[0] in (1, 3):
        raise InputError(
            f"{name} has shape {pixels.shape}, which looks like channels first, but they belong "
            f"last. Use np.moveaxis(pixels, {pixels.ndim - 3}, -1)."
        )
    if pixels.dtype.kind == "f" and not np.isfinite(pixels).all():
        raise InputError(f"{name} has pixels that are NaN or infinite. Fill or drop them first.")
