import json

import numpy as np
import pandas as pd
import pytest

from ogive import portfolio

TWO = ["--cv", 2]


@pytest.fixture
def seconds(tmp_path):
    """Of four solvers on forty problems, cut off at 15."""
    random = np.random.default_rng(0)
    hardness = random.normal(size=(40, 1))
    log_time = hardness * [1, 0.8, 1.2, 0.5] + [1, 1.5, 0.8, 2] + random.normal(0, 0.4, (40, 4))
    names = [f"p{k}" for k in range(40)]
    frame = pd.DataFrame(np.exp(log_time), index=names, columns=["ant", "bee", "cat", "dog"])
    frame = frame.clip(upper=15).rename_axis("problem")
    frame.to_csv(tmp_path / "runs.csv")
    return pd.read_csv(tmp_path / "runs.csv", index_col=0)


@pytest.fixture
def undrawn(monkeypatch):
    """Figures are looked at elsewhere; here they cost seconds."""
    from ogive.results.plots.figure import Display

    def save(self, path, **kw):
        path.write_bytes(b"")
        return path

    monkeypatch.setattr(Display, "save", save)


def test_without_a_folder_the_algorithms_are_printed_as_csv(run, seconds, tmp_path):
    done = run("portfolio", "runs.csv", "--better", "lower", "--cutoff", 15, "--penalty", 10, *TWO)
    assert done.exit_code == 0, done.output
    lines = [line for line in done.stdout.splitlines() if line]
    assert lines[0].startswith("algorithm,discrimination,")
    assert len(lines) == 1 + 4
    assert "has the best curve" in done.stderr
    assert "counted as 150" in done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "runs.csv"]


def test_figures_are_those_of_the_package(run, seconds):
    words = ["--better", "lower", "--transform", "reciprocal", "--low", 0, "--high", 60]
    document = json.loads(run("portfolio", "runs.csv", *words, "--json", *TWO).stdout)
    wanted = portfolio(seconds, better="lower", transform="reciprocal", bounds=(0, 60))
    found = pd.DataFrame(document["algorithms"]).set_index("algorithm")
    np.testing.assert_allclose(found["consistency"], wanted.algorithms["consistency"], rtol=1e-9)
    assert document["meaning"][0] == wanted.meaning
    shares = pd.DataFrame(document["occupancy"]).set_index("algorithm")["occupancy"]
    np.testing.assert_allclose(shares, wanted.occupancy(0.01)["occupancy"], rtol=1e-9)


@pytest.mark.slow
def test_a_folder_is_filled(run, seconds, undrawn, tmp_path):
    words = ["--better", "lower", "-e", 0, "-e", 0.1, "--size", 2, "--cv", 4]
    done = run("portfolio", "runs.csv", "--out", "there", *words)
    assert done.exit_code == 0, done.output
    assert "Tables and figures: there" in done.stdout
    assert set(pd.read_csv(tmp_path / "there" / "strengths.csv")["epsilon"]) == {0, 0.1}
    assert set(pd.read_csv(tmp_path / "there" / "gaps.csv")["folds"]) == {4}
    methods = set(pd.read_csv(tmp_path / "there" / "gaps.csv")["method"])
    assert {"airt, ε = 0", "airt, ε = 0.1", "topset", "shapley", "single best"} == methods
    assert len(pd.read_csv(tmp_path / "there" / "chosen.csv")) == 3 * 2
    assert (tmp_path / "there" / "figures" / "curves.png").exists()


def test_all_that_is_noted_is_printed_and_written_once(run, seconds, undrawn, tmp_path):
    seconds.head(6).to_csv("few.csv")
    words = ["--better", "lower", "--cutoff", 15, "--size", 4, "-e", 2, "--out", "there"]
    said = run("portfolio", "few.csv", *words).stdout
    written = json.loads((tmp_path / "there" / "summary.json").read_text())["sentences"]
    for note in ("Portfolios are not compared.", "epsilon is 2, but modelled performance"):
        assert said.count(note) == 1
        assert any(text.startswith(note) for part in written.values() for text in part)


def test_a_long_table_says_the_same(run, seconds, tmp_path):
    wide = run("portfolio", "runs.csv", "--better", "lower", "--quiet", *TWO)
    rows = seconds.reset_index().melt("problem", var_name="algorithm")
    rows.to_csv("long.csv", index=False)
    long = run("portfolio", "long.csv", "--better", "lower", "--quiet", *TWO)
    assert long.stdout == wide.stdout
    assert long.stderr == ""


def test_grades_and_the_preset_are_passed_on(run, seconds):
    words = ["portfolio", "runs.csv", "--better", "lower", *TWO]
    graded = run(*words, "--model", "graded", "--grades", 3)
    assert "scaling" not in graded.stdout.splitlines()[0]
    preset = run(*words, "--preset", "airt", "--json")
    wanted = portfolio(seconds, better="lower", preset="airt").algorithms["consistency"]
    found = [row["consistency"] for row in json.loads(preset.stdout)["algorithms"]]
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_too_few_problems_for_folds_are_no_reason_to_say_nothing(run, seconds):
    seconds.head(6).to_csv("few.csv")
    done = run("portfolio", "few.csv", "--better", "lower")
    assert "Portfolios are not compared." in done.stderr
    assert len(done.stdout.splitlines()) == 1 + 4
    asked = run("portfolio", "few.csv", "--better", "lower", "--cv", 10)
    assert asked.exit_code == 3


