"""Heat maps: what is its own in each."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.matrices import DifferencesDisplay, HeatMapDisplay, PairsDisplay


def some(rows=3, columns=4, low=-0.5, high=0.9):
    values = np.linspace(low, high, rows * columns).reshape(rows, columns)
    return pd.DataFrame(values, index=[f"row {k}" for k in range(rows)])


def numbers(ax):
    return [text.get_text() for text in ax.texts if text.get_ha() == "center" and text.get_text()]


def notes(ax):
    return ax.texts[-1].get_text()


def limits(ax):
    return ax.images[0].get_clim()


def luminance(colour):
    return np.dot(np.asarray(to_rgb(colour)) ** 2.2, (0.2126, 0.7152, 0.0722))


def test_a_range_across_zero_is_the_same_on_both_sides():
    ax = HeatMapDisplay(some()).plot().ax_
    assert limits(ax) == (-0.9, 0.9)
    middle = ax.images[0].cmap(0.5)
    np.testing.assert_allclose(middle[:3], 1.0, atol=0.01)  # the paper, up to a step of colour
    assert limits(HeatMapDisplay(some(), low=-1, high=1).plot().ax_) == (-1, 1)


def test_a_range_on_one_side_of_zero_runs_from_end_to_end():
    assert limits(HeatMapDisplay(some(low=0.1)).plot().ax_) == (0.1, 0.9)
    assert limits(HeatMapDisplay(some(low=0.1), low=0, high=1).plot().ax_) == (0, 1)


def test_each_cell_holds_its_number_and_stands_out_from_its_colour():
    display = HeatMapDisplay(some(low=-1, high=1)).plot()
    ax, image = display.ax_, display.ax_.images[0]
    written = [text for text in ax.texts if text.get_text()]
    assert [text.get_text() for text in written[:2]] == ["-1.00", "-0.82"]
    for text in written:
        column, row = text.get_position()
        cell = image.cmap(image.norm(display.frame.iloc[row, column]))
        light, dark = sorted([luminance(text.get_color()), luminance(cell[:3])])[::-1]
        assert (light + 0.05) / (dark + 0.05) > 3.0  # WCAG's least for figures


def test_ranks_are_written_without_decimals_and_no_p_value_as_zero():
    assert set(numbers(HeatMapDisplay(some(low=1, high=12)).plot().ax_)) == {
        str(k) for k in range(1, 13)
    }
    frame = pd.DataFrame({"p": [1e-9, 0.5, 0.0]})
    assert numbers(HeatMapDisplay(frame).plot().ax_) == ["<0.01", "0.50", "0.00"]


def test_cells_without_a_number_are_grey_and_counted():
    frame = some()
    frame.iloc[0, 0], frame.iloc[1, 1] = np.nan, np.inf
    ax = HeatMapDisplay(frame).plot().ax_
    assert numbers(ax).count("–") == 2
    assert "grey: no number (2 cells)" in notes(ax)


def test_where_there_is_no_room_numbers_are_left_out():
    ax = HeatMapDisplay(some(20, 20)).plot(Figure(figsize=(3, 3)).subplots()).ax_
    assert numbers(ax) in ([], [notes(ax)])


def test_rows_and_columns_beyond_the_most_are_counted():
    ax = HeatMapDisplay(some(100, 50)).plot().ax_
    assert ax.images[0].get_array().shape == (60, 30)
    assert "not shown: 40 further rows" in notes(ax)
    assert "not shown: 20 further columns" in notes(ax)


def test_columns_may_have_names_of_any_kind():
    ax = HeatMapDisplay(some().rename_axis(columns="period")).plot().ax_
    assert ax.get_xlabel() == "period"
    assert [text.get_text() for text in ax.get_xticklabels()] == ["0", "1", "2", "3"]


def test_a_table_of_equal_numbers_is_drawn():
    low, high = limits(HeatMapDisplay(some(low=0.3, high=0.3)).plot().ax_)
    assert low < high


def test_nothing_to_draw_and_a_range_upside_down_are_refused():
    with pytest.raises(InputError, match="holds no finite number"):
        HeatMapDisplay(some() * np.nan)
    with pytest.raises(InputError, match="`low` must be at most `high`"):
        HeatMapDisplay(some(), low=1, high=0)


def differences_some(differences=(0.1, 0.3, 0.2), told=(False, True, True)):
    columns = {"respondent": ["a", "a", "b"], "other": ["b", "c", "c"]}
    return pd.DataFrame({**columns, "difference": differences, "significant": told})


def cells(ax):
    return np.ma.filled(ax.images[0].get_array(), np.nan)


def said(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_rows_ahead_of_columns_have_a_colour_where_significant():
    ax = DifferencesDisplay(differences_some()).plot().ax_
    wanted = [[np.nan, 0.0, 0.3], [0.0, np.nan, 0.2], [-0.3, -0.2, np.nan]]
    np.testing.assert_allclose(cells(ax), wanted)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]


def test_who_does_not_differ_significantly_has_a_dash():
    ax = DifferencesDisplay(differences_some()).plot().ax_
    assert sorted(map(tuple, ax.collections[0].get_offsets().tolist())) == [(0, 1), (1, 0)]
    assert "dash: no significant difference (1 pair)" in said(ax)


def test_pairs_that_were_not_compared_are_grey():
    ax = DifferencesDisplay(differences_some((0.1, np.nan, 0.2))).plot().ax_
    assert np.isnan(cells(ax)[0, 2])
    assert "grey: not compared (1 pair)" in said(ax)


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


def pairs_some(count):
    return all_pairs([f"item {k}" for k in range(count)])


def is_map(ax):
    return bool(ax.images)


def test_every_pair_of_few_items_is_a_heat_map_with_both_halves():
    ax = PairsDisplay(pairs_some(5)).plot().ax_
    table = ax.images[0].get_array()
    np.testing.assert_allclose(table.filled(np.nan), table.filled(np.nan).T)
    assert table[0, 1] == pytest.approx(0.6)
    assert np.isnan(table.filled(np.nan)[2, 2])
    assert "(1 pair)" in said(ax)


def test_colours_are_the_same_both_ways_and_chance_is_pale():
    low, high = PairsDisplay(pairs_some(5)).plot().ax_.images[0].get_clim()
    assert low == -high == pytest.approx(-0.6)
    weak = pairs_some(5).assign(q3_adjusted=0.01)
    assert PairsDisplay(weak).plot().ax_.images[0].get_clim() == (-0.3, 0.3)


def test_forty_items_are_a_map_and_more_are_dots():
    assert is_map(PairsDisplay(pairs_some(40)).plot().ax_)
    assert not is_map(PairsDisplay(pairs_some(41)).plot().ax_)


def test_a_list_of_some_pairs_is_dots_in_the_order_of_the_list():
    ax = PairsDisplay(pairs_some(60).iloc[:10]).plot().ax_
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "item 0 – item 1"
    assert len(names) == 10
    assert ax.yaxis_inverted()
    assert "filled: dependent beyond chance" in said(ax)


def test_more_pairs_than_can_be_read_are_counted():
    ax = PairsDisplay(pairs_some(60).iloc[:500]).plot().ax_
    assert len(ax.get_yticks()) == 40
    assert "not shown: 460 pairs further down the list" in said(ax)


def test_pairs_without_a_number_are_grey_and_said():
    frame = pairs_some(5)
    frame.loc[3, "q3_adjusted"] = np.nan
    assert "grey: 1 pair without a number" in said(PairsDisplay(frame).plot().ax_)


def test_a_frame_that_does_not_say_what_depends_is_enough():
    assert PairsDisplay(pairs_some(5).drop(columns="dependent")).plot().ax_.has_data()
