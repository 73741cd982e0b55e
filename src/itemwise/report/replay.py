"""A replay of adaptive evaluation laid out in a folder: tables of errors, and figures."""

from __future__ import annotations

from pathlib import Path

from itemwise.files import PathLike
from itemwise.report.folder import ReportFolder
from itemwise.studies import AdaptiveReplay
from itemwise.studies.evaluation.adaptive_replay import FIGURES


def write_replay(replay: AdaptiveReplay, folder: PathLike) -> list[Path]:
    """Write the error by number of items, what was foretold of whom, and figures; all paths."""
    report = ReportFolder.at(folder)
    report.table("errors", replay.errors.set_index("method"))
    report.table("predictions", replay.predictions.set_index("method"))
    report.figures(FIGURES, replay.plot)
    return report.finish({"sentences": replay.sentences()})
