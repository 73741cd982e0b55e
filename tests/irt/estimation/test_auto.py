"""What is picked where nothing is asked for, and presets."""

import numpy as np

from ogive import Joint, Responses, calibrate, simulate
from ogive.irt.calibrating import PICKS, PRESETS
from ogive.irt.models import MODELS
from ogive.irt.models.continuous import Continuous
from ogive.irt.response_codes import KINDS

PICKED = {"binary": "2pl", "graded": "graded", "continuous": "continuous", "nominal": "nominal"}


def test_every_kind_of_responses_has_a_model_that_explains_it():
    assert PICKS.keys() == set(KINDS)
    for kind, (model, _) in PICKS.items():
        assert MODELS[model].kind == kind


def test_the_kind_of_responses_decides_and_the_first_note_says_so(subtests):
    for model in MODELS:
        with subtests.test(model=model):
            responses = simulate(model, 100, 5, random_state=1).responses
            cal = calibrate(responses)
            picked = PICKED[responses.kind]
            assert cal.model.name == picked
            assert cal.notes[0].startswith(f"Model '{picked}', chosen because responses are ")
            assert repr(cal).splitlines()[1] == f"  - {cal.notes[0]}"


def test_what_is_picked_is_what_asking_for_it_gives(subtests):
    for kind in PICKED:
        with subtests.test(kind=kind):
            responses = simulate(PICKED[kind], 120, 5, missing=0.1, random_state=1).responses
            auto, asked = calibrate(responses), calibrate(responses, PICKED[kind])
            assert calibrate(responses, "AUTO").coords.tobytes() == asked.coords.tobytes()
            assert auto.coords.tobytes() == asked.coords.tobytes()
            assert auto.notes[1:] == asked.notes


def test_fewer_than_a_hundred_respondents_give_all_items_one_discrimination():
    few = simulate("2pl", 99, 5, random_state=1).responses
    cal = calibrate(few)
    assert cal.model.name == "1pl"
    assert "fewer than 100 respondents" in cal.notes[0]
    assert "Model '1pl', chosen because responses are right or wrong" in cal.notes[0]
    assert calibrate(few, weights=np.full(99, 2.0)).model.name == "2pl"  # worth 198 respondents
    assert calibrate(simulate("2pl", 100, 5, random_state=1).responses).model.name == "2pl"


def test_what_was_declared_is_believed():
    values = simulate("2pl", 60, 5, random_state=1).responses.values
    assert calibrate(Responses(values, kind="graded")).model.name == "graded"


def test_engines_and_settings_go_with_what_is_picked():
    responses = simulate("graded", 80, 5, random_state=1).responses
    assert calibrate(responses, engine=Joint()).engine == "joint"
    assert calibrate(responses, max_iterations=1).iterations == 1


def test_the_airt_preset_is_its_model_and_its_engine():
    responses = simulate("continuous", 80, 5, random_state=1).responses
    preset = PRESETS["airt"]()
    assert preset.model == Continuous(bounds="table", at_bounds=0.01)
    by_hand = calibrate(responses, preset.model, engine=preset.engine)
    for name in ("airt", "AIRT"):
        cal = calibrate(responses, preset=name)
        assert cal.engine == "shojima"
        np.testing.assert_array_equal(cal.coords, by_hand.coords)
    values = responses.values
    assert calibrate(responses, preset="airt").model.bounds == (values.min(), values.max())
