"""Tables that are joined, and parts that no item links."""

import re

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive import Responses
from ogive.irt.item_curves import told_parameters
from ogive.reporting.page import in_short, sentences_in
from ogive.reporting.sections import Section, gather, sections_of
from ogive.reporting.session import ViewSession
from ogive.reporting.sources import analysed, joined, linked

NAN = np.nan


ONE = Responses([[1, 0], [0, 1]], ["ann", "bob"], ["q1", "q2"]).described(
    items={"task": ["sums", "sums"]}
)


def test_a_further_model_becomes_a_row_and_a_further_item_a_column():
    other = Responses([[1, 1]], ["eve"], ["q2", "q3"]).described(items={"task": ["sums", "maps"]})
    (table,) = joined({"a": ONE, "b": other}).values()
    assert table.respondents == ("ann", "bob", "eve")
    assert table.items == ("q1", "q2", "q3")
    np.testing.assert_array_equal(table.values, [[1, 0, NAN], [0, 1, NAN], [NAN, 1, 1]])
    assert table.item_groups("task") == ("sums", "sums", "maps")


def test_the_same_model_with_new_items_stays_one_row():
    (table,) = joined({"a": ONE, "b": Responses([[1, NAN]], ["ann"], ["q3", "q1"])}).values()
    assert table.respondents == ("ann", "bob")
    np.testing.assert_array_equal(table.values[0], [1, 0, 1])


def test_the_same_model_asked_again_is_named_after_its_file():
    (table,) = joined({"a": ONE, "b": Responses([[1, 1]], ["ann"], ["q1", "q2"])}).values()
    assert table.respondents == ("ann", "bob", "ann (b)")


def test_tables_without_a_common_item_or_of_another_kind_stay_apart():
    strange = Responses([[1, 0]], ["ann"], ["z1", "z2"])
    graded = Responses([[0, 3], [2, 1]], ["x", "y"], ["q1", "q2"], kind="graded")
    assert list(joined({"a": ONE, "b": strange, "c": graded})) == ["a", "b", "c"]


def test_scores_and_tries_are_kept():
    score = Responses([[0.25, 0.5]], ["ann"], ["q1", "q2"])
    (table,) = joined({"a": score, "b": Responses([[0.75, 1]], ["bob"], ["q1", "q2"])}).values()
    assert table.values.tolist() == [[0.25, 0.5], [0.75, 1.0]]
    many = Responses([[0.5, 1.0]], ["eve"], ["q1", "q2"], kind="binary", tries=[[2, 2]])
    (table,) = joined({"a": ONE, "b": many}).values()
    assert table.values[2].tolist() == [0.5, 1.0]
    assert table.tries[:, 0].tolist() == [1, 1, 2]


def test_parts_that_no_item_links_are_never_on_one_scale():
    table = Responses(
        [[1, 0, NAN], [0, 1, NAN], [NAN, NAN, 1]], ["ann", "bob", "eve"], ["q1", "q2", "q3"]
    )
    found = linked({"logs": table, "one": ONE})
    assert list(found.tables) == ["logs: ann and 1 more", "logs: eve", "one"]
    assert found.tables["logs: eve"].items == ("q3",)
    assert found.whole == {"logs: ann and 1 more": (table, 0), "logs: eve": (table, 1)}
    assert found.notes == ["logs: no item links its 2 parts, so each has a scale of its own."]


ITEMS = 10


def unlinked(sizes, kind="binary", seed=0):
    """Parts of these sizes; items of later ones are easier."""
    random = np.random.default_rng(seed)
    values = np.full((sum(sizes), ITEMS * len(sizes)), np.nan)
    for k, size in enumerate(sizes):
        first = sum(sizes[:k])
        easy = random.normal(0, 1, (size, 1)) - random.normal(-0.7 * k, 1, ITEMS)
        chance = 1 / (1 + np.exp(-easy))
        drawn = {
            "binary": lambda p: random.random(p.shape) < p,
            "graded": lambda p: random.binomial(3, p),
            "continuous": lambda p: np.clip(p + random.normal(0, 0.1, p.shape), 0.01, 0.99),
        }[kind](chance)
        values[first : first + size, ITEMS * k : ITEMS * (k + 1)] = drawn
    names = [f"m{k}" for k in range(len(values))]
    return og.Responses(values, names, [f"q{k}" for k in range(values.shape[1])], kind)


@pytest.mark.parametrize("kind", ["binary", "graded", "continuous"])
def test_every_part_has_its_origin_at_its_own_mean(kind):
    table = unlinked((5, 4, 3), kind)
    found = og.calibrate(table)
    means = found.abilities().groupby("part")["ability"].mean()
    np.testing.assert_allclose(means, 0.0, atol=1e-3)
    assert np.isfinite(found.abilities()["se"]).all()


