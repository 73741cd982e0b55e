"""Folders of results and model cards."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive import compare_classifiers, compare_portfolios, portfolio
from ogive.capability.capability_result import CapabilityComparison, MeasuredModels
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.measurement import measure_capability
from ogive.cli.portfolio_commands import PortfolioFindings
from ogive.errors import InputError
from ogive.portfolios.portfolio_choice import METHODS
from ogive.reporting.exports import write_folder
from ogive.results.plots.figure import Display


@pytest.fixture(scope="module")
def board():
    return og.leaderboard(og.simulate("2pl", 12, 40, random_state=1).responses)


@pytest.fixture(scope="module")
def decoding():
    pool = {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 9, 40)} | {"nb": GaussianNB()}
    sources = ["sklearn:iris", "sklearn:wine"]
    return og.decode_benchmark(sources, pool, model="1pl", cv=0, progress=False)


def test_hugging_face_reads_the_card(board, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    name = str(board.to_frame().index[0])
    path = tmp_path / "README.md"
    text = og.model_card(
        {"sums: a | test": board},
        name,
        title='The "best" one',
        task="text-generation",
        metadata={"license": "mit", "tags": ["math", "ogive"]},
        path=path,
    )
    card = hub.ModelCard.load(path)
    assert text.endswith(card.text)
    assert card.data.model_name == 'The "best" one'
    assert card.data.license == "mit"
    assert card.data.tags == ["math", "ogive"]
    found = {one.metric_type: one for one in card.data.eval_results}
    row = board.to_frame().loc[name]
    assert found["accuracy"].metric_value == pytest.approx(row["accuracy"], rel=1e-5)
    assert found["accuracy"].dataset_name == "sums: a | test"
    assert found["accuracy"].task_type == "text-generation"
    assert f"{row['accuracy_low']:.4g} to {row['accuracy_high']:.4g}" in (
        found["accuracy"].metric_name
    )
    assert not any("rank" in name for name in found)


def test_a_card_has_one_entry_per_data_set_and_its_limits(decoding):
    text = og.model_card(decoding, "nb")
    assert text.count("dataset: {name:") == 2
    rows = decoding.classifiers.set_index(["dataset", "respondent"])
    accuracy = rows.loc[("iris", "nb"), "accuracy"]
    assert f"| iris | accuracy | {accuracy:.4g} |" in text
    for section in ("## Evaluation", "## What it means", "## Limits", "## How it was measured"):
        assert section in text
    assert decoding.notes[0] in text


def test_bad_input_is_explained(board, subtests):
    name = str(board.to_frame().index[0])
    cases = {
        "nobody": (lambda: og.model_card(board, "gpt"), "no figure .* for 'gpt'.*They name"),
        "no result": (lambda: og.model_card(np.eye(2), name), "holds a ndarray"),
        "a frame": (lambda: og.model_card([pd.DataFrame()], name), "holds a DataFrame"),
        "nothing": (lambda: og.model_card([], name), "results is empty"),
        "twice": (lambda: og.model_card([board, board], name), "the same name"),
        "metadata": (
            lambda: og.model_card(board, name, metadata={"a": {1}}),
            "cannot be written",
        ),
        "taken": (
            lambda: og.model_card(board, name, metadata={"model-index": 1}),
            "which the card writes itself",
        ),
    }
    for what, (call, message) in cases.items():
        with subtests.test(what), pytest.raises(InputError, match=message):
            call()


@pytest.mark.slow
def test_tables_and_a_figure_for_each_classifier_and_reading(tmp_path):
    random = np.random.default_rng(0)
    label = random.integers(2, size=150)
    frame = pd.DataFrame(random.normal(size=(150, 3)) + label[:, None]).add_prefix("x")
    pool = {f"tree {n}": DecisionTreeClassifier(max_depth=n % 5 + 1) for n in range(30)}
    found = compare_classifiers(
        frame.assign(label=label),
        {"../bayes": GaussianNB(), "tree": DecisionTreeClassifier()},
        pool,
        model="2pl",
        n_resamples=50,
    )
    paths = write_folder(found, tmp_path / "new")
    assert all((tmp_path / "new") in path.parents for path in paths)
    names = {path.name for path in paths}
    assert {"models.csv", "cells.csv", "cells_filtered.csv", "items.csv"} <= names
    assert {"measures.csv", "measure_pairs.csv", "summary.json"} <= names
    assert {"cells_tree.png", "cells_tree_filtered.png", "items_3d.png", "measures.png"} <= names
    assert pd.read_csv(tmp_path / "new" / "models.csv")["model"].tolist() == list(
        found.to_frame().index
    )
    cells = pd.read_csv(tmp_path / "new" / "cells.csv")
    assert cells["count"].sum() == 2 * 45
    assert cells.loc[0, "items"].startswith("row_")
    told = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert told["sentences"][0] == found.meaning


def test_tables_figures_and_bank_lie_in_the_folder(tmp_path):
    board = og.leaderboard(og.simulate("1pl", 4, 40, random_state=1).responses)
    paths = write_folder(board, tmp_path / "new")
    names = {path.name for path in paths}
    assert {"leaderboard.csv", "pairs.csv", "tasks.csv", "items.json", "summary.json"} <= names
    assert {"ranks.png", "pairs.png"} <= names
    assert "tasks.png" not in names  # there is one task
    written = pd.read_csv(tmp_path / "new" / "leaderboard.csv")
    assert written["respondent"].tolist() == list(board.respondents)
    told = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert told["sentences"][0] == board.meaning
    assert set(told["missing"]) == {"tasks"}


def test_a_single_respondent_has_no_figure_of_pairs_and_it_is_said(tmp_path):
    paths = write_folder(og.leaderboard([[1, 0, 1]]), tmp_path)
    assert "pairs.png" not in {path.name for path in paths}
    told = json.loads((tmp_path / "summary.json").read_text())
    assert "without rows" in told["missing"]["pairs"]
    assert set(told["missing"]) < {"pairs", "ranks", "tasks"}


def unwritten(_, path):
    """In place of drawing a figure, which takes long: an empty file, whose digest is noted."""
    path.touch()
    return path


def write(found, compared, folder, epsilons=(0.0, 0.01), size=None, missing=()):
    chosen = found.select(max(epsilons), size=size)
    written = PortfolioFindings(found, chosen, compared, list(missing), list(epsilons), 0, None)
    return write_folder(written.contents(size), folder)


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


SETTINGS = {"n_resamples": 3, "budget": 5}


def without_limits(one):
    return replace(one, classes=one.classes.assign(limit_is="not supported"))


@pytest.fixture(scope="module")
def cases():
    """Three classes along a line, the middle one the largest."""
    random = np.random.default_rng(0)
    line = random.normal(size=240)
    X = pd.DataFrame(line[:, None] + 0.6 * random.normal(size=(240, 3)), columns=["a", "b", "c"])
    return X, np.array(["low", "mid", "high"])[np.digitize(line, [-0.8, 1.0])]


@pytest.fixture(scope="module")
def scale(cases):
    X, y = cases
    return CaseDifficulty().fit(X, y == "high")


@pytest.fixture(scope="module")
def capability_written(cases, scale, tmp_path_factory):
    X, y = cases
    models = {"../Bayes": GaussianNB(), "logistic": LogisticRegression()}
    found = {
        name: measure_capability(
            model, X, y == "high", case_difficulty=scale, rule=["information", "steps"], **SETTINGS
        )
        for name, model in models.items()
    }
    folder = tmp_path_factory.mktemp("report") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Display, "save", unwritten)
        paths = write_folder(MeasuredModels(found, scale), folder)
    return found, folder, paths


def test_all_tables_and_figures_are_listed(capability_written):
    _, folder, paths = capability_written
    assert all(folder in path.parents for path in paths)
    tables = {path.stem for path in paths if path.suffix == ".csv"}
    assert tables == {"classes", "metrics", "accuracy", "trace", "cases", "items"}
    figures = {path.stem for path in paths if path.suffix == ".png"}
    assert {"cases", "plane_information", "plane_steps", "trace_logistic_steps"} <= figures
    assert len(figures) == 3 + 2 * (1 + 2 * 2)


def test_tables_hold_what_was_found_model_by_model(capability_written):
    found, folder, _ = capability_written
    classes = pd.read_csv(folder / "classes.csv").set_index("model")
    for name, one in found.items():
        np.testing.assert_allclose(classes.loc[name, "mlc"], one.classes["mlc"])
        assert list(classes.loc[name, "rule"]) == list(one.classes["rule"])
    assert len(pd.read_csv(folder / "cases.csv")) == sum(len(one.cases) for one in found.values())


def test_items_say_how_features_were_turned(capability_written, scale):
    _, folder, _ = capability_written
    items = pd.read_csv(folder / "items.csv")
    assert list(items["feature"]) == ["a", "b", "c"]
    assert (items["direction_True"] == 1).all()
    assert [path.stem[:4] for path in (folder / "banks").iterdir()] == ["True"]


def test_the_summary_says_what_it_means_capability(capability_written):
    found, folder, _ = capability_written
    summary = json.loads((folder / "summary.json").read_text())
    said = summary["sentences"]
    for name, one in found.items():
        assert f"{name}: {one.meaning}" in said
        assert all(note in summary["notes"] or f"{name}: {note}" in summary["notes"]
                   for note in one.notes)  # fmt: skip
    assert len(said) == len(set(said))
    assert set(summary["notes"]) <= set(said)


def test_models_side_by_side_are_summed_up_in_sentences_of_their_own(capability_written):
    found, *_ = capability_written
    compared = CapabilityComparison(found)
    n = len(found["logistic"].cases)
    assert compared.meaning.startswith(
        f"Right on the same {n} test cases, with 95 % intervals: ../"
    )
    assert compared.sentences() == [compared.meaning]
    assert "A test took" not in compared.meaning
    doubtful = {"../Bayes": found["../Bayes"], "logistic": without_limits(found["logistic"])}
    said = CapabilityComparison(doubtful).meaning
    assert said.endswith("The test cases support no limit of logistic in False, True.")


def test_one_model_has_plain_names_and_no_plane(cases, tmp_path):
    X, y = cases
    measured = measure_capability(GaussianNB(), X, y, **SETTINGS)
    paths = write_folder(measured, tmp_path)
    figures = [path for path in paths if path.suffix == ".png"]
    assert {path.stem for path in figures} == {"cases", "accuracy", "trace", "density"}
    assert all(path.stat().st_size > 1000 for path in figures)


def test_of_three_classes_the_plane_shows_the_two_largest(cases, tmp_path, monkeypatch):
    X, y = cases
    shown = []
    monkeypatch.setattr(
        Display, "save", lambda self, path: shown.append(self) or unwritten(self, path)
    )
    models = {"a": GaussianNB(), "b": GaussianNB(var_smoothing=0.1)}
    found = {name: measure_capability(model, X, y, **SETTINGS) for name, model in models.items()}
    write_folder(CapabilityComparison(found), tmp_path)
    assert shown[-1].classes == ("low", "mid")
