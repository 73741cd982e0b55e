"""A page does not contradict itself: marks, scales, and numbers as a stranger reads them."""

import json
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.benchmarking.decoder import gathered_notes
from ogive.reporting.explorer import scales_of
from ogive.reporting.sections import picture_of
from ogive.reporting.sources import analysed
from ogive.results.plots.rankings import RankingDisplay

MARKS = {"optimal": 1.0, "pessimal": 0.0}


@pytest.fixture(scope="module")
def marked():
    """Six rivals and two artificial respondents on 30 items."""
    real = og.simulate("1pl", 6, 30, random_state=3).responses.to_frame()
    ends = pd.DataFrame({name: [value] * 30 for name, value in MARKS.items()}, real.columns).T
    return og.Responses.from_frame(pd.concat([ends, real]))


def data_of(path):
    """The data that the script of a page reads."""
    text = path.read_text("utf-8")
    return json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])


def test_marks_are_not_among_the_models_of_the_explorer(marked):
    (scale,) = scales_of({"scale": og.calibrate(marked, "1pl")}, None)
    assert set(scale.content["answers"]["respondents"]) == set(marked.respondents) - set(MARKS)


def test_items_are_explored_once_and_pairs_belong_to_their_items(marked, tmp_path):
    other = og.Responses(marked.cells[:, :12] * 1.0, respondents=marked.respondents)
    found = {
        "Benchmark": og.decode_responses({"long": marked, "short": other}, model="1pl"),
        "Leaderboard": og.leaderboard(marked),
    }
    data = data_of(og.write_report(tmp_path / "report.html", found))
    assert [scale["name"] for scale in data["scales"]] == ["long", "short"]
    pairs = [each for each in data["tables"].values() if each["caption"] == "Pairs"]
    assert [table["scales"] for table in pairs] == [["long"]]


def test_true_scores_have_marks_below_all_models(marked):
    shown = og.decode_responses({"one": marked}, model="1pl").plot("scores", "one")
    names = [tick.get_text() for tick in shown.ax_.get_yticklabels()]
    assert set(names[-2:]) == set(MARKS)


def test_what_holds_of_several_data_sets_is_noted_once():
    notes = [("iris", "left out."), ("wine", "few items."), ("digits", "left out.")]
    said = gathered_notes(notes)
    assert said == ["iris and digits: left out.", "wine: few items."]


def test_dots_say_their_row_and_their_number():
    frame = pd.DataFrame({"ability": [1.25, 0.5], "se": [0.1, 0.2]}, index=["m1", "m2"])
    drawn = picture_of(RankingDisplay(frame), "Abilities", "f1")
    assert re.findall("<title>(.*?)</title>", drawn) == ["m1, ability 1.25", "m2, ability 0.5"]


def test_means_of_grades_are_called_mean_scores(subtests):
    grades = np.random.default_rng(0).integers(0, 5, (4, 30))
    board = og.leaderboard(og.Responses(grades))
    assert "the highest mean score" in board.meaning
    assert board.plot().ax_.get_xlabel().startswith("mean score")
    for name, frame in board.page_tables().items():
        with subtests.test(name):
            assert not [column for column in frame if "accuracy" in column]


def test_all_algorithms_that_are_best_on_a_problem_are_named():
    runs = np.random.default_rng(0).random((20, 3)) * 0.8 + 0.1
    runs[0] = [0.9, 0.9, 0.2]
    frame = og.portfolio(pd.DataFrame(runs, columns=["a", "b", "c"]), bounds=(0, 1)).problems
    assert frame.iloc[0][["best_algorithm", "shared_by"]].tolist() == ["a, b", 2]
    assert (frame["shared_by"].iloc[1:] == 1).all()


@pytest.fixture(scope="module")
def constant():
    """Eight respondents, 40 items: four solved by all, four by none, whose slopes say nothing."""
    values = og.simulate("2pl", 8, 40, random_state=5).responses.to_frame().to_numpy(copy=True)
    values[:, :4], values[:, 4:8] = 1.0, 0.0
    values[:, 8:11] = 1 - values[:, 20:23]
    return og.calibrate(og.Responses(values), "2pl")


