"""What a reader should know of a fit: flags of single items, and notes in sentences."""

from __future__ import annotations

import numpy as np

from itemwise.estimation.engine import Fit
from itemwise.models import Categorical, MeasurementModel
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses
from itemwise.words import counted, listed

FEW_RESPONDENTS = 30

Flags = tuple[tuple[str, ...], ...]  # of each item; empty where there is nothing to say

NEVER_ASKED, ALL_RIGHT, ALL_WRONG = "never asked", "all right", "all wrong"
CONSTANT, UNSEEN = "constant", "grade never seen"
NEGATIVE, AT_BOUND = "negative discrimination", "at bound"
MEANINGS = {
    NEVER_ASKED: (
        "never asked",
        "they have no responses; their position means nothing.",
    ),
    ALL_RIGHT: (
        "answered all right",
        "easier than the table can show; their difficulty is nominal.",
    ),
    ALL_WRONG: (
        "answered all wrong",
        "harder than the table can show; their difficulty is nominal.",
    ),
    CONSTANT: (
        "with the same response from all",
        "they carry no information on ability; their parameters are nominal.",
    ),
    UNSEEN: (
        "with a grade that nobody got",
        "its probability is small and depends on the prior, or lies at a bound.",
    ),
    NEGATIVE: (
        "with negative discrimination",
        "better respondents do worse on them; look at their labels.",
    ),
    AT_BOUND: (
        "with a parameter at its bound",
        "the estimate stopped there; it has no standard error.",
    ),
}


def item_flags(
    table: Responses, model: MeasurementModel, fit: Fit, weights: Floats | None
) -> Flags:
    """What a reader should know of single items, in words; nothing for most."""
    cells = table.cells if weights is None else table.cells[weights > 0]
    masks = _constant(cells, table.kind)
    ordinary = ~np.logical_or.reduce(list(masks.values()))
    if isinstance(model, Categorical) and model.n_categories > 2:
        masks[UNSEEN] = ordinary & _unseen(model, model.read(cells))
    masks[NEGATIVE] = ordinary & (model.parameters(fit.coords)["discrimination"] < 0)
    held = model.at_bound(fit.coords) & ~model.absent(fit.coords)
    for coordinate, column in zip(model.coordinates, held.T, strict=True):
        masks[f"{coordinate.name} {AT_BOUND}"] = column & (not coordinate.shared)
    flags: list[tuple[str, ...]] = [()] * table.n_items
    for name, mask in masks.items():
        for k in np.flatnonzero(mask):
            flags[k] = (*flags[k], name)
    return tuple(flags)


def _constant(cells: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    """Items that nobody was asked, or that all answered alike."""
    if kind == "binary":
        asked, right = (cells >= 0).sum(axis=0), (cells > 0).sum(axis=0)
        return {
            NEVER_ASKED: asked == 0,
            ALL_RIGHT: (asked > 0) & (right == asked),
            ALL_WRONG: (asked > 0) & (right == 0),
        }
    scores = cells if kind == "continuous" else np.where(cells >= 0, cells, np.nan)
    lowest = np.fmin.reduce(scores, axis=0, initial=np.inf)
    highest = np.fmax.reduce(scores, axis=0, initial=-np.inf)
    return {NEVER_ASKED: lowest > highest, CONSTANT: lowest == highest}


def _unseen(model: Categorical, values: np.ndarray) -> np.ndarray:
    """Items with a grade, up to their highest, that nobody got."""
    low, high = model.extent()
    n_grades = np.broadcast_to(np.asarray(high) - np.asarray(low) + 1, values.shape[1])
    seen = sum((values == k).any(axis=0).astype(int) for k in range(model.n_categories))
    unseen: np.ndarray = seen < n_grades
    return unseen


def table_notes(table: Responses, model: MeasurementModel, weights: Floats | None) -> list[str]:
    """What the table as a whole cannot support."""
    notes = model.remarks(table.cells)
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < FEW_RESPONDENTS:
        who = counted(table.n_respondents, "respondent")
        worth = "" if weights is None else f", by their weights worth {total:g}"
        held = any(c.prior is not None for c in model.coordinates)
        rest = "depend mostly on their priors" if held else "are poorly determined"
        notes.append(
            f"Only {who}{worth}: item parameters {rest}. Read them with their standard errors."
        )
    if table.n_items == 1:
        notes.append(
            "Only one item: its discrimination cannot be distinguished from its difficulty."
        )
    empty = np.flatnonzero(~table.observed.any(axis=1)) if table.n_missing else np.array([], int)
    if empty.size:
        names = [table.respondents[k] for k in empty]
        notes.append(f"{listed(names, 'respondent')} without any response: placed at the mean.")
    return notes


def flag_notes(table: Responses, flags: Flags) -> list[str]:
    """One sentence for each kind of flag."""
    flagged = [(name, said) for name, said in zip(table.items, flags, strict=True) if said]
    notes = []
    for key, (words, meaning) in MEANINGS.items():
        names = [name for name, said in flagged if any(flag.endswith(key) for flag in said)]
        if names:
            notes.append(f"{listed(names, 'item')} {words}: {meaning}")
    return notes
