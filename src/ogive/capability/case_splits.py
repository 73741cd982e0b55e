"""Before a test: equally hard training and test cases, a fitted classifier, success curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import as_number, checked_share
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.class_tests import MIN_SLOPE, UNKNOWN, SuccessCurve, learn_curve
from ogive.capability.classifying import Classifier, index_of, is_fitted, rows_at
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.words import counted

Positions = NDArray[np.intp]
Cells = tuple[Positions, Positions | None]  # class and group of each case, if there are groups
ASIDE = 0.3  # share of the cases from which the success curve of a fitted classifier is learned


def split_by_difficulty(
    cdi: Any,
    *,
    labels: Any = None,
    test_size: float = 0.3,
    width: float = 0.25,
    random_state: Any = 0,
) -> tuple[Positions, Positions]:
    """Positions of training and test cases, both ascending, split in each bin of `cdi`.

    `cdi` is (n_cases,). Bins are `width` standard deviations wide, and one is centred at zero. In
    each bin the share `test_size` is for testing, rounded, with at least one case on either side; a
    case alone in its bin is for training. With `labels`, each class is binned separately.

    >>> from ogive.capability import split_by_difficulty
    >>> train, test = split_by_difficulty([0.0, 0.1, 2.0, -0.1, 0.05, 0.02])
    >>> len(train), len(test)
    (4, 2)
    """
    from sklearn.utils import check_random_state

    values = np.asarray(cdi, dtype=np.float64)
    share = checked_share(test_size, "test_size", 0.3)
    if not 0 < as_number(width) < np.inf:
        raise InputError(f"width is {width!r}, but it must be a number above 0, such as 0.25.")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(
            f"cdi has shape {values.shape} and {int((~np.isfinite(values)).sum())} values that "
            "are not finite. Give one finite index per case, such as one column of transform(X)."
        )
    draw = check_random_state(random_state)
    groups = _groups(np.floor(values / width + 0.5), labels)
    chosen: list[Positions] = []
    for group in range(groups.max(initial=-1) + 1):
        members = np.flatnonzero(groups == group)
        n_test = round(share * len(members)) if len(members) > 2 else len(members) // 2
        n_test = min(max(n_test, 1), len(members) - 1)
        chosen.append(draw.permutation(members)[:n_test])
    test = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *chosen]))
    return np.setdiff1d(np.arange(len(values)), test), test


def held_out_unseen(
    scale: CaseDifficulty, X: Any, y: Any, cells: Cells, size: float, seed: int
) -> tuple[CaseDifficulty, Positions, Positions]:
    """Hold cases out by class and group alone, and fit the scale without them.

    A promise needs cases that neither the model nor the scale have seen.
    """
    train, held = _by_cell(cells, size, seed)
    return scale.fit(rows_at(X, train), rows_at(y, train)), train, held


def held_out_alike(
    scale: CaseDifficulty, X: Any, y: Any, cells: Cells, size: float, seed: int
) -> tuple[CaseDifficulty, Positions, Positions]:
    """Hold out cases that are as hard as those kept, on a scale of all."""
    by_cell = _by_cell(cells, size, seed)
    fitted = scale.fit(X, y)
    parts = split_by_difficulty(
        fitted.difficulty(X, y), labels=cells[0], test_size=size, random_state=seed
    )
    train, held = parts if len(parts[1]) else by_cell  # each may be alone in its bin
    return fitted, train, held


def _by_cell(cells: Cells, size: float, seed: int) -> tuple[Positions, Positions]:
    codes, groups = cells
    labels = codes if groups is None else codes * (int(groups.max()) + 1) + groups
    parts = split_by_difficulty(
        np.zeros(len(codes)), labels=labels, test_size=size, random_state=seed
    )
    if not len(parts[1]):
        raise InputError(
            "Every class has only one case, so none can be held out to find a limit. "
            "Give more cases."
        )
    return parts


def _groups(bins: NDArray[np.float64], labels: Any) -> Positions:
    """A number for each combination of bin and class."""
    _, found = np.unique(bins, return_inverse=True)
    if labels is None:
        return found
    named = np.asarray(labels)
    if named.shape != bins.shape:
        raise InputError(
            f"labels has shape {named.shape}, but there are {len(bins):,} cases. "
            "Give one label per case."
        )
    names, codes = np.unique(named, return_inverse=True)
    return np.asarray(np.unique(found * len(names) + codes, return_inverse=True)[1])


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
        cdi = scale.place(X).cdi
        names = index_of(X)
        return cls(
            X, y, np.arange(len(cdi)) if names is None else names, scale.codes(y, len(cdi)), cdi
        )

    @property
    def difficulty(self) -> Floats:
        """Difficulty of each case as a member of its class."""
        found: Floats = -self.cdi[np.arange(len(self.codes)), self.codes]
        return found

    def at(self, places: NDArray[np.intp]) -> Cases:
        """Some of the cases."""
        X, y = rows_at(self.X, places), rows_at(self.y, places)
        return Cases(X, y, self.names[places], self.codes[places], self.cdi[places])


class Prepared(NamedTuple):
    """A fitted classifier, the cases to test it on, and its success curves."""

    classifier: Classifier
    test: Cases
    curves: tuple[SuccessCurve, ...]
    notes: list[str]


def prepare(
    model: Classifier, cases: Cases, *, curved: bool, test_size: float, cv: int, seed: int
) -> Prepared:
    """Split the cases, fit the classifier if needed, and learn its success curves if wanted."""
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
    notes = few_notes(curves, model.classes)
    if ready:
        notes.append(
            f"{counted(len(train), 'case')} were set aside to learn how success falls with "
            f"difficulty; tests and metrics use the other {len(test):,}."
        )
        return Prepared(model, cases.at(test), curves, notes)
    return Prepared(model.fitted(learning.X, learning.y), cases.at(test), curves, notes)


def success_curves(
    cases: Cases, found: NDArray[np.intp] | None, n_classes: int
) -> tuple[SuccessCurve, ...]:
    """The success curve of each class, from the predictions of its cases."""
    if found is None:
        return (UNKNOWN,) * n_classes
    members = [cases.codes == code for code in range(n_classes)]
    return tuple(
        learn_curve(cases.difficulty[own], found[own] == code) for code, own in enumerate(members)
    )


def curve_notes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[str]:
    """Notes on classes whose success curve is unknown or does not fall."""
    return [*few_notes(curves, classes), *flat_notes(flat_classes(curves, classes))]


def few_notes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[str]:
    """A note on classes with too few cases to learn a success curve."""
    pairs = zip(map(str, classes.tolist()), curves, strict=True)
    few = [name for name, curve in pairs if curve is UNKNOWN]
    said = (
        f"Too few cases to learn how success falls with difficulty in {', '.join(few)}: a slope of "
        "1 is assumed there."
    )
    return [said] if few else []


def flat_classes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[Any]:
    """Classes whose success curve does not fall."""
    pairs = zip(classes.tolist(), curves, strict=True)
    return [label for label, curve in pairs if curve.slope <= MIN_SLOPE]


def flat_notes(flat: Sequence[Any]) -> list[str]:
    """A note on classes whose success does not fall with difficulty."""
    names = ", ".join(map(str, flat))
    said = (
        f"Success does not fall with case difficulty in {names}: the limit means little there, "
        "since other things make cases hard for this classifier."
    )
    return [said] if flat else []
