"""Compare classifiers on one data set, from the file to the item curves in each cell.

The method of Cardoso et al. (2024): a pool of random classifiers calibrates the test instances, and
the candidate classifiers are compared by all measures, with and without the instances of negative
discrimination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration.shown_scale import significantly_negative
from ogive.datasets import Split, load_dataset, split_dataset
from ogive.datasets.dataset import require_classes
from ogive.diagnostics import RankComparison, compare_ranks
from ogive.diagnostics.diagnosis import upright_items
from ogive.errors import InputError
from ogive.estimation.rightness import calibrate_by_rightness
from ogive.models import MeasurementModel
from ogive.pools import Answers, Pool, find_pool, run_pool
from ogive.pools.pool_running import CombinedProgress
from ogive.progress import Progress, telling
from ogive.responses.names_and_facts import row_name
from ogive.results import Draw, Result, picked
from ogive.studies.classifiers.compared_models import predicted_labels, sorted_models
from ogive.studies.classifiers.confusion_curves import (
    FEWEST_RANKED,
    ConfusionCurves,
    enrich_confusion,
)
from ogive.studies.classifiers.measures import MEASURES
from ogive.studies.classifiers.predictions import positive_code, read_predictions
from ogive.tables.table_files import as_name
from ogive.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from ogive.calibration import Calibration
    from ogive.displays import Display
    from ogive.files import PathLike

__all__ = ["ClassifierComparison", "compare_classifiers"]

ALPHA = 0.05
FILTERED = "_filtered"  # suffix of columns without items of negative discrimination


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierComparison(Result):
    """Classifiers on one data set, by every measure, with and without doubtful items.

    `curves` holds the confusion matrices with all items, `filtered` those without items of
    negative discrimination. `ranks` is the test of the paper: which measures differ in level over
    the classifiers; `curves.agreement()` says how similarly they rank them. `remarks` says how a
    classifier was tuned, `failures` and `pool_failures` which classifiers failed, and why.
    """

    dataset: str
    source: str
    preprocessing: str
    curves: ConfusionCurves
    filtered: ConfusionCurves | None  # None if no item would be left
    ranks: RankComparison | None  # None with fewer than two classifiers
    remarks: Mapping[str, str]
    failures: Mapping[str, str]
    pool_failures: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per classifier, the most accurate first.

        Columns ending in _filtered leave out items of negative discrimination.
        """
        names = ["ability", "ability_se"]
        for measure in MEASURES:
            names += [f"{measure}{ending}" for ending in ("", "_low", "_high")]
            names += [f"{measure}_rank{ending}" for ending in ("", "_low", "_high")]
        frame = self.curves.to_frame()[names]
        if self.filtered is not None:
            frame = frame.join(self.filtered.measures[names].add_suffix(FILTERED))
        return frame.assign(remarks=[self.remarks.get(str(name), "") for name in frame.index])

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells with all items and without doubtful ones, items and measures."""
        found = {**self.curves.tables(), "models": self.to_frame()}
        if self.filtered is not None:
            found[f"cells{FILTERED}"] = self.filtered.tables()["cells"]
        if self.ranks is not None:
            found |= {"measures": self.ranks.to_frame(), "measure_pairs": self.ranks.pairs()}
        return found

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells, agreement of measures and items."""
        return {**self.curves.page_tables(), "models": self.to_frame()}

    def figures(self) -> dict[str, Draw]:
        """Return those of the curves, with all items and without doubtful ones, and measures."""
        found = self.curves.figures()
        if self.ranks is not None:
            found["measures"] = partial(self.plot, "measures")
        if self.filtered is not None:
            for name, draw in self.filtered.figures().items():
                if name.startswith(("scores", "cells")):
                    found[f"{name}{FILTERED}"] = draw
        return found

    def page_figures(self) -> dict[str, Draw]:
        """Return those of the curves, and the measures."""
        names = self.curves.page_figures()
        return picked(self.figures(), *names, "measures")

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {self.dataset: self.curves.calibration}

    def plot(self, kind: str = "cells", model: str | None = None, **kw: Any) -> Display:
        """Draw the curves in each cell of one classifier, or another figure of `ConfusionCurves`.

        "measures" shows which pairs of measures differ significantly in level; with
        `filtered=True`, items of negative discrimination are left out.
        """
        if kind == "measures":
            if self.ranks is None:
                raise InputError("Ranks need at least two classifiers.")
            return self.ranks.plot(kind="pairs", **kw)
        filtered = kw.pop("filtered", False)
        if filtered and self.filtered is None:
            raise InputError("All items discriminate negatively, so none would be left.")
        chosen = self.filtered if filtered and self.filtered is not None else self.curves
        if kind == "cells" and model is None:
            model = str(self.curves.to_frame().index[0])
        return chosen.plot(kind, model, **kw)

    @property
    def meaning(self) -> str:
        """Who leads with all items, and without those of negative discrimination."""
        left_out = ~upright_items(self.curves.calibration)
        if not left_out.any() or self.filtered is None:
            return self.curves.meaning
        surely = int(significantly_negative(self.curves.calibration.items).sum())
        one = int(left_out.sum()) == 1
        said = self.filtered.meaning
        return (
            f"{self.curves.meaning} {counted(int(left_out.sum()), 'item')} discriminate"
            f"{'s' if one else ''} negatively, {surely or 'none'} significantly after correction "
            f"for multiple tests; without {'it' if one else 'them'}, {said[0].lower()}{said[1:]}"
        )

    def sentences(self) -> list[str]:
        """The meaning, how the total score agrees with other measures, and notes."""
        said = [self.meaning, *self.notes]
        if self.ranks is not None and len(self.curves.models) >= FEWEST_RANKED:
            said.insert(1, self._something_new())
        return said

    def _something_new(self) -> str:
        """How the ranking by total score agrees with the other rankings."""
        frame = self.curves.agreement()
        pairs = frame[frame["other"] == "total_score"].set_index("measure")
        told = ", ".join(
            f"{name} {row['kendall']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
            for name, row in pairs.iterrows()
        )
        return f"Agreement of the ranking by total score (Kendall, 95 % range) with: {told}."


