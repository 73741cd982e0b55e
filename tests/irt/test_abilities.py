"""Abilities against brute force: fine grids, and scipy's scalar minimiser."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit

from ogive import Graded, Responses, TwoPL, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.abilities import METHODS, score_abilities
from ogive.irt.banks import known_items
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.alternative_engines import staged_abilities
from ogive.irt.models import MODELS
from ogive.irt.quadrature import HistogramPopulation, NormalPopulation

GRID = np.linspace(-10, 10, 20_001)


def bank(model, parameters, population=None):
    """A calibration of items that are known."""
    chosen = MODELS[model]()
    columns = {name: np.asarray(column, dtype=float) for name, column in parameters.items()}
    coords = chosen.from_parameters(columns)
    return known_items(chosen, coords, population=population or NormalPopulation())


@pytest.fixture(scope="module")
def cases():
    """Banks, and responses with gaps of respondents they never saw."""

    def make(model):
        responses, truth = simulate(model, 60, 20, missing=0.25, random_state=3)
        parameters = truth.items.to_dict("list")
        parameters["discrimination"][4] *= -1
        return bank(model, parameters), responses

    return [make(model) for model in ("2pl", "3pl", "4pl")]


def objective(plain, cal, values, method, ability):
    """What the method maximises for one respondent, by definition."""
    ability = np.atleast_1d(ability)
    value = plain.log_joint(cal.coords, values[None], ability)[0]
    if method == "map":
        sd = cal.population.sd
        value = value - 0.5 * ((ability - cal.population.mean) / sd) ** 2
    return value


def best(plain, cal, values, method):
    """The highest point: the best of a fine grid, then polished."""
    centre = GRID[np.argmax(objective(plain, cal, values, method, GRID))]
    found = minimize_scalar(
        lambda x: -objective(plain, cal, values, method, x)[0],
        bounds=(centre - 0.002, centre + 0.002),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return found.x


def test_eap_is_mean_and_deviation_of_the_posterior(plain, cases, subtests):
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            mean, sd, _ = plain.posterior(cal.coords, responses.values)
            scored = cal.score(responses, "eap")
            np.testing.assert_allclose(scored["ability"], mean, atol=1e-6)
            np.testing.assert_allclose(scored["se"], sd, rtol=1e-5)
            assert not scored["at_bound"].any()


def test_modes_are_the_highest_points(plain, cases, subtests):
    for method, (cal, responses) in product(["map", "ml"], cases):
        with subtests.test(f"{method} {cal.model.name}"):
            scored = cal.score(responses, method)
            inside = ~scored["at_bound"].to_numpy()
            assert inside.mean() > 0.9
            for row in np.flatnonzero(inside)[:25]:
                expected = best(plain, cal, responses.values[row], method)
                assert scored["ability"].iloc[row] == pytest.approx(expected, abs=1e-5)


def test_standard_errors_of_modes_are_the_bend_of_what_was_maximised(plain, cases, subtests):
    for method, (cal, responses) in product(["map", "ml"], cases):
        with subtests.test(f"{method} {cal.model.name}"):
            scored = cal.score(responses, method)
            compared = 0
            for row in np.flatnonzero(~scored["at_bound"])[:25]:
                at = scored["ability"].iloc[row] + np.array([-1e-3, 0, 1e-3])
                low, here, high = objective(plain, cal, responses.values[row], method, at)
                bend = -(low - 2 * here + high) / 1e-6
                if bend > 0.5:  # elsewhere the expected information stands in
                    assert scored["se"].iloc[row] == pytest.approx(bend**-0.5, rel=1e-3)
                    compared += 1
            assert compared > 15


def warm_weight(plain, cal, asked):
    """Log of Warm's weight on the grid: the integral of J / 2I, by definition."""
    right, wrong = plain.curves(cal.coords[asked], GRID)
    nudge = 1e-4
    up, down = (plain.curves(cal.coords[asked], GRID + step)[0] for step in (nudge, -nudge))
    first, second = (up - down) / (2 * nudge), (up - 2 * right + down) / nudge**2
    spread = right * wrong
    information, bias = (first**2 / spread).sum(axis=0), (first * second / spread).sum(axis=0)
    slope = bias / (2 * information)
    return np.r_[0.0, np.cumsum(0.5 * (slope[1:] + slope[:-1]) * np.diff(GRID))]


