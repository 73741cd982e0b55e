import asyncio
import json
import sys
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive as og
from ogive.errors import FileError, InputError
from ogive.evaluation.adaptive_evaluation import ResponseJournal
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import Budget


@pytest.fixture(scope="module")
def drawn():
    return og.simulate("2pl", 400, 40, random_state=2)


@pytest.fixture(scope="module")
def bank(drawn):
    """A bank as from a file: without responses, nothing is replayed before the first item."""
    return replace(og.calibrate(drawn.responses), responses=None, weights=None)


@pytest.fixture(scope="module")
def answers(drawn):
    row = drawn.responses.to_frame().to_numpy()[5]
    return {item: int(value) for item, value in zip(drawn.responses.items, row, strict=True)}


class Counting:
    """Answers from a record, and remembers what it was asked; fails where it is told to."""

    def __init__(self, answers, fails_after=None):
        self.answers, self.asked, self.fails_after = answers, [], fails_after

    def __call__(self, item):
        if self.fails_after is not None and len(self.asked) >= self.fails_after:
            raise ConnectionError("the line is dead")
        self.asked.append(item)
        return self.answers[item]


def test_it_is_a_session_step_by_step(bank, answers):
    found = og.evaluate_adaptively(bank, answers.get, budget=12)
    session = AdaptiveTest(bank, selector="score", stopper=Budget(12)).start()
    while (item := session.next_item()) is not None:
        session.answer(item, answers[item])
    assert found.items == session.answered
    assert found.ability == session.ability
    assert found.trace["ability_se"].iloc[-1] == session.se
    asked = og.Responses([[answers[item] for item in found.items]], items=found.items)
    whole, alone = (bank.score(asked, items_known=given)["se"].iloc[0] for given in (False, True))
    assert found.ability_se**2 - session.se**2 == pytest.approx(whole**2 - alone**2)
    assert found.ability_se > session.se  # errors of the bank remain
    assert found.reason == session.reason == "budget spent"
    assert found.saved == 28


def test_the_score_is_the_completed_score_of_what_was_answered(bank, answers):
    found = og.evaluate_adaptively(bank, answers.get, budget=12)
    values = [[answers[item] for item in found.items]]
    wanted = bank.completed_scores(og.Responses(values, items=found.items, kind="binary")).iloc[0]
    assert found.accuracy == pytest.approx(wanted["score"], abs=1e-12)
    assert found.accuracy_se == pytest.approx(wanted["score_se"], abs=1e-12)
    last = found.trace.iloc[-1]
    assert (last["accuracy"], last["accuracy_low"], last["accuracy_high"]) == (
        found.accuracy, found.accuracy_low, found.accuracy_high,
    )  # fmt: skip
    assert found.accuracy_high - found.accuracy == pytest.approx(1.96 * found.accuracy_se, rel=1e-3)


def test_a_bank_that_was_asked_whole_leaves_nothing_open(bank, answers):
    found = og.evaluate_adaptively(bank, answers.get, budget=1000)
    truth = np.mean(list(answers.values()))
    assert (found.accuracy, found.accuracy_low, found.accuracy_high) == pytest.approx((truth,) * 3)
    assert found.saved == 0


@given(step=st.integers(1, 40), seed=st.integers(0, 5))
@settings(max_examples=8, deadline=None)
def test_intervals_hold_the_score_and_only_what_is_possible(bank, step, seed):
    random = np.random.default_rng(seed)
    found = og.evaluate_adaptively(bank, lambda _: int(random.random() < 0.5), budget=step)
    trace = found.trace
    assert (trace["accuracy_low"] <= trace["accuracy"] + 1e-12).all()
    assert (trace["accuracy"] <= trace["accuracy_high"] + 1e-12).all()
    right = trace["response"].cumsum()
    assert (trace["accuracy_low"] >= right / 40 - 1e-12).all()
    assert (trace["accuracy_high"] <= (right + 40 - trace["step"]) / 40 + 1e-12).all()


def test_it_stops_at_a_standard_error(bank, answers):
    found = og.evaluate_adaptively(bank, answers.get, budget=40, max_se=0.5, selector="information")
    assert found.reason == "standard error reached"
    assert found.trace["ability_se"].iloc[-1] <= 0.5 < found.trace["ability_se"].iloc[-2]


def test_a_list_and_a_mapping_are_the_same_answers(bank, answers):
    sizes = []

    def as_list(items):
        sizes.append(len(items))
        return [answers[item] for item in items]

    def as_mapping(items):
        return {item: answers[item] for item in reversed(items)}

    one = og.evaluate_adaptively(bank, as_list, budget=10, batch_size=4)
    other = og.evaluate_adaptively(bank, as_mapping, budget=10, batch_size=4)
    assert sizes == [4, 4, 2]
    assert one.trace.equals(other.trace)
    assert len(set(one.items)) == 10


