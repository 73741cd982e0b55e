"""Comparing respondents: who stands above whom, and what is refused."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import ogive as og
from ogive.errors import InputError


@pytest.fixture(scope="module")
def cal():
    responses = og.simulate("2pl", 12, 60, random_state=2).responses
    return og.calibrate(responses, "2pl", progress=False)


def test_a_pair_differs_as_its_abilities_do(cal):
    found = cal.compare("respondent_1", "respondent_2")
    ability = cal.abilities()["ability"]
    assert found.difference[0] == pytest.approx(ability.iloc[0] - ability.iloc[1])
    whole = cal.ability_covariance().dense()
    assert found.se[0] ** 2 == pytest.approx(whole[0, 0] + whole[1, 1] - 2 * whole[0, 1])
    assert found.low[0] == pytest.approx(found.difference[0] - 1.959964 * found.se[0])
    z = found.difference[0] / found.se[0]
    from scipy.stats import norm

    assert found.p[0] == pytest.approx(2 * norm.sf(abs(z)))
    assert found.p_above[0] == pytest.approx(norm.cdf(z))


def test_the_other_way_round_is_the_same_with_another_sign(cal):
    one = cal.compare("respondent_1", "respondent_2")
    other = cal.compare("respondent_2", "respondent_1")
    assert one.difference[0] == -other.difference[0]
    assert one.se[0] == pytest.approx(other.se[0])
    assert one.p_above[0] == pytest.approx(1 - other.p_above[0])


def test_one_against_all_and_all_against_all(cal):
    assert len(cal.compare("respondent_1").pairs) == 11
    assert len(cal.compare().pairs) == 66
    assert len(cal.compare(["respondent_1", "respondent_2"], ["respondent_3"]).pairs) == 2


def test_many_pairs_are_counted(cal):
    found = cal.compare(correction="holm")
    assert (found.p_adjusted >= found.p).all()
    assert "of 66 pairs of respondents can be distinguished" in found.meaning


def test_a_sentence_claims_a_difference_only_where_there_is_one(cal):
    order = cal.abilities()["ability"].sort_values()
    far = cal.compare(order.index[-1], order.index[0])
    assert far.meaning.startswith(f"{order.index[-1]} stands ")
    assert f" above {order.index[0]}." in far.meaning
    near = cal.compare(order.index[5], order.index[6])
    assert "cannot be distinguished" in near.meaning


def test_known_items_make_smaller_errors(cal):
    pair = "respondent_1", "respondent_2"
    assert cal.compare(*pair, items_known=True).se[0] < cal.compare(*pair).se[0]


def test_it_shows_itself(cal):
    found = cal.compare("respondent_1")
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
        ((3, "respondent_1"), "a is 3"),
        (([], "respondent_1"), "a is empty"),
    ],
)
def test_what_cannot_be_compared_is_said(cal, asked, said):
    with pytest.raises(InputError, match=said):
        cal.compare(*asked)


def test_a_bank_asks_for_responses(cal, tmp_path):
    bank = og.load(cal.save(tmp_path / "bank.json"))
    with pytest.raises(InputError, match="holds items, not responses"):
        bank.compare("respondent_1", "respondent_2")
    again = bank.compare("respondent_1", "respondent_2", cal.responses)
    assert again.se[0] == pytest.approx(cal.compare("respondent_1", "respondent_2").se[0])


def test_a_wrong_confidence_is_refused(cal):
    with pytest.raises(InputError, match="confidence is 95"):
        cal.compare(confidence=95)


def test_one_respondent_alone_has_nobody_to_be_compared_with(cal):
    with pytest.raises(InputError, match="one respondent only"):
        cal.compare(responses=cal.responses.select(respondents=[0]))


def test_draws_have_the_spread_of_the_errors(cal):
    drawn = cal.draw_abilities(4_000)
    assert drawn.shape == (12, 4_000)
    covariance = cal.ability_covariance()
    expected = np.sqrt(covariance.variance - covariance.offset**2)
    np.testing.assert_allclose(drawn.std(axis=1), expected, rtol=0.1)
    assert cal.draw_abilities(3).equals(cal.draw_abilities(3))
    with pytest.raises(InputError, match="n_resamples is 0"):
        cal.draw_abilities(0)
