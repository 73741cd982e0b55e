import numpy as np
import pandas as pd
import pytest

from itemwise.displays import EffectivenessDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(count, off):
    """Algorithms on the diagonal but for the first ones, which are `off`."""
    actual = np.linspace(0.3, 0.9, count)
    predicted = actual.copy()
    predicted[: len(off)] += off
    names = [f"algorithm {k}" for k in range(count)]
    return pd.DataFrame({"auaec": actual, "aupec": predicted}, index=names)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def named(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("algorithm")]


def test_points_lie_where_they_are_and_the_diagonal_where_both_agree():
    frame = some(10, [0.2])
    ax = EffectivenessDisplay(frame).plot().ax_
    near, far = (dots.get_offsets() for dots in ax.collections)
    np.testing.assert_allclose(far, frame.to_numpy()[:1])
    np.testing.assert_allclose(near, frame.to_numpy()[1:])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), ax.lines[0].get_ydata())
    assert ax.get_xlim() == ax.get_ylim()


def test_those_far_off_are_orange_and_named_and_three_at_least():
    ax = EffectivenessDisplay(some(30, [0.2, -0.15, 0.12, 0.11, 0.05])).plot().ax_
    assert sorted(named(ax)) == [f"algorithm {k}" for k in range(4)]
    assert "orange: 4 of 30 algorithms more than 0.1 off" in "\n".join(texts(ax))
    ax = EffectivenessDisplay(some(30, [0.01, 0.05, -0.03, 0.02])).plot().ax_
    assert sorted(named(ax)) == [f"algorithm {k}" for k in (1, 2, 3)]
    colours = {text.get_color() for text in ax.texts}
    assert STYLE.negative not in colours


def test_names_do_not_cover_each_other():
    frame = some(30, [0.2] * 20).assign(auaec=0.5, aupec=0.7)
    ax = EffectivenessDisplay(frame).plot().ax_
    heights = sorted(text.get_position()[1] for text in ax.texts if "algorithm " in text.get_text())
    assert len(named(ax)) == 12
    assert np.diff(heights[-12:]).min() > 0.03


def test_a_bar_is_the_error_of_the_distance_from_the_diagonal_and_within_the_axes():
    errors = {"auaec_se": 0.4, "aupec_se": 0.4, "difference_se": [0.02, np.nan, 0.2]}
    ax = EffectivenessDisplay(some(3, [0.2]).assign(**errors)).plot().ax_
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(bar[:, 1]) for bar in bars], [0.0784, 0.0, 0.784])
    assert all(np.ptp(bar[:, 0]) == 0 for bar in bars)
    assert ax.get_ylim()[0] < 0.9 - 0.392
    assert ax.get_ylim()[1] > 0.9 + 0.392
    assert "bar: ±1.96 standard errors of the distance" in "\n".join(texts(ax))


def test_of_few_algorithms_each_has_its_name():
    assert len(named(EffectivenessDisplay(some(12, [])).plot().ax_)) == 12


def test_rows_without_both_areas_are_counted_and_refused_where_there_is_nothing_else():
    frame = some(3, [0.2])
    frame.loc["algorithm 1", "aupec"] = np.nan
    assert "not shown: 1 algorithm" in "\n".join(texts(EffectivenessDisplay(frame).plot().ax_))
    with pytest.raises(InputError, match="nothing to draw"):
        EffectivenessDisplay(frame.assign(auaec=np.nan))
