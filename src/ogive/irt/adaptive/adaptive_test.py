"""AdaptiveTest: a calibration and four parts; AdaptiveSession: one respondent, item by item.

A saved test is JSON: its items, and its parts by name with their settings.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive._files import DAMAGED, PathLike, check_version, require_keys, why_damaged, write_json
from ogive._validation import whole_number
from ogive.errors import FileError, InputError, OgiveError
from ogive.irt.adaptive.rules import (
    ESTIMATORS,
    EXHAUSTED,
    INITIALIZERS,
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    Estimator,
    FixedAbility,
    Initializer,
    PopulationMean,
    PosteriorMean,
    PosteriorMode,
    Reasons,
    Reliability,
    Rules,
    StandardError,
    StepRule,
    Stopper,
    find_stopper,
)
from ogive.irt.adaptive.selectors import (
    SELECTORS,
    ContentBalance,
    FullScore,
    MaximumInformation,
    NearestByLot,
    NearestDifficulty,
    Randomesque,
    RandomItem,
    Selector,
)
from ogive.irt.adaptive.state import Bank, Ints, State, find_part
from ogive.irt.bank_writing import document_of
from ogive.irt.banks import calibration_from
from ogive.irt.calibration import Calibration
from ogive.stats.array_backend import Bools, Floats

if TYPE_CHECKING:
    import pandas as pd

KIND, VERSION = "adaptive-test", 1
ROLES = ("initializer", "selector", "estimator", "stopper")
MAX_RESPONDENT = 2**63 - 1  # respondent numbers are positions in a random stream
COLUMNS = ("step", "item", "response", "ability", "se", "information")
PARTS: dict[str, type] = {
    part.__name__: part
    for part in (
        *(DifficultyPercentile, FixedAbility, PopulationMean),
        *(ContentBalance, FullScore, MaximumInformation, NearestByLot, NearestDifficulty),
        *(Randomesque, RandomItem),
        *(PosteriorMean, PosteriorMode, StepRule),
        *(AnyOf, AtLeast, Budget, Reliability, StandardError),
    )
}


def _not_usable(file: Path, error: Exception) -> FileError:
    """Return the error for a file that does not hold a usable test."""
    return FileError(
        f"'{file}' is not an adaptive test that this Ogive can use: {why_damaged(error)} "
        "If it was edited, restore a copy or save it again."
    )


def _written(given: Any, role: str) -> Any:
    """Return a part as JSON: its name, its class with settings, or a list of such parts."""
    if isinstance(given, str):
        return given
    if isinstance(given, list | tuple):
        return [_written(one, role) for one in given]
    name = type(given).__name__
    if not is_dataclass(given) or PARTS.get(name) is not type(given):
        raise InputError(
            f"The {role} is a {name}, which is not a part of Ogive, so this test cannot be "
            "saved. Use a named part, or build the test in code each time."
        )
    settings = {}
    for field in fields(given):
        value = getattr(given, field.name)
        if isinstance(value, Mapping):
            value = dict(value)
        elif not isinstance(value, bool | int | float):
            value = value.item() if hasattr(value, "item") else _written(value, role)
        settings[field.name] = value
    return {name: settings}


def _restored(written: Any, role: str) -> Any:
    if isinstance(written, str):
        return written
    if isinstance(written, list):
        return [_restored(one, role) for one in written]
    if not isinstance(written, dict) or len(written) != 1:
        raise InputError(f"its {role} is {written!r:.60}, not the name of a part with settings")
    ((name, settings),) = written.items()
    if name not in PARTS or not isinstance(settings, dict):
        raise InputError(f"its {role} is {name!r:.40}, which is unknown here")
    restored = {}
    for key, value in settings.items():
        # A part is stored under the name of its class; other mappings are settings themselves.
        is_part = isinstance(value, list) or (isinstance(value, dict) and set(value) <= set(PARTS))
        restored[key] = _restored(value, role) if is_part else value
    return PARTS[name](**restored)


class Parts(NamedTuple):
    """The parts of a test."""

    initializer: Initializer
    selector: Selector
    estimator: Estimator
    stopper: Stopper


@dataclass(frozen=True, eq=False)
class AdaptiveTest:
    """A test that asks each respondent the most informative items.

    `calibration` holds the items. The parts are objects of this package, or their names:
    `initializer` "mean", "fixed" or "percentile"; `selector` "information", "randomesque",
    "nearest", "random" or "score"; `estimator` "eap", "map" or "steps"; `stopper` "error",
    "budget", "reliability", or a list of rules, any of which may stop the test. A test always
    ends when there are no items left.

    >>> import ogive as og
    >>> from ogive.irt.adaptive import Budget
    >>> bank = og.calibrate(og.simulate("2pl", 300, 30, random_state=0).responses)
    >>> session = og.AdaptiveTest(bank, stopper=Budget(3)).start()
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
        self.choose(self.begin(np.zeros(1, dtype=np.int64)))  # refuse parts that do not fit

    @cached_property
    def parts(self) -> Parts:
        """The part objects, also where names were given."""
        return Parts(
            find_part(self.initializer, "initializer", "begin", INITIALIZERS),
            find_part(self.selector, "selector", "choose", SELECTORS),
            find_part(self.estimator, "estimator", "estimate", ESTIMATORS),
            find_stopper(self.stopper),
        )

    def start(self, respondent: int = 0) -> AdaptiveSession:
        """Start a session for one respondent; its number seeds the random choices."""
        whole_number(respondent, "respondent", 0, most=MAX_RESPONDENT)
        return AdaptiveSession(self, respondent)

    def save(self, path: PathLike) -> Path:
        """Write the test as .json, with its items; `ogive.load` reads it.

        Parts that are not from this package cannot be saved.
        """
        target = Path(path)
        if target.suffix.lower() != ".json":
            raise InputError(
                f"Cannot save an adaptive test as '{target.name}': its ending is "
                f"'{target.suffix}'. Use .json."
            )
        document = {
            "calibration": document_of(self.calibration),
            **{role: _written(getattr(self, role), role) for role in ROLES},
            "random_state": int(self.random_state),
        }
        write_json(target, KIND, VERSION, document)
        return target

    @cached_property
    def items(self) -> Bank:
        """The items as the parts see them."""
        return Bank(self.calibration, self.parts.stopper.limit or len(self.calibration.item_names))

    def begin(self, respondents: Ints, free: Bools | None = None) -> State:
        """Return the state before the first item; `free` (n, n_items) is True for usable items."""
        bank, n = self.items, respondents.size
        start = self.parts.initializer.begin(bank)
        state = State(
            bank=bank,
            seed=self.random_state,
            respondents=respondents,
            free=np.ones((n, len(bank.names)), dtype=bool) if free is None else free.copy(),
            items=np.empty((n, 0), dtype=np.int64),
            responses=np.empty((n, 0)),
            log_posterior=np.tile(bank.log_prior, (n, 1)),
            target=np.full(n, start),
            ability=np.full(n, start),
            se=np.full(n, np.inf),
        )
        found = self.parts.estimator.estimate(state)
        return replace(state, ability=found.ability, se=found.se)

    def choose(self, state: State) -> Ints:
        """Return the next item of each row by its position; each row has a free one."""
        chosen = np.asarray(self.parts.selector.choose(state, state.free))
        n, n_items = state.free.shape
        who = f"The selector {type(self.parts.selector).__name__}"
        positions = chosen.shape == (n,) and chosen.dtype.kind in "iu"
        if not (positions and ((chosen >= 0) & (chosen < n_items)).all()):
            raise InputError(
                f"{who} should choose a position for each of {n:,} rows, whole numbers from 0 to "
                f"{n_items - 1:,}; it gave {chosen.dtype} of shape {chosen.shape}."
            )
        taken = ~state.free[np.arange(n), chosen]
        if taken.any():
            name = self.items.names[int(chosen[taken][0])]
            raise InputError(
                f"{who} chose {name!r}, which cannot be asked any more. Choose items "
                "for which `free` is true: no item is asked twice."
            )
        return chosen

    def choose_several(self, state: State, count: int) -> Ints:
        """Choose `count` different items for each row at once, (n, count); each row has enough.

        A selector without choose_several() is called repeatedly, as if the items before had been
        asked but had not changed what is known.
        """
        several = getattr(self.parts.selector, "choose_several", None)
        if several is not None:
            return np.asarray(several(state, state.free, count))
        seen = replace(state, free=state.free.copy())
        nothing = np.full((len(state.free), 1), np.nan)
        for _ in range(count):
            items = self.choose(seen)
            seen.free[np.arange(items.size), items] = False
            asked = np.column_stack([seen.items, items])
            seen = replace(seen, items=asked, responses=np.column_stack([seen.responses, nothing]))
        return seen.items[:, state.step :]

    def advance(self, state: State, items: Ints, values: Floats, statistics: list[Floats]) -> State:
        """Return the state after each row has answered its item; do not use the old one again."""
        after = state.answered(items, values, statistics)
        found = self.parts.estimator.estimate(after)
        return replace(after, ability=found.ability, se=found.se, target=found.target)

    def reasons(self, state: State) -> Reasons:
        """Return why each row is finished; empty if it goes on."""
        exhausted = np.where(state.free.any(axis=1), "", EXHAUSTED)
        if not state.step:
            return exhausted
        found: Reasons = self.parts.stopper.reasons(state)
        return np.where(found == "", exhausted, found)

    @cached_property
    def digest(self) -> str:
        """A hash of the items, population, parts and seed."""
        bank = self.calibration
        model = bank.model.name, [np.asarray(end).tolist() for end in bank.model.extent()]
        known = model, bank.item_names, bank.population.reach(), self.parts, self.random_state
        with np.printoptions(legacy="1.21"):  # NumPy numbers are written as plain numbers
            whole = repr(known).encode() + bank.coords.tobytes()
        return hashlib.sha256(whole).hexdigest()[:16]


