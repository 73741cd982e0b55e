"""Scales with constraints: a direction given by artificial respondents, or equal discriminations.

Classifiers of a pool differ in how good they are and in how readily they choose each class. Where
classes overlap, the second may differ more than the first: the scale then orders classifiers by the
class they prefer, and the items of the other class discriminate negatively. Two artificial
respondents then give the direction: one gets everything right, one everything wrong.

Scores of errors have the same slope for all items, or almost: with free slopes, the scale of
regressors measures how far predictions are drawn towards the middle (benchmarks/regression.py). The
continuous model has a closed form: the log-odds of a score are ability plus easiness plus noise,
z = τ θ + m + σ ε, a two-way analysis of variance with random respondents. The beta and the graded
model are held together by a narrow prior.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive._progress import Progress, silent
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
from ogive.irt.response_matrix import as_responses, new_responses
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.data.responses import Responses, Table

# Weights of each artificial respondent that are tried in turn, as shares of all respondents. A
# twentieth was enough for 36 imbalanced data sets.
ANCHORS = (0.05, 0.4, 0.8)
MOST_NEGATIVE = 0.25  # share of informative items above which wrong labels are implausible
FEW_NEGATIVE = 0.1  # share of informative items below which the scale is left as it is
UNLIKELY = 0.01  # p-value below which the sign of discrimination follows the class
FLAT = (SOLVED_BY_ALL, SOLVED_BY_NONE, NEVER_ASKED)
POINTS = 241
MAX_ROUNDS, CONVERGED = 500, 1e-10  # limits of alternating means if cells are missing
LEAST = 1e-8  # smallest variance between respondents
EDGE = 1e-6  # least distance of scores from 0 and 1
GRADES = 5
NARROW = 0.02  # prior sd of slopes around a common one
BETA_SLOPE, GRADED_SLOPE = 0.5, 1.0


@dataclass(frozen=True)
class Preference:
    """Evidence that a scale measures something else than being right."""

    negative: int
    informative: int
    turned: str  # class of most negative items, "" if classes are not known
    in_turned: int  # number of negative items of that class
    preferred: str  # class whose constant choice stands above being right, "" for none

    def opening(self) -> str:
        """Describe the evidence; wrong labels of one class look like a preference."""
        of_class = f", {self.in_turned:,} of them of class {self.turned}" if self.turned else ""
        reason = (
            f"{self.negative:,} of {self.informative:,} informative items discriminated "
            f"negatively{of_class}"
        )
        if self.preferred:
            return (
                f"By these respondents alone, the scale did not measure being right: {reason}, and "
                f"always choosing {self.preferred} would have stood above being always right."
            )
        most = self.turned and 2 * self.in_turned > self.negative
        cause = f" Labels of class {self.turned} may be wrong instead: check them." if most else ""
        return (
            f"By these respondents alone, the scale may not measure being right: {reason}.{cause}"
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
        # Being always right should stand above every respondent and every constant choice.
        (right,) = _standing(found, [np.ones(len(found.item_names))])
        above = labels is not None and _above_right(found, _classes(labels, len(found.coords)))
        strongest = found.abilities(items_known=True)["ability"].max()
        settled = not above and bool(strongest <= right)
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
    """Return evidence that a binary calibration measures something else than being right.

    With `labels` of the items, that is so if choosing one class throughout would stand above being
    right throughout, or if the sign of discrimination follows the class; without, if more than a
    quarter of the informative items discriminate negatively. None if there is no evidence.
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
    """Return True if the sign of items and their class are dependent (chi-square test)."""
    from scipy.stats import chi2_contingency

    names = np.unique(classes)
    table = np.array(
        [[(side & (classes == name)).sum() for name in names] for side in (negative, ~negative)]
    )
    if len(names) < 2 or negative.mean() < FEW_NEGATIVE or negative.all():
        return False
    return bool(chi2_contingency(table).pvalue < UNLIKELY)


def _above_right(calibration: Calibration, classes: NDArray[Any]) -> str:
    """Return the class whose constant choice stands highest, if above being always right."""
    names = sorted(set(classes.tolist()))
    right, *constant = _standing(
        calibration, [np.ones(len(classes)), *(classes == n for n in names)]
    )
    best = int(np.argmax(constant))
    return names[best] if len(names) > 1 and constant[best] > right else ""


