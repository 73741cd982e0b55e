import json
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from ogive import Responses, TwoPL, calibrate, decode_benchmark, decode_responses, simulate
from ogive.benchmarking.decoder import BenchmarkDecoding, Limits
from ogive.data.pools.members import Member, member_of
from ogive.data.pools.pool import Pool, find_pool
from ogive.data.pools.published_pools import artificial_classifiers
from ogive.errors import InputError

LEARNED = {
    "bayes": GaussianNB(),
    "neighbours": KNeighborsClassifier(3),
    **{f"tree of {n}": DecisionTreeClassifier(max_depth=n) for n in (1, 2, 3, 5)},
    "guess": DummyClassifier(strategy="uniform", random_state=0),
}


def small_pool():
    learned = tuple(member_of(name, classifier) for name, classifier in LEARNED.items())
    ends = artificial_classifiers()
    return Pool(
        "small",
        (*learned, *ends),
        calibrating=tuple(member.name for member in learned),
        evaluated=tuple(member.name for member in (*learned, *ends)),
    )


def blobs(n=120, seed=0, spread=1.0):
    random = np.random.default_rng(seed)
    label = random.integers(3, size=n)
    columns = random.normal(size=(n, 3)) * spread + label[:, None]
    return pd.DataFrame(columns, columns=["u", "v", "w"]).assign(label=label)


def decode(sources=None, **given):
    settings = {"target": "label", "cv": 0, "model": "2pl", **given}
    return decode_benchmark(sources or {"easy": blobs(spread=0.4)}, small_pool(), **settings)


def table(n=60, m=30, seed=0, difficulty=0.0):
    items = {
        "discrimination": np.full(m, 1.5),
        "difficulty": difficulty + np.linspace(-1.5, 1.5, m),
    }
    return simulate(TwoPL(), n, items=items, random_state=seed).responses


@pytest.fixture(scope="module")
def decoding():
    sources = {"easy": blobs(spread=0.4), "hard": blobs(spread=1.6, seed=1)}
    return decode(sources, cv=2)


def test_each_data_set_and_evaluated_classifier_has_a_row(decoding):
    assert isinstance(decoding, BenchmarkDecoding)
    assert list(decoding.calibrations) == ["easy", "hard"]
    frame = decoding.classifiers
    assert list(frame.columns[:2]) == ["dataset", "respondent"]
    assert set(frame["respondent"]) == set(small_pool().evaluated)
    assert len(frame) == 2 * len(small_pool().evaluated)


def test_only_the_calibrating_members_calibrate(decoding):
    assert decoding.calibrations["easy"].responses.respondents == tuple(LEARNED)


def test_the_harder_data_set_is_harder(decoding):
    accuracy = decoding.scores("accuracy").loc[list(LEARNED)].mean()
    assert accuracy["easy"] > accuracy["hard"]
    solved = decoding.datasets["share_solved"]
    assert solved["easy"] > solved["hard"]


