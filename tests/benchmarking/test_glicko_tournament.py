import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ogive as og
from ogive.benchmarking.glicko_tournament import Tournament, tournament
from ogive.errors import InputError
from ogive.results.plots.figure import Display
from ogive.stats.glicko2 import new_players, rate_period, round_robin


def table(n=5, m=8, seed=0, noise=0.5):
    random = np.random.default_rng(seed)
    values = noise * random.normal(size=(n, m)) + np.linspace(1, -1, n)[:, None]
    return pd.DataFrame(
        values, index=[f"model {k}" for k in range(n)], columns=[f"set {k}" for k in range(m)]
    )


def test_each_item_is_a_period_of_glicko2():
    scores = table()
    found, ratings = tournament(scores), new_players(5)
    for period, item in enumerate(scores.columns):
        ratings = rate_period(ratings, round_robin(scores[item]))
        np.testing.assert_array_equal(found.rating[period], ratings.rating)
        np.testing.assert_array_equal(found.deviation[period], ratings.deviation)
        np.testing.assert_array_equal(found.volatility[period], ratings.volatility)
    assert isinstance(found, Tournament)


def test_the_frame_has_the_best_first_with_its_range():
    frame = tournament(table()).to_frame()
    assert frame.index.name == "respondent"
    assert frame["rating"].is_monotonic_decreasing
    assert frame["rank"].tolist() == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(frame["low"], frame["rating"] - 2 * frame["deviation"])
    np.testing.assert_allclose(frame["high"], frame["rating"] + 2 * frame["deviation"])
    assert (frame[["won", "drawn", "lost"]].sum(axis=1) == 4 * 8).all()


def test_the_history_has_every_respondent_after_every_period():
    found = tournament(table())
    history = found.history()
    assert len(history) == 5 * 8
    assert history["item"].drop_duplicates().tolist() == list(found.items)
    last = history[history["period"] == 8].set_index("respondent")
    final = found.to_frame()
    for column in ("rating", "deviation", "volatility", "low", "high", "rank"):
        np.testing.assert_array_equal(last.loc[final.index, column], final[column])
    won = history.groupby("respondent")["won"].sum()
    np.testing.assert_array_equal(won[final.index], final["won"])
    first = history.set_index(["period", "respondent"])["score"]
    assert first[(1, "model 2")] == table().loc["model 2", "set 0"]


def test_the_strongest_of_simulated_respondents_lead():
    found = tournament(table(12, 40, noise=0.4))
    assert found.leader == "model 0"
    assert found.to_frame().index[-1] == "model 11"
    ranks = found.to_frame()["rank"]
    assert np.corrcoef([ranks[f"model {k}"] for k in range(12)], range(12))[0, 1] > 0.95


def test_items_are_played_in_the_order_of_a_list_and_only_those():
    found = tournament(table(), order=["set 3", "set 1"])
    assert found.items == ("set 3", "set 1")
    same = tournament(table()[["set 3", "set 1"]])
    np.testing.assert_array_equal(found.rating, same.rating)


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_items_are_played_by_rising_value(kind):
    value = kind({f"set {k}": float(-k) for k in range(8)} | {"another": 1.0})
    assert tournament(table(), order=value).items == tuple(f"set {k}" for k in range(7, -1, -1))


def test_the_order_given_is_the_default_and_equal_values_keep_it():
    wanted = tuple(table().columns)
    assert tournament(table()).items == wanted
    assert tournament(table(), order="given").items == wanted
    assert tournament(table(), order=dict.fromkeys(wanted, 1.0)).items == wanted


def test_the_order_matters_since_ratings_forget():
    scores = table(4, 20, noise=0.0)
    scores.iloc[:, 10:] = scores.iloc[::-1, 10:].to_numpy()  # the weak win the second half
    forth = tournament(scores)
    back = tournament(scores, order=list(scores.columns[::-1]))
    assert forth.leader == "model 3"
    assert back.leader == "model 0"


def test_scores_within_the_tolerance_draw():
    scores = pd.DataFrame({"a": [0.81, 0.80, 0.5]}, index=["x", "y", "z"])
    won = tournament(scores).to_frame()
    assert won.loc["x", ["won", "drawn", "lost"]].tolist() == [2, 0, 0]
    drawn = tournament(scores, tolerance=0.01).to_frame()
    assert drawn.loc["x", ["won", "drawn", "lost"]].tolist() == [1, 1, 0]
    assert drawn.loc["x", "rating"] == drawn.loc["y", "rating"]


