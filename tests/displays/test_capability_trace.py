import numpy as np
import pandas as pd
import pytest

from itemwise.displays import CapabilityTraceDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(lengths):
    """A test of each class 0, 1, ... that ends at the number of its class."""
    parts = []
    for name, length in enumerate(lengths):
        step = np.arange(1, length + 1)
        estimate = name + 1.0 / step - 1.0 / length
        columns = {"difficulty": estimate - 0.1, "right": step % 3 > 0, "estimate": estimate}
        parts.append(pd.DataFrame({"class": name, "step": step, **columns, "se": 0.5 / step}))
    return pd.concat(parts, ignore_index=True)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def marks(ax, marker):
    return sum(len(line.get_xdata()) for line in ax.lines if line.get_marker() == marker)


def dashed(ax):
    return [line.get_ydata()[0] for line in ax.lines if line.is_dashed()]


def test_each_class_has_a_panel_with_its_limit_in_figures():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    assert texts(ax)[:2] == [
        "class 0\nMLC 0.00 ± 0.10 (10 cases)",
        "class 1\nMLC 1.00 ± 0.05 (20 cases)",
    ]


def test_right_and_wrong_cases_have_marks_of_their_own():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    assert marks(ax, "o") == 7 + 14
    assert marks(ax, "x") == 3 + 6
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "classified right",
        "classified wrong",
        "estimate",
        "limit (MLC)",
    ]


def test_the_estimate_ends_on_the_dashed_limit():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    ends = [
        line.get_ydata()[-1]
        for line in ax.lines
        if line.get_color() == STYLE.ink and not line.is_dashed()
    ]
    np.testing.assert_allclose(dashed(ax), ends)


def test_limits_of_repeated_tests_take_the_place_of_the_last_estimate():
    capability = pd.DataFrame({"mlc": [0.5], "mlc_se": [0.1]}, index=[0])
    ax = CapabilityTraceDisplay(some([10, 20]), capability).plot().ax_
    assert texts(ax)[0] == "class 0\nMLC 0.50 ± 0.20 (10 cases)"
    assert texts(ax)[1].startswith("class 1\nMLC 1.00")
    assert dashed(ax)[0] > dashed(CapabilityTraceDisplay(some([10, 20])).plot().ax_)[0]


def test_what_bursts_stays_inside_its_panel():
    frame = some([10, 20])
    frame.loc[0, ["estimate", "se"]] = [1e6, 1e9]
    frame.loc[3, ["estimate", "se"]] = [np.nan, np.inf]
    ax = CapabilityTraceDisplay(frame).plot().ax_
    low, high = ax.get_ylim()
    for shape in ax.collections:
        for path in shape.get_paths():
            assert path.vertices[:, 1].min() > low - 1e-9
            assert path.vertices[:, 1].max() < high + 1e-9


def test_a_test_without_any_estimate_says_so():
    ax = CapabilityTraceDisplay(some([4]).assign(estimate=np.inf)).plot().ax_
    assert texts(ax)[0] == "class 0\nno limit found (4 cases)"
    assert not dashed(ax)


def test_steps_are_whole_numbers_and_their_order_does_not_matter():
    frame = some([3])
    ax = CapabilityTraceDisplay(frame.sample(frac=1, random_state=1)).plot().ax_
    assert all(float(tick.get_text()).is_integer() for tick in ax.get_xticklabels())
    assert texts(ax)[0] == "class 0\nMLC 0.00 ± 0.33 (3 cases)"


def test_beyond_twelve_classes_and_broken_rows_are_counted():
    frame = some([4] * 14)
    frame.loc[0, "difficulty"] = np.nan
    frame["right"] = frame["right"].astype(float)
    frame.loc[1, "right"] = np.nan
    note = texts(CapabilityTraceDisplay(frame).plot().ax_)[-1]
    assert "not shown: 2 more classes" in note
    assert "not shown: 2 rows without step, difficulty or outcome" in note
    with pytest.raises(InputError, match="nothing to draw"):
        CapabilityTraceDisplay(frame.assign(step=np.nan))
