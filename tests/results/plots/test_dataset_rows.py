"""Dataset rows: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.distributions import DatasetsDisplay, DistributionsDisplay


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
    frame = some(3).assign(difficulty_sd=0.7)
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


FRAME = pd.DataFrame(
    {
        "dataset": ["easy"] * 4 + ["hard"] * 5,
        "difficulty": [-2.0, -1.0, 0.0, 7.0, 1.0, 2.0, 3.0, -9.0, 60.0],
    }
)


def sets_names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def sets_texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_given_order_counts_more_than_means_on_scales_of_their_own():
    ax = DistributionsDisplay(FRAME, order=["easy", "hard"]).plot().ax_
    assert sets_names(ax) == ["easy", "hard"]
    assert "each data set has its own scale: compare shapes, not places" in "".join(sets_texts(ax))


def test_the_hardest_is_on_top_and_dots_are_medians_of_all_values():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert sets_names(ax) == ["hard", "easy"]
    dots = [dot.get_offsets()[0, 0] for dot in ax.collections if len(dot.get_offsets()) == 1]
    assert dots[-1] == pytest.approx(FRAME.loc[FRAME["dataset"] == "easy", "difficulty"].median())
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is at the top


def test_the_share_beyond_the_limit_is_written_beside_each():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert sets_texts(ax)[:2] == ["40 %", "25 %"]
    assert "right: share of values beyond ±6, of which only bar and dot tell" in sets_texts(ax)[-1]
    assert sets_texts(DistributionsDisplay(FRAME, limit=100.0).plot().ax_)[:2] == ["0 %", "0 %"]


def test_the_bar_is_the_middle_half():
    ax = DistributionsDisplay(FRAME[:3]).plot().ax_
    (bar,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    np.testing.assert_allclose(bar.get_segments()[0][:, 0], [-1.5, -0.5])


def test_the_dot_lies_in_its_own_bar_however_far_a_few_values_are():
    """A mean of -3 was drawn beside a bar from -2.5 to -2.1."""
    values = np.r_[np.linspace(-2.5, -2.1, 40), -150.0, -np.inf]
    ax = DistributionsDisplay(pd.DataFrame({"dataset": "one", "difficulty": values})).plot().ax_
    (bar,) = [shape for shape in ax.collections if hasattr(shape, "get_segments")]
    low, high = bar.get_segments()[0][:, 0]
    (dot,) = [shape for shape in ax.collections if isinstance(shape, PathCollection)]
    assert low <= dot.get_offsets()[0, 0] <= high


def test_the_shape_is_widest_where_values_are_dense():
    values = np.concatenate([np.random.default_rng(0).normal(1.0, 0.5, 500), [-5.0, 5.0]])
    ax = DistributionsDisplay(pd.DataFrame({"dataset": "one", "difficulty": values})).plot().ax_
    outline = ax.collections[0].get_paths()[0].vertices
    widest = outline[np.argmax(np.abs(outline[:, 1] - 1)), 0]
    assert widest == pytest.approx(1.0, abs=0.3)


def test_other_columns_may_be_named():
    frame = FRAME.rename(columns={"dataset": "task", "difficulty": "discrimination"})
    ax = DistributionsDisplay(frame, value="discrimination", group="task").plot().ax_
    assert ax.get_xlabel().startswith("discrimination")


def test_what_cannot_be_drawn_is_said():
    frame = pd.concat(
        [FRAME, pd.DataFrame({"dataset": ["far", "none"], "difficulty": [9.0, np.nan]})]
    )
    said = sets_texts(DistributionsDisplay(frame).plot().ax_)[-1]
    assert "1 data set without a value within ±6" in said
    assert "1 row without a number" in said
    with pytest.raises(InputError, match="nothing to draw"):
        DistributionsDisplay(FRAME.assign(difficulty=50.0))
    with pytest.raises(InputError, match="limit is 0"):
        DistributionsDisplay(FRAME, limit=0)


def test_the_hardest_is_where_the_chance_is_lowest():
    """As the sentence beside the figure says, whatever the mean difficulty is."""
    frame = some(3).assign(chance=[0.9, 0.6, 0.8], chance_se=0.02)
    said = "each data set has its own scale: compare chances, not difficulties"
    assert said in texts(DatasetsDisplay(frame).plot().ax_)
    assert said not in texts(DatasetsDisplay(some(3)).plot().ax_)
    ax = DatasetsDisplay(frame).plot().ax_
    assert names(ax) == [str(frame.index[k]) for k in (1, 2, 0)]
    assert [panel.get_title() for panel in ax.child_axes] == [
        "chance to be right",
        "difficulty",
        "discrimination",
    ]
