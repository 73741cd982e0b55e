"""Standard errors that do not rest on the model: the sandwich, by respondent (White, 1982).

The inverse information says how far a respondent's score moves the estimates; the products of
these moves, summed over respondents, are their variance, whatever made the scores as large as they
are. Responses of one respondent may depend on each other in any way; respondents may not. Estimates
stay as they are: where the model is wrong, they belong to the nearest model of its kind. A prior is
an opinion, not a sample: it counts for as much as it does in the information.
"""

from __future__ import annotations

import numpy as np

from ogive.calibration import KnownCovariances
from ogive.estimation.held_items import Held
from ogive.estimation.inverse_information import Inverse, along, symmetrised
from ogive.estimation.observed_information import stiffness
from ogive.models.measurement import MeasurementModel
from ogive.numerics.arrays import (
    Array,
    Floats,
    Run,
    array_namespace,
    as_numpy,
    like,
)
from ogive.responses.encoding import Encoded, Work
from ogive.scoring.item_errors import averaged_scores
from ogive.scoring.posterior import Nodes, Posterior

CELLS = 1 << 20  # scores in one block of rows


def sandwich(
    inverse: Inverse,
    data: Encoded,
    model: MeasurementModel,
    coords: Array,
    nodes: Nodes,
    held: Held | None = None,
    run: Run = map,
) -> KnownCovariances:
    """Covariances of items from the scores of respondents; `inverse` is the bread."""

    def over(part: Encoded, run: Run) -> Work:
        del run
        own, coarse = like(coords, part.weights), like(nodes.coarse, part.weights)
        posterior_of = Posterior(model.log_terms(own, coarse), nodes)
        slopes = model.term_slopes(own, coarse)
        xp = array_namespace(own)

        def pass_over(rows: slice) -> tuple[Floats, ...]:
            block, weights = part.block(rows), as_numpy(part.counted(rows))
            posterior, _ = posterior_of(block)
            averaged = averaged_scores(block, slopes, posterior_of.on_coarse(posterior))
            items, scale = inverse.moves(as_numpy(xp.stack(averaged, axis=2)))
            return (
                np.einsum("r,rni,rnj->nij", weights, items, items, optimize=True),
                np.einsum("r,rni->ni", weights, items),
                (scale.T * weights) @ scale,
                weights @ scale,
                weights @ as_numpy(block.asked),
            )

        return pass_over

    rows = max(1, CELLS // (coords.shape[0] * model.width))
    square, sums, scale, common, asked = data.gather(run, over, rows=rows, lanes=4)
    n = data.n_respondents
    # Priors leave scores with a mean other than zero, which is no error of sampling.
    square = square - sums[:, :, None] * sums[:, None, :] / n
    scale = scale - np.outer(common, common) / n
    # Estimates follow the responses that they are held against: scores come out too small, by
    # about the share of responses that an item's own parameters take up.
    taken = np.minimum(model.width / np.maximum(asked, 1.0), 0.5)
    opinion = inverse.moved_by(as_numpy(stiffness(model, coords, held)))
    found = symmetrised(square / (1 - taken)[:, None, None] + opinion)
    return KnownCovariances(found, along(scale, inverse.ways))
