"""The shape of a population and priors learnt from the items, part by part and in fits."""

from dataclasses import replace
from math import exp
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize

import ogive as og
from ogive.irt.estimation.empirical_bayes import (
    Density,
    ShapeTest,
    _histogram,
    _Smoother,
    _softmax,
    _spline_basis,
    _with_common_priors,
    can_pool,
    covariance_of_moments,
)
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.base import Normal
from ogive.irt.models.logistic import OnePL, TwoPL
from ogive.irt.quadrature import HistogramPopulation, Nodes, NormalPopulation
from ogive.stats.array_backend import fold
from ogive.stats.newton import Anderson

POINTS = np.linspace(-6, 6, 49)


def cost(x, points=POINTS):
    """Of log-masses, from its definition: what is rough, and what does not bend as the normal."""
    step = points[1] - points[0]
    third = np.diff(x, 3) / step**3
    bend = np.diff(x, 2) / step**2 + 1  # that of the standard normal is -1
    strength = 0.2 * (1 + (points[1:-1] / 1.5) ** 4)
    constant = 0.5 * step * strength.sum()
    return step * (0.02 * third @ third + strength @ bend**2) / 2 - constant


def test_the_penalty_is_none_for_the_normal_and_that_of_its_definition_elsewhere():
    climb = _Smoother(POINTS, standard=True)
    for x in (-0.5 * POINTS**2, np.sin(POINTS) - 0.3 * POINTS**2, np.zeros(49)):
        assert climb.penalty(x) == pytest.approx(cost(x), rel=1e-9)
    lowest = cost(-0.5 * POINTS**2)
    assert cost(-0.45 * POINTS**2) > lowest
    assert Density.of(NormalPopulation(), standard=True).roughness == pytest.approx(lowest)


def test_log_masses_are_tilted_to_mean_zero_and_deviation_one():
    x = -0.5 * (POINTS - 0.8) ** 2 / 1.5 + 0.2 * np.sin(2 * POINTS)
    mass = _softmax(_Smoother(POINTS, standard=True).standardized(x))
    assert mass.sum() == pytest.approx(1.0)
    assert mass @ POINTS == pytest.approx(0.0, abs=1e-11)
    assert mass @ POINTS**2 == pytest.approx(1.0, abs=1e-11)
    tilt = np.log(mass) - x
    np.testing.assert_allclose(np.diff(tilt, 3), 0.0, atol=1e-9)  # by a line and a parabola alone
    assert _Smoother(POINTS, standard=False).standardized(x) is x


def test_the_best_shape_is_that_of_a_general_optimiser():
    points = np.linspace(-3, 3, 13)
    places = np.linspace(-3, 3, 31)
    basis = _spline_basis(points, places)
    seen = 40 * np.exp(-0.5 * (places + 0.7) ** 2) + 25 * np.exp(-3 * (places - 1.2) ** 2)
    climb = _Smoother(points, standard=False)

    def loss(x):
        height = basis @ x
        return -(seen @ height - seen.sum() * np.log(np.exp(height).sum()) - climb.penalty(x))

    found = climb.maximize(-0.5 * points**2, basis, seen)
    best = minimize(loss, -0.5 * points**2, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})
    assert loss(found) == pytest.approx(best.fun, abs=1e-5)
    np.testing.assert_allclose(_softmax(found), _softmax(best.x), atol=1e-4)
    held = _Smoother(points, standard=True)
    inside = held.maximize(-0.5 * points**2, basis, seen)
    mass = _softmax(inside)
    assert (mass @ points, mass @ points**2) == pytest.approx((0.0, 1.0), abs=1e-9)
    # No way that keeps mean and deviation leads higher.
    for seed in range(6):
        away = 0.02 * np.random.default_rng(seed).normal(size=13)
        assert loss(held.standardized(inside + away)) >= loss(inside) - 1e-6


def test_masses_sum_to_one_and_are_never_nothing():
    found = _histogram(POINTS, -50.0 * POINTS**2)
    assert found.mass.sum() == pytest.approx(1.0)
    assert found.mass.min() == pytest.approx(1e-250)
    x = np.sin(POINTS)
    np.testing.assert_allclose(_histogram(POINTS, x + 7).mass, np.exp(x) / np.exp(x).sum())


