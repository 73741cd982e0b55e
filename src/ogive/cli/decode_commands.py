"""Commands about benchmarks of data sets: decode, demo."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.benchmarking import ORDERS, SCORES
from ogive.cli.application import resumable
from ogive.cli.output import ALL, Console
from ogive.cli.sources import (
    NOT_CONVERGED,
    Jobs,
    Json,
    Quiet,
    RandomState,
    choice,
    finish,
    out_folder,
    page_of,
    write_page,
)
from ogive.data.pools.pool import POOLS
from ogive.errors import InputError
from ogive.irt.abilities import METHODS
from ogive.irt.models import MODELS
from ogive.results.numbers import repeated

if TYPE_CHECKING:
    from ogive.reporting.chapters import Chapters
    from ogive.benchmarking.decoder import BenchmarkDecoding, Limits
    from ogive.data.datasets.dataset import Dataset


MOST_DATASETS = 1_000_000
CHANCE_SAID = (
    "The hardest first. chance: how likely a classifier of average ability is right on an "
    "instance; share_right: the mean of all respondents of the scale."
)
Sources = Annotated[
    list[str],
    typer.Argument(
        help="Data sets: data.csv#target, .parquet, .arff, sklearn:digits, openml:61, "
        "openml-task:31, openml-suite:99.",
        show_default=False,
    ),
]
FOLDER, DEMO_FOLDER = "ogive-decode", "ogive-demo"
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder for tables, figures, item banks, answers and a page.",
        show_default=FOLDER,
    ),
]
Target = Annotated[
    str | None,
    typer.Option(help="Column that holds the class, if it has the same name in all files."),
]
Binary = Annotated[
    str,
    choice(
        "--model",
        "-m",
        names=[name for name, model in MODELS.items() if model().kind == "binary"],
        text="Measurement model of the items.",
    ),
]
Staged = Annotated[
    str,
    choice(
        "--method",
        names=(*METHODS, "staged"),
        text="Ability estimate; staged: as in the paper.",
    ),
]
TestSize = Annotated[float, typer.Option(help="Share of instances to test on.")]
MaxTestSize = Annotated[int, typer.Option(min=1, help="Maximum number of test instances.")]
Folds = Annotated[int, typer.Option(min=0, help="Folds of the cross-validation; 0 for none.")]
TimeLimit = Annotated[
    float | None,
    typer.Option(help="Time limit for one classifier, in seconds.", show_default="none"),
]
Order = Annotated[
    str, choice("--order", names=ORDERS, text="Order of the data sets in the tournament.")
]
Score = Annotated[
    str,
    choice(
        "--score",
        names=SCORES,
        text="Score that decides games; positive: without items of negative discrimination.",
    ),
]
Hard = Annotated[float, typer.Option(help="Difficulty above which an instance is hard.")]
Discriminating = Annotated[
    float, typer.Option(help="Discrimination above which an instance counts as discriminating.")
]
Guessable = Annotated[
    float, typer.Option(help="Guessing above which an instance counts as easy to guess.")
]
Tolerance = Annotated[
    float, typer.Option(min=0.0, help="True scores at most this far apart are a draw.")
]
Size = Annotated[
    float | None,
    typer.Option(
        help="How many data sets to choose, or which share of them.",
        show_default="the fewest that are enough",
    ),
]
AsResponses = Annotated[
    bool,
    typer.Option("--responses", help="The files are tables of right and wrong; nothing is run."),
]
Pool = Annotated[
    str, choice("--pool", names=POOLS, text="Pool of classifiers that answer the items.")
]


def decode(
    datasets: Sources,
    pool: Pool = "paper",
    out: Out = None,
    target: Target = None,
    model: Binary = "3pl",
    method: Staged = "eap",
    test_size: TestSize = 0.3,
    max_test_size: MaxTestSize = 500,
    cv: Folds = 10,
    time_limit: TimeLimit = None,
    hard: Hard = 1.0,
    discriminating: Discriminating = 0.75,
    guessable: Guessable = 0.2,
    order: Order = "difficulty",
    score: Score = SCORES[0],
    tolerance: Tolerance = 0.0,
    size: Size = None,
    responses: AsResponses = False,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Decode a benchmark: which data sets are hard, which instances are suspect, who is strongest.

    A pool of classifiers answers the test part of each data set. Each finished classifier is kept
    in the folder: the same command resumes an interrupted run.
    """
    wanted, folder = _count_or_share(size), out_folder(out or Path(FOLDER))
    from ogive.reporting.chapters import read_benchmark
    from ogive.benchmarking.decoder import Limits, decode_benchmark
    from ogive.reporting.exports import write_folder

    console = Console(quiet, json)
    if pool == "regressors" and not responses:
        _decode_regression(
            console,
            datasets,
            folder,
            named=out is not None,
            target=target,
            test_size=test_size,
            max_test_size=max_test_size,
            time_limit=time_limit,
            n_jobs=jobs,
            random_state=random_state,
        )
        return
    limits = Limits(hard, discriminating, guessable)
    if responses:
        found = _decode_tables(datasets, model, method, limits, console)
    else:
        with console.progress("Running classifiers") as report, resumable():
            found = decode_benchmark(
                datasets,
                pool,
                target=target,
                model=model,
                method=method,
                limits=limits,
                test_size=test_size,
                max_test_size=max_test_size,
                cv=cv,
                time_limit=time_limit,
                folder=folder / "answers",
                n_jobs=jobs,
                random_state=random_state,
                progress=report,
            )
    with console.progress("Comparing and drawing"), resumable(kept=not responses):
        chapters = read_benchmark(
            found,
            order=order,
            score=score,
            tolerance=tolerance,
            size=wanted,
            random_state=random_state,
        )
        files = write_folder(chapters.contents(), folder)
        settings = {
            "pool": None if responses else pool,
            "model": model,
            "random_state": random_state,
        }
        behind = None if responses else _instances(datasets, target)
        files.append(write_page(folder, chapters, "Decoded benchmark", settings, behind))
    show_decoding(console, chapters, folder, out)
    console.speaker(out)(f"Report: {page_of(folder)}")
    finished(console, chapters, folder, files)


