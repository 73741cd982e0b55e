"""`ogive evaluate`: what it refuses, and real runs where a harness is installed."""

import importlib.util
import json

import pandas as pd
import pytest

import ogive as og

N = 12
TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def words():
    rows = [
        Sample(id=k, input=f"Say something, please: {k}", target="Default" if k % 3 else "nothing")
        for k in range(12)
    ]
    return Task(dataset=MemoryDataset(rows), solver=generate(), scorer=includes())
"""
CONFIG = """
task: words
dataset_path: json
dataset_kwargs:
  data_files: words.jsonl
test_split: train
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: "{{answer}}"
generation_kwargs:
  until: ["\\n"]
metric_list:
  - metric: exact_match
    aggregation: mean
    higher_is_better: true
"""


@pytest.fixture
def recorded(tmp_path):
    """Responses of 120 models that know task and id of their items."""
    table = og.simulate("2pl", 120, N, random_state=1).responses
    facts = {"task": ["words"] * N, "id": list(range(N))}
    path = tmp_path / "responses.parquet"
    table.described(items=facts).save(path)
    return path


def words(harness, model="mockllm/model"):
    return "--harness", harness, "--harness-model", model, "--folder", "runs"


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="ogive[inspect]")
@pytest.mark.filterwarnings("ignore")
def test_a_model_is_asked_in_inspect_and_the_command_resumes(run, recorded, tmp_path, monkeypatch):
    from inspect_ai.model._providers.mockllm import MockLLM

    async def nothing(*_):
        """Do not fetch a tokenizer to count tokens."""

    monkeypatch.setattr(MockLLM, "_ensure_default_usage", nothing)
    (tmp_path / "words.py").write_text(TASK)
    task = ("--task", "words.py@words")
    done = run("evaluate", recorded, *words("inspect"), *task, "--budget", 6, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    given = {row["item"]: row["response"] for row in found["responses"]}
    assert given == {item: int((int(item.split("_")[1]) - 1) % 3 > 0) for item in given}
    assert len(given) == 6
    assert found["accuracy_low"] < found["accuracy"] < found["accuracy_high"]
    logs = list((tmp_path / "runs" / "words").glob("*.eval"))
    done = run("evaluate", recorded, *words("inspect"), *task, "--budget", 6, "--out", "asked.csv")
    assert done.exit_code == 0, done.stderr
    assert "6 items came from the journal" in done.stdout
    assert list((tmp_path / "runs" / "words").glob("*.eval")) == logs  # nothing was asked again
    assert list(pd.read_csv("asked.csv")["item"]) == list(given)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("lm_eval") is None, reason="ogive[lm-eval]")
@pytest.mark.filterwarnings("ignore")
def test_a_model_is_asked_in_lm_eval(run, recorded, tmp_path):
    rows = [{"question": f"{k}?", "answer": "lol" if k % 3 else "no"} for k in range(N)]
    (tmp_path / "words.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "words.yaml").write_text(CONFIG)
    task = ("--task", f"words={tmp_path / 'words.yaml'}")
    done = run("evaluate", recorded, *words("lm-eval", "dummy"), *task, "--budget", 6, "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    given = {row["item"]: row["response"] for row in found["responses"]}
    assert given == {item: int((int(item.split("_")[1]) - 1) % 3 > 0) for item in given}
    assert len(given) == 6


def test_without_the_harness_the_command_says_what_to_install(run, recorded, subtests, monkeypatch):
    for harness, package in {"inspect": "inspect_ai", "lm-eval": "lm_eval"}.items():
        with subtests.test(harness=harness):
            monkeypatch.setitem(__import__("sys").modules, package, None)  # as if not installed
            done = run("evaluate", recorded, *words(harness))
            assert done.exit_code == 3
            assert f"[{harness}]'" in done.stderr


def test_responses_without_tasks_are_refused(run, scores):
    done = run("evaluate", scores, *words("inspect"))
    assert done.exit_code == 3
    assert "Items have no fact 'task', which --harness names" in done.stderr


def test_tasks_and_settings_are_read_plainly(run, recorded, subtests):
    cases = {
        "--setting is 'temperature', but it should be NAME=VALUE": ("--setting", "temperature"),
        "give each as NAME=TASK, where NAME is a task": ("--task", "a.py", "--task", "b.py"),
    }
    for said, more in cases.items():
        with subtests.test(said):
            done = run("evaluate", recorded, *words("inspect"), *more)
            assert done.exit_code == 3
            assert said in " ".join(done.stderr.split())
