import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex

from itemwise.displays import ModelComparisonDisplay
from itemwise.errors import InputError


def some(aic, bic=None, **columns):
    aic = np.asarray(aic, dtype=float)
    weight = np.exp(-(aic - aic.min()) / 2)
    frame = {"aic": aic, "bic": aic if bic is None else bic, "weight": weight / weight.sum()}
    return pd.DataFrame(frame | columns, index=[f"model {i}" for i in range(aic.size)])


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def tick_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_best_is_on_top_with_its_weight():
    ax = ModelComparisonDisplay(some([1010.0, 1000.0, 1002.0])).plot().ax_
    assert tick_names(ax) == ["model 1  (0.73)", "model 2  (0.27)", "model 0  (0.00)"]
    assert ax.yaxis_inverted()


def test_dots_stand_behind_the_best_of_their_own_criterion():
    ax = ModelComparisonDisplay(some([100.0, 104.0], [130.0, 110.0])).plot().ax_
    aic, bic = (ax.collections[k].get_offsets()[:, 0] for k in (0, 2))
    np.testing.assert_allclose(aic, [0, 4])
    np.testing.assert_allclose(bic, [20, 0])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["AIC", "BIC"]


def test_the_axis_is_logarithmic_only_where_models_are_far_behind():
    assert ModelComparisonDisplay(some([0.0, 8.0])).plot().ax_.get_xscale() == "linear"
    ax = ModelComparisonDisplay(some([0.0, 8.0, 5000.0])).plot().ax_
    assert ax.get_xscale() == "symlog"
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        *("0", "2", "5", "10", "100", "1,000")
    ]


def test_models_that_did_not_converge_are_hollow():
    display = ModelComparisonDisplay(some([0.0, 5.0], converged=[True, False])).plot()
    fills = [to_hex(colour).upper() for colour in display.ax_.collections[0].get_facecolor()]
    assert fills == ["#0072B2", "#FFFFFF"]
    assert "hollow: not converged (1 model)" in texts(display.ax_)
    assert "hollow" not in texts(ModelComparisonDisplay(some([0.0, 5.0])).plot().ax_)


def test_a_missing_criterion_is_no_crash():
    ax = ModelComparisonDisplay(some([0.0, 5.0], [np.nan, np.nan])).plot().ax_
    assert ax.has_data()
    ax = ModelComparisonDisplay(some([0.0, 5.0]).assign(aic=[1.0, np.nan])).plot().ax_
    assert "not shown: 1 model without AIC" in texts(ax)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        ModelComparisonDisplay(some([1.0]).assign(aic=np.nan))
    with pytest.raises(InputError, match="'weight' is missing"):
        ModelComparisonDisplay(some([1.0]).drop(columns="weight"))
    with pytest.raises(InputError, match="without rows"):
        ModelComparisonDisplay(some([1.0])[:0])


@pytest.mark.parametrize("count", [1, 5, 50, 400])
def test_few_and_many_rows_are_drawn_inside_the_figure(count, tmp_path):
    display = ModelComparisonDisplay(some(np.linspace(0.0, 900.0, count))).plot()
    assert display.save(tmp_path / "figure.png", dpi=50).stat().st_size > 1000
    display.figure_.canvas.draw()
    inner, (width, height) = display.figure_.get_tightbbox(), display.figure_.get_size_inches()
    assert min(inner.x0, inner.y0) > -0.02
    assert inner.x1 < width + 0.02
    assert inner.y1 < height + 0.02
