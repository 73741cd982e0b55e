"""HELM, Every Eval Ever and OpenML: what is theirs alone; options that models chose."""

import json
import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive.data.logs.inspect_ai import option_of_letter
from ogive.data.logs.lm_eval import likeliest_option
from ogive.data.logs.read_logs import read_logs
from ogive.data.response_files import read_responses
from ogive.errors import FileError, OgiveError

from .conftest import row


def stat(name, mean, **more):
    if mean is None:
        return {"name": {"name": name, "split": "test"}, "count": 0, "sum": 0}
    return {"name": {"name": name, "split": "test", **more}, "count": 1, "sum": mean, "mean": mean}


@pytest.fixture
def helm(tmp_path):
    """Write a run folder of HELM."""

    def write(instances, name="boolq:model=lab_one", groups=("boolq",), state=None):
        folder = tmp_path / "runs" / name.replace(":", "-")
        folder.mkdir(parents=True)
        spec = {"name": name, "adapter_spec": {"model": "lab/one"}, "groups": list(groups)}
        spec["scenario_spec"] = {"args": {"subject": "law"}}
        (folder / "run_spec.json").write_text(json.dumps(spec))
        (folder / "per_instance_stats.json").write_text(json.dumps(instances))
        if state is not None:
            (folder / "scenario_state.json").write_text(json.dumps(state))
        return folder

    return write


def instance(identity, *stats, **more):
    return {"instance_id": identity, "train_trial_index": 0, "stats": list(stats), **more}


def test_helm_reads_the_metric_that_its_tables_show(helm):
    one = instance("id1", stat("exact_match", 0), stat("quasi_exact_match", 1))
    assert read_responses(helm([one])).values.tolist() == [[1]]
    other = helm([one], "mmlu:subject=law,model=lab_one", ["mmlu"])
    found = read_responses(other)
    assert found.values.tolist() == [[0]]
    assert found.items == ("mmlu:subject=law/id1",)
    assert found.respondents == ("lab/one",)
    assert found.item_facts.loc[found.items[0], ["subject", "split"]].tolist() == ["law", "test"]


def test_helm_leaves_perturbed_and_empty_instances_out(helm):
    folder = helm(
        [
            instance("id1", stat("exact_match", 1)),
            instance("id1", stat("exact_match", 0), perturbation={"name": "typos"}),
            instance("id2", stat("exact_match", None)),
        ],
        "mmlu:model=x",
        ["mmlu"],
    )
    reading = read_logs(folder)
    assert reading.responses.items == ("mmlu/id1",)
    assert reading.left_out == {"of perturbed instances": 1, "without a score": 1}


def test_trials_of_helm_are_repeated_answers(helm):
    rows = [instance("id1", stat("exact_match", v)) | {"train_trial_index": v} for v in (0, 1)]
    found = read_responses(helm(rows))
    assert found.values.tolist() == [[0.5]]
    assert found.tries.tolist() == [[2]]
    assert "Trials of 1 task (boolq) are repeated answers." in found.notes


def test_helm_knows_the_main_metric_of_a_group(helm, subtests):
    for group, metric in [
        ("msmarco_regular", "RR@10"),
        ("msmarco_trec", "NDCG@10"),
        ("synthetic_reasoning", "quasi_exact_match"),
        ("synthetic_reasoning_natural", "f1_set_match"),
        ("gsm", "final_number_exact_match"),
        ("mmlu_pro", "chain_of_thought_correctness"),
        ("hellaswag", "exact_match"),
    ]:
        with subtests.test(group):
            names = ["quasi_exact_match", "exact_match", "f1_set_match", "RR@10", "NDCG@10"]
            names += ["final_number_exact_match", "exact_match_indicator"]
            names += ["chain_of_thought_correctness"]
            if group != "gsm":
                names.remove("final_number_exact_match")
            if group != "mmlu_pro":
                names.remove("chain_of_thought_correctness")
            folder = helm(
                [instance("id1", *(stat(name, 1) for name in names))], f"{group}:model=b", [group]
            )
            assert read_logs(folder).files.loc[0, "metric"] == metric


def test_a_document_of_another_shape_is_not_called_cut(helm):
    with pytest.raises(FileError, match="holds an object where a list is needed"):
        read_logs(helm({}))


