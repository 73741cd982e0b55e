"""What turns an image or a text into an embedding: built in, given, or from Hugging Face."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from itertools import pairwise
from os import PathLike
from typing import Any, Protocol

from itemwise.errors import InputError
from itemwise.learning.deep_inputs import Images, Pixels, Texts, seen_pixels, standardised

LARGEST_SIDE = 64  # of an image for the built-in encoder, which is small
BUCKETS = 8192  # of hashed words; a clash is rare and does little harm
WORD_WIDTH = 64
MOST_TOKENS = 512


class Encoder(Protocol):
    """A batch of items in, a tensor (n_items, width) out; `module` holds the weights."""

    @property
    def module(self) -> Any:
        """The torch module."""

    @property
    def source(self) -> str:
        """Where it comes from: "built-in", "given" or "hugging-face"."""

    def embed(self, items: Any) -> Any:
        """The embeddings of these items."""


@dataclass(frozen=True, eq=False)
class ImageEncoder:
    """Any module that takes (n, channels, height, width), and how images become that."""

    module: Any
    pixels: Pixels
    device: str
    source: str
    config: dict[str, Any] | None = None

    def embed(self, items: Images) -> Any:
        """Mean over places of what the module makes of the images."""
        return pooled(self.module(self.pixels.tensor(items, self.device)), len(items))


@dataclass(frozen=True, eq=False)
class HashedText:
    """The mean of one vector per hashed word and pair of words, and the length of the text."""

    module: Any
    device: str
    source: str = "built-in"

    def embed(self, items: Texts) -> Any:
        """A text without words is all zeros."""
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
        """Texts are cut at `limit` tokens; one without any token, not even special, is zeros."""
        import torch

        found = self.tokenizer(list(items), truncation=True, max_length=self.limit)["input_ids"]
        filled = [place for place, ids in enumerate(found) if ids]
        embedded = torch.zeros(len(items), self.module.config.hidden_size, device=self.device)
        if filled:
            pad = self.tokenizer.pad_token_id or 0
            ids, mask = padded([found[place] for place in filled], pad, self.device)
            hidden = self.module(input_ids=ids, attention_mask=mask.long())
            embedded[filled] = pooled(hidden, len(filled), mask)
        return embedded

    @property
    def limit(self) -> int:
        """The most tokens that are read."""
        positions = getattr(self.module.config, "max_position_embeddings", None)
        return int(min(MOST_TOKENS, self.tokenizer.model_max_length, positions or MOST_TOKENS))


@dataclass(frozen=True, eq=False)
class GivenText:
    """A module of the caller that takes a list of strings."""

    module: Any
    source: str = "given"

    def embed(self, items: Texts) -> Any:
        """What the module makes of the strings."""
        return pooled(self.module(list(items)), len(items))


def new_encoder(encoder: Any, kind: str, items: Any, device: str) -> Encoder:
    """The encoder that was asked for: a name, a folder, a module, or None for the built-in one."""
    if isinstance(encoder, str | PathLike):
        from itemwise.learning.deep_hub import hub_encoder

        return hub_encoder(str(encoder), kind, items, device)
    if encoder is None:
        return builtin_encoder(kind, items, device)
    return given_encoder(encoder, kind, items, device)


def builtin_encoder(kind: str, items: Any, device: str) -> Encoder:
    """A small encoder that knows nothing yet and needs no download."""
    if kind == "text":
        return HashedText(builtin_module(None).to(device), device)
    pixels = standardised(seen_pixels(items, LARGEST_SIDE), items)
    return ImageEncoder(builtin_module(pixels.channels).to(device), pixels, device, "built-in")


def given_encoder(encoder: Any, kind: str, items: Any, device: str) -> Encoder:
    """The caller's module, and for images the scale that those in `fit` have."""
    module = copied(encoder, device)
    if kind == "text":
        return GivenText(module)
    return ImageEncoder(module, standardised(seen_pixels(items), items), device, "given")


def copied(encoder: Any, device: str) -> Any:
    """A copy of the caller's module, so that training never changes the original."""
    from copy import deepcopy

    from torch import nn

    if not isinstance(encoder, nn.Module):
        raise InputError(
            f"encoder is {encoder!r:.60}, a {type(encoder).__name__}, but it must be the name or "
            "folder of a Hugging Face model, a torch.nn.Module, or None for the built-in encoder."
        )
    return deepcopy(encoder).to(device)


def builtin_module(channels: int | None) -> Any:
    """Three convolutions, averaged over the quarters of an image; or a vector per hashed word."""
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
    """The buckets of the words, signs and neighbouring pairs in a text, the same everywhere."""
    words = re.findall(r"\w+|[^\w\s]", text.lower())
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return [
        zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS + 1
        for piece in (*words, *pairs)
    ]


def padded(rows: list[list[int]], pad: int, device: str) -> tuple[Any, Any]:
    """Lists of unequal length as one table, and 1.0 where it holds something."""
    import torch

    longest = max([1, *(len(row) for row in rows)])
    ids = torch.full((len(rows), longest), pad, dtype=torch.long)
    mask = torch.zeros(len(rows), longest)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = torch.tensor(row, dtype=torch.long)
        mask[place, : len(row)] = 1.0
    return ids.to(device), mask.to(device)


def pooled(output: Any, n_items: int, mask: Any = None) -> Any:
    """One vector per item from what an encoder returns: the mean over tokens or places."""
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
