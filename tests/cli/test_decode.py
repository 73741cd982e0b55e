import json

import numpy as np
import pandas as pd
import pytest

import ogive as og

TABLES = (
    *("datasets", "items", "classifiers", "true_scores", "suspects", "sources", "metadata"),
    *("tournament", "periods", "ranks", "subsets", "choice"),
)


@pytest.fixture
def files(tmp_path):
    """Three small data sets of three classes."""
    paths = []
    for seed, spread in enumerate((0.5, 0.9, 1.4)):
        random = np.random.default_rng(seed)
        kind = random.integers(3, size=120)
        frame = pd.DataFrame(random.normal(size=(120, 3)) * spread + kind[:, None])
        path = tmp_path / f"set{seed}.csv"
        frame.add_prefix("x").assign(kind=kind).to_csv(path, index=False)
        paths.append(path)
    return paths


def decode(run, *words):
    return run("decode", *words, "--pool", "real", "--cv", 0, "--jobs", 1, "--model", "2pl")


def test_tables_figures_banks_and_answers_are_left_in_the_folder(run, files, tmp_path):
    done = decode(run, *files, "--target", "kind", "--out", "there")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "there"
    for name in TABLES:
        assert len(pd.read_csv(folder / f"{name}.csv")) or name == "suspects"
    figures = {path.stem for path in (folder / "figures").iterdir()}
    expected = {"datasets", "difficulty", "discrimination", "tournament", "bump", "subsets"}
    assert expected | {"critical_differences", "agreement", "set0_scores"} <= figures
    assert og.load(folder / "banks" / "set1.json").converged
    assert {path.name for path in (folder / "answers").iterdir()} == {"set0", "set1", "set2"}
    assert "is the hardest" in done.stdout
    assert "is the hardest" in (folder / "report.html").read_text("utf-8")
    assert "metadata: none. It needs at least 4 data sets" in done.stdout
    assert "only 12 classifiers calibrate it" in done.stdout


def test_the_same_command_goes_on_and_writes_the_same(run, files, tmp_path):
    first = decode(run, f"{files[0]}#kind", "--out", "one")
    assert first.exit_code == 0, first.output
    before = {p.name: p.read_bytes() for p in (tmp_path / "one").glob("*.csv")}
    answer = next((tmp_path / "one" / "answers" / "set0").glob("*.json"))
    answer.unlink()
    assert decode(run, f"{files[0]}#kind", "--out", "one").exit_code == 0
    assert answer.exists()
    assert before == {p.name: p.read_bytes() for p in (tmp_path / "one").glob("*.csv")}


def test_json_is_one_document(run, files):
    done = decode(run, f"{files[0]}#kind", "--json")
    document = json.loads(done.stdout)
    assert document["datasets"][0]["dataset"] == "set0"
    assert "decoding" in document["meaning"]
    assert "tournament" in document["meaning"]


@pytest.mark.slow
def test_tables_of_right_and_wrong_need_no_classifiers(run, tmp_path):
    for seed in (0, 1):
        og.simulate("2pl", 60, 12, random_state=seed).responses.save(tmp_path / f"t{seed}.csv")
    done = run("decode", "t0.csv", "t1.csv", "--responses", "--model", "2pl", "--method", "staged")
    assert done.exit_code == 0, done.output
    frame = pd.read_csv(tmp_path / "ogive-decode" / "datasets.csv")
    assert set(frame["dataset"]) == {"t0", "t1"}
    assert not (tmp_path / "ogive-decode" / "answers").exists()


def test_what_a_hurried_person_gets_wrong_is_explained(subtests, run):
    cases = [
        (["absent.csv"], "absent.csv"),
        (["digits"], "Did you mean 'sklearn:digits'?"),
        (["sklearn:iris", "sklearn:iris"], "used more than once"),
        (["sklearn:iris", "--test-size", "2"], "--test-size must be"),
        (["sklearn:iris", "--size", "nan"], "--size is nan"),
        (["sklearn:iris", "--size", "-1"], "--size is -1"),
        (["a/x.csv", "b/x.csv", "--responses"], "Two files are called 'x'"),
    ]
    for words, told in cases:
        with subtests.test(words=words, told=told):
            done = run("decode", *words)
            assert done.exit_code == 3
            assert told in done.stderr
            assert "Traceback" not in done.output


@pytest.mark.slow
def test_regressors_are_decoded_where_the_target_is_a_number(run, tmp_path):
    random = np.random.default_rng(0)
    x = random.normal(size=(40, 2))
    frame = pd.DataFrame(x, columns=["a", "b"]).assign(price=x[:, 0] + random.normal(size=40))
    frame.to_csv(tmp_path / "prices.csv", index=False)
    done = run("decode", "prices.csv#price", "--pool", "regressors", "--out", "o", "--jobs", "1")
    assert done.exit_code == 0, done.stderr
    assert "On prices, the typical error of its regressors" in done.stdout
    assert {"datasets.csv", "regressors.csv", "items.csv", "report.html"} <= {
        path.name for path in (tmp_path / "o").iterdir()
    }
    done = run("decode", "prices.csv#price", "--out", "p")
    assert done.exit_code == 3
    assert "--pool regressors" in done.stderr
