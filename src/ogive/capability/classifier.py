"""A classifier with known classes and plain errors.

A classifier with known classes; what it raises becomes an error with a sentence.

Classifiers by name, and the default classifier of a gate.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ogive._processes import heeded
from ogive.capability.case_difficulty import places_of
from ogive.data.feature_columns import column_transformer
from ogive.data.pools.published_pools import GRIDS, algorithm_classes
from ogive.errors import InputError
from ogive.results.numbers import listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.feature_columns import Plan


SCORES = ("predict_proba", "decision_function")  # the first that a classifier has
SUM_ERROR = 0.01  # of probabilities, which single precision and rounding leave far behind


class NoProbabilityError(InputError):
    """What a classifier calls probabilities are none."""


class ModelError(InputError):
    """A model failed; the message holds what it raised, which may tell of its inside."""


class OutOfFold(NamedTuple):
    """What is said of cases by models that did not learn from them."""

    places: NDArray[np.intp]  # of the cases; those alone in their class are always learned from
    codes: NDArray[np.intp]  # of the predicted classes, as confidence
    confidence: Floats | None


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
    def fitted(self, X: Any, y: Any) -> Classifier:
        """Return a fitted copy."""
        from sklearn.base import clone

        try:
            return replace(self, model=clone(self.model).fit(X, y))
        except Exception as error:  # a classifier may raise anything
            raise ModelError(failure(self.model, "learn", error)) from error

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the position of each prediction in the classes, (n_cases,)."""
        if not (n_cases := n_rows(X)):
            return np.empty(0, dtype=np.intp)
        try:
            found = np.asarray(self.model.predict(X))
        except Exception as error:
            raise ModelError(failure(self.model, "predict", error)) from error
        return self._places(found, n_cases)

    def scores(self, X: Any) -> Floats | None:
        """Return probabilities or decision values, (n_cases, n_classes); None if it has neither."""
        say = next((one for one in SCORES if hasattr(self.model, one)), None)
        labels = getattr(self.model, "classes_", None)
        if say is None or labels is None:
            return None
        try:
            found = np.asarray(getattr(self.model, say)(X), dtype=np.float64)
        except Exception as error:
            raise ModelError(failure(self.model, f"say how sure it is ({say})", error)) from error
        found = np.column_stack([-found, found]) if found.ndim == 1 else found
        places = places_of(np.asarray(labels), self.classes)
        if found.shape[1:] != places.shape or sorted(places) != list(range(len(self.classes))):
            return None
        ordered = found[:, np.argsort(places)]
        return ordered if np.isfinite(ordered).all() else None

    def confidence(self, X: Any) -> Floats | None:
        """Return confidence in its own predictions, (n_cases,); None if it has none.

        The highest probability, or the margin by which the predicted class leads.
        """
        say = next((one for one in SCORES if hasattr(self.model, one)), None)
        if say is None:
            return None
        if not n_rows(X):
            return np.empty(0)
        try:
            said = np.asarray(getattr(self.model, say)(X), dtype=np.float64)
        except Exception as error:  # a classifier may raise anything
            raise ModelError(failure(self.model, f"say how sure it is ({say})", error)) from error
        if not np.isfinite(said).all():
            return None
        if say == "predict_proba":
            self._refuse_no_probabilities(said)
            return np.asarray(said.max(axis=1))
        return np.abs(said) if said.ndim == 1 else _lead(said)

    def out_of_fold(
        self, X: Any, y: Any, codes: NDArray[np.intp], cv: int, seed: int
    ) -> NDArray[np.intp] | None:
        """Return cross-validated predictions; None if a class has only one case."""
        found = self.judged_out_of_fold(X, y, codes, cv, seed, sure=False)
        return found.codes if len(found.places) == len(codes) else None

    def judged_out_of_fold(
        self, X: Any, y: Any, codes: NDArray[np.intp], cv: int, seed: int, *, sure: bool
    ) -> OutOfFold:
        """Return cross-validated predictions and, if wanted, the confidence in them."""
        from sklearn.model_selection import StratifiedKFold

        counts = np.bincount(codes, minlength=len(self.classes))
        places = np.flatnonzero(counts[codes] > 1)
        if not len(places):
            return OutOfFold(places, places, None)
        alone = np.flatnonzero(counts[codes] == 1)
        folds = min(cv, int(counts[counts > 1].min()))
        parts = StratifiedKFold(folds, shuffle=True, random_state=seed)
        found = np.empty(len(places), dtype=np.intp)
        said: list[tuple[NDArray[np.intp], Floats | None]] = []
        for learn, rest in parts.split(places, codes[places]):
            train = np.sort(np.concatenate([places[learn], alone]))
            model = self._fitted_on_fold(rows_at(X, train), rows_at(y, train))
            rows = rows_at(X, places[rest])
            found[rest] = model.predict(rows)
            said.append((rest, model.confidence(rows) if sure else None))
        if any(one is None for _, one in said):
            return OutOfFold(places, found, None)
        confident = np.empty(len(places))
        for rest, one in said:
            confident[rest] = one
        return OutOfFold(places, found, confident)

    @heeded()
    def _fitted_on_fold(self, X: Any, y: Any) -> Classifier:
        from sklearn.base import clone

        try:
            return replace(self, model=clone(self.model).fit(X, y))
        except Exception as error:
            raise ModelError(failure(self.model, "learn and predict in folds", error)) from error

    def _refuse_no_probabilities(self, said: Floats) -> None:
        if said.ndim != 2:
            raise NoProbabilityError(
                f"{self.name} gives probabilities of shape {said.shape}; they should be "
                "(n_cases, n_classes)."
            )
        off = (np.abs(said.sum(axis=1) - 1) > SUM_ERROR) | (said < -SUM_ERROR).any(axis=1)
        if off.any():
            first = said[np.flatnonzero(off)[0]]
            raise NoProbabilityError(
                f"The probabilities of {self.name} do not sum to one in {int(off.sum()):,} of "
                f"{len(said):,} cases (the first: {first.sum():.3g}, the lowest of them "
                f'{first.min():.3g}). Mend predict_proba, or set trust="capability" to go '
                "without it."
            )

    def _places(self, found: NDArray[Any], n_cases: int) -> NDArray[np.intp]:
        if found.shape != (n_cases,):
            raise InputError(
                f"{self.name} predicted an array of shape {found.shape} for {n_cases:,} cases. "
                "It should give one class per case."
            )
        places = places_of(found, self.classes)
        if (places < 0).any():
            unknown = sorted({str(label) for label in found[places < 0].tolist()})
            raise InputError(
                f"{self.name} predicts {listed(unknown, 'label')} that no case has; the classes "
                f"are {', '.join(map(str, self.classes.tolist()))}. Fit it on the same labels."
            )
        return places


