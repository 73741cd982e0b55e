"""A calibration on a Dask cluster is that of one machine, whoever dies on the way."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import ClusterError, InputError
from ogive.irt.estimation import cluster
from ogive.irt.estimation.cluster import even_ends, pieces_of
from ogive.irt.models import MODELS

distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


@pytest.fixture(scope="module")
def client():
    """Two workers in this process: the same tasks, without the time that processes take."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as local,
        distributed.Client(local) as found,
    ):
        yield found


@pytest.fixture
def small_parts(monkeypatch):
    """Parts and blocks of 64 rows, so that small tables have several."""
    for name in ("MOST_ROWS", "LEAST_ROWS"):
        monkeypatch.setattr(f"ogive.irt.encoded_responses.{name}", 64)
    monkeypatch.setattr("ogive.irt.estimation.cluster.MOST_ROWS", 64)
    monkeypatch.setattr("ogive.irt.estimation.cluster.MOST_ROWS", 64)


def assert_same(one, other, tolerance=1e-8):
    np.testing.assert_allclose(one.coords, other.coords, atol=tolerance, rtol=0)
    errors = [bank.items.filter(like="_se").to_numpy() for bank in (one, other)]
    np.testing.assert_allclose(*errors, rtol=1e-5)
    assert one.flags == other.flags
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    "model",
    [*(name for name in MODELS if name != "beta"), pytest.param("beta", marks=pytest.mark.slow)],
)
def test_every_model_finds_the_same_items(model, client):
    table = og.simulate(model, 150, 21, random_state=1).responses
    here = og.calibrate(table, model, progress=False)
    assert_same(here, og.calibrate(table, model, engine=og.EM(client=client), progress=False))


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_settings_mean_the_same(client, subtests):
    complete = og.simulate("2pl", 150, 21, random_state=2).responses
    missing = og.simulate("2pl", 150, 21, random_state=2, missing=0.2).responses
    weights = np.arange(150) % 3 + 1.0
    for name, table, settings in (
        ("missing", missing, {}),
        ("few items", complete.select(items=slice(0, 6)), {}),
        ("weights", complete, {"weights": weights}),
        ("few, weights", complete.select(items=slice(0, 6)), {"weights": weights}),
        ("robust", missing, {"se": "robust"}),
        ("no priors", missing, {"priors": None}),
    ):
        with subtests.test(name):
            here = og.calibrate(table, "2pl", progress=False, **settings)
            there = og.calibrate(table, "2pl", client=client, progress=False, **settings)
            assert_same(here, there)


@pytest.mark.slow
@pytest.mark.usefixtures("small_parts")
def test_partitions_of_files_and_arrays_may_be_of_any_size(client, tmp_path, subtests):
    table = og.simulate("3pl", 200, 21, random_state=3, missing=0.1).responses
    here = og.calibrate(table, "3pl", progress=False)
    frame = table.to_frame()
    frame.index.name = "respondent"
    for k, (first, last) in enumerate([(0, 3), (3, 90), (90, 200)]):
        frame.iloc[first:last].to_parquet(tmp_path / f"{k}.parquet", row_group_size=37)
    engine = og.EM(client=client)
    scanned = og.scan_responses(tmp_path)
    with subtests.test("files"):
        there = og.calibrate(scanned, "3pl", engine=engine, progress=False)
        assert_same(here, there)
        assert there.item_names == table.items
    array = pytest.importorskip("dask.array")
    for chunks in ((200, 21), (30, 7), ((1, 0, 100, 99), 21)):
        with subtests.test(chunks=chunks):
            spread = array.from_array(table.values, chunks=chunks)
            assert_same(here, og.calibrate(spread, "3pl", engine=engine, progress=False))


def test_abilities_of_files_are_written_by_the_workers(client, tmp_path):
    table = og.simulate("2pl", 90, 21, random_state=4).responses
    frame = table.to_frame()
    frame.index.name = "respondent"
    for k in range(3):
        frame.iloc[30 * k : 30 * k + 30].to_parquet(tmp_path / f"{k}.parquet")
    bank = og.calibrate(og.scan_responses(tmp_path), "2pl", client=client, progress=False)
    folder = bank.write_abilities(tmp_path / "abilities")
    assert sorted(path.name for path in folder.iterdir()) == [
        f"part-{k:05d}.parquet" for k in range(3)
    ]
    written = pd.read_parquet(folder).set_index("respondent")
    expected = og.calibrate(table, "2pl", progress=False).abilities()
    pd.testing.assert_frame_equal(written, expected, atol=1e-7)


