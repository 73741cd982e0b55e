import json
from functools import partial

import numpy as np
import pytest

import ogive as og


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "responses.parquet"
    values = og.simulate("2pl", 100, 12, random_state=1).responses.to_frame().to_numpy(copy=True)
    values[:, 3] = 1
    groups = {"task": ["sums", "verbs"] * 6}
    og.Responses(values).described(items=groups).save(path)
    return path


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are looked at elsewhere; here they cost seconds."""
    from ogive.results.plots.figure import Display

    def save(self, path, **kw):
        path.write_bytes(b"")
        return path

    monkeypatch.setattr(Display, "save", save)


def test_without_a_folder_the_items_are_printed_as_csv(run, table):
    done = run("health", table)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[0].startswith("item,share_reached,share_reached_se,n_respondents,difficulty,")
    assert len(lines) == 1 + 12
    assert "solved by all" in lines[4]
    assert "1 of 12 items needs a look" in done.stderr


def test_figures_are_those_of_the_package(run, table):
    document = json.loads(run("health", table, "--by", "task", "--json").stdout)
    wanted = og.item_health(og.read_responses(table), by="task")
    assert document["meaning"] == wanted.sentences()
    found = np.array([row["difficulty"] for row in document["items"]], dtype=float)
    np.testing.assert_allclose(found, wanted.items["difficulty"], rtol=1e-9)
    assert [row["group"] for row in document["saturation"]] == ["all items", "sums", "verbs"]
    assert len(document["groups"]) == 200


def test_a_folder_is_filled(run, table, undrawn, tmp_path):
    done = run("health", table, "--by", "task", "--out", tmp_path / "report")
    assert done.exit_code == 0, done.output
    names = {path.name for path in (tmp_path / "report").rglob("*") if path.is_file()}
    tables = {f"{name}.csv" for name in ("items", "duplicates", "saturation", "respondents")}
    assert tables | {"groups.csv", "items.json", "items.png"} <= names
    assert {"summary.json", "report.html"} <= names
    assert "Tables and figures" in done.stdout


def test_a_bank_takes_the_place_of_a_calibration(run, table, tmp_path):
    bank = og.calibrate(og.read_responses(table), "1pl").save(tmp_path / "bank.json")
    document = json.loads(run("health", table, "--calibration", bank, "--json").stdout)
    told = [row for row in document["items"] if not row["solved_by"]]
    assert len({row["discrimination"] for row in told}) == 1


def test_the_model_of_a_calibration_made_here_may_be_chosen(run, table, tmp_path):
    document = json.loads(run("health", table, "--model", "1pl", "--json").stdout)
    told = [row for row in document["items"] if not row["solved_by"]]
    assert len({row["discrimination"] for row in told}) == 1
    (tmp_path / "bank.json").touch()
    done = run("health", table, "--model", "1pl", "--calibration", "bank.json")
    assert done.exit_code == 3
    assert "Leave one of them out" in done.stderr


def test_a_scale_that_has_not_converged_is_said_where_the_exit_code_says_it(run, monkeypatch):
    """Exit code 4 stood alone: only the item bank in the folder said why."""
    from ogive.checks import check as item_health

    og.simulate("2pl", 60, 12, random_state=0).responses.save("r.csv")
    short = partial(og.calibrate, engine=og.EM(max_iterations=1))
    monkeypatch.setattr(item_health, "calibrate", short)
    done = run("health", "r.csv", "--json")
    assert done.exit_code == 4
    assert any("Not converged after" in note for note in json.loads(done.stdout)["notes"])
