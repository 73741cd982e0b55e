import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection

from itemwise.displays import PerformanceCurvesDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError

X = np.linspace(-2.0, 2.0, 9)


def some(heights, low=-0.1, high=0.1):
    parts = [
        pd.DataFrame({"algorithm": f"algorithm {k}", "difficulty": X, "performance": height})
        for k, height in enumerate(heights)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(low=frame["performance"] + low, high=frame["performance"] + high)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def named(ax):
    return {text.get_text() for text in ax.texts if text.get_text().startswith("algorithm")}


def grey(ax):
    return [
        segment
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]


def test_each_of_a_few_has_a_line_a_band_and_a_name_in_its_colour():
    frame = some([0.2, 0.9, 0.5]).sample(frac=1, random_state=0)
    ax = PerformanceCurvesDisplay(frame).plot().ax_
    colours = {line.get_ydata()[0]: line.get_color() for line in ax.lines}
    names = {text.get_text(): text.get_color() for text in ax.texts}
    assert {f"algorithm {k}": colours[y] for k, y in enumerate([0.2, 0.9, 0.5])}.items() <= (
        names.items()
    )
    assert len(ax.collections) == 3
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), X)


def test_of_many_those_on_top_somewhere_stand_out_before_those_of_high_mean():
    heights = [0.8 - 0.01 * k for k in range(20)]
    heights[19] = np.where(X > 1.5, 0.85, 0.0)  # the best of hard problems, the worst elsewhere
    ax = PerformanceCurvesDisplay(some(heights)).plot().ax_
    assert named(ax) == {f"algorithm {k}" for k in (0, 1, 2, 3, 4, 5, 19)}
    assert len(grey(ax)) == 13
    assert "grey: 13 other algorithms" in texts(ax)
    assert STYLE.neutral not in {line.get_color() for line in ax.lines}


def test_the_caller_may_say_who_stands_out():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    display = PerformanceCurvesDisplay(frame, highlight=["algorithm 7", "algorithm 3"])
    assert named(display.plot().ax_) == {"algorithm 3", "algorithm 7"}
    assert len(grey(display.ax_)) == 18
    assert named(PerformanceCurvesDisplay(frame, highlight="algorithm 7").plot().ax_) == {
        "algorithm 7"
    }
    with pytest.raises(InputError, match=r"cannot highlight 'nobody'.*It has: 'algorithm 0'"):
        PerformanceCurvesDisplay(frame, highlight=["nobody"])


def test_more_names_than_colours_are_told_apart_by_dashes():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    everyone = [f"algorithm {k}" for k in range(12)]
    lines = PerformanceCurvesDisplay(frame, highlight=everyone).plot().ax_.lines
    looks = {(line.get_color(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == len(lines) == 12


def test_a_constant_curve_without_a_band_is_drawn_in_the_middle():
    ax = PerformanceCurvesDisplay(some([0.5], np.nan, np.nan)).plot().ax_
    low, high = ax.get_ylim()
    assert low + high == pytest.approx(1.0)
    assert high - low < 0.2
    assert "band" not in texts(ax)


def test_a_band_that_bursts_does_not_flatten_the_curves():
    frame = some([0.5, 0.9])
    frame.loc[0, "high"] = 1e6
    assert PerformanceCurvesDisplay(frame).plot().ax_.get_ylim()[1] < 1.2


def test_points_are_drawn_of_those_who_stand_out():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    points = frame[["algorithm", "difficulty", "performance"]]
    ax = PerformanceCurvesDisplay(frame, points, highlight="algorithm 4").plot().ax_
    (dots,) = (c for c in ax.collections if isinstance(c, PathCollection))
    own = points.loc[points["algorithm"] == "algorithm 4", ["difficulty", "performance"]]
    np.testing.assert_allclose(dots.get_offsets(), own.to_numpy())
    with pytest.raises(InputError, match="for its points, needs the columns"):
        PerformanceCurvesDisplay(frame, points[["algorithm"]])


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else():
    frame = some([0.5])
    frame.loc[0, "performance"] = np.nan
    assert "not shown: 1 row without a number" in texts(PerformanceCurvesDisplay(frame).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        PerformanceCurvesDisplay(frame.assign(difficulty=np.inf))


def test_the_axis_says_what_performance_is():
    ax = PerformanceCurvesDisplay(some([0.2, 0.4]), height="seconds saved").plot().ax_
    assert ax.get_ylabel() == "seconds saved"


def test_a_number_is_no_list_of_names():
    with pytest.raises(InputError, match="cannot highlight '2'"):
        PerformanceCurvesDisplay(some([0.2, 0.4]), highlight=2)
