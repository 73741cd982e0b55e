"""Link two calibrations: result, drift, merged bank.

Drift judged by the responses to the anchors themselves, old and new, at the same ability.

Better respondents meet another part of each curve. If curves do not follow the model, as those of
real benchmarks do not, parameters from two groups of different ability differ although no item
changed. The responses of both groups together show whether the curve itself changed.

What linking shows: anchors on both scales, and who answered on either side.

Linking: a new version of a benchmark, or new items, on the scale of an old bank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ogive._validation import checked_share, one_of
from ogive.data.responses import Responses, Table, as_responses
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
    is_shared,
    line_ways,
    paired,
    purified,
    robust_line,
    shared_slope,
)
from ogive.irt.models.base import MeasurementModel
from ogive.irt.models.categorical import Categorical
from ogive.irt.models.logistic import TwoPL
from ogive.irt.models.nominal import Nominal
from ogive.results.base import Result
from ogive.results.numbers import counted, listed, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import t_reach

if TYPE_CHECKING:
    import pandas as pd

    from ogive.results.plots.figure import Display

__all__ = ["Linking", "link"]


FEWEST_ANCHORS = 5  # respondents are matched by the others
FEWEST_RESPONDENTS = 20  # of either calibration
MOST_RESPONDENTS = 5_000  # of either; more are sampled evenly


def drift_in_responses(
    old: Calibration, new: Calibration, names: Sequence[str], alpha: float
) -> GroupDifferences | None:
    """Compare old and new respondents on the anchors; None where this cannot be done."""
    if not isinstance(old.model, Categorical) or len(names) < FEWEST_ANCHORS:
        return None
    parts = [_values(bank, names) for bank in (old, new)]
    if any(part is None or len(part) < FEWEST_RESPONDENTS for part in parts):
        return None
    values = np.concatenate([part for part in parts if part is not None])
    groups = np.repeat([0, 1], [len(part) for part in parts if part is not None])
    model = TwoPL() if isinstance(old.model, Nominal) else old.model.unfitted()
    bank = calibrate(Responses(values, items=names), model, progress=False)
    return group_differences(values, groups, bank, alpha=alpha)


def _values(bank: Calibration, names: Sequence[str]) -> np.ndarray | None:
    """Return responses to the anchors by those who answered any; None if they are not at hand.

    Chosen options become right and wrong, since one curve of each group is compared. Repeated
    answers are shares, of which no response function of single answers can be fitted.
    """
    if bank.responses is None or bank.weights is not None or bank.responses.tries is not None:
        return None
    values: np.ndarray = as_responses(bank.responses.select(items=list(names))).values
    values = values[np.isfinite(values).any(axis=1)]
    step = -(-len(values) // MOST_RESPONDENTS)
    return values[::step] if step else values


NAMES = ("difficulty", "discrimination")


def anchor_table(
    anchors: Anchors, names: Sequence[str], found: Comparison, drifted: np.ndarray, line: Line
) -> pd.DataFrame:
    """Return one row per anchor: its parameters on the old scale by both banks, and the test."""
    import pandas as pd

    linked = line.moved(anchors.model, anchors.new)
    added = line.covariances(anchors.model, anchors.new, anchors.new_covariances)
    old, old_error = _parameters(anchors.model, anchors.old, anchors.old_covariances)
    new, new_error = _parameters(anchors.model, linked, added)
    columns: dict[str, Floats | np.ndarray] = {}
    for name in NAMES:
        columns[f"{name}_old"], columns[f"{name}_new"] = old[name], new[name]
        columns[f"{name}_difference"] = new[name] - old[name]
        columns[f"{name}_difference_se"] = np.hypot(old_error[name], new_error[name])
        if name == NAMES[0]:
            columns |= {"p_adjusted": found.p_adjusted, "drifted": drifted}
    columns |= {"distance": found.distance, "statistic": found.statistic, "p": found.p}
    for name in NAMES:
        columns[f"{name}_old_se"], columns[f"{name}_new_se"] = old_error[name], new_error[name]
    return pd.DataFrame(columns, index=pd.Index(names, name="item"))


def population_table(
    old: Calibration, linked: Calibration, new: Calibration, line: Line
) -> pd.DataFrame:
    """Mean and standard deviation of old and new respondents; errors are those of the line."""
    import pandas as pd

    (mean, sd), (old_mean, old_sd) = _respondents(new), _respondents(old)
    way = np.array([mean, 1.0])
    mean_se = float(np.sqrt(way @ line.covariance @ way))
    sd_se = float(np.sqrt(line.covariance[0, 0])) * sd
    there, spread = _respondents(linked)
    rows = [(old_mean, 0.0, old_sd, 0.0), (there, mean_se, spread, sd_se)]
    index = pd.Index(["old", "new"], name="respondents")
    return pd.DataFrame(rows, index=index, columns=["mean", "mean_se", "sd", "sd_se"])


def _respondents(calibration: Calibration) -> tuple[float, float]:
    """Return mean and standard deviation of the respondents, on the scale of a calibration.

    They are the population's, except where a few respondents faced so many items that the scale
    was moved to them, and their prior with it (`estimation/few_respondents.py`).
    """
    population, table = calibration.population, calibration.responses
    if table is None or table.n_respondents >= FEW_RESPONDENTS:
        return population.mean, population.sd
    scored = calibration.abilities(items_known=True)
    ability, se = scored["ability"].to_numpy(), scored["se"].to_numpy()
    return float(ability.mean()), float(np.sqrt(ability.var() + (se**2).mean()))


def _parameters(
    model: MeasurementModel, coords: Floats, covariances: Floats
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Return difficulty and discrimination with their standard errors."""
    found, jacobian = model.parameters(coords), model.parameter_jacobian(coords)
    variances = {
        name: np.einsum("ni,nij,nj->n", jacobian[name], covariances, jacobian[name])
        for name in NAMES
    }
    errors = {name: np.sqrt(np.maximum(variances[name], 0.0)) for name in NAMES}
    return {name: found[name] for name in NAMES}, errors


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
    """Return the comparison with the tests that the responses gave, if there are any."""
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
    """Return the new items on their own scale."""
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
    """Return the line from the mean and spread of the new respondents on either scale.

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
    """Return old items, except the `renewed`, together with the new ones."""
    kept = [name for name in old.item_names if name not in renewed]
    bank = join_banks(old.of_items(kept), linked) if kept else join_banks(linked, linked)
    added = len(bank.item_names) - len(kept)
    note = f"Linked: {counted(len(kept), 'item')} from the old bank and {added:,} from the new one."
    return replace(bank, population=old.population, fit_notes=(*old.notes, note))


def _flagged(linked: Calibration, frame: pd.DataFrame) -> tuple[tuple[str, ...], ...]:
    """Return flags of the linked items; drifted anchors get one."""
    gone = set(frame.index[frame["drifted"]])
    return tuple(
        (*words, DRIFTED) if name in gone else words
        for name, words in zip(linked.item_names, linked.flags, strict=True)
    )


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
    if is_shared(old.model) and method != FIXED:
        notes.append("All items share one discrimination, which determines the slope.")
    return notes


def _said_of_drift(pair: Anchors, compared: Comparison, *, by_responses: bool) -> list[str]:
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
