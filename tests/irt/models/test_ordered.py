"""Grades, whatever the model: which ones an item has, and what an item without some means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.errors import InputError
from ogive.irt.models import with_priors
from ogive.irt.models.base import Normal
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import TwoPL
from ogive.irt.models.nominal import PartialCredit

ABILITIES = np.linspace(-4.0, 4.0, 17)
ITEMS = list("abc")
# Three items with 2, 4 and 3 grades; the first discriminates negatively.
RAGGED = {
    "discrimination": np.array([-1.2, 1.5, 0.7]),
    "difficulty_1": np.array([0.3, -1.0, -0.5]),
    "difficulty_2": np.array([np.nan, 0.2, 0.9]),
    "difficulty_3": np.array([np.nan, 1.1, np.nan]),
}
COUNTS = (2, 4, 3)


@pytest.fixture(params=[Graded, PartialCredit], ids=lambda kind: kind.name)
def kind(request):
    return request.param


@pytest.fixture
def ragged(kind):
    """The model of the ragged items, and their coordinates."""
    model = kind().shaped(RAGGED)
    return model, model.from_parameters(RAGGED)


def alone(kind, k):
    """Item k by itself: a model with just its grades, and its coordinates."""
    own = {name: column[k : k + 1] for name, column in RAGGED.items() if np.isfinite(column[k])}
    model = kind(categories=COUNTS[k])
    return model, model.from_parameters(own)


def some_counts(n_categories, seed=0):
    random = np.random.default_rng(seed)
    counts = random.uniform(0, 3, (n_categories, 1, ABILITIES.size))
    return counts[1:], counts.sum(axis=0)


def test_items_of_two_grades_are_those_of_a_2pl(kind):
    coords = np.array([[-2.0, 1.0], [0.0, 0.4], [0.7, 0.0], [4.0, 2.5]])
    model, binary = kind(categories=2), TwoPL()
    assert model.n_categories == model.width == 2
    assert [c.prior for c in model.coordinates] == [c.prior for c in binary.coordinates]
    far = np.array([-800.0, 800.0])
    np.testing.assert_allclose(
        model.log_prob(coords, far), binary.log_prob(coords, far), rtol=1e-13, atol=1e-15
    )
    for x in (ABILITIES, far / 8):  # log-odds of 400
        # A softmax and a logistic function are one number to the last digits of one.
        exactly = {"rtol": 1e-13, "atol": 1e-14}
        np.testing.assert_allclose(model.log_prob(coords, x), binary.log_prob(coords, x), **exactly)
        np.testing.assert_allclose(model.slopes(coords, x), binary.slopes(coords, x), **exactly)
        for one, other in zip(
            model.ability_slopes(coords, x), binary.ability_slopes(coords, x), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(model.expected(coords, x), binary.expected(coords, x), **exactly)
        np.testing.assert_allclose(
            model.variance(coords, x), binary.variance(coords, x), rtol=1e-12, atol=1e-15
        )
    counts, totals = some_counts(2)
    for one, other in zip(
        model.curvature(coords, ABILITIES, counts, totals),
        binary.curvature(coords, ABILITIES, counts, totals),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    public, theirs = model.parameters(coords), binary.parameters(coords)
    np.testing.assert_array_equal(public["discrimination"], theirs["discrimination"])
    np.testing.assert_array_equal(public["difficulty"], theirs["difficulty"])
    np.testing.assert_array_equal(public["difficulty_1"], theirs["difficulty"])


def test_items_begin_with_as_many_grades_as_they_have_difficulties(ragged):
    model, coords = ragged
    assert model.categories == COUNTS
    assert model.n_categories == model.width == 4
    assert coords.shape == (3, 4)
    np.testing.assert_array_equal(
        model.absent(coords),
        [[False, False, True, True], [False] * 4, [False, False, False, True]],
    )


def test_grades_that_an_item_does_not_have_never_come(ragged):
    model, coords = ragged
    prob = model.category_probabilities(coords, np.array([-800.0, -3.0, 0.0, 3.0, 800.0]))
    for k, n in enumerate(COUNTS):
        # At 800, a slope of 1.5 outweighs what keeps a grade away; nobody is there.
        assert (prob[n:, k, 1:4] < 1e-100).all()
    drawn = model.draw(coords, np.repeat(ABILITIES, 200), np.random.default_rng(0))
    assert drawn.max(axis=1).tolist() == [n - 1 for n in COUNTS]
    assert drawn.min(axis=1).tolist() == [0, 0, 0]


def test_an_item_with_fewer_grades_is_what_it_is_alone(kind, ragged, subtests):
    for k in range(3):
        with subtests.test(k=k):
            model, coords = ragged
            own, row = alone(kind, k)
            n = COUNTS[k]
            np.testing.assert_allclose(
                model.log_prob(coords, ABILITIES)[:n, [k]], own.log_prob(row, ABILITIES), rtol=1e-12
            )
            np.testing.assert_allclose(
                model.slopes(coords, ABILITIES)[:n, :n, [k]], own.slopes(row, ABILITIES), atol=1e-12
            )
            for ask in ("expected", "variance", "information"):
                np.testing.assert_allclose(
                    getattr(model, ask)(coords, ABILITIES)[[k]],
                    getattr(own, ask)(row, ABILITIES),
                    rtol=1e-11,
                )
            counts, totals = some_counts(n)
            padded = np.zeros((3, 1, ABILITIES.size))
            padded[: n - 1] = counts
            wide = model.of_items([k]).curvature(coords[[k]], ABILITIES, padded, totals)
            narrow = own.curvature(row, ABILITIES, counts, totals)
            for one, other in zip(wide, narrow, strict=True):
                inner = (slice(None), *[slice(n)] * (one.ndim - 1))
                np.testing.assert_allclose(one[inner], other, rtol=1e-11, atol=1e-11)
                rest = one.copy()
                rest[inner] = 0.0
                # Nothing tells of what is not there.
                np.testing.assert_allclose(rest, 0.0, atol=1e-11)


def test_absent_difficulties_are_nan_and_come_back(ragged):
    model, coords = ragged
    found = model.parameters(coords)
    for name, column in RAGGED.items():
        np.testing.assert_allclose(found[name], column, rtol=1e-13)
    steps = [[0.3], [-1.0, 0.2, 1.1], [-0.5, 0.9]]
    np.testing.assert_allclose(found["difficulty"], [np.mean(row) for row in steps], rtol=1e-13)
    np.testing.assert_allclose(model.from_parameters(found), coords, rtol=1e-13, atol=1e-15)


def test_the_jacobian_of_an_absent_difficulty_is_nan_and_that_of_the_others_by_differences(ragged):
    model, coords = ragged
    nudge = 1e-6
    for name, slope in model.parameter_jacobian(coords).items():
        by_differences = np.stack(
            [
                (model.parameters(coords + step)[name] - model.parameters(coords - step)[name])
                / (2 * nudge)
                for step in nudge * np.eye(model.width)
            ],
            axis=1,
        )
        lost = np.isnan(model.parameters(coords)[name])
        assert np.isnan(slope[lost]).all()
        has = ~model.absent(coords) & ~lost[:, None]
        np.testing.assert_allclose(slope[has], by_differences[has], rtol=1e-6, atol=1e-7)
        assert (slope[~has & ~lost[:, None]] == 0).all()


@settings(deadline=None, max_examples=40)
@given(shift=st.floats(-3, 3), scale=st.one_of(st.floats(-4, -0.2), st.floats(0.2, 4)))
@pytest.mark.parametrize("kind", [Graded, PartialCredit], ids=lambda kind: kind.name)
def test_rescaling_leaves_absent_grades_absent(kind, shift, scale):
    model = kind().shaped(RAGGED)
    coords = model.from_parameters(RAGGED)
    moved = model.rescale(coords, shift, scale)
    np.testing.assert_array_equal(model.absent(moved), model.absent(coords))
    before = model.log_prob(coords, ABILITIES)
    after = model.log_prob(moved, (ABILITIES - shift) / scale)
    for k, n in enumerate(COUNTS):
        np.testing.assert_allclose(after[:n, k], before[:n, k], rtol=1e-9, atol=1e-9)


CELLS = np.array([[0, 3, 1], [1, 0, 2], [-1, 1, 0], [0, 3, -1]], dtype=np.int8)


def test_items_have_the_grades_up_to_their_highest(kind):
    fitted = kind().fitted_to(CELLS, ITEMS)
    assert fitted.categories == COUNTS
    assert fitted.lowest == 0
    np.testing.assert_array_equal(fitted.extent(), [[0, 0, 0], [1, 3, 2]])
    np.testing.assert_array_equal(fitted.read(CELLS), CELLS)


def test_the_lowest_grade_of_the_table_is_the_first(kind):
    cells = np.where(CELLS < 0, -1, CELLS + 1).astype(np.int8)
    fitted = kind().fitted_to(cells, ITEMS)
    assert fitted.lowest == 1
    assert fitted.categories == COUNTS
    np.testing.assert_array_equal(fitted.read(cells), CELLS)
    np.testing.assert_array_equal(fitted.extent(), [[1, 1, 1], [2, 4, 3]])


def test_grades_from_one_are_grades_from_zero_with_other_names(kind, ragged):
    model, coords = ragged
    up = kind(categories=COUNTS, lowest=1)
    np.testing.assert_array_equal(up.log_prob(coords, ABILITIES), model.log_prob(coords, ABILITIES))
    np.testing.assert_allclose(
        up.expected(coords, ABILITIES), 1 + model.expected(coords, ABILITIES)
    )
    np.testing.assert_array_equal(up.variance(coords, ABILITIES), model.variance(coords, ABILITIES))
    np.testing.assert_array_equal(
        up.expected_slopes(coords, ABILITIES), model.expected_slopes(coords, ABILITIES)
    )
    one, other = (m.draw(coords, ABILITIES, np.random.default_rng(0)) for m in (up, model))
    np.testing.assert_array_equal(one, other + 1)


def test_given_categories_begin_at_zero_and_may_go_unobserved(kind):
    cells = np.array([[1, 3], [2, 1], [1, 3]], dtype=np.int8)
    fitted = kind(categories=6).fitted_to(cells, ["a", "b"])
    assert fitted.lowest == 0
    assert fitted.categories == (6, 6)
    assert fitted.n_categories == 6
    fitted = kind(categories=(4, 5), lowest=1).fitted_to(cells, ["a", "b"])
    assert fitted.categories == (4, 5)
    assert fitted.lowest == 1
    np.testing.assert_array_equal(fitted.extent(), [[1, 1], [4, 5]])


def test_grades_that_nobody_got_start_with_a_small_chance(kind):
    fitted = kind(categories=6).fitted_to(np.array([[1], [4]] * 20, dtype=np.int8), ["a"])
    cells = np.array([[1], [4]] * 20)
    means = np.array(fitted.statistics(cells, np.float64)).mean(axis=1)
    coords = fitted.start(means, np.full(1, 40.0), np.array([0.3]))
    assert not fitted.absent(coords).any()
    prob = fitted.category_probabilities(coords, np.zeros(1))[:, 0, 0]
    assert ((prob > 1e-4) & (prob < 0.6)).all()
    assert (prob[[0, 2, 3, 5]] < 0.1).all()
    assert (prob[[1, 4]] > 0.3).all()


def test_a_start_leaves_absent_what_an_item_does_not_have(kind):
    fitted = kind().fitted_to(CELLS, ITEMS)
    means = np.array([[0.3, 0.3, 0.4], [0.0, 0.0, 0.3], [0.0, 0.5, 0.0]])
    coords = fitted.start(means, np.full(3, 30.0), np.array([0.3, -0.5, 0.8]))
    expected = [[False, False, True, True], [False] * 4, [False, False, False, True]]
    np.testing.assert_array_equal(fitted.absent(coords), expected)
    np.testing.assert_array_equal(fitted.bounded(coords), coords)
    np.testing.assert_array_equal(np.sign(coords[:, 0]), [1, -1, 1])


def test_a_constant_or_empty_table_has_two_grades(kind, subtests):
    for cells in [np.zeros((4, 2)), np.full((4, 2), -1), np.full((4, 2), 3)]:
        with subtests.test(cells=cells):
            fitted = kind().fitted_to(cells.astype(np.int8), ["a", "b"])
            assert fitted.categories == (2, 2)
            assert fitted.lowest == max(0, int(cells.max()))


def test_priors_survive_the_fit_to_a_table(kind):
    given = with_priors(kind(), {"discrimination": Normal(1, 0.5)})
    fitted = given.fitted_to(CELLS, ITEMS)
    assert fitted.coordinates[0].prior == Normal(1, 0.5)
    assert fitted.coordinates[1:] == kind().fitted_to(CELLS, ITEMS).coordinates[1:]


def test_some_items_keep_the_width_of_all(ragged):
    model, coords = ragged
    some = model.of_items(np.array([2, 0]))
    assert some.categories == (3, 2)
    assert some.width == model.width
    np.testing.assert_array_equal(
        some.log_prob(coords[[2, 0]], ABILITIES), model.log_prob(coords, ABILITIES)[:, [2, 0]]
    )
    np.testing.assert_array_equal(some.extent(), [[0, 0], [2, 1]])


def test_items_sampled_for_given_categories_have_just_these(kind):
    model = kind(categories=COUNTS)
    coords = model.from_parameters(model.sample(3, np.random.default_rng(0)))
    expected = [[False, False, True, True], [False] * 4, [False, False, False, True]]
    np.testing.assert_array_equal(model.absent(coords), expected)


def test_fewer_than_two_categories_are_refused(kind, subtests):
    for wrong in [1, 0, -3, (2, 1), (3, 0, 2), [4, 1]]:
        with (
            subtests.test(wrong=wrong),
            pytest.raises(
                InputError, match=r"(?s)categories is .*from 2 to 500.*one number for all"
            ),
        ):
            kind(categories=wrong)


def test_categories_that_are_no_whole_numbers_are_refused(kind, subtests):
    for wrong in [(2, 2.5), ("3", 2), (True, 2), [None]]:
        with (
            subtests.test(wrong=wrong),
            pytest.raises(InputError, match=r"categories has .*no whole number"),
        ):
            kind(categories=wrong)


def test_a_number_of_categories_that_is_not_whole_is_refused(kind, subtests):
    for wrong in [2.5, "5", True]:
        with subtests.test(wrong=wrong), pytest.raises(InputError, match="categories"):
            kind(categories=wrong)


def test_a_grade_above_the_declared_ones_is_named(kind):
    with pytest.raises(
        InputError, match=r"Item 'b' has the grade 3.*3 categories go from 0 to 2.*categories=4"
    ):
        kind(categories=3).fitted_to(CELLS, ITEMS)


def test_a_grade_below_the_lowest_is_named(kind):
    with pytest.raises(InputError, match=r"Item 'a' has the grade 0.*go from 1 to 4"):
        kind(categories=4, lowest=1).fitted_to(CELLS, ITEMS)


def test_categories_of_other_items_are_refused(kind):
    with pytest.raises(InputError, match=r"categories has 2 numbers, but there are 3 items"):
        kind(categories=(2, 4)).fitted_to(CELLS, ITEMS)


def test_a_fitted_model_refuses_grades_that_it_does_not_know(kind):
    fitted = kind().fitted_to(CELLS, ITEMS)
    fitted.check(CELLS, ITEMS)
    with pytest.raises(InputError, match=r"Item 'c' has the grade 3"):
        fitted.check(np.array([[0, 0, 3]], dtype=np.int8), ITEMS)


def test_items_whose_lowest_grades_differ_are_of_different_models(kind):
    from_zero, from_one = kind(categories=3, lowest=0), kind(categories=3, lowest=1)
    for one, other in [(from_zero, from_one), (from_one, from_zero)]:
        assert not one.alike(other)
        with pytest.raises(InputError, match="different models"):
            one.joined(2, other, 2)
    more = kind(categories=(4, 2), lowest=1)
    assert from_one.alike(more)
    assert from_one.joined(1, more, 2).categories == (3, 4, 2)
    assert not from_one.alike(TwoPL())


def test_sampled_grades_keep_a_distance_and_most_are_farther_apart(kind):
    drawn = kind(categories=6).sample(400, np.random.default_rng(0))
    apart = np.diff([drawn[f"difficulty_{k}"] for k in range(1, 6)], axis=0)
    assert apart.min() >= 0.6 - 1e-12
    assert np.median(apart) > 0.8  # by the spread of five normal draws
