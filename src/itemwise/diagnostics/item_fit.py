"""Item fit: whether respondents answer each item as its curve says.

S-X² (Orlando and Thissen, 2000; Kang and Chen, 2008) compares observed and expected responses
in groups of equal summed score; infit and outfit (Wright and Masters, 1982) weigh surprises at
the abilities found. Adjusted p-values: Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from itemwise.calibration import Calibration
from itemwise.diagnostics.diagnosis import Diagnosis, material_of, observed, population_nodes
from itemwise.models.categorical import Categorical
from itemwise.numerics.arrays import Floats, workers
from itemwise.numerics.multiplicity import benjamini_hochberg
from itemwise.scoring import Population
from itemwise.words import counted, listed, said_p

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.displays import Display
    from itemwise.responses import Table

ALPHA = 0.05
MOST_SQUARE = 1.3  # infit and outfit of a useful item lie below (Bond and Fox, 2007)
LEAST_EXPECTED = 1.0  # responses in a cell of S-X²; cells with fewer are joined to a neighbour
LEAST_PROBABILITY = 1e-12  # a category that nobody can reach is none
LEAF = 32  # items whose scores are joined to the rest by matrix products

Cells = list[float]


@dataclass(frozen=True, eq=False, repr=False)
class ItemFit(Diagnosis):
    """How well each item follows its curve.

    `s_x2` is a chi-square statistic with `s_x2_df` degrees of freedom; a small p-value says that
    the curve has the wrong form. `infit` and `outfit` are 1 where responses vary as expected,
    above 1 where they surprise; `zh` is low where responses are unlikely. They are computed
    at EAP abilities, which follow the responses: on short tests they lie below 1 and their z is too
    small. A figure that does not exist is NaN; `notes` say why.
    """

    items: tuple[str, ...]
    s_x2: Floats  # (n_items,), as all that follow
    s_x2_df: Floats
    s_x2_p: Floats
    s_x2_p_adjusted: Floats
    s_x2_rmsea: Floats
    infit: Floats
    infit_z: Floats
    outfit: Floats
    outfit_z: Floats
    zh: Floats
    n: Floats  # respondents who were asked the item
    n_complete: float  # respondents behind S-X²
    notes: tuple[str, ...] = ()

    @property
    def misfitting(self) -> tuple[str, ...]:
        """Items whose adjusted p-value of S-X² is below 0.05, the worst first."""
        order = np.argsort(self.s_x2_p, kind="stable")
        return tuple(self.items[k] for k in order if self.s_x2_p_adjusted[k] < ALPHA)

    @property
    def meaning(self) -> str:
        """One sentence for readers who are not psychometricians."""
        return f"{self._said_of_form()} {self._said_of_noise()}"

    def _said_of_form(self) -> str:
        tested = int(np.isfinite(self.s_x2_p).sum())
        if not tested:
            return "The form of the curves could not be tested."
        bad = self.misfitting
        if not bad:
            return (
                f"None of the {counted(tested, 'tested item')} departs from its curve by more "
                f"than chance (smallest adjusted {said_p(np.nanmin(self.s_x2_p_adjusted))})."
            )
        worst = self.s_x2_p_adjusted[self.items.index(bad[0])]
        return (
            f"Of {counted(tested, 'tested item')}, {listed(bad, 'item')} "
            f"{'departs from its curve' if len(bad) == 1 else 'depart from their curves'} by more "
            f"than chance (adjusted p of the worst = {worst:.2g})."
        )

    def _said_of_noise(self) -> str:
        seen = np.isfinite(self.outfit)
        noisy = np.flatnonzero(seen & (np.fmax(self.infit, self.outfit) > MOST_SQUARE))
        if not noisy.size:
            return f"No item has an infit or outfit above {MOST_SQUARE:g}."
        worst = noisy[np.argsort(-self.outfit[noisy], kind="stable")]
        names = listed([self.items[k] for k in worst], "item")
        verb = "is" if noisy.size == 1 else "are"
        return f"{names} {verb} noisier than expected (infit or outfit above {MOST_SQUARE:g})."

    def to_frame(self) -> pd.DataFrame:
        """One row per item."""
        import pandas as pd

        names = (
            *("s_x2", "s_x2_df", "s_x2_p", "s_x2_p_adjusted", "s_x2_rmsea"),
            *("infit", "infit_z", "outfit", "outfit_z", "zh", "n"),
        )
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Infit against outfit; items outside the expected band are named."""
        from itemwise.displays import DISPLAYS

        return DISPLAYS["item_fit"](self.to_frame()).plot(**kw)


