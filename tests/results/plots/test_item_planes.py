"""Planes of items and respondents: what is its own in each figure."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots import DISPLAYS
from ogive.results.plots.item_planes import (
    ItemFitDisplay,
    ItemHealthDisplay,
    ItemSpaceDisplay,
    RespondentFitDisplay,
)


def some(count, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "difficulty": rng.normal(size=count),
        "discrimination": rng.normal(1.5, 1.0, count),
        "guessing": rng.beta(1, 6, count),
    }
    return pd.DataFrame(columns, index=[f"item {k}" for k in range(count)])


def texts_of(display):
    return [text.get_text() for text in display.plot().ax_.texts]


def dots(ax):
    return np.asarray(ax.collections[0].get_offsets())


def written(figure):
    return " ".join(text.get_text() for ax in figure.axes for text in ax.texts).replace("\n", " ")


def test_three_panels_show_each_pair_of_parameters():
    display = ItemSpaceDisplay(some(81)).plot()
    axes = display.figure_.axes
    assert [(ax.get_xlabel(), ax.get_ylabel()) for ax in axes] == [
        ("difficulty", "discrimination"),
        ("difficulty", "guessing"),
        ("discrimination", "guessing"),
    ]
    assert [len(dots(ax)) for ax in axes] == [81] * 3
    assert axes[0].get_legend() is None


def test_every_dot_is_its_item():
    frame = some(30)
    found = dots(ItemSpaceDisplay(frame).plot().ax_)
    np.testing.assert_allclose(
        np.sort(found, axis=0),
        np.sort(frame[["difficulty", "discrimination"]].to_numpy(), axis=0),
    )


def test_groups_have_their_colour_and_the_largest_comes_first():
    frame = some(30).assign(label=["few"] * 10 + ["many"] * 20)
    axes = ItemSpaceDisplay(frame, group="label").plot().figure_.axes
    assert [text.get_text() for text in axes[-1].get_legend().get_texts()] == [
        "many\n(20)",
        "few\n(10)",
    ]
    colours = axes[0].collections[0].get_facecolors()
    assert sorted(np.unique(colours, axis=0, return_counts=True)[1]) == [10, 20]


def test_far_items_are_counted_below_instead_of_stretching_the_axes():
    frame = some(200)
    frame.iloc[:3, 0] = [-50.0, 500.0, -500.0]
    display = ItemSpaceDisplay(frame).plot()
    assert np.ptp(display.ax_.get_xlim()) < 12
    assert "beyond the axes, difficulty: 2 below" in written(display.figure_)
    assert "and 1 above" in written(display.figure_)


def test_standard_errors_and_missing_numbers_are_said():
    frame = some(20).assign(difficulty_se=0.4)
    frame.iloc[0, 2] = np.nan
    said = written(ItemSpaceDisplay(frame).plot().figure_)
    assert "median standard error: difficulty 0.4" in said
    assert "not shown: 1 item without three finite" in said


def test_bars_are_named_only_where_they_are_drawn():
    frame = pd.DataFrame(
        {
            "difficulty": [0.0, 1.0, 2.0],
            "discrimination": [1.0, 1.5, -0.5],
            "discrimination_se": 0.1,
            "problems": "",
        },
        index=list("abc"),
    )
    sound = ItemHealthDisplay(frame).plot().ax_
    assert "bar:" not in "".join(text.get_text() for text in sound.texts)
    frame["problems"] = ["", "", "suspect key: contradicts good respondents"]
    marked = ItemHealthDisplay(frame).plot().ax_
    assert "bar: ±1.96" in "".join(text.get_text() for text in marked.texts)


def test_the_names_are_those_of_the_keys_that_are_contradicted_most():
    suspect = "suspect key: contradicts good respondents"
    told = {"difficulty": np.linspace(-2, 2, 60), "discrimination": -np.linspace(0.1, 2, 60)}
    frame = pd.DataFrame(told, index=[f"i{k}" for k in range(60)]).assign(problems=suspect)
    frame["contradiction"] = [0.5] * 57 + [0.97, 0.98, 0.99]
    assert {"i59", "i58", "i57"} <= set(texts_of(ItemHealthDisplay(frame)))
    frame["contradiction"] = [0.97, 0.98, 0.99] + [0.5] * 57
    assert {"i2", "i1", "i0"} <= set(texts_of(ItemHealthDisplay(frame)))


def test_items_without_a_discrimination_lie_below_the_line_on_their_side():
    told = {"difficulty": np.linspace(-3, -1, 30), "discrimination": 1.0, "problems": ""}
    frame = pd.DataFrame(told, index=[f"i{k}" for k in range(30)])
    suspect = "suspect key: contradicts good respondents"
    none = ["solved by none", f"solved by none; {suspect}"]
    frame.loc["easy"] = [-np.inf, np.nan, "solved by all"]
    frame.loc["hard"], frame.loc["grave"] = [np.inf, np.nan, none[0]], [np.inf, np.nan, none[1]]
    frame.loc["far"] = [1.8, 0.5, suspect]
    display = ItemHealthDisplay(frame).plot()
    left, right = display._points[[30, 31]]
    assert left[0] < right[0]
    assert left[1] == right[1] < 0.5
    assert display._points[33].tolist() == [1.8, 0.5]  # named items are no far ones
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "suspect key (2; 1 solved by none)" in texts
    assert "below the line: 3 items without a discrimination" in written(display.figure_)


def test_a_place_in_a_grid_is_divided_and_its_neighbour_stays():
    figure = Figure(figsize=(12, 4))
    left, right = figure.subplots(1, 2)
    before = right.get_position().bounds
    display = ItemSpaceDisplay(some(20)).plot(left)
    assert display.ax_ is left
    assert right.get_position().bounds == before
    assert all(ax.get_position().x1 < before[0] for ax in figure.axes if ax is not right)


@pytest.mark.parametrize("box", [(0.1, 0.2, 0.8, 0.5), (0.3, 0.1, 0.2, 0.8)])
def test_an_axes_without_a_grid_is_divided_within_its_own_box(box):
    figure = Figure(figsize=(8, 6))
    ItemSpaceDisplay(some(20)).plot(figure.add_axes(box))
    bounds = np.array([ax.get_position().extents for ax in figure.axes])
    assert len(bounds) == 3
    assert bounds[:, 0].min() == pytest.approx(box[0])
    assert bounds[:, 2].max() == pytest.approx(box[0] + box[2])
    assert bounds[:, 1].min() == pytest.approx(box[1])
    assert bounds[:, 3].max() == pytest.approx(box[1] + box[3])


@pytest.mark.parametrize("group", [None, "label"])
def test_three_dimensions_cover_the_axes(group, tmp_path):
    frame = some(50).assign(label="all")
    frame.iloc[0, 0] = 900.0
    display = ItemSpaceDisplay(frame, group=group, kind="3d").plot()
    assert display.ax_.name == "3d"
    assert display.ax_.get_zlabel() == "guessing"
    assert "1 above" in written(display.figure_)
    assert display.save(tmp_path / "space.png").exists()


def test_an_axes_of_three_dimensions_is_used_as_it_is():
    figure = Figure()
    ax = figure.add_subplot(projection="3d")
    assert ItemSpaceDisplay(some(10), kind="3d").plot(ax).ax_ is ax
    assert figure.axes == [ax]


def test_an_unknown_kind_and_nothing_to_draw_are_refused():
    with pytest.raises(InputError, match="'projections' and '3d', but not 'cube'"):
        ItemSpaceDisplay(some(3), kind="cube")
    with pytest.raises(InputError, match="nothing to draw"):
        ItemSpaceDisplay(some(3).assign(guessing=np.nan))
    with pytest.raises(InputError, match="'class' is missing"):
        ItemSpaceDisplay(some(3), group="class")


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


def mean_squares(infit, outfit, p=1.0, names=None):
    names = [f"item {i}" for i in range(len(infit))] if names is None else names
    columns = {"infit": infit, "outfit": outfit, "s_x2_p_adjusted": p}
    return pd.DataFrame(columns, index=names).astype(float)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def names(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("item ")]


def test_items_within_the_band_are_not_named():
    ax = ItemFitDisplay(mean_squares([0.9, 1.0, 1.2], [0.8, 1.1, 1.2])).plot().ax_
    assert names(ax) == []
    assert "3 of 3 items within 0.7 to 1.3" in texts(ax)


def test_items_outside_the_band_are_named():
    ax = ItemFitDisplay(mean_squares([0.9, 1.0, 1.5], [0.6, 1.1, 1.2])).plot().ax_
    assert sorted(names(ax)) == ["item 0", "item 2"]
    assert "1 of 3 items within" in texts(ax)


def test_items_of_the_wrong_form_are_named_and_counted_though_their_squares_are_fine():
    ax = ItemFitDisplay(mean_squares([1.0, 1.0], [1.0, 1.0], [0.5, 0.01])).plot().ax_
    assert names(ax) == ["item 1"]
    assert "below 0.05 (1 item)" in texts(ax)


def test_without_p_values_nothing_is_said_of_the_form():
    ax = ItemFitDisplay(mean_squares([1.0], [1.0], np.nan)).plot().ax_
    assert "S-X²" not in texts(ax)


def test_of_two_thousand_items_only_the_farthest_are_named():
    outfit = np.full(2000, 1.5)
    outfit[7] = 3.0
    ax = ItemFitDisplay(mean_squares(np.ones(2000), outfit)).plot().ax_
    assert 2 <= len(names(ax)) <= 12
    assert "item 7" in names(ax)


def test_names_stand_apart_even_when_their_items_do_not():
    ax = ItemFitDisplay(mean_squares([1.0] * 30, [2.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("item "))
    assert np.diff(heights).min() > 0.02


def test_what_lies_beyond_four_is_drawn_at_the_edge_and_said():
    ax = ItemFitDisplay(mean_squares([1.0, 1.0, 0.01], [50.0, np.inf, 1.0])).plot().ax_
    assert ax.get_ylim()[1] < 5
    assert "3 items beyond 0.25 or 4" in texts(ax)


def test_items_without_figures_are_said():
    assert "not shown: 1 item" in texts(
        ItemFitDisplay(mean_squares([1, np.nan], [1, 1])).plot().ax_
    )


def likelihoods(zh, ability=0.0, se=0.3, names=None):
    names = [f"model {i}" for i in range(len(zh))] if names is None else names
    columns = {"ability": ability, "se": se, "zh": zh}
    return pd.DataFrame(columns, index=names).astype(float)


def named(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("model ")]


def test_the_share_of_unlikely_respondents_is_said():
    written = texts(RespondentFitDisplay(likelihoods([-2.0, 0.0, 1.0, -1.6])).plot().ax_)
    assert "1 of 4 respondents (25.0%) below -1.645" in written


def test_unlikely_respondents_are_named_with_their_figure():
    assert named(RespondentFitDisplay(likelihoods([-2.0, 0.0, -3.5])).plot().ax_) == [
        "model 2  -3.50",
        "model 0  -2.00",
    ]


def test_of_two_thousand_only_the_least_likely_are_named():
    zh = np.linspace(-4, 4, 2000)
    ax = RespondentFitDisplay(likelihoods(zh, zh[::-1])).plot().ax_
    assert 2 <= len(named(ax)) <= 8
    assert named(ax)[0].startswith("model 0 ")


def test_bars_of_the_named_lie_inside_the_axes():
    ax = RespondentFitDisplay(likelihoods([-2.0, 0.0], [-1.0, 0.0], 2.0)).plot().ax_
    assert ax.get_xlim()[0] < -1.0 - 1.96 * 2.0


def test_names_stand_apart_even_when_their_respondents_do_not():
    ax = RespondentFitDisplay(likelihoods([-2.0] * 30)).plot().ax_
    heights = sorted(text.xyann[1] for text in ax.texts if text.get_text().startswith("model "))
    assert np.diff(heights).min() > 0.03  # of the height of the axes: one line of text


def test_what_lies_far_out_is_drawn_at_the_edge_and_said():
    ax = RespondentFitDisplay(likelihoods([-40.0, 0.0], [0.0, 9.0])).plot().ax_
    assert ax.get_ylim()[0] > -8
    assert "2 respondents beyond ±6" in texts(ax)


def test_respondents_without_a_figure_and_missing_errors_are_no_obstacle():
    written = texts(RespondentFitDisplay(likelihoods([-2.0, np.nan, 0.0], se=np.nan)).plot().ax_)
    assert "not shown: 1 respondent without zh" in written
    assert "median" not in written


def drawn(panel):
    return np.concatenate([each.get_offsets() for each in panel.collections])


def test_both_panels_show_every_problem_and_leaders_are_counted(frames):
    frame = frames["instance_space"](["one", "two", "three"])
    display = DISPLAYS["instance_space"](frame).plot()
    hard, who = [ax for ax in display.figure_.axes if ax.get_title()]
    for panel in (hard, who):
        found = drawn(panel)
        assert sorted(map(tuple, found)) == sorted(map(tuple, frame[["x", "y"]].to_numpy()))
    assert [text.get_text() for text in who.get_legend().get_texts()] == [
        "one (7)",
        "two (7)",
        "three (7)",
    ]


def test_beyond_seven_leaders_the_rest_are_one_group(frames):
    frame = frames["instance_space"]([f"solver {k}" for k in range(12)])
    display = DISPLAYS["instance_space"](frame).plot()
    legends = [ax.get_legend() for ax in display.figure_.axes if ax.get_legend()]
    (legend,) = legends
    assert legend.get_texts()[-1].get_text().startswith("5 others")


def test_problems_that_are_all_equally_hard_are_drawn(frames):
    frame = frames["instance_space"](["one"]).assign(difficulty=0.0)
    assert DISPLAYS["instance_space"](frame).plot().figure_.axes
