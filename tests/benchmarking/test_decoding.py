from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection

from ogive import Responses, calibrate, decode_benchmark, decode_responses, item_health, simulate
from ogive.benchmarking.decoder import Limits
from ogive.benchmarking.decoding import level_with, said_of_hardest
from ogive.data.datasets.dataset import Dataset
from ogive.errors import InputError
from ogive.results.plots.figure import Display


@pytest.fixture(scope="module")
def decoding():
    ability = np.linspace(-2, 2, 40)
    tables = {
        f"set {k}": simulate("2pl", n_items=30, abilities=ability, random_state=k).responses
        for k in range(5)
    }
    return decode_responses(tables, model="2pl")


def test_the_frame_has_the_hardest_data_set_first(decoding):
    frame = decoding.to_frame()
    assert frame.index.name == "dataset"
    assert frame["chance"].is_monotonic_increasing
    ability = [decoding.calibrations["set 1"].population.mean]
    expected = decoding.calibrations["set 1"].probability(ability).to_numpy()
    assert frame.loc["set 1", "chance"] == pytest.approx(expected.mean())


def test_items_of_all_data_sets_are_distinguished(decoding):
    assert list(decoding.items.columns[:2]) == ["dataset", "item"]
    assert decoding.items.groupby("dataset").size().to_dict() == {f"set {k}": 30 for k in range(5)}


def test_scores_are_classifiers_by_data_sets(decoding):
    wide = decoding.scores("accuracy")
    assert wide.shape == (40, 5)
    assert list(wide.columns) == list(decoding.calibrations)
    cells = decoding.responses["set 3"].to_frame()
    np.testing.assert_allclose(wide["set 3"], cells.mean(axis=1))


def test_bins_hold_equally_many_data_sets_hardest_first(decoding):
    bins = decoding.bins(2)
    assert bins["datasets"].tolist() == [3, 2]
    assert bins["chance"].is_monotonic_increasing
    hardest = decoding.ranking().index[:3]
    assert bins.loc[1, "names"] == ", ".join(hardest)
    chosen = decoding.datasets.loc[hardest, "difficulty_mean"]
    assert bins.loc[1, "difficulty"] == pytest.approx(chosen.mean())
    assert bins.loc[1, "difficulty_se"] == pytest.approx(chosen.std() / np.sqrt(3))


def test_too_many_bins_are_refused(decoding):
    with pytest.raises(InputError, match=r"`bins` must be a whole number from 1 to 5.*got 6"):
        decoding.bins(6)


def test_a_turned_instance_is_among_the_suspects():
    items = {"discrimination": np.full(60, 2.0), "difficulty": np.linspace(-1.5, 0.5, 60)}
    table = simulate("2pl", 200, items=items, random_state=4).responses.to_frame()
    table["item_7"] = 1 - table["item_7"]
    found = decode_responses({"one": table}, model="2pl")
    assert found.suspects["item"].tolist() == ["item_7"]
    assert found.suspects["dataset"].tolist() == ["one"]
    assert found.datasets.loc["one", "share_negative"] == 1 / 60


def test_chance_is_that_of_average_ability_and_the_plain_share_stands_beside_it():
    """Where abilities vary, the mean of a curve is not the curve at the mean."""
    items = {"discrimination": np.full(30, 3.0), "difficulty": np.full(30, -1.0)}
    table = simulate("2pl", 150, items=items, random_state=2).responses
    found = decode_responses({"one": table}, model="2pl")
    row = found.datasets.loc["one"]
    right = table.to_frame().mean(axis=0)
    assert row["share_right"] == pytest.approx(right.mean())
    assert row["share_right_se"] == pytest.approx(right.std(ddof=1) / np.sqrt(30))
    assert row["chance"] > row["share_right"] + 0.1
    assert (
        f"a classifier of average ability is expected to get {row['chance']:.0%}" in found.meaning
    )
    assert f"(the mean share of its 150 respondents: {row['share_right']:.0%})" in found.meaning
    assert "average classifier" not in " ".join(found.sentences())


@pytest.mark.slow
def test_the_error_of_a_chance_is_that_over_other_instances():
    """With the same abilities and other instances, chances vary as their standard errors say."""
    random, ability = np.random.default_rng(5), np.linspace(-2.0, 2.0, 100)
    chances, errors = [], []
    for seed in range(60):
        items = {"discrimination": np.full(40, 1.5), "difficulty": random.normal(-0.5, 1.0, 40)}
        table = simulate("2pl", abilities=ability, items=items, random_state=seed).responses
        row = decode_responses({"one": table}, model="2pl").datasets.loc["one"]
        chances.append(row["chance"])
        errors.append(row["chance_se"])
    assert np.std(chances, ddof=1) == pytest.approx(np.mean(errors), rel=0.25)


