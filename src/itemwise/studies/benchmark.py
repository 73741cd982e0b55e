"""Decode a benchmark: how hard and how discriminating its data sets are, and who is strong on them.

The system of decodIRT. A data set is a test, its test instances are the items, classifiers are the
respondents. A pool calibrates the items; the classifiers that are evaluated get an ability on each
data set, and a true score: how many instances their ability makes them likely to get right.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.datasets import Dataset, Split, load_datasets, metadata, split_dataset
from itemwise.errors import InputError, ItemwiseError
from itemwise.estimation import calibrate
from itemwise.files import file_name_of
from itemwise.models import MeasurementModel
from itemwise.pools import Answers, Pool, find_pool, run_pool
from itemwise.pools.paper import OPTIMAL, PESSIMAL
from itemwise.responses import Responses, Table, as_responses
from itemwise.responses.encoding import encode
from itemwise.scoring import METHODS, score_abilities, staged_abilities
from itemwise.scoring.scores import true_scores
from itemwise.studies.decoding import BenchmarkDecoding, Limits, upright_items
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from itemwise.files import PathLike
    from itemwise.numerics.arrays import Array

STAGED = "staged"

# Called with how many members of all data sets are done, how many there are, what runs, and the
# seconds left (None before the first is done).
Progress = Callable[[int, int, str, float | None], None]


def decode_benchmark(
    datasets: Any,
    pool: Any = "paper",
    *,
    target: str | Mapping[str, str] | None = None,
    model: str | MeasurementModel = "3pl",
    method: str = "eap",
    limits: Limits | None = None,
    test_share: float = 0.3,
    most_test: int | None = 500,
    folds: int = 10,
    time_limit: float | None = None,
    folder: PathLike | None = None,
    cache: PathLike | None = None,
    n_jobs: int | None = None,
    random_state: int = 0,
    progress: Progress | None = None,
) -> BenchmarkDecoding:
    """Let a pool of classifiers answer the test part of each data set, and calibrate the answers.

    Parameters
    ----------
    datasets
        Sources as `load_datasets` takes them: paths, frames, "sklearn:digits", "openml:61",
        "openml-suite:99", or a mapping from names to sources; `target` names their targets.
    pool
        "paper" (120 perceptrons and 12 real classifiers calibrate; the real ones and 7 artificial
        ones are evaluated), another name in `itemwise.pools.POOLS`, or your own classifiers.
    model
        Of right and wrong; the paper's is the 3PL.
    method
        Of abilities: "eap", "map", "ml", "wle", or "staged" as in the paper: instances in ten
        groups of ascending difficulty, of which each moves the estimate.
    limits
        From where on an instance is hard, discriminating, guessable.
    test_share, most_test, random_state
        How data sets are split; see `split_dataset`. The seed also goes to the classifiers.
    folds, time_limit, n_jobs
        How classifiers are run; see `run_pool`. 0 folds leave out cross-validation.
    folder
        Where each finished classifier is written at once, so that a run that was stopped goes on.
    cache
        Where downloads of OpenML are kept.
    progress
        Called with how many classifiers are done, how many there are, which run, and the seconds
        left.
    """
    _check_method(method)
    chosen = find_pool(pool)
    loaded = load_datasets(datasets, target, cache=cache)
    splits = [
        split_dataset(one, test_share=test_share, most_test=most_test, random_state=random_state)
        for one in loaded
    ]
    clock = _Clock(len(chosen.members), len(loaded), progress)
    decoder = _Decoder(model, method)
    sources: dict[str, dict[str, Any]] = {}
    for dataset, split in zip(loaded, splits, strict=True):
        answers = run_pool(
            split,
            chosen,
            folder=None if folder is None else Path(folder) / file_name_of(split.name),
            folds=folds,
            time_limit=time_limit,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=clock.of(split.name),
        )
        sources[split.name] = _source(dataset, split, answers)
        decoder.decode_answers(chosen, split, answers)
    return decoder.result(limits, sources, {one.name: metadata(one) for one in loaded})


def decode_responses(
    tables: Mapping[str, Table],
    evaluated: Mapping[str, Table] | None = None,
    *,
    model: str | MeasurementModel = "3pl",
    method: str = "eap",
    limits: Limits | None = None,
) -> BenchmarkDecoding:
    """Decode responses that are already there: by data set, classifiers × test instances.

    `tables` calibrate the items. `evaluated` holds the responses of the classifiers to be judged,
    to the same instances; left out, the classifiers of `tables` are judged. For predictions made
    elsewhere, `Responses.from_predictions` compares them with the labels. For the rest see
    `decode_benchmark`.
    """
    _check_method(method)
    if not isinstance(tables, Mapping) or not tables:
        raise InputError(
            "tables should map names of data sets to responses, such as {'iris': responses}, "
            "and hold at least one."
        )
    judged = tables if evaluated is None else evaluated
    if lacking := [str(name) for name in tables if name not in judged]:
        raise InputError(f"evaluated lacks {listed(lacking, 'data set')} of tables. Add them.")
    decoder = _Decoder(model, method)
    for name, table in tables.items():
        decoder.decode(str(name), as_responses(table), as_responses(judged[name]))
    return decoder.result(limits, {}, {})


@dataclass
class _Decoder:
    """Calibrates one data set after the other, and keeps what was found."""

    model: str | MeasurementModel
    method: str
    calibrations: dict[str, Calibration] = field(default_factory=dict)
    responses: dict[str, Responses] = field(default_factory=dict)
    frames: list[pd.DataFrame] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def decode_answers(self, pool: Pool, split: Split, answers: Answers) -> None:
        """Decode what a pool answered; a data set on which it failed is told and left out."""
        try:
            told = answers.responses(split.y_test, pool.calibrating)
            judged = answers.responses(split.y_test, pool.evaluated)
        except ItemwiseError as error:
            self.failures[split.name] = str(error)
            self.notes.append(f"{split.name}: left out. {error}")
            return
        accuracy = dict(zip(answers.members, answers.cv_accuracy, strict=True))
        error_of = dict(zip(answers.members, answers.cv_accuracy_se, strict=True))
        names = judged.respondents
        self.decode(
            split.name,
            told,
            judged,
            cv_accuracy=np.array([accuracy[name] for name in names]),
            cv_accuracy_se=np.array([error_of[name] for name in names]),
        )
        self.notes += [f"{split.name}: {note}" for note in (*split.notes, *answers.notes)]

    def decode(self, name: str, told: Responses, judged: Responses, **columns: Any) -> None:
        """Calibrate the items by those who tell of them, and place those who are judged."""
        calibration = calibrate(told, self.model)
        if calibration.model.kind != "binary":
            raise InputError(
                f"'{name}' holds {told.kind} responses, but decoding a benchmark is about right "
                "and wrong. Give responses of 0 and 1."
            )
        found = judge(calibration, judged, self.method).assign(**columns)
        self.calibrations[name] = calibration
        self.responses[name] = judged
        self.frames.append(found.reset_index().assign(dataset=name))
        self.notes += [f"{name}: {note}" for note in _doubts(calibration, found)]

    def result(
        self,
        limits: Limits | None,
        sources: Mapping[str, Mapping[str, Any]],
        known: Mapping[str, Mapping[str, float]],
    ) -> BenchmarkDecoding:
        """All that was found."""
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
            notes=tuple(self.notes),
        )


def judge(calibration: Calibration, responses: Responses, method: str = "eap") -> pd.DataFrame:
    """Ability, true score and accuracy of each respondent on the items of one calibration.

    What ends in `_positive` leaves out items of negative discrimination, from the ability and
    from the sum.
    """
    import pandas as pd

    upright = upright_items(calibration)
    cells = calibration.placed(responses)
    asked = np.maximum((cells >= 0).sum(axis=1), 1)
    accuracy = (cells == 1).sum(axis=1) / asked
    columns: dict[str, Any] = {
        **_standing(calibration, cells, np.arange(upright.size), method, ""),
        **_standing(calibration, cells, np.flatnonzero(upright), method, "_positive"),
        "accuracy": accuracy,
        "accuracy_se": np.sqrt(accuracy * (1 - accuracy) / asked),
    }
    return pd.DataFrame(columns, index=pd.Index(responses.respondents, name="respondent"))


def _standing(
    calibration: Calibration, cells: Array, kept: NDArray[np.intp], method: str, ending: str
) -> dict[str, Any]:
    """Ability and true score by the kept items alone; NaN where none is kept."""
    names = [f"{name}{ending}" for name in ("ability", "true_score", "true_score_mean")]
    if not kept.size:
        return {f"{name}{se}": np.full(len(cells), np.nan) for name in names for se in ("", "_se")}
    model, coords, part = calibration.model.of_items(kept), calibration.coords[kept], cells[:, kept]
    found = (
        staged_abilities(part, model, coords)
        if method == STAGED
        else score_abilities(
            encode(part, model, collapsing=False), model, coords, calibration.population, method
        )
    )
    sums = true_scores(model, coords, found.ability, found.se)
    values = (
        (found.ability, found.se),
        (sums.total, sums.se),
        (sums.total / kept.size, sums.se / kept.size),
    )
    return {
        f"{name}{se}": value
        for name, pair in zip(names, values, strict=True)
        for se, value in zip(("", "_se"), pair, strict=True)
    }


def _doubts(calibration: Calibration, found: pd.DataFrame) -> Iterator[str]:
    """What should make a reader doubt a data set."""
    if not calibration.converged:
        yield "the calibration did not converge"
    upright = upright_items(calibration)
    if 2 * upright.sum() < upright.size:
        yield (
            f"{int((~upright).sum()):,} of {counted(upright.size, 'instance')} discriminate "
            "negatively, so its scale hardly tells who is right more often"
        )
    if not {OPTIMAL, PESSIMAL} <= set(found.index):
        return
    score = found["true_score"].to_dict()
    best, worst = score[OPTIMAL], score[PESSIMAL]
    if worst >= best:
        yield (
            f"the pessimal classifier has a true score of {worst:.1f}, the optimal one {best:.1f}: "
            f"{int((~upright).sum()):,} of {counted(upright.size, 'instance')} discriminate "
            "negatively, so this data set is unfit to compare classifiers. Use "
            "true_score_positive, which leaves these instances out"
        )


def _source(dataset: Dataset, split: Split, answers: Answers) -> dict[str, Any]:
    return {
        "source": dataset.source,
        "train": len(split.train),
        "test": len(split.test),
        "classes": len(split.classes),
        "preprocessing": split.preprocessing,
        "failed": len(answers.failures),
    }


def _frame_of(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame.from_dict(dict(rows), orient="index").rename_axis("dataset")


def _check_method(method: Any) -> None:
    if method not in (*METHODS, STAGED):
        raise InputError(f"method is {method!r}; choose one of {', '.join((*METHODS, STAGED))}.")


@dataclass
class _Clock:
    """Tells how far a benchmark is, from what its data sets tell one after the other."""

    members: int
    datasets: int
    progress: Progress | None
    finished: int = 0  # data sets
    made: int = 0  # members that this run made; stored ones cost nothing
    begin: float = field(default_factory=time.monotonic)

    def of(self, name: str) -> Progress | None:
        """What `run_pool` calls for one data set."""
        if self.progress is None:
            return None
        tell, before = self.progress, self.finished * self.members
        stored: list[int] = []

        def report(done: int, _total: int, running: str, _left: float | None) -> None:
            if not stored:
                stored.append(done)
            made = self.made + done - stored[0]
            total = self.members * self.datasets
            gone = time.monotonic() - self.begin
            left = gone / made * (total - before - done) if made else None
            tell(before + done, total, f"{name}: {running}" if running else name, left)
            if done == self.members:
                self.finished, self.made = self.finished + 1, made

        return report
