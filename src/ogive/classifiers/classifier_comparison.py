"""Compare classifiers on one data set, from the file to the item curves in each cell.

The method of Cardoso et al. (2024): a pool of random classifiers calibrates the test instances, and
the candidate classifiers are compared by all measures, with and without the instances of negative
discrimination.
"""

from __future__ import annotations

from collections.abc import Mapping
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

TUNED = "tuned"  # the pool that is compared by default
FILTERED = "_filtered"  # suffix of columns without items of negative discrimination


def sort_models(models: Any, dataset: Dataset, split: Split) -> tuple[Pool | None, dict[str, Any]]:
    """Return models to fit, as a pool; and the predictions of all other models by name."""
    if models is None:
        return find_pool(TUNED), {}
    if isinstance(models, str | Pool):
        return find_pool(models), {}
    models = with_row_names(models)
    if hasattr(models, "columns"):
        # rows that are numbered by their place in the data set get the names of items
        numbers = set(models.index)
        if numbers == set(split.test.tolist()) and numbers != set(range(len(models))):
            models = models.rename(index=row_name)
        return None, {str(name): models.iloc[:, k] for k, name in enumerate(models.columns)}
    predictions, other, unfitted = {}, {}, []
    for name, model in _named(models).items():
        if _is_fitted(model):
            predictions[name] = _predict(name, model, dataset, split)
        elif hasattr(model, "predict") or isinstance(model, Member):
            unfitted.append((name, model))
        else:
            other[name] = model
    return find_pool(unfitted) if unfitted else None, predictions | other


def _named(models: Any) -> dict[str, Any]:
    """Return models, or lists of labels, by unique name."""
    if isinstance(models, Mapping):
        pairs = [(str(name), model) for name, model in models.items()]
    elif hasattr(models, "predict"):
        pairs = [(type(models).__name__, models)]
    elif isinstance(models, list | tuple) and any(
        hasattr(entry, "predict") or isinstance(entry, Member | tuple) for entry in models
    ):
        pairs = [entry if isinstance(entry, tuple) else (_text(entry), entry) for entry in models]
    else:
        pairs = [("model", models)]  # the labels of one model
    named = dict(pairs)
    if not named:
        raise InputError("models is empty. Give at least one classifier, or None for tuned ones.")
    if len(named) < len(pairs):
        twice = repeated(name for name, _ in pairs)[0]
        raise InputError(
            f"Two models are called '{twice:.60}'. Give a mapping with a different name for each."
        )
    return named


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


def _predict(name: str, model: Any, dataset: Dataset, split: Split) -> Any:
    """Return predictions of a fitted classifier for the test part."""
    try:
        return model.predict(dataset.features.iloc[split.test])
    except Exception as error:  # whatever a foreign classifier raises
        raise InputError(
            f"{name!r:.60} is already fitted, but cannot predict from the columns of "
            f"'{dataset.name}': {type(error).__name__}, {str(error).splitlines()[0]:.200}. "
            "Give a pipeline that takes them as they are, or an unfitted classifier."
        ) from error


def run_models(
    split: Split,
    calibrating: Pool,
    compared: Pool | None,
    title: str,
    *,
    folder: PathLike | None,
    progress: Progress | bool,
    **settings: Any,
) -> tuple[Answers, Answers | None, str]:
    """Run the pool that calibrates and the models to compare, each in its own folder.

    Return the answers of both, and how columns were prepared. `settings` are those of `run_pool`.
    """
    pools = [calibrating] if compared is None else [calibrating, compared]
    preparation = "; ".join(dict.fromkeys(pool.preparation(split) for pool in pools))
    with telling(progress, title) as report:
        combined = CombinedProgress(sum(len(pool.members) for pool in pools), report)
        answers = [
            run_pool(
                split,
                pool,
                folder=None if folder is None else Path(folder) / name,
                cv=0,
                progress=combined.of(name, len(pool.members)),
                **settings,
            )
            for pool, name in zip(pools, ("pool", "models"), strict=False)
        ]
    return answers[0], None if compared is None else answers[1], preparation


