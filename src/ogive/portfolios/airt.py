"""Algorithms as items, problems as respondents (Kandanaarachchi and Smith-Miles, 2023: AIRT).

The usual mapping is inverted: the ability θ of a problem is how easy it is, so its difficulty is
-θ; the discrimination and difficulty of an item describe an algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ogive._validation import one_of, whole_number
from ogive.data.datasets.aslib_description import Better
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate
from ogive.irt.calibration import Calibration
from ogive.irt.estimation.alternative_engines import Shojima
from ogive.irt.models.censored import Censored
from ogive.irt.models.continuous import Continuous
from ogive.portfolios.algorithm_traits import (
    Goodness,
    goodness_of,
    notes_on_calibration,
    notes_on_left_out,
    published_goodness,
    traits_of_algorithms,
)
from ogive.portfolios.performances import (
    FEWEST_ALGORITHMS,
    Performances,
    Transform,
    Unsolved,
    as_performances,
    fair_means,
    means,
    ranges,
    worst_where_missing,
)
from ogive.portfolios.portfolio_choice import AIRT, Candidates, ChosenPortfolio, choose
from ogive.portfolios.strengths import (
    CONFIDENCE,
    FIGURES,
    FittedCurves,
    ModelledCurves,
    by_epsilon,
    checked_epsilon,
    figure,
    notes_on_epsilon,
    occupancy,
    regions,
)
from ogive.results.base import Draw, Result, picked
from ogive.results.numbers import listed, who_has, with_interval
from ogive.stats.array_backend import Floats
from ogive.stats.intervals import reach_of_parts
from ogive.stats.pairwise_tests import differences_over_units, first_places
from ogive.stats.splines import FEWEST_KNOTS, SMOOTHINGS, Splines, fit_splines, too_few

if TYPE_CHECKING:
    from ogive.results.plots.figure import Display

__all__ = ["ChosenPortfolio", "Portfolio", "portfolio"]


Model = Literal["continuous", "graded"]
MODELS: tuple[Model, ...] = ("continuous", "graded")
MOST_GRADES = 100
CURVE_POINTS, PUBLISHED_CURVE_POINTS = 161, 80
Z = 1.959963984540054  # critical value of the bands of curves
SURE = 0.95  # chance from which an algorithm is named as better on harder problems
LEAST = 0.005  # share of the problems; less is shown as 0%


@dataclass(frozen=True)
class Settings:
    """How a portfolio is fitted, here and in every fold of a cross-validation."""

    model: Model = "continuous"
    grades: int = 5
    preset: str | None = None
    knots: int = 10
    smoothing: str = "reml"

    def __post_init__(self) -> None:
        one_of(self.model, "model", MODELS)
        if self.preset not in (None, AIRT):
            raise InputError(f"There is no preset {self.preset!r}. The only one is '{AIRT}'.")
        if self.preset and self.model != "continuous":
            raise InputError(f"preset='{AIRT}' uses the continuous model; leave `model` out.")
        if whole_number(self.grades, "grades", 2) > MOST_GRADES:
            raise InputError(
                f"grades is {self.grades}, but at most {MOST_GRADES} are possible. For finer "
                "grades, use model='continuous'."
            )
        whole_number(self.knots, "knots", FEWEST_KNOTS)
        one_of(self.smoothing, "smoothing", SMOOTHINGS)


@dataclass(frozen=True, eq=False, repr=False)
class Portfolio(Result):
    """What each algorithm is like, and how hard each problem is."""

    performances: Performances
    settings: Settings
    calibration: Calibration  # of the algorithms whose performance varies
    difficulty: Floats  # (n_problems,), -θ
    difficulty_se: Floats
    splines: Splines  # performance of each algorithm along difficulty
    notes: tuple[str, ...] = ()
    explored: ClassVar[bool] = False  # its items are algorithms, which have their own figures

    @cached_property
    def algorithms(self) -> pd.DataFrame:
        """One row per algorithm: discrimination, consistency, difficulty limit, anomalous."""
        return traits_of_algorithms(self.calibration, self.performances)

    @cached_property
    def problems(self) -> pd.DataFrame:
        """One row per problem: difficulty with its standard error, and the best algorithm.

        If several reach the best performance, all are named, and `shared_by` counts them.
        """
        cells = self.performances.cells
        known = np.where(np.isnan(cells), -np.inf, cells)
        first = known.argmax(axis=1)
        equal = known == known.max(axis=1, keepdims=True)
        names = np.array(self.performances.algorithms, dtype=object)
        given = self.performances.given.to_numpy()
        return pd.DataFrame(
            {
                "difficulty": self.difficulty,
                "difficulty_se": self.difficulty_se,
                "best_algorithm": [", ".join(names[row]) for row in equal],
                "shared_by": equal.sum(axis=1),
                "best_performance": given[np.arange(len(given)), first],
                "runs": (~np.isnan(cells)).sum(axis=1),
            },
            index=self.performances.modelled.index.rename("problem"),
        )

    @cached_property
    def curves(self) -> pd.DataFrame:
        """Performance along difficulty, tidy: algorithm, difficulty, performance, low, high.

        Algorithms with too few runs are left out.
        """
        points = PUBLISHED_CURVE_POINTS if self.settings.preset else CURVE_POINTS
        grid = np.linspace(self.difficulty.min(), self.difficulty.max(), points)
        known = self.splines.known
        middle, error = self.splines.at(grid)[:, known], self.splines.se_at(grid)[:, known]
        names = self.performances.algorithms[known]
        return pd.DataFrame(
            {
                "algorithm": np.repeat(np.asarray(names), points),
                "difficulty": np.tile(grid, len(names)),
                "performance": middle.T.ravel(),
                "performance_se": error.T.ravel(),
                "low": self.splines.bounded(middle - Z * error).T.ravel(),
                "high": self.splines.bounded(middle + Z * error).T.ravel(),
            }
        )

    def strengths(self, epsilon: float = 0.0) -> pd.DataFrame:
        """Return regions of difficulty where an algorithm is within `epsilon` of the best curve."""
        return self._regions(epsilon, best=True)

    def weaknesses(self, epsilon: float = 0.0) -> pd.DataFrame:
        """Return regions of difficulty in which an algorithm is within `epsilon` of the worst."""
        return self._regions(epsilon, best=False)

    def _regions(self, epsilon: float, *, best: bool) -> pd.DataFrame:
        names = self.performances.algorithms
        return regions(self.splines, self.difficulty, names, checked_epsilon(epsilon), best=best)

    def occupancy(
        self, epsilon: float = 0.0, *, confidence: float = CONFIDENCE, random_state: int = 0
    ) -> pd.DataFrame:
        """Return share of the problems at which each algorithm is strong, with its interval.

        The interval is for problems like these: it counts that curves, difficulties and the choice
        of problems vary. In simulations, 95 % intervals held the truth in 87 to 100 % of cases
        where the model is right, and in far fewer where runs get stuck whatever the problem.
        """
        return occupancy(
            self.candidates.curves,
            self.performances.algorithms,
            checked_epsilon(epsilon),
            confidence=confidence,
            random_state=random_state,
        )

    @cached_property
    def goodness(self) -> pd.DataFrame:
        """How well the model explains each algorithm: mse, aucdf, auaec, aupec, difference."""
        return self._goodness.frame(self.performances.algorithms)

    @cached_property
    def goodness_curves(self) -> pd.DataFrame:
        """The curves behind the areas in `goodness`: algorithm, curve, tolerance, share."""
        return self._goodness.curves(self.performances.algorithms)

    @property
    def residuals(self) -> Floats:
        """How far each run is from its prediction, on [0, 1], (n_problems, n_algorithms)."""
        return self._goodness.residuals

    @cached_property
    def _goodness(self) -> Goodness:
        table, settings, items = self.performances, self.settings, self.calibration.items
        if settings.preset and len(items) == len(table.algorithms):
            low, high = table.bounds
            span = max(high - low, 1.0)  # the published program assumes the unit interval
            return published_goodness(table.cells / span, (low / span, high / span), items)
        grades = table.grades(settings.grades)[0] if settings.model == "graded" else None
        return goodness_of(self.calibration, table, self.difficulty, grades)

    def select(
        self, epsilon: float = 0.0, *, size: int | None = None, method: str = AIRT
    ) -> ChosenPortfolio:
        """Choose the algorithms to keep.

        "airt" keeps those within `epsilon` of the best curve somewhere, or the first `size`;
        "topset" those that win most often; "shapley" those that add most to the virtual best.
        """
        chosen = choose(
            self.candidates,
            self.performances.algorithms,
            method=method,
            epsilon=checked_epsilon(epsilon),
            size=size,
            mean_performance=means(self.performances.given.to_numpy()),
        )
        more = notes_on_epsilon(chosen.epsilon, self.performances.bounds)
        return replace(chosen, notes=(*chosen.notes, *more))

    @cached_property
    def candidates(self) -> Candidates:
        """What portfolios are chosen from."""
        table, settings = self.performances, self.settings
        continuous = settings.model == "continuous"
        curves = FittedCurves(
            table.cells,
            self.difficulty,
            self.splines,
            fit=partial(fit_splines, n_knots=settings.knots, smoothing=settings.smoothing),
            modelled=ModelledCurves(self.calibration, table, self.splines) if continuous else None,
        )
        return Candidates(curves, table.bounds[0], first_wins=settings.preset is not None)

    @property
    def meaning(self) -> str:
        """Who leads, beside the single and the virtual best; who does better on harder problems."""
        leaders = f"{who_leads(self.occupancy())}{better_on_harder(self.algorithms)}"
        return f"{leaders} {references(self.performances)}"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per algorithm."""
        return self.algorithms

    def tables(
        self, epsilons: Sequence[float] | None = None, random_state: int = 0
    ) -> dict[str, pd.DataFrame]:
        """Return algorithms, problems, curves, regions of strength, and the fit of the model.

        With `epsilons`, regions are given for each of them; without, for 0.
        """
        return {
            "algorithms": self.algorithms,
            "problems": self.problems,
            "curves": self.curves,
            "strengths": by_epsilon(self.strengths, epsilons),
            "weaknesses": by_epsilon(self.weaknesses, epsilons),
            "occupancy": by_epsilon(partial(self.occupancy, random_state=random_state), epsilons),
            "goodness": self.goodness,
            "goodness_curves": self.goodness_curves,
        }

    def page_tables(self) -> dict[str, pd.DataFrame]:
        """Return all but the points of curves and the weaknesses."""
        names = ("algorithms", "problems", "strengths", "occupancy", "goodness")
        return picked(self.tables(), *names)

    def figures(self, epsilons: Sequence[float] | None = None) -> dict[str, Draw]:
        """Return one figure per kind; grades have traces instead of densities."""
        wanted = {} if epsilons is None else {"strengths": {"epsilons": epsilons}}
        return {
            kind: partial(self.plot, kind, **wanted.get(kind, {}))
            for kind in FIGURES
            if kind != "densities" or self.settings.model == "continuous"
        }

    def page_figures(self) -> dict[str, Draw]:
        """Return curves, runs, strengths, fit, and either densities or traces."""
        last = "densities" if self.settings.model == "continuous" else "traces"
        first = ("curves", "runs", "difficulties", "strengths")
        return picked(self.figures(), *first, "goodness", "effectiveness", last)

    def banks(self) -> dict[str, Calibration]:
        """Return the bank, whose items are the algorithms."""
        return {"algorithms": self.calibration}

    def plot(self, kind: str = "curves", **kw: Any) -> Display:
        """Draw one of the figures.

        `kind` is "curves", "runs", "strengths", "densities", "traces", "goodness", "effectiveness",
        "performances", "residuals" or "difficulties".
        `epsilons` (0 and 0.01) is for "strengths", `highlight` for "curves" and "goodness",
        `panels` for figures with one panel per algorithm.
        """
        return figure(self, kind, **kw)


