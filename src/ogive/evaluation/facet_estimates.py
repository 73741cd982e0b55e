"""Tables of ratings, and what a fitted facet model says of respondents, judges and variances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive.data.foreign_frames import as_pandas, with_whole_texts
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.evaluation.boards import differences_of, ranks_with_intervals
from ogive.irt.facet_model import FacetFit, FacetParameters, Ratings
from ogive.irt.response_codes import LARGEST
from ogive.results.numbers import counted, listed, meant, shown
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach
from ogive.stats.linked_parts import linked_parts
from ogive.stats.metrics import correlation_interval
from ogive.stats.multiplicity import holm
from ogive.stats.pairwise_tests import Differences, differences_by_errors

Ints = NDArray[np.intp]

COLUMNS = {
    "respondent": ("respondent", "model", "model_name", "system"),
    "item": ("item", "prompt", "prompt_id", "question", "question_id", "sample", "id"),
    "judge": ("judge", "judge_model", "rater", "annotator", "grader", "scorer", "rubric"),
    "score": ("score", "rating", "response", "grade", "value"),
}
MOST_CATEGORIES = 11
GROUPED = 7  # categories that scores of more values are grouped into
FEWEST_ITEMS = 5


@dataclass(frozen=True, eq=False)
class RatingTable:
    """Ratings by name, with scores as categories in order."""

    respondents: tuple[str, ...]
    items: tuple[str, ...]
    judges: tuple[str, ...]
    respondent: Ints  # (n_ratings,), as all that follow
    item: Ints
    judge: Ints
    category: Ints
    score: Floats
    levels: Floats  # (n_categories,): the score that each category means
    notes: tuple[str, ...]

    def ratings(self) -> Ratings:
        """Return the same for the model."""
        sizes = (len(self.respondents), len(self.items), len(self.judges), self.levels.size)
        return Ratings.of(self.respondent, self.item, self.judge, self.category, sizes)

    def means_by(self, code: Ints, n: int) -> Floats:
        """Return mean score by respondent or judge."""
        found: Floats = np.bincount(code, self.score, n) / np.bincount(code, minlength=n)
        return found

    def others_of(self, judge: int) -> tuple[Floats, Floats, Ints]:
        """Return the scores of a judge, the others' mean on the same responses, and items."""
        cell = self.respondent * len(self.items) + self.item
        n = len(self.respondents) * len(self.items)
        mine = self.judge == judge
        total = np.bincount(cell[~mine], self.score[~mine], n)
        count = np.bincount(cell[~mine], minlength=n)
        shared = mine & (count[cell] > 0)
        there = cell[shared]
        return self.score[shared], total[there] / count[there], self.item[shared]


def read_ratings(table: Any, columns: Mapping[str, str | Sequence[str] | None]) -> RatingTable:
    """Check a table of ratings; rows without a name or a score are left out with a note."""
    frame = _as_frame(table)
    found = {word: _column(frame, word, name) for word, name in columns.items()}
    score = _numbers(found.pop("score"))
    notes: list[str] = []
    kept = np.isfinite(score)
    for each in found.values():
        kept &= each.notna().to_numpy(dtype=bool)
    if lost := int((~kept).sum()):
        notes.append(f"Left out: {counted(lost, 'rating')} without a name or a score.")
    if not kept.any():
        raise InputError("No rating has a respondent, an item, a judge and a score.")
    coded = {word: _coded(each[kept]) for word, each in found.items()}
    category, levels = _categories(score[kept], notes)
    made = RatingTable(
        respondents=coded["respondent"][1],
        items=coded["item"][1],
        judges=coded["judge"][1],
        respondent=coded["respondent"][0],
        item=coded["item"][0],
        judge=coded["judge"][0],
        category=category,
        score=score[kept],
        levels=levels,
        notes=tuple(notes),
    )
    _check(made)
    return made


