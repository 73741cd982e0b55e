"""Linking: a new version of a benchmark, or new items, on the scale of an old bank.

If both banks have their responses, drift is judged by these at the same ability. Respondents of
another ability meet another part of each curve, so that parameters may differ although no item
changed, if the curves do not follow the model exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive._validation import CONFIDENCE, checked_share, one_of
from ogive.errors import InputError
from ogive.irt.banks import join_banks
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.differential_functioning import GroupDifferences, group_differences
from ogive.irt.estimation.identifiability import FEW_RESPONDENTS
from ogive.irt.linking_constants import (
    CURVES,
    FIXED,
    LINES,
    METHODS,
    Anchors,
    Comparison,
    Grid,
    Line,
    choose_anchors,
    common_grid,
    compare,
    paired,
    purified,
    robust_line,
    shared_slope,
)
from ogive.irt.models.categorical import Categorical
from ogive.irt.models.logistic import TwoPL
from ogive.irt.models.nominal import Nominal
from ogive.irt.response_matrix import as_responses, new_responses
from ogive.results.base import Result, table
from ogive.results.numbers import counted, listed, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Table
    from ogive.results.plots.figure import Display

__all__ = ["Linking", "link"]

FEWEST_ANCHORS = 5  # smallest number of anchors for matching respondents
FEWEST_RESPONDENTS = 20  # smallest number of respondents of either calibration
MOST_RESPONDENTS = 5_000  # largest number of either; more are thinned evenly
NAMES = ("difficulty", "discrimination")
FIGURES = ("anchors",)
DRIFT = ("remove", "keep")
FEW_ANCHORS = 5  # number of anchors below which a note warns
MANY_DRIFTED = 0.3  # share of drifted anchors above which a note warns
WIDE_SCATTER = 0.05  # scatter of the differences of curves, beyond their errors, that is too wide
DRIFTED = "drifted"


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
        shift = (new["mean"] - old["mean"]) / old["sd"]
        # The standard deviation of few respondents is uncertain, too.
        freedom = self.n_respondents - 1 if self.n_respondents > 1 else np.inf
        half = float(t_reach(np.array([freedom]), CONFIDENCE)[0]) * new["mean_se"] / old["sd"]
        drift = f"{listed(gone, 'anchor')} drifted" if gone else "no anchor drifted"
        warning = ""
        if self.scatter > WIDE_SCATTER:
            warning = (
                f"The anchors do not agree: they scatter by ±{100 * self.scatter:.0f} points more "
                "than their errors explain, as items do that share no more than their names, so "
                "the line and the shift cannot be trusted. "
            )
        return (
            f"{warning}Linked by {counted(used, 'anchor')}: old ability = "
            f"{self.slope:.3f} x new ability "
            f"{'+' if self.intercept >= 0 else '-'} {abs(self.intercept):.3f} (standard errors "
            f"{self.slope_se:.3f} and {self.intercept_se:.3f}). On average the new respondents are "
            f"{with_interval(abs(shift), half)} standard deviations "
            f"{'above' if shift >= 0 else 'below'} the old ones, and {drift} significantly. "
            "These errors are of the link between these respondents: what other samples of them "
            "would change is not counted."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per anchor: difficulties and discriminations, distance, test, verdict."""
        return self.anchors.copy()

    def plot(self, kind: str = "anchors", **kw: Any) -> Display:
        """Draw difficulty on the old scale against the new one, with drifted anchors marked."""
        from ogive.results.plots import DISPLAYS

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
    if not isinstance(old, Calibration):
        raise InputError(
            f"`old` must be a calibration, or a bank read by og.load, got {type(old).__name__}. "
            "Calibrate a table of responses first: link(og.calibrate(old), new)."
        )
    one_of(method, "method", METHODS)
    one_of(drift, "drift", DRIFT)
    checked_share(alpha, "alpha", 0.05)
    if not old.model.affine:
        raise InputError(
            f"Scales of the {old.model.name} model cannot be linked: its curves change their form "
            "when the scale moves. For scores in an interval, use the continuous model."
        )
    if not isinstance(new, Calibration):
        fresh = calibrate(as_responses(new, old.model.kind), old.model.unfitted())
    elif old.model.alike(new.model):
        fresh = new
    else:
        raise InputError(
            f"The old bank holds items of the {old.model.name} model, the new one of the "
            f"{new.model.name} model, or with other options. Calibrate the new responses with "
            "the old model, or pass the responses themselves."
        )
    if method == FIXED and fresh.responses is None:
        raise InputError(
            "method='fixed' calibrates the new responses, but this calibration was loaded without "
            "them. Pass the responses: link(old, responses, method='fixed')."
        )
    chosen, notes = choose_anchors(old, fresh, anchors)
    pair = paired(old, fresh, chosen)
    start = robust_line(pair)
    grid = common_grid(old, fresh, start)
    differences = drift_in_responses(old, fresh, chosen, alpha)
    line, drifted = _line_and_drift(pair, grid, start, method, drift, alpha, differences)
    used = ~drifted if drift == "remove" else np.ones(len(chosen), dtype=bool)
    if method == FIXED:
        names = [name for name, keep in zip(chosen, used, strict=True) if keep]
        assert fresh.responses is not None  # noqa: S101 - checked above
        linked = calibrate(fresh.responses, fixed=old.of_items(names), weights=fresh.weights)
        line = _line_of_fixed(pair.part(used), fresh, linked, line)
    else:  # the uncertainty of the line adds to the errors of the items
        linked = replace(
            fresh,
            coords=line.moved(fresh.model, fresh.coords),
            uncertainty=line.errors(fresh.model, fresh.coords, fresh.uncertainty),
            population=fresh.population.moved(line.shift, line.scale),
        )
    compared = compare(pair, grid, line)
    if differences is not None:
        tests = differences.found[0]
        compared = replace(
            compared,
            statistic=tests.statistic,
            p=tests.p,
            p_adjusted=differences.p_adjusted[0],
            scatter=differences.scatter,
        )
    frame = _anchor_table(pair, chosen, compared, drifted, line).assign(used=used)
    gone = {name for name, changed in zip(chosen, drifted, strict=True) if changed}
    flags = tuple(
        (*words, DRIFTED) if name in gone else words
        for name, words in zip(linked.item_names, linked.flags, strict=True)
    )
    flagged = replace(linked, flags=flags)
    renewed = gone
    if anchors is not None:
        renewed = gone | (set(old.item_names) & set(fresh.item_names) - set(anchors))
    return Linking(
        method=method,
        slope=line.slope,
        slope_se=float(np.sqrt(line.covariance[0, 0])),
        intercept=line.intercept,
        intercept_se=float(np.sqrt(line.covariance[1, 1])),
        calibration=flagged,
        bank=_joined_bank(old, flagged, renewed),
        anchors=frame,
        populations=_population_table(old, linked, fresh, line),
        notes=(
            *notes,
            *_remarks(old, fresh, frame, method),
            *_remarks_on_drift(pair, compared, by_responses=differences is not None),
        ),
        scatter=float(compared.scatter),
        n_respondents=int(min(old.n_respondents, fresh.n_respondents)),
    )


