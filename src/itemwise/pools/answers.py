"""What a pool answered: one prediction for each member and item."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from itemwise.errors import InputError
from itemwise.responses import Responses
from itemwise.results import Result
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

NO_ANSWER = -1


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Result):
    """What a pool answered, and how accurate each member is in cross-validation.

    `cv_accuracy_se` treats folds as independent; they share training rows, so it is somewhat too
    small. `remarks` lists the settings that a member chose, the folds that were left out and the
    warnings it gave; `failures` says why a member has no answers.
    """

    members: tuple[str, ...]
    items: tuple[str, ...]
    predictions: NDArray[np.int64]  # (n_members, n_items), -1 where there is no answer
    cv_accuracy: NDArray[np.float64]  # (n_members,), NaN where there is none
    cv_accuracy_se: NDArray[np.float64]  # (n_members,)
    failures: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_predictions(cls, predictions: pd.DataFrame, classes: Iterable[object]) -> Answers:
        """Build from labels that were predicted elsewhere: one row per item, one column per member.

        `classes` are the labels in the order of their codes. An empty cell means no answer.
        """
        if not hasattr(predictions, "columns") or 0 in predictions.shape:
            raise InputError(
                "predictions should be a DataFrame with one row per item, one column per member, "
                "and at least one of each."
            )
        codes = _codes_of(classes)
        members = _different(map(str, predictions.columns), "column")
        items = _different(map(str, predictions.index), "row")
        columns = (predictions.iloc[:, i] for i in range(len(members)))
        table = np.array(
            [_coded(column, codes, name) for name, column in zip(members, columns, strict=True)]
        )
        silent = (table == NO_ANSWER).all(axis=1)
        return cls(
            members=members,
            items=items,
            predictions=table,
            cv_accuracy=np.full(len(members), np.nan),
            cv_accuracy_se=np.full(len(members), np.nan),
            failures={members[i]: "it predicts nothing" for i in np.flatnonzero(silent)},
        )

    def responses(self, y_true: ArrayLike, members: Iterable[str] | None = None) -> Responses:
        """1 where a member predicts the true code, 0 elsewhere; failed members are left out.

        `members` selects some of them, such as those of a pool that calibrate.
        """
        truth = np.asarray(y_true)
        if truth.shape != (len(self.items),):
            raise InputError(
                f"y_true has shape {truth.shape}, but there are "
                f"{counted(len(self.items), 'item')}. Give one code for each."
            )
        rows = self._rows(self.members if members is None else tuple(members))
        given = self.predictions[rows]
        cells = np.where(given == NO_ANSWER, NO_ANSWER, given == truth).astype(np.int8)
        return Responses.from_codes(
            cells, [self.members[row] for row in rows], self.items, "binary"
        )

    def accuracy(self, y_true: ArrayLike) -> NDArray[np.float64]:
        """Share of items that each member answers correctly; NaN if it failed."""
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
        from itemwise.displays import DISPLAYS

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


def _codes_of(classes: Iterable[object]) -> dict[str, int]:
    names = [_text(label) for label in classes]
    if len(set(names)) < len(names) or not names:
        raise InputError("classes should be distinct labels, at least one.")
    return {name: code for code, name in enumerate(names)}


def _coded(column: pd.Series[Any], codes: dict[str, int], member: str) -> NDArray[np.int64]:
    given, there = column.tolist(), column.notna().tolist()
    texts = [
        _text(label) if is_there else None for label, is_there in zip(given, there, strict=True)
    ]
    if strangers := sorted({text for text in texts if text is not None and text not in codes}):
        raise InputError(
            f"'{member}' predicts '{strangers[0]:.60}', which is none of the classes "
            f"({', '.join(list(codes)[:5])}{', ...' if len(codes) > 5 else ''}). "
            "Correct the label, or add it to classes."
        )
    return np.array([NO_ANSWER if text is None else codes[text] for text in texts], dtype=np.int64)


def _text(label: object) -> str:
    """A label as text; 1.0, as in a column of whole numbers with gaps, becomes 1."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def _different(names: Iterable[str], what: str) -> tuple[str, ...]:
    given = tuple(names)
    if len(set(given)) < len(given):
        repeated = next(name for name in given if given.count(name) > 1)
        raise InputError(f"Two {what}s of predictions are called '{repeated}'. Rename one.")
    return given
