"""Encoders of images and texts: built in, given, or from Hugging Face; and checks of items."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive.errors import FileError, InputError, MissingExtraError
from ogive.results.numbers import counted

Images = NDArray[Any] | list[NDArray[Any]]
Texts = list[str]
MOST_CHANNELS = 4  # of an image; more in the last place may be channels first
SCANNED = 256  # images looked at together, so that a large set is never copied whole
LARGEST_SIDE = 64  # pixels of an image for the built-in encoder, which is small
BUCKETS = 8192  # buckets of hashed words; a clash is rare and does little harm
WORD_WIDTH = 64
MOST_TOKENS = 512
SECONDS_FOR_THE_HUB = 5.0
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json")
# Keys by which a configuration could ask for code, or for weights that are not plain numbers.
FOREIGN_KEYS = ("auto_map", "attn_implementation", "_attn_implementation", "quantization_config")


def checked_texts(X: Any) -> Texts:
    """Return `X` as a list of strings; empty ones are allowed, anything but text is not."""
    texts = _listed(X, "a list of strings is needed, one per item. Write [text] for a single item")
    for k, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(
                f"Item {k + 1} of X is {text!r:.40}, a {type(text).__name__}, but every item "
                "must be a string. Leave out what is missing, or give an empty string."
            )
    return texts


def checked_images(X: Any) -> Images:
    """Return `X` as one array of images, or as a list of arrays if sizes may differ."""
    if isinstance(X, np.ndarray) and X.dtype != object:
        check_images(X, "X")
        return X
    images = _listed(X, "an array of images or a list of arrays is needed")
    images = [np.asarray(image) for image in images]
    for k, image in enumerate(images):
        name = f"Item {k + 1} of X"
        if image.ndim not in (2, 3):
            raise InputError(
                f"{name} has shape {image.shape}, but an image is (height, width) or (height, "
                "width, channels)."
            )
        _check_pixels(image, image.shape, name)
    return images


def _listed(X: Any, needed: str) -> list[Any]:
    """Return the items as a list; a frame would be read as the list of its column names."""
    columns = getattr(X, "columns", None)
    if columns is not None:
        name = columns[0] if len(columns) else "text"
        raise InputError(
            f"X is a {type(X).__name__} with {counted(len(columns), 'column')}, but the items are "
            f"one list. Pass one column: X[{name!r}]."
        )
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise InputError(f"X is a {type(X).__name__}, but {needed}.")
    items = list(X)
    if not items:
        raise InputError("X has no items. Give at least one.")
    return items


def select_items(items: Images | Texts, rows: NDArray[np.intp]) -> Any:
    """Return the items of these rows, in the form in which they came."""
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
        """Return (n_images, channels, height, width), stretched if the size differs."""
        import torch

        whole = isinstance(images, np.ndarray)
        stacks: list[Any] = [images] if whole else [image[None] for image in images]
        return torch.cat([self._of_stack(stack, device) for stack in stacks])

    def _of_stack(self, stack: NDArray[Any], device: str) -> Any:
        import torch
        from torch.nn.functional import interpolate

        if (stack.dtype == np.uint8) != self.bytes_:
            expected, given = ("uint8", "other") if self.bytes_ else ("other", "uint8")
            raise InputError(
                f"The images in fit held {expected} numbers, these hold {given} ones "
                f"({stack.dtype}): the same picture would look different. Give images on one scale."
            )
        channelled = stack[..., None] if stack.ndim == 3 else stack
        values = torch.from_numpy(np.array(np.moveaxis(channelled, -1, 1), dtype=np.float32))
        values = values.to(device)
        n_channels = values.shape[1]
        if n_channels == 1:
            values = values.expand(-1, self.channels, -1, -1)
        elif self.channels == 1:
            values = values.mean(dim=1, keepdim=True)
        elif n_channels != self.channels:
            raise InputError(
                f"An image has {n_channels} channels, but the encoder takes {self.channels}. "
                f"Give grey images or images with {self.channels} channels, the channels last."
            )
        if tuple(values.shape[2:]) != self.size:
            values = interpolate(values, self.size, mode="bilinear", antialias=True)
        scaled = (values - self.low) / (self.high - self.low)
        mean = torch.tensor(self.mean, device=device).reshape(1, -1, 1, 1)
        return (scaled - mean) / torch.tensor(self.deviation, device=device).reshape(1, -1, 1, 1)


def pixels_of(images: Images, largest: int | None = None) -> Pixels:
    """Return the most common size, the most channels, and the scale of these images.

    `largest` bounds the longer side; the shape of the image is kept.
    """
    one_array = isinstance(images, np.ndarray)
    arrays: list[Any] = [images] if one_array else list(images)
    shapes = [array.shape[1:] if one_array else array.shape for array in arrays]
    (size, _count), *_ = Counter(shape[:2] for shape in shapes).most_common(1)
    if largest is not None and max(size) > largest:
        size = tuple(max(1, round(side * largest / max(size))) for side in size)
    channels = max(shape[2] if len(shape) == 3 else 1 for shape in shapes)
    bytes_ = bool(arrays[0].dtype == np.uint8)
    low, high = 0.0, 255.0
    if not bytes_:
        low = min(float(np.min(array)) for array in arrays)
        high = max(float(np.max(array)) for array in arrays)
        if low >= 0.0 and high <= 1.0:
            low, high = 0.0, 1.0
        elif not high > low:
            high = low + 1.0
    mean, deviation = (0.0,) * channels, (1.0,) * channels
    return Pixels((size[0], size[1]), channels, bytes_, low, high, mean, deviation)


def standardised(pixels: Pixels, images: Images) -> Pixels:
    """Return `pixels` with the mean and standard deviation of each channel over all images."""
    count, total, squares = 0, np.zeros(pixels.channels), np.zeros(pixels.channels)
    plain = replace(pixels, mean=(0.0,) * pixels.channels, deviation=(1.0,) * pixels.channels)
    for begin in range(0, len(images), SCANNED):
        values = plain.tensor(images[begin : begin + SCANNED], "cpu").double()
        count += values.shape[0] * values.shape[2] * values.shape[3]
        total += values.sum(dim=(0, 2, 3)).numpy()
        squares += (values**2).sum(dim=(0, 2, 3)).numpy()
    mean = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    deviation = np.where(variance > 1e-10, np.sqrt(variance), 1.0)  # a blank channel stays blank
    return replace(pixels, mean=tuple(mean.tolist()), deviation=tuple(deviation.tolist()))


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
    _check_pixels(images, images.shape[1:], name)


def _check_pixels(pixels: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
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


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """Any module that takes (n, channels, height, width), and how images become that."""

    module: Any
    pixels: Pixels
    device: str
    source: str
    config: dict[str, Any] | None = None

    def embed(self, items: Images) -> Any:
        """Return mean output of the module over positions."""
        return pooled(self.module(self.pixels.tensor(items, self.device)), len(items))


@dataclass(frozen=True, eq=False)
class HashedText:
    """The mean of one vector per hashed word and pair of words, and the length of the text."""

    module: Any
    device: str
    source: str = "built-in"

    def embed(self, items: Texts) -> Any:
        """Return the embeddings; a text without words is all zeros."""
        import torch

        ids, mask = padded([hashed(text) for text in items], 0, self.device)
        length = torch.log1p(mask.sum(dim=1, keepdim=True))
        return torch.cat([pooled(self.module(ids), len(items), mask), length], dim=1)


@dataclass(frozen=True, eq=False)
class TransformerText:
    """A transformer and its tokenizer; a text is the mean of its tokens."""

    module: Any
    tokenizer: Any
    config: dict[str, Any]
    device: str
    source: str = "hugging-face"

    def embed(self, items: Texts) -> Any:
        """Return the embeddings; a text without any token, not even special, is all zeros.

        Texts are cut at `limit` tokens.
        """
        import torch

        tokens = self.tokenizer(list(items), truncation=True, max_length=self.limit)["input_ids"]
        filled = [k for k, ids in enumerate(tokens) if ids]
        embedded = torch.zeros(len(items), self.module.config.hidden_size, device=self.device)
        if filled:
            pad = self.tokenizer.pad_token_id or 0
            ids, mask = padded([tokens[k] for k in filled], pad, self.device)
            hidden = self.module(input_ids=ids, attention_mask=mask.long())
            embedded[filled] = pooled(hidden, len(filled), mask)
        return embedded

    @property
    def limit(self) -> int:
        """The largest number of tokens that are read."""
        positions = getattr(self.module.config, "max_position_embeddings", None)
        return int(min(MOST_TOKENS, self.tokenizer.model_max_length, positions or MOST_TOKENS))


@dataclass(frozen=True, eq=False)
class GivenText:
    """A module of the caller that takes a list of strings."""

    module: Any
    source: str = "given"

    def embed(self, items: Texts) -> Any:
        """Return the output of the module for these strings."""
        return pooled(self.module(list(items)), len(items))


Encoder: TypeAlias = ImageEncoder | HashedText | TransformerText | GivenText


def new_encoder(encoder: Any, kind: str, items: Any, device: str) -> Encoder:
    """Return the encoder for a name, a folder, a module, or None for the built-in one."""
    if isinstance(encoder, str | PathLike):
        return _hub_encoder(str(encoder), kind, items, device)
    if encoder is not None:
        module = copied(encoder, device)
        if kind == "text":
            return GivenText(module)
        return ImageEncoder(module, standardised(pixels_of(items), items), device, "given")
    if kind == "text":
        return HashedText(builtin_module(None).to(device), device)
    pixels = standardised(pixels_of(items, LARGEST_SIDE), items)
    return ImageEncoder(builtin_module(pixels.channels).to(device), pixels, device, "built-in")


def copied(encoder: Any, device: str) -> Any:
    """Return a copy of the caller's module, so training never changes the original."""
    from copy import deepcopy

    from torch import nn

    if not isinstance(encoder, nn.Module):
        raise InputError(
            f"encoder is {encoder!r:.60}, a {type(encoder).__name__}, but it must be the name or "
            "folder of a Hugging Face model, a torch.nn.Module, or None for the built-in encoder."
        )
    return deepcopy(encoder).to(device)


