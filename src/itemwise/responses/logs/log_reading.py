"""What reading logs came to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from itemwise.responses.response_table import Responses
from itemwise.results import Result
from itemwise.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display


@dataclass(frozen=True, eq=False, repr=False)
class LogReading(Result):
    """What evaluation logs hold, and what was left out of them."""

    responses: Responses
    files: pd.DataFrame  # a row a file, or a model and a task in it
    left_out: Mapping[str, int]  # rows, by why
    refused: Mapping[str, str]  # files that could not be read, and why
    notes: tuple[str, ...]

    def to_frame(self) -> pd.DataFrame:
        """A row for each model and task of each file: its rows, how many were read, why not all."""
        return self.files.copy()

    @property
    def n_refused(self) -> int:
        """How many files could not be read."""
        return len(self.refused)

    @property
    def meaning(self) -> str:
        """How much was read, and what was left out."""
        tasks = set(self.responses.item_groups("task"))
        used = self.files.loc[self.files["read"] > 0, "file"].nunique()
        said = (
            f"Read {counted(self.responses.n_respondents, 'model')} on "
            f"{counted(len(tasks), 'task')}, {counted(self.responses.n_items, 'item')}, "
            f"from {counted(used, 'file')}"
        )
        left = [f"{counted(rows, 'row')} {why}" for why, rows in self.left_out.items()]
        if self.n_refused:
            left.append(f"{counted(self.n_refused, 'file')} that could not be read")
        return f"{said}; left out: {joined(left)}." if left else f"{said}."

    def plot(self, **kw: Any) -> Display:
        """How many items of each task each model was asked."""
        import pandas as pd

        from itemwise.displays import HeatMapDisplay

        asked = pd.DataFrame(self.responses.observed.T, columns=_short(self.responses.respondents))
        tasks = pd.Index(self.responses.item_groups("task"))
        counts = asked.groupby(tasks, sort=False).sum().T.replace(0, float("nan"))
        named = counts.rename_axis(columns="task (items asked)")
        return HeatMapDisplay(named, low=0.0).plot(**kw)


def _short(models: Sequence[str]) -> list[str]:
    """Names without who made the models, where they still differ."""
    short = [model.rpartition("/")[2] for model in models]
    return short if len(set(short)) == len(short) else list(models)
