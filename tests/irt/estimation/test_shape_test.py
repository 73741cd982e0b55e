"""The test of a normal shape by hand."""

from math import exp
from types import SimpleNamespace

import numpy as np
import pytest

from ogive.irt.estimation.empirical_bayes import ShapeTest


def test_skewness_and_kurtosis_are_those_of_the_mass_in_units_of_what_is_known():
    points, mass = np.array([-2.0, -1.0, 0.0, 1.0, 3.0]), np.array([10.0, 30.0, 30.0, 20.0, 10.0])
    nodes = SimpleNamespace(fine=points)
    found = ShapeTest.of(nodes, SimpleNamespace(mass=mass, scale=np.diag([80.0, 1.0])))
    third = mass @ (points**3 - 3 * points) / 100
    fourth = mass @ (points**4 - 6 * points**2 + 3) / 100
    assert found.n_respondents == 100
    assert found.skewness == pytest.approx(third / 0.8**3)
    assert found.kurtosis == pytest.approx(fourth / 0.8**4)
    wanted = 100 * third**2 / (6 * 0.8**3) + 100 * fourth**2 / (24 * 0.8**4)
    assert found.statistic == pytest.approx(wanted)
    assert found.worth == pytest.approx(wanted / 2)  # at a hundred respondents, half
    assert found.p_value == pytest.approx(exp(-wanted / 4))
    vague = ShapeTest.of(nodes, SimpleNamespace(mass=mass, scale=np.diag([1e-9, 1.0])))
    assert vague.skewness == pytest.approx(third / 1e-9)
    sure = ShapeTest.of(nodes, SimpleNamespace(mass=mass, scale=np.diag([500.0, 1.0])))
    assert sure.skewness == pytest.approx(third)


def at(p, n):
    worth = -2 * np.log(p)
    return ShapeTest(0.84, -0.26, worth * (1 + (100 / n) ** 2), n)


def test_one_in_a_hundred_refutes_and_advice_needs_two_hundred_respondents():
    assert at(0.0099, 500.0).refutes
    assert not at(0.0101, 500.0).refutes
    assert at(0.0099, 200.0).advice
    assert not at(0.0099, 199.0).advice
    assert not at(0.0101, 500.0).advice
    assert "(skewness 0.8, excess kurtosis -0.3; p = 0.005)" in at(0.005, 500.0).said
    assert "p < 0.001)" in at(0.00099, 500.0).advice
    assert "p = 0.001)" in at(0.0010001, 500.0).advice
