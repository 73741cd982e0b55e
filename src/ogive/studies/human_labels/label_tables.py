"""What a judge and people scored, in the same cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.responses import Responses
from ogive.responses.names_and_facts import UNKNOWN
from ogive.words import counted, listed

Ints = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Scores of the judge, and of people for some of them."""

    judge: Responses
    human: Floats  # (n_respondents, n_items); NaN where only the judge scored
    notes: tuple[str, ...]

    @property
    def binary(self) -> bool:
        """Whether people say right or wrong, and the judge a number from 0 to 1."""
        known = self.human[np.isfinite(self.human)]
        return bool(np.isin(known, (0.0, 1.0)).all()) and _is_share(self.judge.values)

    @property
    def same_scale(self) -> bool:
        """Whether scores of the judge and of people can be subtracted."""
        return _is_share(self.judge.values) == _is_share(self.human)

    @property
    def limits(self) -> tuple[float, float]:
        """Bounds of the human scores, as far as they are known."""
        return (0.0, 1.0) if _is_share(self.human) else (-np.inf, np.inf)

    @property
    def top(self) -> float:
        """The largest weight that scores of the judge may have: 1, or the ratio of the scales."""
        if self.same_scale:
            return 1.0
        wide = np.ptp(self.judge.values[self.judge.observed])
        return float(np.ptp(self.human[np.isfinite(self.human)]) / wide) if wide > 0 else 1.0


def _is_share(values: Floats) -> bool:
    return bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)


def matched(judged: Responses, human: Responses) -> Labelled:
    """Scores of the judge and of people for the respondents that both scored, in the same cells."""
    rows = {name: k for k, name in enumerate(human.respondents)}
    columns = {name: k for k, name in enumerate(human.items)}
    shared = [name for name in judged.items if name in columns]
    if not shared or not any(name in rows for name in judged.respondents):
        what = "items" if not shared else "respondents"
        raise InputError(
            f"Judge and people scored no common {what}: the judge's are "
            f"{listed(getattr(judged, what), what[:-1])}, the people's "
            f"{listed(getattr(human, what), what[:-1])}. Use the same names in both tables."
        )
    whole = np.full((judged.n_respondents, judged.n_items), np.nan)
    there = [k for k, name in enumerate(judged.respondents) if name in rows]
    at = [k for k, name in enumerate(judged.items) if name in columns]
    mine = [rows[judged.respondents[k]] for k in there]
    labels: Floats = human.values
    whole[np.ix_(there, at)] = labels[np.ix_(mine, [columns[name] for name in shared])]
    n_given = int(np.isfinite(labels).sum())
    whole[~np.isfinite(judged.values)] = np.nan
    used = np.isfinite(whole)
    notes = []
    if lost := n_given - int(used.sum()):
        notes.append(f"Left out: {counted(lost, 'human label')} of what the judge did not score.")
    some = used.any(axis=1)
    if not some.any():
        raise InputError("No response has both a human label and a score of the judge.")
    if not some.all():
        names = [judged.respondents[k] for k in np.flatnonzero(~some)]
        notes.append(f"Left out for lack of human labels: {listed(names, 'respondent')}.")
    return Labelled(judged.select(respondents=np.flatnonzero(some)), whole[some], tuple(notes))


def clusters_of(table: Responses, groups: tuple[str, ...] | None) -> Ints:
    """The cluster of each item; items whose cluster is unknown have one of their own."""
    if groups is None:
        return np.arange(table.n_items)
    own = [f"{name} {k}" if name == UNKNOWN else f"known {name}" for k, name in enumerate(groups)]
    return np.unique(np.array(own), return_inverse=True)[1]
