"""Dimensionality: how many abilities the responses reflect (parallel analysis).

An ability that all items share shows as one large eigenvalue of the correlations between items.
Correlations of chance have large eigenvalues too: how large is seen in tables whose columns were
shuffled, each by itself (Horn, 1965). That is the right comparison for the first dimension only:
right or wrong is not linear in ability, and one strong ability alone leaves a second eigenvalue
that no shuffled table has. So each further one is compared with tables made to hold the dimensions
before it (Green et al., 2012; Ruscio and Roche, 2012). All of them keep every item's responses and
gaps: only their order within a column is new.

Respondents who repeat another one count once (`copied_rows`): two copies agree on what one ability
leaves to chance, and so are a dimension of their own. A second dimension matters not if it is
larger than chance, but by how much it explains beyond chance beside the first: if the first
dominates, one ability describes what the items share (essential unidimensionality).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from ogive.checks.duplicates import copied_rows
from ogive.checks.residuals import Diagnosis
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.response_codes import as_floats
from ogive.results.numbers import counted, listed, said_p
from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks, workers

LEAST_SHARE, LARGEST_SHARE = 1e-12, 0.95  # an item's latent variance that dimensions may explain
AXIS_ITERATIONS = 20
TRIALS, TABLES_PER_TRIAL = 4, 4
LOGISTIC = 1 / 1.702  # factor that makes a logistic number close to a standard normal one
LEAST_COMMON = 3  # respondents who answered both items of a pair that has a correlation
# Near the level, p of a few tables is rough: an eigenvalue this many standard deviations above
# their mean is compared with `TIMES` as many. Fewer than `ROUGH` tables cannot have a p below the
# level at all.
NEAR, TIMES, ROUGH = (0.5, 3.5), 4, 19
ALPHA = 0.05
MOST_RESPONDENTS = 1500  # respondents above which evenly spaced ones stand for all
MOST_ITEMS = 300
MOST_DIMENSIONS = 10
# If the first dimension explains this many times what the second does, both beyond chance, one
# ability describes most. Two abilities of correlation r, asked by half of the items each, have
# about (1 + r) / (1 - r): 1 of none, 3 of 0.5, 9 of 0.8.
DOMINANT = 4.0
CLEARLY = 0.01  # p of a second dimension that is more than narrowly beyond chance


def comparison(
    values: Floats, n_factors: int, n_resamples: int, random: np.random.Generator, actual: Floats
) -> Floats:
    """Return eigenvalues of tables that hold `n_factors` dimensions, (n_tables, n_items).

    There are more tables where the next of the eigenvalues `actual` is near the level.
    """
    ordered = np.sort(values, axis=0)  # what was never asked comes last
    loadings = _latent_loadings(values, ordered, n_factors, random)

    def drawn(count: int) -> Floats:
        tables = (_dealt(values, ordered, loadings, random) for _ in range(count))
        return np.array([eigenvalues(table) for table in tables])

    first = drawn(n_resamples)
    if n_factors == len(actual) or not _is_near(actual[n_factors], first[:, n_factors]):
        return first
    return np.concatenate([first, drawn((TIMES - 1) * n_resamples)])


def _is_near(eigenvalue: float, tables: Floats) -> bool:
    """Return True if more tables could change on which side of the level an eigenvalue is."""
    if len(tables) < ROUGH:
        return False
    above, sd = eigenvalue - tables.mean(), tables.std()
    return bool(NEAR[0] * sd < above < NEAR[1] * sd)


def _dealt(
    values: Floats, ordered: Floats, loadings: Floats, random: np.random.Generator
) -> Floats:
    """Return a table with the same columns, each in an order that the factors of `loadings` give.

    Each cell gets a number, part factors and part chance; the responses of a column are then
    dealt out in the order of these numbers. Without factors, that is a shuffle.
    """
    factors = random.standard_normal((len(values), loadings.shape[1]))
    noise = LOGISTIC * np.sqrt(1 - (loadings**2).sum(axis=1))
    latent = factors @ loadings.T + noise * random.logistic(size=values.shape)
    order = np.argsort(np.where(np.isnan(values), np.inf, latent), axis=0)
    table = np.empty_like(values)
    np.put_along_axis(table, order, ordered, axis=0)
    return table


def _latent_loadings(
    values: Floats, ordered: Floats, n_factors: int, random: np.random.Generator
) -> Floats:
    """Return loadings that make tables whose items share as much as these do, (n_items, n_factors).

    Responses correlate less than the numbers behind them; by how much is found by trial.
    """
    if n_factors == 0 or values.shape[1] == 0:
        return np.zeros((values.shape[1], n_factors))
    wanted = _axis_loadings(_correlations(values), n_factors)
    shared = (wanted**2).sum(axis=1)
    loadings = _limited(wanted)
    for _ in range(TRIALS):
        tables = (_dealt(values, ordered, loadings, random) for _ in range(TABLES_PER_TRIAL))
        mean = np.mean([_correlations(table) for table in tables], axis=0)
        reached = (_axis_loadings(mean, n_factors) ** 2).sum(axis=1)
        factor = np.sqrt(shared / np.maximum(reached, 1e-6))
        loadings = _limited(loadings * np.clip(factor, 0.5, 2.0)[:, None])
    return loadings


def _limited(loadings: Floats) -> Floats:
    """Return loadings that leave each item some chance of its own."""
    share = (loadings**2).sum(axis=1, keepdims=True)
    most = np.minimum(1.0, LARGEST_SHARE / np.maximum(share, LEAST_SHARE))
    return np.asarray(loadings * np.sqrt(most))


def _axis_loadings(correlations: Floats, n_factors: int) -> Floats:
    """Return loadings on the principal axes, (n_items, n_factors)."""
    reduced = correlations.copy()
    shared = np.abs(correlations - np.eye(len(correlations))).max(axis=1)
    for _ in range(AXIS_ITERATIONS):
        np.fill_diagonal(reduced, shared)
        size, vectors = np.linalg.eigh(reduced)
        loadings = vectors[:, -n_factors:] * np.sqrt(np.maximum(size[-n_factors:], 0.0))
        shared = np.minimum((loadings**2).sum(axis=1), 1.0)
    return np.asarray(loadings)


def eigenvalues(values: Floats) -> Floats:
    """Return the eigenvalues of the correlations between columns, in falling order."""
    if values.shape[1] == 0:
        return np.empty(0)
    return np.asarray(np.maximum(np.linalg.eigvalsh(_correlations(values))[::-1], 0.0))


def _correlations(values: Floats) -> Floats:
    """Return pairwise correlations, changed into a positive matrix if there are gaps."""
    asked = ~np.isnan(values)
    centred = np.where(asked, values - np.nanmean(values, axis=0), 0.0)
    if asked.all():
        centred = centred / np.sqrt((centred**2).sum(axis=0))
        return np.asarray(centred.T @ centred)
    seen = asked.astype(float)
    n = np.maximum(seen.T @ seen, 1.0)
    sums, squares = centred.T @ seen, (centred**2).T @ seen
    spread = squares - sums**2 / n
    scale = np.sqrt(np.maximum(spread * spread.T, 0.0))
    useful = (scale > 1e-12) & (n >= LEAST_COMMON)
    covariance = centred.T @ centred - sums * sums.T / n
    rough = np.clip(np.divide(covariance, scale, out=np.zeros_like(scale), where=useful), -1, 1)
    np.fill_diagonal(rough, 1.0)
    return _positive(rough)


def _positive(rough: Floats) -> Floats:
    """Return correlations of pairs, which may contradict each other, as a positive matrix."""
    size, vectors = np.linalg.eigh(rough)
    if size[0] >= 0:
        return rough
    mended: Floats = (vectors * np.maximum(size, 0.0)) @ vectors.T
    scale = np.sqrt(np.diagonal(mended))
    mended /= np.outer(scale, scale)
    return mended


@dataclass(frozen=True, eq=False, repr=False)
class Dimensionality(Diagnosis):
    """How many abilities the responses reflect.

    One entry per dimension. `to_exceed` is the criterion: the 95th percentile of the eigenvalues of
    tables which hold the dimensions before. `shuffled` is that of shuffled tables, which hold none:
    no criterion beyond the first. `p` is the share of tables that hold the dimensions before, the
    real one among them, with an eigenvalue as large, and no smaller than that of the dimension
    before, because dimensions are tested one after the other; `by_chance` is the mean of these
    tables. `n_dimensions` counts the eigenvalues that exceed theirs, up to the first that does not.
    Respondents who repeat another one are left out, and `notes` name them.
    """

    display = "scree"

    eigenvalues: Floats
    to_exceed: Floats
    shuffled: Floats
    by_chance: Floats
    p: Floats
    n_dimensions: int
    n_respondents: int  # that were looked at
    n_items: int
    n_resamples: int
    notes: tuple[str, ...] = ()

    @property
    def ratio(self) -> float:
        """First eigenvalue over the second; NaN where there is no second."""
        if len(self.eigenvalues) < 2 or not self.eigenvalues[1] > 0:
            return float("nan")
        return float(self.eigenvalues[0] / self.eigenvalues[1])

    @property
    def dominance(self) -> float:
        """What the first dimension explains beyond chance, over what the second does.

        NaN where there is no second; infinite where the second explains nothing beyond chance.
        """
        if len(self.eigenvalues) < 2:
            return float("nan")
        first, second = (self.eigenvalues - self.by_chance)[:2]
        return float(first / second) if second > 0 else float("inf")

    def to_frame(self) -> pd.DataFrame:
        """Return one row per dimension, the largest first."""
        count = len(self.eigenvalues)
        return pd.DataFrame(
            {
                "dimension": np.arange(1, count + 1),
                "eigenvalue": self.eigenvalues,
                "share": self.eigenvalues / max(count, 1),
                "to_exceed": self.to_exceed,
                "shuffled": self.shuffled,
                "by_chance": self.by_chance,
                "p": self.p,
                "suggested": np.arange(count) < self.n_dimensions,
            }
        )

    @property
    def meaning(self) -> str:
        """How many abilities there seem to be, and how much the first explains."""
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        who = counted(self.n_respondents, "respondent")
        if self.n_items < 2:
            what = f"{counted(self.n_items, 'item')} whose responses differ"
            return f"With {what}, nothing can be said of dimensions{notes}."
        if self.n_respondents < 3:
            return f"With {who}, nothing can be said of dimensions: any two lie on one line{notes}."
        share, wanted = (values / self.n_items for values in (self.eigenvalues, self.to_exceed))
        if self.n_dimensions == 0:
            return (
                f"With {who}, a first dimension is not shown to be more than chance "
                f"({said_p(self.p[0])}): it would have to explain more than {wanted[0]:.1%} of the "
                f"variance, and it explains {share[0]:.1%}. That does not show that there is "
                f"none{notes}."
            )
        if self.n_dimensions > 1:
            return f"{self._several()}{notes}."
        times = f"{self.ratio:.1f} times the second" if self.ratio == self.ratio else "alone"
        second = ""
        if len(self.eigenvalues) > 1:
            second = (
                f"; with {who}, a second one would have to explain more than {wanted[1]:.1%}, and "
                f"it explains {share[1]:.1%}. Lesser ones stay unseen: `dimension_scale` and "
                "`task_scales` ask for those of tasks that you name"
            )
        return (
            f"One ability is shown, and no second one by this test, which does not know which "
            f"items belong together: the first dimension explains {share[0]:.0%} of the variance, "
            f"{times}{second}{notes}."
        )

    def _several(self) -> str:
        """Return by how much a second dimension is beyond chance, and what follows."""
        most = self.n_dimensions == MOST_DIMENSIONS
        number = f"At least {MOST_DIMENSIONS}" if most else f"{self.n_dimensions}"
        first, second = self.eigenvalues[:2] / self.n_items
        narrowly = "" if self._clear() else ", the second one narrowly"
        return (
            f"{number} dimensions are larger than chance{narrowly}: the first explains {first:.0%} "
            f"of the variance, the second {second:.1%}, where more than "
            f"{self.to_exceed[1] / self.n_items:.1%} is beyond chance ({said_p(self.p[1])}). "
            f"{self._verdict()} A second dimension need not be an ability: items with a turned key "
            "and respondents of one family make one, too"
        )

    def _clear(self) -> bool:
        """Return True if a second dimension is as far beyond chance as the tables can show it."""
        return bool(self.p[1] <= max(CLEARLY, 1 / (self.n_resamples + 1)))

    def _verdict(self) -> str:
        text, times = "Beyond what chance explains, the first has", self.dominance
        if times >= DOMINANT:
            than = "all" if np.isinf(times) else f"{times:.1f} times what the second does"
            return (
                f"{text} {than}: it dominates, so that one ability still describes most of what "
                "the items share."
            )
        if self._clear():
            return f"{text} {times:.1f} times what the second has: one ability is too few."
        return (
            f"{text} {times:.1f} times what the second has: one ability may be too few, but so few "
            "data show it narrowly."
        )


def dimensionality(
    responses: Table, n_resamples: int = 50, random_state: int = 0
) -> Dimensionality:
    """Estimate the number of dimensions by parallel analysis (Horn, 1965).

    The eigenvalues of the items' correlations are compared with those of `n_resamples` shuffled
    tables. Correlations are Pearson's, each over the respondents who answered both items. Items
    with one response only are left out, and respondents who repeat another one: who differ on at
    most a quarter of the items on which two of their abilities should, as copies and models that
    were hardly changed do. Of larger tables, 1500 respondents and 300 items, evenly spaced, are
    used, and `notes` says so. At most 10 dimensions are considered. Where p is near 0.05, four
    times as many tables are compared.

    `responses` are respondents × items. The frame has one row per dimension: eigenvalue, share of
    the variance, to_exceed (the criterion), shuffled, by_chance, p, suggested. The same
    `random_state` gives the same result.

    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 300, 12, random_state=0).responses
    >>> og.dimensionality(drawn, n_resamples=20).n_dimensions
    1
    """
    table = as_responses(responses)
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, int) or n_resamples < 1:
        raise InputError(
            f"`n_resamples` must be a whole number of shuffled tables from 1, got {n_resamples!r}."
        )
    try:
        random = np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InputError(f"random_state is {random_state!r}: {error}.") from error
    values, notes = _selected_values(table)
    with workers(1):  # many small matrices: threads would only wait for each other
        actual = eigenvalues(values)
        shuffled = comparison(values, 0, n_resamples, random, actual)
        criteria, n_dimensions = _compared(values, actual, shuffled, n_resamples, random)
    return Dimensionality(
        eigenvalues=actual,
        to_exceed=criteria[0],
        shuffled=_criterion(shuffled),
        by_chance=criteria[1],
        p=criteria[2],
        n_dimensions=n_dimensions,
        n_respondents=values.shape[0],
        n_items=values.shape[1],
        n_resamples=n_resamples,
        notes=tuple(notes),
    )


def _compared(
    values: Floats, actual: Floats, shuffled: Floats, n_resamples: int, random: np.random.Generator
) -> tuple[Floats, int]:
    """Return criterion, mean and p of each eigenvalue, and how many exceed theirs in sequence."""
    to_exceed, by_chance, p = np.empty((3, len(actual)))
    tables = shuffled
    for k in range(min(MOST_DIMENSIONS, len(actual)) + 1):
        if k > 0:
            tables = comparison(values, k, n_resamples, random, actual)
        # Dimensions after the first that does not exceed its criterion keep these tables.
        # Curves that are no straight lines, as of items that can be guessed, pass for dimensions
        # beside tables of straight ones; so each has to exceed what shuffled tables have, too.
        both = tables[:, k:], shuffled[:, k:]
        to_exceed[k:] = np.maximum(*(_criterion(each) for each in both))
        by_chance[k:] = np.maximum(*(each.mean(axis=0) for each in both))
        p[k:] = np.maximum(
            *((1 + (each >= actual[k:]).sum(axis=0)) / (len(each) + 1) for each in both)
        )
        if k == len(actual) or actual[k] <= to_exceed[k]:
            break
    else:
        k = MOST_DIMENSIONS
    return np.stack([to_exceed, by_chance, np.maximum.accumulate(p)]), k


def _criterion(tables: Floats) -> Floats:
    """Return the value with a p-value of at most `ALPHA`, if there are tables enough."""
    rank = max(1, int(ALPHA * (len(tables) + 1)))
    return np.asarray(np.sort(tables, axis=0)[-rank])


def _selected_values(table: Responses) -> tuple[Floats, list[str]]:
    """Return responses as numbers, thinned, without copies and constant items, and notes."""
    rows = evenly_spaced(table.n_respondents, MOST_RESPONDENTS)
    notes = []
    if len(rows) < table.n_respondents:
        notes.append(f"from {len(rows):,} of {counted(table.n_respondents, 'respondent')}")
    constant = _constant(table, rows)
    values, chosen = _values_of_chosen(table, rows, constant)
    copies = copied_rows(values)
    if copies.repeats:
        names = [
            f"{table.respondents[rows[row]]} like {table.respondents[rows[kept]]}"
            for row, kept in copies.repeats
        ]
        notes.append(
            "left out, because what they answered is (nearly) a copy of another's: "
            f"{listed(names, 'respondent')}"
        )
        rows = rows[copies.kept]
        constant = _constant(table, rows)
        values, chosen = _values_of_chosen(table, rows, constant)
    if constant.any():
        names = [table.items[k] for k in np.flatnonzero(constant)]
        notes.append(f"left out, because all responses are the same: {listed(names, 'item')}")
    n_differing = int((~constant).sum())
    if chosen.size < n_differing:
        others = " other" if constant.any() else ""
        notes.append(f"from {chosen.size:,} of the {n_differing:,}{others} items, evenly spaced")
    return values, notes


def _values_of_chosen(
    table: Responses, rows: np.ndarray, constant: np.ndarray
) -> tuple[Floats, np.ndarray]:
    """Return responses from 0 to 1 to evenly spaced items that differ, and which these are."""
    differing = np.flatnonzero(~constant)
    chosen = differing[evenly_spaced(differing.size, MOST_ITEMS)]
    values = as_floats(table.cells[np.ix_(rows, chosen)])
    low, high = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return np.asarray((values - low) / (high - low)), chosen  # squares of tiny scores would vanish


def _constant(table: Responses, rows: np.ndarray) -> np.ndarray:
    """Return the items to which these respondents gave at most one distinct response."""
    same = np.empty(table.n_items, dtype=bool)
    for items in row_blocks(table.n_items, MOST_ITEMS):
        values = as_floats(table.cells[rows, items])
        low = np.where(np.isnan(values), np.inf, values).min(axis=0)
        high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
        same[items] = low >= high
    return same
