"""Respondent fit: by definition, against R's mirt 1.45.1, and on respondents of known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, norm

import ogive
from ogive import calibrate, simulate
from ogive.checks.residuals import ItemResponses
from ogive.checks.respondent_fit import respondent_fit
from ogive.errors import InputError
from ogive.irt.models.logistic import TwoPL

BINARY = [
    *("LSAT6_Rasch", "LSAT6_2PL", "LSAT7_Rasch", "LSAT7_2PL"),
    *("SAT12_Rasch", "SAT12_2PL", "sim2pl_1000x50_2PL"),
]
FIGURES = {
    "infit": "infit",
    "infit_z": "z.infit",
    "outfit": "outfit",
    "outfit_z": "z.outfit",
    "zh": "Zh",
}


def agrees(mirt, ours, **tolerance):
    theirs = mirt.frame("personfit")
    for found, expected in FIGURES.items():
        np.testing.assert_allclose(ours[found], theirs[expected], **tolerance)


@pytest.fixture(scope="module")
def many():
    """Responses that a 2PL made, and their calibration."""
    return calibrate(simulate("2pl", 800, 40, random_state=1).responses, "2pl")


def test_on_mirts_items_figures_are_those_of_mirt(witness, subtests):
    for mirt in witness.at_hand(BINARY):
        with subtests.test(mirt.tag):
            # mirt's 61 nodes move its abilities by up to 1e-5.
            agrees(mirt, respondent_fit(mirt.as_bank()).to_frame(), rtol=0, atol=1e-5)


def test_our_own_calibration_gives_mirts_figures(witness, subtests):
    """As far as the items agree: both stop when nothing of interest changes."""
    away = {"LSAT7_2PL": 0.01, "SAT12_2PL": 0.02, "Science_graded": 0.01, "Science_gpcm": 0.01}
    for mirt in witness.at_hand([*away]):
        with subtests.test(mirt.tag):
            ours = respondent_fit(mirt.ours()).to_frame()
            agrees(mirt, ours, rtol=away[mirt.tag], atol=away[mirt.tag])


def test_zh_is_what_its_definition_says():
    coords = np.array([[1.0, 0.5], [0.7, -0.4], [2.0, 1.0]])
    cells = np.array([[1, 0, -1], [0, 1, 1]], dtype=np.int8)
    ability = np.array([-0.5, 0.3])
    found = ItemResponses(TwoPL(), coords, cells, ability, np.ones(len(cells))).by_respondent()
    for row, items in enumerate([[0, 1], [0, 1, 2]]):
        right = 1 / (1 + np.exp(-coords[items, 0] * ability[row] - coords[items, 1]))
        log_odds = np.log(right / (1 - right))
        told = np.where(cells[row, items] == 1, np.log(right), np.log(1 - right)).sum()
        mean = (right * np.log(right) + (1 - right) * np.log(1 - right)).sum()
        variance = (right * (1 - right) * log_odds**2).sum()
        assert found.zh[row] == pytest.approx((told - mean) / np.sqrt(variance), rel=1e-12)
        squared = (cells[row, items] - right) ** 2
        assert found.outfit[row] == pytest.approx(np.mean(squared / (right * (1 - right))))
        assert found.n[row] == len(items)


def test_at_the_true_abilities_zh_is_standard_normal_but_for_its_skew():
    responses, truth = simulate("2pl", 2000, 200, random_state=2)
    coords = truth.model.from_parameters({k: truth.items[k].to_numpy() for k in truth.items})
    ability = truth.abilities["ability"].to_numpy()
    zh = (
        ItemResponses(truth.model, coords, responses.cells, ability, np.ones(len(ability)))
        .by_respondent()
        .zh
    )
    # Mean and deviation are exact; four standard errors of 2,000 draws.
    assert abs(zh.mean()) < 4 / np.sqrt(2000)
    assert abs(zh.std() - 1) < 4 / np.sqrt(2 * 2000)
    assert kstest(zh, "norm").statistic < 0.05


def test_false_alarms_stay_below_the_level(many):
    fit = respondent_fit(many)
    assert np.mean(fit.p < 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 800)
    np.testing.assert_allclose(fit.p, norm.cdf(fit.zh), rtol=1e-12)


def test_who_answers_at_random_or_the_wrong_way_round_is_found(many):
    values = np.array(many.responses.to_frame())[:100]
    easiest = np.argsort(many.coords[:, 1])[-20:]
    values[17] = 1.0
    values[17, easiest] = 0.0
    values[42] = np.random.default_rng(3).integers(0, 2, 40)
    fit = respondent_fit(many, values)
    assert fit.unlikely[0] == fit.respondents[17]
    assert fit.zh[17] < -5
    assert fit.p[42] < 0.05
    assert fit.respondents[17] in fit.meaning


def test_abilities_are_those_of_the_method_asked_for(many, subtests):
    for method in ["eap", "map", "ml", "wle"]:
        with subtests.test(method):
            fit = respondent_fit(many, method=method)
            scored = many.abilities(method)
            np.testing.assert_array_equal(fit.ability, scored["ability"])
            np.testing.assert_array_equal(fit.se, scored["se"])
            np.testing.assert_array_equal(np.isnan(fit.zh), scored["at_bound"])


def test_an_unknown_method_is_refused(many):
    with pytest.raises(InputError, match="choose one of eap, map, ml, wle"):
        respondent_fit(many, method="bayes")


def test_missing_cells_count_for_nothing(many):
    values = np.array(many.responses.to_frame())
    values[:, 30:] = np.nan
    values[5] = np.nan
    fit = respondent_fit(many, values)
    part = respondent_fit(many, many.responses.select(items=many.item_names[:30]))
    others = np.arange(800) != 5
    np.testing.assert_allclose(fit.zh[others], part.zh[others], rtol=1e-12)
    assert fit.n[5] == 0
    assert np.isnan([fit.zh[5], fit.p[5], fit.infit[5], fit.outfit_z[5]]).all()
    assert "of 799 respondents" in fit.meaning


def test_perfect_respondents_have_figures_at_a_finite_ability_only(many):
    values = np.ones((2, 40))
    values[1] = 0
    assert np.isfinite(respondent_fit(many, values).zh).all()
    assert np.isnan(respondent_fit(many, values, "ml").zh).all()
    assert "Nothing can be said" in respondent_fit(many, values, "ml").meaning


def test_small_tables_have_a_result(subtests):
    for n_respondents, n_items in [(1, 1), (1, 6), (60, 1)]:
        with subtests.test(n_respondents=n_respondents, n_items=n_items):
            responses = simulate("2pl", n_respondents, n_items, random_state=4).responses
            fit = respondent_fit(calibrate(responses, "2pl"))
            assert fit.to_frame().shape == (n_respondents, 9)
            assert fit.meaning.endswith(".")


def test_the_result_shows_itself(many, tmp_path):
    fit = respondent_fit(many)
    assert list(fit.to_frame()) == [
        *("ability", "se", "zh", "p", "infit", "infit_z", "outfit", "outfit_z", "n"),
    ]
    assert fit.to_frame().index.name == "respondent"
    assert "of 800 respondents" in repr(fit)
    assert fit.save(tmp_path / "fit.html").stat().st_size > 1000


def test_responses_in_place_of_a_calibration_are_told_what_to_do(many):
    with pytest.raises(InputError, match=r"got DataFrame.*respondent_fit\(ogive\.calibrate"):
        respondent_fit(many.responses.to_frame())


def test_a_bank_from_a_file_asks_for_responses(many, tmp_path):
    loaded = ogive.load(many.save(tmp_path / "bank.json"))
    with pytest.raises(InputError, match=r"respondent_fit\(calibration, responses\)"):
        respondent_fit(loaded)
    again = respondent_fit(loaded, many.responses).to_frame()
    pd.testing.assert_frame_equal(again, respondent_fit(many).to_frame(), rtol=1e-6)
