"""Runs that did not end: the model takes them as censored, and nobody leads where nobody solved."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError

CUTOFF = 600.0
SLOPES, LEVELS, NOISE = [2.0, 1.5, 1.0, -0.4], [4.0, 4.5, 5.5, 6.0], [0.6, 0.8, 0.5, 1.2]


def seconds(n=400, seed=0, recorded=CUTOFF):
    """Log-normal runtimes of four algorithms; runs beyond the cut-off are recorded as a number."""
    random = np.random.default_rng(seed)
    hard = random.normal(size=(n, 1))
    times = np.exp(LEVELS + SLOPES * hard + NOISE * random.normal(size=(n, 4)))
    frame = pd.DataFrame(np.where(times >= CUTOFF, recorded, times), columns=list("abcd"))
    return frame.rename(index=lambda k: f"p{k}"), hard[:, 0], times


def test_predicted_effectiveness_follows_the_actual_one_however_timeouts_are_recorded(subtests):
    for recorded, penalty in ((CUTOFF, None), (10 * CUTOFF, None), (CUTOFF, 10)):
        with subtests.test(recorded=recorded, penalty=penalty):
            table, _, times = seconds(recorded=recorded)
            found = og.portfolio(table, better="lower", cutoff=CUTOFF, penalty=penalty)
            assert (times >= CUTOFF).mean() > 0.2
            assert found.goodness["difference"].max() < 0.05


def test_difficulty_and_traits_do_not_depend_on_what_a_timeout_counts_as():
    table, hard, _ = seconds()
    found = [og.portfolio(table, better="lower", cutoff=CUTOFF, penalty=p) for p in (None, 2, 10)]
    for other in found[1:]:
        np.testing.assert_allclose(other.difficulty, found[0].difficulty, atol=1e-6)
        columns = ["consistency", "difficulty_limit"]
        np.testing.assert_allclose(
            other.algorithms[columns], found[0].algorithms[columns], rtol=1e-5
        )
    kept = [int(name[1:]) for name in found[0].problems.index]
    assert np.corrcoef(found[0].difficulty, hard[kept])[0, 1] > 0.93
    assert found[0].algorithms["anomalous"].tolist() == [False, False, False, True]


def test_the_difficulty_limit_is_where_half_of_the_runs_end_in_time():
    table, _, _ = seconds(n=1500, seed=1)
    found = og.portfolio(table, better="lower", cutoff=CUTOFF, unsolved="keep")
    truth = (np.log(CUTOFF) - LEVELS) / SLOPES
    apart = found.algorithms["difficulty_limit"] - truth
    assert np.abs(apart[:3]).max() < 0.12


def test_the_preset_stays_as_published():
    table, _, _ = seconds(n=80)
    plain = og.portfolio(table, better="lower", preset="airt")
    stopped = og.portfolio(table, better="lower", cutoff=CUTOFF, preset="airt")
    assert len(stopped.problems) == 80
    np.testing.assert_array_equal(stopped.difficulty, plain.difficulty)
    pd.testing.assert_frame_equal(stopped.goodness, plain.goodness)


def test_problems_that_nobody_solved_are_left_out_and_counted():
    table, _, _ = seconds(n=60)
    table.iloc[:7] = CUTOFF
    found = og.portfolio(table, better="lower", cutoff=CUTOFF)
    count = int((table >= CUTOFF).all(axis=1).sum())
    assert count >= 7
    assert len(found.problems) == 60 - count
    assert f"Nobody solved {count} problems ({count / 60:.0%}): left out" in " ".join(found.notes)
    kept = og.portfolio(table, better="lower", cutoff=CUTOFF, unsolved="keep")
    assert len(kept.problems) == 60
    gaps = og.compare_portfolios(table, better="lower", cutoff=CUTOFF, sizes=[1], cv=3)
    assert any("Nobody solved" in note for note in gaps.notes)


def test_too_few_solved_problems_are_refused():
    table, _, _ = seconds(n=20)
    table.iloc[2:] = CUTOFF
    with pytest.raises(InputError, match="Nobody solved 18 problems of 20"):
        og.portfolio(table, better="lower", cutoff=CUTOFF)
    with pytest.raises(InputError, match="'drop' or 'keep'"):
        og.portfolio(table, better="lower", cutoff=CUTOFF, unsolved="no")


def test_no_curve_leaves_the_range_of_performance():
    random = np.random.default_rng(0)
    hard = np.sort(random.normal(size=60))[:, None]
    scores = 1 / (1 + np.exp(3 * hard * [1, 1, 1] + random.normal(0, 2, (60, 3))))
    found = og.portfolio((scores > 0.5) * 0.9 + 0.05 * scores)
    low, high = found.performances.bounds
    columns = found.curves[["performance", "low", "high"]]
    assert columns.min(axis=None) >= low
    assert columns.max(axis=None) <= high


def test_a_cutoff_that_does_not_fit_the_runs_is_noted():
    table, _, _ = seconds(n=60)
    never = og.portfolio(table, better="lower", cutoff=10_000).notes
    assert never[0] == (
        "No run reached the cut-off of 10,000: the longest took 600. If runs were stopped "
        "earlier, give that time."
    )
    beyond = int((table > 100).sum().sum())
    early = og.portfolio(table, better="lower", cutoff=100).notes
    assert f"{beyond} values beyond the cut-off of 100, up to 600: taken as timed out." in early
    fits = og.portfolio(table, better="lower", cutoff=CUTOFF).notes
    assert not any("cut-off of" in note for note in fits)
