"""Adaptive tests: 10,000 simulated respondents on 1,000 items, compared with catsim on one bank.

    python benchmarks/adaptive.py

The bank is a 3PL, and abilities are standard normal. catsim processes one respondent at a time, so
it gets the first 300 respondents and its time is scaled to 10,000. It estimates by maximum
likelihood and stops by the information of the items alone. The posterior in ogive also uses the
population, so it stops earlier at the same standard error. With 20 items per respondent, both tests
have the same length. catsim is measured if it is installed (pip install catsim).
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from common import machine, print_table
from ogive.irt.adaptive.rules import AnyOf, Budget, StandardError, Stopper
from ogive.irt.adaptive.selectors import ContentBalance, Randomesque
from ogive.irt.adaptive.simulation import simulate_adaptive
from ogive.irt.banks import known_items
from ogive.irt.calibration import Calibration
from ogive.irt.models.logistic import ThreePL

N_ITEMS, N_RESPONDENTS, N_CATSIM = 1_000, 10_000, 300
STOPPERS: dict[str, Stopper] = {
    "se 0.3": StandardError(0.3),
    "se 0.25": StandardError(0.25),
    "20 items": Budget(20),
}
Floats = NDArray[np.float64]
Row = tuple[str, ...]


def setting() -> tuple[Calibration, Floats]:
    random = np.random.default_rng(1)
    model = ThreePL()
    items = model.from_parameters(model.sample(N_ITEMS, random))
    return known_items(model, items), random.normal(size=N_RESPONDENTS)


def by_ogive(bank: Calibration, abilities: Floats, name: str) -> tuple[Row, float]:
    begin = perf_counter()
    found = simulate_adaptive(bank, abilities, stopper=STOPPERS[name])
    spent = perf_counter() - begin
    row = (
        f"{found.bias:+.4f} ± {found.bias_se:.4f}",
        f"{found.rmse:.4f} ± {found.rmse_se:.4f}",
        f"{found.mean_items:.1f}",
        f"{found.correlation:.4f}",
        f"{spent:.1f}",
    )
    return ("ogive", name, f"{N_RESPONDENTS:,}", *row), spent


def by_catsim(bank: Calibration, abilities: Floats, name: str) -> tuple[Row, float]:
    from catsim import ItemBank
    from catsim.estimation import NumericalSearchEstimator
    from catsim.initialization import FixedPointInitializer
    from catsim.selection import MaxInfoSelector
    from catsim.simulation import Simulator
    from catsim.stopping import MinErrorStopper, TestLengthStopper

    columns = bank.model.parameters(bank.coords)
    table = [columns["discrimination"], columns["difficulty"], columns["guessing"]]
    items = ItemBank(np.column_stack([*table, 1 - columns["slip"]]))
    rule = STOPPERS[name]
    stopper = (
        MinErrorStopper(rule.max_se)
        if isinstance(rule, StandardError)
        else TestLengthStopper(max_items=rule.limit)
    )
    begin = perf_counter()
    simulator = Simulator(items, abilities[:N_CATSIM])
    simulator.simulate(
        FixedPointInitializer(0.0), MaxInfoSelector(), NumericalSearchEstimator(), stopper
    )
    spent = (perf_counter() - begin) * N_RESPONDENTS / N_CATSIM
    found = np.array(simulator.latest_estimations)
    error = found - abilities[:N_CATSIM]
    square, rmse = error**2, float(np.sqrt((error**2).mean()))
    row = (
        f"{error.mean():+.4f} ± {error.std(ddof=1) / np.sqrt(N_CATSIM):.4f}",
        f"{rmse:.4f} ± {square.std(ddof=1) / (2 * rmse * np.sqrt(N_CATSIM)):.4f}",
        f"{np.mean([len(asked) for asked in simulator.administered_items]):.1f}",
        f"{np.corrcoef(found, abilities[:N_CATSIM])[0, 1]:.4f}",
        f"{spent:.1f}",
    )
    return (f"catsim {version('catsim')}", name, f"{N_CATSIM:,}", *row), spent


def has_catsim() -> bool:
    try:
        version("catsim")
    except PackageNotFoundError:
        return False
    return True


def compare(bank: Calibration, abilities: Floats) -> None:
    simulate_adaptive(bank, abilities[:10])  # warm up: imports and first calls are not timed
    rows, said = [], []
    for name in STOPPERS:
        ours, spent = by_ogive(bank, abilities, name)
        rows.append(ours)
        if has_catsim():
            theirs, long = by_catsim(bank, abilities, name)
            rows.append(theirs)
            said.append(f"{name}: {long / spent:.0f} times")
    print_table(
        f"A 3PL bank of {N_ITEMS:,} items, standard normal abilities, maximum information",
        ("", "stops at", "respondents", "bias", "RMSE", "items", "correlation", "s for 10,000"),
        rows,
    )
    if said:
        print(f"\nTime of catsim relative to ogive: {', '.join(said)}.")
    else:
        print("\ncatsim is not installed, so it is not measured: pip install catsim")


def controls(bank: Calibration, abilities: Floats) -> None:
    """Measure what exposure control and content balance cost."""
    groups = {name: f"group {k % 4}" for k, name in enumerate(bank.item_names)}
    shares = {"group 0": 0.4, "group 1": 0.3, "group 2": 0.2, "group 3": 0.1}
    rows = []
    for title, selector in {
        "maximum information": "information",
        "one of the best 5": Randomesque(5),
        "one of the best 20": Randomesque(20),
        "shares of 40, 30, 20 and 10 %": ContentBalance(groups, shares),
        "at random": "random",
    }.items():
        rule = AnyOf((StandardError(0.3), Budget(100)))
        begin = perf_counter()
        found = simulate_adaptive(bank, abilities, selector=selector, stopper=rule)
        spent = perf_counter() - begin
        exposure = found.items["exposure"]
        row = f"{found.mean_items:.1f}", f"{found.rmse:.3f}", f"{exposure.max():.0%}"
        rows.append((title, *row, f"{(exposure == 0).mean():.0%}", f"{spent:.1f}"))
    print_table(
        "How items are chosen; stops at a standard error of 0.3, at most 100 items",
        ("selector", "items", "RMSE", "highest exposure", "items never asked", "s for 10,000"),
        rows,
    )


def main() -> None:
    print(f"\n## Adaptive\n\n{machine()}.")
    bank, abilities = setting()
    compare(bank, abilities)
    controls(bank, abilities)


if __name__ == "__main__":
    main()
