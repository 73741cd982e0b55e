"""Where on the difficulty line each algorithm is strong: within epsilon of the best curve.

Its occupancy is the share of problems at which its curve is the best, with an interval for problems
like these, of which these are a sample. The interval holds two others: that of splines fitted to
resampled problems, and that of the curves of the fitted model, whose parameters and problems vary.
The first alone does not know that a spline is smoother than the truth, by which it may lead where
all are nearly equal; the second alone believes the model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ogive._validation import as_number, checked_share, whole_number
from ogive.errors import InputError
from ogive.irt.calibration import UNKNOWN, Calibration
from ogive.irt.models.categorical import Categorical
from ogive.irt.models.censored import Censored
from ogive.portfolios.performances import Performances
from ogive.results.base import stacked
from ogive.results.numbers import joined
from ogive.stats.array_backend import Floats
from ogive.stats.special_functions import log_normal_cdf, sigmoid_pair
from ogive.stats.splines import Splines, fit_splines

if TYPE_CHECKING:
    from ogive.portfolios.airt import Portfolio
    from ogive.results.plots.figure import Display

Bounds: TypeAlias = "tuple[float, float] | None"

QUANTILES = 201  # number of quantiles of the abilities of problems
NODES = 24  # quadrature nodes of the normal noise
FAR_OUT = 6.0  # standard deviations; there is no noise beyond
ERROR_QUANTILES = (np.arange(11) + 0.5) / 11  # of the error of each ability
GRID = 801  # points of the difficulty line on which regions are found
TIED = 1e-12
CONFIDENCE = 0.95
DRAWS = 200
MOST_RESAMPLED = 2_000  # problems; of more, resamples are as large, and their spread is scaled

ABILITIES, HEIGHTS = 61, 61  # points of a density
GRADE_ABILITIES = 241  # points of curves of grades, which may be steep
AROUND_PEAK = np.linspace(-4.0, 4.0, 33)  # in standard deviations, so that sharp peaks are drawn
MOST_ABILITY = 3.0  # in either direction
BELOW = 0.3  # share of the range of runs that ended, shown for those that did not
HEIGHT = "log-odds of performance"
EPSILONS = (0.0, 0.01)
TRACES = (0.1, 0.5, 0.9)  # quantiles of all log-odds at which lines are drawn
SETTINGS = {  # and the figures that take them; all other settings go to every display
    "epsilons": ("strengths",),
    "highlight": ("curves", "goodness"),
    "panels": ("runs", "densities", "traces", "performances", "residuals"),
}


@dataclass(frozen=True, eq=False)
class ModelledCurves:
    """The continuous model of a portfolio as curves of performance."""

    calibration: Calibration
    performances: Performances
    splines: Splines  # of algorithms that the model leaves out

    def drawn(self, draws: int, random: np.random.Generator) -> Floats:
        """Return curves with parameters drawn anew, (draws, n_quantiles, n_algorithms).

        They are taken at quantiles of the abilities of the problems, which are known with an error.
        """
        from scipy.special import ndtri

        scored = self.calibration.abilities("eap", items_known=True)
        ability, se = (scored[name].to_numpy(dtype=float) for name in ("ability", "se"))
        likely = ability[:, None] + se[:, None] * ndtri(ERROR_QUANTILES)
        abilities = np.quantile(likely, (np.arange(QUANTILES) + 0.5) / QUANTILES)
        items = pd.Index(list(self.calibration.item_names))
        columns = self.performances.algorithms.get_indexer(items)
        curves = np.repeat(self.splines.at(-abilities)[None], draws, axis=0)
        for k, coords in enumerate(drawn_coords(self.calibration, draws, random)):
            curves[k][:, columns] = self._expected(coords, abilities)
        return curves

    def _late(self) -> float:
        """Return what a run that did not end counts as; all of them may be on problems left out."""
        table = self.performances
        assert table.unsolved is not None  # noqa: S101 - a censored model has such runs
        assert table.cut is not None  # noqa: S101 - it is where the model is censored
        cells = table.cells[table.unsolved.to_numpy()]
        return float(np.nanmean(cells)) if len(cells) else max(table.cut.limit, table.bounds[0])

    def _expected(self, coords: Floats, abilities: Floats) -> Floats:
        """Return expected performance, (n_abilities, n_items), with runs that did not end."""
        table, model = self.performances, self.calibration.model
        low, high = (np.asarray(end)[..., None] for end in model.extent())
        noise = np.exp(coords[:, 2:3])
        mean = model.loadings(coords)[:, None] * abilities + coords[:, 1:2]
        start, late = np.full(mean.shape, -FAR_OUT), 0.0
        if isinstance(model, Censored):
            late = self._late()
            limit = model.ends(coords)[0][:, None]
            start = np.clip((limit - mean) / noise, -FAR_OUT, FAR_OUT)
        total = late * np.exp(log_normal_cdf(start))
        half = (FAR_OUT - start) / 2
        for point, weight in zip(*np.polynomial.legendre.leggauss(NODES), strict=True):
            x = start + half * (1 + point)
            value = low + (high - low) * sigmoid_pair(mean + noise * x)[0]
            density = half * weight * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
            total = total + density * np.clip(value, *table.bounds)
        return np.asarray(total.T)


def drawn_coords(calibration: Calibration, draws: int, random: np.random.Generator) -> Floats:
    """Return coordinates of the items drawn from their errors, (draws, n_items, width).

    Items err each by itself, and all together where origin and unit of the scale are not known.
    """
    coords, errors = calibration.coords, calibration.uncertainty
    shared = np.nan_to_num(errors.shared)
    own = np.nan_to_num(errors.covariances) - np.einsum("sij,sik->ijk", shared, shared)
    sizes, directions = np.linalg.eigh((own + own.transpose(0, 2, 1)) / 2)
    # A direction of which nothing is known would put curves anywhere.
    kept = np.where(sizes < UNKNOWN, np.clip(sizes, 0.0, None), 0.0)
    root = directions * np.sqrt(kept)[:, None, :]
    moved = np.einsum("ijk,bik->bij", root, random.standard_normal((draws, *coords.shape)))
    together = np.einsum("bs,sij->bij", random.standard_normal((draws, len(shared))), shared)
    return np.stack([calibration.model.bounded(each) for each in coords + moved + together])


def checked_epsilon(epsilon: object) -> float:
    """Return the distance from the best curve that still counts as strong: 0 or more."""
    number = as_number(epsilon)
    if not 0 <= number < np.inf:
        raise InputError(f"`epsilon` must be a number, 0 or more, got {epsilon!r}.")
    return number


def checked_epsilons(epsilons: Any) -> list[float]:
    """Return one epsilon or several, each once, in the order given."""
    levels: list[Any] = [epsilons] if np.ndim(epsilons) == 0 else list(epsilons)
    if not levels:
        raise InputError("epsilons is empty. Give at least one, such as 0.01.")
    return list(dict.fromkeys(checked_epsilon(level) for level in levels))


def by_epsilon(
    frame_at: Callable[[float], pd.DataFrame], epsilons: Sequence[float] | None
) -> pd.DataFrame:
    """Return the frame at epsilon 0, or the frames at several epsilons, stacked."""
    if epsilons is None:
        return frame_at(0.0)
    return stacked("epsilon", {epsilon: frame_at(epsilon) for epsilon in epsilons})


def notes_on_epsilon(epsilon: float, bounds: tuple[float, float]) -> list[str]:
    """Return a note if epsilon covers the whole range of performance."""
    low, high = bounds
    note = (
        f"epsilon is {epsilon:g}, but modelled performance ranges from {low:g} to {high:g}: every "
        "algorithm counts as strong everywhere. Give a smaller one."
    )
    return [] if epsilon < high - low else [note]


def within(
    curves: Floats, epsilon: float, bounds: Bounds = None, *, best: bool = True
) -> np.ndarray:
    """Return which curves (last axis) lie within `epsilon` of the best (or worst) at each point.

    None does if all are as bad (or good) as the `bounds` allow: nobody leads there.
    """
    sign = 1.0 if best else -1.0
    turned = sign * curves
    first = np.nanmax(turned, axis=-1, keepdims=True)
    near: np.ndarray = turned >= first - epsilon
    near &= contested(first, sign * bounds[0 if best else 1] if bounds else None)
    return near


def contested(first: Floats, end: float | None) -> np.ndarray:
    """Return where the best curve lies above the end of the scale; everywhere if it never does."""
    above: np.ndarray = np.ones(first.shape, bool) if end is None else first > end + TIED
    return above | ~above.any(axis=-2, keepdims=True)


def share_within(
    curves: Floats, epsilon: float, bounds: Bounds = None, weights: Floats | None = None
) -> Floats:
    """Return share of points (last axis but one) where each curve is strong; NaN without a curve.

    With `weights`, which add up to 1, points count by them.
    """
    near = within(curves, epsilon, bounds)
    share = near.mean(axis=-2) if weights is None else weights @ near
    return np.asarray(np.where(np.isnan(curves).any(axis=-2), np.nan, share))


def regions(
    splines: Splines, difficulty: Floats, algorithms: pd.Index, epsilon: float, *, best: bool
) -> pd.DataFrame:
    """Return one row per region: algorithm, start, end, problems in it and their share."""
    low, high = float(difficulty.min()), float(difficulty.max())
    # With the problems on the grid, those inside regions are those that `occupancy` counts.
    grid = np.union1d(np.linspace(low, high, GRID if high > low else 1), difficulty)
    near = within(splines.at(grid), epsilon, splines.bounds, best=best)
    ordered = np.sort(difficulty)
    rows = []
    for position, name in enumerate(algorithms):
        for first, last in _runs(near[:, position]):
            # The border lies between two points of the grid: take the middle.
            start = grid[first] if first == 0 else (grid[first - 1] + grid[first]) / 2
            end = grid[last] if last == len(grid) - 1 else (grid[last] + grid[last + 1]) / 2
            inside = np.searchsorted(ordered, end, "right") - np.searchsorted(ordered, start)
            rows.append((name, start, end, int(inside), inside / len(difficulty)))
    return pd.DataFrame(rows, columns=["algorithm", "start", "end", "problems", "share"])


def entering_epsilon(curves: Floats, bounds: Bounds = None) -> Floats:
    """Return the smallest epsilon at which each curve (last axis) is strong; inf without one."""
    first = np.nanmax(curves, axis=1, keepdims=True)
    behind = first - curves
    counts = contested(first, bounds[0] if bounds else None) & ~np.isnan(behind)
    return np.asarray(np.where(counts, behind, np.inf).min(axis=0))


def _runs(flags: np.ndarray) -> list[tuple[int, int]]:
    """Return first and last position of each run of true flags."""
    edges = np.diff(np.concatenate([[0], flags.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


class Drawn(NamedTuple):
    """Curves drawn from their uncertainty, each with problems like these."""

    resampled: list[tuple[Splines, Floats]]  # and the difficulties of the resampled problems
    modelled: Floats | None  # (n_draws, n_quantiles, n_algorithms)
    weights: Floats  # (n_draws, n_quantiles): share of the problems at each quantile


@dataclass(frozen=True, eq=False)
class FittedCurves:
    """The curves of a portfolio, and what they were fitted to."""

    cells: Floats  # (n_problems, n_algorithms), higher is better; NaN: no run
    difficulty: Floats  # (n_problems,)
    splines: Splines
    fit: Callable[[Floats, Floats], Splines] = fit_splines  # of difficulties and values
    modelled: ModelledCurves | None = None  # None: there is no continuous model
    kept: dict[int, Drawn] = field(default_factory=dict, repr=False)  # by seed

    def shares(self, epsilon: float) -> Floats:
        """Return the share of problems at which each algorithm is within `epsilon` of the best."""
        return share_within(self.splines.at(self.difficulty), epsilon, self.splines.bounds)

    def interval(
        self, epsilon: float, confidence: float = CONFIDENCE, random_state: int = 0
    ) -> tuple[Floats, Floats]:
        """Return lower and upper end of the interval of each share, (n_algorithms,) each."""
        share, bounds = self.shares(epsilon), self.splines.bounds
        drawn = self._drawn(random_state)
        resampled = np.array([share_within(s.at(x), epsilon, bounds) for s, x in drawn.resampled])
        # Missing runs are filled in, and large tables resampled in part: both change the spread.
        runs = (~np.isnan(self.cells)).sum(axis=0)
        size = len(drawn.resampled[0][1])
        resampled = share + (resampled - share) * np.sqrt(size / np.maximum(runs, 1))
        resampled = resampled.clip(0.0, 1.0)
        low, high = _quantiles(np.where(np.isnan(resampled), share, resampled), confidence)
        if drawn.modelled is not None:
            pairs = zip(drawn.modelled, drawn.weights, strict=True)
            modelled = np.array([share_within(c, epsilon, bounds, w) for c, w in pairs])
            least, most = _quantiles(modelled, confidence)
            low, high = np.minimum(low, least), np.maximum(high, most)
        return np.minimum(low, share), np.maximum(high, share)

    def _drawn(self, random_state: int) -> Drawn:
        """Return curves of this seed, drawn once."""
        if random_state not in self.kept:
            random, n = np.random.default_rng(random_state), len(self.difficulty)
            resampled = [self._resampled(random) for _ in range(DRAWS)]
            modelled = None if self.modelled is None else self.modelled.drawn(DRAWS, random)
            n_points = 1 if modelled is None else modelled.shape[1]
            weights = random.multinomial(n, np.full(n_points, 1 / n_points), DRAWS) / n
            self.kept[random_state] = Drawn(resampled, modelled, weights)
        return self.kept[random_state]

    @cached_property
    def _filled(self) -> Floats:
        """The cells, a missing run as that of the algorithm on the problem nearest in difficulty.

        Complete columns are fitted all at once, which is twenty times as fast.
        """
        filled = self.cells.copy()
        for column in np.flatnonzero(np.isnan(filled).any(axis=0) & self.splines.known):
            ran = ~np.isnan(filled[:, column])
            order = np.argsort(self.difficulty[ran], kind="stable")
            x, values = self.difficulty[ran][order], filled[ran, column][order]
            wanted = self.difficulty[~ran]
            after = np.searchsorted(x, wanted).clip(1, len(x) - 1)
            nearer_before = wanted - x[after - 1] < x[after] - wanted
            filled[~ran, column] = values[after - nearer_before]
        return filled

    def _resampled(self, random: np.random.Generator) -> tuple[Splines, Floats]:
        """Return curves fitted to a resample of the problems, and the difficulties of these."""
        n = len(self.difficulty)
        rows = random.integers(0, n, min(n, MOST_RESAMPLED))
        difficulty = self.difficulty[rows]
        fitted = self.fit(difficulty, self._filled[rows])
        return replace(fitted, bounds=self.splines.bounds), difficulty


def _quantiles(shares: Floats, confidence: float) -> tuple[Floats, Floats]:
    low, high = np.quantile(shares, [(1 - confidence) / 2, (1 + confidence) / 2], axis=0)
    return low, high


def occupancy(
    curves: FittedCurves,
    algorithms: pd.Index,
    epsilon: float,
    *,
    confidence: float = CONFIDENCE,
    random_state: int = 0,
) -> pd.DataFrame:
    """Return share of problems at whose difficulty each algorithm is within `epsilon` of the best.

    If curves are equal, each of them is the best, so that shares may add up to more than 1; if all
    are as bad as possible, none is.
    """
    confidence = checked_share(confidence, "confidence", CONFIDENCE)
    random_state = whole_number(random_state, "random_state", 0)
    low, high = curves.interval(epsilon, confidence, random_state)
    shares = curves.shares(epsilon)
    columns = {"occupancy": shares, "occupancy_low": low, "occupancy_high": high}
    return pd.DataFrame(columns, index=algorithms)


# --- Figures: which display each is, and the frame it draws ---


def curves(portfolio: Portfolio, **kw: Any) -> Display:
    """Return performance along difficulty; what published splines say beyond the bounds is cut."""
    columns = ["performance", "low", "high"]
    frame = portfolio.curves.copy()
    frame[columns] = frame[columns].clip(*portfolio.performances.bounds)
    return _display("performance_curves", frame, height=portfolio.performances.scale, **kw)


def strengths(
    portfolio: Portfolio, epsilons: Sequence[float] | float = EPSILONS, **kw: Any
) -> Display:
    """Return regions of strengths and weaknesses for each epsilon."""
    levels = checked_epsilons(epsilons)
    parts = [
        regions_at(level).assign(kind=kind, epsilon=float(level))
        for level in levels
        for kind, regions_at in (
            ("strengths", portfolio.strengths),
            ("weaknesses", portfolio.weaknesses),
        )
    ]
    regions = pd.concat(parts, ignore_index=True)
    lacking = portfolio.algorithms.index.difference(pd.Index(regions["algorithm"]))
    without = pd.DataFrame({"algorithm": lacking, "kind": "strengths", "epsilon": float(levels[0])})
    frame = pd.concat([regions, without], ignore_index=True) if len(without) else regions
    kw["order"] = _order(portfolio)
    return _display("strengths", frame, difficulties=portfolio.difficulty, **kw)


def densities(portfolio: Portfolio, **kw: Any) -> Display:
    """Return density of performance along the easiness of problems."""
    calibration, table = portfolio.calibration, portfolio.performances
    if isinstance(calibration.model, Categorical):
        return traces(portfolio, **kw)
    abilities = np.linspace(-MOST_ABILITY, MOST_ABILITY, ABILITIES)
    heights = np.linspace(*_log_odds_range(portfolio), HEIGHTS)
    density = _density(calibration.items, abilities, heights)
    name, shown = HEIGHT, heights
    if _is_censored(portfolio):
        assert table.cut is not None  # noqa: S101 - otherwise nothing is censored
        kw["stopped"] = float(np.log10(table.in_unit(np.array(table.cut.limit))))
        name, shown = "log10 of runtime", np.log10(_in_unit(portfolio, heights))
    count = len(calibration.item_names)
    frame = pd.DataFrame(
        {
            "algorithm": np.repeat(np.asarray(calibration.item_names), ABILITIES * HEIGHTS),
            "ability": np.tile(np.repeat(abilities, HEIGHTS), count),
            name: np.tile(shown, count * ABILITIES),
            "density": density.ravel(),
        }
    )
    return _display("densities", frame, value=name, **kw)


def traces(portfolio: Portfolio, **kw: Any) -> Display:
    """Return density at some levels of performance, along the easiness of problems."""
    calibration = portfolio.calibration
    if isinstance(calibration.model, Categorical):
        abilities = np.linspace(-MOST_ABILITY, MOST_ABILITY, GRADE_ABILITIES)
        parts = [
            calibration.category_curves(name, abilities).to_frame()
            for name in calibration.item_names
        ]
        frame = pd.concat(parts, ignore_index=True)
        frame = frame.rename(columns={"item": "algorithm", "probability": "density"})
        return _display("traces", frame, height="probability", **kw)
    levels = np.quantile(_log_odds(portfolio), TRACES)
    abilities = _around_peaks(calibration.items, levels)
    density = _density(calibration.items, abilities, levels)
    count, n_abilities = abilities.shape
    noun = "performance" if portfolio.performances.better == "higher" else "value"
    shown = [f"{noun} {value:,.3g}" for value in _in_unit(portfolio, levels)]
    frame = pd.DataFrame(
        {
            "algorithm": np.repeat(np.asarray(calibration.item_names), n_abilities * len(levels)),
            "ability": np.repeat(abilities.ravel(), len(levels)),
            "grade": np.tile(np.asarray(shown, dtype=object), count * n_abilities),
            "density": density.ravel(),
        }
    )
    return _display("traces", frame, **kw)


def goodness(portfolio: Portfolio, **kw: Any) -> Display:
    """Return residuals, actual and predicted effectiveness."""
    return _display("goodness", portfolio.goodness_curves, order=_order(portfolio), **kw)


def effectiveness(portfolio: Portfolio, **kw: Any) -> Display:
    """Return actual against predicted effectiveness."""
    return _display("effectiveness", portfolio.goodness, **kw)


def runs(portfolio: Portfolio, **kw: Any) -> Display:
    """Return every run along difficulty, with the curve of its algorithm."""
    table = portfolio.performances
    frame = _by_run(portfolio, "performance", table.cells)
    frame["difficulty"] = np.tile(portfolio.difficulty, len(table.algorithms))
    frame["curve"] = portfolio.splines.at(portfolio.difficulty).T.ravel()
    if table.unsolved is not None:
        frame["late"] = table.unsolved.to_numpy().T.ravel()
    return _display("runs", frame[frame["performance"].notna()], height=table.scale, **kw)


def performances(portfolio: Portfolio, **kw: Any) -> Display:
    """Return how often each algorithm performs how well."""
    scale = portfolio.performances.scale
    frame = _by_run(portfolio, scale, portfolio.performances.cells)
    return _display("run_histograms", frame.dropna(), value=scale, **kw)


def residuals(portfolio: Portfolio, **kw: Any) -> Display:
    """Return how far runs of each algorithm are from what the model predicts."""
    name = "absolute residual"
    frame = _by_run(portfolio, name, portfolio.residuals)
    return _display("run_histograms", frame.dropna(), value=name, **kw)


def difficulties(portfolio: Portfolio, **kw: Any) -> Display:
    """Return how many problems are how hard."""
    return _display("histogram", portfolio.problems, value="difficulty", **kw)


FIGURES: dict[str, Callable[..., Display]] = {
    "curves": curves,
    "runs": runs,
    "strengths": strengths,
    "densities": densities,
    "traces": traces,
    "goodness": goodness,
    "effectiveness": effectiveness,
    "performances": performances,
    "residuals": residuals,
    "difficulties": difficulties,
}


def figure(portfolio: Portfolio, kind: str, **kw: Any) -> Display:
    """Draw one of the figures; settings of other figures are refused."""
    if not isinstance(kind, str) or kind not in FIGURES:
        raise InputError(f"`kind` must be one of {', '.join(FIGURES)}, got {kind!r}.")
    settings = {name: kw.pop(name) for name in SETTINGS if name in kw}
    for name in settings:
        if kind not in SETTINGS[name]:
            raise InputError(
                f"{name} is for {joined(list(SETTINGS[name]))}, but kind is {kind!r}. Leave it out."
            )
    return FIGURES[kind](portfolio, **settings).plot(**kw)


def _by_run(portfolio: Portfolio, name: str, cells: Floats) -> pd.DataFrame:
    """Return one row per algorithm and problem, with `cells` (n_problems, n_algorithms)."""
    names = np.asarray(portfolio.performances.algorithms)
    algorithm = np.repeat(names, len(portfolio.difficulty))
    return pd.DataFrame({"algorithm": algorithm, name: cells.T.ravel()})


def _order(portfolio: Portfolio) -> list[Any]:
    """Return algorithms in the order of their colours in the figure of curves."""
    display: Any = curves(portfolio)
    order: list[Any] = display.order
    return order


def _display(name: str, frame: pd.DataFrame, **kw: Any) -> Display:
    from ogive.results.plots import DISPLAYS

    display: Any = DISPLAYS[name]
    made: Display = display(frame, **kw)
    return made


def _is_censored(portfolio: Portfolio) -> bool:
    """Return True if the model knows that some runs did not end."""
    return isinstance(portfolio.calibration.model, Censored)


def _ends(portfolio: Portfolio) -> tuple[float, float]:
    """Return the worst and best performance between which log-odds are taken."""
    table = portfolio.performances
    if not _is_censored(portfolio):
        return table.bounds
    assert table.cut is not None  # noqa: S101 - otherwise nothing is censored
    return table.cut.reach


def _log_odds(portfolio: Portfolio) -> Floats:
    """Return log-odds of all performances strictly between the bounds, or of runs that ended."""
    table, (low, high) = portfolio.performances, _ends(portfolio)
    cells = table.cells.ravel()
    if _is_censored(portfolio) and table.cut is not None:
        cells = cells[cells > table.cut.limit]
    inside = cells[(cells > low) & (cells < high)]
    odds: Floats = np.log(inside - low) - np.log(high - inside)
    return odds if odds.size else np.array([-MOST_ABILITY, MOST_ABILITY])


def _in_unit(portfolio: Portfolio, log_odds: Floats) -> Floats:
    """Return log-odds in the unit of the measure."""
    from scipy.special import expit

    low, high = _ends(portfolio)
    return portfolio.performances.in_unit(low + (high - low) * expit(log_odds))


def _log_odds_range(portfolio: Portfolio) -> tuple[float, float]:
    low, high = np.quantile(_log_odds(portfolio), [0.01, 0.99])
    model = portfolio.calibration.model
    if isinstance(model, Censored):  # runs that did not end lie below the limit, and are shown too
        limit = float(model.ends(portfolio.calibration.coords)[0][0])
        low = min(low, limit) - BELOW * (high - min(low, limit))
    return float(low), float(high) if high > low else float(low) + 1.0


def _parameters(items: pd.DataFrame) -> list[Floats]:
    """Return discrimination, difficulty and scaling, (n_algorithms, 1, 1) each."""
    names = ("discrimination", "difficulty", "scaling")
    return [items[name].to_numpy()[:, None, None] for name in names]


def _around_peaks(items: pd.DataFrame, log_odds: Floats) -> Floats:
    """Return abilities at which lines of these levels are drawn, (n_algorithms, n_abilities)."""
    alpha, beta, gamma = _parameters(items)
    peaks = beta + gamma * log_odds[:, None] + AROUND_PEAK / np.abs(alpha)
    even = np.linspace(-MOST_ABILITY, MOST_ABILITY, ABILITIES)
    even = np.broadcast_to(even, (len(items), ABILITIES))
    every = np.concatenate([even, peaks.reshape(len(items), -1)], axis=1)
    return np.sort(np.clip(every, -MOST_ABILITY, MOST_ABILITY), axis=1)


def _density(items: pd.DataFrame, abilities: Floats, log_odds: Floats) -> Floats:
    """Return f(z | θ) of the continuous model, (n_algorithms, n_abilities, n_log_odds).

    Abilities are the same for all algorithms, or one row per algorithm.
    """
    alpha, beta, gamma = _parameters(items)
    z = alpha * (abilities[..., None] - beta - gamma * log_odds)
    return np.asarray(np.abs(alpha * gamma) / np.sqrt(2 * np.pi) * np.exp(-0.5 * z**2))
