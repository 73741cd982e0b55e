"""How many cases a gate leaves to the model, whether its promise holds, and for which classes.

Each of 100 seeds draws a new sample, split and training; half of the gate's cases are held out.
HTRU2 is a balanced sample with the four features of the integrated profile, half of it for the
gate; of the other real sets, seven tenths are. The made sets have 10,000 new cases each, so that
what is measured on them is nearly the truth. Phishing is the set of the package river, which is
only read (`pip install --no-deps river`); it is left out if that is missing. Fits take most of the
time: what they say of each case is kept in a folder, if one is given.

    python benchmarks/gates.py [seeds] [folder]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import binom

import ogive as og
from common import SHARED, machine, print_table
from ogive.capability.case_difficulty import CaseDifficulty
from ogive.capability.class_tests import Cases, held_out_unseen
from ogive.capability.classifier import Classifier, default_model, rows_at
from ogive.capability.guarantees import Guarantee, expected_acceptance, fit_rule, with_offsets
from ogive.capability.rule_learning import FOLDS, curves_by_prediction
from ogive.capability.selective_risk import accepted
from ogive.capability.trust import (
    CAPABILITY,
    LabelledCases,
    PredictedCases,
    Trust,
    as_log_odds,
    candidates,
    choose,
)

SEEDS = int(sys.argv[1]) if len(sys.argv) > 1 else 100
FOLDER = Path(sys.argv[2]) if len(sys.argv) > 2 else None
TABULAR = SHARED / "data" / "tabular"
HELD = 0.5
ALPHA = 0.05
PLAIN = "threshold on probability"
CLASSES = ("HTRU2", "breast cancer", "segment, window", "made: overlap", "made: one in ten")
IN_CLASSES = 0.9  # the target in each class, for which rare classes have enough cases
Draw = tuple[pd.DataFrame, Any, pd.DataFrame, Any]


@cache
def table(name: str) -> pd.DataFrame:
    return pd.read_csv(TABULAR / name)


def parted(X: pd.DataFrame, y: Any, seed: int) -> Draw:
    order = np.random.default_rng(seed).permutation(len(y))
    place = int(0.7 * len(y))
    known, new = order[:place], order[place:]
    return (
        X.iloc[known].reset_index(drop=True),
        y[known],
        X.iloc[new].reset_index(drop=True),
        y[new],
    )


def pulsars(seed: int) -> Draw:
    rows = table("htru2.csv.gz")
    draw, member = np.random.default_rng(seed), rows["class"].to_numpy() == 1
    others = draw.choice(np.flatnonzero(~member), member.sum(), replace=False)
    order = draw.permutation(np.concatenate([np.flatnonzero(member), others]))
    rows = rows.iloc[order].reset_index(drop=True)
    X, y, half = rows.iloc[:, :4], rows["class"].to_numpy(), len(rows) // 2
    return X[:half], y[:half], X[half:].reset_index(drop=True), y[half:]


def tumours(seed: int) -> Draw:
    from sklearn.datasets import load_breast_cancer

    rows = load_breast_cancer(as_frame=True).frame
    return parted(rows.drop(columns="target"), rows["target"].to_numpy(), seed)


def phishing(seed: int) -> Draw:
    places = getattr(find_spec("river"), "submodule_search_locations", None) or [""]
    rows = pd.read_csv(Path(places[0]) / "datasets" / "phishing.csv.gz")
    return parted(rows.iloc[:, :-1], rows.iloc[:, -1].to_numpy(), seed)


def windows(seed: int) -> Draw:
    rows = table("segment.csv.gz")
    return parted(rows.iloc[:, :-1], (rows["class"] == 5).astype(int).to_numpy(), seed)


def eights(seed: int) -> Draw:
    from sklearn.datasets import load_digits

    rows = load_digits(as_frame=True).frame
    return parted(rows.iloc[:, 2:62], (rows["target"] == 8).astype(int).to_numpy(), seed)


def defects(seed: int) -> Draw:
    rows = table("kc1.csv")
    return parted(rows.iloc[:, :-1], rows["defects"].astype(int).to_numpy(), seed)


def made(n: int, distance: float, share: float, noise: float) -> Callable[[int], Draw]:
    """Return two normal classes; where the fourth feature is high, some labels are wrong."""

    def draw(seed: int) -> Draw:
        random = np.random.default_rng(1000 + seed)

        def sample(size: int) -> tuple[pd.DataFrame, Any]:
            y = (random.random(size) < share).astype(int)
            X = random.normal(size=(size, 6))
            X[:, :3] += distance * y[:, None]
            wrong = random.random(size) < noise * (X[:, 3] > 0.5)
            return pd.DataFrame(X, columns=[f"f{k}" for k in range(6)]), np.where(wrong, 1 - y, y)

        return *sample(n), *sample(10_000)

    return draw


SETS: dict[str, tuple[str, Callable[[int], Draw], float]] = {
    "HTRU2": ("htru2", pulsars, 0.97),
    "breast cancer": ("cancer", tumours, 0.97),
    "phishing": ("phishing", phishing, 0.97),
    "segment, window": ("window", windows, 0.97),
    "digits, eight": ("digit8", eights, 0.97),
    "kc1, defects": ("kc1", defects, 0.9),
    "made: overlap": ("overlap", made(1200, 1.5, 0.5, 0.0), 0.95),
    "made: one in ten": ("imbalanced", made(2000, 1.3, 0.1, 0.0), 0.97),
    "made: wrong labels": ("noisy", made(1500, 2.0, 0.4, 0.08), 0.95),
}


@dataclass(frozen=True)
class Sample:
    """What is known of training cases out of fold, of held-out cases and of new ones."""

    learning: LabelledCases
    held: LabelledCases
    new: LabelledCases
    n_classes: int


def sample(key: str, draw: Callable[[int], Draw], seed: int, size: float) -> Sample:
    """Fit a model and a scale, as a gate does, or read what they said."""
    path = None if FOLDER is None else FOLDER / f"{key}-{size}-{seed}.npz"
    if path is not None and path.exists():
        with np.load(path) as stored:
            said = dict(stored)
    else:
        said = fitted(draw(seed), seed, size)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            np.savez(path, **said)
    judged = [
        LabelledCases(
            PredictedCases(said[f"{t}k"], -said[f"{t}c"], as_log_odds(said[f"{t}p"])), said[f"{t}t"]
        )
        for t in "ohn"
    ]
    return Sample(*judged, n_classes=int(said["ot"].max()) + 1)


def fitted(data: Draw, seed: int, size: float) -> dict[str, Any]:
    """Return predicted class, true class, confidence and capability of each case."""
    X, y, new_X, new_y = data
    classes, codes = np.unique(y, return_inverse=True)
    draw = int(np.random.RandomState(seed).randint(2**31 - 1))
    scale, train, held = held_out_unseen(CaseDifficulty(), X, y, (codes, None), size, draw)
    learning = Cases.of(scale, rows_at(X, train), rows_at(y, train))
    model = Classifier(default_model(X), classes)
    found = model.out_of_fold(learning.X, learning.y, learning.codes, FOLDS, draw, confidence=True)
    ready = model.fitted(learning.X, learning.y)
    by_case = Trust.by_capability(
        curves_by_prediction(learning.cdi, found.predicted, learning.codes)
    )

    def told(codes: Any, cdi: Any, sure: Any, true: Any, name: str) -> dict[str, Any]:
        seen = PredictedCases(codes, -cdi[np.arange(len(codes)), codes], None)
        odds = by_case.log_odds(seen)
        return {f"{name}k": codes, f"{name}t": true, f"{name}p": sure, f"{name}c": odds}

    def now(rows: Any, true: Any, name: str) -> dict[str, Any]:
        return told(ready.predict(rows), scale.place(rows).cdi, ready.confidence(rows), true, name)

    return {
        **told(found.predicted, learning.cdi, found.confidence, learning.codes, "o"),
        **now(rows_at(X, held), codes[held], "h"),
        **now(new_X, np.searchsorted(classes, new_y), "n"),
    }


def methods(one: Sample, target: float) -> Iterator[tuple[str, Any]]:
    """Yield which new cases each method accepts."""
    held, new = one.held, one.new
    for name, of in (
        (PLAIN, lambda cases: cases.confidence),
        ("difficulty alone", lambda cases: -cases.difficulty),
    ):
        edge = accepted(of(held.cases), held.correct, target=target, alpha=ALPHA).threshold
        yield name, of(new.cases) > edge
    yield "gate", gated(one, "all", target)


def gated(one: Sample, by: str, target: float) -> Any:
    """Return which new cases a gate accepts."""
    guarantee = Guarantee(target, ALPHA, by)
    names = ["all"] if by == "all" else [str(code) for code in range(one.n_classes)]
    flat = np.ones(one.n_classes), np.zeros(one.n_classes), np.zeros(one.n_classes)
    tried = candidates(Trust(CAPABILITY, *flat), one.learning)
    if by == "class":
        true = one.held.true
        tried = tuple(with_offsets(trust, one.learning, true, guarantee) for trust in tried)
    trust, _ = choose(
        tried, lambda it: expected_acceptance(it, one.learning, names, guarantee, one.held.true)
    )
    rule = fit_rule(trust, one.learning, one.held, names, guarantee)
    return rule.judge(one.new.cases).within


def measured(one: Sample, taken: Any) -> dict[str, Any]:
    """Return shares accepted and right, over all new cases and in the class that fares worst."""
    right, true = one.new.correct, one.new.true
    shares = [taken[true == code].mean() for code in range(one.n_classes)]
    accuracies = [right[taken & (true == code)] for code in range(one.n_classes)]
    errors, n = int((~right[taken]).sum()), int(taken.sum())
    return {
        "share": taken.mean(),
        "n": n,
        "accuracy": right[taken].mean() if n else np.nan,
        "errors": errors,
        "least": min(shares),
        "least_accuracy": min((own.mean() for own in accuracies if len(own)), default=np.nan),
        "all_cases": right.mean(),
    }


def held_line(part: pd.DataFrame, target: float) -> list[str]:
    """Return shares, and in how many seeds the promise is seen to hold."""
    none = part["n"] == 0
    kept = int(((part["accuracy"] >= target) | none).sum())
    against = binom.sf(part["errors"] - 1, part["n"], 1 - target) < ALPHA
    return [
        f"{part['share'].mean():.3f}",
        f"{kept} of {len(part)}",
        str(int((against & ~none).sum())),
        str(int(none.sum())),
        f"{part['accuracy'].mean():.4f}",
        f"{part['all_cases'].mean():.4f}",
        f"{part['least'].mean():.3f}",
        f"{part['least_accuracy'].mean():.3f}",
    ]


def everywhere(sets: dict[str, Any]) -> None:
    rows = []
    for name, (key, draw, target) in sets.items():
        found: dict[str, list[dict[str, Any]]] = {}
        for seed in range(SEEDS):
            one = sample(key, draw, seed, HELD)
            for method, taken in methods(one, target):
                found.setdefault(method, []).append(measured(one, taken))
        plain = np.array([one["share"] for one in found[PLAIN]])
        for method, measures in found.items():
            part = pd.DataFrame(measures)
            more = part["share"].to_numpy() - plain
            error = more.std(ddof=1) / np.sqrt(len(more))
            against = "" if method == PLAIN else f"{more.mean():+.3f} ± {1.96 * error:.3f}"
            share, *rest = held_line(part, target)
            rows.append([name, f"{target:.0%}", method, share, against, *rest])
    header = [
        *("data", "target", "method", "accepted", "more than the threshold"),
        *(
            "seeds in which it holds",
            "seeds that contradict it",
            "seeds that accept nothing",
            "accuracy",
        ),
        *("accuracy on all cases", "accepted of the least accepted class"),
        "accuracy in the worst class",
    ]
    print_table("Target accuracy of all accepted cases, on new cases", header, rows)


def in_classes(sets: dict[str, Any]) -> None:
    rows = []
    for name in (one for one in CLASSES if one in sets):
        key, draw, _ = sets[name]
        for by, words in (("all", "all"), ("class", "each class")):
            lines = []
            for seed in range(SEEDS):
                one = sample(key, draw, seed, HELD)
                lines.append(measured(one, gated(one, by, IN_CLASSES)))
            part = pd.DataFrame(lines)
            none = part["n"] == 0
            kept = int(((part["least_accuracy"] >= IN_CLASSES) | none).sum())
            rows.append(
                [
                    *(name, words, f"{part['share'].mean():.3f}", str(int(none.sum()))),
                    *(f"{part['accuracy'].mean():.4f}", f"{part['least'].mean():.3f}"),
                    *(f"{part['least_accuracy'].mean():.3f}", f"{kept} of {len(part)}"),
                ]
            )
    header = [
        *("data", "promise for", "accepted", "seeds that accept nothing", "accuracy"),
        *("accepted of the least accepted class", "accuracy in the worst class"),
        "seeds in which it holds in each class",
    ]
    print_table(f"Target accuracy of {IN_CLASSES:.0%} in each class, on new cases", header, rows)


def sites(n: int, seed: int) -> tuple[pd.DataFrame, Any, Any]:
    """Return three sites, of which one has many wrong labels and one few cases."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    site = random.choice(["large", "noisy", "small"], n, p=[0.6, 0.3, 0.1])
    wrong = random.random(n) < np.where(site == "noisy", 0.1, 0.01)
    X = random.normal(size=(n, 3)) + 1.8 * y[:, None]
    return pd.DataFrame(X, columns=list("abc")), np.where(wrong, 1 - y, y), site


