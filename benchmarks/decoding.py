"""Where the time of a decode goes, and the published tables of decodIRT if available.

python benchmarks/decoding.py [folds]
"""

from __future__ import annotations

import sys
from time import perf_counter

import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.benchmarking.decoder import judge
from ogive.data.datasets.dataset import split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.data.pools.pool import find_pool
from ogive.reporting.chapters import read_benchmark


def one_data_set(folds: int) -> list[tuple[object, ...]]:
    """Time each part of decoding 500 handwritten digits with the paper's pool."""
    seconds: dict[str, float] = {}

    def timed(name, work):
        begin = perf_counter()
        found = work()
        seconds[name] = perf_counter() - begin
        return found

    pool = find_pool("paper")
    dataset = timed("read", lambda: load_dataset("sklearn:digits"))
    split = timed("split and prepare", lambda: split_dataset(dataset))
    answers = timed(
        f"train and run 139 classifiers, {folds} folds",
        lambda: og.run_pool(split, pool, cv=folds, n_jobs=2),
    )
    told = answers.responses(split.y_test, pool.calibrating)
    judged = answers.responses(split.y_test, pool.evaluated)
    calibration = timed("calibrate, 3PL", lambda: og.calibrate(told, "3pl"))
    timed("standard errors", lambda: calibration.items)
    timed("abilities and true scores", lambda: judge(calibration, judged))
    timed("suspect labels", lambda: og.label_trouble(calibration))
    training = max(seconds.values())
    rows = [(name, f"{value:.2f}", f"{value / training:.1%}") for name, value in seconds.items()]
    psychometrics = sum(list(seconds.values())[3:])
    rows.append(("psychometrics, total", f"{psychometrics:.2f}", f"{psychometrics / training:.1%}"))
    return rows


def read_tables() -> tuple[dict[str, pd.DataFrame], dict[str, pd.DataFrame]]:
    """Read the responses of the 132 classifiers and of the 19 evaluated ones of each table."""
    tables, evaluated = {}, {}
    for folder in sorted((SHARED / "data" / "decodirt" / "benchmarking").iterdir()):
        names = pd.read_csv(folder / "theta_list.csv")["Clf"].replace(
            {"otimo": "optimal", "pessimo": "pessimal", "majoritario": "majority"}
            | {"minoritario": "minority"}
            | {f"rand{k}": f"random {k}" for k in (1, 2, 3)}
        )
        for ending, home in (("_irt", tables), ("", evaluated)):
            frame = pd.read_csv(next(folder.glob(f"{folder.name}{ending}.csv*")))
            home[folder.name] = frame[[name for name in frame if name.startswith("V")]]
        evaluated[folder.name].index = pd.Index(names)
    return tables, evaluated


def published() -> tuple[list[tuple[object, ...]], dict[str, list[str]]]:
    """Decode the 20 published tables: 132 classifiers on up to 501 instances each."""
    tables, evaluated = read_tables()
    begin = perf_counter()
    decoding = og.decode_responses(tables, evaluated)
    spent = perf_counter() - begin
    scores = decoding.scores("true_score_positive")
    upright = int((scores.loc["optimal"] > scores.loc["pessimal"]).sum())
    rows = [
        ("tables", len(tables)),
        ("instances", f"{len(decoding.items):,}"),
        ("converged", int(decoding.datasets["converged"].sum())),
        ("optimal above pessimal, items with positive discrimination", upright),
        ("calibrations, abilities and true scores, s", f"{spent:.1f}"),
    ]
    return rows, read_benchmark(decoding).sentences


def main() -> None:
    folds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"\n## Decoding\n\n{machine()}.")
    print_table(
        "Where the time goes: digits, 500 test instances, the paper's pool, two cores",
        ("part", "s", "share of training"),
        one_data_set(folds),
    )
    if not SHARED.is_dir():
        print(f"\nThe published tables are not at {SHARED}; set OGIVE_SHARED to their folder.")
        return
    rows, sentences = published()
    print_table("The 20 published tables of decodIRT (2020), 3PL", ("", "found"), rows)
    print()
    for name, told in sentences.items():
        print(f"- {name}: {' '.join(one if one.endswith('.') else f'{one}.' for one in told)}")


if __name__ == "__main__":
    main()
