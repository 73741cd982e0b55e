import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.data.study_tables import copies, grouped_folds
from ogive.errors import FileError, InputError
from ogive.evaluation.replay_predictions import COMPLETED, PLAIN, better_forms
from ogive.irt.replay_error import ADAPTIVE, FORM
from ogive.stats.intervals import conformal_quantile, normal_reach


@pytest.fixture(scope="module")
def table():
    return og.simulate("2pl", 300, 40, random_state=3).responses


@pytest.fixture(scope="module")
def replay(table):
    return og.replay_adaptively(table, sizes=[5, 10, 20], method="adaptive", cv=2, model="2pl")


def test_every_prediction_is_that_of_an_evaluation_with_the_same_bank(table):
    bank = og.calibrate(table.select(respondents=slice(0, 200)), "2pl")
    others = table.select(respondents=slice(200, 300))
    found = og.replay_adaptively(bank, others, sizes=[4, 9])
    rows = found.predictions
    for k in (0, 50, 99):
        answers = dict(zip(others.items, others.cells[k], strict=True))
        for size in (4, 9):
            wanted = og.evaluate_adaptively(bank, answers.get, budget=size, method="adaptive")
            who = rows["respondent"] == others.respondents[k]
            (row,) = rows[
                who & (rows["n_items"] == size) & (rows["method"] == ADAPTIVE)
            ].itertuples()
            assert row.accuracy == pytest.approx(wanted.accuracy, abs=1e-9)
            assert row.accuracy_se == pytest.approx(wanted.accuracy_se, abs=1e-9)
            assert row.truth == pytest.approx(others.cells[k].mean())


def test_figures_are_those_of_the_predictions(replay):
    for row in replay.errors.itertuples():
        part = replay.predictions
        part = part[(part["method"] == row.method) & (part["n_items"] == row.n_items)]
        error = part["accuracy"] - part["truth"]
        assert row.mae == pytest.approx(error.abs().mean())
        assert row.rmse == pytest.approx(np.sqrt((error**2).mean()))
        assert row.bias == pytest.approx(error.mean())
        assert row.coverage == pytest.approx((error.abs() <= 1.959964 * part["accuracy_se"]).mean())
        assert row.mae_se == pytest.approx(error.abs().std() / np.sqrt(len(part)), rel=1e-6)
        rank = part["accuracy"].corr(part["truth"], method="spearman")
        assert row.spearman == pytest.approx(rank)


def test_adaptive_items_beat_random_ones_and_the_model_beats_the_plain_mean(replay):
    mae = replay.errors.set_index(["n_items", "method"])["mae"].unstack()  # noqa: PD010
    assert (mae[ADAPTIVE] < mae[COMPLETED]).all()
    assert (mae[COMPLETED] < mae[PLAIN]).all()
    assert mae[ADAPTIVE].is_monotonic_decreasing


def test_intervals_hold_what_they_promise_where_the_model_is_true(replay):
    rows = replay.errors.set_index("method").loc[[ADAPTIVE, COMPLETED]]
    assert ((rows["coverage"] - 0.95).abs() < 4 * 0.0126).all()  # √(0.95 × 0.05 / 300)


def two_scales(n=600, seed=0):
    """Items of two scales that are hardly related, which one scale cannot explain."""
    random = np.random.default_rng(seed)
    ability = random.multivariate_normal([0, 0], [[1, 0.2], [0.2, 1]], n)
    scale = np.arange(60) % 2
    slope = random.uniform(1.5, 2.5, 60)
    logit = slope * (ability[:, scale] - random.normal(0, 1, 60))
    return og.Responses((random.random((n, 60)) < 1 / (1 + np.exp(-logit))).astype(int))


