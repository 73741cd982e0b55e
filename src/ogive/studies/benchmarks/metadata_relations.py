"""Whether metadata of data sets correlate with the parameters of their items.

Intervals use Fisher's transformation; for ranks, with the variance of Bonett and Wright (2000).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.numerics.rankings import correlation_interval
from ogive.results import Draw, Result
from ogive.studies.benchmarks import CHANCE
from ogive.tables.foreign_frames import with_row_names
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["MetadataRelations", "relate_metadata"]

# One row per data set, or a mapping from names to what ogive.datasets.metadata returns.
Metadata: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]]"
PARAMETERS = ("difficulty", "discrimination", "guessing", "slip")
SUMMARIES = ("mean", "median", "sd")
FEWEST = 4  # data sets; with three, no interval exists
MOST_PERMUTED = 8  # data sets up to which p is exact, over all permutations
LEVEL = 0.05  # false discovery rate of the reported relations


def as_numbers(table: Any, what: str) -> pd.DataFrame:
    """The numeric columns of a table whose index names data sets, each once."""
    import pandas as pd

    table = with_row_names(table)
    if isinstance(table, Mapping):
        table = pd.DataFrame.from_dict(dict(table), orient="index")
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"{what} should be a frame with one row per data set, but it is a "
            f"{type(table).__name__}."
        )
    frame = table.rename(index=str, columns=str)
    for kind, names in (("row", frame.index), ("column", frame.columns)):
        if names.has_duplicates:
            twice = names[names.duplicated()][0]
            raise InputError(f"{what} has the {kind} {twice!r} more than once. Keep one.")
    numbers = frame.select_dtypes(["number", "bool"]).astype(np.float64)
    return numbers.where(np.isfinite(numbers))


def matched(
    datasets: Any, metadata: Any, fewest: int
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Both tables restricted to the data sets they share, and a note on the others."""
    one, other = as_numbers(datasets, "datasets"), as_numbers(metadata, "metadata")
    names = [name for name in one.index if name in other.index]
    if len(names) < fewest:
        raise InputError(
            f"datasets and metadata share {listed(names, 'data set')}, but at least {fewest} are "
            "needed. The index of both should name the data sets in the same way."
        )
    lost = sorted(set(one.index).symmetric_difference(other.index))
    notes = (f"Left out (missing in one table): {listed(lost, 'data set')}.",) if lost else ()
    return one.loc[names], other.loc[names], notes


