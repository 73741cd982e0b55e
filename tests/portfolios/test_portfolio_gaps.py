"""Performance gaps of portfolios by hand, by definition and by fold."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.datasets.aslib import AslibScenario
from ogive.errors import InputError
from ogive.portfolios.portfolio_gaps import _comparison, _gaps
from ogive.results.numbers import with_interval
from ogive.stats.intervals import t_reach

GAINS = np.array([[1.0, 0.4, 0.2], [0.3, 0.9, 0.5], [0.6, np.nan, 0.8]])
ORDER = np.array([0, 1, 2])


def table(n=60, m=6, seed=0):
    random = np.random.default_rng(seed)
    easiness = random.normal(size=(n, 1))
    slopes, levels = random.uniform(0.5, 1.5, m), random.normal(0, 0.7, m)
    odds = easiness * slopes + levels + random.normal(0, 0.6, (n, m))
    names = [f"p{k}" for k in range(n)]
    return pd.DataFrame(1 / (1 + np.exp(-odds)), index=names, columns=list("abcdefgh"[:m]))


@pytest.fixture(scope="module")
def found():
    return og.compare_portfolios(table(), cv=5)


def pick(frame, **wanted):
    for column, value in wanted.items():
        frame = frame[frame[column] == value]
    return frame


def test_gaps_of_a_table_done_by_hand():
    rows = {row[:3]: row[3] for row in _gaps(GAINS, {"topset": ORDER}, [1, 2, 3])}
    assert rows["topset", 1, "best member"] == pytest.approx((0 + 0.6 + 0.2) / 3)
    assert rows["topset", 2, "best member"] == pytest.approx((0 + 0 + 0.2) / 3)
    assert rows["topset", 3, "best member"] == 0
    assert rows["topset", 2, "mean member"] == pytest.approx((0.3 + 0.3 + 0.2) / 3)
    assert rows["topset", 3, "mean member"] == pytest.approx(
        (1 - 1.6 / 3 + 0.9 - 1.7 / 3 + 0.8 - 2 / 3) / 3
    )


def test_where_no_member_ran_the_portfolio_gets_the_worst_of_the_problem():
    rows = {row[:3]: row[3] for row in _gaps(GAINS, {"single best": np.array([1, 0, 2])}, [])}
    assert rows["single best", 1, "best member"] == pytest.approx((0.6 + 0 + 0.2) / 3)
    assert rows["single best", 1, "mean member"] == pytest.approx((0.6 + 0 + 0.2) / 3)


@pytest.mark.slow
def test_who_ran_on_easy_problems_only_is_not_the_single_best():
    hard = np.linspace(-2, 2, 100)
    noise = 0.05 * np.random.default_rng(0).normal(size=(100, 4))
    curves = np.column_stack(
        [0.8 + 0 * hard, 0.7 - 0.05 * hard, 0.5 - 0.1 * hard, 0.5 - 0.2 * hard]
    )
    scores = pd.DataFrame(curves + noise, columns=["good", "fair", "poor", "easy only"])
    scores.loc[hard > -1.5, "easy only"] = np.nan
    assert scores.mean().idxmax() == "easy only"
    compared = og.compare_portfolios(scores, sizes=[1], cv=5)
    gap = pick(compared.frame, method="single best", definition="best member")["gap"].item()
    assert gap == pytest.approx((scores.max(axis=1) - scores["good"]).mean(), abs=1e-6)
    assert any(note.startswith("Missing: 87 of 400 runs.") for note in compared.notes)


def test_all_algorithms_together_are_the_virtual_best(found):
    whole = pick(found.frame, size=6, definition="best member")
    assert len(whole) == 3
    assert (whole["gap"] == 0).all()


def test_gaps_of_the_best_member_fall_with_the_size(found):
    """Portfolios of one fold are nested."""
    for _, rows in pick(found.folds, definition="best member").groupby(["fold", "method"]):
        assert (np.diff(rows.sort_values("size")["gap"]) <= 1e-12).all()


def test_the_interval_of_a_gap_is_one_in_sentence_table_and_figure(found):
    import matplotlib.pyplot as plt

    frame = found.frame
    reach = t_reach(np.array(4.0), 0.95) * frame["gap_se"]
    np.testing.assert_allclose(frame["gap_high"], frame["gap"] + reach)
    np.testing.assert_allclose(frame["gap_low"], (frame["gap"] - reach).clip(lower=0.0))
    alone = pick(frame, method="single best", definition="best member").iloc[0]
    told = found.meaning.split("chosen anew in each fold, leaves ")[1]
    assert told.startswith(with_interval(alone["gap"], alone["gap_high"] - alone["gap"], 0.0))
    drawn = found.plot()
    bars = [
        bar[:, 1]
        for part in drawn.figure_.axes[0].collections
        for bar in getattr(part, "get_segments", list)()
    ]
    rows = pick(frame, definition="best member")
    rows = rows[rows["method"] != "single best"]
    expected = rows[["gap_low", "gap_high"]].to_numpy()
    np.testing.assert_allclose(sorted(map(tuple, bars)), sorted(map(tuple, expected)))
    plt.close(drawn.figure_)


def test_the_size_that_is_spoken_of_is_the_one_that_is_recommended():
    scores = table()
    whole = og.portfolio(scores)
    kept = len(whole.select(0.0).algorithms)
    for given in (scores, whole):
        compared = og.compare_portfolios(given, epsilon=0.0, cv=5)
        assert compared.meaning.startswith(f"With {kept} algorithms, as many as")
    small = og.compare_portfolios(whole, epsilon=0.0, cv=5, sizes=[1])
    assert small.meaning.startswith("With 1 algorithm, '")
    everyone = og.compare_portfolios(whole, epsilon=9.0, cv=5)
    assert everyone.meaning.startswith("With 3 algorithms, '")


def test_means_and_errors_are_over_folds(found):
    row = pick(found.frame, method="airt", size=2, definition="mean member").iloc[0]
    gaps = pick(found.folds, method="airt", size=2, definition="mean member")["gap"]
    assert len(gaps) == row["folds"] == 5
    assert row["gap"] == pytest.approx(gaps.mean())
    assert row["gap_se"] == pytest.approx(gaps.std() / np.sqrt(5))


def test_the_single_best_is_the_best_mean_on_the_other_problems():
    scores = table()
    folds = pd.Series(np.arange(60) % 3, index=scores.index)
    compared = og.compare_portfolios(scores, cv=folds, sizes=[1])
    for fold in range(3):
        training, testing = scores[folds != fold], scores[folds == fold]
        alone = training.mean().idxmax()
        expected = (testing.max(axis=1) - testing[alone]).mean()
        row = pick(compared.folds, method="single best", fold=fold, definition="best member")
        assert row["gap"].item() == pytest.approx(expected)


def test_topset_of_a_fold_is_chosen_on_the_others():
    scores = table()
    folds = pd.Series(np.arange(60) % 3, index=scores.index)
    compared = og.compare_portfolios(scores, cv=folds, sizes=2, methods="topset")
    assert set(compared.frame["method"]) == {"single best", "topset"}
    for fold in range(3):
        training, testing = scores[folds != fold], scores[folds == fold]
        kept = training.idxmax(axis=1).value_counts().index[:2]
        expected = (testing.max(axis=1) - testing[kept].max(axis=1)).mean()
        row = pick(compared.folds, method="topset", fold=fold, definition="best member")
        assert row["gap"].item() == pytest.approx(expected)


@pytest.mark.slow
def test_nothing_is_chosen_by_the_problems_it_is_judged_on(subtests):
    """On each fold another algorithm is by far the best; there it would leave no gap."""
    for method in ["single best", "topset", "shapley", "airt"]:
        with subtests.test(method=method):
            scores = table(m=3) / 10
            folds = pd.Series(np.arange(60) % 3, index=scores.index)
            for fold, name in enumerate(scores.columns):
                scores.loc[folds == fold, name] += 0.8
            compared = og.compare_portfolios(scores, cv=folds, sizes=[1])
            assert (pick(compared.folds, method=method)["gap"] > 0.6).all()


def test_folds_of_a_series_may_stand_in_any_order_and_have_any_name():
    scores = table()
    folds = pd.Series(np.arange(60) % 4, index=scores.index)
    one = og.compare_portfolios(scores, cv=folds, sizes=[2])
    shuffled = folds.map({0: "w", 1: "x", 2: "y", 3: "z"}).sample(frac=1, random_state=0)
    two = og.compare_portfolios(scores, cv=shuffled, sizes=[2])
    pd.testing.assert_frame_equal(one.frame, two.frame)


def test_gaps_of_runtimes_are_in_seconds():
    times = 100 * (1 - table())
    compared = og.compare_portfolios(times, better="lower", sizes=[1], cv=3)
    scores = og.compare_portfolios(100 * table(), sizes=[1], cv=3)
    row = {"method": "single best", "definition": "best member"}
    assert pick(compared.frame, **row)["gap"].item() == pytest.approx(
        pick(scores.frame, **row)["gap"].item()
    )


def test_a_portfolio_is_compared_with_its_own_settings(found):
    again = og.compare_portfolios(og.portfolio(table()), cv=5)
    pd.testing.assert_frame_equal(again.frame, found.frame)
    graded = og.compare_portfolios(og.portfolio(table(), model="graded"), cv=3, sizes=[2])
    same = og.compare_portfolios(table(), model="graded", cv=3, sizes=[2])
    pd.testing.assert_frame_equal(graded.frame, same.frame)


def test_the_same_seed_gives_the_same_folds_and_another_one_others(found):
    again, other = (og.compare_portfolios(table(), cv=5, random_state=seed) for seed in (0, 1))
    pd.testing.assert_frame_equal(again.folds, found.folds, check_exact=True)
    assert not other.folds.equals(found.folds)


def test_repeats_give_more_folds_but_do_not_pretend_to_more_problems(found):
    more = og.compare_portfolios(table(), cv=5, n_resamples=3, sizes=[2])
    wanted = {"method": "shapley", "size": 2, "definition": "mean member"}
    row, gaps = pick(more.frame, **wanted).iloc[0], pick(more.folds, **wanted)["gap"]
    assert row["folds"] == len(gaps) == 15
    assert row["gap_se"] == pytest.approx(gaps.std() / np.sqrt(5))
    once = pick(found.folds, **wanted)["gap"]
    np.testing.assert_array_equal(gaps[:5], once)


def test_an_algorithm_that_ran_on_the_problems_of_one_fold_only_is_no_obstacle():
    scores = table()
    folds = pd.Series(np.arange(60) // 20, index=scores.index)
    scores["late"] = np.where(folds == 1, 0.99, np.nan)
    scores.loc["p20":"p30", "late"] = 0.5
    compared = og.compare_portfolios(scores, cv=folds)
    assert np.isfinite(compared.frame["gap"]).all()


def compared_in_folds(one, other, passes=1):
    """Two methods whose gaps in each fold are given."""
    rows = [(fold, "single best", 1, "best member", 9.0) for fold in range(len(one))]
    for method, gaps in (("airt", one), ("topset", other)):
        rows += [(fold, method, 2, "best member", gap) for fold, gap in enumerate(gaps)]
    return _comparison(rows, passes, (0.0,), ())


def test_a_portfolio_that_gains_nothing_for_sure_is_not_better_than_the_single_best():
    far = np.linspace(1, 5, 10)  # the single best leaves 9 in every fold
    assert "cannot be distinguished" not in compared_in_folds(far, far).meaning
    level = compared_in_folds(9.0 + np.array([-1.0, 0.8, -0.9, 1.0]), np.full(4, 9.5))
    assert " (0.00 to " not in level.meaning
    near = compared_in_folds(np.array([0.0, 0.4, 0.0]), np.full(3, 9.5))
    assert "a gap of 0.13 (0.00 to 0.71)" in near.meaning  # no algorithm is better than the best
    assert "leaves 9, from which this cannot be distinguished" in level.meaning


def test_methods_are_compared_fold_by_fold():
    """Folds differ far more than methods do, but one method is ahead in all of them."""
    hard = np.linspace(1, 5, 10)
    ahead = compared_in_folds(hard, hard + 0.5 + 0.01 * np.sin(np.arange(10)))
    assert "do not differ significantly" not in ahead.meaning
    mixed = compared_in_folds(hard, hard[::-1] + 0.5)
    assert mixed.meaning.endswith(". At this size, airt and topset do not differ significantly.")


def test_few_folds_are_judged_by_students_t():
    more = np.array([0.2, 1.0, 0.6])  # 0.6 ± 0.23: 2.6 standard errors, of which t asks for 4.3
    found = compared_in_folds(np.full(3, 1.0), 1.0 + more)
    assert found.meaning.endswith("do not differ significantly.")


def test_repeated_passes_do_not_tell_more_methods_apart():
    more = np.array([0.2, 1.0, 0.6])
    found = compared_in_folds(np.full(30, 1.0), 1.0 + np.tile(more, 10), passes=10)
    assert found.meaning.endswith("do not differ significantly.")


def as_scenario(scores, folds):
    return AslibScenario(
        name="tiny",
        measure="score",
        better="higher",
        kind="quality",
        cutoff=None,
        performance=scores,
        status=scores.map(lambda _: "ok"),
        features=None,
        folds=folds,
        notes=(),
    )


def test_a_scenario_is_compared_in_its_own_folds_unless_others_are_asked_for():
    scores = table()
    folds = pd.Series(np.arange(60) % 4, index=scores.index)
    scenario = as_scenario(scores, folds)
    settings = {"sizes": [2], "methods": "topset"}
    expected = og.compare_portfolios(scores, cv=folds, **settings).frame
    for given in (scenario, og.portfolio(scenario)):
        pd.testing.assert_frame_equal(og.compare_portfolios(given, **settings).frame, expected)
    asked = og.compare_portfolios(scenario, cv=3, **settings)
    pd.testing.assert_frame_equal(
        asked.frame, og.compare_portfolios(scores, cv=3, **settings).frame
    )


def test_repeats_of_given_folds_are_refused():
    scores = table()
    folds = pd.Series(np.arange(60) % 4, index=scores.index)
    for given, settings in ((scores, {"cv": folds}), (as_scenario(scores, folds), {})):
        with pytest.raises(
            InputError, match="n_resamples is 3, but the fold of each problem is given"
        ):
            og.compare_portfolios(given, n_resamples=3, **settings)


HALF = pd.Series(np.arange(30) % 3, index=[f"p{k}" for k in range(30)])
GAP = pd.Series(np.where(np.arange(60) == 7, np.nan, np.arange(60) % 3), index=table().index)


def test_several_epsilons_are_compared_in_one_pass_and_drawn_as_lines():
    wanted = {"methods": ["airt", "topset"], "sizes": [1, 2, 3], "cv": 5}
    several = og.compare_portfolios(table(), epsilon=[0.0, 0.05, 0.0], **wanted)
    frame = several.to_frame().set_index(["method", "size", "definition"])["gap"]
    for epsilon in (0.0, 0.05):
        alone = og.compare_portfolios(table(), epsilon=epsilon, **wanted).to_frame()
        own = alone.set_index(["method", "size", "definition"])["gap"]
        for name, other in (("airt", f"airt, ε = {epsilon:g}"), ("topset", "topset")):
            np.testing.assert_array_equal(own[name], frame[other])
    assert several.epsilons == (0.0, 0.05)
    legends = [ax.get_legend() for ax in several.plot().figure_.axes if ax.get_legend()]
    assert [text.get_text() for text in legends[0].get_texts()] == [
        "airt, ε = 0",
        "airt, ε = 0.05",
        "topset",
        "single best",
    ]
    with pytest.raises(InputError, match="epsilons is empty"):
        og.compare_portfolios(table(), epsilon=[])


def test_what_cannot_be_compared_is_said(subtests):
    cases = [
        ({"cv": 1}, "`cv` must be a whole number of at least 2.*got 1"),
        ({"cv": 2.5}, "`cv` must be a whole number.*got 2.5"),
        ({"cv": 61}, "cv is 61, but there are 60 problems"),
        ({"cv": HALF}, r"cv has no fold for 30 problems \(p30, p31, p32, ...\)"),
        ({"cv": GAP}, r"cv has no fold for 1 problem \(p7\)"),
        ({"cv": pd.concat([HALF, HALF])}, r"30 problems \(p0, p1, p2, ...\) more than once"),
        ({"cv": GAP.fillna(0) * 0}, "60 problems in 1 fold: too few to choose by"),
        ({"n_resamples": 0}, "`n_resamples` must be a whole number of at least 1.*got 0"),
        ({"sizes": [0]}, "`A size` must be a whole number of at least 1, got 0"),
        ({"sizes": [7]}, "from 1 to 6, the number of algorithms"),
        ({"sizes": []}, "from 1 to 6, the number of algorithms"),
        ({"sizes": "all"}, r"`A size` must be"),
        ({"methods": ["best"]}, "`method` must be one of: airt, topset, shapley.*got 'best'"),
        ({"methods": []}, "methods is empty"),
        ({"methods": 3}, "`method` must be one of: airt, topset, shapley.*got 3"),
        ({"random_state": -1}, "`random_state` must be a whole number of at least 0.*got -1"),
        ({"random_state": "a"}, r"`random_state` must be .*got 'a'"),
        ({"foo": 1}, "compare_portfolios has no argument 'foo'.*better, bounds, cutoff"),
        ({"epsilon": -1}, "`epsilon` must be a number, 0 or more.*got -1"),
        ({"preset": "x"}, "There is no preset 'x'"),
    ]
    for settings, said in cases:
        with subtests.test(settings=settings, said=said), pytest.raises(InputError, match=said):
            og.compare_portfolios(table(), **settings)


def test_further_settings_with_a_portfolio_are_refused():
    with pytest.raises(InputError, match="preset, knots cannot be given: a Portfolio"):
        og.compare_portfolios(og.portfolio(table()), preset="airt", knots=5)
