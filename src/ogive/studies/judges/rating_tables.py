"""Tables of ratings: which judge gave which score to whose response to which item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.errors import InputError
from ogive.numerics.arrays import Floats
from ogive.numerics.facet_model import Ratings
from ogive.numerics.linked_parts import linked_parts
from ogive.responses import Responses
from ogive.responses.stored_cells import LARGEST
from ogive.tables.foreign_frames import as_pandas, with_whole_texts
from ogive.words import counted, listed, meant, shown

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.intp]

COLUMNS = {
    "respondent": ("respondent", "model", "model_name", "system"),
    "item": ("item", "prompt", "prompt_id", "question", "question_id", "sample", "id"),
    "judge": ("judge", "judge_model", "rater", "annotator", "grader", "scorer", "rubric"),
    "score": ("score", "rating", "response", "grade", "value"),
}
MOST_CATEGORIES = 11
GROUPED = 7  # categories that scores of more values are grouped into
FEWEST_ITEMS = 5


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings by name, with scores as categories in order."""

    respondents: tuple[str, ...]
    items: tuple[str, ...]
    judges: tuple[str, ...]
    respondent: Ints  # (n_ratings,), as all that follow
    item: Ints
    judge: Ints
    category: Ints
    score: Floats
    levels: Floats  # (n_categories,): the score that each category means
    notes: tuple[str, ...]

    def ratings(self) -> Ratings:
        """The same for the model."""
        sizes = (len(self.respondents), len(self.items), len(self.judges), self.levels.size)
        return Ratings.of(self.respondent, self.item, self.judge, self.category, sizes)

    def means_by(self, code: Ints, n: int) -> Floats:
        """Mean score by respondent or judge."""
        found: Floats = np.bincount(code, self.score, n) / np.bincount(code, minlength=n)
        return found

    def others_of(self, judge: int) -> tuple[Floats, Floats, Ints]:
        """Scores of a judge, the mean of the others' scores of the same responses, and items."""
        cell = self.respondent * len(self.items) + self.item
        n = len(self.respondents) * len(self.items)
        mine = self.judge == judge
        total = np.bincount(cell[~mine], self.score[~mine], n)
        count = np.bincount(cell[~mine], minlength=n)
        shared = mine & (count[cell] > 0)
        there = cell[shared]
        return self.score[shared], total[there] / count[there], self.item[shared]


def read_ratings(table: Any, columns: Mapping[str, str | Sequence[str] | None]) -> RatingTable:
    """Check a table of ratings; rows without a name or a score are left out with a note."""
    frame = _as_frame(table)
    found = {word: _column(frame, word, name) for word, name in columns.items()}
    score = _numbers(found.pop("score"))
    notes: list[str] = []
    kept = np.isfinite(score)
    for each in found.values():
        kept &= each.notna().to_numpy(dtype=bool)
    if lost := int((~kept).sum()):
        notes.append(f"Left out: {counted(lost, 'rating')} without a name or a score.")
    if not kept.any():
        raise InputError("No rating has a respondent, an item, a judge and a score.")
    coded = {word: _coded(each[kept]) for word, each in found.items()}
    category, levels = _categories(score[kept], notes)
    made = RatingTable(
        respondents=coded["respondent"][1],
        items=coded["item"][1],
        judges=coded["judge"][1],
        respondent=coded["respondent"][0],
        item=coded["item"][0],
        judge=coded["judge"][0],
        category=category,
        score=score[kept],
        levels=levels,
        notes=tuple(notes),
    )
    _check(made)
    return made


def _as_frame(table: Any) -> pd.DataFrame:
    """A long frame; tables of responses by judge become one."""
    import pandas as pd

    if isinstance(table, Mapping) and all(isinstance(x, Responses) for x in table.values()):
        if not table:
            raise InputError("No judge is given: ratings is empty.")
        parts = []
        for name, responses in table.items():
            wide = responses.to_frame().rename_axis(index="respondent", columns="item")
            long = wide.reset_index().melt("respondent", var_name="item", value_name="score")
            parts.append(long[long["score"].notna()].assign(judge=str(name)))
        found: pd.DataFrame = pd.concat(parts, ignore_index=True)
        return found
    frame = as_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            f"ratings is {shown(table)}, but it should be a table with one row per rating, or a "
            "table of responses for each judge: {'judge': responses, ...}."
        )
    if not len(frame):
        raise InputError("The table of ratings has no rows, so there is nothing to analyse.")
    return with_whole_texts(frame)


