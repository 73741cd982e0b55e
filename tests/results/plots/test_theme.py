"""Labels and texts."""

import numpy as np

from ogive.results.plots.theme import label, spread


def test_label_is_one_short_line_of_plain_text(subtests):
    cases = [
        ("$x$", r"\$x\$"),
        ("two\nlines", "two lines"),
        (("a", 1), "('a', 1)"),
        ("gpt-" + "x" * 60 + "-70B", "gpt-xxxxxxxxxxxx…xxxxxxxxxxx-70B"),
    ]
    for name, shown in cases:
        with subtests.test(name=name, shown=shown):
            assert label(name) == shown


def test_label_is_never_mathematics():
    from matplotlib.cbook import is_math_text

    for name in ("$", "$$", r"\$a$", r"$\frac$", "$a$ $b$ $c$"):
        assert not is_math_text(label(name))


def test_spread_leaves_what_is_apart_and_opens_a_cluster_around_its_middle():
    assert spread(np.array([0.0, 5.0]), 1.0, -10, 10).tolist() == [0.0, 5.0]
    assert spread(np.array([2.0, 2.0, 2.0]), 1.0, -10, 10).tolist() == [1.0, 2.0, 3.0]


def test_spread_stays_within_the_limits():
    placed = spread(np.array([-3.0, 6.0, 6.0, 6.0]), 0.5, -6.0, 6.2)
    assert placed.max() <= 6.2
    assert np.diff(placed).min() >= 0.5 - 1e-12
    assert placed[0] == -3.0


def test_spread_of_nothing_is_nothing():
    assert spread(np.array([]), 1.0, 0.0, 1.0).size == 0
