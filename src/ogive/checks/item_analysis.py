"""Item analysis: what is known of each item, its key and near-duplicates, and distractors.

Distractors are wrong options that attract the strong, and so contradict the key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import gammaln, ndtr, stdtr

from ogive._progress import Progress, telling
from ogive._validation import checked_share, one_of
from ogive.checks.duplicates import PAIR_COLUMNS, duplicate_items, duplicate_notes, effective_share
from ogive.checks.local_dependence import local_dependence
from ogive.checks.mislabelled_items import label_trouble
from ogive.checks.residuals import p_of_negative
from ogive.checks.saturation import score_ends
from ogive.data.frames import OPTION, option_names
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.models.nominal import Nominal
from ogive.irt.repeated_responses import tries_in_words, tries_or_one
from ogive.irt.response_codes import as_floats
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, joined, listed, said_p, shown, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.multiplicity import CORRECTIONS, Correction, benjamini_hochberg

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["Distractors", "distractors"]

ALPHA = 0.05  # share of false discoveries among the items called negative
SAME_Q3 = 0.8  # residual correlation from which grades and scores are near-duplicates
MOST_PAIRS = 1000  # most pairs that are listed
LEAST_ANSWERS = 5  # answers needed to say that all or none solve an item
ROUNDING = 1e-9  # norm of standardised responses that counts as no spread
LEAST_SLOPE = 0.1  # size of a discrimination below which difficulty is meaningless
KNOWN = ["difficulty", "difficulty_se", "discrimination", "discrimination_se"]


def described_items(
    calibration: Calibration, table: Responses, groups: Sequence[str] | None
) -> pd.DataFrame:
    """Return columns for every kind of responses."""
    values = as_floats(table.cells)
    n = np.count_nonzero(~np.isnan(values), axis=0)
    alike = np.fmax.reduce(values, axis=0) == np.fmin.reduce(values, axis=0)
    two_answers = table.kind in ("binary", "nominal")
    low, high = score_ends(calibration)
    shares = (values - low) / (high - low)
    # If a table has only one grade, its position between the ends is unknown.
    one_grade = np.fmax.reduce(values, axis=None) == np.fmin.reduce(values, axis=None)
    count = np.where((n > 0) & (two_answers or not one_grade), n, np.nan)
    mean = np.nansum(shares, axis=0) / count
    sd = np.sqrt(np.maximum(np.nansum(shares**2, axis=0) / count - mean**2, 0.0))
    p = p_of_negative(calibration) if two_answers else _p_against_rest(values)
    negative_p = np.where((mean > 0) & (mean < 1) & ~alike, p, np.nan)
    adjusted = benjamini_hochberg(negative_p)
    answers = tries_or_one(table.tries, table.observed).sum(axis=0)
    cases = [mean == 1, mean == 0, alike & (table.kind != "binary")]
    solved = np.select(cases, ["all", "none", "alike"], "")
    known = calibration.items[KNOWN]
    uninformative = ~(n > 0) | alike
    known = known.mask(np.broadcast_to(uninformative[:, None], known.shape))
    flat = known["discrimination"].abs() < LEAST_SLOPE
    known[KNOWN[:2]] = known[KNOWN[:2]].mask(flat)
    reached = {
        "share_reached": mean,
        "share_reached_se": sd / np.sqrt(count),
        "n_respondents": n,
        **({} if table.tries is None else {"n_responses": answers}),
    }
    columns = {
        "solved_by": np.where(answers >= LEAST_ANSWERS, solved, "").astype(object),
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
    index = known.index
    return pd.concat([pd.DataFrame(reached, index), known, pd.DataFrame(columns, index)], axis=1)


def _p_against_rest(values: Floats) -> Floats:
    """Return the one-sided p-value of each item that it does not run against the others' mean.

    Grades and scores of few respondents tell this better than a slope: the standard error of a
    steep one grows with it, which hides the surest (Hauck and Donner, 1977).
    """
    centred = _centred(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = centred / _norm(centred)
        others = np.count_nonzero(~np.isnan(own), axis=1)[:, None] - 1
        rest = (np.nansum(own, axis=1)[:, None] - own) / others
        both = np.isfinite(own * rest)
        own, rest = (_centred(np.where(both, each, np.nan)) for each in (own, rest))
        norm = np.where(_norm(rest) > ROUNDING, _norm(own) * _norm(rest), np.nan)
        r = np.clip(np.nansum(own * rest, axis=0) / norm, -1, 1)
        df = np.count_nonzero(~np.isnan(rest), axis=0) - 2.0
        t = r * np.sqrt(df / (1 - r**2))
    p = np.where((df > 0) & ~np.isnan(t), stdtr(np.maximum(df, 1), t), np.nan)
    return np.asarray(np.maximum(p, [_least_p(column) for column in values.T]))


def _centred(values: Floats) -> Floats:
    """Return the distance of each response from the mean of its item; NaN without responses."""
    n = np.count_nonzero(~np.isnan(values), axis=0)
    return np.asarray(values - np.nansum(values, axis=0) / np.where(n > 0, n, np.nan))


def _norm(centred: Floats) -> Floats:
    """Return the Euclidean norm of each column; NaN instead of 0."""
    norm = np.sqrt(np.nansum(centred**2, axis=0))
    return np.where(norm > 0, norm, np.nan)


def _least_p(responses: Floats) -> float:
    """Return the probability of one order of these responses: no p-value is below that."""
    _, counts = np.unique(responses[~np.isnan(responses)], return_counts=True)
    return float(np.exp(gammaln(counts + 1).sum() - gammaln(counts.sum() + 1)))


def judged_keys(
    calibration: Calibration, table: Responses, ability: Floats, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write keys and near-duplicates into `items`; return the pairs, and notes on them.

    Near-duplicates of repeated answers are not judged.
    """
    _write_keys(calibration, table, items)
    if table.tries is not None:
        tries = tries_in_words(tries_or_one(table.tries, table.observed))
        note = (
            "Near-duplicates and the fit of respondents are not judged: their tests need one "
            f"answer per cell, and there are {tries}. To judge them, keep the first answer to "
            "each item: of logs by ogive read ... --epochs first, of a table by leaving out the "
            "other rows. Everything else counts all answers."
        )
        return pd.DataFrame(columns=[*PAIR_COLUMNS]), [note]
    share = effective_share(calibration, table, ability)
    duplicates = duplicate_items(calibration, table, ability, share)
    items["duplicate_of"] = list(duplicates.original)
    return duplicates.pairs, duplicate_notes(duplicates, table.n_respondents, share)


