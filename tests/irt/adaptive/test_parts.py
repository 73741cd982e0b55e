from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy.special import ndtri

from ogive.errors import InputError
from ogive.irt.adaptive import state as adaptive_state
from ogive.irt.adaptive.adaptive_test import AdaptiveTest
from ogive.irt.adaptive.rules import (
    AnyOf,
    AtLeast,
    Budget,
    DifficultyPercentile,
    FixedAbility,
    PosteriorMean,
    PosteriorMode,
    Reliability,
    StandardError,
    StepRule,
)
from ogive.irt.adaptive.selectors import ContentBalance, NearestByLot, Randomesque
from ogive.irt.adaptive.simulation import simulate_adaptive
from ogive.irt.quadrature import NormalPopulation, plan


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
    with pytest.raises(InputError, match="share of 'a'` must be"):
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
        with (
            subtests.test(number=number),
            pytest.raises(InputError, match=r"must be .*number.*got"),
        ):
            make()


def test_bounds_are_told_as_people_say_them(subtests):
    cases = [
        (lambda: StepRule(noise=-1), "`noise` must be a number of at least 0.*got -1"),
        (lambda: DifficultyPercentile(-1), "`percent` must be a number from 0 to 100.*got -1"),
        (lambda: StandardError(0), "`max_se` must be a number above 0.*got 0"),
        (lambda: Reliability(1.0), "`reliability` must be a number between 0 and 1.*got 1.0"),
        (lambda: FixedAbility(float("inf")), "`ability` must be a number that is finite.*got inf"),
    ]
    for make, told in cases:
        with subtests.test(told=told), pytest.raises(InputError, match=told):
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
    with pytest.raises(InputError, match=r"`among` must be .*got 0"):
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
    with pytest.raises(InputError, match=r"`respondent` must be a whole number.*got 11805.*"):
        AdaptiveTest(ladder).start(2**70)
    with pytest.raises(InputError, match=r"`respondent` must be .*got 9223372036854775808"):
        AdaptiveTest(ladder).start(2**63)


NODES = np.linspace(-4.0, 4.0, 81)


def on_nodes(*log_posteriors):
    """What estimators see of a state."""
    return SimpleNamespace(
        bank=SimpleNamespace(nodes=NODES), log_posterior=np.stack(log_posteriors)
    )


def test_the_mode_of_a_polynomial_is_where_its_slope_is_zero():
    """Five nodes hold a polynomial of the fourth degree exactly."""
    curves = [
        Polynomial([0, 1.3, -2.0, 0.3, -0.5]),
        Polynomial([3, -2.0, -1.0, 0, -0.1]),
        Polynomial([0, 0, -0.5]),
        Polynomial([0, 2.6, -1.0]),
    ]
    found = PosteriorMode().estimate(on_nodes(*(curve(NODES) for curve in curves)))
    for curve, mode, se in zip(curves, found.ability, found.se, strict=True):
        (top,) = (x.real for x in curve.deriv().roots() if abs(x.imag) < 1e-9)
        assert mode == pytest.approx(top, abs=1e-9)
        assert se == pytest.approx((-curve.deriv(2)(top)) ** -0.5, rel=1e-7)
    np.testing.assert_array_equal(found.target, found.ability)


def test_a_mode_at_the_end_of_the_nodes_is_found_and_none_lies_beyond_a_step():
    peaks = NODES[[1, 2, -3, -2]]
    found = PosteriorMode().estimate(on_nodes(*(-2.0 * (NODES - x) ** 2 for x in peaks)))
    np.testing.assert_allclose(found.ability, peaks, atol=1e-9)
    np.testing.assert_allclose(found.se, 0.5, rtol=1e-7)
    rising = PosteriorMode().estimate(on_nodes(NODES * 5.0, NODES * -5.0, 0 * NODES))
    np.testing.assert_allclose(rising.ability[:2], NODES[[-2, 1]], atol=1e-9)
    assert rising.se[2] == pytest.approx(0.1 / np.sqrt(1e-9))


def test_a_posterior_mean_is_the_mean_on_the_nodes():
    weights = np.exp(-0.5 * (NODES - 0.3) ** 2) * (1 + np.tanh(NODES))
    found = PosteriorMean().estimate(on_nodes(np.log(weights) + 700))
    mean = np.average(NODES, weights=weights)
    assert found.ability[0] == found.target[0] == pytest.approx(mean)
    spread = np.average((NODES - mean) ** 2, weights=weights)
    assert found.se[0] == pytest.approx(np.sqrt(spread))


