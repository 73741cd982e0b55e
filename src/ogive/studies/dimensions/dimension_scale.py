"""Abilities of several dimensions behind one table, and whether they are worth their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from ogive.arguments import checked_share, one_of, whole_number
from ogive.errors import InputError
from ogive.estimation.chosen_models import is_auto
from ogive.estimation.dimension_climb import Pull
from ogive.estimation.several_dimensions import FittedDimensions, fit_dimensions
from ogive.models import AUTO
from ogive.numerics.arrays import workers
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.results import Draw, Result
from ogive.studies.dimensions.dimension_frames import (
    abilities_frame,
    comparison_frame,
    correlations_frame,
    loadings_frame,
    thresholds_frame,
)
from ogive.studies.dimensions.dimension_remarks import remarks
from ogive.studies.dimensions.held_out_cells import HeldOut, compare_held_out
from ogive.studies.dimensions.item_dimensions import ItemDimensions, item_dimensions
from ogive.words import with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["DimensionScale", "dimension_scale"]

Structure = Literal["correlated", "bifactor"]
FIGURES = ("abilities", "loadings", "correlations")
FEW = 500  # respondents below which loadings are drawn to their mean more strongly
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
        """One row per item and dimension."""
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
        from ogive.displays import DISPLAYS, HeatMapDisplay, RankingDisplay

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
    return FEW_PULL if n_respondents < FEW else MANY_PULL


def _result(
    table: Responses,
    read: ItemDimensions,
    found: FittedDimensions,
    held: HeldOut | None,
    structure: str,
    confidence: float,
) -> DimensionScale:
    """Frames, criteria and notes."""
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
