"""Distributions: what is its own in each figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.distributions import (
    LEAST_TALLEST,
    CaseDifficultyDisplay,
    DatasetsDisplay,
    DifficultyDensityDisplay,
    DistributionsDisplay,
    HistogramDisplay,
    ItemMapDisplay,
)


def some(count, seed=0):
    return pd.DataFrame({"difficulty": np.random.default_rng(seed).normal(size=count)})


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def counts(ax):
    """Of each group: the outlines are every second of the steps."""
    return [step.get_data()[0] for step in ax.patches[1::2]]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_value_is_counted_once():
    (found,) = counts(HistogramDisplay(some(300)).plot().ax_)
    assert found.sum() == 300


def test_far_values_are_counted_below_the_axis_instead_of_stretching_it():
    frame = pd.concat([some(200), pd.DataFrame({"difficulty": [1e6, 2e6, -500.0]})])
    ax = HistogramDisplay(frame).plot().ax_
    assert np.ptp(ax.get_xlim()) < 20
    assert counts(ax)[0].sum() == 200
    assert "1 value below" in texts(ax)
    assert "2 values above" in texts(ax)


def test_groups_share_their_bins_and_the_largest_comes_first():
    frame = some(100).assign(label=["few"] * 20 + ["many"] * 80)
    ax = HistogramDisplay(frame, group="label").plot().ax_
    assert [found.sum() for found in counts(ax)] == [80, 20]
    assert legend(ax) == ["many\n(80)", "few\n(20)"]
    first, second = (step.get_data()[1] for step in ax.patches[1::2])
    np.testing.assert_array_equal(first, second)


def test_beyond_five_groups_the_rest_is_one():
    frame = some(90).assign(label=np.arange(90) % 9)
    ax = HistogramDisplay(frame, group="label").plot().ax_
    assert len(counts(ax)) == 6
    assert legend(ax)[-1] == "4 others\n(40)"


def test_equal_values_have_a_scale_around_them():
    ax = HistogramDisplay(some(5).assign(difficulty=2.0)).plot().ax_
    assert counts(ax)[0].sum() == 5
    low, high = ax.get_xlim()
    assert low < 2.0 < high


def test_other_columns_can_be_counted_and_missing_numbers_are_said():
    frame = some(5).rename(columns={"difficulty": "guessing"})
    frame.iloc[0, 0] = np.nan
    ax = HistogramDisplay(frame, value="guessing").plot().ax_
    assert ax.get_xlabel() == "guessing"
    assert "not shown: 1 row without a finite number" in texts(ax)


def test_more_than_two_groups_are_outlines_over_a_faint_fill():
    frame = some(100).assign(label=np.arange(100) % 5)
    five = HistogramDisplay(frame, group="label").plot().ax_.patches[0].get_alpha()
    two = HistogramDisplay(frame.assign(label=frame["label"] % 2), group="label")
    assert five < two.plot().ax_.patches[0].get_alpha()


def item_map_some(respondents, items, se=0.2):
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


def widths(ax):
    return np.array([bar.get_width() for bar in ax.patches])


def test_respondents_go_left_and_items_go_right():
    ax = ItemMapDisplay(item_map_some([0, 1, 1, 2], [-1, 0, 0, 0, 3])).plot().ax_
    assert widths(ax)[:24].max() <= 0
    assert widths(ax)[24:].min() >= 0
    assert ax.get_xlabel() == "← 4 respondents   |   5 items →"


def test_items_alone_leave_the_other_side_empty():
    ax = ItemMapDisplay(item_map_some([], [0.3] * 5)).plot().ax_
    assert not widths(ax)[:24].any()
    assert "0 respondents" in ax.get_xlabel()


def test_rows_may_share_index_labels_as_after_a_concat():
    frame = pd.concat([item_map_some([0.0, 1.0], []), item_map_some([], [0.5, -0.5])])
    assert ItemMapDisplay(frame).plot().ax_.has_data()


def test_the_easiest_and_hardest_items_are_named_with_their_uncertainty():
    written = texts(ItemMapDisplay(item_map_some([0], np.linspace(-3, 3, 101))).plot().ax_)
    assert "item 0  -3.00 ± 0.20" in written
    assert "item 100  3.00 ± 0.20" in written
    assert "item 50" not in written


def test_names_stand_apart_even_when_their_items_do_not():
    ax = ItemMapDisplay(item_map_some([0], [1.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("item"))
    assert np.diff(heights).min() > 0.02


def test_what_lies_beyond_six_is_drawn_at_the_edge_and_said():
    ax = ItemMapDisplay(item_map_some([0, 8], [1, np.inf, -12])).plot().ax_
    assert ax.get_ylim()[1] < 7
    assert "arrow, in no bar: 1 respondent and 1 item beyond ±6" in texts(ax)
    assert "arrow, in no bar: 1 item that all answered alike" in texts(ax)
    assert {line.get_marker() for line in ax.lines} >= {"^", "v"}
    assert "item 1  solved by none" in texts(ax)
    assert "item 2  below -6" in texts(ax)


def test_items_at_one_end_are_counted_once_and_named_together():
    """Of five that all solved, four had names; each was in a bar and in an arrow."""
    places = [-np.inf] * 5 + [np.inf] + [0.2, 0.4]
    ax = ItemMapDisplay(item_map_some([0], places)).plot().ax_
    assert "5 items  solved by all" in texts(ax)
    assert "item 5  solved by none" in texts(ax)
    drawn = [bar for bar in ax.patches if bar.get_width() > 0]
    assert sum(bar.get_width() for bar in drawn) == pytest.approx(2 / LEAST_TALLEST)


def test_rows_without_a_position_are_said():
    written = texts(ItemMapDisplay(item_map_some([0, np.nan], [1], se=np.nan)).plot().ax_)
    assert "not shown: 1 row without a position" in written
    assert "median" not in written


def cases_some(sizes, seed=0):
    """Cases of the classes 0, 1, ... of these sizes."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"class": classes, "cdi": rng.normal(classes - 1.0, 0.7)})


