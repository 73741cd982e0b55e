import json
import re

import numpy as np
import pytest

import ogive as og
from ogive.data.datasets.dataset import split_dataset
from ogive.data.datasets.load import load_dataset
from ogive.reporting import demo
from ogive.results.wording import is_known


@pytest.fixture
def small(monkeypatch):
    """Two small data sets and a dozen classifiers in place of the whole demonstration."""
    monkeypatch.setattr(demo, "NAMES", ("wine", "breast_cancer"))
    monkeypatch.setattr(demo, "MISLABELLED", "breast_cancer")
    monkeypatch.setattr(demo, "POOL", "real")


def test_labels_are_changed_in_the_test_part_only():
    original = load_dataset("sklearn:digits")
    changed, names = demo.mislabelled(original, 0)
    rows = original.target != changed.target
    assert [f"row_{place}" for place in rows.to_numpy().nonzero()[0]] == list(names)
    assert len(names) == demo.N_MISLABELLED
    assert set(rows.to_numpy().nonzero()[0]) <= set(split_dataset(original).test)
    assert set(changed.target) == set(original.target)


def test_files_are_written_and_said(run, tmp_path, small):
    done = run("demo")
    assert done.exit_code == 0, done.output
    folder = tmp_path / "ogive-demo"
    for figure in ("datasets", "tournament", "wine_scores"):
        assert (folder / "figures" / f"{figure}.png").exists()
    assert "12 labels of breast_cancer were changed on purpose" in done.stderr
    assert done.stdout.startswith("dataset,items,respondents,")
    assert done.stdout.count("\n") == 3
    page = (folder / "report.html").read_text()
    for study in ("Leaderboard", "Short benchmark", "Portfolio", "Capability"):
        assert f">{study}: " in page, study
    assert "Respondents: 12 classifiers, on a scale of their own." in page
    in_short = page.partition("In short")[2].partition("</ul>")[0].partition("</ol>")[0]
    assert "12 labels of breast_cancer were changed on purpose" in in_short
    assert "suspect keys by right and wrong answers alone" in in_short
    assert "Performance is the probability that a classifier gives to the true class" in page
    assert "The short form of 25 items is that of the section on a short benchmark" in page
    assert "The classifier is a logistic regression on standardised features" in page
    assert "The scale of each data set, also in the item explorer, has 12 classifiers" in page
    assert og.load(folder / "banks" / "wine.json").converged
    assert unexplained(page) == []


def unexplained(page):
    """Columns of the tables of a report that no word explains, with their tables."""
    data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1]
    return [
        (table["caption"], column["name"])
        for table in json.loads(data)["tables"].values()
        for column in table["columns"]
        if not is_known(column["name"], table["caption"])
    ]


def test_the_pool_is_described_by_its_classifiers_and_perceptrons():
    names = [f"MLP {k} ({k} iterations)" for k in range(1, 4)]
    evaluated = og.Responses(np.eye(4, 3), respondents=["tree", "forest", "optimal", "pessimal"])
    answered = og.Responses(np.eye(5, 3), respondents=[*names, "tree", "forest"])
    said = "2 classifiers and 3 MLPs trained for 1 to 121 iterations"
    assert demo.said_of_pool(answered, evaluated) == said
    assert demo.said_of_pool(evaluated, evaluated) == "2 classifiers"


@pytest.mark.slow
def test_json_is_one_document(run, small, monkeypatch):
    monkeypatch.setattr(demo, "tour", lambda many, two: demo.Tour({}, {}))
    document = json.loads(run("demo", "--json", "--out", "there").stdout)
    assert len(document["changed"]) == demo.N_MISLABELLED
    assert {row["dataset"] for row in document["datasets"]} == {"wine", "breast_cancer"}


def test_a_file_in_the_way_is_said(run, scores):
    done = run("demo", "--out", scores)
    assert done.exit_code == 3
    assert "is a file" in done.stderr


@pytest.mark.slow
def test_changed_labels_are_found(tmp_path):
    found = demo.demonstrate(tmp_path)
    assert found.suspects["changed"].sum() >= 10
    assert len(found.suspects) <= 18
