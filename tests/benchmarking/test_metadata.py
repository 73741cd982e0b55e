import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control, pearsonr, permutation_test, spearmanr, ttest_1samp

from ogive.benchmarking.metadata import (
    MetadataBins,
    MetadataRelations,
    probability_by_metadata,
    relate_metadata,
)
from ogive.errors import InputError
from ogive.results.plots.figure import Display

COLUMNS = ["difficulty_mean", "difficulty_median", "difficulty_sd", "guessing_mean"]


def tables(n=60, seed=0):
    random = np.random.default_rng(seed)
    names = pd.Index([f"set {k}" for k in range(n)], name="dataset")
    datasets = pd.DataFrame(random.normal(size=(n, 4)), index=names, columns=COLUMNS)
    metadata = pd.DataFrame(
        {
            "NumberOfClasses": random.integers(2, 6, n).astype(float),
            "NumberOfInstances": np.exp(random.normal(size=n)),
        },
        index=names,
    )
    datasets["difficulty_mean"] -= np.log(metadata["NumberOfInstances"])
    return datasets.assign(items=500, flag="fine"), metadata


def row(found, metadatum, parameter):
    return found.to_frame().set_index(["metadatum", "parameter"]).loc[(metadatum, parameter)]


@pytest.mark.parametrize(("method", "test"), [("spearman", spearmanr), ("pearson", pearsonr)])
def test_correlations_and_p_values_are_those_of_scipy(method, test):
    datasets, metadata = tables()
    found = relate_metadata(datasets, metadata, method=method)
    assert len(found.to_frame()) == 2 * 4
    for one in metadata:
        for other in COLUMNS:
            wanted, cell = test(metadata[one], datasets[other]), row(found, one, other)
            assert cell["correlation"] == pytest.approx(wanted.statistic)
            assert cell["p"] == pytest.approx(wanted.pvalue)


def test_intervals_of_pearson_are_those_of_scipy():
    datasets, metadata = tables()
    found = row(
        relate_metadata(datasets, metadata, method="pearson"), "NumberOfClasses", COLUMNS[0]
    )
    wanted = pearsonr(metadata["NumberOfClasses"], datasets[COLUMNS[0]]).confidence_interval()
    assert (found["low"], found["high"]) == pytest.approx((wanted.low, wanted.high))


def test_intervals_of_spearman_by_hand():
    """Bonett and Wright (2000): Fisher's z with variance (1 + r²/2) / (n - 3)."""
    found = row(relate_metadata(*tables()), "NumberOfInstances", "difficulty_mean")
    r = found["correlation"]
    reach = 1.959964 * np.sqrt((1 + r**2 / 2) / 57)
    assert found["low"] == pytest.approx(np.tanh(np.arctanh(r) - reach), abs=1e-6)
    assert found["high"] == pytest.approx(np.tanh(np.arctanh(r) + reach), abs=1e-6)


@pytest.mark.slow
def test_intervals_of_spearman_cover_as_often_as_they_say():
    random, hits = np.random.default_rng(0), []
    truth = 6 / np.pi * np.arcsin(0.6 / 2)  # of ranks, where normal values correlate 0.6
    for _ in range(300):
        x, y = random.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=50).T
        names = [str(k) for k in range(50)]
        found = relate_metadata(
            pd.DataFrame({"difficulty_mean": x}, index=names), pd.DataFrame({"m": y}, index=names)
        )
        hits.append(found.low.item() <= truth <= found.high.item())
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


def test_p_values_are_adjusted_as_scipy_does():
    found = relate_metadata(*tables())
    np.testing.assert_allclose(
        found.p_adjusted, false_discovery_control(found.p.reshape(-1)).reshape(found.p.shape)
    )