def test_where_a_benchmark_is_two_scales_the_real_error_makes_intervals_honest():
    table = two_scales()
    replay = og.replay_adaptively(table, sizes=[15], method="adaptive", cv=2, model="2pl")
    row = replay.errors.set_index("method").loc[ADAPTIVE]
    assert row["coverage"] < 0.9
    assert row["coverage_observed"] == pytest.approx(0.95, abs=0.03)
    bank = og.calibrate(table, "2pl")
    answers = dict(zip(table.items, table.cells[0], strict=True))
    plain = og.evaluate_adaptively(bank, answers.get, budget=15, method="adaptive")
    widened = og.evaluate_adaptively(bank, answers.get, budget=15, error=replay)
    assert widened.accuracy == pytest.approx(plain.accuracy, abs=1e-3)  # curves are rounded
    error = replay.real_error
    down, up = error.reaches(15, widened.accuracy, plain.accuracy_se, 0.95)
    assert min(down, up) >= error.reach(15, 0.95) * (plain.accuracy_se + error.floors[0])
    assert min(down, up) > 1.1 * normal_reach(0.95) * plain.accuracy_se
    assert widened.accuracy_high - widened.accuracy == pytest.approx(up)


def test_the_bank_of_a_replay_carries_its_error_also_in_a_file(replay, table, tmp_path):
    answers = dict(zip(table.items, table.cells[0], strict=True))
    given = og.evaluate_adaptively(
        og.calibrate(table, replay.bank.model), answers.get, budget=8, error=replay
    )
    for bank in (replay.bank, og.load(replay.bank.save(tmp_path / "bank.json"))):
        found = og.evaluate_adaptively(bank, answers.get, budget=8)
        assert found.accuracy_high == pytest.approx(given.accuracy_high)
        assert not any("comes from the model" in note for note in found.notes)
    other = og.evaluate_adaptively(replay.bank, answers.get, budget=8, selector="information")
    assert any("comes from the model" in note for note in other.notes)
    assert replay.bank.of_items(table.items[:9]).replayed is None


def test_a_bank_whose_replayed_error_is_damaged_is_refused(replay, tmp_path, subtests):
    cases = [
        (["sizes"], []),
        (["floors"], [0.1]),
        (["misses", 0, 0], -1.0),
        (["misses", 0], []),
        (["strongest"], [[0.1]]),
        (["edges"], [0.1]),
        (["selector"], 3),
    ]
    for path, value in cases:
        with subtests.test(path=path):
            file = replay.bank.save(tmp_path / "bank.json")
            document = json.loads(file.read_text())
            place = document["replayed"]
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = value
            file.write_text(json.dumps(document))
            with pytest.raises(FileError):
                og.load(file)


def test_models_that_may_be_strong_get_the_width_that_the_strongest_needed(replay):
    error = replay.real_error
    low, high = error.edges
    assert low < 0.5 < high
    unit, plain = 0.001 + error.floors[0], error.reach(5, 0.9)
    strong = max(np.quantile(error.strongest[0], 0.9, method="higher"), plain) * unit
    assert error.reaches(5, high, 0.001, 0.9) == pytest.approx((strong, strong))
    assert error.reaches(5, high - 0.9 * strong, 0.001, 0.9)[1] == pytest.approx(strong)
    assert error.reaches(5, high - 1.1 * strong, 0.001, 0.9)[1] == pytest.approx(plain * unit)


def test_stronger_models_than_any_of_the_bank_are_covered():
    table = two_scales()
    score = table.to_frame().mean(axis=1).to_numpy()
    known, new = (
        table.select(respondents=rows)
        for rows in (score < np.quantile(score, 0.9), score >= np.quantile(score, 0.9))
    )
    error = og.replay_adaptively(known, sizes=[15], method="adaptive", cv=2, model="2pl").real_error
    told = og.replay_adaptively(known, new, sizes=[15], model="2pl").predictions
    mine = told[told["method"] == ADAPTIVE]
    reach = [
        error.reaches(15, *row, 0.9)
        for row in mine[["accuracy", "accuracy_se"]].itertuples(index=False)
    ]
    down, up = np.array(reach).T
    off = (mine["truth"] - mine["accuracy"]).to_numpy()
    assert ((off <= up) & (-off <= down)).mean() >= 0.85


