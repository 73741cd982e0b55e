"""Names in a report with several scales: each leads to the scale that it is about."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.reporting.sections import Section

MODELS = [f"model {k}" for k in range(12)]
SCALES = ("iris", "wine", "blobs")


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Three scales with the same respondents, tables about one of them, and tables about all."""
    tables = {
        name: og.Responses(
            og.simulate("2pl", 12, 9 + k, random_state=k).responses.values,
            respondents=MODELS,
            items=[f"{name} {j}" for j in range(9 + k)],
        )
        for k, name in enumerate(SCALES)
    }
    frame = pd.DataFrame({"dataset": list(SCALES) * 2, "respondent": MODELS[:6]})
    results = [
        {name: og.calibrate(table, "2pl") for name, table in tables.items()},
        {"Leaderboard: wine": og.leaderboard(tables["wine"])},
        {"Who leads": og.leaderboard(tables["blobs"])},
        Section("Classifiers", tables=(("classifiers", frame),)),
        Section("Ranks", tables=(("ranks", pd.DataFrame({"respondent": MODELS[:3]})),)),
    ]
    return og.write_report(tmp_path_factory.mktemp("several") / "report.html", results)


@pytest.fixture
def page(visit, several):
    return visit(several).page


def first_link(page, section):
    return page.locator(f"#{section} td a.link").first


@pytest.mark.parametrize(
    ("section", "scale"), [("leaderboard-wine", "wine"), ("who-leads", "blobs"), ("wine", "wine")]
)
def test_a_model_leads_to_the_scale_of_its_section(page, section, scale):
    link = first_link(page, section)
    name = link.inner_text()
    link.click()
    page.wait_for_selector(f"#models-one .name:text-is('{name}')")
    assert page.evaluate("decodeURIComponent(location.hash)") == f"#model={scale}/{name}"
    assert page.locator("#models-scale option:checked").inner_text() == scale


def test_a_model_leads_to_the_data_set_of_its_row(page):
    links = page.locator("#classifiers td a.link")
    found = [link.get_attribute("href").split("/")[0] for link in links.all()]
    assert found == [f"#model={name}" for name in SCALES * 2]


def test_a_model_of_a_table_about_all_scales_is_no_link_to_one_of_them(page):
    """It led to the scale that was opened last, with a few of the items that the table is about."""
    page.locator("#ranks td").first.wait_for(state="attached")
    assert page.locator("#ranks td a.link").count() == 0
    first_link(page, "who-leads").click()
    assert page.locator("#ranks td a.link").count() == 0
    assert MODELS[0] in page.locator("#ranks td").first.text_content()


def test_names_beside_an_item_and_among_those_beaten_stay_on_its_scale(page):
    page.select_option("#explorer-scale", label="wine")
    page.select_option("#models-scale", label="blobs")
    beside = page.locator("#explorer-item .names a.link").first
    assert beside.get_attribute("href").startswith("#model=wine/")
    page.wait_for_selector("#models-one .beaten a.link")
    beaten = page.locator("#models-one .beaten a.link").first
    assert beaten.get_attribute("href").startswith("#model=blobs/")


def test_a_link_opens_in_another_tab(page):
    link = first_link(page, "leaderboard-wine")
    name = link.inner_text()
    with page.context.expect_page() as waiting:
        link.click(modifiers=["Control"])
    other = waiting.value
    other.wait_for_selector(f"#models-one .name:text-is('{name}')")
    assert other.locator("#models-scale option:checked").inner_text() == "wine"
    assert "#model" not in page.url


def test_signs_that_mean_something_in_addresses_are_names(visit, tmp_path):
    odd = ["100% %zz", "a/b#c?d", "#model=x/y"]
    values = np.random.default_rng(0).integers(0, 2, (3, 5)).astype(float)
    table = og.Responses(values, respondents=odd)
    opened = visit(og.write_report(tmp_path / "odd.html", og.calibrate(table, "1pl")))
    links = opened.page.locator("#calibration td a.link")
    assert links.count() == 3
    for link in links.all():
        link.click()
        opened.page.wait_for_selector("#models-one .name")
        assert opened.page.inner_text("#models-one .name") == link.inner_text()
    assert opened.trouble == []


