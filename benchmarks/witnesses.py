"""Distance from the figures of R's mirt 1.45.1 and airt 0.2.3 on the reference sets.

OGIVE_SHARED=<folder of shared data> python benchmarks/witnesses.py
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.table_files import read_table
from ogive.irt.banks import known_items
from ogive.irt.quadrature import NormalPopulation

WITNESSES = SHARED / "reference"
RASCH_AND_2PL = [
    *("LSAT6_Rasch", "LSAT7_Rasch", "SAT12_Rasch"),
    *("LSAT6_2PL", "LSAT7_2PL", "SAT12_2PL", "sim2pl_1000x50_2PL"),
]
THREE = ["LSAT7_3PL", "SAT12_3PL", "sim3pl_2000x40_3PL"]
GRADED = ["Science_graded", "Science_gpcm"]
JOINED_OTHERWISE = ["i031", "i039"]  # of sim2pl_1000x50: see tests/checks/test_item_fit.py
SQUARES = {"infit": "infit", "infit_z": "z.infit", "outfit": "outfit", "outfit_z": "z.outfit"}
AS_AIRT = og.Continuous(bounds="table", at_bounds=0.01)

Row = tuple[object, ...]


def mirt(tag: str, ending: str) -> pd.DataFrame:
    """Read a table of one fit by mirt."""
    return pd.read_csv(WITNESSES / f"mirt_{tag}_{ending}.csv")


def mirt_fit(tag: str) -> pd.Series:
    """Read the figures of one fit by mirt."""
    fits = pd.read_csv(WITNESSES / "mirt_fits.csv")
    return fits[(fits["tag"] == tag) & (fits["TOL"] == "tight")].iloc[0]


def responses(tag: str) -> og.Responses:
    """Read the table that was fitted."""
    table = pd.read_csv(WITNESSES / "data" / f"{tag.rsplit('_', 1)[0]}.csv")
    return og.Responses(table.to_numpy(), items=list(table.columns))


@cache
def ours(tag: str) -> og.Calibration:
    """Calibrate without priors."""
    model = tag.rsplit("_", 1)[1].lower()
    return og.calibrate(responses(tag), {"rasch": "1pl"}.get(model, model), priors=None)


def at_mirts_items(tag: str) -> og.Calibration:
    """Return the items estimated by mirt, so that only the diagnostics are compared."""
    model = {"Rasch": og.OnePL, "2PL": og.TwoPL, "3PL": og.ThreePL}[tag.rsplit("_", 1)[1]]()
    items, table = mirt(tag, "items_tight"), responses(tag)
    coords = items[["slopeint_a1", "slopeint_d", "slopeint_g"][: model.width]].to_numpy(float)
    return known_items(
        model,
        coords,
        table.items,
        population=NormalPopulation(0.0, float(np.sqrt(mirt_fit(tag)["latent_var"]))),
        log_likelihood=float(mirt_fit(tag)["loglik"]),
        n_respondents=float(table.n_respondents),
        responses=table,
    )


def apart(one: object, other: object, *, relative: bool = False) -> float:
    """Return the largest distance."""
    found, wanted = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    gaps = np.abs(found - wanted) / (np.abs(wanted) if relative else 1.0)
    return float(np.nanmax(gaps))


def item_fits() -> list[Row]:
    s_x2, others, squares, zh = [], [], [], []
    for tag in [*RASCH_AND_2PL, *THREE]:
        found = og.item_fit(at_mirts_items(tag)).to_frame()
        theirs = mirt(tag, "itemfit").set_index("item")["S_X2"]
        odd = theirs.index.isin(JOINED_OTHERWISE if tag.startswith("sim2pl") else [])
        s_x2.append(apart(found["s_x2"][~odd], theirs[~odd], relative=True))
        if odd.any():
            others.append(apart(found["s_x2"][odd], theirs[odd], relative=True))
        frame = mirt(tag, "itemfit_infit_Zh")
        squares += [apart(found[name], frame[other]) for name, other in SQUARES.items()]
        zh.append(apart(found["zh"], frame["Zh"]))
    return [
        ("S-X² at mirt's items, relative", f"{max(s_x2):.0e}"),
        ("the same, two items of sim2pl_1000x50", f"{max(others):.2f}"),
        (
            "infit and outfit of items, and their standardised values, at mirt's items",
            f"{max(squares):.0e}",
        ),
        ("zh of items, at mirt's items", f"{max(zh):.0e}"),
    ]


def model_fits() -> list[Row]:
    m2, rest = [], []
    for tag in RASCH_AND_2PL:
        found, theirs = og.model_fit(ours(tag)), mirt_fit(tag)
        m2.append(apart(found.value, theirs["M2"], relative=True))
        names = ("rmsea", "srmsr", "tli", "cfi")
        rest += [apart(getattr(found, name), theirs[name.upper()]) for name in names]
    graded, gpcm = (og.model_fit(ours(tag)).value for tag in GRADED)
    wanted, other = (mirt_fit(tag)["C2"] for tag in GRADED)
    three, theirs = og.model_fit(at_mirts_items("SAT12_3PL")).value, mirt_fit("SAT12_3PL")["M2"]
    return [
        ("M2 of Rasch and 2PL, relative", f"{max(m2):.0e}"),
        ("RMSEA, SRMSR, TLI, CFI of Rasch and 2PL", f"{max(rest):.0e}"),
        ("C2 of the graded model, relative", f"{apart(graded, wanted, relative=True):.0e}"),
        ("C2 of the gpcm", f"{gpcm:.2f}, mirt {other:.2f}"),
        ("M2 of the 3PL on SAT12, at mirt's items", f"{three:.1f}, mirt {theirs:.1f}"),
    ]


def q3(tags: Sequence[str]) -> float:
    found = [
        apart(og.local_dependence(ours(tag)).q3, mirt(tag, "Q3").set_index("item")) for tag in tags
    ]
    return max(found)


def log_likelihoods() -> list[Row]:
    gains = {
        tag: ours(tag).log_likelihood - mirt_fit(tag)["loglik"]
        for tag in [*RASCH_AND_2PL, "LSAT6_3PL", *THREE, *GRADED]
    }
    return [
        ("log-likelihood, ogive minus mirt, smallest of all sets", f"{min(gains.values()):.0e}"),
        ("the same, largest", f"{max(gains.values()):.1f}"),
    ]


def portfolio() -> list[Row]:
    """Calibrate the continuous model on the 30 classifiers of the AIRT paper."""
    runs = read_table(SHARED / "data" / "aslib" / "OPENML-WEKA-2017" / "algorithm_runs.arff.gz")
    table = runs.pivot_table(index="instance_id", columns="algorithm", values="predictive_accuracy")
    published, best = og.calibrate(table, preset="airt"), og.calibrate(table, AS_AIRT, priors=None)
    long = og.calibrate(table, preset="airt", tolerance=1e-6, max_iterations=10_000)
    ratio = (best.items["discrimination"] / published.items["discrimination"]).median()
    exact = pd.read_csv(WITNESSES / "airt_weka_minmax_exactML_factanal.csv", index_col=0)
    wanted = exact.loc[[name.replace("weka.", "") for name in best.items.index], "alpha_a"]
    return [
        ("airt as published: iterations", published.iterations),
        ("the same EM until its value changes by 1e-6", long.iterations),
        ("the default engine: iterations", best.iterations),
        ("discrimination, maximum over published, median", f"{ratio:.2f}"),
        (
            "discrimination, default engine against factor analysis",
            f"{apart(best.items['discrimination'], wanted):.0e}",
        ),
    ]


def main() -> None:
    if not WITNESSES.is_dir():
        print(f"No witnesses: there is no folder {WITNESSES}; set OGIVE_SHARED.")
        return
    print(f"\n## Witnesses\n\n{machine()}. R's mirt 1.45.1 and airt 0.2.3, no priors.")
    residuals = [
        ("Q3, except for the 3PL", f"{q3([*RASCH_AND_2PL, *GRADED]):.0e}"),
        ("Q3 of the 3PL", f"{q3(THREE):.0e}"),
    ]
    rows = [*log_likelihoods(), *item_fits(), *model_fits(), *residuals, *portfolio()]
    print_table("Largest distance over the reference sets", ("figure", "found"), rows)


if __name__ == "__main__":
    main()
