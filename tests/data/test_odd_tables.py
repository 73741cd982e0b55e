"""Tables as spreadsheets and editors leave them: read, or refused with what to do about it."""

import re

import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError, OgiveError
from ogive.evaluation.battles import read_battles
from ogive.evaluation.facet_estimates import read_ratings

HALVES = ["m\ud83d", "m\ud83e"] * 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model;q\na;87%\nb;12,5%\n", r"'87%'.*without the percent sign, as 0\.87"),
        ("model;q\na;1\nb;12,5 %\n", r"without the percent sign, as 0\.125"),
        ("model;q\na;0,5\nb;1\n", r"'0,5'.*decimal point, as 0\.5"),
        ('model,item,score\na,i,"0,25"\n', r"decimal point, as 0\.25"),
        ("model,q\na,#DIV/0!\nb,1\n", "a spreadsheet shows for an error"),
        ("model,q\na,1_000\nb,1\n", "'1_000', which is not a number"),
        ("model,q\na,0x10\nb,1\n", "'0x10', which is not a number"),
        ("model,q\na,1e999\nb,1\n", "is infinite"),
        ("sep=;\nmodel;q\na;1\n", "begins with 'sep=;'.*Remove this line"),
        ("model|q\na|1\nb|0\n", "only one column, 'model|q'.*commas, semicolons or tabs"),
        ("model,q,\na,1,\nb,0,\n", "its lines end with a delimiter"),
    ],
)
def test_what_spreadsheets_write_is_refused_with_what_to_do(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(OgiveError, match=words):
        og.read_responses(path)


@pytest.mark.parametrize(
    "content",
    [
        "\ufeffmodel,p,q\na,1,0\nb,0,1\n",
        "model,p,q\ra,1,0\rb,0,1\r",
        "model\tp\tq\r\na\t1\t0\nb\t0\t1\r\n",
        '\n"model";"p";"q"\n\na;1;0\nb;0;1\n',
    ],
)
def test_marks_line_ends_and_delimiters_of_any_editor_are_read(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_bytes(content.encode())
    found = og.read_responses(path)
    assert found.to_frame().to_numpy().tolist() == [[1, 0], [0, 1]]
    assert (found.respondents, found.items) == (("a", "b"), ("p", "q"))
    assert not found.notes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model,q1,q1 ,q2\na,1,0,1\nb,0,1,1\n", "item names 'q1' and 'q1 ' look the same"),
        ("model,p,q\ncaf\u00e9,1,0\ncafe\u0301,0,1\n", "respondent names .*u0301.* look the same"),
    ],
)
def test_names_that_look_the_same_are_said(tmp_path, text, words):
    path = tmp_path / "a.csv"
    path.write_text(text)
    (note,) = og.read_responses(path).notes
    assert re.search(words, note)


def test_names_with_spaces_that_differ_are_not_said(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("model,item one,item two\nmodel one,1,0\nmodel two,0,1\n")
    assert not og.read_responses(path).notes


@pytest.mark.parametrize(
    ("read", "columns"),
    [
        (
            lambda frame: read_battles(frame, None, None, None),
            {"model_a": HALVES, "model_b": ["x"] * 4, "winner": ["model_a"] * 4},
        ),
        (
            lambda frame: read_ratings(
                frame, dict.fromkeys(("respondent", "item", "judge", "score"))
            ),
            {"model": HALVES, "item": list("iijj"), "judge": list("uvuv"), "score": [0, 1, 1, 0]},
        ),
        (
            og.read_runs,
            {"problem": list("ppqq"), "solver": HALVES, "runtime": [1.0, 2.0, 3.0, 4.0]},
        ),
        (
            og.Responses.from_long,
            {"respondent": HALVES, "item": list("iijj"), "response": [0, 1, 1, 0]},
        ),
    ],
)
def test_half_a_character_in_a_frame_is_refused(read, columns):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    with pytest.raises(InputError, match=r"'m\\ud83d'.* holds half a character"):
        read(frame)
