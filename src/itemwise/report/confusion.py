"""A comparison of classifiers laid out in a folder: tables, item bank, a figure a classifier."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from itemwise.diagnostics.diagnosis import informative
from itemwise.files import PathLike, file_name_of
from itemwise.report.folder import ReportFolder
from itemwise.studies import ClassifierComparison, ConfusionCurves
from itemwise.studies.classifiers.classifier_comparison import FILTERED
from itemwise.studies.classifiers.predictions import PARAMETERS


def write_comparison(comparison: ClassifierComparison, folder: PathLike) -> list[Path]:
    """Write tables, item bank and figures; the paths of all files."""
    report = ReportFolder.at(folder)
    curves = comparison.curves
    report.bank(comparison.dataset, curves.calibration)
    report.table("models", comparison.to_frame())
    _write_reading(report, curves, "")
    if comparison.filtered is not None:
        _write_reading(report, comparison.filtered, FILTERED)
    report.table("items", curves.items)
    if comparison.ranks is not None:
        report.table("measures", comparison.ranks.to_frame())
        report.table("measure_pairs", comparison.ranks.pairs())
        report.table("agreement", curves.agreement())
        report.figure("measures", partial(comparison.plot, "measures"))
    if informative(curves.calibration).any():
        for value in PARAMETERS:
            report.figure(value, partial(comparison.plot, "histogram", value=value))
        for space in ("projections", "3d"):
            report.figure(f"items_{space}", partial(comparison.plot, "items", space=space))
    summary = {
        "sentences": comparison.sentences(),
        "failures": dict(comparison.failures),
        "pool_failures": dict(comparison.pool_failures),
    }
    return report.finish(summary)


def _write_reading(report: ReportFolder, curves: ConfusionCurves, ending: str) -> None:
    """One reading: with all items, or without those of negative discrimination."""
    cells = curves.cells
    shown = cells.assign(items=[" ".join(names) for names in cells["items"]])
    report.table(f"cells{ending}", shown)
    report.figure(f"scores{ending}", partial(curves.plot, "scores"))
    for model in curves.models:
        name = f"cells_{file_name_of(model)}{ending}"
        report.figure(name, partial(curves.plot, "cells", model))
