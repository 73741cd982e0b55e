"""Tables of performances brought to one form, and what is said of those that cannot be."""

from dataclasses import replace
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from ogive import Responses
from ogive.data.datasets.aslib import AslibScenario
from ogive.errors import InputError
from ogive.portfolios.performances import (
    as_performances,
    fair_means,
    means,
    ranges,
    shapley_shares,
    virtual_best_shapley,
    worst_where_missing,
)

TIMES = pd.DataFrame(
    {"a": [1.0, 3.0, 10.0, 9.0], "b": [0.0, 10.0, 12.0, 1.0], "c": [4.0, 5.0, 6.0, np.nan]},
    index=["p", "q", "r", "s"],
)
ACCURACY = pd.DataFrame(
    {"a": [0.1, 0.5, 0.9], "b": [0.2, 0.4, 0.8], "c": [0.3, 0.3, 1.0]}, index=["p", "q", "r"]
)


def scenario(**changes):
    status = TIMES.map(lambda time: "timeout" if time >= 10 else "ok")
    status = status.mask(TIMES.isna(), "missing")
    found = AslibScenario(
        name="tiny",
        measure="time",
        better="lower",
        kind="runtime",
        cutoff=10.0,
        performance=TIMES,
        status=status,
        features=None,
        folds=None,
        notes=(),
    )
    return replace(found, **changes)


def test_scores_stay_as_they_are_and_their_own_range_bounds_them():
    found = as_performances(ACCURACY)
    pd.testing.assert_frame_equal(found.modelled, ACCURACY)
    assert (found.better, found.transform, found.bounds) == ("higher", "raw", (0.1, 1.0))
    assert found.algorithms.name == "algorithm"
    np.testing.assert_array_equal(found.gains, ACCURACY)


def test_negating_puts_the_best_at_one_and_the_worst_at_zero():
    found = as_performances(TIMES, better="lower")
    np.testing.assert_allclose(found.cells, (12 - TIMES) / 12)
    assert found.bounds == (0.0, 1.0)
    np.testing.assert_array_equal(found.gains, -TIMES)


def test_negating_between_given_bounds():
    found = as_performances(TIMES, better="lower", bounds=(0, 24))
    np.testing.assert_allclose(found.cells, 1 - TIMES / 24)


def test_the_reciprocal_is_one_over_one_plus_time():
    found = as_performances(TIMES, better="lower", transform="reciprocal")
    np.testing.assert_allclose(found.cells, 1 / (1 + TIMES))
    assert found.bounds == (0.0, 1.0)


def test_runs_at_the_cutoff_or_beyond_count_as_the_cutoff_at_least():
    found = as_performances(TIMES, better="lower", cutoff=9)
    np.testing.assert_array_equal(found.given, TIMES)
    assert found.notes[0] == "4 runs (36%) timed out or failed."


def test_par10_is_ten_times_the_cutoff():
    found = as_performances(TIMES, better="lower", cutoff=10, penalty=10)
    np.testing.assert_array_equal(found.given, TIMES.mask(TIMES >= 10, 100.0))
    assert found.notes[0] == "3 runs (27%) timed out or failed, counted as 100."


def test_a_scenario_knows_by_itself_what_is_better_and_where_runs_are_cut_off():
    found = as_performances(scenario(), penalty=10)
    expected = as_performances(TIMES, better="lower", cutoff=10, penalty=10)
    pd.testing.assert_frame_equal(found.given, expected.given)
    pd.testing.assert_frame_equal(found.modelled, expected.modelled)


def test_a_run_that_failed_early_counts_as_the_cutoff():
    status = scenario().status.copy()
    status.loc["p", "a"] = "memout"
    assert as_performances(scenario(status=status)).given.loc["p", "a"] == 10.0


def test_a_run_that_took_all_its_time_and_ended_well_is_no_timeout_in_a_scenario():
    status = scenario().status.copy()
    status.loc["q", "b"] = "ok"
    found = as_performances(scenario(status=status), penalty=10)
    assert found.given.loc["q", "b"] == 10.0
    assert found.given.loc["r", "a"] == 100.0


def test_a_failed_run_of_which_no_time_is_recorded_counts_as_the_cutoff():
    times, status = TIMES.copy(), scenario().status.copy()
    times["b"], status["b"] = np.nan, "timeout"
    times.loc["r"], status.loc["r"] = np.nan, "memout"
    found = as_performances(scenario(performance=times, status=status))
    assert (found.given["b"] == 10.0).all()
    assert (found.given.loc["r"] == 10.0).all()
    assert np.isnan(found.given.loc["s", "c"])


