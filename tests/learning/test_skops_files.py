"""Regressors go to files and come back; what is no regressor of ours does not."""

import builtins
import io
import subprocess
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.svm import SVR

from itemwise import DifficultyRegressor, load
from itemwise.errors import FileError, InputError, MissingExtraError
from itemwise.learning.skops_archives import MOST_SCHEMA, SMALL
from itemwise.learning.skops_files import packed, unpacked

FRAME = pd.DataFrame(
    {
        "length": np.random.default_rng(0).normal(size=60),
        "colour": np.random.default_rng(1).choice(["red", "blue"], 60),
    }
)
Y = FRAME["length"].to_numpy() + (FRAME["colour"] == "red").to_numpy()


def archived(model):
    """A model as skops writes it; the import of skops takes seconds."""
    import skops.io

    return skops.io.dumps(model)


class Foreign(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def fitted(regressor="stepwise"):
    return DifficultyRegressor(regressor, cv=2).fit(FRAME, Y)


@pytest.mark.parametrize(
    "regressor",
    [
        "stepwise",
        "elastic-net",
        "knn",
        HistGradientBoostingRegressor(max_iter=3),
        RandomForestRegressor(3, random_state=0),
    ],
    ids=["stepwise", "elastic-net", "knn", "gbm", "rf"],
)
def test_a_regressor_comes_back_as_it_was(regressor, tmp_path):
    made = fitted(regressor)
    again = load(made.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(FRAME), made.predict(FRAME))
    np.testing.assert_array_equal(again.predict_interval(FRAME), made.predict_interval(FRAME))
    assert again.notes_ == made.notes_


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    with pytest.raises(InputError, match=r"cannot be saved: it holds 1 type \(.*Foreign\)"):
        fitted(Foreign()).save(tmp_path / "model.skops")
    with pytest.raises(InputError, match="not fitted yet"):
        DifficultyRegressor().save(tmp_path / "model.skops")
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_foreign_type_is_refused_by_its_name(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(archived(fitted(Foreign())))
    with pytest.raises(FileError, match=r"it holds 1 type \(.*Foreign\)"):
        load(path)


def test_a_file_that_asks_for_a_dangerous_function_is_refused(tmp_path):
    made = fitted()
    made.notes_ = [subprocess.call]
    path = tmp_path / "model.skops"
    path.write_bytes(archived(made))
    with pytest.raises(FileError, match=r"it holds 1 type \(subprocess\.call\)"):
        load(path)


def test_another_object_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(archived(LinearRegression().fit([[0.0], [1.0]], [0, 1])))
    with pytest.raises(FileError, match="it holds a LinearRegression, not a DifficultyRegressor"):
        load(path)


def rewritten(path, change):
    """Change every array in a file."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for entry in old.infolist():
            data = old.read(entry)
            if entry.filename.endswith(".npy"):
                array = change(np.load(io.BytesIO(data), allow_pickle=False).copy())
                buffer = io.BytesIO()
                np.save(buffer, array, allow_pickle=False)
                data = buffer.getvalue()
            new.writestr(entry.filename, data)
    path.write_bytes(content.getvalue())


@pytest.mark.slow
def test_a_tree_that_leads_nowhere_is_refused_before_it_is_walked(subtests, tmp_path_factory):
    cases = [
        (RandomForestRegressor(2, random_state=0), "left_child", 10**6),
        (RandomForestRegressor(2, random_state=0), "right_child", 0),
        (RandomForestRegressor(2, random_state=0), "feature", 99),
        (HistGradientBoostingRegressor(max_iter=2), "left", 10**6),
        (HistGradientBoostingRegressor(max_iter=2), "right", 0),
        (HistGradientBoostingRegressor(max_iter=2), "feature_idx", 99),
    ]
    for regressor, field, value in cases:
        with subtests.test(regressor=regressor, field=field, value=value):
            tmp_path = tmp_path_factory.mktemp("case")

            def bend(array, field=field, value=value):
                if array.dtype.names and field in array.dtype.names:
                    array[field][0] = value
                return array

            path = fitted(regressor).save(tmp_path / "model.skops")
            rewritten(path, lambda array: array)
            load(path)
            rewritten(path, bend)
            with pytest.raises(FileError, match="a tree with invalid nodes"):
                load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut short", b"\x80\x04\x95pickle"])
def test_what_is_no_archive_is_refused(content, tmp_path):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"model\.skops"):
        load(path)


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"0" * 10**6)
    with pytest.raises(FileError, match=r"unpacks to 976\.6 KiB, and the limit is 97\.7 KiB"):
        load(path, max_bytes=10**5)


def test_without_skops_the_line_to_install_it_is_said(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("skops"):
            raise ModuleNotFoundError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install 'itemwise\[learning\]'"):
        DifficultyRegressor().save(tmp_path / "model.skops")


def test_support_vectors_are_refused_since_their_arrays_cannot_be_checked(tmp_path):
    with pytest.raises(InputError, match="holds a SVR, whose arrays are read without bounds"):
        fitted(SVR()).save(tmp_path / "m.skops")
    (tmp_path / "bent.skops").write_bytes(archived(fitted(SVR())))
    with pytest.raises(FileError, match="holds a SVR"):
        load(tmp_path / "bent.skops")


def test_a_regressor_with_damaged_parts_is_refused(subtests, tmp_path_factory):
    cases = [
        lambda made: made.residuals_.pop(),
        lambda made: made.fold_regressors_.clear(),
        lambda made: setattr(made, "regressor_", [1, 2]),
        lambda made: delattr(made, "residuals_"),
        lambda made: made.residuals_.__setitem__(0, np.array([np.nan])),
    ]
    for number, bend in enumerate(cases):
        with subtests.test(number=number):
            tmp_path = tmp_path_factory.mktemp("case")
            made = fitted()
            bend(made)
            (tmp_path / "bent.skops").write_bytes(archived(made))
            with pytest.raises(FileError, match="cannot be read as a regressor"):
                load(tmp_path / "bent.skops")


def test_a_small_file_that_unpacks_to_gigabytes_is_refused_unread(tmp_path):
    path = tmp_path / "model.skops"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"{}")
        archive.writestr("1.npy", b"0" * (SMALL + 1))
    with pytest.raises(FileError, match=r"unpacks to 128\.0 MiB.*pass max_bytes=4294967297"):
        load(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("schema.json", b"[" * (MOST_SCHEMA + 1))
    with pytest.raises(FileError, match=r"the limit is 64\.0 MiB"):
        unpacked(path, path.read_bytes(), print, "model", "save")


def test_equal_estimators_are_the_same_bytes_wherever_they_are_in_memory():
    made = [fitted("elastic-net") for _ in range(2)]
    kept, again = (packed(one, "regressor") for one in made)
    assert kept == again


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (CountVectorizer(input="filename"), "CountVectorizer that reads or writes files"),
        (TfidfVectorizer(input="file"), "TfidfVectorizer that reads or writes files"),
        (Pipeline([("all", "passthrough")], memory="cache"), "Pipeline that reads or writes"),
        (RandomForestRegressor(n_jobs=100_000), "with n_jobs=100000"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_known_types_with_parameters_that_reach_outside_are_refused(part, told, tmp_path):
    with pytest.raises(FileError, match=told):
        unpacked(tmp_path, archived([part]), lambda _: None, "model", "save")
    with pytest.raises(InputError, match=told):
        packed([part], "model")