def test_the_real_error_of_another_bank_or_selector_is_refused(replay, table):
    answer = lambda _: 1  # noqa: E731
    bank = og.calibrate(table, "2pl")
    with pytest.raises(InputError, match="items that are not the 30"):
        og.evaluate_adaptively(bank.of_items(bank.item_names[:30]), answer, error=replay)
    with pytest.raises(InputError, match="same selector"):
        og.evaluate_adaptively(bank, answer, error=replay, selector="information")


def test_between_two_sizes_the_reach_lies_between(replay):
    error = replay.real_error
    ends = sorted([error.reach(5, 0.9), error.reach(10, 0.9)])
    assert ends[0] <= error.reach(7, 0.9) <= ends[1]
    assert error.reach(1, 0.9) == error.reach(5, 0.9)


def test_the_quantile_of_misses_is_that_of_conformal_prediction():
    misses = np.arange(1.0, 20.0)
    assert conformal_quantile(misses, 0.9) == 18.0  # the 18th of 19: (19 + 1) × 0.9
    assert conformal_quantile(misses, 0.99) == np.inf  # 99 would be needed


def test_a_bank_from_one_table_is_tested_on_another(table):
    one, other = table.select(respondents=slice(0, 200)), table.select(respondents=slice(200, 300))
    found = og.replay_adaptively(one, other, sizes=[5], model="2pl")
    bank = og.calibrate(one, "2pl")
    wanted = og.replay_adaptively(bank, other, sizes=[5])
    pd.testing.assert_frame_equal(found.errors, wanted.errors)
    assert found.n_respondents == 100


@pytest.mark.slow
def test_the_same_seed_gives_the_same_and_another_seed_other_random_items(table):
    some = table.select(respondents=slice(0, 120))
    one, two, other = (
        og.replay_adaptively(some, sizes=[5], method="adaptive", cv=2, random_state=seed).errors
        for seed in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one, two)
    assert one["mae"].iloc[-1] != other["mae"].iloc[-1]


def test_copies_stay_in_one_fold_and_folds_are_of_about_equal_size():
    values = np.random.default_rng(0).integers(0, 2, (40, 8))
    doubled = og.Responses(np.vstack([values, values, values[:10]]))
    groups = copies(doubled)
    fold = grouped_folds(groups, 4, 0)
    assert all(len(set(fold[groups == group])) == 1 for group in set(groups))
    assert np.ptp(np.bincount(fold)) <= 3
    assert set(grouped_folds(np.array([0, 0, 1, 2]), 9, 0)) == {0, 1, 2}
    with pytest.raises(InputError, match="cannot be divided"):
        grouped_folds(np.zeros(10, dtype=int), 4, 0)


def test_copies_are_told_and_make_standard_errors_no_smaller(table):
    some = table.select(respondents=slice(0, 120))
    twice = og.Responses(np.vstack([some.cells, some.cells]), items=some.items, kind="binary")
    bank = og.calibrate(table, "2pl")
    once, doubled = (og.replay_adaptively(bank, part, sizes=[5]) for part in (some, twice))
    adaptive = [found.errors["mae_se"].iloc[0] for found in (once, doubled)]
    assert adaptive[0] == pytest.approx(adaptive[1], rel=1e-6)
    assert "120 respondents of 240 gave exactly the same responses" in " ".join(doubled.notes)


@pytest.mark.parametrize("count", [1, 3])
def test_a_bank_is_replayed_on_few_respondents_and_they_are_called_few(table, count):
    bank = og.calibrate(table, "2pl")
    found = og.replay_adaptively(bank, table.select(respondents=slice(0, count)), sizes=[5])
    assert found.n_respondents == count
    assert found.errors["coverage_observed"].isna().all()
    assert "for 95% intervals by the observed error" in " ".join(found.notes)
    assert found.meaning
    answers = dict(zip(table.items, table.cells[0], strict=True))
    widest = og.evaluate_adaptively(bank, answers.get, budget=5, error=found)
    right = widest.trace["response"].sum()
    assert (widest.accuracy_low, widest.accuracy_high) == (right / 40, (right + 35) / 40)
    whole = og.evaluate_adaptively(bank, answers.get, budget=40, error=found)
    assert whole.accuracy_low == pytest.approx(whole.accuracy_high)


