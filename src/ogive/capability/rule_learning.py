"""Learn an acceptance rule from training and held-out cases, by adaptive tests or by a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive.capability.class_tests import (
    UNKNOWN,
    Cases,
    SuccessCurve,
    curve_notes,
    learn_curve,
    run_class_tests,
    success_curves,
)
from ogive.capability.classifier import Classifier, OutOfFold
from ogive.capability.guarantees import (
    ALL,
    CLASS,
    GROUP,
    PREDICTION,
    AcceptanceRule,
    Guarantee,
    acceptance_of,
    expected_acceptance,
    fit_rule,
    group_notes,
    unproven_note,
    with_offsets,
)
from ogive.capability.selective_risk import Accepted
from ogive.capability.trust import (
    AUTO,
    CAPABILITY,
    MIXTURE,
    PROBABILITY,
    Codes,
    LabelledCases,
    PredictedCases,
    Trust,
    as_log_odds,
    candidates,
    choice_note,
    choose,
)
from ogive.errors import InputError
from ogive.stats.array_backend import Floats

FOLDS = 5  # folds in which training cases are predicted
UNLIMITED_MIDDLE = -1e3  # middle of a class with unknown limit, whose cases are trusted least


@dataclass(frozen=True, eq=False)
class GateData:
    """What a rule is learned from: training cases on the scale, and held-out cases."""

    training: Cases
    held_out: LabelledCases
    held_out_cdi: Floats  # (n_cases, n_classes)
    classes: NDArray[Any]
    training_groups: Codes | None
    group_names: tuple[str, ...] = ()

    def names(self, by: str) -> tuple[str, ...]:
        """Return the names of the groups of a rule."""
        if by == ALL:
            return ("all",)
        return self.group_names if by == GROUP else tuple(map(str, self.classes.tolist()))


class LearnedRule(NamedTuple):
    """A rule, what it accepts of the held-out cases, and how it was chosen."""

    rule: AcceptanceRule
    notes: list[str]
    acceptance: Accepted | None = None  # None without a target
    trust_shares: Mapping[str, float] = {}


def rule_by_test(data: GateData, model: Classifier, *, rule: str, seed: int) -> LearnedRule:
    """Find the capability of each class by adaptive tests on its held-out cases."""
    training, held_out = data.training, data.held_out
    curved = rule == "information"
    predicted = None
    if curved:
        out_of_fold = model.out_of_fold(training.X, training.y, training.codes, FOLDS, seed)
        predicted = out_of_fold.predicted_of_all(len(training.codes))
    curves = success_curves(training, predicted, len(data.classes))
    notes = curve_notes(curves, data.classes) if curved else []
    limit, error = np.full(len(curves), -np.inf), np.full(len(curves), np.nan)
    difficulty: Floats = -data.held_out_cdi[np.arange(len(held_out.true)), held_out.true]
    for code, label in enumerate(data.classes.tolist()):
        mask = held_out.true == code
        if not mask.any():
            notes.append(
                f"No case of class {label!r} was held out, so its limit is unknown: cases "
                "predicted as such go to a person."
            )
            continue
        tests = run_class_tests(
            difficulty[mask],
            held_out.correct[mask],
            rule=rule,
            curve=curves[code],
            random_state=seed,
        )
        limit[code], error[code] = tests.mlc, tests.mlc_se
    middle = np.where(np.isinf(limit), UNLIMITED_MIDDLE, limit)
    trust = replace(Trust.by_capability(curves), middle=middle)
    learned = AcceptanceRule(
        trust=trust,
        names=data.names(PREDICTION),
        threshold=np.where(np.isinf(limit), -limit, 0.0),
        too_few=np.zeros(len(limit), dtype=bool),
        limit_se=error,
    )
    return LearnedRule(learned, notes)


def rule_by_target(
    data: GateData, model: Classifier, guarantee: Guarantee, *, kind: str, seed: int
) -> LearnedRule:
    """Choose what trust rests on and how it is tested, on training cases; then test it."""
    training, held_out, names = data.training, data.held_out, data.names(guarantee.by)
    out_of_fold = model.out_of_fold(
        training.X, training.y, training.codes, FOLDS, seed, confidence=kind != CAPABILITY
    )
    curves = curves_by_prediction(
        training.cdi, out_of_fold.predicted_of_all(len(training.codes)), training.codes
    )
    known = _labelled(data, out_of_fold, model)
    tried = _of_kind(kind, candidates(Trust.by_capability(curves), known), model)
    if guarantee.by == CLASS:
        tried = tuple(with_offsets(one, known, held_out.true, guarantee) for one in tried)
    trust, shares = choose(
        tried, lambda one: expected_acceptance(one, known, names, guarantee, held_out.true)
    )
    rule = fit_rule(trust, known, held_out, names, guarantee)
    acceptance = acceptance_of(rule, guarantee, held_out)
    notes = [
        *(curve_notes(curves, data.classes) if trust.on_capability else []),
        choice_note(trust, shares, len(known.true)),
        *group_notes(rule, guarantee, held_out),
    ]
    if not acceptance.n_accepted:
        notes.append(unproven_note(guarantee, len(held_out.true)))
    return LearnedRule(rule, notes, acceptance, shares)


def curves_by_prediction(
    cdi: Floats, predicted: Codes | None, true: Codes
) -> tuple[SuccessCurve, ...]:
    """Learn how success falls with difficulty, by cross-validated predicted class.

    `cdi` is (n_cases, n_classes).
    """
    if predicted is None:
        return (UNKNOWN,) * len(cdi.T)
    difficulty: Floats = -cdi[np.arange(len(true)), predicted]
    correct = predicted == true
    masks = [predicted == code for code in range(len(cdi.T))]
    return tuple(learn_curve(difficulty[mask], correct[mask]) for mask in masks)


def confidence_log_odds(model: Classifier, confidence: Floats | None) -> Floats | None:
    """Return confidence on a scale on which evidence adds up: probabilities as log-odds."""
    if confidence is None or not hasattr(model.model, "predict_proba"):
        return confidence
    return as_log_odds(confidence)


def _labelled(data: GateData, out_of_fold: OutOfFold, model: Classifier) -> LabelledCases:
    """Return training cases as models that did not learn from them predict them."""
    rows, predicted = out_of_fold.rows, out_of_fold.predicted
    groups = None if data.training_groups is None else data.training_groups[rows]
    cases = PredictedCases(
        predicted,
        -data.training.cdi[rows, predicted],
        confidence_log_odds(model, out_of_fold.confidence),
        groups,
    )
    return LabelledCases(cases, data.training.codes[rows])


def _of_kind(kind: str, offered: tuple[Trust, ...], model: Classifier) -> tuple[Trust, ...]:
    """Return the kinds of trust to choose from."""
    if kind == AUTO:
        return offered
    by_kind = {one.kind: one for one in offered}
    if kind != CAPABILITY and PROBABILITY not in by_kind:
        raise InputError(
            f'trust is "{kind}", but {model.name} has neither predict_proba nor '
            'decision_function. Set trust="capability", or "auto".'
        )
    if kind == MIXTURE and MIXTURE not in by_kind:
        return (by_kind[PROBABILITY],)
    return (by_kind[kind],)
