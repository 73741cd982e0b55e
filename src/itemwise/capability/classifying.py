"""A classifier with known classes; what it raises becomes an error with a sentence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from itemwise.capability.case_difficulty import places_of
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats
from itemwise.words import listed

SCORES = ("predict_proba", "decision_function")  # the first that a classifier has


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

    def fitted(self, X: Any, y: Any) -> Classifier:
        """A fitted copy."""
        from sklearn.base import clone

        try:
            return replace(self, model=clone(self.model).fit(X, y))
        except Exception as error:  # a classifier may raise anything
            raise InputError(failure(self.model, "learn", error)) from error

    def predict(self, X: Any) -> NDArray[np.intp]:
        """The position of each prediction in the classes, (n_cases,)."""
        from sklearn.utils.validation import _num_samples

        try:
            found = np.asarray(self.model.predict(X))
        except Exception as error:
            raise InputError(failure(self.model, "predict", error)) from error
        return self._places(found, _num_samples(X))

    def scores(self, X: Any) -> Floats | None:
        """Probabilities or decision values, (n_cases, n_classes); None if it has neither."""
        say = next((one for one in SCORES if hasattr(self.model, one)), None)
        labels = getattr(self.model, "classes_", None)
        if say is None or labels is None:
            return None
        try:
            found = np.asarray(getattr(self.model, say)(X), dtype=np.float64)
        except Exception as error:
            raise InputError(failure(self.model, f"say how sure it is ({say})", error)) from error
        found = np.column_stack([-found, found]) if found.ndim == 1 else found
        places = places_of(np.asarray(labels), self.classes)
        if found.shape[1:] != places.shape or sorted(places) != list(range(len(self.classes))):
            return None
        ordered = found[:, np.argsort(places)]
        return ordered if np.isfinite(ordered).all() else None

    def out_of_fold(
        self, X: Any, y: Any, codes: NDArray[np.intp], cv: int, seed: int
    ) -> NDArray[np.intp] | None:
        """Cross-validated predictions; None if a class has only one case."""
        from sklearn.model_selection import StratifiedKFold, cross_val_predict

        smallest = int(np.bincount(codes, minlength=len(self.classes)).min())
        if smallest < 2:
            return None
        parts = StratifiedKFold(min(cv, smallest), shuffle=True, random_state=seed)
        try:
            found = cross_val_predict(self.model, X, y, cv=parts)
        except Exception as error:
            raise InputError(failure(self.model, "learn and predict in folds", error)) from error
        return self._places(np.asarray(found), len(codes))

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


def is_fitted(classifier: Any) -> bool:
    """Whether a classifier is fitted; one without fit counts as fitted."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        check_is_fitted(classifier)
    except NotFittedError:
        return False
    except TypeError:
        return True
    return True


def rows_at(X: Any, places: NDArray[np.intp]) -> Any:
    """Some rows of an array or a frame."""
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, places)


def index_of(X: Any) -> Any:
    """The index of a frame; None for other tables."""
    import pandas as pd

    return X.index if isinstance(X, pd.DataFrame) else None
