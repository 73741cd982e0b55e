"""What takes long says so before it begins."""

import numpy as np
import pytest

from ogive import Responses
from ogive._studies import STUDIES
from ogive.cli.output import COSTS, Console, expected_seconds, say_if_long


def test_every_time_belongs_to_a_command():
    assert set(COSTS) <= {"report", "diagnose", *STUDIES}


@pytest.mark.parametrize(
    ("name", "shape", "seconds"),
    [
        ("report", (200, 20_000), 34),
        ("report", (2211, 12_032), 61),
        ("item_health", (2211, 12_032), 84),
        ("leaderboard", (2211, 12_032), 39),
    ],
)
def test_expected_times_are_about_those_of_the_benchmark(name, shape, seconds):
    assert expected_seconds(name, *shape) == pytest.approx(seconds, rel=0.15)


def test_large_tables_are_announced_and_small_ones_are_not(capsys):
    large = Responses(np.zeros((4, 30_000), dtype=np.int8))
    say_if_long(Console(), "report", large)
    assert capsys.readouterr().err == "4 × 30,000 responses take about 40 s of one core.\n"
    say_if_long(Console(), "report", large.select(items=list(large.items[:100])))
    say_if_long(Console(quiet=True), "report", large)
    say_if_long(Console(), "task_scales", large)
    assert capsys.readouterr().err == ""
