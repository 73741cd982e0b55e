"""How often sentences separate respondents that are equal, and what intervals of them cover.

python benchmarks/claims.py [REPLICATIONS]
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

import ogive as og
from common import machine, print_table
from ogive.irt.ability_covariance import level_with_strongest
from ogive.stats.pairwise_tests import differences_over_units

DATASETS = (2, 4, 7, 20, 60)
RIVALS = 10
BOARDS = ((20, 200), (50, 500))
TASKS = (30, 50, 100)
CORRELATION, N_TASKS, TASK_ITEMS = 0.9, 3, 40
ALPHA = 0.05
REACH = 1.959964


def equal_scores(random: np.random.Generator, n_datasets: int) -> np.ndarray:
    """Return scores of equal classifiers on data sets of different size and difficulty."""
    sizes, chance = random.integers(30, 500, n_datasets), random.beta(8, 2, n_datasets)
    return random.binomial(sizes, chance, size=(RIVALS, n_datasets)) / sizes


def beyond_two_errors(scores: np.ndarray) -> bool:
    """Return True if some lie more than 1.96 standard errors behind the best: the naive rule."""
    best = int(np.argmax(scores.mean(axis=1)))
    behind = scores[best] - np.delete(scores, best, axis=0)
    error = behind.std(axis=1, ddof=1) / np.sqrt(scores.shape[1])
    return bool((behind.mean(axis=1) > REACH * error).any())


def by_the_rule(scores: np.ndarray) -> bool:
    """Return True if the rule of the package calls some of them lower, as in `decode_benchmark`."""
    best = int(np.argmax(scores.mean(axis=1)))
    return bool(differences_over_units(scores).behind(best).any())


def apart_by_ranges(scores: np.ndarray) -> bool:
    """Return True if ranges of Glicko-2 do not overlap with that of the leader."""
    final = og.tournament(scores).final
    return bool((final.high < final.low[int(np.argmax(final.rating))]).any())


def behind_in_tournament(scores: np.ndarray) -> bool:
    """Return True if a tournament calls some of them behind the leader."""
    return len(og.tournament(scores).level_with_leader) < RIVALS - 1


RULES: dict[str, Callable[[np.ndarray], bool]] = {
    "1.96 standard errors": beyond_two_errors,
    "decoding": by_the_rule,
    "ranges of ratings": apart_by_ranges,
    "tournament": behind_in_tournament,
}


def over_datasets(n_datasets: int, replications: int) -> tuple[object, ...]:
    """Return the share of tables in which some of ten equal classifiers are separated."""
    random = np.random.default_rng(n_datasets)
    tables = [equal_scores(random, n_datasets) for _ in range(replications)]
    shares = [np.mean([rule(table) for table in tables]) for rule in RULES.values()]
    return n_datasets, replications, *(f"{share:.3f}" for share in shares)


def twins(n_respondents: int, n_items: int, seed: int) -> tuple[og.Responses, np.ndarray]:
    """Return responses of pairs of equal respondents, and their abilities."""
    random = np.random.default_rng(seed)
    ability = np.repeat(random.normal(size=n_respondents // 2), 2)
    items = {
        "discrimination": random.lognormal(0.0, 0.4, n_items),
        "difficulty": random.normal(0.0, 1.0, n_items),
    }
    drawn = og.simulate("2pl", abilities=ability, items=items, random_state=seed)
    return drawn.responses, ability


def on_board(responses: og.Responses, ability: np.ndarray) -> dict[str, bool]:
    """Return which claims of a leaderboard, of abilities and of a sentence are wrong."""
    board = og.leaderboard(responses)
    place = {name: k for k, name in enumerate(responses.respondents)}
    order = np.array([place[name] for name in board.respondents])
    true, first, second = ability[order], *np.triu_indices(order.size, 1)
    claimed = np.sign(board.tests.difference) * (board.tests.p_adjusted <= ALPHA)
    better = (true[:, None] < true).sum(axis=1)
    worse = (true[:, None] > true).sum(axis=1)
    ranks = (board.rank_low <= 1 + better) & (board.rank_high >= order.size - worse)
    cal = og.calibrate(responses, "2pl")
    naive, honest = (cal.compare(items_known=known).to_frame() for known in (True, False))
    pairs = np.array([[place[a], place[b]] for a, b in honest[["respondent", "other"]].to_numpy()])
    truth = np.sign(ability[pairs[:, 0]] - ability[pairs[:, 1]])
    best, level = level_with_strongest(cal.ability_covariance())
    others = np.arange(ability.size) != best
    return {
        "leaderboard": bool(
            ((claimed != 0) & (claimed != np.sign(true[first] - true[second]))).any()
        ),
        "rank intervals": not ranks.all(),
        "abilities, items known": _wrong(naive, truth),
        "abilities": _wrong(honest, truth),
        "strongest": bool((others & ~level & (ability >= ability[best])).any()),
    }


def _wrong(pairs: object, truth: np.ndarray) -> bool:
    claimed = np.sign(pairs["difference"]) * (pairs["p_adjusted"] <= ALPHA)  # type: ignore[index]
    return bool(((claimed != 0) & (claimed != truth)).any())


def boards(n_respondents: int, n_items: int, replications: int) -> tuple[object, ...]:
    """Return the shares of boards with any wrong claim."""
    found = [on_board(*twins(n_respondents, n_items, seed)) for seed in range(replications)]
    shares = [np.mean([each[name] for each in found]) for name in found[0]]
    return f"{n_respondents} × {n_items}", replications, *(f"{share:.3f}" for share in shares)


def correlated_tasks(n_respondents: int, seed: int) -> tuple[og.Responses, list[str]]:
    """Return responses to tasks whose true abilities correlate, and the task of each item."""
    random = np.random.default_rng(seed)
    covariance = np.full((N_TASKS, N_TASKS), CORRELATION) + (1 - CORRELATION) * np.eye(N_TASKS)
    ability = random.multivariate_normal(np.zeros(N_TASKS), covariance, size=n_respondents)
    parts = []
    for column in ability.T:
        items = {
            "discrimination": random.lognormal(0.2, 0.35, TASK_ITEMS),
            "difficulty": random.normal(0.0, 1.0, TASK_ITEMS),
        }
        drawn = og.simulate("2pl", abilities=column, items=items, random_state=random)
        parts.append(drawn.responses.values)
    names = [f"task {k}" for k in range(N_TASKS) for _ in range(TASK_ITEMS)]
    return og.Responses(np.hstack(parts)), names


def tasks(n_respondents: int, replications: int) -> tuple[object, ...]:
    """Return the mean correlation, and how often its interval covers the true one."""
    rows = []
    for seed in range(replications):
        table, names = correlated_tasks(n_respondents, seed)
        found = og.task_scales(table, by=names, model="2pl", progress=False).correlations
        rows.append(found[["correlation", "low", "high"]].to_numpy())
    value, low, high = np.concatenate(rows).T
    covered = (low <= CORRELATION) & (high >= CORRELATION)
    figures = value.mean(), covered.mean(), (high - low).mean()
    return n_respondents, replications, *(f"{figure:.3f}" for figure in figures)


def confusion(replications: int) -> list[tuple[object, ...]]:
    """Return how often ten equal classifiers of a pool of forty are separated on 150 items."""
    wrong = {"all items": 0, "without items of negative discrimination": 0}
    for seed in range(replications):
        random = np.random.default_rng(seed)
        truth = random.integers(0, 2, 150)
        right = random.random((40, 150)) < random.beta(4, 1.5, 150)
        bank = og.calibrate(right.astype(float), "2pl")
        equal = {f"m{k}": np.where(right[k], truth, 1 - truth) for k in range(RIVALS)}
        whole = og.enrich_confusion(bank, truth, equal, n_resamples=200)
        for name, found in zip(wrong, (whole, whole.without_negative()), strict=True):
            row = found.measures.nlargest(1, "accuracy").iloc[0]
            wrong[name] += int(row["accuracy_rank_high"] < RIVALS)
    return [(name, replications, f"{count / replications:.3f}") for name, count in wrong.items()]


def main() -> None:
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    print(f"\n## Claims\n\n{machine()}. Simulated truth; all claims at 5 %.")
    print_table(
        "Tables in which some of ten equal classifiers are separated",
        ("data sets", "tables", *RULES),
        [over_datasets(n, 10 * replications) for n in DATASETS],
    )
    print_table(
        "Boards of twins with any wrong claim (2PL)",
        (
            *("respondents × items", "boards", "leaderboard", "rank intervals"),
            *("abilities, items known", "abilities", "strongest"),
        ),
        [boards(*shape, replications) for shape in BOARDS],
    )
    print_table(
        f"Correlation of true abilities on {N_TASKS} tasks of {TASK_ITEMS} items, truly 0.9",
        ("respondents", "tables", "mean", "95 % interval covers", "width"),
        [tasks(n, replications) for n in TASKS],
    )
    print_table(
        "Tables in which accuracy would separate some of ten equal classifiers of the pool",
        ("confusion on", "tables", "separated"),
        confusion(replications),
    )


if __name__ == "__main__":
    main()