async def slowly(answers, item):
    await asyncio.sleep(0)
    return answers[item]


def test_an_async_ask_gives_the_same_without_and_within_a_running_loop(bank, answers):
    wanted = og.evaluate_adaptively(bank, answers.get, budget=6).trace
    threads = []

    async def ask(item):
        threads.append(threading.current_thread())
        return await slowly(answers, item)

    assert og.evaluate_adaptively(bank, ask, budget=6).trace.equals(wanted)
    assert set(threads) == {threading.main_thread()}

    async def notebook():
        inside = asyncio.get_running_loop()
        found = og.evaluate_adaptively(bank, ask, budget=6)
        assert asyncio.get_running_loop() is inside
        return found

    assert asyncio.run(notebook()).trace.equals(wanted)
    assert threading.main_thread() not in threads[6:]


def test_the_async_twin_asks_in_the_loop_that_is_running(bank, answers):
    async def course():
        loop = asyncio.get_running_loop()

        async def ask(items):
            assert asyncio.get_running_loop() is loop
            return [await slowly(answers, item) for item in items]

        return await og.evaluate_adaptively_async(bank, ask, budget=6, batch_size=3)

    batch = lambda items: [answers[item] for item in items]  # noqa: E731
    wanted = og.evaluate_adaptively(bank, batch, budget=6, batch_size=3)
    assert asyncio.run(course()).trace.equals(wanted.trace)


def test_one_event_loop_serves_all_calls(bank, answers):
    loops = set()

    async def ask(item):
        loops.add(id(asyncio.get_running_loop()))
        return answers[item]

    og.evaluate_adaptively(bank, ask, budget=5)
    assert len(loops) == 1


def test_after_a_crash_nothing_is_asked_twice(bank, answers, tmp_path):
    journal = tmp_path / "model.jsonl"
    first = Counting(answers, fails_after=4)
    with pytest.raises(ConnectionError) as caught:
        og.evaluate_adaptively(bank, first, budget=9, journal=journal)
    said = " ".join(caught.value.__notes__)
    second = Counting(answers)
    found = og.evaluate_adaptively(bank, second, budget=9, journal=journal)
    assert second.asked[0] in said
    assert "4 items" in said
    assert first.asked + second.asked == list(found.items)
    assert found.trace.equals(og.evaluate_adaptively(bank, answers.get, budget=9).trace)
    assert "4 items came from the journal" in " ".join(found.notes)
    third = Counting(answers)
    assert og.evaluate_adaptively(bank, third, budget=9, journal=journal).items == found.items
    assert third.asked == []
    more = og.evaluate_adaptively(bank, third, budget=11, journal=journal)
    assert (len(third.asked), len(more.items)) == (2, 11)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_last_line_that_was_cut_is_asked_again(bank, answers, tmp_path, cut):
    journal = tmp_path / "model.jsonl"
    whole = og.evaluate_adaptively(bank, answers.get, budget=5, journal=journal)
    journal.write_bytes(journal.read_bytes()[:-cut])
    again = Counting(answers)
    found = og.evaluate_adaptively(bank, again, budget=5, journal=journal)
    assert again.asked == [whole.items[-1]]
    assert found.trace.equals(whole.trace)
    assert len(journal.read_text().splitlines()) == 6


def test_a_first_line_that_was_cut_begins_anew(bank, answers, tmp_path):
    journal = tmp_path / "model.jsonl"
    og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal)
    for length in (0, 10):
        journal.write_bytes(journal.read_bytes()[:length])
        assert len(og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal).items) == 2


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"respondent": "another"}, "respondent"),
        ({"selector": "information"}, "selector"),
        ({"random_state": 1}, "random_state"),
    ],
)
def test_the_journal_of_other_settings_is_refused(bank, answers, tmp_path, change, named):
    journal = tmp_path / "model.jsonl"
    og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal)
    with pytest.raises(FileError, match=f"another evaluation: its {named}"):
        og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal, **change)


def test_the_journal_of_another_bank_is_refused(bank, answers, tmp_path):
    journal = tmp_path / "model.jsonl"
    og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal)
    other = bank.of_items(bank.item_names[:30])
    with pytest.raises(FileError, match="its bank is"):
        og.evaluate_adaptively(other, answers.get, budget=2, journal=journal)


HEAD = object()


