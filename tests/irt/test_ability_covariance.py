"""The joint covariance of abilities: dense or not, it is one and the same."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import ogive as og
from ogive import calibrate, simulate
from ogive.errors import InputError
from ogive.irt import ability_covariance as module
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import NormalPopulation
from ogive.irt.score_errors import ItemErrors


@pytest.fixture(scope="module")
def cal():
    return calibrate(simulate("2pl", 30, 40, random_state=1).responses, "2pl", progress=False)


@pytest.fixture(scope="module")
def covariance(cal):
    return cal.ability_covariance()


def test_differences_are_those_of_the_whole_matrix(covariance):
    whole = covariance.dense()
    first, second = np.triu_indices(30, 1)
    expected = whole[first, first] + whole[second, second] - 2 * whole[first, second]
    np.testing.assert_allclose(covariance.difference_se(first, second) ** 2, expected)
    few = covariance.difference_se(first[:3], second[:3])  # too few for a whole matrix
    np.testing.assert_allclose(few**2, expected[:3])
    np.testing.assert_allclose(covariance.se**2, np.diag(whole))


def test_nobody_differs_from_oneself(covariance):
    same = np.array([4, 4])
    assert covariance.difference_se(same, same).tolist() == [0.0, 0.0]


def test_some_respondents_have_their_part_of_the_matrix(covariance):
    some = np.array([5, 0, 7])
    part = covariance.of(some)
    np.testing.assert_allclose(part.dense(), covariance.dense()[np.ix_(some, some)])
    assert part.respondents == ("respondent_6", "respondent_1", "respondent_8")


def test_known_items_leave_every_respondent_alone(cal):
    known = cal.ability_covariance(items_known=True)
    scored = cal.abilities(items_known=True)
    np.testing.assert_allclose(known.dense(), np.diag(scored["se"] ** 2))


def test_draws_spread_as_the_matrix_says_about_where_the_truth_is_expected(covariance):
    drawn = covariance.draw(20_000, np.random.default_rng(0))
    centre = covariance.ability + covariance.offset
    np.testing.assert_allclose(drawn.mean(axis=1), centre, atol=0.02)
    expected = covariance.dense() - np.outer(covariance.offset, covariance.offset)
    np.testing.assert_allclose(np.cov(drawn), expected, atol=0.02)


def test_many_respondents_keep_a_few_directions_only(cal, covariance, monkeypatch):
    monkeypatch.setattr(module, "MOST_JOINT", 10)
    found = module.ability_covariance(
        cal._encode(cal.responses), cal.model, cal.coords, cal.population, "eap",
        cal.own_eap, cal._item_errors, cal.responses.respondents,
    )  # fmt: skip
    assert found.shared.shape[1] == 3
    np.testing.assert_allclose(found.se, covariance.se)


def test_a_matrix_that_does_not_fit_is_refused(covariance, monkeypatch):
    monkeypatch.setattr(module, "MOST_DENSE", 29)
    with pytest.raises(InputError, match="30 abilities does not fit"):
        covariance.dense()


@pytest.mark.parametrize("n_rows", [3, 12])
@pytest.mark.parametrize("method", ["eap", "map"])
def test_the_matrix_is_what_errors_of_the_items_do_to_all_abilities(n_rows, method):
    """More items than respondents, or fewer: derivatives by differences, by definition."""
    random = np.random.default_rng(n_rows)
    model = TwoPL()
    coords = model.from_parameters(
        {"discrimination": np.array([1.0, 1.5, 0.7, 2.0]), "difficulty": np.linspace(-1, 1, 4)}
    )
    cells = random.integers(-1, 2, (n_rows, 4)).astype(np.int8)
    data, population = encode(cells, model, collapsing=False), NormalPopulation()
    roots, shared = 0.1 * random.normal(size=(4, 2, 2)), 0.1 * random.normal(size=(2, 4, 2))
    covariances = roots @ roots.swapaxes(1, 2) + np.einsum("kni,knj->nij", shared, shared)
    whole = shared.reshape(2, -1).T @ shared.reshape(2, -1)
    for k in range(4):
        whole[2 * k : 2 * k + 2, 2 * k : 2 * k + 2] = covariances[k]
    errors = ItemErrors.of(coords, covariances, shared)

    def ability(at):
        return score_abilities(data, model, at, population, method).ability

    slopes = []
    for k in range(8):
        step = np.zeros(8)
        step[k] = 1e-4
        up, down = (ability(coords + sign * step.reshape(4, 2)) for sign in (1, -1))
        slopes.append((up - down) / 2e-4)
    slopes = np.stack(slopes, axis=1)
    found = score_abilities(data, model, coords, population, method)
    names = tuple(map(str, range(n_rows)))
    made = module.ability_covariance(data, model, coords, population, method, found, errors, names)
    wanted = np.diag(found.se**2) + slopes @ whole @ slopes.T
    np.testing.assert_allclose(made.dense(), wanted, atol=1e-6)
    np.testing.assert_array_equal(made.offset, 0.0)
    off = ItemErrors.of(coords + 0.05, covariances, shared)
    moved = module.ability_covariance(data, model, coords, population, method, found, off, names)
    np.testing.assert_allclose(moved.offset, ability(coords + 0.05) - found.ability)
    there = score_abilities(data, model, coords + 0.05, population, method)
    np.testing.assert_allclose(moved.own, there.se**2)


def test_abilities_at_a_bound_do_not_move_with_the_items():
    model = TwoPL()
    coords = model.from_parameters(
        {"discrimination": np.array([1.0, 1.5]), "difficulty": np.array([0.0, 0.5])}
    )
    data = encode(np.array([[1, 1], [1, 0]], dtype=np.int8), model, collapsing=False)
    errors = ItemErrors.of(coords + 0.1, np.stack([0.01 * np.eye(2)] * 2), np.zeros((0, 2, 2)))
    found = score_abilities(data, model, coords, NormalPopulation(), "ml")
    made = module.ability_covariance(
        data, model, coords, NormalPopulation(), "ml", found, errors, ("a", "b")
    )
    assert found.at_bound.tolist() == [True, False]
    assert made.offset[0] == 0.0
    assert made.offset[1] != 0.0
    assert made.variance[0] == pytest.approx(found.se[0] ** 2)


def test_parts_by_hand():
    shared = np.array([[0.5, 1.0], [-0.5, 2.0], [0.0, 0.0]])
    made = module.AbilityCovariance(("a", "b", "c"), np.zeros(3), np.array([1.0, 4.0, 9.0]), shared)
    np.testing.assert_allclose(made.variance, [2.25, 8.25, 9.0])
    one = made.difference_se(np.array([0]), np.array([1]))
    assert one[0] == pytest.approx(np.sqrt(1 + 4 + 1 + 1))
    many = made.difference_se(np.array([0, 0, 1, 2]), np.array([1, 0, 2, 0]))
    np.testing.assert_allclose(many**2, [7.0, 0.0, 4 + 9 + 4.25, 9 + 1 + 1.25])


def test_a_narrow_root_has_the_same_matrix(subtests):
    random = np.random.default_rng(0)
    wide = random.normal(size=(5, 40))
    for name, shared in {
        "wide": wide,
        "equal rows": wide[[0, 0, 1]],
        "narrow": wide[:, :3],
    }.items():
        with subtests.test(name):
            found = module._narrow(shared)
            assert found.shape[1] <= len(shared)
            np.testing.assert_allclose(found @ found.T, shared @ shared.T, atol=1e-12)


@pytest.fixture(scope="module")
def cal_compared():
    responses = og.simulate("2pl", 12, 60, random_state=2).responses
    return og.calibrate(responses, "2pl", progress=False)


def test_a_pair_differs_as_its_abilities_do(cal_compared):
    found = cal_compared.compare("respondent_1", "respondent_2")
    ability = cal_compared.abilities()["ability"]
    assert found.difference[0] == pytest.approx(ability.iloc[0] - ability.iloc[1])
    whole = cal_compared.ability_covariance().dense()
    assert found.se[0] ** 2 == pytest.approx(whole[0, 0] + whole[1, 1] - 2 * whole[0, 1])
    assert found.low[0] == pytest.approx(found.difference[0] - 1.959964 * found.se[0])
    z = found.difference[0] / found.se[0]
    from scipy.stats import norm

    assert found.p[0] == pytest.approx(2 * norm.sf(abs(z)))
    assert found.p_above[0] == pytest.approx(norm.cdf(z))


def test_the_other_way_round_is_the_same_with_another_sign(cal_compared):
    one = cal_compared.compare("respondent_1", "respondent_2")
    other = cal_compared.compare("respondent_2", "respondent_1")
    assert one.difference[0] == -other.difference[0]
    assert one.se[0] == pytest.approx(other.se[0])
    assert one.p_above[0] == pytest.approx(1 - other.p_above[0])


def test_one_against_all_and_all_against_all(cal_compared):
    assert len(cal_compared.compare("respondent_1").pairs) == 11
    assert len(cal_compared.compare().pairs) == 66
    assert len(cal_compared.compare(["respondent_1", "respondent_2"], ["respondent_3"]).pairs) == 2


def test_many_pairs_are_counted(cal_compared):
    found = cal_compared.compare(correction="holm")
    assert (found.p_adjusted >= found.p).all()
    assert "of 66 pairs of respondents can be distinguished" in found.meaning


def test_a_sentence_claims_a_difference_only_where_there_is_one(cal_compared):
    order = cal_compared.abilities()["ability"].sort_values()
    far = cal_compared.compare(order.index[-1], order.index[0])
    assert far.meaning.startswith(f"{order.index[-1]} stands ")
    assert f" above {order.index[0]}." in far.meaning
    near = cal_compared.compare(order.index[5], order.index[6])
    assert "cannot be distinguished" in near.meaning


def test_known_items_make_smaller_errors(cal_compared):
    pair = "respondent_1", "respondent_2"
    assert cal_compared.compare(*pair, items_known=True).se[0] < cal_compared.compare(*pair).se[0]


def test_it_shows_itself(cal_compared):
    found = cal_compared.compare("respondent_1")
    assert list(found.to_frame().columns) == [
        "respondent", "other", "difference", "se", "low", "high", "p", "p_adjusted", "p_above",
    ]  # fmt: skip
    assert "standard deviation of the population" in found.notes[0]
    display = found.plot()
    display.figure_.canvas.draw()
    plt.close(display.figure_)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("nobody", "respondent_1"), "no respondent 'nobody'"),
        (("respondent_1", "respondent_1"), "both 'respondent_1'"),
        ((["respondent_1"], ["respondent_1"]), "same single respondent"),
        ((3, "respondent_1"), r"`a` must be .*got 3"),
        (([], "respondent_1"), "a is empty"),
    ],
)
def test_what_cannot_be_compared_is_said(cal_compared, asked, said):
    with pytest.raises(InputError, match=said):
        cal_compared.compare(*asked)


def test_a_bank_asks_for_responses(cal_compared, tmp_path):
    bank = og.load(cal_compared.save(tmp_path / "bank.json"))
    with pytest.raises(InputError, match="holds items, not responses"):
        bank.compare("respondent_1", "respondent_2")
    again = bank.compare("respondent_1", "respondent_2", cal_compared.responses)
    assert again.se[0] == pytest.approx(cal_compared.compare("respondent_1", "respondent_2").se[0])


def test_a_wrong_confidence_is_refused(cal_compared):
    with pytest.raises(InputError, match=r"`confidence` must be .*got 95"):
        cal_compared.compare(confidence=95)


def test_one_respondent_alone_has_nobody_to_be_compared_with(cal_compared):
    with pytest.raises(InputError, match="one respondent only"):
        cal_compared.compare(responses=cal_compared.responses.select(respondents=[0]))


def test_draws_have_the_spread_of_the_errors(cal_compared):
    drawn = cal_compared.draw_abilities(4_000)
    assert drawn.shape == (12, 4_000)
    covariance = cal_compared.ability_covariance()
    expected = np.sqrt(covariance.variance - covariance.offset**2)
    np.testing.assert_allclose(drawn.std(axis=1), expected, rtol=0.1)
    assert cal_compared.draw_abilities(3).equals(cal_compared.draw_abilities(3))
    with pytest.raises(InputError, match=r"`n_resamples` must be .*got 0"):
        cal_compared.draw_abilities(0)
