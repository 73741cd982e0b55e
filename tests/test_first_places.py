"""One check of links and ties below all studies: whoever names a winner asks it."""

import numpy as np
import pandas as pd
import pytest

import ogive as og
from ogive.errors import InputError
from ogive.stats.pairwise_tests import first_places

TIE = og.Responses([[1, 0], [0, 1]], respondents=["m1", "m2"])
WINNER = ("is strongest", "m1 leads", "m2 leads", "m1 has", "m2 has")


def unlinked(sizes=((6, 20), (5, 15)), seed=0):
    """Responses of groups of models that share no items; all follow a 2PL."""
    n, m = np.sum(sizes, axis=0)
    values, row, column = np.full((n, m), np.nan), 0, 0
    for k, (rows, columns) in enumerate(sizes):
        drawn = og.simulate("2pl", rows, columns, random_state=seed + k).responses
        values[row : row + rows, column : column + columns] = drawn.cells
        row, column = row + rows, column + columns
    return og.Responses(values, respondents=[f"m{k}" for k in range(n)])


def test_all_that_share_the_highest_value_are_first():
    assert first_places(np.array([0.1 + 0.2, 0.3, 0.2])).tolist() == [0, 1]
    assert first_places(np.array([np.nan, 1.0])).tolist() == [1]
    assert first_places(np.array([np.nan])).size == 0


@pytest.fixture(scope="module")
def twins():
    """Two models with equally many right on the same items, and three weaker ones."""
    first = (np.random.default_rng(0).random(40) < 0.7) * 1.0
    weak = first * (np.random.default_rng(1).random((3, 40)) < 0.3)
    values = np.vstack([first, first[::-1], weak])
    return og.Responses(values, respondents=["m1", "m2", "c", "d", "e"])


def battles():
    """m1 and m2 win three battles each against each other, and all against c."""
    rows = [("m1", "m2", w) for w in ("m1", "m2") * 3]
    rows += [(one, "c", one) for one in ("m1", "m2")] * 4
    return pd.DataFrame(rows, columns=["model_a", "model_b", "winner"])


def test_a_tie_is_won_by_nobody(twins, subtests):
    found = {
        "report, 2 × 2": lambda: og.calibrate(TIE),
        "leaderboard, 2 × 2": lambda: og.leaderboard(TIE),
        "tournament, 2 × 2": lambda: og.tournament(TIE),
        "compare, 2 × 2": lambda: og.calibrate(TIE).compare("m1", "m2"),
        "report": lambda: og.calibrate(twins, "1pl"),
        "leaderboard": lambda: og.leaderboard(twins),
        "tournament": lambda: og.tournament(twins),
        "ranks": lambda: og.compare_ranks(twins),
        "preferences": lambda: og.preferences(battles()),
    }
    for name, find in found.items():
        with subtests.test(name):
            said = find().meaning
            assert not [word for word in WINNER if word in said.split(";")[0]], said
            assert "m1" in said or "nobody" in said


def test_all_that_share_the_first_place_of_a_tournament_have_rank_one(subtests):
    for seed in (0, 12, 281):
        random = np.random.default_rng(seed)
        scores = (random.random((10, 8)) + random.normal(0, 0.3, (10, 1))).round(1)
        found = og.tournament(pd.DataFrame(scores, index=[f"m{k}" for k in range(10)]))
        frame, periods = found.to_frame(), found.history()
        last = periods[periods["period"] == 8].set_index("respondent")["rank"]
        with subtests.test(seed):
            assert len(found.leaders) > 1
            for rank in (frame["rank"], last):
                assert set(rank.index[rank == 1]) == set(found.leaders)
                assert (rank > 1).sum() == (rank > len(found.leaders)).sum()
            assert set(frame.index[: len(found.leaders)]) == set(found.leaders)


def _rated():
    """m1 and m2 get equal scores on mirrored items, c lower ones; one judge is strict."""
    middle = np.abs(np.arange(40) - 19.5)
    good, low = np.random.default_rng(0).random(40) < 0.8, middle < 6
    rows = [
        (name, item, judge, int(scores[item] and (judge == "kind" or middle[item] > 3)))
        for name, scores in {"m1": good, "m2": good[::-1], "c": low}.items()
        for item in range(40)
        for judge in ("kind", "strict")
    ]
    return pd.DataFrame(rows, columns=["model", "item", "judge", "score"])


