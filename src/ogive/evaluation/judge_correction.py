"""A judge corrected by few human labels: accuracies, differences and ranks, with intervals.

Prediction-powered inference: Angelopoulos, Duchi and Zrnic (2023).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._validation import checked_share, one_of
from ogive.data.names import UNKNOWN
from ogive.data.responses import Responses, Table, as_responses
from ogive.data.study_tables import DOCUMENT, groups_of
from ogive.errors import InputError
from ogive.evaluation.boards import (
    Ints,
    PairwiseBoard,
    differences_of,
    draw_pairs,
    ranks_with_intervals,
)
from ogive.results.base import Draw
from ogive.results.numbers import counted, listed, who_has
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction, holm
from ogive.stats.pairwise_tests import Differences, differences_by_errors, first_places
from ogive.stats.prediction_powered import Mean, Powered, prediction_powered

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["CorrectedJudge", "correct_judge"]


@dataclass(frozen=True, eq=False)
class Labelled:
    """Scores of the judge, and of people for some of them."""

    judge: Responses
    human: Floats  # (n_respondents, n_items); NaN where only the judge scored
    notes: tuple[str, ...]

    @property
    def binary(self) -> bool:
        """True if people say right or wrong, and the judge a number from 0 to 1."""
        known = self.human[np.isfinite(self.human)]
        return bool(np.isin(known, (0.0, 1.0)).all()) and _is_share(self.judge.values)

    @property
    def same_scale(self) -> bool:
        """True if scores of the judge and of people can be subtracted."""
        return _is_share(self.judge.values) == _is_share(self.human)

    @property
    def limits(self) -> tuple[float, float]:
        """Bounds of the human scores, as far as they are known."""
        return (0.0, 1.0) if _is_share(self.human) else (-np.inf, np.inf)

    @property
    def top(self) -> float:
        """The largest weight that scores of the judge may have: 1, or the ratio of the scales."""
        if self.same_scale:
            return 1.0
        wide = np.ptp(self.judge.values[self.judge.observed])
        return float(np.ptp(self.human[np.isfinite(self.human)]) / wide) if wide > 0 else 1.0


def _is_share(values: Floats) -> bool:
    return bool(np.nanmin(values) >= 0 and np.nanmax(values) <= 1)


def matched(judged: Responses, human: Responses) -> Labelled:
    """Return scores of the judge and of people in the cells that both scored."""
    rows = {name: k for k, name in enumerate(human.respondents)}
    columns = {name: k for k, name in enumerate(human.items)}
    shared = [name for name in judged.items if name in columns]
    if not shared or not any(name in rows for name in judged.respondents):
        what = "items" if not shared else "respondents"
        raise InputError(
            f"Judge and people scored no common {what}: the judge's are "
            f"{listed(getattr(judged, what), what[:-1])}, the people's "
            f"{listed(getattr(human, what), what[:-1])}. Use the same names in both tables."
        )
    whole = np.full((judged.n_respondents, judged.n_items), np.nan)
    there = [k for k, name in enumerate(judged.respondents) if name in rows]
    at = [k for k, name in enumerate(judged.items) if name in columns]
    mine = [rows[judged.respondents[k]] for k in there]
    labels: Floats = human.values
    whole[np.ix_(there, at)] = labels[np.ix_(mine, [columns[name] for name in shared])]
    n_given = int(np.isfinite(labels).sum())
    whole[~np.isfinite(judged.values)] = np.nan
    used = np.isfinite(whole)
    notes = []
    if lost := n_given - int(used.sum()):
        notes.append(f"Left out: {counted(lost, 'human label')} of what the judge did not score.")
    some = used.any(axis=1)
    if not some.any():
        raise InputError("No response has both a human label and a score of the judge.")
    if not some.all():
        names = [judged.respondents[k] for k in np.flatnonzero(~some)]
        notes.append(f"Left out for lack of human labels: {listed(names, 'respondent')}.")
    return Labelled(judged.select(respondents=np.flatnonzero(some)), whole[some], tuple(notes))


def clusters_of(table: Responses, groups: tuple[str, ...] | None) -> Ints:
    """Return the cluster of each item; items whose cluster is unknown have one of their own."""
    if groups is None:
        return np.arange(table.n_items)
    own = [f"{name} {k}" if name == UNKNOWN else f"known {name}" for k, name in enumerate(groups)]
    return np.unique(np.array(own), return_inverse=True)[1]


FIGURES = ("ranks", "pairs", "bias")
FEW = 10  # human labels of a respondent; fewer say little, and a note says so
ODD = 0.01  # p-value at which a note says that labels were not chosen at random


@dataclass(frozen=True, eq=False, repr=False)
class CorrectedJudge(PairwiseBoard):
    """Respondents by accuracy, as people would judge it, from a judge and few human labels.

    Everything is in rank order, the best first; `pairs` is a further frame.
    """

    kinds = FIGURES
    board: pd.DataFrame
    difference_se: Floats  # of all pairs, in the order of `np.triu_indices`, as the next
    freedom: Floats
    tests: Differences
    confidence: float
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def _half_width(self) -> Floats:
        return t_reach(self.freedom, self.confidence) * self.difference_se

    @property
    def meaning(self) -> str:
        """Who has the highest accuracy, where the judge is wrong, and what its scores are worth."""
        first = [self.respondents[k] for k in first_places(self.board["accuracy"].to_numpy())]
        row, them = self.board.iloc[0], "it" if len(first) == 1 else "them"
        others = [name for name in self.leaders if name not in first]
        names = ("accuracy", "accuracy_low", "accuracy_high")
        mean, low, high = (f"{row[name]:.3f}" for name in names)
        tail = ""
        if len(self.board) > len(first):
            tail = f", and all others are significantly below {them}"
            if others:
                tail = f", and {listed(others, 'other')} cannot be distinguished from {them}"
        return (
            f"By human standards, {who_has(first)} the highest accuracy, {mean} ({low} to "
            f"{high}){tail}. {self._said_of_bias()} {self._said_of_worth()}"
        )

    def _said_of_bias(self) -> str:
        """Return for how many respondents the judge is too kind or too strict."""
        wrong = self.board[self.board["judge_biased"]]
        if not len(wrong):
            return "No bias of the judge is shown."
        bias = wrong["judge_bias"]
        sides = [
            f"too {word} to {counted(int(side.sum()), 'respondent')}"
            for word, side in (("kind", bias > 0), ("strict", bias < 0))
            if side.any()
        ]
        at = int(np.argmax(bias.abs().to_numpy()))
        worst, row = wrong.index[at], wrong.iloc[at]
        return (
            f"The judge is significantly {' and '.join(sides)}; its largest bias is "
            f"{row['judge_bias']:+.3f} ({row['judge_bias_low']:+.3f} to "
            f"{row['judge_bias_high']:+.3f}), for {worst}."
        )

    def _said_of_worth(self) -> str:
        """Return how much shorter intervals are than by human labels alone."""
        both = self.board["accuracy_high"] - self.board["accuracy_low"]
        alone = self.board["accuracy_human_high"] - self.board["accuracy_human_low"]
        ratio = float((both / alone).median())
        if not ratio < 0.995:
            return "The judge adds nothing to the human labels."
        return f"With the judge, intervals are {1 - ratio:.0%} shorter than by human labels alone."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        `accuracy` is corrected; `accuracy_judge` and `accuracy_human` are the judge's and the
        people's alone. `judge_bias` is the mean score of the judge minus that of people on the same
        responses, `judge_weight` the weight of the judge's scores, and `worth` how many human
        labels alone would be as precise.
        """
        return self._with_ties()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the board and the pairs."""
        return {self.name(): self.to_frame(), "pairs": self.pairs}

    def figures(self) -> dict[str, Draw]:
        """Return one figure per kind; pairs only where there are some."""
        kinds = [kind for kind in FIGURES if kind != "pairs" or len(self.board) > 1]
        return {kind: partial(self.plot, kind) for kind in kinds}

    def preview(self) -> pd.DataFrame:
        """Return corrected accuracies, and those of judge and people alone."""
        names = ["rank", "accuracy", "accuracy_low", "accuracy_high", "accuracy_judge"]
        return self.board[[*names, "accuracy_human", "n_human"]]

    def plot(self, kind: str = "ranks", **kw: Any) -> Display:
        """Draw accuracy and rank with intervals; differences by "pairs"; or the judge's "bias"."""
        if one_of(kind, "kind", FIGURES) == "ranks":
            return self._draw_ranks("accuracy", "accuracy by human standards", **kw)
        return (
            draw_pairs(self.pairs, **kw)
            if kind == "pairs"
            else self._draw_rows(self.board, "judge_bias", **kw)
        )


