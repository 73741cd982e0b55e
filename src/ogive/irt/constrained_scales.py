"""Anchor respondents that fix direction; equal discriminations.

A scale on which ability goes with being right, also where classifiers mostly differ in taste.

Classifiers of a pool differ in how good they are and in how readily they choose each class. Where
classes overlap, the second may differ more than the first: the scale then orders classifiers by the
class they prefer, and the items of the other class discriminate negatively. Always choosing the
preferred class would stand above being right everywhere.

Two artificial respondents then give the direction: one gets everything right, one everything wrong.

The continuous model with one slope and one noise for all items, in closed form.

The log-odds of a score are ability plus easiness plus noise, z = τ θ + m + σ ε: a two-way analysis
of variance with random respondents. Abilities are then means of log-odds, pulled towards their
centre by as much as they are uncertain. With free slopes, the first factor of the errors of
regressors is how far predictions are drawn towards the middle, and not how good they are
(benchmarks/regression.py); with equal slopes, ability follows the errors.

How scores of errors are calibrated: by the continuous, the beta or the graded model.

All instances have the same slope, or almost: with free slopes, the scale of regressors measures how
far predictions are drawn towards the middle (`ogive.irt.constrained_scales`). The continuous
model has a closed form; the other two are held together by a narrow prior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ogive._progress import Progress, silent
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.banks import known_items
from ogive.irt.calibrating import calibrate, find_engine
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.engine import Engine, Fit
from ogive.irt.item_covariances import KnownCovariances
from ogive.irt.item_curves import NEVER_ASKED, SOLVED_BY_ALL, SOLVED_BY_NONE
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel, Normal
from ogive.irt.models.continuous import Continuous
from ogive.irt.quadrature import Population
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

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
        """Return why, in words."""
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
    """Return the note on artificial respondents, if there were any."""
    return calibration.fit_notes[:1] if isinstance(calibration.fitted_by, Anchored) else ()


def class_preference(
    calibration: Calibration, labels: Sequence[Any] | None = None
) -> Preference | None:
    """Return whether the scale of a binary calibration measures something else than being right.

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
    """Return True if negative items are of some classes more often than chance would have it."""
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
    """Return abilities of respondents with these responses to all items."""
    cells = np.array(rows, dtype=np.int8)
    table = Responses.from_codes(cells, None, list(calibration.item_names), "binary")
    return calibration.score(table, items_known=True)["ability"].to_numpy()


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


ROUNDS, CLOSE = 500, 1e-10  # of alternating means where cells are missing
LEAST = 1e-8  # variance between respondents; less is none
EDGE = 1e-6  # scores are read as at least so far from 0 and 1


def calibrate_equal_slopes(responses: Responses) -> Calibration:
    """Calibrate scores between 0 and 1 with the same slope and noise for every item.

    >>> import ogive as og
    >>> drawn = og.simulate("continuous", 60, 20, random_state=0).responses
    >>> found = calibrate_equal_slopes(drawn)
    >>> bool(found.items["scaling"].std() < 1e-12)
    True
    """
    scores = np.clip(responses.values, EDGE, 1 - EDGE)
    z = np.log(scores / (1 - scores))
    seen = ~np.isnan(z)
    _check(seen)
    rows, columns, residual = _effects(z, seen)
    n_rows, n_columns = z.shape
    freedom = max(int(seen.sum()) - n_rows - n_columns + 1, 1)
    noise = max(float((residual[seen] ** 2).sum() / freedom), LEAST)
    asked = 1 / np.mean(1 / seen.sum(axis=1))  # items per respondent, where some are missing
    observed = float(rows.var(ddof=1))
    between = max(observed - noise / asked, LEAST)
    tau, sigma = np.sqrt(between), np.sqrt(noise)
    slope = tau / sigma  # discrimination is the loading in units of the noise
    coords = np.stack(
        [np.full(n_columns, slope), columns, np.full(n_columns, np.log(sigma))], axis=1
    )
    # Items share errors of the loading, of the origin that these respondents set, and of the noise.
    loading = np.sqrt(2.0 / (n_rows - 1)) * observed / (2 * tau)
    louder = np.sqrt(0.5 / freedom)
    steps = np.diag([loading / sigma, np.sqrt(between / n_rows), louder])
    steps[2, 0] = -slope * louder
    own = np.zeros((n_columns, 3, 3))
    own[:, 1, 1] = noise / seen.sum(axis=0)
    shared = np.tile(steps[:, None, :], (1, n_columns, 1))
    notes = []
    if between <= LEAST:
        notes.append(
            f"{counted(n_rows, 'respondent')} do not differ by more than chance on these items."
        )
    return known_items(
        Continuous(bounds=(0.0, 1.0), inside=(EDGE, 1 - EDGE)),
        coords,
        responses.items,
        uncertainty=KnownCovariances(own + steps.T @ steps, shared),
        n_respondents=float(n_rows),
        engine="equal slopes",
        responses=responses,
        fit_notes=tuple(notes),
    )


