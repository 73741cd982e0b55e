"""`measure_capability`: up to what difficulty each class of a classifier can be trusted.

After Kline and Lee (2023): cases of known difficulty are the items of an adaptive test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._progress import Progress, telling
from ogive._validation import as_number, one_of, whole_number
from ogive.capability.capability_result import (
    Capability,
    fall_notes,
    limit_notes,
    not_shown_to_fall,
    standing,
)
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.class_tests import (
    RULES,
    Cases,
    ClassTests,
    SuccessCurve,
    flat_classes,
    flat_notes,
    prepare,
    run_class_tests,
)
from ogive.capability.classifier import Classifier, rows_at
from ogive.data.foreign_frames import as_pandas
from ogive.errors import InputError
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import wilson
from ogive.stats.metrics import auc_error, auc_of_scores, classic_metrics, confusion_counts

METRICS = ("accuracy", "precision", "recall", "f1")
RESAMPLES = 500
MAX_SEED = 2**32 - 1  # for scikit-learn


@dataclass(frozen=True, eq=False)
class Tested:
    """The test cases, and the predictions of the classifier."""

    classifier: Classifier
    cases: Cases
    predicted: NDArray[np.intp]
    scores: Floats | None  # (n_cases, n_classes), if the classifier has any
    curves: tuple[SuccessCurve, ...]  # of each class
    seconds: float  # of predicting all test cases
    scoring_seconds: float


def measure_capability(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    case_difficulty: CaseDifficulty | None = None,
    rule: str | Sequence[str] = "information",
    n_resamples: int = 100,
    max_se: float = 0.1,
    budget: int = 16,
    test_size: float = 0.3,
    cv: int = 5,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> Capability:
    """Find, for each class, the difficulty at which a classifier is as often right as wrong.

    The frame, also `classes`, has one row per class and rule: mlc (the capability) and mlc_se,
    cases_used, cases, and the accuracy on cases below and above it. After Kline and Lee (2023).

    Parameters
    ----------
    estimator
        A scikit-learn classifier. If it is not fitted, a copy is fitted on the training part of
        `split_by_difficulty` and tested on the rest. If it is fitted, it is tested on these cases,
        which it should not have been trained on.
    X, y
        Cases (n_cases, n_features) and their classes, two or more.
    case_difficulty
        The scale of case difficulty; by default, or if not fitted, it is fitted on these cases.
    rule
        "information" asks the most informative case, given how success falls with difficulty. That
        curve is learned by cross-validation on the training part or, for a fitted classifier, on
        three tenths of the cases, which are set aside. "steps" is the published rule of halving
        steps. A list gives both, side by side.
    n_resamples
        Tests per class; they differ in what is chosen at random.
    max_se, budget
        A test by information stops at this standard error, or after `budget` cases.
    test_size, cv
        Share of the test part; number of folds on which the curve is learnt.
    random_state
        Seed of the split and of the tests.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message): classes tested, and the next class.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> import ogive as og
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = og.measure_capability(GaussianNB(), X[:, :4], y, n_resamples=5)
    >>> list(found.classes.index)
    [0, 1]
    """
    rules = list(rule) if isinstance(rule, list | tuple) else [rule]
    if not rules or len(set(map(str, rules))) < len(rules):
        raise InputError(f"`rule` must be one of {', '.join(RULES)}, or both, got {rule!r}.")
    for one in rules:
        one_of(one, "rule", RULES)
    X, y = as_pandas(X), as_pandas(y)
    whole_number(n_resamples, "n_resamples", 1)
    whole_number(budget, "budget", 1)
    whole_number(cv, "cv", 2)
    whole_number(random_state, "random_state", 0, most=MAX_SEED)
    if not as_number(max_se) > 0:
        raise InputError(f"`max_se` must be above 0, got {max_se!r}.")
    settings = {
        "max_se": max_se,
        "budget": budget,
        "n_resamples": n_resamples,
        "random_state": random_state,
    }
    with telling(progress, "Testing") as report:
        scale = _fitted_scale(case_difficulty, X, y)
        cases = Cases.of(scale, X, y)
        classifier, test_cases, curves, notes = prepare(
            Classifier(estimator, scale.classes_),
            cases,
            curved="information" in rules,
            test_size=test_size,
            cv=cv,
            seed=random_state,
        )
        tested = _predicted(classifier, test_cases, curves)
        labels = scale.classes_.tolist()
        jobs = [(str(name), code) for name in rules for code in range(len(labels))]
        rows, traces = [], []
        for done, (name, code) in enumerate(jobs):
            report(done, len(jobs), f"class {labels[code]}")
            tests = _class_tests(tested, code, name, settings)
            rows.append({"class": labels[code], **_row(tests, tested, code, len(cases.codes))})
            own = np.flatnonzero(tested.cases.codes == code)[tests.trace["case"].to_numpy()]
            trace = tests.trace.assign(case=np.asarray(tested.cases.names[own]))
            trace.insert(1, "class", labels[code])
            trace.insert(2, "rule", tests.rule)
            traces.append(trace)
    classes, frame = pd.DataFrame(rows).set_index("class"), _case_frame(tested)
    level = not_shown_to_fall(frame)
    flat = [one for one in flat_classes(tested.curves, scale.classes_) if one not in level]
    steps = getattr(classifier.model, "steps", None)  # of a pipeline, the last one is named
    return Capability(
        classes=classes,
        metrics=_metrics(tested, len(labels)),
        trace=pd.concat(traces, ignore_index=True),
        cases=frame,
        n_resamples=n_resamples,
        notes=(
            *scale.notes_,
            *notes,
            *flat_notes(flat),
            *fall_notes(level),
            *limit_notes(classes),
        ),
        classifier=type(steps[-1][1] if steps else classifier.model).__name__,
    )


def _fitted_scale(given: CaseDifficulty | None, X: Any, y: Any) -> CaseDifficulty:
    from sklearn.base import clone

    if given is not None and not isinstance(given, CaseDifficulty):
        raise InputError(
            "`case_difficulty` must be a CaseDifficulty, fitted or not, got "
            f"{type(given).__name__}."
        )
    if given is not None and hasattr(given, "classes_"):
        return given
    return (CaseDifficulty() if given is None else clone(given)).fit(X, y)


def _predicted(model: Classifier, cases: Cases, curves: tuple[SuccessCurve, ...]) -> Tested:
    """Predict all test cases; every class must have some."""
    missing = np.bincount(cases.codes, minlength=len(model.classes)) == 0
    if missing.any():
        names = ", ".join(map(str, model.classes[missing].tolist()))
        raise InputError(
            f"There is no case of {names} among the test cases, so it cannot be tested. "
            "Give more cases of it, or leave it out."
        )
    begin = perf_counter()
    predicted = model.predict(cases.X)
    middle = perf_counter()
    scores = model.scores(cases.X)
    end = perf_counter()
    return Tested(model, cases, predicted, scores, curves, middle - begin, end - middle)


def _class_tests(tested: Tested, code: int, rule: str, settings: dict[str, Any]) -> ClassTests:
    own = np.flatnonzero(tested.cases.codes == code)

    def ask(case: int) -> bool:
        predicted = tested.classifier.predict(rows_at(tested.cases.X, own[case : case + 1]))
        return bool(predicted[0] == code)

    return run_class_tests(
        tested.cases.difficulty[own],
        tested.predicted[own] == code,
        rule=rule,
        curve=tested.curves[code],
        ask=ask,
        **settings,
    )


def _row(tests: ClassTests, tested: Tested, code: int, n_cases: int) -> dict[str, Any]:
    """Return one row of the result: the limit, its cost, and the accuracy on either side of it."""
    own = tested.cases.codes == code
    difficulty, right = tested.cases.difficulty[own], tested.predicted[own] == code
    row: dict[str, Any] = {
        "rule": tests.rule,
        "mlc": tests.mlc,
        "mlc_se": tests.mlc_se,
        "between_tests": tests.between,
        "cases_used": float(tests.used.mean()),
        "cases": int(own.sum()),
        "share": float(tests.used.mean()) / n_cases,
        "seconds": tests.seconds,
        "easiest": float(difficulty.min()),
        "hardest": float(difficulty.max()),
    }
    for name, part in (("below", difficulty <= tests.mlc), ("above", difficulty > tests.mlc)):
        n, hits = np.array([float(part.sum())]), np.array([float(right[part].sum())])
        low, high = wilson(hits, n, 0.95)
        row[f"cases_{name}"] = int(n[0])
        row[f"accuracy_{name}"] = float(hits[0] / n[0]) if n[0] else np.nan
        row[f"accuracy_{name}_low"], row[f"accuracy_{name}_high"] = float(low[0]), float(high[0])
    return {**row, "limit_is": standing(row)}


def _metrics(tested: Tested, n_classes: int) -> pd.DataFrame:
    """Return classic metrics on all test cases, with bootstrap standard errors.

    Each class gets one extra case, spread over all predictions: without it, a classifier that is
    right on a few cases would seem certain to be right on all.
    """
    codes = tested.cases.codes
    n, rows = len(codes), {}
    begin = perf_counter()
    counts = confusion_counts(codes, tested.predicted[None], n_classes)
    values = classic_metrics(counts)
    seconds = tested.seconds + perf_counter() - begin
    chance = (counts.reshape(-1) + 1 / n_classes) / (n + n_classes)
    drawn = np.random.default_rng(0).multinomial(n, chance, size=RESAMPLES)
    again = classic_metrics(drawn.reshape(RESAMPLES, n_classes, n_classes).astype(np.float64))
    for name in METRICS:
        spread = float(again[name].std(ddof=1))
        rows[name] = {"value": float(values[name][0]), "se": spread, "cases": n, "seconds": seconds}
    if tested.scores is not None:
        rows["auc"] = _auc(tested.scores, codes, n_classes, tested.scoring_seconds)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def _auc(scores: Floats, codes: NDArray[np.intp], n_classes: int, scoring: float) -> dict[str, Any]:
    """Return ROC AUC of the second of two classes, or the mean of one against the rest."""
    begin = perf_counter()
    chosen = [1] if n_classes == 2 else range(n_classes)
    members = [(codes == code).astype(np.intp) for code in chosen]
    pairs = list(zip(members, scores.T[chosen], strict=True))
    value = float(np.mean([auc_of_scores(own, score[None])[0] for own, score in pairs]))
    # The standard error of a mean is at most the mean of the standard errors.
    error = float(np.mean([auc_error(own, score) for own, score in pairs]))
    seconds = scoring + perf_counter() - begin
    return {"value": value, "se": error, "cases": len(codes), "seconds": seconds}


def _case_frame(tested: Tested) -> pd.DataFrame:
    """Return one row per test case."""
    cases, labels = tested.cases, tested.classifier.classes
    # Two classes share one scale, that of the second; with more, each class has its own.
    towards = np.ones_like(cases.codes) if len(labels) == 2 else cases.codes
    columns = {
        "class": labels[cases.codes],
        "cdi": cases.cdi[np.arange(len(towards)), towards],
        "difficulty": cases.difficulty,
        "prediction": labels[tested.predicted],
        "right": tested.predicted == cases.codes,
    }
    return pd.DataFrame(columns, index=pd.Index(np.asarray(cases.names), name="case"))
