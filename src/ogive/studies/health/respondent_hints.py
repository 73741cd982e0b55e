"""Respondents who are right more often than their ability predicts: a hint, never a proof.

There are two statistics, each a standard normal deviate. `hard_items` counts right responses to
items that are hard for the respondent. `group_hints` compares each group of items with the ability
on all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics import respondent_fit
from ogive.responses import Responses
from ogive.responses.stored_cells import as_floats
from ogive.studies.health.benchmark_saturation import score_ends
from ogive.studies.health.hard_items import HARD, LEAST_HARD, judged_by_hard_items
from ogive.studies.health.known_chances import Judged
from ogive.words import counted, joined

if TYPE_CHECKING:
    import pandas as pd

SURE = 1.96  # standard errors that an interval in a sentence reaches both ways
CAUSES = (
    "A hint is no proof of contamination: guessing, related training data, another prompt or "
    "answer format, keys that are wrong in the same way, and items seen in training can all cause "
    "it. Inspect these responses."
)


def respondent_frame(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """One row per respondent: ability, fit, and how much of the highest grades it reached.

    Of repeated answers, the fit is unknown: its test needs one answer per cell.
    """
    frame = _placed(calibration, table)
    frame["n_items"] = frame["n_items"].astype(int)
    low, high = score_ends(calibration)
    places = (as_floats(table.cells) - low) / (high - low)
    asked = np.maximum(frame["n_items"].to_numpy(), 1)
    shares = np.where(frame["n_items"] > 0, np.nansum(places, axis=1) / asked, np.nan)
    frame.insert(2, "share_reached", shares)
    return frame


def _placed(calibration: Calibration, table: Responses) -> pd.DataFrame:
    """Ability, its standard error, fit and number of items of each respondent."""
    if table.tries is not None and calibration.model.kind == "binary":
        scored = calibration.score(table)[["ability", "se"]].rename(columns={"se": "ability_se"})
        scored.index.name = "respondent"
        return scored.assign(zh=np.nan, fit_p=np.nan, n_items=table.observed.sum(axis=1))
    names = {"se": "ability_se", "p": "fit_p", "n": "n_items"}
    fit = respondent_fit(calibration, table).to_frame()
    return fit[["ability", "se", "zh", "p", "n"]].rename(columns=names)


def with_hard_items(frame: pd.DataFrame, parts: list[Judged]) -> pd.DataFrame:
    """The same with right responses to hard items, of those who can be judged."""
    return frame.assign(**judged_by_hard_items(parts, len(frame)))


def said_of_hints(frame: pd.DataFrame, hints: tuple[str, ...]) -> str:
    """Who is right more often than its ability predicts, and what may cause it."""
    judged = int(np.isfinite(frame["excess_z"]).sum())
    total, verb = counted(len(frame), "respondent"), "does" if len(hints) == 1 else "do"
    if not hints:
        looked_at = bool(np.isfinite(frame["hard"].to_numpy(float)).any())
        return _said_of_none(judged, len(frame)) if looked_at else ""
    first = _hint_said(hints[0], frame.loc[[hints[0]]].iloc[0])
    names = ", ".join(hints[:3]) + (", ..." if len(hints) > 3 else "")
    who = f"{len(hints):,} of {total}" + (f" ({names})" if len(hints) > 1 else "")
    clearest = "the clearest: " if len(hints) > 1 else ""
    return f"{who} {verb} significantly better than expected; {clearest}{first}. {CAUSES}"


def _said_of_none(judged: int, total: int) -> str:
    """That nobody stands out, and how many could not be judged."""
    if not judged:
        return (
            f"Right answers to hard items are not judged: nobody was asked {LEAST_HARD} or more "
            f"that it solves with a chance below {HARD:.0%}."
        )
    rest = total - judged
    few = f"; {rest:,} could not be judged, such as for fewer than {LEAST_HARD} hard items"
    return (
        f"None of {counted(judged, 'respondent')} is right on hard items significantly more often "
        f"than expected{few if rest else ''}."
    )


def _hint_said(name: str, row: pd.Series[Any]) -> str:
    """Say what is unexpected about one respondent, a row of the frame of respondents."""
    said = []
    if row["hint"]:
        mean, reach = row["expected_on_hard"], SURE * row["expected_on_hard_se"]
        low, high = max(mean - reach, 0.0), min(mean + reach, row["hard"])
        right = float(row["right_on_hard"])
        count = f"{right:,.0f}" if right.is_integer() else f"{right:,.1f}"
        said.append(
            f"right on {count} of {counted(int(row['hard']), 'hard item')}, where "
            f"{mean:.1f} ({low:.1f} to {high:.1f}) are expected"
        )
    if row["too_good_on"]:
        said.append(f"better on {row['too_good_on']} than its other responses predict")
    return f"{name} is {joined(said)}"