def _decode_regression(
    console: Console, datasets: list[str], folder: Path, *, named: bool, **settings: Any
) -> None:
    """Run regressors on data sets with numbers to predict."""
    from ogive.benchmarking.regression_decoding import decode_regression

    with console.progress("Running regressors") as report, resumable():
        found = decode_regression(datasets, folder=folder / "answers", progress=report, **settings)
    shown = {"pool": "regressors", "random_state": settings["random_state"]}
    finish(console, found, folder, "Decoded regression", shown, named=named)


def show_decoding(console: Console, chapters: Chapters, folder: Path, out: Path | None) -> None:
    """Print what was found; `folder` has it all, which --out may have named."""
    columns = ["items", "chance", "chance_se", "share_right", "share_right_se"]
    columns += ["discrimination_mean", "share_negative"]
    frame, say = chapters.decoding.to_frame(), console.speaker(out)
    for place, (name, (meaning, *notes)) in enumerate(chapters.sentences.items()):
        say(f"{name}: {meaning}")
        if place == 0 and console.gives_csv(out):
            console.table(frame)
        elif place == 0:
            console.say(f"\n{CHANCE_SAID}")
            console.show(frame[columns], whole=frame, rest=ALL)
            console.say()
        for note in notes:
            say(f"  - {note}")
    for name, reason in chapters.missing.items():
        say(f"{name}: none. {reason}")
    say(f"Tables and figures: {folder}")


def finished(
    console: Console, chapters: Chapters, folder: Path, files: list[Path], **more: Any
) -> None:
    """Print the document of --json, and set the exit code."""
    found = chapters.decoding
    console.document(
        {
            "out": folder,
            "files": files,
            "meaning": chapters.sentences,
            "missing": chapters.missing,
            "failures": found.failures,
            "failed": found.failed,
            "datasets": found.to_frame(),
            **more,
        }
    )
    if not found.datasets["converged"].all():
        raise typer.Exit(NOT_CONVERGED)


def _decode_tables(
    paths: list[str], model: str, method: str, limits: Limits, console: Console
) -> BenchmarkDecoding:
    from ogive.benchmarking.decoder import decode_responses
    from ogive.data.response_files import read_responses
    from ogive.data.table_files import name_of

    names = [name_of(path) for path in paths]
    if twice := repeated(names):
        raise InputError(f"Two files are called '{twice[0]}'. Rename one of them.")
    with console.progress("Calibrating"):
        tables = [read_responses(path, kind="binary") for path in paths]
        named = dict(zip(names, tables, strict=True))
        return decode_responses(named, model=model, method=method, limits=limits)


def _instances(sources: list[str], target: str | None) -> dict[str, Dataset]:
    """Load the data sets again, for the rows behind their items."""
    from ogive.data.datasets.load import load_datasets

    return {one.name: one for one in load_datasets(sources, target)}


def _count_or_share(size: float | None) -> float | None:
    """Return a number of data sets, or a share of them."""
    if size is None or 0 < size < 1:
        return size
    if not size.is_integer() or not 1 <= size <= MOST_DATASETS:
        raise InputError(
            f"--size is {size:g}, but it should be a number of data sets, or a share such as 0.5."
        )
    return int(size)


def demo(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            help="Folder to write to; created if missing.",
            show_default=DEMO_FOLDER,
        ),
    ] = None,
    jobs: Jobs = -1,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Decode the data sets of scikit-learn, some of their labels changed on purpose.

    Trains 132 classifiers on each of seven data sets: which data sets are hard, which labels look
    wrong, who is strongest, which data sets are enough. Then a tour of all other questions: a
    leaderboard, short and adaptive benchmarks, the confusion matrix, a portfolio, predicted
    difficulty, capability. Writes tables, figures, item banks and one page that shows it all.
    Takes a minute or two and needs no network.
    """
    folder = out_folder(out or Path(DEMO_FOLDER))
    from ogive.reporting.chapters import read_benchmark
    from ogive.reporting.demo import demonstrate
    from ogive.reporting.exports import write_folder

    console = Console(quiet, json)
    with console.progress("Running classifiers") as report, resumable():
        found = demonstrate(
            folder / "answers", n_jobs=jobs, random_state=random_state, progress=report
        )
    with console.progress("Comparing and drawing"), resumable():
        chapters = read_benchmark(found.decoding)
        files = write_folder(chapters.contents(), folder)
        settings = {"labels changed on purpose": len(found.changed), "random_state": random_state}
        shown = [chapters, found.tour(), found.section()]
        page = write_page(folder, shown, "Ogive demonstration", settings, found.datasets)
    show_decoding(console, chapters, folder, out)
    say = console.speaker(out)
    if console.gives_csv(out):
        say(found.meaning)
    else:
        say(f"\n{found.meaning} Strong and weak classifiers are right on them this often:")
        console.show(found.suspects)
    say(f"Report: {page}")
    finished(console, chapters, folder, [*files, page], changed=found.changed)
