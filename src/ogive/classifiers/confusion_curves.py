"""Look inside the confusion matrix: which items lie in each cell, and what they are like.

Two models of equal accuracy may be right on different items: on items that able models get right,
or on items that able models get wrong. The scores are those of Cardoso et al. (2024).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd

from ogive._validation import one_of, whole_number
from ogive.checks.residuals import informative, upright_items
from ogive.classifiers.predictions import (
    MEASURES,
    PARAMETERS,
    Measured,
    Predictions,
    cell_rows,
    code_of,
    measure,
    positive_code,
    read_predictions,
    remarks_on,
)
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.expected_scores import total_scores, true_scores
from ogive.irt.item_curves import told_parameters
from ogive.results.base import Draw, Result, picked
from ogive.results.numbers import counted, listed
from ogive.results.plots.figure import Display
from ogive.stats.array_backend import Floats

__all__ = ["ConfusionCurves", "enrich_confusion"]

CURVE_POINTS = 61
CURVE_REACH = 4.0  # population standard deviations on each side of a curve's abscissa
MOST_FIGURES = 3  # figures of single models on a page
FEWEST_RANKED = 3  # models; two rankings of two are the same or opposite, which says nothing
LABELS_ALONE = (
    "auc comes from labels alone, without probabilities: it is the mean of recall and specificity "
    "(balanced accuracy). Give scores for the area under the ROC curve."
)


@dataclass(frozen=True, eq=False, repr=False)
class ConfusionCurves(Result):
    """Models compared by all measures, and the items in each cell of their confusion matrices.

    `measures` has one row per model, `cells` one row per model and cell, `items` one row per item.
    Ranges cover 95 % of resampled tests: items are resampled and ability is estimated again, while
    item parameters stay fixed. Ranges of ranks follow from the pairs that differ significantly.
    """

    calibration: Calibration
    predictions: Predictions
    positive: str | None  # the positive class, if there are two
    ability: Floats  # (n_models,), as all that follow
    ability_se: Floats
    true_score: Floats
    total_score: Floats
    measured: Measured
    n_resamples: int
    random_state: int
    chosen: bool = False  # whether items were left out because of responses to them
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the models."""
        return self.predictions.models

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return self.predictions.classes

    @cached_property
    def measures(self) -> pd.DataFrame:
        """One row per model: ability, scores and metrics, each with its range and rank."""
        columns: dict[str, Any] = {
            "ability": self.ability,
            "ability_se": self.ability_se,
            "true_score_sum": self.true_score,
            "total_score_sum": self.total_score,
        }
        for k, name in enumerate(MEASURES):
            columns[name] = self.measured.value[k]
            for suffix in ("low", "high", "rank", "rank_low", "rank_high"):
                columns[f"{name}_{suffix}"] = getattr(self.measured, suffix)[k]
        return pd.DataFrame(columns, index=pd.Index(self.models, name="model"))

    def scores(self) -> pd.DataFrame:
        """Return measures × models, as `compare_ranks` takes them."""
        frame = pd.DataFrame(
            self.measured.value, index=pd.Index(MEASURES, name="measure"), columns=list(self.models)
        )
        return frame.dropna()

    def agreement(self) -> pd.DataFrame:
        """Return how similarly two measures rank the models: Kendall's tau-b and its 95 % range."""
        return self.measured.agreement()

    @cached_property
    def items(self) -> pd.DataFrame:
        """One row per item: its class, whether that is the majority class, and its parameters."""
        true = self.predictions.true
        counts = np.bincount(true, minlength=len(self.classes))
        majority = counts == counts.max()
        frame = self.calibration.items
        frame.insert(0, "class", np.array(self.classes, dtype=object)[true])
        frame.insert(1, "size", np.where(majority[true], "majority", "minority"))
        return frame

    @cached_property
    def cells(self) -> pd.DataFrame:
        """One row per model and cell: number of items, their mean parameters, and total score.

        Parameters, information and the share of negative discrimination are means over informative
        items; `chance` is the model's mean probability of being right over all items of the cell.
        """
        known = (self.calibration, self.predictions, self._code)
        return pd.DataFrame(
            row for k, ability in enumerate(self.ability) for row in cell_rows(*known, k, ability)
        )

    def without_negative(self) -> ConfusionCurves:
        """Return the result without items of negative discrimination, also in the abilities.

        Items that all of the pool got right, or all got wrong, are kept. Items are left out because
        of who got them wrong, so the result describes the models on the rest, but tests nothing.
        """
        keep = np.flatnonzero(upright_items(self.calibration))
        if not keep.size:
            raise InputError("All items discriminate negatively, so none would be left.")
        items = self.predictions.of_items(keep)
        bank = self.calibration.of_items(items.items)
        return _enriched(bank, items, self._code, self.n_resamples, self.random_state, chosen=True)

    def one_vs_rest(self, label: object, scores: Any = None) -> ConfusionCurves:
        """Return one class against all others: TP, FP, FN and TN of this class.

        Right and wrong, and so ability and scores, still refer to all classes. `scores` are those
        of this class, in the form of predictions, for the area under its ROC curve.
        """
        given = self.predictions.against_the_rest(code_of(label, self.classes), scores)
        settings = (self.n_resamples, self.random_state)
        return _enriched(self.calibration, given, 1, *settings, chosen=self.chosen)

    def to_frame(self) -> pd.DataFrame:
        """Return the models, the most accurate first."""
        return self.measures.sort_values("accuracy", ascending=False, kind="stable")

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells, items, and how alike measures rank the models."""
        cells = self.cells.assign(items=[" ".join(names) for names in self.cells["items"]])
        tables = {"models": self.to_frame(), "cells": cells, "items": self.items}
        several = len(self.models) >= FEWEST_RANKED
        return tables | ({"agreement": self.agreement()} if several else {})

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return the tables, without the names of the items in each cell."""
        tables = self.tables()
        tables["cells"] = tables["cells"].drop(columns="items")
        tables["items"] = told_parameters(self.items)
        return picked(tables, "models", "cells", "agreement", "items")

    def figures(self) -> dict[str, Draw]:
        """Return total scores, the cells of each model, and the parameters of items."""
        figures: dict[str, Draw] = {"scores": partial(self.plot, "scores")}
        for model in self.to_frame().index:
            figures[f"cells_{model}"] = partial(self.plot, "cells", str(model))
        if informative(self.calibration).any():
            for value in PARAMETERS:
                figures[value] = partial(self.plot, "histogram", value=value)
            for space in ("projections", "3d"):
                figures[f"items_{space}"] = partial(self.plot, "items", space=space)
        return figures

    def page_figures(self) -> dict[str, Draw]:
        """Return the cells of a few models, total scores, and difficulty by class."""
        first = [f"cells_{model}" for model in self.to_frame().index[:MOST_FIGURES]]
        return picked(self.figures(), *first, "scores", "difficulty")

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {"items": self.calibration}

    def plot(self, kind: str = "cells", model: str | None = None, **kw: Any) -> Display:
        """Draw the curves of the items in each cell of one model, or another figure.

        "scores" shows the models by total score; "histogram" a parameter of the items by class
        (`value="difficulty"`); "items" their parameters against each other, with `space="3d"` in
        three dimensions.
        """
        from ogive.results.plots.confusion_curves import CellCurvesDisplay
        from ogive.results.plots.distributions import HistogramDisplay
        from ogive.results.plots.item_planes import ItemSpaceDisplay
        from ogive.results.plots.rankings import RankingDisplay

        one_of(kind, "kind", ("cells", "scores", "histogram", "items"))
        if kind == "cells":
            k = self._index(model)
            name = self.models[k]
            return CellCurvesDisplay(
                self.curves_of(name),
                ability=float(self.ability[k]),
                ability_se=float(self.ability_se[k]),
                cells=self.cells[self.cells["model"] == name],
            ).plot(**kw)
        if kind == "scores":
            se = "standard error over items"
            spread = (self.measured.high[-1] - self.measured.low[-1]) / (2 * 1.96)
            frame = self.measures.assign(**{se: spread})
            return RankingDisplay(frame, estimate="total_score", se=se).plot(**kw)
        items = self.items[informative(self.calibration)]  # parameters of others mean nothing
        if kind == "histogram":
            value = kw.pop("value", "difficulty")
            return HistogramDisplay(items, value=value, group="class").plot(**kw)
        space = kw.pop("space", "projections")
        return ItemSpaceDisplay(items, group="class", kind=space).plot(**kw)

    @property
    def _code(self) -> int | None:
        """The code of the positive class, if there are two."""
        return None if self.positive is None else positive_code(self.positive, self.classes)

    def curves_of(self, model: str | None = None) -> pd.DataFrame:
        """Return one row per item and ability: the curve of each item, and its cell.

        Classes are in the order of the figure, the positive first.
        """
        given, bank, coords = self.predictions, self.calibration.model, self.calibration.coords
        axis = np.linspace(*self.calibration.population.reach(CURVE_REACH), CURVE_POINTS)
        item = np.repeat(np.arange(len(given.items)), CURVE_POINTS)
        codes = np.arange(len(given.classes))
        order = np.argsort(codes != (-1 if self._code is None else self._code), kind="stable")
        position, names = np.argsort(order), pd.Index([given.classes[code] for code in order])
        slope = bank.parameters(coords)["discrimination"]
        slope = np.where(informative(self.calibration), slope, np.nan)  # of others meaningless
        predicted = given.predicted[self._index(model)]
        return pd.DataFrame(
            {
                "true": pd.Categorical.from_codes(position[given.true][item], names),
                "predicted": pd.Categorical.from_codes(position[predicted][item], names),
                "item": pd.Categorical.from_codes(item, pd.Index(given.items)),
                "ability": np.tile(axis, len(given.items)),
                "expected": bank.expected(coords, axis).ravel(),
                "discrimination": slope[item],
            }
        )

    def _index(self, model: str | None) -> int:
        if model is None and len(self.models) == 1:
            return 0
        return self.models.index(one_of(model, "model", self.models))

    @property
    def meaning(self) -> str:
        """Who leads by accuracy and by total score, and how many others may be as good."""
        items = counted(len(self.predictions.items), "item")
        untested = (
            "; who is better is not tested here, for the items were chosen by who got them wrong"
        )
        return (
            f"On {items}, by accuracy {self._leaders('accuracy')}; by total score "
            f"{self._leaders('total_score')}{untested if self.chosen else ''}."
        )

    def _leaders(self, name: str) -> str:
        """Say who ranks first, and how many others may be as good on other items.

        These are all whose range of ranks includes 1: no model is significantly better.
        """
        k = MEASURES.index(name)
        rank, value = self.measured.rank[k], self.measured.value[k]
        first = [self.models[j] for j in np.flatnonzero(rank == 1)]
        one = len(first) == 1
        who = first[0] if one else listed(first, "model")
        highest = f"{float(np.nanmax(value)):.3f}"
        if self.chosen:
            return f"{who} {'has' if one else 'have'} the highest value ({highest})"
        near = int(((self.measured.rank_low[k] == 1) & (rank != 1)).sum())
        others = f"; {counted(near, 'other')} may be as good" if near else ""
        return f"{who} {'leads' if one else 'lead'} ({highest}{others})"


