"""Goodness of fit of a calibration as a whole, from margins of single items and of pairs.

A table of many items has more response patterns than respondents, so that a test over all
patterns says nothing. Limited-information statistics compare the margins of single items and of
pairs: M2 (Maydeu-Olivares and Joe, 2006); for graded responses also M2*, which compares means of
scores and of products of scores (Cai and Hansen, 2013), and C2, which compares category shares
and means of products of scores (Cai and Monro, 2014). For binary responses all three are the
same. RMSEA of these margins: Maydeu-Olivares and Joe (2014).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import (
    Diagnosis,
    checked_calibration,
    own_or_given,
    population_nodes,
)
from ogive.diagnostics.moments import (
    Family,
    Ints,
    implied_correlations,
    implied_moments,
    independence,
    margins,
    n_moments,
    observed_correlations,
    observed_moments,
    quadratic_form,
)
from ogive.errors import InputError
from ogive.models.categorical import Categorical
from ogive.numerics.arrays import Floats, workers
from ogive.responses import Table
from ogive.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

STATISTICS = ("m2", "m2*", "c2")
CLOSE, FAIR = 0.05, 0.08  # the usual limits of RMSEA (Browne and Cudeck, 1993)
COVERAGE = 0.90
LEAST_RESPONDENTS = 30  # complete rows; with fewer, a chi-square says nothing
MOST_MOMENTS = 7_400  # 121 binary items: two gigabytes and some seconds


@dataclass(frozen=True, eq=False, repr=False)
class ModelFit(Diagnosis):
    """How well the model reproduces the responses to single items and to pairs of items.

    `value` is chi-square with `df` degrees of freedom where the model holds, `p` the chance of a
    larger one. `rmsea` is the misfit per degree of freedom with its 90 % interval, `srmsr` the
    root mean square difference of observed and implied correlations of items, `tli` and `cfi`
    the gain over a model of independent items. Where no degree of freedom is left, there is no
    test: `value` to `rmsea_high` and both gains are NaN.
    """

    model: str
    statistic: str
    value: float
    df: int
    p: float
    rmsea: float
    rmsea_low: float
    rmsea_high: float
    srmsr: float
    tli: float
    cfi: float
    n_respondents: float  # complete rows, by their weights
    n_incomplete: int  # rows left out
    items_left_out: tuple[str, ...]  # all responses to them are the same

    def to_frame(self) -> pd.DataFrame:
        """One row, named by the model."""
        import pandas as pd

        names = ("statistic", "value", "df", "p", "rmsea", "rmsea_low", "rmsea_high", "srmsr")
        columns = {name: [getattr(self, name)] for name in (*names, "tli", "cfi")}
        return pd.DataFrame(columns, index=pd.Index([self.model], name="model"))

    def plot(self, **kw: Any) -> Display:
        """RMSEA and its interval beside the usual limits."""
        from ogive.displays import DISPLAYS

        return DISPLAYS["model_fit"](self.to_frame()).plot(**kw)

    @property
    def meaning(self) -> str:
        """How close the fit is, and whether chance explains what is left."""
        return f"{self._verdict()}{self._left_out()}."

    def _verdict(self) -> str:
        if self.df < 1:
            return (
                f"The {self.model} model has as many free parameters as single items and pairs "
                "have margins, so that no degree of freedom is left for a test"
            )
        verdict = "poorly" if self.rmsea > FAIR else "fairly" if self.rmsea > CLOSE else "closely"
        chance = "explains" if self.p >= 0.05 else "does not explain"
        return (
            f"The {self.model} model fits the responses to single items and to pairs {verdict}: "
            f"RMSEA {self.rmsea:.3f} (90 % interval {self.rmsea_low:.3f} to "
            f"{self.rmsea_high:.3f}; up to {CLOSE} is close, up to {FAIR} fair), and chance "
            f"{chance} the rest ({self.statistic.upper()} = {self.value:.1f} on "
            f"{counted(self.df, 'degree')} of freedom, {_said(self.p)})"
        )

    def _left_out(self) -> str:
        parts = []
        if self.n_incomplete:
            rows = counted(self.n_incomplete, "respondent")
            parts.append(f"{rows} without a response to every item")
        if self.items_left_out:
            parts.append(f"{listed(self.items_left_out, 'item')} with the same response from all")
        return f"; left out: {' and '.join(parts)}" if parts else ""


def model_fit(
    calibration: Calibration, responses: Table | None = None, statistic: str = "auto"
) -> ModelFit:
    """Test whether a calibration reproduces the margins of items and of pairs of items.

    The frame has one row: statistic (Maydeu-Olivares and Joe, 2006), value, df, p, rmsea with its
    90 % interval, srmsr, tli, cfi.

    Parameters
    ----------
    calibration
        Of a binary or graded model, with or without priors; the test is insensitive to errors of
        the item parameters to first order.
    responses
        Other responses to the same items; None for those of the calibration. Only respondents
        who answered every item count, at least 30; items that nobody was asked or with the
        same response from all are left out.
    statistic
        "m2", "m2*" or "c2". "auto" is M2 for binary responses, where all three are the same; for
        graded ones M2* where it leaves a degree of freedom, otherwise C2.

    Notes
    -----
    The population of abilities counts as known, except for its sd in a Rasch model. The
    covariance of all margins is one matrix: 50 binary items take below a second, 121, the most,
    some seconds and two gigabytes.

    Examples
    --------
    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> fit = og.model_fit(found)
    >>> fit.statistic, round(fit.rmsea, 2)
    ('m2', 0.0)
    """
    model = _checked_model(calibration)
    if statistic not in (*STATISTICS, "auto"):
        raise InputError(
            f"statistic is {statistic!r}; choose one of auto, {', '.join(STATISTICS)}."
        )
    rows = _complete(calibration, responses)
    _check_size(_smallest(statistic, model), rows, model)  # before curves of many items are made
    family = _fitted(calibration, model, rows.items)
    chosen = _chosen(statistic, family, model)
    _check_size(chosen, rows, model)
    with workers(1):  # one thread: those of BLAS wait for each other where there is other work
        value, df, tli, cfi = _tests(family, rows, chosen)
        srmsr = _srmsr(family, rows)
    low, high = _rmsea_interval(value, df, rows.count)
    return ModelFit(
        model=model.name,
        statistic=chosen,
        value=value,
        df=df,
        p=_tail(value, df),
        rmsea=_rmsea(max(value - df, 0.0), df, rows.count),
        rmsea_low=low,
        rmsea_high=high,
        srmsr=srmsr,
        tli=tli,
        cfi=cfi,
        n_respondents=rows.count,
        n_incomplete=rows.n_incomplete,
        items_left_out=tuple(
            name for k, name in enumerate(calibration.item_names) if k not in set(rows.items)
        ),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The complete part of a table."""

    cells: Ints  # (n_rows, n_items)
    weights: Floats
    items: Ints  # positions in the calibration
    n_incomplete: int

    @property
    def count(self) -> float:
        """How many respondents the rows stand for."""
        return float(self.weights.sum())


