"""What item health says: problems of single items, duplicates and saturation, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from itemwise.studies.health.duplicates import ALPHA, DuplicateItems
from itemwise.studies.health.saturation import ALL_ITEMS, OPEN, SATURATED
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd


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
    text = (
        f"{str(row['state']).capitalize()}: {int(row['solved_by_best']):,} of "
        f"{counted(int(row['n_items']), 'item')} are solved by all of {best}; the best two differ "
        f"by {row['lead_in_se']:.1f} standard errors, and {row['information_left']:.0%} of the "
        f"information is left at the top (standard error {row['se_top']:.2f}, in the middle "
        f"{row['se_middle']:.2f})."
    )
    parts = frame.drop(index=ALL_ITEMS)
    full = list(parts.index[parts["state"] == SATURATED])
    if not len(parts):
        return text
    if not full:
        return f"{text} No group of items is saturated by itself."
    still = int((parts["state"] == OPEN).sum())
    return f"{text} Saturated: {listed(full, 'group')} of {len(parts)}; {still} open."


def hint_said(name: str, row: pd.Series[Any]) -> str:
    """What is surprising of one respondent, a row of the frame of respondents."""
    hard = (
        f"right on {row['right_on_hard']:,} of {counted(int(row['hard']), 'hard item')}, where "
        f"{row['expected_on_hard']:.1f} ± {row['expected_on_hard_se']:.1f} are expected"
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
