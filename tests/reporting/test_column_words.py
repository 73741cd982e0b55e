"""Headings say what columns mean, in the words of the glossary."""

import json
import re
from pathlib import Path

import ogive as og
from ogive.results.wording import OF_TABLES, SELF_EXPLAINING, WORDS, is_known, meaning_of

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
OF_THE_PAGE = {  # columns of tables that scripts make
    "where it fails": ("group", "items", "mean_response", "expected", "difference"),
    "unexpected wrongs": ("item", "chance"),
    "suspect items": ("given_label", "models_say", "strongest_third_right", "evidence"),
    "models": ("respondent", "ability", "mean_response", "responses"),
}


def tables_of(path):
    """The columns of all tables of a report, by caption."""
    data = re.search(r'id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)[1]
    tables = json.loads(data)["tables"].values()
    return {table["caption"]: [column["name"] for column in table["columns"]] for table in tables}


def unknown(tables):
    return [
        (caption, name)
        for caption, names in tables.items()
        for name in names
        if not is_known(name, caption.replace("_", " "))
    ]


def test_the_columns_of_a_report_are_known(answers):
    own = {"task", "text"}  # facts of the table itself
    assert [pair for pair in unknown(tables_of(answers)) if pair[1] not in own] == []
    assert unknown(OF_THE_PAGE) == []


def test_words_of_the_glossary_have_its_first_sentence():
    text = GLOSSARY.read_text("utf-8")
    entries = dict(re.findall(r"^## ([^\n]+)\n\n(.*?)(?=\n\n## |\Z)", text, re.M | re.S))
    same = set(entries) & set(WORDS)
    assert {"ability", "difficulty", "discrimination", "guessing", "slip"} <= same
    for word in same:
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(entries[word].split()))
        assert plain.startswith(WORDS[word])


def test_every_word_is_one_sentence_and_no_name_is_explained_twice():
    for said in [*WORDS.values(), *(each for one in OF_TABLES.values() for each in one.values())]:
        assert said[0].isupper() or said[0] in "1|p"
        assert said.endswith(".")
        assert len(said) <= 160
    assert SELF_EXPLAINING.isdisjoint(WORDS)


def test_endings_and_tables_have_their_own_words():
    assert meaning_of("ability_se") == "Standard error of ability."
    assert meaning_of("chance", "Cells") != meaning_of("chance", "Datasets")
    assert meaning_of("no such column") == ""


def test_a_heading_is_explained_where_it_is_pointed_at(visit, answers):
    page = visit(answers).page
    head = page.locator("#leaderboard th button", has_text="ability").first
    said = head.get_attribute("title")
    assert said.startswith(WORDS["ability"])
    assert said.endswith("With its standard error.")
    assert page.locator("#models-one th button[title*='less what is expected']").count() == 1


def test_the_page_and_python_say_the_same(visit, answers):
    page = visit(answers).page
    for caption, names in tables_of(answers).items():
        place = page.locator(".table").filter(
            has=page.locator(".tools strong", has_text=re.compile(f"^{re.escape(caption)}$"))
        )
        if not place.count():
            continue
        for head in place.first.locator("th button").all():
            name = head.inner_text().replace(" ± SE", "").replace(" (interval)", "")
            name = next((one for one in names if one.replace("_", " ") == name), None)
            if name:
                assert head.get_attribute("title").startswith(meaning_of(name, caption))


def test_view_explains_its_columns(tmp_path):
    from ogive.reporting.session import ViewSession

    table = og.simulate("1pl", 5, 4, random_state=0).responses
    session = ViewSession([table.save(tmp_path / "some.parquet")])
    session.look()
    document = json.loads(session.snapshot.document)
    assert document["words"]["columns"]["item_rest"] == WORDS["item_rest"]


def test_a_heading_of_both_ends_is_not_explained_as_one_of_them(visit, answers):
    page = visit(answers).page
    heading = page.locator("th button", has_text="accuracy interval").first
    assert heading.get_attribute("title").startswith("The interval of accuracy")
