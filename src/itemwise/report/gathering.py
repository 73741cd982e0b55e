"""Results in whatever form they are given, as results by title."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from itemwise.calibration import Calibration
from itemwise.errors import InputError
from itemwise.report.sections import Section, title_of
from itemwise.results import Result


@dataclass(frozen=True)
class Banks:
    """Item banks by name that are shown in the item explorer, without sections of their own."""

    calibrations: Mapping[str, Calibration]


@dataclass
class Gathered:
    """Results by title, sections that are already made, and why others do not exist.

    `explored` are calibrations for the item explorer alone, `brief` titles with one figure each.
    """

    results: dict[str, Result] = field(default_factory=dict)
    sections: list[Section] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)
    explored: dict[str, Result] = field(default_factory=dict)
    brief: set[str] = field(default_factory=set)


def gather(given: Any) -> Gathered:
    """One result, several, by title or not, or what `diagnose` and `read_benchmark` give."""
    found = Gathered()
    _add(found, given, None)
    if not found.results and not found.sections:
        raise InputError("There is nothing to report. Give at least one result.")
    return found


def _add(found: Gathered, given: Any, title: str | None) -> None:
    if isinstance(given, Result):
        found.results[_free(title or title_of(given), found.results)] = given
    elif isinstance(given, Section):
        found.sections.append(given)
    elif isinstance(given, Banks):
        found.explored |= given.calibrations
    elif hasattr(given, "found") and hasattr(given, "missing"):
        _add_chapters(found, given)
    elif isinstance(given, Mapping):
        for name, each in given.items():
            _add(found, each, str(name))
    elif isinstance(given, Iterable) and not isinstance(given, str | bytes):
        for each in given:
            _add(found, each, title)
    else:
        raise InputError(
            f"results holds {type(given).__name__}, but a page shows results: what calibrate, "
            "diagnose or a study returns, one, in a list, or by title."
        )


def _add_chapters(found: Gathered, given: Any) -> None:
    """The main result first, then what else was found, and the reasons for what was not."""
    main = getattr(given, "decoding", None)
    if main is not None:
        _add(found, main, None)
    before = set(found.results)
    for name, each in given.found.items():
        _add(found, each, str(name).replace("_", " ").capitalize())
    if getattr(given, "brief", False):
        found.brief |= set(found.results) - before
    for name, reason in given.missing.items():
        found.missing[str(name).replace("_", " ")] = reason


def _free(title: str, taken: Mapping[str, Any]) -> str:
    wanted, k = title, 2
    while wanted in taken:
        wanted, k = f"{title} ({k})", k + 1
    return wanted
