import numpy as np
import pandas as pd
import pytest

from itemwise.displays import InformationDisplay
from itemwise.errors import InputError


def whole_test():
    ability = np.linspace(-4, 4, 33)
    information = 5 * np.exp(-(ability**2) / 3)
    return pd.DataFrame({"ability": ability, "information": information, "se": information**-0.5})


def items(count, height):
    ability = np.tile(np.linspace(-4, 4, 33), count)
    return pd.DataFrame(
        {
            "item": np.repeat([f"item {i}" for i in range(count)], 33),
            "ability": ability,
            "information": height * np.exp(-(ability**2)),
        }
    )


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_information_and_standard_error_have_an_axis_each():
    display = InformationDisplay(whole_test()).plot()
    assert display.ax_.get_ylabel() == "information (solid)"
    assert display.se_ax_.get_ylabel() == "standard error (dashed)"
    assert display.ax_.lines[0].get_ydata().max() == pytest.approx(5)
    assert display.se_ax_.lines[0].get_ydata().min() == pytest.approx(5**-0.5)


def test_the_exploding_tail_of_the_standard_error_does_not_flatten_its_middle():
    top = InformationDisplay(whole_test()).plot().se_ax_.get_ylim()[1]
    assert top < 6 * 5**-0.5


def test_items_are_thin_lines_below_the_test():
    ax = InformationDisplay(pd.concat([whole_test(), items(12, 0.5)])).plot().ax_
    assert len(ax.collections[0].get_segments()) == 12
    assert "each item's own information (12 items)" in texts(ax)


def test_items_too_low_to_be_seen_are_not_drawn_but_said():
    ax = InformationDisplay(pd.concat([whole_test(), items(900, 0.01)])).plot().ax_
    assert not ax.collections
    assert "not drawn: information of 900 items, at most 0.01 each" in texts(ax)


def test_no_information_means_no_standard_error_and_still_a_figure():
    frame = pd.DataFrame({"ability": [0.0, 1.0], "information": 0.0, "se": np.inf})
    display = InformationDisplay(frame).plot()
    assert np.isfinite(display.se_ax_.get_ylim()).all()


def test_items_without_their_test_are_refused():
    with pytest.raises(InputError, match="leave it missing"):
        InformationDisplay(items(3, 1.0).assign(se=np.nan))
