"""Plans: the difference that was planned for is found as often as was promised."""

import re

import numpy as np
import pytest
from scipy import stats

import ogive as og
from ogive.errors import InputError


@pytest.fixture(scope="module")
def pilot():
    return og.simulate("2pl", 6, 300, random_state=4).responses


def first_row(found):
    return found.to_frame().iloc[0]


def test_without_a_pilot_the_items_follow_from_the_accuracy():
    """By hand: p = 0.7 and 0.65, correlation 0.5."""
    frame = og.plan(accuracy=0.7, difference=0.05).to_frame().set_index("design")
    each = np.array([0.7 * 0.3, 0.65 * 0.35])
    variance = each.sum() - np.sqrt(each.prod())
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    assert frame.loc["same items", "items"] == pytest.approx(variance * (reach / 0.05) ** 2, abs=3)
    assert frame.loc["other items", "items"] == pytest.approx(
        each.sum() * (reach / 0.05) ** 2, abs=3
    )


def test_a_planned_comparison_finds_the_difference_with_the_promised_power():
    """The pilot says how many items; fresh tables of that size are tested with a paired t-test."""
    random = np.random.default_rng(5)

    def answers(n_items):
        easy = random.normal(0.8, 1.2, n_items)
        chance = 1 / (1 + np.exp(-np.stack([easy + random.normal(0, 0.5, n_items) + 0.35, easy])))
        return (random.random((2, n_items)) < chance).astype(int)

    difference = np.diff(answers(400_000)[::-1].mean(axis=1))[0]
    n_items = int(first_row(og.plan(answers(20_000), difference=difference))["items"])
    tables = [answers(n_items) for _ in range(400)]
    found = np.mean([stats.ttest_rel(*table).pvalue < 0.05 for table in tables])
    assert found == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 400))


def test_the_smallest_difference_of_the_items_at_hand_is_the_one_that_needs_them(pilot):
    smallest = first_row(og.plan(pilot))["smallest_difference"]
    assert first_row(og.plan(pilot, difference=smallest * (1 + 1e-9)))["items"] == 300
    assert first_row(og.plan(pilot, n_items=1200))["smallest_difference"] == pytest.approx(
        smallest / 2, rel=0.01
    )


def test_two_respondents_can_be_named(pilot):
    named = og.plan(pilot, respondents=pilot.respondents[:2])
    values = pilot.values[0] - pilot.values[1]
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    items = first_row(named)["items"]
    assert items == pytest.approx(values.var(ddof=1) * (reach / 0.03) ** 2, rel=2e-3)
    assert not any("neighbours" in note for note in named.notes)
    assert any("neighbours" in note for note in og.plan(pilot).notes)


def test_the_interval_of_the_items_narrows_with_the_pilot():
    large = og.simulate("2pl", 2, 3000, random_state=4).responses
    small = large.select(items=slice(0, 100))
    wide, narrow = (first_row(og.plan(table)) for table in (small, large))
    assert wide["items_high"] / wide["items_low"] > narrow["items_high"] / narrow["items_low"]
    assert narrow["items_low"] < narrow["items"] < narrow["items_high"]


def test_documents_count_as_one():
    """Uniform chances of a document: answers correlate by 1/3, so ten of them weigh as 2.5."""
    random = np.random.default_rng(0)
    chance = np.repeat(random.random((2, 1000)), 10, axis=1)
    table = og.Responses((random.random((2, 10_000)) < chance).astype(int)).described(
        items={"document": np.repeat(np.arange(1000), 10).astype(str)}
    )
    items = [first_row(og.plan(table, cluster=each))["items"] for each in ("document", None)]
    assert items[0] / items[1] == pytest.approx(1 + 9 / 3, rel=0.15)


