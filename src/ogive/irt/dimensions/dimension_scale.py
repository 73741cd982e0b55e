"""Dimension_scale: result, tables, held-out comparison.

Whether several dimensions predict answers better than one: by cells that were held out.

Tables of what several dimensions found, with standard errors and intervals.

What a reader of several dimensions should know besides the tables.

Abilities of several dimensions behind one table, and whether they are worth their numbers.
"""

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
from ogive.irt.dimensions.adaptive_quadrature import MOST_EXACT
from ogive.irt.dimensions.loading_pattern import ItemDimensions, item_dimensions
from ogive.irt.dimensions.marginal_newton import (
    DimensionFit,
    Pull,
    climb,
    first_place,
    posterior_modes,
)
from ogive.irt.dimensions.standard_errors import (
    FittedDimensions,
    fit_dimensions,
    held_out_scores,
    one_dimension,
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


LEAST_CELLS = 2  # answers that a respondent keeps


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Mean log score of a held-out answer, by several dimensions and by one, and the difference."""

    several: float
    one: float
    se: float  # of the difference
    n_cells: int
    converged: bool  # whether all fits that predict came to an end

    @property
    def difference(self) -> float:
        """How much better several dimensions predict."""
        return self.several - self.one


def compare_held_out(
    found: FittedDimensions,
    cv: int,
    random_state: int,
    run: Run,
    report: Callable[[int, int, str], None],
) -> HeldOut:
    """Fit both on all folds but one, and score the answers of that one."""
    codes, pattern, pull = found.fit.table.codes, found.fit.pattern, found.fit.pull
    single = one_dimension(pattern)
    start = first_place(codes, single)
    one = climb(codes, single, pull, run, (start, posterior_modes(codes, single, start)))
    folds = _folds(codes, cv, random_state)
    scores = [np.zeros(codes.shape), np.zeros(codes.shape)]
    converged = found.fit.converged and one.converged
    for fold in range(cv):
        report(fold + 1, cv + 1, "held-out answers")
        held = folds == fold
        if not held.any():
            continue
        seen = np.where(held, -1, codes).astype(np.int16)
        for k, fit in enumerate((found.fit, one)):
            again = _again(fit, seen, run)
            converged = converged and again.converged
            scores[k][held] = held_out_scores(again, codes, held, run)
    told = folds >= 0
    apart = np.where(told, scores[0] - scores[1], 0.0)
    return HeldOut(
        several=float(scores[0][told].mean()),
        one=float(scores[1][told].mean()),
        se=_two_way_error(apart, told),
        n_cells=int(told.sum()),
        converged=converged,
    )


def _again(fit: DimensionFit, codes: NDArray[np.int16], run: Run) -> DimensionFit:
    """Return the same model for fewer answers, beginning where all of them led."""
    around = posterior_modes(codes, fit.pattern, fit.place)
    return climb(codes, fit.pattern, fit.pull, run, (fit.place, around), quickly=True)


def _folds(codes: NDArray[np.int16], cv: int, random_state: int) -> NDArray[np.intp]:
    """The fold of each answer, about equally many of each respondent; -1 where none was given."""
    random = np.random.default_rng(random_state)
    folds = np.full(codes.shape, -1, dtype=np.intp)
    for row, answers in zip(folds, codes, strict=True):
        asked = np.flatnonzero(answers >= 0)
        if asked.size >= LEAST_CELLS:
            row[random.permutation(asked)] = (np.arange(asked.size) + random.integers(cv)) % cv
    return folds


def _two_way_error(apart: Floats, told: NDArray[np.bool_]) -> float:
    """Standard error of the mean difference; answers of a respondent, or to an item, go together.

    Cameron, Gelbach and Miller (2011): variance by respondents plus by items, less by cells.
    """
    away = np.where(told, apart - apart[told].mean(), 0.0)
    parts = []
    for axis in (1, 0):
        sums = away.sum(axis=axis)[told.any(axis=axis)]
        parts.append(float((sums**2).sum()) * sums.size / max(sums.size - 1, 1))
    cells = float((away**2).sum())
    return float(np.sqrt(max(parts[0] + parts[1] - cells, *parts))) / int(told.sum())


def loadings_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """Return one row per item and dimension."""
    import pandas as pd

    item, dimension = np.nonzero(read.pattern.free)
    columns = {
        "item": [read.items[k] for k in item],
        "dimension": [read.names[k] for k in dimension],
        **_with_interval(
            "loading",
            found.place.loadings[item, dimension],
            found.errors().loadings[item, dimension],
            confidence,
        ),
    }
    return pd.DataFrame(columns)


def thresholds_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """Return one row per item and threshold: the log-odds of more than that, at abilities of 0."""
    import pandas as pd

    item, step = np.nonzero(read.pattern.of_thresholds >= 0)
    columns = {
        "item": [read.items[k] for k in item],
        "step": step + 1,
        **_with_interval(
            "threshold",
            found.place.thresholds[item, step],
            found.errors().thresholds[item, step],
            confidence,
        ),
    }
    return pd.DataFrame(columns)


def correlations_frame(
    found: FittedDimensions, read: ItemDimensions, confidence: float
) -> pd.DataFrame:
    """Return one row per pair of dimensions; intervals by Fisher's transformation."""
    import pandas as pd

    left, right = read.pattern.pairs
    value, error = found.place.correlation[left, right], found.errors().correlation[left, right]
    reach = normal_reach(confidence) * error / np.maximum(1 - value**2, 1e-6)
    middle = np.arctanh(np.clip(value, -1 + 1e-9, 1 - 1e-9))
    columns = {
        "dimension": [read.names[k] for k in left],
        "other": [read.names[k] for k in right],
        "correlation": value,
        "se": error,
        "low": np.tanh(middle - reach),
        "high": np.tanh(middle + reach),
    }
    return pd.DataFrame(columns)


def abilities_frame(
    found: FittedDimensions,
    read: ItemDimensions,
    respondents: tuple[str, ...],
    confidence: float,
) -> pd.DataFrame:
    """Return one row per respondent and dimension."""
    import pandas as pd

    asked = (read.codes >= 0).astype(int) @ read.pattern.free.astype(int)
    columns = {
        "respondent": np.repeat(np.array(respondents, dtype=object), len(read.names)),
        "dimension": list(read.names) * len(respondents),
        **_with_interval("ability", found.ability.ravel(), found.ability_se.ravel(), confidence),
        "n_items": asked.ravel(),
    }
    return pd.DataFrame(columns)


def comparison_frame(held: HeldOut | None, confidence: float) -> pd.DataFrame:
    """Mean log scores of held-out answers, and their difference; no row if nothing was held out."""
    import pandas as pd

    columns = ["log_score", "se", "low", "high", "n_cells"]
    if held is None:
        return pd.DataFrame(columns=columns, dtype=float).rename_axis("dimensions")
    value, reach, nothing = held.difference, normal_reach(confidence) * held.se, float("nan")
    rows = {
        "several": (held.several, nothing, nothing, nothing, held.n_cells),
        "one": (held.one, nothing, nothing, nothing, held.n_cells),
        "difference": (value, held.se, value - reach, value + reach, held.n_cells),
    }
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return frame.rename_axis("dimensions")


def _with_interval(name: str, value: Floats, error: Floats, confidence: float) -> dict[str, Floats]:
    reach = normal_reach(confidence) * error
    return {name: value, "se": error, "low": value - reach, "high": value + reach}


CONFIDENCE = 0.95  # of the intervals of correlations
NEAR_ONE = 0.98  # a correlation whose estimate alone suggests one dimension
INEXACT = 0.05  # nats
FEW = 50  # respondents
MOST_PAIRS = 3  # named


def remarks(found: FittedDimensions, read: ItemDimensions, *, converged: bool) -> Iterator[str]:
    """Notes on how far the figures can be trusted; `converged` is of all fits, folds included."""
    n_respondents = len(read.codes)
    if not found.fit.converged:
        yield "The fit did not converge: loadings and correlations may be inaccurate."
    if n_respondents < FEW:
        yield (
            f"{counted(n_respondents, 'respondent')} say little about single loadings: they are "
            "drawn to the mean of their dimension, and intervals count that."
        )
    yield from _on_pairs(correlations_frame(found, read, CONFIDENCE), converged=converged)
    if read.pattern.correlated and len(read.names) > MOST_EXACT:
        yield (
            f"Integrals over {len(read.names)} correlated dimensions use quasi-random nodes; with "
            f"other nodes the log-likelihood differs by {found.fit.integral_error:.2g}."
        )
    elif found.fit.integral_error > INEXACT:
        yield (
            "Integrals are not exact to 0.05 nats: an item is so steep that its curve is a step. "
            f"A finer grid changes the log-likelihood by {found.fit.integral_error:.2g}."
        )
    yield from _on_backward(found, read)


def _on_pairs(pairs: pd.DataFrame, *, converged: bool) -> Iterator[str]:
    """Which dimensions are surely one, by the rule of task_scales, and which only look like it."""
    size = pairs["correlation"].abs()
    least = np.where(pairs["correlation"] < 0, -pairs["high"], pairs["low"])
    sure = (size >= SAME) & (least >= SURELY_SAME) & converged
    if sure.any():
        both = "both" if sure.sum() == 1 else "each pair"
        yield f"{_named(pairs[sure])}, so one dimension would do for {both}."
    open_pairs = (size >= NEAR_ONE) & ~sure
    if open_pairs.any():
        why = f"the interval would have to lie beyond {SURELY_SAME:.2f}"
        why = why if converged else "not all fits converged"
        yield (
            f"By the estimate, {_named(pairs[open_pairs])}, but that these are one dimension is "
            f"not shown: {why}."
        )


def _named(pairs: pd.DataFrame) -> str:
    """Return the first pairs, with their correlations and intervals."""
    told = [
        f"{row.dimension} and {row.other} correlate {row.correlation:.2f} "
        f"({row.low:.2f} to {row.high:.2f})"
        for row in pairs.head(MOST_PAIRS).itertuples(index=False)
    ]
    left = len(pairs) - len(told)
    return "; ".join([*told, *([f"likewise {counted(left, 'other pair')}"] if left else [])])


def _on_backward(found: FittedDimensions, read: ItemDimensions) -> Iterator[str]:
    """Items on which better respondents answer worse, by the rule of item_health; and who may be.

    Of a bifactor structure, it is the general ability that counts.
    """
    from scipy.special import ndtr

    counts = read.pattern.free.copy()
    if not read.pattern.correlated:
        counts[:, 1:] = False
    slope, se = found.place.loadings[counts], found.errors().loadings[counts]
    known = (se > 0) & found.fit.converged
    z = np.divide(slope, se, out=np.full(slope.shape, np.nan), where=known)
    item, sure = np.nonzero(counts)[0], benjamini_hochberg(ndtr(z)) < ALPHA
    surely = dict.fromkeys(read.items[k] for k in item[sure])
    maybe = dict.fromkeys(read.items[k] for k in item[slope < 0] if read.items[k] not in surely)
    if surely:
        yield f"Better respondents answer worse: {listed(list(surely), 'item')}."
    if maybe:
        why = "not significantly" if surely else "none significantly"
        why = why if found.fit.converged else "but the fit did not converge"
        yield f"Loadings estimated below zero, {why}: {listed(list(maybe), 'item')}."


Structure = Literal["correlated", "bifactor"]
FIGURES = ("abilities", "loadings", "correlations")
DIMENSION_SCALE_FEW = 500  # respondents below which loadings are drawn to their mean more strongly
FEW_PULL = Pull(loading=0.5, threshold=5.0, correlation=0.5)
MANY_PULL = Pull(loading=2.0, threshold=5.0, correlation=0.5)
OF_GIVEN = (
    "This asks for the dimensions that were given; `dimensionality` asks how many show when nobody "
    "says which items belong together, and sees less."
)


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
        """Whether several dimensions surely predict held-out answers better than one."""
        return self.converged and self._difference[1] > 0

    @property
    def _difference(self) -> tuple[float, float, float]:
        """Difference of the log scores and its interval; NaN where it was not asked for."""
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
        found = pd.DataFrame(whole, index=names, columns=names)
        return found.rename_axis("dimension")


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
    read = item_dimensions(table, dimensions, structure)
    pull = _pull(priors, table.n_respondents)
    with telling(progress, "Several dimensions") as report, workers() as run:
        report(0, (cv or 0) + 1, "all answers")
        found = fit_dimensions(read.codes, read.pattern, pull, run)
        held = None if cv is None else compare_held_out(found, cv, random_state, run, report)
    return _result(table, read, found, held, structure, confidence)


def _check_model(model: str, table: Responses) -> None:
    wanted = "2pl" if table.kind == "binary" else "graded"
    if not (is_auto(model) or model == wanted):
        raise InputError(
            f"model is {model!r:.60}, but for {table.kind} responses several dimensions use "
            f"{wanted!r}. Leave it out, or give 'auto'."
        )


def _pull(priors: str | None, n_respondents: int) -> Pull:
    if priors is None:
        return Pull()
    one_of(priors, "priors", ("default",))
    return FEW_PULL if n_respondents < DIMENSION_SCALE_FEW else MANY_PULL


def _result(
    table: Responses,
    read: ItemDimensions,
    found: FittedDimensions,
    held: HeldOut | None,
    structure: str,
    confidence: float,
) -> DimensionScale:
    """Return frames, criteria and notes."""
    size, value = read.pattern.size, found.fit.log_likelihood
    converged = found.fit.converged if held is None else held.converged
    return DimensionScale(
        dimensions=read.names,
        structure=structure,
        loadings=loadings_frame(found, read, confidence),
        thresholds=thresholds_frame(found, read, confidence),
        correlations=correlations_frame(found, read, confidence),
        abilities=abilities_frame(found, read, table.respondents, confidence),
        comparison=comparison_frame(held, confidence),
        log_likelihood=value,
        aic=2 * size - 2 * value,
        bic=size * float(np.log(table.n_respondents)) - 2 * value,
        n_parameters=size,
        confidence=confidence,
        converged=converged,
        notes=(*read.notes, *remarks(found, read, converged=converged)),
    )
