import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from itemwise.displays.grouped_rows import lines_by_name

ROWS = st.lists(st.tuples(st.sampled_from(["a", "b", "", None]), st.integers(0, 5)), max_size=12)


@given(ROWS.filter(len))
def test_every_row_comes_back_once_under_its_name_in_ascending_order(rows):
    frame = pd.DataFrame(rows, columns=["name", "x"]).assign(y=np.arange(float(len(rows))))
    names, lines = lines_by_name(frame, "name", ("x", "y"))
    assert len(names) == len(lines) == frame["name"].nunique(dropna=False)
    assert all((np.diff(line[:, 0]) >= 0).all() for line in lines)
    found = {
        y: "none" if pd.isna(name) else name
        for name, line in zip(names, lines, strict=True)
        for _, y in line
    }
    assert found == dict(zip(frame["y"], frame["name"].fillna("none"), strict=True))