def drift_in_responses(
    old: Calibration, new: Calibration, names: Sequence[str], alpha: float
) -> GroupDifferences | None:
    """Compare old and new respondents on the anchors; None if this cannot be done."""
    if not isinstance(old.model, Categorical) or len(names) < FEWEST_ANCHORS:
        return None
    parts = []
    for bank in (old, new):
        # Repeated answers are shares, for which there is no response function of single answers.
        if bank.responses is None or bank.weights is not None or bank.responses.tries is not None:
            return None
        # Chosen options become right and wrong, since one curve of each group is compared.
        values: np.ndarray = as_responses(bank.responses.select(items=list(names))).values
        values = values[np.isfinite(values).any(axis=1)]
        if len(values) < FEWEST_RESPONDENTS:
            return None
        parts.append(values[:: -(-len(values) // MOST_RESPONDENTS)])
    values = np.concatenate(parts)
    groups = np.repeat([0, 1], [len(part) for part in parts])
    model = TwoPL() if isinstance(old.model, Nominal) else old.model.unfitted()
    bank = calibrate(new_responses(values, items=names), model, progress=False)
    return group_differences(values, groups, bank, alpha=alpha)


def _line_and_drift(
    pair: Anchors,
    grid: Grid,
    start: Line,
    method: str,
    drift: str,
    alpha: float,
    differences: GroupDifferences | None,
) -> tuple[Line, np.ndarray]:
    """Return the line, and which anchors drifted; with fixed items, by the method of curves."""
    search = LINES[CURVES if method == FIXED else method]

    def find(part: Anchors, near: Line) -> Line:
        return search(part, grid, near)

    if differences is not None:
        gone = differences.differs[0]
        if (~gone).sum() < pair.least:
            gone = np.argsort(np.argsort(differences.found[0].p)) < len(gone) - pair.least
        return find(pair if drift == "keep" else pair.part(~gone), start), gone
    if drift == "keep":
        line = find(pair, start)
        return line, compare(pair, grid, line).p_adjusted < alpha
    return purified(pair, grid, start, find, alpha)


def _line_of_fixed(anchors: Anchors, new: Calibration, fixed: Calibration, near: Line) -> Line:
    """Return the line from the mean and spread of the new respondents on either scale.

    Fixing items is nearly the same as fitting the line to their coordinates, weighted by the
    information in the new responses; its error follows from those of the anchors on both scales.
    """
    slope = fixed.population.sd / new.population.sd
    intercept = fixed.population.mean - slope * new.population.mean
    line = replace(near, slope=slope, intercept=intercept)
    model = anchors.model
    jacobian = line.jacobian(model, anchors.new)
    bare = replace(line, covariance=np.zeros((2, 2)))
    moved = bare.covariances(model, anchors.new, anchors.new_covariances)
    weights = np.linalg.pinv(moved, hermitian=True)
    weighted = np.einsum("mnw,nwv->mnv", jacobian, weights)
    inner = np.linalg.pinv(np.einsum("mnw,lnw->ml", weighted, jacobian))
    middle = np.einsum("mnw,nwv,lnv->ml", weighted, moved + anchors.old_covariances, weighted)
    covariance = inner @ middle @ inner
    if anchors.shared_slope:  # as precise as the two common discriminations, however many items
        covariance[0, 0] = shared_slope(anchors, line).covariance[0, 0]
    return replace(line, covariance=covariance)


def _anchor_table(
    anchors: Anchors, names: Sequence[str], compared: Comparison, drifted: np.ndarray, line: Line
) -> pd.DataFrame:
    """Return one row per anchor: its parameters on the old scale by both banks, and the test."""
    model = anchors.model

    def parameters(coords: Floats, covariances: Floats) -> tuple[Any, Any]:
        values, jacobian = model.parameters(coords), model.parameter_jacobian(coords)
        errors = {}
        for name in NAMES:
            slope = jacobian[name]
            variance = np.einsum("ni,nij,nj->n", slope, covariances, slope)
            errors[name] = np.sqrt(np.maximum(variance, 0.0))
        return values, errors

    added = line.covariances(model, anchors.new, anchors.new_covariances)
    old, old_error = parameters(anchors.old, anchors.old_covariances)
    new, new_error = parameters(line.moved(model, anchors.new), added)
    columns: dict[str, Floats | np.ndarray] = {}
    for name in NAMES:
        columns[f"{name}_old"], columns[f"{name}_new"] = old[name], new[name]
        columns[f"{name}_difference"] = new[name] - old[name]
        columns[f"{name}_difference_se"] = np.hypot(old_error[name], new_error[name])
        if name == NAMES[0]:
            columns |= {"p_adjusted": compared.p_adjusted, "drifted": drifted}
    columns |= {"distance": compared.distance, "statistic": compared.statistic, "p": compared.p}
    for name in NAMES:
        columns[f"{name}_old_se"], columns[f"{name}_new_se"] = old_error[name], new_error[name]
    return table(columns, names, "item")


def _population_table(
    old: Calibration, linked: Calibration, new: Calibration, line: Line
) -> pd.DataFrame:
    """Return mean and sd of old and new respondents; errors are those of the line."""

    def moments(bank: Calibration) -> tuple[float, float]:
        """Return those of the population, except if few respondents faced many items.

        The scale, and their prior with it, was then moved to these respondents.
        """
        population, own = bank.population, bank.responses
        if own is None or own.n_respondents >= FEW_RESPONDENTS:
            return population.mean, population.sd
        scored = bank.abilities(items_known=True)
        ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
        return float(ability.mean()), float(np.sqrt(ability.var() + (se**2).mean()))

    (mean, sd), (old_mean, old_sd), (new_mean, new_sd) = map(moments, (new, old, linked))
    gradient = np.array([mean, 1.0])
    mean_se = float(np.sqrt(gradient @ line.covariance @ gradient))
    sd_se = float(np.sqrt(line.covariance[0, 0])) * sd
    columns = {
        "mean": [old_mean, new_mean],
        "mean_se": [0.0, mean_se],
        "sd": [old_sd, new_sd],
        "sd_se": [0.0, sd_se],
    }
    return table(columns, ["old", "new"], "respondents")


def _joined_bank(old: Calibration, linked: Calibration, renewed: set[str]) -> Calibration:
    """Return old items, except the `renewed`, together with the new ones."""
    kept = [name for name in old.item_names if name not in renewed]
    bank = join_banks(old.of_items(kept), linked) if kept else join_banks(linked, linked)
    added = len(bank.item_names) - len(kept)
    note = f"Linked: {counted(len(kept), 'item')} from the old bank and {added:,} from the new one."
    return replace(bank, population=old.population, fit_notes=(*old.notes, note))


def _remarks(old: Calibration, new: Calibration, frame: pd.DataFrame, method: str) -> list[str]:
    """Return notes on how far the line can be trusted."""
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
    if old.model.shared.any() and method != FIXED:
        notes.append("All items share one discrimination, which determines the slope.")
    return notes


def _remarks_on_drift(pair: Anchors, compared: Comparison, *, by_responses: bool) -> list[str]:
    """Return notes on how drift was judged."""
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
