"""The health of a benchmark laid out in a folder: tables, the item bank, all figures."""

from __future__ import annotations

from pathlib import Path

from itemwise.files import PathLike
from itemwise.report.folder import ReportFolder
from itemwise.studies import ItemHealth
from itemwise.studies.health.item_health import FIGURES


def write_health(health: ItemHealth, folder: PathLike) -> list[Path]:
    """Write tables, item bank and figures; the paths of all files."""
    report = ReportFolder.at(folder)
    report.bank("items", health.calibration)
    report.table("items", health.items)
    report.table("duplicates", health.duplicates)
    report.table("saturation", health.saturation)
    report.table("respondents", health.respondents)
    if len(health.groups):
        report.table("groups", health.groups)
    report.figures(FIGURES, health.plot)
    return report.finish({"sentences": health.sentences()})
