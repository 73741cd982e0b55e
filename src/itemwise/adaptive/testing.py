"""AdaptiveTest: four parts and a bank; one step of many respondents, or of one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.adaptive.bank import Bank, Ints
from itemwise.adaptive.estimators import ESTIMATORS, Estimator
from itemwise.adaptive.initializers import INITIALIZERS, Initializer
from itemwise.adaptive.parts import find_part
from itemwise.adaptive.selectors import SELECTORS, Selector
from itemwise.adaptive.state import State
from itemwise.adaptive.stoppers import EXHAUSTED, Reasons, Rules, Stopper, find_stopper
from itemwise.arguments import whole_number
from itemwise.calibration import Calibration
from itemwise.errors import InputError, ItemwiseError
from itemwise.files import PathLike
from itemwise.numerics.arrays import Bools, Floats

if TYPE_CHECKING:
    from itemwise.adaptive.session import AdaptiveSession

MOST_RESPONDENTS = 2**63 - 1  # their numbers are places in a row of random draws


class Parts(NamedTuple):
    """What a test is made of."""

    initializer: Initializer
    selector: Selector
    estimator: Estimator
    stopper: Stopper


@dataclass(frozen=True, eq=False)
class AdaptiveTest:
    """A test that asks each respondent what tells most about it.

    `calibration` holds the items. The parts are objects of this package, or their names:
    `initializer` "mean", "fixed" or "percentile"; `selector` "information", "randomesque",
    "nearest", "random" or "score"; `estimator` "eap", "map" or "steps"; `stopper` "error",
    "budget", "reliability", or a list of rules, any of which may stop the test. A test always
    ends when there are no items left.

    >>> import itemwise as iw
    >>> from itemwise.adaptive import Budget
    >>> bank = iw.calibrate(iw.simulate("2pl", 300, 30, random_state=0).responses)
    >>> session = iw.AdaptiveTest(bank, stopper=Budget(3)).start()
    >>> while (item := session.next_item()) is not None:
    ...     session.answer(item, 1)
    >>> session.reason
    'budget spent'
    """

    calibration: Calibration
    initializer: Initializer | str = "mean"
    selector: Selector | str = "information"
    estimator: Estimator | str = "eap"
    stopper: Rules = "error"
    random_state: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.calibration, Calibration):
            raise InputError(
                f"calibration is {type(self.calibration).__name__}, not a Calibration. Give what "
                "calibrate() or load() returns, or known_items() for items with known parameters."
            )
        if not self.calibration.item_names:
            raise InputError("The calibration has no items, so nothing can be asked. Add some.")
        whole_number(self.random_state, "random_state", 0)
        most = self.parts.stopper.limit
        if most is not None and most > len(self.calibration.item_names):
            raise InputError(
                f"The budget is {most:,} items, but the calibration has "
                f"{len(self.calibration.item_names):,}. Give a smaller budget."
            )
        self.choose(self.begin(np.zeros(1, dtype=np.int64)))  # parts that do not fit fail here

    @cached_property
    def parts(self) -> Parts:
        """The parts themselves, where names were given."""
        return Parts(
            find_part(self.initializer, "initializer", "begin", INITIALIZERS),
            find_part(self.selector, "selector", "choose", SELECTORS),
            find_part(self.estimator, "estimator", "estimate", ESTIMATORS),
            find_stopper(self.stopper),
        )

    def start(self, respondent: int = 0) -> AdaptiveSession:
        """A session of one respondent; its number decides what is drawn by lot."""
        from itemwise.adaptive.session import AdaptiveSession

        whole_number(respondent, "respondent", 0, most=MOST_RESPONDENTS)
        return AdaptiveSession(self, respondent)

    def save(self, path: PathLike) -> Path:
        """Write the test as .json, with its items; `itemwise.load` reads it.

        Parts that are not from this package cannot be saved.
        """
        from itemwise.adaptive.saved_tests import save_test

        return save_test(self, path)

    @cached_property
    def items(self) -> Bank:
        """The bank as the parts see it."""
        return Bank(self.calibration, self.parts.stopper.limit or len(self.calibration.item_names))

    def begin(self, respondents: Ints, free: Bools | None = None) -> State:
        """Nothing asked yet; `free` (n, n_items) says what may be asked, without it everything."""
        bank, n = self.items, respondents.size
        start = self.parts.initializer.begin(bank)
        state = State(
            bank=bank,
            seed=self.random_state,
            respondents=respondents,
            free=np.ones((n, len(bank.names)), dtype=bool) if free is None else free.copy(),
            items=np.empty((n, 0), dtype=np.int64),
            values=np.empty((n, 0)),
            log_posterior=np.tile(bank.log_prior, (n, 1)),
            target=np.full(n, start),
            ability=np.full(n, start),
            se=np.full(n, np.inf),
        )
        found = self.parts.estimator.estimate(state)
        return replace(state, ability=found.ability, se=found.se)

    def choose(self, state: State) -> Ints:
        """The next item of each row, as its place in the bank; each row has a free one."""
        found = np.asarray(self.parts.selector.choose(state, state.free))
        n, n_items = state.free.shape
        places = found.shape == (n,) and found.dtype.kind in "iu"
        if not (places and ((found >= 0) & (found < n_items)).all()):
            raise InputError(
                f"{self._selector} should choose a place in the bank for each of {n:,} rows, whole "
                f"numbers from 0 to {n_items - 1:,}; it gave {found.dtype} of shape {found.shape}."
            )
        taken = ~state.free[np.arange(n), found]
        if taken.any():
            name = self.items.names[int(found[taken][0])]
            raise InputError(
                f"{self._selector} chose {name!r}, which cannot be asked any more. Choose where "
                "`free` is true: no item is asked twice."
            )
        return found

    def choose_several(self, state: State, count: int) -> Ints:
        """So many items of each row at once, (n, count), none twice; each row has enough.

        A selector that has no choose_several() of its own is asked again and again, as if the
        items before had been asked, with responses that told nothing.
        """
        several = getattr(self.parts.selector, "choose_several", None)
        if several is not None:
            found: Ints = several(state, state.free, count)
            return found
        seen = replace(state, free=state.free.copy())
        nothing = np.full((len(state.free), 1), np.nan)
        for _ in range(count):
            items = self.choose(seen)
            seen.free[np.arange(items.size), items] = False
            asked = np.column_stack([seen.items, items])
            seen = replace(seen, items=asked, values=np.hstack([seen.values, nothing]))
        return seen.items[:, state.step :]

    @property
    def _selector(self) -> str:
        return f"The selector {type(self.parts.selector).__name__}"

    def advance(self, state: State, items: Ints, values: Floats, statistics: list[Floats]) -> State:
        """The state after each row has answered its item; the old one is used up."""
        after = state.answered(items, values, statistics)
        found = self.parts.estimator.estimate(after)
        return replace(after, ability=found.ability, se=found.se, target=found.target)

    def reasons(self, state: State) -> Reasons:
        """Why each row is over; empty where it goes on."""
        exhausted = np.where(state.free.any(axis=1), "", EXHAUSTED)
        if not state.step:
            return exhausted
        found: Reasons = self.parts.stopper.reasons(state)
        return np.where(found == "", exhausted, found)

    @cached_property
    def digest(self) -> str:
        """What tells this test from another: items, population, parts and seed."""
        bank = self.calibration
        model = bank.model.name, [np.asarray(end).tolist() for end in bank.model.extent()]
        known = model, bank.item_names, bank.population.reach(), self.parts, self.random_state
        whole = repr(known).encode() + bank.coords.tobytes()
        return hashlib.sha256(whole).hexdigest()[:16]


def load_test(file: Path, document: Mapping[str, Any]) -> AdaptiveTest:
    """Restore the test that `AdaptiveTest.save` wrote."""
    from itemwise.adaptive.saved_tests import not_usable, settings_from

    settings = settings_from(file, document)
    try:
        return AdaptiveTest(**settings)
    except ItemwiseError as error:
        raise not_usable(file, error) from error
