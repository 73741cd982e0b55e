"""Raise an alarm when performance and difficulty no longer agree.

After Martínez-Plumed et al. (2022, "When AI difficulty is easy"): the performance of a model on
items of known difficulty predicts its performance on other items.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ogive._validation import as_number, checked_share, float_array, one_of
from ogive.data.names import aligned
from ogive.difficulty.targets import difficulty_of
from ogive.errors import InputError
from ogive.results.base import Result
from ogive.results.numbers import counted
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.results.plots.marks import robust_limits
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson
from ogive.stats.logistic_curves import Curves, curves_at_mean, curves_of, points, predicted_right
from ogive.stats.metrics import edges_by_quantile, places, sums_by_bin

__all__ = ["PerformanceAlarm", "performance_alarm"]

# A frame or mapping with `difficulty` and `right`; or a pair of arrays; or difficulties alone.
Items: TypeAlias = "pd.DataFrame | Mapping[str, Any] | tuple[Any, Any] | Floats | pd.Series[float]"
METHODS = ("curve", "paper")
MOST_BINS = 10
ITEMS_IN_BIN = 10  # items per bin, on average, at least
GRID = 101  # points of the drawn curve
FARTHEST = 1e6  # beyond, a difficulty must be a mistake
FEWEST = 10  # items; with fewer, no test has any power
SMALL_SHIFT = 0.2  # standard deviations; smaller shifts explain no change of performance
BEYOND = 0.05  # share of new items outside the reference that is noted
FLAT = (
    "On the reference, the model is not significantly more often wrong on harder items: this "
    "difficulty says little about the model, and no ability is given."
)
SITUATIONS = {
    ("same", "expected"): "nothing changed",
    ("harder", "expected"): "harder items, as well as expected",
    ("easier", "expected"): "easier items, as well as expected",
    ("other", "expected"): "other items, as well as expected",
    ("same", "worse"): "adversarial: difficulty unchanged, performance drops",
    ("harder", "worse"): "harder and worse than expected",
    ("easier", "worse"): "easier, yet worse than expected",
    ("other", "worse"): "other items, worse than expected",
    ("hardly", "worse"): "adversarial: difficulty hardly changed, performance drops",
    ("same", "better"): "Clever Hans: difficulty unchanged, performance too good",
    ("hardly", "better"): "Clever Hans: difficulty hardly changed, performance too good",
    ("harder", "better"): "harder, yet better than expected",
    ("easier", "better"): "easier and better than expected",
    ("other", "better"): "other items, better than expected",
    ("same", "unknown"): "difficulty unchanged, performance unknown",
    ("harder", "unknown"): "harder items, performance unknown",
    ("easier", "unknown"): "easier items, performance unknown",
    ("other", "unknown"): "other items, performance unknown",
}


def _figure_points(alarm: PerformanceAlarm) -> pd.DataFrame:
    """Return one row per point: `sample`, `difficulty`, `share` with `low` and `high`, and `n`.

    Bins hold equally many items of their sample. The curve has no `n`; bins of a sample without
    responses have no share.
    """
    curves, confidence = alarm.curves, 1 - alarm.alpha
    whole = np.concatenate([alarm.reference.difficulty, alarm.new.difficulty])
    grid = np.linspace(*robust_limits(whole), GRID)
    chance = curves.success(grid)
    ends = ((1 - confidence) / 2, (1 + confidence) / 2)
    low, high = ([curves.quantile(column, end) for column in chance.T] for end in ends)
    parts: list[dict[str, Any]] = [
        {
            "sample": "expected",
            "difficulty": grid,
            "share": curves.weight @ chance,
            "low": low,
            "high": high,
            "n": np.nan,
        }
    ]
    for name, sample in (("reference", alarm.reference), ("new", alarm.new)):
        count = max(1, min(MOST_BINS, len(sample) // ITEMS_IN_BIN))
        bin_of_item = places(sample.difficulty, edges_by_quantile(sample.difficulty, count))
        used, row = np.unique(bin_of_item, return_inverse=True)
        right = np.full(len(sample), np.nan) if sample.right is None else sample.right
        n, hits = sums_by_bin(right[None], row, used.size)
        low_share, high_share = wilson(hits, n, confidence)
        median = [float(np.median(sample.difficulty[row == k])) for k in range(used.size)]
        parts.append(
            {
                "sample": name,
                "difficulty": median,
                "share": np.divide(hits, n, out=np.full(n.shape, np.nan), where=n > 0)[0],
                "low": low_share[0],
                "high": high_share[0],
                "n": np.bincount(row, minlength=used.size),
            }
        )
    return pd.concat([pd.DataFrame(part) for part in parts], ignore_index=True)


@dataclass(frozen=True, eq=False)
class Sample:
    """Difficulty of items, and whether the model was right, if known."""

    difficulty: Floats
    right: Floats | None  # 1 or 0

    def __len__(self) -> int:
        return len(self.difficulty)

    @property
    def hits(self) -> Floats:
        """Whether the model was right on each item; refused if unknown."""
        if self.right is None:
            raise InputError("These items have no responses. Give 'right', 0 or 1 for each.")
        return self.right


def _read_sample(given: Any, name: str) -> Sample:
    """Read a frame or mapping with `difficulty` and perhaps `right`, a pair, or difficulties."""
    given = difficulty_of(given)
    difficulty, right = given, None
    if isinstance(given, Mapping) or hasattr(given, "columns"):
        if "difficulty" not in given:
            has = ", ".join(repr(key) for key in list(given)[:10]) or "none"
            raise InputError(f"{name} needs the columns 'difficulty' and 'right'; it has: {has}.")
        difficulty, right = difficulty_of(given["difficulty"]), given.get("right")
    elif isinstance(given, tuple | list) and len(given) == 2 and not np.isscalar(given[0]):
        difficulty, right = difficulty_of(given[0]), given[1]
    values = _values(difficulty, f"{name}: difficulty")
    if len(values) < FEWEST:
        raise InputError(
            f"{name} has {counted(len(values), 'item')}, but an alarm needs at least {FEWEST}. "
            "Collect more."
        )
    odd = np.flatnonzero(~(np.abs(values) <= FARTHEST))
    if odd.size:
        raise InputError(
            f"{name}: difficulty is {values[odd[0]]:g} at position {odd[0]}, but it must be a "
            f"number within ±{FARTHEST:,.0f}. Leave such items out."
        )
    if right is None:
        return Sample(values, None)
    if hasattr(right, "index") and hasattr(difficulty, "index") and hasattr(right, "reindex"):
        right = aligned(right, difficulty.index, f"{name}: right")
    hits = _values(right, f"{name}: right")
    if len(hits) != len(values):
        raise InputError(
            f"{name} has {counted(len(values), 'item')}, "
            f"but right has {len(hits):,}. Give one of each per item."
        )
    odd = np.flatnonzero((hits != 0) & (hits != 1))
    if odd.size:
        raise InputError(
            f"{name}: right is {hits[odd[0]]:g} at position {odd[0]}, but it must be 1 where the "
            "model was right and 0 where it was wrong. Leave out items without a response."
        )
    return Sample(values, hits)


def _values(given: Any, what: str) -> Floats:
    values: Floats = float_array(given, what)
    if values.ndim != 1:
        raise InputError(f"{what} has shape {values.shape}, but it should be one value per item.")
    return values


@dataclass(frozen=True)
class Statement:
    """One quantity on the reference and on the new items, and what was expected.

    If nothing changed, the new value lies between `low` and `high`.
    """

    reference: float
    new: float
    expected: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, eq=False, repr=False)
class PerformanceAlarm(Result):
    """Whether performance on new items is as their difficulty predicts.

    Two tests share `alpha`, half of it each (Bonferroni): one of performance and one of the
    distribution of difficulty. Ranges use the same halves.
    """

    performance: Statement | None  # None if the new responses are unknown
    difficulty: Statement  # means; `p` is that of the two-sample Kolmogorov-Smirnov test
    difference: float  # of mean difficulty, new minus reference
    difference_low: float
    difference_high: float
    effect: float  # that difference, in standard deviations of the reference
    ability: float  # where the curve of the reference is halfway; NaN if it does not fall
    ability_low: float
    ability_high: float
    alpha: float
    method: str
    curves: Curves
    reference: Sample
    new: Sample
    notes: tuple[str, ...] = ()

    @property
    def rate(self) -> float:
        """The false-alarm rate of each test."""
        return self.alpha / (1 if self.performance is None else 2)

    @property
    def shifted(self) -> bool:
        """True if the distribution of difficulty changed significantly."""
        return self.difficulty.p <= self.rate

    @property
    def fired(self) -> bool:
        """True if performance is not as expected; without responses, whether difficulty shifted."""
        return self.shifted if self.performance is None else self.outcome != "expected"

    @property
    def outcome(self) -> str:
        """Performance compared with the expectation: "expected", "worse", "better", "unknown"."""
        if self.performance is None:
            return "unknown"
        if self.performance.p > self.rate:
            return "expected"
        return "worse" if self.performance.new < self.performance.expected else "better"

    @property
    def shift(self) -> str:
        """The new items compared with the reference: "same", "harder", "easier" or "other"."""
        if not self.shifted:
            return "same"
        if self.difference_low <= 0 <= self.difference_high:
            return "other"
        return "harder" if self.difference > 0 else "easier"

    @property
    def situation(self) -> str:
        """Which of the known situations this resembles.

        A shift of the mean below a fifth of a standard deviation, even if significant, is too small
        to explain unexpected performance.
        """
        shift = self.shift
        small = shift in ("harder", "easier") and abs(self.effect) < SMALL_SHIFT
        if self.outcome in ("worse", "better") and small:
            shift = "hardly"
        return SITUATIONS[shift, self.outcome]

    @property
    def meaning(self) -> str:
        """What was expected, what was observed, and which situation that resembles."""
        difficulty, performance = self.difficulty, self.performance
        within = self.difference_low <= 0 <= self.difference_high
        sure = ", not a significant change" if within or not self.shifted else ""
        moved = f"mean difficulty went from {difficulty.reference:.2f} to {difficulty.new:.2f}"
        moved += sure + (", and its distribution changed" if self.shift == "other" else "")
        if performance is None:
            return f"{self.situation[:1].upper()}{self.situation[1:]}: {moved}."
        return (
            f"{'Alarm' if self.fired else 'No alarm'}: the model is right on "
            f"{performance.new:.3f} of the new items, and {performance.low:.3f} to "
            f"{performance.high:.3f} was expected ({performance.reference:.3f} on the "
            f"reference); {moved}. This resembles: {self.situation}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per quantity.

        For `performance` and `difficulty`, `low` to `high` is the range of `new` if nothing
        changed; for `ability`, it is the interval of the estimate.
        """
        rows = {} if self.performance is None else {"performance": vars(self.performance)}
        rows["difficulty"] = vars(self.difficulty)
        ability = {"reference": self.ability, "low": self.ability_low, "high": self.ability_high}
        rows["ability"] = ability
        columns = ["reference", "new", "expected", "low", "high", "p"]
        frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns, dtype=float)
        return frame.rename_axis("quantity")

    def plot(self, **kw: Any) -> Display:
        """Draw success by difficulty in both samples, with the curve of the reference."""
        return DISPLAYS["alarm"](_figure_points(self)).plot(**kw)