def item_fit(calibration: Calibration, responses: Table | None = None) -> ItemFit:
    """Compare the responses to each item with its curve.

    The responses are those of the calibration unless others are given. Infit, outfit and zh use
    all that were observed. S-X² needs respondents who were asked all items that anybody was
    asked, and a model of ordered categories; it takes about n_items² × nodes steps: seconds for
    500 items, a minute for 2,000.

    The frame has one row per item: s_x2, s_x2_df, s_x2_p, s_x2_p_adjusted, s_x2_rmsea (Orlando and
    Thissen, 2000), infit and outfit with their z (Wright and Masters, 1982), zh (Drasgow et al.,
    1985) and n.

    >>> import itemwise as iw
    >>> found = iw.calibrate(iw.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> round(float(iw.item_fit(found).to_frame()["infit"].mean()), 1)
    0.9
    """
    material, _, _, _ = material_of(calibration, responses, "item_fit")
    fit = material.by_item()
    found, freedom, n_complete, notes = _form(calibration, material.cells, material.weights)
    p = _upper_tail(found, freedom)
    return ItemFit(
        items=calibration.item_names,
        s_x2=found,
        s_x2_df=freedom,
        s_x2_p=p,
        s_x2_p_adjusted=benjamini_hochberg(p),
        s_x2_rmsea=_rmsea(found, freedom, n_complete),
        infit=fit.infit,
        infit_z=fit.infit_z,
        outfit=fit.outfit,
        outfit_z=fit.outfit_z,
        zh=fit.zh,
        n=fit.n,
        n_complete=n_complete,
        notes=notes,
    )


def _form(
    calibration: Calibration, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats, float, tuple[str, ...]]:
    """S-X², its degrees of freedom, the number of respondents behind it, and notes."""
    nothing = np.full(cells.shape[1], np.nan)
    model = calibration.model
    if not isinstance(model, Categorical):
        return nothing, nothing, 0.0, (f"S-X² does not apply to the {model.name} model.",)
    asked = observed(cells)
    items = np.flatnonzero(asked.any(axis=0))
    rows: np.ndarray = np.asarray(asked[:, items].all(axis=1))
    n_complete = float(weights[rows].sum())
    notes = _said_of_rows(rows, n_complete)
    statistic, freedom = nothing.copy(), nothing.copy()
    if items.size and rows.any():
        part = cells[np.ix_(rows, items)]
        statistic[items], freedom[items] = s_x2(
            model, calibration.coords[items], calibration.population, part, weights[rows]
        )
    if rows.any() and np.isnan(statistic).all():
        few = "S-X² is missing: too few respondents or items for a degree of freedom."
        notes = (*notes, few)
    return statistic, freedom, n_complete, notes


def _said_of_rows(rows: np.ndarray, n_complete: float) -> tuple[str, ...]:
    if rows.all():
        return ()
    if not rows.any():
        return ("S-X² is missing: no respondent was asked every item.",)
    who = f"{counted(round(n_complete), 'respondent')} ({rows.mean():.0%})"
    return (f"S-X² uses the {who} who were asked every item.",)


def _upper_tail(statistic: Floats, freedom: Floats) -> Floats:
    from scipy.special import chdtrc

    p: Floats = chdtrc(freedom, statistic)
    return p


def _rmsea(statistic: Floats, freedom: Floats, n: float) -> Floats:
    """Misfit per degree of freedom, independent of sample size (Steiger and Lind, 1980)."""
    if n <= 1:
        return np.full(statistic.shape, np.nan)
    return np.sqrt(np.maximum(statistic - freedom, 0.0) / (freedom * (n - 1)))


