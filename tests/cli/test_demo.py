import json

import pytest

import itemwise as iw
from itemwise import demo

FIGURES = ("item_map.png", "curves.png", "information.png", "ranking.png")


@pytest.fixture(scope="module")
def digits():
    return demo.classify_digits()


@pytest.fixture
def trained(monkeypatch, digits):
    """The command, without training the classifiers again."""
    monkeypatch.setattr(demo, "classify_digits", lambda _report: digits)


def test_the_pool_is_as_large_as_it_says(digits):
    assert digits.responses.shape == (demo.N_CLASSIFIERS, demo.N_ITEMS)
    assert len(digits.mislabelled) == demo.N_MISLABELLED


def test_changed_labels_are_found(digits):
    found = demo.calibrate_digits(digits)
    assert found.suspects["changed"].sum() >= 10
    assert len(found.suspects) <= 20
    counted = [found.count(flag) for flag in demo.SUSPICIOUS]
    assert sum(changed for _, changed in counted) == found.suspects["changed"].sum()
    assert found.ranking["ability"].is_monotonic_decreasing


def test_all_files_are_written_and_said(run, tmp_path, trained):
    done = run("demo")
    assert done.exit_code == 0
    folder = tmp_path / "itemwise-demo"
    for figure in FIGURES:
        assert (folder / figure).read_bytes().startswith(b"\x89PNG")
        assert figure in done.stdout
    assert iw.load(folder / "bank.json").converged
    assert iw.read_responses(folder / "responses.csv").shape == (60, 300)


def test_json_is_one_document(run, trained):
    document = json.loads(run("demo", "--json", "--out", "there").stdout)
    assert len(document["mislabelled"]) == demo.N_MISLABELLED
    assert len(document["files"]) == 8


def test_a_file_in_the_way_is_said(run, scores):
    done = run("demo", "--out", scores)
    assert done.exit_code == 3
    assert "is a file" in done.stderr