@pytest.mark.parametrize("n", [4, 5, 6])
def test_over_few_data_sets_every_order_is_tried(n):
    datasets, metadata = tables(n)
    found = row(relate_metadata(datasets, metadata), "NumberOfClasses", "guessing_mean")
    wanted = permutation_test(
        (metadata["NumberOfClasses"],),
        lambda x: spearmanr(x, datasets["guessing_mean"]).statistic,
        permutation_type="pairings",
        n_resamples=1000,  # more than there are orders: all of them
    )
    two_sided = np.mean(np.abs(wanted.null_distribution) >= abs(found["correlation"]) - 1e-9)
    assert found["p"] == pytest.approx(two_sided, abs=1e-12)


def test_four_data_sets_in_perfect_order_prove_nothing():
    names = list("abcd")
    datasets = pd.DataFrame({"difficulty_mean": [1.0, 2, 3, 4]}, index=names)
    found = relate_metadata(datasets, pd.DataFrame({"size": [10, 20, 30, 99]}, index=names))
    assert found.correlation.item() == pytest.approx(1.0)
    assert found.p.item() == pytest.approx(2 / 24)
    assert np.isnan(found.low.item())
    assert "No interval (the correlation is perfect): 1 pair." in found.notes
    assert found.meaning == (
        "The only relation between metadata and item parameters is not significant: size with "
        "difficulty_mean, 1.00, over 4 data sets."
    )


@pytest.mark.slow
def test_false_alarms_are_rare_where_nothing_is_related():
    random, alarms = np.random.default_rng(1), 0
    names = [str(k) for k in range(30)]
    for _ in range(100):
        datasets = pd.DataFrame(random.normal(size=(30, 4)), index=names, columns=COLUMNS)
        metadata = pd.DataFrame(random.normal(size=(30, 3)), index=names, columns=list("abc"))
        alarms += (relate_metadata(datasets, metadata).p_adjusted < 0.05).any()
    assert alarms / 100 < 0.1


def test_constant_metadata_have_no_correlation_and_a_note():
    datasets, metadata = tables()
    found = relate_metadata(datasets, metadata.assign(constant=3.0))
    cell = row(found, "constant", "difficulty_mean")
    assert cell[["correlation", "low", "high", "p", "p_adjusted"]].isna().all()
    assert found.notes == ("No correlation (all values are the same): 1 column (constant).",)
    only = relate_metadata(datasets, metadata[[]].assign(constant=3.0))
    assert only.meaning.startswith("No relation can be tested")


def test_data_sets_are_joined_by_name_and_gaps_left_out_pair_by_pair():
    datasets, metadata = tables()
    whole = relate_metadata(datasets[:50], metadata[:50])
    moved = metadata.sample(frac=1, random_state=0)
    found = relate_metadata(datasets[:50], moved)
    np.testing.assert_allclose(found.correlation, whole.correlation)
    assert found.notes == (
        "Left out (missing in one table): 10 data sets (set 50, set 51, set 52, ...).",
    )
    metadata.iloc[:5, 0] = np.nan
    assert relate_metadata(datasets, metadata).n.tolist() == [[55] * 4, [60] * 4]
    metadata.iloc[:57, 0] = np.nan
    few = relate_metadata(datasets, metadata)
    assert np.isnan(few.correlation[0]).all()
    assert "fewer than 4 data sets have a value): 1 column (NumberOfClasses)" in few.notes[0]


def test_metadata_may_be_a_dict_for_each_data_set():
    datasets, metadata = tables()
    found = relate_metadata(datasets, metadata.to_dict("index"))
    np.testing.assert_array_equal(
        found.correlation, relate_metadata(datasets, metadata).correlation
    )


