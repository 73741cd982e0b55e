"""What is shown before a calibration is what the responses say."""

import numpy as np
import pytest
from scipy.stats import beta

from itemwise import Responses, simulate
from itemwise.viewing.item_counts import counted_scale, kind_of_answers, respondent_means


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


def test_respondents_come_in_the_order_of_their_means(gappy):
    scale, order = counted_scale("t", gappy)
    means = np.nanmean(gappy.values, axis=1)
    assert scale.content["answers"]["ability"] == pytest.approx(means[order], abs=1e-4)
    assert list(means[order]) == sorted(means, reverse=True)


def test_a_share_is_as_uncertain_as_its_posterior_under_a_uniform_prior(gappy):
    values = gappy.values
    right, asked = np.nansum(values, axis=1), np.isfinite(values).sum(axis=1)
    wanted = beta(right + 1, asked - right + 1).std()
    assert respondent_means(gappy)["mean_se"].to_numpy() == pytest.approx(wanted)
    alone = respondent_means(Responses([[1.0, np.nan]], kind="binary"))
    assert alone["mean_se"][0] > 0.2


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
