"""The names of a table, and what is known of each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from itemwise.responses.names_and_facts import Facts, facts_frame, grouped

if TYPE_CHECKING:
    import pandas as pd


class DescribedTable:
    """Respondents and items by name, with facts about both."""

    respondents: tuple[str, ...]
    items: tuple[str, ...]
    _respondent_facts: Facts
    _item_facts: Facts

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
        return len(self.respondents), len(self.items)

    @property
    def n_respondents(self) -> int:
        """The number of respondents."""
        return len(self.respondents)

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)