@dataclass
class Group:
    """Respondents of neighbouring scores: counts of ordered cells, observed and expected."""

    size: float
    observed: Cells
    expected: Cells

    @property
    def sparse(self) -> bool:
        """Whether some cell, other than an empty one, expects too little."""
        return any(0 < count < LEAST_EXPECTED for count in self.expected)

    def take(self, other: Group) -> None:
        """Join another group, lowest cell to lowest cell."""
        self.size += other.size
        self.observed = _summed(self.observed, other.observed)
        self.expected = _summed(self.expected, other.expected)

    def join_cells(self) -> None:
        """Join neighbouring cells while more than two are left and one expects too little."""
        observed, expected = self.observed, self.expected
        while len(expected) > 2 and min(expected) < LEAST_EXPECTED:
            least = min(range(len(expected)), key=lambda k: (expected[k], -k))
            to = _smaller_neighbour(least, len(expected), expected.__getitem__)
            observed[to] += observed[least]
            expected[to] += expected[least]
            del observed[least], expected[least]


def s_x2(
    model: Categorical, coords: Floats, population: Population, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats]:
    """Statistic and degrees of freedom of each item, from complete rows; NaN without freedom.

    A coordinate that items share counts for each of them; one at its bound does not count.
    """
    n_items = coords.shape[0]
    statistic, freedom = np.full(n_items, np.nan), np.full(n_items, np.nan)
    if n_items < 2 or len(cells) == 0:
        return statistic, freedom
    nodes, shares = population_nodes(model, coords, population)
    prob = np.exp(model.log_prob(coords, nodes.fine))
    widths = _widths(prob)
    estimated = (~np.asarray(model.at_bound(coords))).sum(axis=1)
    scores, place = np.unique(cells.sum(axis=1, dtype=np.intp), return_inverse=True)
    sizes = np.bincount(place, weights).astype(np.float64)
    highest = int((widths - 1).sum())
    with workers(1):  # products of matrices that small only wait for each other
        for item, joint in joint_with_score(prob, shares):
            expected = _expected(joint[scores], sizes)
            counted = _observed(cells[:, item], place, weights, expected.shape)
            groups = _by_score(scores, counted, expected, int(widths[item]), highest)
            found, free = _compared(joined(groups))
            if free > estimated[item]:
                statistic[item], freedom[item] = found, free - estimated[item]
    return statistic, freedom


def _widths(prob: Floats) -> np.ndarray:
    """How many categories each item has: those above its last reachable one are absent."""
    reachable = prob.max(axis=2) > LEAST_PROBABILITY
    last = len(prob) - np.argmax(reachable[::-1], axis=0)
    widths: np.ndarray = np.maximum(last, 2)
    return widths


def _expected(joint: Floats, sizes: Floats) -> Floats:
    """Expected counts of the categories at each score that was seen."""
    total = joint.sum(axis=1)
    share = np.divide(sizes, total, out=np.zeros_like(total), where=total > 0)
    counts: Floats = joint * share[:, None]
    return counts


def _observed(
    codes: np.ndarray, place: np.ndarray, weights: Floats, shape: tuple[int, ...]
) -> Floats:
    """Counts of the categories at each score that was seen."""
    where = place * shape[1] + codes
    counts = np.bincount(where, weights, shape[0] * shape[1]).astype(np.float64)
    return counts.reshape(shape)


def _by_score(
    scores: np.ndarray, observed: Floats, expected: Floats, width: int, highest: int
) -> list[Group]:
    """One group a score. The lowest and highest of all leave no choice and say nothing.

    Scores at which not every category is possible go to the nearest at which it is.
    """
    low, high = width - 1, max(highest - width + 1, width - 1)
    groups: dict[int, Group] = {}
    for score, counts, means in zip(scores.tolist(), observed, expected, strict=True):
        if not 0 < score < highest or not means.any():
            continue
        at = min(max(score, low), high)
        new = Group(float(counts.sum()), counts[:width].tolist(), means[:width].tolist())
        if at in groups:
            groups[at].take(new)
        else:
            groups[at] = new
    return list(groups.values())