def test_parts_begin_where_blocks_do():
    assert even_ends([0, 1, 5_000, 5_001, 20_000]) == [0, 4_096, 8_192, 20_000]
    ends = [0, 10, 25, 40]
    pieces = pieces_of(ends, 5, 30)
    assert [(p.part, p.first, p.last, p.whole) for p in pieces] == [
        (0, 5, 10, False),
        (1, 0, 15, True),
        (2, 0, 5, False),
    ]


def told(**versions):
    """A client whose workers have these versions."""
    nothing = lambda *given: None  # noqa: E731
    return SimpleNamespace(
        status="running",
        submit=nothing,
        scatter=nothing,
        gather=nothing,
        run=lambda *_, **__: versions,
    )


def test_a_cluster_that_cannot_do_the_work_is_refused(client, subtests, monkeypatch):
    monkeypatch.setattr("ogive.irt.estimation.cluster.VERSION_ATTEMPTS", 1)
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    repeated = og.Responses([[0.5, 1.0], [0.2, 0.4]], tries=[[2, 2], [5, 5]])
    for said, given in {
        r"`client` must be": 8,
        "The client is closed": closed,
        "The cluster has no workers": told(),
        "1 of 2 workers cannot import ogive, for example one": told(one=None, two="0.1.0"),
        "another version of ogive: two has 0.0.9": told(one=og.__version__, two="0.0.9"),
        "Repeated answers are calibrated on one machine": client,
    }.items():
        with subtests.test(said), pytest.raises((ClusterError, InputError), match=said):
            og.calibrate(repeated, "2pl", client=given, progress=False)
    array = pytest.importorskip("dask.array")
    with pytest.raises(InputError, match="A dask array is calibrated on a cluster"):
        og.calibrate(array.zeros((5, 5)), "2pl", progress=False)
    with pytest.raises(InputError, match="has 1 dimensions, but a table has two"):
        og.calibrate(array.zeros(5), "2pl", client=client, progress=False)


def test_a_worker_is_asked_for_its_version(client):
    cluster.check_client(client)


def processes(n_workers):
    return distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=1, processes=True, dashboard_address=":0"
    )


def killed_later(client, seconds):
    """SIGKILL one worker after some time."""

    def kill():
        time.sleep(seconds)
        pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
        os.kill(pids[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def fit_with_a_kill(client, table, seconds):
    thread = killed_later(client, seconds)
    found = og.calibrate(table, "3pl", client=client, progress=False)
    thread.join()
    client.wait_for_workers(2, timeout=300)
    return found


@pytest.fixture(scope="module")
def three_processes():
    with processes(3) as local, distributed.Client(local) as found:
        yield found


def test_a_worker_that_is_killed_costs_time_only(three_processes):
    table = og.simulate("3pl", 9_000, 21, random_state=5).responses
    here = og.calibrate(table, "3pl", progress=False)
    assert_same(here, fit_with_a_kill(three_processes, table, 0.1))


@pytest.mark.slow
def test_twenty_kills_at_random_times_change_nothing(three_processes, tmp_path):
    table = og.simulate("3pl", 20_000, 21, random_state=6).responses
    frame = table.to_frame().astype("int8")
    frame.index.name = "respondent"
    for k in range(3):
        frame.iloc[7_000 * k : 7_000 * k + 7_000].to_parquet(tmp_path / f"{k}.parquet")
    here = og.calibrate(table, "3pl", progress=False)
    started = time.monotonic()
    og.calibrate(table, "3pl", client=three_processes, progress=False)
    usual = time.monotonic() - started
    draw = np.random.default_rng(7)
    for k in range(20):
        given = table if k % 2 else og.scan_responses(tmp_path)
        assert_same(here, fit_with_a_kill(three_processes, given, draw.uniform(0, usual)))


@pytest.mark.slow
def test_a_scheduler_that_is_lost_is_said(monkeypatch):
    monkeypatch.setattr("ogive.irt.estimation.cluster.WAIT", 3)
    table = og.simulate("3pl", 9_000, 21, random_state=5).responses
    local = processes(2)
    with distributed.Client(local, timeout=3) as client:
        count = 0

        def tell(*told):
            nonlocal count
            count += 1
            if count == 2:
                local.close()

        with pytest.raises(ClusterError, match=r"The scheduler of the cluster at .* is lost"):
            og.calibrate(table, "3pl", client=client, progress=tell)


@pytest.mark.usefixtures("small_parts")
def test_workers_may_have_a_device_each(client):
    pytest.importorskip("torch")
    table = og.simulate("3pl", 150, 21, random_state=8, missing=0.1).responses
    here = og.calibrate(table, "3pl", progress=False)
    engine = og.EM(client=client, device="cpu")
    there = og.calibrate(table, "3pl", engine=engine, progress=False)
    np.testing.assert_allclose(here.coords, there.coords, atol=1e-5)  # it has no single precision
