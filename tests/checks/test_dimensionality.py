from importlib import import_module
from itertools import product

import numpy as np
import pandas as pd
import pytest

from ogive import calibrate, simulate
from ogive.checks import dimensionality as made_tables
from ogive.checks.dimensionality import dimensionality
from ogive.checks.duplicates import copied_rows
from ogive.checks.local_dependence import local_dependence
from ogive.errors import InputError

module = import_module("ogive.checks.dimensionality")  # its function has the same name


def latent(n_respondents, n_items, n_abilities, seed, correlation=0.0):
    """Numbers behind the responses; each item asks one of the abilities."""
    random = np.random.default_rng(seed)
    common = np.sqrt(correlation) * random.normal(size=(n_respondents, 1))
    own = random.normal(size=(n_respondents, n_abilities))
    ability = common + np.sqrt(1 - correlation) * own
    asked = ability[:, np.arange(n_items) % n_abilities]
    return 1.5 * (asked - random.normal(size=n_items)) + random.logistic(size=asked.shape)


def drawn(*shape, **kw):
    """Simulated 2PL responses as numbers, NaN where never asked."""
    return simulate("2pl", *shape, **kw).responses.to_frame().to_numpy(copy=True)


def binary(numbers):
    return (numbers > 0).astype(int)


def graded(numbers):
    return np.digitize(numbers, [-2.0, 0.0, 2.0])


def continuous(numbers):
    return numbers


def test_the_number_of_abilities_is_found(subtests):
    for coded, n_abilities in product([binary, graded, continuous], [1, 2, 3]):
        with subtests.test(coded=coded, n_abilities=n_abilities):
            found = dimensionality(coded(latent(500, 18, n_abilities, seed=n_abilities)))
            assert found.n_dimensions == n_abilities
            assert found.to_frame()["suggested"].sum() == n_abilities


def test_two_abilities_that_go_together_are_still_two():
    found = dimensionality(binary(latent(1000, 40, 2, seed=0, correlation=0.5)))
    assert found.n_dimensions == 2
    assert found.ratio < 3
    assert found.dominance < 4
    assert "one ability is too few" in found.meaning


def test_one_ability_with_gaps_is_one():
    found = dimensionality(simulate("2pl", 500, 30, missing=0.4, random_state=1).responses)
    assert found.n_dimensions == 1
    assert found.meaning.startswith("One ability is shown, and no second one by this test, which")
    assert "would have to explain more than" in found.meaning
    assert "`dimension_scale` and `task_scales` ask for those" in found.meaning


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_the_bend_of_many_curves_is_no_second_ability(seed):
    """Where parallel analysis alone always sees two dimensions."""
    found = dimensionality(simulate("2pl", 1500, 100, random_state=seed).responses, n_resamples=20)
    assert found.eigenvalues[1] > found.shuffled[1]
    assert found.n_dimensions == 1


@pytest.mark.slow
def test_one_ability_is_seldom_taken_for_two():
    """Each is a test at the level of 5 %; 4 or more wrong in 30 has a chance of 6 %."""
    found = [
        dimensionality(simulate("2pl", 300, 20, random_state=seed).responses, n_resamples=40)
        for seed in range(30)
    ]
    assert sum(one.n_dimensions != 1 for one in found) < 4


def test_coins_show_no_ability():
    tosses = np.random.default_rng(1).integers(0, 2, (400, 20))
    found = dimensionality(tosses)
    assert found.n_dimensions == 0
    assert "With 400 respondents, a first dimension is not shown" in found.meaning


def test_eigenvalues_are_those_of_the_correlations():
    values = drawn(300, 8, random_state=0)
    expected = np.linalg.eigvalsh(np.corrcoef(values.T))[::-1]
    found = dimensionality(values, n_resamples=2)
    np.testing.assert_allclose(found.eigenvalues, expected, atol=1e-10)
    assert found.ratio == pytest.approx(expected[0] / expected[1])


def test_chance_is_what_shuffled_columns_give():
    values = drawn(200, 10, random_state=0)
    random = np.random.default_rng(7)
    shuffled = [
        np.linalg.eigvalsh(np.corrcoef(random.permuted(values, axis=0).T))[::-1] for _ in range(200)
    ]
    found = dimensionality(values, n_resamples=200)
    # Two percentiles of 200 draws each: the standard error of their difference is about 0.01.
    np.testing.assert_allclose(found.shuffled, np.percentile(shuffled, 95, axis=0), atol=0.04)


