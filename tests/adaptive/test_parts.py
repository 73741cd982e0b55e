import re
from itertools import product

import numpy as np
import pytest
from scipy.special import ndtri

from itemwise.adaptive import (
    AdaptiveTest,
    AtLeast,
    Budget,
    ContentBalance,
    DifficultyPercentile,
    FixedAbility,
    NearestByLot,
    Randomesque,
    Reliability,
    StandardError,
    StepRule,
    simulate_adaptive,
)
from itemwise.errors import InputError


def difficulties(bank, session):
    place = {name: k for k, name in enumerate(bank.item_names)}
    return bank.items["difficulty"].to_numpy()[[place[name] for name in session.trace["item"]]]


def test_the_first_item_lies_where_the_initializer_says(subtests, ladder):
    cases = [
        ("mean", 0.0),
        ("percentile", -1.0),
        (DifficultyPercentile(90), 1.6),
        (FixedAbility(0.52), 0.5),
        (FixedAbility(1e9), 2.0),
    ]
    for (initializer, first), selector in product(cases, ["nearest", "information"]):
        with subtests.test(initializer=initializer, first=first, selector=selector):
            session = AdaptiveTest(ladder, initializer, selector).start()
            session.answer(session.next_item(), 1)
            assert difficulties(ladder, session)[0] == pytest.approx(first)


def test_steps_halve_and_the_nearest_item_is_asked(ladder, take):
    """Right, right, wrong, ...: the target goes from -1 by 1, 1/2, 1/4 and so on."""
    test = AdaptiveTest(ladder, "percentile", "nearest", StepRule(noise=0.0), Budget(5))
    answers = iter([1, 1, 0, 1, 0])
    session = take(test.start(), lambda _: next(answers))
    asked = [-1.0, 0.0, 0.5, 0.2, 0.4]  # targets -1, 0, 0.5, 0.25 and 0.375
    np.testing.assert_allclose(difficulties(ladder, session), asked, atol=1e-9)
    total = np.cumsum(asked)
    expected = [
        total[0] + np.log(0.5 / 0.5),
        total[1] / 2 + np.log(1.5 / 0.5),
        total[2] / 3 + np.log(2 / 1),
        total[3] / 4 + np.log(3 / 1),
        total[4] / 5 + np.log(3 / 2),
    ]
    np.testing.assert_allclose(session.trace["ability"], expected)
    errors = np.sqrt([1 / 0.25, 2 / 0.75, 3 / 2, 4 / 3, 5 / 6])
    np.testing.assert_allclose(session.trace["se"], errors)


def test_without_a_right_response_half_a_response_moves_the_other_way(ladder, take):
    test = AdaptiveTest(ladder, "percentile", "nearest", StepRule(noise=0.0), Budget(3))
    session = take(test.start(), lambda _: 0)
    mean = difficulties(ladder, session).mean()
    assert session.ability == pytest.approx(mean + np.log(0.5 / 2.5))


def test_the_noise_of_steps_is_normal_with_its_deviation(ladder):
    test = AdaptiveTest(ladder, "percentile", "nearest", "steps", Budget(1))
    respondents = np.arange(4000)
    state = test.begin(respondents)
    ones = np.ones(4000)
    after = test.advance(state, test.choose(state), ones, [ones])
    noise = after.target - 0.0  # from -1, up by 1
    assert noise.mean() == pytest.approx(0.0, abs=4 * 0.1 / np.sqrt(4000))
    assert noise.std() == pytest.approx(0.1, rel=0.05)
    assert np.quantile(noise, 0.9) == pytest.approx(0.1 * ndtri(0.9), abs=0.01)


def test_the_reliability_gives_the_limit_and_the_spread_of_difficulties_meets_it(ladder, take):
    rule = Reliability()
    assert rule.measurement_error == pytest.approx(0.1414, abs=1e-4)
    test = AdaptiveTest(ladder, "percentile", "nearest", "steps", rule, 4)
    random = np.random.default_rng(0)
    session = take(test.start(), lambda _: int(random.integers(2)))
    asked = difficulties(ladder, session)
    met = [
        k >= 5 and asked[:k].std(ddof=1) / np.sqrt(k) < rule.measurement_error
        for k in range(1, len(asked) + 1)
    ]
    assert session.reason == "reliability reached"
    assert met.index(True) == len(asked) - 1


