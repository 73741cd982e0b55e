import base64
import hashlib
import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive as og
from ogive.errors import FileError, InputError
from ogive.reporting.explorer import instances_of
from ogive.reporting.page_assets import filled, text
from ogive.reporting.sections import MOST_MARKS, as_json, columns_of, picture_of
from ogive.results.base import Result
from ogive.results.plots import DISPLAYS


class Reader(HTMLParser):
    """Every element of a page, with its attributes."""

    def __init__(self, page):
        super().__init__()
        self.seen = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    handle_startendtag = handle_starttag


def data_of(page):
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    return json.loads(found[1])


@pytest.fixture(scope="module")
def page(report):
    return report.read_text("utf-8")


def test_a_page_asks_nobody_for_anything(page):
    for _, attributes in Reader(page).seen:
        for name in ("src", "href", "action", "srcset", "data"):
            assert re.match(r"#|data:image/|$", attributes.get(name) or ""), attributes
    assert "@import" not in page
    assert "default-src 'none'" in page


def test_only_the_script_of_the_page_may_run(page):
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page
    assert page.count("<script") == 2


def test_ids_occur_once_and_references_lead_somewhere(page):
    seen = Reader(page).seen
    ids = [attributes["id"] for _, attributes in seen if "id" in attributes]
    assert len(ids) == len(set(ids))
    wanted = {a["href"][1:] for _, a in seen if (a.get("href") or "").startswith("#")}
    wanted |= set(re.findall(r"url\(#([^)]+)\)", page))
    assert len(wanted) > 10
    assert wanted <= set(ids)


def test_the_headline_says_what_was_found(page, calibration):
    headline = page.split('<section class="headline"')[1].split("</section>")[0]
    best = calibration.abilities()["ability"].idxmax()
    assert f"{best}, model 22 and model 33 share the first place" in headline  # with equal sums
    assert "2 of 30 items contradict good respondents" in headline
    assert text(og.respondent_fit(calibration).meaning) in headline  # there is room for a check
    assert text(og.respondent_fit(calibration).meaning) in page


def test_tables_hold_the_whole_data_once(page, calibration):
    tables = data_of(page)["tables"].values()
    items = next(each for each in tables if each["caption"] == "Items")
    columns = {column["name"]: column["values"] for column in items["columns"]}
    np.testing.assert_allclose(columns["difficulty"], calibration.items["difficulty"], rtol=1e-5)
    assert columns["item"] == list(calibration.item_names)
    assert sum(each["caption"] == "Items" for each in tables) == 1


def test_answers_come_back_from_the_bits(page, calibration, responses):
    answers = data_of(page)["scales"][0]["answers"]
    order = [responses.respondents.index(name) for name in answers["respondents"]]
    packed = np.frombuffer(base64.b64decode(answers["right"]), dtype=np.uint8)
    right = np.unpackbits(packed.reshape(30, -1), axis=1)[:, :60]
    np.testing.assert_array_equal(right.T, responses.cells[order])
    assert answers["never"] is None
    assert answers["ability"] == sorted(answers["ability"], reverse=True)


def test_what_was_run_and_how_to_repeat_it_is_said(page):
    run = page.split("What was run</h3>")[1]
    assert f"<dt>ogive</dt><dd>{og.__version__}" in run
    assert "<dt>numpy</dt>" in run
    assert "<dd>2026-01-01</dd>" in run
    assert "og.calibrate(responses, &#x27;2pl&#x27;)" in run
    assert "og.label_trouble(...)" in run
    settings = next(t for t in data_of(page)["tables"].values() if t["caption"] == "Settings")
    assert settings["columns"][1]["values"][0] == "seed"


def test_the_same_results_give_the_same_bytes(calibration, tmp_path):
    found = og.label_trouble(calibration)
    pages = [og.write_report(tmp_path / f"{k}.html", found, date="2026-01-01") for k in range(2)]
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_hostile_names_are_nothing_but_text(hostile):
    page = hostile.read_bytes().decode("utf-8")
    assert page.count("<script") == 2
    assert not re.search(r"<img[^>]+onerror", page)
    for tag, attributes in Reader(page).seen:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert not (attributes.get("href") or "").lower().startswith("javascript")
    names = data_of(page)["scales"][0]["answers"]["respondents"]
    assert "</script><script>window.pwned=1</script> 0" in names


@settings(max_examples=50, deadline=None)
@given(st.text())
def test_json_inside_a_script_stays_inside(words):
    written = as_json({words: [words]})
    assert json.loads(written) == {words: [words]}
    assert not set("<>&\u2028\u2029") & set(written)


def test_values_are_never_searched_for_places_to_fill():
    assert filled("{{a}} {{b}}", {"a": "{{b}}", "b": "1"}) == "{{b}} 1"


@dataclass(frozen=True, eq=False, repr=False)
class Tomorrow(Result):
    """A study that nobody has written yet."""

    frame: pd.DataFrame
    more: pd.DataFrame
    notes: tuple[str, ...] = ("take care",)

    @property
    def meaning(self):
        return "It will rain."

    def to_frame(self):
        return self.frame

    def plot(self, **kw):
        return DISPLAYS["ranking"](self.frame).plot(**kw)


def test_a_new_study_has_a_section_without_a_line_of_code(tmp_path):
    frame = pd.DataFrame({"ability": [1.0, 2.0], "se": [0.1, 0.1]}, index=["a", "b"])
    found = Tomorrow(frame, pd.DataFrame({"x": [1, 2]}))
    page = og.write_report(tmp_path / "new.html", found).read_text("utf-8")
    assert "It will rain." in page
    assert "take care" in page
    assert "A study that nobody has written yet." in page
    assert 'role="img" aria-label="Tomorrow"' in page
    assert [each["caption"] for each in data_of(page)["tables"].values()] == ["Tomorrow", "More"]


