"""Which results follow from the files and tables published with two of the papers.

OGIVE_SHARED=<folder of shared data> python benchmarks/published.py
"""

from __future__ import annotations

import warnings
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.utils import all_estimators

import ogive as og
from common import SHARED, machine, print_table
from decoding import read_tables
from ogive.irt.banks import known_items
from ogive.irt.encoded_responses import encode
from ogive.irt.estimation.alternative_engines import staged_abilities
from ogive.irt.quadrature import Posterior, plan_nodes
from ogive.stats.metrics import classic_metrics, confusion_counts

Row = tuple[object, object]
CLASSIC = ["accuracy", "f1", "precision", "recall", "auc", "specificity"]
PARAMETERS = ["discrimination", "difficulty", "guessing"]
TABLES = SHARED / "data" / "paper_tables"
MOST_ITERATIONS = 60


def published_items(name: str) -> pd.DataFrame:
    folder = SHARED / "data" / "decodirt" / "benchmarking" / name
    items = pd.read_csv(next(folder.glob("irt_item_param.csv*")), index_col=0)
    return items.set_axis(PARAMETERS, axis=1)


def bank(items: pd.DataFrame) -> og.Calibration:
    model = og.ThreePL()
    coords = model.from_parameters({name: items[name].to_numpy() for name in PARAMETERS})
    return known_items(model, coords, list(items.index))


def log_likelihood(calibration: og.Calibration, table: pd.DataFrame) -> float:
    """Return the marginal log-likelihood under a standard normal population."""
    model, coords = calibration.model, calibration.coords
    nodes = plan_nodes(model, coords)
    data = encode(og.Responses.from_frame(table).cells, model)
    _, value = Posterior(model.log_terms(coords, nodes.coarse), nodes)(data.block(slice(None)))
    return float(data.weights @ value)


def likelihoods(tables: dict[str, pd.DataFrame]) -> list[Row]:
    """Compare with the items estimated by R's ltm, on the items that both have."""
    least = {"default": 0, None: 0}
    seconds = {"default": 0.0, None: 0.0}
    for name, table in tables.items():
        theirs = published_items(name)
        part = table[[item for item in table if item in theirs.index]]
        bound = log_likelihood(bank(theirs.loc[part.columns]), part)
        for priors, settings in (("default", {}), (None, {"max_iterations": MOST_ITERATIONS})):
            begin = perf_counter()
            found = og.calibrate(part, "3pl", priors=priors, **settings)
            seconds[priors] += perf_counter() - begin
            least[priors] += log_likelihood(bank(found.items), part) >= bound
    texts = {"default": "default priors", None: f"no priors, at most {MOST_ITERATIONS} iterations"}
    return [
        (f"log-likelihood at least that of the ltm items, {texts[priors]}", f"{count} of 20")
        for priors, count in least.items()
    ] + [(f"seconds, {texts[priors]}", f"{spent:.0f}") for priors, spent in seconds.items()]


def ends(tables: dict[str, pd.DataFrame], evaluated: dict[str, pd.DataFrame]) -> list[Row]:
    """Check the ranks of the optimal and the pessimal classifier."""
    decoding = og.decode_responses(tables, evaluated)
    rows: list[Row] = []
    for column in ("true_score", "true_score_positive"):
        scores = decoding.scores(column)
        first = scores.loc["optimal"] >= scores.max() - 1e-9
        rows.append((f"no classifier above optimal by {column}", f"{int(first.sum())} of 20"))
    turned = 0
    for name, calibration in decoding.calibrations.items():
        kept = calibration.items.index[calibration.items["discrimination"] > 0]
        ability = calibration.score(evaluated[name].loc[["optimal", "pessimal"]])["ability"]
        best, worst = calibration.of_items(list(kept)).probability(ability).sum(axis=1)
        turned += best < worst
    rows.append(
        ("pessimal above optimal, negative items left out of the sum only", f"{turned} of 20")
    )
    return rows


