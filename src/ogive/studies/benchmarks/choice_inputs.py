"""What `choose_datasets` is given: whose ranking counts, on which data sets, for which sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.ratings.period_choice import Points
from ogive.responses import Responses
from ogive.responses.artificial_respondents import is_artificial
from ogive.words import counted, listed

LEAST_DATASETS = 3


def judged_by(table: Responses, respondents: Sequence[str] | None) -> NDArray[np.intp]:
    """Positions of the respondents whose ranking counts."""
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
    place = {name: k for k, name in enumerate(table.respondents)}
    unknown = [name for name in names if name not in place]
    if unknown:
        raise InputError(
            f"respondents names {unknown[0]!r:.80}, which is not in the scores. Their respondents "
            f"are: {', '.join(table.respondents[:5])}{', ...' if len(place) > 5 else ''}."
        )
    if len(set(names)) < max(2, len(names)):
        raise InputError(
            f"respondents holds {counted(len(names), 'name')}, {len(set(names))} of them "
            "different, but a ranking needs at least two, each named once."
        )
    return np.array([place[name] for name in names])


def with_games(
    table: Responses, judged: NDArray[np.intp], played: Points
) -> tuple[NDArray[np.intp], NDArray[np.intp], tuple[str, ...]]:
    """Positions of the respondents and data sets with games, and notes on the others."""
    there = played.games > 0
    busy, used = np.asarray(there.any(axis=0)), np.asarray(there.any(axis=1))
    if used.sum() < LEAST_DATASETS:
        raise InputError(
            f"Games are played on {counted(int(used.sum()), 'data set')}, but choosing and judging "
            f"take at least {LEAST_DATASETS}. Give one column per data set, with at least two "
            "scores."
        )
    counting = set(judged.tolist())
    idle = [table.respondents[k] for k in judged[~busy]]
    empty = [table.items[k] for k in np.flatnonzero(~used)]
    others = [name for k, name in enumerate(table.respondents) if k not in counting]
    lists = (
        ("Left out (no games)", idle, "respondent"),
        ("Left out (fewer than two scores)", empty, "data set"),
        ("Not counted in the ranking", others, "respondent"),
    )
    notes = tuple(f"{why}: {listed(names, noun)}." for why, names, noun in lists if names)
    return judged[busy], np.flatnonzero(used), notes


def wanted(size: float | None, n: int) -> tuple[tuple[int, ...], int | None]:
    """The sizes to try, and the requested one."""
    if size is None:
        return tuple(range(2, n)), None
    if isinstance(size, bool) or not isinstance(size, int | float | np.integer | np.floating):
        raise InputError(f"size is {size!r}, but it should be a number, a share or None.")
    if isinstance(size, float | np.floating):
        if not 0 < size < 1:
            raise InputError(
                f"size is {size}, but a share is between 0 and 1, such as 0.5. For a number of "
                f"data sets, give a whole one from 1 to {n:,}."
            )
        size = max(1, math.floor(float(size) * n + 0.5))
    if not 1 <= size <= n:
        raise InputError(
            f"size is {size:,}, but there are {counted(n, 'data set')} with games. Give a number "
            f"from 1 to {n:,}, or a share such as 0.5."
        )
    return (int(size),), int(size)
