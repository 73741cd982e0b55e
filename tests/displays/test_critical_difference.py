import warnings

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import CriticalDifferenceDisplay
from itemwise.errors import InputError

HOSTILE = ["$x_{", "\\frac{$", "a very long name " * 30, "模型 😀", "line\nbreak\x00", "_hidden"]


def some(ranks, critical=1.0):
    names = [f"model {k}" for k in range(len(ranks))]
    return pd.DataFrame({"mean_rank": ranks, "critical_difference": critical}, index=names)


def bars(ax):
    """The ends of the bars, best first."""
    return sorted(
        (segment[0, 0], segment[1, 0]) for c in ax.collections for segment in c.get_segments()
    )


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_bars_join_what_is_closer_than_the_critical_difference():
    ax = CriticalDifferenceDisplay(some([1.0, 1.8, 2.6, 4.0])).plot().ax_
    np.testing.assert_allclose(bars(ax), [(1.0, 1.8), (1.8, 2.6)], atol=0.05)


def test_a_difference_that_just_reaches_it_is_one():
    assert bars(CriticalDifferenceDisplay(some([1.0, 2.0])).plot().ax_) == []
    assert len(bars(CriticalDifferenceDisplay(some([1.0, 1.99])).plot().ax_)) == 1


def test_no_bar_lies_inside_another_and_bars_that_overlap_stand_apart():
    ranks = np.sort(np.random.default_rng(0).uniform(1, 12, 12))
    ax = CriticalDifferenceDisplay(some(ranks, 3.0)).plot().ax_
    found = bars(ax)
    assert len(found) > 2
    assert not any(a < c and d < b for a, b in found for c, d in found)
    placed = [(s[0, 1], s[0, 0], s[1, 0]) for c in ax.collections for s in c.get_segments()]
    for height, low, high in placed:
        for other, start, stop in placed:
            if (low, high) != (start, stop) and height == other:
                assert high < start or stop < low


def test_every_name_stands_with_its_rank_the_better_half_on_the_left():
    ax = CriticalDifferenceDisplay(some([3.0, 1.25, 2.5, 3.25])).plot().ax_
    assert {"model 1  1.25", "model 2  2.50", "3.00  model 0", "3.25  model 3"} <= set(texts(ax))
    assert "critical difference 1.00" in texts(ax)
    assert ax.get_xlabel() == "mean rank over items (1 is best)"


def test_beyond_sixty_only_the_ends_are_named():
    ax = CriticalDifferenceDisplay(some(np.linspace(1, 200, 200), 20.0)).plot().ax_
    named = [text for text in texts(ax) if "model" in text]
    assert len(named) <= 60
    assert any("model 0 " in text for text in named)
    assert any("model 199" in text for text in named)
    assert f"not named: {200 - len(named)} respondents in the middle" in "\n".join(texts(ax))


def test_an_axes_too_small_names_fewer():
    ax = Figure(figsize=(5, 2)).subplots()
    CriticalDifferenceDisplay(some(np.linspace(1, 40, 40))).plot(ax)
    assert 0 < len([text for text in texts(ax) if "model" in text]) < 40


def test_rows_without_numbers_are_said():
    frame = some([1.0, 2.0, np.nan])
    said = "\n".join(texts(CriticalDifferenceDisplay(frame).plot().ax_))
    assert "not shown: 1 row without a mean rank" in said


@pytest.mark.parametrize("count", [1, 6, 50])
def test_hostile_names_stay_inside_the_figure(count, tmp_path):
    frame = some(np.linspace(1, max(1, count), count), 2.0)
    frame.index = [f"{HOSTILE[k % 6]}{k}" for k in range(count)]
    display = CriticalDifferenceDisplay(frame).plot()
    display.save(tmp_path / "figure.svg")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        display.figure_.canvas.draw()
        inner = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    assert min(inner.x0, inner.y0) > -0.02
    assert inner.x1 < width + 0.02
    assert inner.y1 < height + 0.02


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="nothing to draw"):
        CriticalDifferenceDisplay(some([np.nan, np.inf]))
    with pytest.raises(InputError, match="'critical_difference' is missing"):
        CriticalDifferenceDisplay(some([1.0]).drop(columns="critical_difference"))
