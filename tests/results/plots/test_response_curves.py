"""Curves along the scale: what is its own in each figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from ogive.errors import InputError
from ogive.results.plots.response_curves import (
    CurvesDisplay,
    InformationDisplay,
    ReliabilityDisplay,
)


def some(discriminations, points=21):
    """One logistic curve for each discrimination, difficulty zero."""
    a = np.asarray(discriminations, dtype=float)
    ability = np.linspace(-3, 3, points)
    expected = 1 / (1 + np.exp(-np.nan_to_num(a)[:, None] * ability))
    return pd.DataFrame(
        {
            "item": np.repeat([f"item {i}" for i in range(len(a))], points),
            "ability": np.tile(ability, len(a)),
            "expected": expected.ravel(),
            "discrimination": np.repeat(a, points),
        }
    )


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines(ax):
    return [part for part in ax.collections if isinstance(part, LineCollection)]


def test_up_to_eight_items_have_a_colour_and_a_name_each():
    ax = CurvesDisplay(some([1, 2, 0.5, -1, 1.5, 1, 3, 0.2])).plot().ax_
    assert legend(ax) == [f"item {i}" for i in range(8)]
    assert len({line.get_color() for line in ax.lines}) == 8
    assert [line.get_linestyle() for line in ax.lines].count("--") == 1


def test_a_name_that_begins_with_an_underscore_is_in_the_legend():
    frame = some([1, 2]).replace({"item": {"item 0": "_private"}})
    assert legend(CurvesDisplay(frame).plot().ax_) == ["_private", "item 1"]


def test_more_items_are_thin_lines_coloured_by_sign():
    ax = CurvesDisplay(some([1.0] * 40 + [-1.0] * 10 + [np.nan])).plot().ax_
    assert [len(part.get_segments()) for part in lines(ax)] == [1, 40, 10]
    assert len(legend(ax)) == 3
    assert "(40 of 51 items)" in legend(ax)[1]


def test_thousands_of_items_are_bands_that_hold_the_curves():
    rng = np.random.default_rng(0)
    ax = CurvesDisplay(some(rng.uniform(0.2, 2, 3000))).plot().ax_
    assert not lines(ax)
    assert len(ax.collections) == 2
    median = ax.lines[0].get_ydata()
    assert median[-1] == pytest.approx(1 / (1 + np.exp(-3 * 1.1)), abs=0.02)


def test_a_few_negative_items_among_thousands_stay_lines():
    ax = CurvesDisplay(some([1.0] * 400 + [-1.0] * 5)).plot().ax_
    assert [len(part.get_segments()) for part in lines(ax)] == [5]


def test_items_may_have_abilities_of_their_own_in_any_order():
    frame = some(np.full(400, 1.0)).sample(frac=0.5, random_state=0)
    assert CurvesDisplay(frame).plot().ax_.has_data()
    small = some([1.0]).sample(frac=1, random_state=0)
    assert (np.diff(CurvesDisplay(small).plot().ax_.lines[0].get_xdata()) > 0).all()


def test_rows_without_an_expected_response_are_left_out():
    frame = some([1, 2])
    frame.loc[frame["item"] == "item 1", "expected"] = np.nan
    assert legend(CurvesDisplay(frame).plot().ax_) == ["item 0"]
    with pytest.raises(InputError, match="nothing to draw"):
        CurvesDisplay(frame.assign(expected=np.nan))


def whole_test():
    ability = np.linspace(-4, 4, 33)
    information = 5 * np.exp(-(ability**2) / 3)
    return pd.DataFrame({"ability": ability, "information": information, "se": information**-0.5})


def items(count, height):
    ability = np.tile(np.linspace(-4, 4, 33), count)
    return pd.DataFrame(
        {
            "item": np.repeat([f"item {i}" for i in range(count)], 33),
            "ability": ability,
            "information": height * np.exp(-(ability**2)),
        }
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_information_and_standard_error_have_an_axis_each():
    display = InformationDisplay(whole_test()).plot()
    assert display.ax_.get_ylabel() == "information (solid)"
    assert display.se_ax_.get_ylabel() == "standard error (dashed)"
    assert display.ax_.lines[0].get_ydata().max() == pytest.approx(5)
    assert display.se_ax_.lines[0].get_ydata().min() == pytest.approx(5**-0.5)


def test_the_exploding_tail_of_the_standard_error_does_not_flatten_its_middle():
    top = InformationDisplay(whole_test()).plot().se_ax_.get_ylim()[1]
    assert top < 6 * 5**-0.5


def test_items_are_thin_lines_below_the_test():
    ax = InformationDisplay(pd.concat([whole_test(), items(12, 0.5)])).plot().ax_
    assert len(ax.collections[0].get_segments()) == 12
    assert "each item's own information (12 items)" in texts(ax)


def test_items_too_low_to_be_seen_are_not_drawn_but_said():
    ax = InformationDisplay(pd.concat([whole_test(), items(900, 0.01)])).plot().ax_
    assert not ax.collections
    assert "not drawn: information of 900 items, at most 0.01 each" in texts(ax)


def test_no_information_means_no_standard_error_and_still_a_figure():
    frame = pd.DataFrame({"ability": [0.0, 1.0], "information": 0.0, "se": np.inf})
    display = InformationDisplay(frame).plot()
    assert np.isfinite(display.se_ax_.get_ylim()).all()


def along(count=81):
    ability = np.linspace(-4, 4, count)
    information = 5 * np.exp(-(ability**2) / 2)
    return pd.DataFrame(
        {
            "ability": ability,
            "reliability": information / (information + 1),
            "se": information**-0.5,
        }
    )


def test_the_curve_is_the_reliability_in_the_order_of_the_scale():
    ax = ReliabilityDisplay(along().sample(frac=1, random_state=0)).plot().ax_
    x, y = ax.lines[0].get_data()
    assert (np.diff(x) > 0).all()
    assert y.max() == pytest.approx(5 / 6)
    assert ax.get_ylim() == (0, 1)


def test_the_filled_stretch_tells_at_least_half_of_the_most():
    ax = ReliabilityDisplay(along(801)).plot().ax_
    ends = ax.collections[0].get_paths()[0].vertices[:, 0]
    half = np.sqrt(2 * np.log(2))  # where exp(-x² / 2) is one half
    assert ends.min() == pytest.approx(-half, abs=0.01)  # the grid is that fine
    assert ends.max() == pytest.approx(half, abs=0.01)


def test_usual_levels_are_drawn_and_named():
    ax = ReliabilityDisplay(along()).plot().ax_
    assert [line.get_ydata()[0] for line in ax.lines[1:]] == [0.9, 0.7]
    assert "comparing" in texts(ax)


def test_items_that_tell_nothing_still_give_a_figure():
    frame = along().assign(reliability=0.0, se=np.inf)
    ax = ReliabilityDisplay(frame).plot().ax_
    assert not ax.collections
    assert "filled" not in texts(ax)


def test_one_point_is_seen():
    frame = pd.DataFrame({"ability": [0.0], "reliability": [0.5], "se": [1.0]})
    assert ReliabilityDisplay(frame).plot().ax_.lines[0].get_marker() == "o"
