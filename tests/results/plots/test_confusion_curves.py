"""Curves by cell of a confusion matrix."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from ogive.errors import InputError
from ogive.results.plots.confusion_curves import CellCurvesDisplay
from ogive.results.plots.theme import STYLE

GRID = np.linspace(-4.0, 4.0, 61)


def some(cells, discrimination=1.5):
    """Curves of one item for each (true, predicted); a negative sign where it is asked for."""
    count = len(cells)
    slope = np.broadcast_to(discrimination, count)
    difficulty = np.linspace(-1.0, 1.0, count)
    expected = 1 / (1 + np.exp(-slope[:, None] * (GRID - difficulty[:, None])))
    true, predicted = zip(*cells, strict=True)
    return pd.DataFrame(
        {
            "true": np.repeat(np.array(true, dtype=object), GRID.size),
            "predicted": np.repeat(np.array(predicted, dtype=object), GRID.size),
            "item": np.repeat([f"item {k}" for k in range(count)], GRID.size),
            "ability": np.tile(GRID, count),
            "expected": expected.ravel(),
            "discrimination": np.repeat(slope, GRID.size),
        }
    )


def texts(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def curves(ax):
    """Lines of items: those collections that have one colour a line."""
    return [
        (path.vertices, tuple(colour[:3]))
        for lines in ax.collections
        if isinstance(lines, LineCollection) and lines.get_zorder() == 2
        for path, colour in zip(lines.get_paths(), lines.get_colors(), strict=True)
    ]


def test_every_item_is_one_curve_in_the_colour_of_its_sign():
    frame = some([("yes", "yes")] * 3 + [("no", "yes")], [2.0, 0.0, -1.0, -2.0])
    colours = [colour for _, colour in curves(CellCurvesDisplay(frame).plot().ax_)]
    assert sorted(colours) == sorted([to_rgb(STYLE.positive)] * 2 + [to_rgb(STYLE.negative)] * 2)


def test_curves_stay_inside_the_panel_of_their_cell():
    frame = some([("yes", "yes"), ("yes", "no"), ("no", "yes"), ("no", "no")])
    boxes = [line.mean(axis=0) for line, _ in curves(CellCurvesDisplay(frame).plot().ax_)]
    across, up = np.array(boxes).T
    assert across[0] == across[2] < across[1] == across[3]
    assert min(up[0], up[1]) > max(up[2], up[3])


def test_the_mean_is_drawn_of_two_items_or_more():
    frame = some([("yes", "yes")] * 2 + [("no", "no")])
    (mean,) = CellCurvesDisplay(frame).plot().ax_.lines
    first, second, _ = (line for line, _ in curves(CellCurvesDisplay(frame).plot().ax_))
    np.testing.assert_allclose(mean.get_ydata(), (first[:, 1] + second[:, 1]) / 2)
    assert mean.get_color() == STYLE.ink


def test_the_cell_without_items_says_so_and_has_no_ability():
    display = CellCurvesDisplay(some([("yes", "yes"), ("no", "no")]), ability=0.5).plot()
    assert texts(display.ax_).count("no items") == 2
    assert len(display.ax_.lines) == 2


def test_the_ability_stands_in_the_legend_with_its_interval():
    frame = some([("yes", "yes"), ("no", "no")])
    ax = CellCurvesDisplay(frame, ability=-0.5, ability_se=0.1).plot().ax_
    assert "ability of the model\n−0.50 ± 0.20 (95%)" in legend(ax)


def test_an_ability_beyond_the_axis_is_said_in_place_of_a_line():
    ax = CellCurvesDisplay(some([("yes", "yes")]), ability=7.0).plot().ax_
    assert not ax.lines
    assert any("ability of 7.00 lies beyond the axis" in text for text in texts(ax))


def test_figures_of_a_cell_are_its_title_and_are_explained():
    cells = pd.DataFrame(
        {
            "true": ["yes"],
            "predicted": ["yes"],
            "name": ["TP"],
            "count": [25],
            "discrimination": [4.12],
            "difficulty": [-1.33],
            "guessing": [0.2],
            "total_score": [20.1],
            "information": [0.32],
            "share_negative": [0.04],
        }
    )
    frame = some([("yes", "yes"), ("no", "no")])
    written = texts(CellCurvesDisplay(frame, cells=cells).plot().ax_)
    assert (
        "TP · 25 items\ndiscr. 4.12  diff. −1.33  guess. 0.200\n"
        "total 20.1  info. 0.320  negative 4%" in written
    )
    assert "info.: mean information at the" in " ".join(written)
    assert "1 item" in written


def test_standard_errors_of_figures_are_written_where_they_are_given():
    cells = pd.DataFrame(
        {"true": ["a"], "predicted": ["a"], "difficulty": [1.0], "difficulty_se": [0.25]}
    )
    written = texts(CellCurvesDisplay(some([("a", "a")]), cells=cells).plot().ax_)
    assert "1 item\ndiff. 1.00 ± 0.25" in written


def test_classes_stand_in_the_order_of_categories_or_of_appearance():
    frame = some([("b", "b"), ("a", "a")])
    written = texts(CellCurvesDisplay(frame).plot().ax_)
    assert [text for text in written if text.startswith("true")] == ["true b", "true a"]
    kind = pd.CategoricalDtype(["a", "b", "never"])
    frame = frame.assign(true=frame["true"].astype(kind), predicted=frame["predicted"].astype(kind))
    written = texts(CellCurvesDisplay(frame).plot().ax_)
    assert [text for text in written if text.startswith("true")] == [
        "true a",
        "true b",
        "true never",
    ]


def test_many_items_of_a_cell_become_a_density_that_shows_both_signs():
    signs = np.where(np.arange(900) % 30 == 0, -1.5, 1.5)
    ax = CellCurvesDisplay(some([("yes", "yes")] * 900, signs)).plot().ax_
    assert not curves(ax)
    (picture,) = (image.get_array() for image in ax.images)
    blue, red = (np.array(to_rgb(c)) for c in (STYLE.positive, STYLE.negative))
    seen = picture[picture[..., 3] > 0.2][:, :3]
    assert np.abs(seen - blue).sum(axis=1).min() < 0.01
    assert np.abs(seen - red).sum(axis=1).min() < 0.01
    assert any("shades" in text for text in texts(ax))


def test_beyond_twelve_classes_the_largest_are_drawn_and_the_rest_is_counted():
    frame = some([(k, k) for k in range(15) for _ in range(1 + (k != 3))])
    written = texts(CellCurvesDisplay(frame).plot().ax_)
    assert "not shown: 3 classes with fewer items" in written
    assert "3" not in written


def test_ten_classes_keep_their_counts(tmp_path):
    frame = some([(f"class {i}", f"class {j}") for i in range(10) for j in range(10)])
    display = CellCurvesDisplay(frame).plot()
    assert texts(display.ax_).count("1 item") == 100
    assert display.save(tmp_path / "ten.png").exists()


def test_a_small_axes_of_the_caller_keeps_the_panels_and_drops_the_figures():
    ax = Figure(figsize=(3, 2.4)).subplots()
    cells = pd.DataFrame({"true": ["a"], "predicted": ["a"], "difficulty": [1.0]})
    written = texts(
        CellCurvesDisplay(some([("a", "a"), ("b", "b"), ("c", "c")]), cells=cells).plot(ax).ax_
    )
    assert not any("diff." in text for text in written)


def test_items_without_a_whole_curve_are_left_out_and_counted():
    frame = some([("yes", "yes"), ("no", "no")])
    frame.loc[3, "expected"] = np.nan
    ax = CellCurvesDisplay(frame).plot().ax_
    assert len(curves(ax)) == 1
    assert "not shown: 1 item without a whole curve" in texts(ax)
    with pytest.raises(InputError, match="nothing to draw"):
        CellCurvesDisplay(frame.assign(expected=np.nan))
