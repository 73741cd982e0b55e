"""ASlib scenarios: those of the shared data, small ones written here, and broken ones."""

import gzip
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive as og
from ogive.data.datasets.aslib import AslibScenario, read_aslib
from ogive.data.table_files import read_table
from ogive.errors import FileError, InputError

DESCRIPTION = """# a scenario
scenario_id: 'Toy #1, 2020'  # with a comma
performance_measures:
- runtime
- score
maximize:
    - false
    - 'true'
performance_type: [runtime, "solution_quality"]
algorithm_cutoff_time: 1.0e+02
algorithm_cutoff_memory: '?'
features_deterministic: &id001
- size
metainfo_algorithms:
  a:
    deterministic: true
"""
RUNS = """@RELATION runs
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE score NUMERIC
@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}
@DATA
'second, one',1,"b c",5.5,0.5,ok
'second, one',1,a,100,?,timeout
first,1,a,1,0.75,ok
"""
FEATURES = """@RELATION features
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE 'the size' NUMERIC
@ATTRIBUTE depth NUMERIC
@DATA
first,1,3,?
'second, one',1,4,7
"""
FOLDS = """@RELATION cv
@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE fold NUMERIC
@DATA
first,2,9
'second, one',2,9
first,1,2
'second, one',1,1
"""
WHOLE = {
    "description.txt": DESCRIPTION,
    "algorithm_runs.arff": RUNS,
    "feature_values.arff": FEATURES,
    "cv.arff": FOLDS,
}


@pytest.fixture
def scenario(tmp_path):
    """Write a scenario, some files of it otherwise (None: not at all), and read it."""

    def read(measure=None, files=None, **options):
        for name, text in (WHOLE | (files or {})).items():
            if text is not None:
                (tmp_path / name).write_text(text, encoding="utf-8")
        return read_aslib(tmp_path, measure, **options)

    return read


def test_runs_become_problems_by_algorithms_in_the_order_of_the_file(scenario):
    found = scenario()
    assert isinstance(found, AslibScenario)
    assert (found.name, found.measure, found.better) == ("Toy #1, 2020", "runtime", "lower")
    assert (found.kind, found.cutoff) == ("runtime", 100.0)
    assert list(found.performance.index) == ["second, one", "first"]
    assert list(found.performance.columns) == ["b c", "a"]
    np.testing.assert_array_equal(found.performance, [[5.5, 100], [math.nan, 1]])
    assert found.status.to_numpy().tolist() == [["ok", "timeout"], ["missing", "ok"]]
    assert found.status.index.equals(found.performance.index)


def test_another_measure_has_its_own_direction_and_no_cutoff(scenario):
    found = scenario("score")
    assert (found.better, found.kind, found.cutoff) == ("higher", "quality", None)
    np.testing.assert_array_equal(found.performance, [[0.5, math.nan], [math.nan, 0.75]])
    assert any("1 run without a value" in note for note in found.notes)


def test_features_and_folds_follow_the_problems(scenario):
    found = scenario()
    assert list(found.features.columns) == ["the size", "depth"]
    np.testing.assert_array_equal(found.features, [[4, 7], [3, math.nan]])
    assert found.folds.to_dict() == {"second, one": 1, "first": 2}
    assert found.folds.dtype == np.int64
    assert found.features.index.equals(found.performance.index)


def test_features_and_folds_may_be_absent(scenario):
    found = scenario(files={"feature_values.arff": None, "cv.arff": None})
    assert found.features is None
    assert found.folds is None
    assert "no features and no folds" in repr(found)


def test_compressed_files_are_the_same(scenario, tmp_path):
    plain = scenario()
    for path in list(tmp_path.iterdir()):
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    packed = read_aslib(str(tmp_path))
    pd.testing.assert_frame_equal(packed.performance, plain.performance)
    pd.testing.assert_frame_equal(packed.features, plain.features)
    assert packed.notes == plain.notes


def test_it_shows_itself_in_a_short_paragraph(scenario):
    assert repr(scenario()) == (
        "ASlib scenario 'Toy #1, 2020': 2 problems and 2 algorithms. It measures runtime, a "
        "runtime for which lower is better, cut off at 100. It has 2 features and 2 folds. "
        "See its notes (2)."
    )


PLAIN = """performance_measures: runtime, score
maximize: no, yes
performance_type: runtime, solution_quality
"""
INLINE = """performance_measures: ['runtime', "score"]
maximize: [FALSE, TRUE]
performance_type: [runtime, solution_quality]  # both
"""
BELOW = """performance_measures:
  - runtime

  # next
  - score
maximize:
- 0
- 1
performance_type:
- 'runtime'
- "solution_quality"
"""