def test_correlations_with_gaps_are_pairwise():
    values = drawn(400, 5, missing=0.2, random_state=0)
    np.testing.assert_allclose(
        made_tables._correlations(values), pd.DataFrame(values).corr(), atol=1e-10
    )


def test_correlations_that_contradict_each_other_are_made_possible():
    rough = np.array([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])
    mended = made_tables._positive(rough)
    assert np.linalg.eigvalsh(rough)[0] < -0.5
    assert np.linalg.eigvalsh(mended)[0] > -1e-12
    np.testing.assert_allclose(np.diagonal(mended), 1.0)


def test_made_up_tables_keep_every_column_and_its_gaps():
    values = drawn(100, 4, missing=0.3, random_state=0)
    made = made_tables._dealt(
        values, np.sort(values, axis=0), np.full((4, 1), 0.7), np.random.default_rng(0)
    )
    np.testing.assert_array_equal(np.isnan(made), np.isnan(values))
    np.testing.assert_array_equal(np.sort(made, axis=0), np.sort(values, axis=0))
    assert not np.array_equal(made, values, equal_nan=True)


def test_constant_items_are_left_out_and_named():
    values = binary(latent(100, 6, 1, seed=0))
    values[:, 4] = 1
    found = dimensionality(values, n_resamples=5)
    assert found.n_items == 5
    assert "1 item (item_5)" in found.meaning


def test_a_large_table_is_thinned_and_says_so(monkeypatch):
    monkeypatch.setattr(module, "MOST_RESPONDENTS", 50)
    monkeypatch.setattr(module, "MOST_ITEMS", 8)
    found = dimensionality(binary(latent(200, 20, 1, seed=0)), n_resamples=5)
    assert (found.n_respondents, found.n_items) == (50, 8)
    assert "from 50 of 200 respondents; from 8 of the 20 items, evenly spaced" in found.meaning


def test_hardly_any_responses_give_a_result_and_no_crash(subtests):
    for shape in [(1, 5), (5, 1), (2, 2), (3, 10)]:
        with subtests.test(shape=shape):
            found = dimensionality(np.random.default_rng(0).integers(0, 2, shape), n_resamples=3)
            assert found.n_items == len(found.to_frame()) <= shape[1]
            assert found.meaning


def test_items_that_nobody_shares_give_a_result_and_no_crash():
    values = np.kron(np.eye(3), np.array([[0.0], [1.0], [1.0]]))
    values[np.kron(np.eye(3), np.ones((3, 1))) == 0] = np.nan
    assert dimensionality(values, n_resamples=3).n_dimensions == 0


def test_wrong_arguments_are_explained():
    responses = simulate("2pl", 20, 5, random_state=0).responses
    with pytest.raises(InputError, match="attribute 'responses'"):
        dimensionality(calibrate(responses, "2pl"))
    with pytest.raises(InputError, match=r"`n_resamples` must be .*got 0"):
        dimensionality(responses, n_resamples=0)
    with pytest.raises(InputError, match="random_state is 'x'"):
        dimensionality(responses, random_state="x")


def test_what_comes_after_a_dimension_of_chance_is_chance():
    """Tested one after the other: with p below 0.05 a later one would contradict the sentence."""
    table = simulate("2pl", 40, 60, random_state=4).responses
    found = dimensionality(table, n_resamples=99)
    p = found.to_frame()["p"].to_numpy()
    assert (np.diff(p) >= 0).all()
    assert (p[found.n_dimensions :] > 0.05).all()


def test_the_items_that_are_used_and_left_out_add_up():
    values = drawn(14, 450, random_state=2)
    values[:, :30] = 1
    found, other = dimensionality(values), local_dependence(calibrate(values))
    n_constant = int((values == values[:1]).all(axis=0).sum())
    assert found.n_items == module.MOST_ITEMS
    said = f"left out, because all responses are the same: {n_constant} items"
    assert said in found.meaning
    assert said in other.meaning
    assert f"from 300 of the {450 - n_constant} other items, evenly spaced" in found.meaning


def test_what_is_suggested_has_a_p_value_of_at_most_a_twentieth():
    for seed in range(6):
        drawn = simulate("2pl", 25, 30, random_state=seed).responses
        frame = dimensionality(drawn, random_state=seed).to_frame()
        assert (frame["p"][frame["suggested"]] <= 0.05).all()
        first = frame[~frame["suggested"]].iloc[0]
        assert first["p"] > 0.05
        assert first["eigenvalue"] <= first["to_exceed"]


