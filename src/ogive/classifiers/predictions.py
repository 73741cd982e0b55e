"""Labels, predictions and confusion cells of models on the same items, and their measures.

Ranges come from resampled tests: items are drawn with replacement, and their parameters stay fixed.
A resampled test is a vector of weights, so thousands of them are matrix products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import float_array
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
# Names of the cells of two classes, by (true is positive, predicted is positive).
NAMES = {(1, 1): "TP", (0, 1): "FP", (1, 0): "FN", (0, 0): "TN"}
FARTHEST = 6.0  # population standard deviations; difficulties beyond count as this
CLASSIC = ("accuracy", "f1", "precision", "recall", "auc", "specificity")
MEASURES = (*CLASSIC, "true_score", "total_score")
RANGE, CONFIDENCE = (0.025, 0.975), 0.95
CELLS = 1 << 22  # weights in memory at once
NEAR = np.linspace(-6.0, 6.0, 33)  # standard errors of the ability around its estimate
FAR, FAR_NODES = 6.0, 48  # population standard deviations: resampled abilities may lie far out
SMALLEST = 1e-15
FINEST = 9  # decimals that count in a rank, to ignore rounding errors
Codes = NDArray[np.intp]


def cell_rows(
    calibration: Calibration,
    predictions: Predictions,
    positive: int | None,
    model: int,
    ability: float,
) -> Iterator[dict[str, Any]]:
    """Yield one row per confusion cell of a model with this ability.

    Parameters, information and the share of negative discrimination are over informative
    items; the chance to be right is over all. Difficulties beyond 6 standard deviations, which
    belong to nearly flat curves, count as 6.
    """
    bank, coords, at = calibration.model, calibration.coords, np.array([ability])
    values, zero = bank.parameters(coords), np.zeros(len(coords))
    parameters = {name: np.asarray(values.get(name, zero)) for name in PARAMETERS}
    ends = calibration.population.reach(FARTHEST)
    parameters["difficulty"] = parameters["difficulty"].clip(*ends)
    chance, information = bank.expected(coords, at)[:, 0], bank.information(coords, at)[:, 0]
    is_informative = informative(calibration)
    earned = chance - 1.0 + predictions.right[model]
    classes = predictions.classes
    for row, column in np.ndindex(len(classes), len(classes)):
        inside = (predictions.true == row) & (predictions.predicted[model] == column)
        usable = inside & is_informative
        name = "right" if row == column else "wrong"
        if positive is not None:
            name = NAMES[int(row == positive), int(column == positive)]
        cell: dict[str, Any] = {
            "model": predictions.models[model],
            "true": classes[row],
            "predicted": classes[column],
            "name": name,
            "count": int(inside.sum()),
            "informative": int(usable.sum()),
        }
        for parameter, each in parameters.items():
            cell[parameter], cell[f"{parameter}_se"] = mean_and_error(each[usable])
        negative = (parameters["discrimination"][usable] < 0).astype(float)
        yield cell | {
            "share_negative": mean_and_error(negative)[0],
            "information": mean_and_error(information[usable])[0],
            "chance": mean_and_error(chance[inside])[0],
            "total_score": float(earned[inside].sum()),
            "total_score_mean": mean_and_error(earned[inside])[0],
            "items": [predictions.items[k] for k in np.flatnonzero(inside)],
        }


def mean_and_error(values: Floats) -> tuple[float, float]:
    """Return the mean and its standard error; NaN with too few values."""
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

    def of_items(self, indices: Codes) -> Predictions:
        """Return the predictions for some of the items."""
        return replace(
            self,
            items=tuple(self.items[k] for k in indices),
            true=self.true[indices],
            predicted=self.predicted[:, indices],
            right=self.right[:, indices],
            scores=None if self.scores is None else self.scores[:, indices],
        )

    def against_the_rest(self, code: int, scores: Any = None) -> Predictions:
        """Merge all classes but one; `right` still refers to all classes."""
        return replace(
            self,
            classes=(f"not {self.classes[code]}", self.classes[code]),
            true=(self.true == code).astype(np.intp),
            predicted=(self.predicted == code).astype(np.intp),
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
    has the form of `predictions`, with higher numbers if the positive class is more likely.
    """
    names = tuple(items)
    labels = _in_item_order("y_true", y_true, names)
    _refuse_probabilities("y_true", labels, names)
    truth = _texts("y_true", labels, names)
    known = in_order({*truth, *(as_name(label) for label in classes or ())})
    if len(known) < 2:
        raise InputError(
            f"y_true holds only the class {shown(known[0])}, but a confusion matrix needs two. "
            "Name the others: classes=[...]."
        )
    code = {label: k for k, label in enumerate(known)}
    given = _by_model(predictions)
    predicted = np.array([_codes(m, labels, names, code) for m, labels in given.items()], np.intp)
    true = np.array([code[label] for label in truth], dtype=np.intp)
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


