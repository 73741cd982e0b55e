import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from itemwise.displays import CaseDifficultyDisplay
from itemwise.errors import InputError


def some(sizes, seed=0):
    """Cases of the classes 0, 1, ... of these sizes."""
    rng = np.random.default_rng(seed)
    classes = np.repeat(np.arange(len(sizes)), sizes)
    return pd.DataFrame({"class": classes, "cdi": rng.normal(classes - 1.0, 0.7)})


def panels(display):
    return display.plot().figure_.axes


def outlines(ax):
    return ax.patches[1::2]


def texts(display):
    return "\n".join(text.get_text() for ax in display.figure_.axes for text in ax.texts)


def test_bins_are_a_quarter_wide_and_one_lies_around_zero():
    bins, _ = panels(CaseDifficultyDisplay(some([40, 60])))
    for step in outlines(bins):
        edges = step.get_data()[1]
        np.testing.assert_allclose(np.diff(edges), 0.25)
        assert np.isclose(edges, 0.125).any()


def test_each_class_sums_to_one_so_that_a_small_one_is_seen():
    bins, _ = panels(CaseDifficultyDisplay(some([2000, 20])))
    large, small = (step.get_data()[0] for step in outlines(bins))
    assert large.sum() == pytest.approx(1.0)
    assert small.sum() == pytest.approx(1.0)
    assert small.max() > 0.1


def test_a_violin_of_each_class_bears_its_name_number_and_colour():
    bins, violins = panels(CaseDifficultyDisplay(some([30, 20, 1000])))
    ticks = violins.get_yticklabels()
    assert [tick.get_text() for tick in ticks] == [
        "class 0\n(30)",
        "class 1\n(20)",
        "class 2\n(1,000)",
    ]
    colours = [step.get_edgecolor()[:3] for step in outlines(bins)]
    shapes = [shape for shape in violins.collections if isinstance(shape, PolyCollection)]
    assert [tuple(shape.get_facecolor()[0][:3]) for shape in shapes] == colours
    assert bins.get_xlim() == violins.get_xlim()


def test_beyond_six_classes_the_rest_is_one():
    _, violins = panels(CaseDifficultyDisplay(some([30] * 6 + [10, 10])))
    assert [tick.get_text() for tick in violins.get_yticklabels()][-1] == "2 others\n(20)"


def test_a_slim_axes_has_the_violins_below_and_the_notes_below_these():
    display = CaseDifficultyDisplay(some([30, 20]))
    display.plot(Figure(figsize=(3, 6), layout="constrained").subplots())
    bins, violins = display.figure_.axes
    assert violins.get_position().y1 <= bins.get_position().y0
    assert not bins.texts
    assert "bins of 0.25" in violins.texts[0].get_text()


def test_far_cases_are_counted_and_never_make_endless_bins():
    frame = pd.concat([some([100, 100]), pd.DataFrame({"class": [0, 1], "cdi": [1e9, np.nan]})])
    display = CaseDifficultyDisplay(frame)
    assert np.ptp(panels(display)[0].get_xlim()) < 20
    assert "beyond the axis: 1 case" in texts(display)
    assert "not shown: 1 case without a finite number" in texts(display)
    wide = CaseDifficultyDisplay(pd.DataFrame({"class": "a", "cdi": np.linspace(-1e9, 1e9, 50)}))
    assert len(outlines(panels(wide)[0])[0].get_data()[0]) <= 202


def test_equal_cases_are_one_bin_and_a_dot():
    bins, violins = panels(CaseDifficultyDisplay(some([5]).assign(cdi=0.3)))
    np.testing.assert_allclose(outlines(bins)[0].get_data()[0], [1.0])
    assert len(violins.collections) == 1


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="width is 0"):
        CaseDifficultyDisplay(some([5]), width=0)
    with pytest.raises(InputError, match="'cdi' holds no finite number"):
        CaseDifficultyDisplay(some([5]).assign(cdi=np.nan))


def test_a_group_far_from_the_others_is_shown():
    near, far = some([180]), some([20]).assign(cdi=30.0)
    display = CaseDifficultyDisplay(pd.concat([near, far]))
    assert panels(display)[0].get_xlim()[1] > 30
    assert "beyond the axis" not in texts(display)
