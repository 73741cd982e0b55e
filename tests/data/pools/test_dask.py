import os
import signal
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ogive.data.pools.runner import run_pool


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the cluster about ports and its own clean-up
def test_a_cluster_of_dask_answers_the_same_and_every_member_is_kept(split, same, tmp_path):
    distributed = pytest.importorskip("distributed")
    pool = {
        "bayes": GaussianNB(),
        "tree": DecisionTreeClassifier(),
        "stump": DecisionTreeClassifier(max_depth=1),
    }
    settings = {
        "n_workers": 2,
        "threads_per_worker": 1,
        "processes": True,
        "dashboard_address": ":0",
        "local_directory": str(tmp_path / "dask"),
    }
    told = []
    with (
        distributed.LocalCluster(**settings) as cluster,
        distributed.Client(cluster) as client,
        parallel_config(backend="dask"),
    ):
        there = run_pool(
            split, pool, cv=3, folder=tmp_path / "answers", progress=lambda *a: told.append(a)
        )
        assert len(client.scheduler_info()["workers"]) == 2
    assert told[0][:3] == (0, 3, "bayes, tree")
    assert np.isfinite(there.cv_accuracy).all()
    assert same(run_pool(split, pool, cv=3), there)
    assert len(list((tmp_path / "answers").glob("*.json"))) == 3


class SlowBayes(GaussianNB):
    """Takes its time, so that a worker dies while it answers."""

    def fit(self, X, y):
        time.sleep(0.5)
        return super().fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those of the cluster about ports and its own clean-up
def test_a_worker_that_is_killed_costs_time_only(split, same, tmp_path):
    distributed = pytest.importorskip("distributed")
    pool = {f"bayes_{k}": SlowBayes(var_smoothing=10.0**-k) for k in range(4, 10)}
    settings = {"n_workers": 3, "threads_per_worker": 1, "dashboard_address": ":0"}
    killed = []
    with (
        distributed.LocalCluster(**settings, local_directory=str(tmp_path / "dask")) as cluster,
        distributed.Client(cluster) as client,
        parallel_config(backend="dask"),
    ):

        def tell(done, total, message):
            if done == 1 and not killed:
                killed.append(min(client.run(os.getpid).values()))
                os.kill(killed[0], signal.SIGKILL)

        there = run_pool(split, pool, cv=2, folder=tmp_path / "answers", progress=tell)
    assert killed
    assert not there.failures
    assert same(run_pool(split, pool, cv=2), there)
