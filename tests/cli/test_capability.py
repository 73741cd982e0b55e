import json

import numpy as np
import pandas as pd
import pytest

from ogive import measure_capability
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.cases import case_table
from ogive.capability.class_tests import RULES
from ogive.capability.classifier import named_classifier
from ogive.cli.model_commands import RULES as OFFERED

QUICK = ["--n-resamples", 2, "--budget", 4]


@pytest.fixture
def cases(tmp_path):
    """Ill or well by two numbers and a category, in a table that also numbers its rows."""
    random = np.random.default_rng(0)
    health = random.normal(size=160)
    numbers = health[:, None] + 0.7 * random.normal(size=(160, 2))
    frame = pd.DataFrame(numbers, columns=["pulse", "fever"])
    frame.insert(0, "patient_id", random.permutation(160) + 1000)
    frame["smoker"] = np.where(health + random.normal(size=160) > 0, "yes", "no")
    frame.loc[3, "pulse"] = np.nan
    frame["state"] = np.where(health + 0.3 * random.normal(size=160) > 0, "ill", "well")
    frame.to_csv(tmp_path / "cases.csv", index=False)
    return pd.read_csv(tmp_path / "cases.csv")


@pytest.fixture(autouse=True)
def undrawn(monkeypatch):
    """Figures are looked at elsewhere; here they cost seconds."""
    from ogive.results.plots.figure import Display

    def save(self, path, **kw):
        path.write_bytes(b"")
        return path

    monkeypatch.setattr(Display, "save", save)


def test_a_folder_is_filled(run, cases, tmp_path):
    done = run("capability", "cases.csv", "--target", "state", "--out", "there", *QUICK)
    assert done.exit_code == 0, done.output
    assert "up to these difficulties it is right more often than wrong: ill:" in done.stdout
    assert "Left out 1 column (patient_id: an identifier)." in done.stdout
    assert "Tables and figures: there" in done.stdout
    classes = pd.read_csv(tmp_path / "there" / "classes.csv")
    assert list(classes["class"]) == ["ill", "well"]
    assert list(classes["model"].unique()) == ["logistic-regression"]
    assert (tmp_path / "there" / "figures" / "trace.png").exists()


def test_figures_are_those_of_the_package(run, cases):
    words = ["--model", "lda", "--levels", 3, "--test-size", 0.4, "--random-state", 5, "--json"]
    done = run("capability", "cases.csv#state", *words, *QUICK)
    document = json.loads(done.stdout)
    table = case_table(cases.drop(columns="state"))
    wanted = measure_capability(
        named_classifier("lda", table.plan, 5),
        table.features,
        cases["state"],
        case_difficulty=CaseDifficulty(levels=3),
        n_resamples=2,
        budget=4,
        test_size=0.4,
        random_state=5,
    )
    found = pd.DataFrame(document["classes"])
    np.testing.assert_allclose(found["mlc"], wanted.classes["mlc"])
    assert document["meaning"]["lda"] == wanted.sentences()


def test_warnings_are_notes_and_stand_on_the_page_once(run, tmp_path):
    random = np.random.default_rng(8)
    frame = pd.DataFrame(random.normal(size=(400, 5)), columns=list("abcde"))
    frame.assign(state=random.choice(["no", "yes"], 400)).to_csv("chance.csv", index=False)
    words = ["--out", "there", "--n-resamples", 20, "--json"]
    document = json.loads(run("capability", "chance.csv#state", *words).stdout)
    told = "do not support the limit in yes"
    assert any(told in note for note in document["notes"])
    summary = json.loads((tmp_path / "there" / "summary.json").read_text())
    assert set(summary["notes"]) <= set(document["notes"])
    assert any(told in note for note in summary["notes"])
    assert (tmp_path / "there" / "report.html").read_text("utf-8").count(told) == 1
    classes = pd.read_csv(tmp_path / "there" / "classes.csv").set_index("class")
    assert classes.loc["yes", "limit_is"] == "not supported"


