"""Items that contradict good respondents: the posterior odds that a key, or label, is reversed.

A mixture of two models for the answers x of item j, over a grid of rising curves P_c(ability):

    p(x | right)     = Σ_c π_c Π_i P_c(i)^x_i (1 - P_c(i))^(1 - x_i)
    p(x | reversed)  = Σ_s ρ_s Σ_c π_c Π_i Q_sc(i)^x_i (1 - Q_sc(i))^(1 - x_i), Q_sc = s (1 - P_c)
    log odds         = log p(x | reversed) - log p(x | right) + log(ω / (1 - ω))

With a wrong label, whoever would be right is called wrong, and an error is called right if it
happens to be that label: with probability s, which is 1 with two classes and less with more. Curve
weights π, error shares ρ and the share of reversed keys ω are learned from all items by EM
(empirical Bayes; Efron, 2010).

Three things guard against false alarms. Abilities are those of a model in which all items count
alike (1PL), so that wrong keys cannot turn the scale, and the item itself is left out of them.
Respondents who err together count as fewer: log-likelihoods are multiplied by the ratio of the
effective to the actual number of respondents. And ω is estimated, so that it is small in a clean
table. Few respondents do not distinguish a hard item from one whose errors are rarely the wrong
label, so s is taken to be near 1 unless the table is explained better without.

Of repeated answers, each right try counts as right and each other one as wrong, less than one
answer each if the tries of one respondent are alike. Where classes overlap, good classifiers
contradict many right labels as well: that takes the probabilities of `label_noise`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from ogive.checks.residuals import (
    effective_rows,
    informative,
    own_or_given,
    population_nodes,
    ratio,
)
from ogive.data.responses import Responses, Table
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration, once
from ogive.irt.encoded_responses import effective_tries, encode
from ogive.irt.linkage import HELD
from ogive.irt.models.logistic import OnePL
from ogive.irt.quadrature import STANDARD, Posterior
from ogive.stats.array_backend import Floats, evenly_spaced, row_blocks

SLOPES = np.array([0.25, 0.5, 1.0, 1.5, 2.5, 4.0])  # per standard deviation of ability
DIFFICULTIES = np.linspace(-5.0, 5.0, 21)
ERROR_SHARES = np.array([1.0, 0.3, 0.1, 0.03])  # grid of s, the share of errors that are the label
LOWEST, HIGHEST = 0.001, 0.97  # range of probabilities: a lucky hit and a slip are always possible
# Prior of reversed keys (one in twenty, with the weight of ten items) and of the curves (one item).
PRIOR_REVERSED, PRIOR_RIGHT, PRIOR_CURVES = 0.5, 9.5, 1.0
# Two Dirichlet priors of the error shares: near 1 (the weight of six items), or uniform (of one).
# The second is preferred if its log-likelihood is larger by `MIN_GAIN`. It is larger by up to 0.3
# in tables of 14 to 60 respondents with reversed keys, and by 3 to 10 in those of digits, whose
# errors are of nine kinds.
NEAR_ONE, UNIFORM = np.array([5.0, 0.5, 0.25, 0.125]), np.full(4, 0.25)
MIN_GAIN = 0.5
MAX_ITER = 100
MOST_LEARNED_FROM = 2000  # items from which curve weights and shares are learned
MOST_ROWS, MOST_ITEMS = 2000, 1000  # cells used for the effective number of respondents
BINS = 121
CELLS = 1 << 20
MOST_GAINED = 600.0  # log-likelihood of a cell that can be divided out without overflow
SURE_ODDS = np.log(9.0)  # log-odds of 90 %, with which a single item is reported
STRONGEST = 1 / 3  # share of the respondents that are called strong, and of those called weak


@dataclass(frozen=True, eq=False)
class ReversedKeys:
    """Evidence that each item has a reversed key; NaN without responses."""

    items: tuple[str, ...]
    log_odds: Floats  # (n_items,)
    share: float  # estimated share of items with a reversed key
    detectable: float  # share of the items that would be reported if their key were reversed
    effective_respondents: float
    columns: dict[str, Floats]  # further columns, (n_items,) each

    @property
    def log_bayes_factor(self) -> Floats:
        """Log-odds without the prior odds; 0 without responses."""
        return np.asarray(np.nan_to_num(self.log_odds - np.log(self.share / (1 - self.share))))


def find_reversed_keys(calibration: Calibration, responses: Table | None) -> ReversedKeys:
    """Return the evidence of reversed keys for the items of a binary calibration."""
    table, weights = _responses_to_bank(calibration, responses)
    asked = np.flatnonzero((table.cells >= 0).any(axis=0))
    if asked.size == 0:
        raise InputError("No response was observed, so nothing can be said about the labels.")
    part = table if asked.size == table.n_items else table.select(items=asked)
    scale = RaschScale(part, weights, _rasch_calibration(calibration, table, part, weights))
    odds, share, odds_if_reversed = reversed_log_odds(scale)
    ability = calibration.score(table, items_known=True)["ability"].to_numpy()
    columns = {}
    for name, column in _described(calibration, asked, scale, ability).items():
        columns[name] = np.full(table.n_items, 0.0 if name == "n" else np.nan)
        columns[name][asked] = column
    log_odds = np.full(table.n_items, np.nan)
    log_odds[asked] = odds
    detectable = float((odds_if_reversed >= SURE_ODDS).mean())
    columns |= _own_slopes(calibration)
    return ReversedKeys(table.items, log_odds, share, detectable, scale.n_effective, columns)


def _own_slopes(calibration: Calibration) -> dict[str, Floats]:
    """Return discriminations and their probability to be negative, if items have their own."""
    if not calibration.model.own_slopes:
        return {}
    items, known = calibration.items, informative(calibration)
    slope, se = (
        np.where(known, items[name].to_numpy(float), np.nan)
        for name in ("discrimination", "discrimination_se")
    )
    return {
        "discrimination": slope,
        "discrimination_se": se,
        "probability_negative": ndtr(-slope / np.where(se > 0, se, np.nan)),
    }


def _responses_to_bank(
    calibration: Calibration, responses: Table | None
) -> tuple[Responses, Floats]:
    """Return responses with the items of the bank, and the weight of each row."""
    given, weights = own_or_given(calibration, responses, "label_trouble")
    if given.items == calibration.item_names:
        return given, weights
    cells, tries = calibration.placed(given), calibration.placed_tries(given)
    names = given.respondents, calibration.item_names
    if tries is None:
        return Responses.from_codes(cells, *names, "binary"), weights
    return Responses(cells, *names, "binary", tries=tries), weights


def _rasch_calibration(
    calibration: Calibration, table: Responses, part: Responses, weights: Floats
) -> Calibration:
    """Return a 1PL calibration of `part`, the items of `table` that were asked.

    It is the given calibration itself if that is a 1PL, otherwise fitted once per calibration.
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
        and not any(HELD in flags for flags in calibration.flags)
    )
    return calibration if itself else once(calibration, "scale for labels", fitted)


