"""Real evaluations in Inspect, with a model that is a function."""

import asyncio
import gc
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import ogive as og
from ogive.errors import FileError, HarnessError, InputError

pytestmark = pytest.mark.filterwarnings("ignore")
inspect_ai = pytest.importorskip("inspect_ai", reason="Inspect is not installed: ogive[inspect]")
from inspect_ai.dataset import MemoryDataset, Sample  # noqa: E402
from inspect_ai.model import ModelOutput, ModelUsage, get_model  # noqa: E402
from inspect_ai.scorer import match  # noqa: E402
from inspect_ai.solver import generate  # noqa: E402

N = 12


@inspect_ai.task
def sums(by=2):
    rows = [Sample(id=f"s[{k}]", input=f"{k} times {by}", target=str(by * k)) for k in range(N)]
    return inspect_ai.Task(MemoryDataset(rows, name="sums"), solver=generate(), scorer=match())


@inspect_ai.task
def squares():
    rows = [Sample(id=k + 1, input=f"{k} squared", target=str(k * k)) for k in range(N)]
    return inspect_ai.Task(MemoryDataset(rows, name="squares"), solver=generate(), scorer=match())


@pytest.fixture(autouse=True)
def tidy():
    """Streams that Inspect leaves open warn when they are collected: not in a later test."""
    yield
    gc.collect()


class Mind:
    """A model that answers every third question wrongly; the questions in `broken` fail."""

    def __init__(self):
        self.asked, self.broken = [], set()
        self.model = get_model("mockllm/model", custom_outputs=self.reply, memoize=False)

    def reply(self, messages, tools, choice, config):
        question = messages[-1].text
        self.asked.append(question)
        number, what, *by = question.split()
        if int(number) in self.broken:
            raise ConnectionError("no answer")
        right = int(number) ** 2 if what == "squared" else int(number) * int(by[0])
        output = ModelOutput.from_content("mockllm/model", str(right if int(number) % 3 else -1))
        output.usage = ModelUsage()  # or mockllm fetches a tokenizer to count
        return output


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """What logs of a full run say of the items."""
    folder = str(tmp_path_factory.mktemp("full"))
    logs = inspect_ai.eval(
        [sums(), squares()], model=Mind().model, log_dir=folder, display="none", log_realtime=False
    )
    assert [log.status for log in logs] == ["success"] * 2
    return og.read_logs(folder, progress=False).responses


@pytest.fixture
def bank(facts):
    drawn = og.simulate("2pl", 150, 2 * N, random_state=0).responses
    return og.calibrate(og.Responses(drawn.values, items=facts.items), "2pl", progress=False)


@pytest.fixture
def mind():
    return Mind()


@pytest.fixture
def ask(mind, facts, tmp_path):
    def made(**kw):
        tasks = {"sums": sums(), "squares": squares()}
        return og.inspect_ask(mind.model, facts, tmp_path / "runs", **{"tasks": tasks} | kw)

    return made


def evaluate(bank, ask, **kw):
    settings = {"budget": 6, "batch_size": 3, "method": "adaptive"} | kw
    return og.evaluate_adaptively(bank, ask, **settings, progress=False)


def truth(facts, items):
    known = dict(zip(facts.items, facts.values[0], strict=True))
    return [known[item] for item in items]


def test_items_are_asked_and_scored_as_a_full_run_does(bank, ask, facts, mind):
    found = evaluate(bank, ask(), budget=9)
    assert list(found.trace["response"]) == truth(facts, found.items)
    assert {0, 1} == set(found.trace["response"])
    assert len(mind.asked) == len(set(mind.asked)) == 9  # nothing but these, and once
    assert {item.partition("/")[0] for item in found.items} == {"sums", "squares"}


def test_the_logs_of_all_batches_are_kept(bank, ask, tmp_path):
    found = evaluate(bank, ask())
    kept = og.read_logs(tmp_path / "runs", progress=False).responses
    assert set(kept.items) == set(found.items)


def test_one_item_is_one_response(bank, ask, facts):
    found = evaluate(bank, ask(), batch_size=1, budget=2)
    assert list(found.trace["response"]) == truth(facts, found.items)


def test_a_folder_with_answers_is_read_instead_of_asking(bank, ask, mind):
    first = evaluate(bank, ask())
    mind.asked.clear()
    assert evaluate(bank, ask()).items == first.items
    assert not mind.asked
    assert len(evaluate(bank, ask(), budget=8).items) == 8
    assert len(mind.asked) == 2


def test_it_runs_in_an_event_loop(bank, ask, facts, tmp_path):
    async def both():
        awaited = await og.evaluate_adaptively_async(
            bank, ask(), budget=4, batch_size=2, progress=False
        )
        return awaited, evaluate(bank, ask(), budget=6, batch_size=2)  # as in a notebook

    for found in asyncio.run(both()):
        assert list(found.trace["response"]) == truth(facts, found.items)


def test_an_interrupted_evaluation_is_interrupted_and_keeps_what_was_answered(bank, ask, mind):
    same = ask(settings={"max_samples": 1})

    async def interrupted():
        evaluation = og.evaluate_adaptively_async(
            bank, same, budget=6, batch_size=3, progress=False
        )
        running = asyncio.create_task(evaluation)
        while len(mind.asked) < 4:
            await asyncio.sleep(0.001)
        running.cancel()
        await running

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(interrupted())
    answered = len(mind.asked)
    assert 4 <= answered < 6
    assert len(evaluate(bank, same).items) == 6
    assert set(mind.asked[:3]).isdisjoint(mind.asked[answered:])  # the first batch was scored


