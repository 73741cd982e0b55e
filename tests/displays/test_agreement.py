import numpy as np
import pytest

from itemwise.displays import AgreementDisplay
from itemwise.errors import InputError


@pytest.fixture
def frame(frames):
    return frames["agreement"](list("abcdefgh"))


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_the_three_curves_are_drawn_and_named(frame):
    ax = AgreementDisplay(frame).plot().ax_
    thick = [line for line in ax.lines if line.get_linewidth() > 1]
    for line, name in zip(thick, ("random", "ceiling", "held_out"), strict=True):
        np.testing.assert_allclose(line.get_ydata(), frame[name])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "all",
        "chosen",
        "chosen at random",
    ]


def test_the_band_reaches_over_the_range_of_the_chosen(frame):
    ax = AgreementDisplay(frame).plot().ax_
    heights = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert heights.min() == pytest.approx(frame["held_out_low"].min())
    assert heights.max() == pytest.approx(frame["held_out_high"].max())


def test_a_few_sizes_get_bars_side_by_side(frame):
    ax = AgreementDisplay(frame[:1]).plot().ax_
    bars = [c.get_segments()[0] for c in ax.collections if hasattr(c, "get_segments")]
    assert len({bar[0, 0] for bar in bars}) == 3
    assert bars[2][:, 1].tolist() == pytest.approx(
        [frame["held_out_low"][0], frame["held_out_high"][0]]
    )


def test_the_smallest_size_from_which_on_all_are_enough_is_said(frame):
    enough = np.array([True, False, True, True, True, True, True, True])
    assert "enough: 4 data sets or more" in texts(
        AgreementDisplay(frame.assign(enough=enough)).plot().ax_
    )
    assert "none of these sizes" in texts(AgreementDisplay(frame.assign(enough=False)).plot().ax_)
    assert "enough" not in texts(AgreementDisplay(frame).plot().ax_)


def test_rows_without_numbers_are_counted_and_refused_where_there_is_nothing_else(frame):
    gap = frame.assign(held_out=frame["held_out"].where(frame["size"] > 2))
    assert "not shown: 1 row" in texts(AgreementDisplay(gap).plot().ax_)
    with pytest.raises(InputError, match="nothing to draw"):
        AgreementDisplay(frame.assign(held_out=np.nan))
