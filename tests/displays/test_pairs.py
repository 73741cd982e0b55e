import numpy as np
import pandas as pd
import pytest

from itemwise.displays import PairsDisplay
from itemwise.errors import InputError

HOSTILE = ["$x_{", "\\frac{$", "a very long name " * 30, "模型 😀", "line\nbreak\x00", "_hidden"]


def all_pairs(names):
    left, right = np.triu_indices(len(names), 1)
    return pd.DataFrame(
        {
            "item": [names[k] for k in left],
            "other": [names[k] for k in right],
            "q3_adjusted": np.linspace(0.6, -0.2, len(left)),
            "dependent": np.arange(len(left)) == 0,
        }
    )


def some(count):
    return all_pairs([f"item {k}" for k in range(count)])


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def is_map(ax):
    return bool(ax.images)


def test_every_pair_of_few_items_is_a_heat_map_with_both_halves():
    ax = PairsDisplay(some(5)).plot().ax_
    table = ax.images[0].get_array()
    np.testing.assert_allclose(table.filled(np.nan), table.filled(np.nan).T)
    assert table[0, 1] == pytest.approx(0.6)
    assert np.isnan(table.filled(np.nan)[2, 2])
    assert "(1 pair)" in texts(ax)


def test_colours_are_the_same_both_ways_and_chance_is_pale():
    low, high = PairsDisplay(some(5)).plot().ax_.images[0].get_clim()
    assert low == -high == pytest.approx(-0.6)
    weak = some(5).assign(q3_adjusted=0.01)
    assert PairsDisplay(weak).plot().ax_.images[0].get_clim() == (-0.3, 0.3)


def test_forty_items_are_a_map_and_more_are_dots():
    assert is_map(PairsDisplay(some(40)).plot().ax_)
    assert not is_map(PairsDisplay(some(41)).plot().ax_)


def test_a_list_of_some_pairs_is_dots_in_the_order_of_the_list():
    ax = PairsDisplay(some(60).iloc[:10]).plot().ax_
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "item 0 – item 1"
    assert len(names) == 10
    assert ax.yaxis_inverted()
    assert "filled: dependent beyond chance" in texts(ax)


def test_more_pairs_than_can_be_read_are_counted():
    ax = PairsDisplay(some(60).iloc[:500]).plot().ax_
    assert len(ax.get_yticks()) == 40
    assert "not shown: 460 pairs further down the list" in texts(ax)


def test_pairs_without_a_number_are_grey_and_said():
    frame = some(5)
    frame.loc[3, "q3_adjusted"] = np.nan
    assert "grey: 1 pair without a number" in texts(PairsDisplay(frame).plot().ax_)


def test_a_frame_that_does_not_say_what_depends_is_enough():
    assert PairsDisplay(some(5).drop(columns="dependent")).plot().ax_.has_data()


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="'q3_adjusted' holds no finite number"):
        PairsDisplay(some(4).assign(q3_adjusted=np.nan))
    with pytest.raises(InputError, match="'other' is missing"):
        PairsDisplay(some(4).drop(columns="other"))
    with pytest.raises(InputError, match="without rows"):
        PairsDisplay(some(4)[:0])