def test_a_page_of_several_models_begins_with_each_of_them_once(run, cases, tmp_path):
    words = ["-m", "lda", "-m", "decision-tree", "--out", "there"]
    assert run("capability", "cases.csv#state", *words, *QUICK).exit_code == 0
    page = (tmp_path / "there" / "report.html").read_text("utf-8")
    short = page[page.index('id="in-short"') : page.index("</ul>", page.index('id="in-short"'))]
    said = [part.partition("<a ")[0].strip() for part in short.split("<li>")[1:]]
    assert said[0].startswith("Models compared: Right on the same ") or said[0].startswith("Right")
    assert sum("is right on" in text for text in said) == 2
    assert not any("A test took" in text for text in said)


@pytest.mark.slow
def test_several_models_stand_in_one_plane_by_both_rules(run, cases, tmp_path):
    words = ["-m", "lda", "-m", "decision-tree", "-m", "lda", "--rule", "both", "--out", "there"]
    done = run("capability", "cases.csv#state", *words, *QUICK)
    assert done.exit_code == 0, done.output
    figures = tmp_path / "there" / "figures"
    assert (figures / "plane_information.png").exists()
    assert (figures / "plane_steps.png").exists()
    classes = pd.read_csv(tmp_path / "there" / "classes.csv")
    assert len(classes) == 2 * 2 * 2
    assert set(classes["rule"]) == set(RULES) == set(OFFERED[:2])


def test_a_coding_table_says_what_is_normal(run, cases, tmp_path):
    (tmp_path / "coding.csv").write_text("feature,coding\npulse,<= 0 = 0\nfever,<= 0.5 = 0\n")
    words = ["--coding", "coding.csv", "--out", "there", "--quiet"]
    done = run("capability", "cases.csv#state", *words, *QUICK)
    assert (done.exit_code, done.output) == (0, "")
    items = pd.read_csv(tmp_path / "there" / "items.csv")
    assert list(items["feature"]) == ["pulse", "fever"]
    assert list(items["grades"]) == [2, 2]


def test_what_a_hurried_person_gets_wrong_is_explained(subtests, run, cases, tmp_path):
    all_cases = [
        (["absent.csv"], 3, "absent.csv"),
        (["cases.csv", "--target", "state", "--test-size", 1], 3, "--test-size must be"),
        (["absent.csv", "--levels", 3, "--coding", "coding.csv"], 3, "--levels is for quantiles"),
        (["absent.csv", "--coding", "nowhere.csv"], 3, "nowhere.csv"),
        (["absent.csv", "--out", "."], 3, "the folder of the input"),
        (["absent.csv", "--out", "coding.csv"], 3, "coding.csv"),
        (["cases.csv"], 3, "target"),
        (["cases.csv", "--target", "mood"], 3, "mood"),
        (["cases.csv", "--target", "state", "--model", "oracle"], 2, "is not one of"),
        (["cases.csv", "--target", "state", "--rule", "luck"], 2, "is not one of"),
        (["cases.csv", "--target", "state", "--n-resamples", 0], 2, "n-resamples"),
        (["cases.csv", "--target", "state", "--coding", "other.csv"], 3, "weight"),
        (["one.csv", "--target", "state"], 3, "class"),
        (["same.csv", "--target", "state"], 3, "No column distinguishes cases"),
    ]
    for words, code, told in all_cases:
        with subtests.test(words=words, code=code, told=told):
            (tmp_path / "other.csv").write_text("feature,coding\nweight,<= 0 = 0\n")
            cases.assign(state="ill").to_csv(tmp_path / "one.csv", index=False)
            cases[["state"]].assign(a=1, b="x").to_csv(tmp_path / "same.csv", index=False)
            (tmp_path / "coding.csv").write_text("feature,coding\npulse,<= 0 = 0\n")
            done = run("capability", "--out", "there", *words)
            assert done.exit_code == code, done.output
            assert told in " ".join(done.output.split())
            assert "Traceback" not in done.output
