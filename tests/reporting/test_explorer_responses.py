"""What is shown before a calibration is what the responses say."""

import numpy as np
import pytest

from ogive import Responses, leaderboard, simulate
from ogive.reporting.app_scales import counted_scale, kind_of_answers
from ogive.reporting.explorer_responses import respondent_means


@pytest.fixture(scope="module")
def gappy():
    values = simulate("2pl", 40, 12, random_state=3).responses.values.copy()
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    return Responses(values)


def test_an_item_is_correlated_with_the_mean_of_the_other_items(gappy):
    items = counted_scale("t", gappy)[0].items
    values = gappy.values
    for k, name in enumerate(gappy.items):
        there = np.isfinite(values[:, k])
        rest = np.nanmean(np.delete(values, k, axis=1), axis=1)
        wanted = np.corrcoef(values[there, k], rest[there])[0, 1]
        assert items.loc[name, "item_rest"] == pytest.approx(wanted, abs=1e-12)
        assert items.loc[name, "mean_response"] == pytest.approx(np.nanmean(values[:, k]))


@pytest.mark.parametrize("n", [3, 5, 8, 30])
def test_intervals_of_these_correlations_hold_also_with_few_models(n):
    """Of three models, correlations of 0.976 had a standard error of 0.027."""
    random = np.random.default_rng(n)
    inside, told = 0, 0
    for _ in range(40):
        drawn = (random.random((n, 100)) < random.uniform(0.3, 0.7, 100)).astype(float)
        items = counted_scale("t", Responses(drawn, kind="binary"))[0].items.dropna()
        inside += ((items["item_rest_low"] <= 0) & (items["item_rest_high"] >= 0)).sum()
        told += len(items)
    assert inside / told > 0.93
    assert (n > 3) or inside == told


def test_models_on_a_line_are_no_certainty():
    line = counted_scale("t", Responses(np.tri(5, 5), kind="binary"))[0].items
    assert (line["item_rest_high"] - line["item_rest_low"]).dropna().min() > 0.3


def test_respondents_come_in_the_order_of_their_means_if_all_were_asked_everything():
    whole = simulate("2pl", 40, 12, random_state=3).responses
    scale, order = counted_scale("t", whole)
    means = whole.values.mean(axis=1)
    assert scale.content["answers"]["ability"] == pytest.approx(means[order], abs=1e-4)
    assert list(means[order]) == sorted(means, reverse=True)
    assert scale.content["answers"]["comparable"]


def test_who_was_asked_easy_items_alone_does_not_come_first():
    values = np.array([[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 1], [1, 1, 0, np.nan, np.nan, np.nan]])
    _, order = counted_scale("t", Responses(values, ["a", "b", "easy"]))
    assert order.tolist() == [1, 0, 2]
    values[2, 2] = 1  # all right, and above everybody by the mean
    scale, order = counted_scale("t", Responses(values, ["a", "b", "easy"]))
    assert order.tolist() == [1, 2, 0]
    assert not scale.content["answers"]["comparable"]


def test_a_mean_has_the_standard_error_of_the_leaderboard(gappy):
    table = simulate("2pl", 8, 30, random_state=3).responses
    shares = Responses(np.round(np.random.default_rng(0).random((6, 20)) * 2) / 2,
                       kind="binary", tries=np.full((6, 20), 2))  # fmt: skip
    for each in (table, shares):
        board = leaderboard(each).to_frame()
        found = respondent_means(each).set_axis(list(each.respondents), axis=0)
        assert found.loc[board.index, "mean_se"].to_numpy() == pytest.approx(board["accuracy_se"])
    alone = respondent_means(Responses([[1.0, np.nan], [1.0, 1.0]], kind="binary"))
    assert (alone["mean_se"] > 0.15).all()  # responses that agree are not certain


def test_scores_have_the_usual_standard_error_and_one_of_them_none():
    values = np.array([[0.2, 0.7, 0.4], [0.9, np.nan, np.nan]])
    found = respondent_means(Responses(values))["mean_se"]
    assert found[0] == pytest.approx(values[0].std(ddof=1) / np.sqrt(3))
    assert np.isnan(found[1])


def test_one_model_and_constant_items_have_no_correlation():
    scale, _ = counted_scale("t", Responses([[1, 0, np.nan]], kind="binary"))
    assert scale.items["item_rest"].isna().all()
    assert scale.items["responses"].tolist() == [1, 1, 0]


def test_shares_of_several_tries_are_scores():
    shares = Responses([[0.5, 1.0], [0.0, 1.0]], kind="binary", tries=[[2, 2], [2, 2]])
    assert kind_of_answers(shares) == "scores"
    assert kind_of_answers(Responses([[1, 0]])) == "bits"
