import numpy as np
import pandas as pd
import pytest

from itemwise.displays import ReliabilityDisplay
from itemwise.errors import InputError


def along(count=81):
    ability = np.linspace(-4, 4, count)
    information = 5 * np.exp(-(ability**2) / 2)
    return pd.DataFrame(
        {
            "ability": ability,
            "reliability": information / (information + 1),
            "se": information**-0.5,
        }
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_the_curve_is_the_reliability_in_the_order_of_the_scale():
    ax = ReliabilityDisplay(along().sample(frac=1, random_state=0)).plot().ax_
    x, y = ax.lines[0].get_data()
    assert (np.diff(x) > 0).all()
    assert y.max() == pytest.approx(5 / 6)
    assert ax.get_ylim() == (0, 1)


def test_the_filled_stretch_tells_at_least_half_of_the_most():
    ax = ReliabilityDisplay(along(801)).plot().ax_
    ends = ax.collections[0].get_paths()[0].vertices[:, 0]
    half = np.sqrt(2 * np.log(2))  # where exp(-x² / 2) is one half
    assert ends.min() == pytest.approx(-half, abs=0.01)  # the grid is that fine
    assert ends.max() == pytest.approx(half, abs=0.01)


def test_usual_levels_are_drawn_and_named():
    ax = ReliabilityDisplay(along()).plot().ax_
    assert [line.get_ydata()[0] for line in ax.lines[1:]] == [0.9, 0.7]
    assert "comparing" in texts(ax)


def test_items_that_tell_nothing_still_give_a_figure():
    frame = along().assign(reliability=0.0, se=np.inf)
    ax = ReliabilityDisplay(frame).plot().ax_
    assert not ax.collections
    assert "filled" not in texts(ax)


def test_one_point_is_seen():
    frame = pd.DataFrame({"ability": [0.0], "reliability": [0.5], "se": [1.0]})
    assert ReliabilityDisplay(frame).plot().ax_.lines[0].get_marker() == "o"


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        ReliabilityDisplay(along().assign(reliability=np.nan))
    with pytest.raises(InputError, match="'se' is missing"):
        ReliabilityDisplay(along().drop(columns="se"))


@pytest.mark.parametrize("count", [1, 5, 50, 2000])
def test_few_and_many_rows_are_drawn_inside_the_figure(count, tmp_path):
    display = ReliabilityDisplay(along(count)).plot()
    assert display.save(tmp_path / "figure.png", dpi=50).stat().st_size > 1000
    display.figure_.canvas.draw()
    inner, (width, height) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    assert min(inner.x0, inner.y0) > -0.02
    assert inner.x1 < width + 0.02
    assert inner.y1 < height + 0.02
