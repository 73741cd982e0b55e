import pytest

from ogive.results.numbers import counted, joined, listed, said_p


def test_counted_agrees_with_its_number():
    assert [counted(n, "row") for n in (0, 1, 1200)] == ["0 rows", "1 row", "1,200 rows"]


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["a"], "1 item (a)"),
        (["a", "b", "c"], "3 items (a, b, c)"),
        (["a", "b", "c", "d"], "4 items (a, b, c, ...)"),
    ],
)
def test_listed_names_the_first_and_counts_all(names, shown):
    assert listed(names, "item") == shown


def test_listed_shows_as_many_as_asked():
    assert listed(["a", "b", "c"], "item", shown=1) == "3 items (a, ...)"


def test_joined_puts_an_and_before_the_last():
    assert [joined(["a", "b", "c"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_a_tiny_p_value_is_not_spelt_out():
    assert [said_p(p) for p in (1e-16, 0.0009, 0.001, 0.0234, 1.0)] == [
        "p < 0.001",
        "p < 0.001",
        "p = 0.001",
        "p = 0.023",
        "p = 1",
    ]
