"""Abilities from normal responses in closed form, against quadrature and search."""

from itertools import product

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.abilities import GRID, LEAST_INFORMATION, _eap, modes, score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.models.continuous import Continuous
from ogive.irt.quadrature import HistogramPopulation, NormalPopulation
from ogive.stats.array_backend import workers

METHODS = ("eap", "map", "ml", "wle")


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
        parts = list(run(work, data.blocks(GRID)))
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
