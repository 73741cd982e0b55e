"""Several dimensions behind one table."""

from dataclasses import replace

import numpy as np
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt.dimensions import dimension_scale
from ogive.irt.dimensions import marginal_newton as dimension_climb


def drawn(n_respondents=300, each=8, correlation=0.4, n_dimensions=2, seed=0):
    """Answers, abilities and loadings of items that load on one dimension each."""
    random = np.random.default_rng(seed)
    spread = np.full((n_dimensions, n_dimensions), correlation)
    np.fill_diagonal(spread, 1.0)
    abilities = random.multivariate_normal(np.zeros(n_dimensions), spread, n_respondents)
    loadings = random.uniform(0.8, 1.8, each * n_dimensions)
    logits = loadings * np.repeat(abilities, each, axis=1) + random.normal(0, 0.8, loadings.size)
    answers = (random.random(logits.shape) < 1 / (1 + np.exp(-logits))) * 1.0
    return answers, abilities, loadings


NAMES = ["math"] * 8 + ["code"] * 8


@pytest.fixture(scope="module")
def found():
    return og.dimension_scale(drawn()[0], NAMES, progress=False)


def test_loadings_correlations_and_abilities_are_found(found):
    _, abilities, loadings = drawn()
    away = (found.loadings["loading"] - loadings) / found.loadings["se"]
    assert (away.abs() < 3.5).all()
    row = found.correlations.iloc[0]
    assert (row["dimension"], row["other"]) == ("math", "code")
    assert row["low"] < 0.4 < row["high"]
    frame = found.abilities
    inside = (frame["low"] < abilities.ravel()) & (abilities.ravel() < frame["high"])
    assert 0.9 < inside.mean() < 0.99


def test_the_sentence_says_by_how_much_several_predict_better(found):
    assert found.pays
    assert found.converged
    assert found.meaning.startswith("2 dimensions predict held-out answers better than one: by ")
    assert "asks for the dimensions that were given" in found.meaning
    assert found.comparison.loc["difference", "low"] > 0


def test_a_fit_that_did_not_converge_claims_nothing(monkeypatch):
    """It said that several dimensions predict better, in numbers, beside a note that it had not."""
    monkeypatch.setattr(dimension_climb, "MAX_ITER", 1)
    monkeypatch.setattr(dimension_climb._Newton.maximize, "__defaults__", (1,))
    found = og.dimension_scale(drawn()[0], NAMES, cv=2, progress=False)
    assert not found.converged
    assert not found.pays
    assert found.comparison.loc["difference", "low"] > 0
    assert found.meaning.startswith("The fit of 2 dimensions did not converge")
    assert "nothing can be said" in found.meaning
    assert "nats" not in found.meaning


def test_one_dimension_is_told_where_there_is_one():
    answers = og.simulate("2pl", 300, 16, random_state=1).responses
    found = og.dimension_scale(answers, NAMES, progress=False)
    assert not found.pays
    assert "one scale does" in found.meaning or "use one scale" in found.meaning
    assert found.correlations["correlation"].iloc[0] > 0.85


def test_a_fact_of_the_items_names_dimensions():
    answers = drawn(60)[0]
    table = og.Responses(answers).described(items={"task": [*NAMES[:-2], "a/b: ☃", "a/b: ☃"]})
    found = og.dimension_scale(table, "task", cv=None, progress=False)
    assert found.dimensions == ("math", "code")
    assert any("a/b: ☃ has 2 items" in note for note in found.notes)
    assert found.meaning.endswith("was not asked (cv=None).")


@pytest.mark.parametrize(
    ("dimensions", "settings", "told"),
    [
        ({"a": ["item_1", "item_2"], "b": ["item_3", "item_4", "item_5"]}, {}, "a has 2 items"),
        ({"a": ["item_1", "item_2", "nobody"], "b": ["item_3"]}, {}, "nobody"),
        ({"a": ["item_1", "item_2", "item_3"]}, {}, "1 usable dimension"),
        (NAMES, {"structure": "oblique"}, "structure"),
        (NAMES, {"model": "3pl"}, "several dimensions use '2pl'"),
        (NAMES, {"priors": "strong"}, "priors"),
        (NAMES, {"cv": 1}, "cv"),
        ("task", {}, "There is no fact 'task'"),
        ([f"d{k}" for k in range(16)], {}, "0 usable dimensions"),
        ({k: [f"item_{i}" for i in (1, 2, 3)] for k in "ab"}, {}, "same items"),
    ],
)
def test_bad_input_is_one_clear_sentence(dimensions, settings, told):
    with pytest.raises(InputError, match=told):
        og.dimension_scale(drawn(30)[0], dimensions, progress=False, **settings)


def test_only_loadings_significantly_below_zero_are_called_backward():
    """4 items were, though every interval of theirs included 0."""
    answers = drawn()[0]
    answers[:, 3] = 1 - answers[:, 3]
    reversed_ = og.dimension_scale(answers, NAMES, cv=None, progress=False)
    assert "Better respondents answer worse: 1 item (item_4)." in reversed_.notes
    few, random = drawn(40)[0], np.random.default_rng(0)
    few[:, [2, 9]] = random.random((40, 2)) < 0.5
    found = og.dimension_scale(few, NAMES, cv=None, progress=False)
    assert found.converged
    below = found.loadings.query("loading < 0")
    assert below["item"].tolist() == ["item_3"]
    assert below["high"].iloc[0] > 0
    told = "Loadings estimated below zero, none significantly: 1 item (item_3)."
    assert found.notes[-1] == told


def go_astray(monkeypatch):
    """Every fit ends where it would, but is said not to have converged."""
    fit = dimension_scale.fit_dimensions

    def astray(*given):
        found = fit(*given)
        return replace(found, fit=replace(found.fit, converged=False))

    monkeypatch.setattr(dimension_scale, "fit_dimensions", astray)


def test_a_fit_that_did_not_converge_calls_no_item_backward(monkeypatch):
    go_astray(monkeypatch)
    answers = drawn()[0]
    answers[:, 3] = 1 - answers[:, 3]
    found = og.dimension_scale(answers, NAMES, cv=None, progress=False)
    told = "Loadings estimated below zero, but the fit did not converge: 1 item (item_4)."
    assert found.notes[-1] == told


def test_dimensions_are_called_one_only_where_the_interval_and_the_fit_say_so(monkeypatch):
    """0.98 (0.77 to 1.00) was "these responses show one dimension there, not two"."""
    names = ["math"] * 15 + ["code"] * 15
    many = drawn(1500, 15, correlation=0.995)[0]
    sure = og.dimension_scale(many, names, cv=None, progress=False)
    assert sure.correlations["low"].iloc[0] >= 0.9
    assert "math and code correlate 0.99 (0.96 to 1.00), so one dimension would do for both." in (
        sure.notes
    )
    few = og.dimension_scale(drawn(25, 15, correlation=1.0)[0], names, cv=None, progress=False)
    assert few.correlations["low"].iloc[0] < 0.9
    assert not any("would do for both" in note for note in few.notes)
    narrow = og.dimension_scale(many, names, cv=None, confidence=0.5, progress=False)
    assert sure.notes == narrow.notes
    go_astray(monkeypatch)
    astray = og.dimension_scale(many, names, cv=None, progress=False)
    told = (
        "math and code correlate 0.99 (0.96 to 1.00), but that these are one dimension is not shown"
    )
    assert f"By the estimate, {told}: not all fits converged." in astray.notes
