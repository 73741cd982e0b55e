"""Several answers to one item: shares and means, their tries, and where they are kept."""

import numpy as np
import pandas as pd
import pytest

from ogive.data.response_files import read_responses
from ogive.data.responses import Responses
from ogive.errors import InputError
from ogive.irt.repeated_responses import combined

NAN = float("nan")


@pytest.fixture
def shares():
    values = [[0.8, 1 / 3, NAN], [NAN, 1.0, 0.0]]
    return Responses(values, ["small", "large"], ["x", "y", "z"], tries=[[5, 3, 0], [0, 1, 4]])


@pytest.fixture
def scores():
    values, spread = [[2.5, 7.0], [NAN, 4.0]], [[0.5, NAN], [NAN, 1.25]]
    return Responses(values, tries=[[4, 1], [0, 2]], spread=spread)


def test_shares_of_tries_are_right_or_wrong(shares):
    assert (shares.kind, shares.tries.tolist()) == ("binary", [[5, 3, 0], [0, 1, 4]])
    assert shares.observed.tolist() == [[True, True, False], [False, True, True]]
    assert repr(shares).endswith("binary, 1 to 5 tries per cell, 2 cells never asked")


def test_other_means_are_scores(scores):
    assert scores.kind == "continuous"
    assert np.isnan(scores.spread[0, 1])  # a single score has no spread
    assert scores.spread[0, 0] == 0.5


def test_the_spread_of_right_and_wrong_follows_from_the_share(shares):
    answers = np.array([1, 1, 1, 1, 0.0])
    assert shares.spread[0, 0] == pytest.approx(answers.std(ddof=1))


def test_rounded_shares_are_made_exact():
    found = Responses([[0.3333333, 0.6666667]], tries=[[3, 3]])
    assert (3 * found.to_frame()).to_numpy().tolist() == [[1, 2]]


def test_one_number_of_tries_holds_for_all_cells():
    assert Responses([[0.5, NAN]], tries=4).tries.tolist() == [[4, 0]]


def test_single_tries_are_a_plain_table():
    found = Responses([[1, 0, NAN]], tries=[[1, 1, 0]])
    assert found.tries is None
    assert found.cells.dtype == np.int8
    assert found == Responses([[1, 0, NAN]])


def test_a_part_without_repeats_is_a_plain_table(shares):
    part = shares.select(items=["y"], respondents=["large"])
    assert part.tries is None
    assert part.cells.tolist() == [[1]]
    assert shares.select(items=["z", "x"]).tries.tolist() == [[0, 5], [4, 0]]


def test_tries_count_when_tables_are_compared(shares):
    assert shares == Responses(shares.values, shares.respondents, shares.items, tries=shares.tries)
    more = np.where(shares.tries > 0, 2 * shares.tries, 0)
    assert shares != Responses(shares.values, shares.respondents, shares.items, tries=more)


def test_kind_can_change_and_tries_stay(shares):
    as_scores = shares.of_kind("continuous")
    assert as_scores.tries.tolist() == shares.tries.tolist()
    assert np.array_equal(as_scores.spread, shares.spread, equal_nan=True)
    assert as_scores.of_kind("binary") == shares


@pytest.mark.parametrize("ending", [".csv", ".tsv.gz", ".parquet"])
def test_files_keep_tries(shares, scores, tmp_path, ending):
    for at, table in enumerate((shares, scores, shares.select(respondents=["large", "small"]))):
        found = read_responses(table.save(tmp_path / f"{at}{ending}"))
        assert found == table
        assert np.array_equal(found.spread, table.spread, equal_nan=True)


def test_parquet_keeps_facts_beside_tries(shares, tmp_path):
    told = shares.described(items={"task": ["a", "b", "b"]}, notes=["as is"])
    found = read_responses(told.save(tmp_path / "x.parquet"))
    assert found.item_groups("task") == ("a", "b", "b")
    assert found.notes == ("as is",)


