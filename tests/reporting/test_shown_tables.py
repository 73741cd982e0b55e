"""Tables and figures as people read them: on a screen, on a phone, on paper."""

import csv
import json
import math
import re
from importlib.resources import files
from pathlib import Path

import pandas as pd
import pytest

import ogive as og
from ogive.reporting.sections import Section
from ogive.results.numbers import beyond_scale, with_reach

PAPER = 718  # pixels between the margins of A4


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A page with the tables that people complained about."""
    names = [f"model {k}" for k in range(30)]
    board = pd.DataFrame(
        {
            "accuracy": [0.9412, *[0.5] * 29],
            "accuracy_se": [0.0213, *[0.05] * 29],
            "accuracy_low": [0.8871, *[0.4] * 29],
            "accuracy_high": [0.9718, *[0.6] * 29],
            "rank": range(1, 31),
            "rank_low": 1,
            "rank_high": 30,
            "eigenvalue": [1346.2, 0.53, *[2.8e-17] * 28],
            "p": [3e-9, 0.0412, *[0.7] * 28],
            "empty": [None] * 30,
            "nothing": [""] * 30,
            "tied_with": [", ".join(names[1:]), *["model 0"] * 29],
            **{f"a_further_column_{k}": range(30) for k in range(8)},
        },
        index=pd.Index(names, name="respondent"),
    )
    path = tmp_path_factory.mktemp("tables") / "page.html"
    return og.write_report(path, Section("Board", tables=(("board", board),)), date="2026-01-01")


@pytest.fixture
def page(visit, tables):
    return visit(tables).page


def shown(page):
    heads = page.locator("thead").first.locator("th").all_inner_texts()
    row = page.locator("tbody").first.locator("tr").first.locator("td").all_inner_texts()
    return dict(zip(heads, row, strict=True))


def test_numbers_are_as_exact_as_their_standard_error(page):
    row = shown(page)
    assert row["accuracy ± SE"] == "0.941 ± 0.021"
    assert row["accuracy interval"] == "0.887 to 0.972"
    assert row["rank (interval)"] == "1 (1 to 30)"
    assert row["p"] == "<0.001"


@pytest.mark.slow
def test_no_number_is_written_with_a_power_of_ten(page, visit, answers):
    cells = page.locator("tbody td.number").all_inner_texts()
    assert "1,346" in cells
    for text in [*cells, *visit(answers).page.locator("tbody td.number").all_inner_texts()]:
        assert not re.search(r"\de[−+-]?\d", text), text


def test_the_page_and_sentences_write_numbers_alike(chromium):
    context = chromium.new_context()
    page = context.new_page()
    source = files("ogive.reporting").joinpath("assets", "numbers.js").read_text("utf-8")
    cases = [(0.7312, 0.0123), (93.84, 104.2), (-1.4142, 0.5), (12345.6, 78.9), (2e-9, 3e-10)]
    for value, error in cases:
        said = page.evaluate(f"() => {{ {source}; return withError({value}, {error}); }}")
        assert said.replace("−", "-") == with_reach(value, error)
    for values in ([626.5, -1.0, None, -485.0, 0.2, math.inf, -math.inf], [480.0, 510.0, 5.0], []):
        column = json.dumps({"name": "difficulty", "kind": "number"})
        cells = ", ".join(str(x).replace("None", "null").replace("inf", "Infinity") for x in values)
        said = page.evaluate(
            f"() => {{ {source}; const values = [{cells}];"
            f"return values.map(farOf({{ ...{column}, values }})); }}"
        )
        assert [x and x.replace("−", "-") for x in said] == beyond_scale(values)
    context.close()


def test_empty_columns_are_left_out_and_the_csv_holds_everything(page):
    assert not {"empty", "nothing", "accuracy se", "rank low"} & set(shown(page))
    with page.expect_download() as waiting:
        page.locator("button", has_text="CSV").first.click()
    with Path(waiting.value.path()).open(encoding="utf-8", newline="") as file:
        row = next(csv.DictReader(file))
    assert float(row["accuracy_se"]) == 0.0213
    assert float(row["p"]) == 3e-9
    assert "empty" in row


def test_long_lists_of_names_are_short_until_they_are_asked_for(page):
    cell = page.locator("tbody td", has=page.locator("button.more")).first
    assert cell.inner_text() == "model 1, model 2 +27 more"
    cell.locator("button").press("Enter")
    assert "model 29" in cell.inner_text()
    assert cell.locator("button").get_attribute("aria-expanded") == "true"


def test_a_table_that_is_too_wide_says_so_and_moves_by_keys(visit, tables):
    page = visit(tables, viewport={"width": 600, "height": 800}).page
    wide = page.locator(".scroll.more-right").first
    assert wide.get_attribute("tabindex") == "0"
    wide.evaluate("place => { place.scrollLeft = place.scrollWidth; }")
    page.wait_for_selector(".scroll.more-left:not(.more-right)")


EDGE = "all => Math.max(...all.map(one => one.getBoundingClientRect().right))"


def test_paper_cuts_no_column_and_says_where_further_rows_are(visit, shown_on, tables, answers):
    page = visit(tables, viewport={"width": PAPER, "height": 1000}).page
    shown_on(page, "print")
    page.wait_for_selector("tbody tr:nth-child(12)")
    assert page.locator("tbody tr:nth-child(13)").count() == 0
    assert page.locator("td, th").evaluate_all(EDGE) <= PAPER + 1
    said = page.locator(".on-paper:visible").first.inner_text()
    assert re.fullmatch(r"\d+ more rows: on the page, which saves all as \S+\.csv\.", said)
    other = visit(answers, viewport={"width": PAPER, "height": 1000}).page
    shown_on(other, "print")
    other.wait_for_selector("#leaderboard .on-paper:has-text('48 more rows')")
    assert other.locator("td, th").evaluate_all(BROKEN) == []
    assert other.locator("td, th, figure svg").evaluate_all(EDGE) <= PAPER + 1


BROKEN = """all => all.flatMap((cell) => {
  const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
  const broken = [];
  while (texts.nextNode()) {
    for (const { 0: word, index } of texts.currentNode.data.matchAll(/\\S+/g)) {
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + word.length);
      const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
      if (lines.size > 1) broken.push(word);
    }
  }
  return broken;
})"""


def test_paper_breaks_no_number_and_no_name_and_heads_every_page(visit, shown_on, tmp_path):
    names = [f"an-odd-name-with-hyphens-{k}" for k in range(40)]
    many = {f"share_of_{k}": [0.123456 + k] * 40 for k in range(24)}
    wide = pd.DataFrame(many, index=pd.Index(names, name="respondent"))
    path = tmp_path / "page.html"
    og.write_report(path, Section("Wide", tables=(("wide", wide),)), date="2026-01-01")
    page = visit(path, viewport={"width": PAPER, "height": 1000}).page
    before = page.locator("tbody td").first.inner_text()
    shown_on(page, "print")
    page.wait_for_selector(".on-paper:has-text('28 more rows: on the page')")
    tables = page.locator("table[aria-label^=Wide]")
    assert tables.count() > 1  # in parts, each with the names of the rows
    heads = [one.locator("th").all_inner_texts() for one in tables.all()]
    assert {one[0] for one in heads} == {"respondent"}
    assert [name for one in heads for name in one[1:]] == [f"share of {k}" for k in range(24)]
    assert page.locator("td, th").evaluate_all(BROKEN) == []
    assert page.locator("td, th").evaluate_all(EDGE) <= PAPER + 1
    repeats = "one => [getComputedStyle(one).display, getComputedStyle(one).breakInside]"
    assert page.locator("thead").first.evaluate(repeats) == ["table-header-group", "avoid"]
    shown_on(page, "screen")
    assert page.locator("table[aria-label=Wide]").count() == 1
    assert page.locator(".pager:visible").count() == 1
    assert page.locator("tbody td").first.inner_text() == before


SIZES = """all => all.filter((one) => one.textContent.trim()).map((one) => {
  const picture = one.ownerSVGElement;
  const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
  return scale * parseFloat(getComputedStyle(one).fontSize);
})"""


def test_on_a_phone_the_answer_is_on_the_first_screen(visit, answers):
    page = visit(answers, viewport={"width": 390, "height": 800}).page
    assert page.locator(".headline").bounding_box()["y"] < 250
    assert page.locator("nav a").last.evaluate("one => one.closest('ol').scrollWidth") > 390


def test_tables_stand_in_for_figures_on_a_phone_until_these_are_asked_for(visit, answers):
    page = visit(answers, viewport={"width": 390, "height": 800}).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".replaced").count() >= 2
    said = page.locator(".replaced .narrow").first.inner_text()
    assert said.startswith("Wide figure; it can be shown and moved sideways.")
    assert "table" not in said  # not all that a figure shows stands in one
    assert page.locator(".body:has(.table) .pane svg:visible").count() == 0
    assert page.locator("#leaderboard .table tbody tr:visible").count() > 5
    for button in page.locator("button:visible", has_text="Show the figure").all()[::-1]:
        button.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert min(page.locator(".pane svg text").evaluate_all(SIZES)) >= 9  # pixels
    assert page.locator(".pane.more-right").count() >= 1


@pytest.mark.parametrize("width", [390, 1024])
def test_the_axes_of_an_item_can_be_read_on_every_screen(visit, answers, width):
    page = visit(answers, viewport={"width": width, "height": 900}).page
    page.wait_for_function("document.querySelector('#explorer-item svg').clientWidth > 0")
    page.wait_for_timeout(200)  # drawn again for its place
    assert min(page.locator("#explorer-item svg text").evaluate_all(SIZES)) >= 10


def test_a_table_that_is_hardly_longer_is_printed_whole(visit, shown_on, tmp_path):
    frame = pd.DataFrame({"value": range(15)})
    path = og.write_report(tmp_path / "page.html", Section("Some", tables=(("some", frame),)))
    page = visit(path).page
    shown_on(page, "print")
    page.wait_for_selector("tbody tr:nth-child(15)")
    assert page.locator(".on-paper").first.inner_text() == ""


@pytest.mark.parametrize("media", ["screen", "print"])
def test_lines_that_reproduce_a_report_wrap(visit, shown_on, calibration, tmp_path, media):
    path = tmp_path / "page.html"
    og.write_report(path, calibration, command="ogive report " + "long-name-of-a-file " * 20)
    page = visit(path, viewport={"width": 390, "height": 800}).page
    shown_on(page, media)
    code = page.locator("pre.code")
    assert code.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_a_figure_on_paper_keeps_words_that_can_be_read(visit, shown_on, answers):
    page = visit(answers, viewport={"width": PAPER, "height": 1000}).page
    shown_on(page, "print")
    page.wait_for_selector("main details:not([open])", state="detached")
    assert min(page.locator(".pane svg text").evaluate_all(SIZES)) >= 7  # pixels: 5 points
