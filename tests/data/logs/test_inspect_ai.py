import io
import json
import struct
import zipfile
import zlib
from itertools import product

import pyarrow as pa
import pytest

from ogive.data.logs import inspect_ai
from ogive.data.logs import json_documents as bounded_files
from ogive.data.logs.read_logs import read_logs
from ogive.data.response_files import read_responses
from ogive.errors import FileError, InputError

EVAL = {
    "model": "lab/one",
    "task": "riddles",
    "created": "2025-01-02T03:04:05+00:00",
    "packages": {"inspect_ai": "0.3.1"},
}


def sample(number, value, epoch=1, **more):
    scores = {"match": {"value": value}} if value is not None else {}
    return {"id": number, "epoch": epoch, "input": "why", "target": "x", "scores": scores, **more}


def document(samples, status="success", **more):
    return {"version": 2, "status": status, "eval": EVAL, "samples": samples, **more}


@pytest.fixture
def log(tmp_path):
    """Write a log as one JSON document."""

    def write(samples, name="log.json", **more):
        path = tmp_path / name
        path.write_text(json.dumps(document(samples, **more)))
        return path

    return write


def zipped(path, members, method="zstd", stated=None):
    """Write an archive as Inspect does, its members packed by zstd, method 93."""
    out, directory = io.BytesIO(), []
    for name, content in members.items():
        if method == "zstd":
            code, packed = 93, pa.compress(content, codec="zstd", asbytes=True)
        else:
            packer = zlib.compressobj(wbits=-15)
            code, packed = 8, packer.compress(content) + packer.flush()
        sizes = struct.pack("<III", zlib.crc32(content), len(packed), stated or len(content))
        raw = name.encode()
        where = out.tell()
        common = struct.pack("<HHHHH", 20, 0, code, 0, 0) + sizes
        out.write(b"PK\x03\x04" + common + struct.pack("<HH", len(raw), 0) + raw + packed)
        rest = struct.pack("<HHHHHII", len(raw), 0, 0, 0, 0, 0, where)
        directory.append(b"PK\x01\x02" + struct.pack("<H", 20) + common + rest + raw)
    start, listed = out.tell(), b"".join(directory)
    end = struct.pack("<HHHHIIH", 0, 0, len(members), len(members), len(listed), start, 0)
    path.write_bytes(out.getvalue() + listed + b"PK\x05\x06" + end)
    return path


def members(samples, status="success"):
    header = {"version": 2, "status": status, "eval": EVAL}
    return {
        "header.json": json.dumps(header).encode(),
        "summaries.json": json.dumps(samples).encode(),
    }


def test_tokens_and_costs_of_answers_are_facts_of_the_respondent(log):
    def used(tokens, answer, **more):
        return {"input_tokens": tokens, "output_tokens": answer, **more}

    path = log(
        [
            sample(0, "C", model_usage={"lab/one": used(100, 10, total_cost=0.5)}),
            sample(1, "I", model_usage={"lab/one": used(100, 20, input_tokens_cache_read=50)}),
            sample(2, "C", model_usage={"lab/one": used(40, 5), "lab/judge": used(10, 1)}),
            sample(3, "C", model_usage={"lab/one": used(-1, "many")}),
            sample(4, "C"),
            sample(5, None, model_usage={"lab/one": used(9999, 9999)}),
        ]
    )
    facts = read_responses(path).respondent_facts.iloc[0]
    assert facts["input_tokens"] == pytest.approx(300 / 3)
    assert facts["output_tokens"] == pytest.approx(36 / 3)
    assert facts["answer_cost"] == 0.5


def test_letters_become_scores(log):
    path = log([sample(n, letter) for n, letter in enumerate("CIPN")])
    found = read_responses(path)
    assert found.values.tolist() == [[1, 0, 0.5, 0]]
    assert found.items == ("riddles/0", "riddles/1", "riddles/2", "riddles/3")


def test_other_values_are_numbers_too(log, subtests):
    for value, score in [(True, 1), ("yes", 1), ("0.25", 0.25), (3, 3)]:
        with subtests.test(value=value, score=score):
            assert read_responses(log([sample(1, value)])).values.tolist() == [[score]]


@pytest.mark.parametrize("method", ["zstd", "deflate"])
def test_an_archive_tells_what_the_document_tells(tmp_path, log, method):
    samples = [sample(1, "C"), sample(2, "I")]
    path = zipped(tmp_path / "log.eval", members(samples), method)
    assert read_responses(path) == read_responses(log(samples))