def portfolio(
    performance: Any,
    *,
    better: Better | None = None,
    transform: Transform | None = None,
    bounds: tuple[float, float] | None = None,
    cutoff: float | None = None,
    penalty: float | None = None,
    unsolved: Unsolved | None = None,
    model: Model = "continuous",
    grades: int = 5,
    preset: str | None = None,
    knots: int = 10,
    smoothing: str = "reml",
) -> Portfolio:
    """Describe algorithms by their runs on problems: consistency, difficulty limit, strengths.

    `performance` is a table of problems × algorithms (NaN: no run), `Responses`, or what
    `read_aslib` returns, which states whether lower is better and where runs are cut off.

    `better` says whether "higher" (the default) or "lower" values are good. If lower, `transform`
    reverses them: "negate" maps them to [0, 1] between the best and the worst, "reciprocal" is
    1 / (1 + t). `bounds` are the smallest and largest possible value, in the unit of the table; by
    default, those that occur. Runs at or beyond `cutoff`, and runs that failed in a scenario, keep
    their value but count at least as the cut-off; or they count as `penalty` times the cut-off (10:
    PAR10). The model takes them as what they are: runs that would have taken longer. Problems that
    nobody solved have no leader: `unsolved="drop"` leaves them out, "keep" does not, which is the
    default with a preset.

    `model` is "continuous", or "graded" with this number of `grades` (equally many runs in each).
    `preset="airt"` reproduces the paper: its early stop of the estimation, its rule at the bounds,
    standardised difficulty and its goodness measures. `knots` and `smoothing` ("reml" or "gcv") set
    the curves of performance along difficulty.

    The frame, also `algorithms`, has one row per algorithm: discrimination, consistency,
    difficulty_limit, each with its se, anomalous, mean_performance and more. After Kandanaarachchi
    and Smith-Miles (2023).

    >>> import ogive as og
    >>> import numpy as np
    >>> easiness = np.linspace(-2, 2, 60)[:, None]
    >>> noise = np.random.default_rng(0).normal(0, 0.3, (60, 4))
    >>> accuracy = 1 / (1 + np.exp(-(easiness * [1, 1, 1, -0.3] + [1, 0, 0.5, 0] + noise)))
    >>> found = og.portfolio(accuracy)
    >>> list(found.algorithms.index[found.algorithms["anomalous"]])
    ['algorithm_4']
    """
    settings = Settings(model, grades, preset, knots, smoothing)
    table = as_performances(
        performance,
        better=better,
        transform=transform,
        bounds=bounds,
        cutoff=cutoff,
        penalty=penalty,
        unsolved=unsolved or ("keep" if preset else "drop"),
    )
    return fit_portfolio(table, settings)


