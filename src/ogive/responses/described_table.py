"""The names of a table, and what is known of each."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ogive.responses.names_and_facts import Facts, facts_frame, grouped, name_index, named

if TYPE_CHECKING:
    import pandas as pd


class DescribedTable:
    """Respondents and items by name, with facts about both."""

    cells: NDArray[Any]
    items: tuple[str, ...]
    _respondent_facts: Facts
    _item_facts: Facts

    @cached_property
    def respondents(self) -> tuple[str, ...]:
        """Names of the respondents; where none were given, they are made when asked for."""
        return named(None, len(self.cells), "respondent")

    @property
    def respondent_index(self) -> pd.Index:
        """The same as the index of a frame with one row per respondent."""
        return self._index.copy()  # who renames it renames no other

    @cached_property
    def _index(self) -> pd.Index:
        return name_index(vars(self).get("respondents"), len(self.cells), "respondent")

    @property
    def item_facts(self) -> pd.DataFrame:
        """Facts about the items: one row per item, one column per fact."""
        return facts_frame(self._item_facts, self.items, "item")

    @property
    def respondent_facts(self) -> pd.DataFrame:
        """Facts about the respondents: one row per respondent, one column per fact."""
        return facts_frame(self._respondent_facts, self.respondents, "respondent")

    def item_groups(self, by: object) -> tuple[str, ...]:
        """The group of each item, `by` a fact such as "task", a mapping, a function or a list."""
        return grouped(self._item_facts, self.items, by, "item")

    def respondent_groups(self, by: object) -> tuple[str, ...]:
        """The group of each respondent, `by` a fact, a mapping, a function or a list."""
        return grouped(self._respondent_facts, self.respondents, by, "respondent")

    @property
    def shape(self) -> tuple[int, int]:
        """The number of respondents and of items."""
        return self.n_respondents, self.n_items

    @property
    def n_respondents(self) -> int:
        """The number of respondents."""
        return len(self.cells)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)
