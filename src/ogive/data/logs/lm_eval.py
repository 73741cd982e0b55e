"""Sample logs of the lm-evaluation-harness: samples_<task>_<date>.jsonl, one row per document.

A document has one row per filter, and each metric as a key; its content hash identifies the item.
What is known of the model is in results_<date>.json in the same folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ogive.data.logs.json_documents import (
    Columns,
    Field,
    FromRow,
    ParseErrors,
    first_rows,
    intact_rows,
    read_columns,
    small_json,
)
from ogive.data.logs.runs import (
    BROKEN_LINES,
    NO_IDENTITY,
    PASSAGES,
    SUBJECTS,
    Items,
    LogSettings,
    OnBytes,
    Run,
    as_fact,
    as_name,
    as_score,
    condition_arguments,
    first_text_field,
    missing_metric,
    nested,
    nested_dict,
    nested_list,
    option_label,
    question_of,
    short_hash,
    shortened,
    without_missing,
)
from ogive.data.names import Fact
from ogive.errors import FileError
from ogive.results.numbers import shown

PREFERRED = ("exact_match", "acc", "acc_norm", "pass@1", "mc1", "em", "f1")
_NO_METRICS = {
    *("doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"),
    *("doc_hash", "prompt_hash", "target_hash", "schema_version", "task_hash", "sample_len"),
}
_NAMES_OF_MODEL = ("pretrained", "model", "model_name", "path")  # arguments that name the model
_NO_CONDITION = ("until", "stop")
_RESULTS_KEPT = (
    *("model_name", "config", "higher_is_better", "lm_eval_version", "git_hash"),
    *("configs", "n-shot", "versions", "group_subtasks", "system_instruction_sha"),
    *("chat_template_sha", "fewshot_as_multiturn"),
)
_FILE_NAME = re.compile(r"samples_(.+?)(?:_(\d{4}-\d\d-\d\dT[\d.:+-]+))?\.jsonl(?:\.gz)?")

CHOSEN = "chosen"  # the column of options
SECOND_FILTER = "of another filter"
TWICE = "that are there twice"
TWICE_UNNAMED = "that are there twice, or of another filter without a name"
SAME_CONTENT = "with the content of an earlier row"


@dataclass
class LmEval:
    """The lm-evaluation-harness, run with --log_samples."""

    name: str = "lm-eval"
    _results: dict[Path, dict[Path, dict[str, Any]]] = field(default_factory=dict)

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the names of sample files, or the first fields of a row."""
        if ".jsonl" not in path.name or not beginning.lstrip(b"\xef\xbb\xbf").startswith(b"{"):
            return False
        named = _FILE_NAME.fullmatch(path.name) is not None
        return named or (b'"doc_id"' in beginning and b'"doc"' in beginning)

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield one run: a model on a task."""
        like = first_rows(path, wanted.max_bytes)
        metric, remarks = _choose_metric(path, like, wanted)
        run, sign = self._start_run(path, metric, wanted.max_bytes)
        run.remarks += remarks
        if unread := _unread_metrics(like, metric):
            run.unread["metric"] = unread
        for row in like:
            document, prompt = as_name(row.get("doc_hash")), as_name(row.get("prompt_hash"))
            if document and prompt:
                run.prompts.setdefault(document, prompt)
        errors, filters = ParseErrors(), _Filters(run, items)
        for block in read_columns(
            path,
            _fields(metric, like),
            wanted.max_bytes,
            on_bytes,
            errors,
            like=like,
            from_row=_from_row(wanted),
        ):
            filters.add(block, sign)
        filters.choose(wanted.filter)
        run.leave_out(BROKEN_LINES, len(errors))
        run.remarks += errors.remarks()
        yield run

    def _start_run(self, path: Path, metric: str, max_bytes: int) -> tuple[Run, float]:
        """Start the run from the file name and the results; return it and the sign of scores."""
        match = _FILE_NAME.fullmatch(path.name)
        task = match[1] if match else path.name.partition(".")[0]
        date = (match[2] if match else None) or ""
        results, remarks = self._results_of(path, date, max_bytes)
        name = _model_name(results)
        folder = path.absolute().parent.name.replace("__", "/")
        run = Run(path, self.name, name or folder, task, metric, date)
        run.has_model_name = name is not None
        run.remarks += remarks
        run.model_facts, run.run_id = _model_facts(results, date), date
        run.conditions, run.task_facts = _conditions(results, task), _groups(results, task)
        if nested(results, "higher_is_better", task, metric) is not False:
            return run, 1.0
        run.remarks.append(f"lower is better for {metric}: its scores were negated")
        return run, -1.0

    def _results_of(
        self, path: Path, date: str, max_bytes: int
    ) -> tuple[dict[str, Any], list[str]]:
        """Return the results of the same date, or others in the folder if all are of one model."""
        folder = path.parent
        if folder not in self._results:
            self._results[folder] = {}
            for file in sorted(folder.glob("results_*.json")):
                results = small_json(file, max_bytes)
                kept = {name: results[name] for name in _RESULTS_KEPT if name in results}
                self._results[folder][file] = kept
        beside = self._results[folder]
        same = [results for file, results in beside.items() if date and date in file.name]
        if same or not beside:
            return (same or [{}])[-1], []
        models = {_model_name(results) for results in beside.values()} - {None}
        if len(models) > 1:
            return {}, ["results in the folder are of several models: the folder names the model"]
        remark = "no results of its date in the folder: others name the model"
        return list(beside.values())[-1], [remark] if date and models else []


@dataclass
class _MetricCounts:
    """The number of rows that have each metric."""

    rows: int = 0
    named: Counter[str] = field(default_factory=Counter)  # rows that have the key
    numbers: Counter[str] = field(default_factory=Counter)  # rows in which it is a number
    texts: Counter[str] = field(default_factory=Counter)  # rows in which a number is spelled

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> _MetricCounts:
        """Count the metrics of these rows."""
        counts = cls()
        for row in rows:
            counts.rows += 1
            for key in dict.fromkeys([*map(str, nested_list(row, "metrics")), *row]):
                if key in row and key not in _NO_METRICS:
                    counts.named[key] += 1
                    counts.numbers[key] += as_score(row[key]) is not None
                    counts.texts[key] += _spells_number(row[key])
        return counts

    @property
    def metrics(self) -> list[str]:
        """Keys that hold a number somewhere, in the order of the rows."""
        return [key for key in self.named if self.numbers[key]]

    def choose(self, wanted: Sequence[str]) -> str | None:
        """Return the first metric that is wanted; by default the most frequent one.

        Of equally frequent metrics, a preferred one comes first.
        """
        known = self.metrics
        if wanted:
            return next((name for name in wanted if name in known), None)
        ranked = [*(name for name in PREFERRED if name in known), *known]
        return max(ranked, key=lambda name: self.named[name], default=None)


def _choose_metric(
    path: Path, like: Sequence[Mapping[str, Any]], wanted: LogSettings
) -> tuple[str, list[str]]:
    """Return the metric to read, requested or usual, and remarks on it."""
    if not like:
        raise FileError(f"'{path}' has no intact row among its first lines. Check how it was made.")
    counts = _MetricCounts.of(like)
    metric = counts.choose(wanted.metrics)
    if metric is None or counts.numbers[metric] < counts.rows:
        counts = _MetricCounts.of(intact_rows(path, wanted.max_bytes))
        metric = counts.choose(wanted.metrics)
    if metric is None:
        asked = wanted.metrics or (*PREFERRED, *counts.texts)
        spelled = [name for name in asked if counts.texts[name]]
        if spelled:
            raise FileError(f"'{path}' gives {shown(spelled[0])} as text, not a number.")
        raise missing_metric(path, wanted.metrics, counts.metrics)
    remarks = []
    lacking = counts.rows - counts.named[metric]
    others = [name for name in counts.metrics if name != metric and counts.named[name] <= lacking]
    if lacking and others:
        remarks.append(f"some rows have {', '.join(others[:3])} instead of {metric}, which is read")
    if counts.texts[metric]:
        remarks.append(f"in some rows {metric} is text, not a number")
    return metric, remarks


def _spells_number(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return False
    return True


def _unread_metrics(like: Sequence[Mapping[str, Any]], metric: str) -> list[str]:
    """Return the other metrics of these rows, whatever they hold."""
    named = [str(name) for row in like for name in nested_list(row, "metrics")]
    names = named or _MetricCounts.of(like).metrics
    return [name for name in dict.fromkeys(names) if name != metric]


def _model_name(results: Mapping[str, Any]) -> str | None:
    """Return the name of the model, or what its arguments call it."""
    name = as_name(results.get("model_name"))
    if name is not None:
        return name
    arguments = nested(results, "config", "model_args")
    if isinstance(arguments, dict):
        arguments = f"pretrained={arguments.get('pretrained', '')}"
    match = re.search(r"(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return as_name(match[1]) if match else None


def _model_facts(results: Mapping[str, Any], date: str) -> dict[str, Fact]:
    config = nested(results, "config")
    precision = nested(config, "model_dtype")
    return {
        "source": "lm-eval",
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
        "date": date or None,
        "precision": precision.removeprefix("torch.") if isinstance(precision, str) else None,
        "parameters": as_fact(nested(config, "model_num_parameters")),
        "revision": as_fact(nested(config, "model_revision")),
        "arguments": as_fact(nested(config, "model_args")),
    }


def _conditions(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Return shots, generation, templates, arguments of the model, and versions."""
    config = nested(results, "configs", task)
    generation = condition_arguments(nested(config, "generation_kwargs"))
    shots = nested(results, "n-shot", task)
    given = nested(results, "config", "model_args")
    if isinstance(given, str):  # a=1,b=2
        pairs = (one.partition("=") for one in given.split(","))
        given = {name.strip(): value for name, sign, value in pairs if sign}
    arguments = condition_arguments(given)

    def short(digest: object) -> Fact:
        return f"#{digest[:6]}" if isinstance(digest, str) and digest else None

    conditions: dict[str, Fact] = {
        "shots": as_fact(nested(config, "num_fewshot") if shots is None else shots),
        **{name: value for name, value in generation.items() if name not in _NO_CONDITION},
        "system": short(results.get("system_instruction_sha")),
        "chat_template": short(results.get("chat_template_sha")),
        "multiturn": as_fact(results.get("fewshot_as_multiturn")),
        **{name: value for name, value in arguments.items() if name not in _NAMES_OF_MODEL},
        "task_version": as_fact(nested(results, "versions", task)),
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
    }
    return without_missing(conditions)


