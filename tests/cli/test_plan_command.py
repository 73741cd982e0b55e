import pandas as pd
import pytest

import ogive as og


def test_a_plan_needs_no_file(run, tmp_path):
    done = run("plan", "--accuracy", 0.7, "--difference", 0.05, "--out", tmp_path / "plan")
    assert done.exit_code == 0
    frame = pd.read_csv(tmp_path / "plan" / "evaluation_plan.csv")
    wanted = og.plan(accuracy=0.7, difference=0.05)
    pd.testing.assert_frame_equal(frame, wanted.to_frame())
    assert wanted.meaning in done.stdout
    assert (tmp_path / "plan" / "figures" / "evaluation_plan.png").exists()


def test_a_pilot_names_two_respondents(run, tmp_path):
    pilot = og.simulate("2pl", 4, 60, random_state=1).responses
    names = pilot.respondents[1:3]
    done = run(
        *("plan", pilot.save(tmp_path / "pilot.csv"), "--quiet"),
        *("--respondents", names[0], "--respondents", names[1]),
    )
    assert done.exit_code == 0
    row = done.stdout.splitlines()[1].split(",")
    wanted = og.plan(pilot, respondents=names).to_frame()
    assert float(row[2]) == pytest.approx(wanted["items"].iloc[0])


def test_without_anything_it_says_what_is_needed(run):
    done = run("plan")
    assert done.exit_code == 3
    assert "A plan needs responses of a pilot, or accuracy" in done.stderr
