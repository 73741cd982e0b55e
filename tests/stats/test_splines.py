"""Splines against dense matrices, R's mgcv, and what they must not depend on."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize_scalar

from ogive.errors import InputError
from ogive.stats.splines import SMOOTHINGS, _correlation, _penalty, fit_splines

RANDOM = np.random.default_rng(4)
PLACES = np.sort(RANDOM.uniform(-2, 2, 90))
SERIES = np.column_stack(
    [
        np.sin(2 * PLACES) + RANDOM.normal(0, 0.3, 90),
        PLACES + RANDOM.normal(0, 0.2, 90),
        RANDOM.normal(0, 1, 90),
    ]
)


class Dense:
    """The same curve from its definition: full matrices, no rotation, integrals by quadrature."""

    def __init__(self, places, series, knots=None, n_knots=10):
        self.n = len(places)
        own = np.quantile(np.unique(places), np.linspace(0, 1, n_knots))
        self.knots = own if knots is None else knots
        through = CubicSpline(self.knots, np.eye(n_knots), bc_type="natural")
        self.basis, self.series = through(places), series
        bend = through.derivative(2)
        penalty = np.zeros((n_knots, n_knots))
        for left, right in pairwise(self.knots):
            # Products of second derivatives are quadratic between knots: Simpson's rule is exact.
            ends = [bend(left), bend((left + right) / 2), bend(right)]
            for values, weight in zip(ends, (1, 4, 1), strict=True):
                penalty += weight * (right - left) / 6 * np.outer(values, values)
        sizes, directions = np.linalg.eigh(penalty)
        sizes[:2] = 0.1 * sizes[2]
        self.penalty = directions @ np.diag(sizes) @ directions.T
        # Values at the knots, of which the mean curve is 0, beside a free level.
        null = np.linalg.svd(self.basis.sum(axis=0)[None])[2][1:].T
        self.design = np.column_stack([np.ones(self.n), self.basis @ null])
        self.form = np.zeros((n_knots, n_knots))
        self.form[1:, 1:] = null.T @ self.penalty @ null

    def curve(self, strength):
        lhs = self.design.T @ self.design + np.exp(strength) * self.form
        return self.design @ np.linalg.solve(lhs, self.design.T @ self.series)

    def error(self, strength):
        """Of the curve, as the posterior of a mixed model has it (Wood, 2017, section 4.2.4)."""
        lhs = self.design.T @ self.design + np.exp(strength) * self.form
        inverse = np.linalg.inv(lhs)
        freedom = np.trace(inverse @ self.design.T @ self.design)
        left = self.series - self.curve(strength)
        variance = left @ left / (self.n - freedom)
        return np.sqrt(variance * np.einsum("ij,jk,ik->i", self.design, inverse, self.design))

    def restricted(self, strength):
        """Twice the negative restricted log-likelihood: the marginal one of a mixed model."""
        part = self.form[1:, 1:]
        random = self.design[:, 1:] @ np.linalg.solve(part, self.design[:, 1:].T)
        covariance = np.eye(self.n) + random / np.exp(strength)
        one = np.ones(self.n)
        inverse = np.linalg.inv(covariance)
        level = (one @ inverse @ self.series) / (one @ inverse @ one)
        around = self.series - level
        left = around @ inverse @ around
        log_det = np.linalg.slogdet(covariance)[1] + np.log(one @ inverse @ one)
        return log_det + (self.n - 1) * np.log(left)

    def generalised(self, strength):
        lhs = self.design.T @ self.design + np.exp(strength) * self.form
        hat = self.design @ np.linalg.solve(lhs, self.design.T)
        left = self.series - hat @ self.series
        return self.n * (left @ left) / (self.n - np.trace(hat)) ** 2

    def best(self, criterion):
        grid = np.arange(-15.0, 25.0, 0.5)
        start = grid[np.argmin([criterion(x) for x in grid])]
        found = minimize_scalar(
            criterion, bounds=(start - 1, start + 1), method="bounded", options={"xatol": 1e-9}
        )
        return found.x


def test_the_curve_is_that_of_dense_matrices_at_the_best_of_a_grid(subtests):
    for column, smoothing in product(range(3), SMOOTHINGS):
        with subtests.test(column=column, smoothing=smoothing):
            dense = Dense(PLACES, SERIES[:, column])
            criterion = dense.restricted if smoothing == "reml" else dense.generalised
            expected = dense.curve(dense.best(criterion))
            found = fit_splines(PLACES, SERIES, smoothing=smoothing).at(PLACES)[:, column]
            np.testing.assert_allclose(found, expected, atol=2e-4)


def test_the_standard_error_is_that_of_dense_matrices(subtests):
    for column in range(3):
        with subtests.test(column=column):
            dense = Dense(PLACES, SERIES[:, column])
            expected = dense.error(dense.best(dense.restricted))
            found = fit_splines(PLACES, SERIES).se_at(PLACES)[:, column]
            np.testing.assert_allclose(found, expected, rtol=2e-3)


def test_knots_lie_at_quantiles_of_the_different_places():
    crowded = np.concatenate([np.zeros(500), np.linspace(0, 1, 101)])
    found = fit_splines(crowded, np.sin(crowded)[:, None])
    np.testing.assert_allclose(found.knots, np.linspace(0, 1, 10))


def test_the_penalty_is_the_integral_of_the_squared_second_derivative():
    """A curve of few values, its bends integrated by a rule that knows nothing of splines."""
    knots, values = np.array([0.0, 0.4, 1.0, 1.1, 2.0]), np.array([1.0, -1.0, 0.5, 2.0, 0.0])
    bend = CubicSpline(knots, values, bc_type="natural").derivative(2)
    area = sum(
        quad(lambda x: float(bend(x)) ** 2, left, right)[0] for left, right in pairwise(knots)
    )
    shrunk = _penalty(knots)
    straight = np.linalg.qr(np.column_stack([np.ones(5), knots]))[0]
    bent = values - straight @ (straight.T @ values)
    assert bent @ shrunk @ bent == pytest.approx(area)
    least_bend = np.linalg.eigvalsh(shrunk)[2]
    found = straight.T @ shrunk @ straight
    np.testing.assert_allclose(found, 0.1 * least_bend * np.eye(2), atol=1e-12)


def test_a_smooth_truth_is_recovered_and_its_band_holds():
    random = np.random.default_rng(0)
    places = np.linspace(-2, 2, 300)
    truth = np.sin(1.5 * places)[:, None]
    series = truth + random.normal(0, 0.4, (300, 200))
    found = fit_splines(places, series)
    inside = np.abs(found.at(places) - truth) <= 1.96 * found.se_at(places)
    assert inside.mean() == pytest.approx(0.95, abs=0.02)  # 3 errors of 200 series
    design = Dense(places, series).design
    free = design @ np.linalg.lstsq(design, series)[0]
    errors = [((curves - truth) ** 2).mean(axis=0) for curves in (found.at(places), free)]
    assert (errors[0] < errors[1]).mean() > 0.75
    assert errors[0].mean() < errors[1].mean()


def test_more_noise_gives_a_wider_band_and_a_stiffer_curve():
    random = np.random.default_rng(1)
    noise = random.normal(size=90)
    series = np.column_stack([np.sin(2 * PLACES) + size * noise for size in (0.05, 0.5, 5.0)])
    found = fit_splines(PLACES, series)
    assert (np.diff(found.se_at(PLACES).mean(axis=0)) > 0).all()
    assert (np.diff(found.freedom) < 0).all()


def test_beyond_the_outer_places_a_curve_keeps_its_last_value():
    found = fit_splines(PLACES, SERIES)
    outside = found.at(np.array([-9.0, 9.0]))
    np.testing.assert_array_equal(outside, found.at(PLACES[[0, -1]]))


def test_a_series_with_gaps_is_the_fit_of_its_own_rows():
    """But for its knots, which are those of the whole table."""
    series, seen = SERIES.copy(), np.arange(90) % 4 != 2
    series[~seen, 0] = np.nan
    found, whole = fit_splines(PLACES, series), fit_splines(PLACES, SERIES)
    dense = Dense(PLACES[seen], SERIES[seen, 0], whole.knots)
    expected = dense.curve(dense.best(dense.restricted))
    np.testing.assert_allclose(found.at(PLACES)[seen, 0], expected, atol=2e-4)
    np.testing.assert_allclose(found.at(PLACES)[:, 1:], whole.at(PLACES)[:, 1:])
    own = fit_splines(PLACES[seen], SERIES[seen, :1])
    assert found.freedom[0] == pytest.approx(own.freedom[0], rel=0.05)
    ratio = found.se_at(PLACES)[:, 0] / own.se_at(PLACES)[:, 0]
    assert np.median(ratio) == pytest.approx(1.0, abs=0.05)


def test_gaps_at_places_that_others_share_leave_the_knots_and_nothing_differs():
    places, series = np.repeat(PLACES, 2), np.repeat(SERIES, 2, axis=0)
    series[::2, 0] = np.nan
    found = fit_splines(places, series).at(PLACES)[:, 0]
    np.testing.assert_allclose(found, fit_splines(PLACES, SERIES).at(PLACES)[:, 0], atol=1e-6)


@pytest.mark.parametrize("different", [1, 90])
def test_a_series_of_fewer_than_five_numbers_has_no_curve(different):
    """Two numbers say nothing of all the other places: no curve may lead by them."""
    series = np.full((90, 4), np.nan)
    for column, count in enumerate((0, 2, 4, 5)):
        series[10 : 10 + count, column] = [1.0, 2.0, 1.5, 1.0, 3.0][:count]
    places = PLACES[np.arange(90) % different]
    found = fit_splines(places, np.column_stack([series, SERIES[:, 0]]))
    assert found.known.tolist() == [False, False, False, True, True]
    drawn = found.draws_at(places, 3, np.random.default_rng(0))
    for values in (found.at(places), found.se_at(places), *drawn):
        assert np.isnan(values[:, :3]).all()
        assert np.isfinite(values[:, 3:]).all()


def test_three_numbers_without_a_gap_are_enough():
    assert fit_splines(PLACES[:3], SERIES[:3]).known.all()


def test_a_constant_series_is_level_and_certain(subtests):
    for value in [0.0, 1.0, -1e9, 1 / 3]:
        with subtests.test(value=value):
            found = fit_splines(PLACES, np.full((90, 1), value))
            assert (found.at(PLACES) == pytest.approx(value)) is True
            assert (found.se_at(PLACES) == 0).all()
            assert found.freedom.tolist() == [1.0]


@pytest.mark.parametrize("different", [1, 2])
def test_one_or_two_places_give_means(different):
    places = np.arange(90) % different + 0.0
    found = fit_splines(places, SERIES)
    np.testing.assert_allclose(found.at(np.array([-1.0, 5.0])), [SERIES.mean(axis=0)] * 2)
    expected = SERIES.std(axis=0, ddof=1) / np.sqrt(90)
    np.testing.assert_allclose(found.se_at(np.zeros(1))[0], expected)


def test_a_straight_line_without_noise_is_followed():
    found = fit_splines(PLACES, (3 - 2 * PLACES)[:, None])
    np.testing.assert_allclose(found.at(PLACES)[:, 0], 3 - 2 * PLACES, atol=1e-4)


def test_draws_scatter_about_the_curve_as_much_as_its_standard_error_says():
    found = fit_splines(PLACES, SERIES)
    grid = np.linspace(-2, 2, 9)
    drawn = found.draws_at(grid, 4000, np.random.default_rng(0))
    assert drawn.shape == (4000, 9, 3)
    np.testing.assert_allclose(drawn.std(axis=0), found.se_at(grid), rtol=0.06)
    error = found.se_at(grid) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - found.at(grid)) < 4.5 * error).all()


def test_draws_of_series_that_err_together_differ_less_than_each():
    noise = np.random.default_rng(2).normal(0, 0.3, 90)
    series = np.column_stack([np.sin(PLACES) + noise, np.sin(PLACES) + 0.1 + noise])
    drawn = fit_splines(PLACES, series).draws_at(PLACES, 200, np.random.default_rng(0))
    apart = (drawn[..., 0] - drawn[..., 1]).std(axis=0)
    assert (apart < 0.01 * drawn[..., 0].std(axis=0)).all()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"smoothing": "cv"}, "`smoothing` must be one of reml, gcv.*got 'cv'"),
        ({"n_knots": 2}, "n_knots is 2, but a curve needs 3 or more"),
    ],
)
def test_what_is_no_setting_is_refused(wrong, said):
    with pytest.raises(InputError, match=said):
        fit_splines(PLACES, SERIES, **wrong)


def test_fewer_places_than_knots_are_knots_themselves():
    places = np.repeat(np.arange(4.0), 5)
    found = fit_splines(places, np.repeat([[0.0], [1.0], [0.0], [1.0]], 5, axis=0))
    np.testing.assert_array_equal(found.knots, np.arange(4.0))


def test_variation_of_rounding_size_is_none(subtests):
    for level, border in ((0.0, 1e-12), (1.0, 2e-12), (-99.0, 1e-10)):
        with subtests.test(level=level):
            sign = np.where(np.arange(90) % 2 == 0, 1.0, -1.0)[:, None]
            assert fit_splines(PLACES, level + 0.9 * border * sign).se_at(PLACES).max() == 0
            assert fit_splines(PLACES, level + 1.1 * border * sign).se_at(PLACES).min() > 0


def test_a_constant_series_with_gaps_is_level_and_certain_too():
    series = np.column_stack([np.full(90, 2.5), SERIES[:, 0]])
    series[::3, 0] = np.nan
    found = fit_splines(PLACES, series)
    np.testing.assert_allclose(found.at(PLACES)[:, 0], 2.5)
    assert (found.se_at(PLACES)[:, 0] == 0).all()
    assert found.freedom[0] == 1.0


def test_residuals_that_agree_are_alike_and_those_of_nothing_only_like_themselves():
    left = np.array([[1.0, 2.0, 0.0], [-1.0, 0.0, 0.0], [2.0, 1.0, 0.0]])
    wanted = np.array([[1, 4 / np.sqrt(30), 0], [4 / np.sqrt(30), 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(_correlation(left), wanted)


def test_effective_degrees_of_freedom_are_the_trace_of_the_smoother(subtests):
    found = fit_splines(PLACES, SERIES)
    for column in range(3):
        with subtests.test(column=column):
            dense = Dense(PLACES, SERIES[:, column])
            lhs = dense.design.T @ dense.design + np.exp(dense.best(dense.restricted)) * dense.form
            trace = np.trace(np.linalg.solve(lhs, dense.design.T @ dense.design))
            assert found.freedom[column] == pytest.approx(trace, rel=1e-3)
