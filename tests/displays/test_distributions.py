import numpy as np
import pandas as pd
import pytest

from itemwise.displays import DistributionsDisplay
from itemwise.errors import InputError

FRAME = pd.DataFrame(
    {
        "dataset": ["easy"] * 4 + ["hard"] * 5,
        "difficulty": [-2.0, -1.0, 0.0, 7.0, 1.0, 2.0, 3.0, -9.0, 60.0],
    }
)


def names(ax):
    return [tick.get_text() for tick in ax.get_yticklabels()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_the_hardest_is_on_top_by_its_mean_within_the_limit():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert names(ax) == ["hard", "easy"]
    dots = [dot.get_offsets()[0, 0] for dot in ax.collections if len(dot.get_offsets()) == 1]
    assert dots[-1] == pytest.approx(-1.0)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first row is at the top


def test_the_share_beyond_the_limit_is_written_beside_each():
    ax = DistributionsDisplay(FRAME).plot().ax_
    assert texts(ax)[:2] == ["40 %", "25 %"]
    assert "right: share of values beyond ±6, which are not drawn" in texts(ax)[-1]
    assert texts(DistributionsDisplay(FRAME, limit=100.0).plot().ax_)[:2] == ["0 %", "0 %"]


def test_the_bar_is_the_middle_half():
    ax = DistributionsDisplay(FRAME[:3]).plot().ax_
    (bar,) = [c for c in ax.collections if hasattr(c, "get_segments")]
    np.testing.assert_allclose(bar.get_segments()[0][:, 0], [-1.5, -0.5])


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
    said = texts(DistributionsDisplay(frame).plot().ax_)[-1]
    assert "1 data set without a value within ±6" in said
    assert "1 row without a number" in said
    with pytest.raises(InputError, match="nothing to draw"):
        DistributionsDisplay(FRAME.assign(difficulty=50.0))
    with pytest.raises(InputError, match="limit is 0"):
        DistributionsDisplay(FRAME, limit=0)
