"""Options that commands share; choices come from the registries."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from itemwise.models import AUTO, MODELS
from itemwise.responses.stored_cells import KINDS
from itemwise.responses.table_layouts import LAYOUTS


def _one_of(names: Collection[str]) -> Callable[[str], str]:
    def checked(value: str) -> str:
        if value.lower() not in names:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(names)}.")
        return value.lower()

    return checked


def choice(*flags: str, names: Collection[str], text: str, **settings: Any) -> Any:
    """Return an option that takes one of some names, or nothing if its default is None."""
    checked = _one_of(names)
    return _named(
        *flags,
        names=names,
        text=text,
        callback=lambda value: None if value is None else checked(value),
        **settings,
    )


def choices(*flags: str, names: Collection[str], text: str, show_default: str = "all") -> Any:
    """Return an option that may be repeated, each time with one of some names."""
    checked = _one_of(names)
    return _named(
        *flags,
        names=names,
        text=text,
        callback=lambda values: [checked(value) for value in values or ()],
        show_default=show_default,
    )


def _named(*flags: str, names: Collection[str], text: str, **settings: Any) -> Any:
    return typer.Option(
        *flags,
        metavar="|".join(names),
        autocompletion=lambda: list(names),
        help=text,
        **settings,
    )


def _workers(value: int) -> int:
    if value < 1 and value != -1:
        raise typer.BadParameter(f"{value} is neither a number from 1 nor -1, for all cores.")
    return value


Scores = Annotated[
    Path, typer.Argument(help="Responses: .csv, .tsv, .parquet or .jsonl; see --layout.")
]
Bank = Annotated[Path, typer.Argument(help="Item bank that `itemwise calibrate` wrote.")]
Model = Annotated[
    str, choice("--model", "-m", names=MODELS, text="Measurement model of the items.")
]
ModelOrAuto = Annotated[
    str,
    choice("--model", "-m", names=[AUTO, *MODELS], text="Measurement model of the items."),
]
Priors = Annotated[
    str,
    choice(
        "--priors",
        names=("default", "none"),
        text="Priors of item parameters; none: plain maximum likelihood.",
    ),
]
Layout = Annotated[
    str,
    choice(
        "--layout",
        names=LAYOUTS,
        text="Layout of the table, if it is not recognised; items: one row per item.",
    ),
]
Kind = Annotated[
    str | None,
    typer.Option(
        "--kind",
        metavar="|".join(KINDS),
        help="Kind of responses, if it is not recognised: whole numbers that are scores, say.",
    ),
]
By = Annotated[
    str | None, typer.Option("--by", help="Fact of the items that groups them, such as task.")
]
ByPrefix = Annotated[
    str | None,
    typer.Option("--by-prefix", help="Group items by what stands before this in their names: /"),
]
Items = Annotated[
    Path | None,
    typer.Option(
        "--items", help="Table of facts of the items: a column item, and one column per fact."
    ),
]
Jobs = Annotated[
    int,
    typer.Option(
        "--jobs", "-j", callback=_workers, help="Number of parallel workers; -1 uses all cores."
    ),
]
RandomState = Annotated[
    int, typer.Option(min=0, help="Seed of random numbers: same seed, same result.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