def test_without_a_cutoff_a_crash_counts_as_the_worst_that_is_recorded():
    status = scenario().status.copy()
    status.loc["p", "b"] = "crash"  # at once: it would be the fastest of all
    found = as_performances(scenario(status=status, cutoff=None))
    assert found.given.loc["p", "b"] == 12.0
    assert found.given.loc["p", "a"] == 1.0
    assert found.notes[0].startswith("4 runs timed out or failed, and no cut-off is known: counted")
    assert "the worst value on record, 12." in found.notes[0]


def test_a_frame_may_say_which_values_are_good_but_the_caller_decides():
    table = TIMES.fillna(6.0)
    table.attrs = {"better": "lower", "measure": "runtime", "notes": ["From afar."]}
    found = as_performances(table)
    assert (found.better, found.transform) == ("lower", "negate")
    assert found.notes[:2] == ("From afar.", "Lower is better, as the table states for runtime.")
    turned = as_performances(table, better="higher")
    assert turned.better == "higher"
    assert turned.notes[0] == "From afar."
    table.attrs = {"notes": "of somebody else"}
    assert as_performances(table).notes == ()
    assert not any("as the table states" in note for note in turned.notes)


def test_a_frame_that_says_something_else_is_refused():
    table = TIMES.copy()
    table.attrs = {"better": 3}
    with pytest.raises(InputError, match=r"`better` must be 'higher' or 'lower'.*got 3"):
        as_performances(table)


def test_a_scenario_of_quality_is_taken_as_it_is():
    quality = scenario(
        better="higher",
        kind="quality",
        cutoff=None,
        performance=ACCURACY,
        status=ACCURACY.map(lambda _: "ok"),
    )
    pd.testing.assert_frame_equal(as_performances(quality).modelled, ACCURACY)


@pytest.mark.parametrize("form", [lambda t: t.to_numpy(), lambda t: t.to_numpy().tolist()])
def test_a_table_without_names_gets_some(form):
    found = as_performances(form(ACCURACY))
    assert list(found.algorithms) == ["algorithm_1", "algorithm_2", "algorithm_3"]
    assert list(found.modelled.index) == ["problem_1", "problem_2", "problem_3"]
    np.testing.assert_array_equal(found.cells, ACCURACY)


def test_responses_are_a_table():
    table = Responses(ACCURACY.to_numpy(), list("pqr"), list("abc"), "continuous")
    pd.testing.assert_frame_equal(as_performances(table).modelled, ACCURACY)


def test_any_name_of_an_algorithm_will_do(subtests):
    for name in ["self", "index", "a b", "", 7, ("x", 1)]:
        with subtests.test(name=name):
            table = pd.DataFrame(
                ACCURACY.to_numpy(), columns=pd.Index([name, "b", "c"], tupleize_cols=0)
            )
            assert as_performances(table).algorithms[0] == str(name)


def test_nullable_and_whole_numbers_are_numbers():
    table = pd.DataFrame({"a": [1, 2, 5], "b": [3, 1, 2], "c": [2, 2, 4]})
    nullable = table.astype({"b": "Int64", "c": "Float64"})
    nullable.loc[1, "b"] = pd.NA
    found = as_performances(nullable).cells
    assert np.isnan(found[1, 1])
    np.testing.assert_array_equal(found[:, 0], [1, 2, 5])


def test_rows_and_columns_without_a_run_are_left_out_and_named():
    table = ACCURACY.assign(d=np.nan)
    table.loc["x"] = np.nan
    found = as_performances(table)
    pd.testing.assert_frame_equal(found.modelled, ACCURACY)
    assert found.notes == (
        "Left out (no runs): 1 algorithm (d).",
        "Left out (no runs): 1 problem (x).",
    )


def test_part_of_the_problems_keeps_the_bounds_of_all():
    part = as_performances(ACCURACY).of_problems(np.array([0, 1]))
    assert part.bounds == (0.1, 1.0)
    assert list(part.modelled.index) == ["p", "q"]


def test_grades_have_equally_many_runs_and_missing_ones_stay_missing():
    table = pd.DataFrame(np.random.default_rng(0).random((50, 4)))
    table.iloc[3, 1] = np.nan
    found, _ = as_performances(table).grades(4)
    assert np.isnan(found[3, 1])
    counts = np.bincount(found[~np.isnan(found)].astype(int))
    assert sorted(counts) == [49, 50, 50, 50]


def test_no_more_different_values_than_grades_are_grades_as_they_are():
    table = np.array([[0.0, 1, 1], [1, 1, 4], [2, 1, 1], [1, np.nan, 1]])
    for count in (4, 7):
        found = as_performances(table)
        grades, notes = found.grades(count)
        np.testing.assert_array_equal(grades, np.where(table == 4, 3, table))
        assert notes == []


