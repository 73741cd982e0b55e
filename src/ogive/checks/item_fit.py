"""Item fit: whether respondents answer each item as its curve says.

S-X² compares observed and expected responses in groups of equal summed score (Orlando and Thissen,
2000; of more than two categories, Kang and Chen, 2008); infit and outfit (Wright and Masters, 1982)
weigh surprises at the estimated abilities. Adjusted p-values: Benjamini and Hochberg (1995).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import pandas as pd
from scipy.special import chdtrc

from ogive.checks.residuals import Diagnosis, item_responses, left_out, observed, population_nodes
from ogive.data.responses import Table
from ogive.irt.calibration import Calibration
from ogive.irt.models.categorical import Categorical
from ogive.irt.quadrature import Population
from ogive.irt.summed_scores import joint_with_number_right, joint_with_score
from ogive.results.numbers import counted, listed, said_p
from ogive.stats.array_backend import Floats, row_blocks, workers
from ogive.stats.multiplicity import benjamini_hochberg

LEAST_EXPECTED = 1.0  # responses in a cell of S-X²; cells that expect fewer are merged
LEAST_PROBABILITY = 1e-12  # probability below which a category counts as unreachable
MANY_ITEMS = 500  # items above which each is divided out of the score distribution of all
ITEMS_AT_A_TIME = 512
ALPHA = 0.05
MOST_SCORES = 4_000  # summed scores of graded items, of which S-X² needs all distributions
MEAN_SQUARES = ("infit", "infit_se", "infit_z", "outfit", "outfit_se", "outfit_z")
TOO_MANY_SCORES = (
    f"S-X² of graded items is left out above {MOST_SCORES:,} possible summed scores: what it costs "
    "grows with their square. Ask for some of the items, with responses.select(items=[...])."
)


@dataclass
class ScoreGroup:
    """Respondents of neighbouring summed scores: observed and expected counts by category."""

    size: float
    observed: list[float]
    expected: list[float]

    @property
    def sparse(self) -> bool:
        """True if some cell, other than an empty one, expects too little."""
        return any(0 < count < LEAST_EXPECTED for count in self.expected)

    def merge(self, other: ScoreGroup) -> None:
        """Add the counts of another group, lowest cell to lowest cell."""

        def added(left: list[float], right: list[float]) -> list[float]:
            return [a + b for a, b in zip_longest(left, right, fillvalue=0.0)]

        self.size += other.size
        self.observed = added(self.observed, other.observed)
        self.expected = added(self.expected, other.expected)

    def merge_cells(self) -> None:
        """Merge neighbouring cells while more than two are left and one expects too little."""
        observed, expected = self.observed, self.expected
        while len(expected) > 2 and min(expected) < LEAST_EXPECTED:
            least = min(range(len(expected)), key=lambda k: (expected[k], -k))
            to = _smaller_neighbour(least, len(expected), expected.__getitem__)
            observed[to] += observed[least]
            expected[to] += expected[least]
            del observed[least], expected[least]


def groups_by_score(
    scores: np.ndarray, observed: Floats, expected: Floats, width: int, highest: int
) -> list[ScoreGroup]:
    """Return one group per score. The lowest and highest of all leave no choice and are left out.

    Scores at which not every category is possible go to the nearest at which it is.
    """
    low, high = width - 1, max(highest - width + 1, width - 1)
    groups: dict[int, ScoreGroup] = {}
    for score, counts, means in zip(scores.tolist(), observed, expected, strict=True):
        if not 0 < score < highest or not means.any():
            continue
        at = min(max(score, low), high)
        new = ScoreGroup(float(counts.sum()), counts[:width].tolist(), means[:width].tolist())
        if at in groups:
            groups[at].merge(new)
        else:
            groups[at] = new
    return list(groups.values())


def merge_sparse(groups: list[ScoreGroup]) -> list[ScoreGroup]:
    """Return groups whose cells all expect enough: cells are merged first, then groups.

    A group joins the smaller of its neighbours, the lower one if they are equal.
    """
    for group in groups:
        group.merge_cells()
    k = 0
    while k < len(groups):
        if not groups[k].sparse or len(groups) == 1:
            k += 1
            continue
        to = _smaller_neighbour(k, len(groups), lambda i: groups[i].size)
        groups[to].merge(groups[k])
        del groups[k]
        k = min(k, to)
    return groups


def _smaller_neighbour(k: int, count: int, size: Callable[[int], float]) -> int:
    """Return the position of the smaller of two neighbours, the lower one if they are equal."""
    if k == 0:
        return 1
    if k == count - 1:
        return k - 1
    return k - 1 if size(k - 1) <= size(k + 1) else k + 1


def pearson_statistic(groups: list[ScoreGroup]) -> tuple[float, int]:
    """Return Pearson's statistic and the number of free cells, before parameters are counted."""
    total, free = 0.0, 0
    for group in groups:
        if group.sparse:
            return np.nan, 0
        pairs = [(o, e) for o, e in zip(group.observed, group.expected, strict=True) if e > 0]
        total += sum((o - e) ** 2 / e for o, e in pairs)
        free += len(pairs) - 1
    return total, free


