"""Panels of regions and tests."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba

from ogive.errors import InputError
from ogive.results.plots.regions import CapabilityTraceDisplay, StrengthsDisplay
from ogive.results.plots.theme import STYLE

COLUMNS = ["kind", "epsilon", "algorithm", "start", "end"]


REGIONS = pd.DataFrame(
    [
        ("strengths", 0.0, "a", -2.0, 0.0),
        ("strengths", 0.0, "b", 0.0, 2.0),
        ("strengths", 0.01, "a", -2.0, 1.0),
        ("weaknesses", 0.0, "c", -2.0, 2.0),
        ("weaknesses", 0.01, "b", 1.0, 1.0),
    ],
    columns=COLUMNS,
)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def bars(ax):
    """Colour and corners of the bars, panel by panel."""
    return [
        [
            (tuple(colour), path.vertices)
            for colour, path in zip(part.get_facecolors(), part.get_paths(), strict=True)
        ]
        for part in ax.collections
        if isinstance(part, PolyCollection)
    ]


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_panels_go_down_with_epsilon_and_from_strengths_to_weaknesses():
    ax = StrengthsDisplay(REGIONS).plot().ax_
    assert [len(panel) for panel in bars(ax)] == [2, 1, 1, 1]
    assert {"strengths", "weaknesses", "ε = 0", "ε = 0.01"} <= set(texts(ax))


def test_an_algorithm_has_one_row_and_one_colour_everywhere():
    ax = StrengthsDisplay(REGIONS).plot().ax_
    assert names(ax) == ["a", "b", "c", "a", "b", "c"]
    first, _, third, _ = bars(ax)
    assert first[0][0] == third[0][0] != first[1][0]
    assert first[0][1][:, 1].mean() > first[1][1][:, 1].mean()


def test_the_longest_strengths_stand_on_top_and_weaknesses_below():
    regions = pd.concat([REGIONS.iloc[[3, 1, 0, 2]], REGIONS.iloc[[4]]])
    assert names(StrengthsDisplay(regions).plot().ax_)[:3] == ["a", "b", "c"]


def test_a_bar_reaches_from_start_to_end():
    ax = StrengthsDisplay(REGIONS, difficulties=[-2.0, 2.0]).plot().ax_
    (_, a), (_, b) = bars(ax)[0]
    assert a[:, 0].max() == pytest.approx(b[:, 0].min())
    assert np.ptp(a[:, 0]) == pytest.approx(np.ptp(b[:, 0]))


def test_a_region_of_one_place_is_still_seen():
    (_, corners) = bars(StrengthsDisplay(REGIONS).plot().ax_)[3][0]
    assert np.ptp(corners[:, 0]) > 0.004


def test_a_region_without_end_stays_in_its_panel():
    regions = REGIONS.assign(end=REGIONS["end"].where(REGIONS.index != 1, np.inf))
    first, second, *_ = bars(StrengthsDisplay(regions).plot().ax_)
    assert first[1][1][:, 0].max() < second[0][1][:, 0].min()


def test_algorithms_without_a_region_are_left_out_and_counted():
    more = [("strengths", 0.0, name, np.nan, np.nan) for name in ("d", "e", "a")]
    frame = pd.concat([REGIONS, pd.DataFrame(more, columns=COLUMNS)])
    ax = StrengthsDisplay(frame).plot().ax_
    assert "d" not in names(ax)
    assert "without strength or weakness: 2 algorithms" in "\n".join(texts(ax))


def test_a_panel_without_regions_says_so():
    assert texts(StrengthsDisplay(REGIONS.iloc[:2]).plot().ax_).count("none") == 1


def test_problems_are_ticks_at_the_foot_of_every_panel():
    ax = StrengthsDisplay(REGIONS, difficulties=[-1.0, 0.5, np.nan]).plot().ax_
    rugs = [c for c in ax.collections if isinstance(c, LineCollection) and c.get_zorder() == 2]
    assert [len(rug.get_segments()) for rug in rugs] == [2, 2, 2, 2]
    assert "ticks at the foot: 2 problems" in "\n".join(texts(ax))


def test_of_very_many_the_strongest_are_drawn(frames):
    frame = frames["strengths"]([f"algorithm {k}" for k in range(60)])
    written = "\n".join(texts(StrengthsDisplay(frame).plot().ax_))
    assert "not shown: 20 algorithms with shorter strengths" in written


def test_of_many_algorithms_each_colour_stands_for_one_and_grey_for_the_others(frames):
    frame = frames["strengths"]([f"algorithm {k}" for k in range(30)])
    ax = StrengthsDisplay(frame).plot().ax_
    colours = [colour for colour, _ in bars(ax)[0]]
    grey = to_rgba(STYLE.neutral)
    assert colours.count(grey) == 23
    assert len(set(colours)) == 1 + 7
    assert "grey: 23 other algorithms" in "\n".join(texts(ax))


def test_the_caller_may_say_the_order_of_colours():
    ax = StrengthsDisplay(REGIONS, order=["c", "b", "a"]).plot().ax_
    assert names(ax)[:3] == ["a", "b", "c"]
    assert [colour for colour, _ in bars(ax)[0]] == [to_rgba(STYLE.palette[k]) for k in (2, 1)]


def some(lengths):
    """A test of each class 0, 1, ... that ends at the number of its class."""
    parts = []
    for name, length in enumerate(lengths):
        step = np.arange(1, length + 1)
        estimate = name + 1.0 / step - 1.0 / length
        columns = {"difficulty": estimate - 0.1, "right": step % 3 > 0, "estimate": estimate}
        parts.append(pd.DataFrame({"class": name, "step": step, **columns, "se": 0.5 / step}))
    return pd.concat(parts, ignore_index=True)


def marks(ax, marker):
    return sum(len(line.get_xdata()) for line in ax.lines if line.get_marker() == marker)


def dashed(ax):
    return [line.get_ydata()[0] for line in ax.lines if line.is_dashed()]


def test_each_class_has_a_panel_with_its_limit_in_figures():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    assert texts(ax)[:2] == [
        "class 0\nMLC 0.00 (−0.10 to 0.10), 10 cases",
        "class 1\nMLC 1.00 (0.95 to 1.05), 20 cases",
    ]


def test_right_and_wrong_cases_have_marks_of_their_own():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    assert marks(ax, "o") == 7 + 14
    assert marks(ax, "x") == 3 + 6
    legend = ax.get_legend()
    assert [text.get_text() for text in legend.get_texts()] == [
        "classified right",
        "classified wrong",
        "estimate",
        "limit (MLC)",
    ]


def test_the_estimate_ends_on_the_dashed_limit():
    ax = CapabilityTraceDisplay(some([10, 20])).plot().ax_
    ends = [
        line.get_ydata()[-1]
        for line in ax.lines
        if line.get_color() == STYLE.ink and not line.is_dashed()
    ]
    np.testing.assert_allclose(dashed(ax), ends)


def test_limits_of_repeated_tests_take_the_place_of_the_last_estimate():
    capability = pd.DataFrame({"mlc": [0.5], "mlc_se": [0.1]}, index=[0])
    ax = CapabilityTraceDisplay(some([10, 20]), capability).plot().ax_
    assert texts(ax)[0] == "class 0\nMLC 0.50 (0.30 to 0.70), 10 cases"
    assert texts(ax)[1].startswith("class 1\nMLC 1.00")
    assert dashed(ax)[0] > dashed(CapabilityTraceDisplay(some([10, 20])).plot().ax_)[0]


def test_what_bursts_stays_inside_its_panel():
    frame = some([10, 20])
    frame.loc[0, ["estimate", "se"]] = [1e6, 1e9]
    frame.loc[3, ["estimate", "se"]] = [np.nan, np.inf]
    ax = CapabilityTraceDisplay(frame).plot().ax_
    low, high = ax.get_ylim()
    for shape in ax.collections:
        for path in shape.get_paths():
            assert path.vertices[:, 1].min() > low - 1e-9
            assert path.vertices[:, 1].max() < high + 1e-9


def test_a_test_without_any_estimate_says_so():
    ax = CapabilityTraceDisplay(some([4]).assign(estimate=np.inf)).plot().ax_
    assert texts(ax)[0] == "class 0\nno limit found, 4 cases"
    assert not dashed(ax)


def test_steps_are_whole_numbers_and_their_order_does_not_matter():
    frame = some([3])
    ax = CapabilityTraceDisplay(frame.sample(frac=1, random_state=1)).plot().ax_
    assert all(float(tick.get_text()).is_integer() for tick in ax.get_xticklabels())
    assert texts(ax)[0] == "class 0\nMLC 0.00 (−0.33 to 0.33), 3 cases"


def test_beyond_twelve_classes_and_broken_rows_are_counted():
    frame = some([4] * 14)
    frame.loc[0, "difficulty"] = np.nan
    frame["right"] = frame["right"].astype(float)
    frame.loc[1, "right"] = np.nan
    note = texts(CapabilityTraceDisplay(frame).plot().ax_)[-1]
    assert "not shown: 2 more classes" in note
    assert "not shown: 2 rows without step, difficulty or outcome" in note
    with pytest.raises(InputError, match="nothing to draw"):
        CapabilityTraceDisplay(frame.assign(step=np.nan))
