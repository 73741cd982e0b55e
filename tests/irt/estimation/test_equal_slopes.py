import numpy as np
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt.constrained_scales import calibrate_equal_slopes
from ogive.irt.models.continuous import Continuous


def drawn(n=60, m=80, tau=0.5, sigma=0.8, seed=0, missing=0.0):
    random = np.random.default_rng(seed)
    ability, easiness = random.normal(size=n), random.normal(size=m)
    z = tau * ability[:, None] + easiness + sigma * random.normal(size=(n, m))
    z[random.random((n, m)) < missing] = np.nan
    return ability, easiness, z, og.Responses(1 / (1 + np.exp(-z)), kind="continuous")


def test_complete_scores_have_the_effects_of_an_analysis_of_variance():
    _, _, z, table = drawn(12, 9)
    found = calibrate_equal_slopes(table)
    rows, columns = z.mean(axis=1), z.mean(axis=0)
    residual = z - rows[:, None] - columns + z.mean()
    noise = (residual**2).sum() / (11 * 8)
    between = rows.var(ddof=1) - noise / 9
    np.testing.assert_allclose(found.coords[:, 1], columns, atol=1e-8)
    np.testing.assert_allclose(np.exp(2 * found.coords[:, 2]), noise, rtol=1e-6)
    np.testing.assert_allclose(found.coords[:, 0] ** 2, between / noise, rtol=1e-6)
    # The posterior mean of ability pulls the mean towards zero by its reliability.
    pulled = (rows - z.mean()) * np.sqrt(between) / (between + noise / 9)
    np.testing.assert_allclose(found.abilities()["ability"], pulled, atol=1e-6)


def test_statsmodels_finds_the_same_variances():
    mixed = pytest.importorskip("statsmodels.formula.api", reason="statsmodels is not installed")
    import pandas as pd

    _, _, z, table = drawn(20, 12)
    long = pd.DataFrame({"z": z.ravel(), "who": np.repeat(range(20), 12)})
    long["item"] = np.tile(range(12), 20)
    fit = mixed.mixedlm("z ~ C(item)", long, groups="who").fit(reml=True)
    found = calibrate_equal_slopes(table)
    loading = found.coords[0, 0] * np.exp(found.coords[0, 2])
    np.testing.assert_allclose(loading**2, float(fit.cov_re.iloc[0, 0]), rtol=1e-3)
    np.testing.assert_allclose(np.exp(2 * found.coords[0, 2]), fit.scale, rtol=1e-3)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_truth_is_recovered_within_its_errors(missing):
    ability, easiness, _, table = drawn(missing=missing, seed=3)
    found = calibrate_equal_slopes(table)
    assert found.coords[0, 0] * 0.8 == pytest.approx(0.5, abs=0.12)
    assert np.exp(found.coords[0, 2]) == pytest.approx(0.8, abs=0.03)
    origin = found.uncertainty.shared[1, 0, 1]  # an error that all items share
    errors = np.sqrt(found.uncertainty.covariances[:, 1, 1] - origin**2)
    off = (found.coords[:, 1] - easiness) / errors
    assert 0.8 < (off - off.mean()).std() < 1.2
    assert abs(np.mean(found.coords[:, 1] - easiness)) < 3 * origin
    placed = found.abilities()
    away = (placed["ability"] - ability) / placed["se"]
    assert 0.75 < (away - away.mean()).std() < 1.3


def test_respondents_that_do_not_differ_are_noted():
    _, _, _, table = drawn(20, 10, tau=0.0, seed=1)
    found = calibrate_equal_slopes(table)
    if found.coords[0, 0] < 1e-3:
        assert "do not differ by more than chance" in found.notes[0]
    same = calibrate_equal_slopes(og.Responses(np.tile([0.2, 0.5, 0.7], (4, 1)), kind="continuous"))
    assert "do not differ by more than chance" in same.notes[0]
    assert np.isfinite(same.abilities().to_numpy(dtype=float)).all()


def test_the_bank_can_be_kept_and_scores_new_respondents(tmp_path):
    _, _, _, table = drawn(30, 10)
    found = calibrate_equal_slopes(table)
    again = og.load(found.save(tmp_path / "bank.json"))
    assert isinstance(again.model, Continuous)
    np.testing.assert_allclose(again.score(table)["ability"], found.abilities()["ability"])


def test_too_little_is_refused():
    for cells in ([[0.5, 0.6]], [[0.5], [0.6]], [[0.5, np.nan], [0.6, np.nan]]):
        with pytest.raises(InputError, match="at least two of each"):
            calibrate_equal_slopes(og.Responses(cells, kind="continuous"))