def test_a_figure_that_cannot_be_drawn_leaves_a_note(tmp_path):
    found = Tomorrow(pd.DataFrame({"x": [1.0]}), pd.DataFrame())
    page = og.write_report(tmp_path / "new.html", [found]).read_text("utf-8")
    assert "There is no figure &#x27;tomorrow&#x27;: " in page


def test_what_is_no_result_is_refused(tmp_path):
    with pytest.raises(InputError, match="results holds int, but a page shows results"):
        og.write_report(tmp_path / "a.html", [1])
    with pytest.raises(InputError, match="nothing to report"):
        og.write_report(tmp_path / "a.html", [])
    with pytest.raises(FileError, match="there is no directory"):
        og.write_report(tmp_path / "none" / "a.html", [])
    assert not list(tmp_path.iterdir())


def test_dense_figures_are_drawn_as_pixels_inside_the_figure():
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(4 * MOST_MARKS, 2)), columns=["ability", "zh"])
    frame = frame.assign(p=0.5, se=0.1).rename_axis("respondent")
    found = picture_of(DISPLAYS["respondent_fit"](frame), "dense", "f1")
    assert "data:image/png;base64," in found
    assert found.startswith("<svg")
    assert len(found) < 200_000


def test_columns_keep_whole_numbers_round_others_and_name_what_is_missing():
    frame = pd.DataFrame(
        {
            "n": [123456789, 2, 3],
            "x": [1.23456789, np.nan, np.inf],
            "flag": [True, False, True],
            "word": ["a", "a", "a"],
            "list": [["a", "b"], None, "c"],
        },
        index=pd.Index(["r", "s", "t"], name="item"),
    )
    found = {column["name"]: column for column in columns_of(frame)}
    assert found["n"]["values"] == [123456789, 2, 3]
    assert found["x"]["values"] == [1.23457, None, "Infinity"]
    assert found["flag"]["values"] == [True, False, True]
    assert found["word"] == {"name": "word", "kind": "text", "levels": ["a"], "values": [0, 0, 0]}
    assert found["list"]["values"] == ["a, b", "", "c"]


def test_instances_are_rows_texts_or_pictures():
    items = ["row_1", "row_0", "row_7"]
    rows = instances_of(pd.DataFrame({"x": [1.5, 2.5]}), items)["rows"]
    assert rows[0]["values"] == [2.5, 1.5, None]
    assert instances_of({"row_0": "why?"}, items) == {"texts": [None, "why?", None]}
    pictures = instances_of({"row_1": np.eye(3)}, items)["pictures"]
    assert base64.b64decode(pictures[0].removeprefix("data:image/png;base64,"))[1:4] == b"PNG"
    assert pictures[1:] == [None, None]


def test_instances_that_cannot_be_shown_are_refused(subtests):
    cases = [
        ([1, 2], "`instances` must be a frame"),
        ({"else": "text"}, "instances describes 'else'"),
        ({"row_0": b"<svg onload=alert(1)>"}, "neither PNG, JPEG, GIF nor WebP"),
        ({"row_0": np.zeros(3)}, "A picture has the shape"),
        (pd.DataFrame({"x": [1, 2]}, index=["row_0", "row_0"]), "two rows for the item 'row_0'"),
    ]
    for offered, words in cases:
        with (
            subtests.test(offered=offered, words=words),
            pytest.raises(InputError, match=re.escape(words)),
        ):
            instances_of(offered, ["row_0", "row_1"])


def test_graded_and_continuous_scales_have_sampled_curves(tmp_path, monkeypatch):
    monkeypatch.setattr("ogive.reporting.sections._drawn", lambda *_: ([], []))
    for model in ("graded", "continuous"):
        cal = og.calibrate(og.simulate(model, 80, 6, missing=0.1, random_state=0).responses, model)
        page = og.write_report(tmp_path / f"{model}.html", cal).read_text("utf-8")
        scale = data_of(page)["scales"][0]
        curve, answers = scale["curve"], scale["answers"]
        assert curve["kind"] == "sampled"
        coded = np.frombuffer(base64.b64decode(curve["values"]), np.uint8).reshape(6, -1)
        grid = np.linspace(curve["from"], curve["to"], coded.shape[1])
        found = curve["low"] + coded / 255 * (curve["high"] - curve["low"])
        wanted = cal.probability(grid).to_numpy().T
        step = (curve["high"] - curve["low"]) / 255
        np.testing.assert_allclose(found, wanted, atol=step)
        codes = np.frombuffer(base64.b64decode(answers["values"]), f"<u{answers['bytes']}")
        order = [cal.responses.respondents.index(name) for name in answers["respondents"]]
        given = cal.responses.to_frame().iloc[order].to_numpy(dtype=float).T.ravel()
        np.testing.assert_array_equal(codes == np.iinfo(codes.dtype).max, np.isnan(given))
        asked = codes[~np.isnan(given)]
        np.testing.assert_array_equal(np.array(answers["levels"])[asked], given[~np.isnan(given)])


def test_500_items_by_200_respondents_stay_below_3_megabytes(tmp_path):
    drawn = og.simulate("2pl", 200, 500, random_state=0).responses
    words = {name: f"{name}: " + "a question of some length. " * 8 for name in drawn.items}
    cal = og.calibrate(drawn, "2pl")
    path = og.write_report(tmp_path / "large.html", cal, instances=words)
    assert path.stat().st_size < 3e6
