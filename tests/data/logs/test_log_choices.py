"""Which option a model chose, kept from logs where they tell."""

import json

import pytest

from ogive.data.logs.inspect_ai import option_of_letter
from ogive.data.logs.lm_eval import likeliest_option
from ogive.data.logs.read_logs import read_logs

from .conftest import row


def options(values, texts=(" red", " green", " blue"), target="green"):
    """What lm-eval logs of a multiple-choice question."""
    arguments = {f"gen_args_{k}": {"arg_0": "?", "arg_1": text} for k, text in enumerate(texts)}
    found = [[str(value), "False"] for value in values]
    return {"filtered_resps": found, "arguments": arguments, "target": target}


def test_the_likeliest_option_is_the_one_that_was_chosen(subtests):
    told = {
        "text": (options([-3, -1, -2]), ("green", "green")),
        "number of the target": (options([-1, -3, -2], target=2), ("red", "blue")),
        "same texts": (options([-3, -1], texts=(" so", " so"), target="so"), ("2", None)),
        "no options": ({"filtered_resps": ["42"], "target": "42"}, (None, None)),
        "damaged": (options([-3, "x"]), (None, None)),
    }
    for name, (record, expected) in told.items():
        with subtests.test(name):
            assert likeliest_option(record) == expected


def test_a_letter_names_an_option(subtests):
    for letter, expected in {"B": "two", "b)": "two", "Z": None, "": None, None: None}.items():
        with subtests.test(letter=letter):
            assert option_of_letter(letter, ["one", "two"]) == expected


def test_choices_of_several_models_become_one_table_whose_key_is_what_was_scored(lm_eval, folder):
    right = row(0, 1.0, **options([-3, -1, -2], target=9))
    wrong = row(0, 0.0, **options([-3, -2, -1], target=9))
    unknown = row(1, 0.0, **options([-3, -2, -1], target=9))
    lm_eval([right, unknown], model="lab__one")
    lm_eval([wrong, unknown], model="lab__two")
    found = read_logs(folder, keep_choices=True, progress=False)
    assert found.choices.kind == "nominal"
    assert found.choices.shape == (2, 1)
    assert found.choices.values.ravel().tolist() == [0.0, 1.0]
    assert found.choices.item_facts.iloc[0].tolist() == ["green", "blue"]
    assert "1 item without one right option" in found.choices.notes[0]
    assert found.choices.of_kind("binary").values.ravel().tolist() == [1.0, 0.0]


def test_choices_are_kept_only_on_request(lm_eval, folder):
    lm_eval([row(0, 1.0, **options([-3, -1, -2]))])
    assert read_logs(folder, progress=False).choices is None


def test_inspect_tells_the_letter_of_the_answer(tmp_path):
    sample = {
        "id": 1,
        "epoch": 1,
        "input": "Which?",
        "choices": ["ice", "fire"],
        "target": "A",
        "scores": {"choice": {"value": "I", "answer": "B"}},
    }
    told = {"model": "lab/one", "task": "riddles"}
    document = {"version": 2, "status": "success", "eval": told, "samples": [sample]}
    path = tmp_path / "log.json"
    path.write_text(json.dumps(document))
    found = read_logs(path, keep_choices=True, progress=False).choices
    assert found.values.tolist() == [[1.0]]
    assert found.item_facts.iloc[0].tolist() == ["ice", "fire"]


@pytest.mark.parametrize("name", ["inspect/mmlu-no-summary-choices.eval", "helm"])
def test_recorded_logs_tell_their_choices(shared, name):
    found = read_logs(shared / "data" / "logs" / name, keep_choices=True, progress=False)
    assert found.choices.kind == "nominal"
    assert found.choices.n_items > 0
