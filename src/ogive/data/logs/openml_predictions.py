"""Predictions of OpenML runs: predictions.arff, one row per test instance and fold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from ogive._files import readable_file
from ogive.data.arff import read_arff
from ogive.data.logs.runs import (
    Items,
    LogSettings,
    OnBytes,
    Run,
    as_fact,
    missing_metric,
    option_label,
)
from ogive.data.names import Fact
from ogive.data.text_files import text_bytes
from ogive.errors import FileError
from ogive.results.numbers import joined

METRIC = "correct"
_RELATION = re.compile(rb"openml[_ ]task[_ ](\d{1,12})", re.I)
_TAG = re.compile(rb"<oml:(run_id|task_id|flow_id|flow_name|setup_id)>([^<]{1,300})</")
_DESCRIPTION = 64 * 1024**2  # bytes


@dataclass(frozen=True)
class OpenMLPredictions:
    """Runs of OpenML; a response is correct if the prediction is the true class."""

    name: str = "openml"

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the attributes that every table of predictions has."""
        text = beginning.lower()
        return ".arff" in path.name and b"row_id" in text and b"prediction" in text

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield one run: a flow on a task."""
        frame = read_arff(path, wanted.max_bytes)
        _check(path, frame)
        run = self._start_run(path, wanted.max_bytes)
        if wanted.metrics and METRIC not in wanted.metrics:
            raise missing_metric(path, wanted.metrics, [METRIC])
        predicted, truth = frame["prediction"], frame["correct"]
        right = (predicted.astype(str) == truth.astype(str)).astype(float)
        right[predicted.isna() | truth.isna()] = float("nan")
        folds = frame["fold"] if "fold" in frame else [None] * len(frame)
        for row, score, fold, label, true_label in zip(
            frame["row_id"], right, folds, predicted, truth, strict=True
        ):
            identity = f"{row:.0f}" if isinstance(row, float) else str(row)
            item = items.number_of(run.task, identity)
            if run.add(item, score) and "repeat" not in frame:
                items.add_facts(item, {"fold": as_fact(fold)})
            if wanted.keep_choices and score == score:
                options = option_label(str(label)), option_label(str(true_label))
                run.add_choice(items, item, *options)
        on_bytes(path.stat().st_size)
        yield run

    def _start_run(self, path: Path, max_bytes: int) -> Run:
        """Find task and flow in the description beside the file, in the file, or in its path."""
        described = _description(path.with_name("description.xml"))
        with text_bytes(path, max_bytes) as stream:
            match = _RELATION.search(stream.read(1 << 16))
        number = described.get("task_id") or (match[1].decode() if match else None)
        folder = path.absolute().parent.name
        file_name = path.name.partition(".")[0].removesuffix("predictions").strip("_-")
        model = described.get("flow_name") or file_name or folder
        task = f"openml-task:{number}" if number else folder
        run = Run(path, self.name, str(model), task, METRIC, repeats="repeats")
        run.model_facts = {"source": self.name, **described}
        setup = described.get("setup_id")  # a flow with its hyperparameters
        run.conditions = {} if setup is None else {"setup_id": setup}
        run.run_id = str(described.get("run_id") or "")
        return run


def _check(path: Path, frame: pd.DataFrame) -> None:
    if "truth" in frame and "correct" not in frame:
        raise FileError(
            f"'{path}' holds predictions of numbers, which are neither right nor wrong. "
            "Only predictions of classes are read."
        )
    if missing := [name for name in ("row_id", "prediction", "correct") if name not in frame]:
        raise FileError(
            f"'{path}' lacks {joined(missing)}: it does not hold predictions of OpenML."
        )
    if frame["row_id"].isna().any():
        raise FileError(f"'{path}' has a prediction without row_id. It is damaged.")


def _description(path: Path) -> dict[str, Fact]:
    """Read the description of a run as plain text: XML of unknown origin is not interpreted."""
    try:
        with readable_file(path, _DESCRIPTION).open("rb") as file:
            tags = _TAG.findall(file.read(1 << 20))
    except (OSError, FileError):
        return {}
    return {key.decode(): value.decode("utf-8", "backslashreplace").strip() for key, value in tags}
