"""Items that contradict good respondents: a label, or key, that seems to be turned around.

A wrong label turns an item around: whoever would be right is called wrong, and whoever errs is
called right if the error happens to be that label. So an item j with a right label follows some
rising curve P(ability), an item with a wrong one follows share × (1 - P(ability)), where `share`
says how often an error is just that label: 1 with two classes, less with more. How likely each
is, is weighed over all rising curves, in the proportions in which the items of the table have them
(empirical Bayes; Efron, 2010).

Three things guard against false alarms. Abilities are those of a model in which all items count
the same, so that wrong items cannot turn the scale, and the item itself is left out of them.
Respondents who err together count as fewer: the log-likelihood is multiplied by their effective
share. And the share of turned items is estimated, so that a clean table has none.

Few respondents do not tell a hard item from one whose errors are rarely just the wrong label: both
are solved by next to nobody. So `share` is taken to be near 1 unless the table is explained better
without.

Of repeated answers, each try that was right counts as right and each other one as wrong. They count
for less than one answer each as far as tries of one respondent are alike, as where abilities are
scored.

Where classes overlap, good classifiers contradict many right labels as well. Responses alone cannot
tell these from wrong ones: that takes the probabilities of `label_noise`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ogive.checks.residuals import informative, own_or_given, population_nodes, ratio
from ogive.data.responses import Responses, Table
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration, once
from ogive.irt.encoded_responses import effective_tries, encode
from ogive.irt.linkage import HELD
from ogive.irt.models.logistic import OnePL
from ogive.irt.quadrature import STANDARD, Posterior
from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks

SLOPES = np.array(
    [0.25, 0.5, 1.0, 1.5, 2.5, 4.0]
)  # of the curves, per standard deviation of ability
DIFFICULTIES = np.linspace(-5.0, 5.0, 21)
SHARES = np.array([1.0, 0.3, 0.1, 0.03])  # of errors that are just the wrong label
LOWEST, HIGHEST = 0.001, 0.97  # a lucky hit, and a slip, that no curve forbids
# What is known before: one label in twenty is wrong, as sure as ten items make it; curves are
# spread widely, as sure as one item makes it.
WRONG_BEFORE, RIGHT_BEFORE, CURVES_BEFORE = 0.5, 9.5, 1.0
# Proportions of `SHARES`, and as how many wrong labels they count: near 1 as sure as six of them
# make it, or all alike, as sure as one. The second is preferred where its log-likelihood is larger
# by so much. Tables of 14 to 60 respondents whose keys were turned around reach 0.3; those of
# digits, whose errors are of nine kinds, 3 to 10.
NEAR_ONE, ALL_ALIKE = np.array([5.0, 0.5, 0.25, 0.125]), np.full(4, 0.25)
BETTER = 0.5
TURNS = 100
MOST_LEARNED_FROM = 2000  # items from which curves and shares are learned
MOST_ROWS, MOST_ITEMS = 2000, 1000  # for the effective number of respondents
BINS = 121
CELLS = 1 << 20
MOST_GAINED = 600.0  # log-likelihood that a cell may take away, so that nothing overflows
SURE_ODDS = np.log(9.0)  # of a probability of 90 %, with which an item is found by itself
STRONGEST = 1 / 3  # of the respondents are called strong, as many weak


@dataclass(frozen=True, eq=False)
class TurnedItems:
    """How likely each item is turned around, and what stands beside it; NaN: no responses."""

    items: tuple[str, ...]
    log_odds: Floats  # (n_items,)
    share: float  # of all items, estimated
    detectable: float  # share of the items that would be found if they were turned around
    effective_respondents: float
    columns: dict[str, Floats]  # (n_items,) each

    @property
    def log_bayes_factor(self) -> Floats:
        """What the responses add to whatever was known before; 0 where there are none."""
        before = np.log(self.share / (1 - self.share))
        found: Floats = np.nan_to_num(self.log_odds - before)
        return found


def turned_items(calibration: Calibration, responses: Table | None) -> TurnedItems:
    """Return items of a binary calibration that better respondents miss more often."""
    table, weights = _binary(calibration, responses)
    asked = np.flatnonzero((table.cells >= 0).any(axis=0))
    if asked.size == 0:
        raise InputError("No response was observed, so nothing can be said about the labels.")
    part = table if asked.size == table.n_items else table.select(items=asked)
    scale = Scale(part, weights, _plain_scale(calibration, table, part, weights))
    odds, share, if_turned = turned_log_odds(scale)
    ability = calibration.score(table, items_known=True)["ability"].to_numpy()
    columns = {}
    for name, column in _described(calibration, asked, scale, ability).items():
        columns[name] = np.full(table.n_items, 0.0 if name == "n" else np.nan)
        columns[name][asked] = column
    log_odds = np.full(table.n_items, np.nan)
    log_odds[asked] = odds
    detectable = float((if_turned >= SURE_ODDS).mean())
    columns |= _own_slopes(calibration)
    return TurnedItems(table.items, log_odds, share, detectable, scale.effective, columns)


def _own_slopes(calibration: Calibration) -> dict[str, Floats]:
    """Return discriminations, and how likely each is negative, where items have their own."""
    from scipy.special import ndtr

    if not calibration.model.own_slopes:
        return {}
    items = calibration.items
    slope, se = (items[name].to_numpy(float) for name in ("discrimination", "discrimination_se"))
    known = informative(calibration)
    slope, se = (np.where(known, column, np.nan) for column in (slope, se))
    return {
        "discrimination": slope,
        "discrimination_se": se,
        "probability_negative": ndtr(-slope / np.where(se > 0, se, np.nan)),
    }


def _binary(calibration: Calibration, responses: Table | None) -> tuple[Responses, Floats]:
    """Return responses with the items of the bank, and how many respondents each row stands for."""
    given, weights = own_or_given(calibration, responses, "label_trouble")
    if given.items == calibration.item_names:
        return given, weights
    cells, tries = calibration.placed(given), calibration.placed_tries(given)
    names = given.respondents, calibration.item_names
    if tries is None:
        return Responses.from_codes(cells, *names, "binary"), weights
    return Responses(cells, *names, "binary", tries=tries), weights


def _plain_scale(
    calibration: Calibration, table: Responses, part: Responses, weights: Floats
) -> Calibration:
    """Return a 1PL of `part`, the items of `table` that were asked.

    Where a model gives items slopes of their own, wrong labels turn the scale, so that only a 1PL
    will do: the calibration itself if it is one, else one that is fitted once per calibration.
    """

    def fitted() -> Calibration:
        return calibrate(part, OnePL(), weights=weights)

    if table is not calibration.responses:
        return fitted()
    itself = (
        part is table
        and calibration.model == OnePL()
        and calibration.population == STANDARD
        and calibration.engine == "em"
        and calibration.converged
        and not any(HELD in words for words in calibration.flags)
    )
    return calibration if itself else once(calibration, "scale for labels", fitted)


class Scale:
    """Respondents on a scale to which every item contributes the same (1PL)."""

    def __init__(self, table: Responses, weights: Floats, plain: Calibration) -> None:
        nodes, mass = population_nodes(plain.model, plain.coords, plain.population)
        self.table, self.weights = table, weights
        tries = None if table.tries is None else effective_tries(table.tries, plain.dependence)
        self._data = encode(table.cells, plain.model, weights, collapsing=False, tries=tries)
        self._tries = tries
        self._posterior = Posterior(plain.model.log_terms(plain.coords, nodes.coarse), nodes)
        self.log_prob = OnePL().log_prob(plain.coords, nodes.fine)
        self.mean = float(mass @ nodes.fine)
        self.sd = float(np.sqrt(mass @ (nodes.fine - self.mean) ** 2))
        self.nodes = nodes.fine
        bins = min(BINS, len(nodes.fine))
        self.bin_of = np.arange(len(nodes.fine)) * bins // len(nodes.fine)
        self.bins = np.bincount(self.bin_of, nodes.fine) / np.bincount(self.bin_of)
        self.ability = np.concatenate([post @ nodes.fine for _, post in self.posteriors()])
        self.effective = self._effective()

    def posteriors(self) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of respondents, each with where they may stand, (n_rows, n_nodes)."""
        n_rows, n_items = self.table.shape
        for rows in row_blocks(n_rows, max(16, CELLS // max(n_items, len(self.nodes)))):
            yield rows, self._posterior(self._data.block(rows))[0]

    def counts(self) -> tuple[Floats, Floats]:
        """How many right and wrong answers there are at each ability, (n_items, n_bins) each.

        The ability of each respondent is spread over its posterior without the item in question.
        """
        n_items = self.table.n_items
        right, wrong = (np.zeros((n_items, len(self.bins))) for _ in range(2))
        starts = np.flatnonzero(np.diff(self.bin_of, prepend=-1))
        for rows, posterior in self.posteriors():
            kinds, kind_of = self._kinds(rows)
            for items in row_blocks(n_items, 1024):
                for k, (n_right, n_wrong) in enumerate(kinds):
                    gained = n_right * self.log_prob[1, items] + n_wrong * self.log_prob[0, items]
                    without = np.exp(np.minimum(-gained, MOST_GAINED))
                    chosen = (kind_of[:, items] == k) * self.weights[rows][:, None]
                    shares = chosen / np.maximum(posterior @ without.T, 1e-300)
                    spread = (shares.T @ posterior) * without
                    spread = np.add.reduceat(spread, starts, axis=1)
                    right[items] += n_right * spread
                    wrong[items] += n_wrong * spread
        return right, wrong

    def answers(self, rows: Any, items: Any = slice(None)) -> tuple[Floats, Floats]:
        """Shares that are right, and how many answers each is worth; both 0 where never asked."""
        cells = self.table.cells[rows][:, items]
        if self._tries is None:
            return np.where(cells > 0, 1.0, 0.0), np.where(cells >= 0, 1.0, 0.0)
        return np.nan_to_num(cells), self._tries[rows][:, items].astype(float)

    def _kinds(self, rows: slice) -> tuple[list[tuple[float, float]], np.ndarray]:
        """The numbers of right and wrong answers that cells hold, and which of them each has."""
        if self._tries is None:
            return [(0.0, 1.0), (1.0, 0.0)], self.table.cells[rows]
        shares, tries = self.answers(rows)
        pairs = tries * shares + 1j * tries * (1 - shares)
        found, place = np.unique(pairs, return_inverse=True)
        return [(float(pair.real), float(pair.imag)) for pair in found], place.reshape(pairs.shape)

    def _effective(self) -> float:
        """Return how many independent respondents these are worth, given how they err together.

        Residuals of independent respondents have no direction in common: the largest eigenvalue
        of their covariances is the mean one, but for chance.
        """
        rows = evenly_spaced(self.table.n_respondents, MOST_ROWS)
        items = evenly_spaced(self.table.n_items, MOST_ITEMS)
        shares, tries = self.answers(rows, items)
        places = np.searchsorted(self.nodes, self.ability[rows]).clip(0, len(self.nodes) - 1)
        right = np.exp(self.log_prob[1][items])[:, places].T
        residual = np.sqrt(tries) * (shares - right)
        wide = residual.shape[0] <= residual.shape[1]
        products = residual @ residual.T if wide else residual.T @ residual
        largest = float(np.linalg.eigvalsh(products)[-1])
        if largest <= 0:
            return float(len(rows))
        worth = np.trace(products) / largest
        return float(min(worth * _allowance(len(rows), len(items), worth), len(rows)))


def _allowance(n_rows: int, n_items: int, worth: float) -> float:
    """By how much chance alone makes the largest eigenvalue larger, given what rows seem worth.

    Of independent rows it is (1 + √(rows / items))² times the mean one (Marchenko and Pastur). One
    that is much larger is of rows that err together, to which chance adds less: the typical one,
    weighted by its size, is (1 + rows / items) times the mean.
    """
    wide = n_rows / n_items
    by_chance, typical = (1 + np.sqrt(wide)) ** 2, 1 + wide
    alike = min(1.0, by_chance * worth / n_rows)  # 1 if it is no larger than chance makes it
    return float(typical + (by_chance - typical) * alike**3)


def turned_log_odds(scale: Scale) -> tuple[Floats, float, Floats]:
    """Log-odds that each label is wrong, the share of labels that are, and what odds would be.

    The last are those of each item if whoever was right on it had been wrong, and the reverse.
    """
    slope, difficulty = (grid.ravel() for grid in np.meshgrid(SLOPES, DIFFICULTIES, indexing="ij"))
    place = (scale.bins - scale.mean) / scale.sd
    rising = 1 / (1 + np.exp(-slope[:, None] * (place - difficulty[:, None])))
    before = np.exp(-0.5 * (np.log(slope) ** 2 + (difficulty / 2.5) ** 2))
    right, wrong = scale.counts()
    temper = scale.effective / scale.table.n_respondents

    def fit(items: Any, right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
        """Return likelihood of right labels, (n, curves), and wrong ones, (shares, n, curves)."""
        curves = [rising, *(share * (1 - rising) for share in SHARES)]
        found = []
        for curve in curves:
            chance = LOWEST + (HIGHEST - LOWEST) * curve
            found.append(right[items] @ np.log(chance).T + wrong[items] @ np.log1p(-chance).T)
        logs = temper * np.stack(found)
        logs -= logs.max(axis=(0, 2), keepdims=True)
        return np.exp(logs[0]), np.exp(logs[1:])

    learned = fit(evenly_spaced(len(right), MOST_LEARNED_FROM), right, wrong)
    curves, shares, share_wrong = _learned(*learned, before / before.sum())

    def odds(right: Floats, wrong: Floats) -> Floats:
        blocks = row_blocks(len(right), 1024)
        found = (fit(items, right, wrong) for items in blocks)
        return np.concatenate([_log_odds(*each, curves, shares, share_wrong) for each in found])

    return odds(right, wrong), share_wrong, odds(wrong, right)


def _learned(as_right: Floats, as_wrong: Floats, before: Floats) -> tuple[Floats, Floats, float]:
    """Return proportions of the curves and of `SHARES`, and the share of wrong labels."""
    plain, other = (_by_em(as_right, as_wrong, before, each) for each in (NEAR_ONE, ALL_ALIKE))
    return (other if other[0] - plain[0] > BETTER else plain)[1]


def _by_em(
    as_right: Floats, as_wrong: Floats, before: Floats, shares_before: Floats
) -> tuple[float, tuple[Floats, Floats, float]]:
    """Log-likelihood, with what is known before of curves and wrong labels, and what is learned."""
    curves, shares = before, shares_before / shares_before.sum()
    wrong = WRONG_BEFORE / (WRONG_BEFORE + RIGHT_BEFORE)
    for _ in range(TURNS):
        one, other = (1 - wrong) * as_right * curves, wrong * as_wrong * curves
        other *= shares[:, None, None]
        total = one.sum(axis=1) + other.sum(axis=(0, 2))
        one, other = one / total[:, None], other / total[:, None]
        curves = one.sum(axis=0) + other.sum(axis=(0, 1)) + CURVES_BEFORE * before
        shares = other.sum(axis=(1, 2)) + shares_before
        doubtful = other.sum() + WRONG_BEFORE
        wrong = float(doubtful / (len(as_right) + WRONG_BEFORE + RIGHT_BEFORE))
        curves, shares = curves / curves.sum(), shares / shares.sum()
    known = CURVES_BEFORE * (before @ np.log(curves))
    known += WRONG_BEFORE * np.log(wrong) + RIGHT_BEFORE * np.log1p(-wrong)
    return float(np.log(total).sum() + known), (curves, shares, wrong)


def _log_odds(
    as_right: Floats, as_wrong: Floats, curves: Floats, shares: Floats, wrong: float
) -> Floats:
    against = np.maximum(shares @ (as_wrong @ curves), 1e-300)
    odds: Floats = np.log(against) - np.log(np.maximum(as_right @ curves, 1e-300))
    odds += np.log(wrong / (1 - wrong))
    return odds


def _described(
    calibration: Calibration, asked: np.ndarray, scale: Scale, ability: Floats
) -> dict[str, Floats]:
    """Return shares right, item-rest correlation and outfit of the items that were asked."""
    table, n_rows = scale.table, scale.table.n_respondents
    rank = np.argsort(np.argsort(scale.ability, kind="stable"), kind="stable")
    edge = int(np.ceil(STRONGEST * n_rows))
    coords: Floats = calibration.coords[asked]
    sums = np.zeros((11, table.n_items))
    for rows in row_blocks(n_rows, max(16, CELLS // table.n_items)):
        x, tries = scale.answers(rows)
        weight = scale.weights[rows][:, None] * (tries > 0)
        others = np.maximum((tries > 0).sum(axis=1, keepdims=True) - 1, 1)
        rest = (x.sum(axis=1, keepdims=True) - x) / others
        strong = weight * (rank[rows] >= n_rows - edge)[:, None]
        weak = weight * (rank[rows] < edge)[:, None]
        log_odds = calibration.model.log_terms(coords, ability[rows])[1].T
        against = x**2 * np.exp(-log_odds) + (1 - x) ** 2 * np.exp(log_odds)
        surprise = tries * (against - 2 * x * (1 - x))  # the squared standardised residual
        terms = [weight, weight * x, weight * x**2]
        terms += [weight * rest, weight * rest**2, weight * x * rest]
        terms += [strong, strong * x, weak, weak * x, weight * surprise]
        sums += [term.sum(axis=0) for term in terms]
    n, hits, hits2, rest, rest2, both, strong, strong_hits, weak, weak_hits, surprise = sums
    spread = np.maximum(hits2 - hits**2 / n, 0.0) * np.maximum(rest2 - rest**2 / n, 0.0)
    return {
        "n": n,
        "share_right": hits / n,
        "share_right_strong": ratio(strong_hits, strong),
        "share_right_weak": ratio(weak_hits, weak),
        "item_rest": ratio(both - hits * rest / n, np.sqrt(np.where(spread > 1e-12, spread, 0))),
        "outfit": surprise / n,
    }