def _write_keys(calibration: Calibration, table: Responses, items: pd.DataFrame) -> None:
    """Write what `label_trouble` says of each key into `items`."""
    frame = label_trouble(calibration, table).to_frame().loc[list(table.items)]
    items["suspect_key"] = frame["suspect"].to_numpy(bool)
    items["contradiction"] = frame["evidence"].to_numpy(float)
    for name in ("share_right_strong", "share_right_weak"):
        items[name] = frame[name].to_numpy(float)


def judged_residuals(
    calibration: Calibration, table: Responses, items: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Write near-duplicates by their residuals into `items`; return the pairs and a note."""
    note = (
        f"Responses are {table.kind}, so keys and hard items are not judged. To judge them, recode "
        "each response as 1 if it is good enough, else 0."
    )
    pairs = local_dependence(calibration, table, max_pairs=MOST_PAIRS).to_frame()
    same = pairs[pairs["dependent"] & (pairs["q3"] >= SAME_Q3)]
    position = {name: k for k, name in enumerate(table.items)}
    original: dict[str, str] = {}
    for item, other in zip(same["item"], same["other"], strict=True):
        first, second = sorted((item, other), key=position.__getitem__)
        original[second] = original.get(first, first)
    items["duplicate_of"] = [original.get(name, "") for name in table.items]
    kept = same[["item", "other", "n", "q3", "p", "p_adjusted"]].reset_index(drop=True)
    return kept.rename(columns={"n": "n_respondents"}), [note]


def solved_words(kind: str) -> dict[str, str]:
    """Return words for what `solved_by` says, by the kind of responses."""
    if kind == "binary":
        return {"all": "solved by all", "none": "solved by none"}
    return {"all": "all at the top", "none": "all at the bottom", "alike": "all alike"}


def problems_said(items: pd.DataFrame, kind: str = "binary") -> list[str]:
    """Return the problems of each item in words; empty if there are none."""
    missed = items["share_right_strong"] < items["share_right_weak"]
    masks = {
        "never asked": items["n_respondents"] == 0,
        **{words: items["solved_by"] == who for who, words in solved_words(kind).items()},
        "significantly negative discrimination": items["significantly_negative"],
        "suspect key: contradicts good respondents": items["suspect_key"] & missed,
        "suspect key: strong respondents miss it like weak ones": items["suspect_key"] & ~missed,
    }
    problems: list[list[str]] = [[] for _ in range(len(items))]
    for words, mask in masks.items():
        for row in mask.to_numpy().nonzero()[0]:
            problems[row].append(words)
    for words_of, original in zip(problems, items["duplicate_of"], strict=True):
        if original:
            words_of.append(f"near-duplicate of {original}")
    return ["; ".join(words_of) for words_of in problems]


def negative_notes(items: pd.DataFrame, n_respondents: int) -> list[str]:
    """Return a note if some negative discriminations are not significant."""
    below, sure = _n_negative(items), int(items["significantly_negative"].sum())
    if below <= sure:
        return []
    note = (
        f"{counted(below, 'item')} {'has' if below == 1 else 'have'} a negative discrimination, "
        f"{sure or 'none'} significantly so with {counted(n_respondents, 'respondent')}, after "
        "correction for multiple tests."
    )
    return [note]


def said_of_none(items: pd.DataFrame) -> str:
    """Return that no item needs a look, and what speaks against relying on it."""
    total = counted(len(items), "item")
    few, below = _n_few_answers(items), _n_negative(items)
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


def _n_few_answers(items: pd.DataFrame) -> int:
    asked = items["n_responses" if "n_responses" in items else "n_respondents"]
    return int(((asked > 0) & (asked < LEAST_ANSWERS)).sum())


def _n_negative(items: pd.DataFrame) -> int:
    """Return the number of negative discriminations, without items that all answered alike."""
    known = items["share_reached"].between(0, 1, inclusive="neither") & (items["solved_by"] == "")
    return int(((items["discrimination"] < 0) & known).sum())


def few_answers_notes(items: pd.DataFrame) -> list[str]:
    """Return a note on items with too few answers to say that all or none solve them."""
    few = _n_few_answers(items)
    if not few:
        return []
    note = (
        f"{few:,} of {counted(len(items), 'item')} {'has' if few == 1 else 'have'} fewer than "
        f"{LEAST_ANSWERS} answers, too few to say whether all or none solve them."
    )
    return [note]


NORMAL_95 = 1.96  # standard errors each way of a 95 % interval
MOST_PANELS = 6
LEAST_RESPONDENTS = 10


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
        n_items, suspects = self.options["item"].nunique(), self.suspects
        bound = "chance of any false one" if self.correction == "holm" else "false discovery rate"
        if not suspects:
            return (
                f"In none of {counted(n_items, 'item')} does a wrong option gain on the right one "
                f"as ability rises ({bound} {self.alpha:.0%})."
            )
        row = self.options.sort_values("p", kind="stable").iloc[0]
        return (
            f"In {len(suspects)} of {counted(n_items, 'item')}, the stronger a respondent, the "
            f"more it prefers a wrong option to the right one ({bound} {self.alpha:.0%}). The "
            f"clearest is {row['item']}: log-odds of {row['option']} against {row['key']} rise by "
            f"{with_interval(row['slope'], NORMAL_95 * row['slope_se'])} per standard deviation of "
            f"ability ({said_p(row['p_adjusted'])} after correction). Check these keys."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and option."""
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
        from ogive.results.plots import DISPLAYS

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
    if table.n_respondents < LEAST_RESPONDENTS:
        raise InputError(
            f"There are {counted(table.n_respondents, 'respondent')}, but it takes "
            f"{LEAST_RESPONDENTS} or more to see whom an option attracts."
        )
    counts = _option_counts(table)
    with telling(progress, "Comparing options") as report:
        bank = calibrate(table, Nominal(categories=counts), progress=report)
    frame = _options(table, bank, counts)
    adjusted = CORRECTIONS[correction](frame["p"].to_numpy())
    frame = frame.assign(p_adjusted=adjusted, attracts=adjusted < alpha)
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
    """Return choices as responses; a frame may hold its key as a row."""
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
        row = rows.index(key)
        key = frame.iloc[row]
        frame = frame.iloc[[k for k in range(len(rows)) if k != row]]
    return Responses.from_choices(frame, key)


def _option_counts(table: Responses) -> tuple[int, ...]:
    """Return the number of options of each item, also of those that no respondent chose."""
    facts = table.item_facts
    names = [name for name in facts if str(name).startswith(OPTION)]
    n_named = facts[names].notna().sum(axis=1).to_numpy() if names else 0
    highest = np.maximum(table.cells.max(axis=0), np.maximum(n_named, 1))
    return tuple(int(most) + 1 for most in highest)


def _options(table: Responses, bank: Calibration, counts: tuple[int, ...]) -> pd.DataFrame:
    """Return one row per item and option."""
    items = bank.items
    facts = {str(name): list(column) for name, column in table.item_facts.items()}
    ability = bank.abilities()["ability"].to_numpy()
    rows = []
    for j, name in enumerate(table.items):
        labels = option_names(facts, j, counts[j])
        chosen = table.cells[:, j]
        asked = max(1, int((chosen >= 0).sum()))
        for k, label in enumerate(labels):
            took = chosen == k
            slope = 0.0 if k == 0 else items[f"slope_{k}"].iloc[j]
            se = np.nan if k == 0 else items[f"slope_{k}_se"].iloc[j]
            row = {
                "item": name,
                "option": label,
                "key": labels[0],
                "right": k == 0,
                "n_respondents": int(took.sum()),
                "share": took.sum() / asked,
                "ability": ability[took].mean() if took.any() else np.nan,
                "slope": slope,
                "slope_se": se,
                "p": float(ndtr(-slope / se)) if took.any() and se > 0 else np.nan,
            }
            rows.append(row)
    return pd.DataFrame(rows)


def _curves(bank: Calibration, frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    """Return curves of the key, the most attractive wrong option and the others together."""
    parts = []
    for name in names:
        rows = frame[frame["item"] == name].reset_index(drop=True)
        p = rows["p"].fillna(2.0)
        p.iloc[0] = np.inf
        best = int(p.to_numpy().argmin())
        curves = bank.category_curves(name)
        title = f"{name}: {rows['option'].iloc[best]} against {rows['key'].iloc[0]}"
        options = {"right option": [0], "wrong option": [best]}
        others = [k for k in range(1, len(rows)) if k != best]
        if others:
            options["all others"] = others
        for group, which in options.items():
            probability: Floats = curves.probability[which].sum(axis=0)
            se = np.sqrt((curves.probability_se[which] ** 2).sum(axis=0))
            columns = {
                "ability": curves.abilities,
                "expected": probability,
                "low": np.clip(probability - NORMAL_95 * se, 0.0, 1.0),
                "high": np.clip(probability + NORMAL_95 * se, 0.0, 1.0),
            }
            parts.append(pd.DataFrame(columns).assign(item=title, group=group))
    return pd.concat(parts, ignore_index=True)


def _remarks(table: Responses, bank: Calibration, frame: pd.DataFrame) -> list[str]:
    """Return notes for the reader of the table."""
    notes = []
    if not bank.converged:
        notes.append("The calibration did not converge: slopes may be inaccurate.")
    never = frame[frame["n_respondents"] == 0]
    if len(never):
        names = [f"{row.item}: {row.option}" for row in never.itertuples()]
        notes.append(f"Nobody chose {listed(names, 'option')}: nothing is said about them.")
    if not any(str(name).startswith(OPTION) for name in table.item_facts):
        notes.append("The options have no names; Responses.from_choices gives them theirs.")
    return notes