def _in_item_order(what: str, labels: Any, items: tuple[str, ...]) -> list[Any]:
    """Return labels in the order of the items: by name if a Series has names, else by position."""
    if hasattr(labels, "index") and hasattr(labels, "loc") and not is_numbered(labels.index):
        known = {
            str(name): label for name, label in zip(labels.index, labels.tolist(), strict=True)
        }
        if len(known) < len(labels):
            raise InputError(f"{what} names an item more than once. Keep one label per item.")
        if lacking := [name for name in items if name not in known]:
            raise InputError(
                f"{what} has no label for {listed(lacking, 'item')} of the calibration; the first "
                f"name of its index is {shown(next(iter(known), ''))}. To match by position, give "
                "a list."
            )
        return [known[name] for name in items]
    values = np.asarray(labels) if not hasattr(labels, "tolist") else labels
    shape = np.shape(values)
    if len(shape) > 2 or (len(shape) == 2 and shape[1] > 1):
        raise InputError(
            f"{what} has the shape {shape}, but there should be one value per item: labels as "
            "`predict` gives them; for probabilities, one column: `predict_proba(X)[:, 1]`."
        )
    in_order_given = np.ravel(values).tolist() if len(shape) != 1 else list(labels)
    if len(in_order_given) != len(items):
        raise InputError(
            f"{what} holds {counted(len(in_order_given), 'label')}, but there are "
            f"{counted(len(items), 'item')}. Give one label per item, in the order of the items, "
            "or a Series whose index names them."
        )
    return in_order_given


def _refuse_probabilities(what: str, labels: list[Any], items: tuple[str, ...]) -> None:
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


def _codes(model: str, given: Any, items: tuple[str, ...], code: Mapping[str, int]) -> list[int]:
    what = f"The prediction of {shown(model)}"
    labels = _in_item_order(what, given, items)
    texts = _texts(what, labels, items)
    if not code.keys() >= set(texts):
        _refuse_probabilities(what, labels, items)
    for item, text in zip(items, texts, strict=True):
        if text in code:
            continue
        whole = all(isinstance(label, int | np.integer) for label in labels)
        if whole and all(0 <= int(label) < len(code) for label in labels):
            advice = "These look like codes: give the labels themselves, as in the data set."
        else:
            advice = "Correct it, or add it: classes=[...]."
        raise InputError(
            f"{what} for {shown(item)} is {shown(text)}, which is none of the classes "
            f"({', '.join(list(code)[:5])}{', ...' if len(code) > 5 else ''}). {advice}"
        )
    return [code[text] for text in texts]


def _scores(scores: Any, models: tuple[str, ...], items: tuple[str, ...]) -> Floats:
    given = _by_model(scores)
    if lacking := [model for model in models if model not in given]:
        raise InputError(f"scores lacks {listed(lacking, 'model')} of predictions. Add them.")
    rows = []
    for model in models:
        what = f"scores of {shown(model)}"
        row = float_array(_in_item_order(what, given[model], items), what)
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


