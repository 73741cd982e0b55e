"""Item health: power on planted problems, false alarms on clean tables, and speed.

    python benchmarks/health.py            # all tables, a few minutes
    python benchmarks/health.py --runs 20  # fewer simulations

Responses are simulated from a 2PL. Planted problems: reversed keys of 5 % of the items, three items
copied with 5 % of the responses changed, and one respondent of average ability that knows
some of its hard items.
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np
import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.checks.residuals import judged_together
from ogive.checks.respondent_fit import judged_by_hard_items

SIZES = ((30, 300), (100, 100), (200, 100))
FEW = tuple((n, m) for n in (3, 5, 8, 12, 20, 30) for m in (100, 450))
GIVEN = 30  # hard answers that the respondent of average ability is given
KNOWN = (0.15, 0.5)  # shares of the items that are hard for the respondent
HARD = 0.3
COPIES, CHANGED, WRONG = 3, 0.05, 0.05


def clean(n: int, m: int, seed: int) -> np.ndarray:
    """Simulate responses of a 2PL without planted problems."""
    return og.simulate("2pl", n, m, random_state=seed).responses.to_frame().to_numpy(copy=True)


def with_bad_items(
    n: int, m: int, seed: int
) -> tuple[np.ndarray, np.ndarray, list[tuple[int, int]]]:
    """Return responses, the reversed keys, and the copied items."""
    values = clean(n, m, seed)
    random = np.random.default_rng(seed)
    order = random.permutation(m)
    bad = np.zeros(m, dtype=bool)
    bad[order[: round(WRONG * m)]] = True
    values[:, bad] = 1 - values[:, bad]
    rest = order[round(WRONG * m) :]
    pairs = [tuple(sorted((int(rest[2 * k]), int(rest[2 * k + 1])))) for k in range(COPIES)]
    for first, second in pairs:
        flipped = random.random(n) < CHANGED
        values[:, second] = np.where(flipped, 1 - values[:, first], values[:, first])
    return values, bad, pairs  # type: ignore[return-value]


def with_a_leak(n: int, m: int, seed: int, share: float) -> tuple[np.ndarray, int]:
    """Return responses, and the respondent of average ability that knows some hard items."""
    made = og.simulate("2pl", n, m, random_state=seed)
    values, truth = made.responses.to_frame().to_numpy(copy=True), made.truth
    ability = truth.abilities["ability"].to_numpy()
    who = int(np.argsort(ability)[n // 2])
    slope, place = (truth.items[name].to_numpy() for name in ("discrimination", "difficulty"))
    chance = 1 / (1 + np.exp(-slope * (ability[who] - place)))
    known = (chance < HARD) & (np.random.default_rng(seed).random(m) < share)
    values[who, known] = 1
    return values, who


def with_given_answers(n: int, m: int, seed: int) -> tuple[np.ndarray, int]:
    """Return responses, and the respondent of average ability that was given hard answers."""
    before = clean(n, m, seed)
    values, who = with_a_leak(n, m, seed, 1.0)
    given = np.flatnonzero(values[who] != before[who])
    values[who] = before[who]
    values[who, np.random.default_rng(seed).permutation(given)[:GIVEN]] = 1
    return values, who


def item_rows(runs: int) -> list[tuple[object, ...]]:
    """Measure power and false alarms for items."""
    rows = []
    for n, m in SIZES:
        found = np.zeros((runs, 8))
        for seed in range(runs):
            sound = og.item_health(clean(n, m, seed)).items
            found[seed, :3] = [
                sound["significantly_negative"].mean(),
                sound["suspect_key"].mean(),
                (sound["duplicate_of"] != "").any(),
            ]
            values, bad, pairs = with_bad_items(n, m, seed)
            health = og.item_health(values)
            items = health.items
            names = [(items.index[i], items.index[j]) for i, j in pairs]
            told = set(zip(health.duplicates["item"], health.duplicates["other"], strict=True))
            found[seed, 3:] = [
                items["significantly_negative"].to_numpy()[bad].mean(),
                items["suspect_key"].to_numpy()[bad].mean(),
                items["suspect_key"].to_numpy()[~bad].mean(),
                np.mean([pair in told for pair in names]),
                len(told - set(names)) > 0,
            ]
        rows.append((n, m, *(f"{value:.3f}" for value in found.mean(axis=0))))
    return rows


def looked_at(values: np.ndarray) -> pd.DataFrame:
    """Run the part of item health about hard items."""
    table = og.Responses(values)
    found = og.calibrate(table)
    ability = found.abilities()["ability"].to_numpy()
    parts = list(judged_together(found, table, ability))
    return pd.DataFrame(judged_by_hard_items(parts, table.n_respondents))


def respondent_rows(runs: int) -> list[tuple[object, ...]]:
    """Measure power and false alarms for respondents."""
    rows = []
    for n, m in (*SIZES, (30, 1000)):
        p, any_hint, false = [], [], []
        hits: dict[float, list[bool]] = {share: [] for share in KNOWN}
        single: dict[float, list[bool]] = {share: [] for share in KNOWN}
        for seed in range(runs):
            frame = looked_at(clean(n, m, seed))
            p.extend(frame["excess_p"].dropna())
            any_hint.append(frame["hint"].any())
            for share in KNOWN:
                values, who = with_a_leak(n, m, seed, share)
                frame = looked_at(values)
                hits[share].append(frame["hint"].iloc[who])
                single[share].append(frame["excess_p"].iloc[who] < 0.05)
                false.append(np.delete(frame["hint"].to_numpy(), who).any())
        level = [f"{np.mean(np.array(p) < at):.4f}" for at in (0.05, 0.01)]
        power = [f"{np.mean(hits[s]):.2f} ({np.mean(single[s]):.2f})" for s in KNOWN]
        rows.append((n, m, *level, f"{np.mean(any_hint):.3f}", *power, f"{np.mean(false):.3f}"))
    return rows


def few_rows(runs: int) -> list[tuple[object, ...]]:
    """Measure false hints with few respondents, and whether hard answers that one knows show."""
    rows = []
    for n, m in FEW:
        judged, hints, boards, found, others = 0, 0, 0, 0, 0
        for seed in range(runs):
            frame = looked_at(clean(n, m, seed))
            judged += int(frame["excess_z"].notna().sum())
            hints += int(frame["hint"].sum())
            boards += bool(frame["hint"].any())
            values, who = with_given_answers(n, m, seed)
            hint = looked_at(values)["hint"].to_numpy()
            found += bool(hint[who])
            others += bool(np.delete(hint, who).any())
        per_model = f"{hints:,} of {judged:,}" if judged else "not judged"
        power = f"{found / runs:.2f}" if judged else "not judged"
        rows.append((n, m, per_model, f"{boards / runs:.3f}", power, f"{others / runs:.3f}"))
    return rows


def real_rows() -> list[tuple[object, ...]]:
    """Return time tables of realistic size, and show the first findings."""
    rows = []
    for name in ("metabench_arc_2pl", "metabench_mmlu_3pl", "helm_lite_binary"):
        frame = pd.read_csv(SHARED / "data" / "llm" / f"{name}_responses.csv.gz")
        by = None
        if "scenario" in frame:
            by = list(frame["scenario"])
            table = og.Responses(frame.drop(columns=["scenario", "item"]).to_numpy().T)
        else:
            table = og.Responses(frame.drop(columns="respondent").to_numpy())
        begin = perf_counter()
        health = og.item_health(table, by=by)
        took = perf_counter() - begin
        shape = f"{table.n_respondents:,} × {table.n_items:,}"
        state = health.saturation["state"].iloc[0]
        rows.append((name, shape, f"{took:.1f}", health.meaning, state, len(health.hints)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="simulations of each size")
    runs = parser.parse_args().runs
    print(machine())
    print_table(
        f"Items, {runs} simulations: shares of items, of copied pairs, and of tables with an alarm",
        [
            *("respondents", "items", "clean: negative", "clean: suspect key"),
            *(
                "clean: tables with a duplicate",
                "reversed keys: negative",
                "reversed keys: suspect",
            ),
            *("right keys: suspect", "copied pairs found", "tables with another pair"),
        ],
        item_rows(runs),
    )
    print_table(
        f"Respondents, {runs} simulations: p-values without a leak; hints (in brackets: p < 0.05)",
        [
            *("respondents", "items", "p < 0.05", "p < 0.01", "tables with a hint"),
            *(f"knows {share:.0%} of hard items" for share in KNOWN),
            "tables with a false hint",
        ],
        respondent_rows(runs),
    )
    print_table(
        f"Few respondents, {runs} simulations: false hints, and hints at one that was given "
        f"{GIVEN} hard answers (or as many as it missed)",
        [
            *("respondents", "items", "false hints", "tables with a false hint"),
            *("hints at the one", "tables with a hint at another"),
        ],
        few_rows(runs),
    )
    print_table(
        "Language models",
        ["table", "respondents × items", "seconds", "items", "saturation", "hints"],
        real_rows(),
    )


if __name__ == "__main__":
    main()
