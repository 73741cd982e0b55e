"""Tests of one class: an equally hard split, how success falls with difficulty, adaptive tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import as_number, checked_share, one_of
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.classifier import Classifier, index_of, is_fitted, rows_at
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import (
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    Reliability,
    StandardError,
    StepRule,
)
from ogive.irt.adaptive.selectors import NearestByLot
from ogive.irt.adaptive.simulation import simulate_adaptive
from ogive.irt.banks import known_items
from ogive.irt.calibration import Calibration
from ogive.irt.models.logistic import TwoPL
from ogive.irt.quadrature import NormalPopulation
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats
from ogive.stats.logistic_curves import curves_of, points

Positions = NDArray[np.intp]
Cells = tuple[Positions, Positions | None]  # class and group of each case, if there are groups

RULES = ("information", "steps")
MIN_FOR_CURVE = 10  # cases of a class from which a curve is learned
MIN_SLOPE, MAX_SLOPE = 0.25, 20.0
MIN_CHANCE = 0.05  # probability of falling, below which success is taken not to fall
FARTHEST = 6.0  # largest middle of a curve, in standard deviations of the index
OTHER_SD = 0.25  # SD of the middle between classifiers trained on different cases
MIN_CASES = 5  # number of cases before the standard error may end a test
ASIDE = 0.3  # share of the cases from which the success curve of a fitted classifier is learned


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
                "A success curve needs finite numbers, `slope` and `sd` above 0, got slope "
                f"{self.slope}, middle {self.middle} and sd {self.sd}."
            )


UNKNOWN = SuccessCurve()  # the slope that the step rule assumes, and a wide prior


def learn_curve(difficulty: Floats, right: NDArray[np.bool_]) -> SuccessCurve:
    """Learn the curve from cases (n_cases,) held out of training; `UNKNOWN` if they are too few.

    Middle and slope are posterior means over falling curves; the standard deviation includes that
    between classifiers. If hardly any curve falls, the slope is the smallest, so that single cases
    are hardly informative.
    """
    n_cases = len(difficulty)
    if n_cases < MIN_FOR_CURVE or np.ptp(difficulty) == 0:
        return UNKNOWN
    posterior = curves_of(points(difficulty, right.astype(np.float64)), 0.0)
    falls = posterior.slope > MIN_SLOPE
    if posterior.weight[falls].sum() < MIN_CHANCE:
        return SuccessCurve(MIN_SLOPE, 0.0, FARTHEST / 3, n_cases)
    weight = posterior.weight[falls] / posterior.weight[falls].sum()
    slope = np.minimum(posterior.slope[falls], MAX_SLOPE)
    middles = np.clip(posterior.intercept[falls] / posterior.slope[falls], -FARTHEST, FARTHEST)
    middle = float(weight @ middles)
    spread = float(np.sqrt(weight @ (middles - middle) ** 2))
    sd = float(np.hypot(spread, OTHER_SD))
    return SuccessCurve(float(weight @ slope), middle, sd, n_cases)


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
    test = _class_test(difficulty, rule, curve, max_se, min(budget, len(difficulty)), random_state)
    begin = perf_counter()
    session = test.start()
    while (item := session.next_item()) is not None:
        case = int(item)
        session.answer(item, float(ask(case) if ask is not None else bool(right[case])))
    rows = session.trace
    rows["case"] = rows["item"].astype(int)
    rows["difficulty"] = difficulty[rows["case"].to_numpy()]
    rows["right"] = rows["response"].astype(bool)
    rows["estimate"] = rows["ability"]
    trace = rows[["step", "case", "difficulty", "right", "estimate", "se"]]
    seconds = perf_counter() - begin
    if n_resamples == 1:
        last = trace.iloc[-1:]
        used = np.array([len(trace)], dtype=np.int64)
        estimates, errors = last["estimate"].to_numpy(), last["se"].to_numpy()
        return ClassTests(rule, estimates, errors, used, trace, seconds)
    # Tests that differ in their random choices; the first is the traced one.
    cells = np.broadcast_to(right.astype(np.int8), (n_resamples, len(right)))
    repeated = simulate_adaptive(
        test.calibration,
        responses=Responses(cells, items=test.calibration.item_names, kind="binary"),
        initializer=test.parts.initializer,
        selector=test.parts.selector,
        estimator=test.parts.estimator,
        stopper=test.parts.stopper,
        random_state=test.random_state,
    ).respondents
    used = repeated["items_used"].to_numpy(dtype=np.int64)
    estimates, errors = repeated["ability"].to_numpy(), repeated["se"].to_numpy()
    return ClassTests(rule, estimates, errors, used, trace, seconds)


def _class_test(
    difficulty: Floats,
    rule: str,
    curve: SuccessCurve,
    max_se: float,
    budget: int,
    random_state: int,
) -> AdaptiveTest:
    """Return the adaptive test of a rule."""
    if one_of(rule, "rule", RULES) == "steps":
        return AdaptiveTest(
            _bank(difficulty, UNKNOWN),
            initializer=DifficultyPercentile(25),
            selector=NearestByLot(),
            estimator=StepRule(),
            stopper=Reliability(),
            random_state=random_state,
        )
    precise: Any = AtLeast(min(MIN_CASES, budget), StandardError(max_se))
    return AdaptiveTest(
        _bank(difficulty, curve),
        selector=NearestByLot(among=5),
        stopper=AnyOf((precise, Budget(budget))),
        random_state=random_state,
    )


def _bank(difficulty: Floats, curve: SuccessCurve) -> Calibration:
    """Return cases as items, named by their position."""
    model, n_cases = TwoPL(), len(difficulty)
    parameters = {"discrimination": np.full(n_cases, curve.slope), "difficulty": difficulty}
    return known_items(
        model,
        model.from_parameters(parameters),
        [str(k) for k in range(n_cases)],
        population=NormalPopulation(curve.middle, curve.sd),
    )


def split_by_difficulty(
    cdi: Any,
    *,
    labels: Any = None,
    test_size: float = 0.3,
    width: float = 0.25,
    random_state: Any = 0,
) -> tuple[Positions, Positions]:
    """Return positions of training and test cases, both ascending, split in each bin of `cdi`.

    `cdi` is (n_cases,). Bins are `width` standard deviations wide, and one is centred at zero. In
    each bin the share `test_size` is for testing, rounded, with at least one case on either side; a
    case alone in its bin is for training. With `labels`, each class is binned separately.

    >>> from ogive.capability import split_by_difficulty
    >>> train, test = split_by_difficulty([0.0, 0.1, 2.0, -0.1, 0.05, 0.02])
    >>> len(train), len(test)
    (4, 2)
    """
    from sklearn.utils import check_random_state

    values = np.asarray(cdi, dtype=np.float64)
    share = checked_share(test_size, "test_size", 0.3)
    if not 0 < as_number(width) < np.inf:
        raise InputError(f"`width` must be a number above 0, such as 0.25, got {width!r}.")
    if values.ndim != 1 or not np.isfinite(values).all():
        raise InputError(
            f"cdi has shape {values.shape} and {int((~np.isfinite(values)).sum())} values that "
            "are not finite. Give one finite index per case, such as one column of transform(X)."
        )
    draw = check_random_state(random_state)
    bins = _bins(np.floor(values / width + 0.5), labels)
    chosen: list[Positions] = []
    for number in range(bins.max(initial=-1) + 1):
        members = np.flatnonzero(bins == number)
        n_test = round(share * len(members)) if len(members) > 2 else len(members) // 2
        n_test = min(max(n_test, 1), len(members) - 1)
        chosen.append(draw.permutation(members)[:n_test])
    test = np.sort(np.concatenate([np.empty(0, dtype=np.intp), *chosen]))
    return np.setdiff1d(np.arange(len(values)), test), test


def _bins(difficulty_bins: Floats, labels: Any) -> Positions:
    """Return a number for each combination of difficulty bin and class."""
    _, bins = np.unique(difficulty_bins, return_inverse=True)
    if labels is None:
        return bins
    labels = np.asarray(labels)
    if labels.shape != bins.shape:
        raise InputError(
            f"`labels` must hold one label per case, got shape {labels.shape} for "
            f"{counted(len(bins), 'case')}."
        )
    names, codes = np.unique(labels, return_inverse=True)
    return np.asarray(np.unique(bins * len(names) + codes, return_inverse=True)[1])


def held_out_unseen(
    scale: CaseDifficulty, X: Any, y: Any, cells: Cells, size: float, seed: int
) -> tuple[CaseDifficulty, Positions, Positions]:
    """Hold cases out by class and group alone, and fit the scale without them.

    A guarantee needs cases that neither the model nor the scale learned from.
    """
    train, held_out = _split_by_cell(cells, size, seed)
    return scale.fit(rows_at(X, train), rows_at(y, train)), train, held_out


def held_out_alike(
    scale: CaseDifficulty, X: Any, y: Any, cells: Cells, size: float, seed: int
) -> tuple[CaseDifficulty, Positions, Positions]:
    """Hold out cases that are as hard as those kept, on a scale of all."""
    by_cell = _split_by_cell(cells, size, seed)
    fitted = scale.fit(X, y)
    train, held_out = split_by_difficulty(
        fitted.difficulty(X, y), labels=cells[0], test_size=size, random_state=seed
    )
    if not len(held_out):  # each case may be alone in its bin
        train, held_out = by_cell
    return fitted, train, held_out


def _split_by_cell(cells: Cells, size: float, seed: int) -> tuple[Positions, Positions]:
    codes, groups = cells
    labels = codes if groups is None else codes * (int(groups.max()) + 1) + groups
    train, held_out = split_by_difficulty(
        np.zeros(len(codes)), labels=labels, test_size=size, random_state=seed
    )
    if not len(held_out):
        raise InputError(
            "Every class has only one case, so none can be held out to find a limit. "
            "Give more cases."
        )
    return train, held_out


@dataclass(frozen=True, eq=False)
class Cases:
    """Cases with their classes, on the scale of case difficulty."""

    X: Any
    y: Any
    names: Any  # (n_cases,), as all: the index of X, or positions
    codes: NDArray[np.intp]  # of the classes
    cdi: Floats  # (n_cases, n_classes)

    @classmethod
    def of(cls, scale: CaseDifficulty, X: Any, y: Any) -> Cases:
        """Return all cases that were given."""
        cdi, names = scale.place(X).cdi, index_of(X)
        names = np.arange(len(cdi)) if names is None else names
        return cls(X, y, names, scale.codes(y, len(cdi)), cdi)

    @property
    def difficulty(self) -> Floats:
        """Difficulty of each case as a member of its class."""
        own: Floats = self.cdi[np.arange(len(self.codes)), self.codes]
        return -own

    def at(self, rows: Positions) -> Cases:
        """Return some of the cases."""
        X, y = rows_at(self.X, rows), rows_at(self.y, rows)
        return Cases(X, y, self.names[rows], self.codes[rows], self.cdi[rows])


class Prepared(NamedTuple):
    """A fitted classifier, the cases to test it on, and its success curves."""

    classifier: Classifier
    test: Cases
    curves: tuple[SuccessCurve, ...]
    notes: list[str]


def prepare(
    model: Classifier, cases: Cases, *, curved: bool, test_size: float, cv: int, seed: int
) -> Prepared:
    """Split the cases, fit the classifier if needed, and learn its success curves if wanted."""
    unknown = (UNKNOWN,) * len(model.classes)
    ready = is_fitted(model.model)
    if ready and not curved:
        return Prepared(model, cases, unknown, [])
    train, test = split_by_difficulty(
        cases.difficulty,
        labels=cases.codes,
        test_size=1 - ASIDE if ready else test_size,
        random_state=seed,
    )
    learning, tested = cases.at(train), cases.at(test)
    if not curved:
        return Prepared(model.fitted(learning.X, learning.y), tested, unknown, [])
    if ready:
        curves = success_curves(learning, model.predict(learning.X), len(model.classes))
        aside = (
            f"{counted(len(train), 'case')} were set aside to learn how success falls with "
            f"difficulty; tests and metrics use the other {len(test):,}."
        )
        return Prepared(model, tested, curves, [*few_notes(curves, model.classes), aside])
    predictions = model.out_of_fold(learning.X, learning.y, learning.codes, cv, seed)
    predicted = predictions.predicted_of_all(len(train))
    curves = success_curves(learning, predicted, len(model.classes))
    notes = few_notes(curves, model.classes)
    return Prepared(model.fitted(learning.X, learning.y), tested, curves, notes)


def success_curves(
    cases: Cases, predicted: Positions | None, n_classes: int
) -> tuple[SuccessCurve, ...]:
    """Return the success curve of each class, from the predictions of its cases."""
    if predicted is None:
        return (UNKNOWN,) * n_classes
    masks = [cases.codes == code for code in range(n_classes)]
    return tuple(
        learn_curve(cases.difficulty[mask], predicted[mask] == code)
        for code, mask in enumerate(masks)
    )


def curve_notes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[str]:
    """Return notes on classes whose success curve is unknown or does not fall."""
    return [*few_notes(curves, classes), *flat_notes(flat_classes(curves, classes))]


def few_notes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[str]:
    """Return a note on classes with too few cases to learn a success curve."""
    pairs = zip(map(str, classes.tolist()), curves, strict=True)
    few = [name for name, curve in pairs if curve is UNKNOWN]
    note = (
        f"Too few cases to learn how success falls with difficulty in {', '.join(few)}: a slope of "
        "1 is assumed there."
    )
    return [note] if few else []


def flat_classes(curves: Sequence[SuccessCurve], classes: NDArray[Any]) -> list[Any]:
    """Return classes whose success curve does not fall."""
    pairs = zip(classes.tolist(), curves, strict=True)
    return [label for label, curve in pairs if curve.slope <= MIN_SLOPE]


def flat_notes(flat: Sequence[Any]) -> list[str]:
    """Return a note on classes whose success does not fall with difficulty."""
    note = (
        f"Success does not fall with case difficulty in {', '.join(map(str, flat))}: the limit "
        "means little there, since other things make cases hard for this classifier."
    )
    return [note] if flat else []
