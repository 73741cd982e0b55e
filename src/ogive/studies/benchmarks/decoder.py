"""Decode a benchmark: how hard and how discriminating its data sets are, and who is strong on them.

This is the system of decodIRT. A data set is a test, its test instances are the items, and
classifiers are the respondents. A pool calibrates the items; each evaluated classifier gets an
ability on each data set, and a true score: the number of instances it is expected to get right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ogive.calibration import Calibration
from ogive.datasets import Dataset, Split, load_datasets, metadata, split_dataset
from ogive.datasets.dataset import require_classes
from ogive.errors import InputError, OgiveError
from ogive.estimation.rightness import (
    calibrate_by_rightness,
)
from ogive.files import file_name_of
from ogive.models import AUTO, MeasurementModel, find_model
from ogive.pools import Answers, Pool, find_pool, run_pool
from ogive.pools.pool_running import CombinedProgress
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.scoring import METHODS
from ogive.studies.benchmarks.decoding import BenchmarkDecoding, Limits
from ogive.studies.benchmarks.standings import STAGED, doubts, judge
from ogive.words import counted, joined, listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.files import PathLike

__all__ = ["BenchmarkDecoding", "Limits", "decode_benchmark", "decode_responses"]

OWN_SCALES = (
    "Data sets are ordered by chance: how likely a classifier of average ability is right on an "
    "instance. It is not share_right, the mean share of right responses over respondents of all "
    "abilities. Each data set has a scale of its own, so difficulties of different data sets are "
    "not comparable."
)


def decode_benchmark(
    datasets: Any,
    pool: Any = "paper",
    *,
    target: str | Mapping[str, str] | None = None,
    model: str | MeasurementModel = "3pl",
    method: str = "eap",
    limits: Limits | None = None,
    test_size: float = 0.3,
    max_test_size: int | None = 500,
    cv: int = 10,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | bool = True,
) -> BenchmarkDecoding:
    """Run a pool of classifiers on the test part of each data set, and calibrate the responses.

    The frame, also `datasets`, has one row per data set: items, respondents, chance (how likely a
    classifier of average ability is right), share_right (of the whole pool), mean, median and
    standard deviation of each item parameter, shares of hard, discriminating, guessable and
    negative items. `classifiers` has one row per data set and classifier: ability, true_score,
    accuracy, each with its uncertainty. After Cardoso et al. (2025).

    Parameters
    ----------
    datasets
        Sources as `load_datasets` takes them: paths, frames, "sklearn:digits", "openml:61",
        "openml-suite:99", or a mapping from names to sources; `target` names their targets.
    pool
        "paper" (120 perceptrons and 12 real classifiers calibrate; the real ones and 7 artificial
        ones are evaluated), another name in `ogive.pools.POOLS`, or your own classifiers, which
        get the columns as they are: see `run_pool`.
    model
        Response model of right and wrong; the paper uses the 3PL.
    method
        Estimate of ability: "eap", "map", "ml", "wle", or "staged" as in the paper, which updates
        the estimate over ten groups of instances of ascending difficulty.
    limits
        Limits above which an instance counts as hard, discriminating or guessable.
    test_size, max_test_size, random_state
        How data sets are split; see `split_dataset`. Classifiers use the seed as well.
    cv, time_limit, n_jobs
        How classifiers are run; see `run_pool`. With `cv=0` there is no cross-validation.
    folder
        Where each classifier is saved as soon as it has finished, so that an interrupted run can
        continue.
    cache
        Where downloads from OpenML are kept.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message): classifiers done, and which run.

    Examples
    --------
    >>> import ogive as og
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> pool = [GaussianNB(), KNeighborsClassifier(1), KNeighborsClassifier(60)]
    >>> found = og.decode_benchmark(["sklearn:iris"], pool, model="1pl", cv=0, progress=False)
    >>> found.datasets["items"].to_dict(), len(found.classifiers)
    ({'iris': 45}, 3)
    """
    _check(model, method, limits)
    chosen = find_pool(pool)
    loaded = load_datasets(datasets, target, cache=cache)
    for one in loaded:
        require_classes(one, "decode_benchmark")
    splits = [
        split_dataset(
            one, test_size=test_size, max_test_size=max_test_size, random_state=random_state
        )
        for one in loaded
    ]
    preparations = [chosen.preparation(split) for split in splits]  # fails now, not after hours
    decoder = _Decoder(model, method)
    sources: dict[str, dict[str, Any]] = {}
    with telling(progress, "Running classifiers") as told:
        combined = CombinedProgress(len(chosen.members) * len(loaded), told)
        for dataset, split, words in zip(loaded, splits, preparations, strict=True):
            answers = run_pool(
                split,
                chosen,
                folder=None if folder is None else Path(folder) / file_name_of(split.name),
                cv=cv,
                time_limit=time_limit,
                n_jobs=n_jobs,
                random_state=random_state,
                progress=combined.of(split.name, len(chosen.members)),
            )
            sources[split.name] = _source(dataset, split, words, answers)
            decoder.decode_answers(chosen, split, answers)
    found = decoder.result(limits, sources, {one.name: metadata(one) for one in loaded})
    return replace(found, notes=(*said_of_scale(chosen), *found.notes))


def decode_responses(
    tables: Mapping[str, Table],
    evaluated: Mapping[str, Table] | None = None,
    *,
    model: str | MeasurementModel = "3pl",
    method: str = "eap",
    limits: Limits | None = None,
) -> BenchmarkDecoding:
    """Decode existing responses: for each data set, a table of classifiers × test instances.

    `tables` calibrate the items. `evaluated` holds responses of the classifiers to evaluate, to the
    same instances; by default, the classifiers of `tables` are evaluated. To compare predictions
    with labels, use `Responses.from_predictions`. For `model`, `method`, `limits` and the result,
    see `decode_benchmark`.

    >>> import ogive as og
    >>> tables = {f"set {k}": og.simulate("1pl", 50, 8, random_state=k).responses for k in (1, 2)}
    >>> og.decode_responses(tables, model="1pl").datasets["items"].to_dict()
    {'set 1': 8, 'set 2': 8}
    """
    _check(model, method, limits)
    if not isinstance(tables, Mapping) or not tables:
        raise InputError(
            "tables should map names of data sets to responses, such as {'iris': responses}, "
            "and hold at least one."
        )
    judged = tables if evaluated is None else evaluated
    if lacking := [str(name) for name in tables if name not in judged]:
        raise InputError(f"evaluated lacks {listed(lacking, 'data set')} of tables. Add them.")
    if len({str(name) for name in tables}) < len(tables):
        raise InputError("Two data sets of tables have the same name as text. Rename one.")
    decoder = _Decoder(model, method)
    for name, table in tables.items():
        decoder.decode(str(name), as_responses(table), as_responses(judged[name]))
    return decoder.result(limits, {}, {})


@dataclass
class _Decoder:
    """Calibrates one data set after the other, and keeps the results."""

    model: str | MeasurementModel
    method: str
    calibrations: dict[str, Calibration] = field(default_factory=dict)
    responses: dict[str, Responses] = field(default_factory=dict)
    frames: list[pd.DataFrame] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Mapping[str, str]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)  # data set and note
    probabilities: dict[str, dict[str, Any]] = field(default_factory=dict)

    def decode_answers(self, pool: Pool, split: Split, answers: Answers) -> None:
        """Decode the answers of a pool; if that fails, leave the data set out with a note."""
        row = {name: k for k, name in enumerate(answers.members)}
        try:
            told = answers.responses(split.y_test, pool.calibrating)
            judged = answers.responses(split.y_test, pool.evaluated)
            rows = [row[name] for name in judged.respondents]
            self.decode(
                split.name,
                told,
                judged,
                labels=[split.classes[code] for code in split.y_test],
                cv_accuracy=answers.cv_accuracy[rows],
                cv_accuracy_se=answers.cv_accuracy_se[rows],
            )
            self._keep_probabilities(pool, split, answers)
        except OgiveError as error:
            self.failures[split.name] = str(error)
            self.notes.append((split.name, f"left out. {error}"))
        self.notes += [(split.name, note) for note in (*split.notes, *answers.notes)]
        self.failed |= {split.name: answers.failures} if answers.failures else {}

    def _keep_probabilities(self, pool: Pool, split: Split, answers: Answers) -> None:
        """Keep what `label_trouble` needs: class probabilities of members that calibrate."""
        wanted = set(pool.calibrating)
        if scores := {name: each for name, each in answers.scores.items() if name in wanted}:
            labels = [split.classes[code] for code in split.y_test]
            self.probabilities[split.name] = {
                "scores": scores,
                "labels": labels,
                "classes": split.classes,
            }

    def decode(
        self,
        name: str,
        told: Responses,
        judged: Responses,
        labels: list[Any] | None = None,
        **columns: Any,
    ) -> None:
        """Calibrate the items on `told`, and score the respondents of `judged`."""
        calibration = calibrate_by_rightness(told, self.model, labels=labels)
        if calibration.model.kind != "binary":
            raise InputError(
                f"'{name}' holds {told.kind} responses, but decoding a benchmark needs right and "
                "wrong. Give responses of 0 and 1."
            )
        found = judge(calibration, judged, self.method).assign(**columns)
        self.calibrations[name] = calibration
        self.responses[name] = judged
        self.frames.append(found.reset_index().assign(dataset=name))
        self.notes += [(name, note) for note in doubts(calibration, found)]

    def _gathered_notes(self) -> tuple[str, ...]:
        """What holds of several data sets is said once."""
        about: dict[str, list[str]] = {}
        for name, note in self.notes:
            about.setdefault(note, []).append(name)
        return tuple(f"{joined(names)}: {note}" for note, names in about.items())

    def result(
        self,
        limits: Limits | None,
        sources: Mapping[str, Mapping[str, Any]],
        known: Mapping[str, Mapping[str, float]],
    ) -> BenchmarkDecoding:
        """The decoding of all data sets."""
        import pandas as pd

        if not self.frames:
            raise InputError(
                f"No data set could be decoded. {next(iter(self.failures.values()), '')}"
            )
        whole = pd.concat(self.frames, ignore_index=True)
        return BenchmarkDecoding(
            calibrations=self.calibrations,
            responses=self.responses,
            classifiers=whole[["dataset", *whole.columns.drop("dataset")]],
            method=self.method,
            limits=limits or Limits(),
            sources=_frame_of(sources),
            metadata=_frame_of({name: known[name] for name in self.calibrations if name in known}),
            failures=self.failures,
            failed=self.failed,
            notes=(*self._gathered_notes(), *([OWN_SCALES] if len(self.calibrations) > 1 else [])),
            probabilities=self.probabilities,
        )


def said_of_scale(pool: Pool) -> tuple[str, ...]:
    """A note if most of those who give the scales their direction are not evaluated."""
    others = [name for name in pool.calibrating if name not in set(pool.evaluated)]
    if 2 * len(others) <= len(pool.calibrating):
        return ()
    note = (
        f"{len(others):,} of the {counted(len(pool.calibrating), 'respondent')} that give each "
        f"scale its direction are not evaluated ({', '.join(others[:2])}, ...): a classifier that "
        "is right where the better of them are right gets a higher ability and true score than one "
        "that is right as often on other instances. Compare accuracies, too."
    )
    return (note,)


def _source(dataset: Dataset, split: Split, preparation: str, answers: Answers) -> dict[str, Any]:
    return {
        "source": dataset.source,
        "train": len(split.train),
        "test": len(split.test),
        "classes": len(split.classes),
        "preprocessing": preparation,
        "failed": len(answers.failures),
    }


def _frame_of(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame.from_dict(dict(rows), orient="index").rename_axis("dataset")


def _check(model: Any, method: Any, limits: Any) -> None:
    """Refuse settings that would fail only after hours of training."""
    if method not in (*METHODS, STAGED):
        raise InputError(f"method is {method!r}; choose one of {', '.join((*METHODS, STAGED))}.")
    if limits is not None and not isinstance(limits, Limits):
        raise InputError(
            f"limits is a {type(limits).__name__}, but it should be ogive.Limits, such as "
            "Limits(difficulty=2.0)."
        )
    if model != AUTO and find_model(model).kind != "binary":
        raise InputError(
            f"model is {model!r}, but classifiers are right or wrong. Choose '1pl', '2pl', '3pl' "
            "or '4pl'."
        )
