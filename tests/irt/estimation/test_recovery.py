"""Truth is found again, whatever the model, and nothing but the truth decides the result."""

import re
from itertools import product

import numpy as np
import pytest

from ogive import Normal, Responses, calibrate, simulate
from ogive.irt import encoded_responses as encoding
from ogive.irt.estimation import em_engine as em
from ogive.irt.models import MODELS
from ogive.irt.models.logistic import OnePL

PARAMETERS = ["discrimination", "difficulty", "guessing", "slip"]
# Correlation of difficulty, RMSE of difficulty, RMSE of ability: what 2,000 × 40 should give.
BOUNDS = {
    "1pl": (0.99, 0.10, 0.40), "2pl": (0.99, 0.15, 0.35),
    "3pl": (0.97, 0.30, 0.42), "4pl": (0.95, 0.40, 0.48),
    "graded": (0.99, 0.10, 0.25), "gpcm": (0.99, 0.10, 0.20),
    "nominal": (0.98, 0.25, 0.35),
    "continuous": (0.999, 0.05, 0.12), "censored": (0.999, 0.05, 0.12),
    "beta": (0.99, 0.05, 0.12),
}  # fmt: skip


class Told(list):
    """What a fit tells of its progress."""

    def __call__(self, *seen):
        self.append(seen)


def turn(values):
    """The responses that are as bad as these are good."""
    return np.floor(np.nanmin(values)) + np.ceil(np.nanmax(values)) - values


def table_of(model, values):
    """Values as responses of the kind that the model explains."""
    return Responses(values, kind=MODELS[model].kind)


def rmse(found, truth):
    return float(np.sqrt(np.mean((np.asarray(found) - np.asarray(truth)) ** 2)))


def item_rest(values):
    """Mean correlation of an item with the sum of the others."""
    rest = values.sum(axis=1, keepdims=True) - values
    return np.mean([np.corrcoef(x, y)[0, 1] for x, y in zip(values.T, rest.T, strict=True)])


def test_every_model_has_bounds_here():
    assert BOUNDS.keys() == MODELS.keys()


@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])
def test_truth_is_recovered(model_name, missing):
    responses, truth = simulate(model_name, 2000, 40, missing=missing, random_state=1)
    cal = calibrate(responses, truth.model)
    correlation, difficulty, ability = BOUNDS[model_name]
    looser = 1 + missing  # the fewer responses, the less is known
    assert cal.converged
    assert np.corrcoef(cal.items["difficulty"], truth.items["difficulty"])[0, 1] > correlation
    assert rmse(cal.items["difficulty"], truth.items["difficulty"]) < difficulty * looser
    assert rmse(cal.items["discrimination"], truth.items["discrimination"]) < 0.3 * looser
    assert rmse(cal.abilities()["ability"], truth.abilities["ability"]) < ability * looser


@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_errors_are_as_large_as_standard_errors_say(model):
    responses, truth = simulate(model, 2000, 60, random_state=9)
    cal = calibrate(responses, model)
    for name in ("discrimination", "difficulty"):
        z = (cal.items[name] - truth.items[name]) / cal.items[f"{name}_se"]
        assert 0.7 < np.sqrt(np.mean(z**2)) < 1.3
    scored = cal.abilities()
    z = (scored["ability"] - truth.abilities["ability"]) / scored["se"]
    assert 0.95 < np.sqrt(np.mean(z**2)) < 1.05


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])
@pytest.mark.parametrize("model", [name for name, m in MODELS.items() if m.kind != "binary"])
def test_errors_of_grades_and_scores_are_as_large_as_standard_errors_say(model, missing):
    """Over eight tables: the errors of one table's items go together."""
    items, abilities = [], []
    for seed in range(8):
        responses, truth = simulate(model, 400, 10, missing=missing, random_state=seed)
        cal = calibrate(responses, truth.model)
        names = list(cal.model.inputs)
        errors = cal.items[[f"{name}_se" for name in names]].to_numpy()
        items.append((cal.items[names] - truth.items[names]) / errors)
        scored = cal.abilities()
        abilities.append((scored["ability"] - truth.abilities["ability"]) / scored["se"])
    assert np.sqrt(np.mean(np.square(items), axis=(0, 1))) == pytest.approx(1, abs=0.3)
    assert np.sqrt(np.mean(np.square(abilities))) == pytest.approx(1, abs=0.1)


