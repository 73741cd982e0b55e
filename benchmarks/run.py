"""Run all benchmarks one after the other and print Markdown.

python benchmarks/run.py [--quick]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = [
    "speed.py",
    "estep.py",
    "peers.py",
    "scores.py",
    "ratings.py",
    "adaptive.py",
    "capability.py",
    "gates.py",
    "rest.py",
    "decoding.py",
    "regression.py",
    "published.py",
    "batches.py",
    "confusion.py",
    "difficulty.py",
    "alarm.py",
    "portfolio.py",
    "algorithm_selection.py",
    "logs.py",
    "leaderboard.py",
    "judging.py",
    "health.py",
    "adaptive_evaluation.py",
    "short_benchmarks.py",
    "linking.py",
    "many_tasks.py",
    "dimensions.py",
    "report.py",
    "view.py",
    "at_size.py",
    "coverage.py",
    "claims.py",
    "populations.py",
    "nominal.py",
    "explained.py",
    "diagnoses.py",
    "robust_errors.py",
    "choices.py",
    "labels.py",
    "label_errors.py",
    "verified_labels.py",
    "eval_statistics.py",
    "witnesses.py",
]
REPEATED = (
    "coverage.py",
    "claims.py",
    "populations.py",
    "nominal.py",
    "explained.py",
    "dimensions.py",
    "diagnoses.py",
    "robust_errors.py",
)  # which take a number of replications


def main() -> None:
    here = Path(__file__).parent
    for script in SCRIPTS:
        arguments = ["20"] if "--quick" in sys.argv and script in REPEATED else []
        subprocess.run([sys.executable, str(here / script), *arguments], check=True)


if __name__ == "__main__":
    main()
