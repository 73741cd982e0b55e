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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import ogive as og
from common import machine, print_table, seconds

SHARE, SIZE = 0.1, 0.6
NAMES = ("first", "second", "third")


@dataclass(frozen=True)
class Setting:
    """How groups are drawn; each is ahead of the one before, the last finds some items easier."""

    sizes: tuple[int, ...]
    ahead: float  # in standard deviations of ability
    n_items: int = 40
    model: str = "2pl"
    missing: float = 0.0  # share of the cells
    skewed: bool = False  # abilities are exponential, with a long tail upwards


SETTINGS = {
    "equal ability": Setting((500, 500), 0.0),
    "1 sd apart": Setting((500, 500), 1.0),
    "1 sd apart, unequal sizes": Setting((170, 30), 1.0),
    "1 sd apart, a large and a small group": Setting((1500, 60), 1.0),
    "1 sd apart, few": Setting((20, 20), 1.0),
    "1 sd apart, fewer": Setting((15, 15), 1.0),
    "1 sd apart, drawn by a 3PL": Setting((1000, 1000), 1.0, model="3pl"),
    "1 sd apart, 10 items": Setting((1000, 1000), 1.0, 10),
    "three groups, 0.5 sd apart each": Setting((400, 300, 300), 0.5),
    "1 sd apart, 30 % of cells missing": Setting((500, 500), 1.0, missing=0.3),
    "1 sd apart, skewed ability": Setting((500, 500), 1.0, skewed=True),
}
SPLITS = 2
STEEP = 1.5  # log-odds of the second group by a standard deviation of the score
VISIBLE = 0.05  # share of the second group whose response was changed


def simulated(name: str, seed: int, *, planted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return responses, groups and which items differ."""
    setting, random = SETTINGS[name], np.random.default_rng(seed)
    items = og.simulate(setting.model, 2, setting.n_items, random_state=seed).truth.items
    differs = np.zeros(setting.n_items, dtype=bool)
    if planted:
        count = max(1, round(SHARE * setting.n_items))
        differs[random.choice(setting.n_items, count, replace=False)] = True
    parts = []
    for k, n in enumerate(setting.sizes):
        own = items.copy()
        if k == len(setting.sizes) - 1:
            own["difficulty"] -= np.where(differs, SIZE / items["discrimination"], 0.0)
        place = random.exponential(1.0, n) - 1 if setting.skewed else random.normal(0.0, 1.0, n)
        drawn = og.simulate(
            setting.model,
            items=own,
            abilities=k * setting.ahead + place,
            random_state=int(random.integers(1 << 30)),
        )
        parts.append(drawn.responses.to_frame())
    values = np.concatenate(parts)
    if setting.missing:
        values[random.random(values.shape) < setting.missing] = np.nan
    return values, np.repeat(NAMES[: len(parts)], setting.sizes), differs


def split(table: og.Responses, seed: int, *, planted: bool) -> tuple[np.ndarray, np.ndarray]:
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


def called_different(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Which items are called different in any group; False where they could not be compared."""
    found = og.differential(values, groups, reference="first", model="2pl", progress=False)
    names = [f"item_{k + 1}" for k in range(values.shape[1])]
    return np.isin(names, found.differing)


def on_simulations(replications: int) -> list[tuple[object, ...]]:
    """Measure false alarms where nothing differs, and both where some items do."""
    rows = []
    for name, setting in SETTINGS.items():
        quiet, false, hits = [], [], []
        for seed in range(replications):
            values, groups, _ = simulated(name, seed, planted=False)
            quiet.append(called_different(values, groups).mean())
            values, groups, differs = simulated(name, 1000 + seed, planted=True)
            called = called_different(values, groups)
            false.append(called[~differs].mean())
            hits.append(called[differs].mean())
        rows.append(
            (
                *(name, " + ".join(map(str, setting.sizes)), setting.n_items),
                *(f"{np.mean(quiet):.1%}", f"{np.mean(np.array(quiet) > 0):.0%}"),
                *(f"{np.mean(false):.1%}", f"{np.mean(hits):.0%}"),
            )
        )
    return rows


def on_tables(folder: Path) -> list[tuple[object, ...]]:
    """Measure the share of items that are called different, or drifted, by the split alone."""
    rows = []
    for path in sorted(folder.glob("metabench_*_responses.csv.gz")):
        table = og.read_responses(path)
        alone, links, false, hits = [], [], [], []
        for seed in range(SPLITS):
            second, values = split(table, seed, planted=False)
            groups = np.where(second, "second", "first")
            found = og.differential(table, groups, reference="first", progress=False)
            alone.append(found.items["differs"].mean())
            banks = [
                og.calibrate(table.select(respondents=rows_), "2pl", progress=False)
                for rows_ in (~second, second)
            ]
            links.append(og.link(*banks).anchors["drifted"].mean())
            _, changed = split(table, seed, planted=True)
            found = og.differential(changed, groups, reference="first", progress=False)
            turned = (changed != values)[second].mean(axis=0)
            called = found.items["differs"].to_numpy()
            false.append(called[turned == 0].mean())
            hits.append(called[turned > VISIBLE].mean())
        means = [f"{np.mean(each):.1%}" for each in (alone, links, false, hits)]
        rows.append((path.name.split("_")[1], *table.shape, *means))
    return rows


def beside_mirt() -> list[tuple[object, ...]]:
    """Likelihood ratios of items that differ, by fits of both groups with mirt (PyPI) and here.

    The same anchors for both: the items that do not differ. mirt frees the parameters of an item of
    a 2PL in each group; here, curves need not follow a 2PL.
    """
    import mirt

    rows: list[tuple[object, ...]] = []
    for name in ("equal ability", "1 sd apart"):
        table, groups, differs = simulated(name, 0, planted=True)
        anchors = np.flatnonzero(~differs)
        theirs = mirt.dif(
            table.astype(int),
            groups,
            anchors=anchors.tolist(),
            scheme="add",
            n_quadpts=61,
            tol=1e-6,
        )
        named = [f"item_{k + 1}" for k in anchors]
        ours = og.differential(table, groups, model="2pl", anchors=named, progress=False).to_frame()
        for k in np.flatnonzero(differs):
            here = ours["likelihood_ratio"].iloc[k]
            rows.append((name, k + 1, f"{theirs['statistic'].iloc[k]:.1f}", f"{here:.1f}"))
    return rows


def main() -> None:
    """Print all tables."""
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
    try:
        print_table(
            "Likelihood ratios of planted items, the others as anchors",
            ("groups", "item", "mirt (PyPI)", "ogive"),
            beside_mirt(),
        )
    except ImportError:
        print("\nmirt is not installed, so it is left out.")
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