def fit_portfolio(table: Performances, settings: Settings) -> Portfolio:
    """Fit a portfolio to prepared performances."""
    notes, judged = list(table.notes), table.cells
    if table.cut is not None and not settings.preset:
        judged = judged.clip(table.cut.limit, table.cut.quick)
    if settings.model == "graded":
        judged, ties = table.grades(settings.grades)
        notes += ties
    few = too_few(judged)
    alike = (ranges(judged) == 0) & ~few
    varied = np.flatnonzero(~few & ~alike)
    notes += notes_on_left_out(list(table.algorithms[few]), list(table.algorithms[alike]))
    if len(varied) < FEWEST_ALGORITHMS:
        raise InputError(
            f"Only {len(varied)} of {len(few)} algorithms have a performance that varies over "
            f"problems{' and enough runs' if few.any() else ''}, but at least three are needed to "
            "estimate how hard problems are."
        )
    calibration = _calibrated(table, judged, varied, settings)
    notes += notes_on_calibration(calibration)
    if not calibration.converged and not settings.preset:
        notes.append("The estimation did not converge: read the estimates with caution.")
    # The published program takes the algorithms as known; otherwise their errors count.
    method, items_known = ("ml", True) if settings.preset else ("eap", False)
    scored = calibration.abilities(method, items_known=items_known)
    easiness, error = (scored[name].to_numpy(dtype=float) for name in ("ability", "se"))
    if settings.preset:
        sd = easiness.std(ddof=1)
        easiness, error = (easiness - easiness.mean()) / sd, error / sd
    splines = fit_splines(
        -easiness, table.cells, n_knots=settings.knots, smoothing=settings.smoothing
    )
    if not settings.preset:
        splines = replace(splines, bounds=table.bounds)
    return Portfolio(table, settings, calibration, -easiness, error, splines, tuple(notes))


