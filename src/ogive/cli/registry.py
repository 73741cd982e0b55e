"""Two examples of each command, as its help shows them."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, str]] = {
    "": ("report scores.csv", "leaderboard scores.csv --out board"),
    "adapt": ("scores.csv", "bank.json --replay new_models.csv --budget 25 --budget 100"),
    "calibrate": ("scores.csv", "scores.csv --model 3pl --out bank.json --abilities models.csv"),
    "capability": (
        "pulsars.csv --target class",
        "pulsars.csv --target class --budget 30 --out capability",
    ),
    "confusion": ("sklearn:digits", "cases.csv --target label --positive sick --out cells"),
    "correct": (
        "judged.csv --human labels.csv",
        "judged.csv --human labels.csv --confidence 0.9 --out corrected",
    ),
    "decode": ("sklearn:digits sklearn:wine", "data.csv#label --model 3pl --out decoded"),
    "demo": ("", "--out shown --jobs 2"),
    "diagnose": ("scores.csv", "scores.csv --model 3pl --out diagnoses"),
    "differential": (
        "scores.parquet --groups family",
        "scores.csv --groups families.csv --reference open --out differential",
    ),
    "dimensions": (
        "scores.parquet --dimensions task",
        "scores.csv --items items.csv --dimensions subject --structure bifactor --out dimensions",
    ),
    "difficulty alarm": (
        "reference.csv new.csv",
        "reference.csv new.csv --alpha 0.01 --figure alarm.png",
    ),
    "difficulty evaluate": (
        "items.csv --difficulty difficulty",
        "items.csv --difficulty difficulty --regressor rf --cv 10",
    ),
    "difficulty fit": (
        "items.csv --difficulty difficulty --out regressor.skops",
        "items.csv --difficulty difficulty --leave-out text --out regressor.skops",
    ),
    "difficulty predict": (
        "regressor.skops new_items.csv",
        "regressor.skops new_items.csv --confidence 0.9 --out predicted.csv",
    ),
    "distractors": ("choices.csv", "choices.csv --key solution --out distractors"),
    "evaluate": (
        "scores.parquet --harness lm-eval --harness-model hf:gpt2 --folder runs",
        "scores.parquet --harness inspect --harness-model openai/gpt-4o --folder runs --budget 50",
    ),
    "explain": ("scores.parquet", "scores.parquet --facts compute --out explained"),
    "explain-items": (
        "scores.parquet",
        "scores.parquet --facts length --facts subject --out explained",
    ),
    "facets": ("ratings.csv", "ratings.csv --respondent model --judge grader --out facets"),
    "gate compare": (
        "gate.json cases.csv --target label",
        "gate.json cases.csv --target label --out compared.csv",
    ),
    "gate decide": (
        "gate.json new_cases.csv",
        "gate.json new_cases.csv --out decisions.csv --explain reasons.csv",
    ),
    "gate fit": (
        "cases.csv --target label --out gate.json",
        "cases.csv --target label --target-accuracy 0.97 --by class --out gate.json",
    ),
    "groups": (
        "scores.parquet --groups family",
        "scores.csv --groups families.csv --reference open --out groups",
    ),
    "health": ("scores.csv", "scores.parquet --by task --out health"),
    "leaderboard": (
        "scores.csv",
        "scores.parquet --groups family --dimensions task --out board",
    ),
    "link": ("bank.json new_scores.csv", "bank.json new_bank.json --drift keep --out linked.json"),
    "plan": (
        "scores.csv --difference 0.02",
        "--accuracy 0.7 --correlation 0.5 --difference 0.03 --power 0.9",
    ),
    "portfolio": ("runs.csv --better lower", "scenario --size 3 --out portfolio"),
    "portfolio evaluate": ("scenario", "runs.csv --features features.csv --better lower --cv 10"),
    "portfolio select": ("scenario", "runs.csv --features features.csv --new problems.csv"),
    "preferences": ("battles.csv", "battles.csv --by language --out board"),
    "read": ("logs --out scores.parquet", "logs --metric acc --keep-text --out scores.parquet"),
    "report": ("scores.csv", "scores.csv decoded --title 'Spring models' --out spring.html"),
    "score": ("bank.json new_models.csv", "bank.json new_models.csv --method wle --out placed.csv"),
    "serve": ("gate.json", "gate.json --host 127.0.0.1 --port 8000"),
    "shorten": ("scores.csv --size 50", "scores.csv --size 50 --by task --out short.json"),
    "simulate": ("--out scores.csv", "--model 3pl --respondents 200 --items 50 --missing 0.1"),
    "tasks": ("scores.csv --by-prefix /", "scores.parquet --by task --out tasks"),
    "tournament": ("scores.csv", "scores.csv --order by_difficulty --bump bump.png"),
    "view": ("scores.parquet", "logs --no-browser --port 8000"),
}


def examples_of(name: str) -> list[str]:
    """Return the examples of a command as they are typed."""
    return [" ".join(filter(None, ["ogive", name, each])) for each in EXAMPLES.get(name, ())]
