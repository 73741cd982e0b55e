"""Tables of battles, and the Bradley-Terry strengths that explain them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.foreign_frames import as_pandas, with_whole_texts
from ogive.errors import InputError
from ogive.results.numbers import counted, listed, meant, shown
from ogive.stats.array_backend import Floats
from ogive.stats.bradley_terry import Cells, Curvature, Problem, Strengths, spread_of
from ogive.stats.bradley_terry_errors import (
    Errors,
    connected_rivals,
    errors_of,
    prior_of,
    ties_explain_all,
)
from ogive.stats.intervals import t_reach

Ints = NDArray[np.intp]

FIRST = ("model_a", "respondent", "model_1", "model1", "first", "a")
SECOND = ("model_b", "other", "model_2", "model2", "second", "b")
WINNER = ("winner", "preference", "preferred", "outcome", "result", "choice")
PROMPT = "prompt"
PROMPTS = (PROMPT, "prompt_id", "question_id", "item", "question", "instruction")
JUDGES = ("judge", "judge_model", "rater", "annotator")
WORDS = {  # what tables of the field write for who won, in lower case
    **dict.fromkeys(("model_a", "a", "model_1", "model1", "first", "left"), 1.0),
    **dict.fromkeys(("model_b", "b", "model_2", "model2", "second", "right"), 0.0),
    **dict.fromkeys(("tie", "ties", "tied", "draw", "both", "neither", "equal"), 0.5),
    **dict.fromkeys(("tie (bothbad)", "tie (both bad)", "bothbad", "both_bad", "both bad"), 0.5),
}
NUMBERS = (0.0, 0.5, 1.0)


@dataclass(frozen=True, eq=False)
class Battles:
    """Comparisons in pairs of different rivals, each with an outcome."""

    frame: pd.DataFrame  # the rows that count
    rivals: tuple[str, ...]
    first: Ints  # (n_battles,), as all that follow
    second: Ints
    score: Floats  # 1 if the first won, 0 if the second did, 0.5 for a tie
    notes: tuple[str, ...]

    def column(self, name: str, word: str) -> tuple[tuple[str, ...], Ints]:
        """Return names in a column, and the place of each battle among them; gaps are alone."""
        found = name
        if name == PROMPT:
            found = next((each for each in PROMPTS if each in self.frame.columns), name)
        if found not in self.frame.columns:
            raise InputError(
                f"{word} is {shown(name)}, but the battles have the columns "
                f"{', '.join(map(str, self.frame.columns[:12]))}. Name one of them."
            )
        code, names = pd.factorize(self.frame[found])
        gaps = np.flatnonzero(code < 0)
        code = code.astype(np.intp)
        code[gaps] = len(names) + np.arange(gaps.size)
        return (*map(str, names), *(f"unknown {k + 1}" for k in range(gaps.size))), code

    def has(self, *names: str) -> bool:
        """Return True if there is a column of one of these names."""
        return any(name in self.frame.columns for name in names)


def read_battles(
    table: Any, respondent: str | None, other: str | None, winner: str | None
) -> Battles:
    """Check a table of battles; rows that say nothing are left out with a note."""
    frame = _as_frame(table)
    one, two, won = (
        _column(frame, name, known, word)
        for name, known, word in (
            (respondent, FIRST, "respondent"),
            (other, SECOND, "other"),
            (winner, WINNER, "winner"),
        )
    )
    names = [frame[each].astype("string").str.strip() for each in (one, two)]
    score = _scores(frame[won], names[0], names[1], (one, two))
    notes = []
    lost = (names[0].isna() | names[1].isna()).to_numpy(dtype=bool)
    blank = ~lost & np.isnan(score)
    alone = ~lost & (names[0] == names[1]).fillna(value=False).to_numpy(dtype=bool)
    for rows, why in (
        (lost, "without two names"),
        (blank & ~alone, "without a winner"),
        (alone, "of a respondent with itself, which say nothing of its strength"),
    ):
        if rows.any():
            notes.append(f"Left out: {counted(int(rows.sum()), 'battle')} {why}.")
    kept = ~(lost | blank | alone)
    if not kept.any():
        raise InputError(f"No battle of two respondents has a winner. {' '.join(notes)}".strip())
    return _coded(frame[kept], [each[kept] for each in names], score[kept], tuple(notes))


def _coded(
    frame: pd.DataFrame, names: Sequence[Any], score: Floats, notes: tuple[str, ...]
) -> Battles:
    code, rivals = pd.factorize(pd.concat(names, ignore_index=True), sort=True)
    first, second = code.astype(np.intp).reshape(2, -1)
    return Battles(frame, tuple(map(str, rivals)), first, second, score, notes)


def _as_frame(table: Any) -> pd.DataFrame:
    frame = as_pandas(table)
    if isinstance(frame, pd.DataFrame):
        if isinstance(frame.index, pd.MultiIndex) or frame.index.name is not None:
            frame = frame.reset_index()
    else:
        named = isinstance(frame, Mapping) or (
            isinstance(frame, Sequence) and len(frame) and isinstance(frame[0], Mapping)
        )
        try:
            columns = None if named else [FIRST[0], SECOND[0], WINNER[0]]
            frame = pd.DataFrame(frame, columns=columns)
        except (ValueError, TypeError) as error:
            raise InputError(
                "`battles` must be a table with one row per battle: two respondents and the "
                f"winner, got {shown(table)}."
            ) from error
    if not len(frame):
        raise InputError("The table of battles has no rows, so there is nothing to analyse.")
    return with_whole_texts(frame)


def _column(frame: pd.DataFrame, name: str | None, known: Sequence[str], word: str) -> Any:
    if name is not None:
        if name in frame.columns:
            return name
        raise InputError(
            f"{word} is {shown(name)}, but the battles have the columns "
            f"{', '.join(map(str, frame.columns[:12]))}. Name one of them."
            f"{meant(name, frame.columns)}"
        )
    lower = {str(each).strip().lower(): each for each in reversed(list(frame.columns))}
    found = next((lower[each] for each in known if each in lower), None)
    if found is None:
        raise InputError(
            f"The battles have the columns {', '.join(map(str, frame.columns[:12]))}; none of them "
            f"is {', '.join(known[:-1])} or {known[-1]}. Say which one it is: {word}='...'."
        )
    return found


def _scores(winner: Any, first: Any, second: Any, columns: tuple[Any, Any]) -> Floats:
    """Return 1, 0.5 or 0 for each battle, NaN if no winner is named; refuse unknown words."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    if is_numeric_dtype(winner) and not is_bool_dtype(winner):
        found: Floats = winner.to_numpy(dtype=float, na_value=np.nan)
        odd = ~np.isnan(found) & ~np.isin(found, NUMBERS)
        if odd.any():
            raise InputError(
                f"The winner is the number {found[odd][0]:g} in {counted(int(odd.sum()), 'battle')}"
                "; numbers are what the first of the two gets: 1 for a win, 0.5 for a tie, 0 for a "
                "loss. Write these, or the names of the winners."
            )
        return found
    text = winner.astype("string").str.strip()
    low = text.str.lower()
    own = {str(columns[0]).lower(): 1.0, str(columns[1]).lower(): 0.0}
    found = low.map(WORDS | own).to_numpy(dtype=float, na_value=np.nan).copy()
    for name, score in ((second, 0.0), (first, 1.0)):  # a name is a name, whatever it reads like
        same = (text == name).fillna(value=False).to_numpy(dtype=bool)
        found[same] = score
    numbers = pd.to_numeric(low, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    found = np.where(np.isnan(found) & np.isin(numbers, NUMBERS), numbers, found)
    gaps = (text.isna() | (text == "")).to_numpy(dtype=bool)
    odd = np.isnan(found) & ~gaps
    if odd.any():
        words = list(dict.fromkeys(text[odd].tolist()))
        raise InputError(
            f"The winner of {counted(int(odd.sum()), 'battle')} is neither of the two nor a tie: "
            f"{listed(words, 'word')}. Write the name of the winner, {columns[0]} or "
            f"{columns[1]}, tie, or nothing where nobody decided."
        )
    return found


Ties = Literal["davidson", "half", "drop"]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What is known of the rivals, in the order of their names."""

    cells: Cells
    strengths: Strengths
    errors: Errors
    covariance: Floats  # (n_rivals, n_rivals) of strengths; wider than robust where they are open
    part: Ints  # (n_rivals,): the separate board of each
    open: NDArray[np.bool_]  # (n_rivals,): whose strength only a prior keeps finite
    advantage: tuple[float, float] | None  # log odds of the first among equals, and se
    spread: tuple[float, float]  # interval of the spread of log discriminations
    group_se: Floats  # (n_groups,) of log discriminations
    converged: bool

    @property
    def se(self) -> Floats:
        """Standard errors of strengths; NaN for who was seen in one cluster only."""
        found = np.sqrt(np.diag(self.covariance))
        return np.where(self.errors.clusters > 1, found, np.nan)

    @property
    def counts(self) -> Floats:
        """Battles won, tied and lost of each rival, (3, n_rivals)."""
        cells, n = self.cells, self.cells.n_rivals
        forth, back = (cells.won, cells.tied, cells.lost), (cells.lost, cells.tied, cells.won)
        first, second = (
            np.stack([np.bincount(at, x, n) for x in parts])
            for at, parts in ((cells.first, forth), (cells.second, back))
        )
        return np.asarray(first + second, dtype=np.float64)

    def win_rates(self, confidence: float) -> Floats:
        """Return share of battles with the others of its board that each would win, (4, n_rivals).

        Ties count half. Estimate, standard error, low and high; NaN for who is alone.
        """
        from scipy.special import expit

        strengths, n = self.strengths, self.cells.n_rivals
        apart = strengths.strength[:, None] - strengths.strength
        won, tied, lost = strengths.chances(apart)
        edge = (won - lost) / 2
        rivals = (self.part[:, None] == self.part) & ~np.eye(n, dtype=bool)
        with np.errstate(divide="ignore", invalid="ignore"):
            weight = rivals / rivals.sum(axis=1, keepdims=True)
        rate = (weight * (won + tied / 2)).sum(axis=1)
        bend = weight * ((won + lost) / 4 - edge**2)  # slope of won + tied/2 in the difference
        slopes = np.diag(bend.sum(axis=1)) - bend
        by_tie = -(weight * tied * edge).sum(axis=1)
        joint = self.errors.covariance.copy()
        joint[:n, :n] = self.covariance
        design = np.column_stack([slopes, np.zeros(n), by_tie])
        se = np.sqrt(np.maximum(((design @ joint) * design).sum(axis=1), 0.0))
        se = np.where(self.errors.clusters > 1, se, np.nan)
        odds, reach = np.log(rate / (1 - rate)), se / (rate * (1 - rate))
        reach = t_reach(self.errors.freedom, confidence) * reach
        low, high = (expit(odds + sign * reach) for sign in (-1.0, 1.0))
        return np.stack([rate, se, low, high])


def fit(
    battles: Battles, ties: Ties, clusters: list[Ints], groups: Ints | None, *, position: bool
) -> Fitted:
    """Estimate strengths by maximum likelihood; where data leave some open, a prior holds them."""
    kept = battles.score != 0.5 if ties == "drop" else np.ones(battles.score.size, dtype=bool)
    if not (battles.score != 0.5).any():
        raise InputError("Every battle is a tie, so no respondent is preferred to another.")
    group = np.zeros(kept.size, dtype=np.intp) if groups is None else groups
    n, n_groups = len(battles.rivals), int(group.max()) + 1
    counted = (battles.first[kept], battles.second[kept], battles.score[kept], n, group[kept])
    cells = Cells.of(*counted, n_groups)
    part, strong = connected_rivals(cells)
    likely = cells.halved() if ties == "half" else cells
    penalty, open_ = prior_of(part, strong, whole=ties_explain_all(likely))
    problem = Problem(likely, part, penalty, position)
    found, converged = problem.maximize(problem.start())
    if position and not (converged and problem.identified()):
        raise InputError(
            "The advantage of the first position cannot be separated from the strengths: give "
            "battles of the same pairs in both orders, or leave out position."
        )
    spread = (0.0, 0.0)
    if n_groups > 1:
        found, spread = spread_of(problem, found)
    errors = errors_of(problem, found, [each[kept] for each in clusters])
    m = cells.n_rivals
    wider = np.where(open_, np.diag(errors.model - errors.covariance)[:m], 0.0)
    covariance = errors.covariance[:m, :m] + np.diag(np.maximum(wider, 0.0))
    return Fitted(
        cells,
        found,
        errors,
        covariance,
        part,
        open_,
        _advantage(problem, found, errors, clusters, kept),
        spread,
        _group_errors(problem, found, errors),
        converged,
    )


def _advantage(
    problem: Problem,
    found: Strengths,
    errors: Errors,
    clusters: list[Ints],
    kept: NDArray[np.bool_],
) -> tuple[float, float] | None:
    """Log odds of the first among equals, with its error; None where order says nothing.

    If it is not part of the model, it is estimated beside it, so that a note can warn.
    """
    m = problem.cells.n_rivals
    if not problem.advantage:
        problem = replace(problem, advantage=True)
        if not problem.identified():
            return None
        found, converged = problem.maximize(found)
        if not converged:
            return None
        try:
            errors = errors_of(problem, found, [each[kept] for each in clusters])
        except np.linalg.LinAlgError:  # what tells the order from the strengths lies at infinity
            return None
    return found.advantage, float(np.sqrt(errors.covariance[m, m]))


def _group_errors(problem: Problem, found: Strengths, errors: Errors) -> Floats:
    """Return standard errors of log discriminations, which count those of the strengths."""
    if not found.spread:
        return np.zeros(problem.cells.n_groups)
    curve = Curvature.at(found, problem.cells, problem.penalty)
    shared = ((errors.covariance @ curve.pull) * curve.pull).sum(axis=0)
    alone = 1 / curve.own - curve.own**-2 / (1 / curve.own).sum()
    return np.asarray(np.sqrt(alone + np.maximum(shared, 0.0)))
