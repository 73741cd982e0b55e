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

from ogive.checks.residuals import Diagnosis, own_or_given
from ogive.data.responses import Responses, Table
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
    import pandas as pd

    from ogive.results.plots.figure import Display


MOST_WORK = 2e11  # respondents × items²; beyond, evenly spaced respondents stand for all
MOST_ITEMS_IN_MAP = 40  # that a heat map shows
POWER = 0.8  # of the correlation that is said to be shown mostly
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
        """Return one row per pair, the surest first."""
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
    def found_nothing(self) -> bool:
        """Whether no pair depends on each other."""
        return self.n_dependent == 0

    @property
    def meaning(self) -> str:
        """How many pairs depend on each other, and which ones most."""
        said = "" if not self.notes else f" ({'; '.join(self.notes)})"
        if self.n_pairs == 0:
            return f"There is no pair of items to compare{said}."
        pairs = counted(self.n_pairs, "pair")
        if self.n_dependent == 0:
            return (
                f"Among {pairs} of items, none is shown to depend on each other beyond the "
                f"ability, after correction for multiple tests{said}{self._undetected()}"
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

    def _undetected(self) -> str:
        """How strongly a pair would have to depend to be shown mostly, and what pairs hide."""
        if self.n_pairs == 1:
            return ", but there are no other pairs to compare the only one with."
        least = shown_mostly(float(np.median(self.n)), self.n_pairs)
        who = f"with {counted(round(float(np.median(self.n))), 'respondent')} per pair"
        told = (
            f"{who}, a residual correlation (Q3) of {least:.2f} above the mean would be shown in "
            f"about {POWER:.0%} of cases"
            if least < 1
            else f"{who}, no residual correlation (Q3) could be shown reliably"
        )
        return f": {told}. What many items share weakly is asked by `dimensionality`."

    def plot(self, **kw: Any) -> Display:
        """Return all pairs as a heat map for up to 40 items, else the listed pairs as dots."""
        from ogive.results.plots import DISPLAYS

        if not self.n_pairs:
            raise InputError("There is no pair of items to draw.")
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

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> og.local_dependence(found, max_pairs=3).to_frame()["dependent"].tolist()
    [False, False, False]
    """
    table, weights = own_or_given(calibration, responses, "local_dependence")
    if isinstance(max_pairs, bool) or not isinstance(max_pairs, int) or max_pairs < 1:
        raise InputError(f"max_pairs is {max_pairs!r}; give how many pairs to list, 1 or more.")
    residuals, notes = _residuals(calibration, table, weights, method)
    return _diagnosed(Pairs(residuals), max_pairs, notes)


def _residuals(
    calibration: Calibration, table: Responses, weights: Floats, method: str
) -> tuple[Residuals, list[str]]:
    """What is left of the responses at the abilities found, and a note if rows are left out."""
    place = {name: k for k, name in enumerate(calibration.item_names)}
    scored = calibration.score(
        table, method, items_known=True
    )  # refuses items that the bank does not know
    rows, notes = np.arange(table.n_respondents), []
    stride = int(np.ceil(table.n_respondents * table.n_items**2 / MOST_WORK))
    if stride > 1:
        rows = rows[::stride]
        notes.append(f"from {len(rows):,} of {counted(table.n_respondents, 'respondent')}")
    places = np.array([place[name] for name in table.items])
    se = scored["se"].to_numpy()[rows]
    residuals = Residuals(
        calibration.model.of_items(places),
        calibration.coords[places],
        table,
        rows,
        scored["ability"].to_numpy()[rows],
        np.where(np.isfinite(se), se, 0.0),
        weights[rows],
    )
    return residuals, notes


def _diagnosed(pairs: Pairs, max_pairs: int, notes: list[str]) -> LocalDependence:
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
    # Those that lie far below the mean are sure as well, but they are no dependent pairs.
    order = np.argsort(~dependent, kind="stable")[:max_pairs]
    shown = best[order]
    return LocalDependence(
        first=tuple(pairs.names[int(k)] for k in shown[:, 0]),
        second=tuple(pairs.names[int(k)] for k in shown[:, 1]),
        pair_q3=shown[:, 2],
        z=shown[:, 3],
        p=pairs.p[order],
        p_adjusted=pairs.p_adjusted[order],
        n=shown[:, 4],
        mean_q3=pairs.mean,
        n_pairs=pairs.count,
        n_dependent=int(dependent.sum()),
        item_names=pairs.names,
        matrix=pairs.matrix,
        marked=marked,
        notes=tuple(notes),
    )


def shown_mostly(n: float, n_pairs: int) -> float:
    """The least residual correlation above the mean that is shown with the probability `POWER`.

    Of two residuals that correlate by q, the squared product is 1 + 2 q² on average, so that z is
    about q √n / √(1 + 2 q²), and the correlation observed is normal about q with the standard error
    (1 - q²) / √n. It must exceed what is strong, and z the level corrected for all pairs. It is 1
    if no correlation below 1 does.
    """
    from scipy.special import ndtri

    q = np.arange(0.01, 1.0, 0.01)
    lower = q - ndtri(POWER) * (1 - q**2) / sqrt(n)  # what is observed so often, or more
    z = lower * sqrt(n) / np.sqrt(1 + 2 * lower**2)
    shown = (lower >= STRONG) & (z >= ndtri(1 - ALPHA / (2 * n_pairs)))
    return float(q[shown].min()) if shown.any() else 1.0