def joined(groups: list[Group]) -> list[Group]:
    """Groups whose cells all expect enough: cells are joined first, then groups.

    A group joins the smaller of its neighbours, the lower one where they are equal.
    """
    for group in groups:
        group.join_cells()
    k = 0
    while k < len(groups):
        if not groups[k].sparse or len(groups) == 1:
            k += 1
            continue
        to = _smaller_neighbour(k, len(groups), lambda i: groups[i].size)
        groups[to].take(groups[k])
        del groups[k]
        k = min(k, to)
    return groups


def _smaller_neighbour(k: int, count: int, size: Callable[[int], float]) -> int:
    """Position of the smaller of the two neighbours, the lower one where they are equal."""
    if k == 0:
        return 1
    if k == count - 1:
        return k - 1
    return k - 1 if size(k - 1) <= size(k + 1) else k + 1


def _summed(left: Cells, right: Cells) -> Cells:
    return [a + b for a, b in zip_longest(left, right, fillvalue=0.0)]


def _compared(groups: list[Group]) -> tuple[float, int]:
    """Pearson's statistic and the cells that are free, before parameters are counted."""
    total, free = 0.0, 0
    for group in groups:
        if group.sparse:
            return np.nan, 0
        pairs = [(o, e) for o, e in zip(group.observed, group.expected, strict=True) if e > 0]
        total += sum((o - e) ** 2 / e for o, e in pairs)
        free += len(pairs) - 1
    return total, free


def joint_with_score(prob: Floats, weights: Floats) -> Iterator[tuple[int, Floats]]:
    """Of each item, its position and the probability of score and category together.

    `prob` is (n_categories, n_items, n_nodes), `weights` (n_nodes,); an array of the result is
    (n_scores, n_categories), where the score counts the item itself.
    """
    n_categories, n_items, n_nodes = prob.shape
    n_scores = n_items * (n_categories - 1) + 1
    alone = np.ones((1, n_nodes))
    for leaf, outside in _outside(prob, range(n_items), alone, LEAF):
        sums = np.zeros((len(leaf), n_categories, n_scores))
        part = prob[:, leaf.start : leaf.stop]
        inside = [rest for _, rest in _outside(part, range(len(leaf)), alone, 1)]
        weighted = np.stack(inside) * weights  # items, scores within the leaf, nodes
        by_category = np.moveaxis(part, 0, 1)[:, :, None] * weighted[:, None]
        _add_outside(sums, by_category, outside)
        for k, item in enumerate(leaf):
            yield item, sums[k].T


def _add_outside(sums: Floats, inside: Floats, outside: Floats) -> None:
    """Join scores within a leaf, (n_items, n_categories, n_inside, n_nodes), to those outside."""
    n_items, n_categories, n_inside, n_nodes = inside.shape
    for score in range(n_inside):
        rows = inside[:, :, score].reshape(-1, n_nodes)
        found = (rows @ outside.T).reshape(n_items, n_categories, -1)
        for category in range(n_categories):
            first = score + category
            sums[:, category, first : first + len(outside)] += found[:, category]


def _outside(
    prob: Floats, items: range, outside: Floats, smallest: int
) -> Iterator[tuple[range, Floats]]:
    """Halve `items` until they are `smallest`; give each part the scores of all other items."""
    if len(items) <= smallest:
        yield items, outside
        return
    middle = len(items) // 2
    halves = items[:middle], items[middle:]
    for half, other in (halves, halves[::-1]):
        yield from _outside(prob, half, convolved(outside, _inside(prob, other)), smallest)


def _inside(prob: Floats, items: range) -> Floats:
    """Distribution of the summed score of some items, (n_scores, n_nodes)."""
    if len(items) == 1:
        return prob[:, items.start]
    middle = len(items) // 2
    return convolved(_inside(prob, items[:middle]), _inside(prob, items[middle:]))


def convolved(left: Floats, right: Floats) -> Floats:
    """Distribution of the sum of two independent scores, node by node."""
    if len(left) < len(right):
        left, right = right, left
    total = np.zeros((len(left) + len(right) - 1, left.shape[1]))
    product = np.empty_like(left)
    for score, chance in enumerate(right):
        np.multiply(left, chance, out=product)
        total[score : score + len(left)] += product
    return total