def _as_frame(table: Any) -> pd.DataFrame:
    """Return a long frame; tables of responses by judge become one."""
    if isinstance(table, Mapping) and all(isinstance(x, Responses) for x in table.values()):
        if not table:
            raise InputError("No judge is given: ratings is empty.")
        parts = []
        for name, responses in table.items():
            wide = responses.to_frame().rename_axis(index="respondent", columns="item")
            long = wide.reset_index().melt("respondent", var_name="item", value_name="score")
            parts.append(long[long["score"].notna()].assign(judge=str(name)))
        found: pd.DataFrame = pd.concat(parts, ignore_index=True)
        return found
    frame = as_pandas(table)
    if not isinstance(frame, pd.DataFrame):
        raise InputError(
            "`ratings` must be a table with one row per rating, or a table of responses for each "
            f"judge: {{'judge': responses, ...}}, got {shown(table)}."
        )
    if not len(frame):
        raise InputError("The table of ratings has no rows, so there is nothing to analyse.")
    return with_whole_texts(frame)


def _column(frame: pd.DataFrame, word: str, name: str | Sequence[str] | None) -> Any:
    """Return the column of a word; several columns of judges become one by their names together."""
    if name is None:
        lower = {str(each).strip().lower(): each for each in reversed(list(frame.columns))}
        known = COLUMNS[word]
        found = next((lower[each] for each in known if each in lower), None)
        if found is None:
            raise InputError(
                f"The ratings have the columns {', '.join(map(str, frame.columns[:12]))}; none of "
                f"them is {', '.join(known[:-1])} or {known[-1]}. Say which one it is: "
                f"{word}='...'."
            )
        return frame[found]
    wanted = [name] if isinstance(name, str) else list(name)
    for each in wanted:
        if each not in frame.columns:
            raise InputError(
                f"{word} is {shown(each)}, but the ratings have the columns "
                f"{', '.join(map(str, frame.columns[:12]))}. Name one of them."
                f"{meant(each, frame.columns)}"
            )
    if len(wanted) == 1:
        return frame[wanted[0]]
    whole = frame[wanted].notna().all(axis=1)
    joined = frame[wanted].astype(str).agg("/".join, axis=1)
    return joined.where(whole)


