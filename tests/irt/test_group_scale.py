"""Groups of respondents on one scale."""

import numpy as np
import pytest

import ogive as og
from ogive.errors import InputError


def two_groups(each=150, n_items=15, shift=0.6, seed=1):
    random = np.random.default_rng(seed)
    ability = np.concatenate([random.normal(0, 1, each), random.normal(shift, 1.3, each)])
    table = og.simulate("2pl", abilities=ability, n_items=n_items, random_state=seed).responses
    return table, ["old"] * each + ["new"] * each


@pytest.fixture(scope="module")
def found():
    return og.group_scale(*two_groups(), reference="old", progress=False)


def test_means_and_deviations_are_found_with_their_errors(found):
    new = found.populations.loc["new"]
    assert abs(new["mean"] - 0.6) < 3 * new["mean_se"]
    assert abs(new["sd"] - 1.3) < 3 * new["sd_se"]
    old = found.populations.loc["old"]
    assert (old["mean"], old["sd"], old["mean_se"]) == (0.0, 1.0, 0.0)
    assert 0.05 < new["mean_se"] < 0.3


def test_the_sentence_says_how_far_apart_and_whether_items_are_alike(found):
    assert found.meaning.startswith("The mean of new is ")
    assert "above that of old" in found.meaning
    assert "nothing shows that items behave differently" in found.meaning
    assert found.df == 2 * 30 - 30 - 2


def test_items_that_differ_are_told_by_the_likelihood_ratio():
    table, groups = two_groups(seed=2)
    values = table.values
    values[150:, :4] = np.random.default_rng(0).random((150, 4)) < 0.9
    found = og.group_scale(values, groups, progress=False)
    assert found.p < 0.01
    assert "do not behave alike" in found.meaning


def test_abilities_know_their_group(found):
    frame = found.abilities
    assert frame["group"].tolist()[:1] == ["old"]
    means = frame.groupby("group")["ability"].mean()
    assert means["new"] - means["old"] == pytest.approx(
        found.populations.loc["new", "mean"], abs=0.15
    )


def test_items_lie_on_the_scale_of_the_reference(subtests):
    for each in (150, 60):  # found together with the groups, and moved there
        with subtests.test(respondents=2 * each):
            random = np.random.default_rng(3)
            ability = np.concatenate([random.normal(0, 1, each), random.normal(2.0, 1, each)])
            drawn = og.simulate("2pl", abilities=ability, n_items=20, random_state=3)
            names = ["old"] * each + ["new"] * each
            found = og.group_scale(drawn.responses, names, reference="old", progress=False)
            away = (found.items["difficulty"] - drawn.truth.items["difficulty"]).median()
            assert abs(away) < 0.3
            old = drawn.responses.select(range(each))
            scored = found.calibration.score(old)["ability"].to_numpy()
            own = found.abilities["ability"].to_numpy()[:each]
            np.testing.assert_allclose(scored, own, atol=0.02)


def test_calibrate_names_the_door_for_groups_and_dimensions():
    table, groups = two_groups(20, 5)
    with pytest.raises(InputError, match="group_scale"):
        og.calibrate(table, groups=groups)
    with pytest.raises(InputError, match="dimension_scale"):
        og.calibrate(table, dimensions=["a"] * 5)


def test_few_respondents_keep_the_items_of_the_calibration():
    table, groups = two_groups(15, 20)
    found = og.group_scale(table, groups, progress=False)
    assert np.isnan(found.p)
    assert any("not tested" in note for note in found.notes)
    assert any("Items stay" in note for note in found.notes)
    assert found.plot() is not None


def test_a_group_of_one_respondent_is_refused():
    table, _ = two_groups(20, 10)
    with pytest.raises(InputError, match="Every group needs 5 respondents or more, but 'b' has 1"):
        og.group_scale(table, ["a"] * 39 + ["b"], progress=False)
    with pytest.raises(InputError, match="must hold two groups or more"):
        og.group_scale(table, ["a"] * 40, progress=False)
