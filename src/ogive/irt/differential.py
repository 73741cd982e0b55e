"""Differential item functioning: which items behave differently in groups at the same ability.

The differences are in the expected response: its mean, and the mean of its size, over the abilities
that both groups have (Dorans and Kulick, 1986; Meade, 2010). The areas between the curves are in
units of ability (Raju, 1988), over the abilities of 99 % of the respondents. The difference of
difficulty is the shift of the curve at the abilities that both groups have.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import CONFIDENCE, checked_share, one_of
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.differential_functioning import GroupCurves, GroupDifferences, group_differences
from ogive.irt.group_scale import RespondentGroups, respondent_groups
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.response_codes import as_floats
from ogive.irt.response_matrix import as_responses
from ogive.results.base import Draw, Result, table
from ogive.results.numbers import counted, listed, shown, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Responses, Table
    from ogive.results.plots.figure import Display

__all__ = ["Differential", "differential"]

MEASURES = (
    "difference",
    "unsigned_difference",
    "difficulty_difference",
    "signed_area",
    "unsigned_area",
)
BEYOND = 0.005  # share of the respondents at either end that the areas leave out
STEP = 1e-4  # step of a coefficient in numerical derivatives
FLATTEST = 0.05  # least slope of log-odds per unit of ability; a flatter curve has no difficulty
DELTA = -2.35  # factor from log odds ratio to the delta scale of ETS (Holland and Thayer, 1985)
NEGLIGIBLE, LARGE = 1.0, 1.5  # limits of classes A, B and C of ETS, on its delta scale
QUANTILE = normal_reach(CONFIDENCE)  # half-width of intervals, in standard errors
FIGURES = ("differential", "group_curves")
MANY = 0.25  # share of differing items above which anchors cannot be told from the rest
FEWEST_ITEMS = 3  # smallest number of items that can be compared
FEW_ITEMS = 10  # number of anchors below which a note warns
FEW_RESPONDENTS = 100  # size of a group below which a note warns


def effect_sizes(curves: GroupCurves, group: int) -> dict[str, Floats]:
    """Return each measure of a group against the first by item, with its delta-method error."""
    slopes = []
    for step in STEP * np.eye(curves.coefs.shape[1]):
        up, down = (
            _measures(replace(curves, coefs=curves.coefs + sign * step), group) for sign in (1, -1)
        )
        slopes.append((up - down) / (2 * STEP))
    jacobian = np.stack(slopes, axis=2)  # (n_measures, n_items, n_coefs)
    variance = np.einsum("mnp,npq,mnq->mn", jacobian, curves.covariances, jacobian)
    errors = np.sqrt(np.maximum(variance, 0.0))
    sizes: dict[str, Floats] = {}
    for name, value, error in zip(MEASURES, _measures(curves, group), errors, strict=True):
        sizes |= {name: value, f"{name}_se": error}
    return sizes


def _measures(curves: GroupCurves, group: int) -> Floats:
    """Return all measures, (n_measures, n_items)."""
    matching = curves.matching
    shared = matching.shared(group)
    gap = curves.expected(group) - curves.expected(0)
    below = matching.weights.mean(axis=0).cumsum()
    inside = ((below >= BEYOND) & (below <= 1 - BEYOND)).astype(float)
    widths = inside * (matching.nodes[1] - matching.nodes[0])
    first, other = curves.log_odds(0), curves.log_odds(group)
    rise = np.gradient((first + other) / 2, matching.nodes, axis=1) @ shared
    steep = np.where(np.abs(rise) < FLATTEST, np.nan, rise)
    shift = -((other - first) @ shared) / steep
    return np.stack(
        [gap @ shared, np.abs(gap) @ shared, shift, -gap @ widths, np.abs(gap) @ widths]
    )


@dataclass(frozen=True)
class CommonOdds:
    """Odds of the first group over those of the second, in all strata together; NaN if unknown."""

    log_ratio: float
    log_ratio_se: float  # Robins, Breslow and Greenland (1986)
    statistic: float  # chi-square with one degree of freedom, with the continuity correction
    p: float

    @property
    def delta(self) -> float:
        """Ratio on the delta scale of ETS; below zero, the item is harder for the second group."""
        return DELTA * self.log_ratio

    @property
    def delta_se(self) -> float:
        """Standard error of `delta`."""
        return abs(DELTA) * self.log_ratio_se


def common_odds(right: np.ndarray, second: np.ndarray, strata: np.ndarray) -> CommonOdds:
    """Compare who is right in two groups within strata, by Mantel and Haenszel's odds ratio.

    `second` is True in the second group.

    >>> right = np.array([1, 0, 1, 0, 1, 1, 0, 0] * 5)
    >>> second = np.array([0, 0, 1, 1] * 10, dtype=bool)
    >>> round(common_odds(right, second, np.repeat([0, 1], 20)).log_ratio, 6)
    0.0
    """
    from scipy.special import chdtrc

    _, stratum = np.unique(strata, return_inverse=True)
    n_strata = int(stratum.max()) + 1 if stratum.size else 0
    yes = right.astype(bool)
    a, b, c, d = (
        np.bincount(stratum[mask], minlength=n_strata).astype(float)
        for mask in (yes & ~second, ~yes & ~second, yes & second, ~yes & second)
    )
    n = a + b + c + d
    use = (a + b > 0) & (c + d > 0) & (a + c > 0) & (b + d > 0)
    a, b, c, d, n = (counts[use] for counts in (a, b, c, d, n))
    cross, other = a * d / n, b * c / n
    total, rest = cross.sum(), other.sum()
    if not (use.any() and total > 0 and rest > 0):
        return CommonOdds(np.nan, np.nan, np.nan, np.nan)
    variance = ((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1))).sum()
    distance = abs(a.sum() - ((a + b) * (a + c) / n).sum())
    statistic = float(max(distance - 0.5, 0.0) ** 2 / variance) if variance > 0 else np.nan
    agree, differ = (a + d) / n, (b + c) / n
    log_variance = float(
        (agree * cross).sum() / (2 * total**2)
        + (agree * other + differ * cross).sum() / (2 * total * rest)
        + (differ * other).sum() / (2 * rest**2)
    )
    log_ratio = float(np.log(total / rest))
    return CommonOdds(
        log_ratio, float(np.sqrt(log_variance)), statistic, float(chdtrc(1, statistic))
    )


def _difference_frame(
    differences: GroupDifferences,
    values: Floats,
    names: Sequence[str],
    split: RespondentGroups,
    model: MeasurementModel,
) -> pd.DataFrame:
    """Return one row per item and group besides the reference, in the order of the items."""
    import pandas as pd

    parts = []
    for g, group in enumerate(split.names[1:], start=1):
        tests, sizes = differences.found[g - 1], effect_sizes(differences.curves, g)
        difference = tests.effects[:, 0]  # without what all items have in common
        error = sizes.pop("difference_se")
        del sizes["difference"]
        both, seen = np.isin(split.codes, (0, g)), np.isfinite(values)
        columns = {
            "group": group,
            "difference": difference,
            "difference_se": error,
            "p_adjusted": differences.p_adjusted[g - 1],
            "differs": differences.differs[g - 1],
            "difficulty_difference": sizes.pop("difficulty_difference"),
            "difficulty_difference_se": sizes.pop("difficulty_difference_se"),
            "low": difference - QUANTILE * error,
            "high": difference + QUANTILE * error,
            **sizes,
            "p": tests.p,
            "statistic": tests.statistic,
            "likelihood_ratio": differences.curves.likelihood_ratio,
            **_odds(values[both], split.codes[both] == g, differences.anchors, model),
            "anchor": differences.anchors,
            "share_reached": np.nanmean(values, axis=0) / np.fmax(np.nanmax(values, axis=0), 1.0),
            "n": seen[split.codes == g].sum(axis=0),
            "n_reference": seen[split.codes == 0].sum(axis=0),
        }
        parts.append(table(columns, names, "item"))
    order = np.argsort(np.tile(np.arange(len(names)), len(parts)), kind="stable")
    return pd.concat(parts).iloc[order]


def _odds(
    values: Floats, second: np.ndarray, anchors: np.ndarray, model: MeasurementModel
) -> dict[str, Any]:
    """Return Mantel-Haenszel on the delta scale by score on anchors and item, if binary."""
    rows: list[tuple[float, float, float]] = []
    for j in range(values.shape[1]):
        matched_by = anchors.copy()
        matched_by[j] = True
        whole = np.isfinite(values[:, matched_by]).all(axis=1)
        if model.kind != "binary" or not whole.any():
            rows.append((np.nan, np.nan, np.nan))
            continue
        score = values[np.ix_(whole, matched_by)].sum(axis=1)
        odds = common_odds(values[whole, j], second[whole], score)
        rows.append((odds.delta, odds.delta_se, odds.p))
    delta, error, p = np.array(rows).T
    size = np.abs(delta)
    negligible = (size < NEGLIGIBLE) | (p >= 0.05)
    large = (size >= LARGE) & ((size - NEGLIGIBLE) / error > normal_reach(0.90))
    classes = np.where(negligible, "A", np.where(large, "C", "B"))
    ets = np.where(np.isfinite(delta), classes, "")
    return {"mh_delta": delta, "mh_delta_se": error, "mh_p": p, "ets": ets}


def _curve_frame(
    differences: GroupDifferences, names: Sequence[str], split: RespondentGroups
) -> pd.DataFrame:
    """Return curves of every item by group, where nearly all respondents of that group are."""
    import pandas as pd
    from scipy.special import expit

    matching, parts = differences.curves.matching, []
    for g, group in enumerate(split.names):
        below = matching.densities[g].cumsum()
        here = np.flatnonzero((below >= 0.01) & (below <= 0.99))
        here = here if here.size > 1 else np.argsort(-matching.densities[g])[:2]
        log_odds, error = (
            differences.curves.log_odds(g)[:, here],
            differences.curves.log_odds_se(g)[:, here],
        )
        ends = np.clip(log_odds + QUANTILE * error * np.array([0, -1, 1])[:, None, None], -40, 40)
        share, low, high = expit(ends)
        columns = {
            "item": np.repeat(np.array(names, dtype=object), here.size),
            "group": group,
            "ability": np.tile(matching.nodes[here], len(names)),
            "expected": share.ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _population_frame(differences: GroupDifferences, split: RespondentGroups) -> pd.DataFrame:
    """Return mean and standard deviation of each group."""
    matching = differences.curves.matching
    mean, sd = matching.populations.T
    middle = matching.weights @ matching.nodes
    variance = matching.weights @ matching.nodes**2 - middle**2  # of each posterior
    left = np.bincount(split.codes, variance) / split.sizes
    # Respondents vary by sd, and their measurements by the error that such posteriors imply.
    noise = left * sd**2 / np.maximum(sd**2 - left, 0.05 * sd**2)
    mean_se = np.sqrt((sd**2 + noise) / split.sizes)
    columns = {"n": split.sizes, "mean": mean, "mean_se": mean_se, "sd": sd}
    return table(columns, split.names, "group")


@dataclass(frozen=True, eq=False, repr=False)
class Differential(Result):
    """Items that behave differently in groups of respondents at the same ability.

    `items` has one row per item and group, which is compared with the reference group;
    `curves` the curves of every item by group, `populations` where each group stands on the scale
    of the `calibration`, which is that of all respondents together.
    """

    reference: str
    items: pd.DataFrame
    curves: pd.DataFrame  # by item, group, ability: expected, low, high
    populations: pd.DataFrame  # by group: n, mean, mean_se, sd
    scatter: float  # of the differences of the items beyond their errors, as a standard deviation
    alpha: float
    correction: str
    calibration: Calibration
    notes: tuple[str, ...] = ()

    @property
    def differing(self) -> tuple[str, ...]:
        """Items that differ in at least one group, those with the smallest p-value first."""
        rows = self.items[self.items["differs"]].sort_values("p", kind="stable")
        return tuple(dict.fromkeys(rows.index))

    @property
    def meaning(self) -> str:
        """The number of differing items, the clearest one, and how the groups compare."""
        n_items, differing = self.items.index.nunique(), self.differing
        others = [name for name in self.populations.index if name != self.reference]
        whom = f"{' or '.join(others)}" if len(others) < 4 else "another group"
        if not differing:
            return (
                f"At the same ability, none of the {counted(n_items, 'item')} differs between "
                f"{self.reference} and {whom} by more than chance and misfit explain. "
                f"{self._ability_sentence()}"
            )
        rows = self.items[self.items["differs"]]
        worst = rows.loc[[differing[0]]].sort_values("p", kind="stable").iloc[0]
        size, error = 100 * abs(worst["difference"]), 100 * QUANTILE * worst["difference_se"]
        points = f"{size:.0f} ({size - error:.0f} to {min(size + error, 100):.0f}) points"
        side = "higher" if worst["difference"] > 0 else "lower"
        return (
            f"At the same ability, {len(differing)} of {counted(n_items, 'item')} "
            f"{'differs' if len(differing) == 1 else 'differ'} between {self.reference} and {whom} "
            f"({self.promise}). The clearest is {differing[0]}: {worst['group']} scores "
            f"{points} {side} there. {self._ability_sentence()}"
        )

    @property
    def promise(self) -> str:
        """The error rate that the correction for many tests bounds."""
        bound = "chance of any false one" if self.correction == "holm" else "false discovery rate"
        return f"{bound} {self.alpha:.0%}"

    def _ability_sentence(self) -> str:
        """Return the mean ability of each group relative to the reference."""
        rows = self.populations
        base: Any = rows.loc[self.reference]
        parts = []
        for name, row in rows.drop(index=self.reference).iterrows():
            shift = (row["mean"] - base["mean"]) / base["sd"]
            half = QUANTILE * float(np.hypot(row["mean_se"], base["mean_se"])) / base["sd"]
            parts.append(
                f"the mean of {name} is {with_interval(abs(shift), half)} standard deviations "
                f"{'above' if shift >= 0 else 'below'} that of {self.reference}"
            )
        return f"By the other items, {'; '.join(parts[:3])}."

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item and group compared with the reference."""
        return self.items.copy()

    def tables(self) -> dict[str, pd.DataFrame]:
        """Return the differences, the groups, and the curves of items that differ."""
        curves = self.curves[self.curves["item"].isin(self.differing)]
        return {
            self.name(): self.items,
            "populations": self.populations,
            **({"curves": curves} if len(curves) else {}),
        }

    def figures(self) -> dict[str, Draw]:
        """Return the plane of differences, and the curves of the items that differ."""
        return {kind: partial(self.plot, kind) for kind in FIGURES[: 2 if self.differing else 1]}

    def banks(self) -> dict[str, Calibration]:
        """Return the calibration of all respondents together."""
        return {"differential": self.calibration}

    def preview(self) -> pd.DataFrame:
        """Return the items with the smallest p-values."""
        names = ["group", "difference", "difference_se", "p_adjusted", "differs"]
        return self.items.sort_values("p", kind="stable")[names].head(12)

    def plot(self, kind: str = "differential", **kw: Any) -> Display:
        """Draw differences by difficulty, or ("group_curves") the curves of items that differ."""
        from ogive.results.plots import DISPLAYS

        if one_of(kind, "kind", FIGURES) == FIGURES[0]:
            return DISPLAYS[kind](self.items).plot(**kw)
        names = self.differing or tuple(self.items.sort_values("p", kind="stable").index[:1])
        rows = self.curves[self.curves["item"].isin(names)]
        order = rows["item"].map({name: k for k, name in enumerate(names)})
        return DISPLAYS[kind](rows.iloc[np.argsort(order, kind="stable")]).plot(**kw)


