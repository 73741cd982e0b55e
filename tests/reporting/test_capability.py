import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from ogive.capability.capability_result import CapabilityComparison, MeasuredModels
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.measurement import measure_capability
from ogive.reporting.exports import write_folder
from ogive.results.plots.figure import Display

SETTINGS = {"n_resamples": 3, "budget": 5}


def unwritten(_, path):
    """In place of drawing a figure, which takes long: an empty file, whose digest is noted."""
    path.touch()
    return path


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
def written(cases, scale, tmp_path_factory):
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


def test_all_tables_and_figures_are_listed(written):
    _, folder, paths = written
    assert all(folder in path.parents for path in paths)
    tables = {path.stem for path in paths if path.suffix == ".csv"}
    assert tables == {"classes", "metrics", "accuracy", "trace", "cases", "items"}
    figures = {path.stem for path in paths if path.suffix == ".png"}
    assert {"cases", "plane_information", "plane_steps", "trace_logistic_steps"} <= figures
    assert len(figures) == 3 + 2 * (1 + 2 * 2)


def test_tables_hold_what_was_found_model_by_model(written):
    found, folder, _ = written
    classes = pd.read_csv(folder / "classes.csv").set_index("model")
    for name, one in found.items():
        np.testing.assert_allclose(classes.loc[name, "mlc"], one.classes["mlc"])
        assert list(classes.loc[name, "rule"]) == list(one.classes["rule"])
    assert len(pd.read_csv(folder / "cases.csv")) == sum(len(one.cases) for one in found.values())


def test_items_say_how_features_were_turned(written, scale):
    _, folder, _ = written
    items = pd.read_csv(folder / "items.csv")
    assert list(items["feature"]) == ["a", "b", "c"]
    assert (items["direction_True"] == 1).all()
    assert [path.stem[:4] for path in (folder / "banks").iterdir()] == ["True"]


def test_the_summary_says_what_it_means(written):
    found, folder, _ = written
    summary = json.loads((folder / "summary.json").read_text())
    said = summary["sentences"]
    for name, one in found.items():
        assert f"{name}: {one.meaning}" in said
        assert all(note in summary["notes"] or f"{name}: {note}" in summary["notes"]
                   for note in one.notes)  # fmt: skip
    assert len(said) == len(set(said))
    assert set(summary["notes"]) <= set(said)


def test_models_side_by_side_are_summed_up_in_sentences_of_their_own(written):
    found, *_ = written
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
