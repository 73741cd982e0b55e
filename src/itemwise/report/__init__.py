"""What a person can show a colleague: tables and figures of whole studies, and one page of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from itemwise.lazily import lazily

if TYPE_CHECKING:
    from itemwise.report.benchmark import Chapters as Chapters
    from itemwise.report.benchmark import read_benchmark as read_benchmark
    from itemwise.report.benchmark import write_benchmark as write_benchmark
    from itemwise.report.capability import write_capability as write_capability
    from itemwise.report.confusion import write_comparison as write_comparison
    from itemwise.report.health import write_health as write_health
    from itemwise.report.leaderboard import write_leaderboard as write_leaderboard
    from itemwise.report.page import write_report as write_report
    from itemwise.report.portfolio import write_portfolio as write_portfolio
    from itemwise.report.replay import write_replay as write_replay
    from itemwise.report.tasks import write_tasks as write_tasks

_HOMES = {
    "Chapters": "benchmark",
    "read_benchmark": "benchmark",
    "write_benchmark": "benchmark",
    "write_capability": "capability",
    "write_comparison": "confusion",
    "write_health": "health",
    "write_leaderboard": "leaderboard",
    "write_portfolio": "portfolio",
    "write_replay": "replay",
    "write_report": "page",
    "write_tasks": "tasks",
}

__all__ = [*_HOMES]


__getattr__ = lazily(__name__, _HOMES)