def _groups(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Return the group that a task belongs to, and the smaller one within it."""
    parents = {
        str(name): str(group)
        for group, names in nested_dict(results, "group_subtasks").items()
        for name in (names if isinstance(names, list) else ())
    }
    chain: list[str] = []
    while task in parents and task not in chain:
        chain.append(task)
        task = parents[task]
    if not chain:
        return {}
    nearest = parents[chain[0]]
    return {"group": task} if nearest == task else {"group": task, "subgroup": nearest}


def _fields(metric: str, like: Sequence[Mapping[str, Any]]) -> list[Field]:
    """Return the fields to read; subject and passage only if the documents have them."""
    fields = [
        Field("id", ("doc_id",)),
        Field("key", ("doc_hash",)),
        Field("filter", ("filter",)),
        Field("score", (metric,), "score"),
    ]
    documents = [row.get("doc") for row in like]
    subject, passage = (
        next((key for doc in documents if (key := first_text_field(doc, known))), None)
        for known in (SUBJECTS, PASSAGES)
    )
    if subject:
        fields.append(Field("subject", ("doc", subject)))
    if passage:
        fields.append(Field("passage", ("doc", passage), "text"))
    return fields


def _from_row(wanted: LogSettings) -> FromRow | None:
    """Return the function that makes texts and choices from whole rows, if they are wanted."""
    if not wanted.keep_choices:
        return _texts if wanted.keep_text else None
    texts = _texts if wanted.keep_text else lambda _: {}
    return lambda row: {**texts(row), CHOSEN: likeliest_option(row)}


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    """Return question and target of a row; without a known question field, the prompt."""
    text = question_of(row.get("doc"))
    if text is None:
        text = shortened(nested(row, "arguments", "gen_args_0", "arg_0"))
    target = row.get("target")
    return {"text": text, "target": shortened(target if isinstance(target, str) else str(target))}


def likeliest_option(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return the option with the highest log-likelihood and the target of a row.

    They are named by their texts; by their numbers if the texts of options are not distinct.
    """
    answers = row.get("filtered_resps")
    if not isinstance(answers, list) or len(answers) < 2:
        return None, None
    try:
        values = [float(answer[0]) for answer in answers]
    except (TypeError, ValueError, IndexError, KeyError):
        return None, None
    best = int(np.argmax(values))
    texts = [
        option_label(nested(row, "arguments", f"gen_args_{k}", "arg_1")) for k in range(len(values))
    ]
    distinct = None not in texts and len(set(texts)) == len(texts)
    labels = [str(text) if distinct else str(k + 1) for k, text in enumerate(texts)]
    target = str(row.get("target", "")).strip()
    if target in labels:
        return labels[best], target
    number = int(target) if target.isdecimal() else len(labels)
    return labels[best], labels[number] if number < len(labels) else None


class _Filters:
    """Collects the rows of each filter, until all filters are known."""

    def __init__(self, run: Run, items: Items) -> None:
        self.run, self.items = run, items
        self.scores: dict[str | None, dict[int, float | None]] = {}
        self.ids: dict[int, str] = {}

    def add(self, block: Columns, sign: float) -> None:
        """Add the rows of a block."""
        fact_columns = [name for name in ("subject", "text", "target") if name in block]
        rows = zip(block["id"], block["key"], block["filter"], block["score"], strict=True)
        task, number_of, n_known = self.run.task, self.items.number_of, len(self.items)
        for at, (identity, key, name, score) in enumerate(rows):
            if identity is None and key is None:
                self.run.leave_out(NO_IDENTITY)
                continue
            item = number_of(task, identity, key)
            if item == n_known:  # a new item
                n_known += 1
                facts: dict[str, Fact] = {column: block[column][at] for column in fact_columns}
                if "passage" in block:
                    facts["document"] = short_hash(block["passage"][at])
                self.items.add_facts(item, facts)
            scores = self.scores.setdefault(name, {})
            if item in scores:
                again = TWICE if name else TWICE_UNNAMED  # old logs do not name filters
                self.run.leave_out(again if self.ids[item] == identity else SAME_CONTENT)
                continue
            self.ids.setdefault(item, identity)
            scores[item] = None if score is None else sign * score
            if CHOSEN in block:
                self.run.add_choice(self.items, item, *block[CHOSEN][at])

    def choose(self, wanted: str | None) -> None:
        """Keep the requested filter, a strict one, or the first."""
        names = list(self.scores)
        strict = [name for name in names if name and "strict" in name]
        known = wanted is not None and wanted in names
        chosen = wanted if known else (strict or names or [None])[0]
        if wanted is not None and not known and len(names) > 1:
            self.run.remarks.append(f"there is no filter {shown(wanted)}; {shown(chosen)} was read")
        if others := [name for name in names if name and name != chosen]:
            self.run.unread["filter"] = others
        if chosen:
            self.run.conditions["filter"] = chosen
        for name, scores in self.scores.items():
            if name == chosen:
                self.run.add_all(scores)
            else:
                self.run.leave_out(SECOND_FILTER, len(scores))
