"""Respondent fit: by definition, against R's mirt 1.45.1, and on respondents of known truth."""

import numpy as np
import pytest
from scipy.stats import binom, kstest, norm

import ogive as og
from ogive import calibrate, simulate
from ogive.checks.residuals import ItemResponses, judged_together, probabilities_by_others
from ogive.checks.respondent_fit import (
    among_others,
    as_normal,
    judged_by_hard_items,
    respondent_fit,
)
from ogive.checks.saturation import ALL_ITEMS
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


def hard_answers_known(n, m, seed, count):
    """Clean responses, and the same where a middling respondent knows so many hard items."""
    made = og.simulate("2pl", n, m, random_state=seed)
    clean = made.responses.to_frame().to_numpy(copy=True)
    ability = made.truth.abilities["ability"].to_numpy()
    who = int(np.argsort(ability)[n // 2])
    slope, place = (made.truth.items[k].to_numpy() for k in ("discrimination", "difficulty"))
    chance = 1 / (1 + np.exp(-slope * (ability[who] - place)))
    missed = np.flatnonzero((chance < 0.3) & (clean[who] == 0))
    known = clean.copy()
    known[who, np.random.default_rng(seed).permutation(missed)[:count]] = 1
    return clean, known, who


def judged(values):
    """Hard items alone, without what else item health looks at."""
    table = og.Responses(values)
    cal = og.calibrate(table, "1pl")
    ability = cal.abilities()["ability"].to_numpy()
    return judged_by_hard_items(list(judged_together(cal, table, ability)), table.n_respondents)


def test_few_clean_models_are_not_accused():
    """Curves fitted to eight models were so sure of them that most boards had a hint."""
    boards = [og.simulate("2pl", 8, 450, random_state=seed).responses for seed in range(6)]
    assert [og.item_health(board, og.calibrate(board, "2pl")).hints for board in boards] == [()] * 6


def test_deviates_of_few_clean_models_are_standard_normal_at_most():
    found = [judged(hard_answers_known(8, 100, seed, 0)[0])["excess_z"] for seed in range(12)]
    z = np.concatenate(found)
    z = z[np.isfinite(z)]
    assert z.size > 50
    assert (z > 1.645).mean() < 0.12  # 5 % are expected, and 3.5 standard errors more allowed
    assert np.abs(z.mean()) < 0.4


def test_thirty_known_answers_are_found_among_thirty_models():
    _, known, who = hard_answers_known(30, 450, 0, 30)
    assert np.flatnonzero(judged(known)["hint"]).tolist() == [who]


def test_chances_by_others_leave_the_own_answer_out():
    """Whatever one respondent answers to an item, its own chance there stays nearly the same."""
    values = og.simulate("2pl", 6, 80, random_state=0).responses.to_frame().to_numpy(float)
    turned = values.copy()
    turned[2, 5] = 1 - turned[2, 5]
    worth = np.ones_like(values)
    before, after = (probabilities_by_others(each, worth)[0] for each in (values, turned))
    assert after[2, 5] == pytest.approx(before[2, 5], abs=0.03)
    assert np.abs(np.delete(after[:, 5] - before[:, 5], 2)).max() > 0.05
    assert before.mean() == pytest.approx(values.mean(), abs=0.02)


def test_parts_that_no_item_links_are_judged_by_themselves_or_not_at_all():
    values = np.full((14, 400), np.nan)
    whole = og.simulate("2pl", 14, 400, random_state=1).responses.to_frame().to_numpy(float)
    values[:4, :200], values[4:, 200:] = whole[:4, :200], whole[4:, 200:]
    found = og.item_health(og.Responses(values, kind="binary"))
    assert found.respondents["excess_z"].iloc[:4].isna().all()
    assert not found.respondents["hint"].any()
    assert any("not judged for 4 respondents (respondent_1, " in note for note in found.notes)
    alone = judged(whole[4:, 200:])["excess_z"]
    np.testing.assert_allclose(found.respondents["excess_z"].iloc[4:], alone)
    row = found.saturation.loc[ALL_ITEMS]
    assert (row["n_items"], row["compared"]) == (200, 10)


def test_a_bank_of_many_respondents_judges_few_new_ones():
    made = og.simulate("2pl", 303, 100, random_state=0)
    cal = og.calibrate(made.responses.select(respondents=range(300)), "2pl")
    found = og.item_health(made.responses.select(respondents=range(300, 303)), cal)
    assert found.respondents["excess_z"].notna().any()
    assert not any("not judged for" in note for note in found.notes)


def test_repeated_answers_are_right_and_wrong_and_counted():
    """Two tries of some models: keys and hard items by counts, and the advice can be followed."""
    random = np.random.default_rng(0)
    values = og.simulate("2pl", 12, 150, random_state=2).responses.to_frame().to_numpy(float).copy()
    tries = np.ones(values.shape, dtype=int)
    values[:4] = (values[:4] + (random.random((4, 150)) < values[:4].mean())) / 2
    tries[:4] = 2
    found = og.item_health(og.Responses(values, kind="binary", tries=tries), by=["a", "b"] * 75)
    assert found.responses.kind == "binary"
    said = " ".join(found.sentences())
    assert "continuous" not in said
    assert "good enough" not in said
    assert "1 to 2 tries per cell" in said
    assert "ogive read ... --epochs first" in said
    assert found.respondents["excess_z"].notna().any()
    judged = og.label_trouble(found.calibration).to_frame()["evidence"][found.items.index]
    assert found.items["contradiction"].tolist() == judged.tolist()  # one rule for both
    assert not found.items["suspect_key"].any()
    assert {kind: draw().ax_.has_data() for kind, draw in found.figures().items()} == dict.fromkeys(
        ("items", "saturation", "respondents"), True
    )


def test_two_tries_that_agree_weigh_more_than_one():
    values = og.simulate("2pl", 10, 200, random_state=3).responses.to_frame().to_numpy(float)
    one, two = (
        probabilities_by_others(values, np.full(values.shape, count)) for count in (1.0, 2.0)
    )
    assert two[0].std() > one[0].std()


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 8, 12, 20, 30])
def test_clean_boards_have_false_hints_as_promised(n):
    """At most 5 % of boards: of 60, seven or more have a chance below 4 in 100 at that rate."""
    clean = [judged(hard_answers_known(n, 100, seed, 0)[0]) for seed in range(60)]
    assert sum(each["hint"].any() for each in clean) < 7


