"""Every reference set once against a general optimiser on a likelihood written by hand."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive import Responses, calibrate

BOUNDS = [(-20, 20), (None, None), (0, 0.95)]
SETS = ["LSAT6_2PL", "LSAT7_2PL", "SAT12_2PL", "sim2pl_1000x50_2PL", "sim3pl_2000x40_3PL"]


def begins(width, n_items):
    """Two places to begin with: alike items, and scattered ones."""
    random = np.random.default_rng(3)
    alike = np.tile([1.0, 0.0, 0.1][:width], (n_items, 1))
    scattered = [
        random.uniform(0.5, 2.0, n_items),
        random.normal(0.0, 1.0, n_items),
        random.uniform(0.05, 0.3, n_items),
    ]
    return alike, np.stack(scattered[:width], axis=1)


@pytest.mark.slow
@pytest.mark.parametrize(("model", "within"), [("2pl", 1e-4), ("3pl", 0.01)])
def test_a_general_optimiser_finds_nothing_better(witness, plain, model, within, subtests):
    for mirt in witness.at_hand(SETS):
        with subtests.test(mirt.data):
            nothing_is_better(mirt.responses, plain, model, within)


@pytest.mark.parametrize(
    ("model", "within"), [("2pl", 1e-4), pytest.param("3pl", 0.01, marks=pytest.mark.slow)]
)
def test_a_general_optimiser_finds_nothing_better_on_a_made_table(made, plain, model, within):
    nothing_is_better(Responses(made.binary()), plain, model, within)


def nothing_is_better(responses, plain, model, within):
    values, counts = np.unique(responses.cells.astype(float), axis=0, return_counts=True)
    cal = calibrate(responses, model, priors=None)

    def loss(x):
        value, slope = plain.marginal(x.reshape(cal.coords.shape), values, counts, nodes=121)
        return -value, -slope.reshape(-1)

    bounds = BOUNDS[: cal.model.width] * values.shape[1]
    settings = {"maxiter": 3000, "maxfun": 5000, "ftol": 1e-14, "gtol": 1e-6}
    ours = plain.marginal(cal.coords, values, counts)[0]
    for begin in begins(cal.model.width, values.shape[1]):
        found = minimize(
            loss, begin.reshape(-1), jac=True, method="L-BFGS-B", bounds=bounds, options=settings
        )
        theirs = plain.marginal(found.x.reshape(cal.coords.shape), values, counts)[0]
        assert ours >= theirs - within
