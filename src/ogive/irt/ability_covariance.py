"""Joint covariance of abilities, and comparisons of respondents that share its errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive._validation import CONFIDENCE, checked_share, one_of
from ogive.errors import InputError
from ogive.irt.abilities import Abilities, score_abilities
from ogive.irt.encoded_responses import Encoded
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Population
from ogive.irt.response_codes import as_floats
from ogive.irt.score_errors import (
    MOST_JOINT,
    ItemErrors,
    ability_derivatives,
    averaged_errors,
    averages,
)
from ogive.results.base import Result, table
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.linked_parts import Parts
from ogive.stats.multiplicity import CORRECTIONS
from ogive.stats.newton import root_of
from ogive.stats.pairwise_tests import ALPHA, FINEST, differences_of_estimates

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses
    from ogive.results.plots.figure import Display

MOST_DENSE = 20_000  # largest number of respondents of a whole matrix (3 GB)
MOST_PAIRS = 1_000_000
MOST_RIVALS = 500  # largest number of respondents of which all pairs are tested
UNLINKED = "no item links them, directly or through others"
COLUMNS = ("difference", "se", "low", "high", "p", "p_adjusted", "p_above")


@dataclass(frozen=True, eq=False)
class AbilityCovariance:
    """Mean square error of abilities, diag(own) + shared @ shared.T, without the matrix itself.

    `shared` holds the errors that items, and the origin and unit of their scale, cause in all
    abilities at once: they cancel, in part, from differences. Its first column is `offset`, the
    expected distance of the truth from the reported abilities.
    """

    respondents: tuple[str, ...]
    ability: Floats  # (n_respondents,)
    own: Floats  # (n_respondents,): variance
    shared: Floats  # (n_respondents, n_shared)

    @property
    def offset(self) -> Floats:
        """Expected truth less the reported ability."""
        return self.shared[:, 0]

    @property
    def variance(self) -> Floats:
        """Mean square error of each ability."""
        return np.asarray(self.own + (self.shared**2).sum(axis=1))

    @property
    def se(self) -> Floats:
        """Standard error of each ability."""
        return np.sqrt(self.variance)

    def difference_se(self, first: NDArray[np.intp], second: NDArray[np.intp]) -> Floats:
        """Return errors of ability[first] - ability[second], by position; 0 with oneself."""
        first, second = np.broadcast_arrays(first, second)
        if first.size > len(self.own) and len(self.own) <= MOST_JOINT:
            both = self.shared @ self.shared.T  # smaller than one row per pair
            size = np.diag(both)
            shared = np.maximum(size[first] + size[second] - 2 * both[first, second], 0.0)
        else:
            shared = ((self.shared[first] - self.shared[second]) ** 2).sum(axis=-1)
        variance = self.own[first] + self.own[second] + shared
        return np.where(first == second, 0.0, np.sqrt(variance))

    def of(self, positions: NDArray[np.intp]) -> AbilityCovariance:
        """Return the covariance of some of the respondents, by position."""
        return AbilityCovariance(
            tuple(self.respondents[k] for k in positions),
            self.ability[positions],
            self.own[positions],
            self.shared[positions],
        )

    def dense(self) -> Floats:
        """Return the whole matrix, (n_respondents, n_respondents)."""
        if len(self.own) > MOST_DENSE:
            raise InputError(
                f"The covariance of {len(self.own):,} abilities does not fit into memory. Ask for "
                "some of them with of(positions), or for difference_se(first, second)."
            )
        return np.diag(self.own) + self.shared @ self.shared.T

    def draw(self, n: int, random: np.random.Generator) -> Floats:
        """Draw `n` sets of plausible abilities, (n_respondents, n)."""
        alone = np.sqrt(self.own)[:, None] * random.standard_normal((len(self.own), n))
        directions = self.shared[:, 1:]
        together = directions @ random.standard_normal((directions.shape[1], n))
        return (self.ability + self.offset)[:, None] + alone + together


def ability_covariance(
    data: Encoded,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    method: str,
    found: Abilities,
    errors: ItemErrors | None,
    respondents: tuple[str, ...] = (),
) -> AbilityCovariance:
    """Return the covariance of abilities `found` by `method`; `errors` None means known items.

    With many respondents, errors of single items count as each respondent's own.
    """
    expected, own, offset = found, found.se**2, np.zeros((found.se.size, 1))
    if errors is None:
        return AbilityCovariance(respondents, found.ability, own, offset)
    if errors.coords is not coords and not np.array_equal(errors.coords, coords):
        expected = score_abilities(data, model, errors.coords, population, method)
        fixed = found.at_bound | expected.at_bound
        own = np.where(fixed, found.se, expected.se) ** 2
        offset = np.where(fixed, 0.0, expected.ability - found.ability)[:, None]
    if averages(model, own.size, data.tries):
        moving = np.where(expected.at_bound, 0.0, expected.se**2)
        alone, together = averaged_errors(data, model, errors, expected.ability, moving)
        own, directions = own + alone, [together]
    else:
        joint = own.size <= MOST_JOINT
        alone_by_block, together_by_block = [], []
        for _, slopes in ability_derivatives(
            data, model, errors.coords, population, method, expected
        ):
            through = errors.alone(slopes)
            alone_by_block.append(through if joint else (through**2).sum(axis=1))
            together_by_block.append(errors.together(slopes))
        directions = [np.concatenate(together_by_block)]
        if joint:
            directions.append(_narrow(np.concatenate(alone_by_block)))
        else:
            own = own + np.concatenate(alone_by_block)
    shared = np.concatenate([offset, *directions], axis=1)
    return AbilityCovariance(respondents, found.ability, own, shared)


def _narrow(shared: Floats) -> Floats:
    """Return a root of shared @ shared.T with no more columns than rows."""
    if shared.shape[1] <= len(shared):
        return shared
    matrix = shared @ shared.T
    try:
        return np.asarray(np.linalg.cholesky(matrix), dtype=float)
    except np.linalg.LinAlgError:  # some respondents rest on the same items in the same way
        return root_of(matrix)


@dataclass(frozen=True, eq=False, repr=False)
class AbilityComparison(Result):
    """Differences of abilities, with the errors that both respondents share."""

    pairs: tuple[tuple[str, str], ...]
    difference: Floats  # (n_pairs,), as all that follow: the first minus the second
    se: Floats
    low: Floats
    high: Floats
    p: Floats  # of a difference as large as this, either way, were there none
    p_adjusted: Floats  # for all pairs together
    p_above: Floats  # how likely the first stands above the second
    confidence: float
    scale: str  # which scale, and whose errors are counted
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair."""
        first, second = (np.array([pair[k] for pair in self.pairs], dtype=object) for k in (0, 1))
        numbers = {name: getattr(self, name) for name in COLUMNS}
        return table({"respondent": first, "other": second, **numbers})

    @property
    def meaning(self) -> str:
        """The comparison of a pair, or the number of pairs that can be distinguished."""
        if len(self.pairs) > 1:
            sure = int((self.p_adjusted < 1 - self.confidence).sum())
            linked = int(np.isfinite(self.p).sum())
            apart = len(self.pairs) - linked
            return (
                f"{sure} of {counted(linked, 'pair')} of respondents can be distinguished "
                f"at {self.confidence:.0%} confidence, all pairs counted."
                + (f" {counted(apart, 'pair')} cannot be compared: {UNLINKED}." if apart else "")
            )
        (first, second), d = self.pairs[0], float(self.difference[0])
        if np.isnan(d):
            return f"{first} and {second} cannot be compared: {UNLINKED}."
        where = f"{abs(d):.2f} ± {float(self.high[0] - self.difference[0]):.2f}"
        if self.p[0] < 1 - self.confidence:
            side = "above" if d > 0 else "below"
            return f"{first} stands {where} {side} {second}."
        return f"{first} and {second} cannot be distinguished: they differ by {where}."

    def plot(self, **kw: Any) -> Display:
        """Plot each difference with its interval."""
        from ogive.results.plots.rankings import RankingDisplay

        frame = self.to_frame()
        names = frame["respondent"] + " − " + frame["other"]
        return RankingDisplay(frame.set_index(names), estimate="difference").plot(**kw)


