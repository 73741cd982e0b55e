"""Real evaluations in lm-evaluation-harness, with a model that is a class of this file."""

import asyncio
import signal
import subprocess
import sys

import pytest

import ogive as og
from ogive.errors import FileError, HarnessError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")
lm_eval = pytest.importorskip("lm_eval", reason="lm-eval is not installed: ogive[lm-eval]")
datasets = pytest.importorskip("datasets", reason="lm-eval cannot run without datasets")
from lm_eval.api.model import LM  # noqa: E402
from lm_eval.loggers import EvaluationTracker  # noqa: E402
from lm_eval.tasks import TaskManager  # noqa: E402

N = 12
MANAGER = TaskManager(include_defaults=False)


def config(name, right, count=N):
    """A task of one question per number."""

    def rows(**_):
        found = [{"question": f"{k} {name}", "answer": str(right(k))} for k in range(count)]
        return {"test": datasets.Dataset.from_list(found)}

    return {
        "task": name,
        "custom_dataset": rows,
        "test_split": "test",
        "output_type": "generate_until",
        "doc_to_text": "{{question}}",
        "doc_to_target": "{{answer}}",
        "generation_kwargs": {"until": ["\n"]},
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    }


TASKS = {
    "doubles": config("doubles", lambda k: 2 * k),
    "squares": config("squares", lambda k: k * k),
}


class Mind(LM):
    """A model that answers every third question wrongly."""

    def __init__(self):
        super().__init__()
        self.asked, self.broken = [], False

    def generate_until(self, requests, disable_tqdm=False):
        if self.broken:
            raise ConnectionError("no answer")
        questions = [request.args[0] for request in requests]
        self.asked += questions
        return [self.reply(*question.split()) for question in questions]

    def reply(self, number, what):
        right = 2 * int(number) if what == "doubles" else int(number) ** 2
        return str(right if int(number) % 3 else -1)

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What logs of a full run say of the items."""
    tracker = EvaluationTracker(output_path=str(tmp_path_factory.mktemp("full")))
    results = lm_eval.simple_evaluate(
        Mind(),
        tasks=list(TASKS.values()),
        task_manager=MANAGER,
        bootstrap_iters=0,
        evaluation_tracker=tracker,
    )
    samples = results.pop("samples")
    tracker.save_results_aggregated(results, samples)
    for task, rows in samples.items():
        tracker.save_results_samples(task, rows)
    return og.read_logs(tracker.output_path, progress=False).responses


@pytest.fixture
def bank(facts):
    drawn = og.simulate("2pl", 150, 2 * N, random_state=0).responses
    return og.calibrate(og.Responses(drawn.values, items=facts.items), "2pl", progress=False)


@pytest.fixture
def mind():
    return Mind()


@pytest.fixture
def ask(mind, facts, tmp_path):
    def made(tasks=TASKS, **settings):
        given = {"task_manager": MANAGER} | settings
        return og.lm_eval_ask(mind, facts, tmp_path / "runs", tasks=tasks, settings=given)

    return made


def evaluate(bank, ask, **kw):
    settings = {"budget": 6, "batch_size": 3, "method": "adaptive"} | kw
    return og.evaluate_adaptively(bank, ask, **settings, progress=False)


def truth(facts, items):
    known = dict(zip(facts.items, facts.values[0], strict=True))
    return [known[item] for item in items]


def test_items_are_asked_and_scored_as_a_full_run_does(bank, ask, facts, mind, tmp_path):
    found = evaluate(bank, ask(), budget=8, batch_size=4)
    assert list(found.trace["response"]) == truth(facts, found.items)
    assert {0, 1} == set(found.trace["response"])
    assert len(mind.asked) == len(set(mind.asked)) == 8  # nothing but these, and once
    assert {item.partition("/")[0] for item in found.items} == {"doubles", "squares"}
    kept = og.read_logs(tmp_path / "runs", progress=False).responses
    assert set(kept.items) == set(found.items)


def test_a_folder_with_answers_is_read_instead_of_asking(bank, ask, mind):
    first = evaluate(bank, ask(), batch_size=6)
    mind.asked.clear()
    assert evaluate(bank, ask(), batch_size=6).items == first.items
    assert not mind.asked
    assert len(evaluate(bank, ask(), budget=7, batch_size=6).items) == 7
    assert len(mind.asked) == 1  # in another run, whose logs are of the same model


def test_it_runs_in_an_event_loop(bank, ask, facts):
    async def both():
        awaited = await og.evaluate_adaptively_async(
            bank, ask(), budget=1, batch_size=1, progress=False
        )
        return awaited, evaluate(bank, ask(), budget=3, batch_size=2)  # as in a notebook

    for found in asyncio.run(both()):
        assert list(found.trace["response"]) == truth(facts, found.items)


def test_an_error_in_the_model_stops_the_evaluation_and_the_journal_resumes(
    bank, ask, mind, tmp_path
):
    journal = tmp_path / "journal.jsonl"
    evaluate(bank, ask(), budget=3, journal=journal)
    mind.broken = True
    with pytest.raises(HarnessError, match=r"lm-eval could not run .*: no answer\.") as caught:
        evaluate(bank, ask(), journal=journal)
    assert "3 items asked) are safe" in "".join(caught.value.__notes__)
    mind.broken = False
    found = evaluate(bank, ask(), journal=journal)
    assert len(found.items) == 6
    assert len(mind.asked) == len(set(mind.asked)) == 6


def test_another_question_behind_a_number_is_refused(bank, ask):
    other = {name: config(name, lambda k: k + 1) for name in TASKS}
    with pytest.raises(HarnessError, match=r"is not the question that .* its content differs"):
        evaluate(bank, ask(other))


def test_harness_errors_are_one_sentence_and_cost_nothing(bank, ask, mind, subtests):
    cases = {
        "not a registered task": (None, {}),
        "has no document .* in lm-eval, .* it has 1 document, from 0": (
            {name: config(name, int, count=1) for name in TASKS},
            {},
        ),
        "nonsense": (TASKS, {"nonsense": 1}),
    }
    for words, (tasks, settings) in cases.items():
        with subtests.test(words=words):
            with pytest.raises(HarnessError, match=words) as caught:
                evaluate(bank, ask(tasks, **settings))
            assert "\n" not in str(caught.value)
    assert not mind.asked


def test_bad_arguments_are_refused_before_anything_runs(bank, facts, ask, tmp_path):
    with pytest.raises(
        InputError, match=r"`respondent` must be the name of a kind of models.*got None"
    ):
        og.lm_eval_ask(None, facts, tmp_path / "runs")
    with pytest.raises(InputError, match="settings has limit, which an adaptive"):
        ask(limit=3)
    with pytest.raises(InputError, match=r"facts has 2 tasks \(doubles, squares\): give tasks as"):
        ask(TASKS["doubles"])
    ask()
    settings = {"model_args": "pretrained=gpt2,token=secret"}
    with pytest.raises(
        FileError, match=r"holds the answers of 'Mind' in lm-eval, but 'hf\(pretrained=gpt2\)'"
    ):
        og.lm_eval_ask("hf", facts, tmp_path / "runs", settings=settings)


def test_unknown_models_are_named(bank, facts, tmp_path):
    ask = og.lm_eval_ask(
        "nobody", facts, tmp_path / "runs", tasks=TASKS, settings={"task_manager": MANAGER}
    )
    with pytest.raises(HarnessError, match="nobody"):
        evaluate(bank, ask)


KILLED = """
import os, signal, sys
from pathlib import Path
import datasets
import ogive as og
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