def performance_alarm(
    reference: Items,
    new: Items,
    *,
    alpha: float = 0.05,
    method: str = "curve",
    guessing: float = 0.0,
) -> PerformanceAlarm:
    """Test whether a model is as good on new items as their difficulty predicts.

    `reference` and `new` hold the (predicted) `difficulty` of each item and whether the model was
    `right`: a frame with these columns, or a pair of arrays, of which the first may be the result
    of `difficulty_targets`. Without `right` in `new`, only the shift of difficulty is tested. If
    nothing changed, the chance that any of the tests is significant is at most `alpha`, including
    the uncertainty of both samples.

    `method="curve"` fits success on the reference as a logistic curve in difficulty and takes its
    mean over the new items; `guessing` is the floor of that curve, such as 0.25 for four options.
    "paper" uses only mean difficulty and mean performance, with a slope of one.

    The frame has one row per quantity: its value on the reference and on the new items, what was
    expected with low and high, and p. After Martínez-Plumed et al. (2022).

    >>> import ogive as og
    >>> import numpy as np
    >>> difficulty = np.linspace(-2, 2, 100)
    >>> right = (difficulty < 0.5).astype(int)
    >>> og.performance_alarm((difficulty, right), (difficulty, 1 - right)).meaning[:5]
    'Alarm'
    """
    checked_share(alpha, "alpha", 0.05)
    one_of(method, "method", METHODS)
    if not 0 <= as_number(guessing) < 1:
        raise InputError(f"`guessing` must be a number from 0 to below 1, got {guessing!r}.")
    if method == "paper" and guessing > 0:
        raise InputError("guessing is for method='curve'; 'paper' has no floor. Leave it at 0.")
    old, fresh = _read_sample(reference, "reference"), _read_sample(new, "new")
    if old.right is None:
        raise InputError(
            "reference does not say where the model was right, so it predicts nothing. Give it a "
            "column 'right' of 0 and 1."
        )
    method, notes = _usable_method(old, method)
    if method == "paper":
        hits = int(old.hits.sum())
        curves = curves_at_mean(float(old.difficulty.mean()), len(old), hits)
    else:
        curves = curves_of(points(old.difficulty, old.hits), guessing)
    rate = alpha / (1 if fresh.right is None else 2)
    difference = float(fresh.difficulty.mean() - old.difficulty.mean())
    half_width = _welch_half_width(old.difficulty, fresh.difficulty, rate)
    ability, ability_low, ability_high = _ability(curves, rate)
    notes += [FLAT] if np.isnan(ability) else []
    outside = (fresh.difficulty < old.difficulty.min()) | (fresh.difficulty > old.difficulty.max())
    if outside.sum() > BEYOND * len(fresh):
        notes.append(
            f"{counted(int(outside.sum()), 'new item')} of {len(fresh):,} lie outside the "
            "difficulties of the reference: the expectation there rests on the shape of the curve."
        )
    return PerformanceAlarm(
        performance=_performance(curves, old, fresh, method, rate),
        difficulty=_difficulty_shift(old.difficulty, fresh.difficulty, half_width),
        difference=difference,
        difference_low=difference - half_width,
        difference_high=difference + half_width,
        effect=_effect(difference, float(np.std(old.difficulty, ddof=1))),
        ability=ability,
        ability_low=ability_low,
        ability_high=ability_high,
        alpha=alpha,
        method=method,
        curves=curves,
        reference=old,
        new=fresh,
        notes=tuple(notes),
    )


