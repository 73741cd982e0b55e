"""Instances of Every Eval Ever: <uuid>_samples.jsonl, one row per sample, any model and task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ogive.data.logs.json_documents import (
    Columns,
    Field,
    Trouble,
    columns,
    first_records,
    small_json,
)
from ogive.data.logs.runs import (
    BROKEN_LINES,
    FAILED,
    HIGHEST,
    LOWEST,
    NO_IDENTITY,
    Items,
    LogSettings,
    Passed,
    Run,
    as_fact,
    as_score,
    content_hash,
    no_metric,
    part,
    settings,
    shortened,
    subject_and_document,
)
from ogive.data.names import Fact
from ogive.errors import FileError

METRICS = ("score", "is_correct")
NOBODY = "without model or task"
OTHER_RESULT = "of another result of the same samples"


@dataclass(frozen=True)
class EveryEvalEver:
    """The common schema that the logs of several harnesses are converted to."""

    name: str = "every-eval-ever"

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the first fields of a row."""
        keys = (b'"sample_id"', b'"evaluation_name"', b'"evaluation_id"')
        known = b'"model_id"' in beginning and any(key in beginning for key in keys)
        return ".jsonl" in path.name and known

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield one run per model and task that the rows name."""
        like = first_records(path, wanted.max_bytes)
        metric = _metric(path, like, wanted.metrics)
        teller = _Teller(path, metric, items, small_json(_aggregate(path), wanted.max_bytes))
        trouble = Trouble()
        for block in columns(
            path,
            _fields(metric),
            wanted.max_bytes,
            passed,
            trouble,
            like=like,
            extra=_extra(like, keep_text=wanted.keep_text),
        ):
            teller.add(block)
        if not teller.runs:
            raise FileError(
                f"'{path}' has no row with model, task and id, so there is nothing to read."
            )
        first = next(iter(teller.runs.values()))
        teller.lost[BROKEN_LINES] = len(trouble.broken) + bool(trouble.cut)
        for why, rows in teller.lost.items():
            first.leave_out(why, rows)
        first.remarks += trouble.sentences()
        yield from teller.runs.values()


@dataclass
class _Teller:
    """Adds rows to the runs that they name: one per model, task and evaluation."""

    path: Path
    metric: str
    items: Items
    beside: Mapping[str, Any]  # what the results of the same name tell
    runs: dict[tuple[str, str, str], Run] = field(default_factory=dict)
    results: dict[tuple[str, str, str], str | None] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)

    def add(self, block: Columns) -> None:
        """Add the rows of a block; of several results of an evaluation, the first is read."""
        for at in range(len(block["score"])):
            model, task = block["model"][at], block["task"][at]
            identity, content = block["id"][at], block["key"][at]
            if model is None or task is None:
                self.lost[NOBODY] += 1
                continue
            if identity is None and content is None:
                self.lost[NO_IDENTITY] += 1
                continue
            key = model, task, block["evaluation"][at] or ""
            run = self.runs.get(key) or self._begin(key, block, at)
            if block["result"][at] != self.results[key]:
                run.leave_out(OTHER_RESULT)
                continue
            if block["error"][at]:
                run.leave_out(FAILED)
                continue
            both = identity is not None and content is not None
            place = self.items.place(task, identity, content, together=both)
            if run.add(place, block["score"][at]):
                self.items.tell(place, _facts(block, at))

    def _begin(self, key: tuple[str, str, str], block: Columns, at: int) -> Run:
        model, task, evaluation = key
        run = self.runs[key] = Run(self.path, EveryEvalEver.name, model, task, self.metric)
        run.about = {"source": EveryEvalEver.name, "schema": block["version"][at]}
        run.conditions, run.origin = conditions(self.beside, task), evaluation
        run.of_task = bounds(self.beside, task) if self.metric == "score" else {}
        self.results[key] = block["result"][at]
        return run


def _aggregate(path: Path) -> Path:
    """Return the results that belong to samples: <uuid>.json beside <uuid>_samples.jsonl."""
    return path.with_name(f"{path.name.partition('_samples')[0]}.json")


def _result(results: Mapping[str, Any], task: str) -> object:
    """Return the first result of a task."""
    several = results.get("evaluation_results")
    listed = several if isinstance(several, list) else []
    return next((one for one in listed if part(one, "evaluation_name") == task), None)


def bounds(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Return the lowest and the highest score of a task, where the results state both."""
    told = part(_result(results, task), "metric_config")
    ends = as_score(part(told, "min_score")), as_score(part(told, "max_score"))
    return {} if None in ends else dict(zip((LOWEST, HIGHEST), ends, strict=True))


def conditions(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """How the model was asked, from the results of this task, and the version of the harness."""
    own = _result(results, task)
    found = settings(part(own, "generation_config", "generation_args"))
    found["version"] = as_fact(part(results, "eval_library", "version"))
    return {name: value for name, value in found.items() if value is not None}


def _metric(path: Path, like: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> str:
    """Return a requested metric, or the one that most of the first rows have."""
    if wanted:
        found = [name for name in wanted if name in METRICS]
        if not found:
            raise no_metric(path, wanted, METRICS)
        return found[0]
    return max(
        METRICS, key=lambda name: sum(part(row, "evaluation", name) is not None for row in like)
    )


def _fields(metric: str) -> list[Field]:
    return [
        Field("model", ("model_id",)),
        Field("task", ("evaluation_name",)),
        Field("id", ("sample_id",)),
        Field("key", ("sample_hash",)),
        Field("version", ("schema_version",)),
        Field("evaluation", ("evaluation_id",)),
        Field("result", ("evaluation_result_id",)),
        Field("error", ("error",), "flag"),
        Field("subject", ("metadata", "subject")),
        Field("score", ("evaluation", metric), "score"),
    ]


def _facts(block: Columns, at: int) -> dict[str, Fact]:
    return {name: block[name][at] for name in ("subject", "text", "target") if name in block}


def _extra(
    like: Sequence[Mapping[str, Any]], *, keep_text: bool
) -> Callable[[dict[str, Any]], dict[str, Fact]] | None:
    """What must be made from whole rows: texts, and a hash of the question if rows have none."""
    hashed = any(row.get("sample_hash") for row in like)

    def made(row: dict[str, Any]) -> dict[str, Fact]:
        found = _texts(row) if keep_text else {}
        return found if hashed or not part(row, "input", "raw") else found | {"key": _content(row)}

    return made if keep_text or not hashed else None


def _content(row: dict[str, Any]) -> str:
    """Return the hash that the schema describes: of question and references."""
    return content_hash(part(row, "input", "raw"), part(row, "input", "reference") or [])


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    reference = part(row, "input", "reference")
    target = reference[0] if isinstance(reference, list) and reference else None
    return {
        "subject": subject_and_document(row.get("metadata"))["subject"],
        "text": shortened(part(row, "input", "raw")),
        "target": shortened(target),
    }
