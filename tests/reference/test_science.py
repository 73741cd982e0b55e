"""Against R's mirt 1.45.1 on grades: the graded and the partial credit model of the Science data.

The figures lie in <shared>/reference. mirt's standard errors of the first step of the partial
credit model are off; a bootstrap from our own items decides which are right.
"""

import numpy as np
import pandas as pd
import pytest

from itemwise import Responses, calibrate, simulate
from itemwise.models import PartialCredit

MODELS = ["graded", "gpcm"]
STEPS = ["difficulty_1", "difficulty_2", "difficulty_3"]


class Witness:
    """mirt's figures of one fit, and ours."""

    def __init__(self, folder, model):
        self.folder, self.model = folder, model
        fits = pd.read_csv(folder / "mirt_fits.csv")
        rows = (fits["tag"] == f"Science_{model}") & (fits["TOL"] == "tight")
        self.log_likelihood = float(fits.loc[rows, "loglik"].iloc[0])
        table = pd.read_csv(folder / "data" / "Science.csv")
        self.responses = Responses(table.to_numpy(), items=list(table.columns))
        # mirt's tight fits are converged to 1e-7 in each parameter; so are ours.
        self.ours = calibrate(self.responses, model, priors=None, tolerance=1e-10)

    def frame(self, ending):
        return pd.read_csv(self.folder / f"mirt_Science_{self.model}_{ending}.csv")

    @property
    def items(self):
        return self.frame("items_tight").set_index("item")


@pytest.fixture(scope="module", params=MODELS)
def mirt(request, shared):
    return Witness(shared / "reference", request.param)


def test_grades_from_one_to_four_are_recognised(mirt):
    assert mirt.responses.kind == "graded"
    assert mirt.ours.model.lowest == 1
    assert mirt.ours.model.categories == (4, 4, 4, 4)


def test_the_log_likelihood_is_that_of_mirt(mirt):
    assert mirt.ours.converged
    assert mirt.ours.log_likelihood == pytest.approx(mirt.log_likelihood, abs=1e-5)


def test_items_are_those_of_mirt(mirt):
    names = {"discrimination": "a", **{step: f"b{k}" for k, step in enumerate(STEPS, 1)}}
    for ours, theirs in names.items():
        np.testing.assert_allclose(mirt.ours.items[ours], mirt.items[theirs], atol=5e-4, rtol=0)


def test_difficulty_is_the_mean_of_the_steps(mirt):
    items = mirt.ours.items
    np.testing.assert_allclose(items["difficulty"], items[STEPS].mean(axis=1), rtol=1e-12)


def test_standard_errors_are_those_of_mirt(mirt):
    names = {"discrimination_se": "se_a", **{f"{s}_se": f"se_b{k}" for k, s in enumerate(STEPS, 1)}}
    if mirt.model == "gpcm":
        del names["difficulty_1_se"]
    for ours, theirs in names.items():
        np.testing.assert_allclose(mirt.ours.items[ours], mirt.items[theirs], rtol=1e-3)


@pytest.mark.slow
def test_standard_errors_of_the_first_step_are_those_of_a_bootstrap(shared):
    """Tables drawn from our gpcm items and fitted again: their spread takes no side.

    Quartiles, because a few tables have hardly anybody in the lowest grade and their first step
    runs away. With 400 tables, a quartile range is known to about 6 %; 15 % is 2.5 times that.
    """
    mirt = Witness(shared / "reference", "gpcm")
    items, found = mirt.ours.items, []
    for seed in range(400):
        drawn = simulate("gpcm", 392, items=items, random_state=seed).responses
        again = calibrate(drawn, PartialCredit(categories=4), priors=None)
        found.append(again.items["difficulty_1"].to_numpy())
    low, high = np.quantile(found, [0.25, 0.75], axis=0)
    spread = (high - low) / 1.349  # the range of a normal distribution of deviation one
    np.testing.assert_allclose(items["difficulty_1_se"], spread, rtol=0.15)
    assert (mirt.items["se_b1"] > 1.2 * spread).all()


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML", "WLE"])
def test_abilities_are_those_of_mirt(mirt, method):
    ours, theirs = mirt.ours.abilities(method.lower()), mirt.frame("abilities")
    inside = np.isfinite(theirs[method]).to_numpy()
    np.testing.assert_array_equal(ours["at_bound"], ~inside)
    np.testing.assert_allclose(ours["ability"][inside], theirs[method][inside], atol=5e-4, rtol=0)


def test_standard_errors_of_eap_are_those_of_mirt(mirt):
    theirs = mirt.frame("abilities")["se_EAP"]
    np.testing.assert_allclose(mirt.ours.abilities()["se"], theirs, atol=5e-4)


def test_information_is_that_of_mirt(mirt):
    theirs = mirt.frame("info").set_index("theta")
    ours = mirt.ours.information(theirs.index.to_numpy())
    np.testing.assert_allclose(ours, theirs[list(mirt.ours.item_names)], rtol=1e-3)
    total = mirt.ours.test_information(theirs.index.to_numpy()).information
    np.testing.assert_allclose(total, theirs["test"], rtol=1e-3)
