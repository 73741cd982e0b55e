"""Encoders of Hugging Face: from a folder, from the local cache, or by name from the hub.

Only safetensors are read, and code that comes with a model is never run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from itemwise.errors import FileError, InputError, MissingExtraError
from itemwise.learning.deep_encoders import Encoder, ImageEncoder, TransformerText
from itemwise.learning.deep_inputs import Pixels, seen_pixels

SECONDS_FOR_THE_HUB = 5.0
WEIGHT_FILES = ("model.safetensors", "model.safetensors.index.json")
# Where a configuration could ask for code or for weights that are no plain numbers.
FOREIGN_KEYS = ("auto_map", "attn_implementation", "_attn_implementation", "quantization_config")


def hub_encoder(name: str, kind: str, items: Any, device: str) -> Encoder:
    """The encoder of this folder or name, with the tokenizer or the image scale it was made for."""
    transformers = import_transformers()
    with quiet(transformers):
        local = _on_this_machine(name)
        model, report = _loaded(transformers.AutoModel, name, local, weights=True)
        _refuse_untrained(name, report["missing_keys"])
        part = encoder_part(model, kind).to(device).eval()
        config = json.loads(model.config.to_json_string(use_diff=False))
        if kind == "text":
            tokenizer = _loaded(transformers.AutoTokenizer, name, local)
            return TransformerText(part, tokenizer, config, device)
        scale = _image_scale(transformers, name, local)
    pixels = _pixels(part.config, scale, seen_pixels(items))
    return ImageEncoder(part, pixels, device, "hugging-face", config)


def encoder_part(model: Any, kind: str) -> Any:
    """The side of a model that reads: the encoder of T5, the vision or text tower of CLIP."""
    tower = getattr(model, "vision_model" if kind == "image" else "text_model", None)
    if tower is not None:
        return tower
    return model.get_encoder() if model.config.is_encoder_decoder else model


def model_of_config(config: dict[str, Any]) -> Any:
    """An untrained model of this configuration, without anything in it that names code."""
    transformers = import_transformers()
    plain = {key: value for key, value in config.items() if key not in FOREIGN_KEYS}
    with quiet(transformers):
        made = transformers.AutoConfig.for_model(**plain)
        return transformers.AutoModel.from_config(made, trust_remote_code=False)


def saved_tokenizer(folder: Path) -> Any:
    """The tokenizer that was saved in this folder."""
    transformers = import_transformers()
    with quiet(transformers):
        return _loaded(transformers.AutoTokenizer, str(folder), local=True)


def import_transformers() -> Any:
    """The package, or how to install it."""
    try:
        import transformers
    except ImportError as error:
        raise MissingExtraError("transformers", "deep") from error
    return transformers


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """No bars and no advice on the terminal while a model is loaded."""
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


def _on_this_machine(name: str) -> bool:
    """True for a folder or a cached model, False where the hub has it; or say why neither."""
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


def _loaded(kind: Any, name: str, local: bool, *, weights: bool = False) -> Any:  # noqa: FBT001
    """What `kind` reads from a folder or name; errors of whatever sort name the folder."""
    settings: dict[str, Any] = {"trust_remote_code": False, "local_files_only": local}
    if weights:
        import torch

        settings |= {"use_safetensors": True, "output_loading_info": True, "dtype": torch.float32}
    return _explained(name, lambda: kind.from_pretrained(name, **settings))


def _explained(name: str, read: Callable[[], Any]) -> Any:
    try:
        return read()
    except MemoryError:
        raise
    except Exception as error:  # broken files end in errors of every kind
        reason = " ".join(str(error).split())[:300]
        raise FileError(
            f"The encoder {name!r} cannot be loaded: {reason or type(error).__name__}. "
            "It needs config.json, model.safetensors and, for text, its tokenizer; models that "
            "bring their own code are not run."
        ) from error


def _refuse_untrained(name: str, missing: Any) -> None:
    """Refuse weights that do not belong to the model; poolers are not used, decoders neither."""
    lacking = sorted(key for key in missing if "pooler" not in key and "decoder" not in key)
    if lacking:
        raise FileError(
            f"The weights of the encoder {name!r} lack {len(lacking)} tensors ({lacking[0]}, ...), "
            "which would stay random. Give the folder of a complete model."
        )


def _image_scale(transformers: Any, name: str, local: bool) -> dict[str, Any]:  # noqa: FBT001
    """What the preprocessor of the model says about size and scale; nothing where it has none."""
    reader = transformers.image_processing_utils.BaseImageProcessor
    try:
        found, _rest = reader.get_image_processor_dict(name, local_files_only=local)
    except OSError:
        return {}
    return dict(found)


def _pixels(config: Any, scale: dict[str, Any], seen: Pixels) -> Pixels:
    """Size, channels and scale as the encoder wants them; as the images are where it is silent."""
    channels = int(getattr(config, "num_channels", 3) or 3)
    wanted = getattr(config, "image_size", None) or scale.get("crop_size") or scale.get("size")
    size = _size(wanted) or seen.size
    mean, deviation = scale.get("image_mean") or 0.5, scale.get("image_std") or 0.5
    return replace(
        seen,
        size=size,
        channels=channels,
        mean=_per_channel(mean, channels),
        deviation=_per_channel(deviation, channels),
    )


def _size(wanted: Any) -> tuple[int, int] | None:
    if isinstance(wanted, dict):
        side = wanted.get("shortest_edge")
        wanted = (wanted.get("height", side), wanted.get("width", side))
    if isinstance(wanted, int):
        return wanted, wanted
    if wanted and len(wanted) == 2 and all(isinstance(side, int) for side in wanted):
        return int(wanted[0]), int(wanted[1])
    return None


def _per_channel(values: Any, channels: int) -> tuple[float, ...]:
    listed = [values] if isinstance(values, int | float) else list(values)
    return tuple(float(value) for value in (listed * channels)[:channels])
