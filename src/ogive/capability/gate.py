"""CapabilityGate: the model decides the cases it is capable of, people decide the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ogive._validation import checked_share, one_of
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.cases import GroupFact, new_rows, training_rows
from ogive.capability.class_tests import RULES, Cases, Positions, held_out_alike, held_out_unseen
from ogive.capability.classifier import (
    Classifier,
    NoProbabilityError,
    default_model,
    index_of,
    n_rows,
    rows_at,
)
from ogive.capability.decisions import (
    Decisions,
    acceptance_notes,
    capability_frame,
    decision_frame,
    parts_frame,
    parts_notes,
)
from ogive.capability.guarantees import BYS, GROUP, Guarantee, guaranteed_by, percent_or
from ogive.capability.rule_learning import (
    GateData,
    confidence_log_odds,
    rule_by_target,
    rule_by_test,
)
from ogive.capability.selective_risk import (
    ConfidenceBaseline,
    GateComparison,
    compare_gate,
    gate_curves,
)
from ogive.capability.trust import CAPABILITY, TRUSTS, Codes, LabelledCases, PredictedCases
from ogive.errors import InputError
from ogive.results.numbers import counted
from ogive.stats.array_backend import Bools, Floats

if TYPE_CHECKING:
    from ogive.capability.explanations import Explanation
    from ogive.capability.selective_risk import RiskCoverage


TEST_SIZE = 0.3
TARGET_TEST_SIZE = 0.5  # with a target: its test takes cases


class CapabilityGate(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows its limit: harder cases go to a person.

    Part of the cases is held out of training. On it, an adaptive test finds for each class the
    difficulty up to which the model is right more often than wrong (its capability). For a new case
    only the predicted class is known, and its limit is used: if a class is rare, most cases
    predicted as such may belong to another, and `notes_` says if they did. With `target_accuracy`,
    the gate instead accepts the largest share of cases on which the model reaches that accuracy,
    with probability 1 - `alpha` for any model, for cases from the same source: of all accepted
    cases, or, with `by`, in each class or group. `parts_` shows what is accepted of each.
    `compare` shows whether the gate works better than the model's own confidence alone.

    After Kline and Lee (2023); the target uses learn then test (Angelopoulos et al., 2021).

    Parameters
    ----------
    estimator : scikit-learn classifier
        A copy is fitted; by default a logistic regression on scaled columns.
    target_accuracy : float or None
        Share of accepted cases that should be right; None uses the capability as the limit.
    alpha : float
        Probability of missing the target, in any part for which it should hold.
    by : str or None
        For whom the target holds: "all" accepted cases together; "class", those of each true
        class; "prediction", those of each predicted class; "group", those of each group that is
        given to `fit`. None is "group" if groups are given, else "all".
    trust : str
        What cases are ranked by: "capability" (case difficulty), "probability" (the model's own
        confidence), a "mixture" of both, or "auto": the mixture, unless another is expected to
        accept a tenth of the cases more. Without a target it is the capability.
    case_difficulty : CaseDifficulty or None
        The scale of case difficulty, not fitted.
    rule : str
        Rule of the adaptive test: "information", or "steps", the published one.
    test_size : float or None
        Share of the cases to hold out; None is 0.3, and 0.5 with a target.
    random_state : int, RandomState or None
        Seed of the split and of the tests.

    Attributes
    ----------
    classes_ : the labels, (n_classes,)
    estimator_ : the fitted classifier
    acceptance_rule_ : `AcceptanceRule`, which cases the model decides
    case_difficulty_ : the fitted scale of case difficulty
    capability_ : frame, one row per class: limit, limit_se, least_trust, and of the held-out cases
        predicted as such the number accepted and their accuracy
    parts_ : frame, one row for all held-out cases and one per true class, predicted class and
        group: how many are accepted and right, with exact 95 % intervals, and whether the target
        is promised there
    trust_ : what cases are ranked by
    trust_shares_ : the share of cases that each kind of trust was expected to accept
    acceptance_ : what the target accepts of the held-out cases; None without a target
    kinds_ : whether each feature is a "number" or a "text"
    notes_ : remarks on the fit

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import ogive as og
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> gate = og.CapabilityGate().fit(X[["mean radius", "mean texture", "mean area"]], y)
    >>> list(gate.decide(X.head(2)).columns)[:4]
    ['prediction', 'decision', 'trust', 'least_trust']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        target_accuracy: float | None = None,
        alpha: float = 0.05,
        by: str | None = None,
        trust: str = "auto",
        case_difficulty: CaseDifficulty | None = None,
        rule: str = "information",
        test_size: float | None = None,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.target_accuracy = target_accuracy
        self.alpha = alpha
        self.by = by
        self.trust = trust
        self.case_difficulty = case_difficulty
        self.rule = rule
        self.test_size = test_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, groups: Any = None) -> Self:
        """Learn from cases `X` (n_cases, n_features) and their classes `y`, two or more.

        `groups` (n_cases,) is a fact that is known before the model decides, such as a site or a
        device: one value per case, or the name of a column of `X`. New cases need it too, if the
        target should hold in each group; a group that was not seen here goes to a person.
        """
        self.check_settings()
        given = X
        X, y, self.features_ = training_rows(self, X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"All cases are of one class, {self.classes_.tolist()[0]!r}: with 1 class there "
                "is nothing to decide. Give cases of at least two classes."
            )
        self.by_ = guaranteed_by(self.by, self.target_accuracy, grouped=groups is not None)
        self.group_fact_, group_codes = None, None
        if groups is not None:
            self.group_fact_, group_codes = GroupFact.learn(groups, given, len(codes))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        scale = CaseDifficulty() if self.case_difficulty is None else clone(self.case_difficulty)
        by_target = self.target_accuracy is not None
        size = self.test_size or (TARGET_TEST_SIZE if by_target else TEST_SIZE)
        hold_out = held_out_unseen if by_target else held_out_alike
        cells = (codes, group_codes)
        self.case_difficulty_, train, held_out = hold_out(scale, X, y, cells, size, seed)
        estimator = default_model(X) if self.estimator is None else self.estimator
        model = Classifier(estimator, self.classes_)
        self.estimator_ = model.fitted(rows_at(X, train), rows_at(y, train)).model
        self._learn_rule((X, y, codes, group_codes), (train, held_out), model, seed)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class that the model predicts for each case, even if a person decides it."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._model.predict(new_rows(self, X))])

    @available_if(lambda self: _has(self, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """Return the model's probability of each class, (n_cases, n_classes)."""
        check_is_fitted(self)
        rows = new_rows(self, X)
        if not n_rows(rows):
            return np.empty((0, len(self.classes_)))
        return np.asarray(self.estimator_.predict_proba(rows))

    def decide(self, X: Any, *, groups: Any = None) -> pd.DataFrame:
        """Return model or person: one row per case, with the index of `X`.

        `prediction` is the model's; `decision` is "model" or "person"; `trust` is the estimated
        chance that the model is right, and `least_trust` that from which such cases are accepted;
        `cdi` says how much the case looks like the predicted class, with `cdi_se`; `difficulty` is
        -cdi; `limit` is the difficulty up to which the case is accepted, NaN if difficulty plays no
        part; `reason` is a sentence. `groups` are needed if the target holds in each group, unless
        `X` has them as a column.
        """
        decisions = self.decisions(X, groups=groups)
        return decision_frame(
            decisions, self.classes_, index_of(X), self.acceptance_rule_, self._fact_name
        )

    def decisions(self, X: Any, *, groups: Any = None) -> Decisions:
        """Return the decisions as arrays, without sentences."""
        check_is_fitted(self)
        rows, rule = new_rows(self, X), self.acceptance_rule_
        codes = self._model.predict(rows)
        placed = self.case_difficulty_.place(rows)
        each = np.arange(len(codes))
        cdi, se = placed.cdi[each, codes], placed.se[each, codes]
        grouped = None
        if self.by_ == GROUP and self.group_fact_ is not None:
            grouped = self.group_fact_.find(groups, X, len(codes))
        cases = PredictedCases(
            codes,
            -cdi,
            self._confidence_log_odds(rows) if rule.trust.needs_confidence else None,
            None if grouped is None else grouped.codes,
        )
        verdicts = rule.judge(cases)
        within = verdicts.within & placed.known
        texts = None if grouped is None else grouped.texts
        return Decisions(cases, cdi, se, verdicts, within, placed.known, placed.unseen, texts)

    def explain(self, X: Any, *, groups: Any = None) -> Explanation:
        """Say which features make each case hard, and which change brings it within the limit."""
        from ogive.capability.explanations import explain

        check_is_fitted(self)
        rows = new_rows(self, X)
        if self.by_ == GROUP and self.group_fact_ is not None:
            groups = list(self.group_fact_.find(groups, X, len(rows)).texts)
        return explain(self, rows, index_of(X), groups)

    def risk_coverage(self, X: Any, y: Any, *, groups: Any = None) -> RiskCoverage:
        """Return accuracy against coverage on new labelled cases.

        One curve is by the gate ("gate"), the other by the model's own confidence ("probability").
        """
        return gate_curves(self, *self._judged(X, y, groups))

    def compare(self, X: Any, y: Any, *, groups: Any = None) -> GateComparison:
        """Compare the gate with a threshold on probability and conformal selection, on new cases.

        Each is shown at its own limit, if there is a target accuracy, and all at the gate's
        coverage.
        """
        return compare_gate(self, *self._judged(X, y, groups))

    def save(self, path: Any) -> Path:
        """Write the gate as .json and the model beside it as .skops; `ogive.load` reads both."""
        from ogive.capability.gate_files import save_gate

        return save_gate(self, path)

    @property
    def kinds_(self) -> dict[str, str]:
        """Whether each feature is a "number" or a "text"."""
        check_is_fitted(self)
        return dict(self.features_.kinds)

    @property
    def trust_(self) -> str:
        """What cases are ranked by."""
        check_is_fitted(self)
        return self.acceptance_rule_.trust.kind

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import get_tags

        tags = super().__sklearn_tags__()
        own = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.allow_nan = own is None or own.allow_nan
        tags.input_tags.sparse = False
        return tags

    def check_settings(self) -> None:
        """Refuse invalid settings, naming the argument."""
        if self.estimator is not None:
            Classifier(self.estimator, np.empty(0))  # refuses anything but a classifier
        checked_share(self.alpha, "alpha", 0.05)
        if self.test_size is not None:
            checked_share(self.test_size, "test_size", TEST_SIZE)
        if self.by is not None:
            one_of(self.by, "by", BYS)
        one_of(self.trust, "trust", TRUSTS)
        if self.target_accuracy is not None:
            near = percent_or(self.target_accuracy, 0.97)
            checked_share(self.target_accuracy, "target_accuracy", near)
        one_of(self.rule, "rule", RULES)
        given = self.case_difficulty
        if given is not None and not isinstance(given, CaseDifficulty):
            raise InputError(
                f"`case_difficulty` must be a CaseDifficulty or None, got {type(given).__name__}."
            )

    def _learn_rule(
        self,
        cases: tuple[Any, Any, Codes, Codes | None],
        split: tuple[Positions, Positions],
        unfitted: Classifier,
        seed: int,
    ) -> None:
        """Learn the acceptance rule, and set the attributes that describe it."""
        X, y, codes, groups = cases
        train, held_out = split
        scale, model = self.case_difficulty_, self._model
        known = scale.place(rows_at(X, held_out)).known
        held_out = held_out[known] if known.any() else held_out
        rows = rows_at(X, held_out)
        predicted, cdi = model.predict(rows), scale.place(rows).cdi
        confidence = self._heldout_confidence(rows)
        own_cdi: Floats = cdi[np.arange(len(held_out)), predicted]
        predicted_cases = PredictedCases(
            predicted,
            -own_cdi,
            confidence_log_odds(model, confidence),
            None if groups is None else groups[held_out],
        )
        fact = self.group_fact_
        data = GateData(
            Cases.of(scale, rows_at(X, train), rows_at(y, train)),
            LabelledCases(predicted_cases, codes[held_out]),
            cdi,
            self.classes_,
            None if groups is None else groups[train],
            () if fact is None else fact.labels,
        )
        if self.target_accuracy is None:
            learned = rule_by_test(data, unfitted, rule=self.rule, seed=seed)
        else:
            guarantee = Guarantee(float(self.target_accuracy), self.alpha, self.by_)
            learned = rule_by_target(data, unfitted, guarantee, kind=self.trust, seed=seed)
        self.acceptance_rule_, self.acceptance_ = learned.rule, learned.acceptance
        self.trust_shares_ = dict(learned.trust_shares)
        self.baseline_ = ConfidenceBaseline.learn(
            confidence,
            predicted,
            data.held_out.correct,
            len(self.classes_),
            self.target_accuracy,
            self.alpha,
        )
        self.notes_ = list(scale.notes_)
        if n_unknown := int((~known).sum()):
            self.notes_.append(
                f"Left out (no known feature): {counted(n_unknown, 'held-out case')}. Such cases "
                "go to a person."
            )
        self.notes_ += [*learned.notes, *self._describe(data)]

    def _describe(self, data: GateData) -> list[str]:
        """Set the tables of what is accepted of the held-out cases, and return notes on it."""
        rule, held_out, classes = self.acceptance_rule_, data.held_out, data.classes
        within, predicted = rule.judge(held_out.cases).within, held_out.cases.codes
        self.capability_ = capability_frame(
            rule.by_class(), classes, predicted, within, held_out.correct
        )
        self.parts_ = parts_frame(held_out, within, classes.tolist(), data.group_names, rule)
        by = None if rule.guarantee is None else rule.guarantee.by
        target = None if rule.guarantee is None else rule.guarantee.target
        return [
            *acceptance_notes(self.capability_, predicted, held_out.correct, by),
            *parts_notes(self.parts_, target, self._fact_name),
        ]

    @property
    def _model(self) -> Classifier:
        return Classifier(self.estimator_, self.classes_)

    @property
    def _fact_name(self) -> str:
        return "group" if self.group_fact_ is None else self.group_fact_.name

    def _heldout_confidence(self, rows: Any) -> Floats | None:
        """Return confidence in held-out cases; one that is no probability matters only if used."""
        try:
            return self._model.confidence(rows)
        except NoProbabilityError:
            if self.target_accuracy is None or self.trust == CAPABILITY:
                return None
            raise

    def _confidence_log_odds(self, rows: Any) -> Floats:
        model = self._model
        odds = confidence_log_odds(model, model.confidence(rows))
        if odds is None:
            raise InputError(
                f"{model.name} says of some cases that it is NaN or infinitely sure, so they "
                "cannot be decided. Leave them out."
            )
        return odds

    def _judged(self, X: Any, y: Any, groups: Any) -> tuple[Any, Decisions, Bools]:
        """Return new cases, the decisions of the gate, and whether the model is right."""
        decisions = self.decisions(X, groups=groups)
        if not len(decisions.codes):
            raise InputError("There are no cases to judge the gate by. Give cases with classes.")
        true = self.case_difficulty_.codes(y, len(decisions.codes))
        return new_rows(self, X), decisions, decisions.codes == true


def _has(gate: CapabilityGate, method: str) -> bool:
    estimator = getattr(gate, "estimator_", gate.estimator)
    return estimator is None or hasattr(estimator, method)


def load_gate(file: Path, document: Mapping[str, Any], max_bytes: int) -> CapabilityGate:
    """Restore the gate that `CapabilityGate.save` wrote."""
    from ogive.capability.gate_files import restore_gate

    return restore_gate(CapabilityGate(), file, document, max_bytes)
