import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import ogive as og
from ogive.errors import InputError


@pytest.fixture(scope="module")
def board():
    return og.leaderboard(og.simulate("2pl", 12, 40, random_state=1).responses)


@pytest.fixture(scope="module")
def decoding():
    pool = {f"{k} neighbours": KNeighborsClassifier(k) for k in (1, 9, 40)} | {"nb": GaussianNB()}
    sources = ["sklearn:iris", "sklearn:wine"]
    return og.decode_benchmark(sources, pool, model="1pl", cv=0, progress=False)


def test_hugging_face_reads_the_card(board, tmp_path):
    hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed")
    name = str(board.to_frame().index[0])
    path = tmp_path / "README.md"
    text = og.model_card(
        {"sums: a | test": board},
        name,
        title='The "best" one',
        task="text-generation",
        metadata={"license": "mit", "tags": ["math", "ogive"]},
        path=path,
    )
    card = hub.ModelCard.load(path)
    assert text.endswith(card.text)
    assert card.data.model_name == 'The "best" one'
    assert card.data.license == "mit"
    assert card.data.tags == ["math", "ogive"]
    found = {one.metric_type: one for one in card.data.eval_results}
    row = board.to_frame().loc[name]
    assert found["accuracy"].metric_value == pytest.approx(row["accuracy"], rel=1e-5)
    assert found["accuracy"].dataset_name == "sums: a | test"
    assert found["accuracy"].task_type == "text-generation"
    assert f"{row['accuracy_low']:.4g} to {row['accuracy_high']:.4g}" in (
        found["accuracy"].metric_name
    )
    assert not any("rank" in name for name in found)


def test_a_card_has_one_entry_per_data_set_and_its_limits(decoding):
    text = og.model_card(decoding, "nb")
    assert text.count("dataset: {name:") == 2
    rows = decoding.classifiers.set_index(["dataset", "respondent"])
    accuracy = rows.loc[("iris", "nb"), "accuracy"]
    assert f"| iris | accuracy | {accuracy:.4g} |" in text
    for section in ("## Evaluation", "## What it means", "## Limits", "## How it was measured"):
        assert section in text
    assert decoding.notes[0] in text


def test_bad_input_is_explained(board, subtests):
    name = str(board.to_frame().index[0])
    cases = {
        "nobody": (lambda: og.model_card(board, "gpt"), "no figure .* for 'gpt'.*They name"),
        "no result": (lambda: og.model_card(np.eye(2), name), "holds a ndarray"),
        "a frame": (lambda: og.model_card([pd.DataFrame()], name), "holds a DataFrame"),
        "nothing": (lambda: og.model_card([], name), "results is empty"),
        "twice": (lambda: og.model_card([board, board], name), "the same name"),
        "metadata": (
            lambda: og.model_card(board, name, metadata={"a": {1}}),
            "cannot be written",
        ),
        "taken": (
            lambda: og.model_card(board, name, metadata={"model-index": 1}),
            "which the card writes itself",
        ),
    }
    for what, (call, message) in cases.items():
        with subtests.test(what), pytest.raises(InputError, match=message):
            call()
