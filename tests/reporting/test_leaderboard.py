import json

import pandas as pd

import ogive as og
from ogive.reporting.exports import write_folder


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
