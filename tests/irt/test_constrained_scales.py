"""Scales whose direction artificial respondents give, and scales with equal slopes."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import spearmanr

import ogive as og
from ogive import EM, calibrate, simulate
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.constrained_scales import (
    ERROR_MODELS,
    Anchored,
    Preference,
    calibrate_by_rightness,
    calibrate_equal_slopes,
    class_preference,
    error_grades,
    said_of_direction,
)
from ogive.irt.models.continuous import Continuous

N_ITEMS = 80
ITEMS = [f"i{k}" for k in range(N_ITEMS)]
LABELS = np.array(["no", "yes"])[(np.arange(N_ITEMS) % 10 < 4).astype(int)]


@pytest.fixture(scope="module")
def tasteful():
    """Respondents who differ little in being right, and much in how readily they say yes."""
    rng = np.random.default_rng(4)
    skill, taste = rng.normal(0, 0.4, 50), rng.normal(0, 1.5, 50)
    side = np.where(LABELS == "yes", 1.0, -1.0)
    chance = expit(0.8 + skill[:, None] + taste[:, None] * side + rng.normal(0, 1, N_ITEMS))
    cells = (rng.random(chance.shape) < chance).astype(float)
    return pd.DataFrame(cells, columns=ITEMS), skill


def standing(calibration, *rows):
    table = pd.DataFrame(np.array(rows, dtype=float), columns=list(calibration.item_names))
    return calibration.score(table, items_known=True)["ability"].to_numpy()


def constants():
    return [np.ones(N_ITEMS), *((label == LABELS).astype(float) for label in ("no", "yes"))]


def test_a_scale_of_preference_is_recognised_by_labels_and_without_them(tasteful):
    table, _ = tasteful
    plain = calibrate(table, "2pl", progress=False)
    right, no, yes = standing(plain, *constants())
    assert max(no, yes) > right  # the defect: one class throughout stands above being right
    why = class_preference(plain, LABELS)
    assert why.preferred == ("no" if no > yes else "yes")
    assert why.turned != why.preferred
    assert why.in_turned > 0.9 * why.negative
    assert f"always choosing {why.preferred}" in why.opening()
    blind = class_preference(plain)
    assert (blind.negative, blind.informative) == (why.negative, why.informative)
    assert blind.turned == blind.preferred == ""


@pytest.mark.slow
def test_being_right_stands_above_every_constant_choice_after_anchoring(tasteful, subtests):
    table, skill = tasteful
    plain = calibrate(table, "2pl", progress=False).abilities()["ability"]
    for model in ("2pl", "3pl"):
        for labels in (LABELS, None):
            with subtests.test(model=model, labels=labels is not None):
                found = calibrate_by_rightness(table, model, labels=labels)
                right, no, yes = standing(found, *constants())
                assert right > max(no, yes)
                assert right >= found.abilities()["ability"].max()
                ability = found.abilities()["ability"]
                assert len(ability) == len(table)  # the artificial ones are not among them
                assert spearmanr(ability, skill)[0] > spearmanr(plain, skill)[0] + 0.2
                (note,) = said_of_direction(found)
                assert note == found.notes[0]
                assert "measure being right" in note


def test_an_ordinary_table_is_calibrated_as_ever():
    table = simulate("2pl", 80, 20, random_state=1).responses
    found, plain = calibrate_by_rightness(table, "2pl"), calibrate(table, "2pl", progress=False)
    np.testing.assert_array_equal(found.coords, plain.coords)
    assert found.notes == plain.notes
    assert said_of_direction(found) == ()


def test_wrong_labels_in_both_classes_are_no_preference():
    drawn = simulate("2pl", 60, N_ITEMS, random_state=5).responses
    cells = np.array(drawn.cells, dtype=float)
    cells[:, ::8] = 1 - cells[:, ::8]  # of both classes
    plain = calibrate(pd.DataFrame(cells, columns=ITEMS), "2pl", progress=False)
    assert (plain.items["discrimination"].to_numpy()[::8] < 0).mean() > 0.8
    assert class_preference(plain, LABELS) is None
    assert class_preference(plain) is None


def test_models_without_a_sign_and_scores_have_no_preference(tasteful):
    table, _ = tasteful
    assert class_preference(calibrate(table, "1pl", progress=False), LABELS) is None
    scores = simulate("graded", 60, 8, random_state=0).responses
    assert said_of_direction(calibrate_by_rightness(scores, "graded")) == ()


def test_the_log_likelihood_is_that_of_the_real_respondents(tasteful):
    table, _ = tasteful
    found = calibrate(table.iloc[:12, :10], "2pl", engine=Anchored(EM(), 0.2), progress=False)
    slope, intercept = found.coords.T

    def chance(row):
        def density(x):
            right = expit(slope * x + intercept)
            return np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * np.where(row, right, 1 - right).prod()

        return quad(density, -9, 9, limit=200)[0]

    rows = table.iloc[:12, :10].to_numpy() == 1
    assert found.log_likelihood == pytest.approx(sum(np.log(chance(r)) for r in rows), abs=1e-5)
    assert found.n_respondents == 12


def test_the_anchors_count_as_that_many_respondents(tasteful):
    """By definition: two more rows with a weight."""
    table = tasteful[0].iloc[:20, :10]
    more = pd.concat([table, pd.DataFrame([np.ones(10), np.zeros(10)], columns=table.columns)])
    more.index = [f"r{k}" for k in range(22)]
    by_hand = calibrate(more, "2pl", weights=[1.0] * 20 + [2.0] * 2, progress=False)
    found = calibrate(table, "2pl", engine=Anchored(EM(), 0.1), progress=False)
    np.testing.assert_allclose(found.coords, by_hand.coords, atol=1e-6)


def test_labels_of_other_items_are_refused(tasteful):
    plain = calibrate(tasteful[0], "2pl", progress=False)
    with pytest.raises(InputError, match="There are 3 labels for 80 items"):
        class_preference(plain, ["a", "b", "a"])


def test_wrong_labels_of_one_class_are_said_to_be_possible():
    """Negative items of one class alone do not show that respondents prefer a class."""
    sure = Preference(19, 136, "yes", 16, "no").opening()
    assert sure.startswith(
        "By these respondents alone, the scale did not measure being right: 19 of 136"
    )
    unsure = Preference(19, 136, "yes", 16, "").opening()
    assert "may not measure being right: 19 of 136" in unsure
    assert unsure.endswith("Labels of class yes may be wrong instead: check them.")
    spread = Preference(31, 150, "2", 11, "").opening()  # a third, of three classes
    assert spread.endswith("11 of them of class 2.")
    plain = Preference(19, 60, "", 0, "").opening()
    assert "may not measure being right: 19 of" in plain
    assert "labels" not in plain


def drawn(n=60, m=80, tau=0.5, sigma=0.8, seed=0, missing=0.0):
    random = np.random.default_rng(seed)
    ability, easiness = random.normal(size=n), random.normal(size=m)
    z = tau * ability[:, None] + easiness + sigma * random.normal(size=(n, m))
    z[random.random((n, m)) < missing] = np.nan
    return ability, easiness, z, og.Responses(1 / (1 + np.exp(-z)), kind="continuous")


def test_complete_scores_have_the_effects_of_an_analysis_of_variance():
    _, _, z, table = drawn(12, 9)
    found = calibrate_equal_slopes(table)
    rows, columns = z.mean(axis=1), z.mean(axis=0)
    residual = z - rows[:, None] - columns + z.mean()
    noise = (residual**2).sum() / (11 * 8)
    between = rows.var(ddof=1) - noise / 9
    np.testing.assert_allclose(found.coords[:, 1], columns, atol=1e-8)
    np.testing.assert_allclose(np.exp(2 * found.coords[:, 2]), noise, rtol=1e-6)
    np.testing.assert_allclose(found.coords[:, 0] ** 2, between / noise, rtol=1e-6)
    # The posterior mean of ability pulls the mean towards zero by its reliability.
    pulled = (rows - z.mean()) * np.sqrt(between) / (between + noise / 9)
    np.testing.assert_allclose(found.abilities()["ability"], pulled, atol=1e-6)


def test_statsmodels_finds_the_same_variances():
    mixed = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    import pandas as pd

    _, _, z, table = drawn(20, 12)
    long = pd.DataFrame({"z": z.ravel(), "who": np.repeat(range(20), 12)})
    long["item"] = np.tile(range(12), 20)
    fit = mixed.mixedlm("z ~ C(item)", long, groups="who").fit(reml=True)
    found = calibrate_equal_slopes(table)
    loading = found.coords[0, 0] * np.exp(found.coords[0, 2])
    np.testing.assert_allclose(loading**2, float(fit.cov_re.iloc[0, 0]), rtol=1e-3)
    np.testing.assert_allclose(np.exp(2 * found.coords[0, 2]), fit.scale, rtol=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_truth_is_recovered_within_its_errors(missing):
    ability, easiness, _, table = drawn(missing=missing, seed=3)
    found = calibrate_equal_slopes(table)
    assert found.coords[0, 0] * 0.8 == pytest.approx(0.5, abs=0.12)
    assert np.exp(found.coords[0, 2]) == pytest.approx(0.8, abs=0.03)
    origin = found.uncertainty.shared[1, 0, 1]  # an error that all items share
    errors = np.sqrt(found.uncertainty.covariances[:, 1, 1] - origin**2)
    off = (found.coords[:, 1] - easiness) / errors
    assert 0.8 < (off - off.mean()).std() < 1.2
    assert abs(np.mean(found.coords[:, 1] - easiness)) < 3 * origin
    placed = found.abilities()
    away = (placed["ability"] - ability) / placed["se"]
    assert 0.75 < (away - away.mean()).std() < 1.3


def test_respondents_that_do_not_differ_are_noted():
    _, _, _, table = drawn(20, 10, tau=0.0, seed=1)
    found = calibrate_equal_slopes(table)
    if found.coords[0, 0] < 1e-3:
        assert "do not differ by more than chance" in found.notes[0]
    same = calibrate_equal_slopes(og.Responses(np.tile([0.2, 0.5, 0.7], (4, 1)), kind="continuous"))
    assert "do not differ by more than chance" in same.notes[0]
    assert np.isfinite(same.abilities().to_numpy(dtype=float)).all()


def test_the_bank_can_be_kept_and_scores_new_respondents(tmp_path):
    _, _, _, table = drawn(30, 10)
    found = calibrate_equal_slopes(table)
    again = og.load(found.save(tmp_path / "bank.json"))
    assert isinstance(again.model, Continuous)
    np.testing.assert_allclose(again.score(table)["ability"], found.abilities()["ability"])


def test_too_little_is_refused():
    for cells in ([[0.5, 0.6]], [[0.5], [0.6]], [[0.5, np.nan], [0.6, np.nan]]):
        with pytest.raises(InputError, match="at least two of each"):
            calibrate_equal_slopes(og.Responses(cells, kind="continuous"))


def simulated(n_regressors=20, n_instances=30, seed=0):
    """Log-odds of scores: how good a regressor is, less how hard an instance is, and noise."""
    random = np.random.default_rng(seed)
    good, hard = random.normal(size=n_regressors), random.normal(size=n_instances)
    odds = 0.5 * good[:, None] - hard + random.normal(size=(n_regressors, n_instances))
    return Responses(1 / (1 + np.exp(-odds)), kind="continuous"), good, hard


@pytest.mark.parametrize(
    "name",
    [pytest.param(m, marks=pytest.mark.slow) if m == "beta" else m for m in ERROR_MODELS],
)
def test_every_model_recovers_who_is_good_and_what_is_hard(name):
    scores, good, hard = simulated()
    found = ERROR_MODELS[name](scores)
    # 30 scores with a noise of 1 give 0.94 for 20 regressors, and 0.85 three standard errors below;
    # 20 of them give 0.98 for instances. Grades tell a little less.
    assert np.corrcoef(found.abilities()["ability"], good)[0, 1] > 0.82
    assert np.corrcoef(found.items["difficulty"], hard)[0, 1] > 0.88


def test_grades_are_fifths_of_all_scores_and_gaps_stay():
    values = np.arange(50.0).reshape(5, 10) / 50
    values[0, 0] = np.nan
    grades = error_grades(Responses(values, kind="continuous")).values
    assert np.isnan(grades[0, 0])
    np.testing.assert_allclose(np.bincount(grades[~np.isnan(grades)].astype(int)), 10, atol=1)


def test_many_equal_scores_give_fewer_grades_and_one_score_none():
    values = np.where(np.arange(40).reshape(4, 10) % 4, 0.9, 0.2)
    grades = error_grades(Responses(values, kind="continuous")).values
    assert set(np.unique(grades)) == {0.0, 1.0}
    with pytest.raises(InputError, match="All scores of errors are equal"):
        error_grades(Responses(np.full((3, 3), 0.5), kind="continuous"))
