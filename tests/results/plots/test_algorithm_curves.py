"""Curves and ranks of algorithms: what is its own in each figure."""

import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.algorithm_curves import (
    BumpDisplay,
    CriticalDifferenceDisplay,
    PerformanceCurvesDisplay,
    RiskCoverageDisplay,
)
from ogive.results.plots.theme import STYLE

X = np.linspace(-2.0, 2.0, 9)


def some(heights, low=-0.1, high=0.1):
    parts = [
        pd.DataFrame({"algorithm": f"algorithm {k}", "difficulty": X, "performance": height})
        for k, height in enumerate(heights)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(low=frame["performance"] + low, high=frame["performance"] + high)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def named(ax):
    return {text.get_text() for text in ax.texts if text.get_text().startswith("algorithm")}


def grey(ax):
    return [
        segment
        for lines in ax.collections
        if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    ]


def test_each_of_a_few_has_a_line_a_band_and_a_name_in_its_colour():
    frame = some([0.2, 0.9, 0.5]).sample(frac=1, random_state=0)
    ax = PerformanceCurvesDisplay(frame).plot().ax_
    colours = {line.get_ydata()[0]: line.get_color() for line in ax.lines}
    names = {text.get_text(): text.get_color() for text in ax.texts}
    assert {f"algorithm {k}": colours[y] for k, y in enumerate([0.2, 0.9, 0.5])}.items() <= (
        names.items()
    )
    assert len(ax.collections) == 3
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), X)


def test_of_many_those_on_top_somewhere_stand_out_before_those_of_high_mean():
    heights = [0.8 - 0.01 * k for k in range(20)]
    heights[19] = np.where(X > 1.5, 0.85, 0.0)  # the best of hard problems, the worst elsewhere
    ax = PerformanceCurvesDisplay(some(heights)).plot().ax_
    assert named(ax) == {f"algorithm {k}" for k in (0, 1, 2, 3, 4, 5, 19)}
    assert len(grey(ax)) == 13
    assert "grey: 13 other algorithms" in texts(ax)
    assert STYLE.neutral not in {line.get_color() for line in ax.lines}


def test_the_caller_may_say_who_stands_out():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    display = PerformanceCurvesDisplay(frame, highlight=["algorithm 7", "algorithm 3"])
    assert named(display.plot().ax_) == {"algorithm 3", "algorithm 7"}
    assert len(grey(display.ax_)) == 18
    assert named(PerformanceCurvesDisplay(frame, highlight="algorithm 7").plot().ax_) == {
        "algorithm 7"
    }
    with pytest.raises(InputError, match=r"cannot highlight 'nobody'.*It has: 'algorithm 0'"):
        PerformanceCurvesDisplay(frame, highlight=["nobody"])