def test_discriminations_below_zero_are_counted_after_correction_for_their_number():
    """Of eighty items without discrimination, some are below zero by 1.96 standard errors."""
    items = {"discrimination": np.r_[np.full(120, 1.5), np.zeros(80)], "difficulty": [0.0] * 200}
    table = simulate("2pl", 150, items=items, random_state=4).responses
    found = decode_responses({"one": table}, model="2pl")
    slope, error = found.items["discrimination"], found.items["discrimination_se"]
    assert (slope < -1.96 * error).any()
    below = int((slope < 0).sum())
    assert f"{below} have an estimated discrimination below zero (none of them significantly" in (
        found.meaning
    )
    assert "wrong more often" not in found.meaning
    health = item_health(found.calibrations["one"].responses, found.calibrations["one"])
    assert (
        found.items["significantly_negative"].tolist()
        == health.items["significantly_negative"].tolist()
    )
    np.testing.assert_allclose(
        found.items["negative_p_adjusted"], health.items["negative_p_adjusted"]
    )


def test_who_has_all_right_but_not_the_highest_ability_is_explained():
    items = {"discrimination": np.r_[np.full(30, 2.0), np.full(10, -2.0)], "difficulty": [0.0] * 40}
    table = simulate("2pl", 200, items=items, random_state=3).responses
    judged = pd.DataFrame(
        [np.ones(40), np.r_[np.ones(30), np.zeros(10)]],
        index=["optimal", "model"],
        columns=table.items,
    )
    found = decode_responses({"one": table}, {"one": judged}, model="2pl")
    ability = found.classifiers.set_index("respondent")["ability"]
    assert ability["optimal"] < ability["model"]
    assert any(
        "optimal has all right but a lower ability than 1 other (model), because right" in note
        for note in found.notes
    )


def test_probabilities_of_the_pool_say_which_labels_are_wrong():
    """Overlapping classes, and one label that was changed."""
    from sklearn.datasets import make_blobs
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier

    X, y = make_blobs(300, centers=3, cluster_std=2.0, random_state=2)
    y[0] = (y[0] + 1) % 3
    data = Dataset("blobs", pd.DataFrame(X), pd.Series(y), "made", test=np.arange(120))
    pool = {f"knn {k}": KNeighborsClassifier(k) for k in (1, 5, 25)}
    pool |= {"lr": LogisticRegression(), "nb": GaussianNB()}
    found = decode_benchmark({"blobs": data}, pool, model="1pl", cv=0, progress=False)
    trouble = found.label_troubles["blobs"]
    assert trouble.calibrated
    assert trouble.items[0] == "row_0"
    assert trouble.label[0] == str(y[0])
    assert "a wrong label, and" in found.meaning
    assert {"label", "likely", "contradiction", "share_right"} <= set(found.suspects.columns)


def test_difficulties_of_several_data_sets_are_not_pooled_in_one_figure(decoding):
    ax = decoding.plot("histogram").ax_
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(decoding.to_frame().index)
    assert "each data set has its own scale" in "\n".join(text.get_text() for text in ax.texts)


def test_figures_of_parameters_are_of_the_instances_that_the_table_sums_up():
    """The dot of a data set is its median in the table, and all that is left out is said."""
    slopes = np.r_[np.full(40, 2.0), -2.0, -1.5, -2.0]
    items = {"discrimination": slopes, "difficulty": np.linspace(-1, 2, 43)}
    drawn = simulate("2pl", 200, items=items, random_state=4).responses.to_frame()
    values = np.column_stack([drawn, np.ones(200)])
    found = decode_responses({"one": values, "other": values[:, :0:-1]}, model="2pl")
    for value in ("difficulty", "discrimination"):
        ax = found.plot("histogram", value=value).ax_
        dots = [
            shape.get_offsets()[0, 0]
            for shape in ax.collections
            if isinstance(shape, PathCollection)
        ]
        np.testing.assert_allclose(dots, found.to_frame()[f"{value}_median"])
        said = ax.texts[-1].get_text().replace("\n", " ")
        assert "left out: 2 instances that all got right, or all wrong" in said
        assert ("with 6 instances of negative discrimination" in said) is (value == "difficulty")


def test_an_instance_of_negative_discrimination_is_in_the_histogram_and_said():
    items = {"discrimination": np.r_[np.full(40, 2.0), -2.0], "difficulty": np.zeros(41)}
    table = simulate("2pl", 200, items=items, random_state=4).responses
    found = decode_responses({"one": table}, model="2pl")
    assert (found.items["discrimination"] < 0).sum() == 1
    shown = found.plot("histogram")
    assert len(shown.frame) == 41
    assert "with 1 instance of negative discrimination" in shown.ax_.texts[-1].get_text()
    assert len(found.plot("histogram", value="discrimination").frame) == 41


def test_every_kind_of_figure_is_drawn(subtests, decoding):
    for kind, dataset in [
        ("datasets", None),
        ("histogram", None),
        ("histogram", "set 1"),
        ("scores", "set 2"),
    ]:
        with subtests.test(kind=kind, dataset=dataset):
            assert isinstance(decoding.plot(kind, dataset), Display)


