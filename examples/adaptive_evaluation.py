"""Evaluate a model with 25 questions instead of 200, with the uncertainty of the result.

Run with: python examples/adaptive_evaluation.py
"""

import tempfile
from pathlib import Path

import numpy as np

import ogive as og

# Responses of earlier models; with real ones, use og.read_responses("logs/").
drawn = og.simulate("3pl", 400, 200, random_state=0)
new, known = (
    drawn.responses.select(respondents=[0]),
    drawn.responses.select(respondents=slice(1, 400)),
)
bank = og.calibrate(known, "3pl")

replay = og.replay_adaptively(known, sizes=[10, 25], cv=2)
print(replay.errors[["method", "n_items", "mae", "coverage", "coverage_observed"]].round(3))
print(replay.meaning)

recorded = dict(zip(new.items, new.values[0], strict=True))
random = np.random.default_rng(0)


def ask(item: str) -> int:
    """Put one question to the model; now and then the connection fails."""
    if random.random() < 0.05:
        raise ConnectionError("no answer")
    return int(recorded[item])


with tempfile.TemporaryDirectory() as folder:
    journal = Path(folder) / "new-model.jsonl"
    calls = 0
    while True:
        calls += 1
        try:
            found = og.evaluate_adaptively(
                bank, ask, budget=25, journal=journal, error=replay, respondent="new-model"
            )
            break
        except ConnectionError as failure:
            print("Interrupted:", *failure.__notes__)

print(f"\nDone after {calls} calls; no question was asked twice.")
for sentence in found.sentences():
    print(sentence)
print(f"True accuracy on all {new.n_items} items: {new.values.mean():.3f}")
found.plot().save("adaptive_evaluation.png")
