"""Reliability: by hand, by simulation, and from mirt's abilities."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from ogive import OnePL, Responses, calibrate, load, simulate
from ogive.checks.reliability import reliability
from ogive.errors import InputError

EASY = {"difficulty": np.linspace(-6, -1, 20), "discrimination": np.full(20, 1.0)}


@pytest.fixture(scope="module")
def some():
    simulation = simulate("2pl", 800, 25, random_state=4)
    return simulation, calibrate(simulation.responses, "2pl")


def test_empirical_reliability_is_the_share_of_true_variance(some):
    _, cal = some
    scored = cal.abilities(items_known=True)
    true, error = scored["ability"].var(ddof=0), (scored["se"] ** 2).mean()
    assert reliability(cal, items_known=True).empirical == pytest.approx(true / (true + error))


@pytest.mark.parametrize("method", ["ml", "wle"])
def test_estimates_that_do_not_shrink_hold_the_error_in_their_variance(some, method):
    scored = some[1].abilities(method, items_known=True)
    scored = scored[~scored["at_bound"]]
    expected = 1 - (scored["se"] ** 2).mean() / scored["ability"].var(ddof=0)
    assert reliability(some[1], method=method, items_known=True).empirical == pytest.approx(
        expected
    )


def test_empirical_reliability_is_the_squared_correlation_with_the_truth(some):
    simulation, cal = some
    true = simulation.truth.abilities["ability"]
    squared = np.corrcoef(true, cal.abilities()["ability"])[0, 1] ** 2
    found = reliability(cal)
    # The squared correlation of 800 pairs at 0.85 has a standard error of 0.01.
    assert found.empirical == pytest.approx(squared, abs=0.03)
    assert found.marginal == pytest.approx(squared, abs=0.03)


def test_errors_of_items_cost_what_they_move_abilities_off_a_line():
    cal = calibrate(simulate("2pl", 30, 40, random_state=0).responses, "2pl")
    found, known = cal.ability_covariance(), cal.abilities(items_known=True)
    line = np.stack([np.ones(30), found.ability], axis=1)
    off = np.eye(30) - line @ np.linalg.inv(line.T @ line) @ line.T
    spread, error = found.ability.var(), (known["se"] ** 2).mean()
    together = off @ (found.dense() - np.diag(found.own)) @ off
    added = np.trace(together) / 30 + found.own.mean() - error
    expected = (spread - added) ** 2 / (spread * (spread - added + error))
    assert reliability(cal).empirical == pytest.approx(expected)
    assert expected < reliability(cal, items_known=True).empirical


def test_few_respondents_are_measured_less_reliably_than_known_items_suggest():
    apart = {True: [], False: []}
    for seed in range(8):
        drawn = simulate("2pl", 50, 60, random_state=seed)
        cal = calibrate(drawn.responses, "2pl")
        ability = cal.abilities(items_known=True)["ability"]
        squared = np.corrcoef(drawn.truth.abilities["ability"], ability)[0, 1] ** 2
        for known, gaps in apart.items():
            gaps.append(reliability(cal, items_known=known).empirical - squared)
    assert abs(np.mean(apart[False])) < 0.01 < np.mean(apart[True])


def test_empirical_reliability_is_that_of_the_abilities_of_mirt(witness, subtests):
    for mirt in witness.at_hand(["LSAT7_2PL", "LSAT7_Rasch", "SAT12_2PL", "SAT12_Rasch"]):
        with subtests.test(mirt.tag):
            theirs = mirt.frame("abilities")
            ours = mirt.ours(OnePL(discrimination=1) if mirt.model == "Rasch" else None)
            found = reliability(ours, items_known=True)
            true, error = theirs["EAP"].var(ddof=0), (theirs["se_EAP"] ** 2).mean()
            # Abilities agree to 1e-4, and so does what follows from them.
            assert found.empirical == pytest.approx(true / (true + error), abs=2e-4)


def test_the_interval_is_that_of_the_bootstrap(some):
    cal = some[1]
    scored = cal.abilities("ml", items_known=True)
    scored = scored[~scored["at_bound"]]
    ability, square = scored["ability"].to_numpy(), scored["se"].to_numpy() ** 2
    random = np.random.default_rng(0)
    drawn = random.integers(0, ability.size, (2000, ability.size))
    draws = 1 - square[drawn].mean(axis=1) / ability[drawn].var(axis=1)
    found = reliability(cal, method="ml", items_known=True)
    low, high = np.quantile(draws, [0.025, 0.975])
    # The interval is some 0.03 wide; a tenth of that is what 2,000 draws and skewness leave.
    assert found.empirical_low == pytest.approx(low, abs=0.003)
    assert found.empirical_high == pytest.approx(high, abs=0.003)


def test_marginal_reliability_is_the_population_mean_of_that_along_the_scale(some):
    cal = some[1]
    grid = np.linspace(-6, 6, 1201)
    density = np.exp(-0.5 * grid**2)
    information = cal.information(grid).to_numpy().sum(axis=1)
    expected = (density @ (information / (information + 1))) / density.sum()
    # Nodes end at six deviations, where the last 2e-9 of the population lie.
    assert reliability(cal).marginal == pytest.approx(expected, abs=1e-6)


def test_reliability_does_not_depend_on_the_unit_of_the_scale(some):
    responses = some[0].responses
    one, rasch = (
        reliability(calibrate(responses, model), items_known=True)
        for model in (OnePL(), OnePL(discrimination=1))
    )
    assert rasch.marginal == pytest.approx(one.marginal, abs=1e-6)
    assert rasch.empirical == pytest.approx(one.empirical, abs=1e-6)
    assert rasch.best_low != pytest.approx(one.best_low, abs=0.01)


def test_the_frame_runs_along_the_scale(some):
    frame = reliability(some[1]).to_frame()
    assert list(frame.columns) == ["ability", "information", "se", "reliability"]
    assert frame["reliability"].between(0, 1).all()
    np.testing.assert_allclose(frame["se"] ** -2, frame["information"])
    np.testing.assert_allclose(frame["reliability"], 1 - 1 / (1 + frame["information"]), atol=1e-6)


def test_the_best_stretch_tells_at_least_half_of_the_most(some):
    found = reliability(some[1])
    frame = found.to_frame()
    inside = frame["ability"].between(found.best_low, found.best_high)
    assert (frame["information"][inside] >= 0.5 * frame["information"].max()).all()
    assert inside[frame["information"].idxmax()]


def test_more_items_measure_more_reliably():
    responses = simulate("2pl", 500, 60, random_state=1).responses
    few = reliability(calibrate(responses.select(items=slice(0, 10)), "2pl"))
    many = reliability(calibrate(responses, "2pl"))
    assert many.marginal > few.marginal + 0.1
    assert many.empirical_low > few.empirical_high


def test_the_end_of_the_scale_that_is_looked_at_is_no_limit(some):
    cal = some[1]
    easy = calibrate(simulate("1pl", 60, items=EASY, random_state=0).responses, "1pl")
    found = reliability(easy)
    assert found.best_low == -np.inf
    assert f"abilities up to {found.best_high:.1f}." in found.meaning
    both = replace(found, best_high=np.inf)
    assert both.meaning.endswith("abilities all along the scale.")
    upwards = replace(reliability(cal), best_high=np.inf)
    assert upwards.meaning.endswith(f"abilities from {upwards.best_low:.1f} on.")


def test_a_part_of_the_items_is_not_more_reliable_than_all():
    whole = simulate("2pl", 9, 450, random_state=3).responses
    part = whole.select(items=slice(0, 150))
    assert reliability(calibrate(part)).empirical < reliability(calibrate(whole)).empirical


def test_few_respondents_make_wide_intervals():
    for seed in range(3):
        found = reliability(calibrate(simulate("2pl", 9, 450, random_state=seed).responses, "2pl"))
        assert found.empirical_high - found.empirical_low > 0.05
        assert "too narrow" in found.notes[1]


def alike(n_respondents, seed, spread=0.15):
    """Right and wrong of respondents whose abilities hardly differ."""
    random = np.random.default_rng(seed)
    ability, difficulty = random.normal(0, spread, n_respondents), random.normal(0, 1, 200)
    chance = 1 / (1 + np.exp(difficulty - ability[:, None]))
    return Responses((random.random(chance.shape) < chance).astype(float))


@pytest.mark.parametrize("seed", [1, 9, 18, 24])
def test_no_variance_beyond_chance_is_no_certain_zero(seed):
    """The reliability is 0.48; the interval was 0.00 to 0.00 where the slope was estimated at 0."""
    found = reliability(calibrate(alike(8, seed)))
    assert found.empirical_low < 0.01
    assert 0.5 < found.empirical_high < 0.9
    assert "the items measure next to nothing anywhere" in found.meaning


def test_standard_errors_and_reliability_are_said_to_go_together():
    cal = calibrate(simulate("2pl", 14, 120, random_state=1).responses)
    found, scored = reliability(cal), cal.abilities()
    share = (scored["se"] ** 2).mean() / scored["ability"].var(ddof=0)
    assert 1 - share < found.empirical - 0.03
    known = cal.abilities(items_known=True)["se"] ** 2
    lower = known.mean() / (scored["se"] ** 2).mean()
    assert lower < found.blurring < 0.95
    assert f"of these errors, squared, {found.blurring:.0%} blur the order." in found.meaning
    assert "blur" not in reliability(cal, items_known=True).meaning


@pytest.mark.slow
@pytest.mark.parametrize(("n_respondents", "n_items"), [(9, 450), (14, 200), (50, 100), (50, 20)])
def test_intervals_contain_the_truth(n_respondents, n_items):
    contains = []
    for seed in range(60):
        drawn = simulate("2pl", n_respondents, n_items, random_state=seed)
        cal = calibrate(drawn.responses)
        items = {name: drawn.truth.items[name] for name in ("difficulty", "discrimination")}
        true = np.random.default_rng(seed).normal(size=3000)
        others = simulate("2pl", abilities=true, items=items, random_state=seed + 1).responses
        placed = cal.score(Responses(others.values, items=cal.item_names), items_known=True)
        squared = np.corrcoef(true, placed["ability"])[0, 1] ** 2
        found = reliability(cal)
        contains.append(found.empirical_low <= squared <= found.empirical_high)
    # Of 60 intervals of 95 %, fewer than 53 contain the truth in one case of a hundred.
    assert sum(contains) >= 53


def test_a_bank_without_responses_still_promises(some, tmp_path):
    bank = load(some[1].save(tmp_path / "bank.json"))
    found = reliability(bank)
    assert np.isnan([found.empirical, found.empirical_low, found.empirical_high]).all()
    assert found.marginal == pytest.approx(reliability(some[1]).marginal)
    assert found.meaning.startswith(f"Reliability {found.marginal:.2f} is expected")
    given = reliability(bank, some[0].responses)
    assert given.empirical == pytest.approx(reliability(some[1]).empirical)


def test_weights_count_as_repeated_rows(some):
    responses = some[0].responses
    twice = np.where(np.arange(800) < 300, 2, 1)
    cal = replace(some[1], weights=twice.astype(float))
    repeated = Responses(np.repeat(responses.values, twice, axis=0), items=responses.items)
    found, expected = (
        reliability(one, table, items_known=True)
        for one, table in ((cal, None), (some[1], repeated))
    )
    for name in ("empirical", "empirical_low", "empirical_high", "n_respondents"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name))


def test_who_answered_nothing_does_not_count(some):
    values = some[0].responses.to_frame().to_numpy(copy=True)
    fewer = reliability(
        some[1], Responses(values[:500], items=some[1].item_names), items_known=True
    )
    values[500:] = np.nan
    found = reliability(some[1], Responses(values, items=some[1].item_names), items_known=True)
    assert found.n_respondents == 500
    assert found.empirical == pytest.approx(fewer.empirical)


def test_poor_tables_have_a_defined_result(subtests):
    for method, (case, values) in product(
        ["eap", "map", "ml", "wle"],
        {
            "one respondent": [[1, 0, 1]],
            "constant": np.ones((20, 3)),
            "one item": [[1], [0], [1]],
            "nothing asked": np.full((5, 2), np.nan),
        }.items(),
    ):
        with subtests.test(f"{method} {case}"):
            found = reliability(calibrate(np.asarray(values, dtype=float), "2pl"), method=method)
            assert 0 <= found.marginal < 1
            assert found.meaning.endswith(".")
            assert found.plot().ax_.has_data()


def test_what_cannot_be_measured_is_refused(some):
    with pytest.raises(InputError, match="needs a calibration, got Responses"):
        reliability(some[0].responses)
    with pytest.raises(InputError, match="choose one of eap, map, ml, wle"):
        reliability(some[1], method="mean")
    with pytest.raises(InputError, match="not in this calibration"):
        reliability(some[1], Responses([[0, 1]], items=["u", "v"]))
