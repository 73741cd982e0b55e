"""What a notebook shows of every result: title, sentences, a short table, readable numbers."""

import dataclasses
import html
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.checks.check import DIAGNOSTICS
from ogive.results.base import COLUMNS_IN_NOTEBOOK, ROWS_IN_NOTEBOOK, Result

TIMES = np.random.default_rng(0).random((60, 5))


def every_result():
    """All classes of results, wherever they are defined."""
    for module in pkgutil.walk_packages(og.__path__, "ogive."):
        importlib.import_module(module.name)
    waiting, found = [Result], {}
    while waiting:
        waiting += (children := waiting.pop().__subclasses__())
        found |= {f"{one.__module__}.{one.__name__}": one for one in children}
    return {
        name: one
        for name, one in sorted(found.items())
        if name.startswith("ogive.") and not inspect.isabstract(one)
    }


def test_every_result_has_a_title_for_a_reader_and_the_common_view(subtests):
    for name, result in every_result().items():
        with subtests.test(name):
            title = result.__doc__.splitlines()[0]
            assert title.endswith(".")
            assert len(title) < 100
            assert dataclasses.is_dataclass(result)
            assert result.__dataclass_params__.frozen
            assert result._repr_html_ is Result._repr_html_


# What public calls return besides results: data to work on, and what is said of single calls.
DATA = {
    *("AslibScenario", "Answers", "Dataset", "Responses", "ScannedResponses", "Simulation"),
    *("InspectAsk", "LmEvalAsk", "LogReading", "Publication", "SampleIds", "Split"),
}


def test_every_call_that_analyses_returns_a_result(subtests):
    known = {name.rpartition(".")[2] for name in every_result()}
    for name in og.__all__:
        call = getattr(og, name)
        returned = str(call.__annotations__.get("return")) if inspect.isfunction(call) else ""
        if re.fullmatch(r"[A-Z]\w+", returned) and returned not in {*DATA, "Any", "None", "Path"}:
            with subtests.test(name):
                assert returned in known


@pytest.fixture(scope="module")
def table():
    return og.simulate("2pl", 60, 24, missing=0.02, random_state=2).responses


@pytest.fixture(scope="module")
def cal(table):
    return og.calibrate(table, "2pl")


# Those that a small table of responses gives at once; what the others add is in their own tests.
FROM_RESPONSES = {
    "calibration": lambda table, cal: cal,
    "curves": lambda table, cal: cal.curves(),
    "information": lambda table, cal: cal.test_information(),
    "diagnoses": lambda table, cal: og.diagnose(cal),
    "comparison": lambda table, cal: og.compare_models(table, ["1pl", "2pl"]),
    "leaderboard": lambda table, cal: og.leaderboard(table),
    "health": lambda table, cal: og.item_health(table),
    "shorten": lambda table, cal: og.shorten(table, 6, cv=2),
    "link": lambda table, cal: og.link(cal, table),
    "tasks": lambda table, cal: og.task_scales(table, by=["reading", "sums"] * 12),
    "adaptive": lambda table, cal: og.evaluate_adaptively(cal, lambda item: 1, budget=5),
    "tournament": lambda table, cal: og.tournament(table),
    "ranks": lambda table, cal: og.compare_ranks(table.to_frame().fillna(0).T),
    "characteristic": lambda table, cal: og.characteristic_curves(
        table, cal.items["difficulty"], bins=4
    ),
    "generality": lambda table, cal: og.generality(table, cal.items["difficulty"]),
    "portfolio": lambda table, cal: og.portfolio(pd.DataFrame(TIMES, columns=list("abcde"))),
    "decoding": lambda table, cal: og.decode_responses({"first": table, "second": table}),
    **{name: (lambda table, cal, check=check: check(cal)) for name, check in DIAGNOSTICS.items()},
}


@pytest.mark.parametrize("name", FROM_RESPONSES)
def test_a_page_has_its_sentences_before_a_short_table_of_numbers_to_read(
    subtests, name, table, cal
):
    result = FROM_RESPONSES[name](table, cal)
    page = re.sub(r"<iframe.*</iframe>", "", result._repr_html_(), flags=re.DOTALL)
    with subtests.test("sentences stand before the table"):
        assert page.index(html.escape(result._title())) < page.index("<table")
        said = result._lines()  # of a calibration, what needs no scoring
        assert said or not result.meaning
        for text in said:
            assert page.index(html.escape(text)) < page.index("<table")
    with subtests.test("the table is short"):
        assert page.count("</tr>") <= 2 + ROWS_IN_NOTEBOOK
        assert page.count("<th") + page.count("<td") <= (ROWS_IN_NOTEBOOK + 3) * (
            COLUMNS_IN_NOTEBOOK + 4
        )
        assert len(page) < 30_000
        assert "<img" not in page
    with subtests.test("numbers are those that a person reads"):
        cells = re.findall(r"<td>(.*?)</td>", page)
        assert cells
        for cell in cells:
            assert not re.search(r"\de[+-]\d", cell), "powers of ten"
            assert not re.search(r"\.\d{8}", cell), "digits that mean nothing"
            assert cell not in ("nan", "NaN", "None", "<NA>")


def test_a_calibration_can_be_explored_in_a_frame_that_reaches_nothing(cal):
    page = cal._repr_html_()
    (frame,) = re.findall(r"<iframe [^>]*>", page)
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    inside = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert "default-src 'none'" in inside
    assert not re.search(r"(src|href)=.?https?:", inside)
    assert len(page) < 200_000


def test_a_large_calibration_is_not_put_into_a_notebook(cal, monkeypatch):
    from ogive.reporting import explorer as notebook

    monkeypatch.setattr(notebook, "MOST_ITEMS", 23)
    page = cal._repr_html_()
    assert "<iframe" not in page
    assert "24 items are too many to be explored here" in page


def test_the_text_of_a_calibration_needs_no_page(cal, monkeypatch):
    monkeypatch.setattr("ogive.irt.calibration.import_module", None)
    assert repr(cal).startswith("Calibration: 2pl")


@pytest.mark.parametrize("name", ["calibration", "leaderboard", "tournament"])
def test_the_figure_of_many_names_fits_a_notebook(name, table, cal):
    shown = FROM_RESPONSES[name](table, cal).plot()
    assert max(shown.figure_.get_size_inches()) <= 13
    assert len(shown._repr_png_()) < 400_000