@pytest.mark.slow
def test_wle_solves_warms_equation(plain, cases, subtests):
    inner = slice(3000, 17_001)  # ±7; farther out differences of chances near 0 and 1 are noise
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            scored = cal.score(responses, "wle")
            assert not scored["at_bound"].any()
            for row in range(20):
                values = responses.values[row]
                asked = ~np.isnan(values)
                weighted = plain.log_joint(cal.coords, values[None], GRID)[0]
                weighted = (weighted + warm_weight(plain, cal, asked))[inner]
                expected = GRID[inner][np.argmax(weighted)]
                assert scored["ability"].iloc[row] == pytest.approx(expected, abs=2e-3)


def test_warms_correction_removes_the_bias_of_maximum_likelihood():
    parameters = {"discrimination": np.full(15, 1.5), "difficulty": np.linspace(-1, 1, 15)}
    cal = bank("2pl", parameters)
    drawn = simulate("2pl", abilities=np.full(4000, 1.2), items=parameters, random_state=0)
    ml, wle = (cal.score(drawn.responses, method) for method in ("ml", "wle"))
    inside = ~ml["at_bound"]
    assert abs(wle["ability"].mean() - 1.2) < 0.02
    assert inside.mean() < 1


@pytest.fixture(scope="module")
def perfect():
    parameters = {"discrimination": [1.0, 1.5, 2.0], "difficulty": [-1.0, 0.0, 1.0]}
    return bank("2pl", parameters), Responses(
        [[1, 1, 1], [0, 0, 0], [np.nan] * 3, [1, 1, 0]],
        respondents=["all", "none", "empty", "some"],
    )


def test_perfect_rows_have_no_maximum_likelihood_and_stand_at_the_bound(perfect):
    cal, responses = perfect
    scored = cal.score(responses, "ml")
    assert scored["at_bound"].to_dict() == {
        "all": True, "none": True, "empty": True, "some": False
    }  # fmt: skip
    assert scored.loc["all", "ability"] == 10
    assert scored.loc["none", "ability"] == -10
    assert np.isfinite(scored["se"]).all()


def test_perfect_rows_are_finite_and_inside_by_every_other_method(perfect, subtests):
    for method in ["eap", "map", "wle"]:
        with subtests.test(method):
            cal, responses = perfect
            scored = cal.score(responses, method).loc[["all", "none", "some"]]
            assert not scored["at_bound"].any()
            assert (scored["ability"].abs() < 6).all()
            assert scored.loc["none", "ability"] < scored.loc["some", "ability"]
            assert scored.loc["some", "ability"] < scored.loc["all", "ability"]


@pytest.mark.parametrize("method", ["eap", "map"])
def test_who_was_asked_nothing_is_the_population(perfect, method):
    cal, responses = perfect
    empty = cal.score(responses, method).loc["empty"]
    assert empty["ability"] == pytest.approx(0.0, abs=1e-8)
    assert empty["se"] == pytest.approx(1.0, rel=1e-4)


@pytest.mark.parametrize("method", ["ml", "wle"])
def test_who_was_asked_nothing_has_no_estimate_without_a_population(perfect, method):
    cal, responses = perfect
    empty = cal.score(responses, method).loc["empty"]
    assert empty["at_bound"]
    assert empty["ability"] == 0
    assert empty["se"] > 1e3


def test_the_population_moves_and_widens_the_posterior(plain):
    parameters = {"discrimination": [1.0, 1.5], "difficulty": [0.0, 1.0]}
    responses = Responses([[1, 1], [0, 1], [np.nan, np.nan]])
    for mean, sd in [(1.0, 2.0), (-3.0, 0.5)]:
        cal = bank("2pl", parameters, NormalPopulation(mean, sd))
        found, spread, _ = plain.posterior(cal.coords, responses.values, mean, sd)
        scored = cal.score(responses, "eap")
        np.testing.assert_allclose(scored["ability"], found, atol=1e-6)
        np.testing.assert_allclose(scored["se"], spread, rtol=1e-5)
        assert cal.score(responses, "map")["ability"].iloc[2] == pytest.approx(mean)


def test_a_population_needs_a_mean_and_a_deviation(subtests):
    for mean, sd in [(np.nan, 1), (0, 0), (0, -1), (0, np.inf)]:
        with (
            subtests.test(mean=mean, sd=sd),
            pytest.raises(InputError, match=r"population has mean .* and sd"),
        ):
            NormalPopulation(mean, sd)