@pytest.mark.slow
def test_one_missing_cell_hardly_moves_a_complete_table(model_name):
    responses = simulate(model_name, 3000, 15, random_state=2).responses
    values = responses.values
    values[0, 0] = np.nan
    whole, holed = (calibrate(t, model_name) for t in (responses, table_of(model_name, values)))
    assert whole.responses.complete
    assert not holed.responses.complete
    np.testing.assert_allclose(
        holed.items[PARAMETERS[:2]], whole.items[PARAMETERS[:2]], rtol=0.01, atol=0.01
    )
    if whole.model.kind != "continuous":  # a density may be above one
        assert whole.log_likelihood < holed.log_likelihood < whole.log_likelihood + 5


def test_a_row_that_was_never_asked_changes_nothing(small):
    """The masked way through the engine gives what the way for complete tables gives."""
    empty = np.vstack([small.values, np.full(small.n_items, np.nan)])
    for model in ("1pl", "2pl", "3pl"):
        one = calibrate(small, model, tolerance=1e-10)
        other = calibrate(empty, model, tolerance=1e-10)
        np.testing.assert_allclose(other.coords, one.coords, rtol=1e-4, atol=1e-5)
        assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-8)


@pytest.mark.slow
def test_a_weight_of_two_is_the_row_given_twice(model_name, subtests):
    weights = np.where(np.arange(200) < 80, 2.0, 1.0)
    for n_items in [8, 30]:
        with subtests.test(n_items=n_items):
            values = simulate(model_name, 200, n_items, random_state=3).responses.values
            once, again = (
                table_of(model_name, rows) for rows in (values, np.vstack([values, values[:80]]))
            )
            weighted = calibrate(once, model_name, weights=weights, tolerance=1e-9)
            twice = calibrate(again, model_name, tolerance=1e-9)
            np.testing.assert_allclose(weighted.coords, twice.coords, rtol=1e-4, atol=1e-4)
            assert weighted.log_likelihood == pytest.approx(twice.log_likelihood, rel=1e-8)
            np.testing.assert_allclose(
                weighted.items["difficulty_se"], twice.items["difficulty_se"], rtol=1e-3
            )


def test_a_weight_of_zero_is_a_row_left_out(model_name):
    responses, truth = simulate(model_name, 300, 8, random_state=11)
    weights = np.where(np.arange(300) < 200, 1.0, 0.0)
    fitted = truth.model.fitted_to(responses.cells, responses.items)
    weighted = calibrate(responses, fitted, weights=weights, tolerance=1e-10)
    without = calibrate(responses.select(range(200)), fitted, tolerance=1e-10)
    np.testing.assert_allclose(weighted.coords, without.coords, rtol=1e-5, atol=1e-5)


def test_equal_rows_may_be_collapsed_or_not(monkeypatch, model_name):
    values = simulate(model_name, 500, 6, random_state=3).responses
    collapsed = calibrate(values, model_name, tolerance=1e-9)
    monkeypatch.setattr(encoding, "FEW_ITEMS", 0)
    each = calibrate(values, model_name, tolerance=1e-9)
    np.testing.assert_allclose(each.coords, collapsed.coords, rtol=1e-4, atol=1e-4)
    assert each.log_likelihood == pytest.approx(collapsed.log_likelihood, rel=1e-8)


@pytest.mark.parametrize("source", ["small", "gappy"])
@pytest.mark.parametrize("model", ["1pl", "2pl", "3pl"])
def test_the_order_of_respondents_and_items_does_not_matter(request, source, model):
    responses = request.getfixturevalue(source)
    random = np.random.default_rng(0)
    rows, columns = (
        random.permutation(responses.n_respondents),
        random.permutation(responses.n_items),
    )
    one = calibrate(responses, model, tolerance=1e-10)
    other = calibrate(responses.select(rows, columns), model, tolerance=1e-10)
    assert other.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-9)
    np.testing.assert_allclose(
        other.items.loc[one.items.index, PARAMETERS], one.items[PARAMETERS], rtol=1e-4, atol=1e-4
    )
    np.testing.assert_allclose(
        other.abilities().loc[list(responses.respondents), "ability"],
        one.abilities()["ability"],
        atol=1e-4,
    )


