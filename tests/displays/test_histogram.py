import numpy as np
import pandas as pd
import pytest

from itemwise.displays import HistogramDisplay
from itemwise.errors import InputError


def some(count, seed=0):
    return pd.DataFrame({"difficulty": np.random.default_rng(seed).normal(size=count)})


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def counts(ax):
    """Of each group: the outlines are every second of the steps."""
    return [step.get_data()[0] for step in ax.patches[1::2]]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_value_is_counted_once():
    (found,) = counts(HistogramDisplay(some(300)).plot().ax_)
    assert found.sum() == 300


def test_far_values_are_counted_below_the_axis_instead_of_stretching_it():
    frame = pd.concat([some(200), pd.DataFrame({"difficulty": [1e6, 2e6, -500.0]})])
    ax = HistogramDisplay(frame).plot().ax_
    assert np.ptp(ax.get_xlim()) < 20
    assert counts(ax)[0].sum() == 200
    assert "1 value below" in texts(ax)
    assert "2 values above" in texts(ax)


def test_groups_share_their_bins_and_the_largest_comes_first():
    frame = some(100).assign(label=["few"] * 20 + ["many"] * 80)
    ax = HistogramDisplay(frame, group="label").plot().ax_
    assert [found.sum() for found in counts(ax)] == [80, 20]
    assert legend(ax) == ["many\n(80)", "few\n(20)"]
    first, second = (step.get_data()[1] for step in ax.patches[1::2])
    np.testing.assert_array_equal(first, second)


def test_beyond_five_groups_the_rest_is_one():
    frame = some(90).assign(label=np.arange(90) % 9)
    ax = HistogramDisplay(frame, group="label").plot().ax_
    assert len(counts(ax)) == 6
    assert legend(ax)[-1] == "4 others\n(40)"


def test_equal_values_have_a_scale_around_them():
    ax = HistogramDisplay(some(5).assign(difficulty=2.0)).plot().ax_
    assert counts(ax)[0].sum() == 5
    low, high = ax.get_xlim()
    assert low < 2.0 < high


def test_other_columns_can_be_counted_and_missing_numbers_are_said():
    frame = some(5).rename(columns={"difficulty": "guessing"})
    frame.iloc[0, 0] = np.nan
    ax = HistogramDisplay(frame, value="guessing").plot().ax_
    assert ax.get_xlabel() == "guessing"
    assert "not shown: 1 row without a finite number" in texts(ax)


def test_a_column_without_a_finite_number_is_refused():
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        HistogramDisplay(some(3).assign(difficulty=np.inf))
    with pytest.raises(InputError, match="'class' is missing"):
        HistogramDisplay(some(3), group="class")


def test_more_than_two_groups_are_outlines_over_a_faint_fill():
    frame = some(100).assign(label=np.arange(100) % 5)
    five = HistogramDisplay(frame, group="label").plot().ax_.patches[0].get_alpha()
    two = HistogramDisplay(frame.assign(label=frame["label"] % 2), group="label")
    assert five < two.plot().ax_.patches[0].get_alpha()
