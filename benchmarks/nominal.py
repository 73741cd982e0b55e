"""The nominal model: an independent optimiser, coverage, and how surely wrong keys are found.

python benchmarks/nominal.py [REPLICATIONS]
"""

from __future__ import annotations

import sys
from time import process_time

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

import ogive as og
from common import print_table

GRID = np.linspace(-6.0, 6.0, 121)
WRONG_KEYS = 0.1


def witness() -> list[tuple[str, ...]]:
    """Return the marginal likelihood climbed by SciPy's BFGS, from the definition."""
    table = og.simulate(og.Nominal(categories=4), 1000, 15, random_state=1).responses
    begin = process_time()
    ours = og.calibrate(table, "nominal", priors=None, tolerance=1e-8, progress=False)
    own = process_time() - begin
    cells, n_items = table.cells.astype(int), table.n_items
    log_weights = -(GRID**2) / 2 - logsumexp(-(GRID**2) / 2)

    def value(flat: np.ndarray) -> tuple[float, np.ndarray]:
        lines = flat.reshape(n_items, 3, 2)
        odds = lines[:, :, :1] * GRID + lines[:, :, 1:]
        log_prob = log_softmax(np.concatenate([0 * odds[:, :1], odds], axis=1), axis=1)
        joint = log_weights + sum(log_prob[i][cells[:, i]] for i in range(n_items))
        log_norm = logsumexp(joint, axis=1)
        posterior, slope = np.exp(joint - log_norm[:, None]), np.zeros_like(lines)
        for i in range(n_items):
            for k in range(3):
                left = ((cells[:, i] == k + 1)[:, None] - np.exp(log_prob[i, k + 1])) * posterior
                slope[i, k] = (left @ GRID).sum(), left.sum()
        return -float(log_norm.sum()), -slope.ravel()

    begin = process_time()
    best = minimize(value, np.tile([-1.0, -0.5], 3 * n_items), jac=True, method="BFGS")
    theirs = process_time() - begin
    away = float(np.abs(best.x - ours.coords.ravel()).max())
    return [
        ("ogive", f"{ours.log_likelihood:.4f}", f"{own:.2f}", ""),
        ("SciPy, BFGS", f"{-best.fun:.4f}", f"{theirs:.2f}", f"{away:.1e}"),
    ]


def coverage(replications: int) -> list[tuple[str, ...]]:
    """Return how often 95 % intervals hold the true slope and intercept."""
    rows = []
    for n_respondents, n_items, missing in [(200, 10, 0.0), (800, 10, 0.0), (800, 30, 0.3)]:
        inside: dict[str, list[float]] = {"slope": [], "intercept": []}
        for seed in range(replications):
            drawn = og.simulate(
                og.Nominal(categories=4), n_respondents, n_items, missing=missing, random_state=seed
            )
            found, truth = og.calibrate(drawn.responses, progress=False).items, drawn.truth.items
            for word, each in inside.items():
                for k in (1, 2, 3):
                    name = f"{word}_{k}"
                    away = np.abs(found[name] - truth[name]) / found[f"{name}_se"]
                    each.append(float((away < 1.96).mean()))
        size = f"{n_respondents} × {n_items}" + (", 30 % missing" if missing else "")
        rows.append((size, *(f"{np.mean(each):.3f}" for each in inside.values())))
    return rows


def wrong_keys(replications: int) -> list[tuple[str, ...]]:
    """Return a tenth of the keys is another option than the right one: found, and false alarms."""
    rows = []
    for n_respondents in (30, 100, 300):
        found, false, named, wrong = 0, 0, 0, 0
        for seed in range(replications):
            random = np.random.default_rng(seed)
            drawn = og.simulate(og.Nominal(categories=4), n_respondents, 60, random_state=seed)
            cells = drawn.responses.cells.copy()
            moved = random.random(60) < WRONG_KEYS
            for item in np.flatnonzero(moved):
                other = random.integers(1, 4)
                right, keyed = cells[:, item] == 0, cells[:, item] == other
                cells[right, item], cells[keyed, item] = other, 0
            table = og.Responses.from_codes(cells, kind="nominal")
            suspects = set(og.distractors(table, progress=False).suspects)
            truly = {table.items[k] for k in np.flatnonzero(moved)}
            found += len(suspects & truly)
            false += len(suspects - truly)
            named += len(suspects)
            wrong += len(truly)
        rows.append(
            (f"{n_respondents}", f"{wrong}", f"{found / wrong:.2f}", f"{false / max(named, 1):.3f}")
        )
    return rows


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print("\n## Nominal categories\n")
    print_table(
        "Against the definition, 1,000 × 15, four options",
        ("", "log-likelihood", "CPU seconds", "largest difference of a parameter"),
        witness(),
    )
    print_table(
        f"Coverage of 95 % intervals, {replications} replications",
        ("respondents × items", "slopes", "intercepts"),
        coverage(replications),
    )
    print_table(
        f"Wrong keys, 60 items with four options, a tenth keyed wrongly, {replications} "
        "replications, false discovery rate 0.05",
        ("respondents", "wrong keys", "found", "false among those named"),
        wrong_keys(replications),
    )


if __name__ == "__main__":
    main()
