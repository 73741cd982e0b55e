"""The cases of one class: how success falls with difficulty, and the adaptive test on them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.adaptive import (
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
from ogive.calibration import Calibration, known_items
from ogive.errors import InputError
from ogive.models import TwoPL
from ogive.numerics.arrays import Floats
from ogive.numerics.success_curves import curves_of, points
from ogive.responses import Responses
from ogive.scoring import NormalPopulation

if TYPE_CHECKING:
    import pandas as pd

MIN_FOR_CURVE = 10  # cases of a class
MIN_SLOPE, MAX_SLOPE = 0.25, 20.0
MIN_CHANCE = 0.05  # probability of falling, below which success is taken not to fall
FARTHEST = 6.0  # largest middle of a curve, in standard deviations of the index
OTHER_SD = 0.25  # of the middle between classifiers trained on different cases
RULES = ("information", "steps")
MIN_CASES = 5  # before the standard error may end a test


@dataclass(frozen=True)
class SuccessCurve:
    """P(right) = σ(slope (middle - difficulty)), with the standard deviation of the middle.

    As the prior of a test, `middle` and `sd` say where the capability is expected.
    """

    slope: float = 1.0
    middle: float = 0.0
    sd: float = 1.0
    n_cases: int = 0  # from which it was learned

    def __post_init__(self) -> None:
        numbers = np.array([self.slope, self.middle, self.sd], dtype=np.float64)
        if not (np.isfinite(numbers).all() and self.slope > 0 and self.sd > 0):
            raise InputError(
                f"A success curve has slope {self.slope}, middle {self.middle} and sd "
                f"{self.sd}; give finite numbers, slope and sd above 0."
            )


UNKNOWN = SuccessCurve()  # the slope that the step rule assumes, and a wide prior


def learn_curve(difficulty: Floats, right: NDArray[np.bool_]) -> SuccessCurve:
    """Learn the curve from cases (n_cases,) held out of training; `UNKNOWN` if they are too few.

    Middle and slope are posterior means over falling curves; the standard deviation includes that
    between classifiers. If hardly any curve falls, the slope is the smallest, so that single cases
    are hardly informative.
    """
    if len(difficulty) < MIN_FOR_CURVE or np.ptp(difficulty) == 0:
        return UNKNOWN
    found = curves_of(points(difficulty, right.astype(np.float64)), 0.0)
    falls = found.slope > MIN_SLOPE
    if found.weight[falls].sum() < MIN_CHANCE:
        return SuccessCurve(MIN_SLOPE, 0.0, FARTHEST / 3, len(difficulty))
    weight = found.weight[falls] / found.weight[falls].sum()
    slope = np.minimum(found.slope[falls], MAX_SLOPE)
    middles = np.clip(found.intercept[falls] / found.slope[falls], -FARTHEST, FARTHEST)
    middle = float(weight @ middles)
    spread = float(np.sqrt(weight @ (middles - middle) ** 2))
    return SuccessCurve(
        float(weight @ slope), middle, float(np.hypot(spread, OTHER_SD)), len(difficulty)
    )


@dataclass(frozen=True, eq=False)
class ClassTests:
    """Results of repeated tests on the cases of one class; the first is traced."""

    rule: str
    estimates: Floats  # (n_resamples,), as errors and used
    errors: Floats  # the standard error of each test
    used: NDArray[np.int64]
    trace: pd.DataFrame  # step, case (its position), difficulty, right, estimate, se
    seconds: float  # of the traced test, including its predictions

    @property
    def mlc(self) -> float:
        """The mean estimate of the tests."""
        return float(self.estimates.mean())

    @property
    def between(self) -> float:
        """Standard deviation between tests; NaN for a single test."""
        return float(self.estimates.std(ddof=1)) if len(self.estimates) > 1 else np.nan

    @property
    def mlc_se(self) -> float:
        """The larger of the standard deviation between tests and their mean standard error.

        If all cases are right, tests agree with each other, yet little is known.
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
    """Test a classifier on the cases of one class, of known `difficulty` (n_cases,).

    `right` says which of them the classifier gets right; `ask` predicts one, if the time of a test
    matters. The rule "information" starts from the prior of the success `curve` and stops at
    `max_se` or after `budget` cases; "steps" is the published rule, which uses neither.
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
    """Estimate, standard error and length of tests that differ in their random choices.

    The first is the traced one.
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
    """Return the adaptive test of a rule."""
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
    precise: Any = AtLeast(min(MIN_CASES, most), StandardError(max_se))
    return AdaptiveTest(
        _bank(difficulty, curve),
        selector=NearestByLot(among=5),
        stopper=AnyOf((precise, Budget(most))),
        random_state=random_state,
    )


def _bank(difficulty: Floats, curve: SuccessCurve) -> Calibration:
    """Cases as items, named by their position."""
    model = TwoPL()
    parameters = {
        "discrimination": np.full(len(difficulty), curve.slope),
        "difficulty": np.asarray(difficulty, dtype=np.float64),
    }
    return known_items(
        model,
        model.from_parameters(parameters),
        [str(k) for k in range(len(difficulty))],
        population=NormalPopulation(curve.middle, curve.sd),
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
