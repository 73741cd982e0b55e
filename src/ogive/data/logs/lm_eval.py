"""Lm-evaluation-harness: samples, metrics, results.

Which metric of an lm-eval log is read, and which are not.

What the results beside lm-eval samples tell of the model, and of how it was asked.

Sample logs of the lm-evaluation-harness: samples_<task>_<date>.jsonl, one row per document.

A document has one row per filter, and each metric as a key; its content hash identifies the item.
What is known of the model is in results_<date>.json in the same folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ogive.data.logs.json_documents import (
    SURVEYED_LINES,
    Columns,
    Field,
    Trouble,
    columns,
    first_records,
    records,
    small_json,
)
from ogive.data.logs.merge_runs import likeliest
from ogive.data.logs.runs import (
    BROKEN_LINES,
    NO_IDENTITY,
    PASSAGES,
    SUBJECTS,
    Items,
    LogSettings,
    Passed,
    Run,
    as_fact,
    as_name,
    as_score,
    field_of,
    fingerprint,
    no_metric,
    part,
    question,
    settings,
    shortened,
)
from ogive.data.names import Fact
from ogive.errors import FileError
from ogive.results.numbers import shown

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
        """Return the metric that most rows have; of several, a preferred one or the first."""
        there = self.metrics
        ranked = [*(name for name in PREFERRED if name in there), *there]
        return max(ranked, key=lambda name: self.named[name], default=None)


def chosen_metric(
    path: Path, like: Sequence[Mapping[str, Any]], wanted: LogSettings
) -> tuple[str, list[str]]:
    """Return the metric to read, requested or usual, and remarks on it."""
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
    """Return remarks on the choice that a reader should know."""
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
    """Return the other metrics of these rows, whatever they hold."""
    listed = [row["metrics"] for row in like if isinstance(row.get("metrics"), list)]
    named = [str(name) for names in listed for name in names] or Survey().of(like).metrics
    others = [name for name in dict.fromkeys(named) if name != metric]
    return {"metric": others} if others else {}


IDENTITY = ("pretrained", "model", "model_name", "path")  # arguments that name the model
NO_CONDITION = ("until", "stop")


def model_name(results: Mapping[str, Any]) -> str | None:
    """Return the name of the model, or what its arguments call it."""
    name = as_name(results.get("model_name"))
    if name is not None:
        return name
    arguments = part(results, "config", "model_args")
    if isinstance(arguments, dict):
        arguments = f"pretrained={arguments.get('pretrained', '')}"
    match = re.search(r"(?:pretrained|model)=([^,]+)", str(arguments or ""))
    return as_name(match[1]) if match else None


def about(results: Mapping[str, Any], date: str) -> dict[str, Fact]:
    """Return facts about the model and the run."""
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


def conditions(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Return shots, generation, templates, arguments of the model, and versions."""
    config = part(results, "configs", task)
    generation = settings(part(config, "generation_kwargs"))
    shots = part(results, "n-shot", task)
    found: dict[str, Fact] = {
        "shots": as_fact(part(config, "num_fewshot") if shots is None else shots),
        **{name: value for name, value in generation.items() if name not in NO_CONDITION},
        "system": _short(results.get("system_instruction_sha")),
        "chat_template": _short(results.get("chat_template_sha")),
        "multiturn": as_fact(results.get("fewshot_as_multiturn")),
        **_model_arguments(part(results, "config", "model_args")),
        "task_version": as_fact(part(results, "versions", task)),
        "version": as_fact(results.get("lm_eval_version") or results.get("git_hash")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _short(digest: object) -> Fact:
    return f"#{digest[:6]}" if isinstance(digest, str) and digest else None


def _model_arguments(given: object) -> dict[str, Fact]:
    """Return arguments of the model, as an object or as a=1,b=2, without those that name it."""
    if isinstance(given, str):
        pairs = (one.partition("=") for one in given.split(","))
        given = {name.strip(): value for name, sign, value in pairs if sign}
    found = settings(given)
    return {name: value for name, value in found.items() if name not in IDENTITY}


def groups(results: Mapping[str, Any], task: str) -> dict[str, Fact]:
    """Return the group that a task belongs to, and the smaller one within it."""
    told = results.get("group_subtasks")
    parents = {
        str(name): group
        for group, names in (told.items() if isinstance(told, dict) else ())
        for name in (names if isinstance(names, list) else ())
    }
    chain: list[str] = []
    while task in parents and task not in chain:
        chain.append(task)
        task = str(parents[task])
    if not chain:
        return {}
    nearest = str(parents[chain[0]])
    found: dict[str, Fact] = {"group": task}
    return found if nearest == task else found | {"subgroup": nearest}


def prompt_hashes(like: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the prompts of the first rows, by the documents that they ask about."""
    found: dict[str, str] = {}
    for row in like:
        document, prompt = as_name(row.get("doc_hash")), as_name(row.get("prompt_hash"))
        if document and prompt:
            found.setdefault(document, prompt)
    return found


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
        """Return the results of the same date, or others in the folder if all are of one model."""
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
    """Return the needed part of results, which may be long."""
    names = (
        *("model_name", "config", "higher_is_better", "lm_eval_version", "git_hash"),
        *("configs", "n-shot", "versions", "group_subtasks", "system_instruction_sha"),
        *("chat_template_sha", "fewshot_as_multiturn"),
    )
    return {name: results[name] for name in names if name in results}


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
        next((key for doc in documents if (key := field_of(doc, known))), None)
        for known in (SUBJECTS, PASSAGES)
    )
    if subject:
        fields.append(Field("subject", ("doc", subject)))
    if passage:
        fields.append(Field("passage", ("doc", passage), "text"))
    return fields


def _further(wanted: LogSettings) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
    """Return what is made from whole rows, if anything is asked of them."""
    if wanted.keep_choices:
        texts = _texts if wanted.keep_text else lambda _: {}
        return lambda row: {**texts(row), CHOSEN: likeliest(row)}
    return _texts if wanted.keep_text else None


def _texts(row: dict[str, Any]) -> dict[str, Fact]:
    """Return question and target of a row; without a known question field, the prompt."""
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