def compare_abilities(
    covariance: AbilityCovariance,
    a: str | Sequence[str] | None,
    b: str | Sequence[str] | None,
    confidence: float,
    correction: str,
    scale: str,
    part: Parts,
) -> AbilityComparison:
    """Return differences of all pairs of one of `a` and one of `b`; NaN across unlinked parts."""
    from scipy.special import ndtr

    confidence = checked_share(confidence, "confidence", CONFIDENCE)
    one_of(correction, "correction", CORRECTIONS)
    names = _pairs(covariance.respondents, a, b)
    place = {name: k for k, name in enumerate(covariance.respondents)}
    first, second = (np.array([place[pair[k]] for pair in names]) for k in (0, 1))
    unlinked = np.where(part[first] == part[second], 0.0, np.nan)
    difference = covariance.ability[first] - covariance.ability[second] + unlinked
    se = covariance.difference_se(first, second) + unlinked
    z = difference / np.maximum(se, 1e-300)
    p, half = 2 * ndtr(-np.abs(z)), normal_reach(confidence) * se
    return AbilityComparison(
        pairs=tuple(names),
        difference=difference,
        se=se,
        low=difference - half,
        high=difference + half,
        p=p,
        p_adjusted=CORRECTIONS[correction](p),
        p_above=ndtr(z),
        confidence=confidence,
        scale=scale,
        notes=(scale,),
    )


