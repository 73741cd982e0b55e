import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import SuspectsDisplay
from itemwise.errors import InputError

HOSTILE = ["$x_{", "\\frac{$", "a very long name " * 30, "模型 😀", "line\nbreak\x00", "_hidden"]


def some(count, suspects=2):
    evidence = np.linspace(0.99, 0.0, count)
    return pd.DataFrame(
        {
            "evidence": evidence,
            "share_right_strong": 0.9 - 0.8 * evidence,
            "share_right_weak": 0.4,
            "suspect": np.arange(count) < suspects,
        },
        index=[f"item {k}" for k in range(count)],
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_most_suspicious_is_on_top_with_its_probability():
    ax = SuspectsDisplay(some(5).sample(frac=1, random_state=0)).plot().ax_
    assert names(ax) == [f"item {k}" for k in range(5)]
    assert ax.yaxis_inverted()
    assert "99%" in texts(ax)
    assert "2 suspects" in texts(ax)


def test_strong_and_weak_have_their_places():
    weak, strong = SuspectsDisplay(some(5)).plot().ax_.collections[1:3]
    assert weak.get_offsets()[0, 0] == pytest.approx(0.4)
    assert strong.get_offsets()[0, 0] == pytest.approx(0.9 - 0.8 * 0.99)


def test_suspects_and_a_few_others_are_shown_and_the_rest_counted():
    ax = SuspectsDisplay(some(2000, 4)).plot().ax_
    assert len(names(ax)) == 9
    assert "not shown: 1,991 items with less evidence" in texts(ax)
    assert len(names(SuspectsDisplay(some(2000, 300)).plot().ax_)) == 30


def test_an_axes_too_small_shows_fewer():
    ax = Figure(figsize=(4, 2)).subplots()
    assert 0 < len(names(SuspectsDisplay(some(100, 30)).plot(ax).ax_)) < 20


def test_a_frame_that_names_no_suspects_is_enough():
    ax = SuspectsDisplay(some(5).drop(columns="suspect")).plot().ax_
    assert "0 suspects" in texts(ax)


def test_rows_without_numbers_are_said():
    frame = some(5)
    frame.iloc[0, 0] = np.nan
    assert "not shown: 1 row without a number" in texts(SuspectsDisplay(frame).plot().ax_)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        SuspectsDisplay(some(2).assign(evidence=np.nan))
    with pytest.raises(InputError, match="'share_right_weak' is missing"):
        SuspectsDisplay(some(2).drop(columns="share_right_weak"))
    with pytest.raises(InputError, match="without rows"):
        SuspectsDisplay(some(2)[:0])
