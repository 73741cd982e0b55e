"""Abilities from responses of every kind, over the registry, against brute force."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import norm

from ogive import Responses, simulate
from ogive.errors import InputError
from ogive.irt import abilities
from ogive.irt.abilities import (
    LEAST_INFORMATION,
    METHODS,
    _eap,
    modes,
    score_abilities,
)
from ogive.irt.banks import known_items
from ogive.irt.encoded_responses import encode
from ogive.irt.models import MODELS
from ogive.irt.models.continuous import Continuous
from ogive.irt.models.graded import Graded
from ogive.irt.models.logistic import TwoPL
from ogive.irt.models.nominal import PartialCredit
from ogive.irt.quadrature import HistogramPopulation, NormalPopulation
from ogive.stats.array_backend import workers

GRID = np.linspace(-10, 10, 20_001)
INNER = slice(3000, 17_001)  # ±7: farther out Warm's weight divides what is next to nothing


def bank(model, coords, population=None):
    """A calibration of items that are known."""
    return known_items(model, coords, population=population or NormalPopulation())


@pytest.fixture(scope="module")
def cases():
    """Of every model, a bank with a negative item and responses of respondents it never saw."""
    return [made(model()) for model in MODELS.values()]


def made(model):
    items = model.sample(12, np.random.default_rng(3))
    model = model.shaped(items)
    coords = model.from_parameters(items)
    if not model.coordinates[0].shared:
        coords[4:5] = model.rescale(coords[4:5], 0.0, -1.0)
    drawn = simulate(model, 40, items=model.parameters(coords), missing=0.25, random_state=3)
    responses = drawn.responses
    return bank(model.fitted_to(responses.cells, responses.items), coords), responses


def log_likelihoods(cal, responses):
    """Of each row on the grid, response by response; with which items were asked."""
    cells, terms = responses.cells, cal.model.log_terms(cal.coords, GRID)
    asked = cells >= 0 if cells.dtype.kind == "i" else ~np.isnan(cells)
    statistics = cal.model.statistics(cal.model.read(cells), np.float64)
    found = np.zeros((len(cells), GRID.size))
    for row, k in np.argwhere(asked):
        found[row] += terms[0, k]
        for table, term in zip(statistics, terms[1:], strict=True):
            found[row] += table[row, k] * term[k]
    return found, asked


def test_eap_is_mean_and_deviation_of_the_posterior(cases, subtests):
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            joint = log_likelihoods(cal, responses)[0] + norm.logpdf(GRID)
            weights = np.exp(joint - joint.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            mean = weights @ GRID
            spread = np.sqrt(weights @ GRID**2 - mean**2)
            scored = cal.score(responses, "eap")
            np.testing.assert_allclose(scored["ability"], mean, atol=1e-6)
            np.testing.assert_allclose(scored["se"], spread, rtol=1e-5)


@pytest.mark.slow
def test_modes_are_the_highest_points(cases, subtests):
    for method, (cal, responses) in product(["map", "ml", "wle"], cases):
        with subtests.test(f"{method} {cal.model.name}"):
            value, asked = log_likelihoods(cal, responses)
            if method == "map":
                value = value + norm.logpdf(GRID)
            if method == "wle":
                _, information, bias = cal.model.ability_slopes(cal.coords, GRID)
                slope = (asked @ bias) / np.maximum(2 * (asked @ information), 1e-300)
                areas = 0.5 * (slope[:, 1:] + slope[:, :-1]) * (GRID[1] - GRID[0])
                value = value + np.concatenate(
                    [np.zeros((len(value), 1)), np.cumsum(areas, 1)], axis=1
                )
            best = GRID[INNER][np.argmax(value[:, INNER], axis=1)]
            scored = cal.score(responses, method)
            inside = ~scored["at_bound"].to_numpy() & (np.abs(best) < 6.9)
            assert inside.mean() > 0.7
            # Half a step of the grid, and what the trapezoids of Warm's weight leave.
            np.testing.assert_allclose(scored["ability"][inside], best[inside], atol=2e-3)


def test_standard_errors_are_finite_and_positive(cases, subtests):
    for method, (cal, responses) in product(METHODS, cases):
        with subtests.test(f"{method} {cal.model.name}"):
            scored = cal.score(responses, method)
            assert np.isfinite(scored[["ability", "se"]]).all(axis=None)
            assert (scored["se"] > 0).all()


def test_who_was_asked_nothing_is_the_population(cases, subtests):
    for cal, _ in cases:
        with subtests.test(cal.model.name):
            kind = cal.model.kind
            empty = Responses(np.full((1, 12), np.nan), items=cal.item_names, kind=kind)
            for method in ("eap", "map"):
                row = cal.score(empty, method).iloc[0]
                assert row["ability"] == pytest.approx(0.0, abs=1e-8)
                assert row["se"] == pytest.approx(1.0, rel=1e-4)


def test_two_grades_give_the_abilities_of_a_2pl(subtests):
    for method, kind in product(METHODS, [Graded, PartialCredit]):
        with subtests.test(method=method, kind=kind):
            responses, truth = simulate("2pl", 50, 10, missing=0.2, random_state=1)
            coords = TwoPL().from_parameters(truth.items)
            expected = bank(TwoPL(), coords).score(responses, method)
            graded = Responses(responses.values, responses.respondents, responses.items, "graded")
            found = bank(kind(categories=2), coords.copy()).score(graded, method)
            np.testing.assert_allclose(
                found[["ability", "se"]], expected[["ability", "se"]], rtol=1e-7, atol=1e-7
            )
            np.testing.assert_array_equal(found["at_bound"], expected["at_bound"])


def test_grades_from_one_give_the_abilities_of_grades_from_zero(subtests):
    for method, kind in product(METHODS, [Graded, PartialCredit]):
        with subtests.test(method=method, kind=kind):
            responses, truth = simulate(kind(), 30, 6, random_state=1)
            coords, counts = truth.model.from_parameters(truth.items), truth.model.categories
            up = Responses(responses.values + 1, responses.respondents, responses.items, "graded")
            one = bank(kind(categories=counts, lowest=1), coords).score(up, method)
            assert one.equals(bank(truth.model, coords).score(responses, method))


def test_better_grades_never_lower_an_ability(subtests):
    for method, kind in product(METHODS, [Graded, PartialCredit]):
        with subtests.test(method=method, kind=kind):
            items = {
                "discrimination": np.full(4, 1.2),
                "difficulty_1": np.linspace(-2, 0, 4),
                "difficulty_2": np.linspace(-1, 1, 4),
                "difficulty_3": np.linspace(0, 2, 4),
            }
            model = kind().shaped(items)
            ladder = np.array([np.clip(step - 3 * np.arange(4), 0, 3) for step in range(13)])
            scored = bank(model, model.from_parameters(items)).score(
                Responses(ladder, kind="graded"), method
            )
            assert (np.diff(scored["ability"]) > 0).all()


@pytest.fixture(scope="module")
def scores():
    """A bank of the continuous model, and log-odds with gaps."""
    responses, truth = simulate("continuous", 30, 8, missing=0.2, random_state=5)
    return bank(Continuous(bounds=(0, 1)), truth.model.from_parameters(truth.items)), responses


def closed(cal, responses):
    """Information of the asked items, and their weighted sum of what each says of the ability."""
    loading, (_, intercept, noise) = cal.model.loadings(cal.coords), cal.coords.T
    z = np.log(responses.values / (1 - responses.values))
    precision = ~np.isnan(z) * np.exp(-2 * noise) * loading**2
    return precision.sum(axis=1), np.nansum(precision * (z - intercept) / loading, axis=1)


@pytest.mark.parametrize("method", ["ml", "wle"])
def test_without_a_population_continuous_abilities_are_weighted_means(scores, method):
    cal, responses = scores
    information, total = closed(cal, responses)
    scored = cal.score(responses, method)
    assert not scored["at_bound"].any()
    np.testing.assert_allclose(scored["ability"], total / information, atol=1e-7)
    np.testing.assert_allclose(scored["se"], information**-0.5, rtol=1e-6)


def test_continuous_abilities_are_normal_about_the_shrunken_mean(scores, subtests):
    for method, (mean, sd) in product(["eap", "map"], [(0.0, 1.0), (0.5, 2.0)]):
        with subtests.test(method, mean=mean):
            cal, responses = scores
            cal = bank(cal.model, cal.coords.copy(), NormalPopulation(mean, sd))
            information, total = closed(cal, responses)
            precision = information + 1 / sd**2
            scored = cal.score(responses, method)
            np.testing.assert_allclose(
                scored["ability"], (total + mean / sd**2) / precision, atol=1e-6
            )
            np.testing.assert_allclose(scored["se"], precision**-0.5, rtol=1e-5)


def test_scores_at_a_bound_are_the_lowest_and_the_highest(scores):
    cal, responses = scores
    fitted = cal.model.fitted_to(responses.cells, responses.items)
    cal = bank(fitted, cal.coords.copy())
    ends = Responses(np.array([[0.0] * 8, [0.5] * 8, [1.0] * 8]), kind="continuous")
    for method in METHODS:
        found = cal.score(ends, method)
        assert np.isfinite(found["ability"]).all()
        assert (np.diff(found["ability"]) > 0).all()


def two_humps():
    points = np.linspace(-6, 6, 61)
    mass = 0.35 * norm.pdf(points, -1.5, 0.5) + 0.65 * norm.pdf(points, 0.8, 0.7)
    return HistogramPopulation(points, mass / mass.sum())


@pytest.mark.slow
def test_a_histogram_of_a_normal_shape_gives_the_abilities_of_a_normal_population(cases, subtests):
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            points = np.linspace(-8, 8, 81)
            shape = HistogramPopulation(points, norm.pdf(points) / norm.pdf(points).sum())
            same = bank(cal.model, cal.coords.copy(), shape)
            for method in ("eap", "map"):
                found, expected = same.score(responses, method), cal.score(responses, method)
                np.testing.assert_allclose(found["ability"], expected["ability"], atol=1e-5)
                np.testing.assert_allclose(found["se"], expected["se"], rtol=1e-4)


@pytest.mark.slow
def test_a_population_of_two_humps_draws_abilities_to_them(cases, subtests):
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            population = two_humps()
            value = log_likelihoods(cal, responses)[0] + population.log_density(GRID)
            weights = np.exp(value - value.max(axis=1, keepdims=True))
            weights /= weights.sum(axis=1, keepdims=True)
            humped = bank(cal.model, cal.coords.copy(), population)
            # A spline through points a fifth apart is no smooth density; its knots leave 1e-4.
            np.testing.assert_allclose(
                humped.score(responses, "eap")["ability"], weights @ GRID, atol=1e-4
            )
            found = humped.score(responses, "map")["ability"].to_numpy()
            at_found = [np.interp(x, GRID, row) for x, row in zip(found, value, strict=True)]
            # Of two maxima whose heights differ by less than 161 nodes can see, either will do.
            assert (value.max(axis=1) - at_found < 0.02).all()
            same_hump = value.max(axis=1) - at_found < 1e-4
            assert same_hump.mean() > 0.9
            best = GRID[np.argmax(value, axis=1)]
            np.testing.assert_allclose(found[same_hump], best[same_hump], atol=1e-3)


def test_scores_that_contradict_an_item_are_integrated_as_well_as_others():
    """One item is turned around: posteriors are narrower than the items promised."""
    model = MODELS["beta"]()
    coords = np.column_stack([np.full(12, 2.0), np.linspace(-1, 1, 12)])
    random = np.random.default_rng(0)
    cells = model.draw(coords, random.normal(size=100), random).T.copy()
    cells[:, 0] = 1 - cells[:, 1]
    responses = Responses(cells, kind="continuous")
    cal = bank(model.fitted_to(cells, responses.items), coords)
    value = log_likelihoods(cal, responses)[0] + norm.logpdf(GRID)
    weights = np.exp(value - value.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cal.score(responses)["ability"], weights @ GRID, atol=1e-4)


def test_a_grade_that_an_item_does_not_have_is_not_scored():
    model = Graded(categories=(2, 3))
    items = {
        "discrimination": [1.0, 1.0], "difficulty_1": [0.0, 0.0], "difficulty_2": [np.nan, 1.0],
    }  # fmt: skip
    cal = bank(model, model.from_parameters({k: np.array(v) for k, v in items.items()}))
    with pytest.raises(InputError, match=r"Item 'item_1' has the grade 2.*go from 0 to 1"):
        cal.score(Responses([[2, 1]], items=["item_1", "item_2"], kind="graded"))


@pytest.mark.parametrize("name", ["continuous", "beta"])
def test_a_score_outside_the_bounds_is_not_scored(name):
    model = MODELS[name]()
    cal = bank(model, model.from_parameters(model.sample(2, np.random.default_rng(0))))
    with pytest.raises(InputError, match=r"Item 'item_2' has the response 1.2, outside"):
        cal.score(Responses([[0.5, 1.2]], items=["item_1", "item_2"], kind="continuous"))


def test_responses_are_read_as_the_kind_that_the_model_explains(cases, subtests):
    for cal, _ in cases:
        with subtests.test(cal.model.name):
            own = Responses(np.ones((1, 12)), items=cal.item_names, kind=cal.model.kind)
            known = ("binary", "graded", "continuous")
            for kind in known if cal.model.kind != "nominal" else ("nominal",):
                same = Responses(np.ones((1, 12)), items=cal.item_names, kind=kind)
                assert cal.score(same).equals(cal.score(own))


def test_true_and_total_scores_are_sums_over_the_items(cases, subtests):
    for cal, responses in cases:
        with subtests.test(cal.model.name):
            ability = cal.score(responses)["ability"].to_numpy()
            expected = cal.model.expected(cal.coords, ability).T
            low, high = (np.broadcast_to(bound, 12) for bound in cal.model.extent())
            true, total = cal.true_scores(responses), cal.total_scores(responses)
            np.testing.assert_allclose(true["true_score"], expected.sum(axis=1))
            for row, values in enumerate(cal.model.scored(responses.values[:15])):
                sums, asked = 0.0, 0
                for k, value in enumerate(values):
                    if np.isnan(value):
                        continue
                    share, chance = (
                        (x - low[k]) / (high[k] - low[k]) for x in (value, expected[row, k])
                    )
                    sums += share * chance - (1 - share) * (1 - chance)
                    asked += 1
                assert total["total_score"].iloc[row] == pytest.approx(sums)
                assert total["total_score_mean"].iloc[row] == pytest.approx(sums / asked)


@pytest.fixture(scope="module", params=[0.0, 0.3], ids=["complete", "with gaps"])
def case(request):
    responses, truth = simulate("continuous", 60, 7, missing=request.param, random_state=2)
    coords = truth.model.from_parameters(truth.items)
    coords[2, 0] *= -1  # an item that easier respondents do worse on
    model = Continuous(bounds=(0, 1)).fitted_to(responses.cells, responses.items)
    return encode(responses.cells, model), model, coords


def by_search(data, model, coords, population, method):
    """As models are scored that have no closed form."""
    if method == "eap":
        found = _eap(data, model, coords, population, n_jobs=1)
        return [found.ability, found.se, found.at_bound]
    work = modes(data, model, coords, population, method, 10.0)
    with workers(1) as run:
        parts = list(run(work, data.blocks(abilities.GRID)))
    return [np.concatenate(column) for column in zip(*parts, strict=True)]


def test_the_closed_form_gives_what_quadrature_and_search_give(case, subtests):
    for method, population in product(METHODS, [NormalPopulation(), NormalPopulation(0.7, 1.8)]):
        with subtests.test(method=method, population=population):
            data, model, coords = case
            found = score_abilities(data, model, coords, population, method)
            ability, se, at_bound = by_search(data, model, coords, population, method)
            np.testing.assert_allclose(found.ability, ability, atol=1e-6)
            np.testing.assert_allclose(found.se, se, rtol=1e-5)
            np.testing.assert_array_equal(found.at_bound, at_bound)


def test_mean_and_mode_of_a_normal_posterior_are_one(case):
    eap, mode = (score_abilities(*case, NormalPopulation(), method) for method in ("eap", "map"))
    np.testing.assert_array_equal(eap.ability, mode.ability)
    np.testing.assert_array_equal(eap.se, mode.se)


def test_another_population_is_integrated_over(case):
    points = np.linspace(-6, 6, 61)
    mass = np.exp(-0.5 * (points - 1) ** 2) + np.exp(-0.5 * ((points + 2) / 0.4) ** 2)
    population = HistogramPopulation(points, mass / mass.sum())
    found = score_abilities(*case, population, "eap")
    np.testing.assert_array_equal(found.ability, by_search(*case, population, "eap")[0])


def test_an_item_without_noise_decides_alone(case):
    data, model, coords = case
    coords = coords.copy()
    loading = model.loadings(coords)[0]
    coords[0, ::2] = loading / 1e-4, np.log(1e-4)
    z, asked = data.values(slice(None))
    seen = np.ones(len(z), bool) if asked is None else asked[:, 0] > 0
    expected = (z[:, 0] - coords[0, 1]) / loading
    found = score_abilities(data, model, coords)
    np.testing.assert_allclose(found.ability[seen], expected[seen], atol=1e-5)


def test_estimates_far_out_stand_at_the_bound(case, subtests):
    for method in ["ml", "wle"]:
        with subtests.test(method):
            data, model, coords = case
            coords = coords.copy()
            coords[:, 1] -= 100 * model.loadings(coords)
            found = score_abilities(data, model, coords, method=method)
            told = found.se < LEAST_INFORMATION**-0.5  # not of who was asked nothing
            assert (found.ability[told] == 10.0).all()
            assert found.at_bound.all()
            np.testing.assert_array_equal(
                score_abilities(data, model, coords, method=method, farthest=4.0).ability[told], 4.0
            )


def test_items_that_tell_nothing_leave_the_population(case, subtests):
    for method in METHODS:
        with subtests.test(method=method):
            data, model, coords = case
            coords = coords.copy()
            coords[:, 0] = 0.0
            found = score_abilities(data, model, coords, NormalPopulation(0.5, 2.0), method)
            np.testing.assert_allclose(found.ability, 0.5)
            assert found.at_bound.all() == (method in ("ml", "wle"))
            if method in ("eap", "map"):
                np.testing.assert_allclose(found.se, 2.0)


def test_scores_that_tell_less_than_a_thousandth_of_the_population_tell_nothing(subtests):
    """A score tells discrimination², of which sd² is the unit."""
    model = Continuous(bounds=(0, 1)).fitted_to(np.array([[0.3], [0.7]]), ["one"])
    data = encode(np.array([[0.7]]), model)
    for sd in (1.0, 2.0):
        border = np.sqrt(1e-3) / sd
        for share, lost in ((0.99, True), (1.01, False)):
            with subtests.test(sd=sd, share=share):
                coords = np.array([[share * border, 0.0, 0.0]])
                population = NormalPopulation(0.5, sd)
                found = score_abilities(data, model, coords, population, "ml", farthest=1e6)
                assert found.at_bound.tolist() == [lost]
                z = np.log(0.7 / 0.3)
                wanted = 0.5 if lost else z / (share * border)
                np.testing.assert_allclose(found.ability, wanted)