def panels(display):
    return display.plot().figure_.axes


def outlines(ax):
    return ax.patches[1::2]


def cases_texts(display):
    return "\n".join(text.get_text() for ax in display.figure_.axes for text in ax.texts)


def test_bins_are_a_quarter_wide_and_one_lies_around_zero():
    bins, _ = panels(CaseDifficultyDisplay(cases_some([40, 60])))
    for step in outlines(bins):
        edges = step.get_data()[1]
        np.testing.assert_allclose(np.diff(edges), 0.25)
        assert np.isclose(edges, 0.125).any()


def test_each_class_sums_to_one_so_that_a_small_one_is_seen():
    bins, _ = panels(CaseDifficultyDisplay(cases_some([2000, 20])))
    large, small = (step.get_data()[0] for step in outlines(bins))
    assert large.sum() == pytest.approx(1.0)
    assert small.sum() == pytest.approx(1.0)
    assert small.max() > 0.1


def test_a_violin_of_each_class_bears_its_name_number_and_colour():
    bins, violins = panels(CaseDifficultyDisplay(cases_some([30, 20, 1000])))
    ticks = violins.get_yticklabels()
    assert [tick.get_text() for tick in ticks] == [
        "class 0\n(30)",
        "class 1\n(20)",
        "class 2\n(1,000)",
    ]
    colours = [step.get_edgecolor()[:3] for step in outlines(bins)]
    shapes = [shape for shape in violins.collections if isinstance(shape, PolyCollection)]
    assert [tuple(shape.get_facecolor()[0][:3]) for shape in shapes] == colours
    assert bins.get_xlim() == violins.get_xlim()


def test_beyond_six_classes_the_rest_is_one():
    _, violins = panels(CaseDifficultyDisplay(cases_some([30] * 6 + [10, 10])))
    assert [tick.get_text() for tick in violins.get_yticklabels()][-1] == "2 others\n(20)"


def test_a_slim_axes_has_the_violins_below_and_the_notes_below_these():
    display = CaseDifficultyDisplay(cases_some([30, 20]))
    display.plot(Figure(figsize=(3, 6), layout="constrained").subplots())
    bins, violins = display.figure_.axes
    assert violins.get_position().y1 <= bins.get_position().y0
    assert not bins.texts
    assert "bins of 0.25" in violins.texts[0].get_text()


