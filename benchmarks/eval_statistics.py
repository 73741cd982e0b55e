"""Two models on the same questions: what harnesses and packages for evaluations say of them.

python benchmarks/eval_statistics.py [REPLICATIONS]

Questions come in documents, which are easier or harder for both models, and for each of them. The
plain standard error is the one that lm-eval prints beside an accuracy, the clustered one the one
that Inspect prints for `stderr(cluster=...)`; both are computed here by their definitions, and two
models compared by them as if they had been asked different questions, because neither compares
models. evalconfidence is called if it is installed.
"""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd

import ogive as og
from common import machine, print_table

DOCUMENTS, PER_DOCUMENT = 60, 5
BETWEEN, WITHIN, OWN = 1.0, 1.0, 0.5  # standard deviations: documents, questions, a model's own
REACH = 1.959964
MIDDLE = 1.0
AHEAD = 0.45  # on the scale of logits: about seven points
LEVEL = 0.05


def drawn(random: np.random.Generator, ahead: float) -> tuple[np.ndarray, np.ndarray]:
    """Return right and wrong answers of two models, and the document of each question."""
    documents = np.repeat(np.arange(DOCUMENTS), PER_DOCUMENT)
    easy = random.normal(0, BETWEEN, DOCUMENTS)[documents] + random.normal(
        0, WITHIN, len(documents)
    )
    own = random.normal(0, OWN, (2, DOCUMENTS))[:, documents]
    logits = MIDDLE + easy + own + np.array([[ahead], [0.0]])
    return (random.random(logits.shape) < 1 / (1 + np.exp(-logits))).astype(float), documents


def truth(ahead: float) -> tuple[float, float]:
    """Return the accuracies over all questions that could be asked."""
    spread = np.sqrt(BETWEEN**2 + WITHIN**2 + OWN**2)
    at = np.random.default_rng(0).normal(0, spread, 1_000_000)
    first, second = (float((1 / (1 + np.exp(-MIDDLE - a - at))).mean()) for a in (ahead, 0.0))
    return first, second


def plain(scores: np.ndarray) -> float:
    """Return sample standard deviation over the square root of n."""
    return float(scores.std(ddof=1) / np.sqrt(len(scores)))


def clustered(scores: np.ndarray, documents: np.ndarray) -> float:
    """Return standard error of the mean if answers on one document go together (Miller, 2024)."""
    sums = np.bincount(documents, scores - scores.mean())
    few = DOCUMENTS / (DOCUMENTS - 1)
    return float(np.sqrt(few * (sums**2).sum()) / len(scores))


def by_errors(scores: np.ndarray, errors: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return intervals of both accuracies, and whether these alone call the models different."""
    means = scores.mean(axis=1)
    ends = np.stack([means - REACH * errors, means + REACH * errors], axis=1)
    return ends, bool(abs(means[0] - means[1]) > REACH * np.hypot(*errors))


def by_evalconfidence(scores: np.ndarray, documents: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return what evalconfidence says, with documents as its clusters."""
    import evalconfidence as other

    frames = [
        pd.DataFrame({"item_id": np.arange(len(row)), "model_id": name, "score": row})
        for name, row in zip("ab", scores, strict=True)
    ]
    results = [other.from_dataframe(frame.assign(cluster_id=documents)) for frame in frames]
    ends = [other.standard_error(each, cluster="cluster_id").ci_clustered for each in results]
    return np.array(ends), float(other.compare(*results).p_value) < LEVEL


def by_ogive(scores: np.ndarray, documents: np.ndarray) -> tuple[np.ndarray, bool]:
    """Return what a leaderboard says, with the documents given."""
    table = og.Responses(scores, respondents=["a", "b"]).described(items={"document": documents})
    board = og.leaderboard(table)
    rows = board.to_frame().loc[["a", "b"]]
    different = board.pairs["verdict"].isin(["better", "worse"])
    return rows[["accuracy_low", "accuracy_high"]].to_numpy(), bool(different.any())


def main() -> None:
    """Print coverage, wrong claims and claims that are right."""
    replications = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    methods = {
        "plain standard error (lm-eval)": lambda x, _: by_errors(
            x, np.array([plain(r) for r in x])
        ),
        "clustered standard error (Inspect)": lambda x, d: by_errors(
            x, np.array([clustered(r, d) for r in x])
        ),
        "evalconfidence": by_evalconfidence,
        "ogive": by_ogive,
    }
    try:
        import evalconfidence
    except ImportError:
        del methods["evalconfidence"]
    else:
        methods = {
            f"evalconfidence {evalconfidence.__version__}"
            if name == "evalconfidence"
            else name: work
            for name, work in methods.items()
        }
    held = dict.fromkeys(methods, 0)
    claims = {ahead: dict.fromkeys(methods, 0) for ahead in (0.0, AHEAD)}
    for ahead in claims:
        true = np.array(truth(ahead))
        for seed in range(replications):
            scores, documents = drawn(np.random.default_rng([seed, ahead > 0]), ahead)
            for name, work in methods.items():
                ends, different = work(scores, documents)
                held[name] += int(((ends[:, 0] <= true) & (true <= ends[:, 1])).sum())
                claims[ahead][name] += different
    difference = truth(AHEAD)[0] - truth(AHEAD)[1]
    print(f"\n## Statistics of evaluations\n\n{machine()}. {replications} tables per column.")
    print_table(
        f"Two models, {DOCUMENTS} documents of {PER_DOCUMENT} questions",
        [
            "method",
            "intervals of accuracy right (95 %)",
            "equal models said to differ (5 %)",
            f"a difference of {difference:.3f} found",
        ],
        [
            [
                name,
                f"{held[name] / (4 * replications):.1%}",
                f"{claims[0.0][name] / replications:.1%}",
                f"{claims[AHEAD][name] / replications:.1%}",
            ]
            for name in methods
        ],
    )


if __name__ == "__main__":
    main()
