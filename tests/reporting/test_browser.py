"""A report in a real browser."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest

import ogive as og

CHOSEN = "#explorer-item h3"


@pytest.fixture
def page(visit, report):
    return visit(report).page


def table(page, caption):
    """A table with its tools, by its caption."""
    title = page.locator(".tools strong", has_text=re.compile(f"^{caption}"))
    return page.locator(".table").filter(has=title).first


def test_no_error_and_no_request_leaves_the_page(visit, report):
    opened = visit(report)
    opened.page.click("#theme")
    opened.page.click("#explorer-suspect")
    assert opened.trouble == []
    assert opened.outside() == []


def test_no_text_of_the_data_runs(visit, hostile):
    opened = visit(hostile)
    page = opened.page
    for _ in range(20):  # every item is shown once
        page.click("#explorer-next")
    page.fill("#explorer-search", "script")
    page.hover("#explorer-chart")
    for button in page.locator("th button").all()[:6]:
        button.click()
    with page.expect_download() as waiting:
        table(page, "Respondents").locator("button", has_text="CSV").click()
    saved = Path(waiting.value.path()).read_text(encoding="utf-8")
    assert '"\'=HYPERLINK(""' in saved
    assert not re.search(r"(^|[\n,])\"?[=@]", saved)
    assert page.evaluate("window.pwned") is None
    assert opened.trouble == []
    assert opened.outside() == []
    assert page.locator("main script, img[src=x], svg[onload], [onfocus]").count() == 0


def test_headings_sort_up_and_down(page):
    respondents = table(page, "Respondents")
    head = respondents.locator("th", has_text="ability")
    first = respondents.locator("tbody td").nth(1)
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    estimate = lambda: float(first.inner_text().split(" ± ")[0].replace("−", "-"))  # noqa: E731
    high = estimate()
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert estimate() < high


@pytest.mark.slow
def test_search_and_pages_show_the_rest(page):
    respondents = table(page, "Respondents")
    assert respondents.locator(".pager span").inner_text() == "Page 1 of 5"
    before = respondents.locator("tbody").inner_text()
    respondents.locator(".pager button").last.click()
    assert respondents.locator("tbody").inner_text() != before
    respondents.locator("input").fill("MODEL 57")
    assert respondents.locator("tbody tr").count() == 1
    assert respondents.locator(".count").inner_text() == "1 of 60 rows"


def test_csv_holds_all_rows_with_all_digits(page, calibration):
    with page.expect_download() as waiting:
        table(page, "Respondents").locator("button", has_text="CSV").click()
    assert waiting.value.suggested_filename == "calibration-respondents.csv"
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 60
    best = calibration.abilities()["ability"].max()
    assert float(rows[0]["ability"]) == pytest.approx(best, rel=1e-5)


def test_the_explorer_begins_with_the_strongest_suspect(page, calibration):
    assert page.inner_text(CHOSEN) == og.label_trouble(calibration).items[0]
    assert "the evidence that it is wrong is" in page.inner_text(".badge")
    assert page.locator("#explorer-item .curve.negative").count() == 1


def test_the_difficulty_of_negative_items_is_not_to_be_read_as_easy(page, visit, tmp_path):
    assert "their difficulty has the opposite sense" in page.inner_text("#explorer-legend .remark")
    plain = og.calibrate(og.simulate("1pl", 60, 8, random_state=1).responses, "1pl")
    other = visit(og.write_report(tmp_path / "plain.html", plain)).page
    assert other.locator("#explorer-legend .plain").count() == 1
    assert other.locator("#explorer-legend .remark").count() == 0


def test_who_was_right_is_told_by_name(page, responses):
    name = page.inner_text(CHOSEN)
    right = int(responses.cells[:, responses.items.index(name)].sum())
    headings = page.locator("#explorer-item h4").all_inner_texts()
    assert f"Right ({right}), the strongest first" in headings
    assert f"Wrong ({60 - right}), the strongest first" in headings
    assert page.locator("#explorer-item .names").first.locator("li").count() == right
    assert "It is a longer question" in page.inner_text("#explorer-item .words")


def test_a_click_on_the_map_chooses_the_item_there(page):
    before = page.inner_text(CHOSEN)
    page.locator("#explorer-chart").scroll_into_view_if_needed()
    box = page.locator("#explorer-chart").bounding_box()
    for height in (0.3, 0.45, 0.6):  # along lines through the cloud of items
        for x in range(60, int(box["width"]) - 20, 20):
            page.mouse.click(box["x"] + x, box["y"] + box["height"] * height)
            if page.inner_text(CHOSEN) != before:
                return
    pytest.fail("no item was found along these lines")


@pytest.mark.slow
def test_keys_move_along_difficulty_and_discrimination(page, calibration):
    items = calibration.items
    page.focus("#explorer-chart")
    page.keyboard.press("Home")
    assert page.inner_text(CHOSEN) == items["difficulty"].idxmin()
    page.keyboard.press("ArrowRight")
    assert page.inner_text(CHOSEN) == items["difficulty"].sort_values().index[1]
    page.keyboard.press("End")
    assert page.inner_text(CHOSEN) == items["difficulty"].idxmax()
    for _ in range(len(items)):
        page.keyboard.press("ArrowUp")
    assert page.inner_text(CHOSEN) == items["discrimination"].idxmax()
    page.keyboard.press("n")
    assert page.locator("#explorer-item .badge").count() == 1
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "explorer-item"


def test_next_suspect_goes_round_all_of_them(page):
    first = page.inner_text(CHOSEN)
    page.click("#explorer-suspect")
    assert page.inner_text(CHOSEN) != first
    page.click("#explorer-suspect")
    assert page.inner_text(CHOSEN) == first


def test_filters_hold_for_the_map_and_its_table(page, calibration):
    items = calibration.items
    rows = table(page, "Items")
    count = rows.locator(".count")
    page.select_option("#explorer-sign", "negative")
    assert count.inner_text().startswith(f"{(items['discrimination'] < 0).sum()} of 30")
    page.click("#explorer-clear")
    page.fill("#explorer-difficulty-from", "0")
    assert count.inner_text().startswith(f"{(items['difficulty'] >= 0).sum()} of 30")
    page.click("#explorer-clear")
    page.locator("#explorer-groups select").select_option("maps")
    assert count.inner_text() == "10 of 30 rows"
    page.fill("#explorer-search", "what is 5 and")
    assert count.inner_text() == "1 of 30 rows"
    page.click("#explorer-clear")
    page.check("#explorer-suspects")
    assert count.inner_text() == "2 of 30 rows"
    page.select_option("#explorer-sign", "positive")  # nothing is left, and nothing breaks
    assert count.inner_text() == "0 of 30 rows"
    page.click("#explorer-next")


def test_names_of_items_in_tables_lead_to_the_explorer(page):
    suspects = table(page, "Label trouble")
    link = suspects.locator("a.link").nth(3)
    name = link.inner_text()
    link.click()
    assert page.inner_text(CHOSEN) == name


@pytest.mark.slow
def test_colours_follow_the_system_and_the_button(visit, report):
    paper = "getComputedStyle(document.body).backgroundColor"
    assert visit(report, color_scheme="dark").page.evaluate(paper) == "rgb(20, 20, 20)"
    page = visit(report).page
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.click("#theme")  # light, whatever the system says
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.click("#theme")
    assert page.evaluate(paper) == "rgb(20, 20, 20)"
    page.emulate_media(media="print")  # paper is white
    assert page.evaluate(paper) == "rgb(255, 255, 255)"


@pytest.mark.slow
@pytest.mark.parametrize("width", [360, 800, 1300])
def test_nothing_is_wider_than_the_window(visit, report, width):
    page = visit(report, viewport={"width": width, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing_that_keeps_people_out(visit, axe, report, colours):
    assert axe(visit(report, color_scheme=colours, bypass_csp=True).page) == []


def test_another_scale_replaces_the_filtered_rows(visit, responses, calibration, tmp_path):
    few = og.calibrate(responses.select(items=list(responses.items[:8])), "2pl")
    path = tmp_path / "report.html"
    results = {"many": calibration, "few": few, "suspects": og.label_trouble(calibration)}
    opened = visit(og.write_report(path, results))
    page = opened.page
    assert page.input_value("#explorer-scale") == "0"
    page.check("#explorer-suspects")  # the rows that are left are no rows of the shorter table
    page.select_option("#explorer-scale", "1")
    assert opened.trouble == []
    assert page.inner_text("#explorer-table .count") == "8 rows"
    assert page.inner_text(CHOSEN) == "question 0"
    page.fill("#explorer-difficulty-from", "99")
    page.select_option("#explorer-scale", "0")
    assert opened.trouble == []
    assert page.inner_text("#explorer-item") == "No item matches the filters."


@pytest.mark.slow
def test_responses_are_shown_as_they_were_given(visit, tmp_path, subtests):
    rng = np.random.default_rng(3)
    skill = rng.normal(size=(40, 1))
    grades = np.clip(np.rint(2 + skill + rng.normal(size=(40, 9))), 0, 4)
    tables = {
        "grades": og.Responses(np.where(rng.random(grades.shape) < 0.1, np.nan, grades)),
        "eighths": og.Responses(grades / 4 * 0.875 + 0.0625),
        "many levels": og.Responses(np.round(grades / 8 + rng.random(grades.shape) / 3, 4)),
        "shares of tries": og.Responses(grades / 4, tries=np.full(grades.shape, 4)),
    }
    found = {name: og.calibrate(table) for name, table in tables.items()}
    opened = visit(og.write_report(tmp_path / "report.html", found))
    page = opened.page
    for name, table in tables.items():
        with subtests.test(name):
            page.select_option("#explorer-scale", label=name)
            item = table.items.index(page.inner_text(CHOSEN))
            lines = page.locator("#explorer-item .names li").all_inner_texts()
            shown = {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in lines}
            given = dict(zip(table.respondents, table.values[:, item].tolist(), strict=True))
            assert shown == {who: value for who, value in given.items() if value == value}
    assert opened.trouble == []


@pytest.mark.slow
def test_more_responses_than_codes_keep_seven_digits(visit, tmp_path):
    values = np.random.default_rng(1).random((400, 170))  # 68,000 distinct scores
    found = og.calibrate(og.Responses(values))
    page = visit(og.write_report(tmp_path / "report.html", found)).page
    item = int(page.inner_text(CHOSEN).removeprefix("item_")) - 1
    who, score = page.locator("#explorer-item .names li").first.inner_text().rsplit(" ", 1)
    assert float(score) == pytest.approx(
        values[int(who.removeprefix("respondent_")) - 1, item], rel=2e-7
    )


def test_an_item_that_a_filter_leaves_out_gives_way_to_one_that_matches(page):
    page.fill("#explorer-search", "question 7")
    assert page.inner_text(CHOSEN) == "question 7"
    page.fill("#explorer-search", "no such words")
    assert page.locator(CHOSEN).count() == 0
    assert page.inner_text("#explorer-item") == "No item matches the filters."
    page.click("#explorer-clear")
    assert page.locator(CHOSEN).count() == 1


@pytest.fixture(scope="module")
def parallel(tmp_path_factory):
    """A report of a 1PL: all items have the same discrimination."""
    table = og.simulate("1pl", 60, 8, random_state=1).responses
    path = tmp_path_factory.mktemp("parallel") / "report.html"
    return og.write_report(path, og.calibrate(table, "1pl")), table


def test_items_of_equal_discrimination_lie_along_their_own_correlations(visit, parallel):
    path, table = parallel
    page = visit(path).page
    assert page.get_attribute("#explorer-chart", "aria-label").endswith("correlation with the rest")
    assert "up and down along correlation with the rest" in page.inner_text("#explorer-help")
    first = page.locator("#explorer .filters label", has_text="Correlation with the rest").first
    assert first.is_visible()
    values, found = table.values, []
    for k in range(8):
        rest = np.delete(values, k, axis=1).mean(axis=1)
        found.append(np.corrcoef(values[:, k], rest)[0, 1])
    page.focus("#explorer-chart")
    for _ in range(8):
        page.keyboard.press("ArrowDown")
    assert page.inner_text(CHOSEN) == table.items[int(np.argmin(found))]
    for _ in range(8):
        page.keyboard.press("ArrowUp")
    assert page.inner_text(CHOSEN) == table.items[int(np.argmax(found))]
    page.fill("#explorer-discrimination-from", str(sorted(found)[-2] - 1e-3))
    assert page.inner_text("#explorer-table .count") == "2 of 8 rows"


def test_a_page_without_suspects_does_not_speak_of_the_next_one(visit, parallel):
    page = visit(parallel[0]).page
    assert "suspect" not in page.inner_text("#explorer-help")
    assert page.is_hidden("#explorer-suspect")


def test_an_item_beyond_the_map_is_an_arrow_at_its_edge(visit, page, tmp_path):
    assert page.inner_text("#explorer-beyond") == ""
    far = og.simulate("2pl", 60, 30, random_state=1).responses.values.copy()
    far[:, 3] = 1.0
    far[0, 3] = 0.0
    path = og.write_report(tmp_path / "far.html", og.calibrate(og.Responses(far), "2pl"))
    assert "beyond the map" in visit(path).page.inner_text("#explorer-beyond")


def test_a_model_is_not_compared_with_itself(page):
    page.select_option("#compare-one", label="model 3")
    page.select_option("#compare-other", label="model 3")
    page.wait_for_selector("#compare-said:has-text('chosen twice')")
    assert "interval" not in page.inner_text("#compare-said")
    assert page.locator("#compare-table tr").count() == 0
