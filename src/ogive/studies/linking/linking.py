"""Linking: a new version of a benchmark, or new items, on the scale of an old bank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive.arguments import checked_share, one_of
from ogive.calibration import Calibration, join_banks
from ogive.diagnostics.group_differences import GroupDifferences
from ogive.errors import InputError
from ogive.estimation import calibrate
from ogive.numerics.intervals import t_reach
from ogive.responses import Responses, Table, as_responses
from ogive.results import Result
from ogive.studies.linking.linking_anchors import (
    Comparison,
    choose_anchors,
    common_grid,
    compare,
    paired,
    purified,
)
from ogive.studies.linking.linking_lines import (
    CURVES,
    FIXED,
    LINES,
    METHODS,
    Anchors,
    Grid,
    Line,
    is_shared,
    line_ways,
    robust_line,
    shared_slope,
)
from ogive.studies.linking.linking_responses import drift_in_responses
from ogive.studies.linking.linking_tables import anchor_table, population_table
from ogive.words import counted, listed, with_interval

if TYPE_CHECKING:
    import pandas as pd

    from ogive.displays import Display

__all__ = ["Linking", "link"]

FIGURES = ("anchors",)
DRIFT = ("remove", "keep")
FEW_ANCHORS = 5
MANY_DRIFTED = 0.3
WIDE_SCATTER = 0.05  # of the differences of curves, beyond their errors
DRIFTED = "drifted"
CONFIDENCE = 0.95  # of the interval in the sentence


@dataclass(frozen=True, eq=False, repr=False)
class Linking(Result):
    """A new scale linked to an old one.

    Old ability = `slope` x new ability + `intercept`. `calibration` holds the new items on the
    old scale, with their respondents; `bank` holds all items of both: anchors with their old
    parameters, drifted ones with their new parameters. The standard errors say how precisely the
    anchors link the two scales; they do not allow for the sampling of respondents from a
    population. `anchors` has one row per anchor.
    """

    method: str
    slope: float
    slope_se: float
    intercept: float
    intercept_se: float
    calibration: Calibration
    bank: Calibration
    anchors: pd.DataFrame
    populations: pd.DataFrame
    notes: tuple[str, ...] = ()
    scatter: float = 0.0  # of the anchors beyond their errors, in expected responses
    n_respondents: int = 0  # of the smaller calibration; 0 if it is not known

    @property
    def drifted(self) -> tuple[str, ...]:
        """Anchors that changed significantly."""
        return tuple(self.anchors.index[self.anchors["drifted"]])

    @property
    def meaning(self) -> str:
        """The line, how many anchors it rests on, and how the new respondents compare."""
        used, gone = int(self.anchors["used"].sum()), list(self.drifted)
        new: Any = self.populations.loc["new"]
        old: Any = self.populations.loc["old"]
        ahead = (new["mean"] - old["mean"]) / old["sd"]
        unsure = self._reach * new["mean_se"] / old["sd"]
        drift = f"{listed(gone, 'anchor')} drifted" if gone else "no anchor drifted"
        return (
            f"{self._said_of_scatter}Linked by {counted(used, 'anchor')}: old ability = "
            f"{self.slope:.3f} x new ability "
            f"{'+' if self.intercept >= 0 else '-'} {abs(self.intercept):.3f} (standard errors "
            f"{self.slope_se:.3f} and {self.intercept_se:.3f}). On average the new respondents are "
            f"{with_interval(abs(ahead), unsure)} standard deviations "
            f"{'above' if ahead >= 0 else 'below'} the old ones, and {drift} significantly. "
            "These errors are of the link between these respondents: what other samples of them "
            "would change is not counted."
        )

    @property
    def _reach(self) -> float:
        """Standard errors that an interval reaches: those of few respondents are unsure, too."""
        freedom = self.n_respondents - 1 if self.n_respondents > 1 else np.inf
        return float(t_reach(np.array([freedom]), CONFIDENCE)[0])

    @property
    def _said_of_scatter(self) -> str:
        """What is said first where anchors do not agree on a line."""
        if not self.scatter > WIDE_SCATTER:
            return ""
        return (
            f"The anchors do not agree: they scatter by ±{100 * self.scatter:.0f} points more than "
            "their errors explain, as items do that share no more than their names, so the line "
            "and the shift cannot be trusted. "
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per anchor: both difficulties and discriminations, distance, test, verdict."""
        return self.anchors.copy()

    def plot(self, kind: str = "anchors", **kw: Any) -> Display:
        """Draw difficulty on the old scale against the new one, with drifted anchors marked."""
        from ogive.displays import DISPLAYS

        return DISPLAYS[one_of(kind, "kind", FIGURES)](self.to_frame()).plot(**kw)


