"""CaseDifficulty: how much a case looks like each class, from its features alone (the CDI).

After Kline and Lee (2023): features are items, cases are respondents, and the ability of a case on
that scale says which class it looks like.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
    validate_data,
)

from ogive._progress import Pace, at_stage
from ogive._validation import one_of, whole_number
from ogive.capability.class_scale import Scale, learn_scale
from ogive.capability.coding import Coding, quantile_coding
from ogive.data.foreign_frames import as_pandas
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

MODELS = ("auto", "2pl", "graded", "gpcm")
MANY_NUMBERS = 50  # distinct ones in a target; more may well be a measurement
MAX_LEVELS = 20  # of a feature; finer grades would hold too few cases
VERSION = 1
SCHEMA = "ogive/case_difficulty"
MAX_LABEL_BYTES = 4 * 10_000  # of a class's name
_KINDS = "iufbU"  # of labels that JSON can hold


class Places(NamedTuple):
    """Cases on the scale."""

    cdi: Floats  # (n_cases, n_classes)
    se: Floats
    known: NDArray[np.bool_]  # (n_cases,), False if all features of the scale are missing
    unseen: dict[str, dict[int, str]]  # feature -> case -> a category that no training case had


class CaseDifficulty(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Places cases on a scale from "looks like the other classes" to "looks like this class".

    Features are coded as items, oriented so that higher grades go with the class, and a 2PL or
    graded model is calibrated on the training cases. The ability of a case is its case difficulty
    index (CDI), with mean 0 and standard deviation 1 over the training cases: the maximum
    likelihood estimate or, if that is infinite, the posterior mean (moved out if less extreme
    cases lie beyond it). New cases need no label. Missing features count as items that were not
    asked. With two classes, the second index is minus the first; with more, each class is compared
    with the rest.

    After Kline and Lee (2023).

    Parameters
    ----------
    coding : "quantiles", Coding, path or frame
        How features become grades: by quantiles of the training cases, or by a table of cut points
        and normal ranges (see `read_coding`).
    levels : int
        Grades of a number coded by quantiles; 4 are quartiles.
    model : str
        "2pl" for right-or-wrong items, "graded" or "gpcm" for grades; "auto" picks 2PL or graded.

    Attributes
    ----------
    classes_ : the labels, (n_classes,)
    coding_ : Coding of the features that vary
    scales_ : one Scale for two classes, that of the second; otherwise one per class
    calibrations_ : their calibrations of the items
    directions_ : frame, the direction of each item for each class
    notes_ : remarks on the fit

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> y = (X.sum(axis=1) > 0).astype(int)
    >>> og.CaseDifficulty().fit(X, y).transform(X).shape
    (200, 2)
    """

    def __init__(self, coding: Any = "quantiles", *, levels: int = 4, model: str = "auto") -> None:
        self.coding = coding
        self.levels = levels
        self.model = model

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the scale from cases `X` (n_cases, n_features) and their classes `y`."""
        self._check_settings()
        X, y = as_pandas(X), as_pandas(y)
        features = self._training_rows(X)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise InputError(
                f"All cases are of one class, {self.classes_.tolist()[0]!r}: with 1 class "
                "there is nothing to compare. Give cases of at least two classes."
            )
        if self.classes_.dtype.kind in "iuf" and len(self.classes_) > MANY_NUMBERS:
            warnings.warn(
                f"y holds {len(self.classes_):,} distinct numbers, and each counts as a class: is "
                "it a measurement (regression)? Cut it into classes (pandas.qcut), or give text if "
                "these numbers are classes.",
                stacklevel=2,
            )
        self.notes_: list[str] = []
        grades = self._code_training(features)
        several, pace = len(self.classes_) > 2, Pace()
        chosen = range(len(self.classes_)) if several else [1]  # two classes share one scale
        names, tops, self.scales_ = self.coding_.names, self._tops, []
        for done, code in enumerate(chosen):
            at_stage(pace.describe(done, len(chosen), "scales of classes"))
            scale = learn_scale(grades, codes == code, names, tops, self.model, middles=several)
            self.scales_.append(scale)
        self._note_scales()
        return self

    def transform(self, X: Any) -> Floats:
        """Return the index of each case for each class, (n_cases, n_classes), as in `classes_`.

        After `set_output(transform="pandas")` it is a frame with the columns cdi_<class>.
        """
        return self.place(X).cdi

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002
        """Name the columns of `transform`: cdi_<class>; `input_features` is not used."""
        check_is_fitted(self)
        return np.array([f"cdi_{label}" for label in self.classes_.tolist()], dtype=object)

    def difficulty(self, X: Any, labels: Any) -> Floats:
        """Return difficulty of each case in its class of `labels`: minus its index, (n_cases,).

        A case is hard if it looks like another class.
        """
        cdi = self.place(X).cdi
        own: Floats = cdi[np.arange(len(cdi)), self.codes(labels, len(cdi))]
        return -own

    def codes(self, labels: Any, n_cases: int) -> NDArray[np.intp]:
        """Return position of each label in `classes_`; unknown labels are refused."""
        check_is_fitted(self)
        labels = column_or_1d(labels)
        if len(labels) != n_cases:
            raise InputError(
                f"There are {counted(len(labels), 'label')}, but {counted(n_cases, 'case')}. "
                "Give one label per case."
            )
        codes = places_of(labels, self.classes_)
        if (codes < 0).any():
            unknown = sorted({str(label) for label in labels[codes < 0].tolist()})
            raise InputError(
                f"{listed(unknown, 'label')} not among the classes of the scale, "
                f"{', '.join(map(str, self.classes_.tolist()))}. Give cases of these classes."
            )
        return codes

    def indices(self, X: Any) -> pd.DataFrame:
        """Return cdi_<class> and cdi_<class>_se of each case; the index is that of `X`."""
        X = as_pandas(X)
        cdi, se = self.place(X)[:2]
        columns: dict[str, Floats] = {}
        for k, label in enumerate(self.classes_.tolist()):
            columns[f"cdi_{label}"], columns[f"cdi_{label}_se"] = cdi[:, k], se[:, k]
        return pd.DataFrame(columns, index=X.index if isinstance(X, pd.DataFrame) else None)

    def place(self, X: Any) -> Places:
        """Place each case on the scale; also returns which features and categories are unknown."""
        check_is_fitted(self)
        columns = self.coding_.columns(self._new_rows(X))
        grades = self.coding_.code_columns(columns)
        placed = [scale.place(grades) for scale in self.scales_]
        if len(self.classes_) == 2:
            ((cdi, se),) = placed
            placed = [(-cdi, se), (cdi, se)]
        indices, errors = zip(*placed, strict=True)
        known: NDArray[np.bool_] = np.any(~np.isnan(grades), axis=1)
        unseen = self.coding_.unseen(columns)
        return Places(np.column_stack(indices), np.column_stack(errors), known, unseen)

    @property
    def calibrations_(self) -> list[Calibration]:
        """The calibrated items of each scale."""
        check_is_fitted(self)
        return [scale.calibration for scale in self.scales_]

    @property
    def directions_(self) -> pd.DataFrame:
        """One row per item: feature, rule, grades, and its direction for each class.

        +1 if higher grades go with the class, -1 if lower ones do; 0 if, with several classes, the
        class is in the middle, and grades measure how close a case is to it.
        """
        check_is_fitted(self)
        frame = self.coding_.to_frame()
        signs = [np.array(scale.directions) for scale in self.scales_]
        both = [-signs[0], signs[0]] if len(self.classes_) == 2 else signs
        for label, column in zip(self.classes_.tolist(), both, strict=True):
            frame[f"direction_{label}"] = column
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Return the fitted scale as JSON values; `from_dict` reads it back."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "levels": self.levels,
            "model": self.model,
            "n_features": self.n_features_in_,
            "feature_names": None if names is None else [str(name) for name in names],
            "classes": self.classes_.tolist(),
            "labels": self.classes_.dtype.str if self.classes_.dtype.kind in _KINDS else "text",
            "coding": self.coding_.to_dict(),
            "scales": [scale.to_dict() for scale in self.scales_],
            "notes": list(self.notes_),
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> CaseDifficulty:
        """Restore the fitted scale that `to_dict` wrote."""
        try:
            return _restored(cls, document)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            why = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
            raise InputError(
                f"This is not a case difficulty that to_dict() wrote: {why.rstrip('.')}."
            ) from error

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    def _check_settings(self) -> None:
        whole_number(self.levels, "levels", 2, most=MAX_LEVELS)
        one_of(self.model, "model", MODELS)

    def _training_rows(self, X: Any) -> pd.DataFrame:
        """Return the cases as a frame; sets the names."""
        if isinstance(X, pd.DataFrame):
            validate_data(self, X, skip_check_array=True)
            return X
        cells = validate_data(self, X, dtype=None, ensure_all_finite="allow-nan")
        return _as_frame(cells)

    def _new_rows(self, X: Any) -> pd.DataFrame:
        X = as_pandas(X)
        if isinstance(X, pd.DataFrame):
            return X
        cells = validate_data(
            self, X, dtype=None, ensure_all_finite="allow-nan", ensure_min_samples=0, reset=False
        )
        return _as_frame(cells, getattr(self, "feature_names_in_", None))

    def _code_training(self, features: pd.DataFrame) -> Floats:
        """Return grades of the training cases in the items that vary; sets the coding."""
        coding = self._chosen_coding(features)
        grades = coding.code(features)
        missing = np.isnan(grades)
        lowest = np.where(missing, np.inf, grades).min(axis=0)
        varied = lowest < np.where(missing, -np.inf, grades).max(axis=0)
        if not varied.any():
            raise InputError(
                f"All {counted(len(coding.items), 'coded feature')} are constant over the training "
                "cases, so no case is harder than another. Give features that vary."
            )
        if not varied.all():
            lost = [name for name, varies in zip(coding.names, varied, strict=True) if not varies]
            self.notes_.append(
                f"Left out (constant over the training cases): {listed(lost, 'item')}."
            )
        self.coding_ = coding.select(varied)
        self.notes_ += coding.notes
        return np.asarray(grades[:, varied])

    def _chosen_coding(self, features: pd.DataFrame) -> Coding:
        if not isinstance(self.coding, str) or self.coding != "quantiles":
            from ogive.capability.coding_rules import read_coding

            return read_coding(self.coding)
        if len(features) < self.levels:
            raise InputError(
                f"There are {counted(len(features), 'case')}, fewer than the {self.levels} "
                "levels of the coding. Give more cases, or fewer levels."
            )
        return quantile_coding(features, self.levels)

    @property
    def _tops(self) -> list[int]:
        return [item.rule.top for item in self.coding_.items]

    def _note_scales(self) -> None:
        """Note items that oppose the others, reversed scales, and lack of convergence."""
        slopes = [one.model.parameters(one.coords)["discrimination"] for one in self.calibrations_]
        against = (np.array(slopes) < 0).any(axis=0)
        if against.any():
            names = np.array(self.coding_.names, dtype=object)[against].tolist()
            run, do = ("runs", "it does") if len(names) == 1 else ("run", "they do")
            self.notes_.append(
                f"{listed(names, 'feature')} {run} against the other features: the more the others "
                f"speak for a class, the less {do}."
            )
        if any(scale.unit < 0 for scale in self.scales_):
            self.notes_.append(
                "Items oriented towards a class oppose each other, so their common scale was "
                "reversed."
            )
        if not all(one.converged for one in self.calibrations_):
            self.notes_.append("The calibration of the features did not converge.")


def places_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return position of each label among the classes; -1 if it is not there."""
    code_of = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([code_of.get(label, -1) for label in labels.tolist()], dtype=np.intp)


