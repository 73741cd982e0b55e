"""Adaptive tests as files: what was written is what is read."""

import json
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ogive import Responses, load, simulate
from ogive.errors import FileError, InputError
from ogive.irt import adaptive
from ogive.irt.adaptive.adaptive_test import AdaptiveSession, AdaptiveTest
from ogive.irt.adaptive.rules import (
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    StandardError,
    StepRule,
)
from ogive.irt.adaptive.selectors import SELECTORS, ContentBalance, NearestByLot, Randomesque
from ogive.irt.banks import known_items
from ogive.irt.models import MODELS


def test_two_steps_are_those_computed_by_hand(bank, plain):
    slopes, difficulty = np.array([1.0, 1.5, 0.8, 1.2]), np.array([-1.0, 0.1, 1.0, 0.9])
    session = AdaptiveTest(
        bank(discrimination=slopes, difficulty=difficulty), stopper=Budget(2)
    ).start()
    assert (session.ability, session.se) == pytest.approx((0.0, 1.0), abs=1e-7)

    def told(ability):
        right = 1 / (1 + np.exp(-slopes * (ability - difficulty)))
        return slopes**2 * right * (1 - right)

    items = np.column_stack([slopes, -slopes * difficulty])
    values = np.full((1, 4), np.nan)
    ability, asked = 0.0, []
    for response in (1, 0):
        best = int(np.argmax(np.where(np.isin(range(4), asked), -1, told(ability))))
        assert session.next_item() == f"item_{best + 1}"
        information = told(ability)[best]
        session.answer(session.next_item(), response)
        asked.append(best)
        values[0, best] = response
        (ability,), (se,), _ = plain.posterior(items, values)
        assert session.ability == pytest.approx(ability, abs=1e-6)
        assert session.se == pytest.approx(se, abs=1e-6)
        assert session.trace["information"].iloc[-1] == pytest.approx(information)
    assert asked == [1, 3]
    assert (session.done, session.reason, session.next_item()) == (True, "budget spent", None)
    assert list(session.trace.columns) == [
        "step", "item", "response", "ability", "se", "information",
    ]  # fmt: skip
    assert session.trace["response"].tolist() == [1, 0]


def test_abilities_are_those_of_the_calibration_on_the_answered_items(subtests, take):
    for name, (estimator, off) in product(MODELS, [("eap", 1e-5), ("map", 1e-3)]):
        with subtests.test(name=name, estimator=estimator, off=off):
            responses, truth = simulate(name, 1, 15, random_state=5)
            bank = known_items(
                truth.model, truth.model.from_parameters(truth.items), responses.items
            )
            given_ = responses.to_frame().iloc[0]
            test = AdaptiveTest(bank, estimator=estimator, stopper=Budget(9))
            session = take(test.start(), given_.get)
            asked = session.trace["item"].tolist()
            assert len(set(asked)) == 9
            table = Responses([given_[asked].to_numpy(float)], items=asked, kind=truth.model.kind)
            scored = bank.score(table, method=estimator).iloc[0]
            assert session.ability == pytest.approx(scored["ability"], abs=off)
            assert session.se == pytest.approx(scored["se"], abs=off)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.sampled_from(sorted(SELECTORS)), st.sampled_from(["eap", "steps"]))
def test_no_item_is_asked_twice(ladder, take, seed, selector, estimator):
    test = AdaptiveTest(ladder, "percentile", selector, estimator, Budget(41), seed)
    random = np.random.default_rng(seed)
    session = take(test.start(), lambda _: int(random.integers(2)))
    assert sorted(session.trace["item"]) == sorted(ladder.item_names)


def test_the_next_item_stays_until_it_is_answered(large):
    session = AdaptiveTest(large, selector="random").start()
    first = session.next_item()
    assert session.next_item() == first
    session.answer(first, 1)
    assert session.next_item() != first


def test_an_item_of_ones_own_choice_counts_too(ladder):
    session = AdaptiveTest(ladder).start()
    other = next(name for name in ladder.item_names if name != session.next_item())
    session.answer(other, True)
    assert session.trace["item"].tolist() == [other]
    assert session.ability > 0


@pytest.mark.parametrize("estimator", ["eap", "steps"])
def test_a_resumed_session_goes_on_as_before(large, take, estimator, tmp_path):
    def respond(item):
        return int(item[-1] in "02468")

    def test_of(bank):
        return AdaptiveTest(bank, "percentile", Randomesque(4), estimator, Budget(12), 7)

    whole = take(test_of(large).start(3), respond)
    half = test_of(large).start(3)
    for _ in range(5):
        half.answer(half.next_item(), respond(half.next_item()))
    document = json.loads(json.dumps(half.to_dict(), allow_nan=False))
    large.save(tmp_path / "bank.json")
    again = AdaptiveSession.from_dict(document, test_of(load(tmp_path / "bank.json")))
    assert again.trace.equals(half.trace)
    assert take(again, respond).trace.equals(whole.trace)


def test_a_session_is_refused_by_another_test(large):
    document = AdaptiveTest(large).start().to_dict()
    with pytest.raises(InputError, match="another test"):
        AdaptiveSession.from_dict(document, AdaptiveTest(large, random_state=1))
    with pytest.raises(InputError, match="not a session"):
        AdaptiveSession.from_dict({"version": 1}, AdaptiveTest(large))
    with pytest.raises(InputError, match="version 2"):
        AdaptiveSession.from_dict({**document, "version": 2}, AdaptiveTest(large))


def test_a_rule_that_is_never_met_ends_with_the_bank(ladder, take):
    session = take(AdaptiveTest(ladder, stopper=StandardError(0.01)).start(), lambda _: 1)
    assert (session.reason, len(session.trace)) == ("bank exhausted", 41)
    with pytest.raises(InputError, match=r"finished \(bank exhausted\)"):
        session.answer("item_1", 1)


