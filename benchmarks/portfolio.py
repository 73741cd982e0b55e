"""Portfolios of algorithms: the tables of the AIRT paper, the default and its preset, speed.

python benchmarks/portfolio.py [published | coverage | speed | timeouts FOLDER]

The first part reads the ASlib scenarios and printed tables of OGIVE_SHARED, the folder of shared
data; `timeouts` reads every scenario in FOLDER, a copy of the public repository coseal/aslib_data.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.datasets.aslib import AslibScenario
from ogive.portfolios.airt import Portfolio
from ogive.portfolios.portfolio_gaps import BEST_MEMBER, MEAN_MEMBER, SINGLE, PortfolioComparison
from ogive.stats.array_backend import Floats

WEKA, CSP = "OPENML-WEKA-2017", "CSP-Minizinc-Obj-2016"
N_PROBLEMS, N_ALGORITHMS = 100_000, 50
SIZE = 5  # size of the portfolios in table 6
FOLDS = 10
PASSES, FEW_PROBLEMS, PASSES_OF_FEW = 5, 200, 50  # over few problems, one pass is mostly chance
EPSILON = {WEKA: 0.01}  # that of the paper; for the other scenarios, 0.05
SHOWN = ("2369", "2370", "2904", "2362", "2381", "2361", "2893", "8990")
SIMULATED = 100  # simulations of each design
MANY = 200_001  # problems that stand for the population
LIMITS = {"mse": 0.01, "aucdf": 0.01, "auaec": 0.0005, "aupec": 0.02}


def scenario(name: str, measure: str | None = None) -> AslibScenario:
    return og.read_aslib(SHARED / "data" / "aslib" / name, measure)


def printed(name: str) -> pd.DataFrame:
    return pd.read_csv(SHARED / "data" / "paper_tables" / name)


def constraint_solvers() -> AslibScenario:
    """Read the running example of the paper, without the problem that has the most timeouts."""
    found = scenario(CSP, "time")
    often = (found.status == "timeout").sum(axis=1)
    kept = often < often.max()
    return replace(found, performance=found.performance[kept], status=found.status[kept])


def table_2() -> None:
    """Print which constraint solver has the best curve where."""
    wanted = printed("003_table2_csp_lto.csv").set_index("algorithm")
    # Timeouts of the scenario count as 6000 s, five times the cut-off.
    found = og.portfolio(constraint_solvers(), transform="reciprocal", penalty=5, preset="airt")
    shares = {each: found.occupancy(each)["occupancy"] for each in (0.0, 0.01)}
    order = shares[0.0].sort_values(ascending=False, kind="stable")
    rows = [
        (
            name,
            f"{wanted['lto_eps0'].get(name, 0):.3f}",
            f"{shares[0.0][name]:.3f}",
            f"{wanted['lto_eps0.01'].get(name, 0):.3f}",
            f"{shares[0.01][name]:.3f}",
        )
        for name in order.index
        if shares[0.01][name] > 0 or name in wanted.index
    ]
    print_table(
        f"Table 2: occupancy, {len(found.problems)} × {len(found.algorithms)}",
        ("algorithm", "ε = 0, printed", "obtained", "ε = 0.01, printed", "obtained"),
        rows,
    )


def tables_4_and_5(found: Portfolio) -> None:
    """Count how many of 30 classifiers have the printed figure, or one close to it."""
    four = printed("003_table4_openml_weka_airt_metrics.csv")
    five = printed("003_table5_openml_weka_model_goodness.csv")
    digit = 0.0005000001
    shares = {each: found.occupancy(each)["occupancy"] for each in (0.0, 0.01)}
    limits = found.algorithms["difficulty_limit"]
    rows = [
        ("4", "consistency", found.algorithms["consistency"], four["consistency"], digit),
        ("4", "difficulty limit", limits, four["difficulty_limit"], digit),
        ("4", "occupancy, ε = 0", shares[0.0], four["lto_eps0"], 0.03),
        ("4", "occupancy, ε = 0.01", shares[0.01], four["lto_eps0.01"], 0.05),
    ]
    rows += [
        ("5", name.upper(), found.goodness[name], five[name], max(limit, digit))
        for name, limit in LIMITS.items()
    ]
    print_table(
        "Tables 4 and 5: 30 classifiers of WEKA",
        ("table", "figure", "limit", "within the limit", "printed digit", "largest distance"),
        [_within(*row, digit) for row in rows],
    )


def _within(
    table: str, name: str, found: pd.Series, wanted: pd.Series, limit: float, digit: float
) -> tuple[object, ...]:
    away = np.abs(found.to_numpy() - wanted.to_numpy())
    within, exact = ((away <= most).sum() for most in (limit, digit))
    of = len(away)
    return table, name, f"{limit:.2g}", f"{within} of {of}", f"{exact} of {of}", f"{away.max():.4f}"


def table_6() -> None:
    """Print the mean performance gap of portfolios of five."""
    rows = []
    for row in printed("003_table6_mpg_first_half.csv").itertuples():
        name = str(row.aslib_scenario)
        if not (SHARED / "data" / "aslib" / name).is_dir():
            continue
        found = og.portfolio(scenario(name), preset="airt")
        passes = PASSES_OF_FEW if len(found.problems) <= FEW_PROBLEMS else PASSES
        compared = og.compare_portfolios(
            found, sizes=[SIZE], epsilon=EPSILON.get(name, 0.05), cv=FOLDS, n_resamples=passes
        )
        for method in ("airt", "topset", "shapley", SINGLE):
            wanted = getattr(row, f"{method}_mpg", None)
            rows.append((name, method, passes, *_gaps_beside(compared, method, wanted)))
    heads = (
        "scenario",
        "method",
        "passes",
        "printed",
        "mean member",
        "error",
        "range of single passes",
    )
    print_table(
        f"Table 6: performance gap of {SIZE} algorithms in {FOLDS} folds",
        (*heads, "best member ± standard error"),
        rows,
    )
    own = pd.read_csv(SHARED / "data" / "airt_scripts_output" / "openml_weka_mean_gap_par10.csv")
    means = own[own["num_algos"] == SIZE][["airt_mu", "topset_mu", "shapley_mu"]].mean()
    told = ", ".join(f"{name.removesuffix('_mu')} {value:.4f}" for name, value in means.items())
    print(f"\nThe authors' own output for {WEKA} and {SIZE} algorithms: {told}.")
    found = og.portfolio(scenario(WEKA), preset="airt")
    gaps = {each: _airt_gap(found, each) for each in (0.0, 0.01, 0.02, 0.05, 0.1)}
    told = ", ".join(f"{gap:.4f} at {each:g}" for each, gap in gaps.items())
    print(f"Here, airt with other ε, {PASSES} passes: {told}.")


def _airt_gap(found: Portfolio, epsilon: float) -> float:
    compared = og.compare_portfolios(
        found, sizes=[SIZE], methods=["airt"], epsilon=epsilon, cv=FOLDS, n_resamples=PASSES
    )
    frame = compared.frame.set_index(["method", "definition"])
    return float(frame.loc[("airt", MEAN_MEMBER), "gap"])


def _gaps_beside(
    compared: PortfolioComparison, method: str, wanted: float | None
) -> tuple[str, str, str, str, str]:
    """Return the printed and obtained gaps, the range of single passes, and the best member gap."""
    frame = compared.frame.set_index(["method", "definition"])
    blind, all_run = (frame.loc[(method, kind)] for kind in (MEAN_MEMBER, BEST_MEMBER))
    folds = compared.folds.query("method == @method and definition == @MEAN_MEMBER")
    single = folds["gap"].groupby(folds["fold"] // FOLDS).mean()
    return (
        "" if wanted is None else f"{wanted:,.10g}",
        _figure(blind["gap"]),
        "" if wanted is None else f"{blind['gap'] / wanted - 1:+.1%}",
        f"{_figure(single.min())} to {_figure(single.max())}",
        f"{_figure(all_run['gap'])} ± {_figure(all_run['gap_se'])}",
    )


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def default_beside_preset(preset: Portfolio, default: Portfolio) -> None:
    rows = []
    for name in preset.algorithms.index:
        number, _, word = name.partition("_weka.")
        if number not in SHOWN:
            continue
        cells = []
        for found in (preset, default):
            algorithm, share = found.algorithms.loc[name], found.occupancy(0.01).loc[name]
            cells += [
                f"{algorithm['consistency']:.2f} ± {algorithm['consistency_se']:.2f}",
                f"{algorithm['difficulty_limit']:.2f} ± {algorithm['difficulty_limit_se']:.2f}",
                f"{share['occupancy']:.2f}",
                f"{found.goodness.loc[name, 'mse']:.3f}",
            ]
        rows.append((f"{number} {word}", *cells))
    heads = ("consistency", "difficulty limit", "occupancy, ε = 0.01", "MSE")
    print_table(
        "Preset and default compared, ± standard error",
        ("classifier", *(f"preset: {h}" for h in heads), *(f"default: {h}" for h in heads)),
        rows,
    )


def agreement(preset: Portfolio, default: Portfolio) -> None:
    """Print whether preset and default agree, and why their figures differ."""
    one, other = preset.algorithms, default.algorithms
    # Only the engine differs: the bounds and the rule for values at a bound are the preset's.
    best = og.calibrate(preset.performances.modelled, preset.calibration.model, priors=None).items
    shares = preset.occupancy(0.01)["occupancy"] - default.occupancy(0.01)["occupancy"]
    errors = (f"{found.goodness['mse'].mean():.4f}" for found in (preset, default))
    told = {
        "consistency, preset over its own maximum, median": _median(
            one["consistency"] * best["discrimination"].abs()
        ),
        "consistency, preset over default, median": _median(
            one["consistency"] / other["consistency"]
        ),
        "consistency, rank correlation": _ranks(one["consistency"], other["consistency"]),
        "difficulty limit, rank correlation": _ranks(
            one["difficulty_limit"], other["difficulty_limit"]
        ),
        "difficulty of problems, rank correlation": _ranks(
            preset.problems["difficulty"], default.problems["difficulty"]
        ),
        "occupancy at ε = 0.01, largest difference": f"{shares.abs().max():.3f}",
        "MSE, mean, preset and default": " and ".join(errors),
    }
    print_table("Agreement of preset and default", ("figure", "found"), list(told.items()))


def _median(values: pd.Series) -> str:
    return f"{values.median():.2f}"


def _ranks(one: pd.Series, other: pd.Series) -> str:
    return f"{one.corr(other, method='spearman'):.3f}"


class Design(NamedTuple):
    """Solvers by their log-seconds on an average problem, how these rise, and their scatter."""

    problems: int
    cutoff: float
    middle: Sequence[float]
    rise: Sequence[float]
    scatter: Sequence[float]
    bend: float = 0.0  # of log-seconds, which the model has as straight lines
    stuck: float = 0.0  # chance of a run on an average problem to get stuck, whatever its length

    def seconds(self, hardness: Floats, random: np.random.Generator) -> Floats:
        """Return simulated runs, (n_problems, n_algorithms)."""
        noise = np.array(self.scatter) * random.normal(size=(len(hardness), len(self.middle)))
        alone = random.uniform(size=noise.shape) < self._stuck(hardness)
        return np.where(
            alone, self.cutoff, np.exp(self._mean(hardness) + noise).clip(0, self.cutoff)
        )

    def shares(self) -> Floats:
        """Return share of the population on which each has the least expected time, cut off."""
        hardness = ndtri((np.arange(MANY) + 0.5) / MANY)
        mean, scatter = self._mean(hardness), np.array(self.scatter)
        end = (np.log(self.cutoff) - mean) / scatter
        ended = np.exp(mean + scatter**2 / 2) * ndtr(end - scatter) + self.cutoff * ndtr(-end)
        stuck = self._stuck(hardness)
        first = ((1 - stuck) * ended + stuck * self.cutoff).argmin(axis=1)
        return np.bincount(first, minlength=len(self.middle)) / MANY

    def _mean(self, hardness: Floats) -> Floats:
        bent = self.bend * hardness[:, None] ** 2 * np.linspace(1, -1, len(self.middle))
        return np.array(self.middle) + np.array(self.rise) * hardness[:, None] + bent

    def _stuck(self, hardness: Floats) -> Floats:
        return self.stuck * 2 * ndtr(hardness)[:, None] * np.linspace(1, 0, len(self.middle))


FIVE = ([1, 2, 2.5, 3, 4], [2, 1.5, 1.5, 0.5, -0.3], [0.5] * 5)
SIX = ([1, 1.8, 2.6, 3.2, 3, 4.8], [3, 1.6, 1.7, 0.5, 1.4, -0.5], [0.6, 0.5, 0.5, 0.4, 2, 0.7])
SCATTER = np.random.default_rng(5).uniform(0.3, 1, 10).tolist()
DESIGNS = {
    "one leads": Design(60, 100, *FIVE),
    "example of the guide": Design(300, 600, *SIX),
    "few problems, close": Design(30, 100, [1.8, 2, 2.2], [1.4, 1, 0.6], [0.5] * 3),
    "ten, close": Design(200, 300, np.linspace(1.5, 4, 10), np.linspace(2.2, 0.2, 10), SCATTER),
    "one leads, bent lines": Design(60, 100, *FIVE, bend=0.3),
    "example, some get stuck": Design(300, 600, *SIX, stuck=0.1),
}


def coverage() -> None:
    """Print how often the 95 % interval of occupancy holds the share in the population."""
    rows = []
    for name, design in DESIGNS.items():
        truth = design.shares()
        names = [f"algorithm {k + 1}" for k in range(len(truth))]
        found = np.stack([_occupancy(design, names, seed) for seed in range(SIMULATED)])
        estimate, low, high = np.moveaxis(found, 2, 0)
        held = ((low <= truth + 1e-9) & (truth <= high + 1e-9)).mean(axis=0)
        sure = (low > 0).mean(axis=0)
        rows += [
            (
                name if k == 0 else "",
                f"{design.problems} × {len(truth)}" if k == 0 else "",
                names[k],
                f"{truth[k]:.3f}",
                f"{estimate[:, k].mean():.3f}",
                f"{held[k]:.2f}",
                f"{(high - low)[:, k].mean():.2f}",
                f"{sure[k]:.2f}",
            )
            for k in range(len(truth))
        ]
    heads = ("design", "size", "algorithm", "true share", "mean estimate", "held")
    print_table(
        f"Intervals of occupancy at ε = 0, {SIMULATED} simulations of each design",
        (*heads, "mean width", "above 0"),
        rows,
    )


def _occupancy(design: Design, names: list[str], seed: int) -> Floats:
    """Return estimate and interval of each algorithm, (n_algorithms, 3)."""
    random = np.random.default_rng(seed)
    seconds = design.seconds(random.normal(size=design.problems), random)
    found = og.portfolio(pd.DataFrame(seconds, columns=names), better="lower", cutoff=design.cutoff)
    return found.occupancy().to_numpy()


def at_size() -> None:
    """Time each part of the study, in the order in which a user would call it."""
    random = np.random.default_rng(0)
    easiness = random.normal(size=(N_PROBLEMS, 1))
    slope = random.uniform(0.3, 1.5, N_ALGORITHMS)
    noise = random.normal(0, random.uniform(0.2, 1.0, N_ALGORITHMS), (N_PROBLEMS, N_ALGORITHMS))
    accuracy = 1 / (1 + np.exp(-(easiness * slope + random.normal(size=N_ALGORITHMS) + noise)))
    kept: dict[str, Any] = {}
    works: dict[str, Callable[[], Any]] = {
        "calibrate": lambda: og.calibrate(accuracy, og.Continuous(bounds=(0.0, 1.0))),
        "portfolio: calibration, difficulties, curves": lambda: kept.update(
            found=og.portfolio(accuracy, bounds=(0.0, 1.0))
        ),
        "algorithms, problems, curves as tables": lambda: (
            kept["found"].algorithms,
            kept["found"].problems,
            kept["found"].curves,
        ),
        "strengths, weaknesses, occupancy at two ε": lambda: [
            (kept["found"].strengths(e), kept["found"].weaknesses(e), kept["found"].occupancy(e))
            for e in (0.0, 0.01)
        ],
        "goodness and its curves": lambda: (
            kept["found"].goodness,
            kept["found"].goodness_curves,
        ),
        "three portfolios": lambda: [
            kept["found"].select(0.01, size=SIZE, method=m) for m in ("airt", "topset", "shapley")
        ],
        "gaps in 10 folds": lambda: og.compare_portfolios(kept["found"]),
    }
    rows, total = [], 0.0
    for name, work in works.items():
        begin = perf_counter()
        work()
        spent = perf_counter() - begin
        total += spent if name != "calibrate" else 0.0  # computed again in the next row
        rows.append((name, f"{spent:.2f}"))
    print_table(
        f"Seconds for {N_PROBLEMS:,} problems × {N_ALGORITHMS} algorithms, no figures",
        ("part", "s"),
        [*rows, ("total", f"{total:.1f}")],
    )


def timeouts(folder: Path) -> None:
    """Print how far predicted from actual effectiveness is, at most, with censored timeouts."""
    rows = []
    for path in sorted(each.parent for each in folder.glob("*/description.txt")):
        given = og.read_aslib(path)
        if given.cutoff is None or given.performance.shape[1] < 3:
            continue
        off = [og.portfolio(given, penalty=p).goodness["difference"] for p in (None, 10)]
        rows.append((path.name, len(off[0]), *(f"{each.max():.3f}" for each in off)))
    header = ("scenario", "algorithms", "farthest", "farthest, penalty=10")
    print_table("Predicted against actual effectiveness", header, rows)


def main() -> None:
    print(f"\n## Portfolio\n\n{machine()}.")
    if sys.argv[1:2] == ["timeouts"]:
        timeouts(Path(sys.argv[2]))
        return
    wanted = sys.argv[1:] or ["published", "coverage", "speed"]
    if "published" in wanted:
        given = scenario(WEKA)
        preset, default = og.portfolio(given, preset="airt"), og.portfolio(given)
        table_2()
        tables_4_and_5(preset)
        table_6()
        default_beside_preset(preset, default)
        agreement(preset, default)
    if "coverage" in wanted:
        coverage()
    if "speed" in wanted:
        at_size()


if __name__ == "__main__":
    main()
