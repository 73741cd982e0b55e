"""Items that behave differently in groups, and groups that merely differ in ability."""

from functools import cache
from math import log, sqrt

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import ogive as og
from ogive import differential, simulate
from ogive.errors import InputError
from ogive.irt.differential import common_odds

BASE, TUNED = "base", "tuned"


def groups_of(*sizes, names=(BASE, TUNED, "large")):
    return [name for name, n in zip(names, sizes, strict=False) for _ in range(n)]


def drawn(
    sizes=(400, 400),
    n_items=20,
    ahead=1.0,
    planted=(),
    size=1.0,
    model="2pl",
    seed=0,
    *,
    skewed=False,
    missing=0.0,
):
    """Responses of groups, each `ahead` of the one before; the last finds `planted` easier."""
    random = np.random.default_rng(seed)
    items = simulate(model, 2, n_items, random_state=seed).truth.items
    parts = []
    for k, n in enumerate(sizes):
        if k == len(sizes) - 1:
            items = items.copy()
            items.loc[list(planted), "difficulty"] -= size
        ability = k * ahead + (random.exponential(1.0, n) - 1 if skewed else random.normal(size=n))
        part = simulate(model, items=items, abilities=ability, random_state=100 * seed + k)
        parts.append(part.responses.values)
    values = np.concatenate(parts)
    return np.where(random.random(values.shape) < missing, np.nan, values) if missing else values


@cache
def planted():
    return differential(
        drawn(planted=("item_3", "item_9"), size=1.2), groups_of(400, 400), progress=False
    )


def test_items_that_differ_are_found_though_the_groups_differ_in_ability():
    found = planted()
    assert set(found.differing) == {"item_3", "item_9"}
    frame = found.to_frame()
    assert not frame.loc[["item_3", "item_9"], "anchor"].any()
    assert (frame.loc[["item_3", "item_9"], "difference"] > 0.1).all()
    apart = found.populations["mean"].diff().iloc[1] / found.populations["sd"].iloc[0]
    assert apart == pytest.approx(1.0, abs=0.25)


def test_sizes_are_those_of_the_truth_within_their_errors():
    row = planted().to_frame().loc["item_3"]
    unit = planted().calibration.items  # abilities are in sd of everybody: 1.12 of the drawn ones
    assert np.isfinite(unit["difficulty"]).all()
    wanted = -1.2 / 1.12
    assert abs(row["difficulty_difference"] - wanted) < 3 * row["difficulty_difference_se"]
    assert abs(row["signed_area"] - wanted) < 3 * row["signed_area_se"]
    assert row["unsigned_area"] >= abs(row["signed_area"]) - 1e-9
    assert row["unsigned_difference"] >= abs(row["difference"]) - 0.02
    assert row["low"] < row["difference"] < row["high"]
    assert row["ets"] == "C"
    assert row["mh_delta"] > 1.5


@pytest.mark.parametrize(
    ("sizes", "ahead", "model"),
    [((400, 400), 0.0, "2pl"), ((400, 400), 1.0, "2pl"), ((170, 30), 1.0, "2pl"),
     ((20, 20), 1.0, "2pl"), ((500, 500), 1.0, "3pl")],
)  # fmt: skip
def test_nothing_is_called_different_where_only_ability_differs(sizes, ahead, model):
    table = drawn(sizes, 30, ahead, model=model, seed=1)
    found = differential(table, groups_of(*sizes), model="2pl", progress=False)
    assert found.differing == ()
    assert "none of the 30 items differs between base and tuned" in found.meaning


@pytest.mark.slow
def test_false_alarms_and_power_over_many_tables():
    """At most 5 % of the items that do not differ are called different; most of the others are."""
    cases = {
        "equal": (0.0, (500, 500), {}),
        "ahead": (1.0, (500, 500), {}),
        "unequal": (1.0, (170, 30), {}),
        "few": (1.0, (20, 20), {}),
        "fewer": (1.0, (15, 15), {}),
        "guessing": (1.0, (1000, 1000), {"model": "3pl"}),
        "three groups": (0.5, (400, 300, 300), {}),
        "gaps": (1.0, (400, 400), {"missing": 0.3}),
        "skewed": (1.0, (400, 400), {"skewed": True}),
    }
    names = [f"item_{k}" for k in range(1, 5)]
    for case, (ahead, sizes, more) in cases.items():
        false, hits = [], []
        for seed in range(20):
            planted = names if seed % 2 else ()
            table = drawn(sizes, 40, ahead, planted, 0.8, seed=seed, **more)
            found = differential(table, groups_of(*sizes), model="2pl", progress=False)
            called = found.to_frame()["differs"]
            false.append(called.drop(names).mean())
            if seed % 2:
                hits.append(called[names].mean())
        assert np.mean(false) <= 0.05, case
        if min(sizes) >= 500:
            assert np.mean(hits) >= 0.5, case


