"""Local dependence: pairs of items that have more in common than the ability (Yen, 1984).

Q3 is the correlation of what two items leave unexplained, response less expected response at the
ability estimates. Each ability was estimated from these very responses, so that Q3 lies below zero
where nothing is wrong: by about 1 / (items - 1) on average, which is why Christensen, Makransky and
Horton (2017) judge what exceeds the mean of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from ogive.checks.residuals import Diagnosis, own_or_given
from ogive.data.responses import Table
from ogive.errors import InputError
from ogive.irt.calibration import Calibration
from ogive.irt.local_dependence import (
    ALPHA,
    MOST_ITEMS_IN_MATRIX,
    STRONG,
    Pairs,
    Residuals,
    are_dependent,
)
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

MOST_WORK = 2e11  # respondents × items² above which evenly spaced respondents stand for all
MOST_ITEMS_IN_MAP = 40  # items that a heat map shows
POWER = 0.8  # probability with which the smallest detectable correlation is detected
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
        return are_dependent(self.p_adjusted, self.q3_adjusted)

    @property
    def q3(self) -> pd.DataFrame:
        """Q3 of every pair, items × items, 1 on the diagonal; kept for up to 1000 items."""
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
        """Return one row per pair, the surest first."""
        pairs = {"item": self.first, "other": self.second, "q3": self.pair_q3}
        names = ("q3_adjusted", "z", "p", "p_adjusted", "n", "dependent")
        return pd.DataFrame(pairs | self._columns(names))

    @property
    def found_nothing(self) -> bool:
        """True if no pair depends on each other."""
        return self.n_dependent == 0

    @property
    def meaning(self) -> str:
        """How many pairs depend on each other, and which ones most."""
        notes = f" ({'; '.join(self.notes)})" if self.notes else ""
        if self.n_pairs == 0:
            return f"There is no pair of items to compare{notes}."
        pairs = counted(self.n_pairs, "pair")
        if self.n_dependent == 0:
            return (
                f"Among {pairs} of items, none is shown to depend on each other beyond the "
                f"ability, after correction for multiple tests{notes}{self._undetected()}"
            )
        names = [
            f"{self.first[k]} with {self.second[k]} {self.q3_adjusted[k]:+.2f}"
            for k in np.flatnonzero(self.dependent)[:3]
        ]
        more = ", ..." if self.n_dependent > len(names) else ""
        verb = "depends" if self.n_dependent == 1 else "depend"
        return (
            f"{self.n_dependent:,} of {pairs} of items {verb} on each other beyond the ability: "
            f"{', '.join(names)}{more}; such items count the same information twice{notes}. "
            f"{REMEDY}"
        )

    def _undetected(self) -> str:
        """Return how strongly a pair would have to depend to be detected."""
        if self.n_pairs == 1:
            return ", but there are no other pairs to compare the only one with."
        n = float(np.median(self.n))
        least = min_detectable_q3(n, self.n_pairs)
        shown = "no residual correlation (Q3) could be shown reliably"
        if least < 1:
            shown = (
                f"a residual correlation (Q3) of {least:.2f} above the mean would be shown in "
                f"about {POWER:.0%} of cases"
            )
        who = f"with {counted(round(n), 'respondent')} per pair"
        return f": {who}, {shown}. What many items share weakly is asked by `dimensionality`."

    def plot(self, **kw: Any) -> Display:
        """Draw all pairs as a heat map for up to 40 items, else the listed pairs as dots."""
        from ogive.results.plots import DISPLAYS

        if not self.n_pairs:
            raise InputError("There is no pair of items to draw.")
        frame = self.to_frame()
        if len(self.item_names) <= MOST_ITEMS_IN_MAP:
            assert self.matrix is not None  # noqa: S101 - few items have their matrix
            assert self.marked is not None  # noqa: S101
            left, right = np.triu_indices(len(self.item_names), 1)
            columns = {
                "item": [self.item_names[k] for k in left],
                "other": [self.item_names[k] for k in right],
                "q3_adjusted": self.matrix[left, right] - self.mean_q3,
                "dependent": self.marked[left, right],
            }
            frame = pd.DataFrame(columns)
        return DISPLAYS["pairs"](frame).plot(**kw)


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

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> og.local_dependence(found, max_pairs=3).to_frame()["dependent"].tolist()
    [False, False, False]
    """
    table, weights = own_or_given(calibration, responses, "local_dependence")
    if isinstance(max_pairs, bool) or not isinstance(max_pairs, int) or max_pairs < 1:
        raise InputError(
            f"`max_pairs` must be how many pairs to list, 1 or more, got {max_pairs!r}."
        )
    scored = calibration.score(table, method, items_known=True)  # refuses unknown items
    rows, notes = np.arange(table.n_respondents), []
    stride = int(np.ceil(table.n_respondents * table.n_items**2 / MOST_WORK))
    if stride > 1:
        rows = rows[::stride]
        notes.append(f"from {len(rows):,} of {counted(table.n_respondents, 'respondent')}")
    column = {name: k for k, name in enumerate(calibration.item_names)}
    items = np.array([column[name] for name in table.items])
    ability, se = (scored[name].to_numpy()[rows] for name in ("ability", "se"))
    model, coords = calibration.model.of_items(items), calibration.coords[items]
    se = np.where(np.isfinite(se), se, 0.0)
    pairs = Pairs(Residuals(model, coords, table, rows, ability, se, weights[rows]))
    return _dependence_of(pairs, max_pairs, notes)


