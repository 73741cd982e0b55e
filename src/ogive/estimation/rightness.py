"""A scale on which ability goes with being right, also where classifiers mostly differ in taste.

Classifiers of a pool differ in how good they are and in how readily they choose each class. Where
classes overlap, the second may differ more than the first: the scale then orders classifiers by the
class they prefer, and the items of the other class discriminate negatively. Always choosing the
preferred class would stand above being right everywhere.

Two artificial respondents then give the direction: one gets everything right, one everything wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.calibration.shown_scale import NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE
from ogive.errors import InputError
from ogive.estimation.calibrating import calibrate, find_engine
from ogive.estimation.fits import Engine, Fit
from ogive.models import AUTO, MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.progress import Progress, silent
from ogive.responses import Responses, Table, as_responses
from ogive.scoring import Population
from ogive.words import counted

# Weights of each artificial respondent, as shares of all: as light as will do. A twentieth did over
# 36 imbalanced data sets.
ANCHORS = (0.05, 0.4, 0.8)
MOST_NEGATIVE = 0.25  # of informative items; more are hardly wrong labels
FEW_NEGATIVE = 0.1  # of informative items; fewer leave the scale what it is, whatever their class
UNLIKELY = 0.01  # a p-value
FLAT = (SOLVED_BY_ALL, SOLVED_BY_NONE, NEVER_ASKED)
POINTS = 241


@dataclass(frozen=True)
class Preference:
    """What shows that a scale measures something else than being right."""

    negative: int
    informative: int
    turned: str  # class of most negative items, "" where classes are not known
    in_turned: int  # how many of the negative items are of that class
    preferred: str  # class whose constant choice stands above being right, "" for none

    def opening(self) -> str:
        """What is known of the scale: wrong labels of one class look as a preference does."""
        if self.preferred:
            return f"By these respondents alone, the scale did not measure being right: {self}."
        most = self.turned and 2 * self.in_turned > self.negative
        cause = f" Labels of class {self.turned} may be wrong instead: check them." if most else ""
        return f"By these respondents alone, the scale may not measure being right: {self}.{cause}"

    def __str__(self) -> str:
        """Why, in words."""
        of_class = f", {self.in_turned:,} of them of class {self.turned}" if self.turned else ""
        above = (
            f", and always choosing {self.preferred} would have stood above being always right"
            if self.preferred
            else ""
        )
        return (
            f"{self.negative:,} of {self.informative:,} informative items discriminated "
            f"negatively{of_class}{above}"
        )


def calibrate_by_rightness(
    responses: Table,
    model: str | MeasurementModel = AUTO,
    *,
    labels: Sequence[Any] | None = None,
    **settings: Any,
) -> Calibration:
    """Calibrate, and again with artificial respondents if the scale measures something else.

    `labels` are the true classes of the items, in their order, where these are known. `settings` go
    to the engine. A note says why and what was done.
    """
    table = as_responses(responses)
    found = calibrate(table, model, **settings)
    why = class_preference(found, labels)
    if why is None:
        return found
    # The first note says which model was picked; it need not be picked again.
    picked = found.fit_notes[:1] if model == AUTO else ()
    for share in ANCHORS:
        engine = Anchored(find_engine("em", settings), share)
        found = calibrate(table, found.model.unfitted(), engine=engine)
        settled = _nobody_above_right(found, labels)
        if settled:
            break
    short = "" if settled else " Even so, being always right does not stand above everyone."
    note = (
        f"{why.opening()} Two artificial respondents, "
        f"one always right and one always wrong, each with the weight of {share:.0%} of all "
        "respondents, now give its direction. Where respondents mostly differ in what they prefer, "
        f"compare accuracies of each class, too.{short}"
    )
    return replace(found, fit_notes=(note, *picked, *found.fit_notes))


def said_of_direction(calibration: Calibration) -> tuple[str, ...]:
    """The note on artificial respondents, if there were any."""
    return calibration.fit_notes[:1] if isinstance(calibration.fitted_by, Anchored) else ()


def class_preference(
    calibration: Calibration, labels: Sequence[Any] | None = None
) -> Preference | None:
    """Whether the scale of a binary calibration measures something else than being right.

    With `labels` of the items, it does if choosing one class throughout would stand above being
    right throughout, or if the sign of discrimination follows the class; without, if more than a
    quarter of the informative items discriminate negatively.
    """
    if calibration.model.kind != "binary":
        return None
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    telling = np.array([not set(words) & set(FLAT) for words in calibration.flags], dtype=bool)
    negative = telling & (slope < 0)
    if not negative.any():
        return None
    if labels is None:
        if negative.sum() <= MOST_NEGATIVE * telling.sum():
            return None
        return Preference(int(negative.sum()), int(telling.sum()), "", 0, "")
    classes = _classes(labels, len(calibration.item_names))
    preferred = _above_right(calibration, classes)
    if not preferred and not _sign_follows(negative[telling], classes[telling]):
        return None
    turned, count = Counter(classes[negative].tolist()).most_common(1)[0]
    return Preference(int(negative.sum()), int(telling.sum()), turned, count, preferred)


def _classes(labels: Sequence[Any], n_items: int) -> NDArray[Any]:
    found = np.array([str(label) for label in labels], dtype=object)
    if found.shape != (n_items,):
        raise InputError(
            f"There are {len(found):,} labels for {counted(n_items, 'item')}. Give one for each."
        )
    return found


def _sign_follows(negative: NDArray[np.bool_], classes: NDArray[Any]) -> bool:
    """Whether negative items are of some classes more often than chance would have it."""
    from scipy.stats import chi2_contingency

    names = np.unique(classes)
    table = np.array(
        [[(side & (classes == name)).sum() for name in names] for side in (negative, ~negative)]
    )
    if len(names) < 2 or negative.mean() < FEW_NEGATIVE or negative.all():
        return False
    return bool(chi2_contingency(table).pvalue < UNLIKELY)


def _above_right(calibration: Calibration, classes: NDArray[Any]) -> str:
    """The class whose constant choice stands highest, if that is above being always right."""
    names = sorted(set(classes.tolist()))
    right, *constant = _standing(
        calibration, [np.ones(len(classes)), *(classes == n for n in names)]
    )
    best = int(np.argmax(constant))
    return names[best] if len(names) > 1 and constant[best] > right else ""


def _nobody_above_right(calibration: Calibration, labels: Sequence[Any] | None) -> bool:
    """Whether being always right stands as high as every respondent and every constant choice."""
    (right,) = _standing(calibration, [np.ones(len(calibration.item_names))])
    if labels is not None and _above_right(calibration, _classes(labels, len(calibration.coords))):
        return False
    return bool(calibration.abilities(items_known=True)["ability"].max() <= right)


def _standing(calibration: Calibration, rows: list[Any]) -> Floats:
    """Abilities of respondents with these responses to all items."""
    cells = np.array(rows, dtype=np.int8)
    table = Responses.from_codes(cells, None, list(calibration.item_names), "binary")
    found: Floats = calibration.score(table, items_known=True)["ability"].to_numpy()
    return found


@dataclass(frozen=True)
class Anchored:
    """An engine with two artificial respondents: one always right, one always wrong."""

    engine: Engine
    share: float = ANCHORS[0]  # weight of each, as a share of all respondents

    @property
    def name(self) -> str:
        """The name of the engine itself."""
        return self.engine.name

    def fit(
        self,
        cells: np.ndarray,
        model: MeasurementModel,
        weights: Floats | None = None,
        progress: Progress = silent,
        *,
        tries: np.ndarray | None = None,
    ) -> Fit:
        """Find the items; the log-likelihood is that of the real respondents."""
        counts = np.ones(len(cells)) if weights is None else weights
        ends = np.array([[1], [0]], dtype=cells.dtype).repeat(cells.shape[1], axis=1)
        extra = self.share * counts.sum()
        given = {}
        if tries is not None:  # they answer once
            given["tries"] = np.concatenate([tries, np.ones(ends.shape, dtype=tries.dtype)])
        found = self.engine.fit(
            np.concatenate([cells, ends]),
            model,
            np.r_[counts, extra, extra],
            progress,
            **given,
        )
        artificial = _log_likelihoods_of_ends(model, found.coords, found.population).sum()
        return replace(found, log_likelihood=found.log_likelihood - float(extra * artificial))


def _log_likelihoods_of_ends(
    model: MeasurementModel, coords: Floats, population: Population
) -> Floats:
    """Marginal log-likelihood of a respondent who is always right, and of one always wrong."""
    from scipy.special import logsumexp

    points = np.linspace(*population.reach(), POINTS)
    log_weights = population.log_density(points) + np.log(points[1] - points[0])
    right = np.clip(model.expected(coords, points), 1e-300, 1.0)
    ends = np.stack(
        [np.log(right).sum(axis=0), np.log1p(-np.minimum(right, 1 - 1e-16)).sum(axis=0)]
    )
    found: Floats = logsumexp(ends + log_weights, axis=1)
    return found
