"""State of an adaptive test: its items on nodes of ability, and the respondents so far."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite, isinf, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ogive._validation import as_number
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.quadrature import FARTHEST, PROBES, plan
from ogive.irt.response_matrix import new_responses
from ogive.stats.array_backend import Bools, Floats

Ints = NDArray[np.int64]
PLACES = 100  # number of rankings of items per population standard deviation
WIDEST = 0.12  # widest step of nodes, in population sds: the mode is interpolated from five nodes
CELLS_AT_A_TIME = 1 << 21
Use = Literal["selector", "estimator", "responses"]
USES: dict[Use, int] = {"selector": 1, "estimator": 2, "responses": 3}


class Bank:
    """Items of a calibration, with tables that are filled on demand.

    `longest` is the largest number of items for one respondent: fewer items give wider posteriors,
    which need fewer nodes.
    """

    def __init__(self, calibration: Calibration, longest: int) -> None:
        self.calibration = calibration
        self.model, self.coords = calibration.model, calibration.coords
        self.names, self.population = calibration.item_names, calibration.population
        self.place_of = {name: k for k, name in enumerate(self.names)}
        self.difficulty: Floats = self.model.parameters(self.coords)["difficulty"]
        low, high = self.population.reach(FARTHEST)
        # Nodes for the narrowest posterior after the best `longest` items.
        information = self.model.information(self.coords, np.linspace(low, high, PROBES))
        best = np.sort(information, axis=0)[-longest:]
        most = self.model.surprise * float(best.sum(axis=0).max())
        steepest = 2 * sqrt(float(best.max()))  # logistic: information is at most slope² / 4
        sd = self.population.sd
        narrowest = min(1 / sqrt(1 / sd**2 + most), WIDEST * sd)
        density = self.population.log_density
        nodes = plan(narrowest, low, high, density, max(steepest, 1e-6))
        self.nodes, self.log_prior = nodes.fine, nodes.log_weights
        self._abilities = np.linspace(low, high, round(2 * FARTHEST * PLACES) + 1)
        # Untouched memory costs nothing, so both tables may be large.
        self._order = np.empty((self._abilities.size, len(self.names)), dtype=np.int32)
        self._ranked = np.zeros(self._abilities.size, dtype=bool)
        self._terms: Floats | None = None
        self._termed = np.zeros(len(self.names), dtype=bool)

    def terms(self, items: Ints) -> Floats:
        """Return log terms of `items` on the nodes, (n, 1 + n_statistics, n_nodes)."""
        new = np.unique(items[~self._termed[items]])
        if new.size:
            part = self.model.of_items(new).log_terms(self.coords[new], self.nodes)
            if self._terms is None:
                self._terms = np.empty((len(self.names), part.shape[0], self.nodes.size))
            self._terms[new] = np.moveaxis(part, 1, 0)
            self._termed[new] = True
        assert self._terms is not None  # noqa: S101 - at least one item was requested
        return self._terms[items]

    @cached_property
    def expected(self) -> Floats:
        """Expected response to each item on the nodes, (n_items, n_nodes)."""
        return np.asarray(self.model.expected(self.coords, self.nodes))

    @cached_property
    def noise(self) -> Floats:
        """Variance of the response to each item on the nodes, (n_items, n_nodes)."""
        return np.asarray(self.model.variance(self.coords, self.nodes))

    def ranking(self, abilities: Floats, width: int) -> NDArray[np.int32]:
        """Return the `width` most informative items near each ability, the best first, (n, width).

        Abilities are rounded to a hundredth of a population standard deviation, so items are ranked
        once per rounded ability, not once per respondent.
        """
        low, step = self._abilities[0], self._abilities[1] - self._abilities[0]
        places = np.rint((abilities - low) / step).clip(0, self._abilities.size - 1).astype(int)
        new = np.unique(places[~self._ranked[places]])
        at_a_time = max(1, CELLS_AT_A_TIME // len(self.names))
        for first in range(0, new.size, at_a_time):
            part = new[first : first + at_a_time]
            information = self.model.information(self.coords, self._abilities[part])
            self._order[part] = np.argsort(-information, axis=0, kind="stable").T
        self._ranked[new] = True
        return self._order[places, :width]

    def information(self, item: int, ability: float) -> float:
        """Return information of one item at an ability."""
        one = np.array([item])
        found = self.model.of_items(one).information(self.coords[one], np.array([ability]))
        return float(found.item())

    def place(self, item: object) -> int:
        """Return position of an item in the bank."""
        if not isinstance(item, str) or item not in self.place_of:
            raise InputError(
                f"There is no item {item!r} in this bank of {len(self.names):,}. "
                f"Its items are {', '.join(self.names[:3])}, ...; answer the item of next_item()."
            )
        return self.place_of[item]

    def read(self, item: int, response: object) -> Floats:
        """Return one response as engines read it, (1, n_items); NaN or -1 for all other items."""
        name = self.names[item]
        try:
            number = float(response)  # type: ignore[arg-type]
        except (TypeError, ValueError) as error:
            raise InputError(f"The response to {name!r} is {response!r}, not a number.") from error
        except OverflowError as error:  # it may have too many digits to show
            raise InputError(f"The response to {name!r} is a number too large to use.") from error
        if not np.isfinite(number):
            raise InputError(
                f"The response to {name!r} is {response!r}. Give a finite number; do not call "
                "answer() for an item that was not answered."
            )
        low, high = (np.broadcast_to(end, len(self.names))[item] for end in self.model.stored())
        whole = self.model.kind == "continuous" or number == int(number)
        if not (low <= number <= high and whole):
            what = "a number" if self.model.kind == "continuous" else "a whole number"
            raise InputError(
                f"The response to {name!r} is {response!r}; the {self.model.name} model needs "
                f"{what} from {low:g} to {high:g}."
            )
        single = new_responses(np.array([[number]]), items=[name], kind=self.model.kind)
        return self.calibration.cells(single)

    def statistics(self, read: NDArray[np.generic]) -> list[Floats]:
        """Return statistics of responses that were read, each (n, n_items)."""
        with np.errstate(invalid="ignore"):  # scores of items that were not asked stay NaN, unused
            found: list[Floats] = self.model.statistics(read, np.float64)
        return found


@dataclass(frozen=True, eq=False)
class State:
    """Respondents in the middle of their tests, one row each; all have answered as many items.

    `target` is where on the scale the next item should be most informative. `free` and
    `log_posterior` are updated in place: do not use a state again after advancing it.
    """

    bank: Bank
    seed: int
    respondents: Ints  # (n,): their numbers, which seed their random choices
    free: Bools  # (n, n_items): items that may still be asked
    items: Ints  # (n, step): items that were asked, in order
    responses: Floats  # (n, step), as engines read them
    log_posterior: Floats  # (n, n_nodes), up to a constant
    target: Floats  # (n,)
    ability: Floats  # (n,)
    se: Floats  # (n,)

    @property
    def step(self) -> int:
        """Number of items that each respondent has answered."""
        return int(self.items.shape[1])

    def of(self, keep: Bools) -> State:
        """Return some of the rows."""
        if keep.all():
            return self
        rows = ("respondents", "free", "items", "responses", "log_posterior", "target", "ability")
        parts = {name: getattr(self, name)[keep] for name in (*rows, "se")}
        return replace(self, **parts)

    def answered(self, items: Ints, values: Floats, statistics: list[Floats]) -> State:
        """Return the state with one more response per row; all arguments are (n,)."""
        rows = np.arange(items.size)
        self.free[rows, items] = False
        terms = self.bank.terms(items)
        self.log_posterior[...] += terms[:, 0]
        for k, statistic in enumerate(statistics, start=1):
            self.log_posterior[...] += statistic[:, None] * terms[:, k]
        return replace(
            self,
            items=np.column_stack([self.items, items]),
            responses=np.column_stack([self.responses, values]),
        )

    def draws(self, use: Use) -> Floats:
        """Draw a uniform number per row, which depends on seed, use, step and respondent only."""
        bits = np.random.PCG64(np.random.SeedSequence([self.seed, USES[use], self.step]))
        first = int(self.respondents.min())
        bits.advance(first)
        drawn = np.random.Generator(bits).random(int(self.respondents.max()) - first + 1)
        return drawn[self.respondents - first]


def find_part(given: Any, role: str, method: str, registry: Mapping[str, Callable[[], Any]]) -> Any:
    """Return the part, or the one of that name with default settings."""
    if isinstance(given, str) and given in registry:
        return registry[given]()
    if isinstance(given, type):
        raise InputError(f"{role} is the class {given.__name__}; call it: {given.__name__}().")
    if not callable(getattr(given, method, None)):
        raise InputError(
            f"{role} is {given!r}. Give one of {', '.join(map(repr, registry))}, "
            f"or an object with the method {method}()."
        )
    return given


def refuse_unless_number(
    number: object, name: str, low: float, high: float, *, ends: bool = False
) -> None:
    """Refuse a setting that is not a number between two bounds; `ends` includes the bounds."""
    value = as_number(number)
    if not (low < value < high or (ends and value in (low, high) and isfinite(value))):
        if isinf(low) and isinf(high):
            bounds = "that is finite"
        elif isinf(high):
            bounds = f"of at least {low:g}" if ends else f"above {low:g}"
        else:
            bounds = f"from {low:g} to {high:g}" if ends else f"between {low:g} and {high:g}"
        raise InputError(f"`{name}` must be a number {bounds}, got {number!r}.")
