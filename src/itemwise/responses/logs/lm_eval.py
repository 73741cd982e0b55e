"""Sample logs of the lm-evaluation-harness: samples_<task>_<date>.jsonl, a row a document.

A document has a row for each filter; its content hash says which item it is. What is known of the
model stands in results_<date>.json beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from itemwise.errors import FileError
from itemwise.responses.cells import shown
from itemwise.responses.facts import Fact
from itemwise.responses.logs.documents import PASSAGES, SUBJECTS, field_of, fingerprint, question
from itemwise.responses.logs.jsonfiles import small_json
from itemwise.responses.logs.lines import Columns, Field, Trouble, columns, first_records
from itemwise.responses.logs.runs import (
    Items,
    Passed,
    Run,
    Wanted,
    as_fact,
    as_score,
    part,
    shortened,
)

PREFERRED = ("exact_match", "acc", "acc_norm", "pass@1", "mc1", "em", "f1")
SECOND_FILTER = "of another filter"
SAME_CONTENT = "with the content of an earlier row"
NO_IDENTITY = "with neither doc_hash nor doc_id"

_NAME = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.:+-]+))?\.jsonl(?:\.gz)?")
_NO_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "schema_version", "task_hash", "sample_len"),
}


@dataclass
class LmEval:
    """The lm-evaluation-harness, run with --log_samples."""

    name: str = "lm-eval"
    _results: dict[Path, list[Path]] = field(default_factory=dict)

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """By the name of its sample files, or by the first fields of a row."""
        if ".jsonl" not in path.name:
            return False
        begins = beginning.lstrip(b"\xef\xbb\xbf").startswith(b"{")
        named = _NAME.fullmatch(path.name) is not None
        return begins and (named or (b'"doc_id"' in beginning and b'"doc"' in beginning))

    def read(self, path: Path, wanted: Wanted, items: Items, passed: Passed) -> Iterator[Run]:
        """One run: a model on a task."""
        like = first_records(path, wanted.max_bytes)
        metric = chosen_metric(path, like, wanted.metrics)
        run, sign = self._run(path, metric, wanted.max_bytes)
        trouble, filters = Trouble(), _Filters(run, items)
        for block in columns(
            path,
            _fields(metric, like),
            wanted.max_bytes,
            passed,
            trouble,
            like=like,
            extra=_texts if wanted.keep_text else None,
        ):
            filters.add(block, sign)
        filters.choose(wanted.filter)
        run.leave_out("on broken lines", len(trouble.broken) + bool(trouble.cut))
        run.remarks += trouble.sentences()
        yield run

    def _run(self, path: Path, metric: str, max_bytes: int) -> tuple[Run, float]:
        """What the name of the file and the results beside it tell, before the rows are read."""
        match = _NAME.fullmatch(path.name)
        task = match[1] if match else path.name.partition(".")[0]
        date = (match[2] if match else None) or ""
        results = self._told(path, date, max_bytes)
        folder = path.absolute().parent.name.replace("__", "/")
        run = Run(path, self.name, _model(results) or folder, task, metric, date)
        run.about = _about(results, date)
        lower = part(results, "higher_is_better", task, metric) is False
        if lower:
            run.remarks.append(f"lower is better in {metric}: its scores were made negative")
        return run, -1.0 if lower else 1.0

    def _told(self, path: Path, date: str, max_bytes: int) -> dict[str, Any]:
        """The results of the same date, or the latest that lie beside the samples."""
        folder = path.parent
        if folder not in self._results:
            self._results[folder] = sorted(folder.glob("results_*.json"))
        beside = self._results[folder]
        same = [file for file in beside if date and date in file.name]
        return small_json((same or beside)[-1], max_bytes) if beside else {}


def chosen_metric(path: Path, like: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> str:
    """The metric that is read: one that was asked for, the usual one, or the first there is."""
    named = [str(name) for row in like for name in _listed(row.get("metrics"))]
    found = [
        key
        for key in dict.fromkeys([*named, *(key for row in like for key in row)])
        if key not in _NO_METRICS and any(as_score(row.get(key)) is not None for row in like)
    ]
    if not like:
        raise FileError(f"'{path}' has no intact row among its first lines. Check how it was made.")
    for name in wanted or (*PREFERRED, *found):
        if name in found:
            return name
    if wanted:
        raise FileError(
            f"'{path}' has no metric {' or '.join(map(shown, wanted))}; "
            f"it has: {', '.join(found) or 'none that is a number'}."
        )
    raise FileError(f"'{path}' has no metric that is a number for each row, so nothing to read.")


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _fields(metric: str, like: Sequence[Mapping[str, Any]]) -> list[Field]:
    """What is read of a row; subject and passage only where the documents have them."""
    fields = [
        Field("id", ("doc_id",)),
        Field("key", ("doc_hash",)),
        Field("filter", ("filter",)),
        Field("score", (metric,), score=True),
    ]
    documents = [row.get("doc") for row in like]
    for name, known in (("subject", SUBJECTS), ("passage", PASSAGES)):
        found = next((key for doc in documents if (key := field_of(doc, known))), None)
        if found:
            fields.append(Field(name, ("doc", found)))
    return fields


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    """Question and target of a row; where no field is known to hold it, what was sent."""
    text = question(row.get("doc"))
    if text is None:
        text = shortened(part(row, "arguments", "gen_args_0", "arg_0"))
    target = row.get("target")
    return {"text": text, "target": shortened(target if isinstance(target, str) else str(target))}


class _Filters:
    """The rows of each filter, until it is known which filters there are."""

    def __init__(self, run: Run, items: Items) -> None:
        self.run, self.items = run, items
        self.found: dict[str | None, dict[int, float | None]] = {}
        self.ids: dict[int, str] = {}

    def add(self, block: Columns, sign: float) -> None:
        """Take the rows of a block."""
        told = [name for name in ("subject", "passage", "text", "target") if name in block]
        rows = zip(block["id"], block["key"], block["filter"], block["score"], strict=True)
        for at, (identity, key, name, score) in enumerate(rows):
            if identity is None and key is None:
                self.run.leave_out(NO_IDENTITY)
                continue
            known = len(self.items.keys)
            place = self.items.place(self.run.task, key or f"id {identity}", identity or key[:12])
            if told and place == known:
                self.items.tell(place, _facts(block, told, at))
            scores = self.found.setdefault(name, {})
            if place in scores:
                again = self.ids[place] == identity
                self.run.leave_out(SECOND_FILTER if again else SAME_CONTENT)
                continue
            self.ids.setdefault(place, identity)
            scores[place] = None if score is None else sign * score

    def choose(self, wanted: str | None) -> None:
        """Keep the filter that was asked for, a strict one, or the first."""
        names = list(self.found)
        strict = [name for name in names if name and "strict" in name]
        known = wanted is not None and wanted in names
        chosen = wanted if known else (strict or names or [None])[0]
        if wanted is not None and not known and len(names) > 1:
            self.run.remarks.append(f"there is no filter {shown(wanted)}; {shown(chosen)} was read")
        for name, scores in self.found.items():
            if name == chosen:
                for place, score in scores.items():
                    self.run.add(place, score)
            else:
                self.run.leave_out(SECOND_FILTER, len(scores))


def _facts(block: Columns, names: Sequence[str], at: int) -> dict[str, Fact]:
    facts: dict[str, Fact] = {name: block[name][at] for name in names if name != "passage"}
    if "passage" in names:
        facts["document"] = fingerprint(block["passage"][at])
    return facts


def _model(results: Mapping[str, Any]) -> str | None:
    name = results.get("model_name")
    if isinstance(name, str) and name:
        return name
    arguments = part(results, "config", "model_args")
    if isinstance(arguments, dict):
        arguments = f"pretrained={arguments.get('pretrained', '')}"
    match = re.search(r"(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return match[1] if match else None


def _about(results: Mapping[str, Any], date: str) -> dict[str, Fact]:
    config = part(results, "config")
    precision = part(config, "model_dtype")
    return {
        "source": "lm-eval",
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
        "date": date or None,
        "precision": precision.removeprefix("torch.") if isinstance(precision, str) else None,
        "parameters": as_fact(part(config, "model_num_parameters")),
        "revision": as_fact(part(config, "model_revision")),
        "arguments": as_fact(part(config, "model_args")),
    }
