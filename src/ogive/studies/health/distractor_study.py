"""Distractors: which wrong options attract the strong, and so contradict the key."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share, one_of
from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.models import Nominal
from ogive.numerics.arrays import Floats
from ogive.numerics.multiplicity import CORRECTIONS, Correction
from ogive.progress import Progress, telling
from ogive.responses import Responses
from ogive.responses.chosen_options import OPTION, option_names
from ogive.results import Draw, Result
from ogive.words import counted, listed, said_p, shown, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["Distractors", "distractors"]

REACH = 1.96
MOST_PANELS = 6
FEWEST = 10  # respondents


@dataclass(frozen=True, eq=False, repr=False)
class Distractors(Result):
    """Wrong options that attract the strong.

    `options` has one row per item and option; `curves` how likely the key, the most attractive
    wrong option and all others are along the scale, of the items with the smallest p-values.
    """

    options: pd.DataFrame
    curves: pd.DataFrame
    calibration: Calibration
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def suspects(self) -> tuple[str, ...]:
        """Items with an option that the strong prefer to the key, the clearest first."""
        rows = self.options[self.options["attracts"]].sort_values("p", kind="stable")
        return tuple(dict.fromkeys(rows["item"]))

    @property
    def meaning(self) -> str:
        """How many keys are contradicted, the clearest of them, and what to do."""
        n_items, found = self.options["item"].nunique(), self.suspects
        bound = "chance of any false one" if self.correction == "holm" else "false discovery rate"
        if not found:
            return (
                f"In none of {counted(n_items, 'item')} does a wrong option gain on the right one "
                f"as ability rises ({bound} {self.alpha:.0%})."
            )
        row = self.options.sort_values("p", kind="stable").iloc[0]
        return (
            f"In {len(found)} of {counted(n_items, 'item')}, the stronger a respondent, the more "
            f"it prefers a wrong option to the right one ({bound} {self.alpha:.0%}). The clearest "
            f"is {row['item']}: log-odds of {row['option']} against {row['key']} rise by "
            f"{with_interval(row['slope'], REACH * row['slope_se'])} per standard deviation of "
            f"ability ({said_p(row['p_adjusted'])} after correction). Check these keys."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per item and option."""
        return self.options.copy()

    def preview(self) -> pd.DataFrame:
        """Return the wrong options with the smallest p-values."""
        wrong = self.options[~self.options["right"]].sort_values("p", kind="stable")
        names = ["item", "option", "key", "share", "slope", "slope_se", "p_adjusted", "attracts"]
        return wrong[names].head(12)

    def figures(self) -> dict[str, Draw]:
        """Return the curves of the items with the smallest p-values."""
        return {"option_curves": partial(self.plot)}

    def banks(self) -> dict[str, Calibration]:
        """Return the nominal calibration."""
        return {"distractors": self.calibration}

    def plot(self, **kw: Any) -> Display:
        """Plot how likely options are along the scale, for the items with the smallest p-values."""
        from ogive.displays import DISPLAYS

        return DISPLAYS["option_curves"](self.curves).plot(**kw)


def distractors(
    choices: Responses | pd.DataFrame,
    key: Any = "key",
    *,
    alpha: float = 0.05,
    correction: Correction = "bh",
    progress: Progress | bool = True,
) -> Distractors:
    """Find wrong options that attract the strong: the sharpest sign of a wrong key.

    The nominal model (Bock, 1972) gives each wrong option a slope: how much its log-odds against
    the right option rise with ability. Below zero is normal. Where it lies above zero, the strong
    leave the right option for the wrong one. The frame has one row per item and option.

    Parameters
    ----------
    choices
        What `Responses.from_choices` made; or a frame with one row per respondent and one column
        per item, which holds the option that was chosen. A first column called respondent, or
        any first column of text that is not an item of the key, names the rows.
    key
        The right option of each item, as a list or a mapping; or the name of the row that holds
        it. Responses know theirs.
    alpha
        Adjusted p-values below it count.
    correction
        How p-values are adjusted for many tests: "bh" and "by" bound the share of false
        discoveries, "holm" the chance of a single one.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Examples
    --------
    >>> import ogive as og
    >>> import pandas as pd
    >>> drawn = og.simulate(og.Nominal(categories=4), 300, 12, random_state=0).responses
    >>> chosen = pd.DataFrame(drawn.cells, drawn.respondents, drawn.items)
    >>> chosen = chosen.replace(dict(enumerate("ABCD")))
    >>> key = dict.fromkeys(drawn.items, "A") | {"item_3": "B"}  # one key is wrong
    >>> og.distractors(chosen, key).suspects
    ('item_3',)
    """
    checked_share(alpha, "alpha", 0.05)
    one_of(correction, "correction", CORRECTIONS)
    table = _choices(choices, key)
    if table.n_respondents < FEWEST:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but it takes {FEWEST} or "
            "more to see whom an option attracts."
        )
    with telling(progress, "Comparing options") as report:
        bank = calibrate(table, Nominal(categories=_counts(table)), progress=report)
    frame = _options(table, bank, correction, alpha)
    order = frame.sort_values("p", kind="stable")["item"].drop_duplicates()
    return Distractors(
        options=frame,
        curves=_curves(bank, frame, list(order[:MOST_PANELS])),
        calibration=bank,
        alpha=alpha,
        correction=correction,
        notes=(*table.notes, *_remarks(table, bank, frame)),
    )


