"""Planes of two values: what is its own in each figure."""

import numpy as np
import pandas as pd
import pytest

from ogive.errors import InputError
from ogive.results.plots.planes import AnchorsDisplay, CapabilityPlaneDisplay, EffectivenessDisplay
from ogive.results.plots.theme import STYLE


def some(count, drifted=0):
    """Anchors on the line but for the first ones, which became harder."""
    old = np.linspace(-2.0, 2.0, count)
    moved = np.arange(count) < drifted
    columns = {"difficulty_old": old, "difficulty_new": old + moved, "drifted": moved}
    names = [f"anchor {k}" for k in range(count)]
    return pd.DataFrame(columns, index=names).assign(difficulty_difference_se=0.1)


def named(ax):
    return {t.get_text(): t.get_color() for t in ax.texts if t.get_text().startswith("anchor")}


def test_of_many_anchors_those_that_drifted_are_named_in_their_colour():
    ax = AnchorsDisplay(some(30, 3)).plot().ax_
    assert named(ax) == dict.fromkeys(("anchor 0", "anchor 1", "anchor 2"), STYLE.negative)
    assert "drifted (3 of 30 anchors)" in ax.texts[-1].get_text()


def test_of_few_anchors_all_are_named():
    assert len(named(AnchorsDisplay(some(8, 1)).plot().ax_)) == 8


def test_a_bar_reaches_so_far_as_the_error_of_the_difference_allows():
    bars = AnchorsDisplay(some(5)).plot().ax_.collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(bar[:, 1]) for bar in bars], 2 * 1.96 * 0.1)


def test_an_anchor_far_outside_is_not_drawn_but_counted():
    frame = some(20)
    frame.iloc[4, :2] = 400.0
    ax = AnchorsDisplay(frame).plot().ax_
    assert ax.get_xlim()[1] < 20
    assert "not shown: 1 anchor far from the others" in ax.texts[-1].get_text()


def areas_some(count, off):
    """Algorithms on the diagonal but for the first ones, which are `off`."""
    actual = np.linspace(0.3, 0.9, count)
    predicted = actual.copy()
    predicted[: len(off)] += off
    names = [f"algorithm {k}" for k in range(count)]
    return pd.DataFrame({"auaec": actual, "aupec": predicted}, index=names)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def areas_named(ax):
    return [text.get_text() for text in ax.texts if text.get_text().startswith("algorithm")]


def test_points_lie_where_they_are_and_the_diagonal_where_both_agree():
    frame = areas_some(10, [0.2])
    ax = EffectivenessDisplay(frame).plot().ax_
    near, far = (dots.get_offsets() for dots in ax.collections)
    np.testing.assert_allclose(far, frame.to_numpy()[:1])
    np.testing.assert_allclose(near, frame.to_numpy()[1:])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), ax.lines[0].get_ydata())
    assert ax.get_xlim() == ax.get_ylim()


def test_those_far_off_are_orange_and_named_and_three_at_least():
    ax = EffectivenessDisplay(areas_some(30, [0.2, -0.15, 0.12, 0.11, 0.05])).plot().ax_
    assert sorted(areas_named(ax)) == [f"algorithm {k}" for k in range(4)]
    assert "orange: 4 of 30 algorithms more than 0.1 off" in "\n".join(texts(ax))
    ax = EffectivenessDisplay(areas_some(30, [0.01, 0.05, -0.03, 0.02])).plot().ax_
    assert sorted(areas_named(ax)) == [f"algorithm {k}" for k in (1, 2, 3)]
    colours = {text.get_color() for text in ax.texts}
    assert STYLE.negative not in colours


def test_names_do_not_cover_each_other():
    frame = areas_some(30, [0.2] * 20).assign(auaec=0.5, aupec=0.7)
    ax = EffectivenessDisplay(frame).plot().ax_
    heights = sorted(text.get_position()[1] for text in ax.texts if "algorithm " in text.get_text())
    assert len(areas_named(ax)) == 12
    assert np.diff(heights[-12:]).min() > 0.03


