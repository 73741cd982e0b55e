"""Preferences: strengths from battles of two, with intervals, ranks, and tests of all pairs.

Bradley and Terry (1952); ties after Davidson (1970).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd

from ogive._validation import checked_share, one_of
from ogive.errors import InputError
from ogive.evaluation.battles import (
    JUDGES,
    PROMPT,
    PROMPTS,
    Battles,
    Fitted,
    Ints,
    Ties,
    fit,
    read_battles,
)
from ogive.evaluation.boards import (
    PairwiseBoard,
    differences_of,
    draw_pairs,
    said_of_risk,
)
from ogive.results.base import Draw
from ogive.results.numbers import counted, joined, listed
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach, t_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction
from ogive.stats.pairwise_tests import Differences, differences_by_errors

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["Preferences", "preferences"]


def tests_of(
    found: Fitted, order: Ints, correction: str
) -> tuple[Differences, Floats, Floats, Differences]:
    """Test all pairs in rank order; return tests, errors, freedoms, and Holm's tests."""
    i, j = (order[side] for side in np.triu_indices(order.size, 1))
    linked = found.part[i] == found.part[j]
    apart, se = differences_of(order, found.strengths.strength, found.covariance)
    se = np.where(linked & np.isfinite(found.se[i] + found.se[j]), se, np.nan)
    apart = np.where(linked, apart, np.nan)
    freedom = np.minimum(found.errors.freedom[i], found.errors.freedom[j])
    tested, family = (
        differences_by_errors(order.size, apart, se, freedom, name) for name in (correction, "holm")
    )
    return tested, se, freedom, family


def board_of(
    table: Battles,
    found: Fitted,
    order: Ints,
    tested: tuple[Differences, Floats, Floats, Differences],
    confidence: float,
) -> pd.DataFrame:
    """Return one row per respondent, the best first."""
    strength, part = found.strengths.strength[order], found.part[order]
    sizes = np.bincount(part)
    level = np.round(strength, 9)
    rank = np.array(
        [1 + ((level > x) & (part == k)).sum() for x, k in zip(level, part, strict=True)]
    )
    low, high = tested[3].rank_limits(confidence)
    high = high - (order.size - sizes[part])
    reach = (t_reach(found.errors.freedom, confidence) * found.se)[order]
    rate, rate_se, rate_low, rate_high = found.win_rates(confidence)[:, order]
    won, tied, lost = found.counts[:, order].astype(np.intp)
    columns = {
        **({"board": part + 1} if part.any() else {}),
        "rank": rank,
        "rank_low": np.minimum(low, rank),
        "rank_high": np.maximum(high, rank),
        "strength": strength,
        "strength_se": found.se[order],
        "strength_low": strength - reach,
        "strength_high": strength + reach,
        "win_rate": rate,
        "win_rate_se": rate_se,
        "win_rate_low": rate_low,
        "win_rate_high": rate_high,
        "n_battles": won + tied + lost,
        "won": won,
        "tied": tied,
        "lost": lost,
        **({"open": found.open[order]} if found.open.any() else {}),
    }
    names = pd.Index([table.rivals[k] for k in order], name="respondent")
    return pd.DataFrame(columns, index=names)


def met(found: Fitted) -> Ints:
    """Return how many battles each pair fought, (n_respondents, n_respondents)."""
    cells, n = found.cells, found.cells.n_rivals
    one_way = np.zeros((n, n))
    np.add.at(one_way, (cells.first, cells.second), cells.n)
    return (one_way + one_way.T).astype(np.intp)


def tied(log_tie: float) -> float:
    """Return probability that two equals tie."""
    from scipy.special import expit

    return float(expit(log_tie - np.log(2))) if log_tie > -np.inf else 0.0


def first_share(found: Fitted, confidence: float) -> tuple[float, float, float] | None:
    """Return share of decided battles between equals that the first wins, with its interval."""
    from scipy.special import expit

    if found.advantage is None or np.isnan(found.advantage[1]):
        return None
    lean, se = found.advantage
    ends = (lean, lean - normal_reach(confidence) * se, lean + normal_reach(confidence) * se)
    middle, low, high = (float(expit(x)) for x in ends)
    return middle, low, high


