"""How reliably abilities are measured: overall, and along the scale.

The empirical reliability is the share of true variance in the estimates of the respondents at
hand. With EAP or MAP, which shrink towards the mean, it is V / (V + E), where V is the variance
of the estimates and E the mean of their squared standard errors; with ML or WLE, whose variance
includes the error, it is 1 - E / V (Thissen and Wainer, 2001). That takes the items as known. Their
errors add noise to the estimates that no shrinkage knows of: if its variance is I, the squared
correlation of EAP or MAP with the truth is (V - I)² / (V (V - I + E)), and that of ML or WLE
1 - (E + I) / V. What moves all abilities along a line, as origin and unit of the scale do, costs no
reliability and is left out of I. The reliability at an ability is
I / (I + 1 / σ²), with the test information I there and the variance σ² of the population
(Nicewander, 2018); its mean over the population is the marginal reliability, in the spirit of
Green, Bock, Humphreys, Linn and Reckase (1984), but finite where items carry no information. Both
take the items as known.

How much abilities vary is itself estimated, and a handful of respondents say little about it: the
interval is that of a variance, whose degrees of freedom are about the respondents less one, fewer
where abilities have heavy tails. It is the variance that estimates have before EAP and MAP shrink
them, 1 / (1 - ρ) times that of their errors (Feldt, 1965, has the same of coefficient alpha). So
the interval has a width also where no variance was found beyond that of errors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ogive.checks.residuals import Diagnosis, checked_calibration, own_or_given, population_nodes
from ogive.data.responses import Table
from ogive.errors import InputError
from ogive.irt.abilities import METHODS
from ogive.irt.calibration import Calibration
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    import pandas as pd

    from ogive.irt.ability_covariance import AbilityCovariance
    from ogive.results.plots.figure import Display


SHRUNKEN = ("eap", "map")
TINY = 1e-300
LEAST_VARIANCE = 1e-100  # as a multiple of what was found
NORMAL_TAILS = 24.0  # respondents: as sure is it that tails are those of a normal distribution
FEW = 30  # respondents, below which intervals are too narrow if items have slopes of their own
KNOWN_CURVE = (
    "Information, standard error and reliability along the scale take the items as known. Standard "
    "errors of abilities are larger: they also count the errors of the items and of the scale's "
    "origin and unit."
)
LEAST_INFORMATION = 1e-12  # as for the standard errors of test information
NEXT_TO_NONE = 0.01  # marginal reliability, below which no stretch of the scale is measured
NEARLY_ALL = 0.95  # of squared errors; if less of them blurs the order, it is said
LEAST_RATIO = 1e-9  # of the variance of abilities over that of errors, so that it can be scaled


@dataclass(frozen=True, eq=False, repr=False)
class Reliability(Diagnosis):
    """How reliably abilities are measured.

    `empirical` is the reliability for these respondents, with its 95 % interval `empirical_low` to
    `empirical_high`; it is NaN without responses or with fewer than two respondents, and below 0
    where ML or WLE estimates vary less than their errors. `marginal` is the expected reliability
    for the population if all items are asked. Between `best_low` and `best_high`, the test has at
    least half the information that it has at its best point; an end beyond the scale that was
    looked at is infinite. `blurring` is the share of the mean squared standard error of abilities
    that blurs their order; the rest is that of the scale's origin and unit, which moves all alike.
    """

    empirical: float
    empirical_low: float
    empirical_high: float
    marginal: float
    best_low: float
    best_high: float
    n_respondents: float  # by their weights
    method: str
    abilities: Floats  # (n_abilities,)
    information: Floats  # (n_abilities,)
    reliability: Floats  # (n_abilities,)
    items_known: bool = False  # whether `empirical` leaves the errors of the items out
    blurring: float = float("nan")  # share of the squared errors of abilities that blurs the order
    notes: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Return one row per ability: information, standard error and reliability there."""
        import pandas as pd

        columns = {
            "ability": self.abilities,
            "information": self.information,
            "se": 1 / np.sqrt(np.maximum(self.information, LEAST_INFORMATION)),
            "reliability": self.reliability,
        }
        return pd.DataFrame(columns)

    def plot(self, **kw: Any) -> Display:
        """Return reliability along the scale."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["reliability"](self.to_frame()).plot(**kw)

    @property
    def meaning(self) -> str:
        """How reliable abilities are, and where they are most reliable."""
        if np.isnan(self.empirical):
            if not self.information.max() > LEAST_INFORMATION:
                return "The items carry no information on ability: they measure with reliability 0."
            return (
                f"Reliability {self.marginal:.2f} is expected for a population like that of the "
                f"calibration, with the items taken as known; {self._where()}."
            )
        known = "with the items taken as known" if self.items_known else "errors of items included"
        return (
            f"Abilities are measured with reliability {self.empirical:.2f} "
            f"({self.empirical_low:.2f} to {self.empirical_high:.2f}), {known}; {self._where()}."
            f"{self._shared()}"
        )

    def _shared(self) -> str:
        """Return why the standard errors beside abilities seem to say less than the reliability."""
        told = not self.items_known and self.marginal >= NEXT_TO_NONE
        if not (told and self.blurring < NEARLY_ALL):
            return ""
        return (
            " The standard errors beside abilities also count the scale's origin and unit, which "
            f"all share: of these errors, squared, {self.blurring:.0%} blur the order."
        )

    def _where(self) -> str:
        """Return where the items carry at least half of their largest information."""
        if self.marginal < NEXT_TO_NONE:
            return "as calibrated, the items measure next to nothing anywhere on the scale"
        low, high = np.isfinite(self.best_low), np.isfinite(self.best_high)
        if low and high:
            where = f"between {self.best_low:.1f} and {self.best_high:.1f}"
        elif high:
            where = f"up to {self.best_high:.1f}"
        else:
            where = f"from {self.best_low:.1f} on" if low else "all along the scale"
        return f"the items inform most about abilities {where}"


def reliability(
    calibration: Calibration,
    responses: Table | None = None,
    method: str = "eap",
    *,
    items_known: bool = False,
) -> Reliability:
    """Measure how reliably a calibration places respondents.

    `empirical` holds for these respondents, `marginal` for the population. The frame has one row
    per point of the scale: ability, information, se, reliability (Thissen and Wainer, 2001).

    Parameters
    ----------
    calibration
        A calibration with any model. Without responses (loaded from a file), there is no
        empirical reliability.
    responses
        Other respondents; None for those of the calibration. Respondents without any response
        are left out, and those without a finite estimate by `method`.
    method
        "eap", "map", "ml" or "wle".
    items_known
        True leaves the errors of the items out, as is usual for large banks; few respondents then
        seem to be measured better than they are.

    Notes
    -----
    The interval allows for the variance of abilities, which few respondents determine poorly.
    Where it was simulated with the model that "auto" picks, 93 to 98 % of the intervals contain
    the truth, with 9, 14 and 50 respondents. With 9 to 14 respondents and a model whose items have
    discriminations of their own, intervals are too narrow; a note says so.

    Standard errors of abilities also count the error of the scale's origin and unit, which moves
    all abilities alike and costs no reliability: 1 - se² is not the reliability.

    Examples
    --------
    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> round(og.reliability(found).empirical, 2)
    0.64
    """
    checked_calibration(calibration, "reliability")
    if not isinstance(method, str) or method.lower() not in METHODS:
        raise InputError(f"method is {method!r}; choose one of {', '.join(METHODS)}.")
    method = method.lower()
    found = _empirical(calibration, responses, method, items_known)
    marginal, variance = _marginal(calibration)
    curve = calibration.test_information()
    best_low, best_high = _best(curve.abilities, curve.information)
    return Reliability(
        empirical=found.value,
        empirical_low=found.low,
        empirical_high=found.high,
        marginal=marginal,
        best_low=best_low,
        best_high=best_high,
        n_respondents=found.n_respondents,
        method=method,
        abilities=curve.abilities,
        information=curve.information,
        reliability=_conditional(curve.information, variance),
        items_known=items_known,
        blurring=found.blurring,
        notes=_notes(calibration, found.n_respondents),
    )


def _notes(calibration: Calibration, count: float) -> tuple[str, ...]:
    """Return which errors are meant where, and where the interval says too much."""
    few = 0 < count < FEW and calibration.model.own_slopes
    unsure = (
        f"With fewer than {FEW} respondents, discriminations of single items rest on their prior, "
        "and the interval of the reliability is too narrow."
    )
    return (KNOWN_CURVE, unsure) if few else (KNOWN_CURVE,)


def _conditional(information: Floats, variance: float) -> Floats:
    return information / (information + 1 / variance)


def _marginal(calibration: Calibration) -> tuple[float, float]:
    """Return marginal reliability, and the variance of the population."""
    nodes, weights = population_nodes(calibration.model, calibration.coords, calibration.population)
    variance = float(weights @ (nodes.fine - weights @ nodes.fine) ** 2)
    information = calibration.model.information(calibration.coords, nodes.fine).sum(axis=0)
    return float(weights @ _conditional(information, variance)), variance


class _Empirical(NamedTuple):
    """Empirical reliability, its interval, respondents, and the share of errors that blurs."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    n_respondents: float = 0.0
    blurring: float = float("nan")


