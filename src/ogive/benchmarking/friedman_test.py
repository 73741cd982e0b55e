"""Whether respondents differ over items: the tests of Friedman and Nemenyi.

Demsar (2006) advises them for classifiers over data sets. The correction of the F test is that
of Iman and Davenport (1980). SciPy holds the distributions, so that no further package is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.data.responses import Responses, Table
from ogive.data.study_tables import rivals, without_marks
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, said_p, who_has
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import ROUNDING, runs_within
from ogive.stats.pairwise_tests import first_places, letter

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display


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
        best, one = first[0], len(first) == 1
        tested = f"over {counted(len(self.items), self.unit)} (Friedman, {said_p(self.p)})"
        if self.p >= self.alpha:
            return f"The {len(self.respondents):,} respondents cannot be distinguished {tested}."
        alike = next((group for group in self.groups if best in group), (best,))
        others = [name for name in alike if name not in first]
        rest = counted(len(self.respondents) - len(first), "other")
        tail = (
            f"{listed(others, 'other')} cannot be distinguished from {'it' if one else 'them'}"
            if others
            else f"{'it differs' if one else 'they differ'} from all {rest}"
        )
        return (
            f"The respondents differ {tested}; {who_has(first)} the best mean rank, "
            f"{self.mean_rank.min():.2f}, and {tail} (critical difference "
            f"{self.critical_difference:.2f})."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per respondent, the best first; who shares a letter cannot be distinguished."""
        import pandas as pd

        groups = self.groups
        letters = [
            "".join(letter(k) for k, g in enumerate(groups) if name in g)
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
        """One row per pair: difference of mean ranks, Nemenyi's p-value, whether they differ."""
        import pandas as pd

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
        """Demsar's diagram of critical differences, or with "pairs" the p-value of each pair."""
        import pandas as pd

        from ogive.results.plots import DISPLAYS
        from ogive.results.plots.matrices import HeatMapDisplay

        if kind == "ranks":
            return DISPLAYS["critical_difference"](self.to_frame()).plot(**kw)
        if kind == "pairs":
            names = list(self.respondents)
            across = pd.Index(names, name="p-value (Nemenyi)")
            frame = pd.DataFrame(self.pairwise_p, index=names, columns=across)
            return HeatMapDisplay(frame, low=0.0, high=1.0).plot(**kw)
        raise InputError(f"kind is {kind!r}, but it should be 'ranks' or 'pairs'.")


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
    if not 0 < alpha < 1:
        raise InputError(f"alpha is {alpha}, but it must be between 0 and 1, such as 0.05.")
    table, marks = without_marks(rivals(scores, "compare_ranks"))
    ranks, items, notes = _ranked(table, unit)
    n, k = ranks.shape
    mean = ranks.mean(axis=0)
    step = np.sqrt(k * (k + 1) / (6.0 * n))  # sd of a difference of mean ranks, by √2
    return RankComparison(
        respondents=table.respondents,
        items=items,
        mean_rank=mean,
        se=ranks.std(axis=0, ddof=1) / np.sqrt(n),
        **_friedman(ranks),
        **_nemenyi(mean, step, alpha),
        alpha=alpha,
        unit=unit,
        notes=(*marks, *notes),
    )


def _ranked(table: Responses, unit: str) -> tuple[Floats, tuple[str, ...], tuple[str, ...]]:
    """Return ranks, (n_items, n_respondents), 1 for the highest score, on items with all scores."""
    from scipy.stats import rankdata

    values = table.cells.T
    whole = [not np.isnan(row).any() for row in values]
    if sum(whole) < 2:
        raise InputError(
            f"On {counted(sum(whole), unit)} every respondent has a score, but the test "
            f"needs at least two. Leave out respondents with gaps, or give more {unit}s."
        )
    lost = [name for name, kept in zip(table.items, whole, strict=True) if not kept]
    notes = (f"Left out, since scores are missing: {listed(lost, unit)}.",) if lost else ()
    items = tuple(name for name, kept in zip(table.items, whole, strict=True) if kept)
    return rankdata(-values[whole], axis=1), items, notes


def _friedman(ranks: Floats) -> dict[str, Any]:
    """Return Friedman's chi-square, corrected for ties, and the F of Iman and Davenport."""
    from scipy.stats import chi2, f

    n, k = ranks.shape
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    total = ((ranks - (k + 1) / 2) ** 2).sum()
    if total == 0:  # all tied everywhere: nothing speaks for a difference
        return {"friedman": 0.0, "p": 1.0, "f": 0.0, "f_p": 1.0}
    square = n * (k - 1) * between / total
    rest = n * (k - 1) - square
    ratio = (n - 1) * square / rest if rest > ROUNDING else np.inf
    return {
        "friedman": float(square),
        "p": float(chi2.sf(square, k - 1)),
        "f": float(ratio),
        "f_p": float(f.sf(ratio, k - 1, (k - 1) * (n - 1))),
    }


def _nemenyi(mean: Floats, step: float, alpha: float) -> dict[str, Any]:
    """Critical difference and p-value of each pair, by the range of k independent normals."""
    from scipy.stats import studentized_range

    k, root = mean.size, np.sqrt(2.0)
    first, second = np.triu_indices(k, 1)
    apart = np.abs(mean[first] - mean[second]) / step
    p = np.ones((k, k))
    p[first, second] = p[second, first] = studentized_range.sf(apart * root, k, np.inf)
    critical = float(studentized_range.ppf(1.0 - alpha, k, np.inf) / root * step)
    return {"critical_difference": critical, "pairwise_p": p}
