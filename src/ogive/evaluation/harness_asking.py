"""Ask items in Inspect AI and in lm-evaluation-harness: each batch is one evaluation."""

from __future__ import annotations

import asyncio
import glob
import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse
from weakref import WeakKeyDictionary

from ogive._files import PathLike, file_name_of
from ogive.errors import FileError, HarnessError, InputError, MissingExtraError, OgiveError
from ogive.evaluation.harness_answers import (
    HarnessAnswers,
    Sample,
    could_not_run,
    reason,
    refuse_settings,
    task_called,
    tasks_by_name,
)
from ogive.results.numbers import counted, listed, shown

if TYPE_CHECKING:
    from ogive.data.logs.runs import Epochs
    from ogive.evaluation.harness_answers import Facts

__all__ = ["inspect_ask", "lm_eval_ask"]


INSPECT = "Inspect"
INSPECT_RESERVED = (
    *("tasks", "model", "sample_id", "sample_shuffle", "limit", "log_dir", "log_samples"),
    *("log_header_only", "run_samples", "score"),
)
INSPECT_MODEL_SETTINGS = ("model_args", "model_base_url")
INSPECT_DEFAULTS = {
    "fail_on_error": False,
    "log_buffer": 1,
    "score_display": False,
}  # each sample is saved


def inspect_ask(
    respondent: Any,
    facts: Facts,
    folder: PathLike,
    *,
    tasks: Any = None,
    metric: str | Sequence[str] | None = None,
    epochs: Epochs = "mean",
    settings: Mapping[str, Any] | None = None,
) -> InspectAsk:
    """Make an `ask` for `evaluate_adaptively` that runs and scores items in Inspect AI.

    `respondent` is the model: a name such as "openai/gpt-4o", or a `Model`; it is made once.
    `facts` are responses with the facts `task` and `id` of their items, as `read_logs` gives them,
    or a frame with these columns. `tasks` is the task to run, as `inspect_ai.eval` takes it: an
    object, a registered name, or "file.py@name"; with several tasks, a mapping from their names in
    `facts`. By default, the names in `facts` are those of registered tasks.

    Logs are kept in `folder`, one folder per task. Answers that are there already are not asked
    again, so nothing that was paid for is lost if a batch is killed. Scores are read as `read_logs`
    reads them, by `metric` and `epochs`. `settings` are further arguments of `inspect_ai.eval`,
    such as `temperature`, `epochs`, `task_args` or `model_args`.

    A sample that fails is None; Inspect tries it again with the setting `retry_on_error`. If
    nothing was ever answered, or three items in a row fail, the evaluation stops with what
    Inspect says, and these items are asked when it resumes.

    Use a `batch_size` above 1, so that samples run at the same time. Needs `ogive[inspect]`.

    >>> import ogive as og
    >>> responses = og.read_responses("logs")  # doctest: +SKIP
    >>> ask = og.inspect_ask("openai/gpt-4o", responses, "runs/gpt-4o")  # doctest: +SKIP
    >>> og.evaluate_adaptively(
    ...     og.calibrate(responses), ask, batch_size=8, journal="gpt-4o.jsonl"
    ... )  # doctest: +SKIP
    """
    try:
        from inspect_ai.model import Model
    except ImportError as error:
        raise MissingExtraError(error.name or "inspect_ai", "inspect") from error
    if not isinstance(respondent, str | Model):
        raise InputError(
            "`respondent` must be the name of a model, or a Model of Inspect, got "
            f"{shown(respondent)}."
        )
    return InspectAsk(
        respondent,
        HarnessAnswers(INSPECT, str(respondent), facts, folder, metric=metric, epochs=epochs),
        tasks_by_name(tasks, facts),
        refuse_settings(settings, INSPECT_RESERVED),
    )