@pytest.mark.slow
@pytest.mark.parametrize("board", ["arc_2pl", "mmlu_3pl", "winogrande"])
def test_better_models_are_no_difference_on_real_boards(shared, board):
    path = shared / "data" / "llm" / f"metabench_{board}_responses.csv.gz"
    table = og.read_responses(path)
    score = table.to_frame().to_numpy().mean(axis=1)
    z = (score - score.mean()) / score.std()
    shares = []
    for seed in range(3):
        better = np.random.default_rng(seed).random(len(z)) < 1 / (1 + np.exp(-1.5 * z))
        found = differential(table, np.where(better, "better", "other"), progress=False)
        shares.append(found.to_frame()["differs"].mean())
    assert np.mean(shares) <= 0.05


def test_three_groups_are_compared_with_the_reference():
    table = drawn((300, 200, 200), 15, 0.5, ("item_2",), 1.5)
    found = differential(table, groups_of(300, 200, 200), progress=False)
    assert found.reference == BASE
    frame = found.to_frame()
    assert list(frame.loc["item_2", "group"]) == [TUNED, "large"]
    assert list(frame.loc["item_2", "differs"]) == [False, True]
    assert found.differing[0] == "item_2"  # one in twenty of those found may be false
    assert "base and tuned or large" in found.meaning


def test_the_reference_can_be_chosen_and_turns_the_sign():
    table = drawn(planted=("item_3",), size=1.2)
    found = differential(table, groups_of(400, 400), reference=TUNED, progress=False)
    assert found.reference == TUNED
    assert found.to_frame().loc["item_3", "difference"] < -0.1


def test_named_anchors_are_trusted():
    table = drawn(planted=("item_3",), size=1.2)
    names = [f"item_{k}" for k in range(10, 21)]
    found = differential(table, groups_of(400, 400), anchors=names, progress=False)
    assert list(found.to_frame().index[found.to_frame()["anchor"]]) == names
    assert "item_3" in found.differing


def test_groups_may_be_a_fact_a_mapping_or_a_list():
    values, groups = drawn((60, 60), 8), groups_of(60, 60)
    table = og.Responses(values)
    named = dict(zip(table.respondents, groups, strict=True))
    wanted = differential(table, groups, progress=False).to_frame()
    for given, described in (
        ("kind", table.described(respondents={"kind": groups})),
        (named, table),
        (pd.Series(named), table),
    ):
        pd.testing.assert_frame_equal(
            differential(described, given, progress=False).to_frame(), wanted
        )


def test_grades_are_compared():
    items = simulate("graded", 2, 12, random_state=1).truth.items
    first = simulate("graded", 300, items=items, random_state=2).responses.to_frame().to_numpy()
    second = simulate("graded", 300, items=items, random_state=3).responses.to_frame()
    second = second.to_numpy(copy=True)
    second[:, 4] = np.minimum(second[:, 4] + 1, np.nanmax(first[:, 4]))
    found = differential(np.concatenate([first, second]), groups_of(300, 300), progress=False)
    assert found.differing == ("item_5",)
    assert found.to_frame()["mh_delta"].isna().all()


def test_cells_that_were_never_asked_are_no_obstacle():
    table = drawn(planted=("item_3",), size=1.5)
    table[np.random.default_rng(0).random(table.shape) < 0.3] = np.nan
    found = differential(table, groups_of(400, 400), progress=False)
    assert found.differing == ("item_3",)