def test_who_has_no_score_does_not_play_that_period():
    scores = table()
    scores.loc["model 1", "set 2"] = np.nan
    found = tournament(scores)
    assert found.rating[2, 1] == found.rating[1, 1]
    assert found.deviation[2, 1] > found.deviation[1, 1]
    assert found.to_frame().loc["model 1", ["won", "drawn", "lost"]].sum() == 4 * 7
    assert found.to_frame().loc["model 0", ["won", "drawn", "lost"]].sum() == 4 * 8 - 1


def test_who_never_plays_and_what_is_never_played_is_noted():
    scores = table()
    scores.loc["model 1"] = np.nan
    scores["set 2"] = np.nan
    found = tournament(scores)
    assert "no game" in found.notes[0]
    assert "model 1" in found.notes[0]
    assert "set 2" in found.notes[1]
    assert found.to_frame().loc["model 1", "rating"] == 1500
    assert all(note in repr(found) for note in found.notes)


def test_all_ties_leave_everybody_level():
    found = tournament(pd.DataFrame(np.ones((6, 9))))
    np.testing.assert_allclose(found.to_frame()["rating"], 1500, atol=1e-9)
    assert (found.to_frame()["rank"] == 1).all()
    assert "nobody leads" in found.meaning
    assert (found.history()["rank"] == 1).all()


def test_one_item_is_a_tournament():
    found = tournament(table(3, 1))
    assert len(found.history()) == 3
    assert found.plot(kind="ranks").ax_.has_data()


def test_artificial_respondents_are_no_rivals_of_the_leader():
    marks = pd.DataFrame([np.ones(3), np.zeros(3)], index=["optimal", "pessimal"])
    scores = pd.concat([table(4, 3, noise=0.0).set_axis(range(3), axis=1), marks])
    assert "from any of 3 rivals" in tournament(scores).meaning


@pytest.mark.slow
@pytest.mark.parametrize("n_items", [2, 4, 7, 20, 60])
def test_of_ten_equal_respondents_none_is_called_behind(n_items):
    """Ranges of Glicko-2 take games on one item as independent and separate equal ones."""
    random = np.random.default_rng(n_items)
    for n in (3, 10):
        tables = [random.normal(size=(n, n_items)) for _ in range(20)]
        assert sum(len(tournament(t).level_with_leader) < n - 1 for t in tables) <= 3


def test_the_start_can_be_chosen():
    found = tournament(table(), rating=1000, deviation=100, volatility=0.1, order=["set 0"])
    wanted = rate_period(new_players(5, 1000, 100, 0.1), round_robin(table()["set 0"]))
    np.testing.assert_array_equal(found.final.rating, wanted.rating)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_only_the_order_of_scores_counts(seed):
    scores = table(seed=seed)
    same = tournament(scores), tournament(np.exp(scores) * 7 - 3)
    np.testing.assert_array_equal(same[0].rating, same[1].rating)


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_order_of_respondents_does_not_matter(seed):
    scores = table(seed=seed)
    moved = scores.sample(frac=1, random_state=seed)
    first, second = tournament(scores).to_frame(), tournament(moved).to_frame()
    pd.testing.assert_frame_equal(first, second.loc[first.index], rtol=1e-9)


def test_frames_arrays_lists_and_responses_are_taken():
    values = table().to_numpy()
    wanted = tournament(values).rating
    for given_ in (values.tolist(), pd.DataFrame(values), og.Responses(values)):
        np.testing.assert_array_equal(tournament(given_).rating, wanted)
    whole = np.array([[-3, 2], [4, -5]])  # no grades, but scores may be negative
    assert tournament(whole).respondents == ("respondent_1", "respondent_2")


def test_it_shows_itself(tmp_path):
    found = tournament(table())
    assert isinstance(found.plot(), Display)
    assert isinstance(found.plot(kind="ranks"), Display)
    assert found.meaning in repr(found)
    assert found.meaning in found._repr_html_()
    assert found.save(tmp_path / "found.csv").read_text().count("\n") == 6
    assert "<img" in found.save(tmp_path / "found.html").read_text()
    with pytest.raises(InputError, match="one of: ratings, ranks"):
        found.plot(kind="pie")


def test_ratings_that_run_away_are_refused_with_what_helps():
    """All games on an item hang on one score; with many respondents, Glicko-2 diverges."""
    scores = table(150, 60, noise=1.0)
    with pytest.raises(InputError, match=r"ran away in period \d+.*smaller tau, such as 0\.05"):
        tournament(scores, tau=0.5)
    assert tournament(scores, tau=0.05).to_frame()["rating"].between(0, 3000).all()


