"""Instances of Every Eval Ever: <uuid>_samples.jsonl, one row per sample, any model and task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from itemwise.errors import FileError
from itemwise.responses.logs.json_lines import Columns, Field, Trouble, columns, first_records
from itemwise.responses.logs.log_runs import (
    BROKEN_LINES,
    FAILED,
    NO_IDENTITY,
    Items,
    LogSettings,
    Passed,
    Run,
    content_hash,
    no_metric,
    part,
    shortened,
    subject_and_document,
)
from itemwise.responses.names_and_facts import Fact

METRICS = ("score", "is_correct")
NOBODY = "without model or task"


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
        runs: dict[tuple[str, str], Run] = {}
        lost: Counter[str] = Counter()
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
            self._add(path, block, metric, runs, items, lost)
        if not runs:
            raise FileError(
                f"'{path}' has no row with model, task and id, so there is nothing to read."
            )
        first = next(iter(runs.values()))
        lost[BROKEN_LINES] = len(trouble.broken) + bool(trouble.cut)
        for why, rows in lost.items():
            first.leave_out(why, rows)
        first.remarks += trouble.sentences()
        yield from runs.values()

    def _add(
        self,
        path: Path,
        block: Columns,
        metric: str,
        runs: dict[tuple[str, str], Run],
        items: Items,
        lost: Counter[str],
    ) -> None:
        """Add the rows of a block."""
        for at in range(len(block["score"])):
            model, task = block["model"][at], block["task"][at]
            identity, key = block["id"][at], block["key"][at]
            if model is None or task is None:
                lost[NOBODY] += 1
                continue
            if identity is None and key is None:
                lost[NO_IDENTITY] += 1
                continue
            run = runs.get((model, task))
            if run is None:
                run = runs[model, task] = Run(path, self.name, model, task, metric)
                run.about = {"source": self.name, "version": block["version"][at]}
            if block["error"][at]:
                run.leave_out(FAILED)
                continue
            place = items.place(
                task, identity, key, together=identity is not None and key is not None
            )
            if run.add(place, block["score"][at]):
                items.tell(place, _facts(block, at))


def _metric(path: Path, like: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> str:
    """A requested metric, or the one that most of the first rows have."""
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
    """The hash that the schema describes: of question and references."""
    return content_hash(part(row, "input", "raw"), part(row, "input", "reference") or [])


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    reference = part(row, "input", "reference")
    target = reference[0] if isinstance(reference, list) and reference else None
    return {
        "subject": subject_and_document(row.get("metadata"))["subject"],
        "text": shortened(part(row, "input", "raw")),
        "target": shortened(target),
    }
