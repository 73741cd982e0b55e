import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from itemwise.displays import LeaderboardDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(accuracies, leading=1):
    value = np.asarray(accuracies, dtype=float)
    rank = np.arange(1, len(value) + 1)
    columns = {
        "rank": rank,
        "rank_low": np.maximum(rank - 1, 1),
        "rank_high": rank,
        "accuracy": value,
        "accuracy_low": value - 0.1,
        "accuracy_high": value + 0.1,
    }
    frame = pd.DataFrame(columns, index=[f"model {k}" for k in rank])
    return frame.assign(leading=rank <= leading)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_the_best_is_on_top_and_ranks_stand_beside():
    ax = LeaderboardDisplay(some([0.9, 0.7, 0.4])[::-1]).plot().ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == ["model 1", "model 2", "model 3"]
    assert ax.yaxis_inverted()
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [0.8, 1.0])
    assert texts(ax)[:4] == ["rank", "1", "2  (1 to 2)", "3  (2 to 3)"]


def test_who_leads_has_its_colour():
    ax = LeaderboardDisplay(some([0.9, 0.8, 0.4], leading=2)).plot().ax_
    colours = [to_hex(c).upper() for c in ax.collections[1].get_facecolor()]
    assert colours == [STYLE.positive, STYLE.positive, STYLE.neutral]
    assert "the first and 1 other that cannot be distinguished" in texts(ax)[-1]
    alone = LeaderboardDisplay(some([0.9, 0.8])).plot().ax_
    assert "differs significantly from all others" in texts(alone)[-1]


def test_what_is_not_drawn_or_not_known_is_said():
    many = LeaderboardDisplay(some(np.linspace(1, 0, 80))).plot().ax_
    assert len(many.get_yticklabels()) == 60
    assert "not shown: 20 rows" in texts(many)[-1]
    small = LeaderboardDisplay(some(np.linspace(1, 0, 80))).plot(Figure(figsize=(4, 2)).subplots())
    assert 0 < len(small.ax_.get_yticklabels()) < 20
    unsure = LeaderboardDisplay(some([0.9, 0.8]).assign(accuracy_low=np.nan)).plot().ax_
    assert "hollow: no interval (2 rows)" in texts(unsure)[-1]
    lacking = LeaderboardDisplay(some([0.9, np.nan])).plot().ax_
    assert "1 row without accuracy and rank" in texts(lacking)[-1]


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        LeaderboardDisplay(some([np.nan]))