def _dependence_of(pairs: Pairs, max_pairs: int, notes: list[str]) -> LocalDependence:
    best, dependent = pairs.best, pairs.dependent
    if pairs.constant.any():
        names = [pairs.names[k] for k in np.flatnonzero(pairs.constant)]
        notes = [*notes, f"left out, because all responses are the same: {listed(names, 'item')}"]
    marked = None
    if pairs.matrix is not None:
        np.fill_diagonal(pairs.matrix, np.where(pairs.constant, np.nan, 1.0))
        marked = np.zeros(pairs.matrix.shape, dtype=bool)
        left, right = best[dependent, :2].astype(int).T
        marked[left, right] = marked[right, left] = True
    # Pairs far below the mean are significant as well, but they are not dependent.
    order = np.argsort(~dependent, kind="stable")[:max_pairs]
    listed_pairs = best[order]
    return LocalDependence(
        first=tuple(pairs.names[int(k)] for k in listed_pairs[:, 0]),
        second=tuple(pairs.names[int(k)] for k in listed_pairs[:, 1]),
        pair_q3=listed_pairs[:, 2],
        z=listed_pairs[:, 3],
        p=pairs.p[order],
        p_adjusted=pairs.p_adjusted[order],
        n=listed_pairs[:, 4],
        mean_q3=pairs.mean,
        n_pairs=pairs.count,
        n_dependent=int(dependent.sum()),
        item_names=pairs.names,
        matrix=pairs.matrix,
        marked=marked,
        notes=tuple(notes),
    )


def min_detectable_q3(n: float, n_pairs: int) -> float:
    """Return the least residual correlation above the mean that is detected with power `POWER`.

    The squared product of two residuals that correlate by q is 1 + 2 q² on average, so that z is
    about q √n / √(1 + 2 q²), and the observed correlation is normal about q with standard error
    (1 - q²) / √n. It must exceed what is strong, and z the level corrected for all pairs. It is 1
    if no correlation below 1 does.
    """
    q = np.arange(0.01, 1.0, 0.01)
    observed = q - ndtri(POWER) * (1 - q**2) / sqrt(n)  # exceeded with probability `POWER`
    z = observed * sqrt(n) / np.sqrt(1 + 2 * observed**2)
    detected = (observed >= STRONG) & (z >= ndtri(1 - ALPHA / (2 * n_pairs)))
    return float(q[detected].min()) if detected.any() else 1.0
