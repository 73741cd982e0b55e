"""Against R's mirt 1.45.1: log-likelihoods, items, standard errors, abilities, information.

The figures and the response tables lie in <shared>/reference. They are witnesses: where mirt
stopped early (3PL without priors), only its log-likelihood is a bound from below.
"""

import numpy as np
import pytest

from itemwise import OnePL

RASCH = ["LSAT6_Rasch", "LSAT7_Rasch", "SAT12_Rasch"]
TWO = ["LSAT6_2PL", "LSAT7_2PL", "SAT12_2PL", "sim2pl_1000x50_2PL"]
THREE = ["LSAT7_3PL", "SAT12_3PL", "sim3pl_2000x40_3PL"]
FITS = [*RASCH, *TWO, "LSAT6_3PL", *THREE]


@pytest.mark.parametrize("tag", FITS)
def test_log_likelihoods_are_at_least_those_of_mirt(witness, tag):
    mirt = witness(tag)
    assert mirt.ours().log_likelihood >= mirt.fit["loglik"] - 0.01


@pytest.mark.parametrize("tag", [*RASCH, *TWO])
def test_converged_log_likelihoods_are_the_same(witness, tag):
    mirt = witness(tag)
    assert mirt.ours().converged
    assert mirt.ours().log_likelihood == pytest.approx(mirt.fit["loglik"], abs=0.001)


@pytest.mark.parametrize("tag", FITS)
def test_log_likelihoods_are_the_plain_ones(witness, plain, tag):
    mirt = witness(tag)
    value, _ = plain.marginal(mirt.ours().coords, mirt.responses.values)
    assert mirt.ours().log_likelihood == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("tag", ["LSAT6_3PL", *THREE])
def test_a_3pl_never_fits_worse_than_a_2pl(witness, tag):
    mirt = witness(tag)
    assert mirt.ours().log_likelihood >= mirt.ours("2pl").log_likelihood - 1e-4


@pytest.mark.parametrize("tag", TWO)
def test_2pl_items_are_those_of_mirt(witness, tag):
    mirt = witness(tag)
    np.testing.assert_allclose(mirt.ours().items["discrimination"], mirt.items["a"], atol=0.02)
    np.testing.assert_allclose(mirt.ours().items["difficulty"], mirt.items["b"], atol=0.02)


@pytest.mark.parametrize("tag", TWO)
def test_standard_errors_of_2pl_items_are_those_of_mirt(witness, tag):
    mirt = witness(tag)
    ours = mirt.ours().items
    np.testing.assert_allclose(ours["discrimination_se"], mirt.items["se_a"], rtol=0.05)
    np.testing.assert_allclose(ours["difficulty_se"], mirt.items["se_b"], rtol=0.05)


@pytest.mark.parametrize("tag", RASCH)
def test_a_rasch_model_is_that_of_mirt(witness, tag):
    mirt = witness(tag)
    ours = mirt.ours(OnePL(discrimination=1))
    np.testing.assert_allclose(ours.items["difficulty"], -mirt.items["slopeint_d"], atol=0.02)
    np.testing.assert_allclose(ours.items["difficulty_se"], mirt.items["se_b"], rtol=0.05)
    assert ours.population.sd**2 == pytest.approx(mirt.fit["latent_var"], abs=0.002)


def beyond(mirt):
    """Where mirt's ML lies beyond our scale of ten deviations, or nowhere."""
    return ~(np.abs(mirt) < 10)


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML", "WLE"])
@pytest.mark.parametrize("tag", [*RASCH, *TWO])
def test_abilities_are_those_of_mirt(witness, tag, method):
    mirt = witness(tag)
    cal = mirt.ours(OnePL(discrimination=1)) if tag in RASCH else mirt.ours()
    ours, theirs = cal.abilities(method.lower()), mirt.frame("abilities")
    inside = ~beyond(theirs[method].to_numpy())
    assert (ours["at_bound"].to_numpy() == ~inside).all()
    for found, expected, tolerance in [
        ("ability", method, {"atol": 0.005, "rtol": 0}),
        ("se", f"se_{method}", {"rtol": 0.05}),
    ]:
        np.testing.assert_allclose(
            ours[found].to_numpy()[inside], theirs[expected].to_numpy()[inside], **tolerance
        )


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML"])
@pytest.mark.parametrize("tag", THREE)
def test_3pl_abilities_on_mirts_own_items_are_those_of_mirt(witness, plain, tag, method):
    mirt = witness(tag)
    cal = mirt.as_bank()
    ours = cal.score(mirt.responses, method.lower())
    theirs = mirt.frame("abilities")
    inside = ~beyond(theirs[method].to_numpy())
    near = np.abs(ours["ability"].to_numpy() - theirs[method].to_numpy()) < 0.005
    compared = inside & near
    np.testing.assert_allclose(
        ours["se"].to_numpy()[compared], theirs[f"se_{method}"].to_numpy()[compared], rtol=0.05
    )
    # Where the two differ, mirt stopped at the lower of two maxima.
    lower = np.flatnonzero(inside & ~near)
    assert lower.size <= 1
    for row in lower:
        places = np.array([ours["ability"].iloc[row], theirs[method].iloc[row]])
        cells = mirt.responses.cells[[row]]
        mine, other = plain.log_joint(cal.coords, cells, places)[0]
        assert method == "ML"
        assert mine > other + 0.01


@pytest.mark.parametrize("tag", [*RASCH, *TWO])
def test_information_is_that_of_mirt(witness, tag):
    mirt = witness(tag)
    cal = mirt.ours(OnePL(discrimination=1)) if tag in RASCH else mirt.ours()
    theirs = mirt.frame("info").set_index("theta")
    ours = cal.information(theirs.index.to_numpy())
    np.testing.assert_allclose(ours, theirs[list(cal.item_names)], atol=0.001)
    total = cal.test_information(theirs.index.to_numpy()).information
    np.testing.assert_allclose(total, theirs["test"], atol=0.002)


@pytest.mark.parametrize("tag", THREE)
def test_3pl_information_of_mirts_own_items_is_that_of_mirt(witness, tag):
    mirt = witness(tag)
    cal = mirt.as_bank()
    theirs = mirt.frame("info").set_index("theta")
    ours = cal.information(theirs.index.to_numpy())
    np.testing.assert_allclose(ours, theirs[list(cal.item_names)], rtol=1e-6, atol=1e-8)
