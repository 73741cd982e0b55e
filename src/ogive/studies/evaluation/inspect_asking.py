"""Ask items in Inspect AI: each batch is an evaluation of its samples."""

from __future__ import annotations

import asyncio
import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse
from weakref import WeakKeyDictionary

from ogive.errors import InputError, MissingExtraError
from ogive.files import PathLike
from ogive.studies.evaluation.harness_answers import (
    HarnessAnswers,
    Sample,
    could_not_run,
    reason,
    refuse_settings,
    task_called,
    tasks_by_name,
)
from ogive.words import shown

if TYPE_CHECKING:
    from ogive.responses.logs.log_runs import Epochs
    from ogive.studies.evaluation.harness_answers import Facts

__all__ = ["inspect_ask"]

HARNESS = "Inspect"
OURS = (
    *("tasks", "model", "sample_id", "sample_shuffle", "limit", "log_dir", "log_samples"),
    *("log_header_only", "run_samples", "score"),
)
OF_THE_MODEL = ("model_args", "model_base_url")
USUAL = {"fail_on_error": False, "log_buffer": 1, "score_display": False}  # each sample is saved


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
            f"respondent is {shown(respondent)}; give the name of a model, or a Model of Inspect."
        )
    return InspectAsk(
        respondent,
        HarnessAnswers(HARNESS, str(respondent), facts, folder, metric=metric, epochs=epochs),
        tasks_by_name(tasks, facts),
        refuse_settings(settings, OURS),
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
        self._making = {name: settings[name] for name in OF_THE_MODEL if name in settings}
        given = {name: value for name, value in settings.items() if name not in OF_THE_MODEL}
        self._settings = USUAL | given
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
            raise could_not_run(HARNESS, what, error) from error
        _pass_on_cancellation(logs)
        kept = [_path(log.location) for log in logs if _is_scored(log)]
        if kept:
            self._answers.add(task, kept)
        for log in logs:
            if log.status != "success":
                said = log.error.message if log.error else f"its status is {log.status}"
                raise could_not_run(HARNESS, what, said)
        return _failures(logs, samples)

    def _model(self) -> Any:
        """The model, made when it is first needed."""
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
    """Why samples have no score, by item."""
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