def differential(
    responses: Table,
    groups: object,
    *,
    reference: str | None = None,
    model: str | MeasurementModel = AUTO,
    anchors: Sequence[str] | None = None,
    correction: Correction = "bh",
    alpha: float = 0.05,
    progress: Progress | bool = True,
) -> Differential:
    """Find items that behave differently in groups of respondents at the same ability.

    The frame has one row per item and group, compared with the reference group: difference of the
    expected response, p_adjusted, differs, and other effect sizes. A positive difference is in
    favour of the group; a positive difference of difficulty or signed area is against it.

    Parameters
    ----------
    responses
        Respondents × items, right or wrong, or grades.
    groups
        The group of each respondent: a fact of the respondents, a mapping from respondent, or a
        list; two groups or more, of at least five respondents.
    reference
        The group with which the others are compared; the largest if omitted.
    model
        Model of the scale on which respondents are matched. The curves that are compared need not
        follow it.
    anchors
        Items that are known to behave alike. If omitted, all items are anchors at first, and those
        that differ are taken out until the same ones are found again.
    correction
        How p-values are adjusted for many tests: "bh" and "by" bound the share of false
        discoveries, "holm" the chance of a single one.
    alpha
        Adjusted p-values below it count as a difference.
    progress
        True shows a bar in a terminal or a notebook, False nothing; a callable is called with
        (done, total, message).

    Notes
    -----
    Groups may differ in ability: each has its own mean and standard deviation. An item is judged
    by its error and by how far all items scatter beyond theirs, because no curve fits exactly and
    groups of different ability meet different parts of it.

    Examples
    --------
    >>> import ogive as og
    >>> import numpy as np
    >>> items = og.simulate("2pl", 2, 20, random_state=0).truth.items
    >>> base = og.simulate("2pl", 400, items=items, random_state=1).responses
    >>> items.loc["item_3", "difficulty"] -= 1.5
    >>> tuned = og.simulate("2pl", 400, items=items, random_state=2).responses
    >>> table = np.vstack([base.values, tuned.values])
    >>> found = og.differential(table, ["base"] * 400 + ["tuned"] * 400)
    >>> found.differing
    ('item_3',)
    """
    observed = as_responses(responses)
    checked_share(alpha, "alpha", 0.05)
    one_of(correction, "correction", CORRECTIONS)
    split = respondent_groups(observed, groups, reference)
    chosen, notes = model_for(model, observed)
    with telling(progress, "Comparing groups") as report:
        bank = calibrate(observed, chosen, progress=False)
        if not isinstance(bank.model, Categorical):
            raise InputError(
                f"The responses are {observed.kind}; differential needs right or wrong, or grades."
            )
        comparable = _comparable_items(observed, split, bank, notes)
        part = bank.of_items([observed.items[k] for k in np.flatnonzero(comparable)])
        values, names = as_floats(observed.cells[:, comparable]), part.item_names
        differences = group_differences(
            values,
            split.codes,
            part,
            alpha=alpha,
            correction=correction,
            anchors=_trusted(anchors, names),
            progress=lambda k, done: report(done, len(names), f"round {k + 1}"),
        )
    return Differential(
        reference=split.names[0],
        items=_difference_frame(differences, values, names, split, bank.model),
        curves=_curve_frame(differences, names, split),
        populations=_population_frame(differences, split),
        scatter=differences.scatter,
        alpha=alpha,
        correction=correction,
        calibration=bank,
        notes=(*notes, *_remarks(differences, split, bank, trusted=anchors is not None)),
    )


