"""A calibration says of itself where items depend on each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ogive as og
from ogive.irt import local_dependence as dependent_items


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
