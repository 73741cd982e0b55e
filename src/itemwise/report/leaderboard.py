"""A leaderboard laid out in a folder: tables of respondents, pairs and tasks, and all figures."""

from __future__ import annotations

from pathlib import Path

from itemwise.files import PathLike
from itemwise.report.folder import ReportFolder
from itemwise.studies import Leaderboard
from itemwise.studies.leaderboards.leaderboard import FIGURES


def write_leaderboard(board: Leaderboard, folder: PathLike) -> list[Path]:
    """Write tables, the item bank where there is one, and figures; the paths of all files."""
    report = ReportFolder.at(folder)
    if board.calibration is not None:
        report.bank("items", board.calibration)
    report.table("leaderboard", board.to_frame())
    report.table("pairs", board.pairs)
    report.table("tasks", board.tasks)
    report.figures(FIGURES, board.plot)
    return report.finish({"sentences": board.sentences()})