def test_without_summaries_the_samples_are_read_one_by_one(tmp_path):
    content = members([])
    del content["summaries.json"]
    content |= {f"samples/{n}_epoch_1.json": json.dumps(sample(n, "C")).encode() for n in (1, 2)}
    assert read_responses(zipped(tmp_path / "log.eval", content)).n_items == 2


def test_an_unfinished_archive_is_read_from_its_journal(tmp_path):
    content = members([])
    start = content.pop("header.json")
    content = {
        "_journal/start.json": start,
        "_journal/summaries/1.json": json.dumps([sample(1, "C")]).encode(),
    }
    assert read_responses(zipped(tmp_path / "log.eval", content)).n_items == 1


def test_text_that_is_no_plain_number_is_no_score(log, subtests):
    for text in ["1_0", "\u0661", "0x1", "one"]:
        with subtests.test(text):
            reading = read_logs(log([sample(1, text), sample(2, "C")]))
            assert reading.left_out == {"without a score": 1}


def test_a_plain_value_is_not_one_of_several(log):
    path = log([sample(1, {"style": 1, "truth": 0}), sample(2, "C"), sample(3, {"truth": 1})])
    reading = read_logs(path)
    assert reading.files.loc[0, "metric"] == "match/style"
    assert reading.responses.items == ("riddles/1",)
    assert reading.left_out == {"without a score": 2}


def test_epochs_are_averaged_counted_or_the_first(log):
    samples = [sample(1, v, e) for e, v in enumerate("CIC")]
    samples += [sample(2, "C", e) for e in range(3)]
    path = log(samples)
    assert read_logs(path).responses.values.tolist() == [[2 / 3, 1]]
    grades = read_logs(path, epochs="grades").responses
    assert (grades.kind, grades.values.tolist()) == ("graded", [[2, 3]])
    first = read_logs(path, epochs="first")
    assert first.responses.values.tolist() == [[1, 1]]
    assert first.left_out == {"of later epochs": 4}


def test_an_item_that_lacks_an_epoch_has_no_grade(log):
    path = log([sample(1, "C", 1), sample(1, "C", 2), sample(2, "C", 1)])
    reading = read_logs(path, epochs="grades")
    assert reading.responses.items == ("riddles/1",)
    assert reading.left_out == {"of items that lack some of the epochs": 1}


def test_partial_credit_is_no_grade(log):
    with pytest.raises(InputError, match=r"has the score 0\.5\. Use epochs='mean'"):
        read_logs(log([sample(1, "P")]), epochs="grades")


def test_errors_limits_and_missing_scores_are_counted_by_reason(log):
    samples = [
        sample(1, "C"),
        sample(2, "C", error={"message": "boom"}),
        sample(3, None, limit={"type": "token"}),
        sample(4, None),
        sample(5, float("nan")),
        sample(6, "I", limit={"type": "time"}),
        {"no": "id"},
    ]
    reading = read_logs(log(samples))
    assert reading.responses.items == ("riddles/1", "riddles/6")
    assert reading.left_out == {
        "that ended with an error": 1,
        "stopped by a limit and not scored": 1,
        "that no scorer judged": 1,
        "without a score": 1,
        "without an id": 1,
    }
    assert "1 sample hit a limit" in reading.files.loc[0, "reason"]


def test_a_cancelled_run_is_read_and_said_to_be_one(log):
    reading = read_logs(log([sample(1, "C")], status="cancelled"))
    assert "status cancelled" in reading.files.loc[0, "reason"]


def test_one_of_several_scorers_is_read(log):
    scores = {"match": {"value": "C"}, "judge": {"value": {"style": 0.5, "truth": 0.25}}}
    path = log([sample(1, None) | {"scores": scores}])
    assert read_logs(path).responses.values.tolist() == [[1]]
    assert read_logs(path, metric="truth").responses.values.tolist() == [[0.25]]
    assert read_logs(path, metric="judge").files.loc[0, "metric"] == "judge/style"
    with pytest.raises(FileError, match="it has: match, judge/style, judge/truth"):
        read_logs(path, metric="nonsense")


def test_without_samples_the_reductions_count_or_the_log_is_refused(log):
    reductions = [{"scorer": "match", "samples": [{"sample_id": 1, "value": 1.0}]}]
    assert read_responses(log([], reductions=reductions)).values.tolist() == [[1]]
    with pytest.raises(FileError, match=r"holds no samples \(status: error\)"):
        read_logs(log([], status="error"))


