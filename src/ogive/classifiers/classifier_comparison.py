"""Classifiers on one data set, start to end.

The models that are compared, as a caller gives them: to fit, fitted, or by their labels.

Compare classifiers on one data set, from the file to the item curves in each cell.

The method of Cardoso et al. (2024): a pool of random classifiers calibrates the test instances, and
the candidate classifiers are compared by all measures, with and without the instances of negative
discrimination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ogive._files import PathLike
from ogive._progress import Progress, telling
from ogive.checks.friedman_test import RankComparison, compare_ranks
from ogive.checks.residuals import upright_items
from ogive.classifiers.confusion_curves import FEWEST_RANKED, ConfusionCurves, enrich_confusion
from ogive.classifiers.predictions import MEASURES, positive_code, read_predictions
from ogive.data.datasets.dataset import Dataset, Split, require_classes, split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.data.foreign_frames import with_row_names
from ogive.data.names import row_name
from ogive.data.pools.members import Member
from ogive.data.pools.pool import Answers, Pool, find_pool
from ogive.data.pools.runner import CombinedProgress, run_pool
from ogive.data.table_files import as_name
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import calibrate_by_rightness
from ogive.irt.item_curves import significantly_negative
from ogive.irt.models.base import MeasurementModel
from ogive.results.base import Draw, Result, picked
from ogive.results.numbers import counted, repeated
from ogive.results.plots.figure import Display

__all__ = ["ClassifierComparison", "compare_classifiers"]


TUNED = "tuned"


def sorted_models(
    models: Any, dataset: Dataset, split: Split
) -> tuple[Pool | None, dict[str, Any]]:
    """Return classifiers to fit, as a pool; and the labels of all other models by name."""
    if models is None:
        return find_pool(TUNED), {}
    if isinstance(models, str | Pool):
        return find_pool(models), {}
    models = with_row_names(models)
    if hasattr(models, "columns"):
        frame = _by_place(models, split)
        return None, {str(name): frame.iloc[:, k] for k, name in enumerate(frame.columns)}
    given = _named(models)
    fitted = {name: one for name, one in given.items() if _is_fitted(one)}
    unfitted = {
        name: one
        for name, one in given.items()
        if name not in fitted and (hasattr(one, "predict") or isinstance(one, Member))
    }
    labels = {name: one for name, one in given.items() if name not in (*fitted, *unfitted)}
    asked = {name: _predicted(name, one, dataset, split) for name, one in fitted.items()}
    pool = find_pool(list(unfitted.items())) if unfitted else None
    return pool, {**asked, **labels}


def _by_place(frame: Any, split: Split) -> Any:
    """Rename rows that are numbered by their place in the data set to the names of items."""
    numbers = set(frame.index)
    if numbers == set(split.test.tolist()) and numbers != set(range(len(frame))):
        return frame.rename(index=row_name)
    return frame


def _named(models: Any) -> dict[str, Any]:
    """Return classifiers or lists of labels by unique name."""
    if isinstance(models, Mapping):
        pairs = [(str(name), one) for name, one in models.items()]
    elif hasattr(models, "predict"):
        pairs = [(type(models).__name__, models)]
    elif isinstance(models, list | tuple) and any(map(_is_model, models)):
        pairs = [one if isinstance(one, tuple) else (_text(one), one) for one in models]
    else:
        pairs = [("model", models)]  # the labels of one model
    named = dict(pairs)
    if not named:
        raise InputError("models is empty. Give at least one classifier, or None for tuned ones.")
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        twice = repeated(names)[0]
        raise InputError(
            f"Two models are called '{twice:.60}'. Give a mapping with a different name for each."
        )
    return named


def _is_model(entry: Any) -> bool:
    return hasattr(entry, "predict") or isinstance(entry, Member | tuple)


def _text(model: Any) -> str:
    return model.name if isinstance(model, Member) else " ".join(repr(model).split())


def _is_fitted(model: Any) -> bool:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    if not hasattr(model, "predict"):
        return False
    try:
        check_is_fitted(model)
    except (NotFittedError, TypeError):
        return False
    return True


def _predicted(name: str, model: Any, dataset: Dataset, split: Split) -> Any:
    """Return predictions of a fitted classifier for the test part."""
    try:
        return model.predict(dataset.features.iloc[split.test])
    except Exception as error:  # whatever a foreign classifier raises
        raise InputError(
            f"{name!r:.60} is already fitted, but cannot predict from the columns of "
            f"'{dataset.name}': {type(error).__name__}, {str(error).splitlines()[0]:.200}. "
            "Give a pipeline that takes them as they are, or an unfitted classifier."
        ) from error


def predicted_labels(
    answers: Answers | None, split: Split, elsewhere: Mapping[str, Any]
) -> dict[str, Any]:
    """Return predicted classes of the models that did not fail, and those made elsewhere."""
    if answers is None:
        return dict(elsewhere)
    classes = np.array(split.classes, dtype=object)
    labels = {
        name: classes[predicted]
        for name, predicted in zip(answers.members, answers.predictions, strict=True)
        if name not in answers.failures
    }
    if not labels and not elsewhere:
        name, reason = next(iter(answers.failures.items()))
        raise InputError(f"All models failed, so there is nothing to compare. '{name}': {reason}")
    return {**labels, **elsewhere}


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
        """Return one row per classifier, the most accurate first.

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
        """Return the meaning, how the total score agrees with other measures, and notes."""
        said = [self.meaning, *self.notes]
        if self.ranks is not None and len(self.curves.models) >= FEWEST_RANKED:
            said.insert(1, self._something_new())
        return said

    def _something_new(self) -> str:
        """Return how the ranking by total score agrees with the other rankings."""
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
    """Yield notes of the runs, the calibration and both comparisons, with their origin."""
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