answered, killed_at = Path("answered.txt"), int(sys.argv[1])

class Mind(LM):
    def generate_until(self, requests, disable_tqdm=False):
        return [self.reply(request) for request in requests]

    def reply(self, request):
        if len(answered.read_text().split()) == killed_at:
            os.kill(os.getpid(), signal.SIGKILL)
        with answered.open("a") as file:
            file.write(request.args[0] + "\\n")
        self.cache_hook.add_partial("generate_until", request.args, request.args[0])
        self.cache_hook.dbdict.commit()  # waits; by itself the cache is written a moment later
        return request.args[0]

    def loglikelihood(self, requests, disable_tqdm=False):
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood

def rows(**_):
    found = [{"question": str(k), "answer": str(k % 5)} for k in range(12)]
    return {"test": datasets.Dataset.from_list(found)}

config = {
    "task": "numbers", "custom_dataset": rows, "test_split": "test",
    "output_type": "generate_until", "doc_to_text": "{{question}}", "doc_to_target": "{{answer}}",
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "generation_kwargs": {"until": ["\\n"], "do_sample": False},
}
if __name__ == "__main__":
    table = og.simulate("2pl", 150, 12, random_state=0).responses
    table = table.described(items={"task": ["numbers"] * 12, "id": list(range(12))})
    settings = {"task_manager": TaskManager(include_defaults=False), "use_cache": "cache"}
    ask = og.lm_eval_ask(Mind(), table, "runs", tasks=config, settings=settings)
    found = og.evaluate_adaptively(
        og.calibrate(table, "2pl"), ask, budget=9, batch_size=3, journal="journal.jsonl"
    )
    print(*found.items)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_after_a_kill_nothing_is_answered_twice(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    answered = tmp_path / "answered.txt"
    answered.touch()

    def start(killed_at):
        words = [sys.executable, str(script), str(killed_at)]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert start(5).returncode == -signal.SIGKILL  # in the middle of the second batch
    assert len((tmp_path / "journal.jsonl").read_text().splitlines()) == 1 + 3
    done = start(-1)
    assert done.returncode == 0, done.stderr
    asked = answered.read_text().split()
    assert len(asked) == len(set(asked)) == 9
    assert sorted(f"item_{int(k) + 1}" for k in asked) == sorted(done.stdout.split())
