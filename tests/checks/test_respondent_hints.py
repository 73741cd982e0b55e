"""Hints at respondents: clean boards of few models have none, and known answers show."""

import numpy as np
import pytest
from scipy.stats import binom

import ogive as og
from ogive.checks.residuals import judged_together, probabilities_by_others
from ogive.checks.respondent_fit import among_others, as_normal, judged_by_hard_items
from ogive.checks.saturation import ALL_ITEMS


def hard_answers_known(n, m, seed, count):
    """Clean responses, and the same where a middling respondent knows so many hard items."""
    made = og.simulate("2pl", n, m, random_state=seed)
    clean = made.responses.to_frame().to_numpy(copy=True)
    ability = made.truth.abilities["ability"].to_numpy()
    who = int(np.argsort(ability)[n // 2])
    slope, place = (made.truth.items[k].to_numpy() for k in ("discrimination", "difficulty"))
    chance = 1 / (1 + np.exp(-slope * (ability[who] - place)))
    missed = np.flatnonzero((chance < 0.3) & (clean[who] == 0))
    known = clean.copy()
    known[who, np.random.default_rng(seed).permutation(missed)[:count]] = 1
    return clean, known, who


def judged(values):
    """Hard items alone, without what else item health looks at."""
    table = og.Responses(values)
    cal = og.calibrate(table, "1pl")
    ability = cal.abilities()["ability"].to_numpy()
    return judged_by_hard_items(list(judged_together(cal, table, ability)), table.n_respondents)


def test_few_clean_models_are_not_accused():
    """Curves fitted to eight models were so sure of them that most boards had a hint."""
    boards = [og.simulate("2pl", 8, 450, random_state=seed).responses for seed in range(6)]
    assert [og.item_health(board, og.calibrate(board, "2pl")).hints for board in boards] == [()] * 6


def test_deviates_of_few_clean_models_are_standard_normal_at_most():
    found = [judged(hard_answers_known(8, 100, seed, 0)[0])["excess_z"] for seed in range(12)]
    z = np.concatenate(found)
    z = z[np.isfinite(z)]
    assert z.size > 50
    assert (z > 1.645).mean() < 0.12  # 5 % are expected, and 3.5 standard errors more allowed
    assert np.abs(z.mean()) < 0.4


def test_thirty_known_answers_are_found_among_thirty_models():
    _, known, who = hard_answers_known(30, 450, 0, 30)
    assert np.flatnonzero(judged(known)["hint"]).tolist() == [who]


def test_chances_by_others_leave_the_own_answer_out():
    """Whatever one respondent answers to an item, its own chance there stays nearly the same."""
    values = og.simulate("2pl", 6, 80, random_state=0).responses.to_frame().to_numpy(float)
    turned = values.copy()
    turned[2, 5] = 1 - turned[2, 5]
    worth = np.ones_like(values)
    before, after = (probabilities_by_others(each, worth)[0] for each in (values, turned))
    assert after[2, 5] == pytest.approx(before[2, 5], abs=0.03)
    assert np.abs(np.delete(after[:, 5] - before[:, 5], 2)).max() > 0.05
    assert before.mean() == pytest.approx(values.mean(), abs=0.02)


def test_parts_that_no_item_links_are_judged_by_themselves_or_not_at_all():
    values = np.full((14, 400), np.nan)
    whole = og.simulate("2pl", 14, 400, random_state=1).responses.to_frame().to_numpy(float)
    values[:4, :200], values[4:, 200:] = whole[:4, :200], whole[4:, 200:]
    found = og.item_health(og.Responses(values, kind="binary"))
    assert found.respondents["excess_z"].iloc[:4].isna().all()
    assert not found.respondents["hint"].any()
    assert any("not judged for 4 respondents (respondent_1, " in note for note in found.notes)
    alone = judged(whole[4:, 200:])["excess_z"]
    np.testing.assert_allclose(found.respondents["excess_z"].iloc[4:], alone)
    row = found.saturation.loc[ALL_ITEMS]
    assert (row["n_items"], row["compared"]) == (200, 10)


def test_a_bank_of_many_respondents_judges_few_new_ones():
    made = og.simulate("2pl", 303, 100, random_state=0)
    cal = og.calibrate(made.responses.select(respondents=range(300)), "2pl")
    found = og.item_health(made.responses.select(respondents=range(300, 303)), cal)
    assert found.respondents["excess_z"].notna().any()
    assert not any("not judged for" in note for note in found.notes)


def test_repeated_answers_are_right_and_wrong_and_counted():
    """Two tries of some models: keys and hard items by counts, and the advice can be followed."""
    random = np.random.default_rng(0)
    values = og.simulate("2pl", 12, 150, random_state=2).responses.to_frame().to_numpy(float).copy()
    tries = np.ones(values.shape, dtype=int)
    values[:4] = (values[:4] + (random.random((4, 150)) < values[:4].mean())) / 2
    tries[:4] = 2
    found = og.item_health(og.Responses(values, kind="binary", tries=tries), by=["a", "b"] * 75)
    assert found.responses.kind == "binary"
    said = " ".join(found.sentences())
    assert "continuous" not in said
    assert "good enough" not in said
    assert "1 to 2 tries per cell" in said
    assert "ogive read ... --epochs first" in said
    assert found.respondents["excess_z"].notna().any()
    judged = og.label_trouble(found.calibration).to_frame()["evidence"][found.items.index]
    assert found.items["contradiction"].tolist() == judged.tolist()  # one rule for both
    assert not found.items["suspect_key"].any()
    assert {kind: draw().ax_.has_data() for kind, draw in found.figures().items()} == dict.fromkeys(
        ("items", "saturation", "respondents"), True
    )


def test_two_tries_that_agree_weigh_more_than_one():
    values = og.simulate("2pl", 10, 200, random_state=3).responses.to_frame().to_numpy(float)
    one, two = (
        probabilities_by_others(values, np.full(values.shape, count)) for count in (1.0, 2.0)
    )
    assert two[0].std() > one[0].std()


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 8, 12, 20, 30])
def test_clean_boards_have_false_hints_as_promised(n):
    """At most 5 % of boards: of 60, seven or more have a chance below 4 in 100 at that rate."""
    clean = [judged(hard_answers_known(n, 100, seed, 0)[0]) for seed in range(60)]
    assert sum(each["hint"].any() for each in clean) < 7


