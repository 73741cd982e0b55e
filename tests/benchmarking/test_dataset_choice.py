from itertools import product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

import ogive as og
from ogive.benchmarking.dataset_choice import ChosenDatasets
from ogive.errors import InputError
from ogive.results.plots.figure import Display


def table(n=8, m=12, seed=0, noise=0.7, strength=1.0):
    random = np.random.default_rng(seed)
    values = strength * random.normal(size=n)[:, None] + noise * random.normal(size=(n, m))
    return pd.DataFrame(
        values, index=[f"model {k}" for k in range(n)], columns=[f"set {k}" for k in range(m)]
    )


def choose(scores, size=None, **kw):
    return og.choose_datasets(scores, size, **{"n_resamples": 40, **kw})


def points(scores):
    return scores.rank().sub(1).mean(axis=1)


def test_a_table_done_by_hand():
    """Sets a, b and d have the order x > y > z; c turns it round. Points: x 6, y 4, z 2."""
    scores = pd.DataFrame(
        {"c": [1, 2, 3], "a": [3, 2, 1], "b": [9, 8, 7], "d": [6, 5, 4]}, index=list("xyz")
    )
    found = choose(scores, 2)
    assert found.chosen == ("a", "b")
    assert found.kendall.tolist() == [1.0]
    assert found.subset(4) == ("c", "a", "b", "d")
    assert choose(scores, 1).chosen == ("a",)


def test_agreement_with_the_whole_is_that_of_scipy():
    scores = table(noise=2.0)
    found = choose(scores)
    for k, names in enumerate(found.subsets):
        part, whole = points(scores[list(names)]), points(scores)
        assert found.kendall[k] == pytest.approx(kendalltau(part, whole).statistic, abs=1e-12)
        assert found.spearman[k] == pytest.approx(spearmanr(part, whole).statistic, abs=1e-12)


def test_the_frame_has_one_row_a_size_with_ranges():
    found = choose(table())
    frame = found.to_frame()
    assert frame["size"].tolist() == list(range(2, 12))
    np.testing.assert_allclose(frame["share"], frame["size"] / 12)
    for name in ("held_out", "ceiling", "random", "known", "known_ceiling", "difference", "gain"):
        assert (frame[f"{name}_low"] <= frame[name] + 1e-12).all()
        assert (frame[name] <= frame[f"{name}_high"] + 1e-12).all()
    np.testing.assert_allclose(frame["difference"], frame["held_out"] - frame["ceiling"])
    np.testing.assert_allclose(frame["gain"], frame["held_out"] - frame["random"])
    assert frame["artificial_in_place"].isna().all()


def test_without_noise_two_data_sets_are_enough():
    found = choose(table(noise=0.0))
    assert found.size == 2
    assert len(found.chosen) == 2
    assert found.enough.all()
    assert found.meaning.startswith(f"2 of 12 data sets are enough ({', '.join(found.chosen)}): on")
    assert (
        "they rank the 8 respondents with a Kendall's tau of 1.00 to the ranking by all, for"
        in (found.meaning)
    )
    assert (found.significant_share == 1).all()


def test_noise_is_never_enough():
    found = [choose(table(8, 12, seed, strength=0.0)) for seed in range(10)]
    assert sum(f.ranked for f in found) <= 2  # one in twenty by chance
    text = next(f.meaning for f in found if not f.ranked)
    assert text.startswith("No part can be called enough, since there is no ranking to keep")
    unclear = next(f for f in found if not f.ranked)
    assert not unclear.enough.any()
    assert unclear.chosen == unclear.datasets


def test_a_part_that_loses_too_much_is_not_enough():
    scores = table(12, 20, noise=1.5)
    few = choose(scores, 2)
    assert few.ranked
    assert not few.enough[0]
    assert "2 of 20 data sets are not shown to be enough" in few.meaning
    assert choose(scores, 2, keep=0.3).enough[0]


def test_where_no_size_is_enough_all_data_sets_are_kept():
    found = choose(table(12, 20, noise=1.5), keep=1.0)
    assert found.size == 20
    assert set(found.chosen) == set(found.datasets)
    assert "No part of at most 19 data sets is shown to be enough" in found.meaning


def test_from_the_size_reported_on_all_are_enough():
    found = choose(table(12, 20, noise=1.0))
    later = [e for size, e in zip(found.sizes, found.enough, strict=True) if size >= found.size]
    assert all(later)


def test_a_number_or_a_share_picks_one_size(subtests):
    for size, kept in [(3, 3), (0.5, 6), (np.int64(4), 4), (0.01, 1), (12, 12)]:
        with subtests.test(size=size, kept=kept):
            found = choose(table(), size)
            assert found.sizes == (kept,)
            assert len(found.chosen) == found.size == kept
            assert set(found.chosen) <= set(found.datasets)


def test_another_size_than_those_looked_at_is_refused():
    with pytest.raises(InputError, match=r"`size` must be one of: 3.*got 5"):
        choose(table(), 3).subset(5)