def abilities(evaluated: dict[str, pd.DataFrame]) -> list[Row]:
    """Compare the published abilities with the staged estimate at the published items."""
    same = total = 0
    for name, table in evaluated.items():
        items = published_items(name)
        cal = bank(items)
        cells = table[list(items.index)].to_numpy(np.int8)
        found = staged_abilities(cells, cal.model, cal.coords).ability
        folder = SHARED / "data" / "decodirt" / "benchmarking" / name
        printed = pd.read_csv(folder / "theta_list.csv")["Theta"].to_numpy()
        same += int((np.abs(found - printed) < 0.02 * (1 + np.abs(found))).sum())
        total += found.size
    return [("published abilities reproduced by the staged estimate", f"{same} of {total}")]


def worked_example() -> list[Row]:
    """Recompute tables 1 to 3 of the decodIRT paper: true scores at the maximum likelihood."""
    responses, items, printed = (
        pd.read_csv(next(TABLES.glob(f"000_table{k}_*.csv")), index_col=0) for k in (1, 2, 3)
    )
    table = responses.drop(columns="total").set_axis(list(items.index), axis=1)
    found = bank(items).true_scores(table, "ml")["true_score"]
    pairs = zip(found, printed["true_score"], strict=True)
    return [
        ("true scores of the worked example", ", ".join(f"{value:.3f}" for value in found)),
        ("the same, printed", ", ".join(f"{value:.3f}" for _, value in pairs)),
    ]


def confusion_tables() -> list[Row]:
    """Recompute tables 1 and 2 of the paper on confusion matrices."""
    one, two = (
        pd.read_csv(next(TABLES.glob(f"001_table{k}_*.csv")), index_col="model") for k in (1, 2)
    )
    printed, irt = one[CLASSIC], two[["true_score", "total_score"]]
    right = np.rint(one[["specificity", "recall"]] * [45, 36]).to_numpy()
    wrong = [45, 36] - right
    counts = np.stack([right[:, 0], wrong[:, 0], wrong[:, 1], right[:, 1]], axis=1)
    implied = pd.DataFrame(classic_metrics(counts.reshape(-1, 2, 2)), index=one.index)
    same = (trained_again(one.index) == printed).all(axis=1)
    return [
        ("rows of the table of metrics reproduced by training again", ", ".join(same.index[same])),
        ("not reproduced", ", ".join(same.index[~same])),
        ("Friedman over measures, printed digits", f"{friedman(printed.join(irt)):.2f}"),
        ("the same, from the counts that they imply", f"{friedman(implied.join(irt)):.2f}"),
    ]


def friedman(scores: pd.DataFrame) -> float:
    return og.compare_ranks(scores.T).friedman


def trained_again(models: pd.Index) -> pd.DataFrame:
    """Return the metrics of classifiers with the published settings on the published split."""
    data = pd.read_csv(SHARED / "data" / "tabular" / "heart-statlog.csv")
    X, y = data.drop(columns="class").to_numpy(), (data["class"] == "present").to_numpy(int)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, stratify=y, random_state=0, test_size=0.3
    )
    settings = pd.read_csv(TABLES / "001_tuned_models.csv", index_col="model").loc[models]
    kinds, predicted = dict(all_estimators("classifier")), []
    for kind, text in zip(settings["scikit_learn_estimator"], settings["parameters"], strict=True):
        pairs = (part.split(" (")[0].split("=") for part in text.split(";"))
        given = {name.strip(): as_value(value.strip()) for name, value in pairs}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some stop before they converge
            predicted.append(kinds[kind](**given).fit(X_train, y_train).predict(X_test))
    metrics = classic_metrics(confusion_counts(y_test, np.array(predicted), 2))
    return pd.DataFrame({name: metrics[name] for name in CLASSIC}, index=models).round(3)


def as_value(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def main() -> None:
    print(f"\n## Published\n\n{machine()}.")
    if not SHARED.is_dir():
        print(f"\nThe published files are not at {SHARED}; set OGIVE_SHARED to their folder.")
        return
    tables, evaluated = read_tables()
    rows = [
        *likelihoods(tables),
        *ends(tables, evaluated),
        *abilities(evaluated),
        *worked_example(),
        *confusion_tables(),
    ]
    print_table("Results from published files", ("figure", "found"), rows)


if __name__ == "__main__":
    main()
