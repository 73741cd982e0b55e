"""Two banks on one scale, made one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from itemwise.calibration.calibration import Calibration
from itemwise.calibration.uncertainty import KnownCovariances


def join_banks(first: Calibration, second: Calibration) -> Calibration:
    """The items of `first`, then those of `second` that it lacks; population and fit of `first`.

    Both must stand on one scale already. The bank keeps no responses and has no likelihood.
    """
    known = set(first.item_names)
    added = [k for k, name in enumerate(second.item_names) if name not in known]
    bank = replace(first, log_likelihood=np.nan, responses=None, weights=None)
    if not added:
        return bank
    shape = second.model.of_items(added)
    model = first.model.joined(len(first.item_names), shape, len(added))
    coords = [first.coords, second.coords[added]]
    errors = [first.uncertainty.covariances, second.uncertainty.covariances[added]]
    covariances = [model.widened_covariances(part) for part in errors]
    return replace(
        bank,
        model=model,
        item_names=(*first.item_names, *(second.item_names[k] for k in added)),
        coords=np.concatenate([model.widened(part) for part in coords]),
        uncertainty=KnownCovariances(np.concatenate(covariances)),
        converged=first.converged and second.converged,
        flags=(*first.flags, *(second.flags[k] for k in added)),
    )
