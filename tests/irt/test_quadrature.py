"""Populations, nodes, posteriors and sufficient scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from scipy.stats import norm

from ogive import simulate
from ogive.errors import InputError
from ogive.irt import abilities
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import (
    MOST_COARSE_NODES,
    STEEPEST_STEP,
    WIDEST_STEP,
    HistogramPopulation,
    LinearCurves,
    NormalPopulation,
    ScoreGrid,
    cubic_weights,
    interpolation_matrix,
    likelihood_on_nodes,
    normalised,
    plan,
    plan_nodes,
    scale_scores,
)

POINTS = np.linspace(-6, 6, 61)
FINE = np.linspace(-12, 12, 24_001)


def histogram(density, points=POINTS):
    mass = density(points)
    return HistogramPopulation(points, mass / mass.sum())


def two_humps(x):
    return 0.35 * norm.pdf(x, -1.6, 0.7) + 0.65 * norm.pdf(x, 0.8, 0.9)


POPULATIONS = {
    "standard": NormalPopulation(),
    "normal": NormalPopulation(0.7, 1.8),
    "histogram": histogram(two_humps),
    "skewed": histogram(lambda x: norm.pdf(x) * norm.cdf(2 * x + 1)),
}


@pytest.fixture(params=POPULATIONS.values(), ids=POPULATIONS)
def population(request):
    return request.param


def test_the_density_integrates_to_one_with_the_mean_and_deviation_that_are_said(population):
    density = np.exp(population.log_density(FINE))
    # Masses at points a fifth apart sum such shapes to 1e-5.
    assert np.trapezoid(density, FINE) == pytest.approx(1.0, abs=1e-5)
    mean = np.trapezoid(density * FINE, FINE)
    assert mean == pytest.approx(population.mean, abs=1e-5)
    spread = np.trapezoid(density * (FINE - mean) ** 2, FINE)
    assert np.sqrt(spread) == pytest.approx(population.sd, abs=1e-5)


def test_slope_and_curvature_agree_with_differences(population):
    x, nudge = np.linspace(-9.03, 9.03, 75), 1e-5  # inside and beyond the points of a histogram
    first = (population.log_density(x + nudge) - population.log_density(x - nudge)) / (2 * nudge)
    second = (population.slope(x + nudge) - population.slope(x - nudge)) / (2 * nudge)
    np.testing.assert_allclose(population.slope(x), first, rtol=1e-6, atol=1e-8)
    # A cubic spline bends evenly between points, which differences across one do not see.
    np.testing.assert_allclose(population.curvature(x), -second, rtol=1e-5, atol=1e-4)


def test_the_ends_of_the_scale_are_so_many_deviations_away(population):
    for deviations in (1.0, 6.0, 10.0):
        low, high = population.reach(deviations)
        assert (low + high) / 2 == pytest.approx(population.mean)
        assert (high - low) / 2 == pytest.approx(deviations * population.sd)
    assert population.reach() == population.reach(6.0)


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("name", POPULATIONS)
@given(shift=st.floats(-3, 3), scale=st.one_of(st.floats(-4, -0.2), st.floats(0.2, 4)))
def test_a_moved_population_is_that_of_the_moved_abilities(name, shift, scale):
    population = POPULATIONS[name]
    moved = population.moved(shift, scale)
    x = np.linspace(-8, 8, 41)
    expected = population.log_density(x) + np.log(abs(scale))
    np.testing.assert_allclose(
        moved.log_density((x - shift) / scale), expected, rtol=1e-9, atol=1e-9
    )
    assert moved.mean == pytest.approx((population.mean - shift) / scale, abs=1e-12)
    assert moved.sd == pytest.approx(population.sd / abs(scale))


def test_scores_of_origin_and_unit_agree_with_differences(population):
    """Of log p((x - mean - o sd) / exp(u) + mean) - u, at o = u = 0."""
    x, nudge = np.linspace(-5.03, 5.03, 41), 1e-4

    def log_density(origin, unit):
        apart = (x - population.mean - origin * population.sd) / np.exp(unit)
        return population.log_density(apart + population.mean) - unit

    scores, curvature = scale_scores(population, x)
    here, h = log_density(0, 0), nudge
    by_origin, by_unit = (
        (log_density(a, b) - log_density(-a, -b)) / (2 * h) for a, b in ((h, 0), (0, h))
    )
    np.testing.assert_allclose(scores, np.stack([by_origin, by_unit], axis=1), atol=1e-5)
    twice = [
        (log_density(a, b) - 2 * here + log_density(-a, -b)) / h**2 for a, b in ((h, 0), (0, h))
    ]
    both = (log_density(h, h) - log_density(h, -h) - log_density(-h, h) + log_density(-h, -h)) / (
        4 * h**2
    )
    expected = -np.stack([twice[0], both, twice[1]], axis=1)
    # Across a knot of the spline, whose third derivative jumps, differences of 1e-4 miss as much.
    np.testing.assert_allclose(curvature, expected, rtol=1e-3, atol=2e-2)


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.6, 0.8)])
def test_a_histogram_of_a_normal_shape_is_the_normal_population(mean, sd):
    points = mean + sd * POINTS
    found = histogram(lambda x: norm.pdf(x, mean, sd), points)
    plain = NormalPopulation(mean, sd)
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.sd == pytest.approx(sd, rel=1e-6)  # six deviations hold the rest
    x = mean + sd * np.linspace(-4, 4, 81)
    # The spline is straight at its ends; twenty points inside, nothing of that is left.
    np.testing.assert_allclose(found.log_density(x), plain.log_density(x), atol=1e-7)
    np.testing.assert_allclose(found.slope(x), plain.slope(x), atol=1e-5)
    np.testing.assert_allclose(found.curvature(x), plain.curvature(x), atol=1e-3)


def test_a_histogram_keeps_its_masses_at_its_points():
    found = POPULATIONS["histogram"]
    np.testing.assert_allclose(np.exp(found.log_density(POINTS)) * 0.2, found.mass, rtol=1e-12)
    assert found.mean == pytest.approx(found.mass @ POINTS)
    assert found.sd == pytest.approx(np.sqrt(found.mass @ (POINTS - found.mean) ** 2))


def test_beyond_its_points_a_histogram_falls_as_a_normal_density():
    found = POPULATIONS["histogram"]
    for end, sign in ((6.0, 1.0), (-6.0, -1.0)):
        beyond = sign * np.array([0.0, 0.5, 2.0, 50.0])
        value, slope = found.log_density(np.array([end]))[0], found.slope(np.array([end]))[0]
        expected = value + slope * beyond - 0.5 * (beyond / found.sd) ** 2
        np.testing.assert_allclose(found.log_density(end + beyond), expected, rtol=1e-12)


def uneven():
    points = POINTS.copy()
    points[30] += 0.05
    return points


def test_points_that_are_no_even_ladder_are_refused(subtests):
    for case, points in {
        "few": POINTS[:7],
        "descending": POINTS[::-1],
        "equal": np.zeros(61),
        "uneven": uneven(),
        "nan": np.full(61, np.nan),
        "flat table": POINTS.reshape(1, -1),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=r"at least 8 ascending, equally spaced points"),
        ):
            HistogramPopulation(points, np.full(points.size, 1 / points.size).reshape(points.shape))


def test_masses_must_be_positive_and_sum_to_one(subtests):
    for case, mass in {
        "sum": np.full(61, 1 / 60),
        "size": np.full(60, 1 / 60),
        "zero": np.r_[0.0, np.full(60, 1 / 60)],
        "negative": np.r_[-1 / 59, np.full(60, 1 / 59)],
        "nan": np.full(61, np.nan),
    }.items():
        with (
            subtests.test(case),
            pytest.raises(InputError, match=r"positive mass at each point; they sum to 1"),
        ):
            HistogramPopulation(POINTS, mass)


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
    assert few.fine.size < 1.5 * many.coarse.size < many.fine.size


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


def test_nodes_are_as_many_as_the_narrowest_bell_and_the_steepest_curve_need(subtests):
    """Of twelve units: at least 60 steps, else 1.1 of the bell or 1.2 of log-odds each."""
    cases = {
        (1.0, 1.0, 1.0): (61, None),
        (0.1, 1.0, 1.0): (111, None),  # 12 / 0.11 is 109.1
        (1.0, 11.25, 1.0): (114, None),  # 112.5 steps of 1.2 log-odds
        (0.061, 1.0, 1.0): (180, None),  # 178.8 steps: just fewer than 1.5 of 120
        (0.0605, 1.0, 1.0): (241, 121),  # 180.3 steps: two for each of 120
        (0.02, 1.0, 1.0): (601, 121),
        (0.02, 8.0, 1.0): (577, 193),  # 12 · 8 / 0.5 coarse steps, three fine ones each
        (0.02, 500.0, 1.0): (5121, 321),  # 5,000 steps: 16 for each of 320
        (1e-6, 1.0, 1.0): (10081, 121),  # no more than 10,000 but for whole parts
        (1.0, 1.0, 4.0): (16, None),
        (0.1, 1.0, 2.0): (56, None),
    }
    for (narrowest, steepest, coarsening), (fine, coarse) in cases.items():
        with subtests.test(narrowest=narrowest, steepest=steepest, coarsening=coarsening):
            nodes = normal_nodes(narrowest, steepest=steepest, coarsening=coarsening)
            assert nodes.fine.size == fine
            assert (nodes.coarse.size if coarse else nodes.interpolation) == coarse
            step = 12 / (fine - 1)
            assert nodes.step == pytest.approx(step)
            np.testing.assert_allclose(nodes.log_weights, norm.logpdf(nodes.fine) + np.log(step))


def test_nodes_for_items_follow_from_what_they_tell():
    model = TwoPL()
    coords = model.from_parameters(
        {"discrimination": np.array([3.0, 2.0, 1.0]), "difficulty": np.array([0.0, 0.1, 0.2])}
    )
    population = NormalPopulation(0.5, 2.0)
    found = plan_nodes(model, coords, population, coarsening=0.5)
    probe = np.linspace(-11.5, 12.5, 121)
    told = model.information(coords, probe)
    narrowest = 1 / np.sqrt(0.25 + model.surprise * told.sum(axis=0).max())
    wanted = plan(narrowest, -11.5, 12.5, population.log_density, 2 * np.sqrt(told.max()), 0.5)
    np.testing.assert_array_equal(found.fine, wanted.fine)
    near = plan_nodes(model, coords, population, (-1.0, 1.0))
    assert (near.fine[0], near.fine[-1]) == (-1.0, 1.0)


def test_eight_points_are_a_histogram_and_masses_may_miss_one_by_rounding():
    points = np.linspace(0, 7, 8)
    mass = np.full(8, 0.125)
    assert HistogramPopulation(points, mass).mean == pytest.approx(3.5)
    assert HistogramPopulation(points, mass * (1 + 5e-7)).sd == pytest.approx(
        np.sqrt(5.25), rel=1e-5
    )
    with pytest.raises(InputError, match="sum to 1"):
        HistogramPopulation(points, mass * (1 + 2e-6))
    nearly = points + np.where(np.arange(8) == 4, 2e-7, 0.0)
    assert HistogramPopulation(nearly, mass).mean == pytest.approx(3.5)
    with pytest.raises(InputError, match="equally spaced"):
        HistogramPopulation(points + np.where(np.arange(8) == 4, 1e-6, 0.0), mass)


def test_rows_of_logarithms_become_weights_and_the_logarithm_of_their_sum():
    rows = np.array([[0.0, 1.0, -2.0], [-1000.0, -1001.0, -np.inf]])
    weights, total = normalised(rows.copy())
    plain = np.exp(rows - rows.max(axis=1, keepdims=True))
    np.testing.assert_allclose(weights, plain / plain.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(total, rows.max(axis=1) + np.log(plain.sum(axis=1)))


@pytest.mark.parametrize("n_items", [3, 300])
def test_likelihoods_on_nodes_are_sums_over_the_responses(n_items, plain):
    """With 300 steep items they are interpolated, and exact wherever they count."""
    random = np.random.default_rng(0)
    model = TwoPL()
    coords = model.from_parameters(
        {"discrimination": random.uniform(1, 3, n_items), "difficulty": random.normal(size=n_items)}
    )
    cells = random.integers(0, 2, (4, n_items)).astype(np.int8)
    data = encode(cells, model, collapsing=False)
    nodes, found = likelihood_on_nodes(data, model, coords, NormalPopulation())
    wanted = plain.log_joint(coords, cells.astype(float), nodes)
    counts = wanted > wanted.max(axis=1, keepdims=True) - 40
    np.testing.assert_allclose(found[counts], wanted[counts], atol=1e-4)
    assert np.ptp(np.diff(nodes)) < 1e-9
    assert nodes.size > (120 if n_items == 3 else 300)


def test_cubic_weights_reproduce_cubics():
    u = np.array([0.0, 0.2, 0.5, 0.99])
    weights = np.stack(cubic_weights(u))
    for degree in range(4):
        values = np.array([-1.0, 0.0, 1.0, 2.0]) ** degree
        np.testing.assert_allclose(values @ weights, u**degree, atol=1e-12)


def test_the_grid_reaches_beyond_every_score():
    slopes = np.array([1.5, -0.5, 2.0, -3.0])
    grid = ScoreGrid.of(slopes)
    points = grid.points(slopes)
    for score in (-3.5, 3.5, 0.0):  # all that lowers, all that raises, nothing
        near = grid.near(np.array([score]))[0][:, 0]
        assert min(near) >= 0
        assert max(near) < grid.size
        assert points[near[1]] <= score < points[near[2]]


def test_the_posterior_of_a_score_is_that_of_the_responses():
    drawn = simulate("2pl", 50, 8, random_state=0)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    data = encode(drawn.responses.cells, model, collapsing=False)
    nodes = plan_nodes(model, coords)
    rights = data.rights(slice(None))
    found, value = LinearCurves.at(coords, nodes).posterior(rights @ coords[:, 0])
    rise = 1 / (1 + np.exp(-(coords[:, :1] * nodes.fine + coords[:, 1:2])))
    right = drawn.responses.cells[:, :, None] == 1
    joint = np.where(right, rise, 1 - rise).prod(axis=1) * np.exp(nodes.log_weights)
    np.testing.assert_allclose(found, joint / joint.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(value + rights @ coords[:, 1], np.log(joint.sum(axis=1)))


def test_many_rows_are_scored_as_few_are(monkeypatch, subtests):
    drawn = simulate("2pl", 3_000, 12, random_state=1)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    data = encode(drawn.responses.cells, model, collapsing=False)
    plain = [
        score_abilities(data.of_rows(np.arange(k, k + 500)), model, coords) for k in (0, 2_500)
    ]
    for pays in (True, False):
        with subtests.test("by table" if pays else "by row"):
            monkeypatch.setattr(ScoreGrid, "pays", lambda *_, pays=pays: pays)
            monkeypatch.setattr(abilities, "MOST_SEEN", 0)
            found = score_abilities(data, model, coords)
            for first, part in zip((0, 2_500), plain, strict=True):
                rows = slice(first, first + 500)
                np.testing.assert_allclose(found.ability[rows], part.ability, atol=1e-7)
                np.testing.assert_allclose(found.se[rows], part.se, atol=1e-7)


def test_far_rows_of_other_models_are_looked_at_again(monkeypatch):
    drawn = simulate("3pl", 60, 300, random_state=2)
    model = drawn.truth.model
    coords = model.from_parameters(drawn.truth.items)
    cells = drawn.responses.cells.copy()
    cells[0], cells[1], cells[2, 150:] = 1, 0, -1
    data = encode(cells, model, collapsing=False)
    population = NormalPopulation(0.0, 0.5)  # its nodes end nearer than the best and the worst
    kept = score_abilities(data, model, coords, population)
    monkeypatch.setattr(abilities, "MOST_SEEN", 0)
    found = score_abilities(data, model, coords, population)
    np.testing.assert_allclose(found.ability, kept.ability, atol=1e-6)
    np.testing.assert_allclose(found.se, kept.se, atol=1e-6)
    np.testing.assert_array_equal(found.at_bound, kept.at_bound)
