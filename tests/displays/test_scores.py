import numpy as np
import pandas as pd
import pytest

from itemwise.displays import ScoresDisplay
from itemwise.errors import InputError


def some(count):
    columns = {"true_score": np.arange(1.0, count + 1), "true_score_se": 0.5}
    return pd.DataFrame(columns, index=[f"model {k}" for k in range(count)])


def paired(count):
    frame = some(count)
    return frame.assign(true_score_positive=frame["true_score"] / 2, true_score_positive_se=0.25)


def names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def texts(ax):
    return "\n".join(text.get_text() for text in ax.texts)


def test_the_best_is_on_top_with_a_bar_as_long_as_its_score():
    ax = ScoresDisplay(some(4).sample(frac=1, random_state=0)).plot().ax_
    assert names(ax) == [f"model {k}" for k in (3, 2, 1, 0)]
    assert ax.yaxis_inverted()
    assert [bar.get_width() for bar in ax.patches] == [4, 3, 2, 1]
    lines = [bar[:, 0] for bar in ax.collections[0].get_segments()]
    np.testing.assert_allclose(lines, [[v - 0.98, v + 0.98] for v in (4, 3, 2, 1)])


def test_scores_over_items_of_positive_discrimination_stand_beside():
    ax = ScoresDisplay(paired(3)).plot().ax_
    assert [bar.get_width() for bar in ax.patches] == [3, 2, 1, 1.5, 1, 0.5]
    first, second = ax.patches[0], ax.patches[3]
    assert first.get_y() + first.get_height() == pytest.approx(second.get_y())
    said = [text.get_text() for text in ax.get_legend().get_texts()]
    assert said == ["all items", "items of positive\ndiscrimination"]


def test_forty_rows_are_drawn_and_lower_scores_counted():
    ax = ScoresDisplay(some(100)).plot().ax_
    assert names(ax)[0] == "model 99"
    assert len(names(ax)) == 40
    assert "not shown: 60 rows of lower score" in texts(ax)


def test_missing_scores_and_errors_are_said():
    frame = paired(4)
    frame.iloc[0, 0] = np.nan
    frame.iloc[1, 3] = np.inf
    ax = ScoresDisplay(frame).plot().ax_
    assert "no line: no finite standard error (1 row)" in texts(ax)
    assert "not shown: 1 row without a score" in texts(ax)


def test_a_frame_without_scores_or_their_errors_is_refused():
    with pytest.raises(InputError, match="'true_score' holds no finite number"):
        ScoresDisplay(some(2).assign(true_score=np.nan))
    with pytest.raises(InputError, match="'true_score_positive_se' is missing"):
        ScoresDisplay(paired(2).drop(columns="true_score_positive_se"))
