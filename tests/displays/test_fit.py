import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import FitDisplay
from itemwise.errors import InputError

HOSTILE = [
    "$x_{",
    "\\frac{$",
    "<script>",
    "a very long name " * 30,
    "模型 😀",
    "a\nb\x00",
    "_x",
    "",
]


def some(infit, outfit, p=1.0, names=None):
    names = [f"item {i}" for i in range(len(infit))] if names is None else names
    columns = {"infit": infit, "outfit": outfit, "s_x2_p_adjusted": p}
    return pd.DataFrame(columns, index=names).astype(float)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("item ")]


def test_items_within_the_band_are_not_named():
    ax = FitDisplay(some([0.9, 1.0, 1.2], [0.8, 1.1, 1.2])).plot().ax_
    assert names(ax) == []
    assert "3 of 3 items within 0.7 to 1.3" in texts(ax)


def test_items_outside_the_band_are_named():
    ax = FitDisplay(some([0.9, 1.0, 1.5], [0.6, 1.1, 1.2])).plot().ax_
    assert sorted(names(ax)) == ["item 0", "item 2"]
    assert "1 of 3 items within" in texts(ax)


def test_items_of_the_wrong_form_are_named_and_counted_though_their_squares_are_fine():
    ax = FitDisplay(some([1.0, 1.0], [1.0, 1.0], [0.5, 0.01])).plot().ax_
    assert names(ax) == ["item 1"]
    assert "below 0.05 (1 item)" in texts(ax)


def test_without_p_values_nothing_is_said_of_the_form():
    ax = FitDisplay(some([1.0], [1.0], np.nan)).plot().ax_
    assert "S-X²" not in texts(ax)


def test_of_two_thousand_items_only_the_farthest_are_named():
    outfit = np.full(2000, 1.5)
    outfit[7] = 3.0
    ax = FitDisplay(some(np.ones(2000), outfit)).plot().ax_
    assert 2 <= len(names(ax)) <= 12
    assert "item 7" in names(ax)


def test_names_stand_apart_even_when_their_items_do_not():
    ax = FitDisplay(some([1.0] * 30, [2.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("item "))
    assert np.diff(heights).min() > 0.02


def test_what_lies_beyond_four_is_drawn_at_the_edge_and_said():
    ax = FitDisplay(some([1.0, 1.0, 0.01], [50.0, np.inf, 1.0])).plot().ax_
    assert ax.get_ylim()[1] < 5
    assert "3 items beyond 0.25 or 4" in texts(ax)


def test_items_without_figures_are_said():
    assert "not shown: 1 item" in texts(FitDisplay(some([1, np.nan], [1, 1])).plot().ax_)


def test_nothing_but_missing_figures_is_refused():
    with pytest.raises(InputError, match="no row has a number in 'infit' and 'outfit'"):
        FitDisplay(some([np.nan], [1.0]))


def test_a_wrong_frame_is_told_what_is_missing():
    with pytest.raises(InputError, match=r"'s_x2_p_adjusted' is missing"):
        FitDisplay(some([1.0], [1.0]).drop(columns="s_x2_p_adjusted"))


def test_text_in_place_of_numbers_is_refused():
    with pytest.raises(InputError, match="needs numbers in the column 'infit'"):
        FitDisplay(some([1.0], [1.0]).assign(infit="wide"))


def test_plotting_changes_neither_the_frame_nor_another_axes():
    frame = some([1.0, 2.0], [1.0, 2.0])
    before = frame.copy(deep=True)
    figure = Figure()
    other, ax = figure.subplots(1, 2)
    assert FitDisplay(frame).plot(ax).ax_ is ax
    assert not other.has_data()
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("count", [1, 5, 2000])
def test_any_number_of_items_is_drawn_the_same_each_time(count, tmp_path):
    square = np.exp(np.random.default_rng(count).normal(0, 0.3, (2, count)))
    paths = [FitDisplay(some(*square)).plot().save(tmp_path / f"{k}.png", dpi=50) for k in range(2)]
    first, second = (path.read_bytes() for path in paths)
    assert len(first) > 1000
    assert first == second


def test_hostile_names_stay_inside_the_figure():
    outfit = np.linspace(1.4, 3.0, len(HOSTILE))
    display = FitDisplay(some(outfit, outfit, names=HOSTILE)).plot()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        display.figure_.canvas.draw()
        inner = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    assert -0.02 < inner.x0 < inner.x1 < width + 0.02
    assert -0.02 < inner.y0 < inner.y1 < height + 0.02
