import numpy as np
import pandas as pd
import pytest

from itemwise.displays import DifferencesDisplay
from itemwise.errors import InputError


def some(differences=(0.1, 0.3, 0.2), told=(False, True, True)):
    columns = {"respondent": ["a", "a", "b"], "other": ["b", "c", "c"]}
    return pd.DataFrame({**columns, "difference": differences, "told_apart": told})


def cells(ax):
    return np.ma.filled(ax.images[0].get_array(), np.nan)


def said(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_rows_ahead_of_columns_have_a_colour_where_told_apart():
    ax = DifferencesDisplay(some()).plot().ax_
    wanted = [[np.nan, 0.0, 0.3], [0.0, np.nan, 0.2], [-0.3, -0.2, np.nan]]
    np.testing.assert_allclose(cells(ax), wanted)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b", "c"]


def test_who_cannot_be_told_apart_has_a_dash():
    ax = DifferencesDisplay(some()).plot().ax_
    assert sorted(map(tuple, ax.collections[0].get_offsets().tolist())) == [(0, 1), (1, 0)]
    assert "dash: no significant difference (1 pair)" in said(ax)


def test_pairs_that_were_not_compared_are_grey():
    ax = DifferencesDisplay(some((0.1, np.nan, 0.2))).plot().ax_
    assert np.isnan(cells(ax)[0, 2])
    assert "grey: not compared (1 pair)" in said(ax)


def test_nothing_to_draw_is_refused():
    with pytest.raises(InputError, match="'difference' holds no finite number"):
        DifferencesDisplay(some([np.nan] * 3))
