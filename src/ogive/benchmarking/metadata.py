"""Metadata of data sets against the parameters of their items: correlations, and success by bins.

Intervals use Fisher's transformation; for ranks, with the variance of Bonett and Wright (2000).
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
from scipy.stats import pearsonr, rankdata, t

from ogive._validation import checked_share, one_of, whole_number
from ogive.benchmarking import CHANCE
from ogive.data.foreign_frames import with_row_names
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed
from ogive.results.plots.figure import Display, tidy
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import correlation_interval
from ogive.stats.multiplicity import benjamini_hochberg

__all__ = ["MetadataBins", "MetadataRelations", "probability_by_metadata", "relate_metadata"]

# One row per data set, or a mapping from names to what `data.datasets.dataset.metadata` returns.
Metadata: TypeAlias = "pd.DataFrame | Mapping[str, Mapping[str, float]]"
Bins: TypeAlias = tuple[tuple[str, ...], ...]  # data sets by bin
PARAMETERS = ("difficulty", "discrimination", "guessing", "slip")
SUMMARIES = ("mean", "median", "sd")
FIGURES = ("n", "correlation", "low", "high", "p", "p_adjusted")  # of each relation
FEWEST = 4  # data sets; with three, no interval exists
MOST_PERMUTED = 8  # data sets up to which p is exact, over all permutations
LEVEL = 0.05  # false discovery rate of the reported relations
ON_SCALES = (
    "Each data set has a scale of its own, so relations with mean and median difficulty say "
    "little; those with chance, how likely a respondent of average ability is right, can be "
    "compared."
)


def _numeric_columns(table: Any, name: str) -> pd.DataFrame:
    """Return the numeric columns of a table whose index names data sets, each once."""
    table = with_row_names(table)
    if isinstance(table, Mapping):
        table = pd.DataFrame.from_dict(dict(table), orient="index")
    if not isinstance(table, pd.DataFrame):
        raise InputError(
            f"{name} should be a frame with one row per data set, but it is a "
            f"{type(table).__name__}."
        )
    frame = table.rename(index=str, columns=str)
    for kind, labels in (("row", frame.index), ("column", frame.columns)):
        if labels.has_duplicates:
            twice = labels[labels.duplicated()][0]
            raise InputError(f"{name} has the {kind} {twice!r} more than once. Keep one.")
    numbers = frame.select_dtypes(["number", "bool"]).astype(np.float64)
    return numbers.where(np.isfinite(numbers))


def _shared_datasets(
    datasets: Any, metadata: Any, fewest: int
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return both tables restricted to the data sets they share, and a note on the others."""
    one, other = _numeric_columns(datasets, "datasets"), _numeric_columns(metadata, "metadata")
    names = [name for name in one.index if name in other.index]
    if len(names) < fewest:
        raise InputError(
            f"datasets and metadata share {listed(names, 'data set')}, but at least {fewest} are "
            "needed. The index of both should name the data sets in the same way."
        )
    lost = sorted(set(one.index).symmetric_difference(other.index))
    notes = [f"Left out (missing in one table): {listed(lost, 'data set')}."] if lost else []
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
        """True if no relation is significant."""
        return not (self.p_adjusted < LEVEL).any()

    @property
    def meaning(self) -> str:
        """The strongest significant relation, or that there is none."""
        n_tested = int(np.isfinite(self.p).sum())
        if not n_tested:
            return "No relation can be tested: no pair has two columns that vary."
        significant = self.p_adjusted < LEVEL
        among = "between metadata and item parameters"
        shown = significant if significant.any() else np.isfinite(self.p)
        strength = np.where(shown, np.abs(self.correlation), -1.0)
        at = np.unravel_index(int(np.argmax(strength)), strength.shape)
        interval = ""
        if np.isfinite(self.low[at]):
            interval = f" ({self.low[at]:z.2f} to {self.high[at]:z.2f})"
        strongest = (
            f"{self.metadata[at[0]]} with {self.parameters[at[1]]}, {self.correlation[at]:.2f}"
            f"{interval}, over {counted(int(self.n[at]), 'data set')}"
        )
        if significant.any():
            return (
                f"{int(significant.sum()):,} of {counted(n_tested, 'relation')} {among} "
                f"{'is' if significant.sum() == 1 else 'are'} significant after correction for "
                f"multiple tests; the strongest: {strongest}."
            )
        if n_tested == 1:
            return f"The only relation {among} is not significant: {strongest}."
        return (
            f"None of {n_tested:,} relations {among} is significant after correction for "
            f"multiple tests (the strongest: {strongest})."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per pair of a metadatum and a parameter."""
        pairs = pd.DataFrame(
            product(self.metadata, self.parameters), columns=["metadatum", "parameter"]
        )
        return pairs.assign(**{name: getattr(self, name).reshape(-1) for name in FIGURES})

    def matrix(self, value: str = "correlation") -> pd.DataFrame:
        """Return metadata × parameters: the correlations, or another column of the frame."""
        return pd.DataFrame(
            getattr(self, one_of(value, "value", FIGURES)),
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
        """Draw a heat map of the correlations."""
        from ogive.results.plots.matrices import HeatMapDisplay

        return HeatMapDisplay(self.matrix(), low=-1.0, high=1.0).plot(**kw)


def relate_metadata(
    datasets: pd.DataFrame, metadata: Metadata, *, method: str = "spearman"
) -> MetadataRelations:
    """Correlate metadata of data sets with summaries of their item parameters.

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
    one_of(method, "method", ("spearman", "pearson"))
    summaries, facts, notes = _shared_datasets(datasets, metadata, FEWEST)
    wanted = [CHANCE, *(f"{name}_{part}" for name in PARAMETERS for part in SUMMARIES)]
    parameters = [name for name in wanted if name in summaries.columns]
    if not parameters:
        raise InputError(
            f"datasets has none of the columns {', '.join(wanted[1:4])}, ... Give the `datasets` "
            "of a decoding."
        )
    if not facts.shape[1]:
        raise InputError("metadata has no column of numbers. Give at least one.")
    summaries = summaries[parameters]
    cells = np.array(
        [
            [_correlation(x.to_numpy(), y.to_numpy(), method) for _, y in summaries.items()]
            for _, x in facts.items()
        ]
    )
    own_scales = CHANCE in parameters and "difficulty_mean" in parameters
    return MetadataRelations(
        metadata=tuple(facts.columns),
        parameters=tuple(parameters),
        n=cells[..., 0].astype(np.intp),
        correlation=cells[..., 1],
        low=cells[..., 2],
        high=cells[..., 3],
        p=cells[..., 4],
        p_adjusted=benjamini_hochberg(cells[..., 4].reshape(-1)).reshape(cells.shape[:2]),
        method=method,
        notes=(*notes, *_notes(facts, summaries, cells), *((ON_SCALES,) if own_scales else ())),
    )


def _correlation(x: Floats, y: Floats, method: str) -> tuple[float, ...]:
    """Return number of pairs, correlation, its 95 % interval and p-value; NaN if undefined."""
    known = np.isfinite(x) & np.isfinite(y)
    n, x, y = int(known.sum()), x[known], y[known]
    if n < FEWEST or _constant(x) or _constant(y):
        return n, np.nan, np.nan, np.nan, np.nan
    ranks = method == "spearman"
    if ranks:
        x, y = rankdata(x), rankdata(y)
    test = pearsonr(x, y)
    r, p = float(test.statistic), float(test.pvalue)
    if ranks and n <= MOST_PERMUTED:  # share of permutations that correlate as strongly
        centred = x - x.mean()
        every = np.abs(y[_permutations(n)] @ centred)
        p = float((every >= abs(y @ centred) - 1e-9).mean())
    return n, r, *correlation_interval(r, n, ranks=ranks), p


@lru_cache(maxsize=MOST_PERMUTED)
def _permutations(n: int) -> NDArray[np.intp]:
    return np.array(list(permutations(range(n))), dtype=np.intp)


def _constant(values: Floats) -> bool:
    """Return True if all values are the same, up to rounding."""
    return bool(np.ptp(values) <= 1e-13 * np.abs(values).max())


def _notes(facts: pd.DataFrame, summaries: pd.DataFrame, cells: Floats) -> list[str]:
    notes = []
    columns = {
        str(name): table[name].dropna().to_numpy() for table in (facts, summaries) for name in table
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
    return notes


@dataclass(frozen=True, eq=False, repr=False)
class MetadataBins(Result):
    """Probability of a right response, by bins of data sets in the order of a metadatum.

    Each bin holds equally many data sets. `probability` is the mean over the data sets of a bin on
    which the respondent was scored. The interval from `low` to `high` covers the mean over other
    data sets of this kind (Student's t at `confidence`); it is missing with a single data set.
    """

    metadatum: str
    respondents: tuple[str, ...]
    datasets: Bins
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
        change = self.probability[:, -1] - self.probability[:, 0]
        text = (
            f"From the {counted(len(self.datasets[0]), 'data set')} with the lowest "
            f"{self.metadatum} to the {len(self.datasets[-1]):,} with the highest, the mean "
            f"probability of a right response over {counted(len(self.respondents), 'respondent')} "
            f"goes from {first:.2f} to {last:.2f}"
        )
        if len(self.respondents) == 1 or not np.isfinite(change).any():
            return f"{text}."
        k = int(np.nanargmax(np.abs(change)))
        differ = self.low[k, -1] > self.high[k, 0] or self.high[k, -1] < self.low[k, 0]
        return (
            f"{text}; it changes most for {self.respondents[k]}, {change[k]:+.2f}"
            f"{'' if differ else ', but the intervals at both ends overlap'}."
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
        from ogive.results.plots.banded_curves import CharacteristicDisplay

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
    checked_share(confidence, "confidence", 0.95)
    bins = whole_number(bins, "bins", 1)
    summaries, facts, notes = _shared_datasets(datasets, metadata, bins)
    one_of(metadatum, "metadatum", facts.columns)
    value = facts[metadatum].dropna().sort_values(kind="stable")
    if len(value) < bins:
        raise InputError(
            f"{counted(len(value), 'data set')} with {metadatum} cannot fill {bins} bins. "
            "Give fewer bins, or more data sets."
        )
    if len(value) < len(facts):
        lost = [name for name in facts.index if name not in value.index]
        notes.append(f"Left out (no {metadatum}): {listed(lost, 'data set')}.")
    parts = tuple(tuple(part) for part in np.array_split(value.index.to_numpy(), bins))
    n_ties = sum(value[one[-1]] == value[other[0]] for one, other in pairwise(parts))
    if n_ties:
        notes.append(
            f"{counted(n_ties, 'limit')} between bins "
            f"{'separates' if n_ties == 1 else 'separate'} "
            f"data sets of equal {metadatum}; their bins depend only on the order given."
        )
    chance = _probabilities(summaries, classifiers)
    mean, low, high, n = _averages(chance, parts, confidence)
    return MetadataBins(
        metadatum=metadatum,
        respondents=tuple(str(name) for name in chance.index),
        datasets=parts,
        n=n,
        probability=mean,
        low=low,
        high=high,
        summary=_summary(summaries, value, parts),
        confidence=confidence,
        notes=tuple(notes),
    )


def _probabilities(datasets: pd.DataFrame, classifiers: pd.DataFrame) -> pd.DataFrame:
    """Return mean probabilities of right responses: respondents × data sets, NaN if not scored."""
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
    chance: pd.DataFrame, parts: Bins, confidence: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean, ends of its interval, and number of data sets: respondents × bins each."""
    cells = [chance[list(part)] for part in parts]
    n = np.stack([part.notna().sum(axis=1).to_numpy(float) for part in cells], axis=1)
    mean = np.stack([part.mean(axis=1).to_numpy() for part in cells], axis=1)
    spread = np.stack([part.std(axis=1, ddof=1).to_numpy() for part in cells], axis=1)
    several = np.where(n > 1, n, np.nan)
    half_width = t.ppf(0.5 + confidence / 2, several - 1) * spread / np.sqrt(several)
    return mean, np.maximum(mean - half_width, 0.0), np.minimum(mean + half_width, 1.0), n


def _summary(datasets: pd.DataFrame, value: pd.Series[float], parts: Bins) -> pd.DataFrame:
    """Return means over the data sets of each bin, with standard errors."""
    known = ("difficulty_mean", "discrimination_mean", "guessing_mean")
    names = [name for name in known if name in datasets.columns]
    rows = []
    for part in parts:
        own, inside = value.loc[list(part)], datasets.loc[list(part), names]
        row: dict[str, Any] = {"datasets": len(part), "value": own.mean()}
        row |= {"lowest": own.min(), "highest": own.max()}
        for name in names:
            row |= {name: inside[name].mean(), f"{name}_se": inside[name].sem()}
        rows.append(row)
    return pd.DataFrame(rows, index=pd.RangeIndex(1, len(parts) + 1, name="bin"))
