"""Rank charts: what is its own in each display."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.algorithm_curves import BumpDisplay, CriticalDifferenceDisplay

HOSTILE = ["$x_{", "\\frac{$", "a very long name " * 30, "模型 😀", "line\nbreak\x07", "_hidden"]


def some(count=4, periods=5, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "period": np.repeat(np.arange(1, periods + 1), count),
            "item": np.repeat([f"set {k}" for k in range(periods)], count),
            "respondent": [f"model {k}" for k in range(count)] * periods,
            "rank": np.concatenate([1 + random.permutation(count) for _ in range(periods)]),
        }
    )


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(ax):
    return [text.get_text() for text in ax.get_xticklabels()]


def inside(figure):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        figure.canvas.draw()
        inner = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    return min(inner.x0, inner.y0) > -0.02 and inner.x1 < width + 0.02 and inner.y1 < height + 0.02


def test_rank_one_is_on_top_and_each_line_runs_through_its_ranks():
    frame = some()
    ax = BumpDisplay(frame).plot().ax_
    assert ax.yaxis_inverted()
    lines = {tuple(line.get_ydata()) for line in ax.lines}
    wanted = {tuple(part["rank"].astype(float)) for _, part in frame.groupby("respondent")}
    assert lines == wanted


def test_names_stand_at_both_ends_with_the_final_rank_on_the_right():
    frame = some()
    shown = texts(BumpDisplay(frame).plot().ax_)
    last = frame[frame["period"] == 5].set_index("respondent")["rank"]
    for name in last.index:
        assert name in shown
        assert f"{last[name]}  {name}" in shown


def test_the_order_of_rows_does_not_matter():
    frame = some()
    first = BumpDisplay(frame).plot().ax_
    second = BumpDisplay(frame.sample(frac=1, random_state=1)).plot().ax_
    assert texts(first) == texts(second)
    assert ticks(first) == ticks(second) == [f"set {k}" for k in range(5)]


def test_of_nineteen_respondents_five_are_highlighted_and_all_are_named(tmp_path):
    display = BumpDisplay(some(19, 60)).plot()
    assert len([text for text in texts(display.ax_) if "model " in text]) == 2 * 19
    assert len(ticks(display.ax_)) == 60
    colours = [line.get_color() for line in display.ax_.lines]
    assert len(set(colours) - {"#8A8A8A"}) == 5 + 1  # and the rim of lines
    assert colours.count("#8A8A8A") == 14
    assert "grey: 14 other models" in texts(display.ax_)
    assert display.save(tmp_path / "figure.png", dpi=60).stat().st_size > 1000


def test_respondents_can_be_highlighted_by_name():
    ax = BumpDisplay(some(19, 6), highlight=["model 3", "model 12"]).plot().ax_
    coloured = {text.get_text() for text in ax.texts if text.get_color() not in ("#8A8A8A",)}
    assert {"model 3", "model 12"} <= coloured
    assert "model 4" not in coloured
    with pytest.raises(InputError, match="cannot highlight 'nobody'"):
        BumpDisplay(some(19, 6), highlight="nobody")


def test_periods_without_room_for_names_are_numbered():
    ax = BumpDisplay(some(5, 300)).plot().ax_
    assert ax.get_xlabel() == "period"
    assert BumpDisplay(some().drop(columns="item")).plot().ax_.get_xlabel() == "period"


def test_beyond_forty_the_best_are_drawn_and_the_rest_counted():
    ax = BumpDisplay(some(100, 3)).plot().ax_
    assert len(ax.lines) == 2 * 5 + 35  # those in colour have a rim
    assert "not shown: 60 respondents of lower final rank" in " ".join(texts(ax))


def test_shared_ranks_and_gaps_are_drawn():
    frame = some()
    frame["rank"] = 1
    heights = [text.xy[1] for text in BumpDisplay(frame).plot().ax_.texts]
    assert len(set(np.round(heights[:4], 6))) == 4
    frame = some()
    frame["rank"] = frame["rank"].astype(float)
    frame.loc[5, "rank"] = np.nan
    assert "not shown: 1 row without period or rank" in texts(BumpDisplay(frame).plot().ax_)


def test_an_axes_too_small_shows_fewer():
    ax = Figure(figsize=(4, 1.5)).subplots()
    assert 0 < len(BumpDisplay(some(30)).plot(ax).ax_.lines) < 60


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="'rank' is missing"):
        BumpDisplay(some().drop(columns="rank"))
    with pytest.raises(InputError, match="nothing to draw"):
        BumpDisplay(some().assign(rank=np.nan))
    with pytest.raises(InputError, match="'model 0' twice in period 1"):
        BumpDisplay(pd.concat([some(), some()]))


RANKS_HOSTILE = [
    "$x_{",
    "\\frac{$",
    "a very long name " * 30,
    "模型 😀",
    "line\nbreak\x00",
    "_hidden",
]


def ranks_some(ranks, critical=1.0):
    names = [f"model {k}" for k in range(len(ranks))]
    return pd.DataFrame({"mean_rank": ranks, "critical_difference": critical}, index=names)


def bars(ax):
    """The ends of the bars, best first."""
    return sorted(
        (segment[0, 0], segment[1, 0]) for c in ax.collections for segment in c.get_segments()
    )


def test_bars_join_what_is_closer_than_the_critical_difference():
    ax = CriticalDifferenceDisplay(ranks_some([1.0, 1.8, 2.6, 4.0])).plot().ax_
    np.testing.assert_allclose(bars(ax), [(1.0, 1.8), (1.8, 2.6)], atol=0.05)


def test_a_difference_that_just_reaches_it_is_one():
    assert bars(CriticalDifferenceDisplay(ranks_some([1.0, 2.0])).plot().ax_) == []
    assert len(bars(CriticalDifferenceDisplay(ranks_some([1.0, 1.99])).plot().ax_)) == 1


def test_no_bar_lies_inside_another_and_bars_that_overlap_stand_apart():
    ranks = np.sort(np.random.default_rng(0).uniform(1, 12, 12))
    ax = CriticalDifferenceDisplay(ranks_some(ranks, 3.0)).plot().ax_
    found = bars(ax)
    assert len(found) > 2
    assert not any(a < c and d < b for a, b in found for c, d in found)
    placed = [(s[0, 1], s[0, 0], s[1, 0]) for c in ax.collections for s in c.get_segments()]
    for height, low, high in placed:
        for other, start, stop in placed:
            if (low, high) != (start, stop) and height == other:
                assert high < start or stop < low


def test_every_name_stands_with_its_rank_the_better_half_on_the_left():
    ax = CriticalDifferenceDisplay(ranks_some([3.0, 1.25, 2.5, 3.25])).plot().ax_
    assert {"model 1  1.25", "model 2  2.50", "3.00  model 0", "3.25  model 3"} <= set(texts(ax))
    assert "critical difference 1.00" in texts(ax)
    assert ax.get_xlabel() == "mean rank (1 is best)"


def test_beyond_sixty_only_the_ends_are_named():
    ax = CriticalDifferenceDisplay(ranks_some(np.linspace(1, 200, 200), 20.0)).plot().ax_
    named = [text for text in texts(ax) if "model" in text]
    assert len(named) <= 60
    assert any("model 0 " in text for text in named)
    assert any("model 199" in text for text in named)
    assert f"not named: {200 - len(named)} respondents in the middle" in "\n".join(texts(ax))


def test_an_axes_too_small_names_fewer():
    ax = Figure(figsize=(5, 2)).subplots()
    CriticalDifferenceDisplay(ranks_some(np.linspace(1, 40, 40))).plot(ax)
    assert 0 < len([text for text in texts(ax) if "model" in text]) < 40


def test_rows_without_numbers_are_said():
    frame = ranks_some([1.0, 2.0, np.nan])
    said = "\n".join(texts(CriticalDifferenceDisplay(frame).plot().ax_))
    assert "not shown: 1 row without a mean rank" in said


def test_blue_are_those_that_cannot_be_distinguished_from_the_first():
    shown = CriticalDifferenceDisplay(ranks_some([1.0, 1.8, 2.6, 4.0])).plot()
    elbows = [line for line in shown.ax_.lines if len(line.get_xdata()) == 3]
    colours = {line.get_xdata()[0]: line.get_color() for line in elbows}
    assert colours[1.0] == colours[1.8]
    assert colours[2.6] == colours[4.0] != colours[1.0]
    assert "blue: the first, and those" in "\n".join(texts(shown.ax_))


def test_a_respondent_has_the_same_colour_in_two_figures():
    order = [f"model {k}" for k in (7, 3, 9, 0, 1, 2, 4, 5, 6, 8, 10, 11)]
    shown = [BumpDisplay(some(12, seed=seed), order=order).plot().ax_ for seed in (0, 1, 2)]
    named = [
        {text.get_text(): text.get_color() for text in ax.texts if text.get_text().startswith("m")}
        for ax in shown
    ]
    grey = max(set(named[0].values()), key=list(named[0].values()).count)
    for one in named:
        coloured = [colour for colour in one.values() if colour != grey]
        assert len(set(coloured)) == len(coloured) == 5
    first = order[:7]  # as many as there are colours
    for name in first:
        assert len({one[name] for one in named if one[name] != grey}) <= 1
