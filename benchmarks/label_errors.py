"""Labels changed on purpose: how well they are found, beside cleanlab and measures of hardness.

python benchmarks/label_errors.py [folder for the probabilities of the classifiers]
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import ogive as og
from common import machine, print_table
from hardness import MEASURES
from label_sets import MADE, Case, cases, changed, keel_sets, prepared

NOISES = ("uniform", "by class", "one class", "by features", "test part only", "none")
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.9, 1.0)
OURS, BEST = "ogive", "best of LR and RF"
Ranking = Callable[[Case], np.ndarray]  # from a case to one number per item: larger is worse


def ours(case: Case) -> np.ndarray:
    """Return the probability that each label is wrong, from both classifiers."""
    return in_order(og.label_trouble(scores=case.scores, labels=case.labels)).evidence


def in_order(trouble: Any) -> Any:
    """Return the frame of a result in the order of the rows."""
    frame = trouble.to_frame()
    return frame.loc[[f"row_{k}" for k in range(len(frame))]]


def cleanlab(model: str, method: str) -> Ranking:
    from cleanlab.rank import get_label_quality_scores

    return lambda case: -get_label_quality_scores(case.labels, case.scores[model], method=method)


def cleanlab_ensemble(case: Case) -> np.ndarray:
    from cleanlab.rank import get_label_quality_ensemble_scores

    scores = list(case.scores.values())
    return -np.asarray(get_label_quality_ensemble_scores(case.labels, scores, verbose=False))


def rankings() -> dict[str, Ranking]:
    """Return Ogive, cleanlab where it is installed, and measures of instance hardness."""
    found: dict[str, Ranking] = {OURS: ours}
    try:
        for model in ("LR", "RF"):
            for method in ("self_confidence", "normalized_margin"):
                found[f"cleanlab {model}, {method}"] = cleanlab(model, method)
        found["cleanlab ensemble"] = cleanlab_ensemble
    except ImportError:
        print("\ncleanlab is not installed, so it is left out.")
    return found | {f"hardness: {name}": hardness(name) for name in MEASURES}


def hardness(name: str) -> Ranking:
    return lambda case: MEASURES[name](case.X, case.labels)


def measure(folder: Path | None) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return average precision and time by case and ranking, and evidence with the truth."""
    from sklearn.metrics import average_precision_score

    rows, found = [], []
    known = rankings()
    for case in cases(NOISES, folder):
        trouble = og.label_trouble(scores=case.scores, labels=case.labels)
        frame = in_order(trouble)
        found.append((case, frame["evidence"].to_numpy(), frame["suspect"].to_numpy()))
        if not case.wrong.any():
            continue
        row: dict[str, Any] = {"set": case.name, "noise": case.noise, "fits": sum_of(case)}
        for name, ranking in known.items():
            begin = process_time()
            score = ranking(case)
            row[f"{name}, s"] = process_time() - begin
            row[name] = float(average_precision_score(case.wrong, score))
        rows.append(row)
    return rows, found


def sum_of(case: Case) -> float:
    return sum(case.seconds.values())


def print_precision(rows: list[dict[str, Any]]) -> None:
    """Print mean average precision by kind of noise, and how often ogive ranks better."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    plain = [f"cleanlab {m}, self_confidence" for m in ("LR", "RF")]
    if plain[0] in frame:
        frame[f"cleanlab, {BEST} on each set"] = frame[plain].max(axis=1)
    frame["hardness: best on each set"] = frame[[f"hardness: {n}" for n in MEASURES]].max(axis=1)
    names = [n for n in frame if n == OURS or n.startswith(("cleanlab", "hardness"))]
    names = [n for n in names if not n.endswith(", s")]
    kinds = [n for n in NOISES if n != "none"]
    table = []
    for name in names:
        means = [frame.loc[frame["noise"] == kind, name].mean() for kind in kinds]
        behind = frame[OURS] - frame[name]
        by_set = behind.groupby(frame["set"]).mean()
        ahead = f"{behind.mean():+.3f} ± {1.96 * by_set.sem():.3f}" if name != OURS else ""
        better = f"{(by_set > 0).sum()} of {len(by_set)}" if name != OURS else ""
        cells = [f"{m:.3f}" for m in (*means, frame[name].mean())]
        table.append((name, *cells, ahead, better))
    print_table(
        f"Mean average precision over {frame['set'].nunique()} sets, by kind of noise",
        ("ranking", *kinds, "all", "ogive is ahead by", "sets on which it is ahead"),
        table,
    )
    times = [(n, f"{frame[f'{n}, s'].mean():.3f}") for n in names if f"{n}, s" in frame]
    fits, named = frame["fits"].mean(), dict(times)
    plainest = fits + float(named.get(plain[0], 0.0))
    ratio = [(n, s, f"{(fits + float(s)) / plainest:.2f}") for n, s in times]
    print_table(
        f"Processor time per set, s; the fits of both classifiers take {fits:.2f}",
        ("ranking", "s", "with the fits, relative to cleanlab's self_confidence with them"),
        ratio,
    )


def print_sets(rows: list[dict[str, Any]]) -> None:
    """Print each set: its average precision over kinds of noise."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    shown = [OURS, *(f"cleanlab {m}, self_confidence" for m in ("LR", "RF"))]
    shown = [n for n in (*shown, "hardness: kDN", "hardness: CLD") if n in frame]
    means = frame.groupby("set", sort=False)[shown].mean()
    table = [(name, *(f"{each:.3f}" for each in row)) for name, *row in means.itertuples()]
    print_table("Average precision by set, mean over kinds of noise", ("set", *shown), table)


