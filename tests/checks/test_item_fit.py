"""Item fit: by definition, against R's mirt 1.45.1, and on responses whose truth is known."""

import sys
from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from ogive import Responses, calibrate, simulate
from ogive.checks.item_fit import (
    ScoreGroup,
    groups_by_score,
    item_fit,
    merge_sparse,
    pearson_of_two_cells,
    pearson_statistic,
    s_x2,
    s_x2_of_many_categories,
    s_x2_of_two_categories,
)
from ogive.checks.residuals import ItemResponses, population_nodes
from ogive.errors import InputError
from ogive.irt.models.logistic import TwoPL
from ogive.irt.summed_scores import joint_with_score

BINARY = [
    *("LSAT6_Rasch", "LSAT6_2PL", "LSAT7_Rasch", "LSAT7_2PL", "LSAT7_3PL"),
    *("SAT12_Rasch", "SAT12_2PL", "SAT12_3PL", "sim2pl_1000x50_2PL", "sim3pl_2000x40_3PL"),
]
GRADED = ["Science_graded", "Science_gpcm"]
# For these two items mirt joins score 3 to score 4 (10 respondents), not to score 2 (5): against
# the rule that gives all its other figures here. Joined so, ours are the same; why is not known.
JOINED_OTHERWISE = {"sim2pl_1000x50_2PL": ["i031", "i039"]}


def s_x2_agrees(mirt, ours, **tolerance):
    theirs = mirt.frame("itemfit").set_index("item")
    same = ~theirs.index.isin(JOINED_OTHERWISE.get(mirt.tag, []))
    np.testing.assert_array_equal(ours["s_x2_df"], theirs["df.S_X2"])
    for found, expected in [("s_x2", "S_X2"), ("s_x2_p", "p.S_X2"), ("s_x2_rmsea", "RMSEA.S_X2")]:
        np.testing.assert_allclose(ours[found][same], theirs[expected][same], **tolerance)


def squares_agree(mirt, ours, **tolerance):
    theirs = mirt.frame("itemfit_infit_Zh")
    for found, expected in [
        *(("infit", "infit"), ("infit_z", "z.infit")),
        *(("outfit", "outfit"), ("outfit_z", "z.outfit"), ("zh", "Zh")),
    ]:
        np.testing.assert_allclose(ours[found], theirs[expected], **tolerance)


@pytest.fixture(scope="module")
def lsat():
    """Responses that a 2PL made, and their calibration."""
    responses, _ = simulate("2pl", 600, 8, random_state=5)
    return calibrate(responses, "2pl")


def test_on_mirts_items_s_x2_is_that_of_mirt(witness, subtests):
    for mirt in witness.at_hand(BINARY):
        with subtests.test(mirt.tag):
            # Both are exact: what is left is rounding over some thousand sums.
            s_x2_agrees(mirt, item_fit(mirt.as_bank()).to_frame(), rtol=1e-8, atol=1e-10)


def test_on_mirts_items_infit_outfit_and_zh_are_those_of_mirt(witness, subtests):
    for mirt in witness.at_hand(BINARY):
        with subtests.test(mirt.tag):
            # mirt's 61 nodes move its abilities by up to 1e-5, and the deviates of SAT12 by 4e-5.
            squares_agree(mirt, item_fit(mirt.as_bank()).to_frame(), rtol=0, atol=1e-4)


def test_our_own_calibration_gives_mirts_figures(witness, subtests):
    for mirt in witness.at_hand(["LSAT7_2PL", "SAT12_Rasch", *GRADED]):
        with subtests.test(mirt.tag):
            ours = item_fit(mirt.ours()).to_frame()
            # As for the items themselves, which agree to 0.02 and mostly far better.
            s_x2_agrees(mirt, ours, rtol=0.01, atol=0.01)
            squares_agree(mirt, ours, rtol=0.01, atol=0.01)


def test_scores_of_all_response_patterns_add_up():
    random = np.random.default_rng(1)
    prob = random.dirichlet(np.ones(3), (5, 2)).transpose(2, 0, 1)  # three categories, two nodes
    prob[2, 4] = 0.0  # an item may lack its last category
    prob /= prob.sum(axis=0)
    weights = np.array([0.3, 0.7])
    by_hand = np.zeros((5, 11, 3))
    for pattern in product(range(3), repeat=5):
        chance = np.prod([prob[c, j] for j, c in enumerate(pattern)], axis=0) @ weights
        for item, category in enumerate(pattern):
            by_hand[item, sum(pattern), category] += chance
    found = dict(joint_with_score(prob, weights))
    np.testing.assert_allclose([found[k] for k in range(5)], by_hand, rtol=1e-12)
    some = np.array([2, 3, 10])
    for item, joint in joint_with_score(prob, weights, some):
        np.testing.assert_allclose(joint, by_hand[item, some], rtol=1e-12)


