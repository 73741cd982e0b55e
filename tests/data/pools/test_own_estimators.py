"""Classifiers of a user get the columns as they are: names, categories, text and gaps."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import ogive as og
from ogive.data.pools.members import Member
from ogive.data.pools.pool import Pool
from ogive.data.pools.published_pools import real_classifiers


def letters(n=48):
    """Two classes that only the text tells apart, and the category a little."""
    random = np.random.default_rng(0)
    spam = np.arange(n) % 2 == 1
    words = np.where(spam, "prize money now", "minutes of the meeting")
    return pd.DataFrame(
        {
            "text": [f"{said} {random.integers(1000)}" for said in words],
            "sender": pd.Categorical(np.where(random.random(n) < 0.7, spam, ~spam).astype(str)),
            "length": np.where(random.random(n) < 0.1, np.nan, random.normal(size=n)),
            "label": np.where(spam, "spam", "fine"),
        }
    )


class Witness(ClassifierMixin, BaseEstimator):
    """Fails unless it sees the frame that was given."""

    def fit(self, X, y):
        assert list(X.columns) == ["text", "sender", "length"]
        assert isinstance(X["sender"].dtype, pd.CategoricalDtype)
        assert X["length"].isna().any()
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.array([int("prize" in text) for text in X["text"]])


def tfidf():
    return make_pipeline(
        make_column_transformer((TfidfVectorizer(), "text")), LogisticRegression(C=100)
    )


OWN = {
    "witness": Witness(),
    "tf-idf": tfidf(),
    "one-hot": make_pipeline(
        make_column_transformer((OneHotEncoder(), ["sender"])), LogisticRegression()
    ),
    "boosted": make_pipeline(
        make_column_transformer(("passthrough", ["sender", "length"])).set_output(
            transform="pandas"
        ),
        HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype"),
    ),
}


def test_own_classifiers_get_names_categories_text_and_gaps(subtests):
    data = og.load_dataset(letters(), target="label")
    split = og.split_dataset(data)
    with subtests.test("run_pool"):
        answers = og.run_pool(split, OWN, cv=2, progress=False)
        assert not answers.failures
        assert (answers.predictions[:2] == split.y_test).all()
        assert answers.cv_accuracy[1] == 1
    with subtests.test("dataset_responses"):
        found = og.dataset_responses(data, OWN, cv=2, progress=False)
        assert found.respondents == tuple(OWN)
        assert found.cells[:2].all()
    with subtests.test("decode_benchmark"):
        decoded = og.decode_benchmark({"letters": data}, OWN, model="1pl", cv=0, progress=False)
        assert not decoded.failed
        accuracy = decoded.classifiers.set_index("respondent")["accuracy"]
        assert accuracy["tf-idf"] == 1
        assert "as they are" in decoded.sources.loc["letters", "preprocessing"]
    with subtests.test("compare_classifiers"):
        compared = og.compare_classifiers(
            letters(),
            {"mine": tfidf()},
            OWN,
            target="label",
            model="1pl",
            n_resamples=10,
            progress=False,
        )
        assert not {**compared.failures, **compared.pool_failures}
        assert compared.to_frame().loc["mine", "accuracy"] == 1


@pytest.mark.slow
def test_workers_and_folders_take_frames(tmp_path, same):
    split = og.split_dataset(og.load_dataset(letters(), target="label"))
    pool = {name: OWN[name] for name in ("witness", "one-hot")}
    here = og.run_pool(split, pool, cv=0, folder=tmp_path, progress=False)
    assert same(here, og.run_pool(split, pool, cv=0, time_limit=60, progress=False))
    kept = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert same(here, og.run_pool(split, pool, cv=0, folder=tmp_path, progress=False))
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == kept


def test_a_stored_answer_belongs_to_the_frame_it_was_given_for(tmp_path, subtests):
    def stored(frame):
        split = og.split_dataset(og.load_dataset(frame, target="label"))
        guess = Member("guess", Guess(), "guess")
        og.run_pool(split, [guess], cv=0, folder=tmp_path, progress=False)
        return len(list(tmp_path.glob("*.json")))

    class Guess:
        def __call__(self, split, _seed):
            return self

        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    frame = letters()
    assert stored(frame) == 1
    assert stored(frame.copy()) == 1
    changed = {
        "a text": frame.assign(text=["!", *frame["text"][1:]]),
        "a name": frame.rename(columns={"text": "words"}),
        "a type": frame.assign(sender=frame["sender"].astype(object)),
        "the order of categories": frame.assign(
            sender=frame["sender"].cat.reorder_categories(["True", "False"])
        ),
        "the order of columns": frame[["sender", "text", "length", "label"]],
        "cells that are lists": frame.assign(text=[[k] for k in range(len(frame))]),
    }
    for number, (what, other) in enumerate(changed.items(), start=2):
        with subtests.test(what):
            assert stored(other) == number


def test_the_pools_of_the_package_get_numbers_and_may_be_mixed_with_own_classifiers():
    split = og.split_dataset(og.load_dataset(letters(), target="label"))
    own = Member("witness", lambda _split, _seed: Witness(), "witness")
    pool = Pool("both", (*real_classifiers()[:2], own))
    answers = og.run_pool(split, pool, cv=0, progress=False)
    assert not answers.failures
    assert pool.preparation(split) == split.preprocessing


def test_a_classifier_that_needs_numbers_says_how_to_get_them():
    split = og.split_dataset(og.load_dataset(letters(), target="label"))
    pool = {"bayes": GaussianNB(), "witness": Witness()}
    answers = og.run_pool(split, pool, cv=0, progress=False)
    assert "put ogive.TablePreparation() before it" in answers.failures["bayes"]
    prepared = {"bayes": make_pipeline(og.TablePreparation(), GaussianNB())}
    assert not og.run_pool(split, prepared, cv=2, progress=False).failures


def test_free_text_alone_stops_the_pools_of_the_package_before_they_train():
    frame = letters()[["text", "label"]]
    with pytest.raises(og.OgiveError, match="give classifiers of your own"):
        og.decode_benchmark(
            {"plain": "sklearn:iris", "letters": frame},
            "real",
            target={"letters": "label"},
            cv=0,
            progress=lambda *_: pytest.fail("it trains"),
        )


def test_an_interrupted_run_without_answers_leaves_no_empty_folder(tmp_path):
    split = og.split_dataset(og.load_dataset("sklearn:iris"))

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        og.run_pool(
            split, {"bayes": GaussianNB()}, cv=0, folder=tmp_path / "a" / "b", progress=stop
        )
    data = og.load_dataset("sklearn:iris")
    with pytest.raises(KeyboardInterrupt):
        og.dataset_responses(data, {"bayes": GaussianNB()}, folder=tmp_path / "c", progress=stop)
    assert not list(tmp_path.iterdir())
