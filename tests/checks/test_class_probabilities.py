"""Scores and labels in the forms that people have them; what does not fit is explained."""

import numpy as np
import pandas as pd
import pytest

from ogive.checks.mislabelled_items import read_probabilities
from ogive.errors import InputError

SCORES = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.0, 0.0, 1.0]])
NAMES = ["ape", "bee", "cat"]
LABELS = ["ape", "bee", "cat", "ape"]


def test_forms_of_scores_are_the_same_numbers(subtests):
    frame = pd.DataFrame(SCORES, columns=NAMES)
    shuffled = frame[["cat", "ape", "bee"]]
    forms = {
        "array": (SCORES, LABELS, None),
        "lists": (SCORES.tolist(), LABELS, NAMES),
        "codes": (SCORES, [0, 1, 2, 0], None),
        "frame": (frame, LABELS, None),
        "frame, other order": (shuffled, pd.Series(LABELS), NAMES),
        "one of several": ({"a": frame, "b": SCORES}, LABELS, None),
        "third axis": (np.stack([SCORES, SCORES]), LABELS, None),
        "half precision": (SCORES.astype(np.float16), LABELS, None),
    }
    for name, given in forms.items():
        with subtests.test(name):
            found = read_probabilities(*given)
            np.testing.assert_allclose(found.scores[0], SCORES, atol=1e-3)
            assert found.labels.tolist() == [0, 1, 2, 0]
            assert found.items == ("row_0", "row_1", "row_2", "row_3")


def test_frames_of_polars_are_read():
    polars = pytest.importorskip("polars", reason="polars is not installed")
    frame = polars.DataFrame({name: SCORES[:, k] for k, name in enumerate(NAMES)})
    found = read_probabilities(frame, polars.Series(LABELS))
    np.testing.assert_allclose(found.scores[0], SCORES)
    assert found.classes == tuple(NAMES)


def test_an_index_names_the_items_and_orders_the_rows():
    frame = pd.DataFrame(SCORES, columns=NAMES, index=list("wxyz"))
    found = read_probabilities({"a": frame, "b": frame.iloc[::-1]}, LABELS)
    assert found.items == tuple("wxyz")
    np.testing.assert_allclose(found.scores[1], SCORES)
    assert read_probabilities(frame, LABELS, items=list("wxyz")).items == tuple("wxyz")
    with pytest.raises(InputError, match="a row 'w' where the calibration has another item"):
        read_probabilities(frame, LABELS, items=list("zyxw"))


def test_truth_values_and_a_class_without_a_label_are_fine():
    two = SCORES[:, :2] / SCORES[:, :2].sum(axis=1, keepdims=True).clip(0.1)
    two[3] = [0.5, 0.5]
    assert read_probabilities(two, [True, False, True, True]).labels.tolist() == [1, 0, 1, 1]
    assert read_probabilities(SCORES, ["ape"] * 4, NAMES).classes == tuple(NAMES)


def changed(row, column, value):
    scores = SCORES.copy()
    scores[row, column] = value
    return scores


BAD = {
    "sum": (changed(1, 1, 0.3), LABELS, None, r"1 item \(row_1\): they do not sum to one"),
    "nan": (changed(2, 0, np.nan), LABELS, None, r"\(row_2\): a probability is missing"),
    "negative": (SCORES - 0.15, LABELS, None, "one is not from 0 to 1"),
    "all gaps": (np.full((4, 3), np.nan), LABELS, None, "hold no number"),
    "text": (np.full((4, 3), "a"), LABELS, None, "are not all numbers"),
    "no labels": (SCORES, None, None, "without labels"),
    "labels of another length": (
        SCORES,
        LABELS[:3],
        None,
        r"shape \(4, 3\), but there are 3 labels",
    ),
    "labels in a table": (SCORES, [LABELS], None, "should be a list"),
    "labels of another type": (SCORES, [1, 2, 3, 1], NAMES, "of type int, they are of type str"),
    "labels of two types": (SCORES, np.array([1, "a", 2, 3], dtype=object), None, "mix types"),
    "a missing label": (
        SCORES,
        ["ape", None, "bee", "cat"],
        None,
        r"The label is missing for 1 item \(row_1\)",
    ),
    "a label that is no number": (SCORES, [0.0, 1.0, np.nan, 2.0], None, r"missing .* \(row_2\)"),
    "the probability of one class": (SCORES[:, 1], LABELS, None, "not one of its columns"),
    "one label for two columns": (SCORES, ["ape"] * 4, None, "have 1 different value. Say"),
    "an absent class": (np.full((4, 2), 0.5), LABELS, ["ape", "bee"], "'cat' of row_2 is none"),
    "a class without a column": (
        SCORES,
        ["ape", "bee", "cat", "dog"],
        NAMES,
        "'dog' of row_3 is none",
    ),
    "fewer labels than columns": (SCORES, ["ape", "bee", "ape", "bee"], None, "classes="),
    "other columns": (
        pd.DataFrame(SCORES, columns=["p0", "p1", "p2"]),
        LABELS,
        NAMES,
        "a column 'p0', which is none of the classes 'ape', 'bee', 'cat'",
    ),
    "columns that are no labels": (
        pd.DataFrame(SCORES, columns=["p0", "p1", "p2"]),
        LABELS,
        None,
        "'ape' of row_0 is none of the classes 'p0', 'p1', 'p2'",
    ),
    "one class": (np.ones((4, 1)), ["ape"] * 4, None, "one class only"),
    "a class twice": (SCORES, LABELS, ["ape", "ape", "bee"], "name a class twice"),
    "no model": ({}, LABELS, None, "scores are empty"),
    "one model with a gap": (
        {"a": SCORES, "b": np.where(np.arange(4)[:, None] == 2, np.nan, SCORES)},
        LABELS,
        None,
        "scores of 'b' are missing for row_2",
    ),
}


@pytest.mark.parametrize(("scores", "labels", "classes", "words"), BAD.values(), ids=BAD.keys())
def test_what_does_not_fit_is_explained_in_one_sentence(scores, labels, classes, words):
    with pytest.raises(InputError, match=words):
        read_probabilities(scores, labels, classes)
