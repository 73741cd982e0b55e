"""Method curves: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex

from ogive.errors import InputError
from ogive.results.plots.algorithm_curves import PerformanceCurvesDisplay, RiskCoverageDisplay
from ogive.results.plots.theme import STYLE

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


def test_more_names_than_colours_are_distinguished_by_dashes():
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


COVERAGE = np.linspace(0.1, 1.0, 10)


def risk_some(count):
    """Methods of which the first is the best; all are equal where they decide every case."""
    parts = [
        pd.DataFrame(
            {
                "method": f"method {k}",
                "coverage": COVERAGE,
                "accuracy": 0.9 + (0.1 - 0.002 * k) * (1 - COVERAGE),
            }
        )
        for k in range(count)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(low=frame["accuracy"] - 0.02, high=frame["accuracy"] + 0.01)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def of_kind(ax, kind):
    return [shape for shape in ax.collections if isinstance(shape, kind)]


def test_each_method_has_a_line_and_a_band_and_the_best_is_named_first():
    frame = risk_some(3).sample(frac=1, random_state=0)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert legend(ax) == ["method 0", "method 1", "method 2"]
    assert len(of_kind(ax, PolyCollection)) == 3
    best = next(line for line in ax.lines if line.get_color() == STYLE.palette[0])
    np.testing.assert_allclose(best.get_xdata(), COVERAGE)
    assert best.get_ydata()[0] == pytest.approx(0.99)


def test_the_target_is_a_dashed_line_that_is_always_in_sight():
    ax = RiskCoverageDisplay(risk_some(1), target=0.999).plot().ax_
    assert [line.get_ydata()[0] for line in ax.lines if line.is_dashed()] == [0.999]
    assert ax.get_ylim()[1] > 0.999
    assert legend(ax)[-1] == "required: 99.9 %"
    with pytest.raises(InputError, match="target is 97"):
        RiskCoverageDisplay(risk_some(1), target=97)


def test_chosen_thresholds_are_marked_in_the_colour_of_their_method():
    points = pd.DataFrame(
        {"method": ["method 1", "method 0"], "coverage": [0.3, 0.4], "accuracy": [0.97, 0.85]}
    )
    ax = RiskCoverageDisplay(risk_some(2), points=points.assign(low=0.8)).plot().ax_
    found = {
        tuple(dot.get_offsets()[0]): to_hex(dot.get_facecolor()[0]).upper()
        for dot in of_kind(ax, PathCollection)
    }
    assert found == {(0.3, 0.97): STYLE.palette[1], (0.4, 0.85): STYLE.palette[0]}
    assert ax.get_ylim()[0] < 0.85
    assert legend(ax)[-1] == "chosen threshold"
    with pytest.raises(InputError, match=r"point of 'method 1', a method without a curve"):
        RiskCoverageDisplay(risk_some(1), points=points)
    with pytest.raises(InputError, match=r"for its points, needs the columns"):
        RiskCoverageDisplay(risk_some(2), points=points[["method"]])


def test_of_many_methods_the_best_have_a_colour_and_the_others_are_grey():
    ax = RiskCoverageDisplay(risk_some(20)).plot().ax_
    assert legend(ax) == [f"method {k}" for k in range(7)]
    (grey,) = of_kind(ax, LineCollection)
    assert len(grey.get_segments()) == 13
    assert "grey: 13 methods of lower mean accuracy" in texts(ax)
    assert "band" not in texts(ax)


def test_a_band_that_bursts_does_not_flatten_the_curves_risk():
    frame = risk_some(2)
    frame.loc[0, "low"] = -50.0
    low, high = RiskCoverageDisplay(frame).plot().ax_.get_ylim()
    assert high - low < 0.3


def test_a_method_of_one_point_is_a_dot_with_a_bar():
    frame = risk_some(1)[-1:]
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert ax.lines[0].get_marker() == "o"
    assert np.ptp(of_kind(ax, LineCollection)[0].get_segments()[0][:, 1]) == pytest.approx(0.03)


def test_equal_accuracies_are_not_blown_up():
    frame = risk_some(2).assign(accuracy=1.0, low=np.nan, high=np.nan)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert np.ptp(ax.get_ylim()) >= 0.02
    assert "band" not in texts(ax)


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else_risk():
    frame = risk_some(1)
    frame.loc[0, "accuracy"] = np.nan
    assert "not shown: 1 row without a number" in texts(RiskCoverageDisplay(frame).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        RiskCoverageDisplay(frame.assign(coverage=np.nan))