def builtin_module(channels: int | None) -> Any:
    """Return convolutions, averaged over the quarters of an image; or a vector per hashed word."""
    from torch import nn

    if channels is None:
        return nn.Embedding(BUCKETS + 1, WORD_WIDTH, padding_idx=0)  # bucket 0 is the padding
    return nn.Sequential(
        nn.Conv2d(channels, 16, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
    )


def hashed(text: str) -> list[int]:
    """Return the buckets of the words, signs and neighbouring pairs in a text."""
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return [
        zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS + 1
        for piece in (*words, *pairs)
    ]


def padded(rows: list[list[int]], pad: int, device: str) -> tuple[Any, Any]:
    """Return lists of unequal length as one table, and a mask that is 1.0 at their entries."""
    import torch

    longest = max([1, *(len(row) for row in rows)])
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros(len(rows), longest)
    for k, row in enumerate(rows):
        ids[k, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[k, : len(row)] = 1.0
    return ids.to(device), mask.to(device)


def pooled(output: Any, n_items: int, mask: Any = None) -> Any:
    """Return one vector per item from what an encoder returns: the mean over tokens or places."""
    hidden = getattr(output, "last_hidden_state", output)
    hidden = hidden[0] if isinstance(hidden, tuple | list) else hidden
    shape = tuple(getattr(hidden, "shape", ()))
    if len(shape) not in (2, 3, 4) or shape[0] != n_items:
        raise InputError(
            f"The encoder returned {shape or type(hidden).__name__} for {n_items} items, but it "
            "should return (items, width), (items, tokens, width) or (items, channels, height, "
            "width)."
        )
    if len(shape) == 4:
        return hidden.float().mean(dim=(2, 3))
    if len(shape) == 3 and mask is not None:
        weights = mask.unsqueeze(-1)
        return (hidden.float() * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1.0)
    return hidden.float().mean(dim=1) if len(shape) == 3 else hidden.float()


def _hub_encoder(name: str, kind: str, items: Any, device: str) -> Encoder:
    """Load the encoder of a folder or name, with its tokenizer or its image scale."""
    import torch

    transformers = _import_transformers()
    with quiet(transformers):
        local = _is_on_this_machine(name)
        model, report = _load(
            transformers.AutoModel,
            name,
            local_files_only=local,
            use_safetensors=True,
            output_loading_info=True,
            dtype=torch.float32,
        )
        # Weights that are missing would stay random; poolers and decoders are not used.
        missing = report["missing_keys"]
        lacking = sorted(key for key in missing if "pooler" not in key and "decoder" not in key)
        if lacking:
            raise FileError(
                f"The weights of the encoder {name!r} lack {len(lacking)} tensors "
                f"({lacking[0]}, ...), which would stay random. Give the folder of a complete "
                "model."
            )
        part = encoder_part(model, kind).to(device).eval()
        config = json.loads(model.config.to_json_string(use_diff=False))
        if kind == "text":
            tokenizer = _load(transformers.AutoTokenizer, name, local_files_only=local)
            return TransformerText(part, tokenizer, config, device)
        try:
            reader = transformers.image_processing_utils.BaseImageProcessor
            scale = dict(reader.get_image_processor_dict(name, local_files_only=local)[0])
        except OSError:  # the model has no preprocessor
            scale = {}
    pixels = _needed_pixels(part.config, scale, pixels_of(items))
    return ImageEncoder(part, pixels, device, "hugging-face", config)


def encoder_part(model: Any, kind: str) -> Any:
    """Return the encoder of a model: that of T5, or the vision or text tower of CLIP."""
    tower = getattr(model, "vision_model" if kind == "image" else "text_model", None)
    if tower is not None:
        return tower
    return model.get_encoder() if model.config.is_encoder_decoder else model


def model_of_config(config: dict[str, Any]) -> Any:
    """Return an untrained model of this configuration, without anything in it that names code."""
    transformers = _import_transformers()
    plain = {key: value for key, value in config.items() if key not in FOREIGN_KEYS}
    with quiet(transformers):
        made = transformers.AutoConfig.for_model(**plain)
        return transformers.AutoModel.from_config(made, trust_remote_code=False)


def saved_tokenizer(folder: Path) -> Any:
    """Return the tokenizer that was saved in this folder."""
    transformers = _import_transformers()
    with quiet(transformers):
        return _load(transformers.AutoTokenizer, str(folder), local_files_only=True)


def _import_transformers() -> Any:
    """Return the package, or say how to install it."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "deep") from error
    return transformers


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Silence progress bars and advice while a model is loaded."""
    logging = transformers.utils.logging
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def _is_on_this_machine(name: str) -> bool:
    """Return True for a folder or a cached model, False if the hub has it; otherwise an error."""
    if Path(name).is_dir():
        return True
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    folder = "Give the path of a folder that holds config.json and model.safetensors"
    try:
        if any(isinstance(try_to_load_from_cache(name, file), str) for file in WEIGHT_FILES):
            return True
        # One short request before a download, because downloads try for half a minute.
        HfApi().model_info(name, timeout=SECONDS_FOR_THE_HUB)
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise InputError(
            f"encoder is {name!r}: there is no such folder, and no model of this name on the "
            f"Hugging Face hub. {folder}, or check the name."
        ) from error
    except Exception as error:  # whatever HTTP library the hub client uses
        raise InputError(
            f"encoder is {name!r}: there is no such folder, no copy in the local cache, and no "
            f"network was reached to look for it on the Hugging Face hub "
            f"({type(error).__name__}). {folder}, connect to the network, or use "
            "encoder=None for the built-in encoder."
        ) from error
    return False


def _load(kind: Any, name: str, **settings: Any) -> Any:
    """Return what `kind` reads from a folder or name; errors of whatever sort name the folder."""
    try:
        return kind.from_pretrained(name, trust_remote_code=False, **settings)
    except MemoryError:
        raise
    except Exception as error:  # broken files end in errors of every kind
        reason = " ".join(str(error).split())[:300]
        raise FileError(
            f"The encoder {name!r} cannot be loaded: {reason or type(error).__name__}. "
            "It needs config.json, model.safetensors and, for text, its tokenizer; models that "
            "bring their own code are not run."
        ) from error


def _needed_pixels(config: Any, scale: dict[str, Any], seen: Pixels) -> Pixels:
    """Return size, channels and scale that the encoder needs; those of the images by default."""
    channels = int(getattr(config, "num_channels", 3) or 3)
    size: Any = getattr(config, "image_size", None) or scale.get("crop_size") or scale.get("size")
    if isinstance(size, dict):
        side = size.get("shortest_edge")
        size = (size.get("height", side), size.get("width", side))
    if isinstance(size, int):
        size = (size, size)
    if not (size and len(size) == 2 and all(isinstance(side, int) for side in size)):
        size = seen.size
    mean, deviation = scale.get("image_mean") or 0.5, scale.get("image_std") or 0.5
    return replace(
        seen,
        size=(int(size[0]), int(size[1])),
        channels=channels,
        mean=_per_channel(mean, channels),
        deviation=_per_channel(deviation, channels),
    )


def _per_channel(values: Any, channels: int) -> tuple[float, ...]:
    listed = [values] if isinstance(values, int | float) else list(values)
    return tuple(float(value) for value in (listed * channels)[:channels])
