"""What holds for every display: the base class on a few of them, drawing on all."""

import subprocess
import sys
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import ogive as og
from ogive.errors import FileError, InputError
from ogive.reporting.exports import write_folder
from ogive.results.plots import DISPLAYS
from ogive.results.plots.matrices import HeatMapDisplay
from ogive.results.plots.rankings import RankingDisplay
from ogive.results.plots.response_curves import InformationDisplay

NAMES = ["one", "two", "three", "four", "five"]


HOSTILE = [
    "$x_{",
    "$a$ and $b$",
    "\\frac{$",
    "<script>alert(1)</script>",
    "a very long name " * 30,
    "模型 モデル 😀 é",
    "line\nbreak\ttab\x07\x1b[31m",  # NUL ends a name for pandas before 3
    "_hidden",
    "",
]


@pytest.fixture
def display(frames):
    return RankingDisplay(frames["ranking"](NAMES))


def test_plot_without_an_axes_makes_a_figure_and_returns_the_display(display):
    assert display.plot() is display
    assert isinstance(display.figure_, Figure)
    assert display.ax_ in display.figure_.axes


@pytest.mark.parametrize("key", ["ranking", "item_space", "information"])
def test_an_axes_in_a_subfigure_leads_to_the_whole_figure(key, frames, tmp_path):
    figure = Figure()
    display = DISPLAYS[key](frames[key](NAMES)).plot(figure.subfigures(1, 2)[0].subplots())
    assert display.figure_ is figure
    assert display.save(tmp_path / "whole.png").exists()


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_saved_files_are_figures_and_the_same_each_time(frames, tmp_path, suffix, magic):
    frame = frames["ranking"](NAMES)
    paths = [RankingDisplay(frame).plot().save(tmp_path / f"{i}.{suffix}") for i in (1, 2)]
    first, second = (path.read_bytes() for path in paths)
    assert first.startswith(magic)
    assert first == second
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths}


def test_an_unknown_suffix_is_refused(display, tmp_path):
    with pytest.raises(InputError, match=r"'\.docx'.*'\.png', '\.svg' or '\.pdf'"):
        display.save(tmp_path / "figure.docx")


def test_a_missing_directory_is_a_file_error_that_names_the_path(display, tmp_path):
    with pytest.raises(FileError, match=r"nowhere.*cannot be written"):
        display.save(tmp_path / "nowhere" / "figure.png")


def test_notebooks_get_a_picture_with_a_description(display):
    assert display._repr_png_().startswith(b"\x89PNG")
    page = display._repr_html_()
    assert page.startswith('<img alt="')
    assert RankingDisplay.__doc__.splitlines()[0].split(";")[0] in page


def test_a_figure_of_the_caller_is_not_shown_twice(display):
    display.plot(Figure().subplots())
    assert display._repr_png_() is None
    assert display._repr_html_() is None


def test_an_unknown_style_is_refused(display):
    with pytest.raises(InputError, match=r"unknown style 'colour'.*'positive'"):
        display.plot(colour="pink")


def test_style_changes_this_figure_only(display):
    assert display.plot(font_size=14).ax_.xaxis.label.get_size() > 14
    assert display.plot().ax_.xaxis.label.get_size() < 14


def test_a_frame_without_rows_is_refused(frames):
    with pytest.raises(InputError, match="RankingDisplay was given a frame without rows"):
        RankingDisplay(frames["ranking"](NAMES)[:0])


def test_what_is_no_frame_is_refused():
    with pytest.raises(InputError, match="needs a pandas DataFrame, but was given list"):
        RankingDisplay([1, 2, 3])


def test_text_in_place_of_numbers_is_refused(frames):
    with pytest.raises(InputError, match="needs numbers in the column 'se'"):
        RankingDisplay(frames["ranking"](NAMES).assign(se="wide"))


def test_a_column_that_is_there_twice_is_refused(frames):
    frame = frames["ranking"](NAMES)
    with pytest.raises(InputError, match="more than one column 'se'"):
        RankingDisplay(frame[[*frame.columns, "se"]])


