"""Label trouble: items whose label, or key, should be checked.

Two kinds of evidence are combined. The probabilities that classifiers give to the classes say how
likely a label is wrong (`stats.label_noise`). Responses say which items good respondents miss more
often than weak ones (`miskeyed_items`); if classes overlap, these are not all mislabelled, so that
responses alone give no probability of a wrong label. Together, the log-odds of the first are moved
by a share of the log Bayes factor of the second: both come from the same classifiers, so that most
of what responses say is known already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from ogive.checks.miskeyed_items import ReversedKeys, find_reversed_keys
from ogive.checks.residuals import Diagnosis, checked_calibration
from ogive.data.foreign_frames import as_pandas
from ogive.data.names import row_name
from ogive.data.responses import Table
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.base import Part
from ogive.results.numbers import counted, listed, shown
from ogive.stats.array_backend import Floats
from ogive.stats.label_noise import label_noise

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

LARGEST_GAP = 0.01  # distance of a sum of probabilities from 1, for half precision and many classes


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """Probabilities that models give to the classes of items, and the labels of the items."""

    models: tuple[str, ...]
    items: tuple[str, ...]
    classes: tuple[Any, ...]
    labels: NDArray[np.int64]  # (n_items,), codes of `classes`
    scores: Floats  # (n_models, n_items, n_classes); rows sum to one, or are NaN: never asked


def read_probabilities(
    scores: Any, labels: Any, classes: Any = None, items: Sequence[str] | None = None
) -> ClassProbabilities:
    """Return probabilities with their labels; raise InputError if they do not fit together.

    `scores` is a frame or array of items × classes, a mapping of them by model, or an array of
    models × items × classes. `items` are the names that the rows should have, if they are known.
    """
    if labels is None:
        raise InputError("scores were given without labels. Give labels=, one label per item.")
    if isinstance(scores, Mapping):
        tables = {str(name): as_pandas(table) for name, table in scores.items()}
    elif hasattr(scores, "columns"):
        tables = {"model": as_pandas(scores)}
    elif np.ndim(scores) == 3:
        tables = {f"model_{k + 1}": table for k, table in enumerate(np.asarray(scores))}
    else:
        tables = {"model": np.asarray(scores)}
    if not tables:
        raise InputError("scores are empty. Give probabilities of at least one model.")
    given = np.asarray(labels)
    if given.ndim != 1 or not given.size:
        raise InputError(
            f"labels have shape {given.shape}, but they should be a list: one label per item."
        )
    names = _item_names(tables, labels, len(given), items)
    missing = [
        name for name, each in zip(names, given, strict=True) if each is None or each != each
    ]
    if missing:
        raise InputError(
            f"The label is missing for {listed(missing, 'item')}. Leave such items out of labels "
            "and scores."
        )
    known = _class_names(tables, given, classes)
    matrices = []
    for model, table in tables.items():
        matrix = _in_order(_matrix(model, table, names, known), table, known, names)
        matrices.append(
            _normalised(f"'{model}'" if len(tables) > 1 else "the model", matrix, names)
        )
    stacked = np.stack(matrices)
    _check_gaps(stacked, tuple(tables), names)
    return ClassProbabilities(tuple(tables), names, known, _codes(given, known, names), stacked)


def _item_names(
    tables: dict[str, Any], labels: Any, n_items: int, items: Sequence[str] | None
) -> tuple[str, ...]:
    """Return names from the calibration, or from the index of a frame, or by position."""
    names = None
    for table in (*tables.values(), labels):
        index = getattr(table, "index", None)
        if names is None and index is not None and not callable(index) and _has_names(index):
            names = tuple(map(str, index))
    if items is not None and len(items) != n_items:
        raise InputError(
            f"There are {counted(n_items, 'label')} for {counted(len(items), 'item')} of the "
            "calibration. Give one label per item, in the order of the items."
        )
    if items is not None and names is not None and names != tuple(items):
        strange = next((a for a, b in zip(names, items, strict=False) if a != b), names[-1])
        raise InputError(
            f"scores have a row {shown(strange)} where the calibration has another item. Put the "
            "rows in the order of the items: scores.loc[list(calibration.item_names)]."
        )
    return tuple(items) if items is not None else names or tuple(map(row_name, range(n_items)))


def _has_names(index: Any) -> bool:
    """Return True if an index of pandas names its rows, and does not only count them."""
    return type(index).__name__ != "RangeIndex" and len(set(index)) == len(index)


def _class_names(tables: dict[str, Any], labels: NDArray[Any], classes: Any) -> tuple[Any, ...]:
    """Return the classes given, or the columns of a frame, or the labels in order, or codes."""
    if classes is not None:
        names = tuple(_plain_value(each) for each in classes)
        if len(set(names)) < len(names):
            raise InputError("classes name a class twice. Give each class once.")
        return names
    first = next(iter(tables.values()))
    if hasattr(first, "columns"):
        return tuple(_plain_value(each) for each in first.columns)
    shape = np.asarray(first).shape
    if len(shape) != 2:
        raise InputError(
            f"scores have shape {shape}, but they should have one row per item and one column per "
            "class. Give all that predict_proba returns, not one of its columns."
        )
    width = shape[1]
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < width:
        return tuple(range(width))
    try:
        distinct = tuple(sorted({_plain_value(each) for each in labels}))  # as scikit-learn does
    except TypeError:
        raise InputError(
            "labels mix types, such as text and numbers. Give all of one type."
        ) from None
    if len(distinct) != width:
        raise InputError(
            f"scores have {counted(width, 'column')}, but the labels have "
            f"{counted(len(distinct), 'different value')}. Say which class each column is: "
            "classes=[...]."
        )
    return distinct


def _plain_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _matrix(model: str, table: Any, items: tuple[str, ...], classes: tuple[Any, ...]) -> Floats:
    try:
        matrix: Floats = np.asarray(table, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"scores of '{model}' are not all numbers.") from None
    if matrix.shape != (len(items), len(classes)):
        raise InputError(
            f"scores of '{model}' have shape {matrix.shape}, but there are "
            f"{counted(len(items), 'label')} and {len(classes)} classes. "
            "Give one row per item and one column per class, as predict_proba does."
        )
    if len(classes) < 2:
        raise InputError("There is one class only, so that no label can be wrong.")
    return matrix


def _in_order(
    matrix: Floats, table: Any, classes: tuple[Any, ...], items: tuple[str, ...]
) -> Floats:
    """Return the columns of a frame in the order of the classes, its rows in that of the items."""
    if not hasattr(table, "columns"):
        return matrix
    columns = [_plain_value(each) for each in table.columns]
    if set(columns) != set(classes):
        strange = next(each for each in columns if each not in classes)
        raise InputError(
            f"scores have a column {shown(strange)}, which is none of the classes "
            f"{_listed_classes(classes)}. Name the columns by the classes."
        )
    index = list(map(str, table.index))
    if _has_names(table.index) and tuple(index) != items and set(index) == set(items):
        matrix = matrix[[index.index(item) for item in items]]
    return matrix[:, [columns.index(each) for each in classes]]


def _listed_classes(classes: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, classes[:4])) + (", ..." if len(classes) > 4 else "")


def _normalised(whose: str, matrix: Floats, items: tuple[str, ...]) -> Floats:
    """Return rows that sum to exactly one; rows without any number stay."""
    asked = ~np.isnan(matrix).all(axis=1)
    rows = matrix[asked]
    sums = rows.sum(axis=1)
    for bad, reason in (
        (~np.isfinite(rows).all(axis=1), "a probability is missing or infinite"),
        ((rows < 0).any(axis=1) | (rows > 1 + LARGEST_GAP).any(axis=1), "one is not from 0 to 1"),
        (abs(sums - 1) > LARGEST_GAP, "they do not sum to one"),
    ):
        if bad.any():
            names = [items[k] for k in np.flatnonzero(asked)[bad]]
            raise InputError(
                f"scores of {whose} are no probabilities for {listed(names, 'item')}: {reason}. "
                "Give what predict_proba returns."
            )
    normalised = matrix.copy()
    normalised[asked] = rows / sums[:, None]
    return normalised


def _check_gaps(scores: Floats, models: tuple[str, ...], items: tuple[str, ...]) -> None:
    """Raise InputError unless each item has probabilities from all models or from none."""
    missing = np.isnan(scores[:, :, 0])
    uneven = missing.any(axis=0) & ~missing.all(axis=0)
    if uneven.any():
        item = int(np.flatnonzero(uneven)[0])
        model = models[int(np.flatnonzero(missing[:, item])[0])]
        raise InputError(
            f"scores of '{model}' are missing for {items[item]}, which other models predicted. "
            "Leave the model or the item out."
        )
    if missing.all():
        raise InputError("scores hold no number, so nothing can be said about the labels.")


def _codes(
    labels: NDArray[Any], classes: tuple[Any, ...], items: tuple[str, ...]
) -> NDArray[np.int64]:
    code_of = {each: code for code, each in enumerate(classes)}
    codes = np.array([code_of.get(_plain_value(each), -1) for each in labels], dtype=np.int64)
    if (codes < 0).any():
        first = int(np.flatnonzero(codes < 0)[0])
        label = _plain_value(labels[first])
        kinds = {type(each).__name__ for each in classes}
        own, other = type(label).__name__, ""
        if own not in kinds:
            other = f"; it is of type {own}, they are of type {' and '.join(kinds)}"
        raise InputError(
            f"The label {shown(label)} of {items[first]} is none of the classes "
            f"{_listed_classes(classes)}{other}. Give scores a column for each class that a label "
            "has."
        )
    return codes


# Expected share of right labels among the suspects: of responses alone, and of probabilities, whose
# evidence is rather too low than too high.
FALSE_SHARE, CALIBRATED_FALSE_SHARE = 0.10, 0.20
RESPONSE_WEIGHT = 0.2  # weight of the log Bayes factor of responses beside probabilities
LARGEST_FACTOR = 5.0  # largest log Bayes factor of responses that counts
SMALLEST = 1e-9  # least probability, so that log-odds are finite
MOST_DRAWN = 30
# Shares of reversed keys that would be detected: below the second, the headline states the share,
# below the first it says "hardly any".
NEXT_TO_NONE, ENOUGH = 0.02, 0.8
RULE = "Items are named from the likeliest on, as long as false alarms are expected to be at most"
COLUMNS = (
    *("label", "likely", "self_confidence", "normalized_margin"),  # of probabilities
    "contradiction",  # of responses, if there are probabilities
    *("share_right", "share_right_strong", "share_right_weak"),  # of responses
    *("discrimination", "discrimination_se", "probability_negative", "item_rest", "outfit", "n"),
)


@dataclass(frozen=True, eq=False, repr=False)
class LabelTrouble(Diagnosis):
    """Items whose label should be checked, the most suspicious first.

    With probabilities of classes (`calibrated`), `evidence` is the probability that the label is
    wrong. Without them, it is the probability that the item contradicts good respondents. Correctly
    labelled items can do so too if classes overlap. `suspect` marks items for which it is above
    0.5, as far down the list as the expected share of the others among them stays within 20 %, with
    responses alone within 10 %.

    The other columns show why. Of probabilities: the `label`, the class that is most `likely`
    (where the label is rather wrong than right, among the others), and of the mean model
    `self_confidence`, its probability of the label, and `normalized_margin`, that less the largest
    of another class, moved to 0 to 1. Of responses: `probability_negative` is the probability that
    the discrimination is below zero (flat prior; the three columns of discrimination need a model
    in which each item has its own), `item_rest` the correlation with the share of the other items
    that are right, `outfit` the mean squared standardised residual (1 is expected), and beside
    probabilities, `contradiction` what responses alone say. `detectable` is the share of the items
    that responses alone would name if their key were turned around. Columns that are not known are
    None. NaN: items without responses or probabilities, or without variation where a correlation
    or the sign of a discrimination is asked for.
    """

    page_part: ClassVar[Part] = "items"

    items: tuple[str, ...]
    evidence: Floats
    suspect: np.ndarray
    calibrated: bool  # whether evidence is the probability that a label is wrong
    share_wrong: float  # of all labels, estimated; of all items that contradict, if not calibrated
    label: np.ndarray | None = None
    likely: np.ndarray | None = None
    self_confidence: Floats | None = None
    normalized_margin: Floats | None = None
    contradiction: Floats | None = None
    share_right: Floats | None = None
    share_right_strong: Floats | None = None  # of the third with the highest abilities
    share_right_weak: Floats | None = None
    discrimination: Floats | None = None
    discrimination_se: Floats | None = None
    probability_negative: Floats | None = None
    item_rest: Floats | None = None
    outfit: Floats | None = None
    n: Floats | None = None  # respondents who answered
    effective_respondents: float | None = None
    detectable: float | None = None  # share of the items that would be named if turned around
    noise_rates: dict[Any, float] | None = None  # of each class: share of its labels changed
    weights: dict[str, float] | None = None  # of each model in the evidence
    n_parts: int = 1  # of the table, which no item links; they are judged together

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item, the most suspicious first."""
        columns = self._columns(("evidence", "suspect", *COLUMNS))
        known = {name: column for name, column in columns.items() if column is not None}
        return pd.DataFrame(known, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Draw strong and weak respondents on the most suspicious items, or the evidence alone."""
        from ogive.results.plots import DISPLAYS

        if self.share_right is not None:
            return DISPLAYS["suspects"](self.to_frame()).plot(**kw)
        ranking: Any = DISPLAYS["ranking"]
        frame = self.to_frame()[["evidence"]].head(MOST_DRAWN)
        display: Display = ranking(frame.assign(se=0.0), estimate="evidence")
        return display.plot(**kw)

    @property
    def found_nothing(self) -> bool:
        """True if no item is suspect."""
        return not self.suspect.any()

    @property
    def meaning(self) -> str:
        """How many labels to check, and which ones first."""
        rows = np.flatnonzero(self.suspect)
        total = counted(len(self.items), "item")
        if self.n_parts > 1:
            total += f" in {self.n_parts:,} parts that no item links, judged together,"
        if rows.size == 0:
            return f"None of {total} is suspect{self._undetected()}; {self._largest()}"
        one = rows.size == 1
        names = ", ".join(self._named(k) for k in rows[:3]) + (", ..." if rows.size > 3 else "")
        among = self.evidence[rows]
        expected = f"{among.sum():.1f} ± {1.96 * np.sqrt((among * (1 - among)).sum()):.1f}"
        if self.calibrated:
            return (
                f"{rows.size:,} of {total} probably {'has' if one else 'have'} a wrong label (by "
                f"the evidence, {expected} of them are wrong): check {names} first."
            )
        return (
            f"{rows.size:,} of {total} {'contradicts' if one else 'contradict'} good respondents "
            f"(by the evidence, {expected} do){self._undetected()}: check {names} first; strong "
            f"respondents fail there as often as weak ones, or more often. {RULE} "
            f"{FALSE_SHARE:.0%} of those named. Where classes overlap, such labels may be "
            "right; with `scores`, the probabilities of classes, label_trouble says how likely "
            "each is wrong."
        )

    def _largest(self) -> str:
        """Return how near the first item is to being a suspect, and what that takes."""
        judged, among = np.isfinite(self.evidence), ""
        if self.share_right is not None and not self.calibrated:
            judged = judged & (self.share_right > 0) & (self.share_right < 1)
            among = "among items that some solve and some fail, "
        known = np.flatnonzero(judged)
        if not known.size:
            return f"{among}there is no evidence."
        allowed = CALIBRATED_FALSE_SHARE if self.calibrated else FALSE_SHARE
        what = "has a wrong label" if self.calibrated else "contradicts good respondents"
        return (
            f"{among}the largest probability that one {what} is {self.evidence[known[0]]:.1%} "
            f"({self.items[known[0]]}). {RULE} "
            f"{allowed:.0%} of those named, so that one alone needs {1 - allowed:.0%}."
        )

    def _undetected(self) -> str:
        """Return how many reversed keys these responses could have shown, if that is little."""
        if self.calibrated or self.detectable is None or self.detectable >= ENOUGH:
            return ""
        if self.detectable < NEXT_TO_NONE:
            return ", but these responses would show hardly any key that is turned around"
        return (
            f", but these responses would show only {self.detectable:.0%} of keys that are turned "
            "around: others stay undetected"
        )

    def _named(self, row: int) -> str:
        instead = ""
        if self.label is not None and self.likely is not None:
            instead = f": {shown(self.likely[row])} rather than {shown(self.label[row])}"
        return f"{self.items[row]} ({self.evidence[row]:.0%}{instead})"


def label_trouble(
    calibration: Calibration | None = None,
    responses: Table | None = None,
    *,
    scores: Any = None,
    labels: Any = None,
    classes: Any = None,
) -> LabelTrouble:
    """Rank items by how likely their label is wrong, or by how they contradict good respondents.

    Give `scores` where you can: the probabilities of classes for items that a model did not learn
    from (`predict_proba` on a test part, or out of fold), with the `labels` of the items. They are
    a frame or array of items × classes, or a mapping of these by model, such as the `scores` of
    `run_pool`'s answers. Columns are the `classes`, by default those of the frame or the sorted
    labels. Evidence is then the probability that a label is wrong, also where classes overlap.

    A `calibration` of right and wrong adds what the pattern of `responses` says (its own, unless
    given). Alone, it finds items that contradict good respondents; not each of them is mislabelled.

    On 31 data sets with labels changed on purpose, mean average precision is 0.667 (cleanlab with
    the same probabilities: 0.613 at best), and of labels with evidence from 0.8 to 0.9, 88 % are
    wrong (benchmarks/label_errors.py). One model alone cannot show where it errs throughout, so its
    evidence counts less: give at least two of different kinds.

    The frame has one row per item, the most suspect first: evidence and suspect, and what is known
    beside them; see `LabelTrouble`.

    >>> import ogive as og
    >>> values = og.simulate("2pl", 300, 20, random_state=0).responses.values
    >>> values[:, 4] = 1 - values[:, 4]
    >>> found = og.label_trouble(og.calibrate(values, "2pl")).to_frame()
    >>> found.index[found["suspect"]].tolist()
    ['item_5']

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> X, y = load_iris(return_X_y=True)
    >>> y[7] = 2
    >>> model = LogisticRegression(max_iter=500)
    >>> scores = cross_val_predict(model, X, y, method="predict_proba")
    >>> og.label_trouble(scores=scores, labels=y).items[0]
    'row_7'
    """
    if calibration is None and scores is None:
        raise InputError(
            "label_trouble needs a calibration or scores. Give "
            "label_trouble(ogive.calibrate(responses)) or "
            "label_trouble(scores=probabilities, labels=labels)."
        )
    if scores is None and (labels is not None or classes is not None):
        raise InputError(
            "labels were given without scores. Give scores=, the probabilities of the classes."
        )
    keys = None
    if calibration is not None:
        checked_calibration(calibration, "label_trouble")
        if calibration.model.kind != "binary":
            raise InputError(
                f"label_trouble needs right or wrong, but the {calibration.model.name} model "
                f"explains {calibration.model.kind} responses. Make each 1 where it is good "
                "enough, else 0; for items that do not fit their curve, use item_fit."
            )
        keys = find_reversed_keys(calibration, responses)
        if scores is None:
            return _ranked(
                keys.items,
                keys.log_odds,
                keys.columns,
                calibrated=False,
                share_wrong=keys.share,
                detectable=keys.detectable,
                effective_respondents=keys.effective_respondents,
                n_parts=1 + int(calibration.parts[1].max(initial=0)),
            )
    names = None if keys is None else keys.items
    return _by_probabilities(read_probabilities(scores, labels, classes, names), keys)


def _by_probabilities(given: ClassProbabilities, keys: ReversedKeys | None) -> LabelTrouble:
    """Return evidence from probabilities, moved by that of responses, if there are any."""
    asked = ~np.isnan(given.scores[0, :, 0])
    noise = label_noise(given.scores[:, asked], given.labels[asked])
    log_odds = np.full(len(given.items), np.nan)
    wrong = noise.wrong.clip(SMALLEST, 1 - SMALLEST)
    log_odds[asked] = np.log(wrong) - np.log1p(-wrong)
    mean = given.scores.mean(axis=0)
    own = (np.arange(len(mean)), given.labels)
    others = mean.copy()
    others[own] = -np.inf
    likely = np.full(len(mean), None, dtype=object)
    likely[asked] = [given.classes[code] for code in noise.likely]
    columns = {
        "label": np.array([given.classes[code] for code in given.labels], dtype=object),
        "likely": likely,
        "self_confidence": mean[own],
        "normalized_margin": (mean[own] - others.max(axis=1) + 1) / 2,
    }
    if keys is not None:
        columns |= keys.columns | {"contradiction": expit(keys.log_odds)}
        factor = keys.log_bayes_factor.clip(-LARGEST_FACTOR, LARGEST_FACTOR)
        log_odds += RESPONSE_WEIGHT * factor
    names = [given.models[k] if k >= 0 else "mean of all" for k in noise.members]
    return _ranked(
        given.items,
        log_odds,
        columns,
        calibrated=True,
        share_wrong=float(np.nanmean(expit(log_odds))),
        effective_respondents=None if keys is None else keys.effective_respondents,
        noise_rates=dict(zip(given.classes, map(float, noise.rates), strict=True)),
        weights=dict(zip(names, map(float, noise.weights), strict=True)),
    )


def _ranked(
    items: tuple[str, ...],
    log_odds: Floats,
    columns: dict[str, Any],
    *,
    calibrated: bool,
    **further: Any,
) -> LabelTrouble:
    """Return everything about each item, the most suspicious first; those without evidence last."""
    order = np.argsort(-np.where(np.isnan(log_odds), -np.inf, log_odds), kind="stable")
    evidence = expit(log_odds[order])
    sure = np.nan_to_num(evidence)
    allowed = CALIBRATED_FALSE_SHARE if calibrated else FALSE_SHARE
    false_share = np.cumsum(1 - sure) / np.arange(1, len(order) + 1)
    return LabelTrouble(
        items=tuple(items[k] for k in order),
        evidence=evidence,
        suspect=(false_share <= allowed) & (sure > 0.5),
        calibrated=calibrated,
        **{name: column[order] for name, column in columns.items()},
        **further,
    )