def in_groups() -> None:
    target, found = 0.95, {}
    X_new, y_new, site_new = sites(30_000, 10_000)
    for seed in range(SEEDS):
        X, y, site = sites(1_500, seed)
        for by in ("all", "group"):
            gate = og.CapabilityGate(target_accuracy=target, by=by, random_state=seed)
            gate.fit(X, y, groups=site)
            told = gate.decisions(X_new, groups=site_new)
            taken, right = told.within, gate.classes_[told.codes] == y_new
            for name in np.unique(site_new):
                own = taken & (site_new == name)
                share = own.sum() / (site_new == name).sum()
                found.setdefault((by, name), []).append(
                    (share, right[own].mean() if own.any() else 1)
                )
    rows = [
        [
            *(name, {"all": "all", "group": "each site"}[by]),
            f"{np.mean([share for share, _ in lines]):.3f}",
            str(sum(share == 0 for share, _ in lines)),
            f"{sum(accuracy >= target for _, accuracy in lines)} of {len(lines)}",
        ]
        for (by, name), lines in found.items()
    ]
    header = [
        "site",
        "promise for",
        "accepted",
        "seeds that accept nothing",
        "seeds in which it holds",
    ]
    print_table(f"Target accuracy of {target:.0%} in each group, on new cases", header, rows)


