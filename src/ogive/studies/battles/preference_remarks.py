"""What a reader of a board of preferences should know besides it."""

from __future__ import annotations

import numpy as np

from ogive.numerics.intervals import normal_reach
from ogive.studies.battles.battle_tables import JUDGES, Battles, Ints
from ogive.studies.battles.fitted_strengths import Fitted
from ogive.studies.battles.preference_frames import first_share
from ogive.words import counted, listed

BIASED = 0.01  # p-value of the advantage of a position at which a note warns


def remarks(
    table: Battles,
    found: Fitted,
    kinds: dict[str, tuple[tuple[str, ...], Ints]],
    by: str | None,
    *,
    position: bool,
    ties: str,
) -> list[str]:
    """Notes on what a reader should know besides the board."""
    said = []
    if kinds:
        over = " and ".join(f"{len(names):,} in {name}" for name, (names, _) in kinds.items())
        said.append(f"Standard errors are computed over clusters of battles: {over}.")
    said += _of_links(table, found)
    alone = [table.rivals[k] for k in np.flatnonzero(found.errors.clusters < 2)]
    if alone:
        said.append(
            f"{listed(alone, 'respondent')} met others in one cluster only: no error is known."
        )
    if ties == "drop" and (table.score == 0.5).any():
        said.append(f"Ties left out: {counted(int((table.score == 0.5).sum()), 'battle')}.")
    said += _of_position(found, position=position)
    if table.has(*JUDGES) and not {*JUDGES} & {by, *kinds}:
        said.append(
            "Judges are taken as given: intervals hold for these judges. To count that judges "
            'differ, name their column too: cluster=["prompt", "judge"].'
        )
    if by is not None:
        low, high = found.spread
        apart = "are not shown to differ" if low == 0 else "differ"
        said.append(
            f"Discriminations by {by} {apart}: the standard deviation of their logarithms is "
            f"{found.strengths.spread:.2f} (95 % interval: {low:.2f} to {high:.2f}), and each is "
            "drawn to 1 accordingly. Strengths are those at discrimination 1."
        )
    return said


def _of_links(table: Battles, found: Fitted) -> list[str]:
    """Notes on boards that no battle links, and on strengths that battles leave open."""
    said, parts = [], int(found.part.max()) + 1
    if parts > 1:
        said.append(
            f"There are {parts:,} separate boards that no battle links: ranks, strengths and win "
            "rates hold within each (column board)."
        )
    if found.open.any():
        names = [table.rivals[k] for k in np.flatnonzero(found.open)]
        said.append(
            f"{listed(names, 'respondent')} won, or lost, every battle with some of the others, so "
            "that the battles leave strengths open on one side (column open): a normal prior with "
            "a standard deviation of 3 holds them, and their intervals depend on it."
        )
    if not found.converged:
        said.append("The strengths did not converge: do not rely on them.")
    return said


def _of_position(found: Fitted, *, position: bool) -> list[str]:
    """A note on the advantage of who is named first, if it is part of the model or evident."""
    share = first_share(found, 0.95)
    if share is None or found.advantage is None:
        return []
    middle, low, high = (f"{100 * x:.0f}" for x in share)
    told = f"{middle} % of decided battles between equals (95 % interval: {low} to {high} %)"
    if position:
        return [f"The respondent that is named first wins {told}; strengths allow for it."]
    lean, se = found.advantage
    if abs(lean) <= normal_reach(1 - BIASED) * se:
        return []
    note = (
        f"The respondent that is named first wins {told}. If judges saw them in this order, "
        "allow for it: position=True."
    )
    return [note]
