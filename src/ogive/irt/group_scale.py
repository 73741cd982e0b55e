"""Several groups of respondents on one scale, and whether items are alike in all groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import CONFIDENCE, checked_share
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.covariates import check_shared_ability
from ogive.irt.latent_regression import (
    ExplainedPopulation,
    Facts,
    delta_jacobian,
    explain_population,
    on_scale_of_reference,
)
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.response_matrix import UNKNOWN_GROUP, as_responses
from ogive.results.base import Draw, Result, table
from ogive.results.numbers import counted, listed, said_p, shown, with_interval
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses, Table
    from ogive.results.plots.figure import Display

__all__ = ["GroupScale", "group_scale"]

LEAST = 5  # smallest number of respondents of a group
ENOUGH = 100  # smallest group for the test of all items


@dataclass(frozen=True, eq=False)
class RespondentGroups:
    """The names of the groups, the reference first, and the number of each respondent's group."""

    names: tuple[str, ...]
    codes: np.ndarray  # (n_respondents,)

    @property
    def sizes(self) -> np.ndarray:
        """Number of respondents of each group."""
        return np.bincount(self.codes, minlength=len(self.names))


def respondent_groups(
    responses: Responses, groups: object, reference: str | None
) -> RespondentGroups:
    """Code the groups by numbers; the reference, by default the largest, is 0."""
    if not (isinstance(groups, str | Iterable) or callable(groups)):
        raise InputError(
            "`groups` must be the name of a fact of the respondents, or one group per respondent "
            f"as a list or a mapping, got {shown(groups)}."
        )
    by_name = isinstance(groups, Mapping) or type(groups).__name__ == "Series"
    given = [str(name) for name in groups.keys()] if by_name else []  # type: ignore[union-attr]  # noqa: SIM118
    unknown = [name for name in given if name not in set(responses.respondents)]
    if unknown:
        raise InputError(
            f"groups names {listed(unknown, 'respondent')} not in the table, whose respondents "
            f"are {listed(responses.respondents, 'respondent')}."
        )
    each = responses.respondent_groups(groups)
    named = zip(responses.respondents, each, strict=True)
    missing = [name for name, group in named if group == UNKNOWN_GROUP]
    if missing:
        raise InputError(
            f"groups gives no group to {listed(missing, 'respondent')}. Give them one, or leave "
            "them out with responses.select."
        )
    counts = Counter(each)
    if len(counts) < 2:
        raise InputError(
            f"`groups` must hold two groups or more, got {shown(next(iter(counts)))} for all "
            f"{counted(len(each), 'respondent')}."
        )
    small = [f"{shown(name)} has {n}" for name, n in counts.items() if n < LEAST]
    if small:
        raise InputError(
            f"Every group needs {LEAST} respondents or more, but {', '.join(small[:3])}. Join "
            "groups, or leave small ones out with responses.select."
        )
    first = counts.most_common(1)[0][0] if reference is None else str(reference)
    if first not in counts:
        raise InputError(f"`reference` must be one of {', '.join(counts)}, got {shown(reference)}.")
    names = (first, *(name for name in counts if name != first))
    number = {name: k for k, name in enumerate(names)}
    return RespondentGroups(names, np.array([number[group] for group in each]))


