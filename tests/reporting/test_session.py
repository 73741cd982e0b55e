"""The session behind the app: what is open, read again and calibrated."""

import json
import time
from pathlib import Path

import numpy as np
import pytest

import ogive as og
from ogive.data.logs.lm_eval import LmEval
from ogive.errors import FileError, InputError, OgiveError
from ogive.reporting.exports import write_folder
from ogive.reporting.session import ViewSession
from ogive.reporting.sources import ReadCache, read_paths

BATCH = "00000000-0000-0000-0000-000000000001"


@pytest.fixture(scope="module")
def responses():
    drawn = og.simulate("2pl", 30, 8, random_state=2).responses
    texts = [f"What is {k}?" for k in range(8)]
    return drawn.described(items={"task": ["sums", "maps"] * 4, "text": texts})


@pytest.fixture
def path(responses, tmp_path):
    return responses.save(tmp_path / "scores.parquet")


@pytest.fixture
def session(path):
    made = ViewSession([path])
    made.look()
    yield made
    made.close()


def calibrated(session):
    for name, table in session.opened.tables.items():
        session._calibrate(name, table)
    return session.snapshot


def test_counts_come_first_and_the_scale_later(session):
    first = json.loads(session.snapshot.document)
    assert "axes" in first["scales"][0]
    assert session.state()["responses"] == 240
    later = json.loads(calibrated(session).document)
    assert "axes" not in later["scales"][0]
    names = [column["name"] for column in later["tables"]["items0"]["columns"]]
    assert {"difficulty", "difficulty_se", "task", "suspect"} <= set(names)
    assert later["version"] > first["version"]


def test_items_and_respondents_are_as_they_were_given(session, responses):
    calibrated(session)
    (scale,) = session.snapshot.scales
    names = scale.scale.content["answers"]["respondents"]
    rows = [responses.respondents.index(name) for name in names]
    assert scale.item(3)["answers"] == responses.values[rows, 3].tolist()
    assert scale.item(3)["facts"][0]["name"] == "text"
    assert scale.respondent(5)["responses"] == responses.values[rows[5]].tolist()
    assert scale.search("WHAT IS 6") == [6]
    assert scale.search("item_2") == [1]
    ability = scale.scale.content["answers"]["ability"]
    assert ability == sorted(ability, reverse=True)


def test_a_respondent_comes_with_whom_it_beats_once_all_pairs_are_compared(session, responses):
    session.look()
    assert session.snapshot.scales[0].respondent(0)["pairs"] is None
    (scale,) = calibrated(session).scales
    assert session.state()["compared"] == 1
    pairs = og.leaderboard(responses, calibration=og.calibrate(responses)).pairs
    names = scale.scale.content["answers"]["respondents"]
    board = og.leaderboard(responses, calibration=og.calibrate(responses))
    told = scale.respondent(0)["board"]
    assert told["respondents"] == list(board.respondents)
    assert told["ranks"] == board.rank.tolist()
    assert told["means"] == pytest.approx(board.reached.mean.tolist(), abs=1e-3)
    for k, name in enumerate(names):
        columns = {one["name"]: one for one in scale.respondent(k)["pairs"]["columns"]}
        told = {
            name: [one["levels"][at] for at in one["values"]] if "levels" in one else one["values"]
            for name, one in columns.items()
        }
        mine = pairs[(pairs["respondent"] == name) | (pairs["other"] == name)]
        assert {tuple(row) for row in zip(*told.values(), strict=True)} == {
            tuple(row) for row in mine[["respondent", "other", "verdict"]].itertuples(index=False)
        }


def test_suspects_come_with_their_texts_and_what_the_strongest_said(tmp_path):
    drawn = og.simulate("2pl", 60, 30, random_state=1).responses.values.copy()
    drawn[:, 10] = 1 - drawn[:, 10]
    drawn[7, 10] = np.nan
    table = og.Responses(drawn, kind="binary").described(
        items={"text": [f"t{k}" for k in range(30)]}
    )
    session = ViewSession([table.save(tmp_path / "scores.parquet")])
    session.look()
    assert session.snapshot.scales[0].suspects()["rows"] == []
    (scale,) = calibrated(session).scales
    found = scale.suspects()
    assert found["rows"] == [10]
    abilities = og.calibrate(table, "1pl").abilities()["ability"].to_numpy()
    order = [k for k in np.argsort(-abilities, kind="stable") if k != 7][:20]
    assert found["strong"] == [f"{int(drawn[order, 10].sum())} of 20"]
    assert found["facts"][0]["levels"] == ["t10"]


def test_the_version_before_is_still_answered_and_older_ones_are_not(session):
    version = session.snapshot.version
    assert session.scale(version, 0) is not None
    assert session.scale(version, 1) is None
    calibrated(session)
    assert session.scale(version, 0) is not None
    calibrated(session)
    assert session.scale(version, 0) is None


