import numpy as np
import pandas as pd
import pytest

from itemwise.displays import CapabilityPlaneDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(count):
    """Models of which the first has the highest limits."""
    limit = np.linspace(1.0, -1.0, count)
    columns = {"sick": limit, "sick_se": 0.1, "well": limit / 2, "well_se": 0.2}
    return pd.DataFrame(columns, index=[f"model {k}" for k in range(count)])


def named(ax):
    return [text for text in ax.texts if text.get_text().startswith("model")]


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_each_model_is_a_point_with_a_bar_each_way():
    frame = some(3)
    ax = CapabilityPlaneDisplay(frame).plot().ax_
    across, up, _, dots = ax.collections
    np.testing.assert_allclose(dots.get_offsets(), frame[["sick", "well"]])
    assert np.ptp(across.get_segments()[0][:, 0]) == pytest.approx(2 * 1.96 * 0.1)
    assert np.ptp(up.get_segments()[0][:, 1]) == pytest.approx(2 * 1.96 * 0.2)
    assert ax.get_xlabel() == "limit (MLC) in class 'sick'"
    assert ax.get_ylabel() == "limit (MLC) in class 'well'"


def test_a_few_models_have_the_colours_of_their_names():
    ax = CapabilityPlaneDisplay(some(3)).plot().ax_
    assert [text.get_text() for text in named(ax)] == ["model 2", "model 1", "model 0"]
    assert [text.get_color() for text in named(ax)] == list(STYLE.palette[2::-1])


def test_of_many_models_the_best_are_named_and_no_name_covers_another():
    ax = CapabilityPlaneDisplay(some(100) * 1e-3).plot().ax_
    assert {text.get_text() for text in named(ax)} == {f"model {k}" for k in range(20)}
    heights = [text.get_position()[1] for text in named(ax)]
    assert np.diff(sorted(heights)).min() > 0.03
    assert "grey: 80 models of lower limits" in texts(ax)


def test_classes_may_be_numbers_or_chosen_among_more():
    frame = some(3).set_axis([0, "0_se", 1, "1_se"], axis=1)
    assert CapabilityPlaneDisplay(frame).plot().ax_.get_xlabel() == "limit (MLC) in class '0'"
    more = some(3).assign(dead=0.5, dead_se=0.1)
    with pytest.raises(InputError, match=r"limits of 3: 'sick', 'well', 'dead'. Say which two"):
        CapabilityPlaneDisplay(more)
    ax = CapabilityPlaneDisplay(more, classes=("dead", "sick")).plot().ax_
    assert ax.get_xlabel() == "limit (MLC) in class 'dead'"


def test_other_than_two_classes_are_refused():
    with pytest.raises(InputError, match="draws two classes, but was given"):
        CapabilityPlaneDisplay(some(3), classes=("sick",))
    with pytest.raises(InputError, match="'tired', 'tired_se' are missing"):
        CapabilityPlaneDisplay(some(3), classes=("sick", "tired"))
    with pytest.raises(InputError, match=r"missing\. The frame has: 'sick', 'sick_se'"):
        CapabilityPlaneDisplay(some(3)[["sick", "sick_se"]])


def test_far_and_missing_limits_are_counted():
    frame = some(30)
    frame.iloc[4, 0] = 1e6
    frame.iloc[5, 2] = np.nan
    ax = CapabilityPlaneDisplay(frame).plot().ax_
    assert ax.get_xlim()[1] < 100
    assert "beyond the axes: 1 model" in texts(ax)
    assert "not shown: 1 model without both limits" in texts(ax)
    with pytest.raises(InputError, match="no row has two finite limits"):
        CapabilityPlaneDisplay(frame.assign(well=np.nan))
