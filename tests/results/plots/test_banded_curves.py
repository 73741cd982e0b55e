"""Curves with bands: what is its own in each figure."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots import DISPLAYS
from ogive.results.plots.banded_curves import (
    AgreementDisplay,
    AlarmDisplay,
    CharacteristicDisplay,
    PortfolioGapDisplay,
    ScreeDisplay,
)

X = np.linspace(-2.0, 2.0, 5)


def some(count):
    parts = [
        pd.DataFrame(
            {
                "respondent": f"model {k}",
                "difficulty": X,
                "share": 0.9 * 0.9**k,
                "low": 0,
                "high": 1,
            }
        )
        for k in range(count)
    ]
    return pd.concat(parts, ignore_index=True)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def test_each_respondent_has_a_line_a_band_and_a_name_in_its_colour():
    ax = CharacteristicDisplay(some(3).sample(frac=1, random_state=0)).plot().ax_
    lines = drawn(ax, "o")
    assert len(lines) == len(ax.collections) == 3
    np.testing.assert_array_equal(lines[0].get_xdata(), X)
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert [colours[f"model {k}"] for k in range(3)] == [line.get_color() for line in lines]


def test_names_do_not_cover_each_other():
    ax = CharacteristicDisplay(some(4).assign(share=0.5)).plot().ax_
    heights = sorted(text.get_position()[1] for text in ax.texts if "model" in text.get_text())
    assert len(heights) == 4
    assert np.diff(heights).min() > 0.03


def test_of_more_than_four_each_has_a_panel_with_the_others_behind_it():
    ax = CharacteristicDisplay(some(20).assign(expected=0.4)).plot().ax_
    assert [text for text in texts(ax) if "model" in text] == [f"model {k}" for k in range(8)]
    said = " ".join(texts(ax))
    assert "without a panel: 12 respondents of lower mean share" in said
    assert "dashed: expected" in said
    curves = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert len(curves) == 8
    lefts = [line.get_xdata().min() for line in curves[:4]]
    assert all(np.diff(lefts) > 1)  # beside each other, not on top of each other


def test_the_expected_share_is_dashed():
    ax = CharacteristicDisplay(some(2).assign(expected=0.4)).plot().ax_
    dashed = [line for line in ax.lines if line.is_dashed()]
    assert [set(line.get_ydata()) for line in dashed] == [{0.4}, {0.4}]
    assert texts(ax)[-1] == "dashed: expected by the calibration"


def test_another_column_may_lie_along_the_axis():
    frame = some(2).assign(difficulty=np.tile([1, 2, 3, 4, 5], 2))
    ax = CharacteristicDisplay(frame.rename(columns={"difficulty": "bin"}), by="bin").plot().ax_
    assert ax.get_xlabel() == "bin"
    ticks = [tick for tick in ax.get_xticks() if 1 <= tick <= 5]
    assert ticks == [1, 2, 3, 4, 5]


def test_one_point_far_out_does_not_squash_the_rest():
    frame = some(1)
    far = frame.iloc[[0]].assign(difficulty=1e6)
    ax = CharacteristicDisplay(pd.concat([frame, far])).plot().ax_
    assert np.ptp(ax.get_xlim()) < 10
    assert "not shown: 1 point far beyond the others" in texts(ax)


def test_points_without_a_share_are_left_out_and_said():
    frame = some(1)
    frame.loc[2, "share"] = np.nan
    ax = CharacteristicDisplay(frame).plot().ax_
    assert "not shown: 1 row without a number" in texts(ax)
    with pytest.raises(InputError, match="no row has a finite number in 'difficulty' and 'share'"):
        CharacteristicDisplay(frame.assign(share=np.nan))


def test_with_years_colours_and_names_go_from_early_to_late():
    frame = some(3)
    frame["year"] = frame["respondent"].map({"model 0": 2019, "model 1": 2012, "model 2": 2015})
    ax = CharacteristicDisplay(frame).plot().ax_
    lines = drawn(ax, "o")
    darkness = [sum(mpl.colors.to_rgb(line.get_color())) for line in lines]
    assert darkness == sorted(darkness, reverse=True)
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    names = ["model 1 (2012)", "model 2 (2015)", "model 0 (2019)"]
    assert [colours[name] for name in names] == [line.get_color() for line in lines]


def test_of_many_years_the_first_and_the_last_are_named():
    frame = some(20)
    frame["year"] = 2000 + frame["respondent"].str.removeprefix("model ").astype(int)
    ax = CharacteristicDisplay(frame).plot().ax_
    named = {text for text in texts(ax) if "model" in text}
    assert len(named) == 7
    assert {"model 0 (2000)", "model 19 (2019)"} <= named
    assert "grey: 13 respondents in between" in texts(ax)


def test_who_has_no_year_comes_last_and_is_grey():
    frame = some(2)
    frame["year"] = frame["respondent"].map({"model 1": 2012})
    ax = CharacteristicDisplay(frame).plot().ax_
    assert {text for text in texts(ax) if "model" in text} == {"model 0", "model 1 (2012)"}
    assert drawn(ax, "o")[1].get_color() == "#8A8A8A"


def test_the_height_may_be_something_else():
    ax = CharacteristicDisplay(some(1), height="mean confidence").plot().ax_
    assert ax.get_ylabel() == "mean confidence"


def alarm_some():
    x = np.linspace(-2.0, 2.0, 5)
    share = 1 / (1 + np.exp(x))
    columns = {"difficulty": x, "share": share, "low": share / 2, "high": (1 + share) / 2}
    parts = [pd.DataFrame({"sample": name, **columns}) for name in ("expected", "reference", "new")]
    return pd.concat(parts, ignore_index=True)


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_has_a_band_and_each_sample_its_points_and_bars():
    ax = AlarmDisplay(alarm_some()).plot().ax_
    assert entries(ax) == ["expected", "reference", "new"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [5, 5]
    assert len({line.get_color() for line in dots}) == 2
    assert len(ax.collections) == 3
    assert not ax.texts


def test_items_without_an_outcome_are_ticks():
    frame = alarm_some()
    frame.loc[frame["sample"] == "new", ["share", "low", "high"]] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert "outcome is unknown" in ax.texts[0].get_text()
    ticks = [line for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
    np.testing.assert_array_equal(ticks[0].get_xdata(), [-2, -1, 0, 1, 2])


def test_rows_without_a_difficulty_are_left_out_and_said():
    frame = alarm_some()
    frame.loc[7, "difficulty"] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert ax.texts[0].get_text() == "not shown: 1 row without a number"
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        AlarmDisplay(frame.assign(difficulty=np.nan))


def frame(series=("one",), panels=("error",)):
    rows = [
        {"panel": panel, "series": name, "x": x, "estimate": 1 / x, "low": 0.5 / x, "high": 2 / x}
        for panel in panels
        for name in series
        for x in (5.0, 10.0, 25.0)
    ]
    return pd.DataFrame(rows)


def test_lines_go_through_the_estimates_and_bands_to_their_ends():
    display = DISPLAYS["bands"](frame(), across="items").plot()
    (line,) = display.ax_.get_lines()
    assert line.get_xydata().tolist() == [[5.0, 0.2], [10.0, 0.1], [25.0, 0.04]]
    ends = np.vstack([path.vertices for path in display.ax_.collections[-1].get_paths()])
    assert (ends[:, 1].min(), ends[:, 1].max()) == pytest.approx((0.02, 0.4))
    assert display.ax_.get_xlabel() == "items"


def test_each_panel_has_its_name_and_its_own_scale():
    display = DISPLAYS["bands"](frame(panels=("accuracy", "ability"))).plot()
    axes = display.figure_.axes
    assert [ax.get_ylabel() for ax in axes] == ["accuracy", "ability"]


def test_of_many_series_the_first_eight_are_drawn_without_bands_and_the_rest_is_counted():
    display = DISPLAYS["bands"](frame([f"name {k}" for k in range(11)])).plot()
    assert len(display.ax_.get_lines()) == 8
    assert not [one for one in display.ax_.collections if type(one).__name__.startswith("Fill")]
    said = " ".join(text.get_text() for text in display.ax_.texts)
    assert "3 more lines" in said


def test_one_series_needs_no_legend():
    assert DISPLAYS["bands"](frame()).plot().ax_.get_legend() is None
    assert DISPLAYS["bands"](frame(["a", "b"])).plot().ax_.get_legend() is not None


def step_some(methods, definitions=("best member",)):
    parts = [
        pd.DataFrame(
            {
                "definition": definition,
                "method": method,
                "size": [1.0, 2.0, 3.0],
                "gap": scale * np.array([0.3, 0.2, 0.1]) + 0.01 * k,
            }
        )
        for scale, definition in enumerate(definitions, start=1)
        for k, method in enumerate(methods)
    ]
    return with_ends(pd.concat(parts, ignore_index=True))


def with_ends(frame, reach=0.05):
    return frame.assign(gap_low=frame["gap"] - reach, gap_high=frame["gap"] + 2 * reach)


def step_texts(figure):
    return "\n".join(text.get_text() for ax in figure.axes for text in ax.texts)


def lines(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", None, "")]


def test_each_method_has_a_line_with_bars_a_little_beside_that_of_the_next():
    ax = (
        PortfolioGapDisplay(step_some(["airt", "topset"]).sample(frac=1, random_state=0)).plot().ax_
    )
    first, second = sorted(lines(ax), key=lambda line: line.get_xdata()[0])
    assert 0 < second.get_xdata()[0] - first.get_xdata()[0] < 0.2
    np.testing.assert_allclose(np.round(first.get_xdata()), [1, 2, 3])
    heights = [np.ptp(bar[:, 1]) for bars in ax.collections for bar in bars.get_segments()]
    assert heights == pytest.approx([0.15] * 6)
    assert "bar and band: interval" in step_texts(ax.figure)


def test_each_definition_has_a_panel_of_its_own_scale():
    frame = step_some(["airt", "topset"], ["best member", "mean member"])
    frame.loc[frame["definition"] == "mean member", "gap"] *= 100
    figure = PortfolioGapDisplay(frame).plot().figure_
    best, mean = figure.axes
    assert [ax.get_title() for ax in (best, mean)] == ["best member", "mean member"]
    assert mean.get_ylim()[1] > 10 * best.get_ylim()[1]
    assert best.get_legend() is None
    assert entries(mean) == ["airt", "topset"]


def test_without_a_definition_there_is_one_panel():
    display = PortfolioGapDisplay(step_some(["airt"]).drop(columns="definition")).plot()
    assert display.figure_.axes == [display.ax_]
    assert display.ax_.get_title() == ""


@pytest.mark.parametrize(("method", "size"), [("single best", 1.0), ("all of them", np.nan)])
def test_the_single_best_and_what_has_no_size_is_a_level_line(method, size):
    reference = with_ends(pd.DataFrame({"method": [method], "size": size, "gap": 0.25}))
    frame = pd.concat([step_some(["airt"]), reference.assign(definition="best member")])
    ax = PortfolioGapDisplay(frame).plot().ax_
    (level,) = (line for line in ax.lines if line not in lines(ax))
    assert set(level.get_ydata()) == {0.25}
    assert entries(ax) == ["airt", method]
    assert len(lines(ax)) == 1


def test_unknown_errors_leave_out_bars_but_not_lines():
    ax = PortfolioGapDisplay(step_some(["airt"]).assign(gap_low=np.nan, gap_high=np.nan)).plot().ax_
    np.testing.assert_allclose(lines(ax)[0].get_ydata(), [0.3, 0.2, 0.1])
    assert "interval" not in step_texts(ax.figure)


def test_what_is_not_shown_is_counted_and_nothing_at_all_is_refused():
    frame = step_some([f"method {k}" for k in range(11)])
    frame.loc[0, "gap"] = np.nan
    written = step_texts(PortfolioGapDisplay(frame).plot().figure_)
    assert "not shown: 3 more methods" in written
    assert "not shown: 1 row without a gap" in written
    with pytest.raises(InputError, match="nothing to draw"):
        PortfolioGapDisplay(frame.assign(gap=np.nan))


@pytest.fixture
def sizes_frame(frames):
    return frames["agreement"](list("abcdefgh"))


def sizes_texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_the_three_curves_are_drawn_and_named(sizes_frame):
    ax = AgreementDisplay(sizes_frame).plot().ax_
    thick = [line for line in ax.lines if line.get_linewidth() > 1]
    for line, name in zip(thick, ("random", "ceiling", "held_out"), strict=True):
        np.testing.assert_allclose(line.get_ydata(), sizes_frame[name])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "all",
        "chosen",
        "chosen at random",
    ]


def test_the_band_reaches_over_the_range_of_the_chosen(sizes_frame):
    ax = AgreementDisplay(sizes_frame).plot().ax_
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(sizes_frame["held_out_low"].min())
    assert heights.max() == pytest.approx(sizes_frame["held_out_high"].max())


def test_a_few_sizes_get_bars_side_by_side(sizes_frame):
    assert "band and thin lines: 95 % of the splits" in sizes_texts(
        AgreementDisplay(sizes_frame).plot().ax_
    )
    ax = AgreementDisplay(sizes_frame[:1]).plot().ax_
    assert "bars: 95 % of the splits" in sizes_texts(ax)
    bars = [c.get_segments()[0] for c in ax.collections if hasattr(c, "get_segments")]
    assert len({bar[0, 0] for bar in bars}) == 3
    assert bars[2][:, 1].tolist() == pytest.approx(
        [sizes_frame["held_out_low"][0], sizes_frame["held_out_high"][0]]
    )


def test_the_smallest_size_from_which_on_all_are_enough_is_said(sizes_frame):
    enough = np.array([True, False, True, True, True, True, True, True])
    assert "enough: 4 data sets or more" in sizes_texts(
        AgreementDisplay(sizes_frame.assign(enough=enough)).plot().ax_
    )
    assert "none of these sizes" in sizes_texts(
        AgreementDisplay(sizes_frame.assign(enough=False)).plot().ax_
    )
    assert "enough" not in sizes_texts(AgreementDisplay(sizes_frame).plot().ax_)


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else(sizes_frame):
    gap = sizes_frame.assign(held_out=sizes_frame["held_out"].where(sizes_frame["size"] > 2))
    assert "not shown: 1 row" in sizes_texts(AgreementDisplay(gap).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        AgreementDisplay(sizes_frame.assign(held_out=np.nan))


def scree_some(count):
    return pd.DataFrame(
        {
            "dimension": np.arange(1, count + 1),
            "eigenvalue": 5.0 / np.arange(1, count + 1) ** 2,
            "to_exceed": 1.1,
        }
    )


def filled(ax):
    return len(ax.collections[0].get_offsets())


def test_dimensions_above_the_line_are_filled():
    ax = ScreeDisplay(scree_some(6)).plot().ax_
    assert filled(ax) == 2
    assert "filled: 2 dimensions larger than by chance" in sizes_texts(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension", "eigenvalue")


def test_one_below_the_line_ends_the_count():
    frame = scree_some(4).assign(eigenvalue=[5.0, 1.0, 2.0, 0.5])
    assert filled(ScreeDisplay(frame).plot().ax_) == 1


def test_what_is_suggested_is_filled():
    frame = scree_some(4).assign(suggested=[True, False, False, False])
    assert filled(ScreeDisplay(frame).plot().ax_) == 1


def test_the_flat_end_of_a_long_scree_is_left_out_and_said():
    ax = ScreeDisplay(scree_some(300)).plot().ax_
    assert ax.get_xlim()[1] < 21
    assert "not shown: 280 smaller eigenvalues" in sizes_texts(ax)


def test_rows_come_in_any_order_and_the_frame_stays_as_it_is():
    frame = scree_some(5).sample(frac=1, random_state=0)
    before = frame.copy(deep=True)
    ax = ScreeDisplay(frame).plot(Figure().subplots()).ax_
    assert list(ax.lines[0].get_ydata()) == sorted(frame["eigenvalue"], reverse=True)
    pd.testing.assert_frame_equal(frame, before)