def _empirical(
    calibration: Calibration,
    responses: Table | None,
    method: str,
    items_known: bool,  # noqa: FBT001
) -> _Empirical:
    """Return empirical reliability of these respondents; NaN where there are none."""
    if responses is None and calibration.responses is None:
        return _Empirical()
    table, weights = own_or_given(calibration, responses, "reliability")
    scored = calibration.score(table, method, items_known=True)
    counts = table.observed.any(axis=1) & ~scored["at_bound"].to_numpy() & (weights > 0)
    ability, se = scored["ability"].to_numpy()[counts], scored["se"].to_numpy()[counts]
    weights = weights[counts]
    total = float(weights.sum())
    if not total:
        return _Empirical()
    ratio, freedom = _noise(ability, se, weights)
    lost, blurring = 0.0, float("nan")
    if not items_known:
        covariance = calibration.ability_covariance(table, method).of(np.flatnonzero(counts))
        lost = _lost_to_items(covariance, se, weights)
        blurring = _blurring(covariance, ratio, lost, weights)
    shrunken = method in SHRUNKEN
    value = float(_share(ratio, lost, np.ones(1), shrunken=shrunken)[0])
    variances = _variances(freedom)
    if shrunken:
        variances = _before_shrinking(ratio, variances)
    low, high = _share(ratio, lost, variances, shrunken=shrunken)
    return _Empirical(value, float(low), float(high), total, blurring)