def test_a_bank_says_how_many_items_at_random_and_how_many_of_the_best(pilot):
    bank = og.calibrate(og.simulate("2pl", 400, 300, random_state=4).responses)
    frame = og.plan(pilot, difference=0.1, calibration=bank).to_frame().set_index("design")
    at_random, best = frame.loc[["scale, random items", "scale, best items"], "items"]
    assert 1 <= best < at_random < frame.loc["same items", "items"]
    short = og.plan(pilot, difference=0.001, calibration=bank)
    assert short.to_frame()["items"].isna().sum() == 2
    assert any("300 items of the bank are too few" in note for note in short.notes)


def test_tokens_are_those_of_the_respondents_compared_and_prices_make_them_a_cost(pilot, subtests):
    facts = {"input_tokens": [100, 300, *[9e9] * 4], "output_tokens": [10, 30, *[9e9] * 4]}
    told = pilot.described(respondents=facts)
    names = pilot.respondents[:2]
    with subtests.test("tokens alone"):
        frame = og.plan(told, respondents=names).to_frame()
        np.testing.assert_allclose(frame["input_tokens"], 200 * frame["answers"])
        np.testing.assert_allclose(frame["output_tokens"], 20 * frame["answers"])
        assert "cost" not in frame
    for price, each in (([1e-6], 220e-6), ([1e-6, 5e-6], 300e-6)):
        with subtests.test(price=price):
            found = og.plan(told, respondents=names, price=price)
            np.testing.assert_allclose(found.sizes["cost"], each * found.sizes["answers"])
            assert "tokens in questions" in found.meaning
    with subtests.test("logs tell the cost"):
        paid = pilot.described(respondents={"answer_cost": [0.01] * 6})
        found = og.plan(paid)
        np.testing.assert_allclose(found.sizes["cost"], 0.01 * found.sizes["answers"])
        assert "as the logs of the pilot say" in " ".join(found.notes)


def test_a_replay_says_which_sizes_are_enough(pilot):
    table = og.simulate("2pl", 120, 40, random_state=2).responses
    bank = og.replay_adaptively(table, sizes=[5, 20], method="adaptive", cv=2).bank
    five, twenty = (error for error, _ in bank.replayed.compared["adaptive"])
    assert five > twenty
    reach = (stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) * np.sqrt(np.pi)
    for difference, wanted in (
        (1.01 * reach * five, 5), (0.99 * reach * five, 20), (0.99 * reach * twenty, np.nan),
    ):  # fmt: skip
        rows = og.plan(pilot, difference=difference, calibration=bank).to_frame()
        found = rows.set_index("design").loc["adaptive, as replayed", "items"]
        np.testing.assert_equal(found, wanted)


def test_costs_are_those_of_all_answers(pilot):
    frame = og.plan(pilot, cost=0.002).to_frame()
    np.testing.assert_allclose(frame["cost"], frame["answers"] * 0.002)
    np.testing.assert_allclose(frame["answers"], 2 * frame["items"] * frame["epochs"])


def test_sentences_give_items_with_their_interval_and_what_those_at_hand_show(pilot):
    found = og.plan(pilot)
    row = first_row(found)
    assert f"{row['items']:,.0f} items (95 % interval" in found.meaning
    assert "300 items show differences from" in found.meaning
    assert "about" in og.plan(accuracy=0.5).meaning


