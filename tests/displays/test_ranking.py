import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import RankingDisplay
from itemwise.errors import InputError


def texts(ax):
    """Everything written beside the data: annotations of the axes."""
    return "\n".join(text.get_text() for text in ax.texts)


def tick_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def some(count):
    names = [f"model {i}" for i in range(count)]
    return pd.DataFrame({"ability": np.arange(count, dtype=float), "se": 0.5}, index=names)


def test_the_best_is_on_top():
    ax = RankingDisplay(some(5).sample(frac=1, random_state=0)).plot().ax_
    assert tick_names(ax) == [f"model {i}" for i in (4, 3, 2, 1, 0)]
    assert ax.yaxis_inverted()


def test_bars_reach_196_standard_errors_each_way():
    bars = RankingDisplay(some(3)).plot().ax_.collections[0].get_segments()
    assert np.allclose([bar[:, 0] for bar in bars], [[v - 0.98, v + 0.98] for v in (2, 1, 0)])


def test_sixty_rows_are_named_and_more_are_ranked():
    assert len(tick_names(RankingDisplay(some(60)).plot().ax_)) == 60
    ax = RankingDisplay(some(500)).plot().ax_
    assert ax.get_ylabel() == "rank"
    assert len(ax.get_yticks()) < 12
    assert "1  model 499" in texts(ax)
    assert "500  model 0" in texts(ax)
    assert "model 250" not in texts(ax)


def test_an_axes_too_small_for_the_names_shows_ranks():
    ax = Figure(figsize=(4, 2)).subplots()
    RankingDisplay(some(40)).plot(ax)
    assert ax.get_ylabel() == "rank"


def test_rows_without_a_standard_error_are_hollow_and_said():
    frame = some(4)
    frame["se"] = [np.nan, np.inf, 0.5, 0.5]
    ax = RankingDisplay(frame).plot().ax_
    assert len(ax.collections[0].get_segments()) == 2
    assert "hollow: no finite standard error (2 rows)" in texts(ax)


def test_infinite_abilities_stand_at_the_edge_and_are_said():
    frame = some(4)
    frame["ability"] = [np.inf, -np.inf, 0.0, np.nan]
    ax = RankingDisplay(frame).plot().ax_
    assert np.isfinite(ax.get_xlim()).all()
    assert "arrow: infinite ability (2 rows)" in texts(ax)
    assert "not shown: 1 row without ability" in texts(ax)


def test_one_enormous_bar_does_not_squash_the_rest():
    frame = some(10)
    frame.iloc[0, 1] = 1e6
    low, high = RankingDisplay(frame).plot().ax_.get_xlim()
    assert high - low < 100


def test_equal_abilities_known_for_certain_have_a_scale_around_them():
    frame = some(3).assign(ability=1.0, se=0.0)
    low, high = RankingDisplay(frame).plot().ax_.get_xlim()
    assert low < 1.0 < high


def test_other_columns_can_be_ranked():
    frame = some(3).rename(columns={"ability": "rating", "se": "deviation"})
    ax = RankingDisplay(frame, estimate="rating", se="deviation").plot().ax_
    assert ax.get_xlabel() == "rating (bar: ±1.96 deviation)"


def test_nullable_columns_are_numbers():
    frame = some(3).convert_dtypes()
    frame.iloc[0, 1] = pd.NA
    assert RankingDisplay(frame).plot().ax_.has_data()


def test_nothing_but_missing_abilities_is_refused():
    with pytest.raises(InputError, match="'ability' holds no number"):
        RankingDisplay(some(2).assign(ability=np.nan))