def groups_of(
    found: Fitted,
    names: tuple[str, ...] | None,
    groups: Ints | None,
    table: Battles,
    confidence: float,
) -> pd.DataFrame:
    """Return one row per group: battles, ties, and the discrimination with its interval."""
    if names is None or groups is None:
        return pd.DataFrame()
    count = np.bincount(groups, minlength=len(names))
    ties = np.bincount(groups, table.score == 0.5, minlength=len(names))
    log = found.strengths.log_discrimination
    reach = normal_reach(confidence) * found.group_se
    columns = {
        "discrimination": np.exp(log),
        "discrimination_se": np.exp(log) * found.group_se,
        "discrimination_low": np.exp(log - reach),
        "discrimination_high": np.exp(log + reach),
        "n_battles": count,
        "share_tied": ties / count,
    }
    frame = pd.DataFrame(columns, index=pd.Index(names, name="group"))
    return frame.sort_values("discrimination", ascending=False, kind="stable")


BIASED = 0.01  # p-value of the advantage of a position at which a note warns


def remarks(
    table: Battles,
    found: Fitted,
    kinds: dict[str, tuple[tuple[str, ...], Ints]],
    by: str | None,
    *,
    position: bool,
    ties: str,
) -> list[str]:
    """Return notes on what a reader should know besides the board."""
    said = []
    if kinds:
        over = " and ".join(f"{len(names):,} in {name}" for name, (names, _) in kinds.items())
        said.append(f"Standard errors are computed over clusters of battles: {over}.")
    said += _of_links(table, found)
    alone = [table.rivals[k] for k in np.flatnonzero(found.errors.clusters < 2)]
    if alone:
        said.append(
            f"{listed(alone, 'respondent')} met others in one cluster only: no error is known."
        )
    if ties == "drop" and (table.score == 0.5).any():
        said.append(f"Ties left out: {counted(int((table.score == 0.5).sum()), 'battle')}.")
    said += _of_position(found, position=position)
    if table.has(*JUDGES) and not {*JUDGES} & {by, *kinds}:
        said.append(
            "Judges are taken as given: intervals hold for these judges. To count that judges "
            'differ, name their column too: cluster=["prompt", "judge"].'
        )
    if by is not None:
        low, high = found.spread
        apart = "are not shown to differ" if low == 0 else "differ"
        said.append(
            f"Discriminations by {by} {apart}: the standard deviation of their logarithms is "
            f"{found.strengths.spread:.2f} (95 % interval: {low:.2f} to {high:.2f}), and each is "
            "drawn to 1 accordingly. Strengths are those at discrimination 1."
        )
    return said


def _of_links(table: Battles, found: Fitted) -> list[str]:
    """Return notes on boards that no battle links, and on strengths that battles leave open."""
    said, parts = [], int(found.part.max()) + 1
    if parts > 1:
        said.append(
            f"There are {parts:,} separate boards that no battle links: ranks, strengths and win "
            "rates hold within each (column board)."
        )
    if found.open.any():
        names = [table.rivals[k] for k in np.flatnonzero(found.open)]
        said.append(
            f"{listed(names, 'respondent')} won, or lost, every battle with some of the others, so "
            "that the battles leave strengths open on one side (column open): a normal prior with "
            "a standard deviation of 3 holds them, and their intervals depend on it."
        )
    if not found.converged:
        said.append("The strengths did not converge: do not rely on them.")
    return said


def _of_position(found: Fitted, *, position: bool) -> list[str]:
    """Return a note on the advantage of the first position, if modelled or evident."""
    share = first_share(found, 0.95)
    if share is None or found.advantage is None:
        return []
    middle, low, high = (f"{100 * x:.0f}" for x in share)
    told = f"{middle} % of decided battles between equals (95 % interval: {low} to {high} %)"
    if position:
        return [f"The respondent that is named first wins {told}; strengths allow for it."]
    lean, se = found.advantage
    if abs(lean) <= normal_reach(1 - BIASED) * se:
        return []
    note = (
        f"The respondent that is named first wins {told}. If judges saw them in this order, "
        "allow for it: position=True."
    )
    return [note]


FIGURES = ("ranks", "pairs", "groups")


