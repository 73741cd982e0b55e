"""Against R's mirt 1.45.1 on grades: the graded and the partial credit model of the Science data.

The figures lie in <shared>/reference. mirt's standard errors of the first step of the partial
credit model are off; a bootstrap from our own items decides which are right.
"""

from itertools import product

import numpy as np
import pytest

from ogive import calibrate, simulate
from ogive.irt.models.nominal import PartialCredit

STEPS = ["difficulty_1", "difficulty_2", "difficulty_3"]


def grades_from_one_to_four_are_recognised(mirt, fitted):
    assert mirt.responses.kind == "graded"
    assert fitted.model.lowest == 1
    assert fitted.model.categories == (4, 4, 4, 4)


def the_log_likelihood_is_the_same(mirt, fitted):
    assert fitted.converged
    assert fitted.log_likelihood == pytest.approx(mirt.fit["loglik"], abs=1e-5)


def items_are_the_same(mirt, fitted):
    names = {"discrimination": "a", **{step: f"b{k}" for k, step in enumerate(STEPS, 1)}}
    for ours, theirs in names.items():
        np.testing.assert_allclose(fitted.items[ours], mirt.items[theirs], atol=5e-4, rtol=0)


def difficulty_is_the_mean_of_the_steps(mirt, fitted):
    items = fitted.items
    np.testing.assert_allclose(items["difficulty"], items[STEPS].mean(axis=1), rtol=1e-12)


def standard_errors_are_the_same(mirt, fitted):
    names = {"discrimination_se": "se_a", **{f"{s}_se": f"se_b{k}" for k, s in enumerate(STEPS, 1)}}
    if mirt.model == "gpcm":
        del names["difficulty_1_se"]
    for ours, theirs in names.items():
        np.testing.assert_allclose(fitted.items[ours], mirt.items[theirs], rtol=1e-3)


def abilities_are_the_same(mirt, fitted):
    theirs = mirt.frame("abilities")
    for method in ("EAP", "MAP", "ML", "WLE"):
        ours, wanted = fitted.abilities(method.lower(), items_known=True), theirs[method]
        inside = np.isfinite(wanted).to_numpy()
        np.testing.assert_array_equal(ours["at_bound"], ~inside)
        np.testing.assert_allclose(ours["ability"][inside], wanted[inside], atol=5e-4, rtol=0)
    np.testing.assert_allclose(
        fitted.abilities(items_known=True)["se"], theirs["se_EAP"], atol=5e-4
    )


def information_is_the_same(mirt, fitted):
    theirs = mirt.frame("info").set_index("theta")
    ours = fitted.information(theirs.index.to_numpy())
    np.testing.assert_allclose(ours, theirs[list(fitted.item_names)], rtol=1e-3)
    total = fitted.test_information(theirs.index.to_numpy()).information
    np.testing.assert_allclose(total, theirs["test"], rtol=1e-3)


CHECKS = [
    *(grades_from_one_to_four_are_recognised, the_log_likelihood_is_the_same, items_are_the_same),
    *(difficulty_is_the_mean_of_the_steps, standard_errors_are_the_same, abilities_are_the_same),
    information_is_the_same,
]


def test_two_models_of_grades_are_as_in_mirt(shared, witness, subtests):
    for model, check in product(["graded", "gpcm"], CHECKS):
        with subtests.test(f"{model}: {check.__name__}"):
            mirt = witness(f"Science_{model}")
            # mirt's tight fits are converged to 1e-7 in each parameter; so are ours.
            check(mirt, mirt.ours(tolerance=1e-10))


@pytest.mark.slow
def test_standard_errors_of_the_first_step_are_those_of_a_bootstrap(shared, witness):
    """Tables drawn from our gpcm items and fitted again: their spread takes no side.

    Quartiles, because a few tables have hardly anybody in the lowest grade and their first step
    runs away. With 400 tables, a quartile range is known to about 6 %; 15 % is 2.5 times that.
    """
    mirt = witness("Science_gpcm")
    items, found = mirt.ours(tolerance=1e-10).items, []
    for seed in range(400):
        drawn = simulate("gpcm", 392, items=items, random_state=seed).responses
        again = calibrate(drawn, PartialCredit(categories=4), priors=None)
        found.append(again.items["difficulty_1"].to_numpy())
    low, high = np.quantile(found, [0.25, 0.75], axis=0)
    spread = (high - low) / 1.349  # the range of a normal distribution of deviation one
    np.testing.assert_allclose(items["difficulty_1_se"], spread, rtol=0.15)
    assert (mirt.items["se_b1"] > 1.2 * spread).all()
