"""A decoded benchmark read to the end: who is strongest, which part would do, what goes with what.

Studies do not know each other; here they are asked one after the other, and what they found is
laid out in a folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from itemwise.diagnostics import compare_ranks
from itemwise.diagnostics.diagnosis import informative, upright_items
from itemwise.errors import InputError
from itemwise.files import file_name_of
from itemwise.report.folder import ReportFolder
from itemwise.results import Result, gathered
from itemwise.studies import (
    BenchmarkDecoding,
    MetadataBins,
    SubsetComparison,
    Tournament,
    characteristic_curves,
    choose_datasets,
    compare_subsets,
    probability_by_metadata,
    relate_metadata,
    tournament,
)
from itemwise.studies.benchmarks import ORDERS, SCORES

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

MOST_BINS, ITEMS_A_BIN = 10, 10  # of characteristic curves
LEAST_DATASETS = {"ranks": 2, "subsets": 2, "choice": 3, "metadata": 4}
BINS = 6  # of data sets by a metadatum; fewer where there are few


class Chapters(NamedTuple):
    """What was found, by name, and why some chapters do not exist here."""

    decoding: BenchmarkDecoding
    found: dict[str, Result]
    missing: dict[str, str]

    @property
    def sentences(self) -> dict[str, list[str]]:
        """What each chapter means, with its notes; the decoding first."""
        return {
            name: each.sentences()
            for name, each in ({"decoding": self.decoding} | self.found).items()
        }


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
    """Ask a decoding all that can be asked of it.

    `order` is that of the data sets in the tournament: by "difficulty", "discrimination",
    "difficulty-deviation" or "discrimination-deviation", lowest first, or as "given"; `score` is
    the column of classifiers that decides the games. `size` is how many data sets to choose, or
    which share of them; left out, as few as are enough. Data sets on which all of the pool agree
    have no difficulty and are left out of comparisons.
    """
    if order not in ORDERS:
        raise InputError(f"order is {order!r}, but it should be one of {', '.join(ORDERS)}.")
    datasets = decoding.datasets.dropna(subset=list(filter(None, ORDERS.values())))
    scores, column = decoding.scores(score)[list(datasets.index)], ORDERS[order]
    played = None if column is None else datasets[column]
    games = {"tolerance": tolerance, "tau": tau}
    works: dict[str, Callable[[], Result]] = {
        "tournament": partial(tournament, scores, order=played, **games),
        "ranks": partial(compare_ranks, scores),
        "subsets": partial(compare_subsets, scores, datasets, **games),
        "choice": partial(
            choose_datasets, scores, size, tolerance=tolerance, random_state=random_state
        ),
    }
    if len(decoding.metadata):
        works["metadata"] = partial(relate_metadata, datasets, decoding.metadata)
    few = {
        name: f"It needs at least {least} data sets with a difficulty; there are {len(datasets)}."
        for name, least in LEAST_DATASETS.items()
        if name in works and len(datasets) < least
    }
    found, missing = gathered({name: work for name, work in works.items() if name not in few})
    return Chapters(decoding, found, few | missing)


def write_benchmark(chapters: Chapters, folder: Any) -> list[Path]:
    """Write tables, item banks and figures of a decoded benchmark; the paths of all files.

    What an earlier report left in the folder is removed; all else is left alone.
    """
    report = ReportFolder.at(folder)
    for name, calibration in chapters.decoding.calibrations.items():
        report.bank(name, calibration)
    for name, frame in _tables(chapters):
        report.table(name, frame)
    for name, draw in _figures(chapters):
        report.figure(name, draw)
    summary = {
        "sentences": chapters.sentences,
        "missing": chapters.missing,
        "failures": dict(chapters.decoding.failures),
    }
    return report.finish(summary)


def _tables(chapters: Chapters) -> Iterator[tuple[str, pd.DataFrame]]:
    import pandas as pd

    decoding = chapters.decoding
    yield "datasets", decoding.to_frame()
    yield "items", decoding.items
    yield "classifiers", decoding.classifiers
    yield "true_scores", decoding.scores()
    yield "bins", decoding.bins(min(BINS, len(decoding.datasets)))
    yield "suspects", decoding.suspects
    for name in ("sources", "metadata"):
        frame = getattr(decoding, name)
        if len(frame):
            yield name, frame
    for name, finding in chapters.found.items():
        yield {"metadata": "correlations"}.get(name, name), finding.to_frame()
        if isinstance(finding, Tournament):
            yield "periods", finding.history()
        if isinstance(finding, SubsetComparison):
            yield "subset_ratings", finding.ratings
    if by_metadata := dict(_by_metadata(decoding)):
        frames = [each.to_frame().assign(metadatum=name) for name, each in by_metadata.items()]
        yield "chance_by_metadata", pd.concat(frames, ignore_index=True)
    if decoding.failed:
        yield "failed", _failed(decoding)


def _figures(chapters: Chapters) -> Iterator[tuple[str, Callable[[], Display]]]:
    decoding = chapters.decoding
    yield "datasets", decoding.plot
    for value in ("difficulty", "discrimination"):
        yield value, partial(decoding.plot, "histogram", value=value)
    names = {"ranks": "critical_differences", "choice": "agreement", "metadata": "correlations"}
    for name, finding in chapters.found.items():
        yield names.get(name, name), finding.plot
        if isinstance(finding, Tournament):
            yield "bump", partial(finding.plot, "ranks")
    for name, bins in _by_metadata(decoding):
        yield f"chance_by_{name}", bins.plot
    for name in decoding.calibrations:
        slug = file_name_of(name)
        yield f"{slug}_scores", partial(decoding.plot, "scores", name)
        if len(decoding.suspects[decoding.suspects["dataset"] == name]):
            yield f"{slug}_suspects", partial(decoding.plot, "suspects", name)
        calibration = decoding.calibrations[name]
        if (upright_items(calibration) & informative(calibration)).sum() >= 2 * ITEMS_A_BIN:
            yield f"{slug}_characteristic", partial(_characteristic, decoding, name)


def _by_metadata(decoding: BenchmarkDecoding) -> Iterator[tuple[str, MetadataBins]]:
    """Chance of a right answer by each metadatum that differs between data sets."""
    n_bins = min(BINS, len(decoding.metadata) // 2)
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


def _failed(decoding: BenchmarkDecoding) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {"dataset": dataset, "member": member, "reason": reason}
        for dataset, members in decoding.failed.items()
        for member, reason in members.items()
    ]
    return pd.DataFrame(rows)


def _characteristic(decoding: BenchmarkDecoding, name: str) -> Display:
    """Share right by difficulty, where that means what it says: not on turned instances."""
    calibration = decoding.calibrations[name]
    usable = np.flatnonzero(upright_items(calibration) & informative(calibration))
    names = [calibration.item_names[k] for k in usable]
    bins = max(2, min(MOST_BINS, len(names) // ITEMS_A_BIN))
    responses = decoding.responses[name].select(items=names)
    return characteristic_curves(responses, calibration=calibration, bins=bins).plot()
