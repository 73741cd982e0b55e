"""Many tasks: how well correlations are recovered, and which model of tasks predicts best.

python benchmarks/many_tasks.py [recovery] [simulated] [helm] [mmlu]

Items and distribution are estimated from 80 % of the models. For the others, a quarter of the cells
is hidden and the rest determines their abilities; the score is the log-likelihood of the hidden
cells.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
import pandas as pd

import ogive as og
from common import SHARED, machine, print_table
from ogive.data.responses import Responses
from ogive.irt.calibration import Calibration
from ogive.irt.dimensions.correlated_abilities import (
    GaussianSites,
    fit_joint_normal,
    posterior,
    refine_sites,
)
from ogive.irt.dimensions.task_scales import scale_of
from ogive.irt.models.base import Normal

SPLITS, TEST, HIDDEN = 6, 0.2, 0.25
NODES = 35, 25  # of the general and the specific ability
SIZES = ((30, 10, 40), (30, 30, 40), (200, 15, 40), (1000, 20, 8))  # respondents, items, repeats
PRIORS = {"discrimination": Normal(1, 0.5)}
FIELDS = {  # fields of MMLU; subjects in none of them are STEM
    "social": "econometrics high_school_geography high_school_government_and_politics "
    "high_school_macroeconomics high_school_microeconomics high_school_psychology human_sexuality "
    "professional_psychology public_relations security_studies sociology us_foreign_policy",
    "humanities": "formal_logic high_school_european_history high_school_us_history "
    "high_school_world_history international_law jurisprudence logical_fallacies moral_disputes "
    "moral_scenarios philosophy prehistory professional_law world_religions",
    "other": "business_ethics clinical_knowledge college_medicine global_facts human_aging "
    "management marketing medical_genetics miscellaneous nutrition professional_accounting "
    "professional_medicine virology",
}
Compared = dict[str, float]


class Bifactor:
    """One general and one specific ability per task, by EM with Gibbons and Hedeker's reduction."""

    def __init__(self, groups: np.ndarray, priors: object) -> None:
        self.parts = [np.flatnonzero(groups == task) for task in dict.fromkeys(groups)]
        axes = [np.linspace(-4.5, 4.5, n) for n in NODES]
        self.first, self.second = (np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum() for x in axes)
        self.shape = NODES
        one, two = (x.ravel() for x in np.meshgrid(*axes, indexing="ij"))
        self.design = np.stack([one, two, np.ones_like(one)], axis=1)
        # Priors on slopes as in the other models; specific slopes are held closer to zero.
        few = priors == PRIORS
        self.centre = np.array([1.0 if few else 0.0, 0.0, 0.0])
        self.precision = 1 / np.array([0.5 if few else 3.0, 0.5 if few else 1.0, 5.0]) ** 2

    def weights(self, values: np.ndarray, coords: np.ndarray) -> list[np.ndarray]:
        """Return the posterior of both abilities on nodes, (n_rows, n_nodes) per task."""
        right, seen = np.nan_to_num(values), (~np.isnan(values)).astype(float)
        general, parts = np.log(self.first) + np.zeros((len(values), 1)), []
        for part in self.parts:
            odds = coords[part] @ self.design.T
            joint = right[:, part] @ odds - seen[:, part] @ np.logaddexp(0, odds)
            top = joint.max(axis=1, keepdims=True)
            joint = np.exp(joint - top).reshape(-1, *self.shape) * self.second
            mass = np.maximum(joint.sum(axis=2), 1e-300)
            parts.append((joint, mass))
            general = general + np.log(mass) + top
        general = np.exp(general - general.max(axis=1, keepdims=True))
        general /= general.sum(axis=1, keepdims=True)
        size = len(values), -1
        return [(joint * (general / mass)[:, :, None]).reshape(size) for joint, mass in parts]

    def fit(self, values: np.ndarray, start: np.ndarray, steps: int = 30) -> np.ndarray:
        """Return the coordinates of the items: general slope, specific slope, intercept."""
        coords, design = start.copy(), self.design
        squares = np.einsum("qa,qb->qab", design, design).reshape(len(design), 9)
        for _ in range(steps):
            for part, weights in zip(self.parts, self.weights(values, coords), strict=True):
                right = np.nan_to_num(values[:, part]).T @ weights
                asked = (~np.isnan(values[:, part])).T.astype(float) @ weights
                for _ in range(3):
                    chance = 1 / (1 + np.exp(-coords[part] @ design.T))
                    slope = (right - asked * chance) @ design
                    slope -= (coords[part] - self.centre) * self.precision
                    bend = ((asked * chance * (1 - chance)) @ squares).reshape(-1, 3, 3)
                    step = np.linalg.solve(bend + np.diag(self.precision), slope[:, :, None])
                    coords[part] += np.clip(step[:, :, 0], -1, 1)
        return coords

    def predict(self, values: np.ndarray, coords: np.ndarray) -> np.ndarray:
        """Return the probability of a right response in each cell."""
        found = np.empty(values.shape)
        for part, weights in zip(self.parts, self.weights(values, coords), strict=True):
            found[:, part] = weights @ (1 / (1 + np.exp(-self.design @ coords[part].T)))
        return found


