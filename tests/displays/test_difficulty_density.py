import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection

from itemwise.displays import DifficultyDensityDisplay
from itemwise.errors import InputError


def some(sizes, seed=0):
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


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_each_class_has_a_density_of_area_one_that_peaks_where_its_cases_are():
    for middle, line in enumerate(curves(draw(some([400, 100])))):
        x, y = line.get_data()
        assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.02)
        assert x[y.argmax()] == pytest.approx(middle, abs=0.35)


def test_limits_are_dashed_lines_in_the_colour_of_their_class_with_a_band():
    ax = draw(some([50, 50]), CAPABILITY)
    first, second = (line.get_color() for line in curves(ax))
    assert dashed(ax) == {0.2: first, 0.9: second}
    assert legend(ax) == ["a\n50 cases\nlimit 0.20 ± 0.20", "b\n50 cases\nlimit 0.90"]
    (band,) = ax.patches
    assert band.get_x() == pytest.approx(0.2 - 1.96 * 0.1)
    assert band.get_width() == pytest.approx(2 * 1.96 * 0.1)


def test_limits_may_stand_in_the_frame():
    frame = some([50, 50]).assign(limit=lambda rows: rows["class"].map({"a": 0.3, "b": 0.6}))
    assert set(dashed(draw(frame))) == {0.3, 0.6}
    assert not dashed(draw(some([50, 50])))


def test_a_limit_beyond_the_cases_widens_the_axis_unless_it_is_far_off():
    assert draw(some([50, 50]), {"a": 3.5}).get_xlim()[1] > 3.5
    ax = draw(some([50, 50]), {"a": 40.0})
    assert ax.get_xlim()[1] < 10
    assert "limit 40.00" in legend(ax)[0]


def test_many_classes_have_no_bands():
    def bands(ax):
        return [shape for shape in ax.collections if isinstance(shape, PolyCollection)]

    assert len(bands(draw(some([50] * 3)))) == 3
    ax = draw(some([50] * 8))
    assert not bands(ax)
    assert "band" not in texts(ax)
    assert legend(ax)[-1] == "2 others\n100 cases"


def test_equal_difficulties_are_a_mark_at_the_foot():
    frame = pd.concat([some([50]), pd.DataFrame({"class": "z", "difficulty": [0.4, 0.4]})])
    ax = draw(frame)
    assert len(curves(ax)) == 1
    assert [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "^"] == [0.4]


def test_far_and_missing_cases_are_counted():
    frame = some([100])
    frame.loc[:1, "difficulty"] = [np.nan, 1e6]
    ax = draw(frame)
    assert np.ptp(ax.get_xlim()) < 20
    assert "beyond the axis: 1 case" in texts(ax)
    assert "not shown: 1 case without a finite number" in texts(ax)
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        DifficultyDensityDisplay(frame.assign(difficulty=np.inf))


def test_a_group_far_from_the_others_is_shown():
    frame = some([180, 20])
    frame.loc[frame["class"] == "b", "difficulty"] += 30.0
    ax = draw(frame)
    assert ax.get_xlim()[1] > 30
    assert "beyond the axis" not in texts(ax)