def _choices(choices: Any, key: Any) -> Responses:
    """Choices as responses; a frame may hold its key as a row."""
    if isinstance(choices, Responses):
        if choices.kind != "nominal":
            raise InputError(
                f"The responses are {choices.kind}, which does not say which option was chosen. "
                "Make choices with Responses.from_choices(options chosen, key)."
            )
        return choices
    frame = choices
    first = frame.columns[0] if len(getattr(frame, "columns", ())) else None
    if first is not None and type(frame.index).__name__ == "RangeIndex":
        in_key = isinstance(key, str) or not hasattr(key, "keys") or first not in key
        if str(first).lower() in ("respondent", "model", "") or (isinstance(key, str) and in_key):
            frame = frame.set_index(first)
    if isinstance(key, str):
        rows = [str(name) for name in frame.index]
        if rows.count(key) != 1:
            raise InputError(
                f"key is {shown(key)}, but {rows.count(key) or 'no'} rows have that name; rows are "
                f"{listed(rows, 'row')}. Name the row that holds the right option of each item."
            )
        place = rows.index(key)
        key = frame.iloc[place]
        frame = frame.iloc[[k for k in range(len(rows)) if k != place]]
    return Responses.from_choices(frame, key)


def _counts(table: Responses) -> tuple[int, ...]:
    """How many options each item has, also those that nobody chose."""
    facts = table.item_facts
    told = [name for name in facts if str(name).startswith(OPTION)]
    named = facts[told].notna().sum(axis=1).to_numpy() if told else 0
    highest = np.maximum(table.cells.max(axis=0), np.maximum(named, 1))
    return tuple(int(most) + 1 for most in highest)


def _options(table: Responses, bank: Calibration, correction: str, alpha: float) -> pd.DataFrame:
    """One row per item and option."""
    import pandas as pd
    from scipy.special import ndtr

    items = bank.items
    facts = {str(name): list(column) for name, column in table.item_facts.items()}
    ability = bank.abilities()["ability"].to_numpy()
    counts = _counts(table)
    rows = []
    for place, name in enumerate(table.items):
        labels = option_names(facts, place, counts[place])
        chosen = table.cells[:, place]
        asked = max(1, int((chosen >= 0).sum()))
        for k, label in enumerate(labels):
            took = chosen == k
            slope = 0.0 if k == 0 else items[f"slope_{k}"].iloc[place]
            error = np.nan if k == 0 else items[f"slope_{k}_se"].iloc[place]
            rows.append(
                {
                    "item": name,
                    "option": label,
                    "key": labels[0],
                    "right": k == 0,
                    "n_respondents": int(took.sum()),
                    "share": took.sum() / asked,
                    "ability": ability[took].mean() if took.any() else np.nan,
                    "slope": slope,
                    "slope_se": error,
                    "p": float(ndtr(-slope / error)) if took.any() and error > 0 else np.nan,
                }
            )
    frame = pd.DataFrame(rows)
    adjusted = CORRECTIONS[correction](frame["p"].to_numpy())
    return frame.assign(p_adjusted=adjusted, attracts=adjusted < alpha)


def _curves(bank: Calibration, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """How likely the key, the most attractive wrong option and the others together are."""
    import pandas as pd

    parts = []
    for name in names:
        rows = frame[frame["item"] == name].reset_index(drop=True)
        judged = rows["p"].fillna(2.0)
        judged.iloc[0] = np.inf
        best = int(judged.to_numpy().argmin())
        found = bank.category_curves(name)
        title = f"{name}: {rows['option'].iloc[best]} against {rows['key'].iloc[0]}"
        shown_as = {"right option": [0], "wrong option": [best]}
        others = [k for k in range(1, len(rows)) if k != best]
        if others:
            shown_as["all others"] = others
        for group, which in shown_as.items():
            chance: Floats = found.probability[which].sum(axis=0)
            error = np.sqrt((found.probability_se[which] ** 2).sum(axis=0))
            columns = {
                "ability": found.abilities,
                "expected": chance,
                "low": np.clip(chance - REACH * error, 0.0, 1.0),
                "high": np.clip(chance + REACH * error, 0.0, 1.0),
            }
            parts.append(pd.DataFrame(columns).assign(item=title, group=group))
    return pd.concat(parts, ignore_index=True)


def _remarks(table: Responses, bank: Calibration, frame: pd.DataFrame) -> list[str]:
    """What a reader should know besides the table."""
    said = []
    if not bank.converged:
        said.append("The calibration did not converge: slopes may be inaccurate.")
    never = frame[frame["n_respondents"] == 0]
    if len(never):
        names = [f"{row.item}: {row.option}" for row in never.itertuples()]
        said.append(f"Nobody chose {listed(names, 'option')}: nothing is said about them.")
    if not any(str(name).startswith(OPTION) for name in table.item_facts):
        said.append("The options have no names; Responses.from_choices gives them theirs.")
    return said
