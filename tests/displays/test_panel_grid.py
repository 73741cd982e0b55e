from hypothesis import given
from hypothesis import strategies as st

from itemwise.displays.panel_grid import MOST_COLUMNS, PanelGrid, arranged


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
