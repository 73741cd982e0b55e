"""The page of one model, the list of items to mend, and addresses of everything."""

import csv
import re
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

import ogive as og
from ogive.reporting.sources import analysed
from ogive.results.numbers import with_reach
from ogive.stats.intervals import Grouping, t_reach
from ogive.stats.pairwise_tests import compare_pairs

ONE = "#models-one"


@pytest.fixture(scope="module")
def board(responses):
    return og.leaderboard(responses, calibration=og.calibrate(responses))


@pytest.fixture
def page(visit, answers):
    return visit(answers).page


def test_a_model_page_says_whom_it_beats(page, board):
    best = board.respondents[0]
    options = page.locator("#models-model option").all_inner_texts()
    assert options == list(board.respondents)  # and not by ability, where another may be ahead
    assert page.inner_text(f"{ONE} .name") == best
    assert f"place 1 of {len(options)} on the leaderboard, accuracy " in page.inner_text(ONE)
    page.select_option("#models-model", label=best)
    beaten = board.pairs.query("respondent == @best and verdict == 'better'")["other"]
    said = page.inner_text(ONE)
    assert f"Significantly better than ({len(beaten)})" in said
    assert "Significantly worse than (0)" in said
    assert all(name in said for name in beaten)


def test_a_model_page_says_where_it_fails(page, responses):
    name = "model 7"
    page.select_option("#models-model", label=name)
    rows = page.locator(f"{ONE} .table").first.locator("tbody tr").all_inner_texts()
    assert {row.split("\t")[0] for row in rows} == {"sums", "words", "maps"}
    mine = responses.values[responses.respondents.index(name)]
    tasks = np.array(responses.item_facts["task"])
    for row in rows:
        task, items, mean, *_ = row.split("\t")
        assert int(items) == 10
        assert float(mean) == pytest.approx(mine[tasks == task].mean(), abs=5e-4)


def test_unexpected_responses_are_those_the_calibration_did_not_expect(page, responses):
    calibration = og.calibrate(responses)
    name = "model 30"
    page.select_option("#models-model", label=name)
    ability = calibration.abilities().loc[name, "ability"]
    chance = calibration.probability([ability]).to_numpy()[0]
    mine = responses.values[responses.respondents.index(name)]
    wrong = [responses.items[k] for k in np.flatnonzero((mine == 0) & (chance > 0.8))]
    shown = page.locator(f"{ONE} .table", has_text="Unexpected wrongs").locator(
        "tbody tr td:first-child"
    )
    assert sorted(shown.all_inner_texts()) == sorted(wrong)


def test_names_of_models_lead_to_their_page(page):
    page.locator("#leaderboard td a.link").nth(3).click()
    name = page.locator("#leaderboard td a.link").nth(3).inner_text()
    page.wait_for_selector(f"{ONE} .name >> text='{name}'")
    assert page.evaluate("location.hash") == f"#model=Calibration/{name.replace(' ', '%20')}"


def test_the_fix_list_shows_suspects_and_saves_them(page, responses):
    trouble = og.label_trouble(og.calibrate(responses, "1pl")).to_frame()
    suspects = list(trouble.index[trouble["suspect"]])
    rows = page.locator("#fix-list tbody tr")
    assert rows.locator("td:first-child").all_inner_texts() == suspects
    assert "It is a longer question" in rows.first.inner_text()
    with page.expect_download() as waiting:
        page.locator("#fix-list button", has_text="CSV").click()
    assert waiting.value.suggested_filename == "fix-list-calibration.csv"
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        saved = list(csv.DictReader(file))
    assert [row["item"] for row in saved] == suspects
    ability = og.calibrate(responses, "1pl").abilities()["ability"].to_numpy()
    strong = np.argsort(-ability, kind="stable")[:20]
    right = int(responses.values[strong, responses.items.index(suspects[0])].sum())
    assert saved[0]["strongest_third_right"] == f"{right} of 20"


