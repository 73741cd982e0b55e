"""Curves by group: against SciPy, against two plain fits, and against the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ogive import calibrate, simulate
from ogive.irt import differential_functioning as group_curves
from ogive.irt.differential_functioning import fit_curves, group_effects, match


@pytest.fixture(scope="module")
def drawn():
    """Two groups of 150 that differ in ability by one, the first item easier for the second."""
    items = simulate("2pl", 2, 12, random_state=3).truth.items
    later = items.copy()
    later.iloc[0, later.columns.get_loc("difficulty")] -= 1.2
    random = np.random.default_rng(5)
    first = simulate("2pl", items=items, abilities=random.normal(0, 1, 150), random_state=1)
    second = simulate("2pl", items=later, abilities=random.normal(1, 1, 150), random_state=2)
    values = np.concatenate([first.responses.values, second.responses.values])
    return values, np.repeat([0, 1], 150), calibrate(values, "2pl")


def everything(n):
    return np.ones(n, dtype=bool)


def test_each_group_has_its_own_mean(drawn):
    values, groups, bank = drawn
    mean = match(values, groups, bank, everything(12)).populations[:, 0]
    assert mean[1] - mean[0] == pytest.approx(1 / 1.12, abs=0.25)  # in units of everybody's sd


def test_the_likelihood_ratio_is_that_of_a_search_by_scipy(drawn, monkeypatch):
    for name in ("PRIOR_SD", "SPLINE_SD", "CHANGE_SD"):
        wide = 1e4
        monkeypatch.setattr(group_curves, name, (wide, wide) if name == "PRIOR_SD" else wide)
    monkeypatch.setattr(group_curves, "FEW", 1000)  # no bend: two 2PL curves against one
    values, groups, bank = drawn
    matching = match(values, groups, bank, everything(12))
    found = fit_curves(matching, values, np.ones(12)).likelihood_ratio
    nodes = matching.nodes
    items = bank.items
    for j in (0, 4):
        curve = 1 / (
            1
            + np.exp(
                -np.outer(items["discrimination"], nodes)
                + (items["discrimination"] * items["difficulty"]).to_numpy()[:, None]
            )
        )
        others = [k for k in range(12) if k != j]
        log_rest = values[:, others] @ np.log(curve[others])
        log_rest += (1 - values[:, others]) @ np.log(1 - curve[others])
        mean, sd = matching.populations[groups].T
        weights = np.exp(log_rest - 0.5 * ((nodes - mean[:, None]) / sd[:, None]) ** 2)
        weights /= weights.sum(axis=1, keepdims=True)

        def loss(x, rows, j=j, weights=weights):
            chance = weights[rows] @ (1 / (1 + np.exp(-(x[0] + x[1] * nodes))))
            right = values[rows, j]
            return -(right * np.log(chance) + (1 - right) * np.log(1 - chance)).sum()

        def least(rows):
            return minimize(loss, [0.0, 1.0], args=(rows,), tol=1e-9).fun

        apart = least(groups == 0) + least(groups == 1)
        assert found[j] == pytest.approx(2 * (least(groups >= 0) - apart), abs=2e-3)


def test_two_groups_that_answer_alike_have_the_same_curves(drawn):
    values, _, _ = drawn
    twice, groups = np.concatenate([values, values]), np.repeat([0, 1], len(values))
    curves = fit_curves(
        match(twice, groups, calibrate(twice, "2pl"), everything(12)), twice, np.ones(12)
    )
    # Priors hold the curve of the first group a little, and not what the second one changes.
    assert np.abs(group_effects(curves, 1).effects).max() < 5e-3
    assert np.abs(curves.likelihood_ratio).max() < 0.05


def test_grades_have_errors_that_hold():
    """Over samples from one population, standardised effects of grades vary by one."""
    spread = []
    for seed in range(5):
        values = simulate("graded", 300, 10, random_state=seed).responses.values
        groups = np.tile([0, 1], 150)
        bank = calibrate(values, "graded")
        highest = np.nanmax(values, axis=0)
        effects = group_effects(
            fit_curves(match(values, groups, bank, everything(10)), values, highest), 1
        )
        spread.append(effects.effects[:, 0] / np.sqrt(effects.covariances[:, 0, 0]))
    assert np.std(spread) == pytest.approx(1.0, abs=0.2)


def test_an_item_without_responses_of_a_group_has_no_curve(drawn):
    values, groups, bank = drawn
    gone = values.copy()
    gone[groups == 1, 3] = np.nan
    curves = fit_curves(match(gone, groups, bank, everything(12)), gone, np.ones(12))
    assert np.isnan(curves.coefs[3]).all()
    assert np.isfinite(np.delete(curves.coefs, 3, axis=0)).all()