@pytest.mark.parametrize(
    ("model", "missing"),
    [
        ("1pl", 0.0), ("2pl", 0.0), ("2pl", 0.1), ("3pl", 0.0), ("4pl", 0.1), ("graded", 0.0),
        ("graded", 0.1), ("gpcm", 0.1), ("continuous", 0.0), ("continuous", 0.1), ("beta", 0.1),
    ],
)  # fmt: skip
def test_the_same_bytes_come_out_whatever_the_number_of_workers(model, missing):
    n_items = (
        120 if model != "beta" else 30
    )  # its terms cost a hundred times those of a logistic curve
    responses = simulate(model, 3000, n_items, missing=missing, random_state=1).responses
    one, two, three = (calibrate(responses, model, n_jobs=n, max_iterations=6) for n in (1, 2, 3))
    assert one.coords.tobytes() == two.coords.tobytes() == three.coords.tobytes()
    assert one.log_likelihood == two.log_likelihood == three.log_likelihood
    first, second = (cal.uncertainty.covariances for cal in (one, three))
    assert first.tobytes() == second.tobytes()


def test_the_same_call_gives_the_same_bytes(small):
    one, two = calibrate(small, "3pl"), calibrate(small, "3pl")
    assert one.coords.tobytes() == two.coords.tobytes()


def test_negative_discrimination_is_found_and_flagged(turned):
    straight = turned.copy()
    straight[:, 1::2] = 1 - straight[:, 1::2]
    expected = calibrate(straight, tolerance=1e-9)
    found = calibrate(turned, tolerance=1e-9)
    sign = np.where(np.arange(30) % 2, -1.0, 1.0)
    if found.items["discrimination"].iloc[0] < 0:  # with half turned, either half may lead
        sign = -sign
    np.testing.assert_allclose(
        found.items["discrimination"], sign * expected.items["discrimination"], atol=1e-3
    )
    assert found.log_likelihood == pytest.approx(expected.log_likelihood, rel=1e-9)
    negative = found.items["discrimination"] < 0
    assert (found.items["flag"] == np.where(negative, "negative discrimination", "")).all()
    assert any("15 items" in note and "negative discrimination" in note for note in found.notes)


def test_turning_one_item_turns_its_slope_and_nothing_else(subtests):
    for model in ["2pl", "3pl", "4pl"]:
        with subtests.test(model):
            values = simulate("2pl", 1500, 12, random_state=5).responses.values
            straight = calibrate(values, model, priors={"discrimination": None})
            # The first item does not decide the direction of the scale.
            values[:, 0] = 1 - values[:, 0]
            turned = calibrate(values, model, priors={"discrimination": None})
            assert (straight.items["discrimination"] > 0).all()
            assert turned.items["discrimination"].iloc[0] < 0
            assert (turned.items["discrimination"].iloc[1:] > 0).all()
            if model == "2pl":
                np.testing.assert_allclose(
                    turned.coords[0], -straight.coords[0], rtol=1e-3, atol=1e-3
                )
                np.testing.assert_allclose(
                    turned.coords[1:], straight.coords[1:], rtol=1e-3, atol=1e-3
                )


@pytest.mark.parametrize("model", ["graded", "gpcm", "continuous"])
def test_turning_items_of_grades_or_scores_turns_their_slopes_and_nothing_else(model):
    values = simulate(model, 1500, 12, random_state=5).responses.values
    straight = calibrate(values, model, priors=None, tolerance=1e-9)
    values[:, :3] = turn(values)[:, :3]
    turned = calibrate(values, model, priors=None, tolerance=1e-9)
    sign = np.where(np.arange(12) < 3, -1.0, 1.0)
    assert (straight.items["discrimination"] > 0).all()
    np.testing.assert_allclose(
        turned.items["discrimination"], sign * straight.items["discrimination"], rtol=1e-3
    )
    assert turned.log_likelihood == pytest.approx(straight.log_likelihood, rel=1e-8)
    assert [words == ("negative discrimination",) for words in turned.flags] == (sign < 0).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("model", [name for name in MODELS if name != "1pl"])