def test_far_cases_are_counted_and_never_make_endless_bins():
    frame = pd.concat(
        [cases_some([100, 100]), pd.DataFrame({"class": [0, 1], "cdi": [1e9, np.nan]})]
    )
    display = CaseDifficultyDisplay(frame)
    assert np.ptp(panels(display)[0].get_xlim()) < 20
    assert "beyond the axis: 1 case" in cases_texts(display)
    assert "not shown: 1 case without a finite number" in cases_texts(display)
    wide = CaseDifficultyDisplay(pd.DataFrame({"class": "a", "cdi": np.linspace(-1e9, 1e9, 50)}))
    assert len(outlines(panels(wide)[0])[0].get_data()[0]) <= 202


def test_equal_cases_are_one_bin_and_a_dot():
    bins, violins = panels(CaseDifficultyDisplay(cases_some([5]).assign(cdi=0.3)))
    np.testing.assert_allclose(outlines(bins)[0].get_data()[0], [1.0])
    assert len(violins.collections) == 1


def test_a_group_far_from_the_others_is_shown():
    near, far = cases_some([180]), cases_some([20]).assign(cdi=30.0)
    display = CaseDifficultyDisplay(pd.concat([near, far]))
    assert panels(display)[0].get_xlim()[1] > 30
    assert "beyond the axis" not in cases_texts(display)