def _checked_model(calibration: Calibration) -> Categorical:
    checked_calibration(calibration, "model_fit")
    model = calibration.model
    if not isinstance(model, Categorical):
        raise InputError(
            f"model_fit compares shares of categories, but the {model.name} model explains "
            f"{model.kind} responses. Compare models of them by AIC with compare_models."
        )
    return model


def _complete(calibration: Calibration, responses: Table | None) -> _Rows:
    """Respondents who answered every item, and the items on which they differ."""
    table, weights = own_or_given(calibration, responses, "model_fit")
    cells = calibration.cells(table)
    cells, weights = cells[weights > 0], weights[weights > 0]
    items = np.flatnonzero((cells >= 0).any(axis=0))
    whole = (cells[:, items] >= 0).all(axis=1)
    count = float(weights[whole].sum())
    if count < LEAST_RESPONDENTS:
        what = "respondent" if whole.all() else "complete row"
        has = f"{count:g} {what}{'' if count == 1 else 's'}"
        raise InputError(
            f"The responses have {has}; model_fit needs at least "
            f"{LEAST_RESPONDENTS} respondents who answered every item. Leave out items that few "
            "were asked, with responses.select(items=[...]), or gather more respondents."
        )
    kept = cells[whole]
    items = items[(kept[:, items].max(axis=0) > kept[:, items].min(axis=0))]
    return _Rows(kept[:, items].astype(np.int64), weights[whole], items, int((~whole).sum()))


