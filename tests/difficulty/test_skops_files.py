"""Regressors go to files and come back; what is no regressor of ours does not."""

import builtins
import io
import subprocess
import warnings
import zipfile
from contextlib import suppress
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestRegressor,
)
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, RadiusNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from ogive import DifficultyRegressor, load
from ogive.data.estimator_checks import SavedTree, with_saved_trees
from ogive.data.saved_estimators import MOST_SCHEMA, SMALL, packed, parts_of, unpacked
from ogive.errors import FileError, InputError, MissingExtraError

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
        SVR(),
    ],
    ids=["stepwise", "elastic-net", "knn", "gbm", "rf", "svr"],
)
def test_a_regressor_comes_back_as_it_was(regressor, tmp_path):
    made = fitted(regressor)
    again = load(made.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(FRAME), made.predict(FRAME))
    np.testing.assert_array_equal(again.predict_interval(FRAME), made.predict_interval(FRAME))
    assert again.notes_ == made.notes_


def test_what_numpy_remembers_of_a_function_is_no_part_of_a_model(tmp_path):
    """Once its signature had been asked for, a model with np.tanh could not be saved."""
    with suppress(ValueError):  # older versions of NumPy know none
        signature(np.tanh)
    made = fitted(make_pipeline(FunctionTransformer(np.tanh), LinearRegression()))
    again = load(made.save(tmp_path / "model.skops"))
    np.testing.assert_array_equal(again.predict(FRAME), made.predict(FRAME))


def test_a_search_is_refused_with_what_to_save_instead(tmp_path):
    search = GridSearchCV(SVR(), {"C": [1, 2]}, cv=2)
    with pytest.raises(InputError, match=r"GridSearchCV.* save its best_estimator_; use a linear"):
        fitted(search).save(tmp_path / "model.skops")


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    with pytest.raises(InputError, match="cannot be saved: it holds a Foreign, which is not among"):
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
    with pytest.raises(MissingExtraError, match=r"pip install '\S*\[learning\]'"):
        DifficultyRegressor().save(tmp_path / "model.skops")


def test_what_cannot_be_verified_is_refused_when_it_is_saved_with_what_to_use(subtests):
    for model, named in (
        (IsolationForest(n_estimators=2), "IsolationForest.* use a linear model, a forest"),
        (GaussianProcessRegressor(optimizer=None), "Gaussian.*use a linear model, a forest"),
        (HistGradientBoostingRegressor(categorical_features=[0]), "code categories as columns"),
        (SVR(kernel="precomputed"), "use linear, poly, rbf or sigmoid"),
        (RadiusNeighborsRegressor(), "use a linear model, .* nearest neighbours"),
    ):
        with subtests.test(model=model), pytest.raises(InputError, match=named):
            packed(model.fit(abs(ROWS[:, :1] @ ROWS[:, :1].T), CLASSES), "regressor")


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


NESTED = "(a+)+b"


def with_attribute(model, name):
    setattr(model, name, np.exp)
    return model