def test_the_fix_list_has_pictures_labels_and_what_models_say(visit, tmp_path):
    X, y = np.random.default_rng(0).random((40, 4)), np.arange(40) % 2
    given = y.copy()
    given[:3] = 1 - given[:3]
    chance = np.where(y == 1, 0.95, 0.05)
    scores = {f"m{k}": np.column_stack([1 - chance, chance]) for k in range(4)}
    right = np.array([(chance > 0.5) == given for _ in range(4)], dtype=float)
    right = np.vstack([right, np.random.default_rng(1).random((30, 40)) < 0.7])
    table = og.Responses(right, items=[f"i{k}" for k in range(40)])
    found = og.calibrate(table, "1pl")
    trouble = og.label_trouble(found, scores=scores, labels=given)
    trouble = replace(trouble, suspect=np.arange(40) < 2)
    pictures = {f"i{k}": X[k].reshape(2, 2) for k in range(40)}
    path = og.write_report(tmp_path / "page.html", [found, trouble], instances=pictures)
    page = visit(path).page
    row = page.locator("#fix-list tbody tr").first
    assert row.locator("img.thumb").count() == 1
    heads = page.locator("#fix-list th").all_inner_texts()
    assert {"given label", "models say"} <= set(heads)


@pytest.mark.parametrize("scale", ["Calibration", "anything"])
def test_an_address_opens_an_item_and_a_model(visit, answers, scale):
    page = visit(answers, folded=True, at=f"#item={scale}/question%2015").page
    if scale == "Calibration":
        assert page.inner_text("#explorer-item h3") == "question 15"
    page = visit(answers, folded=True, at=f"#model={scale}/model%2042").page
    assert page.inner_text(f"{ONE} .name") == "model 42"
    assert page.locator("#one-model details[open]").count() == 1


def test_choices_are_kept_in_the_address(page):
    page.focus("#explorer-chart")
    page.keyboard.press("Home")
    name = page.inner_text("#explorer-item h3")
    assert page.evaluate("decodeURIComponent(location.hash)") == f"#item=Calibration/{name}"
    page.select_option("#models-model", label="model 5")
    assert page.evaluate("decodeURIComponent(location.hash)") == "#model=Calibration/model 5"


def test_dots_say_what_they_are(page):
    titles = page.locator("#leaderboard figure title").all_text_contents()
    assert len(titles) == 25
    assert " to " in titles[0]
    dots = page.locator("#explorer-item circle title").all_text_contents()
    assert len(dots) == 60
    assert dots[0].startswith("model ")


@pytest.mark.slow
def test_scores_have_a_model_page_too(visit, tmp_path):
    table = og.simulate("continuous", 30, 12, random_state=0).responses
    page = visit(og.write_report(tmp_path / "page.html", analysed(table))).page
    assert "Lower than expected" in page.inner_text(ONE)
    assert "mean response to 12 items" in page.inner_text(ONE)


def test_two_models_have_the_interval_of_the_board(visit, tmp_path):
    grades = np.random.default_rng(0).integers(0, 5, (5, 24))
    grades[0] = np.minimum(grades[0] + 1, 4)
    table = og.Responses(grades, respondents=list("abcde"))
    scale = og.calibrate(table, "graded")
    board = og.leaderboard(table, calibration=scale)
    pair = board.pairs.iloc[0]
    wanted = " to ".join(
        f"{pair[end]:.3f}".rstrip("0").replace("-", "−") for end in ("low", "high")
    )
    for name, results in {"alone": scale, "with": [board, scale]}.items():
        opened = visit(og.write_report(tmp_path / f"{name}.html", results)).page
        opened.select_option("#compare-one", label=pair["respondent"])
        opened.select_option("#compare-other", label=pair["other"])
        opened.wait_for_selector(f"#compare-said:has-text('and {pair['other']} ')")
        assert f"95 % interval {wanted}." in opened.inner_text("#compare-said")


def test_two_models_in_raw_units_have_no_interval_of_tasks_in_one_unit(visit, tmp_path):
    """A difference of -0.045 stood beside an interval from 0.059 to 0.211."""
    random = np.random.default_rng(5)
    right = random.random((8, 150)) < np.array([[0.85], [0.65]] * 4)
    grades = np.clip(np.round(random.normal([[2.4], [3.4]] * 4, 1, (8, 50))), 0, 5)
    table = og.Responses(np.hstack([right, grades]), kind="graded")
    table = table.described(items={"task": ["right"] * 150 + ["graded"] * 50})
    scale = og.calibrate(table)
    page = visit(og.write_report(tmp_path / "page.html", [og.leaderboard(table), scale])).page
    page.select_option("#compare-one", label="respondent_1")
    page.select_option("#compare-other", label="respondent_2")
    page.wait_for_selector("#compare-said:has-text('and respondent_2 ')")
    said = page.inner_text("#compare-said").replace("−", "-")
    number = r"(-?[\d.]+)"
    found = re.search(f"a difference of {number}, 95 % interval {number} to {number}\\.", said)
    difference, low, high = map(float, found.groups())
    assert low < difference < high
    assert "On the leaderboard, whose notes say in which units" in said


