"""Which fits come to rest, and whether what they climb ever falls.

python benchmarks/rest.py              tables made from seeds, and language models if at hand
python benchmarks/rest.py decodirt     the 20 tables of decodIRT without priors, and nothing else
python benchmarks/rest.py helm         the 20 boards of HELM Lite, and nothing else
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import numpy as np

import ogive as og
from common import SHARED, machine, print_table
from ogive.irt.estimation.objective import Problem

BINARY = ("1pl", "2pl", "3pl", "4pl")


class Falls:
    """The largest fall of what is climbed, between places that were seen on the same nodes."""

    def __init__(self) -> None:
        self.largest = 0.0
        self._seen: dict[int, tuple[Any, ...]] = {}
        self._last: Any = None

    def __enter__(self) -> Falls:
        self._stand, self._tell = Problem.evaluate, Problem.report
        falls = self

        def stand(problem: Problem, data: Any, coords: Any, nodes: Any) -> Any:
            place = falls._stand(problem, data, coords, nodes)
            falls._seen[id(place)] = place, nodes, data.single, problem.model
            return place

        def tell(problem: Problem, iteration: int, place: Any, left: float) -> None:
            falls._tell(problem, iteration, place, left)
            falls._compare(place)

        Problem.evaluate, Problem.report = stand, tell  # type: ignore[method-assign]
        return self

    def __exit__(self, *_: object) -> None:
        Problem.evaluate, Problem.report = self._stand, self._tell  # type: ignore[method-assign]

    def _compare(self, place: Any) -> None:
        before, after = self._seen.get(id(self._last)), self._seen.get(id(place))
        self._last = place
        if before and after and before[1] is after[1] and before[2:] == after[2:]:
            self.largest = max(self.largest, -before[0].gain(after[0]))


def made() -> Iterator[tuple[str, Any]]:
    for seed in range(4):
        random = np.random.default_rng(seed)
        yield f"noise {seed}, 60 × 20", (random.random((60, 20)) < 0.5).astype(float)
    yield "Guttman, 60 × 20", (np.arange(60)[:, None] >= 3 * np.arange(20)).astype(float)
    for seed in range(3):
        drawn = og.simulate("3pl", 100, 100, random_state=seed)
        yield f"3PL {seed}, 100 × 100", drawn.responses


def boards() -> Iterator[tuple[str, Any]]:
    import pandas as pd

    for name in ("winogrande", "arc_2pl", "mmlu_3pl"):
        path = SHARED / "data" / "llm" / f"metabench_{name}_responses.csv.gz"
        if path.exists():
            frame = pd.read_csv(path, index_col=0)
            shape = " × ".join(f"{n:,}" for n in frame.shape)
            yield f"{name.split('_')[0]}, {shape}", frame


def decodirt() -> Iterator[tuple[str, Any]]:
    import pandas as pd

    for path in sorted((SHARED / "data" / "decodirt" / "benchmarking").glob("*/*_irt.csv.gz")):
        values = pd.read_csv(path).select_dtypes("number").to_numpy(float)
        yield f"{path.parent.name}, {values.shape[0]} × {values.shape[1]}", values


def helm() -> Iterator[tuple[str, Any]]:
    import pandas as pd

    path = SHARED / "data" / "llm" / "helm_lite_binary_responses.csv.gz"
    for name, board in pd.read_csv(path).groupby("scenario"):
        values = board.drop(columns=["scenario", "item"]).to_numpy(float).T
        yield f"{name}, {values.shape[0]} × {values.shape[1]}", values


def row(name: str, table: Any, model: str, priors: Any) -> tuple[object, ...]:
    begin = process_time()
    with Falls() as falls:
        cal = og.calibrate(table, model, priors=priors, progress=False, n_jobs=1)
    spent = process_time() - begin
    open_items = sum("undetermined" in said for said in cal.flags)
    said = "converged" if cal.converged else "not converged"
    return (
        name,
        model.upper(),
        "default" if priors else "none",
        cal.iterations,
        said + (f", {open_items} items undetermined" if open_items else ""),
        f"{falls.largest:.1g}",
        f"{cal.log_likelihood:,.2f}",
        f"{spent:.1f}",
    )


def summed(rows: list[tuple[object, ...]]) -> Iterator[tuple[object, ...]]:
    """Yield one line for all tables of a model, with priors or without."""
    for model, priors in dict.fromkeys((each[1], each[2]) for each in rows):
        some = [each for each in rows if (each[1], each[2]) == (model, priors)]
        yield (
            model,
            priors,
            len(some),
            sum(str(each[4]).startswith("converged") for each in some),
            max(int(str(each[3])) for each in some),
            sum("undetermined" in str(each[4]) for each in some),
            f"{max(float(str(each[5])) for each in some):.1g}",
            f"{sum(float(str(each[7])) for each in some):.1f}",
        )


def main() -> None:
    print(f"\n## Rest\n\n{machine()}. The largest fall of what is climbed is in nats.")
    header = ("table", "model", "priors", "iterations", "", "largest fall", "log-likelihood")
    both = ("default", None)
    if "decodirt" in sys.argv[1:]:
        rows = [row(n, t, "3pl", None) for n, t in decodirt()]
        print_table("decodIRT (2020) without priors", (*header, "CPU s"), rows)
    elif "helm" in sys.argv[1:]:
        rows = [row(n, t, m, p) for n, t in helm() for m in BINARY for p in both]
        columns = ("tables", "converged", "most iterations", "with undetermined items")
        header = ("model", "priors", *columns, "largest fall", "CPU s")
        print_table("Boards of HELM Lite, 30 models each", header, list(summed(rows)))
    else:
        jobs = [(n, t, m, p) for n, t in made() for p in both for m in BINARY]
        jobs += [(n, t, m, p) for n, t in boards() for p in both for m in BINARY]
        title = "Tables made from seeds, and language models"
        print_table(title, (*header, "CPU s"), [row(*job) for job in jobs])


if __name__ == "__main__":
    main()
