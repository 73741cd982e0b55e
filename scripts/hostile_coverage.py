"""Which lines of some modules are reached: cheap enough to be watched at every input."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

Line = tuple[str, int]  # the name of a module, and the number of a line


def lines_of(modules: Iterable[str]) -> set[Line]:
    """Return the lines inside functions of these modules; what is imported is left out."""
    return {(name, line) for name in modules for line in _lines(_compiled(name))}


def words_of(modules: Iterable[str]) -> list[str]:
    """Short texts in these modules, such as the keys and headings that a reader looks for."""
    found: set[str] = set()
    ahead: list[Any] = [_compiled(name) for name in modules]
    while ahead:
        part = ahead.pop()
        if isinstance(part, CodeType):
            ahead += part.co_consts
        elif isinstance(part, tuple | frozenset):
            ahead += part
        elif isinstance(part, str) and 1 < len(part) <= 30 and " " not in part:
            found.add(part)
    return sorted(found)


class Watch:
    """Collects lines that are reached for the first time."""

    def __init__(self, modules: Iterable[str]) -> None:
        self.seen: set[Line] = set()
        self.new: set[Line] = set()
        self._names = {_path(name): name for name in modules}
        self._left: dict[int, set[int]] = {}  # lines of a code object that are still to come
        self._kept: list[CodeType] = []  # so that no other gets the address of one
        if hasattr(sys, "monitoring"):
            self._monitor()
        else:
            sys.settrace(self._call)

    def take(self) -> int:
        """Return how many lines the last input was the first to reach."""
        found, self.new = self.new, set()
        self.seen |= found
        return len(found)

    def _reached(self, name: str, line: int) -> None:
        if (name, line) not in self.seen:
            self.new.add((name, line))

    def _monitor(self) -> None:
        """From Python 3.12: each line reports once, and costs nothing after that."""
        told: Any = sys.monitoring
        tool, events = told.COVERAGE_ID, told.events
        told.use_tool_id(tool, "fuzz")

        def start(code: CodeType, _: int) -> object:
            if code.co_filename in self._names:
                told.set_local_events(tool, code, events.LINE)
            return told.DISABLE

        def line(code: CodeType, number: int) -> object:
            if number != code.co_firstlineno:
                self._reached(self._names[code.co_filename], number)
            return told.DISABLE

        told.register_callback(tool, events.PY_START, start)
        told.register_callback(tool, events.LINE, line)
        told.set_events(tool, events.PY_START)

    def _call(self, frame: FrameType, *_: Any) -> Any:
        code = frame.f_code
        left = self._left.get(id(code))
        if left is None:
            left = set(_own_lines(code)) if code.co_filename in self._names else set()
            self._left[id(code)] = left
            self._kept.append(code)
        return self._line if left else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Any:
        if event == "line" and frame.f_lineno in (left := self._left[id(frame.f_code)]):
            left.discard(frame.f_lineno)
            self._reached(self._names[frame.f_code.co_filename], frame.f_lineno)
        return self._line


def _path(name: str) -> str:
    found = importlib.util.find_spec(f"ogive.{name}")
    assert found is not None  # noqa: S101
    assert found.origin is not None  # noqa: S101
    return found.origin


def _compiled(name: str) -> CodeType:
    path = _path(name)
    return compile(Path(path).read_bytes(), path, "exec", dont_inherit=True)


def _lines(code: CodeType) -> set[int]:
    found = set(_own_lines(code)) if code.co_flags & inspect.CO_OPTIMIZED else set()
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found |= _lines(part)
    return found


def _own_lines(code: CodeType) -> Iterable[int]:
    first = code.co_firstlineno
    return (line for _, _, line in code.co_lines() if line and line != first)
