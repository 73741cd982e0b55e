import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ogive.stats.conformal import conformal_interval
from ogive.stats.intervals import conformal_rank


def test_the_rank_is_that_of_a_finite_sample(subtests):
    for n, coverage, rank in [(9, 0.9, 9), (8, 0.9, 9), (19, 0.95, 19), (9, 0.7, 7), (99, 0.5, 50)]:
        with subtests.test(n=n, coverage=coverage, rank=rank):
            assert conformal_rank(n, coverage) == rank


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(12, 60))
def test_bounds_are_the_ranked_values_of_all_held_out_items(seed, groups, n):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(7, groups))
    parts = np.array_split(np.abs(random.standard_t(3, size=n)), groups)
    residuals = [np.sort(part) for part in parts]
    low, high = conformal_interval(centres, residuals, 0.8)
    rank = conformal_rank(n, 0.8)
    for k, row in enumerate(centres):
        above = np.concatenate([c + r for c, r in zip(row, residuals, strict=True)])
        below = np.concatenate([c - r for c, r in zip(row, residuals, strict=True)])
        assert high[k] == pytest.approx(np.sort(above)[rank - 1], abs=1e-12)
        assert low[k] == pytest.approx(np.sort(below)[n - rank], abs=1e-12)
        assert low[k] <= high[k]
