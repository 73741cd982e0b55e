"""What was run: versions, settings, and the lines that run it again."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from itemwise import __version__
from itemwise.report.sections import Section
from itemwise.results import Result

PACKAGES = ("numpy", "scipy", "pandas", "scikit-learn", "matplotlib")
_MAKERS = {
    "BenchmarkDecoding": "decode_benchmark(datasets)",
    "Calibration": "calibrate(responses, {model!r})",
    "Capability": "measure_capability(model, X, y)",
    "ChosenPortfolio": "portfolio(runs).select()",
    "Portfolio": "portfolio(runs)",
}


def when(date: datetime | str | None) -> str:
    """The date of the report, in words; now, unless given."""
    moment = datetime.now(UTC) if date is None else date
    return moment if isinstance(moment, str) else moment.strftime("%Y-%m-%d %H:%M UTC")


def versions() -> list[tuple[str, str]]:
    """Itemwise, Python and the packages that compute."""
    found = [("itemwise", __version__), ("Python", platform.python_version())]
    for name in PACKAGES:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:  # pragma: no cover (all are requirements)
            continue
    return found


def settings_of(
    sections: Iterable[Section], given: Mapping[str, Any] | None
) -> list[tuple[str, str, str]]:
    """Rows of (what, setting, value): those given first, then those that results carry."""
    rows = [("", str(name), str(value)) for name, value in (given or {}).items()]
    rows += [
        (section.title, name, value) for section in sections for name, value in section.settings
    ]
    return rows


def recipe(
    results: Mapping[str, Result], command: str | Sequence[str] | None, code: str | None
) -> str:
    """The lines that make the same again: as given, or as far as the results tell."""
    lines = [f'pip install "itemwise=={__version__}"'] if command else []
    if command:
        lines += [command] if isinstance(command, str) else list(command)
    if code:
        lines.append(code.strip())
    if not lines:
        calls = (line for line in map(_call, results.values()) if line)
        lines = ["import itemwise as iw", "", *dict.fromkeys(calls)]
    return "\n".join(lines)


def _call(result: Result) -> str | None:
    """The function that made a result, found by the module in which both live."""
    kind, module = type(result).__name__, type(result).__module__
    if kind in _MAKERS:
        model = getattr(getattr(result, "model", None), "name", "")
        return f"iw.{_MAKERS[kind].format(model=model)}"
    from itemwise.studies import STUDIES

    last = module.rpartition(".")[2]
    found = next((name for name, study in STUDIES.items() if kind in study.names), last)
    public = getattr(import_module("itemwise"), "__all__", ())
    return f"iw.{found}(...)" if found in public else None
