"""Difficulty of items as a target to learn: by 1PL, by 2PL, and by average error.

Large tables may be calibrated in batches of items. Each batch has the same respondents, whose
abilities are standard in each, so the scales agree up to chance; the rest is removed by matching
the means and standard deviations of abilities. A batch knows less about abilities than all items
together do, so small batches cost accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.arguments import as_number, whole_number
from ogive.calibration.shown_scale import NEGATIVE
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.learning.known_difficulty import AVERAGE_ERROR, MODELS, DifficultyTargets, said_method
from ogive.numerics.arrays import Floats
from ogive.pools.paper import misplaced
from ogive.responses import Responses, Table, as_responses
from ogive.responses.artificial_respondents import OPTIMAL, PESSIMAL
from ogive.responses.repeated_answers import tries_or_one
from ogive.tables.table_files import as_name
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DifficultyTargets", "difficulty_targets"]

LEAST_SPREAD = 0.5  # of abilities in a batch, relative to the median; less means too few items
METHODS = (*MODELS, AVERAGE_ERROR)
TREATMENTS = ("keep", "clip", "drop")
RANDOM = "random 1"
FEWEST_IN_A_BATCH = 10
TARGETS = (
    "difficulty_",
    AVERAGE_ERROR,
    "discrimination",
)  # prefixes of columns that reveal difficulty


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
    """Calibrate all items at once, or in linked `batches`."""
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
    """The batch of each item: at random, but with equally many easy and hard ones in each."""
    wrong, asked = _wrong_and_asked(table)
    share = (asked - wrong) / np.maximum(asked, 1)
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
        ability=calibration.abilities(items_known=True)["ability"].to_numpy(float),
        converged=calibration.converged,
    )


def _linked(parts: list[OnScale]) -> list[OnScale]:
    """Rescale batches so that abilities have the same mean and standard deviation in each."""
    means = np.array([part.ability.mean() for part in parts])
    deviations = np.array([part.ability.std() for part in parts])
    # A batch in which respondents hardly differ keeps its unit.
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
    """Estimate how hard each item is: by 1PL, by 2PL, and by the share of wrong responses.

    `responses` are right or wrong (NaN: never asked); `methods` chooses among the three. With
    `artificial`, models are calibrated with an additional always-right and always-wrong respondent,
    and, if `labels` gives the class of each item, with one that guesses classes by their share.
    They stretch the unit of the scale, so difficulties come closer to 0. The average error uses the
    given respondents only. `batches` calibrates items in this number of parts, linked by their
    respondents: faster from about ten thousand items, less accurate the fewer items a part has.
    `abnormal` says what to do with difficulties beyond ±`limit`: "keep", "clip" or "drop" (NaN).

    The frame has one row per item: each difficulty and its se, discrimination and its se, negative,
    flag. After Martínez-Plumed et al. (2022). `random_state` is the seed of batches and of the
    guessing respondent.

    >>> import ogive as og
    >>> drawn = og.simulate("1pl", 200, 8, random_state=0).responses
    >>> found = og.difficulty_targets(drawn, methods=["1pl", "average_error"]).to_frame()
    >>> found["difficulty_1pl"].idxmax() == found["average_error"].idxmax()
    True
    """
    chosen = _checked(methods, abnormal, limit, batches, random_state)
    if not isinstance(artificial, bool | np.bool_):
        raise InputError(f"artificial is {artificial!r:.40}, but it should be True or False.")
    table = as_responses(responses, "binary")
    if batches is not None and batches > 1 and table.n_items // batches < FEWEST_IN_A_BATCH:
        raise InputError(
            f"batches is {batches}, so some hold only {table.n_items // batches} of "
            f"{counted(table.n_items, 'item')}, but each needs at least {FEWEST_IN_A_BATCH}. Give "
            "fewer batches."
        )
    asked = with_artificial(table, labels, random_state) if artificial else table
    if labels is not None and not artificial:
        raise InputError("labels are only for the artificial respondents: give artificial=True.")
    fits = {
        name: on_one_scale(asked, name, batches, random_state) for name in chosen if name in MODELS
    }
    asked_some = table.observed.any(axis=0)  # nothing is known about the others
    found, counts = {}, {}
    for name in chosen:
        if name == AVERAGE_ERROR:
            found[name] = _average_error(table)
            continue
        beyond = np.abs(fits[name].difficulty) > limit
        counts[name] = int(beyond.sum())
        found[name] = np.where(asked_some, _treated(fits[name], beyond, abnormal, limit), np.nan)
    two = fits.get("2pl")
    return DifficultyTargets(
        items=table.items,
        methods=chosen,
        difficulties={name: value for name, (value, _) in found.items()},
        errors={name: error for name, (_, error) in found.items()},
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
    """The responses with an always-right, an always-wrong and a guessing respondent."""
    names = [OPTIMAL, PESSIMAL, *([] if labels is None else [RANDOM])]
    if taken := [name for name in names if name in table.respondents]:
        raise InputError(
            f"There is already a respondent {taken[0]!r}, and artificial=True would add another. "
            "Leave it out, or rename the respondent."
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
        raise InputError("labels has an empty entry. Give a class for each item.")
    return np.array([as_name(label) for label in given], dtype=object)


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


def _wrong_and_asked(table: Responses) -> tuple[Floats, Floats]:
    """How many answers to each item were wrong, and how many there are: all tries count."""
    tries = tries_or_one(table.tries, table.observed)
    right = np.where(tries > 0, table.cells, 0) * tries
    return (tries - right).sum(axis=0).astype(np.float64), tries.sum(axis=0).astype(np.float64)


def _average_error(table: Responses) -> Floats:
    """Share of wrong answers, and its posterior standard deviation (Jeffreys' prior)."""
    wrong, asked = _wrong_and_asked(table)
    share: Floats = np.divide(wrong, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    above, below = wrong + 0.5, asked - wrong + 0.5
    total = asked + 1.0
    error = np.sqrt(above * below / (total**2 * (total + 1.0)))
    return np.stack([share, np.where(asked > 0, error, np.nan)])


def _treated(fit: OnScale, beyond: NDArray[np.bool_], abnormal: str, limit: float) -> Floats:
    """Difficulties and standard errors, with abnormal ones kept, clipped or dropped."""
    if abnormal == "clip":
        return np.stack([np.clip(fit.difficulty, -limit, limit), fit.difficulty_se])
    both = np.stack([fit.difficulty, fit.difficulty_se])
    return np.where(beyond, np.nan, both) if abnormal == "drop" else both


def _flags(fits: Mapping[str, OnScale], n_items: int) -> tuple[str, ...]:
    """The flag of each item, by the 2PL if it was fitted."""
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
        f"The {name.upper()} did not converge." for name, fit in fits.items() if not fit.converged
    ]
    two = fits.get("2pl")
    if two is not None and (negative := sum(NEGATIVE in words for words in two.flag)):
        notes.append(
            f"{counted(negative, 'item')} with negative discrimination: better respondents get "
            "them wrong more often, so their difficulty is reversed."
        )
    if batches is not None and batches > 1 and fits:
        notes.append(f"Calibrated in {batches} batches, linked by the abilities of respondents.")
    if asked is not table:
        for name, fit in fits.items():
            if wrong := misplaced(asked.respondents, fit.ability):
                notes.append(
                    f"{listed(wrong, 'artificial respondent')} out of place in the {name.upper()}: "
                    "difficulty and ability may not fit together."
                )
    return notes
