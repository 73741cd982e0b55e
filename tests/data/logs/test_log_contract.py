"""What holds for the readers of all formats: who was asked what, under which conditions."""

import hashlib
import json
from dataclasses import dataclass, field

import pytest

from ogive.data.logs.read_logs import LOG_FORMATS, read_logs
from ogive.errors import InputError

DATE = "2025-01-02T03-04-05.000006"


@dataclass
class Asked:
    """One run: questions by id, their scores, and the conditions."""

    questions: dict[str, str]
    scores: dict[str, float]
    model: str = "lab/one"
    task: str = "riddles"
    date: str = DATE
    epochs: int = 1
    shots: int | None = None
    temperature: float | None = None
    task_args: dict = field(default_factory=dict)
    version: str = "1.0"


def _hash(text):
    return hashlib.sha256(text.encode()).hexdigest()


def lm_eval(folder, run):
    home = folder / run.model.replace("/", "__")
    home.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "doc_id": identity,
            "doc": {"question": text},
            "target": "yes",
            "arguments": {},
            "filter": "none",
            "doc_hash": _hash(text),
            "prompt_hash": _hash(f"{text} {run.shots}"),
            "acc": run.scores[identity],
        }
        for identity, text in run.questions.items()
    ]
    told = {"num_fewshot": run.shots, "generation_kwargs": {"temperature": run.temperature}}
    results = {
        "model_name": run.model,
        "lm_eval_version": run.version,
        "configs": {run.task: told},
        "n-shot": {run.task: run.shots},
    }
    (home / f"results_{run.date}.json").write_text(json.dumps(results))
    path = home / f"samples_{run.task}_{run.date}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def inspect(folder, run):
    folder.mkdir(parents=True, exist_ok=True)
    samples = [
        {
            "id": identity,
            "epoch": epoch,
            "input": text,
            "target": "yes",
            "scores": {"match": {"value": run.scores[identity]}},
        }
        for epoch in range(1, run.epochs + 1)
        for identity, text in run.questions.items()
    ]
    arguments = dict(run.task_args)
    if run.shots is not None:
        arguments["fewshot"] = run.shots
    told = {
        "model": run.model,
        "task": run.task,
        "task_args": arguments,
        "task_id": f"{run.model} {run.date}",
        "created": run.date,
        "packages": {"inspect_ai": run.version},
    }
    plan = {"steps": [{"solver": "generate", "params": {}}], "config": {}}
    if run.temperature is not None:
        plan["config"]["temperature"] = run.temperature
    whole = {"version": 2, "status": "success", "eval": told, "plan": plan, "samples": samples}
    path = folder / f"{_hash(str(run))[:12]}.json"
    path.write_text(json.dumps(whole))
    return path


def helm(folder, run):
    home = folder / _hash(str(run))[:12]
    home.mkdir(parents=True)
    spec = {
        "name": f"{run.task}:model={run.model.replace('/', '_')}",
        "adapter_spec": {
            "model": run.model,
            "max_train_instances": run.shots,
            "temperature": run.temperature,
        },
        "groups": [run.task],
    }
    stats = [
        {
            "instance_id": identity,
            "train_trial_index": trial,
            "stats": [
                {
                    "name": {"name": "exact_match", "split": "test"},
                    "count": 1,
                    "sum": run.scores[identity],
                    "mean": run.scores[identity],
                }
            ],
        }
        for trial in range(run.epochs)
        for identity in run.questions
    ]
    states = [
        {"instance": {"id": identity, "input": {"text": text}, "references": []}}
        for identity, text in run.questions.items()
    ]
    (home / "run_spec.json").write_text(json.dumps(spec))
    (home / "scenario_state.json").write_text(json.dumps({"request_states": states}))
    (home / "per_instance_stats.json").write_text(json.dumps(stats))
    return home / "per_instance_stats.json"


