import numpy as np
import pandas as pd
import pytest

from itemwise.displays import PortfolioGapDisplay
from itemwise.errors import InputError


def some(methods, definitions=("best member",)):
    parts = [
        pd.DataFrame(
            {
                "definition": definition,
                "method": method,
                "size": [1.0, 2.0, 3.0],
                "gap": scale * np.array([0.3, 0.2, 0.1]) + 0.01 * k,
                "gap_se": 0.02,
            }
        )
        for scale, definition in enumerate(definitions, start=1)
        for k, method in enumerate(methods)
    ]
    return pd.concat(parts, ignore_index=True)


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
    assert heights == pytest.approx([2 * 1.96 * 0.02] * 6)
    assert "±1.96 standard errors" in texts(ax.figure)


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
    reference = pd.DataFrame({"method": [method], "size": size, "gap": 0.25, "gap_se": 0.01})
    frame = pd.concat([some(["airt"]), reference.assign(definition="best member")])
    ax = PortfolioGapDisplay(frame).plot().ax_
    (level,) = (line for line in ax.lines if line not in lines(ax))
    assert set(level.get_ydata()) == {0.25}
    assert legend(ax) == ["airt", method]
    assert len(lines(ax)) == 1


def test_unknown_errors_leave_out_bars_but_not_lines():
    ax = PortfolioGapDisplay(some(["airt"]).assign(gap_se=np.nan)).plot().ax_
    np.testing.assert_allclose(lines(ax)[0].get_ydata(), [0.3, 0.2, 0.1])
    assert "standard errors" not in texts(ax.figure)


def test_what_is_not_shown_is_counted_and_nothing_at_all_is_refused():
    frame = some([f"method {k}" for k in range(11)])
    frame.loc[0, "gap"] = np.nan
    written = texts(PortfolioGapDisplay(frame).plot().figure_)
    assert "not shown: 3 more methods" in written
    assert "not shown: 1 row without a gap" in written
    with pytest.raises(InputError, match="nothing to draw"):
        PortfolioGapDisplay(frame.assign(gap=np.nan))
