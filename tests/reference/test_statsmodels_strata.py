"""Mantel and Haenszel beside statsmodels, on simulated answers of two groups."""

import numpy as np
import pytest

from ogive import simulate
from ogive.irt.differential import common_odds


def test_common_odds_are_those_of_statsmodels():
    tables = pytest.importorskip("statsmodels.stats.contingency_tables")
    values = simulate("2pl", 320, 12, random_state=0).responses.values
    second, score = np.arange(320) % 3 == 0, values.sum(axis=1)
    for right in values.T[::3]:
        ours, strata = common_odds(right, second, score), []
        for level in np.unique(score):
            here = score == level
            cells = [
                [np.sum(right[here & group] == value) for value in (1, 0)]
                for group in (~second, second)
            ]
            if (np.sum(cells, axis=0) > 0).all() and (np.sum(cells, axis=1) > 0).all():
                strata.append(np.array(cells, dtype=float))
        theirs = tables.StratifiedTable(strata)
        assert ours.log_ratio == pytest.approx(theirs.logodds_pooled)
        assert ours.log_ratio_se == pytest.approx(theirs.logodds_pooled_se)
        assert ours.statistic == pytest.approx(theirs.test_null_odds(correction=True).statistic)
