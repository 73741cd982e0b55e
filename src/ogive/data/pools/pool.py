"""Pools by name, or from classifiers that a user gives, and what they answered."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from ogive.data.datasets.dataset import Split
from ogive.data.pools.members import Member, Predictor, member_of
from ogive.data.pools.published_pools import (
    artificial_classifiers,
    deep_perceptrons,
    perceptrons,
    random_classifiers,
    real_classifiers,
    regressors,
    tuned_classifiers,
)
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted, repeated
from ogive.stats.metrics import error_scores

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["POOLS", "Member", "Pool", "Predictor", "find_pool"]


@dataclass(frozen=True)
class Pool:
    """Members that answer the same items.

    `calibrating` names the members whose answers calibrate the items, `evaluated` those whose
    abilities are estimated; by default, both are all members.
    """

    name: str
    members: tuple[Member, ...]
    calibrating: tuple[str, ...] = ()
    evaluated: tuple[str, ...] = ()

    def preparation(self, split: Split) -> str:
        """Say how members get the columns of a split; refused if they cannot be prepared."""
        if any(member.prepared for member in self.members):
            return split.preprocessing
        return "none: classifiers get the columns as they are"

    def __post_init__(self) -> None:
        names = tuple(member.name for member in self.members)
        if not names:
            raise InputError(f"The pool '{self.name}' is empty. Give at least one classifier.")
        if twice := sorted(repeated(names)):
            raise InputError(
                f"The pool '{self.name}' has several members called '{twice[0]}'. Give a mapping "
                "with a different name for each."
            )
        for role in ("calibrating", "evaluated"):
            given = tuple(getattr(self, role)) or names
            if unknown := [name for name in given if name not in names]:
                raise InputError(
                    f"{role} names '{unknown[0]}', which is not a member of the pool "
                    f"'{self.name}'. Name members of the pool."
                )
            object.__setattr__(self, role, given)


def find_pool(pool: Any) -> Pool:
    """Return a pool by name, or from a mapping of names to estimators, or a list of them."""
    known = ", ".join(POOLS)
    if isinstance(pool, Pool):
        return pool
    if isinstance(pool, str):
        if pool in POOLS:
            return POOLS[pool]()
        close = difflib.get_close_matches(pool, POOLS, 1)
        meant = f" Did you mean '{close[0]}'?" if close else ""
        raise InputError(f"There is no pool '{pool:.60}'; there are {known}.{meant}")
    if isinstance(pool, Mapping):
        return Pool("given", tuple(_member(estimator, str(n)) for n, estimator in pool.items()))
    if isinstance(pool, Iterable):
        return Pool("given", tuple(_member(entry) for entry in pool))
    raise InputError(
        f"pool is of type {type(pool).__name__}, but it should be a name ({known}), a list of "
        "classifiers, or a mapping of names to classifiers."
    )


def _member(entry: Any, name: str | None = None) -> Member:
    """Make a member from a member, a classifier, or a pair of a name and a classifier."""
    if isinstance(entry, Member):
        return entry
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
        name, entry = entry
    return member_of(" ".join(repr(entry).split()) if name is None else name, entry)


def _paper() -> Pool:
    """Return the published pool: perceptrons and real ones calibrate, all but these compete."""
    mlps, real, artificial = perceptrons(), real_classifiers(), artificial_classifiers()
    return Pool(
        "paper",
        (*mlps, *real, *artificial),
        calibrating=tuple(member.name for member in (*mlps, *real)),
        evaluated=tuple(member.name for member in (*real, *artificial)),
    )


POOLS: dict[str, Callable[[], Pool]] = {
    "mlp": lambda: Pool("mlp", perceptrons()),
    "mlp-deep": lambda: Pool("mlp-deep", deep_perceptrons()),
    "real": lambda: Pool("real", real_classifiers()),
    "artificial": lambda: Pool("artificial", artificial_classifiers()),
    "paper": _paper,
    "random-200": lambda: Pool("random-200", random_classifiers()),
    "tuned": lambda: Pool("tuned", tuned_classifiers()),
    "regressors": lambda: Pool("regressors", regressors()),
}


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
    cv_accuracy: NDArray[np.float64]  # (n_members,), NaN if there is none
    cv_accuracy_se: NDArray[np.float64]  # (n_members,)
    failures: dict[str, str] = field(default_factory=dict)
    remarks: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    scores: Mapping[str, NDArray[np.float16]] = field(default_factory=dict)  # (n_items, n_classes)
    unit: float | None = None  # of errors, if numbers are predicted

    def responses(self, y_true: ArrayLike, members: Iterable[str] | None = None) -> Responses:
        """Return 1 if a member predicts the true code, else 0; failed members are left out.

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
        """Return the share of right answers of each member, or its mean score; NaN if it failed."""
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
        """Return one row per member."""
        columns = {
            "cv_accuracy": self.cv_accuracy,
            "cv_accuracy_se": self.cv_accuracy_se,
            "failure": [self.failures.get(name, "") for name in self.members],
            "remarks": [self.remarks.get(name, "") for name in self.members],
        }
        return pd.DataFrame(columns, index=pd.Index(self.members, name="member"))

    def plot(self, **kw: Any) -> Display:
        """Plot the members by their accuracy in cross-validation."""
        from ogive.results.plots import DISPLAYS

        display: Any = DISPLAYS["ranking"]
        ranking: Display = display(self.to_frame(), estimate="cv_accuracy", se="cv_accuracy_se")
        return ranking.plot(**kw)

    def _rows(self, wanted: tuple[str, ...]) -> list[int]:
        places = {name: row for row, name in enumerate(self.members)}
        if unknown := [name for name in wanted if name not in places]:
            raise InputError(f"These answers have no member '{unknown[0]}'.")
        rows = [places[name] for name in wanted if name not in self.failures]
        if not rows:
            name = next(iter(self.failures), None)
            why = f" '{name}': {self.failures[name]}" if name else ""
            raise InputError(f"Every member failed, so there are no responses.{why}")
        return rows