def test_the_matrix_and_the_figure_hold_the_correlations(tmp_path):
    found = relate_metadata(*tables())
    assert isinstance(found, MetadataRelations)
    wide = found.matrix()
    assert wide.shape == (2, 4)
    assert wide.loc["NumberOfInstances", "guessing_mean"] == found.correlation[1, 3]
    assert found.matrix("p").to_numpy() == pytest.approx(found.p)
    assert isinstance(found.plot(), Display)
    assert found.save(tmp_path / "relations.csv").exists()
    with pytest.raises(InputError, match=r"`value` must be"):
        found.matrix("q")


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_ranks_know_no_scale(seed):
    datasets, metadata = tables(20, seed)
    first = relate_metadata(datasets, metadata)
    second = relate_metadata(datasets, np.exp(metadata / 10))
    np.testing.assert_allclose(second.correlation, first.correlation)
    assert (np.abs(first.correlation) <= 1).all()
    assert (first.low <= first.correlation).all()
    assert (first.correlation <= first.high).all()


def test_what_cannot_be_used_is_refused(subtests):
    cases = [
        ({"datasets": tables(3)[0]}, r"share 3 data sets .*at least 4 are needed"),
        ({"metadata": tables()[1].add_prefix("my ", axis=0)}, r"share 0 data sets"),
        ({"datasets": tables()[0][["items"]]}, "none of the columns"),
        ({"metadata": tables()[1].astype(str)}, "no column of numbers"),
        ({"metadata": pd.concat([tables()[1]] * 2)}, "the row 'set 0' more than once"),
        ({"metadata": [1, 2]}, "metadata should be a frame with one row per data set"),
        ({"method": "kendall"}, "one of: spearman, pearson"),
    ]
    for change, said in cases:
        with subtests.test(change=change, said=said):
            datasets, metadata = tables()
            with pytest.raises(InputError, match=said):
                relate_metadata(**{"datasets": datasets, "metadata": metadata, **change})


def test_chance_is_related_too_because_difficulties_have_scales_of_their_own():
    names = list("abcde")
    chance = pd.DataFrame(
        {"difficulty_mean": [0.1, 0.4, 0.2, 0.9, 0.5], "chance": [0.9, 0.8, 0.7, 0.6, 0.5]}, names
    )
    known = pd.DataFrame({"instances": [500, 400, 300, 200, 100]}, names)
    found = relate_metadata(chance, known)
    assert found.parameters == ("chance", "difficulty_mean")
    assert found.correlation[0, 0] == pytest.approx(1.0)
    assert any("scale of its own" in note for note in found.notes)
    alone = relate_metadata(chance[["difficulty_mean"]], known)
    assert not any("scale of its own" in note for note in alone.notes)


SIZES = [50.0, 10.0, 40.0, 20.0, 30.0, 60.0]


def binned_tables():
    names = pd.Index(list("abcdef"), name="dataset")
    datasets = pd.DataFrame(
        {"items": 100, "difficulty_mean": [5.0, 1, 4, 2, 3, 6], "discrimination_mean": 1.0},
        index=names,
    )
    classifiers = pd.DataFrame(
        {
            "dataset": list("abcdef") * 2,
            "respondent": ["svm"] * 6 + ["tree"] * 6,
            "true_score": [50.0, 10, 40, 20, 30, 60, *[70.0] * 6],
        }
    )
    return datasets, classifiers, pd.DataFrame({"size": SIZES}, index=names)


def test_data_sets_are_put_in_equal_bins_in_the_order_of_the_metadatum():
    found = probability_by_metadata(*binned_tables(), "size", bins=3)
    assert found.datasets == (("b", "d"), ("e", "c"), ("a", "f"))
    np.testing.assert_allclose(found.probability, [[0.15, 0.35, 0.55], [0.7, 0.7, 0.7]])
    assert found.summary["value"].tolist() == [15, 35, 55]
    assert found.summary["difficulty_mean"].tolist() == [1.5, 3.5, 5.5]
    assert found.summary["difficulty_mean_se"].tolist() == [0.5] * 3
    assert "guessing_mean" not in found.summary


