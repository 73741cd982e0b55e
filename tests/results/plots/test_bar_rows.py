"""Bar rows: what is its own in each display."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.rankings import DecisionDisplay, ScoresDisplay


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


def decision_some(contributions, **changes):
    case = {"difficulty": 0.8, "limit": 0.43, "prediction": "alive", "decision": "person"}
    features = [f"feature {k}" for k in range(len(contributions))]
    columns = {"feature": features, "contribution": contributions}
    return pd.DataFrame(columns).assign(**{**case, **changes})


def draw(frame):
    """The panel of bars and the strip above it."""
    return DecisionDisplay(frame).plot().figure_.axes


def words(strip):
    return strip.get_title(loc="left").replace("\n", " ")


def decision_names(bars):
    return [tick.get_text() for tick in bars.get_yticklabels()]


def test_the_decision_is_said_in_words():
    _, strip = draw(decision_some([0.5, 0.3]))
    assert words(strip) == (
        "A person decides: difficulty 0.80 is beyond the limit 0.43 of 'alive'."
    )
    _, strip = draw(decision_some([0.5], difficulty=-0.8, decision="model", prediction=1))
    assert (
        words(strip) == "The model decides: difficulty −0.80 is within the limit 0.43 of class 1."
    )
    _, strip = draw(decision_some([0.5], reason="Too hard for $5."))
    assert words(strip) == r"Too hard for \$5."


def test_the_line_shows_the_case_and_the_limit_with_their_uncertainty():
    bars, strip = draw(decision_some([0.5], difficulty_se=0.2, limit_se=0.1))
    limit, case = strip.lines
    assert limit.get_xdata()[0] == 0.43
    assert case.get_xdata()[0] == 0.8
    reach = strip.collections[0].get_segments()[0][:, 0]
    np.testing.assert_allclose(reach, [0.8 - 1.96 * 0.2, 0.8 + 1.96 * 0.2])
    model, person, band = sorted(strip.patches, key=lambda zone: zone.get_zorder())
    assert model.get_x() + model.get_width() == pytest.approx(0.43)
    assert person.get_x() == pytest.approx(0.43)
    assert band.get_width() == pytest.approx(2 * 1.96 * 0.1)
    assert "±1.96 standard errors" in bars.texts[-1].get_text()


def test_features_go_from_harder_to_easier_in_two_colours():
    frame = decision_some([-0.2, 0.5, 0.1], value=[1.5, "absent", None])
    bars, _ = draw(frame)
    assert decision_names(bars) == ["feature 1 = absent", "feature 2", "feature 0 = 1.5"]
    assert [bar.get_width() for bar in bars.patches] == [0.5, 0.1, -0.2]
    first, _, last = (bar.get_facecolor() for bar in bars.patches)
    assert first != last


def test_of_many_features_the_strongest_are_drawn_and_the_others_summed():
    bars, _ = draw(decision_some([0.5] * 15 + [-0.4] * 5 + [0.01] * 10))
    assert len(bars.patches) == 21
    assert decision_names(bars)[-1] == "10 other features"
    assert bars.patches[-1].get_width() == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("limit", "zones", "note"),
    [
        (np.inf, ["model"], "no limit: the model decides all of this class"),
        (-np.inf, ["person"], "no limit: the model decides none of this class"),
        (np.nan, [], "no limit is known"),
    ],
)
def test_a_class_without_a_limit_has_one_zone_or_none(limit, zones, note):
    bars, strip = draw(decision_some([0.5], limit=limit))
    assert [text.get_text() for text in strip.texts] == zones
    assert note in bars.texts[-1].get_text()
    assert words(strip) == "A person decides: predicted 'alive', difficulty 0.80."


def test_bars_without_any_push_have_a_scale_and_missing_ones_are_counted():
    bars, _ = draw(decision_some([0.0, np.nan]))
    assert bars.get_xlim() == (-1.0, 1.0)
    assert "not shown: 1 feature without a contribution" in bars.texts[-1].get_text()


def test_an_axes_that_stands_freely_makes_room_for_the_strip():
    ax = Figure().add_axes((0.2, 0.2, 0.7, 0.7))
    bars, strip = DecisionDisplay(decision_some([0.5, -0.1])).plot(ax).figure_.axes
    assert strip.get_position().y0 > bars.get_position().y1
    assert strip.get_position().y1 == pytest.approx(0.9)


def test_more_than_one_case_and_unknown_decisions_are_refused():
    with pytest.raises(InputError, match=r"one case, but the column 'difficulty' holds more"):
        DecisionDisplay(decision_some([0.5, 0.1], difficulty=[0.8, 0.9]))
    with pytest.raises(InputError, match="'model' and 'person', but not 'machine'"):
        DecisionDisplay(decision_some([0.5], decision="machine"))
    with pytest.raises(InputError, match="'difficulty' is not a finite number"):
        DecisionDisplay(decision_some([0.5], difficulty=np.nan))
    with pytest.raises(InputError, match="'contribution' holds no finite number"):
        DecisionDisplay(decision_some([np.nan]))
