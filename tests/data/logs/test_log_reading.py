"""Logs of several files and formats as one table."""

import json
import os
import tracemalloc

import pytest

from ogive.data.logs import json_documents as json_lines
from ogive.data.logs import lm_eval as lm_eval_module
from ogive.data.logs.read_logs import LOG_FORMATS, read_logs
from ogive.data.logs.runs import timestamp
from ogive.data.response_files import read_responses
from ogive.errors import FileError, InputError

from .conftest import row


def test_every_sample_log_is_read_or_refused_by_name(shared, subtests):
    reading = read_logs(shared / "data" / "logs")
    files = reading.files.set_index("file")
    logs = [
        path
        for path in (shared / "data" / "logs").rglob("*")
        if path.name.startswith("samples_")
        or path.name == "per_instance_stats.json"
        or path.parent.name == "inspect"
    ]
    assert sorted(files.index) == sorted(map(str, logs))
    nothing = files[files["read"] == 0]
    assert (nothing["reason"] != "").all()
    assert (files["rows"] == files["read"] + files["dropped"]).all()
    assert reading.responses.n_items == 505
    assert reading.left_out["that are there twice, or of another filter without a name"] == 249
    with subtests.test("the accuracy of a sample is that of its rows"):
        folder = shared / "data" / "logs" / "lm_eval" / "EleutherAI__pythia-14m"
        path = next(folder.glob("samples_metabench_winogrande_secondary_2*.jsonl"))
        scores = [json.loads(line)["acc"] for line in path.read_text().splitlines()]
        assert read_responses(path).values.mean() == pytest.approx(sum(scores) / len(scores))
    with subtests.test("formats are distinguished"):
        assert set(reading.files["format"]) == {"lm-eval", "inspect", "helm"} < set(LOG_FORMATS)


def test_answers_of_two_runs_are_repeated_ones(lm_eval, folder):
    lm_eval([1.0, 1.0, 1.0], date="2025-01-01T00-00-00.000000")
    lm_eval([0.0, 0.0], date="2025-02-01T00-00-00.000000")
    reading = read_logs(folder)
    assert reading.responses.values.tolist() == [[0.5, 0.5, 1]]
    assert reading.responses.tries.tolist() == [[2, 2, 1]]
    assert reading.files["dropped"].sum() == 0
    assert any("their answers count as repeated ones" in note for note in reading.notes)


def test_on_request_the_newest_counts_and_the_older_fills_gaps(lm_eval, folder):
    old = lm_eval([1.0, 1.0, 1.0], date="2025-01-01T00-00-00.000000")
    lm_eval([0.0, 0.0], date="2025-02-01T00-00-00.000000")
    reading = read_logs(folder, epochs="first")
    assert reading.responses.values.tolist() == [[0, 0, 1]]
    files = reading.files.set_index("file")
    assert files.loc[str(old), "dropped"] == 2
    assert "older run" in files.loc[str(old), "reason"]


def test_the_newest_is_told_across_time_zones(tmp_path):
    dates = {"a": "2024-01-01T10:00:00-05:00", "b": "2024-01-01T12:00:00+00:00"}
    for name, value in (("a", "C"), ("b", "I")):
        told = {"model": "m", "task": "t", "created": dates[name]}
        samples = [{"id": 1, "scores": {"s": {"value": value}}}]
        content = {"version": 2, "status": "success", "eval": told, "samples": samples}
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    found = read_logs(tmp_path, epochs="first").responses
    assert found.values.tolist() == [[1]]
    assert found.respondent_facts["date"].tolist() == [dates["a"]]


def test_dates_are_moments(subtests):
    for same in [
        ("2025-01-02T03-04-05.5", "2025-01-02T03:04:05.500000Z"),
        ("2025-01-02T03:04:05+01:00", "2025-01-02 02:04:05"),
        ("2025-01-02", "2025-01-02T00:00:00-00:00"),
        ("2025-01-02T23:30:00-0130", "2025-01-03T01:00:00"),
    ]:
        with subtests.test(same=same):
            assert timestamp(same[0]) == timestamp(same[1]) > timestamp("1999-01-01")


def test_what_is_no_date_is_older_than_any(subtests):
    for text in ["", "yesterday", "2025-02-31", "\u0662\u0660\u0662\u0665-01-01"]:
        with subtests.test(text):
            assert timestamp(text) < timestamp("0001-01-01")


def test_what_cannot_be_read_is_named_and_the_rest_is_read(lm_eval, folder):
    lm_eval([1.0, 0.0])
    pointer = lm_eval([1.0], model="lab__two")
    pointer.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n")
    empty = lm_eval([1.0], model="lab__three")
    empty.write_text("")
    (folder / "notes.json").write_text("{}")
    (folder / "notes.txt").write_text("hello")
    reading = read_logs(folder)
    refused = reading.files[reading.files["model"] == ""].set_index("file")["reason"]
    assert "Git LFS pointer" in refused[str(pointer)]
    assert "empty" in refused[str(empty)]
    assert len(refused) == 2
    assert "2 files that could not be read" in reading.meaning
    assert reading.responses.notes == reading.notes