@pytest.mark.parametrize("lines", [PLAIN, INLINE, BELOW], ids=["plain", "inline", "below"])
def test_a_list_may_be_written_in_three_ways(scenario, lines):
    found = scenario("score", {"description.txt": lines})
    assert (found.better, found.kind) == ("higher", "quality")


def test_an_unknown_cutoff_is_none_with_a_note(subtests, scenario):
    for stated in ["'?'", "?", "0", "", "null"]:
        with subtests.test(stated=stated):
            text = DESCRIPTION.replace("1.0e+02", stated)
            found = scenario(files={"description.txt": text})
            assert found.cutoff is None
            assert any("no cut-off" in note for note in found.notes)


def test_without_a_name_the_folder_names_it(scenario, tmp_path):
    text = DESCRIPTION.replace("scenario_id", "other_id")
    assert scenario(files={"description.txt": text}).name == tmp_path.name


def test_repetitions_are_averaged_and_the_most_frequent_end_counts(scenario):
    more = "first,2,a,4,0.25,timeout\nfirst,3,a,7,0.5,ok\nfirst,3,'b c',8,1,ok\n"
    found = scenario(files={"algorithm_runs.arff": RUNS + more})
    assert found.performance.loc["first"].to_dict() == {"a": 4, "b c": 8}
    assert found.status.loc["first", "a"] == "ok"
    (note,) = [note for note in found.notes if "several runs" in note]
    assert "in 1 pair their statuses differ" in note
    assert any("1 of 4 pairs did not end ok: 1 timeout" in note for note in found.notes)
    assert "repetition number" not in note


def test_a_duplicate_run_is_averaged_and_noted_and_a_tie_is_not_ok(scenario):
    found = scenario(files={"algorithm_runs.arff": RUNS + "first,1,a,100,0.25,timeout\n"})
    assert found.performance.loc["first", "a"] == 50.5
    assert found.status.loc["first", "a"] == "timeout"
    (note,) = [note for note in found.notes if "several runs" in note]
    assert "1 run with the repetition number of another" in note
    assert "'first' and 'a'" in note


def test_runs_that_failed_and_problems_that_nobody_solved_are_noted(scenario):
    more = "third,1,a,1000,?,memout\nthird,1,'b c',?,?,crash\n"
    notes = " ".join(scenario(files={"algorithm_runs.arff": RUNS + more}).notes)
    assert "3 of 5 runs did not end ok: 1 timeout, 1 memout, 1 crash." in notes
    assert "1 problem ('third') without a run that ended ok" in notes
    assert "No run: 1 of 6 pairs." in notes
    assert "1 value beyond the cut-off of 100" in notes
    assert "1 problem ('third') without features in feature_values.arff" in notes


def test_a_status_that_aslib_does_not_know_is_other(scenario):
    strange = RUNS.replace("other}", "other, solved}").replace("0.75,ok", "0.75,solved")
    found = scenario(files={"algorithm_runs.arff": strange})
    assert found.status.loc["first", "a"] == "other"
    assert any("unknown to ASlib ('solved')" in note for note in found.notes)
    unknown = scenario(files={"algorithm_runs.arff": RUNS.replace("0.75,ok", "0.75,?")})
    assert unknown.status.loc["first", "a"] == "other"


def test_repeated_features_are_averaged_and_others_left_out(scenario):
    features = FEATURES + "first,2,5,2\nunknown,1,0,0\n"
    found = scenario(files={"feature_values.arff": features})
    assert found.features.loc["first"].to_dict() == {"the size": 4, "depth": 2}
    assert len(found.features) == 2
    notes = " ".join(found.notes)
    assert "1 problem with several rows of features: averaged" in notes
    assert "1 problem ('unknown') in feature_values.arff without runs: left out" in notes


def test_features_of_text_keep_the_first(scenario):
    text = (
        FEATURES.replace("depth NUMERIC", "depth {low, high}").replace("4,7", "4,low")
        + "first,2,5,high\nfirst,3,5,low\n"
    )
    found = scenario(files={"feature_values.arff": text})
    assert list(found.features["depth"].astype(object).fillna("")) == ["low", ""]
    assert found.features.loc["first", "the size"] == pytest.approx(13 / 3)
    assert any("1 feature ('depth') with text" in note for note in found.notes)


def test_folds_that_leave_problems_out_are_not_used(scenario):
    found = scenario(files={"cv.arff": FOLDS.replace("first,1,2\n", "")})
    assert found.folds is None
    assert any("cv.arff is not used" in note for note in found.notes)