def test_text_and_subject_become_facts(log):
    path = log([sample(1, "C", metadata={"subject": "logic"})])
    facts = read_logs(path, keep_text=True).responses.item_facts
    assert facts.loc["riddles/1", ["subject", "text", "target"]].tolist() == ["logic", "why", "x"]


def test_a_large_document_is_read_piece_by_piece(log, monkeypatch):
    monkeypatch.setattr(bounded_files, "_STEP", 64)
    samples = [sample(n, "C", story="x" * 500) for n in range(40)]
    assert read_responses(log(samples)).n_items == 40


def test_a_value_without_end_is_refused(log, monkeypatch):
    monkeypatch.setattr(bounded_files, "_STEP", 64)
    monkeypatch.setattr(bounded_files, "SMALL", 1000)
    with pytest.raises(FileError, match="holds a value of more than"):
        read_logs(log([sample(1, "C", story="x" * 20_000)]))


def test_a_value_of_too_many_parts_is_refused_before_it_fills_the_memory(
    log, tmp_path, monkeypatch
):
    monkeypatch.setattr(bounded_files, "MOST_PARTS", 1000)
    bomb = [[] for _ in range(2000)]
    with pytest.raises(FileError, match="more than 1,000 lists and objects"):
        read_logs(log([sample(1, "C", bomb=bomb)]))
    content = members([sample(1, "C")]) | {"reductions.json": json.dumps(bomb).encode()}
    with pytest.raises(FileError, match="more than 1,000 lists and objects"):
        read_logs(zipped(tmp_path / "log.eval", content))


def test_a_member_that_is_parsed_whole_must_be_small(tmp_path, monkeypatch):
    monkeypatch.setattr(inspect_ai, "SMALL", 1000)
    content = members([sample(1, "C")]) | {"reductions.json": b"[" + b" " * 2000 + b"]"}
    with pytest.raises(FileError, match=r"reductions\.json' unpacks to .* the limit is 1000 bytes"):
        read_logs(zipped(tmp_path / "log.eval", content), max_bytes=100_000)


def test_members_outside_the_file_are_refused(tmp_path, subtests):
    for size, at in product([2**40, 2**62, 2**63, 2**64 - 1], [20, 42]):
        with subtests.test(size=size, at=at):
            path = zipped(tmp_path / "log.eval", members([sample(1, "C")]))
            whole = bytearray(path.read_bytes())
            first, end = whole.find(b"PK\x01\x02"), whole.rfind(b"PK\x05\x06")
            extra = struct.pack("<HHQ", 1, 8, size)  # ZIP64: the number that does not fit
            struct.pack_into("<I", whole, first + at, 0xFFFFFFFF)
            struct.pack_into("<H", whole, first + 30, len(extra))
            struct.pack_into("<I", whole, end + 12, end - first + len(extra))
            name = first + 46 + len("header.json")
            path.write_bytes(whole[:name] + extra + whole[name:])
            with pytest.raises(FileError, match="lies outside the file"):
                read_logs(path)


def test_a_cut_document_is_refused_by_name(log, subtests):
    for keep in [0.3, 0.6, 0.95]:
        with subtests.test(keep=keep):
            path = log([sample(n, "C") for n in range(50)])
            path.write_bytes(path.read_bytes()[: int(keep * path.stat().st_size)])
            with pytest.raises(FileError, match=r"log\.json.* is not valid JSON"):
                read_logs(path)


def test_deep_nesting_is_refused(log):
    path = log([sample(1, "C", deep="?")])
    path.write_text(path.read_text().replace('"?"', "[" * 100_000 + "]" * 100_000))
    with pytest.raises(FileError, match="nested too deeply"):
        read_logs(path)


def test_a_path_that_escapes_is_refused(tmp_path):
    for name in ("../evil.json", "/etc/evil.json", "samples\\..\\..\\evil.json", "c:/evil.json"):
        path = zipped(tmp_path / "log.eval", members([sample(1, "C")]) | {name: b"{}"})
        with pytest.raises(FileError, match="points out of the archive"):
            read_logs(path)


def test_an_archive_that_unpacks_to_too_much_is_refused_before_it_is(tmp_path):
    path = zipped(tmp_path / "log.eval", members([]) | {"big.json": b"0" * 3_000_000})
    assert path.stat().st_size < 10_000
    with pytest.raises(FileError, match=r"unpacks to 2\.9 MiB, and the limit is"):
        read_logs(path, max_bytes=1_000_000)