def test_it_draws_the_smallest_difference_by_number_of_items(pilot):
    axes = og.plan(pilot).plot().ax_
    assert axes.get_xlabel() == "items"
    assert axes.get_ylabel() == "smallest difference found"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "A plan needs responses of a pilot, or accuracy"),
        ({"accuracy": 70}, "`accuracy` must be a number between 0 and 1.*got 70"),
        ({"accuracy": 0.7, "difference": 0}, "`difference` must be above 0.*got 0"),
        ({"accuracy": 0.7, "difference": 0.9}, "no accuracy is so far from 0.7"),
        ({"accuracy": 0.7, "difference": 1e-9}, "more than 1e\\+12 items would be needed"),
        ({"accuracy": 0.7, "correlation": 1.5}, r"`correlation` must be .*got 1.5"),
        ({"accuracy": 0.7, "power": 80}, r"`power` must be .*got 80"),
        ({"accuracy": 0.7, "epochs": [0]}, r"`epochs` must be .*got 0"),
        ({"accuracy": 0.7, "cost": -1}, r"`cost` must be .*got -1"),
        ({"accuracy": 0.7, "price": [1, 2, 3]}, r"`price` must be"),
        ({"accuracy": 0.7, "price": "cheap"}, r"`price` must be"),
        ({"accuracy": 0.7, "price": [1e-6]}, "does not tell how many tokens"),
        ({"accuracy": 0.7, "price": [1e-6], "cost": 1}, "give one"),
        ({"accuracy": 0.7, "n_items": 1}, r"`n_items` must be .*got 1"),
        ({"accuracy": 0.7, "respondents": ["a", "b"]}, "respondents does not apply here"),
    ],
)
def test_what_a_plan_cannot_use_is_explained(given, said):
    with pytest.raises(InputError, match=said):
        og.plan(**given)


def test_pilots_that_are_too_small_are_explained(pilot):
    with pytest.raises(InputError, match="accuracy does not apply here"):
        og.plan(pilot, accuracy=0.7)
    with pytest.raises(InputError, match="needs two of the pilot's"):
        og.plan(pilot, respondents=["respondent_1", "nobody"])
    with pytest.raises(InputError, match="no two neighbours answered 10 items in common"):
        og.plan(pilot.select(respondents=slice(0, 1)))
    with pytest.raises(InputError, match="no two neighbours answered 10 items in common"):
        og.plan(pilot.select(items=slice(0, 5)))


def repeated(random, n_items, epochs, gap=0.35):
    """Two models of which each item is answered several times."""
    easy = random.normal(0.8, 1.2, n_items)
    shift = random.normal(0, 0.5, n_items)
    chance = 1 / (1 + np.exp(-np.stack([easy + shift + gap, easy])))
    return og.Responses(
        random.binomial(epochs, chance) / epochs, tries=np.full((2, n_items), epochs)
    )


def test_a_repeated_pilot_plans_for_other_numbers_of_epochs():
    """The pilot has three tries per item: what it says of one and of ten is what these show."""
    random = np.random.default_rng(6)
    frame = og.plan(repeated(random, 40_000, 3)).to_frame()
    rows = frame[frame["design"] == "same items"].set_index("epochs")
    for epochs in (1, 10):
        there = og.plan(repeated(random, 40_000, epochs), epochs=[epochs]).to_frame().iloc[0]
        assert rows.loc[epochs, "items"] == pytest.approx(there["items"], rel=0.04)
    assert rows["items"].is_monotonic_decreasing
    assert rows["answers"].is_monotonic_increasing


def test_sentences_say_what_epochs_would_save():
    found = og.plan(repeated(np.random.default_rng(7), 300, 4))
    assert (
        "Of the variance of the difference of two models' single answers to the same item, "
        f"{found.within_share:.0%} (95 % interval "
    ) in found.meaning
    assert "with 10 epochs" in found.meaning
    assert not any("no repeated answers" in note for note in found.notes)


def test_scores_that_were_repeated_plan_with_their_spread():
    """One try scatters by 0.2 around each item's own score, for both models."""
    random = np.random.default_rng(8)
    own = random.normal(0.5, 0.1, (2, 20_000))
    tries = own + random.normal(0, 0.2, (4, 2, 20_000))
    table = og.Responses(
        tries.mean(axis=0), tries=np.full(own.shape, 4), spread=tries.std(axis=0, ddof=1)
    )
    found = og.plan(table)
    assert found.within_share == pytest.approx(2 * 0.04 / (2 * 0.04 + 2 * 0.01), abs=0.02)