def every_eval_ever(folder, run):
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        {
            "schema_version": run.version,
            "evaluation_id": run.date,
            "model_id": run.model,
            "evaluation_name": run.task,
            "sample_id": identity,
            "sample_hash": _hash(text),
            "input": {"raw": text, "reference": ["yes"]},
            "evaluation": {"score": run.scores[identity], "is_correct": True},
        }
        for _ in range(run.epochs)
        for identity, text in run.questions.items()
    ]
    name = _hash(str(run))[:12]
    told = {
        "eval_library": {"name": "x", "version": run.version},
        "evaluation_results": [
            {
                "evaluation_name": run.task,
                "generation_config": {"generation_args": {"temperature": run.temperature}},
            }
        ],
    }
    (folder / f"{name}.json").write_text(json.dumps(told))
    path = folder / f"{name}_samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def openml(folder, run):
    home = folder / _hash(str(run))[:12]
    home.mkdir(parents=True)
    told = f"<oml:flow_name>{run.model}</oml:flow_name><oml:task_id>{run.task}</oml:task_id>"
    told += f"<oml:setup_id>{run.temperature}</oml:setup_id>"
    told += f"<oml:run_id>{run.date}</oml:run_id>"
    (home / "description.xml").write_text(f"<oml:run>{told}</oml:run>")
    head = "@RELATION x\n@ATTRIBUTE repeat NUMERIC\n@ATTRIBUTE row_id NUMERIC\n"
    head += "@ATTRIBUTE prediction {a,b}\n@ATTRIBUTE correct {a,b}\n@DATA\n"
    rows = [
        f"{repeat},{identity},{'a' if run.scores[identity] else 'b'},a"
        for repeat in range(run.epochs)
        for identity in run.questions
    ]
    path = home / "predictions.arff"
    path.write_text(head + "\n".join(rows) + "\n")
    return path


WRITERS = {
    "lm-eval": lm_eval,
    "inspect": inspect,
    "helm": helm,
    "every-eval-ever": every_eval_ever,
    "openml": openml,
}
LOGS_QUESTIONS = [name for name in WRITERS if name != "openml"]  # its task names the data set


def written(name, folder, *runs):
    """Write the runs, each in a folder of its own, and return the folder above."""
    for at, run in enumerate(runs):
        WRITERS[name](folder / str(at), run)
    return folder


ENGLISH = {"1": "two and two", "2": "three and one"}
FRENCH = {"1": "deux et deux", "2": "trois et un"}
RIGHT = {"1": 1.0, "2": 0.0}


@pytest.fixture(params=LOG_FORMATS)
def name(request):
    return request.param


@pytest.fixture(params=LOGS_QUESTIONS)
def with_questions(request):
    return request.param


def test_every_format_is_written_here():
    assert WRITERS.keys() == LOG_FORMATS.keys()


def test_the_same_questions_are_the_same_items(name, tmp_path):
    runs = [Asked(ENGLISH, RIGHT, model=model) for model in ("lab/one", "lab/two")]
    found = read_logs(written(name, tmp_path, *runs)).responses
    assert found.shape == (2, 2)
    assert found.complete


def test_ids_with_half_a_character_stay_two_and_say_what_they_hold(with_questions, tmp_path):
    whole, halves = "q\U0001f600", ("q\ud83d", "q\ud83e")
    questions = dict.fromkeys((whole, *halves), "")
    questions = {identity: f"question {k}" for k, identity in enumerate(questions)}
    run = Asked(questions, dict.fromkeys(questions, 1.0) | {whole: 0.0})
    found = read_logs(written(with_questions, tmp_path, run)).responses
    names = sorted(name.rpartition("q")[2] for name in found.items)
    assert names == ["\\ud83d", "\\ud83e", "\U0001f600"]


def test_flows_with_broken_bytes_stay_two(tmp_path):
    for at, broken in enumerate((b"\xfe", b"\xff")):
        run = Asked(ENGLISH, RIGHT, model="flow")
        told = openml(tmp_path / str(at), run).with_name("description.xml")
        told.write_bytes(told.read_bytes().replace(b">flow<", b">flow" + broken + b"<"))
    found = read_logs(tmp_path).responses
    assert len(found.respondents) == 2
    assert any("\\xff" in name for name in found.respondents)


def test_the_same_id_with_another_question_is_another_item(with_questions, tmp_path):
    runs = Asked(ENGLISH, RIGHT), Asked(FRENCH, RIGHT, model="lab/two")
    reading = read_logs(written(with_questions, tmp_path, *runs))
    assert reading.responses.shape == (2, 4)
    assert reading.responses.n_missing == 4
    (note,) = [note for note in reading.notes if "different content" in note]
    assert all(item in note for item in reading.responses.items[:1])


def test_one_question_under_two_ids_is_one_item(with_questions, tmp_path):
    turned = {"1": ENGLISH["2"], "2": ENGLISH["1"]}
    runs = Asked(ENGLISH, RIGHT), Asked(turned, {"1": 0.0, "2": 1.0}, model="lab/two")
    found = read_logs(written(with_questions, tmp_path, *runs)).responses
    assert found.shape == (2, 2)
    assert found.values.tolist() == [[1, 0], [1, 0]]


def test_arguments_of_the_task_name_items_that_share_an_id(tmp_path):
    english = Asked(ENGLISH, RIGHT, model="m2", task="lang", task_args={"language": "en"})
    french = Asked(FRENCH, RIGHT, model="m3", task="lang", task_args={"language": "fr"})
    reading = read_logs(written("inspect", tmp_path, english, french))
    assert reading.responses.items == (
        *("lang(language=en)/1", "lang(language=en)/2"),
        *("lang(language=fr)/1", "lang(language=fr)/2"),
    )
    assert reading.responses.item_groups("arguments")[::2] == ("language=en", "language=fr")


