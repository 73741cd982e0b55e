"""What is known of each item: its columns, key and near-duplicates, and its problems in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics import label_trouble, local_dependence
from itemwise.diagnostics.diagnosis import p_of_negative
from itemwise.numerics.arrays import Floats
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.responses import Responses
from itemwise.responses.repeated_answers import tries_in_words, tries_or_one
from itemwise.responses.stored_cells import as_floats
from itemwise.studies.health.near_duplicates import (
    PAIR_COLUMNS,
    duplicate_items,
    duplicate_notes,
    effective_share,
)
from itemwise.words import counted

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05  # share of false discoveries among the items called negative
SAME_Q3 = 0.8  # residual correlation from which grades and scores are near-duplicates
MOST_PAIRS = 1000  # pairs listed at most
LEAST_ANSWERS = 5  # needed to say that all or none solve an item
LEAST_SLOPE = 0.1  # discrimination below which difficulty is meaningless


def described_items(
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
    negative_p = np.where((mean > 0) & (mean < 1), p_of_negative(calibration), np.nan)
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
        "contradiction": np.nan,
        "share_right_strong": np.nan,
        "share_right_weak": np.nan,
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


def judged_keys(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write keys and duplicates into `items`; return the pairs and notes on them."""
    trouble = label_trouble(calibration, table)
    frame = trouble.to_frame().loc[list(table.items)]
    items["suspect_key"] = frame["suspect"].to_numpy(bool)
    items["contradiction"] = frame["evidence"].to_numpy(float)
    for name in ("share_right_strong", "share_right_weak"):
        items[name] = frame[name].to_numpy(float)
    share = effective_share(calibration, table, ability)
    found = duplicate_items(calibration, table, ability, share)
    items["duplicate_of"] = list(found.original)
    return found.pairs, duplicate_notes(found, table.n_respondents, share)


def judged_repeats(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """No pairs, and why keys and near-duplicates of repeated answers are not judged."""
    import pandas as pd

    del calibration, ability, items
    tries = tries_in_words(tries_or_one(table.tries, table.observed))
    note = (
        "Keys, near-duplicates and the fit of respondents are not judged: their tests need one "
        f"answer per cell, and there are {tries}. To judge them, keep the first answer to "
        "each item: itemwise read ... --epochs first. Everything else counts all answers."
    )
    return pd.DataFrame(columns=[*PAIR_COLUMNS]), [note]


def judged_residuals(
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


def problems_said(items: pd.DataFrame) -> list[str]:
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
    turned = items["share_right_strong"] < items["share_right_weak"]
    return {
        "never asked": items["n_respondents"] == 0,
        "solved by all": items["solved_by"] == "all",
        "solved by none": items["solved_by"] == "none",
        "negative discrimination": items["negative"],
        "suspect key: contradicts good respondents": items["suspect_key"] & turned,
        "suspect key: strong respondents miss it like weak ones": items["suspect_key"] & ~turned,
    }


def negative_notes(items: pd.DataFrame, n_respondents: int) -> list[str]:
    """A note if some negative discriminations are not significant."""
    # What all answered alike has a nominal discrimination, whose sign says nothing.
    told = items["share_right"].between(0, 1, inclusive="neither")
    below = int(((items["discrimination"] < 0) & told).sum())
    sure = int(items["negative"].sum())
    if below == sure:
        return []
    note = (
        f"{counted(below, 'item')} {'has' if below == 1 else 'have'} a negative discrimination, "
        f"{sure or 'none'} significantly so with {counted(n_respondents, 'respondent')}, after "
        "correction for multiple tests."
    )
    return [note]


def few_answers_notes(items: pd.DataFrame) -> list[str]:
    """A note on items with too few answers to say that all or none solve them."""
    few = int(((items["n_respondents"] > 0) & (items["n_respondents"] < LEAST_ANSWERS)).sum())
    if not few:
        return []
    note = (
        f"{few:,} of {counted(len(items), 'item')} {'has' if few == 1 else 'have'} fewer than "
        f"{LEAST_ANSWERS} answers, too few to say whether all or none solve them."
    )
    return [note]