def test_names_that_the_file_holds_as_numbers_are_text(scenario):
    runs = RUNS.replace("instance_id STRING", "instance_id NUMERIC")
    runs = runs.replace("'second, one'", "2097").replace("first", "31")
    found = scenario(
        files={"algorithm_runs.arff": runs, "feature_values.arff": None, "cv.arff": None}
    )
    assert list(found.performance.index) == ["2097", "31"]


def test_an_unknown_measure_names_those_that_there_are(scenario):
    with pytest.raises(InputError, match=r"measure is 'time', but .*'runtime', 'score'"):
        scenario("time")


def test_broken_files_say_what_is_wrong_and_where(subtests, scenario, tmp_path):
    cases = [
        ("description.txt", "maximize:", "minimize:", "does not state maximize"),
        ("description.txt", DESCRIPTION, "a: 1\n", "does not state performance_measures"),
        ("description.txt", "- false", "- perhaps", "maximize is 'perhaps'"),
        ("description.txt", "    - false\n", "", "2 measures.*1 value of maximize"),
        ("description.txt", "[runtime", "[speed", "performance_type is 'speed'"),
        ("description.txt", "[runtime", "*id001 [", r"'\*id001.*form of YAML"),
        ("description.txt", "- score", "- runtime", "names a measure twice"),
        ("description.txt", "- score", "- '?'", "leaves performance_measures open"),
        ("description.txt", "- score", "- 'score", "line 3: .*form of YAML"),
        ("description.txt", "- score", "  score: 1", "line 5: .*form of YAML"),
        ("description.txt", "1.0e+02", "soon", "algorithm_cutoff_time is 'soon'"),
        ("description.txt", "1.0e+02", "-1", "algorithm_cutoff_time is '-1'"),
        ("description.txt", "1.0e+02", "inf", "algorithm_cutoff_time is 'inf'"),
        ("description.txt", "# a", "maximize: no\n# a", "line 7 states maximize again"),
        ("description.txt", DESCRIPTION, "", "empty"),
        (
            "algorithm_runs.arff",
            "runtime NUMERIC",
            "runtime STRING",
            "'runtime' is declared as text",
        ),
        ("algorithm_runs.arff", "runstatus {", "ending {", "no column 'runstatus'; it has 6"),
        ("algorithm_runs.arff", "first,1", "?,1", "row 3 below @data has no instance_id"),
        ("algorithm_runs.arff", "first,1,a,1,", "first,1,a,slow,", "line 11: .*'slow'"),
        ("algorithm_runs.arff", "0.75,ok", "0.75,fine", "line 11: .*'fine'"),
        ("algorithm_runs.arff", RUNS, RUNS[: RUNS.index("'second")], "no row below"),
        ("feature_values.arff", "instance_id", "problem", "no column 'instance_id'"),
        ("cv.arff", "first,1,2", "first,1,0", "fold of problem 'first' is 0"),
        ("cv.arff", "first,1,2", "first,1,?", "fold of problem 'first' is nan"),
        ("cv.arff", "first,1,2", "first,1,2\nfirst,1,3", "'first' into two folds"),
        ("cv.arff", "fold NUMERIC", "fold STRING", "'fold' is text"),
    ]
    for name, old, new, message in cases:
        with subtests.test(name=name, old=old, new=new, message=message):
            assert old in WHOLE[name]
            with pytest.raises(FileError, match=message) as caught:
                scenario(files={name: WHOLE[name].replace(old, new, 1)})
            assert str(tmp_path / name) in str(caught.value)


def test_a_measure_that_the_runs_lack_is_named(scenario):
    text = DESCRIPTION.replace("- runtime", "- time")
    with pytest.raises(FileError, match=r"algorithm_runs.arff' has no column 'time'"):
        scenario(files={"description.txt": text})


def test_a_file_may_not_unpack_without_end(scenario, tmp_path):
    with pytest.raises(FileError, match="max_bytes"):
        scenario(max_bytes=100)
    (tmp_path / "algorithm_runs.arff").unlink()
    (tmp_path / "algorithm_runs.arff.gz").write_bytes(gzip.compress(RUNS.encode() + b"%" * 10**6))
    with pytest.raises(FileError, match="unpacks to more than"):
        read_aslib(tmp_path, max_bytes=10_000)


def test_few_runs_may_not_become_a_table_without_end(scenario):
    rows = "".join(f"p{n},1,a{n},1,1,ok\n" for n in range(100))
    with pytest.raises(FileError, match=r"102 problems and 102 algorithms: .*max_bytes"):
        scenario(files={"algorithm_runs.arff": RUNS + rows}, max_bytes=20_000)


