"""Few respondents: what diagnoses, plans, short forms and comparisons of groups claim of them.

    python benchmarks/diagnoses.py [TABLES] [dimensions] [plan] [short] [chance] [copies]
        [dominance] [reliability] [keys]

Everything is simulated. Items that can be guessed are right by chance in a quarter of the cases.
Two abilities are independent, with half of the items each. Plans are for the true difference of
two models; with the items that a plan names, tables are drawn anew and compared by a paired t-test.
Short forms are judged on 1,500 new respondents. Chance answers have an accuracy per item, and
nothing else; facts are noise. Plans and chance answers take more tables than asked, short ones too.
A copy is one of twelve rows of one ability, twice. True reliability is the squared correlation of
abilities with what total scores tell of them, among 30,000 respondents. Keys are turned at random.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import norm, ttest_rel
from sklearn.metrics import average_precision_score

import ogive as og
from common import machine, print_table
from ogive.errors import InputError

SHAPES = ((12, 40), (30, 100), (60, 100), (100, 100))  # 450 items take minutes per row
TRIES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "1 each": lambda _, n: np.ones((2, n), int),
    "5 each": lambda _, n: np.full((2, n), 5),
    "5 of one model, 1 of the other": lambda _, n: np.repeat([[5], [1]], n, axis=1),
    "10 and 2": lambda _, n: np.repeat([[10], [2]], n, axis=1),
    "1 to 5 per item": lambda random, n: np.tile(random.integers(1, 6, n), (2, 1)),
    "1 to 5 per cell": lambda random, n: random.integers(1, 6, (2, n)),
}
PILOT = 300
Floats = NDArray[np.float64]


def drawn(random: np.random.Generator, n: int, m: int, abilities: int, guessing: float) -> Floats:
    """Return right and wrong answers to items of which each asks for one of the abilities."""
    ability = random.normal(size=(n, abilities))[:, np.arange(m) % abilities]
    slope = np.exp(random.normal(0.2, 0.3, m))
    chance = guessing + (1 - guessing) * expit(slope * (ability - random.normal(0, 1.2, m)))
    return (random.random((n, m)) < chance).astype(float)


def dimensions(tables: int) -> None:
    rows = []
    for n, m in SHAPES:
        row = [f"{n} × {m}"]
        for abilities in (1, 2):
            for guessing in (0.0, 0.25):
                several = 0
                for seed in range(tables):
                    random = np.random.default_rng([seed, n, m])
                    answers = drawn(random, n, m, abilities, guessing)
                    several += og.dimensionality(answers, n_resamples=20).n_dimensions > 1
                row.append(f"{several / tables:.2f}")
        rows.append(row)
    header = ["respondents × items", "one", "one, guessing", "two", "two, guessing"]
    print_table(
        f"Tables said to have several dimensions, by abilities, {tables} each", header, rows
    )


def two_models(random: np.random.Generator, n: int) -> Floats:
    """Return chances of two models on n items."""
    easy = random.normal(0.8, 1.2, n)
    return expit(np.stack([easy + random.normal(0, 0.5, n) + 0.35, easy]))


def plans(tables: int) -> None:
    chance = two_models(np.random.default_rng(0), 2_000_000)
    apart = chance[0] - chance[1]
    variance = apart.var() + (chance * (1 - chance)).sum(axis=0).mean()
    truth = variance * ((norm.ppf(0.975) + norm.ppf(0.8)) / apart.mean()) ** 2
    rows = []
    for name, tries_of in TRIES.items():
        planned, held, found = [], 0, 0
        for seed in range(tables):
            random = np.random.default_rng([seed, 7])
            tries = tries_of(random, PILOT)
            right = random.binomial(tries, two_models(random, PILOT))
            pilot = og.Responses(right / tries, tries=tries)
            row = og.plan(pilot, difference=float(apart.mean())).to_frame().iloc[0]
            planned.append(row["items"])
            held += row["items_low"] <= truth <= row["items_high"]
            fresh = two_models(random, int(row["items"]))
            found += ttest_rel(*(random.random(fresh.shape) < fresh).astype(float)).pvalue < 0.05
        figures = f"{np.mean(planned):,.0f}", f"{held / tables:.2f}", f"{found / tables:.2f}"
        rows.append([name, f"{truth:,.0f}", *figures])
    header = ["tries in the pilot", "items needed", "planned", "interval holds", "power (0.80)"]
    print_table(
        f"Plans for a difference of {apart.mean():.3f} by a pilot of {PILOT} items, {tables} each",
        header,
        rows,
    )


def short_forms(tables: int) -> None:
    rows = []
    for n in (12, 20, 30):
        held: list[list[float]] = []
        for seed in range(tables):
            random = np.random.default_rng([seed, n])
            answers = drawn(random, n + 1500, 60, 1, 0.0)
            short = og.shorten(answers[:n], 10, confidence=0.9, progress=False)
            new = og.Responses(answers[n:], items=short.calibration.item_names)
            told, score = short.predict(new), answers[n:].mean(axis=1)
            error = float(np.abs(told["accuracy"] - score).mean())
            own = short.error.iloc[0]
            covered = (told["accuracy_low"] <= score) & (score <= told["accuracy_high"])
            plain = abs(error - own["mae"]) <= norm.ppf(0.95) * own["mae_se"]
            stated = own["mae_low"] <= error <= own["mae_high"]
            held.append([own["mae"], error, plain, stated, covered.mean()])
        mean = np.mean(held, axis=0)
        rows.append([f"{n} × 60", *(f"{x:.3f}" for x in mean[:2]), *(f"{x:.2f}" for x in mean[2:])])
    header = ["respondents × items", "error stated", "error on new ones"]
    header += ["held by ±1.64 standard errors", "held by its interval", "held by predictions"]
    print_table(f"Short forms of 10 items: 90 % intervals, {tables} tables each", header, rows)


def by_chance(tables: int) -> None:
    rows = []
    for n, m in ((12, 40), (30, 40), (60, 60)):
        refused, claims = np.zeros(2), np.zeros(2)
        for seed in range(tables):
            random = np.random.default_rng([seed, n, m])
            answers = (random.random((n, m)) < random.uniform(0.2, 0.8, m)).astype(int)
            facts = {"fact": random.normal(size=n), "group": ["a", "b"] * (n // 2)}
            table = og.Responses(answers).described(respondents=facts)
            for k, p_of in enumerate((_slope, _groups)):
                try:
                    claims[k] += p_of(table) < 0.05
                except InputError:
                    refused[k] += 1
        shares = np.stack([refused, claims], axis=1).ravel() / tables
        rows.append([f"{n} × {m}", *(f"{x:.2f}" for x in shares)])
    header = ["respondents × items", "slopes refused", "significant", "groups refused"]
    print_table(f"Chance answers, {tables} tables each", [*header, "significant"], rows)


def _slope(table: og.Responses) -> float:
    found = og.explain_ability(table, ["fact"], progress=False)
    return float(found.coefficients.loc["fact", "p"])


def _groups(table: og.Responses) -> float:
    found = og.group_scale(table, "group", progress=False)
    return float(found.populations.drop(index=found.reference)["p"].iloc[0])


def one_ability(seed: int, n: int, m: int, sd: float = 1.0) -> Floats:
    """Return right and wrong answers of equally discriminating items."""
    random = np.random.default_rng(seed)
    ability, difficulty = random.normal(0, sd, n), random.normal(0, 1, m)
    return (random.random((n, m)) < expit(ability[:, None] - difficulty)).astype(float)


def copies(tables: int) -> None:
    several = np.zeros(2, int)
    for seed in range(tables):
        answers = one_ability(seed, 12, 200)
        several[0] += og.dimensionality(answers).n_dimensions > 1
        answers[1] = answers[0]
        several[1] += og.dimensionality(answers).n_dimensions > 1
    rows = [[name, f"{k} of {tables}"] for name, k in zip(("none", "one"), several, strict=True)]
    print_table("Tables of 12 × 200 said to have several dimensions", ["copies", "several"], rows)


def dominance(tables: int) -> None:
    rows = []
    for n, m in ((14, 120), (40, 100), (200, 60), (500, 40)):
        row = [f"{n} × {m}"]
        for correlation in (0.0, 0.5, 0.8, 1.0):
            claims = 0
            for seed in range(tables):
                random = np.random.default_rng(seed)
                shared, own = random.normal(size=(n, 1)), random.normal(size=(n, 2))
                both = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own
                chance = expit(1.5 * (both[:, np.arange(m) % 2] - random.normal(size=m)))
                answers = (random.random((n, m)) < chance).astype(float)
                claims += "is too few" in og.dimensionality(answers).meaning
            row.append(f"{claims} of {tables}")
        rows.append(row)
    header = ["respondents × items", *(f"two, r = {r}" for r in (0, 0.5, 0.8)), "one"]
    print_table("Tables of which one ability is called too few, by abilities", header, rows)


def reliabilities(tables: int) -> None:
    rows = []
    for sd in (0.15, 0.3, 1.0):
        row, true = [f"{sd}"], []
        for n in (8, 15, 40):
            held = 0
            for seed in range(tables):
                truth = _true_reliability(seed, n, sd)
                found = og.reliability(og.calibrate(og.Responses(one_ability(seed, n, 200, sd))))
                held += found.empirical_low <= truth <= found.empirical_high
                true.append(truth)
            row.append(f"{held / tables:.2f}")
        rows.append([row[0], f"{np.mean(true):.2f}", *row[1:]])
    header = ["sd of ability", "true reliability", "8 respondents", "15", "40"]
    print_table(f"Intervals of the reliability that hold it, {tables} tables each", header, rows)


def _true_reliability(seed: int, n: int, sd: float) -> float:
    """Return of total scores on the items of `one_ability`."""
    random = np.random.default_rng(seed)
    random.normal(0, sd, n)
    difficulty = random.normal(0, 1, 200)
    ability = random.normal(0, sd, 30_000)
    chance = expit(ability[:, None] - difficulty)
    total = (random.random(chance.shape, dtype=np.float32) < chance).sum(axis=1)
    told = np.bincount(total, ability) / np.maximum(np.bincount(total), 1)
    return float(np.corrcoef(ability, told[total])[0, 1] ** 2)


def keys(tables: int) -> None:
    rows = []
    for n, m in ((14, 120), (20, 300), (60, 200)):
        for share in (0.02, 0.05):
            precision, right, named, turned = [], 0, 0, 0
            for seed in range(tables):
                random = np.random.default_rng(1000 + seed)
                ability, difficulty = random.normal(size=n), random.normal(size=m)
                slope = np.exp(random.normal(0, 0.4, m))
                chance = expit(slope * (ability[:, None] - difficulty))
                answers = (random.random((n, m)) < chance).astype(float)
                bad = random.choice(m, round(share * m), replace=False)
                answers[:, bad] = 1 - answers[:, bad]
                found = og.label_trouble(og.calibrate(og.Responses(answers), "1pl"))
                wrong = np.isin(found.items, [f"item_{k + 1}" for k in bad])
                precision.append(average_precision_score(wrong, -np.arange(m)))
                suspect = np.asarray(found.suspect)
                right, named = right + (suspect & wrong).sum(), named + suspect.sum()
                turned += bad.size
            row = [f"{n} × {m}", f"{share:.0%}", f"{np.mean(precision):.2f}"]
            rows.append([*row, f"{right} of {turned}", f"{named - right}"])
    header = ["respondents × items", "turned", "average precision", "found", "others named"]
    print_table(f"Keys turned at random, {tables} tables each", header, rows)


PARTS = {
    "dimensions": dimensions,
    "plan": plans,
    "short": short_forms,
    "chance": by_chance,
    "copies": copies,
    "dominance": dominance,
    "reliability": reliabilities,
    "keys": keys,
}
TIMES = {"plan": 10, "short": 3, "chance": 3}


def main() -> None:
    words = sys.argv[1:]
    tables = next((int(word) for word in words if word.isdigit()), 20)
    print(f"\n## Diagnoses of few respondents\n\n{machine()}.")
    for name in [word for word in words if word in PARTS] or PARTS:
        PARTS[name](TIMES.get(name, 1) * tables)


if __name__ == "__main__":
    main()
