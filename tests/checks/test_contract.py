"""What every diagnosis promises, over the registry and over models of every kind."""

import numpy as np
import pytest

import ogive as og
from ogive.checks.check import DIAGNOSTICS, diagnose
from ogive.checks.residuals import Diagnosis
from ogive.errors import InputError
from ogive.results.plots.figure import Display

MODELS = ["2pl", "3pl", "graded", "gpcm", "continuous", "beta"]


@pytest.fixture(scope="module")
def cals():
    made = {}

    def get(model):
        if model not in made:
            responses = og.simulate(model, 150, 8, missing=0.02, random_state=4).responses
            made[model] = og.calibrate(responses, model)
        return made[model]

    return get


@pytest.fixture(params=MODELS)
def cal(cals, request):
    return cals(request.param)


def exists(name, cal):
    """Labels are right or wrong only where responses are; margins need categories."""
    return not (
        (name == "model_fit" and cal.model.kind == "continuous")
        or (name == "label_trouble" and cal.model.kind != "binary")
    )


def test_a_diagnosis_shows_itself_or_says_what_it_needs(cal, tmp_path, subtests):
    for name, ask in DIAGNOSTICS.items():
        with subtests.test(name):
            if not exists(name, cal):
                with pytest.raises(InputError, match=f"the {cal.model.name} model explains"):
                    ask(cal)
                continue
            found = ask(cal)
            frame, meaning = found.to_frame(), found.meaning
            assert isinstance(found, Diagnosis)
            assert len(frame)
            assert isinstance(found.plot(), Display)
            saved = found.save(tmp_path / f"{name}.csv")
            assert saved.read_text().count("\n") == len(frame) + 1
            assert meaning in repr(found)
            assert "<table" in found._repr_html_()
            # The meaning is a sentence with a figure in it.
            assert meaning.endswith(".")
            assert any(sign.isdigit() for sign in meaning)
            assert "nan" not in meaning.split()


def test_a_loaded_bank_is_diagnosed_with_responses_of_its_own(cals, tmp_path, subtests):
    cal = cals("2pl")
    bank = og.load(cal.save(tmp_path / "bank.json"))
    for name, ask in DIAGNOSTICS.items():
        with subtests.test(name):
            again, first = ask(bank, cal.responses), ask(cal)
            for column, values in first.to_frame().select_dtypes("number").items():
                np.testing.assert_allclose(again.to_frame()[column], values, rtol=1e-6, atol=1e-9)


def test_what_is_no_calibration_is_refused_with_the_call_to_make(subtests):
    for name, ask in DIAGNOSTICS.items():
        for wrong in (None, "2pl", np.eye(3)):
            message = rf"{name} needs a calibration.*calibrate\(responses\)"
            with subtests.test(name, wrong=wrong), pytest.raises(InputError, match=message):
                ask(wrong)


def test_diagnose_finds_what_exists_and_says_why_the_rest_does_not(cal):
    checks = diagnose(cal)
    found, missing = checks.found, checks.missing
    frame = checks.to_frame()
    assert set(frame.index) == {*found, *missing} == {"dimensionality", *DIAGNOSTICS}
    assert set(frame.index[frame["available"]]) == set(found)
    assert all(frame["meaning"].str.endswith("."))
    assert isinstance(checks.plot(), Display)
    assert (
        set(missing)
        == {
            "binary": set(),
            "graded": {"label_trouble"},
            "continuous": {"model_fit", "label_trouble"},
        }[cal.model.kind]
    )
    assert all(cal.model.name in reason for reason in missing.values())
