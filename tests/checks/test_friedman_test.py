import html

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare

from ogive.checks.friedman_test import RankComparison, compare_ranks
from ogive.errors import InputError
from ogive.results.plots.figure import Display

TIED = np.array(
    [
        [0.763, 0.768, 0.771, 0.798],
        [0.599, 0.591, 0.590, 0.569],
        [0.954, 0.971, 0.968, 0.967],
        [0.628, 0.661, 0.654, 0.657],
        [0.882, 0.888, 0.886, 0.898],
        [0.936, 0.931, 0.916, 0.931],
        [0.661, 0.668, 0.609, 0.685],
        [0.583, 0.583, 0.563, 0.625],
        [0.775, 0.838, 0.866, 0.875],
        [1.000, 1.000, 1.000, 1.000],
        [0.940, 0.962, 0.965, 0.962],
        [0.619, 0.666, 0.614, 0.669],
        [0.972, 0.981, 0.975, 0.975],
        [0.957, 0.978, 0.946, 0.970],
    ]
).T


def table(n=6, m=20, noise=0.5, seed=0):
    random = np.random.default_rng(seed)
    values = noise * random.normal(size=(n, m)) + np.linspace(1, -1, n)[:, None]
    return pd.DataFrame(values, index=[f"model {k}" for k in range(n)]).add_prefix("set ")


def test_friedman_is_that_of_scipy_with_ties_and_without():
    for scores in (TIED, table().to_numpy()):
        found, (statistic, p) = compare_ranks(scores), friedmanchisquare(*scores)
        assert found.friedman == pytest.approx(statistic)
        assert found.p == pytest.approx(p)


def test_nemenyi_is_that_of_scikit_posthocs():
    """posthoc_nemenyi_friedman of scikit-posthocs 0.17.1 on the same scores."""
    wanted = [
        [1.0, 0.0886727093, 0.9716864713, 0.0616832589],
        [0.0886727093, 1.0, 0.226696886, 0.998882344],
        [0.9716864713, 0.226696886, 1.0, 0.1700516357],
        [0.0616832589, 0.998882344, 0.1700516357, 1.0],
    ]
    np.testing.assert_allclose(compare_ranks(TIED).pairwise_p, wanted, atol=1e-9)


def test_critical_differences_follow_from_the_table_of_demsar(subtests):
    for k, at_05, at_10 in [
        (2, 1.960, 1.645),
        (3, 2.343, 2.052),
        (5, 2.728, 2.459),
        (10, 3.164, 2.920),
    ]:
        with subtests.test(k=k, at_05=at_05, at_10=at_10):
            scores = table(k, 14)
            unit = np.sqrt(k * (k + 1) / (6 * 14))
            assert compare_ranks(scores).critical_difference == pytest.approx(
                at_05 * unit, abs=1e-3
            )
            found = compare_ranks(scores, alpha=0.1)
            assert found.critical_difference == pytest.approx(at_10 * unit, abs=1e-3)


def test_mean_ranks_by_hand():
    scores = pd.DataFrame({"a": [3, 2, 1], "b": [5, 5, 0]}, index=["x", "y", "z"])
    found = compare_ranks(scores)
    np.testing.assert_allclose(found.mean_rank, [1.25, 1.75, 3.0])
    np.testing.assert_allclose(found.se, [0.25, 0.25, 0.0])


def test_a_pair_differs_where_its_p_is_below_alpha():
    pairs = compare_ranks(table(8, 25)).pairs()
    assert len(pairs) == 28
    assert pairs["differ"].any()
    assert not pairs["differ"].all()
    np.testing.assert_array_equal(pairs["differ"], pairs["p"] < 0.05)


def test_groups_hold_exactly_the_pairs_that_do_not_differ():
    found = compare_ranks(table(8, 25))
    together = {frozenset((a, b)) for g in found.groups for a in g for b in g if a != b}
    pairs = found.pairs()
    alike = pairs[~pairs["differ"]]
    assert together == {
        frozenset(row) for row in alike[["respondent", "other"]].itertuples(index=False)
    }
    frame = found.to_frame()
    for a, b, differ in pairs[["respondent", "other", "differ"]].itertuples(index=False):
        shared = set(frame.loc[a, "group"]) & set(frame.loc[b, "group"])
        assert bool(shared) != differ