def test_what_does_not_go_together_is_refused(subtests, run, seconds):
    cases = [
        (["--low", 0], "--low and --high go together"),
        (["--low", 2, "--high", 1], "low below high"),
        (["--transform", "negate"], "--transform negate does not fit --better higher"),
        (["--better", "lower", "--transform", "raw"], "does not fit --better lower"),
        (["--cutoff", 9], "give --better lower"),
        (["--better", "lower", "--penalty", 9], "give cutoff"),
        (["--better", "lower", "--cutoff", -1], "--cutoff must be"),
        (["--grades", 4], "--grades is for --model graded"),
        (["--preset", "airt", "--model", "graded"], "uses the continuous model"),
        (["--out", "."], "the folder of the input"),
    ]
    for words, told in cases:
        with subtests.test(words=words, told=told):
            done = run("portfolio", "runs.csv", *words)
            assert done.exit_code == 3
            assert told in done.stderr


def test_what_a_hurried_person_gets_wrong_is_explained(subtests, run, seconds, tmp_path):
    cases = [
        (["absent.csv"], 3, "absent.csv"),
        (["runs.csv", "--epsilon", -1], 2, "epsilon"),
        (["runs.csv", "--model", "linear"], 2, "is not one of"),
        (["runs.csv", "--size", 9], 3, "there are 4 algorithms"),
        (["runs.csv", "--out", "runs.csv"], 3, "the folder of the input"),
        (["empty"], 3, "not an ASlib scenario"),
        (["empty", "--layout", "long"], 3, "--layout is for tables"),
    ]
    (tmp_path / "empty").mkdir()
    for words, code, told in cases:
        with subtests.test(words=words, code=code, told=told):
            done = run("portfolio", *words)
            assert done.exit_code == code
            assert told in " ".join(done.output.split())
            assert "Traceback" not in done.output


def test_a_scenario_knows_what_is_better_and_its_own_folds(run, shared):
    scenario = shared / "data" / "aslib" / "CSP-Minizinc-Time-2016"
    document = json.loads(run("portfolio", scenario, "--json").stdout)
    assert len(document["algorithms"]) == 20
    assert any("timeout" in note for note in document["notes"])
    assert {row["folds"] for row in document["gaps"]} == {10}


def test_what_a_scenario_contradicts_is_said_in_words_of_the_command_line(run, tmp_path):
    (tmp_path / "scenario").mkdir()
    (tmp_path / "scenario" / "description.txt").write_text(
        "scenario_id: X\nperformance_measures: accuracy\nmaximize: true\n"
        "performance_type: solution_quality\nalgorithm_cutoff_time: ?\n"
    )
    heads = ["instance_id STRING", "repetition NUMERIC", "algorithm STRING", "accuracy NUMERIC"]
    heads.append("runstatus {ok, timeout}")
    rows = [f"p{k},1,{name},{k / 9},ok" for k in range(4) for name in "abc"]
    text = "\n".join(["@RELATION r", *(f"@ATTRIBUTE {head}" for head in heads), "@DATA", *rows])
    (tmp_path / "scenario" / "algorithm_runs.arff").write_text(text)
    done = run("portfolio", "scenario", "--cutoff", 5)
    assert done.exit_code == 3
    assert "are for runtimes" in done.stderr
    assert "better='lower'" not in done.stderr


def test_results_of_tabarena_are_compared_by_their_metric(run, tmp_path):
    random = np.random.default_rng(0)
    rows = [
        {
            "method": name,
            "dataset": f"d{k}",
            "fold": 0,
            "metric_error": 0.1 * place + random.random(),
        }
        for place, name in enumerate("abcd")
        for k in range(30)
    ]
    frame = pd.DataFrame(rows).assign(time_train_s=random.random(120))
    frame.to_parquet(tmp_path / "results.parquet")
    done = run("portfolio", "results.parquet", "--measure", "time_train_s")
    assert done.exit_code == 0, done.stderr
    assert all(name in done.stdout for name in "abcd")
    both = ("--measure", "time_train_s", "--measure", "metric_error", "--better", "lower")
    document = json.loads(run("portfolio", "results.parquet", *both, "--json").stdout)
    assert "a" in document["best"]
    assert {"time_train_s_se", "metric_error", "pareto_chance"} <= set(document["measures"][0])
    plain = frame.pivot_table(index="dataset", columns="method", values="time_train_s")
    plain.to_csv("plain.csv")
    done = run("portfolio", "plain.csv", "--measure", "time_train_s")
    assert done.exit_code == 3
    assert "it has one measure. Leave it" in done.stderr
