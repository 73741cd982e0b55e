"""All diagnoses together: which are left out, and why."""

import numpy as np

import ogive as og


def test_without_an_ability_nothing_is_said_of_how_well_it_is_measured():
    scores = np.random.default_rng(0).uniform(size=(40, 6))
    cal = og.calibrate(scores)
    assert any("Ability is not identified" in note for note in cal.notes)
    checks = og.diagnose(cal)
    found, missing = checks.found, checks.missing
    names = {"dimensionality", "reliability", "item_fit", "respondent_fit", "local_dependence"}
    assert not names & found.keys()
    for name in names:
        assert missing[name].startswith("Ability is not identified")


def test_parts_that_no_item_links_have_no_ability_in_common():
    values = np.full((60, 20), np.nan)
    values[:30, :10] = og.simulate("1pl", 30, 10, random_state=0).responses.values
    values[30:, 10:] = og.simulate("1pl", 30, 10, random_state=1).responses.values
    checks = og.diagnose(og.calibrate(values))
    found, missing = checks.found, checks.missing
    assert not {"dimensionality", "reliability"} & found.keys()
    assert "No item links 2 parts of this table" in missing["reliability"]
    assert {"item_fit", "respondent_fit"} <= found.keys()
