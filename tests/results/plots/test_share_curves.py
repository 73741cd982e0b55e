"""Share curves: what is its own in each display."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

from ogive.errors import InputError
from ogive.results.plots.banded_curves import AlarmDisplay, CharacteristicDisplay

X = np.linspace(-2.0, 2.0, 5)


def some(count):
    parts = [
        pd.DataFrame(
            {
                "respondent": f"model {k}",
                "difficulty": X,
                "share": 0.9 * 0.9**k,
                "low": 0,
                "high": 1,
            }
        )
        for k in range(count)
    ]
    return pd.concat(parts, ignore_index=True)


def texts(ax):
    return [text.get_text() for text in ax.texts]


def drawn(ax, marker):
    return [line for line in ax.lines if line.get_marker() == marker]


def test_each_respondent_has_a_line_a_band_and_a_name_in_its_colour():
    ax = CharacteristicDisplay(some(3).sample(frac=1, random_state=0)).plot().ax_
    lines = drawn(ax, "o")
    assert len(lines) == len(ax.collections) == 3
    np.testing.assert_array_equal(lines[0].get_xdata(), X)
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    assert [colours[f"model {k}"] for k in range(3)] == [line.get_color() for line in lines]


def test_names_do_not_cover_each_other():
    ax = CharacteristicDisplay(some(4).assign(share=0.5)).plot().ax_
    heights = sorted(text.get_position()[1] for text in ax.texts if "model" in text.get_text())
    assert len(heights) == 4
    assert np.diff(heights).min() > 0.03


def test_of_more_than_four_each_has_a_panel_with_the_others_behind_it():
    ax = CharacteristicDisplay(some(20).assign(expected=0.4)).plot().ax_
    assert [text for text in texts(ax) if "model" in text] == [f"model {k}" for k in range(8)]
    said = " ".join(texts(ax))
    assert "without a panel: 12 respondents of lower mean share" in said
    assert "dashed: expected" in said
    curves = [line for line in ax.lines if line.get_linestyle() == "-"]
    assert len(curves) == 8
    lefts = [line.get_xdata().min() for line in curves[:4]]
    assert all(np.diff(lefts) > 1)  # beside each other, not on top of each other


def test_the_expected_share_is_dashed():
    ax = CharacteristicDisplay(some(2).assign(expected=0.4)).plot().ax_
    dashed = [line for line in ax.lines if line.is_dashed()]
    assert [set(line.get_ydata()) for line in dashed] == [{0.4}, {0.4}]
    assert texts(ax)[-1] == "dashed: expected by the calibration"


def test_another_column_may_lie_along_the_axis():
    frame = some(2).assign(difficulty=np.tile([1, 2, 3, 4, 5], 2))
    ax = CharacteristicDisplay(frame.rename(columns={"difficulty": "bin"}), by="bin").plot().ax_
    assert ax.get_xlabel() == "bin"
    ticks = [tick for tick in ax.get_xticks() if 1 <= tick <= 5]
    assert ticks == [1, 2, 3, 4, 5]


def test_one_point_far_out_does_not_squash_the_rest():
    frame = some(1)
    far = frame.iloc[[0]].assign(difficulty=1e6)
    ax = CharacteristicDisplay(pd.concat([frame, far])).plot().ax_
    assert np.ptp(ax.get_xlim()) < 10
    assert "not shown: 1 point far beyond the others" in texts(ax)


def test_points_without_a_share_are_left_out_and_said():
    frame = some(1)
    frame.loc[2, "share"] = np.nan
    ax = CharacteristicDisplay(frame).plot().ax_
    assert "not shown: 1 row without a number" in texts(ax)
    with pytest.raises(InputError, match="no row has a finite number in 'difficulty' and 'share'"):
        CharacteristicDisplay(frame.assign(share=np.nan))


def test_with_years_colours_and_names_go_from_early_to_late():
    frame = some(3)
    frame["year"] = frame["respondent"].map({"model 0": 2019, "model 1": 2012, "model 2": 2015})
    ax = CharacteristicDisplay(frame).plot().ax_
    lines = drawn(ax, "o")
    darkness = [sum(mpl.colors.to_rgb(line.get_color())) for line in lines]
    assert darkness == sorted(darkness, reverse=True)
    colours = {text.get_text(): text.get_color() for text in ax.texts}
    names = ["model 1 (2012)", "model 2 (2015)", "model 0 (2019)"]
    assert [colours[name] for name in names] == [line.get_color() for line in lines]


def test_of_many_years_the_first_and_the_last_are_named():
    frame = some(20)
    frame["year"] = 2000 + frame["respondent"].str.removeprefix("model ").astype(int)
    ax = CharacteristicDisplay(frame).plot().ax_
    named = {text for text in texts(ax) if "model" in text}
    assert len(named) == 7
    assert {"model 0 (2000)", "model 19 (2019)"} <= named
    assert "grey: 13 respondents in between" in texts(ax)


def test_who_has_no_year_comes_last_and_is_grey():
    frame = some(2)
    frame["year"] = frame["respondent"].map({"model 1": 2012})
    ax = CharacteristicDisplay(frame).plot().ax_
    assert {text for text in texts(ax) if "model" in text} == {"model 0", "model 1 (2012)"}
    assert drawn(ax, "o")[1].get_color() == "#8A8A8A"


def test_the_height_may_be_something_else():
    ax = CharacteristicDisplay(some(1), height="mean confidence").plot().ax_
    assert ax.get_ylabel() == "mean confidence"


def alarm_some():
    x = np.linspace(-2.0, 2.0, 5)
    share = 1 / (1 + np.exp(x))
    columns = {"difficulty": x, "share": share, "low": share / 2, "high": (1 + share) / 2}
    parts = [pd.DataFrame({"sample": name, **columns}) for name in ("expected", "reference", "new")]
    return pd.concat(parts, ignore_index=True)


def entries(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_the_curve_has_a_band_and_each_sample_its_points_and_bars():
    ax = AlarmDisplay(alarm_some()).plot().ax_
    assert entries(ax) == ["expected", "reference", "new"]
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [len(line.get_xdata()) for line in dots] == [5, 5]
    assert len({line.get_color() for line in dots}) == 2
    assert len(ax.collections) == 3
    assert not ax.texts


def test_items_without_an_outcome_are_ticks():
    frame = alarm_some()
    frame.loc[frame["sample"] == "new", ["share", "low", "high"]] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert "outcome is unknown" in ax.texts[0].get_text()
    ticks = [line for line in ax.lines if line.get_marker() == "|" and len(line.get_xdata())]
    np.testing.assert_array_equal(ticks[0].get_xdata(), [-2, -1, 0, 1, 2])


def test_rows_without_a_difficulty_are_left_out_and_said():
    frame = alarm_some()
    frame.loc[7, "difficulty"] = np.nan
    ax = AlarmDisplay(frame).plot().ax_
    assert ax.texts[0].get_text() == "not shown: 1 row without a number"
    with pytest.raises(InputError, match="'difficulty' holds no finite number"):
        AlarmDisplay(frame.assign(difficulty=np.nan))
