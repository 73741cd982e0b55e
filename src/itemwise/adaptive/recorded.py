"""What a test would ask of respondents whose responses are all on record."""

from __future__ import annotations

import numpy as np

from itemwise.adaptive.bank import Ints
from itemwise.adaptive.testing import AdaptiveTest
from itemwise.numerics.blocks import row_blocks, workers
from itemwise.responses import Responses

CELLS_AT_A_TIME = 1 << 21


def asked_of_recorded(
    test: AdaptiveTest, responses: Responses, count: int, batch_size: int = 1
) -> Ints:
    """The `count` items that each respondent is asked, in order, (n, count): places in the bank.

    Respondent k is served as by `AdaptiveTest.start(k)`, whatever the stopper says, and is asked
    only what is on record; everybody has that many responses. The first items of a row are what
    a smaller count gives.
    """
    cells = test.calibration.cells(responses)
    at_a_time = max(1, CELLS_AT_A_TIME // max(len(test.items.names), test.items.nodes.size))
    with workers(1) as run:  # one thread: the bank fills its tables as it goes
        parts = run(
            lambda rows: _asked(
                test, np.arange(rows.start, rows.stop), cells[rows], count, batch_size
            ),
            row_blocks(len(cells), at_a_time),
        )
        return np.concatenate(list(parts))


def _asked(
    test: AdaptiveTest, respondents: Ints, read: np.ndarray, count: int, batch_size: int
) -> Ints:
    """One block of respondents, all stepping together."""
    free = read >= 0 if read.dtype.kind in "iu" else ~np.isnan(read)
    statistics, rows = test.items.statistics(read), np.arange(len(read))
    state = test.begin(respondents, free)
    while state.step < count:
        for items in test.choose_several(state, min(batch_size, count - state.step)).T:
            told = [table[rows, items] for table in statistics]
            state = test.advance(state, items, read[rows, items].astype(float), told)
    return state.items