@pytest.mark.parametrize("n_hard", [2, 5])
def test_the_higher_of_two_maxima_is_found(plain, n_hard):
    """An easy item failed, hard ones guessed or solved: a 3PL likelihood may have two maxima."""
    items = {
        "discrimination": [1.0, *[3.0] * n_hard],
        "difficulty": [-1.0, *[2.0] * n_hard],
        "guessing": [0.2, *[0.25] * n_hard],
    }
    cal = bank("3pl", items)
    values = np.array([[0.0, *[1.0] * n_hard]])
    curve = plain.log_joint(cal.coords, values, GRID)[0]
    peaks = np.flatnonzero((curve[1:-1] > curve[:-2]) & (curve[1:-1] > curve[2:])) + 1
    assert len(peaks) == 1
    assert curve[0] > curve[4000]  # and towards the low end it rises again
    scored = cal.score(Responses(values), "ml").iloc[0]
    assert scored["at_bound"] == (n_hard == 2)
    expected = -10 if n_hard == 2 else GRID[peaks[0]]
    assert scored["ability"] == pytest.approx(expected, abs=2e-3)


def test_a_narrow_posterior_far_out_is_still_exact(plain):
    random = np.random.default_rng(0)
    parameters = {
        "discrimination": random.uniform(1, 3, 500),
        "difficulty": random.normal(2, 1, 500),
    }
    cal = bank("2pl", parameters)
    responses = simulate("2pl", abilities=[3.5, 4.0, -2.0], items=parameters, random_state=1)[0]
    mean, sd, _ = plain.posterior(cal.coords, responses.values, nodes=20_001)
    scored = cal.score(responses, "eap")
    np.testing.assert_allclose(scored["ability"], mean, atol=1e-5)
    np.testing.assert_allclose(scored["se"], sd, rtol=1e-3)


def test_scores_do_not_depend_on_the_number_of_workers(subtests):
    for method in METHODS:
        with subtests.test(method=method):
            responses, truth = simulate("3pl", 1500, 30, missing=0.1, random_state=1)
            coords = truth.model.from_parameters(truth.items)
            data = encode(responses.cells, truth.model, collapsing=False)
            one, two = (
                score_abilities(data, truth.model, coords, n_jobs=n, method=method) for n in (1, 2)
            )
            assert one.ability.tobytes() == two.ability.tobytes()
            assert one.se.tobytes() == two.se.tobytes()


def test_more_right_responses_never_lower_a_2pl_ability(subtests):
    for method in METHODS:
        with subtests.test(method=method):
            cal = bank(
                "2pl", {"discrimination": np.full(6, 1.2), "difficulty": np.linspace(-2, 2, 6)}
            )
            ladder = np.tril(np.ones((7, 6)), -1)
            assert (np.diff(cal.score(Responses(ladder), method)["ability"]) > 0).all()


def test_an_unknown_method_is_refused(perfect, subtests):
    for method in ["mle", "", None, 1]:
        with subtests.test(method=method):
            cal, responses = perfect
            with pytest.raises(InputError, match=rf"method is {method!r}.*eap, map, ml, wle"):
                cal.score(responses, method)


@pytest.fixture(scope="module")
def fitted():
    responses, truth = simulate("2pl", 400, 10, random_state=1)
    return calibrate(responses), simulate("2pl", 30, items=truth.items, random_state=2).responses


def test_items_are_known_by_name_and_may_come_in_any_order(fitted, subtests):
    for method in METHODS:
        with subtests.test(method=method):
            cal, new = fitted
            turned = new.select(items=list(reversed(new.items)))
            assert cal.score(turned, method).equals(cal.score(new, method))


def test_a_subset_of_items_is_the_rest_never_asked(fitted, subtests):
    for method in METHODS:
        with subtests.test(method=method):
            cal, new = fitted
            values = new.values
            values[:, 4:] = np.nan
            few = new.select(items=list(new.items[:4]))
            holed = Responses(values, new.respondents, new.items)
            np.testing.assert_allclose(
                cal.score(few, method)[["ability", "se"]],
                cal.score(holed, method)[["ability", "se"]],
            )


def test_an_unknown_item_is_named(fitted):
    cal, new = fitted
    strange = Responses(new.values[:, :2], items=["item_1", "trick question"])
    with pytest.raises(InputError, match=r"1 of 2 items are not.*'trick question'.*select"):
        cal.score(strange)


def test_the_name_of_a_method_may_be_written_large(fitted, subtests):
    for method in METHODS:
        with subtests.test(method=method):
            cal, new = fitted
            assert cal.score(new, method.upper()).equals(cal.score(new, method))


def test_frames_and_arrays_are_scored_as_responses_are(fitted):
    cal, new = fitted
    expected = cal.score(new)
    assert cal.score(new.to_frame()).equals(expected)
    np.testing.assert_array_equal(cal.score(new.values), expected)


