"""The instances behind items, as a page shows them: feature rows, texts or pictures."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.datasets import Dataset
from itemwise.errors import InputError
from itemwise.report.columns import columns_of, text_of
from itemwise.responses.naming import is_numbered, row_name

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 100  # of a feature row
MOST_SIGNS = 2_000_000  # of all texts and pictures of one scale; the rest is left out
_PICTURES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


def instances_of(given: Any, items: Sequence[str], first: Iterable[str] = ()) -> dict[str, Any]:
    """What a page shows of each item: {"rows": columns, "texts": [...], "pictures": [...]}.

    `given` is a frame of feature rows, a Dataset, or a mapping from item to a text, to the bytes of
    a picture, or to an array of pixels. Rows that are only numbered are row_0, row_1, ..., as pools
    name them. Where there is too much of it, the items `first` are kept before the others.
    """
    import pandas as pd

    if isinstance(given, Dataset):
        return _of_dataset(given, items, first)
    if isinstance(given, pd.DataFrame):
        return {"rows": columns_of(_rows(given.iloc[:, :MOST_COLUMNS], items))}
    if isinstance(given, pd.Series):
        given = {str(name): value for name, value in given.items()}
    if not isinstance(given, Mapping):
        raise InputError(
            f"instances is {type(given).__name__}, but it should be a frame of feature rows, a "
            "Dataset, or a mapping from item to text, picture or pixels."
        )
    _check_known(list(map(str, given)), items)
    known = {str(name): value for name, value in given.items()}
    kind, show = ("texts", text_of) if _are_texts(known) else ("pictures", picture_address)
    return {kind: _within_limits({k: show(v) for k, v in known.items()}, items, first)}


def labels_of(given: Any, items: Sequence[str]) -> pd.DataFrame | None:
    """What instances can be told apart by: the class of a data set, words in a frame."""
    import pandas as pd

    if isinstance(given, Dataset):
        return _rows(given.target.astype(str).to_frame("class"), items)
    if isinstance(given, pd.DataFrame):
        return _rows(given.select_dtypes(exclude=["number", "datetime"]), items)
    return None


def picture_address(value: Any) -> str:
    """A picture as a data address: from the bytes of a file, or from an array of pixels."""
    if isinstance(value, bytes | bytearray):
        content = bytes(value)
        kind = next((k for start, k in _PICTURES.items() if content.startswith(start)), None)
        if kind is None:
            raise InputError("A picture is neither PNG, JPEG, GIF nor WebP. Give one of these.")
    else:
        content, kind = _png(np.asarray(value)), "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"


def _of_dataset(dataset: Dataset, items: Sequence[str], first: Iterable[str]) -> dict[str, Any]:
    label = str(dataset.target.name or "label")
    while label in dataset.features:
        label += "_"
    if (side := _side_of_pixels(dataset.features)) is None:
        shown = dataset.features.iloc[:, :MOST_COLUMNS].assign(**{label: dataset.target})
        return {"rows": columns_of(_rows(shown, items))}
    labels = _rows(dataset.target.to_frame(label), items)
    pixels = dataset.features.to_numpy(dtype=float).reshape(len(dataset), side, side)
    place = {row_name(k): k for k in range(len(dataset))}
    drawn = {name: picture_address(pixels[place[name]]) for name in items if name in place}
    return {"rows": columns_of(labels), "pictures": _within_limits(drawn, items, first)}


def _side_of_pixels(features: pd.DataFrame) -> int | None:
    """How wide the square picture is, if the features are its pixels."""
    side = math.isqrt(features.shape[1])
    named = all(str(name).lower().startswith("pixel") for name in features)
    numbers = all(dtype.kind in "iuf" for dtype in features.dtypes)
    return side if named and numbers and side * side == features.shape[1] else None


def _rows(frame: pd.DataFrame, items: Sequence[str]) -> pd.DataFrame:
    """The rows in the order of the items, empty where there is none."""
    names = (
        [row_name(k) for k in frame.index] if is_numbered(frame.index) else map(str, frame.index)
    )
    named = frame.set_axis(list(names), axis=0)
    if not named.index.is_unique:
        twice = named.index[named.index.duplicated()][0]
        raise InputError(f"instances has two rows for the item {twice!r}. Keep one.")
    _check_known(list(named.index), items)
    return named.reindex(list(items)).reset_index(drop=True)


def _check_known(names: Sequence[str], items: Sequence[str]) -> None:
    if not set(names) & set(items):
        told = names[0] if len(names) else "none"
        raise InputError(
            f"instances tells of {told!r}, ..., but the items are {items[0]!r}, ... Name each "
            "instance as its item: the index of a frame, the keys of a mapping."
        )


def _are_texts(known: Mapping[str, Any]) -> bool:
    return all(isinstance(value, str | int | float) or value is None for value in known.values())


def _within_limits(
    values: Mapping[str, str], items: Sequence[str], first: Iterable[str]
) -> list[str | None]:
    """One entry an item; None where there is none, or no room left."""
    kept: dict[str, str] = {}
    room = MOST_SIGNS
    for name in dict.fromkeys([*first, *items]):
        if name in values and len(values[name]) <= room:
            kept[name] = values[name]
            room -= len(values[name])
    return [kept.get(name) for name in items]


def _png(pixels: np.ndarray) -> bytes:
    from matplotlib.image import imsave

    if pixels.ndim not in (2, 3) or pixels.size == 0 or pixels.dtype.kind not in "biuf":
        raise InputError(
            f"A picture has the shape {pixels.shape}, but pixels are (height, width) or "
            "(height, width, 3), as numbers."
        )
    if pixels.ndim == 3 and pixels.dtype != np.uint8:
        pixels = np.clip(pixels, 0.0, 1.0)
    buffer = io.BytesIO()
    imsave(buffer, pixels, cmap="gray", format="png")
    return buffer.getvalue()
