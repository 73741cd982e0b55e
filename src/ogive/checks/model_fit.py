"""Fit of a calibration as a whole: absolute (M2, RMSEA) and relative (AIC, likelihood ratios).

A table of many items has more response patterns than respondents, so that a test over all
patterns says nothing. Limited-information statistics compare the margins of single items and of
pairs: M2 (Maydeu-Olivares and Joe, 2006), M2* (Cai and Hansen, 2013) and C2 (Cai and Monro, 2014);
RMSEA of these margins: Maydeu-Olivares and Joe (2014). Models are compared by the criteria of
Akaike (1974) and Schwarz (1978), by Akaike weights (Burnham and Anderson, 2002) and, if nested, by
the likelihood ratio (Wilks, 1938).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import chdtrc, chndtr

from ogive.checks.residuals import Diagnosis, checked_calibration, own_or_given, population_nodes
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.limited_information import (
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
from ogive.irt.models import find_model
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.results.numbers import counted, listed, repeated
from ogive.stats.array_backend import Floats, workers

STATISTICS = ("m2", "m2*", "c2")
CLOSE, FAIR = 0.05, 0.08  # the usual limits of RMSEA (Browne and Cudeck, 1993)
COVERAGE = 0.90  # of the interval of RMSEA
LEAST_RESPONDENTS = 30  # complete rows that a chi-square test needs
MOST_MOMENTS = 7_400  # margins of 121 binary items, which take two gigabytes and some seconds
ALPHA = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class ModelFit(Diagnosis):
    """How well the model reproduces the responses to single items and to pairs of items.

    `value` is chi-square with `df` degrees of freedom where the model holds, `p` the chance of a
    larger one. `rmsea` is the misfit per degree of freedom with its 90 % interval, `srmsr` the
    root mean square difference of observed and implied correlations of items, `tli` and `cfi`
    the gain over a model of independent items. Where no degree of freedom is left, there is no
    test: `value` to `rmsea_high` and both gains are NaN.
    """

    display = "model_fit"

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
        """Return one row, named by the model."""
        names = ("statistic", "value", "df", "p", "rmsea", "rmsea_low", "rmsea_high", "srmsr")
        columns = {name: [getattr(self, name)] for name in (*names, "tli", "cfi")}
        return pd.DataFrame(columns, index=pd.Index([self.model], name="model"))

    @property
    def meaning(self) -> str:
        """How close the fit is, and whether chance explains what is left."""
        left_out = []
        if self.n_incomplete:
            rows = counted(self.n_incomplete, "respondent")
            left_out.append(f"{rows} without a response to every item")
        if self.items_left_out:
            items = listed(self.items_left_out, "item")
            left_out.append(f"{items} with the same response from all")
        suffix = f"; left out: {' and '.join(left_out)}" if left_out else ""
        return f"{self._verdict()}{suffix}."

    def _verdict(self) -> str:
        if self.df < 1:
            return (
                f"The {self.model} model has as many free parameters as single items and pairs "
                "have margins, so that no degree of freedom is left for a test"
            )
        verdict = "poorly" if self.rmsea > FAIR else "fairly" if self.rmsea > CLOSE else "closely"
        chance = "explains" if self.p >= ALPHA else "does not explain"
        return (
            f"The {self.model} model fits the responses to single items and to pairs {verdict}: "
            f"RMSEA {self.rmsea:.3f} (90 % interval {self.rmsea_low:.3f} to "
            f"{self.rmsea_high:.3f}; up to {CLOSE} is close, up to {FAIR} fair), and chance "
            f"{chance} the rest ({self.statistic.upper()} = {self.value:.1f} on "
            f"{counted(self.df, 'degree')} of freedom, {_p_text(self.p)})"
        )


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
    checked_calibration(calibration, "model_fit")
    model = calibration.model
    if not isinstance(model, Categorical):
        raise InputError(
            f"model_fit compares shares of categories, but the {model.name} model explains "
            f"{model.kind} responses. Compare models of them by AIC with compare_models."
        )
    if statistic not in (*STATISTICS, "auto"):
        raise InputError(
            f"statistic is {statistic!r}; choose one of auto, {', '.join(STATISTICS)}."
        )
    rows = _complete_rows(calibration, responses)
    n_items, n_categories = rows.items.size, model.n_categories
    # Check the least size that may be chosen before curves of many items are made.
    chosen = "m2" if n_categories == 2 else "m2*" if statistic == "auto" else statistic
    _check_size(chosen, n_items, n_categories)
    family = _margins_of_model(calibration, model, rows.items)
    if chosen == "m2*" and statistic == "auto":
        chosen = "m2*" if n_moments("m2*", n_items, n_categories) > family.n_free else "c2"
        _check_size(chosen, n_items, n_categories)
    with workers(1):  # one thread: those of BLAS wait for each other if there is other work
        value, df, tli, cfi = _tests(family, rows, chosen)
        srmsr = _srmsr(family, rows)
    low, high = _rmsea_interval(value, df, rows.count)
    return ModelFit(
        model=model.name,
        statistic=chosen,
        value=value,
        df=df,
        p=float(chdtrc(df, value)) if df > 0 else np.nan,
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
        """Number of respondents that the rows stand for."""
        return float(self.weights.sum())


def _complete_rows(calibration: Calibration, responses: Table | None) -> _Rows:
    """Return respondents who answered every item, and the items on which they differ."""
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


def _margins_of_model(calibration: Calibration, model: Categorical, items: Ints) -> Family:
    """Return the calibrated items on the nodes of their population."""
    coords = calibration.coords
    nodes, mass = population_nodes(calibration.model, coords, calibration.population)
    prob = np.exp(model.log_prob(coords[items], nodes.fine))
    slopes = np.where(prob > 0, model.slopes(coords[items], nodes.fine), 0.0) * prob
    return Family(prob, slopes, mass, ~model.at_bound(coords)[items], tuple(model.shared))


def _check_size(statistic: str, n_items: int, n_categories: int) -> None:
    needed = n_moments(statistic, n_items, n_categories)
    if needed <= MOST_MOMENTS:
        return
    fewer = "" if statistic == "m2*" or n_categories == 2 else ' with statistic="m2*"'
    raise InputError(
        f"{counted(n_items, 'item')} have {needed:,} margins; model_fit takes up to "
        f"{MOST_MOMENTS:,}, those of 121 items{fewer}. Calibrate a part, "
        "with responses.select(items=[...])."
    )


def _tests(family: Family, rows: _Rows, statistic: str) -> tuple[float, int, float, float]:
    """Return statistic and degrees of freedom, then TLI and CFI against independent items."""
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
        return np.nan
    diff = observed_correlations(rows.cells, rows.weights) - implied_correlations(family)
    return float(np.sqrt(np.mean(diff[upper] ** 2)))


def _rmsea(excess: float, df: int, count: float) -> float:
    return float(np.sqrt(excess / (df * (count - 1)))) if df > 0 else np.nan


def _rmsea_interval(value: float, df: int, count: float) -> tuple[float, float]:
    """Return ends at which a noncentral chi-square has the value as its 95th and 5th percentile."""
    from scipy.optimize import brentq

    if df < 1:
        return np.nan, np.nan

    def end(share: float) -> float:
        if chndtr(value, df, 0.0) <= share:
            return 0.0
        most = 2.0 * value + 50.0
        return float(brentq(lambda excess: chndtr(value, df, excess) - share, 0.0, most))

    tail = (1 - COVERAGE) / 2
    low, high = (_rmsea(end(share), df, count) for share in (1 - tail, tail))
    return low, high


def _p_text(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


Models = Iterable[str | MeasurementModel | Calibration]

USUAL: dict[str, tuple[str, ...]] = {
    "binary": ("1pl", "2pl", "3pl"),
    "graded": ("graded", "gpcm"),
    "continuous": ("continuous", "beta"),
}
SUBSTANTIAL = 2.0  # difference of AIC below which the data hardly distinguish two models


@dataclass(frozen=True)
class Step:
    """A likelihood-ratio test of a model against the largest model nested in it."""

    against: str
    lr: float
    df: int
    p: float


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison(Diagnosis):
    """Which of several models explains the responses best.

    `calibrations` holds each by name; `steps` the likelihood-ratio tests of those that have a
    smaller model nested in them. There is no test (NaN) where a log-likelihood is no maximum:
    with priors, by the joint engine, or without convergence.
    """

    display = "model_comparison"

    calibrations: Mapping[str, Calibration]
    steps: Mapping[str, Step]

    @property
    def best(self) -> str:
        """The model of the least AIC."""
        return min(self.calibrations, key=lambda name: self.calibrations[name].aic)

    @property
    def weights(self) -> Floats:
        """Akaike weight of each model: its share of the evidence, of sum one."""
        aic = np.array([cal.aic for cal in self.calibrations.values()])
        relative = np.exp(-0.5 * (aic - aic.min()))
        return np.asarray(relative / relative.sum())

    def to_frame(self) -> pd.DataFrame:
        """Return one row per model, in the order given."""
        fits = list(self.calibrations.values())
        aic = np.array([cal.aic for cal in fits])
        steps = [self.steps.get(name) for name in self.calibrations]
        columns = {
            "log_likelihood": [cal.log_likelihood for cal in fits],
            "n_parameters": [cal.n_parameters for cal in fits],
            "aic": aic,
            "bic": [cal.bic for cal in fits],
            "delta_aic": aic - aic.min(),
            "weight": self.weights,
            "converged": [cal.converged for cal in fits],
            "lr_against": [step.against if step else None for step in steps],
            "lr": [step.lr if step else np.nan for step in steps],
            "lr_df": [float(step.df) if step else np.nan for step in steps],
            "lr_p": [step.p if step else np.nan for step in steps],
        }
        return pd.DataFrame(columns, index=pd.Index(list(self.calibrations), name="model"))

    @property
    def meaning(self) -> str:
        """Which model to take, how clearly, and what speaks for another."""
        return f"{self._winner()}{self._gain()}{self._by_bic()}{self._cautions()}."

    def _winner(self) -> str:
        order = np.argsort([cal.aic for cal in self.calibrations.values()], kind="stable")
        names = list(self.calibrations)
        if len(names) == 1:
            return f"Only the {names[0]} model was tried"
        second = names[order[1]]
        lead = self.calibrations[second].aic - self.calibrations[self.best].aic
        manner = "hardly better than" if lead < SUBSTANTIAL else "ahead of"
        return (
            f"Of {len(names)} models, {self.best} predicts best, {manner} {second} "
            f"(AIC lower by {lead:.1f}, Akaike weight {self.weights[order[0]]:.2f})"
        )

    def _gain(self) -> str:
        step = self.steps.get(self.best)
        if step is None or np.isnan(step.p):
            return ""
        verdict = "more than chance" if step.p < ALPHA else "no more than chance"
        test = f"likelihood ratio, {_p_text(step.p)}"
        return f"; what it explains beyond {step.against} is {verdict} ({test})"

    def _by_bic(self) -> str:
        best = min(self.calibrations, key=lambda name: self.calibrations[name].bic)
        if best == self.best:
            return ""
        return f"; BIC, which asks more of a large model, prefers {best}"

    def _cautions(self) -> str:
        fits = self.calibrations.items()
        late = [name for name, cal in fits if not cal.converged]
        cautions = {
            "not converged, so that what they gain may be spurious": late,
            "with items that became steps, what they gain may be spurious": (
                [] if late else [name for name, cal in fits if not _is_inside(cal)]
            ),
            "not at their maximum likelihood, hence without tests": [
                name for name, cal in fits if not _is_maximum(cal)
            ],
        }
        texts = [f"; {text}: {', '.join(names)}" for text, names in cautions.items() if names]
        return "".join(texts)


def compare_models(
    responses: Table, models: Models | None = None, **settings: Any
) -> ModelComparison:
    """Calibrate several models on one table and say which explains it best.

    The frame has one row per model: log_likelihood, n_parameters, aic, bic, delta_aic, weight,
    converged, and the likelihood ratio against the model inside it: lr_against, lr, lr_df, lr_p.

    Parameters
    ----------
    responses
        Respondents × items.
    models
        Names, models, or calibrations of these same responses; all of one kind. Left out: 1pl,
        2pl and 3pl for right and wrong, graded and gpcm for grades, continuous and beta for
        scores.
    settings
        Go to `calibrate`. Priors are None unless given: criteria and tests compare maxima of the
        likelihood, and a prior would hold back the larger model. Guessing parameters are then
        poorly determined, but the log-likelihood, all that counts here, is not.

    Notes
    -----
    A guessing or slip at its bound counts neither in AIC nor in the degrees of freedom of the
    test: the likelihood ratio is then a mixture of chi-squares, one for each number of parameters
    off their bounds (Self and Liang, 1987). As it is zero when none is, the test is a little
    conservative. An item that hardly discriminates can pass for a steep one with guessing; then
    the larger model gains more than chi-square allows (Davies, 1977), and often fails to converge.

    Examples
    --------
    >>> import ogive as og
    >>> drawn = og.simulate("2pl", 300, 10, random_state=0).responses
    >>> og.compare_models(drawn, ["1pl", "2pl"]).to_frame()["aic"].idxmin()
    '2pl'
    """
    if "model" in settings:
        raise InputError("compare_models has no argument 'model'; give models=('1pl', '2pl').")
    table = as_responses(responses)
    chosen = _checked_models(USUAL[table.kind] if models is None else models, table)
    wanted = {"priors": None, **settings}
    fits: dict[str, Calibration] = {}
    for entry in chosen:
        if isinstance(entry, Calibration):
            fits[entry.model.name] = _checked_fit(entry, table, settings)
        else:
            fits[entry.name] = calibrate(table, entry, **wanted)
    steps = {}
    for name, cal in fits.items():
        smaller = [key for key, other in fits.items() if is_nested(other.model, cal.model)]
        if smaller:
            largest = max(smaller, key=lambda key: _n_coordinates(fits[key]))
            steps[name] = _likelihood_ratio(largest, fits[largest], cal)
    return ModelComparison(MappingProxyType(fits), MappingProxyType(steps))


def is_nested(small: MeasurementModel, large: MeasurementModel) -> bool:
    """Return True if `small` is `large` with some numbers held fixed or in common."""
    family, generic = type(small).__mro__[1], (Categorical, MeasurementModel)
    if type(small) is not type(large) and (family in generic or type(large).__mro__[1] != family):
        return False
    few = {coordinate.name: coordinate.shared for coordinate in small.coordinates}
    many = {coordinate.name: coordinate.shared for coordinate in large.coordinates}
    inside = all(name in many and shared >= many[name] for name, shared in few.items())
    return inside and few != many


def _checked_models(models: Models, table: Responses) -> list[MeasurementModel | Calibration]:
    if isinstance(models, str | MeasurementModel | Calibration):
        models = (models,)
    entries = list(models) if isinstance(models, Iterable) else []
    if not entries:
        raise InputError(f"models is {models!r}; name some, such as ('1pl', '2pl').")
    chosen = [entry if isinstance(entry, Calibration) else find_model(entry) for entry in entries]
    known = [entry.model if isinstance(entry, Calibration) else entry for entry in chosen]
    names = [model.name for model in known]
    if len(set(names)) < len(names):
        twice = repeated(names)[0]
        raise InputError(f"models has {twice!r} more than once; give each model once.")
    others = [model for model in known if model.kind != table.kind]
    if others:
        raise InputError(
            f"The responses are {table.kind}, but the {others[0].name} model explains "
            f"{others[0].kind} ones. Models can be compared on the same responses only: name "
            f"models of {table.kind} responses."
        )
    return chosen


def _checked_fit(cal: Calibration, table: Responses, settings: Mapping[str, Any]) -> Calibration:
    """Return a calibration that was made from this very table."""
    if cal.responses is None:
        raise InputError(
            f"The {cal.model.name} calibration was loaded from a file and holds no responses, so "
            f"that it may come from other ones. Name the model instead: {cal.model.name!r}."
        )
    weights, known = settings.get("weights"), cal.weights
    if weights is None or known is None:
        alike = weights is None and known is None
    else:
        alike = np.array_equal(np.asarray(weights, dtype=float), known)
    same = cal.responses == table
    if not (same and alike):
        what = "the same responses with other weights" if same else "other responses"
        raise InputError(
            f"The {cal.model.name} calibration comes from {what}; likelihoods of different tables "
            f"cannot be compared. Name the model instead: {cal.model.name!r}."
        )
    return cal


def _n_coordinates(cal: Calibration) -> int:
    """Return the number of parameters, at a bound or not."""
    return sum(1 if c.shared else len(cal.item_names) for c in cal.model.coordinates)


def _is_maximum(cal: Calibration) -> bool:
    """Return True if the log-likelihood is the marginal one, without priors."""
    return cal.engine == "em" and all(c.prior is None for c in cal.model.coordinates)


def _is_inside(cal: Calibration) -> bool:
    """Return True if no discrimination is at its bound: the gain of a step is no chi-square."""
    slopes = [coordinate.name == "discrimination" for coordinate in cal.model.coordinates]
    return not cal.model.at_bound(cal.coords)[:, slopes].any()


def _likelihood_ratio(name: str, small: Calibration, large: Calibration) -> Step:
    """Return the test of `large` against `small`; parameters of `large` at a bound do not count."""
    lr = 2 * (large.log_likelihood - small.log_likelihood)
    known = {coordinate.name for coordinate in small.model.coordinates}
    further = [coordinate.name not in known for coordinate in large.model.coordinates]
    n_at_bound = int(large.model.at_bound(large.coords)[:, further].sum())
    df = _n_coordinates(large) - _n_coordinates(small) - n_at_bound
    if not all(_is_maximum(cal) and cal.converged and _is_inside(cal) for cal in (small, large)):
        return Step(name, lr, df, np.nan)
    # Without further parameters nothing was gained: all of them are at their bounds.
    return Step(name, lr, df, float(chdtrc(df, max(lr, 0.0))) if df > 0 else 1.0)