def by_size(sets: dict[str, Any]) -> None:
    rows = []
    for name in ("breast cancer", "phishing"):
        if name not in sets:
            continue
        key, draw, target = sets[name]
        for size in (0.3, 0.5, 0.7):
            measures = []
            for seed in range(min(SEEDS, 40)):
                one = sample(key, draw, seed, size)
                measures.append(measured(one, gated(one, "all", target)))
            line = held_line(pd.DataFrame(measures), target)
            rows.append([name, f"{size:g}", *line[:2], line[3], line[5]])
    header = [
        *("data", "share held out", "accepted", "seeds in which it holds"),
        *("seeds that accept nothing", "accuracy on all cases"),
    ]
    print_table("What is held out, 40 seeds", header, rows)


def same_as_the_gate(sets: dict[str, Any]) -> None:
    """Check that the shortcut by kept figures accepts what CapabilityGate does."""
    for key, draw, target in sets.values():
        X, y, new_X, _ = draw(0)
        gate = og.CapabilityGate(target_accuracy=target, random_state=0).fit(X, y)
        taken = (gate.decide(new_X)["decision"] == "model").to_numpy()
        if (taken != gated(sample(key, draw, 0, HELD), "all", target)).mean() > 0.001:
            raise SystemExit(f"{key}: the gate decides otherwise than this script.")


def main() -> None:
    begin = perf_counter()
    found = find_spec("river")
    sets = {name: one for name, one in SETS.items() if name != "phishing" or found is not None}
    print(f"{machine()}; {SEEDS} seeds")
    same_as_the_gate(sets)
    everywhere(sets)
    in_classes(sets)
    in_groups()
    by_size(sets)
    print(
        "\nThe gate and the threshold guarantee the target with probability 0.95, for cases from "
        "the same source. What is measured on a few hundred new cases varies around the truth: "
        "seeds contradict the promise if so many errors, or more, have a chance below 5 % were it "
        f"kept. {perf_counter() - begin:.0f} s."
    )


if __name__ == "__main__":
    main()
