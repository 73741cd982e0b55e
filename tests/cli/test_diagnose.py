import json

import numpy as np


def test_every_diagnosis_is_a_sentence(run, scores):
    done = run("diagnose", scores)
    assert done.exit_code == 0
    for name in ("dimensionality", "reliability", "model_fit", "item_fit", "label_trouble"):
        assert f"{name}: " in done.stderr
        assert f"\n{name},True," in done.stdout


def test_tables_and_figures_go_to_a_folder(run, scores, tmp_path):
    out = tmp_path / "new" / "folder"
    done = run("diagnose", scores, "--out", out, "--model", "3pl")
    assert done.exit_code == 0
    assert {path.suffix for path in out.iterdir()} == {".csv", ".png", ".html"}
    assert (out / "item_fit.csv").read_text().startswith("item,s_x2,")


def test_json_is_one_document(run, scores):
    done = run("diagnose", scores, "--json", "--quiet")
    document = json.loads(done.stdout)
    assert document["model"] == "2pl"
    assert document["meaning"]["reliability"][0].startswith("Abilities are measured")
    assert document["missing"] == {}


def test_a_file_in_place_of_the_folder_is_refused(run, scores):
    done = run("diagnose", scores, "--out", scores)
    assert done.exit_code == 3
    assert "is a file, but a directory is needed" in done.stderr


def test_what_cannot_be_drawn_is_left_out_with_a_sentence(run, tmp_path):
    """With two models, a figure without rows ended the command before its page was written."""
    table, out = tmp_path / "two.csv", tmp_path / "out"
    rows = np.array([[1, 0, 1, 0] * 15, [0, 1, 1, 0] * 15])  # as good as each other
    lines = [["model", *(f"q{k}" for k in range(60))]]
    lines += [[f"m{k}", *map(str, row)] for k, row in enumerate(rows)]
    table.write_text("\n".join(map(",".join, lines)))
    done = run("diagnose", table, "--out", out)
    assert done.exit_code == 0
    assert "There is no figure of local_dependence: " in done.output
    assert (out / "report.html").exists()
    assert (out / "local_dependence.csv").exists()
