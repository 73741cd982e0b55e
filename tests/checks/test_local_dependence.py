import re
from importlib import import_module

import numpy as np
import pandas as pd
import pytest

from ogive import OnePL, Responses, calibrate, simulate
from ogive.checks.local_dependence import local_dependence
from ogive.errors import InputError
from ogive.irt import local_dependence as module

RASCH = ["LSAT6_Rasch", "LSAT7_Rasch", "SAT12_Rasch"]
TWO = ["LSAT6_2PL", "LSAT7_2PL", "SAT12_2PL", "sim2pl_1000x50_2PL"]
THREE = ["LSAT7_3PL", "SAT12_3PL", "sim3pl_2000x40_3PL"]
GRADED = ["Science_graded", "Science_gpcm"]
OURS = {"Rasch": OnePL(discrimination=1), "2PL": "2pl", "3PL": "3pl"}


def drawn(*shape, **kw):
    """Simulated 2PL responses as numbers, NaN where never asked."""
    return simulate("2pl", *shape, **kw).responses.to_frame().to_numpy(copy=True)


def with_a_copy(n_respondents=600, n_items=20, agreement=1.0, seed=3):
    """One ability, and two items of which the second repeats the first."""
    values = drawn(n_respondents, n_items, random_state=seed)
    same = np.random.default_rng(seed).random(n_respondents) < agreement
    values[:, 7] = np.where(same, values[:, 2], values[:, 7])
    return values


@pytest.fixture(scope="module")
def copied():
    return local_dependence(calibrate(with_a_copy(), "2pl"))


@pytest.fixture(scope="module")
def gappy():
    """Responses with gaps, and their calibration."""
    return calibrate(simulate("2pl", 150, 6, missing=0.3, random_state=5).responses, "2pl")


@pytest.mark.slow
def test_q3_is_that_of_mirt(witness, subtests):
    for mirt in witness.at_hand([*RASCH, *TWO, *THREE, *GRADED]):
        with subtests.test(mirt.tag):
            theirs = mirt.frame("Q3").set_index("item")
            found = local_dependence(mirt.ours(OURS.get(mirt.model)))
            # Items agree to about 0.001; a 3PL without priors is nearly flat: they differ more.
            tolerance = 0.003 if mirt.tag in THREE else 0.0005
            np.testing.assert_allclose(found.q3, theirs.to_numpy(float), atol=tolerance)
            assert list(found.q3.index) == list(theirs.index)


def test_q3_is_the_correlation_of_residuals_over_those_who_answered_both(gappy):
    ability = gappy.abilities("wle")["ability"].to_numpy()
    residual = gappy.responses.to_frame().to_numpy() - gappy.probability(ability).to_numpy()
    found = local_dependence(gappy, method="wle", max_pairs=100)
    expected = pd.DataFrame(residual).corr()
    np.testing.assert_allclose(found.q3, expected, atol=1e-9)
    row = found.to_frame().iloc[0]
    asked = gappy.responses.to_frame().notna()
    assert row["n"] == (asked[row["item"]] & asked[row["other"]]).sum()
    off = expected.to_numpy()[np.triu_indices(6, 1)]
    assert found.mean_q3 == pytest.approx(off.mean())
    assert row["q3_adjusted"] == pytest.approx(row["q3"] - off.mean())


def test_strips_of_items_and_blocks_of_rows_change_nothing(gappy, monkeypatch):
    whole = local_dependence(gappy, max_pairs=100)
    monkeypatch.setattr(module, "STRIP", 4)
    monkeypatch.setattr(module, "STRIP_CELLS", 1)
    parts = local_dependence(gappy, max_pairs=100)
    pd.testing.assert_frame_equal(parts.to_frame(), whole.to_frame(), rtol=1e-9)
    np.testing.assert_allclose(parts.q3, whole.q3, atol=1e-12)


def test_many_items_keep_the_largest_pairs_only(gappy, monkeypatch):
    whole = local_dependence(gappy, max_pairs=5)
    monkeypatch.setattr(module, "STRIP", 4)
    monkeypatch.setattr(module, "KEPT_PAIRS", 6)
    monkeypatch.setattr(module, "MOST_ITEMS_IN_MATRIX", 5)
    found = local_dependence(gappy, max_pairs=5)
    columns = ["item", "other", "q3", "z", "p"]
    pd.testing.assert_frame_equal(found.to_frame()[columns], whole.to_frame()[columns])
    assert found.mean_q3 == pytest.approx(whole.mean_q3)
    assert found.n_pairs == 15
    # What is left out could only make these smaller.
    assert (found.p_adjusted >= whole.p_adjusted - 1e-12).all()
    with pytest.raises(InputError, match=r"6 items.*to_frame\(\)"):
        _ = found.q3