def test_a_growing_file_is_read_again(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,q1,q2,q3\nann,1,0,1\nbob,0,1,1\n")
    session = ViewSession([path])
    session.look()
    session.start()
    try:
        with path.open("a") as file:
            file.write("eve,1,1,0\nzoe,0")  # the last line is not finished yet
        deadline = time.monotonic() + 30
        while session.state()["respondents"] != 3:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        session.close()
    assert session.stage.failure == ""


def test_what_cannot_be_calibrated_is_shown_as_counts(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("model,q1,q2\nann,1,0\n")
    session = ViewSession([path])
    session.look()
    calibrated(session)
    state = session.state()
    assert state["doing"] == ""
    assert state["notes"] == ["scores.csv: a scale needs 3 models, so that only shares are shown."]
    assert len(session.snapshot.scales) == 1


def dropped(session, name, text):
    session.dropped_path(BATCH, Path(name)).write_text(text)
    return session.add(BATCH)


def test_a_dropped_table_stands_beside_the_rest(session, responses):
    names = ",".join(responses.items)
    said = dropped(session, "more.csv", f"model,{names}\nnew,1,1,1,0,1,0,1,1\n")
    assert said == "Added 1 model; its 8 items were there already."
    assert session.state()["respondents"] == 31
    assert len(session.snapshot.scales) == 1


def test_only_new_items_are_counted(session, responses):
    names = ",".join([*responses.items[:3], "new"])
    said = dropped(session, "more.csv", f"model,{names}\nnew,1,1,1,0\n")
    assert said == "Added 1 model and 1 new item; 3 were there already."


def test_as_few_models_as_a_leaderboard_needs_get_its_scale(tmp_path):
    table = og.simulate("1pl", 9, 45, random_state=0).responses
    values = table.values.copy()
    values[4, 15:] = np.nan
    table = og.Responses(values, respondents=[f"m{k}" for k in range(9)], kind="binary")
    session = ViewSession([table.save(tmp_path / "few.parquet")])
    session.look()
    (scale,) = calibrated(session).scales
    assert "axes" not in scale.scale.content
    board = og.leaderboard(table).to_frame()
    shown = scale.scale.content["answers"]
    wanted = board["ability"].loc[shown["respondents"]].to_numpy()
    assert shown["ability"] == pytest.approx(wanted, abs=1e-3)
    assert not any("needs" in note for note in session.state()["notes"])


def test_tables_that_were_added_do_not_make_names_long(session, responses):
    names = ",".join(responses.items)
    for k in range(3):
        batch = f"{BATCH[:-1]}{k}"
        path = session.dropped_path(batch, Path(f"more {k}.csv"))
        path.write_text(f"model,{names}\nnew {k},1,1,1,0,1,0,1,1\n")
        session.add(batch)
    assert list(session.opened.tables) == ["scores.parquet and 3 more"]


def test_a_dropped_log_keeps_its_own_scale_where_it_shares_no_item(session):
    row = {"doc": {}, "arguments": {}, "target": "4", "filter": "none"}
    rows = [json.dumps({"doc_id": k, "acc": float(k % 2), **row}) for k in range(4)]
    said = dropped(session, "m/samples_sums_2026-01-31T12-00-00.jsonl", "\n".join(rows))
    assert "a scale of their own" in said
    assert len(session.snapshot.scales) == 2
    assert session.opened.tables[list(session.opened.tables)[-1]].respondents == ("m",)


def test_logs_that_are_dropped_together_are_of_one_model(session, tmp_path):
    log = written_log(tmp_path, "ann", 3).read_text()
    for task in ("sums", "maps"):
        session.dropped_path(BATCH, Path(f"samples_{task}_2026-01-31T12-00-00.jsonl")).write_text(
            log
        )
    told = session.dropped_path(BATCH, Path("results_2026-01-31T12-00-00.json"))
    told.write_text('{"model_name": "lab/ann"}')
    assert session.add(BATCH).startswith("Added 1 model and 6 items.")
    tables = {name: table.respondents for name, table in session.opened.tables.items()}
    assert tables["samples_sums_2026-01-31T12-00-00"] == ("lab/ann",)


def test_logs_of_the_same_name_are_of_two_models(session, tmp_path):
    for right in (0.0, 1.0):
        log = written_log(tmp_path, "ann", 3, right=right)
        session.dropped_path(BATCH, Path(log.name)).write_text(log.read_text())
    assert session.add(BATCH).startswith("Added 2 models and 3 items.")


def test_a_damaged_file_changes_nothing_and_is_named_without_its_folder(session):
    version = session.snapshot.version
    with pytest.raises(OgiveError) as error:
        dropped(session, "bad.csv", "model,q1\nann,maybe\n")
    said = session.in_own_words(str(error.value), BATCH)
    assert "bad.csv" in said
    assert "ogive-view-" not in said
    assert session.snapshot.version == version
    assert session.state()["respondents"] == 30


def test_nothing_dropped_is_an_error(session):
    with pytest.raises(InputError, match="Nothing was dropped"):
        session.add(BATCH)


def test_a_bank_stands_alone_or_takes_the_responses_to_its_items(path, responses, tmp_path):
    bank = og.calibrate(responses, "2pl").save(tmp_path / "bank.json")
    alone = read_paths([bank])
    assert (list(alone.tables), alone.shape) == ([], (0, 8))
    session = ViewSession([bank, path])
    session.look()
    (scale,) = session.snapshot.scales
    assert scale.n_respondents == 30
    assert session.opened.tables == {}


def test_a_results_folder_shows_its_banks_sentences_and_tables(responses, tmp_path):
    write_folder(og.calibrate(responses, "2pl"), tmp_path / "results")
    session = ViewSession([tmp_path / "results"])
    session.look()
    found = json.loads(session.snapshot.document)
    assert [scale["name"] for scale in found["scales"]] == ["items"]
    assert any(section["tables"] for section in found["sections"])


def test_logs_keep_the_text_of_their_questions(tmp_path):
    row = {"arguments": {}, "target": "4", "filter": "none"}
    for model in ("ann", "bob"):
        rows = [
            json.dumps({"doc_id": k, "acc": float(k % 2), "doc": {"question": f"Is {k}?"}, **row})
            for k in range(3)
        ]
        (tmp_path / model).mkdir()
        cut = "" if model == "ann" else '\n{"doc_id": 3, "acc'  # still written
        log = tmp_path / model / "samples_sums_2026-01-31T12-00-00.jsonl"
        log.write_text("\n".join(rows) + cut)
    session = ViewSession([tmp_path])
    session.look()
    assert session.state()["respondents"] == 2
    assert session.state()["responses"] == 6


def written_log(folder, model, n_rows, *, right=1.0):
    rows = [
        json.dumps({"doc_id": k, "acc": right, "doc": {"q": f"Is {k}?"}, "arguments": {},
                    "target": "4", "filter": "none"})
        for k in range(n_rows)
    ]  # fmt: skip
    (folder / model).mkdir(exist_ok=True)
    log = folder / model / "samples_sums_2026-01-31T12-00-00.jsonl"
    log.write_text("\n".join(rows) + "\n")
    return log


@pytest.fixture
def read(monkeypatch):
    """The names of the models whose logs are read."""
    found, plain = [], LmEval.read

    def reading(self, path, *rest):
        found.append(path.parent.name)
        return plain(self, path, *rest)

    monkeypatch.setattr(LmEval, "read", reading)
    return found


def test_a_change_of_one_log_reads_only_that_one_again(tmp_path, read):
    logs = tmp_path / "logs"
    logs.mkdir()
    for model in ("ann", "bob", "eve"):
        written_log(logs, model, 3)
    table = tmp_path / "old.csv"
    table.write_text("model,sums/0\nzoe,1\n")
    kept = ReadCache()
    read_paths([logs, table], kept)
    assert read == ["ann", "bob", "eve"]
    read.clear()
    written_log(logs, "bob", 5)
    again = read_paths([logs, table], kept)
    assert read == ["bob"]
    fresh = read_paths([logs, table])
    assert list(again.tables) == list(fresh.tables)
    for name, one in again.tables.items():
        assert one.to_frame().equals(fresh.tables[name].to_frame())
        assert one.item_facts.equals(fresh.tables[name].item_facts)
        assert one.notes == fresh.tables[name].notes


def test_a_log_that_was_rewritten_or_described_anew_is_not_read_from_memory(tmp_path, read):
    kept = ReadCache()
    for model in ("ann", "bob"):
        written_log(tmp_path, model, 3)
    read_paths([tmp_path], kept)
    written_log(tmp_path, "ann", 2, right=0.0)
    (table,) = read_paths([tmp_path], kept).tables.values()
    assert np.nansum(table.values) == 3.0
    read.clear()
    (tmp_path / "bob" / "results_2026-01-31T12-00-00.json").write_text('{"model_name": "robert"}')
    (table,) = read_paths([tmp_path], kept).tables.values()
    assert read == ["bob"]
    assert "robert" in table.respondents
    (tmp_path / "ann" / "samples_sums_2026-01-31T12-00-00.jsonl").unlink()
    (table,) = read_paths([tmp_path], kept).tables.values()
    assert table.respondents == ("robert",)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("nowhere.csv", None, "does not exist"),
        ("empty.csv", "", "is empty"),
        ("notes.txt", "hello", "ends in"),
        ("folder", "folder", "without evaluation logs"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, name, content, said):
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_text(content)
    with pytest.raises(FileError, match=said):
        ViewSession([path]).look()


def test_grades_and_scores_are_exact(tmp_path):
    grades = og.Responses(
        np.array([[0, 3, 2], [1, 3, 0], [2, 1, 3], [3, 2, 1]], dtype=float), kind="graded"
    )
    session = ViewSession([grades.save(tmp_path / "grades.parquet")])
    session.look()
    (scale,) = session.snapshot.scales
    assert sorted(scale.item(1)["answers"]) == [1, 2, 3, 3]