def expected(calibration: Calibration, shown: Responses, mean: object, known: object) -> np.ndarray:
    """Return the probability of a right response in each cell, with a normal prior per row."""
    scale = scale_of(calibration, shown)
    weights = scale.log_likelihood - 0.5 * known * (scale.nodes - mean) ** 2
    weights = np.exp(weights - weights.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights @ calibration.model.expected(calibration.coords, scale.nodes).T


def compare(values: np.ndarray, groups: np.ndarray, seed: int, priors: object) -> Compared:
    """Return the mean log-likelihood of hidden cells under each model, for one split."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(values))
    n_test = int(TEST * len(values))
    test, train = values[order[:n_test]], values[order[n_test:]]
    hidden = random.random(test.shape) < HIDDEN
    shown, told = og.Responses(np.where(hidden, np.nan, test), kind="binary"), og.Responses(train)

    def score(chance: np.ndarray) -> float:
        chance = np.clip(np.where(test == 1, chance, 1 - chance), 1e-6, 1)
        return float(np.log(chance[hidden]).mean())

    whole = og.calibrate(told, "2pl", priors=priors)
    found = {"one scale": score(expected(whole, shown, 0.0, 1.0))}
    tasks = list(dict.fromkeys(groups))
    parts = {
        task: og.calibrate(told.select(items=groups == task), "2pl", priors=priors)
        for task in tasks
    }
    alone, joint = np.empty(test.shape), np.empty(test.shape)
    normal = fit_joint_normal([scale_of(parts[t], told.select(items=groups == t)) for t in tasks])
    asked = [shown.select(items=groups == task) for task in tasks]
    scales = [scale_of(parts[task], part) for task, part in zip(tasks, asked, strict=True)]
    sites = GaussianSites(*np.zeros((2, n_test, len(tasks))))
    for _ in range(8):
        sites = refine_sites(scales, normal.mean, normal.covariance, sites)
    ability, spread = posterior(sites, normal.mean, normal.covariance)
    for k, task in enumerate(tasks):
        variance = spread[:, k, k]
        known = np.maximum(1 / variance - sites.precision[:, k], 1e-3)
        centre = (ability[:, k] / variance - sites.shift[:, k]) / known
        alone[:, groups == task] = expected(parts[task], asked[k], 0.0, 1.0)
        joint[:, groups == task] = expected(parts[task], asked[k], centre[:, None], known[:, None])
    found["one scale per task"], found["correlated scales"] = score(alone), score(joint)
    slope = np.clip(whole.coords[:, 0], -3, 3)
    start = np.column_stack([0.9 * slope, np.full(len(groups), 0.4), whole.coords[:, 1]])
    cells = shown.to_frame().to_numpy()
    shuffled = random.permutation(groups)  # a control: a gain here is not due to the tasks
    for name, tasks_of in (("bifactor", groups), ("bifactor, tasks shuffled", shuffled)):
        model = Bifactor(tasks_of, priors)
        found[name] = score(model.predict(cells, model.fit(train, start)))
    curved = og.calibrate(told, "4pl", priors=priors)
    found["one scale, 4PL"] = score(expected(curved, shown, 0.0, 1.0))
    return found


def simulated(
    truth: str, n: int = 300, n_items: int = 20, n_tasks: int = 4
) -> tuple[np.ndarray, np.ndarray]:
    """Simulate responses of one ability, of correlated ones (0.7), or of a bifactor model."""
    random = np.random.default_rng(5)
    place = np.repeat(np.arange(n_tasks), n_items)
    slope, difficulty = np.exp(random.normal(0.2, 0.3, place.size)), random.normal(size=place.size)
    general, specific = random.normal(size=(n, 1)), random.normal(size=(n, n_tasks))[:, place]
    odds = slope * (general - difficulty)
    if truth == "correlated":
        odds = slope * (np.sqrt(0.7) * general + np.sqrt(0.3) * specific - difficulty)
    if truth == "bifactor":
        odds = odds + np.exp(random.normal(-0.3, 0.6, place.size)) * specific
    return (random.random(odds.shape) < 1 / (1 + np.exp(-odds))).astype(float), place.astype(str)


def helm(most: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Read 30 models and up to 40 items of each of the 20 scenarios of HELM-lite."""
    frame = pd.read_csv(SHARED / "data/llm/helm_lite_binary_responses.csv.gz")
    frame = frame.sample(frac=1, random_state=0).groupby("scenario").head(most)
    return frame.iloc[:, 2:].to_numpy(float).T, frame["scenario"].to_numpy(str)


def mmlu(most: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Read 1,000 models and 102 items of MMLU in its four fields."""
    frame = pd.read_csv(SHARED / "data/llm/metabench_mmlu_3pl_responses.csv.gz", index_col=0)
    subjects = frame.columns.str.rsplit(".", n=1).str[0]
    named = {subject: field for field, members in FIELDS.items() for subject in members.split()}
    groups = np.array([named.get(subject, "stem") for subject in subjects])
    return frame.sample(most, random_state=0).to_numpy(float), groups


def held_out(name: str, data: tuple[np.ndarray, np.ndarray], priors: object) -> None:
    values, groups = data
    rows = pd.DataFrame([compare(values, groups, seed, priors) for seed in range(SPLITS)])
    gain = rows.sub(rows["one scale"], axis=0)
    table = [
        (
            model,
            f"{rows[model].mean():.4f} ± {rows[model].sem():.4f}",
            f"{gain[model].mean():+.4f} ± {gain[model].sem():.4f}",
        )
        for model in rows
    ]
    title = f"{name}: {values.shape[0]} respondents × {values.shape[1]} items, {SPLITS} splits"
    print_table(title, ("model", "log-likelihood per hidden cell", "gain over one scale"), table)


def recovery() -> None:
    """Measure bias and coverage of 95 % intervals for correlations of 0.9, 0.5 and 0.2."""
    truth = np.full((4, 4), 0.5)
    truth[:2, :2], truth[3, :], truth[:, 3] = 0.9, 0.2, 0.2
    np.fill_diagonal(truth, 1.0)
    rows = []
    for n, n_items, repeats in SIZES:
        pairs = pd.concat([recovered(truth, n, n_items, seed) for seed in range(repeats)])
        for value, part in pairs.groupby("truth"):
            rows.append(
                (
                    n,
                    n_items,
                    value,
                    f"{part['correlation'].mean() - value:+.3f}",
                    f"{part['plain'].mean() - value:+.3f}",
                    f"{part['held'].mean():.3f}",
                    len(part),
                )
            )
    header = (
        "respondents",
        "items per task",
        "truth",
        "bias",
        "bias of plain correlation",
        "coverage",
        "pairs",
    )
    print_table("Recovery of correlations", header, rows)


def recovered(truth: np.ndarray, n: int, n_items: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    place = np.repeat(np.arange(len(truth)), n_items)
    ability = random.multivariate_normal(np.zeros(len(truth)), truth, n)[:, place]
    slope, difficulty = np.exp(random.normal(0.2, 0.3, place.size)), random.normal(size=place.size)
    chance = 1 / (1 + np.exp(-slope * (ability - difficulty)))
    found = og.task_scales(random.random(chance.shape) < chance, by=[str(k) for k in place])
    plain = found.abilities.pivot_table(index="respondent", columns="task", values="ability").corr()
    pairs = found.correlations
    wanted = np.array(
        [truth[int(a), int(b)] for a, b in zip(pairs["task"], pairs["other"], strict=True)]
    )
    estimates = [plain.loc[a, b] for a, b in zip(pairs["task"], pairs["other"], strict=True)]
    held = (pairs["low"] <= wanted) & (wanted <= pairs["high"])
    return pairs.assign(truth=wanted, plain=estimates, held=held)


def all_simulated() -> None:
    for truth in ("one ability", "correlated", "bifactor"):
        held_out(f"Simulated, {truth}", simulated(truth), "default")


PARTS: dict[str, Callable[[], None]] = {
    "recovery": recovery,
    "simulated": all_simulated,
    "helm": lambda: held_out("HELM-lite", helm(), PRIORS),
    "mmlu": lambda: held_out("MMLU", mmlu(), "default"),
}

if __name__ == "__main__":
    print(machine())
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()
