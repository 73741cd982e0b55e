"""What all functions of the difficulty study take alike: targets, and numbers that are numbers."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError

N = 60
QUICK = {"regressors": ["stepwise"], "n_resamples": 1}


@pytest.fixture(scope="module")
def responses():
    table = og.simulate("2pl", n_respondents=40, n_items=N, random_state=0).responses.to_frame()
    table.columns = [f"row_{k}" for k in range(N)]
    table["row_3"] = 1 - table["row_3"]
    return table


@pytest.fixture(scope="module")
def targets(responses):
    return og.difficulty_targets(responses)


@pytest.fixture(scope="module")
def features(targets):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(N, 3)), columns=["a", "b", "c"])
    return frame.assign(a=targets.difficulties["1pl"] + 0.3 * frame["a"])


def test_each_method_of_the_targets_is_evaluated_with_and_without_negative_items(features, targets):
    found = og.evaluate_difficulty(features, targets, **QUICK)
    by_hand = {name: targets.difficulty(name) for name in targets.methods}
    wanted = og.evaluate_difficulty(features, by_hand, negative=targets.negative, **QUICK)
    pd.testing.assert_frame_equal(found.folds, wanted.folds)
    assert found.folds["training"].unique().tolist() == ["all items", "without negative"]
    whole = og.evaluate_difficulty(features, targets, negative=False, **QUICK)
    assert whole.folds["training"].unique().tolist() == ["all items"]


def test_without_negative_items_there_is_nothing_to_leave_out(features, responses):
    targets = og.difficulty_targets(responses, methods=["1pl"])
    found = og.evaluate_difficulty(features, targets, **QUICK)
    assert found.folds["training"].unique().tolist() == ["all items"]


def test_items_that_the_targets_lack_are_left_out(features, responses):
    targets = og.difficulty_targets(responses.drop(columns=["row_1", "row_9"]))
    found = og.evaluate_difficulty(features, targets, **QUICK)
    assert "1pl: left out (no finite value): 2 items." in found.notes
    assert "without negative" in set(found.folds["training"])


def test_the_frame_of_the_targets_is_told_what_to_give_instead(features, targets):
    with pytest.raises(InputError, match=r"column 'flag' of targets.*itself, not its frame"):
        og.evaluate_difficulty(features, targets.to_frame(), **QUICK)


def test_targets_stand_for_the_difficulty_by_their_first_method(
    subtests, targets, responses, features
):
    cases = [
        lambda given, table, rows: og.characteristic_curves(table, given).to_frame(),
        lambda given, table, rows: og.select_models(table, given).to_frame(),
        lambda given, table, rows: og.generality(table, given, n_resamples=20).to_frame(),
        lambda given, table, rows: og.explain_difficulty("stepwise", rows, given).to_frame(),
        lambda given, table, rows: og.confidence_by_difficulty(
            table.mean(), table.iloc[0], given, n_resamples=20
        ).to_frame(),
        lambda given, table, rows: og.performance_alarm((given, table.iloc[0]), given).to_frame(),
        lambda given, table, rows: og.performance_alarm(
            {"difficulty": given, "right": table.iloc[0]}, given
        ).to_frame(),
        lambda given, table, rows: pd.Series(og.select_models(table, given).choose(given)),
        lambda given, table, rows: pd.Series(
            og.DifficultyRegressor("stepwise").fit(rows, given).predict(rows)
        ),
    ]
    for number, study in enumerate(cases):
        with subtests.test(number=number):
            found = study(targets, responses, features)
            assert found.equals(study(targets.difficulty("1pl"), responses, features))


NUMBERS = {
    "difficulty_targets": {"limit": (0, -1, np.nan), "batches": (0, 1.5), "random_state": (-1,)},
    "evaluate_difficulty": {
        "cv": (0, 2.5),
        "n_resamples": (0,),
        "random_state": (-1, np.nan),
        "n_jobs": (0, np.nan),
    },
    "explain_difficulty": {
        "test_size": (0, np.nan),
        "n_resamples": (1, np.nan),
        "random_state": (-1,),
    },
    "characteristic_curves": {"bins": (0, -1, np.nan), "confidence": (0, 95, np.nan)},
    "select_models": {"bins": (0,), "confidence": (1,), "cv": (1, 2.5), "random_state": (-1,)},
    "generality": {"n_resamples": (0, 19, np.nan), "random_state": (-1, 0.5)},
    "confidence_by_difficulty": {
        "bins": (0,),
        "confidence": (2,),
        "n_resamples": (0,),
        "sure": (-1, np.nan),
        "random_state": (-1,),
    },
    "performance_alarm": {"alpha": (0, -1, np.nan), "guessing": (-1, 1, np.nan)},
}


def test_what_is_no_fitting_number_is_told_what_should_be(subtests, targets, responses, features):
    cases = [
        (study, argument, value)
        for study, arguments in NUMBERS.items()
        for argument, values in arguments.items()
        for value in ("3", True, *values)
    ]
    for study, argument, value in cases:
        with subtests.test(study=study, argument=argument, value=value):
            hard, right = targets.difficulty(), responses.iloc[0]
            given = {
                "difficulty_targets": (responses,),
                "evaluate_difficulty": (features, hard),
                "explain_difficulty": ("stepwise", features, hard),
                "confidence_by_difficulty": (responses.mean(), right, hard),
                "performance_alarm": ((hard, right), hard),
            }.get(study, (responses, hard))
            with pytest.raises(InputError, match=f"`{argument}` must be .*got {value!r}"):
                getattr(og, study)(*given, **{argument: value})
