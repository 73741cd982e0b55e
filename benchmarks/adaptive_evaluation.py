"""Adaptive evaluation of language models: the score on all items, predicted from a few.

    python benchmarks/adaptive_evaluation.py [ARC] [MMLU]

The data are responses from the Open LLM Leaderboard to ARC (100 items) and MMLU (102 items). The
bank is calibrated on 80 % of the models, and the errors are measured on the others; models with
identical responses stay on one side. Model and selector are chosen on the 80 % alone, by
cross-validation. Numbers after ± are standard errors.
"""

from __future__ import annotations

import sys
from time import perf_counter

import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.study_tables import copies, grouped_folds

BENCHMARKS = {"ARC": "arc_2pl", "MMLU": "mmlu_3pl"}
SEED = 1


def responses(name: str) -> og.Responses:
    file = SHARED / "data" / "llm" / f"metabench_{BENCHMARKS[name]}_responses.csv.gz"
    return og.Responses.from_frame(pd.read_csv(file, index_col="respondent"))


def choices(name: str, known: og.Responses) -> list[list[object]]:
    rows: list[list[object]] = []
    for model in ("2pl", "3pl", "4pl"):
        for selector in ("information", "score"):
            found = og.replay_adaptively(
                known, sizes=[10, 25], method="adaptive", model=model, selector=selector, cv=3
            )
            adaptive = found.errors[found.errors["method"] == "adaptive"]
            rows.append([name, model, selector, *(f"{mae:.4f}" for mae in adaptive["mae"])])
    return rows


def figures(name: str, known: og.Responses, unseen: og.Responses) -> list[list[object]]:
    begin = perf_counter()
    found = og.replay_adaptively(known, unseen)
    spent, different = perf_counter() - begin, len(set(copies(unseen)))
    print(f"{name}: {unseen.n_respondents} unseen models ({different} different), {spent:.1f} s")
    return [
        [
            name,
            row.method,
            row.n_items,
            f"{row.mae:.4f} ± {row.mae_se:.4f}",
            f"{row.rmse:.4f}",
            f"{row.bias:+.4f}",
            f"{row.spearman:.3f}",
            f"{row.coverage:.3f}",
            "" if pd.isna(row.coverage_observed) else f"{row.coverage_observed:.3f}",
        ]
        for row in found.errors.itertuples()
    ]


def batches(name: str, known: og.Responses, unseen: og.Responses) -> list[object]:
    errors = []
    for size in (1, 5, 25):
        found = og.replay_adaptively(known, unseen, sizes=[25], batch_size=size)
        errors.append(f"{found.errors['mae'].iloc[0]:.4f}")
    return [name, *errors]


def main() -> None:
    print(machine())
    chosen, table, batched = [], [], []
    for name in sys.argv[1:] or BENCHMARKS:
        whole = responses(name)
        fold = grouped_folds(copies(whole), 5, SEED)
        known, unseen = whole.select(respondents=fold > 0), whole.select(respondents=fold == 0)
        chosen += choices(name, known)
        table += figures(name, known, unseen)
        batched.append(batches(name, known, unseen))
    head = ["benchmark", "model", "selector", "MAE, 10 items", "MAE, 25 items"]
    print_table("Chosen on the calibration models alone (3 folds)", head, chosen)
    head = ["benchmark", "method", "items", "MAE", "RMSE", "bias", "rank correlation"]
    print_table("Unseen models", [*head, "coverage", "widened"], table)
    head = ["benchmark", "1 at a time", "5 at a time", "25 at once"]
    print_table("Batches: MAE after 25 items", head, batched)


if __name__ == "__main__":
    main()
