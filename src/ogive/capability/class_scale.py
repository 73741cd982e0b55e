"""The scale of one class against the others: oriented items, calibrated, and cases placed on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.bank_writing import document_of
from ogive.irt.banks import calibration_from
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.item_covariances import known
from ogive.stats.array_backend import Floats

Bools: TypeAlias = NDArray[np.bool_]
Turn: TypeAlias = tuple[int, ...]  # what becomes of each grade of an item, from 0

CLEARLY = 0.05  # gain in correlation for which an item counts closeness to a middle grade
MIN_UNIT = 1e-9
MAX_REMEMBERED = 100_000  # response patterns
MAX_NEIGHBOURS = 20_000  # patterns tried for those without a finite estimate


@dataclass(frozen=True, eq=False)
class Scale:
    """A scale from the other classes (low) to one class (high).

    Cases with the same grades have the same index, which is computed once.
    """

    calibration: Calibration
    turns: tuple[Turn, ...]  # of each item
    mean: float = 0.0  # of the training cases' abilities
    unit: float = 1.0  # their standard deviation; negative if the whole scale was reversed
    _known: dict[bytes, tuple[float, float]] = field(default_factory=dict, repr=False)

    @property
    def directions(self) -> list[int]:
        """+1 if higher grades go with the class, -1 if lower ones do; 0: middle grades do."""
        return [_direction(turn) for turn in self.turns]

    def responses(self, grades: Floats) -> Floats:
        """Return grades (n_cases, n_items) turned towards the class; NaN stays."""
        return turned(grades, self.turns)

    def place(self, grades: Floats) -> tuple[Floats, Floats]:
        """Return index and standard error of each case, (n_cases,), in training SD."""
        cells = self.responses(grades)
        coded = np.where(np.isnan(cells), -1, cells).astype(np.int8)
        keys = [row.tobytes() for row in coded]
        known = self._known if len(self._known) < MAX_REMEMBERED else {}
        new = {key: k for k, key in enumerate(keys) if key not in known}
        if new:
            tops = [max(turn) for turn in self.turns]
            ability, se = abilities(self.calibration, cells[list(new.values())], tops)
            known.update(zip(new, zip(ability.tolist(), se.tolist(), strict=True), strict=True))
        placed = np.array([known[key] for key in keys]).reshape(-1, 2)
        return (placed[:, 0] - self.mean) / self.unit, placed[:, 1] / abs(self.unit)

    def to_dict(self) -> dict[str, Any]:
        """Return the scale as JSON values."""
        return {
            "calibration": document_of(self.calibration),
            "turns": [list(turn) for turn in self.turns],
            "mean": self.mean,
            "unit": self.unit,
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any], tops: Sequence[int]) -> Scale:
        """Restore what `to_dict` wrote, for items whose highest grades are `tops`."""
        calibration = calibration_from(document["calibration"])
        turns = tuple(tuple(map(int, turn)) for turn in document["turns"])
        mean, unit = float(document["mean"]), float(document["unit"])
        fits = len(turns) == len(tops) == len(calibration.item_names) and all(
            len(turn) == top + 1 and min(turn) == 0 and len(set(turn)) == max(turn) + 1
            for turn, top in zip(turns, tops, strict=True)
        )
        if not fits or not np.isfinite([mean, unit]).all() or abs(unit) < MIN_UNIT:
            raise ValueError("items, turns and calibration do not fit each other")
        return cls(calibration, turns, mean, unit)


def learn_scale(
    grades: Floats,
    member: NDArray[np.bool_],
    names: Sequence[str],
    tops: Sequence[int],
    model: str,
    *,
    middles: bool,
) -> Scale:
    """Return the scale towards the class of `member` (n_cases,), from `grades` (n_cases, n_items).

    With `middles`, a class may also lie between the others, where grades count closeness to it.
    """
    turns = tuple(
        _turn(column, member, top, middles=middles)
        for column, top in zip(grades.T, tops, strict=True)
    )
    cells = turned(grades, turns)
    kind = "binary" if max(map(max, turns)) == 1 else "graded"
    chosen = ("2pl" if kind == "binary" else "graded") if model == "auto" else model
    calibration = calibrate(Responses(cells, items=names, kind=kind), chosen)
    # Without the training cases, so that a scale can be copied and sent.
    errors = known(calibration.uncertainty)
    scale = Scale(replace(calibration, uncertainty=errors, responses=None), turns)
    ability, _ = scale.place(grades)
    unit = float(ability.std())
    if unit < MIN_UNIT:
        raise InputError(
            "All training cases have the same index: their features are equal after coding, or "
            "missing. Give more features, or more levels."
        )
    if ability[member].mean() < ability[~member].mean():
        unit = -unit
    return replace(scale, mean=float(ability.mean()), unit=unit)


def turned(grades: Floats, turns: Sequence[Turn]) -> Floats:
    """Return grades after orientation; NaN stays."""
    oriented = np.full(grades.shape, np.nan)
    for k, turn in enumerate(turns):
        known = ~np.isnan(grades[:, k])
        oriented[known, k] = np.array(turn)[grades[known, k].astype(np.intp)]
    return oriented


def abilities(
    calibration: Calibration, responses: Floats, tops: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return ability and standard error by maximum likelihood, by the posterior if it is infinite.

    The posterior mean is shrunk, so the most extreme cases could end up inside less extreme ones;
    they are placed at least as far out as these.
    """
    ability, se, none = _maximum_likelihood(calibration, responses)
    if none.any():
        side = np.sign(ability[none] - calibration.population.mean)
        mean = calibration.score(_table(calibration, responses[none]), items_known=True)
        ability[none], se[none] = mean["ability"], mean["se"]
        edge, edge_se = _less_extreme(calibration, responses[none], side, tops)
        outside = side * (edge - ability[none]) > 0
        ability[none] = np.where(outside, edge, ability[none])
        se[none] = np.where(outside, np.fmax(edge_se, se[none]), se[none])
    return ability, se


