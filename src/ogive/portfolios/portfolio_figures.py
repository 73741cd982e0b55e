"""The figures of a portfolio: which display each is, and the frame it draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ogive.errors import InputError
from ogive.irt.models.categorical import Categorical
from ogive.irt.models.censored import Censored
from ogive.portfolios.strengths import checked_epsilons
from ogive.results.numbers import joined
from ogive.stats.array_backend import Floats

if TYPE_CHECKING:
    from ogive.portfolios.airt import Portfolio
    from ogive.results.plots.figure import Display


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
        raise InputError(f"kind is {kind!r}, but it should be one of {', '.join(FIGURES)}.")
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
