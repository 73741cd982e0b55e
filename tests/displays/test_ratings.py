import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from itemwise.displays import RatingsDisplay
from itemwise.displays.style import STYLE
from itemwise.errors import InputError


def some(ratings, reach=50.0):
    ratings = np.asarray(ratings, dtype=float)
    names = [f"model {k}" for k in range(len(ratings))]
    columns = {"rating": ratings, "low": ratings - reach, "high": ratings + reach}
    return pd.DataFrame(columns, index=names)


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_the_best_is_on_top_with_its_range():
    ax = RatingsDisplay(some([1400, 1700, 1500])).plot().ax_
    assert names(ax) == ["model 1", "model 2", "model 0"]
    assert ax.yaxis_inverted()
    segment = ax.collections[0].get_segments()[0]
    np.testing.assert_allclose(segment[:, 0], [1650, 1750])


def test_who_overlaps_the_leader_has_its_colour():
    ax = RatingsDisplay(some([1700, 1610, 1590])).plot().ax_
    colours = [to_hex(c).upper() for c in ax.collections[-1].get_facecolor()]
    assert colours == [STYLE.positive, STYLE.positive, STYLE.neutral]
    assert "the leader and 1 other whose range overlaps" in texts(ax)
    assert "no range overlaps" in texts(RatingsDisplay(some([1700, 1500])).plot().ax_)


def test_what_is_not_drawn_is_said():
    ax = RatingsDisplay(some(np.arange(100.0))).plot().ax_
    assert len(names(ax)) == 60
    assert "not shown: 40 rows of lower rating" in texts(ax)
    small = Figure(figsize=(4, 2)).subplots()
    assert 0 < len(names(RatingsDisplay(some(np.arange(100.0))).plot(small).ax_)) < 20
    lacking = some([1.0, np.inf, np.nan])
    said = texts(RatingsDisplay(lacking).plot().ax_)
    assert "not shown: 2 rows without a finite rating and range" in said


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        RatingsDisplay(some([np.nan]))
    with pytest.raises(InputError, match="'low' is missing"):
        RatingsDisplay(some([1.0]).drop(columns="low"))
