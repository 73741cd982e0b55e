"""Effects are judged by their errors and by each other."""

import numpy as np
import pytest

from itemwise.numerics.standing_out import stand_out

NO_WAYS = 0


def drawn(n, scatter=0.0, seed=0, size=1.0):
    """Effects of two contrasts whose errors are known, with more scatter than that on request."""
    random = np.random.default_rng(seed)
    sd = random.uniform(0.5, 2.0, n) * size
    covariances = (sd**2)[:, None, None] * np.array([[1.0, 0.3], [0.3, 1.0]])
    root = np.linalg.cholesky(covariances)
    effects = np.einsum("nij,nj->ni", root, random.normal(size=(n, 2)))
    return effects + scatter * random.normal(size=(n, 2)), covariances


def ways(n, width=NO_WAYS):
    return np.ones((n, 2, width))


def test_p_values_are_uniform_where_only_errors_scatter():
    found = [stand_out(*drawn(60, seed=k), ways(60)).p for k in range(60)]
    assert (np.concatenate(found) < 0.05).mean() == pytest.approx(0.05, abs=0.015)


def test_a_scatter_that_all_effects_have_is_no_finding():
    shares = []
    for k in range(15):
        found = stand_out(*drawn(100, scatter=3.0, seed=k), ways(100))
        shares.append((found.p < 0.05).mean())
        assert found.scatter == pytest.approx([3.0, 3.0], rel=0.5)
    assert np.mean(shares) < 0.05


def test_what_stands_out_from_the_scatter_is_found():
    effects, covariances = drawn(100, scatter=1.0, seed=1, size=0.5)
    effects[:5, 0] += 12.0
    found = stand_out(effects, covariances, ways(100))
    assert (found.p[:5] < 1e-4).all()
    assert (found.p[5:] < 1e-3).sum() == 0


def test_what_all_items_share_is_taken_out():
    effects, covariances = drawn(80, seed=2)
    effects[:6] += 30.0  # and what differs does not count for it
    found = stand_out(effects + 5.0, covariances, ways(80, 1))
    assert found.common[0] == pytest.approx(5.0, abs=0.4)
    assert set(np.argsort(found.p)[:6]) == set(range(6))


def test_with_known_errors_alone_the_statistic_is_that_of_wald():
    effects, covariances = drawn(9, seed=3)
    found = stand_out(effects, covariances, ways(9))
    assert found.scatter.tolist() == [0.0, 0.0]
    by_hand = [e @ np.linalg.inv(v) @ e for e, v in zip(effects, covariances, strict=True)]
    np.testing.assert_allclose(found.statistic, by_hand)


def test_rows_without_an_effect_stay_unknown():
    effects, covariances = drawn(10, seed=4)
    effects[3] = np.nan
    found = stand_out(effects, covariances, ways(10))
    assert np.isnan(found.p[3])
    assert np.isfinite(np.delete(found.p, 3)).all()
    assert np.isnan(stand_out(effects * np.nan, covariances, ways(10)).p).all()


def test_effects_without_any_error_call_nothing_different():
    found = stand_out(np.zeros((6, 2)), np.zeros((6, 2, 2)), ways(6))
    assert (found.p == 1).all()