def _fitted(calibration: Calibration, model: Categorical, items: Ints) -> Family:
    """The calibrated items on the nodes of their population."""
    coords = calibration.coords
    nodes, weights = population_nodes(calibration.model, calibration.coords, calibration.population)
    log_prob = model.log_prob(coords[items], nodes.fine)
    prob = np.exp(log_prob)
    slopes = np.where(prob > 0, model.slopes(coords[items], nodes.fine), 0.0) * prob
    free: NDArray[np.bool_] = ~model.at_bound(coords)[items]
    return Family(prob, slopes, weights, free, tuple(model.shared))


def _chosen(statistic: str, family: Family, model: Categorical) -> str:
    if model.n_categories == 2:
        return "m2"
    if statistic != "auto":
        return statistic
    n_items = family.prob.shape[1]
    return "m2*" if n_moments("m2*", n_items, model.n_categories) > family.n_free else "c2"


def _smallest(statistic: str, model: Categorical) -> str:
    """The statistic of the fewest margins that may be chosen."""
    if model.n_categories == 2:
        return "m2"
    return "m2*" if statistic == "auto" else statistic


def _check_size(statistic: str, rows: _Rows, model: Categorical) -> None:
    needed = n_moments(statistic, rows.items.size, model.n_categories)
    if needed <= MOST_MOMENTS:
        return
    fewer = "" if statistic == "m2*" or model.n_categories == 2 else ' with statistic="m2*"'
    raise InputError(
        f"{counted(rows.items.size, 'item')} have {needed:,} margins; model_fit takes up to "
        f"{MOST_MOMENTS:,}, those of 121 items{fewer}. Calibrate a part, "
        "with responses.select(items=[...])."
    )


def _tests(family: Family, rows: _Rows, statistic: str) -> tuple[float, int, float, float]:
    """Statistic and degrees of freedom, then TLI and CFI against independent items."""
    n_categories, n_items = family.prob.shape[:2]
    if n_items < 2:
        return np.nan, 0, np.nan, np.nan
    chosen = margins(statistic, n_items, n_categories)
    observed = observed_moments(rows.cells, rows.weights, chosen)

    implied = implied_moments(family, chosen)
    value, df = quadratic_form(observed - implied.means, implied, rows.count)
    if df < 1:
        return np.nan, 0, np.nan, np.nan
    null, null_df = independence(rows.cells, rows.weights, statistic, n_categories)
    worst = max(null - null_df, value - df, 0.0)
    cfi = 1 - max(value - df, 0.0) / worst if worst > 0 else np.nan
    tli = (null / null_df - value / df) / (null / null_df - 1) if null > null_df else np.nan
    return value, df, tli, cfi


def _srmsr(family: Family, rows: _Rows) -> float:
    upper = np.triu_indices(rows.items.size, 1)
    if not upper[0].size:
        return float(np.nan)
    apart = observed_correlations(rows.cells, rows.weights) - implied_correlations(family)
    return float(np.sqrt(np.mean(apart[upper] ** 2)))


def _tail(value: float, df: int) -> float:
    from scipy.special import chdtrc

    return float(chdtrc(df, value)) if df > 0 else float(np.nan)


def _rmsea(excess: float, df: int, count: float) -> float:
    return float(np.sqrt(excess / (df * (count - 1)))) if df > 0 else float(np.nan)


def _rmsea_interval(value: float, df: int, count: float) -> tuple[float, float]:
    """Ends at which a noncentral chi-square has the value as its 95th and 5th percentile."""
    from scipy.optimize import brentq
    from scipy.special import chndtr

    if df < 1:
        return float(np.nan), float(np.nan)

    def end(share: float) -> float:
        if chndtr(value, df, 0.0) <= share:
            return 0.0
        most = 2.0 * value + 50.0
        return float(brentq(lambda excess: chndtr(value, df, excess) - share, 0.0, most))

    outside = (1 - COVERAGE) / 2
    low, high = (_rmsea(end(share), df, count) for share in (1 - outside, outside))
    return low, high


def _said(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
