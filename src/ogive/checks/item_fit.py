"""S-X² in score groups, noisy items.

Groups of neighbouring summed scores, joined until each of their cells expects enough.

S-X²: responses observed and expected in groups of equal summed score.

Orlando and Thissen (2000); for items of more than two categories, Kang and Chen (2008).

Item fit: whether respondents answer each item as its curve says.

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

from ogive.checks.residuals import Diagnosis, left_out, material_of, observed, population_nodes
from ogive.irt.calibration import Calibration
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import Population
from ogive.irt.summed_scores import joint_with_number_right, joint_with_score
from ogive.results.numbers import counted, listed, said_p
from ogive.stats.array_backend import Floats, row_blocks, workers
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    import pandas as pd

    from ogive.data.responses import Table
    from ogive.results.plots.figure import Display


LEAST_EXPECTED = 1.0  # responses in a cell of S-X²; cells with fewer are joined to a neighbour

Cells = list[float]


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


def by_score(
    scores: np.ndarray, observed: Floats, expected: Floats, width: int, highest: int
) -> list[Group]:
    """Return one group a score. The lowest and highest of all leave no choice and say nothing.

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
    """Return groups whose cells all expect enough: cells are joined first, then groups.

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
    """Return position of the smaller of the two neighbours, the lower one where they are equal."""
    if k == 0:
        return 1
    if k == count - 1:
        return k - 1
    return k - 1 if size(k - 1) <= size(k + 1) else k + 1


def _summed(left: Cells, right: Cells) -> Cells:
    return [a + b for a, b in zip_longest(left, right, fillvalue=0.0)]


def compared(groups: list[Group]) -> tuple[float, int]:
    """Return Pearson's statistic and the cells that are free, before parameters are counted."""
    total, free = 0.0, 0
    for group in groups:
        if group.sparse:
            return np.nan, 0
        pairs = [(o, e) for o, e in zip(group.observed, group.expected, strict=True) if e > 0]
        total += sum((o - e) ** 2 / e for o, e in pairs)
        free += len(pairs) - 1
    return total, free


def of_two_cells(sizes: Floats, observed: Floats, expected: Floats) -> tuple[Floats, Floats]:
    """Pearson's statistic and the free cells of many items at once, as `joined` would have it.

    `sizes` are those of the groups, in the order of their scores; `observed` and `expected` are
    (2, n_groups, n_items), and nothing that is expected is 0. Groups before the one that is
    looked at expect enough; only the last of them may still grow.
    """
    n_items = observed.shape[2]
    statistic, free = np.zeros(n_items), np.zeros(n_items)
    size, held = np.zeros(n_items), np.zeros((2, 2, n_items))  # observed and expected, by cell
    last_size, last = np.full(n_items, np.inf), np.ones((2, 2, n_items))
    any_last = np.zeros(n_items, dtype=bool)
    for k, more in enumerate(sizes):
        size += more
        held[0] += observed[:, k]
        held[1] += expected[:, k]
        sparse = (held[1] < LEAST_EXPECTED).any(axis=0)
        following = sizes[k + 1] if k + 1 < len(sizes) else np.inf
        back = sparse & any_last & (last_size <= following)
        done = ~sparse
        ended = done & any_last
        statistic += np.where(ended, ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0), 0.0)
        free += ended
        last = np.where(done, held, np.where(back, last + held, last))
        last_size = np.where(done, size, np.where(back, last_size + size, last_size))
        any_last |= done
        kept = ~(done | back)
        size *= kept
        held *= kept
    statistic += ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0)
    free += any_last
    return np.where(any_last, statistic, np.nan), free


LEAST_PROBABILITY = 1e-12  # a category that nobody can reach is none
MANY_ITEMS = 500  # beyond, one item is divided out of the distribution of all
ITEMS_AT_A_TIME = 512


def s_x2(
    model: Categorical, coords: Floats, population: Population, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats]:
    """Statistic and degrees of freedom of each item, from complete rows; NaN without freedom.

    A coordinate that items share counts for each of them; one at its bound does not count.
    """
    n_items = coords.shape[0]
    if n_items < 2 or len(cells) == 0:
        return np.full(n_items, np.nan), np.full(n_items, np.nan)
    nodes, shares = population_nodes(model, coords, population)
    work = _of_two_categories if model.n_categories == 2 else _of_many_categories
    with workers(1):  # products of matrices that small only wait for each other
        statistic, free = work(model, coords, nodes.fine, shares, cells, weights)
    estimated = (~np.asarray(model.at_bound(coords))).sum(axis=1)
    enough = free > estimated
    return np.where(enough, statistic, np.nan), np.where(enough, free - estimated, np.nan)


