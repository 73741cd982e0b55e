"""Groups of respondents as a caller gives them, checked, and numbered from the reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ogive.errors import InputError
from ogive.responses import Responses
from ogive.responses.names_and_facts import UNKNOWN
from ogive.words import counted, listed, shown

LEAST = 5  # respondents of a group


@dataclass(frozen=True, eq=False)
class RespondentGroups:
    """The names of the groups, the reference first, and the number of each respondent's group."""

    names: tuple[str, ...]
    codes: np.ndarray  # (n_respondents,)

    @property
    def sizes(self) -> np.ndarray:
        """Respondents of each group."""
        return np.bincount(self.codes, minlength=len(self.names))


def respondent_groups(table: Responses, groups: object, reference: str | None) -> RespondentGroups:
    """Number the groups; the reference, by default the largest, is 0."""
    _refuse_strangers(table, groups)
    each = table.respondent_groups(groups)
    named = zip(table.respondents, each, strict=True)
    missing = [name for name, group in named if group == UNKNOWN]
    if missing:
        raise InputError(
            f"groups gives no group to {listed(missing, 'respondent')}. Give them one, or leave "
            "them out with responses.select."
        )
    counts = Counter(each)
    if len(counts) < 2:
        raise InputError(
            f"All {counted(len(each), 'respondent')} are in the group {shown(next(iter(counts)))}, "
            "but differences need two groups or more."
        )
    small = [f"{shown(name)} has {n}" for name, n in counts.items() if n < LEAST]
    if small:
        raise InputError(
            f"Every group needs {LEAST} respondents or more, but {', '.join(small[:3])}. Join "
            "groups, or leave small ones out with responses.select."
        )
    first = counts.most_common(1)[0][0] if reference is None else str(reference)
    if first not in counts:
        raise InputError(
            f"reference is {shown(reference)}, but the groups are: {', '.join(counts)}."
        )
    names = (first, *(name for name in counts if name != first))
    place = {name: k for k, name in enumerate(names)}
    return RespondentGroups(names, np.array([place[group] for group in each]))


def _refuse_strangers(table: Responses, groups: object) -> None:
    """Refuse what is no grouping, and a mapping with respondents who are not in the table."""
    if not (isinstance(groups, str | Iterable) or callable(groups)):
        raise InputError(
            f"groups is {shown(groups)}; give the name of a fact of the respondents, or one group "
            "per respondent, as a list or a mapping."
        )
    by_name = isinstance(groups, Mapping) or type(groups).__name__ == "Series"
    named = list(groups.keys()) if by_name else []  # type: ignore[union-attr]
    known = set(table.respondents)
    strangers = [str(name) for name in named if str(name) not in known]
    if strangers:
        raise InputError(
            f"groups names {listed(strangers, 'respondent')} not in the table, whose respondents "
            f"are {listed(table.respondents, 'respondent')}."
        )
