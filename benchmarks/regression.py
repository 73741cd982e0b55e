"""Whether abilities of regressors, from their errors on some instances, predict those on others.

Half of the test instances are calibrated, and abilities are compared with the mean absolute errors
on the other half (Spearman), beside the mean score and the mean absolute error of the first half,
which need no model.

python benchmarks/regression.py
"""

from __future__ import annotations

import numpy as np
from scipy.stats import spearmanr

import ogive as og
from common import print_table
from ogive.irt.constrained_scales import ERROR_MODELS, calibrate_equal_slopes

SETS = ("diabetes", "friedman1", "friedman2")
SEEDS = range(5)


def main() -> None:
    shown = []
    for name in SETS:
        rows = np.array([compared(name, seed) for seed in SEEDS])
        mean, error = rows.mean(axis=0), rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        cells = [f"{m:.2f} ± {e:.2f}" for m, e in zip(mean, error, strict=True)]
        shown.append((name, *cells))
    print_table(
        "Spearman of 73 regressors with their errors elsewhere; mean and error over five splits",
        (
            "data set",
            "ability, free slopes",
            "share of negative slopes",
            "ability, equal slopes",
            "beta",
            "graded",
            "mean score",
            "mean absolute error",
        ),
        shown,
    )


def compared(name: str, seed: int) -> list[float]:
    split = og.split_dataset(og.load_dataset(f"sklearn:{name}"), test_size=0.4, random_state=seed)
    answers = og.run_pool(split, "regressors", cv=0, random_state=seed, progress=False)
    errors = np.abs(answers.predictions - split.y_test)
    table = answers.responses(split.y_test)
    first = np.arange(errors.shape[1]) % 2 == 0
    part, elsewhere = table.select(items=first), -errors[:, ~first].mean(axis=1)
    free = og.calibrate(part, og.Continuous(bounds=(0.0, 1.0)))
    equal = calibrate_equal_slopes(part)
    guesses = (
        free.abilities()["ability"],
        equal.abilities()["ability"],
        *(ERROR_MODELS[name](part).abilities()["ability"] for name in ("beta", "graded")),
        part.to_frame().mean(axis=1),
        -errors[:, first].mean(axis=1),
    )
    found = [float(spearmanr(guess, elsewhere)[0]) for guess in guesses]
    negative = float((free.items["scaling"] < 0).mean())
    return [found[0], negative, *found[1:]]


if __name__ == "__main__":
    main()
