"""Scales of several tasks laid out in a folder: tables, the item banks, and the heat map."""

from __future__ import annotations

from pathlib import Path

from itemwise.files import PathLike
from itemwise.report.folder import ReportFolder
from itemwise.studies import TaskScales

TABLES = ("correlations", "abilities", "joint_abilities")


def write_tasks(scales: TaskScales, folder: PathLike) -> list[Path]:
    """Write tables, the item bank of each task, and the heat map; the paths of all files."""
    report = ReportFolder.at(folder)
    for name, calibration in scales.calibrations.items():
        report.bank(name, calibration)
    report.table("tasks", scales.tasks)
    for name in TABLES:
        report.table(name, getattr(scales, name))
    report.figures(["correlations"], lambda _: scales.plot())
    return report.finish({"sentences": scales.sentences()})
