"""The reports of all studies in a real browser."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import ogive as og
from ogive.reporting.chapters import read_benchmark


def decoding():
    ability = np.linspace(-2, 2, 20)
    tables = {
        f"set {k}": og.simulate("2pl", n_items=25, abilities=ability, random_state=k).responses
        for k in range(4)
    }
    return read_benchmark(og.decode_responses(tables, model="2pl"))


def portfolio():
    random = np.random.default_rng(0)
    odds = random.normal(size=(60, 1)) * [1, 0.8, 1.2, -0.4] + random.normal(0, 0.4, (60, 4))
    runs = pd.DataFrame(1 / (1 + np.exp(-odds)), columns=["steady", "weak", "strong", "odd one"])
    found = og.portfolio(runs, bounds=(0, 1))
    return [found, found.select(0.01), og.compare_portfolios(found, cv=3)]


def capability():
    random = np.random.default_rng(0)
    line = random.normal(size=160)
    X = pd.DataFrame(line[:, None] + random.normal(size=(160, 3)), columns=["a", "b", "c"])
    models = {"Bayes": GaussianNB(), "logistic": LogisticRegression()}
    return {
        name: og.measure_capability(model, X, line > 0, n_resamples=3, budget=5)
        for name, model in models.items()
    }


def alarm():
    random = np.random.default_rng(0)
    hard = random.normal(-1, 1, (2, 200))
    right = random.random((2, 200)) < 1 / (1 + np.exp(hard - 1))
    parts = [pd.DataFrame({"difficulty": hard[k], "right": right[k]}) for k in range(2)]
    return og.performance_alarm(*parts)


def diagnoses():
    drawn = og.simulate("graded", 80, 8, missing=0.1, random_state=0).responses
    found = og.calibrate(drawn, "graded")
    return [found, og.diagnose(found)]


def along_difficulty():
    drawn = og.simulate("2pl", 12, 120, random_state=0)
    found = og.calibrate(drawn.responses, "1pl")
    return {
        "curves": og.characteristic_curves(drawn.responses, calibration=found, bins=4),
        "regularity": og.generality(drawn.responses, calibration=found),
    }


def confusion():
    random = np.random.default_rng(0)
    label = random.integers(2, size=150)
    frame = pd.DataFrame(random.normal(size=(150, 3)) + label[:, None]).add_prefix("x")
    pool = {f"tree {n}": DecisionTreeClassifier(max_depth=n % 5 + 1) for n in range(20)}
    models = {"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}
    data = frame.assign(label=label)
    return og.compare_classifiers(data, models, pool, model="2pl", n_resamples=50)


def language_models():
    drawn = og.simulate("2pl", 60, 40, random_state=0).responses
    table = drawn.described(items={"task": ["sums", "verbs"] * 20})
    bank = og.calibrate(table, "2pl")
    return [
        og.leaderboard(table.select(respondents=slice(0, 12))),
        og.item_health(table, by="task"),
        og.shorten(table, 8, cv=2),
        og.replay_adaptively(table, sizes=[5, 10], cv=2),
        og.evaluate_adaptively(bank, lambda item: int(item < "item_3"), budget=5),
        og.link(bank, og.calibrate(og.simulate("2pl", 200, 40, random_state=0).responses, "2pl")),
        og.task_scales(table),
        og.differential(table, ["small", "large"] * 30),
    ]


# The first few stand for all where time is short.
QUICK = (capability,)
LONGER = (decoding, language_models, portfolio, alarm, diagnoses, along_difficulty, confusion)


@pytest.mark.parametrize(
    "study", [*QUICK, *(pytest.param(each, marks=pytest.mark.slow) for each in LONGER)]
)
def test_a_report_opens_without_a_complaint(study, visit, axe, tmp_path):
    path = og.write_report(tmp_path / "report.html", study())
    opened = visit(path, bypass_csp=True)
    assert opened.trouble == []
    assert opened.outside() == []
    assert opened.page.locator("figure").count() > 0
    assert opened.page.locator("[data-table] tbody td").count() > 0
    assert axe(opened.page) == []