def test_a_member_that_is_too_large_says_which_argument_admits_it(tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.data.logs.inspect_ai.SMALL", 1_000)
    path = zipped(tmp_path / "log.eval", members([sample(1, "C")]) | {"header.json": b" " * 5_000})
    with pytest.raises(FileError, match=r"pass max_bytes=640000, or set OGIVE_MAX_BYTES"):
        read_logs(path, max_bytes=100_000)
    with pytest.raises(FileError, match="is not valid JSON"):  # it is read now
        read_logs(path, max_bytes=640_000)


@pytest.mark.parametrize("method", ["zstd", "deflate"])
def test_an_archive_that_lies_about_its_size_is_refused(tmp_path, method):
    content = json.dumps([sample(1, "C", story="x" * 100_000)]).encode()
    path = zipped(tmp_path / "log.eval", {"header.json": content}, method, stated=200)
    with pytest.raises(FileError, match="is not what its archive states"):
        read_logs(path)


def test_too_many_members_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bounded_files, "MOST_MEMBERS", 1)
    path = zipped(tmp_path / "log.eval", members([sample(1, "C")]))
    with pytest.raises(FileError, match="has 2 members; the limit is 1"):
        read_logs(path)


def test_damaged_archives_are_refused_by_name(tmp_path):
    path = zipped(tmp_path / "log.eval", members([sample(1, "C")]))
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"PK\x03\x04", whole[:60] + b"?" * 40 + whole[100:]):
        path.write_bytes(broken)
        with pytest.raises(FileError, match=r"log\.eval"):
            read_logs(path)


def test_encrypted_and_unknown_members_are_refused(tmp_path):
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("header.json", "{}")
    with pytest.raises(FileError, match="compressed by method 14"):
        read_logs(path)


def test_a_summary_names_the_same_question_as_its_sample():
    long = "x" * 6_000
    picture = {"type": "image", "image": "data:..."}
    whole = {
        "input": [
            {"id": "a", "role": "user", "content": [{"type": "text", "text": long}, picture]}
        ],
        "target": [long],
    }
    cut = "x" * 5_120 + "...\n(content truncated)"
    told = [{"type": "text", "text": cut}, {"type": "text", "text": "(Image)"}]
    summary = {"input": [{"id": "b", "role": "user", "content": told}], "target": [cut]}
    assert inspect_ai.question_hash(whole) == inspect_ai.question_hash(summary)


def test_the_order_of_choices_does_not_make_another_question():
    first = {"input": "which?", "choices": ["cat", "dog"], "target": "A"}
    turned = {"input": "which?", "choices": ["dog", "cat"], "target": "B"}
    other = {"input": "which?", "choices": ["cat", "dog"], "target": "B"}
    assert inspect_ai.question_hash(first) == inspect_ai.question_hash(turned)
    assert inspect_ai.question_hash(first) != inspect_ai.question_hash(other)


def test_without_a_question_there_is_no_hash():
    assert inspect_ai.question_hash({"id": 1}) is None


def test_scores_that_are_not_read_are_named(log):
    value = {"style": 1, "truth": 0}
    scores = {"judge": {"value": value}, "match": {"value": "C"}}
    reading = read_logs(log([sample(1, None, scores=scores)]))
    assert reading.files.loc[0, "metric"] == "judge/style"
    (note,) = [note for note in reading.notes if note.startswith("Not read")]
    assert "score judge/truth (riddles), score match (riddles)" in note


def test_secrets_do_not_become_names(tmp_path):
    for at, secret in enumerate(("s3cret", "t0ps3cret")):
        given = {"api_key": secret, "auth": {"token": secret}, "max_tokens": 5 + at, "timeout": at}
        told = EVAL | {"model_args": given, "task_id": str(at)}
        content = document([sample(1, "C")]) | {"eval": told}
        (tmp_path / f"{at}.json").write_text(json.dumps(content))
    found = read_logs(tmp_path).responses
    assert set(found.respondents) == {"lab/one (max_tokens=5)", "lab/one (max_tokens=6)"}
    assert "s3cret" not in found.respondent_facts.to_csv()
    assert not {"timeout", "api_key"} & set(found.respondent_facts)


def test_half_of_a_surrogate_pair_is_no_character_and_is_spelled_out(log):
    path = log([sample("half", 1, more="x"), sample("whole \N{SLIGHTLY SMILING FACE}", 0)])
    text = path.read_text().replace('"half"', '"half \\uD800"')
    path.write_text(text)
    found = read_responses(path)
    assert found.items == (
        "riddles/half \\ud800",
        "riddles/whole \N{SLIGHTLY SMILING FACE}",
    )
    found.save(path.with_suffix(".parquet"))