def _as_frame(cells: NDArray[Any], names: Any = None) -> pd.DataFrame:
    columns = [f"x{k}" for k in range(cells.shape[1])] if names is None else list(map(str, names))
    return pd.DataFrame(cells, columns=columns).infer_objects()


def _restored(cls: type[CaseDifficulty], document: Mapping[str, Any]) -> CaseDifficulty:
    if document["schema"] != SCHEMA:
        raise ValueError(f"its schema is {document['schema']!r:.60}")
    if document["version"] != VERSION:
        raise ValueError(
            f"it has version {document['version']!r:.20}, and this release reads version {VERSION}"
        )
    coding = Coding.from_dict(document["coding"])
    new = cls(coding, levels=document["levels"], model=document["model"])
    new._check_settings()
    labels = document["labels"]
    if labels != "text":
        kind = np.dtype(labels)
        if kind.kind not in _KINDS or kind.itemsize > MAX_LABEL_BYTES:
            raise ValueError(f"labels of type {labels!r:.20} cannot be read")
    new.classes_ = np.array(document["classes"], dtype=object if labels == "text" else labels)
    new.coding_ = coding
    tops = new._tops
    new.scales_ = [Scale.from_dict(one, tops) for one in document["scales"]]
    shape = new.classes_.shape
    if len(shape) != 1 or shape[0] < 2 or len(new.scales_) != (1 if shape[0] == 2 else shape[0]):
        raise ValueError("classes and scales do not fit each other")
    new.n_features_in_ = int(document["n_features"])
    if document["feature_names"] is not None:
        new.feature_names_in_ = np.array(document["feature_names"], dtype=object)
    new.notes_ = [str(note) for note in document["notes"]]
    return new
