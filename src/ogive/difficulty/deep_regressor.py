"""Predict the difficulty of images and texts: an encoder, frozen or fine-tuned, under a small head.

The head is trained with smooth L1 and Adam: linear warm-up, then cosine decay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ogive._files import PathLike
from ogive._progress import Progress, telling
from ogive._validation import float_array, is_number, one_of, whole_number
from ogive.data.feature_columns import in_sentences, known_rows
from ogive.difficulty.deep_files import load_regressor, save_regressor
from ogive.difficulty.encoders import (
    Images,
    Texts,
    checked_images,
    checked_texts,
    new_encoder,
    select_items,
)
from ogive.difficulty.targets import same_for_all
from ogive.errors import InputError, MissingExtraError
from ogive.stats.array_backend import Floats, checked_device
from ogive.stats.conformal import (
    checked_confidence,
    checked_test_size,
    conformal_interval,
    held_out_part,
)

FEWEST_ITEMS = 5


class DeepDifficultyRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predict the difficulty of new images or texts, with an interval for each.

    An encoder turns each item into an embedding; a head of two layers turns that into a
    difficulty. If the encoder is frozen, embeddings are computed once and only the head is trained;
    if it is fine-tuned, all parameters are. Part of the items is held out for the intervals of
    `predict_interval` (split conformal). The same seed gives the same predictions on the CPU. The
    question is that of Martínez-Plumed et al. (2022).

    It follows scikit-learn's conventions (`get_params`, `clone`, `cross_val_score`), but
    `check_estimator` does not apply: items are images or texts, not rows of features.

    Parameters
    ----------
    encoder
        The folder or the name of a Hugging Face model; a `torch.nn.Module` that takes
        (items, channels, height, width) or a list of strings; or None for a small built-in one,
        which is always trained. Names are looked up in the local cache first, then on the hub. Only
        safetensors are read, and no code of a model is run.
    kind
        "image": an array (items, height, width[, channels]) or a list of such arrays. Images of
        other sizes are stretched to one: the encoder's own, or the most common one in `fit` (at
        most 64 pixels a side for the built-in encoder). uint8 means 0 to 255; other numbers are
        scaled by the range seen in `fit`. Grey images are repeated over the channels.
        "text": a list of strings, read up to 512 tokens. An empty string is an item without
        words: the encoder sees its special tokens alone, or the embedding is zero.
    fine_tune
        Train the encoder as well.
    hidden
        Units between the two layers of the head.
    epochs, batch_size, warm_up
        Passes over the items, items per step, and passes during which the learning rate grows;
        afterwards it falls along a cosine to zero.
    learning_rate, encoder_learning_rate
        The highest rate for the head (and the built-in encoder), and for an encoder that is
        fine-tuned.
    confidence
        Confidence level of the intervals, from 0.5 to below 1.
    test_size
        Share or number of items held out for the intervals.
    device
        "cpu", "cuda", or None for CUDA if available.
    random_state
        Seed of all random numbers.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message): epochs done, and the mean loss.

    Attributes
    ----------
    losses_
        Mean smooth L1 loss of each epoch, in standard deviations of the difficulty.
    residuals_
        Absolute errors on held-out items, sorted.
    n_items_
        Items in `fit`.
    notes_
        Remarks on the data.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> images = np.random.default_rng(0).random((40, 8, 8))
    >>> regressor = og.DeepDifficultyRegressor(epochs=2)  # doctest: +SKIP
    >>> regressor.fit(images, images.mean(axis=(1, 2))).predict(images).shape  # doctest: +SKIP
    (40,)
    """

    def __init__(
        self,
        encoder: Any = None,
        *,
        kind: str = "image",
        fine_tune: bool = False,
        hidden: int = 64,
        epochs: int = 50,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        encoder_learning_rate: float = 5e-5,
        warm_up: int = 5,
        confidence: float = 0.95,
        test_size: float = 0.2,
        device: str | None = None,
        random_state: int = 0,
        progress: Progress | bool = True,
    ) -> None:
        self.encoder = encoder
        self.kind = kind
        self.fine_tune = fine_tune
        self.hidden = hidden
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.encoder_learning_rate = encoder_learning_rate
        self.warm_up = warm_up
        self.confidence = confidence
        self.test_size = test_size
        self.device = device
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any) -> DeepDifficultyRegressor:
        """Learn from items `X` and their difficulties `y`, all finite.

        If texts and difficulties are both named (pandas Series), they are matched by name, and
        texts without a difficulty are left out.
        """
        self.check_settings()
        require_torch()
        X, y, remarks = known_rows(X, y)
        items = self._checked(X)
        difficulty = _checked_difficulty(y, len(items))
        learned, held_out = held_out_part(len(items), self.test_size, self.random_state)
        self.device_ = self.usable_device()
        self.center_ = float(difficulty[learned].mean())
        # Without any spread, the output of the network is multiplied by zero.
        self.spread_ = float(difficulty[learned].std()) if np.ptp(difficulty[learned]) else 0.0
        target = (difficulty[learned] - self.center_) / (self.spread_ or 1.0)
        with _seeded(self.random_state, self.device_):
            self._train(select_items(items, learned), target)
        errors = np.abs(self._predicted(select_items(items, held_out)) - difficulty[held_out])
        self.residuals_: Floats = np.sort(errors)
        self.n_items_ = len(items)
        self.notes_ = in_sentences((*remarks, *same_for_all(difficulty)))
        return self

    def predict(self, X: Any) -> Floats:
        """Return the difficulty of each item."""
        check_is_fitted(self, "residuals_")
        return self._predicted(self._checked(X))

    def predict_interval(self, X: Any, confidence: float | None = None) -> tuple[Floats, Floats]:
        """Return lower and upper end of each difficulty, at `confidence` or the model's own.

        If new items come from the same source as those in `fit`, an interval covers the difficulty
        of a new one with probability at least `confidence`. All intervals have the same width; it
        is infinite if too few items were held out for that confidence.
        """
        wanted = checked_confidence(self.confidence if confidence is None else confidence)
        return conformal_interval(self.predict(X)[:, None], [self.residuals_], wanted)

    def save(self, path: PathLike) -> Path:
        """Write a folder of JSON and safetensors, which `ogive.load` reads.

        A regressor that was saved there before is replaced.
        """
        check_is_fitted(self, "residuals_")
        return save_regressor(self, path)

    def check_settings(self) -> None:
        """Refuse invalid settings before anything is loaded."""
        one_of(self.kind, "kind", ("image", "text"))
        for name, least in {"hidden": 1, "epochs": 1, "batch_size": 1, "warm_up": 0}.items():
            whole_number(getattr(self, name), name, least)
        whole_number(self.random_state, "random_state", 0)
        checked_confidence(self.confidence)
        checked_test_size(self.test_size)
        for name in ("learning_rate", "encoder_learning_rate"):
            rate = getattr(self, name)
            if not is_number(rate) or not 0 < float(rate) < math.inf:
                raise InputError(f"`{name}` must be a finite number above 0, got {rate!r}.")

    def usable_device(self) -> str:
        """Return the requested device, or CUDA if available."""
        import torch

        if self.device is None:
            return "cuda" if torch.cuda.is_available() else "cpu"
        try:
            return checked_device(self.device)
        except InputError as error:
            raise InputError(
                f"device is {self.device!r}, which cannot be used here "
                f"({error.__cause__!s:.200}). "
                "Use 'cpu' or 'cuda', or leave it out to use CUDA if available."
            ) from error

    def new_head(self, width: int) -> Any:
        """Return an untrained head: standardise the embedding, then two layers."""
        from torch import nn

        head = nn.Sequential(
            nn.BatchNorm1d(width, affine=False),
            nn.Linear(width, self.hidden),
            nn.ReLU(),
            nn.Linear(self.hidden, 1),
        )
        return head.eval()  # the first part uses the statistics that `_train` sets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.three_d_array = self.kind == "image"
        tags.input_tags.string = self.kind == "text"
        return tags

    def _checked(self, X: Any) -> Images | Texts:
        return checked_images(X) if self.kind == "image" else checked_texts(X)

    def _train(self, items: Images | Texts, target: Floats) -> None:
        """Fit the head, and the encoder if it is built in or fine-tuned."""
        import torch
        from torch.nn.modules.batchnorm import _BatchNorm

        self.encoder_: Any = new_encoder(self.encoder, self.kind, items, self.device_)
        module = self.encoder_.module
        module.eval()
        embeddings = self._embedded(items)
        self.head_ = self.new_head(embeddings.shape[1]).to(self.device_)
        variance = embeddings.var(dim=0, unbiased=False)
        self.head_[0].running_mean.copy_(embeddings.mean(dim=0))
        # A coordinate that never moved would otherwise be blown up when it first does.
        still = torch.where(variance > 1e-10, variance, torch.ones_like(variance))
        self.head_[0].running_var.copy_(still)
        groups = [{"params": list(self.head_.parameters()), "lr": self.learning_rate}]
        built_in = self.encoder_.source == "built-in"
        if self.fine_tune or built_in:
            # Batch normalisation keeps its statistics: those of a few small batches would be
            # worse, and differ from those used for prediction.
            module.train()
            for part in module.modules():
                if isinstance(part, _BatchNorm):
                    part.eval()
            if parameters := list(module.parameters()):
                rate = self.learning_rate if built_in else self.encoder_learning_rate
                groups.append({"params": parameters, "lr": rate})

            def predicted(rows: NDArray[np.intp]) -> Any:
                return self.head_(self.encoder_.embed(select_items(items, rows)))[:, 0]

        else:

            def predicted(rows: NDArray[np.intp]) -> Any:
                return self.head_(embeddings[rows])[:, 0]

        wanted = torch.tensor(target, dtype=torch.float32, device=self.device_)
        with telling(self.progress, "Training") as report:
            self.losses_ = self._minimise(predicted, wanted, groups, report)
        module.eval()

    def _minimise(
        self,
        predicted: Callable[[NDArray[np.intp]], Any],
        target: Any,
        groups: list[dict[str, Any]],
        report: Progress,
    ) -> list[float]:
        """Fit the parameters of `groups` so that `predicted(rows)` meets `target[rows]`.

        Return the mean loss of each epoch. Batches are of nearly equal size, so that no single
        row left over has the weight of a whole batch.
        """
        import torch
        from torch.nn.functional import smooth_l1_loss

        optimiser = torch.optim.Adam(groups)
        highest = [group["lr"] for group in groups]
        random = np.random.default_rng(self.random_state)
        n_steps = math.ceil(len(target) / self.batch_size)
        losses: list[float] = []
        for epoch in range(self.epochs):
            total = 0.0
            batches = np.array_split(random.permutation(len(target)), n_steps)
            for step, rows in enumerate(batches):
                share = rate_share(epoch * n_steps + step, n_steps, self.epochs, self.warm_up)
                for group, rate in zip(optimiser.param_groups, highest, strict=True):
                    group["lr"] = rate * share
                loss = smooth_l1_loss(predicted(rows), target[rows])
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                total += float(loss.detach()) * len(rows)
            losses.append(total / len(target))
            if not math.isfinite(losses[-1]):
                raise InputError(
                    f"Training diverged: the loss is {losses[-1]} in epoch {epoch + 1}. "
                    "Lower learning_rate or encoder_learning_rate."
                )
            report(epoch + 1, self.epochs, f"loss {losses[-1]:.4g}")
        return losses

    def _embedded(self, items: Images | Texts) -> Any:
        """Return the embeddings of all items, a batch at a time."""
        import torch

        with torch.no_grad():
            batches = [
                self.encoder_.embed(items[begin : begin + self.batch_size])
                for begin in range(0, len(items), self.batch_size)
            ]
            return torch.cat(batches)

    def _predicted(self, items: Images | Texts) -> Floats:
        import torch

        with torch.no_grad():
            output = self.head_(self._embedded(items))[:, 0]
        values: Floats = output.cpu().numpy().astype(np.float64)
        return self.center_ + self.spread_ * values


