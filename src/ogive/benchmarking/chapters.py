"""A decoded benchmark analysed further: tournament, ranks, subsets, choice, metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from ogive.benchmarking import CHANCE, ORDERS, SCORES
from ogive.benchmarking.dataset_choice import choose_datasets
from ogive.benchmarking.decoder import BenchmarkDecoding
from ogive.benchmarking.friedman_test import compare_ranks
from ogive.benchmarking.glicko_tournament import tournament
from ogive.benchmarking.metadata import MetadataBins, probability_by_metadata, relate_metadata
from ogive.benchmarking.subsets import compare_subsets
from ogive.checks.residuals import informative, upright_items
from ogive.difficulty.characteristic_curves import characteristic_curves
from ogive.errors import InputError
from ogive.reporting.exports import Contents
from ogive.results.base import Draw, Result, gathered

if TYPE_CHECKING:
    import pandas as pd

    from ogive.benchmarking.friedman_test import RankComparison
    from ogive.benchmarking.glicko_tournament import Tournament
    from ogive.results.plots.figure import Display


Ranking = TypeVar("Ranking", "RankComparison", "Tournament")
MOST_BINS, ITEMS_A_BIN = 10, 10  # of characteristic curves
UNIT = "data set"  # a column of the scores
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
BINS, DATASETS_A_BIN = 6, 5  # by a metadatum; the mean of fewer data sets says nothing


class Chapters(NamedTuple):
    """The results of all chapters by name, and why some are missing."""

    decoding: BenchmarkDecoding
    found: dict[str, Result]
    missing: dict[str, str]

    @property
    def sentences(self) -> dict[str, list[str]]:
        """The meaning and notes of each chapter, the decoding first."""
        return {
            name: each.sentences()
            for name, each in ({"decoding": self.decoding} | self.found).items()
        }

    def contents(self) -> Contents:
        """Return the tables, item banks and figures of all chapters, for `write_folder`."""
        return Contents(
            tables=_tables(self),
            figures=_figures(self),
            banks=self.decoding.banks(),
            sentences=self.sentences,
            meaning=self.decoding.meaning,
            notes=self.decoding.notes,
            missing=self.missing,
            failures={"failures": dict(self.decoding.failures)},
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
    if order not in ORDERS:
        raise InputError(f"order is {order!r}, but it should be one of {', '.join(ORDERS)}.")
    datasets = decoding.datasets.dropna(subset=["difficulty_mean", *filter(None, ORDERS.values())])
    scores, column = decoding.scores(score)[list(datasets.index)], ORDERS[order]
    played = None if column is None else datasets[column] * (-1 if column == CHANCE else 1)
    games, decided = {"tolerance": tolerance, "tau": tau}, _decided(decoding, score, datasets.index)
    works: dict[str, Callable[[], Result]] = {
        "tournament": lambda: _with_notes(
            tournament(scores, order=played, unit=UNIT, **games), decided
        ),
        "ranks": lambda: _with_notes(compare_ranks(scores, unit=UNIT), [*decided, BY_RANKS]),
        "subsets": partial(compare_subsets, scores, datasets, **games),
        "choice": partial(
            choose_datasets, scores, size, tolerance=tolerance, random_state=random_state
        ),
    }
    if len(decoding.metadata):
        works["metadata"] = partial(relate_metadata, datasets, decoding.metadata)
    few = {
        name: f"It needs at least {least} data sets with a difficulty; here: {len(datasets)}."
        for name, least in LEAST_DATASETS.items()
        if name in works and len(datasets) < least
    }
    if len(decoding.metadata) and len(decoding.metadata) < 2 * DATASETS_A_BIN:
        few["chance by metadata"] = (
            f"It needs at least {2 * DATASETS_A_BIN} data sets, {DATASETS_A_BIN} in each bin; "
            f"here: {len(decoding.metadata)}."
        )
    found, missing = gathered({name: work for name, work in works.items() if name not in few})
    return Chapters(decoding, found, few | missing)


def _decided(decoding: BenchmarkDecoding, score: str, datasets: pd.Index) -> list[str]:
    """Return what is compared, if it is not accuracy, and who is first by that."""
    if score not in SCORED or len(datasets) < LEAST_DATASETS["ranks"]:
        return []
    by_accuracy = compare_ranks(decoding.scores("accuracy")[list(datasets)], unit=UNIT).to_frame()
    first, rank = by_accuracy["mean_rank"].idxmin(), by_accuracy["mean_rank"].min()
    note = (
        f"Compared are {SCORED[score]}, which depend on the respondents that give the scale its "
        f"direction, not accuracies. By accuracy, {first} has the best mean rank ({rank:.2f})."
    )
    return [note]


def _with_notes(found: Ranking, notes: Sequence[str]) -> Ranking:
    """Return the same result, which says more."""
    return replace(found, notes=(*notes, *found.notes))


def _tables(chapters: Chapters) -> dict[str, pd.DataFrame]:
    found = chapters.decoding.tables()
    for finding in chapters.found.values():
        found |= finding.tables()
    if by_metadata := dict(_by_metadata(chapters.decoding)):
        frames = [each.to_frame().assign(metadatum=name) for name, each in by_metadata.items()]
        import pandas as pd

        found["chance_by_metadata"] = pd.concat(frames, ignore_index=True)
    return found


def _figures(chapters: Chapters) -> dict[str, Draw]:
    decoding = chapters.decoding
    found = decoding.figures()
    for finding in chapters.found.values():
        found |= finding.figures()
    for name, bins in _by_metadata(decoding):
        found[f"chance_by_{name}"] = bins.plot
    for name, calibration in decoding.calibrations.items():
        if (upright_items(calibration) & informative(calibration)).sum() >= 2 * ITEMS_A_BIN:
            found[f"{name}_characteristic"] = partial(_characteristic, decoding, name)
    return found


def _by_metadata(decoding: BenchmarkDecoding) -> Iterator[tuple[str, MetadataBins]]:
    """Yield the probability of a correct response by each metadatum that varies."""
    n_bins = min(BINS, len(decoding.metadata) // DATASETS_A_BIN)
    if n_bins < 2:
        return
    for name, values in decoding.metadata.items():
        if values.min() == values.max():
            continue
        yield (
            str(name),
            probability_by_metadata(
                decoding.datasets, decoding.classifiers, decoding.metadata, str(name), bins=n_bins
            ),
        )


def _characteristic(decoding: BenchmarkDecoding, name: str) -> Display:
    """Draw the share right by difficulty, without items of negative discrimination."""
    calibration = decoding.calibrations[name]
    usable = np.flatnonzero(upright_items(calibration) & informative(calibration))
    names = [calibration.item_names[k] for k in usable]
    bins = max(2, min(MOST_BINS, len(names) // ITEMS_A_BIN))
    responses = decoding.responses[name].select(items=names)
    return characteristic_curves(responses, calibration=calibration, bins=bins).plot()
