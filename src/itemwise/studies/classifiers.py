"""Compare classifiers on one data set, from the file to the item curves in each cell.

The whole of Cardoso et al. (2024): a pool of random classifiers calibrates the test instances, and
the classifiers that one would choose from are read by all measures, with and without the instances
of negative discrimination.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.datasets import Dataset, Split, load_dataset, split_dataset
from itemwise.diagnostics import RankComparison, compare_ranks
from itemwise.diagnostics.usable import upright_items
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.models import MeasurementModel
from itemwise.pools import Answers, Pool, find_pool, run_pool
from itemwise.pools.clock import Clock
from itemwise.pools.running import Progress
from itemwise.results import Finding
from itemwise.studies.confusion import ConfusionCurves, enrich_confusion, positive_code
from itemwise.studies.measures import MEASURES
from itemwise.studies.predictions import read_predictions
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display
    from itemwise.files import PathLike

TUNED = "tuned"
POSITIVE = "_positive"  # ending of what leaves out items of negative discrimination


@dataclass(frozen=True, eq=False, repr=False)
class ClassifierComparison(Finding):
    """Classifiers on one data set, by every measure, with and without doubtful items.

    `curves` holds the confusion matrices with all items, `filtered` those without items of
    negative discrimination. `ranks` says which measures rank the classifiers differently.
    """

    dataset: str
    source: str
    preprocessing: str
    curves: ConfusionCurves
    filtered: ConfusionCurves | None  # None where no item would be left
    ranks: RankComparison | None  # None with fewer than two classifiers
    failures: Mapping[str, str]
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row a classifier, the most accurate first; what ends in _positive is filtered."""
        names = ["ability", "ability_se"]
        for measure in MEASURES:
            names += [f"{measure}{ending}" for ending in ("", "_low", "_high")]
            names += [f"{measure}_rank{ending}" for ending in ("", "_low", "_high")]
        frame = self.curves.to_frame()[names]
        if self.filtered is None:
            return frame
        return frame.join(self.filtered.measures[names].add_suffix(POSITIVE))

    def plot(self, kind: str = "cells", model: str | None = None, **kw: Any) -> Display:
        """The curves in each cell of one classifier, or another figure of `ConfusionCurves`.

        "measures" shows which measures rank the classifiers differently; with `filtered=True`,
        items of negative discrimination are left out.
        """
        if kind == "measures":
            if self.ranks is None:
                raise InputError("One classifier has no rank. Give at least two.")
            return self.ranks.plot(kind="pairs", **kw)
        filtered = kw.pop("filtered", False)
        if filtered and self.filtered is None:
            raise InputError("All items discriminate negatively, so that none would be left.")
        chosen = self.filtered if filtered and self.filtered is not None else self.curves
        if kind == "cells" and model is None:
            model = str(self.curves.to_frame().index[0])
        return chosen.plot(kind, model, **kw)

    @property
    def meaning(self) -> str:
        """Who wins under which reading."""
        left_out = int((~upright_items(self.curves.calibration)).sum())
        if not left_out or self.filtered is None:
            return self.curves.meaning
        said = self.filtered.meaning
        return (
            f"{self.curves.meaning} {counted(left_out, 'item')} discriminate"
            f"{'s' if left_out == 1 else ''} negatively; without "
            f"{'it' if left_out == 1 else 'them'}, {said[0].lower()}{said[1:]}"
        )

    def sentences(self) -> list[str]:
        """The meaning, which measures lie apart, and notes."""
        said = [self.meaning, *self.notes]
        if self.ranks is not None:
            said.insert(1, f"Measures beside each other: {self._measures()}")
        return said

    def _measures(self) -> str:
        ranks = self.ranks
        assert ranks is not None  # noqa: S101 - asked only where there are some
        pairs = ranks.pairs()
        apart = pairs[pairs["differ"]]
        if ranks.p >= ranks.level or apart.empty:
            return f"no two lie apart (Friedman, p = {ranks.p:.2g})."
        total = apart[(apart["respondent"] == "total_score") | (apart["other"] == "total_score")]
        others = sorted({*total["respondent"], *total["other"]} - {"total_score"})
        heading = f"{len(apart)} of {len(pairs)} pairs lie apart (Friedman, p = {ranks.p:.2g})"
        return f"{heading}; the total score from {', '.join(others) or 'none'}."


