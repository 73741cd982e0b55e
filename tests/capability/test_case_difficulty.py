"""Cases stand where they look like a class, by their features alone."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.estimator_checks import check_estimator

from ogive._progress import told_of_stages
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.coding import Coding, Grades
from ogive.errors import InputError


@pytest.mark.slow
def test_the_contract_of_scikit_learn_holds():
    check_estimator(CaseDifficulty(), on_skip=None)


def test_columns_of_transform_have_names_and_set_output_works():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    y = np.where(X["a"] > 0, "ill", "well")
    scale = CaseDifficulty().fit(X, y)
    assert scale.get_feature_names_out().tolist() == ["cdi_ill", "cdi_well"]
    plain = scale.transform(X)
    framed = CaseDifficulty().set_output(transform="pandas").fit(X, y)
    found = framed.transform(X)
    assert list(found.columns) == ["cdi_ill", "cdi_well"]
    assert found.index.equals(X.index)
    np.testing.assert_array_equal(found.to_numpy(), plain)
    np.testing.assert_array_equal(framed.difficulty(X, y), scale.difficulty(X, y))
    polars = pytest.importorskip("polars")
    there = framed.set_output(transform="polars").transform(polars.from_pandas(X))
    assert there.columns == ["cdi_ill", "cdi_well"]


def test_a_target_of_many_numbers_is_doubted_at_once():
    X = np.random.default_rng(0).normal(size=(750, 2))
    # Tests turn warnings into errors, so that nothing is fitted here.
    with pytest.raises(UserWarning, match=r"250 distinct numbers.*regression"):
        CaseDifficulty().fit(X, np.arange(750) % 250)


@pytest.fixture(scope="module")
def fitted(two_classes):
    return CaseDifficulty().fit(*two_classes)


def test_the_index_is_standardised_and_high_for_cases_like_the_class(fitted, two_classes):
    X, y = two_classes
    cdi = fitted.transform(X)
    np.testing.assert_allclose(cdi.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(cdi.std(axis=0), 1)
    np.testing.assert_array_equal(cdi[:, 0], -cdi[:, 1])
    star = cdi[:, list(fitted.classes_).index("star")]
    assert star[y == "star"].mean() > 0.6 > -0.6 > star[y == "other"].mean()


def test_directions_are_aligned_with_the_outcome_and_reported(fitted):
    found = fitted.directions_
    assert list(found["direction_star"]) == [1, -1, 1, -1]
    assert list(found["direction_other"]) == [-1, 1, -1, 1]
    assert found["rule"].str.contains("up to").all()


def test_difficulty_is_minus_the_index_of_the_own_class(fitted, two_classes):
    X, y = two_classes
    cdi = fitted.transform(X)
    expected = np.where(y == "star", -cdi[:, 1], -cdi[:, 0])
    np.testing.assert_array_equal(fitted.difficulty(X, y), expected)
    with pytest.raises(InputError, match="planet"):
        fitted.difficulty(X, np.full(len(X), "planet"))
    with pytest.raises(InputError, match="1 label, but 400 cases"):
        fitted.difficulty(X, ["star"])


def test_new_cases_are_known_by_name_in_any_order(fitted, two_classes):
    X = two_classes[0].head(5)
    again = fitted.transform(X[["d", "c", "b", "a"]].assign(extra=1.0))
    np.testing.assert_array_equal(again, fitted.transform(X))
    with pytest.raises(InputError, match=r"lack 1 feature \(b\)"):
        fitted.transform(X.drop(columns="b"))


def test_missing_features_are_never_asked_and_widen_the_error(fitted, two_classes):
    X = two_classes[0].head(6)
    holes = X.copy()
    holes.iloc[:3, 0] = np.nan
    holes.iloc[4] = np.nan
    whole, part = fitted.indices(X), fitted.indices(holes)
    assert list(part.index) == list(X.index)
    assert np.isfinite(part.to_numpy()).all()
    assert part["cdi_star_se"].iloc[4] > whole["cdi_star_se"].iloc[4]
    np.testing.assert_array_equal(part.iloc[5], whole.iloc[5])


@pytest.mark.parametrize("settings", [{}, {"levels": 2}, {"model": "gpcm"}])
def test_the_index_never_falls_when_a_turned_grade_rises(settings, two_classes):
    scale = CaseDifficulty(**settings).fit(*two_classes).scales_[0]
    tops = [max(turn) for turn in scale.turns]
    patterns = np.array(list(product(*([-1, *range(top + 1)] for top in tops))))
    back = [np.argsort(turn) for turn in scale.turns]
    grades = np.column_stack([turn[column] for turn, column in zip(back, patterns.T, strict=True)])
    index, se = scale.place(np.where(patterns < 0, np.nan, grades))
    at = {tuple(row): value for row, value in zip(patterns.tolist(), index, strict=True)}
    for row, value in at.items():
        higher = [(*row[:k], row[k] + 1, *row[k + 1 :]) for k in range(4) if row[k] >= 0]
        assert all(at.get(one, np.inf) >= value - 1e-9 for one in higher)
    assert (se > 0).all()
    assert (se < 2).all()


def test_a_class_between_the_others_has_a_scale_of_its_own(three_classes):
    X, y = three_classes
    scale = CaseDifficulty().fit(X, y)
    cdi = scale.transform(X)
    assert (scale.directions_["direction_1"] == 0).all()
    for label in range(3):
        assert cdi[y == label, label].mean() > cdi[y != label, label].mean() + 0.8


def test_binary_items_take_the_2pl_and_grades_the_graded_model(two_classes):
    X, y = two_classes
    coding = Coding.of({name: Grades((0.0,)) for name in X})
    assert CaseDifficulty(coding).fit(X, y).calibrations_[0].model.name == "2pl"
    assert CaseDifficulty().fit(X, y).calibrations_[0].model.name == "graded"


def test_a_saved_scale_places_cases_as_before(fitted, two_classes, three_classes):
    for scale, X in (
        (fitted, two_classes[0]),
        (CaseDifficulty(levels=3).fit(*three_classes), three_classes[0]),
    ):
        document = json.loads(json.dumps(scale.to_dict(), allow_nan=False))
        again = CaseDifficulty.from_dict(document)
        np.testing.assert_array_equal(again.transform(X), scale.transform(X))
        assert again.classes_.tolist() == scale.classes_.tolist()


def test_a_foreign_or_damaged_document_is_refused(subtests, fitted):
    cases = [
        ({"version": 2}, "version 2"),
        ({"schema": "ogive/calibration"}, "schema"),
        ({"classes": ["a"]}, "do not fit"),
        ({"scales": []}, "do not fit"),
        ({"labels": "O"}, "labels"),
        ({"labels": "<U100000000"}, "labels"),
        ({"classes": [["other"], ["star"]]}, "do not fit"),
        ({"coding": None}, "not a case difficulty"),
    ]
    for change, why in cases:
        with subtests.test(change=change, why=why):
            with pytest.raises(InputError, match=why):
                CaseDifficulty.from_dict({**fitted.to_dict(), **change})
            whole = fitted.to_dict()
            del whole["scales"]
            with pytest.raises(InputError, match="'scales' is missing"):
                CaseDifficulty.from_dict(whole)


def test_texts_and_numbers_make_one_scale():
    random = np.random.default_rng(3)
    y = np.arange(120) % 2
    colour = np.where(random.random(120) < 0.2, "blue", np.where(y == 1, "red", "green"))
    X = pd.DataFrame({"colour": colour, "size": y + random.normal(size=120)})
    cdi = CaseDifficulty().fit(X, y).transform(X)[:, 1]
    assert cdi[colour == "red"].mean() > cdi[colour == "blue"].mean()
    assert cdi[colour == "blue"].mean() > cdi[colour == "green"].mean()


def test_cases_that_tell_nothing_are_refused_with_a_sentence(subtests):
    cases = [
        (np.ones((9, 2)), np.arange(9) % 2, "No feature distinguishes cases"),
        (np.eye(9), np.zeros(9), "one class"),
        (np.eye(3), [0, 1, 0], "fewer than the 4 levels"),
        (pd.DataFrame({"x": [f"text {k}" for k in range(60)]}), np.arange(60) % 2, "free text"),
    ]
    for X, y, why in cases:
        with subtests.test(X=X, y=y, why=why), pytest.raises(InputError, match=why):
            CaseDifficulty().fit(X, y)


@pytest.mark.parametrize(
    ("settings", "why"),
    [({"levels": 1}, "levels"), ({"model": "3pl"}, "model"), ({"coding": 3}, "coding")],
)
def test_settings_that_cannot_be_used_are_named(settings, why, two_classes):
    with pytest.raises(InputError, match=why):
        CaseDifficulty(**settings).fit(*two_classes)


def test_a_feature_that_is_constant_under_the_coding_is_left_out_and_said(two_classes):
    X, y = two_classes
    coding = Coding.of({"a": Grades((0.0,)), "b": Grades((99.0,)), "c": Grades((0.0,))})
    scale = CaseDifficulty(coding).fit(X, y)
    assert scale.coding_.names == ("a", "c")
    assert "(constant over the training cases): 1 item (b)" in scale.notes_[0]
    with pytest.raises(InputError, match="constant"):
        CaseDifficulty(Coding.of({"a": Grades((99.0,))})).fit(X, y)


def test_many_classes_are_counted_while_their_scales_are_learned(three_classes):
    said = []
    with told_of_stages(said.append):
        CaseDifficulty().fit(*three_classes)
    assert said[0] == "0 of 3, scales of classes"
    assert [text.partition(",")[0] for text in said] == ["0 of 3", "1 of 3", "2 of 3"]
    assert said[-1].endswith(" left")
