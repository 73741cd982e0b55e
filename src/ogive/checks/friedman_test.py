"""Whether respondents differ over items: the tests of Friedman and Nemenyi.

Demsar (2006) advises them for classifiers over data sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from ogive._validation import checked_share, one_of
from ogive.data.responses import Table
from ogive.data.study_tables import rivals, without_marks
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, said_p, who_has
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import ROUNDING, runs_within
from ogive.stats.pairwise_tests import first_places, letter
from ogive.stats.rank_tests import friedman_tests, nemenyi_test


@dataclass(frozen=True, eq=False, repr=False)
class RankComparison(Result):
    """Mean ranks of respondents over items or data sets, and which of them differ.

    Rank 1 is the best on an item; equal scores share their mean rank. `friedman` with `p` tests
    whether all are alike, corrected for ties, and `f` with `f_p` is its sharper form. Two
    respondents differ where their mean ranks are at least `critical_difference` apart;
    `pairwise_p` holds the p-value of each pair.
    """

    respondents: tuple[str, ...]
    items: tuple[str, ...]  # on which every respondent has a score
    mean_rank: Floats  # (n_respondents,)
    se: Floats  # (n_respondents,); over items
    friedman: float
    p: float
    f: float
    f_p: float
    critical_difference: float
    pairwise_p: Floats  # (n_respondents, n_respondents)
    alpha: float
    unit: str = "item"  # what an item is called in sentences
    notes: tuple[str, ...] = ()

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """Respondents that cannot be distinguished, best first: largest sets of at least two."""
        order = np.argsort(self.mean_rank, kind="stable")
        runs = runs_within(self.mean_rank[order], self.critical_difference)
        return tuple(tuple(self.respondents[k] for k in order[a:b]) for a, b in runs)

    @property
    def meaning(self) -> str:
        """Whether there is a difference, and who shares the first place."""
        first = [self.respondents[k] for k in first_places(-self.mean_rank)]
        one = len(first) == 1
        tested = f"over {counted(len(self.items), self.unit)} (Friedman, {said_p(self.p)})"
        if self.p >= self.alpha:
            return f"The {len(self.respondents):,} respondents cannot be distinguished {tested}."
        alike = next((group for group in self.groups if first[0] in group), ())
        others = [name for name in alike if name not in first]
        if others:
            tail = (
                f"{listed(others, 'other')} cannot be distinguished from {'it' if one else 'them'}"
            )
        else:
            rest = counted(len(self.respondents) - len(first), "other")
            tail = f"{'it differs' if one else 'they differ'} from all {rest}"
        return (
            f"The respondents differ {tested}; {who_has(first)} the best mean rank, "
            f"{self.mean_rank.min():.2f}, and {tail} (critical difference "
            f"{self.critical_difference:.2f})."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        Respondents that share a letter cannot be distinguished.
        """
        groups = self.groups
        letters = [
            "".join(letter(k) for k, group in enumerate(groups) if name in group)
            for name in self.respondents
        ]
        columns = {
            "mean_rank": self.mean_rank,
            "se": self.se,
            "critical_difference": self.critical_difference,
            "group": letters,
        }
        frame = pd.DataFrame(columns, index=pd.Index(self.respondents, name="respondent"))
        return frame.sort_values("mean_rank", kind="stable")

    def pairs(self) -> pd.DataFrame:
        """Return one row per pair: difference of mean ranks, Nemenyi's p-value, verdict."""
        first, second = np.triu_indices(len(self.respondents), 1)
        names = np.array(self.respondents, dtype=object)
        difference = self.mean_rank[first] - self.mean_rank[second]
        columns = {
            "respondent": names[first],
            "other": names[second],
            "difference": difference,
            "p": self.pairwise_p[first, second],
            "differ": np.abs(difference) >= self.critical_difference - ROUNDING,
        }
        return pd.DataFrame(columns)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the mean ranks and the pairs."""
        return {"ranks": self.to_frame(), "rank_pairs": self.pairs()}

    def figures(self) -> dict[str, Draw]:
        """Return the diagram of critical differences."""
        return {"critical_differences": self.plot}

    def plot(self, kind: str = "ranks", **kw: Any) -> Display:
        """Draw Demsar's diagram of critical differences, or the p-values ("pairs")."""
        from ogive.results.plots.matrices import HeatMapDisplay

        if one_of(kind, "kind", ("ranks", "pairs")) == "ranks":
            return DISPLAYS["critical_difference"](self.to_frame()).plot(**kw)
        names = list(self.respondents)
        columns = pd.Index(names, name="p-value (Nemenyi)")
        frame = pd.DataFrame(self.pairwise_p, index=names, columns=columns)
        return HeatMapDisplay(frame, low=0.0, high=1.0).plot(**kw)


def compare_ranks(scores: Table, *, alpha: float = 0.05, unit: str = "item") -> RankComparison:
    """Test whether respondents differ over items, and which pairs do.

    `scores` has one row per respondent and one column per item, for instance a data set; higher is
    better. Items on which someone has no score (NaN) are left out, and so are the artificial
    respondents of the paper's pool: they are marks, not rivals. `alpha` is the chance to
    find any difference where there is none. `unit` is what an item is called in sentences.

    Friedman's test, then Nemenyi's critical difference (Demsar, 2006). The frame has one row per
    respondent, the best first: mean_rank (1 is best), se, critical_difference, group.

    >>> import ogive as og
    >>> import numpy as np
    >>> scores = np.random.default_rng(0).normal([[0.0], [0.1], [3.0]], 1.0, (3, 20))
    >>> og.compare_ranks(scores).to_frame()["mean_rank"].tolist()
    [1.0, 2.4, 2.6]
    """
    checked_share(alpha, "alpha", 0.05)
    table, marks = without_marks(rivals(scores, "compare_ranks"))
    values = table.cells.T
    complete = ~np.isnan(values).any(axis=1)
    if complete.sum() < 2:
        raise InputError(
            f"At least two {unit}s must have a score of every respondent, got "
            f"{int(complete.sum())}. Leave out respondents with gaps, or give more {unit}s."
        )
    ranks = rankdata(-values[complete], axis=1)  # 1 for the highest score
    left_out = [table.items[k] for k in np.flatnonzero(~complete)]
    lost = (f"Left out, since scores are missing: {listed(left_out, unit)}.",) if left_out else ()
    mean_rank = ranks.mean(axis=0)
    critical_difference, pairwise_p = nemenyi_test(mean_rank, len(ranks), alpha)
    return RankComparison(
        respondents=table.respondents,
        items=tuple(table.items[k] for k in np.flatnonzero(complete)),
        mean_rank=mean_rank,
        se=ranks.std(axis=0, ddof=1) / np.sqrt(len(ranks)),
        **friedman_tests(ranks),
        critical_difference=critical_difference,
        pairwise_p=pairwise_p,
        alpha=alpha,
        unit=unit,
        notes=(*marks, *lost),
    )
