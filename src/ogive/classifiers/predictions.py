"""Labels, predictions, cells and their measures.

True labels and predictions of models as codes of classes, and the confusion cells they fill.

Classic metrics and IRT scores of models on the same items, with ranges over resampled items.

Items are resampled with replacement; their parameters stay fixed. A resampled test is a vector of
weights, so thousands of them are matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.checks.residuals import informative
from ogive.data.datasets.dataset import in_order
from ogive.data.foreign_frames import as_pandas
from ogive.data.names import is_numbered
from ogive.data.table_files import as_name
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.numbers import counted, listed, shown
from ogive.stats.array_backend import Floats, row_blocks
from ogive.stats.metrics import auc_of_scores, classic_metrics, confusion_counts, kendall
from ogive.stats.pairwise_tests import Differences, differences_of_estimates

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
        """Yield one row per cell of a model with this ability.

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
    """Return mean and its standard error; NaN with too few values."""
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
        """Return the predictions for some of the items."""
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
    """Return labels of items and what models predict for them, checked cell by cell.

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
    """Return lists of labels by the name of their model."""
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
    """Return True if labels are whole numbers that could be places of the classes."""
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
    """Return the code of the positive class: the one named, or the last of two."""
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
    """Return the code of a class, by its label."""
    text = as_name(label)
    if text not in classes:
        raise InputError(
            f"There is no class {text!r:.60}. Choose one of: {', '.join(classes[:12])}."
        )
    return classes.index(text)


def remarks_on(given: Predictions) -> Iterable[str]:
    """Yield classes that no item has, and models of one answer or without an error."""
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


CLASSIC = ("accuracy", "f1", "precision", "recall", "auc", "specificity")
MEASURES = (*CLASSIC, "true_score", "total_score")
RANGE, CONFIDENCE = (0.025, 0.975), 0.95
CELLS = 1 << 22  # weights held at once
NEAR = np.linspace(-6.0, 6.0, 33)  # standard errors of the ability around its estimate
FAR, FAR_NODES = 6.0, 48  # population standard deviations: resampled abilities may lie far out
SMALLEST = 1e-15
FINEST = 9  # decimals that count in a rank, to ignore rounding errors


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of models with their 95 % ranges, and ranks (1 is best) with their limits.

    Limits of ranks follow from all pairs: one above the number of models that are significantly
    better, and as many from the end as are significantly worse. So they never contradict each
    other, and whoever may rank first is not significantly lower than any.
    """

    value: Floats  # (n_measures, n_models), as all that follow; scores are means over items
    low: Floats
    high: Floats
    rank: Floats
    rank_low: Floats
    rank_high: Floats
    drawn: Floats  # (n_draws, n_measures, n_models)

    def agreement(self) -> pd.DataFrame:
        """Return how similarly two measures rank the models: Kendall's tau-b and its 95 % range."""
        there = np.flatnonzero(~np.isnan(self.value).any(axis=1))
        drawn = self.drawn[~np.isnan(self.drawn[:, there]).any(axis=(1, 2))]
        rows = []
        for one, other in combinations(there, 2):
            low, high = np.quantile(kendall(drawn[:, one], drawn[:, other]), RANGE)
            tau = float(kendall(self.value[one], self.value[other]))
            names = {"measure": MEASURES[one], "other": MEASURES[other]}
            # Resamples agree less than the items themselves, at times all of them.
            ends = {"low": min(low, tau), "high": max(high, tau)}
            rows.append({**names, "kendall": tau, **ends})
        return pd.DataFrame(rows)


