"""CapabilityGate: the model decides the cases it is capable of, people decide the others."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from itemwise.arguments import checked_share
from itemwise.capability.case_difficulty import CaseDifficulty
from itemwise.capability.case_features import Features, as_array
from itemwise.capability.case_splits import (
    Cases,
    Positions,
    curve_notes,
    split_by_difficulty,
    success_curves,
)
from itemwise.capability.class_tests import RULES
from itemwise.capability.classifying import Classifier, index_of, rows_at
from itemwise.capability.gate_comparison import Rivals, confidence
from itemwise.capability.limits import (
    Codes,
    Decisions,
    acceptance_notes,
    capability_frame,
    curves_by_prediction,
    decision_frame,
    limits_by_target,
    limits_by_test,
    unknown_notes,
)
from itemwise.capability.named_classifiers import default_model
from itemwise.capability.risk import Accepted
from itemwise.errors import InputError
from itemwise.numerics.arrays import Bools, Floats
from itemwise.tables.foreign_frames import as_pandas

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.capability.explaining import Explanation
    from itemwise.capability.gate_comparison import GateComparison
    from itemwise.capability.risk import RiskCoverage

FOLDS = 5  # to learn how success falls with difficulty


class CapabilityGate(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that knows its limit: harder cases go to a person.

    Part of the cases is held out of training. On it, an adaptive test finds for each class the
    difficulty up to which the model is right more often than wrong (its capability). For a new case
    only the predicted class is known, and its limit is used: if a class is rare, most cases
    predicted as such may belong to another, and `notes_` says if they did. With `target_accuracy`,
    the gate instead accepts the largest share of cases on which the model reaches that accuracy,
    with probability 1 - `alpha` for any model, for cases from the same source. `compare` shows
    whether case difficulty works better than the model's own confidence.

    After Kline and Lee (2023); the target uses learn then test (Angelopoulos et al., 2021).

    Parameters
    ----------
    estimator : scikit-learn classifier
        A copy is fitted; by default a logistic regression on scaled columns.
    target_accuracy : float or None
        Share of accepted cases that should be right; None uses the capability as the limit.
    alpha : float
        Probability of missing the target.
    case_difficulty : CaseDifficulty or None
        The scale of case difficulty, not fitted.
    rule : str
        Rule of the adaptive test: "information", or "steps", the published one.
    test_size : float
        Share of the cases to hold out.
    random_state : int, RandomState or None
        Seed of the split and of the tests.

    Attributes
    ----------
    classes_ : the labels, (n_classes,)
    estimator_ : the fitted classifier
    case_difficulty_ : the fitted scale of case difficulty
    capability_ : frame, one row per class: limit, limit_se, and of the held-out cases predicted as
        such the number accepted and their accuracy
    acceptance_ : what the target accepts of the held-out cases; None without a target
    kinds_ : whether each feature is a "number" or a "text"
    notes_ : remarks on the fit

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import itemwise as iw
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> gate = iw.CapabilityGate().fit(X[["mean radius", "mean texture", "mean area"]], y)
    >>> list(gate.decide(X.head(2)).columns)
    ['prediction', 'decision', 'cdi', 'cdi_se', 'difficulty', 'limit', 'reason']
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        target_accuracy: float | None = None,
        alpha: float = 0.05,
        case_difficulty: CaseDifficulty | None = None,
        rule: str = "information",
        test_size: float = 0.3,
        random_state: Any = 0,
    ) -> None:
        self.estimator = estimator
        self.target_accuracy = target_accuracy
        self.alpha = alpha
        self.case_difficulty = case_difficulty
        self.rule = rule
        self.test_size = test_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from cases `X` (n_cases, n_features) and their classes `y`, two or more."""
        self.check_settings()
        X, y = self._training_rows(X, y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"All cases are of one class, {self.classes_.tolist()[0]!r}: with 1 class there "
                "is nothing to decide. Give cases of at least two classes."
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        train, held = self._parted(X, y, codes, seed)
        made = default_model(X) if self.estimator is None else self.estimator
        model = Classifier(made, self.classes_)
        self.estimator_ = model.fitted(rows_at(X, train), rows_at(y, train)).model
        self._find_limits(X, y, codes, (train, held), seed)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The class that the model predicts for each case, even if a person decides it."""
        check_is_fitted(self)
        return np.asarray(self.classes_[self._predicted(self._new_rows(X))])

    @available_if(lambda self: _has(self, "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Floats:
        """The model's probability of each class, (n_cases, n_classes)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(self._new_rows(X)))

    def decide(self, X: Any) -> pd.DataFrame:
        """Model or person: one row per case, with the index of `X`.

        `prediction` is the model's; `decision` is "model" or "person"; `cdi` says how much the case
        looks like the predicted class, with `cdi_se`; `difficulty` is -cdi; `limit` is that of the
        predicted class; `reason` is a sentence.
        """
        found = self.decisions(X)
        return decision_frame(found, self.classes_, index_of(X), self.target_accuracy)

    def decisions(self, X: Any) -> Decisions:
        """Return the decisions as arrays, without sentences."""
        check_is_fitted(self)
        rows = self._new_rows(X)
        codes = self._predicted(rows)
        placed = self.case_difficulty_.place(rows)
        at = np.arange(len(codes))
        cdi, se = placed.cdi[at, codes], placed.se[at, codes]
        within = self.limits_.within(codes, -cdi) & placed.known
        limit = self.limits_.limit[codes]
        return Decisions(codes, cdi, se, limit, within, placed.known, placed.unseen)

    def explain(self, X: Any) -> Explanation:
        """Which features make each case hard, and which change would bring it within the limit."""
        from itemwise.capability.explaining import explain

        check_is_fitted(self)
        return explain(self, self._new_rows(X), index_of(X))

    def risk_coverage(self, X: Any, y: Any) -> RiskCoverage:
        """Accuracy against coverage on new labelled cases.

        One curve is by case difficulty ("gate"), the other by the model's own confidence
        ("probability").
        """
        from itemwise.capability.gate_comparison import gate_curves

        return gate_curves(self, *self._judged(X, y))

    def compare(self, X: Any, y: Any) -> GateComparison:
        """Compare the gate with a threshold on probability and conformal selection, on new cases.

        Each is shown at its own limit, if there is a target accuracy, and all at the gate's
        coverage.
        """
        from itemwise.capability.gate_comparison import compare_gate

        return compare_gate(self, *self._judged(X, y))

    def save(self, path: Any) -> Path:
        """Write the gate as .json and the model beside it as .skops; `itemwise.load` reads both."""
        from itemwise.capability.gate_files import save_gate

        return save_gate(self, path)

    @property
    def kinds_(self) -> dict[str, str]:
        """Whether each feature is a "number" or a "text"."""
        check_is_fitted(self)
        return dict(self.features_.kinds)

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
        checked_share(self.test_size, "test_size", 0.3)
        if self.target_accuracy is not None:
            checked_share(self.target_accuracy, "target_accuracy", 0.97)
        if self.rule not in RULES:
            raise InputError(f"rule is {self.rule!r}; choose one of {', '.join(RULES)}.")
        given = self.case_difficulty
        if given is not None and not isinstance(given, CaseDifficulty):
            raise InputError(
                f"case_difficulty is {type(given).__name__}; give a CaseDifficulty, or None."
            )

    def _training_rows(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        """Training cases and classes in one form; sets the features."""
        import pandas as pd

        X, y = as_pandas(X), as_pandas(y)
        if isinstance(X, pd.DataFrame):
            self.features_ = Features.of(X)
            X = self.features_.rows(X)
            validate_data(self, X, skip_check_array=True)
            if y is None:
                raise InputError("y is None, but it should be the class of each case.")
            y = column_or_1d(y, warn=True)
            check_consistent_length(X, y)
            if pd.isna(y).any():
                raise InputError(
                    f"The class of {int(pd.isna(y).sum()):,} of {len(y):,} cases is missing. "
                    "Leave these cases out."
                )
        else:
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_all_finite=self._finite())
            self.features_ = Features.of(X)
        check_classification_targets(y)
        return X, np.asarray(y)

    def _new_rows(self, X: Any) -> Any:
        """New cases in the form of the training cases: a frame with its columns, or an array."""
        import pandas as pd

        X = as_pandas(X)
        if isinstance(X, pd.DataFrame) and (self.features_.named or self.features_.knows(X)):
            rows = self.features_.rows(X)
            return rows if self.features_.named else as_array(rows)
        dtype = None if self.features_.named else np.float64
        finite = False if self.features_.named else self._finite()
        cells = validate_data(self, X, dtype=dtype, ensure_all_finite=finite, reset=False)
        if not self.features_.named:
            return cells
        frame = pd.DataFrame(cells, columns=list(self.features_.kinds)).infer_objects()
        return self.features_.rows(frame)

    def _finite(self) -> Any:
        return "allow-nan" if self.__sklearn_tags__().input_tags.allow_nan else True

    def _parted(self, X: Any, y: Any, codes: Codes, seed: int) -> tuple[Positions, Positions]:
        """Positions of training and held-out cases; fits the scale.

        A guarantee needs cases that neither model nor scale have seen. So with a target, cases are
        held out by class alone, and the scale is fitted without them.
        """
        made = CaseDifficulty() if self.case_difficulty is None else clone(self.case_difficulty)
        share = {"test_size": self.test_size, "random_state": seed}
        by_class = split_by_difficulty(np.zeros(len(codes)), labels=codes, **share)
        if not len(by_class[1]):
            raise InputError(
                "Every class has only one case, so none can be held out to find a limit. "
                "Give more cases."
            )
        if self.target_accuracy is not None:
            self.case_difficulty_ = made.fit(rows_at(X, by_class[0]), rows_at(y, by_class[0]))
            return by_class
        self.case_difficulty_ = made.fit(X, y)
        hard = self.case_difficulty_.difficulty(X, y)
        parts = split_by_difficulty(hard, labels=codes, **share)
        return parts if len(parts[1]) else by_class  # with few cases, each may be alone in its bin

    def _find_limits(
        self, X: Any, y: Any, codes: Codes, parts: tuple[Positions, Positions], seed: int
    ) -> None:
        """Set the limits, and the attributes that describe them."""
        train, held = parts
        scale = self.case_difficulty_
        known = scale.place(rows_at(X, held)).known
        held = held[known] if known.any() else held
        rows = rows_at(X, held)
        predicted = self._predicted(rows)
        cdi = scale.place(rows).cdi
        right = predicted == codes[held]
        difficulty = -cdi[np.arange(len(held)), predicted]
        learning = Cases.of(scale, rows_at(X, train), rows_at(y, train))
        found = self._out_of_fold(learning, seed)
        k = len(self.classes_)
        self.acceptance_: Accepted | None = None
        if self.target_accuracy is None:
            curves = success_curves(learning, found, k)
            own = -cdi[np.arange(len(held)), codes[held]]
            labels = self.classes_.tolist()
            self.limits_ = limits_by_test(
                own, codes[held], right, curves, labels, rule=self.rule, seed=seed
            )
        else:
            curves = curves_by_prediction(learning.cdi, found, learning.codes)
            target, alpha = float(self.target_accuracy), self.alpha
            self.limits_, self.acceptance_ = limits_by_target(
                difficulty, predicted, right, curves, target=target, alpha=alpha
            )
        self.capability_ = capability_frame(
            self.limits_, self.classes_, predicted, difficulty, right
        )
        self.rivals_ = Rivals.learn(
            confidence(self.estimator_, rows), predicted, right, k, self.target_accuracy, self.alpha
        )
        curved = self.target_accuracy is not None or self.rule == "information"
        self.notes_ = [
            *scale.notes_,
            *(curve_notes(curves, self.classes_) if curved else []),
            *unknown_notes(int((~known).sum())),
            *acceptance_notes(self.capability_, predicted, right),
            *self.limits_.notes,
        ]

    def _out_of_fold(self, learning: Cases, seed: int) -> Codes | None:
        """Cross-validated predictions of the training cases, if they are needed."""
        if self.target_accuracy is None and self.rule != "information":
            return None
        made = default_model(learning.X) if self.estimator is None else self.estimator
        model = Classifier(made, self.classes_)
        return model.out_of_fold(learning.X, learning.y, learning.codes, FOLDS, seed)

    def _predicted(self, rows: Any) -> Codes:
        return Classifier(self.estimator_, self.classes_).predict(rows)

    def _judged(self, X: Any, y: Any) -> tuple[Any, Decisions, Bools]:
        """New cases, the decisions of the gate, and whether the model is right."""
        found = self.decisions(X)
        true = self.case_difficulty_.codes(y, len(found.codes))
        return self._new_rows(X), found, found.codes == true


def _has(gate: CapabilityGate, method: str) -> bool:
    made = getattr(gate, "estimator_", gate.estimator)
    return made is None or hasattr(made, method)


def load_gate(file: Path, document: Mapping[str, Any], max_bytes: int) -> CapabilityGate:
    """Restore the gate that `CapabilityGate.save` wrote."""
    from itemwise.capability.gate_files import restore_gate

    return restore_gate(CapabilityGate(), file, document, max_bytes)
