"""Ask a model 10 of 40 questions, chosen one batch after the other, in Inspect AI.

Run with: pip install 'ogive[inspect]'; python examples/evaluate_in_inspect.py
"""

import tempfile
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import match
from inspect_ai.solver import generate

import ogive as og

N_ITEMS = 40


@task
def products() -> Task:
    """Return harder questions have larger numbers."""
    rows = [Sample(id=k, input=f"{k} * {k + 1} =", target=str(k * k + k)) for k in range(N_ITEMS)]
    return Task(dataset=MemoryDataset(rows), solver=generate(), scorer=match())


def reply(messages: list, *_: object) -> ModelOutput:
    """Return stand in for a model: it can multiply small numbers."""
    first, _, second, _ = messages[-1].text.split()
    right = int(first) * int(second)
    output = ModelOutput.from_content("mockllm/model", str(right if right < 700 else 0))
    output.usage = ModelUsage()
    return output


# Responses of earlier models to the same items; with real ones, use og.read_responses("logs/").
items = {"task": ["products"] * N_ITEMS, "id": list(range(N_ITEMS))}
earlier = og.simulate("2pl", 200, N_ITEMS, random_state=0).responses.described(items=items)
bank = og.calibrate(earlier)

model = get_model("mockllm/model", custom_outputs=reply)  # or "openai/gpt-4o", or any other
with tempfile.TemporaryDirectory() as folder:  # with a real model, one that is kept
    ask = og.inspect_ask(model, earlier, Path(folder) / "runs", tasks=products())
    found = og.evaluate_adaptively(
        bank, ask, budget=10, batch_size=5, journal=Path(folder) / "journal.jsonl"
    )
    print(og.read_logs(Path(folder) / "runs").meaning)
print(found.trace[["item", "response", "accuracy", "accuracy_se"]].round(3))
print(found.meaning)