def test_artificial_respondents_do_not_count_unless_they_are_named():
    scores = table()
    ends = pd.DataFrame(
        {name: [9.0, -9.0] for name in scores.columns}, index=["optimal", "pessimal"]
    )
    whole = pd.concat([scores, ends])
    found = choose(whole)
    alone = choose(scores)
    assert found.respondents == alone.respondents
    np.testing.assert_array_equal(found.held_out, alone.held_out)
    assert found.in_place == (True,) * 10
    assert "Not counted in the ranking: 2 respondents (optimal, pessimal)." in repr(found)
    named = choose(whole, respondents=list(whole.index))
    assert len(named.respondents) == 10
    assert named.ceiling.mean() > alone.ceiling.mean()


def test_who_has_no_score_plays_no_game():
    scores = table(noise=0.3)
    scores.loc["model 1", "set 2"] = np.nan
    scores.loc["model 2"] = np.nan
    scores["set 5"] = np.nan
    found = choose(scores)
    assert "model 2" not in found.respondents
    assert "set 5" not in found.datasets
    assert "Left out (no games): 1 respondent (model 2)" in found.notes[0]
    assert "(fewer than two scores): 1 data set (set 5)" in found.notes[1]
    assert np.isfinite(found.to_frame().select_dtypes("float")).all(axis=None)


def test_few_respondents_and_data_sets_have_a_defined_result(subtests):
    for n, m in product([2, 3, 5], [3, 4]):
        with subtests.test(n=n, m=m):
            found = choose(table(n, m))
            assert np.isfinite(found.to_frame().select_dtypes("float")).all(axis=None)
            assert any("in only" in note for note in found.notes)
            assert any("too few to hold some out" in note for note in found.notes) == (n < 4)
            assert found.meaning.endswith(".")


def test_all_ties_have_no_ranking_to_keep():
    found = choose(pd.DataFrame(np.ones((5, 6))))
    assert not found.ranked
    assert (found.kendall == 0).all()


@given(st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_only_the_order_of_scores_counts(seed):
    scores = table(6, 8, seed)
    same = choose(scores), choose(np.exp(scores) * 7 - 3)
    assert same[0].subsets == same[1].subsets
    np.testing.assert_array_equal(same[0].held_out, same[1].held_out)


def test_the_same_seed_gives_the_same():
    first, again, other = (choose(table(), random_state=seed) for seed in (1, 1, 2))
    pd.testing.assert_frame_equal(first.to_frame(), again.to_frame())
    assert first.subsets == other.subsets
    assert (first.held_out != other.held_out).any()


def test_it_shows_itself(tmp_path):
    found = choose(table())
    assert isinstance(found, ChosenDatasets)
    assert isinstance(found.plot(), Display)
    assert found.meaning in repr(found)
    assert found.save(tmp_path / "found.csv").read_text().count("\n") == 11
    assert "<img" in found.save(tmp_path / "found.html").read_text()


def test_wrong_input_is_explained(subtests):
    cases = [
        (table(1), {}, "at least two"),
        (table(m=2), {}, "2 data sets, but choosing and judging take at least 3"),
        (table(), {"size": 0}, "`size` must be a whole number from 1 to 12.*got 0"),
        (table(), {"size": 13}, "`size` must be a whole number from 1 to 12.*got 13"),
        (table(), {"size": 1.5}, "size is 1.5, but a share is between 0 and 1"),
        (table(), {"size": np.nan}, "size is nan, but a share"),
        (table(), {"size": "half"}, "`size` must be a number.*got 'half'"),
        (table(), {"size": True}, r"`size` must be .*got True"),
        (table(), {"keep": 0}, r"`keep` must be .*got 0"),
        (table(), {"n_resamples": 0}, r"`n_resamples` must be .*got 0"),
        (table(), {"tolerance": -1}, r"`tolerance` must be .*got -1"),
        (table(), {"respondents": ["model 0", "modell"]}, "'modell', which is not in the scores"),
        (table(), {"respondents": ["model 0"]}, "must name at least two, each once"),
        (table(), {"respondents": ["model 0", "model 0"]}, "must name at least two, each once"),
        (table(2).set_axis(["optimal", "SVM"]), {}, r"Without 1 artificial respondent \(optimal\)"),
        (table() * np.nan, {}, "Games are played on 0 data sets"),
    ]
    for scores, options, message in cases:
        with (
            subtests.test(scores=scores, options=options, message=message),
            pytest.raises(InputError, match=message),
        ):
            choose(scores, **options)


def test_the_published_true_scores_have_no_ranking_to_keep(shared):
    """Several of the published solutions are reflected: who is strong wins on half the sets."""
    columns = {
        path.parent.name: pd.read_csv(path).set_index("Clf")["Score"]
        for path in sorted((shared / "data/decodirt/benchmarking").glob("*/score_disPositivo.csv"))
    }
    names = {"otimo": "optimal", "pessimo": "pessimal", "majoritario": "majority"}
    names |= {"minoritario": "minority", **{f"rand{k}": f"random {k}" for k in (1, 2, 3)}}
    found = choose(pd.DataFrame(columns).rename(index=names), 0.5)
    assert len(found.respondents) == 12
    assert not found.ranked
    assert found.kendall[0] > 0.85  # what choosing on the data that judge would have claimed