def test_helm_is_read_without_texts_where_its_state_is_broken(helm):
    folder = helm([instance("id1", stat("exact_match", 1))], state=[])
    reading = read_logs(folder, keep_text=True)
    assert reading.responses.n_items == 1
    assert "no texts" in reading.files.loc[0, "reason"]


def test_helm_names_the_metrics_there_are(helm):
    folder = helm([instance("id1", stat("bits_per_byte", 0.5))])
    with pytest.raises(FileError, match=r"it has: bits_per_byte\. Name one"):
        read_responses(folder)
    assert read_logs(folder, metric="bits_per_byte").responses.n_items == 1


def test_helm_texts_come_from_the_state_beside(helm):
    state = {
        "adapter_spec": {},
        "request_states": [
            {
                "instance": {
                    "id": "id1",
                    "input": {"text": "why?"},
                    "references": [{"output": {"text": "so"}, "tags": ["correct"]}],
                }
            }
        ],
    }
    folder = helm([instance("id1", stat("exact_match", 1))], state=state)
    facts = read_logs(folder, keep_text=True).responses.item_facts
    assert facts[["text", "target"]].to_numpy().tolist() == [["why?", "so"]]


def test_a_run_of_helm_without_statistics_is_refused_by_name(helm):
    folder = helm([])
    (folder / "per_instance_stats.json").unlink()
    with pytest.raises(FileError, match=r"boolq.* without per_instance_stats\.json"):
        read_logs(folder)


def sample(model, number, score, **more):
    return {
        "schema_version": "0.2.1",
        "evaluation_id": "e",
        "model_id": model,
        "evaluation_name": "GSM8K",
        "sample_id": f"gsm8k_{number}",
        "sample_hash": f"h{number}",
        "input": {"raw": "why", "reference": ["so"]},
        "evaluation": {"score": score, "is_correct": score > 0.5},
        **more,
    }


@pytest.fixture
def instances(tmp_path):
    """Write a file of Every Eval Ever."""

    def write(rows):
        path = tmp_path / "c0ffee_samples.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        return path

    return write


def test_every_eval_ever_holds_many_models(instances):
    path = instances([sample(m, n, n / 2) for m in ("a", "b") for n in (1, 2)])
    found = read_responses(path)
    assert found.respondents == ("a", "b")
    assert found.values.tolist() == [[0.5, 1], [0.5, 1]]
    assert read_logs(path, metric="is_correct").responses.values.tolist() == [[0, 1], [0, 1]]


def test_every_eval_ever_keys_items_by_their_hash(instances):
    path = instances([sample("a", 1, 1), sample("b", 1, 0, sample_id="other name")])
    assert read_responses(path).items == ("GSM8K/gsm8k_1",)


def test_every_eval_ever_counts_errors_and_rows_without_a_name(instances):
    rows = [sample("a", 1, 1), sample("a", 2, 0, error="timeout"), sample(None, 3, 1)]
    reading = read_logs(instances(rows), keep_text=True)
    assert reading.responses.n_items == 1
    assert reading.left_out == {"that ended with an error": 1, "without model or task": 1}
    assert reading.responses.item_facts["text"].tolist() == ["why"]


@pytest.mark.parametrize("keep_text", [False, True])
def test_every_eval_ever_takes_only_names_for_names(instances, keep_text):
    """Line by line, as texts need it, or block by block, the rule is the same."""
    rows = [sample("a", 1, 1)]
    rows += [sample(name, 2, 1) for name in ("", " ", "x" * 501)]
    rows += [sample("a", 3, 1, sample_id="", sample_hash="")]
    reading = read_logs(instances(rows), keep_text=keep_text)
    assert reading.responses.respondents == ("a",)
    assert reading.left_out == {"without model or task": 3, "without an id": 1}


def test_every_eval_ever_errors_may_be_objects(instances):
    rows = [sample("a", 1, 1, error=None), sample("a", 2, 1, error={"type": "timeout"})]
    assert read_logs(instances(rows)).left_out == {"that ended with an error": 1}


def test_every_eval_ever_reads_the_metric_that_is_there(instances):
    rows = [sample("a", n, 1, evaluation={"is_correct": n > 1}) for n in (1, 2)]
    assert read_logs(instances(rows)).responses.values.tolist() == [[0, 1]]


