"""A calibration of responses in files is that of the same responses in memory."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt.models import MODELS

SETTINGS = {
    "missing": {"missing": 0.15},
    "few items": {"n_items": 8},
    "few respondents": {"n_respondents": 40},
}


def scanned(table, folder):
    frame = table.to_frame()
    frame.index.name = "respondent"
    frame.iloc[:50].to_parquet(folder / "a.parquet")
    frame.iloc[50:].to_parquet(folder / "b.parquet")
    return og.scan_responses(folder, kind=table.kind)


def assert_same(one, other, tolerance=1e-8):
    np.testing.assert_allclose(one.coords, other.coords, atol=tolerance)
    assert one.flags == other.flags
    assert (one.iterations, one.converged) == (other.iterations, other.converged)
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-6)
    errors = [bank.items.filter(like="_se").to_numpy() for bank in (one, other)]
    np.testing.assert_allclose(*errors, rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_finds_the_same_items(model, tmp_path):
    table = og.simulate(model, 120, 22, random_state=1).responses
    here = og.calibrate(table, model, progress=False)
    there = og.calibrate(scanned(table, tmp_path), model, progress=False)
    assert_same(here, there)
    assert set(there.notes) <= set(here.notes)
    pd.testing.assert_frame_equal(here.abilities(), there.abilities(), atol=1e-6)


@pytest.mark.parametrize("case", SETTINGS)
def test_other_shapes_find_the_same_items(case, tmp_path):
    size = {"n_respondents": 150, "n_items": 24} | SETTINGS[case]
    table = og.simulate("2pl", **size, random_state=2).responses
    here = og.calibrate(table, "2pl", progress=False)
    assert_same(here, og.calibrate(scanned(table, tmp_path), "2pl", progress=False))


def test_settings_of_the_engine_mean_the_same(tmp_path, subtests):
    table = og.simulate("2pl", 200, 22, random_state=3).responses
    rows = scanned(table, tmp_path)
    weights = np.arange(200) % 3 + 1.0
    for name, settings in {
        "robust": {"se": "robust"},
        "histogram": {"population": "histogram"},
        "weights": {"weights": weights},
        "no priors": {"priors": None},
        "held": {"fixed": og.calibrate(table, "2pl", progress=False).of_items(table.items[:5])},
    }.items():
        with subtests.test(name):
            model = "auto" if name == "held" else "2pl"
            here = og.calibrate(table, model, progress=False, **settings)
            assert_same(here, og.calibrate(rows, model, progress=False, **settings), 1e-6)


def test_constant_items_and_empty_respondents_are_noted(tmp_path):
    values = og.simulate("2pl", 80, 6, random_state=4).responses.to_frame()
    values["item_1"], values["item_2"] = 1.0, np.nan
    values.iloc[3] = np.nan
    values.to_parquet(tmp_path / "x.parquet")
    rows = og.scan_responses(tmp_path)
    found = og.calibrate(rows, "2pl", progress=False)
    here = og.calibrate(og.Responses.from_frame(values), "2pl", progress=False)
    assert found.flags == here.flags
    assert "1 respondent without any response: placed at the mean." in found.notes
    assert found.scanned is rows


def test_abilities_are_written_as_they_come(tmp_path, monkeypatch):
    table = og.simulate("2pl", 100, 22, random_state=5).responses
    monkeypatch.setattr("ogive.data.ability_files.CELLS_AT_A_TIME", 22 * 30)
    rows = scanned(table, tmp_path)
    found = og.calibrate(rows, "2pl", progress=False)
    path = found.write_abilities(tmp_path / "abilities.parquet", items_known=True)
    written = pd.read_parquet(path).set_index("respondent")
    expected = og.calibrate(table, "2pl", progress=False).abilities(items_known=True)
    pd.testing.assert_frame_equal(written, expected, atol=1e-7)
    in_memory = found.write_abilities(tmp_path / "same.parquet", table)
    assert list(pd.read_parquet(in_memory)["respondent"]) == list(table.respondents)


def test_nothing_half_written_stays(tmp_path):
    table = og.simulate("2pl", 100, 22, random_state=5).responses
    rows = scanned(table, tmp_path)
    found = og.calibrate(rows, "2pl", progress=False)
    (tmp_path / "b.parquet").unlink()
    out = tmp_path / "out"
    out.mkdir()
    with pytest.raises(OSError, match="no longer there"):
        found.write_abilities(out / "abilities.parquet")
    assert not list(out.iterdir())
    with pytest.raises(InputError, match="Let it end in"):
        found.write_abilities(out / "abilities.csv")


def test_what_cannot_be_done_in_blocks_is_refused(tmp_path, monkeypatch):
    table = og.simulate("2pl", 100, 22, random_state=5).responses
    rows = scanned(table, tmp_path)
    with pytest.raises(InputError, match="joint engine needs all responses at once"):
        og.calibrate(rows, "2pl", engine="joint", progress=False)
    found = og.calibrate(rows, "2pl", progress=False)
    with pytest.raises(InputError, match="Give a part of them"):
        found.true_scores()
    monkeypatch.setattr("ogive.data.ability_files.MOST_IN_A_FRAME", 10)
    with pytest.raises(InputError, match="Write them to a file"):
        found.abilities()