def test_what_all_answered_alike_has_one_form_everywhere(constant, subtests):
    """Its nominal curve may rise or fall, so that it was called easy, hard and negative."""
    (scale,) = scales_of({"scale": constant}, None)
    health = og.item_health(constant.responses, constant)
    assert scale.items["difficulty"].iloc[:8].tolist() == [-np.inf] * 4 + [np.inf] * 4
    assert scale.items["discrimination"].iloc[:8].isna().all()
    assert health.items[["difficulty", "discrimination"]].iloc[:8].isna().all(axis=None)
    words = ["solved by all"] * 4 + ["solved by none"] * 4
    for name, frame in {
        "explorer": scale.items["flag"],
        "health": health.items["problems"],
    }.items():
        with subtests.test(name):
            assert frame.iloc[:8].tolist() == words
    below = int((scale.items["discrimination"] < 0).sum())
    assert f"{below} items have an estimated discrimination below zero" in constant.meaning
    assert any(f"{below} items have a negative discrimination" in note for note in health.notes)
    both = [scale.items, health.items]
    told = [frame["difficulty"][frame["discrimination"] < -0.1] for frame in both]
    pd.testing.assert_series_equal(*told, check_names=False)


def test_no_asymptote_is_shown_of_what_all_answered_alike_but_sums_of_chances_use_it(constant):
    """A guessing of 0.21 stood beside an infinite difficulty, and sums took it for 0."""
    cal = og.calibrate(constant.responses, "4pl")
    (scale,) = scales_of({"scale": cal}, None)
    asymptotes = scale.items[["guessing", "guessing_se", "slip", "slip_se"]]
    assert asymptotes.iloc[:8].isna().all(axis=None)
    assert asymptotes.iloc[8:].notna().all(axis=None)
    nominal = scale.content["curve"]["nominal"]
    curve = cal.items[["discrimination", "difficulty", "guessing", "slip"]]
    assert {row: pytest.approx(list(curve.iloc[row]), rel=1e-3) for row in range(8)} == nominal


def test_the_page_says_why_an_item_that_all_answered_alike_has_no_curve(visit, constant, tmp_path):
    path = og.write_report(tmp_path / "report.html", constant)
    for item, curves in (("item_1", False), ("item_20", True)):
        page = visit(path, folded=True, at=f"#item=Calibration/{item}").page
        assert page.inner_text("#explorer-item h3") == item
        words = page.locator("#explorer-item svg text").all_text_contents()
        assert any("No curve" in word for word in words) is not curves


def test_the_map_shows_what_has_no_place_beside_it_and_nothing_flat_stretches_it(
    visit, constant, tmp_path
):
    page = visit(og.write_report(tmp_path / "report.html", constant)).page
    said = page.inner_text("#explorer-beyond")
    assert "8 items lie below the map" in said
    assert "4 solved by all (left), 4 solved by none (right)" in said
    below = int((constant.items["discrimination"].iloc[8:] < 0).sum())
    page.select_option("#explorer-sign", "negative")
    assert page.inner_text("#explorer-table .count").startswith(f"{below} of 40 rows")
    page.click("#explorer-clear")
    page.fill("#explorer-difficulty-from", "6.5")
    rows = page.locator("#explorer-table tbody tr").all_inner_texts()
    assert sum("solved by none" in row for row in rows) == 4
    assert not [row for row in rows if "solved by all" in row]


def test_far_difficulties_do_not_stretch_the_map(chromium):
    """Flat items made it run from -400 to 400, with all others on one line."""
    page = chromium.new_page()
    assets = files("ogive.reporting").joinpath("assets")
    source = assets.joinpath("chart.js").read_text("utf-8").replace("drawChart(chart);\n}", "}")
    values = [-400.0] * 3 + np.linspace(-2, 2, 40).tolist() + [390.0]
    code = (
        f"() => {{ {source}; const chart = {{}}; const difficulty = {values};"
        "placeItems(chart, difficulty.map((_, k) => k), { difficulty, discrimination: difficulty,"
        "isFar: (row) => Math.abs(difficulty[row]) > 6 }, []); return chart.across; }"
    )
    low, high = page.evaluate(code)
    assert -3 < low < high < 3
    page.close()


@pytest.fixture(scope="module")
def shown(chromium):
    """How the page shows the columns of a table: the first row by heading."""
    page = chromium.new_page()
    assets = files("ogive.reporting").joinpath("assets")
    data = assets.joinpath("data.js").read_text("utf-8").replace("const DATA =", "const _ =")
    page.set_content('<script id="data" type="application/json">{}</script>')
    source = data + assets.joinpath("numbers.js").read_text("utf-8")

    def show(**columns):
        given = [{"name": k, "kind": "number", "values": v} for k, v in columns.items()]
        table = json.dumps({"columns": given})
        code = f"Object.fromEntries(shownColumns({table}).map((c) => [c.name, c.text(0)]))"
        return page.evaluate(f"() => {{ {source}; return {code}; }}")

    yield show
    page.close()