def test_negative_discriminations_are_recovered(model):
    """A fifth of the items; of grades, their difficulties are turned so that they descend."""
    truth = simulate(model, 10, 20, random_state=1).truth
    items = truth.items[list(truth.model.inputs)].copy()
    items.iloc[::5] *= -1
    for name in {"guessing", "slip"} & set(items):
        items[name] = items[name].abs()
    responses, truth = simulate(truth.model, 1500, items=items, missing=0.2, random_state=4)
    cal = calibrate(responses, truth.model)
    np.testing.assert_array_equal(cal.items["discrimination"] < 0, np.arange(20) % 5 == 0)
    assert np.corrcoef(cal.items["discrimination"], truth.items["discrimination"])[0, 1] > 0.9
    assert np.corrcoef(cal.abilities()["ability"], truth.abilities["ability"])[0, 1] > 0.75


@pytest.mark.slow
def test_the_scale_is_never_reflected(model_name, subtests):
    for seed in range(6):
        with subtests.test(seed=seed):
            values = simulate(model_name, 200, 9, random_state=seed).responses.values
            values[:, : seed % 4] = turn(values)[:, : seed % 4]
            worth = MODELS[model_name]().scored(values)
            assert item_rest(worth) > 0
            cal = calibrate(table_of(model_name, values), model_name)
            share = worth.mean(axis=1)
            assert np.corrcoef(cal.abilities()["ability"], share)[0, 1] > 0


def shown_to(values, ability, share):
    """Able respondents were asked fewer items: their share of gaps is `share`, others have none."""
    random = np.random.default_rng(0)
    gaps = random.random(values.shape) < share * (np.asarray(ability) > 0)[:, None]
    return np.where(gaps, np.nan, values)


def test_the_scale_is_not_reflected_where_the_able_were_asked_less(subtests):
    """They have fewer right responses, and a higher share of them."""
    for share, model in product([0.7, 0.8], ["1pl", "2pl", "3pl"]):
        with subtests.test(model, share=share):
            responses, truth = simulate(model, 800, 12, random_state=3)
            values = shown_to(responses.values, truth.abilities["ability"], share)
            assert np.corrcoef(np.nansum(values, axis=1), truth.abilities["ability"])[0, 1] < 0
            cal = calibrate(values, model)
            assert (cal.items["discrimination"] > 0).all()
            assert np.corrcoef(cal.abilities()["ability"], truth.abilities["ability"])[0, 1] > 0.5


def test_the_scale_is_not_reflected_by_a_strong_prior_on_intercepts(subtests):
    for model in ["1pl", "2pl", "3pl"]:
        with subtests.test(model):
            responses, truth = simulate(model, 800, 12, random_state=3)
            cal = calibrate(responses, model, priors={"intercept": Normal(1, 0.05)})
            assert (cal.items["discrimination"] > 0).all()
            assert np.corrcoef(cal.abilities()["ability"], truth.abilities["ability"])[0, 1] > 0.5


def test_a_rasch_model_is_a_1pl_in_another_unit(small):
    free, fixed = (
        calibrate(small, "1pl", priors=None),
        calibrate(small, OnePL(discrimination=1), priors=None),
    )
    slope = free.items["discrimination"].iloc[0]
    assert fixed.log_likelihood == pytest.approx(free.log_likelihood)
    assert (fixed.items["discrimination"] == 1).all()
    assert fixed.population.sd == pytest.approx(slope)
    np.testing.assert_allclose(fixed.items["difficulty"], slope * free.items["difficulty"])
    np.testing.assert_allclose(
        fixed.abilities()["ability"], slope * free.abilities()["ability"], atol=1e-6
    )
    assert (fixed.items["discrimination_se"] == 0).all()


def test_a_narrow_posterior_is_integrated_exactly(plain):
    responses = simulate("2pl", 50, 3000, random_state=3).responses
    cal = calibrate(responses)
    some = responses.select(range(10))  # brute force takes a fifth of a second each
    mean, sd, _ = plain.posterior(cal.coords, some.values, nodes=2001, reach=6)
    assert cal.abilities("eap", items_known=True)["se"].median() < 0.05
    scored = cal.abilities("eap", items_known=True).iloc[:10]
    np.testing.assert_allclose(scored["ability"], mean, atol=1e-4)
    np.testing.assert_allclose(scored["se"], sd, rtol=1e-3)