def test_items_that_cannot_be_compared_are_left_out_and_named():
    table = drawn((100, 100), 10)
    table[:100, 0], table[:, 1] = np.nan, 1.0
    found = differential(table, groups_of(100, 100), progress=False)
    assert list(found.to_frame().index) == [f"item_{k}" for k in range(3, 11)]
    assert "base has no response to 1 item (item_1): left out." in found.notes
    assert "Everybody answered 1 item (item_2) alike: left out." in found.notes


def test_items_that_better_respondents_answer_worse_are_left_out_and_named():
    table = drawn((200, 200), 12)
    table[:, 3] = 1 - table[:, 3]
    found = differential(table, groups_of(200, 200), progress=False)
    assert "item_4" not in found.to_frame().index
    assert any("1 item (item_4) left out: better respondents" in note for note in found.notes)


def test_wrong_groups_are_refused(subtests):
    table = og.Responses(drawn((10, 10), 6))
    names = table.respondents
    cases = [
        (["a"] * 19 + ["b"], "'b' has 1"),
        (["a"] * 20, "two groups or more, got .a. for all 20"),
        (["a"] * 10 + [None] * 10, "groups gives no group to 10 respondents"),
        ([0.0] * 10 + [float("nan")] * 10, "groups gives no group to 10 respondents"),
        (["a", "b"], "2 values, but there are 20 respondents"),
        ({**dict.fromkeys(names, "a"), "nobody": "b"}, r"names 1 respondent \(nobody\) not in"),
        ({"nobody": "b"}, r"names 1 respondent \(nobody\) not in the table"),
        (dict.fromkeys(names[:10], "a"), "groups gives no group to 10 respondents"),
        ("size", "There is no fact 'size' of respondents"),
        (None, "`groups` must be the name of a fact .*, got None"),
        (3, "got 3"),
    ]
    for groups, message in cases:
        with subtests.test(message=message), pytest.raises(InputError, match=message):
            differential(table, groups, progress=False)


def test_wrong_arguments_are_refused(subtests):
    table, groups = drawn((10, 10), 6), groups_of(10, 10)
    cases = [
        ({"reference": "small"}, "must be one of base, tuned, got 'small'"),
        ({"alpha": 2}, "`alpha` must be a number between 0 and 1.*got 2"),
        ({"correction": "none"}, "`correction` must be one of: bh, by, holm.*got 'none'"),
        ({"anchors": ["item_1", "item_77"]}, "must be two or more of"),
        ({"anchors": "item_1"}, "must be two or more of"),
    ]
    for change, message in cases:
        with subtests.test(change=change), pytest.raises(InputError, match=message):
            differential(table, groups, progress=False, **change)
    with pytest.raises(InputError, match="differential needs right or wrong, or grades"):
        differential(np.random.default_rng(0).random((20, 6)), groups, progress=False)
    with pytest.raises(InputError, match="2 items can be compared"):
        differential(table[:, :2], groups, progress=False)


def test_few_respondents_and_few_anchors_are_said():
    notes = " ".join(differential(drawn((20, 20), 8), groups_of(20, 20), progress=False).notes)
    assert "2 groups (base, tuned) with fewer than 100 respondents" in notes
    assert "8 anchors only" in notes


def test_figures_tables_and_sentences_come_along(tmp_path):
    found = planted()
    assert list(found.figures()) == ["differential", "group_curves"]
    assert found.plot().ax_.get_ylabel() == "difference at the same ability"
    assert found.plot("group_curves").ax_.get_xlabel() == "ability"
    assert set(found.tables()) == {"differential", "populations", "curves"}
    assert set(found.tables()["curves"]["item"]) == {"item_3", "item_9"}
    assert "2 of 20 items differ between base and tuned (false discovery rate 5%)" in found.meaning
    assert "standard deviations above that of base" in found.meaning
    found.save(tmp_path / "found.html")


def test_the_same_responses_give_the_same_result():
    table = drawn((60, 60), 8)
    first, second = (
        differential(table, groups_of(60, 60), progress=False).to_frame() for _ in range(2)
    )
    pd.testing.assert_frame_equal(first, second)


TABLES = ((20, 10, 12, 18), (15, 5, 10, 10))


def answers(tables=TABLES):
    right, second, strata = [], [], []
    for stratum, (a, b, c, d) in enumerate(tables):
        right += [1] * a + [0] * b + [1] * c + [0] * d
        second += [False] * (a + b) + [True] * (c + d)
        strata += [stratum] * (a + b + c + d)
    return np.array(right), np.array(second), np.array(strata)


