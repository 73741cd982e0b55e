"""Names of a package, and classes of a registry, that are imported when they are used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, TypeVar

T = TypeVar("T")


def lazily(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names live in the modules that `homes` says."""

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    return get


class LazyClasses(Mapping[str, T]):
    """Classes of a package by name; `homes` has the module and the class of each."""

    def __init__(self, package: str, homes: Mapping[str, tuple[str, str]]) -> None:
        self._package, self._homes = package, homes

    def __getitem__(self, name: str) -> T:
        module, owner = self._homes[name]
        found: T = getattr(import_module(f"{self._package}.{module}"), owner)
        return found

    def __contains__(self, name: object) -> bool:
        return name in self._homes

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def modules(self) -> dict[str, str]:
        """Return the module of each class, as `lazily` wants them."""
        return {owner: module for module, owner in self._homes.values()}