def enrich_confusion(
    calibration: Calibration,
    y_true: Any,
    predictions: Any,
    *,
    positive: object = None,
    classes: Iterable[object] | None = None,
    scores: Any = None,
    n_resamples: int = 1000,
    random_state: int = 0,
) -> ConfusionCurves:
    """Sort the items of a calibration into the cells of each model's confusion matrix.

    The frame has one row per model: ability, and accuracy, f1, precision, recall, auc, true and
    total score, each with its range and rank. After Cardoso et al. (2024).

    Parameters
    ----------
    calibration
        Items calibrated on the responses of a pool of models; see `calibrate`.
    y_true
        The class of each item: a list in their order, or a Series whose index names them.
    predictions
        What each model predicts: a mapping from names to lists or Series, a frame with one column
        per model, or the labels of one model.
    positive
        The positive one of two classes; by default, the last in numerical or alphabetical order
        (1, "yes", "present"). With more classes, metrics are means over one class against the rest.
    classes
        Labels that may occur in addition to those in `y_true`.
    scores
        Probabilities or decision values of the positive class, in the form of `predictions`, for
        the area under the ROC curve. By default, it is computed from the labels: the mean of
        recall and specificity.
    n_resamples, random_state
        Number of resamples of the items behind ranges and ranks, and their seed.

    Examples
    --------
    >>> import ogive as og
    >>> bank = og.calibrate(og.simulate("2pl", 200, 6, random_state=0).responses, "2pl")
    >>> labels = ["no", "no", "no", "yes", "yes", "yes"]
    >>> found = og.enrich_confusion(bank, labels, {"bold": ["yes"] * 6}, n_resamples=20)
    >>> found.to_frame()[["accuracy", "recall"]].to_numpy().tolist()
    [[0.5, 1.0]]
    """
    if calibration.model.kind != "binary":
        raise InputError(
            f"The calibration uses the {calibration.model.name} model, but a confusion matrix "
            "needs right and wrong. Calibrate responses of 0 and 1."
        )
    n_resamples = whole_number(n_resamples, "n_resamples", 1)
    given = read_predictions(calibration.item_names, y_true, predictions, classes, scores)
    code = positive_code(positive, given.classes)
    if scores is not None and code is None:
        raise InputError(
            f"scores belong to one positive class, but there are {len(given.classes)} classes. "
            "Leave them out, and give them to one_vs_rest(label, scores) of the result."
        )
    return _enriched(calibration, given, code, n_resamples, random_state)


def _enriched(
    calibration: Calibration,
    given: Predictions,
    positive: int | None,
    n_resamples: int,
    random_state: int,
    *,
    chosen: bool = False,
) -> ConfusionCurves:
    """Score the models and compute all measures."""
    responses = Responses.from_codes(given.right, list(given.models), list(given.items), "binary")
    scored = calibration.score(responses)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    model, coords = calibration.model, calibration.coords
    expected = true_scores(model, coords, ability, se)
    earned = total_scores(given.right, model, coords, ability, se)
    measured = measure(
        given,
        calibration,
        ability,
        se,
        exact=np.stack([expected.total, earned.total]) / len(given.items),
        positive=positive,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    return ConfusionCurves(
        calibration=calibration,
        predictions=given,
        positive=None if positive is None else given.classes[positive],
        ability=ability,
        ability_se=se,
        true_score=expected.total,
        total_score=earned.total,
        measured=measured,
        n_resamples=n_resamples,
        random_state=random_state,
        chosen=chosen,
        notes=(*remarks_on(given), *([LABELS_ALONE] if given.scores is None else [])),
    )
