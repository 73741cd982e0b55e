"""Strengths of a table of battles, with errors, and the shares of battles that they predict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.intervals import t_reach
from ogive.numerics.paired_comparisons import (
    Cells,
    Curvature,
    Problem,
    Strengths,
    spread_of,
)
from ogive.numerics.paired_errors import Errors, errors_of
from ogive.numerics.paired_links import always_ahead, prior_of, ties_explain_all
from ogive.studies.battles.battle_tables import Battles

Ints = NDArray[np.intp]
Ties = Literal["davidson", "half", "drop"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What is known of the rivals, in the order of their names."""

    cells: Cells
    strengths: Strengths
    errors: Errors
    covariance: Floats  # (n_rivals, n_rivals) of strengths; wider than robust where they are open
    part: Ints  # (n_rivals,): the separate board of each
    open: NDArray[np.bool_]  # (n_rivals,): whose strength only a prior keeps finite
    advantage: tuple[float, float] | None  # log odds of the first among equals, and se
    spread: tuple[float, float]  # interval of the spread of log discriminations
    group_se: Floats  # (n_groups,) of log discriminations
    converged: bool

    @property
    def se(self) -> Floats:
        """Standard errors of strengths; NaN for who was seen in one cluster only."""
        found = np.sqrt(np.diag(self.covariance))
        return np.where(self.errors.clusters > 1, found, np.nan)

    @property
    def counts(self) -> Floats:
        """Battles won, tied and lost of each rival, (3, n_rivals)."""
        cells, n = self.cells, self.cells.n_rivals
        forth, back = (cells.won, cells.tied, cells.lost), (cells.lost, cells.tied, cells.won)
        first, second = (
            np.stack([np.bincount(at, x, n) for x in parts])
            for at, parts in ((cells.first, forth), (cells.second, back))
        )
        return np.asarray(first + second, dtype=np.float64)

    def win_rates(self, confidence: float) -> Floats:
        """Share of battles with the others of its board that each would win, (4, n_rivals).

        Ties count half. Estimate, standard error, low and high; NaN for who is alone.
        """
        from scipy.special import expit

        strengths, n = self.strengths, self.cells.n_rivals
        apart = strengths.strength[:, None] - strengths.strength
        won, tied, lost = strengths.chances(apart)
        edge = (won - lost) / 2
        rivals = (self.part[:, None] == self.part) & ~np.eye(n, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = rivals / rivals.sum(axis=1, keepdims=True)
        rate = (weight * (won + tied / 2)).sum(axis=1)
        bend = weight * ((won + lost) / 4 - edge**2)  # slope of won + tied/2 in the difference
        slopes = np.diag(bend.sum(axis=1)) - bend
        by_tie = -(weight * tied * edge).sum(axis=1)
        joint = self.errors.covariance.copy()
        joint[:n, :n] = self.covariance
        design = np.column_stack([slopes, np.zeros(n), by_tie])
        se = np.sqrt(np.maximum(((design @ joint) * design).sum(axis=1), 0.0))
        se = np.where(self.errors.clusters > 1, se, np.nan)
        odds, reach = np.log(rate / (1 - rate)), se / (rate * (1 - rate))
        reach = t_reach(self.errors.freedom, confidence) * reach
        low, high = (expit(odds + sign * reach) for sign in (-1.0, 1.0))
        return np.stack([rate, se, low, high])


def fit(
    battles: Battles, ties: Ties, clusters: list[Ints], groups: Ints | None, *, position: bool
) -> Fitted:
    """Estimate strengths by maximum likelihood; where data leave some open, a prior holds them."""
    kept = battles.score != 0.5 if ties == "drop" else np.ones(battles.score.size, dtype=bool)
    if not (battles.score != 0.5).any():
        raise InputError("Every battle is a tie, so no respondent is preferred to another.")
    group = np.zeros(kept.size, dtype=np.intp) if groups is None else groups
    n, n_groups = len(battles.rivals), int(group.max()) + 1
    counted = (battles.first[kept], battles.second[kept], battles.score[kept], n, group[kept])
    cells = Cells.of(*counted, n_groups)
    part, strong = always_ahead(cells)
    likely = cells.halved() if ties == "half" else cells
    penalty, open_ = prior_of(part, strong, whole=ties_explain_all(likely))
    problem = Problem(likely, part, penalty, position)
    found, converged = problem.climb(problem.start())
    if position and not (converged and problem.identified()):
        raise InputError(
            "The advantage of the first position cannot be separated from the strengths: give "
            "battles of the same pairs in both orders, or leave out position."
        )
    spread = (0.0, 0.0)
    if n_groups > 1:
        found, spread = spread_of(problem, found)
    errors = errors_of(problem, found, [each[kept] for each in clusters])
    m = cells.n_rivals
    wider = np.where(open_, np.diag(errors.model - errors.covariance)[:m], 0.0)
    covariance = errors.covariance[:m, :m] + np.diag(np.maximum(wider, 0.0))
    return Fitted(
        cells,
        found,
        errors,
        covariance,
        part,
        open_,
        _advantage(problem, found, errors, clusters, kept),
        spread,
        _group_errors(problem, found, errors),
        converged,
    )


def _advantage(
    problem: Problem,
    found: Strengths,
    errors: Errors,
    clusters: list[Ints],
    kept: NDArray[np.bool_],
) -> tuple[float, float] | None:
    """Log odds of the first among equals, with its error; None where order says nothing.

    If it is not part of the model, it is estimated beside it, so that a note can warn.
    """
    m = problem.cells.n_rivals
    if not problem.advantage:
        problem = replace(problem, advantage=True)
        if not problem.identified():
            return None
        found, converged = problem.climb(found)
        if not converged:
            return None
        try:
            errors = errors_of(problem, found, [each[kept] for each in clusters])
        except np.linalg.LinAlgError:  # what tells the order from the strengths lies at infinity
            return None
    return found.advantage, float(np.sqrt(errors.covariance[m, m]))


def _group_errors(problem: Problem, found: Strengths, errors: Errors) -> Floats:
    """Standard errors of log discriminations, which count those of the strengths."""
    if not found.spread:
        return np.zeros(problem.cells.n_groups)
    curve = Curvature.at(found, problem.cells, problem.penalty)
    shared = ((errors.covariance @ curve.pull) * curve.pull).sum(axis=0)
    alone = 1 / curve.own - curve.own**-2 / (1 / curve.own).sum()
    return np.asarray(np.sqrt(alone + np.maximum(shared, 0.0)))