def test_a_file_that_is_no_sound_journal_is_refused_and_left_alone(
    subtests, bank, answers, tmp_path_factory
):
    cases = [
        (["a,b", "1,2"], "line 1 is not JSON"),
        (['{"schema": "other"}'], "not the journal"),
        ([HEAD, "{nonsense", '{"item": "item_1", "response": 1}'], "line 2 is not JSON"),
        ([HEAD, '{"item": "item_1"}'], "line 2 is not a response"),
        ([HEAD, '{"item": "item_1", "response": true}'], "line 2 is not a response"),
        (
            [HEAD, '{"item": "item_1", "response": 1}', '{"item": "item_1", "response": 0}'],
            "occurs twice",
        ),
        ([HEAD, '{"item": "stranger", "response": 1}'], "no item 'stranger'"),
        ([HEAD, '{"item": "item_1", "response": 7}'], "from 0 to 1"),
    ]
    for lines, complaint in cases:
        with subtests.test(lines=lines, complaint=complaint):
            tmp_path = tmp_path_factory.mktemp("case")
            journal = tmp_path / "model.jsonl"
            og.evaluate_adaptively(bank, answers.get, budget=1, journal=journal)
            head = journal.read_text().splitlines()[0]
            text = "\n".join(head if line is HEAD else line for line in lines) + "\n"
            journal.write_text(text)
            with pytest.raises(FileError, match=complaint):
                og.evaluate_adaptively(bank, answers.get, budget=3, journal=journal)
            assert journal.read_text() == text


def test_what_could_not_be_answered_is_skipped_counted_and_kept(bank, answers, tmp_path):
    refused = []

    def ask(item):
        if len(refused) < 2:
            refused.append(item)
            return None
        return answers[item]

    journal = tmp_path / "model.jsonl"
    found = og.evaluate_adaptively(bank, ask, budget=8, journal=journal)
    assert found.skipped == tuple(refused)
    assert (len(found.items), found.saved) == (6, 32)
    assert not set(refused) & set(found.items)
    assert "2 items" in found.notes[0]
    kept = [json.loads(line) for line in journal.read_text().splitlines()[1:]]
    assert [line["item"] for line in kept if line["response"] is None] == refused
    again = Counting(answers)
    assert og.evaluate_adaptively(bank, again, budget=8, journal=journal).skipped == found.skipped
    assert again.asked == []


def test_a_model_that_answers_nothing_is_what_the_population_is(bank):
    found = og.evaluate_adaptively(bank, lambda _: None, budget=3)
    assert found.trace.empty
    assert found.ability == pytest.approx(bank.population.mean, abs=1e-6)
    assert found.accuracy_low < found.accuracy < found.accuracy_high
    with pytest.raises(InputError, match="No item was answered"):
        found.plot()


def test_mistakes_of_ask_are_explained(subtests, bank):
    cases = [
        (1, "A", "the text 'A'"),
        (1, 2, "from 0 to 1"),
        (1, float("nan"), "finite"),
        (1, [1], "set batch_size"),
        (3, 1, "a list of responses in the same order"),
        (3, [1, 0], "returned 2 responses"),
        (3, "101", "a list of responses"),
        (3, {"item_1": 1}, "lacks"),
    ]
    for batch_size, answer, complaint in cases:
        with (
            subtests.test(batch_size=batch_size, answer=answer, complaint=complaint),
            pytest.raises(InputError, match=complaint),
        ):
            og.evaluate_adaptively(
                bank, lambda _, answer=answer: answer, budget=6, batch_size=batch_size
            )


def test_a_series_is_read_by_its_names(bank, answers):
    def as_series(items):
        return pd.Series({item: answers[item] for item in sorted(items)})

    wanted = og.evaluate_adaptively(
        bank, lambda items: [answers[item] for item in items], budget=8, batch_size=4
    )
    found = og.evaluate_adaptively(bank, as_series, budget=8, batch_size=4)
    assert found.trace.equals(wanted.trace)
    with pytest.raises(InputError, match="lacks"):
        og.evaluate_adaptively(bank, lambda items: pd.Series([1] * len(items)), batch_size=4)


def test_an_item_that_is_there_twice_is_refused(bank):
    twice = lambda items: pd.Series([1] * 4, index=[*items, items[0]])  # noqa: E731
    with pytest.raises(InputError, match="occurs twice"):
        og.evaluate_adaptively(bank, twice, batch_size=3)


def test_an_array_of_no_dimension_is_a_number(bank):
    found = og.evaluate_adaptively(bank, lambda _: np.array(1.0), budget=2)
    assert found.trace["response"].tolist() == [1, 1]
    with pytest.raises(InputError, match="a list of responses in the same order"):
        og.evaluate_adaptively(bank, lambda _: np.array(1.0), budget=6, batch_size=3)


def test_what_ask_does_to_its_list_does_not_matter(bank, answers):
    def ask(items):
        found = [answers[item] for item in items]
        items.clear()
        return found

    assert len(og.evaluate_adaptively(bank, ask, budget=6, batch_size=3).items) == 6