def _judged():
    """m1 and m2 are judged alike, by a judge and by people."""
    right = (np.random.default_rng(0).random((3, 60)) < [[0.8], [0.8], [0.3]]) * 1.0
    right[1] = right[0]
    human = np.where(np.arange(60) < 30, right, np.nan)
    return [og.Responses(each, respondents=["m1", "m2", "c"]) for each in (right, human)]


def _runs():
    """m1 and m2 reach the same on mirrored problems, c and d less."""
    random = np.random.default_rng(0)
    good = 1 / (1 + np.exp(-(np.linspace(-2, 2, 40) + random.normal(0, 0.3, 40))))
    noisy = np.clip(good * 0.6 + random.normal(0, 0.05, 40), 0.01, 0.99)
    return pd.DataFrame({"m1": good, "m2": good[::-1], "c": noisy, "d": noisy[::-1] * 0.9})


def _regressors():
    from sklearn.dummy import DummyRegressor
    from sklearn.linear_model import Ridge

    pool = {"ridge": Ridge(), "stiff": Ridge(1000), "median": DummyRegressor(strategy="median")}
    models = {"m1": Ridge(), "m2": Ridge(), "mean": DummyRegressor()}
    return og.compare_regressors("sklearn:diabetes", models, pool, progress=False)


@pytest.mark.parametrize(
    ("study", "who"),
    [
        (lambda twins: og.decode_responses({"one": twins}, model="1pl"), "m1 and m2 share the"),
        (lambda _: og.portfolio(_runs(), bounds=(0, 1)), "m1 and m2 share the first place"),
        (lambda _: og.facets(_rated()), "m1 and m2 share the highest mean score"),
        (lambda _: og.correct_judge(*_judged()), "m1 and m2 share the highest accuracy"),
        pytest.param(
            lambda _: _regressors(),
            "m1 and m2 share the highest mean score",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["decode", "portfolio", "facets", "judge", "regressors"],
)
def test_a_tie_is_never_won(study, who, twins):
    said = study(twins).meaning
    assert who in said
    assert not [winner for winner in ("m1 has the highest", "m2 has the highest") if winner in said]


def test_both_of_a_tie_are_named(twins, subtests):
    for said in (
        og.calibrate(TIE).meaning,
        og.calibrate(twins, "1pl").meaning,
        og.leaderboard(TIE).meaning,
        og.leaderboard(twins).meaning,
        og.tournament(twins).meaning,
        og.compare_ranks(twins).meaning,
    ):
        with subtests.test(said):
            assert "m1 and m2 share" in said


def test_a_clear_winner_is_still_named(twins):
    values = twins.to_frame().to_numpy(copy=True)
    values[0] = 1.0
    clear = og.Responses(values, respondents=twins.respondents)
    assert og.leaderboard(clear).meaning.startswith("m1 has the highest accuracy")
    assert og.calibrate(clear, "1pl").meaning.startswith("m1 is strongest by ability")
    assert ", m1 leads with a rating" in og.tournament(clear).meaning


def test_unlinked_parts_have_scales_of_their_own():
    table = unlinked()
    found = og.calibrate(table, "2pl")
    assert found.meaning.startswith("In the largest of 2 parts that no item links, m")
    assert "stand on 2 scales" in found.meaning
    assert any("No item links 2 parts of this table" in note for note in found.notes)
    assert found.abilities()["part"].tolist() == [1] * 6 + [2] * 5
    assert found.items["part"].tolist() == [1] * 20 + [2] * 15
    assert {f"m{k}" for k in range(6, 11)}.isdisjoint(found.plot().frame["name"])


def test_who_is_not_linked_is_not_compared():
    found = og.calibrate(unlinked(), "2pl")
    apart = found.compare("m0", "m7")
    assert "cannot be compared: no item links them" in apart.meaning
    assert (
        apart.to_frame()[["difference", "se", "p", "p_adjusted", "p_above"]].isna().all(axis=None)
    )
    every = found.compare()
    assert "of 25 pairs" in every.meaning
    assert "30 pairs cannot be compared" in every.meaning
    later = found.compare(responses=unlinked())  # new respondents stand where their items do
    assert int(later.to_frame()["difference"].isna().sum()) == 30


def test_each_part_points_upwards():
    """A scale of parts has a sign for each, and all responses together fix one of them only."""
    for seed in range(4):
        table = unlinked(((40, 30), (40, 30)), seed)
        found = og.calibrate(table, "2pl")
        right = np.nanmean(table.to_frame().to_numpy(dtype=float), axis=1)
        for part, rows in found.abilities().assign(right=right).groupby("part"):
            assert rows["ability"].corr(rows["right"]) > 0.9, (seed, part)


def test_a_bank_links_whoever_was_asked_its_items():
    bank = og.calibrate(og.simulate("2pl", 200, 35, random_state=5).responses, "2pl")
    values = unlinked().to_frame().to_numpy()
    both = og.calibrate(og.Responses(values, items=bank.item_names), fixed=bank)
    assert "part" not in both.abilities()
    some = bank.of_items(bank.item_names[20:])  # the bank is the second part
    names = [*(f"new_{k}" for k in range(20)), *bank.item_names[20:]]
    one = og.calibrate(og.Responses(values, items=names), fixed=some)
    assert one.abilities()["part"].tolist() == [2] * 6 + [1] * 5


def test_boards_and_tournaments_rank_within_parts():
    table = unlinked()
    board, played = og.leaderboard(table), og.tournament(table)
    assert "boards that no item links" in board.meaning
    assert "of 2 parts that no game links" in played.meaning
    for frame, column in ((board.to_frame(), "board"), (played.to_frame(), "part")):
        assert (frame.groupby(column)["rank"].min() == 1).all()
        assert frame[column].is_monotonic_increasing
    between = board.pairs[board.pairs["verdict"] == "no shared items"]
    assert between["ability_difference"].isna().all()
    assert set(played.plot().frame.index) == {f"m{k}" for k in range(6)}


def test_scores_on_all_items_are_not_predicted_across_parts():
    table = unlinked(((30, 20), (30, 20)))
    for find in (lambda: og.shorten(table, 5), lambda: og.replay_adaptively(table, sizes=[5])):
        with pytest.raises(InputError, match="No item links 2 parts of the table"):
            find()
    health = og.item_health(table)
    assert any("No item links 2 parts" in note for note in health.notes)
    assert health.saturation.loc["all items", "share_answered"] > 0


def test_marks_win_nothing(subtests):
    """The oracle of the paper's pool stands above all, and leads nowhere."""
    real = og.simulate("2pl", 6, 40, random_state=3).responses.to_frame()
    marks = {"optimal": 1.0, "pessimal": 0.0, "random 1": 0.5}
    scores = pd.concat(
        [real, pd.DataFrame({k: [v] * 40 for k, v in marks.items()}, real.columns).T]
    )
    scores.loc["random 1"] = np.arange(40) % 2
    table = og.Responses.from_frame(scores)
    played, ranked = og.tournament(table), og.compare_ranks(table)
    board, found = og.leaderboard(table), og.calibrate(table)
    for result in (played, ranked, board):
        with subtests.test(type(result).__name__):
            assert "optimal" not in result.meaning
            assert any("3 artificial respondents (optimal" in note for note in result.notes)
    assert "optimal" not in found.meaning
    assert played.leader.startswith("respondent_")
    frame = played.to_frame()
    assert set(frame.index[6:]) == set(marks)  # below all rivals, and without a rank
    assert played.plot().ax_.get_yticklabels()[0].get_text() == played.leader
    assert frame["rank"].isna().tolist() == frame["artificial"].tolist()
    assert frame["rank"].dropna().tolist() == [1, 2, 3, 4, 5, 6]
    assert set(played.plot("ranks").frame["respondent"]) == set(real.index)
    assert set(board.respondents) == set(ranked.respondents) == set(real.index)


def test_a_model_that_is_called_majority_is_a_rival():
    scores = np.vstack([np.ones(9), np.tile([1.0, 0.0, 0.0], 3)])
    table = og.Responses(scores, respondents=["majority", "tree"])
    assert og.leaderboard(table).respondents == ("majority", "tree")
    assert og.tournament(table).leader == "majority"


def test_few_games_are_said_to_distinguish_nobody():
    scores = np.arange(12.0)[:, None] + np.zeros((12, 7))
    assert (
        "the 7 games between two, taken alone, are too few to distinguish it from any of 11 riv"
        in (og.tournament(scores).meaning)
    )
    many = np.arange(4.0)[:, None] + np.zeros((4, 12))
    assert "won significantly more of its games" in og.tournament(many).meaning
