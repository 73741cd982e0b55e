"""Extensions of Griffe: examples are shown as such, and names of studies are found."""

from __future__ import annotations

from typing import Any

import griffe

HEADING = ["Examples", "--------"]


class Examples(griffe.Extension):
    """Puts the heading of a section over the first example of a docstring that lacks one."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = with_heading(obj.docstring.value)


class ComputedExports(griffe.Extension):
    """A module whose `__all__` is computed exports all that it imports for type checkers."""

    def on_module_members(self, *, mod: griffe.Module, **_: Any) -> None:
        """Forget an `__all__` in which Griffe could read no name."""
        if mod.exports == []:
            mod.exports = None


def with_heading(text: str) -> str:
    """Return the docstring with its examples in a section of their own."""
    lines = text.splitlines()
    first = next((k for k, line in enumerate(lines) if line.startswith(">>>")), None)
    if first is None or HEADING[0] in lines[:first]:
        return text
    return "\n".join([*lines[:first], "", *HEADING, *lines[first:]])
