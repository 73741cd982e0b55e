"""Instances of Every Eval Ever: <uuid>_samples.jsonl, one row per sample, any model and task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ogive.data.logs.json_documents import (
    Columns,
    Field,
    FromRow,
    ParseErrors,
    first_rows,
    read_columns,
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
    OnBytes,
    Run,
    as_fact,
    as_score,
    condition_arguments,
    content_hash,
    missing_metric,
    nested,
    nested_list,
    shortened,
    subject_and_document,
    without_missing,
)
from ogive.data.names import Fact
from ogive.errors import FileError

METRICS = ("score", "is_correct")
NOBODY = "without model or task"
OTHER_RESULT = "of another result of the same samples"
FIELDS = (
    Field("model", ("model_id",)),
    Field("task", ("evaluation_name",)),
    Field("id", ("sample_id",)),
    Field("key", ("sample_hash",)),
    Field("version", ("schema_version",)),
    Field("evaluation", ("evaluation_id",)),
    Field("result", ("evaluation_result_id",)),
    Field("error", ("error",), "flag"),
    Field("subject", ("metadata", "subject")),
)


@dataclass(frozen=True)
class EveryEvalEver:
    """The common schema that the logs of several harnesses are converted to."""

    name: str = "every-eval-ever"

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the first fields of a row."""
        keys = (b'"sample_id"', b'"evaluation_name"', b'"evaluation_id"')
        known = b'"model_id"' in beginning and any(key in beginning for key in keys)
        return ".jsonl" in path.name and known

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield one run per model and task that the rows name."""
        like = first_rows(path, wanted.max_bytes)
        metric = _choose_metric(path, like, wanted.metrics)
        results_file = path.with_name(f"{path.name.partition('_samples')[0]}.json")
        reader = _RowReader(path, metric, items, small_json(results_file, wanted.max_bytes))
        errors = ParseErrors()
        for block in read_columns(
            path,
            [*FIELDS, Field("score", ("evaluation", metric), "score")],
            wanted.max_bytes,
            on_bytes,
            errors,
            like=like,
            from_row=_from_row(like, keep_text=wanted.keep_text),
        ):
            reader.add(block)
        if not reader.runs:
            raise FileError(
                f"'{path}' has no row with model, task and id, so there is nothing to read."
            )
        first = next(iter(reader.runs.values()))
        reader.left_out[BROKEN_LINES] = len(errors)
        for why, rows in reader.left_out.items():
            first.leave_out(why, rows)
        first.remarks += errors.remarks()
        yield from reader.runs.values()


@dataclass
class _RowReader:
    """Adds rows to the runs that they name: one per model, task and evaluation."""

    path: Path
    metric: str
    items: Items
    results: Mapping[str, Any]  # of the evaluation, from the file beside the samples
    runs: dict[tuple[str, str, str], Run] = field(default_factory=dict)
    result_ids: dict[tuple[str, str, str], str | None] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)  # rows that belong to no run

    def add(self, block: Columns) -> None:
        """Add the rows of a block; of several results of an evaluation, the first is read."""
        for at in range(len(block["score"])):
            model, task = block["model"][at], block["task"][at]
            identity, content = block["id"][at], block["key"][at]
            if model is None or task is None:
                self.left_out[NOBODY] += 1
                continue
            if identity is None and content is None:
                self.left_out[NO_IDENTITY] += 1
                continue
            key = model, task, block["evaluation"][at] or ""
            run = self.runs.get(key) or self._start_run(key, block, at)
            if block["result"][at] != self.result_ids[key]:
                run.leave_out(OTHER_RESULT)
                continue
            if block["error"][at]:
                run.leave_out(FAILED)
                continue
            both = identity is not None and content is not None
            item = self.items.number_of(task, identity, content, together=both)
            if run.add(item, block["score"][at]):
                facts = ("subject", "text", "target")
                self.items.add_facts(
                    item, {name: block[name][at] for name in facts if name in block}
                )

    def _start_run(self, key: tuple[str, str, str], block: Columns, at: int) -> Run:
        model, task, evaluation = key
        run = self.runs[key] = Run(self.path, EveryEvalEver.name, model, task, self.metric)
        run.model_facts = {"source": EveryEvalEver.name, "schema": block["version"][at]}
        run.run_id = evaluation
        self.result_ids[key] = block["result"][at]
        results = nested_list(self.results, "evaluation_results")
        own = next((one for one in results if nested(one, "evaluation_name") == task), None)
        conditions = condition_arguments(nested(own, "generation_config", "generation_args"))
        version = as_fact(nested(self.results, "eval_library", "version"))
        run.conditions = without_missing({**conditions, "version": version})
        low = as_score(nested(own, "metric_config", "min_score"))
        high = as_score(nested(own, "metric_config", "max_score"))
        if self.metric == "score" and low is not None and high is not None:
            run.task_facts = {LOWEST: low, HIGHEST: high}
        return run


def _choose_metric(path: Path, like: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> str:
    """Return a requested metric, or the one that most of the first rows have."""
    if wanted:
        known = [name for name in wanted if name in METRICS]
        if not known:
            raise missing_metric(path, wanted, METRICS)
        return known[0]
    return max(
        METRICS, key=lambda name: sum(nested(row, "evaluation", name) is not None for row in like)
    )


def _from_row(like: Sequence[Mapping[str, Any]], *, keep_text: bool) -> FromRow | None:
    """Return the function that makes texts, and a hash of the question if rows have none."""
    hashed = any(row.get("sample_hash") for row in like)
    if hashed and not keep_text:
        return None

    def from_row(row: dict[str, Any]) -> dict[str, Fact]:
        columns: dict[str, Fact] = {}
        question, reference = nested(row, "input", "raw"), nested(row, "input", "reference")
        if keep_text:
            columns["subject"] = subject_and_document(row.get("metadata"))["subject"]
            columns["text"] = shortened(question)
            target = reference[0] if isinstance(reference, list) and reference else None
            columns["target"] = shortened(target)
        if question and not hashed:  # as the schema describes it
            columns["key"] = content_hash(question, reference or [])
        return columns

    return from_row
