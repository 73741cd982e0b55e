import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from ogive.stats.multiplicity import CORRECTIONS, benjamini_hochberg, benjamini_yekutieli, holm

SOME = np.array([0.2, 0.001, 0.04, 0.04, 1.0, 0.013])


def test_false_discoveries_are_controlled_as_scipy_does_it():
    np.testing.assert_allclose(benjamini_hochberg(SOME), false_discovery_control(SOME))
    found = benjamini_yekutieli(SOME)
    np.testing.assert_allclose(found, false_discovery_control(SOME, method="by"))


def test_holm_steps_down_from_bonferroni():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03])), [0.03, 0.06, 0.06])


@pytest.mark.parametrize("name", CORRECTIONS)
@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_no_correction_makes_a_p_value_smaller_or_changes_the_order(name, values):
    p = np.array(values)
    found = CORRECTIONS[name](p)
    assert (found >= p).all()
    assert (found <= 1).all()
    assert (np.diff(found[np.argsort(p, kind="stable")]) >= 0).all()


def test_a_test_that_was_not_made_counts_for_nothing(subtests):
    for name in CORRECTIONS:
        with subtests.test(name=name):
            with_gap = CORRECTIONS[name](np.r_[SOME[:3], np.nan, SOME[3:]])
            assert np.isnan(with_gap[3])
            np.testing.assert_array_equal(np.delete(with_gap, 3), CORRECTIONS[name](SOME))
            assert CORRECTIONS[name](np.empty(0)).size == 0