def pearson_of_two_cells(
    sizes: Floats, observed: Floats, expected: Floats
) -> tuple[Floats, Floats]:
    """Return Pearson's statistic and free cells of many items at once, merged as `merge_sparse`.

    `sizes` are those of the groups, in the order of their scores; `observed` and `expected` are
    (2, n_groups, n_items), and no expected count is 0. One pass over the groups suffices: those
    before the current one expect enough, and only the last of them may still grow.
    """
    n_items = observed.shape[2]
    statistic, free = np.zeros(n_items), np.zeros(n_items)
    size, current = np.zeros(n_items), np.zeros((2, 2, n_items))  # observed and expected, by cell
    last_size, last = np.full(n_items, np.inf), np.ones((2, 2, n_items))
    any_last = np.zeros(n_items, dtype=bool)
    for k, more in enumerate(sizes):
        size += more
        current[0] += observed[:, k]
        current[1] += expected[:, k]
        sparse = (current[1] < LEAST_EXPECTED).any(axis=0)
        following = sizes[k + 1] if k + 1 < len(sizes) else np.inf
        back = sparse & any_last & (last_size <= following)  # merged into the group before
        complete = ~sparse
        ended = complete & any_last
        statistic += np.where(ended, ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0), 0.0)
        free += ended
        last = np.where(complete, current, np.where(back, last + current, last))
        last_size = np.where(complete, size, np.where(back, last_size + size, last_size))
        any_last |= complete
        carried = ~(complete | back)
        size *= carried
        current *= carried
    statistic += ((last[0] - last[1]) ** 2 / last[1]).sum(axis=0)
    free += any_last
    return np.where(any_last, statistic, np.nan), free


def s_x2(
    model: Categorical, coords: Floats, population: Population, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats]:
    """Return statistic and degrees of freedom of each item, from complete rows.

    A coordinate that items share counts for each of them; one at its bound does not count. Both are
    NaN if no degree of freedom is left.
    """
    n_items = coords.shape[0]
    if n_items < 2 or len(cells) == 0:
        return np.full(n_items, np.nan), np.full(n_items, np.nan)
    nodes, mass = population_nodes(model, coords, population)
    work = s_x2_of_two_categories if model.n_categories == 2 else s_x2_of_many_categories
    with workers(1):  # products of matrices that small only wait for each other
        statistic, free = work(model, coords, nodes.fine, mass, cells, weights)
    estimated = (~np.asarray(model.at_bound(coords))).sum(axis=1)
    enough = free > estimated
    return np.where(enough, statistic, np.nan), np.where(enough, free - estimated, np.nan)


