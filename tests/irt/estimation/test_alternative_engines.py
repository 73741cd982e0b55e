"""Joint maximum likelihood and Shojima's EM, against plain loops and by hand."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from ogive import Continuous, Joint, TwoPL, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation import alternative_engines as joint_engine
from ogive.irt.estimation.alternative_engines import (
    Shojima,
    _normal_fit,
    mean_and_sd,
    response_start,
)


@pytest.fixture(scope="module")
def simulated():
    return simulate("2pl", 1000, 40, random_state=2)


@pytest.fixture(scope="module")
def joint(simulated):
    return calibrate(simulated.responses, engine="joint")


def test_joint_converges_on_a_2pl_and_says_what_it_is(joint):
    assert joint.converged
    assert joint.engine == "joint"
    assert any("Joint maximum likelihood" in note for note in joint.notes)
    assert np.isfinite(joint.items.drop(columns="flag")).all(axis=None)


def test_both_engines_order_items_and_respondents_alike(simulated, joint):
    em = calibrate(simulated.responses)
    assert spearmanr(joint.items["difficulty"], em.items["difficulty"])[0] > 0.95
    assert spearmanr(joint.abilities()["ability"], em.abilities()["ability"])[0] > 0.95
    assert spearmanr(joint.items["difficulty"], simulated.truth.items["difficulty"])[0] > 0.95


def test_both_engines_give_the_same_signs(turned):
    values = turned[:, :20].copy()
    values[:, 1:10:2] = 1 - values[:, 1:10:2]  # a quarter stays turned
    em, joint = calibrate(values), calibrate(values, engine="joint")
    np.testing.assert_array_equal(
        np.sign(joint.items["discrimination"]), np.sign(em.items["discrimination"])
    )
    assert (joint.items["discrimination"] < 0).sum() == 5


@pytest.mark.parametrize("model", ["3pl", "4pl"])
def test_joint_gives_finite_items_with_asymptotes(small, model):
    cal = calibrate(small, model, engine="joint", max_iterations=20)
    assert np.isfinite(cal.coords).all()
    assert cal.converged or cal.notes


@pytest.fixture(scope="module")
def holed():
    return simulate("2pl", 800, 40, missing=0.1, random_state=2).responses


def test_joint_takes_missing_responses(holed):
    cal, em = calibrate(holed, engine="joint"), calibrate(holed)
    assert spearmanr(cal.items["difficulty"], em.items["difficulty"])[0] > 0.95


def test_joint_does_not_depend_on_the_number_of_workers(simulated):
    one, two = (calibrate(simulated.responses, engine=Joint(n_jobs=n)) for n in (1, 2))
    assert one.coords.tobytes() == two.coords.tobytes()


def test_joint_weights_stand_for_rows(holed):
    weights = np.where(np.arange(800) < 300, 2.0, 1.0)
    twice = np.vstack([holed.values, holed.values[:300]])
    one = calibrate(holed, engine="joint", weights=weights)
    other = calibrate(twice, engine="joint")
    np.testing.assert_allclose(one.coords, other.coords, rtol=1e-6, atol=1e-6)


def test_joint_refuses_a_model_that_shares_a_parameter(simulated):
    with pytest.raises(InputError, match=r"1pl model shares a parameter.*engine='em'"):
        calibrate(simulated.responses, "1pl", engine="joint")


def test_joint_refuses_settings_that_cannot_be(subtests):
    for settings in [{"tolerance": 0}, {"tolerance": -1}, {"max_iterations": 0}]:
        with (
            subtests.test(settings=settings),
            pytest.raises(InputError, match=next(iter(settings))),
        ):
            Joint(**settings)


def test_joint_keeps_degenerate_tables_finite(subtests):
    for case, values in {
        "all right": np.ones((5, 4)),
        "one each": np.eye(6),
        "Guttman": np.tril(np.ones((8, 7))),
        "one respondent": [[1, 0]],
        "one item": [[0], [1], [1]],
    }.items():
        with subtests.test(case):
            cal = calibrate(np.asarray(values, dtype=float), engine="joint")
            assert np.isfinite(cal.items[["discrimination", "difficulty"]]).all(axis=None)


@pytest.mark.slow
def test_joint_keeps_items_inside_the_bounds_of_their_model(subtests):
    for model, (case, values) in product(
        ["2pl", "3pl", "4pl"],
        {
            "Guttman": np.tril(np.ones((8, 7))),
            "eye": np.eye(6),
            "ones": np.ones((5, 4)),
        }.items(),
    ):
        with subtests.test(f"{model} {case}"):
            cal = calibrate(values, model, engine="joint")
            np.testing.assert_array_equal(cal.model.bounded(cal.coords), cal.coords)


def test_joint_says_when_it_did_not_end(simulated):
    cal = calibrate(simulated.responses, engine="joint", max_iterations=1)
    assert not cal.converged
    assert any(
        note.startswith("Not converged after 1 iterations") and "engine='em'" in note
        for note in cal.notes
    )


def small_table():
    model = TwoPL()
    cells = np.array([[1, 0, 1], [1, 1, -1], [0, 0, 1], [0, 1, 0]], dtype=np.int8)
    weights = np.array([1.0, 2.0, 1.0, 3.0])
    return encode(cells, model, weights, collapsing=False), model, cells, weights


def test_abilities_begin_at_the_mean_response_in_units_of_each_item():
    data, model, cells, weights = small_table()
    asked = cells >= 0
    place = np.zeros(4)
    for k in range(3):
        right = np.where(asked[:, k], cells[:, k], 0.0)
        mean = np.average(right[asked[:, k]], weights=weights[asked[:, k]])
        place += np.where(asked[:, k], (right - mean) / np.sqrt(mean * (1 - mean)), 0.0)
    place /= asked.sum(axis=1) + 1
    mean = np.average(place, weights=weights)
    sd = np.sqrt(np.average((place - mean) ** 2, weights=weights))
    np.testing.assert_allclose(response_start(data, model), (place - mean) / sd)


def test_the_unit_is_one_where_all_values_are_the_same():
    assert mean_and_sd(np.array([2.0, 4.0]), np.array([1.0, 3.0])) == pytest.approx(
        (3.5, 0.75**0.5)
    )
    assert mean_and_sd(np.full(3, 2.0), np.ones(3)) == (2.0, 1.0)
    assert mean_and_sd(np.array([0.0, 1e-8]), np.ones(2))[1] == pytest.approx(5e-9)
    assert mean_and_sd(np.array([0.0, 1e-9]), np.ones(2))[1] == 1.0


def test_the_joint_likelihood_and_its_errors_by_hand(monkeypatch):
    data, model, cells, weights = small_table()
    coords, ability = np.array([[1.0, 0.2], [0.5, -0.4], [2.0, 1.0]]), np.array([0.5, 1, -1, 0.0])
    p = 1 / (1 + np.exp(-(ability[:, None] * coords[:, 0] + coords[:, 1])))
    told = np.where(cells == 1, np.log(p), np.where(cells == 0, np.log(1 - p), 0.0))
    for block in (joint_engine.TABLE_CELLS, 1):
        monkeypatch.setattr(joint_engine, "TABLE_CELLS", block)
        found = joint_engine.joint_log_likelihood(data, model, coords, ability)
        assert found == pytest.approx((weights @ told).sum())
        errors = joint_engine.item_covariances(data, model, coords, ability)
        for k in range(3):
            design = np.stack([ability, np.ones(4)], axis=1)
            w = weights * (cells[:, k] >= 0) * p[:, k] * (1 - p[:, k])
            information = design.T @ (w[:, None] * design)
            for j, c in enumerate(model.coordinates):
                if c.prior is not None:
                    information[j, j] += c.prior.curvature(coords[k : k + 1, j])[0]
            np.testing.assert_allclose(errors[k], np.linalg.inv(information), rtol=1e-6)


@pytest.fixture(scope="module")
def table():
    responses, _ = simulate("continuous", 40, 4, random_state=3)
    model = Continuous(bounds=(0, 1)).fitted_to(responses.cells, responses.items)
    z = np.log(responses.cells / (1 - responses.cells))
    return responses.cells, model, z


def published(z, turns):
    """Shojima (2005), one number at a time: α, β and γ of each item."""
    n, m = z.shape
    alpha, beta, gamma = [1.0] * m, [-z[:, j].mean() for j in range(m)], [1.0] * m
    for _ in range(turns):
        left = 1 / (1 + sum(a**2 for a in alpha))
        ability = [
            left * sum(alpha[j] ** 2 * (beta[j] + gamma[j] * z[i, j]) for j in range(m))
            for i in range(n)
        ]
        spread = np.var(ability, ddof=1) + left
        for j in range(m):
            gamma[j] = spread / np.cov(ability, z[:, j])[0, 1]
            beta[j] = np.mean(ability) - gamma[j] * z[:, j].mean()
            noise = gamma[j] ** 2 * np.var(z[:, j], ddof=1) - spread
            alpha[j] = np.sign(gamma[j]) / np.sqrt(noise)
    return np.array(alpha), np.array(beta), np.array(gamma)


@pytest.mark.parametrize("turns", [1, 2, 7])
def test_iterations_are_those_of_plain_loops(table, turns):
    cells, model, z = table
    found = Shojima(tolerance=1e-12, max_iterations=turns).fit(cells, model)
    alpha, beta, gamma = published(z, turns)
    wanted = model.from_parameters({"discrimination": alpha, "difficulty": beta, "scaling": gamma})
    np.testing.assert_allclose(found.coords, wanted, rtol=1e-8)
    assert found.iterations == turns
    assert not found.converged
    assert f"after {turns} iterations" in found.notes[1]


def test_it_stops_when_its_expected_log_likelihood_changes_by_little(table):
    cells, model, z = table
    seen = []
    found = Shojima(tolerance=0.05).fit(cells, model, progress=lambda *told: seen.append(told))
    # E log N(β + γ z - θ; 0, 1 / α²) |γ| over the posterior, without the constant.
    last = published(z, found.iterations - 1)
    alpha, beta, gamma = published(z, found.iterations)
    left = 1 / (1 + (last[0] ** 2).sum())
    ability = left * ((last[1] + last[2] * z) @ last[0] ** 2)
    apart = beta + gamma * z - ability[:, None]
    value = (np.log(np.abs(alpha * gamma)) - 0.5 * alpha**2 * (apart**2 + left)).sum()
    assert f"log-likelihood {value:,.2f}" in seen[-1][2]
    assert found.converged
    assert found.iterations == len(seen) > 3
    fewer = Shojima(tolerance=0.05, max_iterations=found.iterations - 1).fit(cells, model)
    assert not fewer.converged
    assert (Shojima().tolerance, Shojima().max_iterations) == (0.01, 200)


def test_likelihoods_are_those_of_normal_log_odds(table):
    cells, model, z = table
    coords = Shojima(tolerance=0.05).fit(cells, model).coords
    loading, noise = model.loadings(coords), np.exp(2 * coords[:, 2])
    law = multivariate_normal(coords[:, 1], np.outer(loading, loading) + np.diag(noise))
    assert _normal_fit(model, coords, z)[0] == pytest.approx(law.logpdf(z).sum())


def test_errors_take_abilities_as_known(table):
    cells, model, z = table
    coords = Shojima(tolerance=0.05).fit(cells, model).coords
    loading, precision = model.loadings(coords), np.exp(-2 * coords[:, 2])
    left = 1 / (1 + precision @ loading**2)
    ability = left * ((z - coords[:, 1]) @ (loading * precision))
    square = ability @ ability + 40 * left
    found = _normal_fit(model, coords, z)[1]
    for j in range(4):
        # z = σ (α θ + b / σ) + σ ε: information on α and on the intercept given the noise.
        block = np.linalg.inv(found[j])
        assert block[1, 1] == pytest.approx(40 * precision[j], rel=1e-6)
        assert block[0, 0] == pytest.approx(square, rel=1e-6)
        assert block[0, 1] == pytest.approx(ability.sum() * np.sqrt(precision[j]), rel=1e-5)


def test_what_it_cannot_fit_is_said(table):
    cells, model, _ = table
    with pytest.raises(InputError, match="at least 3 respondents; there are 2"):
        Shojima().fit(cells[:2], model)
    Shojima(max_iterations=1).fit(cells[[0, 1, 2, 5]], model)
    flat = cells.copy()
    flat[:, 2] = 0.4
    with pytest.raises(InputError, match="Item 3, by position, is constant"):
        Shojima().fit(flat, model)
