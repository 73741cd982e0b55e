"""A decoded benchmark analysed further: tournament, ranks, subsets, choice, metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple, TypeVar

import numpy as np
import pandas as pd

from ogive._validation import one_of
from ogive.benchmarking import CHANCE, ORDERS, SCORES
from ogive.benchmarking.dataset_choice import choose_datasets
from ogive.benchmarking.decoder import BenchmarkDecoding
from ogive.benchmarking.glicko_tournament import Tournament, tournament
from ogive.benchmarking.metadata import MetadataBins, probability_by_metadata, relate_metadata
from ogive.benchmarking.subsets import compare_subsets
from ogive.checks.friedman_test import RankComparison, compare_ranks
from ogive.checks.residuals import informative, upright_items
from ogive.difficulty.characteristic_curves import characteristic_curves
from ogive.reporting.exports import Contents
from ogive.results.base import Draw, Result, gathered
from ogive.results.plots.figure import Display

Ranking = TypeVar("Ranking", RankComparison, Tournament)
MOST_BINS, ITEMS_A_BIN = 10, 10  # number of bins, and items per bin, of characteristic curves
UNIT = "data set"  # what a column of the scores is called in sentences
BY_RANKS = (
    "Two differ here by their mean ranks, which count how many others lie between them. A "
    "tournament tests two by their own games alone, and may not distinguish those that differ here."
)
SCORED = {
    "true_score_positive": "true scores without the instances of negative discrimination",
    "true_score": "true scores",
    "ability": "abilities",
}
LEAST_DATASETS = {"ranks": 2, "subsets": 2, "choice": 3, "metadata": 4}
BINS, DATASETS_A_BIN = 6, 5  # bins by a metadatum; the mean of fewer data sets says nothing


class Chapters(NamedTuple):
    """The results of all chapters by name, and why some are missing."""

    decoding: BenchmarkDecoding
    found: dict[str, Result]
    missing: dict[str, str]

    @property
    def sentences(self) -> dict[str, list[str]]:
        """The meaning and notes of each chapter, the decoding first."""
        results = {"decoding": self.decoding} | self.found
        return {name: result.sentences() for name, result in results.items()}

    def contents(self) -> Contents:
        """Return the tables, item banks and figures of all chapters, for `write_folder`."""
        decoding = self.decoding
        tables, figures = decoding.tables(), decoding.figures()
        for result in self.found.values():
            tables |= result.tables()
            figures |= result.figures()
        by_metadata = dict(_by_metadata(decoding))
        if by_metadata:
            frames = [bins.to_frame().assign(metadatum=name) for name, bins in by_metadata.items()]
            tables["chance_by_metadata"] = pd.concat(frames, ignore_index=True)
        figures |= {f"chance_by_{name}": bins.plot for name, bins in by_metadata.items()}
        return Contents(
            tables=tables,
            figures=figures | _characteristic_figures(decoding),
            banks=decoding.banks(),
            sentences=self.sentences,
            meaning=decoding.meaning,
            notes=decoding.notes,
            missing=self.missing,
            failures={"failures": dict(decoding.failures)},
        )


def read_benchmark(
    decoding: BenchmarkDecoding,
    *,
    order: str = "difficulty",
    score: str = SCORES[0],
    tolerance: float = 0.0,
    tau: float = 0.5,
    size: float | None = None,
    random_state: int = 0,
) -> Chapters:
    """Run all further studies of a decoded benchmark.

    `order` is that of the data sets in the tournament: by "difficulty" (the easiest first, by the
    chance of a respondent of average ability), "discrimination", "difficulty-sd" or
    "discrimination-sd", lowest first, or as "given"; `score` is
    the column of classifiers that decides the games. `size` is how many data sets to choose, or
    which share of them; by default, the fewest that are enough. Data sets on which all of the pool
    agree have no difficulty and are left out of comparisons.
    """
    column = ORDERS[one_of(order, "order", ORDERS)]
    datasets = decoding.datasets.dropna(subset=["difficulty_mean", *filter(None, ORDERS.values())])
    scores = decoding.scores(score)[list(datasets.index)]
    played = None if column is None else datasets[column] * (-1 if column == CHANCE else 1)
    games, compared = {"tolerance": tolerance, "tau": tau}, _compared(decoding, score, datasets)
    studies: dict[str, Callable[[], Result]] = {
        "tournament": lambda: _with_notes(
            tournament(scores, order=played, unit=UNIT, **games), compared
        ),
        "ranks": lambda: _with_notes(compare_ranks(scores, unit=UNIT), [*compared, BY_RANKS]),
        "subsets": partial(compare_subsets, scores, datasets, **games),
        "choice": partial(
            choose_datasets, scores, size, tolerance=tolerance, random_state=random_state
        ),
    }
    if len(decoding.metadata):
        studies["metadata"] = partial(relate_metadata, datasets, decoding.metadata)
    too_few = {
        name: f"It needs at least {least} data sets with a difficulty; here: {len(datasets)}."
        for name, least in LEAST_DATASETS.items()
        if name in studies and len(datasets) < least
    }
    if 0 < len(decoding.metadata) < 2 * DATASETS_A_BIN:
        too_few["chance by metadata"] = (
            f"It needs at least {2 * DATASETS_A_BIN} data sets, {DATASETS_A_BIN} in each bin; "
            f"here: {len(decoding.metadata)}."
        )
    results, missing = gathered({k: study for k, study in studies.items() if k not in too_few})
    return Chapters(decoding, results, too_few | missing)


def _compared(decoding: BenchmarkDecoding, score: str, datasets: pd.DataFrame) -> list[str]:
    """Return a note on what is compared, if not accuracy, and who is first by accuracy."""
    if score not in SCORED or len(datasets) < LEAST_DATASETS["ranks"]:
        return []
    by_accuracy = compare_ranks(decoding.scores("accuracy")[list(datasets.index)], unit=UNIT)
    rank = by_accuracy.to_frame()["mean_rank"]
    note = (
        f"Compared are {SCORED[score]}, which depend on the respondents that give the scale its "
        f"direction, not accuracies. By accuracy, {rank.idxmin()} has the best mean rank "
        f"({rank.min():.2f})."
    )
    return [note]


def _with_notes(result: Ranking, notes: Sequence[str]) -> Ranking:
    return replace(result, notes=(*notes, *result.notes))


def _by_metadata(decoding: BenchmarkDecoding) -> Iterator[tuple[str, MetadataBins]]:
    """Yield the probability of a correct response by each metadatum that varies."""
    metadata = decoding.metadata
    n_bins = min(BINS, len(metadata) // DATASETS_A_BIN)
    for name, values in metadata.items() if n_bins >= 2 else ():
        if values.min() != values.max():
            tables = (decoding.datasets, decoding.classifiers, metadata)
            yield str(name), probability_by_metadata(*tables, str(name), bins=n_bins)


def _characteristic_figures(decoding: BenchmarkDecoding) -> dict[str, Draw]:
    """Return the share right by difficulty, for data sets with enough items.

    Items of negative discrimination are left out.
    """

    def draw(name: str, items: list[str]) -> Display:
        bins = min(MOST_BINS, len(items) // ITEMS_A_BIN)
        table, bank = decoding.responses[name].select(items=items), decoding.calibrations[name]
        return characteristic_curves(table, calibration=bank, bins=bins).plot()

    figures: dict[str, Draw] = {}
    for name, calibration in decoding.calibrations.items():
        used = np.flatnonzero(upright_items(calibration) & informative(calibration))
        if used.size >= 2 * ITEMS_A_BIN:
            items = [calibration.item_names[k] for k in used]
            figures[f"{name}_characteristic"] = partial(draw, name, items)
    return figures
