"""Capability of classifiers laid out in a folder: tables, the item banks, a figure a question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from itemwise.capability import Capability, CaseDifficulty
from itemwise.files import PathLike, file_name_of
from itemwise.report.folder import ReportFolder

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display


def write_capability(
    found: Capability | Mapping[str, Capability],
    folder: PathLike,
    *,
    scale: CaseDifficulty | None = None,
) -> list[Path]:
    """Write tables and figures of one classifier, or of several by name; the paths of all files.

    With the fitted `scale` of case difficulty, also how features became items, and their banks.
    Several classifiers, measured on the same cases, are set beside each other in the plane of the
    two largest classes.
    """
    report = ReportFolder.at(folder)
    models = {"model": found} if isinstance(found, Capability) else dict(found)
    for name, frame in _tables(models).items():
        report.table(name, frame)
    if scale is not None:
        _write_scale(report, scale)
    first = next(iter(models.values()))
    report.figure("cases", partial(first.plot, "cases"))
    for model, one in models.items():
        _write_figures(report, one, f"_{file_name_of(model)}" if len(models) > 1 else "")
    if len(models) > 1:
        for rule in first.classes["rule"].unique():
            report.figure(f"plane{_of_rule(first, rule)}", partial(plane, models, str(rule)))
    said = {model: one.sentences() for model, one in models.items()}
    return report.finish({"sentences": said})


def limits(models: Mapping[str, Capability], rule: str) -> pd.DataFrame:
    """One row a model: the limit in each class, and its standard error as <class>_se."""
    import pandas as pd

    rows = {}
    for model, one in models.items():
        part = one.classes[one.classes["rule"] == rule]
        rows[model] = {str(label): row["mlc"] for label, row in part.iterrows()} | {
            f"{label}_se": row["mlc_se"] for label, row in part.iterrows()
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def _tables(models: Mapping[str, Capability]) -> dict[str, pd.DataFrame]:
    parts = {
        "classes": {name: one.classes for name, one in models.items()},
        "metrics": {name: one.metrics for name, one in models.items()},
        "accuracy": {name: one.accuracy_by_difficulty() for name, one in models.items()},
        "trace": {name: one.trace for name, one in models.items()},
        "cases": {name: one.cases for name, one in models.items()},
    }
    return {name: _by_model(frames) for name, frames in parts.items()}


def _by_model(frames: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Frames of one form below each other, told apart by a first column."""
    import pandas as pd

    flat = {name: one.reset_index() if one.index.name else one for name, one in frames.items()}
    parts = [one.assign(model=name)[["model", *one.columns]] for name, one in flat.items()]
    return pd.concat(parts, ignore_index=True)


def _write_scale(report: ReportFolder, scale: CaseDifficulty) -> None:
    report.table("items", scale.directions_)
    names = [str(label) for label in scale.classes_.tolist()]
    banks = names[1:] if len(names) == 2 else names  # of two classes, one scale serves both
    for name, calibration in zip(banks, scale.calibrations_, strict=True):
        report.bank(name, calibration)


def _write_figures(report: ReportFolder, one: Capability, ending: str) -> None:
    report.figure(f"accuracy{ending}", partial(one.plot, "accuracy"))
    for rule in one.classes["rule"].unique():
        for what in ("trace", "density"):
            name = f"{what}{ending}{_of_rule(one, rule)}"
            report.figure(name, partial(one.plot, what, rule=str(rule)))


def _of_rule(one: Capability, rule: Any) -> str:
    """The ending of a file that tells rules apart, where there are several."""
    return f"_{rule}" if len(set(one.classes["rule"])) > 1 else ""


def plane(models: Mapping[str, Capability], rule: str) -> Display:
    """The limits of all models in the two largest classes."""
    from itemwise.displays import DISPLAYS

    displays: Any = DISPLAYS
    first = next(iter(models.values()))
    sizes = first.classes[first.classes["rule"] == rule]["cases"]
    two = set(sizes.sort_values(ascending=False, kind="stable").index[:2])
    classes = [str(label) for label in sizes.index if label in two]
    found: Display = displays["capability_plane"](limits(models, rule), classes=classes).plot()
    return found