def test_a_file_that_trips_its_reader_costs_itself_alone(lm_eval, folder, monkeypatch):
    bent = lm_eval([1.0], model="a__a")
    lm_eval([1.0, 0.0], model="b__b")
    read = lm_eval_module.LmEval.read

    def trip(self, path, *rest):
        if path == bent:
            raise OverflowError("too large")
        return read(self, path, *rest)

    monkeypatch.setattr(lm_eval_module.LmEval, "read", trip)
    reading = read_logs(folder)
    assert reading.responses.respondents == ("b/b",)
    assert reading.n_refused == 1
    assert "OverflowError: too large" in reading.refused[str(bent)]
    with pytest.raises(OverflowError):
        read_logs(bent)


def test_a_folder_that_may_not_be_read_is_named(lm_eval, folder, monkeypatch):
    closed = lm_eval([1.0], model="a__a").parent
    lm_eval([1.0, 0.0], model="b__b")
    scan = os.scandir

    def refuse(path):
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    reading = read_logs(folder)
    assert reading.responses.respondents == ("b/b",)
    assert "Permission denied" in reading.refused[str(closed)]


def test_other_encodings_and_links_to_themselves_are_said(lm_eval, folder):
    lm_eval([1.0, 0.0])
    wide = lm_eval([1.0], model="lab__two")
    wide.write_bytes(wide.read_text().encode("utf-16"))
    loop = wide.with_name("samples_loop.jsonl")
    loop.symlink_to(loop)
    refused = read_logs(folder).refused
    assert "UTF-16" in refused[str(wide)]
    assert "leads back to itself" in refused[str(loop)]


def test_a_file_that_was_named_must_be_a_log(lm_eval, tmp_path):
    path = lm_eval([1.0])
    path.write_text("version https://git-lfs.github.com/spec/v1\n")
    with pytest.raises(FileError, match="Git LFS pointer"):
        read_logs(path)
    other = tmp_path / "settings.json"
    other.write_text("{}")
    with pytest.raises(FileError, match=r"settings\.json' is not a known log"):
        read_logs(other)


def test_a_folder_without_logs_is_refused(tmp_path):
    with pytest.raises(FileError, match="without evaluation logs"):
        read_responses(tmp_path)
    with pytest.raises(FileError, match="There is no file 'nowhere'"):
        read_logs(tmp_path / "nowhere")


def test_logs_without_a_score_say_why(lm_eval, folder):
    lm_eval([row(0, float("nan"))])
    with pytest.raises(FileError, match=r"no scored row.* 1 row without a score"):
        read_logs(folder)


def test_wrong_arguments_are_refused(lm_eval, subtests):
    for arguments in [{"epochs": "last"}, {"metric": 3}, {"filter": 3}, {"max_bytes": 0}]:
        with subtests.test(arguments=arguments):
            path = lm_eval([1.0])
            with pytest.raises(InputError, match=next(iter(arguments))):
                read_logs(path, **arguments)


def test_what_is_no_path_is_refused(subtests):
    for paths in [3, [], [3]]:
        with subtests.test(paths=paths), pytest.raises(InputError, match="path"):
            read_logs(paths)


def test_grades_of_different_numbers_of_epochs_are_refused(tmp_path):
    for model, epochs in (("a", 2), ("b", 3)):
        samples = [{"id": 1, "scores": {"m": {"value": "C"}}} for _ in range(epochs)]
        told = {"model": model, "task": "t"}
        content = {"version": 2, "status": "success", "eval": told, "samples": samples}
        (tmp_path / f"{model}.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match="2 epochs of one model and 3 of another"):
        read_logs(tmp_path, epochs="grades")


def test_progress_counts_the_bytes_of_all_files(lm_eval, folder):
    files = [lm_eval([1.0] * 50, model=name) for name in ("a", "b")]
    seen = []
    read_logs(folder, progress=lambda *said: seen.append(said))
    total = sum(file.stat().st_size for file in files)
    done = [one[0] for one in seen]
    assert done == sorted(done)
    assert seen[-1] == (total, total, files[1].name)


def test_texts_are_not_held(lm_eval, folder, monkeypatch):
    monkeypatch.setattr(json_lines, "BLOCK", 1 << 16)
    rows = [row(n, 1.0, padding="x" * 2000) for n in range(5000)]
    path = lm_eval(rows)
    del rows
    tracemalloc.start()
    read_logs(folder)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 0.5 * path.stat().st_size


def test_the_plot_counts_the_items_of_each_task(lm_eval, folder):
    lm_eval([1.0, 0.0, 1.0], model="a")
    lm_eval([1.0], model="b", task="verbs")
    display = read_logs(folder).plot()
    assert display.frame.loc["a", "sums"] == 3
    assert display.frame.loc["b", "verbs"] == 1
