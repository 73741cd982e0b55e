"""Packages that ogive needs, and those that they need, as installed in this environment."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

NAME = "ogive"
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
EXTRAS = ("dev", "docs", "serve", "cluster", "learning")  # whose versions are locked


def needed_by(name: str, extras: set[str]) -> list[Requirement]:
    """Return what a package needs here, with these extras."""
    if name == NAME:  # as it is now, not as it was when it was installed
        stated = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
        more = [line for extra in extras for line in stated["optional-dependencies"][extra]]
        lines = [*stated["dependencies"], *more]
    else:
        lines = distribution(name).requires or []
    named = [Requirement(line) for line in lines]
    chosen = [{"extra": extra} for extra in sorted(extras)] or [{"extra": ""}]
    return [one for one in named if one.marker is None or any(map(one.marker.evaluate, chosen))]


def closure(extras: tuple[str, ...] = EXTRAS) -> dict[str, set[str]]:
    """Return each package that is needed, and the names of what it needs itself."""
    found: dict[str, set[str]] = {}
    asked: dict[str, set[str]] = {}
    waiting = [(NAME, set(extras))]
    while waiting:
        name, wanted = waiting.pop()
        if name in asked and wanted <= asked[name]:
            continue
        asked[name] = asked.get(name, set()) | wanted
        needs = needed_by(name, asked[name])
        found[name] = set()
        for need in needs:
            other = canonicalize_name(need.name)
            if is_installed(other):
                found[name].add(other)
                waiting.append((other, set(need.extras)))
    return found


def is_installed(name: str) -> bool:
    """Return True if a package is here; one that only another system needs is not."""
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True


def licence(found: Distribution) -> str | None:
    """Return the licence that a package states in one line, if it does."""
    stated = found.metadata.get("License-Expression") or found.metadata.get("License") or ""
    if re.fullmatch(r"[^\n]{1,100}", stated.strip()):
        return stated.strip()
    classes = [
        line.rpartition(" :: ")[2]
        for line in found.metadata.get_all("Classifier") or ()
        if line.startswith("License :: ")
    ]
    return " AND ".join(classes) or None
