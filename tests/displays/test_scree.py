import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import ScreeDisplay
from itemwise.errors import InputError


def some(count):
    return pd.DataFrame(
        {
            "dimension": np.arange(1, count + 1),
            "eigenvalue": 5.0 / np.arange(1, count + 1) ** 2,
            "reference": 1.1,
        }
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def filled(ax):
    return len(ax.collections[0].get_offsets())


def test_dimensions_above_the_line_are_filled():
    ax = ScreeDisplay(some(6)).plot().ax_
    assert filled(ax) == 2
    assert "filled: 2 dimensions larger than by chance" in texts(ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension", "eigenvalue")


def test_one_below_the_line_ends_the_count():
    frame = some(4).assign(eigenvalue=[5.0, 1.0, 2.0, 0.5])
    assert filled(ScreeDisplay(frame).plot().ax_) == 1


def test_what_is_suggested_is_filled():
    frame = some(4).assign(suggested=[True, False, False, False])
    assert filled(ScreeDisplay(frame).plot().ax_) == 1


def test_the_flat_end_of_a_long_scree_is_left_out_and_said():
    ax = ScreeDisplay(some(300)).plot().ax_
    assert ax.get_xlim()[1] < 21
    assert "not shown: 280 smaller eigenvalues" in texts(ax)


@pytest.mark.parametrize("count", [1, 5, 50, 2000])
def test_few_and_many_are_drawn_inside_the_figure(count):
    display = ScreeDisplay(some(count)).plot()
    display.figure_.canvas.draw()
    inner = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    assert inner.x1 < width + 0.02
    assert inner.y0 > -0.02
    assert inner.y1 < height + 0.02


def test_rows_come_in_any_order_and_the_frame_stays_as_it_is():
    frame = some(5).sample(frac=1, random_state=0)
    before = frame.copy(deep=True)
    ax = ScreeDisplay(frame).plot(Figure().subplots()).ax_
    assert list(ax.lines[0].get_ydata()) == sorted(frame["eigenvalue"], reverse=True)
    pd.testing.assert_frame_equal(frame, before)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="'eigenvalue' holds no finite number"):
        ScreeDisplay(some(2).assign(eigenvalue=np.nan))
    with pytest.raises(InputError, match="'reference' is missing"):
        ScreeDisplay(some(2)[["dimension", "eigenvalue"]])
    with pytest.raises(InputError, match="without rows"):
        ScreeDisplay(some(0))
