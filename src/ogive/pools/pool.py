"""Pools by name, or from classifiers that a user gives."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ogive.datasets import Split
from ogive.errors import InputError
from ogive.pools.algorithm_pools import random_classifiers, tuned_classifiers
from ogive.pools.members import Member, Predictor, member_of
from ogive.pools.paper import (
    artificial_classifiers,
    deep_perceptrons,
    perceptrons,
    real_classifiers,
)
from ogive.pools.regressor_pool import regressors
from ogive.words import repeated

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
        """How members get the columns of a split; refused if there is no way to prepare them."""
        if any(member.prepared for member in self.members):
            return split.preprocessing
        return "none: classifiers get the columns as they are"

    def __post_init__(self) -> None:
        names = tuple(member.name for member in self.members)
        _check_names(self.name, names)
        for role in ("calibrating", "evaluated"):
            given = tuple(getattr(self, role)) or names
            if strangers := [name for name in given if name not in names]:
                raise InputError(
                    f"{role} names '{strangers[0]}', which is not a member of the pool "
                    f"'{self.name}'. Name members of the pool."
                )
            object.__setattr__(self, role, given)


def find_pool(pool: Any) -> Pool:
    """Return a pool by name, or from a mapping of names to estimators, or a list of them."""
    if isinstance(pool, Pool):
        return pool
    if isinstance(pool, str):
        return _by_name(pool)
    if isinstance(pool, Mapping):
        return Pool("given", tuple(_member(estimator, str(n)) for n, estimator in pool.items()))
    if isinstance(pool, Iterable):
        return Pool("given", tuple(_member(entry) for entry in pool))
    raise InputError(
        f"pool is of type {type(pool).__name__}, but it should be a name ({_names()}), a list of "
        "classifiers, or a mapping of names to classifiers."
    )


def _by_name(name: str) -> Pool:
    if name in POOLS:
        return POOLS[name]()
    close = difflib.get_close_matches(name, POOLS, 1)
    meant = f" Did you mean '{close[0]}'?" if close else ""
    raise InputError(f"There is no pool '{name:.60}'; there are {_names()}.{meant}")


def _names() -> str:
    return ", ".join(POOLS)


def _member(entry: Any, name: str | None = None) -> Member:
    """Make a member from a member, a classifier, or a pair of a name and a classifier."""
    if isinstance(entry, Member):
        return entry
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], str):
        name, entry = entry
    return member_of(" ".join(repr(entry).split()) if name is None else name, entry)


def _check_names(pool: str, names: tuple[str, ...]) -> None:
    if not names:
        raise InputError(f"The pool '{pool}' is empty. Give at least one classifier.")
    if twice := sorted(repeated(names)):
        raise InputError(
            f"The pool '{pool}' has several members called '{twice[0]}'. Give a mapping with a "
            "different name for each."
        )


def _paper() -> Pool:
    """As published: perceptrons and real ones calibrate, real and artificial ones compete."""
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
