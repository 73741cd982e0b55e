"""Simulation: what is drawn has the shape, the names and the chances that were asked for."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

from ogive import calibrate, simulate
from ogive.errors import InputError
from ogive.irt import simulation as simulated_responses
from ogive.irt.quadrature import HistogramPopulation, NormalPopulation
from ogive.irt.simulation import _of_population, simulate_again


def test_a_table_is_as_large_as_asked_for_or_as_its_page_says():
    assert simulate().responses.shape == (1000, 50)
    assert simulate("2pl", 1, 1).responses.shape == (1, 1)
    for wrong in (0, -1, 2.0, True, "3"):
        with pytest.raises(InputError, match=r"`n_items` must be "):
            simulate("2pl", 3, wrong)
    given = simulate(abilities=[0.0, 1.0], items={"discrimination": 1.0, "difficulty": [0, 1, 2]})
    assert given.responses.shape == (2, 3)
    assert given.truth.items["discrimination"].tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match="n_respondents is 3, but 2 abilities"):
        simulate("2pl", 3, abilities=[0.0, 1.0])
    with pytest.raises(InputError, match="n_items is 2, but 3 items"):
        simulate(n_items=2, items={"discrimination": 1.0, "difficulty": [0, 1, 2]})


def test_chances_are_those_of_the_model_and_gaps_as_many_as_asked_for(monkeypatch):
    monkeypatch.setattr(simulated_responses, "CELLS_AT_A_TIME", 999)
    items = {"discrimination": [1.0, 2.0, 0.5], "difficulty": [0.0, 1.0, -1.0]}
    drawn, _ = simulate(
        "2pl", abilities=np.full(6000, 0.5), items=items, missing=0.3, random_state=2
    )
    values = np.where(drawn.observed, drawn.cells, np.nan)
    chance = 1 / (1 + np.exp(-np.array([0.5, -1.0, 0.75])))
    np.testing.assert_allclose(np.nanmean(values, axis=0), chance, atol=0.03)
    assert np.isnan(values).mean() == pytest.approx(0.3, abs=0.015)
    assert not np.isnan(simulate("2pl", 50, 4, missing=0.0).responses.values).any()
    for wrong in (-0.1, 1.0, "much", None):
        with pytest.raises(InputError, match=r"`missing` must be"):
            simulate("2pl", 5, 5, missing=wrong)


def test_names_of_frames_stay_and_a_range_is_no_name():
    ability = pd.Series([0.0, 1.0], index=["a", "b"])
    assert simulate("2pl", abilities=ability, n_items=2).responses.respondents == ("a", "b")
    frame = pd.DataFrame({"ability": [0.0, 1.0]})
    named = simulate("2pl", abilities=frame, n_items=2).responses.respondents
    assert named == ("respondent_1", "respondent_2")


def test_a_population_of_any_shape_is_drawn_by_inversion():
    points = np.linspace(-6, 6, 61)
    mass = np.exp(-0.5 * (points + 1) ** 2) + np.exp(-2 * (points - 2) ** 2)
    shape = HistogramPopulation(points, mass / mass.sum())
    drawn = _of_population(shape, 20_000, np.random.default_rng(0))
    grid = np.linspace(-9, 9, 9001)
    density = np.exp(shape.log_density(grid))
    below = np.cumsum(density) / density.sum()
    assert kstest(drawn, lambda x: np.interp(x, grid, below)).pvalue > 0.01
    normal = _of_population(NormalPopulation(2.0, 3.0), 5, np.random.default_rng(1))
    np.testing.assert_allclose(normal, 2 + 3 * np.random.default_rng(1).standard_normal(5))


def test_simulated_again_gaps_stay_and_whole_weights_become_rows():
    responses = simulate("2pl", 40, 5, missing=0.2, random_state=1).responses
    once, weights = simulate_again(calibrate(responses), np.random.default_rng(0))
    np.testing.assert_array_equal(once.observed, responses.observed)
    assert once.respondents == responses.respondents
    assert weights is None
    counts = np.r_[np.full(20, 1.0), np.full(20, 3.0)]
    many, left = simulate_again(calibrate(responses, weights=counts), np.random.default_rng(0))
    assert many.n_respondents == 80
    assert left is None
    assert many.respondents[0] == "respondent_1"
    np.testing.assert_array_equal(many.observed[20:23], responses.observed[[20] * 3])
    part = np.full(40, 1.5)
    same, kept = simulate_again(calibrate(responses, weights=part), np.random.default_rng(0))
    assert same.n_respondents == 40
    np.testing.assert_array_equal(kept, part)
