"""Panels of algorithms: what is its own in each figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection, QuadMesh

from ogive.errors import InputError
from ogive.results.plots import DISPLAYS
from ogive.results.plots.algorithm_panels import DensitiesDisplay, GoodnessDisplay, TracesDisplay
from ogive.results.plots.theme import STYLE


@pytest.fixture
def some(frames):
    return lambda count: frames["densities"]([f"algorithm {k}" for k in range(count)])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def meshes(ax):
    return [mesh for mesh in ax.collections if isinstance(mesh, QuadMesh)]


def test_each_algorithm_has_a_panel_with_its_name_and_they_share_their_colours(some):
    ax = DensitiesDisplay(some(3).sample(frac=1, random_state=0)).plot().ax_
    assert sorted(texts(ax)) == ["algorithm 0", "algorithm 1", "algorithm 2"]
    assert len({mesh.get_clim() for mesh in meshes(ax)}) == 1
    lefts = [mesh.get_coordinates()[..., 0].min() for mesh in meshes(ax)]
    rights = [mesh.get_coordinates()[..., 0].max() for mesh in meshes(ax)]
    assert all(right < left for right, left in zip(rights, lefts[1:], strict=False))


def test_the_density_stands_at_its_ability_and_performance(some):
    frame = some(1).assign(density=0.0)
    frame.loc[(frame["performance"] == 1.0) & (frame["ability"] == 4.0), "density"] = 1.0
    (mesh,) = meshes(DensitiesDisplay(frame).plot().ax_)
    assert mesh.get_array()[-1, -1] == mesh.get_array().max() > 0
    assert mesh.get_array().sum() == mesh.get_array().max()


def test_further_algorithms_are_counted(some):
    ax = DensitiesDisplay(some(15)).plot().ax_
    assert len(meshes(ax)) == 12
    assert "not shown: 3 more algorithms" in texts(ax)
    assert len(meshes(DensitiesDisplay(some(15), panels=15).plot().ax_)) == 15
    with pytest.raises(InputError, match=r"`panels` must be a whole number of at least 1.*got 0"):
        DensitiesDisplay(some(1), panels=0)
    with pytest.raises(InputError, match=r"`panels` must be .*got 'x'"):
        DensitiesDisplay(some(1), panels="x")


def test_a_spike_does_not_bleach_the_rest(some):
    frame = some(2)
    frame.loc[7, "density"] = np.inf
    frame.loc[8, "density"] = 1e9
    mesh = meshes(DensitiesDisplay(frame).plot().ax_)[0]
    assert mesh.get_clim()[1] <= 1.0
    assert mesh.get_array().max() == mesh.get_clim()[1]


def test_another_column_may_be_the_performance(some):
    frame = some(1).rename(columns={"performance": "log-odds"})
    assert DensitiesDisplay(frame, value="log-odds").plot().ax_.get_ylabel() == "log-odds"


@pytest.fixture
def traces_some(frames):
    return lambda count: frames["traces"]([f"algorithm {k}" for k in range(count)])


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_panel_has_one_line_a_level_in_the_same_colours(traces_some):
    ax = TracesDisplay(traces_some(2)).plot().ax_
    colours = [tuple(line.get_color()) for line in ax.lines]
    assert len(colours) == 12
    assert colours[:6] == colours[6:]
    assert len(set(colours)) == 6


def test_numbers_are_ordered_and_names_keep_the_order_of_their_categories(traces_some):
    frame = traces_some(1).sample(frac=1, random_state=0)
    assert legend(TracesDisplay(frame).plot().ax_) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    named = frame.assign(grade=pd.cut(frame["grade"], 3, labels=["poor", "fair", "good"]))
    named = named.drop_duplicates(["grade", "ability"])
    assert legend(TracesDisplay(named).plot().ax_) == ["poor", "fair", "good"]


def test_of_many_levels_the_first_and_the_last_are_named(traces_some):
    frame = pd.concat([traces_some(1).assign(grade=float(k)) for k in range(20)])
    assert legend(TracesDisplay(frame).plot().ax_) == ["0", "19"]


def test_lines_stay_in_their_panel_where_one_has_no_limit(traces_some):
    frame = traces_some(4)
    frame.loc[3, "density"] = 1e6
    ax = TracesDisplay(frame).plot().ax_
    heights = [line.get_ydata() for line in ax.lines]
    upper, lower = np.concatenate(heights[:12]), np.concatenate(heights[12:])
    assert upper.min() > lower.max()
    assert "cut at the top: 1 line with a far higher peak" in "\n".join(texts(ax))


def test_what_is_not_shown_is_counted_and_nothing_at_all_is_refused(traces_some):
    frame = traces_some(14)
    frame.loc[0, "density"] = np.nan
    written = "\n".join(texts(TracesDisplay(frame).plot().ax_))
    assert "not shown: 2 more algorithms" in written
    assert "not shown: 1 row without a grade or number" in written
    with pytest.raises(InputError, match="nothing to draw"):
        TracesDisplay(frame.assign(density=np.nan))


def test_the_height_may_be_something_else(traces_some):
    assert (
        TracesDisplay(traces_some(1), height="probability").plot().ax_.get_ylabel() == "probability"
    )


T = np.linspace(0.0, 1.0, 11)


def goodness_some(predicted):
    """Algorithms whose predicted effectiveness is the given share, and the actual one a half."""
    parts = [
        pd.DataFrame(
            {"algorithm": f"algorithm {k}", "curve": curve, "tolerance": T, "share": share}
        )
        for k, height in enumerate(predicted)
        for curve, share in (("residuals", T), ("actual", 0.5), ("predicted", height))
    ]
    return pd.concat(parts, ignore_index=True)


def test_each_algorithm_has_a_line_of_one_colour_in_each_of_three_panels():
    ax = GoodnessDisplay(goodness_some([0.4, 0.9]).sample(frac=1, random_state=0)).plot().ax_
    assert {"residuals", "actual effectiveness", "predicted effectiveness"} <= set(texts(ax))
    colours = [line.get_color() for line in ax.lines]
    assert colours[0] == colours[1] == colours[2] != colours[3]
    first, second, third = (line.get_xdata() for line in ax.lines[:3])
    assert first.max() < second.min() < second.max() < third.min()


def test_a_height_holds_up_to_the_next_tolerance():
    line = GoodnessDisplay(goodness_some([0.4])).plot().ax_.lines[0]
    x, y = line.get_xdata(), line.get_ydata()
    assert set(np.diff(y)[::2]) == {0.0}
    assert np.abs(np.diff(x)[1::2]).max() == 0.0


def test_those_farthest_from_what_was_predicted_stand_out_the_worst_first():
    frame = goodness_some([0.5 + 0.01 * k for k in range(20)])
    ax = GoodnessDisplay(frame).plot().ax_
    assert legend(ax) == [f"algorithm {k}" for k in range(19, 12, -1)]
    assert "grey: 13 other algorithms" in "\n".join(texts(ax))
    rest = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_zorder() == 1.5]
    assert [len(lines.get_segments()) for lines in rest] == [39]


def test_the_caller_may_say_who_stands_out():
    frame = goodness_some([0.5 + 0.01 * k for k in range(20)])
    assert legend(GoodnessDisplay(frame, highlight="algorithm 2").plot().ax_) == ["algorithm 2"]
    with pytest.raises(InputError, match="cannot highlight 'nobody'"):
        GoodnessDisplay(frame, highlight=["nobody"])


def test_a_curve_that_is_not_there_has_no_panel():
    frame = goodness_some([0.4, 0.6])
    ax = GoodnessDisplay(frame[frame["curve"] == "residuals"]).plot().ax_
    assert not any("effectiveness" in text for text in texts(ax))
    assert len(ax.lines) == 2


def test_what_is_unknown_or_without_numbers_is_said():
    frame = goodness_some([0.4])
    with pytest.raises(InputError, match="nothing to draw"):
        GoodnessDisplay(frame.assign(share=np.nan))
    frame.loc[0, "share"] = np.nan
    assert "not shown: 1 row" in "\n".join(texts(GoodnessDisplay(frame).plot().ax_))


def test_the_caller_may_say_the_order_of_colours():
    frame = goodness_some([0.5 + 0.01 * k for k in range(20)])
    order = [f"algorithm {k}" for k in range(20)]
    handles = GoodnessDisplay(frame, order=order).plot().ax_.get_legend().get_lines()
    colours = [STYLE.palette[k % 7] for k in range(19, 12, -1)]
    assert [line.get_color() for line in handles] == colours
    assert len({(line.get_color(), str(line.get_linestyle())) for line in handles}) == 7


@pytest.fixture
def run_some(frames):
    return lambda count: frames["runs"]([f"algorithm {k}" for k in range(count)])


def test_every_run_is_a_point_and_those_that_did_not_end_are_crosses(run_some):
    frame = run_some(3)
    ax = DISPLAYS["runs"](frame).plot().ax_
    drawn = [each for each in ax.collections if len(each.get_offsets())]
    points = sum(len(each.get_offsets()) for each in ax.collections if hasattr(each, "get_sizes"))
    assert drawn
    assert points == len(frame)
    assert any(f"{int(frame['late'].sum())} runs that did not end" in each for each in texts(ax))
    assert sum(line.get_color() == STYLE.ink for line in ax.lines) == 3


def test_a_frame_without_curves_and_ends_has_points_only(run_some):
    ax = DISPLAYS["runs"](run_some(2)[["algorithm", "difficulty", "performance"]]).plot().ax_
    assert not ax.lines
    assert not any("did not end" in each for each in texts(ax))


def test_histograms_share_their_bins_and_hold_every_run():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"algorithm": np.repeat(["low", "high"], 100), "seconds": random.uniform(0, 10, 200)}
    )
    frame.loc[:99, "seconds"] /= 10
    display = DISPLAYS["run_histograms"](frame, value="seconds").plot()
    bars = [each for each in display.ax_.collections if isinstance(each, PolyCollection)]
    low, high = (
        np.array([np.ptp(path.vertices[:, 1]) for path in panel.get_paths()]) for panel in bars
    )
    assert low.sum() == pytest.approx(high.sum())
    assert low[:2].sum() > 0.9 * low.sum()
    assert display.ax_.get_xlabel() == "seconds"


def test_runs_without_a_number_are_counted_below():
    frame = pd.DataFrame({"algorithm": ["a"] * 4, "performance": [0.1, 0.2, np.nan, 0.4]})
    ax = DISPLAYS["run_histograms"](frame).plot().ax_
    assert "not shown: 1 run without a finite number" in texts(ax)[-1]


def test_equal_values_are_drawn_too():
    frame = pd.DataFrame({"algorithm": ["a"] * 4, "performance": 1.0, "difficulty": 2.0})
    for name in ("runs", "run_histograms"):
        assert DISPLAYS[name](frame).plot().ax_.collections