def link(
    old: Calibration,
    new: Calibration | Table,
    *,
    anchors: Sequence[str] | None = None,
    method: str = CURVES,
    drift: Literal["remove", "keep"] = "remove",
    alpha: float = 0.05,
) -> Linking:
    """Put a new calibration, or new responses, on the scale of an old bank.

    `slope` and `intercept`, with their standard errors, lead from the new scale to the old one. The
    frame has one row per anchor: its parameters on both scales, their difference, p, drifted, used.
    The methods are those of Stocking and Lord (1983), Haebara (1980), Marco (1977), and Loyd and
    Hoover (1980).

    Parameters
    ----------
    old
        The bank whose scale is kept.
    new
        Another calibration of the same model; or responses, which are calibrated here.
    anchors
        Names of the common items that link the scales; all common items if omitted.
    method
        "stocking-lord" compares the sum of the anchors' curves, "haebara" the curves one by one;
        "mean-sigma" and "mean-mean" compare moments of their parameters. "fixed" calibrates the
        new responses with the anchors fixed at their old parameters (`calibrate(fixed=old)`).
    drift
        "remove" tests every anchor and links without those that changed significantly, until no
        more are found; "keep" tests and reports, but links with all anchors.
    alpha
        Expected share of false discoveries among the anchors called drifted (Benjamini and
        Hochberg).

    Examples
    --------
    >>> import ogive as og
    >>> items = og.simulate("2pl", 10, 12, random_state=1).truth.items
    >>> first = og.simulate("2pl", 400, items=items, random_state=2).responses
    >>> second = og.simulate("2pl", 400, items=items, random_state=3).responses
    >>> found = og.link(og.calibrate(first), og.calibrate(second))
    >>> abs(found.slope - 1) < 4 * found.slope_se
    True
    """
    _check(old, method, drift, alpha)
    fresh = _calibrated(old, new, method)
    chosen, notes = choose_anchors(old, fresh, anchors)
    pair = paired(old, fresh, chosen)
    start = robust_line(pair)
    grid = common_grid(old, fresh, start)
    told = drift_in_responses(old, fresh, chosen, alpha)
    line, drifted = _tied(pair, grid, start, method, drift, alpha, told)
    used = ~drifted if drift == "remove" else np.ones(len(chosen), dtype=bool)
    if method == FIXED:
        names = [name for name, keep in zip(chosen, used, strict=True) if keep]
        linked = calibrate(_responses(fresh), fixed=old.of_items(names), weights=fresh.weights)
        line = _line_of_held(pair.part(used), fresh, linked, line)
    else:
        linked = _moved(fresh, line)
    compared = _by_responses(compare(pair, grid, line), told)
    frame = anchor_table(pair, chosen, compared, drifted, line).assign(used=used)
    renewed = set(frame.index[frame["drifted"]])
    if anchors is not None:
        renewed |= set(old.item_names) & set(fresh.item_names) - set(anchors)
    return Linking(
        method=method,
        slope=line.slope,
        slope_se=float(np.sqrt(line.covariance[0, 0])),
        intercept=line.intercept,
        intercept_se=float(np.sqrt(line.covariance[1, 1])),
        calibration=replace(linked, flags=_flagged(linked, frame)),
        bank=_bank(old, replace(linked, flags=_flagged(linked, frame)), renewed),
        anchors=frame,
        populations=population_table(old, linked, fresh, line),
        notes=(
            *notes,
            *_remarks(old, fresh, frame, method),
            *_said_of_drift(pair, compared, by_responses=told is not None),
        ),
        scatter=float(compared.scatter),
        n_respondents=int(min(old.n_respondents, fresh.n_respondents)),
    )


def _tied(
    pair: Anchors,
    grid: Grid,
    start: Line,
    method: str,
    drift: str,
    alpha: float,
    told: GroupDifferences | None,
) -> tuple[Line, np.ndarray]:
    """The line, and which anchors drifted; with fixed items, drift is judged by their curves."""
    search = LINES[CURVES if method == FIXED else method]
    least = 1 if is_shared(pair.model) else 2

    def find(part: Anchors, near: Line) -> Line:
        return search(part, grid, near)

    if told is not None:
        gone = told.differs[0]
        if (~gone).sum() < least:
            gone = np.argsort(np.argsort(told.found[0].p)) < len(gone) - least
        return find(pair if drift == "keep" else pair.part(~gone), start), gone
    if drift == "keep":
        line = find(pair, start)
        return line, compare(pair, grid, line).p_adjusted < alpha
    return purified(pair, grid, start, find, alpha, least)


def _by_responses(compared: Comparison, told: GroupDifferences | None) -> Comparison:
    """The comparison with the tests that the responses gave, if there are any."""
    if told is None:
        return compared
    found = told.found[0]
    return replace(
        compared,
        statistic=found.statistic,
        p=found.p,
        p_adjusted=told.p_adjusted[0],
        scatter=told.scatter,
    )


def _check(old: Calibration, method: str, drift: str, alpha: float) -> None:
    if not isinstance(old, Calibration):
        raise InputError(
            f"old is {type(old).__name__}; give a calibration, or a bank read by og.load. For a "
            "table of responses, calibrate it first: link(og.calibrate(old), new)."
        )
    one_of(method, "method", METHODS)
    one_of(drift, "drift", DRIFT)
    checked_share(alpha, "alpha", 0.05)
    if not old.model.affine:
        raise InputError(
            f"Scales of the {old.model.name} model cannot be linked: its curves change their form "
            "when the scale moves. For scores in an interval, use the continuous model."
        )


