import numpy as np
import pandas as pd
import pytest

from itemwise.displays import ModelFitDisplay
from itemwise.errors import InputError


def some(values, names=None):
    value = np.asarray(values, dtype=float)
    columns = {"rmsea": value, "rmsea_low": 0.8 * value, "rmsea_high": 1.2 * value}
    return pd.DataFrame(columns, index=names or [f"model {i}" for i in range(value.size)])


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def tick_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_bars_are_the_intervals():
    ax = ModelFitDisplay(some([0.02, 0.06])).plot().ax_
    bars = [bar[:, 0] for bar in ax.collections[0].get_segments()]
    np.testing.assert_allclose(bars, [[0.016, 0.024], [0.048, 0.072]])


def test_models_stay_in_their_order_from_the_top():
    ax = ModelFitDisplay(some([0.06, 0.02], ["first", "second"])).plot().ax_
    assert tick_names(ax) == ["first", "second"]
    assert ax.yaxis_inverted()


def test_the_limits_are_drawn_and_named_even_where_all_fit_closely():
    ax = ModelFitDisplay(some([0.001])).plot().ax_
    assert [line.get_xdata()[0] for line in ax.lines] == [0.05, 0.08]
    assert ax.get_xlim()[1] > 0.08
    assert all(word in texts(ax) for word in ("close", "fair", "poor"))


def test_words_that_do_not_fit_are_left_out():
    ax = ModelFitDisplay(some([0.9])).plot().ax_
    assert "fair" not in texts(ax)
    assert "poor" in texts(ax)


def test_a_missing_interval_leaves_the_dot():
    frame = some([0.03]).assign(rmsea_low=np.nan, rmsea_high=np.nan)
    ax = ModelFitDisplay(frame).plot().ax_
    assert len(ax.collections[1].get_offsets()) == 1


def test_models_without_a_test_are_counted():
    ax = ModelFitDisplay(some([0.03, np.nan])).plot().ax_
    assert tick_names(ax) == ["model 0"]
    assert "not shown: 1 row without RMSEA" in texts(ax)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        ModelFitDisplay(some([np.nan]))
    with pytest.raises(InputError, match="'rmsea_high' is missing"):
        ModelFitDisplay(some([0.1]).drop(columns="rmsea_high"))
    with pytest.raises(InputError, match="without rows"):
        ModelFitDisplay(some([]))


@pytest.mark.parametrize("count", [1, 5, 50, 400])
def test_few_and_many_rows_are_drawn_inside_the_figure(count, tmp_path):
    display = ModelFitDisplay(some(np.linspace(0.0, 0.2, count))).plot()
    assert display.save(tmp_path / "figure.png", dpi=50).stat().st_size > 1000
    display.figure_.canvas.draw()
    inner, (width, height) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    assert min(inner.x0, inner.y0) > -0.02
    assert inner.x1 < width + 0.02
    assert inner.y1 < height + 0.02
