"""A decoded benchmark read to the end: who is strongest, which part would do, what goes with what.

Studies do not know each other; here they are asked one after the other, and what they found is
laid out in a folder.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from itemwise.errors import InputError
from itemwise.files import file_name_of, make_folder, write_bytes
from itemwise.results import Finding
from itemwise.studies import (
    BenchmarkDecoding,
    Tournament,
    characteristic_curves,
    choose_datasets,
    compare_ranks,
    compare_subsets,
    relate_metadata,
    tournament,
)
from itemwise.studies.decoding import upright_items

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

GIVEN = "given"
# Orders of the data sets in a tournament, and the column that they rise by.
ORDERS = {
    "difficulty": "difficulty_mean",
    "discrimination": "discrimination_mean",
    "difficulty-deviation": "difficulty_deviation",
    "discrimination-deviation": "discrimination_deviation",
    GIVEN: None,
}


class Chapters(NamedTuple):
    """What was found, by name, and why some chapters do not exist here."""

    decoding: BenchmarkDecoding
    found: dict[str, Finding]
    missing: dict[str, str]

    @property
    def sentences(self) -> dict[str, str]:
        """What each chapter means, the decoding first."""
        told = {name: finding.meaning for name, finding in self.found.items()}
        return {"decoding": self.decoding.meaning, **told}


def read_benchmark(
    decoding: BenchmarkDecoding,
    *,
    order: str = "difficulty",
    tolerance: float = 0.0,
    tau: float = 0.5,
    size: float | None = None,
    random_state: int = 0,
) -> Chapters:
    """Ask a decoding all that can be asked of it.

    `order` is that of the data sets in the tournament: by "difficulty", "discrimination",
    "difficulty-deviation" or "discrimination-deviation", lowest first, or as "given". `size` is
    how many data sets to choose, or which share of them; left out, as few as are enough.
    """
    if order not in ORDERS:
        raise InputError(f"order is {order!r}, but it should be one of {', '.join(ORDERS)}.")
    scores, column = decoding.scores(), ORDERS[order]
    played = None if column is None else decoding.datasets[column].dropna()
    games = {"tolerance": tolerance, "tau": tau}
    works: dict[str, Callable[[], Finding]] = {
        "tournament": partial(tournament, scores, order=played, **games),
        "ranks": partial(compare_ranks, scores),
        "subsets": partial(compare_subsets, scores, decoding.datasets, **games),
        "choice": partial(
            choose_datasets, scores, size, tolerance=tolerance, random_state=random_state
        ),
        "metadata": partial(relate_metadata, decoding.datasets, decoding.metadata),
    }
    found: dict[str, Finding] = {}
    missing: dict[str, str] = {}
    for name, work in works.items():
        try:
            found[name] = work()
        except InputError as reason:
            missing[name] = str(reason)
    return Chapters(decoding, found, missing)


def write_benchmark(chapters: Chapters, folder: Any) -> list[Path]:
    """Write tables, item banks and figures of a decoded benchmark; the paths of all files.

    What lies in the folder under other names is left alone.
    """
    home = make_folder(folder)
    banks, figures = make_folder(home / "banks"), make_folder(home / "figures")
    paths = []
    for name, calibration in chapters.decoding.calibrations.items():
        paths.append(calibration.save(banks / f"{file_name_of(name)}.json"))
    for name, frame in _tables(chapters):
        content = frame.to_csv(lineterminator="\n", index=frame.index.name is not None)
        write_bytes(home / f"{name}.csv", content.encode())
        paths.append(home / f"{name}.csv")
    summary = {
        "sentences": chapters.sentences,
        "missing": chapters.missing,
        "notes": chapters.decoding.notes,
    }
    write_bytes(home / "summary.json", json.dumps(summary, indent=1).encode("ascii"))
    paths.append(home / "summary.json")
    paths += [draw().save(figures / f"{name}.png") for name, draw in _figures(chapters)]
    return paths


def _tables(chapters: Chapters) -> Iterator[tuple[str, pd.DataFrame]]:
    decoding = chapters.decoding
    yield "datasets", decoding.to_frame()
    yield "items", decoding.items
    yield "classifiers", decoding.classifiers
    yield "true_scores", decoding.scores()
    yield "suspects", decoding.suspects
    for name in ("sources", "metadata"):
        frame = getattr(decoding, name)
        if len(frame):
            yield name, frame
    for name, finding in chapters.found.items():
        yield {"metadata": "correlations"}.get(name, name), finding.to_frame()
        if isinstance(finding, Tournament):
            yield "periods", finding.history()


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
    for name in decoding.calibrations:
        slug = file_name_of(name)
        yield f"{slug}_scores", partial(decoding.plot, "scores", name)
        if len(decoding.suspects[decoding.suspects["dataset"] == name]):
            yield f"{slug}_suspects", partial(decoding.plot, "suspects", name)
        yield f"{slug}_characteristic", partial(_characteristic, decoding, name)


def _characteristic(decoding: BenchmarkDecoding, name: str) -> Display:
    """Share right by difficulty, where that means what it says: not on turned instances."""
    calibration = decoding.calibrations[name]
    upright = [
        item
        for item, up in zip(calibration.item_names, upright_items(calibration), strict=True)
        if up
    ]
    responses = decoding.responses[name].select(items=upright)
    return characteristic_curves(responses, calibration=calibration).plot()
