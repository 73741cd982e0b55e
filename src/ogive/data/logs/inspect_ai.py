"""Logs of Inspect AI: .json, or .eval, which is a ZIP archive of JSON documents."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ogive.data.logs.json_documents import SMALL, Archive, Pieces, open_archive, parsed
from ogive.data.logs.merge_runs import lettered
from ogive.data.logs.runs import (
    FAILED,
    NO_IDENTITY,
    SPENT,
    Items,
    LogSettings,
    Passed,
    Run,
    as_fact,
    as_name,
    as_score,
    content_hash,
    in_words,
    no_metric,
    part,
    plain_arguments,
    settings,
    shortened,
    subject_and_document,
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

    def read(self, path: Path, wanted: LogSettings, items: Items, passed: Passed) -> Iterator[Run]:
        """Yield one run: a model on a task."""
        reader = _zipped if path.name.endswith(".eval") else _plain
        with reader(path, wanted, passed) as (header, samples):
            run = self._run(path, header)
            teller = _Teller(run, items, wanted, header)
            for sample in samples:
                teller.add(sample)
        if not run.rows:
            teller.add_reductions()
        _check_status(run, header)
        teller.remark()
        yield run

    def _run(self, path: Path, header: Mapping[str, Any]) -> Run:
        told = part(header, "eval")
        model, task = as_name(part(told, "model")), as_name(part(told, "task"))
        if model is None or task is None:
            raise FileError(f"'{path}' does not name its model and task; it is not a log.")
        run = Run(path, self.name, model, task, date=as_name(part(told, "created")) or "")
        run.about = {"source": "inspect", "date": run.date or None}
        run.origin = as_name(part(told, "task_id")) or as_name(part(told, "eval_id")) or ""
        run.conditions = conditions(header)
        return run


def conditions(header: Mapping[str, Any]) -> dict[str, Fact]:
    """Arguments of task, generation and model, solver, roles and versions; see `plain_arguments`.

    Arguments of the task that change the questions are no condition: the items differ then.
    """
    told = part(header, "eval")
    generation = _object(told, "model_generate_config") | _object(part(header, "plan"), "config")
    roles = part(told, "model_roles")
    found: dict[str, Fact] = {
        **plain_arguments(_object(told, "task_args")),
        **settings(_object(told, "model_args")),
        **settings(generation),
        **plain_arguments({"roles": roles} if isinstance(roles, dict) else {}),
        "solver": _solver(part(header, "plan", "steps")),
        "task_version": as_fact(part(told, "task_version")),
        "version": as_fact(part(told, "packages", "inspect_ai")),
    }
    return {name: value for name, value in found.items() if value is not None}


def _solver(steps: object) -> Fact:
    """Return the names of the solvers, with a hash of their settings, such as a template."""
    if not isinstance(steps, list) or not steps:
        return None
    names = [str(part(step, "solver")) for step in steps]
    settings = [part(step, "params") or {} for step in steps]
    plain = all(not one or one == {"tool_calls": "loop"} for one in settings)
    tail = "" if plain else f" #{content_hash(settings)[:6]}"
    return f"{' > '.join(names)}{tail}"


def _epoch(sample: object) -> int:
    number = part(sample, "epoch")
    return number if type(number) is int and 0 <= number < 1 << 20 else 0


def _used(sample: object) -> dict[str, float]:
    """Tokens of one answer, and what they cost, of all models: also of those that judge it."""
    found: dict[str, float] = {}
    for usage in _object(sample, "model_usage").values():
        for name, keys in USAGE.items():
            for amount in (part(usage, key) for key in keys):
                if type(amount) in (int, float) and 0 <= amount < LARGEST:
                    found[name] = found.get(name, 0.0) + amount
    return found


def _object(record: object, key: str) -> dict[str, Any]:
    found = part(record, key)
    return found if isinstance(found, dict) else {}


class _Teller:
    """Adds samples to a run, and counts those that are not responses."""

    def __init__(
        self, run: Run, items: Items, wanted: LogSettings, header: Mapping[str, Any]
    ) -> None:
        self.run, self.items, self.wanted, self.header = run, items, wanted, header
        self.limited = 0
        self.metric: tuple[str, str | None] | None = None  # scorer, and which of its values
        self.scorers: dict[str, None] = {}
        self.others: dict[str, None] = {}  # what the first sample has beside the metric
        self.arguments = in_words(_object(part(header, "eval"), "task_args"))

    def add(self, sample: object) -> None:
        """Add one sample."""
        identity = as_name(part(sample, "id"))
        scores = part(sample, "scores") or part(sample, "score")
        if identity is None:
            self.run.leave_out(NO_IDENTITY)
        elif part(sample, "error"):
            self.run.leave_out(FAILED)
        elif not isinstance(scores, dict) or not scores:
            self.run.leave_out(STOPPED if part(sample, "limit") else NOT_JUDGED)
        else:
            self.limited += bool(part(sample, "limit"))
            place = self.items.place(
                self.run.task, identity, asked(sample), arguments=self.arguments, together=True
            )
            if self.run.add(place, as_number(self._value(scores))):
                self.run.numbers.append(_epoch(sample))
                self.run.spend(_used(sample))
                self.items.tell(place, self._facts(sample))
                if self.wanted.keep_choices and self.metric is not None:
                    said = part(scores, self.metric[0], "answer"), part(sample, "target")
                    found = [lettered(letter, part(sample, "choices")) for letter in said]
                    self.run.choose(self.items, place, *found)

    def _value(self, scores: Mapping[str, Any]) -> object:
        """Return the value of the chosen scorer, or one of its several values."""
        self.scorers.update(dict.fromkeys(scores))
        if self.metric is None:
            self.metric = self._metric(scores)
            self.run.metric = _spelled(self.metric)
        scorer, key = self.metric
        value = part(scores, scorer, "value")
        return value if key is None else part(value, key)

    def _metric(self, scores: Mapping[str, Any]) -> tuple[str, str | None]:
        """Choose a scorer, and one of its values if it gives several."""
        found: list[tuple[str, str | None]] = []
        for scorer in scores:
            value = part(scores, scorer, "value")
            found += (
                [(scorer, key) for key in value or [None]]
                if isinstance(value, dict)
                else [(scorer, None)]
            )
        self.others = {_spelled(pair): None for pair in found}
        for wanted in self.wanted.metrics:
            for pair in found:
                if wanted in (_spelled(pair), *pair):
                    return pair
        if self.wanted.metrics:
            raise no_metric(self.run.file, self.wanted.metrics, map(_spelled, found))
        return found[0]

    def _facts(self, sample: object) -> dict[str, Fact]:
        facts = subject_and_document(part(sample, "metadata"))
        if self.wanted.keep_text:
            target = part(sample, "target")
            facts["text"] = shortened(_said(part(sample, "input")))
            facts["target"] = shortened(target if isinstance(target, str) else json.dumps(target))
        return facts

    def add_reductions(self) -> None:
        """Add the scores of a log without samples, which may hold them with epochs reduced."""
        several = part(self.header, "reductions") or part(
            self.header, "results", "sample_reductions"
        )
        found: dict[str | None, dict[str, Any]] = {}
        for reduction in several if isinstance(several, list) else []:
            scorer, rows = as_name(part(reduction, "scorer")), part(reduction, "samples")
            for row in rows if isinstance(rows, list) and scorer else []:
                scores = found.setdefault(as_name(part(row, "sample_id")), {})
                scores.setdefault(str(scorer), {"value": part(row, "value")})
        for identity, scores in found.items():
            self.add({"id": identity, "scores": scores})
        if self.run.rows:
            self.run.remarks.append("it holds no samples; the scores are those of its reductions")

    def remark(self) -> None:
        """Add remarks on what the counts do not show."""
        if self.limited:
            self.run.remarks.append(
                f"{counted(self.limited, 'sample')} hit a limit; their scores are used"
            )
        read = self.metric[0] if self.metric else None
        later = {name: None for name in self.scorers if name != read}  # not of the first sample
        named = [name for name in self.others if name != self.run.metric]
        seen = {name.partition("/")[0] for name in named}
        if others := [*named, *(name for name in later if name not in seen)]:
            self.run.unread["score"] = others


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


def _spelled(metric: tuple[str, str | None]) -> str:
    scorer, key = metric
    return scorer if key is None else f"{scorer}/{key}"


LONGEST_SUMMARY = 5_120  # characters of a text in the summaries of an archive
_CUT = "...\n(content truncated)"


def asked(sample: object) -> str | None:
    """Return a hash of question and right answer; None if the log holds no question.

    It is the same whether it is made from a sample or from its summary, which cuts long texts and
    leaves out images. The order of choices does not matter.
    """
    question, target = part(sample, "input"), part(sample, "target")
    if not question:
        return None
    choices = part(sample, "choices")
    if not isinstance(choices, list) or not choices:
        return content_hash(_texts(question), _texts(target))
    letters = target if isinstance(target, list) else list(str(target or ""))
    places = [ord(str(letter)[:1] or "?") - ord("A") for letter in letters]
    right = [choices[at] for at in places if 0 <= at < len(choices)] or _texts(target)
    return content_hash(_texts(question), sorted(map(str, choices)), sorted(map(str, right)))


def _texts(said: object) -> list[str]:
    """Return the texts of an input or target, as a summary holds them."""
    if isinstance(said, str):
        return [said.removesuffix(_CUT)[:LONGEST_SUMMARY]]
    if not isinstance(said, list):
        return [] if said is None else [str(said)]
    found: list[str] = []
    for one in said:
        if not isinstance(one, dict):
            found += _texts(str(one))
        elif "content" in one:
            found += [str(one.get("role", "")), *_texts(one["content"])]
        elif one.get("type", "text") == "text":
            found += _texts(str(one.get("text", "")))
        else:
            found.append(f"({str(one['type']).capitalize()})")
    return found


def _said(text: object) -> object:
    """Return the input of a sample: text, or the content of its last message."""
    return part(text[-1], "content") if isinstance(text, list) and text else text


def _check_status(run: Run, header: Mapping[str, Any]) -> None:
    status = as_name(part(header, "status"))
    if not run.rows:
        raise FileError(
            f"'{run.file}' holds no samples (status: {status or 'unknown'}): nothing to read."
        )
    if status not in (None, "success"):
        total = part(header, "eval", "dataset", "sample_ids")
        of = f" of {len(total):,}" if isinstance(total, list) and total else ""
        run.remarks.append(f"the run has status {status}: {run.rows:,}{of} samples")


@contextmanager
def _zipped(
    path: Path, wanted: LogSettings, passed: Passed
) -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    with open_archive(path, wanted.max_bytes) as archive:
        header = _member(archive, "header.json" if "header.json" in archive else _STARTED)
        if not isinstance(header, dict):
            raise FileError(f"'{path}' holds a header that is not an object. It is not a log.")
        if "reductions.json" in archive:
            header["reductions"] = _member(archive, "reductions.json")
        yield header, _samples(archive, options=wanted.keep_choices)
        passed(path.stat().st_size)


_STARTED = "_journal/start.json"


def _member(archive: Archive, name: str) -> Any:
    if name not in archive:
        raise FileError(
            f"'{archive.path}' has neither header.json nor {_STARTED}: it is not a log."
        )
    return parsed(archive.read(name, SMALL), f"'{archive.path}', member '{name}'")


def _samples(archive: Archive, *, options: bool) -> Iterator[Any]:
    """Yield all samples: from the summaries, which are short and have the scores, or one by one.

    Only samples themselves hold their `options`.
    """
    whole = ["summaries.json"] if "summaries.json" in archive else []
    summaries = [] if options else whole or archive.names("_journal/summaries/")
    for name in summaries:
        content = io.BytesIO(archive.read(name))
        yield from Pieces(content, f"'{archive.path}', member '{name}'").elements()
    if not summaries:
        for name in archive.names("samples/"):
            yield _member(archive, name)


@contextmanager
def _plain(
    path: Path, wanted: LogSettings, passed: Passed
) -> Iterator[tuple[dict[str, Any], Iterator[Any]]]:
    """The keys before the samples, then the samples; keys after them are added to the header."""
    header: dict[str, Any] = {}
    with text_bytes(path, wanted.max_bytes, passed) as stream:
        pieces = Pieces(stream, f"'{path}'")
        members = pieces.members()
        for key, is_list in members:
            if key == "samples" and is_list:
                yield header, _then(pieces.elements(), members, pieces, header)
                return
            header[key] = pieces.value()
        yield header, iter(())


def _then(
    samples: Iterator[Any],
    members: Iterator[tuple[str, bool]],
    pieces: Pieces,
    header: dict[str, Any],
) -> Iterator[Any]:
    yield from samples
    for key, _ in members:
        header[key] = pieces.value()
