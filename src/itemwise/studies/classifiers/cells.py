"""The cells of a confusion matrix: which items lie in each, and what they are like."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.usable import informative
from itemwise.studies.classifiers.predictions import Predictions

if TYPE_CHECKING:
    from itemwise.numerics.arrays import Floats

PARAMETERS = ("discrimination", "difficulty", "guessing")
NAMES = {(1, 1): "TP", (0, 1): "FP", (1, 0): "FN", (0, 0): "TN"}  # by true and predicted


@dataclass(frozen=True, eq=False)
class Cells:
    """Items of a calibration, and where the predictions of models put them."""

    calibration: Calibration
    predictions: Predictions
    positive: int | None

    def of(self, model: int, ability: float) -> Iterator[dict[str, Any]]:
        """One row a cell of a model of this ability.

        Parameters, information and the share of negative discrimination are over items that tell
        of ability; the chance to be right is over all.
        """
        told, parameters, chance, information = self._items(ability)
        given = self.predictions
        earned = chance - 1.0 + given.right[model]
        for row, column in np.ndindex(len(given.classes), len(given.classes)):
            inside = (given.true == row) & (given.predicted[model] == column)
            usable = inside & told
            cell: dict[str, Any] = {
                "model": given.models[model],
                "true": given.classes[row],
                "predicted": given.classes[column],
                "name": self._name(row, column),
                "count": int(inside.sum()),
                "informative": int(usable.sum()),
            }
            for name, values in parameters.items():
                cell[name], cell[f"{name}_se"] = _mean_and_error(values[usable])
            negative = (parameters["discrimination"][usable] < 0).astype(float)
            yield cell | {
                "share_negative": _mean_and_error(negative)[0],
                "information": _mean_and_error(information[usable])[0],
                "chance": _mean_and_error(chance[inside])[0],
                "total_score": float(earned[inside].sum()),
                "total_score_mean": _mean_and_error(earned[inside])[0],
                "items": [given.items[k] for k in np.flatnonzero(inside)],
            }

    def _items(self, ability: float) -> tuple[Any, dict[str, Floats], Floats, Floats]:
        """Of each item: whether it tells, its parameters, chance and information there."""
        bank, coords, at = self.calibration.model, self.calibration.coords, np.array([ability])
        found, zero = bank.parameters(coords), np.zeros(len(coords))
        parameters = {name: np.asarray(found.get(name, zero)) for name in PARAMETERS}
        chance, information = bank.expected(coords, at), bank.information(coords, at)
        return informative(self.calibration), parameters, chance[:, 0], information[:, 0]

    def _name(self, row: int, column: int) -> str:
        if self.positive is None:
            return "right" if row == column else "wrong"
        return NAMES[int(row == self.positive), int(column == self.positive)]


def _mean_and_error(values: Floats) -> tuple[float, float]:
    """NaN where there are too few."""
    mean = float(values.mean()) if values.size else np.nan
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan
    return mean, error
