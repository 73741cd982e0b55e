"""Prediction-powered means, against the definition and the package ppi-python."""

import numpy as np
import pytest
from scipy.stats import t

from ogive.stats.prediction_powered import prediction_powered

PPI_ESTIMATE = 0.48656671817912317
PPI_INTERVAL = [0.4681964515, 0.5049369848]


def scored(n_human=40, n=400, seed=0, wrong=0.1):
    """Scores of a judge and of people for one row, the first `n_human` by both."""
    random = np.random.default_rng(seed)
    truth = random.random(n)
    judge = np.clip(truth + random.normal(0.1, wrong, n), 0, 1)
    human = np.where(np.arange(n) < n_human, truth, np.nan)
    return judge[None], human[None]


def found_of(judge, human, cluster=None, **settings):
    cluster = np.arange(judge.shape[1]) if cluster is None else cluster
    return prediction_powered(judge, human, cluster, **{"binary": False, **settings})


def test_the_estimate_is_that_of_the_definition():
    judge, human = scored()
    found = found_of(judge, human)
    y, f, rest = human[0, :40], judge[0, :40], judge[0, 40:]
    weight = np.cov(y, f, ddof=0)[0, 1] / ((1 + 40 / 360) * np.var(judge, ddof=1))
    assert found.weight[0] == pytest.approx(weight)
    assert found.both.estimate[0] == pytest.approx(y.mean() + weight * (rest.mean() - f.mean()))
    assert found.human.estimate[0] == pytest.approx(y.mean())
    assert found.bias.estimate[0] == pytest.approx((f - y).mean())
    assert found.bias.se[0] == pytest.approx((f - y).std(ddof=1) / np.sqrt(40))
    plain = np.sqrt((y - weight * f).var(ddof=1) / 40 + weight**2 * rest.var() / 360)
    assert found.both.se[0] == pytest.approx(plain, rel=0.08)  # and what fitting the weight costs
    assert found.both.se[0] > plain


def test_ppi_python_gave_the_same_estimate():
    """Figures of ppi-python 0.2.3: ppi_mean_pointestimate(y, f, rest), and its 95 % interval."""
    judge, human = scored(n_human=200, n=2000, seed=3)
    found = found_of(judge, human)
    assert found.both.estimate[0] == pytest.approx(PPI_ESTIMATE, abs=1e-9)
    reach = 1.959964 * found.both.se[0]
    ends = found.both.estimate[0] + np.array([-reach, reach])
    assert ends == pytest.approx(PPI_INTERVAL, abs=5e-4)


@pytest.mark.slow  # numba takes seconds to import
def test_ppi_python_gives_the_same_estimate():
    pytest.importorskip("numba")
    ppi = pytest.importorskip("ppi_py", reason="ppi-python is not installed")
    for seed in range(3):
        judge, human = scored(n_human=100, n=1000, seed=seed)
        theirs = ppi.ppi_mean_pointestimate(human[0, :100], judge[0, :100], judge[0, 100:])
        ours = found_of(judge, human).both.estimate[0]
        assert ours == pytest.approx(float(np.squeeze(theirs)), abs=1e-9)


def test_a_useless_judge_has_nearly_no_weight_and_a_constant_one_none():
    judge, human = scored(n_human=200)
    noise = np.random.default_rng(1).random(judge.shape)
    found = found_of(noise, human)
    assert found.weight[0] < 0.15
    assert found.both.se[0] == pytest.approx(found.human.se[0], rel=0.05)
    flat = found_of(np.full_like(judge, 0.7), human)
    assert flat.weight[0] == 0
    assert flat.both.estimate[0] == flat.human.estimate[0]


def test_a_judge_that_says_the_opposite_has_no_weight():
    judge, human = scored(n_human=100)
    found = found_of(1 - judge, human)
    assert found.weight[0] == 0
    assert found.both.estimate[0] == found.human.estimate[0]


def test_right_or_wrong_labels_have_the_error_of_two_more_cases_one_of_them_right():
    human = np.array([[1.0, 1.0, 0.0, 1.0, 1.0, 1.0, *[np.nan] * 4]])
    found = found_of(np.zeros((1, 10)), human, binary=True)
    share = (5 + 1) / (6 + 2)
    assert found.human.estimate[0] == pytest.approx(5 / 6)
    assert found.human.middle[0] == pytest.approx(share)
    assert found.human.se[0] == pytest.approx(np.sqrt(share * (1 - share) / (8 - 1)))


