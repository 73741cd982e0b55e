"""Glicko-2: many players, many periods, everyone against everyone.

python benchmarks/ratings.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from common import machine, print_table
from ogive.stats.glicko2 import new_players, rate_period

N_PERIODS = 100


def measure(n_players: int) -> tuple[object, ...]:
    random = np.random.default_rng(1)
    strength = random.normal(size=n_players)
    chance = 1.0 / (1.0 + np.exp(strength - strength[:, None]))
    ratings, spent = new_players(n_players), 0.0
    for _ in range(N_PERIODS):
        above = np.triu(random.random(chance.shape) < chance, 1).astype(float)
        outcomes = above + np.tril(1.0 - above.T, -1)
        begin = perf_counter()
        ratings = rate_period(ratings, outcomes)
        spent += perf_counter() - begin
    games = N_PERIODS * n_players * (n_players - 1) // 2
    found = np.corrcoef(ratings.rating, strength)[0, 1]
    truth = 1500 + 400 / np.log(10) * (strength - strength.mean())
    inside = np.mean((ratings.low < truth) & (truth < ratings.high))
    name = f"{n_players:,} × {N_PERIODS}"
    return name, f"{games:,}", f"{spent:.2f}", f"{found:.4f}", f"{inside:.1%}"


def main() -> None:
    print(f"\n## Ratings\n\n{machine()}.")
    print_table(
        "Glicko-2, a round robin in every period; strengths are standard normal",
        ("players × periods", "games", "s", "correlation with strength", "within the 95 % range"),
        [measure(n) for n in (19, 100, 1_000)],
    )


if __name__ == "__main__":
    main()
