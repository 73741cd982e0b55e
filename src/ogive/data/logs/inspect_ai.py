"""Logs of Inspect AI: .json, or .eval, which is a ZIP archive of JSON documents."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ogive.data.logs.json_documents import SMALL, Archive, JsonStream, open_archive, parsed
from ogive.data.logs.runs import (
    FAILED,
    NO_IDENTITY,
    SPENT,
    Items,
    LogSettings,
    OnBytes,
    Run,
    arguments_text,
    as_fact,
    as_name,
    as_score,
    condition_arguments,
    content_hash,
    flat_arguments,
    missing_metric,
    nested,
    nested_dict,
    nested_list,
    option_label,
    shortened,
    subject_and_document,
    without_missing,
)
from ogive.data.names import Fact
from ogive.data.text_files import text_bytes
from ogive.errors import FileError
from ogive.results.numbers import counted

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}  # correct, incorrect, partial, no answer
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_INPUT = ("input_tokens", "input_tokens_cache_read", "input_tokens_cache_write")
USAGE = dict(zip(SPENT, (_INPUT, ("output_tokens",), ("total_cost",)), strict=True))
LARGEST = 1e12  # tokens of one answer that are believed

STOPPED = "stopped by a limit and not scored"
NOT_JUDGED = "that no scorer judged"

LONGEST_SUMMARY = 5_120  # characters of a text in the summaries of an archive
_CUT = "...\n(content truncated)"
_STARTED = "_journal/start.json"  # the header of a run that has not ended

Metric = tuple[str, str | None]  # a scorer, and which of its values if it gives several


@dataclass(frozen=True)
class InspectAI:
    """Inspect AI; letter grades of a scorer become numbers."""

    name: str = "inspect"

    def recognises(self, path: Path, beginning: bytes) -> bool:
        """Recognise the ending .eval, or the first keys of the document."""
        if path.name.endswith(".eval"):
            return True
        keys = (b'"version"', b'"status"', b'"eval"')
        return path.name.endswith((".json", ".json.gz")) and all(key in beginning for key in keys)

    def read(
        self, path: Path, wanted: LogSettings, items: Items, on_bytes: OnBytes
    ) -> Iterator[Run]:
        """Yield one run: a model on a task."""
        opened = _open_archive if path.name.endswith(".eval") else _open_document
        with opened(path, wanted, on_bytes) as (header, samples):
            run = _start_run(path, header)
            reader = _SampleReader(run, items, wanted, header)
            for sample in samples:
                reader.add(sample)
        if not run.rows:
            reader.add_reductions()
        _check_status(run, header)
        reader.add_remarks()
        yield run


def _start_run(path: Path, header: Mapping[str, Any]) -> Run:
    about = nested(header, "eval")
    model, task = as_name(nested(about, "model")), as_name(nested(about, "task"))
    if model is None or task is None:
        raise FileError(f"'{path}' does not name its model and task; it is not a log.")
    run = Run(path, InspectAI.name, model, task, date=as_name(nested(about, "created")) or "")
    run.model_facts = {"source": "inspect", "date": run.date or None}
    run.run_id = as_name(nested(about, "task_id")) or as_name(nested(about, "eval_id")) or ""
    plan = nested(header, "plan")
    generation = nested_dict(about, "model_generate_config") | nested_dict(plan, "config")
    # Arguments of the task that change the questions are no condition: the items differ then.
    conditions: dict[str, Fact] = {
        **flat_arguments(nested_dict(about, "task_args")),
        **condition_arguments(nested_dict(about, "model_args")),
        **condition_arguments(generation),
        **flat_arguments({"roles": nested_dict(about, "model_roles")}),
        "solver": _solvers(nested_list(plan, "steps")),
        "task_version": as_fact(nested(about, "task_version")),
        "version": as_fact(nested(about, "packages", "inspect_ai")),
    }
    run.conditions = without_missing(conditions)
    return run


def _solvers(steps: list[Any]) -> Fact:
    """Return the names of the solvers, with a hash of their settings, such as a template."""
    names = [str(nested(step, "solver")) for step in steps]
    settings = [nested(step, "params") or {} for step in steps]
    plain = all(not one or one == {"tool_calls": "loop"} for one in settings)
    tail = "" if plain else f" #{content_hash(settings)[:6]}"
    return f"{' > '.join(names)}{tail}" if steps else None


class _SampleReader:
    """Adds samples to a run, and counts those that are not responses."""

    def __init__(
        self, run: Run, items: Items, wanted: LogSettings, header: Mapping[str, Any]
    ) -> None:
        self.run, self.items, self.wanted, self.header = run, items, wanted, header
        self.n_limited = 0  # samples that hit a limit, but were scored
        self.metric: Metric | None = None
        self.scorers: dict[str, None] = {}
        self.metrics: list[str] = []  # of the first sample
        self.arguments = arguments_text(nested_dict(header, "eval", "task_args"))

    def add(self, sample: object) -> None:
        """Add one sample."""
        run, items = self.run, self.items
        identity = as_name(nested(sample, "id"))
        scores = nested(sample, "scores") or nested(sample, "score")
        if identity is None:
            run.leave_out(NO_IDENTITY)
            return
        if nested(sample, "error"):
            run.leave_out(FAILED)
            return
        if not isinstance(scores, dict) or not scores:
            run.leave_out(STOPPED if nested(sample, "limit") else NOT_JUDGED)
            return
        self.n_limited += bool(nested(sample, "limit"))
        item = items.number_of(
            run.task, identity, question_hash(sample), arguments=self.arguments, together=True
        )
        self.scorers.update(dict.fromkeys(scores))
        if self.metric is None:
            self.metric = self._choose_metric(scores)
            run.metric = _metric_name(self.metric)
        scorer, key = self.metric
        value = nested(scores, scorer, "value")
        if run.add(item, as_number(value if key is None else nested(value, key))):
            epoch = nested(sample, "epoch")
            run.epoch_numbers.append(epoch if type(epoch) is int and 0 <= epoch < 1 << 20 else 0)
            run.add_spending(_spending(sample))
            items.add_facts(item, self._facts(sample))
            if self.wanted.keep_choices:
                letters = nested(scores, scorer, "answer"), nested(sample, "target")
                choices = nested(sample, "choices")
                chosen, right = (option_of_letter(letter, choices) for letter in letters)
                run.add_choice(items, item, chosen, right)

    def _choose_metric(self, scores: Mapping[str, Any]) -> Metric:
        """Choose a scorer, and one of its values if it gives several."""
        metrics: list[Metric] = []
        for scorer in scores:
            keys = nested_dict(scores, scorer, "value")
            metrics += [(scorer, key) for key in keys or [None]]
        self.metrics = list(map(_metric_name, metrics))
        for wanted in self.wanted.metrics:
            for metric in metrics:
                if wanted in (_metric_name(metric), *metric):
                    return metric
        if self.wanted.metrics:
            raise missing_metric(self.run.file, self.wanted.metrics, self.metrics)
        return metrics[0]

    def _facts(self, sample: object) -> dict[str, Fact]:
        facts = subject_and_document(nested(sample, "metadata"))
        if self.wanted.keep_text:
            text, target = nested(sample, "input"), nested(sample, "target")
            if isinstance(text, list) and text:  # messages, of which the last asks
                text = nested(text[-1], "content")
            facts["text"] = shortened(text)
            facts["target"] = shortened(target if isinstance(target, str) else json.dumps(target))
        return facts

    def add_reductions(self) -> None:
        """Add the scores of a log without samples, which may hold them with epochs reduced."""
        reductions = nested(self.header, "reductions") or nested(
            self.header, "results", "sample_reductions"
        )
        by_sample: dict[str | None, dict[str, Any]] = {}
        for reduction in reductions if isinstance(reductions, list) else []:
            scorer = as_name(nested(reduction, "scorer"))
            for row in nested_list(reduction, "samples") if scorer else []:
                scores = by_sample.setdefault(as_name(nested(row, "sample_id")), {})
                scores.setdefault(str(scorer), {"value": nested(row, "value")})
        for identity, scores in by_sample.items():
            self.add({"id": identity, "scores": scores})
        if self.run.rows:
            self.run.remarks.append("it holds no samples; the scores are those of its reductions")

    def add_remarks(self) -> None:
        """Add remarks on what the counts do not show, and the names of scores not read."""
        if self.n_limited:
            samples = counted(self.n_limited, "sample")
            self.run.remarks.append(f"{samples} hit a limit; their scores are used")
        chosen = self.metric[0] if self.metric else None
        others = [name for name in dict.fromkeys(self.metrics) if name != self.run.metric]
        named = {name.partition("/")[0] for name in others}
        others += [name for name in self.scorers if name != chosen and name not in named]
        if others:
            self.run.unread["score"] = others


def _spending(sample: object) -> dict[str, float]:
    """Return tokens and cost of one answer, of all models: also of those that judge it."""
    spending: dict[str, float] = {}
    for usage in nested_dict(sample, "model_usage").values():
        for name, keys in USAGE.items():
            for amount in (nested(usage, key) for key in keys):
                if type(amount) in (int, float) and 0 <= amount < LARGEST:
                    spending[name] = spending.get(name, 0.0) + amount
    return spending


def as_number(value: object) -> float | None:
    """Convert the value of a scorer: a number, a letter, or a word."""
    if not isinstance(value, str):
        return as_score(value)
    if value in LETTERS:
        return LETTERS[value]
    if value.lower() in _WORDS:
        return _WORDS[value.lower()]
    if not value.isascii() or "_" in value:  # Python also reads 1_0, and the digits of any script
        return None
    try:
        return float(value)
    except ValueError:
        return None


def _metric_name(metric: Metric) -> str:
    scorer, key = metric
    return scorer if key is None else f"{scorer}/{key}"


def option_of_letter(letter: object, choices: object) -> str | None:
    """Return the option that a letter names, among the texts of all; None if it names none."""
    if not isinstance(choices, list) or not isinstance(letter, str):
        return None
    at = ord(letter.strip()[:1].upper() or "?") - ord("A")
    return option_label(str(choices[at])) if 0 <= at < len(choices) else None


def question_hash(sample: object) -> str | None:
    """Return a hash of question and right answer; None if the log holds no question.

    A sample and its summary, which cuts long texts and leaves out images, have one hash. The order
    of choices does not matter.
    """
    question, target = nested(sample, "input"), nested(sample, "target")
    if not question:
        return None
    choices = nested_list(sample, "choices")
    if not choices:
        return content_hash(_texts(question), _texts(target))
    letters = target if isinstance(target, list) else list(str(target or ""))
    places = [ord(str(letter)[:1] or "?") - ord("A") for letter in letters]
    right = [choices[at] for at in places if 0 <= at < len(choices)] or _texts(target)
    return content_hash(_texts(question), sorted(map(str, choices)), sorted(map(str, right)))


def _texts(messages: object) -> list[str]:
    """Return the texts of an input or target, as a summary holds them."""
    if isinstance(messages, str):
        return [messages.removesuffix(_CUT)[:LONGEST_SUMMARY]]
    if not isinstance(messages, list):
        return [] if messages is None else [str(messages)]
    texts: list[str] = []
    for one in messages:
        if not isinstance(one, dict):
            texts += _texts(str(one))
        elif "content" in one:
            texts += [str(one.get("role", "")), *_texts(one["content"])]
        elif one.get("type", "text") == "text":
            texts += _texts(str(one.get("text", "")))
        else:
            texts.append(f"({str(one['type']).capitalize()})")
    return texts


def _check_status(run: Run, header: Mapping[str, Any]) -> None:
    status = as_name(nested(header, "status"))
    if not run.rows:
        raise FileError(
            f"'{run.file}' holds no samples (status: {status or 'unknown'}): nothing to read."
        )
    if status not in (None, "success"):
        n_planned = len(nested_list(header, "eval", "dataset", "sample_ids"))
        planned = f" of {n_planned:,}" if n_planned else ""
        run.remarks.append(f"the run has status {status}: {run.rows:,}{planned} samples")


@contextmanager
def _open_archive(
    path: Path, wanted: LogSettings, on_bytes: OnBytes
) -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    with open_archive(path, wanted.max_bytes) as archive:
        header = _member(archive, "header.json" if "header.json" in archive else _STARTED)
        if not isinstance(header, dict):
            raise FileError(f"'{path}' holds a header that is not an object. It is not a log.")
        if "reductions.json" in archive:
            header["reductions"] = _member(archive, "reductions.json")
        yield header, _archived_samples(archive, with_options=wanted.keep_choices)
        on_bytes(path.stat().st_size)


def _member(archive: Archive, name: str) -> Any:
    if name not in archive:
        raise FileError(
            f"'{archive.path}' has neither header.json nor {_STARTED}: it is not a log."
        )
    return parsed(archive.read(name, SMALL), f"'{archive.path}', member '{name}'")


def _archived_samples(archive: Archive, *, with_options: bool) -> Iterator[Any]:
    """Yield all samples: from the summaries, which are short and have the scores, or one by one.

    Only samples themselves hold their options.
    """
    whole = ["summaries.json"] if "summaries.json" in archive else []
    summaries = [] if with_options else whole or archive.names("_journal/summaries/")
    for name in summaries:
        content = io.BytesIO(archive.read(name))
        yield from JsonStream(content, f"'{archive.path}', member '{name}'").elements()
    if not summaries:
        for name in archive.names("samples/"):
            yield _member(archive, name)


@contextmanager
def _open_document(
    path: Path, wanted: LogSettings, on_bytes: OnBytes
) -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    """Yield the keys before the samples, and the samples; later keys are added to the header."""
    header: dict[str, Any] = {}
    with text_bytes(path, wanted.max_bytes, on_bytes) as stream:
        document = JsonStream(stream, f"'{path}'")
        members = document.members()

        def samples() -> Iterator[Any]:
            yield from document.elements()
            for key, _ in members:
                header[key] = document.value()

        for key, is_list in members:
            if key == "samples" and is_list:
                yield header, samples()
                return
            header[key] = document.value()
        yield header, iter(())
