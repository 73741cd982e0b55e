"""Simulation of adaptive tests, with known abilities or recorded responses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._validation import HALF_WIDTH, one_of
from ogive.errors import InputError
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Estimator, Initializer, Rules
from ogive.irt.adaptive.selectors import Selector
from ogive.irt.adaptive.state import USES, Ints, State
from ogive.irt.calibration import Calibration
from ogive.irt.item_curves import as_abilities
from ogive.irt.response_matrix import as_responses
from ogive.results.base import Draw, Result, table
from ogive.results.numbers import counted
from ogive.stats.array_backend import Bools, Floats, row_blocks, workers

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses, Table
    from ogive.results.plots.figure import Display

CELLS_AT_A_TIME = 1 << 20  # number of responses or posterior weights in memory at once
FIGURES = ("error", "exposure")


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveSimulation(Result):
    """How an adaptive test would work: errors of the abilities, and how often items are asked."""

    respondents: pd.DataFrame  # truth, ability, se, items_used, reason; one row per respondent
    items: pd.DataFrame  # difficulty, exposure: the share of respondents who were asked
    bias: float  # mean of ability - truth
    bias_se: float
    rmse: float
    rmse_se: float
    mean_items: float
    correlation: float  # of ability with truth; NaN if one of them is constant
    coverage: float  # share of respondents whose truth lies within 1.96 standard errors
    population_sd: float  # the unit in which the figure groups abilities
    notes: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """One sentence on the length of the test and its error."""
        return (
            f"{counted(len(self.respondents), 'respondent')} needed {self.mean_items:.1f} of "
            f"{counted(len(self.items), 'item')} on average; the estimated abilities differ from "
            f"the true ones by a root mean square of {_said(self.rmse, self.rmse_se)}, with a bias "
            f"of {_said(self.bias, self.bias_se, '+')}, and the item asked most often was asked of "
            f"{self.items['exposure'].max():.0%} of respondents."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent."""
        return self.respondents.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return respondents and items."""
        return {"respondents": self.to_frame(), "items": self.items}

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        return {kind: partial(self.plot, kind) for kind in FIGURES}

    def plot(self, kind: str = "error", **kw: Any) -> Display:
        """Draw errors by groups of true ability, or ("exposure") how often items are asked."""
        from ogive.results.plots import DISPLAYS

        one_of(kind, "kind", FIGURES)
        histogram: Any = DISPLAYS["histogram"]
        if kind == "exposure":
            asked = self.items[self.items["exposure"] > 0]
            display: Display = histogram(asked, value="exposure")
            return display.plot(**kw)
        display = histogram(self._errors(), value="error", group="group")
        return display.plot(**kw)

    def _errors(self) -> pd.DataFrame:
        """Return ability minus truth, by groups of true ability."""
        truth = self.respondents["truth"].to_numpy()
        edges = truth.mean() + self.population_sd * np.array([-1.0, 1.0])
        low, high = (f"{edge:.2g}" for edge in edges)
        names = [f"ability below {low}", f"ability {low} to {high}", f"ability above {high}"]
        groups = np.array(names)[np.searchsorted(edges, truth)]
        return self.respondents.assign(error=self.respondents["ability"] - truth, group=groups)


def simulate_adaptive(
    calibration: Calibration,
    abilities: Any = None,
    responses: Table | None = None,
    *,
    initializer: Initializer | str = "mean",
    selector: Selector | str = "information",
    estimator: Estimator | str = "eap",
    stopper: Rules = "error",
    random_state: int = 0,
) -> AdaptiveSimulation:
    """Simulate an adaptive test for respondents of known `abilities`, or with known `responses`.

    Responses of `abilities` (n,) are simulated from the model of the `calibration`. With a table of
    `responses`, items that a respondent was not asked cannot be chosen; its true ability is then
    the one estimated from all its responses. Respondent k is asked as by `AdaptiveTest.start(k)`,
    regardless of the others. All respondents step together, as rows of arrays.

    `initializer`, `selector`, `estimator` and `stopper` are those of `AdaptiveTest`; the same
    `random_state` gives the same tests. The frame has one row per respondent: truth, ability, se,
    items_used, reason.

    >>> import ogive as og
    >>> bank = og.calibrate(og.simulate("2pl", 300, 60, random_state=0).responses)
    >>> found = og.simulate_adaptive(bank, [-1.0, 0.0, 1.0], stopper="budget")
    >>> found.mean_items
    20.0
    """
    test = AdaptiveTest(calibration, initializer, selector, estimator, stopper, random_state)
    if (abilities is None) == (responses is None):
        raise InputError("Give either abilities, from which responses are simulated, or responses.")
    if responses is not None:
        observed = as_responses(responses, calibration.model.kind)
        scored = calibration.score(observed, items_known=True)
        cells = calibration.cells(observed)
        notes = ("The true ability is the one estimated from all responses of the table (EAP).",)
        truth = scored["ability"].to_numpy()
        return _summed(test, scored.index, truth, lambda rows: cells[rows], notes)
    truth, _ = as_abilities(abilities)
    if not truth.size:
        raise InputError("abilities is empty; give at least one.")
    names = getattr(abilities, "index", None)
    if not hasattr(names, "dtype"):  # a list has an index too: a method
        names = [f"respondent_{k + 1}" for k in range(truth.size)]

    def simulated(rows: slice) -> np.ndarray:
        """Draw responses to all items, as engines read them, with a generator per respondent."""
        model, parts = test.items.model, []
        for k in range(rows.start, rows.stop):
            random = np.random.default_rng([test.random_state, USES["responses"], k])
            parts.append(model.draw(test.items.coords, truth[k : k + 1], random)[:, 0])
        return np.asarray(model.read(np.stack(parts)))

    return _summed(test, names, truth, simulated, ())


def _summed(
    test: AdaptiveTest,
    names: Any,
    truth: Floats,
    responses_of: Callable[[slice], np.ndarray],
    notes: tuple[str, ...],
) -> AdaptiveSimulation:
    """Run the test for one block of respondents after another, and summarise."""
    bank, n = test.items, truth.size
    ability, se, used = np.empty(n), np.empty(n), np.empty(n, dtype=int)
    reason, asked = np.empty(n, dtype=object), np.zeros(len(bank.names))
    at_a_time = max(1, CELLS_AT_A_TIME // max(len(bank.names), bank.nodes.size))
    for rows in row_blocks(n, at_a_time):
        block = np.arange(rows.start, rows.stop)
        for place, part, why in _finished(test, block, responses_of(rows)):
            ability[place], se[place], reason[place] = part.ability, part.se, why
            used[place] = part.step
            asked += np.bincount(part.items.reshape(-1), minlength=asked.size)
    columns = {
        "truth": truth,
        "ability": ability,
        "se": se,
        "items_used": used,
        "reason": reason,
    }
    frame = table(columns, names, "respondent")
    items = table({"difficulty": bank.difficulty, "exposure": asked / n}, bank.names, "item")
    return AdaptiveSimulation(
        frame, items, **_figures(frame), population_sd=bank.population.sd, notes=notes
    )


def _finished(
    test: AdaptiveTest, respondents: Ints, read: np.ndarray
) -> list[tuple[Ints, State, Any]]:
    """Return finished rows with their last state and the reason, in order of finishing."""
    bank = test.items
    free = _observed(read)
    statistics = bank.statistics(read)
    state, ended = test.begin(respondents, free), []
    while state.respondents.size:
        why = test.reasons(state)
        over = why != ""
        if over.any():
            ended.append((state.respondents[over], state.of(over), why[over]))
            state = state.of(~over)
            continue
        items, rows = test.choose(state), state.respondents - respondents[0]
        values = read[rows, items].astype(float)
        given = [part[rows, items] for part in statistics]
        state = test.advance(state, items, values, given)
    return ended


def _observed(read: np.ndarray) -> Bools:
    """Return which responses exist."""
    return read >= 0 if read.dtype.kind in "iu" else ~np.isnan(read)


def _said(value: float, se: float, sign: str = "") -> str:
    """Return a figure with its 95 % interval, unless there is only one respondent."""
    low, high = value - HALF_WIDTH * se, value + HALF_WIDTH * se
    low = low if sign else max(low, 0.0)  # without a sign, it cannot be negative
    ends = "" if np.isnan(se) else f" ({low:{sign}.3f} to {high:{sign}.3f})"
    return f"{value:{sign}.3f}{ends}"


def _figures(frame: pd.DataFrame) -> dict[str, float]:
    """Return bias, error, length, correlation and coverage."""
    error = (frame["ability"] - frame["truth"]).to_numpy()
    n, square = error.size, error**2
    rmse = float(np.sqrt(square.mean()))
    several = n > 1
    varies = several and np.ptp(frame["ability"]) > 0 and np.ptp(frame["truth"]) > 0
    return {
        "bias": float(error.mean()),
        "bias_se": float(error.std(ddof=1) / np.sqrt(n)) if several else np.nan,
        "rmse": rmse,
        "rmse_se": float(square.std(ddof=1) / (2 * max(rmse, 1e-300) * np.sqrt(n)))
        if several
        else np.nan,
        "mean_items": float(frame["items_used"].mean()),
        "correlation": float(np.corrcoef(frame["ability"], frame["truth"])[0, 1])
        if varies
        else np.nan,
        "coverage": float((np.abs(error) <= HALF_WIDTH * frame["se"].to_numpy()).mean()),
    }


def asked_of_recorded(
    test: AdaptiveTest, responses: Responses, count: int, batch_size: int = 1
) -> Ints:
    """Return the first `count` items each respondent is asked, (n, count), by position.

    Respondent k is asked as by `AdaptiveTest.start(k)`, ignoring the stopper, and only items with a
    recorded response; every respondent needs `count` of these. A smaller count gives the first
    items of each row.
    """
    cells = test.calibration.cells(responses)
    at_a_time = max(1, CELLS_AT_A_TIME // max(len(test.items.names), test.items.nodes.size))

    def ask(block: slice) -> Ints:
        """Ask one block of respondents in step."""
        read = cells[block]
        statistics, rows = test.items.statistics(read), np.arange(len(read))
        state = test.begin(np.arange(block.start, block.stop), _observed(read))
        while state.step < count:
            for items in test.choose_several(state, min(batch_size, count - state.step)).T:
                given = [part[rows, items] for part in statistics]
                state = test.advance(state, items, read[rows, items].astype(float), given)
        return state.items

    with workers(1) as run:  # one thread, since the bank fills its tables on demand
        return np.concatenate(list(run(ask, row_blocks(len(cells), at_a_time))))