@pytest.mark.slow
def test_known_answers_are_found_at_twenty_and_thirty_models(subtests):
    for n, least in ((20, 10), (30, 20)):
        with subtests.test(n=n):
            planted = [hard_answers_known(n, 450, seed, 30)[1:] for seed in range(30)]
            assert sum(judged(values)["hint"][who] for values, who in planted) >= least


def test_deviates_of_a_skewed_count_are_those_of_its_distribution():
    n, chance, count = 200, 0.1, 33  # counts from 33 on: the middle of the step before
    sd = np.sqrt(n * chance * (1 - chance))
    skew = np.array([(1 - 2 * chance) / sd])
    z = as_normal(np.array([(count - 0.5 - n * chance) / sd]), skew)
    from scipy.stats import norm

    assert norm.sf(z[0]) == pytest.approx(binom.sf(count - 1, n, chance), rel=0.1)


def test_scatter_is_allowed_for_only_where_it_is_more_than_expected():
    z = np.linspace(-1, 1, 41)
    np.testing.assert_allclose(among_others(z).z, z, atol=1e-12)
    assert np.ptp(among_others(10 * z).z) < 5


def test_few_respondents_are_judged_by_the_spread_of_the_others():
    """Student's t of each against the root mean square of the others, never beyond the model."""
    from scipy.stats import norm, t

    calm = np.array([0.1, -0.2, 0.1, 0.2, 4.0])
    np.testing.assert_array_less(among_others(calm).z[-1], 4.0 + 1e-12)
    wild = np.array([3.0, -4.0, 5.0, -3.0, 4.0])
    spread = np.sqrt((wild[:-1] ** 2).mean())
    found = among_others(wild)
    assert found.z[-1] == pytest.approx(norm.isf(t.sf(4.0 / spread, 4)))
    assert found.scatter[-1] == pytest.approx(spread * t.ppf(0.975, 4) / norm.ppf(0.975))
    assert np.isnan(among_others(np.array([np.nan, 1.0])).z[0])


def test_tasks_of_few_clean_models_give_no_hint_and_a_known_task_does():
    by = [f"task {k % 4}" for k in range(200)]
    clean, _, who = hard_answers_known(30, 200, 1, 0)
    assert not og.item_health(og.Responses(clean), by=by).groups["hint"].any()
    known = clean.copy()
    known[who, ::4] = 1
    found = og.item_health(og.Responses(known), by=by).respondents
    assert found["too_good_on"].iloc[who] == "task 0"
    few = og.item_health(og.Responses(clean[:8]), by=by).groups
    assert few["z"].notna().all()
    assert not few["hint"].any()


def test_it_is_said_if_nobody_was_asked_hard_items():
    values = (np.random.default_rng(0).random((8, 60)) < 0.9).astype(int)
    found = og.item_health(og.Responses(values))
    assert "hard items are not judged: nobody was asked 5 or more" in found.said_of_respondents
    assert og.item_health(og.Responses(values[:3])).said_of_respondents == ""
