"""What the calibration says about each algorithm, and how well the model explains it.

Goodness is measured by areas under curves of residuals and effectiveness (Kandanaarachchi and
Smith-Miles, 2023, sections 4.4 and 4.5). The area under the distribution function of a number in
[0, 1] is 1 minus its mean, which needs no grid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ogive.irt.calibration import Calibration
from ogive.irt.estimation.identifiability import AT_BOUND, FEW_RESPONDENTS, UNSEEN
from ogive.irt.models.censored import Censored
from ogive.portfolios.performances import Performances, means
from ogive.results.numbers import counted, listed
from ogive.stats.array_backend import Floats
from ogive.stats.special_functions import log_normal_cdf, sigmoid_pair
from ogive.stats.splines import FEWEST_VALUES, too_few

POINTS = 101  # of each curve that is drawn
PUBLISHED_POINTS, PUBLISHED_STEP, PUBLISHED_TOP = 100, 0.01, 10.0
RESIDUALS, ACTUAL, PREDICTED = "residuals", "actual", "predicted"
CONSTANT, FEW_RUNS = "constant", "few runs"
# Flags of items, worded for algorithms; negative discrimination is a column of its own.
FLAGS = {
    f"noise {AT_BOUND}": (
        "sets the line",
        "fitted without residual: difficulty follows these runs, hardly those of others.",
    ),
    UNSEEN: (
        "grade never reached",
        "with an intermediate grade that was never reached: its place comes from the prior.",
    ),
    AT_BOUND: (
        "at bound",
        "with a parameter at its bound: read the estimate with caution.",
    ),
}


@dataclass(frozen=True, eq=False)
class Goodness:
    """Actual and predicted performances, both on [0, 1]."""

    actual: Floats  # (n_problems, n_algorithms); NaN: no run
    predicted: Floats  # (n_problems, n_algorithms)
    published: bool = False  # areas on the grid of the AIRT paper

    @property
    def residuals(self) -> Floats:
        """Absolute differences of actual and predicted performances, (n_problems, n_algorithms)."""
        return np.abs(self.actual - self._predicted_runs)

    @property
    def _predicted_runs(self) -> Floats:
        """Predictions of the runs that there are."""
        return np.where(np.isnan(self.actual), np.nan, self.predicted)

    def frame(self, algorithms: pd.Index) -> pd.DataFrame:
        """Return measures and their standard errors over problems, one row per algorithm."""
        residuals, predicted = self.residuals, self._predicted_runs
        areas = {
            "mse": (residuals**2, None),
            "aucdf": (1 - residuals, self._area(residuals, lower=True)),
            "auaec": (self.actual, self._area(self.actual, lower=False)),
            "aupec": (predicted, self._area(predicted, lower=False)),
            "difference": (self.actual - predicted, None),
        }
        columns: dict[str, Floats] = {}
        for name, (cells, area) in areas.items():
            columns[name] = means(cells) if area is None else area
            columns[f"{name}_se"] = _error_of_mean(cells)
        columns["difference"] = np.abs(columns["auaec"] - columns["aupec"])
        return pd.DataFrame(columns, index=algorithms)

    def curves(self, algorithms: pd.Index) -> pd.DataFrame:
        """Return tidy: algorithm, curve, tolerance, share of problems within the tolerance."""
        tolerances = np.linspace(0.0, 1.0, POINTS)
        cells_of = {
            RESIDUALS: self.residuals,
            ACTUAL: 1 - self.actual,
            PREDICTED: 1 - self._predicted_runs,
        }
        columns = {
            "algorithm": np.repeat(np.asarray(algorithms), POINTS),
            "tolerance": np.tile(tolerances, len(algorithms)),
        }
        parts = [
            pd.DataFrame(columns | {"share": _share_within(cells, tolerances).T.ravel()}).assign(
                curve=name
            )
            for name, cells in cells_of.items()
        ]
        order = ["algorithm", "curve", "tolerance", "share"]
        return pd.concat(parts, ignore_index=True)[order]

    def _area(self, cells: Floats, *, lower: bool) -> Any:
        """Return area under the share of cells up to (or from) each threshold.

        The paper's grid has thresholds 0, 0.01, ..., 0.99 of residuals and 1, 0.99, ..., 0.01 of
        performances, but spreads their 100 shares over the whole unit.
        """
        if not self.published:
            return 1 - means(cells) if lower else means(cells)
        steps = np.arange(PUBLISHED_POINTS) / PUBLISHED_POINTS
        shares = _share_within(cells, steps) if lower else _share_within(-cells, steps - 1.0)
        grid = np.linspace(0.0, 1.0, PUBLISHED_POINTS)
        return np.trapezoid(shares, grid, axis=0)


def _share_within(cells: Floats, limits: Floats) -> Floats:
    """Return share of the cells of each column at or below each limit, (n_limits, n_columns)."""
    shares = np.empty((len(limits), cells.shape[1]))
    for column, values in enumerate(cells.T):
        known = np.sort(values[~np.isnan(values)])
        shares[:, column] = np.searchsorted(known, limits, side="right") / max(known.size, 1)
    return shares


def _error_of_mean(cells: Floats) -> Floats:
    """Return standard error of the mean of each column; NaN with fewer than two values."""
    count = (~np.isnan(cells)).sum(axis=0)
    enough = np.where(count > 1, count, np.nan)
    deviations = np.nan_to_num(cells - means(cells))
    return np.asarray(np.sqrt((deviations**2).sum(axis=0) / (enough - 1) / enough))


def goodness_of(
    calibration: Calibration, performances: Performances, difficulty: Floats, grades: Floats | None
) -> Goodness:
    """Return actual and predicted performances; with `grades`, those of the graded model."""
    low, high = performances.bounds
    top = 1.0 if grades is None else float(np.nanmax(grades))
    actual = (performances.cells - low) / (high - low) if grades is None else grades / top
    predicted = np.broadcast_to(means(actual), actual.shape).copy()
    positions = performances.algorithms.get_indexer(calibration.items.index)
    if grades is None and isinstance(calibration.model, Censored):
        expected = _expected_with_timeouts(calibration, performances, difficulty)
        predicted[:, positions] = (expected - low) / (high - low)
    else:
        predicted[:, positions] = _predicted(calibration, difficulty) / top
    return Goodness(actual, predicted)


def _expected_with_timeouts(
    calibration: Calibration, performances: Performances, difficulty: Floats
) -> Floats:
    """Return expected performance, (n_problems, n_calibrated), with runs that did not end.

    The median would not do: if half of the runs do not end, it says nothing of the other half.
    """
    model: Any = calibration.model
    coords, easiness = calibration.coords, -difficulty
    expected = model.expected(coords, easiness)
    assert performances.cut is not None  # noqa: S101 - otherwise nothing is censored
    assert performances.unsolved is not None  # noqa: S101
    late_runs = performances.unsolved.to_numpy() & ~np.isnan(performances.cells)
    counts = performances.cells[late_runs]
    if counts.size:
        late = model.chance_beyond(coords, easiness)[0]
        expected = expected + late * (counts.mean() - performances.cut.limit)
    return np.asarray(expected.T)


def _predicted(calibration: Calibration, difficulty: Floats) -> Floats:
    """Return the likeliest performance on [0, 1], or grade, (n_problems, n_calibrated)."""
    items = calibration.items
    if "scaling" in items:
        odds = (-difficulty[:, None] - items["difficulty"].to_numpy()) / items["scaling"].to_numpy()
        return np.asarray(sigmoid_pair(odds)[0])
    model: Any = calibration.model
    chances = model.category_probabilities(calibration.coords, -difficulty)
    return np.asarray(np.argmax(chances, axis=0).T + float(model.lowest or 0))


def published_goodness(
    performance: Floats, bounds: tuple[float, float], items: pd.DataFrame
) -> Goodness:
    """Return goodness as printed in the AIRT paper, which predicts differently.

    Problems are scored again with bounds 0 and 1, the scores get mean 0 and standard deviation 1,
    and log-odds are predicted as (θ - β) γ where the model says (θ - β) / γ.
    """
    low, high = bounds
    names = ("discrimination", "difficulty", "scaling")
    slope, difficulty, scaling = (items[name].to_numpy() for name in names)
    inside = np.where(performance >= high, high - PUBLISHED_STEP, performance)
    inside = np.where(performance <= low, low + PUBLISHED_STEP, inside) - low
    odds = np.log(inside) - np.log1p(-inside)
    ability = (slope**2 * (difficulty + scaling * odds)).sum(axis=1) / (slope**2).sum()
    ability = (ability - ability.mean()) / ability.std(ddof=1)
    predicted = np.minimum((ability[:, None] - difficulty) * scaling, PUBLISHED_TOP)
    return Goodness(inside, sigmoid_pair(predicted)[0], published=True)


def traits_of_algorithms(calibration: Calibration, performances: Performances) -> pd.DataFrame:
    """Return discrimination, consistency, difficulty limit, anomaly of each algorithm."""
    items = calibration.items
    slope = items["discrimination"]
    limit, limit_se = _limits(calibration)
    # In the continuous model slope = loading / noise, whose error explodes if there is hardly
    # any noise; scaling = 1 / loading has the same sign, and the same ratio to its error.
    signed = "scaling" if "scaling" in items else "discrimination"
    ratio = (items[signed] / items[f"{signed}_se"]).to_numpy()
    frame = pd.DataFrame(
        {
            "discrimination": slope,
            "discrimination_se": items["discrimination_se"],
            "anomalous": slope < 0,
            "anomalous_chance": np.exp(log_normal_cdf(-ratio)),
            "consistency": 1 / slope.abs(),
            "consistency_se": items["discrimination_se"] / slope**2,
            "difficulty_limit": -limit,
            "difficulty_limit_se": limit_se,
        }
    )
    if "scaling" in items:
        frame.insert(2, "scaling", items["scaling"])
        frame.insert(3, "scaling_se", items["scaling_se"])
    frame = frame.reindex(performances.algorithms)
    few = too_few(performances.cells)
    alike = ~frame.index.isin(items.index) & ~few
    frame["anomalous"] = frame["anomalous"].eq(True)
    frame.loc[alike, "consistency"] = np.inf  # the limit of 1 / |discrimination| at 0
    frame["mean_performance"] = means(performances.given.to_numpy())
    flags = pd.Series(_flags(calibration), dtype=object).reindex(frame.index, fill_value="")
    frame["flag"] = np.select([few, alike], [FEW_RUNS, CONSTANT], flags)
    return frame


def _limits(calibration: Calibration) -> tuple[Floats, Floats]:
    """Return the easiness at which each algorithm reaches its limit, and its standard error.

    If runs are cut off, half of the runs on such problems end in time.
    """
    items, model = calibration.items, calibration.model
    if not isinstance(model, Censored):
        name = _limit_name(items)
        return items[name].to_numpy(dtype=float), items[f"{name}_se"].to_numpy(dtype=float)
    slope, scaling = (items[name].to_numpy(dtype=float) for name in ("discrimination", "scaling"))
    coords = calibration.coords
    limit = (model.ends(coords)[0] - coords[:, 1]) * scaling
    gradient = np.stack([-limit / slope, -scaling, -limit], axis=1)  # by the coordinates
    covariances = calibration.uncertainty.covariances
    variance = np.einsum("ni,nij,nj->n", gradient, covariances, gradient)
    return limit, np.sqrt(np.where(items["discrimination_se"] > 0, variance, np.nan))


def notes_on_left_out(few: Sequence[str], alike: Sequence[str]) -> list[str]:
    """Return notes on algorithms that are not calibrated: too few runs, or constant performance."""
    notes = []
    if few:
        notes.append(
            f"{listed(few, 'algorithm')} with fewer than {FEWEST_VALUES} runs: no estimates and no "
            "curve, so never counted as strong."
        )
    if alike:
        notes.append(
            f"{listed(alike, 'algorithm')} with the same performance on every problem: "
            "perfectly consistent, with no difficulty limit."
        )
    return notes


def notes_on_calibration(calibration: Calibration) -> list[str]:
    """Return notes on the fit, one sentence each."""
    notes = []
    items, flags = calibration.items, _flags(calibration)
    if calibration.n_respondents < FEW_RESPONDENTS:
        notes.append(
            f"Only {counted(int(calibration.n_respondents), 'problem')}: estimates for algorithms "
            "are imprecise. Read them with their standard errors."
        )
    for word, meaning in FLAGS.values():
        names = [name for name, words in flags.items() if word in words.split(", ")]
        if names:
            notes.append(f"{listed(names, 'algorithm')} {meaning}")
    short = list(items.index[items[_limit_name(items)].isna()])
    if short:
        notes.append(
            f"{listed(short, 'algorithm')} without a run of the highest grade: there is no "
            "difficulty limit, since that is the difficulty of the highest grade."
        )
    return notes


def _flags(calibration: Calibration) -> dict[str, str]:
    """Return the flag of each calibrated algorithm; mostly empty."""
    words_of = {}
    for name, flags in zip(calibration.item_names, calibration.flags, strict=True):
        keys = [next((key for key in FLAGS if flag.endswith(key)), None) for flag in flags]
        words = [FLAGS[key][0] for key in keys if key is not None]
        words_of[name] = ", ".join(dict.fromkeys(words))
    return words_of


def _limit_name(items: pd.DataFrame) -> str:
    """Return the column of item difficulty; with grades, that of the highest grade."""
    steps = [name for name in map(str, items) if re.fullmatch(r"difficulty_\d+", name)]
    return steps[-1] if steps else "difficulty"
