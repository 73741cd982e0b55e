"""Commands about benchmarks of data sets: decode, demo, confusion, tournament."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ogive.cli.application import resumable
from ogive.cli.output import ALL, PAGE, Console, end, finish, write_files, write_page
from ogive.cli.signature import Call, command
from ogive.cli.sources import (
    FIGURE,
    JOBS,
    LAYOUT,
    SCORES,
    SEED,
    SOURCE,
    TABLE,
    Parameter,
    argument,
    option,
    out_folder,
    output_file,
    output_folder,
    read_order,
)
from ogive.errors import InputError
from ogive.irt.abilities import METHODS
from ogive.irt.models import MODELS
from ogive.results.numbers import repeated

if TYPE_CHECKING:
    from ogive.reporting.chapters import Chapters


@command(
    "ogive.benchmarking.glicko_tournament:tournament",
    responses=SCORES,
    order=Parameter(
        "'given', or a file with one item per line, or an item and a number to sort by.",
        str,
        "given",
        reads=SOURCE,
    ),
    tolerance=option("Scores at most this far apart are a draw.", min=0.0),
    tau="How fast volatility may change; above 0. Without it, 0.5, or less where needed.",
    out=output_file("Table of final ratings to write, .csv or .parquet.", TABLE),
    history=output_file("Table of the ratings after every period to write.", TABLE),
    figure=output_file("Figure of the final ratings, .png, .svg or .pdf.", FIGURE),
    bump=output_file("Figure of the ranks over the periods.", FIGURE),
    layout=LAYOUT,
)
def tournament(call: Call) -> None:
    """Rate respondents by Glicko-2: every item is a round robin, the higher score wins.

    Without --out, the final ratings are printed as CSV.
    """
    from ogive.data.response_files import read_responses

    table = read_responses(call.responses, kind="continuous", layout=call.layout)
    order = None if call.order == "given" else read_order(call.order)
    with call.console.progress(f"Playing {call.responses.name}"):
        result = call.function(table, **call.arguments | {"order": order})
    ratings = result.to_frame()
    files = {
        "Ratings": (call.out, lambda: ratings),
        "History": (call.history, lambda: result.history().set_index("period")),
        "Figure": (call.figure, lambda: result.plot(kind="ratings")),
        "Figure of ranks": (call.bump, lambda: result.plot(kind="ranks")),
    }
    call.console.finding(
        result,
        ratings,
        call.out,
        written=write_files(files),
        tolerance=call.tolerance,
        tau=result.tau,
        items=result.items,
        ratings=ratings,
    )


# Classifiers on data sets: decode, demo, confusion.

DECODED, SHOWN, CONFUSED = "ogive-decode", "ogive-demo", "ogive-confusion"  # folders
MOST_DATASETS = 1_000_000
REGRESSORS = "regressors"
BINARY = tuple(name for name, model in MODELS.items() if model().kind == "binary")
CHANCE_TEXT = (
    "The hardest first. chance: how likely a classifier of average ability is right on an "
    "instance; share_right: the mean of all respondents of the scale."
)

TARGET = option("Column that holds the class, if it has the same name in all files.", str)
BINARY_MODEL = option("Measurement model of the items.", str, "3pl", BINARY)
TEST_SIZE = option("Share of instances to test on.", float, 0.3)
TIME_LIMIT = option("Time limit for one classifier, in seconds.", float, show_default="none")
POOL = option("Pool of classifiers that answer the items.", names="ogive.data.pools.pool:POOLS")
# Settings of runs that classifiers and regressors share.
RUN = ("target", "test_size", "max_test_size", "time_limit", "random_state")


@command(
    "ogive.benchmarking.decoder:decode_benchmark",
    datasets=argument(
        "Data sets: data.csv#target, .parquet, .arff, sklearn:digits, openml:61, "
        "openml-task:31, openml-suite:99.",
        list[str],
        show_default=False,
    ),
    pool=POOL,
    out=output_folder("Folder for tables, figures, item banks, answers and a page.", DECODED),
    target=TARGET,
    model=BINARY_MODEL,
    method=option("Ability estimate; staged: as in the paper.", str, "eap", (*METHODS, "staged")),
    test_size=TEST_SIZE,
    max_test_size=option("Maximum number of test instances.", int, 500, min=1),
    cv=option("Folds of the cross-validation; 0 for none.", min=0),
    time_limit=TIME_LIMIT,
    hard=option("Difficulty above which an instance is hard.", float, 1.0),
    discriminating=option(
        "Discrimination above which an instance counts as discriminating.", float, 0.75
    ),
    guessable=option("Guessing above which an instance counts as easy to guess.", float, 0.2),
    order=option(
        "Order of the data sets in the tournament.", str, "difficulty", "ogive.benchmarking:ORDERS"
    ),
    score=option(
        "Score that decides games; positive: without items of negative discrimination.",
        str,
        "true_score_positive",
        "ogive.benchmarking:SCORES",
    ),
    tolerance=option("True scores at most this far apart are a draw.", float, 0.0, min=0.0),
    size=option(
        "How many data sets to choose, or which share of them.",
        float,
        show_default="the fewest that are enough",
    ),
    responses=Parameter(
        "The files are tables of right and wrong; nothing is run.",
        bool,
        False,
        flags=("--responses",),
    ),
    jobs=JOBS,
    random_state=SEED,
)
def decode(call: Call) -> None:
    """Decode a benchmark: which data sets are hard, which instances are suspect, who is strongest.

    A pool of classifiers answers the test part of each data set. Each finished classifier is kept
    in the folder: the same command resumes an interrupted run.
    """
    size, console, sources = call.size, call.console, call.datasets
    if size is not None and not 0 < size < 1:
        if not size.is_integer() or not 1 <= size <= MOST_DATASETS:
            raise InputError(
                f"--size is {size:g}, but it should be a number of data sets, or a share such as "
                "0.5."
            )
        size = int(size)
    folder = out_folder(call.out or Path(DECODED))
    from ogive.benchmarking.decoder import Limits
    from ogive.data.datasets.load import load_datasets
    from ogive.reporting.chapters import read_benchmark
    from ogive.reporting.exports import write_folder

    if call.pool == REGRESSORS and not call.responses:
        from ogive.benchmarking.regression_decoding import decode_regression

        run = {**call.settings(*RUN), "n_jobs": call.jobs, "folder": folder / "answers"}
        with console.progress("Running regressors") as report, resumable():
            regression = decode_regression(sources, progress=report, **run)
        settings = call.settings("pool", "random_state")
        named = call.out is not None
        finish(console, regression, folder, "Decoded regression", settings, named=named)
        return
    limits = Limits(call.hard, call.discriminating, call.guessable)
    if call.responses:
        result = _decode_tables(call, limits)
    else:
        with console.progress("Running classifiers") as report, resumable():
            result = call.function(
                sources,
                **call.arguments,
                limits=limits,
                folder=folder / "answers",
                n_jobs=call.jobs,
                progress=report,
            )
    with console.progress("Comparing and drawing"), resumable(kept=not call.responses):
        further = call.settings("order", "score", "tolerance", "random_state")
        chapters = read_benchmark(result, size=size, **further)
        files = write_folder(chapters.contents(), folder)
        settings = call.settings("pool", "model", "random_state")
        instances = None
        if call.responses:
            settings["pool"] = None
        else:  # again, for the rows behind items
            instances = {one.name: one for one in load_datasets(sources, call.target)}
        files.append(write_page(folder, chapters, "Decoded benchmark", settings, instances))
    _show_decoding(console, chapters, folder, call.out)
    console.speaker(call.out)(f"Report: {folder / PAGE}")
    _end_decoding(console, chapters, folder, files)


def _decode_tables(call: Call, limits: Any) -> Any:
    """Decode tables of right and wrong, by the names of their files."""
    from ogive.benchmarking.decoder import decode_responses
    from ogive.data.response_files import read_responses
    from ogive.data.table_files import name_of

    names = [name_of(path) for path in call.datasets]
    if twice := repeated(names):
        raise InputError(f"Two files are called '{twice[0]}'. Rename one of them.")
    with call.console.progress("Calibrating"):
        tables = [read_responses(path, kind="binary") for path in call.datasets]
        settings = call.settings("model", "method")
        return decode_responses(dict(zip(names, tables, strict=True)), limits=limits, **settings)


def _show_decoding(console: Console, chapters: Chapters, folder: Path, out: Path | None) -> None:
    """Print the sentences and the table of data sets; `folder` has it all."""
    columns = ["items", "chance", "chance_se", "share_right", "share_right_se"]
    columns += ["discrimination_mean", "share_negative"]
    frame, say = chapters.decoding.to_frame(), console.speaker(out)
    for index, (name, (meaning, *notes)) in enumerate(chapters.sentences.items()):
        say(f"{name}: {meaning}")
        if index == 0 and console.gives_csv(out):
            console.table(frame)
        elif index == 0:
            console.say(f"\n{CHANCE_TEXT}")
            console.show(frame[columns], whole=frame, rest=ALL)
            console.say()
        for note in notes:
            say(f"  - {note}")
    for name, reason in chapters.missing.items():
        say(f"{name}: none. {reason}")
    say(f"Tables and figures: {folder}")


def _end_decoding(
    console: Console, chapters: Chapters, folder: Path, files: list[Path], **more: Any
) -> None:
    """Print the document of --json, and set the exit code."""
    decoding = chapters.decoding
    console.document(
        {
            "out": folder,
            "files": files,
            "meaning": chapters.sentences,
            "missing": chapters.missing,
            "failures": decoding.failures,
            "failed": decoding.failed,
            "datasets": decoding.to_frame(),
            **more,
        }
    )
    end(bool(decoding.datasets["converged"].all()))


@command(
    out=output_folder("Folder to write to; created if missing.", SHOWN),
    jobs=JOBS,
    random_state=SEED,
)
def demo(call: Call) -> None:
    """Decode the data sets of scikit-learn, some of their labels changed on purpose.

    Trains 132 classifiers on each of seven data sets: which data sets are hard, which labels look
    wrong, who is strongest, which data sets are enough. Then a tour of all other questions: a
    leaderboard, short and adaptive benchmarks, the confusion matrix, a portfolio, predicted
    difficulty, capability. Writes tables, figures, item banks and one page that shows it all.
    Takes a minute or two and needs no network.
    """
    folder, console, seed = out_folder(call.out or Path(SHOWN)), call.console, call.random_state
    from ogive.reporting.chapters import read_benchmark
    from ogive.reporting.demo import demonstrate
    from ogive.reporting.exports import write_folder

    with console.progress("Running classifiers") as report, resumable():
        result = demonstrate(
            folder / "answers", n_jobs=call.jobs, random_state=seed, progress=report
        )
    with console.progress("Comparing and drawing"), resumable():
        chapters = read_benchmark(result.decoding)
        files = write_folder(chapters.contents(), folder)
        settings = {"labels changed on purpose": len(result.changed), "random_state": seed}
        shown = [chapters, result.tour(), result.section()]
        page = write_page(folder, shown, "Ogive demonstration", settings, result.datasets)
    _show_decoding(console, chapters, folder, call.out)
    say = console.speaker(call.out)
    if console.gives_csv(call.out):
        say(result.meaning)
    else:
        say(f"\n{result.meaning} Strong and weak classifiers are right on them this often:")
        console.show(result.suspects)
    say(f"Report: {page}")
    _end_decoding(console, chapters, folder, [*files, page], changed=result.changed)


MODEL_COLUMNS = ["accuracy", "f1", "recall", "true_score", "total_score", "total_score_filtered"]


@command(
    "ogive.classifiers.classifier_comparison:compare_classifiers",
    dataset=argument("Data set: data.csv#target, .parquet, .arff, sklearn:wine, openml:53.", str),
    models=option(
        "What to compare: a pool (see --pool), or a table of predictions with one column per "
        "model and one row per test instance.",
        str,
        "tuned",
    ),
    pool=option(POOL.text, str, "random-200", POOL.names),
    out=output_folder("Folder for tables, figures, the item bank and answers.", CONFUSED),
    target=TARGET,
    positive=option("The positive class.", str, show_default="the last"),
    model=BINARY_MODEL,
    test_size=TEST_SIZE,
    max_test_size=option("Maximum number of test instances.", int, min=1, show_default="all"),
    time_limit=TIME_LIMIT,
    jobs=JOBS,
    random_state=SEED,
)
def confusion(call: Call) -> None:
    """Look inside the confusion matrix: which items each of several classifiers gets right.

    A pool of random classifiers calibrates the test instances. Each finished classifier is kept in
    the folder: the same command resumes an interrupted run. With --pool regressors, the target is a
    number, and its grades take the place of classes.
    """
    folder, console, dataset = out_folder(call.out or Path(CONFUSED)), call.console, call.dataset
    from ogive.data.datasets.load import load_dataset
    from ogive.data.pools.pool import POOLS
    from ogive.reporting.exports import write_folder

    models = call.models if call.models in POOLS else _predictions(call.models)
    run = {"folder": folder / "answers", "n_jobs": call.jobs}
    if call.pool == REGRESSORS:
        from ogive.classifiers.regressor_comparison import compare_regressors

        models = REGRESSORS if call.models == "tuned" else models
        run |= call.settings(*RUN)
        with console.progress("Running regressors") as report, resumable():
            compared = compare_regressors(dataset, models, REGRESSORS, progress=report, **run)
        title, settings = f"Regressors on {compared.dataset}", call.settings("pool", "random_state")
        finish(console, compared, folder, title, settings, named=call.out is not None)
        return
    with console.progress("Running classifiers") as report, resumable():
        result = call.function(
            dataset, **call.arguments | run | {"models": models}, progress=report
        )
    with console.progress("Drawing"), resumable():
        files = write_folder(result, folder)
        page = write_page(
            folder,
            {result.dataset: result},
            f"Classifiers on {result.dataset}",
            call.settings("models", "pool", "model", "random_state"),
            load_dataset(dataset, call.target),
        )
    frame = result.to_frame()
    console.finding(
        result,
        frame,
        call.out,
        shown=frame[[name for name in MODEL_COLUMNS if name in frame]],
        written={"Tables and figures": folder, "Report": page},
        files=[*files, page],
        failures=result.failures,
        models=frame,
    )
    end(result.curves.calibration.converged)


def _predictions(path: str) -> pd.DataFrame:
    """Read a table of predictions; a column called item names the rows."""
    from ogive.data.table_files import read_table

    frame = read_table(path)
    first = str(frame.columns[0]).strip().lower()
    named = first in ("item", "") or first.startswith("unnamed")  # as pandas writes an index
    return frame.set_index(frame.columns[0]) if named else frame
