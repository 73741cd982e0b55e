"""Strengths from comparisons in pairs, against definitions and other implementations."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive.stats.bradley_terry import Cells, Curvature, Problem, _peak, spread_of
from ogive.stats.bradley_terry_errors import connected_rivals, errors_of, prior_of

TRUTH = np.array([1.0, 0.4, 0.0, -0.4, -1.0])


def drawn(n=400, tie=0.8, seed=0, slopes=(1.0,), advantage=0.0):
    """First, second, score and group of each comparison."""
    random = np.random.default_rng(seed)
    first = random.integers(0, 5, n)
    second = (first + random.integers(1, 5, n)) % 5
    group = random.integers(0, len(slopes), n)
    apart = np.array(slopes)[group] * (TRUTH[first] - TRUTH[second]) + advantage
    weight = np.stack([np.exp(apart / 2), np.full(n, tie), np.exp(-apart / 2)])
    ends = np.cumsum(weight / weight.sum(axis=0), axis=0)
    score = 1.0 - 0.5 * (random.random(n) > ends[:2]).sum(axis=0)
    return first, second, score, group


def problem_of(first, second, score, group=None, *, advantage=False):
    group = np.zeros_like(first) if group is None else group
    cells = Cells.of(first, second, score, 5, group, int(group.max()) + 1)
    part, strong = connected_rivals(cells)
    return Problem(cells, part, prior_of(part, strong)[0], advantage)


def test_strengths_and_ties_are_the_maximum_of_davidsons_likelihood():
    first, second, score, _ = drawn(advantage=0.3)
    problem = problem_of(first, second, score, advantage=True)
    found, converged = problem.maximize(problem.start())

    def loss(x):
        apart = x[first] - x[second] + x[5]
        total = np.log(np.exp(apart / 2) + np.exp(-apart / 2) + np.exp(x[6]))
        return -(np.select([score == 1, score == 0.5], [apart / 2, x[6]], -apart / 2) - total).sum()

    by_hand = minimize(loss, np.zeros(7), method="BFGS", options={"gtol": 1e-9}).x
    assert converged
    assert found.strength == pytest.approx(by_hand[:5] - by_hand[:5].mean(), abs=1e-6)
    assert [found.advantage, found.log_tie] == pytest.approx(by_hand[5:], abs=1e-6)


@pytest.mark.slow  # statsmodels takes seconds to import
def test_davidsons_model_is_a_log_linear_one_of_counts():
    """Fienberg (1979): a Poisson regression with one term per pair; by statsmodels."""
    api = pytest.importorskip("statsmodels.api")
    first, second, score, _ = drawn(tie=0.5)
    problem = problem_of(first, second, score)
    cells, rows, counts = problem.cells, [], []
    for k, (i, j) in enumerate(zip(cells.first, cells.second, strict=True)):
        for outcome, count in enumerate((cells.won[k], cells.tied[k], cells.lost[k])):
            row = np.zeros(6 + cells.first.size)
            row[[i, j]] = np.array([1, -1]) * (1 - outcome) / 2
            row[5], row[6 + k] = outcome == 1, 1.0
            rows.append(np.delete(row, 4))
            counts.append(count)
    fitted = api.GLM(counts, np.array(rows), family=api.families.Poisson()).fit(tol=1e-13)
    theirs = np.r_[fitted.params[:4], 0.0]
    found, _ = problem.maximize(problem.start())
    assert found.strength == pytest.approx(theirs - theirs.mean(), abs=1e-6)
    assert found.log_tie == pytest.approx(fitted.params[4], abs=1e-6)
    ours = errors_of(problem, found, []).model
    theirs = fitted.cov_params()[:4, :4]
    assert ours[0, 0] + ours[1, 1] - 2 * ours[0, 1] == pytest.approx(
        theirs[0, 0] + theirs[1, 1] - 2 * theirs[0, 1], abs=1e-6
    )


def test_slopes_and_information_are_derivatives():
    first, second, score, group = drawn(slopes=(0.5, 2.0))
    problem = problem_of(first, second, score, group, advantage=True)
    found = problem.maximize(problem.start())[0]
    found = type(found)(
        found.strength, found.log_tie, found.advantage, np.array([0.2, -0.2]), spread=0.5
    )
    curve = Curvature.at(found, problem.cells, problem.penalty)
    plain = curve.slope + curve.pull @ curve.own_slope

    def value(step, own=(0.0, 0.0)):
        moved = type(found)(
            found.strength + step[:5],
            found.log_tie + step[6],
            found.advantage + step[5],
            found.log_discrimination + own,
            spread=0.5,
        )
        return moved.log_likelihood(problem.cells)

    tiny = 1e-5 * np.eye(7)
    rise = [(value(step) - value(-step)) / 2e-5 for step in tiny]
    assert plain == pytest.approx(rise, abs=1e-4)
    own = [(value(np.zeros(7), x) - value(np.zeros(7), -x)) / 2e-5 for x in 1e-5 * np.eye(2)]
    assert curve.own_slope == pytest.approx(own, abs=1e-4)


def refitted(first, second, score, clusters):
    """The jackknife by its definition: a fit without each cluster."""
    moved = []
    for k in range(clusters.max() + 1):
        kept = clusters != k
        problem = problem_of(first[kept], second[kept], score[kept])
        found = problem.maximize(problem.start())[0]
        moved.append(np.r_[found.strength, found.log_tie])
    away = np.array(moved)
    full = problem_of(first, second, score)
    found = full.maximize(full.start())[0]
    away = away - np.r_[found.strength, found.log_tie]
    ours = errors_of(full, found, [clusters]).covariance
    n = clusters.max() + 1
    return (n - 1) / n * away.T @ away, ours[np.ix_([*range(5), 6], [*range(5), 6])]


def test_errors_are_those_of_a_jackknife_over_clusters():
    first, second, score, _ = drawn(n=1500)
    theirs, ours = refitted(first, second, score, np.arange(1500) % 50)
    assert ours == pytest.approx(theirs, rel=0.03, abs=2e-5)


def test_many_clusters_have_the_errors_of_single_leverages(monkeypatch):
    first, second, score, _ = drawn(n=300)
    problem = problem_of(first, second, score)
    found = problem.maximize(problem.start())[0]
    exact = np.diag(errors_of(problem, found, []).covariance)
    monkeypatch.setattr("ogive.stats.bradley_terry_errors.MOST_NUMBERS", 0)
    single = np.diag(errors_of(problem, found, []).covariance)
    assert single == pytest.approx(exact, rel=0.02)


def test_without_ties_single_leverages_leave_out_single_comparisons(monkeypatch):
    """One comparison is one direction: taking it out has a closed form, also with an advantage."""
    first, second, score, _ = drawn(n=200, tie=0.0, advantage=0.8)
    problem = problem_of(first, second, score, advantage=True)
    found = problem.maximize(problem.start())[0]
    exact = errors_of(problem, found, []).covariance
    monkeypatch.setattr("ogive.stats.bradley_terry_errors.MOST_NUMBERS", 0)
    np.testing.assert_allclose(errors_of(problem, found, []).covariance, exact, atol=1e-6)


def test_two_kinds_of_clusters_are_added_and_what_they_share_is_subtracted():
    first, second, score, _ = drawn(n=2000)
    problem = problem_of(first, second, score)
    found = problem.maximize(problem.start())[0]
    one, two = np.arange(2000) % 40, np.arange(2000) // 50
    both = errors_of(problem, found, [one, two]).covariance
    alone = [errors_of(problem, found, [each]).covariance for each in (one, two, one * 40 + two)]
    assert both == pytest.approx(alone[0] + alone[1] - alone[2], abs=1e-10)


def test_who_is_only_in_one_cluster_has_one():
    first, second = np.array([0, 0, 1, 2, 3, 4, 4]), np.array([1, 1, 2, 0, 0, 0, 1])
    score = np.array([1.0, 0.0, 0.5, 0.5, 0.5, 0.5, 0.5])
    problem = problem_of(first, second, score)
    found = problem.maximize(problem.start())[0]
    errors = errors_of(problem, found, [np.array([0, 1, 1, 0, 0, 0, 1])])
    assert errors.clusters.tolist() == [2, 2, 2, 1, 2]
    assert np.isfinite(errors.covariance).all()


def test_separate_parts_and_rivals_that_always_win_are_found():
    cells = Cells.of(
        np.array([0, 1, 0, 3]),
        np.array([1, 0, 2, 4]),
        np.array([1.0, 1.0, 1.0, 0.5]),
        5,
        np.zeros(4, dtype=int),
        1,
    )
    part, strong = connected_rivals(cells)
    assert part.tolist() == [0, 0, 0, 1, 1]
    penalty, open_ = prior_of(part, strong)
    assert open_.tolist() == [False, False, True, False, False]
    assert penalty.sum(axis=1) == pytest.approx(np.zeros(5))  # moving all is free


def test_a_system_without_a_solution_is_no_convergence(monkeypatch):
    def fails(*_):
        raise np.linalg.LinAlgError

    problem = problem_of(*drawn()[:3])
    begin = problem.start()
    monkeypatch.setattr(Problem, "_step", fails)
    assert problem.maximize(begin) == (begin, False)


def test_discriminations_of_groups_are_found():
    slopes = np.exp(np.random.default_rng(1).normal(0, 0.6, 20))
    first, second, score, group = drawn(n=12_000, slopes=slopes, seed=3)
    problem = problem_of(first, second, score, group)
    found, (low, high) = spread_of(problem, problem.maximize(problem.start())[0])
    log = np.log(slopes) - np.log(slopes).mean()
    assert np.corrcoef(found.log_discrimination, log)[0, 1] > 0.95
    assert 0 < low < log.std() < high
    _, (low, _) = spread_of(*even(20))
    assert low == 0


def test_between_spreads_that_were_tried_the_top_is_that_of_a_parabola(subtests):
    for top, steps in {0.3: (-0.5, 0.1, 0.9), -0.6: (-1.0, -0.5, 0.0)}.items():
        with subtests.test(top=top):
            x = np.array(steps)
            assert _peak(x, -700.0 - 3 * (x - top) ** 2) == pytest.approx(np.exp(top))
    straight = np.array([0.0, 1.0, 2.0])
    assert _peak(straight, straight) == pytest.approx(np.exp(1.0))  # no top: the middle


def even(n_groups):
    first, second, score, group = drawn(n=3000, slopes=np.ones(n_groups), seed=4)
    problem = problem_of(first, second, score, group)
    return problem, problem.maximize(problem.start())[0]