def of_one_model(found: list[Any], model: str) -> list[Any]:
    """Return the same cases with the evidence of one classifier."""
    again = []
    for case, _, _ in found:
        frame = in_order(og.label_trouble(scores=case.scores[model], labels=case.labels))
        again.append((case, frame["evidence"].to_numpy(), frame["suspect"].to_numpy()))
    return again


def print_calibration(found: list[Any], who: str) -> None:
    """Print how many labels are wrong among those with a given evidence, and the suspects."""
    table, suspects = [], []
    for kind in (*NOISES, "all but none"):
        chosen = [f for f in found if f[0].noise == kind or (kind[:3] == "all" != f[0].noise)]
        chosen = [f for f in chosen if kind == "none" or f[0].noise != "none"]
        evidence, wrong, suspect = (
            np.concatenate(parts)
            for parts in zip(*((e, case.wrong, s) for case, e, s in chosen), strict=True)
        )
        cells = []
        for low, high in itertools.pairwise(BINS):
            inside = (evidence >= low) & (evidence < high)
            cells.append(f"{wrong[inside].mean():.3f} of {inside.sum()}" if inside.any() else "")
        table.append((kind, *cells))
        hit = wrong[suspect]
        precision = f"{hit.mean():.2f}" if suspect.any() and kind != "none" else ""
        claimed = f"{evidence[suspect].mean():.2f}" if suspect.any() else ""
        recall = f"{suspect[wrong].mean():.2f}" if wrong.any() else ""
        suspects.append((kind, len(wrong), wrong.sum(), suspect.sum(), claimed, precision, recall))
    bins = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(BINS)]
    print_table(f"Share of wrong labels by evidence, {who}", ("noise", *bins), table)
    print_table(
        f"Suspects, {who}",
        *(("noise", "labels", "wrong", "suspects", "mean evidence", "precision", "recall"),),
        suspects,
    )


def pool() -> dict[str, Any]:
    """Return twenty cheap classifiers, good and bad; some give no probabilities."""
    from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
    from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

    found: dict[str, Any] = {f"kNN {k}": KNeighborsClassifier(k) for k in (1, 3, 7, 15, 40)}
    found |= {f"LR {c:g}": LogisticRegression(C=c, max_iter=200) for c in (0.001, 0.03, 1.0)}
    found |= {f"tree {d}": DecisionTreeClassifier(max_depth=d) for d in (1, 2, 4, 8)}
    found |= {f"extra tree {d}": ExtraTreeClassifier(max_depth=d) for d in (3, 6, 12)}
    found |= {f"NB {v:g}": GaussianNB(var_smoothing=v) for v in (0.1, 0.001)}
    return found | {
        "ridge": RidgeClassifier(),
        "centroid": NearestCentroid(),
        "neuron": Perceptron(),
    }


def print_pools() -> None:
    """Print what responses add to probabilities, where a pool has answered."""
    import pandas as pd
    from sklearn.metrics import average_precision_score

    from ogive.data.pools.runner import dataset_answers

    rows = []
    for name, make in (*keel_sets().items(), *MADE.items()):
        X, truth = prepared(*make())
        labels, wrong = changed(X, truth, "uniform")
        data = og.Dataset(name, pd.DataFrame(X), pd.Series(labels), "with changed labels")
        answers = dataset_answers(data, pool(), progress=False)
        calibration = og.calibrate(answers.responses(labels), "2pl")
        mean = np.mean([each.astype(float) for each in answers.scores.values()], axis=0)
        tried = {
            "both": og.label_trouble(calibration, scores=answers.scores, labels=labels),
            "probabilities": og.label_trouble(scores=answers.scores, labels=labels),
            "responses": og.label_trouble(calibration),
        }
        found = {n: in_order(each)["evidence"].to_numpy() for n, each in tried.items()}
        found["mean self-confidence"] = -mean[np.arange(len(labels)), labels]
        found["wrong responses"] = -in_order(tried["responses"])["share_right"].to_numpy()
        rows.append({n: average_precision_score(wrong, each) for n, each in found.items()})
    frame = pd.DataFrame(rows)
    table = []
    for name in frame:
        behind = frame["both"] - frame[name]
        ahead = f"{behind.mean():+.3f} ± {1.96 * behind.sem():.3f}" if name != "both" else ""
        table.append((name, f"{frame[name].mean():.3f}", ahead))
    print_table(
        f"A pool of {len(pool())} cheap classifiers, uniform noise, {len(frame)} sets",
        ("evidence from", "mean average precision", "both are ahead by"),
        table,
    )


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    rows, found = measure(folder)
    print(
        f"\n## Label errors\n\n{machine()}. Logistic regression (LR) and a random forest (RF), "
        "five folds; the same probabilities for all."
    )
    print_precision(rows)
    print_calibration(found, "both classifiers")
    for model in ("LR", "RF"):
        print_calibration(of_one_model(found, model), f"{model} alone")
    print_sets(rows)
    print_pools()


if __name__ == "__main__":
    main()
