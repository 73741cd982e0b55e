import json

import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def old(tmp_path):
    """A bank of ten items, and a table of the same and four more by other respondents."""
    items = og.simulate("2pl", 2, 14, random_state=1).truth.items
    first = og.simulate("2pl", 300, items=items.iloc[:10], random_state=2).responses
    og.simulate("2pl", 300, items=items, random_state=3).responses.save(tmp_path / "new.csv")
    return og.calibrate(first).save(tmp_path / "old.json")


def test_the_bank_that_is_written_is_that_of_the_package(run, old):
    done = run("link", old, "new.csv", "--out", "bank.json", "--table", "anchors.csv")
    assert done.exit_code == 0, done.stderr
    wanted = og.link(og.load(old), og.read_responses("new.csv"))
    pd.testing.assert_frame_equal(og.load("bank.json").items, wanted.bank.items)
    assert wanted.meaning in done.stdout
    assert len(pd.read_csv("anchors.csv")) == 10


def test_a_bank_may_be_linked_in_place_of_responses(run, old):
    assert run("calibrate", "new.csv", "--model", "2pl", "--out", "new.json").exit_code == 0
    document = json.loads(run("link", old, "new.json", "--method", "haebara", "--json").stdout)
    wanted = og.link(og.load(old), og.load("new.json"), method="haebara")
    assert document["slope"] == pytest.approx(wanted.slope)
    assert document["intercept_se"] == pytest.approx(wanted.intercept_se)
    assert len(document["anchors"]) == 10


def test_anchors_are_read_from_a_file_and_printed_as_csv(run, old, tmp_path):
    (tmp_path / "anchors.txt").write_text("item\nitem_2\nitem_5\nitem_6\nitem_9\n")
    done = run("link", old, "new.csv", "--anchors", "anchors.txt", "--method", "fixed")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split(",")[0] for line in lines] == [
        "item",
        "item_2",
        "item_5",
        "item_6",
        "item_9",
    ]


@pytest.mark.usefixtures("rendered")
def test_responses_in_parquet_and_a_figure_are_fine(run, old, tmp_path):
    og.read_responses(tmp_path / "new.csv").save(tmp_path / "new.parquet")
    done = run("link", old, "new.parquet", "--quiet", "--figure", "a.png", "--out", "b.parquet")
    assert done.exit_code == 0, done.stderr
    assert done.stdout == ""
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--method", "guess"], 2, "guess"),
        (["--alpha", "2"], 3, "alpha must be"),
        (["--out", "old.json"], 3, "also the input"),
    ],
)
def test_wrong_options_are_refused(run, old, words, code, message):
    done = run("link", old, "new.csv", *words)
    assert done.exit_code == code
    assert message in done.stderr


def test_tables_without_common_items_are_refused_with_names_of_both(run, old, tmp_path):
    renamed = og.read_responses(tmp_path / "new.csv").to_frame().add_prefix("q_")
    renamed.to_csv(tmp_path / "other.csv")
    done = run("link", old, "other.csv")
    assert done.exit_code == 3
    assert "item_1" in done.stderr
    assert "q_item_1" in done.stderr
