"""Robust standard errors: by hand, by another way, and against the spread of estimates."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from ogive import calibrate, load, simulate
from ogive.errors import InputError
from ogive.irt.estimation import multistart as resting_places
from ogive.irt.estimation import standard_errors as observed_information
from ogive.irt.models import MODELS

POINTS = np.linspace(-7, 7, 201)
PRIOR = np.array([1 / 3**2, 1 / 5**2])  # precision of discrimination and intercept


def log_likelihoods(coords, responses):
    """Of each respondent, under the 2PL, by plain sums over a grid."""
    slope, intercept = coords.reshape(-1, 2).T
    z = slope[:, None] * POINTS + intercept[:, None]
    right, wrong = -np.logaddexp(0, -z), -np.logaddexp(0, z)
    asked = ~np.isnan(responses)
    given = np.where(asked, responses, 0)
    joint = given @ right + (asked - given) @ wrong - POINTS**2 / 2
    return logsumexp(joint, axis=1)


def differences(function, at, step):
    ways = step * np.eye(at.size)
    return np.stack([(function(at + way) - function(at - way)) / (2 * step) for way in ways])


def dependent(n_respondents, n_items, seed):
    """Responses of which those to neighbours go together beyond the ability."""
    random = np.random.default_rng(seed)
    effects = np.repeat(random.normal(size=(n_respondents, n_items // 5)), 5, axis=1)
    ability = random.normal(size=(n_respondents, 1)) + effects
    return (random.random(effects.shape) < expit(ability)).astype(float)


def without_whole(monkeypatch):
    """As if items were too many to invert their information as a whole."""
    for module in (observed_information, resting_places):
        monkeypatch.setattr(module, "MAX_EXACT", 0)


def test_errors_are_inverse_products_of_scores_inverse():
    """With numerical slopes of a likelihood that is written a second time."""
    responses = simulate("2pl", 200, 5, missing=0.1, random_state=1).responses
    found = calibrate(responses, "2pl", se="robust", priors=None)
    at = found.coords.reshape(-1)
    scores = differences(lambda x: log_likelihoods(x, responses.values), at, 1e-4)
    total = lambda x: differences(  # noqa: E731
        lambda y: log_likelihoods(y, responses.values).sum(), x, 1e-3
    )
    inverse = np.linalg.inv(-differences(total, at, 1e-3))
    scores = scores - scores.mean(axis=1, keepdims=True)
    whole = inverse @ scores @ scores.T @ inverse
    asked = (~np.isnan(responses.values)).sum(axis=0)
    for k in range(5):
        own = slice(2 * k, 2 * k + 2)
        expected = whole[own, own] / (1 - 2 / asked[k])
        np.testing.assert_allclose(found.uncertainty.covariances[k], expected, rtol=2e-3)


def test_many_items_go_the_other_way_to_the_same_errors(monkeypatch, subtests):
    """Item by item with a common scale, where the whole inverse would be too large.

    With 20 items the model's own errors differ by up to 3 % between the ways; products by twice.
    """
    for model in ["1pl", "2pl", "3pl", "graded", "continuous"]:
        with subtests.test(model):
            responses = simulate(model, 800, 20, missing=0.1, random_state=2).responses
            whole = calibrate(responses, model, se="robust").items
            without_whole(monkeypatch)
            by_item = calibrate(responses, model, se="robust").items
            monkeypatch.undo()
            names = [f"{name}_se" for name in ("discrimination", "difficulty")]
            ratio = by_item[names] / whole[names]
            assert ratio.median().between(0.94, 1.06).all()


def test_an_item_of_known_abilities_has_the_errors_of_a_robust_regression():
    """Of many items abilities are nearly known: White's (1982) errors of a logistic regression."""
    random = np.random.default_rng(3)
    ability = random.normal(size=300)
    slope, place = np.full(400, 1.5), np.linspace(-2, 2, 400)
    chance = expit(slope * (ability[:, None] - place))
    responses = (random.random(chance.shape) < chance).astype(float)
    found = calibrate(responses, "2pl", se="robust")
    design = np.stack([found.abilities()["ability"], np.ones(300)], axis=1)
    ratios = []
    for k in range(0, 400, 40):
        chance = expit(design @ found.coords[k])
        inverse = np.linalg.inv((design.T * chance * (1 - chance)) @ design + np.diag(PRIOR))
        scores = design * (responses[:, k] - chance)[:, None]
        own = inverse @ (scores.T @ scores) @ inverse
        shared = found.uncertainty.shared[:, k]
        ratios.append(np.diag(found.uncertainty.covariances[k] - shared.T @ shared) / np.diag(own))
    np.testing.assert_allclose(np.median(ratios, axis=0), 1.0, atol=0.1)


@pytest.mark.slow
def test_errors_are_those_of_the_model_where_the_model_is_right(subtests):
    for name, family in MODELS.items():
        with subtests.test(name):
            responses = simulate(name, 400, 10, missing=0.1, random_state=3).responses
            plain, robust = (calibrate(responses, name, se=se) for se in ("model", "robust"))
            assert plain.coords.tobytes() == robust.coords.tobytes()
            columns = [f"{c.name}_se" for c in family().coordinates]
            columns = [c for c in columns if c in plain.items] + ["difficulty_se"]
            ratio = robust.items[columns] / plain.items[columns]
            assert ratio.median().between(0.85, 1.15).all()


