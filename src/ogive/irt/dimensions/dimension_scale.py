"""`dimension_scale`: abilities of several dimensions behind one table, compared with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ogive._progress import Progress, telling
from ogive._validation import checked_share, one_of, whole_number
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import is_auto
from ogive.irt.dimensions.adaptive_quadrature import MAX_GRID_DIMENSIONS
from ogive.irt.dimensions.loading_pattern import ItemDimensions, Pattern, item_dimensions
from ogive.irt.dimensions.marginal_newton import (
    Penalty,
    maximize,
    posterior_modes,
    starting_parameters,
)
from ogive.irt.dimensions.standard_errors import (
    FittedDimensions,
    fit_dimensions,
    held_out_scores,
)
from ogive.irt.item_curves import ALPHA, SAME, SURELY_SAME
from ogive.irt.models import AUTO
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, with_interval
from ogive.stats.array_backend import Floats, Run, workers
from ogive.stats.intervals import normal_reach
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display

__all__ = ["DimensionScale", "dimension_scale"]


MIN_CELLS = 2  # fewest answers of a respondent that are held out in turn
CONFIDENCE = 0.95  # level of the intervals of correlations in notes
NEAR_ONE = 0.98  # correlation whose estimate alone suggests one dimension
INEXACT = 0.05  # nats
FEW_RESPONDENTS = 50  # respondents below which a note warns of imprecise loadings
MAX_PAIRS = 3  # pairs of dimensions that a note names
MANY_RESPONDENTS = 500  # respondents below which loadings are drawn to their mean more strongly
FEW_PENALTY = Penalty(loading=0.5, threshold=5.0, correlation=0.5)
MANY_PENALTY = Penalty(loading=2.0, threshold=5.0, correlation=0.5)
FIGURES = ("abilities", "loadings", "correlations")
OF_GIVEN = (
    "This asks for the dimensions that were given; `dimensionality` asks how many show when nobody "
    "says which items belong together, and sees less."
)

Structure = Literal["correlated", "bifactor"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Mean log score of a held-out answer, by several dimensions and by one."""

    several: float
    one: float
    difference_se: float
    n_cells: int
    converged: bool  # True if all fits that predict converged


def compare_held_out(
    dimensions: FittedDimensions,
    cv: int,
    random_state: int,
    run: Run,
    report: Callable[[int, int, str], None],
) -> HeldOut:
    """Fit several dimensions and one on all folds but one, and score the answers of that one."""
    several = dimensions.fit
    codes = several.table.codes
    pattern = Pattern(np.ones((codes.shape[1], 1), dtype=bool), several.pattern.n_thresholds)
    start = starting_parameters(codes, pattern)
    moments = posterior_modes(codes, pattern, start)
    one = maximize(codes, pattern, several.penalty, run, (start, moments))
    folds = _folds(codes, cv, random_state)
    scores = [np.zeros(codes.shape), np.zeros(codes.shape)]
    converged = several.converged and one.converged
    for fold in range(cv):
        report(fold + 1, cv + 1, "held-out answers")
        held_out = folds == fold
        if not held_out.any():
            continue
        kept = np.where(held_out, -1, codes).astype(np.int16)
        for k, fit in enumerate((several, one)):
            moments = posterior_modes(kept, fit.pattern, fit.params)
            start_again = fit.params, moments
            refit = maximize(kept, fit.pattern, fit.penalty, run, start_again, quickly=True)
            converged = converged and refit.converged
            scores[k][held_out] = held_out_scores(refit, codes, held_out, run)
    scored = folds >= 0
    diff = np.where(scored, scores[0] - scores[1], 0.0)
    return HeldOut(
        several=float(scores[0][scored].mean()),
        one=float(scores[1][scored].mean()),
        difference_se=_two_way_error(diff, scored),
        n_cells=int(scored.sum()),
        converged=converged,
    )


def _folds(codes: NDArray[np.int16], cv: int, random_state: int) -> NDArray[np.intp]:
    """Return the fold of each answer, balanced by respondent; -1 for cells without a fold."""
    random = np.random.default_rng(random_state)
    folds = np.full(codes.shape, -1, dtype=np.intp)
    for row, answers in zip(folds, codes, strict=True):
        asked = np.flatnonzero(answers >= 0)
        if asked.size >= MIN_CELLS:
            row[random.permutation(asked)] = (np.arange(asked.size) + random.integers(cv)) % cv
    return folds