def test_where_people_scored_the_judge_is_compared_with_the_rest_by_a_z():
    judge = np.array([[0.2, 0.3, 0.1, 0.4, 0.8, 0.6, 0.9]])
    human = np.where(np.arange(7) < 4, 0.5, np.nan)[None]
    spread = judge.std(ddof=1) * np.sqrt(1 / 4 + 1 / 3)
    z = (judge[0, :4].mean() - judge[0, 4:].mean()) / spread
    assert z < -2
    assert found_of(judge, human).shifted[0] == pytest.approx(z)
    assert found_of(1 - judge, human).shifted[0] == pytest.approx(-z)


def test_if_people_scored_everything_the_judge_is_not_needed():
    judge, _ = scored()
    human = np.clip(judge - 0.1, 0, 1)
    found = found_of(judge, human)
    assert found.weight[0] == 0
    assert found.both.estimate[0] == pytest.approx(human.mean())


def test_without_observed_disagreement_an_interval_still_allows_for_some():
    human = np.where(np.arange(500) < 20, np.arange(500) % 2, np.nan)[None]
    judge = (np.arange(500) % 2).astype(float)[None]
    found = found_of(judge, human, binary=True)
    assert found.both.se[0] > 0.03
    assert found.bias.estimate[0] == 0
    assert found.bias.se[0] > 0.03


def test_one_label_tells_nothing_of_errors():
    judge, human = scored(n_human=1)
    found = found_of(judge, human)
    assert np.isfinite(found.both.estimate[0])
    assert np.isnan(found.both.se[0])


def test_the_covariance_counts_items_that_rows_share():
    judge, human = scored(n_human=100)
    twice = found_of(np.vstack([judge, judge]), np.vstack([human, human]))
    joint = twice.covariance
    assert joint[0, 1] == pytest.approx(joint[0, 0])
    assert np.sqrt(np.diag(joint)) == pytest.approx(twice.both.se)


def test_items_of_a_cluster_count_as_one():
    judge, human = scored(n_human=40)
    times = np.repeat(np.arange(400), 5)
    found = found_of(judge[:, times], human[:, times], times)
    alone = found_of(judge, human)
    assert found.both.estimate == pytest.approx(alone.both.estimate, abs=0.01)
    assert found.both.se == pytest.approx(alone.both.se, rel=0.05)
    assert found.freedom == alone.freedom


def coverage(n_human, kind, n_rows=300, n_items=500, chance=0.8, cluster=1):
    """How often 95 % intervals hold, and their length relative to human labels alone."""
    random = np.random.default_rng(5)
    shape = (n_rows, n_items)
    truth = (np.repeat(random.random((n_rows, n_items // cluster)), cluster, axis=1) < chance) * 1.0
    flip = random.random(shape)
    judge = {
        "useless": (flip < 0.6) * 1.0,
        "perfect": truth,
        "good": np.where(flip < 0.05, 1 - truth, truth),
        "kind": np.where((flip < 0.3) & (truth == 0), 1.0, truth),
    }[kind]
    human = np.where(np.arange(n_items) < n_human, truth, np.nan)
    found = prediction_powered(judge, human, np.arange(n_items) // cluster, binary=True)
    reach = t.ppf(0.975, found.freedom)
    low, high = found.both.limits(reach, 0.0, 1.0)
    less, more = found.human.limits(reach, 0.0, 1.0)
    return np.mean((low <= chance) & (chance <= high)), np.mean(high - low) / np.mean(more - less)


@pytest.mark.slow
def test_intervals_hold_whatever_the_judge_is_worth(subtests):
    for n_human in (20, 50):
        for kind, shorter in (("useless", 1.02), ("perfect", 0.7), ("good", 0.8), ("kind", 0.9)):
            with subtests.test(n_human=n_human, kind=kind):
                held, ratio = coverage(n_human, kind)
                assert 0.905 < held <= 1  # three and a half standard errors below 95 %
                assert ratio < shorter


def test_intervals_hold_if_items_come_in_clusters():
    held, ratio = coverage(100, "good", cluster=5)
    assert 0.905 < held <= 1
    assert ratio < 0.8
