"""A deep regressor as a folder of JSON and safetensors: written as a whole, never executed."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._files import PathLike, most_bytes, read_json, readable_file, require_keys, write_json
from ogive.difficulty import encoders
from ogive.errors import FileError, InputError

if TYPE_CHECKING:
    from ogive.difficulty.deep_regressor import DeepDifficultyRegressor

SCHEMA, VERSION = "deep-difficulty-regressor", 1
SETTINGS, WEIGHTS, TOKENIZER = "settings.json", "weights.safetensors", "tokenizer"
SETTINGS_MAX_BYTES = 256 * 1024**2
WEIGHTS_MAX_BYTES = 64 * 1024**3
TOKENIZER_MAX_BYTES = 1024**3
MAX_SPARE_LAYERS = 1000  # layers of a configuration beyond the tensors in the file
MAX_SIDE = 16384  # pixels, or channels
NOT_SAVED = {"encoder", "progress", "device"}
KEYS = ("parameters", "source", "config", "pixels", "width", "center", "spread")
FITTED = ("losses", "residuals", "n_items")


def save_regressor(regressor: DeepDifficultyRegressor, path: PathLike) -> Path:
    """Fill a folder next to `path`, then rename it: `path` never holds half a regressor."""
    target = Path(os.path.abspath(path))  # noqa: PTH100 (a link to a folder stays a link)
    _refuse_foreign(target)
    new, old = (target.with_name(f".ogive-{secrets.token_hex(6)}.part") for _ in range(2))
    try:
        new.mkdir()
        _fill(regressor, new)
        for file in new.rglob("*"):  # on disk before the folder gets its name
            if file.is_file():
                with file.open("rb+") as stream:
                    os.fsync(stream.fileno())
        replaced = target.exists()
        if replaced:
            target.rename(old)
        try:
            new.rename(target)
        except OSError:
            if replaced:
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"The folder '{path}' cannot be written: {error.strerror or error}. Name another."
        ) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return Path(path)


def load_regressor(
    kind: type[DeepDifficultyRegressor], path: PathLike, encoder: Any, device: str | None
) -> DeepDifficultyRegressor:
    """Read a folder that `save_regressor` wrote, trusting nothing in it."""
    folder = Path(path)
    if not folder.is_dir():
        raise FileError(f"There is no folder '{path}'. Give the folder that save wrote.")
    document = read_json(
        folder / SETTINGS, SCHEMA, VERSION, max_bytes=most_bytes(None, SETTINGS_MAX_BYTES)
    )
    require_keys(folder / SETTINGS, document, (*KEYS, *FITTED))
    try:
        regressor = _restored(kind, document, encoder, device)
        _restore_network(regressor, document, folder, encoder)
    except (FileError, ImportError):
        raise
    except (ArithmeticError, AttributeError, InputError, LookupError, TypeError, ValueError) as bad:
        raise FileError(
            f"The folder '{folder}' does not hold a regressor that can be used: {bad!s:.300}. "
            "It was cut short or edited; save it again or restore a copy."
        ) from bad
    return regressor


def _fill(regressor: DeepDifficultyRegressor, folder: Path) -> None:
    """Write weights, tokenizer and settings."""
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    tensors = {
        name: tensor.detach().cpu().clone().contiguous()  # tied weights are stored twice
        for name, tensor in _network(regressor).state_dict().items()
    }
    try:
        save_file(tensors, folder / WEIGHTS)
    except SafetensorError as error:
        raise FileError(f"The weights cannot be written to '{folder.parent}': {error}.") from error
    encoder = regressor.encoder_
    tokenizer = getattr(encoder, "tokenizer", None)
    if tokenizer is not None:
        tokenizer.save_pretrained(folder / TOKENIZER)
    pixels = getattr(encoder, "pixels", None)
    parameters: dict[str, Any] = {
        key: value.item() if isinstance(value, np.generic) else value
        for key, value in regressor.get_params(deep=False).items()
        if key not in NOT_SAVED
    }
    named = str(regressor.encoder) if encoder.source == "hugging-face" else None
    settings = {
        "parameters": {"encoder": named, **parameters},
        "source": encoder.source,
        "config": getattr(encoder, "config", None),
        "pixels": None if pixels is None else asdict(pixels),
        "width": regressor.head_[1].in_features,
        "center": regressor.center_,
        "spread": regressor.spread_,
        "losses": regressor.losses_,
        "residuals": regressor.residuals_.tolist(),
        "n_items": regressor.n_items_,
        "notes": regressor.notes_,
    }
    write_json(folder / SETTINGS, SCHEMA, VERSION, settings)


def _refuse_foreign(target: Path) -> None:
    """Refuse to replace a folder that holds anything but a saved regressor."""
    if not target.parent.is_dir():
        raise FileError(
            f"'{target}' cannot be written: there is no directory '{target.parent}'. "
            "Create it first, or correct the path."
        )
    if not target.exists():
        return
    if not target.is_dir() or target.is_symlink():
        raise FileError(f"'{target}' is not a plain folder. Name another path.")
    foreign = {entry.name for entry in target.iterdir()} - {SETTINGS, WEIGHTS, TOKENIZER}
    if foreign:
        raise FileError(
            f"'{target}' holds other files ({min(foreign)}), which would be lost. "
            "Name a folder that does not exist yet."
        )


def _restored(
    kind: type[DeepDifficultyRegressor], document: dict[str, Any], encoder: Any, device: str | None
) -> DeepDifficultyRegressor:
    """Return the regressor with its settings and figures, without its network."""
    parameters = dict(document["parameters"])
    given = document["source"] == "given"
    parameters |= {"device": device, "encoder": encoder if given else parameters["encoder"]}
    regressor = kind(**parameters)
    regressor.check_settings()
    regressor.device_ = regressor.usable_device()
    regressor.center_ = float(document["center"])
    regressor.spread_ = float(document["spread"])
    regressor.losses_ = [float(loss) for loss in document["losses"]]
    errors = np.asarray(document["residuals"], dtype=np.float64)
    if errors.ndim != 1 or len(errors) == 0 or (np.diff(errors) < 0).any() or errors[0] < 0:
        raise ValueError("the errors of the items held out are not a sorted list")
    regressor.residuals_ = errors
    regressor.n_items_ = int(document["n_items"])
    regressor.notes_ = [str(note) for note in document.get("notes", ())]
    return regressor


def _restore_network(
    regressor: DeepDifficultyRegressor, document: dict[str, Any], folder: Path, encoder: Any
) -> None:
    """Build the network twice: without memory, to compare it with the weights, then for use."""
    import torch
    from safetensors.torch import load_file

    if document["source"] == "given" and encoder is None:
        raise FileError(
            f"The regressor in '{folder}' was made with a torch module of its own, which is not "
            "in the folder. Load it with encoder=<a module of the same architecture>."
        )
    shapes = _shapes(folder / WEIGHTS)
    for key, value in _whole_numbers(document["config"]):
        # far more layers than weights: building them would never end
        named = any(word in key for word in ("layer", "depth", "num_block"))
        if named and value > len(shapes) + MAX_SPARE_LAYERS:
            raise ValueError(f"{key} is {value:,}, but there are {len(shapes):,} tensors")
    for device in ("meta", regressor.device_):
        try:
            with torch.device(device):
                regressor.encoder_ = _rebuilt(regressor.kind, document, folder, encoder, device)
                regressor.head_ = regressor.new_head(int(document["width"]))
        except RuntimeError as error:
            raise ValueError(str(error)) from error
        state = _network(regressor).state_dict()
        needed = {name: tuple(tensor.shape) for name, tensor in state.items()}
        other = sorted(k for k in needed.keys() | shapes.keys() if needed.get(k) != shapes.get(k))
        if other:
            raise FileError(
                f"The weights in '{folder}' do not belong to its settings: {len(other)} tensors "
                f"differ ({other[0]}, ...). Save the regressor again or restore a copy."
            )
    weights = load_file(folder / WEIGHTS, device=regressor.device_)
    if not all(torch.isfinite(tensor).all() for tensor in weights.values()):
        raise ValueError("some weights are NaN or infinite")
    _network(regressor).load_state_dict(weights)
    regressor.encoder_.module.eval()


def _rebuilt(
    kind: str, document: dict[str, Any], folder: Path, encoder: Any, device: str
) -> encoders.Encoder:
    """Return an encoder of the same architecture, with untrained weights."""
    source, config = document["source"], document["config"]
    pixels = _pixels(document["pixels"]) if kind == "image" else None
    if source == "hugging-face":
        module = encoders.encoder_part(encoders.model_of_config(config), kind).to(device)
        if pixels is not None:
            return encoders.ImageEncoder(module, pixels, device, source, config)
        tokenizer = None if device == "meta" else _tokenizer(folder)
        return encoders.TransformerText(module, tokenizer, config, device)
    if source == "given":
        module = encoders.copied(encoder, device)
    elif source == "built-in":
        module = encoders.builtin_module(pixels.channels if pixels else None).to(device)
    else:
        raise ValueError(f"the source of the encoder is {source!r:.40}")
    if pixels is not None:
        return encoders.ImageEncoder(module, pixels, device, source)
    return encoders.GivenText(module) if source == "given" else encoders.HashedText(module, device)


def _tokenizer(folder: Path) -> Any:
    saved = folder / TOKENIZER
    if not saved.is_dir():
        raise FileError(f"'{folder}' is incomplete: it lacks the folder '{TOKENIZER}'.")
    for file in saved.iterdir():
        readable_file(file, most_bytes(None, TOKENIZER_MAX_BYTES))
    return encoders.saved_tokenizer(saved)


def _pixels(saved: dict[str, Any]) -> encoders.Pixels:
    if set(saved) != {field.name for field in fields(encoders.Pixels)}:
        raise ValueError("the scale of the images is incomplete")
    height, width = (int(side) for side in saved["size"])
    pixels = encoders.Pixels(
        size=(height, width),
        channels=int(saved["channels"]),
        bytes_=bool(saved["bytes_"]),
        low=float(saved["low"]),
        high=float(saved["high"]),
        mean=tuple(float(value) for value in saved["mean"]),
        deviation=tuple(float(value) for value in saved["deviation"]),
    )
    sound = all(0 < number <= MAX_SIDE for number in (height, width, pixels.channels))
    sound = sound and len(pixels.mean) == len(pixels.deviation) == pixels.channels
    if not sound or not all(pixels.deviation):
        raise ValueError("the scale of the images makes no sense")
    if not pixels.high > pixels.low:
        raise ValueError("the range of the images is empty")
    return pixels


def _network(regressor: DeepDifficultyRegressor) -> Any:
    from torch import nn

    return nn.ModuleDict({"encoder": regressor.encoder_.module, "head": regressor.head_})


def _shapes(file: Path) -> dict[str, tuple[int, ...]]:
    """Return name and shape of every tensor, from the head of the file alone."""
    from safetensors import SafetensorError, safe_open

    readable_file(file, most_bytes(None, WEIGHTS_MAX_BYTES))
    try:
        with safe_open(file, framework="pt") as tensors:
            return {name: tuple(tensors.get_slice(name).get_shape()) for name in tensors.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise FileError(
            f"'{file}' is not a file of weights ({error}). It was cut short or edited; save the "
            "regressor again or restore a copy."
        ) from error


def _whole_numbers(config: Any, key: str = "") -> Iterator[tuple[str, int]]:
    """Yield every whole number in nested JSON, with its key."""
    if isinstance(config, dict):
        for name, value in config.items():
            yield from _whole_numbers(value, str(name))
    elif isinstance(config, list):
        for value in config:
            yield from _whole_numbers(value, key)
    elif isinstance(config, int) and not isinstance(config, bool):
        yield key, config
