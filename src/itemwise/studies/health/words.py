"""What item health says: problems of single items, duplicates and saturation, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemwise.studies.health.duplicates import ALPHA, DuplicateItems
from itemwise.studies.health.saturation import ALL_ITEMS, OPEN, SATURATED, UNTOLD
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

SURE = 1.96  # standard errors, which ± stands for


def problems_said(items: pd.DataFrame) -> list[str]:
    """The problems of each item, in words; empty for a sound one."""
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
        "suspected wrong key": items["suspect_key"],
    }


def said_of_saturation(frame: pd.DataFrame) -> str:
    """One sentence on all items, and which groups are saturated."""
    row = frame.loc[[ALL_ITEMS]].iloc[0]
    if not row["best"]:
        return ""
    best = "the best respondent" if row["best"] == 1 else f"the best {int(row['best'])}"
    if row["state"] == UNTOLD:
        return (
            "Saturation cannot be told: two of the best respondents answered only "
            f"{row['told']:.0%} of {counted(int(row['n_items']), 'item')}."
        )
    text = (
        f"{str(row['state']).capitalize()}: {int(row['solved_by_best']):,} of "
        f"{counted(int(row['n_items']), 'item')} are solved by all of {best}; {_said_of_lead(row)}"
        f"{row['information_left']:.0%} of the information is left at the top (standard error "
        f"{row['se_top']:.2f}, in the middle {row['se_middle']:.2f})."
    )
    parts = frame.drop(index=ALL_ITEMS)
    full = list(parts.index[parts["state"] == SATURATED])
    if not len(parts):
        return text
    if not full:
        return f"{text} No group of items is saturated by itself."
    still = int((parts["state"] == OPEN).sum())
    return f"{text} Saturated: {listed(full, 'group')} of {len(parts)}; {still} open."


def _said_of_lead(row: pd.Series[Any]) -> str:
    """By how much the best two differ, and whether that may be chance; nothing if there is one."""
    if not row["lead_p"] <= 1:
        return ""
    verdict = "beyond chance" if row["lead_p"] <= ALPHA else "which may be chance"
    return (
        f"the best two differ by {row['lead']:.3f} ± {SURE * row['lead_se']:.3f} in accuracy, "
        f"{verdict} (this pair alone: p = {row['lead_p']:.2g}), and "
    )


def hint_said(name: str, row: pd.Series[Any]) -> str:
    """What is surprising of one respondent, a row of the frame of respondents."""
    hard = (
        f"right on {row['right_on_hard']:,} of {counted(int(row['hard']), 'hard item')}, where "
        f"{row['expected_on_hard']:.1f} ± {SURE * row['expected_on_hard_se']:.1f} are expected"
    )
    groups = f"better on {row['too_good_on']} than its other responses let expect"
    said = [text for text, told in ((hard, row["hint"]), (groups, row["too_good_on"])) if told]
    return f"{name} is {' and '.join(said)}"


def duplicate_notes(found: DuplicateItems, n_respondents: int, share: float) -> list[str]:
    """How far duplicates can be told with so many respondents."""
    notes = []
    worth = f"{share * n_respondents:.0f} independent ones"
    if found.n_pairs and found.least_p * found.n_pairs > ALPHA:
        notes.append(
            f"{counted(n_respondents, 'respondent')}, who err together like {worth}, cannot tell "
            f"near-duplicates among {counted(found.n_pairs, 'pair')}: some patterns coincide by "
            "chance."
        )
    seen, expected = found.coincidences
    if seen and expected == expected:  # not NaN
        notes.append(
            f"{counted(seen, 'pair')} of items {'is' if seen == 1 else 'are'} answered alike by "
            f"every respondent; the model expects {expected:,.1f} by chance."
        )
    return notes


def negative_notes(items: pd.DataFrame, n_respondents: int) -> list[str]:
    """That items have a negative discrimination which these respondents do not make sure."""
    below = int((items["discrimination"] < 0).sum())
    sure = int(items["negative"].sum())
    if below == sure:
        return []
    have = "has" if below == 1 else "have"
    note = (
        f"{counted(below, 'item')} {have} a negative discrimination, {sure or 'none'} beyond "
        f"chance with {counted(n_respondents, 'respondent')}."
    )
    return [note]


def few_answers_notes(items: pd.DataFrame, least: int) -> list[str]:
    """That of items with few answers it is not said that all or none solve them."""
    few = int(((items["n_respondents"] > 0) & (items["n_respondents"] < least)).sum())
    if not few:
        return []
    note = (
        f"{few:,} of {counted(len(items), 'item')} {'has' if few == 1 else 'have'} fewer than "
        f"{least} answers: whether all or none solve them cannot be told."
    )
    return [note]