class RaschScale:
    """Posteriors of respondents on a scale to which every item contributes alike (1PL)."""

    def __init__(self, table: Responses, weights: Floats, rasch: Calibration) -> None:
        nodes, mass = population_nodes(rasch.model, rasch.coords, rasch.population)
        self.table, self.weights = table, weights
        tries = None if table.tries is None else effective_tries(table.tries, rasch.dependence)
        self._data = encode(table.cells, rasch.model, weights, collapsing=False, tries=tries)
        self._tries = tries
        self._posterior = Posterior(rasch.model.log_terms(rasch.coords, nodes.coarse), nodes)
        self.log_prob = OnePL().log_prob(rasch.coords, nodes.fine)
        self.mean = float(mass @ nodes.fine)
        self.sd = float(np.sqrt(mass @ (nodes.fine - self.mean) ** 2))
        self.nodes = nodes.fine
        bins = min(BINS, len(nodes.fine))
        self.bin_of = np.arange(len(nodes.fine)) * bins // len(nodes.fine)
        self.bins = np.bincount(self.bin_of, nodes.fine) / np.bincount(self.bin_of)
        self.ability = np.concatenate([post @ nodes.fine for _, post in self.posteriors()])
        self.n_effective = self._effective_respondents()

    def posteriors(self) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of respondents with the posteriors of their abilities, (n_rows, n_nodes)."""
        n_rows, n_items = self.table.shape
        for rows in row_blocks(n_rows, max(16, CELLS // max(n_items, len(self.nodes)))):
            yield rows, self._posterior(self._data.block(rows))[0]

    def counts(self) -> tuple[Floats, Floats]:
        """Return expected numbers of right and wrong answers by ability, (n_items, n_bins) each.

        The ability of each respondent has its posterior without the item in question.
        """
        n_items = self.table.n_items
        right, wrong = (np.zeros((n_items, len(self.bins))) for _ in range(2))
        starts = np.flatnonzero(np.diff(self.bin_of, prepend=-1))
        for rows, posterior in self.posteriors():
            kinds, kind_of = self._kinds_of_cells(rows)
            for items in row_blocks(n_items, 1024):
                for k, (n_right, n_wrong) in enumerate(kinds):
                    own = n_right * self.log_prob[1, items] + n_wrong * self.log_prob[0, items]
                    divided_out = np.exp(np.minimum(-own, MOST_GAINED))
                    chosen = (kind_of[:, items] == k) * self.weights[rows][:, None]
                    weight = chosen / np.maximum(posterior @ divided_out.T, 1e-300)
                    mass = (weight.T @ posterior) * divided_out
                    mass = np.add.reduceat(mass, starts, axis=1)
                    right[items] += n_right * mass
                    wrong[items] += n_wrong * mass
        return right, wrong

    def answers(self, rows: Any, items: Any = slice(None)) -> tuple[Floats, Floats]:
        """Return shares of right answers and numbers of effective tries; both 0 if not asked."""
        cells = self.table.cells[rows][:, items]
        if self._tries is None:
            return np.where(cells > 0, 1.0, 0.0), np.where(cells >= 0, 1.0, 0.0)
        return np.nan_to_num(cells), self._tries[rows][:, items].astype(float)

    def _kinds_of_cells(self, rows: slice) -> tuple[list[tuple[float, float]], np.ndarray]:
        """Return the distinct numbers of right and wrong answers, and which of them cells hold."""
        if self._tries is None:
            return [(0.0, 1.0), (1.0, 0.0)], self.table.cells[rows]
        shares, tries = self.answers(rows)
        pairs = tries * shares + 1j * tries * (1 - shares)
        kinds, kind_of = np.unique(pairs, return_inverse=True)
        return [(float(k.real), float(k.imag)) for k in kinds], kind_of.reshape(pairs.shape)

    def _effective_respondents(self) -> float:
        """Return the number of independent respondents whose errors would be as diverse."""
        rows = evenly_spaced(self.table.n_respondents, MOST_ROWS)
        items = evenly_spaced(self.table.n_items, MOST_ITEMS)
        shares, tries = self.answers(rows, items)
        nearest = np.searchsorted(self.nodes, self.ability[rows]).clip(0, len(self.nodes) - 1)
        right = np.exp(self.log_prob[1][items])[:, nearest].T
        residual = np.sqrt(tries) * (shares - right)
        n = effective_rows(residual)
        if not n:
            return float(len(rows))
        return float(min(n * marchenko_pastur_correction(len(rows), len(items), n), len(rows)))


def marchenko_pastur_correction(n_rows: int, n_items: int, n_apparent: float) -> float:
    """Return the factor by which chance alone makes the largest eigenvalue larger.

    It is (1 + √(rows / items))² for independent rows (Marchenko and Pastur). A much larger
    eigenvalue belongs to rows that err together, to which chance adds less: the typical one,
    weighted by its size, is (1 + rows / items) times the mean.
    """
    aspect = n_rows / n_items
    of_independent, typical = (1 + np.sqrt(aspect)) ** 2, 1 + aspect
    independence = min(1.0, of_independent * n_apparent / n_rows)
    return float(typical + (of_independent - typical) * independence**3)


def reversed_log_odds(scale: RaschScale) -> tuple[Floats, float, Floats]:
    """Return the log-odds of reversed keys, the share of such keys, and the odds if reversed.

    The last are those of each item if all its answers were reversed.
    """
    slope, difficulty = (grid.ravel() for grid in np.meshgrid(SLOPES, DIFFICULTIES, indexing="ij"))
    ability = (scale.bins - scale.mean) / scale.sd
    rising = 1 / (1 + np.exp(-slope[:, None] * (ability - difficulty[:, None])))
    prior = np.exp(-0.5 * (np.log(slope) ** 2 + (difficulty / 2.5) ** 2))
    right, wrong = scale.counts()
    effective_sample_ratio = scale.n_effective / scale.table.n_respondents

    def likelihoods(items: Any, right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
        """Return p(x | key right, c), (n, curves), and p(x | key reversed, s, c), (s, n, curves).

        Each item has its own constant factor.
        """
        logs = []
        for curve in (rising, *(share * (1 - rising) for share in ERROR_SHARES)):
            p = LOWEST + (HIGHEST - LOWEST) * curve
            logs.append(right[items] @ np.log(p).T + wrong[items] @ np.log1p(-p).T)
        scaled = effective_sample_ratio * np.stack(logs)
        scaled -= scaled.max(axis=(0, 2), keepdims=True)
        return np.exp(scaled[0]), np.exp(scaled[1:])

    some = likelihoods(evenly_spaced(len(right), MOST_LEARNED_FROM), right, wrong)
    prior = prior / prior.sum()
    near_one, uniform = (_mixture_by_em(*some, prior, each) for each in (NEAR_ONE, UNIFORM))
    mixture = (uniform if uniform[0] - near_one[0] > MIN_GAIN else near_one)[1]
    curve_weights, error_weights, reversed_share = mixture

    def log_odds(right: Floats, wrong: Floats) -> Floats:
        blocks = []
        for items in row_blocks(len(right), 1024):
            if_right, if_reversed = likelihoods(items, right, wrong)
            marginal = np.maximum(error_weights @ (if_reversed @ curve_weights), 1e-300)
            odds = np.log(marginal) - np.log(np.maximum(if_right @ curve_weights, 1e-300))
            blocks.append(odds + np.log(reversed_share / (1 - reversed_share)))
        return np.concatenate(blocks)

    return log_odds(right, wrong), reversed_share, log_odds(wrong, right)


def _mixture_by_em(
    if_right: Floats, if_reversed: Floats, prior_curves: Floats, prior_shares: Floats
) -> tuple[float, tuple[Floats, Floats, float]]:
    """Return the log-posterior, and curve weights π, error weights ρ and reversed share ω."""
    curve_weights, error_weights = prior_curves, prior_shares / prior_shares.sum()
    reversed_share = PRIOR_REVERSED / (PRIOR_REVERSED + PRIOR_RIGHT)
    for _ in range(MAX_ITER):
        # E step: responsibility of each component for each item.
        responsibility_right = (1 - reversed_share) * if_right * curve_weights
        responsibility_reversed = reversed_share * if_reversed * curve_weights
        responsibility_reversed *= error_weights[:, None, None]
        total = responsibility_right.sum(axis=1) + responsibility_reversed.sum(axis=(0, 2))
        responsibility_right = responsibility_right / total[:, None]
        responsibility_reversed = responsibility_reversed / total[:, None]
        # M step: weights from responsibilities and priors.
        curve_weights = responsibility_right.sum(axis=0) + responsibility_reversed.sum(axis=(0, 1))
        curve_weights = curve_weights + PRIOR_CURVES * prior_curves
        error_weights = responsibility_reversed.sum(axis=(1, 2)) + prior_shares
        n_reversed = responsibility_reversed.sum() + PRIOR_REVERSED
        reversed_share = float(n_reversed / (len(if_right) + PRIOR_REVERSED + PRIOR_RIGHT))
        curve_weights = curve_weights / curve_weights.sum()
        error_weights = error_weights / error_weights.sum()
    log_prior = PRIOR_CURVES * (prior_curves @ np.log(curve_weights))
    log_prior += PRIOR_REVERSED * np.log(reversed_share) + PRIOR_RIGHT * np.log1p(-reversed_share)
    log_posterior = float(np.log(total).sum() + log_prior)
    return log_posterior, (curve_weights, error_weights, reversed_share)


def _described(
    calibration: Calibration, asked: np.ndarray, scale: RaschScale, ability: Floats
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
        squared = x**2 * np.exp(-log_odds) + (1 - x) ** 2 * np.exp(log_odds)
        standardised = tries * (squared - 2 * x * (1 - x))  # the squared standardised residual
        terms = [weight, weight * x, weight * x**2]
        terms += [weight * rest, weight * rest**2, weight * x * rest]
        terms += [strong, strong * x, weak, weak * x, weight * standardised]
        sums += [term.sum(axis=0) for term in terms]
    n, hits, hits2, rest, rest2, both, strong, strong_hits, weak, weak_hits, squares = sums
    spread = np.maximum(hits2 - hits**2 / n, 0.0) * np.maximum(rest2 - rest**2 / n, 0.0)
    return {
        "n": n,
        "share_right": hits / n,
        "share_right_strong": ratio(strong_hits, strong),
        "share_right_weak": ratio(weak_hits, weak),
        "item_rest": ratio(both - hits * rest / n, np.sqrt(np.where(spread > 1e-12, spread, 0))),
        "outfit": squares / n,
    }
