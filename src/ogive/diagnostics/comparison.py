"""Which model explains a table best: information criteria and likelihood-ratio tests.

Akaike (1974) and Schwarz (1978) weigh the log-likelihood against the number of parameters;
Akaike weights say how likely each model is the one that predicts best (Burnham and Anderson,
2002). Nested models are compared by the likelihood ratio (Wilks, 1938).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.calibration import Calibration
from ogive.diagnostics.diagnosis import Diagnosis
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.models import MeasurementModel, find_model
from ogive.models.categorical import Categorical
from ogive.numerics.arrays import Floats
from ogive.responses import Responses, Table, as_responses
from ogive.words import repeated

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

Models = Iterable[str | MeasurementModel | Calibration]

USUAL: dict[str, tuple[str, ...]] = {
    "binary": ("1pl", "2pl", "3pl"),
    "graded": ("graded", "gpcm"),
    "continuous": ("continuous", "beta"),
}
SUBSTANTIAL = 2.0  # AIC apart: below, the data hardly distinguish the two
ALPHA = 0.05


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
        shares: Floats = relative / relative.sum()
        return shares

    def to_frame(self) -> pd.DataFrame:
        """One row per model, in the order given."""
        import pandas as pd

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

    def plot(self, **kw: Any) -> Display:
        """How far each model is behind the best."""
        from ogive.displays import DISPLAYS

        return DISPLAYS["model_comparison"](self.to_frame()).plot(**kw)

    @property
    def meaning(self) -> str:
        """Which model to take, how clearly, and what speaks for another."""
        return f"{self._winner()}{self._step()}{self._thrift()}{self._cautions()}."

    def _winner(self) -> str:
        order = np.argsort([cal.aic for cal in self.calibrations.values()], kind="stable")
        names = list(self.calibrations)
        weight = self.weights[order[0]]
        if len(names) == 1:
            return f"Only the {names[0]} model was tried"
        second = names[order[1]]
        ahead = self.calibrations[second].aic - self.calibrations[self.best].aic
        manner = "hardly better than" if ahead < SUBSTANTIAL else "ahead of"
        return (
            f"Of {len(names)} models, {self.best} predicts best, {manner} {second} "
            f"(AIC lower by {ahead:.1f}, Akaike weight {weight:.2f})"
        )

    def _step(self) -> str:
        step = self.steps.get(self.best)
        if step is None or np.isnan(step.p):
            return ""
        p = "p < 0.001" if step.p < 0.001 else f"p = {step.p:.3f}"
        verdict = "more than chance" if step.p < ALPHA else "no more than chance"
        return f"; what it explains beyond {step.against} is {verdict} (likelihood ratio, {p})"

    def _thrift(self) -> str:
        thrifty = min(self.calibrations, key=lambda name: self.calibrations[name].bic)
        if thrifty == self.best:
            return ""
        return f"; BIC, which asks more of a large model, prefers {thrifty}"

    def _cautions(self) -> str:
        late = [name for name, cal in self.calibrations.items() if not cal.converged]
        steep = [name for name, cal in self.calibrations.items() if not _is_inside(cal)]
        bent = [name for name, cal in self.calibrations.items() if not _is_maximum(cal)]
        said = ""
        if late:
            said = f"; not converged, so that what they gain may be spurious: {', '.join(late)}"
        elif steep:
            named = ", ".join(steep)
            said = f"; with items that became steps, what they gain may be spurious: {named}"
        if bent:
            said += f"; not at their maximum likelihood, hence without tests: {', '.join(bent)}"
        return said


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
            steps[name] = _tested(largest, fits[largest], cal)
    return ModelComparison(MappingProxyType(fits), MappingProxyType(steps))


def is_nested(small: MeasurementModel, large: MeasurementModel) -> bool:
    """Whether `small` is `large` with some numbers held fixed or in common."""
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
    listed = list(models) if isinstance(models, Iterable) else []
    if not listed:
        raise InputError(f"models is {models!r}; name some, such as ('1pl', '2pl').")
    chosen = [entry if isinstance(entry, Calibration) else find_model(entry) for entry in listed]
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
    """A calibration that was made from this very table."""
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
    """Numbers of the model, at a bound or not."""
    each = [1 if c.shared else len(cal.item_names) for c in cal.model.coordinates]
    return sum(each)


def _is_maximum(cal: Calibration) -> bool:
    """Whether the log-likelihood is the marginal one, without priors."""
    return cal.engine == "em" and all(c.prior is None for c in cal.model.coordinates)


def _is_inside(cal: Calibration) -> bool:
    """Whether no item became a step: what such an item gains follows no chi-square."""
    steep = [coordinate.name == "discrimination" for coordinate in cal.model.coordinates]
    return not cal.model.at_bound(cal.coords)[:, steep].any()


def _tested(name: str, small: Calibration, large: Calibration) -> Step:
    from scipy.special import chdtrc

    lr = 2 * (large.log_likelihood - small.log_likelihood)
    df = _n_coordinates(large) - _n_coordinates(small) - _n_held(small, large)
    both = (small, large)
    if not all(_is_maximum(cal) and cal.converged and _is_inside(cal) for cal in both):
        return Step(name, lr, df, float(np.nan))
    # Without further parameters nothing was gained: all of them are at their bounds.
    p = float(chdtrc(df, max(lr, 0.0))) if df > 0 else 1.0
    return Step(name, lr, df, p)


def _n_held(small: Calibration, large: Calibration) -> int:
    """How many of the numbers that only the larger model has are at their bounds."""
    known = {coordinate.name for coordinate in small.model.coordinates}
    further = [coordinate.name not in known for coordinate in large.model.coordinates]
    return int(large.model.at_bound(large.coords)[:, further].sum())
