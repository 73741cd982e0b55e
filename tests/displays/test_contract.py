"""What holds for every display in the registry."""

import subprocess
import sys
import warnings

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.figure import Figure

from itemwise.displays import DISPLAYS
from itemwise.errors import FileError, InputError

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


def slow(value):
    """A count that repeats what a quick one shows, for the long run of all tests."""
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.fixture(params=DISPLAYS)
def key(request):
    return request.param


@pytest.fixture
def frame(key, frames):
    return frames[key](["one", "two", "three", "four", "five"])


@pytest.fixture
def display(key, frame):
    return DISPLAYS[key](frame)


def test_plot_without_an_axes_makes_a_figure_and_returns_the_display(display):
    assert display.plot() is display
    assert isinstance(display.figure_, Figure)
    assert display.ax_ in display.figure_.axes
    assert display.ax_.get_xlabel()


def test_plot_draws_on_a_given_axes(display):
    figure = Figure()
    _, ax = figure.subplots(1, 2)
    display.plot(ax)
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.has_data()


def test_an_axes_in_a_subfigure_leads_to_the_whole_figure(display, tmp_path):
    figure = Figure()
    display.plot(figure.subfigures(1, 2)[0].subplots())
    assert display.figure_ is figure
    assert display.save(tmp_path / "whole.png").exists()


def test_pyplot_and_global_settings_are_left_alone(display, tmp_path):
    import matplotlib.pyplot as plt

    open_before, settings_before = plt.get_fignums(), dict(mpl.rcParams)
    display.plot().save(tmp_path / "figure.svg")
    display._repr_html_()
    assert plt.get_fignums() == open_before
    assert dict(mpl.rcParams) == settings_before


def test_plotting_does_not_change_the_given_frame(key, frame):
    before = frame.copy(deep=True)
    DISPLAYS[key](frame).plot()
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize(
    ("suffix", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")]
)
def test_saved_files_are_figures_and_the_same_each_time(key, frame, tmp_path, suffix, magic):
    paths = [DISPLAYS[key](frame).plot().save(tmp_path / f"{i}.{suffix}") for i in (1, 2)]
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
    assert type(display).__doc__.splitlines()[0].split(";")[0] in page


def test_a_figure_of_the_caller_is_not_shown_twice(display):
    display.plot(Figure().subplots())
    assert display._repr_png_() is None
    assert display._repr_html_() is None


def test_an_empty_frame_is_refused(key, frame):
    with pytest.raises(InputError, match="without rows"):
        DISPLAYS[key](frame[:0])


# Any table of numbers makes a heat map: there is no column that it could lack.
@pytest.mark.parametrize("key", [key for key in DISPLAYS if key != "heat_map"])
def test_a_wrong_frame_is_told_what_is_missing_and_what_is_there(key):
    with pytest.raises(InputError, match=r"missing\. The frame has: 'height', 'weight'"):
        DISPLAYS[key](pd.DataFrame({"height": [1.0], "weight": [2.0]}))


def test_what_is_no_frame_is_refused(key):
    with pytest.raises(InputError, match="needs a pandas DataFrame, but was given list"):
        DISPLAYS[key]([1, 2, 3])


def test_text_in_place_of_numbers_is_refused(key, frame):
    column = frame.select_dtypes("float").columns[-1]
    with pytest.raises(InputError, match=rf"needs numbers in the column '{column}'"):
        DISPLAYS[key](frame.assign(**{column: "wide"}))


def test_a_column_that_is_there_twice_is_refused(key, frame):
    with pytest.raises(InputError, match="more than one column"):
        DISPLAYS[key](frame[[*frame.columns, frame.select_dtypes("float").columns[0]]])


def test_an_unknown_style_is_refused(display):
    with pytest.raises(InputError, match=r"unknown style 'colour'.*'positive'"):
        display.plot(colour="pink")


def test_style_changes_this_figure_only(display):
    assert display.plot(font_size=14).ax_.xaxis.label.get_size() > 14
    assert display.plot().ax_.xaxis.label.get_size() < 14


def test_hostile_names_are_drawn_as_they_are_written(key, frames, tmp_path):
    display = DISPLAYS[key](frames[key](HOSTILE[:8])).plot()
    display.save(tmp_path / "hostile.png")
    display.save(tmp_path / "hostile.svg")
    assert "<script>" not in (tmp_path / "hostile.svg").read_text()


@pytest.mark.parametrize("count", [2, 400, slow(1)])
def test_one_row_and_many_rows_are_drawn(key, frames, count, tmp_path):
    display = DISPLAYS[key](frames[key]([f"name {i}" for i in range(count)]))
    assert display.plot().save(tmp_path / "figure.png", dpi=50).stat().st_size > 1000


@pytest.mark.parametrize("count", [1, 9, 40, *(slow(count) for count in (3, 6, 64))])
def test_every_text_stays_inside_the_figure(key, frames, count):
    names = [f"{HOSTILE[k % len(HOSTILE)]}{k // len(HOSTILE) or ''}" for k in range(count)]
    display = DISPLAYS[key](frames[key](names)).plot()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph")
        display.figure_.canvas.draw()
        inner = display.figure_.get_tightbbox()
    width, height = display.figure_.get_size_inches()
    assert inner.x0 > -0.02
    assert inner.y0 > -0.02
    assert inner.x1 < width + 0.02
    assert inner.y1 < height + 0.02


def test_importing_displays_loads_neither_matplotlib_nor_pandas():
    code = (
        "import sys, itemwise.displays, itemwise.results\n"
        "assert not {'matplotlib', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