def test_fewer_grades_than_asked_for_are_said():
    values = np.random.default_rng(0).random((50, 4))
    found = as_performances(np.where(values < 0.5, 0.0, values))
    grades, (note,) = found.grades(5)
    assert np.nanmax(grades) == 2
    assert note.startswith("3 grades instead of 5")


def test_too_few_different_values_cannot_be_graded():
    table = np.array([[0.0, 1, 1], [1, 0, 1], [1, 1, 0]])
    with pytest.raises(InputError, match="too few different values for 2 grades"):
        as_performances(table).grades(2)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.floats(0, 1e6), min_size=9, max_size=9, unique=True))
def test_every_way_to_turn_runtimes_keeps_their_order(times):
    table = np.reshape(times, (3, 3))
    for transform in ("negate", "reciprocal"):
        found = as_performances(table, better="lower", transform=transform)
        low, high = found.bounds
        assert ((low <= found.cells) & (found.cells <= high)).all()
        order = np.argsort(table, axis=None)
        assert (np.diff(found.cells.ravel()[order]) <= 0).all()


def test_what_cannot_be_used_is_said(subtests):
    cases = [
        (ACCURACY[["a"]], {}, "There is 1 algorithm, but a portfolio needs at least 3"),
        (ACCURACY[["a", "b"]], {}, "There are 2 algorithms, but a portfolio needs at least 3"),
        (ACCURACY[:2], {}, "There are 2 problems, but a portfolio needs at least 3"),
        (ACCURACY * np.nan, {}, "There are 0 algorithms"),
        (ACCURACY * 0, {}, "Every performance is 0, so problems and algorithms cannot"),
        (ACCURACY.replace(0.5, np.inf), {}, r"of 'a' on 'q' is infinite.*Give timeouts as"),
        (ACCURACY.replace(0.5, -1e300), {}, r"of 'a' on 'q' is -1e\+300, but .* below 1e\+70"),
        (ACCURACY.assign(x="m"), {}, r"1 column \(x\) without numbers.*table.set_index"),
        (ACCURACY.assign(x="m"), {}, "Reshape a long table: runs.pivot"),
        (ACCURACY > 0.3, {}, r"3 columns \(a, b, c\) of True and False.*ogive.calibrate"),
        ((ACCURACY > 0.3).astype("boolean"), {}, "of True and False"),
        (ACCURACY.astype(complex), {}, "without numbers"),
        (ACCURACY.set_axis(["a", "b", "b"], axis=1), {}, r"1 algorithm \(b\) named more than once"),
        (ACCURACY.set_axis([1, "1", "b"], axis=1), {}, r"1 algorithm \(1\) named more than once"),
        (ACCURACY.set_axis(["p", "p", "q"]), {}, r"1 problem \(p\).*table.groupby\(level=0\)"),
        (ACCURACY["a"], {}, "has 1 dimension, but a table is needed"),
        ([[1, 2], [3]], {}, "has rows of different lengths, but a table is needed"),
        ("runs.csv", {}, r"is 'runs.csv'.*ogive.read_runs\(path\).*ogive.read_aslib\(path\)"),
        (Path("runs"), {}, "performance is 'runs', but a table is needed"),
        (7, {}, r"has 0 dimensions.*ogive.read_runs\(path\)"),
        (ACCURACY, {"better": "best"}, "`better` must be 'higher' or 'lower'.*got 'best'"),
        (
            ACCURACY,
            {"transform": "log"},
            "`transform` must be one of: raw, negate.*got 'log'",
        ),
        (TIMES, {"better": "lower", "transform": "raw"}, "'raw' is for measures where higher"),
        (ACCURACY, {"transform": "negate"}, "does not fit better"),
        (-TIMES, {"better": "lower", "transform": "reciprocal"}, "down to -12. Use transform="),
        (ACCURACY, {"bounds": (0, 0.95)}, "of 'c' on 'r' is 1, outside the bounds 0 to 0.95"),
        (
            TIMES,
            {"better": "lower", "cutoff": 10, "penalty": 10, "bounds": (0, 10)},
            r"a timed-out run counts as 100, outside the bounds 0 to 10.*\(0, 100\)",
        ),
        (ACCURACY, {"bounds": (1, 0)}, r"`bounds` must be \(low, high\).*got \(1, 0\)"),
        (ACCURACY, {"bounds": (0, np.nan)}, "low below high"),
        (ACCURACY, {"bounds": 1}, r"`bounds` must be \(low, high\).*got 1"),
        (ACCURACY, {"cutoff": 5}, "are for runtimes: give better='lower' as well"),
        (TIMES, {"better": "lower", "penalty": 10}, "give cutoff as well"),
        (TIMES, {"better": "lower", "cutoff": 0}, "`cutoff` must be a number above 0.*got 0"),
        (TIMES, {"better": "lower", "cutoff": "9"}, "`cutoff` must be a number.*got '9'"),
        (TIMES, {"better": "lower", "cutoff": 9, "penalty": 0.5}, "must be a number, 1 or more"),
    ]
    for table, options, said in cases:
        with (
            subtests.test(table=table, options=options, said=said),
            pytest.raises(InputError, match=f"(?s){said}"),
        ):
            as_performances(table, **options)


