import hashlib
import json

import numpy as np
import pandas as pd
import pytest

from ogive import Responses, decode_responses, simulate
from ogive.errors import InputError
from ogive.reporting.chapters import read_benchmark
from ogive.reporting.exports import Contents, write_folder


def decoding(count=3, respondents=20, names=None):
    ability = np.linspace(-2, 2, respondents)
    tables = {
        name: simulate("2pl", n_items=15, abilities=ability, random_state=seed).responses
        for seed, name in enumerate(names or [f"set {k}" for k in range(count)])
    }
    return decode_responses(tables, model="2pl")


@pytest.fixture(scope="module")
def decoded():
    return decoding()


def test_every_chapter_is_read_or_its_absence_explained(decoded):
    chapters = read_benchmark(decoded)
    assert list(chapters.found) == ["tournament", "ranks", "subsets", "choice"]
    assert not chapters.missing  # nothing is known of tables beforehand, so nothing is missed
    assert list(chapters.sentences) == ["decoding", *chapters.found]
    for name, finding in chapters.found.items():
        assert chapters.sentences[name] == [finding.meaning, *finding.notes]


def test_the_tournament_is_played_in_the_order_asked_for(subtests, decoded):
    cases = [
        ("discrimination", "discrimination_mean"),
        ("difficulty-sd", "difficulty_sd"),
        ("discrimination-sd", "discrimination_sd"),
    ]
    for order, column in cases:
        with subtests.test(order=order, column=column):
            played = read_benchmark(decoded, order=order).found["tournament"].items
            assert list(played) == list(decoded.datasets[column].sort_values().index)


def test_order_by_difficulty_goes_by_what_can_be_compared(decoded):
    """Mean difficulties of data sets are on scales of their own; chances are not."""
    played = read_benchmark(decoded).found
    easiest_first = list(decoded.to_frame().index[::-1])
    assert list(played["tournament"].items) == easiest_first
    assert list(played["subsets"].datasets[0]) == easiest_first
    assert played["subsets"].to_frame()["sorted_by"].iloc[0] == "chance"


def test_data_sets_are_called_data_sets_and_two_verdicts_explained_beside_both():
    found = read_benchmark(decoding(count=7, respondents=12)).found
    ranks, played = found["ranks"], found["tournament"]
    assert "over 7 data sets (Friedman" in ranks.meaning
    assert len(played.level_with_leader) > sum(ranks.to_frame()["group"].str.contains("A")) - 1
    said = " ".join((*ranks.sentences(), *played.sentences()))
    assert " items" not in said
    assert "compare_ranks" not in said
    assert any("A tournament tests two by their own games alone" in note for note in ranks.notes)
    assert any("A comparison of mean ranks" in note for note in played.notes)


def test_the_order_given_is_that_of_the_data_sets(decoded):
    played = read_benchmark(decoded, order="given").found["tournament"].items
    assert played == tuple(decoded.calibrations)


def test_an_unknown_order_is_refused(decoded):
    with pytest.raises(InputError, match=r"`order` must be one of: difficulty.*got 'size'"):
        read_benchmark(decoded, order="size")


@pytest.mark.slow
def test_one_data_set_leaves_what_needs_several_out(tmp_path):
    chapters = read_benchmark(decoding(count=1))
    assert set(chapters.missing) == {"ranks", "subsets", "choice"}
    assert write_folder(chapters.contents(), tmp_path)


def test_all_files_that_are_named_exist_and_can_be_read(decoded, tmp_path):
    paths = write_folder(read_benchmark(decoded).contents(), tmp_path / "new")
    assert len(set(paths)) == len(paths)
    for path in paths:
        if path.suffix == ".csv" and path.name != "suspects.csv":
            assert len(pd.read_csv(path))
        elif path.suffix == ".json":
            json.loads(path.read_text())
        assert path.stat().st_size > 0


