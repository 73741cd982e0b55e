"""Near-duplicate items, copied respondents.

Near-duplicate items: pairs answered alike far more often than ability explains.

Given the abilities, a respondent's responses to two items differ with probability
d = P(1 - P') + (1 - P)P', so the number of respondents for whom they differ is a sum of independent
trials. The probability of at most the observed number of differences is bounded by Chernoff's
inequality, which is exact where there is no difference at all. So the p-value is conservative with
thirty respondents as well as with thousands. Respondents with correlated errors count as fewer: the
logarithm of the probability is multiplied by their effective share.

Respondents who answer as another one does: copies, and models that were hardly changed.

Two respondents of one ability differ on an item with the probability P(1 - P') + (1 - P)P', with
the P of a model that knows only how well each respondent does and how easy each item is. Who
differs on at most a quarter of what that expects, and on fewer than chance explains, is no second
witness: a pair of copies is a dimension of its own, whatever the items ask. Short tests hold many
equal rows by chance, so that equality alone proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.data.responses import Responses
from ogive.irt.calibration import Calibration
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats, row_blocks, workers
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd


ALPHA = 0.05  # share of false discoveries among the pairs called duplicates
MOST_DIFFERENT = 0.25  # share of the expected differences that a near-duplicate may have
STRIP = 512  # items compared at a time
SCREEN = np.log(1e-3)  # pairs that are clearly more probable are not examined further
TIGHTER = 1.5  # slack of the bound by which pairs are screened, as a factor of the logarithm
CANDIDATE_CELLS = 10**8  # pairs × respondents examined exactly
FEW_RESPONDENTS = 100  # up to which chance coincidences of patterns are counted
CELLS = 1 << 22
MOST_ROWS, MOST_ITEMS = 2000, 1000  # used for the effective number of respondents


PAIR_COLUMNS = (
    *("item", "other", "n_respondents", "agreement", "expected_agreement", "p", "p_adjusted"),
)


class Coincidences(NamedTuple):
    """Pairs of items answered alike by every respondent: how many there are and are expected."""

    seen: int
    expected: float  # NaN if there are so many respondents that it is negligible


@dataclass(frozen=True, eq=False)
class DuplicateItems:
    """Pairs of items whose responses show them to be near-duplicates."""

    pairs: pd.DataFrame  # item, other, n_respondents, agreement, expected_agreement, p, p_adjusted
    original: tuple[str, ...]  # of each item; empty if it is not a duplicate
    coincidences: Coincidences
    n_pairs: int
    least_p: float  # the smallest p-value that identical responses could have


def effective_share(calibration: Calibration, table: Responses, ability: Floats) -> float:
    """Return effective number of independent respondents, as a share of all respondents.

    If residuals are independent, the largest eigenvalue of their covariance matrix is about
    (1 + √(respondents / items))² times the mean one (Marchenko and Pastur).
    """
    rows = np.unique(np.linspace(0, table.n_respondents - 1, MOST_ROWS).round().astype(int))
    items = np.unique(np.linspace(0, table.n_items - 1, MOST_ITEMS).round().astype(int))
    cells = table.cells[np.ix_(rows, items)]
    model, coords = calibration.model.of_items(items), calibration.coords[items]
    residual = np.where(cells >= 0, cells - model.expected(coords, ability[rows]).T, 0.0)
    wide = residual.shape[0] <= residual.shape[1]
    products = residual @ residual.T if wide else residual.T @ residual
    largest = float(np.linalg.eigvalsh(products)[-1])
    if largest <= 0:
        return 1.0
    worth = np.trace(products) / largest * (1 + np.sqrt(len(rows) / len(items))) ** 2
    return float(min(worth, len(rows)) / table.n_respondents)


def duplicate_items(
    calibration: Calibration, table: Responses, ability: Floats, share: float
) -> DuplicateItems:
    """Find pairs of right-or-wrong items that are answered alike more often than the model expects.

    The items of `calibration` are those of `table`; `ability` is that of its respondents, and
    `share` their effective share. Items are compared in strips, so no items × items table is held
    in memory.
    """
    kept = np.flatnonzero(_varied(table.cells))
    search = _Search(calibration, table, ability, kept)
    candidates = search.candidates(share)
    log_p = search.log_chances(candidates[:, :2].astype(int), candidates[:, 2]) * share
    n_pairs = kept.size * (kept.size - 1) // 2
    p = np.exp(log_p)
    p_adjusted = benjamini_hochberg(p, max(n_pairs, 1))
    sure = np.flatnonzero(p_adjusted < ALPHA)
    sure = sure[np.argsort(p[sure], kind="stable")]
    pairs = search.described(candidates[sure], p[sure], p_adjusted[sure])
    return DuplicateItems(
        pairs=pairs,
        original=_originals(pairs, table.items),
        coincidences=search.coincidences,
        n_pairs=n_pairs,
        least_p=float(0.5 ** (share * table.n_respondents)),
    )


def duplicate_notes(found: DuplicateItems, n_respondents: int, share: float) -> list[str]:
    """Return notes on how well near-duplicates can be detected with these respondents."""
    notes = []
    worth = round(share * n_respondents)
    alike = ""
    if worth < n_respondents:
        count = counted(max(worth, 1), "independent respondent")
        alike = f"; their errors are correlated, so they count as {count}"
    if found.n_pairs and found.least_p * found.n_pairs > ALPHA:
        notes.append(
            f"There are too few respondents ({n_respondents:,}{alike}) to detect near-duplicates "
            f"among {counted(found.n_pairs, 'pair')}: some patterns coincide by chance."
        )
    seen, expected = found.coincidences
    if seen and expected == expected:  # not NaN
        notes.append(
            f"{counted(seen, 'pair')} of items {'is' if seen == 1 else 'are'} answered alike by "
            f"every respondent; the model expects {expected:,.1f} by chance."
        )
    return notes


def _varied(cells: np.ndarray) -> np.ndarray:
    """Return items that some solve and some do not."""
    varied: np.ndarray = (cells == 1).any(axis=0) & (cells == 0).any(axis=0)
    return varied


class _Strip(NamedTuple):
    """Some items, (n_respondents, n_items) each; 0 where not asked."""

    right: Floats
    wrong: Floats
    chance: Floats
    miss: Floats


class _Search:
    """Differences between all pairs of items, strip by strip."""

    def __init__(
        self, calibration: Calibration, table: Responses, ability: Floats, kept: np.ndarray
    ) -> None:
        self._calibration, self._table, self._ability = calibration, table, ability
        self._kept = kept
        self.coincidences = Coincidences(0, 0.0)

    def candidates(self, share: float) -> Floats:
        """Return candidate pairs: first item, second item, observed and expected differences."""
        strips = row_blocks(self._kept.size, STRIP)
        most = int(np.clip(CANDIDATE_CELLS // len(self._ability), 1000, 200_000))
        best, seen = np.empty((0, 5)), 0
        expected = 0.0 if len(self._ability) <= FEW_RESPONDENTS else np.nan
        together = [(left, right) for k, left in enumerate(strips) for right in strips[k:]]
        with workers() as run:
            for rows, alike, chance in run(partial(self._compared, share), together):
                seen, expected = seen + alike, expected + chance
                best = _best([best, rows], most)
        self.coincidences = Coincidences(seen, expected)
        order = np.lexsort((best[:, 1], best[:, 0]))
        return best[order, :4]

    def _compared(self, share: float, strips: tuple[slice, slice]) -> tuple[Floats, int, float]:
        """Compare two strips: candidates, pairs answered alike by all, and the expected number."""
        left, right = strips
        one = self._strip(self._kept[left])
        other = one if left == right else self._strip(self._kept[right])
        differ = one.right.T @ other.wrong + one.wrong.T @ other.right
        model = one.chance.T @ other.miss + one.miss.T @ other.chance
        pair = np.arange(left.start, left.stop)[:, None] < np.arange(right.start, right.stop)
        pair &= model > 0  # somebody was asked both
        alike = int(np.count_nonzero(pair & (differ < 0.5)))
        few = len(self._ability) <= FEW_RESPONDENTS
        expected = float(_identical(one, other)[pair].sum()) if few else 0.0
        rows, columns = np.nonzero(pair & (differ <= MOST_DIFFERENT * model))
        seen = np.round(differ[rows, columns].astype(float))
        mean = model[rows, columns].astype(float)
        # Chernoff's bound for a Poisson variable, which also bounds the sum of trials.
        bound = share * (seen - mean - seen * np.log(np.maximum(seen, 1e-9) / mean))
        found = np.stack([rows + left.start, columns + right.start, seen, mean, bound], axis=1)
        return found[bound <= SCREEN / TIGHTER], alike, expected

    def log_chances(self, pairs: np.ndarray, differ: Floats) -> Floats:
        """Return log-probability of so few differences, or a bound of it, (n_pairs,)."""
        found = np.empty(len(pairs))
        for rows in row_blocks(len(pairs), max(1, CELLS // len(self._ability))):
            names, places = np.unique(self._kept[pairs[rows]], return_inverse=True)
            strip = self._strip(names)
            first, second = places.reshape(-1, 2).T
            different = strip.chance[:, first] * strip.miss[:, second]
            different += strip.miss[:, first] * strip.chance[:, second]
            found[rows] = _log_chance(different.T.astype(float), differ[rows])
        return found

    def described(self, candidates: Floats, p: Floats, p_adjusted: Floats) -> pd.DataFrame:
        """Return the pairs by name, with observed and expected agreement."""
        import pandas as pd

        first, second = self._kept[candidates[:, :2].astype(int)].T.reshape(2, -1)
        asked = self._table.cells >= 0
        n = np.empty(len(first))
        for rows in row_blocks(len(first), max(1, CELLS // len(asked))):
            n[rows] = (asked[:, first[rows]] & asked[:, second[rows]]).sum(axis=0)
        count = np.maximum(n, 1)
        return pd.DataFrame(
            {
                "item": [self._table.items[k] for k in first],
                "other": [self._table.items[k] for k in second],
                "n_respondents": n.astype(int),
                "agreement": 1 - candidates[:, 2] / count,
                "expected_agreement": 1 - candidates[:, 3] / count,
                "p": p,
                "p_adjusted": p_adjusted,
            }
        )

    def _strip(self, items: np.ndarray) -> _Strip:
        cells = self._table.cells[:, items]
        asked = (cells >= 0).astype(np.float32)
        model = self._calibration.model.of_items(items)
        chance = model.expected(self._calibration.coords[items], self._ability).T
        chance = chance.astype(np.float32)
        right = (cells == 1).astype(np.float32)
        return _Strip(right, asked - right, asked * chance, asked * (1 - chance))


def _identical(one: _Strip, other: _Strip) -> NDArray[np.float32]:
    """Return probability that each pair is answered alike by every respondent."""
    found = np.ones((one.chance.shape[1], other.chance.shape[1]), dtype=np.float32)
    for p, q, p_other, q_other in zip(one.chance, one.miss, other.chance, other.miss, strict=True):
        found *= 1 - (np.outer(p, q_other) + np.outer(q, p_other))
    return found


def _log_chance(different: Floats, seen: Floats) -> Floats:
    """Return chernoff's bound of the log-probability of at most `seen` differences, (n_pairs,).

    `different` (n_pairs, n_respondents) are the probabilities of a difference. Any tilt gives a
    bound; the one that is best for equal probabilities is used. With no difference it is exact.
    """
    n, mean = np.maximum((different > 0).sum(axis=1), 1), different.sum(axis=1)
    share, usual = np.minimum(seen / n, 1 - 1e-9), np.minimum(mean / n, 1 - 1e-9)
    odds = np.minimum(share * (1 - usual) / np.maximum((1 - share) * usual, 1e-300), 1.0)
    different = np.minimum(different, 1 - 1e-12)
    tilted = np.log1p(different * (odds[:, None] - 1)).sum(axis=1)
    log_p: Floats = tilted - seen * np.log(np.maximum(odds, 1e-300))
    return np.minimum(log_p, 0.0)


def _best(parts: list[Floats], most: int) -> Floats:
    """Return the most surprising rows of all parts."""
    found = np.vstack(parts)
    if len(found) <= most:
        return found
    order = np.argsort(found[:, 4], kind="stable")
    return found[order[:most]]


def _originals(pairs: pd.DataFrame, items: tuple[str, ...]) -> tuple[str, ...]:
    """The earliest item that each item duplicates, if possible one that is no duplicate itself."""
    place = {name: k for k, name in enumerate(items)}
    earlier: dict[str, list[str]] = {}
    for item, other in zip(pairs["item"], pairs["other"], strict=True):
        earlier.setdefault(other, []).append(item)  # the first has the smallest p-value
    found: dict[str, str] = {}
    for name in sorted(earlier, key=place.__getitem__):
        roots = [each for each in earlier[name] if each not in found]
        found[name] = min(roots, key=place.__getitem__) if roots else earlier[name][0]
    return tuple(found.get(name, "") for name in items)


COPIED_ROWS_ALPHA = 0.01  # chance that any pair of a table is taken for copies, at most
TURNS = 12
FARTHEST = 6.0  # log-odds, so that who solves all has some
LEAST_UNIT = 1e-12  # of a variance of scores, so that it can divide
LEAST_SLOPE = 1e-3  # of a sum of variances, so that steps stay finite


@dataclass(frozen=True)
class Copies:
    """Which rows are kept, and of each other one, which it repeats."""

    kept: np.ndarray  # (n_kept,)
    repeats: tuple[tuple[int, int], ...]  # row, and the kept one that it is like


def copied_rows(values: Floats) -> Copies:
    """Find rows of `values`, from 0 to 1 with NaN for gaps, that repeat an earlier one."""
    n_rows = len(values)
    if n_rows < 3 or not values.size:
        return Copies(np.arange(n_rows), ())
    like = _are_copies(values)
    kept: list[int] = []
    repeats = []
    for row in range(n_rows):
        first = next((k for k in kept if like[row, k]), None)
        if first is None:
            kept.append(row)
        else:
            repeats.append((row, first))
    return Copies(np.array(kept), tuple(repeats))


def _are_copies(values: Floats) -> np.ndarray:
    """Which pairs differ on fewer items than two of their abilities would, (n_rows, n_rows)."""
    asked = ~np.isnan(values)
    there = asked.astype(float)
    x = np.where(asked, values, 0.0)
    mean = there * _main_effects(x, there)
    binary = bool(np.isin(x, (0.0, 1.0)).all())
    spread = mean * (1 - mean)
    if not binary:  # what an item leaves unexplained is the unit of its scores
        left = (there * (x - mean) ** 2).sum(axis=0) / there.sum(axis=0)
        unit = np.sqrt(np.maximum(left, LEAST_UNIT))
        x, mean, spread = x / unit, mean / unit, there
    seen = _squares_apart(x, x**2, there)
    expected = _squares_apart(mean, mean**2 + spread, there)
    found: np.ndarray = (seen <= MOST_DIFFERENT * expected) & (expected > 0)
    place = np.nonzero(found)
    common = (there @ there.T)[place]
    pairs = len(values) * (len(values) - 1) / 2
    found[place] = (
        _chance(seen[place], expected[place], common, binary=binary) * pairs <= COPIED_ROWS_ALPHA
    )
    return found


def _chance(seen: Floats, expected: Floats, common: Floats, *, binary: bool) -> Floats:
    """Return how likely independent respondents of these abilities differ so little.

    A sum of trials is no more dispersed than Poisson's of the same mean, which is thus careful;
    scores are taken as normal.
    """
    from scipy.special import chdtr, gammaincc

    p: Floats = gammaincc(seen + 1, expected) if binary else chdtr(common, common * seen / expected)
    return p


def _squares_apart(x: Floats, squares: Floats, there: Floats) -> Floats:
    """Return sums over common items of (x - x')², of independent x with these mean squares."""
    apart = squares @ there.T
    found: Floats = np.maximum(apart + apart.T - 2 * (x @ x.T), 0.0)
    return found


def _main_effects(x: Floats, there: Floats) -> Floats:
    """Return means that rows and columns explain together, on the scale of log-odds."""
    row, column = np.zeros((len(x), 1)), np.zeros((1, x.shape[1]))
    for _ in range(TURNS):
        for axis in (1, 0):
            mean = 1 / (1 + np.exp(-(row + column)))
            left = (there * (x - mean)).sum(axis=axis, keepdims=True)
            slope = (there * mean * (1 - mean)).sum(axis=axis, keepdims=True)
            step = np.clip(left / np.maximum(slope, LEAST_SLOPE), -1.0, 1.0)
            if axis == 1:
                row = np.clip(row + step, -FARTHEST, FARTHEST)
            else:
                column = np.clip(column + step, -FARTHEST, FARTHEST)
    found: Floats = 1 / (1 + np.exp(-(row + column)))
    return found