def correct_judge(
    responses: Table,
    human: Table,
    *,
    cluster: object = DOCUMENT,
    confidence: float = 0.95,
    alpha: float = 0.05,
    correction: Correction = "holm",
) -> CorrectedJudge:
    """Correct the scores of a judge by few human labels: accuracies, differences, ranks.

    The frame has one row per respondent, the best first: rank and accuracy with low and high, what
    judge and people say alone, the judge's bias, and how many human labels it is worth.

    Parameters
    ----------
    responses
        Respondents × items as the judge scored them; right or wrong, grades, or scores.
    human
        The same as people scored them, for some respondents and items, which should have been
        chosen at random; rows and columns are matched by name.
    cluster
        Which items belong together, such as questions on one document: the name of a fact, a
        mapping from item, or a list. None for unrelated items.
    confidence
        Confidence level of all intervals. Rank intervals hold simultaneously for all respondents.
    alpha
        Largest chance of any false discovery among all pairs; with "bh" or "by", the largest
        expected share of false discoveries among the pairs that differ.
    correction
        Correction for multiple tests: "holm", or to find more pairs, "bh" or "by".

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> right = og.simulate("2pl", 3, 1000, random_state=1).responses.values
    >>> random = np.random.default_rng(0)
    >>> judge = np.where(random.random(right.shape) < 0.1, 1.0, right)  # too kind
    >>> human = np.full_like(right, np.nan)
    >>> human[:, :100] = right[:, :100]
    >>> frame = og.correct_judge(judge, human).to_frame()
    >>> bool((frame["accuracy_judge"] > frame["accuracy"]).all())
    True
    """
    confidence = checked_share(confidence, "confidence", 0.95)
    alpha = checked_share(alpha, "alpha", 0.05)
    one_of(correction, "correction", CORRECTIONS)
    both = matched(as_responses(responses), as_responses(human))
    clusters = clusters_of(both.judge, groups_of(both.judge, cluster, DOCUMENT, "cluster"))
    found = prediction_powered(
        both.judge.values, both.human, clusters, binary=both.binary, top=both.top
    )
    return _gathered(both, found, confidence, alpha, correction)


