"""Rows of suspects: what is its own."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.results.plots.rankings import SuspectsDisplay


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def suspects_some(count, suspects=2):
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


def suspects_texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_the_most_suspicious_is_on_top_with_its_probability():
    ax = SuspectsDisplay(suspects_some(5).sample(frac=1, random_state=0)).plot().ax_
    assert names(ax) == [f"item {k}" for k in range(5)]
    assert ax.yaxis_inverted()
    assert "99%" in suspects_texts(ax)
    said = " ".join(suspects_texts(ax).split())
    assert "2 suspects (few of them are expected to have a right label)" in said


def test_strong_and_weak_have_their_places():
    weak, strong = SuspectsDisplay(suspects_some(5)).plot().ax_.collections[1:3]
    assert weak.get_offsets()[0, 0] == pytest.approx(0.4)
    assert strong.get_offsets()[0, 0] == pytest.approx(0.9 - 0.8 * 0.99)


def test_suspects_and_a_few_others_are_shown_and_the_rest_counted():
    ax = SuspectsDisplay(suspects_some(2000, 4)).plot().ax_
    assert len(names(ax)) == 9
    assert "not shown: 1,991 items with less evidence" in suspects_texts(ax)
    assert len(names(SuspectsDisplay(suspects_some(2000, 300)).plot().ax_)) == 30


def test_an_axes_too_small_shows_fewer():
    ax = Figure(figsize=(4, 2)).subplots()
    assert 0 < len(names(SuspectsDisplay(suspects_some(100, 30)).plot(ax).ax_)) < 20


def test_a_frame_that_names_no_suspects_is_enough():
    ax = SuspectsDisplay(suspects_some(5).drop(columns="suspect")).plot().ax_
    assert "0 suspects" in suspects_texts(ax)


def test_rows_without_numbers_are_said():
    frame = suspects_some(5)
    frame.iloc[0, 0] = np.nan
    assert "not shown: 1 row without a number" in suspects_texts(SuspectsDisplay(frame).plot().ax_)
