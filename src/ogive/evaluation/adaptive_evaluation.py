"""Adaptive evaluation of a model: what to ask next, and what the answers predict.

`Course` holds the state, `ResponseJournal` keeps answers on disk as they arrive (one JSON line
each), and `AdaptiveEvaluation` is the result. Intervals come from the model, or from the errors of
a replay.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypedDict

import numpy as np
import pandas as pd

from ogive._files import PathLike, most_bytes, readable_file
from ogive._validation import checked_share, one_of, whole_number
from ogive.data.responses import Responses
from ogive.errors import FileError, InputError
from ogive.evaluation.adaptive_replay import METHODS, replayed_bank
from ogive.evaluation.replay_predictions import forecast, range_known, reached
from ogive.evaluation.short_benchmark import ShortBenchmark, short_benchmark_from
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Budget
from ogive.irt.adaptive.selectors import Selector
from ogive.irt.adaptive.state import refuse_unless_number
from ogive.irt.calibration import Calibration
from ogive.irt.models import AUTO
from ogive.irt.replay_error import FORM, RealError, ScoreRange
from ogive.results.base import Result
from ogive.results.numbers import counted, listed, mean_called
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display


FIGURES = ("trace",)


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveEvaluation(Result):
    """Ability of a model from a few items, and its predicted accuracy on all of them.

    `accuracy` is the mean response over all items of the bank, also for grades and scores.
    `ability_se` counts the responses and the errors of the bank. `trace` has one row per response:
    step, item, response, and the estimates after it: `ability` with `ability_se`, and `accuracy`
    with `accuracy_se` and its interval from `accuracy_low` to `accuracy_high`. There, `ability_se`
    counts the responses alone, as stopping rules do: asking more does not improve the bank.
    """

    respondent: str
    trace: pd.DataFrame
    ability: float
    ability_se: float
    accuracy: float
    accuracy_se: float
    accuracy_low: float
    accuracy_high: float
    confidence: float
    skipped: tuple[str, ...]  # items that could not be answered
    reason: str
    n_items: int
    word: str  # name of the accuracy in sentences
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> tuple[str, ...]:
        """Items that were answered, in the order in which they were asked."""
        return tuple(self.trace["item"])

    @property
    def saved(self) -> int:
        """Items of the bank that did not have to be asked."""
        return self.n_items - len(self.trace) - len(self.skipped)

    @property
    def meaning(self) -> str:
        """Predicted accuracy and ability with their intervals, and how many items were asked."""
        reach = normal_reach(self.confidence) * self.ability_se
        ends = f"{self.ability - reach:.2f} to {self.ability + reach:.2f}"
        return (
            f"{self.respondent} answered {len(self.trace):,} of {counted(self.n_items, 'item')} "
            f"({self.reason}). Its predicted {self.word} on all of them is {self.accuracy:.3f} "
            f"({self.confidence:.0%} interval {self.accuracy_low:.3f} to "
            f"{self.accuracy_high:.3f}), and its ability is {self.ability:.2f} ({ends}). "
            f"{counted(self.saved, 'item')} did not have to be asked."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per response."""
        return self.trace.copy()

    def plot(self, kind: str = "trace", **kw: Any) -> Display:
        """Draw predicted accuracy and ability after each response."""
        from ogive.results.plots import DISPLAYS

        one_of(kind, "kind", FIGURES)
        if self.trace.empty:
            raise InputError("No item was answered, so there is no trace to draw.")
        trace, reach = self.trace, normal_reach(self.confidence) * self.trace["ability_se"]
        ends = (trace["accuracy_low"], trace["accuracy_high"])
        parts = {
            f"predicted {self.word}": (trace["accuracy"], *ends),
            "ability": (trace["ability"], trace["ability"] - reach, trace["ability"] + reach),
        }
        frames = [
            pd.DataFrame(dict(zip(("estimate", "low", "high"), columns, strict=True))).assign(
                panel=name, series=self.respondent, x=trace["step"]
            )
            for name, columns in parts.items()
        ]
        frame = pd.concat(frames)
        bands: Any = DISPLAYS["bands"]
        display: Display = bands(frame, across="items answered")
        return display.plot(**kw)


