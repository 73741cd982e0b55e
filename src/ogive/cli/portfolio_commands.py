"""Commands about algorithms on problems: portfolio, portfolio evaluate, portfolio select."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from ogive.cli.output import PAGE, end, finish, write_files, write_page
from ogive.cli.signature import Call, command
from ogive.cli.sources import (
    LAYOUT,
    SEED,
    argument,
    input_file,
    option,
    output_file,
    output_folder,
    report_folder,
)
from ogive.errors import InputError
from ogive.results.base import Result, stacked
from ogive.results.numbers import counted, joined

if TYPE_CHECKING:
    from ogive.data.datasets.aslib import AslibScenario
    from ogive.portfolios.airt import ChosenPortfolio, Portfolio
    from ogive.portfolios.instance_space import InstanceSpace
    from ogive.portfolios.portfolio_gaps import PortfolioComparison
    from ogive.reporting.exports import Contents


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
    frame = findings.portfolio.algorithms
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
        end(findings.portfolio.calibration.converged)


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

    portfolio: Portfolio
    chosen: ChosenPortfolio
    compared: PortfolioComparison | None
    missing: list[str]  # why there is no comparison
    epsilons: list[float]
    random_state: int
    space: InstanceSpace | None  # if problems have features

    @property
    def results(self) -> list[Result]:
        """All results, in the order in which they are reported."""
        every = (self.portfolio, self.chosen, self.compared, self.space)
        return [each for each in every if each is not None]

    @property
    def notes(self) -> list[str]:
        """The notes of all results, each once."""
        every = [note for each in self.results for note in getattr(each, "notes", ())]
        return list(dict.fromkeys([*every, *self.missing]))

    def occupancy(self, epsilon: float) -> pd.DataFrame:
        """Return the share of problems at which each algorithm is within `epsilon` of the best."""
        return self.portfolio.occupancy(epsilon, random_state=self.random_state)

    def contents(self, size: int | None) -> Contents:
        """Return everything that is written; portfolios are chosen by each method."""
        from ogive.portfolios.portfolio_choice import METHODS
        from ogive.reporting.exports import Contents

        portfolio, compared = self.portfolio, self.compared
        chosen = {
            name: portfolio.select(self.chosen.epsilon, size=size, method=name) for name in METHODS
        }
        tables = portfolio.tables(self.epsilons, self.random_state)
        tables["chosen"] = stacked("method", {name: one.frame for name, one in chosen.items()})
        figures = portfolio.figures(self.epsilons)
        sentences = {"portfolio": portfolio.sentences()}
        if compared is not None:
            tables["gaps"], figures["gaps"] = compared.to_frame(), compared.plot
            new = [note for note in compared.notes if note not in portfolio.notes]
            sentences["gaps"] = [compared.meaning, *new]
        elif self.missing:
            sentences["gaps"] = list(self.missing)
        if self.space is not None:
            tables |= self.space.tables()
            figures["instance_space"] = self.space.plot
            sentences["instance space"] = [self.space.meaning]
        sentences |= {f"chosen by {name}": one.sentences() for name, one in chosen.items()}
        return Contents(
            tables, figures, portfolio.banks(), sentences, portfolio.meaning, portfolio.notes
        )

    def document(self) -> dict[str, Any]:
        """Return the values for --json."""
        return {
            "meaning": [each.meaning for each in self.results],
            "notes": self.notes,
            "algorithms": self.portfolio.algorithms,
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
        result = call.function(table, **settings)
        chosen = result.select(max(epsilons), size=call.size)
    folds = call.cv or getattr(table, "folds", None)
    asked: dict[str, Any] = {} if folds is None else {"cv": folds}
    compared, missing, space = None, [], None
    with call.console.progress("Comparing portfolios"):
        try:
            compared = compare_portfolios(result, epsilon=epsilons, random_state=seed, **asked)
        except InputError as reason:
            if call.cv is not None:
                raise
            missing = [f"Portfolios are not compared. {reason}"]
    features = getattr(table, "features", None)
    if features is not None:
        with suppress(InputError):  # features that do not vary span no plane
            space = instance_space(result, features)
    return PortfolioFindings(result, chosen, compared, missing, epsilons, seed, space)


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
        result = call.function(table, rows, **call.arguments)
    call.console.finding(result, result.to_frame(), None, selectors=result.to_frame())


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