def successful_predictions(answers: Answers | None, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return predictions of the models that did not fail, and those made elsewhere."""
    if answers is None:
        return dict(given)
    pairs = zip(answers.members, answers.predictions, strict=True)
    predictions = {name: row for name, row in pairs if name not in answers.failures}
    if not predictions and not given:
        name, reason = next(iter(answers.failures.items()))
        raise InputError(f"All models failed, so there is nothing to compare. '{name}': {reason}")
    return {**predictions, **given}


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
        tables = {**self.curves.tables(), "models": self.to_frame()}
        if self.filtered is not None:
            tables[f"cells{FILTERED}"] = self.filtered.tables()["cells"]
        if self.ranks is not None:
            tables |= {"measures": self.ranks.to_frame(), "measure_pairs": self.ranks.pairs()}
        return tables

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return models, cells, agreement of measures and items."""
        return {**self.curves.page_tables(), "models": self.to_frame()}

    def figures(self) -> dict[str, Draw]:
        """Return those of the curves, with all items and without doubtful ones, and measures."""
        figures = self.curves.figures()
        if self.ranks is not None:
            figures["measures"] = partial(self.plot, "measures")
        for name, draw in self.filtered.figures().items() if self.filtered is not None else ():
            if name.startswith(("scores", "cells")):
                figures[f"{name}{FILTERED}"] = draw
        return figures

    def page_figures(self) -> dict[str, Draw]:
        """Return those of the curves, and the measures."""
        return picked(self.figures(), *self.curves.page_figures(), "measures")

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
        curves = self.filtered if kw.pop("filtered", False) else self.curves
        if curves is None:
            raise InputError("All items discriminate negatively, so none would be left.")
        if kind == "cells" and model is None:
            model = str(self.curves.to_frame().index[0])
        return curves.plot(kind, model, **kw)

    @property
    def meaning(self) -> str:
        """Who leads with all items, and without those of negative discrimination."""
        n_negative = int((~upright_items(self.curves.calibration)).sum())
        if not n_negative or self.filtered is None:
            return self.curves.meaning
        surely = int(significantly_negative(self.curves.calibration.items).sum())
        one = n_negative == 1
        rest = self.filtered.meaning
        return (
            f"{self.curves.meaning} {counted(n_negative, 'item')} discriminate"
            f"{'s' if one else ''} negatively, {surely or 'none'} significantly after correction "
            f"for multiple tests; without {'it' if one else 'them'}, {rest[0].lower()}{rest[1:]}"
        )

    def sentences(self) -> list[str]:
        """Return the meaning, how the total score agrees with other measures, and notes."""
        if self.ranks is None or len(self.curves.models) < FEWEST_RANKED:
            return [self.meaning, *self.notes]
        frame = self.curves.agreement()
        pairs = frame[frame["other"] == "total_score"].set_index("measure")
        listed = ", ".join(
            f"{name} {row['kendall']:.2f} ({row['low']:.2f} to {row['high']:.2f})"
            for name, row in pairs.iterrows()
        )
        agreement = f"Agreement of the ranking by total score (Kendall, 95 % range) with: {listed}."
        return [self.meaning, agreement, *self.notes]


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
    calibrating, (chosen, elsewhere) = find_pool(pool), sort_models(models, loaded, split)
    truth = np.array(split.classes, dtype=object)[split.y_test]
    positive_code(positive, split.classes)
    if elsewhere:  # refuse wrong tables before training
        read_predictions([row_name(k) for k in split.test], truth, elsewhere, split.classes)
    pool_run, model_run, preparation = run_models(
        split,
        calibrating,
        chosen,
        "Running classifiers",
        folder=folder,
        progress=progress,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    names = np.array(split.classes, dtype=object)
    labels = successful_predictions(model_run, elsewhere)
    labels |= {name: names[codes] for name, codes in labels.items() if name not in elsewhere}
    responses = pool_run.responses(split.y_test, calibrating.calibrating)
    calibration = calibrate_by_rightness(responses, model, labels=truth)
    classes = {as_name(label) for row in labels.values() for label in row}
    if len(set(truth)) == 1:
        classes |= set(map(as_name, split.classes))
    curves = enrich_confusion(
        calibration,
        truth,
        labels,
        positive=positive,
        classes=classes,
        scores=scores,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    filtered = curves.without_negative() if upright_items(calibration).any() else None
    filtered_notes = () if filtered is None else filtered.notes
    return ClassifierComparison(
        dataset=loaded.name,
        source=loaded.source,
        preprocessing=preparation,
        curves=curves,
        filtered=filtered,
        ranks=compare_ranks(curves.scores()) if len(curves.models) > 1 else None,
        remarks={} if model_run is None else model_run.remarks,
        failures={} if model_run is None else model_run.failures,
        pool_failures=pool_run.failures,
        notes=(
            *split.notes,
            *notes_of_runs(pool_run, model_run),
            *calibration.notes,
            *curves.notes,
            *(f"Filtered: {note}" for note in filtered_notes if note not in curves.notes),
        ),
    )


def notes_of_runs(pool_run: Answers, model_run: Answers | None) -> list[str]:
    """Return the notes of both runs, with their origin."""
    notes = [f"Pool: {note}" for note in pool_run.notes]
    return notes + [f"Models: {note}" for note in (() if model_run is None else model_run.notes)]