def _comparable_items(
    observed: Responses, split: RespondentGroups, bank: Calibration, notes: list[str]
) -> np.ndarray:
    """Return items that all groups were asked and respondents differ on; add notes on the rest."""
    values = as_floats(observed.cells)
    seen = np.isfinite(values)
    asked = np.stack([seen[split.codes == g].any(axis=0) for g in range(len(split.names))])
    with np.errstate(invalid="ignore"):
        differ = np.fmax.reduce(values, axis=0) > np.fmin.reduce(values, axis=0)

    def named(mask: np.ndarray) -> str:
        return listed([observed.items[k] for k in np.flatnonzero(mask)], "item")

    for group, was_asked in zip(split.names, asked, strict=True):
        if not was_asked.all():
            notes.append(f"{group} has no response to {named(~was_asked)}: left out.")
    constant = asked.all(axis=0) & ~differ
    if constant.any():
        notes.append(f"Everybody answered {named(constant)} alike: left out.")
    use: np.ndarray = asked.all(axis=0) & differ
    items = bank.items
    above = items["discrimination"] + QUANTILE * items["discrimination_se"].fillna(0.0)
    backward = use & np.asarray(above.to_numpy() < 0)
    if backward.any():
        notes.append(
            f"{named(backward)} left out: better respondents answer worse there, so that "
            "any two groups of different ability would differ."
        )
        use = use & ~backward
    if use.sum() < FEWEST_ITEMS:
        raise InputError(
            f"{counted(int(use.sum()), 'item')} can be compared, but respondents are matched by "
            f"their other responses, which takes {FEWEST_ITEMS} items or more. {' '.join(notes)}"
        )
    return use


