"""Local dependence: residual correlations (Q3) of all pairs of items, and of repeated answers.

Q3 is computed strip by strip, and of large tables only the most significant pairs are kept.

Repeated answers of a respondent to an item are alike, because an item means more to a respondent
than its difficulty and the respondent's ability say. A binomial likelihood that takes them as
independent is too sure. With an intraclass correlation of r, n answers are worth
n / (1 + (n - 1) r) independent ones (Williams, 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ogive.irt.abilities import score_abilities
from ogive.irt.encoded_responses import effective_tries, encode
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import Population
from ogive.irt.response_codes import as_floats
from ogive.results.numbers import counted
from ogive.stats.array_backend import Floats, row_blocks, workers
from ogive.stats.multiplicity import benjamini_hochberg

if TYPE_CHECKING:
    from ogive.data.responses import Responses
    from ogive.irt.calibration import Calibration

ALPHA = 0.05  # share of false discoveries among the pairs called dependent
STRONG = 0.2  # least Q3 above the mean that is worth a change (Christensen et al., 2017)
MOST_ITEMS_IN_MATRIX = 1000  # number of items beyond which only the largest pairs are kept
KEPT_PAIRS = 1 << 19
STRIP = 512  # number of items at a time
STRIP_CELLS = 1 << 20
LEAST_COMMON = 3  # least number of respondents who answered both: two points lie on a line
NUDGE = 1e-4
PAIRS_AT_A_TIME = 4096
SAMPLED_PAIRS = 100_000  # number of pairs from which the largest z are guessed
GENEROUS = 1.5  # factor on the number of pairs wanted, since a sample only guesses
MARGIN = 1e-3  # error of z in single precision

SURE = 2.0  # standard errors beyond which repeated answers count as dependent
NEGLIGIBLE = 0.01  # correlation below which tries count as they are
HIGHEST = 0.99
LEAST_FREEDOM = 0.1  # least share of cells that is left after what was estimated from them

MOST_WORK = 2e8  # largest respondents × items² for a note on dependence
LEAST_ROWS = 100  # least number of respondents that show anything
LEAST_Z = 1.9  # least z of a pair that may be called dependent


@dataclass(frozen=True, eq=False)
class Part:
    """Some respondents and items; each (n_rows, n_items), 0 where never asked."""

    asked: Floats  # one column if everything was asked
    residual: Floats
    variance: Floats
    shift: Floats  # change of the residual by one standard error of the ability


@dataclass(frozen=True, eq=False)
class Residuals:
    """Response less expected response, made when asked for: the whole table may be large."""

    model: MeasurementModel  # of the items of the table, in their order, as `coords` are
    coords: Floats
    table: Responses
    rows: np.ndarray  # positions in the table
    ability: Floats
    se: Floats
    weights: Floats

    def part(self, rows: slice, items: slice) -> Part:
        """Make the residuals of some rows and items."""
        model = self.model.of_items(np.arange(items.start, items.stop))
        coords = self.coords[items]
        ability, se = self.ability[rows], self.se[rows]
        values = model.scored(as_floats(self.table.cells[self.rows[rows], items]))
        asked = ~np.isnan(values)
        step = NUDGE * max(float(np.std(self.ability)), 1.0)
        rise = model.expected(coords, ability + step) - model.expected(coords, ability - step)
        residual = np.where(asked, values - model.expected(coords, ability).T, 0.0)
        variance = np.where(asked, model.variance(coords, ability).T, 0.0)
        shift = np.where(asked, rise.T * (se / (2 * step))[:, None], 0.0)
        whole = np.ones((len(ability), 1))
        return Part(whole if self.table.complete else asked * 1.0, residual, variance, shift)

    @property
    def constant(self) -> np.ndarray:
        """Items to which all responses are the same, or none was given."""
        found = []
        for items in row_blocks(len(self.coords), STRIP):
            values = self.model.scored(as_floats(self.table.cells[self.rows, items]))
            low = np.where(np.isnan(values), np.inf, values).min(axis=0)
            high = np.where(np.isnan(values), -np.inf, values).max(axis=0)
            found.append(low >= high)
        return np.concatenate(found)


class Pairs:
    """Q3 of all pairs, strip by strip: the largest z, the mean, and the matrix if it is small.

    With `least`, only pairs whose z lies that far from zero are kept, and no matrix.
    """

    def __init__(self, residuals: Residuals, least: float = 0.0) -> None:
        n_items = len(residuals.coords)
        self.names = residuals.table.items
        self.constant = residuals.constant
        small = n_items <= MOST_ITEMS_IN_MATRIX and not least
        self.matrix = np.full((n_items, n_items), np.nan) if small else None
        self.count, self.sum = 0, 0.0
        self.kept = TopPairs(least)
        if self.matrix is None and residuals.table.complete:
            self._sift(_ScaledResiduals.of(residuals, self.constant))
        else:
            strips = row_blocks(n_items, STRIP)
            for k, left in enumerate(strips):
                for right in strips[k:]:
                    self._take(left, right, *_compared(residuals, left, right))
        self.best = self.kept.ordered()  # columns first, second, q3, z, n

    @property
    def mean(self) -> float:
        """Mean Q3 of all pairs."""
        return self.sum / self.count if self.count else float("nan")

    @cached_property
    def p(self) -> Floats:
        """Two-sided p-values of the pairs kept."""
        from scipy.special import ndtr

        return np.asarray(2 * ndtr(-np.abs(self.best[:, 3])))

    @cached_property
    def p_adjusted(self) -> Floats:
        """P-values for all pairs together (Benjamini and Hochberg, 1995)."""
        return benjamini_hochberg(self.p, self.count)

    @property
    def dependent(self) -> np.ndarray:
        """True for the pairs kept that depend on each other."""
        return are_dependent(self.p_adjusted, self.best[:, 2] - self.mean)

    def _take(self, left: slice, right: slice, q3: Floats, z: Floats, n: Floats) -> None:
        q3[self.constant[left]] = np.nan
        q3[:, self.constant[right]] = np.nan
        if self.matrix is not None:
            self.matrix[left, right] = q3
            self.matrix[right, left] = q3.T
        first = np.arange(left.start, left.stop)[:, None]
        second = np.arange(right.start, right.stop)[None]
        valid = (first < second) & np.isfinite(q3)
        self.count += int(np.count_nonzero(valid))
        self.sum += float(q3[valid].sum())
        at = rows, columns = np.nonzero(valid & (np.abs(z) >= self.kept.least))
        self.kept.add(rows + left.start, columns + right.start, q3[at], z[at], n[at])

    def _sift(self, scaled: _ScaledResiduals) -> None:
        """Compute number and mean of Q3 in closed form, and only the pairs of largest z."""
        self.count, self.sum = scaled.total()
        wanted, least = 0, self.kept.least
        if not least:
            wanted = min(KEPT_PAIRS, self.count)
            least = scaled.z_quantile(GENEROUS * wanted / max(self.count, 1))
        with workers(1):  # threads of blocks that small only wait for each other
            self._take_largest(scaled, least)
            if self.kept.count < wanted:  # the sample misled: take all
                self.kept = TopPairs()
                self._take_largest(scaled, 0.0)

    def _take_largest(self, scaled: _ScaledResiduals, least: float) -> None:
        self.kept.least = least
        strips = row_blocks(len(scaled.items), STRIP)
        for k, left in enumerate(strips):
            for right in strips[k:]:
                rows, columns = scaled.candidates(left, right, self.kept.least)
                for some in row_blocks(len(rows), PAIRS_AT_A_TIME):
                    q3, z = scaled.exact(rows[some], columns[some])
                    large = np.abs(z) >= self.kept.least
                    first, second = (scaled.items[each[some][large]] for each in (rows, columns))
                    n = np.full(len(first), scaled.n)
                    self.kept.add(first, second, q3[large], z[large], n)


class TopPairs:
    """The pairs of the largest z, gathered as they come."""

    def __init__(self, least: float = 0.0) -> None:
        self.least = least  # least z of a pair that is kept
        self.count = 0
        self._parts: list[Floats] = []

    def add(self, *columns: np.ndarray) -> None:
        """Take pairs: first, second, q3, z, n."""
        if not len(columns[0]):
            return
        self._parts.append(np.stack(columns, axis=1))
        self.count += len(columns[0])
        if self.count > 2 * KEPT_PAIRS:
            self._shorten()

    def _shorten(self) -> None:
        pairs = np.concatenate(self._parts)
        if len(pairs) > KEPT_PAIRS:
            sizes = np.abs(pairs[:, 3])
            self.least = float(np.partition(sizes, -KEPT_PAIRS)[-KEPT_PAIRS])
            pairs = pairs[sizes >= self.least]
        self._parts, self.count = [pairs], len(pairs)

    def ordered(self) -> Floats:
        """Return the largest first, ties in the order of the items."""
        if not self._parts:
            return np.empty((0, 5))
        self._shorten()
        pairs = self._parts[0]
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0], -np.abs(pairs[:, 3])))]


@dataclass(frozen=True, eq=False)
class _ScaledResiduals:
    """Residuals of a complete table, (n_items, n_rows), times the roots of the weights of rows.

    z is a sum of products of two items over a standard error that is at least the model's. Both
    are matrix products; in single precision, they tell which pairs may have a large z, and only
    those are computed exactly.
    """

    items: np.ndarray  # positions of items that are not constant
    n: float
    residual: Floats  # less its mean
    square: Floats  # the squared residual
    variance: Floats
    shift: Floats
    size: Floats  # root of the sum of squares of each residual
    products: np.ndarray  # residual and shift side by side, in single precision
    variances: np.ndarray  # in single precision

    @classmethod
    def of(cls, residuals: Residuals, constant: np.ndarray) -> _ScaledResiduals:
        """Make the residuals of all items that are not constant."""
        n_rows, n_items = len(residuals.rows), len(constant)
        root = np.sqrt(residuals.weights)[:, None]
        n = float(residuals.weights.sum())
        kinds = np.empty((4, n_items, n_rows))
        for items in row_blocks(n_items, STRIP):
            part = residuals.part(slice(0, n_rows), items)
            centred = part.residual - (root**2 * part.residual).sum(axis=0) / n
            for k, each in enumerate((centred, part.residual**2, part.variance, part.shift)):
                kinds[k, items] = (root * each).T
        size = np.sqrt((kinds[0] ** 2).sum(axis=1))
        usable = np.flatnonzero(~constant & (size > 0) & (n >= LEAST_COMMON))
        residual, square, variance, shift = (each[usable] for each in kinds)
        products = np.concatenate([residual, shift], axis=1, dtype=np.float32)
        single = variance.astype(np.float32)
        return cls(usable, n, residual, square, variance, shift, size[usable], products, single)

    def total(self) -> tuple[int, float]:
        """Return the number of pairs, and the sum of their Q3."""
        count = len(self.items)
        whole = (self.residual / self.size[:, None]).sum(axis=0)
        return count * (count - 1) // 2, float((whole @ whole - count) / 2)

    def z_quantile(self, share: float) -> float:
        """Return the size of z that about this share of the pairs exceeds, from a sample."""
        if share >= 1:
            return 0.0
        random = np.random.default_rng(0)
        rows = random.integers(len(self.items), size=SAMPLED_PAIRS)
        columns = (rows + random.integers(1, len(self.items), size=SAMPLED_PAIRS)) % len(self.items)
        blocks = row_blocks(SAMPLED_PAIRS, PAIRS_AT_A_TIME)
        z = np.concatenate([self.exact(rows[some], columns[some])[1] for some in blocks])
        return float(np.quantile(np.abs(z), 1 - share))

    def candidates(self, left: slice, right: slice, least: float) -> tuple[np.ndarray, np.ndarray]:
        """Return pairs of two strips whose z may reach `least`."""
        numerator = self.products[left] @ self.products[right].T
        squared_error = self.variances[left] @ self.variances[right].T
        lowest = max(least * (1 - MARGIN) - MARGIN, 0.0) ** 2
        found = numerator**2 >= np.float32(lowest) * squared_error
        if left == right:
            found = np.triu(found, 1)
        rows, columns = np.nonzero(found)
        return rows + left.start, columns + right.start

    def exact(self, rows: np.ndarray, columns: np.ndarray) -> tuple[Floats, Floats]:
        """Return Q3 and z of pairs."""

        def sums(kind: Floats) -> Floats:
            return np.asarray(np.einsum("kr,kr->k", kind[rows], kind[columns]))

        covariance = sums(self.residual)
        q3 = np.clip(covariance / (self.size[rows] * self.size[columns]), -1, 1)
        error = np.sqrt(np.maximum(sums(self.square), sums(self.variance)))
        numerator = covariance + sums(self.shift)
        return q3, np.divide(numerator, error, out=np.zeros_like(numerator), where=error > 0)


def _compared(residuals: Residuals, left: slice, right: slice) -> tuple[Floats, Floats, Floats]:
    """Return Q3, z and the number of common respondents of all pairs of two strips of items."""
    widest = max(left.stop - left.start, right.stop - right.start)
    totals: list[Floats] = []
    for rows in row_blocks(len(residuals.rows), max(64, STRIP_CELLS // widest)):
        one = residuals.part(rows, left)
        other = one if left == right else residuals.part(rows, right)
        weights = residuals.weights[rows][:, None]
        residual, asked = (weights * one.residual).T, (weights * one.asked).T
        square = (weights * one.residual**2).T
        sums = [
            asked @ other.asked,
            residual @ other.residual,
            residual @ other.asked,
            asked @ other.residual,
            square @ other.asked,
            asked @ other.residual**2,
            square @ other.residual**2,
            (weights * one.variance).T @ other.variance,
            (weights * one.shift).T @ other.shift,
        ]
        totals = [a + b for a, b in zip(totals, sums, strict=True)] if totals else sums
    n, cross, mean_one, mean_other, square_one, square_other, squares, variance, shift = totals
    common = np.maximum(n, 1.0)
    covariance = cross - mean_one * mean_other / common
    scale = (square_one - mean_one**2 / common) * (square_other - mean_other**2 / common)
    error = np.sqrt(np.maximum(squares, variance))
    enough = (n >= LEAST_COMMON) & (scale > 0) & (error > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        q3 = np.where(enough, np.clip(covariance / np.sqrt(np.abs(scale)), -1, 1), np.nan)
        # The error of the ability estimate ties residuals together: their products come to
        # -variance of the estimate × slope × slope, to first order.
        z = np.where(enough, (covariance + shift) / error, 0.0)
    return q3, z, np.broadcast_to(n, q3.shape)


def are_dependent(p_adjusted: Floats, q3_adjusted: Floats) -> np.ndarray:
    """Return True for pairs that are significant, and strong enough to matter."""
    return np.asarray((p_adjusted < ALPHA) & (q3_adjusted >= STRONG))


def dependence(
    cells: Floats,
    tries: np.ndarray,
    model: MeasurementModel,
    coords: Floats,
    population: Population,
    weights: Floats | None = None,
) -> float:
    """Return intraclass correlation of the answers within a cell, given ability and difficulty.

    By the method of moments: squares of (right - expected) exceed the binomial variance by the
    factor 1 + (n - 1) r. Items and abilities were fitted to the same answers, which take up a share
    of the cells; an ability that leans on its population takes up less than one. 0 if the excess
    is within two standard errors of it.
    """
    data = encode(cells, model, collapsing=False, tries=tries)
    scored = score_abilities(data, model, coords, population, "eap")
    chance = model.expected(coords, scored.ability).T
    rows = np.ones(len(cells)) if weights is None else weights
    squares = np.where(tries > 0, (np.nan_to_num(cells) * tries - tries * chance) ** 2, 0.0)
    single = chance * (1.0 - chance)
    binomial = tries * single
    leaning = np.clip(1.0 - (scored.se / population.sd) ** 2, 0.0, 1.0)
    own = int((~model.shared).sum()) * cells.shape[1]
    taken = (own + leaning.sum()) / max(int((tries > 0).sum()), 1)
    free = max(1.0 - taken, LEAST_FREEDOM)
    excess = (rows @ squares).sum() / free - (rows @ binomial).sum()
    most = (rows @ (binomial * (tries - 1.0))).sum()
    noise = np.sqrt((rows @ (2 * binomial**2 + binomial * (1 - 6 * single))).sum())
    if most <= 0 or excess < SURE * noise:
        return 0.0
    return float(np.clip(excess / most, 0.0, HIGHEST))


def said_of_dependence(found: float, tries: np.ndarray) -> str:
    """Return the note on dependent answers, with the worth of the most tries."""
    most = int(tries.max())
    worth = float(effective_tries(np.array([most]), found)[0])
    return (
        "Answers of a respondent to the same item are more alike than the model explains "
        f"(intraclass correlation {found:.2f}): {most:,} tries count as {worth:.1f} independent "
        "ones."
    )


def dependence_note(calibration: Calibration) -> str | None:
    """Return a note on pairs of items that depend on each other; None if none is seen.

    Some respondents are enough for it. There is no note on more than some 1,400 items, nor on
    repeated answers.
    """
    table, weights = calibration.responses, calibration.weights
    if table is None or table.tries is not None or table.items != calibration.item_names:
        return None
    n_rows, most = table.n_respondents, MOST_WORK / table.n_items**2
    if most < min(n_rows, LEAST_ROWS):
        return None
    rows = np.arange(n_rows)[:: int(np.ceil(n_rows / most))]
    model, coords = calibration.model, calibration.coords
    if rows.size == n_rows:
        scored = calibration.own_eap
    else:
        data = encode(table.cells[rows], model, collapsing=False)
        scored = score_abilities(data, model, coords, calibration.population, "eap")
    se = np.where(np.isfinite(scored.se), scored.se, 0.0)
    counts = np.ones(rows.size) if weights is None else weights[rows]
    pairs = Pairs(Residuals(model, coords, table, rows, scored.ability, se, counts), LEAST_Z)
    dependent = pairs.best[pairs.dependent]
    if not len(dependent):
        return None
    first, second = (calibration.item_names[int(k)] for k in dependent[0, :2])
    if getattr(calibration.fitted_by, "se", None) == "robust":
        errors = "Robust standard errors allow for it, but not for the bias of discriminations"
    else:
        errors = (
            'Standard errors take them as independent; those of se="robust" do not, but '
            "discriminations are biased as well, which no standard error covers"
        )
    return (
        f"In {len(dependent):,} of {counted(pairs.count, 'pair')} of items, responses depend on "
        f"each other beyond the ability (Q3), most surely in {first} with {second}. {errors}: see "
        "local_dependence()."
    )
