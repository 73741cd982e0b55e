"""Asks other programs about the made tables and writes `made_tables.json`. Not part of the tests.

Run it in an environment of its own (they need no Ogive, and Ogive needs none of them):

    pip install girth==0.8.0 mirt==1.2.0 statsmodels==0.15.0
    python tests/reference/ask_other_programs.py

The package `mirt` of PyPI is written in Rust and has nothing in common with R's mirt.
"""

import json
import re
from importlib.metadata import version
from pathlib import Path

import girth
import mirt
import numpy as np
from made_tables import binary, grades, shares
from statsmodels.multivariate.factor import Factor

SCORED = 25  # respondents, the first ones
FINE = {"n_quadpts": 121, "tol": 1e-9, "max_iter": 20_000}


def listed(**figures):
    return {name: np.round(np.asarray(value, float), 6).tolist() for name, value in figures.items()}


def by_mirt(table, model, **settings):
    found = mirt.fit_mirt(table, model, **FINE, **settings)
    figures = {name: np.asarray(value) for name, value in found.model.parameters.items()}
    if model == "3PL":  # nearly flat without priors, so that only its height is comparable
        return {"log_likelihood": found.log_likelihood}
    errors = {f"{name}_se": np.asarray(v) for name, v in found.standard_errors.items()}
    scores = {}
    for method in ("EAP", "MAP"):
        scored = mirt.fscores(found, table[:SCORED], method=method, n_quadpts=121)
        scores[method] = scored.theta
        scores[f"{method}_se"] = scored.standard_error
    return {"log_likelihood": found.log_likelihood, **listed(**figures, **errors, **scores)}


def by_girth(estimate, table):
    options = {"quadrature_n": 121, "quadrature_bounds": (-6, 6), "max_iteration": 2000}
    found = estimate(table.T, options=options)
    return listed(discrimination=found["Discrimination"], difficulty=found["Difficulty"])


def by_factor_analysis(table):
    """One factor of the log-odds, by maximum likelihood; covariance over n, not n - 1."""
    odds = np.log(table / (1 - table))
    found = Factor(odds, n_factor=1, method="ml", smc=True).fit(tol=1e-12, maxiter=5000)
    spread = odds.std(axis=0)
    loading = found.loadings[:, 0] * np.sign(found.loadings[0, 0]) * spread
    unique = found.uniqueness * spread**2
    cov = np.outer(loading, loading) + np.diag(unique)
    seen = np.cov(odds.T, ddof=0)
    _, log_det = np.linalg.slogdet(2 * np.pi * cov)
    log_likelihood = -0.5 * len(odds) * (log_det + np.trace(np.linalg.solve(cov, seen)))
    return {
        "log_likelihood_of_log_odds": log_likelihood,
        **listed(mean=odds.mean(axis=0), loading=loading, uniqueness=unique),
    }


def main():
    names = ("girth", "mirt", "statsmodels", "numpy", "scipy")
    answers = {
        "source": "made by ask_other_programs.py with "
        + ", ".join(f"{name} {version(name)}" for name in names),
        "2pl": {"mirt": by_mirt(binary(), "2PL"), "girth": by_girth(girth.twopl_mml, binary())},
        "3pl": {"mirt": by_mirt(binary(), "3PL")},
        "graded": {
            "mirt": by_mirt(grades(), "GRM", n_categories=4),
            "girth": by_girth(girth.grm_mml, grades()),
        },
        "gpcm": {
            "mirt": by_mirt(grades(), "GPCM", n_categories=4),
            "girth": by_girth(girth.pcm_mml, grades()),
        },
        "continuous": {"statsmodels": by_factor_analysis(shares())},
    }
    path = Path(__file__).with_name("made_tables.json")
    text = json.dumps(answers, indent=1)
    path.write_text(re.sub(r"(?<=[\[\d,\]])\n *(?=[-\d\[\]])", "", text) + "\n")  # a list per line


if __name__ == "__main__":
    main()
