"""`ogive view` in a real browser: the explorer of a report, with data from a server."""

import threading
from contextlib import contextmanager

import pytest
from scipy.stats import binomtest

import ogive as og
from ogive.capability.http_service import _listening
from ogive.reporting.app_server import make_view_app
from ogive.reporting.session import ViewSession

CHOSEN = "#explorer-item h3"
TOKEN = "a-token"  # noqa: S105
SLOW = 30_000  # milliseconds; a busy machine is no failure


@contextmanager
def served(*paths):
    """The address of a server that shows these paths, in a thread of its own."""
    uvicorn = pytest.importorskip("uvicorn")
    session = ViewSession(list(paths))
    session.look()
    app = make_view_app(session, TOKEN, ", ".join(path.name for path in paths))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none"))
    with _listening("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}/#token={TOKEN}"
        finally:
            server.should_exit = True
            thread.join(60)


@pytest.fixture(scope="module")
def scores(responses, tmp_path_factory):
    return responses.save(tmp_path_factory.mktemp("view") / "scores.parquet")


@pytest.fixture(scope="module")
def address(scores):
    with served(scores) as found:
        yield found


def calibrated(page):
    """Wait for the last stage: suspects are marked."""
    page.wait_for_selector("#explorer-table th:has-text('suspect')", timeout=SLOW)
    page.wait_for_selector("#live-doing:empty", state="attached", timeout=SLOW)
    return page


@pytest.fixture
def page(visit, address):
    return calibrated(visit(address).page)


def test_counts_then_a_scale_without_an_error_or_a_foreign_request(visit, address):
    opened = visit(address)
    page = calibrated(opened.page)
    assert page.inner_text("#live-counts").startswith("60 models, 30 items, 1,800 responses")
    page.wait_for_selector("#explorer-item .curve")
    page.click("#theme")
    page.click("#explorer-suspect")
    assert opened.trouble == []
    assert opened.outside() == []
    assert TOKEN not in page.url


def test_a_reload_keeps_the_token_and_another_browser_has_none(visit, address):
    opened = visit(address)
    opened.page.reload()
    opened.page.wait_for_selector("html[data-ready=yes]")
    stranger = visit(address.partition("#")[0]).page
    assert "needs the whole address" in stranger.inner_text("#live-failure")
    assert stranger.inner_text("#live-counts") == ""  # nothing is being read
    assert stranger.locator("tbody tr").count() == 0


def test_a_copied_address_opens_in_another_tab_of_the_same_browser(page, address):
    home = address.partition("#")[0]
    other = page.context.new_page()
    other.goto(f"{home}#item=scores.parquet/question%207")
    other.wait_for_selector(f"{CHOSEN}:text-is('question 7')", timeout=SLOW)
    link = page.locator("#live-models-table tbody a.link").first
    with page.context.expect_page() as waiting:
        link.click(modifiers=["Control"])
    waiting.value.wait_for_selector(
        f"#models-one .name:text-is('{link.inner_text()}')", timeout=SLOW
    )


def test_a_token_that_is_refused_is_forgotten(visit, address):
    home = address.partition("#")[0]
    page = visit(f"{home}#token=of-another-run").page
    page.wait_for_selector("#live-failure:has-text('another run')")
    assert page.inner_text("#live-counts") == ""
    assert page.evaluate("localStorage.getItem('ogive-token')") is None


def test_an_item_shows_who_was_right_and_its_text(page, responses):
    page.locator("#explorer-search").fill("what is 7 and")
    count = page.locator("#explorer-table .count")
    page.wait_for_selector("#explorer-table .count:text-is('1 of 30 rows')")
    page.click("#explorer-table a.link")
    page.wait_for_selector(f"{CHOSEN}:text-is('question 7')")
    right = int(responses.values[:, 7].sum())
    page.wait_for_selector(f"#explorer-item h4:has-text('Right ({right})')")
    assert "What is 7 and 7?" in page.inner_text("#explorer-item .words")
    assert count.inner_text() == "1 of 30 rows"


def test_filters_by_task(page):
    page.locator("#explorer-groups select").select_option("maps")
    assert page.inner_text("#explorer-table .count") == "10 of 30 rows"


def test_two_models_are_compared_on_what_both_answered(page, responses):
    page.select_option("#compare-one", label="model 3")
    page.select_option("#compare-other", label="model 44")
    one, other = responses.values[3], responses.values[44]
    alone, lost = int((one > other).sum()), int((other > one).sum())
    page.wait_for_selector(f"#compare-said:has-text('only model 44 on {lost}')")
    said = page.inner_text("#compare-said")
    p = binomtest(alone, alone + lost).pvalue
    assert f"p {'< 0.001' if p < 0.001 else f'= {p:.3f}'}" in said
    assert f"only model 44 on {lost}" in said
    middle, n = (alone - lost) / 32, 30 + 2  # Agresti and Min
    se = (((alone + lost + 1) / n - middle**2) / n) ** 0.5
    low, high = (f"{middle + sign * 1.96 * se:.3f}".replace("-", "−") for sign in (-1, 1))
    assert f"95 % interval {low.rstrip('0')} to {high.rstrip('0')}" in said
    assert page.locator("#compare-table tbody tr").count() == 3
    page.select_option("#compare-which", "other")
    assert page.inner_text("#explorer-table .count").startswith(f"{lost} of 30")


def test_the_fix_list_is_that_of_a_report(page, visit, answers):
    wanted = visit(answers).page.locator("#fix-list tbody tr").all_inner_texts()
    page.wait_for_selector("#live-fixes tbody tr")
    assert page.locator("#live-fixes tbody tr").all_inner_texts() == wanted
    with page.expect_download() as waiting:
        page.locator("#live-fixes button", has_text="CSV").click()
    assert waiting.value.suggested_filename == "fix-list-scores-parquet.csv"


def test_the_page_of_a_model_is_that_of_a_report(page, visit, answers):
    page.wait_for_selector("#models-one h4:text-is('Whom it beats')", timeout=SLOW)
    report = visit(answers).page
    for name in ("model 7", "model 30"):
        for one in (page, report):
            one.select_option("#models-model", label=name)
            one.wait_for_selector(f"#models-one .name:text-is('{name}')")
        assert page.inner_text("#models-one") == report.inner_text("#models-one")


def test_names_lead_to_models_and_items_and_the_address_says_where(visit, address, page):
    page.locator("#live-models-table tbody a.link").nth(2).click()
    name = page.locator("#live-models-table tbody a.link").nth(2).inner_text()
    page.wait_for_selector(f"#models-one .name:text-is('{name}')")
    assert page.evaluate("decodeURIComponent(location.hash)") == f"#model=scores.parquet/{name}"
    page.reload()
    page.wait_for_selector(f"#models-one .name:text-is('{name}')")
    page.locator("#models-one td a.link").first.click()
    assert page.evaluate("location.hash").startswith("#item=scores.parquet/question")


def test_few_models_have_pages_without_a_scale(visit, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("model,q1,q2,q3,q4\nann,1,0,1,1\nbob,0,1,1,0\n")
    with served(path) as found:
        opened = visit(found)
        opened.page.select_option("#models-model", label="bob")
        opened.page.wait_for_selector("#models-one .name:text-is('bob')")
        said = opened.page.inner_text("#models-one")
        assert "2 of 4 items right" in said
        assert "NaN" not in said
        assert "Unexpected" not in said
        assert opened.trouble == []


def test_models_that_answered_other_items_have_no_place_among_others(visit, tmp_path):
    path = tmp_path / "few.csv"
    path.write_text("model,q1,q2,q3,q4\nann,1,0,1,1\neasy,1,1,,\n")
    with served(path) as found:
        page = visit(found).page
        page.select_option("#models-model", label="easy")
        page.wait_for_selector("#models-one .name:text-is('easy')")
        said = page.inner_text("#models-one p >> nth=0")
        assert said.startswith("2 right of the 2 items it answered, out of 4, a share of 1")
        assert "place" not in said


def test_partial_scores_are_higher_and_not_right(visit, tmp_path):
    table = og.Responses([[0.5, 1.0, 0.2, 0.8], [0.4, 0.9, 0.3, 0.1]], ["ann", "bob"])
    path = table.described(items={"task": ["a", "a", "b", "b"]}).save(tmp_path / "some.parquet")
    with served(path) as found:
        page = visit(found).page
        page.wait_for_selector("#compare-table thead")
        heads = page.inner_text("#compare-table thead")
        assert "ann scores higher" in heads
        assert "only" not in heads


def test_a_report_compares_models_by_the_same_code(visit, report, responses):
    page = visit(report).page
    page.select_option("#compare-one", label="model 3")
    page.select_option("#compare-other", label="model 44")
    alone = int((responses.values[3] > responses.values[44]).sum())
    page.wait_for_selector(f"#compare-said:has-text('Only model 3 is right on {alone}')")


def test_a_notebook_shows_the_same_explorer(visit, calibration, tmp_path):
    page = tmp_path / "notebook.html"
    page.write_text(f"<html data-ready>{calibration._repr_html_()}</html>", encoding="utf-8")
    opened = visit(page)
    frame = opened.page.frame_locator("iframe")
    frame.locator("#explorer-next").click()
    frame.locator("#compare-said", has_text="both answered").wait_for()
    assert frame.locator("#explorer-item .curve").count() == 1
    assert opened.trouble == []
    assert opened.outside() == ["about:srcdoc"] or opened.outside() == []


def test_a_log_can_be_added_and_a_damaged_one_says_so(visit, scores, responses, tmp_path):
    good, bad = tmp_path / "more.csv", tmp_path / "bad.csv"
    header = ",".join(["model", *responses.items])
    good.write_text(f"{header}\nnewcomer{',1' * 30}\n")
    bad.write_text("model,q1\nann,maybe\n")
    with served(scores) as found:
        page = visit(found).page
        page.set_input_files("#live-file", bad)
        page.wait_for_selector("#live-dropped.warning:has-text('bad.csv')", timeout=SLOW)
        page.set_input_files("#live-file", good)
        page.wait_for_selector("#live-dropped:has-text('Added 1 model')", timeout=SLOW)
        page.wait_for_selector("#live-counts:has-text('61 models')", timeout=SLOW)
        page.wait_for_selector("#compare-one option:has-text('newcomer')", state="attached")


def test_a_growing_file_is_followed_and_the_chosen_item_stays(visit, tmp_path):
    path = tmp_path / "run.csv"
    table = og.simulate("2pl", 20, 6, random_state=0).responses
    lines = [",".join(["model", *table.items])]
    lines += [f"m{k}," + ",".join(f"{v:.0f}" for v in row) for k, row in enumerate(table.values)]
    path.write_text("\n".join(lines[:16]) + "\n")
    with served(path) as found:
        page = visit(found).page
        page.wait_for_selector("#live-counts:has-text('15 models')", timeout=SLOW)
        calibrated(page)
        page.click("#explorer-table tbody tr:nth-child(5) a.link")
        page.wait_for_selector(f"{CHOSEN}:text-is('item_5')")
        path.write_text("\n".join(lines) + "\nm20,1,0")  # its last line is still written
        page.wait_for_selector("#live-counts:has-text('20 models')", timeout=SLOW)
        page.wait_for_selector("#compare-one option:text-is('m19')", state="attached", timeout=SLOW)
        assert page.inner_text(CHOSEN) == "item_5"
        assert page.is_hidden("#live-failure")


@pytest.mark.slow
def test_the_end_of_the_server_is_said(visit, scores):
    with served(scores) as found:
        page = visit(found).page
    page.wait_for_selector("#live-failure:has-text('has ended')", timeout=SLOW)


def test_no_text_of_the_data_runs(visit, tmp_path):
    attacks = ["</script><script>window.pwned=1</script>", "<img src=x onerror=window.pwned=1>"]
    evil = [f"{attacks[k % 2]} {k}" for k in range(12)]
    table = og.Responses(og.simulate("2pl", 12, 12, random_state=0).responses.values, evil, evil)
    path = table.described(items={"task": evil[:6] * 2}).save(tmp_path / f"{'<b>x'}.parquet")
    with served(path) as found:
        opened = visit(found)
        opened.page.wait_for_selector("#compare-said:has-text('both answered')", timeout=SLOW)
        opened.page.click("#explorer-next")
        assert opened.page.evaluate("window.pwned") is None
        assert opened.page.locator("main script, main img[src=x], h1 b").count() == 0
        assert opened.trouble == []


@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing_that_keeps_people_out(visit, axe, address, colours):
    page = calibrated(visit(address, color_scheme=colours, bypass_csp=True).page)
    assert axe(page) == []


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_nothing_is_wider_than_the_window(visit, address, width):
    page = calibrated(visit(address, viewport={"width": width, "height": 900}).page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.slow
def test_a_board_of_26_million_responses_is_explored(visit, tmp_path):
    """How long it takes is printed by benchmarks/view.py."""
    drawn = og.simulate("2pl", 2_211, 12_032, random_state=1).responses
    tasks = [f"task {k % 14}" for k in range(12_032)]
    path = drawn.described(items={"task": tasks}).save(tmp_path / "board.parquet")
    with served(path) as found:
        page = visit(found).page
        assert page.inner_text("#live-counts").startswith("2,211 models, 12,032 items, 26,602,752")
        page.locator("#explorer-groups select").select_option("task 3")
        assert page.inner_text("#explorer-table .count") == "860 of 12,032 rows"
        page.wait_for_selector("#explorer-table th:has-text('suspect')", timeout=20 * SLOW)
        page.click("#explorer-next")
        name = page.inner_text("#explorer-status").partition(":")[0]
        page.wait_for_selector(f"{CHOSEN}:text-is('{name}')", timeout=SLOW)
        right = int(drawn.cells[:, drawn.items.index(name)].sum())
        assert f"Right ({right:,})" in " ".join(page.locator("#explorer-item h4").all_inner_texts())
        assert page.locator("#explorer-item .group").count() == 24