def measure(
    predictions: Predictions,
    calibration: Calibration,
    ability: Floats,
    ability_se: Floats,
    *,
    exact: Floats,
    positive: int | None,
    n_resamples: int,
    random_state: int,
) -> Measured:
    """All measures of all models, and their ranges over `n_resamples` resamples of the items.

    `exact` holds mean true and total scores, (2, n_models), which are otherwise approximated.
    """
    scores = _TrueScores(calibration, predictions.right, ability, ability_se)
    once = _measured(predictions, scores, None, positive)[0]
    once[-2:] = exact
    n_items = predictions.true.size
    random = np.random.default_rng(random_state)
    drawn = [
        _measured(predictions, scores, _draw(random, rows.stop - rows.start, n_items), positive)
        for rows in row_blocks(n_resamples, max(1, CELLS // n_items))
    ]
    values = np.concatenate(drawn)
    low, high = _range(values)
    rank = ranks(once)
    rank_low, rank_high = _rank_limits(once, rank, values, n_items)
    return Measured(once, low, high, rank, rank_low, rank_high, values)


def _rank_limits(once: Floats, rank: Floats, drawn: Floats, n_items: int) -> Floats:
    """Lowest and highest rank by each measure, (2, n_measures, n_models); NaN where undefined."""
    found = np.full((2, *once.shape), np.nan)
    for k, value in enumerate(once):
        there = np.flatnonzero(~np.isnan(value))
        if there.size:
            tested = differences_over_draws(value[there], drawn[:, k, there], n_items)
            low, high = tested.rank_limits(CONFIDENCE)
            mine = rank[k, there]
            found[:, k, there] = np.minimum(low, mine), np.maximum(high, mine)
    return found


def differences_over_draws(value: Floats, drawn: Floats, n_items: int) -> Differences:
    """Tests of all pairs by how their differences vary over resampled items, (n_draws, n_models).

    A resample in which a model has no value is left out for its pairs. Differences that are the
    same on all items do not vary, but few items prove little: no p-value is below a sign test's.
    """
    size = value.size
    covariance = (
        pd.DataFrame(drawn).cov().to_numpy() if len(drawn) > 1 else np.full((size, size), np.nan)
    )
    found = differences_of_estimates(value, covariance, max(n_items - 1.0, 1.0))
    p = np.maximum(found.p, 2.0 ** (1.0 - n_items))
    return Differences.of_tests(found.n, found.difference, p)


def ranks(values: Floats) -> Floats:
    """Rank 1 for the highest along the last axis; ties share the best rank; NaN stays NaN."""
    rounded = np.round(values, FINEST)
    above = rounded[..., None, :] > rounded[..., :, None]
    return np.where(np.isnan(values), np.nan, 1.0 + above.sum(axis=-1))


def _range(values: Floats) -> Floats:
    """Return the 95 % range of the resamples where the measure is defined; NaN if in none."""
    there = ~np.isnan(values).all(axis=0)
    found = np.full((2, *values.shape[1:]), np.nan)
    found[:, there] = np.nanquantile(values[:, there], RANGE, axis=0)
    return found


def _draw(random: np.random.Generator, count: int, n_items: int) -> Floats:
    """Return how often each item occurs in each resampled test, (count, n_items)."""
    places = random.integers(n_items, size=(count, n_items))
    places += n_items * np.arange(count)[:, None]
    drawn = np.bincount(places.ravel(), minlength=count * n_items)
    return drawn.reshape(count, n_items).astype(np.float64)


def _measured(
    predictions: Predictions, scores: _TrueScores, weights: Floats | None, positive: int | None
) -> Floats:
    """All measures in each test, (n_tests, n_measures, n_models); without weights, one test."""
    true, n_classes = predictions.true, len(predictions.classes)
    drawn = np.ones((1, true.size)) if weights is None else weights
    counts = confusion_counts(true, predictions.predicted, n_classes, drawn)
    found = classic_metrics(counts, positive)
    if predictions.scores is not None:
        found["auc"] = auc_of_scores(true == positive, predictions.scores, drawn)
    if positive is not None:
        _leave_undefined(found, counts, positive)
    true_score, total_score = scores.of(drawn)
    return np.stack([*(found[name] for name in CLASSIC), true_score, total_score], axis=1)


def _leave_undefined(found: dict[str, Floats], counts: Floats, positive: int) -> None:
    """Set metrics to NaN where a class has no items."""
    of_class = counts.sum(axis=-1)
    without = of_class[..., positive] == 0, of_class[..., 1 - positive] == 0
    for absent, names in zip(
        without, (("recall", "precision", "f1"), ("specificity",)), strict=True
    ):
        for name in (*names, "auc"):
            found[name] = np.where(absent, np.nan, found[name])


class _TrueScores:
    """True and total scores of models in resampled tests, with ability estimated in each."""

    def __init__(
        self, calibration: Calibration, right: NDArray[np.int8], ability: Floats, se: Floats
    ) -> None:
        self.right = right.astype(np.float64)
        far = np.linspace(*calibration.population.reach(FAR), FAR_NODES)
        near = ability[:, None] + se[:, None] * NEAR
        every = np.broadcast_to(far, (ability.size, FAR_NODES))
        self.nodes = np.sort(np.concatenate([near, every], axis=1), axis=1)
        model, coords = calibration.model, calibration.coords
        chance = [model.expected(coords, nodes) for nodes in self.nodes]
        self.chance = np.stack(chance).astype(np.float32)  # (n_models, n_items, n_nodes)
        density = calibration.population.log_density(self.nodes.ravel())
        widths = np.gradient(self.nodes, axis=1)  # quadrature weights of the uneven nodes
        self.prior = density.reshape(self.nodes.shape) + np.log(np.maximum(widths, SMALLEST))
        exact = np.stack(chance).clip(SMALLEST, 1 - SMALLEST)
        hit, miss = np.log(exact), np.log1p(-exact)
        log_chance = np.where(self.right[:, :, None] == 1, hit, miss)
        # Only differences along the nodes matter; small numbers are safe in single precision.
        log_chance -= log_chance[:, :, NEAR.size // 2, None]
        self.log_chance = log_chance.astype(np.float32)

    def of(self, weights: Floats) -> tuple[Floats, Floats]:
        """Return mean true and total score, (n_draws, n_models) each."""
        asked, counts = weights.sum(axis=1), weights.astype(np.float32)
        true_scores, total_scores = [], []
        for k, right in enumerate(self.right):
            log_posterior = counts @ self.log_chance[k] + self.prior[k]
            posterior = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
            posterior /= posterior.sum(axis=1, keepdims=True)
            expected = _at(posterior @ self.nodes[k], self.nodes[k], counts @ self.chance[k])
            true_scores.append(expected / asked)
            total_scores.append((expected + weights @ (right - 1.0)) / asked)
        return np.stack(true_scores, axis=1), np.stack(total_scores, axis=1)


def _at(ability: Floats, nodes: Floats, values: Floats) -> Floats:
    """Return values along nodes, linearly interpolated at the ability of each row."""
    left = np.clip(np.searchsorted(nodes, ability) - 1, 0, nodes.size - 2)
    rows = np.arange(ability.size)
    share = (ability - nodes[left]) / np.maximum(nodes[left + 1] - nodes[left], SMALLEST)
    found: Floats = (1 - share) * values[rows, left] + share * values[rows, left + 1]
    return found
