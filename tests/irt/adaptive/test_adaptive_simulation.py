import numpy as np
import pandas as pd
import pytest

from ogive import simulate
from ogive.errors import InputError
from ogive.irt.adaptive import simulation as adaptive_simulation
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import AnyOf, Budget, StandardError
from ogive.irt.adaptive.selectors import ContentBalance, Randomesque
from ogive.irt.adaptive.simulation import _figures, _said, simulate_adaptive
from ogive.irt.banks import known_items
from ogive.irt.models import MODELS


@pytest.fixture(scope="module")
def abilities():
    return np.random.default_rng(2).normal(size=400)


@pytest.fixture(scope="module")
def found(large, abilities):
    return simulate_adaptive(large, abilities, stopper=StandardError(0.35))


PARTS = {
    "information": {},
    "randomesque": {"selector": Randomesque(6), "estimator": "map"},
    "random": {"selector": "random"},
    "steps": {"initializer": "percentile", "selector": "nearest", "estimator": "steps"},
}


def test_a_session_and_a_simulation_agree_to_the_last_bit(subtests, large, take):
    for name in PARTS:
        with subtests.test(name=name):
            table = simulate("3pl", 40, items=large.items, random_state=8).responses
            parts = {
                "stopper": AnyOf((StandardError(0.45), Budget(15))),
                **PARTS[name],
                "random_state": 5,
            }
            found = simulate_adaptive(large, responses=table, **parts)
            test = AdaptiveTest(large, **parts)
            for k in (0, 17, 39):
                session = take(test.start(k), table.to_frame().iloc[k].get)
                row = found.respondents.iloc[k]
                assert (session.ability, session.se, len(session.trace), session.reason) == (
                    row["ability"], row["se"], row["items_used"], row["reason"],
                )  # fmt: skip


def test_every_model_can_be_simulated(subtests):
    for model in MODELS:
        with subtests.test(model=model):
            responses, truth = simulate(model, 30, 12, random_state=1)
            bank = known_items(
                truth.model, truth.model.from_parameters(truth.items), responses.items
            )
            found = simulate_adaptive(bank, truth.abilities, stopper=Budget(8))
            assert (found.respondents["items_used"] == 8).all()
            assert np.isfinite(found.respondents[["ability", "se"]]).all(axis=None)
            assert found.correlation > 0.4
            assert found.respondents.index.tolist() == list(responses.respondents)


@pytest.mark.parametrize("selector", ["information", "randomesque"])
def test_results_do_not_depend_on_blocks_or_on_other_respondents(
    large, abilities, selector, monkeypatch
):
    settings = {"selector": selector, "stopper": StandardError(0.5), "random_state": 9}
    whole = simulate_adaptive(large, abilities[:60], **settings)
    part = simulate_adaptive(large, abilities[:7], **settings)
    monkeypatch.setattr(adaptive_simulation, "CELLS_AT_A_TIME", 1)
    single = simulate_adaptive(large, abilities[:60], **settings)
    assert single.respondents.equals(whole.respondents)
    assert single.items.equals(whole.items)
    assert part.respondents.equals(whole.respondents.iloc[:7])
    other = simulate_adaptive(large, abilities[:60], **{**settings, "random_state": 10})
    assert not other.respondents.equals(whole.respondents)


def test_errors_are_those_that_the_standard_error_promises(found):
    rows = found.respondents
    reached = rows["reason"] == "standard error reached"
    assert reached.mean() > 0.98
    assert (rows["se"][reached] <= 0.35).all()
    assert (rows["se"][~reached] > 0.35).all()
    assert (rows["items_used"][~reached] == 200).all()
    assert abs(found.bias) < 3 * found.bias_se
    assert found.rmse == pytest.approx(np.sqrt((rows["se"] ** 2).mean()), abs=3 * found.rmse_se)
    assert found.coverage == pytest.approx(0.95, abs=3 * np.sqrt(0.95 * 0.05 / 400))


def test_figures_follow_from_the_frames(found):
    error = found.respondents["ability"] - found.respondents["truth"]
    assert found.bias == pytest.approx(error.mean())
    assert found.rmse == pytest.approx(np.sqrt((error**2).mean()))
    assert found.mean_items == pytest.approx(found.respondents["items_used"].mean())
    assert found.items["exposure"].sum() == pytest.approx(found.mean_items)
    assert f"{found.mean_items:.1f} of 200 items" in found.meaning


def test_exposure_control_lowers_the_highest_exposure_and_lengthens_tests(large, abilities, found):
    spread = simulate_adaptive(
        large, abilities, selector=Randomesque(10), stopper=StandardError(0.35)
    )
    assert found.items["exposure"].max() == 1.0
    assert spread.items["exposure"].max() < 0.7
    assert found.mean_items < spread.mean_items < 2 * found.mean_items


def test_maximum_information_needs_fewer_items_than_lots(large, abilities, found):
    lots = simulate_adaptive(large, abilities[:100], selector="random", stopper=StandardError(0.35))
    assert lots.mean_items > 1.5 * found.mean_items


