"""Local dependence: pairs of items that have more in common than the ability (Yen, 1984).

Q3 is the correlation of what two items leave unexplained, response less expected response at the
ability estimates. Each ability was estimated from these very responses, so that Q3 lies below zero
where nothing is wrong: by about 1 / (items - 1) on average, which is why Christensen, Makransky and
Horton (2017) judge what exceeds the mean of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.diagnosis import Diagnosis, own_or_given
from itemwise.errors import InputError
from itemwise.numerics.arrays import Floats, row_blocks
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.responses import Responses, Table
from itemwise.responses.stored_cells import as_floats
from itemwise.words import counted, listed

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display

ALPHA = 0.05  # share of false discoveries among the pairs called dependent
STRONG = 0.2  # of q3_adjusted; less is seldom worth a change (Christensen et al., 2017)
MOST_ITEMS_IN_MATRIX = 1000  # beyond, only the largest pairs are kept
MOST_ITEMS_IN_MAP = 40  # that a heat map shows
MOST_WORK = 2e11  # respondents × items²; beyond, evenly spaced respondents stand for all
KEPT_PAIRS = 1 << 19
STRIP = 512  # items at a time
STRIP_CELLS = 1 << 20
LEAST_COMMON = 3  # respondents who answered both; two points always lie on a line
NUDGE = 1e-4
REMEDY = (
    "Standard errors of abilities are then too small, and discriminations are biased, which no "
    'standard error covers, se="robust" included: keep one of each pair, or add the items that '
    "belong together up to one graded item."
)


@dataclass(frozen=True, eq=False, repr=False)
class LocalDependence(Diagnosis):
    """Pairs of items that depend on each other beyond the ability.

    One entry per pair, the surest first. `p_adjusted` is over all pairs (Benjamini and Hochberg,
    1995). `mean_q3` is the mean of all pairs; `n_pairs` counts those for which there is a Q3,
    `n_dependent` those that are dependent, whether or not they are among the pairs kept here.
    """

    first: tuple[str, ...]
    second: tuple[str, ...]
    pair_q3: Floats
    z: Floats
    p: Floats
    p_adjusted: Floats
    n: Floats  # respondents who answered both
    mean_q3: float
    n_pairs: int
    n_dependent: int
    item_names: tuple[str, ...]
    matrix: Floats | None  # Q3, (n_items, n_items), or None where there are too many items
    marked: np.ndarray | None  # which of these pairs are dependent
    notes: tuple[str, ...] = ()

    @property
    def q3_adjusted(self) -> Floats:
        """Q3 less the mean of all pairs."""
        return self.pair_q3 - self.mean_q3

    @property
    def dependent(self) -> np.ndarray:
        """Pairs beyond chance (p_adjusted < 0.05) and strong (0.2 or more above the mean).

        Pairs far below the mean are none: they are the shadow of others above it, towards which
        the abilities were drawn.
        """
        return _dependent(self.p_adjusted, self.q3_adjusted)

    @property
    def q3(self) -> pd.DataFrame:
        """Q3 of every pair, items × items, 1 on the diagonal; kept for up to 1000 items."""
        import pandas as pd

        if self.matrix is None:
            raise InputError(
                f"There are {len(self.item_names):,} items, and the whole matrix is kept for up "
                f"to {MOST_ITEMS_IN_MATRIX:,}. Use to_frame() for the largest pairs, or give "
                "responses.select(items=[...])."
            )
        return pd.DataFrame(
            self.matrix, index=pd.Index(self.item_names, name="item"), columns=self.item_names
        )

    def to_frame(self) -> pd.DataFrame:
        """One row per pair, the surest first."""
        import pandas as pd

        return pd.DataFrame(
            {
                "item": self.first,
                "other": self.second,
                "q3": self.pair_q3,
                "q3_adjusted": self.q3_adjusted,
                "z": self.z,
                "p": self.p,
                "p_adjusted": self.p_adjusted,
                "n": self.n,
                "dependent": self.dependent,
            }
        )

    @property
    def meaning(self) -> str:
        """How many pairs depend on each other, and which ones most."""
        said = "" if not self.notes else f" ({'; '.join(self.notes)})"
        if self.n_pairs == 0:
            return f"There is no pair of items to compare{said}."
        pairs = counted(self.n_pairs, "pair")
        if self.n_dependent == 0:
            return (
                f"Among {pairs} of items, no dependence beyond the ability was found, after "
                f"correction for multiple tests{said}."
            )
        rows = np.flatnonzero(self.dependent)
        names = [
            f"{self.first[k]} with {self.second[k]} {self.q3_adjusted[k]:+.2f}" for k in rows[:3]
        ]
        more = ", ..." if self.n_dependent > len(names) else ""
        verb = "depends" if self.n_dependent == 1 else "depend"
        return (
            f"{self.n_dependent:,} of {pairs} of items {verb} on each other beyond the ability: "
            f"{', '.join(names)}{more}; such items count the same information twice{said}. "
            f"{REMEDY}"
        )

    def plot(self, **kw: Any) -> Display:
        """All pairs as a heat map for up to 40 items, else the listed pairs as dots."""
        from itemwise.displays import DISPLAYS

        few = len(self.item_names) <= MOST_ITEMS_IN_MAP
        frame = self._all_pairs() if few and self.n_pairs else self.to_frame()
        return DISPLAYS["pairs"](frame).plot(**kw)

    def _all_pairs(self) -> pd.DataFrame:
        import pandas as pd

        assert self.matrix is not None  # noqa: S101 - few items have their matrix
        assert self.marked is not None  # noqa: S101
        left, right = np.triu_indices(len(self.item_names), 1)
        return pd.DataFrame(
            {
                "item": [self.item_names[k] for k in left],
                "other": [self.item_names[k] for k in right],
                "q3_adjusted": self.matrix[left, right] - self.mean_q3,
                "dependent": self.marked[left, right],
            }
        )


def local_dependence(
    calibration: Calibration,
    responses: Table | None = None,
    method: str = "eap",
    max_pairs: int = 50,
) -> LocalDependence:
    """Find pairs of items whose residuals are correlated.

    `responses` are the calibration's own unless given; `method` estimates the abilities; at
    most `max_pairs` pairs are listed. Pairs are compared over the respondents who answered both.
    `z` is the sum of products of residuals, less what the model expects of it, over its standard
    error: the larger of the model's and the observed one, so that a few wrong responses in common
    are not taken for dependence. Items to which all responses are the same have no Q3.

    The frame has one row per pair: item, other, q3 (Yen, 1984), q3_adjusted, z, p, p_adjusted, n,
    dependent.

    >>> import itemwise as iw
    >>> found = iw.calibrate(iw.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> iw.local_dependence(found, max_pairs=3).to_frame()["dependent"].tolist()
    [False, False, False]
    """
    table, weights = own_or_given(calibration, responses, "local_dependence")
    if isinstance(max_pairs, bool) or not isinstance(max_pairs, int) or max_pairs < 1:
        raise InputError(f"max_pairs is {max_pairs!r}; give how many pairs to list, 1 or more.")
    residuals, notes = _residuals(calibration, table, weights, method)
    return _diagnosed(_Pairs(residuals), max_pairs, notes)


@dataclass(frozen=True, eq=False)
class _Part:
    """Some respondents and items; each (n_rows, n_items), 0 where never asked."""

    asked: Floats  # one column where everything was
    residual: Floats
    variance: Floats
    pull: Floats  # how far the residual moves with the error of the ability estimate


@dataclass(frozen=True, eq=False)
class _Residuals:
    """Response less expected response, made when asked for: the whole table may be large."""

    calibration: Calibration
    table: Responses
    places: np.ndarray  # in the bank, of the items of the table
    rows: np.ndarray  # of the table
    ability: Floats
    se: Floats
    weights: Floats

    def part(self, rows: slice, items: slice) -> _Part:
        model = self.calibration.model.of_items(self.places[items])
        coords = self.calibration.coords[self.places[items]]
        ability, se = self.ability[rows], self.se[rows]
        values = as_floats(self.table.cells[self.rows[rows], items])
        asked = ~np.isnan(values)
        step = NUDGE * max(float(np.std(self.ability)), 1.0)
        rise = model.expected(coords, ability + step) - model.expected(coords, ability - step)
        residual = np.where(asked, values - model.expected(coords, ability).T, 0.0)
        variance = np.where(asked, model.variance(coords, ability).T, 0.0)
        pull = np.where(asked, rise.T * (se / (2 * step))[:, None], 0.0)
        whole = np.ones((len(ability), 1))
        return _Part(whole if self.table.complete else asked * 1.0, residual, variance, pull)

    @property
    def constant(self) -> np.ndarray:
        """Items to which all responses are the same, or none was given."""
        found = []
        for items in row_blocks(len(self.places), STRIP):
            values = as_floats(self.table.cells[self.rows, items])
            low = np.where(np.isnan(values), np.inf, values).min(axis=0)
            high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
            found.append(low >= high)
        return np.concatenate(found)


def _residuals(
    calibration: Calibration, table: Responses, weights: Floats, method: str
) -> tuple[_Residuals, list[str]]:
    place = {name: k for k, name in enumerate(calibration.item_names)}
    scored = calibration.score(
        table, method, items_known=True
    )  # refuses items that the bank does not know
    rows, notes = np.arange(table.n_respondents), []
    stride = int(np.ceil(table.n_respondents * table.n_items**2 / MOST_WORK))
    if stride > 1:
        rows = rows[::stride]
        notes.append(f"from {len(rows):,} of {counted(table.n_respondents, 'respondent')}")
    se = scored["se"].to_numpy()[rows]
    residuals = _Residuals(
        calibration,
        table,
        np.array([place[name] for name in table.items]),
        rows,
        scored["ability"].to_numpy()[rows],
        np.where(np.isfinite(se), se, 0.0),
        weights[rows],
    )
    return residuals, notes


class _Pairs:
    """Q3 of all pairs, strip by strip: the surest, the mean, and the matrix if it is small."""

    def __init__(self, residuals: _Residuals) -> None:
        n_items = len(residuals.places)
        self.names = residuals.table.items
        self.constant = residuals.constant
        self.matrix = (
            np.full((n_items, n_items), np.nan) if n_items <= MOST_ITEMS_IN_MATRIX else None
        )
        self.count, self.sum, self.least = 0, 0.0, 0.0
        self.best = np.empty((0, 5))  # first, second, q3, z, n
        strips = row_blocks(n_items, STRIP)
        for k, left in enumerate(strips):
            for right in strips[k:]:
                self._take(left, right, *_compared(residuals, left, right))
        size = -np.abs(self.best[:, 3])  # ties in the order of the items
        self.best = self.best[np.lexsort((self.best[:, 1], self.best[:, 0], size))]

    def _take(self, left: slice, right: slice, q3: Floats, z: Floats, n: Floats) -> None:
        q3[self.constant[left]] = np.nan
        q3[:, self.constant[right]] = np.nan
        if self.matrix is not None:
            self.matrix[left, right] = q3
            self.matrix[right, left] = q3.T
        first = np.arange(left.start, left.stop)[:, None]
        second = np.arange(right.start, right.stop)[None]
        there = (first < second) & np.isfinite(q3)
        self.count += int(np.count_nonzero(there))
        self.sum += float(q3[there].sum())
        rows, columns = np.nonzero(there & (np.abs(z) >= self.least))
        at = rows, columns
        new = np.stack([rows + left.start, columns + right.start, q3[at], z[at], n[at]], axis=1)
        self.best = np.vstack([self.best, new])
        if len(self.best) > KEPT_PAIRS:
            sizes = np.abs(self.best[:, 3])
            self.least = float(np.partition(sizes, -KEPT_PAIRS)[-KEPT_PAIRS])
            self.best = self.best[sizes >= self.least]


def _compared(residuals: _Residuals, left: slice, right: slice) -> tuple[Floats, Floats, Floats]:
    """Q3, z and the number of common respondents of all pairs of two strips of items."""
    n_rows = len(residuals.rows)
    widest = max(left.stop - left.start, right.stop - right.start)
    totals: list[Floats] | None = None
    for rows in row_blocks(n_rows, max(64, STRIP_CELLS // widest)):
        one = residuals.part(rows, left)
        other = one if left == right else residuals.part(rows, right)
        sums = _sums(one, other, residuals.weights[rows][:, None])
        totals = sums if totals is None else [a + b for a, b in zip(totals, sums, strict=True)]
    assert totals is not None  # noqa: S101 - a table has rows
    n, cross, mean_one, mean_other, square_one, square_other, spread, variance, pull = totals
    common = np.maximum(n, 1.0)
    covariance = cross - mean_one * mean_other / common
    scale = (square_one - mean_one**2 / common) * (square_other - mean_other**2 / common)
    sure = np.sqrt(np.maximum(spread, variance))
    enough = (n >= LEAST_COMMON) & (scale > 0) & (sure > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        q3 = np.where(enough, np.clip(covariance / np.sqrt(np.abs(scale)), -1, 1), np.nan)
        # The error of the ability estimate ties residuals together: their products come to
        # -variance of the estimate × slope × slope, to first order.
        z = np.where(enough, (covariance + pull) / sure, 0.0)
    return q3, z, np.broadcast_to(n, q3.shape)


def _sums(one: _Part, other: _Part, weights: Floats) -> list[Floats]:
    """What Q3 and its standard error are made of, summed over respondents."""
    residual, asked = (weights * one.residual).T, (weights * one.asked).T
    square = (weights * one.residual**2).T
    return [
        asked @ other.asked,
        residual @ other.residual,
        residual @ other.asked,
        asked @ other.residual,
        square @ other.asked,
        asked @ other.residual**2,
        square @ other.residual**2,
        (weights * one.variance).T @ other.variance,
        (weights * one.pull).T @ other.pull,
    ]


def _diagnosed(pairs: _Pairs, max_pairs: int, notes: list[str]) -> LocalDependence:
    from scipy.special import ndtr

    best = pairs.best
    mean = pairs.sum / pairs.count if pairs.count else float("nan")
    p = 2 * ndtr(-np.abs(best[:, 3]))
    p_adjusted = benjamini_hochberg(p, pairs.count)
    dependent = _dependent(p_adjusted, best[:, 2] - mean)
    if pairs.constant.any():
        names = [pairs.names[k] for k in np.flatnonzero(pairs.constant)]
        notes = [*notes, f"left out, because all responses are the same: {listed(names, 'item')}"]
    marked = None
    if pairs.matrix is not None:
        np.fill_diagonal(pairs.matrix, np.where(pairs.constant, np.nan, 1.0))
        marked = np.zeros(pairs.matrix.shape, dtype=bool)
        left, right = best[dependent, :2].astype(int).T
        marked[left, right] = marked[right, left] = True
    shown = best[:max_pairs]
    return LocalDependence(
        first=tuple(pairs.names[int(k)] for k in shown[:, 0]),
        second=tuple(pairs.names[int(k)] for k in shown[:, 1]),
        pair_q3=shown[:, 2],
        z=shown[:, 3],
        p=p[:max_pairs],
        p_adjusted=p_adjusted[:max_pairs],
        n=shown[:, 4],
        mean_q3=mean,
        n_pairs=pairs.count,
        n_dependent=int(dependent.sum()),
        item_names=pairs.names,
        matrix=pairs.matrix,
        marked=marked,
        notes=tuple(notes),
    )


def _dependent(p_adjusted: Floats, q3_adjusted: Floats) -> np.ndarray:
    found: np.ndarray = (p_adjusted < ALPHA) & (q3_adjusted >= STRONG)
    return found
