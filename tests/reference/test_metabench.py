"""Against mirt's published fits of two language-model benchmarks (<shared>/data/llm).

mirt's 61 nodes are too coarse for these 100 items: the log-likelihood of its own items, computed
on a fine grid, differs by dozens of nats. So both sides are also compared on a fine grid.
"""

import json

import numpy as np
import pandas as pd
import pytest

from ogive import Responses, calibrate

NODES = 1801  # a hundredth of a deviation each


class Benchmark:
    def __init__(self, folder, name, model):
        self.stem = folder / f"metabench_{name}_{model}"
        frame = pd.read_csv(f"{self.stem}_responses.csv.gz", index_col=0)
        self.responses = Responses.from_frame(frame)
        self.fit = json.loads((folder / f"metabench_{name}_{model}_fit.json").read_text())
        self.items = pd.read_csv(f"{self.stem}_mirt_items.csv")
        self.cal = calibrate(self.responses, model, priors=None)


@pytest.mark.slow
def test_arc_is_fitted_at_least_as_well_as_by_mirt(shared, plain, subtests):
    arc = Benchmark(shared / "data" / "llm", "arc", "2pl")
    with subtests.test("log-likelihood"):
        assert arc.cal.converged
        assert arc.cal.log_likelihood >= -120279.18  # mirt's, as published
    with subtests.test("better on the same fine grid"):
        theirs = arc.items[["a1", "d"]].to_numpy(float)
        ours, _ = plain.marginal(arc.cal.coords, arc.responses.values, nodes=NODES, reach=9)
        other, _ = plain.marginal(theirs, arc.responses.values, nodes=NODES, reach=9)
        assert ours > other
        assert arc.cal.log_likelihood == pytest.approx(ours, rel=1e-6)
    with subtests.test("with default priors"):
        assert calibrate(arc.responses, "2pl").converged
    with subtests.test("respondents are ordered as by mirt"):
        theirs = pd.read_csv(f"{arc.stem}_mirt_theta.csv.gz", index_col=0)["theta"]
        ours = arc.cal.abilities("map")["ability"]
        assert np.corrcoef(ours, theirs.loc[ours.index])[0, 1] > 0.99
    with subtests.test("items known to be negative are found negative"):
        theirs = arc.items.set_index("item")["a1"]
        ours = arc.cal.items["discrimination"]
        assert set(ours.index[ours < 0]) == set(theirs.index[theirs < 0])


@pytest.mark.slow
def test_mmlu_is_fitted_at_least_as_well_as_by_mirt(shared, plain, subtests):
    mmlu = Benchmark(shared / "data" / "llm", "mmlu", "3pl")
    with subtests.test("log-likelihood"):
        assert mmlu.cal.log_likelihood >= mmlu.fit["logLik"] - 0.01
    with subtests.test("the log-likelihood is the plain one"):
        value, _ = plain.marginal(mmlu.cal.coords, mmlu.responses.values, nodes=NODES, reach=9)
        assert mmlu.cal.log_likelihood == pytest.approx(value, rel=1e-6)
    with subtests.test("with default priors"):
        assert calibrate(mmlu.responses, "3pl").converged
    with subtests.test("items that grow steep on the way get finer nodes"):
        found = calibrate(mmlu.responses, "2pl")
        assert found.converged
        assert found.iterations < 60  # on the nodes of the start it never ended
        assert found.items["discrimination"].max() > 15