def evaluation_of(course: Course) -> AdaptiveEvaluation:
    """Gather the result of an evaluation that is over."""
    bank, session = course.calibration, course.session
    trace = session.trace.rename(columns={"se": "ability_se"})
    told = _accuracies(course, trace)
    last = {str(name): float(value) for name, value in told.iloc[-1].items()}
    steps = told.iloc[1:].reset_index(drop=True)
    return AdaptiveEvaluation(
        respondent=course.respondent,
        trace=trace.assign(**{str(name): steps[name] for name in steps}),
        ability=session.ability,
        ability_se=_with_items(course, session.se),
        **last,
        confidence=course.confidence,
        skipped=session.skipped,
        reason=course.reason,
        n_items=len(bank.item_names),
        word=mean_called(bank.model.kind),
        notes=_notes(course),
    )


def _with_items(course: Course, se: float) -> float:
    """Return the error of the ability, with what is not known of the bank.

    Asking more items does not reduce that part.
    """
    bank, trace = course.calibration, course.session.trace
    if trace.empty:
        return se
    responses = trace["response"].to_numpy(dtype=float)[None]
    known = Responses(responses, items=list(trace["item"]), kind=bank.model.kind)
    whole, alone = (
        float(bank.score(known, items_known=given)["se"].iloc[0]) for given in (False, True)
    )
    return float(np.sqrt(se**2 + max(whole**2 - alone**2, 0.0)))


def _accuracies(course: Course, trace: pd.DataFrame) -> pd.DataFrame:
    """Return accuracy on all items, with its interval, after 0, 1, ... responses."""
    bank, count = course.calibration, len(trace)
    given = trace["response"].to_numpy(dtype=float)
    seen = np.tril(np.ones((count + 1, count), dtype=bool), -1)
    asked = list(trace["item"]) or [bank.item_names[0]]
    values = np.where(seen, given, np.nan) if count else np.full((1, 1), np.nan)
    known = Responses(values, items=asked, kind=bank.model.kind)
    if course.form is not None:
        mean, error, down, up = _by_form(course.form, known)
    else:
        told = forecast(bank, _range(course, asked), known, course.confidence)
        mean, error = told.accuracy, told.se
        down, up = reached(course.error, np.arange(count + 1), told, course.confidence)
    places = np.array([course.session.test.items.place_of[name] for name in trace["item"]], int)
    least, most = zip(
        *(possible_scores(bank, places[:k], given[:k]) for k in range(count + 1)), strict=True
    )
    return pd.DataFrame(
        {
            "accuracy": mean,
            "accuracy_se": error,
            "accuracy_low": np.maximum(mean - down, least),
            "accuracy_high": np.minimum(mean + up, most),
        }
    )


def _range(course: Course, asked: list[str]) -> ScoreRange | None:
    """Return the accuracies that the bank was calibrated on, with the curves of the items asked."""
    bank, place = course.calibration, course.session.test.items.place_of
    found = range_known(bank, course.error)
    return None if found is None else found.part(np.array([place[name] for name in asked]))


def _by_form(form: ShortBenchmark, known: Responses) -> tuple[Floats, Floats, Floats, Floats]:
    """Return accuracy by a short form: its standard error is that of a normal interval as wide."""
    found = form.predict(known)
    mean, low, high = (found[f"accuracy{end}"].to_numpy() for end in ("", "_low", "_high"))
    error = (high - low) / (2 * normal_reach(form.confidence))
    return mean, error, mean - low, high - mean


def _notes(course: Course) -> tuple[str, ...]:
    notes = []
    if course.error is not None and (said := course.error.said_of(course.budget)):
        notes.append(said)
    if course.error is not None and not np.isfinite(course.error.reach(1, course.confidence)):
        notes.append(
            f"Too few models were replayed for a {course.confidence:.0%} interval: it spans all "
            "accuracies that are possible."
        )
    if course.session.skipped:
        lost = listed(course.session.skipped, "item")
        notes.append(
            f"{lost} could not be answered; they count towards the budget, but not as wrong."
        )
    if course.recovered:
        notes.append(f"{counted(course.recovered, 'item')} came from the journal.")
    if course.error is None:
        word = mean_called(course.calibration.model.kind)
        notes.append(
            f"The interval of the {word} comes from the model and is too narrow if one ability "
            "does not explain all items. Use replay_adaptively(responses).bank, which carries the "
            "error that a replay has found."
        )
    return tuple(notes)