def _usable_method(old: Sample, method: str) -> tuple[str, list[str]]:
    """Return the method, and a note if the sample shows no slope and another one is used."""
    hits = int(old.hits.sum())
    reasons = {
        "all responses to it are right": hits == len(old),
        "all responses to it are wrong": hits == 0,
        "all its items have the same difficulty": np.ptp(old.difficulty) == 0,
    }
    holding = " and ".join(reason for reason, holds in reasons.items() if holds)
    if method == "paper" or not holding:
        return method, []
    return "paper", [f"The reference shows no slope, since {holding}: a slope of one is assumed."]


def _performance(
    curves: Curves, old: Sample, fresh: Sample, method: str, rate: float
) -> Statement | None:
    """Compare the share right on the new items with the prediction; None without responses."""
    if fresh.right is None:
        return None
    hits, n = int(fresh.hits.sum()), len(fresh)
    if method == "paper":
        predicted = predicted_right(curves, fresh.difficulty.mean(keepdims=True), np.array([n]))
    else:
        known = points(fresh.difficulty, fresh.hits)
        predicted = predicted_right(curves, known.difficulty, known.n)
    low, high = predicted.limits(rate)
    return Statement(
        reference=float(old.hits.mean()),
        new=hits / n,
        expected=predicted.expected,
        low=low / n,
        high=high / n,
        p=predicted.p(hits),
    )