@pytest.mark.slow
def test_fewer_respondents_than_folds_make_fewer_folds_and_it_is_said():
    table = og.simulate("2pl", 8, 20, random_state=1).responses
    found = og.replay_adaptively(table, sizes=[5], cv=12)
    assert "8 folds instead of 12: only so many respondents differ." in found.notes
    assert "Model '1pl', chosen because responses are right or wrong" in " ".join(found.notes)


def test_respondents_with_too_few_responses_are_left_out_and_counted(table):
    values = table.cells[:100].astype(float)
    values[:10, 5:] = np.nan
    values[20, 30:] = np.nan
    gaps = og.Responses(values, items=table.items, kind="binary")
    found = og.replay_adaptively(og.calibrate(table), gaps, sizes=[8])
    assert found.n_respondents == 90
    assert "(fewer than 8 responses): 10 respondents" in " ".join(found.notes)
    assert "itself a prediction" in " ".join(found.notes)
    assert found.predictions["accuracy"].notna().all()


def test_settings_that_make_no_sense_are_refused(subtests, table):
    cases = [
        ({"sizes": [40]}, "nothing is left"),
        ({"sizes": 5}, "a list of numbers"),
        ({"sizes": [0]}, "sizes"),
        ({"cv": 1}, "cv"),
        ({"confidence": 2}, "confidence"),
        ({"batch_size": 0}, "batch_size"),
    ]
    for change, complaint in cases:
        with (
            subtests.test(change=change, complaint=complaint),
            pytest.raises(InputError, match=complaint),
        ):
            og.replay_adaptively(table, **change)


def test_a_bank_alone_is_refused(table):
    with pytest.raises(InputError, match="A bank alone"):
        og.replay_adaptively(og.calibrate(table))


def test_it_is_drawn_and_says_what_it_means(replay, tmp_path):
    for kind in ("mae", "coverage"):
        assert replay.plot(kind).save(tmp_path / f"{kind}.png").stat().st_size > 5_000
    assert replay.meaning.startswith("After 20 items of 40")
    last = replay.errors[replay.errors["n_items"] == 20].set_index("method")["mae"]
    rival = last.drop("adaptive").idxmin()
    assert rival != "random items, plain mean"  # the strongest rival, not the weakest
    assert f"other ways with as many ({rival}) is off by {last[rival]:.3f}" in replay.meaning
    with pytest.raises(InputError, match="one of: mae, coverage"):
        replay.plot("speed")


@pytest.mark.slow
def test_25_adaptive_items_have_at_most_half_the_error_of_25_random_ones(shared, subtests):
    for name in ("arc_2pl", "mmlu_3pl"):
        with subtests.test(name):
            path = shared / "data" / "llm" / f"metabench_{name}_responses.csv.gz"
            whole = og.Responses.from_frame(pd.read_csv(path, index_col="respondent"))
            fold = grouped_folds(copies(whole), 5, 0)
            bank, unseen = whole.select(respondents=fold > 0), whole.select(respondents=fold == 0)
            mae = og.replay_adaptively(bank, unseen, sizes=[25]).errors.set_index("method")["mae"]
            assert mae[ADAPTIVE] < 0.5 * mae[PLAIN]
            assert mae[ADAPTIVE] < 0.7 * mae[COMPLETED]


def test_progress_is_told_bank_by_bank_and_fold_by_fold():
    told = []
    table = og.simulate("1pl", 40, 12, random_state=0).responses
    og.replay_adaptively(
        table, sizes=[3], cv=2, model="1pl", progress=lambda *words: told.append(words)
    )
    assert [done for done, _, _ in told] == [0, 1, 2, 3, 4]
    assert told[-2:] == [(3, 5, "fold 2 of 2"), (4, 5, "short form of 3")]


