"""Course: the state of an adaptive evaluation, what to ask next and what was answered."""

from __future__ import annotations

import hashlib
import os
from contextlib import ExitStack
from typing import Any, Self, TypedDict

import numpy as np

from ogive.adaptive import AdaptiveTest, Budget, Selector
from ogive.adaptive.named_parts import refuse_unless_number
from ogive.arguments import checked_share, one_of, whole_number
from ogive.calibration import Calibration
from ogive.calibration.replayed_error import FORM
from ogive.errors import FileError, InputError
from ogive.files import PathLike
from ogive.models import AUTO
from ogive.shortening.short_benchmark import ShortBenchmark, short_benchmark_from
from ogive.studies.evaluation.adaptive_evaluation import as_real_error
from ogive.studies.evaluation.adaptive_replay import METHODS
from ogive.studies.evaluation.journal import ResponseJournal
from ogive.studies.evaluation.replayed_banks import replayed_bank
from ogive.words import counted

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
            raise InputError(f"journal is {journal!r:.60}; give the path of a file.")
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
        """The short form of this size, if the replay found it better than the adaptive test."""
        document = None if self.error is None else self.error.forms.get(self.budget)
        if document is None or document["confidence"] != self.confidence:
            return None
        return short_benchmark_from(document)

    def next_items(self) -> list[str]:
        """Items to ask now; empty when the evaluation is over."""
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
        """Settings that an evaluation and its journal must share; when to stop may differ."""
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
