import numpy as np
import pandas as pd
import pytest

from itemwise.displays import ItemMapDisplay
from itemwise.errors import InputError


def some(respondents, items, se=0.2):
    return pd.DataFrame(
        {
            "kind": ["respondent"] * len(respondents) + ["item"] * len(items),
            "name": [
                *(f"model {i}" for i in range(len(respondents))),
                *(f"item {i}" for i in range(len(items))),
            ],
            "position": np.array([*respondents, *items], dtype=float),
            "se": se,
        }
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def test_respondents_go_left_and_items_go_right():
    ax = ItemMapDisplay(some([0, 1, 1, 2], [-1, 0, 0, 0, 3])).plot().ax_
    assert widths(ax)[:24].max() <= 0
    assert widths(ax)[24:].min() >= 0
    assert ax.get_xlabel() == "← 4 respondents   |   5 items →"


def test_items_alone_leave_the_other_side_empty():
    ax = ItemMapDisplay(some([], [0.3] * 5)).plot().ax_
    assert not widths(ax)[:24].any()
    assert "0 respondents" in ax.get_xlabel()


def test_rows_may_share_index_labels_as_after_a_concat():
    frame = pd.concat([some([0.0, 1.0], []), some([], [0.5, -0.5])])
    assert ItemMapDisplay(frame).plot().ax_.has_data()


def test_the_easiest_and_hardest_items_are_named_with_their_uncertainty():
    written = texts(ItemMapDisplay(some([0], np.linspace(-3, 3, 101))).plot().ax_)
    assert "item 0  -3.00 ± 0.20" in written
    assert "item 100  3.00 ± 0.20" in written
    assert "item 50" not in written


def test_names_stand_apart_even_when_their_items_do_not():
    ax = ItemMapDisplay(some([0], [1.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("item"))
    assert np.diff(heights).min() > 0.02


def test_what_lies_beyond_six_is_drawn_at_the_edge_and_said():
    ax = ItemMapDisplay(some([0, 8], [1, np.inf, -12])).plot().ax_
    assert ax.get_ylim()[1] < 7
    assert "arrow: 1 respondent and 2 items beyond ±6" in texts(ax)
    assert {line.get_marker() for line in ax.lines} >= {"^", "v"}
    assert "item 1  above 6" in texts(ax)
    assert "item 2  below -6" in texts(ax)


def test_rows_without_a_position_are_said():
    written = texts(ItemMapDisplay(some([0, np.nan], [1], se=np.nan)).plot().ax_)
    assert "not shown: 1 row without a position" in written
    assert "median" not in written


def test_an_unknown_kind_is_refused():
    with pytest.raises(InputError, match="holds 'robot'"):
        ItemMapDisplay(some([0], [1]).replace({"kind": {"item": "robot"}}))


def test_nothing_but_missing_positions_is_refused():
    with pytest.raises(InputError, match="'position' holds no number"):
        ItemMapDisplay(some([np.nan], [np.nan]))
