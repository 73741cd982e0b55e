"""Difficulty of items as a target to learn: by 1PL, by 2PL, and by average error.

Large tables may be calibrated in batches of items. Each batch has the same respondents, whose
abilities are standard in each, so the scales agree up to chance; the rest is removed by matching
the means and standard deviations of abilities. A batch knows less about abilities than all items
together do, so small batches cost accuracy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import spearmanr

from ogive._validation import as_number, one_of, whole_number
from ogive.data.foreign_frames import with_row_names
from ogive.data.pools.published_pools import misplaced
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import OPTIMAL, PESSIMAL
from ogive.data.table_files import as_name
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.item_curves import NEGATIVE
from ogive.irt.repeated_responses import tries_or_one
from ogive.results.base import Result
from ogive.results.numbers import counted, listed
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import is_constant

__all__ = ["DifficultyTargets", "difficulty_targets"]

MODELS = ("1pl", "2pl")
AVERAGE_ERROR = "average_error"
METHODS = (*MODELS, AVERAGE_ERROR)
TREATMENTS = ("keep", "clip", "drop")  # of abnormal difficulties
TARGETS = ("difficulty_", AVERAGE_ERROR, "discrimination")  # prefixes of columns of targets
PREDICTED = "so that difficulty is predicted, without a measure of error"  # of equally hard items
ESTIMATES = ("difficulty", "difficulty_se", "discrimination", "discrimination_se")
LEAST_SPREAD = 0.5  # of abilities in a batch, relative to the median; less means too few items
RANDOM = "random 1"  # name of the guessing respondent
FEWEST_IN_A_BATCH = 10  # items


@dataclass(frozen=True, eq=False, repr=False)
class DifficultyTargets(Result):
    """How hard each item is, by several methods, as targets for a regressor.

    `abnormal` counts, for each model, items whose difficulty is farther than `limit` from 0, in
    standard deviations of ability; they were kept, clipped or dropped (NaN), as `treatment` says.
    The standard error of the average error is never 0, even if all respondents err alike.
    """

    items: tuple[str, ...]
    methods: tuple[str, ...]
    difficulties: Mapping[str, Floats]  # by method, (n_items,) each
    errors: Mapping[str, Floats]  # their standard errors
    discrimination: Floats | None  # by 2PL, if that was requested
    discrimination_se: Floats | None
    flags: tuple[str, ...]  # of the calibrations, for each item
    abnormal: Mapping[str, int]
    limit: float
    treatment: str
    abilities: pd.DataFrame  # one row per respondent, artificial ones too; one column per model
    notes: tuple[str, ...] = ()

    @property
    def negative(self) -> NDArray[np.bool_]:
        """Items of negative discrimination by 2PL; none if that is unknown."""
        if self.discrimination is None:
            return np.zeros(len(self.items), dtype=bool)
        return self.discrimination < 0

    def difficulty(
        self, method: str | None = None, *, keep_negative: bool = True, keep_dropped: bool = False
    ) -> pd.Series:
        """Return the difficulty of each item by one method, the first unless named.

        With `keep_negative=False`, items of negative discrimination are left out; with
        `keep_dropped=True`, items without a difficulty are included, as NaN.
        """
        chosen = self.methods[0] if method is None else one_of(method, "method", self.methods)
        index = pd.Index(self.items, name="item")
        series = pd.Series(self.difficulties[chosen], index=index, name="difficulty")
        return series[(keep_dropped | series.notna()) & (keep_negative | ~self.negative)]

    @property
    def meaning(self) -> str:
        """The range of difficulties, and whether the methods agree on the order of items."""
        first = self.methods[0]
        value = self.difficulties[first]
        if not np.isfinite(value).any():
            return f"None of {counted(len(self.items), 'item')} has a {_spelled_out(first)}."
        low, high = np.quantile(value[np.isfinite(value)], [0.05, 0.95])
        text = (
            f"{counted(len(self.items), 'item')}: nine of ten have a {_spelled_out(first)} between "
            f"{low:.2f} and {high:.2f}"
        )
        agreement = {}  # rank correlation of each pair of methods, if both vary
        for pair in combinations(self.methods, 2):
            one, other = (self.difficulties[name] for name in pair)
            known = np.isfinite(one) & np.isfinite(other)
            one, other = one[known], other[known]
            if known.sum() > 2 and not is_constant(one) and not is_constant(other):
                agreement[pair] = float(spearmanr(one, other).statistic)
        if not agreement:
            return f"{text}."
        pair, least = min(agreement.items(), key=lambda entry: entry[1])
        return (
            f"{text}; the methods agree on the order of items with a rank correlation of at least "
            f"{least:.2f} ({_spelled_out(pair[0])} and {_spelled_out(pair[1])})."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item: each method with its standard error, and discrimination."""
        columns: dict[str, Any] = {}
        for method in self.methods:
            name = method if method == AVERAGE_ERROR else f"difficulty_{method}"
            columns |= {name: self.difficulties[method], f"{name}_se": self.errors[method]}
        if self.discrimination is not None:
            columns |= {
                "discrimination": self.discrimination,
                "discrimination_se": self.discrimination_se,
                "negative": self.negative,
            }
        columns["flag"] = self.flags
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Draw the distribution of difficulties by model, or of the average error if alone."""
        from ogive.results.plots.distributions import HistogramDisplay

        models = [method for method in self.methods if method in MODELS] or [AVERAGE_ERROR]
        value = "difficulty" if models[0] in MODELS else AVERAGE_ERROR
        parts = [pd.DataFrame({"method": m, value: self.difficulties[m]}) for m in models]
        frame = pd.concat(parts, ignore_index=True)
        return HistogramDisplay(frame, value=value, group="method").plot(**kw)


def difficulty_of(given: Any) -> Any:
    """Return targets as a Series by their first method, NaN if dropped; other values unchanged."""
    if isinstance(given, DifficultyTargets):
        return given.difficulty(keep_dropped=True)
    return with_row_names(given)


def equally_hard(target: Floats) -> str:
    """Say that all known items are equally hard; empty if they differ."""
    known = target[np.isfinite(target)]
    return f"all items are equally hard ({known[0]:g})" if is_constant(known) else ""


def _spelled_out(method: str) -> str:
    """Return the name of a method in a sentence."""
    return "average error" if method == AVERAGE_ERROR else f"{method.upper()} difficulty"


def same_for_all(target: Floats) -> tuple[str, ...]:
    """Return a remark if there is nothing to learn, since all items are equally hard."""
    alike = equally_hard(target)
    return (f"{alike}, {PREDICTED}",) if alike else ()


@dataclass(frozen=True, eq=False)
class _OnScale:
    """Items and respondents of one model on one scale."""

    difficulty: Floats  # (n_items,)
    difficulty_se: Floats
    discrimination: Floats
    discrimination_se: Floats
    flag: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    converged: bool


def on_one_scale(table: Responses, model: str, batches: int | None, random_state: int) -> _OnScale:
    """Calibrate all items at once, or in linked `batches`."""
    if batches is None or batches == 1:
        return _calibrated(table, model)
    batch = deal(table, batches, random_state)
    linked = _linked(
        [_calibrated(table.select(items=np.flatnonzero(batch == k)), model) for k in range(batches)]
    )
    order = np.argsort(batch, kind="stable").argsort(kind="stable")
    flags = [flag for part in linked for flag in part.flag]
    return _OnScale(
        **{
            name: np.concatenate([getattr(part, name) for part in linked])[order]
            for name in ESTIMATES
        },
        flag=tuple(flags[k] for k in order),
        ability=np.mean([part.ability for part in linked], axis=0),
        converged=all(part.converged for part in linked),
    )


def deal(table: Responses, batches: int, random_state: int) -> NDArray[np.intp]:
    """Return the batch of each item: at random, but with equally many easy and hard ones."""
    wrong, asked = _wrong_and_asked(table)
    share = (asked - wrong) / np.maximum(asked, 1)
    random = np.random.default_rng(random_state)
    order = np.lexsort([random.uniform(size=share.size), share])
    rounds = [random.permutation(batches) for _ in range(-(-share.size // batches))]
    batch = np.empty(share.size, dtype=np.intp)
    batch[order] = np.concatenate(rounds)[: share.size]
    return batch


def _calibrated(table: Responses, model: str) -> _OnScale:
    calibration = calibrate(table, model)
    items = calibration.items
    return _OnScale(
        **{name: items[name].to_numpy(float) for name in ESTIMATES},
        flag=tuple(items["flag"]),
        ability=calibration.abilities(items_known=True)["ability"].to_numpy(float),
        converged=calibration.converged,
    )


def _linked(parts: list[_OnScale]) -> list[_OnScale]:
    """Rescale batches so that abilities have the same mean and standard deviation in each."""
    means = np.array([part.ability.mean() for part in parts])
    sds = np.array([part.ability.std() for part in parts])
    usual = float(np.median(sds))
    # A batch in which respondents hardly differ keeps its unit.
    differ = sds > LEAST_SPREAD * usual
    units = np.divide(usual, sds, out=np.ones_like(sds), where=differ)
    shifts = means.mean() - units * means
    return [
        _OnScale(
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
        raise InputError(f"`artificial` must be True or False, got {artificial!r:.40}.")
    table = as_responses(responses, "binary")
    if batches is not None and batches > 1 and table.n_items // batches < FEWEST_IN_A_BATCH:
        raise InputError(
            f"batches is {batches}, so some hold only {table.n_items // batches} of "
            f"{counted(table.n_items, 'item')}, but each needs at least {FEWEST_IN_A_BATCH}. Give "
            "fewer batches."
        )
    calibrating = with_artificial(table, labels, random_state) if artificial else table
    if labels is not None and not artificial:
        raise InputError("labels are only for the artificial respondents: give artificial=True.")
    fits = {
        name: on_one_scale(calibrating, name, batches, random_state)
        for name in chosen
        if name in MODELS
    }
    has_responses = table.observed.any(axis=0)  # nothing is known about the others
    values, n_abnormal = {}, {}
    for name in chosen:
        if name == AVERAGE_ERROR:
            values[name] = _average_error(table)
            continue
        difficulty, error = fits[name].difficulty, fits[name].difficulty_se
        beyond = np.abs(difficulty) > limit
        n_abnormal[name] = int(beyond.sum())
        if abnormal == "clip":
            difficulty = np.clip(difficulty, -limit, limit)
        unknown = ~has_responses | (beyond & (abnormal == "drop"))
        values[name] = np.where(unknown, np.nan, np.stack([difficulty, error]))
    two = fits.get("2pl")
    flagging = two or fits.get("1pl")
    return DifficultyTargets(
        items=table.items,
        methods=chosen,
        difficulties={name: value for name, (value, _) in values.items()},
        errors={name: error for name, (_, error) in values.items()},
        discrimination=None if two is None else two.discrimination,
        discrimination_se=None if two is None else two.discrimination_se,
        flags=("",) * table.n_items if flagging is None else flagging.flag,
        abnormal=n_abnormal,
        limit=float(limit),
        treatment=abnormal,
        abilities=pd.DataFrame(
            {f"ability_{name}": fit.ability for name, fit in fits.items()},
            index=pd.Index(calibrating.respondents, name="respondent"),
        ),
        notes=tuple(_notes(table, calibrating, fits, n_abnormal, limit, abnormal, batches)),
    )


def with_artificial(
    table: Responses, labels: Mapping[str, object] | Sequence[object] | None, random_state: int
) -> Responses:
    """Return the responses with an always-right, an always-wrong and a guessing respondent."""
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
    """Return the class of each item as text, by name or in the order of the items."""
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
    one_of(abnormal, "abnormal", TREATMENTS)
    if not as_number(limit) > 0:
        raise InputError(f"`limit` must be a number above 0, such as 6, got {limit!r}.")
    if batches is not None:
        whole_number(batches, "batches", 1)
    whole_number(random_state, "random_state", 0)
    return chosen


def _wrong_and_asked(table: Responses) -> tuple[Floats, Floats]:
    """Return how many answers to each item were wrong, and how many there are: all tries count."""
    tries = tries_or_one(table.tries, table.observed)
    right = np.where(tries > 0, table.cells, 0) * tries
    return (tries - right).sum(axis=0).astype(np.float64), tries.sum(axis=0).astype(np.float64)


def _average_error(table: Responses) -> Floats:
    """Return share of wrong answers, and its posterior standard deviation (Jeffreys' prior)."""
    wrong, asked = _wrong_and_asked(table)
    share = np.divide(wrong, asked, out=np.full(asked.shape, np.nan), where=asked > 0)
    above, below, total = wrong + 0.5, asked - wrong + 0.5, asked + 1.0
    error = np.sqrt(above * below / (total**2 * (total + 1.0)))
    return np.stack([share, np.where(asked > 0, error, np.nan)])


def _notes(
    table: Responses,
    calibrating: Responses,
    fits: Mapping[str, _OnScale],
    n_abnormal: Mapping[str, int],
    limit: float,
    abnormal: str,
    batches: int | None,
) -> list[str]:
    done = {"keep": "kept", "clip": f"clipped to ±{limit:g}", "drop": "dropped"}[abnormal]
    notes = [
        f"{counted(count, 'item')} ({count / table.n_items:.1%}) with a {_spelled_out(name)} "
        f"beyond ±{limit:g}: {done}."
        for name, count in n_abnormal.items()
        if count
    ]
    notes += [
        f"The {name.upper()} did not converge." for name, fit in fits.items() if not fit.converged
    ]
    if "2pl" in fits and (negative := sum(NEGATIVE in flag for flag in fits["2pl"].flag)):
        notes.append(
            f"{counted(negative, 'item')} with negative discrimination: better respondents get "
            "them wrong more often, so their difficulty is reversed."
        )
    if batches is not None and batches > 1 and fits:
        notes.append(f"Calibrated in {batches} batches, linked by the abilities of respondents.")
    for name, fit in fits.items() if calibrating is not table else ():
        if wrong := misplaced(calibrating.respondents, fit.ability):
            notes.append(
                f"{listed(wrong, 'artificial respondent')} out of place in the {name.upper()}: "
                "difficulty and ability may not fit together."
            )
    return notes