@pytest.mark.parametrize("kept", [40, 10_000])
def test_many_items_of_a_complete_table_are_sifted_to_the_same_pairs(kept, monkeypatch):
    values = with_a_copy(150, 40)
    values[:, 11] = 1.0  # no Q3
    found = calibrate(values, "2pl")
    whole = local_dependence(found, max_pairs=30)
    for name, value in (("STRIP", 16), ("KEPT_PAIRS", kept), ("MOST_ITEMS_IN_MATRIX", 5)):
        monkeypatch.setattr(module, name, value)
    sifted = local_dependence(found, max_pairs=30)
    columns = ["item", "other", "q3", "q3_adjusted", "z", "p", "n"]
    frames = sifted.to_frame()[columns], whole.to_frame()[columns]
    pd.testing.assert_frame_equal(*frames, rtol=1e-10, atol=1e-12)
    assert sifted.n_pairs == whole.n_pairs
    assert sifted.n_dependent == whole.n_dependent >= 1


def test_a_sample_that_misleads_costs_time_and_no_pair(monkeypatch):
    found = calibrate(with_a_copy(150, 40), "2pl")
    monkeypatch.setattr(module, "MOST_ITEMS_IN_MATRIX", 5)
    whole = local_dependence(found)
    monkeypatch.setattr(module, "KEPT_PAIRS", 100)
    monkeypatch.setattr(module._ScaledResiduals, "z_quantile", lambda self, share: 50.0)
    misled = local_dependence(found)
    columns = ["item", "other", "q3", "z", "p"]
    pd.testing.assert_frame_equal(misled.to_frame()[columns], whole.to_frame()[columns])


def test_a_large_table_is_thinned_and_says_so(gappy, monkeypatch):
    thinning = import_module("ogive.checks.local_dependence")  # not its function
    monkeypatch.setattr(thinning, "MOST_WORK", 150 * 36 / 2)
    assert "from 75 of 150 respondents" in local_dependence(gappy).meaning


@pytest.mark.slow
def test_p_values_are_those_of_chance_where_the_model_is_true(subtests):
    for model, missing in [("2pl", 0.0), ("3pl", 0.0), ("2pl", 0.4)]:
        with subtests.test(model=model, missing=missing):
            found = [
                local_dependence(
                    calibrate(
                        simulate(model, 500, 20, missing=missing, random_state=seed).responses,
                        model,
                    ),
                    max_pairs=190,
                )
                for seed in range(5)
            ]
            z = np.concatenate([one.z for one in found])
            p = np.concatenate([one.p for one in found])
            # 950 pairs: the mean of z is known to 0.03. The standard error is the larger of two, so
            # the test is a little careful: never more than 5 %, give or take 1.4 % (two errors).
            assert abs(z.mean()) < 0.1
            assert 0.85 < z.std() < 1.05
            assert (p < 0.05).mean() < 0.064
            assert sum(one.n_dependent for one in found) == 0


def test_failing_together_once_is_no_proof():
    """Items that all but the weakest get right: two of them missed by the same one prove little."""
    random = np.random.default_rng(0)
    values = (random.random((60, 40)) < 0.6).astype(float)
    values[:, :20] = 1
    values[7, :2] = 0  # a correlation of one, from one respondent
    found = local_dependence(calibrate(values, "2pl"), max_pairs=1000).to_frame()
    pair = found[(found["item"] == "item_1") & (found["other"] == "item_2")].iloc[0]
    assert pair["q3"] > 0.9
    assert pair["p"] > 0.05
    assert not pair["dependent"]


def test_a_copied_item_comes_out_on_top(copied):
    row = copied.to_frame().iloc[0]
    assert (row["item"], row["other"]) == ("item_3", "item_8")
    assert row["q3_adjusted"] > 0.5
    assert row["p_adjusted"] < 1e-6
    assert copied.n_dependent == copied.dependent.sum() == 1
    assert "1 of 190 pairs of items depends on each other" in copied.meaning
    assert "item_3 with item_8 +" in copied.meaning


def test_a_half_copied_item_is_found_among_gaps():
    values = with_a_copy(agreement=0.5)
    values[np.random.default_rng(1).random(values.shape) < 0.3] = np.nan
    row = local_dependence(calibrate(values, "2pl")).to_frame().iloc[0]
    assert (row["item"], row["other"]) == ("item_3", "item_8")
    assert row["p_adjusted"] < 0.01


def correlated(q, n_respondents, n_items, seed):
    """Scores of one ability; what two of them leave unexplained correlates by q."""
    random = np.random.default_rng(seed)
    ability, error = (
        random.normal(size=(n_respondents, 1)),
        random.normal(size=(n_respondents, n_items)),
    )
    error[:, 1] = q * error[:, 0] + np.sqrt(1 - q**2) * error[:, 1]
    return 1 / (1 + np.exp(-(0.8 * ability + error)))


