"""Difficulty of items as a target to learn: by 1PL, by 2PL, and by average error.

Large tables may be calibrated in batches of items. Each batch has the same respondents, whose
abilities are standard in each, so the scales agree up to chance; what is left is removed by the
means and standard deviations of abilities. A batch knows less about abilities than all items
together do, so small batches cost accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.arguments import as_number, whole_number
from itemwise.datasets.dataset import label_text
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.learning.targets import AVERAGE_ERROR, MODELS, DifficultyTargets, said_method
from itemwise.numerics.arrays import Floats
from itemwise.pools.paper import OPTIMAL, PESSIMAL, misplaced
from itemwise.responses import Responses, Table, as_responses
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

LEAST_SPREAD = 0.5  # of abilities in a part, by the usual spread; less is that of too few items
METHODS = (*MODELS, AVERAGE_ERROR)
TREATMENTS = ("keep", "clip", "drop")
RANDOM = "random 1"
FEWEST_IN_A_BATCH = 10
TARGETS = ("difficulty_", AVERAGE_ERROR, "discrimination")  # how columns that tell of it begin


@dataclass(frozen=True, eq=False)
class OnScale:
    """Items and respondents of one model on one scale."""

    difficulty: Floats  # (n_items,)
    difficulty_se: Floats
    discrimination: Floats
    discrimination_se: Floats
    flag: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    converged: bool


def on_one_scale(table: Responses, model: str, batches: int | None, random_state: int) -> OnScale:
    """Calibrate all items at once, or in `batches` that are linked."""
    if batches is None or batches == 1:
        return _calibrated(table, model)
    dealt = deal(table, batches, random_state)
    parts = [
        _calibrated(table.select(items=np.flatnonzero(dealt == k)), model) for k in range(batches)
    ]
    moved = _linked(parts)
    order = np.argsort(dealt, kind="stable").argsort(kind="stable")
    columns = {
        name: np.concatenate([getattr(part, name) for part in moved])[order]
        for name in ("difficulty", "difficulty_se", "discrimination", "discrimination_se")
    }
    flags = [flag for part in moved for flag in part.flag]
    return OnScale(
        **columns,
        flag=tuple(flags[k] for k in order),
        ability=np.mean([part.ability for part in moved], axis=0),
        converged=all(part.converged for part in moved),
    )


def deal(table: Responses, batches: int, random_state: int) -> NDArray[np.intp]:
    """The batch of each item: drawn, but with as many easy and hard ones in each."""
    asked = np.maximum((table.cells >= 0).sum(axis=0), 1)
    share = (table.cells > 0).sum(axis=0) / asked
    random = np.random.default_rng(random_state)
    order = np.lexsort([random.uniform(size=share.size), share])
    hands = [random.permutation(batches) for _ in range(-(-share.size // batches))]
    found = np.empty(share.size, dtype=np.intp)
    found[order] = np.concatenate(hands)[: share.size]
    return found


def _calibrated(table: Responses, model: str) -> OnScale:
    calibration = calibrate(table, model)
    items = calibration.items
    return OnScale(
        **{
            name: items[name].to_numpy(float)
            for name in ("difficulty", "difficulty_se", "discrimination", "discrimination_se")
        },
        flag=tuple(items["flag"]),
        ability=calibration.abilities()["ability"].to_numpy(float),
        converged=calibration.converged,
    )


def _linked(parts: list[OnScale]) -> list[OnScale]:
    """Parts moved so that abilities have the same mean and deviation in each, the usual one."""
    means = np.array([part.ability.mean() for part in parts])
    deviations = np.array([part.ability.std() for part in parts])
    # Where respondents hardly differ in a part, it has no unit to compare.
    usual = float(np.median(deviations))
    told = deviations > LEAST_SPREAD * usual
    units = np.divide(usual, deviations, out=np.ones_like(deviations), where=told)
    shifts = means.mean() - units * means
    return [
        OnScale(
            difficulty=unit * part.difficulty + shift,
            difficulty_se=unit * part.difficulty_se,
            discrimination=part.discrimination / unit,
            discrimination_se=part.discrimination_se / unit,
            flag=part.flag,
            ability=unit * part.ability + shift,
            converged=part.converged,
        )
        for part, unit, shift in zip(parts, units, shifts, strict=True)
    ]


def difficulty_targets(
    responses: Table,
    *,
    methods: Iterable[str] = METHODS,
    artificial: bool = False,
    labels: Mapping[str, object] | Sequence[object] | None = None,
    batches: int | None = None,
    abnormal: str = "keep",
    limit: float = 6.0,
    random_state: int = 0,
) -> DifficultyTargets:
    """How hard each item is: by 1PL, by 2PL, and by the share of respondents that err.

    `responses` are right or wrong (NaN: never asked). With `artificial`, models are calibrated with
    an always-right and an always-wrong respondent besides, and where `labels` gives the class of
    each item, with one that draws classes by their share: it is right on an item with the
    probability of its class. They stretch the unit of the scale, so that difficulties come nearer
    to 0. The average error is that of the given respondents alone. `batches` calibrates items in so
    many parts, linked by their respondents: quicker from some ten thousand items on, less accurate
    the fewer items a part holds. Of items whose difficulty lies beyond ±`limit`, `abnormal` says
    whether to "keep" or to "clip" the value, or to "drop" it (NaN).

    `methods` says which. The frame has one row per item: each difficulty and its se, discrimination
    and its se, negative, flag. After Martínez-Plumed et al. (2022). `random_state` is the seed of
    parts and of what is drawn.

    >>> import itemwise as iw
    >>> drawn = iw.simulate("1pl", 200, 8, random_state=0).responses
    >>> found = iw.difficulty_targets(drawn, methods=["1pl", "average_error"]).to_frame()
    >>> found["difficulty_1pl"].idxmax() == found["average_error"].idxmax()
    True
    """
    chosen = _checked(methods, abnormal, limit, batches, random_state)
    if not isinstance(artificial, bool | np.bool_):
        raise InputError(f"artificial is {artificial!r:.40}, but it should be True or False.")
    table = as_responses(responses, "binary")
    if batches is not None and batches > 1 and table.n_items // batches < FEWEST_IN_A_BATCH:
        raise InputError(
            f"batches is {batches}, so that some hold {table.n_items // batches} of "
            f"{counted(table.n_items, 'item')}, but a scale of their own needs "
            f"{FEWEST_IN_A_BATCH}. Give fewer batches."
        )
    asked = with_artificial(table, labels, random_state) if artificial else table
    if labels is not None and not artificial:
        raise InputError("labels are for the random respondent only: give artificial=True too.")
    fits = {
        name: on_one_scale(asked, name, batches, random_state) for name in chosen if name in MODELS
    }
    average, average_se = _average_error(table)
    difficulties, errors, counts = {}, {}, {}
    for name in chosen:
        if name == AVERAGE_ERROR:
            difficulties[name], errors[name] = average, average_se
            continue
        beyond = np.abs(fits[name].difficulty) > limit
        counts[name] = int(beyond.sum())
        value, error = _treated(fits[name], beyond, abnormal, limit)
        asked_some = table.observed.any(axis=0)  # of others nothing is known
        difficulties[name] = np.where(asked_some, value, np.nan)
        errors[name] = np.where(asked_some, error, np.nan)
    two = fits.get("2pl")
    return DifficultyTargets(
        items=table.items,
        methods=chosen,
        difficulties=difficulties,
        errors=errors,
        discrimination=None if two is None else two.discrimination,
        discrimination_se=None if two is None else two.discrimination_se,
        flags=_flags(fits, table.n_items),
        abnormal=counts,
        limit=float(limit),
        treatment=abnormal,
        abilities=_abilities(fits, asked.respondents),
        notes=tuple(_notes(table, asked, fits, counts, limit, abnormal, batches)),
    )


def with_artificial(
    table: Responses,
    labels: Mapping[str, object] | Sequence[object] | None,
    random_state: int,
) -> Responses:
    """The responses with an always-right and an always-wrong respondent, and a random one."""
    names = [OPTIMAL, PESSIMAL, *([] if labels is None else [RANDOM])]
    if taken := [name for name in names if name in table.respondents]:
        raise InputError(
            f"There is a respondent {taken[0]!r} already, and artificial=True would add another. "
            "Leave artificial=True out, or rename that one."
        )
    rows = [np.ones(table.n_items), np.zeros(table.n_items)]
    if labels is not None:
        classes = _labels(labels, table.items)
        _, codes, counts = np.unique(classes, return_inverse=True, return_counts=True)
        chance = (counts / counts.sum())[codes]
        rows.append(np.random.default_rng(random_state).uniform(size=table.n_items) < chance)
    cells = np.concatenate([table.cells, np.asarray(rows, dtype=table.cells.dtype)])
    return Responses.from_codes(cells, [*table.respondents, *names], table.items, "binary")


def _labels(labels: Any, items: tuple[str, ...]) -> NDArray[Any]:
    """The class of each item as text, by name or in the order of the items."""
    if hasattr(labels, "items") and callable(labels.items):
        known = {str(name): label for name, label in labels.items()}
        if missing := [name for name in items if name not in known]:
            raise InputError(f"labels has no class for {listed(missing, 'item')}. Give one each.")
        given = [known[name] for name in items]
    else:
        given = list(labels)
        if len(given) != len(items):
            raise InputError(
                f"There are {counted(len(given), 'label')} and {counted(len(items), 'item')}. "
                "Give one class per item."
            )
    if any(label is None or label != label for label in given):
        raise InputError("labels has an empty entry. Give each item its class.")
    return np.array([label_text(label) for label in given], dtype=object)


def _checked(
    methods: Iterable[str], abnormal: str, limit: float, batches: int | None, random_state: int
) -> tuple[str, ...]:
    chosen = (methods,) if isinstance(methods, str) else tuple(methods)
    if not chosen or len(set(chosen)) < len(chosen) or not set(chosen) <= set(METHODS):
        raise InputError(
            f"methods is {methods!r}, but it should name one or more of: {', '.join(METHODS)}."
        )
    if abnormal not in TREATMENTS:
        raise InputError(f"abnormal is {abnormal!r}, but it should be 'keep', 'clip' or 'drop'.")
    if not as_number(limit) > 0:
        raise InputError(f"limit is {limit!r}, but it should be a number above 0, such as 6.")
    if batches is not None:
        whole_number(batches, "batches", 1)
    whole_number(random_state, "random_state", 0)
    return chosen


def _average_error(table: Responses) -> tuple[Floats, Floats]:
    """Share of wrong responses, and its deviation a posteriori under Jeffreys' prior."""
    asked = (table.cells >= 0).sum(axis=0).astype(np.float64)
    wrong = (table.cells == 0).sum(axis=0).astype(np.float64)
    share: Floats = np.divide(wrong, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    above, below = wrong + 0.5, asked - wrong + 0.5
    total = asked + 1.0
    error = np.sqrt(above * below / (total**2 * (total + 1.0)))
    return share, np.where(asked > 0, error, np.nan)


def _treated(
    fit: OnScale, beyond: NDArray[np.bool_], abnormal: str, limit: float
) -> tuple[Floats, Floats]:
    """Difficulties and standard errors after what is to be done to abnormal ones."""
    if abnormal == "clip":
        return np.clip(fit.difficulty, -limit, limit), fit.difficulty_se
    if abnormal == "drop":
        return (
            np.where(beyond, np.nan, fit.difficulty),
            np.where(beyond, np.nan, fit.difficulty_se),
        )
    return fit.difficulty, fit.difficulty_se


def _flags(fits: Mapping[str, OnScale], n_items: int) -> tuple[str, ...]:
    """What is to be known of each item; the 2PL says more."""
    best = fits.get("2pl") or fits.get("1pl")
    return best.flag if best is not None else ("",) * n_items


def _abilities(fits: Mapping[str, OnScale], respondents: tuple[str, ...]) -> pd.DataFrame:
    import pandas as pd

    index = pd.Index(respondents, name="respondent")
    return pd.DataFrame({f"ability_{name}": fit.ability for name, fit in fits.items()}, index=index)


def _notes(
    table: Responses,
    asked: Responses,
    fits: Mapping[str, OnScale],
    counts: Mapping[str, int],
    limit: float,
    abnormal: str,
    batches: int | None,
) -> list[str]:
    done = {"keep": "kept", "clip": f"clipped to ±{limit:g}", "drop": "dropped"}[abnormal]
    notes = [
        f"{counted(count, 'item')} ({count / table.n_items:.1%}) with a {said_method(name)} beyond "
        f"±{limit:g}: {done}."
        for name, count in counts.items()
        if count
    ]
    notes += [
        f"The {name.upper()} had not converged when it stopped."
        for name, fit in fits.items()
        if not fit.converged
    ]
    if (two := fits.get("2pl")) is not None and (negative := int((two.discrimination < 0).sum())):
        notes.append(
            f"{counted(negative, 'item')} with negative discrimination: better respondents miss "
            "them more often, so that their difficulty runs the other way."
        )
    if batches is not None and batches > 1 and fits:
        notes.append(f"Calibrated in {batches} batches, linked by the abilities of respondents.")
    if asked is not table:
        for name, fit in fits.items():
            if wrong := misplaced(asked.respondents, fit.ability):
                notes.append(
                    f"{listed(wrong, 'artificial respondent')} out of place by {name.upper()}: "
                    "difficulty and ability may not fit together."
                )
    return notes
