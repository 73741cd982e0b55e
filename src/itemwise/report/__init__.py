"""What a person can show a colleague: tables and figures of whole studies."""

from __future__ import annotations

from itemwise.report.benchmark import Chapters, read_benchmark, write_benchmark
from itemwise.report.capability import write_capability
from itemwise.report.confusion import write_comparison
from itemwise.report.health import write_health
from itemwise.report.leaderboard import write_leaderboard
from itemwise.report.portfolio import write_portfolio

__all__ = [
    "Chapters",
    "read_benchmark",
    "write_benchmark",
    "write_capability",
    "write_comparison",
    "write_health",
    "write_leaderboard",
    "write_portfolio",
]
