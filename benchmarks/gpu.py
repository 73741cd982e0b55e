"""Calibration on one CUDA GPU, with the responses already on it.

python benchmarks/gpu.py
"""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from common import best_of, print_table
from ogive.irt.encoded_responses import Encoded
from ogive.irt.estimation.em_engine import EM
from ogive.irt.estimation.objective import Problem
from ogive.irt.models import find_model
from ogive.irt.models.categorical import Categorical
from ogive.stats.array_backend import Floats, as_numpy, workers

JOBS = [
    ("2pl", 1_000_000, 1_000),
    ("2pl", 200_000, 5_000),
    ("3pl", 100_000, 1_000),
    ("graded", 100_000, 500),
    ("2pl", 5_000_000, 2_000),
]
MOST_BESIDE = 1_000_000_000  # responses that are fitted on the CPU, too


def sampled(name: str, n_items: int) -> tuple[Categorical, Floats]:
    """Return a model and plausible items."""
    parameters = find_model(name).sample(n_items, np.random.default_rng(1))
    model = find_model(name).shaped(parameters)
    assert isinstance(model, Categorical)  # noqa: S101 - all jobs are
    return model, model.from_parameters(parameters)


def draw(model: Categorical, items: Floats, n_respondents: int, device: str) -> Encoded:
    """Simulate responses on the device."""
    import torch

    coords, n_items = torch.asarray(items, device=device), len(items)
    torch.manual_seed(1)
    ability = torch.randn(n_respondents, device=device, dtype=torch.float64)
    cells = torch.empty((n_respondents, n_items), dtype=torch.int8, device=device)
    for rows in torch.arange(n_respondents, device=device).split(50_000):
        above = 1 - model.log_prob(coords, ability[rows]).exp()[:-1].cumsum(0)
        drawn = torch.rand_like(above[0])
        cells[rows] = (drawn < above).sum(0).T.to(torch.int8)
    weights = torch.ones(n_respondents, dtype=torch.float64, device=device)
    data = Encoded(cells, weights, True, model.statistics, model.n_categories == 2)
    data.halves  # noqa: B018 - computed once, when the responses are moved there
    return data


def measure(name: str, n_respondents: int, n_items: int, device: str) -> tuple[object, ...]:
    import torch

    model, items = sampled(name, n_items)
    data = draw(model, items, n_respondents, device)
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()  # without what it took to draw
    engine, fits = EM(device=device, tolerance=1e-5), []

    def fit() -> None:
        fits.append(engine.maximize(Problem(data, model)))
        torch.cuda.synchronize()

    fit()
    time = best_of(5, fit)
    found = fits[-1]
    return (
        f"{name.upper()} {n_respondents:,} × {n_items:,}",
        f"{time:.3f}",
        found.iterations,
        found.converged,
        _apart(data, model, as_numpy(found.coords)),
        f"{torch.cuda.max_memory_allocated() / 1e9:.1f}",
    )


def _apart(data: Encoded, model: Categorical, coords: Floats) -> str:
    """Return how far items are from those that the CPU finds, where it can."""
    n_rows, n_items = data.shape
    if n_rows * n_items > MOST_BESIDE:
        return "not tried"
    host = replace(data, cells=as_numpy(data.cells), weights=as_numpy(data.weights))
    with workers() as run:
        beside = EM(tolerance=1e-5).maximize(Problem(host, model, run))
    return f"{np.abs(coords - as_numpy(beside.coords)).max():.1e}"


def main() -> None:
    import torch

    if not torch.cuda.is_available():
        sys.exit("There is no CUDA device here.")
    name = torch.cuda.get_device_name()
    print(f"\n## GPU\n\n{name}, torch {torch.__version__}. Responses are already on the GPU.")
    print_table(
        "Calibration to a Newton decrement of 1e-5, default priors",
        ("job", "s", "E-steps", "converged", "largest difference from the CPU", "peak GB"),
        [measure(*job, "cuda") for job in JOBS],
    )


if __name__ == "__main__":
    main()