def test_several_models_of_one_event_loop_take_turns(bank, facts, tmp_path):
    minds = [Mind(), Mind()]
    tasks = {"sums": sums(), "squares": squares()}

    async def together():
        asks = [
            og.inspect_ask(mind.model, facts, tmp_path / str(k), tasks=tasks)
            for k, mind in enumerate(minds)
        ]
        return await asyncio.gather(
            *(
                og.evaluate_adaptively_async(bank, ask, budget=4, batch_size=2, progress=False)
                for ask in asks
            )
        )

    first, second = asyncio.run(together())
    assert first.items == second.items
    assert [len(mind.asked) for mind in minds] == [4, 4]


def test_samples_that_fail_are_skipped_and_not_taken_as_wrong(bank, ask, mind, tmp_path):
    task, name = og.first_items(bank, 1)[0].split("/")
    mind.broken = {int(name) - 1 if task == "squares" else int(name.strip("s[]"))}
    found = evaluate(bank, ask(), journal=tmp_path / "journal.jsonl")
    assert f"{task}/{name}" in found.skipped
    assert len(found.items) + len(found.skipped) == 6


def test_if_nothing_is_answered_the_evaluation_stops_and_spends_no_items(bank, ask, mind, tmp_path):
    mind.broken = set(range(N))
    journal = tmp_path / "journal.jsonl"
    with pytest.raises(HarnessError, match=r"answered none of the last 3 items: .*no answer"):
        evaluate(bank, ask(), journal=journal)
    mind.broken = set()
    assert not evaluate(bank, ask(), journal=journal).skipped


def test_a_network_that_goes_down_costs_at_most_two_items(bank, ask, mind, tmp_path):
    journal = tmp_path / "journal.jsonl"
    evaluate(bank, ask(), budget=2, batch_size=1, journal=journal)
    mind.broken = set(range(N))
    with pytest.raises(HarnessError, match="none of the last 3 items") as caught:
        evaluate(bank, ask(), budget=12, batch_size=1, journal=journal)
    assert "4 items asked) are safe" in "".join(caught.value.__notes__)


def test_epochs_are_reduced_as_logs_are(bank, ask, mind):
    ask = ask(settings={"epochs": 2}, epochs="first")
    found = evaluate(bank, ask, budget=2, batch_size=2)
    assert len(mind.asked) == 4
    assert len(found.items) == 2


def test_another_question_behind_an_id_is_refused(bank, ask):
    with pytest.raises(HarnessError, match=r"is not the question that '.*its content differs"):
        evaluate(bank, ask(tasks={"sums": sums(by=3), "squares": squares()}))


def test_harness_errors_are_one_sentence_and_cost_nothing(bank, ask, facts, subtests, tmp_path):
    small = inspect_ai.Task(MemoryDataset([Sample(id="x", input="1 squared", target="1")]))
    tasks = {"squares": squares()}
    cases = {
        "No such file": {"tasks": tasks | {"sums": "nowhere.py@sums"}},
        "No matches in dataset": {"tasks": tasks | {"sums": small}},
        "nonsense": {"settings": {"nonsense": 1}},
        "Task 'sums' is to be asked, but tasks has only": {"tasks": tasks},
    }
    for words, given in cases.items():
        with subtests.test(words=words):
            with pytest.raises((HarnessError, InputError), match=words) as caught:
                evaluate(bank, ask(**given))
            assert "\n" not in str(caught.value)


def test_unknown_models_are_named(bank, facts, tmp_path):
    ask = og.inspect_ask("nobody/knows", facts, tmp_path / "runs")
    with pytest.raises(HarnessError, match=r"nobody/knows.*not recognized"):
        evaluate(bank, ask)


def test_bad_arguments_are_refused_before_anything_runs(facts, ask, mind, tmp_path, subtests):
    with pytest.raises(InputError, match=r"`respondent` must be the name of a model.*got None"):
        og.inspect_ask(None, facts, tmp_path / "runs")
    with pytest.raises(InputError, match="settings has limit, which an adaptive"):
        ask(settings={"limit": 3})
    with pytest.raises(InputError, match=r"facts has 2 tasks \(\w+, \w+\): give tasks as a"):
        ask(tasks=sums())
    ask()
    with pytest.raises(FileError, match="holds the answers of 'mockllm/model' in Inspect, but"):
        og.inspect_ask("a/b", facts, tmp_path / "runs")


KILLED = """
import os, signal, sys
from pathlib import Path
import ogive as og
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

answered, killed_at = Path("answered.txt"), int(sys.argv[1])

def reply(messages, tools, choice, config):
    if len(answered.read_text().split()) == killed_at:
        os.kill(os.getpid(), signal.SIGKILL)
    with answered.open("a") as file:
        file.write(messages[-1].text + "\\n")
    output = ModelOutput.from_content("mockllm/model", messages[-1].text)
    output.usage = ModelUsage()
    return output

if __name__ == "__main__":
    rows = [Sample(id=k, input=str(k), target=str(k % 5)) for k in range(12)]
    task = Task(MemoryDataset(rows), solver=generate(), scorer=match(), name="numbers")
    table = og.simulate("2pl", 150, 12, random_state=0).responses
    table = table.described(items={"task": ["numbers"] * 12, "id": list(range(12))})
    model = get_model("mockllm/model", custom_outputs=reply)
    ask = og.inspect_ask(model, table, "runs", tasks=task, settings={"max_samples": 1})
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
    journal = Path(tmp_path / "journal.jsonl").read_text().splitlines()
    assert len(journal) == 1 + 3
    done = start(-1)
    assert done.returncode == 0, done.stderr
    asked = answered.read_text().split()
    assert len(asked) == len(set(asked)) == 9
    assert sorted(f"item_{int(k) + 1}" for k in asked) == sorted(done.stdout.split())