def test_a_figure_of_one_data_set_needs_its_name(decoding):
    with pytest.raises(InputError, match=r"`dataset` must be one of: set 0, set 1.*got None"):
        decoding.plot("scores")
    with pytest.raises(InputError, match=r"`dataset` must be"):
        decoding.plot("suspects", "set 9")
    with pytest.raises(InputError, match=r"`kind` must be .*got 'pie'"):
        decoding.plot("pie")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda d: d.scores("skill"), "`column` must be one of.*got 'skill'"),
        (lambda d: d.ranking("size"), "`column` must be one of.*got 'size'"),
    ],
)
def test_unknown_columns_are_refused_with_those_that_exist(decoding, call, told):
    with pytest.raises(InputError, match=told):
        call(decoding)


@pytest.mark.slow
@pytest.mark.parametrize("n_datasets", [2, 4, 7, 20, 60])
def test_of_ten_equal_classifiers_none_is_called_lower(decoding, n_datasets):
    """Beyond 1.96 standard errors of the best, some were in most tables: it was chosen as best."""
    random = np.random.default_rng(n_datasets)
    names = [f"d{k}" for k in range(n_datasets)]
    claims = 0
    for _ in range(40):
        chance = random.beta(8, 2, n_datasets)
        share = random.binomial(200, np.tile(chance, 10)) / 200
        frame = pd.DataFrame(
            {
                "dataset": np.tile(names, 10),
                "respondent": np.repeat([f"c{k}" for k in range(10)], n_datasets),
                "true_score_positive_mean": share,
                "accuracy": share,
            }
        )
        equal = replace(decoding, classifiers=frame, calibrations=dict.fromkeys(names))
        best = int(np.argmax(equal.scores("accuracy").mean(axis=1)))
        level = level_with(equal, best, equal.scores("true_score_positive_mean"))
        claims += level.sum() < 9
    assert claims <= 5  # 40 tables at 5 %: 2, and two standard deviations


def test_on_one_data_set_equal_classifiers_are_compared_by_their_answers():
    claims = 0
    for seed in range(4):
        table = simulate("1pl", n_items=40, abilities=np.zeros(8), random_state=seed).responses
        found = decode_responses({"one": table}, model="1pl")
        claims += "7 others" not in found.meaning
        test = "not significantly lower (McNemar tests of answers, corrected for all pairs): "
        assert ("not significantly lower" in found.meaning) == (test in found.meaning)
    assert claims <= 1
    clear = simulate("2pl", n_items=200, abilities=[-2.0, -1.9, 3.0], random_state=0).responses
    assert "not significantly lower" not in decode_responses({"one": clear}, model="1pl").meaning


@pytest.mark.slow
def test_the_better_of_two_equal_classifiers_is_not_separated_by_items_chosen_for_it():
    """Items that only the other has right discriminate negatively; the test left them out."""
    claims = 0
    for seed in range(12):
        table = Responses((np.random.default_rng(seed).random((2, 60)) < 0.6).astype(float))
        plain = calibrate(table, "2pl", progress=False)
        assert (plain.items["discrimination"] < 0).any()
        found = decode_responses({"one": table}, model="2pl")
        found = replace(found, calibrations={"one": plain})
        share = found.scores("accuracy")
        claims += not level_with(found, int(np.argmax(share.to_numpy())), share).any()
    assert claims <= 2


def test_a_data_set_that_all_solve_has_no_difficulty_but_its_share():
    found = decode_responses({"one": Responses(np.ones((30, 8)))}, model="2pl")
    row = found.datasets.loc["one"]
    assert row["share_solved"] == 1
    assert np.isnan(row["difficulty_mean"])
    assert "is expected to get 100% (100% to 100%) of its instances right" in found.meaning
    assert "none contradicts good classifiers so clearly" in found.meaning
    assert "none has an estimated discrimination below zero. " in found.meaning
    assert found.classifiers["ability"].isna().all()


def test_limits_must_be_numbers():
    with pytest.raises(InputError, match="limit of guessing is 'high'"):
        Limits(guessing="high")


def test_it_is_saved_like_every_result(subtests, decoding, tmp_path_factory):
    for suffix in [".csv", ".json", ".html", ".parquet"]:
        with subtests.test(suffix=suffix):
            tmp_path = tmp_path_factory.mktemp("case")
            path = decoding.save(tmp_path / f"decoding{suffix}")
            assert path.stat().st_size > 0
            if suffix == ".csv":
                assert pd.read_csv(path)["dataset"].tolist() == list(decoding.to_frame().index)


def test_a_small_data_set_hides_no_difference_of_two_large_ones():
    """Its degrees of freedom were those of all pairs, so that others were called as hard, too."""
    rows = {"hard": (0.67, 0.04, 300), "easy": (0.81, 0.04, 300), "small": (0.70, 0.15, 12)}
    columns = ["chance", "chance_se", "items"]
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    frame = frame.assign(share_right=0.7, respondents=50)
    said = said_of_hardest(SimpleNamespace(to_frame=lambda: frame))
    assert said.startswith("Of 3 data sets, hard is the hardest")
    assert said.endswith(
        "; not significantly easier, after correction for all pairs: 1 other (small)."
    )
