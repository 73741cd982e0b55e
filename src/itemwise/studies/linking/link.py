"""A new version of a benchmark, or new items, on an old scale."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from itemwise.arguments import checked_share, one_of
from itemwise.calibration import Calibration, KnownCovariances, join_banks
from itemwise.errors import InputError
from itemwise.estimation import calibrate
from itemwise.responses import Responses, Table, as_responses
from itemwise.results import Finding
from itemwise.studies.linking.anchors import choose_anchors, common_grid, paired
from itemwise.studies.linking.drift import compare, purified
from itemwise.studies.linking.frames import anchor_frame, population_frame
from itemwise.studies.linking.lines import (
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
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

FIGURES = ("anchors",)
DRIFT = ("remove", "keep")
FEW_ANCHORS = 5
MANY_DRIFTED = 0.3
DRIFTED = "drifted"


@dataclass(frozen=True, eq=False, repr=False)
class Linking(Finding):
    """A new scale linked to an old one.

    Old ability = `slope` x new ability + `intercept`. `calibration` holds the new items on the
    old scale, with their respondents; `bank` all items of both: anchors as the old bank has them,
    drifted ones as they are now. The standard errors say how well the anchors tie the two scales,
    which is what the linked items need; that the respondents of either calibration are a sample
    of some population is no part of them. `anchors` has one row an anchor.
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

    @property
    def drifted(self) -> tuple[str, ...]:
        """Anchors that are not what they were."""
        return tuple(self.anchors.index[self.anchors["drifted"]])

    @property
    def meaning(self) -> str:
        """One sentence for a reader who is no psychometrician."""
        used, gone = int(self.anchors["used"].sum()), list(self.drifted)
        new, old = self.populations.loc["new"], self.populations.loc["old"]
        ahead = (new["mean"] - old["mean"]) / old["sd"]
        where = f"{abs(ahead):.2f} deviations {'above' if ahead >= 0 else 'below'}"
        drift = f"{listed(gone, 'anchor')} drifted" if gone else "none of the anchors drifted"
        return (
            f"Tied by {counted(used, 'item')}, the new scale is the old one with old = "
            f"{self.slope:.3f} x new {'+' if self.intercept >= 0 else '-'} "
            f"{abs(self.intercept):.3f} (standard errors {self.slope_se:.3f} and "
            f"{self.intercept_se:.3f}); the new respondents stand on average {where} the old "
            f"ones, and {drift}."
        )

    def to_frame(self) -> pd.DataFrame:
        """One row an anchor: both difficulties and discriminations, distance, test, verdict."""
        return self.anchors.copy()

    def plot(self, kind: str = "anchors", **kw: Any) -> Display:
        """Difficulty on the old scale against the new one, drifted anchors marked."""
        from itemwise.displays import DISPLAYS

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

    `slope` and `intercept`, with their se, lead from the new scale to the old; the frame has a row
    an anchor: its parameters on both, their difference, p, drifted, used. Stocking and Lord (1983),
    Haebara (1980), Marco (1977), Loyd and Hoover (1980).

    Parameters
    ----------
    old
        The bank whose scale stays.
    new
        Another calibration of the same model; or responses, which are calibrated here.
    anchors
        Names of items that both have and that tie the scales; all common ones if left out.
    method
        "stocking-lord" and "haebara" compare the anchors' curves, summed and one by one;
        "mean-sigma" and "mean-mean" moments of their parameters. "fixed" calibrates the new
        responses with the anchors held at their old parameters (`calibrate(fixed=old)`).
    drift
        "remove" tests every anchor and links without those that changed, until no more are
        found; "keep" tests and reports, but links with all.
    alpha
        Share of false alarms among the anchors called drifted (Benjamini and Hochberg).

    Examples
    --------
    >>> import itemwise as iw
    >>> items = iw.simulate("2pl", 10, 12, random_state=1).truth.items
    >>> first = iw.simulate("2pl", 400, items=items, random_state=2).responses
    >>> second = iw.simulate("2pl", 400, items=items, random_state=3).responses
    >>> found = iw.link(iw.calibrate(first), iw.calibrate(second))
    >>> abs(found.slope - 1) < 4 * found.slope_se
    True
    """
    _check(old, method, drift, alpha)
    fresh = _calibrated(old, new, method)
    chosen, notes = choose_anchors(old, fresh, anchors)
    pair = paired(old, fresh, chosen)
    start = robust_line(pair)
    grid = common_grid(old, fresh, start)
    line, drifted = _tied(pair, grid, start, method, drift, alpha)
    used = ~drifted if drift == "remove" else np.ones(len(chosen), dtype=bool)
    if method == FIXED:
        names = [name for name, keep in zip(chosen, used, strict=True) if keep]
        linked = calibrate(_responses(fresh), fixed=old.of_items(names), weights=fresh.weights)
        line = _line_of_held(pair.part(used), fresh, linked, line)
    else:
        linked = _moved(fresh, line)
    frame = anchor_frame(pair, chosen, compare(pair, grid, line), drifted, line).assign(used=used)
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
        populations=population_frame(old, linked, fresh, line),
        notes=(*notes, *_remarks(old, fresh, frame, method), *_untested(pair)),
    )


def _tied(
    pair: Anchors, grid: Grid, start: Line, method: str, drift: str, alpha: float
) -> tuple[Line, np.ndarray]:
    """The line, and which anchors drifted; held items are judged by their curves."""
    search = LINES[CURVES if method == FIXED else method]

    def find(part: Anchors, near: Line) -> Line:
        return search(part, grid, near)

    if drift == "keep":
        line = find(pair, start)
        return line, compare(pair, grid, line).p_adjusted < alpha
    return purified(pair, grid, start, find, alpha, least=1 if is_shared(pair.model) else 2)


def _check(old: Calibration, method: str, drift: str, alpha: float) -> None:
    if not isinstance(old, Calibration):
        raise InputError(
            f"old is {type(old).__name__}; give a calibration, or iw.load a bank. A table of "
            "responses has no scale yet: link(iw.calibrate(old), new)."
        )
    one_of(method, "method", METHODS)
    one_of(drift, "drift", DRIFT)
    checked_share(alpha, "alpha", 0.05)
    if not old.model.affine:
        raise InputError(
            f"Scales of the {old.model.name} model cannot be linked: its curves change their form "
            "when the scale moves. The continuous model explains scores in an interval, too."
        )


def _calibrated(old: Calibration, new: Calibration | Table, method: str) -> Calibration:
    """The new items on a scale of their own."""
    if not isinstance(new, Calibration):
        return calibrate(as_responses(new, old.model.kind), old.model.unfitted())
    if not old.model.alike(new.model):
        raise InputError(
            f"The old bank holds items of the {old.model.name} model, the new one of the "
            f"{new.model.name} model, or with other options. Calibrate the new responses with "
            "the old model, or give the responses themselves."
        )
    if method == FIXED:
        _responses(new)
    return new


def _responses(new: Calibration) -> Responses:
    if new.responses is None:
        raise InputError(
            "method='fixed' calibrates the new responses, and this calibration was loaded without "
            "them. Give the responses, as in link(old, responses, method='fixed')."
        )
    return new.responses


def _moved(new: Calibration, line: Line) -> Calibration:
    """The new calibration on the old scale; what the line leaves unknown adds to its errors."""
    own = new.uncertainty.covariances
    return replace(
        new,
        coords=line.moved(new.model, new.coords),
        uncertainty=KnownCovariances(line.covariances(new.model, new.coords, own)),
        population=new.population.moved(line.shift, line.scale),
    )


def _line_of_held(anchors: Anchors, new: Calibration, held: Calibration, near: Line) -> Line:
    """The line from the new respondents' place on either scale.

    Holding items is nearly the same as fitting the line to coordinates, weighed by what the new
    responses tell of them; its error follows from those of the anchors on both scales.
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
    if is_shared(model):  # known as well as the two discriminations, however many items have them
        covariance[0, 0] = shared_slope(anchors, line).covariance[0, 0]
    return replace(line, covariance=covariance)