def test_guessing_does_not_pass_for_further_abilities():
    """Twelve models on multiple choice were said to have at least ten."""
    for seed in range(3):
        random = np.random.default_rng(seed)
        z = 1.5 * (random.normal(size=(12, 1)) - random.normal(size=300))
        right = random.random(z.shape) < 0.2 + 0.8 / (1 + np.exp(-z))
        found = dimensionality(right.astype(float), random_state=seed)
        assert found.n_dimensions <= 2  # of one at the level of 5 %, with p = 0.045 from 200 tables
        assert found.n_dimensions == 1 or "it dominates" in found.meaning


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_unit_of_scores_does_not_matter(missing):
    random = np.random.default_rng(4)
    numbers = latent(60, 8, 1, seed=5)
    numbers = numbers - numbers.min() + 0.5
    numbers[random.random(numbers.shape) < missing] = np.nan
    ordinary = dimensionality(numbers, n_resamples=20)
    for unit in (1e-300, 1e-12, 1e60):
        found = dimensionality(unit * numbers, n_resamples=20)
        assert found.n_dimensions == ordinary.n_dimensions
        np.testing.assert_allclose(found.eigenvalues, ordinary.eigenvalues, rtol=1e-6, atol=1e-9)
    few = dimensionality(np.round(numbers) * 5e-324, n_resamples=2)
    assert np.isfinite(few.eigenvalues).all()


def of_one(n_respondents, n_items, seed, n_turned=0):
    """Right and wrong of one ability; the keys of the first items are turned around."""
    random = np.random.default_rng(seed)
    z = random.normal(size=(n_respondents, 1)) - random.normal(size=n_items)
    right = (random.random(z.shape) < 1 / (1 + np.exp(-z))).astype(float)
    right[:, :n_turned] = 1 - right[:, :n_turned]
    return right


@pytest.mark.parametrize("share_differing", [0.0, 0.02])
def test_a_copy_is_no_second_ability(share_differing):
    """With one row twice, 15 of 20 tables of one ability were said to hold two."""
    for seed in range(8):
        values = of_one(12, 200, seed)
        copy = values[3].copy()
        differs = np.random.default_rng(seed).random(200) < share_differing
        copy[differs] = 1 - copy[differs]
        found = dimensionality(np.vstack([values, copy]))
        assert found.n_dimensions == 1
        assert found.n_respondents == 12
        assert "1 respondent (respondent_13 like respondent_4)" in found.meaning


def test_who_is_no_copy_is_not_left_out():
    random = np.random.default_rng(0)
    z = random.normal(size=(20, 1)) - random.normal(size=200)
    tries = random.binomial(4, 1 / (1 + np.exp(-z))) / 4
    grades = graded(1.5 * z + random.logistic(size=z.shape)) / 3
    strong = (random.random((60, 200)) < 1 / (1 + np.exp(-8 * latent(60, 200, 1, 0)))).astype(float)
    short = of_one(300, 5, 0)  # most rows are like another by chance
    for values in (tries, grades, strong, short, of_one(3, 200, 1)):
        assert copied_rows(values[:, np.ptp(values, axis=0) > 0]).repeats == ()


def test_copies_of_scores_with_gaps_are_found():
    numbers = latent(15, 30, 1, seed=1)
    numbers = np.vstack([numbers, numbers[4]])
    values = (numbers - numbers.min(axis=0)) / np.ptp(numbers, axis=0)
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    assert copied_rows(values).repeats == ((15, 4),)


def test_where_one_ability_dominates_it_is_not_called_too_few():
    """A second dimension barely beyond chance made "one ability is too few" of it."""
    said = []
    for seed in (16, 29, *range(8)):
        found = dimensionality(of_one(14, 120, seed, n_turned=3))
        assert "one ability is too few" not in found.meaning
        said += [found.meaning] if found.n_dimensions > 1 else []
    assert "the first has 8.8 times what the second does: it dominates" in said[0]
    assert "one ability may be too few" in said[1]
    for meaning in said:
        assert "the second one narrowly" in meaning
        assert "items with a turned key and respondents of one family make one, too" in meaning


def test_near_the_level_more_tables_are_compared():
    tables = np.random.default_rng(0).normal(size=50)
    assert made_tables._is_near(tables.mean() + 2 * tables.std(), tables)
    assert not made_tables._is_near(tables.mean() + 5 * tables.std(), tables)
    assert not made_tables._is_near(tables.mean(), tables)
    assert not made_tables._is_near(tables[0] + 2, tables[:9])
