"""Metadata of data sets against item parameters.

Whether metadata of data sets correlate with the parameters of their items.

Intervals use Fisher's transformation; for ranks, with the variance of Bonett and Wright (2000).

How likely classifiers are right, by bins of data sets along a metadatum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, permutations, product
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.benchmarking import CHANCE
from ogive.data.foreign_frames import with_row_names
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, meant
from ogive.results.plots.banded_curves import CharacteristicDisplay
from ogive.results.plots.figure import Display, tidy
from ogive.results.plots.matrices import HeatMapDisplay
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import correlation_interval
from ogive.stats.multiplicity import benjamini_hochberg

__all__ = ["MetadataBins", "MetadataRelations", "probability_by_metadata", "relate_metadata"]


# one row per data set, or a mapping from names to what `data.datasets.dataset.metadata` returns
Metadata: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]]"
PARAMETERS = ("difficulty", "discrimination", "guessing", "slip")
SUMMARIES = ("mean", "median", "sd")
FEWEST = 4  # data sets; with three, no interval exists
MOST_PERMUTED = 8  # data sets up to which p is exact, over all permutations
LEVEL = 0.05  # false discovery rate of the reported relations


def as_numbers(table: Any, what: str) -> pd.DataFrame:
    """Return the numeric columns of a table whose index names data sets, each once."""
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
    """Return both tables restricted to the data sets they share, and a note on the others."""
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
        """Return one row per pair of a metadatum and a parameter."""
        pairs = list(product(self.metadata, self.parameters))
        columns: dict[str, Any] = {
            "metadatum": [one for one, _ in pairs],
            "parameter": [other for _, other in pairs],
        }
        for name in ("n", "correlation", "low", "high", "p", "p_adjusted"):
            columns[name] = getattr(self, name).reshape(-1)
        return pd.DataFrame(columns)

    def matrix(self, value: str = "correlation") -> pd.DataFrame:
        """Return metadata × parameters: the correlations, or another column of the frame."""
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
        """Return a heat map of the correlations."""
        return HeatMapDisplay(self.matrix(), low=-1.0, high=1.0).plot(**kw)


def relate_metadata(
    datasets: pd.DataFrame, metadata: Metadata, *, method: str = "spearman"
) -> MetadataRelations:
    """Return correlate metadata of data sets with summaries of their item parameters.

    `datasets` has one row per data set with columns such as `difficulty_mean`, as in a decoding:
    mean, median and standard deviation of parameters, and `chance` where it is known. `metadata`
    has one row per data set, by name, or maps names to what
    `ogive.data.datasets.dataset.metadata` returns.
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
    """Return number of pairs, correlation, its 95 % interval and p-value; NaN if undefined."""
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
    """Return share of all permutations that correlate at least as strongly."""
    x = x - x.mean()
    every = np.abs(y[_orders(len(y))] @ x)
    return float((every >= abs(y @ x) - 1e-9).mean())


