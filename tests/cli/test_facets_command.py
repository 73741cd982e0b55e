import numpy as np
import pandas as pd
import pytest

import ogive as og


@pytest.fixture
def ratings(tmp_path):
    random = np.random.default_rng(0)
    respondent, item, judge = np.indices((2, 30, 2)).reshape(3, -1)
    better = 1.0 - respondent - 1.5 * judge + random.logistic(size=judge.size)
    columns = {"model": respondent, "item": item, "rubric": judge, "grade": (better > 0) * 1}
    pd.DataFrame(columns).to_csv(tmp_path / "ratings.csv", index=False)
    return tmp_path / "ratings.csv"


def test_ratings_become_a_folder(run, ratings, tmp_path):
    out = tmp_path / "new"
    done = run("facets", ratings, "--judge", "rubric", "--out", out)
    assert done.exit_code == 0
    wanted = og.facets(pd.read_csv(ratings))
    frame = pd.read_csv(out / "judges.csv", index_col=0)
    assert frame["severity"].to_numpy() == pytest.approx(wanted.judges["severity"].to_numpy())
    assert (out / "figures" / "severity.png").exists()


def test_a_column_that_is_not_there_is_named(run, ratings):
    done = run("facets", ratings, "--score", "points")
    assert done.exit_code == 3
    assert "--score is 'points', but the ratings have the columns model" in " ".join(
        done.stderr.split()
    )
