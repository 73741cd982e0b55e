"""Decode a benchmark: how hard and how discriminating its data sets are, and who is strong on them.

This is the system of decodIRT. A data set is a test, its test instances are the items, and
classifiers are the respondents. A pool calibrates the items; each evaluated classifier gets an
ability on each data set, and a true score: the number of instances it is expected to get right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._files import PathLike, file_name_of
from ogive._progress import Progress, telling
from ogive._validation import one_of
from ogive.benchmarking.decoding import BenchmarkDecoding, Limits
from ogive.checks.residuals import informative, upright_items
from ogive.data.datasets.dataset import Dataset, Split, metadata, require_classes, split_dataset
from ogive.data.datasets.load import load_datasets
from ogive.data.pools.pool import Answers, Pool, find_pool
from ogive.data.pools.runner import CombinedProgress, run_pool
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import OPTIMAL, PESSIMAL
from ogive.errors import InputError, OgiveError
from ogive.irt.abilities import METHODS, score_abilities
from ogive.irt.calibration import Calibration
from ogive.irt.constrained_scales import MOST_NEGATIVE, calibrate_by_rightness, said_of_direction
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.alternative_engines import staged_abilities
from ogive.irt.estimation.identifiability import FEW_RESPONDENTS
from ogive.irt.expected_scores import true_scores
from ogive.irt.models import AUTO, find_model
from ogive.irt.models.base import MeasurementModel
from ogive.results.base import stacked
from ogive.results.numbers import counted, joined, listed
from ogive.stats.array_backend import Array
from ogive.stats.intervals import wilson

__all__ = ["BenchmarkDecoding", "Limits", "decode_benchmark", "decode_responses"]

STAGED = "staged"
ROUNDING = 1e-9  # differences of abilities that are rounding errors
OWN_SCALES = (
    "Data sets are ordered by chance: how likely a classifier of average ability is right on an "
    "instance. It is not share_right, the mean share of right responses over respondents of all "
    "abilities. Each data set has a scale of its own, so difficulties of different data sets are "
    "not comparable."
)


def judge(calibration: Calibration, responses: Responses, method: str = "eap") -> pd.DataFrame:
    """Return ability, true score and accuracy of each respondent on the items of one calibration.

    Columns ending in `_positive` leave out items of negative discrimination, from the ability and
    from the sum. Respondents without a response have NaN.
    """
    cells = calibration.placed(responses)
    asked = (cells >= 0).sum(axis=1)
    right = (cells == 1).sum(axis=1)
    low, high = wilson(right, asked, 0.95)
    columns: dict[str, Any] = {
        **_estimates(calibration, cells, np.ones(cells.shape[1], dtype=bool), method, ""),
        **_estimates(calibration, cells, upright_items(calibration), method, "_positive"),
        "accuracy": right / np.maximum(asked, 1),
        "accuracy_low": low,
        "accuracy_high": high,
    }
    frame = pd.DataFrame(columns, index=pd.Index(responses.respondents, name="respondent"))
    frame.loc[asked == 0] = np.nan
    return frame


def _estimates(
    calibration: Calibration, cells: Array, kept: NDArray[np.bool_], method: str, suffix: str
) -> dict[str, Any]:
    """Return ability and true score by the kept items; NaN if none is informative.

    Items that all of the pool got right, or all got wrong, count in the sum, but say nothing about
    ability: the sign of their slope is due to rounding.
    """
    estimates = (f"ability{suffix}", f"true_score{suffix}", f"true_score{suffix}_mean")
    names = [f"{name}{se}" for name in estimates for se in ("", "_se")]
    used = np.flatnonzero(kept & informative(calibration))
    if not used.size:
        return dict.fromkeys(names, np.full(len(cells), np.nan))
    model, coords = calibration.model.of_items(used), calibration.coords[used]
    if method == STAGED:
        abilities = staged_abilities(cells[:, used], model, coords)
    else:
        data = encode(cells[:, used], model, collapsing=False)
        abilities = score_abilities(data, model, coords, calibration.population, method)
    summed = np.flatnonzero(kept)
    sums = true_scores(
        calibration.model.of_items(summed),
        calibration.coords[summed],
        abilities.ability,
        abilities.se,
    )
    se, sum_se = abilities.se, sums.se
    if method != STAGED:  # these errors count the errors of the items
        bank = calibration.of_items([calibration.item_names[k] for k in used])
        codes = np.ascontiguousarray(cells[:, used])
        table = Responses.from_codes(codes, None, bank.item_names, bank.model.kind)
        se = bank.score(table, method)["se"].to_numpy()
        sum_se = bank.true_scores(table, method)["true_score_se"].to_numpy()
    means = (sums.total / summed.size, sum_se / summed.size)
    return dict(zip(names, (abilities.ability, se, sums.total, sum_se, *means), strict=True))


def _doubts(calibration: Calibration, frame: pd.DataFrame) -> Iterator[str]:
    """Yield reasons to doubt a data set, given the result of `judge`."""
    yield from said_of_direction(calibration)
    if not calibration.converged:
        yield "the calibration did not converge"
    n_respondents = round(calibration.n_respondents)
    if calibration.n_respondents < FEW_RESPONDENTS:
        yield (
            f"only {counted(n_respondents, 'classifier')} "
            f"{'calibrates' if n_respondents == 1 else 'calibrate'} it, so item "
            "parameters rest mostly on their priors"
        )
    n_negative = int((~upright_items(calibration)).sum())
    n_informative = int(informative(calibration).sum())
    negative = (
        f"{n_negative:,} of {counted(n_informative, 'instance')} on which classifiers differ "
        "discriminate negatively"
    )
    if n_negative > MOST_NEGATIVE * n_informative:
        yield f"{negative}, so its scale hardly reflects who is right more often"
    yield from _overtaken(frame, n_negative)
    score = frame["true_score"].to_dict()
    if {OPTIMAL, PESSIMAL} <= score.keys() and not score[PESSIMAL] < score[OPTIMAL]:
        yield (
            f"over all instances, the pessimal classifier has a true score of "
            f"{score[PESSIMAL]:.1f} and the optimal one {score[OPTIMAL]:.1f}, so do not compare "
            "classifiers by it"
            + (f"; {negative}, which true_score_positive leaves out" if n_negative else "")
        )


def _overtaken(frame: pd.DataFrame, n_negative: int) -> Iterator[str]:
    """Say why a respondent that has all right is not the first by ability."""
    all_right = frame[frame["accuracy"] == 1]
    if not n_negative or all_right.empty:
        return
    first = str(all_right["ability"].idxmin())
    own: Any = frame.loc[first]
    above = frame[
        (frame["accuracy"] < 1)
        & (frame["ability"] > own["ability"] + ROUNDING)
        # only those that are not above it without the items of negative discrimination
        & (frame["ability_positive"] <= own["ability_positive"] + ROUNDING)
    ]
    if not above.empty:
        yield (
            f"{first} has all right but a lower ability than {listed(list(above.index), 'other')}, "
            f"because right answers to the {counted(n_negative, 'instance')} of negative "
            "discrimination lower ability; ability_positive leaves them out"
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
        ones are evaluated), another name in `ogive.data.pools.pool.POOLS`, or your own
        classifiers, which get the columns as they are: see `run_pool`.
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
    for dataset in loaded:
        require_classes(dataset, "decode_benchmark")
    decoder = _Decoder(model, method)
    sources: dict[str, dict[str, Any]] = {}
    runs = run_datasets(
        loaded,
        chosen,
        "Running classifiers",
        test_size=test_size,
        max_test_size=max_test_size,
        folder=folder,
        progress=progress,
        cv=cv,
        time_limit=time_limit,
        n_jobs=n_jobs,
        random_state=random_state,
    )
    for split, source, answers in runs:
        sources[split.name] = source
        decoder.decode_answers(chosen, split, answers)
    decoding = decoder.result(limits, sources, {each.name: metadata(each) for each in loaded})
    return replace(decoding, notes=(*said_of_scale(chosen), *decoding.notes))


def run_datasets(
    datasets: list[Dataset],
    pool: Pool,
    title: str,
    *,
    test_size: float,
    max_test_size: int | None,
    folder: PathLike | None,
    progress: Progress | bool,
    random_state: int,
    **settings: Any,
) -> Iterator[tuple[Split, dict[str, Any], Answers]]:
    """Run a pool on each data set, and yield the split, its source and the answers.

    `settings` are those of `run_pool`.
    """
    splits = [
        split_dataset(
            each, test_size=test_size, max_test_size=max_test_size, random_state=random_state
        )
        for each in datasets
    ]
    preparations = [pool.preparation(split) for split in splits]  # fails now, not after hours
    with telling(progress, title) as report:
        combined = CombinedProgress(len(pool.members) * len(datasets), report)
        for dataset, split, preparation in zip(datasets, splits, preparations, strict=True):
            answers = run_pool(
                split,
                pool,
                folder=None if folder is None else Path(folder) / file_name_of(split.name),
                progress=combined.of(split.name, len(pool.members)),
                random_state=random_state,
                **settings,
            )
            source = {
                "source": dataset.source,
                "train": len(split.train),
                "test": len(split.test),
                "classes": len(split.classes),
                "preprocessing": preparation,
                "failed": len(answers.failures),
            }
            yield split, source, answers


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
    evaluated = tables if evaluated is None else evaluated
    if lacking := [str(name) for name in tables if name not in evaluated]:
        raise InputError(f"evaluated lacks {listed(lacking, 'data set')} of tables. Add them.")
    if len({str(name) for name in tables}) < len(tables):
        raise InputError("Two data sets of tables have the same name as text. Rename one.")
    decoder = _Decoder(model, method)
    for name, table in tables.items():
        decoder.decode(str(name), as_responses(table), as_responses(evaluated[name]))
    return decoder.result(limits, {}, {})


@dataclass
class _Decoder:
    """Calibrates one data set after the other, and keeps the results."""

    model: str | MeasurementModel
    method: str
    calibrations: dict[str, Calibration] = field(default_factory=dict)
    responses: dict[str, Responses] = field(default_factory=dict)
    frames: dict[str, pd.DataFrame] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    failed: dict[str, Mapping[str, str]] = field(default_factory=dict)
    notes: list[tuple[str, str]] = field(default_factory=list)  # data set and note
    probabilities: dict[str, dict[str, Any]] = field(default_factory=dict)

    def decode_answers(self, pool: Pool, split: Split, answers: Answers) -> None:
        """Decode the answers of a pool; if that fails, leave the data set out with a note."""
        row = {name: k for k, name in enumerate(answers.members)}
        labels = [split.classes[code] for code in split.y_test]
        try:
            calibrating = answers.responses(split.y_test, pool.calibrating)
            evaluated = answers.responses(split.y_test, pool.evaluated)
            rows = [row[name] for name in evaluated.respondents]
            self.decode(
                split.name,
                calibrating,
                evaluated,
                labels=labels,
                cv_accuracy=answers.cv_accuracy[rows],
                cv_accuracy_se=answers.cv_accuracy_se[rows],
            )
            # `label_trouble` needs the class probabilities of members that calibrate
            used = set(pool.calibrating)
            if scores := {name: each for name, each in answers.scores.items() if name in used}:
                kept = {"scores": scores, "labels": labels, "classes": split.classes}
                self.probabilities[split.name] = kept
        except OgiveError as error:
            self.failures[split.name] = str(error)
            self.notes.append((split.name, f"left out. {error}"))
        self.notes += [(split.name, note) for note in (*split.notes, *answers.notes)]
        self.failed |= {split.name: answers.failures} if answers.failures else {}

    def decode(
        self,
        name: str,
        calibrating: Responses,
        evaluated: Responses,
        labels: list[Any] | None = None,
        **columns: Any,
    ) -> None:
        """Calibrate the items on some responses, and score the respondents of others."""
        calibration = calibrate_by_rightness(calibrating, self.model, labels=labels)
        if calibration.model.kind != "binary":
            raise InputError(
                f"'{name}' holds {calibrating.kind} responses, but decoding a benchmark needs "
                "right and wrong. Give responses of 0 and 1."
            )
        frame = judge(calibration, evaluated, self.method).assign(**columns)
        self.calibrations[name] = calibration
        self.responses[name] = evaluated
        self.frames[name] = frame
        self.notes += [(name, note) for note in _doubts(calibration, frame)]

    def result(
        self,
        limits: Limits | None,
        sources: Mapping[str, Mapping[str, Any]],
        known: Mapping[str, Mapping[str, float]],
    ) -> BenchmarkDecoding:
        """Return the decoding of all data sets."""
        if not self.frames:
            raise no_dataset_decoded(self.failures)

        return BenchmarkDecoding(
            calibrations=self.calibrations,
            responses=self.responses,
            classifiers=stacked("dataset", self.frames),
            method=self.method,
            limits=limits or Limits(),
            sources=frame_by_dataset(sources),
            metadata=frame_by_dataset({k: known[k] for k in self.calibrations if k in known}),
            failures=self.failures,
            failed=self.failed,
            notes=(
                *gathered_notes(self.notes),
                *((OWN_SCALES,) if len(self.calibrations) > 1 else ()),
            ),
            probabilities=self.probabilities,
        )


def gathered_notes(notes: list[tuple[str, str]]) -> list[str]:
    """Return each note once, after the names of all data sets it holds for."""
    names: dict[str, list[str]] = {}
    for name, note in notes:
        names.setdefault(note, []).append(name)
    return [f"{joined(which)}: {note}" for note, which in names.items()]


def said_of_scale(pool: Pool) -> tuple[str, ...]:
    """Return a note if most of those who give the scales their direction are not evaluated."""
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


def frame_by_dataset(rows: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Return one row per data set."""
    return pd.DataFrame.from_dict(dict(rows), orient="index").rename_axis("dataset")


def no_dataset_decoded(failures: Mapping[str, str]) -> InputError:
    """Return the error that names the first reason why no data set is left."""
    return InputError(f"No data set could be decoded. {next(iter(failures.values()), '')}")


def _check(model: Any, method: Any, limits: Any) -> None:
    """Refuse settings that would fail only after hours of training."""
    one_of(method, "method", (*METHODS, STAGED))
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
