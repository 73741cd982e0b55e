"""Where a model fails: the error of a difference is that of responses, not of their agreement."""

from importlib.resources import files

import numpy as np
import pytest

import ogive as og
from ogive.reporting.sources import analysed

ASK = "(runs) => runs.map((run) => errorOfDifference(run.part, wholeOf(run.whole, true)))"


@pytest.fixture(scope="module")
def asked(chromium):
    """What the page computes, from responses that a test gives it."""
    source = files("ogive.reporting").joinpath("assets", "residuals.js").read_text("utf-8")
    context = chromium.new_context()
    page = context.new_page()
    page.evaluate(f"() => {{ {source}; window.ask = {ASK}; }}")
    yield lambda runs: np.array(page.evaluate("(runs) => window.ask(runs)", runs))
    context.close()


def listed(answer, expected, slope):
    columns = {"answer": answer, "expected": expected, "slope": slope}
    columns["spread"] = expected * (1 - expected)
    return [
        dict(zip(columns, map(float, row), strict=True))
        for row in zip(*columns.values(), strict=True)
    ]


def test_responses_that_agree_are_not_certain(asked):
    expected = np.full(79, 0.955)
    part = listed(np.ones(79), expected, np.zeros(79))
    (error,) = asked([{"part": part, "whole": part}])
    assert error == pytest.approx((0.955 * 0.045 / 79) ** 0.5)  # that of a share, not 0.005


@pytest.mark.parametrize(("n_respondents", "n_items"), [(60, 100), (40, 300), (30, 500)])
def test_a_model_that_fits_seldom_fails_by_1_96_standard_errors(asked, n_respondents, n_items):
    table = og.simulate("2pl", n_respondents, n_items, random_state=3).responses
    scale = og.calibrate(table, "2pl")
    ability = scale.abilities()["ability"].to_numpy()
    chance, after = (scale.probability(ability + by).to_numpy() for by in (0.0, 0.01))
    slope, thirds = (after - chance) / 0.01, np.arange(n_items) % 3
    runs, differences = [], []
    for k in range(n_respondents):
        whole = listed(table.values[k], chance[k], slope[k])
        for third in range(3):
            part = [one for one, mine in zip(whole, thirds == third, strict=True) if mine]
            runs.append({"part": part, "whole": whole})
            differences.append(np.mean([one["answer"] - one["expected"] for one in part]))
    beyond = np.abs(differences) > 1.96 * asked(runs)
    assert 0.005 < beyond.mean() < 0.09


def test_the_page_shows_a_standard_error_that_fits_the_share(visit, tmp_path):
    values = og.simulate("2pl", 40, 60, random_state=0).responses.values.copy()
    values[0, :30] = 1.0  # a group in which one model is always right
    table = og.Responses(values, respondents=[f"m{k}" for k in range(40)])
    table = table.described(items={"class": ["a"] * 30 + ["b"] * 30})
    page = visit(og.write_report(tmp_path / "page.html", analysed(table))).page
    page.select_option("#models-model", label="m0")
    page.wait_for_selector("#models-one .name:text-is('m0')")
    rows = page.locator("#models-one .table").first.locator("tbody tr").all_inner_texts()
    cells = next(row.split("\t") for row in rows if row.startswith("a\t"))
    error = float(cells[4].split(" ± ")[1])
    share = float(cells[3])
    assert error > 0.6 * (share * (1 - share) / 30) ** 0.5