@pytest.mark.parametrize("power", [400, 5000])
def test_a_number_beyond_all_bounds_is_refused(bank, power):
    with pytest.raises(InputError, match="too large"):
        og.evaluate_adaptively(bank, lambda _: 10**power)


def test_a_journal_that_is_in_use_is_refused_and_free_again_afterwards(bank, answers, tmp_path):
    journal = tmp_path / "model.jsonl"
    refused = []

    def ask(item):
        if not refused:
            with pytest.raises(FileError, match="Another evaluation is writing") as caught:
                og.evaluate_adaptively(bank, answers.get, budget=2, journal=journal)
            refused.append(caught)
        return answers[item]

    found = og.evaluate_adaptively(bank, ask, budget=4, journal=journal)
    assert refused
    again = og.evaluate_adaptively(bank, lambda _: 1 / 0, budget=4, journal=journal)
    assert again.items == found.items
    assert [path.name for path in tmp_path.iterdir()] == ["model.jsonl"]


def test_where_files_cannot_be_locked_a_mark_stands_beside_the_journal(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    path = tmp_path / "model.jsonl"
    mark = r"delete '.*model\.jsonl\.lock'"
    with ResponseJournal(path, {"bank": "a"}), pytest.raises(FileError, match=mark):
        ResponseJournal(path, {"bank": "a"})
    with ResponseJournal(path, {"bank": "a"}) as free:
        assert free.responses == []


def test_the_sentence_reaches_as_far_as_its_confidence(bank, answers):
    narrow = og.evaluate_adaptively(bank, answers.get, budget=6, confidence=0.5)
    low, high = (narrow.ability + side * 0.6745 * narrow.ability_se for side in (-1, 1))
    assert f"({low:.2f} to {high:.2f})" in narrow.meaning


def test_what_is_right_in_a_batch_is_kept_though_another_answer_is_wrong(bank, tmp_path):
    journal = tmp_path / "model.jsonl"
    with pytest.raises(InputError, match="is 5"):
        og.evaluate_adaptively(bank, lambda _: [1, 5, 0], budget=6, batch_size=3, journal=journal)
    kept = [json.loads(line)["response"] for line in journal.read_text().splitlines()[1:]]
    assert kept == [1, 0]


def test_settings_that_make_no_sense_are_refused(subtests, bank):
    cases = [
        ({"budget": 0}, "budget"),
        ({"batch_size": 0}, "batch_size"),
        ({"max_se": -1}, r"`max_se` must be .*got -1"),
        ({"confidence": 95}, "confidence"),
        ({"selector": "best"}, "selector"),
        ({"error": 0.1}, "replay_adaptively"),
        ({"journal": 3}, "`journal` must be the path.*got 3"),
    ]
    for change, complaint in cases:
        with (
            subtests.test(change=change, complaint=complaint),
            pytest.raises(InputError, match=complaint),
        ):
            og.evaluate_adaptively(bank, lambda _: 1, **change)


def test_what_is_no_bank_and_what_is_no_function_are_refused(bank, drawn):
    with pytest.raises(InputError, match="not a Calibration"):
        og.evaluate_adaptively(drawn.responses, lambda _: 1)
    with pytest.raises(InputError, match=r"`ask` must be"):
        og.evaluate_adaptively(bank, "model")


def test_scores_between_0_and_1_are_asked_for_as_well(tmp_path):
    table = og.simulate("beta", 150, 12, random_state=1).responses
    bank = og.calibrate(table, "beta")
    row = dict(zip(table.items, table.to_frame().to_numpy()[0].tolist(), strict=True))
    journal = tmp_path / "model.jsonl"
    settings = {"budget": 6, "journal": journal, "method": "adaptive"}
    found = og.evaluate_adaptively(bank, row.get, **settings)
    assert "Its predicted mean score on all" in found.meaning
    assert found.trace["response"].tolist() == [row[item] for item in found.items]
    again = og.evaluate_adaptively(bank, lambda _: 1 / 0, **settings)
    assert again.trace.equals(found.trace)


def test_it_is_drawn_and_says_what_it_means(bank, answers, tmp_path):
    found = og.evaluate_adaptively(bank, answers.get, budget=8, respondent="org/model")
    assert found.plot().save(tmp_path / "trace.png").stat().st_size > 5_000
    assert found.meaning.startswith("org/model answered 8 of 40 items (budget spent)")
    assert list(found.to_frame().columns) == [
        "step", "item", "response", "ability", "ability_se", "information",
        "accuracy", "accuracy_se", "accuracy_low", "accuracy_high",
    ]  # fmt: skip
