"""Answers of a model in the logs of a harness, and selections of items in its formats."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import pandas as pd

from ogive._files import PathLike, file_name_of, make_folder, read_json, write_bytes, write_json
from ogive._validation import whole_number
from ogive.data.foreign_frames import with_row_names
from ogive.data.logs.read_logs import read_logs
from ogive.data.names import as_facts
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import FileError, HarnessError, InputError, OgiveError
from ogive.evaluation.adaptive_replay import bank_from
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.selectors import Selector
from ogive.irt.calibration import Calibration
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.results.numbers import counted, listed, meant, shown

if TYPE_CHECKING:
    Facts: TypeAlias = Responses | pd.DataFrame

__all__ = ["first_items", "inspect_sample_ids", "lm_eval_samples"]


SampleIds: TypeAlias = "dict[str, list[int | str]]"


def first_items(
    source: Calibration | Table,
    size: int,
    *,
    selector: Selector | str = "score",
    model: str | MeasurementModel = AUTO,
    random_state: int = 0,
) -> list[str]:
    """Choose the `size` items to ask first, when nothing is known about a model yet.

    `source` is a bank, or responses from which one is calibrated (`model`, as in
    `replay_adaptively`); `selector` and `random_state` are those of `AdaptiveTest`. Returns the
    names of the items, the most informative first. `lm_eval_samples` and `inspect_sample_ids`
    write them in the formats of these tools.

    >>> import ogive as og
    >>> table = og.simulate("2pl", 300, 20, random_state=0).responses
    >>> len(og.first_items(table, 5))
    5
    """
    whole_number(size, "size", 1)
    whole_number(random_state, "random_state", 0)
    bank = source if isinstance(source, Calibration) else bank_from(as_responses(source), model)
    test = AdaptiveTest(bank, selector=selector, random_state=random_state)
    return list(test.start().next_items(size))


def lm_eval_samples(
    items: Iterable[str],
    facts: Responses | pd.DataFrame,
    path: PathLike | None = None,
    *,
    task: str = "task",
    id: str = "id",  # noqa: A002 - the name of the fact
) -> dict[str, list[int]]:
    """Return document numbers by task, for `--samples` of lm-evaluation-harness.

    `facts` are responses with the facts `task` and `id` (the `doc_id`) of their items, or a frame
    with these columns and items as its index. With a `path`, the JSON file that
    `lm_eval --samples PATH` reads is written.

    >>> import ogive as og
    >>> import pandas as pd
    >>> known = pd.DataFrame({"task": ["arc", "arc", "boolq"], "id": [7, 2, 4]}, list("abc"))
    >>> og.lm_eval_samples(["c", "b", "a"], known)
    {'boolq': [4], 'arc': [2, 7]}
    """
    found: dict[str, list[int]] = {}
    for name, (group, sample) in known_samples(items, facts, task, id).items():
        try:
            number = int(sample)
            whole = number == float(sample) and number >= 0
        except (TypeError, ValueError):
            whole = False
        if not whole:
            raise InputError(
                f"The {id} of {name!r} is {sample!r:.60}, but lm-eval identifies documents by "
                f"number (doc_id, from 0). Name the fact that holds it: id='doc_id'."
            )
        found.setdefault(group, []).append(number)
    ordered = {group: sorted(numbers) for group, numbers in found.items()}
    _write(ordered, path)
    return ordered


def inspect_sample_ids(
    items: Iterable[str],
    facts: Responses | pd.DataFrame,
    path: PathLike | None = None,
    *,
    task: str = "task",
    id: str = "id",  # noqa: A002 - the name of the fact
) -> SampleIds:
    """Return sample ids by task, for Inspect's `eval(sample_id=ids[task])` or `--sample-id`.

    `facts` are responses with the facts `task` and `id` of their items, or a frame with these
    columns and items as its index. Ids stay numbers or text. With a `path`, they are written as
    JSON.

    >>> import ogive as og
    >>> import pandas as pd
    >>> known = pd.DataFrame({"task": ["gpqa", "gpqa"], "id": ["rec1", "rec9"]}, ["a", "b"])
    >>> og.inspect_sample_ids(["b"], known)
    {'gpqa': ['rec9']}
    """
    found: SampleIds = {}
    for group, sample in known_samples(items, facts, task, id).values():
        found.setdefault(group, []).append(sample)
    _write(found, path)
    return found


def known_samples(
    items: Iterable[str], facts: Any, task: str, key: str
) -> dict[str, tuple[str, Any]]:
    """Return task and id of each item, in the order given."""
    names = [items] if isinstance(items, str) else list(dict.fromkeys(items))
    if not names:
        raise InputError("items is empty; give the names of the items to ask.")
    told = told_facts(facts)
    columns = dict(told.items())
    for column in (task, key):
        if column not in columns:
            raise InputError(
                f"Items have no fact {column!r}; known facts: {', '.join(columns) or 'none'}. "
                "Read the responses from logs, or add it: "
                f"responses.described(items={{{column!r}: [...]}}).{meant(column, columns)}"
            )
    index = getattr(told, "index", None)
    there = {str(name): k for k, name in enumerate(index if index is not None else facts.items)}
    lost = [name for name in names if name not in there]
    if lost:
        raise InputError(f"{listed(lost, 'item')} not found among the facts. Check the names.")
    groups, samples = list(columns[task]), list(columns[key])
    found = {name: (groups[there[name]], samples[there[name]]) for name in names}
    empty = [name for name, pair in found.items() if None in pair]
    if empty:
        raise InputError(f"{listed(empty, 'item')} without {task} or {key}; leave them out.")
    return {name: (str(group), sample) for name, (group, sample) in found.items()}


def told_facts(facts: Any) -> Any:
    """Return columns of facts, with None for missing values and Python numbers."""
    if isinstance(facts, Responses):
        return facts._item_facts  # noqa: SLF001 - a frame turns whole numbers into floats
    facts = with_row_names(facts)
    if not hasattr(facts, "columns"):
        raise InputError(
            "`facts` must be responses with facts of their items, or a frame with items as its "
            f"index, got {type(facts).__name__}."
        )
    names = [str(name) for name in facts.index]
    return pd.DataFrame(as_facts(facts, names, "item"), index=names, dtype=object)


def _write(found: Any, path: PathLike | None) -> None:
    if path is not None:
        write_bytes(path, (json.dumps(found, ensure_ascii=False) + "\n").encode())


KIND, VERSION, MANIFEST = "harness-folder", 1, "evaluation.json"
MOST_FAILURES = 3  # items that fail one after the other before the harness is to blame
LONGEST_REASON = 300  # characters

Logged: TypeAlias = "dict[str, dict[str | None, float]]"  # scores by id and content hash


class Sample(NamedTuple):
    """An item as a harness knows it."""

    item: str
    task: str
    id: str
    hash: str | None  # of question and answer, where the logs behind the bank have it


class HarnessAnswers:
    """What a model answered so far. Every answer is read from a log in the folder.

    Each task has a folder of its own in it. Answers that are there already, such as those of a
    batch that was killed before the journal had them, are found again, and not asked twice.
    `reading` are arguments of `read_logs`: metric, filter, epochs.
    """

    def __init__(
        self, harness: str, respondent: str, facts: Facts, folder: PathLike, **reading: Any
    ) -> None:
        self.harness, self.respondent = harness, respondent
        self._facts, self._reading, self._folder = facts, reading, Path(folder)
        told = told_facts(facts)
        names = facts.items if isinstance(facts, Responses) else told.index
        hashes = dict(told.items()).get("hash", [])
        self._hashes = dict(zip(map(str, names), hashes, strict=False))
        self._logged: dict[str, Logged] = {}
        self._failed = 0  # items since one was answered
        self._claim()

    def _claim(self) -> None:
        """Make the folder, or check that it belongs to the same model and harness."""
        folder = make_folder(self._folder)
        manifest, owner = folder / MANIFEST, (self.harness, self.respondent)
        if not manifest.exists():
            if any(folder.iterdir()):
                raise FileError(
                    f"'{folder}' holds other files than those of an adaptive evaluation. Name a "
                    "new folder for the logs."
                )
            write_json(manifest, KIND, VERSION, {"harness": owner[0], "respondent": owner[1]})
        told = read_json(manifest, KIND, VERSION)
        found = told.get("harness"), told.get("respondent")
        if found != owner:
            raise FileError(
                f"'{folder}' holds the answers of {shown(found[1])} in {found[0]}, but "
                f"{shown(owner[1])} in {owner[0]} is to be asked. Give each model a folder."
            )

    def home(self, task: str) -> Path:
        """Return the folder of the logs of a task."""
        return make_folder(self._folder / file_name_of(task))

    def samples(self, items: Iterable[str]) -> list[Sample]:
        """Return task, id and hash of each of these items."""
        known = known_samples(items, self._facts, "task", "id")
        return [
            Sample(item, task, str(sample), self._hashes.get(item))
            for item, (task, sample) in known.items()
        ]

    def to_ask(self, samples: Iterable[Sample]) -> dict[str, list[Sample]]:
        """Return those that no log in the folder answers yet, by task."""
        found: dict[str, list[Sample]] = {}
        for sample in samples:
            if sample.task not in self._logged:
                self._logged[sample.task] = self._left(sample.task)
            if self._score(sample) is None:
                found.setdefault(sample.task, []).append(sample)
        return found

    def _left(self, task: str) -> Logged:
        """Return what earlier runs left; a log that a kill cut off holds what it holds."""
        try:
            return self._read(self.home(task))
        except OgiveError as error:
            if isinstance(error, SeveralConditionsError):
                raise
            return {}  # nothing was answered, or nothing that can be read with these settings

    @contextmanager
    def kept(self, task: str) -> Iterator[None]:
        """Run a task; if it does not come to its end, its logs are read again."""
        try:
            yield
        except BaseException:
            self._logged.pop(task, None)
            raise

    def add(self, task: str, logs: Sequence[Path]) -> None:
        """Read the answers in new logs of a task."""
        for name, scores in self._read(logs).items():
            self._logged[task].setdefault(name, {}).update(scores)

    def _read(self, paths: Path | Sequence[Path]) -> Logged:
        table = read_logs(paths, **self._reading, progress=False).responses
        if table.n_respondents > 1:
            raise SeveralConditionsError(
                f"'{self._folder}' holds answers to the same items under several conditions: "
                f"{listed(table.respondents, 'respondent')}. Use the settings that it was started "
                "with, or name another folder."
            )
        told = table.item_facts
        hashes = told["hash"] if "hash" in told else [None] * table.n_items
        given: list[float] = table.to_frame().iloc[0].tolist()
        found: Logged = {}
        for name, content, score in zip(told["id"], hashes, given, strict=True):
            found.setdefault(str(name), {})[content if isinstance(content, str) else None] = score
        return found

    def _score(self, sample: Sample) -> float | None:
        """Return the score of a sample; None if no log has it."""
        found = self._logged[sample.task].get(sample.id)
        if not found:
            return None
        score = found.get(sample.hash)
        if score is None:
            if sample.hash is not None and None not in found:
                raise HarnessError(
                    f"Sample {sample.id} of task {shown(sample.task)} is not the question that "
                    f"{shown(sample.item)} is in the bank: its content differs. Use the version of "
                    "the task that the bank was made from, with the same arguments."
                )
            score = next(reversed(found.values()))
        self._refuse_share(sample, score)
        return score

    def _refuse_share(self, sample: Sample, score: float) -> None:
        """Refuse a share of several epochs where the bank holds right and wrong."""
        binary = isinstance(self._facts, Responses) and self._facts.kind == "binary"
        if binary and 0 < score < 1 and math.isfinite(score):
            raise InputError(
                f"The score of {shown(sample.item)} is {score:.3g}, the mean of several epochs or "
                "a partial score, but the bank holds right and wrong. Ask one epoch, or read the "
                "first with epochs='first'; the logs are kept and are not asked again."
            )

    def responses(
        self, samples: Sequence[Sample], failed: Mapping[str, str]
    ) -> dict[str, float | None]:
        """Return the responses to these items; None if one failed (`failed` says why).

        Where no item was ever answered, or three failed one after the other, the cause is not the
        item: that is an error, and nothing of it is taken for a response.
        """
        found = {sample.item: self._score(sample) for sample in samples}
        lost = [sample for sample in samples if found[sample.item] is None]
        strange = [sample for sample in lost if sample.item not in failed]
        if strange:
            one = strange[0]
            raise HarnessError(
                f"Task {shown(one.task)} has no sample {shown(one.id)} in {self.harness}, which "
                f"is {shown(one.item)} of the bank, or left it without a score."
            )
        self._failed = self._failed + len(lost) if len(lost) == len(samples) else 0
        never = not any(self._logged.values())
        if lost and (never or self._failed >= MOST_FAILURES):
            raise HarnessError(
                f"{self.harness} answered none of the last {counted(max(self._failed, 1), 'item')}:"
                f" {failed[lost[0].item]}"
            )
        return found


class SeveralConditionsError(FileError):
    """A folder with answers to the same items under several conditions."""


def could_not_run(harness: str, what: str, error: BaseException | str) -> HarnessError:
    """Return the error for a harness that stopped, with what it said."""
    return HarnessError(f"{harness} could not run {what}: {reason(error)}")


def reason(error: BaseException | str) -> str:
    """Return what an error says, in one line: the first of a group, without markup."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = str(error).strip("\"'") or type(error).__name__  # a KeyError quotes what it says
    plain = re.sub(r"\[/?[a-z ]*\]|\x1b\[[0-9;]*m", "", text)
    plain = " ".join(plain.split()).removeprefix("ERROR: ")
    short = plain if len(plain) <= LONGEST_REASON else f"{plain[: LONGEST_REASON - 3]}..."
    return short if short.endswith((".", "!", "?")) else f"{short}."


