"""A report answers first: who is better, which items to look at, whether to believe it."""

import numpy as np
import pytest

import ogive as og
from ogive.reporting.page import MOST_SENTENCES, in_short, sentences_in
from ogive.reporting.sections import Section
from ogive.reporting.sources import analysed


@pytest.fixture
def page(visit, answers):
    return visit(answers, folded=True).page


def open_sections(page):
    return page.locator("main section:has(> details[open])").evaluate_all(
        "all => all.map(s => s.id)"
    )


def test_the_page_follows_the_questions_of_a_reader(page):
    assert page.locator("h2").all_inner_texts() == [
        "In short",
        "Who is better",
        "Which items to look at",
        "Whether to believe it",
        "How it was made",
    ]
    assert open_sections(page) == ["leaderboard"]
    assert page.locator("#leaderboard figure").count() == 1


def test_the_first_table_has_rank_accuracy_ability_and_groups(page, responses):
    heads = page.locator("#leaderboard table").first.locator("th").all_inner_texts()
    for name in ("respondent", "rank", "accuracy", "ability", "group"):
        assert any(head.startswith(name) for head in heads), name
    assert page.locator("#leaderboard table").first.locator("tbody tr").count() == 12


def test_one_box_says_it_in_at_most_five_sentences(page):
    box = page.get_by_role("region", name="In short")
    said = [text.removesuffix(" more") for text in box.locator("li").all_inner_texts()]
    assert 3 <= sum(len(sentences_in(each)) for each in said) <= MOST_SENTENCES
    assert "has the highest accuracy" in said[0]
    assert any("contradict good respondents" in each for each in said)


def test_a_link_opens_its_section(page, visit, answers):
    page.locator(".headline a").last.click()
    page.wait_for_selector("main section:not(#leaderboard):has(> details[open])")  # a moment later
    assert len(open_sections(page)) == 2
    assert open_sections(visit(answers, folded=True, at="#item-fit").page) == [
        "leaderboard",
        "item-fit",
    ]


def test_keys_open_and_close_a_section(page):
    summary = page.locator("#reliability summary")
    summary.press("Enter")
    assert "reliability" in open_sections(page)
    summary.press("Space")
    assert "reliability" not in open_sections(page)


def test_paper_shows_all_sections_and_the_screen_folds_them_again(page, shown_on):
    shown_on(page, "print")
    page.wait_for_selector("main details:not([open])", state="detached")
    shown_on(page, "screen")
    page.wait_for_selector("main details:not([open])", state="attached")
    assert open_sections(page) == ["leaderboard"]


def test_the_chart_is_drawn_when_the_explorer_is_opened(page):
    page.locator("#item-explorer summary").click()
    page.wait_for_selector("#explorer-chart canvas[width]")
    assert page.evaluate("document.querySelector('#explorer-chart canvas').width") > 400


@pytest.mark.slow
@pytest.mark.parametrize("colours", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_axe_finds_nothing_on_a_folded_page(visit, axe, answers, colours):
    assert axe(visit(answers, folded=True, color_scheme=colours, bypass_csp=True).page) == []


def test_findings_that_are_empty_get_a_sentence_and_no_figure(tmp_path):
    table = og.simulate("2pl", 40, 20, random_state=2).responses
    found = og.label_trouble(og.calibrate(table, "2pl"))
    assert not found.suspect.any()
    page = og.write_report(tmp_path / "page.html", found).read_text("utf-8")
    assert "None of 20 items is suspect" in page
    assert "<figure" not in page


def test_board_and_items_stand_on_one_scale(responses):
    ranked, calibration, _ = analysed(responses)
    board = ranked.found["leaderboard"]
    assert board.calibration is calibration
    given = calibration.abilities()["ability"]
    assert board.to_frame()["ability"].to_dict() == pytest.approx(given.to_dict())


def test_sentences_are_shared_out_over_findings_items_and_checks():
    def section(title, part, text):
        return Section(title, part=part, headline=text, sentences=(text,))

    many = [section(f"finding {k}", "finding", f"Finding {k}. More of it.") for k in range(6)]
    rest = [section("items", "items", "Two items."), section("check", "check", "Reliable.")]
    said = [text for _, text in in_short([*many, *rest])]
    assert said == ["Finding 0.", "More of it.", "Finding 1.", "Two items.", "Reliable."]
    assert [text for _, text in in_short(rest)] == ["Two items.", "Reliable."]
    assert in_short([Section("figures")]) == []


def test_a_table_of_one_respondent_still_gets_its_page(tmp_path):
    table = og.Responses(np.array([[1.0, 0.0, 1.0, 1.0]]), ["only"], list("abcd"))
    assert og.write_report(tmp_path / "page.html", analysed(table)).stat().st_size > 10_000


def test_only_the_board_says_who_is_better(tmp_path):
    rng = np.random.default_rng(0)
    cells = np.full((8, 40), np.nan)
    cells[:4, :20], cells[4:, 20:] = rng.random((4, 20)) < 0.6, rng.random((4, 20)) < 0.5
    page = og.write_report(tmp_path / "page.html", analysed(og.Responses(cells)))
    text = page.read_text("utf-8")
    assert "has the highest accuracy of the first of 2 boards" in text
    assert "is strongest" not in text  # by ability, another may be ahead


def test_a_sentence_may_end_with_a_name_of_one_letter():
    """'The strongest model is B. Three pairs differ.' was one sentence."""
    said = [
        "The strongest model is B.",
        "Three of 6 pairs differ.",
        "Is a A? A leads b.",
        "c ties.",
    ]
    split = [*said[:2], "Is a A?", "A leads b.", "c ties."]
    assert sentences_in(" ".join(said)) == split
    for whole in ("See Fig. 3, by Smith et al. 2003, vs. others.", "As no. 4 says (p. 5)."):
        assert sentences_in(whole) == [whole]


def test_a_page_on_grades_says_first_that_items_run_against_the_others(tmp_path):
    """Only 'None of 398 items departs from its curve' stood there, with two turned items below."""
    random = np.random.default_rng(13)
    steps = np.sort(random.normal(0, 1, (30, 4)), axis=1)
    chance = 1 / (1 + np.exp(-1.5 * (random.normal(size=(120, 1, 1)) - steps)))
    grades = (random.random((120, 30, 1)) < chance).sum(axis=2)
    grades[:, :2] = 4 - grades[:, :2]
    page = og.write_report(tmp_path / "page.html", analysed(og.Responses(grades)))
    box, _, rest = page.read_text("utf-8").partition("</section>")
    said = "2 items have an estimated discrimination below zero, 2 significantly so"
    assert said in box
    assert said in rest
