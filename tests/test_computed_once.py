"""What follows from a calibration and its own table is computed once, however many ask for it."""

from collections import Counter

import numpy as np
import pytest

import ogive as og
from ogive.irt import scored_respondents as reading
from ogive.irt import scored_respondents as room
from ogive.irt.estimation.em_engine import EM
from ogive.reporting.sources import analysed


@pytest.fixture
def calls(monkeypatch):
    """How often tables were encoded and scored by calibrations, and how many EM fits there were."""
    found = Counter()

    def counted(owner, name, label):
        work = getattr(owner, name)

        def counting(*arguments, **options):
            found[label] += 1
            return work(*arguments, **options)

        monkeypatch.setattr(owner, name, counting)

    counted(reading, "encode", "encoded")
    counted(room, "score_abilities", "scored")
    counted(EM, "fit", "fits")
    return found


@pytest.fixture(scope="module")
def table():
    return og.simulate("2pl", 120, 16, missing=0.1, random_state=0).responses


ONCE = {"encoded": 1, "scored": 1}


def test_a_report_scores_and_encodes_its_table_once(calls, tmp_path):
    # Without gaps: where there are some, the leaderboard tries them on respondents without.
    complete = og.simulate("2pl", 120, 16, random_state=0).responses
    og.write_report(tmp_path / "report.html", analysed(complete, "2pl"))
    assert calls == {**ONCE, "fits": 2}  # the second is the 1PL of `label_trouble`


@pytest.mark.parametrize(("model", "fits"), [("2pl", 2), ("1pl", 1)])
def test_diagnose_scores_and_encodes_its_table_once(table, calls, model, fits):
    found = og.calibrate(table, model)
    og.diagnose(found)
    og.diagnose(found, table)
    assert calls == {**ONCE, "fits": fits}


@pytest.mark.parametrize("loaded", [False, True])
def test_item_health_scores_and_encodes_its_table_once(calls, tmp_path, loaded):
    # Without gaps, as above: the best are those of the leaderboard.
    table = og.simulate("2pl", 120, 16, random_state=0).responses
    found = og.calibrate(table, "2pl")
    if loaded:
        assert found.notes == ()  # which look at the table once, and are written with the bank
        calls.update(encoded=-1, scored=-1)
        found = og.load(found.save(tmp_path / "bank.json"))
    og.item_health(table, found)
    assert calls == {**ONCE, "fits": 2}


def test_a_1pl_is_its_own_scale_for_labels(table):
    found = og.calibrate(table, "1pl")
    own = og.label_trouble(found).to_frame()
    fitted = og.label_trouble(found, table.select(items=list(table.items))).to_frame()
    np.testing.assert_array_equal(own.index, fitted.index)
    np.testing.assert_array_equal(own.to_numpy(float), fitted.to_numpy(float))


def test_frames_that_are_handed_out_are_copies(table):
    found = og.calibrate(table, "2pl")
    before = found.abilities()
    before.loc[:, "ability"] = 99.0
    assert found.abilities()["ability"].max() < 10
    with pytest.raises(ValueError, match="read-only"):
        found.cells()[0, 0] = 1


def test_another_table_is_scored_anew(table, calls):
    found = og.calibrate(table, "2pl")
    other = table.select(respondents=list(table.respondents[:20]))
    found.abilities(items_known=True)
    for _ in range(2):
        assert len(found.score(other, items_known=True)) == 20
    assert (calls["encoded"], calls["scored"]) == (3, 3)


def test_the_encoding_of_a_huge_table_is_not_kept(table, calls, monkeypatch):
    monkeypatch.setattr(reading, "MOST_KEPT", table.cells.nbytes - 1)
    found = og.calibrate(table, "2pl")
    for method in ("eap", "map", "eap"):
        found.abilities(method, items_known=True)
    assert (calls["encoded"], calls["scored"]) == (2, 2)
