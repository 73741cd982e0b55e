"""Item health: which items of a benchmark need a look, and how saturated it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.arguments import one_of
from itemwise.calibration import Calibration
from itemwise.diagnostics import label_trouble, local_dependence
from itemwise.diagnostics.diagnosis import checked_calibration, informative
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.numerics.arrays import Floats
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.progress import at_stage
from itemwise.responses import Responses, Table, as_responses
from itemwise.responses.stored_cells import as_floats
from itemwise.responses.study_tables import shares_as_scores
from itemwise.results import ROWS_IN_COMMAND, Draw, Result
from itemwise.studies.health.benchmark_saturation import (
    information_along,
    said_of_saturation,
    saturation_frame,
)
from itemwise.studies.health.near_duplicates import (
    duplicate_items,
    duplicate_notes,
    effective_share,
)
from itemwise.studies.health.respondent_hints import group_frame, hint_said, respondent_frame
from itemwise.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

__all__ = ["ItemHealth", "item_health"]

ALPHA = 0.05  # share of false discoveries among the items called negative
COUNTED_TWICE = (
    "Near-duplicates count the same information twice: with them, standard errors of abilities are "
    "too small and discriminations are biased. Keep one of each pair."
)
SAME_Q3 = 0.8  # residual correlation from which grades and scores are near-duplicates
MOST_PAIRS = 1000  # pairs listed at most
LEAST_ANSWERS = 5  # needed to say that all or none solve an item
LEAST_SLOPE = 0.1  # discrimination below which difficulty is meaningless
FIGURES = ("items", "saturation", "respondents")
CURVE_POINTS = 161
CAUSES = (
    "A hint is no proof of contamination: related training data, another prompt or answer format, "
    "keys that are wrong in the same way, and items seen in training can all cause it. Inspect "
    "these responses."
)


@dataclass(frozen=True, eq=False, repr=False)
class ItemHealth(Result):
    """Which items need a look, how saturated the benchmark is, and who is right unexpectedly often.

    `items` has one row per item, `duplicates` one per pair of items answered alike, `saturation`
    one for all items and one per group, `respondents` one per respondent. `groups`, empty without
    `by`, has one per respondent and group: its result there, given its ability on other items.
    """

    items: pd.DataFrame
    duplicates: pd.DataFrame
    saturation: pd.DataFrame
    respondents: pd.DataFrame
    groups: pd.DataFrame
    calibration: Calibration
    responses: Responses
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """One row per item."""
        return self.items.copy()

    @property
    def troubled(self) -> tuple[str, ...]:
        """Items with a problem, in table order."""
        return tuple(self.items.index[self.items["problems"] != ""])

    @property
    def hints(self) -> tuple[str, ...]:
        """Respondents with more right responses than their ability predicts, clearest first."""
        frame = self.respondents
        if "hint" not in frame:
            return ()
        found = frame[frame["hint"] | (frame["too_good_on"] != "")]
        return tuple(found.sort_values("excess_p", kind="stable").index)

    @property
    def meaning(self) -> str:
        """How many items need a look, and why."""
        items = self.items
        counts = {
            "solved by all": (items["solved_by"] == "all").sum(),
            "solved by none": (items["solved_by"] == "none").sum(),
            "with negative discrimination": items["negative"].sum(),
            "with a key that contradicts good respondents": items["suspect_key"].sum(),
            "answered like another": (items["duplicate_of"] != "").sum(),
            "never asked": (items["n_respondents"] == 0).sum(),
        }
        total, told = counted(len(items), "item"), len(self.troubled)
        if not told:
            return f"None of {total} needs a look: these responses show no problem."
        said = [f"{int(count):,} {words}" for words, count in counts.items() if count]
        need = "needs" if told == 1 else "need"
        return f"{told:,} of {total} {need} a look: {joined(said)}."

    @property
    def said_of_saturation(self) -> str:
        """Whether the benchmark still separates the best respondents."""
        return said_of_saturation(self.saturation)

    @property
    def said_of_respondents(self) -> str:
        """Who is right more often than its ability predicts, and what may cause it."""
        frame, hints = self.respondents, self.hints
        if "hint" not in frame:
            return ""
        total = counted(len(frame), "respondent")
        if not hints:
            return f"None of {total} is right on hard items significantly more often than expected."
        verb = "does" if len(hints) == 1 else "do"
        first = hint_said(hints[0], frame.loc[[hints[0]]].iloc[0])
        more = f"{len(hints):,} of {total} {verb} significantly better than expected"
        return f"{more}: {first}. {CAUSES}"

    def sentences(self) -> list[str]:
        """All sentences shown below the table."""
        said = [self.meaning, self.said_of_saturation, self.said_of_respondents, *self.notes]
        return [text for text in said if text]

    @property
    def information(self) -> pd.DataFrame:
        """Information and standard error along the scale."""
        import pandas as pd

        ability = self.respondents["ability"].to_numpy()
        reach = max(float(np.ptp(ability)), self.calibration.population.sd)
        low, high = float(ability.min()) - 0.25 * reach, float(ability.max()) + 0.25 * reach
        grid = np.linspace(low, high, CURVE_POINTS)
        information = information_along(self.calibration, grid)
        se = np.divide(
            1, np.sqrt(information), out=np.full(len(grid), np.inf), where=information > 0
        )
        return pd.DataFrame({"ability": grid, "information": information, "se": se})

    @property
    def _placed(self) -> pd.DataFrame:
        """Respondents with the column names that displays use."""
        return self.respondents.rename(columns={"ability_se": "se"})

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return items, near-duplicates, saturation, respondents and groups."""
        found = {
            "items": self.items,
            "duplicates": self.duplicates,
            "saturation": self.saturation,
            "respondents": self.respondents,
        }
        return found | ({"groups": self.groups} if len(self.groups) else {})

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind."""
        return {kind: partial(self.plot, kind) for kind in FIGURES}

    def banks(self) -> dict[str, Calibration]:
        """Return the item bank."""
        return {"items": self.calibration}

    def preview(self) -> pd.DataFrame:
        """Return the first items that need a look."""
        names = ["difficulty", "discrimination", "discrimination_se", "share_right", "problems"]
        return self.items.loc[self.items["problems"] != "", names].head(ROWS_IN_COMMAND)

    def plot(self, kind: str = "items", **kw: Any) -> Display:
        """Draw "items", "saturation" or "respondents"."""
        import pandas as pd

        from itemwise.displays import DISPLAYS

        if one_of(kind, "kind", FIGURES) == "items":
            # Items with problems are drawn even if their difficulty is nominal.
            placed = self.items.assign(difficulty=self.calibration.items["difficulty"])
            return DISPLAYS["item_health"](placed).plot(**kw)
        if kind == "saturation":
            people = self._placed[["ability", "se"]].rename_axis("respondent").reset_index()
            frame = pd.concat([self.information, people], ignore_index=True)
            return DISPLAYS["saturation"](frame).plot(**kw)
        if "excess_z" not in self.respondents:
            return DISPLAYS["respondent_fit"](self._placed).plot(**kw)
        return DISPLAYS["excess"](self.respondents).plot(**kw)


def item_health(
    responses: Table, calibration: Calibration | None = None, *, by: object = None
) -> ItemHealth:
    """Find items that need a look, saturation, and respondents who are right unexpectedly often.

    The frame, also `items`, has one row per item: share_right, its parameters, solved_by, negative,
    suspect_key, duplicate_of, group, problems. Difficulty is missing where all or none solve an
    item or its discrimination is below 0.1, since it is not determined there. In sentences, ± is
    1.96 standard errors.

    Parameters
    ----------
    responses
        Respondents × items. For grades and scores, keys and hard items are not judged.
    calibration
        A calibration of these items; calibrated from `responses` if omitted.
    by
        Groups of items, such as tasks: the name of a fact of the items, a mapping or a list.

    Notes
    -----
    Reported are items that nobody or everybody solves, that discriminate significantly negatively
    (5 % false discoveries), whose key contradicts good respondents (`label_trouble`), or that are
    answered like another item, more so than abilities explain. `benchmarks/health.py` prints how
    often each is found.

    Examples
    --------
    >>> import itemwise as iw
    >>> responses = iw.simulate("2pl", 100, 20, random_state=0).responses
    >>> health = iw.item_health(responses)
    >>> health.items.shape
    (20, 16)
    """
    table, said = as_responses(responses), tuple[str, ...]()
    if calibration is None:
        table, said = shares_as_scores(table)
    if not table.observed.any():
        raise InputError("No response was observed. Give a table with at least one response.")
    groups = None if by is None else table.item_groups(by)
    if calibration is None:
        at_stage("calibrating")
        calibration = calibrate(table)
    checked_calibration(calibration, "item_health")
    table = table.of_kind(calibration.model.kind)
    if calibration.item_names != table.items:
        calibration = calibration.of_items(table.items)
    binary = calibration.model.kind == "binary"
    # A calibration scores its own table once, however many ask.
    own = calibration.responses is table
    known = calibration if own else replace(calibration, responses=table, weights=None)
    at_stage("respondents")
    people = respondent_frame(known, table)
    at_stage("items")
    items = _described(known, table, groups)
    at_stage("keys and near-duplicates")
    duplicates, notes = (_of_right_or_wrong if binary else _of_grades)(
        known, table, people["ability"].to_numpy(), items
    )
    items["problems"] = _problems_said(items)
    at_stage("groups of items")
    of_groups = group_frame(known, table, groups or ())
    if binary:
        people["too_good_on"] = _too_good(of_groups, table.respondents)
    return ItemHealth(
        items=items,
        duplicates=duplicates,
        saturation=saturation_frame(known, table, groups),
        respondents=people,
        groups=of_groups,
        calibration=calibration,
        responses=table,
        notes=(
            *said,
            *_negative_notes(items, table.n_respondents),
            *_few_answers_notes(items),
            *notes,
            *([COUNTED_TWICE] if len(duplicates) else []),
            *_few(table),
        ),
    )


def _described(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """Columns for every kind of responses."""
    import pandas as pd

    known = calibration.items[
        ["difficulty", "difficulty_se", "discrimination", "discrimination_se"]
    ]
    low, high = calibration.model.extent()
    places = (as_floats(table.cells) - low) / (np.asarray(high) - low)
    n = np.count_nonzero(~np.isnan(places), axis=0)
    count = np.where(n > 0, n, np.nan)
    mean = np.nansum(places, axis=0) / count
    spread = np.sqrt(np.maximum(np.nansum(places**2, axis=0) / count - mean**2, 0.0))
    negative_p = _negative(calibration)
    adjusted = benjamini_hochberg(negative_p)
    enough = n >= LEAST_ANSWERS
    solved = np.where(enough & (mean == 1), "all", np.where(enough & (mean == 0), "none", ""))
    shares = {
        "share_right": mean,
        "share_right_se": spread / np.sqrt(count),
        "n_respondents": n,
    }
    columns = {
        "solved_by": solved.astype(object),
        "negative": adjusted < ALPHA,
        "negative_p": negative_p,
        "negative_p_adjusted": adjusted,
        "suspect_key": False,
        "evidence": np.nan,
        "duplicate_of": "",
        "group": list(groups) if groups is not None else "",
    }
    nominal = (mean == 1) | (mean == 0) | (known["discrimination"].to_numpy() < LEAST_SLOPE)
    known = known.assign(
        difficulty=known["difficulty"].mask(nominal),
        difficulty_se=known["difficulty_se"].mask(nominal),
    )
    index = known.index
    return pd.concat([pd.DataFrame(shares, index), known, pd.DataFrame(columns, index)], axis=1)


def _negative(calibration: Calibration) -> Floats:
    """One-sided p-value of each item that its discrimination is not below 0."""
    from scipy.special import ndtr

    items = calibration.items
    slope, se = (items[name].to_numpy(float) for name in ("discrimination", "discrimination_se"))
    sure = informative(calibration) & (se > 0)
    z = np.divide(slope, se, out=np.full(len(slope), np.nan), where=sure)
    chance: Floats = ndtr(z)
    return chance


def _of_right_or_wrong(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write keys and duplicates into `items`; return the pairs and notes on them."""
    trouble = label_trouble(calibration, table)
    frame = trouble.to_frame().loc[list(table.items)]
    items["suspect_key"] = frame["suspect"].to_numpy(bool)
    items["evidence"] = frame["evidence"].to_numpy(float)
    share = effective_share(calibration, table, ability)
    found = duplicate_items(calibration, table, ability, share)
    items["duplicate_of"] = list(found.original)
    return found.pairs, duplicate_notes(found, table.n_respondents, share)