def refuse_settings(given: Mapping[str, Any] | None, taken: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a harness; refuse those that the evaluation decides."""
    if given is not None and not isinstance(given, Mapping):
        raise InputError(f"`settings` must be a mapping of arguments, got {shown(given)}.")
    settings = dict(given or {})
    ours = sorted(settings.keys() & set(taken))
    if ours:
        raise InputError(
            f"settings has {', '.join(ours)}, which an adaptive evaluation decides by itself. "
            "Leave it out."
        )
    return settings


def tasks_by_name(tasks: Any, facts: Facts) -> dict[str, Any]:
    """Return the task of the harness for each name in facts; empty if the names agree."""
    if tasks is None:
        return {}
    names = list(dict.fromkeys(map(str, dict(told_facts(facts).items()).get("task", ()))))
    if isinstance(tasks, Mapping) and not tasks.keys() - set(names):
        return dict(tasks)
    if len(names) != 1:
        raise InputError(
            f"facts has {listed(names, 'task') if names else 'no tasks'}: give tasks as a mapping "
            "from these names to the tasks of the harness."
        )
    return {names[0]: tasks}


def task_called(name: str, given: Mapping[str, Any]) -> Any:
    """Return the task of the harness for a name in facts."""
    if given and name not in given:
        raise InputError(
            f"Task {shown(name)} is to be asked, but tasks has only {listed(list(given), 'task')}."
            " Give it as well, or make the bank of their items alone."
        )
    return given.get(name, name)