def steep_and_flat():
    """A scale of ten steep items, which one ability follows, and another of twenty flat ones."""
    random, sizes = np.random.default_rng(0), [10, 20]
    skill = np.repeat(random.normal(size=(150, 2)), sizes, axis=1)
    logit = np.repeat([4.0, 1.5], sizes) * skill - 0.7 * random.normal(size=30)
    return og.Responses((random.random((150, 30)) < 1 / (1 + np.exp(-logit))).astype(int))


@pytest.fixture(scope="module")
def compared():
    return og.replay_adaptively(steep_and_flat(), sizes=[6], cv=3, model="2pl")


@pytest.mark.slow
def test_short_forms_are_judged_on_the_same_respondents(compared):
    form = compared.errors.set_index("method").loc[FORM]
    short = og.shorten(steep_and_flat(), 6, cv=3)
    assert form["mae"] == short.error["mae"][0]
    rows = compared.predictions.query("method == @FORM")
    np.testing.assert_allclose(rows["accuracy"], short.predicted)
    assert "short form" in compared.meaning


@pytest.mark.parametrize(
    ("own", "form", "said"),
    [
        (
            (0.0108, 0.0091),
            (0.0145, 0.0082),
            (
                "an adaptive test is asked rather than a fixed short form: in a replay of this "
                "benchmark, "
                "its mean absolute error was smaller for models like those seen (0.0108 against "
                "0.0145) and larger for stronger ones (0.0091 against 0.0082); the mean of both "
                "decides, 0.0100 against 0.0114."
            ),
        ),
        (
            (0.02, 0.03),
            (0.03, 0.01),
            (
                "a fixed short form is asked rather than an adaptive test: in a replay of this "
                "benchmark, "
                "its mean absolute error was larger for models like those seen (0.0300 against "
                "0.0200) and smaller for stronger ones (0.0100 against 0.0300); the mean of both "
                "decides, 0.0200 against 0.0250."
            ),
        ),
        ((0.02, np.nan), (0.03, 0.01), "smaller for models like those seen (0.0200 against 0.03"),
    ],
)
def test_each_comparison_of_two_ways_is_said_with_its_direction(replay, own, form, said):
    """Both were called smaller where the second error was larger."""
    better = np.nanmean(form) < np.nanmean(own) and own[1] == own[1]
    error = replace(
        replay.real_error,
        sizes=(25,),
        compared={ADAPTIVE: (own,), FORM: (form,)},
        forms={25: {}} if better else {},
    )
    assert said in error.said_of(25)


def test_intervals_of_the_error_are_those_of_shorten(compared):
    """Errors within a fold share what was learned, whoever judges the same short form."""
    row = compared.errors.set_index("method").loc[FORM]
    short = og.shorten(steep_and_flat(), 6, cv=3)
    low, high = short.error[["mae_low", "mae_high"]].iloc[0]
    ends = f"{row['mae']:.3f} ({low:.3f} to {high:.3f})"
    assert compared._off(row) == ends
    assert ends in short.meaning
    drawn = compared.plot("mae").frame.set_index("series").loc[FORM]
    np.testing.assert_allclose([max(drawn["low"], 0), drawn["high"]], [low, high])


