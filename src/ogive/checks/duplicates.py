"""Near-duplicate items, and respondents who copy another one.

Given the abilities, the responses of a respondent to two items differ with the probability
d = P(1 - P') + (1 - P)P', so the number of respondents for whom they differ is a sum of independent
trials. The probability of at most the observed number of differences is bounded by Chernoff's
inequality, which is exact if there is no difference at all: the p-value is conservative with
thirty respondents as well as with thousands. Respondents with correlated errors count as fewer: the
logarithm of the probability is multiplied by their effective share.

Two respondents differ on an item with the same formula, with the P of a model that knows only how
well each respondent does and how easy each item is. Who differs on at most a quarter of what that
expects, and on fewer than chance explains, is a copy or a model that was hardly changed: a pair of
copies is a dimension of its own. Short tests hold many equal rows by chance, so that equality alone
proves nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import chdtr, gammaincc

from ogive.checks.residuals import effective_rows
from ogive.data.responses import Responses
from ogive.irt.calibration import Calibration
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks, workers
from ogive.stats.multiplicity import benjamini_hochberg

ALPHA = 0.05  # share of false discoveries among the pairs called duplicates
MOST_DIFFERENT = 0.25  # share of the expected differences that a near-duplicate may have
STRIP = 512  # items compared at a time
SCREEN = np.log(1e-3)  # pairs that are clearly more probable are not examined further
SLACK = 1.5  # factor of the log-probability by which the bound of the screening may be off
CANDIDATE_CELLS = 10**8  # pairs × respondents examined exactly
FEW_RESPONDENTS = 100  # respondents up to which chance coincidences of patterns are counted
CELLS = 1 << 22
MOST_ROWS, MOST_ITEMS = 2000, 1000  # cells used for the effective number of respondents
COPY_ALPHA = 0.01  # probability that any pair of rows is taken for copies
MAX_ITER = 12
FARTHEST = 6.0  # limit of log-odds, also of rows that solve all
LEAST_UNIT = 1e-12  # of a variance of scores, so that it can divide
LEAST_SLOPE = 1e-3  # of a sum of variances, so that steps stay finite
PAIR_COLUMNS = (
    *("item", "other", "n_respondents", "agreement", "expected_agreement", "p", "p_adjusted"),
)


class Coincidences(NamedTuple):
    """Number of pairs of items answered alike by every respondent, and its expected value."""

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
    """Return the effective number of independent respondents, as a share of all respondents.

    If residuals are independent, the largest eigenvalue of their covariance matrix is about
    (1 + √(respondents / items))² times the mean one (Marchenko and Pastur).
    """
    rows = evenly_spaced(table.n_respondents, MOST_ROWS)
    items = evenly_spaced(table.n_items, MOST_ITEMS)
    cells = table.cells[np.ix_(rows, items)]
    model, coords = calibration.model.of_items(items), calibration.coords[items]
    residual = np.where(cells >= 0, cells - model.expected(coords, ability[rows]).T, 0.0)
    n_effective = effective_rows(residual)
    if not n_effective:
        return 1.0
    n_effective *= (1 + np.sqrt(len(rows) / len(items))) ** 2
    return float(min(n_effective, len(rows)) / table.n_respondents)


def duplicate_items(
    calibration: Calibration, table: Responses, ability: Floats, share: float
) -> DuplicateItems:
    """Find pairs of right-or-wrong items that are answered alike more often than the model expects.

    The items of `calibration` are those of `table`; `ability` is that of its respondents, and
    `share` their effective share. Items are compared in strips, so no items × items table is held
    in memory.
    """
    cells = table.cells
    kept = np.flatnonzero((cells == 1).any(axis=0) & (cells == 0).any(axis=0))  # items that vary
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


def duplicate_notes(duplicates: DuplicateItems, n_respondents: int, share: float) -> list[str]:
    """Return notes on how well near-duplicates can be detected with these respondents."""
    notes = []
    n_effective, alike = round(share * n_respondents), ""
    if n_effective < n_respondents:
        count = counted(max(n_effective, 1), "independent respondent")
        alike = f"; their errors are correlated, so they count as {count}"
    if duplicates.n_pairs and duplicates.least_p * duplicates.n_pairs > ALPHA:
        notes.append(
            f"There are too few respondents ({n_respondents:,}{alike}) to detect near-duplicates "
            f"among {counted(duplicates.n_pairs, 'pair')}: some patterns coincide by chance."
        )
    seen, expected = duplicates.coincidences
    if seen and expected == expected:  # not NaN
        notes.append(
            f"{counted(seen, 'pair')} of items {'is' if seen == 1 else 'are'} answered alike by "
            f"every respondent; the model expects {expected:,.1f} by chance."
        )
    return notes


class _Strip(NamedTuple):
    """Responses and probabilities of some items, (n_respondents, n_items); 0 if not asked."""

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
        pairs = [(left, right) for k, left in enumerate(strips) for right in strips[k:]]
        with workers() as run:
            for rows, n_alike, n_expected in run(partial(self._compare_strips, share), pairs):
                seen, expected = seen + n_alike, expected + n_expected
                best = np.vstack([best, rows])
                if len(best) > most:  # keep the most surprising pairs
                    best = best[np.argsort(best[:, 4], kind="stable")[:most]]
        self.coincidences = Coincidences(seen, expected)
        order = np.lexsort((best[:, 1], best[:, 0]))
        return best[order, :4]

    def _compare_strips(
        self, share: float, strips: tuple[slice, slice]
    ) -> tuple[Floats, int, float]:
        """Return candidates, the number of pairs answered alike by all, and its expected value."""
        left, right = strips
        one = self._strip(self._kept[left])
        other = one if left == right else self._strip(self._kept[right])
        differ = one.right.T @ other.wrong + one.wrong.T @ other.right
        model = one.chance.T @ other.miss + one.miss.T @ other.chance
        once = np.arange(left.start, left.stop)[:, None] < np.arange(right.start, right.stop)
        once &= model > 0  # at least one respondent was asked both
        n_alike = int(np.count_nonzero(once & (differ < 0.5)))
        few = len(self._ability) <= FEW_RESPONDENTS
        n_expected = float(_identical(one, other)[once].sum()) if few else 0.0
        rows, columns = np.nonzero(once & (differ <= MOST_DIFFERENT * model))
        seen = np.round(differ[rows, columns].astype(float))
        mean = model[rows, columns].astype(float)
        # Chernoff's bound for a Poisson variable, which also bounds the sum of trials.
        bound = share * (seen - mean - seen * np.log(np.maximum(seen, 1e-9) / mean))
        pairs = np.stack([rows + left.start, columns + right.start, seen, mean, bound], axis=1)
        return pairs[bound <= SCREEN / SLACK], n_alike, n_expected

    def log_chances(self, pairs: np.ndarray, differ: Floats) -> Floats:
        """Return log-probability of so few differences, or a bound of it, (n_pairs,)."""
        log_p = np.empty(len(pairs))
        for rows in row_blocks(len(pairs), max(1, CELLS // len(self._ability))):
            items, index = np.unique(self._kept[pairs[rows]], return_inverse=True)
            strip = self._strip(items)
            first, second = index.reshape(-1, 2).T
            different = strip.chance[:, first] * strip.miss[:, second]
            different += strip.miss[:, first] * strip.chance[:, second]
            log_p[rows] = _log_chance(different.T.astype(float), differ[rows])
        return log_p

    def described(self, candidates: Floats, p: Floats, p_adjusted: Floats) -> pd.DataFrame:
        """Return the pairs by name, with observed and expected agreement."""
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
    """Return the probability that each pair is answered alike by every respondent."""
    probability = np.ones((one.chance.shape[1], other.chance.shape[1]), dtype=np.float32)
    for p, q, p_other, q_other in zip(one.chance, one.miss, other.chance, other.miss, strict=True):
        probability *= 1 - (np.outer(p, q_other) + np.outer(q, p_other))
    return probability


def _log_chance(different: Floats, seen: Floats) -> Floats:
    """Return Chernoff's bound of the log-probability of at most `seen` differences, (n_pairs,).

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


