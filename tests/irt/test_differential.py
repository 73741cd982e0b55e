"""Items that behave differently in groups, and groups that merely differ in ability."""

from functools import cache

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive import differential, simulate
from ogive.errors import InputError

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
        ({"alpha": 2}, "alpha is 2, but it must be a number between 0 and 1"),
        ({"correction": "none"}, "correction is 'none', but it should be one of: bh, by, holm"),
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