def test_what_is_no_table_is_not_scored(fitted, subtests):
    for given in ["new.csv", None, 3]:
        with (
            subtests.test(given=given),
            pytest.raises(InputError, match=r"Responses are needed|two dimensions"),
        ):
            fitted[0].score(given)


def test_only_responses_of_the_right_kind_are_scored(fitted):
    cal, _ = fitted
    with pytest.raises(InputError, match=r"holds 2, but binary responses are 0 or 1"):
        cal.score(Responses([[2, 1]], items=["item_1", "item_2"]))


MODEL = TwoPL()
DIFFICULTY = np.linspace(-2, 2, 43)  # ten groups of four; the three hardest fill no group
COORDS = MODEL.from_parameters({"discrimination": np.full(43, 1.5), "difficulty": DIFFICULTY})


def staged(cells):
    return staged_abilities(np.atleast_2d(np.asarray(cells, dtype=np.int8)), MODEL, COORDS)


def row(last_group, rest=1):
    cells = np.full(43, rest)
    cells[36:40] = last_group
    return cells


def test_the_hardest_group_has_the_last_word():
    found = staged([row([1, 0, 1, 0], rest=1), row([1, 0, 1, 0], rest=0)])
    right, b = np.array([1, 0, 1, 0]), DIFFICULTY[36:40]

    def minus_log_likelihood(ability):
        chance = expit(1.5 * (ability - b))
        return -np.where(right == 1, np.log(chance), np.log(1 - chance)).sum()

    best = minimize_scalar(minus_log_likelihood, bounds=(-5, 5), options={"xatol": 1e-9}).x
    np.testing.assert_allclose(found.ability, best, atol=1e-6)
    chance = expit(1.5 * (best - b))
    information = (1.5**2 * chance * (1 - chance)).sum()
    np.testing.assert_allclose(found.se, 1 / np.sqrt(information), rtol=1e-6)
    assert not found.at_bound.any()


def test_who_gets_all_right_goes_half_the_way_to_the_hardest_item_in_each_group():
    ability = 1.0  # the share of right responses, where the search begins
    for _ in range(10):
        ability += (2 - ability) / 2
    found = staged(np.ones(43))
    assert found.ability[0] == pytest.approx(ability)
    assert found.at_bound.all()


def test_who_gets_all_wrong_goes_half_the_way_to_the_easiest_item_in_each_group():
    ability = 0.0
    for _ in range(10):
        ability -= (ability + 2) / 2
    assert staged(np.zeros(43)).ability[0] == pytest.approx(ability)


def test_a_group_that_was_never_asked_moves_nobody():
    cells = row([1, 0, 1, 0])
    unasked = cells.copy()
    unasked[20:24] = -1
    assert staged(unasked).ability[0] == pytest.approx(staged(cells).ability[0], abs=1e-9)


def test_fewer_items_than_groups_are_refused():
    with pytest.raises(InputError, match="needs 10 items or more, but there are 9"):
        staged_abilities(np.ones((1, 9), dtype=np.int8), MODEL, COORDS[:9])


def test_grades_are_refused():
    with pytest.raises(InputError, match="right and wrong responses, but the model is graded"):
        staged_abilities(np.ones((1, 43), dtype=np.int8), Graded(), COORDS)


def one_item(slope, sd):
    parameters = {"discrimination": [slope], "difficulty": [0.0]}
    return bank("2pl", parameters, NormalPopulation(0.5, sd))


def test_items_that_tell_less_than_a_thousandth_of_the_population_tell_nothing(subtests):
    """An item tells at most slope² / 4, of which sd² is the unit."""
    for sd in (1.0, 2.0):
        border = 2 * np.sqrt(1e-3) / sd
        for method in ("ml", "wle"):
            with subtests.test(sd=sd, method=method):
                lost = one_item(0.99 * border, sd).score(Responses([[1]]), method).iloc[0]
                assert (lost["ability"], bool(lost["at_bound"])) == (0.5, True)
                told = one_item(1.02 * border, sd).score(Responses([[1]]), method).iloc[0]
                assert told["ability"] > 1
        kept = one_item(0.5 * border, sd).score(Responses([[1]]), "map").iloc[0]
        assert not kept["at_bound"]
        assert kept["se"] == pytest.approx(sd, rel=1e-3)