def test_the_best_of_several_others_is_tested_as_one_of_them(replay):
    """2.2 standard errors are chance over few folds, or where the best of three was chosen."""
    off = np.random.default_rng(1).normal(0.0, 0.02, 100)
    off += 2.2 * off.std(ddof=1) / 10 - off.mean()
    errors = {ADAPTIVE: 0.2 + 0 * off, COMPLETED: 0.2 + off, PLAIN: 0.5 + off, FORM: 0.4 + off}
    columns = {"n_items": 9, "respondent": np.arange(100), "truth": 0.0}

    def said(methods, n_parts):
        parts = [pd.DataFrame({"method": m, "accuracy": errors[m], **columns}) for m in methods]
        mean = [errors[m].mean() for m in methods]
        rows = pd.DataFrame({"method": methods, "n_items": 9, "mae": mean, "mae_se": 0.01})
        rows = rows.assign(mae_low=0.1, mae_high=0.3, coverage=0.9, coverage_observed=np.nan)
        made = {"errors": rows, "predictions": pd.concat(parts), "n_parts": n_parts}
        return replace(replay, **made).meaning

    assert f"best of 3 other ways with as many ({COMPLETED})" in said(list(errors), 1000)
    assert "not significantly more" in said(list(errors), 1000)
    assert ", significantly more" in said([ADAPTIVE, COMPLETED], 1000)
    assert "not significantly more" in said([ADAPTIVE, COMPLETED], 5)


def test_ways_are_compared_on_what_both_were_tried_on():
    """Strongest models of one way alone do not decide: the other has no error for them."""
    nothing = float("nan")
    assert not better_forms({25: None}, ((0.02, nothing),), ((0.03, 0.0),))


def test_the_better_way_is_asked_and_said(compared, tmp_path):
    error, table = compared.real_error, steep_and_flat()
    own, form = (np.mean(error.compared[way][0]) for way in (ADAPTIVE, FORM))
    assert form < own
    assert set(error.forms) == {6}
    answers = dict(zip(table.items, table.cells[0], strict=True))
    short = og.shorten(table, 6, cv=3)
    told = short.predict(table.select(respondents=[0])).iloc[0]
    for bank in (compared.bank, og.load(compared.bank.save(tmp_path / "bank.json"))):
        found = og.evaluate_adaptively(bank, answers.get, budget=6)
        assert found.items == short.items
        assert found.accuracy == pytest.approx(told["accuracy"])
        assert found.accuracy_low == pytest.approx(max(told["accuracy_low"], 0), abs=1e-9)
        assert "a fixed short form is asked rather than an adaptive test" in " ".join(found.notes)
    adaptive = og.evaluate_adaptively(compared.bank, answers.get, budget=6, method="adaptive")
    assert set(adaptive.items) != set(short.items)


def test_a_short_form_applies_only_to_its_size_its_confidence_and_no_stopping_rule(compared):
    answers = dict(zip(steep_and_flat().items, steep_and_flat().cells[0], strict=True))
    form = og.evaluate_adaptively(compared.bank, answers.get, budget=6).items
    for settings in ({"budget": 7}, {"max_se": 0.01}, {"confidence": 0.9}):
        found = og.evaluate_adaptively(compared.bank, answers.get, **{"budget": 6} | settings)
        assert found.items[:6] != form, settings


def test_a_bank_with_its_responses_is_replayed_before_the_first_item():
    table = og.simulate("2pl", 80, 15, random_state=5).responses
    answers = dict(zip(table.items, table.cells[0], strict=True))
    found = og.evaluate_adaptively(og.calibrate(table, "2pl"), answers.get, budget=5)
    notes = " ".join(found.notes)
    assert "comes from the model" not in notes
    assert "in a replay" in notes
    few = og.calibrate(table.select(respondents=slice(0, 3)), "1pl")
    widest = og.evaluate_adaptively(few, answers.get, budget=5)
    assert any("Too few models" in note for note in widest.notes)
    alone = og.evaluate_adaptively(replace(few, responses=None), answers.get, budget=5)
    assert any("comes from the model" in note for note in alone.notes)


