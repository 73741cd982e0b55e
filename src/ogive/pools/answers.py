"""What a pool answered: one prediction for each member and item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ogive.errors import InputError
from ogive.numerics.error_scores import error_scores
from ogive.responses import Responses
from ogive.results import Result
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

NO_ANSWER = -1


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Result):
    """What a pool answered, and how accurate each member is in cross-validation.

    `cv_accuracy_se` treats folds as independent; they share training rows, so it is somewhat too
    small. `remarks` lists the settings that a member chose, the folds that were left out and the
    warnings it gave; `failures` says why a member has no answers. `scores` holds the probabilities
    of the classes, for members that give them; NaN for items that were never asked. Of regressors,
    errors become scores between 0 and 1, 1 / (1 + error / `unit`), and `cv_accuracy` is their mean.
    """

    members: tuple[str, ...]
    items: tuple[str, ...]
    predictions: NDArray[Any]  # (n_members, n_items), codes with -1, or numbers with NaN: no answer
    cv_accuracy: NDArray[np.float64]  # (n_members,), NaN where there is none
    cv_accuracy_se: NDArray[np.float64]  # (n_members,)
    failures: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scores: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)  # (n_items, n_classes)
    unit: float | None = None  # of errors, if numbers are predicted

    def responses(self, y_true: ArrayLike, members: Iterable[str] | None = None) -> Responses:
        """1 where a member predicts the true code, 0 elsewhere; failed members are left out.

        Of regressors, the score of each error; `y_true` are then numbers. `members` selects some
        of them, such as those of a pool that calibrate.
        """
        truth = np.asarray(y_true)
        if truth.shape != (len(self.items),):
            raise InputError(
                f"y_true has shape {truth.shape}, but there are "
                f"{counted(len(self.items), 'item')}. Give one code for each."
            )
        rows = self._rows(self.members if members is None else tuple(members))
        given = self.predictions[rows]
        names = [self.members[row] for row in rows]
        if self.unit is not None:
            scores = error_scores(given - truth, self.unit)
            return Responses(scores, names, self.items, "continuous")
        cells = np.where(given == NO_ANSWER, NO_ANSWER, given == truth).astype(np.int8)
        return Responses.from_codes(cells, names, self.items, "binary")

    def accuracy(self, y_true: ArrayLike) -> NDArray[np.float64]:
        """Share of right answers of each member, or its mean score; NaN if it failed."""
        if self.unit is not None:
            scores = error_scores(self.predictions - np.asarray(y_true), self.unit)
            some = np.isfinite(scores).any(axis=1)
            found: NDArray[np.float64] = np.full(len(scores), np.nan)
            found[some] = np.nanmean(scores[some], axis=1)
            return found
        right = np.array(self.predictions == np.asarray(y_true), dtype=np.float64)
        right[self.predictions == NO_ANSWER] = np.nan
        asked = np.maximum((self.predictions != NO_ANSWER).sum(axis=1), 1)
        failed = [name in self.failures for name in self.members]
        return np.where(failed, np.nan, np.nansum(right, axis=1) / asked)

    def to_frame(self) -> pd.DataFrame:
        """One row per member."""
        import pandas as pd

        columns = {
            "cv_accuracy": self.cv_accuracy,
            "cv_accuracy_se": self.cv_accuracy_se,
            "failure": [self.failures.get(name, "") for name in self.members],
            "remarks": [self.remarks.get(name, "") for name in self.members],
        }
        return pd.DataFrame(columns, index=pd.Index(self.members, name="member"))

    def plot(self, **kw: Any) -> Display:
        """Plot the members by their accuracy in cross-validation."""
        from ogive.displays import DISPLAYS

        display: Any = DISPLAYS["ranking"]
        ranking: Display = display(self.to_frame(), estimate="cv_accuracy", se="cv_accuracy_se")
        return ranking.plot(**kw)

    def _rows(self, wanted: tuple[str, ...]) -> list[int]:
        places = {name: row for row, name in enumerate(self.members)}
        if strangers := [name for name in wanted if name not in places]:
            raise InputError(f"These answers have no member '{strangers[0]}'.")
        rows = [places[name] for name in wanted if name not in self.failures]
        if not rows:
            name = next(iter(self.failures), None)
            why = f" '{name}': {self.failures[name]}" if name else ""
            raise InputError(f"Every member failed, so there are no responses.{why}")
        return rows