def test_leaving_out_items_from_a_long_test_equals_the_plain_recursion():
    random = np.random.default_rng(2)
    right = random.random((75, 4))  # more than two leaves of the tree
    prob = np.stack([1 - right, right])
    weights = random.dirichlet(np.ones(4))
    found = dict(joint_with_score(prob, weights))
    for item in (0, 37, 74):
        rest = np.zeros((76, 4))
        rest[0] = 1.0
        for other in np.delete(np.arange(75), item):
            rest[1:] = rest[1:] * prob[0, other] + rest[:-1] * prob[1, other]
            rest[0] *= prob[0, other]
        np.testing.assert_allclose(found[item][:, 0], (rest * prob[0, item]) @ weights, rtol=1e-10)
        np.testing.assert_allclose(
            found[item][1:, 1], (rest * prob[1, item])[:-1] @ weights, rtol=1e-10
        )


def group(*expected):
    return ScoreGroup(float(round(sum(expected))), [0.0] * len(expected), list(expected))


def test_a_sparse_group_joins_its_smaller_neighbour():
    found = merge_sparse([group(4.0, 4.0), group(0.5, 1.5), group(2.0, 2.0)])
    assert [one.expected for one in found] == [[4.0, 4.0], [2.5, 3.5]]


def test_between_equal_neighbours_a_sparse_group_joins_the_lower():
    found = merge_sparse([group(2.0, 2.0), group(0.5, 1.5), group(2.0, 2.0)])
    assert [one.expected for one in found] == [[2.5, 3.5], [2.0, 2.0]]


def test_sparse_categories_are_joined_before_groups_are():
    found = merge_sparse([group(0.2, 0.9, 3.0, 5.0), group(4.0, 4.0, 4.0, 4.0)])
    assert found[0].expected == pytest.approx([1.1, 3.0, 5.0])
    assert found[1].expected == [4.0] * 4


def test_infit_and_outfit_are_what_their_definition_says():
    coords = np.array([[1.0, 0.5], [0.7, -0.4]])
    cells = np.array([[1, 0], [0, 1], [1, -1]], dtype=np.int8)
    ability = np.array([-0.5, 0.3, 1.1])
    fit = ItemResponses(TwoPL(), coords, cells, ability, np.ones(len(cells))).by_item()
    for item, rows in enumerate([[0, 1, 2], [0, 1]]):
        right = 1 / (1 + np.exp(-coords[item, 0] * ability[rows] - coords[item, 1]))
        variance = right * (1 - right)
        squared = (cells[rows, item] - right) ** 2
        assert fit.n[item] == len(rows)
        assert fit.outfit[item] == pytest.approx(np.mean(squared / variance), rel=1e-12)
        assert fit.infit[item] == pytest.approx(squared.sum() / variance.sum(), rel=1e-12)


class Straight:
    """Scores around the ability, with the deviation 2: a model without categories."""

    name = "straight"

    def expected(self, coords, abilities):
        return coords[:, :1] + np.asarray(abilities)

    def variance(self, coords, abilities):
        return np.full((len(coords), len(abilities)), 4.0)


def test_scores_without_categories_are_judged_as_normal_ones():
    random = np.random.default_rng(3)
    ability = random.normal(size=4000)
    cells = ability[:, None] + random.normal(0, 2, (4000, 20))
    cells[random.random(cells.shape) < 0.3] = np.nan
    fit = ItemResponses(
        Straight(), np.zeros((20, 1)), cells, ability, np.ones(len(cells))
    ).by_item()
    assert kstest(fit.infit_z, "norm").pvalue > 0.01
    assert kstest(fit.outfit_z, "norm").pvalue > 0.01
    assert kstest(fit.zh, "norm").pvalue > 0.01


def test_at_the_true_abilities_standardised_figures_are_standard_normal():
    responses, truth = simulate("2pl", 2000, 60, random_state=4)
    coords = truth.model.from_parameters({k: truth.items[k].to_numpy() for k in truth.items})
    ability = truth.abilities["ability"].to_numpy()
    fit = ItemResponses(
        truth.model, coords, responses.cells, ability, np.ones(len(ability))
    ).by_item()
    assert kstest(fit.infit_z, "norm").pvalue > 0.01
    assert kstest(fit.zh, "norm").pvalue > 0.01


