import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, t

from itemwise.numerics.reach import conformal_quantile, conformal_rank, normal_reach, t_reach


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_reaches_are_those_of_the_distributions(confidence):
    assert normal_reach(confidence) == pytest.approx(norm.ppf(0.5 + confidence / 2))
    assert t_reach(np.array([4.0]), confidence)[0] == pytest.approx(t.ppf(0.5 + confidence / 2, 4))


@given(st.integers(1, 60), st.floats(0.05, 0.99))
def test_one_value_further_is_held_as_often_as_promised(n, confidence):
    values = np.arange(n) + 0.5
    bound = conformal_quantile(values, confidence)
    held = (np.arange(n + 1) <= bound).mean()  # a further value is as likely in any of the gaps
    assert held >= confidence - 1e-9
    assert np.isinf(bound) == (conformal_rank(n, confidence) > n)