def _calibrated(
    table: Performances, judged: Floats, varied: NDArray[np.intp], settings: Settings
) -> Calibration:
    """Calibrate the algorithms at these positions, with problems as respondents."""
    names = {"respondents": list(table.modelled.index), "items": list(table.algorithms[varied])}
    if settings.model == "graded":
        return calibrate(Responses(judged[:, varied], kind="graded", **names), "graded")
    responses = Responses(judged[:, varied], kind="continuous", **names)
    if settings.preset:
        table.require_every_run(f"preset='{AIRT}'")
        bounds: Any = "table" if table.transform == "reciprocal" else table.bounds
        return calibrate(responses, Continuous(bounds=bounds, at_bounds=0.01), engine=Shojima())
    # Without priors: an algorithm that leaves no noise sets the line, which is a finding here.
    model = Continuous(bounds=table.bounds)
    if table.cut is not None:
        model = Censored(bounds=table.cut.reach, limits=table.cut[:2])
    return calibrate(responses, model, priors=None)


# --- Sentences ---


def who_leads(occupancy: pd.DataFrame) -> str:
    """Say which algorithm leads at most problems; none whose interval includes 0."""
    share = occupancy["occupancy"]
    sure = occupancy[occupancy["occupancy_low"] > 0]
    leaders = int((share > 0).sum())
    some = (
        f"{leaders} of {len(share)} algorithms {'has' if leaders == 1 else 'have'} the best curve"
    )
    if sure.empty:
        return f"Nobody surely leads: {some} somewhere, but every interval includes 0"
    ordered = sure.sort_values("occupancy", ascending=False, kind="stable")
    best, others = ordered.iloc[0], ordered.iloc[1:]
    near = list(map(str, others.index[others["occupancy_high"] >= best["occupancy_low"]]))
    total, ties = float(share.sum()), ""
    if total >= 1 + LEAST:
        ties = (
            f" (shares add up to {total:.0%}: where curves are equal, each counts as the best, "
            "unless all are as bad as the bounds allow)"
        )
    overlap = f", which overlaps that of {listed(near, 'other')}" if near else ""
    return (
        f"{best.name} has the best curve at {best['occupancy']:.0%} of the problems (95% interval "
        f"{_percent(best['occupancy_low'])} to {_percent(best['occupancy_high'])}{overlap}); "
        f"{some} somewhere, and for {len(sure)} the interval of that share excludes 0{ties}"
    )


