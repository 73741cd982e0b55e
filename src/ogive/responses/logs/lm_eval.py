"""Sample logs of the lm-evaluation-harness: samples_<task>_<date>.jsonl, one row per document.

A document has one row per filter, and each metric as a key; its content hash identifies the item.
What is known of the model is in results_<date>.json in the same folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ogive.responses.logs.bounded_files import small_json
from ogive.responses.logs.json_lines import (
    Columns,
    Field,
    Trouble,
    columns,
    first_records,
)
from ogive.responses.logs.lm_eval_metrics import chosen_metric, unread_metrics
from ogive.responses.logs.lm_eval_results import (
    about,
    conditions,
    groups,
    model_name,
    prompt_hashes,
)
from ogive.responses.logs.log_choices import likeliest
from ogive.responses.logs.log_runs import (
    BROKEN_LINES,
    NO_IDENTITY,
    Items,
    LogSettings,
    Passed,
    Run,
)
from ogive.responses.logs.log_values import (
    PASSAGES,
    SUBJECTS,
    field_of,
    fingerprint,
    part,
    question,
    shortened,
)
from ogive.responses.names_and_facts import Fact
from ogive.words import shown

CHOSEN = "chosen"  # the column of options
SECOND_FILTER = "of another filter"
TWICE = "that are there twice"
TWICE_UNNAMED = "that are there twice, or of another filter without a name"
SAME_CONTENT = "with the content of an earlier row"

_NAME = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.:+-]+))?\.jsonl(?:\.gz)?")


@dataclass
class LmEval:
    """The lm-evaluation-harness, run with --log_samples."""

    name: str = "lm-eval"
    _results: dict[Path, dict[Path, dict[str, Any]]] = field(default_factory=dict)

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the names of sample files, or the first fields of a row."""
        if ".jsonl" not in path.name:
            return False
        begins = beginning.lstrip(b"\xef\xbb\xbf").startswith(b"{")
        named = _NAME.fullmatch(path.name) is not None
        return begins and (named or (b'"doc_id"' in beginning and b'"doc"' in beginning))

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield one run: a model on a task."""
        like = first_records(path, wanted.max_bytes)
        metric, remarks = chosen_metric(path, like, wanted)
        run, sign = self._run(path, metric, wanted.max_bytes)
        run.remarks += remarks
        run.unread |= unread_metrics(like, metric)
        run.prompts = prompt_hashes(like)
        trouble, filters = Trouble(), _Filters(run, items)
        for block in columns(
            path,
            _fields(metric, like),
            wanted.max_bytes,
            passed,
            trouble,
            like=like,
            extra=_further(wanted),
        ):
            filters.add(block, sign)
        filters.choose(wanted.filter)
        run.leave_out(BROKEN_LINES, len(trouble.broken) + bool(trouble.cut))
        run.remarks += trouble.sentences()
        yield run

    def _run(self, path: Path, metric: str, max_bytes: int) -> tuple[Run, float]:
        """Start the run from the file name and the results in the same folder."""
        match = _NAME.fullmatch(path.name)
        task = match[1] if match else path.name.partition(".")[0]
        date = (match[2] if match else None) or ""
        results, remark = self._told(path, date, max_bytes)
        folder = path.absolute().parent.name.replace("__", "/")
        run = Run(path, self.name, model_name(results) or folder, task, metric, date)
        run.named = model_name(results) is not None
        run.remarks += remark
        run.about, run.origin = about(results, date), date
        run.conditions = conditions(results, task)
        run.of_task = groups(results, task)
        lower = part(results, "higher_is_better", task, metric) is False
        if lower:
            run.remarks.append(f"lower is better for {metric}: its scores were negated")
        return run, -1.0 if lower else 1.0

    def _told(self, path: Path, date: str, max_bytes: int) -> tuple[dict[str, Any], list[str]]:
        """The results of the same date, or others in the folder if all are of one model."""
        folder = path.parent
        if folder not in self._results:
            files = sorted(folder.glob("results_*.json"))
            self._results[folder] = {file: _kept(small_json(file, max_bytes)) for file in files}
        beside = self._results[folder]
        same = [found for file, found in beside.items() if date and date in file.name]
        if same or not beside:
            return (same or [{}])[-1], []
        models = {model_name(found) for found in beside.values()} - {None}
        if len(models) > 1:
            return {}, ["results in the folder are of several models: the folder names the model"]
        remark = "no results of its date in the folder: others name the model"
        return list(beside.values())[-1], [remark] if date and models else []


def _kept(results: Mapping[str, Any]) -> dict[str, Any]:
    """The needed part of results, which may be long."""
    names = (
        *("model_name", "config", "higher_is_better", "lm_eval_version", "git_hash"),
        *("configs", "n-shot", "versions", "group_subtasks", "system_instruction_sha"),
        *("chat_template_sha", "fewshot_as_multiturn"),
    )
    return {name: results[name] for name in names if name in results}


def _fields(metric: str, like: Sequence[Mapping[str, Any]]) -> list[Field]:
    """The fields to read; subject and passage only if the documents have them."""
    fields = [
        Field("id", ("doc_id",)),
        Field("key", ("doc_hash",)),
        Field("filter", ("filter",)),
        Field("score", (metric,), "score"),
    ]
    documents = [row.get("doc") for row in like]
    subject, passage = (
        next((key for doc in documents if (key := field_of(doc, known))), None)
        for known in (SUBJECTS, PASSAGES)
    )
    if subject:
        fields.append(Field("subject", ("doc", subject)))
    if passage:
        fields.append(Field("passage", ("doc", passage), "text"))
    return fields


def _further(wanted: LogSettings) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """What is made from whole rows, if anything is asked of them."""
    if wanted.keep_choices:
        texts = _texts if wanted.keep_text else lambda _: {}
        return lambda row: {**texts(row), CHOSEN: likeliest(row)}
    return _texts if wanted.keep_text else None


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    """Question and target of a row; without a known question field, the prompt."""
    text = question(row.get("doc"))
    if text is None:
        text = shortened(part(row, "arguments", "gen_args_0", "arg_0"))
    target = row.get("target")
    return {"text": text, "target": shortened(target if isinstance(target, str) else str(target))}


class _Filters:
    """Collects the rows of each filter, until all filters are known."""

    def __init__(self, run: Run, items: Items) -> None:
        self.run, self.items = run, items
        self.found: dict[str | None, dict[int, float | None]] = {}
        self.ids: dict[int, str] = {}

    def add(self, block: Columns, sign: float) -> None:
        """Add the rows of a block."""
        told = [name for name in ("subject", "passage", "text", "target") if name in block]
        rows = zip(block["id"], block["key"], block["filter"], block["score"], strict=True)
        task, place_of, known = self.run.task, self.items.place, len(self.items)
        for at, (identity, key, name, score) in enumerate(rows):
            if identity is None and key is None:
                self.run.leave_out(NO_IDENTITY)
                continue
            place = place_of(task, identity, key)
            if place == known:  # a new item
                known += 1
                if told:
                    self.items.tell(place, _facts(block, told, at))
            scores = self.found.setdefault(name, {})
            if place in scores:
                again = TWICE if name else TWICE_UNNAMED  # old logs do not name filters
                self.run.leave_out(again if self.ids[place] == identity else SAME_CONTENT)
                continue
            self.ids.setdefault(place, identity)
            scores[place] = None if score is None else sign * score
            if CHOSEN in block:
                self.run.choose(self.items, place, *block[CHOSEN][at])

    def choose(self, wanted: str | None) -> None:
        """Keep the requested filter, a strict one, or the first."""
        names = list(self.found)
        strict = [name for name in names if name and "strict" in name]
        known = wanted is not None and wanted in names
        chosen = wanted if known else (strict or names or [None])[0]
        if wanted is not None and not known and len(names) > 1:
            self.run.remarks.append(f"there is no filter {shown(wanted)}; {shown(chosen)} was read")
        others = [name for name in names if name and name != chosen]
        if others:
            self.run.unread["filter"] = others
        if chosen:
            self.run.conditions["filter"] = chosen
        for name, scores in self.found.items():
            if name == chosen:
                self.run.add_all(scores)
            else:
                self.run.leave_out(SECOND_FILTER, len(scores))


def _facts(block: Columns, names: Sequence[str], at: int) -> dict[str, Fact]:
    facts: dict[str, Fact] = {name: block[name][at] for name in names if name != "passage"}
    if "passage" in names:
        facts["document"] = fingerprint(block["passage"][at])
    return facts
