"""Standard errors where the model is wrong: dependent items and contaminated responses.

Intervals of discrimination, from the model and robust (sandwich), are held against the value that
responses were drawn with, and against the one that the same model finds in 200,000 respondents:
where the two differ, estimates are biased, and no standard error covers that.

python benchmarks/robust_errors.py [REPLICATIONS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import ogive as og
from common import machine, print_table

REACH = 1.959964
N_ITEMS = 50
SIZES = [200, 1_000]
MANY = 200_000

Random = np.random.Generator


def items() -> tuple[np.ndarray, np.ndarray]:
    """Return discriminations and difficulties, the same in all replications."""
    random = np.random.default_rng(0)
    return np.exp(random.normal(0, 0.3, N_ITEMS)), random.normal(size=N_ITEMS)


def answered(random: Random, n: int, beside: np.ndarray | float = 0.0) -> np.ndarray:
    """Return responses of the 2PL; `beside` is added to ability, item by item."""
    slope, place = items()
    chance = 1 / (1 + np.exp(-slope * (random.normal(size=(n, 1)) + beside - place)))
    return (random.random(chance.shape) < chance).astype(float)


def clean(random: Random, n: int) -> np.ndarray:
    return answered(random, n)


def pairs(random: Random, n: int) -> np.ndarray:
    """Return every fifth item repeats the response to the one before it in 40 % of respondents."""
    found = answered(random, n)
    again = np.arange(1, N_ITEMS, 5)
    repeats = random.random((n, again.size)) < 0.4
    found[:, again] = np.where(repeats, found[:, again - 1], found[:, again])
    return found


def testlets(random: Random, n: int) -> np.ndarray:
    """Return items in tens with a text each, on which a respondent is better or worse (sd 0.7)."""
    effects = 0.7 * random.normal(size=(n, N_ITEMS // 10))
    return answered(random, n, np.repeat(effects, 10, axis=1))


def careless(random: Random, n: int) -> np.ndarray:
    """Return one respondent in ten answers half of the items by tossing a coin."""
    found = answered(random, n)
    who = (random.random((n, 1)) < 0.1) & (random.random(found.shape) < 0.5)
    return np.where(who, random.random(found.shape) < 0.5, found).astype(float)


def contaminated(random: Random, n: int) -> np.ndarray:
    """Return one response in twenty is a coin's."""
    found = answered(random, n)
    which = random.random(found.shape) < 0.05
    return np.where(which, random.random(found.shape) < 0.5, found).astype(float)


def two_groups(random: Random, n: int) -> np.ndarray:
    """Return half of the respondents are strong, half are weak."""
    slope, place = items()
    ability = 0.8 * random.choice([-1.0, 1.0], size=(n, 1)) + 0.6 * random.normal(size=(n, 1))
    chance = 1 / (1 + np.exp(-slope * (ability - place)))
    return (random.random(chance.shape) < chance).astype(float)


CASES: dict[str, Callable[[Random, int], np.ndarray]] = {
    "as modelled": clean,
    "pairs of dependent items": pairs,
    "testlets of ten": testlets,
    "careless respondents": careless,
    "contaminated responses": contaminated,
    "two groups of respondents": two_groups,
}


def measured(case: str, n_respondents: int, replications: int) -> tuple[object, ...]:
    """Return coverage by both kinds of errors, of both kinds of truth."""
    slope, _ = items()
    draw = CASES[case]
    many = draw(np.random.default_rng(1), MANY)
    nearest = og.calibrate(many, "2pl", progress=False).items["discrimination"].to_numpy()
    hits: dict[tuple[str, str], list[float]] = {}
    estimates, errors = [], {"model": [], "robust": []}
    for seed in range(replications):
        responses = draw(np.random.default_rng(1_000 + seed), n_respondents)
        for se in errors:
            found = og.calibrate(responses, "2pl", se=se, progress=False).items
            estimate, error = found["discrimination"].to_numpy(), found["discrimination_se"]
            errors[se].append(error.to_numpy())
            for name, truth in {"drawn": slope, "nearest": nearest}.items():
                inside = np.abs(estimate - truth) <= REACH * error
                hits.setdefault((se, name), []).append(float(inside.mean()))
        estimates.append(estimate)
    spread = np.std(estimates, axis=0, ddof=1)
    ratios = [np.median(np.mean(errors[se], axis=0) / spread) for se in ("model", "robust")]
    keys = [("model", "drawn"), ("robust", "drawn"), ("model", "nearest"), ("robust", "nearest")]
    return (
        f"{case}, {n_respondents:,} × {N_ITEMS}",
        f"{np.mean(nearest / slope - 1):+.3f}",
        *(f"{np.mean(hits[key]):.3f}" for key in keys),
        *(f"{ratio:.2f}" for ratio in ratios),
    )


