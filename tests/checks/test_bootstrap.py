"""The parametric bootstrap: by hand, beside the information matrix, and by simulation."""

from dataclasses import replace

import numpy as np
import pytest
from joblib import parallel_config

import ogive as og
from ogive.errors import InputError
from ogive.irt.calibrating import calibrate_again
from ogive.irt.simulation import simulate_again


@pytest.fixture(scope="module")
def cal():
    return og.calibrate(og.simulate("2pl", 150, 5, missing=0.1, random_state=3).responses, "2pl")


def difficulties(cal):
    return cal.items["difficulty"]


@pytest.fixture(scope="module")
def found(cal):
    return og.resample(cal, difficulties, n_resamples=12, progress=False)


def test_resamples_are_those_of_a_loop_by_hand(cal, found):
    random = [np.random.default_rng(s) for s in np.random.SeedSequence(0).spawn(12)]
    never = np.isnan(cal.responses.values)
    rows = []
    for draw in random:
        ability = draw.standard_normal(150)
        chance = cal.probability(ability).to_numpy()
        right = (chance > draw.random((5, 150)).T).astype(float)
        right[never] = np.nan
        again = og.calibrate(og.Responses(right, items=cal.item_names), "2pl")
        rows.append(again.items["difficulty"])
    np.testing.assert_allclose(found.resamples, rows, rtol=1e-6)
    frame = found.to_frame()
    np.testing.assert_allclose(frame["se"], np.std(rows, axis=0, ddof=1), rtol=1e-6)
    np.testing.assert_allclose(frame["bias"], np.mean(rows, axis=0) - frame["estimate"], rtol=1e-6)
    assert (frame["low"] < frame["high"]).all()


def test_any_number_of_workers_gives_the_same_numbers(cal, found):
    with parallel_config(backend="threading"):  # processes take seconds to start
        two = og.resample(cal, difficulties, n_resamples=12, n_jobs=2, progress=False)
    np.testing.assert_array_equal(two.resamples, found.resamples)


def test_a_statistic_may_be_a_number_an_array_a_series_or_a_frame(cal, subtests):
    quick = replace(cal, fitted_by=og.EM(tolerance=1.0))
    cases = {
        "number": (lambda c: c.log_likelihood, ["statistic"]),
        "array": (lambda c: c.coords[:2, :2], ["0, 0", "0, 1", "1, 0", "1, 1"]),
        "series": (difficulties, list(cal.item_names)),
        "frame": (lambda c: c.items[["difficulty"]], [(n, "difficulty") for n in cal.item_names]),
    }
    for name, (statistic, names) in cases.items():
        with subtests.test(name):
            one = og.resample(quick, statistic, n_resamples=10, progress=False)
            assert list(one.to_frame().index) == names
            np.testing.assert_array_equal(one.estimate, np.ravel(statistic(cal)))


class Moody(og.EM):
    """An engine that fails on some tables, and does not come to rest on others."""

    def fit(self, cells, *rest):
        mood = int(cells[cells > 0].sum()) % 5
        if mood == 0:
            raise InputError("not today")
        return replace(super().fit(cells, *rest), converged=mood > 1)


def test_fits_that_fail_or_do_not_converge_are_left_out_counted_and_said(cal):
    some = og.resample(
        replace(cal, fitted_by=Moody()), difficulties, n_resamples=30, progress=False
    )
    assert some.n_failed > 0
    assert some.n_unconverged > 0
    left_out = some.n_failed + some.n_unconverged
    assert (some.to_frame()["failed"] == left_out).all()
    assert np.isnan(some.resamples).all(axis=1).sum() == left_out
    assert f"{left_out} left out: {some.n_failed} failed, the first because: not today" in (
        some.meaning
    )
    assert f"{some.n_unconverged} did not converge" in some.meaning


def test_where_hardly_any_table_can_be_fitted_there_is_no_answer(cal):
    never = replace(cal, fitted_by=og.EM(max_iterations=1))
    with pytest.raises(InputError, match="12 could not be fitted to convergence"):
        og.resample(never, difficulties, n_resamples=12, progress=False)


def test_a_number_that_a_table_lacks_is_counted_where_it_lacks(cal):
    def sometimes(each):
        return np.array([1.0, np.nan if each.coords[0, 0] > cal.coords[0, 0] else 2.0])

    frame = og.resample(cal, sometimes, n_resamples=20, progress=False).to_frame()
    assert frame["failed"].iloc[0] == 0
    assert 0 < frame["failed"].iloc[1] < 20


def test_rows_that_stand_for_several_are_drawn_one_by_one():
    weights = np.array([3.0, 1.0, 0.0, 2.0])
    table = og.Responses([[1, 0, 1], [0, 1, np.nan], [1, 1, 1], [0, 0, 1]])
    cal = og.calibrate(table, "1pl", weights=weights)
    drawn, left = simulate_again(cal, np.random.default_rng(0))
    assert left is None
    assert np.isnan(drawn.values).sum(axis=1).tolist() == [0, 0, 0, 1, 0, 0]


def test_weights_between_whole_numbers_stay_and_are_said():
    table = og.simulate("1pl", 60, 4, random_state=1).responses
    cal = og.calibrate(table, "1pl", weights=np.linspace(0.5, 1.5, 60))
    drawn, weights = simulate_again(cal, np.random.default_rng(0))
    assert drawn.respondents == table.respondents
    np.testing.assert_array_equal(weights, cal.weights)
    some = og.resample(cal, lambda c: c.coords[0, 1], n_resamples=10, progress=False)
    assert "not whole numbers" in some.notes[0]


