"""Against R's mirt 1.45.1: log-likelihoods, items, standard errors, abilities, information.

LSAT6 and LSAT7 are part of the repository (`lsat.json`); the other figures and response tables lie
in <shared>/reference and are asked where they are at hand. They are witnesses: where mirt
stopped early (3PL without priors), only its log-likelihood is a bound from below.
"""

import numpy as np
import pandas as pd
import pytest

from ogive import OnePL

RASCH = ["LSAT6_Rasch", "LSAT7_Rasch", "SAT12_Rasch"]
TWO = ["LSAT6_2PL", "LSAT7_2PL", "SAT12_2PL", "sim2pl_1000x50_2PL"]
THREE = ["LSAT7_3PL", "SAT12_3PL", "sim3pl_2000x40_3PL"]
FITS = [*RASCH, *TWO, "LSAT6_3PL", *THREE]


def test_log_likelihoods_are_at_least_those_of_mirt(witness, subtests):
    for mirt in witness.at_hand(FITS):
        with subtests.test(mirt.tag):
            assert mirt.ours().log_likelihood >= mirt.fit["loglik"] - 0.01


def test_converged_log_likelihoods_are_the_same(witness, subtests):
    for mirt in witness.at_hand([*RASCH, *TWO]):
        with subtests.test(mirt.tag):
            assert mirt.ours().converged
            assert mirt.ours().log_likelihood == pytest.approx(mirt.fit["loglik"], abs=0.001)


def test_log_likelihoods_are_the_plain_ones(witness, subtests, plain):
    for mirt in witness.at_hand(FITS):
        with subtests.test(mirt.tag):
            value, _ = plain.marginal(mirt.ours().coords, mirt.responses.values)
            assert mirt.ours().log_likelihood == pytest.approx(value, rel=1e-6)


def test_a_3pl_never_fits_worse_than_a_2pl(witness, subtests):
    for mirt in witness.at_hand(["LSAT6_3PL", *THREE]):
        with subtests.test(mirt.tag):
            assert mirt.ours().log_likelihood >= mirt.ours("2pl").log_likelihood - 1e-4


def test_2pl_items_are_those_of_mirt(witness, subtests):
    for mirt in witness.at_hand(TWO):
        with subtests.test(mirt.tag):
            np.testing.assert_allclose(
                mirt.ours().items["discrimination"], mirt.items["a"], atol=0.02
            )
            np.testing.assert_allclose(mirt.ours().items["difficulty"], mirt.items["b"], atol=0.02)


def test_standard_errors_of_2pl_items_are_those_of_mirt(witness, subtests):
    for mirt in witness.at_hand(TWO):
        with subtests.test(mirt.tag):
            ours = mirt.ours().items
            np.testing.assert_allclose(ours["discrimination_se"], mirt.items["se_a"], rtol=0.05)
            np.testing.assert_allclose(ours["difficulty_se"], mirt.items["se_b"], rtol=0.05)


def test_a_rasch_model_is_that_of_mirt(witness, subtests):
    for mirt in witness.at_hand(RASCH):
        with subtests.test(mirt.tag):
            ours = mirt.ours(OnePL(discrimination=1))
            np.testing.assert_allclose(
                ours.items["difficulty"], -mirt.items["slopeint_d"], atol=0.02
            )
            np.testing.assert_allclose(ours.items["difficulty_se"], mirt.items["se_b"], rtol=0.05)
            assert ours.population.sd**2 == pytest.approx(mirt.fit["latent_var"], abs=0.002)


def beyond(mirt):
    """Where mirt's ML lies beyond our scale of ten deviations, or nowhere."""
    return ~(np.abs(mirt) < 10)


@pytest.mark.parametrize("method", ["EAP", "MAP", "ML", "WLE"])
def test_abilities_are_those_of_mirt(witness, subtests, method):
    for mirt in witness.at_hand([*RASCH, *TWO]):
        with subtests.test(mirt.tag):
            cal = mirt.ours(OnePL(discrimination=1)) if mirt.tag in RASCH else mirt.ours()
            ours, theirs = cal.abilities(method.lower(), items_known=True), mirt.frame("abilities")
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
def test_3pl_abilities_on_mirts_own_items_are_those_of_mirt(witness, subtests, plain, method):
    for mirt in witness.at_hand(THREE):
        with subtests.test(mirt.tag):
            cal = mirt.as_bank()
            ours = cal.score(mirt.responses, method.lower())
            theirs = mirt.frame("abilities")
            inside = ~beyond(theirs[method].to_numpy())
            near = np.abs(ours["ability"].to_numpy() - theirs[method].to_numpy()) < 0.005
            compared = inside & near
            np.testing.assert_allclose(
                ours["se"].to_numpy()[compared],
                theirs[f"se_{method}"].to_numpy()[compared],
                rtol=0.05,
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


def test_information_is_that_of_mirt(witness, subtests):
    for mirt in witness.at_hand([*RASCH, *TWO]):
        with subtests.test(mirt.tag):
            cal = mirt.ours(OnePL(discrimination=1)) if mirt.tag in RASCH else mirt.ours()
            theirs = mirt.frame("info").set_index("theta")
            ours = cal.information(theirs.index.to_numpy())
            np.testing.assert_allclose(ours, theirs[list(cal.item_names)], atol=0.001)
            total = cal.test_information(theirs.index.to_numpy()).information
            np.testing.assert_allclose(total, theirs["test"], atol=0.002)


def test_3pl_information_of_mirts_own_items_is_that_of_mirt(witness, subtests):
    for mirt in witness.at_hand(THREE):
        with subtests.test(mirt.tag):
            cal = mirt.as_bank()
            theirs = mirt.frame("info").set_index("theta")
            ours = cal.information(theirs.index.to_numpy())
            np.testing.assert_allclose(ours, theirs[list(cal.item_names)], rtol=1e-6, atol=1e-8)


def test_what_the_repository_has_of_mirt_is_what_the_shared_folder_has(shared, witness, subtests):
    """Of SAT12, Science and two large simulated tables the repository has nothing."""
    folder = shared / "reference"
    for tag in [tag for tag in FITS if tag.startswith("LSAT")]:
        with subtests.test(tag):
            ours, theirs = witness(tag), type(witness(tag)).in_folder(folder, tag)
            cells = theirs.responses.cells
            order = np.lexsort(cells.T[::-1])
            np.testing.assert_array_equal(ours.responses.cells, cells[order])
            for name, value in ours.fit.items():
                assert value == pytest.approx(theirs.fit[name], rel=1e-12)
            for path in folder.glob(f"mirt_{tag}_*.csv"):
                ending = path.name.removeprefix(f"mirt_{tag}_").removesuffix(".csv")
                if ending == "items_default" or (ending, tag) == ("items_tight", "LSAT6_3PL"):
                    continue
                mine, frame = ours.frame(ending), theirs.frame(ending)
                rows = order if len(frame) == ours.responses.n_respondents else slice(None)
                frame = frame[list(mine)].iloc[rows].reset_index(drop=True)
                pd.testing.assert_frame_equal(mine, frame, rtol=1e-6, atol=1e-7, check_dtype=False)