def test_moving_the_origin_of_parts_leaves_the_joint_fit(monkeypatch):
    table = unlinked((30, 30), seed=1)
    moved = og.calibrate(table, "2pl")
    with monkeypatch.context() as without:
        without.setattr("ogive.irt.calibrating.at_own_origins", lambda found: found)
        joint = og.calibrate(table, "2pl")
    assert moved.log_likelihood == joint.log_likelihood
    for _, items in moved.items.groupby("part"):
        shift = items["difficulty"] - joint.items.loc[items.index, "difficulty"]
        steep = items["discrimination"].abs() > 0.1
        np.testing.assert_allclose(shift[steep], shift[steep].iloc[0], atol=1e-6)
    np.testing.assert_allclose(moved.items["discrimination"], joint.items["discrimination"])


def test_every_part_of_a_report_is_shown_or_named(monkeypatch):
    monkeypatch.setattr("ogive.reporting.sources.MOST_PARTS", 1)
    table = unlinked((4, 3, 2, 1))
    given = gather(analysed(table))
    board = given.results["Leaderboard"]
    assert set(board.respondents) == set(table.respondents)
    scales = [each for each in given.results.values() if isinstance(each, og.Calibration)]
    assert [each.n_respondents for each in scales] == [4, 3, 2]
    assert any(title.endswith(", part 1") for title in given.results)
    for part, who, why in (
        ("diagnoses of part 2", "m4, m5, m6", "1 parts are diagnosed"),
        ("diagnoses of part 3", "m7, m8", "at least 3 respondents"),
        ("scale of part 4", "m9", "shares no item with others"),
    ):
        assert who in given.missing[part]
        assert why in given.missing[part]
    for number, best in ((2, "m[456]"), (3, "m[78]"), (4, "m9")):
        assert re.search(rf"{best}\)? on board {number} \(accuracy", " ".join(board.notes))


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3, 3, 3), (4, 3, 3, 3, 3, 3)])
def test_a_page_of_parts_says_five_sentences_first(sizes):
    given = gather(analysed(unlinked(sizes)))
    sections = sections_of(given.results, lambda: "figure", set(given.results))
    assert len(in_short(sections)) == 5
    scales = [each for each in given.results.values() if isinstance(each, og.Calibration)]
    assert len(scales) == len(sizes)


def test_a_report_the_boards_and_the_view_have_the_same_numbers(tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.reporting.sources.MOST_PARTS", 0)
    table = unlinked((4, 3, 1))
    given = gather(analysed(table))
    wanted = og.leaderboard(table).to_frame()
    pd.testing.assert_frame_equal(given.results["Leaderboard"].to_frame(), wanted)
    session = ViewSession([table.save(tmp_path / "scores.parquet")])
    session.look()
    for name, part in session.opened.tables.items():
        session._calibrate(name, part)
    report = [each for each in given.results.values() if isinstance(each, og.Calibration)]
    *scales, alone = session.snapshot.scales
    assert alone.n_respondents == 1
    for scale, found in zip(scales, report, strict=True):
        answers = scale.scale.content["answers"]
        ability = pd.Series(answers["ability"], answers["respondents"])
        np.testing.assert_allclose(ability, wanted["ability"][ability.index], rtol=1e-4)
        np.testing.assert_allclose(
            found.abilities()["ability"][ability.index], ability, rtol=1e-4, atol=1e-5
        )
        hard = scale.scale.items["difficulty"]
        told = told_parameters(found.items)["difficulty"]
        np.testing.assert_allclose(told[hard.index], hard, rtol=1e-4)
        pairs = {each["name"]: each for each in scale.respondent(0)["pairs"]["columns"]}
        assert len(pairs["verdict"]["values"]) == len(ability) - 1
    session.close()


def test_a_headline_is_one_sentence_though_names_begin_in_small_letters():
    said = "gpt-4 :( leads with 0.9. llama is next. b vs. c: no difference. Rely on it."
    assert sentences_in(said) == [
        "gpt-4 :( leads with 0.9.",
        "llama is next.",
        "b vs. c: no difference.",
        "Rely on it.",
    ]
    sections = [
        Section(f"{part} {k}", part=part, headline=said.replace("gpt", f"{part}-{k}"))
        for part in ("finding", "items", "check")
        for k in range(4)
    ]
    rows = in_short(sections)
    assert len(rows) == 5
    assert sum(len(re.findall(r"[.!?](?= |$)", text)) for _, text in rows) <= 5 + 1  # "vs."