@dataclass(frozen=True, eq=False, repr=False)
class MetadataRelations(Result):
    """How metadata of data sets correlate with the parameters of their items.

    `low` to `high` is the 95 % interval of `correlation`. `p` tests each correlation alone;
    `p_adjusted` (Benjamini and Hochberg) controls the false discovery rate over all of them.
    """

    metadata: tuple[str, ...]
    parameters: tuple[str, ...]
    n: NDArray[np.intp]  # (n_metadata, n_parameters), as all that follow; data sets with both
    correlation: Floats
    low: Floats
    high: Floats
    p: Floats
    p_adjusted: Floats
    method: str
    notes: tuple[str, ...] = ()

    @property
    def found_nothing(self) -> bool:
        """Whether no relation is significant."""
        return not (self.p_adjusted < LEVEL).any()

    @property
    def meaning(self) -> str:
        """The strongest significant relation, or that there is none."""
        tested = int(np.isfinite(self.p).sum())
        if not tested:
            return "No relation can be tested: no pair has two columns that vary."
        holds = self.p_adjusted < LEVEL
        among = "between metadata and item parameters"
        if not holds.any():
            strongest = self._said(np.isfinite(self.p))
            if tested == 1:
                return f"The only relation {among} is not significant: {strongest}."
            return (
                f"None of {tested:,} relations {among} is significant after correction for "
                f"multiple tests (the strongest: {strongest})."
            )
        return (
            f"{int(holds.sum()):,} of {counted(tested, 'relation')} {among} "
            f"{'is' if holds.sum() == 1 else 'are'} significant after correction for multiple "
            f"tests; the strongest: {self._said(holds)}."
        )

    def _said(self, among: NDArray[np.bool_]) -> str:
        strength = np.where(among, np.abs(self.correlation), -1.0)
        at = np.unravel_index(int(np.argmax(strength)), strength.shape)
        reach = (
            f" ({self.low[at]:z.2f} to {self.high[at]:z.2f})" if np.isfinite(self.low[at]) else ""
        )
        return (
            f"{self.metadata[at[0]]} with {self.parameters[at[1]]}, {self.correlation[at]:.2f}"
            f"{reach}, over {counted(int(self.n[at]), 'data set')}"
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per pair of a metadatum and a parameter."""
        import pandas as pd

        pairs = list(product(self.metadata, self.parameters))
        columns: dict[str, Any] = {
            "metadatum": [one for one, _ in pairs],
            "parameter": [other for _, other in pairs],
        }
        for name in ("n", "correlation", "low", "high", "p", "p_adjusted"):
            columns[name] = getattr(self, name).reshape(-1)
        return pd.DataFrame(columns)

    def matrix(self, value: str = "correlation") -> pd.DataFrame:
        """Metadata × parameters: the correlations, or another column of the frame."""
        import pandas as pd

        if value not in (known := ("correlation", "low", "high", "p", "p_adjusted", "n")):
            raise InputError(f"value is {value!r}, but it should be one of: {', '.join(known)}.")
        return pd.DataFrame(
            getattr(self, value),
            index=pd.Index(self.metadata, name="metadatum"),
            columns=pd.Index(self.parameters, name="item parameter"),
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the correlations, one row per pair and as a matrix."""
        return {"correlations": self.to_frame(), "correlation_matrix": self.matrix()}

    def figures(self) -> dict[str, Draw]:
        """Return the heat map."""
        return {"correlations": self.plot}

    def plot(self, **kw: Any) -> Display:
        """A heat map of the correlations."""
        from ogive.displays import HeatMapDisplay

        return HeatMapDisplay(self.matrix(), low=-1.0, high=1.0).plot(**kw)


def relate_metadata(
    datasets: pd.DataFrame, metadata: Metadata, *, method: str = "spearman"
) -> MetadataRelations:
    """Correlate metadata of data sets with summaries of their item parameters.

    `datasets` has one row per data set with columns such as `difficulty_mean`, as in a decoding:
    mean, median and standard deviation of parameters, and `chance` where it is known. `metadata`
    has one row per data set, by name, or maps names to what `ogive.datasets.metadata` returns.
    `method` is "spearman" (ranks, so outliers count no more than other values) or "pearson". With
    few data sets, Spearman's test is an exact permutation test.

    The frame has one row per metadatum and parameter: n, correlation with low and high, p,
    p_adjusted. After Cardoso et al. (2025).

    >>> import ogive as og
    >>> import pandas as pd
    >>> datasets = pd.DataFrame({"difficulty_mean": [0.1, 0.4, 0.2, 0.9, 0.5]}, list("abcde"))
    >>> metadata = pd.DataFrame({"instances": [100, 300, 200, 500, 400]}, list("abcde"))
    >>> og.relate_metadata(datasets, metadata).correlation.tolist()
    [[1.0]]
    """
    if method not in ("spearman", "pearson"):
        raise InputError(f"method is {method!r}, but it should be 'spearman' or 'pearson'.")
    found, known, notes = matched(datasets, metadata, FEWEST)
    wanted = [CHANCE, *(f"{name}_{part}" for name in PARAMETERS for part in SUMMARIES)]
    parameters = [name for name in wanted if name in found.columns]
    if not parameters:
        raise InputError(
            f"datasets has none of the columns {', '.join(wanted[1:4])}, ... Give the `datasets` "
            "of a decoding."
        )
    if not known.shape[1]:
        raise InputError("metadata has no column of numbers. Give at least one.")
    cells = np.array(
        [
            [
                _related(known[one].to_numpy(), found[other].to_numpy(), method)
                for other in parameters
            ]
            for one in known.columns
        ]
    )
    return MetadataRelations(
        metadata=tuple(known.columns),
        parameters=tuple(parameters),
        n=cells[..., 0].astype(np.intp),
        correlation=cells[..., 1],
        low=cells[..., 2],
        high=cells[..., 3],
        p=cells[..., 4],
        p_adjusted=benjamini_hochberg(cells[..., 4].reshape(-1)).reshape(cells.shape[:2]),
        method=method,
        notes=(*notes, *_notes(known, found[parameters], cells), *_on_scales(parameters)),
    )


def _on_scales(parameters: list[str]) -> tuple[str, ...]:
    """A note that difficulties of data sets are on scales of their own, if chances are known."""
    if CHANCE not in parameters or "difficulty_mean" not in parameters:
        return ()
    note = (
        "Each data set has a scale of its own, so relations with mean and median difficulty say "
        "little; those with chance, how likely a respondent of average ability is right, can be "
        "compared."
    )
    return (note,)


def _related(x: Floats, y: Floats, method: str) -> tuple[float, ...]:
    """Number of pairs, correlation, its 95 % interval and p-value; NaN if undefined."""
    from scipy.stats import pearsonr, rankdata

    there = np.isfinite(x) & np.isfinite(y)
    n, x, y = int(there.sum()), x[there], y[there]
    if n < FEWEST or _constant(x) or _constant(y):
        return n, np.nan, np.nan, np.nan, np.nan
    ranks = method == "spearman"
    if ranks:
        x, y = rankdata(x), rankdata(y)
    test = pearsonr(x, y)
    r = float(test.statistic)
    p = _exact_p(x, y) if ranks and n <= MOST_PERMUTED else float(test.pvalue)
    return n, r, *correlation_interval(r, n, ranks=ranks), p


def _exact_p(x: Floats, y: Floats) -> float:
    """Share of all permutations that correlate at least as strongly."""
    x = x - x.mean()
    every = np.abs(y[_orders(len(y))] @ x)
    return float((every >= abs(y @ x) - 1e-9).mean())


@lru_cache(maxsize=MOST_PERMUTED)
def _orders(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def _constant(values: Floats) -> bool:
    """Whether all values are the same, up to rounding."""
    return bool(np.ptp(values) <= 1e-13 * np.abs(values).max())


def _notes(known: pd.DataFrame, found: pd.DataFrame, cells: Floats) -> tuple[str, ...]:
    notes = []
    columns = {
        str(name): table[name].dropna().to_numpy() for table in (known, found) for name in table
    }
    few = [name for name, values in columns.items() if len(values) < FEWEST]
    constant = [name for name in columns if name not in few and _constant(columns[name])]
    if constant:
        notes.append(f"No correlation (all values are the same): {listed(constant, 'column')}.")
    if few:
        notes.append(
            f"No correlation (fewer than {FEWEST} data sets have a value): {listed(few, 'column')}."
        )
    perfect = int((np.isfinite(cells[..., 1]) & np.isnan(cells[..., 2])).sum())
    if perfect:
        notes.append(f"No interval (the correlation is perfect): {counted(perfect, 'pair')}.")
    return tuple(notes)
