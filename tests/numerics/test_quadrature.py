import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from itemwise.numerics.quadrature import (
    MOST_COARSE_NODES,
    MOST_PLAIN_NODES,
    STEEPEST_STEP,
    WIDEST_STEP,
    interpolation_matrix,
    plan,
)


def normal_nodes(narrowest, low=-6.0, high=6.0, mean=0.0, sd=1.0, **kw):
    """Nodes for a normal population."""
    return plan(narrowest, low, high, norm(mean, sd).logpdf, **kw)


def test_nodes_integrate_the_moments_of_a_normal_population():
    nodes = normal_nodes(narrowest=1.0)
    weights = np.exp(nodes.log_weights)
    moments = [weights @ nodes.fine**k for k in range(5)]
    np.testing.assert_allclose(moments, [1, 0, 1, 0, 3], atol=1e-5)  # 6 deviations hold the rest


def test_nodes_follow_the_mean_and_deviation_of_the_population():
    nodes = normal_nodes(0.5, low=-16.0, high=20.0, mean=2.0, sd=3.0)
    weights = np.exp(nodes.log_weights)
    assert weights.sum() == pytest.approx(1.0, abs=1e-8)
    assert weights @ nodes.fine == pytest.approx(2.0, abs=1e-6)
    assert weights @ (nodes.fine - 2.0) ** 2 == pytest.approx(9.0, abs=1e-5)


@pytest.mark.parametrize("narrowest", [1.0, 0.3, 0.1, 0.03, 0.01, 0.002])
def test_steps_are_never_wider_than_the_narrowest_bell_allows(narrowest):
    assert normal_nodes(narrowest).step <= WIDEST_STEP * narrowest


@pytest.mark.parametrize("narrowest", [0.3, 0.1, 0.03, 0.01])
@given(centre=st.floats(-3, 3))
def test_a_narrow_bell_is_integrated_to_a_millionth_wherever_it_stands(narrowest, centre):
    nodes = normal_nodes(narrowest)
    bell = np.exp(-0.5 * ((nodes.fine - centre) / narrowest) ** 2)
    area = bell.sum() * nodes.step / (np.sqrt(2 * np.pi) * narrowest)
    assert area == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("steepest", [0.1, 1.0, 5.0, 12.0, 20.0])
def test_steps_are_never_wider_than_the_steepest_curve_allows(steepest):
    assert normal_nodes(1.0, steepest=steepest).step <= STEEPEST_STEP / steepest


@pytest.mark.parametrize("steepest", [5.0, 20.0])
@pytest.mark.parametrize("place", [-1.0, 0.0123, 0.77])
def test_a_steep_curve_is_integrated_wherever_it_stands(steepest, place):
    """The chance to be right of a normal population; smooth nodes alone would miss the step."""
    nodes = normal_nodes(1.0, steepest=steepest)
    found = np.exp(nodes.log_weights) @ expit(steepest * (nodes.fine - place))
    fine = np.linspace(-8, 8, 160_001)
    expected = np.trapezoid(norm.pdf(fine) * expit(steepest * (fine - place)), fine)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("narrowest", [0.05, 0.02])
def test_steep_curves_get_more_coarse_nodes_up_to_a_limit(narrowest):
    sizes = [normal_nodes(narrowest, steepest=s).coarse.size for s in (1.0, 8.0, 20.0, 500.0)]
    assert sizes == sorted(sizes)
    assert sizes[-1] <= MOST_COARSE_NODES


def test_few_nodes_need_no_interpolation_and_many_do():
    few, many = normal_nodes(0.1), normal_nodes(0.02)
    assert few.interpolation is None
    assert few.coarse is few.fine
    assert many.interpolation.shape == (many.coarse.size, many.fine.size)
    assert many.coarse.size < MOST_PLAIN_NODES < many.fine.size


@pytest.mark.parametrize("narrowest", [1.0, 0.1, 0.02])
@pytest.mark.parametrize("coarsening", [1.5, 2.0, 4.0])
def test_coarser_nodes_are_fewer_and_still_integrate_the_population(narrowest, coarsening):
    fine, coarse = normal_nodes(narrowest), normal_nodes(narrowest, coarsening=coarsening)
    assert coarse.fine.size < fine.fine.size
    assert coarse.step <= coarsening * WIDEST_STEP * narrowest
    assert np.exp(coarse.log_weights).sum() == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("narrowest", [0.5, 0.02])
def test_nodes_carry_the_density_of_any_population(narrowest):
    two = [norm(-1.5, 0.6), norm(1.0, 0.8)]

    def log_density(x):
        return np.log(0.3 * two[0].pdf(x) + 0.7 * two[1].pdf(x))

    nodes = plan(narrowest, -8.0, 8.0, log_density)
    weights = np.exp(nodes.log_weights)
    assert weights.sum() == pytest.approx(1.0, abs=1e-6)
    assert weights @ nodes.fine == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("narrowest", [1.0, 0.1, 0.01])
def test_nodes_reach_from_end_to_end(narrowest):
    nodes = normal_nodes(narrowest, -3.0, 7.0)
    for points in (nodes.coarse, nodes.fine):
        assert (points[0], points[-1]) == (-3.0, 7.0)
        np.testing.assert_allclose(np.diff(points), points[1] - points[0], rtol=1e-9)


@pytest.mark.parametrize("degree", range(8))
def test_interpolation_reproduces_polynomials_up_to_degree_seven(degree):
    coarse = np.linspace(-2, 2, 21)
    fine = np.linspace(-2, 2, 157)
    found = coarse**degree @ interpolation_matrix(coarse, fine)
    np.testing.assert_allclose(found, fine**degree, atol=1e-11)


def test_interpolation_does_not_reproduce_degree_eight():
    coarse, fine = np.linspace(-2, 2, 21), np.linspace(-2, 2, 157)
    error = np.abs(coarse**8 @ interpolation_matrix(coarse, fine) - fine**8).max()
    assert 1e-8 < error < 1e-2


def test_interpolation_keeps_the_values_at_the_coarse_points():
    coarse = np.linspace(-6, 6, 121)
    np.testing.assert_allclose(interpolation_matrix(coarse, coarse), np.eye(121), atol=1e-11)


def test_the_adjoint_of_interpolation_keeps_sums_and_means():
    coarse, fine = np.linspace(-6, 6, 121), np.linspace(-6, 6, 961)
    matrix = interpolation_matrix(coarse, fine)
    mass = np.exp(-0.5 * ((fine - 0.37) / 0.05) ** 2)
    carried = matrix @ mass
    assert carried.sum() == pytest.approx(mass.sum(), rel=1e-12)
    assert carried @ coarse == pytest.approx(mass @ fine, rel=1e-12)
    assert carried @ np.exp(coarse) == pytest.approx(mass @ np.exp(fine), rel=1e-9)
