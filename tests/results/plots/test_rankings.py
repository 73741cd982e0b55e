"""Figures of rows: what is its own in each."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ogive.results.plots.decision import DecisionDisplay
from ogive.results.plots.rankings import (
    LeaderboardDisplay,
    ModelComparisonDisplay,
    ModelFitDisplay,
    RankingDisplay,
    RatingsDisplay,
    ScoresDisplay,
    SuspectsDisplay,
)
from ogive.results.plots.theme import STYLE


def texts(ax):
    """Everything written beside the data: annotations of the axes."""
    return "\n".join(text.get_text() for text in ax.texts)


def tick_names(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def some(count):
    names = [f"model {i}" for i in range(count)]
    return pd.DataFrame({"ability": np.arange(count, dtype=float), "se": 0.5}, index=names)


def test_the_best_is_on_top():
    ax = RankingDisplay(some(5).sample(frac=1, random_state=0)).plot().ax_
    assert tick_names(ax) == [f"model {i}" for i in (4, 3, 2, 1, 0)]
    assert ax.yaxis_inverted()


def test_bars_reach_196_standard_errors_each_way():
    bars = RankingDisplay(some(3)).plot().ax_.collections[0].get_segments()
    assert np.allclose([bar[:, 0] for bar in bars], [[v - 0.98, v + 0.98] for v in (2, 1, 0)])


def test_sixty_rows_are_named_and_more_are_ranked():
    assert len(tick_names(RankingDisplay(some(60)).plot().ax_)) == 60
    ax = RankingDisplay(some(500)).plot().ax_
    assert ax.get_ylabel() == "rank"
    assert len(ax.get_yticks()) < 12
    assert "1  model 499" in texts(ax)
    assert "500  model 0" in texts(ax)
    assert "model 250" not in texts(ax)


def test_an_axes_too_small_for_the_names_shows_ranks():
    ax = Figure(figsize=(4, 2)).subplots()
    RankingDisplay(some(40)).plot(ax)
    assert ax.get_ylabel() == "rank"


def test_rows_without_a_standard_error_are_hollow_and_said():
    frame = some(4)
    frame["se"] = [np.nan, np.inf, 0.5, 0.5]
    ax = RankingDisplay(frame).plot().ax_
    assert len(ax.collections[0].get_segments()) == 2
    assert "hollow: no finite standard error (2 rows)" in texts(ax)


def test_infinite_abilities_stand_at_the_edge_and_are_said():
    frame = some(4)
    frame["ability"] = [np.inf, -np.inf, 0.0, np.nan]
    ax = RankingDisplay(frame).plot().ax_
    assert np.isfinite(ax.get_xlim()).all()
    assert "arrow: infinite ability (2 rows)" in texts(ax)
    assert "not shown: 1 row without ability" in texts(ax)


def test_one_enormous_bar_does_not_squash_the_rest():
    frame = some(10)
    frame.iloc[0, 1] = 1e6
    low, high = RankingDisplay(frame).plot().ax_.get_xlim()
    assert high - low < 100


def test_equal_abilities_known_for_certain_have_a_scale_around_them():
    frame = some(3).assign(ability=1.0, se=0.0)
    low, high = RankingDisplay(frame).plot().ax_.get_xlim()
    assert low < 1.0 < high


def test_other_columns_can_be_ranked():
    frame = some(3).rename(columns={"ability": "rating", "se": "deviation"})
    ax = RankingDisplay(frame, estimate="rating", se="deviation").plot().ax_
    assert ax.get_xlabel() == "rating (bar: ±1.96 deviation)"


def test_nullable_columns_are_numbers():
    frame = some(3).convert_dtypes()
    frame.iloc[0, 1] = pd.NA
    assert RankingDisplay(frame).plot().ax_.has_data()


def ratings_some(ratings, reach=50.0):
    ratings = np.asarray(ratings, dtype=float)
    names = [f"model {k}" for k in range(len(ratings))]
    columns = {"rating": ratings, "low": ratings - reach, "high": ratings + reach}
    return pd.DataFrame(columns, index=names)


def test_the_best_is_on_top_with_its_range():
    ax = RatingsDisplay(ratings_some([1400, 1700, 1500])).plot().ax_
    assert tick_names(ax) == ["model 1", "model 2", "model 0"]
    assert ax.yaxis_inverted()
    segment = ax.collections[0].get_segments()[0]
    np.testing.assert_allclose(segment[:, 0], [1650, 1750])


def test_who_overlaps_the_leader_has_its_colour():
    ax = RatingsDisplay(ratings_some([1700, 1610, 1590])).plot().ax_
    colours = [to_hex(c).upper() for c in ax.collections[-1].get_facecolor()]
    assert colours == [STYLE.positive, STYLE.positive, STYLE.neutral]
    assert "the leader and 1 other whose range overlaps" in texts(ax)
    assert "no range overlaps" in texts(RatingsDisplay(ratings_some([1700, 1500])).plot().ax_)


def test_who_is_known_to_be_level_has_the_colour_of_the_leader_whatever_the_ranges():
    frame = ratings_some([1700, 1610, 1590]).assign(level=[False, False, True])
    ax = RatingsDisplay(frame).plot().ax_
    colours = [to_hex(c).upper() for c in ax.collections[-1].get_facecolor()]
    assert colours == [STYLE.positive, STYLE.neutral, STYLE.positive]
    assert "the leader and 1 other that is not significantly behind in games of the two" in texts(
        ax
    )
    alone = RatingsDisplay(frame.assign(level=False)).plot().ax_
    assert "all others are significantly behind" in texts(alone)


def test_a_mark_on_the_scale_is_hollow_and_never_the_leader():
    frame = ratings_some([1900, 1700, 1690, 900]).assign(
        level=[False, False, True, False], artificial=[True, False, False, True]
    )
    ax = RatingsDisplay(frame).plot().ax_
    rivals, marks = ax.collections[-2:]
    assert rivals.get_offsets()[:, 0].tolist() == [1700, 1690]
    assert [to_hex(c).upper() for c in rivals.get_facecolor()] == [STYLE.positive] * 2
    assert marks.get_offsets()[:, 0].tolist() == [1900, 900]
    assert {to_hex(c).upper() for c in marks.get_facecolor()} == {STYLE.paper}
    assert "the leader and 1 other that is not significantly behind in games of the two" in texts(
        ax
    )
    said = "hollow: 2 artificial respondents, marks on the scale, in the last rows whatever their"
    assert said in texts(ax)  # the first has the highest rating of all


def test_what_is_not_drawn_is_said():
    ax = RatingsDisplay(ratings_some(np.arange(100.0))).plot().ax_
    assert len(tick_names(ax)) == 60
    assert "not shown: 40 rows of lower rating" in texts(ax)
    small = Figure(figsize=(4, 2)).subplots()
    assert 0 < len(tick_names(RatingsDisplay(ratings_some(np.arange(100.0))).plot(small).ax_)) < 20
    lacking = ratings_some([1.0, np.inf, np.nan])
    said = texts(RatingsDisplay(lacking).plot().ax_)
    assert "not shown: 2 rows without a finite rating and range" in said


def board_some(accuracies, leading=1):
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


def board_texts(ax):
    return [text.get_text() for text in ax.texts]


def test_the_best_is_on_top_and_ranks_stand_beside():
    ax = LeaderboardDisplay(board_some([0.9, 0.7, 0.4])[::-1]).plot().ax_
    assert [text.get_text() for text in ax.get_yticklabels()] == ["model 1", "model 2", "model 3"]
    assert ax.yaxis_inverted()
    np.testing.assert_allclose(ax.collections[0].get_segments()[0][:, 0], [0.8, 1.0])
    assert board_texts(ax)[:4] == ["rank", "1  (1 to 1)", "2  (1 to 2)", "3  (2 to 3)"]


def test_who_leads_has_its_colour():
    ax = LeaderboardDisplay(board_some([0.9, 0.8, 0.4], leading=2)).plot().ax_
    colours = [to_hex(c).upper() for c in ax.collections[1].get_facecolor()]
    assert colours == [STYLE.positive, STYLE.positive, STYLE.neutral]
    assert "the first and 1 other that cannot be distinguished" in board_texts(ax)[-1]
    alone = LeaderboardDisplay(board_some([0.9, 0.8])).plot().ax_
    assert "differs significantly from all others" in board_texts(alone)[-1]


def test_what_is_not_drawn_or_not_known_is_said():
    many = LeaderboardDisplay(board_some(np.linspace(1, 0, 80))).plot().ax_
    assert len(many.get_yticklabels()) == 60
    assert "not shown: 20 rows" in board_texts(many)[-1]
    small = LeaderboardDisplay(board_some(np.linspace(1, 0, 80))).plot(
        Figure(figsize=(4, 2)).subplots()
    )
    assert 0 < len(small.ax_.get_yticklabels()) < 20
    unsure = LeaderboardDisplay(board_some([0.9, 0.8]).assign(accuracy_low=np.nan)).plot().ax_
    assert "hollow: no interval (2 rows)" in board_texts(unsure)[-1]
    lacking = LeaderboardDisplay(board_some([0.9, np.nan])).plot().ax_
    assert "1 row without accuracy and rank" in board_texts(lacking)[-1]


def fits_some(values, names=None):
    value = np.asarray(values, dtype=float)
    columns = {"rmsea": value, "rmsea_low": 0.8 * value, "rmsea_high": 1.2 * value}
    return pd.DataFrame(columns, index=names or [f"model {i}" for i in range(value.size)])


def test_bars_are_the_intervals():
    ax = ModelFitDisplay(fits_some([0.02, 0.06])).plot().ax_
    bars = [bar[:, 0] for bar in ax.collections[0].get_segments()]
    np.testing.assert_allclose(bars, [[0.016, 0.024], [0.048, 0.072]])


def test_models_stay_in_their_order_from_the_top():
    ax = ModelFitDisplay(fits_some([0.06, 0.02], ["first", "second"])).plot().ax_
    assert tick_names(ax) == ["first", "second"]
    assert ax.yaxis_inverted()


def test_the_limits_are_drawn_and_named_even_where_all_fit_closely():
    ax = ModelFitDisplay(fits_some([0.001])).plot().ax_
    assert [line.get_xdata()[0] for line in ax.lines] == [0.05, 0.08]
    assert ax.get_xlim()[1] > 0.08
    assert all(word in texts(ax) for word in ("close", "fair", "poor"))


def test_words_that_do_not_fit_are_left_out():
    ax = ModelFitDisplay(fits_some([0.9])).plot().ax_
    assert "fair" not in texts(ax)
    assert "poor" in texts(ax)


def test_a_missing_interval_leaves_the_dot():
    frame = fits_some([0.03]).assign(rmsea_low=np.nan, rmsea_high=np.nan)
    ax = ModelFitDisplay(frame).plot().ax_
    assert len(ax.collections[1].get_offsets()) == 1


def test_models_without_a_test_are_counted():
    ax = ModelFitDisplay(fits_some([0.03, np.nan])).plot().ax_
    assert tick_names(ax) == ["model 0"]
    assert "not shown: 1 row without RMSEA" in texts(ax)


def models_some(aic, bic=None, **columns):
    aic = np.asarray(aic, dtype=float)
    weight = np.exp(-(aic - aic.min()) / 2)
    frame = {"aic": aic, "bic": aic if bic is None else bic, "weight": weight / weight.sum()}
    return pd.DataFrame(frame | columns, index=[f"model {i}" for i in range(aic.size)])


def test_the_best_is_on_top_with_its_weight():
    ax = ModelComparisonDisplay(models_some([1010.0, 1000.0, 1002.0])).plot().ax_
    assert tick_names(ax) == ["model 1  (0.73)", "model 2  (0.27)", "model 0  (0.00)"]
    assert ax.yaxis_inverted()


def test_dots_stand_behind_the_best_of_their_own_criterion():
    ax = ModelComparisonDisplay(models_some([100.0, 104.0], [130.0, 110.0])).plot().ax_
    aic, bic = (ax.collections[k].get_offsets()[:, 0] for k in (0, 2))
    np.testing.assert_allclose(aic, [0, 4])
    np.testing.assert_allclose(bic, [20, 0])
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == ["AIC", "BIC"]


def test_the_axis_is_logarithmic_only_where_models_are_far_behind():
    assert ModelComparisonDisplay(models_some([0.0, 8.0])).plot().ax_.get_xscale() == "linear"
    ax = ModelComparisonDisplay(models_some([0.0, 8.0, 5000.0])).plot().ax_
    assert ax.get_xscale() == "symlog"
    assert [text.get_text() for text in ax.get_xticklabels()] == [
        *("0", "2", "5", "10", "100", "1,000")
    ]


def test_models_that_did_not_converge_are_hollow():
    display = ModelComparisonDisplay(models_some([0.0, 5.0], converged=[True, False])).plot()
    fills = [to_hex(colour).upper() for colour in display.ax_.collections[0].get_facecolor()]
    assert fills == ["#0072B2", "#FFFFFF"]
    assert "hollow: not converged (1 model)" in texts(display.ax_)
    assert "hollow" not in texts(ModelComparisonDisplay(models_some([0.0, 5.0])).plot().ax_)


def test_a_missing_criterion_is_no_crash():
    ax = ModelComparisonDisplay(models_some([0.0, 5.0], [np.nan, np.nan])).plot().ax_
    assert ax.has_data()
    ax = ModelComparisonDisplay(models_some([0.0, 5.0]).assign(aic=[1.0, np.nan])).plot().ax_
    assert "not shown: 1 model without AIC" in texts(ax)


def bar_some(count):
    columns = {"true_score": np.arange(1.0, count + 1), "true_score_se": 0.5}
    return pd.DataFrame(columns, index=[f"model {k}" for k in range(count)])


def paired(count):
    frame = bar_some(count)
    return frame.assign(true_score_positive=frame["true_score"] / 2, true_score_positive_se=0.25)


def test_the_best_is_on_top_with_a_bar_as_long_as_its_score():
    ax = ScoresDisplay(bar_some(4).sample(frac=1, random_state=0)).plot().ax_
    assert tick_names(ax) == [f"model {k}" for k in (3, 2, 1, 0)]
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
    ax = ScoresDisplay(bar_some(100)).plot().ax_
    assert tick_names(ax)[0] == "model 99"
    assert len(tick_names(ax)) == 40
    assert "not shown: 60 rows of lower score" in texts(ax)


def test_missing_scores_and_errors_are_said():
    frame = paired(4)
    frame.iloc[0, 0] = np.nan
    frame.iloc[1, 3] = np.inf
    ax = ScoresDisplay(frame).plot().ax_
    assert "no line: no finite standard error (1 row)" in texts(ax)
    assert "not shown: 1 row without a score" in texts(ax)


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


def suspects_some(count, suspects=2):
    evidence = np.linspace(0.99, 0.0, count)
    return pd.DataFrame(
        {
            "evidence": evidence,
            "share_right_strong": 0.9 - 0.8 * evidence,
            "share_right_weak": 0.4,
            "suspect": np.arange(count) < suspects,
        },
        index=[f"item {k}" for k in range(count)],
    )


def test_the_most_suspicious_is_on_top_with_its_probability():
    ax = SuspectsDisplay(suspects_some(5).sample(frac=1, random_state=0)).plot().ax_
    assert tick_names(ax) == [f"item {k}" for k in range(5)]
    assert ax.yaxis_inverted()
    assert "99%" in texts(ax)
    said = " ".join(texts(ax).split())
    assert "2 suspects (few of them are expected to have a right label)" in said


def test_strong_and_weak_have_their_places():
    weak, strong = SuspectsDisplay(suspects_some(5)).plot().ax_.collections[1:3]
    assert weak.get_offsets()[0, 0] == pytest.approx(0.4)
    assert strong.get_offsets()[0, 0] == pytest.approx(0.9 - 0.8 * 0.99)


def test_suspects_and_a_few_others_are_shown_and_the_rest_counted():
    ax = SuspectsDisplay(suspects_some(2000, 4)).plot().ax_
    assert len(tick_names(ax)) == 9
    assert "not shown: 1,991 items with less evidence" in texts(ax)
    assert len(tick_names(SuspectsDisplay(suspects_some(2000, 300)).plot().ax_)) == 30


def test_an_axes_too_small_shows_fewer():
    ax = Figure(figsize=(4, 2)).subplots()
    assert 0 < len(tick_names(SuspectsDisplay(suspects_some(100, 30)).plot(ax).ax_)) < 20


def test_a_frame_that_names_no_suspects_is_enough():
    ax = SuspectsDisplay(suspects_some(5).drop(columns="suspect")).plot().ax_
    assert "0 suspects" in texts(ax)


def test_rows_without_numbers_are_said():
    frame = suspects_some(5)
    frame.iloc[0, 0] = np.nan
    assert "not shown: 1 row without a number" in texts(SuspectsDisplay(frame).plot().ax_)
