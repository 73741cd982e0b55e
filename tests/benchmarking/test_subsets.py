import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau, spearmanr

import ogive as og
from ogive.benchmarking.subsets import SubsetComparison
from ogive.errors import InputError
from ogive.results.plots.figure import Display

NAMES = ["optimal", "SVM", "MLP", "tree", "majority", "pessimal"]


def table(names=NAMES, m=9, seed=0, noise=0.3):
    random = np.random.default_rng(seed)
    values = noise * random.normal(size=(len(names), m)) - np.arange(len(names))[:, None]
    return pd.DataFrame(values, index=names, columns=[f"set {k}" for k in range(m)])


def parameters(m=9):
    """Difficulty rises and discrimination falls with the number of the set."""
    rise = np.arange(m, dtype=float)
    columns = {
        "difficulty_mean": rise,
        "discrimination_mean": -rise,
        "difficulty_sd": 1 + rise,
        "discrimination_sd": 100 - rise,
    }
    return pd.DataFrame(columns, index=pd.Index([f"set {k}" for k in range(m)], name="dataset"))


def sets(numbers):
    return tuple(f"set {k}" for k in numbers)


def test_the_six_orders_are_those_of_the_paper():
    found = og.compare_subsets(table(), parameters().sample(frac=1, random_state=0))
    assert isinstance(found, SubsetComparison)
    assert dict(zip(found.orders, found.datasets, strict=True)) == {
        "by difficulty": sets(range(9)),
        "by discrimination": sets(range(8, -1, -1)),
        "even difficulty": sets(range(5)),
        "mixed difficulty": sets(range(4, 9)),
        "even discrimination": sets(range(8, 3, -1)),
        "mixed discrimination": sets(range(4, -1, -1)),
    }


def test_by_difficulty_is_by_falling_chance_where_chances_are_known():
    chances = parameters().assign(chance=[0.5, 0.9, 0.1, 0.8, 0.2, 0.7, 0.3, 0.6, 0.4])
    found = og.compare_subsets(table(), chances)
    assert found.datasets[0] == sets([1, 3, 5, 7, 0, 8, 6, 4, 2])
    assert found.to_frame()["sorted_by"].tolist()[:2] == ["chance", "discrimination_mean"]


def test_each_order_is_a_tournament_of_its_own():
    found = og.compare_subsets(table(noise=2), parameters(), tolerance=0.1, tau=0.4)
    for order, names in zip(found.orders, found.datasets, strict=True):
        played = og.tournament(table(noise=2), order=list(names), tolerance=0.1, tau=0.4)
        frame = played.to_frame().loc[found.ratings.index]
        np.testing.assert_array_equal(found.ratings[order], frame["rating"])
        np.testing.assert_array_equal(found.deviations[order], frame["deviation"])
        rivals = frame["rank"].dropna()
        np.testing.assert_array_equal(found.ranks[order].loc[rivals.index], rivals)
        assert "optimal" not in found.ranks.index
        low, high = frame["low"].to_numpy(), frame["high"].to_numpy()
        apart = sum(low[i] > high[j] for i in range(6) for j in range(6)) / 15
        assert found.to_frame().loc[order, "share_apart"] == pytest.approx(apart)


def test_the_reference_is_the_share_of_points_on_all_data_sets():
    scores = table(["a", "b", "c", "d", "e"], noise=3)
    found = og.compare_subsets(scores, parameters())
    share = (scores.rank().sub(1) / 4).mean(axis=1)
    np.testing.assert_allclose(found.points, share)
    for k, order in enumerate(found.orders):
        rating = found.ratings[order][scores.index]
        assert found.kendall[k] == pytest.approx(kendalltau(rating, share).statistic)
        assert found.spearman[k] == pytest.approx(spearmanr(rating, share).statistic)
    assert found.ranks.columns[0] == "share of points"
    assert found.ranks["share of points"].is_monotonic_increasing


def test_artificial_respondents_count_by_their_places_only():
    found = og.compare_subsets(table(), parameters())
    frame = found.to_frame()
    assert frame["artificial_in_place"].all()
    assert (frame["misplaced"] == "").all()
    assert found.notes == (
        "Not counted in the agreement: 3 artificial respondents (optimal, majority, pessimal).",
    )
    scores = table(noise=0.0)
    scores.loc["optimal", sets(range(5, 9))] = -9.0  # the hardest sets punish the best
    frame = og.compare_subsets(scores, parameters()).to_frame()
    assert frame.loc["mixed difficulty", "misplaced"] == "optimal, pessimal"
    assert frame.loc["even difficulty", "artificial_in_place"]
    assert (frame["kendall"] == 1).all()


def test_without_artificial_respondents_their_places_are_unknown():
    frame = og.compare_subsets(table(list("abcd")), parameters()).to_frame()
    assert frame["artificial_in_place"].isna().all()
    assert frame["misplaced"].isna().all()


def test_two_data_sets_and_missing_scores_are_enough_to_play():
    scores = table(m=2)
    scores.iloc[1, 0] = np.nan
    found = og.compare_subsets(scores, parameters(2))
    assert [len(names) for names in found.datasets] == [2, 2, 1, 1, 1, 1]
    assert np.isfinite(found.rating).all()


def test_it_shows_itself(tmp_path):
    found = og.compare_subsets(table(), parameters())
    display = found.plot()
    assert isinstance(display, Display)
    assert display.ax_.get_xlabel() == "order of the data sets"
    assert found.meaning in repr(found)
    assert found.save(tmp_path / "found.csv").read_text().count("\n") == 7
    assert "<img" in found.save(tmp_path / "found.html").read_text()
    assert found.save(tmp_path / "found.json").exists()
    assert found.save(tmp_path / "found.parquet").exists()


def test_wrong_input_is_explained(subtests):
    cases = [
        (table(["a"]), parameters(), "at least two"),
        (table(m=1), parameters(1), "at least two data sets, but there is one"),
        (table(), parameters().rename(columns={"difficulty_mean": "b"}), "lacks.*difficulty_mean"),
        (table(), parameters(8), r"no row for 1 data set \(set 8\)"),
        (table(m=8), parameters(9), r"scores has no column for 1 data set \(set 8\)"),
        (table(), pd.concat([parameters(), parameters()[:1]]), "'set 0' more than once"),
        (table(), parameters() * np.nan, r"is NaN for 9 data sets"),
        (table(), parameters().assign(difficulty_mean="hard"), "should be numbers"),
        (table(), parameters().to_dict(), "datasets is a dict"),
    ]
    for scores, datasets, message in cases:
        with (
            subtests.test(scores=scores, datasets=datasets, message=message),
            pytest.raises(InputError, match=message),
        ):
            og.compare_subsets(scores, datasets)
