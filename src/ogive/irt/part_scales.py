"""Scales of parts of a table that no item links.

Such parts cannot be compared. In a joint fit, priors that items share give all parts one origin, so
that respondents with easier items would stand higher. The origin of each part is therefore moved to
the mean of its own respondents. Curves and log-likelihood stay those of the joint fit.
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

MAX_STEPS, LONGEST, CONVERGED = 30, 3.0, 1e-6  # Newton steps to a mean ability of zero
LEAST_INFORMATION = 0.01  # least reduction of the population's variance for a mean to be known


def at_own_origins(calibration: Calibration) -> Calibration:
    """Move every unlinked part to its own mean ability; return others as they are."""
    table = calibration.responses
    if table is None or not calibration.model.affine or not calibration.parts[0].any():
        return calibration
    rows, items = calibration.parts
    asked, weights = table.observed.any(axis=1), calibration.weights
    counts: Floats = asked * (np.ones(asked.size) if weights is None else weights)
    n_parts = int(rows.max()) + 1
    values = [table.values[rows == k] for k in range(n_parts)]
    # If all responses are right, no origin is the mean.
    varied = [np.nanmin(v, initial=np.inf) < np.nanmax(v, initial=-np.inf) for v in values]
    shift = np.zeros(n_parts)
    moved = calibration
    for _ in range(MAX_STEPS):
        scored = moved.abilities(items_known=True)
        distance = scored["ability"].to_numpy() - moved.population.mean
        information = 1.0 - (scored["se"].to_numpy() / moved.population.sd) ** 2
        mean, total = (np.bincount(rows, counts * x, n_parts) for x in (distance, information))
        enough = total > LEAST_INFORMATION * np.bincount(rows, counts, n_parts)
        newton = np.where(enough, mean / np.where(enough, total, 1.0), 0.0)
        step = np.where(varied, np.clip(newton, -LONGEST, LONGEST), 0.0)
        shift = shift + step
        coords = _shifted(calibration.model, calibration.coords, items, shift)
        moved = replace(calibration, coords=coords, encoded=None)
        if np.abs(step).max() < CONVERGED:
            break
    errors = _moved_errors(
        calibration.model, calibration.coords, calibration.uncertainty, items, shift
    )
    return replace(moved, uncertainty=errors, encoded=calibration.encoded)


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
            own = np.flatnonzero(items == k)
            selected = model.of_items(own), at[own]
            by = float(shift[k]), 1.0
            covariances[own] = moved_covariances(*selected, covariances[own], *by)
            if len(shared):
                shared[:, own] = moved_directions(*selected, shared[:, own], *by)
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


def scales_of_parts(calibration: Calibration) -> list[Calibration]:
    """Return the calibration of each linked part, the largest first, with its own notes.

    Parameters and abilities are those of the whole calibration.
    """
    rows, items = calibration.parts
    table = calibration.responses
    if table is None or not rows.any():
        return [calibration]
    remarks = {
        *table_notes(table, calibration.model, calibration.weights),
        *flag_notes(table, calibration.flags),
    }
    general = [note for note in calibration.fit_notes if note not in remarks]
    parts = []
    for k in range(rows.max() + 1):
        own = table.select(respondents=rows == k, items=items == k)
        weights = None if calibration.weights is None else calibration.weights[rows == k]
        part = calibration.of_items(own.items)
        notes = [*table_notes(own, part.model, weights), *flag_notes(own, part.flags)]
        total = float((rows == k).sum() if weights is None else weights.sum())
        parts.append(
            replace(
                part,
                responses=own,
                weights=weights,
                n_respondents=total,
                fit_notes=(*general, *notes),
            )
        )
    return parts
