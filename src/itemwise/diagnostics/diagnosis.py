"""Diagnosis: a result that says in one sentence what it means."""

from __future__ import annotations

import html
from abc import abstractmethod
from dataclasses import dataclass

from itemwise.results import Result


@dataclass(frozen=True, eq=False, repr=False)
class Diagnosis(Result):
    """What a check of a calibration found."""

    @property
    @abstractmethod
    def meaning(self) -> str:
        """One sentence for a reader who is no psychometrician."""

    def __repr__(self) -> str:
        return f"{super().__repr__()}\n{self.meaning}"

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}<p>{html.escape(self.meaning)}</p>"
