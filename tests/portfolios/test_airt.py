"""Portfolios of simulated truth, of tables with holes, and of tables that are odd."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.portfolios.strengths import FIGURES
from ogive.results.plots.figure import Display

N, M = 400, 8
DISCRIMINATION = np.array([1.0, 1.5, 2.0, 0.8, -0.9, 1.2, 3.0, 1.0])
DIFFICULTY = np.array([0.0, -1.0, 0.5, 1.0, 0.0, -0.5, 0.2, -1.5])
SCALING = np.array([1.0, 0.8, 1.2, 1.0, -1.0, 0.9, 1.1, 1.0])
NAMES = [f"solver {k}" for k in range(M)]


def simulated(n=N, seed=0):
    """Performances of the continuous model, and the easiness of problems."""
    random = np.random.default_rng(seed)
    easiness = random.normal(size=n)
    noise = random.normal(size=(n, M)) / DISCRIMINATION
    odds = (easiness[:, None] - DIFFICULTY + noise) / SCALING
    problems = [f"p{k}" for k in range(n)]
    return pd.DataFrame(1 / (1 + np.exp(-odds)), index=problems, columns=NAMES), easiness


@pytest.fixture(scope="module")
def found():
    return og.portfolio(simulated()[0], bounds=(0, 1))


@pytest.fixture(scope="module")
def graded():
    return og.portfolio(simulated()[0], model="graded", grades=4)


def test_the_truth_lies_within_the_standard_errors(found):
    frame = found.algorithms
    for name, truth in (
        ("discrimination", DISCRIMINATION),
        ("scaling", SCALING),
        ("consistency", 1 / np.abs(DISCRIMINATION)),
        ("difficulty_limit", -DIFFICULTY),
    ):
        away = (frame[name] - truth) / frame[f"{name}_se"]
        assert (away.abs() < 3.3).all(), name  # one in a thousand
    assert frame["anomalous"].tolist() == (DISCRIMINATION < 0).tolist()
    assert list(frame.index) == NAMES
    np.testing.assert_allclose(frame["consistency"] * frame["discrimination"].abs(), 1.0)
    part = frame["discrimination_se"] / frame["discrimination"].abs()
    np.testing.assert_allclose(frame["consistency_se"] / frame["consistency"], part)


def test_the_difficulty_of_problems_lies_within_its_standard_error(found):
    truth, frame = -simulated()[1], found.problems
    away = (frame["difficulty"] - truth) / frame["difficulty_se"]
    assert (away.abs() < 1.96).mean() == pytest.approx(0.95, abs=0.033)  # 3 errors of 400
    assert np.corrcoef(frame["difficulty"], truth)[0, 1] > 0.95


def test_problems_say_who_does_best_on_them(found):
    table = simulated()[0]
    frame = found.problems
    assert (frame["best_algorithm"] == table.idxmax(axis=1)).all()
    np.testing.assert_array_equal(frame["best_performance"], table.max(axis=1))
    assert (frame["runs"] == M).all()
    assert frame.index.name == "problem"


def test_runtimes_say_the_shortest_time_as_the_best():
    times = 100 * (1 - simulated(60)[0])
    frame = og.portfolio(times, better="lower").problems
    np.testing.assert_array_equal(frame["best_performance"], times.min(axis=1))
    assert (frame["best_algorithm"] == times.idxmin(axis=1)).all()


def test_runtimes_that_are_turned_performances_give_the_same_portfolio(found):
    turned = og.portfolio(7 * (1 - simulated()[0]), better="lower", bounds=(0, 7))
    columns = ["discrimination", "difficulty_limit", "discrimination_se", "consistency"]
    np.testing.assert_allclose(
        turned.algorithms[columns], found.algorithms[columns], rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(turned.difficulty, found.difficulty, atol=1e-4)


def test_harder_problems_are_done_worse_but_by_the_anomalous(found):
    table = simulated()[0]
    along = [np.corrcoef(found.difficulty, table[name])[0, 1] for name in NAMES]
    assert (np.sign(along) == -np.sign(DISCRIMINATION)).all()


def test_curves_have_a_band_and_go_from_the_easiest_to_the_hardest(found):
    curves = found.curves
    assert list(curves["algorithm"].unique()) == NAMES
    assert curves["difficulty"].min() == found.difficulty.min()
    assert curves["difficulty"].max() == found.difficulty.max()
    low, high = found.performances.bounds  # which neither curve nor band leaves
    assert ((curves["low"] < curves["performance"]) | (curves["low"] == low)).all()
    assert ((curves["performance"] < curves["high"]) | (curves["high"] == high)).all()
    middle = found.splines.at(np.array([0.0]))[0]
    lines = dict(list(curves.groupby("algorithm")))
    between = [np.interp(0.0, *lines[n][["difficulty", "performance"]].to_numpy().T) for n in NAMES]
    np.testing.assert_allclose(between, middle, atol=1e-3)


def test_the_graded_model_agrees_on_who_is_anomalous_and_on_difficulty(graded, found):
    assert graded.algorithms["anomalous"].tolist() == (DISCRIMINATION < 0).tolist()
    assert np.corrcoef(graded.difficulty, found.difficulty)[0, 1] > 0.95
    assert "scaling" not in graded.algorithms
    items = graded.calibration.items
    np.testing.assert_array_equal(graded.algorithms["difficulty_limit"], -items["difficulty_3"])
    np.testing.assert_array_equal(
        graded.algorithms["difficulty_limit_se"], items["difficulty_3_se"]
    )


def test_graded_goodness_reaches_from_the_lowest_to_the_highest_grade(graded):
    goodness = graded.goodness.drop(index="solver 4")
    assert (goodness["mse"] < 0.2).all()
    np.testing.assert_allclose(
        goodness["auaec"], graded.performances.grades(4)[0][:, np.arange(M) != 4].mean(axis=0) / 3
    )
    assert goodness["difference"].max() < 0.15


def test_many_timeouts_leave_fewer_grades_but_goodness_still_ends_at_one():
    table = simulated(100)[0]
    late = table.mask(table < 0.5, 0.0)
    found = og.portfolio(late, model="graded", grades=5)
    top = np.nanmax(found.performances.grades(5)[0])
    assert top < 4
    assert found._goodness.actual.max() == 1.0
    assert found._goodness.predicted.max() == 1.0


def test_the_lowest_grade_may_be_that_of_a_constant_algorithm_alone():
    table = 0.5 + simulated(200)[0] / 2
    table["worst"], table["as bad"] = 0.0, 0.0  # a fifth of all runs: the lowest grade is theirs
    found = og.portfolio(table, model="graded", grades=5)
    assert np.nanmin(found.performances.grades(5)[0][:, :M]) == 1.0
    normal = og.portfolio(table[NAMES], model="graded", grades=4)
    np.testing.assert_allclose(
        1 - found.goodness["aupec"][NAMES], (1 - normal.goodness["aupec"]) * 3 / 4, atol=1e-9
    )


def test_missing_runs_are_left_out_and_the_rest_still_recovers_the_truth():
    table = simulated()[0]
    holes = np.random.default_rng(3).random(table.shape) < 0.3
    found = og.portfolio(table.mask(holes), bounds=(0, 1))
    away = (found.algorithms["discrimination"] - DISCRIMINATION) / found.algorithms[
        "discrimination_se"
    ]
    assert (away.abs() < 3.3).all()
    assert (found.problems["runs"] == (~holes).sum(axis=1)[found_rows(found, table)]).all()
    for frame in (found.algorithms, found.problems, found.curves, found.goodness):
        assert np.isfinite(frame.select_dtypes("number")).all(axis=None)


def found_rows(found, table):
    """Positions of the problems that were kept."""
    return table.index.get_indexer(found.problems.index)


def test_the_published_way_needs_every_run():
    table = simulated(20)[0]
    table.iloc[5, 2] = np.nan
    with pytest.raises(InputError, match=r"but 1 run is missing. Leave it out, or drop"):
        og.portfolio(table, preset="airt")


def test_published_difficulty_has_mean_0_and_deviation_1():
    found = og.portfolio(simulated(120)[0], preset="airt")
    assert found.difficulty.mean() == pytest.approx(0.0, abs=1e-12)
    assert found.difficulty.std(ddof=1) == pytest.approx(1.0)
    assert len(found.curves) == 80 * M


@pytest.mark.parametrize("settings", [{}, {"preset": "airt"}, {"model": "graded"}])
def test_a_constant_algorithm_is_perfectly_consistent_and_noted(settings):
    table = simulated(120)[0].assign(constant=0.7)
    found = og.portfolio(table, **settings)
    row = found.algorithms.loc["constant"]
    assert row["consistency"] == np.inf
    assert row["flag"] == "constant"
    assert not row["anomalous"]
    assert row["mean_performance"] == pytest.approx(0.7)
    assert np.isnan(row["difficulty_limit"])
    assert any("1 algorithm (constant) with the same performance" in n for n in found.notes)
    np.testing.assert_allclose(
        found.curves.query("algorithm == 'constant'")["performance"], 0.7, atol=1e-12
    )
    assert np.isfinite(found.goodness.drop(columns="mse")).all(axis=None)


def test_constant_within_grades_is_constant():
    table = simulated(120)[0]
    table["top"] = table.max(axis=None) - 1e-6 * table["solver 0"]
    found = og.portfolio(table, model="graded")
    row = found.algorithms.loc["top"]
    assert (row["flag"], row["consistency"]) == ("constant", np.inf)
    assert np.isnan(row["difficulty_limit"])
    assert any("1 algorithm (top) with the same performance" in n for n in found.notes)


def test_a_grade_never_reached_gives_no_limit_and_a_note():
    """The limit of the others is that of the highest grade: lower ones do not compare."""
    table = simulated(120)[0]
    table["weak"] = 0.3 * table["solver 0"]
    found = og.portfolio(table, model="graded", grades=5)
    assert list(found.algorithms.index[found.algorithms["difficulty_limit"].isna()]) == ["weak"]
    assert np.isnan(found.algorithms.loc["weak", "difficulty_limit_se"])
    assert any("1 algorithm (weak) without a run of the highest grade" in n for n in found.notes)


def few_runs():
    table = simulated(120)[0].assign(few=np.nan)
    table.iloc[3:5, -1] = 1.0, 0.999
    return table


def test_who_hardly_ran_leads_nowhere_and_is_flagged():
    found = og.portfolio(few_runs())
    assert found.algorithms.loc["few", "flag"] == "few runs"
    assert found.algorithms.loc["few", ["discrimination", "consistency"]].isna().all()
    assert not found.algorithms.loc["few", "anomalous"]
    assert any("1 algorithm (few) with fewer than 5 runs" in note for note in found.notes)
    assert found.occupancy(10.0).loc["few"].isna().all()
    assert "few" not in set(found.curves["algorithm"]) | set(found.strengths(10.0)["algorithm"])
    assert "few" not in set(found.weaknesses(10.0)["algorithm"])
    assert "8 of 9 algorithms" in found.select(10.0).meaning
    everyone = found.select(10.0, size=9)
    assert "few" not in everyone.algorithms
    assert everyone.notes[0] == "Only 8 algorithms can be kept: the others have too few runs."
    assert (everyone.frame["value_low"] == 1).all()  # each is within 10 of the best everywhere


def test_five_runs_are_enough_and_so_is_every_problem_of_few():
    table = few_runs()
    table.iloc[5:8, -1] = 0.2, 0.5, 0.9
    assert np.isfinite(og.portfolio(table).occupancy()["occupancy"]["few"])
    assert np.isfinite(og.portfolio(simulated(4)[0]).occupancy()["occupancy"]).all()


def test_an_algorithm_that_explains_all_others_is_flagged_and_noted():
    table = simulated(120)[0]
    found = og.portfolio(table.assign(copy=table["solver 6"], again=table["solver 6"]))
    flags = found.algorithms["flag"]
    assert list(flags.index[flags == "sets the line"]) == ["solver 6", "copy", "again"]
    assert any("3 algorithms (solver 6, copy, again) fitted without" in n for n in found.notes)


def test_an_algorithm_that_always_times_out_is_last_everywhere():
    times = 10 * (1 - simulated(120)[0])
    times["never"] = 10.0
    found = og.portfolio(times, better="lower", cutoff=10, penalty=10)
    assert found.algorithms.loc["never", "flag"] == "constant"
    assert found.occupancy()["occupancy"]["never"] == 0
    assert found.weaknesses()["algorithm"].unique().tolist() == ["never"]


def test_algorithms_that_hardly_differ_are_no_portfolio():
    table = simulated(50)[0]
    table.iloc[:, 2:] = 0.5
    with pytest.raises(InputError, match="Only 2 of 8 algorithms have a performance that varies"):
        og.portfolio(table)


def test_who_cannot_be_distinguished_from_the_single_best_is_named():
    table = simulated()[0]
    noise = np.random.default_rng(8).normal(0, 1e-3, len(table))
    best = table.mean().idxmax()
    found = og.portfolio(table.assign(twin=(table[best] + noise).clip(0, 1)))
    assert "cannot be distinguished from it; the virtual best" in found.meaning
    share = found.occupancy()
    sure = int((share["occupancy_low"] > 0).sum())
    assert f"somewhere, and for {sure} the interval of that share excludes 0" in found.meaning


def test_who_is_anomalous_by_chance_is_not_named():
    random = np.random.default_rng(4)
    table = simulated()[0].assign(coin=random.uniform(0.4, 0.6, len(simulated()[0])))
    found = og.portfolio(table.drop(columns="solver 4"))
    chance = found.algorithms["anomalous_chance"]
    assert 0.025 < chance["coin"] < 0.975
    assert (chance.drop("coin") < 0.01).all()
    assert "coin" not in found.meaning.split("harder")[-1]


def test_who_is_anomalous_without_any_noise_is_named():
    """The error of its discrimination, loading over noise, is larger than the estimate itself."""
    random = np.random.default_rng(6)
    easiness = random.normal(size=80)
    odds = easiness[:, None] * [1, 1, 1, -1] + random.normal(size=(80, 4)) * [0.9, 0.9, 0.9, 0.1]
    found = og.portfolio(1 / (1 + np.exp(-odds)))
    row = found.algorithms.loc["algorithm_4"]
    assert abs(row["discrimination"]) < row["discrimination_se"]
    assert row["anomalous_chance"] > 0.999
    assert "Better on harder problems: 1 algorithm (algorithm_4)." in found.meaning


def test_the_same_table_gives_the_same_portfolio(found):
    again = og.portfolio(simulated()[0], bounds=(0, 1))
    pd.testing.assert_frame_equal(again.algorithms, found.algorithms, check_exact=True)
    pd.testing.assert_frame_equal(again.occupancy(), found.occupancy(), check_exact=True)


def test_every_figure_is_drawn(subtests, found, graded):
    for kind, model in product(FIGURES, ["continuous", "graded"]):
        with subtests.test(kind=kind, model=model):
            import matplotlib.pyplot as plt

            drawn = (found if model == "continuous" else graded).plot(kind)
            assert isinstance(drawn, Display)
            plt.close(drawn.figure_)


def test_figures_take_their_settings(found):
    import matplotlib.pyplot as plt

    for kind, settings in (
        ("strengths", {"epsilons": 0.05}),
        ("curves", {"highlight": ["solver 1"]}),
        ("traces", {"panels": 2}),
        ("runs", {"panels": 2}),
        ("residuals", {"panels": 2}),
    ):
        plt.close(found.plot(kind, **settings).figure_)


def test_what_is_no_setting_is_refused(subtests):
    cases = [
        ({"preset": "mirt"}, "There is no preset 'mirt'. The only one is 'airt'"),
        ({"preset": "airt", "model": "graded"}, "preset='airt' uses the continuous model"),
        ({"model": "2pl"}, "`model` must be one of: continuous, graded.*got '2pl'"),
        (
            {"model": "graded", "grades": 1},
            "`grades` must be a whole number of at least 2.*got 1",
        ),
        ({"model": "graded", "grades": True}, r"`grades` must be .*got True"),
        ({"model": "graded", "grades": 10**6}, "grades is 1000000, but at most 100"),
        ({"knots": 2}, "`knots` must be a whole number of at least 3.*got 2"),
        ({"smoothing": "loess"}, "`smoothing` must be one of: reml, gcv.*got 'loess'"),
    ]
    for settings, said in cases:
        with subtests.test(settings=settings, said=said), pytest.raises(InputError, match=said):
            og.portfolio(simulated(20)[0], **settings)


def test_what_cannot_be_asked_is_refused(subtests, found):
    cases = [
        (
            lambda p: p.plot("bars"),
            "`kind` must be one of curves, runs, strengths.*got 'bars'",
        ),
        (lambda p: p.strengths(-0.1), "`epsilon` must be a number, 0 or more.*got -0.1"),
        (lambda p: p.occupancy("0"), "`epsilon` must be a number, 0 or more.*got '0'"),
        (lambda p: p.occupancy(np.nan), r"`epsilon` must be .*got nan"),
        (
            lambda p: p.occupancy(confidence=95),
            "`confidence` must be a number between 0 and 1.*got 95",
        ),
        (lambda p: p.select(size=0), "`size` must be a whole number of at least 1.*got 0"),
        (lambda p: p.select(size=9), "size is 9, but there are 8 algorithms"),
        (lambda p: p.select(method="best"), "`method` must be one of: airt.*got 'best'"),
        (lambda p: p.occupancy(random_state=-1), r"`random_state` must be .*got -1"),
        (lambda p: p.plot(["curves"]), r"`kind` must be one of.*got \['curves'\]"),
        (lambda p: p.plot("strengths", epsilons=[]), "epsilons is empty"),
        (lambda p: p.plot("strengths", epsilons="0"), r"`epsilon` must be .*got '0'"),
        (lambda p: p.plot("strengths", highlight=2), "highlight is for curves and good"),
        (lambda p: p.plot("densities", panels="x"), r"`panels` must be .*got 'x'"),
        (lambda p: p.select(method=["airt"]), r"`method` must be"),
    ]
    for call, said in cases:
        with subtests.test(said=said), pytest.raises(InputError, match=said):
            call(found)


@pytest.fixture(scope="module")
def timed():
    """Twelve solvers, in seconds; the first tell problems apart the most sharply."""
    random = np.random.default_rng(0)
    hard = random.normal(size=(80, 1))
    noise = np.linspace(0.01, 0.6, 12) * random.normal(size=(80, 12))
    log_time = 1 + hard * np.linspace(0.2, 1.6, 12) + np.linspace(1.5, 0, 12) + noise
    table = pd.DataFrame(np.exp(log_time), columns=[f"solver {k}" for k in range(12)])
    return og.portfolio(table, better="lower", bounds=(0, 900))


def test_the_mean_performance_is_in_the_unit_of_the_measure_everywhere(timed):
    kept = timed.select(size=4).frame["mean_performance"]
    pd.testing.assert_series_equal(kept, timed.algorithms["mean_performance"][kept.index])


def test_an_algorithm_has_the_same_colour_in_every_figure(timed):
    curves = timed.plot("curves")
    own = {line.get_ydata()[0]: line.get_color() for line in curves.ax_.lines}
    starts = timed.curves.groupby("algorithm", sort=False)["performance"].first()
    colours = {name: own[start] for name, start in starts.items() if start in own}
    assert len(colours) == 7
    goodness = timed.plot("goodness").ax_.get_legend()
    pairs = zip(goodness.get_texts(), goodness.get_lines(), strict=True)
    drawn = {
        text.get_text(): line.get_color() for text, line in pairs if line.get_linestyle() == "-"
    }
    assert drawn
    assert drawn.items() <= colours.items()
    assert set(timed.plot("strengths")._order[:7]) == set(colours)


def test_runs_and_histograms_show_every_run_and_difficulties_every_problem():
    random = np.random.default_rng(1)
    hard = random.normal(size=(60, 1))
    seconds = np.exp(2 + hard * [0.5, 1.0, 1.5] + 0.5 * random.normal(size=(60, 3)))
    late = seconds > 20
    cut = og.portfolio(seconds.clip(max=20), better="lower", cutoff=20, unsolved="keep")
    runs = cut.plot("runs").frame
    assert len(runs) == 180
    np.testing.assert_array_equal(runs["late"], late.T.ravel())
    np.testing.assert_allclose(
        runs["curve"].to_numpy().reshape(3, -1).T, cut.splines.at(cut.difficulty)
    )
    residual = cut.plot("residuals").frame["absolute residual"].to_numpy().reshape(3, -1)
    np.testing.assert_allclose((residual**2).mean(axis=1), cut.goodness["mse"])
    assert len(cut.plot("performances").frame) == 180
    assert len(cut.plot("difficulties").frame) == 60
    stopped = cut.plot("densities")
    assert stopped.stopped == pytest.approx(np.log10(20))
    assert any("where runs were stopped" in text.get_text() for text in stopped.ax_.texts)
    heights = stopped.frame["log10 of runtime"]
    assert heights.min() < stopped.stopped < heights.max()  # timeouts are shown as well


def test_a_sharp_peak_is_drawn_as_a_curve_and_not_as_a_corner(timed):
    frame = timed.plot("traces").frame
    items = timed.calibration.items.loc["solver 0"]
    top = abs(items["discrimination"] * items["scaling"]) / np.sqrt(2 * np.pi)
    lines = frame[frame["algorithm"] == "solver 0"]
    assert lines["density"].max() == pytest.approx(top, rel=1e-6)
    line = lines[lines["grade"] == lines.loc[lines["density"].idxmax(), "grade"]]
    assert (line["density"] > top / 10).sum() > 15


def test_curves_are_not_drawn_beyond_the_bounds():
    published = og.portfolio(simulated()[0], bounds=(0, 1), preset="airt")
    assert published.curves["performance"].max() > 1  # as the published splines are
    lines = np.concatenate([line.get_ydata() for line in published.plot().ax_.lines])
    assert 0 <= lines.min() <= lines.max() <= 1
