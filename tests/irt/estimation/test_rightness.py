"""Ability goes with being right, also where respondents mostly differ in the class they prefer."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import spearmanr

from ogive import EM, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.constrained_scales import (
    Anchored,
    Preference,
    calibrate_by_rightness,
    class_preference,
    said_of_direction,
)

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
