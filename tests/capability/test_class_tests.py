"""Both parts of a split are equally hard."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.capability.class_tests import split_by_difficulty
from ogive.errors import InputError

values = st.lists(st.floats(-3, 3, allow_nan=False), min_size=1, max_size=60)


@settings(max_examples=40, deadline=None)
@given(cdi=values, seed=st.integers(0, 9))
def test_every_bin_keeps_the_published_shares(cdi, seed):
    train, test = split_by_difficulty(cdi, random_state=seed)
    assert sorted([*train, *test]) == list(range(len(cdi)))
    bins = np.floor(np.array(cdi) / 0.25 + 0.5)
    for place in set(bins):
        n, n_test = (bins == place).sum(), (bins[test] == place).sum()
        expected = {1: 0, 2: 1}.get(n, max(1, round(0.3 * n)))
        assert n_test == expected


def test_a_bin_is_centred_at_zero():
    train, test = split_by_difficulty([-0.12, 0.12])
    assert len(train) == len(test) == 1
    train, test = split_by_difficulty([-0.13, 0.13])
    assert len(train) == 2


def test_same_seed_same_parts_and_labels_have_bins_of_their_own():
    cdi, labels = np.zeros(40), np.repeat(["a", "b"], [30, 10])
    first, second = (split_by_difficulty(cdi, labels=labels, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first[1], second[1])
    assert (labels[first[1]] == "b").sum() == 3
    other = split_by_difficulty(cdi, labels=labels, random_state=4)
    assert not np.array_equal(first[1], other[1])


def test_what_cannot_be_split_is_refused(subtests):
    for options in [
        {"cdi": [np.nan]},
        {"cdi": [[1.0]]},
        {"width": 0},
        {"test_size": 1},
        {"labels": ["a"]},
    ]:
        with subtests.test(options=options), pytest.raises(InputError):
            split_by_difficulty(**{"cdi": [0.0, 1.0], **options})
