import numpy as np
import pandas as pd
import pytest

from itemwise.displays import AnchorsDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(count, drifted=0):
    """Anchors on the line but for the first ones, which became harder."""
    old = np.linspace(-2.0, 2.0, count)
    moved = np.arange(count) < drifted
    columns = {"difficulty_old": old, "difficulty_new": old + moved, "drifted": moved}
    names = [f"anchor {k}" for k in range(count)]
    return pd.DataFrame(columns, index=names).assign(difficulty_difference_se=0.1)


def named(ax):
    return {t.get_text(): t.get_color() for t in ax.texts if t.get_text().startswith("anchor")}


def test_of_many_anchors_those_that_drifted_are_named_in_their_colour():
    ax = AnchorsDisplay(some(30, 3)).plot().ax_
    assert named(ax) == dict.fromkeys(("anchor 0", "anchor 1", "anchor 2"), STYLE.negative)
    assert "drifted (3 of 30 anchors)" in ax.texts[-1].get_text()


def test_of_few_anchors_all_are_named():
    assert len(named(AnchorsDisplay(some(8, 1)).plot().ax_)) == 8


def test_a_bar_reaches_so_far_as_the_error_of_the_difference_allows():
    bars = AnchorsDisplay(some(5)).plot().ax_.collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(bar[:, 1]) for bar in bars], 2 * 1.96 * 0.1)


def test_an_anchor_far_outside_is_not_drawn_but_counted():
    frame = some(20)
    frame.iloc[4, :2] = 400.0
    ax = AnchorsDisplay(frame).plot().ax_
    assert ax.get_xlim()[1] < 20
    assert "not shown: 1 anchor far from the others" in ax.texts[-1].get_text()


def test_a_frame_without_a_difficulty_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        AnchorsDisplay(some(3).assign(difficulty_new=np.nan))
