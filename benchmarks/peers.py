"""Time and log-likelihood compared with packages from PyPI, on the same responses in one run.

    python benchmarks/peers.py

Every package runs with its defaults, and with standard errors where it has them. The
log-likelihood is marginal under a standard normal population. It is computed here for the items
of every package by one rule, on a grid fine enough for the narrowest posterior.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from importlib.metadata import version
from time import perf_counter, process_time

import numpy as np
from numpy.typing import NDArray

import ogive as og
from common import machine, print_table
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.e_step import expect_generally
from ogive.irt.models import find_model
from ogive.irt.models.base import MeasurementModel
from ogive.irt.quadrature import plan_nodes

Items = dict[str, NDArray[np.float64]]
GRADES = 5
JOBS = [("2pl", 1_000, 100), ("2pl", 200, 500), ("3pl", 10_000, 100), ("graded", 10_000, 50)]
MOST_CALLS = 6
PATIENCE = 5.0  # CPU seconds after which a package is not called again
GIRTH_ITEMS = 200  # girth takes minutes beyond


def by_ogive(responses: og.Responses, model: str) -> Items:
    items = og.calibrate(responses, model).items  # the frame carries the standard errors
    return {
        name: column.to_numpy()
        for name, column in items.items()
        if name != "flag" and not name.endswith("_se")
    }


def of_grades(discrimination: NDArray[np.float64], steps: NDArray[np.float64]) -> Items:
    found = {f"difficulty_{k + 1}": steps[:, k] for k in range(steps.shape[1])}
    return {"discrimination": discrimination, "difficulty": steps.mean(axis=1), **found}


def by_mirt(responses: og.Responses, model: str) -> Items:
    import mirt

    cells = responses.cells.astype(np.int64)
    if model == "graded":
        found = mirt.fit_mirt(cells, "GRM", n_categories=GRADES).model.parameters
        return of_grades(np.ravel(found["discrimination"]), found["thresholds"])
    found = mirt.fit_mirt(cells, model.upper()).model.parameters
    guessing = found.get("guessing", np.zeros(responses.n_items))
    return {
        "discrimination": np.ravel(found["discrimination"]),
        "difficulty": np.ravel(found["difficulty"]),
        "guessing": np.ravel(guessing),
    }


def by_girth(responses: og.Responses, model: str) -> Items:
    import girth

    if model == "3pl" or responses.n_items > GIRTH_ITEMS:
        raise NotImplementedError("3PL fails on NumPy 2" if model == "3pl" else "takes minutes")
    if model == "graded":
        found = girth.grm_mml(responses.cells.T.astype(int) + 1)  # its grades start at 1
        return of_grades(found["Discrimination"], found["Difficulty"])
    found = girth.twopl_mml(responses.cells.T.astype(int))
    return {
        "discrimination": found["Discrimination"],
        "difficulty": found["Difficulty"],
        "guessing": np.zeros(responses.n_items),
    }


def by_py_irt(responses: og.Responses, model: str) -> Items:
    if model != "2pl":
        raise NotImplementedError(f"no {model}")
    import pandas as pd
    from py_irt.config import IrtConfig
    from py_irt.dataset import Dataset
    from py_irt.training import IrtModelTrainer

    frame = pd.DataFrame(responses.cells, columns=list(responses.items))
    frame.insert(0, "subject_id", list(responses.respondents))
    data = Dataset.from_pandas(frame, "subject_id", list(responses.items))
    config = IrtConfig(model_type="2pl", seed=0)
    trainer = IrtModelTrainer(config=config, data_path=None, dataset=data)
    with contextlib.redirect_stdout(io.StringIO()):
        trainer.train(device="cpu")
    found = {name: np.array(column) for name, column in trainer.irt_model.export().items()}
    mean, sd = found["ability"].mean(), found["ability"].std()  # it leaves the scale free
    return {
        "discrimination": found["disc"] * sd,
        "difficulty": (found["diff"] - mean) / sd,
        "guessing": np.zeros(responses.n_items),
    }


PEERS: dict[str, Callable[[og.Responses, str], Items]] = {
    "ogive": by_ogive,
    "mirt": by_mirt,
    "girth": by_girth,
    "py-irt": by_py_irt,
}


def log_likelihood(responses: og.Responses, model: MeasurementModel, items: Items) -> float:
    nothing = dict.fromkeys(model.fixed, 0 * items["difficulty"])
    coords = model.from_parameters({**nothing, **items})
    data = encode(responses.cells, model)
    return expect_generally(data, model, coords, plan_nodes(model, coords), map).log_likelihood


def measure(name: str, n_respondents: int, n_items: int) -> list[tuple[object, ...]]:
    model = og.Graded(categories=GRADES) if name == "graded" else find_model(name)
    responses, truth = og.simulate(model, n_respondents, n_items, random_state=1)
    label = f"{name.upper()} {n_respondents:,} × {n_items:,}"
    rows: list[tuple[object, ...]] = []
    own = own_busy = 0.0
    for peer, work in PEERS.items():
        try:
            first, warm, busy, items = _timed(work, responses, name)
        except (ImportError, NotImplementedError) as reason:
            why = "not installed" if isinstance(reason, ImportError) else reason
            rows.append((label, peer, *["–"] * 7, why))
            continue
        own, own_busy = own or warm, own_busy or busy
        error = np.sqrt(np.mean((items["difficulty"] - truth.items["difficulty"].to_numpy()) ** 2))
        value = log_likelihood(responses, model, items)
        times = f"{first:.3f}", f"{warm:.3f}", f"{warm / own:.1f}"
        times += f"{busy:.3f}", f"{busy / own_busy:.1f}"
        rows.append((label, f"{peer} {version(peer)}", *times, f"{value:.2f}", f"{error:.3f}", ""))
    return rows


def _timed(
    work: Callable[[og.Responses, str], Items], responses: og.Responses, model: str
) -> tuple[float, float, float, Items]:
    """Time the first call, and the best of a few more calls if they are quick.

    Then CPU seconds of all threads, which other work on the machine does not lengthen.
    """
    times: list[float] = []
    cpu: list[float] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while len(times) < MOST_CALLS and sum(cpu) < PATIENCE:
            begin, busy = perf_counter(), process_time()
            items = work(responses, model)
            times.append(perf_counter() - begin)
            cpu.append(process_time() - busy)
    return times[0], min(times[1:] or times), min(cpu[1:] or cpu), items


def main() -> None:
    print(f"\n## Peers\n\n{machine()}.")
    print_table(
        "Same responses, defaults, with standard errors",
        (
            "job",
            "package",
            "first call, s",
            "warm, s",
            "× ogive, warm",
            "CPU s, warm",
            "× ogive",
            "log-likelihood",
            "RMSE difficulty",
            "",
        ),
        [row for job in JOBS for row in measure(*job)],
    )


if __name__ == "__main__":
    main()