def test_a_folder_that_is_no_scenario_says_what_it_lacks(tmp_path):
    with pytest.raises(FileError, match=r"no description.txt and no algorithm_runs.arff.*Give"):
        read_aslib(tmp_path)
    with pytest.raises(FileError, match="There is no folder"):
        read_aslib(tmp_path / "absent")
    with pytest.raises(InputError, match="path of a folder"):
        read_aslib(7)


def test_a_scenario_one_level_down_or_up_is_pointed_at(scenario, tmp_path):
    scenario()
    inner = tmp_path / "inner"
    inner.mkdir()
    for name in WHOLE:
        (tmp_path / name).rename(inner / name)
    with pytest.raises(FileError, match=r"One level down, 1 folder \(inner\).*inner'"):
        read_aslib(tmp_path)
    with pytest.raises(FileError, match=r"is a file, .*folder that holds it: '.*inner'"):
        read_aslib(inner / "cv.arff")


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8)
values = st.floats(0, 1e6)


@settings(deadline=None, max_examples=25)
@given(
    st.lists(names, min_size=1, max_size=4, unique=True),
    st.lists(names, min_size=1, max_size=3, unique=True),
    st.data(),
)
def test_any_table_comes_back(tmp_path_factory, problems, algorithms, data):
    def quoted(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    folder = tmp_path_factory.mktemp("scenario")
    table = [[data.draw(values) for _ in algorithms] for _ in problems]
    rows = [
        f"{quoted(problem)},1,{quoted(algorithm)},{value!r},0,ok\n"
        for problem, line in zip(problems, table, strict=True)
        for algorithm, value in zip(algorithms, line, strict=True)
    ]
    (folder / "description.txt").write_text(DESCRIPTION)
    head = RUNS[: RUNS.index("'second")]
    (folder / "algorithm_runs.arff").write_text(head + "".join(rows), "utf-8")
    found = read_aslib(folder).performance
    assert (list(found.index), list(found.columns)) == (problems, algorithms)
    np.testing.assert_array_equal(found, table)


def test_shared_scenarios_are_read(subtests, shared):
    cases = [
        ("OPENML-WEKA-2017", "predictive_accuracy", "quality", (105, 30), None, 103, 0),
        ("CSP-Minizinc-Time-2016", "PAR10", "runtime", (100, 20), 1200, 95, 17),
        ("CSP-Minizinc-Obj-2016", "obj", "quality", (100, 22), None, 95, 0),
        ("ASP-POTASSCO", "runtime", "runtime", (1294, 11), 600, 138, 82),
        ("BNSL-2016", "runtime", "runtime", (1179, 8), 7200, 86, 0),
        ("GRAPHS-2015", "runtime", "runtime", (5725, 7), 1e8, 35, 117),
    ]
    for folder, measure, kind, shape, cutoff, n_features, n_timed_out in cases:
        with subtests.test(folder):
            found = og.read_aslib(shared / "data" / "aslib" / folder)
            assert (found.name, found.measure, found.kind) == (folder, measure, kind)
            assert found.better == ("higher" if measure == "predictive_accuracy" else "lower")
            assert found.cutoff == cutoff
            assert found.performance.shape == found.status.shape == shape
            assert found.performance.notna().all(axis=None)
            assert (found.status == "timeout").all(axis=1).sum() == n_timed_out
            assert found.features.shape == (shape[0], n_features)
            assert sorted(found.folds.unique()) == list(range(1, 11))
    folder = shared / "data" / "aslib"
    with subtests.test("quoted algorithms and the second measure"):
        found = read_aslib(folder / "CSP-Minizinc-Obj-2016", "time")
        assert {"SICStus-Prolog-fd", "Picat-CP-fd", "MZN/SCIP-free"} <= set(found.performance)
        assert (found.kind, found.cutoff) == ("runtime", 1200)
        often = (found.status == "timeout").sum(axis=1)
        assert (often == often.max()).sum() == 1
    with subtests.test("memory that ran out is no timeout"):
        status = read_aslib(folder / "BNSL-2016").status
        assert (status == "memout").sum().sum() == 1775
        assert (status == "timeout").sum().sum() == 871
    points = r"6 folders \(ASP-POTASSCO, .*give '.*ASP-POTASSCO'"
    with subtests.test("the folder above"), pytest.raises(FileError, match=points):
        read_aslib(folder)
    with subtests.test("the runs themselves"):
        runs = read_table(folder / "OPENML-WEKA-2017" / "algorithm_runs.arff.gz")
        assert runs.shape == (105 * 30, 5)
        assert runs["predictive_accuracy"].between(0, 1).all()


def test_a_limit_that_is_no_number_is_said(scenario):
    with pytest.raises(InputError, match=r"`max_bytes` must be a number above 0.*got 'x'"):
        scenario(max_bytes="x")
