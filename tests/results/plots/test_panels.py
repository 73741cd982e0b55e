"""Panels on one axes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from ogive.results.plots.panels import MOST_COLUMNS, PanelGrid, arranged, fitted
from ogive.results.plots.theme import STYLE


@given(st.integers(1, 200))
def test_panels_fill_all_rows_and_no_row_is_empty(count):
    rows, columns = arranged(count)
    assert (rows - 1) * columns < count <= rows * columns
    assert columns <= MOST_COLUMNS


@given(st.integers(1, 40))
def test_panels_do_not_meet(count):
    rows, columns = arranged(count)
    grid = PanelGrid(rows, columns, (-2.0, 2.0), 80.0, 60.0, 14.0, (5.0, 0.0))
    boxes = [grid.box(*cell) for cell in grid.cells(count)]
    for k, (left, right, bottom, top) in enumerate(boxes):
        for other_left, other_right, other_bottom, other_top in boxes[:k]:
            aside = right < other_left or other_right < left
            assert aside or top < other_bottom or other_top < bottom


def test_labels_of_neighbouring_panels_do_not_meet():
    ax = Figure(figsize=(5, 3)).subplots()
    for reach in (4.0, 4.1, 4.5, 5.9):
        ax.clear()
        fitted(ax, STYLE, (2, 2), (-reach, reach), 1).draw(ax, STYLE)
        ax.figure.draw_without_rendering()
        boxes = sorted(
            (text.get_window_extent() for text in ax.get_xticklabels() if text.get_text()),
            key=lambda box: box.x0,
        )
        assert len(boxes) >= 4
        for one, other in pairwise(boxes):
            assert one.x1 + STYLE.small < other.x0  # the width of two digits
