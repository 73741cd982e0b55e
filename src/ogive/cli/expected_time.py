"""How long a command will take on a large table, said before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ogive.cli.console import Console
from ogive.progress import lasting

if TYPE_CHECKING:
    from ogive.responses import Responses

LONG = 30.0  # seconds; what takes less needs no warning
# CPU seconds: always, per item, per response, and per pair of respondents, as benchmarks/at_size.py
# measures them.
COSTS = {
    "diagnose": (4.0, 1.2e-3, 1.6e-6, 0.0),
    "report": (4.0, 1.2e-3, 1.6e-6, 0.0),
    "item_health": (3.0, 0.9e-3, 2.6e-6, 0.0),
    "leaderboard": (3.0, 0.6e-3, 1.0e-6, 1.8e-5),
}
MOST_COMPARED = 2000  # respondents of whom a leaderboard shows all pairs


def expected_seconds(name: str, n_respondents: int, n_items: int) -> float:
    """Return about how long a command takes, 0 if it is not known."""
    always, item, response, pair = COSTS.get(name, (0.0, 0.0, 0.0, 0.0))
    pairs = n_respondents**2 / 2 if n_respondents <= MOST_COMPARED else 0.0
    return always + item * n_items + response * n_respondents * n_items + pair * pairs


def say_if_long(console: Console, name: str, table: Responses) -> None:
    """Say at once how long a command will take if that is long."""
    seconds = expected_seconds(name, table.n_respondents, table.n_items)
    if seconds > LONG:
        console.remark(
            f"{table.n_respondents:,} × {table.n_items:,} responses take about {lasting(seconds)} "
            "of one core."
        )