def test_numbers_that_pandas_holds_as_objects_are_numbers():
    found = as_performances(TIMES.astype(object).where(TIMES.notna(), None), better="lower")
    pd.testing.assert_frame_equal(found.given, TIMES)


def test_of_a_runtime_higher_cannot_be_better():
    with pytest.raises(InputError, match="'time' is a runtime in this scenario"):
        as_performances(scenario(), better="higher")


GAPS = np.array([[1.0, np.nan, np.nan], [3.0, 5.0, np.nan]])


def test_means_and_ranges_of_columns_leave_out_what_is_missing():
    np.testing.assert_array_equal(means(GAPS), [2.0, 5.0, np.nan])
    np.testing.assert_array_equal(ranges(GAPS), [2.0, 0.0, 0.0])


def test_what_is_missing_counts_as_the_worst_of_its_row():
    np.testing.assert_array_equal(worst_where_missing(GAPS), [[1, 1, 1], [3, 5, 3]])
    np.testing.assert_array_equal(fair_means(GAPS), [2.0, 3.0, -np.inf])


SCORES = st.one_of(st.floats(0, 1, width=16), st.sampled_from([0.0, 0.5, 1.0, np.nan]))
TABLES = st.tuples(st.integers(1, 4), st.integers(1, 6)).flatmap(
    lambda shape: arrays(float, shape, elements=SCORES)
)


def by_enumeration(table, worst):
    """What each adds on joining, averaged over all orders."""
    n_problems, n = table.shape
    filled = np.where(np.isnan(table), worst, table)
    total, orders = np.zeros((n_problems, n)), list(permutations(range(n)))
    for order in orders:
        best = np.full(n_problems, worst)
        for member in order:
            better = np.maximum(best, filled[:, member])
            total[:, member] += better - best
            best = better
    return total / len(orders)


@settings(max_examples=25, deadline=None)
@given(TABLES, st.sampled_from([0.0, -1.0]))
def test_values_are_those_of_all_orders_of_joining(table, worst):
    expected = by_enumeration(table, worst)
    np.testing.assert_allclose(shapley_shares(table, worst), expected, atol=1e-12)
    np.testing.assert_allclose(
        virtual_best_shapley(table, worst), expected.mean(axis=0), atol=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_values_add_up_to_the_virtual_best_above_the_worst(table):
    best = np.where(np.isnan(table), -1.0, table).max(axis=1)
    assert virtual_best_shapley(table, -1.0).sum() == pytest.approx((best + 1.0).mean())


@settings(max_examples=25, deadline=None)
@given(TABLES)
def test_algorithms_that_are_alike_have_equal_values(table):
    twice = np.column_stack([table, table[:, 0]])
    values = virtual_best_shapley(twice, 0.0)
    assert values[0] == pytest.approx(values[-1], abs=1e-12)


def test_who_never_beats_nothing_has_no_value():
    table = np.array([[0.0, 0.4, np.nan], [0.0, 0.9, np.nan]])
    np.testing.assert_allclose(virtual_best_shapley(table, 0.0), [0.0, 0.65, 0.0])


def test_a_table_done_by_hand():
    """The first 0.2 is shared by three, the next 0.3 by two, the last 0.5 is of one."""
    table = np.array([[1.0, 0.2, 0.5]])
    thirds, halves = 0.2 / 3, 0.3 / 2
    np.testing.assert_allclose(
        virtual_best_shapley(table, 0.0), [thirds + halves + 0.5, thirds, thirds + halves]
    )


def test_the_order_of_algorithms_does_not_matter():
    table = np.random.default_rng(0).random((20, 8))
    turned = virtual_best_shapley(table[:, ::-1], 0.0)[::-1]
    np.testing.assert_allclose(turned, virtual_best_shapley(table, 0.0))