def one_of_each_pair(responses: np.ndarray) -> tuple[og.Calibration, np.ndarray]:
    """Leave out the second item of every pair that is called dependent."""
    found = og.calibrate(responses, "2pl", progress=False)
    pairs = og.local_dependence(found, max_pairs=500).to_frame()
    kept = ~np.isin(found.item_names, pairs.loc[pairs["dependent"], "other"])
    return og.calibrate(responses[:, kept], "2pl", progress=False), kept


def likely_respondents(responses: np.ndarray) -> tuple[og.Calibration, np.ndarray]:
    """Leave out respondents whose responses are unlikely at their ability."""
    fit = og.respondent_fit(og.calibrate(responses, "2pl", progress=False))
    likely = ~np.isin(fit.respondents, fit.unlikely)
    return og.calibrate(responses[likely], "2pl", progress=False), np.full(N_ITEMS, True)


def asymptotes(responses: np.ndarray) -> tuple[og.Calibration, np.ndarray]:
    """Let every item have responses that come about anyhow: the 4PL with weak priors."""
    priors = {"guessing": og.Beta(1.2, 20), "slip": og.Beta(1.2, 20)}
    return og.calibrate(responses, "4pl", priors=priors, progress=False), np.full(N_ITEMS, True)


REMEDIES = [
    ("pairs of dependent items", "one of each pair", one_of_each_pair),
    ("as modelled", "one of each pair", one_of_each_pair),
    ("careless respondents", "unlikely ones left out", likely_respondents),
    ("as modelled", "unlikely ones left out", likely_respondents),
    ("contaminated responses", "4PL with weak priors", asymptotes),
    ("as modelled", "4PL with weak priors", asymptotes),
]


def mended(
    case: str,
    remedy: str,
    apply: Callable[[np.ndarray], tuple[og.Calibration, np.ndarray]],
    replications: int,
) -> tuple[object, ...]:
    """Return bias and coverage of the true value, before and after a remedy."""
    slope, _ = items()
    rows = []
    for seed in range(replications):
        responses = CASES[case](np.random.default_rng(1_000 + seed), SIZES[-1])
        plain = og.calibrate(responses, "2pl", progress=False)
        row = []
        for found, kept in ((plain, np.full(N_ITEMS, True)), apply(responses)):
            estimate = found.items["discrimination"].to_numpy()
            error = found.items["discrimination_se"].to_numpy()
            inside = np.abs(estimate - slope[kept]) <= REACH * error
            row += [float(np.mean(estimate / slope[kept] - 1)), float(inside.mean())]
        rows.append(row)
    bias, covered, bias_after, covered_after = np.mean(rows, axis=0)
    label = f"{case}, {SIZES[-1]:,} × {N_ITEMS}"
    before, after = f"{bias:+.3f}", f"{bias_after:+.3f}"
    return label, remedy, before, after, f"{covered:.3f}", f"{covered_after:.3f}"


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"\n## Standard errors where the model is wrong\n\n{machine()}. 2PL, default priors,")
    print(f"{replications} replications.")
    print_table(
        "Nominal 95 % intervals of discrimination",
        (
            "responses",
            "bias",
            "true value covered, model",
            "robust",
            "nearest model covered, model",
            "robust",
            "standard error / spread, model",
            "robust",
        ),
        [measured(case, n, replications) for case in CASES for n in SIZES],
    )
    print_table(
        "What mends the bias",
        ("responses", "remedy", "bias before", "after", "true value covered before", "after"),
        [mended(*each, replications) for each in REMEDIES],
    )


if __name__ == "__main__":
    main()