@pytest.mark.parametrize(
    ("part", "told"),
    [
        (CountVectorizer(input="filename"), "CountVectorizer that reads or writes files"),
        (TfidfVectorizer(input="file"), "TfidfVectorizer that reads or writes files"),
        (Pipeline([("all", "passthrough")], memory="cache"), "Pipeline that reads or writes"),
        (PolynomialFeatures(10**9), "with degree=1000000000"),
        (CountVectorizer(token_pattern=NESTED), "with token_pattern=.*which may take forever"),
        (Ridge(alpha=-1.0), "The 'alpha' parameter of Ridge must be"),
        (with_attribute(Ridge(), "predict"), "a Ridge with a parameter 'predict'"),
        (with_attribute(Ridge(), "backdoor"), "a Ridge with a parameter 'backdoor'"),
        (IsolationForest(), "holds a IsolationForest.*use a linear model"),
        (GradientBoostingRegressor(init=Ridge()), "estimator of its own as init.*use init=None"),
        (KNeighborsRegressor(metric="precomputed"), "metric='precomputed', which cannot be"),
        (csr_array(np.eye(2)), r"holds 1 file \(\d+.npz\) that cannot be verified|csr_array"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_known_types_with_parameters_that_reach_outside_are_refused(part, told, tmp_path):
    with pytest.raises(FileError, match=told):
        unpacked(tmp_path, archived([part]), lambda _: None, "model", "save")
    with pytest.raises(InputError, match=told):
        packed([part], "model")


def bent(model, change):
    """A saved model after a change that no fit makes."""
    change(model)
    return unpacked(
        "bent", archived(with_saved_trees(model, parts_of(model))), print, "model", "it"
    )


ROWS = np.random.default_rng(2).normal(size=(40, 3))
CLASSES = np.arange(40) % 3


def wider(model):
    model.estimators_ = np.hstack([model.estimators_, model.estimators_])


def set_to(name, value):
    return lambda model: setattr(model, name, value)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        # Each wrote or read beyond an array, and ended the process, when the model was used.
        (GradientBoostingClassifier(n_estimators=2), wider),
        (GradientBoostingClassifier(n_estimators=2), set_to("n_trees_per_iteration_", 1)),
        (GradientBoostingClassifier(n_estimators=2), set_to("n_features_in_", 2)),
        (HistGradientBoostingRegressor(max_iter=2), set_to("_in_fit", True)),
        (HistGradientBoostingRegressor(max_iter=2), set_to("n_features_in_", 2)),
        (KNeighborsClassifier(algorithm="brute"), set_to("_y", np.zeros(3, dtype=np.intp))),
        (KNeighborsClassifier(algorithm="brute"), set_to("_y", np.full(40, 10**6))),
        (KNeighborsClassifier(algorithm="brute"), set_to("n_neighbors", 10**5)),
        (KNeighborsClassifier(algorithm="kd_tree"), set_to("n_features_in_", 10**5)),
        (DecisionTreeClassifier(), set_to("n_features_in_", 10**5)),
        (SVC(), set_to("_n_support", np.array([10**6, 1, 1], dtype=np.int32))),
        (SVC(), set_to("_n_support", np.array([-9, 9, 0], dtype=np.int32))),
        (SVC(), set_to("support_vectors_", np.ones((2, 3)))),
        (SVC(), set_to("_dual_coef_", np.ones((1, 2)))),
        (SVC(), set_to("_intercept_", np.ones(1))),
        (SVC(), set_to("_probA", np.ones(1))),
        (SVC(), set_to("n_features_in_", 2)),
        (SVR(), set_to("support_vectors_", np.ones((2, 3)))),
        (OneHotEncoder(), set_to("_n_features_outs", [1, 1, 1])),
        (OneHotEncoder(), set_to("_drop_idx_after_grouping", np.array([-9, -9, -9], object))),
    ],
    ids=lambda value: getattr(type(value), "__name__", ""),
)
def test_arrays_that_do_not_fit_are_refused_before_compiled_code_reads_them(model, change):
    with pytest.raises(FileError, match=r"do not fit each other|a tree with invalid nodes"):
        bent(model.fit(ROWS, CLASSES), change)


def test_words_without_a_column_of_their_own_are_refused():
    model = CountVectorizer().fit(["one two", "two three"])
    with pytest.raises(FileError, match="the parts of its CountVectorizer do not fit"):
        bent(model, lambda made: made.vocabulary_.update(one=10**6))


def test_trees_for_neighbours_are_grown_again(subtests):
    for algorithm in ("kd_tree", "ball_tree"):
        with subtests.test(algorithm=algorithm):
            made = KNeighborsClassifier(algorithm=algorithm, p=1).fit(ROWS, CLASSES)
            again = unpacked("it", packed(made, "model"), print, "model", "save")
            assert type(again._tree) is type(made._tree)
            for kept, found in zip(made.kneighbors(ROWS), again.kneighbors(ROWS), strict=True):
                np.testing.assert_array_equal(found, kept)


def test_a_tree_is_read_as_deep_as_it_is_and_no_other():
    tree = DecisionTreeClassifier(random_state=0).fit(ROWS, CLASSES).tree_
    n_features, n_classes, nodes, values = SavedTree.of(tree).__reduce__()[1]
    again = SavedTree(n_features, n_classes, nodes, values)
    assert again.max_depth == tree.max_depth
    again.decision_path(ROWS.astype(np.float32))
    twice = nodes.copy()
    twice["left_child"][0] = twice["right_child"][0]
    for broken in (twice, nodes[:-1], nodes[:0]):
        with pytest.raises(InputError, match="a tree with invalid nodes"):
            SavedTree(n_features, n_classes, broken, values[: len(broken)])
    with pytest.raises(InputError, match="a tree with invalid nodes"):
        SavedTree(n_features, n_classes, nodes, values[:, :, :2])


def test_a_tree_as_skops_writes_it_is_refused(tmp_path):
    content = archived(DecisionTreeClassifier().fit(ROWS, CLASSES))
    with pytest.raises(FileError, match=r"1 type \(sklearn\.tree\._tree\.Tree\)"):
        unpacked(tmp_path, content, print, "model", "save")


def test_a_file_does_not_say_how_many_processes_run():
    made = RandomForestRegressor(2).fit(ROWS, CLASSES).set_params(n_jobs=100_000)
    again = unpacked("it", packed(made, "model"), print, "model", "save")
    assert (made.n_jobs, again.n_jobs) == (100_000, None)


def test_files_that_no_part_names_are_refused_unread(tmp_path):
    path = fitted("elastic-net").save(tmp_path / "model.skops")
    whole = path.read_bytes()
    for name, told in (("junk.npy", "that belong to no part"), ("schema.json", "more than once")):
        path.write_bytes(whole)
        with zipfile.ZipFile(path, "a") as archive, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the second of that name
            archive.writestr(name, b"{}" * 10**6)
        with pytest.raises(FileError, match=told):
            load(path)
