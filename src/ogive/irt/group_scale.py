"""Several groups on one scale.

Groups of respondents as a caller gives them, checked, and numbered from the reference.

Several groups on one scale: a mean and a deviation each, and whether items are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import checked_share
from ogive.data.names import UNKNOWN
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.equal_respondents import check_shared_ability
from ogive.irt.latent_regression import (
    ExplainedPopulation,
    Facts,
    explain_population,
    on_scale_of_reference,
)
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, said_p, shown, with_interval
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display

__all__ = ["GroupScale", "group_scale"]


LEAST = 5  # respondents of a group


@dataclass(frozen=True, eq=False)
class RespondentGroups:
    """The names of the groups, the reference first, and the number of each respondent's group."""

    names: tuple[str, ...]
    codes: np.ndarray  # (n_respondents,)

    @property
    def sizes(self) -> np.ndarray:
        """Respondents of each group."""
        return np.bincount(self.codes, minlength=len(self.names))


def respondent_groups(table: Responses, groups: object, reference: str | None) -> RespondentGroups:
    """Number the groups; the reference, by default the largest, is 0."""
    _refuse_strangers(table, groups)
    each = table.respondent_groups(groups)
    named = zip(table.respondents, each, strict=True)
    missing = [name for name, group in named if group == UNKNOWN]
    if missing:
        raise InputError(
            f"groups gives no group to {listed(missing, 'respondent')}. Give them one, or leave "
            "them out with responses.select."
        )
    counts = Counter(each)
    if len(counts) < 2:
        raise InputError(
            f"All {counted(len(each), 'respondent')} are in the group {shown(next(iter(counts)))}, "
            "but differences need two groups or more."
        )
    small = [f"{shown(name)} has {n}" for name, n in counts.items() if n < LEAST]
    if small:
        raise InputError(
            f"Every group needs {LEAST} respondents or more, but {', '.join(small[:3])}. Join "
            "groups, or leave small ones out with responses.select."
        )
    first = counts.most_common(1)[0][0] if reference is None else str(reference)
    if first not in counts:
        raise InputError(
            f"reference is {shown(reference)}, but the groups are: {', '.join(counts)}."
        )
    names = (first, *(name for name in counts if name != first))
    place = {name: k for k, name in enumerate(names)}
    return RespondentGroups(names, np.array([place[group] for group in each]))


def _refuse_strangers(table: Responses, groups: object) -> None:
    """Refuse what is no grouping, and a mapping with respondents who are not in the table."""
    if not (isinstance(groups, str | Iterable) or callable(groups)):
        raise InputError(
            f"groups is {shown(groups)}; give the name of a fact of the respondents, or one group "
            "per respondent, as a list or a mapping."
        )
    by_name = isinstance(groups, Mapping) or type(groups).__name__ == "Series"
    named = list(groups.keys()) if by_name else []  # type: ignore[union-attr]
    known = set(table.respondents)
    strangers = [str(name) for name in named if str(name) not in known]
    if strangers:
        raise InputError(
            f"groups names {listed(strangers, 'respondent')} not in the table, whose respondents "
            f"are {listed(table.respondents, 'respondent')}."
        )


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
        """Return one row per group."""
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
        from ogive.results.plots.rankings import RankingDisplay

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
    """Return the reference's mean, and how far every other group lies from it."""
    others = [split.codes == k for k in range(1, len(split.names))]
    columns = np.stack([np.ones(split.codes.size), *others], axis=1).astype(float)
    return Facts(columns, split.codes)


def _on_reference(numbers: Floats, n_groups: int) -> Floats:
    """Return means, then standard deviations, in units of the reference."""
    means = np.concatenate([[0.0], numbers[1:n_groups]])
    sds = np.exp(numbers[n_groups:])
    return np.concatenate([means / sds[0], sds / sds[0]])


def _populations(
    found: ExplainedPopulation, split: RespondentGroups, confidence: float
) -> pd.DataFrame:
    """Return one row per group, by the delta method."""
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
    """Return posterior mean and standard deviation of each respondent, given its group."""
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
    """Return likelihood ratio of items that are free in each group against equal ones."""
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
    """Return what a reader should know besides the table."""
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
