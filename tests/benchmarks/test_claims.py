"""What benchmarks/claims.py prints, with few replications: claims are right, intervals hold."""

from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def claims(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return run_path(BENCHMARKS / "claims.py")


def test_equal_classifiers_are_separated_by_two_standard_errors_but_not_by_the_rule(claims):
    for n_datasets in (2, 20):
        row = dict(
            zip(
                ("n", "tables", *claims["RULES"]),
                claims["over_datasets"](n_datasets, 40),
                strict=True,
            )
        )
        assert float(row["1.96 standard errors"]) > 0.4
        assert float(row["decoding"]) <= 0.125  # 5 % and two standard errors of 40 tables
        assert float(row["tournament"]) <= 0.125


@pytest.mark.slow
def test_boards_of_twins_seldom_hold_a_wrong_claim(claims, subtests):
    for shape in claims["BOARDS"]:
        found = [claims["on_board"](*claims["twins"](*shape, seed)) for seed in range(12)]
        for name in ("leaderboard", "rank intervals", "abilities", "strongest"):
            with subtests.test(shape=shape, claim=name):
                assert sum(each[name] for each in found) <= 2


@pytest.mark.slow
def test_intervals_of_correlations_of_tasks_cover_the_truth(claims):
    covered = [float(claims["tasks"](n, 25)[3]) for n in (30, 100)]
    # 75 correlations each, three of a table together: two standard errors of 25 tables below 0.95
    assert np.min(covered) >= 0.86