def _two_way_error(diff: Floats, scored: NDArray[np.bool_]) -> float:
    """Return the standard error of the mean difference, clustered by respondents and items.

    Cameron, Gelbach and Miller (2011): variance by respondents plus by items, less by cells.
    """
    centred = np.where(scored, diff - diff[scored].mean(), 0.0)
    parts = []
    for axis in (1, 0):
        sums = centred.sum(axis=axis)[scored.any(axis=axis)]
        parts.append(float((sums**2).sum()) * sums.size / max(sums.size - 1, 1))
    cells = float((centred**2).sum())
    return float(np.sqrt(max(parts[0] + parts[1] - cells, *parts))) / int(scored.sum())


def _frames(
    dimensions: FittedDimensions,
    given: ItemDimensions,
    respondents: tuple[str, ...],
    confidence: float,
) -> dict[str, pd.DataFrame]:
    """Return loadings, thresholds, correlations and abilities with their intervals."""
    import pandas as pd

    params, errors = dimensions.params, dimensions.errors()

    def interval(name: str, value: Floats, error: Floats) -> dict[str, Floats]:
        half = normal_reach(confidence) * error
        return {name: value, "se": error, "low": value - half, "high": value + half}

    item, dimension = np.nonzero(given.pattern.free)
    loadings = {
        "item": [given.items[k] for k in item],
        "dimension": [given.names[k] for k in dimension],
        **interval("loading", params.loadings[item, dimension], errors.loadings[item, dimension]),
    }
    item, step = np.nonzero(given.pattern.of_thresholds >= 0)
    thresholds = {
        "item": [given.items[k] for k in item],
        "step": step + 1,
        **interval("threshold", params.thresholds[item, step], errors.thresholds[item, step]),
    }
    asked = (given.codes >= 0).astype(int) @ given.pattern.free.astype(int)
    abilities = {
        "respondent": np.repeat(np.array(respondents, dtype=object), len(given.names)),
        "dimension": list(given.names) * len(respondents),
        **interval("ability", dimensions.ability.ravel(), dimensions.ability_se.ravel()),
        "n_items": asked.ravel(),
    }
    return {
        "loadings": pd.DataFrame(loadings),
        "thresholds": pd.DataFrame(thresholds),
        "correlations": _correlations_frame(dimensions, given, confidence),
        "abilities": pd.DataFrame(abilities),
    }


