"""A limit is claimed only as far as the test cases bear it out."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from ogive import measure_capability
from ogive.capability.capability_result import (
    EXTRAPOLATED,
    NONE_RIGHT,
    SEEN,
    UNSUPPORTED,
    not_shown_to_fall,
    standing,
)
from ogive.stats.intervals import wilson


def measured(X, y):
    return measure_capability(LogisticRegression(), X, y, n_resamples=20, progress=False)


@pytest.fixture(scope="module")
def chance():
    """Classes that features say nothing about."""
    random = np.random.default_rng(8)
    X = random.normal(size=(400, 5))
    return measured(X, random.choice(["no", "yes"], 400))


@pytest.fixture(scope="module")
def rare():
    """A rare class that is never predicted."""
    random = np.random.default_rng(5)
    y = np.where(random.random(600) < 0.06, "fraud", "fine")
    return measured(random.normal(size=(600, 5)) + 0.3 * (y == "fraud")[:, None], y)


def row(below, above, mlc=0.5, easiest=-2.0, hardest=2.0):
    """The row of a class; (right, cases) up to the limit and beyond."""
    found = {"mlc": mlc, "mlc_se": 0.1, "easiest": easiest, "hardest": hardest}
    for side, (right, n) in {"below": below, "above": above}.items():
        low, _ = wilson(np.array([float(right)]), np.array([float(n)]), 0.95)
        found |= {
            f"cases_{side}": n,
            f"accuracy_{side}": right / n if n else np.nan,
            f"accuracy_{side}_low": low[0],
        }
    found["cases"] = below[1] + above[1]
    return found | {"limit_is": standing(found), "rule": "information"}


def table(**rows):
    return pd.DataFrame.from_dict(rows, orient="index")


@pytest.mark.parametrize(
    ("made", "wanted"),
    [
        (row((20, 22), (2, 8)), SEEN),
        (row((20, 22), (0, 0), mlc=2.5), EXTRAPOLATED),
        (row((0, 0), (0, 10), mlc=-4.0), NONE_RIGHT),
        (row((0, 3), (0, 7)), NONE_RIGHT),
        (row((0, 0), (1, 11), mlc=-4.0), EXTRAPOLATED),
        (row((0, 0), (9, 11), mlc=-4.0), UNSUPPORTED),
        (row((11, 24), (5, 18)), UNSUPPORTED),
        (row((2, 8), (4, 5)), UNSUPPORTED),
        (row((13, 24), (5, 18)), UNSUPPORTED),  # above one half, but by chance
        (row((3, 3), (0, 0), mlc=2.5), UNSUPPORTED),
    ],
)
def test_a_limit_is_what_its_test_cases_show(made, wanted):
    assert made["limit_is"] == wanted


def test_of_chance_only_what_the_cases_show_is_claimed(chance):
    assert chance.classes.loc["yes", "accuracy_below"] < 0.5
    assert chance.classes.loc["yes", "limit_is"] == UNSUPPORTED
    assert "The test cases show no such limit for yes (" in chance.meaning
    notes = " ".join(chance.notes)
    assert "do not show that success falls with case difficulty in no, yes (Mann" in notes
    assert "the test cases do not support the limit in yes" in notes
    assert len([part for part in chance.meaning.split(". ") if part]) == 3


def test_a_class_that_is_always_wrong_has_no_limit(rare):
    fraud = rare.classes.loc["fraud"]
    assert (fraud["limit_is"], fraud["cases_below"]) == (NONE_RIGHT, 0)
    assert fraud["mlc"] < fraud["easiest"]
    assert f"no such limit for fraud (none of {fraud['cases']} cases right)." in rare.meaning
    assert "fraud: " not in rare.meaning
    assert "do not support the limit in fraud" in " ".join(rare.notes)


def test_the_density_has_lines_only_for_limits_that_are_shown(rare):
    assert set(rare.plot("density")._limits) == {"fine"}
    none = replace(rare, classes=rare.classes.assign(limit_is=UNSUPPORTED))
    assert not none.plot("density")._limits


def test_success_that_falls_is_recognised_and_chance_is_allowed_for():
    random = np.random.default_rng(0)
    falls, level = [], []
    for _ in range(200):
        difficulty = random.normal(size=60)
        chances = {"falls": 1 / (1 + np.exp(2 * difficulty)), "level": np.full(60, 0.6)}
        cases = pd.concat(
            pd.DataFrame(
                {"class": name, "difficulty": difficulty, "right": random.random(60) < chance}
            )
            for name, chance in chances.items()
        )
        found = not_shown_to_fall(cases)
        falls.append("falls" in found)
        level.append("level" in found)
    assert np.mean(falls) < 0.05
    assert 0.9 < np.mean(level) < 0.99


def test_classes_of_equal_difficulty_or_without_errors_are_no_obstacle():
    cases = pd.DataFrame(
        {
            "class": np.repeat(["sure", "same"], 10),
            "difficulty": np.r_[np.linspace(-1, 1, 10), np.zeros(10)],
            "right": np.r_[np.ones(10, bool), np.tile([True, False], 5)],
        }
    )
    assert not_shown_to_fall(cases) == ["same"]
