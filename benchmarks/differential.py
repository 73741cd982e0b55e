"""False alarms and power of `differential`, and false alarms of `link`, where groups differ.

python benchmarks/differential.py [replications] [folder of response tables]

Simulated groups first: a tenth of the items get easier for the second group by 0.6 log-odds, or
none. Then real tables (CSV, respondents × items), split by chance so that the better respondents
are more likely in the second group: no item differs. With planted differences, as many wrong
responses of the second group become right as raise its share of a tenth of the items by 0.6
log-odds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import itemwise as iw
from common import machine, print_table, seconds

SHARE, SIZE = 0.1, 0.6
# Name: sizes of the groups, difference in ability, items, model that draws the responses.
SETTINGS = {
    "equal ability": ((500, 500), 0.0, 40, "2pl"),
    "1 sd apart": ((500, 500), 1.0, 40, "2pl"),
    "1 sd apart, unequal sizes": ((170, 30), 1.0, 40, "2pl"),
    "1 sd apart, few": ((20, 20), 1.0, 40, "2pl"),
    "1 sd apart, drawn by a 3PL": ((1000, 1000), 1.0, 40, "3pl"),
    "1 sd apart, 10 items": ((1000, 1000), 1.0, 10, "2pl"),
}
SPLITS = 2
STEEP = 1.5  # log-odds of the second group by a standard deviation of the score
VISIBLE = 0.05  # share of the second group whose response was changed


def simulated(name: str, seed: int, *, planted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return responses, groups and which items differ."""
    sizes, ahead, n_items, model = SETTINGS[name]
    random = np.random.default_rng(seed)
    items = iw.simulate(model, 2, n_items, random_state=seed).truth.items
    differs = np.zeros(n_items, dtype=bool)
    if planted:
        differs[random.choice(n_items, max(1, round(SHARE * n_items)), replace=False)] = True
    other = items.copy()
    other["difficulty"] -= np.where(differs, SIZE / items["discrimination"], 0.0)
    parts = [
        iw.simulate(
            model,
            items=each,
            abilities=random.normal(mean, 1.0, n),
            random_state=int(random.integers(1 << 30)),
        ).responses.to_frame()
        for each, mean, n in zip((items, other), (0.0, ahead), sizes, strict=True)
    ]
    return np.concatenate(parts), np.repeat(["first", "second"], sizes), differs


def split(table: iw.Responses, seed: int, *, planted: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which respondents are in the second group, and responses with planted differences."""
    random = np.random.default_rng(seed)
    values = table.to_frame().to_numpy(copy=True)
    score = np.nanmean(values, axis=1)
    z = (score - score.mean()) / score.std()
    second = random.random(len(z)) < 1 / (1 + np.exp(-STEEP * z))
    if planted:
        chosen = random.choice(values.shape[1], round(SHARE * values.shape[1]), replace=False)
        for item in chosen:
            share = np.nanmean(values[second, item])
            wanted = 1 / (1 + np.exp(-(np.log(share / (1 - share)) + SIZE)))
            turned = second & (random.random(len(z)) < (wanted - share) / (1 - share))
            values[turned, item] = 1.0
    return second, values


def on_simulations(replications: int) -> list[tuple[object, ...]]:
    """Measure false alarms where nothing differs, and both where some items do."""
    rows = []
    for name, (sizes, _, n_items, _) in SETTINGS.items():
        quiet, false, hits = [], [], []
        for seed in range(replications):
            values, groups, _ = simulated(name, seed, planted=False)
            found = iw.differential(values, groups, reference="first", model="2pl", progress=False)
            quiet.append(found.items["differs"].mean())
            values, groups, differs = simulated(name, 1000 + seed, planted=True)
            found = iw.differential(values, groups, reference="first", model="2pl", progress=False)
            called = found.items["differs"].reindex([f"item_{k + 1}" for k in range(n_items)])
            called = called.fillna(value=False).to_numpy(dtype=bool)
            false.append(called[~differs].mean())
            hits.append(called[differs].mean())
        rows.append(
            (
                *(name, f"{sizes[0]} + {sizes[1]}", n_items, f"{np.mean(quiet):.1%}"),
                *(f"{np.mean(np.array(quiet) > 0):.0%}", f"{np.mean(false):.1%}"),
                f"{np.mean(hits):.0%}",
            )
        )
    return rows


def on_tables(folder: Path) -> list[tuple[object, ...]]:
    """Measure the share of items that are called different, or drifted, by the split alone."""
    rows = []
    for path in sorted(folder.glob("metabench_*_responses.csv.gz")):
        table = iw.read_responses(path)
        alone, links, false, hits = [], [], [], []
        for seed in range(SPLITS):
            second, values = split(table, seed, planted=False)
            groups = np.where(second, "second", "first")
            found = iw.differential(table, groups, reference="first", progress=False)
            alone.append(found.items["differs"].mean())
            banks = [
                iw.calibrate(table.select(respondents=rows_), "2pl", progress=False)
                for rows_ in (~second, second)
            ]
            links.append(iw.link(*banks).anchors["drifted"].mean())
            _, changed = split(table, seed, planted=True)
            found = iw.differential(changed, groups, reference="first", progress=False)
            turned = (changed != values)[second].mean(axis=0)
            called = found.items["differs"].to_numpy()
            false.append(called[turned == 0].mean())
            hits.append(called[turned > VISIBLE].mean())
        means = [f"{np.mean(each):.1%}" for each in (alone, links, false, hits)]
        rows.append((path.name.split("_")[1], *table.shape, *means))
    return rows


def main() -> None:
    """Print both tables."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    print(f"\n## Differences between groups\n\n{machine()}. {replications} tables per row, 2PL.")
    rows: list[tuple[object, ...]] = []
    took = seconds(lambda: rows.extend(on_simulations(replications)))
    print_table(
        f"Simulated groups; {SIZE} log-odds planted in a tenth of the items ({took:.0f} s)",
        (
            *("groups", "respondents", "items", "items called different where none is"),
            *("tables with one", "false alarms beside planted ones", "planted ones found"),
        ),
        rows,
    )
    if len(sys.argv) > 2:
        print_table(
            f"Real tables, split by ability {SPLITS} times",
            (
                *("table", "respondents", "items", "called different", "drifted, by link (2PL)"),
                "false alarms beside planted ones",
                f"found of those with more than {VISIBLE:.0%} changed",
            ),
            on_tables(Path(sys.argv[2])),
        )


if __name__ == "__main__":
    main()
