"""Scales of parts that no item links: each has its origin at its own mean, and can stand alone.

Nothing compares such parts. In a fit of all together, priors that items share put one origin for
all: respondents whose items were easier than those of other parts would stand higher. So the origin
of each part is moved to the mean of its own respondents. The curves stay as they are; so do the
log-likelihood and what follows from it, which are those of the joint fit.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ogive.irt.calibration import Calibration
from ogive.irt.estimation.engine import DeferredCovariances
from ogive.irt.estimation.identifiability import flag_notes, table_notes
from ogive.irt.estimation.latent_scale import moved_covariances, moved_directions
from ogive.irt.item_covariances import KnownCovariances, PooledItems, Uncertainty, known
from ogive.irt.models.base import MeasurementModel
from ogive.stats.array_backend import Floats
from ogive.stats.linked_parts import Parts

MOST_STEPS, LONGEST, CLOSE = 30, 3.0, 1e-6  # Newton's, to a mean ability of zero
LEAST_TOLD = 0.01  # share of the population's variance; less says nothing about a mean


def at_own_origins(found: Calibration) -> Calibration:
    """The calibration with every unlinked part at its own mean ability; others as they are."""
    table = found.responses
    if table is None or not found.model.affine or not found.parts[0].any():
        return found
    rows, items = found.parts
    asked, weights = table.observed.any(axis=1), found.weights
    varied = np.array([_varied(table.values[rows == k]) for k in range(rows.max() + 1)])
    counts: Floats = asked * (np.ones(asked.size) if weights is None else weights)
    shift = np.zeros(int(rows.max()) + 1)
    moved = found
    for _ in range(MOST_STEPS):
        step = np.where(varied, _to_the_mean(moved, rows, counts), 0.0)
        shift = shift + step
        moved = replace(
            found, coords=_shifted(found.model, found.coords, items, shift), encoded=None
        )
        if np.abs(step).max() < CLOSE:
            break
    errors = _moved_errors(found.model, found.coords, found.uncertainty, items, shift)
    return replace(moved, uncertainty=errors, encoded=found.encoded)


def _to_the_mean(found: Calibration, rows: Parts, counts: Floats) -> Floats:
    """How far the mean of each part is from the origin, by what responses tell of abilities."""
    scored = found.abilities(items_known=True)
    away = scored["ability"].to_numpy() - found.population.mean
    told = 1.0 - (scored["se"].to_numpy() / found.population.sd) ** 2
    n = rows.max() + 1
    mean, sure = (np.bincount(rows, counts * x, n) for x in (away, told))
    known = sure > LEAST_TOLD * np.bincount(rows, counts, n)
    found_steps: Floats = np.where(known, mean / np.where(known, sure, 1.0), 0.0)
    return np.clip(found_steps, -LONGEST, LONGEST)


def _varied(values: Floats) -> bool:
    """Return True if responses differ: where all are right, no origin is the mean."""
    return bool(np.nanmin(values, initial=np.inf) < np.nanmax(values, initial=-np.inf))


def _shifted(model: MeasurementModel, coords: Floats, items: Parts, shift: Floats) -> Floats:
    """Return coordinates of items after the origin of each part moved."""
    moved = coords.copy()
    for k in np.flatnonzero(shift):
        moved[items == k] = model.of_items(np.flatnonzero(items == k)).rescale(
            coords[items == k], float(shift[k]), 1.0
        )
    return moved


def _moved_errors(
    model: MeasurementModel, coords: Floats, errors: Uncertainty, items: Parts, shift: Floats
) -> DeferredCovariances:
    """Return the errors of items after the origin of each part moved."""

    def moved(covariances: Floats, shared: Floats, at: Floats) -> tuple[Floats, Floats]:
        covariances, shared = covariances.copy(), shared.copy()
        for k in np.flatnonzero(shift):
            mine = np.flatnonzero(items == k)
            where = model.of_items(mine), at[mine]
            by = float(shift[k]), 1.0
            covariances[mine] = moved_covariances(*where, covariances[mine], *by)
            if len(shared):
                shared[:, mine] = moved_directions(*where, shared[:, mine], *by)
        return covariances, shared

    def compute() -> KnownCovariances:
        whole = known(errors)
        return KnownCovariances(*moved(whole.covariances, whole.shared, coords))

    def pool(_: object) -> PooledItems | None:
        pooled = errors.pooled
        if pooled is None:
            return None
        spread = moved(pooled.covariances, pooled.shared, pooled.coords)
        return PooledItems(_shifted(model, pooled.coords, items, shift), *spread)

    return DeferredCovariances(compute, pool)


def scales_of_parts(found: Calibration) -> list[Calibration]:
    """The calibration of each linked part, the largest first, with its own notes and responses.

    Parameters and abilities are those of the whole calibration.
    """
    rows, items = found.parts
    table = found.responses
    if table is None or not rows.any():
        return [found]
    general = _without_remarks(found)
    return [_scale_of_part(found, rows == k, items == k, general) for k in range(rows.max() + 1)]


def _without_remarks(found: Calibration) -> list[str]:
    """Return the notes of a fit that are about no part of its table."""
    assert found.responses is not None  # noqa: S101 - asked for by the caller
    table = found.responses
    said = {*table_notes(table, found.model, found.weights), *flag_notes(table, found.flags)}
    return [note for note in found.fit_notes if note not in said]


def _scale_of_part(
    found: Calibration, rows: np.ndarray, items: np.ndarray, general: list[str]
) -> Calibration:
    assert found.responses is not None  # noqa: S101 - asked for by the caller
    table = found.responses.select(respondents=rows, items=items)
    weights = None if found.weights is None else found.weights[rows]
    part = found.of_items(table.items)
    notes = [*table_notes(table, part.model, weights), *flag_notes(table, part.flags)]
    return replace(
        part,
        responses=table,
        weights=weights,
        n_respondents=float(rows.sum() if weights is None else weights.sum()),
        fit_notes=(*general, *notes),
    )