def _calibrated(old: Calibration, new: Calibration | Table, method: str) -> Calibration:
    """The new items on their own scale."""
    if not isinstance(new, Calibration):
        return calibrate(as_responses(new, old.model.kind), old.model.unfitted())
    if not old.model.alike(new.model):
        raise InputError(
            f"The old bank holds items of the {old.model.name} model, the new one of the "
            f"{new.model.name} model, or with other options. Calibrate the new responses with "
            "the old model, or pass the responses themselves."
        )
    if method == FIXED:
        _responses(new)
    return new


def _responses(new: Calibration) -> Responses:
    if new.responses is None:
        raise InputError(
            "method='fixed' calibrates the new responses, but this calibration was loaded without "
            "them. Pass the responses: link(old, responses, method='fixed')."
        )
    return new.responses


def _moved(new: Calibration, line: Line) -> Calibration:
    """The new calibration on the old scale; the uncertainty of the line adds to its errors."""
    return replace(
        new,
        coords=line.moved(new.model, new.coords),
        uncertainty=line.errors(new.model, new.coords, new.uncertainty),
        population=new.population.moved(line.shift, line.scale),
    )


def _line_of_held(anchors: Anchors, new: Calibration, held: Calibration, near: Line) -> Line:
    """The line from the mean and spread of the new respondents on either scale.

    Fixing items is nearly the same as fitting the line to their coordinates, weighted by the
    information in the new responses; its error follows from those of the anchors on both scales.
    """
    slope = held.population.sd / new.population.sd
    line = replace(near, slope=slope, intercept=held.population.mean - slope * new.population.mean)
    model = anchors.model
    ways = line_ways(model, anchors.new, line)
    bare = replace(line, covariance=np.zeros((2, 2)))
    moved = bare.covariances(model, anchors.new, anchors.new_covariances)
    weights = np.linalg.pinv(moved, hermitian=True)
    pull = np.einsum("mnw,nwv->mnv", ways, weights)
    inner = np.linalg.pinv(np.einsum("mnw,lnw->ml", pull, ways))
    spread = np.einsum("mnw,nwv,lnv->ml", pull, moved + anchors.old_covariances, pull)
    covariance = inner @ spread @ inner
    if is_shared(model):  # as precise as the two common discriminations, however many items
        covariance[0, 0] = shared_slope(anchors, line).covariance[0, 0]
    return replace(line, covariance=covariance)


def _bank(old: Calibration, linked: Calibration, renewed: set[str]) -> Calibration:
    """Old items, except the `renewed`, together with the new ones."""
    kept = [name for name in old.item_names if name not in renewed]
    bank = join_banks(old.of_items(kept), linked) if kept else join_banks(linked, linked)
    added = len(bank.item_names) - len(kept)
    note = f"Linked: {counted(len(kept), 'item')} from the old bank and {added:,} from the new one."
    return replace(bank, population=old.population, fit_notes=(*old.notes, note))


def _flagged(linked: Calibration, frame: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Flags of the linked items; drifted anchors get one."""
    gone = set(frame.index[frame["drifted"]])
    return tuple(
        (*words, DRIFTED) if name in gone else words
        for name, words in zip(linked.item_names, linked.flags, strict=True)
    )


def _remarks(old: Calibration, new: Calibration, frame: pd.DataFrame, method: str) -> list[str]:
    """Notes on how far the line can be trusted."""
    notes = [
        f"The {name} bank did not converge: its items, and so the line, may be inaccurate."
        for name, bank in (("old", old), ("new", new))
        if not bank.converged
    ]
    used, share = int(frame["used"].sum()), float(frame["drifted"].mean())
    if used < FEW_ANCHORS:
        notes.append(f"Only {counted(used, 'anchor')}: a single unusual one can move the line.")
    if share > MANY_DRIFTED:
        notes.append(
            f"{share:.0%} of the anchors drifted, so the data alone cannot tell which ones stayed "
            "the same. Inspect them before using the line."
        )
    if is_shared(old.model) and method != FIXED:
        notes.append("All items share one discrimination, which determines the slope.")
    return notes


def _said_of_drift(pair: Anchors, compared: Comparison, *, by_responses: bool) -> list[str]:
    """Notes on how drift was judged."""
    if not by_responses and not (pair.old_covariances.any() or pair.new_covariances.any()):
        return ["The banks have no standard errors: drift was not tested."]
    notes = []
    if not by_responses:
        notes.append(
            "Drift was judged by parameters alone, because one of the banks has no responses, too "
            "few, or scores in an interval: where curves do not fit, anchors may seem to drift if "
            "the respondents differ in ability."
        )
    if compared.scatter > WIDE_SCATTER:
        notes.append(
            f"The anchors scatter by ±{100 * compared.scatter:.0f} points more than their errors "
            "explain, so the data alone cannot tell which ones stayed the same. Inspect them "
            "before using the line."
        )
    return notes