def _of_grades(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write duplicates by their residuals into `items`; return the pairs and a note."""
    import pandas as pd

    del ability
    note = (
        f"Responses are {table.kind}, so keys and hard items are not judged. To judge them, recode "
        "each response as 1 if it is good enough, else 0."
    )
    found = local_dependence(calibration, table, max_pairs=MOST_PAIRS).to_frame()
    same = found[found["dependent"] & (found["q3"] >= SAME_Q3)]
    place = {name: k for k, name in enumerate(table.items)}
    original: dict[str, str] = {}
    for item, other in zip(same["item"], same["other"], strict=True):
        first, second = sorted((item, other), key=place.__getitem__)
        original[second] = original.get(first, first)
    items["duplicate_of"] = [original.get(name, "") for name in table.items]
    kept = same[["item", "other", "n", "q3", "p", "p_adjusted"]].reset_index(drop=True)
    kept = kept.rename(columns={"n": "n_respondents"})
    return pd.DataFrame(kept), [note]


def _too_good(of_groups: pd.DataFrame, respondents: Sequence[str]) -> list[str]:
    """The groups in which each respondent does better than elsewhere, joined by commas."""
    found: dict[str, list[str]] = {}
    hints = of_groups[of_groups["hint"].astype(bool)]
    for name, group in zip(hints["respondent"], hints["group"], strict=True):
        found.setdefault(name, []).append(group)
    return [", ".join(found.get(name, [])) for name in respondents]


def _few(table: Responses) -> list[str]:
    if table.n_respondents >= 30:
        return []
    who = counted(table.n_respondents, "respondent")
    return [f"With only {who}, standard errors are large and many problems stay undetected."]


def _problems_said(items: pd.DataFrame) -> list[str]:
    """The problems of each item in words; empty if there are none."""
    found: list[list[str]] = [[] for _ in range(len(items))]
    for words, mask in _problems(items).items():
        for place in mask.to_numpy().nonzero()[0]:
            found[place].append(words)
    for said, original in zip(found, items["duplicate_of"], strict=True):
        if original:
            said.append(f"near-duplicate of {original}")
    return ["; ".join(said) for said in found]


def _problems(items: pd.DataFrame) -> dict[str, pd.Series[bool]]:
    return {
        "never asked": items["n_respondents"] == 0,
        "solved by all": items["solved_by"] == "all",
        "solved by none": items["solved_by"] == "none",
        "negative discrimination": items["negative"],
        "contradicts good respondents": items["suspect_key"],
    }


def _negative_notes(items: pd.DataFrame, n_respondents: int) -> list[str]:
    """A note if some negative discriminations are not significant."""
    below = int((items["discrimination"] < 0).sum())
    sure = int(items["negative"].sum())
    if below == sure:
        return []
    note = (
        f"{counted(below, 'item')} {'has' if below == 1 else 'have'} a negative discrimination, "
        f"{sure or 'none'} significantly so with {counted(n_respondents, 'respondent')}."
    )
    return [note]


def _few_answers_notes(items: pd.DataFrame) -> list[str]:
    """A note on items with too few answers to say that all or none solve them."""
    few = int(((items["n_respondents"] > 0) & (items["n_respondents"] < LEAST_ANSWERS)).sum())
    if not few:
        return []
    note = (
        f"{few:,} of {counted(len(items), 'item')} {'has' if few == 1 else 'have'} fewer than "
        f"{LEAST_ANSWERS} answers, too few to say whether all or none solve them."
    )
    return [note]