def test_intervals_are_those_of_students_t_over_data_sets():
    found = probability_by_metadata(*binned_tables(), "size", bins=2, confidence=0.9)
    wanted = ttest_1samp([0.4, 0.5, 0.6], 0).confidence_interval(0.9)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((wanted.low, wanted.high))


def test_intervals_stay_within_zero_and_one_and_one_data_set_has_none():
    found = probability_by_metadata(*binned_tables(), "size", bins=3)
    assert np.nanmin(found.low) >= 0
    assert np.nanmax(found.high) <= 1
    assert np.isnan(probability_by_metadata(*binned_tables(), "size", bins=6).low).all()


@pytest.mark.slow
def test_intervals_cover_as_often_as_the_level_says():
    random, hits = np.random.default_rng(0), []
    names = [f"set {k}" for k in range(60)]
    datasets = pd.DataFrame({"items": 500.0}, index=names)
    metadata = pd.DataFrame({"size": np.arange(60.0)}, index=names)
    for _ in range(50):
        score = 500 * random.beta(6, 4, size=60)
        rows = pd.DataFrame({"dataset": names, "respondent": "svm", "true_score": score})
        found = probability_by_metadata(datasets, rows, metadata, "size")
        hits.append((found.low <= 0.6) & (found.high >= 0.6))
    assert np.mean(hits) == pytest.approx(0.95, abs=0.03)


def test_missing_scores_leave_the_data_set_out_for_that_respondent():
    datasets, classifiers, metadata = binned_tables()
    found = probability_by_metadata(datasets, classifiers.drop(index=1), metadata, "size", bins=3)
    assert found.n.tolist() == [[1, 2, 2], [2, 2, 2]]
    assert found.probability[0, 0] == pytest.approx(0.2)


def test_borders_through_equal_values_are_noted():
    datasets, classifiers, metadata = binned_tables()
    found = probability_by_metadata(
        datasets, classifiers, metadata.assign(missing=[0, 0, 0, 0, 0, 9]), "missing", bins=3
    )
    assert found.notes[0].startswith("2 limits between bins separate data sets of equal missing")
    assert probability_by_metadata(*binned_tables(), "size", bins=3).notes == ()


def test_it_shows_itself_as_a_frame_and_a_figure(tmp_path):
    found = probability_by_metadata(*binned_tables(), "size", bins=3)
    assert isinstance(found, MetadataBins)
    columns = ["respondent", "bin", "value", "n", "probability", "low", "high"]
    assert found.to_frame().columns.tolist() == columns
    display = found.plot()
    assert isinstance(display, Display)
    assert display.ax_.get_xlabel() == "bin of size, lowest first"
    assert display.ax_.get_ylabel() == "probability of a right response"
    assert found.save(tmp_path / "bins.html").exists()


def test_bins_that_cannot_be_used_are_refused(subtests):
    cases = [
        ({"metadatum": "weight"}, "`metadatum` must be one of: size.*got 'weight'"),
        ({"bins": 7}, "share 6 data sets"),
        ({"bins": 0}, "at least 1"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"classifiers": binned_tables()[1].drop(columns="true_score")}, "'true_score' is missing"),
        ({"classifiers": pd.concat([binned_tables()[1]] * 2)}, "'svm' twice on 'a'"),
        (
            {"classifiers": binned_tables()[1].assign(dataset="other", respondent=range(12))},
            "no true score",
        ),
        ({"datasets": binned_tables()[0].drop(columns="items")}, "'items' is missing"),
        (
            {"metadata": pd.DataFrame({"size": [1.0, np.nan]}, index=["a", "b"])},
            "cannot fill 2 bins",
        ),
    ]
    for change, said in cases:
        with subtests.test(change=change, said=said):
            datasets, classifiers, metadata = binned_tables()
            given = {"datasets": datasets, "classifiers": classifiers, "metadata": metadata}
            with pytest.raises(InputError, match=said):
                probability_by_metadata(**{**given, "metadatum": "size", "bins": 2, **change})
