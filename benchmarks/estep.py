"""The E-step compared with the matrix products that it needs, in one run.

python benchmarks/estep.py
"""

from __future__ import annotations

import numpy as np

import ogive as og
from common import best_of, machine, print_table
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.acceleration import propose
from ogive.irt.estimation.e_step import expect, expect_generally
from ogive.irt.estimation.em_engine import EM
from ogive.irt.estimation.objective import Problem, evaluate_objective
from ogive.irt.models import find_model
from ogive.stats.array_backend import workers

SIZES = [("3pl", 10_000, 100), ("3pl", 10_000, 500), ("3pl", 2_000, 5_000), ("2pl", 10_000, 500)]


def measure(name: str, n_respondents: int, n_items: int) -> tuple[object, ...]:
    responses, _ = og.simulate(name, n_respondents, n_items, random_state=1)
    model = find_model(name)
    data = encode(responses.cells, model)
    with workers() as run:
        problem = Problem(data, model, run)
        found = EM().maximize(problem)
        coords, nodes = found.coords, found.nodes
        table = np.ascontiguousarray(model.log_terms(coords, nodes.coarse)[1])
        blocks = data.blocks(nodes.coarse.size)
        floats = [responses.cells[rows].astype(float) for rows in blocks]
        weights = [np.full((len(block), nodes.coarse.size), 0.01) for block in floats]

        def products(k: int) -> None:
            floats[k] @ table
            weights[k].T @ floats[k]

        bare = best_of(7, lambda: list(run(products, list(range(len(blocks))))))
        general = best_of(7, lambda: expect_generally(data, model, coords, nodes, run))
        best = best_of(7, lambda: expect(data, model, coords, nodes, run))
        step = expect(data, model, coords, nodes, run)
        rest = best_of(
            7, lambda: propose(problem, data, evaluate_objective(model, coords, step, None))
        )
    return (
        f"{name.upper()} {n_respondents:,} × {n_items:,}",
        nodes.coarse.size,
        nodes.fine.size,
        f"{bare * 1e3:.1f}",
        f"{general * 1e3:.1f}",
        f"{general / bare:.2f}",
        f"{best / general:.2f}",
        f"{(best + rest) / best:.2f}",
    )


def main() -> None:
    print(f"\n## E-step\n\n{machine()}. Products and E-step use the same threads and blocks.")
    print_table(
        "General E-step over its two matrix products",
        (
            "job",
            "nodes",
            "fine nodes",
            "products, ms",
            "general E-step, ms",
            "ratio",
            "E-step used / general",
            "whole iteration / E-step used",
        ),
        [measure(*size) for size in SIZES],
    )


if __name__ == "__main__":
    main()
