"""What comes before a test: cases on their scale, a classifier that can predict, success curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.case_difficulty import CaseDifficulty
from itemwise.capability.classifying import Classifier, index_of, is_fitted, rows_at
from itemwise.capability.curve import LEAST_SLOPE, UNKNOWN, SuccessCurve, learn_curve
from itemwise.capability.splitting import split_by_difficulty
from itemwise.numerics.arrays import Floats
from itemwise.words import counted

ASIDE = 0.3  # of the cases of a classifier that is fitted already: they show its success curve


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases with their classes, on the scale of case difficulty."""

    X: Any
    y: Any
    names: Any  # (n_cases,), as all: the index of X, or positions
    codes: NDArray[np.intp]  # of the classes
    cdi: Floats  # (n_cases, n_classes)

    @classmethod
    def of(cls, scale: CaseDifficulty, X: Any, y: Any) -> Cases:
        """All that were given."""
        cdi = scale.transform(X)
        names = index_of(X)
        return cls(
            X, y, np.arange(len(cdi)) if names is None else names, scale.codes(y, len(cdi)), cdi
        )

    @property
    def difficulty(self) -> Floats:
        """Of each case as a member of its class."""
        found: Floats = -self.cdi[np.arange(len(self.codes)), self.codes]
        return found

    def at(self, places: NDArray[np.intp]) -> Cases:
        """Some of the cases."""
        X, y = rows_at(self.X, places), rows_at(self.y, places)
        return Cases(X, y, self.names[places], self.codes[places], self.cdi[places])


class Prepared(NamedTuple):
    """A classifier that can predict, the cases to test it on, and what is known beforehand."""

    classifier: Classifier
    test: Cases
    curves: tuple[SuccessCurve, ...]
    notes: list[str]


def prepare(
    model: Classifier, cases: Cases, *, curved: bool, test_size: float, cv: int, seed: int
) -> Prepared:
    """Part the cases, fit where that is needed, and learn the success curves where wanted."""
    unknown = (UNKNOWN,) * len(model.classes)
    ready = is_fitted(model.model)
    if ready and not curved:
        return Prepared(model, cases, unknown, [])
    train, test = split_by_difficulty(
        cases.difficulty,
        labels=cases.codes,
        test_size=1 - ASIDE if ready else test_size,
        random_state=seed,
    )
    learning = cases.at(train)
    if not curved:
        return Prepared(model.fitted(learning.X, learning.y), cases.at(test), unknown, [])
    found = (
        model.predict(learning.X)
        if ready
        else model.out_of_fold(learning.X, learning.y, learning.codes, cv, seed)
    )
    curves = success_curves(learning, found, len(model.classes))
    notes = curve_notes(curves, model.classes)
    if ready:
        notes.append(
            f"{counted(len(train), 'case')} were set aside to learn how success falls with "
            f"difficulty; the tests and metrics are on the other {len(test):,}."
        )
        return Prepared(model, cases.at(test), curves, notes)
    return Prepared(model.fitted(learning.X, learning.y), cases.at(test), curves, notes)


def success_curves(
    cases: Cases, found: NDArray[np.intp] | None, n_classes: int
) -> tuple[SuccessCurve, ...]:
    """The success curve of each class, from what was predicted of its cases."""
    if found is None:
        return (UNKNOWN,) * n_classes
    members = [cases.codes == code for code in range(n_classes)]
    return tuple(
        learn_curve(cases.difficulty[own], found[own] == code) for code, own in enumerate(members)
    )


def curve_notes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[str]:
    """Where too little is known of how success falls with difficulty, or it does not fall."""
    pairs = list(zip(map(str, classes.tolist()), curves, strict=True))
    few = [name for name, curve in pairs if curve is UNKNOWN]
    flat = [name for name, curve in pairs if curve.slope <= LEAST_SLOPE]
    notes = []
    if few:
        notes.append(
            f"Too few cases to learn how success falls with difficulty in {', '.join(few)}: a "
            "slope of 1 is taken for granted there."
        )
    if flat:
        notes.append(
            f"Success does not fall with case difficulty in {', '.join(flat)}: the limit says "
            "little there, since other things make cases hard for this classifier."
        )
    return notes