def remarks_on(given: Predictions) -> Iterator[str]:
    """Yield classes that no item has, and models of one answer or without an error."""
    counts = np.bincount(given.true, minlength=len(given.classes))
    if absent := [given.classes[k] for k in np.flatnonzero(counts == 0)]:
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
        known = np.flatnonzero(~np.isnan(self.value).any(axis=1))
        drawn = self.drawn[~np.isnan(self.drawn[:, known]).any(axis=(1, 2))]
        rows = []
        for one, other in combinations(known, 2):
            low, high = np.quantile(kendall(drawn[:, one], drawn[:, other]), RANGE)
            tau = float(kendall(self.value[one], self.value[other]))
            names = {"measure": MEASURES[one], "other": MEASURES[other]}
            # Resamples agree less than the items themselves, at times all of them.
            rows.append({**names, "kendall": tau, "low": min(low, tau), "high": max(high, tau)})
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
    """Compute all measures of all models, and their ranges over resamples of the items.

    `exact` holds mean true and total scores, (2, n_models), which are otherwise approximated.
    """
    scores = _ResampledScores(calibration, predictions.right, ability, ability_se)
    value = _measures(predictions, scores, np.ones((1, predictions.true.size)), positive)[0]
    value[-2:] = exact
    n_items = predictions.true.size
    random = np.random.default_rng(random_state)
    blocks = []
    for rows in row_blocks(n_resamples, max(1, CELLS // n_items)):
        weights = _draw(random, rows.stop - rows.start, n_items)
        blocks.append(_measures(predictions, scores, weights, positive))
    drawn = np.concatenate(blocks)
    defined = ~np.isnan(drawn).all(axis=0)
    ends = np.full((2, *value.shape), np.nan)
    ends[:, defined] = np.nanquantile(drawn[:, defined], RANGE, axis=0)
    rank = ranks(value)
    limits = np.full((2, *value.shape), np.nan)
    for k, row in enumerate(value):
        known = np.flatnonzero(~np.isnan(row))
        if known.size:
            tests = differences_over_draws(row[known], drawn[:, k, known], n_items)
            low, high = tests.rank_limits(CONFIDENCE)
            own = rank[k, known]
            limits[:, k, known] = np.minimum(low, own), np.maximum(high, own)
    return Measured(value, ends[0], ends[1], rank, limits[0], limits[1], drawn)


def differences_over_draws(value: Floats, drawn: Floats, n_items: int) -> Differences:
    """Test all pairs by how their differences vary over resampled items, (n_draws, n_models).

    A resample in which a model has no value is left out for its pairs. Differences that are the
    same on all items do not vary, but few items prove little: no p-value is below a sign test's.
    """
    covariance = np.full((value.size, value.size), np.nan)
    if len(drawn) > 1:
        covariance = pd.DataFrame(drawn).cov().to_numpy()
    tests = differences_of_estimates(value, covariance, max(n_items - 1.0, 1.0))
    p = np.maximum(tests.p, 2.0 ** (1.0 - n_items))
    return Differences.of_tests(tests.n, tests.difference, p)


def ranks(values: Floats) -> Floats:
    """Rank 1 for the highest along the last axis; ties share the best rank; NaN stays NaN."""
    rounded = np.round(values, FINEST)
    above = rounded[..., None, :] > rounded[..., :, None]
    return np.where(np.isnan(values), np.nan, 1.0 + above.sum(axis=-1))


def _draw(random: np.random.Generator, count: int, n_items: int) -> Floats:
    """Return how often each item occurs in each resampled test, (count, n_items)."""
    indices = random.integers(n_items, size=(count, n_items))
    indices += n_items * np.arange(count)[:, None]
    drawn = np.bincount(indices.ravel(), minlength=count * n_items)
    return drawn.reshape(count, n_items).astype(np.float64)


def _measures(
    predictions: Predictions, scores: _ResampledScores, weights: Floats, positive: int | None
) -> Floats:
    """Return all measures in each weighted test, (n_tests, n_measures, n_models)."""
    true = predictions.true
    counts = confusion_counts(true, predictions.predicted, len(predictions.classes), weights)
    values = classic_metrics(counts, positive)
    if predictions.scores is not None:
        values["auc"] = auc_of_scores(true == positive, predictions.scores, weights)
    if positive is not None:  # metrics of a class without items are undefined
        of_class = counts.sum(axis=-1)
        for code, names in (
            (positive, ("recall", "precision", "f1", "auc")),
            (1 - positive, ("specificity", "auc")),
        ):
            for name in names:
                values[name] = np.where(of_class[..., code] == 0, np.nan, values[name])
    true_score, total_score = scores.of(weights)
    return np.stack([*(values[name] for name in CLASSIC), true_score, total_score], axis=1)


class _ResampledScores:
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
    interpolated: Floats = (1 - share) * values[rows, left] + share * values[rows, left + 1]
    return interpolated
