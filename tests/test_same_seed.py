"""The same seed gives the same bytes, twice in a row and with any number of workers."""

import inspect

import joblib
import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.irt.adaptive.rules import Budget

RANDOM = np.random.default_rng(0)
ANSWERS = (RANDOM.random((40, 12)) < np.linspace(0.2, 0.8, 40)[:, None]).astype(int)
SCORES = np.linspace(0.2, 0.8, 6)[:, None] + RANDOM.normal(0, 0.1, (6, 8))
HARD, FEATURES = np.linspace(-2, 2, 12), RANDOM.normal(size=(60, 2))
BANK = og.calibrate(ANSWERS, "1pl")
CASES = {
    "choose_datasets": lambda **k: og.choose_datasets(SCORES, 4, n_resamples=20, **k),
    "compare_portfolios": lambda **k: og.compare_portfolios(
        SCORES.T, sizes=[1, 2], methods="topset", cv=3, **k
    ),
    "confidence_by_difficulty": lambda **k: og.confidence_by_difficulty(
        SCORES.ravel().clip(0, 1),
        (SCORES.ravel() > 0.5) * 1,
        np.arange(48.0),
        bins=4,
        n_resamples=20,
        **k,
    ),
    "difficulty_targets": lambda **k: og.difficulty_targets(
        np.tile(ANSWERS, 2), methods=["1pl"], batches=2, **k
    ),
    "dimensionality": lambda **k: og.dimensionality(ANSWERS, n_resamples=3, **k),
    "explain_difficulty": lambda **k: og.explain_difficulty(
        "stepwise", FEATURES, FEATURES[:, 1], n_resamples=2, **k
    ),
    "first_items": lambda **k: og.first_items(BANK, 5, selector="random", **k),
    "generality": lambda **k: og.generality(ANSWERS[:2], HARD, n_resamples=20, **k),
    "replay_adaptively": lambda **k: og.replay_adaptively(
        ANSWERS, sizes=[3], cv=2, model="1pl", progress=False, **k
    ),
    "resample": lambda **k: og.resample(
        BANK, lambda cal: cal.items["difficulty"].std(), n_resamples=10, progress=False, **k
    ),
    "select_models": lambda **k: og.select_models(ANSWERS[:2], HARD, bins=2, cv=2, **k),
    "shorten": lambda **k: og.shorten(ANSWERS, 4, model="1pl", cv=2, progress=False, **k),
    "simulate": lambda **k: og.simulate("2pl", 5, 5, **k).responses,
    "simulate_adaptive": lambda **k: og.simulate_adaptive(
        BANK, [-1.0, 1.0], stopper=Budget(4), selector="random", **k
    ),
}
# Estimators fitted many times, whose own tests ask the same where this would take long.
SLOW = {
    "AdaptiveTest",
    "AlgorithmSelector",
    "CapabilityGate",
    "DeepDifficultyRegressor",
    "DifficultyRegressor",
    "compare_classifiers",
    "compare_regressors",
    "dataset_responses",
    "decode_benchmark",
    "decode_regression",
    "dimension_scale",
    "enrich_confusion",
    "evaluate_adaptively",
    "evaluate_difficulty",
    "evaluate_selectors",
    "measure_capability",
    "run_pool",
    "split_dataset",
}


def parameters(name):
    called = getattr(og, name)
    return {} if called is og.OgiveError else inspect.signature(called).parameters


def bytes_of(found):
    tables = found.tables() if hasattr(found, "tables") else {}
    frames = {"": found.to_frame() if hasattr(found, "to_frame") else pd.Series(found)} | tables
    return {name: frame.to_csv(float_format="%.17g") for name, frame in frames.items()}


def test_every_call_with_a_seed_is_asked():
    seeded = {
        name
        for name in og.__all__
        if callable(getattr(og, name)) and "random_state" in parameters(name)
    }
    assert seeded == CASES.keys() | SLOW
    assert not CASES.keys() & SLOW


@pytest.mark.parametrize("name", CASES)
def test_the_same_seed_gives_the_same_bytes(name):
    call = CASES[name]
    first = bytes_of(call(random_state=3))
    assert bytes_of(call(random_state=3)) == first
    if "n_jobs" in parameters(name):
        with joblib.parallel_config("threading"):
            assert bytes_of(call(random_state=3, n_jobs=2)) == first
