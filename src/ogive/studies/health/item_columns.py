"""What is known of each item: its columns, key and near-duplicates, and its problems in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics import label_trouble, local_dependence
from ogive.diagnostics.diagnosis import p_of_negative
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import benjamini_hochberg
from ogive.responses import Responses
from ogive.responses.repeated_answers import tries_in_words, tries_or_one
from ogive.responses.stored_cells import as_floats
from ogive.studies.health.benchmark_saturation import score_ends
from ogive.studies.health.near_duplicates import (
    PAIR_COLUMNS,
    duplicate_items,
    duplicate_notes,
    effective_share,
)
from ogive.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

ALPHA = 0.05  # share of false discoveries among the items called negative
SAME_Q3 = 0.8  # residual correlation from which grades and scores are near-duplicates
MOST_PAIRS = 1000  # pairs listed at most
LEAST_ANSWERS = 5  # needed to say that all or none solve an item
ROUNDING = 1e-9  # of sums of standardised responses; what is less is no spread
LEAST_SLOPE = 0.1  # size of a discrimination below which difficulty is meaningless


def described_items(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """Columns for every kind of responses."""
    import pandas as pd

    known = calibration.items[
        ["difficulty", "difficulty_se", "discrimination", "discrimination_se"]
    ]
    values = as_floats(table.cells)
    n = np.count_nonzero(~np.isnan(values), axis=0)
    alike = np.fmax.reduce(values, axis=0) == np.fmin.reduce(values, axis=0)
    two_answers = table.kind in ("binary", "nominal")
    low, high = score_ends(calibration)
    places = (values - low) / (high - low)
    lone = np.fmax.reduce(values, axis=None) == np.fmin.reduce(values, axis=None)
    # Where the only grade of a table lies, nobody knows.
    count = np.where((n > 0) & (two_answers or not lone), n, np.nan)
    mean = np.nansum(places, axis=0) / count
    spread = np.sqrt(np.maximum(np.nansum(places**2, axis=0) / count - mean**2, 0.0))
    tested = p_of_negative(calibration) if two_answers else _p_against_rest(values)
    negative_p = np.where((mean > 0) & (mean < 1) & ~alike, tested, np.nan)
    adjusted = benjamini_hochberg(negative_p)
    answers = tries_or_one(table.tries, table.observed).sum(axis=0)
    enough = answers >= LEAST_ANSWERS
    cases = [mean == 1, mean == 0, alike & (table.kind != "binary")]
    solved = np.where(enough, np.select(cases, ["all", "none", "alike"], ""), "")
    shares = {
        "share_reached": mean,
        "share_reached_se": spread / np.sqrt(count),
        "n_respondents": n,
        **({} if table.tries is None else {"n_responses": answers}),
    }
    columns = {
        "solved_by": solved.astype(object),
        "significantly_negative": adjusted < ALPHA,
        "negative_p": negative_p,
        "negative_p_adjusted": adjusted,
        "suspect_key": False,
        "contradiction": np.nan,
        "share_right_strong": np.nan,
        "share_right_weak": np.nan,
        "duplicate_of": "",
        "group": list(groups) if groups is not None else "",
    }
    nominal = ~(n > 0) | alike
    known = known.mask(np.broadcast_to(nominal[:, None], known.shape))
    flat = known["discrimination"].abs() < LEAST_SLOPE
    unplaced = ["difficulty", "difficulty_se"]
    known[unplaced] = known[unplaced].mask(flat)
    index = known.index
    return pd.concat([pd.DataFrame(shares, index), known, pd.DataFrame(columns, index)], axis=1)


def _p_against_rest(values: Floats) -> Floats:
    """One-sided p-value of each item that it does not run against the mean of the others.

    Grades and scores of few respondents tell this better than a slope: the standard error of a
    steep one grows with it, which hides the surest (Hauck and Donner, 1977).
    """
    from scipy.special import stdtr

    off = _from_mean(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        away = off / _size(off)
        others = np.count_nonzero(~np.isnan(away), axis=1)[:, None] - 1
        rest = (np.nansum(away, axis=1)[:, None] - away) / others
        away, rest = (np.where(np.isfinite(away * rest), each, np.nan) for each in (away, rest))
        away, rest = _from_mean(away), _from_mean(rest)
        size = np.where(_size(rest) > ROUNDING, _size(away) * _size(rest), np.nan)
        r = np.clip(np.nansum(away * rest, axis=0) / size, -1, 1)
        freedom = np.count_nonzero(~np.isnan(rest), axis=0) - 2.0
        t = r * np.sqrt(freedom / (1 - r**2))
    p = np.where((freedom > 0) & ~np.isnan(t), stdtr(np.maximum(freedom, 1), t), np.nan)
    found: Floats = np.maximum(p, [_rarest(column) for column in values.T])
    return found


def _from_mean(values: Floats) -> Floats:
    """How far each response is from the mean of its item; NaN where there is none."""
    n = np.count_nonzero(~np.isnan(values), axis=0)
    found: Floats = values - np.nansum(values, axis=0) / np.where(n > 0, n, np.nan)
    return found


def _size(off: Floats) -> Floats:
    """Root of the sum of squares of each column; NaN where there is nothing but zeros."""
    size = np.sqrt(np.nansum(off**2, axis=0))
    found: Floats = np.where(size > 0, size, np.nan)
    return found


def _rarest(responses: Floats) -> float:
    """How likely chance puts these responses into their order: no p-value is below that."""
    from scipy.special import gammaln

    _, counts = np.unique(responses[~np.isnan(responses)], return_counts=True)
    return float(np.exp(gammaln(counts + 1).sum() - gammaln(counts.sum() + 1)))


def judged_keys(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write keys and duplicates into `items`; return the pairs and notes on them."""
    _write_keys(calibration, table, items)
    share = effective_share(calibration, table, ability)
    found = duplicate_items(calibration, table, ability, share)
    items["duplicate_of"] = list(found.original)
    return found.pairs, duplicate_notes(found, table.n_respondents, share)


