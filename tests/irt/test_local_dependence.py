"""Items that depend on each other, and repeated answers that do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

import ogive as og
from ogive.irt import local_dependence as dependent_items
from ogive.irt.encoded_responses import effective_tries
from ogive.irt.simulation import simulate_again


def answers(n: int, n_items: int, *, repeated: bool, seed: int = 0) -> np.ndarray:
    """2PL responses; every fifth item may repeat the response to the one before it, often."""
    random = np.random.default_rng(seed)
    drawn = og.simulate("2pl", n, n_items, random_state=seed).responses.values.copy()
    if repeated:
        again = np.arange(1, n_items, 5)
        same = random.random((n, again.size)) < 0.5
        drawn[:, again] = np.where(same, drawn[:, again - 1], drawn[:, again])
    return drawn


def q3_notes(cal: og.Calibration) -> list[str]:
    return [note for note in cal.notes if "Q3" in note]


@pytest.fixture(scope="module")
def dependent() -> og.Calibration:
    return og.calibrate(answers(400, 20, repeated=True), "2pl", progress=False)


def test_notes_count_the_pairs_that_local_dependence_finds(dependent):
    pairs = og.local_dependence(dependent)
    (note,) = q3_notes(dependent)
    assert pairs.n_dependent > 0
    assert note.startswith(f"In {pairs.n_dependent} of {pairs.n_pairs} pairs of items")
    strongest = pairs.to_frame().query("dependent").iloc[0]
    assert f"{strongest['item']} with {strongest['other']}" in note
    assert 'se="robust"' in note


def test_robust_errors_are_not_recommended_to_those_who_have_them():
    found = og.calibrate(answers(400, 20, repeated=True), "2pl", se="robust", progress=False)
    (note,) = q3_notes(found)
    assert "Robust standard errors allow for it" in note
    assert 'se="robust"' not in note


def test_nothing_is_said_where_responses_are_as_modelled(subtests):
    shapes = [("1pl", 20, 60, 0.0), ("2pl", 300, 20, 0.3), ("graded", 60, 12, 0.0)]
    shapes += [("continuous", 40, 20, 0.0), ("3pl", 200, 20, 0.0)]
    for model, n, n_items, missing in shapes:
        with subtests.test(model=model):
            drawn = og.simulate(model, n, n_items, missing=missing, random_state=3).responses
            assert q3_notes(og.calibrate(drawn, model, progress=False)) == []


def test_it_is_looked_for_only_when_notes_are_read(monkeypatch):
    def asked(_):
        raise AssertionError("looked for dependent items")

    monkeypatch.setattr("ogive.irt.calibration.dependence_note", asked)
    found = og.calibrate(answers(100, 10, repeated=True), "2pl", progress=False)
    found.abilities()
    assert len(found.items) == 10
    with pytest.raises(AssertionError, match="looked for"):
        _ = found.notes


def test_some_of_many_respondents_show_it_as_well(dependent, monkeypatch):
    monkeypatch.setattr(dependent_items, "MOST_WORK", 200 * 20**2)
    (note,) = q3_notes(replace(dependent))
    assert "pairs of items" in note


def test_too_many_items_are_not_looked_at(dependent, monkeypatch):
    monkeypatch.setattr(dependent_items, "MOST_WORK", 50 * 20**2)
    assert q3_notes(replace(dependent)) == []


def test_a_bank_keeps_the_note_once(dependent, tmp_path):
    bank = og.load(dependent.save(tmp_path / "bank.json"))
    assert bank.notes == dependent.notes
    with_responses = replace(bank, responses=dependent.responses)
    assert len(q3_notes(with_responses)) == 1


def drawn(n, m, tries, alike, random_state):
    """Right answers whose chances differ from cell to cell; `alike` is their correlation."""
    random = np.random.default_rng(random_state)
    ability, place = random.standard_normal(n), random.standard_normal(m)
    chance = expit(1.2 * (ability[:, None] - place))
    if alike:
        worth = (1 - alike) / alike
        chance = random.beta(worth * chance, worth * (1 - chance))
    right = random.binomial(tries, chance)
    return og.Responses(right / tries, tries=tries), ability


def test_the_correlation_is_recovered():
    for alike in (0.0, 0.2, 0.5):
        found = [
            og.calibrate(drawn(80, 30, 6, alike, seed)[0], "1pl").dependence for seed in range(3)
        ]
        assert np.mean(found) == pytest.approx(alike, abs=0.03)


def test_intervals_of_abilities_hold_though_answers_are_alike():
    inside = []
    for seed in range(4):
        table, ability = drawn(200, 25, 8, 0.4, seed)
        scored = og.calibrate(table, "1pl").abilities()
        inside.append(np.abs(scored["ability"] - ability) < 1.96 * scored["se"])
    assert 0.92 < np.mean(inside) < 0.985


def test_a_note_says_what_tries_are_worth():
    found = og.calibrate(drawn(60, 20, 5, 0.5, 0)[0], "1pl")
    (note,) = [note for note in found.notes if "more alike" in note]
    assert "5 tries count as 1." in note
    plain = og.calibrate(drawn(60, 20, 5, 0.0, 0)[0], "1pl")
    assert not [note for note in plain.notes if "more alike" in note]


def test_answers_that_always_agree_count_as_one():
    once, _ = drawn(60, 20, 1, 0.0, 1)
    often = og.Responses(once.to_frame().to_numpy(), tries=9)
    single, repeated = (og.calibrate(table, "1pl") for table in (once, often))
    assert repeated.dependence > 0.9
    for items_known in (True, False):
        one, other = (
            each.abilities(items_known=items_known)["se"].mean() for each in (single, repeated)
        )
        assert other == pytest.approx(one, rel=0.1)


def test_tries_are_worth_at_most_their_number():
    tries = np.array([0, 1, 4, 100])
    assert effective_tries(tries, 0.0) is tries
    assert effective_tries(tries, 0.5).tolist() == pytest.approx([0, 1, 1.6, 100 / 50.5])
    assert effective_tries(tries, 1.0).tolist() == [0, 1, 1, 1]


def test_a_bank_remembers_it(tmp_path):
    table, _ = drawn(60, 12, 5, 0.4, 2)
    bank = og.calibrate(table, "1pl")
    for ending in ("json", "parquet"):
        loaded = og.load(bank.save(tmp_path / f"bank.{ending}"))
        assert loaded.dependence == bank.dependence
        scored = loaded.score(table)["ability"].to_numpy()
        assert scored == pytest.approx(bank.abilities()["ability"].to_numpy())
    assert bank.of_items(list(bank.item_names[:4])).dependence == bank.dependence


def test_simulated_tables_are_as_alike_as_the_first():
    table, _ = drawn(200, 25, 5, 0.4, 3)
    nan = np.where(np.arange(25) < 3, np.nan, 1.0)
    cells = table.to_frame().to_numpy().copy()
    cells[0] *= nan
    table = og.Responses(cells, tries=np.where(np.isnan(cells), 0, 5))
    bank = og.calibrate(table, "1pl")
    again, _ = simulate_again(bank, np.random.default_rng(4))
    assert np.array_equal(again.tries, table.tries)
    assert og.calibrate(again, "1pl").dependence == pytest.approx(bank.dependence, abs=0.05)


def test_models_of_scores_say_that_they_take_means():
    table, _ = drawn(12, 5, 4, 0.0, 5)
    found = og.calibrate(table.of_kind("continuous"), "continuous")
    assert "The continuous model takes the mean of repeated answers as one response." in found.notes
