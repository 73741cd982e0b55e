"""Item health: tables done by hand, planted truth, and what other diagnostics say."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import ogive as og
from ogive.checks.check import DIAGNOSTICS, diagnose
from ogive.checks.duplicates import (
    _log_chance,
    duplicate_items,
)
from ogive.checks.item_analysis import negative_notes, problems_said
from ogive.checks.mislabelled_items import label_trouble
from ogive.checks.residuals import Diagnosis
from ogive.checks.respondent_fit import respondent_fit
from ogive.checks.saturation import ALL_ITEMS
from ogive.errors import InputError
from ogive.results.plots.figure import Display

N, M = 200, 40
WRONG, COPY, OF, EASY, HARD = 0, 11, 21, 5, 6


@pytest.fixture(scope="module")
def planted():
    """A wrong key, a copy of an item with 3 % changed, an item for all and one for none."""
    values = og.simulate("2pl", N, M, random_state=1).responses.to_frame().to_numpy(copy=True)
    random = np.random.default_rng(0)
    values[:, WRONG] = 1 - values[:, WRONG]
    values[:, COPY] = np.where(random.random(N) < 0.03, 1 - values[:, OF], values[:, OF])
    values[:, EASY], values[:, HARD] = 1, 0
    table = og.Responses(values)
    return table.described(items={"task": ["sums" if k % 2 else "verbs" for k in range(M)]})


@pytest.fixture(scope="module")
def health(planted):
    return og.item_health(planted, by="task")


def test_planted_problems_are_found_and_said(health):
    items = health.items
    assert items["solved_by"].iloc[EASY] == "all"
    assert items["solved_by"].iloc[HARD] == "none"
    assert items["significantly_negative"].to_numpy().nonzero()[0].tolist() == [WRONG]
    assert items["suspect_key"].iloc[WRONG]
    assert items["duplicate_of"].iloc[OF] == items.index[COPY]
    assert (items["duplicate_of"] != "").sum() == 1
    assert items["problems"].iloc[WRONG] == (
        "significantly negative discrimination; suspect key: contradicts good respondents"
    )
    assert items["problems"].iloc[OF] == f"near-duplicate of {items.index[COPY]}"
    assert set(health.troubled) == {items.index[k] for k in (WRONG, OF, EASY, HARD)}
    assert "4 of 40 items need a look: 1 solved by all, 1 solved by none" in health.meaning
    assert "1 with significantly negative discrimination" in health.meaning
    assert health.meaning.endswith("(an item may count more than once).")


def test_items_that_have_no_place_on_the_scale_have_no_difficulty(health):
    items = health.items
    assert items["difficulty"].isna().to_numpy().nonzero()[0].tolist() == [EASY, HARD]
    for name in ("difficulty_se", "discrimination", "discrimination_se"):
        assert items[name].isna().equals(items["difficulty"].isna())


def test_one_answer_an_item_says_nothing_of_all_or_none():
    values = np.full((8, 24), np.nan)
    for item in range(24):
        values[item % 8, item] = (item // 8) % 2
    found = og.item_health(og.Responses(values), og.calibrate(og.Responses(values), "1pl"))
    assert (found.items["solved_by"] == "").all()
    assert found.saturation.loc[ALL_ITEMS, "state"] == "unknown"
    assert found.said_of_saturation.startswith("Saturation is not judged: it takes at least 3 ")
    assert any("24 of 24 items have fewer than 5 answers" in note for note in found.notes)


def test_the_best_two_are_those_of_the_leaderboard_and_differ_as_there(subtests, planted):
    """Of complete tables and of such with gaps: the same names, order, interval and p-value."""
    values = planted.to_frame().to_numpy(copy=True).astype(float)
    gaps = np.where(np.random.default_rng(1).random(values.shape) < 0.3, np.nan, values)
    for name, cells in (("complete", values[:60]), ("with gaps", gaps[:60])):
        with subtests.test(name):
            table = og.Responses(cells, kind="binary")
            cal = og.calibrate(table, "1pl")
            row = og.item_health(table, cal).saturation.loc[ALL_ITEMS]
            board = og.leaderboard(table, calibration=cal)
            pair = board.pairs.iloc[0]
            assert (row["first"], row["second"]) == board.respondents[:2]
            assert (row["first"], row["second"]) == (pair["respondent"], pair["other"])
            for mine, theirs in PAIR:
                assert row[mine] == pytest.approx(pair[theirs]), mine
            assert row["top_share"] == pytest.approx(board.reached.mean[0])
            assert row["top_low"] == pytest.approx(board.reached.low[0])


PAIR = (
    *(("lead", "difference"), ("lead_se", "se"), ("lead_low", "low"), ("lead_high", "high")),
    *(("lead_p", "p"), ("lead_p_adjusted", "p_adjusted")),
)


def test_figures_are_those_of_other_diagnostics(health, planted):
    trouble = label_trouble(health.calibration).to_frame().loc[list(planted.items)]
    np.testing.assert_array_equal(health.items["contradiction"], trouble["evidence"])
    np.testing.assert_array_equal(health.items["suspect_key"], trouble["suspect"])
    np.testing.assert_allclose(health.items["share_reached"], planted.cells.mean(axis=0))
    fit = respondent_fit(health.calibration).to_frame()
    np.testing.assert_allclose(health.respondents["zh"], fit["zh"])


def test_agreement_of_a_pair_is_counted(health, planted):
    pair = health.duplicates.iloc[0]
    same = (planted.cells[:, COPY] == planted.cells[:, OF]).mean()
    assert pair["agreement"] == pytest.approx(same)
    ability = health.respondents["ability"].to_numpy()
    chance = health.calibration.probability(ability).to_numpy()[:, [COPY, OF]]
    expected = (chance.prod(axis=1) + (1 - chance).prod(axis=1)).mean()
    assert pair["expected_agreement"] == pytest.approx(expected, rel=1e-5)


def test_groups_have_a_row_each_and_leave_themselves_out(health, planted):
    assert list(health.saturation.index) == [ALL_ITEMS, "verbs", "sums"]
    assert health.saturation["n_items"].tolist() == [40, 20, 20]
    row = health.groups.iloc[0]
    others = [name for k, name in enumerate(planted.items) if k % 2]
    elsewhere = health.calibration.of_items(others).score(planted.select(items=others))
    ability = elsewhere["ability"].iloc[[0]].to_numpy()
    chance = health.calibration.probability(ability).to_numpy()[0, ::2]
    assert (row["group"], row["n_items"]) == ("verbs", 20)
    assert row["expected"] == pytest.approx(chance.mean())
    assert row["share_reached"] == pytest.approx(planted.cells[0, ::2].mean())


def test_a_respondent_that_knows_hard_items_is_hinted_at_and_not_accused():
    made = og.simulate("2pl", 40, 400, random_state=3)
    values = made.responses.to_frame().to_numpy(copy=True)
    who = int(np.argsort(made.truth.abilities["ability"].to_numpy())[20])
    hard = made.truth.items["difficulty"].to_numpy() > 1
    values[who, hard & (np.random.default_rng(0).random(400) < 0.5)] = 1
    found = og.item_health(og.Responses(values))
    assert found.hints == (f"respondent_{who + 1}",)
    row = found.respondents.iloc[who]
    assert row["right_on_hard"] > row["expected_on_hard"] + 3 * row["expected_on_hard_se"]
    assert "A hint is no proof" in found.said_of_respondents


def test_a_respondent_too_good_on_one_task_is_hinted_at():
    made = og.simulate("2pl", 40, 120, random_state=4)
    values = made.responses.to_frame().to_numpy(copy=True)
    who = int(np.argsort(made.truth.abilities["ability"].to_numpy())[5])
    values[who, :30] = 1
    by = ["leaked" if k < 30 else f"task {k % 3}" for k in range(120)]
    found = og.item_health(og.Responses(values), by=by)
    assert found.respondents["too_good_on"].iloc[who] == "leaked"
    assert found.hints[0] == f"respondent_{who + 1}"


def test_the_best_are_separated_by_items_that_they_answered():
    """Shares were of all items, also of those that only one of the best was asked."""
    values = og.simulate("2pl", 8, 60, random_state=3).responses.to_frame().to_numpy(copy=True)
    values[np.random.default_rng(0).random(values.shape) < 0.1] = np.nan
    found = og.item_health(values)
    row = found.saturation.loc[ALL_ITEMS]
    best = [found.responses.respondents.index(row[name]) for name in ("first", "second")]
    one, other = values[best]
    both = np.isfinite(one) & np.isfinite(other)
    assert 30 < both.sum() < 60
    assert row["separate_share"] == (one != other)[both].sum() / both.sum()
    assert row["solved_share"] == (one * other)[both].sum() / both.sum()
    seen = one[np.isfinite(one)]
    assert (
        f"(predicted; {seen.mean():.0%} of the {seen.size} it answered)" in found.said_of_saturation
    )
    said = f"{row['separate_best']} of the {both.sum()} that both of the best answered"
    assert said in found.said_of_saturation


def test_what_all_answered_alike_is_never_negative_and_all_right_is_easy(bank):
    """Whatever the sign of a nominal discrimination, which flips the nominal difficulty."""
    values = og.simulate("2pl", 40, 24, random_state=0).responses.to_frame().to_numpy(copy=True)
    values[:, 0], values[:, 1] = 1, 0
    slope, place = np.full(24, 1.0), np.linspace(-1, 1, 24)
    slope[:3], place[:2] = -0.5, (7.0, -7.0)
    found = og.item_health(og.Responses(values), bank(discrimination=slope, difficulty=place))
    assert found.items["significantly_negative"].iloc[:2].tolist() == [False, False]
    said = negative_notes(found.items.assign(significantly_negative=False), 40)
    assert [note.split(",")[0] for note in said] == ["1 item has a negative discrimination"]
    assert found.plot().frame["difficulty"].iloc[:2].tolist() == [-np.inf, np.inf]
    assert found.items["discrimination"].iloc[:2].isna().all()


def test_an_item_that_strong_and_weak_miss_alike_does_not_contradict_the_good():
    items = pd.DataFrame(
        {
            "n_respondents": 60,
            "solved_by": "",
            "significantly_negative": False,
            "suspect_key": True,
            "share_right_strong": [0.02, 0.1],
            "share_right_weak": [0.02, 0.6],
            "duplicate_of": "",
        },
        index=["alike", "turned"],
    )
    assert problems_said(items) == [
        "suspect key: strong respondents miss it like weak ones",
        "suspect key: contradicts good respondents",
    ]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 60), st.floats(0.05, 0.95), st.integers(0, 15))
def test_the_chance_of_few_differences_is_never_too_small(n, chance, seen):
    seen = min(seen, n)
    found = _log_chance(np.full((1, n), chance), np.array([float(seen)]))[0]
    exact = binom.logcdf(seen, n, chance)
    assert found >= exact - 1e-9
    if seen == 0:
        assert found == pytest.approx(exact)


def test_twelve_respondents_are_too_few_to_tell_duplicates_and_it_is_said():
    table = og.simulate("2pl", 12, 60, random_state=0).responses
    found = og.item_health(table)
    assert found.duplicates.empty
    assert any("to detect near-duplicates among" in note for note in found.notes)


def test_expected_coincidences_are_those_of_all_pairs():
    table = og.simulate("2pl", 8, 30, random_state=2).responses
    cal = og.calibrate(table)
    ability = cal.abilities()["ability"].to_numpy()
    found = duplicate_items(cal, table, ability, 1.0).coincidences
    values = table.cells
    kept = np.flatnonzero((values.min(axis=0) == 0) & (values.max(axis=0) == 1))
    chance = cal.probability(ability).to_numpy()
    expected, seen = 0.0, 0
    for a, i in enumerate(kept):
        for j in kept[a + 1 :]:
            same = chance[:, i] * chance[:, j] + (1 - chance[:, i]) * (1 - chance[:, j])
            expected += same.prod()
            seen += (values[:, i] == values[:, j]).all()
    assert found.seen == seen
    assert found.expected == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("model", ["graded", "continuous"])
def test_grades_and_scores_are_judged_as_far_as_they_can_be(model):
    table = og.simulate(model, 60, 20, random_state=0).responses
    values = table.to_frame().to_numpy(copy=True)
    values[:, 9] = values[:, 2]
    found = og.item_health(og.Responses(values, kind=table.kind))
    assert found.items["duplicate_of"].iloc[9] == "item_3"
    assert not found.items["suspect_key"].any()
    assert any("keys and hard items are not judged" in note for note in found.notes)
    assert found.hints == ()
    assert np.isfinite(found.saturation["information_top"]).all()
    assert found.plot("respondents").ax_.has_data()


def test_missing_cells_and_items_never_asked_have_a_result():
    values = (
        og.simulate("2pl", 50, 15, missing=0.3, random_state=0)
        .responses.to_frame()
        .to_numpy(copy=True)
    )
    values[:, 4] = np.nan
    values[7] = np.nan
    found = og.item_health(values)
    assert found.items["problems"].iloc[4] == "never asked"
    assert found.respondents["n_items"].iloc[7] == 0
    assert np.isfinite(found.saturation["information_top"]).all()


def test_one_respondent_and_a_constant_table_are_normal_input():
    assert len(og.item_health([[1, 0, 1]]).items) == 3
    found = og.item_health(np.ones((6, 4)))
    assert (found.items["solved_by"] == "all").all()
    assert found.meaning == "4 of 4 items need a look: 4 solved by all."


def test_a_bank_of_more_items_serves_in_any_order(planted):
    cal = og.calibrate(planted)
    part = planted.select(items=list(range(30))[::-1])
    found = og.item_health(part, cal)
    assert tuple(found.items.index) == part.items
    wanted = cal.items.loc[list(part.items), "difficulty"]
    there = found.items["difficulty"].notna()
    assert there.mean() > 0.8
    np.testing.assert_array_equal(found.items["difficulty"][there], wanted[there])


@pytest.mark.parametrize("kind", ["items", "saturation", "respondents"])
def test_every_figure_is_drawn(health, kind):
    assert health.plot(kind).ax_.has_data()


def test_the_frame_may_be_changed_without_changing_the_result(health):
    frame = health.to_frame()
    frame["problems"] = ""
    assert health.troubled


def test_unknown_figures_and_what_is_no_calibration_are_refused(health, planted):
    with pytest.raises(InputError, match="one of: items, saturation, respondents"):
        health.plot("pie")
    with pytest.raises(InputError, match="item_health needs a calibration"):
        og.item_health(planted, "2pl")
    with pytest.raises(InputError, match="no fact"):
        og.item_health(planted, by="subject")
    with pytest.raises(InputError, match="No response was observed"):
        og.item_health(np.full((3, 3), np.nan))


@pytest.mark.slow
def test_two_keys_of_arc_are_suspect_and_the_best_solve_the_rest(shared):
    frame = pd.read_csv(shared / "data" / "llm" / "metabench_arc_2pl_responses.csv.gz")
    found = og.item_health(og.Responses.from_frame(frame.drop(columns="respondent")))
    assert set(found.troubled) == {"i660", "i1067"}
    assert found.saturation.loc[ALL_ITEMS, "solved_by_best"] == 98
    assert found.saturation.loc[ALL_ITEMS, "state"] == "saturated"


def test_a_model_that_skipped_a_task_does_not_stop_the_others_from_being_judged_by_task():
    values = og.simulate("2pl", 12, 120, random_state=4).responses.to_frame().to_numpy(copy=True)
    values[3, 60:] = np.nan
    tasks = np.repeat(["one", "two"], 60)
    found = og.item_health(og.Responses(values), by=tasks)
    assert found.saturation.loc["two", "compared"] == 11
    assert found.saturation["top_share"].notna().all()


def graded(n=12, n_items=30, seed=3):
    random = np.random.default_rng(seed)
    steps = np.sort(random.normal(0, 1, (n_items, 4)), axis=1)
    chance = 1 / (1 + np.exp(-1.3 * (random.normal(size=(n, 1, 1)) - steps)))
    return (random.random((n, n_items, 1)) < chance).sum(axis=2)


def test_grades_that_all_share_are_called_so_and_only_the_top_one_is_the_top():
    """Everybody had grade 2 of 5, which was called solved by all."""
    grades = graded()
    grades[:, 0], grades[:, 1], grades[:, 2] = 2, 0, 4
    found = og.item_health(grades)
    said = ["all alike", "all at the bottom", "all at the top"]
    assert found.items["problems"].iloc[:3].tolist() == said
    assert found.items["solved_by"].iloc[:3].tolist() == ["alike", "none", "all"]
    np.testing.assert_allclose(found.items["share_reached"].iloc[:3], [0.5, 0.0, 1.0])
    assert "1 all at the top, 1 all at the bottom and 1 all alike" in found.meaning
    assert "solved" not in found.meaning
    assert found.items["difficulty"].iloc[:3].isna().all()


@pytest.mark.parametrize("value", [0, 3, 0.4])
def test_a_table_of_one_value_ends_in_words_and_no_warning(value):
    """The grade 3 of everybody on every item was all at the bottom."""
    found = og.item_health(np.full((12, 6), value))
    assert found.meaning == (
        f"6 of 6 items need a look: 6 {'all alike' if value else 'solved by none'}."
    )


def test_an_item_that_runs_against_the_others_without_error_is_the_surest():
    """Its statistic was infinite and taken for unknown, and rounding named the good ones."""
    grades = np.random.default_rng(0).integers(0, 5, 40)
    items = og.item_health(np.stack([grades, grades, 4 - grades], axis=1)).items
    assert items["negative_p"].iloc[2] < 1e-9
    assert items["significantly_negative"].tolist() == [False, False, True]
    few = og.item_health(np.stack([[0, 1, 2], [0, 1, 2], [0, 1, 2], [2, 1, 0]], axis=1))
    assert few.items["negative_p"].iloc[-1] == pytest.approx(1 / 6)  # one order of six


def test_items_against_the_rest_are_tested_by_their_correlation_with_it():
    from scipy.stats import pearsonr

    values = np.random.default_rng(4).random((20, 5))
    apart = (values - values.mean(axis=0)) / values.std(axis=0)
    found = og.item_health(values).items["negative_p"]
    for k in range(5):
        rest = np.delete(apart, k, axis=1).sum(axis=1)
        p = pearsonr(values[:, k], rest, alternative="less").pvalue
        assert found.iloc[k] == pytest.approx(p)


def test_every_try_is_a_response_when_items_are_too_few_answered():
    """Three models with four tries each gave 12 answers, which were fewer than 5."""
    shares = np.random.default_rng(0).integers(0, 5, (3, 30)) / 4
    shares[:, 0] = 1.0
    table = og.Responses(shares, kind="binary", tries=np.full((3, 30), 4))
    found = og.item_health(table)
    assert found.items["n_responses"].eq(12).all()
    assert found.items["problems"].iloc[0] == "solved by all"
    assert not any("fewer than 5 answers" in note for note in found.notes)


def test_scores_that_all_share_are_a_problem_too():
    scores = np.random.default_rng(0).uniform(0.1, 0.9, (12, 20))
    scores[:, 3] = 0.4
    assert og.item_health(scores).items["problems"].iloc[3] == "all alike"


def test_a_scale_that_does_not_follow_the_mean_grades_is_said_to_have_no_sure_direction():
    """The weakest of these stood above others, and nothing was said."""
    random = np.random.default_rng(14)
    notes = " ".join(og.item_health(random.integers(0, 5, (12, 30))).notes)
    sound = " ".join(og.item_health(graded()).notes)
    assert "Which end of this scale is the stronger one is not sure" in notes
    assert "Which end" not in sound


def test_grades_that_run_against_all_others_are_negative_items_and_a_problem():
    """Of turned items none was said: of 25 respondents, the steepest had the widest errors.

    Grades of 0 to 4 allow 4 on every item, also where nobody got it.
    """
    random = np.random.default_rng(2)
    ability = random.normal(size=(25, 1, 1))
    steps = np.sort(random.normal(0, 1, (60, 4)), axis=1)
    grades = (random.random((25, 60, 1)) < 1 / (1 + np.exp(-2.5 * (ability - steps)))).sum(axis=2)
    grades[:, :3] = 4 - grades[:, :3]
    grades[:, 7] = np.minimum(grades[:, 7], 2)
    found = og.item_health(grades)
    assert found.items["significantly_negative"].to_numpy().nonzero()[0].tolist() == [0, 1, 2]
    assert (found.items["problems"].iloc[:3] == "significantly negative discrimination").all()
    assert "3 of 60 items need a look: 3 with significantly negative" in found.meaning
    assert found.items["share_reached"].iloc[7] == pytest.approx(grades[:, 7].mean() / 4)
    best = grades.mean(axis=1).max()
    assert found.saturation["top_share"].iloc[0] == pytest.approx(best / 4)


MODELS = ["2pl", "3pl", "graded", "gpcm", "continuous", "beta"]


@pytest.fixture(scope="module")
def cals():
    made = {}

    def get(model):
        if model not in made:
            responses = og.simulate(model, 150, 8, missing=0.02, random_state=4).responses
            made[model] = og.calibrate(responses, model)
        return made[model]

    return get


@pytest.fixture(params=MODELS)
def cal(cals, request):
    return cals(request.param)


def exists(name, cal):
    """Labels are right or wrong only where responses are; margins need categories."""
    return not (
        (name == "model_fit" and cal.model.kind == "continuous")
        or (name == "label_trouble" and cal.model.kind != "binary")
    )


def test_a_diagnosis_shows_itself_or_says_what_it_needs(cal, tmp_path, subtests):
    for name, ask in DIAGNOSTICS.items():
        with subtests.test(name):
            if not exists(name, cal):
                with pytest.raises(InputError, match=f"the {cal.model.name} model explains"):
                    ask(cal)
                continue
            found = ask(cal)
            frame, meaning = found.to_frame(), found.meaning
            assert isinstance(found, Diagnosis)
            assert len(frame)
            assert isinstance(found.plot(), Display)
            saved = found.save(tmp_path / f"{name}.csv")
            assert saved.read_text().count("\n") == len(frame) + 1
            assert meaning in repr(found)
            assert "<table" in found._repr_html_()
            # The meaning is a sentence with a figure in it.
            assert meaning.endswith(".")
            assert any(sign.isdigit() for sign in meaning)
            assert "nan" not in meaning.split()


def test_a_loaded_bank_is_diagnosed_with_responses_of_its_own(cals, tmp_path, subtests):
    cal = cals("2pl")
    bank = og.load(cal.save(tmp_path / "bank.json"))
    for name, ask in DIAGNOSTICS.items():
        with subtests.test(name):
            again, first = ask(bank, cal.responses), ask(cal)
            for column, values in first.to_frame().select_dtypes("number").items():
                np.testing.assert_allclose(again.to_frame()[column], values, rtol=1e-6, atol=1e-9)


def test_what_is_no_calibration_is_refused_with_the_call_to_make(subtests):
    for name, ask in DIAGNOSTICS.items():
        for wrong in (None, "2pl", np.eye(3)):
            message = rf"{name} needs a calibration.*calibrate\(responses\)"
            with subtests.test(name, wrong=wrong), pytest.raises(InputError, match=message):
                ask(wrong)


def test_diagnose_finds_what_exists_and_says_why_the_rest_does_not(cal):
    checks = diagnose(cal)
    found, missing = checks.found, checks.missing
    frame = checks.to_frame()
    assert set(frame.index) == {*found, *missing} == {"dimensionality", *DIAGNOSTICS}
    assert set(frame.index[frame["available"]]) == set(found)
    assert all(frame["meaning"].str.endswith("."))
    assert isinstance(checks.plot(), Display)
    assert (
        set(missing)
        == {
            "binary": set(),
            "graded": {"label_trouble"},
            "continuous": {"model_fit", "label_trouble"},
        }[cal.model.kind]
    )
    assert all(cal.model.name in reason for reason in missing.values())


def test_without_an_ability_nothing_is_said_of_how_well_it_is_measured():
    scores = np.random.default_rng(0).uniform(size=(40, 6))
    cal = og.calibrate(scores)
    assert any("Ability is not identified" in note for note in cal.notes)
    checks = og.diagnose(cal)
    found, missing = checks.found, checks.missing
    names = {"dimensionality", "reliability", "item_fit", "respondent_fit", "local_dependence"}
    assert not names & found.keys()
    for name in names:
        assert missing[name].startswith("Ability is not identified")


def test_parts_that_no_item_links_have_no_ability_in_common():
    values = np.full((60, 20), np.nan)
    values[:30, :10] = og.simulate("1pl", 30, 10, random_state=0).responses.values
    values[30:, 10:] = og.simulate("1pl", 30, 10, random_state=1).responses.values
    checks = og.diagnose(og.calibrate(values))
    found, missing = checks.found, checks.missing
    assert not {"dimensionality", "reliability"} & found.keys()
    assert "No item links 2 parts of this table" in missing["reliability"]
    assert {"item_fit", "respondent_fit"} <= found.keys()