def _less_extreme(
    calibration: Calibration, responses: Floats, side: Floats, tops: Sequence[int]
) -> tuple[Floats, Floats]:
    """Return the farthest estimate of patterns one grade less extreme, and its error, or NaN.

    For neighbours without a finite estimate, their own neighbours are tried.
    """
    slope = calibration.model.parameters(calibration.coords)["discrimination"]
    farthest, error = np.full(len(side), np.nan), np.full(len(side), np.nan)
    owner = np.flatnonzero(side)
    rows = responses[owner]
    while 0 < len(rows) <= MAX_NEIGHBOURS:
        owner, rows = _neighbours(owner, rows, -side[owner, None] * np.sign(slope), tops)
        if not len(rows):
            break
        ability, se, none = _maximum_likelihood(calibration, rows)
        order = np.argsort(side[owner] * ability, kind="stable")
        order = order[~none[order]]
        old = farthest[owner[order]]
        order = order[~(side[owner[order]] * (old - ability[order]) >= 0)]
        farthest[owner[order]], error[owner[order]] = ability[order], se[order]  # the last stays
        owner, rows = owner[none], rows[none]
    return farthest, error


def _neighbours(
    owner: NDArray[np.intp], rows: Floats, steps: Floats, tops: Sequence[int]
) -> tuple[NDArray[np.intp], Floats]:
    """Return each row with one of its grades moved by its step, if there is such a grade."""
    moved = rows + steps
    row, item = np.nonzero((steps != 0) & (moved >= 0) & (moved <= np.asarray(tops)))
    neighbours = rows[row]
    neighbours[np.arange(len(row)), item] = moved[row, item]
    keys = np.column_stack([owner[row], np.where(np.isnan(neighbours), -1, neighbours)])
    _, first = np.unique(keys, axis=0, return_index=True)
    return owner[row][first], neighbours[first]


def _maximum_likelihood(
    calibration: Calibration, responses: Floats
) -> tuple[Floats, Floats, Bools]:
    """Return ability, standard error, and whether there is no finite estimate."""
    scored = calibration.score(_table(calibration, responses), "ml", items_known=True)
    ability, se, none = (scored[name].to_numpy(copy=True) for name in ("ability", "se", "at_bound"))
    return ability, se, none


def _table(calibration: Calibration, responses: Floats) -> Responses:
    return Responses(responses, items=calibration.item_names, kind=calibration.model.kind)


def _turn(grades: Floats, member: NDArray[np.bool_], top: int, *, middles: bool) -> Turn:
    """Orient an item upwards, downwards, or around the grade most typical of the class."""
    up, down = tuple(range(top + 1)), tuple(range(top, -1, -1))
    known_grades = ~np.isnan(grades)
    if not known_grades.any():
        return up
    cells = grades[known_grades].astype(np.intp)
    inside = member[known_grades].astype(np.float64)
    straight = down if _agreement(cells, inside, up) < 0 else up
    if not middles:
        return straight
    around = [
        tuple(max(peak, top - peak) - abs(grade - peak) for grade in up) for peak in range(1, top)
    ]
    best = max(around, key=lambda turn: _agreement(cells, inside, turn), default=straight)
    more = _agreement(cells, inside, best) - _agreement(cells, inside, straight)
    return best if more > CLEARLY else straight


def _agreement(grades: NDArray[np.intp], member: Floats, turn: Turn) -> float:
    """Return correlation of oriented grades with membership; 0 if one of them is constant."""
    cells = np.array(turn, dtype=np.float64)[grades]
    if np.ptp(cells) == 0 or np.ptp(member) == 0:
        return 0.0
    return float(np.corrcoef(cells, member)[0, 1])


def _direction(turn: Turn) -> int:
    rising = turn == tuple(sorted(turn))
    return 1 if rising else (-1 if turn[::-1] == tuple(sorted(turn)) else 0)
