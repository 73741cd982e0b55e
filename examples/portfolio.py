"""Which of six solvers to keep: seconds on 300 made-up problems, cut off at ten minutes.

Run with: python examples/portfolio.py
"""

import numpy as np
import pandas as pd

import itemwise as iw

CUTOFF = 600
random = np.random.default_rng(0)
hardness = random.normal(size=(300, 1))
# For each solver: log-seconds on a middling problem, how they rise with hardness, their scatter.
SOLVERS = {
    "sprinter": (1.0, 3.0, 0.6),
    "all-rounder": (1.8, 1.6, 0.5),
    "old all-rounder": (2.6, 1.7, 0.5),
    "heavyweight": (3.2, 0.5, 0.4),
    "gambler": (3.0, 1.4, 2.0),
    "contrarian": (4.8, -0.5, 0.7),
}
middle, rise, scatter = np.array(list(SOLVERS.values())).T
log_seconds = middle + rise * hardness + scatter * random.normal(size=(300, len(SOLVERS)))
seconds = pd.DataFrame(
    np.exp(log_seconds).clip(max=CUTOFF),
    index=[f"problem {k + 1}" for k in range(300)],
    columns=list(SOLVERS),
)

found = iw.portfolio(seconds, better="lower", cutoff=CUTOFF)
columns = ["consistency", "consistency_se", "difficulty_limit", "difficulty_limit_se", "anomalous"]
table = found.algorithms[columns].join(found.occupancy(0.01))
print(table.sort_values("occupancy", ascending=False).round(2).to_string())
for sentence in found.sentences():
    print(sentence)

print()
for epsilon in (0.01, 0.0):
    print(f"ε = {epsilon:g}:", found.select(epsilon, size=3).meaning)
gaps = iw.compare_portfolios(found, epsilon=0.0)
shown = gaps.frame[gaps.frame["size"].isin([1, 3])].drop(columns="folds")
print("\nSeconds lost against the best of all six:")
print(shown.round(1).to_string(index=False))

found.plot("curves").save("curves.png")
found.plot("strengths").save("strengths.png")
gaps.plot().save("gaps.png")