@pytest.mark.parametrize(("n_respondents", "n_items"), [(60, 30), (100, 20), (300, 12)])
def test_the_correlation_that_would_be_shown_is_shown_in_four_of_five_tables(
    n_respondents, n_items
):
    """It was shown in half of them, and tested three tenths beside it."""
    clean = local_dependence(calibrate(correlated(0.0, n_respondents, n_items, 0), "continuous"))
    said = re.search(r"\(Q3\) of (0\.\d+) above the mean would be shown in a", clean.meaning)
    assert "about 80% of cases" in clean.meaning
    assert "asked by `dimensionality`" in clean.meaning
    found, shown = [], []
    for seed in range(50):  # the ability takes a little of what a pair shares
        table = correlated(float(said[1]) + 0.03, n_respondents, n_items, seed)
        pairs = local_dependence(calibrate(table, "continuous")).to_frame()
        pair = pairs[(pairs["item"] == "item_1") & (pairs["other"] == "item_2")].iloc[0]
        found.append(pair["q3_adjusted"])
        shown.append(pair["dependent"])
    assert np.mean(found) == pytest.approx(float(said[1]), abs=0.03)
    assert abs(np.mean(shown) - 0.8) < 3 * np.sqrt(0.8 * 0.2 / 50)


def test_weights_stand_for_respondents():
    values = drawn(80, 5, random_state=2)
    counts = np.arange(80) % 3 + 1
    weighted = local_dependence(calibrate(values, "2pl", weights=counts))
    repeated = local_dependence(calibrate(np.repeat(values, counts, axis=0), "2pl"))
    # Two calibrations of the same likelihood end within the tolerance of the engine.
    np.testing.assert_allclose(weighted.q3, repeated.q3, atol=1e-4)
    np.testing.assert_allclose(weighted.n, repeated.n)


def test_constant_items_have_no_q3_and_are_named():
    values = drawn(100, 6, random_state=0)
    values[:, 2] = 1
    found = local_dependence(calibrate(values, "2pl"))
    assert found.n_pairs == 10
    assert found.q3["item_3"].isna().all()
    assert "1 item (item_3)" in found.meaning
    assert found.plot().ax_.has_data()


def test_hardly_any_responses_give_no_pair_and_no_crash(subtests):
    for shape in [(1, 5), (5, 1), (2, 2)]:
        with subtests.test(shape=shape):
            values = np.random.default_rng(0).integers(0, 2, shape)
            found = local_dependence(calibrate(values, "2pl"))
            assert found.n_pairs == 0
            assert found.to_frame().empty
            assert "no pair of items to compare" in found.meaning
            with pytest.raises(InputError, match="no pair of items to draw"):
                found.plot()


def test_other_responses_to_some_of_the_items_are_compared_by_name(gappy):
    table = gappy.responses.select(items=["item_5", "item_2", "item_3"])
    found = local_dependence(gappy, table)
    assert found.n_pairs == 3
    assert list(found.q3.columns) == ["item_5", "item_2", "item_3"]
    ability = gappy.score(table)["ability"].to_numpy()
    residual = table.to_frame().to_numpy() - gappy.probability(ability)[list(table.items)]
    np.testing.assert_allclose(found.q3, residual.corr(), atol=1e-9)


def test_wrong_arguments_are_explained(gappy):
    with pytest.raises(InputError, match="needs a calibration, got Responses"):
        local_dependence(gappy.responses)
    with pytest.raises(InputError, match="not in this calibration"):
        local_dependence(gappy, Responses([[0, 1]], items=["item_1", "other"]))
    with pytest.raises(InputError, match=r"`max_pairs` must be .*got 0"):
        local_dependence(gappy, max_pairs=0)
    with pytest.raises(InputError, match="choose one of eap"):
        local_dependence(gappy, method="mean")


@pytest.mark.slow
def test_one_of_each_pair_brings_the_coverage_of_discriminations_back():
    random = np.random.default_rng(0)
    slope, place = np.exp(random.normal(0, 0.3, 40)), random.normal(size=40)
    again, before, after = np.arange(1, 40, 4), [], []
    for _ in range(12):
        chance = 1 / (1 + np.exp(-slope * (random.normal(size=(1000, 1)) - place)))
        values = (random.random(chance.shape) < chance).astype(float)
        same = random.random((1000, again.size)) < 0.5
        values[:, again] = np.where(same, values[:, again - 1], values[:, again])
        cal = calibrate(values, "2pl")
        pairs = local_dependence(cal).to_frame()
        kept = ~np.isin(cal.item_names, pairs.loc[pairs["dependent"], "other"])
        for found, items, true in (
            (before, cal.items, slope),
            (after, calibrate(values[:, kept], "2pl").items, slope[kept]),
        ):
            off = (items["discrimination"] - true).abs()
            found.append((off < 1.96 * items["discrimination_se"]).mean())
    assert np.mean(before) < 0.88
    assert np.mean(after) > 0.92