def test_a_bar_is_the_error_of_the_distance_from_the_diagonal_and_within_the_axes():
    errors = {"auaec_se": 0.4, "aupec_se": 0.4, "difference_se": [0.02, np.nan, 0.2]}
    ax = EffectivenessDisplay(areas_some(3, [0.2]).assign(**errors)).plot().ax_
    bars = ax.collections[0].get_segments()
    np.testing.assert_allclose([np.ptp(bar[:, 1]) for bar in bars], [0.0784, 0.0, 0.784])
    assert all(np.ptp(bar[:, 0]) == 0 for bar in bars)
    assert ax.get_ylim()[0] < 0.9 - 0.392
    assert ax.get_ylim()[1] > 0.9 + 0.392
    assert "bar: ±1.96 standard errors of the distance" in "\n".join(texts(ax))


def test_of_few_algorithms_each_has_its_name():
    assert len(areas_named(EffectivenessDisplay(areas_some(12, [])).plot().ax_)) == 12


def test_rows_without_both_areas_are_counted_and_refused_where_there_is_nothing_else():
    frame = areas_some(3, [0.2])
    frame.loc["algorithm 1", "aupec"] = np.nan
    assert "not shown: 1 algorithm" in "\n".join(texts(EffectivenessDisplay(frame).plot().ax_))
    with pytest.raises(InputError, match="nothing to draw"):
        EffectivenessDisplay(frame.assign(auaec=np.nan))


def plane_some(count):
    """Models of which the first has the highest limits."""
    limit = np.linspace(1.0, -1.0, count)
    columns = {"first": limit, "first_se": 0.1, "second": limit / 2, "second_se": 0.2}
    return pd.DataFrame(columns, index=[f"model {k}" for k in range(count)])


def plane_named(ax):
    return [text for text in ax.texts if text.get_text().startswith("model")]


def plane_texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_each_model_is_a_point_with_a_bar_each_way():
    frame = plane_some(3)
    ax = CapabilityPlaneDisplay(frame).plot().ax_
    across, up, _, dots = ax.collections
    np.testing.assert_allclose(dots.get_offsets(), frame[["first", "second"]])
    assert np.ptp(across.get_segments()[0][:, 0]) == pytest.approx(2 * 1.96 * 0.1)
    assert np.ptp(up.get_segments()[0][:, 1]) == pytest.approx(2 * 1.96 * 0.2)
    assert ax.get_xlabel() == "limit (MLC) in class 'first'"
    assert ax.get_ylabel() == "limit (MLC) in class 'second'"


def test_a_few_models_have_the_colours_of_their_names():
    ax = CapabilityPlaneDisplay(plane_some(3)).plot().ax_
    assert [text.get_text() for text in plane_named(ax)] == ["model 2", "model 1", "model 0"]
    assert [text.get_color() for text in plane_named(ax)] == list(STYLE.palette[2::-1])


def test_of_many_models_the_best_are_named_and_no_name_covers_another():
    ax = CapabilityPlaneDisplay(plane_some(100) * 1e-3).plot().ax_
    assert {text.get_text() for text in plane_named(ax)} == {f"model {k}" for k in range(20)}
    heights = [text.get_position()[1] for text in plane_named(ax)]
    assert np.diff(sorted(heights)).min() > 0.03
    assert "grey: 80 models of lower limits" in plane_texts(ax)


def test_the_classes_are_named_at_the_axes():
    more = plane_some(3).assign(dead=0.5, dead_se=0.1)
    ax = CapabilityPlaneDisplay(more, classes=("dead", "first")).plot().ax_
    assert ax.get_xlabel() == "limit (MLC) in class 'dead'"


def test_far_and_missing_limits_are_counted():
    frame = plane_some(30)
    frame.iloc[4, 0] = 1e6
    frame.iloc[5, 2] = np.nan
    ax = CapabilityPlaneDisplay(frame).plot().ax_
    assert ax.get_xlim()[1] < 100
    assert "beyond the axes: 1 model" in plane_texts(ax)
    assert "not shown: 1 model without both limits" in plane_texts(ax)
    with pytest.raises(InputError, match="no row has two finite limits"):
        CapabilityPlaneDisplay(frame.assign(second=np.nan))
