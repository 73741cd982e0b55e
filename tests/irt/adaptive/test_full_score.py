from itertools import product

import numpy as np
import pytest

from ogive import Responses, calibrate, simulate
from ogive.errors import InputError
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Budget
from ogive.irt.adaptive.selectors import SELECTORS, FullScore
from ogive.irt.adaptive.simulation import asked_of_recorded


@pytest.fixture(scope="module")
def small(bank):
    """Six items of which one is hard to foretell from the others."""
    return bank(
        discrimination=[1.0, 2.0, 0.3, 1.5, 0.8, 1.2], difficulty=[-1.0, 0.0, 0.2, 1.0, 0.5, -0.4]
    )


def variance_of_sum(bank, known):
    """Of all responses together, given some of them."""
    values = np.full((1, len(bank.item_names)), np.nan)
    for place, response in known.items():
        values[0, place] = response
    table = Responses(values, items=bank.item_names, kind="binary")
    return float(bank.completed_scores(table)["score_se"].iloc[0] * len(bank.item_names)) ** 2


def chance(bank, known, place):
    """Of a right response to an item, given others: the mean of a bank of that item alone."""
    both = sorted({*known, place})
    part = bank.of_items([bank.item_names[k] for k in both])
    values = [[np.nan if k == place else known[k] for k in both]]
    table = Responses(values, items=part.item_names, kind="binary")
    score = float(part.completed_scores(table)["score"].iloc[0])
    return score * len(both) - sum(known.values())


def test_the_item_chosen_lowers_the_variance_of_the_full_score_most_by_brute_force(small):
    session = AdaptiveTest(small, selector="score", stopper=Budget(5)).start()
    known = {}
    for response in (1, 0, 0, 1):
        expected = {}
        for place in set(range(6)) - set(known):
            right = chance(small, known, place)
            expected[place] = right * variance_of_sum(small, {**known, place: 1}) + (
                1 - right
            ) * variance_of_sum(small, {**known, place: 0})
        best = min(expected, key=expected.get)
        item = session.next_item()
        assert item == f"item_{best + 1}"
        session.answer(item, response)
        known[best] = response


def test_a_batch_begins_with_the_best_item_and_repeats_none(small):
    test = AdaptiveTest(small, selector="score", stopper=Budget(6))
    state = test.begin(np.arange(3))
    several = test.choose_several(state, 6)
    assert np.array_equal(several[:, 0], test.choose(state))
    assert np.array_equal(np.sort(several, axis=1), np.tile(np.arange(6), (3, 1)))


def test_a_batch_does_not_ask_the_same_thing_twice(bank):
    """Of two steep items for one place and one beside it, the third adds more than the twin."""
    items = bank(discrimination=[6.0, 6.0, 2.0, 2.0], difficulty=[0.0, 0.0, 1.5, -1.5])
    test = AdaptiveTest(items, selector=FullScore(), stopper=Budget(2))
    (batch,) = test.choose_several(test.begin(np.zeros(1, dtype=np.int64)), 2)
    gain = {}
    for second in (1, 2):
        joint = sum(
            probability * variance_of_sum(items, {0: first, second: other})
            for first in (0, 1)
            for other in (0, 1)
            for probability in [joint_chance(items, first, second, other)]
        )
        gain[second] = joint
    assert batch[0] in (0, 1)
    assert (batch[1] > 1) == (gain[2] < gain[1])


def joint_chance(items, first, second, other):
    right = chance(items, {}, 0)
    of_first = right if first else 1 - right
    then = chance(items, {0: first}, second)
    return of_first * (then if other else 1 - then)


def test_recorded_respondents_are_asked_what_a_session_would_ask(subtests):
    for selector, batch_size in product(SELECTORS, [1, 4]):
        with subtests.test(selector=selector, batch_size=batch_size):
            responses = simulate("3pl", 80, 20, random_state=1).responses
            bank = calibrate(responses, "3pl")
            test = AdaptiveTest(bank, selector=selector, stopper=Budget(10))
            asked = asked_of_recorded(test, responses, 10, batch_size)
            for k in (0, 7, 79):
                session = test.start(k)
                while items := session.next_items(batch_size):
                    for item in items:
                        session.answer(item, int(responses.cells[k, responses.items.index(item)]))
                assert session.answered == tuple(bank.item_names[place] for place in asked[k])


def test_random_items_of_a_batch_are_not_neighbours(small):
    test = AdaptiveTest(small, selector="random", stopper=Budget(6), random_state=4)
    batches = test.choose_several(test.begin(np.arange(200)), 3)
    assert len({tuple(batch) for batch in batches}) > 60


def test_a_session_passes_over_what_it_skipped_and_keeps_it_when_saved(small):
    test = AdaptiveTest(small, selector="score", stopper=Budget(6))
    session = test.start()
    first = session.next_item()
    session.skip(first)
    assert session.next_item() != first
    again = type(session).from_dict(session.to_dict(), test)
    assert again.skipped == (first,)
    assert again.next_item() == session.next_item()
    with pytest.raises(InputError, match="already answered or skipped"):
        session.skip(first)


def test_a_session_gives_no_more_items_than_its_budget_and_its_bank_have(small):
    session = AdaptiveTest(small, stopper=Budget(4)).start()
    assert len(session.next_items(10)) == 4
    session.answer(session.next_item(), 1)
    assert len(session.next_items(10)) == 3