def test_some_items_asked_twice_show_what_epochs_would_do():
    random = np.random.default_rng(9)
    twice = repeated(random, 20_000, 2)
    tries = np.where(np.arange(20_000) < 4000, 2, 1) * np.ones((2, 1), dtype=int)
    values = np.where(tries == 2, twice.values, random.random(tries.shape) < twice.values)
    some = og.plan(og.Responses(values, tries=tries))
    assert some.within_share == pytest.approx(og.plan(twice).within_share, abs=0.04)


def test_a_difference_that_no_two_models_can_have_is_refused():
    pilot = og.simulate("2pl", 4, 60, random_state=0).responses
    for given in ({"responses": pilot}, {"accuracy": 0.7}):
        with pytest.raises(InputError, match=r"between 0 and 1.*Did you mean 0\.03\?"):
            og.plan(difference=3, **given)
    with pytest.raises(InputError, match="no two models differ by so much"):
        og.plan(pilot, difference=1)
    assert og.plan(pilot, difference=0.997).meaning.startswith("To find a difference of 100 points")


def test_differences_of_scores_are_not_said_in_points():
    scores = np.random.default_rng(0).normal(50, 10, (3, 40))
    assert "a difference of 3 with" in og.plan(scores, difference=3).meaning
    with pytest.raises(InputError, match="scores span"):
        og.plan(scores, difference=300)


def test_a_pilot_where_some_were_asked_again_is_not_said_to_have_no_repeats():
    tries = np.array([[2] * 40, [1] * 40, [2] * 40])
    right = np.random.default_rng(1).binomial(tries, [[0.8], [0.6], [0.4]])
    pilot = og.Responses(right / tries, tries=tries)
    (note,) = [each for each in og.plan(pilot).notes if "epochs would help" in each]
    assert note.startswith("Items were asked again of 2 of 3 respondents")
    both = og.plan(pilot, respondents=["respondent_1", "respondent_3"])
    assert both.within_share > 0


