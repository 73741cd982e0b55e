import numpy as np
import pandas as pd
import pytest

from itemwise.displays import DISPLAYS
from itemwise.errors import InputError


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


def test_a_frame_without_numbers_has_nothing_to_draw():
    with pytest.raises(InputError, match="nothing to draw"):
        DISPLAYS["bands"](frame().assign(estimate=np.nan))
