"""Many tasks at once, on responses whose correlations are known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.irt.dimensions.task_scales import scale_of

TRUTH = np.array([[1.0, 0.95, 0.3], [0.95, 1.0, 0.3], [0.3, 0.3, 1.0]])
NAMES = ("sums", "proofs", "verbs")


def answered(truth, n_respondents, n_items, seed, names=NAMES):
    """Responses to tasks whose true abilities correlate as `truth` says, and the abilities."""
    random = np.random.default_rng(seed)
    ability = random.multivariate_normal(np.zeros(len(truth)), truth, n_respondents)
    place = np.tile(np.arange(len(truth)), n_items)  # items of all tasks, mixed
    slope, difficulty = random.uniform(1, 2, place.size), random.normal(size=place.size)
    chance = 1 / (1 + np.exp(-slope * (ability[:, place] - difficulty)))
    values = (random.random(chance.shape) < chance).astype(float)
    tasks = [names[k] for k in place]
    return og.Responses(values).described(items={"task": tasks}), ability


def cells(table):
    return table[0].to_frame().to_numpy().copy()


@pytest.fixture(scope="module")
def table():
    return answered(TRUTH, 400, 15, seed=3)


@pytest.fixture(scope="module")
def found(table):
    return og.task_scales(table[0])


def test_true_correlations_lie_in_their_intervals(found):
    for row in found.correlations.itertuples():
        wanted = TRUTH[NAMES.index(row.task), NAMES.index(row.other)]
        assert row.low <= wanted <= row.high
    assert (
        found.correlation_matrix.loc["sums", "proofs"]
        == found.correlation_matrix.loc["proofs", "sums"]
    )
    assert (np.diag(found.correlation_matrix) == 1).all()


def test_measurement_error_does_not_lower_correlations(found):
    wide = found.abilities.pivot_table(index="respondent", columns="task", values="ability")
    plain = wide.corr().loc["sums", "proofs"]
    assert found.correlation_matrix.loc["sums", "proofs"] > plain + 0.1


def test_abilities_that_borrow_are_nearer_to_the_truth(table, found):
    truth = pd.DataFrame(table[1], index=table[0].respondents, columns=NAMES)
    miss = {}
    for name in ("abilities", "joint_abilities"):
        frame = getattr(found, name)
        wide = frame.pivot_table(index="respondent", columns="task", values="ability")
        gap = wide.loc[truth.index, list(NAMES)] - truth
        miss[name] = np.sqrt((gap**2).mean())
    assert miss["joint_abilities"]["sums"] < 0.9 * miss["abilities"]["sums"]
    alone = found.abilities.groupby("task")["ability_se"].mean()
    borrowed = found.joint_abilities.groupby("task")["ability_se"].mean()
    assert borrowed["sums"] < 0.9 * alone["sums"]


def test_tasks_tell_how_reliable_they_are(found):
    assert list(found.tasks.index) == list(NAMES)
    assert (found.tasks["n_items"] == 15).all()
    assert (found.tasks["reliability_low"] < found.tasks["reliability"]).all()
    assert found.tasks["reliability"].between(0.6, 0.95).all()
    assert set(found.calibrations) == set(NAMES)


def test_the_sentence_says_what_is_the_same_and_what_stands_apart(found):
    assert "verbs stands apart: its highest correlation, with " in found.meaning
    closest = found.correlations.iloc[0]
    assert {closest["task"], closest["other"]} == {"sums", "proofs"}
    assert f"{closest['correlation']:.2f} ({closest['low']:.2f} to" in found.meaning
    assert found.meaning in repr(found)


def test_like_tasks_stand_side_by_side():
    order = [0, 3, 1, 4, 2, 5]
    like = np.kron(np.eye(2), np.full((3, 3), 0.9)) + 0.1 * np.eye(6)
    names = np.array(["a1", "a2", "a3", "b1", "b2", "b3"])[order]
    mixed, _ = answered(like[np.ix_(order, order)], 300, 10, seed=1, names=tuple(names))
    letters = [name[0] for name in og.task_scales(mixed).correlation_matrix.index]
    assert letters in (list("aaabbb"), list("bbbaaa"))


def test_a_task_that_some_never_met_is_borrowed_for_them(table):
    values = cells(table)
    groups = np.array(table[0].item_groups("task"))
    values[:100, groups == "proofs"] = np.nan
    part = og.task_scales(og.Responses(values), by=list(groups))
    alone = part.abilities[part.abilities["task"] == "proofs"]
    assert len(alone) == 300
    joint = part.joint_abilities[part.joint_abilities["task"] == "proofs"]
    missed = joint["n_items"].to_numpy() == 0
    assert missed.sum() == 100
    assert joint["ability_se"][missed].mean() > 1.3 * joint["ability_se"][~missed].mean()
    assert np.corrcoef(joint["ability"][missed], table[1][:100, 1])[0, 1] > 0.6
    pair = part.correlations.set_index(["task", "other"])["n_respondents"]
    assert pair["sums", "proofs"] == 300
    assert pair["sums", "verbs"] == 400


def test_tasks_that_nobody_met_both_have_no_correlation(table):
    values = cells(table)
    groups = np.array(table[0].item_groups("task"))
    values[:200, groups == "proofs"] = np.nan
    values[200:, groups == "sums"] = np.nan
    part = og.task_scales(og.Responses(values), by=list(groups))
    row = part.correlations.iloc[-1]
    assert {row["task"], row["other"]} == {"sums", "proofs"}
    assert np.isnan(row["correlation"])
    assert (row["low"], row["high"]) == (-1, 1)
    assert "no respondent was asked both" in " ".join(part.notes)
    part.plot()


def test_abilities_that_do_not_differ_have_no_correlation():
    """Between answers by chance it was 0.00, with a standard error of 26 million."""
    answers = (np.random.default_rng(0).random((14, 9)) < 0.5).astype(float)
    found = og.task_scales(answers, by=[*"aaabbbccc"], progress=False)
    assert found.correlations[["correlation", "se"]].isna().all(axis=None)
    assert (found.correlations["n_respondents"] == 14).all()
    assert found.meaning.startswith("No correlation can be estimated: these responses hardly show")
    assert any("its standard error would be above 1" in note for note in found.notes)
    found.plot()


def test_few_respondents_have_wide_intervals():
    few, _ = answered(TRUTH, 30, 15, seed=2)
    rows = og.task_scales(few).correlations
    assert (rows["high"] - rows["low"]).iloc[-1] > 0.4
    assert rows["low"].ge(-1).all()
    assert rows["high"].le(1).all()


def test_few_respondents_do_not_make_items_look_steep():
    few, _ = answered(TRUTH, 30, 15, seed=2)
    held, free = (og.task_scales(few, model="2pl", priors=each) for each in ("default", None))
    for task in NAMES:
        steepest = [
            found.calibrations[task].items["discrimination"].max() for found in (held, free)
        ]
        assert steepest[0] < 2.5 < steepest[1]


def test_tasks_with_too_little_to_tell_are_left_out_and_named(table):
    values, groups = cells(table), list(table[0].item_groups("task"))
    values[:, 0] = 1.0
    groups[:3], groups[3] = ["all right"] * 3, "single"
    values[:, :3] = 1.0
    part = og.task_scales(og.Responses(values), by=groups)
    assert set(part.tasks.index) == set(NAMES)
    assert any(
        note.startswith("all right is left out") and "0 items" in note for note in part.notes
    )
    assert any(
        note.startswith("single is left out") and "1 item of 1" in note for note in part.notes
    )


def test_one_task_is_refused_and_so_are_three_respondents(table):
    with pytest.raises(InputError, match="need two tasks or more; usable here: all"):
        og.task_scales(table[0], by=["all"] * 45)
    with pytest.raises(InputError, match="3 respondents"):
        og.task_scales(table[0].select(respondents=[0, 1, 2]))
    with pytest.raises(InputError, match="no fact 'subject'"):
        og.task_scales(table[0], by="subject")


def test_grades_and_scores_have_scales_too(table):
    sums = cells(table).reshape(400, 3, 5, 3).sum(axis=1)[:, :, [0, 2]]  # three items each
    graded = og.Responses(sums.reshape(400, 10), kind="graded")
    found = og.task_scales(graded, by=["sums", "verbs"] * 5)
    row = found.correlations.iloc[0]
    assert row["low"] <= 0.3 <= row["high"]
    assert found.calibrations["sums"].model.name == "graded"


def test_the_result_shows_and_saves_itself(found, tmp_path):
    assert found.save(tmp_path / "tasks.html").stat().st_size > 1000
    ax = found.plot().ax_
    assert ax.images[0].get_clim() == (0.0, 1.0)
    assert [label.get_text() for label in ax.get_yticklabels()] == list(
        found.correlation_matrix.index
    )
    assert {"se", "low", "high"} <= set(found.to_frame().columns)


def test_progress_names_each_task(table):
    said = []
    og.task_scales(table[0], progress=lambda *step: said.append(step))
    assert said == [(0, 3, "sums"), (1, 3, "proofs"), (2, 3, "verbs")]


def test_a_scale_can_also_tell_of_respondents_that_were_not_calibrated():
    """Of the same respondents, a bank of few others knows less than a bank of many."""
    drawn = og.simulate("2pl", 430, 12, random_state=3).responses
    rest = drawn.select(respondents=slice(400, 430))
    few, many = (
        scale_of(og.calibrate(drawn.select(respondents=slice(0, n)), "2pl"), rest)
        for n in (40, 400)
    )
    assert few.log_likelihood.shape[0] == few.blur.size == 30
    assert (many.blur >= 0).all()
    assert few.blur.mean() > 2 * many.blur.mean()


def test_one_table_decides_the_model_of_all_its_tasks():
    few, _ = answered(TRUTH, 30, 15, seed=2)
    found = og.task_scales(few)
    assert {cal.model.name for cal in found.calibrations.values()} == {"1pl"}
    assert any(note.startswith("Model '1pl', chosen because") for note in found.notes)
    many, _ = answered(TRUTH, 120, 15, seed=2)
    table = many.to_frame().to_numpy(float, copy=True)
    task = np.array(many.item_groups("task"))
    table[:60, task == NAMES[0]] = np.nan  # asked of 60 respondents only
    apart = og.task_scales(og.Responses(table, items=many.items), by=list(task))
    assert {cal.model.name for cal in apart.calibrations.values()} == {"2pl"}


def test_a_few_models_with_one_ability_neither_show_one_scale_nor_rule_it_out():
    random = np.random.default_rng(3)
    chance = 1 / (1 + np.exp(-1.5 * (random.normal(size=(9, 1)) - random.normal(size=60))))
    found = og.task_scales((random.random((9, 60)) < chance).astype(int), ["a", "b"] * 30)
    assert "9 respondents who were asked both neither show" in found.meaning
    assert "nor rule it out" in found.meaning
    assert any("With only 9 respondents" in note for note in found.notes)
    assert found.preview()["correlation"].tolist() == found.correlations["correlation"].tolist()


def test_no_correlation_is_called_the_highest_where_intervals_span_everything(table):
    """Of four models who were asked both tasks, 1.00 (-1.00 to 1.00) was called the highest."""
    values = cells(table)[:9].copy()
    groups = np.array(table[0].item_groups("task"))
    values[:3, groups == "proofs"], values[5:, groups != "proofs"] = np.nan, np.nan
    few = og.Responses(values).described(items={"task": groups.tolist()})
    found = og.task_scales(few)
    wide = found.correlations.query("task == 'proofs' or other == 'proofs'")
    assert (wide["high"] - wide["low"] > 1).all()
    unknown = replace(found, correlations=wide)
    assert "highest" not in unknown.meaning
    assert "No correlation can be estimated" in unknown.meaning


def test_the_pair_that_is_named_as_one_scale_is_one_that_qualifies(found):
    """It named the highest correlation, though its interval began below 0.90."""
    columns = ["task", "other", "correlation", "se", "low", "high", "n_respondents"]
    rows = [
        ("sums", "proofs", 0.998, 0.04, 0.889, 1.0, 40),
        ("sums", "verbs", 0.994, 0.03, 0.905, 1.0, 40),
    ]
    told = replace(found, correlations=pd.DataFrame(rows, columns=columns)).meaning
    assert told.startswith("sums and verbs correlate 0.99 (0.91 to 1.00), so one scale would do")
    assert "other pair" not in told
