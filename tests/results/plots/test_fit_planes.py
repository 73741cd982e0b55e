"""Fit planes: what is its own in each display."""

import numpy as np
import pandas as pd

from ogive.results.plots.item_planes import FitDisplay, RespondentFitDisplay

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


def fit_some(zh, ability=0.0, se=0.3, names=None):
    names = [f"model {i}" for i in range(len(zh))] if names is None else names
    columns = {"ability": ability, "se": se, "zh": zh}
    return pd.DataFrame(columns, index=names).astype(float)


def named(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("model ")]


def test_the_share_of_unlikely_respondents_is_said():
    written = texts(RespondentFitDisplay(fit_some([-2.0, 0.0, 1.0, -1.6])).plot().ax_)
    assert "1 of 4 respondents (25.0%) below -1.645" in written


def test_unlikely_respondents_are_named_with_their_figure():
    assert named(RespondentFitDisplay(fit_some([-2.0, 0.0, -3.5])).plot().ax_) == [
        "model 2  -3.50",
        "model 0  -2.00",
    ]


def test_of_two_thousand_only_the_least_likely_are_named():
    zh = np.linspace(-4, 4, 2000)
    ax = RespondentFitDisplay(fit_some(zh, zh[::-1])).plot().ax_
    assert 2 <= len(named(ax)) <= 8
    assert named(ax)[0].startswith("model 0 ")


def test_bars_of_the_named_lie_inside_the_axes():
    ax = RespondentFitDisplay(fit_some([-2.0, 0.0], [-1.0, 0.0], 2.0)).plot().ax_
    assert ax.get_xlim()[0] < -1.0 - 1.96 * 2.0


def test_names_stand_apart_even_when_their_respondents_do_not():
    ax = RespondentFitDisplay(fit_some([-2.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("model "))
    assert np.diff(heights).min() > 0.03  # of the height of the axes: one line of text


def test_what_lies_far_out_is_drawn_at_the_edge_and_said():
    ax = RespondentFitDisplay(fit_some([-40.0, 0.0], [0.0, 9.0])).plot().ax_
    assert ax.get_ylim()[0] > -8
    assert "2 respondents beyond ±6" in texts(ax)


def test_respondents_without_a_figure_and_missing_errors_are_no_obstacle():
    written = texts(RespondentFitDisplay(fit_some([-2.0, np.nan, 0.0], se=np.nan)).plot().ax_)
    assert "not shown: 1 respondent without zh" in written
    assert "median" not in written