def test_a_long_frame_goes_there_and_back(shares):
    frame = shares.to_long()
    assert frame.columns.tolist() == ["respondent", "item", "response", "tries"]
    assert Responses.from_long(frame) == shares


def test_several_rows_of_a_pair_are_repeated_answers(subtests, tmp_path):
    rows = [("a", "x", 1, 1), ("a", "x", 0, 2), ("a", "y", 1, 1), ("b", "x", 1, 1)]
    frame = pd.DataFrame(rows, columns=["model", "item", "score", "epoch"])
    frame.to_csv(tmp_path / "long.csv", index=False)
    frame.to_parquet(tmp_path / "long.parquet", index=False)
    frame.to_json(tmp_path / "long.jsonl", orient="records", lines=True)
    for ending in ("csv", "parquet", "jsonl"):
        with subtests.test(ending):
            found = read_responses(tmp_path / f"long.{ending}")
            assert found.tries.tolist() == [[2, 1], [1, 0]]
            assert np.array_equal(found.values, [[0.5, 1], [1, NAN]], equal_nan=True)
            (note,) = found.notes
            assert note.startswith("One pair has several responses, such as 'a' on 'x' with 2")


def test_a_missing_answer_is_not_a_try():
    frame = pd.DataFrame({"respondent": ["a"] * 3, "item": ["x"] * 3, "response": [1, NAN, 0]})
    found = Responses.from_long(frame)
    assert found.tries.tolist() == [[2]]
    assert found.cells.tolist() == [[0.5]]


def test_lines_of_py_irt_may_repeat(tmp_path):
    line = '{"subject_id": "a", "responses": {"q": %d}}\n'
    (tmp_path / "x.jsonl").write_text(line % 1 + line % 0)
    assert read_responses(tmp_path / "x.jsonl").cells.tolist() == [[0.5]]


def test_combined_scores_are_those_of_all_answers_together():
    answers = {7: [1.0, 4.0, 2.0], 3: [0.5], 5: [2.0, 2.0]}
    pairs = np.array([7, 3, 7, 5, 7, 5])
    found = combined(pairs, np.array([1.0, 0.5, 4.0, 2.0, 2.0, 2.0]))
    assert found.first.tolist() == [0, 1, 3]
    for at, scores in enumerate(answers.values()):
        assert found.mean[at] == np.mean(scores)
        assert found.tries[at] == len(scores)
    assert found.spread[0] == pytest.approx(np.std(answers[7], ddof=1))
    # The same from means of parts
    parts = combined(
        np.array([7, 7]), np.array([2.5, 2.0]), np.array([2, 1]), np.array([1.5 * 2**0.5, NAN])
    )
    assert (parts.mean[0], parts.tries[0]) == (pytest.approx(7 / 3), 3)
    assert parts.spread[0] == pytest.approx(found.spread[0])


BAD = [
    ({"tries": [[2]]}, r"tries has shape \(1, 1\)"),
    ({"tries": [[2, 0]]}, "item 'item_2' has 0 tries, but a response has"),
    ({"tries": [[2, 1.5]]}, "has 1.5 tries"),
    ({"tries": [[2, -1]]}, "has -1 tries"),
    ({"tries": [[2, 10**9]]}, "from 1 to 1,000,000"),
    ({"tries": [["a", "b"]]}, "type <U1"),
    ({"tries": [[2, 2]], "spread": [[1]]}, "spread has shape"),
    ({"tries": [[2, 2]], "spread": [[-1, 0]]}, "has the spread -1"),
    ({"tries": [[3, 3]], "kind": "binary"}, "holds 0.5 of 3 tries"),
    ({"tries": [[2, 2]], "kind": "graded"}, "a mean is not a grade"),
]


def test_bad_tries_are_explained(subtests):
    for given, message in BAD:
        with subtests.test(message), pytest.raises(InputError, match=message):
            Responses([[0.5, 1.0]], **given)


def test_an_infinite_score_is_refused_beside_tries():
    with pytest.raises(InputError, match="infinite"):
        Responses([[float("inf")]], tries=[[2]])
