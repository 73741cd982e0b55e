import json

import numpy as np
import pandas as pd
import pytest

from ogive import compare_portfolios, portfolio
from ogive.cli.benchmark_commands import PortfolioFindings
from ogive.portfolios.portfolio_choice import METHODS
from ogive.reporting.exports import write_folder
from ogive.results.plots.figure import Display


def unwritten(_, path):
    """In place of drawing a figure, which takes long: an empty file, whose digest is noted."""
    path.touch()
    return path


def write(found, compared, folder, epsilons=(0.0, 0.01), size=None, missing=()):
    chosen = found.select(max(epsilons), size=size)
    told = PortfolioFindings(found, chosen, compared, list(missing), list(epsilons), 0, None)
    return write_folder(told.contents(size), folder)


@pytest.fixture(scope="module")
def accuracy():
    """Of four algorithms, of which the last does better on harder problems."""
    random = np.random.default_rng(0)
    easiness = random.normal(size=(60, 1))
    odds = easiness * [1, 0.8, 1.2, -0.4] + [1, 0.5, 0.8, 0] + random.normal(0, 0.4, (60, 4))
    names = ["steady", "../weak", "strong", "odd one"]
    return pd.DataFrame(1 / (1 + np.exp(-odds)), columns=names)


@pytest.fixture(scope="module")
def written(accuracy, tmp_path_factory):
    found = portfolio(accuracy, bounds=(0, 1))
    compared = compare_portfolios(found, cv=3)
    folder = tmp_path_factory.mktemp("report") / "new"
    paths = write(found, compared, folder, epsilons=(0.0, 0.05), size=2)
    return found, compared, folder, paths


def test_all_files_lie_in_the_folder_and_are_listed(written):
    *_, folder, paths = written
    assert all(path.exists() and folder in path.parents for path in paths)
    tables = {path.stem for path in paths if path.suffix == ".csv"}
    assert tables == {
        *("algorithms", "problems", "curves", "strengths", "weaknesses", "occupancy"),
        *("goodness", "goodness_curves", "gaps", "chosen"),
    }
    figures = {path.stem for path in paths if path.suffix == ".png"}
    assert figures == {
        *("curves", "strengths", "densities", "traces", "goodness", "effectiveness", "gaps"),
        *("runs", "performances", "residuals", "difficulties"),
    }


def test_tables_hold_what_was_found(written):
    found, compared, folder, _ = written
    algorithms = pd.read_csv(folder / "algorithms.csv", index_col="algorithm")
    np.testing.assert_allclose(algorithms["consistency"], found.algorithms["consistency"])
    assert algorithms.index[algorithms["anomalous"]].tolist() == ["odd one"]
    np.testing.assert_allclose(pd.read_csv(folder / "gaps.csv")["gap"], compared.frame["gap"])


def test_strengths_and_occupancy_are_told_for_both_epsilons(written):
    found, _, folder, _ = written
    shares = pd.read_csv(folder / "occupancy.csv").set_index("algorithm")
    for epsilon in (0.0, 0.05):
        part = shares[shares["epsilon"] == epsilon]
        pd.testing.assert_frame_equal(part.drop(columns="epsilon"), found.occupancy(epsilon))
    for name in ("strengths", "weaknesses"):
        assert set(pd.read_csv(folder / f"{name}.csv")["epsilon"]) == {0.0, 0.05}


def test_every_method_chooses_as_many_as_asked_for(written):
    found, _, folder, _ = written
    chosen = pd.read_csv(folder / "chosen.csv")
    assert (chosen["method"].value_counts()[list(METHODS)] == 2).all()
    by_airt = chosen.loc[chosen["method"] == "airt", "algorithm"]
    assert tuple(by_airt) == found.select(0.05, size=2).algorithms


def test_the_summary_says_what_it_means(written):
    found, compared, folder, _ = written
    said = json.loads((folder / "summary.json").read_text())["sentences"]
    assert said["portfolio"] == found.sentences()
    assert said["gaps"] == [compared.meaning]
    assert said["chosen by shapley"][0].startswith("Keep ")


def test_the_summary_says_why_there_is_no_comparison(accuracy, tmp_path, monkeypatch):
    monkeypatch.setattr(Display, "save", unwritten)
    write(portfolio(accuracy), None, tmp_path, missing=["Too few problems."])
    said = json.loads((tmp_path / "summary.json").read_text())["sentences"]
    assert said["gaps"] == ["Too few problems."]


def test_notes_of_the_comparison_alone_are_told_with_it(accuracy, tmp_path, monkeypatch):
    monkeypatch.setattr(Display, "save", unwritten)
    compared = compare_portfolios(accuracy, cv=2, sizes=[1], epsilon=5)
    write(portfolio(accuracy), compared, tmp_path)
    said = json.loads((tmp_path / "summary.json").read_text())["sentences"]
    assert said["gaps"] == [compared.meaning, *compared.notes]
    assert len(said["gaps"]) == 2


def test_grades_have_traces_and_no_comparison_no_gaps(accuracy, tmp_path, monkeypatch):
    monkeypatch.setattr(Display, "save", unwritten)
    paths = write(portfolio(accuracy, model="graded", grades=3), None, tmp_path)
    names = {path.name for path in paths}
    assert "traces.png" in names
    assert not names & {"densities.png", "gaps.png", "gaps.csv"}