@dataclass(frozen=True, eq=False, repr=False)
class Preferences(PairwiseBoard):
    """Respondents by how often they are preferred, with intervals of strength and rank.

    A difference of strengths is the log odds that one is preferred to the other, ties aside.
    Everything is in rank order, the best first; `pairs` and `groups` are further frames.
    """

    kinds = FIGURES
    untested = "not linked"
    board: pd.DataFrame
    difference_se: Floats  # of all pairs, in the order of `np.triu_indices`, as the next two
    freedom: Floats
    met: Ints  # battles of each pair
    tests: Differences
    tie: float  # probability of a tie between equals
    tie_interval: tuple[float, float]
    advantage: tuple[float, float, float] | None  # share of the first between equals, low and high
    groups: pd.DataFrame  # one row per group of battles, with its discrimination; or empty
    n_battles: int
    confidence: float
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def _half_width(self) -> Floats:
        return t_reach(self.freedom, self.confidence) * self.difference_se

    @property
    def meaning(self) -> str:
        """Who is preferred most, who cannot be distinguished from it, and how many pairs differ."""
        row = self.board.iloc[0]
        parts = self.board["board"] if "board" in self.board else self.board["rank"] * 0
        leads = (self.board["rank"] == 1) & (parts == parts.iloc[0])
        first = [str(name) for name in self.board.index[leads]]
        one = len(first) == 1
        others = [name for name in self.leaders if name not in first]
        rate, low, high = (
            f"{100 * row[name]:.0f}" for name in ("win_rate", "win_rate_low", "win_rate_high")
        )
        tested = int(np.isfinite(self.tests.p).sum())
        apart = int((self.tests.p_adjusted <= self.alpha).sum())
        them = "it" if one else "them"
        tail = f"all others that can be compared are significantly below {them}"
        if others:
            tail = f"{listed(others, 'other')} cannot be distinguished from {them}"
        elif not tested:
            tail = "no pair can be tested"
        elif len(first) == len(self.board):
            tail = "nobody is ahead"
        between = f" ({100 * self.confidence:g} % interval: {low} to {high} %)"
        between = "" if np.isnan(row["win_rate_low"]) else between
        risk = f" ({said_of_risk(self.correction, self.alpha)})" if apart else ""
        return (
            f"{f'{first[0]} is' if one else f'{joined(first)} are'} preferred most: "
            f"{'it' if one else 'each'} would win {rate} %{between} of battles with the others, "
            f"ties counted half, and {tail}. {apart:,} of {counted(tested, 'pair')} "
            f"{'differs' if apart == 1 else 'differ'} significantly{risk}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        `tied_with` names respondents that cannot be distinguished from it. `board` numbers groups
        that no battle links, `open` says whose strength the battles leave open on one side.
        """
        return self._with_ties()

    @cached_property
    def pairs(self) -> pd.DataFrame:
        """One row per pair: the difference of strengths with its interval and test.

        `win_rate` is the share of their battles that the first would win, ties counted half. The
        verdict uses `p_adjusted`, which allows for all pairs; the interval is for one pair.
        """
        return super().pairs.assign(n_battles=self.met)

    def _more_of_pairs(self, low: Floats, high: Floats) -> dict[str, Floats]:
        ends = {"": self.tests.difference, "_low": low, "_high": high}
        return {f"win_rate{end}": self._share(value) for end, value in ends.items()}

    def _share(self, difference: Floats) -> Floats:
        """Return share of battles that the first would win, ties counted half."""
        half = self.tie / (1 - self.tie)  # the tie parameter, halved
        with np.errstate(over="ignore"):
            up, down = np.exp(difference / 2), np.exp(-difference / 2)
        found: Floats = (up + half) / (up + down + 2 * half)
        return found

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the board, the pairs, and the groups of battles if there are any."""
        more = {"groups": self.groups} if len(self.groups) else {}
        return {"preferences": self.to_frame(), "pairs": self.pairs, **more}

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        return {kind: partial(self.plot, kind) for kind in FIGURES[: 3 if len(self.groups) else 2]}

    def key_facts(self) -> dict[str, Any]:
        """Return the leaders, how often equals tie, and the share of the first position."""
        return {
            "leaders": self.leaders,
            "tie": [self.tie, *self.tie_interval],
            "first_position": None if self.advantage is None else list(self.advantage),
        }

    def preview(self) -> pd.DataFrame:
        """Return ranks, strengths and win rates."""
        names = ["rank", "rank_low", "rank_high", "strength", "strength_low", "strength_high"]
        return self.to_frame()[[*names, "win_rate", "n_battles"]]

    def plot(self, kind: str = "ranks", **kw: Any) -> Display:
        """Draw win rates and ranks with intervals; differences by "pairs"; or "groups"."""
        if one_of(kind, "kind", FIGURES) == "ranks":
            return self._draw_ranks("win_rate", "share of battles won against the others", **kw)
        if kind == "pairs":
            return draw_pairs(self.pairs, **kw)
        if not len(self.groups):
            raise InputError('kind is "groups", but no groups of battles were asked for with `by`.')
        return self._draw_rows(self.groups, "discrimination", **kw)


def preferences(
    battles: Any,
    by: str | None = None,
    *,
    respondent: str | None = None,
    other: str | None = None,
    winner: str | None = None,
    cluster: str | Sequence[str] | None = PROMPT,
    ties: Ties = "davidson",
    position: bool = False,
    confidence: float = 0.95,
    alpha: float = 0.05,
    correction: Correction = "holm",
) -> Preferences:
    """Rank respondents by battles of two, and test which differences are significant.

    The frame has one row per respondent, the best first: rank, strength and win_rate with low and
    high, n_battles, tied_with. A difference of strengths is the log odds of being preferred.

    Parameters
    ----------
    battles
        A table with one row per battle: two respondents, and the winner by name, as the column it
        stands in ("model_a"), as "a" or "b", as "tie", or as 1, 0.5 or 0 for the first.
    by
        Column of a group of battles, such as "prompt", "category" or "judge". Each group gets a
        discrimination: how clearly it separates the strong from the weak, where 1 is usual.
    respondent
        Column of the respondent that is named first, if it is not recognised.
    other
        Column of the other respondent, if it is not recognised.
    winner
        Column of the winner, if it is not recognised.
    cluster
        Column of what battles share, or two of them, such as "prompt" and "judge": standard errors
        are computed over these. "prompt" is ignored where there is no such column; None takes
        battles as independent.
    ties
        "davidson" models ties; "half" counts each as half a win for both; "drop" leaves them out.
    position
        Whether to allow for an advantage of the respondent that is named first.
    confidence
        Confidence level of all intervals. Rank intervals hold simultaneously for all respondents.
    alpha
        Largest chance of any false discovery among all pairs; with "bh" or "by", the largest
        expected share of false discoveries among the pairs that differ.
    correction
        Correction for multiple tests: "holm", or to find more pairs, "bh" or "by".

    Notes
    -----
    Both respondents answer the same prompt, so how hard it is cancels: no table of preferences
    identifies it. What remains of a prompt is that its battles are alike, which `cluster` counts,
    and how clearly it separates respondents, which `by` estimates.

    Examples
    --------
    >>> import ogive as og
    >>> won = [("a", "b", "a"), ("a", "b", "b"), ("b", "c", "b"), ("b", "c", "tie")]
    >>> won += [("c", "a", "a"), ("c", "a", "c"), ("a", "b", "tie")]
    >>> og.preferences(won).to_frame()["rank"].to_dict()
    {'b': 1, 'a': 2, 'c': 3}
    """
    confidence = checked_share(confidence, "confidence", 0.95)
    alpha = checked_share(alpha, "alpha", 0.05)
    one_of(ties, "ties", get_args(Ties))
    one_of(correction, "correction", CORRECTIONS)
    table = read_battles(battles, respondent, other, winner)
    kinds = _clusters(table, cluster)
    names, groups = (None, None) if by is None else table.column(by, "by")
    found = fit(table, ties, [code for _, code in kinds.values()], groups, position=bool(position))
    order = np.lexsort((-np.round(found.strengths.strength, 9), found.part))
    tested = tests_of(found, order, correction)
    board = board_of(table, found, order, tested, confidence)
    n, log_tie = len(table.rivals), found.strengths.log_tie
    tie_reach = normal_reach(confidence) * np.sqrt(found.errors.covariance[n + 1, n + 1])
    first, second = np.triu_indices(n, 1)
    return Preferences(
        board=board,
        difference_se=tested[1],
        freedom=tested[2],
        met=met(found)[order][:, order][first, second],
        tests=tested[0],
        tie=tied(log_tie),
        tie_interval=(tied(log_tie - tie_reach), tied(log_tie + tie_reach)),
        advantage=first_share(found, confidence),
        groups=groups_of(found, names, groups, table, confidence),
        n_battles=int(found.cells.n.sum()),
        confidence=confidence,
        alpha=alpha,
        correction=correction,
        notes=(*table.notes, *remarks(table, found, kinds, by, position=position, ties=ties)),
    )


def _clusters(
    table: Battles, cluster: str | Sequence[str] | None
) -> dict[str, tuple[tuple[str, ...], Ints]]:
    """Return columns that cluster the battles, each with its names and the place of each battle."""
    if cluster is None:
        return {}
    wanted = [cluster] if isinstance(cluster, str) else list(cluster)
    if wanted == [PROMPT] and not table.has(*PROMPTS):  # a list is how the command line gives it
        return {}
    if len(wanted) > 2:
        raise InputError(
            f"cluster names {len(wanted)} columns, but errors are computed over two at most."
        )
    return {name: table.column(name, "cluster") for name in wanted}
