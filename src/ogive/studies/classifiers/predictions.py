"""True labels and predictions of models as codes of classes, and the confusion cells they fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.datasets.dataset import in_order
from ogive.diagnostics.diagnosis import informative
from ogive.errors import InputError
from ogive.responses.names_and_facts import is_numbered
from ogive.tables.foreign_frames import as_pandas
from ogive.tables.table_files import as_name
from ogive.words import counted, listed, shown

if TYPE_CHECKING:
    import pandas as pd

    from ogive.numerics.arrays import Floats

PARAMETERS = ("discrimination", "difficulty", "guessing")
NAMES = {
    (1, 1): "TP",
    (0, 1): "FP",
    (1, 0): "FN",
    (0, 0): "TN",
}  # by (true is positive, predicted is positive)
Codes = NDArray[np.intp]


FARTHEST = 6.0  # population standard deviations


@dataclass(frozen=True, eq=False)
class Cells:
    """Items of a calibration, and the confusion cells that models put them in."""

    calibration: Calibration
    predictions: Predictions
    positive: int | None

    def of(self, model: int, ability: float) -> Iterator[dict[str, Any]]:
        """One row per cell of a model with this ability.

        Parameters, information and the share of negative discrimination are over informative
        items; the chance to be right is over all. Difficulties beyond 6 standard deviations, which
        belong to nearly flat curves, count as 6.
        """
        told, parameters, chance, information = self._items(ability)
        given = self.predictions
        earned = chance - 1.0 + given.right[model]
        for row, column in np.ndindex(len(given.classes), len(given.classes)):
            inside = (given.true == row) & (given.predicted[model] == column)
            usable = inside & told
            cell: dict[str, Any] = {
                "model": given.models[model],
                "true": given.classes[row],
                "predicted": given.classes[column],
                "name": self._name(row, column),
                "count": int(inside.sum()),
                "informative": int(usable.sum()),
            }
            for name, values in parameters.items():
                cell[name], cell[f"{name}_se"] = _mean_and_error(values[usable])
            negative = (parameters["discrimination"][usable] < 0).astype(float)
            yield cell | {
                "share_negative": _mean_and_error(negative)[0],
                "information": _mean_and_error(information[usable])[0],
                "chance": _mean_and_error(chance[inside])[0],
                "total_score": float(earned[inside].sum()),
                "total_score_mean": _mean_and_error(earned[inside])[0],
                "items": [given.items[k] for k in np.flatnonzero(inside)],
            }

    def _items(self, ability: float) -> tuple[Any, dict[str, Floats], Floats, Floats]:
        """Whether each item is informative, its parameters, and its chance and information."""
        bank, coords, at = self.calibration.model, self.calibration.coords, np.array([ability])
        found, zero = bank.parameters(coords), np.zeros(len(coords))
        parameters = {name: np.asarray(found.get(name, zero)) for name in PARAMETERS}
        ends = self.calibration.population.reach(FARTHEST)
        parameters["difficulty"] = parameters["difficulty"].clip(*ends)
        chance, information = bank.expected(coords, at), bank.information(coords, at)
        return informative(self.calibration), parameters, chance[:, 0], information[:, 0]

    def _name(self, row: int, column: int) -> str:
        if self.positive is None:
            return "right" if row == column else "wrong"
        return NAMES[int(row == self.positive), int(column == self.positive)]


def _mean_and_error(values: Floats) -> tuple[float, float]:
    """Mean and its standard error; NaN with too few values."""
    mean = float(values.mean()) if values.size else np.nan
    error = float(values.std(ddof=1) / np.sqrt(values.size)) if values.size > 1 else np.nan
    return mean, error


@dataclass(frozen=True, eq=False)
class Predictions:
    """What models predicted for items whose classes are known."""

    items: tuple[str, ...]
    models: tuple[str, ...]
    classes: tuple[str, ...]
    true: Codes  # (n_items,)
    predicted: Codes  # (n_models, n_items)
    right: NDArray[np.int8]  # (n_models, n_items); 1 where the prediction is right
    scores: Floats | None = None  # (n_models, n_items), of the positive class; for its AUC

    def of_items(self, places: Codes) -> Predictions:
        """The predictions for some of the items."""
        return Predictions(
            items=tuple(self.items[k] for k in places),
            models=self.models,
            classes=self.classes,
            true=self.true[places],
            predicted=self.predicted[:, places],
            right=self.right[:, places],
            scores=None if self.scores is None else self.scores[:, places],
        )

    def against_the_rest(self, code: int, scores: Any = None) -> Predictions:
        """One class against all others merged into one; `right` still refers to all classes."""
        return Predictions(
            items=self.items,
            models=self.models,
            classes=(f"not {self.classes[code]}", self.classes[code]),
            true=(self.true == code).astype(np.intp),
            predicted=(self.predicted == code).astype(np.intp),
            right=self.right,
            scores=None if scores is None else _scores(scores, self.models, self.items),
        )


def read_predictions(
    items: Sequence[str],
    y_true: Any,
    predictions: Any,
    classes: Iterable[object] | None = None,
    scores: Any = None,
) -> Predictions:
    """Labels of items and what models predict for them, checked cell by cell.

    `y_true` is a list of labels in the order of `items`, or a Series whose index names them.
    `predictions` maps names of models to such lists, or is a frame with one column per model, or a
    single list. `classes` names labels that may occur in addition to those of `y_true`. `scores`
    has the form of `predictions`, with higher numbers where the positive class is more likely.
    """
    names = tuple(items)
    told = _listed("y_true", y_true, names)
    _check_no_shares("y_true", told, names)
    truth = _texts("y_true", told, names)
    known = in_order({*truth, *(as_name(label) for label in classes or ())})
    if len(known) < 2:
        raise InputError(
            f"y_true holds only the class {shown(known[0])}, but a confusion matrix needs two. "
            "Name the others: classes=[...]."
        )
    place = {label: code for code, label in enumerate(known)}
    given = _by_model(predictions)
    predicted = np.array([_codes(m, labels, names, place) for m, labels in given.items()], np.intp)
    true = np.array([place[label] for label in truth], dtype=np.intp)
    return Predictions(
        items=names,
        models=tuple(given),
        classes=tuple(known),
        true=true,
        predicted=predicted,
        right=np.equal(predicted, true).astype(np.int8),
        scores=None if scores is None else _scores(scores, tuple(given), names),
    )


def _by_model(predictions: Any) -> dict[str, Any]:
    """Lists of labels by the name of their model."""
    predictions = as_pandas(predictions)
    if hasattr(predictions, "columns"):
        given = {str(name): predictions.iloc[:, k] for k, name in enumerate(predictions.columns)}
        if len(given) < predictions.shape[1]:
            raise InputError("Two columns of predictions have the same name. Rename one.")
    elif isinstance(predictions, Mapping):
        given = {str(name): labels for name, labels in predictions.items()}
        if len(given) < len(predictions):
            raise InputError("Two models have the same name as text. Rename one.")
    else:
        name = getattr(predictions, "name", None)
        given = {"model" if name is None else str(name): predictions}
    if not given:
        raise InputError("predictions is empty. Give the labels that at least one model predicts.")
    return given


def _listed(what: str, labels: Any, items: tuple[str, ...]) -> list[Any]:
    """Labels in the order of the items: by name where a Series has names, else by position."""
    if hasattr(labels, "index") and hasattr(labels, "loc") and not is_numbered(labels.index):
        return _by_name(what, labels, items)
    values = np.asarray(labels) if not hasattr(labels, "tolist") else labels
    shape = np.shape(values)
    if len(shape) > 2 or (len(shape) == 2 and shape[1] > 1):
        raise InputError(
            f"{what} has the shape {shape}, but there should be one value per item: labels as "
            "`predict` gives them; for probabilities, one column: `predict_proba(X)[:, 1]`."
        )
    listed_ = np.ravel(values).tolist() if len(shape) != 1 else list(labels)
    if len(listed_) != len(items):
        raise InputError(
            f"{what} holds {counted(len(listed_), 'label')}, but there are "
            f"{counted(len(items), 'item')}. Give one label per item, in the order of the items, "
            "or a Series whose index names them."
        )
    return listed_


def _by_name(what: str, labels: pd.Series[Any], items: tuple[str, ...]) -> list[Any]:
    found = {str(name): label for name, label in zip(labels.index, labels.tolist(), strict=True)}
    if len(found) < len(labels):
        raise InputError(f"{what} names an item more than once. Keep one label per item.")
    lacking = [name for name in items if name not in found]
    if lacking:
        raise InputError(
            f"{what} has no label for {listed(lacking, 'item')} of the calibration; the first name "
            f"of its index is {shown(next(iter(found), ''))}. To match by position, give a list."
        )
    return [found[name] for name in items]


def _check_no_shares(what: str, labels: list[Any], items: tuple[str, ...]) -> None:
    """Refuse probabilities where labels are needed."""
    for item, label in zip(items, labels, strict=True):
        if isinstance(label, float | np.floating) and 0 < label < 1:
            raise InputError(
                f"{what} for {shown(item)} is {label:.3g}, which looks like a probability. Give "
                "labels, such as those of `predict`, and probabilities as scores=."
            )


def _texts(what: str, labels: list[Any], items: tuple[str, ...]) -> list[str]:
    import pandas as pd

    for item, label in zip(items, labels, strict=True):
        if label is None or (np.ndim(label) == 0 and pd.isna(label)):
            raise InputError(f"{what} has no label for {shown(item)}. Give one for every item.")
    return [as_name(label) for label in labels]


def _codes(model: str, labels: Any, items: tuple[str, ...], place: Mapping[str, int]) -> list[int]:
    what = f"The prediction of {shown(model)}"
    listed_ = _listed(what, labels, items)
    texts = _texts(what, listed_, items)
    if not place.keys() >= set(texts):
        _check_no_shares(what, listed_, items)
    for item, text in zip(items, texts, strict=True):
        if text in place:
            continue
        raise InputError(
            f"{what} for {shown(item)} is {shown(text)}, which is none of the classes "
            f"({', '.join(list(place)[:5])}{', ...' if len(place) > 5 else ''}). "
            + (_CODES if _are_codes(listed_, place) else "Correct it, or add it: classes=[...].")
        )
    return [place[text] for text in texts]


_CODES = "These look like codes: give the labels themselves, as in the data set."


def _are_codes(labels: list[Any], place: Mapping[str, int]) -> bool:
    """Whether labels are whole numbers that could be places of the classes."""
    whole = all(isinstance(label, int | np.integer) for label in labels)
    return whole and all(0 <= int(label) < len(place) for label in labels)


def _scores(scores: Any, models: tuple[str, ...], items: tuple[str, ...]) -> Floats:
    given = _by_model(scores)
    lacking = [model for model in models if model not in given]
    if lacking:
        raise InputError(f"scores lacks {listed(lacking, 'model')} of predictions. Add them.")
    rows = []
    for model in models:
        what = f"scores of {shown(model)}"
        values = _listed(what, given[model], items)
        try:
            row = np.array(values, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{what} should be numbers, but: {error}.") from error
        if not np.isfinite(row).all():
            first = items[int(np.flatnonzero(~np.isfinite(row))[0])]
            raise InputError(f"{what} lack a finite number for {shown(first)}. Give one per item.")
        rows.append(row)
    return np.array(rows)


def positive_code(positive: object, classes: tuple[str, ...]) -> int | None:
    """The code of the positive class: the one named, or the last of two."""
    if positive is not None:
        code = code_of(positive, classes)
        if len(classes) > 2:
            raise InputError(
                f"positive is {positive!r}, but there are {len(classes)} classes. Use "
                f"one_vs_rest({positive!r}) of the result."
            )
        return code
    return 1 if len(classes) == 2 else None


def code_of(label: object, classes: tuple[str, ...]) -> int:
    """The code of a class, by its label."""
    text = as_name(label)
    if text not in classes:
        raise InputError(
            f"There is no class {text!r:.60}. Choose one of: {', '.join(classes[:12])}."
        )
    return classes.index(text)


def remarks_on(given: Predictions) -> Iterable[str]:
    """Classes that no item has, and models of one answer or without an error."""
    present = np.bincount(given.true, minlength=len(given.classes)) > 0
    if absent := [name for name, there in zip(given.classes, present, strict=True) if not there]:
        several = len(absent) > 1
        yield (
            f"No item belongs to class{'es' if several else ''} {', '.join(absent)}: "
            f"{'their' if several else 'its'} metrics are undefined."
        )
    for model, predicted, right in zip(given.models, given.predicted, given.right, strict=True):
        if np.ptp(predicted) == 0:
            yield f"{model} predicts {given.classes[predicted[0]]!r:.40} for every item."
        elif right.all():
            yield f"{model} is right on every item, so resampling shows no uncertainty."
