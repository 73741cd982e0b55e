import numpy as np
import pytest
from joblib import parallel_config
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from itemwise.pools import run_pool


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
