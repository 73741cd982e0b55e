import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import ogive as og
from ogive.errors import InputError


def rows():
    return pd.DataFrame(
        {
            "size": [1.0, np.nan, 3.0, 5.0, 2.0, 2.0],
            "kind": ["a", "b", "a", None, "b", "a"],
            "same": 1,
        }
    )


def test_it_keeps_the_contract_of_scikit_learn():
    check_estimator(og.TablePreparation(), on_skip=None)


def test_numbers_are_filled_and_scaled_and_categories_encoded():
    given = rows()
    found = og.TablePreparation().fit(given)
    cells = found.transform(given)
    filled = given["size"].fillna(2.0)
    np.testing.assert_allclose(cells[:, 0], (filled - filled.mean()) / filled.std(ddof=0))
    assert found.get_feature_names_out().tolist() == ["size", "kind_a", "kind_b"]
    assert cells[:, 1].tolist() == [1, 0, 1, 1, 0, 1]  # a is the most frequent one
    assert found.notes_ == ["Left out 1 column (same: constant)."]


def test_columns_may_come_in_another_order_and_from_polars():
    pl = pytest.importorskip("polars")
    given = rows()
    found = og.TablePreparation().fit(given)
    other = pl.from_pandas(given[["kind", "same", "size"]])
    np.testing.assert_array_equal(found.transform(other), found.transform(given))


def test_it_speaks_set_output_and_stands_in_a_pipeline():
    given = rows()
    found = og.TablePreparation().set_output(transform="pandas").fit_transform(given)
    assert list(found.columns) == ["size", "kind_a", "kind_b"]
    labels = [0, 1, 0, 1, 1, 0]
    assert len(make_pipeline(og.TablePreparation(), GaussianNB()).fit(given, labels).predict(given))


def test_nothing_usable_is_refused():
    with pytest.raises(InputError, match="no usable column"):
        og.TablePreparation().fit(pd.DataFrame({"same": [1, 1, 1]}))