def test_a_model_says_on_which_scale_its_ability_is(page):
    page.select_option("#models-scale", label="wine")
    page.wait_for_selector("#models-one p:has-text('the scale of wine in the item explorer')")


@pytest.fixture(scope="module")
def alike(tmp_path_factory):
    """Two data sets of the same models, whose items have the same names but other answers."""
    tables = {}
    for k, name in enumerate(("first", "second")):
        drawn = og.simulate("2pl", 30, 12, random_state=k).responses
        values = drawn.to_frame().to_numpy(copy=True)
        values[:, 3 + k] = 1 - values[:, 3 + k]
        tables[name] = og.Responses(values, items=[f"row_{j}" for j in range(12)])
    scales = {name: og.calibrate(table, "2pl") for name, table in tables.items()}
    items = pd.DataFrame({"item": [f"row_{j}" for j in range(12)]})
    results = [
        scales,
        {f"Who leads {k}": og.leaderboard(table) for k, table in enumerate(tables.values())},
        {f"Doubts {k}": og.label_trouble(scale) for k, scale in enumerate(scales.values())},
        {"Health": og.item_health(tables["second"], scales["second"])},
        Section("Anything", tables=(("items", items),)),
        Section("Changed", tables=(("items", items),), scale="second"),
        Section("Several", tables=(("items", items.assign(dataset=["first", "second"] * 6)),)),
    ]
    return og.write_report(tmp_path_factory.mktemp("alike") / "report.html", results), scales


SECTIONS = {
    "who-leads-0": "first",
    "who-leads-1": "second",
    "health": "second",
    "changed": "second",
}


def test_links_of_items_with_equal_names_lead_to_their_data_set(visit, alike):
    page = visit(alike[0]).page
    page.select_option("#explorer-scale", label="first")
    hrefs = page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("main section")].map((one) => [
          one.id, [...one.querySelectorAll("td a.link")].map((a) => a.getAttribute("href"))]))"""
    )
    for section, scale in SECTIONS.items():
        found = {href.partition("=")[2].partition("/")[0] for href in hrefs[section]}
        assert found == {scale}, section
    assert hrefs["anything"] == []  # which of the two is meant is not known
    assert [href.split("/")[0] for href in hrefs["several"]] == ["#item=first", "#item=second"] * 6
    for section in ("changed", "several", "health"):
        for link in page.locator(f"#{section} td a.link[href^='#item=']").all()[:4]:
            scale, name = link.get_attribute("href").removeprefix("#item=").split("/")
            link.click()
            page.wait_for_selector(f"#explorer-item .of-scale:text-is('An item of {scale}.')")
            assert page.inner_text("#explorer-item h3") == name
            assert page.evaluate("location.hash") == f"#item={scale}/{name}"
            assert page.inner_text("#explorer-status").startswith(f"{name} of {scale}: ")


def test_suspects_and_pairs_of_equal_names_are_those_of_their_data_set(alike):
    path, scales = alike
    text = path.read_text("utf-8")
    data = json.loads(re.search(r'<script[^>]*id="data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])
    for k, shown in enumerate(data["scales"]):
        name = shown["name"]
        columns = {each["name"]: each for each in data["tables"][shown["table"]]["columns"]}
        wanted = og.label_trouble(scales[name]).to_frame()["suspect"]
        assert columns["suspect"]["values"] == wanted[list(scales[name].item_names)].tolist()
        pairs = [each for each in data["tables"].values() if name in each.get("scales", ())]
        assert {each["file"].partition("-leader")[0] for each in pairs} == {
            f"who-leads-{k}-pairs.csv",
            f"who-leads-{k}",
        }