ARFF = """@RELATION openml_task_31_predictions
@ATTRIBUTE repeat NUMERIC
@ATTRIBUTE fold NUMERIC
@ATTRIBUTE row_id NUMERIC
@ATTRIBUTE prediction {good,bad}
@ATTRIBUTE correct {good,bad}
@ATTRIBUTE confidence.good NUMERIC
@DATA
0,0,7,good,good,0.9
0,0,9,good,bad,0.9
1,1,7,bad,good,0.1
1,1,9,bad,bad,0.1
"""


@pytest.fixture
def predictions(tmp_path):
    """Write the predictions of a run of OpenML."""

    def write(text=ARFF, description=None):
        folder = tmp_path / "run_5"
        folder.mkdir()
        path = folder / "predictions.arff"
        path.write_text(text)
        if description:
            (folder / "description.xml").write_text(description)
        return path

    return write


def test_openml_says_where_the_prediction_is_right(predictions):
    path = predictions()
    found = read_responses(path)
    assert found.items == ("openml-task:31/7", "openml-task:31/9")
    assert found.respondents == ("run_5",)
    assert found.values.tolist() == [[0.5, 0.5]]
    assert read_logs(path, epochs="first").responses.values.tolist() == [[1, 0]]
    assert read_logs(path, epochs="grades").responses.kind == "binary"


def test_openml_flows_are_named_in_the_description(predictions):
    told = "<oml:run><oml:flow_name>tree(1)</oml:flow_name><oml:task_id>3</oml:task_id></oml:run>"
    found = read_responses(predictions(description=told))
    assert found.respondents == ("tree(1)",)
    assert found.item_groups("task") == ("openml-task:3", "openml-task:3")


def test_openml_predictions_do_not_wait_for_a_pipe_beside(predictions):
    path = predictions()
    os.mkfifo(path.with_name("description.xml"))
    assert read_responses(path).respondents == ("run_5",)


def test_openml_predictions_of_numbers_are_refused(predictions):
    text = ARFF.replace("correct {good,bad}", "truth {good,bad}")
    with pytest.raises(FileError, match="neither right nor wrong"):
        read_logs(predictions(text))


ODD = st.sampled_from(
    [None, True, -1, 1e308, "", "C", [], [[]], {}, {"a": []}, [None], "x" * 600, "\ud800"]
)
LOGS = {
    "per_instance_stats.json": [instance("id1", stat("exact_match", 1), stat("f1_score", 0.5))],
    "log.json": {
        "version": 2,
        "status": "success",
        "eval": {"model": "m", "task": "t", "created": "2025", "packages": {"inspect_ai": "1"}},
        "results": {"sample_reductions": [{"scorer": "s", "samples": [{"sample_id": 1}]}]},
        "samples": [{"id": 1, "scores": {"s": {"value": {"a": 1}}}, "metadata": {"subject": "x"}}],
    },
    "a_samples.jsonl": sample("m", 1, 1, metadata={"subject": "x"}, error=None),
    "samples_t.jsonl": {"doc_id": 1, "doc": {"subject": "x"}, "doc_hash": "h", "acc": 1.0},
}


def replaced(value, steps, odd):
    """The document with one of its parts, found by `steps`, made odd."""
    if not steps or not isinstance(value, dict | list) or not value:
        return odd
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = keys[steps[0] % len(keys)]
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[key] = replaced(value[key], steps[1:], odd)
    return copy


@settings(max_examples=40, deadline=None)
@given(name=st.sampled_from(sorted(LOGS)), steps=st.lists(st.integers(0, 9)), odd=ODD)
def test_wrong_types_anywhere_are_read_or_explained(tmp_path_factory, name, steps, odd):
    folder = tmp_path_factory.mktemp("logs")
    (folder / "run_spec.json").write_text('{"name": "a:b=c", "adapter_spec": {"model": "m"}}')
    path = folder / name
    path.write_text(json.dumps(replaced(LOGS[name], steps, odd)))
    with suppress(OgiveError):  # anything else would be a surprise to the caller
        assert read_logs(path, keep_text=True).responses.n_items >= 1


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
