import numpy as np
import pandas as pd
import pytest

from itemwise.displays import AlarmDisplay
from itemwise.errors import InputError


def some():
    x = np.linspace(-2.0, 2.0, 5)
    share = 1 / (1 + np.exp(x))
    columns = {"difficulty": x, "share": share, "low": share / 2, "high": (1 + share) / 2}
    parts = [pd.DataFrame({"sample": name, **columns}) for name in ("expected", "reference", "new")]
    return pd.concat(parts, ignore_index=True)


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_has_a_band_and_each_sample_its_points_and_bars():
    ax = AlarmDisplay(some()).plot().ax_
    assert entries(ax) == ["expected", "reference", "new"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [5, 5]
    assert len({line.get_color() for line in dots}) == 2
    assert len(ax.collections) == 3
    assert not ax.texts


def test_items_without_an_outcome_are_ticks():
    frame = some()
    frame.loc[frame["sample"] == "new", ["share", "low", "high"]] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert "outcome is unknown" in ax.texts[0].get_text()
    ticks = [line for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
    np.testing.assert_array_equal(ticks[0].get_xdata(), [-2, -1, 0, 1, 2])


def test_rows_without_a_difficulty_are_left_out_and_said():
    frame = some()
    frame.loc[7, "difficulty"] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert ax.texts[0].get_text() == "not shown: 1 row without a number"
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        AlarmDisplay(frame.assign(difficulty=np.nan))