def _standing(calibration: Calibration, rows: list[Any]) -> Floats:
    """Return abilities of respondents with these responses to all items."""
    cells = np.array(rows, dtype=np.int8)
    table = new_responses(cells, None, list(calibration.item_names), "binary")
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
        """Fit the items; the log-likelihood is that of the real respondents."""
        from scipy.special import logsumexp

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
        # Marginal log-likelihood of a respondent who is always right, and of one always wrong.
        points = np.linspace(*found.population.reach(), POINTS)
        log_weights = found.population.log_density(points) + np.log(points[1] - points[0])
        right = np.clip(model.expected(found.coords, points), 1e-300, 1.0)
        logs = np.log(right), np.log1p(-np.minimum(right, 1 - 1e-16))
        of_ends = np.stack([each.sum(axis=0) for each in logs])
        artificial = logsumexp(of_ends + log_weights, axis=1).sum()
        return replace(found, log_likelihood=found.log_likelihood - float(extra * artificial))


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
    if min(seen.shape) < 2 or not seen.any(axis=1).all() or not seen.any(axis=0).all():
        raise InputError(
            f"The table has {counted(seen.shape[0], 'respondent')} and "
            f"{counted(seen.shape[1], 'item')}, some perhaps without a score, but at least two of "
            "each with scores are needed."
        )
    rows, columns, residual = _effects(z, seen)
    n_rows, n_columns = z.shape
    freedom = max(int(seen.sum()) - n_rows - n_columns + 1, 1)
    noise = max(float((residual[seen] ** 2).sum() / freedom), LEAST)
    asked = 1 / np.mean(1 / seen.sum(axis=1))  # items per respondent, as some may be missing
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
    """Return effects of rows (mean zero) and columns by least squares, and residuals."""
    cells = np.where(seen, z, 0.0)
    per_row, per_column = seen.sum(axis=1), seen.sum(axis=0)
    rows, columns = np.zeros(len(z)), cells.sum(axis=0) / per_column
    for _ in range(MAX_ROUNDS):
        before = rows
        rows = (cells.sum(axis=1) - seen @ columns) / per_row
        rows = rows - rows.mean()
        columns = (cells.sum(axis=0) - seen.T @ rows) / per_column
        if np.abs(rows - before).max() < CONVERGED:
            break
    residual = np.where(seen, z - rows[:, None] - columns, np.nan)
    return rows, columns, residual


def error_grades(scores: Responses) -> Responses:
    """Return grades of scores, cut at quantiles of the whole table; fewer grades if many are equal.

    >>> import ogive as og
    >>> table = og.Responses([[0.1, 0.3, 0.5], [0.7, 0.9, 0.2]], kind="continuous")
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
    return new_responses(grades, list(scores.respondents), list(scores.items), "graded")


def find_error_model(model: str) -> Callable[[Responses], Calibration]:
    """Return the function that calibrates scores of errors by the model of this name."""
    if not isinstance(model, str) or model not in ERROR_MODELS:
        names = ", ".join(f"'{name}'" for name in ERROR_MODELS)
        raise InputError(
            f"model is {model!r}, but scores of errors are calibrated by one of: {names}."
        )
    return ERROR_MODELS[model]


def _nearly_equal_slopes(table: Responses, model: str, slope: float) -> Calibration:
    """Calibrate with a narrow prior of slopes; origin and unit of the scale are free."""
    found = calibrate(table, model, priors={"discrimination": Normal(slope, NARROW)})
    slopes = found.items["discrimination"].to_numpy(dtype=float)
    n_deviant = int((np.abs(slopes - np.median(slopes)) > 0.5 * abs(np.median(slopes))).sum())
    notes = tuple(note for note in found.notes if "negative discrimination" not in note)
    if n_deviant:
        note = (
            f"{counted(n_deviant, 'instance')} do not follow the common slope of the {model} "
            "model, so their difficulty means little."
        )
        notes = (*notes, note)
    return replace(found, fit_notes=notes)


ERROR_MODELS: dict[str, Callable[[Responses], Calibration]] = {
    "continuous": calibrate_equal_slopes,
    "beta": lambda scores: _nearly_equal_slopes(scores, "beta", BETA_SLOPE),
    "graded": lambda scores: _nearly_equal_slopes(error_grades(scores), "graded", GRADED_SLOPE),
}