@pytest.mark.slow
def test_it_is_fitted_as_before(subtests):
    """Engine, settings, priors, grades and bank are those of the calibration."""
    binary = og.simulate("2pl", 80, 5, random_state=2).responses
    bank = og.calibrate(binary, "2pl")
    grades = og.simulate("graded", 100, 3, random_state=2).responses
    cases = {
        "joint": og.calibrate(binary, "2pl", engine="joint"),
        "tolerance": og.calibrate(binary, "2pl", tolerance=1e-3),
        "no priors": og.calibrate(binary, "2pl", priors=None),
        "graded": og.calibrate(grades, "graded"),
        "bank": og.calibrate(binary, fixed=bank.of_items(bank.item_names[:3])),
    }
    for name, cal in cases.items():
        with subtests.test(name):
            again = calibrate_again(cal, cal.responses, cal.weights)
            np.testing.assert_allclose(again.coords, cal.coords, rtol=1e-7, atol=1e-9)
            assert again.iterations == cal.iterations
            drawn, _ = simulate_again(cal, np.random.default_rng(1))
            assert calibrate_again(cal, drawn).coords.shape == cal.coords.shape


def test_abilities_are_drawn_from_a_population_of_any_shape():
    skewed = -np.log(1 - np.random.default_rng(0).random(800)) - 1
    drawn = og.simulate("2pl", abilities=skewed, n_items=20, random_state=0).responses
    cal = og.calibrate(drawn, "2pl", population="histogram")
    many = replace(cal, weights=np.full(800, 20.0))
    table, _ = simulate_again(many, np.random.default_rng(0))
    # The share right of each item is what the population makes of its curve.
    points = np.linspace(*cal.population.reach(), 4001)
    mass = np.exp(cal.population.log_density(points))
    expected = (mass / mass.sum()) @ cal.probability(points).to_numpy()
    np.testing.assert_allclose(table.cells.mean(axis=0), expected, atol=4 * 0.5 / np.sqrt(16_000))


def test_bad_input_is_refused_with_a_sentence(cal, tmp_path, subtests):
    def fails(each):
        if each is not cal:
            raise KeyError("nothing here")
        return 1.0

    bank = og.load(cal.save(tmp_path / "bank.json"))
    cases = {
        "a calibration loaded from a file has no": (bank, difficulties),
        "is a part of another": (cal.of_items(cal.item_names[:3]), difficulties),
        "resample needs a calibration": (cal.responses, difficulties),
        r"`statistic` must be": (cal, "difficulty"),
        "fails for the calibration itself: KeyError": (cal, lambda c: c.items["no such"]),
        "fails for resample 1: KeyError: 'nothing here'": (cal, fails),
        "does not hold numbers": (cal, lambda c: c.item_names),
        "gives nothing": (cal, lambda c: c.coords[:0]),
        "an array of 2 for resample 1": (cal, lambda c: np.zeros(1 if c is cal else 2)),
        "or other names": (
            cal,
            lambda c: c.items["difficulty"] if c is cal else c.items["difficulty"].iloc[::-1],
        ),
    }
    for said, (given, statistic) in cases.items():
        with subtests.test(said), pytest.raises(InputError, match=said):
            og.resample(given, statistic, n_resamples=10, progress=False)
    for wrong in ({"n_resamples": 3}, {"confidence": 95}, {"random_state": "x"}):
        with subtests.test(wrong), pytest.raises(InputError, match=next(iter(wrong))):
            og.resample(cal, difficulties, progress=False, **wrong)


@pytest.mark.slow
def test_processes_give_the_same_numbers(cal, found):
    two = og.resample(cal, difficulties, n_resamples=12, n_jobs=2, progress=False)
    np.testing.assert_array_equal(two.resamples, found.resamples)


@pytest.mark.slow
def test_standard_errors_agree_with_those_of_the_information_matrix():
    cal = og.calibrate(og.simulate("2pl", 1000, 15, random_state=1).responses, "2pl")
    both = ["discrimination", "difficulty"]
    found = og.resample(cal, lambda c: c.items[both], n_resamples=200, progress=False)
    known = cal.items[[f"{name}_se" for name in both]].to_numpy().ravel()
    ratio = found.to_frame()["se"] / known
    # 200 resamples know a standard deviation to 5 %; the information matrix, a few per cent less.
    assert ratio.median() == pytest.approx(1.0, abs=0.05)
    assert ratio.between(0.85, 1.25).all()


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """Of the spread of difficulties, which no formula of the package has an error for."""
    covered = []
    for seed in range(200):
        drawn = og.simulate("1pl", 100, 8, random_state=seed)
        truth = drawn.truth.items["difficulty"].std()
        cal = og.calibrate(drawn.responses, "1pl")
        row = og.resample(
            cal, lambda c: c.items["difficulty"].std(), n_resamples=60, progress=False
        ).to_frame()
        covered.append(bool(((row["low"] <= truth) & (truth <= row["high"])).iloc[0]))
    assert np.mean(covered) >= 0.919  # 0.95 less two standard errors of 200 trials