def _of_many_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    shares: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return statistic and free cells of each item, one item after the other."""
    prob = np.exp(model.log_prob(coords, nodes))
    widths = _widths(prob)
    scores, place = np.unique(cells.sum(axis=1, dtype=np.intp), return_inverse=True)
    sizes = np.bincount(place, weights).astype(np.float64)
    highest = int((widths - 1).sum())
    statistic, free = np.full(len(coords), np.nan), np.zeros(len(coords))
    for item, joint in joint_with_score(prob, shares, scores):
        expected = _expected(joint, sizes)
        counted = _observed(cells[:, item], place, weights, expected.shape)
        groups = by_score(scores, counted, expected, int(widths[item]), highest)
        statistic[item], free[item] = compared(joined(groups))
    return statistic, free


def _of_two_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    shares: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return statistic and free cells of each item, many items together."""
    n_items = len(coords)
    statistic, free = np.full(n_items, np.nan), np.zeros(n_items)
    number = cells.sum(axis=1, dtype=np.intp)
    rows = np.flatnonzero((number > 0) & (number < n_items))  # all others had no choice
    rows = rows[np.argsort(number[rows], kind="stable")]
    if not rows.size:
        return statistic, free
    scores, starts = np.unique(number[rows], return_index=True)
    sizes = np.add.reduceat(weights[rows], starts)
    for items, joint in _joint(model, coords, nodes, shares, scores):
        total = joint.sum(axis=0)
        known = total.any(axis=1)
        share = np.divide(sizes[:, None], total, out=np.zeros_like(total), where=total > 0)
        right = np.add.reduceat(weights[rows, None] * cells[rows, items], starts, axis=0)
        observed = np.stack([sizes[:, None] - right, right])[:, known]
        expected = (joint * share)[:, known]
        statistic[items], free[items] = of_two_cells(sizes[known], observed, expected)
        for k in np.flatnonzero((expected == 0).any(axis=(0, 1))):  # a response that is impossible
            pairs = observed[:, :, k].T, expected[:, :, k].T
            groups = by_score(scores[known], *pairs, 2, n_items)
            at = items.start + int(k)
            statistic[at], free[at] = compared(joined(groups))
    return statistic, free


def _joint(
    model: Categorical, coords: Floats, nodes: Floats, shares: Floats, scores: np.ndarray
) -> Iterator[tuple[slice, Floats]]:
    """Yield of blocks of items, the chance of scores with a wrong and with a right response."""
    if len(coords) <= MANY_ITEMS:
        prob = np.exp(model.log_prob(coords, nodes))
        joint = np.stack([each for _, each in joint_with_score(prob, shares, scores)])
        yield slice(0, len(coords)), np.moveaxis(joint, (0, 1, 2), (2, 1, 0))
        return
    right = np.empty((len(coords), len(nodes)))
    for items in row_blocks(len(coords), ITEMS_AT_A_TIME):
        part = model.of_items(np.arange(items.start, items.stop))
        right[items] = np.exp(part.log_prob(coords[items], nodes)[1])
    yield from joint_with_number_right(right, shares, scores)


def _widths(prob: Floats) -> np.ndarray:
    """Return how many categories each item has: those above its last reachable one are absent."""
    reachable = prob.max(axis=2) > LEAST_PROBABILITY
    last = len(prob) - np.argmax(reachable[::-1], axis=0)
    widths: np.ndarray = np.maximum(last, 2)
    return widths


def _expected(joint: Floats, sizes: Floats) -> Floats:
    """Return expected counts of the categories at each score that was seen."""
    total = joint.sum(axis=1)
    share = np.divide(sizes, total, out=np.zeros_like(total), where=total > 0)
    counts: Floats = joint * share[:, None]
    return counts


def _observed(
    codes: np.ndarray, place: np.ndarray, weights: Floats, shape: tuple[int, ...]
) -> Floats:
    """Return counts of the categories at each score that was seen."""
    where = place * shape[1] + codes
    counts = np.bincount(where, weights, shape[0] * shape[1]).astype(np.float64)
    return counts.reshape(shape)


ALPHA = 0.05
MOST_SCORES = 4_000  # summed scores of graded items, of which S-X² needs all distributions
TOO_MANY_SCORES = (
    f"S-X² of graded items is left out above {MOST_SCORES:,} possible summed scores: what it costs "
    "grows with their square. Ask for some of the items, with responses.select(items=[...])."
)


