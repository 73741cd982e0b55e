"""Coverage of the leaderboard's intervals of mean grades near the highest and the lowest grade.

    python benchmarks/bounded_means.py

Grades from 0 to 3 of one respondent on items of one kind; the truth is the mean on all items like
these. Four respondents of other strength make the table.
"""

import numpy as np

import ogive as og
from ogive.irt.predicted_accuracy import ends_of, reached
from ogive.stats.intervals import Grouping

DRAWS = 2_000
CHANCES = {  # of grades 0 to 3
    "near the top": (0.0, 0.01, 0.04, 0.95),
    "high": (0.02, 0.05, 0.15, 0.78),
    "middle": (0.2, 0.3, 0.3, 0.2),
    "all or nothing": (0.08, 0.0, 0.0, 0.92),
    "near the bottom": (0.9, 0.08, 0.02, 0.0),
}


def covered(chances: tuple[float, ...], n_items: int, random: np.random.Generator) -> list[float]:
    """Return share of intervals that hold the true mean, that pass an end, and their mean width."""
    grades = np.arange(4.0)
    truth = float(grades @ chances)
    values = random.choice(grades, (DRAWS, n_items), p=chances)
    values[0, :4] = grades  # so that all grades are seen in the table
    table = og.Responses(values, kind="graded")
    own = np.arange(n_items)
    found = reached(
        values,
        None,
        Grouping.of(np.zeros_like(own), own),
        np.ones(n_items),
        0.95,
        bounded=False,
        ends=ends_of(table),
    )
    held = (found.low <= truth + 1e-9) & (found.high >= truth - 1e-9)
    beyond = (found.low < 0) | (found.high > 3)
    return [float(x[1:].mean()) for x in (held, beyond, found.high - found.low)]


if __name__ == "__main__":
    print("| grades | items | covered | beyond the grades | width |\n|---|---:|---:|---:|---:|")
    draws = np.random.default_rng(0)
    for name, chances in CHANCES.items():
        for n_items in (10, 20, 60, 200):
            held, beyond, width = covered(chances, n_items, draws)
            print(f"| {name} | {n_items} | {held:.3f} | {beyond:.3f} | {width:.2f} |")
