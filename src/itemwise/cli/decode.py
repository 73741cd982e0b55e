"""`itemwise decode`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from itemwise.cli.console import Console, Report, time_left
from itemwise.cli.errors import NOT_CONVERGED
from itemwise.cli.options import Jobs, Json, Model, Pool, Quiet, Seed, choice
from itemwise.files import make_folder
from itemwise.scoring import METHODS

if TYPE_CHECKING:
    from itemwise.report import Chapters
    from itemwise.studies import BenchmarkDecoding

ROWS = 12
# Named here, since importing the studies would slow down every command.
ORDERS = (
    *("difficulty", "discrimination", "difficulty-deviation", "discrimination-deviation"),
    "given",
)

Sources = Annotated[
    list[str],
    typer.Argument(
        help="Data sets: data.csv#target, .parquet, .arff, sklearn:digits, openml:61, "
        "openml-task:31, openml-suite:99.",
        show_default=False,
    ),
]
Out = Annotated[
    Path, typer.Option("--out", "-o", help="Folder for tables, figures, banks and answers.")
]
Target = Annotated[
    str | None, typer.Option(help="Column of the class, if all files call it alike.")
]
Staged = Annotated[
    str,
    choice(
        "--method",
        names=(*METHODS, "staged"),
        text="Estimate of ability; staged: that of the paper.",
    ),
]
TestShare = Annotated[float, typer.Option(help="Share of instances to test on.")]
MostTest = Annotated[int, typer.Option(min=1, help="Most instances to test on.")]
Folds = Annotated[int, typer.Option(min=0, help="Of cross-validation; 0 for none.")]
TimeLimit = Annotated[
    float | None, typer.Option(help="Seconds that one classifier may take.", show_default="none")
]
Order = Annotated[
    str, choice("--order", names=ORDERS, text="Order of the data sets in the tournament.")
]
Tolerance = Annotated[
    float, typer.Option(min=0.0, help="True scores at most this far apart are a draw.")
]
Size = Annotated[
    float | None,
    typer.Option(
        help="How many data sets to choose, or which share of them.", show_default="as few as do"
    ),
]
AsResponses = Annotated[
    bool,
    typer.Option("--responses", help="The files are tables of right and wrong; nothing is run."),
]


def decode(
    datasets: Sources,
    pool: Pool = "paper",
    out: Out = Path("itemwise-decode"),
    target: Target = None,
    model: Model = "3pl",
    method: Staged = "eap",
    test_share: TestShare = 0.3,
    most_test: MostTest = 500,
    folds: Folds = 10,
    time_limit: TimeLimit = None,
    order: Order = "difficulty",
    tolerance: Tolerance = 0.0,
    size: Size = None,
    responses: AsResponses = False,
    jobs: Jobs = -1,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Decode a benchmark: which data sets are hard, which instances are suspect, who is strongest.

    A pool of classifiers answers the test part of each data set. Each finished classifier is kept
    in the folder: the same command goes on where it was stopped.
    """
    folder = make_folder(out)
    from itemwise.report import read_benchmark, write_benchmark
    from itemwise.studies import decode_benchmark

    console = Console(quiet, json)
    if responses:
        found = _decode_tables(datasets, model, method, console)
    else:
        with console.progress("Running classifiers") as report, resumable(console):
            found = decode_benchmark(
                datasets,
                pool,
                target=target,
                model=model,
                method=method,
                test_share=test_share,
                most_test=most_test,
                folds=folds,
                time_limit=time_limit,
                folder=folder / "answers",
                n_jobs=jobs,
                random_state=seed,
                progress=told(report),
            )
    with console.progress("Comparing and drawing"):
        chapters = read_benchmark(
            found, order=order, tolerance=tolerance, size=_count_or_share(size), random_state=seed
        )
        files = write_benchmark(chapters, folder)
    show_decoding(console, chapters, folder)
    finished(console, chapters, folder, files)


def show_decoding(console: Console, chapters: Chapters, folder: Path) -> None:
    """What was found, for a person."""
    columns = ["items", "difficulty_mean", "discrimination_mean", "share_negative"]
    console.say("Data sets, the hardest first:")
    console.show(chapters.decoding.to_frame()[columns].head(ROWS).round(2))
    console.say()
    for name, sentence in chapters.sentences.items():
        console.say(f"{name}: {sentence}")
    for name, reason in chapters.missing.items():
        console.say(f"{name}: none. {reason}")
    for note in chapters.decoding.notes:
        console.say(f"- {note}")
    console.say(f"Tables and figures: {folder}")


def finished(
    console: Console, chapters: Chapters, folder: Path, files: list[Path], **more: Any
) -> None:
    """The document that --json asks for, and the exit code."""
    found = chapters.decoding
    console.document(
        {
            "out": folder,
            "files": files,
            "meaning": chapters.sentences,
            "missing": chapters.missing,
            "failures": found.failures,
            "notes": found.notes,
            "datasets": found.to_frame(),
            **more,
        }
    )
    if not found.datasets["converged"].all():
        raise typer.Exit(NOT_CONVERGED)


def _decode_tables(
    paths: list[str], model: str, method: str, console: Console
) -> BenchmarkDecoding:
    from itemwise.datasets.files import name_of
    from itemwise.responses import read_responses
    from itemwise.studies import decode_responses

    with console.progress("Calibrating"):
        tables = {name_of(path): read_responses(path, kind="binary") for path in paths}
        return decode_responses(tables, model=model, method=method)


def told(report: Report) -> Callable[[int, int, str, float | None], None]:
    """Members that run, and how long the rest takes, on one line."""

    def tell(done: int, total: int, running: str, left: float | None) -> None:
        report(done, "; ".join(filter(None, (running, time_left(left)))), total)

    return tell


def _count_or_share(size: float | None) -> float | None:
    """A whole number of data sets, or a share of them."""
    return int(size) if size is not None and size.is_integer() else size


@contextmanager
def resumable(console: Console) -> Iterator[None]:
    """Say after Ctrl-C that nothing finished is lost."""
    try:
        yield
    except KeyboardInterrupt:
        console.remark("Finished classifiers are kept: the same command goes on from here.")
        raise