def test_shares_of_groups_are_kept(large, take):
    groups = {name: "abc"[k % 3] for k, name in enumerate(large.item_names)}
    shares = {"a": 0.5, "b": 0.3, "c": 0.2}
    for inner in ("information", Randomesque(3)):
        test = AdaptiveTest(large, selector=ContentBalance(groups, shares, inner), stopper="budget")
        session = take(test.start(), lambda name: int(name[-1] in "123456"))
        seen = np.array([groups[name] for name in session.trace["item"]])
        for length in range(1, 21):
            for group, share in shares.items():
                assert abs((seen[:length] == group).sum() - share * length) < 1


def test_a_group_that_is_exhausted_is_passed_over(ladder, take):
    groups = dict.fromkeys(ladder.item_names, "many") | {"item_1": "one"}
    selector = ContentBalance(groups, {"one": 1, "many": 1})
    session = take(AdaptiveTest(ladder, selector=selector, stopper=Budget(6)).start(), lambda _: 1)
    assert session.trace["item"].tolist().count("item_1") == 1
    assert len(session.trace) == 6


def test_groups_that_do_not_fit_are_refused(ladder):
    groups = dict.fromkeys(ladder.item_names, "a")
    with pytest.raises(InputError, match="without an item in the bank"):
        AdaptiveTest(ladder, selector=ContentBalance(groups, {"a": 1, "b": 1}))
    with pytest.raises(InputError, match="share of 'a' is -1"):
        ContentBalance(groups, {"a": -1})
    with pytest.raises(InputError, match="shares is empty"):
        ContentBalance(groups, {})


def test_settings_that_make_no_sense_are_refused(subtests):
    cases = [
        lambda: StandardError(0),
        lambda: StandardError("small"),
        lambda: Budget(0),
        lambda: Budget(2.5),
        lambda: Randomesque(0),
        lambda: Reliability(1.0),
        lambda: Reliability(min_items=1),
        lambda: DifficultyPercentile(101),
        lambda: FixedAbility(float("nan")),
        lambda: StepRule(first=0),
        lambda: AtLeast(True, Budget(3)),
    ]
    for number, make in enumerate(cases):
        with subtests.test(number=number), pytest.raises(InputError, match=r" is .* number"):
            make()


def test_bounds_are_told_as_people_say_them(subtests):
    cases = [
        (lambda: StepRule(noise=-1), "noise is -1; give a number of at least 0."),
        (lambda: DifficultyPercentile(-1), "percent is -1; give a number from 0 to 100."),
        (lambda: StandardError(0), "max_se is 0; give a number above 0."),
        (lambda: Reliability(1.0), "reliability is 1.0; give a number between 0 and 1."),
        (lambda: FixedAbility(float("inf")), "ability is inf; give a number that is finite."),
    ]
    for make, told in cases:
        with subtests.test(told=told), pytest.raises(InputError, match=f"^{re.escape(told)}$"):
            make()


def test_bounds_that_belong_to_a_range_are_taken(ladder):
    assert StepRule(noise=0).noise == 0
    for percent, first in ((0, -2.0), (100, 2.0)):
        test = AdaptiveTest(ladder, DifficultyPercentile(percent), "nearest")
        assert test.items.difficulty[test.choose(test.begin(np.zeros(1, dtype=int)))] == first


def test_among_the_nearest_a_lot_decides_and_equals_are_all_in_it(ladder):
    test = AdaptiveTest(ladder, selector=NearestByLot(among=3))
    state = test.begin(np.arange(300))
    chosen = test.items.difficulty[test.choose(state)]
    np.testing.assert_allclose(np.unique(chosen.round(6)), [-0.1, 0.0, 0.1])
    with pytest.raises(InputError, match="among is 0"):
        NearestByLot(among=0)


class Stuck:
    """Chooses the same thing for ever."""

    def __init__(self, place):
        self.place = place

    def choose(self, state, free):
        del free
        return np.full(len(state.target), self.place)


def test_a_selector_that_asks_twice_is_refused(ladder):
    with pytest.raises(InputError, match="Stuck chose 'item_1', which cannot be asked any more"):
        simulate_adaptive(ladder, [0.0, 1.0], selector=Stuck(0), stopper=Budget(3))


@pytest.mark.parametrize("place", [-1, 41, 0.5])
def test_a_selector_that_names_no_item_is_refused(ladder, place):
    with pytest.raises(InputError, match="Stuck should choose a position"):
        AdaptiveTest(ladder, selector=Stuck(place))


def test_a_respondent_of_too_large_a_number_is_refused(ladder):
    assert AdaptiveTest(ladder).start(2**63 - 1).next_item()
    with pytest.raises(InputError, match=r"respondent is 11805.*, but it should be a whole number"):
        AdaptiveTest(ladder).start(2**70)