def test_a_histogram_grows_points_wherever_nodes_lie():
    density = Density.of(NormalPopulation(), standard=True)
    step = 12 / 48
    assert density.population.points.size == 49
    for low, high, size in ((-6.0, 6.0, 49), (-6.1, 6.0, 50), (-6.0, 6.0 + 2.5 * step, 52)):
        nodes = SimpleNamespace(fine=np.linspace(low, high, 61))
        wider = density._covering(nodes).population
        assert wider.points.size == size
        np.testing.assert_allclose(np.diff(wider.points), step)
        assert wider.points[0] <= low + 1e-9
        assert wider.points[-1] >= high - 1e-9
    assert density._covering(SimpleNamespace(fine=np.linspace(-5, 5, 9))) is density


def test_posterior_masses_of_a_normal_pool_ask_for_a_normal_shape():
    fine = np.linspace(-6, 6, 121)
    mass = np.exp(-0.5 * fine**2)
    nodes = Nodes(fine, fine, np.zeros(121))
    found = SimpleNamespace(mass=500 * mass / mass.sum())
    density = Density.of(NormalPopulation(), standard=True)
    after = density.fitted(nodes, found, Anderson()).population
    np.testing.assert_allclose(after.mass, density.population.mass, atol=1e-6)
    humps = np.exp(-4 * (fine - 0.87) ** 2) + np.exp(-4 * (fine + 0.87) ** 2)
    found = SimpleNamespace(mass=500 * humps / humps.sum())
    flat = density.fitted(nodes, found, Anderson()).population
    assert flat.mass[24] < 0.8 * flat.mass[[20, 28]].min()  # a dip in the middle
    assert (flat.mean, flat.sd) == pytest.approx((0.0, 1.0), abs=1e-9)


def test_the_covariance_of_mean_and_deviation_is_that_of_a_sample_where_abilities_are_seen():
    """Then the mean has variance s² / n, and the log deviation that of its influence."""
    points = np.linspace(-4, 4, 81)
    places = np.random.default_rng(0).integers(20, 61, 50)
    weights = np.random.default_rng(1).integers(1, 4, 50).astype(float)
    seen = np.eye(81)[places]
    data = SimpleNamespace(
        block=lambda rows: seen[rows],
        weights=weights,
        counted=lambda rows: weights[rows],
        n_respondents=weights.sum(),
        gather=lambda run, over, width: fold(run, [slice(0, 20), slice(20, 50)], over(data, run)),
    )

    class Seen:
        abilities = points

        def __call__(self, block):
            return block, None

    found = covariance_of_moments(data, lambda part: Seen(), SimpleNamespace(fine=points))
    x = np.stack([points[places], 0.5 * (points[places] ** 2 - 1)])
    n = weights.sum()
    np.testing.assert_allclose(found, np.cov(x, bias=True, fweights=weights.astype(int)) / n)


def test_a_shape_of_a_histogram_is_itself():
    mass = np.exp(-0.5 * POINTS**2) * (1.2 + np.tanh(POINTS))
    given = HistogramPopulation(POINTS, mass / mass.sum())
    kept = Density.of(given, standard=False).population
    assert (kept.mean, kept.sd) == pytest.approx((given.mean, given.sd), abs=1e-5)


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
    assert "(skewness 0.8, excess kurtosis -0.3; p = 0.005)" in at(0.005, 500.0).note
    assert "p < 0.001)" in at(0.00099, 500.0).advice
    assert "p = 0.001)" in at(0.0010001, 500.0).advice


@pytest.fixture(scope="module")
def few():
    responses, truth = og.simulate("2pl", 20, 150, random_state=1)
    return og.calibrate(responses, "2pl", progress=False), truth


def slopes(coords):
    return coords[:, 0] / coords[:, 0].mean()  # their unit depends on the respondents drawn


def test_pooled_items_lie_nearer_to_the_truth(few):
    cal, truth = few
    true = slopes(truth.model.from_parameters(truth.items))
    alone, pooled = (
        np.mean((slopes(coords) - true) ** 2)
        for coords in (cal.coords, cal.uncertainty.pooled.coords)
    )
    assert pooled < 0.5 * alone


def test_they_lie_as_far_apart_as_the_items_do(few):
    cal, truth = few
    pooled, true = cal.uncertainty.pooled, slopes(truth.model.from_parameters(truth.items))
    own = pooled.covariances - np.einsum("kni,knj->nij", pooled.shared, pooled.shared)
    unit = pooled.coords[:, 0].mean()
    spread = np.sqrt(np.var(pooled.coords[:, 0]) + own[:, 0, 0].mean()) / unit
    assert spread == pytest.approx(true.std(), rel=0.25)
    assert slopes(cal.coords).std() > 1.5 * true.std()  # what they are pooled for


def test_reported_items_stay_as_they_are(few):
    cal, _ = few
    assert not np.allclose(cal.uncertainty.pooled.coords, cal.coords)
    np.testing.assert_array_equal(
        cal.items["discrimination"], cal.model.parameters(cal.coords)["discrimination"]
    )