def test_p_values_of_s_x2_are_uniform_where_the_model_holds():
    found = []
    for seed in range(4):
        responses, _ = simulate("2pl", 1500, 25, random_state=seed)
        found.append(item_fit(calibrate(responses, "2pl", priors=None)).s_x2_p)
    assert kstest(np.concatenate(found), "uniform").pvalue > 0.01


def test_an_item_with_a_curve_of_another_form_is_found():
    responses, truth = simulate("2pl", 2000, 20, random_state=6)
    values = np.array(responses.to_frame())
    ability = truth.abilities["ability"].to_numpy()
    values[:, 3] = np.abs(ability) < 0.7  # solved in the middle, failed at both ends
    fit = item_fit(calibrate(values, "2pl"))
    assert fit.misfitting[0] == fit.items[3]
    assert fit.s_x2_p_adjusted[3] < 1e-6
    assert fit.items[3] in fit.meaning


def test_a_weight_counts_as_that_many_respondents(lsat):
    weights = np.random.default_rng(8).integers(1, 4, 600)
    cells = lsat.responses.cells
    repeated = Responses.from_codes(np.repeat(cells, weights, axis=0), items=lsat.item_names)
    weighted = item_fit(replace(lsat, weights=weights.astype(float))).to_frame()
    counted = item_fit(replace(lsat, responses=repeated)).to_frame()
    pd.testing.assert_frame_equal(weighted, counted, rtol=1e-9)


def test_missing_cells_leave_s_x2_to_the_complete_rows_and_say_so(lsat):
    values = np.array(lsat.responses.to_frame())
    values[:200, 0] = np.nan
    fit = item_fit(lsat, values)
    alone = item_fit(lsat, values[200:])
    np.testing.assert_allclose(fit.s_x2, alone.s_x2, rtol=1e-12)
    assert fit.n_complete == 400
    assert "400 respondents (67%)" in fit.notes[0]
    assert fit.n.tolist() == [400.0] + [600.0] * 7
    assert np.isfinite(fit.outfit).all()


def test_where_no_row_is_complete_there_is_no_s_x2(lsat):
    values = np.array(lsat.responses.to_frame())
    values[np.arange(600), np.arange(600) % 8] = np.nan
    fit = item_fit(lsat, values)
    assert np.isnan(fit.s_x2).all()
    assert np.isfinite(fit.outfit).all()
    assert "no respondent was asked every item" in fit.notes[0]
    assert "could not be tested" in fit.meaning
    assert fit.plot().ax_.has_data()


def test_a_part_of_the_items_is_judged_by_itself(lsat):
    fit = item_fit(lsat, lsat.responses.select(items=lsat.item_names[:5]))
    assert np.isfinite(fit.s_x2[:5]).all()
    assert np.isnan(fit.s_x2[5:]).all()
    assert np.isnan(fit.outfit[5:]).all()
    assert fit.n.tolist() == [600.0] * 5 + [0.0] * 3


def test_constant_items_have_no_s_x2_and_harm_no_other():
    values = np.array(simulate("2pl", 500, 8, random_state=9).responses.to_frame())
    values[:, 2], values[:, 5] = 1, 0
    fit = item_fit(calibrate(values, "2pl"))
    assert np.isnan(fit.s_x2[[2, 5]]).all()
    assert np.isfinite(np.delete(fit.s_x2, [2, 5])).all()
    assert np.isfinite(fit.to_frame().drop(fit.to_frame().index[[2, 5]]).to_numpy()).all()


def test_small_tables_have_a_result(subtests):
    for n_respondents, n_items in [(1, 1), (1, 6), (60, 1), (60, 2), (3, 4)]:
        with subtests.test(n_respondents=n_respondents, n_items=n_items):
            responses = simulate("2pl", n_respondents, n_items, random_state=10).responses
            fit = item_fit(calibrate(responses, "2pl"))
            assert fit.to_frame().shape == (n_items, 15)
            assert np.isnan(fit.s_x2).all()
            assert "too few respondents or items" in fit.notes[0]


def test_clean_items_are_not_called_noisy(subtests):
    """Of clean tables, 5 % may have an item that is; the fixed range of 0.7 to 1.3 had most."""
    for model, (n_respondents, n_items) in product(
        ["1pl", "2pl"], [(9, 450), (14, 200), (100, 100)]
    ):
        with subtests.test(model=model, n_respondents=n_respondents):
            tables = [
                simulate(model, n_respondents, n_items, random_state=seed).responses
                for seed in range(6)
            ]
            found = [item_fit(calibrate(table)) for table in tables]
            # Two tables of six with such an item come in 3 % of cases.
            assert sum(bool(fit.noisy) for fit in found) <= 1
            assert sum(len(fit.noisy) for fit in found) <= 3