def _write_keys(calibration: Calibration, table: Responses, items: pd.DataFrame) -> None:
    """Write what `label_trouble` says of each key into `items`."""
    frame = label_trouble(calibration, table).to_frame().loc[list(table.items)]
    items["suspect_key"] = frame["suspect"].to_numpy(bool)
    items["contradiction"] = frame["evidence"].to_numpy(float)
    for name in ("share_right_strong", "share_right_weak"):
        items[name] = frame[name].to_numpy(float)


def judged_repeats(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write keys into `items`; return no pairs, and why near-duplicates are not judged."""
    import pandas as pd

    del ability
    _write_keys(calibration, table, items)
    tries = tries_in_words(tries_or_one(table.tries, table.observed))
    note = (
        "Near-duplicates and the fit of respondents are not judged: their tests need one "
        f"answer per cell, and there are {tries}. To judge them, keep the first answer to "
        "each item: of logs by ogive read ... --epochs first, of a table by leaving out the "
        "other rows. Everything else counts all answers."
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


def solved_words(kind: str) -> dict[str, str]:
    """Words for what `solved_by` says, by the kind of responses."""
    if kind == "binary":
        return {"all": "solved by all", "none": "solved by none"}
    return {"all": "all at the top", "none": "all at the bottom", "alike": "all alike"}


def problems_said(items: pd.DataFrame, kind: str = "binary") -> list[str]:
    """The problems of each item in words; empty if there are none."""
    found: list[list[str]] = [[] for _ in range(len(items))]
    for words, mask in _problems(items, kind).items():
        for place in mask.to_numpy().nonzero()[0]:
            found[place].append(words)
    for said, original in zip(found, items["duplicate_of"], strict=True):
        if original:
            said.append(f"near-duplicate of {original}")
    return ["; ".join(said) for said in found]


def _problems(items: pd.DataFrame, kind: str) -> dict[str, pd.Series[bool]]:
    turned = items["share_right_strong"] < items["share_right_weak"]
    return {
        "never asked": items["n_respondents"] == 0,
        **{words: items["solved_by"] == who for who, words in solved_words(kind).items()},
        "significantly negative discrimination": items["significantly_negative"],
        "suspect key: contradicts good respondents": items["suspect_key"] & turned,
        "suspect key: strong respondents miss it like weak ones": items["suspect_key"] & ~turned,
    }


def negative_notes(items: pd.DataFrame, n_respondents: int) -> list[str]:
    """A note if some negative discriminations are not significant."""
    below, sure = _below(items), int(items["significantly_negative"].sum())
    if below <= sure:
        return []
    note = (
        f"{counted(below, 'item')} {'has' if below == 1 else 'have'} a negative discrimination, "
        f"{sure or 'none'} significantly so with {counted(n_respondents, 'respondent')}, after "
        "correction for multiple tests."
    )
    return [note]


def said_of_none(items: pd.DataFrame) -> str:
    """That no item needs a look, and what speaks against relying on it."""
    total, few, below = counted(len(items), "item"), _few_answers(items), _below(items)
    if few == len(items):
        return (
            f"None of {total} can be judged: each has fewer than {LEAST_ANSWERS} answers, too few "
            "to show a problem."
        )
    doubts: list[str] = []
    if few:
        doubts.append(
            f"{few:,} {'has' if few == 1 else 'have'} fewer than {LEAST_ANSWERS} answers, too few "
            "to show a problem"
        )
    if below:
        doubts.append(
            f"{below:,} {'has' if below == 1 else 'have'} a negative discrimination, none "
            "significantly so"
        )
    if not doubts:
        return f"None of {total} needs a look: these responses show no problem."
    return f"None of {total} is shown to need a look, but {joined(doubts)}."


def _few_answers(items: pd.DataFrame) -> int:
    asked = items["n_responses" if "n_responses" in items else "n_respondents"]
    return int(((asked > 0) & (asked < LEAST_ANSWERS)).sum())


def _below(items: pd.DataFrame) -> int:
    """Negative discriminations; of what all answered alike it is nominal, and has no sign."""
    told = items["share_reached"].between(0, 1, inclusive="neither") & (items["solved_by"] == "")
    return int(((items["discrimination"] < 0) & told).sum())


def few_answers_notes(items: pd.DataFrame) -> list[str]:
    """A note on items with too few answers to say that all or none solve them."""
    few = _few_answers(items)
    if not few:
        return []
    note = (
        f"{few:,} of {counted(len(items), 'item')} {'has' if few == 1 else 'have'} fewer than "
        f"{LEAST_ANSWERS} answers, too few to say whether all or none solve them."
    )
    return [note]
