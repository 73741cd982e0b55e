"""What a fitted facet model says: frames of respondents, judges, variances and more judges."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ogive.numerics.arrays import Floats
from ogive.numerics.differing import Differences, differences_by_errors
from ogive.numerics.facet_model import FacetFit, FacetParameters
from ogive.numerics.intervals import t_reach
from ogive.numerics.multiplicity import holm
from ogive.numerics.rankings import correlation_interval
from ogive.studies.judges.rating_tables import RatingTable

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.intp]

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
        """A function of the parameters with its standard errors, by the delta method."""
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
        """Mean score that each respondent gets from an average judge on items like these."""
        sd = np.hypot(found.item_sd, found.response_sd)
        quality = found.ability[:, None] + sd * NODES
        chance = np.exp(
            found.log_chances(quality.reshape(-1), severity=np.zeros(1), slope=np.ones(1))
        )[0]
        expected = (self.table.levels @ chance).reshape(quality.shape)
        return np.asarray(expected @ SHARES)

    def noise(self, found: FacetParameters) -> float:
        """Variance of one rating of an average judge, on the scale of quality."""
        sd = np.sqrt(found.item_sd**2 + found.response_sd**2 + found.ability.var())
        quality = found.ability.mean() + sd * NODES
        chance = np.exp(found.log_chances(quality, severity=np.zeros(1), slope=np.ones(1)))[0]
        x = np.arange(chance.shape[0])[:, None]
        information = (chance * x**2).sum(axis=0) - (chance * x).sum(axis=0) ** 2
        return float(1 / (information @ SHARES))

    def difference_errors(self, found: FacetParameters, n_judges: Floats) -> Floats:
        """Standard error of the difference of two respondents with so many judges each."""
        each = found.response_sd**2 + self.noise(found) / n_judges
        return np.asarray(np.sqrt(2 * each / len(self.table.items)))


def tests_of(fitted: Fitted, order: Ints, correction: str) -> tuple[Differences, Floats]:
    """Tests of all pairs of respondents in rank order, with standard errors."""
    first, second = np.triu_indices(order.size, 1)
    i, j = order[first], order[second]
    joint = fitted.fit.covariance
    variance = joint[i, i] + joint[j, j] - 2 * joint[i, j]
    apart = fitted.found.ability[i] - fitted.found.ability[j]
    se = np.sqrt(np.maximum(variance, 0.0))
    freedom = len(fitted.table.items) - 1.0
    return differences_by_errors(order.size, apart, se, freedom, correction), se


def respondents_of(fitted: Fitted, order: Ints, family: Differences) -> pd.DataFrame:
    """One row per respondent, the best first."""
    import pandas as pd

    table, found, reach = fitted.table, fitted.found, fitted.reach
    n = len(table.respondents)
    se = fitted.se[fitted.abilities]
    fair, fair_se = fitted.error(fitted.fair_scores)
    low, high = family.rank_limits(fitted.confidence)
    level = np.round(found.ability[order], 9)
    rank = 1 + np.searchsorted(-level, -level, side="left")
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
    ranks = {"rank": rank, "rank_low": np.minimum(low, rank), "rank_high": np.maximum(high, rank)}
    names = pd.Index([table.respondents[k] for k in order], name="respondent")
    return pd.DataFrame({**ranks, **{k: x[order] for k, x in columns.items()}}, index=names)


def judges_of(fitted: Fitted, alpha: float) -> pd.DataFrame:
    """One row per judge: severity, consistency, agreement with the others, and what stands out."""
    import pandas as pd

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
    """Correlation of a judge with the mean of the others, with its interval over items.

    NaN where they score no response together, or one of them always gives the same score.
    """
    if own.size < 3 or np.ptp(own) == 0 or np.ptp(others) == 0:
        return np.nan, np.nan, np.nan
    r = float(np.corrcoef(own, others)[0, 1])
    size = np.bincount(items).astype(float)
    effective = size.sum() ** 2 / (size**2).sum()  # items count, not responses
    return (r, *correlation_interval(r, effective, ranks=False))


def _verdicts(fitted: Fitted, alpha: float) -> list[str]:
    """What stands out of each judge after correction for the number of judges."""
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
    """One row per source of variance on the scale of ability, with intervals."""
    import pandas as pd

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
    """A variance and its interval from their logarithms; one that is not determined has no end."""
    with np.errstate(over="ignore"):
        variance, low, high = (float(np.exp(x)) for x in (log, log - beside, log + beside))
    return variance, low, high


def _between(fitted: Fitted, where: slice, value: Floats) -> tuple[float, float, float]:
    """Variance between respondents or judges beyond their errors, and the interval of a few."""
    from scipy.stats import chi2

    joint, n = fitted.fit.covariance[where, where], value.size
    error = (np.trace(joint) - joint.sum() / n) / (n - 1)
    total = float(value.var(ddof=1))
    tail = (1 - fitted.confidence) / 2
    low, high = ((n - 1) * total / chi2.ppf(q, n - 1) for q in (1 - tail, tail))
    return tuple(max(x - float(error), 0.0) for x in (total, low, high))  # type: ignore[return-value]


def enough_judges(fitted: Fitted) -> tuple[int, int, int]:
    """Judges per response that leave errors within 10 % of what the items allow; low and high."""

    def needed(found: FacetParameters) -> Floats:
        return np.array([np.log(fitted.noise(found) / found.response_sd**2 / (NEARLY**2 - 1))])

    value, se = fitted.error(needed)
    ends = (value[0], value[0] - fitted.reach * se[0], value[0] + fitted.reach * se[0])
    most = np.log(MANY_JUDGES)  # an end that is not determined may be beyond any number
    middle, low, high = (int(np.clip(np.ceil(np.exp(min(x, most))), 1, MANY_JUDGES)) for x in ends)
    return middle, low, high


def more_judges(fitted: Fitted) -> pd.DataFrame:
    """What one to ten judges per response give, on as many items as there are.

    `difference_se` is the error of the difference of two respondents, `reliability` that of the
    mean score of one response.
    """
    import pandas as pd
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
