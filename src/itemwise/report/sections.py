"""Sections of a page: what each result says, its tables, its figures, and what it was made with."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, is_dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from itemwise.errors import InputError
from itemwise.report.outlines import Draw, outline_of
from itemwise.report.pictures import picture_of
from itemwise.results import Result, fields_of

if TYPE_CHECKING:
    import pandas as pd

# Fields that say how a result was made, not what was found.
SETTINGS = {
    *("method", "random_state", "n_resamples", "repeats", "tolerance", "tau", "level", "epsilon"),
    *("folds", "passes", "positive", "limit", "treatment", "false_alarm_rate", "engine", "seed"),
    *("iterations", "converged", "sure", "keep", "asked", "score", "budget", "metadatum"),
    *("source", "preprocessing", "dataset"),
}


@dataclass(frozen=True)
class Section:
    """A part of the page, ready to be written; pictures are markup, all else is text."""

    title: str
    about: str = ""
    sentences: tuple[str, ...] = ()  # the first is the headline
    notes: tuple[str, ...] = ()
    tables: tuple[tuple[str, pd.DataFrame], ...] = ()
    pictures: tuple[tuple[str, str], ...] = ()  # caption, markup
    settings: tuple[tuple[str, str], ...] = ()
    leads: bool = True  # whether its headline is of first rank


def sections_of(
    results: Mapping[str, Result],
    numbered: Callable[[], str],
    brief: Collection[str] = (),
) -> list[Section]:
    """A section a result, and one for those that are better seen together.

    `numbered` gives a new prefix for the ids of each figure; results with a title among `brief`
    get one figure each.
    """
    found = [
        section_of(title, result, numbered, most=1 if title in brief else None)
        for title, result in results.items()
    ]
    return [*_together(results, numbered), *found]


def section_of(
    title: str, result: Result, numbered: Callable[[], str], most: int | None = None
) -> Section:
    """What a result shows, by its outline; at most so many figures."""
    outline = outline_of(result)
    said = outline.sentences(result)
    notes = tuple(getattr(result, "notes", ()))
    pictures, lacking = _drawn(islice(outline.figures(result), most), title, numbered)
    return Section(
        title=title,
        about=_about(result),
        sentences=tuple(text for text in said if text not in notes),
        notes=(*notes, *lacking),
        tables=tuple(outline.tables(result)),
        pictures=tuple(pictures),
        settings=tuple(_settings(result)),
        leads=outline.leads and most is None,
    )


def title_of(result: Result) -> str:
    """The name of its class as words: LabelTrouble -> Label trouble."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", type(result).__name__)
    return words[:1] + words[1:].lower()


def _about(result: Result) -> str:
    return (type(result).__doc__ or "").strip().partition("\n")[0]


def _drawn(
    figures: Iterator[tuple[str, Draw]], title: str, numbered: Callable[[], str]
) -> tuple[list[tuple[str, str]], list[str]]:
    """Figures as markup, and why some cannot be drawn."""
    pictures, lacking = [], []
    for caption, draw in figures:
        try:
            display = draw()
        except InputError as reason:
            lacking.append(f"There is no figure {caption or title!r}: {reason}")
            continue
        about = (type(display).__doc__ or "").strip().partition("\n")[0]
        named = _sentence(caption or title)
        pictures.append((f"{named}. {about}", picture_of(display, named, numbered())))
    return pictures, lacking


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _settings(result: Result) -> Iterator[tuple[str, str]]:
    model = getattr(result, "model", None)
    if hasattr(model, "coordinates"):
        yield "model", str(getattr(model, "name", model))
    for each in fields_of(result):
        value = getattr(result, each.name)
        if each.name in ("settings", "limits") and is_dataclass(value):
            for name, part in asdict(value).items():  # type: ignore[arg-type]
                yield f"{each.name}: {name.replace('_', ' ')}", _shown(part)
        elif each.name in SETTINGS and isinstance(value, str | int | float | bool):
            yield each.name.replace("_", " "), _shown(value)


def _shown(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _together(results: Mapping[str, Result], numbered: Callable[[], str]) -> list[Section]:
    """Capabilities of several models, measured on the same cases, beside each other."""
    models: dict[str, Any] = {
        name: each for name, each in results.items() if type(each).__name__ == "Capability"
    }
    if len(models) < 2:
        return []
    from itemwise.report.capability import limits, plane

    rules = [str(rule) for rule in next(iter(models.values())).classes["rule"].unique()]
    drawn = ((f"limits by {rule}", lambda rule=rule: plane(models, rule)) for rule in rules)
    pictures, lacking = _drawn(drawn, "Limits", numbered)
    return [
        Section(
            title="Models beside each other",
            about="The hardest cases that each model can be trusted with; all had the same cases.",
            notes=tuple(lacking),
            tables=tuple((f"limits by {rule}", limits(models, rule)) for rule in rules),
            pictures=tuple(pictures),
        )
    ]