def rate_share(step: int, n_steps: int, epochs: int, warm_up: int) -> float:
    """Return the share of the highest learning rate at `step`, with `n_steps` per epoch."""
    warm = min(warm_up, epochs - 1) * n_steps
    if step < warm:
        return (step + 1) / warm
    return 0.5 * (1 + math.cos(math.pi * (step - warm) / (epochs * n_steps - warm)))


@contextmanager
def _seeded(seed: int, device: str) -> Iterator[None]:
    """Seed torch temporarily, without affecting the caller's random numbers."""
    import torch

    devices = [torch.device(device)] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed)
        yield


def require_torch() -> None:
    """Raise an error that says how to install torch and safetensors, if they are missing."""
    for package in ("torch", "safetensors"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "deep")


def _checked_difficulty(y: Any, n_items: int) -> Floats:
    difficulty: Floats = float_array(y, "y")
    if difficulty.shape != (n_items,):
        raise InputError(
            f"y has shape {difficulty.shape}, but there are {n_items} items. "
            "Give one difficulty per item."
        )
    unknown = np.flatnonzero(~np.isfinite(difficulty))
    if len(unknown):
        raise InputError(
            f"{len(unknown)} of {n_items} difficulties are NaN or infinite, the first at item "
            f"{unknown[0] + 1}. Leave these items out."
        )
    if n_items < FEWEST_ITEMS:
        raise InputError(
            f"There are {n_items} items, but at least {FEWEST_ITEMS} are needed to learn from."
        )
    return difficulty


def load_deep_regressor(path: Path, encoder: Any, device: str | None) -> DeepDifficultyRegressor:
    """Restore the regressor that `DeepDifficultyRegressor.save` wrote."""
    require_torch()
    return load_regressor(DeepDifficultyRegressor, path, encoder, device)