@pytest.fixture
def blank_figures(monkeypatch):
    """Figures are written, but not drawn: for tests of where files lie."""

    def save(self, path):
        path.write_bytes(b"")
        return path

    monkeypatch.setattr("ogive.results.plots.figure.Display.save", save)


@pytest.mark.usefixtures("blank_figures")
def test_names_of_data_sets_cannot_leave_the_folder(tmp_path):
    home = tmp_path / "home"
    names = ["../../escape", "a/b", "<script>"]
    paths = write_folder(read_benchmark(decoding(names=names)).contents(), home)
    assert all(home in path.resolve().parents for path in paths)
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_data_set_without_difficulty_does_not_stop_the_others():
    tables = {name: each.responses for name, each in decoding().calibrations.items()}
    tables["solved"] = Responses(np.ones((20, 8)), respondents=list(tables["set 0"].respondents))
    chapters = read_benchmark(decode_responses(tables, model="2pl"))
    assert "solved" not in chapters.found["tournament"].items
    assert set(chapters.found) == {"tournament", "ranks", "subsets", "choice"}


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_a_later_report_leaves_nothing_of_an_earlier_one(decoded, tmp_path):
    (tmp_path / "mine.csv").write_text("kept")
    first = write_folder(read_benchmark(decoded).contents(), tmp_path)
    second = write_folder(read_benchmark(decoding(count=1)).contents(), tmp_path)
    assert len(second) < len(first)
    there = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert there == {*second, tmp_path / "mine.csv"}


@pytest.mark.usefixtures("blank_figures")
def test_a_forged_summary_cannot_remove_other_files(decoded, tmp_path):
    home, victim = tmp_path / "home", tmp_path / "victim.csv"
    write_folder(read_benchmark(decoded).contents(), home)
    victim.write_text("kept")
    document = json.loads((home / "summary.json").read_text())
    named = ["../victim.csv", str(victim), "figures/../../victim.csv", "answers/a.json"]
    digest = hashlib.sha256(b"kept").hexdigest()
    # A file in a place of reports is removed only as a report wrote it.
    document["sha256"] = {**dict.fromkeys(named, digest), "mine.csv": "0" * 64}
    document["files"] = [*named, "mine.csv"]
    (home / "mine.csv").write_text("mine")
    (home / "answers").mkdir()
    (home / "answers" / "a.json").write_text("kept")
    (home / "summary.json").write_text(json.dumps(document))
    write_folder(read_benchmark(decoded).contents(), home)
    assert victim.read_text() == "kept"
    assert (home / "answers" / "a.json").read_text() == "kept"
    assert (home / "mine.csv").read_text() == "mine"


@pytest.mark.slow
@pytest.mark.usefixtures("blank_figures")
def test_a_report_that_fails_leaves_the_earlier_one(decoded, tmp_path, monkeypatch):
    paths = write_folder(read_benchmark(decoded).contents(), tmp_path)
    before = {path: path.read_bytes() for path in paths}
    later = read_benchmark(decoding(count=1)).contents()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("ogive.reporting.exports._write_table", stop)
    with pytest.raises(KeyboardInterrupt):
        write_folder(later, tmp_path)
    assert {path for path in before if path.exists()} == set(before)


def test_what_a_kill_leaves_of_an_earlier_report_is_removed_by_the_next_run(tmp_path, monkeypatch):
    def contents(*names):
        return Contents({name: pd.DataFrame({"x": [1]}) for name in names}, {}, {}, [])

    def kill(*_):
        raise SystemExit

    write_folder(contents("old", "both"), tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr("ogive.reporting.exports._forget", kill)
        with pytest.raises(SystemExit):
            write_folder(contents("both", "new"), tmp_path)
    found = write_folder(contents("both", "new"), tmp_path)
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(found)
    assert set(json.loads((tmp_path / "summary.json").read_text())["sha256"]) == {
        "both.csv",
        "new.csv",
    }