def _trusted(anchors: Sequence[str] | None, names: Sequence[str]) -> np.ndarray | None:
    if anchors is None:
        return None
    wanted = [anchors] if isinstance(anchors, str) else list(anchors)
    if not set(wanted) <= set(names) or len(set(wanted)) < 2:
        raise InputError(
            f"`anchors` must be two or more of {listed(names, 'compared item')}, got "
            f"{shown(wanted)}."
        )
    return np.isin(np.array(names), np.array(wanted))


def _remarks(
    differences: GroupDifferences, split: RespondentGroups, bank: Calibration, *, trusted: bool
) -> Iterator[str]:
    """Yield notes on how far the differences can be trusted."""
    if not bank.converged:
        yield "The calibration did not converge: respondents may be matched inaccurately."
    if differences.scatter > 0:
        yield (
            f"Between the groups, items scatter by ±{100 * differences.scatter:.1f} points more "
            "than their errors explain: curves do not fit exactly, or many items differ a little. "
            "An item is called different if it stands out from that."
        )
    share = float(differences.differs.any(axis=0).mean())
    if share > MANY and not trusted:
        yield (
            f"{share:.0%} of the items differ, so the data alone cannot tell which ones stayed "
            "the same. Name items that are known to behave alike in anchors."
        )
    n_anchors = int(differences.anchors.sum())
    if n_anchors < FEW_ITEMS:
        yield (
            f"Respondents are matched by {counted(n_anchors, 'anchor')} only: a single unusual one "
            "can make others seem to differ."
        )
    small = [name for name, n in zip(split.names, split.sizes, strict=True) if n < FEW_RESPONDENTS]
    if small:
        yield (
            f"{listed(small, 'group')} with fewer than {FEW_RESPONDENTS} respondents: only large "
            "differences can be found, and that none was found does not show that there is none."
        )