@dataclass(frozen=True, eq=False, repr=False)
class GroupScale(Result):
    """Groups of respondents on one scale.

    `populations` has one row per group, on the scale on which the reference has mean 0 and
    standard deviation 1; `abilities` one row per respondent, given its group; `items` one row per
    item, on the same scale. `calibration` scores others as members of the reference.
    `likelihood_ratio`, `df` and `p` test
    whether all items behave alike in all groups; NaN where groups are too small for it.
    """

    reference: str
    populations: pd.DataFrame
    abilities: pd.DataFrame
    likelihood_ratio: float
    df: float
    p: float
    confidence: float
    calibration: Calibration
    notes: tuple[str, ...] = ()

    @property
    def items(self) -> pd.DataFrame:
        """One row per item, on the scale of the reference: parameters, and <name>_se of each."""
        return self.calibration.items

    @property
    def meaning(self) -> str:
        """The distances of groups with their intervals, and whether items are alike."""
        parts = []
        for name, row in self.populations.drop(index=self.reference).iterrows():
            side = "above" if row["mean"] >= 0 else "below"
            mean = with_interval(abs(row["mean"]), (row["high"] - row["low"]) / 2)
            parts.append(
                f"the mean of {name} is {mean} standard deviations "
                f"{side} that of {self.reference} ({said_p(row['p'])})"
            )
        more = f"; {len(parts) - 3} more" if len(parts) > 3 else ""
        text = f"{'; '.join(parts[:3])}{more}."
        text = text[:1].upper() + text[1:]
        if np.isnan(self.p):
            return text
        alike = (
            "items do not behave alike in all groups, so that part of this may be items: see "
            "differential"
            if self.p < 1 - self.confidence
            else "nothing shows that items behave differently in the groups"
        )
        ratio = f"likelihood ratio {self.likelihood_ratio:.1f} on {self.df:.0f}, {said_p(self.p)}"
        return f"{text} As a whole, {alike} ({ratio})."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per group."""
        return self.populations.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the groups and the respondents."""
        return {self.name(): self.populations, "abilities": self.abilities}

    def figures(self) -> dict[str, Draw]:
        """Return the means of the groups."""
        return {"groups": self.plot}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration that all groups share."""
        return {"group_scale": self.calibration}

    def plot(self, **kw: Any) -> Display:
        """Plot the mean of each group with its interval."""
        from ogive.results.plots.rankings import RankingDisplay

        rows = self.populations.assign(se=self.populations["mean_se"])
        return RankingDisplay(rows, estimate="mean").plot(**kw)


def group_scale(
    responses: Table,
    groups: object,
    *,
    reference: str | None = None,
    model: str | MeasurementModel = AUTO,
    confidence: float = CONFIDENCE,
    progress: Progress | bool = True,
) -> GroupScale:
    """Put groups of respondents on one scale: a mean and a standard deviation each.

    Items are the same for all groups, and each group has a population of its own, so that errors
    of means count how uncertain every ability is. The frame has one row per group: mean, sd, their
    standard errors, the interval of the mean, and the p-value of its difference from the reference.

    Parameters
    ----------
    responses
        Respondents × items.
    groups
        The group of each respondent: a fact of the respondents, a mapping from respondent, or a
        list; two groups or more, of at least five respondents.
    reference
        The group that has mean 0 and standard deviation 1; the largest if omitted.
    model
        Measurement model of all items.
    confidence
        Level of the intervals.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Notes
    -----
    From 200 respondents on, and up to 400 numbers of items, items are found together with the
    populations (multiple-group maximum likelihood, Bock and Zimowski, 1997); otherwise they stay
    where a calibration of all respondents puts them. Where every group has 100 respondents or
    more, items that are free in each group are compared with equal ones by a likelihood ratio.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> ability = np.r_[random.normal(0, 1, 300), random.normal(0.8, 1, 300)]
    >>> drawn = og.simulate("2pl", abilities=ability, n_items=20, random_state=0).responses
    >>> found = og.group_scale(drawn, ["old"] * 300 + ["new"] * 300, reference="old")
    >>> bool(abs(found.populations.loc["new", "mean"] - 0.8) < 0.3)
    True
    """
    observed = as_responses(responses)
    checked_share(confidence, "confidence", CONFIDENCE)
    split = respondent_groups(observed, groups, reference)
    chosen, picked = model_for(model, observed)
    with telling(progress, "Groups on one scale"):
        bank = calibrate(observed, chosen, progress=False)
        check_shared_ability(bank, observed)
        others = [split.codes == k for k in range(1, len(split.names))]
        columns = np.stack([np.ones(split.codes.size), *others], axis=1).astype(float)
        population = explain_population(bank, Facts(columns, split.codes))
        ratio, df, p = _invariance(observed, split, population)
    abilities = {
        "group": [split.names[k] for k in split.codes],
        "ability": (population.ability - population.coefficients[0]) / population.sd[0],
        "se": population.ability_se / population.sd[0],
    }
    return GroupScale(
        reference=split.names[0],
        populations=_populations(population, split, confidence),
        abilities=table(abilities, observed.respondents, "respondent"),
        likelihood_ratio=ratio,
        df=df,
        p=p,
        confidence=confidence,
        calibration=on_scale_of_reference(population),
        notes=(*picked, *_remarks(population, split, p)),
    )


def _populations(
    population: ExplainedPopulation, split: RespondentGroups, confidence: float
) -> pd.DataFrame:
    """Return one row per group in units of the reference, by the delta method."""
    from scipy.special import ndtr, ndtri

    n = len(split.names)

    def on_reference(numbers: Floats) -> Floats:
        """Return means, then standard deviations."""
        means, sds = np.concatenate([[0.0], numbers[1:n]]), np.exp(numbers[n:])
        return np.concatenate([means / sds[0], sds / sds[0]])

    numbers = np.concatenate([population.coefficients, population.log_sd])
    slopes = delta_jacobian(on_reference, numbers)
    values = on_reference(numbers)
    errors = np.sqrt(np.maximum(np.diag(slopes @ population.covariance @ slopes.T), 0.0))
    mean, mean_se = values[:n], errors[:n]
    half = float(ndtri((1 + confidence) / 2)) * mean_se
    columns = {
        "n_respondents": split.sizes,
        "mean": mean,
        "mean_se": mean_se,
        "low": mean - half,
        "high": mean + half,
        "sd": values[n:],
        "sd_se": errors[n:],
        "p": 2 * ndtr(-np.abs(mean) / np.where(mean_se > 0, mean_se, np.nan)),
    }
    return table(columns, split.names, "group")


def _invariance(
    responses: Responses, split: RespondentGroups, population: ExplainedPopulation
) -> tuple[float, float, float]:
    """Compare items that are free in each group with equal ones by a likelihood ratio."""
    from scipy.special import chdtrc

    unknown = (float("nan"),) * 3
    if not population.joint or split.sizes.min() < ENOUGH:
        return unknown
    free, count = 0.0, 0
    for k in range(len(split.names)):
        part = responses.select(np.flatnonzero(split.codes == k))
        try:
            own = calibrate(part, population.calibration.model, priors=None, progress=False)
        except InputError:  # the model does not suit this part of the table
            return unknown
        free, count = free + own.log_likelihood, count + own.n_parameters
    equal = population.calibration.n_parameters + 2 * (len(split.names) - 1)
    ratio, df = 2 * (free - population.log_likelihood), count - equal
    if df <= 0:
        return unknown
    return float(ratio), float(df), float(chdtrc(df, max(ratio, 0.0)))


def _remarks(population: ExplainedPopulation, split: RespondentGroups, p: float) -> list[str]:
    notes = []
    if not population.converged:
        notes.append("The populations did not converge: means may be inaccurate.")
    if not population.joint:
        notes.append(
            "Items stay where a calibration of all respondents puts them: respondents are too few, "
            "or items too many, to find both together."
        )
    if np.isnan(p):
        small = split.names[int(split.sizes.argmin())]
        notes.append(
            f"Whether items behave alike in all groups is not tested: {small} has "
            f"{counted(int(split.sizes.min()), 'respondent')}, and the test takes {ENOUGH} in "
            "every group. differential looks at single items."
        )
    return notes