def test_no_group_lies_inside_another():
    groups = [set(group) for group in compare_ranks(table(12, 30)).groups]
    assert len(groups) > 1
    assert not any(a < b for a in groups for b in groups)


@pytest.mark.slow
def test_differences_that_do_not_exist_are_found_as_often_as_alpha_says():
    random = np.random.default_rng(1)
    found = [compare_ranks(random.normal(size=(5, 30))) for _ in range(200)]
    assert np.mean([one.p < 0.05 for one in found]) == pytest.approx(0.05, abs=0.04)
    assert np.mean([one.f_p < 0.05 for one in found]) == pytest.approx(0.05, abs=0.04)
    assert np.mean([one.pairs()["differ"].any() for one in found]) < 0.09


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_order_of_respondents_and_items_does_not_matter(seed):
    scores = table(5, 9, seed=seed)
    moved = scores.sample(frac=1, random_state=seed).sample(frac=1, axis=1, random_state=seed)
    first, second = compare_ranks(scores), compare_ranks(moved)
    assert second.friedman == pytest.approx(first.friedman)
    np.testing.assert_allclose(
        second.to_frame().loc[list(first.respondents), "mean_rank"], first.mean_rank
    )


def test_items_with_gaps_are_left_out_and_said():
    scores = table()
    scores.iloc[2, 3] = np.nan
    found = compare_ranks(scores)
    assert found.notes == ("Left out, since scores are missing: 1 item (set 3).",)
    assert found.notes[0] in repr(found)
    whole = compare_ranks(scores.drop(columns="set 3"))
    assert found.friedman == whole.friedman
    assert found.items == whole.items


def test_all_ties_show_no_difference():
    found = compare_ranks(np.ones((4, 7)))
    assert (found.friedman, found.p, found.f, found.f_p) == (0.0, 1.0, 0.0, 1.0)
    assert len(found.groups) == 1
    assert "cannot be distinguished" in found.meaning


def test_the_same_ranks_everywhere_are_no_division_by_zero():
    found = compare_ranks(np.arange(4.0)[:, None] + np.zeros((4, 6)))
    assert found.f == np.inf
    assert found.f_p == 0.0
    assert found.friedman == pytest.approx(18.0)


def test_the_meaning_says_who_is_best_and_who_is_as_good():
    near = compare_ranks(table(6, 20)).meaning
    assert "model 0 has the best mean rank" in near
    assert "cannot be distinguished from it" in near
    far = compare_ranks(table(3, 200, noise=0.3)).meaning
    assert "it differs from all 2 others" in far


def test_it_shows_itself(tmp_path):
    found = compare_ranks(table())
    assert isinstance(found, RankComparison)
    assert isinstance(found.plot(), Display)
    assert found.meaning in repr(found)
    assert html.escape(found.meaning) in found._repr_html_()
    assert found.save(tmp_path / "found.csv").read_text().count("\n") == 7
    assert found.to_frame()["mean_rank"].is_monotonic_increasing


def test_wrong_scores_are_explained(subtests):
    for scores, message in [
        (table(1), "at least two"),
        (table(4, 1), "every respondent, got 1"),
        (table().where(np.eye(6, 20) == 1), "every respondent, got 0"),
        (table().rename(index={"model 1": "model 0"}), "names must differ"),
        (table().replace(table().iloc[1, 1], -np.inf), "infinite"),
        (
            table().astype(object).mask(table() == table().iloc[1, 1], "x"),
            "'x', which is not a number",
        ),
    ]:
        with subtests.test(message), pytest.raises(InputError, match=message):
            compare_ranks(scores)


def test_alpha_lies_between_zero_and_one(subtests):
    for alpha in [0.0, 1.0, -1.0, np.nan]:
        with subtests.test(alpha=alpha), pytest.raises(InputError, match=r"`alpha` must be"):
            compare_ranks(table(), alpha=alpha)