class InspectAsk:
    """Asks items in Inspect; calls are awaited in one event loop."""

    def __init__(
        self,
        respondent: Any,
        answers: HarnessAnswers,
        tasks: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        self._respondent, self._answers, self._tasks = respondent, answers, tasks
        self._making = {name: settings[name] for name in INSPECT_MODEL_SETTINGS if name in settings}
        given = {
            name: value for name, value in settings.items() if name not in INSPECT_MODEL_SETTINGS
        }
        self._settings = INSPECT_DEFAULTS | given
        self._made: Any = None

    async def __call__(self, items: str | Sequence[str]) -> Any:
        """Return the response to an item, or a mapping of the responses to several."""
        samples = self._answers.samples([items] if isinstance(items, str) else items)
        failed: dict[str, str] = {}
        async with _turn():
            for task, wanted in self._answers.to_ask(samples).items():
                with self._answers.kept(task):
                    failed |= await self._run(task, wanted)
        found = self._answers.responses(samples, failed)
        return found[items] if isinstance(items, str) else found

    async def _run(self, task: str, samples: Sequence[Sample]) -> dict[str, str]:
        """Evaluate samples of a task; returns why some failed, by item."""
        import inspect_ai

        what, home = f"task '{task:.60}'", self._answers.home(task)
        _be_quiet()
        try:
            logs = await inspect_ai.eval_async(
                task_called(task, self._tasks),
                model=self._model(),
                sample_id=[glob.escape(sample.id) for sample in samples],  # ids are patterns
                log_dir=str(home),
                log_samples=True,
                **self._settings,
            )
        except Exception as error:
            raise could_not_run(INSPECT, what, error) from error
        _pass_on_cancellation(logs)
        kept = [_path(log.location) for log in logs if _is_scored(log)]
        if kept:
            self._answers.add(task, kept)
        for log in logs:
            if log.status != "success":
                said = log.error.message if log.error else f"its status is {log.status}"
                raise could_not_run(INSPECT, what, said)
        return _failures(logs, samples)

    def _model(self) -> Any:
        """Return the model, made when it is first needed."""
        if self._made is None:
            if isinstance(self._respondent, str):
                from inspect_ai.model import get_model

                base = self._making.get("model_base_url")
                arguments = self._making.get("model_args", {})
                self._made = get_model(self._respondent, base_url=base, **arguments)
            else:
                self._made = self._respondent
        return self._made


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


def _turn() -> asyncio.Lock:
    """Inspect runs one evaluation at a time; several models of one loop take turns."""
    return _TURNS.setdefault(asyncio.get_running_loop(), asyncio.Lock())


def _pass_on_cancellation(logs: Sequence[Any]) -> None:
    """Inspect takes it as an end, with the logs so far; the evaluation must end as well."""
    if not logs or any(log.status == "cancelled" for log in logs):
        raise asyncio.CancelledError


def _is_scored(log: Any) -> bool:
    return any(sample.scores for sample in log.samples or [])


def _failures(logs: Sequence[Any], samples: Sequence[Sample]) -> dict[str, str]:
    """Return why samples have no score, by item."""
    item = {sample.id: sample.item for sample in samples}
    found: dict[str, str] = {}
    for log in logs:
        for sample in log.samples or []:
            name = item.get(str(sample.id))
            if name is not None and not sample.scores:
                found[name] = _why(sample)
    return found


def _why(sample: Any) -> str:
    if sample.error:
        return reason(sample.error.message)
    return f"stopped by its {sample.limit.type} limit." if sample.limit else "no scorer judged it."


def _path(location: str) -> Path:
    parsed = urlparse(location)
    return Path(unquote(parsed.path)) if parsed.scheme == "file" else Path(location)


def _be_quiet() -> None:
    """Let Inspect draw nothing, unless a display was chosen: the evaluation has its own."""
    from inspect_ai.util import display_type

    chosen = os.environ.get("INSPECT_DISPLAY")
    os.environ["INSPECT_DISPLAY"] = chosen or "none"
    display_type()  # the first call decides
    if chosen is None:
        del os.environ["INSPECT_DISPLAY"]


LM_EVAL = "lm-eval"
LM_EVAL_RESERVED = (
    "model",
    "tasks",
    "limit",
    "samples",
    "log_samples",
    "evaluation_tracker",
    "predict_only",
)
NAMING = ("pretrained", "model", "revision", "peft", "delta", "base_url")
LM_EVAL_MODEL_SETTINGS = ("batch_size", "max_batch_size", "device")
LM_EVAL_DEFAULTS = {"bootstrap_iters": 0}  # the errors of a batch are of no use


def lm_eval_ask(
    respondent: Any,
    facts: Facts,
    folder: PathLike,
    *,
    tasks: Any = None,
    metric: str | Sequence[str] | None = None,
    filter: str | None = None,  # noqa: A002 - the word of the harness
    settings: Mapping[str, Any] | None = None,
) -> LmEvalAsk:
    """Make an `ask` for `evaluate_adaptively` that runs and scores items in lm-evaluation-harness.

    `respondent` is the model: the name of a registered kind such as "hf", with `model_args` among
    the settings, or an `LM`; it is made once. `facts` are responses with the facts `task` and `id`
    (the `doc_id`) of their items, as `read_logs` gives them, or a frame with these columns. `tasks`
    is the task to run, as `simple_evaluate` takes it: a name, a configuration, or a `Task`; with
    several, a mapping from their names in `facts`. By default, the names in `facts` are used.

    Logs are kept in `folder`, one folder per task. Answers that are there already are not asked
    again. Scores are read as `read_logs` reads them, by `metric` and `filter`. `settings` are
    further arguments of `lm_eval.simple_evaluate`, such as `model_args`, `num_fewshot`,
    `task_manager`, or `use_cache`, which keeps answers of a batch that was killed.

    Where a task draws few-shot examples at random, documents get other examples than in a run of
    all documents, because they are drawn one after the other.

    Use a `batch_size` above 1, so that the model is asked many at once. Needs `ogive[lm-eval]`.

    >>> import ogive as og
    >>> responses = og.read_responses("logs")  # doctest: +SKIP
    >>> ask = og.lm_eval_ask(
    ...     "hf", responses, "runs/gpt2", settings={"model_args": "pretrained=gpt2"}
    ... )  # doctest: +SKIP
    >>> og.evaluate_adaptively(
    ...     og.calibrate(responses), ask, batch_size=8, journal="gpt2.jsonl"
    ... )  # doctest: +SKIP
    """
    try:
        from lm_eval.api.model import LM
    except ImportError as error:
        raise MissingExtraError(error.name or "lm_eval", "lm-eval") from error
    if not isinstance(respondent, str | LM):
        raise InputError(
            f"`respondent` must be the name of a kind of models, or an LM, got {shown(respondent)}."
        )
    given = refuse_settings(settings, LM_EVAL_RESERVED)
    name = _name(respondent, given.get("model_args"))
    answers = HarnessAnswers(LM_EVAL, name, facts, folder, metric=metric, filter=filter)
    return LmEvalAsk(respondent, answers, tasks_by_name(tasks, facts), given)


def _name(respondent: Any, arguments: Any) -> str:
    """Return the kind of a model and which one it is; other arguments may be secret."""
    kind = respondent if isinstance(respondent, str) else type(respondent).__name__
    pairs = arguments.items() if isinstance(arguments, Mapping) else _pairs(str(arguments or ""))
    told = [f"{key}={value}" for key, value in pairs if key in NAMING]
    return f"{kind}({', '.join(told)})" if told else kind


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the arguments of a text such as pretrained=gpt2,dtype=float32."""
    return [
        (key.strip(), value.strip())
        for key, _, value in (one.partition("=") for one in text.split(","))
    ]


_TURN = threading.Lock()  # lm-eval seeds generators of the process: models take turns


class LmEvalAsk:
    """Asks items in lm-eval; in a running event loop, a thread does it."""

    def __init__(
        self,
        respondent: Any,
        answers: HarnessAnswers,
        tasks: Mapping[str, Any],
        settings: Mapping[str, Any],
    ) -> None:
        self._respondent, self._answers, self._tasks = respondent, answers, tasks
        self._settings = LM_EVAL_DEFAULTS | dict(settings)
        self._made: Any = None
        self._loaded: dict[str, Any] = {}  # tasks, by their name in facts

    def __call__(self, items: str | Sequence[str]) -> Any:
        """Return the response to an item, or a mapping of the responses to several."""
        with suppress(RuntimeError):  # no loop is running
            asyncio.get_running_loop()
            return asyncio.to_thread(self._asked, items)  # lm-eval may start a loop of its own
        return self._asked(items)

    def _asked(self, items: str | Sequence[str]) -> Any:
        samples = self._answers.samples([items] if isinstance(items, str) else items)
        with _TURN:
            wanted = self._answers.to_ask(samples)
            if wanted:
                self._run(wanted)
        found = self._answers.responses(samples, {})
        return found[items] if isinstance(items, str) else found

    def _run(self, wanted: Mapping[str, Sequence[Sample]]) -> None:
        """Evaluate these documents, and keep their logs."""
        import lm_eval
        from lm_eval.loggers import EvaluationTracker

        what = listed(list(wanted), "task")
        try:
            tasks = {name: self._task(name) for name in wanted}
            numbers = {name: _numbers(several, tasks[name]) for name, several in wanted.items()}
            tracker = EvaluationTracker()
            results = lm_eval.simple_evaluate(
                model=self._model(),
                tasks=list(tasks.values()),
                samples={task.task_name: numbers[name] for name, task in tasks.items()},
                log_samples=True,
                evaluation_tracker=tracker,
                **self._settings,
            )
        except OgiveError:
            raise
        except Exception as error:
            raise could_not_run(LM_EVAL, what, error) from error
        if results is None:
            raise HarnessError("lm-eval gives results to the first process only. Use one process.")
        rows = results.pop("samples")
        for name, task in tasks.items():
            known = tracker.general_config_tracker  # by itself it draws a name for a model object
            known.model_name = self._answers.respondent
            known.model_name_sanitized = file_name_of(self._answers.respondent)
            with self._answers.kept(name):
                log = _saved(tracker, self._answers.home(name), results, task.task_name, rows)
                self._answers.add(name, [log])

    def _model(self) -> Any:
        """Return the model, made when it is first needed."""
        if self._made is None:
            if isinstance(self._respondent, str):
                from lm_eval.api.registry import get_model

                kind, arguments = get_model(self._respondent), self._settings.get("model_args")
                others = {name: self._settings.get(name) for name in LM_EVAL_MODEL_SETTINGS}
                if isinstance(arguments, Mapping):
                    self._made = kind.create_from_arg_obj(dict(arguments), others)
                else:
                    self._made = kind.create_from_arg_string(arguments or "", others)
            else:
                self._made = self._respondent
        return self._made

    def _task(self, name: str) -> Any:
        """Return a task of the harness, loaded when it is first needed."""
        if name not in self._loaded:
            from lm_eval.tasks import TaskManager

            manager = self._settings.setdefault("task_manager", None) or TaskManager()
            self._settings["task_manager"] = manager
            found = list(manager.load([task_called(name, self._tasks)])["tasks"].values())
            if len(found) != 1:
                raise InputError(
                    f"Task {shown(name)} is a group of {counted(len(found), 'task')} in lm-eval. "
                    "Make the bank of logs of its tasks, which --log_samples writes one by one."
                )
            self._loaded[name] = found[0]
        return self._loaded[name]


def _numbers(samples: Sequence[Sample], task: Any) -> list[int]:
    """Return numbers of documents, in ascending order, as lm-eval takes them to be."""
    count = len(task.eval_docs)
    found = []
    for sample in samples:
        if not (sample.id.isascii() and sample.id.isdigit() and int(sample.id) < count):
            raise HarnessError(
                f"Task {shown(sample.task)} has no document {sample.id} in lm-eval, which is "
                f"{shown(sample.item)} of the bank: it has {counted(count, 'document')}, from 0."
            )
        found.append(int(sample.id))
    return sorted(found)


def _saved(tracker: Any, home: Path, results: Any, task: str, rows: Mapping[str, Any]) -> Path:
    """Write results and samples of a task to its folder; returns the file of samples."""
    tracker.output_path = str(home)
    tracker.save_results_aggregated(results=dict(results), samples={task: rows[task]})
    tracker.save_results_samples(task_name=task, samples=rows[task])
    found = sorted(home.rglob(f"samples_*_{getattr(tracker, 'date_id', '')}.jsonl"))
    if not found:  # lm-eval logs why, and goes on
        raise FileError(f"lm-eval could not write the samples of task {shown(task)} to '{home}'.")
    return found[-1]