SHAPES = {
    "five tries each": (5, 5),
    "five and one": (5, 1),
    "ten and two": (10, 2),
    "all of one, eight items of the other": (3, np.where(np.arange(20_000) < 8, 2, 1)),
    "hard items more often": "hard",
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_however_often_a_pilot_asked_the_items_are_those_that_single_tries_need(shape):
    """Asked five times and once, a plan named two thirds of the items that are needed."""
    random = np.random.default_rng(10)
    easy = random.normal(0.8, 1.2, 20_000)
    chance = 1 / (1 + np.exp(-np.stack([easy + random.normal(0, 0.5, 20_000) + 0.35, easy])))
    variance = (chance[0] - chance[1]).var() + (chance * (1 - chance)).sum(axis=0).mean()
    tries = np.stack([np.where(chance.mean(axis=0) < 0.6, 6, 1)] * 2)
    if shape != "hard":
        tries = np.stack([np.broadcast_to(each, 20_000) for each in shape])
    pilot = og.Responses(random.binomial(tries, chance) / tries, tries=tries)
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    items = first_row(og.plan(pilot, difference=0.05))["items"]
    assert items == pytest.approx(variance * (reach / 0.05) ** 2, rel=0.04)


def test_the_share_of_tries_is_that_of_the_difference_of_two_models_and_has_an_interval():
    """It was said to be of single answers, of which it is far less: models share the items."""
    tries, reps = 3, []
    table = repeated(np.random.default_rng(3), 400, tries)
    right = table.values
    within = (right * (1 - right) * tries / (tries - 1)).sum(axis=0)
    one_each = np.var(right[0] - right[1], ddof=1) + within.mean() * (1 - 1 / tries)
    found = og.plan(table)
    assert found.within_share == pytest.approx(within.mean() / one_each)
    single = np.var(right, axis=1, ddof=1).sum() + within.mean() * (1 - 1 / tries)
    assert found.within_share > within.mean() / single + 0.1
    for seed in range(40):
        again = og.plan(repeated(np.random.default_rng(50 + seed), 100, tries))
        reps.append((again.within_share, again.within_share_se))
    shares, errors = np.array(reps).T
    assert errors.mean() == pytest.approx(shares.std(ddof=1), rel=0.35)


def pilot_of_copies(n_copies=30):
    """Sixty models, and copies of the best of them."""
    random = np.random.default_rng(3)
    ability, hard = random.normal(size=60), random.normal(size=200)
    chance = 1 / (1 + np.exp(hard - ability[:, None]))
    right = (random.random(chance.shape) < chance).astype(int)
    best = right[right.sum(axis=1).argmax()]
    return right, np.vstack([right, np.tile(best, (n_copies, 1))])


def test_copies_are_no_pilot():
    """Thirty copies of the best of sixty made a third of the items seem enough."""
    right, copied = pilot_of_copies()
    alone, found = og.plan(right), og.plan(copied)
    np.testing.assert_allclose(found.to_frame().iloc[:, 1:], alone.to_frame().iloc[:, 1:])
    (note,) = [each for each in found.notes if "exactly the same responses" in each]
    assert note.startswith("30 of 90 respondents gave exactly the same responses as another")
    assert not any("exactly the same" in each for each in alone.notes)


@pytest.mark.parametrize("tries", [None, 3])
def test_copies_alone_are_refused(pilot, tries):
    row = np.random.default_rng(1).binomial(3, 0.5, 40) / 3 if tries else pilot.values[0]
    table = og.Responses([row] * 3, ["x", "y", "z"], tries=tries)
    with pytest.raises(InputError, match="All 3 respondents gave exactly the same responses"):
        og.plan(table)
    with pytest.raises(InputError, match="x and z gave exactly the same responses"):
        og.plan(table, respondents=["x", "z"])


def test_pairs_are_of_the_whole_board_not_of_its_top():
    """The best agree on nearly all items; the first fifty pairs were taken for all."""
    random = np.random.default_rng(11)
    easy = random.normal(0, 1, 150)
    ability = np.r_[np.full(60, 6.0), np.linspace(0.5, -0.5, 60)]
    right = random.random((120, 150)) < 1 / (1 + np.exp(-easy - ability[:, None]))
    table = og.Responses(right.astype(int))
    whole, low = og.plan(table), og.plan(table.select(respondents=slice(60, 120)))
    kinds = np.unique(right, axis=0)
    order = np.argsort(-kinds.mean(axis=1), kind="stable")
    apart = np.diff(kinds[order].astype(float), axis=0).var(axis=1, ddof=1)
    reach = stats.norm.ppf(0.975) + stats.norm.ppf(0.8)
    wanted = apart.mean() * (reach / 0.03) ** 2
    row = first_row(whole)
    assert row["items"] == pytest.approx(wanted, rel=0.1)  # ties in any order
    assert row["items_low"] < wanted < row["items_high"]
    assert row["items"] < first_row(low)["items"]
    (note,) = [each for each in whole.notes if "neighbours" in each]
    assert re.search(r"all \d+ pairs of neighbours in mean score, from the best to the worst", note)
    assert re.search(r"one pair in ten needs fewer than [\d,]+ items, and one in ten more", note)


def test_very_many_pairs_are_chosen_evenly(monkeypatch):
    right, _ = pilot_of_copies(0)
    every = first_row(og.plan(right))
    monkeypatch.setattr("ogive.evaluation.pilots.MOST_PAIRS", 20)
    some = og.plan(right)
    assert every["items"] == pytest.approx(first_row(some)["items"], rel=0.1)
    assert any("20 of 59 pairs of neighbours in mean score, evenly" in n for n in some.notes)


def test_neighbours_that_agree_on_what_they_share_show_nothing():
    """They have no variance to divide by; the sentence on epochs went without a word."""
    random = np.random.default_rng(12)
    tries = np.full((4, 60), 3)
    tries[0, 12:], tries[1, :0] = 0, 3
    right = random.binomial(3, np.array([[0.9], [0.7], [0.5], [0.3]]), (4, 60)).astype(float)
    right[:2, :12] = 3
    right[1, 12:] = 2
    values = np.where(tries > 0, right / 3, np.nan)
    found = og.plan(og.Responses(values, tries=tries))
    assert 0 < found.within_share <= 1
    assert "is chance of the try" in found.meaning
    assert any(
        "Left out: 1 pair of neighbours whose difference is the same" in n for n in found.notes
    )


def test_a_few_asked_once_do_not_hide_what_epochs_would_do():
    random = np.random.default_rng(13)
    chance = np.clip(random.normal(0.6, 0.2, 80) + np.linspace(0.2, -0.2, 8)[:, None], 0.02, 0.98)
    tries = np.full((8, 80), 4)
    tries[7] = 1
    table = og.Responses(random.binomial(tries, chance) / tries, tries=tries)
    found = og.plan(table)
    assert found.within_share > 0.5
    assert any("were asked again of both" in note for note in found.notes)


def test_what_items_at_hand_show_is_said_with_the_tries_it_takes():
    """A pilot of four tries showed smaller differences than its plan said could be shown."""
    table = repeated(np.random.default_rng(7), 300, 4)
    found = og.plan(table)
    once = first_row(found)["smallest_difference"]
    four = first_row(og.plan(table, epochs=[4]))["smallest_difference"]
    assert four < once
    points = [float(f"{100 * each:.2g}") for each in (once, four)]
    assert (
        f"300 items show differences from {points[0]:g} points with one try each, and from "
        f"{points[1]:g} points with 4 as in the pilot."
    ) in found.meaning
    assert "each answered 4 times by both" in og.plan(table, epochs=[4]).meaning
    assert "try each" not in og.plan((table.values > 0.6).astype(int)).meaning


def test_a_difference_that_is_the_same_everywhere_is_not_called_one_of_copies():
    ends = np.stack([np.ones(40), np.zeros(40)])
    with pytest.raises(InputError, match="is the same on all items they share"):
        og.plan(ends)
    scores = np.random.default_rng(0).normal(size=40)
    table = og.Responses(np.stack([scores, scores + 0.1]), ["a", "b"])
    with pytest.raises(InputError, match="The difference of a and b is the same"):
        og.plan(table, respondents=["a", "b"])


@pytest.fixture(scope="module")
def mixed():
    """Answers right or wrong, and grades from 0 to 5, of eight models."""
    random = np.random.default_rng(5)
    right = random.random((8, 150)) < np.array([[0.85], [0.65]] * 4)
    grades = random.normal(np.array([[2.4], [3.4]] * 4), 1, (8, 50)).round().clip(0, 5)
    tasks = ["rightwrong"] * 150 + ["graded"] * 50
    return og.Responses(np.hstack([right, grades])).described(items={"task": tasks})


def test_tasks_of_different_units_are_planned_on_the_scale_of_the_board(mixed):
    """Far more items were asked for than show the difference on the board."""
    names = mixed.respondents[:2]
    values = mixed.values.copy()
    values[:, 150:] /= 5
    found = og.plan(mixed, respondents=names)
    assert any("graded: 0 to 5" in note for note in found.notes)
    assert found.notes[0] in og.leaderboard(mixed).notes
    shares = og.Responses(values, respondents=mixed.respondents, kind="continuous")
    assert found.to_frame().equals(og.plan(shares, respondents=names).to_frame())
    raw = og.plan(og.Responses(mixed.values, respondents=mixed.respondents), respondents=names)
    assert first_row(raw)["items"] > 2 * first_row(found)["items"]
    assert not any("units" in note for note in raw.notes)


def test_a_bank_in_other_units_is_left_out_of_a_plan_and_the_note_says_so(mixed):
    bank = og.calibrate(mixed, progress=False)
    found = og.plan(mixed, calibration=bank)
    assert set(found.to_frame()["design"]) == {"same items", "other items"}
    assert any(note.startswith("Scores of the item bank are in the units") for note in found.notes)