def test_parts_have_the_settings_that_their_pages_say():
    assert (StandardError().max_se, Budget().max_items) == (0.3, 20)
    assert (Reliability().reliability, Reliability().sigma, Reliability().min_items) == (0.98, 1, 5)
    assert (StepRule().first, StepRule().noise) == (1.0, 0.1)
    assert (Randomesque().among, NearestByLot().among) == (5, 1)
    assert FixedAbility().ability == 0.0
    assert (Budget(1).limit, Randomesque(1).among, NearestByLot(1).among) == (1, 1, 1)
    assert AtLeast(1, Budget(1)).limit == 1
    assert Reliability(min_items=2).min_items == 2
    assert AtLeast(7, Budget(3)).limit == AtLeast(3, Budget(7)).limit == 7
    assert AtLeast(7, StandardError()).limit is None
    assert AnyOf((Budget(9), StandardError(), Budget(4))).limit == 4
    assert AnyOf((StandardError(),)).limit is None


def test_an_error_just_as_large_as_asked_for_is_small_enough():
    state = SimpleNamespace(se=np.array([0.3, np.nextafter(0.3, 1), 0.1]), step=4)
    said = StandardError(0.3).reasons(state)
    assert said.tolist() == ["standard error reached", "", "standard error reached"]
    assert Budget(4).reasons(state).tolist() == ["budget spent"] * 3
    assert Budget(5).reasons(state).tolist() == [""] * 3
    assert AtLeast(4, Budget(2)).reasons(state).tolist() == ["budget spent"] * 3
    assert AtLeast(5, Budget(2)).reasons(state).tolist() == [""] * 3
    both = AnyOf((StandardError(0.2), Budget(4))).reasons(state)
    assert both.tolist() == ["budget spent", "budget spent", "standard error reached"]


def test_the_rule_of_reliability_by_hand():
    bank = SimpleNamespace(difficulty=np.array([0.0, 0.2, 0.4, 5.0]))
    items = np.array([[0, 1, 2], [0, 1, 3]])
    state = SimpleNamespace(bank=bank, items=items, step=3, se=np.zeros(2))
    spread = 0.2 / np.sqrt(3)  # the deviation of 0, 0.2 and 0.4 is 0.2
    reached = Reliability(1 - (spread + 1e-9) ** 2, min_items=3).reasons(state)
    assert reached.tolist() == ["reliability reached", ""]
    assert Reliability(1 - (spread - 1e-9) ** 2, min_items=3).reasons(state)[0] == ""
    assert Reliability(1 - spread**2, sigma=1.01, min_items=3).reasons(state)[0] != ""
    assert Reliability(0.5, min_items=4).reasons(state).tolist() == ["", ""]


def test_a_draw_of_nothing_moves_a_target_by_a_number():
    bank = SimpleNamespace(model=SimpleNamespace(kind="binary"), difficulty=np.array([0.5, 1.0]))
    state = SimpleNamespace(
        bank=bank, step=2, items=np.array([[0, 1]]), responses=np.array([[1.0, 0.0]]),
        target=np.array([0.2]), draws=lambda use: np.zeros(1),
    )  # fmt: skip
    found = StepRule(first=1.0, noise=0.1).estimate(state)
    assert found.target[0] == pytest.approx(0.2 - 0.5 + 0.1 * ndtri(2.0**-54))
    assert (found.ability[0], found.se[0]) == pytest.approx((0.75, np.sqrt(2)))


def test_random_choices_depend_on_seed_use_step_and_respondent_alone(ladder):
    """A session that is resumed later, beside others or alone, must go on as it would have."""
    state = AdaptiveTest(ladder, random_state=7).begin(np.array([3, 11, 5]))
    for use, number in (("selector", 1), ("estimator", 2), ("responses", 3)):
        bits = np.random.PCG64(np.random.SeedSequence([7, number, 0]))
        stream = np.random.Generator(bits).random(12)
        np.testing.assert_array_equal(state.draws(use), stream[[3, 11, 5]])


def test_a_lot_among_the_best_holds_just_as_many_as_there_are(large):
    respondents = np.arange(600)
    for among in (1, 3):
        test = AdaptiveTest(large, selector=Randomesque(among))
        state = test.begin(respondents)
        informative = large.model.information(large.coords, np.zeros(1))[:, 0]
        best = set(np.argsort(-informative)[:among])
        assert set(test.choose(state)) == best
        few = np.zeros_like(state.free)
        few[:, [150, 20]] = True
        assert set(test.parts.selector.choose(state, few)) == (
            {max((150, 20), key=lambda k: informative[k])} if among == 1 else {150, 20}
        )


def test_a_lot_among_the_nearest_takes_what_is_free(ladder):
    test = AdaptiveTest(ladder, selector=NearestByLot(among=4))
    state = test.begin(np.arange(400))
    free = np.zeros_like(state.free)
    free[:, [0, 40, 19]] = True
    assert set(test.parts.selector.choose(state, free)) == {0, 19, 40}
    alone = AdaptiveTest(ladder, FixedAbility(0.05), NearestByLot())
    near = alone.items.difficulty[alone.choose(alone.begin(np.arange(400)))]
    np.testing.assert_allclose(np.unique(near.round(6)), [0.0, 0.1])  # equally far: both