def test_questions_that_differ_in_what_is_not_logged_stay_apart(tmp_path):
    pictures = {"1": "what is this?", "2": "what is this?"}
    runs = [Asked(pictures, RIGHT), Asked(dict(reversed(pictures.items())), RIGHT, model="two")]
    found = read_logs(written("inspect", tmp_path, *runs)).responses
    assert found.shape == (2, 2)
    assert found.values.tolist() == [[1, 0], [1, 0]]


LATER = "2025-03-04T05-06-07.000008"
WITH_CONDITIONS = ["lm-eval", "inspect", "helm", "every-eval-ever"]


@pytest.fixture(params=WITH_CONDITIONS)
def with_conditions(request):
    return request.param


def test_another_temperature_makes_another_respondent(with_conditions, tmp_path):
    cold, warm = (
        Asked(ENGLISH, RIGHT, temperature=degree, date=date)
        for degree, date in ((0.0, DATE), (0.7, LATER))
    )
    reading = read_logs(written(with_conditions, tmp_path, cold, warm))
    found = reading.responses
    assert sorted(found.respondents) == ["lab/one (temperature=0)", "lab/one (temperature=0.7)"]
    assert found.tries is None
    assert found.respondent_facts["model"].tolist() == ["lab/one"] * 2
    assert sorted(found.respondent_facts["temperature"]) == [0, 0.7]
    assert any("lab/one: temperature: 0, 0.7" in note for note in reading.notes)
    assert reading.files["dropped"].sum() == 0


@pytest.mark.parametrize("name", ["lm-eval", "inspect", "helm"])
def test_other_shots_make_another_respondent(name, tmp_path):
    none, two = (
        Asked(ENGLISH, RIGHT, shots=shots, date=date) for shots, date in ((0, DATE), (2, LATER))
    )
    found = read_logs(written(name, tmp_path, none, two)).responses
    word = "fewshot" if name == "inspect" else "shots"
    assert set(found.respondents) == {f"lab/one ({word}=0)", f"lab/one ({word}=2)"}


def test_conditions_that_differ_between_models_only_are_facts(with_conditions, tmp_path):
    runs = [
        Asked(ENGLISH, RIGHT, model=model, temperature=degree)
        for model, degree in (("lab/one", 0.0), ("lab/two", 0.7))
    ]
    found = read_logs(written(with_conditions, tmp_path, *runs)).responses
    assert set(found.respondents) == {"lab/one", "lab/two"}
    assert set(found.respondent_facts["temperature"]) == {0, 0.7}


def test_conditions_that_belong_to_tasks_are_facts_of_items(tmp_path):
    runs = [
        Asked(ENGLISH, RIGHT, task=task, shots=shots, model=model)
        for task, shots in (("riddles", 0), ("sums", 5))
        for model in ("lab/one", "lab/two")
    ]
    found = read_logs(written("lm-eval", tmp_path, *runs)).responses
    assert found.shape == (2, 4)
    assert found.item_facts["shots"].tolist() == [0, 0, 5, 5]
    assert "shots" not in found.respondent_facts


def test_variants_can_be_merged_or_named(with_conditions, tmp_path):
    cold, warm = (
        Asked(ENGLISH, RIGHT, temperature=degree, date=date, version=version)
        for degree, date, version in ((0.0, DATE, "1"), (0.7, LATER, "2"))
    )
    folder = written(with_conditions, tmp_path, cold, warm)
    merged = read_logs(folder, variants="merge")
    assert merged.responses.respondents == ("lab/one",)
    assert merged.responses.tries.tolist() == [[2, 2]]
    assert any("their answers are repeated ones" in note for note in merged.notes)
    named = read_logs(folder, variants=["temperature"]).responses
    assert set(named.respondents) == {"lab/one (temperature=0)", "lab/one (temperature=0.7)"}


def test_a_task_that_was_asked_in_one_way_stays_with_a_variant(tmp_path):
    def asked(task, date, **conditions):
        return Asked(ENGLISH, RIGHT, task=task, date=date, task_args=conditions)

    runs = asked("sums", DATE, cot=False), asked("sums", LATER, cot=True), asked("verbs", DATE)
    reading = read_logs(written("inspect", tmp_path, *runs))
    found = reading.responses
    assert found.respondents == ("lab/one (cot=False)", "lab/one (cot=True)")
    assert found.observed.sum(axis=1).tolist() == [4, 2]
    assert any("What was asked in one way only, 1 task (verbs)" in note for note in reading.notes)