def test_rows_that_cannot_be_drawn_are_counted_below(frames):
    frame = frames["bump"](NAMES)
    frame.loc[0, "rank"] = np.inf
    display = DISPLAYS["bump"](frame).plot()
    assert "not shown: 1 row without period or rank" in display.ax_.texts[-1].get_text()


def test_a_frame_without_a_drawable_row_is_refused_by_its_columns(frames):
    frame = frames["bump"](NAMES).assign(rank=np.nan)
    said = "BumpDisplay has nothing to draw: no row has a finite number in 'period' and 'rank'"
    with pytest.raises(InputError, match=said):
        DISPLAYS["bump"](frame)
    with pytest.raises(InputError, match="the column 'ability' holds no number"):
        RankingDisplay(frames["ranking"](NAMES).assign(ability=np.nan))


@pytest.fixture(params=range(4))  # drawing takes long: several processes can share it
def each_display(request, subtests):
    """Run a check on every fourth display, so that one that fails does not hide the others."""

    def run(check):
        for key in list(DISPLAYS)[request.param :: 4]:
            with subtests.test(key):
                check(key)

    return run


def test_a_display_asks_for_its_columns_and_says_when_there_is_nothing_to_draw(
    each_display, frames
):
    @each_display
    def check(key):
        if key == "heat_map":  # of which any table of numbers makes one
            return
        with pytest.raises(InputError, match=r"missing\. The frame has: 'height', 'weight'"):
            DISPLAYS[key](pd.DataFrame({"height": [1.0], "weight": [2.0]}))
        frame = frames[key](NAMES)
        display = DISPLAYS[key](frame)
        for column in (*type(display).numbers, *type(display).labels):
            with pytest.raises(InputError, match=r"(is|are) missing\. The frame has"):
                DISPLAYS[key](frame.drop(columns=column))
        for column in display._needed:
            with pytest.raises(InputError, match=f"{type(display).__name__} has nothing to draw"):
                DISPLAYS[key](frame.assign(**{column: np.nan}))


@pytest.mark.slow
def test_a_display_draws_on_a_given_axes_and_leaves_everything_else_alone(each_display, frames):
    import matplotlib.pyplot as plt

    @each_display
    def check(key):
        frame = frames[key](NAMES)
        before = frame.copy(deep=True)
        open_before, settings_before = plt.get_fignums(), dict(mpl.rcParams)
        figure = Figure()
        _, ax = figure.subplots(1, 2)
        display = DISPLAYS[key](frame).plot(ax)
        assert display.ax_ is ax
        assert display.figure_ is figure
        assert ax.has_data()
        assert ax.get_xlabel()
        pd.testing.assert_frame_equal(frame, before)
        assert plt.get_fignums() == open_before
        assert dict(mpl.rcParams) == settings_before


@pytest.mark.slow
def test_hostile_names_are_drawn_as_they_are_written(each_display, frames, tmp_path):
    @each_display
    def check(key):
        display = DISPLAYS[key](frames[key](HOSTILE[:8])).plot()
        display.save(tmp_path / f"{key}.svg")
        assert "<script>" not in (tmp_path / f"{key}.svg").read_text()


def slow(value):
    """A count that repeats what a quick one shows, for the long run of all tests."""
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.mark.parametrize("count", [9, *(slow(count) for count in (1, 2, 3, 6, 40, 64, 400))])
def test_every_text_stays_inside_the_figure(each_display, frames, count):
    names = [f"{HOSTILE[k % len(HOSTILE)]}{k // len(HOSTILE) or ''}" for k in range(count)]

    @each_display
    def check(key):
        display = DISPLAYS[key](frames[key](names)).plot()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            display.figure_.draw_without_rendering()
            inner = display.figure_.get_tightbbox()
        width, height = display.figure_.get_size_inches()
        assert inner.x0 > -0.02
        assert inner.y0 > -0.02
        assert inner.x1 < width + 0.02
        assert inner.y1 < height + 0.02


