"""Facets: scores of several judges, adjusted for who judged; and what the judges are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive._validation import checked_share, one_of
from ogive.evaluation.boards import PairwiseBoard, draw_pairs
from ogive.evaluation.facet_estimates import (
    CONTRADICTS,
    NEARLY,
    Fitted,
    RatingTable,
    components_of,
    enough_judges,
    judges_of,
    more_judges,
    read_ratings,
    respondents_of,
    tests_of,
)
from ogive.irt.facet_model import fit_facets, start_of
from ogive.results.numbers import counted, joined, listed, who_has
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction
from ogive.stats.pairwise_tests import Differences, first_places

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["Facets", "facets"]


FIGURES = ("ranks", "pairs", "severity", "consistency")


@dataclass(frozen=True, eq=False, repr=False)
class Facets(PairwiseBoard):
    """Respondents by ability, adjusted for the judges who scored them; and the judges themselves.

    Respondents are in rank order, the best first. `judges`, `components`, `more_judges` and `pairs`
    are further frames.
    """

    kinds = FIGURES
    board: pd.DataFrame
    judges: pd.DataFrame  # one row per judge: severity, consistency, agreement, verdict
    components: pd.DataFrame  # one row per source of variance
    more_judges: pd.DataFrame  # one row per number of judges
    difference_se: Floats  # of all pairs of respondents, in the order of `np.triu_indices`
    tests: Differences
    n_items: int
    judges_now: float  # judges per response, on average
    enough_judges: tuple[int, int, int]  # with errors within 10 % of the least; low and high
    converged: bool
    confidence: float
    alpha: float
    correction: str
    notes: tuple[str, ...] = ()

    @property
    def _half_width(self) -> Floats:
        return self._reach * self.difference_se

    @property
    def contradicting(self) -> tuple[str, ...]:
        """Judges who give higher scores to what the others score lower, beyond chance."""
        return tuple(self.judges.index[self.judges["verdict"].str.contains(CONTRADICTS)])

    @property
    def meaning(self) -> str:
        """Who is best after adjustment, how judges differ, and whether more of them would help."""
        row = self.board.iloc[0]
        digits = 1e-3 * float(row["score_se"])  # scores come from a search
        places = first_places(self.board["score"].to_numpy(), digits)
        first = [self.respondents[k] for k in places]
        them = "it" if len(first) == 1 else "them"
        others = [name for name in self.leaders if name not in first]
        tail = f"all others differ significantly from {them}"
        if others:
            tail = f"{listed(others, 'other')} cannot be distinguished from {them}"
        score = f"{row['score']:.2f} ({row['score_low']:.2f} to {row['score_high']:.2f})"
        return (
            f"Adjusted for who judged it, {who_has(first)} the highest mean score, {score}, and "
            f"{tail}. {self._said_of_judges()} {self._said_of_more()}"
        )

    def _said_of_judges(self) -> str:
        if self.contradicting:
            verb = "contradicts" if len(self.contradicting) == 1 else "contradict"
            return f"{joined(self.contradicting)} {verb} the other judges."
        told, severity = self.judges["verdict"], self.judges["severity"]
        said = []
        for word, sign in (("severe", 1), ("lenient", -1)):
            shown = (sign * severity)[told.str.contains(word)]
            if len(shown):
                name = str(shown.index[int(np.argmax(shown.to_numpy()))])
                reach = self._reach * float(self.judges["severity_se"][name])
                ends = f"{severity[name] - reach:+.2f} to {severity[name] + reach:+.2f}"
                said.append(
                    f"{name} is the most {word}, with a severity of {severity[name]:+.2f} ({ends})"
                )
        if not said:
            return "Judges are not shown to differ in severity."
        return f"Of the judges, {', and '.join(said)}."

    @property
    def _reach(self) -> float:
        return float(t_reach(np.array(self.n_items - 1.0), self.confidence))

    def _said_of_more(self) -> str:
        """Return whether more judges or more items would separate respondents better."""
        middle, low, high = self.enough_judges
        if middle <= self.judges_now + 0.5:
            return "More judges would hardly separate the respondents better: more items would."
        return (
            f"With {middle} ({low} to {high}) judges per response instead of "
            f"{self.judges_now:.1f}, the errors of differences would be within "
            f"{NEARLY - 1:.0%} of what these items allow."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per respondent, the best first.

        `score` is the mean score that an average judge would give on items like these, `ability`
        the same on the scale of the model, `score_observed` the mean of the scores given.
        `tied_with` names respondents that cannot be distinguished from it.
        """
        return self._with_ties()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return respondents, judges, pairs, sources of variance, and what more judges give."""
        return {
            self.name(): self.to_frame(),
            "judges": self.judges,
            "pairs": self.pairs,
            "components": self.components,
            "more_judges": self.more_judges,
        }

    def key_facts(self) -> dict[str, Any]:
        """Return the leaders, judges that contradict the others, and how many judges suffice."""
        return {
            "leaders": self.leaders,
            "contradicting": self.contradicting,
            "enough_judges": list(self.enough_judges),
        }

    def preview(self) -> pd.DataFrame:
        """Return ranks, adjusted scores and observed ones."""
        names = ["rank", "rank_low", "rank_high", "score", "score_low", "score_high"]
        return self.board[[*names, "score_observed"]]

    def plot(self, kind: str = "ranks", **kw: Any) -> Display:
        """Draw adjusted scores and ranks; "pairs"; or "severity" and "consistency" of judges."""
        if one_of(kind, "kind", FIGURES) == "ranks":
            return self._draw_ranks("score", "mean score, adjusted for the judges", **kw)
        return (
            draw_pairs(self.pairs, **kw)
            if kind == "pairs"
            else self._draw_rows(self.judges, kind, **kw)
        )


def facets(
    ratings: Any,
    *,
    respondent: str | None = None,
    item: str | None = None,
    judge: str | Sequence[str] | None = None,
    score: str | None = None,
    confidence: float = 0.95,
    alpha: float = 0.05,
    correction: Correction = "holm",
) -> Facets:
    """Rank respondents by scores of several judges, adjusted for who judged; and judge the judges.

    The frame has one row per respondent, the best first: rank, ability and score with low and high.
    `judges` has severity, consistency and agreement of each judge, `more_judges` what more of them
    would give.

    Parameters
    ----------
    ratings
        A table with one row per rating (respondent, item, judge, score), or a table of responses
        for each judge, as {"judge": responses}. Not every judge needs to score everything.
    respondent
        Column of the respondents, if it is not recognised.
    item
        Column of the items, if it is not recognised.
    judge
        Column of the judges, if it is not recognised; or of what else scores depend on, such as
        rubrics or prompts. Several columns are taken together.
    score
        Column of the scores, if it is not recognised; numbers, higher for better.
    confidence
        Confidence level of all intervals. Rank intervals hold simultaneously for all respondents.
    alpha
        Largest chance of any false discovery among all pairs, and among all judges; with "bh" or
        "by", the largest expected share of false discoveries among the pairs that differ.
    correction
        Correction for multiple tests of pairs: "holm", or to find more pairs, "bh" or "by".

    Notes
    -----
    Severity is how much better a response must be for the same score, consistency how clearly
    scores follow the quality of responses, where 1 is the mean of the judges.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> import pandas as pd
    >>> random = np.random.default_rng(0)
    >>> cells = pd.MultiIndex.from_product(
    ...     [["large", "small"], range(40), ["kind", "strict"]], names=["model", "item", "judge"]
    ... )
    >>> ratings = cells.to_frame(index=False)
    >>> better = (ratings["model"] == "large") - 1.5 * (ratings["judge"] == "strict")
    >>> ratings["score"] = (better + random.logistic(size=len(ratings)) > 0).astype(int)
    >>> og.facets(ratings).judges["severity"].idxmax()
    'strict'
    """
    confidence = checked_share(confidence, "confidence", 0.95)
    alpha = checked_share(alpha, "alpha", 0.05)
    one_of(correction, "correction", CORRECTIONS)
    columns = {"respondent": respondent, "item": item, "judge": judge, "score": score}
    table = read_ratings(ratings, columns)
    whole = table.ratings()
    fit = fit_facets(whole, start_of(whole, *_rough(table)))
    fitted = Fitted(table, fit, confidence)
    order = np.argsort(-np.round(fit.parameters.ability, 9), kind="stable")
    tested, se = tests_of(fitted, order, correction)
    family, _ = tests_of(fitted, order, "holm")
    judges, components = judges_of(fitted, alpha), components_of(fitted)
    remarks = _remarks(table, judges, whole.item.size, converged=fit.converged)
    return Facets(
        board=respondents_of(fitted, order, family),
        judges=judges,
        components=components,
        more_judges=more_judges(fitted),
        difference_se=se,
        tests=tested,
        n_items=len(table.items),
        judges_now=table.judge.size / whole.item.size,
        enough_judges=enough_judges(fitted),
        converged=fit.converged,
        confidence=confidence,
        alpha=alpha,
        correction=correction,
        notes=(*table.notes, *remarks, *_undetermined(components)),
    )


def _undetermined(components: pd.DataFrame) -> list[str]:
    """Return a note on variances whose intervals have no upper end."""
    open_ = components.index[~np.isfinite(components["variance_high"])].tolist()
    return [f"Too few ratings to bound the variance of {', '.join(open_)}."] if open_ else []


def _rough(table: RatingTable) -> tuple[Floats, Floats, Floats]:
    """Return severities, signs of consistencies, and abilities to begin with."""
    spread = float(table.category.std()) or 1.0
    middle = float(table.category.mean())

    def by(code: Any, n: int) -> Floats:
        means = np.bincount(code, table.category, n) / np.bincount(code, minlength=n)
        return np.asarray((means - middle) / spread)

    signs = np.ones(len(table.judges))
    for j in range(signs.size):
        own, others, _ = table.others_of(j)
        if own.size > 2 and np.ptp(own) and np.ptp(others):
            signs[j] = 1.0 if np.corrcoef(own, others)[0, 1] > -0.1 else -0.5
    return -by(table.judge, signs.size), signs, by(table.respondent, len(table.respondents))


def _remarks(
    table: RatingTable, judges: pd.DataFrame, n_responses: int, *, converged: bool
) -> list[str]:
    """Return notes on what the table does not show, and on judges to look at."""
    said = []
    if table.judge.size == n_responses:
        said.append(
            "No response has two judges: consistency and the variance of responses rest on the "
            "model alone. Let judges score some responses together."
        )
    against = judges.index[judges["verdict"].str.contains(CONTRADICTS)].tolist()
    if against:
        said.append(
            f"{listed(against, 'judge')} scores high what the others score low, and counts in "
            "reverse: check the direction of the scale, or leave it out."
        )
    constant = [
        name for j, name in enumerate(table.judges) if np.ptp(table.score[table.judge == j]) == 0
    ]
    if constant:
        said.append(f"{listed(constant, 'judge')} always gives the same score.")
    if len(table.items) < 20:
        said.append(f"Errors are computed over {counted(len(table.items), 'item')}, which are few.")
    if not converged:
        said.append("The fit did not converge: do not rely on it.")
    return said
