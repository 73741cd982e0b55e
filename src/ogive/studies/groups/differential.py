"""Differential item functioning: which items behave differently in groups at the same ability."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ogive.arguments import checked_share, one_of
from ogive.calibration import Calibration
from ogive.diagnostics.group_differences import GroupDifferences, group_differences
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.estimation.chosen_models import model_for
from ogive.models import AUTO, MeasurementModel
from ogive.models.categorical import Categorical
from ogive.numerics.multiplicity import CORRECTIONS, Correction
from ogive.progress import Progress, telling
from ogive.responses import Responses, Table, as_responses
from ogive.responses.stored_cells import as_floats
from ogive.results import Draw, Result
from ogive.studies.groups.difference_frames import (
    REACH,
    difference_frame,
    group_curve_frame,
    population_frame,
)
from ogive.studies.groups.respondent_groups import RespondentGroups, respondent_groups
from ogive.words import counted, listed, shown, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["Differential", "differential"]

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
        """One row per item and group compared with the reference."""
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
        from ogive.displays import DISPLAYS

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
    """A difference in points, with its interval."""
    size, error = 100 * abs(row["difference"]), 100 * REACH * row["difference_se"]
    ends = f"{size - error:.0f} to {min(size + error, 100):.0f}"
    return f"{size:.0f} ({ends}) points {'higher' if row['difference'] > 0 else 'lower'}"


def _remarks(
    found: GroupDifferences, split: RespondentGroups, bank: Calibration, *, trusted: bool
) -> Iterator[str]:
    """Notes on how far the differences can be trusted."""
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