@dataclass(frozen=True, eq=False, repr=False)
class ItemFit(Diagnosis):
    """How well each item follows its curve.

    `s_x2` is a chi-square statistic with `s_x2_df` degrees of freedom; a small p-value says that
    the curve has the wrong form. `infit` and `outfit` are 1 where responses vary as expected,
    above 1 where they surprise; `infit_se` and `outfit_se` say how far chance takes them from 1
    with so many responses, and `noise_p` how likely chance makes an item as noisy, by the larger
    of the two. `zh` is low where responses are unlikely. All are computed at EAP abilities, which
    follow the responses: on short tests they lie below 1 and their z is too small. A figure that
    does not exist is NaN; `notes` say why.
    """

    items: tuple[str, ...]
    s_x2: Floats  # (n_items,), as all that follow
    s_x2_df: Floats
    s_x2_p: Floats
    s_x2_p_adjusted: Floats
    s_x2_rmsea: Floats
    infit: Floats
    infit_se: Floats
    infit_z: Floats
    outfit: Floats
    outfit_se: Floats
    outfit_z: Floats
    noise_p: Floats
    noise_p_adjusted: Floats
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
    def noisy(self) -> tuple[str, ...]:
        """Items that are noisier than chance makes them (adjusted p below 0.05), worst first."""
        order = np.argsort(self.noise_p, kind="stable")
        return tuple(self.items[k] for k in order if self.noise_p_adjusted[k] < ALPHA)

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
        tested, noisy = int(np.isfinite(self.noise_p).sum()), self.noisy
        if not tested:
            return "How noisy items are could not be tested."
        if not noisy:
            return (
                f"None of {counted(tested, 'item')} is noisier than chance makes it (infit and "
                f"outfit; smallest adjusted {said_p(np.nanmin(self.noise_p_adjusted))})."
                f"{self._untested()}"
            )
        verb = "is" if len(noisy) == 1 else "are"
        return (
            f"{listed(noisy, 'item')} {verb} noisier than expected (infit or outfit, after "
            f"correction for {counted(tested, 'test')}).{self._untested()}"
        )

    def _untested(self) -> str:
        """Return why some items with differing responses were not tested for noise."""
        n_others = int((np.isfinite(self.infit) & np.isnan(self.noise_p)).sum())
        if not n_others:
            return ""
        return (
            f" {counted(n_others, 'other item')} could not be tested: responses vary, but a single "
            "one decides infit and outfit there (standard errors above 1)."
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item."""
        import pandas as pd

        names = (
            *("s_x2", "s_x2_df", "s_x2_p", "s_x2_p_adjusted", "s_x2_rmsea"),
            *("infit", "infit_se", "infit_z", "outfit", "outfit_se", "outfit_z"),
            *("noise_p", "noise_p_adjusted", "zh", "n"),
        )
        columns = {name: getattr(self, name) for name in names}
        return pd.DataFrame(columns, index=pd.Index(self.items, name="item"))

    def plot(self, **kw: Any) -> Display:
        """Return infit against outfit; items noisier than chance, or off their curve, are named."""
        from ogive.results.plots import DISPLAYS

        return DISPLAYS["item_fit"](self.to_frame()).plot(**kw)


def item_fit(calibration: Calibration, responses: Table | None = None) -> ItemFit:
    """Compare the responses to each item with its curve.

    The responses are those of the calibration unless others are given. Infit, outfit and zh use
    all that were observed. S-X² needs respondents who were asked all items that anybody was
    asked, and a model of ordered categories; with more than two categories it takes about
    n_items² × nodes steps: seconds for 500 items, a minute for 2,000. With two it takes seconds for
    20,000 items. Items to which all responses are the same have no infit, outfit and zh, nor have
    scores of which fewer than five differ from the others.

    The frame has one row per item: s_x2, s_x2_df, s_x2_p, s_x2_p_adjusted, s_x2_rmsea (Orlando and
    Thissen, 2000), infit and outfit with se and z (Wright and Masters, 1982), noise_p,
    noise_p_adjusted, zh (Drasgow et al., 1985) and n.

    >>> import ogive as og
    >>> found = og.calibrate(og.simulate("2pl", 200, 10, random_state=0).responses, "2pl")
    >>> round(float(og.item_fit(found).to_frame()["infit"].mean()), 1)
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
        infit_se=fit.infit_se,
        infit_z=fit.infit_z,
        outfit=fit.outfit,
        outfit_se=fit.outfit_se,
        outfit_z=fit.outfit_z,
        noise_p=fit.noise_p,
        noise_p_adjusted=benjamini_hochberg(fit.noise_p),
        zh=fit.zh,
        n=material.weights @ material.asked,
        n_complete=n_complete,
        notes=(*notes, *left_out(calibration, material.told)),
    )


def _form(
    calibration: Calibration, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats, float, tuple[str, ...]]:
    """Return s-X², its degrees of freedom, the number of respondents behind it, and notes."""
    nothing = np.full(cells.shape[1], np.nan)
    model = calibration.model
    if not isinstance(model, Categorical):
        return nothing, nothing, 0.0, (f"S-X² does not apply to the {model.name} model.",)
    asked = observed(cells)
    items = np.flatnonzero(asked.any(axis=0))
    rows: np.ndarray = np.asarray(asked[:, items].all(axis=1))
    n_complete = float(weights[rows].sum())
    notes = _said_of_rows(rows, n_complete)
    if model.n_categories > 2 and items.size * (model.n_categories - 1) > MOST_SCORES:
        return nothing, nothing, n_complete, (*notes, TOO_MANY_SCORES)
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
    count = round(n_complete)
    who = f"{counted(count, 'respondent')} ({rows.mean():.0%})"
    return (f"S-X² uses the {who} who {'was' if count == 1 else 'were'} asked every item.",)


def _upper_tail(statistic: Floats, freedom: Floats) -> Floats:
    from scipy.special import chdtrc

    p: Floats = chdtrc(freedom, statistic)
    return p


def _rmsea(statistic: Floats, freedom: Floats, n: float) -> Floats:
    """Return misfit per degree of freedom, independent of sample size (Steiger and Lind, 1980)."""
    if n <= 1:
        return np.full(statistic.shape, np.nan)
    return np.sqrt(np.maximum(statistic - freedom, 0.0) / (freedom * (n - 1)))
