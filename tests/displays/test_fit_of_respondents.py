import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import RespondentFitDisplay
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


def some(zh, ability=0.0, se=0.3, names=None):
    names = [f"model {i}" for i in range(len(zh))] if names is None else names
    columns = {"ability": ability, "se": se, "zh": zh}
    return pd.DataFrame(columns, index=names).astype(float)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def named(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("model ")]


def test_the_share_of_unlikely_respondents_is_said():
    written = texts(RespondentFitDisplay(some([-2.0, 0.0, 1.0, -1.6])).plot().ax_)
    assert "1 of 4 respondents (25.0%) below -1.645" in written


def test_unlikely_respondents_are_named_with_their_figure():
    assert named(RespondentFitDisplay(some([-2.0, 0.0, -3.5])).plot().ax_) == [
        "model 2  -3.50",
        "model 0  -2.00",
    ]


def test_of_two_thousand_only_the_least_likely_are_named():
    zh = np.linspace(-4, 4, 2000)
    ax = RespondentFitDisplay(some(zh, zh[::-1])).plot().ax_
    assert 2 <= len(named(ax)) <= 8
    assert named(ax)[0].startswith("model 0 ")


def test_bars_of_the_named_lie_inside_the_axes():
    ax = RespondentFitDisplay(some([-2.0, 0.0], [-1.0, 0.0], 2.0)).plot().ax_
    assert ax.get_xlim()[0] < -1.0 - 1.96 * 2.0


def test_names_stand_apart_even_when_their_respondents_do_not():
    ax = RespondentFitDisplay(some([-2.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("model "))
    assert np.diff(heights).min() > 0.03  # of the height of the axes: one line of text


def test_what_lies_far_out_is_drawn_at_the_edge_and_said():
    ax = RespondentFitDisplay(some([-40.0, 0.0], [0.0, 9.0])).plot().ax_
    assert ax.get_ylim()[0] > -8
    assert "2 respondents beyond ±6" in texts(ax)


def test_respondents_without_a_figure_and_missing_errors_are_no_obstacle():
    written = texts(RespondentFitDisplay(some([-2.0, np.nan, 0.0], se=np.nan)).plot().ax_)
    assert "not shown: 1 respondent without zh" in written
    assert "median" not in written


def test_nothing_but_missing_figures_is_refused():
    with pytest.raises(InputError, match="no row has a finite number in 'ability' and 'zh'"):
        RespondentFitDisplay(some([np.nan]))


def test_a_wrong_frame_is_told_what_is_missing():
    with pytest.raises(InputError, match="'zh' is missing"):
        RespondentFitDisplay(some([1.0]).drop(columns="zh"))


def test_plotting_changes_neither_the_frame_nor_another_axes():
    frame = some([1.0, -2.0])
    before = frame.copy(deep=True)
    other, ax = Figure().subplots(1, 2)
    assert RespondentFitDisplay(frame).plot(ax).ax_ is ax
    assert not other.has_data()
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("count", [1, 5, 2000])
def test_any_number_of_respondents_is_drawn_the_same_each_time(count, tmp_path):
    zh, ability = np.random.default_rng(count).normal(size=(2, count))
    frame = some(zh, ability)
    paths = [
        RespondentFitDisplay(frame).plot().save(tmp_path / f"{k}.png", dpi=50) for k in range(2)
    ]
    first, second = (path.read_bytes() for path in paths)
    assert len(first) > 1000
    assert first == second


def test_hostile_names_stay_inside_the_figure():
    zh = np.linspace(-4, -2, len(HOSTILE))
    display = RespondentFitDisplay(some(zh, names=HOSTILE)).plot()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        display.figure_.canvas.draw()
        inner = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    assert -0.02 < inner.x0 < inner.x1 < width + 0.02
    assert -0.02 < inner.y0 < inner.y1 < height + 0.02
