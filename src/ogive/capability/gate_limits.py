"""The limits of a gate: by adaptive tests of the capability, or by a promise that was tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.capability.acceptance_parts import parts_frame, parts_notes
from ogive.capability.case_splits import Cases, curve_notes, success_curves
from ogive.capability.class_promises import with_shifts
from ogive.capability.classifying import Classifier, OutOfFold
from ogive.capability.decisions import PromisedLimits
from ogive.capability.limits import (
    Limits,
    acceptance_notes,
    capability_frame,
    curves_by_prediction,
    limits_by_test,
)
from ogive.capability.promises import (
    ALL,
    CLASS,
    GROUP,
    Spec,
    expected_acceptance,
    make_promise,
    total_acceptance,
    unproven_note,
)
from ogive.capability.risk import Accepted
from ogive.capability.trust import (
    AUTO,
    CAPABILITY,
    MIXTURE,
    PROBABILITY,
    Codes,
    Judged,
    Seen,
    Trust,
    as_log_odds,
    candidates,
    choice_note,
    choose,
)
from ogive.errors import InputError
from ogive.numerics.arrays import Floats

if TYPE_CHECKING:
    import pandas as pd

FOLDS = 5  # to learn how success falls with difficulty


@dataclass(frozen=True, eq=False)
class Material:
    """What limits are found from: training cases on the scale, and held-out cases as judged."""

    learning: Cases
    held: Judged
    cdi: Floats  # of the held-out cases, (n_cases, n_classes)
    classes: NDArray[Any]
    groups: Codes | None  # of the training cases
    group_names: tuple[str, ...] = ()
    fact: str = "group"


@dataclass(frozen=True, eq=False)
class FoundLimits:
    """The limits, and what describes them."""

    limits: Limits | PromisedLimits
    capability: pd.DataFrame
    parts: pd.DataFrame
    acceptance: Accepted | None
    trust_shares: Mapping[str, float]
    notes: list[str]


def find_by_test(material: Material, model: Classifier, *, rule: str, seed: int) -> FoundLimits:
    """Find the capability of each class."""
    learning, held = material.learning, material.held
    curved = rule == "information"
    predicted = (
        model.out_of_fold(learning.X, learning.y, learning.codes, FOLDS, seed) if curved else None
    )
    curves = success_curves(learning, predicted, len(material.classes))
    own: Floats = -material.cdi[np.arange(len(held.true)), held.true]
    labels = material.classes.tolist()
    limits = limits_by_test(own, held.true, held.right, curves, labels, rule=rule, seed=seed)
    notes = curve_notes(curves, material.classes) if curved else []
    return _described(material, limits, None, {}, [*notes, *limits.notes])


def find_by_target(
    material: Material, model: Classifier, spec: Spec, *, kind: str, by: str, seed: int
) -> FoundLimits:
    """Choose what trust rests on and how it is tested, on training cases; then test it."""
    learning, held = material.learning, material.held
    said = model.judged_out_of_fold(
        learning.X, learning.y, learning.codes, FOLDS, seed, sure=kind != CAPABILITY
    )
    every = len(said.places) == len(learning.codes)
    curves = curves_by_prediction(learning.cdi, said.codes if every else None, learning.codes)
    known = _judged(learning, said, material.groups, model)
    names = _names(by, material)
    tried = _tried(kind, candidates(Trust.by_capability(curves), known), model)
    if by == CLASS:
        tried = tuple(with_shifts(one, known, held.true, spec.target, spec.alpha) for one in tried)
    chosen, shares = choose(
        tried, lambda one: expected_acceptance(one, known, by, names, spec, held.true)
    )
    promise = make_promise(chosen, known, held, by, names, spec)
    limits = PromisedLimits(chosen, promise)
    odds = chosen.log_odds(held.seen)
    total = total_acceptance(promise, held.seen, odds, held.right)
    counts = _counts(by, held, len(names))
    notes = [
        *(curve_notes(curves, material.classes) if chosen.on_capability else []),
        choice_note(chosen, shares, len(known.true)),
        *promise.notes(counts),
        *([] if total.n_accepted else [unproven_note(promise, len(held.true))]),
    ]
    return _described(material, limits, total, shares, notes)


def evidence(model: Classifier, confidence: Floats | None) -> Floats | None:
    """Confidence on a scale on which evidence adds up: probabilities as log-odds."""
    if confidence is None or not hasattr(model.model, "predict_proba"):
        return confidence
    return as_log_odds(confidence)


def _judged(learning: Cases, said: OutOfFold, groups: Codes | None, model: Classifier) -> Judged:
    """Training cases as they are seen out of fold."""
    at = said.places
    difficulty: Floats = -learning.cdi[at, said.codes]
    own = None if groups is None else groups[at]
    seen = Seen(said.codes, difficulty, evidence(model, said.confidence), own)
    return Judged(seen, learning.codes[at])


def _tried(kind: str, offered: tuple[Trust, ...], model: Classifier) -> tuple[Trust, ...]:
    """The kinds of trust to choose from."""
    if kind == AUTO:
        return offered
    found = {one.kind: one for one in offered}
    if kind != CAPABILITY and PROBABILITY not in found:
        raise InputError(
            f'trust is "{kind}", but {model.name} has neither predict_proba nor '
            'decision_function. Set trust="capability", or "auto".'
        )
    if kind == MIXTURE and MIXTURE not in found:
        return (replace(found[PROBABILITY], kind=PROBABILITY),)
    return (found[kind],)


def _names(by: str, material: Material) -> Sequence[str]:
    if by == ALL:
        return ["all"]
    return material.group_names if by == GROUP else [str(one) for one in material.classes.tolist()]


def _counts(by: str, held: Judged, n_parts: int) -> list[int]:
    """Held-out cases of each part of a promise."""
    if by == ALL:
        return [len(held.true)]
    codes = held.seen.codes
    if by in (GROUP, CLASS):
        codes = held.seen.group_codes() if by == GROUP else held.true
    counts: list[int] = np.bincount(codes[codes >= 0], minlength=n_parts).tolist()
    return counts


def _described(
    material: Material,
    limits: Limits | PromisedLimits,
    total: Accepted | None,
    shares: Mapping[str, float],
    notes: list[str],
) -> FoundLimits:
    """Limits with the tables and the notes on what they accept of the held-out cases."""
    held, classes = material.held, material.classes
    within, codes = limits.judge(held.seen).within, held.seen.codes
    capability = capability_frame(limits.by_class(), classes, codes, within, held.right)
    promise = limits.promise if isinstance(limits, PromisedLimits) else None
    parts = parts_frame(held, within, classes.tolist(), material.group_names, promise)
    target = None if total is None else total.target
    notes = [
        *notes,
        *acceptance_notes(capability, codes, held.right, None if promise is None else promise.by),
        *parts_notes(parts, target, material.fact),
    ]
    return FoundLimits(limits, capability, parts, total, shares, notes)