def test_ratio_statistic_and_delta_are_those_computed_by_hand():
    found = common_odds(*answers())
    # sum of a d / n over sum of b c / n: (6 + 3.75) / (2 + 1.25) = 3
    assert found.log_ratio == pytest.approx(log(3))
    assert found.delta == pytest.approx(-2.35 * log(3))
    # a - E(a): 20 - 16 and 15 - 12.5; variances 30·30·32·28 / (60²·59) and 20·20·25·15 / (40²·39)
    variance = 30 * 30 * 32 * 28 / (60**2 * 59) + 20 * 20 * 25 * 15 / (40**2 * 39)
    assert found.statistic == pytest.approx((6.5 - 0.5) ** 2 / variance)
    assert found.p == pytest.approx(chi2(1).sf(found.statistic))
    assert found.delta_se == pytest.approx(2.35 * found.log_ratio_se)


def test_the_error_in_one_stratum_is_that_of_a_log_odds_ratio():
    found = common_odds(*answers(TABLES[:1]))
    assert found.log_ratio_se == pytest.approx(sqrt(1 / 20 + 1 / 10 + 1 / 12 + 1 / 18))


def test_strata_in_which_nobody_can_be_compared_say_nothing():
    more = common_odds(*answers((*TABLES, (7, 3, 0, 0), (4, 0, 5, 0))))
    assert more == common_odds(*answers())


def test_without_a_comparison_everything_is_unknown():
    found = common_odds(*answers(((5, 0, 5, 0),)))
    assert np.isnan([found.log_ratio, found.log_ratio_se, found.statistic, found.p]).all()


def test_errors_are_the_spread_over_samples():
    random, found = np.random.default_rng(0), []
    strata = np.repeat(np.arange(5), 60)
    second = np.tile([False, True], 150)
    for _ in range(300):
        chance = 1 / (1 + np.exp(-(strata / 2 - 1 - 0.8 * second)))
        found.append(common_odds(random.random(300) < chance, second, strata))
    ratios = [each.log_ratio for each in found]
    assert np.mean(ratios) == pytest.approx(0.8, abs=0.05)
    assert np.std(ratios) == pytest.approx(np.mean([f.log_ratio_se for f in found]), rel=0.12)


def test_the_error_over_strata_is_that_of_robins_breslow_and_greenland_by_hand():
    # P = (a + d) / n: 38/60, 25/40; Q = 22/60, 15/40; R = a d / n: 6, 3.75; S = b c / n: 2, 1.25.
    same = (38 / 60 * 6 + 25 / 40 * 3.75) / (2 * 9.75**2)
    mixed = 38 / 60 * 2 + 22 / 60 * 6 + 25 / 40 * 1.25 + 15 / 40 * 3.75
    other = (22 / 60 * 2 + 15 / 40 * 1.25) / (2 * 3.25**2)
    found = common_odds(*answers())
    assert found.log_ratio_se == pytest.approx(sqrt(same + mixed / (2 * 9.75 * 3.25) + other))


def test_a_stratum_counts_where_both_groups_and_both_outcomes_are_there(subtests):
    useless = {"first": (0, 0, 3, 4), "second": (3, 4, 0, 0), "wrong": (0, 3, 0, 4)}
    for absent, table in {**useless, "right": (3, 0, 4, 0)}.items():
        with subtests.test(absent=absent):
            assert common_odds(*answers((TABLES[0], table))) == common_odds(*answers(TABLES[:1]))
    assert common_odds(*answers((TABLES[0], (1, 0, 0, 1)))) != common_odds(*answers(TABLES[:1]))


def test_odds_of_none_or_of_all_are_unknown():
    for table in ((5, 0, 3, 2), (3, 2, 5, 0), (5, 0, 0, 5)):
        assert np.isnan(common_odds(*answers((table,))).log_ratio)
    nobody = np.array([], dtype=int)
    assert np.isnan(common_odds(nobody, nobody.astype(bool), nobody).p)


def test_a_difference_less_than_the_correction_is_none():
    found = common_odds(*answers(((5, 5, 5, 5), (6, 5, 5, 5))))
    assert found.statistic == 0.0
    assert found.p == 1.0
