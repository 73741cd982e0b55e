import json

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from ogive import compare_classifiers
from ogive.reporting.exports import write_folder


@pytest.mark.slow
def test_tables_and_a_figure_for_each_classifier_and_reading(tmp_path):
    random = np.random.default_rng(0)
    label = random.integers(2, size=150)
    frame = pd.DataFrame(random.normal(size=(150, 3)) + label[:, None]).add_prefix("x")
    pool = {f"tree {n}": DecisionTreeClassifier(max_depth=n % 5 + 1) for n in range(30)}
    found = compare_classifiers(
        frame.assign(label=label),
        {"../bayes": GaussianNB(), "tree": DecisionTreeClassifier()},
        pool,
        model="2pl",
        n_resamples=50,
    )
    paths = write_folder(found, tmp_path / "new")
    assert all((tmp_path / "new") in path.parents for path in paths)
    names = {path.name for path in paths}
    assert {"models.csv", "cells.csv", "cells_filtered.csv", "items.csv"} <= names
    assert {"measures.csv", "measure_pairs.csv", "summary.json"} <= names
    assert {"cells_tree.png", "cells_tree_filtered.png", "items_3d.png", "measures.png"} <= names
    assert pd.read_csv(tmp_path / "new" / "models.csv")["model"].tolist() == list(
        found.to_frame().index
    )
    cells = pd.read_csv(tmp_path / "new" / "cells.csv")
    assert cells["count"].sum() == 2 * 45
    assert cells.loc[0, "items"].startswith("row_")
    told = json.loads((tmp_path / "new" / "summary.json").read_text())
    assert told["sentences"][0] == found.meaning