def test_importing_displays_loads_no_display_and_neither_matplotlib_nor_pandas():
    code = (
        "import sys, ogive.results.plots, ogive.results.base\n"
        "from ogive.results.plots import DISPLAYS\n"
        "assert len(DISPLAYS) == len(list(DISPLAYS)) and 'ranking' in DISPLAYS\n"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)\n"
        "assert not [name for name in sys.modules if name.startswith('ogive.results.plots.')]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("key", sorted(DISPLAYS))
def test_axes_are_labelled_in_words(key, frames):
    drawn = DISPLAYS[key](frames[key](NAMES)).plot()
    for ax in drawn.figure_.axes:
        for said in (ax.get_xlabel(), ax.get_ylabel()):
            assert "_" not in said.replace("$", "")
            assert said not in ("spearman", "kendall", "rmse", "mae", "se")


def square(values, names=("a", "b", "c")):
    return HeatMapDisplay(pd.DataFrame(values, index=list(names), columns=list(names)))


def test_a_map_of_one_column_or_one_value_is_a_sentence():
    column = pd.DataFrame({"all items": [0.5, 0.7]}, index=["a", "b"])
    assert HeatMapDisplay(column.rename_axis("task", axis=1)).instead == (
        "There is only one column: see the table."
    )
    assert square(np.ones((3, 3))).instead == "All values are 1.00."
    assert square(np.where(np.eye(3), 1.0, 0.996)).instead == "All values are 1.00."
    assert square([[1, 0.2, 0.3], [0.2, 1, 0.4], [0.3, 0.4, 1]]).instead == ""


def test_a_flat_line_is_a_sentence():
    flat = pd.DataFrame({"ability": [-1.0, 0.0, 1.0], "information": 16.0, "se": 0.25})
    assert "Information is 16 at every ability (standard error 0.25)" in (
        InformationDisplay(flat).instead
    )
    assert InformationDisplay(flat.assign(information=[9.0, 16.0, 9.0])).instead == ""


def test_reports_give_the_sentence_in_place_of_the_figure(tmp_path):
    scores = og.simulate("continuous", 60, 6, random_state=0).responses
    found = og.calibrate(scores, "continuous")
    page = og.write_report(tmp_path / "page.html", found).read_text("utf-8")
    assert "this model measures all abilities equally well" in page
    assert "information (solid)" not in page
    write_folder(found, tmp_path / "folder")
    assert not (tmp_path / "folder" / "figures" / "information.png").exists()
    assert "equally well" in (tmp_path / "folder" / "summary.json").read_text("utf-8")


def test_every_dot_is_inside_the_bar_that_is_drawn_for_it_or_has_the_other_colour():
    rng = np.random.default_rng(0)
    predicted = rng.uniform(0.2, 0.9, 300)
    accuracy = predicted + rng.normal(0, 0.05, 300)
    reach = rng.uniform(0.02, 0.2, 300)  # no common band would be right
    frame = pd.DataFrame({"accuracy": accuracy, "predicted": predicted})
    display = DISPLAYS["prediction"](frame.assign(low=predicted - reach, high=predicted + reach))
    ax = display.plot().ax_
    outside, inside = (bars.get_segments() for bars in ax.collections[:2])
    assert len(outside) + len(inside) == 60
    place = dict(zip(predicted, accuracy, strict=True))
    assert all(not low[1] <= place[low[0]] <= high[1] for low, high in outside)
    assert all(low[1] <= place[low[0]] <= high[1] for low, high in inside)


@pytest.mark.parametrize("sizes", [(1, 1, 12), (30, 4, 40), (3,), (10, 9)])
def test_bins_of_accuracy_hold_ten_cases_or_all(sizes):
    from ogive.capability.capability_result import _joined_bins

    difficulty = np.repeat(np.arange(len(sizes), dtype=float), sizes)
    counts = np.unique(_joined_bins(difficulty), return_counts=True)[1]
    assert counts.sum() == sum(sizes)
    assert counts.min() >= min(10, sum(sizes))
