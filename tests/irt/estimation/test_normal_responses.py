"""The E-step of normal responses: moments, and what they say of the scale."""

import numpy as np

from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import e_step as normal_responses
from ogive.irt.estimation.e_step import _scale_information, with_moments
from ogive.irt.models.continuous import Continuous


def test_information_on_the_scale_is_that_of_louis_where_it_is_positive():
    """Of a normal posterior: 1 - v, 2 m (1 - v), and 2 (m² + v) less the variance of θ²."""
    n, left, mean = 40.0, 0.3, 0.4
    square = 0.7
    found = _scale_information(n, left, mean, square)
    unit = 2 * (square + left) - (4 * left * square + 2 * left**2)
    np.testing.assert_allclose(found, 40 * np.array([[0.7, 0.56], [0.56, unit]]))


def test_elsewhere_it_is_what_the_maximum_would_have():
    for given in ((10.0, 0.5, 3.0, 0.1), (10.0, 0.9, 0.0, 3.0)):
        n, left, _, _ = given
        wanted = n * np.diag([1 - left, 2 * (1 - left) ** 2]) + 1e-9 * n * np.eye(2)
        np.testing.assert_allclose(_scale_information(*given), wanted)


def test_moments_are_those_of_numpy_weighted_or_not(monkeypatch):
    random = np.random.default_rng(0)
    values = 1 / (1 + np.exp(-random.normal(3.0, 0.5, (30, 4))))
    model = Continuous(bounds=(0, 1))
    model = model.fitted_to(values, list("abcd"))
    z = np.log(values / (1 - values))
    plain = with_moments(encode(values, model), map)
    np.testing.assert_allclose(plain.moments[0], z.mean(axis=0))
    np.testing.assert_allclose(plain.moments[1], np.cov(z.T, bias=True))
    weights = random.integers(1, 4, 30).astype(float)
    heavy = with_moments(encode(values, model, weights), map)
    np.testing.assert_allclose(heavy.moments[0], np.average(z, axis=0, weights=weights))
    np.testing.assert_allclose(
        heavy.moments[1], np.cov(z.T, bias=True, fweights=weights.astype(int))
    )
    holed = values.copy()
    holed[3, 1] = np.nan
    assert with_moments(encode(holed, model), map).moments is None
    monkeypatch.setattr(normal_responses, "MOST_ITEMS", 3)
    assert with_moments(encode(values, model), map).moments is None
    monkeypatch.setattr(normal_responses, "MOST_ITEMS", 4)
    assert with_moments(encode(values, model), map).moments is not None
