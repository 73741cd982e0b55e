"""Choose a part of a benchmark that ranks respondents as the whole does.

Points won in games add up over data sets, so the ranking by any part is a sum. A part is judged on
data sets and respondents that were held out when it was chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t

from ogive._validation import is_number, whole_number
from ogive.benchmarking.period_choice import (
    LEAST_TO_SPLIT,
    Halving,
    Points,
    chance_of_ranking,
    grow,
    judge_by_halves,
    points,
)
from ogive.data.pools.published_pools import misplaced
from ogive.data.responses import Responses, Table
from ogive.data.study_tables import is_artificial, rivals
from ogive.errors import InputError
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, said_p
from ogive.results.plots import DISPLAYS
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats
from ogive.stats.metrics import kendall, spearman

__all__ = ["ChosenDatasets", "choose_datasets"]

LEAST_DATASETS = 3
RANGE = (0.025, 0.975)  # quantiles of the splits at the ends of a 95 % range
LEVEL = 0.05  # significance level of the test that there is a ranking
WEAK = 0.5  # Kendall's tau below which a ranking is weak: one pair in four is reversed
MOST_NAMED = 10  # data sets in a sentence


def _judged_respondents(table: Responses, respondents: Sequence[str] | None) -> NDArray[np.intp]:
    """Return positions of the respondents whose ranking counts."""
    if respondents is None:
        artificial = is_artificial(table.respondents)
        if (~artificial).sum() < 2:
            names = [table.respondents[k] for k in np.flatnonzero(artificial)]
            raise InputError(
                f"Without {listed(names, 'artificial respondent')}, there are fewer than two to "
                "rank. Give more, or name those to rank: respondents=[...]."
            )
        return np.flatnonzero(~artificial)
    names = [respondents] if isinstance(respondents, str) else [str(name) for name in respondents]
    position = {name: k for k, name in enumerate(table.respondents)}
    unknown = [name for name in names if name not in position]
    if unknown:
        raise InputError(
            f"respondents names {unknown[0]!r:.80}, which is not in the scores. Their respondents "
            f"are: {', '.join(table.respondents[:5])}{', ...' if len(position) > 5 else ''}."
        )
    if len(set(names)) < max(2, len(names)):
        raise InputError(
            f"respondents must name at least two, each once, got {counted(len(names), 'name')}, "
            f"{len(set(names))} of them different."
        )
    return np.array([position[name] for name in names])


def _with_games(
    table: Responses, judged: NDArray[np.intp], played: Points
) -> tuple[NDArray[np.intp], NDArray[np.intp], tuple[str, ...]]:
    """Return positions of the respondents and data sets with games, and notes on the others."""
    has_games = played.games > 0
    busy, used = np.asarray(has_games.any(axis=0)), np.asarray(has_games.any(axis=1))
    if used.sum() < LEAST_DATASETS:
        raise InputError(
            f"Games are played on {counted(int(used.sum()), 'data set')}, but choosing and judging "
            f"take at least {LEAST_DATASETS}. Give one column per data set, with at least two "
            "scores."
        )
    others = np.delete(np.arange(table.n_respondents), judged)
    lists = (
        ("Left out (no games)", [table.respondents[k] for k in judged[~busy]], "respondent"),
        (
            "Left out (fewer than two scores)",
            [table.items[k] for k in np.flatnonzero(~used)],
            "data set",
        ),
        ("Not counted in the ranking", [table.respondents[k] for k in others], "respondent"),
    )
    notes = tuple(f"{why}: {listed(names, noun)}." for why, names, noun in lists if names)
    return judged[busy], np.flatnonzero(used), notes


def _requested_size(size: float, n: int) -> int:
    """Return a number of data sets, also from a share of `n`."""
    if not is_number(size):
        raise InputError(f"`size` must be a number, a share or None, got {size!r}.")
    if isinstance(size, float | np.floating):
        if not 0 < size < 1:
            raise InputError(
                f"size is {size}, but a share is between 0 and 1, such as 0.5. For a number of "
                f"data sets, give a whole one from 1 to {n:,}."
            )
        size = max(1, math.floor(float(size) * n + 0.5))
    return whole_number(size, "size", 1, n)


@dataclass(frozen=True, eq=False, repr=False)
class ChosenDatasets(Result):
    """Data sets that rank respondents as the whole benchmark does.

    Data sets and respondents were split at random many times into two halves. From the first half
    of the data sets, a part was chosen for each size, in the same proportion. All rankings are then
    compared with the ranking by the second half, on the respondents of the second half (Kendall's
    tau-b, mean over splits; ranges cover 95 % of the splits): `held_out` is the agreement of the
    chosen part, `ceiling` that of the whole first half, `random` that of a part chosen at random.
    `known` is `held_out` for the respondents whose scores were used to choose; it is optimistic,
    because a small part can be fitted to them.

    A size is `enough` if the chosen part keeps the share `keep` of the ceiling on average (the
    sentence says "may be enough" where the range includes less), and if there is a ranking to keep:
    points differ more than among equally strong respondents (`p` below 0.05).
    Agreement with the whole (`kendall`) does not decide, because parts are chosen for it. A half
    holds `half` data sets, so that a size is judged by `tested` of these, and with few data sets
    several sizes by the same test.
    """

    respondents: tuple[str, ...]  # whose ranking counts
    datasets: tuple[str, ...]
    sizes: tuple[int, ...]
    subsets: tuple[tuple[str, ...], ...]  # of each size, in the order of choice
    kendall: Floats  # (n_sizes,), as the next two: agreement with the whole benchmark
    spearman: Floats
    significant_share: Floats  # share of pairs that differ significantly over the data sets
    in_place: tuple[bool | None, ...]  # whether artificial respondents, if any, are
    held_out: Floats  # (n_sizes, n_resamples), as the next two
    random: Floats
    known: Floats
    ceiling: Floats  # (n_resamples,), as the next
    known_ceiling: Floats
    half: int  # data sets of a half
    tested: tuple[int, ...]  # of each size: data sets chosen from a half
    p: float  # of the hypothesis that all respondents are equally strong
    asked: int | None  # the requested size
    keep: float
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> bool:
        """True if there is a ranking to keep."""
        return self.p < LEVEL and bool(self.ceiling.mean() > 0)

    @property
    def enough(self) -> NDArray[np.bool_]:
        """Whether each size is enough."""
        kept = self.held_out.mean(axis=1) >= self.keep * self.ceiling.mean()
        return np.asarray(kept & self.ranked)

    @property
    def size(self) -> int:
        """The requested size, or the smallest from which all are enough, or all data sets."""
        if self.asked is not None:
            return self.asked
        short = np.flatnonzero(~self.enough)
        after = int(short[-1]) + 1 if short.size else 0
        return (*self.sizes, len(self.datasets))[after]

    @property
    def chosen(self) -> tuple[str, ...]:
        """The data sets to keep, in the order of choice; all if no part is enough."""
        return self.subset(self.size)

    def subset(self, size: int) -> tuple[str, ...]:
        """Return the data sets chosen for another size, in the order of choice."""
        if size in self.sizes:
            return self.subsets[self.sizes.index(size)]
        if size == len(self.datasets):
            return self.datasets
        raise InputError(
            f"`size` must be one of: {', '.join(map(str, self.sizes))}, got {size}. Call "
            "choose_datasets(scores, size) for another."
        )

    @property
    def meaning(self) -> str:
        """Whether a part of the benchmark is enough, judged on held-out data."""
        total, size = counted(len(self.datasets), "data set"), self.size
        who = f"the {counted(len(self.respondents), 'respondent')}"
        if not self.ranked:
            low, high = np.quantile(self.known_ceiling, RANGE)
            return (
                f"No part can be called enough, since there is no ranking to keep: on {total}, "
                f"{who} cannot be distinguished from equally strong ones ({said_p(self.p)}; two "
                f"halves agree with a Kendall's tau of {self.known_ceiling.mean():.2f}, 95 % range "
                f"{low:.2f} to {high:.2f})."
            )
        if size not in self.sizes:
            most = counted(self.sizes[-1], "data set")
            return f"No part of at most {most} is shown to be enough: {self._agreement_text(-1)}."
        k = self.sizes.index(size)
        one, names = size == 1, self.subset(size)
        verb = "is" if one else "are"
        kept = self.held_out[k] - self.keep * self.ceiling
        if np.quantile(kept, RANGE[0]) < 0:  # enough on average only
            verb = "may be" if self.enough[k] else f"{verb} not shown to be"
        named = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
        return (
            f"{size:,} of {total} {verb} enough ({named}): {self._agreement_text(k)}; at least "
            f"{self.keep:.0%} of that of all is enough. On all data sets, "
            f"{'it ranks' if one else 'they rank'} {who} with a Kendall's tau of "
            f"{self.kendall[k]:.2f} to the ranking by all, for which "
            f"{'it was' if one else 'they were'} chosen. {self._gain_text(k)}"
        )

    def _gain_text(self, k: int) -> str:
        """Say whether choosing is better than taking as many data sets at random."""
        gain = self.held_out[k] - self.random[k]
        low, high = np.quantile(gain, RANGE)
        interval = f"(difference {gain.mean():z.3f}, 95 % range {low:z.2f} to {high:z.2f})"
        if low > 0:
            return f"The chosen rank better than as many at random {interval}."
        tail = ": as many others may do as well" if self.enough[k] else ""
        return f"The chosen are not shown to rank better than as many at random {interval}{tail}."

    def _agreement_text(self, k: int) -> str:
        """Return the agreement on held-out data."""
        difference = self.held_out[k] - self.ceiling
        low, high = np.quantile(difference, RANGE)
        part = f"{self.tested[k]:,} of {self.half:,}"
        both = "respondents and " if len(self.respondents) >= LEAST_TO_SPLIT else ""
        return (
            f"on held-out {both}data sets, {part} chosen in this way rank with a tau of "
            f"{self.held_out[k].mean():.2f}, {part} at random with {self.random[k].mean():.2f} and "
            f"all {self.half:,} with {self.ceiling.mean():.2f} (difference of the chosen from all "
            f"{difference.mean():z.3f}, 95 % range {low:z.2f} to {high:z.2f})"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per size; `difference` is held_out - ceiling, `gain` held_out - random.

        `tested` says which part of a half stood for the size, and `datasets` which are chosen.
        """
        shape = self.held_out.shape
        ceiling = np.broadcast_to(self.ceiling, shape)
        columns: dict[str, Any] = {
            "size": self.sizes,
            "share": np.array(self.sizes) / len(self.datasets),
            "tested": [f"{part:,} of {self.half:,}" for part in self.tested],
            "kendall": self.kendall,
            "spearman": self.spearman,
            "significant_share": self.significant_share,
            "artificial_in_place": pd.array(list(self.in_place), dtype="boolean"),
        }
        for name, values in {
            "held_out": self.held_out,
            "ceiling": ceiling,
            "random": self.random,
            "known": self.known,
            "known_ceiling": np.broadcast_to(self.known_ceiling, shape),
            "difference": self.held_out - ceiling,
            "gain": self.held_out - self.random,
        }.items():
            low, high = np.quantile(values, RANGE, axis=1)
            columns |= {name: values.mean(axis=1), f"{name}_low": low, f"{name}_high": high}
        columns["enough"] = self.enough
        columns["datasets"] = [", ".join(names) for names in self.subsets]
        return pd.DataFrame(columns)

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the agreement by number of data sets."""
        return {"choice": self.to_frame()}

    def figures(self) -> dict[str, Draw]:
        """Return the agreement by number of data sets."""
        return {"agreement": self.plot}

    def plot(self, **kw: Any) -> Display:
        """Draw agreement against the number of data sets."""
        return DISPLAYS["agreement"](self.to_frame()).plot(**kw)

    def sentences(self) -> list[str]:
        """Return the meaning, a warning if the whole ranks weakly itself, and notes."""
        agreed = self.known_ceiling.mean()
        weak = (
            "The ranking by the whole benchmark is weak itself: two halves of the data sets agree "
            f"with a Kendall's tau of {agreed:.2f}, so about "
            f"{0.5 - 0.5 * agreed:.0%} of pairs are ordered differently."
        )
        return [self.meaning, *((weak,) if self.ranked and agreed < WEAK else ()), *self.notes]


def choose_datasets(
    scores: Table,
    size: float | None = None,
    *,
    respondents: Sequence[str] | None = None,
    tolerance: float = 0.0,
    keep: float = 0.95,
    n_resamples: int = 200,
    random_state: int = 0,
) -> ChosenDatasets:
    """Choose data sets that keep the ranking of a whole benchmark, and test whether they do.

    `scores` has one row per respondent and one column per data set. The higher score wins a game,
    scores at most `tolerance` apart are a draw, and a respondent without a score (NaN) does not
    play. Respondents are ranked by their share of the points, so the order of the data sets does
    not matter. `size` is a number of data sets, a share such as 0.5, or None to try all sizes and
    find the smallest that is enough.

    A part that was chosen because it agrees with the whole will agree with it. Data sets are
    therefore split `n_resamples` times into two halves, one to choose from and one to judge by;
    without replacement, since a data set drawn twice would be chosen for its copy. Respondents are
    split as well, because a part may fit these respondents by chance and fail for others. The
    judging half is noisy itself, but equally so for the chosen part and for all it was chosen from,
    so their ratio counts: a part is enough if it keeps the share `keep` of the agreement.

    Artificial respondents (optimal, pessimal, majority, minority, random 1, ...) are ranked
    correctly by almost any data set and would make every part look good. Unless `respondents` names
    whose ranking counts, they are left out; whether they are in place is reported separately.

    The frame has one row per size: agreement with the whole (kendall, spearman), held_out, random
    and known with low and high, and enough. The question is that of Cardoso et al. (2025). The same
    `random_state` gives the same result.

    >>> import ogive as og
    >>> import numpy as np
    >>> noise = np.random.default_rng(0).normal(0, 0.1, (4, 8))
    >>> scores = np.array([[0.2], [0.4], [0.6], [0.8]]) + noise
    >>> found = og.choose_datasets(scores, 4, n_resamples=20)
    >>> found.to_frame()[["size", "kendall"]].to_numpy().tolist()
    [[4.0, 1.0]]
    """
    table = rivals(scores, "choose_datasets")
    if not 0 < keep <= 1:
        raise InputError(f"`keep` must be above 0 and at most 1, such as 0.95, got {keep}.")
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    judged = _judged_respondents(table, respondents)
    judged, used, notes = _with_games(table, judged, points(table.cells.T[:, judged], tolerance))
    sizes, asked = (tuple(range(2, len(used))), None)
    if size is not None:
        asked = _requested_size(size, len(used))
        sizes = (asked,)
    values = table.cells.T[used]
    played, everyone = points(values[:, judged], tolerance), points(values, tolerance)
    order = grow(played[None], max(sizes))[[k - 1 for k in sizes], 0]
    halving = judge_by_halves(
        values[:, judged],
        sizes,
        tolerance=tolerance,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    wrong = [misplaced(table.respondents, everyone[steps > 0].share) for steps in order]
    shares = np.array([played[steps > 0].share for steps in order])
    whole = np.broadcast_to(played.share, shares.shape)
    chosen = [np.argsort(steps, kind="stable")[np.count_nonzero(steps == 0) :] for steps in order]
    return ChosenDatasets(
        respondents=tuple(table.respondents[k] for k in judged),
        datasets=tuple(table.items[k] for k in used),
        sizes=sizes,
        subsets=tuple(tuple(table.items[used[k]] for k in part) for part in chosen),
        kendall=kendall(shares, whole),
        spearman=spearman(shares, whole),
        significant_share=np.array([_significant_share(played[steps > 0]) for steps in order]),
        in_place=tuple(None if names is None else not names for names in wrong),
        **vars(halving),
        p=chance_of_ranking(played, random_state),
        asked=asked,
        keep=keep,
        notes=(*notes, *_notes(len(used), len(judged), n_resamples, halving)),
    )


def _significant_share(played: Points) -> float:
    """Return the share of pairs whose points differ significantly over data sets (t test, 5 %)."""
    first, second = np.triu_indices(played.won.shape[1], 1)
    each = np.where(played.games > 0, played.won / np.maximum(played.games, 1.0), np.nan)
    lead = each[:, first] - each[:, second]
    known = ~np.isnan(lead)
    count = known.sum(axis=0)
    mean = np.where(known, lead, 0.0).sum(axis=0) / np.maximum(count, 1)
    square = np.where(known, (lead - mean) ** 2, 0.0).sum(axis=0)
    freedom = np.maximum(count - 1, 1)
    error = np.sqrt(square / freedom / np.maximum(count, 1))
    # One data set says nothing about the spread, so no pair differs.
    return float(((np.abs(mean) > t.ppf(RANGE[1], freedom) * error) & (count > 1)).mean())


def _notes(n_datasets: int, n_respondents: int, n_resamples: int, halving: Halving) -> list[str]:
    notes = []
    if (n_splits := math.comb(n_datasets, n_datasets // 2)) < n_resamples:
        notes.append(
            f"{n_datasets:,} data sets can be split in only {n_splits:,} ways, so ranges are rough."
        )
    if n_respondents < LEAST_TO_SPLIT:
        notes.append(
            f"{n_respondents:,} respondents are too few to hold some out: agreement is measured on "
            "the respondents whose scores were used to choose, and is optimistic for others."
        )
    if len(set(halving.tested)) < len(halving.tested):
        notes.append(
            f"Half of the data sets are {halving.half:,}, so that some sizes are judged by the "
            "same part of them (column tested) and have the same agreement."
        )
    return notes
