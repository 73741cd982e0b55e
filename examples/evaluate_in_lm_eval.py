"""Ask a model 10 of 40 questions, chosen one batch after the other, in lm-evaluation-harness.

Run with: pip install 'ogive[lm-eval]'; python examples/evaluate_in_lm_eval.py
"""

import tempfile
from pathlib import Path

import datasets
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager

import ogive as og

N_ITEMS = 40


def products(**_: object) -> dict:
    """Return harder questions have larger numbers."""
    rows = [{"question": f"{k} * {k + 1} =", "answer": str(k * k + k)} for k in range(N_ITEMS)]
    return {"test": datasets.Dataset.from_list(rows)}


TASK = {
    "task": "products",
    "custom_dataset": products,
    "test_split": "test",
    "output_type": "generate_until",
    "doc_to_text": "{{question}}",
    "doc_to_target": "{{answer}}",
    "generation_kwargs": {"until": ["\n"]},
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
}


class Multiplier(LM):
    """Stands in for a model: it can multiply small numbers."""

    def generate_until(self, requests: list, **_: object) -> list[str]:
        """Answer all requests."""
        return [self._reply(request.args[0]) for request in requests]

    def _reply(self, question: str) -> str:
        first, _, second, _ = question.split()
        right = int(first) * int(second)
        return str(right if right < 700 else 0)

    def loglikelihood(self, requests: list, **_: object) -> list:
        """Return needed by other tasks."""
        raise NotImplementedError

    loglikelihood_rolling = loglikelihood


# Responses of earlier models to the same items; with real ones, use og.read_responses("logs/").
items = {"task": ["products"] * N_ITEMS, "id": list(range(N_ITEMS))}
earlier = og.simulate("2pl", 200, N_ITEMS, random_state=0).responses.described(items=items)
bank = og.calibrate(earlier)

with tempfile.TemporaryDirectory() as folder:  # with a real model, one that is kept
    ask = og.lm_eval_ask(
        Multiplier(),  # or "hf", with model_args="pretrained=gpt2" among the settings
        earlier,
        Path(folder) / "runs",
        tasks=TASK,  # tasks that lm-eval knows by the names in the responses need not be given
        settings={"task_manager": TaskManager(include_defaults=False)},
    )
    found = og.evaluate_adaptively(
        bank, ask, budget=10, batch_size=5, journal=Path(folder) / "journal.jsonl"
    )
    print(og.read_logs(Path(folder) / "runs").meaning)
print(found.trace[["item", "response", "accuracy", "accuracy_se"]].round(3))
print(found.meaning)