@pytest.mark.slow
def test_known_answers_are_found_at_twenty_and_thirty_models(subtests):
    for n, least in ((20, 10), (30, 20)):
        with subtests.test(n=n):
            planted = [hard_answers_known(n, 450, seed, 30)[1:] for seed in range(30)]
            assert sum(judged(values)["hint"][who] for values, who in planted) >= least


def test_deviates_of_a_skewed_count_are_those_of_its_distribution():
    n, chance, count = 200, 0.1, 33  # counts from 33 on: the middle of the step before
    sd = np.sqrt(n * chance * (1 - chance))
    skew = np.array([(1 - 2 * chance) / sd])
    z = as_normal(np.array([(count - 0.5 - n * chance) / sd]), skew)
    from scipy.stats import norm

    assert norm.sf(z[0]) == pytest.approx(binom.sf(count - 1, n, chance), rel=0.1)


def test_scatter_is_allowed_for_only_where_it_is_more_than_expected():
    z = np.linspace(-1, 1, 41)
    np.testing.assert_allclose(among_others(z).z, z, atol=1e-12)
    assert np.ptp(among_others(10 * z).z) < 5


def test_few_respondents_are_judged_by_the_spread_of_the_others():
    """Student's t of each against the root mean square of the others, never beyond the model."""
    from scipy.stats import norm, t

    calm = np.array([0.1, -0.2, 0.1, 0.2, 4.0])
    np.testing.assert_array_less(among_others(calm).z[-1], 4.0 + 1e-12)
    wild = np.array([3.0, -4.0, 5.0, -3.0, 4.0])
    spread = np.sqrt((wild[:-1] ** 2).mean())
    found = among_others(wild)
    assert found.z[-1] == pytest.approx(norm.isf(t.sf(4.0 / spread, 4)))
    assert found.scatter[-1] == pytest.approx(spread * t.ppf(0.975, 4) / norm.ppf(0.975))
    assert np.isnan(among_others(np.array([np.nan, 1.0])).z[0])


def test_tasks_of_few_clean_models_give_no_hint_and_a_known_task_does():
    by = [f"task {k % 4}" for k in range(200)]
    clean, _, who = hard_answers_known(30, 200, 1, 0)
    assert not og.item_health(og.Responses(clean), by=by).groups["hint"].any()
    known = clean.copy()
    known[who, ::4] = 1
    found = og.item_health(og.Responses(known), by=by).respondents
    assert found["too_good_on"].iloc[who] == "task 0"
    few = og.item_health(og.Responses(clean[:8]), by=by).groups
    assert few["z"].notna().all()
    assert not few["hint"].any()