def test_two_models_follow_clusters_and_level_of_the_board(visit, responses, tmp_path):
    clustered = responses.described(items={"page": [str(k // 5) for k in range(30)]})
    board = og.leaderboard(clustered, cluster="page", confidence=0.9)
    page = visit(og.write_report(tmp_path / "board.html", board)).page
    pair = board.pairs.iloc[3]
    page.select_option("#compare-one", label=pair["other"])  # the other way round
    page.select_option("#compare-other", label=pair["respondent"])
    page.wait_for_selector(f"#compare-said:has-text('and {pair['respondent']} ')")
    ends = [f"{-pair[end]:.3f}".rstrip("0").replace("-", "−") for end in ("high", "low")]
    said = page.inner_text("#compare-said")
    assert f"90 % interval {ends[0]} to {ends[1]}." in said
    assert "McNemar" not in said


def test_the_page_knows_the_quantiles_of_students_t(chromium):
    source = files("ogive.reporting").joinpath("assets", "compare.js").read_text("utf-8")
    context = chromium.new_context()
    count = "Array.from({ length: 200 }, (_, k) => studentReach(k + 1))"
    found = context.new_page().evaluate(f"() => {{ {source}; return {count}; }}")
    context.close()
    assert found == pytest.approx(t_reach(np.arange(1.0, 201.0), 0.95), abs=1e-4)


def test_an_ability_is_rounded_once(page, responses):
    board = og.leaderboard(responses)
    for name in board.respondents[:12]:
        page.select_option("#models-model", label=name)
        page.wait_for_selector(f"{ONE} .name:text-is('{name}')")
        row = board.to_frame().loc[name]
        said = page.inner_text(f"{ONE} p >> nth=0").replace("−", "-")
        assert said.startswith(f"Ability {with_reach(row['ability'], row['ability_se'])}, place")


def test_one_model_alone_has_no_ability(visit, tmp_path):
    table = og.Responses([[1, 0, 1, 1, 0, 1]], respondents=["ann"])
    page = visit(og.write_report(tmp_path / "one.html", analysed(table))).page
    said = page.inner_text(ONE)
    assert "4 of 6 items right" in said
    assert "Ability" not in said
    assert "place" not in said
    assert "Unexpected" not in said


def test_the_page_and_the_leaderboard_have_the_same_intervals_of_pairs(chromium):
    """An interval excluded 0 beside an exact test that did not reject it."""
    context = chromium.new_context()
    page = context.new_page()
    source = files("ogive.reporting").joinpath("assets", "compare.js").read_text("utf-8")
    few = [(5, 0, 40), (6, 0, 40), (0, 6, 300), (9, 2, 60), (3, 3, 9)]
    for one, other, n in [*few, (19, 8, 300), (150, 110, 2000)]:
        ends = page.evaluate(
            f"() => {{ {source}; const p = exactP({one}, {other});"
            f"return agreeing(pairedShares({one}, {other}, {n}), p, {one}, {other}, {n}); }}"
        )
        rows = np.zeros((2, n))
        rows[0, :one], rows[1, one : one + other] = 1, 1
        whole, each = Grouping.of(np.zeros(n, int), np.arange(n)), np.ones(2, dtype=bool)
        rule = {"once": each, "bounded": True, "confidence": 0.95, "correction": "holm"}
        pairs = compare_pairs(rows, whole, **rule)
        assert [ends["low"], ends["high"]] == pytest.approx([pairs.low[0], pairs.high[0]], abs=1e-6)
        assert (ends["low"] <= 0 <= ends["high"]) == (pairs.p[0] > 0.05)
    context.close()