def _originals(pairs: pd.DataFrame, items: tuple[str, ...]) -> tuple[str, ...]:
    """Return the earliest item that each item duplicates, preferably one that is no duplicate."""
    position = {name: k for k, name in enumerate(items)}
    earlier: dict[str, list[str]] = {}
    for item, other in zip(pairs["item"], pairs["other"], strict=True):
        earlier.setdefault(other, []).append(item)  # the first has the smallest p-value
    original: dict[str, str] = {}
    for name in sorted(earlier, key=position.__getitem__):
        roots = [each for each in earlier[name] if each not in original]
        original[name] = min(roots, key=position.__getitem__) if roots else earlier[name][0]
    return tuple(original.get(name, "") for name in items)


@dataclass(frozen=True)
class Copies:
    """Rows that are kept, and for each other one, which it repeats."""

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
    """Return which pairs differ on fewer items than two of their abilities would, as a matrix."""
    asked = ~np.isnan(values)
    seen = asked.astype(float)
    x = np.where(asked, values, 0.0)
    mean = seen * _main_effects(x, seen)
    binary = bool(np.isin(x, (0.0, 1.0)).all())
    variance = mean * (1 - mean)
    if not binary:  # the unit of an item's scores is what the model leaves unexplained of them
        left = (seen * (x - mean) ** 2).sum(axis=0) / seen.sum(axis=0)
        unit = np.sqrt(np.maximum(left, LEAST_UNIT))
        x, mean, variance = x / unit, mean / unit, seen
    differences = _squared_distances(x, x**2, seen)
    expected = _squared_distances(mean, mean**2 + variance, seen)
    copies: np.ndarray = (differences <= MOST_DIFFERENT * expected) & (expected > 0)
    pairs = np.nonzero(copies)
    # A sum of trials is no more dispersed than Poisson's of the same mean, so that the latter is
    # conservative; scores are taken as normal.
    if binary:
        p = gammaincc(differences[pairs] + 1, expected[pairs])
    else:
        common = (seen @ seen.T)[pairs]
        p = chdtr(common, common * differences[pairs] / expected[pairs])
    copies[pairs] = p * (len(values) * (len(values) - 1) / 2) <= COPY_ALPHA
    return copies


def _squared_distances(x: Floats, squares: Floats, seen: Floats) -> Floats:
    """Return sums over common items of (x - x')², of independent x with these mean squares."""
    own = squares @ seen.T
    return np.asarray(np.maximum(own + own.T - 2 * (x @ x.T), 0.0))


def _main_effects(x: Floats, seen: Floats) -> Floats:
    """Return means that rows and columns explain together, on the scale of log-odds."""
    row, column = np.zeros((len(x), 1)), np.zeros((1, x.shape[1]))
    for _ in range(MAX_ITER):
        for axis in (1, 0):
            mean = 1 / (1 + np.exp(-(row + column)))
            residual = (seen * (x - mean)).sum(axis=axis, keepdims=True)
            slope = (seen * mean * (1 - mean)).sum(axis=axis, keepdims=True)
            step = np.clip(residual / np.maximum(slope, LEAST_SLOPE), -1.0, 1.0)
            if axis == 1:
                row = np.clip(row + step, -FARTHEST, FARTHEST)
            else:
                column = np.clip(column + step, -FARTHEST, FARTHEST)
    return np.asarray(1 / (1 + np.exp(-(row + column))))