def test_perfect_rows_stand_as_many_deviations_out_as_asked_for(perfect):
    cal, responses = perfect
    data = encode(cal.placed(responses), cal.model, collapsing=False)
    for population in (NormalPopulation(), NormalPopulation(1.0, 2.0)):
        for farthest in (3.0, 10.0):
            found = score_abilities(
                data, cal.model, cal.coords, population, "ml", farthest=farthest
            )
            low, high = (
                population.mean - farthest * population.sd,
                population.mean + farthest * population.sd,
            )
            assert found.ability[:2] == pytest.approx([high, low])
            assert found.at_bound.tolist() == [True, True, True, False]


def test_the_error_at_a_bound_is_that_of_the_information_there(perfect):
    cal, responses = perfect
    scored = cal.score(responses, "ml")
    p = expit(np.array([1.0, 1.5, 2.0]) * (10 - np.array([-1.0, 0.0, 1.0])))
    told = (np.array([1.0, 1.5, 2.0]) ** 2 * p * (1 - p)).sum()
    assert scored.loc["all", "se"] == pytest.approx(told**-0.5, rel=1e-4)
    assert scored.loc["empty", "se"] == 1e6


def test_a_posterior_that_reaches_the_last_nodes_is_at_a_bound():
    hard = bank("2pl", {"discrimination": np.full(60, 4.0), "difficulty": np.full(60, 12.0)})
    scored = hard.score(Responses(np.vstack([np.ones(60), np.zeros(60)])))
    assert scored["at_bound"].tolist() == [True, False]


def test_complete_rows_are_scored_as_rows_with_a_gap_elsewhere(subtests):
    parameters = {"discrimination": [1.0, 1.5, 2.0, 0.8], "difficulty": [-1.0, 0.0, 1.0, 0.3]}
    cal, few = bank("2pl", parameters), bank("2pl", {k: v[:3] for k, v in parameters.items()})
    rows = np.array([[1.0, 0, 1], [1, 1, 0], [0, 1, 0]])
    holed = np.column_stack([rows, np.full(3, np.nan)])
    for method in METHODS:
        with subtests.test(method=method):
            whole, part = few.score(Responses(rows), method), cal.score(Responses(holed), method)
            np.testing.assert_allclose(whole[["ability", "se"]], part[["ability", "se"]], atol=1e-7)


def test_staged_groups_count_what_was_asked_and_begin_at_its_share():
    """A group asked in part counts by that part; one never asked moves nobody."""
    right = np.full(43, -1)
    right[[0, 5]] = 1  # in the first two groups
    ability = 1.0
    for _ in range(2):
        ability = (ability + 2) / 2
    found = staged(right)
    assert found.ability[0] == pytest.approx(ability)
    assert found.at_bound[0]
    assert found.se[0] == 1e6  # nothing of the last group was asked
    mixed = np.full(43, -1)
    mixed[[0, 1, 2]] = [1, 0, 0]
    start = np.full(43, -1)
    start[0] = 0
    assert staged(start).ability[0] == pytest.approx((0.0 - 2) / 2)
    assert not staged(mixed).at_bound[0]
    assert np.isfinite(staged(np.full(43, -1)).ability[0])


def test_the_hardest_items_that_fill_no_group_are_left_out():
    cells = row([1, 0, 1, 0])
    other = cells.copy()
    other[40:] = 0
    moved = staged(other)
    np.testing.assert_allclose(moved.ability, staged(cells).ability, atol=1e-9)
    few = staged_abilities(np.array([[1, 0, 1, 0]]), MODEL, COORDS[:4], groups=2)
    alone = bank("2pl", {"discrimination": [1.5, 1.5], "difficulty": DIFFICULTY[2:4]})
    wanted = alone.score(Responses([[1, 0]]), "ml")["ability"].iloc[0]
    assert few.ability[0] == pytest.approx(wanted, abs=1e-8)


def test_a_population_of_two_humps_is_maximised_where_it_is_highest():
    """Between humps the log-density bends upwards: steps must not follow it."""
    points = np.linspace(-6, 6, 121)
    mass = np.exp(-0.5 * ((points + 2) / 0.5) ** 2) + 0.8 * np.exp(-0.5 * ((points - 2) / 0.5) ** 2)
    population = HistogramPopulation(points, mass / mass.sum())
    cal = bank("2pl", {"discrimination": [1.0], "difficulty": [0.0]}, population)
    scored = cal.score(Responses([[1], [0], [np.nan]]), "map")
    grid = np.linspace(-4, 4, 80_001)
    density = population.log_density(grid)
    for k, term in enumerate((np.log(expit(grid)), np.log(expit(-grid)))):
        assert scored["ability"].iloc[k] == pytest.approx(grid[np.argmax(density + term)], abs=2e-4)
    assert scored["se"].iloc[0] == pytest.approx(0.5, rel=0.1)