def test_every_estimate_has_its_uncertainty(decoding):
    for name in ("ability", "true_score", "ability_positive", "true_score_positive"):
        assert decoding.classifiers[f"{name}_se"].notna().all()
    inside = decoding.classifiers[["accuracy_low", "accuracy", "accuracy_high"]]
    assert (inside.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
    for name in ("difficulty", "discrimination", "guessing"):
        assert decoding.datasets[f"{name}_mean_se"].notna().all()


def test_cross_validated_accuracy_is_that_of_the_pool(decoding):
    frame = decoding.classifiers.set_index(["dataset", "respondent"])
    assert 0.5 < frame.loc[("easy", "bayes"), "cv_accuracy"] <= 1
    assert frame.loc[("easy", "optimal"), "cv_accuracy"] == 1


def test_the_result_records_where_data_come_from_and_how_they_were_prepared(decoding):
    row = decoding.sources.loc["easy"]
    assert row["test"] == 36
    assert row["train"] == 84
    assert row["preprocessing"] == "none: classifiers get the columns as they are"
    assert decoding.metadata.loc["easy", "NumberOfClasses"] == 3


def test_a_run_that_goes_on_ends_as_one_that_never_stopped(tmp_path):
    whole = decode()
    seen = []

    def stop(done, _total, _running):
        seen.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        decode(folder=tmp_path, progress=stop)
    (kept,) = tmp_path.iterdir()
    assert len(list(kept.glob("*.json"))) == 5
    resumed = []
    again = decode(folder=tmp_path, progress=lambda done, *_: resumed.append(done))
    assert resumed[0] == 5
    pd.testing.assert_frame_equal(again.classifiers, whole.classifiers)
    pd.testing.assert_frame_equal(again.items, whole.items)


def test_progress_runs_over_all_data_sets():
    told = []
    sources = {"one": blobs(), "two": blobs(seed=1)}
    decode(sources, progress=lambda *state: told.append(state))
    members = len(small_pool().members)
    assert told[0][:2] == (0, 2 * members)
    assert told[-1][:2] == (2 * members, 2 * members)
    assert any(word.startswith("two: ") for _, _, word in told)


def test_data_sets_whose_names_look_alike_do_not_share_a_folder(tmp_path):
    decode({"a/b": blobs(), "a b": blobs(seed=1)}, folder=tmp_path)
    folders = list(tmp_path.iterdir())
    assert len(folders) == 2
    for folder in folders:
        assert len(list(folder.glob("*.json"))) == len(small_pool().members)
        json.loads(next(folder.glob("*.json")).read_text())


class Broken:
    """A classifier that cannot learn."""

    def fit(self, _X, _y):
        raise ValueError("no")

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_a_data_set_on_which_all_fail_is_told_and_left_out():
    picky = Pool("picky", (Member("picky", lambda split, _seed: Picky(split.name)),))
    found = decode_benchmark(
        {"fine": blobs(), "bad": blobs(seed=1)}, picky, target="label", cv=0, model="1pl"
    )
    assert list(found.calibrations) == ["fine"]
    assert "Every member failed" in found.failures["bad"]
    assert any(note.startswith("bad: left out. Every member failed") for note in found.notes)


class Picky:
    """Learns from one data set only."""

    def __init__(self, name):
        self.name = name

    def fit(self, _X, _y):
        if self.name == "bad":
            raise ValueError("no")

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_nothing_decoded_is_an_error_that_says_why():
    broken = Pool("broken", (Member("broken", lambda _split, _seed: Broken()),))
    with pytest.raises(InputError, match=r"No data set could be decoded. .*ValueError: no"):
        decode_benchmark({"one": blobs()}, broken, target="label", cv=0)


def test_a_data_set_that_cannot_be_split_stops_the_run_before_any_training(tmp_path):
    tiny = pd.DataFrame({"u": [1.0, 2.0], "label": ["a", "b"]})
    with pytest.raises(InputError, match="'tiny'"):
        decode({"fine": blobs(), "tiny": tiny}, folder=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_every_method_places_the_optimal_classifier_above_the_pessimal(subtests):
    for method in ["eap", "map", "ml", "wle", "staged"]:
        with subtests.test(method=method):
            sources = {"hard": blobs(spread=1.6, seed=1)}
            frame = decode(sources, method=method).classifiers.set_index("respondent")
            ability = frame["ability_positive"]
            assert ability["optimal"] > ability["pessimal"]
            assert (
                frame["true_score_positive"]["optimal"] > frame["true_score_positive"]["pessimal"]
            )


def test_an_unknown_method_is_refused_before_anything_runs():
    with pytest.raises(
        InputError, match=r"`method` must be one of: eap, map, ml, wle, stag.*got 'best'"
    ):
        decode(method="best")


def test_true_scores_of_given_responses_are_those_of_the_calibration():
    responses = table()
    found = decode_responses({"one": responses}, model="2pl").classifiers.set_index("respondent")
    calibration = calibrate(responses, "2pl")
    expected = calibration.true_scores()
    for name in ("true_score", "true_score_se", "true_score_mean"):
        np.testing.assert_allclose(found[name], expected[name])
    positive = calibration.probability(found["ability_positive"])
    kept = calibration.items["discrimination"] >= 0
    np.testing.assert_allclose(found["true_score_positive"], positive.loc[:, kept].sum(axis=1))


def test_a_true_difference_of_difficulty_is_recovered():
    tables = {
        name: table(n=400, m=60, seed=k, difficulty=shift)
        for k, (name, shift) in enumerate({"easy": -1.0, "middle": 0.0, "hard": 1.0}.items())
    }
    frame = decode_responses(tables, model="2pl").datasets
    for name, shift in {"easy": -1.0, "middle": 0.0, "hard": 1.0}.items():
        assert frame.loc[name, "difficulty_mean"] == pytest.approx(shift, abs=0.15)
        assert frame.loc[name, "discrimination_mean"] == pytest.approx(1.5, abs=0.1)


def test_shares_are_counted_over_the_limits():
    responses = table(n=300)
    limits = Limits(difficulty=0.5, discrimination=1.4, guessing=0.3)
    found = decode_responses({"one": responses}, model="2pl", limits=limits)
    row, items = found.datasets.loc["one"], found.items
    assert row["share_hard"] == (items["difficulty"] > 0.5).mean()
    assert row["share_discriminating"] == (items["discrimination"] > 1.4).mean()
    assert row["share_guessable"] == 0
    assert row["difficulty_median"] == pytest.approx(items["difficulty"].median())


def test_instances_that_all_get_right_or_wrong_are_counted_apart():
    cells = table(n=80, m=20).to_frame().to_numpy(copy=True)
    cells[:, 0], cells[:, 1] = 1, 0
    found = decode_responses({"one": Responses(cells)}, model="2pl")
    row = found.datasets.loc["one"]
    assert row["share_solved"] == row["share_unsolved"] == 1 / 20
    told = found.items["difficulty"].iloc[2:]
    assert row["difficulty_mean"] == pytest.approx(told.mean())
    assert row["share_hard"] == ((told > 1).sum() + 1) / 20


def test_negative_instances_cannot_put_the_pessimal_classifier_above_the_optimal_one():
    """Thirty instances that only the able miss would draw all-wrong up: the scale is turned."""
    random = np.random.default_rng(0)
    ability = random.normal(size=300)
    slope, difficulty = (
        np.r_[np.full(30, -2.5), np.full(10, 2.0)],
        np.r_[np.full(30, 2.2), [0] * 10],
    )
    right = random.random((300, 40)) < 1 / (1 + np.exp(-slope * (ability[:, None] - difficulty)))
    told = Responses(right.astype(float))
    found = decode_responses({"turned": told}, {"turned": ends(told)}, model="2pl")
    frame = found.classifiers.set_index("respondent")
    plain = calibrate(told, "2pl").score(ends(told))["ability"]
    assert plain["pessimal"] > plain["optimal"]
    for name in ("ability", "true_score", "ability_positive", "true_score_positive"):
        assert frame.loc["optimal", name] > frame.loc["pessimal", name]
    assert any("measure being right" in note for note in found.notes)


def test_on_overlapping_classes_ability_goes_with_accuracy(shared):
    """47 ordinary classifiers on Pima: without help, all items of one class are negative."""
    told = pd.read_csv(shared / "data" / "cases" / "pima_class_preference.csv", index_col=0)
    found = decode_responses({"pima": told})
    frame = found.classifiers.set_index("respondent")
    assert frame["ability"].corr(frame["accuracy"], method="spearman") > 0.7  # was -0.18
    best = frame["true_score_positive"].idxmax()
    assert frame.loc[best, "accuracy"] > 0.75  # was 0.669
    assert any("61 of 113 informative items" in note for note in found.notes)


def test_a_pessimal_classifier_above_the_optimal_one_is_told():
    told = table()
    swapped = ends(told).set_axis(["pessimal", "optimal"])
    found = decode_responses({"one": told}, {"one": swapped}, model="2pl")
    assert any("do not compare classifiers" in note for note in found.notes)
    fine = decode_responses({"one": told}, {"one": ends(told)}, model="2pl")
    assert not fine.notes


def ends(responses):
    """The optimal and the pessimal classifier."""
    cells = np.array([np.ones(responses.n_items), np.zeros(responses.n_items)])
    return pd.DataFrame(cells, index=["optimal", "pessimal"], columns=list(responses.items))


def test_an_item_that_all_of_the_pool_solve_does_not_tell_twins_apart():
    told = table(n=40, m=20).to_frame()
    told["item_1"] = 1.0
    twins = told.iloc[[3, 3]].set_axis(["right", "wrong"])
    twins.loc["wrong", "item_1"] = 0.0
    frame = decode_responses({"one": told}, {"one": twins}, model="2pl").classifiers
    score = frame.set_index("respondent")["true_score"]
    assert score["right"] == score["wrong"]


def test_who_was_asked_nothing_has_no_score():
    told = table().to_frame()
    told.iloc[4] = np.nan
    frame = decode_responses({"one": told}, model="2pl").classifiers.set_index("respondent")
    assert frame.loc["respondent_5"].drop("dataset").isna().all()
    assert frame.drop(index="respondent_5").notna().all(axis=None)


def test_a_data_set_too_small_for_the_method_is_told_and_left_out():
    small = blobs(n=24)
    found = decode({"fine": blobs(), "small": small}, method="staged")
    assert list(found.calibrations) == ["fine"]
    assert "needs 10 items or more" in found.failures["small"]


def test_who_failed_on_a_data_set_and_why_is_kept():
    pool = {**LEARNED, "wide": KNeighborsClassifier(10_000)}
    found = decode_benchmark({"one": blobs()}, pool, target="label", cv=0, model="2pl")
    assert list(found.failed["one"]) == ["wide"]
    assert any("(wide) of 8 failed and was left out; wide: ValueError" in n for n in found.notes)


def test_names_that_are_the_same_as_text_are_refused():
    with pytest.raises(InputError, match="same name as text"):
        decode_responses({1: table(), "1": table(seed=1)})


def test_limits_must_be_limits():
    with pytest.raises(InputError, match="limits is a dict, but it should be"):
        decode_responses({"one": table()}, limits={"difficulty": 2})


def test_who_has_no_score_on_some_data_set_is_not_called_the_strongest():
    one, two = table(), table(seed=1, difficulty=2.0)
    absent = two.to_frame()
    best = one.to_frame().mean(axis=1).idxmax()
    absent.loc[best] = np.nan
    found = decode_responses({"one": one, "two": absent}, model="2pl")
    assert f"{best} has the highest true score" not in found.meaning


def test_tables_must_be_a_mapping_of_names():
    with pytest.raises(InputError, match="should map names of data sets to responses"):
        decode_responses([table()])


def test_evaluated_must_cover_all_tables():
    with pytest.raises(InputError, match=r"evaluated lacks 1 data set \(two\)"):
        decode_responses({"one": table(), "two": table(seed=1)}, {"one": table()})


def test_scores_in_an_interval_are_refused():
    scores = np.random.default_rng(0).random((30, 8))
    with pytest.raises(InputError, match="right or wrong"):
        decode_responses({"one": scores}, model="continuous")


def test_the_pool_of_the_paper_is_the_default():
    assert signature(decode_benchmark).parameters["pool"].default == find_pool("paper").name