def test_shares_are_kept_for_everybody(large, abilities):
    groups = {name: "ab"[k % 2] for k, name in enumerate(large.item_names)}
    selector = ContentBalance(groups, {"a": 3, "b": 1})
    found = simulate_adaptive(large, abilities[:50], selector=selector, stopper=Budget(12))
    asked = found.items["exposure"].groupby(found.items.index.map(groups)).sum()
    assert asked.to_dict() == pytest.approx({"a": 9.0, "b": 3.0})


def test_what_was_never_asked_is_not_chosen(large):
    table = simulate("3pl", 25, items=large.items, missing=0.9, random_state=3).responses
    found = simulate_adaptive(large, responses=table, stopper=StandardError(0.05))
    np.testing.assert_array_equal(found.respondents["items_used"], table.observed.sum(axis=1))
    assert set(found.respondents["reason"]) == {"bank exhausted"}
    np.testing.assert_allclose(found.respondents["ability"], found.respondents["truth"], atol=1e-6)
    assert found.notes


def test_one_respondent_has_no_standard_error_of_the_bias(large):
    found = simulate_adaptive(large, [0.5])
    assert np.isnan([found.bias_se, found.rmse_se, found.correlation]).all()
    assert "nan" not in found.meaning


def test_input_that_cannot_be_used_is_refused(large):
    for settings in ({}, {"abilities": [0.0], "responses": [[1] * 200]}):
        with pytest.raises(InputError, match="either abilities"):
            simulate_adaptive(large, **settings)
    with pytest.raises(InputError, match="empty"):
        simulate_adaptive(large, [])
    with pytest.raises(InputError, match="error, exposure"):
        simulate_adaptive(large, [0.0, 1.0]).plot("length")


@pytest.mark.parametrize("what", ["error", "exposure"])
def test_figures_can_be_drawn_and_saved(found, what, tmp_path):
    drawn = found.plot(what)
    assert drawn.ax_.get_xlabel() == what
    assert found.save(tmp_path / "found.html").stat().st_size > 1000


def test_figures_by_hand():
    frame = pd.DataFrame(
        {"truth": [0.0, 1.0, -1.0, 2.0], "ability": [0.3, 0.8, -1.0, 1.0]},
    ).assign(se=[0.3, 0.1, 0.2, 0.51], items_used=[2, 4, 4, 6])
    error = np.array([0.3, -0.2, 0.0, -1.0])
    found = _figures(frame)
    assert found["bias"] == pytest.approx(-0.225)
    assert found["bias_se"] == pytest.approx(error.std(ddof=1) / 2)
    assert found["rmse"] == pytest.approx(np.sqrt(1.13 / 4))
    # The deviation of a root is that of what is under it over twice the root.
    square = error**2
    assert found["rmse_se"] == pytest.approx(square.std(ddof=1) / 2 / (2 * found["rmse"]))
    assert found["mean_items"] == 4.0
    assert found["coverage"] == 0.5  # 0.2 is beyond 0.196, and 1 beyond 0.9996
    assert found["correlation"] == pytest.approx(
        np.corrcoef(frame["ability"], frame["truth"])[0, 1]
    )
    same = _figures(frame.assign(ability=0.5))
    assert np.isnan(same["correlation"])
    assert np.isnan(_figures(frame.assign(truth=0.5))["correlation"])
    exact = _figures(frame.assign(ability=frame["truth"]))
    assert (exact["rmse"], exact["rmse_se"]) == (0.0, 0.0)
    two = _figures(frame.iloc[:2])
    assert two["bias_se"] == pytest.approx(0.25)
    assert two["correlation"] == pytest.approx(1.0)


def test_a_figure_is_said_with_its_interval_and_its_sign():
    assert _said(0.25, 0.1) == "0.250 (0.054 to 0.446)"
    assert _said(0.25, 0.1, "+") == "+0.250 (+0.054 to +0.446)"
    assert _said(0.1, 0.1) == "0.100 (0.000 to 0.296)"
    assert _said(-0.25, np.nan, "+") == "-0.250"


def test_errors_are_grouped_by_a_deviation_around_the_mean(large):
    found = simulate_adaptive(large, [-2.0, 0.1, 0.2, 2.0], stopper=Budget(2))
    errors = found._errors()
    # The mean is 0.075, the deviation of the population 1.
    assert errors["group"].tolist() == [
        "ability below -0.93", "ability -0.93 to 1.1", "ability -0.93 to 1.1", "ability above 1.1",
    ]  # fmt: skip
    np.testing.assert_allclose(errors["error"], errors["ability"] - [-2.0, 0.1, 0.2, 2.0])


def test_respondents_without_a_name_are_numbered_from_one(large):
    found = simulate_adaptive(large, [0.0, 1.0], stopper=Budget(1))
    assert found.respondents.index.tolist() == ["respondent_1", "respondent_2"]


def test_items_nobody_was_asked_are_not_drawn(large):
    found = simulate_adaptive(large, [0.0, 0.1], stopper=Budget(2))
    drawn = found.plot("exposure")
    counts, *_ = drawn.ax_.patches[0].get_data()
    assert counts.sum() == (found.items["exposure"] > 0).sum()
