"""How likely classifiers are right, by bins of data sets along a metadatum."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ogive.displays.display import tidy
from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.results import Result
from ogive.studies.benchmarks.metadata_relations import Metadata, matched
from ogive.words import counted, listed, meant

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["MetadataBins", "probability_by_metadata"]

Parts: TypeAlias = tuple[tuple[str, ...], ...]  # data sets by bin

SUMMARIES = ("difficulty_mean", "discrimination_mean", "guessing_mean")


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
        """One row per respondent and bin, in the order of the metadatum."""
        import pandas as pd

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
        from ogive.displays import CharacteristicDisplay

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
    """The metadatum of each data set, lowest first."""
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
    """Mean, ends of its interval, and number of data sets: respondents × bins each."""
    from scipy.stats import t

    cells = [chance[list(part)] for part in parts]
    n = np.stack([part.notna().sum(axis=1).to_numpy(float) for part in cells], axis=1)
    mean = np.stack([part.mean(axis=1).to_numpy() for part in cells], axis=1)
    spread = np.stack([part.std(axis=1, ddof=1).to_numpy() for part in cells], axis=1)
    several = np.where(n > 1, n, np.nan)
    reach = t.ppf(0.5 + confidence / 2, several - 1) * spread / np.sqrt(several)
    return mean, np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0), n


def _summary(datasets: pd.DataFrame, value: pd.Series[float], parts: Parts) -> pd.DataFrame:
    """Means over the data sets of each bin, with standard errors."""
    import pandas as pd

    names = [name for name in SUMMARIES if name in datasets.columns]
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
    """A note if the limit between two bins is arbitrary."""
    ends = [(value[one[-1]], value[other[0]]) for one, other in pairwise(parts)]
    parted = sum(left == right for left, right in ends)
    note = (
        f"{counted(parted, 'limit')} between bins {'separates' if parted == 1 else 'separate'} "
        f"data sets of equal {value.name}; their bins depend only on the order given."
    )
    return (note,) if parted else ()
