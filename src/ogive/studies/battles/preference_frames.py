"""Frames of a board of preferences: one row per respondent, tests of pairs, groups of battles."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ogive.numerics.arrays import Floats
from ogive.numerics.differing import Differences, differences_by_errors
from ogive.numerics.intervals import normal_reach, t_reach
from ogive.studies.battles.battle_tables import Battles, Ints
from ogive.studies.battles.fitted_strengths import Fitted

if TYPE_CHECKING:
    import pandas as pd


def tests_of(
    found: Fitted, order: Ints, correction: str
) -> tuple[Differences, Floats, Floats, Differences]:
    """Tests of all pairs in rank order, their standard errors and freedoms; and Holm's tests."""
    first, second = np.triu_indices(order.size, 1)
    i, j = order[first], order[second]
    strength, joint = found.strengths.strength, found.covariance
    variance = joint[i, i] + joint[j, j] - 2 * joint[i, j]
    linked = (found.part[i] == found.part[j]) & np.isfinite(found.se[i] + found.se[j])
    se = np.where(linked, np.sqrt(np.maximum(variance, 0.0)), np.nan)
    apart = np.where(found.part[i] == found.part[j], strength[i] - strength[j], np.nan)
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
    """One row per respondent, the best first."""
    import pandas as pd

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
    """How many battles each pair fought, (n_respondents, n_respondents)."""
    cells, n = found.cells, found.cells.n_rivals
    one_way = np.zeros((n, n))
    np.add.at(one_way, (cells.first, cells.second), cells.n)
    return (one_way + one_way.T).astype(np.intp)


def tied(log_tie: float) -> float:
    """Probability that two equals tie."""
    from scipy.special import expit

    return float(expit(log_tie - np.log(2))) if log_tie > -np.inf else 0.0


def first_share(found: Fitted, confidence: float) -> tuple[float, float, float] | None:
    """Share of decided battles between equals that the first wins, with its interval."""
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
    """One row per group: battles, ties, and the discrimination with its interval."""
    import pandas as pd

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
