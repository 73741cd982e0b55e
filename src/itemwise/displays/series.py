"""Lines of a long frame, one a name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from itemwise.numerics.arrays import Floats


def lines_by_name(
    frame: pd.DataFrame, name: str, columns: Sequence[str]
) -> tuple[list[Hashable], list[Floats]]:
    """Names in the order in which they first appear, and the numbers of each (n_rows, n_columns).

    Rows of a line ascend by the first of the columns. A group at a time would take seconds.
    """
    import pandas as pd

    codes, names = pd.factorize(frame[name].astype(object), use_na_sentinel=False)
    numbers = frame[list(columns)].to_numpy()
    order = np.lexsort((numbers[:, 0], codes))
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return list(names), np.split(numbers[order], ends[:-1])
