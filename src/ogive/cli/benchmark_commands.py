"""Commands that run or compare classifiers and algorithms: decode, confusion, portfolio."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
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
    input_file,
    option,
    out_folder,
    output_file,
    output_folder,
    read_order,
    report_folder,
)
from ogive.errors import InputError
from ogive.irt.abilities import METHODS
from ogive.irt.models import MODELS
from ogive.results.base import Result, stacked
from ogive.results.numbers import counted, joined, repeated

if TYPE_CHECKING:
    from ogive.data.datasets.aslib import AslibScenario
    from ogive.portfolios.airt import ChosenPortfolio, Portfolio
    from ogive.portfolios.instance_space import InstanceSpace
    from ogive.portfolios.portfolio_gaps import PortfolioComparison
    from ogive.reporting.chapters import Chapters
    from ogive.reporting.exports import Contents


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
        found = call.function(table, **call.arguments | {"order": order})
    ratings = found.to_frame()
    files = {
        "Ratings": (call.out, lambda: ratings),
        "History": (call.history, lambda: found.history().set_index("period")),
        "Figure": (call.figure, lambda: found.plot(kind="ratings")),
        "Figure of ranks": (call.bump, lambda: found.plot(kind="ranks")),
    }
    call.console.finding(
        found,
        ratings,
        call.out,
        written=write_files(files),
        tolerance=call.tolerance,
        tau=found.tau,
        items=found.items,
        ratings=ratings,
    )


# Classifiers on data sets: decode, demo, confusion.

DECODED, SHOWN, CONFUSED = "ogive-decode", "ogive-demo", "ogive-confusion"  # folders
MOST_DATASETS = 1_000_000
REGRESSORS = "regressors"
BINARY = tuple(name for name, model in MODELS.items() if model().kind == "binary")
CHANCE_SAID = (
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
        found = _decode_tables(call, limits)
    else:
        with console.progress("Running classifiers") as report, resumable():
            found = call.function(
                sources,
                **call.arguments,
                limits=limits,
                folder=folder / "answers",
                n_jobs=call.jobs,
                progress=report,
            )
    with console.progress("Comparing and drawing"), resumable(kept=not call.responses):
        further = call.settings("order", "score", "tolerance", "random_state")
        chapters = read_benchmark(found, size=size, **further)
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
            console.say(f"\n{CHANCE_SAID}")
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
    end(decoding.datasets["converged"].all())


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
        found = demonstrate(
            folder / "answers", n_jobs=call.jobs, random_state=seed, progress=report
        )
    with console.progress("Comparing and drawing"), resumable():
        chapters = read_benchmark(found.decoding)
        files = write_folder(chapters.contents(), folder)
        settings = {"labels changed on purpose": len(found.changed), "random_state": seed}
        shown = [chapters, found.tour(), found.section()]
        page = write_page(folder, shown, "Ogive demonstration", settings, found.datasets)
    _show_decoding(console, chapters, folder, call.out)
    say = console.speaker(call.out)
    if console.gives_csv(call.out):
        say(found.meaning)
    else:
        say(f"\n{found.meaning} Strong and weak classifiers are right on them this often:")
        console.show(found.suspects)
    say(f"Report: {page}")
    _end_decoding(console, chapters, folder, [*files, page], changed=found.changed)


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
        found = call.function(dataset, **call.arguments | run | {"models": models}, progress=report)
    with console.progress("Drawing"), resumable():
        files = write_folder(found, folder)
        page = write_page(
            folder,
            {found.dataset: found},
            f"Classifiers on {found.dataset}",
            call.settings("models", "pool", "model", "random_state"),
            load_dataset(dataset, call.target),
        )
    frame = found.to_frame()
    console.finding(
        found,
        frame,
        call.out,
        shown=frame[[name for name in MODEL_COLUMNS if name in frame]],
        written={"Tables and figures": folder, "Report": page},
        files=[*files, page],
        failures=found.failures,
        models=frame,
    )
    end(found.curves.calibration.converged)


def _predictions(path: str) -> pd.DataFrame:
    """Read a table of predictions; a column called item names the rows."""
    from ogive.data.table_files import read_table

    frame = read_table(path)
    first = str(frame.columns[0]).strip().lower()
    named = first in ("item", "") or first.startswith("unnamed")  # as pandas writes an index
    return frame.set_index(frame.columns[0]) if named else frame


# Algorithms on problems: portfolio, portfolio evaluate, portfolio select.

ALGORITHM_COLUMNS = ["consistency", "consistency_se", "difficulty_limit", "difficulty_limit_se"]
ALGORITHM_COLUMNS += ["anomalous"]
PENALTY = 10.0  # runs that did not end count as this multiple of the cut-off
MOST_NAMED = 5  # algorithms in a sentence

RUNS = argument(
    "Performance of algorithms on problems: a table with one row per problem and one "
    "column per algorithm, or with the columns problem, algorithm and value (.csv, .tsv, "
    ".parquet, .arff); or the folder of an ASlib scenario."
)
BETTER = option(
    "Whether higher or lower values are better.",
    str,
    None,
    ("higher", "lower"),
    show_default="higher; ASlib: as stated",
)
CUTOFF = option(
    "Time at which runs were cut off.", float, show_default="none; ASlib: the scenario's"
)
FOLDS = option(
    "Folds of the cross-validation of portfolios.",
    int,
    min=2,
    show_default="10; ASlib: the scenario's",
)


@command(
    "ogive.portfolios.airt:portfolio",
    runs=RUNS,
    out=output_folder("Folder for tables, figures and the bank."),
    better=BETTER,
    transform=option(
        "raw: unchanged; negate: reversed and scaled to 0 to 1; reciprocal: 1 / (1 + t).",
        str,
        None,
        "ogive.portfolios.performances:TRANSFORMS",
        show_default="raw; negate if lower is better",
    ),
    low=option("Lowest possible value.", float, show_default="the observed one"),
    high=option("Highest possible value.", float, show_default="the observed one"),
    cutoff=CUTOFF,
    penalty="Cut-off runs count as this multiple of the cut-off; 10 is PAR10.",
    model=option("Measurement model of performance.", names="ogive.portfolios.airt:MODELS"),
    grades=option("Number of grades, for --model graded.", int, min=2, show_default="5"),
    preset=option("Reproduce the AIRT paper.", str, None, ("airt",)),
    measure=option(
        "Performance measure of an ASlib scenario, or metric of tracked runs; of several "
        "(repeat the option), each has its portfolio, beside who is best over all.",
        list[str],
        [],
        show_default="its first",
    ),
    features=option(
        "Column that is a feature of problems, not an algorithm; repeatable.",
        list[str],
        [],
        show_default="none",
    ),
    epsilon=option(
        "How far from the best curve still counts as strong; repeatable. Portfolios are "
        "chosen by the largest.",
        list[float],
        [0.0, 0.01],
        min=0.0,
    ),
    size=option("Number of algorithms to keep.", int, min=1, show_default="all strong somewhere"),
    cv=FOLDS,
    layout=LAYOUT,
    random_state=SEED,
)
def portfolio(call: Call) -> None:
    """Compare algorithms on problems: who is consistent, who leads where, and which few to keep.

    Without --out, the table of algorithms is printed as CSV. `ogive portfolio evaluate` measures
    what choosing by features of problems is worth, and `ogive portfolio select` chooses.
    """
    if call.runs.is_dir() and call.layout != "auto":
        raise InputError(f"--layout is for tables, but '{call.runs}' is a folder. Leave it out.")
    if call.model != "graded" and call.grades is not None:
        raise InputError("--grades is for --model graded. Leave it out, or name that model.")
    if (call.low is None) != (call.high is None):
        raise InputError("--low and --high go together: give both or neither.")
    folder, console = report_folder(call.out, call.runs), call.console
    settings = {
        **call.settings("better", "transform"),
        "bounds": None if call.low is None else (call.low, call.high),
        **call.settings("cutoff", "penalty", "preset", "model"),
        **({} if call.grades is None else {"grades": call.grades}),
    }
    with console.progress(f"Reading {call.runs.name}"):
        names: list[str | None] = [*call.measure] or [None]
        tables = {name: _read_runs(call, name) for name in names}
    if len(tables) > 1:
        from ogive.portfolios.measure_comparison import compare_measures

        with console.progress("Fitting"):
            compared = compare_measures(tables, **settings)
        finish(
            console,
            compared,
            folder,
            "Several measures of algorithms",
            settings,
            best=compared.best,
        )
        return
    (table,) = tables.values()
    findings = _find_portfolio(call, table, settings)
    files: list[Path] = []
    if folder is not None:
        from ogive.reporting.exports import write_folder

        with console.progress("Drawing"):
            files = write_folder(findings.contents(call.size), folder)
            asked = {"epsilons": call.epsilon, "random_state": call.random_state}
            results = findings.results
            files.append(write_page(folder, results, "Portfolio of algorithms", asked))
    frame = findings.found.algorithms
    levels = sorted({min(call.epsilon), max(call.epsilon)})
    shares = {f"within {level:g}": findings.occupancy(level)["occupancy"] for level in levels}
    shown = frame[ALGORITHM_COLUMNS].assign(**shares)
    console.answer(
        [*(each.meaning for each in findings.results), *findings.notes],
        frame,
        folder,
        shown=shown.sort_values([*shares][::-1], ascending=False),
        written={"Tables and figures": folder, "Report": folder and folder / PAGE},
    )
    console.document({"out": folder, "files": files, **findings.document()})
    if call.preset is None:  # the preset stops early on purpose
        end(findings.found.calibration.converged)


def _read_runs(call: Call, measure: str | None) -> pd.DataFrame | AslibScenario:
    from ogive.data.datasets.aslib import read_aslib
    from ogive.data.datasets.run_formats import is_mlflow
    from ogive.data.datasets.runs import read_runs

    if call.runs.is_dir() and not is_mlflow(call.runs):
        return read_aslib(call.runs, measure)
    features = call.features or None
    return read_runs(call.runs, layout=call.layout, metric=measure, features=features)


@dataclass(frozen=True)
class PortfolioFindings:
    """What `ogive portfolio` finds: the portfolio, whom to keep, what that costs, and the plane."""

    found: Portfolio
    chosen: ChosenPortfolio
    compared: PortfolioComparison | None
    missing: list[str]  # why there is no comparison
    epsilons: list[float]
    random_state: int
    space: InstanceSpace | None  # if problems have features

    @property
    def results(self) -> list[Result]:
        """All results, in the order in which they are reported."""
        every = (self.found, self.chosen, self.compared, self.space)
        return [each for each in every if each is not None]

    @property
    def notes(self) -> list[str]:
        """The notes of all results, each once."""
        every = [note for each in self.results for note in getattr(each, "notes", ())]
        return list(dict.fromkeys([*every, *self.missing]))

    def occupancy(self, epsilon: float) -> pd.DataFrame:
        """Return the share of problems at which each algorithm is within `epsilon` of the best."""
        return self.found.occupancy(epsilon, random_state=self.random_state)

    def contents(self, size: int | None) -> Contents:
        """Return everything that is written; portfolios are chosen by each method."""
        from ogive.portfolios.portfolio_choice import METHODS
        from ogive.reporting.exports import Contents

        found, compared = self.found, self.compared
        chosen = {
            name: found.select(self.chosen.epsilon, size=size, method=name) for name in METHODS
        }
        tables = found.tables(self.epsilons, self.random_state)
        tables["chosen"] = stacked("method", {name: one.frame for name, one in chosen.items()})
        figures = found.figures(self.epsilons)
        said = {"portfolio": found.sentences()}
        if compared is not None:
            tables["gaps"], figures["gaps"] = compared.to_frame(), compared.plot
            new = [note for note in compared.notes if note not in found.notes]
            said["gaps"] = [compared.meaning, *new]
        elif self.missing:
            said["gaps"] = list(self.missing)
        if self.space is not None:
            tables |= self.space.tables()
            figures["instance_space"] = self.space.plot
            said["instance space"] = [self.space.meaning]
        said |= {f"chosen by {name}": one.sentences() for name, one in chosen.items()}
        return Contents(tables, figures, found.banks(), said, found.meaning, found.notes)

    def document(self) -> dict[str, Any]:
        """Return the values for --json."""
        return {
            "meaning": [each.meaning for each in self.results],
            "notes": self.notes,
            "algorithms": self.found.algorithms,
            "epsilon": self.chosen.epsilon,
            "occupancy": self.occupancy(self.chosen.epsilon),
            "chosen": self.chosen.to_frame(),
            "gaps": None if self.compared is None else self.compared.to_frame(),
        }


def _find_portfolio(
    call: Call, table: pd.DataFrame | AslibScenario, settings: dict[str, Any]
) -> PortfolioFindings:
    """Fit, choose by the largest epsilon, compare, and place problems that have features."""
    from ogive.portfolios.instance_space import instance_space
    from ogive.portfolios.portfolio_gaps import compare_portfolios

    epsilons, seed = call.epsilon, call.random_state
    with call.console.progress("Fitting"):
        found = call.function(table, **settings)
        chosen = found.select(max(epsilons), size=call.size)
    folds = call.cv or getattr(table, "folds", None)
    asked: dict[str, Any] = {} if folds is None else {"cv": folds}
    compared, missing, space = None, [], None
    with call.console.progress("Comparing portfolios"):
        try:
            compared = compare_portfolios(found, epsilon=epsilons, random_state=seed, **asked)
        except InputError as reason:
            if call.cv is not None:
                raise
            missing = [f"Portfolios are not compared. {reason}"]
    features = getattr(table, "features", None)
    if features is not None:
        with suppress(InputError):  # features that do not vary span no plane
            space = instance_space(found, features)
    return PortfolioFindings(found, chosen, compared, missing, epsilons, seed, space)


FEATURES = input_file(
    "Features of the problems: a table whose first column names them as RUNS does.",
    show_default="ASlib: the scenario's",
)


@command(
    "ogive.portfolios.selector_evaluation:evaluate_selectors",
    runs=RUNS,
    features=FEATURES,
    better=BETTER,
    cutoff=CUTOFF,
    cv=FOLDS,
    random_state=SEED,
)
def portfolio_evaluate(call: Call) -> None:
    """Measure how much of the gap to a perfect choice a selector closes on held-out problems.

    Runs that did not end count as ten times the cut-off. The time of computing features is charged
    where an ASlib scenario states it.
    """
    table, rows = _runs_and_features(call)
    with call.console.progress("Evaluating"):
        found = call.function(table, rows, **call.arguments)
    call.console.finding(found, found.to_frame(), None, selectors=found.to_frame())


@command(
    runs=RUNS,
    features=FEATURES,
    new=input_file("Features of new problems.", show_default="those that were learnt from"),
    better=BETTER,
    cutoff=CUTOFF,
    out=output_file("File for the fitted selector (.skops).", (".skops",)),
    random_state=SEED,
)
def portfolio_select(call: Call) -> None:
    """Learn which algorithm to run from features of problems, and choose for new ones.

    The table has one row per problem: the algorithm to run, how sure the choice is, the next best,
    and the expected performance of each algorithm.
    """
    from ogive.portfolios.selector_evaluation import AlgorithmSelector, learnt_from

    table, rows = _runs_and_features(call)
    with call.console.progress("Learning"):
        selector = learnt_from(
            AlgorithmSelector(random_state=call.random_state),
            table,
            rows,
            penalty=PENALTY,
            **call.settings("better", "cutoff"),
        )
    asked = rows if call.new is None else _features(call.new)
    ranking = selector.rank(asked)
    chosen = pd.DataFrame({"algorithm": ranking[:, 0]}, index=asked.index.rename("problem"))
    chosen["sureness"] = selector.sureness(asked)
    if ranking.shape[1] > 1:
        chosen["next"] = ranking[:, 1]
    chosen = chosen.join(selector.predict_performance(asked).set_axis(asked.index, axis=0))
    write_files({"Selector": (call.out, lambda: selector)})
    counts = chosen["algorithm"].value_counts()
    text = joined([f"{name} for {n:,}" for name, n in counts.items()][:MOST_NAMED])
    if len(counts) > MOST_NAMED:
        text += f", {counted(len(counts) - MOST_NAMED, 'other')}"
    sentences = [f"Of {counted(len(chosen), 'problem')}: {text}.", *selector.notes_]
    call.console.answer(sentences, chosen, None)
    notes = list(selector.notes_)
    call.console.document({"notes": notes, "out": call.out, "chosen": chosen})


def _runs_and_features(call: Call) -> tuple[Any, Any]:
    """Return the runs, and the features of their problems."""
    from ogive.data.datasets.aslib import read_aslib
    from ogive.data.datasets.runs import read_runs

    runs, features = call.runs, call.features
    with call.console.progress(f"Reading {runs.name}"):
        table: Any = read_aslib(runs) if runs.is_dir() else read_runs(runs)
        rows = getattr(table, "features", None) if features is None else _features(features)
    if rows is None:
        raise InputError(
            f"'{runs}' has no features, but selectors choose by them. Give --features with a "
            "table whose first column names the problems."
        )
    return table, rows


def _features(path: Path) -> pd.DataFrame:
    """Return a table whose first column names the problems."""
    from ogive.data.table_files import read_table

    frame = read_table(path)
    return frame.set_axis(frame.iloc[:, 0].astype(str), axis=0).iloc[:, 1:]