def test_items_that_follow_no_ability_are_noisy_where_responses_are_enough():
    values = simulate("1pl", 99, 40, random_state=3).responses.to_frame().to_numpy(copy=True)
    values[:, :2] = np.random.default_rng(4).integers(0, 2, (99, 2))
    found = item_fit(calibrate(values))
    assert found.noisy == ("item_1",)
    assert found.infit_z[1] > 1.96  # of 40 items, chance may well make one as noisy as the second
    assert "item_1) is noisier than expected" in found.meaning
    assert "after correction for 40 tests" in found.meaning


def test_what_is_expected_of_a_mean_square_follows_from_the_number_of_responses():
    drawn = simulate("1pl", 400, 30, random_state=1)
    known = calibrate(drawn.responses, "1pl")
    few, many = (
        item_fit(known, drawn.responses.select(respondents=slice(0, n))) for n in (20, 400)
    )
    np.testing.assert_allclose(few.infit_se / many.infit_se, np.sqrt(20), rtol=0.5)
    assert few.infit.std() > 2 * many.infit.std()


def test_unknown_items_are_refused(lsat):
    strange = pd.DataFrame({"nobody": [0, 1], "knows": [1, 0]})
    with pytest.raises(InputError, match="2 of 2 items are not in this calibration"):
        item_fit(lsat, strange)


def test_too_many_summed_scores_are_left_out_and_it_is_said(monkeypatch):
    drawn = simulate("graded", 60, 6, random_state=0).responses
    found = calibrate(drawn, "graded", progress=False)
    assert np.isfinite(item_fit(found).s_x2).any()
    monkeypatch.setattr(sys.modules[item_fit.__module__], "MOST_SCORES", 10)
    without = item_fit(found)
    assert np.isnan(without.s_x2).all()
    assert np.isfinite(without.infit).all()
    assert any("S-X² of graded items is left out" in note for note in without.notes)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 3, 12, 40])
def test_many_items_at_once_are_joined_as_one_by_one(n_groups, subtests):
    random = np.random.default_rng(n_groups)
    sizes = random.integers(1, 6, n_groups).astype(float)
    share = random.beta(0.7, 0.7, (n_groups, 200))
    right = random.binomial(sizes[:, None].astype(int), share).astype(float)
    observed = np.stack([sizes[:, None] - right, right])
    expected = np.stack([sizes[:, None] * (1 - share), sizes[:, None] * share])
    statistic, free = pearson_of_two_cells(sizes, observed, expected)
    for k in range(200):
        scores = np.arange(1, n_groups + 1)
        groups = groups_by_score(scores, observed[:, :, k].T, expected[:, :, k].T, 2, n_groups + 1)
        with subtests.test(item=k):
            np.testing.assert_allclose(
                (statistic[k], free[k]), pearson_statistic(merge_sparse(groups))
            )


def test_long_tests_have_the_s_x2_of_the_plain_recursion(monkeypatch):
    """Beyond 500 items one is divided out; the tree of recursions says the same."""
    responses = simulate("3pl", 120, 540, random_state=4).responses
    found = calibrate(responses, "2pl")
    cells, weights = np.asarray(responses.cells), np.ones(120)
    given = found.model, found.coords, found.population, cells, weights
    statistic, freedom = s_x2(*given)
    monkeypatch.setattr("ogive.checks.item_fit.MANY_ITEMS", 10_000)
    plain, plain_freedom = s_x2(*given)
    np.testing.assert_allclose(statistic, plain, rtol=1e-10)
    np.testing.assert_array_equal(freedom, plain_freedom)
    assert np.isfinite(statistic).sum() > 400


def test_responses_that_are_impossible_are_judged_item_by_item():
    responses = simulate("2pl", 150, 12, random_state=2).responses
    found = calibrate(responses, "2pl")
    coords = found.coords.copy()
    coords[3] = [2000.0, 0.0]  # so steep that a curve is 0 or 1 at most abilities
    nodes, shares = population_nodes(found.model, found.coords, found.population)
    given = found.model, coords, nodes.fine, shares, np.asarray(responses.cells), np.ones(150)
    np.testing.assert_allclose(
        s_x2_of_two_categories(*given), s_x2_of_many_categories(*given), rtol=1e-12
    )