def compare_classifiers(
    dataset: Any,
    models: Any = None,
    pool: Any = "random-200",
    *,
    target: str | None = None,
    positive: object = None,
    scores: Any = None,
    model: str | MeasurementModel = "3pl",
    test_size: float = 0.3,
    max_test_size: int | None = None,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    n_resamples: int = 1000,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> ClassifierComparison:
    """Split a data set, calibrate its test part with a pool, and compare classifiers on it.

    The frame has one row per model, with the columns of `enrich_confusion` and remarks; columns
    ending in _filtered leave out items of negative discrimination. After Cardoso et al. (2024).

    Parameters
    ----------
    dataset
        As `load_dataset` takes it; `target` names the column of the class.
    models
        The classifiers to compare: None for ten classifiers tuned by grid search; a list of
        scikit-learn classifiers, or a mapping from names to them. They get the columns of the data
        set as they are, and are fitted on the training part, unless they are already fitted: then
        they must not have seen the test part, `split_dataset(load_dataset(...)).test`. Or
        a frame of predictions with one column per model and one row per test instance, whose index
        is its place in the data set (83, or row_83), or in the order of the test part. A mapping
        may mix classifiers and lists of labels.
    pool
        The classifiers that calibrate: 20 random configurations of each of ten algorithms, another
        pool by name, or your own classifiers.
    positive
        The positive one of two classes; by default, the last in order.
    scores
        Probabilities of the positive class, one column per model, for the area under the ROC curve.
        By default, it is computed from the labels: the mean of recall and specificity.
    folder
        Where finished classifiers are saved, so that an interrupted run can continue.
    n_resamples
        Number of resamples of the test instances behind ranges and ranks.
    model, test_size, max_test_size, time_limit, cache, n_jobs, random_state, progress
        As in `decode_benchmark`.

    Examples
    --------
    >>> import ogive as og
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> pool = [GaussianNB(), KNeighborsClassifier(1), KNeighborsClassifier(60)]
    >>> models = {"bayes": GaussianNB()}
    >>> found = og.compare_classifiers(
    ...     "sklearn:iris", models, pool, model="1pl", n_resamples=20, progress=False
    ... )
    >>> found.to_frame()["accuracy"].round(2).to_dict()
    {'bayes': 0.98}
    """
    loaded = load_dataset(dataset, target, cache=cache)
    require_classes(loaded, "a confusion matrix")
    split = split_dataset(
        loaded, test_size=test_size, max_test_size=max_test_size, random_state=random_state
    )
    calibrating, (chosen, elsewhere) = find_pool(pool), sorted_models(models, loaded, split)
    truth = np.array(split.classes, dtype=object)[split.y_test]
    positive_code(positive, split.classes)
    if elsewhere:  # refuse wrong tables before training
        read_predictions([row_name(k) for k in split.test], truth, elsewhere, split.classes)
    pools = [calibrating, *([chosen] if chosen else [])]
    preparation = "; ".join(dict.fromkeys(one.preparation(split) for one in pools))
    with telling(progress, "Running classifiers") as tell:
        combined = CombinedProgress(sum(len(one.members) for one in pools), tell)
        runner = _Runner(split, folder, time_limit, n_jobs, random_state, combined)
        told = runner.run(calibrating, "pool")
        found = None if chosen is None else runner.run(chosen, "models")
    labels = predicted_labels(found, split, elsewhere)
    answers = told.responses(split.y_test, calibrating.calibrating)
    calibration = calibrate_by_rightness(answers, model, labels=truth)
    curves = enrich_confusion(
        calibration,
        truth,
        labels,
        positive=positive,
        classes=_classes(labels, truth, split),
        scores=scores,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    filtered = curves.without_negative() if upright_items(calibration).any() else None
    return ClassifierComparison(
        dataset=loaded.name,
        source=loaded.source,
        preprocessing=preparation,
        curves=curves,
        filtered=filtered,
        ranks=compare_ranks(curves.scores()) if len(curves.models) > 1 else None,
        remarks={} if found is None else found.remarks,
        failures={} if found is None else found.failures,
        pool_failures=told.failures,
        notes=(*split.notes, *_notes(told, found, curves, filtered)),
    )


def _classes(labels: Mapping[str, Any], truth: np.ndarray, split: Split) -> set[str]:
    """Classes that are predicted; those of the whole data set, if the test part has one only."""
    found = {as_name(label) for row in labels.values() for label in row}
    return found if len(set(truth)) > 1 else found | set(map(as_name, split.classes))


def _notes(
    told: Answers, found: Answers | None, curves: ConfusionCurves, filtered: ConfusionCurves | None
) -> Iterator[str]:
    """Notes of the runs, the calibration and both comparisons, with their origin."""
    yield from (f"Pool: {note}" for note in told.notes)
    yield from (f"Models: {note}" for note in (() if found is None else found.notes))
    yield from curves.calibration.notes
    yield from curves.notes
    if filtered is not None:
        yield from (f"Filtered: {note}" for note in filtered.notes if note not in curves.notes)


@dataclass(frozen=True)
class _Runner:
    """Runs pools on one split, each in its own folder."""

    split: Split
    folder: PathLike | None
    time_limit: float | None
    n_jobs: int | None
    random_state: int
    combined: CombinedProgress

    def run(self, pool: Pool, name: str) -> Answers:
        return run_pool(
            self.split,
            pool,
            folder=None if self.folder is None else Path(self.folder) / name,
            cv=0,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=self.combined.of(name, len(pool.members)),
        )