def _percent(share: float) -> str:
    return "<1%" if 0 < share < LEAST else f"{share:.0%}"


def references(performances: Performances) -> str:
    """Say what the single best and the virtual best algorithm reach, in the unit of the measure."""
    gains = performances.gains
    filled = worst_where_missing(gains)
    means = fair_means(gains)
    first = first_places(means)
    single = int(first[0])
    sign = 1.0 if performances.better == "higher" else -1.0
    alone, best = sign * filled[:, single], sign * filled.max(axis=1)
    names = [performances.algorithms[k] for k in first]
    who = f"The single best is {names[0]} with"
    if len(names) > 1:
        who = f"No single algorithm is best: {who_has(names, 'algorithm')} the first place, with"
    level = differences_over_units(filled.T).level_with(single)
    near = [str(name) for name in performances.algorithms[level] if name not in names]
    it = "it" if len(names) == 1 else "them"
    also = f", and {listed(near, 'other')} cannot be distinguished from {it}" if near else ""
    return (
        f"{who} a mean of {_with_error(alone)}{also}; "
        f"the virtual best, the best algorithm for each problem, has {_with_error(best)}."
    )


def better_on_harder(algorithms: pd.DataFrame) -> str:
    """Say which algorithms do better on harder problems, as the end of a sentence."""
    odd = algorithms[algorithms["anomalous"]]
    sure = odd.index[odd["anomalous_chance"] > SURE]
    if len(sure):
        return f". Better on harder problems: {listed(list(sure), 'algorithm')}."
    return f"; none does {'significantly ' if len(odd) else ''}better on harder problems overall."


def _with_error(values: Floats) -> str:
    half_width = reach_of_parts(len(values)) * float(values.std(ddof=1)) / np.sqrt(len(values))
    return with_interval(float(values.mean()), half_width)