@lru_cache(maxsize=MOST_PERMUTED)
def _orders(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def _constant(values: Floats) -> bool:
    """Return True if all values are the same, up to rounding."""
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


Parts: TypeAlias = tuple[tuple[str, ...], ...]  # data sets by bin

METADATA_BINS_SUMMARIES = ("difficulty_mean", "discrimination_mean", "guessing_mean")


@dataclass(frozen=True, eq=False, repr=False)
class MetadataBins(Result):
    """Probability of a right response, by bins of data sets in the order of a metadatum.

    Each bin holds equally many data sets. `probability` is the mean over the data sets of a bin on
    which the respondent was scored. The interval from `low` to `high` covers the mean over other
    data sets of this kind (Student's t at `confidence`); it is missing with a single data set.
    """

    metadatum: str
    respondents: tuple[str, ...]
    datasets: Parts
    n: Floats  # (n_respondents, n_bins), as the next three; data sets with a score
    probability: Floats
    low: Floats
    high: Floats
    summary: pd.DataFrame  # one row per bin: its values, and mean parameters of its data sets
    confidence: float
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """How the probability changes from the first bin to the last."""
        first, last = (float(np.nanmean(self.probability[:, k])) for k in (0, -1))
        ends = self.probability[:, -1] - self.probability[:, 0]
        text = (
            f"From the {counted(len(self.datasets[0]), 'data set')} with the lowest "
            f"{self.metadatum} to the {len(self.datasets[-1]):,} with the highest, the mean "
            f"probability of a right response over {counted(len(self.respondents), 'respondent')} "
            f"goes from {first:.2f} to {last:.2f}"
        )
        if len(self.respondents) == 1 or not np.isfinite(ends).any():
            return f"{text}."
        most = int(np.nanargmax(np.abs(ends)))
        apart = self.low[most, -1] > self.high[most, 0] or self.high[most, -1] < self.low[most, 0]
        return (
            f"{text}; it changes most for {self.respondents[most]}, {ends[most]:+.2f}"
            f"{'' if apart else ', but the intervals at both ends overlap'}."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent and bin, in the order of the metadatum."""
        count, n_bins = self.probability.shape
        columns = {
            "respondent": np.repeat(np.array(self.respondents, dtype=object), n_bins),
            "bin": np.tile(np.arange(1, n_bins + 1), count),
            "value": np.tile(self.summary["value"].to_numpy(), count),
            "n": self.n.reshape(-1).astype(np.intp),
            "probability": self.probability.reshape(-1),
            "low": self.low.reshape(-1),
            "high": self.high.reshape(-1),
        }
        return pd.DataFrame(columns)

    def plot(self, **kw: Any) -> Display:
        """Draw one line per respondent over the bins."""
        by = f"bin of {self.metadatum}, lowest first"
        frame = self.to_frame().rename(columns={"bin": by, "probability": "share"})
        return CharacteristicDisplay(frame, by, "probability of a right response").plot(**kw)


def probability_by_metadata(
    datasets: pd.DataFrame,
    classifiers: pd.DataFrame,
    metadata: Metadata,
    metadatum: str,
    *,
    bins: int = 6,
    confidence: float = 0.95,
) -> MetadataBins:
    """Sort data sets by a metadatum, and compute how likely classifiers are right in each bin.

    `datasets` and `classifiers` are those of a decoding: one row per data set with its number of
    `items`, and one row per `dataset` and `respondent` with its `true_score`. `metadata` has one
    row per data set, by name. `bins` is the number of bins, all equally large; data sets with equal
    values stay in the order of `datasets`.

    The frame has one row per respondent and bin: value of the `metadatum`, n, probability with low
    and high at `confidence`. After Cardoso et al. (2025).

    >>> import ogive as og
    >>> import pandas as pd
    >>> names = ["a", "b", "c", "d"]
    >>> datasets = pd.DataFrame({"items": [10, 10, 20, 20]}, names)
    >>> judged = {"dataset": names, "respondent": "forest", "true_score": [9.0, 8.0, 12.0, 10.0]}
    >>> metadata = pd.DataFrame({"classes": [2, 2, 5, 9]}, names)
    >>> found = og.probability_by_metadata(
    ...     datasets, pd.DataFrame(judged), metadata, "classes", bins=2
    ... )
    >>> found.to_frame()["probability"].round(2).tolist()
    [0.85, 0.55]
    """
    if not 0 < confidence < 1:
        raise InputError(
            f"confidence is {confidence}, but it must be between 0 and 1, such as 0.95."
        )
    if bins < 1:
        raise InputError(f"bins is {bins}, but there must be at least one.")
    found, known, notes = matched(datasets, metadata, bins)
    value = _ordered(known, metadatum, bins)
    if len(value) < len(known):
        lost = [name for name in known.index if name not in value.index]
        notes = (*notes, f"Left out (no {metadatum}): {listed(lost, 'data set')}.")
    parts = tuple(tuple(part) for part in np.array_split(value.index.to_numpy(), bins))
    chance = _probabilities(found, classifiers)
    mean, low, high, n = _averages(chance, parts, confidence)
    return MetadataBins(
        metadatum=metadatum,
        respondents=tuple(str(name) for name in chance.index),
        datasets=parts,
        n=n,
        probability=mean,
        low=low,
        high=high,
        summary=_summary(found, value, parts),
        confidence=confidence,
        notes=(*notes, *_ties(value, parts)),
    )


def _ordered(known: pd.DataFrame, metadatum: str, bins: int) -> pd.Series[float]:
    """Return the metadatum of each data set, lowest first."""
    if metadatum not in known.columns:
        raise InputError(
            f"metadata has no column of numbers {metadatum!r}. It has: "
            f"{', '.join(str(name) for name in known.columns[:10]) or 'none'}."
            f"{meant(metadatum, known.columns)}"
        )
    value = known[metadatum].dropna().sort_values(kind="stable")
    if len(value) < bins:
        raise InputError(
            f"{counted(len(value), 'data set')} with {metadatum} cannot fill {bins} bins. "
            "Give fewer bins, or more data sets."
        )
    return value


def _probabilities(datasets: pd.DataFrame, classifiers: pd.DataFrame) -> pd.DataFrame:
    """Mean probability of a right response: respondents × data sets, NaN where not scored."""
    owner = "probability_by_metadata"
    rows = tidy(classifiers, owner, ("true_score",), ("dataset", "respondent"))
    tidy(datasets, owner, ("items",))
    rows = rows.assign(dataset=rows["dataset"].astype(str))
    doubled = rows.duplicated(["dataset", "respondent"])
    if doubled.any():
        row = rows[doubled].iloc[0]
        raise InputError(
            f"classifiers has {str(row['respondent'])[:60]!r} twice on {row['dataset'][:60]!r}. "
            "Give one row per data set and respondent."
        )
    order = list(dict.fromkeys(rows["respondent"]))
    wide = rows.pivot_table(index="respondent", columns="dataset", values="true_score")
    chance = wide.reindex(index=order, columns=list(datasets.index)) / datasets["items"]
    if not np.isfinite(chance.to_numpy()).any():
        raise InputError(
            "classifiers has no true score on any data set of the other tables. Its column "
            "'dataset' should name data sets as their index does."
        )
    return chance


def _averages(
    chance: pd.DataFrame, parts: Parts, confidence: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, ends of its interval, and number of data sets: respondents × bins each."""
    from scipy.stats import t

    cells = [chance[list(part)] for part in parts]
    n = np.stack([part.notna().sum(axis=1).to_numpy(float) for part in cells], axis=1)
    mean = np.stack([part.mean(axis=1).to_numpy() for part in cells], axis=1)
    spread = np.stack([part.std(axis=1, ddof=1).to_numpy() for part in cells], axis=1)
    several = np.where(n > 1, n, np.nan)
    reach = t.ppf(0.5 + confidence / 2, several - 1) * spread / np.sqrt(several)
    return mean, np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0), n


def _summary(datasets: pd.DataFrame, value: pd.Series[float], parts: Parts) -> pd.DataFrame:
    """Return means over the data sets of each bin, with standard errors."""
    names = [name for name in METADATA_BINS_SUMMARIES if name in datasets.columns]
    rows = []
    for part in parts:
        here, among = value.loc[list(part)], datasets.loc[list(part), names]
        row: dict[str, Any] = {"datasets": len(part), "value": here.mean()}
        row |= {"lowest": here.min(), "highest": here.max()}
        for name in names:
            row |= {name: among[name].mean(), f"{name}_se": among[name].sem()}
        rows.append(row)
    return pd.DataFrame(rows, index=pd.RangeIndex(1, len(parts) + 1, name="bin"))


def _ties(value: pd.Series[float], parts: Parts) -> tuple[str, ...]:
    """Return a note if the limit between two bins is arbitrary."""
    ends = [(value[one[-1]], value[other[0]]) for one, other in pairwise(parts)]
    parted = sum(left == right for left, right in ends)
    note = (
        f"{counted(parted, 'limit')} between bins {'separates' if parted == 1 else 'separate'} "
        f"data sets of equal {value.name}; their bins depend only on the order given."
    )
    return (note,) if parted else ()
