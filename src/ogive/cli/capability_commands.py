"""The command `ogive capability`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ogive.capability.classifier import CLASSIFIERS, LOGISTIC
from ogive.capability.guarantees import percent_or
from ogive.cli.output import Console
from ogive.cli.sources import (
    NOT_CONVERGED,
    Json,
    Quiet,
    RandomState,
    choice,
    choices,
    report_folder,
    write_page,
)
from ogive.errors import InputError
from ogive.results.numbers import listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.capability.capability_result import Capability
    from ogive.capability.case_difficulty import CaseDifficulty


BOTH = "both"
RULES = ("information", "steps", BOTH)
LEVELS = 4
SHOWN = ["rule", "mlc", "mlc_se", "limit_is", "cases_used", "accuracy_below", "accuracy_above"]

Source = Annotated[
    str, typer.Argument(help="Cases: data.csv#target, .parquet, .arff, sklearn:wine, openml:53.")
]
Target = Annotated[
    str | None,
    typer.Option(help="Column that holds the class.", show_default="class, target or label"),
]
Models = Annotated[
    list[str] | None,
    choices(
        "--model",
        "-m",
        names=CLASSIFIERS,
        text="Model to test; repeatable, to compare models.",
        show_default=LOGISTIC,
    ),
]
FOLDER = "ogive-capability"
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", help="Folder for tables, figures and banks.", show_default=FOLDER),
]
CodingFile = Annotated[
    Path | None,
    typer.Option(
        "--coding",
        help="Table of how features become items: feature, normal range, risk state; or feature, "
        "coding.",
        show_default="quantiles",
    ),
]
Levels = Annotated[
    int | None,
    typer.Option(
        min=2, help="Number of quantile grades of a numeric feature.", show_default=str(LEVELS)
    ),
]
Rule = Annotated[
    str, choice("--rule", names=RULES, text="How cases are selected; steps: as published.")
]
Resamples = Annotated[int, typer.Option(min=1, help="Tests per class.")]
Budget = Annotated[
    int, typer.Option(min=1, help="Maximum number of cases in a test by information.")
]
TestSize = Annotated[float, typer.Option(help="Share of cases to test on.")]


def capability(
    dataset: Source,
    target: Target = None,
    model: Models = None,
    out: Out = None,
    coding: CodingFile = None,
    levels: Levels = None,
    rule: Rule = "information",
    n_resamples: Resamples = 100,
    budget: Budget = 16,
    test_size: TestSize = 0.3,
    random_state: RandomState = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find up to what case difficulty a classifier can be trusted, class by class, with few cases.

    Models are fitted on one part of the cases and tested on the other, the same for all models.
    """
    check_share("--test-size", test_size)
    scale = case_difficulty(coding, levels)
    folder = report_folder(out or Path(FOLDER), file_of(dataset), present=False)
    from ogive.capability.capability_result import MeasuredModels
    from ogive.capability.classifier import named_classifier
    from ogive.capability.measurement import measure_capability
    from ogive.reporting.exports import write_folder

    console = Console(quiet, json)
    table, labels = read_cases(dataset, target, console)
    names = list(dict.fromkeys(model or [LOGISTIC]))
    with console.progress("Testing") as report:
        scale.fit(table.features, labels)
        found: dict[str, Capability] = {}
        for done, name in enumerate(names):
            report(done, len(names), name)
            found[name] = measure_capability(
                named_classifier(name, table.plan, random_state),
                table.features,
                labels,
                case_difficulty=scale,
                rule=list(RULES[:2]) if rule == BOTH else rule,
                n_resamples=n_resamples,
                budget=budget,
                test_size=test_size,
                random_state=random_state,
            )
    measured = MeasuredModels(found, scale)
    notes = tuple(dict.fromkeys((*table.notes, *measured.notes)))
    with console.progress("Drawing"):
        files = write_folder(measured, folder)
        settings = {
            "rule": rule,
            "n_resamples": n_resamples,
            "budget": budget,
            "random_state": random_state,
        }
        page = write_page(folder, found, "Capability", settings)
    _show(console, found, notes, out)
    say = console.speaker(out)
    say(f"Tables and figures: {folder}")
    say(f"Report: {page}")
    content: dict[str, Any] = {"out": folder, "files": [*files, page], "notes": notes}
    said = {name: one.sentences() for name, one in found.items()}
    console.document({**content, "meaning": said, "classes": _classes(found)})
    if not all(calibration.converged for calibration in scale.calibrations_):
        raise typer.Exit(NOT_CONVERGED)


def check_share(option: str, value: float, such_as: float = 0.3) -> None:
    """Raise an error unless the value is a share of cases."""
    if not 0 < value < 1:
        near = percent_or(value, such_as)
        raise InputError(
            f"{option} is {value:g}, but it should lie between 0 and 1, such as {near:g}."
        )


def file_of(source: str) -> Path:
    """Return the path in `data.csv#target`."""
    path, mark, _ = source.rpartition("#")
    return Path(path if mark and not Path(source).exists() else source)


def case_difficulty(coding: Path | None, levels: int | None) -> CaseDifficulty:
    """Return the unfitted scale; a coding table that cannot be read is an error."""
    if coding is not None and levels is not None:
        raise InputError("--levels is for quantiles, not for --coding. Leave one of them out.")
    from ogive.capability.case_difficulty import CaseDifficulty
    from ogive.capability.coding_rules import read_coding

    given = "quantiles" if coding is None else read_coding(coding)
    return CaseDifficulty(given, levels=levels or LEVELS)


def read_cases(source: str, target: str | None, console: Console) -> tuple[Any, Any]:
    """Return the cases of a data set as a CaseTable, and their classes."""
    table, labels, _ = read_grouped_cases(source, target, None, console)
    return table, labels


def read_grouped_cases(
    source: str, target: str | None, groups: str | None, console: Console
) -> tuple[Any, Any, Any]:
    """Return the cases, their classes and, if a column groups them, that column."""
    from ogive.capability.cases import case_table
    from ogive.data.datasets.load import load_dataset

    with console.progress(f"Reading {file_of(source).name}"):
        dataset = load_dataset(source, target)
    features = dataset.features.rename(columns=str)
    if groups is not None and groups not in features:
        raise InputError(
            f"--groups is {groups!r:.60}, but the data set has no such column. It has "
            f"{listed(list(features.columns), 'column', 10)}."
        )
    group = None if groups is None else features[groups]
    return case_table(dataset.features), dataset.target.to_numpy(), group


def _classes(found: dict[str, Capability]) -> pd.DataFrame:
    import pandas as pd

    parts = {name: one.classes for name, one in found.items()}
    return pd.concat(parts, names=["model", "class"]).reset_index().set_index("model")


def _show(
    console: Console, found: dict[str, Capability], notes: tuple[str, ...], out: Path | None
) -> None:
    """Show the meaning and the limits by model, then the notes."""
    csv, say = console.gives_csv(out), console.speaker(out)
    for name, one in found.items():
        say(f"{name}:")
        say(one.meaning)
        if not csv:
            console.show(one.classes[SHOWN])
            console.say()
    if csv:
        console.table(_classes(found))
    for note in notes:
        say(note)