def _column(frame: pd.DataFrame, word: str, name: str | Sequence[str] | None) -> Any:
    """The column of a word; several columns of judges become one by their names together."""
    if name is None:
        lower = {str(each).strip().lower(): each for each in reversed(list(frame.columns))}
        known = COLUMNS[word]
        found = next((lower[each] for each in known if each in lower), None)
        if found is None:
            raise InputError(
                f"The ratings have the columns {', '.join(map(str, frame.columns[:12]))}; none of "
                f"them is {', '.join(known[:-1])} or {known[-1]}. Say which one it is: "
                f"{word}='...'."
            )
        return frame[found]
    wanted = [name] if isinstance(name, str) else list(name)
    for each in wanted:
        if each not in frame.columns:
            raise InputError(
                f"{word} is {shown(each)}, but the ratings have the columns "
                f"{', '.join(map(str, frame.columns[:12]))}. Name one of them."
                f"{meant(each, frame.columns)}"
            )
    if len(wanted) == 1:
        return frame[wanted[0]]
    whole = frame[wanted].notna().all(axis=1)
    joined = frame[wanted].astype(str).agg("/".join, axis=1)
    return joined.where(whole)


def _numbers(score: Any) -> Floats:
    import pandas as pd

    numbers = pd.to_numeric(score, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    odd = np.isnan(numbers) & score.notna().to_numpy(dtype=bool)
    if odd.any():
        words = list(dict.fromkeys(map(str, score[odd])))
        raise InputError(
            f"The score of {counted(int(odd.sum()), 'rating')} is not a number: "
            f"{listed(words, 'word')}. Write numbers, higher for better."
        )
    if (immense := np.abs(numbers) > LARGEST).any():
        raise InputError(
            f"The score of {counted(int(immense.sum()), 'rating')} is infinite or beyond "
            f"{LARGEST:g}. Correct it."
        )
    return np.asarray(numbers, dtype=np.float64)


def _coded(names: Any) -> tuple[Ints, tuple[str, ...]]:
    import pandas as pd

    code, kinds = pd.factorize(names.astype(str), sort=True)
    return code.astype(np.intp), tuple(map(str, kinds))


def _categories(score: Floats, notes: list[str]) -> tuple[Ints, Floats]:
    """Scores as categories in order; of many values, groups of about equal size."""
    levels, category = np.unique(score, return_inverse=True)
    if levels.size == 1:
        raise InputError(f"Every score is {levels[0]:g}, so nothing distinguishes the responses.")
    if levels.size <= MOST_CATEGORIES:
        return category.astype(np.intp), levels
    cuts = np.unique(np.quantile(score, np.arange(1, GROUPED) / GROUPED))
    category = np.unique(np.searchsorted(cuts, score, side="left"), return_inverse=True)[1]
    means = np.bincount(category, score) / np.bincount(category)
    notes.append(
        f"Scores have {levels.size:,} different values: they are grouped into {means.size} "
        "ordered categories of about equal size."
    )
    return category.astype(np.intp), np.asarray(means, dtype=np.float64)


def _check(table: RatingTable) -> None:
    """Refuse what cannot show how judges and respondents differ."""
    for noun, names, fewest in (
        ("judge", table.judges, 2),
        ("respondent", table.respondents, 2),
        ("item", table.items, FEWEST_ITEMS),
    ):
        if len(names) < fewest:
            raise InputError(
                f"The ratings have {listed(names, noun)}, but facets needs {fewest} {noun}s or "
                "more."
            )
    scored = np.zeros((len(table.respondents), len(table.judges)), dtype=bool)
    scored[table.respondent, table.judge] = True
    part = linked_parts(scored)[0]
    if part.any():
        other = part != part[0]
        apart = [name for name, far in zip(table.respondents, other, strict=True) if far]
        raise InputError(
            f"No judge scores both {table.respondents[0]} and {listed(apart, 'respondent')}, so "
            "that severity and ability cannot be separated. Let some judges score both."
        )