def _correlations_frame(
    dimensions: FittedDimensions, given: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """Return one row per pair of dimensions; intervals by Fisher's transformation."""
    import pandas as pd

    left, right = given.pattern.pairs
    value = dimensions.params.correlation[left, right]
    error = dimensions.errors().correlation[left, right]
    half = normal_reach(confidence) * error / np.maximum(1 - value**2, 1e-6)
    middle = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    columns = {
        "dimension": [given.names[k] for k in left],
        "other": [given.names[k] for k in right],
        "correlation": value,
        "se": error,
        "low": np.tanh(middle - half),
        "high": np.tanh(middle + half),
    }
    return pd.DataFrame(columns)


def _comparison_frame(held_out: HeldOut | None, confidence: float) -> pd.DataFrame:
    """Return mean log scores and their difference; no row if nothing was held out."""
    import pandas as pd

    columns = ["log_score", "se", "low", "high", "n_cells"]
    if held_out is None:
        return pd.DataFrame(columns=columns, dtype=float).rename_axis("dimensions")
    several, one, n, nan = held_out.several, held_out.one, held_out.n_cells, float("nan")
    diff, se = several - one, held_out.difference_se
    half = normal_reach(confidence) * se
    rows = {
        "several": (several, nan, nan, nan, n),
        "one": (one, nan, nan, nan, n),
        "difference": (diff, se, diff - half, diff + half, n),
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("dimensions")


def _notes(
    dimensions: FittedDimensions, given: ItemDimensions, *, converged: bool
) -> Iterator[str]:
    """Yield notes on how far the figures can be trusted; `converged` includes the folds."""
    n_respondents = len(given.codes)
    if not dimensions.fit.converged:
        yield "The fit did not converge: loadings and correlations may be inaccurate."
    if n_respondents < FEW_RESPONDENTS:
        yield (
            f"{counted(n_respondents, 'respondent')} say little about single loadings: they are "
            "drawn to the mean of their dimension, and intervals count that."
        )
    yield from _pair_notes(_correlations_frame(dimensions, given, CONFIDENCE), converged=converged)
    if given.pattern.correlated and len(given.names) > MAX_GRID_DIMENSIONS:
        yield (
            f"Integrals over {len(given.names)} correlated dimensions use quasi-random nodes; with "
            f"other nodes the log-likelihood differs by {dimensions.fit.integral_error:.2g}."
        )
    elif dimensions.fit.integral_error > INEXACT:
        yield (
            "Integrals are not exact to 0.05 nats: an item is so steep that its curve is a step. "
            f"A finer grid changes the log-likelihood by {dimensions.fit.integral_error:.2g}."
        )
    yield from _negative_loading_notes(dimensions, given)


def _pair_notes(pairs: pd.DataFrame, *, converged: bool) -> Iterator[str]:
    """Yield which dimensions are surely one, by the rule of task_scales, and which may be."""
    size = pairs["correlation"].abs()
    least = np.where(pairs["correlation"] < 0, -pairs["high"], pairs["low"])
    sure = (size >= SAME) & (least >= SURELY_SAME) & converged
    if sure.any():
        both = "both" if sure.sum() == 1 else "each pair"
        yield f"{_pairs_text(pairs[sure])}, so one dimension would do for {both}."
    open_pairs = (size >= NEAR_ONE) & ~sure
    if open_pairs.any():
        why = f"the interval would have to lie beyond {SURELY_SAME:.2f}"
        why = why if converged else "not all fits converged"
        yield (
            f"By the estimate, {_pairs_text(pairs[open_pairs])}, but that these are one dimension "
            f"is not shown: {why}."
        )


def _pairs_text(pairs: pd.DataFrame) -> str:
    """Return the first pairs, with their correlations and intervals."""
    texts = [
        f"{row.dimension} and {row.other} correlate {row.correlation:.2f} "
        f"({row.low:.2f} to {row.high:.2f})"
        for row in pairs.head(MAX_PAIRS).itertuples(index=False)
    ]
    rest = len(pairs) - len(texts)
    return "; ".join([*texts, *([f"likewise {counted(rest, 'other pair')}"] if rest else [])])


def _negative_loading_notes(dimensions: FittedDimensions, given: ItemDimensions) -> Iterator[str]:
    """Yield items on which better respondents answer worse, by the rule of item_health.

    In a bifactor structure, the general ability counts.
    """
    from scipy.special import ndtr

    counts = given.pattern.free.copy()
    if not given.pattern.correlated:
        counts[:, 1:] = False
    slope, se = dimensions.params.loadings[counts], dimensions.errors().loadings[counts]
    known = (se > 0) & dimensions.fit.converged
    z = np.divide(slope, se, out=np.full(slope.shape, np.nan), where=known)
    item, significant = np.nonzero(counts)[0], benjamini_hochberg(ndtr(z)) < ALPHA
    surely = dict.fromkeys(given.items[k] for k in item[significant])
    maybe = dict.fromkeys(given.items[k] for k in item[slope < 0] if given.items[k] not in surely)
    if surely:
        yield f"Better respondents answer worse: {listed(list(surely), 'item')}."
    if maybe:
        why = "not significantly" if surely else "none significantly"
        why = why if dimensions.fit.converged else "but the fit did not converge"
        yield f"Loadings estimated below zero, {why}: {listed(list(maybe), 'item')}."


@dataclass(frozen=True, eq=False, repr=False)
class DimensionScale(Result):
    """Abilities of several dimensions.

    `loadings` has one row per item and dimension: how much the log-odds of a higher answer rise
    with one standard deviation of that ability. `correlations` has one row per pair of dimensions,
    `abilities` one per respondent and dimension. `comparison` says how well several dimensions and
    one predict answers that were held out: mean log score of an answer; empty with `cv=None`.
    Unless all fits `converged`, nothing is claimed of it.
    """

    dimensions: tuple[str, ...]
    structure: str
    loadings: pd.DataFrame
    thresholds: pd.DataFrame
    correlations: pd.DataFrame
    abilities: pd.DataFrame
    comparison: pd.DataFrame
    log_likelihood: float
    aic: float
    bic: float
    n_parameters: int
    confidence: float
    converged: bool
    notes: tuple[str, ...] = ()

    @property
    def pays(self) -> bool:
        """True if several dimensions predict held-out answers significantly better than one."""
        return self.converged and self._difference[1] > 0

    @property
    def _difference(self) -> tuple[float, float, float]:
        """Difference of the log scores and its interval; NaN with `cv=None`."""
        if self.comparison.empty:
            return (float("nan"),) * 3
        columns = self.comparison[["log_score", "low", "high"]].to_numpy(dtype=float)
        value, low, high = columns[-1].tolist()
        return value, low, high

    @property
    def meaning(self) -> str:
        """Whether several dimensions predict held-out answers better than one, and by how much."""
        if self.comparison.empty:
            return (
                f"{len(self.dimensions)} dimensions were fitted; whether they predict better than "
                "one was not asked (cv=None)."
            )
        if not self.converged:
            return (
                f"The fit of {len(self.dimensions)} dimensions did not converge, so that nothing "
                "can be said of whether they predict held-out answers better than one. Give fewer "
                "dimensions, or answers of more respondents."
            )
        value, low, high = self._difference
        gain = with_interval(abs(value), (high - low) / 2)
        count = f"{len(self.dimensions)} dimensions"
        if self.pays:
            share = 100 * float(np.expm1(value))
            return (
                f"{count} predict held-out answers better than one: by {gain} nats per answer, "
                f"which is a probability {share:.2g} % higher for what was answered. "
                f"{OF_GIVEN}"
            )
        if high < 0:
            return (
                f"{count} predict held-out answers worse than one, by {gain} nats per answer: use "
                f"one scale. {OF_GIVEN}"
            )
        return (
            f"Nothing shows that {count} predict held-out answers better than one: the difference "
            f"is {with_interval(value, (high - low) / 2)} nats per answer. "
            f"For predictions, one scale does. {OF_GIVEN}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and dimension."""
        return self.loadings.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return loadings, thresholds, correlations, abilities and the comparison."""
        names = ("loadings", "thresholds", "correlations", "abilities", "comparison")
        return {name: getattr(self, name) for name in names}

    def figures(self) -> dict[str, Draw]:
        """Return abilities and loadings by dimension, and correlations if there are any."""
        kinds = FIGURES if len(self.correlations) else FIGURES[:2]
        return {kind: partial(self.plot, kind) for kind in kinds}

    def plot(self, kind: str = "abilities", **kw: Any) -> Display:
        """Draw abilities or loadings by dimension with their intervals, or the correlations."""
        from ogive.results.plots import DISPLAYS
        from ogive.results.plots.matrices import HeatMapDisplay
        from ogive.results.plots.rankings import RankingDisplay

        one_of(kind, "kind", FIGURES)
        if kind == "correlations":
            matrix = self.correlation_matrix.rename_axis(columns="correlation of true abilities")
            low = -1.0 if matrix.to_numpy().min() < 0 else 0.0
            return HeatMapDisplay(matrix, low=low, high=1.0).plot(**kw)
        if kind == "abilities":
            return DISPLAYS["profiles"](self.abilities).plot(**kw)
        rows = self.loadings.set_axis(self.loadings["item"] + " · " + self.loadings["dimension"])
        return RankingDisplay(rows, estimate="loading").plot(**kw)

    @property
    def correlation_matrix(self) -> pd.DataFrame:
        """Correlations of true abilities, dimensions × dimensions."""
        import pandas as pd

        names = list(self.dimensions)
        whole = np.eye(len(names))
        if len(self.correlations):
            pairs = np.triu_indices(len(names), 1)
            whole[pairs] = whole.T[pairs] = self.correlations["correlation"].to_numpy()
        return pd.DataFrame(whole, index=names, columns=names).rename_axis("dimension")


def dimension_scale(
    responses: Table,
    dimensions: object,
    *,
    structure: Structure = "correlated",
    model: str = AUTO,
    priors: str | None = "default",
    cv: int | None = 5,
    confidence: float = 0.95,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> DimensionScale:
    """Fit several abilities behind one table, and compare them with one.

    The log-odds of an answer are a sum of loading × ability over the dimensions of its item. The
    frame has one row per item and dimension: loading, se, low, high.

    Parameters
    ----------
    responses
        Respondents × items, right and wrong or grades; not every cell needs to be there.
    dimensions
        Which items belong to which dimension: a mapping from dimension to a list of items (an item
        may be in several), a fact of the items such as "task", or the dimension of each item.
    structure
        "correlated": abilities of the dimensions correlate. "bifactor": one general ability of all
        items, and one specific ability per dimension, all independent.
    model
        "2pl" for right and wrong, "graded" for grades, "auto" for what the table holds.
    priors
        "default" draws loadings to the mean of their dimension, more strongly below 500
        respondents, and keeps thresholds and correlations finite; None is maximum likelihood.
    cv
        Folds of cells, by which several dimensions are compared with one; None for no comparison.
    confidence
        Level of the intervals.
    random_state
        Seed of the folds.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Notes
    -----
    The marginal likelihood is maximised by Newton's method. Integrals are found on nodes that move
    with each posterior: Gauss-Hermite nodes for up to four correlated dimensions, pairs of
    general and specific ability for a bifactor structure of any size (Gibbons and Hedeker, 1992),
    quasi-random nodes for five to ten correlated ones. Standard errors are from the observed
    information (Louis, 1982).

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> abilities = random.multivariate_normal([0, 0], [[1, 0.3], [0.3, 1]], 300)
    >>> chance = 1 / (1 + np.exp(-1.5 * np.repeat(abilities, 6, axis=1)))
    >>> answers = (random.random(chance.shape) < chance) * 1
    >>> found = og.dimension_scale(answers, ["math"] * 6 + ["code"] * 6, progress=False)
    >>> found.pays
    True
    """
    table = as_responses(responses)
    checked_share(confidence, "confidence", 0.95)
    one_of(structure, "structure", get_args(Structure))
    if cv is not None:
        whole_number(cv, "cv", 2)
    _check_model(model, table)
    given = item_dimensions(table, dimensions, structure)
    penalty = _penalty(priors, table.n_respondents)
    with telling(progress, "Several dimensions") as report, workers() as run:
        report(0, (cv or 0) + 1, "all answers")
        fitted = fit_dimensions(given.codes, given.pattern, penalty, run)
        held_out = None
        if cv is not None:
            held_out = compare_held_out(fitted, cv, random_state, run, report)
    size, value = given.pattern.size, fitted.fit.log_likelihood
    converged = fitted.fit.converged if held_out is None else held_out.converged
    return DimensionScale(
        dimensions=given.names,
        structure=structure,
        **_frames(fitted, given, table.respondents, confidence),
        comparison=_comparison_frame(held_out, confidence),
        log_likelihood=value,
        aic=2 * size - 2 * value,
        bic=size * float(np.log(table.n_respondents)) - 2 * value,
        n_parameters=size,
        confidence=confidence,
        converged=converged,
        notes=(*given.notes, *_notes(fitted, given, converged=converged)),
    )


def _check_model(model: str, table: Responses) -> None:
    wanted = "2pl" if table.kind == "binary" else "graded"
    if not (is_auto(model) or model == wanted):
        raise InputError(
            f"model is {model!r:.60}, but for {table.kind} responses several dimensions use "
            f"{wanted!r}. Leave it out, or give 'auto'."
        )


def _penalty(priors: str | None, n_respondents: int) -> Penalty:
    if priors is None:
        return Penalty()
    one_of(priors, "priors", ("default",))
    return FEW_PENALTY if n_respondents < MANY_RESPONDENTS else MANY_PENALTY