def s_x2_of_many_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    mass: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return statistic and free cells of each item, one item after the other."""
    prob = np.exp(model.log_prob(coords, nodes))
    # The categories of an item end with its last reachable one.
    reachable = prob.max(axis=2) > LEAST_PROBABILITY
    widths = np.maximum(len(prob) - np.argmax(reachable[::-1], axis=0), 2)
    scores, score_of = np.unique(cells.sum(axis=1, dtype=np.intp), return_inverse=True)
    sizes = np.bincount(score_of, weights).astype(np.float64)
    highest = int((widths - 1).sum())
    statistic, free = np.full(len(coords), np.nan), np.zeros(len(coords))
    for item, joint in joint_with_score(prob, mass, scores):
        total = joint.sum(axis=1)
        share = np.divide(sizes, total, out=np.zeros_like(total), where=total > 0)
        cell = score_of * joint.shape[1] + cells[:, item]
        counts = np.bincount(cell, weights, joint.size).astype(np.float64).reshape(joint.shape)
        expected = joint * share[:, None]
        groups = groups_by_score(scores, counts, expected, int(widths[item]), highest)
        statistic[item], free[item] = pearson_statistic(merge_sparse(groups))
    return statistic, free


def s_x2_of_two_categories(
    model: Categorical,
    coords: Floats,
    nodes: Floats,
    mass: Floats,
    cells: np.ndarray,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """Return statistic and free cells of each item, many items together."""
    n_items = len(coords)
    statistic, free = np.full(n_items, np.nan), np.zeros(n_items)
    n_right = cells.sum(axis=1, dtype=np.intp)
    rows = np.flatnonzero((n_right > 0) & (n_right < n_items))  # all others had no choice
    rows = rows[np.argsort(n_right[rows], kind="stable")]
    if not rows.size:
        return statistic, free
    scores, starts = np.unique(n_right[rows], return_index=True)
    sizes = np.add.reduceat(weights[rows], starts)
    for items, joint in _joint_distributions(model, coords, nodes, mass, scores):
        total = joint.sum(axis=0)
        known = total.any(axis=1)
        share = np.divide(sizes[:, None], total, out=np.zeros_like(total), where=total > 0)
        right = np.add.reduceat(weights[rows, None] * cells[rows, items], starts, axis=0)
        counts = np.stack([sizes[:, None] - right, right])[:, known]
        expected = (joint * share)[:, known]
        statistic[items], free[items] = pearson_of_two_cells(sizes[known], counts, expected)
        for k in np.flatnonzero((expected == 0).any(axis=(0, 1))):  # a response that is impossible
            pairs = counts[:, :, k].T, expected[:, :, k].T
            groups = groups_by_score(scores[known], *pairs, 2, n_items)
            at = items.start + int(k)
            statistic[at], free[at] = pearson_statistic(merge_sparse(groups))
    return statistic, free


def _joint_distributions(
    model: Categorical, coords: Floats, nodes: Floats, mass: Floats, scores: np.ndarray
) -> Iterator[tuple[slice, Floats]]:
    """Yield blocks of items, and the probability of each response together with each score."""
    if len(coords) <= MANY_ITEMS:
        prob = np.exp(model.log_prob(coords, nodes))
        joint = np.stack([each for _, each in joint_with_score(prob, mass, scores)])
        yield slice(0, len(coords)), np.moveaxis(joint, (0, 1, 2), (2, 1, 0))
        return
    right = np.empty((len(coords), len(nodes)))
    for items in row_blocks(len(coords), ITEMS_AT_A_TIME):
        part = model.of_items(np.arange(items.start, items.stop))
        right[items] = np.exp(part.log_prob(coords[items], nodes)[1])
    yield from joint_with_number_right(right, mass, scores)


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

    display = "item_fit"

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
        return self._significant(self.s_x2_p, self.s_x2_p_adjusted)

    @property
    def noisy(self) -> tuple[str, ...]:
        """Items that are noisier than chance makes them (adjusted p below 0.05), worst first."""
        return self._significant(self.noise_p, self.noise_p_adjusted)

    def _significant(self, p: Floats, p_adjusted: Floats) -> tuple[str, ...]:
        order = np.argsort(p, kind="stable")
        return tuple(self.items[k] for k in order if p_adjusted[k] < ALPHA)

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
        verb = "departs from its curve" if len(bad) == 1 else "depart from their curves"
        return (
            f"Of {counted(tested, 'tested item')}, {listed(bad, 'item')} {verb} by more "
            f"than chance (adjusted p of the worst = {worst:.2g})."
        )

    def _said_of_noise(self) -> str:
        tested, noisy = int(np.isfinite(self.noise_p).sum()), self.noisy
        if not tested:
            return "How noisy items are could not be tested."
        n_others, untested = int((np.isfinite(self.infit) & np.isnan(self.noise_p)).sum()), ""
        if n_others:
            untested = (
                f" {counted(n_others, 'other item')} could not be tested: responses vary, but a "
                "single one decides infit and outfit there (standard errors above 1)."
            )
        if not noisy:
            return (
                f"None of {counted(tested, 'item')} is noisier than chance makes it (infit and "
                f"outfit; smallest adjusted {said_p(np.nanmin(self.noise_p_adjusted))}).{untested}"
            )
        return (
            f"{listed(noisy, 'item')} {'is' if len(noisy) == 1 else 'are'} noisier than expected "
            f"(infit or outfit, after correction for {counted(tested, 'test')}).{untested}"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row per item."""
        names = (
            *("s_x2", "s_x2_df", "s_x2_p", "s_x2_p_adjusted", "s_x2_rmsea"),
            *MEAN_SQUARES,
            *("noise_p", "noise_p_adjusted", "zh", "n"),
        )
        return pd.DataFrame(self._columns(names), index=pd.Index(self.items, name="item"))


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
    part, _, _ = item_responses(calibration, responses, "item_fit")
    fit = part.by_item()
    statistic, df, n_complete, notes = _s_x2(calibration, part.cells, part.weights)
    p = chdtrc(df, statistic)
    rmsea = np.full(statistic.shape, np.nan)  # per degree of freedom (Steiger and Lind, 1980)
    if n_complete > 1:
        rmsea = np.sqrt(np.maximum(statistic - df, 0.0) / (df * (n_complete - 1)))
    return ItemFit(
        items=calibration.item_names,
        s_x2=statistic,
        s_x2_df=df,
        s_x2_p=p,
        s_x2_p_adjusted=benjamini_hochberg(p),
        s_x2_rmsea=rmsea,
        noise_p_adjusted=benjamini_hochberg(fit.noise_p),
        n=part.weights @ observed(part.cells),
        n_complete=n_complete,
        notes=(*notes, *left_out(calibration, part.judged)),
        **{name: getattr(fit, name) for name in (*MEAN_SQUARES, "noise_p", "zh")},
    )


