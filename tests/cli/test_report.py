import json
import re

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive._files import write_json
from ogive.reporting.exports import Contents, write_folder


def data_of(path):
    page = path.read_text("utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture
def folder(tmp_path, scores):
    """What a command leaves behind: a table, a figure, a bank and a summary."""
    found = og.calibrate(og.read_responses(scores))
    table = pd.DataFrame({"x": [1.5, 2.5]}, index=pd.Index(["a", "b"], name="model"))
    contents = Contents(
        tables={"models": table},
        figures={"item_map": found.plot},
        banks={"hard ones": found},
        sentences={"decoding": ["Blobs is hardest.", "a note"]},
        missing={"x": "y"},
    )
    write_folder(contents, tmp_path / "left")
    return tmp_path / "left"


def test_responses_become_a_page_that_can_be_explored(run, scores, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["ogive", "report", "my scores.csv"])
    done = run("report", scores, "--out", "page.html", "--title", "Mine")
    assert done.exit_code == 0, done.output
    assert "Report: page.html" in done.stdout
    assert "accuracy" in done.stdout.splitlines()[0]  # who is better comes first
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "<title>Mine</title>" in page
    assert "the highest accuracy" in page
    assert "Label trouble</h3>" in page
    assert "ogive report &#x27;my scores.csv&#x27;" in page
    (scale,) = data_of(tmp_path / "page.html")["scales"]
    assert len(scale["answers"]["respondents"]) == 120
    assert scale["answers"]["never"]  # some were never asked


def test_the_page_of_a_command_suggests_what_can_be_done_at_a_terminal(run, tmp_path):
    values = og.simulate("2pl", 8, 30, random_state=1).responses.to_frame()
    values.mask(np.random.default_rng(0).random(values.shape) < 0.2).to_csv(tmp_path / "few.csv")
    assert run("report", "few.csv", "--out", "page.html").exit_code == 0
    assert run("diagnose", "few.csv", "--out", "checks").exit_code == 0
    for path in (tmp_path / "page.html", tmp_path / "checks" / "report.html"):
        page = path.read_text("utf-8")
        assert "model_fit needs at least 30 respondents" in page
        assert "with a file without their columns" in page
        assert "responses.select(" not in page


def test_instances_are_shown_beside_their_items(run, scores, tmp_path):
    names = list(og.read_responses(scores).items)
    frame = pd.DataFrame({"item": names, "question": [f"Why {name}?" for name in names]})
    frame.to_csv(tmp_path / "questions.csv", index=False)
    done = run("report", scores, "--instances", "questions.csv")
    assert done.exit_code == 0, done.output
    (scale,) = data_of(tmp_path / "report.html")["scales"]
    assert scale["instances"]["rows"][0]["values"] == [f"Why {name}?" for name in names]


def test_an_item_bank_is_shown_without_answers(run, bank, tmp_path):
    done = run("report", bank, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["out"] == "report.html"
    (scale,) = data_of(tmp_path / "report.html")["scales"]
    assert scale["answers"] is None


@pytest.mark.usefixtures("rendered")
def test_a_folder_shows_what_a_command_left_in_it(run, folder, tmp_path):
    done = run("report", folder)
    assert done.exit_code == 0, done.output
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Blobs is hardest." in page
    assert "a note" in page
    assert "x: y" in page
    assert '<img alt="item map" src="data:image/png;base64,' in page
    data = data_of(tmp_path / "report.html")
    (models,) = (each for each in data["tables"].values() if each["caption"] == "Models")
    assert models["columns"][1]["values"] == [1.5, 2.5]
    assert len(data["scales"]) == 1


def test_a_folder_that_no_command_wrote_is_refused(run, tmp_path):
    (tmp_path / "empty").mkdir()
    done = run("report", "empty")
    assert done.exit_code == 3
    assert "holds no 'summary.json'" in done.stderr


def test_a_summary_that_was_edited_leads_nowhere_else(run, tmp_path):
    (tmp_path / "secret.csv").write_text("password\n1\n")
    (tmp_path / "edited").mkdir()
    names = ["../secret.csv", str(tmp_path / "secret.csv"), 7, None]
    content = {"files": names, "sentences": {"a": ["b"]}}
    write_json(tmp_path / "edited" / "summary.json", "report", 1, content)
    done = run("report", "edited")
    assert done.exit_code == 0, done.output
    assert "password" not in (tmp_path / "report.html").read_text("utf-8")


def test_the_page_never_replaces_what_it_is_made_of(run, scores):
    done = run("report", scores, "--out", scores)
    assert done.exit_code == 3
    assert "must end in .html" in done.stderr


def test_scores_between_0_and_1_have_a_page_as_well(run, tmp_path):
    random = np.random.default_rng(0)
    ease = random.normal(size=6)
    values = 1 / (1 + np.exp(-(random.normal(size=(40, 1)) + ease + random.normal(size=(40, 6)))))
    pd.DataFrame(values).add_prefix("q").to_csv(tmp_path / "graded.csv")
    done = run("report", "graded.csv")
    assert done.exit_code == 0, done.output
    (scale,) = data_of(tmp_path / "report.html")["scales"]
    assert scale["curve"]["kind"] == "sampled"


def test_parts_that_no_item_links_are_never_on_one_scale(run, tmp_path):
    values = np.full((12, 40), np.nan)
    for k in range(2):
        drawn = og.simulate("2pl", 6, 20, random_state=k).responses
        values[6 * k : 6 * k + 6, 20 * k : 20 * k + 20] = drawn.cells
    frame = pd.DataFrame(values, columns=[f"item {k}" for k in range(40)])
    frame.insert(0, "model", [f"m{k}" for k in range(12)])
    frame.to_csv(tmp_path / "apart.csv", index=False)
    done = run("report", tmp_path / "apart.csv", "--out", "page.html")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "boards that no item links" in page
    scales = data_of(tmp_path / "page.html")["scales"]
    assert [each["name"] for each in scales] == ["Calibration, part 1", "Calibration, part 2"]
    for k, each in enumerate(scales):
        assert sorted(each["answers"]["respondents"]) == sorted(f"m{6 * k + j}" for j in range(6))
