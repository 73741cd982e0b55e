"""Wrong labels, from responses and class probabilities.

Probabilities that classifiers give to classes, and labels, read and checked.

Label trouble: items whose label, or key, should be checked.

Two kinds of evidence are combined. The probabilities that classifiers give to the classes say how
likely a label is wrong (`label_noise`). Responses say which items good respondents miss more often
than weak ones (`turned_items`); where classes overlap, these are not all mislabelled, so responses
alone give no probability of a wrong label. Together, the log-odds of the first are moved by a share
of the log Bayes factor of the second: both come from the same classifiers, so that most of what
responses say is known already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ogive.checks.miskeyed_items import TurnedItems, turned_items
from ogive.checks.residuals import Diagnosis, checked_calibration
from ogive.data.foreign_frames import as_pandas
from ogive.data.names import row_name
from ogive.data.responses import Table
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.results.base import Part
from ogive.results.numbers import counted, listed, shown
from ogive.stats.array_backend import Floats
from ogive.stats.label_noise import LabelNoise, label_noise

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display


FAR_FROM_ONE = 0.01  # a sum of probabilities, for half precision and many classes


@dataclass(frozen=True, eq=False)
class ClassProbabilities:
    """What each model says of each item, and the label that the item has."""

    models: tuple[str, ...]
    items: tuple[str, ...]
    classes: tuple[Any, ...]
    labels: NDArray[np.int64]  # (n_items,), codes of `classes`
    scores: Floats  # (n_models, n_items, n_classes); rows sum to one, or are NaN: never asked


def read_probabilities(
    scores: Any, labels: Any, classes: Any = None, items: Sequence[str] | None = None
) -> ClassProbabilities:
    """Probabilities with their labels, or one sentence that says why they do not fit together.

    `scores` is a frame or array of items × classes, a mapping of them by model, or an array of
    models × items × classes. `items` are the names that the rows should have, if they are known.
    """
    if labels is None:
        raise InputError("scores were given without labels. Give labels=, one label per item.")
    tables = _tables(scores)
    given = _plain(labels, "labels")
    names = _items(tables, labels, len(given), items)
    _check_complete(given, names)
    known = _classes(tables, given, classes)
    values = []
    for model, table in tables.items():
        value = _ordered(_matrix(model, table, names, known), table, known, names)
        values.append(_checked(f"'{model}'" if len(tables) > 1 else "the model", value, names))
    stacked = np.stack(values)
    _check_gaps(stacked, tuple(tables), names)
    return ClassProbabilities(tuple(tables), names, known, _codes(given, known, names), stacked)


def _tables(scores: Any) -> dict[str, Any]:
    if isinstance(scores, Mapping):
        tables = {str(name): as_pandas(table) for name, table in scores.items()}
    elif hasattr(scores, "columns"):
        tables = {"model": as_pandas(scores)}
    else:
        array = np.asarray(scores)
        several = array.ndim == 3
        tables = {f"model_{k + 1}": a for k, a in enumerate(array)} if several else {"model": array}
    if not tables:
        raise InputError("scores are empty. Give probabilities of at least one model.")
    return tables


def _plain(values: Any, what: str) -> NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1 or not array.size:
        raise InputError(
            f"{what} have shape {array.shape}, but they should be a list: one label per item."
        )
    return array


def _check_complete(labels: NDArray[Any], items: tuple[str, ...]) -> None:
    missing = [
        item for item, each in zip(items, labels, strict=True) if each is None or each != each
    ]
    if missing:
        raise InputError(
            f"The label is missing for {listed(missing, 'item')}. Leave such items out of labels "
            "and scores."
        )


def _items(
    tables: dict[str, Any], labels: Any, n_items: int, items: Sequence[str] | None
) -> tuple[str, ...]:
    """Return names from the calibration, or from the index of a frame, or by position."""
    names = None
    for each in (*tables.values(), labels):
        index = getattr(each, "index", None)
        if names is None and index is not None and not callable(index) and _named(index):
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


def _named(index: Any) -> bool:
    """Return True if an index of pandas names its rows, and does not only count them."""
    return type(index).__name__ != "RangeIndex" and len(set(index)) == len(index)


def _classes(tables: dict[str, Any], labels: NDArray[Any], classes: Any) -> tuple[Any, ...]:
    """Return the classes given, or the columns of a frame, or the labels in order, or codes."""
    if classes is not None:
        found = tuple(_value(each) for each in classes)
        if len(set(found)) < len(found):
            raise InputError("classes name a class twice. Give each class once.")
        return found
    first = next(iter(tables.values()))
    if hasattr(first, "columns"):
        return tuple(_value(each) for each in first.columns)
    shape = np.asarray(first).shape
    if len(shape) != 2:
        raise InputError(
            f"scores have shape {shape}, but they should have one row per item and one column per "
            "class. Give all that predict_proba returns, not one of its columns."
        )
    width = shape[1]
    if labels.dtype.kind in "iu" and labels.min() >= 0 and labels.max() < width:
        return tuple(range(width))
    distinct = _distinct(labels)
    if len(distinct) != width:
        raise InputError(
            f"scores have {counted(width, 'column')}, but the labels have "
            f"{counted(len(distinct), 'different value')}. Say which class each column is: "
            "classes=[...]."
        )
    return distinct


def _distinct(labels: NDArray[Any]) -> tuple[Any, ...]:
    """Return the different labels, in the order of scikit-learn."""
    values = {_value(each) for each in labels}
    try:
        return tuple(sorted(values))
    except TypeError:
        raise InputError(
            "labels mix types, such as text and numbers. Give all of one type."
        ) from None


def _value(each: Any) -> Any:
    return each.item() if isinstance(each, np.generic) else each


def _matrix(model: str, table: Any, items: tuple[str, ...], classes: tuple[Any, ...]) -> Floats:
    try:
        found: Floats = np.asarray(table, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"scores of '{model}' are not all numbers.") from None
    if found.shape != (len(items), len(classes)):
        raise InputError(
            f"scores of '{model}' have shape {found.shape}, but there are "
            f"{counted(len(items), 'label')} and {len(classes)} classes. "
            "Give one row per item and one column per class, as predict_proba does."
        )
    if len(classes) < 2:
        raise InputError("There is one class only, so that no label can be wrong.")
    return found


def _ordered(
    values: Floats, table: Any, classes: tuple[Any, ...], items: tuple[str, ...]
) -> Floats:
    """Return the columns of a frame in the order of the classes, its rows in that of the items."""
    if not hasattr(table, "columns"):
        return values
    columns = [_value(each) for each in table.columns]
    if set(columns) != set(classes):
        strange = next(each for each in columns if each not in classes)
        raise InputError(
            f"scores have a column {shown(strange)}, which is none of the classes "
            f"{_said(classes)}. Name the columns by the classes."
        )
    index = list(map(str, table.index))
    if _named(table.index) and tuple(index) != items and set(index) == set(items):
        values = values[[index.index(item) for item in items]]
    return values[:, [columns.index(each) for each in classes]]


def _said(classes: tuple[Any, ...]) -> str:
    return ", ".join(map(shown, classes[:4])) + (", ..." if len(classes) > 4 else "")


def _checked(whose: str, values: Floats, items: tuple[str, ...]) -> Floats:
    """Return rows that sum to one; those without any number stay."""
    asked = ~np.isnan(values).all(axis=1)
    rows = values[asked]
    sums = rows.sum(axis=1)
    for bad, reason in (
        (~np.isfinite(rows).all(axis=1), "a probability is missing or infinite"),
        ((rows < 0).any(axis=1) | (rows > 1 + FAR_FROM_ONE).any(axis=1), "one is not from 0 to 1"),
        (abs(sums - 1) > FAR_FROM_ONE, "they do not sum to one"),
    ):
        if bad.any():
            names = [items[k] for k in np.flatnonzero(asked)[bad]]
            raise InputError(
                f"scores of {whose} are no probabilities for {listed(names, 'item')}: {reason}. "
                "Give what predict_proba returns."
            )
    found: Floats = values.copy()
    found[asked] = rows / sums[:, None]
    return found


def _check_gaps(values: Floats, models: tuple[str, ...], items: tuple[str, ...]) -> None:
    """An item without probabilities has none from any model."""
    missing = np.isnan(values[:, :, 0])
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
    places = {each: code for code, each in enumerate(classes)}
    codes = np.array([places.get(_value(each), -1) for each in labels], dtype=np.int64)
    if (codes < 0).any():
        first = int(np.flatnonzero(codes < 0)[0])
        label = _value(labels[first])
        kinds = {type(each).__name__ for each in classes}
        other = (
            f"; it is of type {type(label).__name__}, they are of type {' and '.join(kinds)}"
            if type(label).__name__ not in kinds
            else ""
        )
        raise InputError(
            f"The label {shown(label)} of {items[first]} is none of the classes "
            f"{_said(classes)}{other}. Give scores a column for each class that a label has."
        )
    return codes


# Share of right labels that may be among the suspects, by the evidence itself: by responses alone,
# and by probabilities, whose evidence is rather too low than too high.
FALSE_SHARE, CALIBRATED_FALSE_SHARE = 0.10, 0.20
OF_RESPONSES = 0.2  # how much the log Bayes factor of responses counts beside probabilities,
FARTHEST = 5.0  # and how large it may be
SMALLEST = 1e-9  # probability, so that log-odds are finite
MOST_DRAWN = 30
NEXT_TO_NONE, ENOUGH = 0.02, 0.8  # of turned items; if fewer would be found, it is said
RULE = "Items are named from the likeliest on, as long as false alarms are expected to be at most"
OF_PROBABILITIES = ("label", "likely", "self_confidence", "normalized_margin")
OF_BOTH = ("contradiction",)
OF_RESPONDENTS = (
    "share_right",
    "share_right_strong",
    "share_right_weak",
    "discrimination",
    "discrimination_se",
    "probability_negative",
    "item_rest",
    "outfit",
    "n",
)


@dataclass(frozen=True, eq=False, repr=False)
class LabelTrouble(Diagnosis):
    """Items whose label should be checked, the most suspicious first.

    With probabilities of classes (`calibrated`), `evidence` is the probability that the label is
    wrong. With responses alone it is the probability that the item contradicts good respondents,
    which cases where classes overlap do, too. `suspect` marks items for which it is above 0.5, as
    far down the list as the expected share of the others among them stays within 20 %, with
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
        import pandas as pd

        names = ("evidence", "suspect", *OF_PROBABILITIES, *OF_BOTH, *OF_RESPONDENTS)
        columns = {name: getattr(self, name) for name in names}
        known = {name: column for name, column in columns.items() if column is not None}
        return pd.DataFrame(known, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Strong and weak respondents on the most suspicious items, or the evidence alone."""
        from ogive.results.plots import DISPLAYS

        if self.share_right is not None:
            return DISPLAYS["suspects"](self.to_frame()).plot(**kw)
        ranking: Any = DISPLAYS["ranking"]
        frame = self.to_frame()[["evidence"]].head(MOST_DRAWN)
        display: Display = ranking(frame.assign(se=0.0), estimate="evidence")
        return display.plot(**kw)

    @property
    def found_nothing(self) -> bool:
        """Whether no item is suspect."""
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
        """Return how near the first is to being a suspect; it alone must leave few right labels."""
        told, among = np.isfinite(self.evidence), ""
        if self.share_right is not None and not self.calibrated:
            told = told & (self.share_right > 0) & (self.share_right < 1)
            among = "among items that some solve and some fail, "
        known = np.flatnonzero(told)
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
        """Return how much these responses could have shown, where that is little."""
        if self.calibrated or self.detectable is None or self.detectable >= ENOUGH:
            return ""
        if self.detectable < NEXT_TO_NONE:
            return ", but these responses would show hardly any key that is turned around"
        return (
            f", but these responses would show only {self.detectable:.0%} of keys that are turned "
            "around: others stay undetected"
        )

    def _named(self, row: int) -> str:
        if self.label is None or self.likely is None:
            return f"{self.items[row]} ({self.evidence[row]:.0%})"
        instead = f"{shown(self.likely[row])} rather than {shown(self.label[row])}"
        return f"{self.items[row]} ({self.evidence[row]:.0%}: {instead})"


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
    turned = None if calibration is None else _turned(calibration, responses)
    if scores is None:
        assert turned is not None  # noqa: S101 - one of the two was given
        assert calibration is not None  # noqa: S101 - what was turned is its
        return _of_responses(turned, 1 + int(calibration.parts[1].max(initial=0)))
    names = None if turned is None else turned.items
    return _of_scores(read_probabilities(scores, labels, classes, names), turned)


def _turned(calibration: Calibration, responses: Table | None) -> TurnedItems:
    checked_calibration(calibration, "label_trouble")
    if calibration.model.kind != "binary":
        raise InputError(
            f"label_trouble needs right or wrong, but the {calibration.model.name} model explains "
            f"{calibration.model.kind} responses. Make each 1 where it is good enough, else 0; "
            "for items that do not fit their curve, use item_fit."
        )
    return turned_items(calibration, responses)


def _of_responses(turned: TurnedItems, n_parts: int) -> LabelTrouble:
    return _ranked(
        turned.items,
        turned.log_odds,
        turned.columns,
        calibrated=False,
        share_wrong=turned.share,
        detectable=turned.detectable,
        effective_respondents=turned.effective_respondents,
        n_parts=n_parts,
    )


def _of_scores(given: ClassProbabilities, turned: TurnedItems | None) -> LabelTrouble:
    """Return evidence from probabilities, moved by that of responses, if there are any."""
    from scipy.special import expit

    asked = ~np.isnan(given.scores[0, :, 0])
    noise = label_noise(given.scores[:, asked], given.labels[asked])
    log_odds = np.full(len(given.items), np.nan)
    wrong = noise.wrong.clip(SMALLEST, 1 - SMALLEST)
    log_odds[asked] = np.log(wrong) - np.log1p(-wrong)
    columns = _beside(given, noise, asked)
    if turned is not None:
        columns |= turned.columns | {"contradiction": expit(turned.log_odds)}
        log_odds += OF_RESPONSES * turned.log_bayes_factor.clip(-FARTHEST, FARTHEST)
    names = [given.models[k] if k >= 0 else "mean of all" for k in noise.members]
    return _ranked(
        given.items,
        log_odds,
        columns,
        calibrated=True,
        share_wrong=float(np.nanmean(expit(log_odds))),
        effective_respondents=None if turned is None else turned.effective_respondents,
        noise_rates=dict(zip(given.classes, map(float, noise.rates), strict=True)),
        weights=dict(zip(names, map(float, noise.weights), strict=True)),
    )


def _beside(given: ClassProbabilities, noise: LabelNoise, asked: np.ndarray) -> dict[str, Any]:
    """Return label, most likely class, and what the mean model says of the label."""
    mean = given.scores.mean(axis=0)
    own = (np.arange(len(mean)), given.labels)
    others = mean.copy()
    others[own] = -np.inf
    likely = np.full(len(mean), None, dtype=object)
    likely[asked] = [given.classes[code] for code in noise.likely]
    return {
        "label": np.array([given.classes[code] for code in given.labels], dtype=object),
        "likely": likely,
        "self_confidence": mean[own],
        "normalized_margin": (mean[own] - others.max(axis=1) + 1) / 2,
    }


def _ranked(
    items: tuple[str, ...],
    log_odds: Floats,
    columns: dict[str, Any],
    *,
    calibrated: bool,
    **found: Any,
) -> LabelTrouble:
    """Return everything about each item, the most suspicious first; those without evidence last."""
    from scipy.special import expit

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
        **found,
    )
