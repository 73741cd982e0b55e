import pytest

from ogive._validation import one_of
from ogive.errors import InputError


def test_a_known_word_is_given_back():
    assert one_of("bh", "correction", {"bh": 1, "holm": 2}) == "bh"


def test_what_is_no_known_word_is_refused_with_those_that_are(subtests):
    for value in ["sidak", None, 3, ["bh"]]:
        with (
            subtests.test(value=value),
            pytest.raises(InputError, match="`correction` must be one of: bh, holm"),
        ):
            one_of(value, "correction", ("bh", "holm"))
