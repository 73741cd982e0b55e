import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import DatasetsDisplay
from itemwise.errors import InputError


def some(count):
    columns = {
        "difficulty_mean": np.linspace(-2.0, 1.0, count),
        "difficulty_mean_se": 0.1,
        "discrimination_mean": np.linspace(3.0, -1.0, count),
        "discrimination_mean_se": 0.2,
    }
    return pd.DataFrame(columns, index=[f"set {k}" for k in range(count)])


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def bars(panel, which=1):
    return np.array([bar[:, 0] for bar in panel.collections[which].get_segments()])


def test_the_hardest_is_on_top_and_both_parameters_share_the_rows():
    ax = DatasetsDisplay(some(5).sample(frac=1, random_state=0)).plot().ax_
    assert names(ax) == [f"set {k}" for k in (4, 3, 2, 1, 0)]
    assert [panel.get_title() for panel in ax.child_axes] == ["difficulty", "discrimination"]
    assert {panel.get_ylim() for panel in ax.child_axes} == {ax.get_ylim()}


def test_thick_bars_reach_196_standard_errors_and_thin_ones_the_deviation():
    frame = some(3).assign(difficulty_deviation=0.7)
    panel, _ = DatasetsDisplay(frame).plot().ax_.child_axes
    mean = np.array([[1.0], [-0.5], [-2.0]])
    np.testing.assert_allclose(bars(panel, 0), np.hstack([mean - 0.7, mean + 0.7]))
    np.testing.assert_allclose(bars(panel), np.hstack([mean - 0.196, mean + 0.196]))


def test_few_rows_are_shown_with_their_whole_bars():
    for panel in DatasetsDisplay(some(3)).plot().ax_.child_axes:
        low, high = panel.get_xlim()
        assert low < bars(panel).min()
        assert bars(panel).max() < high


def test_negative_discrimination_has_its_own_colour_and_is_counted():
    ax = DatasetsDisplay(some(5)).plot(negative="#ff0000").ax_
    for panel in ax.child_axes:
        colours = panel.collections[2].get_facecolor()
        assert (colours[:, 0] == 1).tolist() == [True, False, False, False, False]
    assert "negative mean discrimination (1 data set)" in texts(ax)


def test_a_mean_far_out_is_an_arrow_and_does_not_squash_the_rest():
    frame = some(20)
    frame.iloc[3, 0] = -1e6
    ax = DatasetsDisplay(frame).plot().ax_
    low, high = ax.child_axes[0].get_xlim()
    assert high - low < 30
    assert "arrow: beyond the axis (1 mean)" in texts(ax)


def test_eighty_rows_are_drawn_and_easier_ones_counted():
    assert len(names(DatasetsDisplay(some(72)).plot().ax_)) == 72
    ax = DatasetsDisplay(some(100)).plot().ax_
    assert len(names(ax)) == 80
    assert "not shown: 20 easier data sets" in texts(ax)
    small = DatasetsDisplay(some(72)).plot(Figure(figsize=(5, 3)).subplots()).ax_
    assert len(names(small)) < 40


def test_a_frame_without_a_difficulty_is_refused_and_a_row_without_one_counted():
    with pytest.raises(InputError, match="'difficulty_mean' holds no number"):
        DatasetsDisplay(some(2).assign(difficulty_mean=np.nan))
    frame = some(3)
    frame.iloc[0, 0] = np.nan
    assert "1 row without a mean difficulty" in texts(DatasetsDisplay(frame).plot().ax_)