def test_any_free_item_comes_by_lot_equally_often(ladder):
    test = AdaptiveTest(ladder, selector="random")
    state = test.begin(np.arange(9000))
    free = np.zeros_like(state.free)
    free[:, [2, 17, 40]] = True
    counts = np.bincount(test.parts.selector.choose(state, free), minlength=41)
    assert counts.sum() == counts[[2, 17, 40]].sum()
    np.testing.assert_allclose(counts[[2, 17, 40]], 3000, atol=4 * np.sqrt(2000))


def test_items_are_ranked_by_their_information_at_a_hundredth_of_a_deviation(large):
    items = AdaptiveTest(large).items
    for ability, place in ((0.0149, 0.01), (-1.3051, -1.31), (99.0, 10.0), (-99.0, -10.0)):
        told = large.model.information(large.coords, np.array([place]))[:, 0]
        wanted = np.argsort(-told, kind="stable")
        ranked = items.ranking(np.array([ability]), 5)[0]
        np.testing.assert_allclose(told[ranked], told[wanted[:5]], rtol=1e-9)


def test_rankings_in_blocks_are_those_at_once(large, monkeypatch):
    abilities = np.linspace(-2, 2, 9)
    whole = AdaptiveTest(large).items.ranking(abilities, 200)
    monkeypatch.setattr(adaptive_state, "CELLS_AT_A_TIME", 400)
    np.testing.assert_array_equal(AdaptiveTest(large).items.ranking(abilities, 200), whole)


def test_when_the_best_are_gone_the_best_that_is_left_is_asked(large):
    test = AdaptiveTest(large)
    state = test.begin(np.zeros(1, dtype=np.int64))
    order = test.items.ranking(np.zeros(1), 200)[0]
    for left in (1, 7, 8, 9, 40, 199):
        free = np.zeros_like(state.free)
        free[0, order[left:]] = True
        assert test.parts.selector.choose(state, free).tolist() == [order[left]]


def test_the_ends_of_a_scale_may_be_answered_and_nothing_beyond(ladder):
    bank = AdaptiveTest(ladder).items
    for response in (0, 1, 1.0, True):
        assert bank.read(3, response)[0, 3] == float(response)
    for response in (-1, 2, 0.5):
        with pytest.raises(InputError, match="needs a whole number from 0 to 1"):
            bank.read(3, response)
    for response in (np.nan, np.inf):
        with pytest.raises(InputError, match="Give a finite number"):
            bank.read(3, response)


def test_nodes_follow_from_the_best_items_that_a_respondent_can_meet(large, bank):
    """The longest test, not the whole bank, says how narrow a posterior becomes."""
    steep = bank(discrimination=np.full(90, 4.0), difficulty=np.linspace(-1, 1, 90))
    for items, longest in ((large, 2), (large, 200), (steep, 20), (steep, 90)):
        asked = adaptive_state.Bank(items, longest)
        probes = np.linspace(-10, 10, 121)
        told = np.sort(items.model.information(items.coords, probes), axis=0)[-longest:]
        most = items.model.surprise * told.sum(axis=0).max()
        narrowest = min(1 / np.sqrt(1 + most), 0.12)
        wanted = plan(narrowest, -10, 10, NormalPopulation().log_density, 2 * np.sqrt(told.max()))
        np.testing.assert_allclose(asked.nodes, wanted.fine)
        np.testing.assert_allclose(asked.log_prior, wanted.log_weights)


def test_terms_of_items_are_those_of_the_model_however_often_they_are_asked_for(large):
    bank = AdaptiveTest(large).items
    wanted = large.model.log_terms(large.coords, bank.nodes)
    for items in ([3, 5], [5, 3, 3], [0, 5]):
        found = bank.terms(np.array(items))
        np.testing.assert_allclose(found, np.moveaxis(wanted[:, items], 1, 0))


def test_a_share_counts_the_item_to_come(ladder):
    """Of shares 2 and 1, items one to three are the first group's, the second's, the first's."""
    groups = {name: "ab"[k % 2] for k, name in enumerate(ladder.item_names)}
    session = AdaptiveTest(
        ladder, selector=ContentBalance(groups, {"a": 2, "b": 1}), stopper=Budget(6)
    ).start()
    seen = []
    while (item := session.next_item()) is not None:
        session.answer(item, 1)
        seen.append(groups[item])
    assert "".join(seen) == "abaaba"
    with pytest.raises(InputError, match=r"`sigma` must be .*got -0\.5"):
        Reliability(sigma=-0.5)