def _difficulty_shift(old: Floats, fresh: Floats, half_width: float) -> Statement:
    """Compare the distributions of difficulty (Kolmogorov-Smirnov)."""
    from scipy.stats import ks_2samp

    # With large samples the exact distribution is slow, and differs little.
    method = "auto" if max(len(old), len(fresh)) <= 1_000 else "asymp"
    mean = float(old.mean())
    p = float(ks_2samp(old, fresh, method=method).pvalue)
    return Statement(mean, float(fresh.mean()), mean, mean - half_width, mean + half_width, p)


def _welch_half_width(old: Floats, fresh: Floats, rate: float) -> float:
    """Return the half-width of the interval of the difference of means (Welch)."""
    from scipy.special import stdtrit

    parts = np.array([np.var(values, ddof=1) / len(values) for values in (old, fresh)])
    variance = float(parts.sum())
    if variance == 0:
        return 0.0
    freedom = variance**2 / float((parts**2 / np.array([len(old) - 1, len(fresh) - 1])).sum())
    return float(stdtrit(freedom, 1 - rate / 2)) * float(variance**0.5)


def _effect(difference: float, sd: float) -> float:
    """Return a difference in standard deviations, infinite if there is no spread."""
    if sd == 0:
        return float(np.sign(difference)) * np.inf if difference else 0.0
    return difference / sd


def _ability(curves: Curves, rate: float) -> tuple[float, float, float]:
    """Return the point where the curve is halfway up, with its interval; NaN if it may be flat."""
    falling = curves.slope > 0
    if curves.weight[falling].sum() < 1 - rate / 2:
        return (np.nan,) * 3
    kept = Curves(curves.intercept[falling], curves.slope[falling], curves.weight[falling])
    middle = kept.intercept / kept.slope
    median, low, high = (kept.quantile(middle, share) for share in (0.5, rate / 2, 1 - rate / 2))
    return median, low, high