def compare_classifiers(
    dataset: Any,
    models: Any = None,
    pool: Any = "random-200",
    *,
    target: str | None = None,
    positive: object = None,
    model: str | MeasurementModel = "3pl",
    test_share: float = 0.3,
    most_test: int | None = None,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    n_resamples: int = 1000,
    random_state: int = 0,
    progress: Progress | None = None,
) -> ClassifierComparison:
    """Split a data set, calibrate its test part by a pool, and compare classifiers on it.

    Parameters
    ----------
    dataset
        As `load_dataset` takes it; `target` names the column of the class.
    models
        What to choose from: None for ten classifiers tuned by grid search; a list of scikit-learn
        classifiers or a mapping from names to them, which are fitted on the training part, unless
        they are fitted already: then they are asked the columns of the data set as they are, and
        must not have seen the test part. Or predictions made elsewhere: a frame with a column a
        model and a row a test instance, named row_0, row_1, ... by its place in the data set or
        in the order of the test part.
    pool
        Who calibrates: 20 random configurations of each of ten algorithms, another pool by name,
        or your own classifiers.
    positive
        Of two classes the one that is looked for; left out, the last in order.
    folder
        Where finished classifiers are kept, so that a run that was stopped goes on.
    n_resamples
        Draws of the test instances behind ranges and ranks.
    """
    loaded = load_dataset(dataset, target, cache=cache)
    split = split_dataset(
        loaded, test_share=test_share, most_test=most_test, random_state=random_state
    )
    calibrating, chosen = find_pool(pool), _as_pool(models)
    truth = np.array(split.classes, dtype=object)[split.y_test]
    positive_code(positive, split.classes)
    given = None if chosen is not None else _made_elsewhere(models, loaded, split)
    if given is not None:  # wrong tables are refused before anything is trained
        read_predictions([f"row_{k}" for k in split.test], truth, given, split.classes)
    clock = Clock(len(calibrating.members) + len(chosen.members if chosen else ()), progress)
    runner = _Runner(split, folder, time_limit, n_jobs, random_state, clock)
    told = runner.run(calibrating, "pool")
    found = None if chosen is None else runner.run(chosen, "models")
    labels = given if found is None else _labels(found, split)
    calibration = calibrate(told.responses(split.y_test, calibrating.calibrating), model)
    curves = enrich_confusion(
        calibration,
        truth,
        labels,
        positive=positive,
        classes=split.classes,
        n_resamples=n_resamples,
        random_state=random_state,
    )
    some = upright_items(calibration).any()
    several = len(curves.models) > 1
    return ClassifierComparison(
        dataset=loaded.name,
        source=loaded.source,
        preprocessing=split.preprocessing,
        curves=curves,
        filtered=curves.without_negative() if some else None,
        ranks=compare_ranks(curves.scores()) if several else None,
        failures={**told.failures, **({} if found is None else found.failures)},
        notes=(*split.notes, *told.notes, *(() if found is None else found.notes), *curves.notes),
    )


@dataclass(frozen=True)
class _Runner:
    """Runs pools on one split, each in its own folder."""

    split: Split
    folder: PathLike | None
    time_limit: float | None
    n_jobs: int | None
    random_state: int
    clock: Clock

    def run(self, pool: Pool, name: str) -> Answers:
        return run_pool(
            self.split,
            pool,
            folder=None if self.folder is None else Path(self.folder) / name,
            folds=0,
            time_limit=self.time_limit,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=self.clock.of(name, len(pool.members)),
        )


def _as_pool(models: Any) -> Pool | None:
    """Classifiers that have to be fitted; None for predictions and for fitted ones."""
    if models is None:
        return find_pool(TUNED)
    if hasattr(models, "columns"):
        return None
    given = _named(models)
    if not isinstance(models, str | Pool) and given and all(map(_is_fitted, given.values())):
        return None
    if given and any(not hasattr(one, "predict") for one in given.values()):
        return None
    return find_pool(models)


def _named(models: Any) -> dict[str, Any]:
    """Classifiers or lists of labels by name; empty for the name of a pool."""
    if isinstance(models, Mapping):
        return {str(name): one for name, one in models.items()}
    if isinstance(models, list | tuple):
        pairs = [one if isinstance(one, tuple) else (type(one).__name__, one) for one in models]
        return {str(name): one for name, one in pairs}
    return {}


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


def _made_elsewhere(models: Any, dataset: Dataset, split: Split) -> Any:
    """Labels as they were given, or as fitted classifiers predict them."""
    if hasattr(models, "columns"):
        return models
    given = _named(models)
    if not all(hasattr(one, "predict") for one in given.values()):
        return given
    asked = dataset.features.iloc[split.test]
    labels = {}
    for name, one in given.items():
        try:
            labels[name] = one.predict(asked)
        except Exception as error:  # whatever a foreign classifier raises
            raise InputError(
                f"{name!r:.60} is fitted already, but cannot predict from the columns of "
                f"'{dataset.name}': {type(error).__name__}, {str(error).splitlines()[0]:.200}. "
                "Give a pipeline that takes them as they are, or an unfitted classifier."
            ) from error
    return labels


def _labels(answers: Answers, split: Split) -> dict[str, Any]:
    """What each model predicts, by class; those that failed are left out."""
    classes = np.array(split.classes, dtype=object)
    places = {name: row for row, name in enumerate(answers.members)}
    names = [name for name in answers.members if name not in answers.failures]
    if not names:
        name, reason = next(iter(answers.failures.items()))
        raise InputError(f"Every model failed, so there is nothing to compare. '{name}': {reason}")
    return {name: classes[answers.predictions[places[name]]] for name in names}