def _share(ratio: float, lost: float, variance: Floats, *, shrunken: bool) -> Floats:
    """Return reliability if the variance of abilities is `variance` times what was found."""
    variance = np.maximum(variance, LEAST_VARIANCE)
    left: Floats = 1 - lost / variance
    if not shrunken:
        return left - ratio / variance
    found: Floats = np.maximum(left, 0.0) ** 2 / np.maximum(left + ratio / variance, TINY)
    return found


def _before_shrinking(ratio: float, variances: Floats) -> Floats:
    """What the variance of shrunken abilities may be, given that of estimates that hold errors.

    With the variance V of EAP abilities and E of their errors, that is (V + E) / E times the errors
    that these estimates have; what exceeds them is of abilities.
    """
    beyond = max(1 / ratio, LEAST_RATIO)
    found: Floats = np.maximum((1 + beyond) * variances - 1, 0.0) / beyond
    return found


def _variances(freedom: float) -> Floats:
    """Return what the true variance may be as a multiple of that found, the least and the most."""
    from scipy.special import chdtri

    least = np.maximum(freedom, 1.0)  # NaN stays
    found: Floats = least / chdtri(least, np.array([0.025, 0.975]))
    return found


def _lost_to_items(found: AbilityCovariance, se: Floats, weights: Floats) -> float:
    """Variance of abilities around a line that errors of items make, as a share of all variance."""
    share = weights / weights.sum()
    apart = found.ability - share @ found.ability
    spread = float(share @ apart**2)
    if found.ability.size < 3 or spread <= 0:
        return 0.0
    root = np.sqrt(share)[:, None]
    basis, _ = np.linalg.qr(root * np.stack([np.ones_like(apart), apart], axis=1))
    together = root * found.shared
    together = together - basis @ (basis.T @ together)
    alone = share @ (found.own - se**2)  # what each has by itself, beside known items
    return max(float(((together**2).sum() + alone) / spread), 0.0)


def _blurring(found: AbilityCovariance, ratio: float, lost: float, weights: Floats) -> float:
    """Return share of the mean squared standard error that is no error of the scale as a whole."""
    share = weights / weights.sum()
    spread = float(share @ (found.ability - share @ found.ability) ** 2)
    whole = float(share @ (found.own + (found.shared**2).sum(axis=1)))
    if not whole > 0:
        return float("nan")
    return min((ratio + lost) * spread / whole, 1.0)


def _noise(ability: Floats, se: Floats, weights: Floats) -> tuple[float, float]:
    """Return e / V, and how many degrees of freedom it has.

    They follow from the influence of each respondent on log(V / E). A handful of respondents do not
    show how heavy the tails are: those of a normal distribution count as `NORMAL_TAILS` more.
    """
    total = weights.sum()
    squares = (ability - weights @ ability / total) ** 2
    spread, error = weights @ squares / total, weights @ se**2 / total
    if ability.size < 2 or spread <= 0 or error <= 0:
        return float(np.nan), float(np.nan)
    influence = squares / spread - se**2 / error
    tails = (weights @ influence**2 + 2 * NORMAL_TAILS) / (total + NORMAL_TAILS)
    return float(error / spread), float(2 * (total - 1) / tails)


def _best(abilities: Floats, information: Floats) -> tuple[float, float]:
    """Return the stretch around the best point where information is at least half of it.

    An end of the scale that was looked at is no end of the stretch.
    """
    top = int(np.argmax(information))
    low = high = top
    enough = information >= 0.5 * information[top]
    while low > 0 and enough[low - 1]:
        low -= 1
    while high < len(abilities) - 1 and enough[high + 1]:
        high += 1
    ends = float(abilities[low]), float(abilities[high])
    return ends[0] if low > 0 else -np.inf, ends[1] if high < len(abilities) - 1 else np.inf