def test_more_names_than_colours_are_distinguished_by_dashes():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    everyone = [f"algorithm {k}" for k in range(12)]
    lines = PerformanceCurvesDisplay(frame, highlight=everyone).plot().ax_.lines
    looks = {(line.get_color(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == len(lines) == 12


def test_a_constant_curve_without_a_band_is_drawn_in_the_middle():
    ax = PerformanceCurvesDisplay(some([0.5], np.nan, np.nan)).plot().ax_
    low, high = ax.get_ylim()
    assert low + high == pytest.approx(1.0)
    assert high - low < 0.2
    assert "band" not in texts(ax)


def test_a_band_that_bursts_does_not_flatten_the_curves():
    frame = some([0.5, 0.9])
    frame.loc[0, "high"] = 1e6
    assert PerformanceCurvesDisplay(frame).plot().ax_.get_ylim()[1] < 1.2


def test_points_are_drawn_of_those_who_stand_out():
    frame = some([0.8 - 0.01 * k for k in range(20)])
    points = frame[["algorithm", "difficulty", "performance"]]
    ax = PerformanceCurvesDisplay(frame, points, highlight="algorithm 4").plot().ax_
    (dots,) = (c for c in ax.collections if isinstance(c, PathCollection))
    own = points.loc[points["algorithm"] == "algorithm 4", ["difficulty", "performance"]]
    np.testing.assert_allclose(dots.get_offsets(), own.to_numpy())
    with pytest.raises(InputError, match="for its points, needs the columns"):
        PerformanceCurvesDisplay(frame, points[["algorithm"]])


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else():
    frame = some([0.5])
    frame.loc[0, "performance"] = np.nan
    assert "not shown: 1 row without a number" in texts(PerformanceCurvesDisplay(frame).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        PerformanceCurvesDisplay(frame.assign(difficulty=np.inf))


def test_the_axis_says_what_performance_is():
    ax = PerformanceCurvesDisplay(some([0.2, 0.4]), height="seconds saved").plot().ax_
    assert ax.get_ylabel() == "seconds saved"


def test_a_number_is_no_list_of_names():
    with pytest.raises(InputError, match="cannot highlight '2'"):
        PerformanceCurvesDisplay(some([0.2, 0.4]), highlight=2)


COVERAGE = np.linspace(0.1, 1.0, 10)


def risk_some(count):
    """Methods of which the first is the best; all are equal where they decide every case."""
    parts = [
        pd.DataFrame(
            {
                "method": f"method {k}",
                "coverage": COVERAGE,
                "accuracy": 0.9 + (0.1 - 0.002 * k) * (1 - COVERAGE),
            }
        )
        for k in range(count)
    ]
    frame = pd.concat(parts, ignore_index=True)
    return frame.assign(low=frame["accuracy"] - 0.02, high=frame["accuracy"] + 0.01)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def of_kind(ax, kind):
    return [shape for shape in ax.collections if isinstance(shape, kind)]


def test_each_method_has_a_line_and_a_band_and_the_best_is_named_first():
    frame = risk_some(3).sample(frac=1, random_state=0)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert legend(ax) == ["method 0", "method 1", "method 2"]
    assert len(of_kind(ax, PolyCollection)) == 3
    best = next(line for line in ax.lines if line.get_color() == STYLE.palette[0])
    np.testing.assert_allclose(best.get_xdata(), COVERAGE)
    assert best.get_ydata()[0] == pytest.approx(0.99)


def test_the_target_is_a_dashed_line_that_is_always_in_sight():
    ax = RiskCoverageDisplay(risk_some(1), target=0.999).plot().ax_
    assert [line.get_ydata()[0] for line in ax.lines if line.is_dashed()] == [0.999]
    assert ax.get_ylim()[1] > 0.999
    assert legend(ax)[-1] == "required: 99.9 %"
    with pytest.raises(InputError, match=r"`target` must be .*got 97"):
        RiskCoverageDisplay(risk_some(1), target=97)


def test_chosen_thresholds_are_marked_in_the_colour_of_their_method():
    points = pd.DataFrame(
        {"method": ["method 1", "method 0"], "coverage": [0.3, 0.4], "accuracy": [0.97, 0.85]}
    )
    ax = RiskCoverageDisplay(risk_some(2), points=points.assign(low=0.8)).plot().ax_
    found = {
        tuple(dot.get_offsets()[0]): to_hex(dot.get_facecolor()[0]).upper()
        for dot in of_kind(ax, PathCollection)
    }
    assert found == {(0.3, 0.97): STYLE.palette[1], (0.4, 0.85): STYLE.palette[0]}
    assert ax.get_ylim()[0] < 0.85
    assert legend(ax)[-1] == "chosen threshold"
    with pytest.raises(InputError, match=r"for its points, needs the columns"):
        RiskCoverageDisplay(risk_some(2), points=points[["method"]])


def test_of_many_methods_the_best_have_a_colour_and_the_others_are_grey():
    ax = RiskCoverageDisplay(risk_some(20)).plot().ax_
    assert legend(ax) == [f"method {k}" for k in range(7)]
    (grey,) = of_kind(ax, LineCollection)
    assert len(grey.get_segments()) == 13
    assert "grey: 13 methods of lower mean accuracy" in texts(ax)
    assert "band" not in texts(ax)


def test_a_band_that_bursts_does_not_flatten_the_curves_risk():
    frame = risk_some(2)
    frame.loc[0, "low"] = -50.0
    low, high = RiskCoverageDisplay(frame).plot().ax_.get_ylim()
    assert high - low < 0.3


def test_a_method_of_one_point_is_a_dot_with_a_bar():
    frame = risk_some(1)[-1:]
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert ax.lines[0].get_marker() == "o"
    assert np.ptp(of_kind(ax, LineCollection)[0].get_segments()[0][:, 1]) == pytest.approx(0.03)


def test_equal_accuracies_are_not_blown_up():
    frame = risk_some(2).assign(accuracy=1.0, low=np.nan, high=np.nan)
    ax = RiskCoverageDisplay(frame).plot().ax_
    assert np.ptp(ax.get_ylim()) >= 0.02
    assert "band" not in texts(ax)


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else_risk():
    frame = risk_some(1)
    frame.loc[0, "accuracy"] = np.nan
    assert "not shown: 1 row without a number" in texts(RiskCoverageDisplay(frame).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        RiskCoverageDisplay(frame.assign(coverage=np.nan))


HOSTILE = ["$x_{", "\\frac{$", "a very long name " * 30, "模型 😀", "line\nbreak\x07", "_hidden"]


def rank_some(count=4, periods=5, seed=0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "period": np.repeat(np.arange(1, periods + 1), count),
            "item": np.repeat([f"set {k}" for k in range(periods)], count),
            "respondent": [f"model {k}" for k in range(count)] * periods,
            "rank": np.concatenate([1 + random.permutation(count) for _ in range(periods)]),
        }
    )


def rank_texts(ax):
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
    frame = rank_some()
    ax = BumpDisplay(frame).plot().ax_
    assert ax.yaxis_inverted()
    lines = {tuple(line.get_ydata()) for line in ax.lines}
    wanted = {tuple(part["rank"].astype(float)) for _, part in frame.groupby("respondent")}
    assert lines == wanted


def test_names_stand_at_both_ends_with_the_final_rank_on_the_right():
    frame = rank_some()
    shown = rank_texts(BumpDisplay(frame).plot().ax_)
    last = frame[frame["period"] == 5].set_index("respondent")["rank"]
    for name in last.index:
        assert name in shown
        assert f"{last[name]}  {name}" in shown


def test_the_order_of_rows_does_not_matter():
    frame = rank_some()
    first = BumpDisplay(frame).plot().ax_
    second = BumpDisplay(frame.sample(frac=1, random_state=1)).plot().ax_
    assert rank_texts(first) == rank_texts(second)
    assert ticks(first) == ticks(second) == [f"set {k}" for k in range(5)]


def test_of_nineteen_respondents_five_are_highlighted_and_all_are_named(tmp_path):
    display = BumpDisplay(rank_some(19, 60)).plot()
    assert len([text for text in rank_texts(display.ax_) if "model " in text]) == 2 * 19
    assert len(ticks(display.ax_)) == 60
    colours = [line.get_color() for line in display.ax_.lines]
    assert len(set(colours) - {"#8A8A8A"}) == 5 + 1  # and the rim of lines
    assert colours.count("#8A8A8A") == 14
    assert "grey: 14 other models" in rank_texts(display.ax_)
    assert display.save(tmp_path / "figure.png", dpi=60).stat().st_size > 1000


def test_periods_without_room_for_names_are_numbered():
    ax = BumpDisplay(rank_some(5, 300)).plot().ax_
    assert ax.get_xlabel() == "period"
    assert BumpDisplay(rank_some().drop(columns="item")).plot().ax_.get_xlabel() == "period"


def test_beyond_forty_the_best_are_drawn_and_the_rest_counted():
    ax = BumpDisplay(rank_some(100, 3)).plot().ax_
    assert len(ax.lines) == 2 * 5 + 35  # those in colour have a rim
    assert "not shown: 60 respondents of lower final rank" in " ".join(rank_texts(ax))


def test_shared_ranks_and_gaps_are_drawn():
    frame = rank_some()
    frame["rank"] = 1
    heights = [text.xy[1] for text in BumpDisplay(frame).plot().ax_.texts]
    assert len(set(np.round(heights[:4], 6))) == 4
    frame = rank_some()
    frame["rank"] = frame["rank"].astype(float)
    frame.loc[5, "rank"] = np.nan
    assert "not shown: 1 row without period or rank" in rank_texts(BumpDisplay(frame).plot().ax_)


def test_an_axes_too_small_shows_fewer():
    ax = Figure(figsize=(4, 1.5)).subplots()
    assert 0 < len(BumpDisplay(rank_some(30)).plot(ax).ax_.lines) < 60


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="'rank' is missing"):
        BumpDisplay(rank_some().drop(columns="rank"))
    with pytest.raises(InputError, match="nothing to draw"):
        BumpDisplay(rank_some().assign(rank=np.nan))


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
    assert {"model 1  1.25", "model 2  2.50", "3.00  model 0", "3.25  model 3"} <= set(
        rank_texts(ax)
    )
    assert "critical difference 1.00" in rank_texts(ax)
    assert ax.get_xlabel() == "mean rank (1 is best)"


def test_beyond_sixty_only_the_ends_are_named():
    ax = CriticalDifferenceDisplay(ranks_some(np.linspace(1, 200, 200), 20.0)).plot().ax_
    named = [text for text in rank_texts(ax) if "model" in text]
    assert len(named) <= 60
    assert any("model 0 " in text for text in named)
    assert any("model 199" in text for text in named)
    assert f"not named: {200 - len(named)} respondents in the middle" in "\n".join(rank_texts(ax))


def test_an_axes_too_small_names_fewer():
    ax = Figure(figsize=(5, 2)).subplots()
    CriticalDifferenceDisplay(ranks_some(np.linspace(1, 40, 40))).plot(ax)
    assert 0 < len([text for text in rank_texts(ax) if "model" in text]) < 40


def test_rows_without_numbers_are_said():
    frame = ranks_some([1.0, 2.0, np.nan])
    said = "\n".join(rank_texts(CriticalDifferenceDisplay(frame).plot().ax_))
    assert "not shown: 1 row without a mean rank" in said


def test_blue_are_those_that_cannot_be_distinguished_from_the_first():
    shown = CriticalDifferenceDisplay(ranks_some([1.0, 1.8, 2.6, 4.0])).plot()
    elbows = [line for line in shown.ax_.lines if len(line.get_xdata()) == 3]
    colours = {line.get_xdata()[0]: line.get_color() for line in elbows}
    assert colours[1.0] == colours[1.8]
    assert colours[2.6] == colours[4.0] != colours[1.0]
    assert "blue: the first, and those" in "\n".join(rank_texts(shown.ax_))


def test_a_respondent_has_the_same_colour_in_two_figures():
    order = [f"model {k}" for k in (7, 3, 9, 0, 1, 2, 4, 5, 6, 8, 10, 11)]
    shown = [BumpDisplay(rank_some(12, seed=seed), order=order).plot().ax_ for seed in (0, 1, 2)]
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