def level_with_strongest(covariance: AbilityCovariance) -> tuple[int, NDArray[np.bool_]]:
    """Return the respondent of highest ability, and which others are not significantly below.

    The strongest was chosen among all, so the tests are corrected for all pairs; by Bonferroni for
    many respondents, which takes no more memory than the respondents do.
    """
    from scipy.special import ndtri

    n, best = covariance.ability.size, int(np.argmax(covariance.ability))
    if n <= MOST_RIVALS:
        tested = differences_of_estimates(covariance.ability, covariance.dense())
        return best, tested.level_with(best)
    others = np.arange(n)
    se = covariance.difference_se(np.array([best]), others)
    z = (covariance.ability[best] - covariance.ability) / np.maximum(se, 1e-300)
    level = z < -ndtri(ALPHA / (n * (n - 1)))  # Bonferroni, two-sided
    level[best] = False
    return best, level


def tied_with(
    best: int, level: NDArray[np.bool_], ability: Floats, responses: Responses
) -> NDArray[np.intp]:
    """Return positions of respondents level with the best that have the same result.

    That is the same sum of responses on the same items, or the same ability.
    """
    near = np.flatnonzero(level)
    rows = np.r_[best, near]
    some = responses.select(respondents=rows)
    asked = some.observed
    same = (asked == asked[0]).all(axis=1)
    sums = np.round(np.nansum(as_floats(some.cells), axis=1), FINEST)
    equal = np.round(ability[rows], FINEST) == np.round(ability[best], FINEST)
    return np.sort(rows[(same & (sums == sums[0])) | equal])


def _pairs(
    known: tuple[str, ...], a: str | Sequence[str] | None, b: str | Sequence[str] | None
) -> list[tuple[str, str]]:
    """Return names to compare: `a` with `b`, `a` with all others, or all with all."""
    if len(known) < 2:
        raise InputError("There is one respondent only; a comparison needs two.")
    first, second = (_names(known, given, name) for given, name in ((a, "a"), (b, "b")))
    if a is None or b is None:
        chosen = first if b is None else second
        few = (len(chosen) * len(known)) if len(chosen) < len(known) else len(known) ** 2 // 2
    else:
        few = len(first) * len(second)
    if few > MOST_PAIRS:
        raise InputError(
            f"That would be {few:,} pairs; at most {MOST_PAIRS:,} are compared at once. Name "
            "respondents, or use ability_covariance() for the pairs that count."
        )
    if a is None and b is None:
        return list(combinations(known, 2))
    if isinstance(a, str) and isinstance(b, str) and a == b:
        raise InputError(f"a and b are both {a!r}; a respondent differs from others only.")
    pairs = [(x, y) for x in first for y in second if x != y]
    if not pairs:
        raise InputError("a and b hold the same single respondent; name another one.")
    return pairs


def _names(known: tuple[str, ...], given: str | Sequence[str] | None, name: str) -> list[str]:
    if given is None:
        return list(known)
    if not isinstance(given, Iterable):
        raise InputError(f"`{name}` must be the name of a respondent, or several, got {given!r}.")
    wanted = [given] if isinstance(given, str) else list(given)
    if not wanted:
        raise InputError(f"{name} is empty; name at least one respondent.")
    unknown = [each for each in wanted if each not in set(known)]
    if unknown:
        raise InputError(
            f"There is no respondent {unknown[0]!r} here. There is {listed(known, 'respondent')}."
        )
    return list(dict.fromkeys(wanted))
