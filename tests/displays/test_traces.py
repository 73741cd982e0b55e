import numpy as np
import pandas as pd
import pytest

from itemwise.displays import TracesDisplay
from itemwise.errors import InputError


@pytest.fixture
def some(frames):
    return lambda count: frames["traces"]([f"algorithm {k}" for k in range(count)])


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_each_panel_has_one_line_a_level_in_the_same_colours(some):
    ax = TracesDisplay(some(2)).plot().ax_
    colours = [tuple(line.get_color()) for line in ax.lines]
    assert len(colours) == 12
    assert colours[:6] == colours[6:]
    assert len(set(colours)) == 6


def test_numbers_are_ordered_and_names_keep_the_order_of_their_categories(some):
    frame = some(1).sample(frac=1, random_state=0)
    assert legend(TracesDisplay(frame).plot().ax_) == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    named = frame.assign(grade=pd.cut(frame["grade"], 3, labels=["poor", "fair", "good"]))
    named = named.drop_duplicates(["grade", "ability"])
    assert legend(TracesDisplay(named).plot().ax_) == ["poor", "fair", "good"]


def test_of_many_levels_the_first_and_the_last_are_named(some):
    frame = pd.concat([some(1).assign(grade=float(k)) for k in range(20)])
    assert legend(TracesDisplay(frame).plot().ax_) == ["0", "19"]


def test_lines_stay_in_their_panel_where_one_has_no_limit(some):
    frame = some(4)
    frame.loc[3, "density"] = 1e6
    ax = TracesDisplay(frame).plot().ax_
    heights = [line.get_ydata() for line in ax.lines]
    upper, lower = np.concatenate(heights[:12]), np.concatenate(heights[12:])
    assert upper.min() > lower.max()
    assert "cut at the top: 1 line with a far higher peak" in "\n".join(texts(ax))


def test_what_is_not_shown_is_counted_and_nothing_at_all_is_refused(some):
    frame = some(14)
    frame.loc[0, "density"] = np.nan
    written = "\n".join(texts(TracesDisplay(frame).plot().ax_))
    assert "not shown: 2 more algorithms" in written
    assert "not shown: 1 row without a grade or number" in written
    with pytest.raises(InputError, match="nothing to draw"):
        TracesDisplay(frame.assign(density=np.nan))


def test_the_height_may_be_something_else(some):
    assert TracesDisplay(some(1), height="probability").plot().ax_.get_ylabel() == "probability"
