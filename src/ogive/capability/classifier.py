"""A classifier with known classes and plain errors; classifiers by name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._processes import heeded
from ogive.capability.case_difficulty import places_of
from ogive.data.feature_columns import column_transformer
from ogive.data.pools.published_pools import GRIDS, algorithm_classes
from ogive.errors import InputError
from ogive.results.numbers import listed, meant
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.feature_columns import Plan


SCORES = ("predict_proba", "decision_function")  # the first that a classifier has
SUM_ERROR = 0.01  # of a sum of probabilities, far above single precision and rounding
LOGISTIC = "logistic-regression"
MAX_ITER = 1_000
_ALGORITHMS = {name.lower().replace(" ", "-"): name for name in GRIDS}
CLASSIFIERS = (LOGISTIC, *_ALGORITHMS)
UNSAVED = ("svm",)  # its file cannot be checked
_SETTINGS: dict[str, dict[str, Any]] = {  # beside the first of the grid
    "MLP": {"max_iter": MAX_ITER},
    "linear SVM": {"max_iter": 10 * MAX_ITER},
    "nearest neighbours": {"algorithm": "brute"},  # no tree to check in a file
}
MAX_CATEGORIES = 20  # 0/1 columns per column of text; the rarest categories share one


class NoProbabilityError(InputError):
    """What a classifier calls probabilities are none."""


class ModelError(InputError):
    """A model failed; the message holds what it raised, which may tell of its inside."""


class OutOfFold(NamedTuple):
    """Predictions of cases by models that did not learn from them."""

    rows: NDArray[np.intp]  # of the cases; those alone in their class are always learned from
    predicted: NDArray[np.intp]  # classes, one per row
    confidence: Floats | None  # one per row

    def predicted_of_all(self, n_cases: int) -> NDArray[np.intp] | None:
        """Return the predicted classes if every case has one."""
        return self.predicted if len(self.rows) == n_cases else None


@dataclass(frozen=True, eq=False)
class Classifier:
    """A classifier of known classes; its failures become InputError."""

    model: Any
    classes: NDArray[Any]

    def __post_init__(self) -> None:
        if not hasattr(self.model, "predict") or isinstance(self.model, type):
            raise InputError(
                f"The classifier is {self.model!r:.60}, which cannot predict. Give a "
                "scikit-learn classifier, or any object with fit and predict."
            )

    @property
    def name(self) -> str:
        """The name of its Python class."""
        return type(self.model).__name__

    @heeded()
    def fitted(self, X: Any, y: Any, what: str = "learn") -> Classifier:
        """Return a fitted copy; `what` is what it failed to do if it fails."""
        from sklearn.base import clone

        try:
            return replace(self, model=clone(self.model).fit(X, y))
        except Exception as error:  # a classifier may raise anything
            raise ModelError(failure(self.model, what, error)) from error

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each prediction in the classes, (n_cases,)."""
        if not (n_cases := n_rows(X)):
            return np.empty(0, dtype=np.intp)
        try:
            labels = np.asarray(self.model.predict(X))
        except Exception as error:
            raise ModelError(failure(self.model, "predict", error)) from error
        if labels.shape != (n_cases,):
            raise InputError(
                f"{self.name} predicted an array of shape {labels.shape} for {n_cases:,} cases. "
                "It should give one class per case."
            )
        codes = places_of(labels, self.classes)
        if (codes < 0).any():
            unknown = sorted({str(label) for label in labels[codes < 0].tolist()})
            raise InputError(
                f"{self.name} predicts {listed(unknown, 'label')} that no case has; the classes "
                f"are {', '.join(map(str, self.classes.tolist()))}. Fit it on the same labels."
            )
        return codes

    def scores(self, X: Any) -> Floats | None:
        """Return probabilities or decision values, (n_cases, n_classes); None if it has neither."""
        method = self._score_method()
        labels = getattr(self.model, "classes_", None)
        if method is None or labels is None:
            return None
        scores = self._call(method, X)
        scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
        codes = places_of(np.asarray(labels), self.classes)
        if scores.shape[1:] != codes.shape or sorted(codes) != list(range(len(self.classes))):
            return None
        ordered = scores[:, np.argsort(codes)]
        return ordered if np.isfinite(ordered).all() else None

    def confidence(self, X: Any) -> Floats | None:
        """Return confidence in its own predictions, (n_cases,); None if it has none.

        The highest probability, or the margin by which the predicted class leads.
        """
        method = self._score_method()
        if method is None:
            return None
        if not n_rows(X):
            return np.empty(0)
        scores = self._call(method, X)
        if not np.isfinite(scores).all():
            return None
        if method == "predict_proba":
            self._refuse_no_probabilities(scores)
            return np.asarray(scores.max(axis=1))
        if scores.ndim == 1:
            return np.abs(scores)
        ordered = np.sort(scores, axis=1)
        return np.asarray(ordered[:, -1] - ordered[:, -2])

    def _score_method(self) -> str | None:
        return next((name for name in SCORES if hasattr(self.model, name)), None)

    def _call(self, method: str, X: Any) -> Floats:
        try:
            return np.asarray(getattr(self.model, method)(X), dtype=np.float64)
        except Exception as error:  # a classifier may raise anything
            what = f"say how sure it is ({method})"
            raise ModelError(failure(self.model, what, error)) from error

    def out_of_fold(
        self,
        X: Any,
        y: Any,
        codes: NDArray[np.intp],
        cv: int,
        seed: int,
        *,
        confidence: bool = False,
    ) -> OutOfFold:
        """Return cross-validated predictions and, if wanted, the confidence in them."""
        from sklearn.model_selection import StratifiedKFold

        counts = np.bincount(codes, minlength=len(self.classes))
        kept = np.flatnonzero(counts[codes] > 1)
        if not len(kept):
            return OutOfFold(kept, kept, None)
        alone = np.flatnonzero(counts[codes] == 1)
        folds = min(cv, int(counts[counts > 1].min()))
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed)
        predicted, confidences = np.empty(len(kept), dtype=np.intp), np.empty(len(kept))
        complete = confidence
        for learn, test in splitter.split(kept, codes[kept]):
            train = np.sort(np.concatenate([kept[learn], alone]))
            model = self.fitted(
                rows_at(X, train), rows_at(y, train), what="learn and predict in folds"
            )
            rows = rows_at(X, kept[test])
            predicted[test] = model.predict(rows)
            known = model.confidence(rows) if confidence else None
            complete = complete and known is not None
            if known is not None:
                confidences[test] = known
        return OutOfFold(kept, predicted, confidences if complete else None)

    def _refuse_no_probabilities(self, values: Floats) -> None:
        if values.ndim != 2:
            raise NoProbabilityError(
                f"{self.name} gives probabilities of shape {values.shape}; they should be "
                "(n_cases, n_classes)."
            )
        off = (np.abs(values.sum(axis=1) - 1) > SUM_ERROR) | (values < -SUM_ERROR).any(axis=1)
        if off.any():
            first = values[np.flatnonzero(off)[0]]
            raise NoProbabilityError(
                f"The probabilities of {self.name} do not sum to one in {int(off.sum()):,} of "
                f"{len(values):,} cases (the first: {first.sum():.3g}, the lowest of them "
                f'{first.min():.3g}). Mend predict_proba, or set trust="capability" to go '
                "without it."
            )


