"""What every engine takes and gives: its fit, flags of single items, notes in sentences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ogive._progress import Progress, silent
from ogive.data.responses import Responses
from ogive.data.scan import ScannedResponses
from ogive.errors import InputError
from ogive.irt.encoded_responses import Encoded, Work
from ogive.irt.estimation.identifiability import LOOKED_AT, common_factor
from ogive.irt.item_covariances import Uncertainty
from ogive.irt.item_curves import (
    CONSTANT,
    FLAT,
    NEGATIVE,
    NEVER_ASKED,
    SOLVED_BY_ALL,
    SOLVED_BY_NONE,
)
from ogive.irt.linkage import note_on_parts
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import Population
from ogive.irt.response_codes import Tally
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Array, Floats, Run, as_numpy, fold, row_blocks

BASE_CELLS = 1 << 17  # what lies in a core's cache
FEW_RESPONDENTS = 30

Flags = tuple[tuple[str, ...], ...]  # of each item; empty where there is nothing to say

UNSEEN = "grade never seen"
AT_BOUND = "at bound"
NO_NOISE = f"noise {AT_BOUND}"
UNDETERMINED = "undetermined"
MEANINGS = {
    NEVER_ASKED: (
        "never asked",
        "without responses, the position means nothing.",
    ),
    SOLVED_BY_ALL: (
        "solved by all",
        "easier than the table can show, so the difficulty is nominal.",
    ),
    SOLVED_BY_NONE: (
        "solved by none",
        "harder than the table can show, so the difficulty is nominal.",
    ),
    CONSTANT: (
        "with the same response from all",
        "no information on ability, so the parameters are nominal.",
    ),
    UNSEEN: (
        "with a grade that nobody got",
        "its probability is small and depends on the prior, or lies at a bound.",
    ),
    NEGATIVE: (
        "with negative discrimination",
        (
            "better respondents did worse; chance may explain those that item_health() does not "
            "call significant."
        ),
    ),
    FLAT: (
        "without discrimination",
        "responses ignore ability; shown with the least slope, so the difficulty is nominal.",
    ),
    NO_NOISE: (
        "without noise, a Heywood case",
        "ability follows this alone, and its errors mean nothing; default priors prevent that.",
    ),
    UNDETERMINED: (
        "of which the responses leave a parameter undetermined",
        "quite different values fit as well; use priors or a model with fewer parameters.",
    ),
    AT_BOUND: (
        "with a parameter at its bound",
        "the estimate stopped there; it has no standard error.",
    ),
}

Tables = tuple[Array, Array, Array]  # abilities, counts, totals: see MeasurementModel.curvature


def tell_iteration(progress: Progress, iteration: int, value: float, change: float) -> None:
    """Report an iteration: the log-likelihood, and by how much it still changes."""
    message = f"iteration {iteration}, log-likelihood {value:,.2f}, change {change:.2g}"
    progress(iteration, None, message)


@dataclass(frozen=True, eq=False)
class Fit:
    """Items as an engine found them."""

    coords: Floats  # (n_items, width)
    uncertainty: Uncertainty
    population: Population
    log_likelihood: float
    iterations: int
    converged: bool
    undetermined: np.ndarray | None = None  # (n_items,): of which the responses leave much open
    notes: tuple[str, ...] = ()
    encoded: Encoded | None = None  # row by row, if it lies on a device


def check_settings(tolerance: float, max_iterations: int) -> None:
    """Refuse settings with which no engine ends well."""
    if isinstance(tolerance, str) or not tolerance > 0:
        raise InputError(f"tolerance is {tolerance!r}; give a number above 0.")
    if not isinstance(max_iterations, int) or max_iterations < 1:
        raise InputError(f"max_iterations is {max_iterations!r}; give a whole number from 1.")


def log_base(cells: Array, model: MeasurementModel, weights: Array, run: Run = map) -> float:
    """Return the part of the log-likelihood that no item changes."""
    if _has_no_base(model):
        return 0.0
    blocks = row_blocks(cells.shape[0], max(1, BASE_CELLS // cells.shape[1]))
    (total,) = fold(run, blocks, lambda rows: (model.log_base(cells[rows], weights[rows]),))
    return float(total)


def gathered_base(data: Encoded, model: MeasurementModel, run: Run = map) -> float:
    """Return the same of rows that are read where they are used."""
    if _has_no_base(model) or data.read is None:
        return 0.0

    def over(part: Encoded, run: Run) -> Work:
        del run
        return lambda rows: (model.log_base(part.cells[rows], part.counted(rows)),)

    return float(data.gather(run, over)[0])


def _has_no_base(model: MeasurementModel) -> bool:
    """Return True if there is no such part: categories have none."""
    return type(model).log_base is MeasurementModel.log_base


class Engine(Protocol):
    """How item parameters are found; an engine knows no model by name."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Find the items of a table of responses as they are stored.

        `tries` stand behind each cell of repeated answers; see `Responses`.
        """


@dataclass(frozen=True, eq=False)
class Expectation:
    """Log-likelihood, its gradient, complete-data information, and what abilities say together."""

    log_likelihood: float
    gradient: Array  # (n_items, width)
    expected: Array  # (n_items, width, width), Fisher information
    observed: Array  # (n_items, width, width), minus the second derivatives
    scale: Floats  # (2, 2), information on origin and log-unit of the population
    edges: tuple[float, float]  # largest posterior mass at the first and the last node
    alignment: float  # covariance of ability with the response, summed over items
    mass: Floats | None = None  # posterior mass of all respondents on the fine nodes
    tables: Tables | None = None  # of the general way only

    def beside(self, coords: Array) -> Expectation:
        """Return the same where the items lie: in NumPy, if they do."""
        if not isinstance(coords, np.ndarray) or isinstance(self.gradient, np.ndarray):
            return self
        gradient, expected = as_numpy(self.gradient), as_numpy(self.expected)
        observed = expected if self.observed is self.expected else as_numpy(self.observed)
        return replace(self, gradient=gradient, expected=expected, observed=observed)


def of_items(tables: Tables, items: slice | Array) -> Tables:
    """Return the tables of some items; totals that all items share stay as they are."""
    abilities, counts, totals = tables
    if isinstance(items, np.ndarray) and not isinstance(counts, np.ndarray):
        items = counts.new_tensor(items, dtype=int)
    return abilities, counts[:, items], totals if totals.shape[0] == 1 else totals[items]


def item_flags(
    table: Responses, model: MeasurementModel, fit: Fit, weights: Floats | None
) -> Flags:
    """Return what a reader should know of single items, in words; nothing for most."""
    everybody = weights is None or (weights > 0).all()
    tally = table.tally if weights is None or everybody else Tally.of(table.cells[weights > 0])
    masks = _constant(tally, table.kind)
    ordinary = ~np.logical_or.reduce(list(masks.values()))
    if isinstance(model, Categorical) and model.n_categories > 2:
        masks[UNSEEN] = ordinary & _unseen(model, tally)
    masks[NEGATIVE] = ordinary & (model.parameters(fit.coords)["discrimination"] < 0)
    masks[FLAT] = ordinary & model.flat(fit.coords)
    if fit.undetermined is not None:
        masks[UNDETERMINED] = ordinary & fit.undetermined
    held = model.at_bound(fit.coords) & ~model.absent(fit.coords)
    held = (
        held & (ordinary | (table.kind != "continuous"))[:, None]
    )  # a constant score has no noise
    for coordinate, column in zip(model.coordinates, held.T, strict=True):
        masks[f"{coordinate.name} {AT_BOUND}"] = column & (not coordinate.shared)
    flags: list[tuple[str, ...]] = [()] * table.n_items
    for name, mask in masks.items():
        for k in np.flatnonzero(mask):
            flags[k] = (*flags[k], name)
    return tuple(flags)


def _constant(tally: Tally, kind: str) -> dict[str, np.ndarray]:
    """Return items that nobody was asked, or that all answered alike."""
    never = tally.asked == 0
    if kind == "binary":  # of repeated answers, cells are shares
        right, wrong = tally.lowest >= 1, tally.highest <= 0
        return {NEVER_ASKED: never, SOLVED_BY_ALL: right & ~never, SOLVED_BY_NONE: wrong & ~never}
    return {NEVER_ASKED: never, CONSTANT: tally.lowest == tally.highest}


def _unseen(model: Categorical, tally: Tally) -> np.ndarray:
    """Return items with a grade, up to their highest, that nobody got."""
    assert tally.counts is not None  # noqa: S101 - grades are codes
    has = model.counts(len(tally.counts))
    unseen: np.ndarray = (tally.counts > 0).sum(axis=1) < has
    return unseen


def table_notes(
    table: Responses | ScannedResponses,
    model: MeasurementModel,
    weights: Floats | None,
    held: np.ndarray | None = None,
) -> list[str]:
    """Return what the table as a whole cannot support; `held` are items on the scale of a bank."""
    scanned = isinstance(table, ScannedResponses)
    looked_at = table.sample(LOOKED_AT) if isinstance(table, ScannedResponses) else table
    notes = [] if scanned else model.remarks(looked_at.cells)
    if model.kind == "continuous":
        note = common_factor(looked_at, model, None if scanned else weights).note
        notes = [*notes, note] if note else notes
    total = table.n_respondents if weights is None else float(weights.sum())
    if total < FEW_RESPONDENTS:
        who = counted(table.n_respondents, "respondent")
        worth = "" if weights is None else f", by their weights worth {total:g}"
        guided = any(c.prior is not None for c in model.coordinates)
        rest = "depend mostly on their priors" if guided else "are poorly determined"
        notes.append(
            f"Only {who}{worth}: item parameters {rest}. Read them with their standard errors."
        )
    if table.n_items == 1:
        notes.append(
            "Only one item: its discrimination cannot be distinguished from its difficulty."
        )
    if isinstance(table, ScannedResponses):
        n_empty = table.opened.seen.n_empty
        who = counted(n_empty, "respondent")
        return [*notes, f"{who} without any response: placed at the mean."] if n_empty else notes
    if table.tally.unasked.size:
        names = [table.respondents[k] for k in table.tally.unasked]
        notes.append(f"{listed(names, 'respondent')} without any response: placed at the mean.")
    return [*notes, *note_on_parts(table, held)]


def flag_notes(table: Responses, flags: Flags) -> list[str]:
    """Return one sentence for each kind of flag."""
    flagged = [(name, said) for name, said in zip(table.items, flags, strict=True) if said]
    notes = []
    for key, (words, meaning) in MEANINGS.items():
        names = [name for name, said in flagged if any(_is(flag, key) for flag in said)]
        if names:
            notes.append(f"{listed(names, 'item')} {words}: {meaning}")
    return notes


def _is(flag: str, key: str) -> bool:
    """Whether a flag is of that kind; of any coordinate at its bound, but for those with a kind."""
    return flag == key or (key == AT_BOUND and flag.endswith(key) and flag not in MEANINGS)
