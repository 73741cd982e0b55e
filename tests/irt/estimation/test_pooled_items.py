"""Items of few respondents, given what all items have in common."""

from types import SimpleNamespace

import numpy as np
import pytest

import ogive as og
from ogive.irt.estimation.empirical_bayes import _first, _next, _with_common_priors, poolable
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.models.logistic import OnePL, TwoPL


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


def test_spread_is_what_lies_beyond_the_noise_by_hand():
    values, noise = np.array([1.0, 2.0, 4.0]), np.array([0.5, 1.0, 0.25])
    mean = np.average(values, weights=1 / noise)
    beyond = np.average((values - mean) ** 2 - noise, weights=1 / noise)
    assert _first(values, noise) == pytest.approx((mean, beyond))
    loud = 100 * noise
    wanted = np.average(values, weights=1 / loud), 0.05 * values.var()
    assert _first(values, loud) == pytest.approx(wanted)
    square = ((values - values.mean()) ** 2 + [0.5, 0.64, 0.25]).mean()
    assert _next(values, noise, 0.8) == pytest.approx((values.mean(), square))


def test_common_priors_are_those_of_the_items_without_what_they_share():
    model = TwoPL()
    coords = np.array([[1.0, 0.3], [1.4, -0.5], [0.6, 1.0]])
    shared = 0.1 * np.ones((1, 3, 2))
    errors = KnownCovariances(np.stack([0.04 * np.eye(2)] * 3) + 0.01, shared)
    found = _with_common_priors(model, coords, errors, learnt=False)
    for k, coordinate in enumerate(found.coordinates):
        mean, square = _first(coords[:, k], np.full(3, 0.04))
        assert (coordinate.prior.mean, coordinate.prior.sd) == pytest.approx((mean, square**0.5))
    learnt = _with_common_priors(found, coords, errors, learnt=True)
    mean, square = _next(coords[:, 0], np.full(3, 0.04), found.coordinates[0].prior.sd)
    assert learnt.coordinates[0].prior.sd == pytest.approx(square**0.5)
    alike = _with_common_priors(model, np.ones((3, 2)), errors, learnt=False)
    assert alike.coordinates[0].prior.sd == 0.05


def test_pooling_is_for_few_respondents_and_ten_items(subtests):
    for n, m, wanted in ((149, 10, True), (150, 10, False), (149, 9, False)):
        with subtests.test(n=n, m=m):
            data = SimpleNamespace(n_respondents=float(n), shape=(n, m))
            task = SimpleNamespace(data=data, held=None, model=TwoPL())
            assert poolable(task) == wanted
    shared = SimpleNamespace(data=data, held=None, model=OnePL())
    assert not poolable(shared)


def test_a_coordinate_of_which_no_item_tells_anything_keeps_its_prior():
    cells = np.zeros((3, 90))
    cells[2] = np.repeat([1, 2, 3, 4], [7, 15, 29, 39])
    found = og.calibrate(og.Responses(cells, kind="nominal"), "nominal", priors=None)
    assert np.isfinite(found.abilities().to_numpy(float)).all()
    assert any("leave a parameter undetermined" in note for note in found.notes)
