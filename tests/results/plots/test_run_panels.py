"""Panels of runs: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

from ogive.results.plots import DISPLAYS
from ogive.results.plots.theme import STYLE


@pytest.fixture
def some(frames):
    return lambda count: frames["runs"]([f"algorithm {k}" for k in range(count)])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_every_run_is_a_point_and_those_that_did_not_end_are_crosses(some):
    frame = some(3)
    ax = DISPLAYS["runs"](frame).plot().ax_
    drawn = [each for each in ax.collections if len(each.get_offsets())]
    points = sum(len(each.get_offsets()) for each in ax.collections if hasattr(each, "get_sizes"))
    assert drawn
    assert points == len(frame)
    assert any(f"{int(frame['late'].sum())} runs that did not end" in each for each in texts(ax))
    assert sum(line.get_color() == STYLE.ink for line in ax.lines) == 3


def test_a_frame_without_curves_and_ends_has_points_only(some):
    ax = DISPLAYS["runs"](some(2)[["algorithm", "difficulty", "performance"]]).plot().ax_
    assert not ax.lines
    assert not any("did not end" in each for each in texts(ax))


def test_histograms_share_their_bins_and_hold_every_run():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"algorithm": np.repeat(["low", "high"], 100), "seconds": random.uniform(0, 10, 200)}
    )
    frame.loc[:99, "seconds"] /= 10
    display = DISPLAYS["run_histograms"](frame, value="seconds").plot()
    np.testing.assert_allclose([share.sum() for share in display._shares], 1.0)
    assert display._shares[0][:2].sum() > 0.9
    bars = [each for each in display.ax_.collections if isinstance(each, PolyCollection)]
    assert len(bars) == 2
    assert display.ax_.get_xlabel() == "seconds"


def test_runs_without_a_number_are_counted_below():
    frame = pd.DataFrame({"algorithm": ["a"] * 4, "performance": [0.1, 0.2, np.nan, 0.4]})
    ax = DISPLAYS["run_histograms"](frame).plot().ax_
    assert "not shown: 1 run without a finite number" in texts(ax)[-1]


def test_equal_values_are_drawn_too():
    frame = pd.DataFrame({"algorithm": ["a"] * 4, "performance": 1.0, "difficulty": 2.0})
    for name in ("runs", "run_histograms"):
        assert DISPLAYS[name](frame).plot().ax_.collections
