"""AdaptiveSession: one respondent, asked item by item."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import whole_number
from itemwise.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.adaptive.testing import AdaptiveTest

COLUMNS = ("step", "item", "response", "ability", "se", "information")


class AdaptiveSession:
    """A test under way: ask `next_item`, give the response to `answer`, until there is none.

    It is the state of a simulation with one row, so that both give the same bytes.
    """

    def __init__(self, test: AdaptiveTest, respondent: int = 0) -> None:
        self.test = test
        self.respondent = respondent
        self._state = test.begin(np.array([respondent], dtype=np.int64))
        self._rows: list[tuple[Any, ...]] = []
        self._next: str | None = None
        self._skipped: list[str] = []

    @property
    def answered(self) -> tuple[str, ...]:
        """Items that were answered, in order."""
        return tuple(item for _, item, *_ in self._rows)

    @property
    def skipped(self) -> tuple[str, ...]:
        """Items that could not be answered."""
        return tuple(self._skipped)

    @property
    def ability(self) -> float:
        """Where the respondent stands, as far as is known."""
        return float(self._state.ability[0])

    @property
    def se(self) -> float:
        """Standard error of the ability; infinite where nothing is known."""
        return float(self._state.se[0])

    @property
    def reason(self) -> str:
        """Why the test is over; empty while it goes on."""
        return str(self.test.reasons(self._state)[0])

    @property
    def done(self) -> bool:
        """Whether the test is over."""
        return self.reason != ""

    @property
    def trace(self) -> pd.DataFrame:
        """One row a response: the ability after it, and what the item told where it was asked."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def next_item(self) -> str | None:
        """The name of the item to ask, the same until it is answered; None when all is over."""
        if self.done:
            return None
        if self._next is None:
            self._next = self.test.items.names[int(self.test.choose(self._state)[0])]
        return self._next

    def next_items(self, count: int) -> list[str]:
        """Up to so many items to ask at once, as many as the test still has; none when it is over.

        They are chosen together: see `AdaptiveTest.choose_several`.
        """
        whole_number(count, "count", 1)
        if self.done:
            return []
        most = self.test.parts.stopper.limit
        left = int(self._state.free.sum())
        left = left if most is None else min(left, most - self._state.step)
        (places,) = self.test.choose_several(self._state, min(count, left))
        return [self.test.items.names[int(place)] for place in places]

    def skip(self, item: str) -> None:
        """Never ask this item: it could not be answered, and tells nothing."""
        place = self.test.items.place(item)
        if not self._state.free[0, place]:
            raise InputError(f"The item {item!r} was answered or skipped already.")
        self._state.free[0, place] = False
        self._skipped.append(item)
        self._next = None

    def answer(self, item: str, response: float) -> None:
        """Take the response to an item, usually that of `next_item`; any free item will do."""
        bank, state = self.test.items, self._state
        place = bank.place(item)
        if self.done:
            raise InputError(f"The test is over ({self.reason}); {item!r} is not needed any more.")
        if not state.free[0, place]:
            raise InputError(f"The item {item!r} was answered already. Ask what next_item() gives.")
        read = bank.read(place, response)
        statistics = [table[:, place] for table in bank.statistics(read)]
        told = bank.information(place, float(state.target[0]))
        where, value = np.array([place]), read[:, place].astype(float)
        self._state = self.test.advance(state, where, value, statistics)
        self._next = None
        number = float(response)
        kept = number if bank.model.kind == "continuous" else int(number)
        self._rows.append((self._state.step, item, kept, self.ability, self.se, told))

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold and `from_dict` goes on from: the responses so far."""
        return {
            "version": 1,
            "test": self.test.digest,
            "respondent": self.respondent,
            "answers": [[item, response] for _, item, response, *_ in self._rows],
            "skipped": list(self._skipped),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], test: AdaptiveTest) -> AdaptiveSession:
        """The session that `to_dict` wrote, in the same test: it goes on as before."""
        try:
            version, digest = document["version"], document["test"]
            respondent, answers = document["respondent"], document["answers"]
            pairs = [(item, response) for item, response in answers]
            skipped = list(document.get("skipped", []))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"This is no session as to_dict() writes it: {type(error).__name__} {error}."
            ) from error
        if version != 1:
            raise InputError(f"The session has version {version!r}; this release reads version 1.")
        if digest != test.digest:
            raise InputError(
                "The session belongs to another test: items, parts or random_state differ. "
                "Give the test with which it was started."
            )
        session = test.start(respondent)
        for item, response in pairs:
            session.answer(item, response)
        for item in skipped:
            session.skip(item)
        return session
