"""What is shown before a calibration is what the responses say."""

import numpy as np
import pytest

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


def test_means_carry_their_standard_errors(gappy):
    found = respondent_means(gappy)
    wanted = [np.std(row[np.isfinite(row)], ddof=1) for row in gappy.values] / np.sqrt(
        np.isfinite(gappy.values).sum(axis=1)
    )
    assert found["mean_se"].to_numpy() == pytest.approx(wanted)


def test_one_model_and_constant_items_have_no_correlation():
    scale, _ = counted_scale("t", Responses([[1, 0, np.nan]], kind="binary"))
    assert scale.items["item_rest"].isna().all()
    assert scale.items["responses"].tolist() == [1, 1, 0]


def test_shares_of_several_tries_are_scores():
    shares = Responses([[0.5, 1.0], [0.0, 1.0]], kind="binary", tries=[[2, 2], [2, 2]])
    assert kind_of_answers(shares) == "scores"
    assert kind_of_answers(Responses([[1, 0]])) == "bits"