def load_test(file: Path, document: Mapping[str, Any]) -> AdaptiveTest:
    """Restore the test that `AdaptiveTest.save` wrote."""
    check_version(file, document, VERSION)
    require_keys(file, document, ("calibration", *ROLES, "random_state"))
    try:
        settings = {role: _restored(document[role], role) for role in ROLES}
        calibration = calibration_from(document["calibration"])
    except DAMAGED as error:
        raise _not_usable(file, error) from error
    try:
        return AdaptiveTest(calibration, **settings, random_state=document["random_state"])
    except OgiveError as error:
        raise _not_usable(file, error) from error


class AdaptiveSession:
    """A running test: call `next_item` and `answer` in turn, until there is no next item.

    It is the state of a simulation with one row, so both give the same results.
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
        """Items that were skipped."""
        return tuple(self._skipped)

    @property
    def ability(self) -> float:
        """The current estimate of the ability."""
        return float(self._state.ability.item())

    @property
    def se(self) -> float:
        """Standard error of the ability; infinite before the first response of some estimators."""
        return float(self._state.se.item())

    @property
    def reason(self) -> str:
        """Reason why the test is finished; empty while it goes on."""
        return str(self.test.reasons(self._state).item())

    @property
    def done(self) -> bool:
        """True if the test is finished."""
        return self.reason != ""

    @property
    def trace(self) -> pd.DataFrame:
        """One row per response: the ability after it, and the information of the item."""
        import pandas as pd

        return pd.DataFrame(self._rows, columns=list(COLUMNS))

    def next_item(self) -> str | None:
        """Return the item to ask, the same until it is answered; None when the test is finished."""
        if self.done:
            return None
        if self._next is None:
            self._next = self.test.items.names[self.test.choose(self._state).item()]
        return self._next

    def next_items(self, count: int) -> list[str]:
        """Return up to `count` items to ask at once; an empty list when the test is finished.

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
        """Leave out an item that could not be answered; it does not count."""
        place = self.test.items.place(item)
        if not self._state.free[0, place]:
            raise InputError(f"The item {item!r} was already answered or skipped.")
        self._state.free[0, place] = False
        self._skipped.append(item)
        self._next = None

    def answer(self, item: str, response: float) -> None:
        """Record the response to an item, usually that of `next_item`; any free item is allowed."""
        bank, state = self.test.items, self._state
        place = bank.place(item)
        if self.done:
            raise InputError(f"The test is finished ({self.reason}); {item!r} is not needed.")
        if not state.free[0, place]:
            raise InputError(
                f"The item {item!r} was already answered. Ask the item of next_item()."
            )
        read = bank.read(place, response)
        statistics = [table[:, place] for table in bank.statistics(read)]
        information = bank.information(place, state.target.item())
        value = read[:, place].astype(float)
        self._state = self.test.advance(state, np.array([place]), value, statistics)
        self._next = None
        number = float(response)
        kept = number if bank.model.kind == "continuous" else int(number)
        self._rows.append((self._state.step, item, kept, self.ability, self.se, information))

    def to_dict(self) -> dict[str, Any]:
        """Return the responses so far as JSON values; `from_dict` continues from them."""
        return {
            "version": 1,
            "test": self.test.digest,
            "respondent": self.respondent,
            "answers": [[item, response] for _, item, response, *_ in self._rows],
            "skipped": list(self._skipped),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], test: AdaptiveTest) -> AdaptiveSession:
        """Restore the session that `to_dict` wrote, in the same test."""
        try:
            version, digest = document["version"], document["test"]
            respondent, answers = document["respondent"], document["answers"]
            pairs = [(item, response) for item, response in answers]
            skipped = list(document.get("skipped", []))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"This is not a session that to_dict() wrote: {type(error).__name__} {error}."
            ) from error
        if version != 1:
            raise InputError(f"The session has version {version!r}; this release reads version 1.")
        if digest != test.digest:
            raise InputError(
                "The session belongs to another test: items, parts or random_state differ. "
                "Give the test that started it."
            )
        session = test.start(respondent)
        for item, response in pairs:
            session.answer(item, response)
        for item in skipped:
            session.skip(item)
        return session