def _numbers(score: Any) -> Floats:
    numbers = pd.to_numeric(score, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    odd = np.isnan(numbers) & score.notna().to_numpy(dtype=bool)
    if odd.any():
        words = list(dict.fromkeys(map(str, score[odd])))
        raise InputError(
            f"The score of {counted(int(odd.sum()), 'rating')} is not a number: "
            f"{listed(words, 'word')}. Write numbers, higher for better."
        )
    if (immense := np.abs(numbers) > LARGEST).any():
        raise InputError(
            f"The score of {counted(int(immense.sum()), 'rating')} is infinite or beyond "
            f"{LARGEST:g}. Correct it."
        )
    return np.asarray(numbers, dtype=np.float64)


def _coded(names: Any) -> tuple[Ints, tuple[str, ...]]:
    code, kinds = pd.factorize(names.astype(str), sort=True)
    return code.astype(np.intp), tuple(map(str, kinds))


def _categories(score: Floats, notes: list[str]) -> tuple[Ints, Floats]:
    """Return scores as categories in order; of many values, groups of about equal size."""
    levels, category = np.unique(score, return_inverse=True)
    if levels.size == 1:
        raise InputError(f"Every score is {levels[0]:g}, so nothing distinguishes the responses.")
    if levels.size <= MOST_CATEGORIES:
        return category.astype(np.intp), levels
    cuts = np.unique(np.quantile(score, np.arange(1, GROUPED) / GROUPED))
    category = np.unique(np.searchsorted(cuts, score, side="left"), return_inverse=True)[1]
    means = np.bincount(category, score) / np.bincount(category)
    notes.append(
        f"Scores have {levels.size:,} different values: they are grouped into {means.size} "
        "ordered categories of about equal size."
    )
    return category.astype(np.intp), np.asarray(means, dtype=np.float64)


def _check(table: RatingTable) -> None:
    """Refuse what cannot show how judges and respondents differ."""
    for noun, names, fewest in (
        ("judge", table.judges, 2),
        ("respondent", table.respondents, 2),
        ("item", table.items, FEWEST_ITEMS),
    ):
        if len(names) < fewest:
            raise InputError(
                f"The ratings have {listed(names, noun)}, but facets needs {fewest} {noun}s or "
                "more."
            )
    scored = np.zeros((len(table.respondents), len(table.judges)), dtype=bool)
    scored[table.respondent, table.judge] = True
    part = linked_parts(scored)[0]
    if part.any():
        other = part != part[0]
        apart = [name for name, far in zip(table.respondents, other, strict=True) if far]
        raise InputError(
            f"No judge scores both {table.respondents[0]} and {listed(apart, 'respondent')}, so "
            "that severity and ability cannot be separated. Let some judges score both."
        )


CONTRADICTS = "contradicts the others"
MOST_JUDGES = 10
MANY_JUDGES = 100  # more are not counted
NEARLY = 1.1  # times the error that any number of judges would leave: enough judges
NODES, HEIGHTS = np.polynomial.hermite_e.hermegauss(41)
SHARES = HEIGHTS / HEIGHTS.sum()


class Fitted:
    """A fit with its table, and errors of whatever follows from its parameters."""

    def __init__(self, table: RatingTable, fit: FacetFit, confidence: float) -> None:
        self.table, self.fit, self.found = table, fit, fit.parameters
        self.reach = float(t_reach(np.array(len(table.items) - 1.0), confidence))
        self.confidence = confidence
        sizes = [self.found.ability.size, self.found.severity.size, self.found.consistency.size]
        ends = np.cumsum([0, *sizes])
        self.abilities, self.severities, self.consistencies = (
            slice(int(a), int(b)) for a, b in pairwise(ends)
        )

    @property
    def se(self) -> Floats:
        """Standard errors of all parameters."""
        return np.asarray(np.sqrt(np.maximum(np.diag(self.fit.covariance), 0.0)))

    def error(self, function: Callable[[FacetParameters], Floats]) -> tuple[Floats, Floats]:
        """Return a function of the parameters with its standard errors, by the delta method."""
        value = np.atleast_1d(function(self.found))
        step = 1e-4 * np.eye(self.se.size)
        slopes = np.array(
            [
                (np.atleast_1d(function(self.found.moved(x))) - function(self.found.moved(-x)))
                / 2e-4
                for x in step
            ]
        )
        variance = np.einsum("pk,pq,qk->k", slopes, self.fit.covariance, slopes)
        return value, np.asarray(np.sqrt(np.maximum(variance, 0.0)))

    def fair_scores(self, found: FacetParameters) -> Floats:
        """Return mean score that each respondent gets from an average judge on items like these."""
        sd = np.hypot(found.item_sd, found.response_sd)
        quality = found.ability[:, None] + sd * NODES
        chance = np.exp(
            found.log_chances(quality.reshape(-1), severity=np.zeros(1), slope=np.ones(1))
        )[0]
        expected = (self.table.levels @ chance).reshape(quality.shape)
        return np.asarray(expected @ SHARES)

    def noise(self, found: FacetParameters) -> float:
        """Return variance of one rating of an average judge, on the scale of quality."""
        sd = np.sqrt(found.item_sd**2 + found.response_sd**2 + found.ability.var())
        quality = found.ability.mean() + sd * NODES
        chance = np.exp(found.log_chances(quality, severity=np.zeros(1), slope=np.ones(1)))[0]
        x = np.arange(chance.shape[0])[:, None]
        information = (chance * x**2).sum(axis=0) - (chance * x).sum(axis=0) ** 2
        return float(1 / (information @ SHARES))

    def difference_errors(self, found: FacetParameters, n_judges: Floats) -> Floats:
        """Return standard error of the difference of two respondents with so many judges each."""
        each = found.response_sd**2 + self.noise(found) / n_judges
        return np.asarray(np.sqrt(2 * each / len(self.table.items)))


def tests_of(fitted: Fitted, order: Ints, correction: str) -> tuple[Differences, Floats]:
    """Return tests of all pairs of respondents in rank order, with standard errors."""
    apart, se = differences_of(order, fitted.found.ability, fitted.fit.covariance)
    freedom = len(fitted.table.items) - 1.0
    return differences_by_errors(order.size, apart, se, freedom, correction), se


def respondents_of(fitted: Fitted, order: Ints, family: Differences) -> pd.DataFrame:
    """Return one row per respondent, the best first."""
    table, found, reach = fitted.table, fitted.found, fitted.reach
    n = len(table.respondents)
    se = fitted.se[fitted.abilities]
    fair, fair_se = fitted.error(fitted.fair_scores)
    ends = float(table.levels[0]), float(table.levels[-1])
    columns = {
        "ability": found.ability,
        "ability_se": se,
        "ability_low": found.ability - reach * se,
        "ability_high": found.ability + reach * se,
        "score": fair,
        "score_se": fair_se,
        "score_low": np.maximum(fair - reach * fair_se, ends[0]),
        "score_high": np.minimum(fair + reach * fair_se, ends[1]),
        "score_observed": table.means_by(table.respondent, n),
        "n_ratings": np.bincount(table.respondent, minlength=n),
    }
    ranks = ranks_with_intervals(found.ability[order], family, fitted.confidence)
    names = pd.Index([table.respondents[k] for k in order], name="respondent")
    return pd.DataFrame({**ranks, **{k: x[order] for k, x in columns.items()}}, index=names)


def judges_of(fitted: Fitted, alpha: float) -> pd.DataFrame:
    """Return one row per judge: severity, consistency, agreement, and what stands out."""
    table, found, reach = fitted.table, fitted.found, fitted.reach
    n = len(table.judges)
    columns: dict[str, object] = {}
    for name, value, where in (
        ("severity", found.severity, fitted.severities),
        ("consistency", found.consistency, fitted.consistencies),
    ):
        se = fitted.se[where]
        columns |= {
            name: value,
            f"{name}_se": se,
            f"{name}_low": value - reach * se,
            f"{name}_high": value + reach * se,
        }
    agreement = np.array([_agreement(*table.others_of(j)) for j in range(n)])
    for k, name in enumerate(("agreement", "agreement_low", "agreement_high")):
        columns[name] = agreement[:, k]
    columns["score_observed"] = table.means_by(table.judge, n)
    columns["n_ratings"] = np.bincount(table.judge, minlength=n)
    columns["verdict"] = _verdicts(fitted, alpha)
    return pd.DataFrame(columns, index=pd.Index(table.judges, name="judge"))


def _agreement(own: Floats, others: Floats, items: Ints) -> tuple[float, float, float]:
    """Return correlation of a judge with the mean of the others, with its interval over items.

    NaN where they score no response together, or one of them always gives the same score.
    """
    if own.size < 3 or np.ptp(own) == 0 or np.ptp(others) == 0:
        return np.nan, np.nan, np.nan
    r = float(np.corrcoef(own, others)[0, 1])
    size = np.bincount(items).astype(float)
    effective = size.sum() ** 2 / (size**2).sum()  # items count, not responses
    return (r, *correlation_interval(r, effective, ranks=False))


def _verdicts(fitted: Fitted, alpha: float) -> list[str]:
    """Return what stands out of each judge after correction for the number of judges."""
    from scipy.special import stdtr

    found, freedom = fitted.found, len(fitted.table.items) - 1.0

    def sure(value: Floats, where: slice) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stdtr(freedom, -np.abs(value) / fitted.se[where])
        return np.asarray(holm(p) <= alpha)

    severe = sure(found.severity, fitted.severities)
    usual = sure(found.consistency - 1, fitted.consistencies)
    against = sure(found.consistency, fitted.consistencies) & (found.consistency < 0)
    said = []
    for k in range(found.severity.size):
        words = []
        if against[k]:
            words.append(CONTRADICTS)
        elif usual[k]:
            words.append("less consistent" if found.consistency[k] < 1 else "more consistent")
        if severe[k] and not against[k]:
            words.append("severe" if found.severity[k] > 0 else "lenient")
        said.append(", ".join(words))
    return said


def components_of(fitted: Fitted) -> pd.DataFrame:
    """Return one row per source of variance on the scale of ability, with intervals."""
    found = fitted.found
    rows = {
        "respondents": _between(fitted, fitted.abilities, found.ability),
        "items": _of_sd(fitted, -2),
        "responses": _of_sd(fitted, -1),
        "judges": _between(fitted, fitted.severities, found.severity),
        "ratings": _of_noise(fitted),
    }
    columns = ["variance", "variance_low", "variance_high"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    frame["share"] = frame["variance"] / frame["variance"].sum()
    return frame.rename_axis("source")


def _of_sd(fitted: Fitted, at: int) -> tuple[float, float, float]:
    log, se = float(fitted.found.vector()[at]), float(fitted.se[at])
    return _ends(2 * log, 2 * fitted.reach * se)


def _of_noise(fitted: Fitted) -> tuple[float, float, float]:
    value, se = fitted.error(lambda x: np.array([np.log(fitted.noise(x))]))
    return _ends(float(value[0]), fitted.reach * float(se[0]))


def _ends(log: float, beside: float) -> tuple[float, float, float]:
    """Return a variance and its interval from logarithms; infinite if undetermined."""
    with np.errstate(over="ignore"):
        variance, low, high = (float(np.exp(x)) for x in (log, log - beside, log + beside))
    return variance, low, high


def _between(fitted: Fitted, where: slice, value: Floats) -> tuple[float, float, float]:
    """Return the variance between respondents, or judges, beyond their errors."""
    from scipy.stats import chi2

    joint, n = fitted.fit.covariance[where, where], value.size
    error = (np.trace(joint) - joint.sum() / n) / (n - 1)
    total = float(value.var(ddof=1))
    tail = (1 - fitted.confidence) / 2
    low, high = ((n - 1) * total / chi2.ppf(q, n - 1) for q in (1 - tail, tail))
    return tuple(max(x - float(error), 0.0) for x in (total, low, high))  # type: ignore[return-value]


def enough_judges(fitted: Fitted) -> tuple[int, int, int]:
    """Return how many judges per response leave errors within 10 % of the least."""

    def needed(found: FacetParameters) -> Floats:
        return np.array([np.log(fitted.noise(found) / found.response_sd**2 / (NEARLY**2 - 1))])

    value, se = fitted.error(needed)
    ends = (value[0], value[0] - fitted.reach * se[0], value[0] + fitted.reach * se[0])
    most = np.log(MANY_JUDGES)  # an end that is not determined may be beyond any number
    middle, low, high = (int(np.clip(np.ceil(np.exp(min(x, most))), 1, MANY_JUDGES)) for x in ends)
    return middle, low, high


def more_judges(fitted: Fitted) -> pd.DataFrame:
    """Return what one to ten judges per response give, on as many items as there are.

    `difference_se` is the error of the difference of two respondents, `reliability` that of the
    mean score of one response.
    """
    from scipy.special import expit

    n = np.arange(1.0, MOST_JUDGES + 1)
    log, se = fitted.error(lambda x: np.log(fitted.difference_errors(x, n)))

    def odds(found: FacetParameters) -> Floats:
        return np.log(found.response_sd**2 / (fitted.noise(found) / n))

    level, level_se = fitted.error(odds)
    reach = fitted.reach
    with np.errstate(over="ignore"):  # what is not determined has no upper end
        ends = np.exp(log), np.exp(log - reach * se), np.exp(log + reach * se)
    columns = {
        **dict(
            zip(("difference_se", "difference_se_low", "difference_se_high"), ends, strict=True)
        ),
        "reliability": expit(level),
        "reliability_low": expit(level - reach * level_se),
        "reliability_high": expit(level + reach * level_se),
    }
    return pd.DataFrame(columns, index=pd.Index(n.astype(int), name="n_judges"))
