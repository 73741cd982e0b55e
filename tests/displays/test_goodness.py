import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from itemwise.displays import GoodnessDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError

T = np.linspace(0.0, 1.0, 11)


def some(predicted):
    """Algorithms whose predicted effectiveness is the given share, and the actual one a half."""
    parts = [
        pd.DataFrame(
            {"algorithm": f"algorithm {k}", "curve": curve, "tolerance": T, "share": share}
        )
        for k, height in enumerate(predicted)
        for curve, share in (("residuals", T), ("actual", 0.5), ("predicted", height))
    ]
    return pd.concat(parts, ignore_index=True)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_algorithm_has_a_line_of_one_colour_in_each_of_three_panels():
    ax = GoodnessDisplay(some([0.4, 0.9]).sample(frac=1, random_state=0)).plot().ax_
    assert {"residuals", "actual effectiveness", "predicted effectiveness"} <= set(texts(ax))
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[1] == colours[2] != colours[3]
    first, second, third = (line.get_xdata() for line in ax.lines[:3])
    assert first.max() < second.min() < second.max() < third.min()


def test_a_height_holds_up_to_the_next_tolerance():
    line = GoodnessDisplay(some([0.4])).plot().ax_.lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    assert set(np.diff(y)[::2]) == {0.0}
    assert np.abs(np.diff(x)[1::2]).max() == 0.0


def test_those_farthest_from_what_was_predicted_stand_out_the_worst_first():
    frame = some([0.5 + 0.01 * k for k in range(20)])
    ax = GoodnessDisplay(frame).plot().ax_
    assert legend(ax) == [f"algorithm {k}" for k in range(19, 12, -1)]
    assert "grey: 13 other algorithms" in "\n".join(texts(ax))
    rest = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_zorder() == 1.5]
    assert [len(lines.get_segments()) for lines in rest] == [39]


def test_the_caller_may_say_who_stands_out():
    frame = some([0.5 + 0.01 * k for k in range(20)])
    assert legend(GoodnessDisplay(frame, highlight="algorithm 2").plot().ax_) == ["algorithm 2"]
    with pytest.raises(InputError, match="cannot highlight 'nobody'"):
        GoodnessDisplay(frame, highlight=["nobody"])


def test_a_curve_that_is_not_there_has_no_panel():
    frame = some([0.4, 0.6])
    ax = GoodnessDisplay(frame[frame["curve"] == "residuals"]).plot().ax_
    assert not any("effectiveness" in text for text in texts(ax))
    assert len(ax.lines) == 2


def test_what_is_unknown_or_without_numbers_is_said():
    frame = some([0.4])
    with pytest.raises(InputError, match="but not 'luck'"):
        GoodnessDisplay(frame.assign(curve="luck"))
    with pytest.raises(InputError, match="nothing to draw"):
        GoodnessDisplay(frame.assign(share=np.nan))
    frame.loc[0, "share"] = np.nan
    assert "not shown: 1 row" in "\n".join(texts(GoodnessDisplay(frame).plot().ax_))


def test_the_caller_may_say_the_order_of_colours():
    frame = some([0.5 + 0.01 * k for k in range(20)])
    order = [f"algorithm {k}" for k in range(20)]
    handles = GoodnessDisplay(frame, order=order).plot().ax_.get_legend().get_lines()
    colours = [STYLE.palette[k % 7] for k in range(19, 12, -1)]
    assert [line.get_color() for line in handles] == colours
    assert len({(line.get_color(), str(line.get_linestyle())) for line in handles}) == 7