def test_many_respondents_need_no_pooling():
    cal = og.calibrate(og.simulate("2pl", 200, 12, random_state=0).responses, "2pl")
    assert cal.uncertainty.pooled is None


def test_few_items_have_too_little_in_common():
    cal = og.calibrate(og.simulate("2pl", 50, 5, random_state=0).responses, "2pl")
    assert cal.uncertainty.pooled is None


def test_degenerate_tables_have_finite_errors(subtests):
    random = np.random.default_rng(0)
    guttman = (np.arange(20)[:, None] > np.arange(20)).astype(float)
    constant = np.concatenate([np.ones((8, 6)), np.zeros((8, 6))], axis=1)
    for name, values in {
        "noise": (random.random((12, 40)) < 0.5).astype(float),
        "guttman": guttman,
        "constant": constant,
        "two respondents": random.integers(0, 2, (2, 30)).astype(float),
    }.items():
        with subtests.test(table=name):
            scored = og.calibrate(values, "2pl", progress=False).abilities()
            assert np.isfinite(scored[["ability", "se"]]).all(axis=None)
            assert (scored["se"] < 20).all()


def test_beta_items_are_not_pooled_and_their_errors_widen():
    """Curves that tell the unit would let a common prior tell it, too."""
    responses = og.simulate("beta", 16, 12, random_state=0).responses.values.copy()
    responses[:4, 0] = np.nan
    cal = og.calibrate(responses, "beta", progress=False)
    pooled, errors = cal.uncertainty.pooled, cal.uncertainty
    np.testing.assert_array_equal(pooled.coords, cal.coords)
    alone = np.array([12 / 8] + [16 / 12] * 11) ** 2
    common = np.einsum("kni,knj->nij", errors.shared, errors.shared)
    wanted = (errors.covariances - common) * alone[:, None, None] + common * (16 / 12) ** 4
    np.testing.assert_allclose(pooled.covariances, wanted)
    np.testing.assert_allclose(pooled.shared, errors.shared * (16 / 12) ** 2)


def test_common_priors_are_those_of_the_items_without_what_they_share():
    model = TwoPL()
    coords = np.array([[1.0, 0.3], [2.0, -0.5], [4.0, 1.0]])
    noise, shared = np.array([0.5, 1.0, 0.25]), 0.1 * np.ones((1, 3, 2))
    errors = KnownCovariances(noise[:, None, None] * np.eye(2) + 0.01, shared)
    for k, coordinate in enumerate(
        _with_common_priors(model, coords, errors, learnt=False).coordinates
    ):
        mean = np.average(coords[:, k], weights=1 / noise)
        beyond = np.average((coords[:, k] - mean) ** 2 - noise, weights=1 / noise)
        square = max(beyond, 0.05 * coords[:, k].var())  # of intercepts, all may be noise
        assert (coordinate.prior.mean, coordinate.prior.sd) == pytest.approx((mean, square**0.5))
    learnt = model.with_coordinates(
        tuple(replace(c, prior=Normal(0, 0.8)) for c in model.coordinates)
    )
    again = _with_common_priors(learnt, coords, errors, learnt=True).coordinates[0].prior
    slopes = coords[:, 0]
    square = ((slopes - slopes.mean()) ** 2 + [0.5, 0.64, 0.25]).mean()
    assert (again.mean, again.sd) == pytest.approx((slopes.mean(), square**0.5))
    alike = _with_common_priors(model, np.ones((3, 2)), errors, learnt=False)
    assert alike.coordinates[0].prior.sd == 0.05


def test_pooling_is_for_few_respondents_and_ten_items(subtests):
    for n, m, wanted in ((149, 10, True), (150, 10, False), (149, 9, False)):
        with subtests.test(n=n, m=m):
            data = SimpleNamespace(n_respondents=float(n), shape=(n, m))
            task = SimpleNamespace(data=data, fixed_items=None, model=TwoPL())
            assert can_pool(task) == wanted
    shared = SimpleNamespace(data=data, fixed_items=None, model=OnePL())
    assert not can_pool(shared)


def test_a_coordinate_of_which_no_item_tells_anything_keeps_its_prior():
    cells = np.zeros((3, 90))
    cells[2] = np.repeat([1, 2, 3, 4], [7, 15, 29, 39])
    found = og.calibrate(og.Responses(cells, kind="nominal"), "nominal", priors=None)
    assert np.isfinite(found.abilities().to_numpy(float)).all()
    assert any("leave a parameter undetermined" in note for note in found.notes)