def test_an_interval_stands_with_the_estimate_that_lies_in_it(shown):
    rating = {"rating": [2111], "deviation": [57.7], "volatility": [0.06]}
    row = shown(**rating, low=[1996], high=[2227])
    assert row["rating (interval)"] == "2,111 (1,996 to 2,227)"
    assert row["volatility"] == "0.0600"


def test_next_to_nothing_is_not_written_as_zero_or_below_one(shown):
    assert shown(chance=[1e-30, 0])["chance"] == "<0.0001"
    assert shown(difference=[3.7e-6], difference_se=[1.1e-6])["difference ± SE"] == "<0.0001"
    row = shown(difference=[3e-9], difference_se=[5e-4])
    assert row["difference ± SE"] == "0 ± 0.0005"
    assert shown(accuracy=[None], accuracy_low=[None], accuracy_high=[None]) == {}
    row = shown(accuracy=[None, 1], accuracy_low=[None, 0.5], accuracy_high=[None, 1])
    assert row["accuracy (interval)"] == "–"


def test_difficulties_beyond_the_scale_are_not_given_exactly(shown):
    items = {"difficulty": [626.5, -1, 1], "difficulty_se": [186, 0.2, 0.2]}
    row = shown(**items, discrimination=[0.0, 1, 1], slip=[0, 0, 0], slip_se=[0, 0, 0])
    assert row["difficulty ± SE"] == "> 6"
    assert set(row) == {"difficulty ± SE", "discrimination"}
    weak = {"difficulty": [-485, 90, 0.5], "difficulty_se": [207, 40, 0.2]}
    assert shown(**weak, discrimination=[0.01, 0.01, 1])["difficulty ± SE"] == "< −6"
    assert shown(difficulty=[626.5, -1, 1])["difficulty"] == "626.50"  # of problems, not of items
    points = {"difficulty": [626, 480, 510], "discrimination": [0.01, 0.01, 0.02]}
    assert shown(**points)["difficulty"] == "626"  # on a scale of another unit


def test_a_report_and_a_leaderboard_of_few_models_show_the_same_abilities():
    table = og.simulate("2pl", 12, 60, missing=0.2, random_state=5).responses
    ranked, scale, _ = analysed(table)
    wanted = og.leaderboard(table).to_frame()
    shown = ranked.found["leaderboard"].to_frame()
    pd.testing.assert_frame_equal(shown, wanted)
    np.testing.assert_allclose(scale.abilities()["ability"].loc[wanted.index], wanted["ability"])
    assert any("Model '1pl', chosen because" in note for note in scale.notes)


def test_whatever_chooses_a_model_for_one_table_chooses_the_same():
    table = og.simulate("2pl", 30, 40, random_state=5).responses
    boards = " ".join(og.leaderboard(table).notes)
    assert og.calibrate(table).model.name == analysed(table)[1].model.name == "1pl"
    assert "Model '1pl', chosen because" in boards
    # What judges or chooses items by slopes of their own says so.
    health, short = og.item_health(table), og.shorten(table, 10, cv=2)
    assert health.calibration.model.name == short.bank.model.name == "2pl"
    for found in (health, short):
        assert any("abilities here differ from theirs" in note for note in found.notes)


def test_wherever_abilities_of_a_scale_rank_its_caution_stands(visit, tmp_path):
    """The counts are those of the section of the scale: estimates, and which are significant."""
    values = og.simulate("2pl", 60, 20, random_state=3).responses.to_frame().to_numpy(copy=True)
    values[:, :4] = 1 - values[:, :4]
    scale = og.calibrate(og.Responses(values), "2pl")
    (told,) = re.findall(r"(\d+) items have an estimated discrimination below zero", scale.meaning)
    (caution,) = scales_of({"scale": scale}, None)[0].content["cautions"]
    assert caution.startswith(f"{told} items have an estimated discrimination below zero")
    page = visit(og.write_report(tmp_path / "page.html", scale)).page
    page.wait_for_selector(f"#models-one p.about:text-is('{caution}')")
    assert caution in page.inner_text("#explorer-legend .remark")
    assert "estimated discrimination below zero" in page.inner_text("#explorer-legend .negative")
    upright = og.calibrate(og.simulate("2pl", 300, 5, random_state=1).responses, "2pl")
    assert scales_of({"scale": upright}, None)[0].content["cautions"] == []
