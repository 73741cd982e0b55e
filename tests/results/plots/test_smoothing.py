"""Smoothing: what is its own in each display."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.results.plots.marks import smoothed


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=60), st.floats(0.1, 1.0))
def test_a_density_with_its_tails_has_the_area_one(values, narrowest):
    at, density, se = smoothed(np.array(values), narrowest, tails=4.0)
    assert np.trapezoid(density, at) == pytest.approx(1.0, abs=0.005)
    assert (se >= 0).all()


def test_the_standard_error_is_how_far_densities_of_new_samples_stray():
    rng = np.random.default_rng(0)
    heights, errors = [], []
    for _ in range(300):
        at, density, se = smoothed(rng.normal(size=400), 0.3, tails=3.0)
        heights.append(np.interp(0.5, at, density))
        errors.append(np.interp(0.5, at, se))
    assert np.mean(errors) == pytest.approx(np.std(heights), rel=0.15)