def failure(model: Any, what: str, error: Exception) -> str:
    """Say what a classifier failed to do."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
    return (
        f"{type(model).__name__} failed to {what}: {type(error).__name__}: "
        f"{reason[:300].rstrip('.')}. Try it on these cases by itself first."
    )


def is_fitted(classifier: Any) -> bool:
    """Return True if a classifier is fitted; one without fit counts as fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(classifier)
    except NotFittedError:
        return False
    except TypeError:
        return True
    return True


def n_rows(X: Any) -> int:
    """Return how many cases a table has; most models refuse one without any."""
    from sklearn.utils.validation import _num_samples

    return int(_num_samples(X))


def rows_at(X: Any, places: NDArray[np.intp]) -> Any:
    """Return some rows of an array or a frame."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, places)


def index_of(X: Any) -> Any:
    """Return the index of a frame; None for other tables."""
    return X.index if isinstance(X, pd.DataFrame) else None


def named_classifier(name: str, plan: Plan, seed: int = 0) -> Any:
    """Return an unfitted classifier, with the encoding of the planned columns before it.

    Its settings are the first of its grid in the pool "tuned".
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if name not in CLASSIFIERS:
        raise InputError(
            f"There is no classifier '{name:.60}'; there are {', '.join(CLASSIFIERS)}."
            f"{meant(name, CLASSIFIERS)}"
        )
    if name == LOGISTIC:
        model: Any = LogisticRegression(max_iter=MAX_ITER)
    else:
        algorithm = _ALGORITHMS[name]
        settings = {key: options[0] for key, options in GRIDS[algorithm].items()}
        model = algorithm_classes()[algorithm](**settings, **_SETTINGS.get(algorithm, {}))
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return make_pipeline(column_transformer(plan), model)


def default_model(X: Any) -> Any:
    """Return a logistic regression on scaled numbers and encoded categories."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    model = LogisticRegression(max_iter=MAX_ITER)
    texts: list[Any] = []
    if isinstance(X, pd.DataFrame):
        numeric = pd.api.types.is_numeric_dtype
        texts = [name for name in X.columns if not numeric(X[name].dtype)]
    if not texts:
        return make_pipeline(numbers, model)
    rest = [name for name in X.columns if name not in texts]
    # A missing value is a category of its own.
    coder = OneHotEncoder(handle_unknown="ignore", max_categories=MAX_CATEGORIES)
    parts = [("texts", coder, texts), *([("numbers", numbers, rest)] if rest else [])]
    return make_pipeline(ColumnTransformer(parts), model)