def _bank(old: Calibration, linked: Calibration, renewed: set[str]) -> Calibration:
    """Old items as they were but for the `renewed`, and the new ones beside them."""
    kept = [name for name in old.item_names if name not in renewed]
    bank = join_banks(old.of_items(kept), linked) if kept else join_banks(linked, linked)
    added = len(bank.item_names) - len(kept)
    note = f"Linked: {counted(len(kept), 'item')} of the old bank and {added:,} of the new one."
    return replace(bank, population=old.population, notes=(*old.notes, note))


def _flagged(linked: Calibration, frame: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Flags of the linked items; drifted anchors say so."""
    gone = set(frame.index[frame["drifted"]])
    return tuple(
        (*words, DRIFTED) if name in gone else words
        for name, words in zip(linked.item_names, linked.flags, strict=True)
    )


def _remarks(old: Calibration, new: Calibration, frame: pd.DataFrame, method: str) -> list[str]:
    """What a reader should know before trusting the line."""
    notes = [
        f"The {name} bank did not converge: its items, and so the line, may be off."
        for name, bank in (("old", old), ("new", new))
        if not bank.converged
    ]
    used, share = int(frame["used"].sum()), float(frame["drifted"].mean())
    if used < FEW_ANCHORS:
        notes.append(f"Only {counted(used, 'anchor')}: a single odd one moves the line.")
    if share > MANY_DRIFTED:
        notes.append(
            f"{share:.0%} of the anchors drifted: which of them stayed the same is a matter of "
            "opinion then. Look at them before using the line."
        )
    if is_shared(old.model) and method != FIXED:
        notes.append("All items have one discrimination: it gives the slope, anchors the rest.")
    return notes


def _untested(pair: Anchors) -> list[str]:
    known = pair.old_covariances.any() or pair.new_covariances.any()
    return [] if known else ["The banks hold no standard errors: drift was not tested."]
