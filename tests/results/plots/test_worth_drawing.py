"""Figures that would say nothing are replaced by a sentence."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.reporting.exports import write_folder
from ogive.results.plots import DISPLAYS
from ogive.results.plots.matrices import HeatMapDisplay
from ogive.results.plots.response_curves import InformationDisplay


def square(values, names=("a", "b", "c")):
    return HeatMapDisplay(pd.DataFrame(values, index=list(names), columns=list(names)))


def test_a_map_of_one_column_or_one_value_is_a_sentence():
    column = pd.DataFrame({"all items": [0.5, 0.7]}, index=["a", "b"])
    assert HeatMapDisplay(column.rename_axis("task", axis=1)).instead == (
        "There is only one column: see the table."
    )
    assert square(np.ones((3, 3))).instead == "All values are 1.00."
    assert square(np.where(np.eye(3), 1.0, 0.996)).instead == "All values are 1.00."
    assert square([[1, 0.2, 0.3], [0.2, 1, 0.4], [0.3, 0.4, 1]]).instead == ""


def test_a_flat_line_is_a_sentence():
    flat = pd.DataFrame({"ability": [-1.0, 0.0, 1.0], "information": 16.0, "se": 0.25})
    assert "Information is 16 at every ability (standard error 0.25)" in (
        InformationDisplay(flat).instead
    )
    assert InformationDisplay(flat.assign(information=[9.0, 16.0, 9.0])).instead == ""


def test_reports_give_the_sentence_in_place_of_the_figure(tmp_path):
    scores = og.simulate("continuous", 60, 6, random_state=0).responses
    found = og.calibrate(scores, "continuous")
    page = og.write_report(tmp_path / "page.html", found).read_text("utf-8")
    assert "this model measures all abilities equally well" in page
    assert "information (solid)" not in page
    write_folder(found, tmp_path / "folder")
    assert not (tmp_path / "folder" / "figures" / "information.png").exists()
    assert "equally well" in (tmp_path / "folder" / "summary.json").read_text("utf-8")


def test_every_dot_is_inside_the_bar_that_is_drawn_for_it_or_has_the_other_colour():
    rng = np.random.default_rng(0)
    predicted = rng.uniform(0.2, 0.9, 300)
    accuracy = predicted + rng.normal(0, 0.05, 300)
    reach = rng.uniform(0.02, 0.2, 300)  # no common band would be right
    frame = pd.DataFrame({"accuracy": accuracy, "predicted": predicted})
    display = DISPLAYS["prediction"](frame.assign(low=predicted - reach, high=predicted + reach))
    ax = display.plot().ax_
    outside, inside = (bars.get_segments() for bars in ax.collections[:2])
    assert len(outside) + len(inside) == 60
    place = dict(zip(predicted, accuracy, strict=True))
    assert all(not low[1] <= place[low[0]] <= high[1] for low, high in outside)
    assert all(low[1] <= place[low[0]] <= high[1] for low, high in inside)


@pytest.mark.parametrize("sizes", [(1, 1, 12), (30, 4, 40), (3,), (10, 9)])
def test_bins_of_accuracy_hold_ten_cases_or_all(sizes):
    from ogive.capability.capability_result import _joined_bins

    difficulty = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    counts = np.unique(_joined_bins(difficulty), return_counts=True)[1]
    assert counts.sum() == sum(sizes)
    assert counts.min() >= min(10, sum(sizes))
