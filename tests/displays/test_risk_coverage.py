import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex

from itemwise.displays import RiskCoverageDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError

COVERAGE = np.linspace(0.1, 1.0, 10)


def some(count):
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


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def of_kind(ax, kind):
    return [shape for shape in ax.collections if isinstance(shape, kind)]


def test_each_method_has_a_line_and_a_band_and_the_best_is_named_first():
    frame = some(3).sample(frac=1, random_state=0)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert legend(ax) == ["method 0", "method 1", "method 2"]
    assert len(of_kind(ax, PolyCollection)) == 3
    best = next(line for line in ax.lines if line.get_color() == STYLE.palette[0])
    np.testing.assert_allclose(best.get_xdata(), COVERAGE)
    assert best.get_ydata()[0] == pytest.approx(0.99)


def test_the_target_is_a_dashed_line_that_is_always_in_sight():
    ax = RiskCoverageDisplay(some(1), target=0.999).plot().ax_
    assert [line.get_ydata()[0] for line in ax.lines if line.is_dashed()] == [0.999]
    assert ax.get_ylim()[1] > 0.999
    assert legend(ax)[-1] == "required: 99.9 %"
    with pytest.raises(InputError, match="target is 97"):
        RiskCoverageDisplay(some(1), target=97)


def test_chosen_thresholds_are_marked_in_the_colour_of_their_method():
    points = pd.DataFrame(
        {"method": ["method 1", "method 0"], "coverage": [0.3, 0.4], "accuracy": [0.97, 0.85]}
    )
    ax = RiskCoverageDisplay(some(2), points=points.assign(low=0.8)).plot().ax_
    found = {
        tuple(dot.get_offsets()[0]): to_hex(dot.get_facecolor()[0]).upper()
        for dot in of_kind(ax, PathCollection)
    }
    assert found == {(0.3, 0.97): STYLE.palette[1], (0.4, 0.85): STYLE.palette[0]}
    assert ax.get_ylim()[0] < 0.85
    assert legend(ax)[-1] == "chosen threshold"
    with pytest.raises(InputError, match=r"point of 'method 1', a method without a curve"):
        RiskCoverageDisplay(some(1), points=points)
    with pytest.raises(InputError, match=r"for its points, needs the columns"):
        RiskCoverageDisplay(some(2), points=points[["method"]])


def test_of_many_methods_the_best_have_a_colour_and_the_others_are_grey():
    ax = RiskCoverageDisplay(some(20)).plot().ax_
    assert legend(ax) == [f"method {k}" for k in range(7)]
    (grey,) = of_kind(ax, LineCollection)
    assert len(grey.get_segments()) == 13
    assert "grey: 13 methods of lower mean accuracy" in texts(ax)
    assert "band" not in texts(ax)


def test_a_band_that_bursts_does_not_flatten_the_curves():
    frame = some(2)
    frame.loc[0, "low"] = -50.0
    low, high = RiskCoverageDisplay(frame).plot().ax_.get_ylim()
    assert high - low < 0.3


def test_a_method_of_one_point_is_a_dot_with_a_bar():
    frame = some(1)[-1:]
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert ax.lines[0].get_marker() == "o"
    assert np.ptp(of_kind(ax, LineCollection)[0].get_segments()[0][:, 1]) == pytest.approx(0.03)


def test_equal_accuracies_are_not_blown_up():
    frame = some(2).assign(accuracy=1.0, low=np.nan, high=np.nan)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert np.ptp(ax.get_ylim()) >= 0.02
    assert "band" not in texts(ax)


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else():
    frame = some(1)
    frame.loc[0, "accuracy"] = np.nan
    assert "not shown: 1 row without a number" in texts(RiskCoverageDisplay(frame).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        RiskCoverageDisplay(frame.assign(coverage=np.nan))
