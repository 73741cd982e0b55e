"""Tables as a person in a hurry gives them, and what commands say of one table together."""

import pytest

import ogive as og

TABLES = {
    "no line of names": (
        "tiny,0,1,0\nlarge,1,1,0\n",
        "These look like responses: if the line of item names is missing, add one at the top.",
    ),
    "names of models in a later column": (
        "q1,q2,model,q3\n0,1,tiny,0\n1,1,large,1\n",
        "which is not a number. If 'model' names the respondents, put it first.",
    ),
    "words for right and wrong": ("model,q1\na,right\nb,wrong\n", "Give 0 and 1, grades or"),
}


@pytest.mark.parametrize("name", TABLES)
def test_what_is_unusual_about_a_table_is_said(run, tmp_path, name):
    text, told = TABLES[name]
    (tmp_path / "t.csv").write_text(text)
    done = run("leaderboard", "t.csv")
    assert done.exit_code == 3
    assert told in done.stderr


def test_item_names_that_are_words_are_not_taken_for_responses(run, tmp_path):
    (tmp_path / "t.csv").write_text("model,q1,q1,7\na,1,0,1\nb,0,1,1\n")
    assert "look like responses" not in run("leaderboard", "t.csv").stderr


def test_diagnose_leaves_who_is_better_to_the_leaderboard(run, tmp_path):
    """By ability, others could not be distinguished from who is significantly more accurate."""
    table = og.simulate("1pl", 5, 40, random_state=3).responses
    table.save(tmp_path / "five.csv")
    assert "strongest" not in run("diagnose", "five.csv").stderr
    assert " by ability" in og.calibrate(table).meaning


def test_nobody_is_strongest_by_an_ability_that_is_not_identified():
    few = og.calibrate(og.simulate("continuous", 6, 20, random_state=0).responses)
    assert any("Ability is not identified" in note for note in few.notes)
    assert "strongest" not in few.meaning
    assert "strongest" in og.calibrate(og.simulate("2pl", 6, 20, random_state=0).responses).meaning


def test_notes_name_commands_not_functions(run, tmp_path):
    og.simulate("graded", 5, 40, random_state=3).responses.save(tmp_path / "grades.csv")
    said = run("leaderboard", "grades.csv").stderr
    assert "chance may explain those that ogive health does not call significant" in " ".join(
        said.split()
    )
    assert "item_health()" not in said
