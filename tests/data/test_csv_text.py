"""What is exported as CSV is data for a spreadsheet, whatever models are called."""

import io

import numpy as np
import pandas as pd

import ogive as og
from ogive.results.csv_text import csv_text, restored

NAMES = [
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\tx",
    "\ry",
    "＝1",
    "'=quoted",
    "it's",
    None,
]
FRAME = pd.DataFrame({"model": NAMES, "=head": range(10), "gain": [-1.5] * 10})


def test_no_text_begins_as_a_formula_and_numbers_stay():
    found = pd.read_csv(io.StringIO(csv_text(FRAME, index=False)), dtype=str)
    assert not found["model"].dropna().str.startswith(("=", "+", "-", "@", "\t", "\r", "＝")).any()
    assert not found.columns.str.startswith("=").any()
    assert found["gain"].unique().tolist() == ["-1.5"]


def test_what_was_written_can_be_had_as_it_was():
    found = restored(pd.read_csv(io.StringIO(csv_text(FRAME, index=False))))
    wanted = FRAME.where(FRAME.notna(), np.nan)
    pd.testing.assert_frame_equal(found, wanted, check_dtype=False)


def test_it_is_the_csv_of_pandas_where_nothing_is_marked():
    frame = pd.DataFrame({"a": [1, 2.5], "b": ["x,y", None]}, index=pd.Index(["p", "q"], name="n"))
    two = frame.set_index("b", append=True)
    for each in (frame, two, frame.rename_axis(None), frame.astype({"b": "category"})):
        assert csv_text(each) == each.to_csv(lineterminator="\n")


def test_results_and_reports_are_written_so(tmp_path):
    drawn = og.simulate("2pl", 30, 4, random_state=0).responses
    named = og.Responses(drawn.values, [f"=m{k}" for k in range(30)], drawn.items)
    text = og.leaderboard(named).save(tmp_path / "board.csv").read_text()
    assert "'=m1" in text
    assert ",=m" not in text
    assert "\n=m" not in text


def test_lists_of_names_are_marked_as_a_whole():
    ties = pd.DataFrame({"tied_with": ["=a, b", "b, =a"]})
    found = pd.read_csv(io.StringIO(csv_text(ties, index=False)))
    assert found["tied_with"].tolist() == ["'=a, b", "b, =a"]
    assert restored(found)["tied_with"].tolist() == ["=a, b", "b, =a"]
