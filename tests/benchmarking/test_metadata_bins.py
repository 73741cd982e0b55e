import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from ogive.benchmarking.metadata import MetadataBins, probability_by_metadata
from ogive.errors import InputError
from ogive.results.plots.figure import Display

SIZES = [50.0, 10.0, 40.0, 20.0, 30.0, 60.0]


def tables():
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
    found = probability_by_metadata(*tables(), "size", bins=3)
    assert found.datasets == (("b", "d"), ("e", "c"), ("a", "f"))
    np.testing.assert_allclose(found.probability, [[0.15, 0.35, 0.55], [0.7, 0.7, 0.7]])
    assert found.summary["value"].tolist() == [15, 35, 55]
    assert found.summary["difficulty_mean"].tolist() == [1.5, 3.5, 5.5]
    assert found.summary["difficulty_mean_se"].tolist() == [0.5] * 3
    assert "guessing_mean" not in found.summary


def test_intervals_are_those_of_students_t_over_data_sets():
    found = probability_by_metadata(*tables(), "size", bins=2, confidence=0.9)
    wanted = ttest_1samp([0.4, 0.5, 0.6], 0).confidence_interval(0.9)
    assert (found.low[0, 1], found.high[0, 1]) == pytest.approx((wanted.low, wanted.high))


def test_intervals_stay_within_zero_and_one_and_one_data_set_has_none():
    found = probability_by_metadata(*tables(), "size", bins=3)
    assert np.nanmin(found.low) >= 0
    assert np.nanmax(found.high) <= 1
    assert np.isnan(probability_by_metadata(*tables(), "size", bins=6).low).all()


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
    datasets, classifiers, metadata = tables()
    found = probability_by_metadata(datasets, classifiers.drop(index=1), metadata, "size", bins=3)
    assert found.n.tolist() == [[1, 2, 2], [2, 2, 2]]
    assert found.probability[0, 0] == pytest.approx(0.2)


def test_borders_through_equal_values_are_noted():
    datasets, classifiers, metadata = tables()
    found = probability_by_metadata(
        datasets, classifiers, metadata.assign(missing=[0, 0, 0, 0, 0, 9]), "missing", bins=3
    )
    assert found.notes[0].startswith("2 limits between bins separate data sets of equal missing")
    assert probability_by_metadata(*tables(), "size", bins=3).notes == ()


def test_it_shows_itself_as_a_frame_and_a_figure(tmp_path):
    found = probability_by_metadata(*tables(), "size", bins=3)
    assert isinstance(found, MetadataBins)
    columns = ["respondent", "bin", "value", "n", "probability", "low", "high"]
    assert found.to_frame().columns.tolist() == columns
    display = found.plot()
    assert isinstance(display, Display)
    assert display.ax_.get_xlabel() == "bin of size, lowest first"
    assert display.ax_.get_ylabel() == "probability of a right response"
    assert found.save(tmp_path / "bins.html").exists()


def test_what_cannot_be_used_is_refused(subtests):
    cases = [
        ({"metadatum": "weight"}, "metadatum is 'weight', but it should be one of: size"),
        ({"bins": 7}, "share 6 data sets"),
        ({"bins": 0}, "at least 1"),
        ({"confidence": 2}, "between 0 and 1"),
        ({"classifiers": tables()[1].drop(columns="true_score")}, "'true_score' is missing"),
        ({"classifiers": pd.concat([tables()[1]] * 2)}, "'svm' twice on 'a'"),
        (
            {"classifiers": tables()[1].assign(dataset="other", respondent=range(12))},
            "no true score",
        ),
        ({"datasets": tables()[0].drop(columns="items")}, "'items' is missing"),
        (
            {"metadata": pd.DataFrame({"size": [1.0, np.nan]}, index=["a", "b"])},
            "cannot fill 2 bins",
        ),
    ]
    for change, said in cases:
        with subtests.test(change=change, said=said):
            datasets, classifiers, metadata = tables()
            given = {"datasets": datasets, "classifiers": classifiers, "metadata": metadata}
            with pytest.raises(InputError, match=said):
                probability_by_metadata(**{**given, "metadatum": "size", "bins": 2, **change})