def test_what_cannot_be_answered_is_refused(ladder):
    session = AdaptiveTest(ladder).start()
    with pytest.raises(InputError, match="no item 'item_99'"):
        session.answer("item_99", 1)
    for response in (2, -1, 0.5):
        with pytest.raises(InputError, match="whole number from 0 to 1"):
            session.answer("item_1", response)
    with pytest.raises(InputError, match="finite number"):
        session.answer("item_1", float("nan"))
    with pytest.raises(InputError, match="not a number"):
        session.answer("item_1", "right")
    assert session.trace.empty
    session.answer("item_1", 1)
    with pytest.raises(InputError, match="already answered"):
        session.answer("item_1", 1)


def test_scores_outside_the_bounds_are_refused():
    responses, truth = simulate("continuous", 1, 4, random_state=0)
    bank = known_items(truth.model, truth.model.from_parameters(truth.items), responses.items)
    with pytest.raises(InputError, match="number from 0 to 1"):
        AdaptiveTest(bank).start().answer("item_1", 1.5)


def test_tests_that_cannot_work_are_refused_before_they_start(ladder):
    with pytest.raises(InputError, match="no items"):
        AdaptiveTest(known_items(ladder.model, ladder.coords[:0]))
    with pytest.raises(InputError, match="not a Calibration"):
        AdaptiveTest(ladder.items)
    with pytest.raises(InputError, match="budget is 42 items, but the calibration has 41"):
        AdaptiveTest(ladder, stopper=[StandardError(), Budget(42)])
    with pytest.raises(InputError, match="random_state"):
        AdaptiveTest(ladder, random_state=-1)
    with pytest.raises(InputError, match="selector is 'best'"):
        AdaptiveTest(ladder, selector="best")
    with pytest.raises(InputError, match="call it: Randomesque"):
        AdaptiveTest(ladder, selector=Randomesque)
    with pytest.raises(InputError, match="in no group that has a share"):
        AdaptiveTest(ladder, selector=ContentBalance({}, {"a": 1.0}))
    responses, truth = simulate("graded", 1, 4, random_state=0)
    graded = known_items(truth.model, truth.model.from_parameters(truth.items), responses.items)
    with pytest.raises(InputError, match="right and wrong"):
        AdaptiveTest(graded, estimator="steps")


def test_rules_combine(ladder, take):
    short = take(AdaptiveTest(ladder, stopper=["budget", StandardError(0.9)]).start(), lambda _: 1)
    assert short.reason == "standard error reached"
    assert len(short.trace) < 8
    rule = AnyOf((AtLeast(8, StandardError(0.9)), Budget(20)))
    assert len(take(AdaptiveTest(ladder, stopper=rule).start(), lambda _: 1).trace) == 8


def written_and_read(test, path):
    test.save(path)
    return load(path)


def test_parts_come_back_with_their_settings(ladder, tmp_path, subtests):
    groups = {name: "ab"[k % 2] for k, name in enumerate(ladder.item_names)}
    cases = {
        "names": {"initializer": "percentile", "selector": "nearest", "stopper": "budget"},
        "settings": {
            "initializer": DifficultyPercentile(30),
            "selector": Randomesque(7),
            "estimator": StepRule(first=2.0, noise=0.05),
            "stopper": AtLeast(3, StandardError(0.4)),
            "random_state": 5,
        },
        "lists": {"stopper": ["error", Budget(9)], "selector": NearestByLot(2)},
        "inside each other": {
            "selector": ContentBalance(groups, {"a": 2.0, "b": 1}, Randomesque(3)),
            "stopper": AnyOf((Budget(np.int64(8)), StandardError(0.5))),
        },
    }
    for case, parts in cases.items():
        with subtests.test(case):
            test = AdaptiveTest(ladder, **parts)
            again = written_and_read(test, tmp_path / "test.json")
            assert again.parts == test.parts
            assert again.digest == test.digest
            assert again.random_state == test.random_state


def test_only_json_is_written(ladder, tmp_path):
    with pytest.raises(InputError, match=r"its ending is '.csv'. Use .json"):
        AdaptiveTest(ladder).save(tmp_path / "test.csv")
    assert AdaptiveTest(ladder).save(tmp_path / "test.JSON").exists()


class Mine:
    """A selector from elsewhere."""

    def choose(self, state, free):
        del state
        return free.argmax(axis=1)


def test_parts_from_elsewhere_cannot_be_saved(ladder, tmp_path):
    test = AdaptiveTest(ladder, selector=Mine())
    with pytest.raises(InputError, match="The selector is a Mine, which is not a part of Ogive"):
        test.save(tmp_path / "test.json")


def test_what_is_no_part_is_said_with_its_file(ladder, tmp_path, subtests):
    path = tmp_path / "test.json"
    AdaptiveTest(ladder, selector=Randomesque(2)).save(path)
    document = json.loads(path.read_text())
    for wrong, said in {
        "two": ({"Randomesque": {}, "Budget": {}}, "not the name of a part with settings"),
        "number": (3, "its selector is 3, not the name"),
        "unknown": ({"Best": {}}, "its selector is 'Best', which is unknown here"),
        "no settings": ({"Randomesque": 3}, "its selector is 'Randomesque', which is unknown"),
        "bad setting": ({"Randomesque": {"among": 0}}, r"`among` must be .*got 0"),
    }.values():
        with subtests.test(said):
            path.write_text(json.dumps({**document, "selector": wrong}))
            with pytest.raises(FileError, match=said):
                load(path)


def test_records_are_frozen_and_those_of_arrays_are_equal_to_themselves_alone(records):
    records(adaptive)