def as_real_error(given: Any) -> RealError | None:
    """Return the error itself, or that of a replay."""
    if given is None:
        return None
    found = getattr(given, "real_error", given)
    if not isinstance(found, RealError):
        raise InputError(
            f"`error` must be what replay_adaptively() returns, got {type(given).__name__}."
        )
    return found


def possible_scores(bank: Calibration, items: Any, values: Floats) -> tuple[Floats, Floats]:
    """Return lowest and highest mean over all items that are possible given known responses.

    `items` (..., k) are places in the bank, `values` (..., k) the responses to them.
    """
    low, high = (np.broadcast_to(end, len(bank.item_names)) for end in bank.model.extent())
    count = len(bank.item_names)
    lowest: Floats = ((values - low[items]).sum(axis=-1) + low.sum()) / count
    highest: Floats = ((values - high[items]).sum(axis=-1) + high.sum()) / count
    return lowest, highest


SCHEMA, VERSION = "ogive/adaptive-journal", 1
MAX_BYTES = 256 * 1024**2


class ResponseJournal:
    """A file with the settings of an evaluation, then one line per response.

    A line is on disk (flushed and synced) before the response counts. `responses` are those found
    when the file was opened: item and response, None if the item could not be answered. While it is
    open, no other evaluation can open it.
    """

    def __init__(self, path: PathLike, settings: Mapping[str, Any]) -> None:
        self.path = Path(path)
        heading = {"schema": SCHEMA, "version": VERSION, **settings}
        self.responses: list[tuple[str, float | None]] = []
        with ExitStack() as stack:
            self._file = stack.enter_context(self._opened())
            stack.enter_context(only_one(self._file, self.path))
            if self._is_new(_line(heading)):
                self._begin(_line(heading))
            else:
                self.responses = self._read(heading)
            self._open = stack.pop_all()

    def _opened(self) -> BinaryIO:
        """Open the file; create it if it does not exist."""
        try:
            if self.path.exists() and not self.path.is_file():
                readable_file(
                    self.path, most_bytes(None, MAX_BYTES)
                )  # raises an error that says why
            # Unbuffered: what a full disk refused must not be tried again when the file is closed.
            return self.path.open("ab", buffering=0)
        except FileError:
            raise
        except OSError as error:
            raise FileError(
                f"The journal '{self.path}' cannot be written: {error.strerror}."
            ) from error

    def _begin(self, line: bytes) -> None:
        """Write the first line, replacing one that was cut off."""
        self._write(line, "The journal could not be started", whole=True)

    def add(self, item: str, response: float | None) -> None:
        """Write a response to disk."""
        line = _line({"item": item, "response": response})
        self._write(line, f"The response to {item!r:.60} could not be saved")

    def _write(self, line: bytes, trouble: str, *, whole: bool = False) -> None:
        rest = memoryview(line)
        try:
            if whole:
                self._file.truncate(0)
            while rest:
                rest = rest[self._file.write(rest) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise FileError(
                f"{trouble} in '{self.path}': {error.strerror}. Free some disk space; earlier "
                "responses are safe."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._open.close()

    def _is_new(self, line: bytes) -> bool:
        """Return True if the file is empty, or holds only a first line that was cut off."""
        return self.path.stat().st_size < len(line) and line.startswith(self.path.read_bytes())

    def _read(self, heading: Mapping[str, Any]) -> list[tuple[str, float | None]]:
        """Read the responses so far; a last line that was cut off is removed."""
        content = readable_file(self.path, most_bytes(None, MAX_BYTES)).read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        lines = whole.splitlines()
        self._refuse_unless_same(self._parsed(lines[0], 1) if lines else None, heading)
        found: dict[str, float | None] = {}
        for number, text in enumerate(lines[1:], start=2):
            item, response = self._entry(self._parsed(text, number), number)
            if item in found:
                raise FileError(
                    f"'{self.path}', line {number:,}: {item!r:.60} occurs twice. The journal was "
                    "edited, or written by two evaluations at once; start a new one."
                )
            found[item] = response
        if len(whole) < len(content):
            try:
                self._file.truncate(len(whole))
            except OSError as error:
                raise FileError(
                    f"The journal '{self.path}' cannot be written: {error.strerror}."
                ) from error
        return list(found.items())

    def _refuse_unless_same(self, found: Any, heading: Mapping[str, Any]) -> None:
        if not isinstance(found, dict) or found.get("schema") != SCHEMA:
            raise FileError(
                f"'{self.path}' is not the journal of an adaptive evaluation. Name another file; "
                "this one was not changed."
            )
        other = [name for name in heading if found.get(name) != heading[name]]
        if other:
            name = other[0]
            raise FileError(
                f"'{self.path}' is the journal of another evaluation: its {name} is "
                f"{found.get(name)!r:.60}, but here it is {heading[name]!r:.60}. Use the settings "
                "it was started with, or name another file."
            )

    def _parsed(self, text: bytes, number: int) -> Any:
        try:
            return json.loads(text.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"'{self.path}', line {number:,} is not JSON: {text[:40]!r}. The journal is "
                "damaged; restore a copy, or start a new one."
            ) from error

    def _entry(self, found: Any, number: int) -> tuple[str, float | None]:
        if isinstance(found, dict) and isinstance(found.get("item"), str) and "response" in found:
            response = found["response"]
            number_given = isinstance(response, int | float) and not isinstance(response, bool)
            if response is None or (number_given and math.isfinite(response)):
                return found["item"], response
        raise FileError(
            f"'{self.path}', line {number:,} is not a response: a line should hold an item and "
            "the response as a number, or null. Restore a copy, or start a new journal."
        )


@contextmanager
def only_one(file: BinaryIO, path: Path) -> Iterator[None]:
    """Lock a file against other evaluations; the system unlocks it when the process ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows: a file beside it serves as the lock
        with _marked(path):
            yield
        return
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise FileError(_taken(path)) from error
    except OSError:  # a file system without locks
        with _marked(path):
            yield
        return
    yield


@contextmanager
def _marked(path: Path) -> Iterator[None]:
    mark = path.with_name(path.name + ".lock")
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError as error:
        raise FileError(
            f"{_taken(path)} If none is running, the last one was killed: delete '{mark}'."
        ) from error
    try:
        yield
    finally:
        mark.unlink(missing_ok=True)


def _taken(path: Path) -> str:
    return (
        f"Another evaluation is writing the journal '{path}'. Wait for it, or name another file: "
        "one journal belongs to one respondent."
    )


def _line(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


BUDGET, SELECTOR, CONFIDENCE, RESPONDENT = 25, "score", 0.95, "model"  # defaults of evaluations


class Settings(TypedDict, total=False):
    """Settings of an evaluation; see `evaluate_adaptively`."""

    budget: int
    max_se: float | None
    method: str
    selector: Selector | str
    batch_size: int
    journal: PathLike | None
    error: Any
    confidence: float
    respondent: str
    random_state: int


class Course:
    """One respondent under evaluation: a session, its settings and its journal.

    Items that could not be answered count towards the budget.
    """

    def __init__(
        self,
        calibration: Calibration,
        *,
        budget: int = BUDGET,
        max_se: float | None = None,
        method: str = AUTO,
        selector: Selector | str = SELECTOR,
        batch_size: int = 1,
        journal: PathLike | None = None,
        error: Any = None,
        confidence: float = CONFIDENCE,
        respondent: str = RESPONDENT,
        random_state: int = 0,
    ) -> None:
        whole_number(budget, "budget", 1)
        self.batch_size = whole_number(batch_size, "batch_size", 1)
        if max_se is not None:
            refuse_unless_number(max_se, "max_se", 0, np.inf)
        self.calibration, self.max_se = calibration, max_se
        self.confidence = checked_share(confidence, "confidence", 0.95)
        self.respondent = str(respondent)
        # The test refuses anything that is not a calibration with items.
        most = len(calibration.item_names) if isinstance(calibration, Calibration) else budget
        self.budget = min(budget, max(most, 1))
        test = AdaptiveTest(
            calibration, selector=selector, stopper=Budget(self.budget), random_state=random_state
        )
        one_of(method, "method", METHODS)
        self.error = as_real_error(error)
        way = repr(test.parts.selector)
        if self.error is not None:
            self.error.refuse_unless_for(calibration.item_names, way)
        elif method == AUTO and max_se is None:
            calibration = replayed_bank(
                calibration,
                self.budget,
                selector=selector,
                batch_size=batch_size,
                confidence=self.confidence,
                random_state=random_state,
            )
        if self.error is None:
            carried = calibration.replayed
            self.error = carried if carried is not None and carried.selector == way else None
        self.form = self._better_form() if method == AUTO and max_se is None else None
        self.session = test.start()
        self.recovered = 0
        if not (journal is None or isinstance(journal, str | os.PathLike)):
            raise InputError(f"`journal` must be the path of a file, got {journal!r:.60}.")
        self._path = journal
        self._journal: ResponseJournal | None = None

    def __enter__(self) -> Self:
        self._stack = ExitStack()
        if self._path is not None:
            self._journal = self._stack.enter_context(ResponseJournal(self._path, self._settings()))
            with ExitStack() as on_failure:
                on_failure.callback(self._stack.close)
                self._recover(self._journal)
                on_failure.pop_all()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and self._path is not None:
            error.add_note(
                f"The responses so far ({counted(self.asked, 'item')} asked) are safe in "
                f"'{self._path}'; run the same call again to resume."
            )
        self._stack.close()

    @property
    def asked(self) -> int:
        """Number of items asked, answered or not."""
        return len(self.session.answered) + len(self.session.skipped)

    @property
    def reason(self) -> str:
        """Why the evaluation is over; empty while it goes on."""
        if self.max_se is not None and self.session.se <= self.max_se:
            return "standard error reached"
        if self.asked >= self.budget:
            return "budget spent"
        return self.session.reason

    def _better_form(self) -> ShortBenchmark | None:
        """Return the short form of this size if the replay found it better than the test."""
        document = None if self.error is None else self.error.forms.get(self.budget)
        if document is None or document["confidence"] != self.confidence:
            return None
        return short_benchmark_from(document)

    def next_items(self) -> list[str]:
        """Return items to ask now; empty when the evaluation is over."""
        if self.reason:
            return []
        if self.form is not None:
            done = {*self.session.answered, *self.session.skipped}
            return [item for item in self.form.items if item not in done][: self.batch_size]
        return self.session.next_items(min(self.batch_size, self.budget - self.asked))

    def take(self, items: list[str], responses: list[Any]) -> None:
        """Keep all valid responses, then raise an error for the first invalid one."""
        wrong: list[InputError] = []
        for item, response in zip(items, responses, strict=True):
            try:
                number = self._checked(item, response)
            except InputError as error:
                wrong.append(error)
                continue
            if self._journal is not None:
                self._journal.add(item, number)
            self._count(item, number)
        if wrong:
            raise wrong[0]

    def _checked(self, item: str, response: Any) -> float | None:
        """Return the response as a number; None if the item could not be answered."""
        if response is None:
            return None
        if isinstance(response, str | bytes):
            raise InputError(
                f"The response to {item!r} is the text {response!r:.60}. ask() should grade what "
                "the model wrote and return a number: 1 for right and 0 for wrong, or a score."
            )
        bank = self.session.test.items
        bank.read(bank.place(item), response)
        number = float(response)
        return number if self.calibration.model.kind == "continuous" else int(number)

    def _count(self, item: str, number: float | None) -> None:
        if number is None:
            self.session.skip(item)
        else:
            self.session.answer(item, number)

    def _settings(self) -> dict[str, Any]:
        """Return settings that an evaluation shares with its journal; when to stop may differ."""
        test, bank = self.session.test, self.calibration
        extent = [np.asarray(end).tolist() for end in bank.model.extent()]
        known = bank.model.name, extent, bank.item_names, bank.population.reach()
        digest = hashlib.sha256(repr(known).encode() + bank.coords.tobytes()).hexdigest()
        return {
            "bank": digest[:16],
            "selector": repr(test.parts.selector) if self.form is None else FORM,
            "random_state": test.random_state,
            "respondent": self.respondent,
        }

    def _recover(self, journal: ResponseJournal) -> None:
        """Replay the responses of the journal, up to the budget."""
        for item, number in journal.responses[: self.budget]:
            try:
                self._count(item, self._checked(item, number))
            except InputError as error:
                raise FileError(f"'{journal.path}': {error}") from error
        self.recovered = self.asked
