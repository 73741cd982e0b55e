import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection

from itemwise.displays import CurvesDisplay
from itemwise.errors import InputError


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
