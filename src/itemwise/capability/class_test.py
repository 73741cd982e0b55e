"""The adaptive test of a classifier on the cases of one class: by information, or by steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from itemwise.adaptive import (
    AdaptiveTest,
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    NearestByLot,
    Reliability,
    StandardError,
    StepRule,
    simulate_adaptive,
)
from itemwise.calibration import Calibration, known_items
from itemwise.capability.curve import UNKNOWN, SuccessCurve
from itemwise.errors import InputError
from itemwise.models import TwoPL
from itemwise.numerics.arrays import Floats
from itemwise.responses import Responses
from itemwise.scoring import NormalPopulation

if TYPE_CHECKING:
    import pandas as pd

RULES = ("information", "steps")
FEWEST = 5  # cases before a standard error may end a test


@dataclass(frozen=True, eq=False)
class ClassTests:
    """What repeated tests on the cases of one class found; the first is traced."""

    rule: str
    estimates: Floats  # (n_resamples,), as errors and used
    errors: Floats  # each test's own standard error
    used: NDArray[np.int64]
    trace: pd.DataFrame  # step, case (its place), difficulty, right, estimate, se
    seconds: float  # of the traced test, with the predictions it asked for

    @property
    def mlc(self) -> float:
        """What a test finds, on average."""
        return float(self.estimates.mean())

    @property
    def between(self) -> float:
        """How far single tests stray from each other; NaN for one alone."""
        return float(self.estimates.std(ddof=1)) if len(self.estimates) > 1 else np.nan

    @property
    def mlc_se(self) -> float:
        """Deviation between tests, but not less than what they say of themselves.

        Where all cases are right, tests agree with each other, and yet little is known.
        """
        return float(np.nanmax([self.between, self.errors.mean()]))


def run_class_tests(
    difficulty: Floats,
    right: NDArray[np.bool_],
    *,
    rule: str = "information",
    curve: SuccessCurve = UNKNOWN,
    max_se: float = 0.1,
    budget: int = 16,
    n_resamples: int = 100,
    random_state: int = 0,
    ask: Callable[[int], bool] | None = None,
) -> ClassTests:
    """Ask for cases of one class, of known `difficulty` (n_cases,), until the capability is known.

    `right` says which of them the classifier gets right; `ask` asks it for one, where the time of
    a test counts. "information" follows the success `curve` from its prior to a standard error or
    a budget; "steps" is the published rule, which neither knows.
    """
    test = class_test(
        difficulty,
        rule=rule,
        curve=curve,
        max_se=max_se,
        budget=budget,
        random_state=random_state,
    )
    begin = perf_counter()
    trace = _traced(test, ask or (lambda case: bool(right[case])), difficulty)
    seconds = perf_counter() - begin
    if n_resamples == 1:
        last = trace.iloc[-1:]
        estimates, errors = last["estimate"].to_numpy(), last["se"].to_numpy()
        used = np.array([len(trace)], dtype=np.int64)
    else:
        estimates, errors, used = _repeated(test, right, n_resamples)
    return ClassTests(rule, estimates, errors, used, trace, seconds)


def _repeated(
    test: AdaptiveTest, right: NDArray[np.bool_], n_resamples: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Estimate, standard error and length of tests that differ in what is drawn by lot.

    The first is the one that a session traces.
    """
    cells = np.broadcast_to(right.astype(np.int8), (n_resamples, len(right)))
    found = simulate_adaptive(
        test.calibration,
        responses=Responses(cells, items=test.calibration.item_names, kind="binary"),
        initializer=test.parts.initializer,
        selector=test.parts.selector,
        estimator=test.parts.estimator,
        stopper=test.parts.stopper,
        random_state=test.random_state,
    ).respondents
    used = found["items_used"].to_numpy(dtype=np.int64)
    return found["ability"].to_numpy(), found["se"].to_numpy(), used


def class_test(
    difficulty: Floats,
    *,
    rule: str,
    curve: SuccessCurve,
    max_se: float,
    budget: int,
    random_state: int,
) -> AdaptiveTest:
    """The test itself, by its rule."""
    if rule == "steps":
        return AdaptiveTest(
            _bank(difficulty, UNKNOWN),
            initializer=DifficultyPercentile(25),
            selector=NearestByLot(),
            estimator=StepRule(),
            stopper=Reliability(),
            random_state=random_state,
        )
    if rule != "information":
        raise InputError(f"rule is {rule!r}; choose one of {', '.join(RULES)}.")
    most = min(budget, len(difficulty))
    precise: Any = AtLeast(min(FEWEST, most), StandardError(max_se))
    return AdaptiveTest(
        _bank(difficulty, curve),
        selector=NearestByLot(among=5),
        stopper=AnyOf((precise, Budget(most))),
        random_state=random_state,
    )


def _bank(difficulty: Floats, curve: SuccessCurve) -> Calibration:
    """Cases as items, named by their place."""
    model = TwoPL()
    parameters = {
        "discrimination": np.full(len(difficulty), curve.slope),
        "difficulty": np.asarray(difficulty, dtype=np.float64),
    }
    return known_items(
        model,
        model.from_parameters(parameters),
        [str(k) for k in range(len(difficulty))],
        population=NormalPopulation(curve.middle, curve.deviation),
    )


def _traced(test: AdaptiveTest, ask: Callable[[int], bool], difficulty: Floats) -> pd.DataFrame:
    session = test.start()
    while (item := session.next_item()) is not None:
        session.answer(item, float(ask(int(item))))
    rows = session.trace
    rows["case"] = rows["item"].astype(int)
    rows["difficulty"] = difficulty[rows["case"].to_numpy()]
    rows["right"] = rows["response"].astype(bool)
    rows["estimate"] = rows["ability"]
    return rows[["step", "case", "difficulty", "right", "estimate", "se"]]
