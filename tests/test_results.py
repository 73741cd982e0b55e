"""Results show themselves, and stay readable whatever their names hold."""

import json
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pandas as pd
import pytest

from ogive.errors import FileError, InputError
from ogive.results.base import Result
from ogive.results.plots.figure import Display
from ogive.results.plots.rankings import RankingDisplay


@dataclass(frozen=True, eq=False)
class Standing(Result):
    """Where each <respondent> stands.

    This line is no part of the title.
    """

    frame: pd.DataFrame

    def to_frame(self):
        return self.frame

    def plot(self, **kw):
        return RankingDisplay(self.frame).plot(**kw)


def standing(count=3, **columns):
    names = pd.Index([f"model {i}" for i in range(count)], name="respondent")
    values = {"ability": np.linspace(-1, 1, count) / 3, "se": np.full(count, 0.25), **columns}
    return Standing(pd.DataFrame(values, index=names))


def hostile():
    names = ["<script>alert(1)</script>", "two\nlines\x1b[31m", "n" * 500]
    columns = {"ability": [0.1, np.nan, np.inf], "se": [0.1, 0.2, np.inf], "<b>": ["&", "<i>", ""]}
    return Standing(pd.DataFrame(columns, index=pd.Index(names, name="<u>")))


def test_a_result_cannot_be_made_without_its_frame_and_plot():
    with pytest.raises(TypeError, match="abstract"):
        Result()


def test_a_result_is_frozen_and_equal_only_to_itself():
    result = standing()
    with pytest.raises(FrozenInstanceError):
        result.frame = None
    assert result == result
    assert result != standing()
    assert hash(result)


def test_repr_is_the_name_the_number_of_rows_and_the_first_of_them():
    assert repr(standing(3)).splitlines() == [
        "Standing: 3 rows",
        "respondent  ability    se",
        "model 0     -0.3333  0.25",
        "model 1           0  0.25",
        "model 2      0.3333  0.25",
    ]
    assert repr(standing(12_000)).startswith("Standing: 12,000 rows, the first 5 here\n")
    assert len(repr(standing(12_000)).splitlines()) == 7


def test_repr_of_no_rows_is_one_line():
    assert repr(Standing(standing().frame[:0])) == "Standing: 0 rows"


def test_repr_of_many_columns_says_how_many_are_hidden():
    wide = standing(2, **{f"column {i}": 1 for i in range(20)})
    assert repr(wide).endswith("... and 16 more columns")


def test_repr_keeps_hostile_names_on_their_line_and_without_escape_codes():
    shown = repr(hostile())
    assert len(shown.splitlines()) == 5
    assert "\x1b" not in shown
    assert max(map(len, shown.splitlines())) < 100


def test_a_class_may_still_write_its_own_repr():
    @dataclass(frozen=True, eq=False)
    class Quiet(Standing):
        """Quiet."""

        def __repr__(self):
            return "Quiet()"

    assert repr(Quiet(standing().frame)) == "Quiet()"


def test_html_has_the_title_and_the_first_rows():
    page = standing(200)._repr_html_()
    assert "Where each &lt;respondent&gt; stands." in page
    assert "no part of the title" not in page
    assert "200 rows, the first 10 here" in page
    assert "model 9<" in page
    assert "model 10<" not in page


def test_html_escapes_hostile_names(tmp_path):
    saved = hostile().save(tmp_path / "page.html").read_text(encoding="utf-8")
    for page in (hostile()._repr_html_(), saved):
        for tag in ("<script>", "<b>", "<i>", "<u>", "<respondent>"):
            assert tag not in page


def test_plot_returns_a_drawn_display():
    display = standing().plot(font_size=12)
    assert isinstance(display, Display)
    assert display.ax_.has_data()


def read_exactly(path):
    """As the file says: not every pandas reads the last digit of a number."""
    return pd.read_csv(path, dtype=str).astype({"ability": float, "se": float})


def test_csv_and_parquet_give_back_the_frame(tmp_path):
    frame = standing(5).frame
    for suffix, read in ((".csv", read_exactly), (".parquet", pd.read_parquet)):
        path = standing(5).save(tmp_path / f"saved{suffix}")
        back = read(path).set_index("respondent")
        pd.testing.assert_frame_equal(back, frame, check_exact=True, check_index_type=False)


def test_names_without_a_heading_are_kept_as_name(tmp_path):
    frame = standing(2).frame.rename_axis(None)
    assert list(pd.read_csv(Standing(frame).save(tmp_path / "a.csv"))) == ["name", "ability", "se"]
    plain = Standing(frame.reset_index(drop=True)).save(tmp_path / "b.csv")
    assert list(pd.read_csv(plain)) == ["ability", "se"]


def test_json_is_strict_records(tmp_path):
    kinds = {
        "tries": pd.array([1, None], dtype="Int64"),
        "when": pd.to_datetime(["2024-01-02", None]),
        "far": [np.inf, -np.inf],
        "right": [True, False],
        "steps": [(1, 2), []],
    }
    text = standing(2, **kinds).save(tmp_path / "saved.json").read_text()
    records = json.loads(text, parse_constant=pytest.fail)
    assert records[0] == {
        "respondent": "model 0",
        "ability": -1 / 3,
        "se": 0.25,
        "tries": 1,
        "when": "2024-01-02 00:00:00",
        "far": "inf",
        "right": True,
        "steps": "(1, 2)",
    }
    assert records[1]["tries"] is None
    assert records[1]["when"] is None


def test_a_saved_page_has_every_row_and_the_figure(tmp_path):
    page = standing(30).save(tmp_path / "page.HTML").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "model 29<" in page
    assert "data:image/png;base64," in page


def test_a_page_without_a_figure_says_why(tmp_path):
    empty = Standing(standing().frame[:0])
    assert "No figure: RankingDisplay was given a frame without rows" in (
        empty.save(tmp_path / "page.html").read_text(encoding="utf-8")
    )


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"'\.pkl'.*\.csv, \.parquet, \.json, \.html"):
        standing().save(tmp_path / "saved.pkl")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = standing(2).save(tmp_path / "saved.csv")
    before = path.read_bytes()
    monkeypatch.setattr(
        "ogive._files._write_all", lambda *_: (_ for _ in ()).throw(OSError("full"))
    )
    with pytest.raises(FileError):
        standing(9).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