@pytest.fixture
def one_thread():
    """Torch on a single thread: tables this small only suffer from more."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_torch_on_the_cpu_agrees_with_numpy(one_thread, model_name, subtests):
    size = (400, 25) if MODELS[model_name].kind == "binary" else (150, 10)
    for missing in [0.0, 0.2]:
        with subtests.test(missing=missing):
            responses = simulate(model_name, *size, missing=missing, random_state=4).responses
            # Both to the end: the ways there differ.
            plain = calibrate(responses, model_name, tolerance=1e-12)
            torch = calibrate(responses, model_name, tolerance=1e-12, device="cpu")
            np.testing.assert_allclose(torch.coords, plain.coords, rtol=1e-6, atol=1e-6)
            assert torch.log_likelihood == pytest.approx(plain.log_likelihood, rel=1e-6)
            np.testing.assert_allclose(
                torch.items["difficulty_se"], plain.items["difficulty_se"], rtol=1e-6
            )


@pytest.mark.parametrize("items_on_host", [True, False])
def test_many_rows_on_a_device_are_fitted_and_scored_as_on_the_cpu(
    one_thread, items_on_host, monkeypatch, subtests
):
    # A device with room for two bytes a cell, on which 600 respondents are scored, too.
    monkeypatch.setattr(encoding, "free_bytes", lambda cells: 0 if hasattr(cells, "flags") else 1e9)
    monkeypatch.setattr(em, "MAX_ITEMS_ON_HOST", 4_000 if items_on_host else 0)
    for model, missing in (("2pl", 0.0), ("3pl", 0.2)):
        responses = simulate(model, 600, 25, missing=missing, random_state=5).responses
        plain = calibrate(responses, model, tolerance=1e-12)
        torch = calibrate(responses, model, tolerance=1e-12, device="cpu")
        assert torch.encoded is not None
        assert (torch.encoded.halves is None) == (missing > 0)
        for method in ("eap", "map", "ml", "wle"):
            with subtests.test(model=model, method=method):
                one, other = plain.abilities(method), torch.abilities(method)
                np.testing.assert_allclose(other["ability"], one["ability"], atol=1e-4)
                np.testing.assert_allclose(other["se"], one["se"], rtol=1e-4)


def test_progress_is_told_of_every_iteration(small):
    told = []
    cal = calibrate(small, progress=lambda *seen: told.append(seen))
    assert [number for number, _, _ in told] == list(range(1, cal.iterations + 1))
    assert {total for _, total, _ in told} == {None}
    value, change = re.search(r"log-likelihood (.*), change (.*)$", told[-1][2]).groups()
    assert float(value.replace(",", "")) == pytest.approx(cal.log_likelihood, abs=0.01)
    assert float(change) < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("model", ["3pl", "4pl"])
def test_progress_runs_on_through_both_stages_of_a_fit_without_priors(small, model):
    told = []
    cal = calibrate(small, model, priors=None, progress=lambda *seen: told.append(seen))
    assert [number for number, _, _ in told] == list(range(1, len(told) + 1))
    assert len(told) == cal.iterations


def test_both_stages_of_a_fit_without_priors_share_the_iterations(small, subtests):
    for most, model in product([1, 3, 8], ["3pl", "4pl"]):
        with subtests.test(model, most=most):
            told = Told()
            cal = calibrate(small, model, priors=None, max_iterations=most, progress=told)
            assert cal.iterations <= most
            assert len(told) <= most


def test_too_few_iterations_are_said(small):
    cal = calibrate(small, "2pl", max_iterations=2)
    assert not cal.converged
    assert cal.notes[0].startswith("Not converged after 2 iterations: about ")
    assert "max_iterations" in cal.notes[0]
    assert "only more respondents or a model" in cal.notes[0]
    assert "NOT converged" in repr(cal)
    without = calibrate(small, "2pl", priors=None, max_iterations=2)
    assert "only priors or a model" in without.notes[0]


@pytest.mark.parametrize("model", ["2pl", "3pl"])
def test_the_log_likelihood_is_that_of_the_items_even_where_iterations_ran_out(plain, small, model):
    cal = calibrate(small, model, max_iterations=2)
    value, _ = plain.marginal(cal.coords, small.values)
    assert cal.log_likelihood == pytest.approx(value, rel=1e-6)


def test_frames_and_arrays_are_taken_as_they_are(small):
    frame, array = small.to_frame(), small.values
    expected = calibrate(small).items
    assert calibrate(frame).items.equals(expected)
    np.testing.assert_array_equal(calibrate(array).items[PARAMETERS], expected[PARAMETERS])
    assert calibrate(Responses(array)).log_likelihood == calibrate(small).log_likelihood