def test_priors_count_for_as_much_as_they_do_in_the_model():
    """Few responses determine guessing: its error is its prior's, and none of sampling."""
    responses = simulate("3pl", 60, 30, random_state=1).responses
    plain, robust = (calibrate(responses, "3pl", se=se).items for se in ("model", "robust"))
    ratio = robust["guessing_se"] / plain["guessing_se"]
    assert ratio.quantile([0.25, 0.5, 0.75]).between(0.95, 1.1).all()


def test_weights_stand_for_respondents():
    responses = simulate("2pl", 150, 30, random_state=3).responses.values
    weights = np.where(np.arange(150) < 50, 2.0, 1.0)
    weighted = calibrate(responses, "2pl", weights=weights, se="robust")
    twice = calibrate(np.vstack([responses, responses[:50]]), "2pl", se="robust")
    np.testing.assert_allclose(
        weighted.items["discrimination_se"], twice.items["discrimination_se"], rtol=1e-3
    )


def test_items_beside_a_bank_have_robust_errors_too(monkeypatch):
    truth = simulate("2pl", 600, 12, random_state=4)
    bank = calibrate(truth.responses.select(items=truth.responses.items[:8]), "2pl")
    plain, robust = (
        calibrate(truth.responses, fixed=bank, se=se).items.iloc[8:] for se in ("model", "robust")
    )
    ratio = robust["discrimination_se"] / plain["discrimination_se"]
    assert ratio.between(0.8, 1.25).all()
    without_whole(monkeypatch)
    by_item = calibrate(truth.responses, fixed=bank, se="robust").items.iloc[8:]
    np.testing.assert_allclose(by_item["discrimination_se"], robust["discrimination_se"], rtol=0.03)


def test_a_shape_of_the_population_goes_with_robust_errors():
    responses = simulate("2pl", 300, 20, random_state=5).responses
    plain, robust = (
        calibrate(responses, "2pl", population="histogram", se=se) for se in ("model", "robust")
    )
    ratio = robust.items["discrimination_se"] / plain.items["discrimination_se"]
    assert ratio.median() == pytest.approx(1, abs=0.1)


def test_errors_do_not_depend_on_device_or_workers():
    pytest.importorskip("torch")
    responses = simulate("graded", 200, 40, missing=0.1, random_state=6).responses
    asked = {"model": "graded", "se": "robust", "tolerance": 1e-12}  # ways to the end differ
    one = calibrate(responses, **asked, n_jobs=1)
    for settings in ({"n_jobs": 2}, {"device": "cpu"}):
        other = calibrate(responses, **asked, **settings)
        np.testing.assert_allclose(
            other.items["discrimination_se"], one.items["discrimination_se"], rtol=1e-5
        )


def test_robust_errors_are_said_and_saved(tmp_path):
    responses = simulate("2pl", 100, 6, random_state=7).responses
    robust, plain = (calibrate(responses, "2pl", se=se) for se in ("robust", "model"))
    assert any("robust (sandwich" in note for note in robust.notes)
    assert not any("robust" in note for note in plain.notes)
    again = load(robust.save(tmp_path / "bank.json"))
    assert again.items.equals(robust.items)
    assert again.notes == robust.notes


def test_errors_of_an_unknown_kind_are_refused(subtests):
    responses = simulate("2pl", 50, 5, random_state=0).responses
    for se in ["sandwich", None, True]:
        with (
            subtests.test(se=se),
            pytest.raises(InputError, match=r"`se` must be 'model' .*'robust'"),
        ):
            calibrate(responses, "2pl", se=se)
    with pytest.raises(InputError, match=r"no argument 'se'.*joint"):
        calibrate(responses, "2pl", engine="joint", se="robust")


@pytest.mark.slow
def test_errors_are_the_spread_of_estimates_where_items_depend_on_each_other():
    """Over tables drawn anew, and over respondents drawn again from one table."""
    drawn = [calibrate(dependent(400, 20, seed), "2pl", se="robust") for seed in range(60)]
    spread = np.std([found.items["discrimination"] for found in drawn], axis=0, ddof=1)
    said = np.mean([found.items["discrimination_se"] for found in drawn], axis=0)
    assert np.median(said / spread) == pytest.approx(1, abs=0.1)
    table, random = dependent(400, 20, 100), np.random.default_rng(0)
    found = calibrate(table, "2pl", se="robust").items["discrimination_se"]
    again = [
        calibrate(table[random.integers(0, 400, 400)], "2pl").items["discrimination"]
        for _ in range(100)
    ]
    assert np.median(found / np.std(again, axis=0)) == pytest.approx(1, abs=0.12)


@pytest.mark.slow
def test_robust_intervals_cover_what_the_model_finds_in_many_respondents():
    """One response in ten is a coin's: the true value is out of reach of any standard error."""
    slope, place = np.random.default_rng(0).normal([[1.2], [0]], [[0.2], [1]], (2, 30))

    def contaminated(n, seed):
        random = np.random.default_rng(seed)
        chance = expit(slope * (random.normal(size=(n, 1)) - place))
        which = random.random(chance.shape) < 0.1
        return (random.random(chance.shape) < np.where(which, 0.5, chance)).astype(float)

    nearest = calibrate(contaminated(100_000, 0), "2pl").items["discrimination"]
    assert (nearest / slope).mean() < 0.85
    covered = {"true": [], "nearest": []}
    for seed in range(1, 16):
        found = calibrate(contaminated(1000, seed), "2pl", se="robust").items
        for name, value in {"true": slope, "nearest": nearest}.items():
            off = (found["discrimination"] - value).abs()
            covered[name].append((off < 1.96 * found["discrimination_se"]).mean())
    assert np.mean(covered["nearest"]) > 0.92
    assert np.mean(covered["true"]) < 0.8