def _gathered(
    both: Labelled, found: Powered, confidence: float, alpha: float, correction: str
) -> CorrectedJudge:
    """Return the result, in rank order."""
    accuracy = found.both.estimate
    order = np.argsort(-np.round(accuracy, 9), kind="stable")
    difference, se = differences_of(order, accuracy, found.covariance)
    i, j = (order[side] for side in np.triu_indices(order.size, 1))
    freedom = np.minimum(found.freedom[i], found.freedom[j])
    tested, family = (
        differences_by_errors(order.size, difference, se, freedom, name)
        for name in (correction, "holm")
    )
    return CorrectedJudge(
        board=_board(both, found, order, family, confidence),
        difference_se=se,
        freedom=freedom,
        tests=tested,
        confidence=confidence,
        alpha=alpha,
        correction=correction,
        notes=(*both.notes, *_remarks(both, found)),
    )


def _times(larger: Floats, smaller: Floats) -> Floats:
    """Return how many times as large an error is; 1 where there is none to compare with."""
    return np.divide(larger, smaller, out=np.ones_like(larger), where=smaller > 0)


def _board(
    both: Labelled, found: Powered, order: Ints, family: Differences, confidence: float
) -> pd.DataFrame:
    from scipy.special import stdtr

    limits = both.limits
    reach = t_reach(found.freedom, confidence)
    low, high = found.both.limits(reach, *limits)
    human_low, human_high = found.human.limits(reach, *limits)
    wide, bias = limits[1] - limits[0], found.bias
    if not both.same_scale:
        nothing = np.full_like(bias.se, np.nan)
        bias = Mean(nothing, nothing, nothing)
    bias_low, bias_high = bias.limits(reach, -wide, wide)
    # A judge that differs from people nowhere has no bias, and by the same everywhere, a sure one.
    sure = np.where(bias.estimate == 0, 0.0, np.inf)
    away = np.divide(np.abs(bias.estimate), bias.se, out=sure, where=bias.se != 0)
    p = holm(2 * stdtr(found.freedom, -away))
    columns = {
        "accuracy": found.both.estimate,
        "accuracy_se": found.both.se,
        "accuracy_low": low,
        "accuracy_high": high,
        "accuracy_judge": found.judge,
        "accuracy_human": found.human.estimate,
        "accuracy_human_low": human_low,
        "accuracy_human_high": human_high,
        "judge_bias": bias.estimate,
        "judge_bias_se": bias.se,
        "judge_bias_low": bias_low,
        "judge_bias_high": bias_high,
        "judge_biased": p <= 1 - confidence,
        "judge_weight": found.weight,
        "n_human": found.n_human,
        "n_judge": found.n_judge,
        "worth": found.n_human * _times(found.human.se, found.both.se) ** 2,
    }
    ranks = ranks_with_intervals(found.both.estimate[order], family, confidence)
    names = pd.Index([both.judge.respondents[k] for k in order], name="respondent")
    return pd.DataFrame({**ranks, **{k: x[order] for k, x in columns.items()}}, index=names)


def _remarks(both: Labelled, found: Powered) -> list[str]:
    """Return notes on few labels, and on labels that were not chosen at random."""
    from scipy.special import ndtr

    said, names = [], both.judge.respondents
    few = [names[k] for k in np.flatnonzero(found.n_human < FEW)]
    if few:
        told = "has" if len(few) == 1 else "have"
        said.append(f"{listed(few, 'respondent')} {told} fewer than {FEW} human labels.")
    odd = np.flatnonzero(holm(2 * ndtr(-np.abs(found.shifted))) < ODD)
    if odd.size:
        whom = listed([names[k] for k in odd], "respondent")
        said.append(
            f"Of {whom}, the judge scores what people labelled otherwise than the rest: labels "
            "that were not chosen at random do not correct the judge."
        )
    if not both.same_scale:
        said.append("Judge and people use different scales, so that the judge has no bias.")
    return said