def _effects(z: Floats, seen: NDArray[np.bool_]) -> tuple[Floats, Floats, Floats]:
    """Effects of rows, with mean zero, and of columns, by least squares; and what is left."""
    cells = np.where(seen, z, 0.0)
    per_row, per_column = seen.sum(axis=1), seen.sum(axis=0)
    rows, columns = np.zeros(len(z)), cells.sum(axis=0) / per_column
    for _ in range(ROUNDS):
        before = rows
        rows = (cells.sum(axis=1) - seen @ columns) / per_row
        rows = rows - rows.mean()
        columns = (cells.sum(axis=0) - seen.T @ rows) / per_column
        if np.abs(rows - before).max() < CLOSE:
            break
    residual = np.where(seen, z - rows[:, None] - columns, np.nan)
    return rows, columns, residual


def _check(seen: NDArray[np.bool_]) -> None:
    if min(seen.shape) < 2 or not seen.any(axis=1).all() or not seen.any(axis=0).all():
        raise InputError(
            f"The table has {counted(seen.shape[0], 'respondent')} and "
            f"{counted(seen.shape[1], 'item')}, some perhaps without a score, but at least two of "
            "each with scores are needed."
        )


GRADES = 5
NARROW = 0.02  # of slopes around a common one; origin and unit of the scale are left free
BETA_SLOPE, GRADED_SLOPE = 0.5, 1.0


def calibrate_beta(scores: Responses) -> Calibration:
    """Return scores as draws from beta distributions."""
    return _held_together(scores, "beta", BETA_SLOPE)


def calibrate_grades(scores: Responses) -> Calibration:
    """Return scores as grades from 0 to 4: fifths of all errors of the table, the largest first."""
    return _held_together(error_grades(scores), "graded", GRADED_SLOPE)


def error_grades(scores: Responses) -> Responses:
    """Return grades of scores, cut at quantiles of the whole table; fewer grades if many are equal.

    >>> table = Responses(np.array([[0.1, 0.3, 0.5], [0.7, 0.9, 0.2]]), kind="continuous")
    >>> error_grades(table).values.tolist()
    [[0.0, 2.0, 3.0], [4.0, 4.0, 1.0]]
    """
    values = scores.values
    cuts = np.unique(np.nanquantile(values, np.arange(1, GRADES) / GRADES))
    cuts = cuts[cuts > np.nanmin(values)]
    if not cuts.size:
        raise InputError("All scores of errors are equal, so there are no grades of them.")
    grades = np.searchsorted(cuts, values, side="right").astype(float)
    grades[np.isnan(values)] = np.nan
    return Responses(grades, list(scores.respondents), list(scores.items), "graded")


ERROR_MODELS: dict[str, Callable[[Responses], Calibration]] = {
    "continuous": calibrate_equal_slopes,
    "beta": calibrate_beta,
    "graded": calibrate_grades,
}


def find_error_model(model: str) -> Callable[[Responses], Calibration]:
    """Return how errors are calibrated by the model of this name."""
    if not isinstance(model, str) or model not in ERROR_MODELS:
        names = ", ".join(f"'{name}'" for name in ERROR_MODELS)
        raise InputError(
            f"model is {model!r}, but scores of errors are calibrated by one of: {names}."
        )
    return ERROR_MODELS[model]


def _held_together(table: Responses, model: str, slope: float) -> Calibration:
    found = calibrate(table, model, priors={"discrimination": Normal(slope, NARROW)})
    slopes = found.items["discrimination"].to_numpy(dtype=float)
    away = int((np.abs(slopes - np.median(slopes)) > 0.5 * abs(np.median(slopes))).sum())
    notes = tuple(note for note in found.notes if "negative discrimination" not in note)
    if away:
        said = (
            f"{counted(away, 'instance')} do not follow the common slope of the {model} model, so "
            "their difficulty means little."
        )
        notes = (*notes, said)
    return replace(found, fit_notes=notes)
