"""Several groups on one scale: a mean and a deviation each, and whether items are alike."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share
from ogive.calibration import Calibration
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.estimation.chosen_models import model_for
from ogive.estimation.explained_population import (
    ExplainedPopulation,
    Facts,
    explain_population,
    on_scale_of_reference,
)
from ogive.models import AUTO, MeasurementModel
from ogive.numerics.arrays import Floats
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.results import Draw, Result
from ogive.studies.groups.respondent_groups import RespondentGroups, respondent_groups
from ogive.studies.groups.shared_ability import check_shared_ability
from ogive.words import counted, said_p, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["GroupScale", "group_scale"]

ENOUGH = 100  # respondents of every group, for the test of all items
NUDGE = 1e-5


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
        """How far groups lie apart, how surely, and whether items are alike."""
        rows = self.populations.drop(index=self.reference)
        told = []
        for name, row in rows.iterrows():
            reach = (row["high"] - row["low"]) / 2
            side = "above" if row["mean"] >= 0 else "below"
            mean = with_interval(abs(row["mean"]), reach)
            told.append(
                f"the mean of {name} is {mean} standard deviations "
                f"{side} that of {self.reference} ({said_p(row['p'])})"
            )
        more = f"; {len(told) - 3} more" if len(told) > 3 else ""
        text = f"{'; '.join(told[:3])}{more}."
        if np.isnan(self.p):
            return text[:1].upper() + text[1:]
        alike = (
            "items do not behave alike in all groups, so that part of this may be items: see "
            "differential"
            if self.p < 1 - self.confidence
            else "nothing shows that items behave differently in the groups"
        )
        ratio = f"likelihood ratio {self.likelihood_ratio:.1f} on {self.df:.0f}, {said_p(self.p)}"
        return f"{text[:1].upper()}{text[1:]} As a whole, {alike} ({ratio})."

    def to_frame(self) -> pd.DataFrame:
        """One row per group."""
        return self.populations.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the groups and the respondents."""
        return {self.name(): self.populations, "abilities": self.abilities}

    def figures(self) -> dict[str, Draw]:
        """Return the means of the groups."""
        return {"groups": partial(self.plot)}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration that all groups share."""
        return {"group_scale": self.calibration}

    def plot(self, **kw: Any) -> Display:
        """Plot the mean of each group with its interval."""
        from ogive.displays import RankingDisplay

        rows = self.populations.assign(se=self.populations["mean_se"])
        return RankingDisplay(rows, estimate="mean").plot(**kw)


def group_scale(
    responses: Table,
    groups: object,
    *,
    reference: str | None = None,
    model: str | MeasurementModel = AUTO,
    confidence: float = 0.95,
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
    table = as_responses(responses)
    checked_share(confidence, "confidence", 0.95)
    split = respondent_groups(table, groups, reference)
    chosen, picked = model_for(model, table)
    with telling(progress, "Groups on one scale"):
        bank = calibrate(table, chosen, progress=False)
        check_shared_ability(bank, table)
        found = explain_population(bank, _facts(split))
        ratio, df, p = _invariance(table, split, found)
    return GroupScale(
        reference=split.names[0],
        populations=_populations(found, split, confidence),
        abilities=_abilities(found, table, split),
        likelihood_ratio=ratio,
        df=df,
        p=p,
        confidence=confidence,
        calibration=on_scale_of_reference(found),
        notes=(*picked, *_remarks(found, split, p)),
    )


def _facts(split: RespondentGroups) -> Facts:
    """The reference's mean, and how far every other group lies from it."""
    others = [split.codes == k for k in range(1, len(split.names))]
    columns = np.stack([np.ones(split.codes.size), *others], axis=1).astype(float)
    return Facts(columns, split.codes)


def _on_reference(numbers: Floats, n_groups: int) -> Floats:
    """Means, then standard deviations, in units of the reference."""
    means = np.concatenate([[0.0], numbers[1:n_groups]])
    sds = np.exp(numbers[n_groups:])
    return np.concatenate([means / sds[0], sds / sds[0]])


def _populations(
    found: ExplainedPopulation, split: RespondentGroups, confidence: float
) -> pd.DataFrame:
    """One row per group, by the delta method."""
    import pandas as pd
    from scipy.special import ndtri

    n = len(split.names)
    numbers = np.concatenate([found.coefficients, found.log_sd])
    values = _on_reference(numbers, n)
    steps = NUDGE * np.eye(numbers.size)
    slopes = np.stack(
        [
            (_on_reference(numbers + s, n) - _on_reference(numbers - s, n)) / (2 * NUDGE)
            for s in steps
        ],
        axis=1,
    )
    errors = np.sqrt(np.maximum(np.diag(slopes @ found.covariance @ slopes.T), 0.0))
    reach = float(ndtri((1 + confidence) / 2)) * errors[:n]
    return pd.DataFrame(
        {
            "n_respondents": split.sizes,
            "mean": values[:n],
            "mean_se": errors[:n],
            "low": values[:n] - reach,
            "high": values[:n] + reach,
            "sd": values[n:],
            "sd_se": errors[n:],
            "p": _two_sided(values[:n], errors[:n]),
        },
        index=pd.Index(split.names, name="group"),
    )


def _two_sided(values: Floats, errors: Floats) -> Floats:
    from scipy.special import ndtr

    z = np.abs(values) / np.where(errors > 0, errors, np.nan)
    found: Floats = 2 * ndtr(-z)
    return found


def _abilities(
    found: ExplainedPopulation, table: Responses, split: RespondentGroups
) -> pd.DataFrame:
    """Posterior mean and standard deviation of each respondent, given its group."""
    import pandas as pd

    origin, unit = found.coefficients[0], found.sd[0]
    columns = {
        "group": [split.names[k] for k in split.codes],
        "ability": (found.ability - origin) / unit,
        "se": found.ability_se / unit,
    }
    return pd.DataFrame(columns, index=pd.Index(table.respondents, name="respondent"))


def _invariance(
    table: Responses, split: RespondentGroups, found: ExplainedPopulation
) -> tuple[float, float, float]:
    """Likelihood ratio of items that are free in each group against equal ones."""
    from scipy.special import chdtrc

    if not found.joint or split.sizes.min() < ENOUGH:
        return (float("nan"),) * 3
    free, count = 0.0, 0
    for k in range(len(split.names)):
        part = table.select(np.flatnonzero(split.codes == k))
        try:
            own = calibrate(part, found.calibration.model, priors=None, progress=False)
        except InputError:  # a model that a part of the table does not suit
            return (float("nan"),) * 3
        free, count = free + own.log_likelihood, count + own.n_parameters
    equal = found.calibration.n_parameters + 2 * (len(split.names) - 1)
    ratio, df = 2 * (free - found.log_likelihood), count - equal
    if df <= 0:
        return (float("nan"),) * 3
    return float(ratio), float(df), float(chdtrc(df, max(ratio, 0.0)))


def _remarks(found: ExplainedPopulation, split: RespondentGroups, p: float) -> list[str]:
    """What a reader should know besides the table."""
    said = []
    if not found.converged:
        said.append("The populations did not converge: means may be inaccurate.")
    if not found.joint:
        said.append(
            "Items stay where a calibration of all respondents puts them: respondents are too few, "
            "or items too many, to find both together."
        )
    if np.isnan(p):
        small = split.names[int(split.sizes.argmin())]
        said.append(
            f"Whether items behave alike in all groups is not tested: {small} has "
            f"{counted(int(split.sizes.min()), 'respondent')}, and the test takes {ENOUGH} in "
            "every group. differential looks at single items."
        )
    return said