def test_volatility_out_of_proportion_is_noted():
    scores = table(50, 60, seed=1, noise=0.3)
    assert "Try a smaller tau" in tournament(scores, tau=0.5).notes[0]
    assert not [note for note in tournament(scores, tau=0.1).notes if "tau" in note]


def test_defaults_work_on_tables_of_any_shape(subtests):
    rng = np.random.default_rng(0)
    for shape in [(80, 60), (5, 200), (200, 5), (2, 60), (132, 60)]:
        skill = rng.normal(size=(shape[0], 1)) + rng.normal(size=shape[1])
        scores = skill + 0.3 * rng.normal(size=shape)
        for name, values in {
            "scores": scores,
            "right or wrong": (scores > 0) * 1.0,
            "grades": np.round(scores),
        }.items():
            with subtests.test(shape=shape, values=name):
                found = tournament(values)
                assert found.volatility[-1].max() < 1
                assert found.to_frame()["rating"].between(-2000, 5000).all()
                assert not [note for note in found.notes if "Try a smaller" in note]
                lowered = any("instead of the usual 0.5" in note for note in found.notes)
                assert lowered == (found.tau < 0.5)


def test_the_usual_tau_stays_where_it_serves():
    scores = table(12, 7)
    assert tournament(scores).tau == 0.5
    assert not [note for note in tournament(scores).notes if "tau" in note]


def test_a_clear_order_of_many_respondents_does_not_run_away():
    found = tournament(table(150, 60, noise=0.0))
    assert found.to_frame().index.tolist() == [f"model {k}" for k in range(150)]


def test_wrong_scores_are_explained(subtests):
    cases = [
        (table(1), "at least two"),
        (table().rename(index={"model 1": "model 0"}), "names must differ.*'model 0'"),
        (table().rename(columns={"set 1": "set 0"}), "names must differ.*'set 0'"),
        (
            table().astype(object).mask(table() == table().iloc[1, 1], "high"),
            "'high', which is not a num",
        ),
        (table().replace(table().iloc[1, 1], np.inf), "'model 1' and item 'set 1' is infinite"),
        (table()[[]], "empty"),
        ("scores.csv", "not a path"),
    ]
    for scores, message in cases:
        with (
            subtests.test(scores=scores, message=message),
            pytest.raises(InputError, match=message),
        ):
            tournament(scores)


def test_wrong_orders_are_explained(subtests):
    cases = [
        (["set 0", "sett 1"], "'sett 1', which is not an item.*Did you mean 'set 1'"),
        (["set 0", "set 0"], "'set 0' more than once"),
        ([], "order is empty"),
        ("difficulty", r"order=frame\['difficulty'\]"),
        ({"set 0": 1.0}, r"no value for 7 items \(set 1"),
        ({"zet": 1.0}, "'zet', which is not an item"),
        ({f"set {k}": "hard" for k in range(8)}, "numbers"),
        ({f"set {k}": np.nan for k in range(8)}, "NaN for 8 items"),
        (pd.Series(1.0, index=["set 0"] * 9), "more than one value"),
    ]
    for order, message in cases:
        with subtests.test(order=order, message=message), pytest.raises(InputError, match=message):
            tournament(table(), order=order)


@pytest.mark.parametrize("tolerance", [-0.1, np.nan, np.inf])
def test_the_tolerance_is_zero_or_above(tolerance):
    with pytest.raises(InputError, match=r"`tolerance` must be"):
        tournament(table(), tolerance=tolerance)


@pytest.mark.parametrize(
    "first", ["import ogive._studies", "import ogive.benchmarking.glicko_tournament", "pass"]
)
def test_the_function_is_not_hidden_by_its_module_and_nothing_heavy_is_loaded(first):
    code = (
        f"{first}\nimport sys\nfrom ogive._studies import tournament\n"
        "assert callable(tournament)\n"
        "assert 'matplotlib' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_published_scores_of_classifiers_put_optimal_above_pessimal(shared):
    folder = shared / "data/decodirt/benchmarking"
    columns = {
        path.parent.name: pd.read_csv(path).set_index("Clf")["Score"]
        for path in sorted(folder.glob("*/score_disPositivo.csv"))
    }
    frame = tournament(pd.DataFrame(columns)).to_frame()
    assert frame.shape[0] == 19
    assert frame.loc["otimo", "rank"] < frame.loc["pessimo", "rank"]