def _s_x2(
    calibration: Calibration, cells: np.ndarray, weights: Floats
) -> tuple[Floats, Floats, float, tuple[str, ...]]:
    """Return S-X², its degrees of freedom, the number of respondents behind it, and notes."""
    statistic, df = np.full((2, cells.shape[1]), np.nan)
    model = calibration.model
    if not isinstance(model, Categorical):
        return statistic, df, 0.0, (f"S-X² does not apply to the {model.name} model.",)
    asked = observed(cells)
    items = np.flatnonzero(asked.any(axis=0))
    rows: np.ndarray = np.asarray(asked[:, items].all(axis=1))
    n_complete = float(weights[rows].sum())
    notes: tuple[str, ...] = ()
    if not rows.any():
        notes = ("S-X² is missing: no respondent was asked every item.",)
    elif not rows.all():
        count = round(n_complete)
        who = f"{counted(count, 'respondent')} ({rows.mean():.0%})"
        notes = (f"S-X² uses the {who} who {'was' if count == 1 else 'were'} asked every item.",)
    if model.n_categories > 2 and items.size * (model.n_categories - 1) > MOST_SCORES:
        return statistic, df, n_complete, (*notes, TOO_MANY_SCORES)
    if items.size and rows.any():
        part = cells[np.ix_(rows, items)]
        statistic[items], df[items] = s_x2(
            model, calibration.coords[items], calibration.population, part, weights[rows]
        )
    if rows.any() and np.isnan(statistic).all():
        notes += ("S-X² is missing: too few respondents or items for a degree of freedom.",)
    return statistic, df, n_complete, notes
