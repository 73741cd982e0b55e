"""What an image is: (height, width) or (height, width, channels), of finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.errors import InputError

MOST_CHANNELS = 4


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