def test_a_journal_of_a_short_form_is_continued_and_not_mixed_with_an_adaptive_one(
    compared, tmp_path
):
    answers = dict(zip(steep_and_flat().items, steep_and_flat().cells[0], strict=True))
    whole = og.evaluate_adaptively(compared.bank, answers.get, budget=6)
    asked = []

    def failing(item):
        if len(asked) == 3:
            raise ConnectionError
        asked.append(item)
        return answers[item]

    journal = tmp_path / "journal.jsonl"
    with pytest.raises(ConnectionError):
        og.evaluate_adaptively(compared.bank, failing, budget=6, journal=journal)
    found = og.evaluate_adaptively(compared.bank, answers.get, budget=6, journal=journal)
    assert found.items == whole.items
    assert found.accuracy == whole.accuracy
    with pytest.raises(FileError, match="selector"):
        og.evaluate_adaptively(
            compared.bank, answers.get, budget=6, journal=journal, method="adaptive"
        )


def test_one_of_repeated_answers_is_replayed_and_the_bank_has_all(table):
    first = table.to_frame().to_numpy()[:24]
    tries = np.ones(first.shape, dtype=int)
    tries[:2] = 2
    shares = np.where(tries > 1, (first + first[:, ::-1]) / 2, first)
    both = og.Responses(shares, tries=tries)
    found = og.replay_adaptively(both, sizes=[5], cv=2)
    assert any("one of them, at random, counts" in note for note in found.notes)
    assert set(found.errors["method"]) == {ADAPTIVE, COMPLETED, PLAIN, FORM}
    truth = found.predictions.query("method == @ADAPTIVE")["truth"].to_numpy()
    np.testing.assert_allclose(truth[2:], shares[2:].mean(axis=1))
    assert (np.abs(truth * 40 - np.rint(truth * 40)) < 1e-9).all()  # of 40 single answers
    assert found.bank.responses.tries.max() == 2
    held_out = og.replay_adaptively(
        og.calibrate(first[2:]), og.Responses(shares[:4], tries=tries[:4]), sizes=[5]
    )
    assert len(held_out.predictions) > 0


def test_grades_that_no_other_fold_has_do_not_stop_a_replay():
    """Tables of grades were refused where one fold alone had a grade."""
    random = np.random.default_rng(0)
    steps = np.sort(random.normal(0, 1, (12, 4)), axis=1)
    chance = 1 / (1 + np.exp(-1.3 * (random.normal(size=(12, 1, 1)) - steps)))
    grades = (random.random((12, 12, 1)) < chance).sum(axis=2)
    top = np.flatnonzero((grades == grades.max(axis=0)).sum(axis=0) == 1)
    assert top.size  # a grade of one respondent alone
    found = og.replay_adaptively(grades, sizes=[4], method="adaptive", cv=2, progress=False)
    assert found.predictions["accuracy"].between(0, 4).all()
    assert "not significantly" in found.meaning


def test_no_mean_error_is_said_to_be_possible_that_is_wider_than_the_scores(subtests):
    """Of two models, the error of an accuracy was said to be up to 2.17."""
    random = np.random.default_rng(2)
    right = (random.random((2, 60)) < np.array([[0.8], [0.5]])).astype(int)
    grades = random.integers(0, 4, (2, 60)).astype(float)
    for widest, table in ((1.0, og.Responses(right)), (3.0, og.Responses(grades, kind="graded"))):
        with subtests.test(table.kind):
            found = og.replay_adaptively(table, sizes=[5, 10], progress=False)
            assert found.errors["mae_high"].max() <= widest
            assert (found.errors["mae"] <= found.errors["mae_high"]).all()
            bands = found.plot("mae")
            assert bands.frame["high"].max() <= widest
            assert bands.frame["low"].min() >= 0


def test_mean_scores_of_raw_units_are_said_to_be():
    random = np.random.default_rng(0)
    ability = random.normal(size=(40, 1))
    right = random.random((40, 20)) < 1 / (1 + np.exp(-ability))
    grades = np.clip(np.round(2.5 + ability + random.normal(size=(40, 20))), 0, 5)
    table = og.Responses(np.hstack([right, grades]), kind="graded")
    table = table.described(items={"task": ["right"] * 20 + ["graded"] * 20})
    notes = og.replay_adaptively(table, sizes=[5], cv=2, progress=False).notes
    assert any("mean scores here are of these units" in note for note in notes)
