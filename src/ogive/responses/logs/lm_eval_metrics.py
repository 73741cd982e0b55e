"""Which metric of an lm-eval log is read, and which are not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ogive.errors import FileError
from ogive.responses.logs.json_lines import SURVEYED_LINES, records
from ogive.responses.logs.log_runs import LogSettings, no_metric
from ogive.responses.logs.log_values import as_score
from ogive.words import shown

PREFERRED = ("exact_match", "acc", "acc_norm", "pass@1", "mc1", "em", "f1")
_NO_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "schema_version", "task_hash", "sample_len"),
}


@dataclass
class Survey:
    """Counts the metrics of the first rows."""

    rows: int = 0
    named: Counter[str] = field(default_factory=Counter)  # rows that have the key
    numbers: Counter[str] = field(default_factory=Counter)  # rows in which it is a number
    texts: Counter[str] = field(default_factory=Counter)  # rows in which a number is spelled

    def of(self, rows: Iterable[Mapping[str, Any]]) -> Survey:
        """Add these rows."""
        for row in rows:
            self.rows += 1
            told = row.get("metrics")
            listed = told if isinstance(told, list) else []
            for key in dict.fromkeys([*map(str, listed), *row]):
                if key in row and key not in _NO_METRICS:
                    self.named[key] += 1
                    self.numbers[key] += as_score(row[key]) is not None
                    self.texts[key] += _spells_number(row[key])
        return self

    @property
    def metrics(self) -> list[str]:
        """Keys that hold a number somewhere, in the order of the rows."""
        return [key for key in self.named if self.numbers[key]]

    def usual(self) -> str | None:
        """The metric that most rows have; of several, a preferred one or the first."""
        there = self.metrics
        ranked = [*(name for name in PREFERRED if name in there), *there]
        return max(ranked, key=lambda name: self.named[name], default=None)


def chosen_metric(
    path: Path, like: Sequence[Mapping[str, Any]], wanted: LogSettings
) -> tuple[str, list[str]]:
    """The metric to read, requested or usual, and remarks on it."""
    if not like:
        raise FileError(f"'{path}' has no intact row among its first lines. Check how it was made.")
    survey = Survey().of(like)
    metric = _choice(survey, wanted.metrics)
    if metric is None or survey.numbers[metric] < survey.rows:
        survey = Survey().of(records(path, wanted.max_bytes, SURVEYED_LINES))
        metric = _choice(survey, wanted.metrics)
    if metric is None:
        asked = wanted.metrics or (*PREFERRED, *survey.texts)
        spelled = [name for name in asked if survey.texts[name]]
        if spelled:
            raise FileError(f"'{path}' gives {shown(spelled[0])} as text, not a number.")
        raise no_metric(path, wanted.metrics, survey.metrics)
    return metric, _odd(survey, metric)


def _choice(survey: Survey, wanted: Sequence[str]) -> str | None:
    if wanted:
        there = survey.metrics
        return next((name for name in wanted if name in there), None)
    return survey.usual()


def _odd(survey: Survey, metric: str) -> list[str]:
    """Remarks on the choice that a reader should know."""
    said = []
    lacking = survey.rows - survey.named[metric]
    others = [name for name in survey.metrics if name != metric and survey.named[name] <= lacking]
    if lacking and others:
        said.append(f"some rows have {', '.join(others[:3])} instead of {metric}, which is read")
    if survey.texts[metric]:
        said.append(f"in some rows {metric} is text, not a number")
    return said


def _spells_number(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def unread_metrics(like: Sequence[Mapping[str, Any]], metric: str) -> dict[str, list[str]]:
    """The other metrics of these rows, whatever they hold."""
    listed = [row["metrics"] for row in like if isinstance(row.get("metrics"), list)]
    named = [str(name) for names in listed for name in names] or Survey().of(like).metrics
    others = [name for name in dict.fromkeys(named) if name != metric]
    return {"metric": others} if others else {}
