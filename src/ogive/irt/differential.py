"""DIF study, tables, effect sizes, Mantel-Haenszel.

How large a difference between two curves is, in several measures with standard errors.

The differences are in the expected response: its mean, and the mean of its size, over the abilities
that both groups have (Dorans and Kulick, 1986; Meade, 2010). The areas between the curves are in
units of ability (Raju, 1988), over the abilities of 99 % of the respondents: what lies beyond is
extrapolated. The difference of difficulty is the shift of the curve at the ability where both
groups are; for 2PL curves with one discrimination it is the signed area.

Mantel and Haenszel's common odds ratio over strata, and its test.

Differences between groups as frames: by item, along the scale, and of the groups themselves.

Differential item functioning: which items behave differently in groups at the same ability.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive._progress import Progress, telling
from ogive._validation import checked_share, one_of
from ogive.data.responses import Responses, Table, as_responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate, model_for
from ogive.irt.calibration import Calibration
from ogive.irt.differential_functioning import GroupCurves, GroupDifferences, group_differences
from ogive.irt.group_scale import RespondentGroups, respondent_groups
from ogive.irt.models import AUTO
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.response_codes import as_floats
from ogive.results.base import Draw, Result
from ogive.results.numbers import counted, listed, shown, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import normal_reach
from ogive.stats.multiplicity import CORRECTIONS, Correction

if TYPE_CHECKING:
    import pandas as pd

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
STEP = 1e-4  # of a coefficient, for differences
FLATTEST = 0.05  # log-odds per unit; a flatter curve has no difficulty


def effect_sizes(curves: GroupCurves, group: int) -> dict[str, Floats]:
    """Each measure and its standard error (delta method), by item: a group against the first."""
    value = _measures(curves, group)
    slopes = []
    for p in range(curves.coefs.shape[1]):
        step = np.zeros(curves.coefs.shape[1])
        step[p] = STEP
        ends = [
            _measures(replace(curves, coefs=curves.coefs + sign * step), group) for sign in (1, -1)
        ]
        slopes.append((ends[0] - ends[1]) / (2 * STEP))
    jacobian = np.stack(slopes, axis=2)  # (n_measures, n_items, n_coefs)
    variance = np.einsum("mnp,npq,mnq->mn", jacobian, curves.covariances, jacobian)
    error = np.sqrt(np.maximum(variance, 0.0))
    found: dict[str, Floats] = {}
    for name, values, errors in zip(MEASURES, value, error, strict=True):
        found |= {name: values, f"{name}_se": errors}
    return found


def _measures(curves: GroupCurves, group: int) -> Floats:
    """Return all measures, (n_measures, n_items)."""
    matching = curves.matching
    shared = matching.shared(group)
    gap = curves.expected(group) - curves.expected(0)
    wide = _range(matching.weights.mean(axis=0)) * (matching.nodes[1] - matching.nodes[0])
    return np.stack(
        [
            gap @ shared,
            np.abs(gap) @ shared,
            _shift(curves, group, shared),
            -gap @ wide,
            np.abs(gap) @ wide,
        ]
    )


def _range(density: Floats) -> Floats:
    """Return 1 at the nodes between which all but the outermost respondents are."""
    below = density.cumsum()
    return ((below >= BEYOND) & (below <= 1 - BEYOND)).astype(float)


def _shift(curves: GroupCurves, group: int, shared: Floats) -> Floats:
    """Return how much more ability the group needs for the same log-odds, where both groups are."""
    first, other = curves.log_odds(0), curves.log_odds(group)
    rise = np.gradient((first + other) / 2, curves.matching.nodes, axis=1) @ shared
    steep = np.where(np.abs(rise) < FLATTEST, np.nan, rise)
    return np.asarray(-((other - first) @ shared) / steep)


DELTA = -2.35  # of log odds ratio into the delta scale of ETS (Holland and Thayer, 1985)


@dataclass(frozen=True)
class CommonOdds:
    """Odds of the first group over those of the second, in all strata together; NaN if unknown."""

    log_ratio: float
    log_ratio_se: float  # Robins, Breslow and Greenland (1986)
    statistic: float  # chi-square with one degree of freedom, with the continuity correction
    p: float

    @property
    def delta(self) -> float:
        """On the delta scale of ETS: below zero, harder for the second group."""
        return DELTA * self.log_ratio

    @property
    def delta_se(self) -> float:
        """Standard error of `delta`."""
        return abs(DELTA) * self.log_ratio_se


def common_odds(right: np.ndarray, second: np.ndarray, strata: np.ndarray) -> CommonOdds:
    """Compare who is right in two groups, within strata; `second` is True in the second group.

    >>> right = np.array([1, 0, 1, 0, 1, 1, 0, 0] * 5)
    >>> second = np.array([0, 0, 1, 1] * 10, dtype=bool)
    >>> round(common_odds(right, second, np.repeat([0, 1], 20)).log_ratio, 6)
    0.0
    """
    from scipy.special import chdtrc

    _, where = np.unique(strata, return_inverse=True)
    n_strata = int(where.max()) + 1 if where.size else 0

    def count(mask: np.ndarray) -> Floats:
        return np.bincount(where[mask], minlength=n_strata).astype(float)

    yes = right.astype(bool)
    a, b, c, d = (
        count(yes & ~second),
        count(~yes & ~second),
        count(yes & second),
        count(~yes & second),
    )
    n = a + b + c + d
    use = (a + b > 0) & (c + d > 0) & (a + c > 0) & (b + d > 0)
    a, b, c, d, n = (each[use] for each in (a, b, c, d, n))
    cross, other = a * d / n, b * c / n
    if not (use.any() and cross.sum() > 0 and other.sum() > 0):
        return CommonOdds(np.nan, np.nan, np.nan, np.nan)
    variance = ((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * np.maximum(n - 1, 1))).sum()
    apart = abs(a.sum() - ((a + b) * (a + c) / n).sum())
    statistic = float(max(apart - 0.5, 0.0) ** 2 / variance) if variance > 0 else np.nan
    return CommonOdds(
        float(np.log(cross.sum() / other.sum())),
        float(np.sqrt(_robins(a, b, c, d, n))),
        statistic,
        float(chdtrc(1, statistic)),
    )


def _robins(a: Floats, b: Floats, c: Floats, d: Floats, n: Floats) -> float:
    """Return variance of the log of the common odds ratio."""
    cross, other = a * d / n, b * c / n
    agree, differ = (a + d) / n, (b + c) / n
    total, rest = cross.sum(), other.sum()
    return float(
        (agree * cross).sum() / (2 * total**2)
        + (agree * other + differ * cross).sum() / (2 * total * rest)
        + (differ * other).sum() / (2 * rest**2)
    )


REACH = normal_reach(0.95)
NEGLIGIBLE, LARGE = 1.0, 1.5  # classes A, B and C of ETS, on its delta scale
NO_ODDS = (np.nan, np.nan, np.nan)


def difference_frame(
    found: GroupDifferences,
    values: Floats,
    names: Sequence[str],
    split: RespondentGroups,
    model: MeasurementModel,
) -> pd.DataFrame:
    """Return one row per item and group besides the reference, in the order of the items."""
    import pandas as pd

    parts = []
    for g, group in enumerate(split.names[1:], start=1):
        told, sizes = found.found[g - 1], effect_sizes(found.curves, g)
        sizes["difference"] = told.effects[:, 0]  # without what all items have in common
        error = sizes["difference_se"]
        both = np.isin(split.codes, (0, g))
        odds = _odds(values[both], split.codes[both] == g, found.anchors, model)
        seen = np.isfinite(values)
        columns = {
            "group": group,
            "difference": sizes.pop("difference"),
            "difference_se": sizes.pop("difference_se"),
            "p_adjusted": found.p_adjusted[g - 1],
            "differs": found.differs[g - 1],
            "difficulty_difference": sizes.pop("difficulty_difference"),
            "difficulty_difference_se": sizes.pop("difficulty_difference_se"),
            "low": told.effects[:, 0] - REACH * error,
            "high": told.effects[:, 0] + REACH * error,
            **sizes,
            "p": told.p,
            "statistic": told.statistic,
            "likelihood_ratio": found.curves.likelihood_ratio,
            **odds,
            "anchor": found.anchors,
            "share_reached": np.nanmean(values, axis=0) / np.fmax(np.nanmax(values, axis=0), 1.0),
            "n": seen[split.codes == g].sum(axis=0),
            "n_reference": seen[split.codes == 0].sum(axis=0),
        }
        parts.append(pd.DataFrame(columns, index=pd.Index(names, name="item")))
    together = pd.concat(parts)
    order = np.argsort(np.tile(np.arange(len(names)), len(parts)), kind="stable")
    return together.iloc[order]


def _odds(
    values: Floats, second: np.ndarray, anchors: np.ndarray, model: MeasurementModel
) -> dict[str, Any]:
    """Mantel-Haenszel on the delta scale, by score on the anchors and the item; two values only."""
    rows: list[tuple[float, float, float]] = []
    for j in range(values.shape[1]):
        counted_in = anchors.copy()
        counted_in[j] = True
        whole = np.isfinite(values[:, counted_in]).all(axis=1)
        if model.kind != "binary" or not whole.any():
            rows.append(NO_ODDS)
            continue
        score = values[np.ix_(whole, counted_in)].sum(axis=1)
        odds = common_odds(values[whole, j], second[whole], score)
        rows.append((odds.delta, odds.delta_se, odds.p))
    delta, error, p = np.array(rows).T
    return {"mh_delta": delta, "mh_delta_se": error, "mh_p": p, "ets": _classes(delta, error, p)}


def _classes(delta: Floats, error: Floats, p: Floats) -> np.ndarray:
    """Return a: negligible, B: moderate, C: large, as ETS classifies items; "" where unknown."""
    size = np.abs(delta)
    small = (size < NEGLIGIBLE) | (p >= 0.05)
    large = (size >= LARGE) & ((size - NEGLIGIBLE) / error > normal_reach(0.90))
    found = np.where(small, "A", np.where(large, "C", "B"))
    return np.where(np.isfinite(delta), found, "")


def group_curve_frame(
    found: GroupDifferences, names: Sequence[str], split: RespondentGroups
) -> pd.DataFrame:
    """Return curves of every item by group, where nearly all of that group are."""
    import pandas as pd
    from scipy.special import expit

    matching, parts = found.curves.matching, []
    for g, group in enumerate(split.names):
        below = matching.densities[g].cumsum()
        here = np.flatnonzero((below >= 0.01) & (below <= 0.99))
        here = here if here.size > 1 else np.argsort(-matching.densities[g])[:2]
        log_odds, error = found.curves.log_odds(g)[:, here], found.curves.log_odds_se(g)[:, here]
        ends = np.clip(log_odds + REACH * error * np.array([0, -1, 1])[:, None, None], -40, 40)
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


def population_frame(found: GroupDifferences, split: RespondentGroups) -> pd.DataFrame:
    """Return where each group stands on the scale, and how surely."""
    import pandas as pd

    matching = found.curves.matching
    mean, sd = matching.populations.T
    middle = matching.weights @ matching.nodes
    unsure = matching.weights @ matching.nodes**2 - middle**2  # variance of each posterior
    left = np.bincount(split.codes, unsure) / split.sizes
    # Respondents vary by sd, and what is measured of them by the error that such posteriors imply.
    noise = left * sd**2 / np.maximum(sd**2 - left, 0.05 * sd**2)
    mean_se = np.sqrt((sd**2 + noise) / split.sizes)
    columns = {"n": split.sizes, "mean": mean, "mean_se": mean_se, "sd": sd}
    return pd.DataFrame(columns, index=pd.Index(split.names, name="group"))


FIGURES = ("differential", "group_curves")
MANY = 0.25  # share of the items that may differ; beyond, anchors cannot be told from the rest
FEWEST_ITEMS = 3
FEW_ITEMS = 10
FEW_RESPONDENTS = 100  # of a group


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
        """How many items differ, by how much the clearest one, and how the groups compare."""
        n_items, found = self.items.index.nunique(), self.differing
        others = [name for name in self.populations.index if name != self.reference]
        whom = f"{' or '.join(others)}" if len(others) < 4 else "another group"
        if not found:
            return (
                f"At the same ability, none of the {counted(n_items, 'item')} differs between "
                f"{self.reference} and {whom} by more than chance and misfit explain. "
                f"{self._said_of_ability()}"
            )
        rows = self.items[self.items["differs"]]
        worst = rows.loc[[found[0]]].sort_values("p", kind="stable").iloc[0]
        return (
            f"At the same ability, {len(found)} of {counted(n_items, 'item')} "
            f"{'differs' if len(found) == 1 else 'differ'} between {self.reference} and {whom} "
            f"({self.promise}). The clearest is {found[0]}: {worst['group']} scores "
            f"{_points(worst)} there. {self._said_of_ability()}"
        )

    @property
    def promise(self) -> str:
        """What the correction for many tests bounds."""
        bound = "chance of any false one" if self.correction == "holm" else "false discovery rate"
        return f"{bound} {self.alpha:.0%}"

    def _said_of_ability(self) -> str:
        rows = self.populations
        base: Any = rows.loc[self.reference]
        told = []
        for name, row in rows.drop(index=self.reference).iterrows():
            ahead = (row["mean"] - base["mean"]) / base["sd"]
            unsure = REACH * float(np.hypot(row["mean_se"], base["mean_se"])) / base["sd"]
            told.append(
                f"the mean of {name} is {with_interval(abs(ahead), unsure)} standard deviations "
                f"{'above' if ahead >= 0 else 'below'} that of {self.reference}"
            )
        return f"By the other items, {'; '.join(told[:3])}."

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
    table = as_responses(responses)
    checked_share(alpha, "alpha", 0.05)
    one_of(correction, "correction", CORRECTIONS)
    split = respondent_groups(table, groups, reference)
    few, picked = model_for(model, table)
    notes: list[str] = []
    with telling(progress, "Comparing groups") as report:
        bank = calibrate(table, few, progress=False)
        if not isinstance(bank.model, Categorical):
            raise InputError(
                f"The responses are {table.kind}; differential needs right or wrong, or grades."
            )
        asked = _comparable(table, split, _backward(bank), notes)
        part = bank.of_items([table.items[k] for k in np.flatnonzero(asked)])
        values, names = as_floats(table.cells[:, asked]), part.item_names
        found = group_differences(
            values,
            split.codes,
            part,
            alpha=alpha,
            correction=correction,
            anchors=_trusted(anchors, names),
            told=lambda k, done: report(done, len(names), f"round {k + 1}"),
        )
    frame = difference_frame(found, values, names, split, bank.model)
    return Differential(
        reference=split.names[0],
        items=frame,
        curves=group_curve_frame(found, names, split),
        populations=population_frame(found, split),
        scatter=found.scatter,
        alpha=alpha,
        correction=correction,
        calibration=bank,
        notes=(*picked, *notes, *_remarks(found, split, bank, trusted=anchors is not None)),
    )


def _backward(bank: Calibration) -> np.ndarray:
    """Items that better respondents answer worse: they measure something else than ability."""
    items = bank.items
    above = items["discrimination"] + REACH * items["discrimination_se"].fillna(0.0)
    return np.asarray(above.to_numpy() < 0)


def _comparable(
    table: Responses, split: RespondentGroups, backward: np.ndarray, notes: list[str]
) -> np.ndarray:
    """Items that all groups were asked and on which respondents differ; notes on the others."""
    values = as_floats(table.cells)
    seen = np.isfinite(values)
    asked = np.stack([seen[split.codes == g].any(axis=0) for g in range(len(split.names))])
    with np.errstate(invalid="ignore"):
        differ = np.fmax.reduce(values, axis=0) > np.fmin.reduce(values, axis=0)
    for group, there in zip(split.names, asked, strict=True):
        if not there.all():
            names = [table.items[k] for k in np.flatnonzero(~there)]
            notes.append(f"{group} has no response to {listed(names, 'item')}: left out.")
    alike = [table.items[k] for k in np.flatnonzero(asked.all(axis=0) & ~differ)]
    if alike:
        notes.append(f"Everybody answered {listed(alike, 'item')} alike: left out.")
    use: np.ndarray = asked.all(axis=0) & differ
    if (use & backward).any():
        names = [table.items[k] for k in np.flatnonzero(use & backward)]
        notes.append(
            f"{listed(names, 'item')} left out: better respondents answer worse there, so that "
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
    unknown = [str(name) for name in wanted if name not in set(names)]
    if unknown or len(set(wanted)) < 2:
        raise InputError(
            f"anchors is {shown(wanted)}; give two or more of the items that are compared, which "
            f"are {listed(names, 'item')}."
        )
    return np.isin(np.array(names), np.array(wanted))


def _points(row: pd.Series[Any]) -> str:
    """Return a difference in points, with its interval."""
    size, error = 100 * abs(row["difference"]), 100 * REACH * row["difference_se"]
    ends = f"{size - error:.0f} to {min(size + error, 100):.0f}"
    return f"{size:.0f} ({ends}) points {'higher' if row['difference'] > 0 else 'lower'}"


def _remarks(
    found: GroupDifferences, split: RespondentGroups, bank: Calibration, *, trusted: bool
) -> Iterator[str]:
    """Yield notes on how far the differences can be trusted."""
    if not bank.converged:
        yield "The calibration did not converge: respondents may be matched inaccurately."
    if found.scatter > 0:
        yield (
            f"Between the groups, items scatter by ±{100 * found.scatter:.1f} points more than "
            "their errors explain: curves do not fit exactly, or many items differ a little. An "
            "item is called different if it stands out from that."
        )
    share = float(found.differs.any(axis=0).mean())
    if share > MANY and not trusted:
        yield (
            f"{share:.0%} of the items differ, so the data alone cannot tell which ones stayed "
            "the same. Name items that are known to behave alike in anchors."
        )
    n_anchors = int(found.anchors.sum())
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