def density_some(sizes, seed=0):
    """Cases of the classes a, b, ... of these sizes."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    names = np.array(list("abcdefgh"))[classes]
    return pd.DataFrame({"class": names, "difficulty": rng.normal(classes, 0.7)})


CAPABILITY = pd.DataFrame({"mlc": [0.2, 0.9], "mlc_se": [0.1, np.nan]}, index=["a", "b"])


def draw(frame, limits=None):
    return DifficultyDensityDisplay(frame, limits).plot().ax_


def curves(ax):
    return [line for line in ax.lines if len(line.get_xdata()) > 2]


def dashed(ax):
    return {line.get_xdata()[0]: line.get_color() for line in ax.lines if line.is_dashed()}


def test_each_class_has_a_density_of_area_one_that_peaks_where_its_cases_are():
    for middle, line in enumerate(curves(draw(density_some([400, 100])))):
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)
        assert x[y.argmax()] == pytest.approx(middle, abs=0.35)


def test_limits_are_dashed_lines_in_the_colour_of_their_class_with_a_band():
    ax = draw(density_some([50, 50]), CAPABILITY)
    first, second = (line.get_color() for line in curves(ax))
    assert dashed(ax) == {0.2: first, 0.9: second}
    assert legend(ax) == ["a\n50 cases\nlimit 0.20 (0.00 to 0.40)", "b\n50 cases\nlimit 0.90"]
    (band,) = ax.patches
    assert band.get_x() == pytest.approx(0.2 - 1.96 * 0.1)
    assert band.get_width() == pytest.approx(2 * 1.96 * 0.1)


def test_a_limit_beyond_the_cases_widens_the_axis_unless_it_is_far_off():
    assert draw(density_some([50, 50]), CAPABILITY.assign(mlc=3.5)).get_xlim()[1] > 3.5
    ax = draw(density_some([50, 50]), CAPABILITY.assign(mlc=40.0, mlc_se=np.nan))
    assert ax.get_xlim()[1] < 10
    assert "limit 40.00" in legend(ax)[0]


def test_many_classes_have_no_bands():
    def bands(ax):
        return [shape for shape in ax.collections if isinstance(shape, PolyCollection)]

    assert len(bands(draw(density_some([50] * 3)))) == 3
    ax = draw(density_some([50] * 8))
    assert not bands(ax)
    assert "band" not in texts(ax)
    assert legend(ax)[-1] == "2 others\n100 cases"


def test_equal_difficulties_are_a_mark_at_the_foot():
    frame = pd.concat([density_some([50]), pd.DataFrame({"class": "z", "difficulty": [0.4, 0.4]})])
    ax = draw(frame)
    assert len(curves(ax)) == 1
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "^"] == [0.4]


def test_far_and_missing_cases_are_counted():
    frame = density_some([100])
    frame.loc[:1, "difficulty"] = [np.nan, 1e6]
    ax = draw(frame)
    assert np.ptp(ax.get_xlim()) < 20
    assert "beyond the axis: 1 case" in texts(ax)
    assert "not shown: 1 case without a finite number" in texts(ax)
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        DifficultyDensityDisplay(frame.assign(difficulty=np.inf))


def test_a_group_far_from_the_others_is_shown_density():
    frame = density_some([180, 20])
    frame.loc[frame["class"] == "b", "difficulty"] += 30.0
    ax = draw(frame)
    assert ax.get_xlim()[1] > 30
    assert "beyond the axis" not in texts(ax)


def dataset_some(count):
    columns = {
        "difficulty_mean": np.linspace(-2.0, 1.0, count),
        "difficulty_mean_se": 0.1,
        "discrimination_mean": np.linspace(3.0, -1.0, count),
        "discrimination_mean_se": 0.2,
    }
    return pd.DataFrame(columns, index=[f"set {k}" for k in range(count)])


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def bars(panel, which=1):
    return np.array([bar[:, 0] for bar in panel.collections[which].get_segments()])


def test_the_hardest_is_on_top_and_both_parameters_share_the_rows():
    ax = DatasetsDisplay(dataset_some(5).sample(frac=1, random_state=0)).plot().ax_
    assert names(ax) == [f"set {k}" for k in (4, 3, 2, 1, 0)]
    assert [panel.get_title() for panel in ax.child_axes] == ["difficulty", "discrimination"]
    assert {panel.get_ylim() for panel in ax.child_axes} == {ax.get_ylim()}


def test_thick_bars_reach_196_standard_errors_and_thin_ones_the_deviation():
    frame = dataset_some(3).assign(difficulty_sd=0.7)
    panel, _ = DatasetsDisplay(frame).plot().ax_.child_axes
    mean = np.array([[1.0], [-0.5], [-2.0]])
    np.testing.assert_allclose(bars(panel, 0), np.hstack([mean - 0.7, mean + 0.7]))
    np.testing.assert_allclose(bars(panel), np.hstack([mean - 0.196, mean + 0.196]))


def test_few_rows_are_shown_with_their_whole_bars():
    for panel in DatasetsDisplay(dataset_some(3)).plot().ax_.child_axes:
        low, high = panel.get_xlim()
        assert low < bars(panel).min()
        assert bars(panel).max() < high


def test_negative_discrimination_has_its_own_colour_and_is_counted():
    ax = DatasetsDisplay(dataset_some(5)).plot(negative="#ff0000").ax_
    for panel in ax.child_axes:
        colours = panel.collections[2].get_facecolor()
        assert (colours[:, 0] == 1).tolist() == [True, False, False, False, False]
    assert "negative mean discrimination (1 data set)" in texts(ax)


def test_a_mean_far_out_is_an_arrow_and_does_not_squash_the_rest():
    frame = dataset_some(20)
    frame.iloc[3, 0] = -1e6
    ax = DatasetsDisplay(frame).plot().ax_
    low, high = ax.child_axes[0].get_xlim()
    assert high - low < 30
    assert "arrow: beyond the axis (1 mean)" in texts(ax)


def test_eighty_rows_are_drawn_and_easier_ones_counted():
    assert len(names(DatasetsDisplay(dataset_some(72)).plot().ax_)) == 72
    ax = DatasetsDisplay(dataset_some(100)).plot().ax_
    assert len(names(ax)) == 80
    assert "not shown: 20 easier data sets" in texts(ax)
    small = DatasetsDisplay(dataset_some(72)).plot(Figure(figsize=(5, 3)).subplots()).ax_
    assert len(names(small)) < 40


def test_a_frame_without_a_difficulty_is_refused_and_a_row_without_one_counted():
    with pytest.raises(InputError, match="'difficulty_mean' holds no number"):
        DatasetsDisplay(dataset_some(2).assign(difficulty_mean=np.nan))
    frame = dataset_some(3)
    frame.iloc[0, 0] = np.nan
    assert "1 row without a mean difficulty" in texts(DatasetsDisplay(frame).plot().ax_)


FRAME = pd.DataFrame(
    {
        "dataset": ["easy"] * 4 + ["hard"] * 5,
        "difficulty": [-2.0, -1.0, 0.0, 7.0, 1.0, 2.0, 3.0, -9.0, 60.0],
    }
)


def sets_names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def sets_texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_given_order_counts_more_than_means_on_scales_of_their_own():
    ax = DistributionsDisplay(FRAME, order=["easy", "hard"]).plot().ax_
    assert sets_names(ax) == ["easy", "hard"]
    assert "each data set has its own scale: compare shapes, not places" in "".join(sets_texts(ax))


def test_the_hardest_is_on_top_and_dots_are_medians_of_all_values():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert sets_names(ax) == ["hard", "easy"]
    dots = [dot.get_offsets()[0, 0] for dot in ax.collections if len(dot.get_offsets()) == 1]
    assert dots[-1] == pytest.approx(FRAME.loc[FRAME["dataset"] == "easy", "difficulty"].median())
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is at the top


def test_the_share_beyond_the_limit_is_written_beside_each():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert sets_texts(ax)[:2] == ["40 %", "25 %"]
    assert "right: share of values beyond ±6, of which only bar and dot tell" in sets_texts(ax)[-1]
    assert sets_texts(DistributionsDisplay(FRAME, limit=100.0).plot().ax_)[:2] == ["0 %", "0 %"]


def test_the_bar_is_the_middle_half():
    ax = DistributionsDisplay(FRAME[:3]).plot().ax_
    (bar,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    np.testing.assert_allclose(bar.get_segments()[0][:, 0], [-1.5, -0.5])


def test_the_dot_lies_in_its_own_bar_however_far_a_few_values_are():
    """A mean of -3 was drawn beside a bar from -2.5 to -2.1."""
    values = np.r_[np.linspace(-2.5, -2.1, 40), -150.0, -np.inf]
    ax = DistributionsDisplay(pd.DataFrame({"dataset": "one", "difficulty": values})).plot().ax_
    (bar,) = [shape for shape in ax.collections if hasattr(shape, "get_segments")]
    low, high = bar.get_segments()[0][:, 0]
    (dot,) = [shape for shape in ax.collections if isinstance(shape, PathCollection)]
    assert low <= dot.get_offsets()[0, 0] <= high


def test_the_shape_is_widest_where_values_are_dense():
    values = np.concatenate([np.random.default_rng(0).normal(1.0, 0.5, 500), [-5.0, 5.0]])
    ax = DistributionsDisplay(pd.DataFrame({"dataset": "one", "difficulty": values})).plot().ax_
    outline = ax.collections[0].get_paths()[0].vertices
    widest = outline[np.argmax(np.abs(outline[:, 1] - 1)), 0]
    assert widest == pytest.approx(1.0, abs=0.3)


def test_other_columns_may_be_named():
    frame = FRAME.rename(columns={"dataset": "task", "difficulty": "discrimination"})
    ax = DistributionsDisplay(frame, value="discrimination", group="task").plot().ax_
    assert ax.get_xlabel().startswith("discrimination")


def test_what_cannot_be_drawn_is_said():
    frame = pd.concat(
        [FRAME, pd.DataFrame({"dataset": ["far", "none"], "difficulty": [9.0, np.nan]})]
    )
    said = sets_texts(DistributionsDisplay(frame).plot().ax_)[-1]
    assert "1 data set without a value within ±6" in said
    assert "1 row without a number" in said
    with pytest.raises(InputError, match="nothing to draw"):
        DistributionsDisplay(FRAME.assign(difficulty=50.0))
    with pytest.raises(InputError, match="`limit` must be above 0"):
        DistributionsDisplay(FRAME, limit=0)


def test_the_hardest_is_where_the_chance_is_lowest():
    """As the sentence beside the figure says, whatever the mean difficulty is."""
    frame = dataset_some(3).assign(chance=[0.9, 0.6, 0.8], chance_se=0.02)
    said = "each data set has its own scale: compare chances, not difficulties"
    assert said in texts(DatasetsDisplay(frame).plot().ax_)
    assert said not in texts(DatasetsDisplay(dataset_some(3)).plot().ax_)
    ax = DatasetsDisplay(frame).plot().ax_
    assert names(ax) == [str(frame.index[k]) for k in (1, 2, 0)]
    assert [panel.get_title() for panel in ax.child_axes] == [
        "chance to be right",
        "difficulty",
        "discrimination",
    ]
