"""Step curves: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots import DISPLAYS
from ogive.results.plots.banded_curves import AgreementDisplay, PortfolioGapDisplay, ScreeDisplay


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


def some(methods, definitions=("best member",)):
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


def texts(figure):
    return "\n".join(text.get_text() for ax in figure.axes for text in ax.texts)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def lines(ax):
    return [line for line in ax.lines if line.get_marker() not in ("None", None, "")]


def test_each_method_has_a_line_with_bars_a_little_beside_that_of_the_next():
    ax = PortfolioGapDisplay(some(["airt", "topset"]).sample(frac=1, random_state=0)).plot().ax_
    first, second = sorted(lines(ax), key=lambda line: line.get_xdata()[0])
    assert 0 < second.get_xdata()[0] - first.get_xdata()[0] < 0.2
    np.testing.assert_allclose(np.round(first.get_xdata()), [1, 2, 3])
    heights = [np.ptp(bar[:, 1]) for bars in ax.collections for bar in bars.get_segments()]
    assert heights == pytest.approx([0.15] * 6)
    assert "bar and band: interval" in texts(ax.figure)


def test_each_definition_has_a_panel_of_its_own_scale():
    frame = some(["airt", "topset"], ["best member", "mean member"])
    frame.loc[frame["definition"] == "mean member", "gap"] *= 100
    figure = PortfolioGapDisplay(frame).plot().figure_
    best, mean = figure.axes
    assert [ax.get_title() for ax in (best, mean)] == ["best member", "mean member"]
    assert mean.get_ylim()[1] > 10 * best.get_ylim()[1]
    assert best.get_legend() is None
    assert legend(mean) == ["airt", "topset"]


def test_without_a_definition_there_is_one_panel():
    display = PortfolioGapDisplay(some(["airt"]).drop(columns="definition")).plot()
    assert display.figure_.axes == [display.ax_]
    assert display.ax_.get_title() == ""


@pytest.mark.parametrize(("method", "size"), [("single best", 1.0), ("all of them", np.nan)])
def test_the_single_best_and_what_has_no_size_is_a_level_line(method, size):
    reference = with_ends(pd.DataFrame({"method": [method], "size": size, "gap": 0.25}))
    frame = pd.concat([some(["airt"]), reference.assign(definition="best member")])
    ax = PortfolioGapDisplay(frame).plot().ax_
    (level,) = (line for line in ax.lines if line not in lines(ax))
    assert set(level.get_ydata()) == {0.25}
    assert legend(ax) == ["airt", method]
    assert len(lines(ax)) == 1


def test_unknown_errors_leave_out_bars_but_not_lines():
    ax = PortfolioGapDisplay(some(["airt"]).assign(gap_low=np.nan, gap_high=np.nan)).plot().ax_
    np.testing.assert_allclose(lines(ax)[0].get_ydata(), [0.3, 0.2, 0.1])
    assert "interval" not in texts(ax.figure)


def test_what_is_not_shown_is_counted_and_nothing_at_all_is_refused():
    frame = some([f"method {k}" for k in range(11)])
    frame.loc[0, "gap"] = np.nan
    written = texts(PortfolioGapDisplay(frame).plot().figure_)
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


def scree_texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def filled(ax):
    return len(ax.collections[0].get_offsets())


def test_dimensions_above_the_line_are_filled():
    ax = ScreeDisplay(scree_some(6)).plot().ax_
    assert filled(ax) == 2
    assert "filled: 2 dimensions larger than by chance" in scree_texts(ax)
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
    assert "not shown: 280 smaller eigenvalues" in scree_texts(ax)


def test_rows_come_in_any_order_and_the_frame_stays_as_it_is():
    frame = scree_some(5).sample(frac=1, random_state=0)
    before = frame.copy(deep=True)
    ax = ScreeDisplay(frame).plot(Figure().subplots()).ax_
    assert list(ax.lines[0].get_ydata()) == sorted(frame["eigenvalue"], reverse=True)
    pd.testing.assert_frame_equal(frame, before)
