"""Errors of scores: what they count, and which scale they refer to."""

import numpy as np
import pytest

import ogive as og
from ogive import irt
from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import encode
from ogive.irt.item_covariances import pooled_items

FEW_MODELS = ["1pl", "2pl", "graded", "continuous"]


@pytest.fixture(scope="module")
def cals():
    found = {}
    for name in FEW_MODELS:
        responses = og.simulate(name, 25, 30, missing=0.1, random_state=5).responses
        found[name] = og.calibrate(responses, name, progress=False)
    return found


def test_abilities_say_which_scale_their_errors_refer_to(cals):
    said = cals["2pl"].abilities().attrs["scale"]
    assert "standard deviation of the population" in said
    assert "as known" in cals["2pl"].abilities(items_known=True).attrs["scale"]


def test_items_and_scale_add_to_the_error_and_leave_the_ability(cals, subtests):
    for name, cal in cals.items():
        with subtests.test(model=name):
            known, found = cal.abilities(items_known=True), cal.abilities()
            assert (found["se"] > known["se"]).all()
            assert found[["ability", "at_bound"]].equals(known[["ability", "at_bound"]])


def test_a_saved_bank_gives_the_same_errors(cals, tmp_path, subtests):
    for name, cal in cals.items():
        with subtests.test(model=name):
            bank = og.load(cal.save(tmp_path / f"{name}.json"))
            np.testing.assert_allclose(bank.score(cal.responses)["se"], cal.abilities()["se"])


def test_with_many_respondents_items_hardly_matter():
    cal = og.calibrate(og.simulate("2pl", 3_000, 10, random_state=0).responses, "2pl")
    known, found = cal.abilities(items_known=True)["se"], cal.abilities()["se"]
    assert (found / known).max() < 1.02


def test_a_sum_over_the_items_does_not_depend_on_the_scale(cals):
    """Along the scale abilities and items move together: true scores are surer than abilities."""
    cal = cals["2pl"]
    change = cal.true_scores()["true_score_se"] / cal.true_scores(items_known=True)["true_score_se"]
    ability = cal.abilities()["se"] / cal.abilities(items_known=True)["se"]
    assert change.median() < ability.median()


def test_errors_of_scores_count_the_items(cals, subtests):
    cal = cals["2pl"]
    for score in ("true_scores", "total_scores"):
        with subtests.test(score=score):
            known, found = getattr(cal, score)(items_known=True), getattr(cal, score)()
            first, error = known.columns[:2]
            assert known[first].equals(found[first])
            assert (found[error] > 0).all()
            assert not found[error].equals(known[error])
    known, found = cal.completed_scores(items_known=True), cal.completed_scores()
    assert known["score"].equals(found["score"])
    assert (found["score_se"] >= 0).all()


def test_who_was_asked_everything_has_no_error_of_a_completed_score():
    cal = og.calibrate(og.simulate("2pl", 25, 30, random_state=5).responses, "2pl")
    np.testing.assert_allclose(cal.completed_scores()["score_se"], 0.0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n_respondents", "n_items", "missing"),
    [
        ("1pl", 20, 200, 0.0),
        ("2pl", 20, 200, 0.3),
        ("2pl", 50, 200, 0.0),
        ("graded", 20, 100, 0.0),
        ("continuous", 20, 100, 0.0),
        ("beta", 20, 200, 0.0),
        ("beta", 20, 200, 0.3),
    ],
)
def test_differences_are_covered_as_often_as_they_say(model, n_respondents, n_items, missing):
    """A share of benchmarks/coverage.py; with items taken as known, all of these fail."""
    first, second = np.triu_indices(n_respondents, 1)
    held = []
    for seed in range(24):
        responses, truth = og.simulate(
            model, n_respondents, n_items, missing=missing, random_state=seed
        )
        errors = og.calibrate(responses, model, progress=False).ability_covariance()
        off = errors.ability - truth.abilities["ability"].to_numpy()
        apart = np.abs(off[first] - off[second])
        held.append(np.mean(apart <= 1.959964 * errors.difference_se(first, second)))
    assert 0.92 <= np.mean(held) <= 0.99


@pytest.mark.slow
def test_errors_are_those_of_a_parametric_bootstrap():
    """Tables drawn from the calibration, with new respondents, calibrated again."""
    cal = og.calibrate(og.simulate("2pl", 100, 60, random_state=8).responses, "2pl")
    first, second = np.triu_indices(100, 1)
    seen, told = [], []
    for seed in range(20):
        responses, truth = og.simulate("2pl", 100, items=cal.items, random_state=seed)
        errors = og.calibrate(responses, "2pl", progress=False).ability_covariance()
        off = errors.ability - truth.abilities["ability"].to_numpy()
        seen.append(np.mean((off[first] - off[second]) ** 2))
        told.append(np.mean(errors.difference_se(first, second) ** 2))
    assert np.sqrt(np.mean(seen) / np.mean(told)) == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "n_respondents", "n_items", "missing"),
    [
        ("2pl", 200, 60, 0.0),
        ("2pl", 60, 100, 0.3),
        ("graded", 160, 25, 0.0),
        ("graded", 50, 40, 0.2),
    ],
)
def test_errors_are_those_of_many_draws_of_the_items(model, n_respondents, n_items, missing):
    """Multiple imputation (Yang, Hansen and Cai, 2012), as mirt's fscores(MI=) does it.

    Every draw of the items scores all respondents anew: no derivative is involved. The variance
    within draws and that between them are the whole error.
    """
    drawn = og.simulate(model, n_respondents, n_items, missing=missing, random_state=4).responses
    cal = og.calibrate(drawn, model, progress=False)
    items = pooled_items(cal.uncertainty, cal.coords)
    own = items.covariances - np.einsum("kni,knj->nij", items.shared, items.shared)
    values, vectors = np.linalg.eigh(own)
    root = vectors * np.sqrt(np.maximum(values, 0.0))[:, None]
    data = encode(cal.placed(drawn), cal.model, collapsing=False)
    random, abilities, within = np.random.default_rng(0), [], []
    for _ in range(400):
        coords = items.coords + np.einsum("nij,nj->ni", root, random.normal(size=own.shape[:2]))
        coords = coords + np.einsum(
            "kni,k->ni", items.shared, random.normal(size=len(items.shared))
        )
        found = score_abilities(data, cal.model, cal.model.bounded(coords), cal.population)
        abilities.append(found.ability)
        within.append(found.se**2)
    joint = np.cov(np.array(abilities).T) + np.diag(np.mean(within, axis=0))
    told = cal.ability_covariance()
    first, second = np.triu_indices(n_respondents, 1)
    apart = joint[first, first] + joint[second, second] - 2 * joint[first, second]
    moved = told.offset  # from the items as reported to those that the errors belong to
    ratio = np.sqrt(np.diag(joint) / (told.variance - moved**2))
    far = told.difference_se(first, second) ** 2 - (moved[first] - moved[second]) ** 2
    # 400 draws know a standard deviation to 3.5 %.
    assert np.median(ratio) == pytest.approx(1.0, abs=0.03)
    assert np.median(np.sqrt(apart / far)) == pytest.approx(1.0, abs=0.03)
    assert np.quantile(np.abs(ratio - 1), 0.95) < 0.1


def test_records_are_frozen_and_those_of_arrays_are_equal_to_themselves_alone(records):
    records(irt)
