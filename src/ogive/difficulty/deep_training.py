"""A two-layer head on embeddings: smooth L1, Adam, linear warm-up, then cosine decay."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._progress import Progress
from ogive.errors import InputError, MissingExtraError
from ogive.stats.array_backend import checked_device


@dataclass(frozen=True)
class Schedule:
    """How long and how fast to train; nothing is stored during training."""

    epochs: int
    warm_up: int
    batch_size: int
    random_state: int

    def train(
        self,
        predicted: Callable[[NDArray[np.intp]], Any],
        target: Any,
        groups: list[dict[str, Any]],
        progress: Progress,
    ) -> list[float]:
        """Fit the parameters of `groups` so that `predicted(rows)` meets `target[rows]`.

        Returns the mean loss of each epoch. Batches are of nearly equal size, so that no single
        row left over has the weight of a whole batch.
        """
        import torch

        optimiser = torch.optim.Adam(groups)
        highest = [group["lr"] for group in groups]
        draws = np.random.default_rng(self.random_state)
        per_epoch = math.ceil(len(target) / self.batch_size)
        losses: list[float] = []
        for epoch in range(self.epochs):
            total = 0.0
            for step, rows in enumerate(np.array_split(draws.permutation(len(target)), per_epoch)):
                share = self.share(epoch * per_epoch + step, per_epoch)
                for group, rate in zip(optimiser.param_groups, highest, strict=True):
                    group["lr"] = rate * share
                total += _step(optimiser, predicted(rows), target[rows]) * len(rows)
            losses.append(_finite(total / len(target), epoch))
            progress(epoch + 1, self.epochs, f"loss {losses[-1]:.4g}")
        return losses

    def share(self, step: int, per_epoch: int) -> float:
        """Return share of the highest learning rate that `step` (from 0) takes."""
        warm = min(self.warm_up, self.epochs - 1) * per_epoch
        if step < warm:
            return (step + 1) / warm
        return 0.5 * (1 + math.cos(math.pi * (step - warm) / (self.epochs * per_epoch - warm)))


def new_head(width: int, hidden: int) -> Any:
    """Return standardise the embedding, then two layers; the first part is set, never trained."""
    from torch import nn

    head = nn.Sequential(
        nn.BatchNorm1d(width, affine=False),
        nn.Linear(width, hidden),
        nn.ReLU(),
        nn.Linear(hidden, 1),
    )
    return head.eval()  # the first part must use what `standardise` sets


def standardise(head: Any, embeddings: Any) -> None:
    """Let the head scale each coordinate of these embeddings to mean 0, standard deviation 1."""
    import torch

    variance = embeddings.var(dim=0, unbiased=False)
    head[0].running_mean.copy_(embeddings.mean(dim=0))
    # A coordinate that never moved would otherwise be blown up when it first does.
    head[0].running_var.copy_(torch.where(variance > 1e-10, variance, torch.ones_like(variance)))


def set_training(module: Any) -> None:
    """Train an encoder; batch normalisation keeps the statistics that it came with.

    Those of a few small batches would be worse, and differ from those used for prediction.
    """
    from torch.nn.modules.batchnorm import _BatchNorm

    module.train()
    for part in module.modules():
        if isinstance(part, _BatchNorm):
            part.eval()


@contextmanager
def seeded(seed: int, device: str) -> Iterator[None]:
    """Seed torch temporarily, without affecting the caller's random numbers."""
    import torch

    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def _step(optimiser: Any, predicted: Any, target: Any) -> float:
    from torch.nn.functional import smooth_l1_loss

    loss = smooth_l1_loss(predicted, target)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return float(loss.detach())


def _finite(loss: float, epoch: int) -> float:
    if math.isfinite(loss):
        return loss
    raise InputError(
        f"Training diverged: the loss is {loss} in epoch {epoch + 1}. "
        "Lower learning_rate or encoder_learning_rate."
    )


def require_torch() -> None:
    """Raise an error that says how to install torch and safetensors, if they are missing."""
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "deep")


def usable_device(device: str | None) -> str:
    """Return the requested device, or CUDA if available."""
    import torch

    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return checked_device(device)
    except InputError as error:
        raise InputError(
            f"device is {device!r}, which cannot be used here ({error.__cause__!s:.200}). "
            "Use 'cpu' or 'cuda', or leave it out to use CUDA if available."
        ) from error
