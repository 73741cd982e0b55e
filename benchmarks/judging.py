"""Judges and preferences: whether intervals hold, and how long boards of battles take.

python benchmarks/judging.py [replications, 200 by default]
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from scipy.special import ndtri
from scipy.stats import t

import ogive as og
from common import machine, print_table, seconds
from ogive.stats.prediction_powered import prediction_powered

SIDES = np.array(["model_a", "tie", "model_b"])


def battles(
    strengths: np.ndarray, n_prompts: int, per_prompt: int, sd: float, seed: int
) -> pd.DataFrame:
    """Draw battles of random pairs; models differ between prompts by `sd`."""
    random = np.random.default_rng(seed)
    n, m = n_prompts * per_prompt, strengths.size
    prompt = np.repeat(np.arange(n_prompts), per_prompt)
    first = random.integers(0, m, n)
    second = (first + random.integers(1, m, n)) % m
    quality = strengths + sd * random.normal(size=(n_prompts, m))
    apart = quality[prompt, first] - quality[prompt, second]
    weight = np.stack([np.exp(apart / 2), np.full(n, 0.5), np.exp(-apart / 2)])
    ends = np.cumsum(weight / weight.sum(axis=0), axis=0)
    won = SIDES[(random.random(n) > ends[:2]).sum(axis=0)]
    names = np.array([f"model-{k:03d}" for k in range(m)])
    columns = {"model_a": names[first], "model_b": names[second], "winner": won}
    return pd.DataFrame({**columns, "prompt": prompt})


def of_battles(replications: int) -> list[tuple[object, ...]]:
    """Return how often 95 % intervals hold; the truth is what 40,000 prompts give."""
    rows = []
    for m, n_prompts, per_prompt, sd, cluster in (
        (4, 20, 10, 1.0, "prompt"),
        (8, 100, 20, 1.0, "prompt"),
        (8, 100, 20, 1.0, None),
        (10, 300, 1, 0.0, "prompt"),
    ):
        strengths = np.linspace(1, -1, m)
        large = battles(strengths, 40_000, per_prompt, sd, 999)
        truth = og.preferences(large).board.sort_index()
        held: dict[str, list[float]] = {"strength": [], "win_rate": [], "pair": []}
        for seed in range(replications):
            found = og.preferences(
                battles(strengths, n_prompts, per_prompt, sd, seed), cluster=cluster
            )
            frame = found.board.reindex(truth.index)
            for name in ("strength", "win_rate"):
                inside = frame[f"{name}_low"].le(truth[name]) & frame[f"{name}_high"].ge(
                    truth[name]
                )
                held[name].append(inside.mean())
            pairs = found.pairs
            true = truth["strength"][pairs["respondent"]].to_numpy()
            true = true - truth["strength"][pairs["other"]].to_numpy()
            held["pair"].append((pairs["low"].le(true) & pairs["high"].ge(true)).mean())
        shares = [f"{np.mean(each):.1%}" for each in held.values()]
        rows.append((m, n_prompts, per_prompt, sd, cluster or "none", *shares))
    return rows


def judged(
    n_human: int, kind: str, chances: tuple[float, ...], seed: int
) -> tuple[np.ndarray, ...]:
    """Scores of a judge and of people for two models with correlated responses to 1,000 items."""
    random = np.random.default_rng(seed)
    shared = random.normal(size=1000)
    rows = []
    for k, chance in enumerate(chances):
        right = (0.7 * shared + 0.51**0.5 * random.normal(size=1000) < ndtri(chance)) * 1.0
        flip = random.random(1000)
        judge = {
            "useless": (flip < 0.6) * 1.0,
            "perfect": right,
            "5 % wrong": np.where(flip < 0.05, 1 - right, right),
            "kind to the second": np.where((flip < 0.3 * k) & (right == 0), 1.0, right),
        }[kind]
        rows.append((judge, right))
    chosen = np.isin(np.arange(1000), random.permutation(1000)[:n_human])
    judge, right = (np.array([row[k] for row in rows]) for k in (0, 1))
    return judge, np.where(chosen, right, np.nan)


def of_human_labels(replications: int) -> list[tuple[object, ...]]:
    """Return how often 95 % intervals hold, and how long they are beside human labels alone."""
    rows = []
    for n_human in (20, 50, 200):
        for chances in ((0.6, 0.5), (0.9, 0.85)):
            for kind in ("useless", "perfect", "5 % wrong", "kind to the second"):
                held, alone, apart, ratio = [], [], [], []
                for seed in range(replications):
                    judge, human = judged(n_human, kind, chances, seed)
                    found = prediction_powered(judge, human, np.arange(1000), binary=True)
                    reach = t.ppf(0.975, found.freedom)
                    low, high = found.both.limits(reach, 0.0, 1.0)
                    less, more = found.human.limits(reach, 0.0, 1.0)
                    held.append(((low <= chances) & (chances <= high)).mean())
                    alone.append(((less <= chances) & (chances <= more)).mean())
                    ratio.append((high - low).mean() / (more - less).mean())
                    joint = found.covariance
                    se = np.sqrt(joint[0, 0] + joint[1, 1] - 2 * joint[0, 1])
                    error = np.subtract(*found.both.estimate) - np.subtract(*chances)
                    apart.append(abs(error) <= reach[0] * se)
                shares = [f"{np.mean(each):.1%}" for each in (held, alone, apart)]
                rows.append((n_human, chances, kind, *shares, f"{np.mean(ratio):.2f}"))
    return rows


def ratings(n_items: int, n_judges: int, share: float, seed: int) -> pd.DataFrame:
    """Draw scores from 1 to 4 of five models by judges of different severity and consistency."""
    random = np.random.default_rng(seed)
    severity, clear = np.linspace(0.6, -0.6, n_judges), np.linspace(1.3, 0.7, n_judges)
    quality = np.linspace(1, -1, 5)[:, None] - random.normal(size=n_items)
    quality = quality + random.normal(size=quality.shape)
    cells = np.indices((5, n_items, n_judges)).reshape(3, -1)
    model, item, judge = cells[:, random.random(cells.shape[1]) < share]
    away = np.arange(4) * (quality[model, item] - severity[judge])[:, None] - [0, -1, -1, 0]
    chance = np.exp(clear[judge][:, None] * away)
    ends = np.cumsum(chance / chance.sum(axis=1, keepdims=True), axis=1)[:, :3]
    score = 1 + (random.random((model.size, 1)) > ends).sum(axis=1)
    return pd.DataFrame({"model": model, "item": item, "judge": judge, "score": score})


def of_facets(replications: int) -> list[tuple[object, ...]]:
    """Return how often 95 % intervals of abilities, their differences and severities hold."""
    rows = []
    for n_items, n_judges, share in ((30, 3, 1.0), (100, 3, 1.0), (100, 3, 0.5)):
        held: dict[str, list[float]] = {
            name: [] for name in ("ability", "pair", "severity", "clear")
        }
        for seed in range(replications):
            found = og.facets(ratings(n_items, n_judges, share, seed))
            board, judges = found.board.sort_index(), found.judges
            for name, frame, column, truth in (
                ("ability", board, "ability", np.linspace(1, -1, 5)),
                ("severity", judges, "severity", np.linspace(0.6, -0.6, n_judges)),
                ("clear", judges, "consistency", np.linspace(1.3, 0.7, n_judges)),
            ):
                inside = (frame[f"{column}_low"] <= truth) & (frame[f"{column}_high"] >= truth)
                held[name].append(inside.mean())
            pairs = found.pairs
            true = 0.5 * (pairs["other"].astype(int) - pairs["respondent"].astype(int))
            held["pair"].append(((pairs["low"] <= true) & (pairs["high"] >= true)).mean())
        rows.append((n_items, n_judges, share, *(f"{np.mean(each):.1%}" for each in held.values())))
    return rows


def main() -> None:
    """Print all tables."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"\n## Judges and preferences\n\n{machine()}. {replications} tables per row.")
    print("How often 95 % intervals hold.")
    print_table(
        "Battles: strengths after Bradley, Terry and Davidson",
        (
            *("models", "prompts", "battles per prompt", "sd between prompts", "clusters"),
            *("strengths held", "win rates held", "differences held"),
        ),
        of_battles(replications),
    )
    large = battles(np.random.default_rng(0).normal(size=100), 20_000, 5, 0.0, 0)
    og.preferences(large.iloc[:1000])  # imports
    took = seconds(lambda: og.preferences(large))
    print(f"\n100,000 battles of 100 models on 20,000 prompts: {took:.1f} s.")
    print_table(
        "Human labels that correct a judge: two models, 1,000 items",
        (
            *("labels", "true accuracies", "judge", "accuracies held", "held by labels alone"),
            *("difference held", "length beside labels alone"),
        ),
        of_human_labels(replications),
    )
    few = max(replications // 4, 2)
    print_table(
        f"Facets: five models, scores from 1 to 4 ({few} tables per row)",
        (
            *("items", "judges", "share rated", "abilities held", "differences held"),
            *("severities held", "consistencies held"),
        ),
        of_facets(few),
    )


if __name__ == "__main__":
    main()
