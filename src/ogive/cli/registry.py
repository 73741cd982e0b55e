"""Every command: its heading, its line in the table of contents, its module and two examples.

Nothing is imported here, so that `ogive --help` answers at once.
"""

from __future__ import annotations

from ogive._studies import STUDIES

CONTENTS: dict[str, dict[str, str]] = {
    "One scale for items and respondents": {
        "calibrate": "Put the items and respondents of a table on one scale.",
        "score": "Place new respondents on the scale of an item bank.",
        "diagnose": "Diagnose the calibration of a table.",
        "simulate": "Simulate responses from a model with known parameters.",
    },
    "Classifiers and benchmarks": {
        "decode": "Decode a benchmark: which data sets are hard, which instances are suspect, "
        "who is strongest.",
        "tournament": "Rate respondents by Glicko-2: every item is a round robin, the higher "
        "score wins.",
        "confusion": "Look inside the confusion matrix: which items each of several classifiers "
        "gets right.",
        "difficulty": "Predict the difficulty of items from their features.",
    },
    "Language models": {
        "read": "Read evaluation logs of language models into one table of responses.",
        "shorten": "Choose a few items that predict the score on all of them, and measure the "
        "error.",
        "adapt": "Replay recorded responses adaptively: how well a few items predict the score "
        "on all items.",
        "evaluate": "Ask a model the most informative items, in Inspect or lm-eval, and predict "
        "its accuracy.",
        "link": "Put a new version of a benchmark, or new items, on the scale of an old item bank.",
    },
    "Algorithms": {
        "portfolio": "Compare algorithms on problems: who is consistent, who leads where, and "
        "which few to keep."
    },
    "Models in use": {
        "capability": "Find up to what case difficulty a classifier can be trusted, class by "
        "class, with few cases.",
        "gate": "Let a model decide the cases it is capable of, and people the others.",
        "serve": "Serve a gate over HTTP: which cases the model may decide, and which go to a "
        "person.",
    },
    "Results": {
        "report": "Make one page of results that opens anywhere: headline, tables, figures, item "
        "explorer.",
        "view": "Explore responses, logs or an item bank in the browser, while they are still "
        "written.",
        "demo": "Decode the data sets of scikit-learn, some of their labels changed on purpose.",
    },
}

# The commands of each module. Their functions have the same names, with _ for a space; those that
# are no study of STUDIES are here.
MODULES = {
    "response_commands": ("adapt", "calibrate", "diagnose", "link", "score", "shorten", "simulate"),
    "benchmark_commands": ("confusion", "decode", "demo", "tournament"),
    "portfolio_commands": ("portfolio", "portfolio evaluate", "portfolio select"),
    "model_commands": (
        *("capability", "gate fit", "gate decide", "gate compare"),
        *("difficulty fit", "difficulty predict", "difficulty evaluate", "difficulty alarm"),
    ),
    "programs": ("evaluate", "read", "report", "serve", "view"),
}
HOMES = {name: module for module, names in MODULES.items() for name in names}
GROUPS = ("gate", "difficulty")  # whose commands have two words; those of others are commands, too
# Commands whose result is no single table.
WITHOUT_TABLE = frozenset({"difficulty fit", "gate fit", "read", "report", "serve", "view"})

# What people may call a command, if the name that looks most alike is another one.
SYNONYMS = {
    **dict.fromkeys(("compare", "rank", "ranking", "board", "significance"), "leaderboard"),
    **dict.fromkeys(("fit", "irt", "estimate", "model", "train"), "calibrate"),
    **dict.fromkeys(("arena", "elo", "battles", "bradley-terry", "pairwise"), "preferences"),
    **dict.fromkeys(("abilities", "ability", "place"), "score"),
    **dict.fromkeys(("adaptive", "cat", "replay"), "adapt"),
    **dict.fromkeys(("app", "explore", "explorer", "open", "show", "watch"), "view"),
    **dict.fromkeys(("check", "fitness"), "diagnose"),
    **dict.fromkeys(("convert", "import", "logs"), "read"),
    **dict.fromkeys(("equate", "anchor"), "link"),
    **dict.fromkeys(("example", "tutorial"), "demo"),
    **dict.fromkeys(("fairness", "bias", "dif"), "differential"),
    **dict.fromkeys(("generate", "sample"), "simulate"),
    **dict.fromkeys(("glicko", "ratings"), "tournament"),
    **dict.fromkeys(("html", "page"), "report"),
    **dict.fromkeys(("judge", "judges", "raters"), "facets"),
    **dict.fromkeys(("labels", "suspects", "mislabels"), "decode"),
    **dict.fromkeys(("power", "samplesize"), "plan"),
    **dict.fromkeys(("short", "subset", "select"), "shorten"),
    **dict.fromkeys(("algorithms", "solvers"), "portfolio"),
    **dict.fromkeys(("handoff", "triage", "reject"), "gate"),
}

# Two examples of each command, without `ogive` and its name.
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
    "leaderboard": ("scores.csv", "scores.parquet --groups family --dimensions task --out board"),
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


def contents() -> dict[str, dict[str, str]]:
    """Return the line of each command by heading: those of `CONTENTS`, and those of studies."""
    panels = {panel: dict(lines) for panel, lines in CONTENTS.items()}
    for study in STUDIES.values():
        if study.command:
            panels.setdefault(study.panel, {}).setdefault(study.command, study.help)
    return panels


def examples_of(name: str) -> list[str]:
    """Return the examples of a command as they are typed."""
    return [" ".join(filter(None, ["ogive", name, each])) for each in EXAMPLES.get(name, ())]