def test_a_task_goes_to_the_variant_that_it_shares_conditions_with(tmp_path):
    runs = [
        Asked(ENGLISH, RIGHT, task=task, temperature=degree, date=date)
        for task, degree, date in (("sums", 0.0, DATE), ("sums", 0.7, LATER), ("verbs", 0.7, DATE))
    ]
    found = read_logs(written("lm-eval", tmp_path, *runs)).responses
    assert found.respondents == ("lab/one (temperature=0)", "lab/one (temperature=0.7)")
    assert found.observed.sum(axis=1).tolist() == [2, 4]


@pytest.mark.parametrize("name", ["lm-eval", "inspect", "helm"])
def test_what_is_not_set_is_the_default(name, tmp_path):
    plain, warm = Asked(ENGLISH, RIGHT), Asked(ENGLISH, RIGHT, temperature=0.7, date=LATER)
    if name == "helm":  # it tells of something else
        plain.shots = warm.shots = 5
    found = read_logs(written(name, tmp_path, plain, warm)).responses
    names = {"lab/one (temperature=default)", "lab/one (temperature=0.7)"}
    assert set(found.respondents) == names


def test_a_second_run_is_kept_as_repeated_answers(name, tmp_path):
    again = dict.fromkeys(RIGHT, 0.0)
    runs = Asked(ENGLISH, RIGHT, date=DATE), Asked(ENGLISH, again, date=LATER)
    found = read_logs(written(name, tmp_path, *runs)).responses
    assert found.respondents == ("lab/one",)
    assert found.tries.tolist() == [[2, 2]]
    assert found.values.tolist() == [[0.5, 0]]


def test_a_log_that_is_there_twice_counts_once(name, tmp_path):
    run = Asked(ENGLISH, RIGHT)
    reading = read_logs(written(name, tmp_path, run, run))
    assert reading.responses.tries is None
    assert reading.responses.values.tolist() == [[1, 0]]
    assert reading.left_out == {"that another log holds, too": 2}
    assert any("they count once" in note for note in reading.notes)


def test_a_run_that_was_taken_up_again_counts_each_answer_once(tmp_path):
    part = Asked({"1": ENGLISH["1"]}, RIGHT, epochs=2)
    folder = written("inspect", tmp_path, part)
    whole = Asked(ENGLISH, RIGHT, epochs=2)  # the same run, as its harness names it
    inspect(folder / "retry", whole)
    found = read_logs(folder).responses
    assert found.tries.tolist() == [[2, 2]]


@pytest.mark.parametrize("name", ["inspect", "helm", "every-eval-ever", "openml"])
def test_epochs_are_repeated_answers(name, tmp_path):
    found = read_logs(written(name, tmp_path, Asked(ENGLISH, RIGHT, epochs=3))).responses
    assert found.kind == "binary"
    assert found.tries.tolist() == [[3, 3]]


def test_models_can_be_named_by_name_folder_or_file(name, tmp_path, subtests):
    runs = Asked(ENGLISH, RIGHT), Asked(ENGLISH, RIGHT, date=LATER)  # two models, one name
    folder = written(name, tmp_path, *runs)
    files = read_logs(folder).files["file"]
    for case, rename in {
        "folders": {str(tmp_path / "0"): "first", str(tmp_path / "1"): "second"},
        "names of folders": {"0": "first", "1": "second"},
        "files": {files[0]: "first", files[1]: "second"},
        "patterns": {"*/0/*": "first", "*/1/*": "second"},
    }.items():
        with subtests.test(case):
            found = read_logs(folder, rename=rename).responses
            assert found.respondents == ("first", "second")
            assert found.tries is None
    with subtests.test("model"):
        assert read_logs(folder, rename={"lab/one": "us"}).responses.respondents == ("us",)


BAD = [
    ({"variants": "seperate"}, "`variants` must be .*got 'seperate'"),
    ({"variants": []}, r"`variants` must be"),
    ({"variants": ["heat"]}, "condition 'heat', but the logs tell of: 'shots', 'temperature'"),
    ({"rename": {"nobody": "x"}}, "rename names 'nobody', but no model.* are: 'lab/one'"),
    ({"rename": {"lab/one": ""}}, "rename is"),
    ({"rename": "x"}, "should map names to new ones"),
]


def test_bad_variants_and_names_are_explained(tmp_path, subtests):
    folder = written("lm-eval", tmp_path, Asked(ENGLISH, RIGHT, shots=0, temperature=0.5))
    for given, message in BAD:
        with subtests.test(message), pytest.raises(InputError, match=message):
            read_logs(folder, **given)