def failure(model: Any, what: str, error: Exception) -> str:
    """Say what a classifier failed to do."""
    reason = str(error).strip().splitlines()[0] if str(error).strip() else "no reason given"
    return (
        f"{type(model).__name__} failed to {what}: {type(error).__name__}: "
        f"{reason[:300].rstrip('.')}. Try it on these cases by itself first."
    )


def _lead(margin: Floats) -> Floats:
    """Return margin between the best class and the second."""
    ordered = np.sort(margin, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


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
    import pandas as pd

    return X.index if isinstance(X, pd.DataFrame) else None


LOGISTIC = "logistic-regression"
ROUNDS = 1_000
_ALGORITHMS = {name.lower().replace(" ", "-"): name for name in GRIDS}
CLASSIFIERS = (LOGISTIC, *_ALGORITHMS)
UNSAVED = ("svm",)  # its file cannot be checked
_MORE: dict[str, dict[str, Any]] = {
    "MLP": {"max_iter": ROUNDS},
    "linear SVM": {"max_iter": 10 * ROUNDS},
    "nearest neighbours": {"algorithm": "brute"},  # no tree to check in a file
}
MAX_CATEGORIES = 20  # 0/1 columns per column of text; the rarest share one


def named_classifier(name: str, plan: Plan, seed: int = 0) -> Any:
    """Return an unfitted classifier, with the encoding of the planned columns before it.

    Its settings are the first of its grid in the pool "tuned".
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    if name not in CLASSIFIERS:
        close = difflib.get_close_matches(name, CLASSIFIERS, 1)
        meant = f" Did you mean '{close[0]}'?" if close else ""
        raise InputError(
            f"There is no classifier '{name:.60}'; there are {', '.join(CLASSIFIERS)}.{meant}"
        )
    if name == LOGISTIC:
        made: Any = LogisticRegression(max_iter=ROUNDS)
    else:
        algorithm = _ALGORITHMS[name]
        settings = {key: options[0] for key, options in GRIDS[algorithm].items()}
        made = algorithm_classes()[algorithm](**settings, **_MORE.get(algorithm, {}))
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    return make_pipeline(column_transformer(plan), made)


def default_model(X: Any) -> Any:
    """Logistic regression on scaled numbers and encoded categories, missing values filled."""
    import pandas as pd
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    numbers = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    last = LogisticRegression(max_iter=ROUNDS)
    texts = (
        [name for name in X.columns if not pd.api.types.is_numeric_dtype(X[name].dtype)]
        if isinstance(X, pd.DataFrame)
        else []
    )
    if not texts:
        return make_pipeline(numbers, last)
    rest = [name for name in X.columns if name not in texts]
    # A missing value is a category of its own.
    coder = OneHotEncoder(handle_unknown="ignore", max_categories=MAX_CATEGORIES)
    parts = [("texts", coder, texts), *([("numbers", numbers, rest)] if rest else [])]
    return make_pipeline(ColumnTransformer(parts), last)
